/*
 * test_ward.c - groups of workers: the task set rows of the specification, reports of
 * ends, handles and reading. Stopping is in test_ward_stop.c and, on threads, in
 * test_ward_threads.c; spawning in test_ward_spawn.c.
 */
#include <string.h>

#include "kit/alloc_failures.h"
#include "unit/ward/ward_fixture.h"

/* ---- the rows of the table --------------------------------------------------------- */

WEIR_TEST(ward, stops_three_workers_that_wait_to_be_cancelled)
{
    struct patient patients[3];
    struct ward_fixture ward_fixture;
    memset(patients, 0, sizeof patients);
    ward_fixture_open(&ward_fixture);
    for (size_t i = 0; i < 3; i++)
        weir_worker_release(
            ward_fixture_spawn(&ward_fixture, "patient", wait_for_cancel, &patients[i]));
    weir_sim_run_until(ward_fixture.sim, MS(10));
    check_int(weir_ward_count(ward_fixture.ward), 3);

    check_int(weir_ward_stop(ward_fixture.ward, WEIR_SECONDS(1)), 0);

    check_int(weir_ward_count(ward_fixture.ward), 0);
    check_int(weir_sim_now(ward_fixture.sim), MS(10));
    ward_fixture_close(&ward_fixture);
}

WEIR_TEST(ward, stops_though_a_worker_panicked)
{
    struct actor bad = {ACTS(PANIC)};
    struct patient good = {.waits = false};
    struct ward_fixture ward_fixture;
    ward_fixture_open(&ward_fixture);
    ward_fixture_add_worker(&ward_fixture, "bad", &bad);
    weir_worker_release(
        ward_fixture_spawn(&ward_fixture, "good", wait_for_cancel, &good));
    weir_sim_run_until(ward_fixture.sim, MS(10));
    check_int(weir_ward_count(ward_fixture.ward), 1); /* the other has not noticed */

    check_int(weir_ward_stop(ward_fixture.ward, WEIR_SECONDS(1)), 0);

    check(good.finished);
    ward_fixture_close(&ward_fixture);
}

WEIR_TEST(ward, that_is_empty_stops)
{
    struct ward_fixture ward_fixture;
    ward_fixture_open(&ward_fixture);

    check_int(weir_ward_stop(ward_fixture.ward, WEIR_SECONDS(1)), 0);

    check_int(weir_sim_now(ward_fixture.sim), 0);
    ward_fixture_close(&ward_fixture);
}

WEIR_TEST(ward, counts_its_workers)
{
    struct actor actors[3] = {{ACTS(IDLE)}, {ACTS(IDLE)}, {ACTS(IDLE)}};
    struct ward_fixture ward_fixture;
    ward_fixture_open(&ward_fixture);

    check_int(weir_ward_count(ward_fixture.ward), 0);
    ward_fixture_add_worker(&ward_fixture, "a", &actors[0]);
    check_int(weir_ward_count(ward_fixture.ward), 1);
    ward_fixture_add_worker(&ward_fixture, "b", &actors[1]);
    ward_fixture_add_worker(&ward_fixture, "c", &actors[2]);
    check_int(weir_ward_count(ward_fixture.ward), 3);

    weir_ward_cancel(ward_fixture.ward);
    check_int(weir_ward_count(ward_fixture.ward), 3); /* until they have ended */
    weir_sim_run_until(ward_fixture.sim, MS(1));
    check_int(weir_ward_count(ward_fixture.ward), 0);
    ward_fixture_close(&ward_fixture);
}

WEIR_TEST(ward, lets_every_action_take_its_last_step)
{
    struct patient patients[3];
    struct ward_fixture ward_fixture;
    memset(patients, 0, sizeof patients);
    ward_fixture_open(&ward_fixture);
    for (size_t i = 0; i < 3; i++) {
        patients[i].last_step_ns = MS(10) * (int64_t)(3 - i);
        weir_worker_release(
            ward_fixture_spawn(&ward_fixture, "patient", wait_for_cancel, &patients[i]));
    }
    weir_sim_run_until(ward_fixture.sim, MS(1));

    check_int(weir_ward_stop(ward_fixture.ward, WEIR_SECONDS(1)), 0);

    for (size_t i = 0; i < 3; i++)
        check(patients[i].finished);
    check_int(weir_sim_now(ward_fixture.sim),
              MS(31)); /* all at once, not one after the other */
    ward_fixture_close(&ward_fixture);
}

