/*
 * Tests of ward/sim.c: virtual time, order by seed, and fibers that come and go.
 */
#include "ward/sim.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/heap.h"
#include "base/random.h"
#include "kit/sim/script.h"
#include "kit/test.h"
#include "ward/system.h"
#include "weir/runtime.h"

/* ---- small things to put on a simulation ------------------------------------------- */

static struct weir_sim *new_sim(uint64_t seed, const struct weir_heap *heap)
{
    struct weir_sim_options options = {.heap = heap, .seed = seed};
    struct weir_sim *sim;

    check_status(weir_sim_create(&options, &sim, NULL), WEIR_OK);
    return sim;
}

static struct weir_ward *new_ward(struct weir_sim *sim, const char *name)
{
    struct weir_ward *ward;

    check_status(weir_ward_create(weir_sim_executor(sim),
                                  &(struct weir_ward_options){.name = name}, &ward, NULL),
                 WEIR_OK);
    return ward;
}

static struct weir_notifier *new_notifier(struct weir_sim *sim)
{
    struct weir_notifier *notifier;

    check_status(weir_notifier_create(weir_sim_executor(sim), &notifier), WEIR_OK);
    return notifier;
}

static struct weir_gate *new_gate(struct weir_sim *sim, uint32_t permits)
{
    struct weir_gate *gate;

    check_status(weir_gate_create(weir_sim_executor(sim), permits, &gate, NULL), WEIR_OK);
    return gate;
}

/* A worker on one notifier that waits for a signal after errors too. */
static struct weir_worker_options plain(const char *name, weir_action_fn action,
                                        void *state, struct weir_notifier *const *bell)
{
    struct weir_worker_options options;

    weir_worker_options_init(&options);
    options.name = name;
    options.action = action;
    options.state = state;
    options.notifiers = bell;
    options.notifier_count = 1;
    options.pace = weir_pace_none();
    options.backoff = weir_backoff_none();
    options.on_error = WEIR_ON_ERROR_WAIT_FOR_SIGNAL;
    return options;
}

static void spawn(struct weir_ward *ward, const struct weir_worker_options *options)
{
    check_status(weir_ward_spawn(ward, options, NULL, NULL), WEIR_OK);
}

static enum weir_status count_call(struct weir_context *context, void *state,
                                   struct weir_directive *out, struct weir_error *error)
{
    uint64_t *calls = state;

    (void)context;
    (void)out;
    (void)error;
    ++*calls;
    return WEIR_OK;
}

/* ---- same seed, same run ----------------------------------------------------------- */

enum { TROUPE = 12, TRACE_MAX = 20000 };

/* One line of a run: who did what, and when. */
struct line {
    int64_t at_ns;
    uint32_t who;
    uint32_t what;
};

struct run {
    struct weir_sim *sim;
    struct weir_gate *gates[2];
    struct weir_notifier *bells[3];
    struct line lines[TRACE_MAX];
    size_t line_count;
    uint64_t steps;
};

struct player {
    struct run *run;
    uint32_t number;
    struct weir_random random; /* its own, so that its choices depend on its calls only */
};

static void write_line(struct player *self, struct weir_context *context, uint32_t what)
{
    struct run *run = self->run;

    if (run->line_count < TRACE_MAX)
        run->lines[run->line_count++] = (struct line){
            .at_ns = weir_context_now(context), .who = self->number, .what = what};
}

/* Does one of everything that the runtime offers, as its own dice say. */
static enum weir_status play(struct weir_context *context, void *state,
                             struct weir_directive *out, struct weir_error *error)
{
    struct player *self = state;
    uint32_t what = weir_random_below(&self->random, 9);
    int64_t soon_ns = weir_context_now(context) + MS(3);

    write_line(self, context, what);
    switch (what) {
    case 0:
        *out = weir_proceed();
        break;
    case 1:
        *out = weir_sleep_for(MS(1 + weir_random_below(&self->random, 20)));
        break;
    case 2:
        weir_sleep_through(context, MS(weir_random_below(&self->random, 10)));
        break;
    case 3:
        weir_notifier_notify_all(self->run->bells[weir_random_below(&self->random, 3)]);
        break;
    case 4:
        if (weir_gate_enter(self->run->gates[1], context, soon_ns) == WEIR_OK) {
            weir_sleep_through(context, MS(1));
            weir_gate_leave(self->run->gates[1]);
        }
        break;
    case 5:
        (void)!weir_notifier_wait(self->run->bells[0], context, soon_ns);
        break;
    case 6:
        weir_panic(context, "player %u", self->number);
    case 7:
        return weir_error_set(error, WEIR_FAILED, "player %u", self->number);
    default:
        weir_notifier_notify_one(self->run->bells[weir_random_below(&self->random, 3)]);
        break;
    }
    write_line(self, context, 100 + what);
    return WEIR_OK;
}

