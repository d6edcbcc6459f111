/*
 * sweep_ack.c - see postgres/sweep.h: leaves of acks and of cuts.
 *
 * Acks. A copy appends the newest acks of the leaf again, with their versions, where
 * acks are appended now. An ack that is being appended meanwhile is not seen and may be
 * newer than the one that is carried. That hides nothing: newest is the highest
 * version, wherever it lies, and the one carried keeps its own. Two rows of one version
 * are the same position.
 *
 * Two leaves may each have the other's copy of a position. The first that is emptied
 * takes its row along; under its lock the second then finds rows that stand nowhere
 * else, and stays (I5).
 *
 * Cuts. Nothing is copied: a leaf of cuts that are all older than every row in the
 * log is not needed. But a dump that does not see that leaves were emptied would look
 * for these cuts, so the judgement is a copy like the others, with a number and the
 * wait.
 */
#include "base/fault_point.h"
#include "outbox/postgres/sweep_step.h"
#include "outbox/schema.h"

/* ---- statements -------------------------------------------------------------------- */

/* What is in a leaf, as one number: ids are never given twice. */
#define SUM_OF_IDS                                                                       \
    "coalesce(mod(sum(hashint8extended(id, 0)::numeric), 4611686018427387904), 0)"       \
    "::bigint"

/* Has leaf {1} rows, and what? Not if it is the one that acks are appended to. */
static const struct weir_sql SQL_LOOK_ACKS[] =
    WEIR_PG_FOUR("look at acks", "i",
                 "SELECT l.rows > 0, l.sum FROM {p}_ack_id s CROSS JOIN LATERAL"
                 " (SELECT count(*) AS rows, " SUM_OF_IDS " AS sum FROM {p}_ack_",
                 " WHERE ((s.last_value >> 16) & 3) <> {1}) l");

/* The newest of each position that is in this leaf, {1}, and in no other: not that
 * version, and no later one. */
#define NEWEST_ACKS                                                                      \
    "), newest AS (SELECT DISTINCT ON (l.subscription, l.pid) l.* FROM leaf l"           \
    " JOIN {p}_subscription s ON s.id = l.subscription"                                  \
    " ORDER BY l.subscription, l.pid, l.version DESC),"                                  \
    " lone AS MATERIALIZED (SELECT n.* FROM newest n"                                    \
    " WHERE NOT EXISTS (SELECT FROM {p}_ack o WHERE o.subscription = n.subscription"     \
    " AND o.pid = n.pid AND o.version >= n.version AND ((o.id >> 16) & 3) <> {1}))"
#define ACK_LEAF "WITH leaf AS NOT MATERIALIZED (SELECT * FROM {p}_ack_"

/* Append them again. Tells how many came to lie in this leaf again: the sequence may
 * come round to it at any moment. */
static const struct weir_sql SQL_CARRY_ACKS[] = WEIR_PG_FOUR(
    "carry acks", "i", ACK_LEAF,
    NEWEST_ACKS
    ", carried AS (INSERT INTO {p}_ack (subscription, pid, version, epoch,"
    " incarnation, cut, last_id, seq, attempts, alone, retry_us, error, trying)"
    " SELECT subscription, pid, version, epoch, incarnation, cut, last_id,"
    " seq, attempts, alone, retry_us, error, trying FROM lone RETURNING id)"
    " SELECT count(*) FILTER (WHERE ((id >> 16) & 3) = {1}) FROM carried");

static const struct weir_sql SQL_ONLY_ACKS[] = WEIR_PG_FOUR(
    "look for acks", "i", ACK_LEAF, NEWEST_ACKS " SELECT count(*) FROM lone");

/*
 * Rows and the last number, if all of this leaf's cuts are below the first one that is
 * needed; else no row. The newest cut never is below: no leaf was emptied at a later
 * one. So the leaf that is being filled, and the number the next cut counts from, stay.
 */
static const struct weir_sql SQL_LOOK_CUTS[] =
    WEIR_PG_FOUR("look at cuts", "", "SELECT count(*), max(no) FROM {p}_cut_",
                 " HAVING max(no) < (SELECT min(emptied_cut) FROM {p}_leaf)");

/* ---- two steps --------------------------------------------------------------------- */

/* A leaf that is copied: what the copy covers, if it is recorded. */
struct covering {
    struct weir_pg_copy copy;
    int64_t mark;
    bool worth_while;
    bool due; /* the recorded copy does not cover the leaf */
};

