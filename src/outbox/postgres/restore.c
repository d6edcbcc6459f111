/*
 * restore.c - see postgres/restore.h.
 *
 *   I1  A row gets the first cut that sees its transaction, as the snapshots of the old
 *       cluster tell: these are stored values, and comparing them needs no cluster.
 *       What none sees was committed after the newest, and comes as one cut behind it:
 *       in a dump there is nothing that is not committed.
 *   I2  Afterwards the log is empty, and the only cut is one of this cluster, with the
 *       number behind all that were given. No reader finds a row in the log of a cut
 *       up to that one.
 *   I3  The identity is written last, in the same transaction.
 *   I4  Where there is a hole, a row gets the first of the cuts that are there. What
 *       was of the cut before it may then come again, and nothing is left out.
 *
 * Log and cuts are truncated, which is a hole in a dump that was begun before: so they
 * are emptied under a number, as the sweep does it (postgres/copy.h). It is given in a
 * transaction of its own ahead of the other one, or a rollback behind the announcement
 * would look like a hole in this database. Where there is one already the number is
 * given with the rest: it is what closes the hole.
 *
 * Readers take the rows of all cuts up to the oldest kept from those set aside
 * (postgres/read.c), so the new cut carries both: what the old cluster had not cut, and
 * the beginning of the new one.
 *
 * The baseline is a cut in a transaction that has its number already, which
 * postgres/cut.c forbids. Here it does no harm: the log is locked exclusively before
 * `hi` is read, so no row with an id up to it is still to come, and no reader looks for
 * late ones.
 *
 * Order of locks. Sweep, subscribe, cut, then the tables, in the order of all
 * transactions; waiting for the log waits for the producers, which need none of these. A
 * process that has passed the check of the identity, because it asked just before, finds
 * its statement waiting, and sees what we leave.
 */
#include "outbox/postgres/restore.h"

#include <string.h>

#include "base/count.h"
#include "base/fault_point.h"
#include "base/text.h"
#include "db/query.h"
#include "db/transact.h"
#include "outbox/log/log.h"
#include "outbox/schema.h"

/* Positions that are missing: a partition of a subscription without an ack. */
#define UNPLACED                                                                         \
    "{p}_lease e JOIN {p}_subscription s ON s.id = e.subscription"                       \
    " JOIN {p}_queue q ON q.id = s.queue WHERE NOT EXISTS (SELECT FROM {p}_ack k"        \
    " WHERE k.subscription = e.subscription AND k.pid = e.pid)"

/* Counts by scans: a restored database has no statistics. A message that was copied and
 * whose leaf was not emptied yet is one. */
static const struct weir_sql SQL_SURVEY = {
    .name = "survey",
    .text = "SELECT m.value, " WEIR_IDENTITY_PG ", (SELECT count(*) FROM {p}_log l"
            "  LEFT JOIN {p}_aside a ON a.id = l.id WHERE a.id IS NULL),"
            " (SELECT count(*) FROM {p}_aside), (SELECT count(*) FROM {p}_cut),"
            " (SELECT count(*) FROM {p}_queue), (SELECT count(*) FROM {p}_subscription),"
            " (SELECT count(*) FROM " UNPLACED ")"
            " FROM {p}_meta m WHERE m.name = 'identity'",
};

static const struct weir_sql SQL_IS_ELSEWHERE = {
    .name = "compare identity",
    .text = "SELECT count(*) FROM {p}_meta WHERE name = 'identity'"
            " AND value <> " WEIR_IDENTITY_PG,
};

/* Held until the end of the transaction. */
static const struct weir_sql SQL_LOCK = {
    .name = "lock",
    .text = "SELECT pg_advisory_xact_lock(hashtext('{n}'), {1}::integer)",
    .parameters = "i",
};

/* All leaves with them. */
static const char LOCK_TABLES[] = "LOCK TABLE {p}_log, {p}_cut IN ACCESS EXCLUSIVE MODE";

/* The newest cut, and one that sees no row of the log (postgres/sweep.c, I1). */
static const struct weir_sql SQL_BOUNDS = {
    .name = "bounds",
    .text = "SELECT (SELECT max(no) FROM {p}_cut),"
            " (SELECT min(emptied_cut) FROM {p}_leaf)",
};

/*
 * Up to {4} rows behind id {1}, with their cuts: found once for each transaction by
 * halving, between the cut {3} that does not see it and the newest, {2}; once visible,
 * visible for good. By the index on id, from leaf to leaf. Should a cut row be missing,
 * the cut stays null and the table refuses the row. What stands aside already is the
 * same message. Tells the last id; null: there was none.
 */
