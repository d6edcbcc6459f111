/*
 * sweep.c - see postgres/sweep.h: the steps of a round, and the two transactions of a
 * leaf.
 *
 *   I1  A row in leaf L belongs to a cut after L's emptied_cut.
 *   I2  Cut rows are kept from the lowest emptied_cut on, without gap.
 *   I3  A leaf is truncated only when the newest copy of it has judged every row in it:
 *       passed by all subscriptions of its queue, or aside with its cut.
 *   I4  A queue's removed place is not before the place of anything ever removed from it.
 *   I5  The newest ack of a (subscription, partition) is in some leaf at every moment.
 *   I6  A queue's `removals` changes in each copy, and so before a row of it is
 *       missing: a leased partition that was asked about after the copy had passed what
 *       the copy takes for passed.
 *   I7  A session that sees the number of a copy sees what was copied, and the positions
 *       by which the rest was passed. So a dump whose newest copy is n has nothing to
 *       miss from a leaf that was emptied by a copy up to n.
 *
 * I3 is what I7 needs, and more than "every row is passed or aside by now": a row that
 *    came after
 * the copy and was passed since would be missing in a dump that sees the copy and not
 * yet the ack. Such a leaf is copied once more, under a new number. What the copy has
 * judged stays true: places only move on, also those of new subscriptions, which begin
 * behind the removed place, and rows set aside are removed when all have passed them.
 *
 * The leaf's lock. ACCESS EXCLUSIVE is had only when no transaction that wrote to the
 * leaf is still running, prepared ones included: locks are given back after the
 * transaction has become visible. So a statement that begins later sees every row there
 * is. A transaction that took an id of this leaf and has not inserted yet waits for our
 * lock, and commits after the cut n that is the newest then, and therefore is not
 * visible in it (I1).
 *
 * Order of locks. Sweep, subscribe, leaf: and all three are only tried. Waiting for the
 * leaf would stop every reader behind us; waiting for `subscribe` with the leaf locked
 * would be a deadlock, since subscribing may read the log. With the leaf in hand
 * nothing is waited for.
 *
 * Why the subscription lock. A new subscription starts behind the removed place.
 * Between its reading that and its commit nothing more may be judged as passed, or its
 * first messages would be missing.
 *
 * A crash anywhere leaves either all of a step or nothing: each is one transaction. No
 * step pauses inside of it.
 */
#include "outbox/postgres/sweep.h"

#include <stdio.h>

#include "base/fault_point.h"
#include "db/clock.h"
#include "outbox/postgres/sweep_step.h"
#include "outbox/schema.h"

enum {
    STEP_ASIDE = WEIR_LOG_LEAVES,
    STEP_ACKS,
    STEP_CUTS = STEP_ACKS + WEIR_ACK_LEAVES,
    STEP_COUNT = STEP_CUTS + WEIR_CUT_LEAVES
};
_Static_assert((int)STEP_COUNT == (int)WEIR_PG_SWEEP_STEPS, "one wait for each");

enum {
    PAUSE_MIN_NS = 2000000,
    PAUSE_SPREAD_NS = 4000000,
    LOCK_TEXT_SIZE = 96,
    LOOKS_MAX = 25, /* for snapshots that last no longer than a statement */
};
#define OLDER_SNAPSHOT_BRIEF_NS WEIR_SECONDS(1) /* older ones stay */

/*
 * Held to the end of the transaction, whatever becomes of the process. Also, for that
 * long, the planner is given settings that it cannot know, since the leaves have no
 * statistics: a row finds its line by hashing (a loop over all lines for each of a
 * million rows takes minutes), and compiling statements takes a second where they need a
 * millisecond.
 */
static const struct weir_sql SQL_TRY_LOCK = {
    .name = "try lock",
    .text = "SELECT pg_try_advisory_xact_lock(hashtext('{n}'), {1}::integer)::integer,"
            " set_config('jit', 'off', true), set_config('enable_nestloop', 'off', true),"
            " set_config('enable_mergejoin', 'off', true)",
    .parameters = "i",
};

static const struct weir_sql SQL_NEWEST_CUT = {
    .name = "newest cut",
    .text = "SELECT no FROM {p}_cut ORDER BY no DESC LIMIT 1",
    .parameters = "",
};

/* ---- one step ---------------------------------------------------------------------- */

typedef enum weir_status (*kind_fn)(struct weir_pg_step *self);

