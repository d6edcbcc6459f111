/*
 * test_gate.c - permits: which workers get in, in which order, and what becomes of
 * those who do not. The rows of the "Bulkhead" table about acquiring a permit of one
 * gate come first; two gates follow in test_gate_tiered.c, actions that enter by
 * themselves in test_gate_enter.c.
 */
#include <sched.h>

#include "kit/alloc_failures.h"
#include "unit/ward/worker_fixture.h"

/* ---- the rows of the table --------------------------------------------------------- */

WEIR_TEST(gate, of_one_lets_a_worker_in)
{
    struct actor actor = {ACTS(IDLE)};
    struct worker_fixture worker_fixture;
    worker_fixture_open(&worker_fixture, IN_SIMULATION, &actor);
    worker_fixture.options.shared = script_gate(&worker_fixture.script, 1);

    worker_fixture_play(&worker_fixture, CUES(CANCEL_AT(worker_fixture, MS(10))));

    check_int(actor.calls, 1);
    check_int(gate_now(worker_fixture.options.shared).admitted_total, 1);
    check_int(gate_now(worker_fixture.options.shared).inside, 0);
    worker_fixture_close(&worker_fixture);
}

WEIR_TEST(gate, that_is_not_there_lets_everybody_in)
{
    struct peers peers = {0, 0};
    struct actor actors[8];
    const struct act work[] = {WORK(MS(10))};
    struct script script;
    script_open(&script, IN_SIMULATION);
    for (size_t i = 0; i < 8; i++) {
        struct weir_notifier *bell = script_bell(&script);

        actors[i] = (struct actor){.acts = work, .act_count = 1, .peers = &peers};
        script_add_worker(&script, &actors[i], &bell, 1);
    }

    script_play(&script, CUES({MS(50), cue_cancel, &script}));

    check_int(peers.most, 8);
    for (size_t i = 0; i < 8; i++)
        check_int(actors[i].begun_ns[0], 0);
    script_close(&script);
}

WEIR_TEST(gate, of_none_lets_nobody_in)
{
    struct actor actor = {ACTS(IDLE)};
    struct worker_fixture worker_fixture;
    worker_fixture_open(&worker_fixture, IN_SIMULATION, &actor);
    worker_fixture.options.shared = script_gate(&worker_fixture.script, 0);
    struct gate_look look = {.gate = worker_fixture.options.shared};

    worker_fixture_play(&worker_fixture, CUES({MS(5), cue_look, &look},
                                              CANCEL_AT(worker_fixture, MS(10))));

    check_int(look.info.waiting, 1);
    check_int(actor.calls, 0);
    check_int(worker_fixture.script.ended_ns, MS(10));
    check_int(gate_now(worker_fixture.options.shared).admitted_total, 0);
    check_int(gate_now(worker_fixture.options.shared).waiting, 0);
    worker_fixture_close(&worker_fixture);
}

WEIR_TEST(gate, keeps_its_permit_from_a_worker_that_was_cancelled_before)
{
    struct actor actor = {ACTS(IDLE)};
    struct worker_fixture worker_fixture;
    worker_fixture_open(&worker_fixture, IN_SIMULATION, &actor);
    worker_fixture.options.shared = script_gate(&worker_fixture.script, 1);
    worker_fixture_spawn(&worker_fixture);
    weir_worker_cancel(worker_fixture.worker);

    worker_fixture_play(&worker_fixture, CUES(CANCEL_AT(worker_fixture, MS(10))));

    check_int(actor.calls, 0);
    check_int(gate_now(worker_fixture.options.shared).admitted_total, 0);
    check_int(gate_now(worker_fixture.options.shared).inside, 0);
    worker_fixture_close(&worker_fixture);
}

