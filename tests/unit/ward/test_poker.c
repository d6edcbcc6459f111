/*
 * test_poker.c - clocks that notify: the poker rows of the specification, and our own
 * rules about when the first poke comes, what becomes of those that nobody hears, and
 * the end.
 */
#include <sched.h>

#include "kit/alloc_failures.h"
#include "unit/ward/worker_fixture.h"

/* An actor of the ward backstage, which is not cancelled with the poker's. */
static void cast_backstage(struct script *script, struct actor *actor,
                           struct weir_notifier *notifier)
{
    struct weir_worker_options options = script_options(actor);

    options.notifiers = &notifier;
    options.notifier_count = 1;
    check_status(weir_ward_spawn(script->backstage, &options, NULL, NULL), WEIR_OK);
}

struct waiter {
    struct weir_notifier *notifier;
    enum weir_status answer;
    int64_t answered_ns;
};

static enum weir_status wait_for_poke(struct weir_context *context, void *state,
                                      struct weir_directive *out,
                                      struct weir_error *error)
{
    struct waiter *self = state;

    (void)error;
    self->answer =
        weir_notifier_wait(self->notifier, context, weir_context_now(context) + LONG);
    self->answered_ns = weir_context_now(context);
    *out = weir_sleep_for(LONG);
    return WEIR_OK;
}

/* ---- the rows of the table --------------------------------------------------------- */

WEIR_TEST(poker, wakes_one_who_waits)
{
    struct waiter waiter = {.answer = WEIR_STATUS_COUNT};
    struct actor nobody = {ACTS(IDLE)};
    struct worker_fixture worker_fixture;
    worker_fixture_open(&worker_fixture, IN_SIMULATION, &nobody);
    waiter.notifier = script_poker(&worker_fixture.script, MS(1));
    worker_fixture.options.action = wait_for_poke;
    worker_fixture.options.state = &waiter;

    worker_fixture_play(&worker_fixture, CUES(CANCEL_AT(worker_fixture, MS(10))));

    check_status(waiter.answer, WEIR_OK);
    check_int(waiter.answered_ns, MS(1));
    worker_fixture_close(&worker_fixture);
}

/* Pokes at 1 to 5 ms; the ward is stopped at 5.5 ms, which waits until all is quiet. */
WEIR_TEST(poker, does_not_poke_once_its_ward_is_stopped)
{
    struct actor actor = {ACTS(IDLE)};
    struct script script;
    script_open(&script, IN_SIMULATION);
    struct weir_notifier *notifier = script_poker(&script, MS(1));
    cast_backstage(&script, &actor, notifier);

    script_play(&script, CUES({WEIR_MICROSECONDS(5500), cue_cancel, &script}));
    check_int(actor.calls, 5);
    check(weir_sim_run_until_quiet(script.sim, WEIR_FOREVER)); /* no timer is left */
    weir_sim_run_until(script.sim, WEIR_HOURS(1));

    check_int(actor.calls, 5);
    check(!weir_notifier_stored(notifier));
    script_close(&script);
}

WEIR_TEST(poker, stores_a_poke_that_nobody_waits_for)
{
    struct actor actor = {ACTS(SLEEP(LONG))};
    struct script script;
    script_open(&script, IN_SIMULATION);
    struct weir_notifier *notifier = script_poker(&script, MS(1));
    weir_sim_run_until(script.sim, WEIR_MICROSECONDS(1500));
    check(weir_notifier_stored(notifier));

    script_add_worker(&script, &actor, &notifier, 1);
    weir_sim_run_until(script.sim, WEIR_MICROSECONDS(1600));

    check_int(actor.calls, 1);
    check_int(actor.begun_ns[0], WEIR_MICROSECONDS(1500));
    check(!weir_notifier_stored(notifier));
    script_close(&script);
}

/* ---- when it pokes ----------------------------------------------------------------- */

WEIR_TEST(poker, pokes_first_after_one_interval_and_then_in_every_one)
{
    struct actor actor = {ACTS(IDLE)};
    struct script script;
    script_open(&script, IN_SIMULATION);
    weir_sim_run_until(script.sim, MS(7)); /* intervals count from its creation */
    struct weir_notifier *notifier = script_poker(&script, WEIR_HOURS(1));
    script_add_worker(&script, &actor, &notifier, 1);

    weir_sim_run_until(script.sim, WEIR_HOURS(24) + MS(8));

    check_int(actor.calls, 24);
    for (int i = 0; i < 24; i++)
        check_int(actor.begun_ns[i], MS(7) + WEIR_HOURS(i + 1));
    script_close(&script);
}

