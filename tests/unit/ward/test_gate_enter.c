/*
 * test_gate_enter.c - actions that pass a gate of their own accord, by weir_gate_enter().
 */
#include <sched.h>

#include "unit/ward/worker_fixture.h"

struct guest {
    struct weir_gate *gate;
    int64_t wait_limit_ns; /* how long it would stand in line; LONG by default */
    int64_t stay_ns;       /* how long it stays inside */
    enum weir_status answer;
    int64_t answered_ns; /* -1: not yet */
};

static enum weir_status visit(struct weir_context *context, void *state,
                              struct weir_directive *out, struct weir_error *error)
{
    struct guest *self = state;
    int64_t wait_limit_ns = self->wait_limit_ns != 0 ? self->wait_limit_ns : LONG;

    (void)error;
    self->answer =
        weir_gate_enter(self->gate, context, weir_context_now(context) + wait_limit_ns);
    self->answered_ns = weir_context_now(context);
    if (self->answer == WEIR_OK) {
        weir_sleep_through(context, self->stay_ns);
        weir_gate_leave(self->gate);
    }
    *out = weir_sleep_for(LONG);
    return WEIR_OK;
}

/* A guest who comes when the bell that is returned rings. */
static struct weir_notifier *invite(struct script *script, struct guest *guest)
{
    struct actor nobody = {.name = "guest"};
    struct weir_worker_options options = script_options(&nobody);
    struct weir_notifier *bell = script_notifier(script);

    guest->answered_ns = -1;
    options.action = visit;
    options.state = guest;
    options.notifiers = &bell;
    options.notifier_count = 1;
    script_spawn(script, &options);
    return bell;
}

/* ---- getting in, or not ------------------------------------------------------------ */

WEIR_TEST(gate, lets_an_action_in_that_asks)
{
    struct guest guest = {.stay_ns = MS(10)};
    struct script script;
    script_open(&script, IN_SIMULATION);
    struct gate_look look = {.gate = guest.gate = script_gate(&script, 1)};
    struct weir_notifier *bell = invite(&script, &guest);

    script_play(&script, CUES({MS(1), cue_notify, bell}, {MS(5), cue_look, &look},
                              {MS(20), cue_cancel, &script}));

    check_status(guest.answer, WEIR_OK);
    check_int(guest.answered_ns, MS(1));
    check_int(look.info.inside, 1);
    check_int(gate_now(guest.gate).inside, 0);
    script_close(&script);
}

/* A deadline that has passed asks without waiting: it gets what is free ... */
WEIR_TEST(gate, lets_an_action_in_whose_deadline_has_passed)
{
    struct guest guest = {.wait_limit_ns = -MS(1)};
    struct script script;
    script_open(&script, IN_SIMULATION);
    guest.gate = script_gate(&script, 1);
    struct weir_notifier *bell = invite(&script, &guest);

    script_play(&script, CUES({MS(1), cue_notify, bell}, {MS(20), cue_cancel, &script}));

    check_status(guest.answer, WEIR_OK);
    script_close(&script);
}

/* ... and is sent away at once otherwise. */
WEIR_TEST(gate, sends_an_action_away_whose_deadline_has_passed)
{
    struct guest guest = {.wait_limit_ns = -MS(1)};
    struct script script;
    script_open(&script, IN_SIMULATION);
    guest.gate = script_gate(&script, 0);
    struct weir_notifier *bell = invite(&script, &guest);

    script_play(&script, CUES({MS(1), cue_notify, bell}, {MS(20), cue_cancel, &script}));

    check_status(guest.answer, WEIR_TIMEOUT);
    check_int(guest.answered_ns, MS(1));
    script_close(&script);
}

WEIR_TEST(gate, sends_an_action_away_at_its_deadline)
{
    struct guest guest = {.wait_limit_ns = MS(30)};
    struct script script;
    script_open(&script, IN_SIMULATION);
    guest.gate = script_gate(&script, 1);
    struct weir_notifier *bell = invite(&script, &guest);
    check(weir_gate_try_enter(guest.gate));

    script_play(&script, CUES({MS(1), cue_notify, bell}, {MS(50), cue_leave, guest.gate},
                              {MS(60), cue_cancel, &script}));

    check_status(guest.answer, WEIR_TIMEOUT);
    check_int(guest.answered_ns, MS(31));
    check_int(gate_now(guest.gate).inside, 0);
    check_int(gate_now(guest.gate).waiting, 0);
    script_close(&script);
}

WEIR_TEST(gate, sends_an_action_away_that_is_cancelled)
{
    struct guest guest = {.stay_ns = 0};
    struct script script;
    script_open(&script, IN_SIMULATION);
    guest.gate = script_gate(&script, 0);
    struct weir_notifier *bell = invite(&script, &guest);

    script_play(&script, CUES({MS(1), cue_notify, bell}, {MS(20), cue_cancel, &script}));

    check_status(guest.answer, WEIR_CANCELLED);
    check_int(guest.answered_ns, MS(20));
    check_int(gate_now(guest.gate).waiting, 0);
    script_close(&script);
}

