/*
 * test_worker.c - the loop of one worker: the "Worker loop" table of the specification,
 * row by row, and what a worker shows of itself.
 *
 * In virtual time, so counts and times are exact; where the table gives a bound, the
 * exact time is checked, which is inside it. Errors follow in test_worker_errors.c,
 * listeners in test_worker_listeners.c.
 */
#include "unit/ward/worker_fixture.h"
#include "ward/executor.h"

static struct weir_pace default_pace(void)
{
    struct weir_worker_options defaults;

    weir_worker_options_init(&defaults);
    return defaults.pace;
}

/* ---- building one ------------------------------------------------------------------ */

WEIR_TEST(worker, holds_as_many_notifiers_as_it_was_given)
{
    struct actor actor = {ACTS(IDLE)};
    struct worker_fixture worker_fixture;
    worker_fixture_open(&worker_fixture, IN_SIMULATION, &actor);
    struct weir_notifier *three[] = {worker_fixture.bell,
                                     script_notifier(&worker_fixture.script),
                                     script_notifier(&worker_fixture.script)};
    static const size_t COUNTS[] = {0, 1, 3};
    worker_fixture.options.notifiers = three;

    for (size_t i = 0; i < 3; i++) {
        worker_fixture.options.notifier_count = COUNTS[i];
        worker_fixture_spawn(&worker_fixture);

        check_int(worker_fixture_read(&worker_fixture).notifier_count, COUNTS[i]);
        weir_worker_release(worker_fixture.worker);
    }

    worker_fixture.worker = NULL;
    worker_fixture_close(&worker_fixture);
}

/* Without a timer and without a signal nothing can ever happen again. */
WEIR_TEST(worker, with_pacing_only_has_no_hidden_poker)
{
    struct actor actor = {ACTS(IDLE)};
    struct worker_fixture worker_fixture;
    worker_fixture_open(&worker_fixture, IN_SIMULATION, &actor);
    worker_fixture.options.pace = default_pace();
    worker_fixture.options.notifier_count = 0;
    worker_fixture_spawn(&worker_fixture);

    check(weir_sim_run_until_quiet(worker_fixture.script.sim, WEIR_FOREVER));

    check_int(weir_ward_count(worker_fixture.script.ward), 1);
    check_int(worker_fixture_read(&worker_fixture).notifier_count, 0);
    check_int(worker_fixture_read(&worker_fixture).state, WEIR_WORKER_IDLING);
    check(worker_fixture.script.executor->timers.earliest == NULL);
    check_int(script_now(&worker_fixture.script), 0);
    worker_fixture_close(&worker_fixture);
}

WEIR_TEST(worker, with_pacing_and_a_notifier_listens_to_nothing_else)
{
    struct actor actor = {ACTS(IDLE)};
    struct worker_fixture worker_fixture;
    worker_fixture_open(&worker_fixture, IN_SIMULATION, &actor);
    worker_fixture.options.pace = default_pace();
    worker_fixture_spawn(&worker_fixture);

    check(weir_sim_run_until_quiet(worker_fixture.script.sim, WEIR_FOREVER));

    check_int(weir_ward_count(worker_fixture.script.ward), 1);
    check_int(worker_fixture_read(&worker_fixture).notifier_count, 1);
    check_int(actor.calls, 1); /* by the permit that was stored */
    check(worker_fixture.script.executor->timers.earliest == NULL);
    check_int(script_now(&worker_fixture.script), 0);
    worker_fixture_close(&worker_fixture);
}

WEIR_TEST(worker, is_built_with_a_bulkhead)
{
    struct actor actor = {ACTS(IDLE)};
    struct worker_fixture worker_fixture;
    worker_fixture_open(&worker_fixture, IN_SIMULATION, &actor);
    worker_fixture.options.shared = script_gate(&worker_fixture.script, 2);
    worker_fixture.options.guaranteed = script_gate(&worker_fixture.script, 1);
    check_status(weir_backoff_init(&worker_fixture.options.backoff, WEIR_SECONDS(1),
                                   WEIR_SECONDS(60), 2.0, NULL),
                 WEIR_OK);

    worker_fixture_spawn(&worker_fixture);

    check_int(weir_ward_count(worker_fixture.script.ward), 1);
    worker_fixture_close(&worker_fixture);
}

/* ---- directives -------------------------------------------------------------------- */

