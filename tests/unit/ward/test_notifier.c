/*
 * test_notifier.c - the rules of notifiers, sentence by sentence, for workers that
 * listen. Actions that wait are in test_notifier_wait.c.
 */
#include <sched.h>

#include "kit/alloc_failures.h"
#include "unit/ward/worker_fixture.h"

/* A stage with a number of idle actors, who have come to the bell in the order of the
 * list. */
enum { IDLERS_MAX = 4 };

struct idlers {
    struct script script;
    struct weir_notifier *bell;
    struct actor actors[IDLERS_MAX];
};

static const struct act ONLY_IDLE[] = {{.kind = ACT_IDLE}};

static void idlers_open(struct idlers *self, size_t count)
{
    script_open(&self->script, IN_SIMULATION);
    self->bell = script_notifier(&self->script);
    for (size_t i = 0; i < count; i++) {
        self->actors[i] = (struct actor){.acts = ONLY_IDLE, .act_count = 1};
        script_add_worker(&self->script, &self->actors[i], &self->bell, 1);
        check(weir_sim_run_until_quiet(self->script.sim, WEIR_FOREVER));
    }
    check_int(weir_notifier_waiting(self->bell), count);
}

static void idlers_run(struct idlers *self)
{
    check(weir_sim_run_until_quiet(self->script.sim, WEIR_FOREVER));
}

/* ---- the stored permit ------------------------------------------------------------- */

WEIR_TEST(notifier, has_no_permit_when_it_is_new)
{
    struct idlers idlers;
    idlers_open(&idlers, 0);

    check(!weir_notifier_stored(idlers.bell));
    check_int(weir_notifier_waiting(idlers.bell), 0);
    script_close(&idlers.script);
}

/* Five signals with nobody there are one execution for the one who comes. */
WEIR_TEST(notifier, holds_at_most_one_permit)
{
    struct actor actor = {ACTS(IDLE)};
    struct idlers idlers;
    idlers_open(&idlers, 0);
    for (int i = 0; i < 5; i++)
        weir_notifier_notify_one(idlers.bell);

    check(weir_notifier_stored(idlers.bell));
    script_add_worker(&idlers.script, &actor, &idlers.bell, 1);
    idlers_run(&idlers);

    check_int(actor.calls, 1);
    check(!weir_notifier_stored(idlers.bell));
    script_close(&idlers.script);
}

WEIR_TEST(notifier, stores_a_signal_that_finds_nobody_waiting)
{
    struct actor actor = {ACTS(WORK(MS(10)), SLEEP(LONG))};
    struct worker_fixture worker_fixture;
    worker_fixture_open(&worker_fixture, IN_SIMULATION, &actor);

    /* At 5 ms its only listener works; at 10 ms it comes back and finds the signal. */
    worker_fixture_play(&worker_fixture, CUES({MS(5), cue_notify, worker_fixture.bell},
                                              CANCEL_AT(worker_fixture, MS(50))));

    check_int(actor.calls, 2);
    check_int(actor.begun_ns[1], MS(10));
    worker_fixture_close(&worker_fixture);
}

WEIR_TEST(notifier, makes_one_of_the_signals_that_come_while_the_worker_is_busy)
{
    struct actor actor = {ACTS(WORK(MS(10)), SLEEP(LONG))};
    struct worker_fixture worker_fixture;
    worker_fixture_open(&worker_fixture, IN_SIMULATION, &actor);

    worker_fixture_play(&worker_fixture, CUES({MS(3), cue_notify, worker_fixture.bell},
                                              {MS(5), cue_notify, worker_fixture.bell},
                                              {MS(7), cue_notify, worker_fixture.bell},
                                              CANCEL_AT(worker_fixture, MS(50))));

    check_int(actor.calls, 2);
    worker_fixture_close(&worker_fixture);
}

/* A worker that would sleep finds the permit before it lies down. */
WEIR_TEST(notifier, gives_its_stored_permit_to_whoever_comes_to_wait)
{
    struct actor actor = {
        ACTS(ACT(ACT_SLEEP, .work_ns = MS(10), .sleep_ns = LONG), SLEEP(LONG))};
    struct worker_fixture worker_fixture;
    worker_fixture_open(&worker_fixture, IN_SIMULATION, &actor);

    worker_fixture_play(&worker_fixture, CUES({MS(5), cue_notify, worker_fixture.bell},
                                              CANCEL_AT(worker_fixture, MS(50))));

    check_int(actor.calls, 2);
    check_int(actor.begun_ns[1], MS(10));
    check(!weir_notifier_stored(worker_fixture.bell));
    worker_fixture_close(&worker_fixture);
}