/* A ward with shared gates, notifiers, errors and panics, for five virtual seconds. */
static void run_troupe(struct run *run, uint64_t seed)
{
    struct player players[TROUPE];
    struct weir_poker *poker;
    struct weir_ward *ward;
    char name[16];

    memset(run, 0, sizeof *run);
    run->sim = new_sim(seed, NULL);
    ward = new_ward(run->sim, "troupe");
    run->gates[0] = new_gate(run->sim, 3);
    run->gates[1] = new_gate(run->sim, 2);
    for (size_t i = 0; i < 3; i++)
        run->bells[i] = new_notifier(run->sim);
    check_status(weir_poker_create(ward, MS(50), &poker, NULL), WEIR_OK);
    for (uint32_t i = 0; i < TROUPE; i++) {
        struct weir_notifier *ears[] = {run->bells[i % 3], weir_poker_notifier(poker)};
        struct weir_worker_options options = plain(name, play, &players[i], ears);

        players[i] = (struct player){.run = run, .number = i};
        weir_random_init(&players[i].random, i);
        (void)snprintf(name, sizeof name, "player-%u", i);
        options.notifier_count = 2;
        options.shared = i % 2 == 0 ? run->gates[0] : NULL;
        options.on_panic = WEIR_ON_PANIC_RETRY;
        options.on_error = WEIR_ON_ERROR_RETRY;
        options.backoff = (struct weir_backoff){MS(2), MS(40), 2.0, 0.5};
        options.worker_class = i % 5 == 0 ? WEIR_WORKER_RESERVED : WEIR_WORKER_COMMON;
        spawn(ward, &options);
    }

    weir_sim_run_until(run->sim, WEIR_SECONDS(5));

    check_int(weir_ward_stop(ward, WEIR_SECONDS(1)), 0);
    run->steps = weir_sim_steps(run->sim);
    weir_poker_destroy(poker);
    weir_ward_destroy(ward);
    for (size_t i = 0; i < 3; i++)
        weir_notifier_destroy(run->bells[i]);
    for (size_t i = 0; i < 2; i++)
        weir_gate_destroy(run->gates[i]);
    weir_sim_destroy(run->sim);
}

static bool same_lines(const struct run *a, const struct run *b)
{
    if (a->line_count != b->line_count)
        return false;
    for (size_t i = 0; i < a->line_count; i++) {
        if (a->lines[i].at_ns != b->lines[i].at_ns ||
            a->lines[i].who != b->lines[i].who || a->lines[i].what != b->lines[i].what)
            return false;
    }
    return true;
}

static struct run runs[2]; /* too large for a stack */

WEIR_TEST(sim, same_seed_gives_the_same_run)
{
    for (uint64_t seed = 1; seed <= 5; seed++) {
        run_troupe(&runs[0], seed);
        run_troupe(&runs[1], seed);

        check(runs[0].line_count > 1000);
        check(same_lines(&runs[0], &runs[1]));
        check_int(runs[0].steps, runs[1].steps);
    }
}

WEIR_TEST(sim, different_seeds_give_different_runs)
{
    run_troupe(&runs[0], 1);

    for (uint64_t seed = 2; seed <= 6; seed++) {
        run_troupe(&runs[1], seed);
        check(!same_lines(&runs[0], &runs[1]));
    }
}

/* Three are ready at once. Each of the six orders turns up for some seed. */
struct order {
    char words[8];
};

static enum weir_status say_name(struct weir_context *context, void *state,
                                 struct weir_directive *out, struct weir_error *error)
{
    struct order *order = state;

    (void)out;
    (void)error;
    strncat(order->words, weir_worker_name(weir_context_worker(context)), 1);
    return WEIR_OK;
}

