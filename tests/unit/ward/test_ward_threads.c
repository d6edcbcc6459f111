/*
 * test_ward_threads.c - wards on a pool of threads: a stop that returns 0 leaves nothing
 * running, whoever stops, spawns and notifies at the same time.
 */
#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "base/heap.h"
#include "unit/ward/worker_fixture.h"

/* ---- helpers ----------------------------------------------------------------------- */

/* A ward on threads that counts the ends of its workers, on a heap that counts as
 * well. */
struct env {
    struct weir_faulty_heap heap;
    struct weir_executor *executor;
    struct weir_ward *ward;
    _Atomic uint32_t ends;
};

static void count_end(void *state, const struct weir_worker_end *end)
{
    struct env *self = state;

    (void)end;
    atomic_fetch_add(&self->ends, 1);
}

static void env_open_ward(struct env *self)
{
    check_status(weir_ward_create(self->executor,
                                  &(struct weir_ward_options){.name = "works",
                                                              .on_end = count_end,
                                                              .state = self},
                                  &self->ward, NULL),
                 WEIR_OK);
}

static void env_open(struct env *self, uint32_t threads)
{
    struct weir_executor_options options;

    memset(self, 0, sizeof *self);
    weir_faulty_heap_init(&self->heap);
    weir_executor_options_init(&options);
    options.heap = &self->heap.heap;
    options.threads = threads;
    check_status(weir_executor_create(&options, &self->executor, NULL), WEIR_OK);
    env_open_ward(self);
}

static void env_close(struct env *self)
{
    weir_ward_destroy(self->ward);
    weir_executor_destroy(self->executor);
    check_int(self->heap.outstanding, 0);
}

/* A worker that needs no signal: it begins as if it had failed a nanosecond ago. */
static struct weir_worker_options self_starting(weir_action_fn action, void *state)
{
    struct actor nobody = {.name = "hand"};
    struct weir_worker_options options = script_options(&nobody);

    options.action = action;
    options.state = state;
    options.on_error = WEIR_ON_ERROR_RETRY;
    options.backoff = (struct weir_backoff){1, 1, 1.0, 0.0};
    options.failures_initial = 1;
    return options;
}

static enum weir_status count_call(struct weir_context *context, void *state,
                                   struct weir_directive *out, struct weir_error *error)
{
    _Atomic uint32_t *calls = state;

    (void)context;
    (void)error;
    atomic_fetch_add(calls, 1);
    *out = weir_proceed();
    return WEIR_OK;
}

/* ---- stopping ---------------------------------------------------------------------- */

enum { HANDS = 16 };

WEIR_TEST(ward, runs_nothing_after_a_clean_stop_on_threads)
{
    _Atomic uint32_t calls = 0;
    struct env env;
    env_open(&env, 4);
    struct weir_worker_options options = self_starting(count_call, &calls);
    for (int i = 0; i < HANDS; i++)
        check_status(weir_ward_spawn(env.ward, &options, NULL, NULL), WEIR_OK);
    while (atomic_load(&calls) < 1000)
        (void)sched_yield();

    check_int(weir_ward_stop(env.ward, WEIR_SECONDS(60)), 0);

    uint32_t calls_then = atomic_load(&calls);
    check_int(env.ends, HANDS);
    for (int i = 0; i < 1000; i++)
        (void)sched_yield();
    check_int(atomic_load(&calls), calls_then);
    env_close(&env);
}

/* Stopped as soon as it is made: whatever its workers are in the middle of. */
WEIR_TEST(ward, is_stopped_right_after_spawning_on_threads)
{
    _Atomic uint32_t calls = 0;
    struct env env;
    env_open(&env, 4);
    struct weir_worker_options options = self_starting(count_call, &calls);

    for (uint32_t round = 1; round <= 200; round++) {
        for (int i = 0; i < 3; i++)
            check_status(weir_ward_spawn(env.ward, &options, NULL, NULL), WEIR_OK);
        check_int(weir_ward_stop(env.ward, WEIR_SECONDS(60)), 0);
        check_int(env.ends, 3 * round);
        weir_ward_destroy(env.ward);
        env_open_ward(&env);
    }

    env_close(&env);
}

