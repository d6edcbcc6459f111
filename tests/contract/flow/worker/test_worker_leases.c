/*
 * The worker and its leases: how they are kept, what happens when one is lost, when the
 * database is away, and when the worker is stopped.
 */
#include "contract/flow/worker/flow_worker_fixture.h"

static int64_t first_lease(struct fixture *fixture)
{
    return fixture_ask(fixture, "SELECT min(lease_us) FROM weir_execution");
}

/* The only attempt there was. */
static void ended_once(struct flow_worker_fixture *flow_worker_fixture,
                       const struct weir_execution_id *id)
{
    struct fixture *fixture = flow_worker_fixture->fixture;
    struct flow_fixture_view view;

    flow_worker_fixture_expect(flow_worker_fixture, id, "completed");
    view = flow_fixture_see(fixture, flow_worker_fixture->eyes, id);
    check_int(view.info.reclaims, 0);
    check_int(view.info.retries, 0);
    check_str(flow_fixture_attempts(fixture, flow_worker_fixture->eyes, id).text,
              "0 initial success");
}

/* ---- keeping leases ---------------------------------------------------------------- */

FLOW_TEST(worker, renews_the_leases_of_all_that_run)
{
    struct job job = {.answer = job_complete, .waits = true};
    struct weir_execution_id ids[3];
    struct flow_worker_fixture flow_worker_fixture;
    int64_t lease_us;

    flow_worker_fixture_open_short(&flow_worker_fixture, fixture);
    for (int i = 0; i < 3; i++)
        ids[i] = flow_worker_fixture_submit(&flow_worker_fixture, "mail");
    flow_worker_fixture_start_with(&flow_worker_fixture, &job);
    wait_until(job.begun == 3);
    lease_us = first_lease(fixture);

    wait_until(first_lease(fixture) > lease_us + 1000000); /* that one would be over */
    job.go = true;
    for (int i = 0; i < 3; i++)
        ended_once(&flow_worker_fixture, &ids[i]);
    check_int(job.stopped, 0);
    flow_worker_fixture_close(&flow_worker_fixture);
}

FLOW_SQLITE_TEST(worker, renews_all_in_one_call_every_third_of_the_lease)
{
    struct job job = {.answer = job_complete, .waits = true};
    struct script script;
    struct flow_worker_fixture flow_worker_fixture;

    flow_worker_fixture_open_in(&flow_worker_fixture, fixture, &script);
    flow_worker_fixture.options.claim.lease_ms = 3000;
    flow_worker_fixture_submit_many(&flow_worker_fixture, 3);
    flow_worker_fixture_start_with(&flow_worker_fixture, &job);
    flow_worker_fixture_run(&flow_worker_fixture, WEIR_SECONDS(30));

    check_int(job.begun, 3);
    check_int(job.stopped, 0);
    check_in_range(flow_worker_fixture.loads, 28, 32);
    job.go = true;
    flow_worker_fixture_run(&flow_worker_fixture, WEIR_SECONDS(1));
    check_int(flow_worker_fixture_stats(&flow_worker_fixture).completed, 3);
    flow_worker_fixture_close(&flow_worker_fixture);
}

/* What waits for a permit keeps its lease as well. */
FLOW_SQLITE_TEST(worker, renews_the_leases_of_what_it_has_prefetched)
{
    struct job job = {.answer = job_complete, .waits = true};
    struct script script;
    struct flow_worker_fixture flow_worker_fixture;

    flow_worker_fixture_open_in(&flow_worker_fixture, fixture, &script);
    flow_worker_fixture.options.permits = 1;
    flow_worker_fixture.options.prefetch = 2;
    flow_worker_fixture_submit_many(&flow_worker_fixture, 3);
    flow_worker_fixture_start_with(&flow_worker_fixture, &job);
    flow_worker_fixture_run(&flow_worker_fixture, WEIR_SECONDS(90));
    check_int(flow_worker_fixture_stats(&flow_worker_fixture).waiting, 2);

    job.go = true;
    flow_worker_fixture_run(&flow_worker_fixture, WEIR_SECONDS(1));
    check_int(flow_worker_fixture_stats(&flow_worker_fixture).completed, 3);
    flow_worker_fixture_close(&flow_worker_fixture);
}