#define KEPT                                                                             \
    "WITH RECURSIVE kept AS MATERIALIZED (SELECT l.xid, l.id FROM {p}_log l"             \
    " WHERE l.id > {1} ORDER BY l.id LIMIT (SELECT {4})),"                               \
    " started AS MATERIALIZED (SELECT DISTINCT xid, pg_visible_in_snapshot(xid,"         \
    " (SELECT snap FROM {p}_cut WHERE no = {2})) AS cut FROM kept),"
#define COPIED                                                                           \
    " copied AS (INSERT INTO {p}_aside"                                                  \
    " (pid, cut, id, created_us, uid, message_key, type, headers, payload)"              \
    " SELECT l.pid, f.cut, l.id, l.created_us, l.uid, l.message_key, l.type,"            \
    " l.headers, l.payload FROM {p}_log l LEFT JOIN found f ON f.xid = l.xid"            \
    " WHERE l.id > {1} AND l.id <= (SELECT max(id) FROM kept)"                           \
    " ON CONFLICT (cut, id) DO NOTHING) SELECT max(id) FROM kept"
static const struct weir_sql SQL_SET_ASIDE = {
    .name = "set aside",
    .text = KEPT
    " halved (xid, below, cut) AS ("
    " SELECT k.xid, CASE WHEN k.cut THEN {3} ELSE {2} END,"
    " CASE WHEN k.cut THEN {2} ELSE {2} + 1 END FROM started k"
    " UNION ALL"
    " SELECT h.xid,"
    " CASE WHEN pg_visible_in_snapshot(h.xid, c.snap) THEN h.below ELSE c.no END,"
    " CASE WHEN pg_visible_in_snapshot(h.xid, c.snap) THEN c.no ELSE h.cut END"
    " FROM halved h JOIN {p}_cut c ON c.no = (h.below + h.cut) / 2"
    " WHERE h.cut - h.below > 1),"
    " found AS (SELECT xid, cut FROM halved WHERE cut - below = 1)," COPIED,
    .parameters = "iiii",
};

/*
 * The same where cuts are missing: halved are those that are there, by their order.
 * What the first of them sees was of that one or of one that is missing.
 */
static const struct weir_sql SQL_SET_ASIDE_WITH_HOLES = {
    .name = "set aside with holes",
    .text =
        KEPT " there AS MATERIALIZED (SELECT no, snap,"
             " row_number() OVER (ORDER BY no) AS n FROM {p}_cut),"
             " halved (xid, below, n) AS ("
             " SELECT k.xid, 0::bigint, (SELECT count(*) FROM there) FROM started k"
             " WHERE k.cut"
             " UNION ALL"
             " SELECT h.xid,"
             " CASE WHEN pg_visible_in_snapshot(h.xid, t.snap) THEN h.below ELSE t.n END,"
             " CASE WHEN pg_visible_in_snapshot(h.xid, t.snap) THEN t.n ELSE h.n END"
             " FROM halved h JOIN there t ON t.n = (h.below + h.n) / 2"
             " WHERE h.n - h.below > 1),"
             " found AS (SELECT h.xid, greatest(t.no, {3} + 1) AS cut FROM halved h"
             " JOIN there t ON t.n = h.n WHERE h.n - h.below = 1"
             " UNION ALL SELECT xid, {2} + 1 FROM started WHERE NOT cut)," COPIED,
    .parameters = "iiii",
};

/* Where a new subscription would begin; the number of what was before is not known. */
static const struct weir_sql SQL_PLACE = {
    .name = "place positions",
    .text = "INSERT INTO {p}_ack (subscription, pid, version, epoch, incarnation, cut,"
            " last_id, seq) SELECT e.subscription, e.pid, 0, 0, '', q.removed_cut,"
            " q.removed_id, 0 FROM " UNPLACED,
};

/*
 * Ids go on behind all that were given. A dump has the sequence; data that were copied
 * without it would give them again, and the holder of a receipt would be misled.
 * Outside of the transaction, and harmless without the rest. Likewise no reader watches
 * yet: every commit notifies.
 */
static const struct weir_sql SQL_MEND_SEQUENCES = {
    .name = "mend sequences",
    .text = "SELECT setval('{q}_asleep', 2),"
            " CASE WHEN s.last_value < m.id THEN setval('{q}_log_id', m.id) END"
            " FROM {p}_log_id s, (SELECT greatest((SELECT max(top) FROM {p}_cut),"
            " (SELECT max(id) FROM {p}_aside)) AS id) m",
};

/* A number of before the dump may tell of other rows: the next count of it begins anew
 * (postgres/backlog.c). */