/* ---- notify one -------------------------------------------------------------------- */

WEIR_TEST(notifier, wakes_only_one_of_many)
{
    struct idlers idlers;
    uint32_t calls = 0;
    idlers_open(&idlers, 4);

    weir_notifier_notify_one(idlers.bell);
    check(!weir_notifier_stored(idlers.bell)); /* somebody had it */
    idlers_run(&idlers);

    for (size_t i = 0; i < 4; i++)
        calls += idlers.actors[i].calls;
    check_int(calls, 1);
    script_close(&idlers.script);
}

WEIR_TEST(notifier, wakes_the_one_who_has_waited_longest)
{
    struct idlers idlers;
    idlers_open(&idlers, 3);

    for (size_t i = 0; i < 3; i++) { /* who was woken stands behind the others again */
        weir_notifier_notify_one(idlers.bell);
        idlers_run(&idlers);
        for (size_t k = 0; k < 3; k++)
            check_int(idlers.actors[k].calls, k <= i ? 1 : 0);
    }
    weir_notifier_notify_one(idlers.bell);
    idlers_run(&idlers);

    check_int(idlers.actors[0].calls, 2);
    script_close(&idlers.script);
}

/* Two signals before anybody has run: the second goes to the second. */
WEIR_TEST(notifier, wakes_another_one_with_each_signal)
{
    struct idlers idlers;
    idlers_open(&idlers, 3);

    weir_notifier_notify_one(idlers.bell);
    weir_notifier_notify_one(idlers.bell);
    check_int(weir_notifier_waiting(idlers.bell), 1);
    idlers_run(&idlers);

    check_int(idlers.actors[0].calls, 1);
    check_int(idlers.actors[1].calls, 1);
    check_int(idlers.actors[2].calls, 0);
    script_close(&idlers.script);
}

/* ---- notify all -------------------------------------------------------------------- */

WEIR_TEST(notifier, wakes_everybody_who_waits_now)
{
    struct idlers idlers;
    idlers_open(&idlers, 4);

    weir_notifier_notify_all(idlers.bell);
    idlers_run(&idlers);

    for (size_t i = 0; i < 4; i++)
        check_int(idlers.actors[i].calls, 1);
    check_int(weir_notifier_waiting(idlers.bell), 4); /* once, and they are back */
    script_close(&idlers.script);
}

WEIR_TEST(notifier, stores_nothing_when_it_wakes_all)
{
    struct idlers idlers;
    idlers_open(&idlers, 2);

    weir_notifier_notify_all(idlers.bell);
    check(!weir_notifier_stored(idlers.bell));
    idlers_run(&idlers);

    check(!weir_notifier_stored(idlers.bell));
    script_close(&idlers.script);
}

WEIR_TEST(notifier, stores_nothing_when_it_wakes_all_and_nobody_waits)
{
    struct idlers idlers;
    idlers_open(&idlers, 0);

    weir_notifier_notify_all(idlers.bell);

    check(!weir_notifier_stored(idlers.bell));
    script_close(&idlers.script);
}

WEIR_TEST(notifier, does_not_wake_those_who_come_after_all_were_woken)
{
    struct actor late = {ACTS(IDLE)};
    struct idlers idlers;
    idlers_open(&idlers, 1);

    weir_notifier_notify_all(idlers.bell);
    script_add_worker(&idlers.script, &late, &idlers.bell, 1);
    idlers_run(&idlers);

    check_int(idlers.actors[0].calls, 1);
    check_int(late.calls, 0);
    script_close(&idlers.script);
}

/* A permit that was stored before is still there for the next one. */
WEIR_TEST(notifier, keeps_its_stored_permit_when_it_wakes_all)
{
    struct actor late = {ACTS(IDLE)};
    struct idlers idlers;
    idlers_open(&idlers, 0);
    weir_notifier_notify_one(idlers.bell);

    weir_notifier_notify_all(idlers.bell);
    check(weir_notifier_stored(idlers.bell));
    script_add_worker(&idlers.script, &late, &idlers.bell, 1);
    idlers_run(&idlers);

    check_int(late.calls, 1);
    script_close(&idlers.script);
}

/* ---- several notifiers of one worker ----------------------------------------------- */

