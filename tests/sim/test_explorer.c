/*
 * test_explorer.c - random wards from a seed, and what must hold in every one of them.
 *
 * A seed makes a *world*: 2 to 50 workers with shared and tiered gates, shared
 * notifiers, paces, backoffs, and actions that work, wait, notify, fail, panic and
 * cancel each other. The world lives through three phases:
 *
 *   chaos   signals, cancels, permits taken from outside; in some worlds it is stopped
 *           here
 *   calm    actions answer idle at once; run until nothing can happen any more
 *   stop    and an hour more of virtual time
 *
 * What must hold:
 *
 *   V1  never more inside a gate than it has permits
 *   V2  first come first served: nobody is admitted before a worker that stood in line
 *       longer
 *   V3  no lost wake-up: after a signal somebody who listens runs, and in the calm nobody
 *       waits for a permit or listens to a notifier that has one stored
 *   V4  no execution begins before the backoff of the last one is over
 *   V5  nothing runs once stop() has returned 0, and what it returns is exact
 *   V6  the same seed gives the same run
 *
 * WEIR_SEEDS=n runs so many worlds instead of 10,000 (100,000 with WEIR_LONG);
 * WEIR_SEED=s runs only that one and prints what happens in it.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "kit/test.h"
#include "ward/executor.h"
#include "ward/sim.h"
#include "ward/worker.h"
#include "weir/runtime.h"

enum {
    WORKERS_MAX = 50,
    GATES_MAX = 4,
    NOTIFIERS_MAX = 6,
    LISTENED_MAX = 3,
    TURMOIL_STEPS = 60,
};

struct world;

/* A worker and what is known of it from outside. */
struct subject {
    struct world *world;
    struct weir_worker *worker; /* a handle */
    struct weir_listener listener;
    const struct weir_listener *listeners[1];
    struct weir_notifier *notifiers[LISTENED_MAX];
    size_t listened[LISTENED_MAX]; /* indexes of these */
    size_t listened_count;
    char name[16];
    int64_t begun_ns;      /* of its last execution */
    int64_t not_before_ns; /* of the next one */
    uint64_t begun_at;     /* tick of its last execution */
    bool ended;
    bool acting;
};

struct line {
    const struct weir_worker *workers[WORKERS_MAX];
    size_t count;
};

struct world {
    uint64_t seed;
    struct weir_random random;
    struct weir_sim *sim;
    struct weir_ward *ward;
    struct weir_gate *gates[GATES_MAX];
    struct line lines[GATES_MAX]; /* workers in line, as seen from outside */
    uint32_t inside[GATES_MAX];
    uint32_t held[GATES_MAX]; /* permits taken by us */
    size_t gate_count;
    struct weir_notifier *notifiers[NOTIFIERS_MAX];
    uint64_t signalled_at[NOTIFIERS_MAX]; /* tick of the last notify_one; 0: none */
    uint64_t
        consumed_at[NOTIFIERS_MAX]; /* tick when an action last took a signal itself */
    size_t notifier_count;
    struct subject subjects[WORKERS_MAX];
    size_t subject_count;
    uint64_t tick;  /* orders all that happens */
    uint64_t trace; /* hash of all that happened */
    bool calm;
    bool stopped;
    bool loud;
    char violation[200]; /* the first one; "" while there is none */
};

/* ---- telling ----------------------------------------------------------------------- */

static void happen(struct world *world, const char *what, const char *who)
{
    world->tick++;
    world->trace =
        weir_mix_u64(world->trace ^ weir_hash_text(what) ^ weir_hash_text(who) * 3 ^
                     (uint64_t)weir_sim_now(world->sim));
    if (world->loud)
        printf("# %10.3f ms  %-12s %s\n", (double)weir_sim_now(world->sim) / 1e6, who,
               what);
}

__attribute__((format(printf, 2, 3))) static void violate(struct world *world,
                                                          const char *format, ...)
{
    va_list arguments;

    if (world->violation[0] != '\0')
        return;
    va_start(arguments, format);
    (void)vsnprintf(world->violation, sizeof world->violation, format, arguments);
    va_end(arguments);
    if (world->loud)
        printf("# violation: %s\n", world->violation);
}

static uint32_t below(struct world *world, uint32_t limit)
{
    return weir_random_below(&world->random, limit);
}

static bool one_in(struct world *world, uint32_t n)
{
    return below(world, n) == 0;
}

/* ---- watching the lines (V2) ------------------------------------------------------- */

static size_t gate_index(const struct world *world, const struct weir_gate *gate)
{
    size_t i = 0;

    while (i < world->gate_count && world->gates[i] != gate)
        i++;
    return i;
}

