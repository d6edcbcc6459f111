/*
 * test_gate_tiered.c - a worker with two gates: it takes a shared permit when there is
 * one, else a guaranteed one, and stands in both lines when there is neither. The
 * "Tiered" rows of the "Bulkhead" table come first.
 */
#include <string.h>

#include "unit/ward/worker_fixture.h"

/* A tiered limit of these permits, taken by a worker that works for 10 ms. */
struct tiers {
    struct worker_fixture worker_fixture;
    struct gate_look shared; /* at 5 ms */
    struct gate_look guaranteed;
};

static void tiers_open(struct tiers *self, struct actor *actor, uint32_t shared,
                       uint32_t guaranteed)
{
    memset(self, 0, sizeof *self);
    worker_fixture_open(&self->worker_fixture, IN_SIMULATION, actor);
    self->shared.gate = script_gate(&self->worker_fixture.script, shared);
    self->guaranteed.gate = script_gate(&self->worker_fixture.script, guaranteed);
    self->worker_fixture.options.shared = self->shared.gate;
    self->worker_fixture.options.guaranteed = self->guaranteed.gate;
}

static void tiers_play(struct tiers *self)
{
    worker_fixture_play(&self->worker_fixture,
                        CUES({MS(5), cue_look, &self->shared},
                             {MS(5), cue_look, &self->guaranteed},
                             CANCEL_AT(self->worker_fixture, MS(10))));
}

WEIR_TEST(tiered_gate, takes_a_shared_permit_when_both_are_free)
{
    struct actor actor = {ACTS(WORK(MS(10)))};
    struct tiers tiers;
    tiers_open(&tiers, &actor, 1, 1);

    tiers_play(&tiers);

    check_int(actor.calls, 1);
    check_int(tiers.shared.info.inside, 1);
    check_int(tiers.guaranteed.info.inside, 0);
    check_int(gate_now(tiers.guaranteed.gate).admitted_total, 0);
    worker_fixture_close(&tiers.worker_fixture);
}

WEIR_TEST(tiered_gate, takes_a_guaranteed_permit_when_none_is_shared)
{
    struct actor actor = {ACTS(WORK(MS(10)))};
    struct tiers tiers;
    tiers_open(&tiers, &actor, 0, 1);

    tiers_play(&tiers);

    check_int(actor.calls, 1);
    check_int(tiers.shared.info.inside, 0);
    check_int(tiers.guaranteed.info.inside, 1);
    worker_fixture_close(&tiers.worker_fixture);
}

WEIR_TEST(tiered_gate, takes_a_shared_permit_when_none_is_guaranteed)
{
    struct actor actor = {ACTS(WORK(MS(10)))};
    struct tiers tiers;
    tiers_open(&tiers, &actor, 1, 0);

    tiers_play(&tiers);

    check_int(actor.calls, 1);
    check_int(tiers.shared.info.inside, 1);
    check_int(tiers.guaranteed.info.inside, 0);
    worker_fixture_close(&tiers.worker_fixture);
}

WEIR_TEST(tiered_gate, lets_nobody_in_without_permits)
{
    struct actor actor = {ACTS(IDLE)};
    struct tiers tiers;
    tiers_open(&tiers, &actor, 0, 0);

    tiers_play(&tiers);

    check_int(actor.calls, 0);
    check_int(tiers.worker_fixture.script.ended_ns, MS(10));
    check_int(gate_now(tiers.shared.gate).waiting, 0);
    check_int(gate_now(tiers.guaranteed.gate).waiting, 0);
    worker_fixture_close(&tiers.worker_fixture);
}

WEIR_TEST(tiered_gate, lets_in_whom_a_guaranteed_permit_is_freed_for)
{
    struct actor actor = {ACTS(IDLE)};
    struct tiers tiers;
    tiers_open(&tiers, &actor, 0, 1);
    check(weir_gate_try_enter(tiers.guaranteed.gate));

    worker_fixture_play(&tiers.worker_fixture,
                        CUES({MS(20), cue_leave, tiers.guaranteed.gate},
                             CANCEL_AT(tiers.worker_fixture, MS(200))));

    check_int(actor.calls, 1);
    check_int(actor.begun_ns[0], MS(20));
    worker_fixture_close(&tiers.worker_fixture);
}

/* ---- two lines --------------------------------------------------------------------- */