WEIR_TEST(sim, every_order_of_ready_workers_has_its_seed)
{
    static const char *const all[] = {"abc", "acb", "bac", "bca", "cab", "cba"};
    static const char *const names[] = {"a", "b", "c"};
    uint32_t seen[6] = {0};

    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct weir_sim *sim = new_sim(seed, NULL);
        struct weir_ward *ward = new_ward(sim, "three");
        struct weir_notifier *bell = new_notifier(sim);
        struct order order = {""};

        for (size_t i = 0; i < 3; i++) {
            struct weir_worker_options options = plain(names[i], say_name, &order, &bell);
            spawn(ward, &options);
        }
        check(weir_sim_run_until_quiet(sim, WEIR_FOREVER));
        weir_notifier_notify_all(bell);
        check(weir_sim_run_until_quiet(sim, WEIR_FOREVER));
        for (size_t i = 0; i < 6; i++)
            seen[i] += strcmp(order.words, all[i]) == 0;
        weir_ward_destroy(ward);
        weir_notifier_destroy(bell);
        weir_sim_destroy(sim);
    }

    check_int(seen[0] + seen[1] + seen[2] + seen[3] + seen[4] + seen[5], 200);
    for (size_t i = 0; i < 6; i++)
        check(seen[i] > 10);
}

/* ---- time -------------------------------------------------------------------------- */

/* Nothing is claimed about the real time; it is printed for people. */
WEIR_TEST(sim, thirty_days_of_a_poke_a_minute_are_counted_exactly)
{
    int64_t began_ns = weir_system_now_ns();
    struct weir_sim *sim = new_sim(1, NULL);
    struct weir_ward *ward = new_ward(sim, "month");
    struct weir_worker_options options;
    struct weir_poker *poker;
    struct weir_notifier *bell;
    uint64_t calls = 0;
    check_status(weir_poker_create(ward, WEIR_MINUTES(1), &poker, NULL), WEIR_OK);
    bell = weir_poker_notifier(poker);
    options = plain("minutely", count_call, &calls, &bell);
    spawn(ward, &options);

    weir_sim_run_until(sim, WEIR_HOURS(24 * 30));

    check_int(calls, 30 * 24 * 60);
    check_int(weir_sim_now(sim), WEIR_HOURS(24 * 30));
    printf("# thirty virtual days took %lld ms\n",
           (long long)(weir_system_now_ns() - began_ns) / 1000000);
    weir_poker_destroy(poker);
    weir_ward_destroy(ward);
    weir_sim_destroy(sim);
}

WEIR_TEST(sim, begins_at_zero_and_run_until_moves_the_clock_without_events)
{
    struct weir_sim *sim = new_sim(1, NULL);

    check_int(weir_sim_now(sim), 0);
    weir_sim_run_until(sim, 12345);

    check_int(weir_sim_now(sim), 12345);
    check_int(weir_executor_now(weir_sim_executor(sim)), 12345);
    check_int(weir_sim_steps(sim), 0);
    weir_sim_destroy(sim);
}

WEIR_TEST(sim, run_until_includes_what_happens_at_exactly_that_time)
{
    struct script script;
    script_open(&script, IN_SIMULATION);
    struct actor actor = {ACTS(ACT(ACT_SLEEP, .sleep_ns = MS(10)))};
    struct weir_notifier *bell = script_bell(&script);
    script_add_worker(&script, &actor, &bell, 1);

    weir_sim_run_until(script.sim, 0);
    check_int(actor.calls, 1);
    weir_sim_run_until(script.sim, MS(10) - 1);
    check_int(actor.calls, 1);
    weir_sim_run_until(script.sim, MS(10));
    check_int(actor.calls, 2);

    check_int(actor.begun_ns[1], MS(10));
    script_close(&script);
}

/* Whatever follows from an event at that time, at that time, is included as well. */
WEIR_TEST(sim, run_until_includes_the_whole_chain_at_that_time)
{
    struct script script;
    script_open(&script, IN_SIMULATION);
    struct weir_gate *gate = script_gate(&script, 1);
    struct weir_notifier *bell = script_notifier(&script);
    struct actor actors[5];
    const struct act work[] = {ACT(ACT_IDLE, .work_ns = 0)};
    for (size_t i = 0; i < 5; i++) {
        actors[i] = (struct actor){.acts = work, .act_count = 1};
        struct weir_worker_options options = script_options(&actors[i]);
        options.shared = gate;
        options.notifiers = &bell;
        options.notifier_count = 1;
        script_spawn(&script, &options);
    }

    script_play(&script, CUES({MS(7), cue_notify_all, bell}));

    check_int(weir_sim_now(script.sim), MS(7));
    for (size_t i = 0; i < 5; i++)
        check_int(actors[i].calls, 1);
    script_close(&script);
}

