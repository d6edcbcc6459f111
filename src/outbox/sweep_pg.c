/*
 * sweep_pg.c - see sweep_pg.h.
 *
 *   I1  A row in leaf L belongs to a cut after L's emptied_cut.
 *   I2  Cut rows are kept from the lowest emptied_cut on, without gap.
 *   I3  A row is removed from a leaf only when it is visible in a cut and either passed by all
 *       subscriptions of its queue or copied to `aside` with its cut in the same transaction.
 *   I4  A queue's removed place is not before the place of anything ever removed from it.
 *   I5  The newest ack of a (subscription, partition) is in some leaf at every moment.
 *   I6  A queue's `removals` changes in each transaction after which a row of it is missing.
 *
 * Passed, per row. Places are ordered, and what a place has passed a later one has passed too.
 * So for a partition only the earliest of its subscriptions' places counts: its *line*. A row is
 * passed when it is visible in the line's cut, or in the cut after it with an id up to the
 * line's. Never by id alone: the rows of a long transaction have small ids and a late cut. A
 * cut row that is missing (I2) is older than everything in the leaves (I1): nothing is visible
 * in it.
 *
 * The leaf's lock. ACCESS EXCLUSIVE is had only when no transaction that wrote to the leaf is
 * still running, prepared ones included: locks are given back after the transaction has become
 * visible. So a statement that begins later sees every row there is, and a row that is not
 * visible in the newest cut was committed after that cut: the leaf is left for another time. A
 * transaction that took an id of this leaf and has not inserted yet waits for our lock, commits
 * after cut n and therefore is not visible in it (I1).
 *
 * Order of locks. Sweep, subscribe, leaf: and all three are only tried. Waiting for the leaf
 * would stop every reader behind us; waiting for `subscribe` with the leaf locked would be a
 * deadlock, since subscribing may read the log. With the leaf in hand, only a row of {p}_queue is
 * ever waited for, and those who hold one (pausing, changing a policy) want nothing of ours.
 *
 * Why the subscription lock. A new subscription starts behind the removed place. Between its
 * reading that and its commit nothing more may be removed, or its first messages would be
 * missing.
 *
 * A crash anywhere leaves either all of a step or nothing: each is one transaction.
 */
#include "outbox/sweep_pg.h"

#include <stdio.h>

#include "base/point.h"
#include "db/pause.h"
#include "outbox/schema.h"
#include "weir/outbox.h"
#include "weir/time.h"

enum {
    STEP_ASIDE = WEIR_LOG_LEAVES,
    STEP_ACKS,
    STEP_CUTS = STEP_ACKS + WEIR_ACK_LEAVES,
    STEP_COUNT = STEP_CUTS + WEIR_CUT_LEAVES
};

_Static_assert(WEIR_UNREAD_DROP == 1, "as the statements say");

enum { PAUSE_MIN_NS = 2000000, PAUSE_SPREAD_NS = 4000000, LOCK_TEXT_SIZE = 96 };

/* ---- statements ---------------------------------------------------------------------------- */

/* The same statement for each leaf: `before` ends where the number is put. */
#define ONE(statement, letters, before, number, after)                                   \
    {                                                                                    \
        .name = (statement), .text = before number after, .parameters = (letters)        \
    }
#define FOUR(statement, letters, before, after)                                          \
    {                                                                                    \
        ONE(statement, letters, before, "0", after),                                     \
            ONE(statement, letters, before, "1", after),                                 \
            ONE(statement, letters, before, "2", after),                                 \
            ONE(statement, letters, before, "3", after)                                  \
    }
#define EIGHT(statement, letters, before, after)                                         \
    {                                                                                    \
        ONE(statement, letters, before, "0", after),                                     \
            ONE(statement, letters, before, "1", after),                                 \
            ONE(statement, letters, before, "2", after),                                 \
            ONE(statement, letters, before, "3", after),                                 \
            ONE(statement, letters, before, "4", after),                                 \
            ONE(statement, letters, before, "5", after),                                 \
            ONE(statement, letters, before, "6", after),                                 \
            ONE(statement, letters, before, "7", after)                                  \
    }

