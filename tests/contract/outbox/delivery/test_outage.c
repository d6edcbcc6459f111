/*
 * A database that vanishes and comes back, calls that fail, and memory that runs out,
 * all while messages flow.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/fault_point.h"
#include "db/clock.h"
#include "db/db.h"
#include "kit/outbox/outbox_engines.h"
#include "kit/outbox/process_pool.h"

enum { PARTITIONS = 4 };

static const struct process_pool_options OPTIONS = {.partitions = PARTITIONS,
                                                    .batch = 7,
                                                    .lease_ns = WEIR_SECONDS(1)};

static int64_t enqueue_everywhere(struct process_pool *process_pool, int rounds)
{
    int64_t sum = 0;

    for (int i = 0; i < rounds; i++) {
        for (int32_t p = 0; p < process_pool->ledger->options.partitions; p++)
            process_pool_enqueue_together(process_pool, p, 5);
    }
    for (int32_t p = 0; p < process_pool->ledger->options.partitions; p++)
        sum += process_pool->enqueued[p];
    return sum;
}

/* A database handle whose calls fail as ordered. */
static struct weir_db *open_with(struct fixture *fixture,
                                 struct weir_fault_points *points)
{
    struct weir_db_options options = fixture_options(fixture);
    struct weir_db *db = fixture_open(fixture, &options);

    weir_db_set_fault_points(db, points);
    return db;
}

/* ---- the server -------------------------------------------------------------------- */

static void outlive_server(struct fixture *fixture)
{
    struct process_pool process_pool;
    struct pool_process *one, *two;
    int64_t sum = 0;

    process_pool_open(&process_pool, fixture, &OPTIONS);
    atomic_store(&process_pool.ledger->slow_ns, WEIR_MILLISECONDS(1));
    one = process_pool_join(&process_pool);
    two = process_pool_join(&process_pool);
    for (int i = 0; i < 2; i++) {
        int64_t before = process_pool_done(&process_pool);

        sum = enqueue_everywhere(&process_pool, 20);
        wait_until(process_pool_done(&process_pool) > before + 20);
        server_kill(fixture->server);
        server_restart(fixture->server);
        wait_until(weir_outbox_migrate(fixture->db, &fixture->error) == WEIR_OK);
        process_pool_note_stored(&process_pool);
    }
    wait_until(process_pool_stored(&process_pool) == sum);

    process_pool_leave(one);
    process_pool_leave(two);
    process_pool_audit(&process_pool);
    process_pool_close(&process_pool);
}

WEIR_TEST(outage, of_the_server_loses_nothing_on_postgresql)
{
    outbox_fixture_run_own(WEIR_POSTGRESQL, NULL, outlive_server);
}

WEIR_TEST(outage, of_the_server_loses_nothing_on_mariadb)
{
    outbox_fixture_run_own(WEIR_MARIADB, NULL, outlive_server);
}

/* ---- calls ------------------------------------------------------------------------- */

/*
 * Deliver while every `every`th pass of a point of the driver fails, from the start on,
 * until that has happened often. On SQLite each row that is read is a pass: a wave,
 * which is what one reading may have to bring, is smaller than `every`, or no reading
 * would ever come to its end.
 */
static void deliver_with(struct fixture *fixture, const char *point, uint64_t every)
{
    enum { WAVES_MIN = 6, FAILURES_MIN = 10 };
    struct weir_fault_points points;
    struct process_pool process_pool;
    struct pool_process *one, *two;
    int64_t deadline_ms = fixture_deadline();

    weir_fault_points_init(&points);
    weir_fault_points_arm(&points, point, every);
    process_pool_open(&process_pool, fixture, &OPTIONS);
    one = process_pool_join_with(
        &process_pool, &(struct process_pool_joining){.db = open_with(fixture, &points),
                                                      .patient = true});
    two = process_pool_join_with(
        &process_pool, &(struct process_pool_joining){.db = open_with(fixture, &points),
                                                      .patient = true});
    for (int wave = 0;
         wave < WAVES_MIN || atomic_load(&points.armed[0].passed) < every * FAILURES_MIN;
         wave++) {
        int64_t before = process_pool_done(&process_pool);
        int64_t sum = enqueue_everywhere(&process_pool, 5);

        wait_until(process_pool_done(&process_pool) > (before + sum) / 2);
        process_pool_note_stored(&process_pool);
        wait_until(process_pool_stored(&process_pool) == sum);
        fixture_wait(__FILE__, __LINE__, "enough failures", deadline_ms);
    }
    process_pool_leave(one);
    process_pool_leave(two);
    process_pool_audit(&process_pool);
    process_pool_close(&process_pool);
}

