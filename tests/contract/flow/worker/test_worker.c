/*
 * The worker: which handler gets what, and what becomes of its answer.
 */
#include "contract/flow/worker/flow_worker_fixture.h"

/* ---- handlers ---------------------------------------------------------------------- */

FLOW_TEST(worker, runs_a_handler_per_kind_and_one_for_the_rest)
{
    struct job mail = {.answer = job_complete};
    struct job print = {.answer = job_complete};
    struct job any = {.answer = job_complete};
    struct weir_execution_id ids[4];
    struct flow_worker_fixture flow_worker_fixture;

    flow_worker_fixture_open(&flow_worker_fixture, fixture);
    flow_worker_fixture_add(&flow_worker_fixture, "mail", &mail);
    flow_worker_fixture_add(&flow_worker_fixture, NULL, &any);
    flow_worker_fixture_add(&flow_worker_fixture, "print", &print);
    flow_worker_fixture_start(&flow_worker_fixture);
    ids[0] = flow_worker_fixture_submit(&flow_worker_fixture, "mail");
    ids[1] = flow_worker_fixture_submit(&flow_worker_fixture, "print");
    ids[2] = flow_worker_fixture_submit(&flow_worker_fixture, "print");
    ids[3] = flow_worker_fixture_submit(&flow_worker_fixture, "draw");

    for (int i = 0; i < 4; i++)
        flow_worker_fixture_expect(&flow_worker_fixture, &ids[i], "completed");
    check_int(mail.begun, 1);
    check_int(print.begun, 2);
    check_int(any.begun, 1);
    flow_worker_fixture_close(&flow_worker_fixture);
}

static enum weir_answer show_all(struct weir_task *task)
{
    const struct weir_claimed *claimed = weir_task_claimed(task);
    char text[128];
    int size = snprintf(text, sizeof text, "%s %s %s %d %.*s %s=%s", claimed->name_space,
                        claimed->lane, claimed->kind, claimed->attempt,
                        (int)claimed->input_size, (const char *)claimed->input,
                        claimed->tags[0].key, claimed->tags[0].value);

    return weir_task_complete(task, text, (size_t)size);
}

FLOW_TEST(worker, shows_handlers_what_was_submitted_and_stores_their_result)
{
    static const struct weir_tag TAG = {"app.zone", "west"};
    struct weir_execution_draft draft = flow_fixture_draft("orders");
    struct job job = {.answer = show_all};
    struct weir_execution_id id;
    struct flow_worker_fixture flow_worker_fixture;
    void *result = NULL;
    size_t size = 0;

    draft.input = "bill";
    draft.input_size = 4;
    draft.tags = &TAG;
    draft.tag_count = 1;
    flow_worker_fixture_open(&flow_worker_fixture, fixture);
    flow_worker_fixture_start_with(&flow_worker_fixture, &job);
    id = flow_fixture_submit_draft(fixture, flow_worker_fixture.eyes, &draft);

    flow_worker_fixture_expect(&flow_worker_fixture, &id, "completed");
    check_db(weir_execution_result(flow_worker_fixture.eyes, &id, &result, &size,
                                   &fixture->error),
             WEIR_OK);
    check_int(size, strlen("default orders mail 0 bill app.zone=west"));
    check(memcmp(result, "default orders mail 0 bill app.zone=west", size) == 0);
    weir_executions_free(flow_worker_fixture.eyes, result);
    flow_worker_fixture_close(&flow_worker_fixture);
}

static enum weir_answer report(struct weir_task *task)
{
    check_status(weir_task_progress(task, 40, "printing", NULL), WEIR_OK);
    return weir_task_delay(task, 3600000);
}

FLOW_TEST(worker, lets_handlers_report_their_progress)
{
    struct job job = {.answer = report};
    struct weir_execution_id id;
    struct flow_fixture_view view;
    struct flow_worker_fixture flow_worker_fixture;

    flow_worker_fixture_open(&flow_worker_fixture, fixture);
    flow_worker_fixture_start_with(&flow_worker_fixture, &job);
    id = flow_worker_fixture_submit(&flow_worker_fixture, "mail");

    flow_worker_fixture_expect(&flow_worker_fixture, &id, "delayed");
    view = flow_fixture_see(fixture, flow_worker_fixture.eyes, &id);
    check_int(view.info.progress_percent, 40);
    check_str(view.told, "printing");
    flow_worker_fixture_close(&flow_worker_fixture);
}