#define LOG_LEAF                                                                         \
    "WITH RECURSIVE leaf AS NOT MATERIALIZED (SELECT tableoid, * FROM {p}_log_"

/*
 * CTE `line`: for each partition of each queue the earliest place of its subscriptions, {1} being
 * the newest cut. -1: nothing is passed; that is also what a missing ack comes to. The newest
 * ack is the first of an index scan backwards. Partitions of removed queues have no line.
 */
#define LINES                                                                            \
    " place AS (SELECT q.id * 64 + p.n AS pid,"                                          \
    " CASE WHEN s.id IS NULL AND q.unread = 1 THEN {1}"                                  \
    " ELSE coalesce(a.cut, -1) END AS cut,"                                              \
    " coalesce(a.last_id, 0) AS last_id"                                                 \
    " FROM {p}_queue q CROSS JOIN LATERAL generate_series(0, q.partitions - 1) p (n)"    \
    " LEFT JOIN {p}_subscription s ON s.queue = q.id"                                    \
    " LEFT JOIN LATERAL (SELECT cut, last_id FROM {p}_ack"                               \
    " WHERE subscription = s.id AND pid = q.id * 64 + p.n"                               \
    " ORDER BY version DESC LIMIT 1) a ON true),"                                        \
    " line AS MATERIALIZED (SELECT DISTINCT ON (pid) pid, cut, last_id"                  \
    " FROM place ORDER BY pid, cut, last_id)"

/*
 * The same with the snapshots to judge rows by, and that of the newest cut. As sub-selects: the
 * planner takes a join with the cuts for a table larger than the leaf, and would then put the
 * leaf into the hash table.
 */
#define SNAPSHOTS                                                                        \
    LINES ", bar AS MATERIALIZED (SELECT pid, last_id,"                                  \
          " (SELECT c.snap FROM {p}_cut c WHERE c.no = line.cut) AS base,"               \
          " (SELECT c.snap FROM {p}_cut c WHERE c.no = line.cut + 1) AS next FROM line)"
#define IN_A_CUT                                                                         \
    "pg_visible_in_snapshot(l.xid, (SELECT c.snap FROM {p}_cut c WHERE c.no = {1}))"
#define PASSED                                                                           \
    "coalesce(pg_visible_in_snapshot(l.xid, bar.base)"                                   \
    " OR (l.id <= bar.last_id AND pg_visible_in_snapshot(l.xid, bar.next)),"             \
    " bar.pid IS NULL)"
#define ROWS " FROM leaf l LEFT JOIN bar ON bar.pid = l.pid"

/* Raise the removed place of the queues that have partitions in `gone`, and count the removal
 * (I6). Row locks on them. */
#define RAISE                                                                            \
    " UPDATE {p}_queue q SET removals = q.removals + 1,"                                 \
    " removed_cut = greatest(q.removed_cut, r.cut),"                                     \
    " removed_id = CASE WHEN (q.removed_cut, q.removed_id) < (r.cut, r.last_id)"         \
    " THEN r.last_id ELSE q.removed_id END"                                              \
    " FROM (SELECT DISTINCT ON (pid / 64) pid / 64 AS queue, cut, last_id"               \
    " FROM line WHERE pid IN (SELECT pid FROM gone)"                                     \
    " ORDER BY pid / 64, cut DESC, last_id DESC) r"                                      \
    " WHERE r.queue = q.id"

/*
 * Held to the end of the transaction, whatever becomes of the process. Also, for that long, the
 * planner is told what it cannot know, since nobody analyses the leaves: a row finds its
 * line by hashing (a loop over all lines for each of a million rows takes minutes), and
 * compiling statements takes a second where they need a millisecond.
 */
static const struct weir_sql SQL_TRY_LOCK = {
    .name = "try lock",
    .text = "SELECT pg_try_advisory_xact_lock(hashtext('{p}'), {1}::integer)::integer,"
            " set_config('jit', 'off', true), set_config('enable_nestloop', 'off', true),"
            " set_config('enable_mergejoin', 'off', true)",
    .parameters = "i",
};