/* An action that was cancelled before it asks does not begin to wait. */
static enum weir_status cancel_then_visit(struct weir_context *context, void *state,
                                          struct weir_directive *out,
                                          struct weir_error *error)
{
    weir_worker_cancel(weir_context_worker(context));
    return visit(context, state, out, error);
}

WEIR_TEST(gate, does_not_let_an_action_wait_that_is_cancelled_already)
{
    struct actor nobody = {ACTS(IDLE)};
    struct guest guest = {.answered_ns = -1};
    struct worker_fixture worker_fixture;
    worker_fixture_open(&worker_fixture, IN_SIMULATION, &nobody);
    guest.gate = script_gate(&worker_fixture.script, 0);
    worker_fixture.options.action = cancel_then_visit;
    worker_fixture.options.state = &guest;
    worker_fixture_spawn(&worker_fixture);

    weir_sim_run_until(worker_fixture.script.sim, MS(10));

    check_status(guest.answer, WEIR_CANCELLED);
    check_int(guest.answered_ns, 0);
    check_int(gate_now(guest.gate).waiting, 0);
    worker_fixture_close(&worker_fixture);
}

static void cue_close(void *gate)
{
    weir_gate_close(gate);
}

WEIR_TEST(gate, sends_an_action_away_when_it_is_closed)
{
    struct guest waiting = {.stay_ns = 0};
    struct guest late = {.stay_ns = 0};
    struct script script;
    script_open(&script, IN_SIMULATION);
    waiting.gate = late.gate = script_gate(&script, 1);
    struct weir_notifier *bells[] = {invite(&script, &waiting), invite(&script, &late)};
    check(weir_gate_try_enter(waiting.gate));

    script_play(&script,
                CUES({MS(1), cue_notify, bells[0]}, {MS(20), cue_close, waiting.gate},
                     {MS(30), cue_leave, waiting.gate}, {MS(40), cue_notify, bells[1]},
                     {MS(60), cue_cancel, &script}));

    check_status(waiting.answer, WEIR_CLOSED);
    check_int(waiting.answered_ns, MS(20));
    check_status(late.answer, WEIR_CLOSED); /* though a permit is free */
    check_int(late.answered_ns, MS(40));
    script_close(&script);
}

/* ---- order ------------------------------------------------------------------------- */

/* Workers and guests stand in one line; each stays 10 ms, whoever came first goes
 * first. */
WEIR_TEST(gate, serves_whoever_came_first_first)
{
    struct guest anna = {.stay_ns = MS(10)};
    struct guest bert = {.stay_ns = MS(10)};
    struct actor cleo = {ACTS(WORK(MS(10)), SLEEP(LONG)), .name = "cleo"};
    struct actor dora = {ACTS(WORK(MS(10)), SLEEP(LONG)), .name = "dora"};
    struct script script;
    script_open(&script, IN_SIMULATION);
    struct weir_gate *gate = script_gate(&script, 1);
    anna.gate = bert.gate = gate;
    struct weir_notifier *bells[] = {invite(&script, &anna), script_notifier(&script),
                                     invite(&script, &bert), script_notifier(&script)};
    cast_behind_gate(&script, &cleo, bells[1], gate);
    cast_behind_gate(&script, &dora, bells[3], gate);
    check(weir_gate_try_enter(gate));

    script_play(&script,
                CUES({MS(1), cue_notify, bells[3]}, {MS(2), cue_notify, bells[2]},
                     {MS(3), cue_notify, bells[1]}, {MS(4), cue_notify, bells[0]},
                     {MS(50), cue_leave, gate}, {MS(200), cue_cancel, &script}));

    check_int(dora.begun_ns[0], MS(50));
    check_int(bert.answered_ns, MS(60));
    check_int(cleo.begun_ns[0], MS(70));
    check_int(anna.answered_ns, MS(80));
    script_close(&script);
}

/* ---- two things at once ------------------------------------------------------------ */

/* The permit came first, so it is what is reported; a cancel could not give it back. */
WEIR_TEST(gate, keeps_its_word_to_an_action_that_is_cancelled_right_after)
{
    struct guest guest = {.stay_ns = 0};
    struct script script;
    script_open(&script, IN_SIMULATION);
    guest.gate = script_gate(&script, 1);
    weir_notifier_notify_one(invite(&script, &guest));
    check(weir_gate_try_enter(guest.gate));
    weir_sim_run_until(script.sim, MS(1));
    check_int(gate_now(guest.gate).waiting, 1);

    weir_gate_leave(guest.gate);
    weir_ward_cancel(script.ward);
    weir_sim_run_until(script.sim, MS(2));

    check_status(guest.answer, WEIR_OK);
    check_int(gate_now(guest.gate).inside, 0);
    script_close(&script);
}

