/*
 * test_notifier_wait.c - actions that wait for a signal, by weir_notifier_wait().
 */
#include <sched.h>

#include "unit/ward/worker_fixture.h"

struct waiter {
    struct weir_notifier *notifier;
    int64_t wait_limit_ns; /* WEIR_FOREVER: no deadline */
    bool cancels_itself;   /* before it waits */
    enum weir_status answer;
    int64_t answered_ns;
};

static enum weir_status wait_inside(struct weir_context *context, void *state,
                                    struct weir_directive *out, struct weir_error *error)
{
    struct waiter *self = state;
    int64_t deadline_ns = self->wait_limit_ns == WEIR_FOREVER
                              ? WEIR_FOREVER
                              : weir_context_now(context) + self->wait_limit_ns;

    (void)error;
    if (self->cancels_itself)
        weir_worker_cancel(weir_context_worker(context));
    self->answer = weir_notifier_wait(self->notifier, context, deadline_ns);
    self->answered_ns = weir_context_now(context);
    *out = weir_sleep_for(LONG);
    return WEIR_OK;
}

/* A scene whose actor begins to wait at once, for a notifier of its own. */
static void waiter_open(struct waiter *self, struct worker_fixture *worker_fixture,
                        struct actor *nobody)
{
    worker_fixture_open(worker_fixture, IN_SIMULATION, nobody);
    self->notifier = script_notifier(&worker_fixture->script);
    self->answer = WEIR_STATUS_COUNT;
    worker_fixture->options.action = wait_inside;
    worker_fixture->options.state = self;
}

WEIR_TEST(notifier, ends_the_wait_of_an_action)
{
    struct waiter waiter = {.wait_limit_ns = WEIR_FOREVER};
    struct actor nobody = {ACTS(IDLE)};
    struct worker_fixture worker_fixture;
    waiter_open(&waiter, &worker_fixture, &nobody);

    worker_fixture_play(&worker_fixture, CUES({MS(30), cue_notify, waiter.notifier},
                                              CANCEL_AT(worker_fixture, MS(50))));

    check_status(waiter.answer, WEIR_OK);
    check_int(waiter.answered_ns, MS(30));
    check(!weir_notifier_stored(waiter.notifier));
    worker_fixture_close(&worker_fixture);
}

WEIR_TEST(notifier, ends_the_wait_of_an_action_when_it_wakes_all)
{
    struct waiter waiter = {.wait_limit_ns = WEIR_FOREVER};
    struct actor nobody = {ACTS(IDLE)};
    struct worker_fixture worker_fixture;
    waiter_open(&waiter, &worker_fixture, &nobody);

    worker_fixture_play(&worker_fixture, CUES({MS(30), cue_notify_all, waiter.notifier},
                                              CANCEL_AT(worker_fixture, MS(50))));

    check_status(waiter.answer, WEIR_OK);
    check_int(waiter.answered_ns, MS(30));
    worker_fixture_close(&worker_fixture);
}

WEIR_TEST(notifier, lets_an_action_wait_no_longer_than_its_deadline)
{
    struct waiter waiter = {.wait_limit_ns = MS(20)};
    struct actor nobody = {ACTS(IDLE)};
    struct worker_fixture worker_fixture;
    waiter_open(&waiter, &worker_fixture, &nobody);

    worker_fixture_play(&worker_fixture, CUES({MS(30), cue_notify, waiter.notifier},
                                              CANCEL_AT(worker_fixture, MS(50))));

    check_status(waiter.answer, WEIR_TIMEOUT);
    check_int(waiter.answered_ns, MS(20));
    check(weir_notifier_stored(waiter.notifier)); /* the signal found nobody any more */
    worker_fixture_close(&worker_fixture);
}

WEIR_TEST(notifier, answers_at_once_when_the_deadline_has_passed)
{
    struct waiter waiter = {.wait_limit_ns = -MS(1)};
    struct actor nobody = {ACTS(IDLE)};
    struct worker_fixture worker_fixture;
    waiter_open(&waiter, &worker_fixture, &nobody);

    worker_fixture_play(&worker_fixture, CUES(CANCEL_AT(worker_fixture, MS(50))));

    check_status(waiter.answer, WEIR_TIMEOUT);
    check_int(waiter.answered_ns, 0);
    worker_fixture_close(&worker_fixture);
}

WEIR_TEST(notifier, lets_an_action_wait_no_longer_than_its_cancel)
{
    struct waiter waiter = {.wait_limit_ns = WEIR_FOREVER};
    struct actor nobody = {ACTS(IDLE)};
    struct worker_fixture worker_fixture;
    waiter_open(&waiter, &worker_fixture, &nobody);

    worker_fixture_play(&worker_fixture, CUES(CANCEL_AT(worker_fixture, MS(30))));

    check_status(waiter.answer, WEIR_CANCELLED);
    check_int(waiter.answered_ns, MS(30));
    check_int(weir_notifier_waiting(waiter.notifier), 0);
    worker_fixture_close(&worker_fixture);
}

WEIR_TEST(notifier, does_not_let_an_action_wait_that_is_cancelled_already)
{
    struct waiter waiter = {.wait_limit_ns = WEIR_FOREVER, .cancels_itself = true};
    struct actor nobody = {ACTS(IDLE)};
    struct worker_fixture worker_fixture;
    waiter_open(&waiter, &worker_fixture, &nobody);

    worker_fixture_play(&worker_fixture, CUES(CANCEL_AT(worker_fixture, MS(50))));

    check_status(waiter.answer, WEIR_CANCELLED);
    check_int(waiter.answered_ns, 0);
    worker_fixture_close(&worker_fixture);
}