/*
 * What there is to know of a leaf at little cost: the newest cut; empty?; which leaf is being
 * filled; how large it is with what is stored out of line; and is the row with the highest
 * id (by the index) in no cut yet? Then there is no need to look at the others. {1}: bits.
 */
static const struct weir_sql SQL_LOOK[] =
    EIGHT("look at leaf", "i", LOG_LEAF,
          "), newest AS (SELECT no, snap FROM {p}_cut ORDER BY no DESC LIMIT 1)"
          " SELECT newest.no, NOT EXISTS (SELECT FROM leaf),"
          " ((s.last_value >> {1}::integer) & 7),"
          " pg_table_size((SELECT tableoid FROM leaf LIMIT 1)::regclass),"
          " coalesce((SELECT NOT pg_visible_in_snapshot(xid, newest.snap) FROM leaf"
          " ORDER BY id DESC LIMIT 1), false)"
          " FROM {p}_log_id s CROSS JOIN newest");

/*
 * An empty leaf needs no lock: all in one snapshot, which is later than that of the newest
 * cut it sees. What is not visible now is not visible in that cut either (I1).
 */
static const struct weir_sql SQL_NOTE_EMPTY[] = EIGHT(
    "note empty leaf", "i", LOG_LEAF,
    "), newest AS MATERIALIZED (SELECT max(no) AS no FROM {p}_cut)"
    " UPDATE {p}_leaf SET emptied_cut = newest.no FROM newest"
    " WHERE leaf = {1} AND emptied_cut < newest.no AND NOT EXISTS (SELECT FROM leaf)");

/* Pass 1: rows in no cut, and rows that are not to be removed; stops at {2} of them. One scan
 * of the leaf, no lock that anybody minds. */
static const struct weir_sql SQL_JUDGE[] =
    EIGHT("judge leaf", "ii", LOG_LEAF,
          ")," SNAPSHOTS " SELECT count(*) FILTER (WHERE NOT in_a_cut), count(*) FROM"
          " (SELECT " IN_A_CUT " AS in_a_cut" ROWS " WHERE NOT (" IN_A_CUT " AND " PASSED
          ") LIMIT {2}) kept");

static const struct weir_sql SQL_COUNT[] =
    EIGHT("count leaf", "i", LOG_LEAF,
          ") SELECT count(*) FROM (SELECT FROM leaf LIMIT {1}) few");

/* Pass 2, under the lock: all rows, those in no cut, those not passed. One scan. */
static const struct weir_sql SQL_JUDGE_LOCKED[] =
    EIGHT("judge locked leaf", "i", LOG_LEAF,
          ")," SNAPSHOTS " SELECT count(*), count(*) FILTER (WHERE NOT " IN_A_CUT "),"
          " count(*) FILTER (WHERE NOT " PASSED ")" ROWS);

static const struct weir_sql SQL_NEWEST_CUT = {
    .name = "newest cut",
    .text = "SELECT no FROM {p}_cut ORDER BY no DESC LIMIT 1",
    .parameters = "",
};

/*
 * Copy what is not passed, with its cut: the first in which its transaction is visible. That is
 * found once per transaction by halving: not visible in the cut at which the leaf was emptied
 * (I1), visible in the newest (pass 2), and once visible, visible for good. Should a cut row be
 * missing, the cut stays null and the table refuses the row: better stuck than lost.
 */
