/*
 * sim.c - the executor in one thread and in virtual time.
 *
 * Everything that can run now is a *candidate*: a ready worker, or a fiber whose wait
 * is over. The seed picks one; it runs until it is done or has to wait. When there is
 * no candidate, the clock jumps to the next timer.
 *
 *   I1  the clock never goes back, and moves only when there is no candidate
 *   I2  a fiber is free, or current, or waiting, or resumable
 *
 * The scheduler's lock is taken here as on threads, though there is no contention for it:
 * the code around it is the same, and so are the mistakes it would reveal.
 */
#include "ward/sim.h"

#include "base/assert.h"
#include "base/heap.h"
#include "base/no_memory.h"
#include "base/random.h"
#include "ward/context.h"
#include "ward/executor.h"
#include "ward/fiber.h"
#include "ward/wait.h"
#include "ward/worker.h"

/* Candidates beyond these wait for the next pick: picking stays cheap with many. */
enum { CHOICES_MAX = 64 };

/* The first of January 2020, when every simulation begins. */
#define BEGINNING_US INT64_C(1577836800000000)

/* A stack on which one worker at a time is executed. */
struct runner {
    struct weir_list link; /* free, resumable or waiting */
    struct weir_sim *sim;
    struct weir_fiber *fiber;
    struct weir_context context;
    struct weir_worker *worker;           /* what to run */
    struct weir_parking *parking;         /* where it waits, on its own stack */
    struct weir_context *current_context; /* while it does not run */
};

struct weir_sim {
    struct weir_executor executor;
    struct weir_random random;
    int64_t now_ns;
    int64_t wall_error_us;
    int64_t boot_ahead_ns; /* of the clock that counts suspension, before the other */
    uint64_t steps;
    struct weir_list free;      /* of struct runner */
    struct weir_list resumable; /* in the order in which they were woken */
    struct weir_list waiting;
    struct runner *current; /* NULL while the simulation itself runs */
};

static const struct weir_executor_ops SIM;

static struct weir_sim *sim_of(struct weir_executor *executor)
{
    return WEIR_CONTAINER_OF(executor, struct weir_sim, executor);
}

/* ---- runners ----------------------------------------------------------------------- */

static void run_worker(void *argument)
{
    struct runner *runner = argument;

    weir_executor_lock(&runner->sim->executor);
    (void)weir_worker_run(runner->worker, &runner->context, runner->sim->now_ns);
    weir_executor_unlock(&runner->sim->executor);
}

static struct runner *new_runner(struct weir_sim *self)
{
    const struct weir_heap *heap = self->executor.heap;
    struct runner *runner = weir_heap_zalloc(heap, sizeof *runner);

    if (runner == NULL)
        return NULL;
    if (weir_fiber_create(heap, run_worker, runner, &runner->fiber) != WEIR_OK) {
        weir_heap_free(heap, runner);
        return NULL;
    }
    runner->sim = self;
    weir_list_init(&runner->link);
    weir_context_init(&runner->context, &self->executor);
    return runner;
}

static void free_runner(struct runner *runner)
{
    const struct weir_heap *heap = runner->sim->executor.heap;

    weir_context_fini(&runner->context);
    weir_fiber_destroy(runner->fiber);
    weir_heap_free(heap, runner);
}

/* Make sure that a fiber is free to run a worker; false without memory. */
static bool have_free_runner(struct weir_sim *self)
{
    struct runner *runner;

    if (!weir_list_empty(&self->free))
        return true;
    runner = new_runner(self);
    if (runner == NULL)
        return false;
    weir_list_append(&self->free, &runner->link);
    return true;
}

/* Switch to `runner`, which is in no list, until it is done or waits. */
static void go_on(struct weir_sim *self, struct runner *runner)
    WEIR_REQUIRES(weir_executor_role)
{
    struct weir_context *outside = weir_context_swap_current(runner->current_context);
    bool waits;

    self->steps++;
    self->current = runner;
    weir_executor_unlock(&self->executor);
    waits = weir_fiber_run(runner->fiber);
    weir_executor_lock(&self->executor);
    self->current = NULL;
    runner->current_context = weir_context_swap_current(outside);
    if (waits) {
        weir_list_append(&self->waiting, &runner->link);
    } else {
        runner->worker = NULL;
        weir_list_append(&self->free, &runner->link);
    }
}

static void begin(struct weir_sim *self, struct weir_list *track_link)
    WEIR_REQUIRES(weir_executor_role)
{
    struct runner *runner =
        WEIR_CONTAINER_OF(weir_list_take_first(&self->free), struct runner, link);

    runner->worker = weir_worker_from_track_link(track_link);
    go_on(self, runner);
}