static const struct weir_sql SQL_FORGET_BACKLOGS = {
    .name = "forget backlogs",
    .text = "SELECT count(setval(f.place, 0)) FROM {p}_queue q,"
            " LATERAL {p}_backlog_find(q.id) f WHERE f.place IS NOT NULL",
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

/* They are void; but a process that takes one over would take its owner
 * for dead, and its first message for the reason. */
static const struct weir_sql SQL_FREE_LEASES = {
    .name = "free leases",
    .text = "UPDATE {p}_lease SET owner = NULL, until_us = 0 WHERE owner IS NOT NULL",
};

static const struct weir_sql SQL_STORE_IDENTITY = {
    .name = "store identity",
    .text = "UPDATE {p}_meta SET value = " WEIR_IDENTITY_PG " WHERE name = 'identity'",
};

static const struct weir_column SURVEY[] = {
    COLUMN(struct weir_pg_survey, made_in, CHARS),
    COLUMN(struct weir_pg_survey, found_in, CHARS),
    COLUMN(struct weir_pg_survey, messages, INTEGER),
    COLUMN(struct weir_pg_survey, aside, INTEGER),
    COLUMN(struct weir_pg_survey, cuts, INTEGER),
    COLUMN(struct weir_pg_survey, queues, INTEGER),
    COLUMN(struct weir_pg_survey, subscriptions, INTEGER),
    COLUMN(struct weir_pg_survey, unplaced, INTEGER),
};

enum weir_status weir_pg_restore_survey(struct weir_connection *connection,
                                        struct weir_pg_survey *out,
                                        struct weir_error *error)
{
    enum weir_status status;

    *out = (struct weir_pg_survey){0};
    status = weir_query_one(connection, &SQL_SURVEY, NO_VALUES, INTO(SURVEY, out), error);
    if (status == WEIR_NO_ROW)
        status = weir_error_set(error, WEIR_SCHEMA, "meta: identity is missing");
    out->needed = strcmp(out->made_in, out->found_in) != 0;
    if (status == WEIR_OK)
        status = weir_pg_hole_read(connection, &out->hole, error);
    return status;
}

enum weir_status weir_pg_restore_refuse(const struct weir_pg_hole *hole,
                                        struct weir_error *error)
{
    return weir_error_set(error, WEIR_SCHEMA,
                          "the dump has a hole: the sweep emptied tables while it was "
                          "taken (rows know copy "
                          "%lld, emptied by copy %lld); restore another one, or run "
                          "\"weir migrate --restored "
                          "--with-holes\" to deliver what is there",
                          (long long)hole->copied, (long long)hole->emptied);
}

/* ---- the transaction --------------------------------------------------------------- */

static enum weir_status lock_all(struct weir_connection *connection,
                                 struct weir_error *error)
{
    static const int64_t LOCKS[] = {WEIR_LOCK_SWEEP, WEIR_LOCK_SUBSCRIBE, WEIR_LOCK_CUT};
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; i < COUNT_OF(LOCKS) && status == WEIR_OK; i++)
        status = weir_connection_execute(connection, &SQL_LOCK,
                                         VALUES(weir_integer(LOCKS[i])), NULL, error);
    if (status == WEIR_OK)
        status = weir_connection_execute_text(connection, LOCK_TABLES, error);
    return status;
}

static enum weir_status read_bounds(struct weir_connection *connection, int64_t *newest,
                                    int64_t *unseen, struct weir_error *error)
{
    struct bounds {
        int64_t newest;
        int64_t unseen;
    } bounds;
    static const struct weir_column BOUNDS[] = {
        COLUMN_NULL_IS(struct bounds, newest, -1),
        COLUMN_NULL_IS(struct bounds, unseen, -1),
    };
    enum weir_status status =
        weir_query_one(connection, &SQL_BOUNDS, NO_VALUES, INTO(BOUNDS, &bounds), error);

    if (status != WEIR_OK)
        return status;
    if (bounds.newest < 0 || bounds.unseen < 0)
        return weir_error_set(error, WEIR_SCHEMA, "there is no cut, not even 0");
    *newest = bounds.newest;
    *unseen = bounds.unseen;
    return WEIR_OK;
}

/* Everything in the log, a bounded number of rows at a time: each statement has a time
 * limit. */