/* ---- answers ----------------------------------------------------------------------- */

static enum weir_answer say_fail(struct weir_task *task)
{
    return weir_task_fail(task, "no %s left", "paper");
}

static enum weir_answer say_fail_for_good(struct weir_task *task)
{
    return weir_task_fail_for_good(task, "no such %s", "address");
}

static enum weir_answer say_delay(struct weir_task *task)
{
    return weir_task_delay(task, 3600000);
}

static enum weir_answer say_cancel(struct weir_task *task)
{
    return weir_task_cancel(task, "not wanted");
}

static enum weir_answer say_fail_then_complete(struct weir_task *task)
{
    (void)weir_task_complete(task, "first", 5);
    (void)weir_task_fail(task, "second");
    return weir_task_complete(task, "third", 5);
}

static enum weir_answer say_too_much(struct weir_task *task)
{
    static const char RESULT[WEIR_RESULT_SIZE_MAX + 1];

    return weir_task_complete(task, RESULT, sizeof RESULT);
}

static enum weir_answer say_no_text(struct weir_task *task)
{
    return weir_task_fail_for_good(task, "caf\xe9 \xc3\xa9");
}

static enum weir_answer say_very_late(struct weir_task *task)
{
    return weir_task_delay(task, INT64_MAX);
}

/* One execution with retries, answered like this, ends up so. */
struct reply {
    enum weir_answer (*answer)(struct weir_task *task);
    const char *state;
    const char *failure;
    const char *attempts;
};

static const struct reply REPLIES[] = {
    {job_complete, "completed", "", "0 initial success"},
    {say_fail, "delayed", "no paper left", "0 initial retry"},
    {say_fail_for_good, "failed", "no such address", "0 initial failed"},
    {say_delay, "delayed", "", "0 initial running"},
    {say_cancel, "cancelled", "not wanted", "0 initial cancelled"},
    {say_fail_then_complete, "completed", "", "0 initial success"},
    {say_too_much, "failed",
     "result_too_large: it has 1048577 bytes, must have at most 10485",
     "0 initial failed"},
    {say_no_text, "failed", "caf? \xc3\xa9", "0 initial failed"},
    {say_very_late, "delayed", "", "0 initial running"},
    {NULL, "delayed", "no_answer", "0 initial retry"},
};

FLOW_TEST(worker, settles_what_handlers_answer)
{
    struct weir_execution_policy policy;

    weir_execution_policy_init(&policy);
    policy.retries_max = 1;
    policy.backoff_initial_ms = policy.backoff_max_ms = 3600000;
    for (size_t i = 0; i < sizeof REPLIES / sizeof REPLIES[0]; i++) {
        struct weir_execution_draft draft = flow_fixture_draft("orders");
        struct job job = {.answer = REPLIES[i].answer};
        struct weir_execution_id id;
        struct flow_worker_fixture flow_worker_fixture;

        draft.policy = &policy;
        flow_worker_fixture_open(&flow_worker_fixture, fixture);
        flow_worker_fixture_start_with(&flow_worker_fixture, &job);
        id = flow_fixture_submit_draft(fixture, flow_worker_fixture.eyes, &draft);

        flow_worker_fixture_expect(&flow_worker_fixture, &id, REPLIES[i].state);
        check_str(flow_fixture_see(fixture, flow_worker_fixture.eyes, &id).failure,
                  REPLIES[i].failure);
        check_str(flow_fixture_attempts(fixture, flow_worker_fixture.eyes, &id).text,
                  REPLIES[i].attempts);
        flow_worker_fixture_close(&flow_worker_fixture);
    }
}

static enum weir_answer panic(struct weir_context *context, void *state,
                              struct weir_task *task)
{
    (void)state;
    (void)weir_task_complete(task, "ok", 2);
    weir_panic(context, "out of %s", "ink");
}

FLOW_TEST(handler, that_panics_has_failed_and_the_next_one_runs)
{
    struct job job = {.answer = job_complete};
    struct weir_execution_id bad, good;
    struct flow_worker_fixture flow_worker_fixture;

    flow_worker_fixture_open(&flow_worker_fixture, fixture);
    flow_worker_fixture.options.permits = 1;
    flow_worker_fixture_add(&flow_worker_fixture, "mail", &job);
    check_db(weir_execution_worker_add(flow_worker_fixture.worker, "print", panic, NULL,
                                       &fixture->error),
             WEIR_OK);
    flow_worker_fixture_start(&flow_worker_fixture);
    bad = flow_worker_fixture_submit(&flow_worker_fixture, "print");
    good = flow_worker_fixture_submit(&flow_worker_fixture, "mail");

    flow_worker_fixture_expect(&flow_worker_fixture, &bad, "failed");
    check_str(flow_fixture_see(fixture, flow_worker_fixture.eyes, &bad).failure,
              "handler_panic: out of ink");
    flow_worker_fixture_expect(&flow_worker_fixture, &good, "completed");
    flow_worker_fixture_close(&flow_worker_fixture);
}

