/*
 * The n-th call into a driver, or the n-th allocation, fails under the log.
 *
 * Whatever n is: no batch is there by half, a reader that goes on where it was gets
 * every row once, and the sweep removes nothing that somebody needs. Repeating works.
 */
#include "base/fault_point.h"
#include "contract/outbox/log/log_fixture.h"
#include "db/db.h"
#include "kit/alloc_failures.h"

enum {
    CALLS_MIN = 3,
    CALLS_MAX = 2000,
    OLD = 40,    /* messages that are there before */
    PASSED = 30, /* of them */
    BATCH = 150, /* appended under faults; more than go in one group */
    SWEEPS_MAX = 50,
    LEAVES = 8 /* of the log, and of a round of the sweep: see postgres/sweep.h */
};

/* One run: a queue and a subscription of its own, of the same number, and messages of
 * which some are passed. */
struct run {
    struct log_fixture *log_fixture;
    int64_t queue;
    struct weir_log_position begin;
    struct weir_log_entry *entries; /* the batch, in partition 1 */
    struct seen *old;               /* in partition 0 */
    int64_t pids[2];
};

static struct run run_open(struct log_fixture *log_fixture, int64_t queue)
{
    struct run self = {
        .log_fixture = log_fixture,
        .queue = queue,
        .begin = log_fixture_advance(log_fixture),
        .pids = {weir_pid(queue, 0), weir_pid(queue, 1)},
    };

    log_fixture_add_queue(log_fixture, queue, 0);
    log_fixture_add_subscription(log_fixture, queue, queue);
    log_fixture_set_positions(log_fixture, queue, queue, 2, self.begin);
    log_fixture_append(log_fixture, OLD, queue, 1);
    log_fixture_advance(log_fixture);
    self.old =
        log_fixture_read(log_fixture, self.begin,
                         &(struct log_fixture_limits){.pids = self.pids, .pid_count = 1});
    check_int(self.old->count, OLD);
    log_fixture_set_position(log_fixture, queue, self.pids[0],
                             self.old->rows[PASSED - 1].log_position);
    self.entries = log_fixture_draft(log_fixture, BATCH, queue, 1);
    for (size_t i = 0; i < BATCH; i++)
        self.entries[i].pid = self.pids[1];
    return self;
}

static void run_close(struct run *self)
{
    long long queue = self->queue;

    log_fixture_execute(self->log_fixture,
                        "DELETE FROM {p}_subscription WHERE queue = %lld", queue);
    log_fixture_execute(self->log_fixture, "DELETE FROM {p}_queue WHERE id = %lld",
                        queue);
    free(self->old);
    log_fixture_forget(self->entries);
}

static int64_t stored_in(struct run *self, const char *table, int64_t pid)
{
    char sql[128];

    (void)snprintf(sql, sizeof sql, "SELECT count(*) FROM weir_%s WHERE pid = %lld",
                   table, (long long)pid);
    return fixture_ask(self->log_fixture->fixture, sql);
}

static int64_t stored(struct run *self, int64_t pid)
{
    int64_t rows = stored_in(self, "log", pid) + stored_in(self, "aside", pid);

    if (self->log_fixture->fixture->engine == WEIR_MARIADB)
        rows += stored_in(self, "incoming", pid);
    return rows;
}

/* ---- what is done under faults ----------------------------------------------------- */

/* What a piece of work came to, on a database with faults. */
typedef enum weir_status (*work_fn)(struct run *self, struct weir_db *db,
                                    struct weir_error *error);
typedef void (*judge_fn)(struct run *self, enum weir_status status);

static enum weir_status append_batch(struct run *self, struct weir_db *db,
                                     struct weir_error *error)
{
    const struct weir_outbox_log *log = &self->log_fixture->log;
    struct weir_connection *connection;
    enum weir_status status = weir_db_acquire(db, &connection, error);

    if (status == WEIR_OK)
        status = log->ops->append(log, connection, self->entries, BATCH, "weir", error);
    weir_db_release(db, connection);
    return status;
}

static void judge_append(struct run *self, enum weir_status status)
{
    struct fixture *fixture = self->log_fixture->fixture;
    int64_t seen;

    wait_until(fixture_is_unlocked(
        fixture, fixture_choose(fixture, "weir_log", "weir_log", "weir_incoming")));
    seen = stored(self, self->pids[1]);
    if (status == WEIR_OK)
        check_int(seen, BATCH);
    else if (status == WEIR_IN_DOUBT)
        check(seen == 0 || seen == BATCH);
    else
        check_int(seen, 0);
}