/* ---- losing them ------------------------------------------------------------------- */

/* With one permit: the runner that was stopped has a successor. */
FLOW_TEST(handler, whose_lease_is_lost_gets_the_stop_signal_and_another_runs)
{
    struct weir_revocation revocation = {.instance = NULL};
    struct job job = {.answer = job_complete, .waits = true};
    struct weir_execution_id id;
    struct flow_worker_fixture flow_worker_fixture;

    flow_worker_fixture_open_short(&flow_worker_fixture, fixture);
    flow_worker_fixture.options.permits = 1;
    flow_worker_fixture_start_with(&flow_worker_fixture, &job);
    id = flow_worker_fixture_submit(&flow_worker_fixture, "mail");
    wait_until(job.begun == 1);

    check_db(weir_execution_revoke(flow_worker_fixture.eyes, &id, &revocation,
                                   &fixture->error),
             WEIR_OK);
    wait_until(job.stopped == 1);
    wait_until(job.begun == 2);
    check_int(flow_worker_fixture_stats(&flow_worker_fixture).fenced, 1);
    job.go = true;
    flow_worker_fixture_expect(&flow_worker_fixture, &id, "completed");
    check_int(flow_fixture_see(fixture, flow_worker_fixture.eyes, &id).info.attempts, 2);
    flow_worker_fixture_close(&flow_worker_fixture);
}

FLOW_TEST(handler, that_answers_after_its_lease_was_lost_changes_nothing)
{
    struct job job = {.answer = job_complete, .waits = true, .deaf = true};
    struct weir_execution_id id;
    struct flow_worker_fixture flow_worker_fixture;

    flow_worker_fixture_open(&flow_worker_fixture, fixture);
    flow_worker_fixture_start_with(&flow_worker_fixture, &job);
    id = flow_worker_fixture_submit(&flow_worker_fixture, "mail");
    wait_until(job.begun == 1);

    check_db(weir_execution_cancel(flow_worker_fixture.eyes, &id, "not wanted",
                                   &fixture->error),
             WEIR_OK);
    job.go = true;
    wait_until(flow_worker_fixture_stats(&flow_worker_fixture).fenced == 1);
    check_str(flow_fixture_state(fixture, flow_worker_fixture.eyes, &id), "cancelled");
    check_str(flow_fixture_see(fixture, flow_worker_fixture.eyes, &id).failure,
              "not wanted");
    flow_worker_fixture_close(&flow_worker_fixture);
}

/* Nobody can tell it so: our own clock does, and in time. */
FLOW_SQLITE_TEST(handler, is_stopped_before_a_lease_ends_that_cannot_be_renewed)
{
    struct job job = {.answer = job_complete, .waits = true};
    struct script script;
    struct flow_worker_fixture flow_worker_fixture;

    flow_worker_fixture_open_in(&flow_worker_fixture, fixture, &script);
    flow_worker_fixture_submit_many(&flow_worker_fixture, 1);
    flow_worker_fixture_start_with(&flow_worker_fixture, &job);
    flow_worker_fixture_run(&flow_worker_fixture, WEIR_SECONDS(5));
    check_int(job.begun, 1);

    flow_worker_fixture.gone = true;
    flow_worker_fixture_run(&flow_worker_fixture, WEIR_SECONDS(60));
    check_int(job.stopped, 1);
    check_in_range(job.stopped_ns - job.lease_ns, WEIR_SECONDS(27),
                   WEIR_SECONDS(27) + WEIR_MILLISECONDS(10));
    flow_worker_fixture.gone = false;
    flow_worker_fixture_close(&flow_worker_fixture);
}

FLOW_TEST(handler, is_stopped_when_the_database_is_gone_for_too_long)
{
    struct job job = {.answer = job_complete, .waits = true};
    struct flow_worker_fixture flow_worker_fixture;

    flow_worker_fixture_open_short(&flow_worker_fixture, fixture);
    flow_worker_fixture_start_with(&flow_worker_fixture, &job);
    flow_worker_fixture_submit_many(&flow_worker_fixture, 1);
    wait_until(job.begun == 1);

    flow_worker_fixture.gone = true;
    wait_until(job.stopped == 1);
    flow_worker_fixture.gone = false;
    flow_worker_fixture_close(&flow_worker_fixture);
}