WEIR_TEST(worker, runs_on_after_each_proceed)
{
    struct actor actor = {ACTS(PROCEED, PROCEED, PROCEED, SLEEP(LONG))};
    struct worker_fixture worker_fixture;
    worker_fixture_open(&worker_fixture, IN_SIMULATION, &actor);

    worker_fixture_play(&worker_fixture, CUES(CANCEL_AT(worker_fixture, MS(100))));

    check_int(actor.calls, 4);
    check_int(actor.begun_ns[3], 0);
    worker_fixture_close(&worker_fixture);
}

WEIR_TEST(worker, sleeps_as_long_as_it_said)
{
    struct actor actor = {ACTS(SLEEP(MS(100)), SLEEP(LONG))};
    struct worker_fixture worker_fixture;
    worker_fixture_open(&worker_fixture, IN_SIMULATION, &actor);

    worker_fixture_play(&worker_fixture, CUES(CANCEL_AT(worker_fixture, MS(300))));

    check_int(actor.calls, 2);
    check_int(actor.begun_ns[1], MS(100));
    check_int(worker_fixture.script.ended_ns, MS(300));
    worker_fixture_close(&worker_fixture);
}

WEIR_TEST(worker, runs_again_at_once_after_a_sleep_of_0)
{
    struct actor actor = {ACTS(SLEEP(0), SLEEP(LONG))};
    struct worker_fixture worker_fixture;
    worker_fixture_open(&worker_fixture, IN_SIMULATION, &actor);

    worker_fixture_play(&worker_fixture, CUES(CANCEL_AT(worker_fixture, MS(300))));

    check_int(actor.calls, 2);
    check_int(actor.begun_ns[1], 0);
    worker_fixture_close(&worker_fixture);
}

/* The wait after idle is never paced. */
WEIR_TEST(worker, that_is_idle_wakes_when_notified)
{
    struct actor actor = {ACTS(IDLE)};
    struct worker_fixture worker_fixture;
    worker_fixture_open(&worker_fixture, IN_SIMULATION, &actor);
    worker_fixture.options.pace = default_pace();

    worker_fixture_play(&worker_fixture, CUES({MS(50), cue_notify, worker_fixture.bell},
                                              CANCEL_AT(worker_fixture, MS(500))));

    check_int(actor.calls, 2);
    check_int(actor.begun_ns[1], MS(50));
    check_int(worker_fixture.script.ended_ns, MS(500));
    worker_fixture_close(&worker_fixture);
}

/* Two forms of one row: with zero pacing, and with the default one. */
static void idle_without_notifiers(struct weir_pace pace)
{
    struct actor actor = {ACTS(PROCEED)};
    struct worker_fixture worker_fixture;
    worker_fixture_open(&worker_fixture, IN_SIMULATION, &actor);
    worker_fixture.options.pace = pace;
    worker_fixture.options.notifier_count = 0;

    worker_fixture_play(&worker_fixture, CUES(CANCEL_AT(worker_fixture, MS(50))));

    check_int(actor.calls, 0);
    check_int(worker_fixture.script.ended_ns, MS(50));
    worker_fixture_close(&worker_fixture);
}

WEIR_TEST(worker, without_notifiers_idles_until_cancelled)
{
    idle_without_notifiers(weir_pace_none());
}

WEIR_TEST(worker, without_notifiers_is_not_woken_by_its_pace)
{
    idle_without_notifiers(default_pace());
}

WEIR_TEST(worker, that_sleeps_wakes_early_when_notified)
{
    struct actor actor = {ACTS(SLEEP(MS(100)))};
    struct worker_fixture worker_fixture;
    worker_fixture_open(&worker_fixture, IN_SIMULATION, &actor);

    worker_fixture_play(&worker_fixture, CUES({MS(20), cue_notify, worker_fixture.bell},
                                              CANCEL_AT(worker_fixture, MS(50))));

    check_int(actor.calls, 2);
    check_int(actor.begun_ns[1], MS(20));
    check_int(worker_fixture.script.ended_ns, MS(50));
    worker_fixture_close(&worker_fixture);
}

