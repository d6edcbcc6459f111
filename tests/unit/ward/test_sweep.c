/*
 * Tests of the whole runtime without memory: every allocation fails once, alone and
 * with all that follow it, and nothing is leaked, half-created or left hanging.
 *
 * First each call that creates something; then a plant that uses every feature at once,
 * in simulation and on threads; last a plant whose power is cut.
 */
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/heap.h"
#include "kit/alloc_failures.h"
#include "kit/test.h"
#include "ward/system.h"
#include "weir/runtime.h"

#define MS(n) WEIR_MILLISECONDS(n)
#define WAIT_LIMIT WEIR_SECONDS(60)

static enum weir_status idle(struct weir_context *context, void *state,
                             struct weir_directive *out, struct weir_error *error)
{
    (void)context;
    (void)state;
    (void)out;
    (void)error;
    return WEIR_OK;
}

/* What failed has a text and has left nothing behind; what did not is there. */
static void check_created(enum weir_status status, const void *created,
                          const struct weir_error *error)
{
    check((created != NULL) == (status == WEIR_OK));
    if (status == WEIR_OK)
        return;
    check_status(status, WEIR_NO_MEMORY);
    if (error != NULL) {
        check_status(error->status, WEIR_NO_MEMORY);
        check(strstr(error->text, "out of memory") != NULL);
    }
}

/* ---- each call alone --------------------------------------------------------------- */

static enum weir_status create_sim(const struct weir_heap *heap, struct weir_sim **out)
{
    struct weir_sim_options options = {.heap = heap, .seed = 1};
    struct weir_error error;
    enum weir_status status = weir_sim_create(&options, out, &error);

    check_created(status, *out, &error);
    return status;
}

static enum weir_status create_pool(const struct weir_heap *heap,
                                    struct weir_executor **out)
{
    struct weir_executor_options options;
    struct weir_error error;
    enum weir_status status;

    weir_executor_options_init(&options);
    options.heap = heap;
    options.threads = 2;
    options.reserve_threads = 1;
    status = weir_executor_create(&options, out, &error);
    check_created(status, *out, &error);
    return status;
}

static enum weir_status create_ward(struct weir_executor *executor,
                                    struct weir_ward **out)
{
    struct weir_ward_options options = {.name = "sweep"};
    struct weir_error error;
    enum weir_status status = weir_ward_create(executor, &options, out, &error);

    check_created(status, *out, &error);
    return status;
}

static enum weir_status create_gate(struct weir_executor *executor, uint32_t permits,
                                    struct weir_gate **out)
{
    struct weir_error error;
    enum weir_status status = weir_gate_create(executor, permits, out, &error);

    check_created(status, *out, &error);
    return status;
}

static enum weir_status create_notifier(struct weir_executor *executor,
                                        struct weir_notifier **out)
{
    enum weir_status status = weir_notifier_create(executor, out);

    check_created(status, *out, NULL);
    return status;
}

static enum weir_status create_poker(struct weir_ward *ward, struct weir_poker **out)
{
    struct weir_error error;
    enum weir_status status = weir_poker_create(ward, MS(2), out, &error);

    check_created(status, *out, &error);
    return status;
}

static enum weir_status spawn(struct weir_ward *ward,
                              const struct weir_worker_options *options,
                              struct weir_worker **out)
{
    struct weir_error error;
    size_t before = weir_ward_count(ward);
    enum weir_status status = weir_ward_spawn(ward, options, out, &error);

    check_created(status, *out, &error);
    check_int(weir_ward_count(ward), before + (status == WEIR_OK));
    return status;
}

static enum weir_status sim_alone(const struct weir_heap *heap)
{
    struct weir_sim *sim;
    enum weir_status status = create_sim(heap, &sim);

    weir_sim_destroy(sim);
    return status;
}

WEIR_TEST(sweep, creating_a_simulation)
{
    check_alloc_failures(sim_alone);
}

static enum weir_status pool_alone(const struct weir_heap *heap)
{
    struct weir_executor *executor;
    enum weir_status status = create_pool(heap, &executor);

    weir_executor_destroy(executor);
    return status;
}

WEIR_TEST(sweep, creating_a_pool)
{
    check_alloc_failures(pool_alone);
}

static enum weir_status ward_alone(const struct weir_heap *heap)
{
    struct weir_ward *ward = NULL;
    struct weir_sim *sim;
    enum weir_status status = create_sim(heap, &sim);

    if (status == WEIR_OK)
        status = create_ward(weir_sim_executor(sim), &ward);
    weir_ward_destroy(ward);
    weir_sim_destroy(sim);
    return status;
}

WEIR_TEST(sweep, creating_a_ward)
{
    check_alloc_failures(ward_alone);
}

