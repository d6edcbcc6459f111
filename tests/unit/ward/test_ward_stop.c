/*
 * test_ward_stop.c - ending workers: with a deadline, from inside one of them, all or
 * one.
 */
#include "unit/ward/ward_fixture.h"

/* ---- stopping with a deadline ------------------------------------------------------ */

/* Of five, one waits, one idles, and three run for 1, 2 and 3 seconds. */
static void mixed_ward_fixture_open(struct ward_fixture *ward_fixture,
                                    struct patient *patient, struct actor *idler,
                                    int64_t durations_ns[3])
{
    ward_fixture_open(ward_fixture);
    weir_worker_release(
        ward_fixture_spawn(ward_fixture, "patient", wait_for_cancel, patient));
    ward_fixture_add_worker(ward_fixture, "idler", idler);
    for (int i = 0; i < 3; i++) {
        durations_ns[i] = WEIR_SECONDS(i + 1);
        weir_worker_release(
            ward_fixture_spawn(ward_fixture, "deaf", ignore_cancel, &durations_ns[i]));
    }
    weir_sim_run_until(ward_fixture->sim, MS(500));
}

WEIR_TEST(ward, stopped_with_a_grace_returns_how_many_are_unfinished)
{
    struct patient patient = {.waits = false};
    struct actor idler = {ACTS(IDLE)};
    int64_t durations_ns[3];
    struct ward_fixture ward_fixture;
    mixed_ward_fixture_open(&ward_fixture, &patient, &idler, durations_ns);

    check_int(weir_ward_stop(ward_fixture.ward, WEIR_SECONDS(1)), 2);

    check_int(weir_sim_now(ward_fixture.sim), MS(1500)); /* exactly the grace */
    check_int(weir_ward_count(ward_fixture.ward), 2);
    check_int(ward_fixture.end_count, 3);
    check_int(captured_log_count(&ward_fixture.captured_log, WEIR_LOG_WARNING,
                                 "ward.stopped ward=hall unfinished=2"),
              1);
    check(weir_sim_run_until_quiet(ward_fixture.sim, WEIR_FOREVER));
    check_int(ward_fixture.end_count, 5);
    ward_fixture_close(&ward_fixture);
}

WEIR_TEST(ward, stopped_without_a_grace_does_not_wait)
{
    struct patient patient = {.waits = false};
    struct actor idler = {ACTS(IDLE)};
    int64_t durations_ns[3];
    struct ward_fixture ward_fixture;
    mixed_ward_fixture_open(&ward_fixture, &patient, &idler, durations_ns);

    check_int(weir_ward_stop(ward_fixture.ward, 0), 4);
    check_int(weir_ward_stop(ward_fixture.ward, -WEIR_SECONDS(1)), 4);
    check_int(weir_ward_stop(ward_fixture.ward, INT64_MIN), 4);

    check_int(weir_sim_now(ward_fixture.sim), MS(500));
    check(weir_sim_run_until_quiet(ward_fixture.sim, WEIR_FOREVER));
    ward_fixture_close(&ward_fixture);
}

WEIR_TEST(ward, stopped_with_the_longest_grace_returns_when_all_have_ended)
{
    struct patient patient = {.waits = false};
    struct actor idler = {ACTS(IDLE)};
    int64_t durations_ns[3];
    struct ward_fixture ward_fixture;
    mixed_ward_fixture_open(&ward_fixture, &patient, &idler, durations_ns);

    check_int(weir_ward_stop(ward_fixture.ward, INT64_MAX), 0);

    check_int(weir_sim_now(ward_fixture.sim), WEIR_SECONDS(3));
    ward_fixture_close(&ward_fixture);
}

WEIR_TEST(ward, stopped_twice_waits_for_what_is_unfinished)
{
    struct patient patient = {.waits = false};
    struct actor idler = {ACTS(IDLE)};
    int64_t durations_ns[3];
    struct ward_fixture ward_fixture;
    mixed_ward_fixture_open(&ward_fixture, &patient, &idler, durations_ns);

    check_int(weir_ward_stop(ward_fixture.ward, MS(1)), 3);
    check_int(weir_ward_stop(ward_fixture.ward, WEIR_SECONDS(2)), 1);
    check_int(weir_ward_stop(ward_fixture.ward, WEIR_SECONDS(2)), 0);
    check_int(weir_ward_stop(ward_fixture.ward, WEIR_SECONDS(2)), 0);

    check_int(weir_sim_now(ward_fixture.sim), WEIR_SECONDS(3));
    check_int(ward_fixture.end_count, 5);
    ward_fixture_close(&ward_fixture);
}

