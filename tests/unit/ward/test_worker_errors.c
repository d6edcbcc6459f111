/*
 * test_worker_errors.c - what a worker does after an error: the error rows of the "Worker
 * loop" table, which run with on_error = wait_for_signal as the reference does, and the
 * rules of on_error = retry, which are ours.
 */
#include <sched.h>

#include "unit/ward/worker_fixture.h"

static struct weir_backoff doubling(int64_t initial_ns)
{
    return (struct weir_backoff){initial_ns, WEIR_HOURS(1), 2.0, 0.0};
}

/* ---- the rows of the table --------------------------------------------------------- */

WEIR_TEST(worker, goes_on_as_usual_after_an_error)
{
    struct actor actor = {ACTS(ERROR, PROCEED, SLEEP(LONG))};
    struct worker_fixture worker_fixture;
    worker_fixture_open(&worker_fixture, IN_SIMULATION, &actor);

    worker_fixture_play(&worker_fixture, CUES({MS(10), cue_notify, worker_fixture.bell},
                                              CANCEL_AT(worker_fixture, MS(100))));

    check_int(actor.calls, 3);
    check_int(actor.begun_ns[1], MS(10));
    worker_fixture_close(&worker_fixture);
}

WEIR_TEST(worker, survives_an_error_on_its_first_call)
{
    struct actor actor = {ACTS(ERROR, SLEEP(LONG))};
    struct worker_fixture worker_fixture;
    worker_fixture_open(&worker_fixture, IN_SIMULATION, &actor);

    worker_fixture_play(&worker_fixture, CUES({MS(10), cue_notify, worker_fixture.bell},
                                              CANCEL_AT(worker_fixture, MS(100))));

    check_int(actor.calls, 2);
    check_int(worker_fixture_read(&worker_fixture).failures, 1);
    worker_fixture_close(&worker_fixture);
}

WEIR_TEST(worker, holds_back_after_an_error)
{
    struct actor actor = {ACTS(ERROR, SLEEP(LONG))};
    struct worker_fixture worker_fixture;
    worker_fixture_open(&worker_fixture, IN_SIMULATION, &actor);
    worker_fixture.options.backoff = doubling(MS(100));

    worker_fixture_play(&worker_fixture, CUES({MS(200), cue_notify, worker_fixture.bell},
                                              CANCEL_AT(worker_fixture, MS(300))));

    check_int(actor.calls, 2);
    check_int(actor.begun_ns[1], MS(200));
    worker_fixture_close(&worker_fixture);
}

/* Floors of 10, 20 and 40 ms; each signal comes when the floor is over. */
WEIR_TEST(worker, holds_back_longer_after_each_error_in_a_row)
{
    struct actor actor = {ACTS(ERROR, ERROR, ERROR, SLEEP(LONG))};
    struct worker_fixture worker_fixture;
    worker_fixture_open(&worker_fixture, IN_SIMULATION, &actor);
    worker_fixture.options.backoff = doubling(MS(10));

    worker_fixture_play(&worker_fixture, CUES({MS(20), cue_notify, worker_fixture.bell},
                                              {MS(70), cue_notify, worker_fixture.bell},
                                              {MS(170), cue_notify, worker_fixture.bell},
                                              CANCEL_AT(worker_fixture, MS(300))));

    check_int(actor.calls, 4);
    check_int(actor.begun_ns[1], MS(20));
    check_int(actor.begun_ns[2], MS(70));
    check_int(actor.begun_ns[3], MS(170));
    worker_fixture_close(&worker_fixture);
}

/* The third error is the first in its row: its floor ends at 180 + 50 ms, not 180 +
 * 200. */