/* The renewal neither fails nor ends. */
FLOW_TEST(handler, is_stopped_when_a_renewal_hangs)
{
    struct job job = {.answer = job_complete, .waits = true};
    struct flow_worker_fixture flow_worker_fixture;

    flow_worker_fixture_open_short(&flow_worker_fixture, fixture);
    flow_worker_fixture_start_with(&flow_worker_fixture, &job);
    flow_worker_fixture_submit_many(&flow_worker_fixture, 1);
    wait_until(job.begun == 1);

    flow_worker_fixture.hangs = true;
    wait_until(job.stopped == 1);
    flow_worker_fixture.hangs = false;
    flow_worker_fixture_close(&flow_worker_fixture);
}

static struct weir_execution_id
submit_limited(struct flow_worker_fixture *flow_worker_fixture, int64_t timeout_ms)
{
    struct weir_execution_draft draft = flow_fixture_draft("orders");
    struct weir_execution_policy policy;

    weir_execution_policy_init(&policy);
    policy.attempt_timeout_ms = timeout_ms;
    draft.policy = &policy;
    return flow_fixture_submit_draft(flow_worker_fixture->fixture,
                                     flow_worker_fixture->eyes, &draft);
}

/* What becomes of it is the reconciler's. */
FLOW_TEST(handler, is_stopped_when_the_time_of_its_attempt_is_over)
{
    struct job job = {.answer = job_complete, .waits = true};
    struct weir_execution_id id;
    struct flow_worker_fixture flow_worker_fixture;

    flow_worker_fixture_open(&flow_worker_fixture, fixture);
    flow_worker_fixture_start_with(&flow_worker_fixture, &job);
    id = submit_limited(&flow_worker_fixture, 50);

    wait_until(job.stopped == 1);
    wait_until(flow_worker_fixture_stats(&flow_worker_fixture).fenced == 1);
    check_str(flow_fixture_state(fixture, flow_worker_fixture.eyes, &id), "active");
    flow_worker_fixture_close(&flow_worker_fixture);
}

FLOW_SQLITE_TEST(handler, has_the_time_of_its_attempt)
{
    struct job job = {.answer = job_complete, .waits = true};
    struct script script;
    struct flow_worker_fixture flow_worker_fixture;

    flow_worker_fixture_open_in(&flow_worker_fixture, fixture, &script);
    (void)submit_limited(&flow_worker_fixture, 5000);
    flow_worker_fixture_start_with(&flow_worker_fixture, &job);
    flow_worker_fixture_run(&flow_worker_fixture, WEIR_SECONDS(20));

    check_int(job.stopped, 1);
    check_in_range(job.stopped_ns - job.lease_ns, WEIR_SECONDS(5),
                   WEIR_SECONDS(5) + WEIR_MILLISECONDS(10));
    flow_worker_fixture_close(&flow_worker_fixture);
}

/* ---- a database that is away ------------------------------------------------------- */

FLOW_TEST(answer, is_stored_although_the_database_was_away)
{
    struct job job = {.answer = job_complete, .waits = true};
    struct weir_execution_id id;
    struct flow_worker_fixture flow_worker_fixture;
    int questions;

    flow_worker_fixture_open(&flow_worker_fixture, fixture);
    flow_worker_fixture_start_with(&flow_worker_fixture, &job);
    id = flow_worker_fixture_submit(&flow_worker_fixture, "mail");
    wait_until(job.begun == 1);
    flow_worker_fixture.gone = true;
    job.go = true;
    wait_until(job.ended == 1);
    questions = flow_worker_fixture.questions;
    wait_until(flow_worker_fixture.questions > questions + 5);
    check_int(flow_worker_fixture_stats(&flow_worker_fixture).settling, 1);

    flow_worker_fixture.gone = false;
    ended_once(&flow_worker_fixture, &id);
    wait_until(flow_worker_fixture_stats(&flow_worker_fixture).completed == 1);
    check_int(job.begun, 1);
    flow_worker_fixture_close(&flow_worker_fixture);
}