static enum weir_status gate_alone(const struct weir_heap *heap)
{
    struct weir_gate *gate = NULL;
    struct weir_sim *sim;
    enum weir_status status = create_sim(heap, &sim);

    if (status == WEIR_OK)
        status = create_gate(weir_sim_executor(sim), 3, &gate);
    weir_gate_destroy(gate);
    weir_sim_destroy(sim);
    return status;
}

WEIR_TEST(sweep, creating_a_gate)
{
    check_alloc_failures(gate_alone);
}

static enum weir_status notifier_alone(const struct weir_heap *heap)
{
    struct weir_notifier *notifier = NULL;
    struct weir_sim *sim;
    enum weir_status status = create_sim(heap, &sim);

    if (status == WEIR_OK)
        status = create_notifier(weir_sim_executor(sim), &notifier);
    weir_notifier_destroy(notifier);
    weir_sim_destroy(sim);
    return status;
}

WEIR_TEST(sweep, creating_a_notifier)
{
    check_alloc_failures(notifier_alone);
}

/* One that failed has not armed a timer that would fire into nothing. */
static enum weir_status poker_alone(const struct weir_heap *heap)
{
    struct weir_poker *poker = NULL;
    struct weir_ward *ward = NULL;
    struct weir_sim *sim;
    enum weir_status status = create_sim(heap, &sim);

    if (status == WEIR_OK)
        status = create_ward(weir_sim_executor(sim), &ward);
    if (status == WEIR_OK)
        status = create_poker(ward, &poker);
    if (sim != NULL)
        weir_sim_run_until(sim, MS(10));
    weir_poker_destroy(poker);
    weir_ward_destroy(ward);
    weir_sim_destroy(sim);
    return status;
}

WEIR_TEST(sweep, creating_a_poker)
{
    check_alloc_failures(poker_alone);
}

static enum weir_status worker_alone(const struct weir_heap *heap)
{
    struct weir_worker_options options;
    struct weir_worker *worker = NULL;
    struct weir_ward *ward = NULL;
    struct weir_sim *sim;
    enum weir_status status = create_sim(heap, &sim);

    weir_worker_options_init(&options);
    options.name = "alone";
    options.action = idle;
    if (status == WEIR_OK)
        status = create_ward(weir_sim_executor(sim), &ward);
    if (status == WEIR_OK)
        status = spawn(ward, &options, &worker);
    weir_worker_release(worker);
    weir_ward_destroy(ward);
    weir_sim_destroy(sim);
    return status;
}

WEIR_TEST(sweep, spawning_a_worker)
{
    check_alloc_failures(worker_alone);
}

/* ---- a plant with everything ------------------------------------------------------- */

enum { HANDS = 6, BELLS = 3 };

enum task { ALLOCATES, PANICS, GUARDS, WAITS, SLEEPS, FAILS };

struct plant;

struct hand {
    struct plant *plant;
    enum task task;
    struct weir_worker *worker;
    _Atomic uint32_t deferred;
    _Atomic uint32_t swept;
};

struct plant {
    struct weir_sim *sim;           /* or */
    struct weir_executor *executor; /* the pool's, or the simulation's */
    struct weir_ward *ward;
    struct weir_gate *gates[3];
    struct weir_notifier *bells[BELLS];
    struct weir_poker *poker;
    struct weir_listener listener;
    _Atomic uint32_t heard;
    struct hand hands[HANDS];
};

static void sweep_up(void *argument, bool panicked)
{
    struct hand *self = argument;

    (void)panicked;
    atomic_fetch_add(&self->swept, 1);
}

static enum weir_status defer_sweeping(struct weir_context *context, struct hand *self)
{
    enum weir_status status = weir_defer(context, sweep_up, self);

    if (status == WEIR_OK)
        atomic_fetch_add(&self->deferred, 1);
    return status;
}

static enum weir_status allocate_a_lot(struct weir_context *context, struct hand *self)
{
    for (size_t size = 100; size < 10000; size *= 3) {
        char *bytes = weir_context_alloc(context, size);

        if (bytes == NULL)
            return WEIR_NO_MEMORY;
        memset(bytes, 'x', size);
    }
    return defer_sweeping(context, self);
}

static enum weir_status panic_inside(struct weir_context *context, void *argument,
                                     struct weir_error *error)
{
    enum weir_status status = defer_sweeping(context, argument);

    (void)error;
    if (status != WEIR_OK)
        return status;
    weir_panic(context, "inside");
}

static enum weir_status wait_for_all(struct weir_context *context, struct plant *plant)
{
    enum weir_status status;
    int64_t soon_ns = weir_context_now(context) + MS(1);