/* Whichever comes first lets it in, and it is gone from the other line as well. */
static void freed_first(bool shared_first)
{
    struct actor actor = {ACTS(WORK(MS(10)), SLEEP(LONG))};
    struct tiers tiers;
    tiers_open(&tiers, &actor, 1, 1);
    struct weir_gate *first = shared_first ? tiers.shared.gate : tiers.guaranteed.gate;
    struct weir_gate *second = shared_first ? tiers.guaranteed.gate : tiers.shared.gate;
    check(weir_gate_try_enter(first));
    check(weir_gate_try_enter(second));
    worker_fixture_spawn(&tiers.worker_fixture);
    weir_sim_run_until(tiers.worker_fixture.script.sim, MS(1));
    check_int(gate_now(first).waiting, 1);
    check_int(gate_now(second).waiting, 1);

    weir_gate_leave(first);

    check_int(gate_now(first).waiting, 0);
    check_int(gate_now(second).waiting, 0);
    weir_gate_leave(second); /* nobody is there to take it */
    check_int(gate_now(second).inside, 0);
    weir_sim_run_until(tiers.worker_fixture.script.sim, MS(100));
    check_int(actor.calls, 1);
    check_int(gate_now(first).admitted_total, 2);
    check_int(gate_now(second).admitted_total, 1);
    worker_fixture_close(&tiers.worker_fixture);
}

WEIR_TEST(tiered_gate, leaves_both_lines_by_a_shared_permit)
{
    freed_first(true);
}

WEIR_TEST(tiered_gate, leaves_both_lines_by_a_guaranteed_permit)
{
    freed_first(false);
}

WEIR_TEST(tiered_gate, leaves_both_lines_when_cancelled)
{
    struct actor actor = {ACTS(IDLE)};
    struct tiers tiers;
    tiers_open(&tiers, &actor, 0, 0);
    worker_fixture_spawn(&tiers.worker_fixture);
    weir_sim_run_until(tiers.worker_fixture.script.sim, MS(1));
    check_int(gate_now(tiers.shared.gate).waiting, 1);
    check_int(gate_now(tiers.guaranteed.gate).waiting, 1);

    weir_worker_cancel(tiers.worker_fixture.worker);

    check_int(gate_now(tiers.shared.gate).waiting, 0);
    check_int(gate_now(tiers.guaranteed.gate).waiting, 0);
    worker_fixture_close(&tiers.worker_fixture);
}

/* The worker of the shared gate alone has come second, so it is let in second. */
WEIR_TEST(tiered_gate, keeps_its_place_in_the_shared_line)
{
    struct actor tiered = {ACTS(WORK(MS(10)), SLEEP(LONG))};
    struct actor plain = {ACTS(WORK(MS(10)), SLEEP(LONG)), .name = "plain"};
    struct tiers tiers;
    tiers_open(&tiers, &tiered, 1, 0);
    struct weir_notifier *bell = script_notifier(&tiers.worker_fixture.script);
    cast_behind_gate(&tiers.worker_fixture.script, &plain, bell, tiers.shared.gate);
    check(weir_gate_try_enter(tiers.shared.gate));

    worker_fixture_play(&tiers.worker_fixture,
                        CUES({MS(1), cue_notify, bell},
                             {MS(20), cue_leave, tiers.shared.gate},
                             CANCEL_AT(tiers.worker_fixture, MS(100))));

    check_int(tiered.begun_ns[0], MS(20));
    check_int(plain.begun_ns[0], MS(30));
    worker_fixture_close(&tiers.worker_fixture);
}

WEIR_TEST(tiered_gate, goes_on_with_one_gate_when_the_other_is_closed)
{
    struct actor actor = {ACTS(IDLE)};
    struct tiers tiers;
    tiers_open(&tiers, &actor, 1, 0);
    check(weir_gate_try_enter(tiers.shared.gate));
    worker_fixture_spawn(&tiers.worker_fixture);
    weir_sim_run_until(tiers.worker_fixture.script.sim, MS(1));

    weir_gate_close(tiers.guaranteed.gate); /* while it stands in both lines */
    weir_sim_run_until(tiers.worker_fixture.script.sim, MS(2));
    check_int(worker_fixture_read(&tiers.worker_fixture).state, WEIR_WORKER_QUEUED);
    weir_gate_leave(tiers.shared.gate);
    weir_sim_run_until(tiers.worker_fixture.script.sim, MS(3));
    check_int(actor.calls, 1);
    weir_notifier_notify_one(tiers.worker_fixture.bell); /* and when it comes again */
    weir_sim_run_until(tiers.worker_fixture.script.sim, MS(4));

    check_int(actor.calls, 2);
    worker_fixture_close(&tiers.worker_fixture);
}

WEIR_TEST(tiered_gate, ends_the_worker_when_both_are_closed)
{
    struct actor actor = {ACTS(IDLE)};
    struct tiers tiers;
    tiers_open(&tiers, &actor, 0, 0);
    worker_fixture_spawn(&tiers.worker_fixture);
    weir_sim_run_until(tiers.worker_fixture.script.sim, MS(1));

    weir_gate_close(tiers.guaranteed.gate);
    weir_gate_close(tiers.shared.gate);
    weir_sim_run_until(tiers.worker_fixture.script.sim, MS(2));

    check_int(worker_fixture_read(&tiers.worker_fixture).state, WEIR_WORKER_ENDED);
    worker_fixture_close(&tiers.worker_fixture);
}
