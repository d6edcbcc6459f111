/*
 * threads.c - the executor on a pool of threads.
 *
 * A thread takes a ready worker from its track, runs it, and looks again. With nothing
 * to run it dozes on a condition of its own. One of the dozing threads is the
 * *timekeeper*: it wakes when the next timer is due, all others only when roused, so an
 * idle pool makes no wake-ups at all. A thread that is parked inside an action or in
 * weir_ward_stop() dozes in the same way and may keep the time too: otherwise a pool
 * whose threads all wait inside actions would stop its own clock.
 *
 *   I1  there is at most one timekeeper, and it dozes
 *   I2  while timers are armed, there is a timekeeper, or a thread is on its way to
 *       look at them, or no thread dozes: then every thread is in user code, and the
 *       first that comes back looks
 *   I3  while workers are ready, no thread that serves their track dozes, or one
 *       was roused that will look
 *
 * A thread that is between two runs (it holds the lock and is not in user code) looks
 * at its track and at the timers anyway. So what happens then needs no signal; before
 * it goes into user code it rouses another thread for what it leaves behind.
 */
#include <pthread.h>

#include "base/assert.h"
#include "base/count.h"
#include "base/heap.h"
#include "base/no_memory.h"
#include "ward/context.h"
#include "ward/executor.h"
#include "ward/system.h"
#include "ward/wait.h"
#include "ward/worker.h"

/* A thread with nothing to do until roused. */
struct sleeper {
    struct weir_list
        link; /* in a track's idle list or among the parked; alone once roused */
    struct weir_cond signal;
    bool roused;
};

struct thread {
    struct pool *pool;
    pthread_t id;
    enum weir_worker_class track;
    struct weir_context context;
    struct sleeper sleeper;
};

struct pool {
    struct weir_executor executor;
    struct thread *threads;
    uint32_t thread_count; /* those that were started */

    /* guarded by the executor's lock */
    struct weir_list idle[WEIR_TRACK_COUNT]; /* of struct sleeper, warmest first */
    struct weir_list parked;                 /* of struct sleeper */
    struct sleeper *timer_thread;
    bool ending;
};

/* The pool's thread that this is; NULL on all others. */
static _Thread_local struct thread *me;

static const struct weir_executor_ops THREADS;

static void *thread_main(void *argument);
static enum weir_status start_threads(struct pool *self, uint32_t common,
                                      uint32_t reserved, struct weir_error *error);
static void end_threads(struct pool *self);

static struct pool *pool_of(struct weir_executor *executor)
{
    return WEIR_CONTAINER_OF(executor, struct pool, executor);
}

/* ---- making and ending it ---------------------------------------------------------- */

void weir_executor_options_init(struct weir_executor_options *self)
{
    *self = (struct weir_executor_options){.threads = 4};
}

static enum weir_status check_options(const struct weir_executor_options *options,
                                      struct weir_error *error)
{
    if (options->threads < 1 || options->threads > WEIR_EXECUTOR_THREADS_MAX)
        return weir_error_set(error, WEIR_INVALID,
                              "create executor: threads is %u, must be 1 to %d",
                              options->threads, WEIR_EXECUTOR_THREADS_MAX);
    if (options->reserve_threads > WEIR_EXECUTOR_THREADS_MAX)
        return weir_error_set(
            error, WEIR_INVALID,
            "create executor: reserve_threads is %u, must be at most %d",
            options->reserve_threads, WEIR_EXECUTOR_THREADS_MAX);
    return WEIR_OK;
}

static struct pool *allocate(const struct weir_heap *heap, uint32_t thread_count)
{
    struct pool *self = weir_heap_zalloc(heap, sizeof *self);

    if (self == NULL)
        return NULL;
    self->threads = weir_heap_zalloc_array(heap, thread_count, sizeof *self->threads);
    if (self->threads == NULL) {
        weir_heap_free(heap, self);
        return NULL;
    }
    weir_list_init(&self->parked);
    for (size_t i = 0; i < WEIR_TRACK_COUNT; i++)
        weir_list_init(&self->idle[i]);
    return self;
}

enum weir_status weir_executor_create(const struct weir_executor_options *options,
                                      struct weir_executor **out,
                                      struct weir_error *error)
{
    const struct weir_heap *heap =
        options->heap != NULL ? options->heap : weir_heap_system();
    enum weir_status status = check_options(options, error);
    struct pool *self;

    *out = NULL;
    if (status != WEIR_OK)
        return status;
    self = allocate(heap, options->threads + options->reserve_threads);
    if (self == NULL)
        return weir_no_memory(error, "create executor");
    status = weir_executor_init(&self->executor, &THREADS, heap, &options->log,
                                weir_system_random());
    if (status != WEIR_OK) {
        weir_heap_free(heap, self->threads);
        weir_heap_free(heap, self);
        return weir_error_set(error, status, "create executor: no lock");
    }