/* Destroying cancels and does not wait; the action goes on, and finds itself
 * cancelled. */
WEIR_TEST(ward, that_is_destroyed_without_a_stop_cancels)
{
    struct patient patient = {.last_step_ns = MS(10)};
    struct actor idle = {ACTS(IDLE)};
    struct ward_fixture ward_fixture;
    ward_fixture_open(&ward_fixture);
    weir_worker_release(
        ward_fixture_spawn(&ward_fixture, "patient", wait_for_cancel, &patient));
    ward_fixture_add_worker(&ward_fixture, "idle", &idle);
    weir_sim_run_until(ward_fixture.sim, MS(1));

    weir_ward_destroy(ward_fixture.ward);
    check_int(weir_sim_now(ward_fixture.sim), MS(1));
    check(!patient.finished);
    check_int(ward_fixture.end_count, 1); /* of the one that was idle */
    check(weir_sim_run_until_quiet(ward_fixture.sim, WEIR_FOREVER));

    check(patient.finished);
    check_int(ward_fixture.end_count, 2); /* the ward was kept for that long */
    weir_sim_destroy(ward_fixture.sim);
}

WEIR_TEST(ward, may_be_destroyed_after_a_stop)
{
    struct actor actor = {ACTS(IDLE)};
    struct ward_fixture ward_fixture;
    ward_fixture_open(&ward_fixture);
    ward_fixture_add_worker(&ward_fixture, "actor", &actor);
    weir_sim_run_until(ward_fixture.sim, MS(1));
    check_int(weir_ward_stop(ward_fixture.ward, WEIR_SECONDS(1)), 0);

    weir_ward_destroy(ward_fixture.ward);

    check_int(ward_fixture.end_count, 1); /* told once */
    weir_sim_destroy(ward_fixture.sim);
}

/* ---- reports of ends --------------------------------------------------------------- */

WEIR_TEST(ward, reports_a_worker_that_finished_with_its_counts)
{
    struct actor actor = {ACTS(PROCEED, PROCEED, ERROR)};
    struct ward_fixture ward_fixture;
    ward_fixture_open(&ward_fixture);
    ward_fixture_add_worker(&ward_fixture, "mailer", &actor);
    weir_sim_run_until(ward_fixture.sim, MS(1));
    check_int(ward_fixture.end_count, 0);

    check_int(weir_ward_stop(ward_fixture.ward, 0), 0);

    check_int(ward_fixture.end_count, 1);
    check_str(ward_fixture.names[0], "hall/mailer");
    check_int(ward_fixture.ends[0].outcome, WEIR_WORKER_FINISHED);
    check_str(ward_fixture.texts[0], "");
    check_int(ward_fixture.ends[0].executions, 3);
    check_int(ward_fixture.ends[0].failures, 1);
    ward_fixture_close(&ward_fixture);
}

/* At once: whoever watches need not wait for the stop to hear of it. */
WEIR_TEST(ward, reports_a_panic_at_once_with_its_text)
{
    struct actor actor = {ACTS(PROCEED, PANIC)};
    struct ward_fixture ward_fixture;
    ward_fixture_open(&ward_fixture);
    ward_fixture_add_worker(&ward_fixture, "mailer", &actor);

    weir_sim_run_until(ward_fixture.sim, MS(1));

    check_int(ward_fixture.end_count, 1);
    check_str(ward_fixture.names[0], "hall/mailer");
    check_int(ward_fixture.ends[0].outcome, WEIR_WORKER_PANICKED);
    check_str(ward_fixture.texts[0], "panic: call 1 was told to panic");
    check_int(ward_fixture.ends[0].executions, 2);
    check_int(ward_fixture.ends[0].failures, 1);
    check_int(weir_ward_count(ward_fixture.ward), 0);
    ward_fixture_close(&ward_fixture);
    check_int(ward_fixture.end_count, 1); /* and only once */
}