WEIR_TEST(worker, is_woken_by_its_only_notifier)
{
    struct actor actor = {ACTS(IDLE)};
    struct worker_fixture worker_fixture;
    worker_fixture_open(&worker_fixture, IN_SIMULATION, &actor);

    worker_fixture_play(&worker_fixture, CUES({MS(50), cue_notify, worker_fixture.bell},
                                              CANCEL_AT(worker_fixture, MS(100))));

    check_int(actor.calls, 2);
    check_int(actor.begun_ns[1], MS(50));
    worker_fixture_close(&worker_fixture);
}

WEIR_TEST(worker, is_woken_by_the_second_of_three_notifiers)
{
    struct actor actor = {ACTS(IDLE)};
    struct worker_fixture worker_fixture;
    worker_fixture_open(&worker_fixture, IN_SIMULATION, &actor);
    struct weir_notifier *three[] = {worker_fixture.bell,
                                     script_notifier(&worker_fixture.script),
                                     script_notifier(&worker_fixture.script)};
    worker_fixture.options.notifiers = three;
    worker_fixture.options.notifier_count = 3;

    worker_fixture_play(&worker_fixture, CUES({MS(50), cue_notify, three[1]},
                                              CANCEL_AT(worker_fixture, MS(500))));

    check_int(actor.calls, 2);
    check_int(actor.begun_ns[1], MS(50));
    check_int(worker_fixture.script.ended_ns, MS(500));
    worker_fixture_close(&worker_fixture);
}

/* Two forms of one row: with zero pacing, and with the default one. */
static void permit_before_start(struct weir_pace pace)
{
    struct actor actor = {ACTS(IDLE)};
    struct worker_fixture worker_fixture;
    worker_fixture_open(&worker_fixture, IN_SIMULATION, &actor);
    worker_fixture.options.pace = pace;

    worker_fixture_play(&worker_fixture, CUES(CANCEL_AT(worker_fixture, MS(50))));

    check_int(actor.calls, 1);
    check_int(actor.begun_ns[0], 0);
    check(!weir_notifier_stored(worker_fixture.bell));
    worker_fixture_close(&worker_fixture);
}

WEIR_TEST(worker, takes_a_permit_stored_before_its_start_at_once)
{
    permit_before_start(weir_pace_none());
}

WEIR_TEST(worker, takes_a_permit_stored_before_its_start_without_pacing)
{
    permit_before_start(default_pace());
}

WEIR_TEST(worker, runs_once_for_five_signals_before_its_start)
{
    struct actor actor = {ACTS(IDLE)};
    struct worker_fixture worker_fixture;
    worker_fixture_open(&worker_fixture, IN_SIMULATION, &actor);
    for (int i = 1; i < 5; i++) /* the bell has rung once */
        weir_notifier_notify_one(worker_fixture.bell);

    worker_fixture_play(&worker_fixture, CUES(CANCEL_AT(worker_fixture, MS(50))));

    check_int(actor.calls, 1);
    worker_fixture_close(&worker_fixture);
}

/* ---- cancelling -------------------------------------------------------------------- */

WEIR_TEST(worker, cancelled_in_its_first_idle_never_runs)
{
    struct actor actor = {ACTS(IDLE)};
    struct worker_fixture worker_fixture;
    worker_fixture_open(&worker_fixture, IN_SIMULATION, &actor);
    check(weir_notifier_stored(worker_fixture.bell));
    worker_fixture.options.notifiers =
        &(struct weir_notifier *){script_notifier(&worker_fixture.script)};

    worker_fixture_play(&worker_fixture, CUES(CANCEL_AT(worker_fixture, MS(10))));

    check_int(actor.calls, 0);
    check_int(worker_fixture.script.ended_ns, MS(10));
    worker_fixture_close(&worker_fixture);
}

WEIR_TEST(worker, cancelled_in_its_sleep_ends_at_once)
{
    struct actor actor = {ACTS(SLEEP(WEIR_SECONDS(10)))};
    struct worker_fixture worker_fixture;
    worker_fixture_open(&worker_fixture, IN_SIMULATION, &actor);

    worker_fixture_play(&worker_fixture, CUES(CANCEL_AT(worker_fixture, MS(10))));

    check_int(actor.calls, 1);
    check_int(worker_fixture.script.ended_ns, MS(10));
    worker_fixture_close(&worker_fixture);
}