    self->executor.serves[WEIR_WORKER_RESERVED] = options->reserve_threads > 0;
    status = start_threads(self, options->threads, options->reserve_threads, error);
    if (status != WEIR_OK) {
        weir_executor_destroy(&self->executor);
        return status;
    }
    *out = &self->executor;
    return WEIR_OK;
}

void weir_executor_destroy(struct weir_executor *self)
{
    if (self == NULL)
        return;
    WEIR_ASSERT(self->ops == &THREADS);
    end_threads(pool_of(self));
    weir_executor_release(self);
}

static enum weir_status start_thread(struct pool *self, struct thread *thread,
                                     enum weir_worker_class track)
{
    thread->pool = self;
    thread->track = track;
    weir_list_init(&thread->sleeper.link);
    if (weir_cond_init(&thread->sleeper.signal) != WEIR_OK)
        return WEIR_SYSTEM;
    weir_context_init(&thread->context, &self->executor);
    weir_executor_retain(&self->executor);
    if (pthread_create(&thread->id, NULL, thread_main, thread) == 0)
        return WEIR_OK;
    weir_executor_release(&self->executor);
    weir_context_fini(&thread->context);
    weir_cond_fini(&thread->sleeper.signal);
    return WEIR_SYSTEM;
}

static enum weir_status start_threads(struct pool *self, uint32_t common,
                                      uint32_t reserved, struct weir_error *error)
{
    for (uint32_t i = 0; i < common + reserved; i++) {
        enum weir_worker_class track =
            i < common ? WEIR_WORKER_COMMON : WEIR_WORKER_RESERVED;

        if (start_thread(self, &self->threads[i], track) != WEIR_OK)
            return weir_error_set(error, WEIR_SYSTEM,
                                  "create executor: thread %u of %u could not be started",
                                  i + 1, common + reserved);
        self->thread_count++;
    }
    return WEIR_OK;
}

/*
 * A thread in user code may never come back: it is let go, and ends by itself when it
 * does. Every other one is past its last piece of user code, so joining it takes no
 * time.
 */
static void end_threads(struct pool *self)
{
    struct weir_list *link;

    weir_executor_lock(&self->executor);
    self->ending = true;
    for (size_t i = 0; i < WEIR_TRACK_COUNT; i++) {
        while ((link = weir_list_take_first(&self->idle[i])) != NULL) {
            struct sleeper *sleeper = WEIR_CONTAINER_OF(link, struct sleeper, link);

            sleeper->roused = true;
            weir_cond_signal(&sleeper->signal);
        }
    }
    for (uint32_t i = 0; i < self->thread_count; i++) {
        struct thread *thread = &self->threads[i];

        if (thread->context.worker == NULL && thread != me) {
            weir_executor_unlock(&self->executor);
            (void)pthread_join(thread->id, NULL);
            weir_executor_lock(&self->executor);
        } else {
            (void)pthread_detach(thread->id);
        }
    }
    weir_executor_unlock(&self->executor);
}

static void threads_free(struct weir_executor *executor)
{
    struct pool *self = pool_of(executor);

    for (uint32_t i = 0; i < self->thread_count; i++) {
        weir_context_fini(&self->threads[i].context);
        weir_cond_fini(&self->threads[i].sleeper.signal);
    }
    weir_executor_fini(executor);
    weir_heap_free(executor->heap, self->threads);
    weir_heap_free(executor->heap, self);
}

/* ---- dozing ------------------------------------------------------------------------ */

static void rouse(struct sleeper *sleeper)
{
    weir_list_remove(&sleeper->link); /* once is enough */
    sleeper->roused = true;
    weir_cond_signal(&sleeper->signal);
}

/* Wait until roused or, as timekeeper, until a timer is due; then fire what is due. */
static void doze(struct pool *self, struct sleeper *sleeper,
                 struct weir_list *list) WEIR_NO_LOCK_ANALYSIS
{
    struct weir_timers *timers = &self->executor.timers;
    bool in_time = true;

    sleeper->roused = false;
    if (self->timer_thread == NULL && timers->earliest != NULL) {
        self->timer_thread = sleeper;
        weir_list_append(list, &sleeper->link); /* others are roused for work first */
    } else {
        weir_list_prepend(list, &sleeper->link);
    }
    while (!sleeper->roused && in_time) {
        bool keeps_time = self->timer_thread == sleeper;

        in_time =
            weir_cond_wait_until(&sleeper->signal, &self->executor.lock,
                                 keeps_time ? weir_timers_next_ns(timers) : WEIR_FOREVER);
    }
    weir_list_remove(&sleeper->link);
    if (self->timer_thread == sleeper)
        self->timer_thread = NULL;
    if (timers->earliest != NULL)
        weir_timers_fire_due(timers, weir_system_now_ns());
}