WEIR_TEST(ward, reports_a_worker_that_never_ran)
{
    struct actor actor = {ACTS(IDLE)};
    struct ward_fixture ward_fixture;
    ward_fixture_open(&ward_fixture);
    ward_fixture_add_worker(&ward_fixture, "early", &actor);

    check_int(weir_ward_stop(ward_fixture.ward, 0), 0);

    check_int(actor.calls, 0);
    check_int(ward_fixture.end_count, 1);
    check_int(ward_fixture.ends[0].outcome, WEIR_WORKER_FINISHED);
    check_int(ward_fixture.ends[0].executions, 0);
    ward_fixture_close(&ward_fixture);
}

WEIR_TEST(ward, logs_a_finished_worker_at_debug)
{
    struct actor actor = {ACTS(PROCEED, ERROR)};
    struct ward_fixture ward_fixture;
    ward_fixture_open(&ward_fixture);
    ward_fixture_add_worker(&ward_fixture, "mailer", &actor);
    weir_sim_run_until(ward_fixture.sim, MS(1));

    check_int(weir_ward_stop(ward_fixture.ward, 0), 0);

    check_int(captured_log_count(&ward_fixture.captured_log, WEIR_LOG_DEBUG,
                                 "ward.worker_ended ward=hall worker=mailer executions=2 "
                                 "failures=1"),
              1);
    check_int(captured_log_count(&ward_fixture.captured_log, WEIR_LOG_DEBUG,
                                 "ward.stopped ward=hall unfinished=0"),
              1);
    check_int(ward_fixture.captured_log.count,
              2); /* the runtime says nothing of single executions */
    ward_fixture_close(&ward_fixture);
}

WEIR_TEST(ward, logs_a_panicked_worker_as_an_error)
{
    struct actor actor = {ACTS(PANIC)};
    struct ward_fixture ward_fixture;
    ward_fixture_open(&ward_fixture);
    ward_fixture_add_worker(&ward_fixture, "mailer", &actor);

    weir_sim_run_until(ward_fixture.sim, MS(1));

    check_int(captured_log_count(&ward_fixture.captured_log, WEIR_LOG_ERROR,
                                 "ward.worker_panicked ward=hall worker=mailer "
                                 "text=\"panic: call 0 was told to panic\""),
              1);
    check_int(ward_fixture.captured_log.count, 1);
    ward_fixture_close(&ward_fixture);
}

WEIR_TEST(ward, without_a_function_for_ends_tells_the_log_only)
{
    struct actor actor = {ACTS(IDLE)};
    struct script script; /* whose ward has none */
    script_open(&script, IN_SIMULATION);
    struct weir_notifier *bell = script_bell(&script);
    script_add_worker(&script, &actor, &bell, 1);

    script_play(&script, CUES({MS(1), cue_cancel, &script}));

    check_int(weir_ward_count(script.ward), 0);
    script_close(&script);
}

static void note_stop(void *state, const char *worker)
{
    size_t *ends_at_stop = state;

    (void)worker;
    *ends_at_stop = 0;
}

static void note_end(void *state, const struct weir_worker_end *end)
{
    size_t *ends_at_stop = state;

    (void)end;
    *ends_at_stop += 1; /* 1 only if on_stop came first */
}

WEIR_TEST(ward, reports_an_end_after_the_worker_s_on_stop)
{
    size_t ends_at_stop = 99;
    struct weir_listener listener = {.state = &ends_at_stop, .on_stop = note_stop};
    struct actor actor = {ACTS(IDLE)};
    struct weir_ward *ward;
    struct script script;
    script_open(&script, IN_SIMULATION);
    check_status(weir_ward_create(script.executor,
                                  &(struct weir_ward_options){.name = "other",
                                                              .on_end = note_end,
                                                              .state = &ends_at_stop},
                                  &ward, NULL),
                 WEIR_OK);
    struct weir_worker_options options = script_options(&actor);
    options.listeners = (const struct weir_listener *[]){&listener};
    options.listener_count = 1;
    check_status(weir_ward_spawn(ward, &options, NULL, NULL), WEIR_OK);

    weir_ward_destroy(ward);

    check_int(ends_at_stop, 1);
    script_close(&script);
}

