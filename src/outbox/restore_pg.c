/*
 * restore_pg.c - see restore_pg.h.
 *
 *   I1  A row gets the first cut that sees its transaction, as the snapshots of the old cluster
 *       tell: these are stored values, and comparing them needs no cluster. What none sees was
 *       committed after the newest, and comes as one cut behind it: in a dump there is nothing that
 *       is not committed.
 *   I2  Afterwards the log is empty, and the only cut is one of this cluster, with the number behind
 *       all that were given. Nobody finds a row in the log of a cut up to that one.
 *   I3  The identity is written last, in the same transaction.
 *
 * Readers take the rows of all cuts up to the oldest kept from those set aside (read_pg.c), so the
 * new cut carries both: what the old cluster had not cut, and the beginning of the new one.
 *
 * The baseline is a cut in a transaction that has its number already, which cut_pg.c forbids. Here
 * it does no harm: the log is locked against everybody before `hi` is read, so no row with an id up to
 * it is still to come, and nobody looks for late ones.
 *
 * Order of locks. Sweep, subscribe, cut, then the tables, as everybody takes them; waiting for the
 * log waits for the producers, who want none of these. Whoever has come past the check of the
 * identity, because it asked just before, finds its statement waiting, and sees what we leave.
 */
#include "outbox/restore_pg.h"

#include "base/point.h"
#include "base/text.h"
#include "db/transact.h"
#include "outbox/log.h"
#include "outbox/schema.h"

/* Counts by scans: a restored database has no statistics. */
static const struct weir_sql SQL_SURVEY = {
    .name = "survey",
    .text = "SELECT m.value, " WEIR_IDENTITY_PG ", (SELECT count(*) FROM {p}_log),"
            " (SELECT count(*) FROM {p}_aside), (SELECT count(*) FROM {p}_cut),"
            " (SELECT count(*) FROM {p}_queue), (SELECT count(*) FROM {p}_subscription)"
            " FROM {p}_meta m WHERE m.name = 'identity'",
};

/* Held until the end of the transaction. */
static const struct weir_sql SQL_LOCK = {
    .name = "lock",
    .text = "SELECT pg_advisory_xact_lock(hashtext('{p}'), {1}::integer)",
    .parameters = "i",
};

/* All leaves with them. */
static const char LOCK_TABLES[] = "LOCK TABLE {p}_log, {p}_cut IN ACCESS EXCLUSIVE MODE";

/* The newest cut, and one that sees no row of the log (sweep_pg.c, I1). */
static const struct weir_sql SQL_BOUNDS = {
    .name = "bounds",
    .text = "SELECT (SELECT max(no) FROM {p}_cut),"
            " (SELECT min(emptied_cut) FROM {p}_leaf)",
};

/*
 * Up to {4} rows behind id {1}, with their cuts: found once for each transaction by halving, between
 * the cut {3} that does not see it and the newest, {2}; once visible, visible for good. By the index
 * on id, from leaf to leaf. Should a cut row be missing, the cut stays null and the table refuses the
 * row. Tells the last id; null: there was none.
 */
static const struct weir_sql SQL_SET_ASIDE = {
    .name = "set aside",
    .text =
        "WITH RECURSIVE kept AS MATERIALIZED (SELECT l.xid, l.id FROM {p}_log l"
        " WHERE l.id > {1} ORDER BY l.id LIMIT (SELECT {4})),"
        " halved (xid, below, cut) AS ("
        " SELECT k.xid, CASE WHEN k.cut THEN {3} ELSE {2} END,"
        " CASE WHEN k.cut THEN {2} ELSE {2} + 1 END FROM (SELECT DISTINCT xid,"
        " pg_visible_in_snapshot(xid, (SELECT snap FROM {p}_cut WHERE no = {2})) AS cut"
        " FROM kept) k"
        " UNION ALL"
        " SELECT h.xid,"
        " CASE WHEN pg_visible_in_snapshot(h.xid, c.snap) THEN h.below ELSE c.no END,"
        " CASE WHEN pg_visible_in_snapshot(h.xid, c.snap) THEN c.no ELSE h.cut END"
        " FROM halved h JOIN {p}_cut c ON c.no = (h.below + h.cut) / 2"
        " WHERE h.cut - h.below > 1),"
        " copied AS (INSERT INTO {p}_aside"
        " (pid, cut, id, created_us, uid, message_key, type, headers, payload)"
        " SELECT l.pid, h.cut, l.id, l.created_us, l.uid, l.message_key, l.type,"
        " l.headers, l.payload FROM {p}_log l"
        " LEFT JOIN halved h ON h.xid = l.xid AND h.cut - h.below = 1"
        " WHERE l.id > {1} AND l.id <= (SELECT max(id) FROM kept))"
        " SELECT max(id) FROM kept",
    .parameters = "iiii",
};