/* On SQLite every row is a call: a page of all messages there are must fit between two
 * faults. */
enum { ROWS_PAST = 1009 };

OUTBOX_TEST(outage, of_single_connections_loses_nothing_and_keeps_the_order)
{
    deliver_with(fixture, "db.lose", fixture->engine == WEIR_SQLITE ? ROWS_PAST : 41);
}

OUTBOX_TEST(outage, of_single_statements_loses_nothing_and_keeps_the_order)
{
    deliver_with(fixture, "db.fail", fixture->engine == WEIR_SQLITE ? ROWS_PAST : 31);
}

OUTBOX_TEST(outage, of_the_answer_to_a_commit_skips_nothing)
{
    deliver_with(fixture, "db.lose_after_commit", 4);
}

/* ---- unknown outcomes -------------------------------------------------------------- */

OUTBOX_TEST(doubt, about_an_ack_is_settled_within_the_lease)
{
    struct weir_fault_points points;
    struct process_pool process_pool;
    struct pool_process *one;
    int64_t epoch;

    process_pool_open(&process_pool, fixture,
                      &(struct process_pool_options){.lease_ns = WEIR_SECONDS(4)});
    weir_fault_points_init(&points);
    weir_fault_points_arm(&points, "acker.unanswered", 2);
    one = process_pool_join_with(&process_pool,
                                 &(struct process_pool_joining){.points = &points});
    epoch = process_pool_read(&process_pool, 0).epoch;
    for (int i = 0; i < 20; i++) {
        process_pool_enqueue(&process_pool, 0, 1);
        wait_until(process_pool_stored(&process_pool) == i + 1);
        check_in_range(process_pool_read(&process_pool, 0).lease_left_us, 1,
                       4000000); /* not longer */
    }
    check_int(process_pool_read(&process_pool, 0).epoch, epoch);
    check_int(process_pool_read(&process_pool, 0).attempts, 0);
    process_pool_leave(one);
    process_pool_audit(&process_pool);
    process_pool_close(&process_pool);
}

/* Nobody can be asked, so the ack is sent again and refused. */
OUTBOX_TEST(doubt, that_cannot_be_settled_costs_no_lease)
{
    struct weir_fault_points points;
    struct process_pool process_pool;
    struct pool_process *one;

    process_pool_open(&process_pool, fixture,
                      &(struct process_pool_options){.lease_ns = WEIR_SECONDS(240)});
    weir_fault_points_init(&points);
    weir_fault_points_arm(&points, "acker.unanswered", 3);
    weir_fault_points_arm(&points, "acker.cannot_ask", 1);
    weir_fault_points_arm(&points, "lease_keeper.eager", 1); /* not in seconds */
    one = process_pool_join_with(&process_pool,
                                 &(struct process_pool_joining){.points = &points});
    for (int i = 0; i < 4; i++) { /* each third is unanswered, and costs a heartbeat */
        process_pool_enqueue(&process_pool, 0, 1);
        wait_until(process_pool_stored(&process_pool) == i + 1);
    }
    check(atomic_load(&points.armed[1].passed) > 0);
    process_pool_leave(one);
    process_pool_audit(&process_pool);
    process_pool_close(&process_pool);
}

struct doubted_call {
    struct process_pool *pool;
    atomic_int stage; /* 1: the next ack is the one */
};

/* The ack of the first message is stored while the call of the second one runs; its reply
 * is lost, and its outcome cannot be asked for. */