WEIR_TEST(notifier, gives_its_stored_permit_to_an_action_at_once)
{
    struct waiter waiter = {.wait_limit_ns = -MS(1)};
    struct actor nobody = {ACTS(IDLE)};
    struct worker_fixture worker_fixture;
    waiter_open(&waiter, &worker_fixture, &nobody);
    weir_notifier_notify_one(waiter.notifier);

    worker_fixture_play(&worker_fixture, CUES(CANCEL_AT(worker_fixture, MS(50))));

    check_status(waiter.answer, WEIR_OK);
    check_int(waiter.answered_ns, 0);
    check(!weir_notifier_stored(waiter.notifier));
    worker_fixture_close(&worker_fixture);
}

WEIR_TEST(notifier, gives_its_stored_permit_even_to_an_action_that_is_cancelled)
{
    struct waiter waiter = {.wait_limit_ns = WEIR_FOREVER, .cancels_itself = true};
    struct actor nobody = {ACTS(IDLE)};
    struct worker_fixture worker_fixture;
    waiter_open(&waiter, &worker_fixture, &nobody);
    weir_notifier_notify_one(waiter.notifier);

    worker_fixture_play(&worker_fixture, CUES(CANCEL_AT(worker_fixture, MS(50))));

    check_status(waiter.answer, WEIR_OK);
    check(!weir_notifier_stored(waiter.notifier));
    worker_fixture_close(&worker_fixture);
}

/* Workers that idle and actions that wait stand in the same line. */
WEIR_TEST(notifier, serves_workers_and_actions_in_the_order_they_came)
{
    struct waiter waiter = {.wait_limit_ns = WEIR_FOREVER};
    struct actor nobody = {ACTS(IDLE)};
    struct actor before = {ACTS(IDLE), .name = "before"};
    struct actor after = {ACTS(IDLE), .name = "after"};
    struct worker_fixture worker_fixture;
    waiter_open(&waiter, &worker_fixture, &nobody);
    struct weir_sim *sim = worker_fixture.script.sim;
    script_add_worker(&worker_fixture.script, &before, &waiter.notifier, 1);
    weir_sim_run_until(sim, MS(1));
    worker_fixture_spawn(&worker_fixture);
    weir_sim_run_until(sim, MS(2));
    script_add_worker(&worker_fixture.script, &after, &waiter.notifier, 1);
    weir_sim_run_until(sim, MS(3));
    check_int(weir_notifier_waiting(waiter.notifier), 3);

    weir_notifier_notify_one(waiter.notifier);
    weir_sim_run_until(sim, MS(4));
    check_int(before.calls, 1);
    check_status(waiter.answer, WEIR_STATUS_COUNT);
    weir_notifier_notify_one(waiter.notifier);
    weir_sim_run_until(sim, MS(5));

    check_status(waiter.answer, WEIR_OK);
    check_int(after.calls, 0);
    worker_fixture_close(&worker_fixture);
}

/* The signal came first, so it is not lost on one who then says that it was cancelled. */
WEIR_TEST(notifier, keeps_its_word_to_an_action_that_is_cancelled_right_after)
{
    struct waiter waiter = {.wait_limit_ns = WEIR_FOREVER};
    struct actor nobody = {ACTS(IDLE)};
    struct worker_fixture worker_fixture;
    waiter_open(&waiter, &worker_fixture, &nobody);
    worker_fixture_spawn(&worker_fixture);
    weir_sim_run_until(worker_fixture.script.sim, MS(1));
    check_int(weir_notifier_waiting(waiter.notifier), 1);

    weir_notifier_notify_one(waiter.notifier);
    weir_worker_cancel(worker_fixture.worker);
    weir_sim_run_until(worker_fixture.script.sim, MS(2));

    check_status(waiter.answer, WEIR_OK);
    check(!weir_notifier_stored(waiter.notifier));
    worker_fixture_close(&worker_fixture);
}

/* ---- on threads -------------------------------------------------------------------- */

/* Two actions answer each other, each on a thread of its own. */
struct player {
    struct weir_notifier *mine;
    struct weir_notifier *theirs;
    _Atomic uint32_t *finished;
    uint32_t rounds;
};

static enum weir_status play_ping_pong(struct weir_context *context, void *state,
                                       struct weir_directive *out,
                                       struct weir_error *error)
{
    struct player *self = state;

    (void)error;
    while (self->rounds < 1000 &&
           weir_notifier_wait(self->mine, context, WEIR_FOREVER) == WEIR_OK) {
        self->rounds++;
        weir_notifier_notify_one(self->theirs);
    }
    atomic_fetch_add(self->finished, 1);
    *out = weir_idle();
    return WEIR_OK;
}

WEIR_TEST(notifier, passes_signals_between_actions_on_threads)
{
    _Atomic uint32_t finished = 0;
    struct player players[2];
    struct actor nobody = {.name = "player"};
    struct script script;
    script_open(&script, ON_THREADS);
    struct weir_notifier *sides[] = {script_notifier(&script), script_notifier(&script)};
    for (size_t i = 0; i < 2; i++) {
        struct weir_worker_options options = script_options(&nobody);
        struct weir_notifier *start = script_bell(&script);

        players[i] = (struct player){sides[i], sides[1 - i], &finished, 0};
        options.action = play_ping_pong;
        options.state = &players[i];
        options.notifiers = &start;
        options.notifier_count = 1;
        script_spawn(&script, &options);
    }

    weir_notifier_notify_one(sides[0]);
    while (atomic_load(&finished) < 2)
        (void)sched_yield();

    check_int(weir_ward_stop(script.ward, LONG), 0);
    check_int(players[0].rounds, 1000);
    check_int(players[1].rounds, 1000);
    script_close(&script);
}