/* In real time. That play() returns is the claim: its stop waits for the actor. */
WEIR_TEST(worker, cancelled_between_two_proceeds_ends)
{
    struct actor actor = {ACTS(PROCEED)};
    struct worker_fixture worker_fixture;
    worker_fixture_open(&worker_fixture, ON_THREADS, &actor);

    worker_fixture_play(&worker_fixture, CUES(CANCEL_AT(worker_fixture, MS(50))));

    check(actor.calls > 0);
    check(worker_fixture.script.ended_ns >= MS(50));
    check_int(worker_fixture_read(&worker_fixture).state, WEIR_WORKER_ENDED);
    worker_fixture_close(&worker_fixture);
}

/* Running actions are asked, not torn down: it ends when the work of 100 ms is done. */
WEIR_TEST(worker, shows_the_cancel_to_its_running_action)
{
    struct actor actor = {ACTS(ACT(ACT_PROCEED, .work_ns = MS(100)))};
    struct worker_fixture worker_fixture;
    worker_fixture_open(&worker_fixture, IN_SIMULATION, &actor);

    worker_fixture_play(&worker_fixture, CUES(CANCEL_AT(worker_fixture, MS(50))));

    check(actor.saw_cancel);
    check_int(actor.calls, 1);
    check_int(worker_fixture.script.ended_ns, MS(100));
    worker_fixture_close(&worker_fixture);
}

WEIR_TEST(worker, cancelled_before_its_start_leaves_the_permit_alone)
{
    struct actor actor = {ACTS(IDLE)};
    struct worker_fixture worker_fixture;
    worker_fixture_open(&worker_fixture, IN_SIMULATION, &actor);
    worker_fixture_spawn(&worker_fixture);
    weir_ward_cancel(worker_fixture.script.ward);

    worker_fixture_play(&worker_fixture, CUES(CANCEL_AT(worker_fixture, MS(10))));

    check_int(actor.calls, 0);
    check(weir_notifier_stored(worker_fixture.bell));
    worker_fixture_close(&worker_fixture);
}

/* The permit of the bell is spent, but nothing runs after the cancel. */
WEIR_TEST(worker, cancelled_while_it_waits_for_a_thread_does_not_run)
{
    struct actor actor = {ACTS(IDLE, PROCEED)};
    struct worker_fixture worker_fixture;
    worker_fixture_open(&worker_fixture, IN_SIMULATION, &actor);
    worker_fixture_spawn(&worker_fixture);
    weir_sim_run_until(worker_fixture.script.sim, MS(1));
    weir_notifier_notify_one(worker_fixture.bell);
    check_int(worker_fixture_read(&worker_fixture).state, WEIR_WORKER_READY);

    weir_worker_cancel(worker_fixture.worker);
    weir_sim_run_until(worker_fixture.script.sim, MS(2));

    check_int(actor.calls, 1);
    check_int(worker_fixture_read(&worker_fixture).state, WEIR_WORKER_ENDED);
    worker_fixture_close(&worker_fixture);
}

WEIR_TEST(worker, cancelled_while_it_paces_ends_at_once)
{
    struct actor actor = {ACTS(PROCEED)};
    struct worker_fixture worker_fixture;
    worker_fixture_open(&worker_fixture, IN_SIMULATION, &actor);
    worker_fixture.options.pace.active_ns = WEIR_SECONDS(10);

    worker_fixture_play(&worker_fixture, CUES(CANCEL_AT(worker_fixture, MS(10))));

    check_int(actor.calls, 1);
    check_int(worker_fixture.script.ended_ns, MS(10));
    worker_fixture_close(&worker_fixture);
}

/* ---- pacing ------------------------------------------------------------------------ */

WEIR_TEST(worker, ramps_its_pace_down)
{
    struct actor actor = {ACTS(PROCEED, PROCEED, PROCEED, SLEEP(LONG))};
    struct worker_fixture worker_fixture;
    worker_fixture_open(&worker_fixture, IN_SIMULATION, &actor);
    worker_fixture.options.pace = (struct weir_pace){MS(10), MS(30), MS(10)};

    worker_fixture_play(&worker_fixture, CUES(CANCEL_AT(worker_fixture, MS(200))));

    check_int(actor.calls, 4);
    check_int(actor.begun_ns[1], MS(30));
    check_int(actor.begun_ns[2], MS(30 + 20));
    check_int(actor.begun_ns[3], MS(30 + 20 + 10));
    worker_fixture_close(&worker_fixture);
}