static void line_remove(struct line *line, const struct weir_worker *worker)
{
    for (size_t i = 0; i < line->count; i++) {
        if (line->workers[i] == worker) {
            memmove(&line->workers[i], &line->workers[i + 1],
                    (line->count - i - 1) * sizeof line->workers[0]);
            line->count--;
            return;
        }
    }
}

static void watch_move(void *state, const struct weir_worker *worker,
                       enum weir_worker_state from, enum weir_worker_state to)
{
    struct world *world = state;
    const struct weir_gate *permit = weir_worker_permit(worker);

    if (to == WEIR_WORKER_READY && permit != NULL) {
        const struct line *line = &world->lines[gate_index(world, permit)];

        if (line->count > 0 && line->workers[0] != worker)
            violate(world, "%s was admitted before %s, who stood in line longer",
                    weir_worker_name(worker), weir_worker_name(line->workers[0]));
    }
    if (from == WEIR_WORKER_QUEUED) {
        for (size_t i = 0; i < world->gate_count; i++)
            line_remove(&world->lines[i], worker);
    }
    if (to == WEIR_WORKER_QUEUED) {
        for (size_t i = 0; i < 2; i++) {
            const struct weir_gate *gate = weir_worker_gate(worker, i);

            if (gate != NULL) {
                struct line *line = &world->lines[gate_index(world, gate)];

                line->workers[line->count++] = worker;
            }
        }
    }
}

/* ---- the subjects ------------------------------------------------------------------ */

static void on_execute_start(void *state, const char *worker)
{
    struct subject *self = state;
    struct world *world = self->world;
    int64_t now_ns = weir_sim_now(world->sim);

    happen(world, "begins", worker);
    self->begun_at = world->tick;
    self->begun_ns = now_ns;
    if (world->stopped)
        violate(world, "%s runs after stop returned 0", worker);
    if (now_ns < self->not_before_ns)
        violate(world, "%s began %" PRId64 " ns before its backoff was over", worker,
                self->not_before_ns - now_ns);
    self->not_before_ns = 0;
}

static void on_complete(void *state, const char *worker, int64_t elapsed_ns,
                        const struct weir_directive *directive)
{
    struct subject *self = state;

    (void)elapsed_ns;
    (void)directive;
    happen(self->world, "completes", worker);
}

static void on_error(void *state, const char *worker, int64_t elapsed_ns,
                     const char *text, uint32_t failures, int64_t backoff_ns)
{
    struct subject *self = state;

    (void)elapsed_ns;
    (void)text;
    (void)failures;
    happen(self->world, "fails", worker);
    self->not_before_ns = self->begun_ns + backoff_ns;
}

static void on_stop(void *state, const char *worker)
{
    struct subject *self = state;

    happen(self->world, "stops", worker);
    if (self->world->stopped)
        violate(self->world, "%s stops after stop returned 0", worker);
}

static void on_end(void *state, const struct weir_worker_end *end)
{
    struct world *world = state;

    for (size_t i = 0; i < world->subject_count; i++) {
        if (strcmp(world->subjects[i].name, end->worker) == 0)
            world->subjects[i].ended = true;
    }
    happen(world, "ended", end->worker);
}

static void notify(struct world *world, size_t index)
{
    char who[16];

    (void)snprintf(who, sizeof who, "notifier-%zu", index);
    happen(world, "signalled", who);
    world->signalled_at[index] = world->tick;
    weir_notifier_notify_one(world->notifiers[index]);
}

/* Waiting inside an action, in each of the ways there are. */
static void wait_somehow(struct world *world, struct weir_context *context)
{
    int64_t duration_ns = WEIR_MILLISECONDS(1 + below(world, 40));
    int64_t deadline_ns = weir_context_now(context) + duration_ns;
    size_t index;

    switch (below(world, 5)) {
    case 0:
        weir_sleep_through(context, duration_ns);
        break;
    case 1:
        (void)!weir_sleep(context, duration_ns);
        break;
    case 2:
        index = below(world, (uint32_t)world->notifier_count);
        if (weir_notifier_wait(world->notifiers[index], context, deadline_ns) == WEIR_OK)
            world->consumed_at[index] = ++world->tick;
        break;
    case 3:
        index = below(world, (uint32_t)world->gate_count);
        if (weir_gate_enter(world->gates[index], context, deadline_ns) == WEIR_OK) {
            weir_sleep_through(context, duration_ns);
            weir_gate_leave(world->gates[index]);
        }
        break;
    default:
        break;
    }
}