WEIR_TEST(sim, run_until_a_time_that_has_passed_runs_what_is_ready_and_keeps_the_time)
{
    struct script script;
    script_open(&script, IN_SIMULATION);
    struct actor actor = {ACTS(ACT(ACT_IDLE, .work_ns = 0))};
    struct weir_notifier *bell = script_notifier(&script);
    script_add_worker(&script, &actor, &bell, 1);
    weir_sim_run_until(script.sim, MS(20));
    weir_notifier_notify_one(bell);

    weir_sim_run_until(script.sim, MS(10));

    check_int(actor.calls, 1);
    check_int(weir_sim_now(script.sim), MS(20));
    check(weir_sim_run_until_quiet(script.sim, MS(10)));
    check_int(weir_sim_now(script.sim), MS(20));
    script_close(&script);
}

WEIR_TEST(sim, time_never_goes_back)
{
    for (uint64_t seed = 1; seed <= 3; seed++) {
        run_troupe(&runs[0], seed);

        for (size_t i = 1; i < runs[0].line_count; i++)
            check(runs[0].lines[i].at_ns >= runs[0].lines[i - 1].at_ns);
    }
}

WEIR_TEST(sim, is_quiet_when_everybody_idles)
{
    struct script script;
    script_open(&script, IN_SIMULATION);
    struct actor actor = {ACTS(ACT(ACT_PROCEED, .work_ns = MS(1)),
                               ACT(ACT_SLEEP, .sleep_ns = MS(2)),
                               ACT(ACT_IDLE, .work_ns = MS(3)))};
    struct weir_notifier *bell = script_bell(&script);
    script_add_worker(&script, &actor, &bell, 1);

    check(weir_sim_run_until_quiet(script.sim, WEIR_FOREVER));

    check_int(weir_sim_now(script.sim), MS(6));
    check_int(actor.calls, 3);
    script_close(&script);
}

WEIR_TEST(sim, is_not_quiet_while_a_timer_is_beyond_the_limit)
{
    struct script script;
    script_open(&script, IN_SIMULATION);
    struct actor actor = {ACTS(ACT(ACT_SLEEP, .sleep_ns = MS(10)))};
    struct weir_notifier *bell = script_bell(&script);
    script_add_worker(&script, &actor, &bell, 1);

    check(!weir_sim_run_until_quiet(script.sim, MS(35)));

    check_int(actor.calls, 4); /* at 0, 10, 20 and 30 ms */
    check(weir_sim_now(script.sim) <= MS(35));
    weir_ward_cancel(script.ward);
    check(weir_sim_run_until_quiet(script.sim, MS(35)));
    script_close(&script);
}

/* ---- waits inside actions interleave ----------------------------------------------- */

struct setup {
    struct weir_sim *sim;
    struct weir_gate *gate;
    struct weir_notifier *bell;
    char words[512];
};

__attribute__((format(printf, 3, 4))) static void
note(struct setup *self, struct weir_context *context, const char *format, ...)
{
    size_t used = strlen(self->words);
    va_list arguments;

    used += (size_t)snprintf(self->words + used, sizeof self->words - used,
                             "%s%lld:", used > 0 ? " " : "",
                             (long long)(weir_context_now(context) / 1000000));
    va_start(arguments, format);
    (void)vsnprintf(self->words + used, sizeof self->words - used, format, arguments);
    va_end(arguments);
}

/* Holds the permit from 0 to 20 ms. */
static enum weir_status hold_gate(struct weir_context *context, void *state,
                                  struct weir_directive *out, struct weir_error *error)
{
    struct setup *setup = state;

    (void)out;
    (void)error;
    if (weir_gate_enter(setup->gate, context, WEIR_FOREVER) != WEIR_OK)
        return WEIR_FAILED;
    weir_sleep_through(context, MS(20));
    note(setup, context, "leaves");
    weir_gate_leave(setup->gate);
    weir_sleep_through(context, MS(10));
    note(setup, context, "rings");
    weir_notifier_notify_one(setup->bell);
    return WEIR_OK;
}

/* Waits for time, then for the permit, then for the bell. */
static enum weir_status wait_thrice(struct weir_context *context, void *state,
                                    struct weir_directive *out, struct weir_error *error)
{
    struct setup *setup = state;

    (void)out;
    (void)error;
    weir_sleep_through(context, MS(10));
    note(setup, context, "asks");
    if (weir_gate_enter(setup->gate, context, WEIR_FOREVER) != WEIR_OK)
        return WEIR_FAILED;
    note(setup, context, "enters");
    if (weir_notifier_wait(setup->bell, context, WEIR_FOREVER) != WEIR_OK)
        return WEIR_FAILED;
    note(setup, context, "hears");
    weir_gate_leave(setup->gate);
    return WEIR_OK;
}

/* Does not want to wait for long. */
static enum weir_status give_up(struct weir_context *context, void *state,
                                struct weir_directive *out, struct weir_error *error)
{
    struct setup *setup = state;
    enum weir_status status;