/* ---- several at once --------------------------------------------------------------- */

struct stopper {
    struct weir_ward *ward;
    pthread_t thread;
    size_t unfinished;
};

static void *stop_it(void *argument)
{
    struct stopper *self = argument;

    self->unfinished = weir_ward_stop(self->ward, WEIR_SECONDS(60));
    return NULL;
}

WEIR_TEST(ward, is_stopped_by_several_threads_at_once)
{
    _Atomic uint32_t calls = 0;
    struct stopper stoppers[4];
    struct env env;
    env_open(&env, 2);
    struct weir_worker_options options = self_starting(count_call, &calls);
    for (int i = 0; i < HANDS; i++)
        check_status(weir_ward_spawn(env.ward, &options, NULL, NULL), WEIR_OK);
    while (atomic_load(&calls) < 100)
        (void)sched_yield();

    for (size_t i = 0; i < 4; i++) {
        stoppers[i] = (struct stopper){.ward = env.ward, .unfinished = 99};
        check_int(pthread_create(&stoppers[i].thread, NULL, stop_it, &stoppers[i]), 0);
    }
    for (size_t i = 0; i < 4; i++) {
        check_int(pthread_join(stoppers[i].thread, NULL), 0);
        check_int(stoppers[i].unfinished, 0);
    }

    check_int(env.ends, HANDS);
    env_close(&env);
}

struct spawner {
    struct env *env;
    struct weir_worker_options options;
    pthread_t thread;
    uint32_t spawned;
    uint32_t strange; /* answers that are neither OK nor CLOSED */
};

static void *spawn_until_closed(void *argument)
{
    struct spawner *self = argument;
    enum weir_status status = WEIR_OK;

    while (status == WEIR_OK) {
        status = weir_ward_spawn(self->env->ward, &self->options, NULL, NULL);
        if (status == WEIR_OK)
            self->spawned++;
        else if (status != WEIR_CLOSED)
            self->strange++;
    }
    return NULL;
}

/* Each spawn is before the stop or after it: all that were taken in are ended. */
WEIR_TEST(ward, is_stopped_while_others_spawn)
{
    _Atomic uint32_t calls = 0;
    struct spawner spawners[3];
    uint32_t spawned = 0;
    struct env env;
    env_open(&env, 2);
    for (size_t i = 0; i < 3; i++) {
        spawners[i] = (struct spawner){
            .env = &env,
            .options = self_starting(count_call, &calls),
        };
        check_int(
            pthread_create(&spawners[i].thread, NULL, spawn_until_closed, &spawners[i]),
            0);
    }
    while (weir_ward_count(env.ward) < 100)
        (void)sched_yield();

    check_int(weir_ward_stop(env.ward, WEIR_SECONDS(60)), 0);

    for (size_t i = 0; i < 3; i++) {
        check_int(pthread_join(spawners[i].thread, NULL), 0);
        check_int(spawners[i].strange, 0);
        spawned += spawners[i].spawned;
    }
    check(spawned >= 100);
    check_int(env.ends, spawned);
    check_int(weir_ward_count(env.ward), 0);
    env_close(&env);
}

/* ---- from inside ------------------------------------------------------------------- */

struct suicide {
    struct weir_ward *ward;
    _Atomic bool stopped;
    size_t unfinished;
};

static enum weir_status stop_own_ward(struct weir_context *context, void *state,
                                      struct weir_directive *out,
                                      struct weir_error *error)
{
    struct suicide *self = state;

    (void)context;
    (void)out;
    (void)error;
    self->unfinished = weir_ward_stop(self->ward, WEIR_SECONDS(60));
    atomic_store(&self->stopped, true);
    return WEIR_OK;
}