/* The power cut: what is in the middle of something is dropped with the simulation. */
WEIR_TEST(ward, reports_workers_that_are_dropped_with_their_simulation)
{
    struct patient patient = {.waits = false};
    struct actor idler = {ACTS(IDLE)};
    int64_t durations_ns[3];
    struct ward_fixture ward_fixture;
    mixed_ward_fixture_open(&ward_fixture, &patient, &idler, durations_ns);

    weir_ward_destroy(ward_fixture.ward);
    check_int(ward_fixture.end_count, 1);
    check_str(ward_fixture.names[0], "hall/idler");
    weir_sim_destroy(ward_fixture.sim); /* nothing is left over: the sanitizer looks */

    check(!patient.finished);
    check_int(ward_fixture.end_count, 5);
    for (size_t i = 1; i < 5; i++)
        check_int(ward_fixture.ends[i].outcome, WEIR_WORKER_DROPPED);
}

WEIR_TEST(ward, cancelled_waits_for_nothing)
{
    struct patient patient = {.waits = false};
    struct actor idler = {ACTS(IDLE)};
    int64_t durations_ns[3];
    struct ward_fixture ward_fixture;
    mixed_ward_fixture_open(&ward_fixture, &patient, &idler, durations_ns);

    weir_ward_cancel(ward_fixture.ward);
    weir_ward_cancel(ward_fixture.ward); /* twice is harmless */
    check_int(weir_ward_count(ward_fixture.ward), 5);
    weir_sim_run_until(ward_fixture.sim, MS(501));

    check_int(weir_ward_count(ward_fixture.ward), 3); /* those who listen have ended */
    check(patient.finished);
    check(weir_sim_run_until_quiet(ward_fixture.sim, WEIR_FOREVER));
    ward_fixture_close(&ward_fixture);
}

/* Nothing of a ward runs after a stop that returned 0, whatever is signalled. */
WEIR_TEST(ward, runs_nothing_after_a_clean_stop)
{
    struct actor actor = {ACTS(SLEEP(MS(10)))};
    struct worker_fixture worker_fixture;
    worker_fixture_open(&worker_fixture, IN_SIMULATION, &actor);
    worker_fixture_spawn(&worker_fixture);
    weir_sim_run_until(worker_fixture.script.sim, MS(25));
    check_int(weir_ward_stop(worker_fixture.script.ward, 0), 0);

    weir_notifier_notify_one(worker_fixture.bell);
    weir_notifier_notify_all(worker_fixture.bell);
    weir_sim_run_until(worker_fixture.script.sim, WEIR_HOURS(1));

    check_int(actor.calls, 3);
    check(weir_notifier_stored(worker_fixture.bell)); /* nobody was there to take it */
    worker_fixture_close(&worker_fixture);
}

/* ---- stopping from inside ---------------------------------------------------------- */

struct suicide {
    struct weir_ward *ward;
    size_t unfinished;
    int64_t took_ns;
};

static enum weir_status stop_own_ward(struct weir_context *context, void *state,
                                      struct weir_directive *out,
                                      struct weir_error *error)
{
    struct suicide *self = state;
    int64_t began_ns = weir_context_now(context);

    (void)out;
    (void)error;
    self->unfinished = weir_ward_stop(self->ward, WEIR_SECONDS(10));
    self->took_ns = weir_context_now(context) - began_ns;
    return WEIR_OK;
}

/* It cancels all, ends those that wait, and counts itself and the one that runs. */
WEIR_TEST(ward, stopped_by_its_own_action_does_not_wait_and_counts_the_caller)
{
    struct suicide suicide = {.unfinished = 99};
    struct actor idler = {ACTS(IDLE)};
    int64_t duration_ns = WEIR_SECONDS(1);
    struct ward_fixture ward_fixture;
    ward_fixture_open(&ward_fixture);
    suicide.ward = ward_fixture.ward;
    ward_fixture_add_worker(&ward_fixture, "idler", &idler);
    weir_worker_release(
        ward_fixture_spawn(&ward_fixture, "deaf", ignore_cancel, &duration_ns));
    weir_sim_run_until(ward_fixture.sim, MS(1));
    weir_worker_release(
        ward_fixture_spawn(&ward_fixture, "suicide", stop_own_ward, &suicide));

    check(weir_sim_run_until_quiet(ward_fixture.sim, WEIR_FOREVER));

    check_int(suicide.unfinished, 2);
    check_int(suicide.took_ns, 0);
    check_int(ward_fixture.end_count, 3);
    check_str(ward_fixture.names[0], "hall/idler");
    check_int(weir_ward_stop(ward_fixture.ward, 0), 0);
    ward_fixture_close(&ward_fixture);
}