/* The same for real: the server crashes, and is back some time later. */
FLOW_POSTGRESQL_TEST(answer, survives_a_crash_of_the_server)
{
    struct server *server = server_create(WEIR_POSTGRESQL, NULL);
    struct weir_db_options options = fixture_options(fixture);
    struct job job = {.answer = job_complete, .waits = true};
    struct weir_execution_id id;
    char url[SERVER_URL_SIZE];
    struct weir_db *db;
    struct flow_worker_fixture flow_worker_fixture;

    server_create_database(server, "own");
    server_url(server, "own", url, sizeof url);
    options.url = url;
    db = fixture_open(fixture, &options);
    check_db(weir_outbox_migrate(db, &fixture->error), WEIR_OK);
    check_db(weir_executions_migrate(db, &fixture->error), WEIR_OK);
    flow_worker_fixture_open_at(&flow_worker_fixture, fixture, &options, db);
    flow_worker_fixture_start_with(&flow_worker_fixture, &job);
    id = flow_worker_fixture_submit(&flow_worker_fixture, "mail");
    wait_until(job.begun == 1);

    server_kill(server);
    job.go = true;
    wait_until(flow_worker_fixture_stats(&flow_worker_fixture).settling == 1);
    server_restart(server);
    ended_once(&flow_worker_fixture, &id);
    check_int(job.begun, 1);
    id = flow_worker_fixture_submit(&flow_worker_fixture,
                                    "mail"); /* and it claims again */
    flow_worker_fixture_expect(&flow_worker_fixture, &id, "completed");
    flow_worker_fixture_close(&flow_worker_fixture);
    weir_db_destroy(db);
    server_destroy(server);
}

FLOW_TEST(answer, whose_reply_was_lost_is_sent_again_and_counts_once)
{
    struct job job = {.answer = job_complete, .waits = true};
    struct weir_execution_id id;
    struct flow_worker_fixture flow_worker_fixture;

    flow_worker_fixture_open(&flow_worker_fixture, fixture);
    flow_worker_fixture_start_with(&flow_worker_fixture, &job);
    id = flow_worker_fixture_submit(&flow_worker_fixture, "mail");
    wait_until(job.begun == 1);

    flow_worker_fixture.doubtful = 1;
    job.go = true;
    wait_until(flow_worker_fixture_stats(&flow_worker_fixture).completed == 1);
    check(flow_worker_fixture.doubtful <= 0);
    ended_once(&flow_worker_fixture, &id);
    check_int(flow_worker_fixture_stats(&flow_worker_fixture).fenced, 0);
    flow_worker_fixture_close(&flow_worker_fixture);
}

/* A row with a number that nobody knows fails every transaction that it is in. */
FLOW_TEST(answer, that_can_never_be_stored_keeps_no_other_waiting)
{
    struct job job = {.answer = job_complete, .waits = true};
    struct flow_worker_fixture flow_worker_fixture;

    flow_worker_fixture_open(&flow_worker_fixture, fixture);
    flow_worker_fixture.options.permits = 5;
    flow_worker_fixture_submit_many(&flow_worker_fixture, 5);
    flow_worker_fixture_start_with(&flow_worker_fixture, &job);
    wait_until(job.begun == 5);
    fixture_prepare(fixture, "UPDATE {p}_execution SET state = 77 WHERE no = "
                             "(SELECT min(no) FROM {p}_execution)");

    job.go = true;
    wait_until(flow_worker_fixture_stats(&flow_worker_fixture).completed == 4);
    wait_until(flow_worker_fixture_stats(&flow_worker_fixture).fenced == 1);
    flow_worker_fixture_close(&flow_worker_fixture);
}