WEIR_TEST(gate, that_is_closed_ends_a_worker_that_comes)
{
    struct actor actor = {ACTS(IDLE)};
    struct worker_fixture worker_fixture;
    worker_fixture_open(&worker_fixture, IN_SIMULATION, &actor);
    worker_fixture.options.shared = script_gate(&worker_fixture.script, 1);
    weir_gate_close(worker_fixture.options.shared);
    worker_fixture_spawn(&worker_fixture);

    weir_sim_run_until(worker_fixture.script.sim, MS(10));

    check_int(actor.calls, 0);
    check_int(worker_fixture_read(&worker_fixture).state, WEIR_WORKER_ENDED);
    check_int(weir_ward_count(worker_fixture.script.ward), 0);
    worker_fixture_close(&worker_fixture);
}

/* ---- the order of the line --------------------------------------------------------- */

/* The permit is handed over while the one who was woken has not run yet. */
WEIR_TEST(gate, is_not_overtaken_by_a_newcomer)
{
    struct actor actor = {ACTS(IDLE)};
    struct worker_fixture worker_fixture;
    worker_fixture_open(&worker_fixture, IN_SIMULATION, &actor);
    struct weir_gate *gate = worker_fixture.options.shared =
        script_gate(&worker_fixture.script, 1);
    check(weir_gate_try_enter(gate));
    worker_fixture_spawn(&worker_fixture);
    weir_sim_run_until(worker_fixture.script.sim, MS(1));

    weir_gate_leave(gate);

    check_int(worker_fixture_read(&worker_fixture).state, WEIR_WORKER_READY);
    check_int(gate_now(gate).inside, 1);
    check(!weir_gate_try_enter(gate));
    weir_sim_run_until(worker_fixture.script.sim, MS(2));
    check_int(actor.calls, 1);
    check(weir_gate_try_enter(gate)); /* now it is free */
    weir_gate_leave(gate);
    worker_fixture_close(&worker_fixture);
}

/* Who comes back at once stands at the end of the line: two workers take turns. */
WEIR_TEST(gate, lets_two_busy_workers_take_turns)
{
    struct actor actors[2];
    const struct act work[] = {ACT(ACT_PROCEED, .work_ns = MS(10))};
    struct script script;
    script_open(&script, IN_SIMULATION);
    struct weir_gate *gate = script_gate(&script, 1);
    for (size_t i = 0; i < 2; i++) {
        actors[i] = (struct actor){.acts = work, .act_count = 1};
        cast_behind_gate(&script, &actors[i], script_bell(&script), gate);
    }

    script_play(&script, CUES({MS(995), cue_cancel, &script}));

    check_int(actors[0].calls, 50);
    check_int(actors[1].calls, 50);
    for (size_t i = 1; i < 50; i++) {
        check_int(actors[0].begun_ns[i] - actors[0].begun_ns[i - 1], MS(20));
        check_int(actors[1].begun_ns[i] - actors[1].begun_ns[i - 1], MS(20));
    }
    script_close(&script);
}

WEIR_TEST(gate, passes_on_the_permit_of_a_worker_that_is_cancelled_before_it_ran)
{
    struct actor first = {ACTS(IDLE)};
    struct actor second = {ACTS(IDLE), .name = "second"};
    struct worker_fixture worker_fixture;
    worker_fixture_open(&worker_fixture, IN_SIMULATION, &first);
    struct weir_gate *gate = worker_fixture.options.shared =
        script_gate(&worker_fixture.script, 1);
    struct weir_notifier *bell = script_notifier(&worker_fixture.script);
    check(weir_gate_try_enter(gate));
    worker_fixture_spawn(&worker_fixture);
    weir_sim_run_until(worker_fixture.script.sim, MS(1));
    cast_behind_gate(&worker_fixture.script, &second, bell, gate);
    weir_notifier_notify_one(bell);
    weir_sim_run_until(worker_fixture.script.sim, MS(2));
    check_int(gate_now(gate).waiting, 2);

    weir_gate_leave(gate);
    weir_worker_cancel(worker_fixture.worker);
    weir_sim_run_until(worker_fixture.script.sim, MS(3));

    check_int(first.calls, 0);
    check_int(second.calls, 1);
    check_int(gate_now(gate).inside, 0);
    worker_fixture_close(&worker_fixture);
}