    (void)out;
    (void)error;
    weir_sleep_through(context, MS(12));
    status = weir_gate_enter(setup->gate, context, weir_context_now(context) + MS(3));
    note(setup, context, "gate-%s", weir_status_name(status));
    status = weir_notifier_wait(setup->bell, context, weir_context_now(context) + MS(1));
    note(setup, context, "bell-%s", weir_status_name(status));
    return WEIR_OK;
}

WEIR_TEST(sim, waits_for_time_gate_and_notifier_interleave)
{
    struct setup setup = {.sim = new_sim(1, NULL)};
    struct weir_ward *ward = new_ward(setup.sim, "scene");
    struct weir_notifier *go = new_notifier(setup.sim);
    struct weir_worker_options holder = plain("holder", hold_gate, &setup, &go);
    struct weir_worker_options waiter = plain("waiter", wait_thrice, &setup, &go);
    struct weir_worker_options hasty = plain("hasty", give_up, &setup, &go);
    struct weir_gate_info info;
    setup.gate = new_gate(setup.sim, 1);
    setup.bell = new_notifier(setup.sim);
    spawn(ward, &holder);
    spawn(ward, &waiter);
    spawn(ward, &hasty);
    check(weir_sim_run_until_quiet(setup.sim, WEIR_FOREVER));

    weir_notifier_notify_all(go);
    weir_sim_run_until(setup.sim, MS(13));
    check_int(weir_sim_waiting(setup.sim), 3);
    check(weir_sim_run_until_quiet(setup.sim, WEIR_FOREVER));

    /* At 20 and 30 ms the one who acts goes on before the one who was woken. */
    check_str(setup.words, "10:asks 15:gate-TIMEOUT 16:bell-TIMEOUT 20:leaves 20:enters "
                           "30:rings 30:hears");
    check_int(weir_sim_waiting(setup.sim), 0);
    weir_gate_read(setup.gate, &info);
    check_int(info.inside, 0);
    weir_ward_destroy(ward);
    weir_notifier_destroy(go);
    weir_notifier_destroy(setup.bell);
    weir_gate_destroy(setup.gate);
    weir_sim_destroy(setup.sim);
}

/* ---- many -------------------------------------------------------------------------- */

WEIR_TEST(sim, ten_thousand_that_are_ready_at_once_all_run)
{
    enum { COUNT = 10000 };
    static uint64_t calls[COUNT];
    struct weir_sim *sim = new_sim(1, NULL);
    struct weir_ward *ward = new_ward(sim, "crowd");
    struct weir_notifier *bell = new_notifier(sim);
    memset(calls, 0, sizeof calls);
    for (size_t i = 0; i < COUNT; i++) {
        struct weir_worker_options options =
            plain("one-of-many", count_call, &calls[i], &bell);
        spawn(ward, &options);
    }
    check(weir_sim_run_until_quiet(sim, WEIR_FOREVER));
    check_int(weir_notifier_waiting(bell), COUNT);

    weir_notifier_notify_all(bell);
    check(weir_sim_run_until_quiet(sim, WEIR_FOREVER));

    for (size_t i = 0; i < COUNT; i++)
        check_int(calls[i], 1);
    check_int(weir_sim_now(sim), 0);
    check_int(weir_ward_stop(ward, 0), 0);
    weir_ward_destroy(ward);
    weir_notifier_destroy(bell);
    weir_sim_destroy(sim);
}

/* Each waits inside its action, so each needs a stack of its own, which is used again. */
WEIR_TEST(sim, hundreds_wait_inside_their_actions_at_once)
{
    enum { COUNT = 300, ROUNDS = 5 };
    static struct actor actors[COUNT];
    static const struct act work[] = {{.kind = ACT_IDLE, .work_ns = WEIR_HOURS(1)}};
    struct script script;
    script_open(&script, IN_SIMULATION);
    struct weir_notifier *bell = script_notifier(&script);
    for (size_t i = 0; i < COUNT; i++) {
        actors[i] = (struct actor){.acts = work, .act_count = 1};
        script_add_worker(&script, &actors[i], &bell, 1);
    }
    check(weir_sim_run_until_quiet(script.sim, WEIR_FOREVER));

    for (int round = 1; round <= ROUNDS; round++) {
        weir_notifier_notify_all(bell);
        weir_sim_run_until(script.sim, weir_sim_now(script.sim) + MS(1));
        check_int(weir_sim_waiting(script.sim), COUNT);
        check(weir_sim_run_until_quiet(script.sim, WEIR_FOREVER));
        check_int(weir_sim_waiting(script.sim), 0);
    }

    check_int(weir_sim_now(script.sim), ROUNDS * WEIR_HOURS(1));
    for (size_t i = 0; i < COUNT; i++)
        check_int(actors[i].calls, ROUNDS);
    script_close(&script);
}