/* In the caller's transaction, which is committed if it can be. */
static enum weir_status append_in_callers_transaction(struct run *self,
                                                      struct weir_db *db,
                                                      struct weir_error *error)
{
    const struct weir_outbox_log *log = &self->log_fixture->log;
    struct weir_connection *connection;
    enum weir_status status = weir_db_acquire(db, &connection, error);
    enum weir_status committed;

    if (status == WEIR_OK)
        status = weir_connection_begin(connection, error);
    if (status != WEIR_OK)
        goto out;
    status = log->ops->append(log, connection, self->entries, BATCH, "weir", error);
    committed = weir_connection_commit(connection, NULL);
    if (status == WEIR_OK)
        status = committed;
out:
    weir_db_release(db, connection);
    return status;
}

/* In pages; what was given before a failure is kept, and is gone on from. */
static struct seen *reading;

static enum weir_status read_pages(struct run *self, struct weir_db *db,
                                   struct weir_error *error)
{
    const struct weir_outbox_log *log = &self->log_fixture->log;
    const struct log_fixture_limits limits = {
        .row_max = 16, .pids = self->pids, .pid_count = 2};
    struct weir_connection *connection;
    struct weir_page page;
    enum weir_status status = weir_db_acquire(db, &connection, error);

    for (bool at_head = false; status == WEIR_OK && !at_head; at_head = page.at_head) {
        page = log_fixture_page(reading, reading->end, &limits);
        status = log->ops->read(log, connection, &page, error);
        reading->end = page.end;
    }
    weir_db_release(db, connection);
    return status;
}

static void judge_read(struct run *self, enum weir_status status)
{
    (void)status;
    check(reading->count <= self->old->count);
    for (size_t i = 0; i < reading->count; i++)
        check_int(reading->rows[i].number, self->old->rows[i].number);
}

/* PostgreSQL: of eight leaves of the log, those with messages of this run, and one
 * more. An empty one is like the other; with WEIR_LONG=1 all are looked at. */
static bool is_of_interest(const struct run *self, uint32_t leaf)
{
    const struct seen_row *rows = self->old->rows;
    uint32_t bits = self->log_fixture->log.segment_bits;
    uint32_t first = (uint32_t)(rows[0].id >> bits) % LEAVES;
    uint32_t last = (uint32_t)(rows[OLD - 1].id >> bits) % LEAVES;

    return leaf >= LEAVES || leaf == first || leaf == last ||
           leaf == (last + 1) % LEAVES || getenv("WEIR_LONG") != NULL;
}

static enum weir_status sweep_all(struct run *self, struct weir_db *db,
                                  struct weir_error *error)
{
    const struct weir_outbox_log *log = &self->log_fixture->log;
    bool in_leaves = self->log_fixture->fixture->engine == WEIR_POSTGRESQL;
    struct weir_sweep_state state = {0};
    struct weir_sweep_report report = {.more = true};
    enum weir_status status = WEIR_OK;

    for (int i = 0; i < SWEEPS_MAX && status == WEIR_OK && report.more; i++) {
        while (in_leaves && !is_of_interest(self, state.leaf))
            state.leaf++;
        status = log->ops->sweep(log, db, &state, &report, error);
    }
    return status;
}

/* What is not passed is there, exactly. */
static void judge_sweep(struct run *self, enum weir_status status)
{
    const struct log_fixture_limits limits = {.pids = self->pids, .pid_count = 1};
    struct fixture *fixture = self->log_fixture->fixture;
    struct seen *rest;

    (void)status;
    wait_until(fixture_is_unlocked(fixture, "weir_log"));
    rest = log_fixture_read(self->log_fixture, self->old->rows[PASSED - 1].log_position,
                            &limits);
    check_same_rows(rest, 0, self->old, PASSED);
    free(rest);
}

/* ---- every call -------------------------------------------------------------------- */

/* True when the fault was met. */
static bool run_with(struct log_fixture *log_fixture, const char *point, uint64_t at,
                     work_fn work, judge_fn judge)
{
    struct fixture *fixture = log_fixture->fixture;
    struct weir_db_options options = fixture_options(fixture);
    struct run run = run_open(log_fixture, (int64_t)at);
    struct weir_fault_points points;
    enum weir_status status;
    struct weir_db *db;
    bool met;

    reading = calloc(1, sizeof *reading);
    check(reading != NULL);
    reading->end = run.begin;
    db = fixture_open(fixture, &options);
    weir_fault_points_init(&points);
    weir_fault_points_arm_once(&points, point, at);
    weir_db_set_fault_points(db, &points);

    status = work(&run, db, &fixture->error);

    met = points.armed[0].passed >= at;
    judge(&run, status);
    if (!met)
        check_db(status, WEIR_OK);
    weir_fault_points_init(&points);
    if (status != WEIR_OK && status != WEIR_IN_DOUBT) {
        wait_until((status = work(&run, db, &fixture->error)) != WEIR_LOST);
        check_db(status, WEIR_OK);
        judge(&run, status);
    }
    weir_db_destroy(db);
    free(reading);
    run_close(&run);
    log_fixture_sweep(
        log_fixture); /* the next run is to find as many rows as this one did */
    return met;
}