static const struct weir_sql SQL_SET_ASIDE[] = EIGHT(
    "set aside", "ii", LOG_LEAF,
    ")," SNAPSHOTS ", kept AS MATERIALIZED (SELECT l.*" ROWS " WHERE NOT " PASSED "),"
    " halved (xid, below, cut) AS ("
    " SELECT DISTINCT kept.xid, e.emptied_cut, {1} FROM kept, {p}_leaf e WHERE e.leaf = "
    "{2}"
    " UNION ALL"
    " SELECT h.xid,"
    " CASE WHEN pg_visible_in_snapshot(h.xid, c.snap) THEN h.below ELSE c.no END,"
    " CASE WHEN pg_visible_in_snapshot(h.xid, c.snap) THEN c.no ELSE h.cut END"
    " FROM halved h JOIN {p}_cut c ON c.no = (h.below + h.cut) / 2"
    " WHERE h.cut - h.below > 1)"
    " INSERT INTO {p}_aside"
    " (pid, cut, id, created_us, uid, message_key, type, headers, payload)"
    " SELECT k.pid, h.cut, k.id, k.created_us, k.uid, k.message_key, k.type, k.headers,"
    " k.payload FROM kept k"
    " LEFT JOIN halved h ON h.xid = k.xid AND h.cut - h.below = 1");

/* After setting aside: positions have only moved on since, so what was left out above is
 * behind the place that is written here (I4). */
static const struct weir_sql SQL_RAISE_REMOVED[] =
    EIGHT("raise removed", "i", LOG_LEAF,
          ")," LINES ", gone AS MATERIALIZED (SELECT DISTINCT pid FROM leaf)" RAISE);

static const struct weir_sql SQL_NOTE_EMPTIED = {
    .name = "note emptied leaf",
    .text =
        "UPDATE {p}_leaf SET emptied_cut = greatest(emptied_cut, {1}) WHERE leaf = {2}",
    .parameters = "ii",
};

/*
 * Up to {2} rows set aside that all have passed, or whose queue is gone. In one snapshot, so
 * that the removed place covers what is deleted. A row of cut c and id i is behind {c - 1, i}.
 */
static const struct weir_sql SQL_DELETE_ASIDE = {
    .name = "delete aside",
    .text = "WITH" LINES ", gone AS (DELETE FROM {p}_aside WHERE (cut, id) IN"
            " (SELECT a.cut, a.id FROM {p}_aside a"
            " LEFT JOIN line ON line.pid = a.pid"
            " WHERE line.pid IS NULL"
            " OR (a.cut - 1, a.id) <= (line.cut, line.last_id)"
            " LIMIT {2}) RETURNING pid),"
            " raised AS (" RAISE ")"
            " SELECT count(*) FROM gone",
    .parameters = "ii",
};

/* The leaf that acks are appended to, and has this one rows? */
static const struct weir_sql SQL_LOOK_ACKS[] = FOUR(
    "look at acks", "", "SELECT ((last_value >> 16) & 3), EXISTS (SELECT FROM {p}_ack_",
    ") FROM {p}_ack_id");

/*
 * Append the newest acks of this leaf again, with their versions, where acks are appended now.
 * {1}: this leaf. Tells how many came to lie in this leaf again: the sequence may come round to
 * it at any moment.
 *
 * An ack that is being appended meanwhile is not seen here and may be newer than the one that is
 * carried. That hides nothing: newest is the highest version, wherever it lies, and the one
 * carried keeps its own. It cannot be in this leaf, whose lock we have. Whoever compares at this
 * moment waits for the lock with its statement, takes its snapshot after our commit, and finds
 * the same version in the other leaf; whoever has compared keeps a lock on every leaf until its
 * end, and we are refused.
 */
static const struct weir_sql SQL_CARRY_ACKS[] =
    FOUR("carry acks", "i", "WITH leaf AS NOT MATERIALIZED (SELECT * FROM {p}_ack_",
         "), newest AS (SELECT DISTINCT ON (l.subscription, l.pid) l.* FROM leaf l"
         " JOIN {p}_subscription s ON s.id = l.subscription"
         " ORDER BY l.subscription, l.pid, l.version DESC),"
         " carried AS (INSERT INTO {p}_ack (subscription, pid, version, epoch,"
         " incarnation, cut, last_id, seq, attempts, alone, retry_us, error, trying)"
         " SELECT subscription, pid, version, epoch, incarnation, cut, last_id, seq,"
         " attempts, alone, retry_us, error, trying FROM newest n"
         " WHERE NOT EXISTS (SELECT FROM {p}_ack o WHERE o.subscription = n.subscription"
         " AND o.pid = n.pid AND o.version > n.version)"
         " RETURNING id)"
         " SELECT count(*) FILTER (WHERE ((id >> 16) & 3) = {1}) FROM carried");