static void permit_after_panic(enum weir_on_panic on_panic)
{
    struct actor actor = {ACTS(PANIC, IDLE)};
    struct worker_fixture worker_fixture;
    worker_fixture_open(&worker_fixture, IN_SIMULATION, &actor);
    worker_fixture.options.shared = script_gate(&worker_fixture.script, 1);
    worker_fixture.options.on_panic = on_panic;
    worker_fixture_spawn(&worker_fixture);

    weir_sim_run_until(worker_fixture.script.sim, MS(1));

    check_int(actor.calls, 1);
    check_int(gate_now(worker_fixture.options.shared).inside, 0);
    worker_fixture_close(&worker_fixture);
}

WEIR_TEST(gate, gets_the_permit_back_from_a_panic)
{
    permit_after_panic(WEIR_ON_PANIC_RETRY);
}

WEIR_TEST(gate, gets_the_permit_back_from_a_panic_that_ends_the_worker)
{
    permit_after_panic(WEIR_ON_PANIC_END);
}

/* ---- trying and leaving ---------------------------------------------------------- */

WEIR_TEST(gate, that_is_tried_gives_as_many_permits_as_it_has)
{
    struct script script;
    script_open(&script, IN_SIMULATION);
    struct weir_gate *gate = script_gate(&script, 2);

    check(weir_gate_try_enter(gate));
    check(weir_gate_try_enter(gate));
    check(!weir_gate_try_enter(gate));
    weir_gate_leave(gate);
    check(weir_gate_try_enter(gate));

    check_int(gate_now(gate).permits, 2);
    check_int(gate_now(gate).inside, 2);
    check_int(gate_now(gate).waiting, 0);
    check_int(gate_now(gate).admitted_total, 3);
    weir_gate_leave(gate);
    weir_gate_leave(gate);
    check_int(gate_now(gate).inside, 0);
    script_close(&script);
}

/* ---- closing ----------------------------------------------------------------------- */

/* Both ends of the line are sent away; whoever is inside finishes in peace. */
WEIR_TEST(gate, that_is_closed_ends_the_workers_in_line_and_no_others)
{
    struct actor actors[3];
    const struct act work[] = {WORK(MS(100))};
    struct script script;
    script_open(&script, IN_SIMULATION);
    struct weir_gate *gate = script_gate(&script, 1);
    for (size_t i = 0; i < 3; i++) {
        actors[i] = (struct actor){.acts = work, .act_count = 1};
        cast_behind_gate(&script, &actors[i], script_bell(&script), gate);
    }
    weir_sim_run_until(script.sim, MS(10));
    check_int(gate_now(gate).waiting, 2);

    weir_gate_close(gate);
    weir_gate_close(gate); /* twice is harmless */
    weir_sim_run_until(script.sim, MS(20));
    check_int(weir_ward_count(script.ward), 1);
    weir_sim_run_until(script.sim, MS(200));

    check_int(actors[0].calls + actors[1].calls + actors[2].calls, 1);
    check_int(weir_ward_count(script.ward), 1); /* it idles, until it comes again */
    check_int(gate_now(gate).inside, 0);
    check_int(gate_now(gate).waiting, 0);
    script_close(&script);
}

WEIR_TEST(gate, that_is_closed_gives_no_permit_to_one_who_tries)
{
    struct script script;
    script_open(&script, IN_SIMULATION);
    struct weir_gate *gate = script_gate(&script, 2);
    check(weir_gate_try_enter(gate));

    weir_gate_close(gate);

    check(!weir_gate_try_enter(gate));
    check_int(gate_now(gate).inside, 1);
    weir_gate_leave(gate); /* a permit that is out comes back as usual */
    check_int(gate_now(gate).inside, 0);
    check(!weir_gate_try_enter(gate));
    script_close(&script);
}

/* ---- two things at one instant ----------------------------------------------------- */

enum { SEEDS = 64 };

/* Permit and cancel come together, in both orders: nothing runs, and the gate is
 * whole. */
