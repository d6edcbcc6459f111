/*
 * cut.c - see postgres/cut.h.
 *
 * Why the steps of a cut come in this order:
 *
 *   I1  A row takes its transaction id before its message id (schema.c). `hi` is read
 *       before `own` is taken, so a row with an id up to `hi` has a transaction id
 *       below `own`.
 *   I2  A snapshot's xmax is one past the last transaction that has *ended*; running
 *       ones above it are not in its list. By I1 the rows up to `hi` that a cut does
 *       not see belong to its running list or to [xmax, own): these two are where the
 *       next cut finds its late rows.
 *   I3  `top` is read after the snapshot: whatever it sees has an id up to `top`.
 *   I4  A lock makes cuts one after the other, so they are numbered without a gap, and
 *       what one sees the next sees too.
 *   I5  `hi` is never ahead of the ids that were taken. Every 32 ids nextval() stores a
 *       value up to 32 ahead in the sequence's row while it writes the log of the
 *       server, and a SELECT from the sequence may see that. pg_sequence_last_value()
 *       takes the lock that nextval() holds meanwhile. For `top`, a value that is too
 *       large is right too.
 *
 * In a transaction that had its id already, `own` would be older than `hi` and I1 would
 * not hold: a cut behind an ack in one transaction loses messages. So the cut has its
 * own, and checks.
 *
 * All steps travel together, with BEGIN and COMMIT: one round trip, and a process that
 * is stopped in the middle holds no lock. Values go from step to step by settings that
 * live as long as the transaction. In an explicit transaction at READ COMMITTED each
 * has its own snapshot.
 */
#include "outbox/postgres/cut.h"

#include <string.h>

#include "base/count.h"
#include "base/no_memory.h"
#include "db/clock.h"
#include "outbox/postgres/statements.h"
#include "weir/time.h"

/* A net: two rounds are the rule when others cut too. */
enum { ROUNDS_MAX = 8 };

/* While the sequence was never called, its last value is the next one. May be ahead,
 * see I5. */
#define LAST_ID                                                                          \
    "(SELECT CASE WHEN is_called THEN last_value ELSE last_value - 1 END FROM "          \
    "{p}_log_id)"

/*
 * `newest` is the newest cut, by the index on no, backwards. A cut is needed when ids
 * were taken since, or when a transaction that was running then is committed now and
 * has rows. The order of the tests is the point: transactions that still run are not
 * looked up, so a million uncommitted rows cost nothing. ORDER BY and LIMIT keep the
 * last look-up one by index (xid, id) for each transaction: no join, and no bitmap of
 * all its rows.
 */
#define STRETCH                                                                          \
    WEIR_PG_STRETCH("(SELECT pg_snapshot_xmax(snap) FROM newest)",                       \
                    "(SELECT own FROM newest)")
#define WITH_NEWEST                                                                      \
    "WITH RECURSIVE newest AS MATERIALIZED ("                                            \
    "SELECT no, hi, own, snap, made_us FROM {p}_cut ORDER BY no DESC LIMIT 1)," STRETCH
#define NEEDED                                                                           \
    "CASE WHEN " LAST_ID " > n.hi THEN true ELSE EXISTS ("                               \
    "SELECT FROM (SELECT x.xid FROM pg_snapshot_xip(n.snap) AS x(xid)"                   \
    " UNION ALL SELECT s.xid FROM stretch s WHERE s.xid IS NOT NULL) r"                  \
    " CROSS JOIN LATERAL (SELECT FROM {p}_log l WHERE l.xid = r.xid AND l.id <= n.hi"    \
    " ORDER BY l.id LIMIT 1) has"                                                        \
    " WHERE pg_visible_in_snapshot(r.xid, (SELECT pg_current_snapshot()))) END"

/* A clock that went back is no reason to wait. */
#define EARLY_US(age_us)                                                                 \
    "CASE WHEN t.now_us < n.made_us THEN 0 ELSE"                                         \
    " greatest(n.made_us + " age_us " - t.now_us, 0) END"