/*
 * Rows, if all of this leaf's cuts are below the first one that is needed; else 0. The newest
 * cut never is below: no leaf was emptied at a later one. So the leaf that is being filled, and
 * the number the next cut counts from, stay.
 */
static const struct weir_sql SQL_LOOK_CUTS[] =
    FOUR("look at cuts", "", "SELECT count(*) FROM {p}_cut_",
         " HAVING max(no) < (SELECT min(emptied_cut) FROM {p}_leaf)");

/* ---- one step ------------------------------------------------------------------------------ */

struct sweep {
    const struct weir_outbox_log *log;
    struct weir_connection *connection;
    struct weir_sweep_report *report;
    uint32_t leaf;    /* of its table */
    int64_t kept_max; /* rows to set aside at most */
    bool yielded;     /* somebody else is sweeping */
    bool again;       /* the same step has more to do */
    struct weir_error *error;
};

/* What happens to a locked leaf; false in *done: roll back and leave it. */
typedef enum weir_status (*leaf_fn)(struct sweep *self, bool *done);

static enum weir_status sweep_log_leaf(struct sweep *self);
static enum weir_status sweep_aside(struct sweep *self);
static enum weir_status rotate_acks(struct sweep *self);
static enum weir_status rotate_cuts(struct sweep *self);

static enum weir_status run_step(struct sweep *self, uint32_t step)
{
    if (step < STEP_ASIDE) {
        self->leaf = step;
        return sweep_log_leaf(self);
    }
    if (step == STEP_ASIDE)
        return sweep_aside(self);
    if (step < STEP_CUTS) {
        self->leaf = step - STEP_ACKS;
        return rotate_acks(self);
    }
    self->leaf = step - STEP_CUTS;
    return rotate_cuts(self);
}

enum weir_status weir_pg_sweep(const struct weir_outbox_log *self, struct weir_db *db,
                               struct weir_sweep_state *state,
                               struct weir_sweep_report *report, struct weir_error *error)
{
    struct sweep sweep = {.log = self, .report = report, .error = error};
    uint32_t step = state->leaf % STEP_COUNT;
    enum weir_status status;

    *report = (struct weir_sweep_report){0};
    status = weir_db_acquire(db, &sweep.connection, error);
    if (status != WEIR_OK)
        return status;
    status = weir_outbox_log_check(self, sweep.connection, error);
    if (status == WEIR_OK)
        status = run_step(&sweep, step);
    weir_db_release(db, sweep.connection);
    if (status != WEIR_OK) {
        *report = (struct weir_sweep_report){0};
        return status; /* the same step again, next time */
    }
    if (!sweep.again)
        state->leaf = (step + 1) % STEP_COUNT;
    report->more = !sweep.yielded && state->leaf != 0;
    return WEIR_OK;
}

/* ---- locks --------------------------------------------------------------------------------- */

static enum weir_status try_lock(struct sweep *self, int64_t which, bool *had)
{
    int64_t answer = 0;
    enum weir_status status =
        weir_connection_query_integer(self->connection, &SQL_TRY_LOCK,
                                      VALUES(weir_integer(which)), &answer, self->error);

    *had = answer != 0;
    return status;
}

/* Begin a transaction that nobody else sweeps in. Without *had there is none. */
static enum weir_status begin_alone(struct sweep *self, bool *had)
{
    enum weir_status status = weir_connection_begin_own(self->connection, self->error);

    *had = false;
    if (status == WEIR_OK)
        status = try_lock(self, WEIR_LOCK_SWEEP, had);
    if (!*had)
        weir_connection_rollback(self->connection);
    self->yielded = status == WEIR_OK && !*had;
    return status;
}