static enum weir_status set_aside(struct weir_connection *connection,
                                  const struct weir_sql *sql, int64_t newest,
                                  int64_t unseen, struct weir_error *error)
{
    struct weir_fault_points *points = weir_connection_config(connection)->points;
    int64_t after = 0;
    int64_t last = 0;
    enum weir_status status;

    do {
        after = last;
        status = weir_connection_query_integer(
            connection, sql,
            VALUES(weir_integer(after), weir_integer(newest), weir_integer(unseen),
                   weir_integer(WEIR_RESTORE_ROWS)),
            &last, error);
        (void)WEIR_POINT(points, "restore.aside");
    } while (status == WEIR_OK && last > after);
    return status;
}

/* The log is empty from here on, and its order goes on from cut `no`. */
static enum weir_status begin_anew(struct weir_connection *connection,
                                   const struct weir_pg_hole *hole, int64_t no,
                                   struct weir_error *error)
{
    int64_t ignored = 0;
    enum weir_status status =
        weir_connection_execute(connection, &SQL_MEND_SEQUENCES, NO_VALUES, NULL, error);

    if (status == WEIR_OK)
        status = weir_connection_execute(connection, &SQL_FORGET_BACKLOGS, NO_VALUES,
                                         NULL, error);
    if (status == WEIR_OK)
        status = weir_pg_hole_is_there(hole)
                     ? weir_pg_copy_reset(connection, &ignored, error)
                     : weir_pg_copy_announce(connection, hole->copied, error);
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

/* The number under which the tables will be emptied, if they will. */
static enum weir_status number_once(struct weir_connection *connection, void *argument,
                                    struct weir_error *error)
{
    struct weir_pg_hole hole;
    int64_t elsewhere = 0;
    int64_t number = 0;
    enum weir_status status = weir_connection_execute(
        connection, &SQL_LOCK, VALUES(weir_integer(WEIR_LOCK_SWEEP)), NULL, error);

    (void)argument;
    if (status == WEIR_OK)
        status = weir_connection_query_integer(connection, &SQL_IS_ELSEWHERE, NO_VALUES,
                                               &elsewhere, error);
    if (status == WEIR_OK)
        status = weir_pg_hole_read(connection, &hole, error);
    if (status == WEIR_OK && elsewhere > 0 && !weir_pg_hole_is_there(&hole))
        status = weir_pg_copy_reset(connection, &number, error);
    return status;
}

struct restoring {
    enum weir_pg_holes holes;
    struct weir_pg_survey *survey;
};

/* Everything but what tells that it was done. */
static enum weir_status stamp(struct weir_connection *connection,
                              const struct weir_pg_survey *survey,
                              struct weir_error *error)
{
    bool holed = weir_pg_hole_is_there(&survey->hole);
    int64_t newest = 0;
    int64_t unseen = 0;
    enum weir_status status = read_bounds(connection, &newest, &unseen, error);

    if (status == WEIR_OK)
        status = set_aside(connection, holed ? &SQL_SET_ASIDE_WITH_HOLES : &SQL_SET_ASIDE,
                           newest, unseen, error);
    if (status == WEIR_OK && holed)
        status = weir_connection_execute(connection, &SQL_PLACE, NO_VALUES, NULL, error);
    if (status == WEIR_OK)
        status = begin_anew(connection, &survey->hole, newest + 1, error);
    return status;
}

static enum weir_status restore_once(struct weir_connection *connection, void *argument,
                                     struct weir_error *error)
{
    struct restoring *self = argument;
    struct weir_pg_survey *survey = self->survey;
    enum weir_status status = lock_all(connection, error);

    if (status == WEIR_OK)
        status = weir_pg_restore_survey(connection, survey, error);
    if (status != WEIR_OK || (!survey->needed && !weir_pg_hole_is_there(&survey->hole)))
        return status;
    if (weir_pg_hole_is_there(&survey->hole) && self->holes == WEIR_PG_HOLES_REFUSED)
        return weir_pg_restore_refuse(&survey->hole, error);
    status = stamp(connection, survey, error);
    if (status == WEIR_OK)
        status =
            weir_connection_execute(connection, &SQL_FREE_LEASES, NO_VALUES, NULL, error);
    if (status == WEIR_OK)
        status = weir_connection_execute(connection, &SQL_STORE_IDENTITY, NO_VALUES, NULL,
                                         error);
    return status;
}

enum weir_status weir_pg_restore(struct weir_connection *connection,
                                 enum weir_pg_holes holes, struct weir_pg_survey *out,
                                 struct weir_error *error)
{
    struct restoring self = {.holes = holes, .survey = out};
    enum weir_status status = weir_transact_on(connection, number_once, NULL, error);

    if (status == WEIR_OK)
        status = weir_transact_on(connection, restore_once, &self, error);
    if (status != WEIR_OK)
        weir_error_prefix(error, "restore");
    return status;
}
