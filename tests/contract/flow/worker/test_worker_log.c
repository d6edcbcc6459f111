/*
 * What a worker logs of its handlers: panics, attempts that are tried again, and the end.
 */
#include "contract/flow/worker/flow_worker_fixture.h"
#include "kit/log_capture.h"

static struct log_capture log_capture;

static enum weir_answer panic(struct weir_context *context, void *state,
                              struct weir_task *task)
{
    (void)state;
    (void)task;
    weir_panic(context, "out of %s", "ink");
}

static enum weir_answer refuse(struct weir_task *task)
{
    return weir_task_fail(task, "the printer is %s", "away");
}

static enum weir_answer refuse_for_good(struct weir_task *task)
{
    return weir_task_fail_for_good(task, "no such page");
}

static void open_loud(struct flow_worker_fixture *flow_worker_fixture,
                      struct fixture *fixture)
{
    struct weir_db_options options = fixture_options(fixture);

    options.log = log_capture_log(&log_capture, WEIR_LOG_WARNING);
    flow_worker_fixture_open_at(flow_worker_fixture, fixture, &options, fixture->db);
}

FLOW_TEST(worker, logs_a_panic_of_its_handler)
{
    struct weir_execution_id id;
    struct flow_worker_fixture flow_worker_fixture;
    struct job job = {.answer = job_complete};

    open_loud(&flow_worker_fixture, fixture);
    flow_worker_fixture_add(&flow_worker_fixture, "mail", &job);
    check_db(weir_execution_worker_add(flow_worker_fixture.worker, "print", panic, NULL,
                                       &fixture->error),
             WEIR_OK);
    flow_worker_fixture_start(&flow_worker_fixture);
    id = flow_worker_fixture_submit(&flow_worker_fixture, "print");
    flow_worker_fixture_expect(&flow_worker_fixture, &id, "failed");

    wait_until(
        log_capture_heard(&log_capture, "execution.handler_panicked", "out of ink") == 1);
    check_int(log_capture_heard(&log_capture, "kind=\"print\"", ""), 1);
    flow_worker_fixture_close(&flow_worker_fixture);
}

FLOW_TEST(worker, logs_an_attempt_that_is_tried_again_and_the_last_one)
{
    struct weir_execution_id id;
    struct flow_worker_fixture flow_worker_fixture;
    struct job job = {.answer = refuse};

    open_loud(&flow_worker_fixture, fixture);
    flow_worker_fixture_start_with(&flow_worker_fixture, &job);
    id = flow_fixture_submit_retrying(fixture, flow_worker_fixture.eyes, 1);
    flow_worker_fixture_expect(&flow_worker_fixture, &id, "failed");

    wait_until(log_capture_heard(&log_capture, "execution.failed", "attempt=1") == 1);
    check_int(log_capture_heard(&log_capture, "execution.attempt_failed", "attempt=0"),
              1);
    check_int(log_capture_heard(&log_capture, "reason=\"the printer is away\"", ""), 2);
    flow_worker_fixture_close(&flow_worker_fixture);
}

FLOW_TEST(worker, logs_what_its_handler_fails_for_good)
{
    struct weir_execution_id id;
    struct flow_worker_fixture flow_worker_fixture;
    struct job job = {.answer = refuse_for_good};

    open_loud(&flow_worker_fixture, fixture);
    flow_worker_fixture_start_with(&flow_worker_fixture, &job);
    id = flow_fixture_submit_retrying(fixture, flow_worker_fixture.eyes, 9);
    flow_worker_fixture_expect(&flow_worker_fixture, &id, "failed");

    wait_until(log_capture_heard(&log_capture, "execution.failed", "no such page") == 1);
    check_int(log_capture_heard(&log_capture, "execution.attempt_failed", ""), 0);
    flow_worker_fixture_close(&flow_worker_fixture);
}

/* One execution, three attempts. */
FLOW_TEST(worker, counts_executions_that_failed_and_attempts_that_are_tried_again)
{
    struct weir_execution_id id;
    struct flow_worker_fixture flow_worker_fixture;
    struct job job = {.answer = refuse};

    flow_worker_fixture_open(&flow_worker_fixture, fixture);
    flow_worker_fixture_start_with(&flow_worker_fixture, &job);
    id = flow_fixture_submit_retrying(fixture, flow_worker_fixture.eyes, 2);
    flow_worker_fixture_expect(&flow_worker_fixture, &id, "failed");

    wait_until(flow_worker_fixture_stats(&flow_worker_fixture).failed == 1);
    check_int(flow_worker_fixture_stats(&flow_worker_fixture).retried, 2);
    flow_worker_fixture_close(&flow_worker_fixture);
}