/* One attempt at a leaf: *refused when one of its locks was not to be had. */
static enum weir_status try_leaf(struct sweep *self, const char *table, leaf_fn work,
                                 bool *refused)
{
    char text[LOCK_TEXT_SIZE];
    bool had = false;
    bool done = false;
    enum weir_status status = begin_alone(self, &had);

    *refused = false;
    if (status != WEIR_OK || !had)
        return status;
    status = try_lock(self, WEIR_LOCK_SUBSCRIBE, &had);
    if (status == WEIR_OK && had) {
        (void)snprintf(text, sizeof text,
                       "LOCK TABLE {p}_%s_%u IN ACCESS EXCLUSIVE MODE NOWAIT", table,
                       self->leaf);
        status = weir_connection_execute_text(self->connection, text, self->error);
        had = status == WEIR_OK;
        if (status == WEIR_LOCKED)
            status = WEIR_OK;
    }
    *refused = status == WEIR_OK && !had;
    if (had) {
        (void)WEIR_POINT(self->log->points, "sweep.locked");
        status = work(self, &done);
    }
    if (status == WEIR_OK && done)
        return weir_connection_commit(self->connection, self->error);
    weir_connection_rollback(self->connection);
    return status;
}

/*
 * Lock the leaf, work, commit. A failed NOWAIT ends its transaction, so each try is a new one.
 * A leaf that is never free is left for the next round: not an error.
 */
static enum weir_status with_leaf(struct sweep *self, const char *table, leaf_fn work)
{
    struct weir_sweep_report before = *self->report;
    enum weir_status status = WEIR_OK;
    bool refused = true;

    for (int i = 0; i < WEIR_SWEEP_TRIES && refused && status == WEIR_OK; i++) {
        if (i > 0 &&
            !weir_pause(PAUSE_MIN_NS + (int64_t)(weir_pause_random() % PAUSE_SPREAD_NS)))
            break; /* cancelled */
        *self->report = before;
        status = try_leaf(self, table, work, &refused);
        if (refused)
            (void)WEIR_POINT(self->log->points, "sweep.refused");
    }
    return status;
}

static enum weir_status truncate_leaf(struct sweep *self, const char *table, bool *done)
{
    char text[LOCK_TEXT_SIZE];
    enum weir_status status;

    (void)snprintf(text, sizeof text, "TRUNCATE {p}_%s_%u", table, self->leaf);
    status = weir_connection_execute_text(self->connection, text, self->error);
    if (status != WEIR_OK)
        return status;
    (void)WEIR_POINT(self->log->points, "sweep.truncated");
    self->report->truncated = 1;
    *done = true;
    return WEIR_OK;
}

/* One row of integers and flags; all zero when there is none. */
static enum weir_status ask(struct sweep *self, const struct weir_sql *sql,
                            const struct weir_value *values, size_t value_count,
                            const char *types, int64_t *out)
{
    struct weir_rows rows;
    enum weir_status status = weir_connection_query(self->connection, sql, values,
                                                    value_count, &rows, self->error);

    for (size_t i = 0; types[i] != '\0'; i++)
        out[i] = 0;
    if (status == WEIR_OK)
        status = weir_rows_next(&rows, self->error);
    for (size_t i = 0; status == WEIR_OK && types[i] != '\0'; i++)
        out[i] =
            types[i] == 'f' ? weir_rows_boolean(&rows, i) : weir_rows_integer(&rows, i);
    if (status == WEIR_OK)
        status = weir_rows_next(&rows, self->error); /* also notices a misread column */
    weir_rows_close(&rows);
    return status == WEIR_NO_ROW ? WEIR_OK : status;
}

/* ---- a leaf of the log --------------------------------------------------------------------- */

struct look {
    int64_t newest_cut;
    bool empty;
    bool worth_judging;
};

static enum weir_status look_at_leaf(struct sweep *self, struct look *out)
{
    enum { NEWEST, EMPTY, CURRENT, SIZE, UNCUT, COLUMNS };
    int64_t seen[COLUMNS];
    enum weir_status status =
        ask(self, &SQL_LOOK[self->leaf], VALUES(weir_integer(self->log->segment_bits)),
            "ifiif", seen);

