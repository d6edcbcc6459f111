/*
 * Transactional handlers while the database fails under them, and those who are late.
 */
#include <stdatomic.h>
#include <string.h>

#include "base/fault_point.h"
#include "db/clock.h"
#include "db/db.h"
#include "kit/kept_heap.h"
#include "kit/outbox/effects.h"
#include "kit/outbox/outbox_fixture.h"
#include "kit/outbox/process_pool.h"
#include "outbox/outbox.h"

enum { PARTITIONS = 4 };

/* ---- faults of the driver ---------------------------------------------------------- */

static struct weir_db *open_with(struct fixture *fixture,
                                 struct weir_fault_points *points)
{
    struct weir_db_options options = fixture_options(fixture);
    struct weir_db *db = fixture_open(fixture, &options);

    weir_db_set_fault_points(db, points);
    return db;
}

/* Two processes whose every `every`th pass of a point fails, until that has happened
 * often. */
static void deliver_with(struct fixture *fixture, const char *point, uint64_t every)
{
    enum { WAVES_MIN = 6, FAILURES_MIN = 10, WAVE = 40 };
    const struct process_pool_options options = {.partitions = PARTITIONS,
                                                 .batch = 7,
                                                 .lease_ns = WEIR_SECONDS(1),
                                                 .transactional = true};
    int64_t deadline_ms = fixture_deadline();
    struct weir_fault_points points;
    struct pool_process *one, *two;
    struct process_pool process_pool;
    int64_t sum = 0;

    weir_fault_points_init(&points);
    weir_fault_points_arm(&points, point, every);
    effects_prepare(fixture);
    process_pool_open(&process_pool, fixture, &options);
    one = process_pool_join_with(
        &process_pool, &(struct process_pool_joining){.db = open_with(fixture, &points),
                                                      .patient = true});
    two = process_pool_join_with(
        &process_pool, &(struct process_pool_joining){.db = open_with(fixture, &points),
                                                      .patient = true});
    for (int wave = 0;
         wave < WAVES_MIN || atomic_load(&points.armed[0].passed) < every * FAILURES_MIN;
         wave++) {
        for (int32_t p = 0; p < PARTITIONS; p++)
            process_pool_enqueue_together(&process_pool, p, WAVE / PARTITIONS);
        sum += WAVE;
        while (process_pool_stored(&process_pool) < sum)
            fixture_wait(__FILE__, __LINE__, point, deadline_ms);
    }

    process_pool_leave(one);
    process_pool_leave(two);
    process_pool_audit_effects(&process_pool);
    process_pool_close(&process_pool);
}

OUTBOX_TEST(transactional_faults, lost_replies_to_commits_repeat_nothing)
{
    deliver_with(fixture, "db.lose_after_commit", 7);
}

OUTBOX_TEST(transactional_faults, lost_connections_repeat_nothing)
{
    deliver_with(fixture, "db.lose", 211);
}

OUTBOX_TEST(transactional_faults, failing_calls_repeat_nothing)
{
    deliver_with(fixture, "db.fail", 97);
}

/* ---- one message that fails in its own way ----------------------------------------- */

struct client {
    struct recorder *recorder;
    const char *sql;        /* at the first message, behind its effect */
    _Atomic uint32_t times; /* that it is still run */
};

static enum weir_outcome on_message(struct weir_context *context, void *state,
                                    struct weir_connection *connection,
                                    const struct weir_message *message,
                                    struct weir_reason *reason)
{
    struct client *self = state;
    bool run = message->seq == 1 && atomic_load(&self->times) > 0;

    if (run)
        atomic_fetch_sub(&self->times, 1);
    if (!effects_write(connection, message) ||
        (run && self->sql != NULL && !effects_run(connection, self->sql))) {
        recorder_note(self->recorder, message);
        return weir_retry(reason, "the database does not want it");
    }
    return recorder_on_message(context, self->recorder, message, reason);
}

static struct client *client_new(const char *sql)
{
    static struct client clerks[8];
    static size_t used;
    struct client *self = &clerks[used++ % 8];

    *self = (struct client){.recorder = recorder_new(), .sql = sql};
    atomic_store(&self->times, 1);
    return self;
}

/* An outbox that serves one partition with it; not started. */
static struct weir_outbox *client_outbox(struct fixture *fixture, const char *name,
                                         struct client *client,
                                         struct weir_handler_options *handler)
{
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, name);

    handler->on_message = NULL;
    handler->on_message_tx = on_message;
    handler->state = client;
    outbox_fixture_queue(fixture, outbox, "orders", 1);
    outbox_fixture_add(fixture, outbox, handler);
    return outbox;
}

static struct partition_view look(struct fixture *fixture, struct weir_outbox *outbox)
{
    return outbox_fixture_partition(fixture, outbox, "orders", "default", 0);
}