/* ---- picking ----------------------------------------------------------------------- */

static uint32_t up_to_choices(size_t count)
{
    return count < CHOICES_MAX ? (uint32_t)count : CHOICES_MAX;
}

static struct runner *take_resumable(struct weir_sim *self, uint32_t index)
{
    struct weir_list *link = self->resumable.next;

    while (index-- > 0)
        link = link->next;
    weir_list_remove(link);
    return WEIR_CONTAINER_OF(link, struct runner, link);
}

static bool has_ready(const struct weir_sim *self)
{
    const struct weir_track *tracks = self->executor.tracks;

    return tracks[WEIR_WORKER_COMMON].ready_count +
               tracks[WEIR_WORKER_RESERVED].ready_count >
           0;
}

/* Run one candidate, picked by the seed; false when there is none. */
static bool run_one(struct weir_sim *self) WEIR_REQUIRES(weir_executor_role)
{
    struct weir_track *tracks = self->executor.tracks;
    uint32_t counts[WEIR_TRACK_COUNT + 1] = {0};
    uint32_t total = 0;
    uint32_t pick;
    size_t resumable_count = 0;
    bool can_begin = has_ready(self) && have_free_runner(self);

    WEIR_LIST_EACH(link, &self->resumable)
    resumable_count++;
    counts[WEIR_TRACK_COUNT] = up_to_choices(resumable_count);
    for (size_t i = 0; i < WEIR_TRACK_COUNT; i++) {
        if (can_begin)
            counts[i] = up_to_choices(tracks[i].ready_count);
    }
    for (size_t i = 0; i <= WEIR_TRACK_COUNT; i++)
        total += counts[i];
    if (total == 0)
        return false;

    pick = weir_random_below(&self->random, total);
    for (size_t i = 0; i < WEIR_TRACK_COUNT; i++) {
        if (pick < counts[i]) {
            begin(self,
                  weir_executor_take(&self->executor, (enum weir_worker_class)i, pick));
            return true;
        }
        pick -= counts[i];
    }
    go_on(self, take_resumable(self, pick));
    return true;
}

/* One thing happens at or before `limit_ns`, or false. */
static bool step(struct weir_sim *self, int64_t limit_ns)
    WEIR_REQUIRES(weir_executor_role)
{
    int64_t next_ns;

    weir_timers_fire_due(&self->executor.timers, self->now_ns);
    if (run_one(self))
        return true;
    next_ns = weir_timers_next_ns(&self->executor.timers);
    if (next_ns == WEIR_FOREVER || next_ns > limit_ns)
        return false;
    self->now_ns = next_ns;
    weir_timers_fire_due(&self->executor.timers, next_ns); /* a stop() may be over now */
    return true;
}

/* ---- the public calls -------------------------------------------------------------- */

enum weir_status weir_sim_create(const struct weir_sim_options *options,
                                 struct weir_sim **out, struct weir_error *error)
{
    const struct weir_heap *heap =
        options->heap != NULL ? options->heap : weir_heap_system();
    struct weir_sim *self = weir_heap_zalloc(heap, sizeof *self);
    enum weir_status status;

    *out = NULL;
    if (self == NULL)
        return weir_no_memory(error, "create simulation");
    status =
        weir_executor_init(&self->executor, &SIM, heap, &options->log, options->seed);
    if (status != WEIR_OK) {
        weir_heap_free(heap, self);
        return weir_error_set(error, status, "create simulation: no lock");
    }
    self->executor.simulated = true;
    weir_random_init(&self->random, options->seed);
    weir_list_init(&self->free);
    weir_list_init(&self->resumable);
    weir_list_init(&self->waiting);
    *out = self;
    return WEIR_OK;
}

/* A power cut for one runner: nothing on its stack is ever looked at again. */
static void cut_off(struct weir_sim *self, struct weir_list *list)
    WEIR_REQUIRES(weir_executor_role)
{
    struct runner *runner =
        WEIR_CONTAINER_OF(weir_list_take_first(list), struct runner, link);

    weir_executor_disarm(&self->executor, &runner->parking->timer);
    weir_list_remove(&runner->parking->wait.link);
    weir_worker_drop(runner->worker);
    weir_list_append(&self->free, &runner->link);
}

void weir_sim_destroy(struct weir_sim *self)
{
    struct weir_list *link;

    if (self == NULL)
        return;
    WEIR_ASSERT(self->current == NULL);
    weir_executor_lock(&self->executor);
    while (!weir_list_empty(&self->waiting))
        cut_off(self, &self->waiting);
    while (!weir_list_empty(&self->resumable))
        cut_off(self, &self->resumable);
    weir_executor_unlock(&self->executor);
    while ((link = weir_list_take_first(&self->free)) != NULL)
        free_runner(WEIR_CONTAINER_OF(link, struct runner, link));
    weir_executor_release(&self->executor);
}