static enum weir_status answer(struct world *world, struct weir_context *context,
                               struct weir_directive *out, struct weir_error *error)
{
    switch (below(world, 8)) {
    case 0:
    case 1:
        *out = weir_proceed();
        return WEIR_OK;
    case 2:
    case 3:
        *out = weir_idle();
        return WEIR_OK;
    case 4:
    case 5:
        *out = weir_sleep_for(WEIR_MILLISECONDS(below(world, 100)));
        return WEIR_OK;
    case 6:
        return weir_error_set(error, WEIR_FAILED, "told to fail");
    default:
        weir_panic(context, "told to panic");
    }
}

static void check_permit(struct subject *self)
{
    const struct weir_gate *permit = weir_worker_permit(self->worker);
    bool limited = weir_worker_gate(self->worker, 0) != NULL ||
                   weir_worker_gate(self->worker, 1) != NULL;

    if (limited && permit == NULL)
        violate(self->world, "%s runs without a permit", self->name);
    for (size_t i = 0; i < self->world->gate_count; i++) {
        struct weir_gate_info info;

        weir_gate_read(self->world->gates[i], &info);
        if (info.inside > info.permits || self->world->inside[i] > info.permits)
            violate(self->world, "gate %zu holds more than its %u permits", i,
                    info.permits);
    }
}

static void leave_world(void *argument, bool panicked)
{
    struct subject *self = argument;
    const struct weir_gate *permit = weir_worker_permit(self->worker);

    (void)panicked;
    self->acting = false;
    if (permit != NULL)
        self->world->inside[gate_index(self->world, permit)]--;
}

static enum weir_status act(struct weir_context *context, void *state,
                            struct weir_directive *out, struct weir_error *error)
{
    struct subject *self = state;
    struct world *world = self->world;
    const struct weir_gate *permit = weir_worker_permit(self->worker);

    if (self->acting)
        violate(world, "%s is executed twice at the same time", self->name);
    self->acting = true;
    if (permit != NULL)
        world->inside[gate_index(world, permit)]++;
    check_permit(self);
    check_status(weir_defer(context, leave_world, self), WEIR_OK);
    if (world->calm) {
        *out = weir_idle();
        return WEIR_OK;
    }
    wait_somehow(world, context);
    if (one_in(world, 3))
        notify(world, below(world, (uint32_t)world->notifier_count));
    if (one_in(world, 150))
        weir_worker_cancel(
            world->subjects[below(world, (uint32_t)world->subject_count)].worker);
    return answer(world, context, out, error);
}

/* ---- making a world ---------------------------------------------------------------- */

static void make_props(struct world *world)
{
    world->gate_count = 1 + below(world, GATES_MAX);
    for (size_t i = 0; i < world->gate_count; i++)
        check_status(weir_gate_create(weir_sim_executor(world->sim), 1 + below(world, 3),
                                      &world->gates[i], NULL),
                     WEIR_OK);
    world->notifier_count = 1 + below(world, NOTIFIERS_MAX);
    for (size_t i = 0; i < world->notifier_count; i++)
        check_status(
            weir_notifier_create(weir_sim_executor(world->sim), &world->notifiers[i]),
            WEIR_OK);
}

static void choose_limits(struct world *world, struct weir_worker_options *options)
{
    size_t first = below(world, (uint32_t)world->gate_count);
    size_t second = below(world, (uint32_t)world->gate_count);

    options->shared = one_in(world, 3) ? NULL : world->gates[first];
    options->guaranteed =
        second != first && one_in(world, 2) ? world->gates[second] : NULL;
    options->pace.min_ns = WEIR_MILLISECONDS(below(world, 3));
    options->pace.active_ns = options->pace.min_ns + WEIR_MILLISECONDS(below(world, 20));
    options->pace.ramp_ns = WEIR_MILLISECONDS(below(world, 5));
    options->backoff.initial_ns = WEIR_MILLISECONDS(1 + below(world, 20));
    options->backoff.max_ns =
        options->backoff.initial_ns * (1 + (int64_t)below(world, 50));
    options->backoff.multiplier = 1.0 + below(world, 3);
    options->backoff.jitter = below(world, 2) * 0.5;
    options->on_error =
        one_in(world, 2) ? WEIR_ON_ERROR_RETRY : WEIR_ON_ERROR_WAIT_FOR_SIGNAL;
    options->on_panic = one_in(world, 8) ? WEIR_ON_PANIC_END : WEIR_ON_PANIC_RETRY;
    options->worker_class = one_in(world, 5) ? WEIR_WORKER_RESERVED : WEIR_WORKER_COMMON;
    options->failures_initial = one_in(world, 10) ? 1 + below(world, 3) : 0;
}