static struct sleeper *first_sleeper(struct pool *self)
{
    struct weir_list *lists[] = {&self->parked, &self->idle[WEIR_WORKER_COMMON],
                                 &self->idle[WEIR_WORKER_RESERVED]};

    for (size_t i = 0; i < COUNT_OF(lists); i++) {
        if (!weir_list_empty(lists[i]))
            return WEIR_CONTAINER_OF(lists[i]->next, struct sleeper, link);
    }
    return NULL;
}

/* A roused thread finds nothing to do, dozes again, and keeps the time from then on. */
static void appoint_timer_thread(struct pool *self)
{
    struct sleeper *sleeper;

    if (self->timer_thread != NULL || self->executor.timers.earliest == NULL)
        return;
    sleeper = first_sleeper(self);
    if (sleeper != NULL)
        rouse(sleeper);
}

static bool between_runs(const struct pool *self)
{
    return me != NULL && me->pool == self && weir_context_current() == NULL;
}

/* ---- the threads ------------------------------------------------------------------- */

static void rouse_for_track(struct pool *self, enum weir_worker_class track)
{
    if (!weir_list_empty(&self->idle[track]))
        rouse(WEIR_CONTAINER_OF(self->idle[track].next, struct sleeper, link));
}

/* Going into user code, perhaps for long: leave the rest to others. */
static void pass_on(struct pool *self, enum weir_worker_class track)
{
    if (self->executor.tracks[track].ready_count > 0)
        rouse_for_track(self, track);
    appoint_timer_thread(self);
}

static void *thread_main(void *argument)
{
    struct thread *self = argument;
    struct pool *pool = self->pool;
    struct weir_executor *executor = &pool->executor;
    int64_t now_ns = weir_system_now_ns();

    me = self;
    weir_executor_lock(executor);
    while (!pool->ending) {
        struct weir_list *link;

        if (executor->timers.earliest != NULL)
            weir_timers_fire_due(&executor->timers, now_ns);
        link = weir_executor_take(executor, self->track, 0);
        if (link != NULL) {
            pass_on(pool, self->track);
            now_ns = weir_worker_run(weir_worker_from_track_link(link), &self->context,
                                     now_ns);
        } else {
            doze(pool, &self->sleeper, &pool->idle[self->track]);
            now_ns = weir_system_now_ns();
        }
    }
    appoint_timer_thread(pool); /* it may have been us */
    weir_executor_unlock(executor);
    me = NULL;
    weir_executor_release(executor);
    return NULL;
}

/* ---- the operation table ----------------------------------------------------------- */

static int64_t threads_now(struct weir_executor *executor)
{
    (void)executor;
    return weir_system_now_ns();
}

static int64_t threads_boot_now(struct weir_executor *executor)
{
    (void)executor;
    return weir_system_boot_ns();
}

static int64_t threads_wall_us(struct weir_executor *executor)
{
    (void)executor;
    return weir_system_wall_us();
}

static void threads_wake(struct weir_executor *executor, enum weir_worker_class track)
{
    struct pool *self = pool_of(executor);

    if (!between_runs(self) || me->track != track)
        rouse_for_track(self, track);
}

static void threads_timers_moved(struct weir_executor *executor)
{
    struct pool *self = pool_of(executor);

    if (self->timer_thread != NULL)
        weir_cond_signal(&self->timer_thread->signal); /* it looks when to wake anew */
    else if (!between_runs(self))
        appoint_timer_thread(self);
}

static void threads_park(struct weir_executor *executor, struct weir_parking *parking)
{
    struct pool *self = pool_of(executor);
    struct sleeper sleeper;
    enum weir_status status = weir_cond_init(&sleeper.signal);

    WEIR_ASSERT(status == WEIR_OK);
    weir_list_init(&sleeper.link);
    parking->blocked = &sleeper;
    while (!parking->woken)
        doze(self, &sleeper, &self->parked);
    parking->blocked = NULL;
    appoint_timer_thread(self); /* it may have been us */
    weir_cond_fini(&sleeper.signal);
}

static void threads_unpark(struct weir_executor *executor, struct weir_parking *parking)
{
    (void)executor;
    rouse(parking->blocked);
}

static const struct weir_executor_ops THREADS = {
    .now = threads_now,
    .boot_now = threads_boot_now,
    .wall_us = threads_wall_us,
    .wake = threads_wake,
    .timers_moved = threads_timers_moved,
    .park = threads_park,
    .unpark = threads_unpark,
    .free = threads_free,
};