struct weir_executor *weir_sim_executor(struct weir_sim *self)
{
    return &self->executor;
}

int64_t weir_sim_now(const struct weir_sim *self)
{
    return self->now_ns;
}

uint64_t weir_sim_steps(const struct weir_sim *self)
{
    return self->steps;
}

size_t weir_sim_waiting(const struct weir_sim *self)
{
    size_t count = 0;

    WEIR_LIST_EACH(link, &self->waiting)
    count++;
    return count;
}

int64_t weir_sim_next_ns(struct weir_sim *self)
{
    int64_t next_ns;

    weir_executor_lock(&self->executor);
    next_ns = weir_timers_next_ns(&self->executor.timers);
    if (has_ready(self) || !weir_list_empty(&self->resumable))
        next_ns = self->now_ns;
    weir_executor_unlock(&self->executor);
    return next_ns;
}

void weir_sim_jump(struct weir_sim *self, int64_t time_ns)
{
    WEIR_ASSERT(self->current == NULL);
    if (self->now_ns < time_ns)
        self->now_ns = time_ns;
}

void weir_sim_set_wall_error(struct weir_sim *self, int64_t error_us)
{
    self->wall_error_us = error_us;
}

void weir_sim_jump_boot(struct weir_sim *self, int64_t duration_ns)
{
    self->boot_ahead_ns += duration_ns;
}

void weir_sim_run_until(struct weir_sim *self, int64_t time_ns)
{
    WEIR_ASSERT(self->current == NULL);
    weir_executor_lock(&self->executor);
    while (step(self, time_ns))
        ;
    if (self->now_ns < time_ns)
        self->now_ns = time_ns;
    weir_executor_unlock(&self->executor);
}

bool weir_sim_run_until_quiet(struct weir_sim *self, int64_t limit_ns)
{
    bool quiet;

    WEIR_ASSERT(self->current == NULL);
    weir_executor_lock(&self->executor);
    while (step(self, limit_ns))
        ;
    quiet = self->executor.timers.earliest == NULL && !has_ready(self);
    weir_executor_unlock(&self->executor);
    return quiet;
}

/* ---- the operation table ----------------------------------------------------------- */

static int64_t sim_now(struct weir_executor *executor)
{
    return sim_of(executor)->now_ns;
}

static int64_t sim_boot_now(struct weir_executor *executor)
{
    const struct weir_sim *self = sim_of(executor);

    return self->now_ns + self->boot_ahead_ns;
}

static int64_t sim_wall_us(struct weir_executor *executor)
{
    const struct weir_sim *self = sim_of(executor);

    return BEGINNING_US + self->now_ns / 1000 + self->wall_error_us;
}

static void sim_wake(struct weir_executor *executor, enum weir_worker_class track)
{
    (void)executor;
    (void)track; /* run_one() looks at the tracks each time */
}

static void sim_timers_moved(struct weir_executor *executor)
{
    (void)executor; /* step() looks at the timers each time */
}

/* On a fiber: let others run. Outside, in weir_ward_stop(): make others run. */
static void sim_park(struct weir_executor *executor,
                     struct weir_parking *parking) WEIR_NO_LOCK_ANALYSIS
{
    struct weir_sim *self = sim_of(executor);
    struct runner *runner = self->current;

    if (runner == NULL) {
        while (!parking->woken && step(self, WEIR_FOREVER))
            ;
        return;
    }
    if (parking->woken)
        return;
    runner->parking = parking;
    parking->blocked = runner;
    weir_executor_unlock(executor);
    weir_fiber_pause(runner->fiber);
    weir_executor_lock(executor);
    parking->blocked = NULL;
    runner->parking = NULL;
}

static void sim_unpark(struct weir_executor *executor, struct weir_parking *parking)
{
    struct runner *runner = parking->blocked;

    weir_list_remove(&runner->link);
    weir_list_append(&sim_of(executor)->resumable, &runner->link);
}

static void sim_free(struct weir_executor *executor)
{
    const struct weir_heap *heap = executor->heap;

    weir_executor_fini(executor);
    weir_heap_free(heap, sim_of(executor));
}

static const struct weir_executor_ops SIM = {
    .now = sim_now,
    .boot_now = sim_boot_now,
    .wall_us = sim_wall_us,
    .wake = sim_wake,
    .timers_moved = sim_timers_moved,
    .park = sim_park,
    .unpark = sim_unpark,
    .free = sim_free,
};