WEIR_TEST(worker, begins_with_the_initial_backoff_again_after_a_success)
{
    struct actor actor = {ACTS(ERROR, ERROR, PROCEED, ERROR, SLEEP(LONG))};
    struct worker_fixture worker_fixture;
    worker_fixture_open(&worker_fixture, IN_SIMULATION, &actor);
    worker_fixture.options.backoff = doubling(MS(50));

    worker_fixture_play(&worker_fixture, CUES({MS(60), cue_notify, worker_fixture.bell},
                                              {MS(180), cue_notify, worker_fixture.bell},
                                              {MS(190), cue_notify, worker_fixture.bell},
                                              CANCEL_AT(worker_fixture, MS(500))));

    check_int(actor.calls, 5);
    check_int(actor.begun_ns[3], MS(180));
    check_int(actor.begun_ns[4], MS(230));
    worker_fixture_close(&worker_fixture);
}

/* The floor alone brings no retry: at 10 ms it is over, and nothing happens until 50. */
WEIR_TEST(worker, idles_after_an_error_when_told_to_wait_for_a_signal)
{
    struct actor actor = {ACTS(ERROR, SLEEP(LONG))};
    struct worker_fixture worker_fixture;
    worker_fixture_open(&worker_fixture, IN_SIMULATION, &actor);
    worker_fixture.options.backoff = doubling(MS(10));

    worker_fixture_play(&worker_fixture, CUES({MS(50), cue_notify, worker_fixture.bell},
                                              CANCEL_AT(worker_fixture, MS(500))));

    check_int(actor.calls, 2);
    check_int(actor.begun_ns[1], MS(50));
    check_int(worker_fixture.script.ended_ns, MS(500));
    worker_fixture_close(&worker_fixture);
}

WEIR_TEST(worker, that_begins_with_failures_holds_back_before_its_first_run)
{
    struct actor actor = {ACTS(IDLE)};
    struct worker_fixture worker_fixture;
    worker_fixture_open(&worker_fixture, IN_SIMULATION, &actor);
    worker_fixture.options.backoff = doubling(MS(200));
    worker_fixture.options.failures_initial = 1;
    worker_fixture.options.notifiers =
        &(struct weir_notifier *){script_notifier(&worker_fixture.script)};
    struct weir_notifier *bell = worker_fixture.options.notifiers[0];

    worker_fixture_play(&worker_fixture,
                        CUES({MS(250), cue_notify, bell}, {MS(300), cue_notify, bell},
                             CANCEL_AT(worker_fixture, MS(400))));

    check_int(actor.calls, 2);
    check_int(actor.begun_ns[0], MS(250));
    check_int(actor.begun_ns[1], MS(300));
    worker_fixture_close(&worker_fixture);
}

/* ---- backoff and signals ----------------------------------------------------------- */

/* The permit of the bell is there from the start, and the floor of 200 ms comes first. */
WEIR_TEST(worker, that_begins_with_failures_lets_a_stored_permit_wait)
{
    struct actor actor = {ACTS(IDLE)};
    struct worker_fixture worker_fixture;
    worker_fixture_open(&worker_fixture, IN_SIMULATION, &actor);
    worker_fixture.options.backoff = doubling(MS(50));
    worker_fixture.options.failures_initial = 3;
    worker_fixture_spawn(&worker_fixture);
    check_int(worker_fixture_read(&worker_fixture).failures_in_row, 3);
    check_int(worker_fixture_read(&worker_fixture).failures, 0);

    worker_fixture_play(&worker_fixture, CUES(CANCEL_AT(worker_fixture, MS(500))));

    check_int(actor.calls, 1);
    check_int(actor.begun_ns[0], MS(200));
    check_int(worker_fixture_read(&worker_fixture).failures_in_row, 0);
    worker_fixture_close(&worker_fixture);
}