const struct weir_sql weir_pg_sql_probe = {
    .name = "probe",
    .text = WITH_NEWEST
    " SELECT n.no, " NEEDED
    ", " EARLY_US("{1}::bigint") ", n.hi, n.made_us"
                                 " FROM newest n CROSS JOIN (SELECT {now} AS now_us) t",
    .parameters = "i",
};

static const struct weir_sql SQL_BEGIN = {
    .name = "begin cut",
    .text = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE",
};

/*
 * Fails (22012) when the transaction has an id. An application that gives up durable
 * commits for speed must not lose cuts whose messages were delivered.
 */
static const struct weir_sql SQL_CHECK = {
    .name = "check cut",
    .text = "SELECT 1 / CASE WHEN pg_current_xact_id_if_assigned() IS NULL"
            " THEN 1 ELSE 0 END,"
            " CASE WHEN current_setting('synchronous_commit') = 'off'"
            " THEN set_config('synchronous_commit', 'on', true) END",
};

/* Held until COMMIT. 1 is WEIR_LOCK_CUT. */
static const struct weir_sql SQL_LOCK = {
    .name = "lock cut",
    .text = "SELECT pg_advisory_xact_lock(hashtext('{n}'), 1)",
};
_Static_assert(WEIR_LOCK_CUT == 1, "as in SQL_LOCK");

/* After the lock, so that it sees the cut of its former holder. With {1} only if that is
 * still the newest: the number of the new one is then known without another look. */
const struct weir_sql weir_pg_sql_recheck = {
    .name = "recheck cut",
    .text = WITH_NEWEST
    " SELECT set_config('weir.cut', (coalesce(n.no = {1}, true) AND"
    " " EARLY_US("{2}::bigint") " = 0 AND " NEEDED ")::text, true)"
                                " FROM newest n CROSS JOIN (SELECT {now} AS now_us) t",
    .parameters = "ii",
};

/* Null while the sequence was never called. Too low a value would be right, see I5. */
const struct weir_sql weir_pg_sql_hi = {
    .name = "cut hi",
    .text = "SELECT set_config('weir.hi',"
            " coalesce(pg_sequence_last_value('{q}_log_id'), 0)::text, true)",
};

/* Not before it is sure that there will be a cut: it would cost every process an id. */
static const struct weir_sql SQL_OWN = {
    .name = "cut own",
    .text = "SELECT CASE WHEN current_setting('weir.cut')::boolean"
            " THEN set_config('weir.own', pg_current_xact_id()::text, true) END",
};

static const struct weir_sql SQL_SNAP = {
    .name = "cut snapshot",
    .text = "SELECT set_config('weir.snap', pg_current_snapshot()::text, true)",
};

/* Reads `top` first of all, in a statement after the snapshot's. The notification is a
 * plan of its own without reference to the row, so it happens once. */
const struct weir_sql weir_pg_sql_insert_cut = {
    .name = "insert cut",
    .text = "INSERT INTO {p}_cut (no, hi, own, snap, top, made_us)"
            " SELECT n.no + 1, current_setting('weir.hi')::bigint,"
            " current_setting('weir.own')::xid8,"
            " current_setting('weir.snap')::pg_snapshot, " LAST_ID ", {now}"
            " FROM (SELECT no FROM {p}_cut ORDER BY no DESC LIMIT 1) n"
            " WHERE current_setting('weir.cut')::boolean"
            " RETURNING (SELECT pg_notify({1}, '') IS NULL WHERE {1} IS NOT NULL)",
    .parameters = "t",
};

static const struct weir_sql SQL_COMMIT = {
    .name = "commit cut",
    .text = "COMMIT",
};

/* By index (no), since the limit is a constant: of one that it does not know the planner
 * expects a tenth of the table, and sorts that. `late` is what the two snapshots tell,
 * without a look at the log; and rows that were set aside are where they are. */