WEIR_TEST(worker, under_zero_pacing_does_not_wait_between_proceeds)
{
    struct actor actor = {ACTS(PROCEED, PROCEED, SLEEP(LONG))};
    struct worker_fixture worker_fixture;
    worker_fixture_open(&worker_fixture, IN_SIMULATION, &actor);

    worker_fixture_play(&worker_fixture, CUES(CANCEL_AT(worker_fixture, MS(100))));

    check_int(actor.calls, 3);
    check_int(actor.begun_ns[2], 0);
    check_int(worker_fixture.script.ended_ns, MS(100));
    worker_fixture_close(&worker_fixture);
}

/* The pace counts from the end of an execution: it is a pause, not a period. */
WEIR_TEST(worker, paces_from_the_end_of_the_execution)
{
    struct actor actor = {
        ACTS(ACT(ACT_PROCEED, .work_ns = MS(70)), PROCEED, SLEEP(LONG))};
    struct worker_fixture worker_fixture;
    worker_fixture_open(&worker_fixture, IN_SIMULATION, &actor);
    worker_fixture.options.pace = (struct weir_pace){MS(10), MS(30), MS(10)};

    worker_fixture_play(&worker_fixture, CUES(CANCEL_AT(worker_fixture, MS(500))));

    check_int(actor.begun_ns[1], MS(70 + 30));
    check_int(actor.begun_ns[2], MS(70 + 30 + 20));
    worker_fixture_close(&worker_fixture);
}

/* Proceed 30, proceed 20, then what `act` does takes no time; proceed is 30 again. */
static void pace_after(struct act act)
{
    struct actor actor = {ACTS(PROCEED, PROCEED, act, PROCEED, SLEEP(LONG))};
    struct worker_fixture worker_fixture;
    worker_fixture_open(&worker_fixture, IN_SIMULATION, &actor);
    worker_fixture.options.pace = (struct weir_pace){MS(10), MS(30), MS(10)};

    worker_fixture_play(&worker_fixture, CUES({MS(40), cue_notify, worker_fixture.bell},
                                              CANCEL_AT(worker_fixture, MS(500))));

    check_int(actor.calls, 5);
    check_int(actor.begun_ns[3], MS(30 + 20));
    check_int(actor.begun_ns[4], MS(30 + 20 + 30));
    worker_fixture_close(&worker_fixture);
}

WEIR_TEST(worker, paces_anew_after_idle)
{
    pace_after(IDLE);
}

WEIR_TEST(worker, paces_anew_after_a_sleep)
{
    pace_after(SLEEP(LONG));
}

WEIR_TEST(worker, paces_anew_after_an_error)
{
    pace_after(ERROR);
}

/* The signal is not lost: it is stored, and found by the next wait that listens. */
WEIR_TEST(worker, does_not_listen_while_it_paces)
{
    struct actor actor = {ACTS(PROCEED, IDLE, IDLE)};
    struct worker_fixture worker_fixture;
    worker_fixture_open(&worker_fixture, IN_SIMULATION, &actor);
    worker_fixture.options.pace.active_ns = MS(100);

    worker_fixture_play(&worker_fixture, CUES({MS(20), cue_notify, worker_fixture.bell},
                                              CANCEL_AT(worker_fixture, MS(500))));

    check_int(actor.calls, 3);
    check_int(actor.begun_ns[1], MS(100));
    check_int(actor.begun_ns[2], MS(100));
    worker_fixture_close(&worker_fixture);
}

/* ---- permits ----------------------------------------------------------------------- */

WEIR_TEST(worker, holds_a_permit_while_it_runs)
{
    struct actor actor = {ACTS(WORK(MS(10)))};
    struct worker_fixture worker_fixture;
    worker_fixture_open(&worker_fixture, IN_SIMULATION, &actor);
    worker_fixture.options.shared = script_gate(&worker_fixture.script, 1);
    struct gate_look during = {.gate = worker_fixture.options.shared};
    struct gate_look after = {.gate = worker_fixture.options.shared};

    worker_fixture_play(&worker_fixture,
                        CUES({MS(5), cue_look, &during}, {MS(15), cue_look, &after},
                             CANCEL_AT(worker_fixture, MS(50))));

    check_int(actor.calls, 1);
    check_int(during.info.inside, 1);
    check_int(after.info.inside, 0);
    check_int(after.info.admitted_total, 1);
    worker_fixture_close(&worker_fixture);
}