    status = weir_gate_enter(plant->gates[2], context, soon_ns);
    if (status == WEIR_OK) {
        status = weir_sleep(context, WEIR_MICROSECONDS(100));
        weir_gate_leave(plant->gates[2]);
    }
    if (weir_notifier_wait(plant->bells[1], context, soon_ns) == WEIR_OK)
        weir_notifier_notify_one(plant->bells[2]);
    return status;
}

static enum weir_status work(struct weir_context *context, void *state,
                             struct weir_directive *out, struct weir_error *error)
{
    struct hand *self = state;
    enum weir_status status = defer_sweeping(context, self);

    if (status != WEIR_OK)
        return status;
    switch (self->task) {
    case ALLOCATES:
        *out = weir_proceed();
        return allocate_a_lot(context, self);
    case PANICS:
        weir_panic(context, "as told");
    case GUARDS:
        status = weir_guard(context, panic_inside, self, error);
        return status == WEIR_PANICKED ? WEIR_OK : status;
    case WAITS:
        *out = weir_sleep_for(MS(1));
        return wait_for_all(context, self->plant);
    case SLEEPS:
        *out = weir_sleep_for(MS(1));
        return weir_sleep(context, WEIR_MICROSECONDS(50));
    case FAILS:
        weir_notifier_notify_all(self->plant->bells[1]);
        return weir_error_set(error, WEIR_FAILED, "as told");
    }
    return WEIR_OK;
}

static void hear_start(void *state, const char *worker)
{
    struct plant *plant = state;

    (void)worker;
    atomic_fetch_add(&plant->heard, 1);
}

static enum weir_status plant_hire(struct plant *self)
{
    static const char *const names[HANDS] = {"allocates", "panics", "guards",
                                             "waits",     "sleeps", "fails"};
    const struct weir_listener *listener = &self->listener;
    struct weir_notifier *ears[BELLS];
    enum weir_status status = WEIR_OK;

    ears[0] = weir_poker_notifier(self->poker);
    ears[1] = self->bells[0];
    ears[2] = self->bells[2];
    self->listener = (struct weir_listener){.state = self, .on_start = hear_start};
    for (size_t i = 0; i < HANDS && status == WEIR_OK; i++) {
        struct weir_worker_options options;

        self->hands[i].plant = self;
        self->hands[i].task = (enum task)i;
        weir_worker_options_init(&options);
        options.name = names[i];
        options.action = work;
        options.state = &self->hands[i];
        options.notifiers = ears;
        options.notifier_count = BELLS;
        options.listeners = &listener;
        options.listener_count = 1;
        options.shared = i % 2 == 0 ? self->gates[0] : NULL;
        options.guaranteed = i % 4 == 0 ? self->gates[1] : NULL;
        options.pace = (struct weir_pace){MS(1), MS(3), MS(1)};
        options.backoff = (struct weir_backoff){MS(1), MS(4), 2.0, 0.5};
        options.on_panic = WEIR_ON_PANIC_RETRY;
        options.worker_class = i == SLEEPS ? WEIR_WORKER_RESERVED : WEIR_WORKER_COMMON;
        status = spawn(self->ward, &options, &self->hands[i].worker);
    }
    return status;
}

/* All that stands in the plant; the executor is there already. */
static enum weir_status plant_build(struct plant *self)
{
    enum weir_status status = create_ward(self->executor, &self->ward);

    for (uint32_t i = 0; i < 3 && status == WEIR_OK; i++)
        status = create_gate(self->executor, 1 + i, &self->gates[i]);
    for (size_t i = 0; i < BELLS && status == WEIR_OK; i++)
        status = create_notifier(self->executor, &self->bells[i]);
    if (status == WEIR_OK)
        status = create_poker(self->ward, &self->poker);
    if (status == WEIR_OK)
        status = plant_hire(self);
    return status;
}

static void plant_tear_down(struct plant *self)
{
    for (size_t i = 0; i < HANDS; i++)
        weir_worker_release(self->hands[i].worker);
    weir_poker_destroy(self->poker);
    weir_ward_destroy(self->ward);
    for (size_t i = 0; i < BELLS; i++)
        weir_notifier_destroy(self->bells[i]);
    for (size_t i = 0; i < 3; i++)
        weir_gate_destroy(self->gates[i]);
}

/* Every clean-up that was accepted has run, and no other. */
static void check_swept(const struct plant *self)
{
    for (size_t i = 0; i < HANDS; i++)
        check_int(self->hands[i].swept, self->hands[i].deferred);
}

/* ---- in simulation ----------------------------------------------------------------- */

static enum weir_status whole_plant_in_simulation(const struct weir_heap *heap)
{
    struct plant plant = {.sim = NULL};
    enum weir_status status = create_sim(heap, &plant.sim);

    if (status != WEIR_OK)
        return status;
    plant.executor = weir_sim_executor(plant.sim);
    status = plant_build(&plant);

