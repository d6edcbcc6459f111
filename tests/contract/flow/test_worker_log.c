/*
 * What a worker logs of its handlers: panics, attempts that are tried again, and the end.
 */
#include "contract/flow/gang.h"
#include "lib/ear.h"

static struct ear ear;

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

static void open_loud(struct gang *gang, struct fixture *fixture)
{
    struct weir_db_options options = fixture_options(fixture);

    options.log = ear_log(&ear, WEIR_LOG_WARNING);
    gang_open_at(gang, fixture, &options, fixture->db);
}

FLOW_TEST(worker, logs_a_panic_of_its_handler)
{
    struct weir_execution_id id;
    struct gang gang;
    struct job job = {.answer = job_complete};

    open_loud(&gang, fixture);
    gang_add(&gang, "mail", &job);
    check_db(weir_flow_worker_add(gang.worker, "print", panic, NULL, &fixture->error),
             WEIR_OK);
    gang_start(&gang);
    id = gang_submit(&gang, "print");
    gang_expect(&gang, &id, "failed");

    wait_until(ear_heard(&ear, "flow.handler_panicked", "out of ink") == 1);
    check_int(ear_heard(&ear, "kind=\"print\"", ""), 1);
    gang_close(&gang);
}

FLOW_TEST(worker, logs_an_attempt_that_is_tried_again_and_the_last_one)
{
    struct weir_execution_id id;
    struct gang gang;
    struct job job = {.answer = refuse};

    open_loud(&gang, fixture);
    gang_start_with(&gang, &job);
    id = works_submit_retrying(fixture, gang.eyes, 1);
    gang_expect(&gang, &id, "failed");

    wait_until(ear_heard(&ear, "flow.execution_failed", "attempt=1") == 1);
    check_int(ear_heard(&ear, "flow.attempt_failed", "attempt=0"), 1);
    check_int(ear_heard(&ear, "reason=\"the printer is away\"", ""), 2);
    gang_close(&gang);
}

FLOW_TEST(worker, logs_what_its_handler_fails_for_good)
{
    struct weir_execution_id id;
    struct gang gang;
    struct job job = {.answer = refuse_for_good};

    open_loud(&gang, fixture);
    gang_start_with(&gang, &job);
    id = works_submit_retrying(fixture, gang.eyes, 9);
    gang_expect(&gang, &id, "failed");

    wait_until(ear_heard(&ear, "flow.execution_failed", "no such page") == 1);
    check_int(ear_heard(&ear, "flow.attempt_failed", ""), 0);
    gang_close(&gang);
}

/* One execution, three attempts. */
FLOW_TEST(worker, counts_executions_that_failed_and_attempts_that_are_tried_again)
{
    struct weir_execution_id id;
    struct gang gang;
    struct job job = {.answer = refuse};

    gang_open(&gang, fixture);
    gang_start_with(&gang, &job);
    id = works_submit_retrying(fixture, gang.eyes, 2);
    gang_expect(&gang, &id, "failed");

    wait_until(gang_stats(&gang).failed == 1);
    check_int(gang_stats(&gang).retried, 2);
    gang_close(&gang);
}