WEIR_TEST(ward, stopped_by_its_own_action_does_not_wait_on_threads)
{
    struct suicide suicide = {.unfinished = 99};
    struct env env;
    env_open(&env, 1); /* a wait for itself would be for ever */
    suicide.ward = env.ward;
    struct weir_worker_options options = self_starting(stop_own_ward, &suicide);
    check_status(weir_ward_spawn(env.ward, &options, NULL, NULL), WEIR_OK);

    while (!atomic_load(&suicide.stopped))
        (void)sched_yield();

    check_int(suicide.unfinished, 1);
    check_int(weir_ward_stop(env.ward, WEIR_SECONDS(60)), 0);
    check_int(env.ends, 1);
    env_close(&env);
}

/* ---- destroying -------------------------------------------------------------------- */

struct deaf {
    _Atomic bool begun;
    _Atomic bool may_end;
    bool saw_cancel;
};

static enum weir_status hear_nothing(struct weir_context *context, void *state,
                                     struct weir_directive *out, struct weir_error *error)
{
    struct deaf *self = state;

    (void)out;
    (void)error;
    atomic_store(&self->begun, true);
    while (!atomic_load(&self->may_end))
        (void)sched_yield();
    self->saw_cancel = weir_context_cancelled(context);
    return WEIR_OK;
}

/* On a pool of one: the thread is stuck, so the caller of stop() ends the others
 * itself. */
WEIR_TEST(ward, counts_one_deaf_worker_and_ends_all_others_on_one_thread)
{
    _Atomic uint32_t calls = 0;
    struct deaf deaf = {.saw_cancel = false};
    struct env env;
    env_open(&env, 1);
    struct weir_worker_options options = self_starting(hear_nothing, &deaf);
    check_status(weir_ward_spawn(env.ward, &options, NULL, NULL), WEIR_OK);
    while (!atomic_load(&deaf.begun))
        (void)sched_yield();
    options = self_starting(count_call, &calls);
    for (int i = 0; i < HANDS; i++)
        check_status(weir_ward_spawn(env.ward, &options, NULL, NULL), WEIR_OK);

    check_int(weir_ward_stop(env.ward, MS(5)), 1);

    check_int(env.ends, HANDS);
    check_int(weir_ward_count(env.ward), 1);
    atomic_store(&deaf.may_end, true);
    check_int(weir_ward_stop(env.ward, WEIR_SECONDS(60)), 0);
    check(deaf.saw_cancel);
    env_close(&env);
}

/* Everything is destroyed around it. When it returns, its end is reported, and the memory
 * goes with it. */
WEIR_TEST(ward, that_is_destroyed_lives_until_its_last_action_returns)
{
    struct deaf deaf = {.saw_cancel = false};
    struct env env;
    env_open(&env, 2);
    struct weir_worker_options options = self_starting(hear_nothing, &deaf);
    check_status(weir_ward_spawn(env.ward, &options, NULL, NULL), WEIR_OK);
    while (!atomic_load(&deaf.begun))
        (void)sched_yield();

    weir_ward_destroy(env.ward);
    weir_executor_destroy(env.executor);
    check_int(env.ends, 0);
    check(env.heap.outstanding > 0);
    atomic_store(&deaf.may_end, true);
    while (atomic_load(&env.heap.outstanding) > 0)
        (void)sched_yield();

    check_int(env.ends, 1);
    check(deaf.saw_cancel);
}

WEIR_TEST(ward, may_be_outlived_by_the_handle_of_a_worker_on_threads)
{
    _Atomic uint32_t calls = 0;
    struct weir_worker_info info;
    struct weir_worker *worker;
    struct env env;
    env_open(&env, 2);
    struct weir_worker_options options = self_starting(count_call, &calls);
    check_status(weir_ward_spawn(env.ward, &options, &worker, NULL), WEIR_OK);
    while (atomic_load(&calls) < 10)
        (void)sched_yield();
    check_int(weir_ward_stop(env.ward, WEIR_SECONDS(60)), 0);

    weir_ward_destroy(env.ward);
    weir_executor_destroy(env.executor);

    weir_worker_read(worker, &info);
    check_int(info.state, WEIR_WORKER_ENDED);
    check_int(info.executions, calls);
    weir_worker_release(worker);
    check_int(env.heap.outstanding, 0);
}