static void fail_each_call(struct fixture *fixture, work_fn work, judge_fn judge)
{
    const char *const points[] = {"db.fail", "db.lose"};
    struct log_fixture log_fixture = log_fixture_open(fixture);

    for (size_t i = 0; i < 2; i++) {
        uint64_t at = 1;

        while (run_with(&log_fixture, points[i], at, work, judge))
            check(++at < CALLS_MAX);
        check(at >= CALLS_MIN);
    }
    log_fixture_close(&log_fixture);
}

OUTBOX_TEST(log_fault, of_any_call_leaves_no_half_batch)
{
    fail_each_call(fixture, append_batch, judge_append);
}

OUTBOX_TEST(log_fault, of_any_call_leaves_no_half_batch_in_the_callers_transaction)
{
    fail_each_call(fixture, append_in_callers_transaction, judge_append);
}

OUTBOX_TEST(log_fault, of_any_call_loses_no_row_of_a_reader)
{
    fail_each_call(fixture, read_pages, judge_read);
}

OUTBOX_TEST(log_fault, of_any_call_removes_nothing_that_is_needed)
{
    fail_each_call(fixture, sweep_all, judge_sweep);
}

/* ---- memory ------------------------------------------------------------------------ */

static struct log_fixture *swept;
static int64_t swept_queue;

static void ignore_lag(void *state, const struct weir_lag *lag)
{
    (void)state;
    (void)lag;
}

static enum weir_status read_lag(struct run *self, struct weir_db *db,
                                 struct weir_error *error)
{
    const struct weir_outbox_log *log = &self->log_fixture->log;
    struct weir_connection *connection;
    enum weir_status status = weir_db_acquire(db, &connection, error);

    if (status == WEIR_OK)
        status = log->ops->lag(log, connection,
                               &(struct weir_lag_question){.queue_id = self->queue,
                                                           .look_max = WEIR_LAG_LOOK_MAX},
                               ignore_lag, NULL, error);
    weir_db_release(db, connection);
    return status;
}

/* A new database handle with this heap, and a run of its own. */
static enum weir_status work_with(const struct weir_heap *heap, work_fn work,
                                  judge_fn judge)
{
    struct fixture *fixture = swept->fixture;
    struct weir_db_options options = fixture_options(fixture);
    struct run run = run_open(swept, ++swept_queue);
    struct weir_db *db = NULL;
    enum weir_status status;

    reading = calloc(1, sizeof *reading);
    check(reading != NULL);
    reading->end = run.begin;
    options.heap = heap;
    status = weir_db_create(&options, &db, &fixture->error);
    if (status == WEIR_OK)
        status = work(&run, db, &fixture->error);
    judge(&run, status);
    weir_db_destroy(db);
    free(reading);
    run_close(&run);
    return status;
}

static enum weir_status append_with(const struct weir_heap *heap)
{
    return work_with(heap, append_batch, judge_append);
}

static enum weir_status read_with(const struct weir_heap *heap)
{
    return work_with(heap, read_pages, judge_read);
}

static void judge_nothing(struct run *self, enum weir_status status)
{
    (void)self;
    (void)status;
}

static enum weir_status lag_with(const struct weir_heap *heap)
{
    return work_with(heap, read_lag, judge_nothing);
}

static enum weir_status sweep_with(const struct weir_heap *heap)
{
    return work_with(heap, sweep_all, judge_sweep);
}

static void fail_each_allocation(struct fixture *fixture, weir_alloc_failures_fn scenario)
{
    struct log_fixture log_fixture = log_fixture_open(fixture);

    swept = &log_fixture;
    swept_queue = 0;
    check_alloc_failures(scenario);
    log_fixture_close(&log_fixture);
}

OUTBOX_TEST(log_fault, of_any_allocation_leaves_no_half_batch)
{
    fail_each_allocation(fixture, append_with);
}

OUTBOX_TEST(log_fault, of_any_allocation_loses_no_row_of_a_reader)
{
    fail_each_allocation(fixture, read_with);
}

OUTBOX_TEST(log_fault, of_any_allocation_spoils_no_lag)
{
    fail_each_allocation(fixture, lag_with);
}

OUTBOX_TEST(log_fault, of_any_allocation_removes_nothing_that_is_needed)
{
    fail_each_allocation(fixture, sweep_with);
}