/* Counts on from there: the next error is number 4, not number 1. */
WEIR_TEST(worker, that_begins_with_failures_escalates_from_there)
{
    struct actor actor = {ACTS(ERROR, SLEEP(LONG))};
    struct worker_fixture worker_fixture;
    worker_fixture_open(&worker_fixture, IN_SIMULATION, &actor);
    worker_fixture.options.on_error = WEIR_ON_ERROR_RETRY;
    worker_fixture.options.backoff = doubling(MS(50));
    worker_fixture.options.failures_initial = 3;
    worker_fixture.options.notifier_count = 0;

    worker_fixture_play(&worker_fixture,
                        CUES(CANCEL_AT(worker_fixture, WEIR_SECONDS(2))));

    check_int(actor.calls, 2);
    check_int(actor.begun_ns[0], MS(200)); /* by itself: as if it had just failed */
    check_int(actor.begun_ns[1], MS(200 + 400));
    worker_fixture_close(&worker_fixture);
}

/* However many they are: spawning does not count them one by one, and loses none. */
WEIR_TEST(worker, may_begin_with_any_number_of_failures)
{
    struct actor actor = {ACTS(ERROR)};
    struct worker_fixture worker_fixture;
    worker_fixture_open(&worker_fixture, IN_SIMULATION, &actor);
    worker_fixture.options.backoff =
        (struct weir_backoff){MS(50), WEIR_HOURS(1), 1.0, 0.5};
    worker_fixture.options.failures_initial = UINT32_MAX - 1;
    worker_fixture_spawn(&worker_fixture);

    check_int(worker_fixture_read(&worker_fixture).failures_in_row, UINT32_MAX - 1);
    weir_sim_run_until(worker_fixture.script.sim, WEIR_SECONDS(1));

    check_int(actor.calls, 1);
    check_int(worker_fixture_read(&worker_fixture).failures_in_row, UINT32_MAX);
    weir_notifier_notify_one(worker_fixture.bell);
    weir_sim_run_until(worker_fixture.script.sim, WEIR_SECONDS(2));
    check_int(actor.calls, 2);
    check_int(worker_fixture_read(&worker_fixture).failures_in_row, UINT32_MAX);
    worker_fixture_close(&worker_fixture);
}

/* Signals at 20, 40 and 60 ms during a floor of 100 ms: they wait for its end as one. */
static void signals_during_backoff(enum weir_on_error on_error)
{
    struct actor actor = {ACTS(ERROR, SLEEP(LONG))};
    struct worker_fixture worker_fixture;
    worker_fixture_open(&worker_fixture, IN_SIMULATION, &actor);
    worker_fixture.options.on_error = on_error;
    worker_fixture.options.backoff = doubling(MS(100));

    worker_fixture_play(&worker_fixture,
                        CUES({MS(20), cue_notify, worker_fixture.bell},
                             {MS(40), cue_notify, worker_fixture.bell},
                             {MS(60), cue_notify_all, worker_fixture.bell},
                             CANCEL_AT(worker_fixture, MS(500))));

    check(actor.calls >= 2);
    check_int(actor.begun_ns[1], MS(100));
    worker_fixture_close(&worker_fixture);
}

WEIR_TEST(worker, that_waits_for_a_signal_keeps_its_backoff_whatever_is_signalled)
{
    signals_during_backoff(WEIR_ON_ERROR_WAIT_FOR_SIGNAL);
}

WEIR_TEST(worker, that_retries_keeps_its_backoff_whatever_is_signalled)
{
    signals_during_backoff(WEIR_ON_ERROR_RETRY);
}

/* The floor counts from the start of the failed execution, so slow errors wait less
 * ... */
WEIR_TEST(worker, counts_its_backoff_from_the_start_of_the_execution)
{
    struct actor actor = {ACTS(ACT(ACT_ERROR, .work_ns = MS(70)), SLEEP(LONG))};
    struct worker_fixture worker_fixture;
    worker_fixture_open(&worker_fixture, IN_SIMULATION, &actor);
    worker_fixture.options.on_error = WEIR_ON_ERROR_RETRY;
    worker_fixture.options.backoff = doubling(MS(100));

    worker_fixture_play(&worker_fixture, CUES(CANCEL_AT(worker_fixture, MS(500))));

    check_int(actor.calls, 2);
    check_int(actor.begun_ns[1], MS(100));
    worker_fixture_close(&worker_fixture);
}