/* ---- wards ------------------------------------------------------------------------- */

WEIR_TEST(sim, two_wards_share_the_clock_and_end_apart)
{
    struct weir_sim *sim = new_sim(1, NULL);
    struct weir_ward *wards[] = {new_ward(sim, "first"), new_ward(sim, "second")};
    uint64_t calls[2] = {0, 0};
    struct weir_poker *pokers[2];
    for (size_t i = 0; i < 2; i++) {
        struct weir_notifier *bell;
        struct weir_worker_options options;
        check_status(weir_poker_create(wards[i], MS(10), &pokers[i], NULL), WEIR_OK);
        bell = weir_poker_notifier(pokers[i]);
        options = plain("ticker", count_call, &calls[i], &bell);
        spawn(wards[i], &options);
    }

    weir_sim_run_until(sim, MS(100));
    check_int(weir_ward_stop(wards[0], WEIR_SECONDS(1)), 0);
    check_int(weir_sim_now(sim), MS(100)); /* nobody was running: no time was needed */
    weir_sim_run_until(sim, MS(200));

    check_int(calls[0], 10);
    check_int(calls[1], 20);
    check_int(weir_ward_count(wards[0]), 0);
    check_int(weir_ward_count(wards[1]), 1);
    for (size_t i = 0; i < 2; i++) {
        weir_poker_destroy(pokers[i]);
        weir_ward_destroy(wards[i]);
    }
    weir_sim_destroy(sim);
}

/* stop() itself makes the others run, in virtual time, until the grace is over. */
WEIR_TEST(sim, stop_waits_in_virtual_time_and_counts_the_unfinished)
{
    struct script script;
    script_open(&script, IN_SIMULATION);
    struct weir_notifier *bell = script_notifier(&script);
    struct actor actors[3];
    const struct act env[] = {ACT(ACT_IDLE, .work_ns = MS(5)),
                              ACT(ACT_IDLE, .work_ns = MS(50)),
                              ACT(ACT_IDLE, .work_ns = MS(500))};
    for (size_t i = 0; i < 3; i++) {
        actors[i] = (struct actor){.acts = &env[i], .act_count = 1};
        script_add_worker(&script, &actors[i], &bell, 1);
    }
    check(weir_sim_run_until_quiet(script.sim, WEIR_FOREVER));
    weir_notifier_notify_all(bell);
    weir_sim_run_until(script.sim, MS(1));

    check_int(weir_ward_stop(script.ward, MS(19)), 2);
    check_int(weir_sim_now(script.sim), MS(20));
    check_int(weir_ward_stop(script.ward, 0), 2);
    check_int(weir_ward_stop(script.ward, MS(80)), 1);
    check_int(weir_sim_now(script.sim), MS(100));
    check_int(weir_ward_stop(script.ward, WEIR_HOURS(1)), 0);

    check_int(weir_sim_now(script.sim), MS(500)); /* not a moment longer than needed */
    for (size_t i = 0; i < 3; i++)
        check(actors[i].saw_cancel);
    script_close(&script);
}

/* An action stops another ward and waits for it, on its fiber. */
struct stopper {
    struct weir_ward *other;
    size_t unfinished;
    int64_t done_ns;
};

static enum weir_status stop_other(struct weir_context *context, void *state,
                                   struct weir_directive *out, struct weir_error *error)
{
    struct stopper *self = state;

    (void)out;
    (void)error;
    self->unfinished = weir_ward_stop(self->other, MS(100));
    self->done_ns = weir_context_now(context);
    return WEIR_OK;
}

WEIR_TEST(sim, action_may_stop_another_ward_and_wait_for_it)
{
    struct script script;
    script_open(&script, IN_SIMULATION);
    struct actor actor = {ACTS(ACT(ACT_IDLE, .work_ns = MS(30)))};
    struct weir_notifier *bells[] = {script_bell(&script), script_notifier(&script)};
    struct stopper stopper = {.other = script.ward};
    struct weir_worker_options options =
        plain("stopper", stop_other, &stopper, &bells[1]);
    spawn(script.backstage, &options);
    script_add_worker(&script, &actor, &bells[0], 1);
    weir_sim_run_until(script.sim, MS(10));

    weir_notifier_notify_one(bells[1]);
    check(weir_sim_run_until_quiet(script.sim, WEIR_FOREVER));

    check_int(stopper.unfinished, 0);
    check_int(stopper.done_ns, MS(30));
    check(actor.saw_cancel);
    script_close(&script);
}