FLOW_SQLITE_TEST(worker, whose_database_is_gone_asks_less_and_less_often)
{
    struct job job = {.answer = job_complete};
    struct script script;
    struct flow_worker_fixture flow_worker_fixture;
    int questions;

    flow_worker_fixture_open_in(&flow_worker_fixture, fixture, &script);
    flow_worker_fixture_start_with(&flow_worker_fixture, &job);
    flow_worker_fixture_run(&flow_worker_fixture, WEIR_SECONDS(5));
    flow_worker_fixture.gone = true;
    flow_worker_fixture_run(&flow_worker_fixture, WEIR_MINUTES(5));
    questions = flow_worker_fixture.questions;
    flow_worker_fixture_run(&flow_worker_fixture, WEIR_MINUTES(5));
    check_in_range(flow_worker_fixture.questions - questions, 10, 1000);

    flow_worker_fixture.gone = false;
    flow_worker_fixture_submit_many(&flow_worker_fixture, 1);
    flow_worker_fixture_run(&flow_worker_fixture, WEIR_SECONDS(10));
    check_int(flow_worker_fixture_stats(&flow_worker_fixture).completed, 1);
    flow_worker_fixture_close(&flow_worker_fixture);
}

/* ---- stopping ---------------------------------------------------------------------- */

/* Neither those that wait for a permit nor the one that runs have lost or failed
 * anything. */
FLOW_TEST(stop, gives_back_what_was_not_finished_and_others_go_on_at_once)
{
    struct job job = {.answer = job_complete, .waits = true};
    struct job next = {.answer = job_complete};
    struct weir_execution_id ids[4];
    struct flow_worker_fixture anna, bert;

    flow_worker_fixture_open(&anna, fixture);
    anna.options.permits = 1;
    anna.options.prefetch = 3;
    for (int i = 0; i < 4; i++)
        ids[i] = flow_worker_fixture_submit(&anna, "mail");
    flow_worker_fixture_start_with(&anna, &job);
    wait_until(job.begun == 1);

    check_int(weir_execution_worker_stop(anna.worker, 0), 0);
    check_int(flow_worker_fixture_stats(&anna).returned, 4);
    check_int(job.stopped, 1);
    for (int i = 0; i < 4; i++)
        check_str(flow_fixture_state(fixture, anna.eyes, &ids[i]), "resumable");

    flow_worker_fixture_open(&bert, fixture);
    flow_worker_fixture_start_with(&bert, &next);
    for (int i = 0; i < 4; i++)
        ended_once(&bert, &ids[i]);
    flow_worker_fixture_close(&bert);
    flow_worker_fixture_close(&anna);
}

static enum weir_answer finish_soon(struct weir_context *context, void *state,
                                    struct weir_task *task)
{
    struct job *job = state;

    atomic_fetch_add(&job->begun, 1);
    if (weir_sleep(context, WEIR_MILLISECONDS(50)) != WEIR_OK)
        atomic_fetch_add(&job->stopped, 1);
    return weir_task_complete(task, "ok", 2);
}

FLOW_TEST(stop, lets_handlers_finish_within_the_grace)
{
    struct job job = {.answer = job_complete};
    struct weir_execution_id id;
    struct flow_worker_fixture flow_worker_fixture;

    flow_worker_fixture_open(&flow_worker_fixture, fixture);
    flow_worker_fixture_add(&flow_worker_fixture, "print", &job);
    check_db(weir_execution_worker_add(flow_worker_fixture.worker, "mail", finish_soon,
                                       &job, &fixture->error),
             WEIR_OK);
    flow_worker_fixture_start(&flow_worker_fixture);
    id = flow_worker_fixture_submit(&flow_worker_fixture, "mail");
    wait_until(job.begun == 1);

    check_int(weir_execution_worker_stop(flow_worker_fixture.worker, WEIR_SECONDS(60)),
              0);
    check_int(job.stopped, 0);
    ended_once(&flow_worker_fixture, &id);
    flow_worker_fixture_close(&flow_worker_fixture);
}