/* ... and errors slower than the floor do not wait at all. */
WEIR_TEST(worker, does_not_hold_back_after_an_execution_longer_than_its_backoff)
{
    struct actor actor = {ACTS(ACT(ACT_ERROR, .work_ns = MS(170)), SLEEP(LONG))};
    struct worker_fixture worker_fixture;
    worker_fixture_open(&worker_fixture, IN_SIMULATION, &actor);
    worker_fixture.options.on_error = WEIR_ON_ERROR_RETRY;
    worker_fixture.options.backoff = doubling(MS(100));

    worker_fixture_play(&worker_fixture, CUES(CANCEL_AT(worker_fixture, MS(500))));

    check_int(actor.calls, 2);
    check_int(actor.begun_ns[1], MS(170));
    worker_fixture_close(&worker_fixture);
}

WEIR_TEST(worker, cancelled_while_it_holds_back_ends_at_once)
{
    struct actor actor = {ACTS(ERROR)};
    struct worker_fixture worker_fixture;
    worker_fixture_open(&worker_fixture, IN_SIMULATION, &actor);
    worker_fixture.options.on_error = WEIR_ON_ERROR_RETRY;
    worker_fixture.options.backoff = doubling(WEIR_SECONDS(10));

    worker_fixture_play(&worker_fixture, CUES(CANCEL_AT(worker_fixture, MS(10))));

    check_int(actor.calls, 1);
    check_int(worker_fixture.script.ended_ns, MS(10));
    worker_fixture_close(&worker_fixture);
}

/* ---- on_error = retry -------------------------------------------------------------- */

WEIR_TEST(worker, retries_by_itself_by_default)
{
    struct weir_worker_options options;

    weir_worker_options_init(&options);

    check_int(options.on_error, WEIR_ON_ERROR_RETRY);
}

/* No signal after the first: 100, 200, 400 ms apart, and then it is well. */
WEIR_TEST(worker, retries_by_itself_when_its_backoff_has_passed)
{
    struct actor actor = {ACTS(ERROR, ERROR, ERROR, SLEEP(LONG))};
    struct worker_fixture worker_fixture;
    worker_fixture_open(&worker_fixture, IN_SIMULATION, &actor);
    worker_fixture.options.on_error = WEIR_ON_ERROR_RETRY;
    worker_fixture.options.backoff = doubling(MS(100));

    worker_fixture_play(&worker_fixture,
                        CUES(CANCEL_AT(worker_fixture, WEIR_SECONDS(2))));

    check_int(actor.calls, 4);
    check_int(actor.begun_ns[1], MS(100));
    check_int(actor.begun_ns[2], MS(100 + 200));
    check_int(actor.begun_ns[3], MS(100 + 200 + 400));
    worker_fixture_close(&worker_fixture);
}

WEIR_TEST(worker, without_notifiers_retries_too)
{
    struct actor actor = {ACTS(ERROR, ERROR, SLEEP(LONG))};
    struct worker_fixture worker_fixture;
    worker_fixture_open(&worker_fixture, IN_SIMULATION, &actor);
    worker_fixture.options.on_error = WEIR_ON_ERROR_RETRY;
    worker_fixture.options.backoff = doubling(MS(100));
    worker_fixture.options.failures_initial = 1; /* which is its first signal */
    worker_fixture.options.notifier_count = 0;

    worker_fixture_play(&worker_fixture,
                        CUES(CANCEL_AT(worker_fixture, WEIR_SECONDS(2))));

    check_int(actor.calls, 3);
    check_int(actor.begun_ns[2], MS(100 + 200 + 400));
    worker_fixture_close(&worker_fixture);
}