/* Copy, unless that was done, and empty. */
static enum weir_status rotate(struct weir_pg_step *self, weir_pg_step_fn look,
                               weir_pg_step_fn copy, weir_pg_step_fn judge)
{
    struct covering covering = {0};
    bool clear = false;
    enum weir_status status = weir_pg_step_alone(self, look, &covering);

    if (status != WEIR_OK || !covering.worth_while)
        return status;
    (void)WEIR_POINT(self->log->points, "sweep.judged");
    if (covering.due) {
        status = weir_pg_step_copy(self, copy, &covering);
        if (status != WEIR_OK || covering.due)
            return status;
        (void)WEIR_POINT(self->log->points, "sweep.copied");
        status =
            weir_pg_copy_load(self->connection, self->name, &covering.copy, self->error);
    }
    if (status != WEIR_OK)
        return status;
    status = weir_pg_step_wait(self, &covering.copy, &clear);
    if (status == WEIR_OK && clear)
        status = weir_pg_step_empty(self, &covering.copy, judge);
    return status;
}

/* ---- acks -------------------------------------------------------------------------- */

/* Is something in the leaf that stands nowhere else? */
static enum weir_status look_for_acks(struct weir_pg_step *self, int64_t *only)
{
    return weir_pg_step_ask(self, &SQL_ONLY_ACKS[self->leaf],
                            VALUES(weir_integer(self->leaf)), "i", only);
}

static enum weir_status look_at_acks(struct weir_pg_step *self, void *argument,
                                     bool *done)
{
    enum { FILLED, SUM, COLUMNS };
    struct covering *out = argument;
    int64_t seen[COLUMNS];
    int64_t only = 0;
    enum weir_status status = weir_pg_step_ask(
        self, &SQL_LOOK_ACKS[self->leaf], VALUES(weir_integer(self->leaf)), "fi", seen);

    *done = true;
    out->worth_while = seen[FILLED] != 0;
    out->mark = seen[SUM];
    if (status != WEIR_OK || !out->worth_while)
        return status;
    status = weir_pg_copy_load(self->connection, self->name, &out->copy, self->error);
    if (status == WEIR_OK)
        status = look_for_acks(self, &only);
    out->due = out->copy.mark != out->mark || only > 0;
    return status;
}

/* What is in the leaf is asked first: what comes later is not covered, carried or not. */
static enum weir_status copy_acks(struct weir_pg_step *self, void *argument, bool *done)
{
    struct covering *out = argument;
    int64_t came_back = 0;
    enum weir_status status = look_at_acks(self, out, done);

    *done = false;
    if (status != WEIR_OK || !out->worth_while)
        return status;
    status = weir_pg_step_ask(self, &SQL_CARRY_ACKS[self->leaf],
                              VALUES(weir_integer(self->leaf)), "i", &came_back);
    if (status != WEIR_OK || came_back > 0)
        return status;
    status = weir_pg_copy_store(self->connection, self->name, out->mark, 0, self->error);
    *done = status == WEIR_OK;
    out->due = !*done;
    return status;
}

static enum weir_status judge_acks(struct weir_pg_step *self, void *argument, bool *done)
{
    const struct weir_pg_copy *copy = argument;
    struct covering now = {0};
    enum weir_status status = look_at_acks(self, &now, done);

    *done = status == WEIR_OK && now.worth_while && !now.due && now.mark == copy->mark;
    return status;
}

enum weir_status weir_pg_sweep_acks(struct weir_pg_step *self)
{
    return rotate(self, look_at_acks, copy_acks, judge_acks);
}

/* ---- cuts -------------------------------------------------------------------------- */

static enum weir_status look_at_cuts(struct weir_pg_step *self, void *argument,
                                     bool *done)
{
    enum { ROWS, LAST, COLUMNS };
    struct covering *out = argument;
    int64_t seen[COLUMNS];
    enum weir_status status =
        weir_pg_step_ask(self, &SQL_LOOK_CUTS[self->leaf], NO_VALUES, "ii", seen);

    *done = true;
    out->worth_while = seen[ROWS] > 0;
    out->mark = seen[LAST];
    if (status == WEIR_OK && out->worth_while)
        status = weir_pg_copy_load(self->connection, self->name, &out->copy, self->error);
    out->due = out->copy.no == 0 || out->copy.mark != out->mark;
    return status;
}

static enum weir_status copy_cuts(struct weir_pg_step *self, void *argument, bool *done)
{
    struct covering *out = argument;
    enum weir_status status = look_at_cuts(self, out, done);

    *done = false;
    if (status != WEIR_OK || !out->worth_while)
        return status;
    status = weir_pg_copy_store(self->connection, self->name, out->mark, 0, self->error);
    *done = status == WEIR_OK;
    out->due = !*done;
    return status;
}

static enum weir_status judge_cuts(struct weir_pg_step *self, void *argument, bool *done)
{
    const struct weir_pg_copy *copy = argument;
    struct covering now = {0};
    enum weir_status status = look_at_cuts(self, &now, done);

    *done = status == WEIR_OK && now.worth_while && now.mark == copy->mark;
    return status;
}

enum weir_status weir_pg_sweep_cuts(struct weir_pg_step *self)
{
    return rotate(self, look_at_cuts, copy_cuts, judge_cuts);
}