WEIR_TEST(notifier, that_is_first_in_the_list_is_taken_first)
{
    struct actor actor = {ACTS(WORK(MS(10)))};
    struct script script;
    script_open(&script, IN_SIMULATION);
    struct weir_notifier *three[] = {script_bell(&script), script_bell(&script),
                                     script_bell(&script)};
    script_add_worker(&script, &actor, three, 3);

    for (size_t i = 0; i < 3; i++) { /* it works at 0, 10 and 20 ms */
        weir_sim_run_until(script.sim, (int64_t)i * MS(10) + MS(5));

        check_int(actor.calls, i + 1);
        for (size_t k = 0; k < 3; k++)
            check(weir_notifier_stored(three[k]) == (k > i));
    }

    script_close(&script);
}

/* One wait takes one permit; the others stay where they are. */
WEIR_TEST(notifier, keeps_its_permit_when_another_was_first)
{
    struct actor actor = {ACTS(WORK(MS(10)))};
    struct script script;
    script_open(&script, IN_SIMULATION);
    struct weir_notifier *three[] = {script_notifier(&script), script_bell(&script),
                                     script_bell(&script)};
    script_add_worker(&script, &actor, three, 3);

    weir_sim_run_until(script.sim, MS(5));
    check_int(actor.calls, 1);
    check(!weir_notifier_stored(three[1])); /* the first in the list that had one */
    check(weir_notifier_stored(three[2]));
    weir_sim_run_until(script.sim, MS(15));

    check_int(actor.calls, 2); /* the next wait takes it */
    check(!weir_notifier_stored(three[2]));
    script_close(&script);
}

/* A worker that one notifier has woken is gone from the lines of the others: the signal
 * of the second goes to the next one there, not to somebody who has given up waiting. */
WEIR_TEST(notifier, does_not_waste_a_signal_on_a_worker_that_another_has_woken)
{
    struct actor both = {ACTS(IDLE), .name = "both"};
    struct actor second = {ACTS(IDLE), .name = "second"};
    struct script script;
    script_open(&script, IN_SIMULATION);
    struct weir_notifier *two[] = {script_notifier(&script), script_notifier(&script)};
    script_add_worker(&script, &both, two, 2);
    weir_sim_run_until(script.sim, MS(1));
    script_add_worker(&script, &second, &two[1], 1);
    weir_sim_run_until(script.sim, MS(2));

    weir_notifier_notify_one(two[0]);
    weir_notifier_notify_one(two[1]);
    weir_sim_run_until(script.sim, MS(3));

    check_int(both.calls, 1);
    check_int(second.calls, 1);
    script_close(&script);
}

/* Likewise with nobody else in line: the signal is stored, and brings a second run. */
WEIR_TEST(notifier, stores_a_signal_for_a_worker_that_another_has_woken)
{
    struct actor actor = {ACTS(IDLE)};
    struct script script;
    script_open(&script, IN_SIMULATION);
    struct weir_notifier *two[] = {script_notifier(&script), script_notifier(&script)};
    script_add_worker(&script, &actor, two, 2);
    weir_sim_run_until(script.sim, MS(1));

    weir_notifier_notify_one(two[0]);
    weir_notifier_notify_one(two[1]);
    check(weir_notifier_stored(two[1]));
    weir_sim_run_until(script.sim, MS(2));

    check_int(actor.calls, 2);
    script_close(&script);
}

/* A worker that was cancelled takes no signal with it. */
WEIR_TEST(notifier, does_not_waste_a_signal_on_a_worker_that_was_cancelled)
{
    struct actor gone = {ACTS(IDLE)};
    struct actor next = {ACTS(IDLE), .name = "next"};
    struct worker_fixture worker_fixture;
    worker_fixture_open(&worker_fixture, IN_SIMULATION, &gone);
    worker_fixture_spawn(&worker_fixture);
    weir_sim_run_until(worker_fixture.script.sim, MS(1));
    script_add_worker(&worker_fixture.script, &next, &worker_fixture.bell, 1);
    weir_sim_run_until(worker_fixture.script.sim, MS(2));
    check_int(weir_notifier_waiting(worker_fixture.bell), 2);

    weir_worker_cancel(worker_fixture.worker);
    weir_notifier_notify_one(worker_fixture.bell);
    weir_sim_run_until(worker_fixture.script.sim, MS(3));

    check_int(gone.calls, 1);
    check_int(next.calls, 1);
    worker_fixture_close(&worker_fixture);
}

WEIR_TEST(notifier, that_nobody_has_leaves_a_worker_idle_for_ever)
{
    struct actor actor = {ACTS(IDLE)};
    struct script script;
    script_open(&script, IN_SIMULATION);
    script_add_worker(&script, &actor, NULL, 0);

    check(weir_sim_run_until_quiet(script.sim, WEIR_FOREVER));
    check_int(actor.calls, 0);
    script_play(&script, CUES({WEIR_HOURS(24 * 365), cue_cancel, &script}));

    check_int(actor.calls, 0);
    check_int(weir_ward_count(script.ward), 0); /* but a cancel ends it */
    script_close(&script);
}