/* Another program may know it. */
FLOW_TEST(worker, puts_off_what_it_has_no_handler_for)
{
    struct job job = {.answer = job_complete};
    struct weir_execution_id id;
    struct flow_fixture_view view;
    struct flow_worker_fixture flow_worker_fixture;

    flow_worker_fixture_open(&flow_worker_fixture, fixture);
    flow_worker_fixture_start_with(&flow_worker_fixture, &job);
    id = flow_worker_fixture_submit(&flow_worker_fixture, "draw");

    flow_worker_fixture_expect(&flow_worker_fixture, &id, "delayed");
    view = flow_fixture_see(fixture, flow_worker_fixture.eyes, &id);
    check_int(view.info.retries, 0);
    check_int(view.info.reclaims, 0);
    check_str(view.failure, "");
    wait_until(flow_worker_fixture_stats(&flow_worker_fixture).returned == 1);
    check_int(flow_worker_fixture_stats(&flow_worker_fixture).unhandled, 1);
    check_int(job.begun, 0);
    flow_worker_fixture_close(&flow_worker_fixture);
}

/* ---- how many ---------------------------------------------------------------------- */

FLOW_TEST(worker, claims_as_many_as_it_has_permits_for_and_no_more)
{
    struct job job = {.answer = job_complete, .waits = true};
    struct flow_worker_fixture flow_worker_fixture;

    flow_worker_fixture_open(&flow_worker_fixture, fixture);
    flow_worker_fixture.options.permits = 3;
    flow_worker_fixture_submit_many(&flow_worker_fixture, 8);
    flow_worker_fixture_start_with(&flow_worker_fixture, &job);

    wait_until(job.begun == 3);
    check_int(flow_worker_fixture_stats(&flow_worker_fixture).claimed, 3);
    job.go = true;
    wait_until(flow_worker_fixture_stats(&flow_worker_fixture).completed == 8);
    check_int(job.inside_most, 3);
    flow_worker_fixture_close(&flow_worker_fixture);
}

FLOW_TEST(worker, claims_ahead_what_it_may_prefetch)
{
    struct job job = {.answer = job_complete, .waits = true};
    struct flow_worker_fixture flow_worker_fixture;

    flow_worker_fixture_open(&flow_worker_fixture, fixture);
    flow_worker_fixture.options.permits = 2;
    flow_worker_fixture.options.prefetch = 3;
    flow_worker_fixture_submit_many(&flow_worker_fixture, 8);
    flow_worker_fixture_start_with(&flow_worker_fixture, &job);

    wait_until(job.begun == 2);
    check_int(flow_worker_fixture_stats(&flow_worker_fixture).claimed, 5);
    check_int(flow_worker_fixture_stats(&flow_worker_fixture).waiting, 3);
    job.go = true;
    wait_until(flow_worker_fixture_stats(&flow_worker_fixture).completed == 8);
    check_int(job.inside_most, 2);
    flow_worker_fixture_close(&flow_worker_fixture);
}

FLOW_TEST(worker, waits_in_line_when_there_is_nothing_and_is_woken_by_a_submit)
{
    struct job job = {.answer = job_complete};
    struct weir_execution_id id;
    struct flow_worker_fixture flow_worker_fixture;
    int questions;

    flow_worker_fixture_open(&flow_worker_fixture, fixture);
    flow_worker_fixture_submit_many(&flow_worker_fixture, 1); /* the lane is known */
    flow_worker_fixture_start_with(&flow_worker_fixture, &job);
    wait_until(flow_worker_fixture_stats(&flow_worker_fixture).completed == 1);
    wait_until(
        weir_claim_waiters_waiting(&flow_worker_fixture.executions->claim_waiters) == 1);
    questions = flow_worker_fixture.questions;

    wait_until(
        weir_claim_waiters_waiting(&flow_worker_fixture.executions->claim_waiters) == 1);
    check_in_range(flow_worker_fixture.questions - questions, 0, 8); /* no busy loop */
    id = flow_worker_fixture_submit(&flow_worker_fixture, "mail");
    flow_worker_fixture_expect(&flow_worker_fixture, &id, "completed");
    flow_worker_fixture_close(&flow_worker_fixture);
}