    out->newest_cut = seen[NEWEST];
    out->empty = seen[EMPTY] != 0;
    out->worth_judging =
        !out->empty && !seen[UNCUT] &&
        (seen[CURRENT] != self->leaf || seen[SIZE] > WEIR_SWEEP_SIZE_MIN);
    /* All producers wait while the leaf that they fill is locked: no long copying then. */
    self->kept_max = ((int64_t)1 << self->log->segment_bits) / WEIR_SWEEP_KEPT_PART;
    if (seen[CURRENT] == self->leaf && self->kept_max > WEIR_SWEEP_KEPT_BUSY)
        self->kept_max = WEIR_SWEEP_KEPT_BUSY;
    return status;
}

/* Pass 1: would it be worth while to lock the leaf? */
static enum weir_status judge(struct sweep *self, int64_t newest_cut, bool *worth_locking)
{
    enum { UNCUT, KEPT, COLUMNS };
    int64_t kept_max = self->kept_max;
    int64_t seen[COLUMNS];
    int64_t rows = 0;
    enum weir_status status =
        ask(self, &SQL_JUDGE[self->leaf],
            VALUES(weir_integer(newest_cut), weir_integer(kept_max + 1)), "ii", seen);

    *worth_locking = false;
    if (status != WEIR_OK || seen[UNCUT] > 0 || seen[KEPT] > kept_max)
        return status;
    if (seen[KEPT] > 0)
        status = ask(self, &SQL_COUNT[self->leaf],
                     VALUES(weir_integer(seen[KEPT] * WEIR_SWEEP_KEPT_PART)), "i", &rows);
    *worth_locking = rows == seen[KEPT] * WEIR_SWEEP_KEPT_PART;
    return status;
}

static enum weir_status set_aside(struct sweep *self, int64_t newest_cut)
{
    enum weir_status status = weir_connection_execute(
        self->connection, &SQL_SET_ASIDE[self->leaf],
        VALUES(weir_integer(newest_cut), weir_integer(self->leaf)), &self->report->aside,
        self->error);

    (void)WEIR_POINT(self->log->points, "sweep.aside");
    return status;
}

/* Pass 2: nothing in the leaf can change any more. Cuts and positions may, and only forward. */
static enum weir_status empty_log_leaf(struct sweep *self, bool *done)
{
    enum { ROWS_SEEN, UNCUT, KEPT, COLUMNS };
    int64_t newest_cut = 0;
    int64_t seen[COLUMNS];
    enum weir_status status = ask(self, &SQL_NEWEST_CUT, NO_VALUES, "i", &newest_cut);

    if (WEIR_POINT(self->log->points, "sweep.no_pass_two"))
        return truncate_leaf(self, "log", done); /* a bug: against I3 */
    if (status == WEIR_OK)
        status = ask(self, &SQL_JUDGE_LOCKED[self->leaf],
                     VALUES(weir_integer(newest_cut)), "iii", seen);
    if (status != WEIR_OK || seen[UNCUT] > 0 ||
        seen[KEPT] > seen[ROWS_SEEN] / WEIR_SWEEP_KEPT_PART ||
        seen[KEPT] > self->kept_max)
        return status;
    if (seen[KEPT] > 0)
        status = set_aside(self, newest_cut);
    if (status == WEIR_OK)
        status =
            weir_connection_execute(self->connection, &SQL_RAISE_REMOVED[self->leaf],
                                    VALUES(weir_integer(newest_cut)), NULL, self->error);
    if (status == WEIR_OK)
        status = weir_connection_execute(
            self->connection, &SQL_NOTE_EMPTIED,
            VALUES(weir_integer(newest_cut), weir_integer(self->leaf)), NULL,
            self->error);
    self->report->removed = seen[ROWS_SEEN] - self->report->aside;
    return status == WEIR_OK ? truncate_leaf(self, "log", done) : status;
}