/* Which kind a step is, of which leaf. */
static kind_fn aim(struct weir_pg_step *self, uint32_t step)
{
    static const struct {
        uint32_t first;
        const char *table;
        kind_fn run;
    } KINDS[] = {{STEP_CUTS, "cut", weir_pg_sweep_cuts},
                 {STEP_ACKS, "ack", weir_pg_sweep_acks},
                 {STEP_ASIDE, "aside", weir_pg_sweep_aside},
                 {0, "log", weir_pg_sweep_log}};
    size_t i = 0;

    while (step < KINDS[i].first)
        i++;
    self->table = KINDS[i].table;
    self->leaf = step - KINDS[i].first;
    self->wait = &self->state->pg.waits[step];
    (void)snprintf(self->name, sizeof self->name, "%s_%u", self->table, self->leaf);
    return KINDS[i].run;
}

static struct weir_sweep_limits limits_of(const struct weir_outbox_log *log)
{
    if (log->limits != NULL)
        return *log->limits;
    return (struct weir_sweep_limits){.wait_ns = WEIR_SWEEP_WAIT_NS,
                                      .stood_ns = WEIR_SWEEP_STOOD_NS,
                                      .copy_rows = WEIR_SWEEP_COPY_ROWS};
}

enum weir_status weir_pg_sweep(const struct weir_outbox_log *self, struct weir_db *db,
                               struct weir_sweep_state *state,
                               struct weir_sweep_report *report, struct weir_error *error)
{
    struct weir_pg_step step = {.log = self,
                                .state = state,
                                .report = report,
                                .limits = limits_of(self),
                                .error = error};
    uint32_t number = state->leaf % STEP_COUNT;
    enum weir_status status;

    *report = (struct weir_sweep_report){0};
    status = weir_db_acquire(db, &step.connection, error);
    if (status != WEIR_OK)
        return status;
    status = weir_outbox_log_check(self, step.connection, error);
    if (status == WEIR_OK)
        status = aim(&step, number)(&step);
    weir_db_release(db, step.connection);
    if (status != WEIR_OK)
        *report = (struct weir_sweep_report){0};
    if (status != WEIR_OK || !step.again) {
        state->cursor = 0;
        state->leaf = (number + 1) % STEP_COUNT;
    }
    report->more = status == WEIR_OK && !step.yielded && (step.again || state->leaf != 0);
    return status;
}

/* ---- transactions ------------------------------------------------------------------ */

static enum weir_status try_lock(struct weir_pg_step *self, int64_t which, bool *had)
{
    int64_t answer = 0;
    enum weir_status status =
        weir_connection_query_integer(self->connection, &SQL_TRY_LOCK,
                                      VALUES(weir_integer(which)), &answer, self->error);

    *had = answer != 0;
    return status;
}

/* Begin a transaction with the right to sweep alone. Without *had there is none. */
static enum weir_status begin_alone(struct weir_pg_step *self, bool *had)
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

static enum weir_status end(struct weir_pg_step *self, enum weir_status status, bool done)
{
    if (status == WEIR_OK && done)
        return weir_connection_commit(self->connection, self->error);
    weir_connection_rollback(self->connection);
    return status;
}

enum weir_status weir_pg_step_alone(struct weir_pg_step *self, weir_pg_step_fn work,
                                    void *argument)
{
    bool had = false;
    bool done = false;
    enum weir_status status = begin_alone(self, &had);

    if (status != WEIR_OK || !had)
        return status;
    status = work(self, argument, &done);
    return end(self, status, done);
}

enum weir_status weir_pg_step_copy(struct weir_pg_step *self, weir_pg_step_fn work,
                                   void *argument)
{
    bool had = false;
    bool done = false;
    enum weir_status status = begin_alone(self, &had);

    if (status != WEIR_OK || !had)
        return status;
    status = try_lock(self, WEIR_LOCK_SUBSCRIBE, &had);
    if (status == WEIR_OK && had)
        status = work(self, argument, &done);
    return end(self, status, done);
}

/* ---- older snapshots --------------------------------------------------------------- */

static bool pause_briefly(void)
{
    return weir_clock_sleep(PAUSE_MIN_NS +
                            (int64_t)(weir_clock_random() % (uint64_t)PAUSE_SPREAD_NS));
}