/* The cancel came first: the permit is for the next one. */
WEIR_TEST(gate, gives_no_permit_to_an_action_that_is_cancelled_right_before)
{
    struct guest guest = {.stay_ns = 0};
    struct script script;
    script_open(&script, IN_SIMULATION);
    guest.gate = script_gate(&script, 1);
    weir_notifier_notify_one(invite(&script, &guest));
    check(weir_gate_try_enter(guest.gate));
    weir_sim_run_until(script.sim, MS(1));

    weir_ward_cancel(script.ward);
    weir_gate_leave(guest.gate);
    check_int(gate_now(guest.gate).inside, 0);
    weir_sim_run_until(script.sim, MS(2));

    check_status(guest.answer, WEIR_CANCELLED);
    script_close(&script);
}

/* ---- on threads -------------------------------------------------------------------- */

/* The time passes although every thread of the pool may be waiting for it. */
WEIR_TEST(gate, sends_an_action_away_at_its_deadline_on_threads_too)
{
    struct guest guests[6];
    struct weir_notifier *bell;
    struct script script;
    script_open(&script, ON_THREADS);
    struct weir_gate *gate = script_gate(&script, 0);
    int64_t began_ns = weir_executor_now(script.executor);
    for (size_t i = 0; i < 6; i++) {
        guests[i] = (struct guest){.gate = gate, .wait_limit_ns = MS(5)};
        bell = invite(&script, &guests[i]);
        weir_notifier_notify_one(bell);
    }

    for (;;) {
        struct weir_worker_info infos[6];
        size_t asleep = 0;

        check_int(weir_ward_read(script.ward, infos, 6), 6);
        for (size_t i = 0; i < 6; i++)
            asleep += infos[i].state == WEIR_WORKER_SLEEPING;
        if (asleep == 6)
            break;
        (void)sched_yield();
    }
    check_int(weir_ward_stop(script.ward, LONG), 0);

    for (size_t i = 0; i < 6; i++) {
        check_status(guests[i].answer, WEIR_TIMEOUT);
        check(guests[i].answered_ns - began_ns >= MS(5));
    }
    script_close(&script);
}

enum { HASTY_COUNT = 6, HASTY_CALLS = 300 };

/* Asks again and again, with next to no patience. */
struct hasty {
    struct weir_gate *gate;
    _Atomic uint32_t *done;
    uint32_t calls;
    uint32_t admitted;
    uint32_t strange; /* answers that are neither */
};

static enum weir_status ask_hastily(struct weir_context *context, void *state,
                                    struct weir_directive *out, struct weir_error *error)
{
    struct hasty *self = state;
    int64_t deadline_ns = weir_context_now(context) + WEIR_MICROSECONDS(10);
    enum weir_status status = weir_gate_enter(self->gate, context, deadline_ns);

    (void)error;
    if (status == WEIR_OK) {
        self->admitted++;
        (void)sched_yield();
        weir_gate_leave(self->gate);
    } else if (status != WEIR_TIMEOUT) {
        self->strange++;
    }
    *out = ++self->calls < HASTY_CALLS ? weir_proceed() : weir_idle();
    if (self->calls == HASTY_CALLS)
        atomic_fetch_add(self->done, 1);
    return WEIR_OK;
}

/* Permits and deadlines come together all the time; whoever was given a permit says
 * so. */
WEIR_TEST(gate, loses_no_permit_to_a_deadline)
{
    static struct hasty hasty[HASTY_COUNT];
    _Atomic uint32_t done = 0;
    uint32_t admitted = 0;
    struct actor nobody = {.name = "hasty"};
    struct script script;
    script_open(&script, ON_THREADS);
    struct weir_gate *gate = script_gate(&script, 1);
    for (size_t i = 0; i < HASTY_COUNT; i++) {
        struct weir_worker_options options = script_options(&nobody);
        struct weir_notifier *bell = script_bell(&script);

        hasty[i] = (struct hasty){.gate = gate, .done = &done};
        options.action = ask_hastily;
        options.state = &hasty[i];
        options.notifiers = &bell;
        options.notifier_count = 1;
        script_spawn(&script, &options);
    }

    while (atomic_load(&done) < HASTY_COUNT)
        (void)sched_yield();
    check_int(weir_ward_stop(script.ward, LONG), 0);

    for (size_t i = 0; i < HASTY_COUNT; i++) {
        check_int(hasty[i].strange, 0);
        admitted += hasty[i].admitted;
    }
    check_int(gate_now(gate).admitted_total, admitted);
    check_int(gate_now(gate).inside, 0);
    check_int(gate_now(gate).waiting, 0);
    script_close(&script);
}