/* Look and judge, in a transaction of their own that locks nothing but other sweeps. */
static enum weir_status judge_alone(struct sweep *self, bool *worth_locking)
{
    struct look look = {0};
    bool alone = false;
    enum weir_status status = begin_alone(self, &alone);

    if (status != WEIR_OK || !alone)
        return status;
    status = look_at_leaf(self, &look);
    if (status == WEIR_OK && look.empty)
        status =
            weir_connection_execute(self->connection, &SQL_NOTE_EMPTY[self->leaf],
                                    VALUES(weir_integer(self->leaf)), NULL, self->error);
    if (status == WEIR_OK && look.worth_judging)
        status = judge(self, look.newest_cut, worth_locking);
    if (status == WEIR_OK)
        return weir_connection_commit(self->connection, self->error);
    weir_connection_rollback(self->connection);
    return status;
}

static enum weir_status sweep_log_leaf(struct sweep *self)
{
    bool worth_locking = false;
    enum weir_status status = judge_alone(self, &worth_locking);

    if (status != WEIR_OK || !worth_locking)
        return status;
    (void)WEIR_POINT(self->log->points, "sweep.judged");
    return with_leaf(self, "log", empty_log_leaf);
}

/* ---- rows set aside ------------------------------------------------------------------------ */

static enum weir_status delete_aside(struct sweep *self)
{
    int64_t newest_cut = 0;
    enum weir_status status = ask(self, &SQL_NEWEST_CUT, NO_VALUES, "i", &newest_cut);

    if (status == WEIR_OK)
        status = ask(self, &SQL_DELETE_ASIDE,
                     VALUES(weir_integer(newest_cut), weir_integer(WEIR_SWEEP_ASIDE_MAX)),
                     "i", &self->report->removed);
    return status;
}

static enum weir_status sweep_aside(struct sweep *self)
{
    bool had = false;
    enum weir_status status = begin_alone(self, &had);

    if (status != WEIR_OK || !had)
        return status;
    status = try_lock(self, WEIR_LOCK_SUBSCRIBE, &had);
    if (status == WEIR_OK && had)
        status = delete_aside(self);
    if (status == WEIR_OK && had)
        status = weir_connection_commit(self->connection, self->error);
    else
        weir_connection_rollback(self->connection);
    self->again = status == WEIR_OK && self->report->removed == WEIR_SWEEP_ASIDE_MAX;
    return status;
}

/* ---- acks and cuts ------------------------------------------------------------------------- */

static enum weir_status empty_ack_leaf(struct sweep *self, bool *done)
{
    int64_t came_back = 0;
    enum weir_status status = ask(self, &SQL_CARRY_ACKS[self->leaf],
                                  VALUES(weir_integer(self->leaf)), "i", &came_back);

    /* The sequence has just come round to this leaf: truncating it would lose them (I5). */
    if (status != WEIR_OK || came_back > 0)
        return status;
    return truncate_leaf(self, "ack", done);
}

static enum weir_status rotate_acks(struct sweep *self)
{
    enum { CURRENT, FILLED, COLUMNS };
    int64_t seen[COLUMNS];
    enum weir_status status =
        ask(self, &SQL_LOOK_ACKS[self->leaf], NO_VALUES, "if", seen);

    if (status != WEIR_OK || seen[CURRENT] == self->leaf || seen[FILLED] == 0)
        return status;
    return with_leaf(self, "ack", empty_ack_leaf);
}

static enum weir_status empty_cut_leaf(struct sweep *self, bool *done)
{
    int64_t rows = 0;
    enum weir_status status =
        ask(self, &SQL_LOOK_CUTS[self->leaf], NO_VALUES, "i", &rows);

    if (status != WEIR_OK || rows == 0)
        return status;
    return truncate_leaf(self, "cut", done);
}

static enum weir_status rotate_cuts(struct sweep *self)
{
    int64_t rows = 0;
    enum weir_status status =
        ask(self, &SQL_LOOK_CUTS[self->leaf], NO_VALUES, "i", &rows);

    if (status != WEIR_OK || rows == 0)
        return status;
    return with_leaf(self, "cut", empty_cut_leaf);
}