/*
 * Ids go on behind all that were given. A dump has the sequence; data that were copied without it
 * would give them again, and whoever keeps a receipt would be misled. Outside of the transaction,
 * and harmless without the rest. Likewise nobody watches closely yet: whoever commits rings.
 */
static const struct weir_sql SQL_MEND_SEQUENCES = {
    .name = "mend sequences",
    .text = "SELECT setval('{p}_asleep', 2),"
            " CASE WHEN s.last_value < m.id THEN setval('{p}_log_id', m.id) END"
            " FROM {p}_log_id s, (SELECT greatest((SELECT max(top) FROM {p}_cut),"
            " (SELECT max(id) FROM {p}_aside)) AS id) m",
};

static const char EMPTY_TABLES[] = "TRUNCATE {p}_log, {p}_cut";

/* Nothing of a cut up to {1} is in a leaf. */
static const struct weir_sql SQL_NOTE_EMPTIED = {
    .name = "note emptied leaves",
    .text = "UPDATE {p}_leaf SET emptied_cut = {1}",
    .parameters = "i",
};

/* The snapshot is that of this statement, behind the lock on the log. */
static const struct weir_sql SQL_BASELINE = {
    .name = "baseline",
    .text = "INSERT INTO {p}_cut (no, hi, own, snap, top, made_us)"
            " SELECT {1}, l.id, pg_current_xact_id(), pg_current_snapshot(), l.id, {now}"
            " FROM (SELECT CASE WHEN is_called THEN last_value ELSE last_value - 1 END"
            " FROM {p}_log_id) l (id)",
    .parameters = "i",
};

/* They are void; but whoever takes one over from somebody else's hands would take its owner for
 * dead, and its first message for the reason. */
static const struct weir_sql SQL_FREE_LEASES = {
    .name = "free leases",
    .text = "UPDATE {p}_lease SET owner = NULL, until_us = 0 WHERE owner IS NOT NULL",
};

static const struct weir_sql SQL_STORE_IDENTITY = {
    .name = "store identity",
    .text = "UPDATE {p}_meta SET value = " WEIR_IDENTITY_PG " WHERE name = 'identity'",
};

static void keep_identity(struct weir_str text, char out[WEIR_IDENTITY_SIZE])
{
    (void)weir_text_format(out, WEIR_IDENTITY_SIZE, "%.*s", (int)text.size, text.data);
}

enum weir_status weir_pg_restore_survey(struct weir_connection *connection,
                                        struct weir_pg_survey *out,
                                        struct weir_error *error)
{
    struct weir_rows rows;
    enum weir_status status =
        weir_connection_query(connection, &SQL_SURVEY, NO_VALUES, &rows, error);

    *out = (struct weir_pg_survey){0};
    if (status == WEIR_OK)
        status = weir_rows_next(&rows, error);
    if (status == WEIR_OK) {
        out->needed = !weir_str_equal(weir_rows_text(&rows, 0), weir_rows_text(&rows, 1));
        keep_identity(weir_rows_text(&rows, 0), out->made_in);
        keep_identity(weir_rows_text(&rows, 1), out->found_in);
        out->messages = weir_rows_integer(&rows, 2);
        out->aside = weir_rows_integer(&rows, 3);
        out->cuts = weir_rows_integer(&rows, 4);
        out->queues = weir_rows_integer(&rows, 5);
        out->subscriptions = weir_rows_integer(&rows, 6);
    } else if (status == WEIR_NO_ROW) {
        status = weir_error_set(error, WEIR_SCHEMA, "meta: identity is missing");
    }
    weir_rows_close(&rows);
    return status;
}

/* ---- the transaction ---------------------------------------------------------------------- */