static void check_once(struct fixture *fixture, int64_t count)
{
    check_int(effects_count(fixture), count);
    check_int(effects_repeated(fixture), 0);
}

OUTBOX_SERVER_TEST(transactional_faults, terminated_session_is_a_retry)
{
    struct client *client = client_new(
        fixture_choose(fixture, "", "SELECT pg_terminate_backend(pg_backend_pid())",
                       "KILL CONNECTION_ID()"));
    struct weir_handler_options handler = outbox_fixture_handler("orders", NULL);
    struct weir_outbox *outbox = client_outbox(fixture, "anna", client, &handler);

    effects_prepare(fixture);
    outbox_fixture_send(fixture, outbox, "orders", 0, 3);
    outbox_fixture_start(fixture, outbox);

    wait_until(look(fixture, outbox).seq == 3);

    check_int(recorder_times(client->recorder, 0, 1), 2);
    check_int(recorder_delivery(client->recorder, 1).attempts, 1);
    check_once(fixture, 3);
    outbox_fixture_close(outbox);
}

/* A statement that would take an hour, if nobody cancelled it. */
OUTBOX_TEST(transactional_faults, statement_is_cancelled_when_the_budget_is_over)
{
    struct client *client = client_new(
        fixture_choose(fixture,
                       "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
                       " SELECT count(*) FROM n",
                       "SELECT pg_sleep(3600)", "SELECT sleep(3600)"));
    struct weir_db_options options = fixture_options(fixture);
    struct weir_handler_options handler = outbox_fixture_handler("orders", NULL);
    struct weir_db *db = fixture->db;
    struct weir_outbox *outbox;

    options.statement_timeout_ns = 0;
    fixture->db = fixture_open(fixture, &options);
    handler.budget_ns = WEIR_MILLISECONDS(100);
    outbox = client_outbox(fixture, "anna", client, &handler);
    effects_prepare(fixture);
    outbox_fixture_send(fixture, outbox, "orders", 0, 3);
    outbox_fixture_start(fixture, outbox);

    wait_until(look(fixture, outbox).seq == 3);

    check(recorder_times(client->recorder, 0, 1) >= 2);
    check(recorder_delivery(client->recorder, 1).attempts >= 1);
    check_once(fixture, 3);
    outbox_fixture_close(outbox);
    weir_db_destroy(fixture->db);
    fixture->db = db;
}

/* ---- those who are late ------------------------------------------------------------ */

/* Its first message blocks until its recorder is released, and its lease is short. */
static struct weir_outbox *open_late(struct fixture *fixture, struct client *client)
{
    struct weir_handler_options handler = outbox_fixture_handler("orders", NULL);
    struct weir_outbox *outbox;

    outbox_fixture_short_lease(&handler);
    outbox = client_outbox(fixture, "anna", client, &handler);
    effects_prepare(fixture);
    recorder_answer(client->recorder, 1, 1, ANSWER_BLOCK);
    outbox_fixture_send(fixture, outbox, "orders", 0, 3);
    outbox_fixture_start(fixture, outbox);
    wait_until(recorder_count(client->recorder) == 1);
    return outbox;
}

OUTBOX_TEST(transactional_faults, answer_after_the_budget_counts_for_nothing)
{
    struct client *client = client_new(NULL);
    struct weir_outbox *outbox = open_late(fixture, client);

    wait_until(look(fixture, outbox).lease_left_us == 0);
    recorder_release(client->recorder);

    wait_until(look(fixture, outbox).seq == 3);

    check(recorder_times(client->recorder, 0, 1) >= 2);
    check_once(fixture, 3);
    outbox_fixture_close(outbox);
}

/* On SQLite nobody else can write before it is over, so there is nobody to be late
 * for. */
OUTBOX_SERVER_TEST(transactional_faults, late_handler_loses_its_partition)
{
    struct client *late = client_new(NULL);
    struct client *other = client_new(NULL);
    struct weir_handler_options handler = outbox_fixture_handler("orders", NULL);
    struct weir_outbox *anna = open_late(fixture, late);
    struct weir_outbox *bert = client_outbox(fixture, "bert", other, &handler);

    outbox_fixture_start(fixture, bert);
    wait_until(look(fixture, bert).seq == 3);
    check_str(look(fixture, bert).owner, "bert");
    check_once(fixture, 3);

    recorder_release(late->recorder);
    wait_until(recorder_ended(late->recorder) == 1);
    outbox_fixture_close(anna);

    check_int(look(fixture, bert).seq, 3);
    check_int(look(fixture, bert).crashes, 0);
    check_once(fixture, 3);
    outbox_fixture_close(bert);
}