static bool doubt_beside_a_call(void *argument, const char *name)
{
    struct doubted_call *self = argument;
    int expected;

    if (strcmp(name, "lease_keeper.eager") == 0)
        return true;
    if (strcmp(name, "acker.moved") == 0 && atomic_load(&self->stage) >= 4)
        atomic_fetch_add(&self->stage, 1); /* 5: refused, 6: with the right version */
    if (strcmp(name, "acker.moved") == 0 && atomic_load(&self->stage) == 1) {
        for (int i = 0; i < 5000 && atomic_load(&self->pool->ledger->holding) == 0 &&
                        self->pool->fixture->engine == WEIR_SQLITE;
             i++)
            (void)weir_clock_sleep(WEIR_MILLISECONDS(1));
        atomic_store(&self->stage, 2);
        return false;
    }
    expected = strcmp(name, "acker.unanswered") == 0   ? 2
               : strcmp(name, "acker.cannot_ask") == 0 ? 3
                                                       : -1;
    return atomic_compare_exchange_strong(&self->stage, &expected, expected + 1);
}

/* The ack is sent again and refused while its partition is in a call. The lease outlasts
 * the test's patience, so a partition that lies idle until it runs out is seen. */
OUTBOX_TEST(doubt, beside_a_call_costs_no_lease)
{
    struct weir_fault_points points;
    struct process_pool pool;
    struct doubted_call doubted = {.pool = &pool};
    struct pool_process *one;

    process_pool_open(
        &pool, fixture,
        &(struct process_pool_options){.batch = 10, .lease_ns = WEIR_SECONDS(240)});
    weir_fault_points_init(&points);
    weir_fault_points_set_oracle(&points, doubt_beside_a_call, &doubted);
    one =
        process_pool_join_with(&pool, &(struct process_pool_joining){.points = &points});
    atomic_store(&doubted.stage, 1);
    process_pool_enqueue(&pool, 0, 1);
    wait_until(process_pool_done(&pool) == 1);
    atomic_store(&pool.ledger->hold[0], true);
    process_pool_enqueue(&pool, 0, 1);
    wait_until(atomic_load(&doubted.stage) >= (fixture->engine == WEIR_SQLITE ? 6 : 4));
    atomic_store(&pool.ledger->hold[0], false);

    wait_until(process_pool_stored(&pool) == 2);
    check_int(process_pool_read(&pool, 0).crashes, 0);
    process_pool_leave(one);
    process_pool_audit(&pool);
    process_pool_close(&pool);
}

/* Processes come and go while answers to the lease keeper are lost. Each lease outlasts
 * the test's patience, so one that nobody serves, and that must run out, is seen. */
static void share_with(struct fixture *fixture, const char *point)
{
    struct weir_fault_points points[2];
    struct process_pool process_pool;
    struct pool_process *one, *two;
    int64_t sum;

    process_pool_open(&process_pool, fixture,
                      &(struct process_pool_options){.partitions = PARTITIONS,
                                                     .lease_ns = WEIR_SECONDS(240)});
    for (int i = 0; i < 2; i++) {
        weir_fault_points_init(&points[i]);
        weir_fault_points_arm(&points[i], point, 2);
        weir_fault_points_arm(&points[i], "lease_keeper.eager", 1);
    }
    one = process_pool_join_with(
        &process_pool,
        &(struct process_pool_joining){.points = &points[0], .patient = true});
    for (int i = 0; i < 2; i++) { /* each point fires in the second round at the latest */
        two = process_pool_join_with(
            &process_pool,
            &(struct process_pool_joining){.points = &points[1], .patient = true});
        wait_until(process_pool_quota_of(&process_pool, one) == PARTITIONS / 2 &&
                   process_pool_quota_of(&process_pool, two) == PARTITIONS / 2);
        sum = enqueue_everywhere(&process_pool, 1);
        wait_until(process_pool_stored(&process_pool) == sum);
        process_pool_leave(two);
        wait_until(process_pool_quota_of(&process_pool, one) == PARTITIONS);
    }
    check(atomic_load(&points[0].armed[0].passed) > 1);
    check(atomic_load(&points[1].armed[0].passed) > 1);
    process_pool_leave(one);
    for (int32_t p = 0; p < PARTITIONS; p++) {
        check_int(process_pool_read(&process_pool, p).lease_left_us, 0);
        check_int(process_pool_read(&process_pool, p).crashes, 0);
    }
    process_pool_audit(&process_pool);
    process_pool_close(&process_pool);
}