/* Of the pokes at 2 to 10 ms one is kept; those at 12 to 21 ms likewise. */
WEIR_TEST(poker, makes_one_of_the_pokes_that_come_while_the_worker_is_busy)
{
    struct actor actor = {ACTS(WORK(WEIR_MICROSECONDS(10500)))};
    struct script script;
    script_open(&script, IN_SIMULATION);
    struct weir_notifier *notifier = script_poker(&script, MS(1));
    script_add_worker(&script, &actor, &notifier, 1);

    script_play(&script, CUES({MS(30), cue_cancel, &script}));

    check_int(actor.calls, 3);
    check_int(actor.begun_ns[0], MS(1));
    check_int(actor.begun_ns[1], WEIR_MICROSECONDS(11500));
    check_int(actor.begun_ns[2], WEIR_MICROSECONDS(22000));
    script_close(&script);
}

WEIR_TEST(poker, shares_a_worker_with_another)
{
    struct actor actor = {ACTS(IDLE)};
    struct script script;
    script_open(&script, IN_SIMULATION);
    struct weir_notifier *two[] = {script_poker(&script, MS(20)),
                                   script_poker(&script, MS(50))};
    script_add_worker(&script, &actor, two, 2);

    script_play(&script, CUES({MS(99), cue_cancel, &script}));

    check_int(actor.calls, 5); /* 20, 40, 50, 60, 80 */
    check_int(actor.begun_ns[2], MS(50));
    script_close(&script);
}

/* One poke wakes one: workers that share a poker take turns. */
WEIR_TEST(poker, wakes_one_of_the_workers_that_share_it)
{
    struct actor actors[2] = {{ACTS(IDLE)}, {ACTS(IDLE)}};
    struct script script;
    script_open(&script, IN_SIMULATION);
    struct weir_notifier *notifier = script_poker(&script, MS(10));
    script_add_worker(&script, &actors[0], &notifier, 1);
    script_add_worker(&script, &actors[1], &notifier, 1);

    script_play(&script, CUES({MS(45), cue_cancel, &script}));

    check_int(actors[0].calls, 2);
    check_int(actors[1].calls, 2);
    script_close(&script);
}

WEIR_TEST(poker, is_no_worker)
{
    struct script script;
    script_open(&script, IN_SIMULATION);

    (void)script_poker(&script, MS(1));

    check_int(weir_ward_count(script.ward), 0);
    check_int(weir_ward_stop(script.ward, LONG), 0);
    check_int(script_now(&script), 0);
    script_close(&script);
}

/* ---- its end ----------------------------------------------------------------------- */

/* The worker that listens keeps the notifier; it just hears nothing any more. */
WEIR_TEST(poker, that_is_destroyed_pokes_no_more)
{
    struct actor actor = {ACTS(IDLE)};
    struct weir_poker *poker;
    struct weir_notifier *notifier;
    struct script script;
    script_open(&script, IN_SIMULATION);
    check_status(weir_poker_create(script.ward, MS(1), &poker, NULL), WEIR_OK);
    notifier = weir_poker_notifier(poker);
    script_add_worker(&script, &actor, &notifier, 1);
    weir_sim_run_until(script.sim, WEIR_MICROSECONDS(3500));

    weir_poker_destroy(poker);
    check(weir_sim_run_until_quiet(script.sim, WEIR_FOREVER));
    weir_sim_run_until(script.sim, WEIR_HOURS(1));

    check_int(actor.calls, 3);
    check_int(weir_ward_count(script.ward), 1);
    script_close(&script);
}

WEIR_TEST(poker, may_be_destroyed_after_its_ward_was_stopped)
{
    struct weir_poker *poker;
    struct script script;
    script_open(&script, IN_SIMULATION);
    check_status(weir_poker_create(script.ward, MS(1), &poker, NULL), WEIR_OK);

    check_int(weir_ward_stop(script.ward, 0), 0);

    weir_poker_destroy(poker);
    script_close(&script);
}

WEIR_TEST(poker, may_be_destroyed_last_of_all)
{
    struct weir_sim_options options = {.seed = 1};
    struct weir_poker *poker;
    struct weir_ward *ward;
    struct weir_sim *sim;
    check_status(weir_sim_create(&options, &sim, NULL), WEIR_OK);
    check_status(weir_ward_create(weir_sim_executor(sim),
                                  &(struct weir_ward_options){.name = "short"}, &ward,
                                  NULL),
                 WEIR_OK);
    check_status(weir_poker_create(ward, MS(1), &poker, NULL), WEIR_OK);

    weir_ward_destroy(ward);
    weir_sim_destroy(sim);

    check(!weir_notifier_stored(weir_poker_notifier(poker)));
    weir_poker_destroy(poker);
}

WEIR_TEST(poker, that_is_null_may_be_destroyed)
{
    weir_poker_destroy(NULL);
}

/* ---- refused ----------------------------------------------------------------------- */