static enum weir_status lock_all(struct weir_connection *connection,
                                 struct weir_error *error)
{
    static const int64_t LOCKS[] = {WEIR_LOCK_SWEEP, WEIR_LOCK_SUBSCRIBE, WEIR_LOCK_CUT};
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; i < sizeof LOCKS / sizeof LOCKS[0] && status == WEIR_OK; i++)
        status = weir_connection_execute(connection, &SQL_LOCK,
                                         VALUES(weir_integer(LOCKS[i])), NULL, error);
    if (status == WEIR_OK)
        status = weir_connection_execute_text(connection, LOCK_TABLES, error);
    return status;
}

static enum weir_status read_bounds(struct weir_connection *connection, int64_t *newest,
                                    int64_t *unseen, struct weir_error *error)
{
    struct weir_rows rows;
    enum weir_status status =
        weir_connection_query(connection, &SQL_BOUNDS, NO_VALUES, &rows, error);

    if (status == WEIR_OK)
        status = weir_rows_next(&rows, error);
    if (status == WEIR_OK && (weir_rows_is_null(&rows, 0) || weir_rows_is_null(&rows, 1)))
        status = weir_error_set(error, WEIR_SCHEMA, "there is no cut, not even 0");
    if (status == WEIR_OK) {
        *newest = weir_rows_integer(&rows, 0);
        *unseen = weir_rows_integer(&rows, 1);
    }
    weir_rows_close(&rows);
    return status;
}

/* Everything in the log, a bounded number of rows at a time: each statement has a time limit. */
static enum weir_status set_aside(struct weir_connection *connection, int64_t newest,
                                  int64_t unseen, struct weir_error *error)
{
    struct weir_points *points = weir_connection_config(connection)->points;
    int64_t after = 0;
    int64_t last = 0;
    enum weir_status status;

    do {
        after = last;
        status = weir_connection_query_integer(
            connection, &SQL_SET_ASIDE,
            VALUES(weir_integer(after), weir_integer(newest), weir_integer(unseen),
                   weir_integer(WEIR_RESTORE_ROWS)),
            &last, error);
        (void)WEIR_POINT(points, "restore.aside");
    } while (status == WEIR_OK && last > after);
    return status;
}

/* The log is empty from here on, and its order goes on from cut `no`. */
static enum weir_status begin_anew(struct weir_connection *connection, int64_t no,
                                   struct weir_error *error)
{
    enum weir_status status =
        weir_connection_execute(connection, &SQL_MEND_SEQUENCES, NO_VALUES, NULL, error);

    if (status == WEIR_OK)
        status = weir_connection_execute_text(connection, EMPTY_TABLES, error);
    if (status == WEIR_OK)
        status = weir_connection_execute(connection, &SQL_NOTE_EMPTIED,
                                         VALUES(weir_integer(no)), NULL, error);
    if (status == WEIR_OK)
        status = weir_connection_execute(connection, &SQL_BASELINE,
                                         VALUES(weir_integer(no)), NULL, error);
    return status;
}

static enum weir_status restore_once(struct weir_connection *connection, void *argument,
                                     struct weir_error *error)
{
    struct weir_pg_survey *survey = argument;
    int64_t newest = 0;
    int64_t unseen = 0;
    enum weir_status status = lock_all(connection, error);

    if (status == WEIR_OK)
        status = weir_pg_restore_survey(connection, survey, error);
    if (status != WEIR_OK || !survey->needed)
        return status;
    status = read_bounds(connection, &newest, &unseen, error);
    if (status == WEIR_OK)
        status = set_aside(connection, newest, unseen, error);
    if (status == WEIR_OK)
        status = begin_anew(connection, newest + 1, error);
    if (status == WEIR_OK)
        status =
            weir_connection_execute(connection, &SQL_FREE_LEASES, NO_VALUES, NULL, error);
    if (status == WEIR_OK)
        status = weir_connection_execute(connection, &SQL_STORE_IDENTITY, NO_VALUES, NULL,
                                         error);
    return status;
}

enum weir_status weir_pg_restore(struct weir_connection *connection,
                                 struct weir_pg_survey *out, struct weir_error *error)
{
    enum weir_status status = weir_transact_on(connection, restore_once, out, error);

    if (status != WEIR_OK)
        weir_error_prefix(error, "restore");
    return status;
}