OUTBOX_TEST(doubt, about_a_lease_that_was_taken_is_settled_before_it_runs_out)
{
    share_with(fixture, "lease_keeper.unanswered");
}

OUTBOX_TEST(doubt, about_a_lease_that_was_given_up_is_settled_before_it_runs_out)
{
    share_with(fixture, "lease_keeper.cannot_release");
}

static enum weir_status enqueue_one(struct weir_outbox *outbox,
                                    struct weir_connection *connection, void *argument,
                                    struct weir_error *error)
{
    struct weir_draft draft = {.type = "n", .payload = "1", .payload_size = 1};

    (void)argument;
    return weir_enqueue(outbox, connection, "crew", &draft, NULL, error);
}

OUTBOX_TEST(doubt, about_an_enqueue_is_reported_to_the_caller)
{
    struct weir_outbox_options options;
    struct weir_outbox *outbox = NULL;
    struct weir_fault_points points;
    struct process_pool process_pool;
    struct pool_process *one;
    struct weir_db *db;

    process_pool_open(&process_pool, fixture, NULL);
    weir_fault_points_init(&points);
    db = open_with(fixture, &points);
    weir_outbox_options_init(&options);
    options.db = db;
    check_db(weir_outbox_create(&options, &outbox, &fixture->error), WEIR_OK);
    weir_fault_points_arm(&points, "db.lose_after_commit", 1);
    check_db(weir_outbox_transact(outbox, enqueue_one, NULL, &fixture->error),
             WEIR_IN_DOUBT);
    weir_outbox_destroy(outbox);
    weir_db_destroy(db);

    one = process_pool_join(&process_pool);
    wait_until(process_pool_stored(&process_pool) == 1); /* it had happened */
    process_pool_leave(one);
    process_pool_close(&process_pool);
}

/* ---- memory ------------------------------------------------------------------------ */

/* Fails at each `every`th allocation; 0: at none. Counts what is outstanding. */
struct leaky {
    struct weir_heap heap;
    _Atomic uint64_t every;
    _Atomic uint64_t asked;
    _Atomic uint64_t refused;
    _Atomic int64_t outstanding;
};

static void *resize(void *state, void *memory, size_t size)
{
    struct leaky *self = state;
    uint64_t every = atomic_load(&self->every);
    void *result;

    if (size == 0) {
        if (memory != NULL)
            atomic_fetch_sub(&self->outstanding, 1);
        free(memory);
        return NULL;
    }
    if (every != 0 && atomic_fetch_add(&self->asked, 1) % every == 0) {
        atomic_fetch_add(&self->refused, 1);
        return NULL;
    }
    result = realloc(memory, size);
    if (memory == NULL && result != NULL)
        atomic_fetch_add(&self->outstanding, 1);
    return result;
}

static void deliver_without_memory(struct fixture *fixture, uint64_t every)
{
    struct leaky leaky = {.heap = {.resize = resize}};
    struct weir_db_options options = fixture_options(fixture);
    struct process_pool process_pool;
    struct pool_process *one;
    int64_t sum;

    leaky.heap.state = &leaky;
    options.heap = &leaky.heap;
    process_pool_open(&process_pool, fixture, &OPTIONS);
    one = process_pool_join_with(
        &process_pool,
        &(struct process_pool_joining){.db = fixture_open(fixture, &options)});
    atomic_store(&leaky.every, every);
    sum = enqueue_everywhere(&process_pool, 20);
    wait_until(atomic_load(&leaky.refused) >= 5);
    atomic_store(&leaky.every, 0);
    wait_until(process_pool_stored(&process_pool) == sum);

    process_pool_leave(one);
    check_int(leaky.outstanding, 0);
    process_pool_audit(&process_pool);
    process_pool_close(&process_pool);
}

OUTBOX_TEST(memory, that_is_refused_now_and_then_loses_nothing)
{
    deliver_without_memory(fixture, 37);
}

OUTBOX_TEST(memory, that_is_refused_always_for_a_while_loses_nothing)
{
    deliver_without_memory(fixture, 1);
}