/* The first answer goes alone; those that come while it is stored go together. */
FLOW_TEST(worker, settles_together_what_comes_together)
{
    struct job job = {.answer = job_complete, .waits = true};
    struct flow_worker_fixture flow_worker_fixture;

    flow_worker_fixture_open(&flow_worker_fixture, fixture);
    flow_worker_fixture.options.permits = 9;
    flow_worker_fixture_submit_many(&flow_worker_fixture, 9);
    flow_worker_fixture_start_with(&flow_worker_fixture, &job);
    wait_until(job.begun == 9);
    flow_worker_fixture.sticks = true;
    job.go = true;
    wait_until(flow_worker_fixture_stats(&flow_worker_fixture).settling == 9);
    wait_until(flow_worker_fixture.stuck > 0);

    flow_worker_fixture.sticks = false;
    wait_until(flow_worker_fixture_stats(&flow_worker_fixture).completed == 9);
    check_in_range(flow_worker_fixture.commits, 1,
                   2); /* one, if all came before the first was taken */
    flow_worker_fixture_close(&flow_worker_fixture);
}

/* Each by one of them, once. */
FLOW_TEST(two_workers, run_every_execution_once)
{
    enum { COUNT = 60 };
    struct job job = {.answer = job_complete};
    struct weir_execution_id ids[COUNT];
    struct flow_worker_fixture anna, bert;

    flow_worker_fixture_open(&anna, fixture);
    flow_worker_fixture_open(&bert, fixture);
    bert.options.claim.instance = "bert";
    flow_worker_fixture_start_with(&anna, &job);
    flow_worker_fixture_start_with(&bert, &job);
    for (int i = 0; i < COUNT; i++)
        ids[i] = flow_worker_fixture_submit(&anna, "mail");

    for (int i = 0; i < COUNT; i++) {
        flow_worker_fixture_expect(&anna, &ids[i], "completed");
        check_str(flow_fixture_attempts(fixture, anna.eyes, &ids[i]).text,
                  "0 initial success");
    }
    check_int(job.begun, COUNT);
    flow_worker_fixture_close(&bert);
    flow_worker_fixture_close(&anna);
}

/* ---- settings ---------------------------------------------------------------------- */

static void refused(struct fixture *fixture,
                    const struct weir_execution_worker_options *options, const char *text)
{
    struct weir_execution_worker *worker = (void *)fixture;

    check_db(weir_execution_worker_create(options, &worker, &fixture->error),
             WEIR_INVALID);
    check_str(fixture->error.text, text);
    check(worker == NULL);
}

FLOW_SQLITE_TEST(worker, names_what_is_wrong_with_its_options)
{
    struct weir_execution_worker_options bad;
    struct flow_worker_fixture flow_worker_fixture;

    flow_worker_fixture_open(&flow_worker_fixture, fixture);
    check_int(flow_worker_fixture.options.permits, 4);
    check_int(flow_worker_fixture.options.prefetch, 0);
    bad = flow_worker_fixture.options;
    bad.executions = NULL;
    refused(fixture, &bad, "create worker: executions is NULL, must be an engine");
    bad = flow_worker_fixture.options;
    bad.permits = 0;
    refused(fixture, &bad, "create worker: permits is 0, must be from 1 to 512");
    bad.permits = 513;
    refused(fixture, &bad, "create worker: permits is 513, must be from 1 to 512");
    bad = flow_worker_fixture.options;
    bad.prefetch = 513;
    refused(fixture, &bad, "create worker: prefetch is 513, must be from 0 to 512");
    bad = flow_worker_fixture.options;
    bad.claim.lane_count = 0;
    refused(fixture, &bad, "create worker: lane_count is 0, must be from 1 to 64");
    bad = flow_worker_fixture.options;
    bad.claim.lease_ms = 999;
    refused(fixture, &bad,
            "create worker: lease_ms is 999, must be from 1000 to 3600000");
    flow_worker_fixture_close(&flow_worker_fixture);
}