WEIR_TEST(worker, retries_after_a_panic_as_after_an_error)
{
    struct actor actor = {ACTS(PANIC, PANIC, SLEEP(LONG))};
    struct worker_fixture worker_fixture;
    worker_fixture_open(&worker_fixture, IN_SIMULATION, &actor);
    worker_fixture.options.on_error = WEIR_ON_ERROR_RETRY;
    worker_fixture.options.on_panic = WEIR_ON_PANIC_RETRY;
    worker_fixture.options.backoff = doubling(MS(100));

    worker_fixture_play(&worker_fixture,
                        CUES(CANCEL_AT(worker_fixture, WEIR_SECONDS(2))));

    check_int(actor.calls, 3);
    check_int(actor.begun_ns[2], MS(100 + 200));
    check_int(worker_fixture_read(&worker_fixture).failures, 2);
    worker_fixture_close(&worker_fixture);
}

/* At 30 ms neither of the two listens: one holds back until 100 ms, the other works until
 * 140 ms. The signal is stored, the retry at 100 ms passes it by, and the other finds
 * it. */
WEIR_TEST(worker, that_retries_leaves_a_stored_permit_to_its_siblings)
{
    struct actor failing = {
        ACTS(ERROR, ACT(ACT_SLEEP, .work_ns = MS(60), .sleep_ns = LONG))};
    struct actor busy = {ACTS(WORK(MS(130)), IDLE), .name = "busy"};
    struct worker_fixture worker_fixture;
    worker_fixture_open(&worker_fixture, IN_SIMULATION, &failing);
    struct weir_notifier *own = script_notifier(&worker_fixture.script);
    struct weir_notifier *shared = script_notifier(&worker_fixture.script);
    worker_fixture.options.on_error = WEIR_ON_ERROR_RETRY;
    worker_fixture.options.backoff = doubling(MS(100));
    worker_fixture.options.notifiers =
        (struct weir_notifier *[]){worker_fixture.bell, shared};
    worker_fixture.options.notifier_count = 2;
    script_add_worker(&worker_fixture.script, &busy,
                      (struct weir_notifier *[]){own, shared}, 2);

    worker_fixture_play(&worker_fixture,
                        CUES({MS(10), cue_notify, own}, {MS(30), cue_notify, shared},
                             CANCEL_AT(worker_fixture, MS(500))));

    check_int(failing.calls, 2);
    check_int(failing.begun_ns[1], MS(100));
    check_int(busy.calls, 2);
    check_int(busy.begun_ns[1], MS(140));
    check(!weir_notifier_stored(shared));
    worker_fixture_close(&worker_fixture);
}

/* ---- failing for ever -------------------------------------------------------------- */

enum { FAILURES = 100000 };

/* An action that always fails and measures how far apart its calls are. */
struct hopeless {
    uint32_t calls;
    int64_t last_ns;
    int64_t shortest_ns; /* of the intervals after the tenth call */
    int64_t longest_ns;
};

static enum weir_status fail_again(struct weir_context *context, void *state,
                                   struct weir_directive *out, struct weir_error *error)
{
    struct hopeless *self = state;
    int64_t now_ns = weir_context_now(context);
    int64_t interval_ns = now_ns - self->last_ns;

    (void)out;
    (void)error;
    if (++self->calls > 10 && interval_ns < self->shortest_ns)
        self->shortest_ns = interval_ns;
    if (self->calls > 10 && interval_ns > self->longest_ns)
        self->longest_ns = interval_ns;
    self->last_ns = now_ns;
    if (self->calls == FAILURES)
        weir_worker_cancel(weir_context_worker(context));
    return WEIR_FAILED;
}