WEIR_TEST(gate, loses_no_permit_when_it_comes_with_a_cancel)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct actor actor = {ACTS(WORK(MS(1)))};
        struct script script;
        script_open_seeded(&script, seed);
        struct weir_gate *gate = script_gate(&script, 1);
        cast_behind_gate(&script, &actor, script_bell(&script), gate);
        check(weir_gate_try_enter(gate));

        script_play(&script, CUES({MS(10), seed % 2 == 0 ? cue_leave : cue_cancel,
                                   seed % 2 == 0 ? (void *)gate : (void *)&script},
                                  {MS(10), seed % 2 == 0 ? cue_cancel : cue_leave,
                                   seed % 2 == 0 ? (void *)&script : (void *)gate}));

        check_int(actor.calls, 0);
        check_int(gate_now(gate).inside, 0);
        check_int(gate_now(gate).waiting, 0);
        script_close(&script);
    }
}

/* ---- life cycle -------------------------------------------------------------------- */

/* One inside, one in line: both do their work, and the last of them frees the gate. */
WEIR_TEST(gate, outlives_its_creator_while_workers_use_it)
{
    struct actor actors[2];
    const struct act work[] = {WORK(MS(10))};
    struct weir_gate *gate;
    struct script script;
    script_open(&script, IN_SIMULATION);
    check_status(weir_gate_create(script.executor, 1, &gate, NULL), WEIR_OK);
    for (size_t i = 0; i < 2; i++) {
        actors[i] = (struct actor){.acts = work, .act_count = 1};
        cast_behind_gate(&script, &actors[i], script_bell(&script), gate);
    }
    weir_sim_run_until(script.sim, MS(5));
    check_int(gate_now(gate).inside, 1);
    check_int(gate_now(gate).waiting, 1);

    weir_gate_destroy(gate);
    script_play(&script, CUES({MS(100), cue_cancel, &script}));

    check_int(actors[0].calls, 1);
    check_int(actors[1].calls, 1);
    check_int(actors[0].begun_ns[0] + actors[1].begun_ns[0], MS(10));
    script_close(&script);
}

WEIR_TEST(gate, that_is_null_may_be_destroyed)
{
    weir_gate_destroy(NULL);
}

WEIR_TEST(gate, with_too_many_permits_is_refused)
{
    struct weir_gate *gate = (struct weir_gate *)&gate;
    struct weir_error error;
    struct script script;
    script_open(&script, IN_SIMULATION);

    check_status(
        weir_gate_create(script.executor, WEIR_GATE_PERMITS_MAX + 1, &gate, &error),
        WEIR_INVALID);

    check(gate == NULL);
    check_str(error.text, "permits is 1000001, must be at most 1000000");
    check_status(weir_gate_create(script.executor, UINT32_MAX, &gate, NULL),
                 WEIR_INVALID);
    check_status(weir_gate_create(script.executor, WEIR_GATE_PERMITS_MAX, &gate, &error),
                 WEIR_OK);
    check_int(gate_now(gate).permits, 1000000);
    weir_gate_destroy(gate);
    script_close(&script);
}

static enum weir_status create_and_use(const struct weir_heap *heap)
{
    struct weir_sim_options options = {.heap = heap, .seed = 1};
    struct weir_gate *gate = NULL;
    struct weir_sim *sim;
    enum weir_status status = weir_sim_create(&options, &sim, NULL);

    if (status == WEIR_OK)
        status = weir_gate_create(weir_sim_executor(sim), 1, &gate, NULL);
    if (status == WEIR_OK && weir_gate_try_enter(gate))
        weir_gate_leave(gate);
    weir_gate_destroy(gate);
    weir_sim_destroy(sim);
    return status;
}

WEIR_TEST(gate, survives_any_failing_allocation)
{
    check_alloc_failures(create_and_use);
}

/* ---- on threads -------------------------------------------------------------------- */

enum { BUSY_WORKERS = 12, BUSY_CALLS = 200 };

/* Works a number of times, then says so and idles. */
struct busy {
    struct peers *peers;
    struct weir_gate *extra; /* entered inside the action; NULL: none */
    _Atomic uint32_t *done;
    uint32_t calls;
};