enum weir_status weir_pg_step_wait(struct weir_pg_step *self,
                                   const struct weir_pg_copy *copy, bool *clear)
{
    struct weir_pg_older_snapshots *older_snapshots = &self->state->pg.older_snapshots;
    enum weir_status status = WEIR_OK;
    int64_t since_ns = 0;

    *clear = false;
    for (int i = 0; i < LOOKS_MAX && status == WEIR_OK && !*clear; i++) {
        int64_t now_ns = weir_clock_now_ns();

        if (i > 0 && (now_ns - since_ns > OLDER_SNAPSHOT_BRIEF_NS || !pause_briefly()))
            break;
        status = weir_pg_older_snapshots_look(older_snapshots, self->connection, now_ns,
                                              self->error);
        if (status == WEIR_OK) {
            weir_pg_older_snapshots_expect(older_snapshots, self->wait, copy->no, now_ns);
            since_ns = weir_pg_older_snapshots_since(
                older_snapshots, self->wait, copy->xid, now_ns, self->limits.wait_ns);
            *clear = since_ns == 0;
        }
    }
    return status;
}

/* ---- emptying ---------------------------------------------------------------------- */

/* Nothing is waited for, and nothing but the leaf is changed for others. */
static enum weir_status truncate_leaf(struct weir_pg_step *self, int64_t no)
{
    char text[LOCK_TEXT_SIZE];
    enum weir_status status = weir_pg_copy_announce(self->connection, no, self->error);

    (void)snprintf(text, sizeof text, "TRUNCATE {p}_%s", self->name);
    if (status == WEIR_OK)
        status = weir_connection_execute_text(self->connection, text, self->error);
    if (status != WEIR_OK)
        return status;
    (void)WEIR_POINT(self->log->points, "sweep.truncated");
    self->report->truncated = 1;
    return WEIR_OK;
}

/* The copy is still the newest of this leaf, and the leaf is as it has seen it. */
static enum weir_status judge_locked(struct weir_pg_step *self,
                                     const struct weir_pg_copy *copy,
                                     weir_pg_step_fn judge, bool *done)
{
    struct weir_pg_copy newest;
    enum weir_status status =
        weir_pg_copy_load(self->connection, self->name, &newest, self->error);

    if (status != WEIR_OK || newest.no != copy->no)
        return status;
    return judge(self, &newest, done);
}

static enum weir_status lock_leaf(struct weir_pg_step *self, bool *had)
{
    char text[LOCK_TEXT_SIZE];
    enum weir_status status;

    (void)snprintf(text, sizeof text, "LOCK TABLE {p}_%s IN ACCESS EXCLUSIVE MODE NOWAIT",
                   self->name);
    status = weir_connection_execute_text(self->connection, text, self->error);
    *had = status == WEIR_OK;
    return status == WEIR_LOCKED ? WEIR_OK : status;
}

/* One attempt: *refused when one of the locks was not to be had. */
static enum weir_status try_leaf(struct weir_pg_step *self,
                                 const struct weir_pg_copy *copy, weir_pg_step_fn judge,
                                 bool *refused)
{
    bool had = false;
    bool done = false;
    enum weir_status status = begin_alone(self, &had);

    *refused = false;
    if (status != WEIR_OK || !had)
        return status;
    status = try_lock(self, WEIR_LOCK_SUBSCRIBE, &had);
    if (status == WEIR_OK && had)
        status = lock_leaf(self, &had);
    *refused = status == WEIR_OK && !had;
    if (status == WEIR_OK && had) {
        (void)WEIR_POINT(self->log->points, "sweep.locked");
        status = judge_locked(self, copy, judge, &done);
    }
    if (status == WEIR_OK && done)
        status = truncate_leaf(self, copy->no);
    return end(self, status, done);
}

enum weir_status weir_pg_step_empty(struct weir_pg_step *self,
                                    const struct weir_pg_copy *copy,
                                    weir_pg_step_fn judge)
{
    struct weir_sweep_report before = *self->report;
    enum weir_status status = WEIR_OK;
    bool refused = true;

    /* A failed NOWAIT ends its transaction, so each try is a new one. */
    for (int i = 0; i < WEIR_SWEEP_TRIES && refused && status == WEIR_OK; i++) {
        if (i > 0 && !pause_briefly())
            break; /* cancelled */
        *self->report = before;
        status = try_leaf(self, copy, judge, &refused);
        if (refused)
            (void)WEIR_POINT(self->log->points, "sweep.refused");
    }
    if (status == WEIR_OK && self->report->truncated > 0)
        *self->wait = (struct weir_pg_wait){0};
    return status;
}

/* ---- reading ----------------------------------------------------------------------- */

enum weir_status weir_pg_step_ask(struct weir_pg_step *self, const struct weir_sql *sql,
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

enum weir_status weir_pg_step_newest_cut(struct weir_pg_step *self, int64_t *out)
{
    return weir_pg_step_ask(self, &SQL_NEWEST_CUT, NO_VALUES, "i", out);
}