/* From an action of another ward it is a stop like any other: that action waits. */
WEIR_TEST(ward, stopped_by_an_action_of_another_ward_is_waited_for)
{
    struct suicide killer = {.unfinished = 99};
    int64_t duration_ns = WEIR_SECONDS(3);
    struct actor nobody = {.name = "killer"};
    struct weir_ward *other;
    struct ward_fixture ward_fixture;
    ward_fixture_open(&ward_fixture);
    killer.ward = ward_fixture.ward;
    weir_worker_release(
        ward_fixture_spawn(&ward_fixture, "deaf", ignore_cancel, &duration_ns));
    weir_sim_run_until(ward_fixture.sim, MS(1));
    check_status(weir_ward_create(weir_sim_executor(ward_fixture.sim),
                                  &(struct weir_ward_options){.name = "other"}, &other,
                                  NULL),
                 WEIR_OK);
    struct weir_worker_options options = script_options(&nobody);
    options.action = stop_own_ward;
    options.state = &killer;
    options.failures_initial = 1; /* runs by itself */
    options.on_error = WEIR_ON_ERROR_RETRY;
    options.backoff = (struct weir_backoff){1, 1, 1.0, 0.0};
    check_status(weir_ward_spawn(other, &options, NULL, NULL), WEIR_OK);

    check(weir_sim_run_until_quiet(ward_fixture.sim, WEIR_FOREVER));

    check_int(killer.unfinished, 0);
    check_int(killer.took_ns, WEIR_SECONDS(3) - MS(1) - 1);
    weir_ward_destroy(other);
    ward_fixture_close(&ward_fixture);
}

struct gravedigger {
    struct weir_ward *ward;
    size_t unfinished;
};

static void stop_at_end(void *state, const struct weir_worker_end *end)
{
    struct gravedigger *self = state;

    (void)end;
    self->unfinished = weir_ward_stop(self->ward, WEIR_SECONDS(10));
}

/* "If one dies, all shall": the one whose end is reported is not finished yet. */
WEIR_TEST(ward, may_be_stopped_by_the_report_of_an_end)
{
    struct gravedigger digger = {.unfinished = 99};
    struct actor bad = {ACTS(PANIC)};
    struct actor idler = {ACTS(IDLE)};
    struct ward_fixture ward_fixture;
    ward_fixture_open(&ward_fixture);
    weir_ward_destroy(ward_fixture.ward);
    check_status(weir_ward_create(weir_sim_executor(ward_fixture.sim),
                                  &(struct weir_ward_options){.name = "all",
                                                              .on_end = stop_at_end,
                                                              .state = &digger},
                                  &ward_fixture.ward, NULL),
                 WEIR_OK);
    digger.ward = ward_fixture.ward;
    ward_fixture_add_worker(&ward_fixture, "idler", &idler);
    weir_sim_run_until(ward_fixture.sim, MS(1));
    ward_fixture_add_worker(&ward_fixture, "bad", &bad);

    weir_sim_run_until(ward_fixture.sim, MS(2));

    check_int(digger.unfinished, 1);
    check_int(weir_ward_count(ward_fixture.ward), 0);
    ward_fixture_close(&ward_fixture);
}

/* ---- one worker of many ------------------------------------------------------------ */

WEIR_TEST(ward, goes_on_when_one_worker_is_cancelled)
{
    struct actor one = {ACTS(SLEEP(MS(10)))};
    struct actor other = {ACTS(SLEEP(MS(10)))};
    struct ward_fixture ward_fixture;
    ward_fixture_open(&ward_fixture);
    struct weir_worker *worker =
        ward_fixture_spawn(&ward_fixture, "one", actor_act, &one);
    ward_fixture_add_worker(&ward_fixture, "other", &other);
    weir_sim_run_until(ward_fixture.sim, MS(15));

    weir_worker_cancel(worker);
    weir_worker_cancel(worker); /* twice is harmless */
    weir_sim_run_until(ward_fixture.sim, MS(45));
    weir_worker_cancel(worker); /* also when it has ended */

    check_int(one.calls, 2);
    check_int(other.calls, 5);
    check_int(weir_ward_count(ward_fixture.ward), 1);
    check_int(ward_fixture.end_count, 1);
    check_str(ward_fixture.names[0], "hall/one");
    weir_worker_release(worker);
    ward_fixture_close(&ward_fixture);
}

WEIR_TEST(ward, cuts_the_wait_of_an_action_short_when_its_worker_is_cancelled)
{
    struct patient patient = {.last_step_ns = MS(2)};
    struct ward_fixture ward_fixture;
    ward_fixture_open(&ward_fixture);
    struct weir_worker *worker =
        ward_fixture_spawn(&ward_fixture, "patient", wait_for_cancel, &patient);
    weir_sim_run_until(ward_fixture.sim, MS(10));
    check(patient.waits);

    weir_worker_cancel(worker);
    check(weir_sim_run_until_quiet(ward_fixture.sim, WEIR_FOREVER));

    check(patient.finished);
    check_int(weir_sim_now(ward_fixture.sim), MS(12));
    weir_worker_release(worker);
    ward_fixture_close(&ward_fixture);
}