/* Fail FAILURES times with the default backoff, but for its jitter. */
static struct hopeless never_succeed(double jitter)
{
    struct actor nobody = {ACTS(IDLE)};
    struct hopeless hopeless = {.shortest_ns = INT64_MAX};
    struct weir_worker_options defaults;
    struct worker_fixture worker_fixture;
    worker_fixture_open(&worker_fixture, IN_SIMULATION, &nobody);
    weir_worker_options_init(&defaults);
    worker_fixture.options.action = fail_again;
    worker_fixture.options.state = &hopeless;
    worker_fixture.options.on_error = WEIR_ON_ERROR_RETRY;
    worker_fixture.options.backoff = defaults.backoff;
    worker_fixture.options.backoff.jitter = jitter;
    worker_fixture_spawn(&worker_fixture);

    check(weir_sim_run_until_quiet(worker_fixture.script.sim, WEIR_FOREVER));

    check_int(hopeless.calls, FAILURES);
    check_int(worker_fixture_read(&worker_fixture).failures, FAILURES);
    check_int(worker_fixture_read(&worker_fixture).failures_in_row, FAILURES);
    check_int(weir_sim_steps(worker_fixture.script.sim),
              FAILURES + 1); /* the start, and no more */
    worker_fixture_close(&worker_fixture);
    return hopeless;
}

/* 100 ms doubled ten times is past 30 s; from then on it is exactly the maximum. */
WEIR_TEST(worker, that_failed_100000_times_in_a_row_still_retries_at_the_maximum)
{
    struct hopeless hopeless = never_succeed(0);

    check_int(hopeless.shortest_ns, WEIR_SECONDS(30));
    check_int(hopeless.longest_ns, WEIR_SECONDS(30));
    check(hopeless.last_ns > WEIR_HOURS(24 * 34)); /* more than a month */
}

WEIR_TEST(worker, that_failed_100000_times_in_a_row_is_never_beyond_its_jitter)
{
    struct hopeless hopeless = never_succeed(0.3);

    check_in_range(hopeless.shortest_ns, WEIR_SECONDS(21), WEIR_SECONDS(22));
    check_int(hopeless.longest_ns, WEIR_SECONDS(30));
}

/* ---- on threads -------------------------------------------------------------------- */

/* When each execution was about to start: before the runtime looks at the clock
 * itself. */
struct starts {
    struct weir_executor *executor;
    size_t count;
    int64_t at_ns[ACTOR_CALLS_MAX];
};

static void note_start(void *state, const char *worker)
{
    struct starts *self = state;

    (void)worker;
    if (self->count < ACTOR_CALLS_MAX)
        self->at_ns[self->count++] = weir_executor_now(self->executor);
}

/* Never early: a busy machine may only make it later. */
WEIR_TEST(worker, retries_by_itself_on_threads_too)
{
    struct actor actor = {ACTS(ERROR, ERROR, ERROR, SLEEP(LONG))};
    struct worker_fixture worker_fixture;
    worker_fixture_open(&worker_fixture, ON_THREADS, &actor);
    struct starts starts = {.executor = worker_fixture.script.executor};
    struct weir_listener listener = {.state = &starts, .on_execute_start = note_start};
    worker_fixture.options.on_error = WEIR_ON_ERROR_RETRY;
    worker_fixture.options.backoff = doubling(MS(2));
    worker_fixture.options.listeners = (const struct weir_listener *[]){&listener};
    worker_fixture.options.listener_count = 1;
    worker_fixture_spawn(&worker_fixture);

    while (worker_fixture_read(&worker_fixture).state != WEIR_WORKER_SLEEPING) {
        weir_notifier_notify_one(worker_fixture.bell); /* which shortens nothing */
        (void)sched_yield();
    }
    check_int(weir_ward_stop(worker_fixture.script.ward, LONG), 0);

    check(actor.calls >= 4);
    for (size_t i = 0; i < 3; i++) /* 2, 4 and 8 ms */
        check(actor.begun_ns[i + 1] - starts.at_ns[i] >= MS(2) << i);
    worker_fixture_close(&worker_fixture);
}