FLOW_SQLITE_TEST(stop, gives_the_signal_when_the_grace_is_over)
{
    struct job job = {.answer = job_complete, .waits = true};
    struct script script;
    struct flow_worker_fixture flow_worker_fixture;
    int64_t begun_ns;

    flow_worker_fixture_open_in(&flow_worker_fixture, fixture, &script);
    flow_worker_fixture_submit_many(&flow_worker_fixture, 1);
    flow_worker_fixture_start_with(&flow_worker_fixture, &job);
    flow_worker_fixture_run(&flow_worker_fixture, WEIR_SECONDS(5));
    begun_ns = weir_sim_now(script.sim);

    check_int(weir_execution_worker_stop(flow_worker_fixture.worker, WEIR_SECONDS(40)),
              0);
    check_int(job.stopped, 1);
    check_in_range(job.stopped_ns - begun_ns, WEIR_SECONDS(40),
                   WEIR_SECONDS(40) + WEIR_MILLISECONDS(10));
    check_int(flow_worker_fixture_stats(&flow_worker_fixture).returned, 1);
    flow_worker_fixture_close(&flow_worker_fixture);
}

/* It answers when everything else is gone: nothing is touched that is not its own. */
static _Atomic int late_status;

static enum weir_answer say_late(struct weir_task *task)
{
    atomic_store(&late_status, (int)weir_task_progress(task, 50, "late", NULL));
    return weir_task_complete(task, "ok", 2);
}

/* One execution, and a worker that is gone before its handler may be. */
static void run_and_close(struct fixture *fixture, struct job *job, size_t unfinished)
{
    struct weir_execution_id id;
    struct flow_worker_fixture flow_worker_fixture;

    flow_worker_fixture_open(&flow_worker_fixture, fixture);
    flow_worker_fixture_start_with(&flow_worker_fixture, job);
    id = flow_worker_fixture_submit(&flow_worker_fixture, "mail");
    wait_until(job->begun == 1);

    check_int(weir_execution_worker_stop(flow_worker_fixture.worker, 0), unfinished);
    check_int(weir_execution_worker_stop(flow_worker_fixture.worker, 0), 0);
    flow_worker_fixture_dismiss(&flow_worker_fixture);
    check_str(flow_fixture_state(fixture, flow_worker_fixture.eyes, &id),
              unfinished > 0 ? "active" : "completed");
    flow_worker_fixture_close(&flow_worker_fixture);
}

FLOW_TEST(stop, counts_handlers_that_ignore_their_signal_and_destroy_leaves_them)
{
    struct job quick = {.answer = job_complete};
    struct job late = {.answer = say_late, .waits = true, .deaf = true};
    int64_t outstanding;

    run_and_close(fixture, &quick, 0); /* what the database keeps, it has now */
    outstanding = fixture->heap.outstanding;
    run_and_close(fixture, &late, 1);
    check(fixture->heap.outstanding > outstanding);

    late.go = true;
    wait_until(fixture->heap.outstanding <= outstanding);
    check_int(late_status, WEIR_CLOSED);
}

FLOW_TEST(worker, may_be_destroyed_at_any_moment)
{
    for (int i = 0; i < 12; i++) {
        struct job job = {.answer = job_complete, .waits = i % 3 == 0};
        struct flow_worker_fixture flow_worker_fixture;

        flow_worker_fixture_open(&flow_worker_fixture, fixture);
        flow_worker_fixture_submit_many(&flow_worker_fixture, 6);
        flow_worker_fixture_start_with(&flow_worker_fixture, &job);
        wait_until(job.begun >= i % 4);
        flow_worker_fixture_close(&flow_worker_fixture);
    }
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_execution"
                                   " WHERE retries > 0 OR reclaims > 0"),
              0);
}

/* What the handler had to say is lost, and counted. */
FLOW_TEST(stop, ends_although_the_database_is_gone)
{
    struct job job = {.answer = job_complete, .waits = true};
    struct flow_worker_fixture flow_worker_fixture;

    flow_worker_fixture_open(&flow_worker_fixture, fixture);
    flow_worker_fixture_start_with(&flow_worker_fixture, &job);
    flow_worker_fixture_submit_many(&flow_worker_fixture, 1);
    wait_until(job.begun == 1);

    flow_worker_fixture.gone = true;
    check_int(weir_execution_worker_stop(flow_worker_fixture.worker, 0), 1);
    check_int(flow_worker_fixture_stats(&flow_worker_fixture).settling, 1);
    flow_worker_fixture.gone = false;
    flow_worker_fixture_close(&flow_worker_fixture);
}