static void spawn_subject(struct world *world)
{
    struct subject *self = &world->subjects[world->subject_count];
    struct weir_worker_options options;
    struct weir_error error;

    (void)snprintf(self->name, sizeof self->name, "worker-%zu", world->subject_count);
    self->world = world;
    self->listener = (struct weir_listener){
        .state = self,
        .on_execute_start = on_execute_start,
        .on_complete = on_complete,
        .on_error = on_error,
        .on_stop = on_stop,
    };
    self->listeners[0] = &self->listener;
    self->listened_count = below(world, LISTENED_MAX + 1);
    for (size_t i = 0; i < self->listened_count; i++) {
        self->listened[i] = below(world, (uint32_t)world->notifier_count);
        self->notifiers[i] = world->notifiers[self->listened[i]];
    }
    weir_worker_options_init(&options);
    choose_limits(world, &options);
    options.name = self->name;
    options.action = act;
    options.state = self;
    options.notifiers = self->notifiers;
    options.notifier_count = self->listened_count;
    options.listeners = self->listeners;
    options.listener_count = 1;
    world->subject_count++;
    check_status(weir_ward_spawn(world->ward, &options, &self->worker, &error), WEIR_OK);
}

static void open_world(struct world *world, uint64_t seed)
{
    memset(world, 0, sizeof *world);
    world->seed = seed;
    weir_random_init(&world->random, seed);
    check_status(
        weir_sim_create(&(struct weir_sim_options){.seed = seed}, &world->sim, NULL),
        WEIR_OK);
    weir_sim_executor(world->sim)->observer = watch_move;
    weir_sim_executor(world->sim)->observer_state = world;
    check_status(weir_ward_create(weir_sim_executor(world->sim),
                                  &(struct weir_ward_options){
                                      .name = "world", .on_end = on_end, .state = world},
                                  &world->ward, NULL),
                 WEIR_OK);
    make_props(world);
    for (uint32_t left = 2 + below(world, WORKERS_MAX - 1); left > 0; left--)
        spawn_subject(world);
}

static void close_world(struct world *world)
{
    for (size_t i = 0; i < world->subject_count; i++)
        weir_worker_release(world->subjects[i].worker);
    weir_ward_destroy(world->ward);
    for (size_t i = 0; i < world->gate_count; i++)
        weir_gate_destroy(world->gates[i]);
    for (size_t i = 0; i < world->notifier_count; i++)
        weir_notifier_destroy(world->notifiers[i]);
    weir_sim_destroy(world->sim);
}

/* ---- the three phases -------------------------------------------------------------- */

static void hold_or_give_back(struct world *world)
{
    size_t index = below(world, (uint32_t)world->gate_count);

    if (world->held[index] > 0) {
        world->held[index]--;
        weir_gate_leave(world->gates[index]);
    } else if (weir_gate_try_enter(world->gates[index])) {
        world->held[index]++;
    }
}

static void stir(struct world *world)
{
    size_t index = below(world, (uint32_t)world->notifier_count);

    switch (below(world, 8)) {
    case 0:
        weir_notifier_notify_all(world->notifiers[index]);
        break;
    case 1:
        hold_or_give_back(world);
        break;
    case 2:
        if (one_in(world, 10))
            weir_worker_cancel(
                world->subjects[below(world, (uint32_t)world->subject_count)].worker);
        break;
    default:
        notify(world, index);
        break;
    }
}

static void live_in_chaos(struct world *world)
{
    for (int i = 0; i < TURMOIL_STEPS && world->violation[0] == '\0'; i++) {
        stir(world);
        weir_sim_run_until(world->sim, weir_sim_now(world->sim) +
                                           WEIR_MICROSECONDS(1 + below(world, 20000)));
    }
}

/* A worker that listens to notifier `index` and has not ended; NULL: none. */
static const struct subject *listener_of(const struct world *world, size_t index,
                                         uint64_t begun_after)
{
    for (size_t i = 0; i < world->subject_count; i++) {
        const struct subject *subject = &world->subjects[i];

        for (size_t j = 0; j < subject->listened_count; j++) {
            if (subject->listened[j] == index &&
                (begun_after > 0 ? subject->begun_at > begun_after : !subject->ended))
                return subject;
        }
    }
    return NULL;
}

static void check_signals(struct world *world)
{
    for (size_t i = 0; i < world->notifier_count; i++) {
        if (listener_of(world, i, 0) == NULL)
            continue;
        if (weir_notifier_stored(world->notifiers[i]))
            violate(world, "%s idles while its notifier has a permit",
                    listener_of(world, i, 0)->name);
        if (world->signalled_at[i] > world->consumed_at[i] &&
            listener_of(world, i, world->signalled_at[i]) == NULL)
            violate(world, "the last signal of notifier %zu woke nobody", i);
    }
}