/* ---- a power cut ------------------------------------------------------------------- */

enum where { IN_SLEEP, IN_GATE, IN_NOTIFIER, IN_STOP, IN_GUARD, NOWHERE, WHERE_COUNT };

struct wreck;

struct sailor {
    struct wreck *wreck;
    enum where where;
};

struct wreck {
    struct weir_faulty_heap heap;
    struct weir_sim *sim;
    struct weir_ward *ward;
    struct weir_ward *other; /* with one worker, asleep */
    struct weir_gate *full;
    struct weir_gate *narrow; /* for the last two: one of them stands in line */
    struct weir_notifier *never;
    struct weir_notifier *bell;
    struct weir_notifier *bell_of_other;
    struct weir_worker *handle;
    struct sailor sailors[WHERE_COUNT + 2];
    struct sailor sailor_of_other;

    uint32_t begun;
    uint32_t swept;
    uint32_t returned;
    uint32_t ends[3]; /* by outcome */
};

static void sweep(void *argument, bool panicked)
{
    struct wreck *wreck = argument;

    (void)panicked;
    wreck->swept++;
}

static enum weir_status sleep_for_ever(struct weir_context *context, void *argument,
                                       struct weir_error *error)
{
    (void)error;
    if (weir_defer(context, sweep, argument) != WEIR_OK)
        return WEIR_NO_MEMORY;
    return weir_sleep(context, WEIR_HOURS(1));
}

static enum weir_status sail(struct weir_context *context, void *state,
                             struct weir_directive *out, struct weir_error *error)
{
    struct sailor *self = state;
    struct wreck *wreck = self->wreck;

    (void)out;
    wreck->begun++;
    if (weir_context_alloc(context, 5000) == NULL ||
        weir_defer(context, sweep, wreck) != WEIR_OK)
        return WEIR_NO_MEMORY;
    switch (self->where) {
    case IN_SLEEP:
        weir_sleep_through(context, WEIR_HOURS(1));
        break;
    case IN_GATE:
        (void)!weir_gate_enter(wreck->full, context, WEIR_FOREVER);
        break;
    case IN_NOTIFIER:
        (void)!weir_notifier_wait(wreck->never, context, WEIR_HOURS(1));
        break;
    case IN_STOP:
        (void)weir_ward_stop(wreck->other, WEIR_HOURS(1));
        break;
    case IN_GUARD:
        (void)!weir_guard(context, sleep_for_ever, wreck, error);
        break;
    case NOWHERE:
    case WHERE_COUNT:
        break;
    }
    wreck->returned++;
    return WEIR_OK;
}

static void hear_end(void *state, const struct weir_worker_end *end)
{
    struct wreck *wreck = state;

    wreck->ends[end->outcome]++;
}

static void wreck_man(struct wreck *self, size_t number)
{
    struct sailor *sailor = &self->sailors[number];
    struct weir_worker_options options = plain("sailor", sail, sailor, &self->bell);
    bool extra = number >= WHERE_COUNT;

    *sailor =
        (struct sailor){.wreck = self, .where = extra ? IN_SLEEP : (enum where)number};
    if (extra)
        options.shared = self->narrow;
    check_status(weir_ward_spawn(self->ward, &options,
                                 number == IN_SLEEP ? &self->handle : NULL, NULL),
                 WEIR_OK);
}

static void wreck_open(struct wreck *self)
{
    struct weir_ward_options ward = {.name = "ship", .on_end = hear_end, .state = self};
    struct weir_worker_options options;

    memset(self, 0, sizeof *self);
    weir_faulty_heap_init(&self->heap);
    self->sim = new_sim(1, &self->heap.heap);
    check_status(weir_ward_create(weir_sim_executor(self->sim), &ward, &self->ward, NULL),
                 WEIR_OK);
    self->other = new_ward(self->sim, "other");
    self->full = new_gate(self->sim, 1);
    check(weir_gate_try_enter(self->full));
    self->narrow = new_gate(self->sim, 1);
    self->never = new_notifier(self->sim);
    self->bell = new_notifier(self->sim);
    self->bell_of_other = new_notifier(self->sim);
    for (size_t i = 0; i < WHERE_COUNT + 2; i++)
        wreck_man(self, i);
    self->sailor_of_other = (struct sailor){.wreck = self, .where = IN_SLEEP};
    options = plain("other", sail, &self->sailor_of_other, &self->bell_of_other);
    spawn(self->other, &options);
}