/* A host that wants panicked workers back spawns them anew when it hears of their end. */
struct phoenix {
    struct ward_fixture *ward_fixture;
    struct actor *next;
};

static void spawn_again(void *state, const struct weir_worker_end *end)
{
    struct phoenix *self = state;
    struct weir_worker_options options = script_options(self->next);
    enum weir_status status;

    options.failures_initial = (uint32_t)end->failures;
    options.on_error = WEIR_ON_ERROR_RETRY;
    options.backoff = (struct weir_backoff){MS(1), MS(1), 1.0, 0.0};
    status = weir_ward_spawn(self->ward_fixture->ward, &options, NULL, NULL);
    if (end->outcome == WEIR_WORKER_PANICKED && status != WEIR_OK)
        self->ward_fixture->end_count = 99;
}

WEIR_TEST(ward, may_be_given_a_new_worker_by_the_report_of_an_end)
{
    struct actor bad = {ACTS(PANIC)};
    struct actor good = {ACTS(SLEEP(LONG)), .name = "good"};
    struct ward_fixture ward_fixture;
    struct phoenix phoenix = {&ward_fixture, &good};
    ward_fixture_open(&ward_fixture);
    weir_ward_destroy(ward_fixture.ward);
    check_status(weir_ward_create(weir_sim_executor(ward_fixture.sim),
                                  &(struct weir_ward_options){.name = "phoenix",
                                                              .on_end = spawn_again,
                                                              .state = &phoenix},
                                  &ward_fixture.ward, NULL),
                 WEIR_OK);
    ward_fixture_add_worker(&ward_fixture, "bad", &bad);

    weir_sim_run_until(ward_fixture.sim, MS(10));

    check_int(bad.calls, 1);
    check_int(good.calls, 1);
    check_int(weir_ward_count(ward_fixture.ward), 1);
    check_int(ward_fixture.end_count, 0);
    check_int(weir_ward_stop(ward_fixture.ward, 0),
              0); /* a new one then is refused, and no more */
    ward_fixture_close(&ward_fixture);
}

/* ---- handles ----------------------------------------------------------------------- */

/* The handle is the last thing that is left; all it knows can still be read. */
WEIR_TEST(ward, may_be_outlived_by_the_handle_of_a_worker)
{
    struct actor actor = {ACTS(PROCEED, ERROR)};
    struct weir_worker_info info;
    struct ward_fixture ward_fixture;
    ward_fixture_open(&ward_fixture);
    struct weir_worker *worker =
        ward_fixture_spawn(&ward_fixture, "survivor", actor_act, &actor);
    weir_sim_run_until(ward_fixture.sim, MS(1));

    ward_fixture_close(&ward_fixture);

    check_str(weir_worker_name(worker), "survivor");
    weir_worker_read(worker, &info);
    check_int(info.state, WEIR_WORKER_ENDED);
    check_int(info.executions, 2);
    check_int(info.failures, 1);
    weir_worker_cancel(worker); /* too late, and harmless */
    weir_worker_release(worker);
}

WEIR_TEST(ward, keeps_a_worker_whose_handle_was_released)
{
    struct actor actor = {ACTS(SLEEP(MS(10)))};
    struct ward_fixture ward_fixture;
    ward_fixture_open(&ward_fixture);

    weir_worker_release(ward_fixture_spawn(&ward_fixture, "actor", actor_act, &actor));
    weir_worker_release(NULL);
    weir_sim_run_until(ward_fixture.sim, MS(25));

    check_int(actor.calls, 3);
    check_int(weir_ward_count(ward_fixture.ward), 1);
    ward_fixture_close(&ward_fixture);
}

/* ---- reading ----------------------------------------------------------------------- */