static void check_calm(struct world *world)
{
    struct weir_worker_info infos[WORKERS_MAX];
    size_t count = weir_ward_read(world->ward, infos, WORKERS_MAX);

    for (size_t i = 0; i < count; i++) {
        if (infos[i].state != WEIR_WORKER_IDLING)
            violate(world, "%s is %s though nothing happens any more", infos[i].name,
                    weir_worker_state_name(infos[i].state));
    }
    if (weir_sim_waiting(world->sim) > 0)
        violate(world, "an action waits for ever");
    for (size_t i = 0; i < world->gate_count; i++) {
        struct weir_gate_info info;

        weir_gate_read(world->gates[i], &info);
        if (info.inside != 0 || info.waiting != 0)
            violate(world, "gate %zu has %u inside and %u in line, though nobody runs", i,
                    info.inside, info.waiting);
    }
    check_signals(world);
}

static void calm_down(struct world *world)
{
    world->calm = true;
    for (size_t i = 0; i < world->gate_count; i++) {
        for (; world->held[i] > 0; world->held[i]--)
            weir_gate_leave(world->gates[i]);
    }
    for (int round = 0; round < 2; round++) {
        if (!weir_sim_run_until_quiet(world->sim,
                                      weir_sim_now(world->sim) + WEIR_HOURS(24)))
            violate(world, "it never becomes quiet");
        check_calm(world);
        for (size_t i = 0; round == 0 && i < world->notifier_count; i++)
            notify(world, i);
    }
}

static void stop_in_turmoil(struct world *world)
{
    size_t unfinished = weir_ward_stop(
        world->ward, WEIR_MILLISECONDS(below(world, 3) * below(world, 30)));

    if (unfinished != weir_ward_count(world->ward))
        violate(world, "stop returned %zu, but %zu are unfinished", unfinished,
                weir_ward_count(world->ward));
    world->stopped = unfinished == 0;
}

static void stop_for_good(struct world *world)
{
    size_t unfinished = weir_ward_stop(world->ward, WEIR_HOURS(1));
    int64_t stopped_ns = weir_sim_now(world->sim);

    if (unfinished > 0)
        violate(world, "%zu workers outlive a grace of an hour", unfinished);
    world->stopped = true;
    for (size_t i = 0; i < world->notifier_count; i++)
        weir_notifier_notify_one(world->notifiers[i]);
    weir_sim_run_until(world->sim, stopped_ns + WEIR_HOURS(1));
    for (size_t i = 0; i < world->subject_count; i++) {
        if (!world->subjects[i].ended)
            violate(world, "%s was not reported as ended", world->subjects[i].name);
    }
}

/* One whole world; true when everything held. *trace tells two runs apart. */
static bool explore(struct world *world, uint64_t seed, bool loud)
{
    open_world(world, seed);
    world->loud = loud;
    live_in_chaos(world);
    if (one_in(world, 3))
        stop_in_turmoil(world);
    else
        calm_down(world);
    stop_for_good(world);
    close_world(world);
    return world->violation[0] == '\0';
}

static uint64_t number_from(const char *variable, uint64_t otherwise)
{
    const char *text = getenv(variable);

    return text == NULL || *text == '\0' ? otherwise : strtoull(text, NULL, 10);
}

static void check_world(uint64_t seed, bool loud)
{
    static struct world world;

    if (!explore(&world, seed, loud))
        weir_test_fail(__FILE__, __LINE__, "seed %" PRIu64 ": %s (WEIR_SEED=%" PRIu64 ")",
                       seed, world.violation, seed);
}

WEIR_TEST(explorer, no_seed_breaks_a_ward)
{
    uint64_t only = number_from("WEIR_SEED", 0);
    uint64_t count =
        number_from("WEIR_SEEDS", number_from("WEIR_LONG", 0) > 0 ? 100000 : 10000);

    if (only > 0) {
        check_world(only, true);
        return;
    }
    printf("# seeds 1 to %" PRIu64 "\n", count);
    for (uint64_t seed = 1; seed <= count; seed++)
        check_world(seed, false);
}

WEIR_TEST(explorer, the_same_seed_gives_the_same_run)
{
    static struct world first, second;

    for (uint64_t seed = 1; seed <= 50; seed++) {
        check(explore(&first, seed, false));
        check(explore(&second, seed, false));

        check(first.tick > 0);
        check(first.tick == second.tick);
        check(first.trace == second.trace);
    }
}