/* One action waits in each place where an action can wait, and one more, with a worker in
 * line behind it; one idles again. */
static void wreck_set_sail(struct wreck *self)
{
    weir_notifier_notify_one(self->bell_of_other); /* before somebody stops its ward */
    check(!weir_sim_run_until_quiet(self->sim, MS(1)));
    weir_notifier_notify_all(self->bell);
    weir_sim_run_until(self->sim, MS(5));

    check_int(self->begun, 1 + WHERE_COUNT + 1);
    check_int(self->returned, 1);
    check_int(self->swept, 1);
    check_int(weir_sim_waiting(self->sim), 1 + WHERE_COUNT);
}

/* All but the simulation. */
static void wreck_give_up(struct wreck *self)
{
    weir_ward_destroy(self->ward);
    weir_ward_destroy(self->other);
    weir_worker_release(self->handle);
    weir_notifier_destroy(self->bell);
    weir_notifier_destroy(self->bell_of_other);
    weir_notifier_destroy(self->never);
    weir_gate_destroy(self->narrow);
    weir_gate_destroy(self->full);
}

/* Nobody has moved since, all memory is back, and the ward has heard of everybody. */
static void check_sunk(const struct wreck *self)
{
    check_int(self->swept, 1);
    check_int(self->returned, 1);
    check_int(self->ends[WEIR_WORKER_DROPPED], WHERE_COUNT);
    check_int(self->ends[WEIR_WORKER_FINISHED], 2); /* who idled, and who stood in line */
    check_int(self->heap.outstanding, 0);
}

WEIR_TEST(sim, destroying_it_drops_actions_in_the_middle_without_their_cleanups)
{
    struct wreck wreck;
    wreck_open(&wreck);
    wreck_set_sail(&wreck);

    weir_sim_destroy(wreck.sim);
    wreck_give_up(&wreck);

    check_sunk(&wreck);
}

WEIR_TEST(sim, destroying_it_after_its_wards_drops_actions_in_the_middle_as_well)
{
    struct wreck wreck;
    wreck_open(&wreck);
    wreck_set_sail(&wreck);

    wreck_give_up(&wreck);
    weir_sim_destroy(wreck.sim);

    check_sunk(&wreck);
}

WEIR_TEST(sim, destroying_it_before_anything_ran_leaves_nothing)
{
    struct weir_faulty_heap heap;
    weir_faulty_heap_init(&heap);
    struct weir_sim *sim = new_sim(1, &heap.heap);
    struct weir_ward *ward = new_ward(sim, "early");
    struct weir_notifier *bell = new_notifier(sim);
    uint64_t calls = 0;
    struct weir_worker_options options = plain("early", count_call, &calls, &bell);
    struct weir_poker *poker;
    check_status(weir_poker_create(ward, MS(1), &poker, NULL), WEIR_OK);
    weir_notifier_notify_one(bell);
    spawn(ward, &options);

    weir_sim_destroy(sim);
    weir_poker_destroy(poker);
    weir_ward_destroy(ward);
    weir_notifier_destroy(bell);

    check_int(calls, 0);
    check_int(heap.outstanding, 0);
}

WEIR_TEST(sim, destroying_none_is_fine)
{
    weir_sim_destroy(NULL);
}

/* ---- without memory ---------------------------------------------------------------- */

/* A new stack takes memory; a worker that is ready without one runs when there is
 * some. */
WEIR_TEST(sim, ready_worker_waits_for_memory_and_is_not_forgotten)
{
    struct weir_faulty_heap heap;
    weir_faulty_heap_init(&heap);
    struct weir_sim *sim = new_sim(1, &heap.heap);
    struct weir_ward *ward = new_ward(sim, "poor");
    struct weir_notifier *bell = new_notifier(sim);
    uint64_t calls = 0;
    struct weir_worker_options options = plain("poor", count_call, &calls, &bell);
    spawn(ward, &options);
    weir_notifier_notify_one(bell);

    heap.fail_after_too = 1;
    weir_faulty_heap_fail_at(&heap, 1);
    weir_sim_run_until(sim, MS(10));
    check_int(calls, 0);
    weir_faulty_heap_fail_at(&heap, 0);
    weir_sim_run_until(sim, MS(20));

    check_int(calls, 1);
    weir_ward_destroy(ward);
    weir_notifier_destroy(bell);
    weir_sim_destroy(sim);
    check_int(heap.outstanding, 0);
}