    weir_sim_run_until(plant.sim, MS(30));
    if (plant.ward != NULL)
        check_int(weir_ward_stop(plant.ward, WEIR_SECONDS(1)), 0);

    check_swept(&plant);
    plant_tear_down(&plant);
    weir_sim_destroy(plant.sim);
    return status;
}

WEIR_TEST(sweep, whole_plant_in_simulation)
{
    check_alloc_failures(whole_plant_in_simulation);
}

/* Cut off where it is, in the middle of several actions, without a stop. */
static enum weir_status power_cut(const struct weir_heap *heap)
{
    struct plant plant = {.sim = NULL};
    enum weir_status status = create_sim(heap, &plant.sim);

    if (status != WEIR_OK)
        return status;
    plant.executor = weir_sim_executor(plant.sim);
    status = plant_build(&plant);

    weir_sim_run_until(plant.sim, MS(10) + WEIR_MICROSECONDS(30));

    weir_sim_destroy(plant.sim);
    plant_tear_down(&plant);
    return status;
}

WEIR_TEST(sweep, plant_whose_power_is_cut)
{
    check_alloc_failures(power_cut);
}

/* That the plant does what it is for when there is memory; or the sweeps would prove
 * little. */
WEIR_TEST(sweep, plant_uses_everything_when_there_is_memory)
{
    struct plant plant = {.sim = NULL};
    struct weir_worker_info info;
    check_status(create_sim(NULL, &plant.sim), WEIR_OK);
    plant.executor = weir_sim_executor(plant.sim);
    check_status(plant_build(&plant), WEIR_OK);

    weir_sim_run_until(plant.sim, MS(30));

    for (size_t i = 0; i < HANDS; i++) {
        weir_worker_read(plant.hands[i].worker, &info);
        check(info.executions >= 3);
        check_int(info.failures, i == PANICS || i == FAILS ? info.executions : 0);
        check(plant.hands[i].deferred >= 3);
    }
    check_int(plant.heard, HANDS);
    check_int(weir_ward_stop(plant.ward, WEIR_SECONDS(1)), 0);
    check_swept(&plant);
    plant_tear_down(&plant);
    weir_sim_destroy(plant.sim);
}

/* ---- on threads -------------------------------------------------------------------- */

/* Those that were spawned run without any further memory, if only to fail for want of
 * it. */
static void wait_until_all_have_run(const struct plant *self, uint64_t executions)
{
    int64_t limit_ns = weir_system_now_ns() + WAIT_LIMIT;

    for (size_t i = 0; i < HANDS; i++) {
        struct weir_worker_info info = {.executions = 0};

        while (self->hands[i].worker != NULL && info.executions < executions) {
            check(weir_system_now_ns() < limit_ns);
            (void)sched_yield();
            weir_worker_read(self->hands[i].worker, &info);
        }
    }
}

static enum weir_status whole_plant_on_threads(const struct weir_heap *heap)
{
    struct plant plant = {.sim = NULL};
    enum weir_status status = create_pool(heap, &plant.executor);

    if (status != WEIR_OK)
        return status;
    status = plant_build(&plant);

    wait_until_all_have_run(&plant, 2);
    if (plant.ward != NULL)
        check_int(weir_ward_stop(plant.ward, WAIT_LIMIT), 0);

    check_swept(&plant);
    plant_tear_down(&plant);
    weir_executor_destroy(plant.executor);
    return status;
}

WEIR_TEST(sweep, whole_plant_on_threads)
{
    check_alloc_failures(whole_plant_on_threads);
}

/* A thread that was inside an action when its pool went is nobody's to wait for. */
static void wait_until_all_is_given_back(const struct weir_heap *heap)
{
    const struct weir_faulty_heap *faulty = heap->state;
    int64_t limit_ns = weir_system_now_ns() + WAIT_LIMIT;

    while (faulty->outstanding != 0) {
        check(weir_system_now_ns() < limit_ns);
        (void)sched_yield();
    }
}

/* Given up in the wrong order. */
static enum weir_status pool_goes_first(const struct weir_heap *heap)
{
    struct plant plant = {.sim = NULL};
    enum weir_status status = create_pool(heap, &plant.executor);

    if (status != WEIR_OK)
        return status;
    status = plant_build(&plant);

    wait_until_all_have_run(&plant, 1);
    weir_executor_destroy(plant.executor);
    if (plant.ward != NULL)
        check_int(weir_ward_stop(plant.ward, WAIT_LIMIT), 0);

    check_swept(&plant);
    plant_tear_down(&plant);
    wait_until_all_is_given_back(heap);
    return status;
}

WEIR_TEST(sweep, plant_whose_pool_is_destroyed_first)
{
    check_alloc_failures(pool_goes_first);
}