WEIR_TEST(worker, waits_until_a_permit_is_free)
{
    struct actor actor = {ACTS(IDLE)};
    struct worker_fixture worker_fixture;
    worker_fixture_open(&worker_fixture, IN_SIMULATION, &actor);
    worker_fixture.options.shared = script_gate(&worker_fixture.script, 1);
    check(weir_gate_try_enter(worker_fixture.options.shared));

    worker_fixture_play(&worker_fixture,
                        CUES({MS(50), cue_leave, worker_fixture.options.shared},
                             CANCEL_AT(worker_fixture, MS(100))));

    check_int(actor.calls, 1);
    check_int(actor.begun_ns[0], MS(50));
    worker_fixture_close(&worker_fixture);
}

WEIR_TEST(worker, cancelled_while_it_waits_for_a_permit_never_runs)
{
    struct actor actor = {ACTS(IDLE)};
    struct worker_fixture worker_fixture;
    worker_fixture_open(&worker_fixture, IN_SIMULATION, &actor);
    worker_fixture.options.shared = script_gate(&worker_fixture.script, 0);

    worker_fixture_play(&worker_fixture, CUES(CANCEL_AT(worker_fixture, MS(10))));

    check_int(actor.calls, 0);
    check_int(worker_fixture.script.ended_ns, MS(10));
    check_int(gate_now(worker_fixture.options.shared).waiting, 0);
    worker_fixture_close(&worker_fixture);
}

/* ---- what it shows ----------------------------------------------------------------- */

/* Each wait by its state and the time it is due, and the counts on the way. */
WEIR_TEST(worker, shows_its_state_and_when_it_is_due)
{
    struct actor actor = {ACTS(PROCEED, SLEEP(MS(50)), ERROR, WORK(MS(100)), IDLE),
                          .name = "shown"};
    struct worker_fixture worker_fixture;
    struct weir_worker_info info;
    worker_fixture_open(&worker_fixture, IN_SIMULATION, &actor);
    struct weir_sim *sim = worker_fixture.script.sim;
    worker_fixture.options.pace.active_ns = MS(30);
    worker_fixture.options.backoff = (struct weir_backoff){MS(40), MS(40), 1.0, 0.0};
    worker_fixture.options.shared = script_gate(&worker_fixture.script, 1);

    worker_fixture_spawn(&worker_fixture);
    info = worker_fixture_read(&worker_fixture);
    check_str(info.name, "shown");
    check_int(info.state, WEIR_WORKER_STARTING);
    check_int(info.due_ns, 0);

    weir_sim_run_until(sim, MS(1)); /* proceed at 0 */
    info = worker_fixture_read(&worker_fixture);
    check_int(info.state, WEIR_WORKER_PACING);
    check_int(info.due_ns, MS(30));
    check_int(info.executions, 1);

    weir_sim_run_until(sim, MS(31)); /* sleep at 30 */
    info = worker_fixture_read(&worker_fixture);
    check_int(info.state, WEIR_WORKER_SLEEPING);
    check_int(info.due_ns, MS(80));

    weir_sim_run_until(sim, MS(81)); /* error at 80 */
    info = worker_fixture_read(&worker_fixture);
    check_int(info.state, WEIR_WORKER_BACKING_OFF);
    check_int(info.due_ns, MS(120));
    check_int(info.executions, 3);
    check_int(info.failures, 1);
    check_int(info.failures_in_row, 1);

    weir_sim_run_until(sim, MS(121));
    info = worker_fixture_read(&worker_fixture);
    check_int(info.state, WEIR_WORKER_IDLING);
    check_int(info.due_ns, 0);

    check(weir_gate_try_enter(worker_fixture.options.shared));
    weir_notifier_notify_one(worker_fixture.bell);
    check_int(worker_fixture_read(&worker_fixture).state, WEIR_WORKER_QUEUED);
    weir_gate_leave(worker_fixture.options.shared);
    check_int(worker_fixture_read(&worker_fixture).state, WEIR_WORKER_READY);

    weir_sim_run_until(sim, MS(122)); /* works from 121 to 221 */
    check_int(worker_fixture_read(&worker_fixture).state, WEIR_WORKER_RUNNING);
    check(!worker_fixture_read(&worker_fixture).cancelled);
    weir_worker_cancel(worker_fixture.worker);
    check(worker_fixture_read(&worker_fixture).cancelled);
    check_int(worker_fixture_read(&worker_fixture).state, WEIR_WORKER_RUNNING);

    weir_sim_run_until(sim, MS(222));
    info = worker_fixture_read(&worker_fixture);
    check_int(info.state, WEIR_WORKER_ENDED);
    check_int(info.executions, 4);
    check_int(info.failures, 1);
    check_int(info.failures_in_row, 0);
    worker_fixture_close(&worker_fixture);
}