#define CUTS(limit)                                                                      \
    "SELECT c.no, c.hi, c.top, c.own::text::bigint, c.snap::text,"                       \
    " pg_snapshot_xmax(c.before_snap) < c.before_own"                                    \
    " OR EXISTS (SELECT FROM pg_snapshot_xip(c.before_snap) AS x(xid)"                   \
    " WHERE pg_visible_in_snapshot(x.xid, c.snap))"                                      \
    " OR EXISTS (SELECT FROM {p}_aside a WHERE a.cut = c.no AND a.id <= c.before_hi)"    \
    " FROM (SELECT k.*, lag(k.hi) OVER w AS before_hi,"                                  \
    " lag(k.own) OVER w AS before_own, lag(k.snap) OVER w AS before_snap"                \
    " FROM (SELECT no, hi, top, own, snap FROM {p}_cut WHERE no >= {1}"                  \
    " ORDER BY no LIMIT " limit ") k WINDOW w AS (ORDER BY k.no)) c ORDER BY c.no"

const struct weir_sql weir_pg_sql_cuts = {
    .name = "read cuts",
    .text = CUTS("33"),
    .parameters = "i",
};
const struct weir_sql weir_pg_sql_few_cuts = {
    .name = "read few cuts",
    .text = CUTS("3"),
    .parameters = "i",
};
_Static_assert(WEIR_PG_CUTS_MAX == 33 && WEIR_PG_CUTS_FEW == 3, "as here");

enum weir_status weir_pg_cut_probe(struct weir_connection *connection, int64_t age_us,
                                   struct weir_pg_probe *out, struct weir_error *error)
{
    struct weir_rows rows;
    enum weir_status status = weir_connection_query(
        connection, &weir_pg_sql_probe, VALUES(weir_integer(age_us)), &rows, error);

    *out = (struct weir_pg_probe){0};
    if (status == WEIR_OK)
        status = weir_rows_next(&rows, error);
    if (status == WEIR_OK) {
        out->newest = weir_rows_integer(&rows, 0);
        out->needed = weir_rows_boolean(&rows, 1);
        out->early_us = weir_rows_integer(&rows, 2);
        out->hi = weir_rows_integer(&rows, 3);
        out->made_us = weir_rows_integer(&rows, 4);
    } else if (status == WEIR_NO_ROW) {
        status = weir_error_set(error, WEIR_SCHEMA, "probe: there is no cut, not even 0");
    }
    weir_rows_close(&rows);
    return status;
}

/* As weir_pg_cut_make(), `after` this cut, if it is not null. */
static enum weir_status make_after(struct weir_connection *connection,
                                   struct weir_value after, int64_t age_us,
                                   const char *channel, bool *made,
                                   struct weir_error *error)
{
    struct weir_value name = channel != NULL ? weir_text(weir_str(channel)) : weir_null();
    struct weir_value judged_by[] = {after, weir_integer(age_us)};
    struct weir_step steps[] = {
        {.sql = &SQL_BEGIN},
        {.sql = &SQL_CHECK},
        {.sql = &SQL_LOCK},
        {.sql = &weir_pg_sql_recheck,
         .values = judged_by,
         .value_count = COUNT_OF(judged_by)},
        {.sql = &weir_pg_sql_hi},
        {.sql = &SQL_OWN},
        {.sql = &SQL_SNAP},
        {.sql = &weir_pg_sql_insert_cut, .values = &name, .value_count = 1},
        {.sql = &SQL_COMMIT},
    };
    enum { INSERT_STEP = 7, STEP_COUNT = COUNT_OF(steps) };
    enum weir_status status;

    *made = false;
    /* Our COMMIT would end it, and I1 would not hold. */
    if (weir_connection_transaction(connection) != WEIR_TRANSACTION_NONE)
        return weir_error_set(error, WEIR_INVALID,
                              "cut: the connection is in a transaction");
    status = weir_connection_execute_steps(connection, steps, STEP_COUNT, error);
    if (status == WEIR_OK)
        *made = steps[INSERT_STEP].changed > 0;
    else
        weir_connection_rollback(connection);
    return status;
}

enum weir_status weir_pg_cut_make(struct weir_connection *connection, int64_t age_us,
                                  const char *channel, bool *made,
                                  struct weir_error *error)
{
    return make_after(connection, weir_null(), age_us, channel, made, error);
}