WEIR_TEST(ward, shows_its_workers_in_the_order_they_were_spawned)
{
    struct actor actors[3] = {{ACTS(IDLE)}, {ACTS(SLEEP(MS(10)))}, {ACTS(IDLE)}};
    struct weir_worker_info infos[4];
    struct ward_fixture ward_fixture;
    ward_fixture_open(&ward_fixture);
    ward_fixture_add_worker(&ward_fixture, "first", &actors[0]);
    struct weir_worker *second =
        ward_fixture_spawn(&ward_fixture, "second", actor_act, &actors[1]);
    ward_fixture_add_worker(&ward_fixture, "third", &actors[2]);
    weir_sim_run_until(ward_fixture.sim, MS(1));

    check_int(weir_ward_read(ward_fixture.ward, infos, 4), 3);
    check_str(infos[0].name, "first");
    check_str(infos[1].name, "second");
    check_str(infos[2].name, "third");
    check_int(infos[0].state, WEIR_WORKER_IDLING);
    check_int(infos[1].state, WEIR_WORKER_SLEEPING);
    check_int(infos[1].due_ns, MS(10));

    weir_worker_cancel(second);
    weir_sim_run_until(ward_fixture.sim, MS(2));
    check_int(weir_ward_read(ward_fixture.ward, infos, 4),
              2); /* one that ended is gone */
    check_str(infos[1].name, "third");
    weir_worker_release(second);
    ward_fixture_close(&ward_fixture);
}

WEIR_TEST(ward, shows_no_more_workers_than_there_is_room_for)
{
    struct actor actors[3] = {{ACTS(IDLE)}, {ACTS(IDLE)}, {ACTS(IDLE)}};
    struct weir_worker_info infos[3];
    struct ward_fixture ward_fixture;
    ward_fixture_open(&ward_fixture);
    ward_fixture_add_worker(&ward_fixture, "first", &actors[0]);
    ward_fixture_add_worker(&ward_fixture, "second", &actors[1]);
    ward_fixture_add_worker(&ward_fixture, "third", &actors[2]);
    memset(infos, 'x', sizeof infos);

    check_int(weir_ward_read(ward_fixture.ward, infos, 2), 3);
    check_int(weir_ward_read(ward_fixture.ward, NULL, 0), 3);

    check_str(infos[1].name, "second");
    check(infos[2].name[0] == 'x');
    ward_fixture_close(&ward_fixture);
}

/* ---- life cycle -------------------------------------------------------------------- */

WEIR_TEST(ward, that_is_null_may_be_destroyed)
{
    weir_ward_destroy(NULL);
}

static enum weir_status live_and_die(const struct weir_heap *heap)
{
    struct actor actor = {ACTS(PROCEED, ERROR, PANIC, IDLE), .name = "mortal"};
    struct weir_sim_options options = {.heap = heap, .seed = 1};
    struct weir_worker_options worker = script_options(&actor);
    struct weir_notifier *bell = NULL;
    struct weir_gate *gate = NULL;
    struct weir_ward *ward = NULL;
    struct weir_worker *handle = NULL;
    struct weir_sim *sim;
    enum weir_status status = weir_sim_create(&options, &sim, NULL);

    if (status == WEIR_OK)
        status = weir_ward_create(weir_sim_executor(sim),
                                  &(struct weir_ward_options){.name = "w"}, &ward, NULL);
    if (status == WEIR_OK)
        status = weir_notifier_create(weir_sim_executor(sim), &bell);
    if (status == WEIR_OK)
        status = weir_gate_create(weir_sim_executor(sim), 1, &gate, NULL);
    if (status == WEIR_OK) {
        worker.notifiers = &bell;
        worker.notifier_count = 1;
        worker.shared = gate;
        worker.on_panic = WEIR_ON_PANIC_RETRY;
        status = weir_ward_spawn(ward, &worker, &handle, NULL);
    }
    if (status == WEIR_OK)
        weir_notifier_notify_one(bell);
    for (int i = 1; status == WEIR_OK && i <= 4; i++) {
        weir_sim_run_until(sim, MS(i));
        weir_notifier_notify_one(bell);
    }
    weir_worker_release(handle);
    weir_gate_destroy(gate);
    weir_notifier_destroy(bell);
    weir_ward_destroy(ward);
    weir_sim_destroy(sim);
    return status;
}

WEIR_TEST(ward, survives_any_failing_allocation)
{
    check_alloc_failures(live_and_die);
}