WEIR_TEST(worker, has_a_name_for_each_state)
{
    check_str(weir_worker_state_name(WEIR_WORKER_STARTING), "starting");
    check_str(weir_worker_state_name(WEIR_WORKER_PACING), "pacing");
    check_str(weir_worker_state_name(WEIR_WORKER_BACKING_OFF), "backing off");
    check_str(weir_worker_state_name(WEIR_WORKER_IDLING), "idling");
    check_str(weir_worker_state_name(WEIR_WORKER_SLEEPING), "sleeping");
    check_str(weir_worker_state_name(WEIR_WORKER_QUEUED), "queued");
    check_str(weir_worker_state_name(WEIR_WORKER_READY), "ready");
    check_str(weir_worker_state_name(WEIR_WORKER_RUNNING), "running");
    check_str(weir_worker_state_name(WEIR_WORKER_ENDED), "ended");
    check_str(weir_worker_state_name((enum weir_worker_state)99), "unknown");
}

/* ---- edges ------------------------------------------------------------------------- */

/* Below 0 counts as 0, and a sleep without end still listens. */
WEIR_TEST(worker, bears_any_duration_of_sleep)
{
    struct actor actor = {ACTS(SLEEP(-1), SLEEP(INT64_MIN), SLEEP(INT64_MAX), IDLE)};
    struct worker_fixture worker_fixture;
    worker_fixture_open(&worker_fixture, IN_SIMULATION, &actor);
    worker_fixture_spawn(&worker_fixture);

    weir_sim_run_until(worker_fixture.script.sim, WEIR_DURATION_MAX);
    check_int(actor.calls, 3);
    check_int(actor.begun_ns[2], 0);
    weir_notifier_notify_one(worker_fixture.bell);
    weir_sim_run_until(worker_fixture.script.sim, WEIR_DURATION_MAX);

    check_int(actor.calls, 4);
    worker_fixture_close(&worker_fixture);
}

/* The longest pace there may be, from the latest time it may be counted. */
WEIR_TEST(worker, bears_the_longest_pace)
{
    struct actor actor = {ACTS(PROCEED, PROCEED, SLEEP(LONG))};
    struct worker_fixture worker_fixture;
    worker_fixture_open(&worker_fixture, IN_SIMULATION, &actor);
    worker_fixture.options.pace =
        (struct weir_pace){WEIR_DURATION_MAX, WEIR_DURATION_MAX, WEIR_DURATION_MAX};

    worker_fixture_play(&worker_fixture,
                        CUES(CANCEL_AT(worker_fixture, 2 * WEIR_DURATION_MAX + MS(1))));

    check_int(actor.calls, 3);
    check_int(actor.begun_ns[2], 2 * WEIR_DURATION_MAX);
    worker_fixture_close(&worker_fixture);
}

/* The same notifier twice is one notifier: the worker is woken once per signal. */
WEIR_TEST(worker, may_list_a_notifier_twice)
{
    struct actor actor = {ACTS(IDLE)};
    struct worker_fixture worker_fixture;
    worker_fixture_open(&worker_fixture, IN_SIMULATION, &actor);
    struct weir_notifier *twice[] = {worker_fixture.bell, worker_fixture.bell};
    worker_fixture.options.notifiers = twice;
    worker_fixture.options.notifier_count = 2;

    worker_fixture_play(&worker_fixture,
                        CUES({MS(10), cue_notify, worker_fixture.bell},
                             {MS(20), cue_notify_all, worker_fixture.bell},
                             CANCEL_AT(worker_fixture, MS(30))));

    check_int(actor.calls, 3);
    check(!weir_notifier_stored(worker_fixture.bell));
    check_int(weir_notifier_waiting(worker_fixture.bell), 0);
    worker_fixture_close(&worker_fixture);
}