/* What it has locked is free again, long before it comes back. */
OUTBOX_SERVER_TEST(transactional_faults, handler_that_hangs_loses_its_locks)
{
    static const char LOCKING[] = "UPDATE bolt SET times = times + 1";
    struct client *late = client_new(LOCKING);
    struct client *other = client_new(LOCKING);
    struct weir_handler_options handler = outbox_fixture_handler("orders", NULL);
    struct weir_outbox *anna;
    struct weir_outbox *bert;

    fixture_prepare(fixture, "CREATE TABLE bolt (times $integer)");
    fixture_prepare(fixture, "INSERT INTO bolt VALUES (0)");
    anna = open_late(fixture, late);
    bert = client_outbox(fixture, "bert", other, &handler);
    outbox_fixture_start(fixture, bert);

    wait_until(look(fixture, bert).seq == 3);

    check_once(fixture, 3);
    check_int(fixture_ask(fixture, "SELECT times FROM bolt"), 1);
    recorder_release(late->recorder);
    outbox_fixture_close(anna);
    check_once(fixture, 3);
    outbox_fixture_close(bert);
}

/* Somebody who stands still at a point. */
struct pause {
    _Atomic bool reached;
    _Atomic bool over;
};

static void hold(void *argument)
{
    struct pause *self = argument;

    atomic_store(&self->reached, true);
    while (!atomic_load(&self->over))
        weir_clock_sleep(WEIR_MILLISECONDS(1));
}

/* Its handler answered in time, but nobody renews its lease any more: the comparison
 * that counts is the one behind the lock. */
OUTBOX_SERVER_TEST(transactional_faults,
                   commit_of_an_owner_that_lost_the_lease_is_refused)
{
    static struct pause pause;
    static struct weir_fault_points points;
    struct client *late = client_new(NULL);
    struct client *other = client_new(NULL);
    struct weir_handler_options handler = outbox_fixture_handler("orders", NULL);
    struct weir_outbox *anna;
    struct weir_outbox *bert;

    atomic_store(&pause.reached, false);
    atomic_store(&pause.over, false);
    weir_fault_points_init(&points);
    weir_fault_points_arm_call(&points, "tx.commit", 1, hold, &pause);
    weir_fault_points_arm_call(&points, "lease_keeper.renewed", 1, hold, &pause);
    outbox_fixture_short_lease(&handler);
    handler.budget_ns = WEIR_MINUTES(1);
    anna = client_outbox(fixture, "anna", late, &handler);
    weir_outbox_set_fault_points(anna, &points);
    effects_prepare(fixture);
    outbox_fixture_send(fixture, anna, "orders", 0, 3);
    outbox_fixture_start(fixture, anna);
    wait_until(recorder_count(late->recorder) == 3 && atomic_load(&pause.reached));
    bert = client_outbox(fixture, "bert", other, &handler);
    outbox_fixture_start(fixture, bert);
    wait_until(look(fixture, bert).seq == 3);

    atomic_store(&pause.over, true);
    outbox_fixture_close(anna);

    check_int(look(fixture, bert).seq, 3);
    check_once(fixture, 3);
    outbox_fixture_close(bert);
}

/* ---- stopping ---------------------------------------------------------------------- */

OUTBOX_TEST(transactional_faults,
            stop_with_a_handler_that_hangs_may_be_followed_by_the_end)
{
    struct client *client = client_new(NULL);
    struct weir_db_options options = fixture_options(fixture);
    struct weir_db *db = fixture->db;
    struct weir_outbox *outbox;

    options.heap = kept_heap();
    fixture->db = fixture_open(fixture, &options);
    outbox = open_late(fixture, client);
    check_int(weir_outbox_stop(outbox, WEIR_MILLISECONDS(50)), 1);
    weir_outbox_destroy(outbox);
    weir_db_destroy(fixture->db);
    fixture->db = db;

    recorder_release(client->recorder);
    wait_until(recorder_ended(client->recorder) == 1);
    wait_until(fixture_is_unlocked(fixture, "effect"));

    check_int(effects_count(fixture), 0);
}

OUTBOX_TEST(transactional_faults, stop_lets_a_call_end)
{
    struct client *client = client_new(NULL);
    struct weir_handler_options handler = outbox_fixture_handler("orders", NULL);
    struct weir_outbox *outbox = client_outbox(fixture, "anna", client, &handler);

    effects_prepare(fixture);
    recorder_answer(client->recorder, 2, 1, ANSWER_HEED);
    outbox_fixture_send(fixture, outbox, "orders", 0, 3);
    outbox_fixture_start(fixture, outbox);
    wait_until(recorder_count(client->recorder) == 2);

    outbox_fixture_stop(outbox);

    check_int(look(fixture, outbox).seq, 1);
    check_once(fixture, 1);
    weir_outbox_destroy(outbox);
}