WEIR_TEST(poker, with_an_interval_out_of_range_is_refused)
{
    static const int64_t BAD[] = {0,         -1,       999, WEIR_DURATION_MAX + 1,
                                  INT64_MIN, INT64_MAX};
    struct weir_error error;
    struct script script;
    script_open(&script, IN_SIMULATION);

    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++) {
        struct weir_poker *poker = (struct weir_poker *)&script;

        check_status(weir_poker_create(script.ward, BAD[i], &poker, NULL), WEIR_INVALID);
        check(poker == NULL);
    }

    struct weir_poker *poker;
    check_status(weir_poker_create(script.ward, 999, &poker, &error), WEIR_INVALID);
    check_str(error.text, "interval_ns is 999, must be 1000 to 31622400000000000");
    script_close(&script);
}

WEIR_TEST(poker, is_accepted_at_both_limits_of_its_interval)
{
    struct weir_poker *shortest;
    struct weir_poker *longest;
    struct script script;
    script_open(&script, IN_SIMULATION);

    check_status(weir_poker_create(script.ward, 1000, &shortest, NULL), WEIR_OK);
    check_status(weir_poker_create(script.ward, WEIR_DURATION_MAX, &longest, NULL),
                 WEIR_OK);

    weir_sim_run_until(script.sim, 1000);
    check(weir_notifier_stored(weir_poker_notifier(shortest)));
    weir_poker_destroy(shortest);
    weir_sim_run_until(script.sim, WEIR_DURATION_MAX);
    check(weir_notifier_stored(weir_poker_notifier(longest)));
    weir_poker_destroy(longest);
    script_close(&script);
}

WEIR_TEST(poker, is_refused_by_a_ward_that_was_cancelled)
{
    struct weir_poker *poker = (struct weir_poker *)&poker;
    struct weir_error error;
    struct script script;
    script_open(&script, IN_SIMULATION);
    weir_ward_cancel(script.ward);

    check_status(weir_poker_create(script.ward, MS(1), &poker, &error), WEIR_CLOSED);

    check(poker == NULL);
    check_str(error.text, "create poker: closed");
    check(weir_sim_run_until_quiet(script.sim, WEIR_FOREVER));
    script_close(&script);
}

static enum weir_status create_and_poke(const struct weir_heap *heap)
{
    struct weir_sim_options options = {.heap = heap, .seed = 1};
    struct weir_poker *poker = NULL;
    struct weir_ward *ward = NULL;
    struct weir_sim *sim;
    enum weir_status status = weir_sim_create(&options, &sim, NULL);

    if (status == WEIR_OK)
        status = weir_ward_create(weir_sim_executor(sim),
                                  &(struct weir_ward_options){.name = "w"}, &ward, NULL);
    if (status == WEIR_OK)
        status = weir_poker_create(ward, MS(1), &poker, NULL);
    if (status == WEIR_OK)
        weir_sim_run_until(sim, MS(10));
    weir_poker_destroy(poker);
    weir_ward_destroy(ward);
    weir_sim_destroy(sim);
    return status;
}

WEIR_TEST(poker, survives_any_failing_allocation)
{
    check_alloc_failures(create_and_poke);
}

/* ---- on threads -------------------------------------------------------------------- */

/* Late perhaps, but never early, and it goes on while nobody does anything else. */
WEIR_TEST(poker, pokes_in_every_interval_on_threads_too)
{
    struct actor actor = {ACTS(IDLE)};
    struct script script;
    script_open(&script, ON_THREADS);
    int64_t began_ns = weir_executor_now(script.executor);
    struct weir_notifier *notifier = script_poker(&script, MS(2));
    script_add_worker(&script, &actor, &notifier, 1);

    while (atomic_load(&actor.calls) < 10)
        (void)sched_yield();
    check_int(weir_ward_stop(script.ward, LONG), 0);

    for (int i = 0; i < 10; i++)
        check(actor.begun_ns[i] - began_ns >= (i + 1) * MS(2));
    script_close(&script);
}

/* Pokers come and go while others fire; nothing is poked after its end. */
WEIR_TEST(poker, may_be_destroyed_at_any_time_on_threads)
{
    struct actor actor = {ACTS(IDLE)};
    struct script script;
    script_open(&script, ON_THREADS);
    struct weir_notifier *notifier = script_poker(&script, WEIR_MICROSECONDS(50));
    script_add_worker(&script, &actor, &notifier, 1);

    for (int i = 0; i < 300; i++) {
        struct weir_poker *poker;

        check_status(
            weir_poker_create(script.ward, WEIR_MICROSECONDS(1 + i % 20), &poker, NULL),
            WEIR_OK);
        while (i % 10 == 0 && !weir_notifier_stored(weir_poker_notifier(poker)))
            (void)sched_yield();
        weir_poker_destroy(poker);
    }
    while (atomic_load(&actor.calls) < 10)
        (void)sched_yield();

    check_int(weir_ward_stop(script.ward, LONG), 0);
    script_close(&script);
}