static enum weir_status work_in_a_peers(struct weir_context *context, void *state,
                                        struct weir_directive *out,
                                        struct weir_error *error)
{
    struct busy *self = state;
    int inside;
    int most;

    if (self->extra != NULL) {
        enum weir_status status = weir_gate_enter(self->extra, context, WEIR_FOREVER);

        if (status != WEIR_OK)
            return weir_error_set(error, status, "the gate did not open");
    }
    inside = atomic_fetch_add(&self->peers->inside, 1) + 1;
    most = atomic_load(&self->peers->most);
    while (inside > most &&
           !atomic_compare_exchange_weak(&self->peers->most, &most, inside))
        ;
    (void)sched_yield();
    atomic_fetch_sub(&self->peers->inside, 1);
    if (self->extra != NULL)
        weir_gate_leave(self->extra);

    *out = ++self->calls < BUSY_CALLS ? weir_proceed() : weir_idle();
    if (self->calls == BUSY_CALLS)
        atomic_fetch_add(self->done, 1);
    return WEIR_OK;
}

/* All of them through `shared`, `guaranteed` and `inside`, as far as they are there. */
static int peers_on_threads(struct script *script, struct weir_gate *shared,
                            struct weir_gate *guaranteed, struct weir_gate *inside)
{
    static struct busy workers[BUSY_WORKERS];
    struct peers peers = {0, 0};
    _Atomic uint32_t done = 0;
    struct actor nobody = {.name = "busy"};

    for (size_t i = 0; i < BUSY_WORKERS; i++) {
        struct weir_worker_options options = script_options(&nobody);
        struct weir_notifier *bell = script_bell(script);

        workers[i] = (struct busy){.peers = &peers, .extra = inside, .done = &done};
        options.action = work_in_a_peers;
        options.state = &workers[i];
        options.shared = shared;
        options.guaranteed = guaranteed;
        options.notifiers = &bell;
        options.notifier_count = 1;
        script_spawn(script, &options);
    }
    while (atomic_load(&done) < BUSY_WORKERS)
        (void)sched_yield();
    check_int(weir_ward_stop(script->ward, LONG), 0);
    check_int(peers.inside, 0);
    return peers.most;
}

WEIR_TEST(gate, keeps_its_limit_on_threads)
{
    struct script script;
    script_open(&script, ON_THREADS);
    struct weir_gate *gate = script_gate(&script, 2);

    int most = peers_on_threads(&script, gate, NULL, NULL);

    check_in_range(most, 1, 2);
    check_int(gate_now(gate).admitted_total, BUSY_WORKERS * BUSY_CALLS);
    check_int(gate_now(gate).inside, 0);
    script_close(&script);
}

WEIR_TEST(tiered_gate, keeps_its_limit_on_threads)
{
    struct script script;
    script_open(&script, ON_THREADS);
    struct weir_gate *shared = script_gate(&script, 2);
    struct weir_gate *guaranteed = script_gate(&script, 1);

    int most = peers_on_threads(&script, shared, guaranteed, NULL);

    check_in_range(most, 1, 3);
    check_int(gate_now(shared).admitted_total + gate_now(guaranteed).admitted_total,
              BUSY_WORKERS * BUSY_CALLS);
    check_int(gate_now(shared).inside + gate_now(guaranteed).inside, 0);
    script_close(&script);
}

/* Six threads, all of them inside actions that wait for the same two permits. */
WEIR_TEST(gate, keeps_its_limit_for_actions_that_enter_on_threads)
{
    struct script script;
    script_open(&script, ON_THREADS);
    struct weir_gate *gate = script_gate(&script, 2);

    int most = peers_on_threads(&script, NULL, NULL, gate);

    check_in_range(most, 1, 2);
    check_int(gate_now(gate).admitted_total, BUSY_WORKERS * BUSY_CALLS);
    check_int(gate_now(gate).inside, 0);
    script_close(&script);
}