/* As make_after(), and lets `pace` (NULL: nothing) know what it took. */
static enum weir_status make_timed(struct weir_connection *connection, int64_t after,
                                   struct weir_cut_pace *pace, const char *channel,
                                   bool *made, struct weir_error *error)
{
    int64_t begun_ns = weir_clock_now_ns();
    enum weir_status status =
        make_after(connection, weir_integer(after), weir_cut_pace_age_us(pace), channel,
                   made, error);

    if (status == WEIR_OK && *made && pace != NULL)
        weir_cut_pace_took(pace, (weir_clock_now_ns() - begun_ns) / 1000);
    return status;
}

/* As weir_pg_cut_probe(), by the age that `pace` asks for, which observes the answer. */
static enum weir_status probe_paced(struct weir_connection *connection,
                                    struct weir_cut_pace *pace, struct weir_pg_probe *out,
                                    struct weir_error *error)
{
    enum weir_status status =
        weir_pg_cut_probe(connection, weir_cut_pace_age_us(pace), out, error);

    if (status == WEIR_OK && pace != NULL)
        weir_cut_pace_observe(pace, out->newest, out->hi, out->made_us);
    return status;
}

/* A cut that others were in the way of can be tried again at once. */
static bool is_passing(enum weir_status status)
{
    return status == WEIR_CONFLICT;
}

/*
 * The cut after the one that the first look found may have been under way already. The
 * one after that began later than this call, whichever process made it: it sees what this
 * call has to see.
 */
enum weir_status weir_pg_cut_catch_up(struct weir_connection *connection,
                                      struct weir_cut_pace *pace, const char *channel,
                                      int64_t *newest, struct weir_error *error)
{
    struct weir_pg_probe probe;
    bool made = false;
    enum weir_status status = probe_paced(connection, pace, &probe, error);
    int64_t enough = probe.newest + 2;

    for (int i = 0; i < ROUNDS_MAX && status == WEIR_OK; i++) {
        if (!probe.needed || made || probe.newest >= enough)
            break;
        if (probe.early_us > 0 && !weir_clock_sleep(WEIR_MICROSECONDS(probe.early_us)))
            break;
        status = make_timed(connection, probe.newest, pace, channel, &made, error);
        if (made)
            probe.newest++;
        else if (status == WEIR_OK || is_passing(status))
            status = probe_paced(connection, pace, &probe, error);
    }
    *newest = probe.newest;
    return status;
}

static enum weir_status load_cut(struct weir_rows *rows, struct weir_arena *arena,
                                 struct weir_pg_cut *out, struct weir_error *error)
{
    struct weir_str snap = weir_rows_text(rows, 4);
    char *copy = weir_arena_alloc(arena, snap.size + 1);

    if (copy == NULL)
        return weir_no_memory(error, "read cuts");
    memcpy(copy, snap.data, snap.size);
    *out = (struct weir_pg_cut){
        .no = weir_rows_integer(rows, 0),
        .hi = weir_rows_integer(rows, 1),
        .top = weir_rows_integer(rows, 2),
        .own = weir_rows_integer(rows, 3),
        .snap = {copy, snap.size},
        .late = weir_rows_boolean(rows, 5),
    };
    return WEIR_OK;
}

enum weir_status weir_pg_cut_load(struct weir_connection *connection,
                                  struct weir_arena *arena, int64_t from,
                                  struct weir_pg_cut *out, size_t max, size_t *count,
                                  struct weir_error *error)
{
    struct weir_rows rows;
    enum weir_status status = weir_connection_query(
        connection, max == WEIR_PG_CUTS_FEW ? &weir_pg_sql_few_cuts : &weir_pg_sql_cuts,
        VALUES(weir_integer(from)), &rows, error);

    *count = 0;
    while (status == WEIR_OK && *count < max &&
           (status = weir_rows_next(&rows, error)) == WEIR_OK) {
        status = load_cut(&rows, arena, &out[*count], error);
        if (status == WEIR_OK)
            (*count)++;
    }
    weir_rows_close(&rows);
    return status == WEIR_NO_ROW ? WEIR_OK : status;
}