/* ---- life cycle -------------------------------------------------------------------- */

WEIR_TEST(notifier, outlives_its_creator_while_workers_listen)
{
    struct actor actor = {ACTS(IDLE)};
    struct weir_notifier *notifier;
    struct script script;
    script_open(&script, IN_SIMULATION);
    check_status(weir_notifier_create(script.executor, &notifier), WEIR_OK);
    weir_notifier_notify_one(notifier);
    script_add_worker(&script, &actor, &notifier, 1);

    weir_notifier_destroy(notifier);
    script_play(&script, CUES({MS(10), cue_cancel, &script}));

    check_int(actor.calls, 1);
    script_close(&script);
}

WEIR_TEST(notifier, that_is_null_may_be_destroyed)
{
    weir_notifier_destroy(NULL);
}

static enum weir_status create_and_use(const struct weir_heap *heap)
{
    struct weir_sim_options options = {.heap = heap, .seed = 1};
    struct weir_notifier *notifier = NULL;
    struct weir_sim *sim;
    enum weir_status status = weir_sim_create(&options, &sim, NULL);

    if (status == WEIR_OK)
        status = weir_notifier_create(weir_sim_executor(sim), &notifier);
    if (status == WEIR_OK)
        weir_notifier_notify_one(notifier);
    weir_notifier_destroy(notifier);
    weir_sim_destroy(sim);
    return status;
}

WEIR_TEST(notifier, survives_any_failing_allocation)
{
    check_alloc_failures(create_and_use);
}

/* ---- on threads -------------------------------------------------------------------- */

enum { PRODUCERS = 4, PRODUCED_EACH = 2000 };

/* Producers put something down and ring; consumers take all there is when they hear
 * it. */
struct market {
    struct weir_notifier *bell;
    _Atomic uint32_t pile;
    _Atomic uint32_t consumed;
};

struct producer {
    struct market *market;
    uint32_t produced;
};

static enum weir_status produce(struct weir_context *context, void *state,
                                struct weir_directive *out, struct weir_error *error)
{
    struct producer *self = state;

    (void)context;
    (void)error;
    atomic_fetch_add(&self->market->pile, 1);
    weir_notifier_notify_one(self->market->bell);
    *out = ++self->produced < PRODUCED_EACH ? weir_proceed() : weir_idle();
    return WEIR_OK;
}

static enum weir_status consume(struct weir_context *context, void *state,
                                struct weir_directive *out, struct weir_error *error)
{
    struct market *market = state;

    (void)context;
    (void)error;
    atomic_fetch_add(&market->consumed, atomic_exchange(&market->pile, 0));
    *out = weir_idle();
    return WEIR_OK;
}

static void market_open(struct market *self, struct script *script, size_t consumers)
{
    struct actor nobody = {.name = "consumer"};
    struct weir_worker_options options = script_options(&nobody);

    *self = (struct market){.bell = script_notifier(script)};
    options.action = consume;
    options.state = self;
    options.notifiers = &self->bell;
    options.notifier_count = 1;
    for (size_t i = 0; i < consumers; i++)
        script_spawn(script, &options);
}

/* If one wake-up were lost, the last items would lie there for ever. */
static void lose_nothing(size_t consumers)
{
    static struct market market;
    static struct producer producers[PRODUCERS];
    struct actor nobody = {.name = "producer"};
    struct script script;
    script_open(&script, ON_THREADS);
    market_open(&market, &script, consumers);

    for (size_t i = 0; i < PRODUCERS; i++) {
        struct weir_worker_options options = script_options(&nobody);
        struct weir_notifier *start = script_bell(&script);

        producers[i] = (struct producer){.market = &market};
        options.action = produce;
        options.state = &producers[i];
        options.notifiers = &start;
        options.notifier_count = 1;
        script_spawn(&script, &options);
    }
    while (atomic_load(&market.consumed) < PRODUCERS * PRODUCED_EACH)
        (void)sched_yield();

    check_int(weir_ward_stop(script.ward, LONG), 0);
    check_int(market.consumed, PRODUCERS * PRODUCED_EACH);
    script_close(&script);
}

WEIR_TEST(notifier, loses_no_signal_to_one_worker_on_threads)
{
    lose_nothing(1);
}

WEIR_TEST(notifier, loses_no_signal_to_several_workers_on_threads)
{
    lose_nothing(3);
}