FLOW_SQLITE_TEST(worker, has_one_handler_for_a_kind_and_at_least_one)
{
    struct job job = {.answer = job_complete};
    struct weir_error *error = &fixture->error;
    struct flow_worker_fixture flow_worker_fixture;

    flow_worker_fixture_open(&flow_worker_fixture, fixture);
    check_db(weir_execution_worker_create(&flow_worker_fixture.options,
                                          &flow_worker_fixture.worker, error),
             WEIR_OK);
    check_db(weir_execution_worker_start(flow_worker_fixture.worker, error),
             WEIR_INVALID);
    check_str(error->text, "start worker: no handler was added");
    flow_worker_fixture_add(&flow_worker_fixture, "mail", &job);
    flow_worker_fixture_add(&flow_worker_fixture, NULL, &job);

    check_db(weir_execution_worker_add(flow_worker_fixture.worker, "mail", job_handle,
                                       &job, error),
             WEIR_EXISTS);
    check_str(error->text, "add handler: kind \"mail\" has a handler");
    check_db(weir_execution_worker_add(flow_worker_fixture.worker, NULL, job_handle, &job,
                                       error),
             WEIR_EXISTS);
    check_db(
        weir_execution_worker_add(flow_worker_fixture.worker, "print", NULL, &job, error),
        WEIR_INVALID);
    check_db(weir_execution_worker_add(flow_worker_fixture.worker, "", job_handle, &job,
                                       error),
             WEIR_INVALID);
    flow_worker_fixture_start(&flow_worker_fixture);
    check_db(weir_execution_worker_add(flow_worker_fixture.worker, "print", job_handle,
                                       &job, error),
             WEIR_CLOSED);
    check_db(weir_execution_worker_start(flow_worker_fixture.worker, error), WEIR_CLOSED);
    flow_worker_fixture_close(&flow_worker_fixture);
}

/* What was given to it may be gone as soon as it is made. */
FLOW_SQLITE_TEST(worker, copies_its_options)
{
    struct job job = {.answer = job_complete};
    struct weir_execution_draft draft = flow_fixture_draft("orders");
    static const char *const GPU[] = {"gpu"};
    char lane[] = "orders", worker[] = "pool", instance[] = "anna", capability[] = "gpu";
    const char *lanes[] = {lane}, *capabilities[] = {capability};
    struct weir_execution_id id;
    struct flow_worker_fixture flow_worker_fixture;

    draft.capabilities = GPU;
    draft.capability_count = 1;
    flow_worker_fixture_open(&flow_worker_fixture, fixture);
    flow_worker_fixture.options.claim.lanes = lanes;
    flow_worker_fixture.options.claim.worker = worker;
    flow_worker_fixture.options.claim.instance = instance;
    flow_worker_fixture.options.claim.capabilities = capabilities;
    flow_worker_fixture.options.claim.capability_count = 1;
    flow_worker_fixture_add(&flow_worker_fixture, "mail", &job);
    lane[0] = worker[0] = instance[0] = capability[0] = '!';
    lanes[0] = capabilities[0] = NULL;
    memset(&flow_worker_fixture.options, 0, sizeof flow_worker_fixture.options);
    flow_worker_fixture_start(&flow_worker_fixture);
    id = flow_fixture_submit_draft(fixture, flow_worker_fixture.eyes, &draft);

    flow_worker_fixture_expect(&flow_worker_fixture, &id, "completed");
    check_str(flow_fixture_see(fixture, flow_worker_fixture.eyes, &id).instance, "anna");
    flow_worker_fixture_close(&flow_worker_fixture);
}

FLOW_SQLITE_TEST(worker, that_finds_no_memory_says_so_and_leaves_nothing)
{
    struct job job = {.answer = job_complete};
    struct flow_worker_fixture flow_worker_fixture;

    flow_worker_fixture_open(&flow_worker_fixture, fixture);
    for (uint64_t n = 1; n < 10000; n++) {
        struct weir_execution_worker *worker = NULL;
        enum weir_status status;

        weir_faulty_heap_fail_at(&fixture->heap, n);
        status = weir_execution_worker_create(&flow_worker_fixture.options, &worker,
                                              &fixture->error);
        if (status == WEIR_OK)
            status = weir_execution_worker_add(worker, "mail", job_handle, &job,
                                               &fixture->error);
        weir_faulty_heap_fail_at(&fixture->heap, 0);
        weir_execution_worker_destroy(worker);
        if (status == WEIR_OK)
            break;
        check_status(status, WEIR_NO_MEMORY);
    }
    flow_worker_fixture_close(&flow_worker_fixture);
}
