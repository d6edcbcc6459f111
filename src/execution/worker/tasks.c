/*
 * tasks.c - see tasks.h.
 *
 *   I1  a task is in the list of its state; one that is GONE is in none
 *   I2  a task has a runner exactly while it is RUNNING
 *   I3  a haul has a reference for each of its tasks that is not GONE
 *   I4  figures.claimed is the sum of what is held and what has become of the others
 *
 * Nothing is freed under the lock: the holder of the last reference of a haul frees
 * it afterwards.
 */
#include "execution/worker/tasks.h"

#include "base/arith.h"
#include "base/assert.h"
#include "base/heap.h"
#include "execution/claim.h"
#include "ward/executor.h"
#include "ward/wait.h"

/* The stop signal comes so much of the lease before its end: time for the handler to
 * listen. */
enum { MARGIN_PART = 10 };

/* Results that are written in one transaction. */
#define COLLECT_BYTES_MAX ((size_t)4 * 1024 * 1024)

enum weir_status weir_tasks_init(struct weir_tasks *self, const struct weir_heap *heap,
                                 size_t room, int64_t lease_ns)
{
    *self = (struct weir_tasks){
        .heap = heap,
        .room = room,
        .margin_ns = lease_ns / MARGIN_PART,
    };
    atomic_init(&self->awaiting, 0);
    for (int i = 0; i < WEIR_TASKS_WANTED_COUNT; i++)
        atomic_init(&self->left[i], 0);
    weir_list_init(&self->stoppers);
    for (int i = 0; i < WEIR_TASK_GONE; i++)
        weir_list_init(&self->lists[i]);
    return weir_lock_init(&self->lock);
}

static struct weir_task *task_of(struct weir_list *link)
{
    return WEIR_CONTAINER_OF(link, struct weir_task, link);
}

/* ---- hauls ------------------------------------------------------------------------- */

/* Where the database's time of the claim is on our clock: claimed_ns, or a little
 * later. */
static int64_t deadline_of(const struct weir_claimed *claimed, int64_t lease_ms)
{
    int64_t left_us;

    if (claimed->deadline_us == 0)
        return WEIR_FOREVER;
    left_us = claimed->deadline_us - (claimed->lease_us - lease_ms * 1000);
    return left_us >= INT64_MAX / 1000
               ? WEIR_FOREVER
               : weir_sat_add_i64(claimed->claimed_ns, WEIR_MICROSECONDS(left_us));
}

struct weir_claim_batch *weir_claim_batch_create(const struct weir_heap *heap,
                                                 struct weir_execution_worker *worker,
                                                 struct weir_claimed *claimed,
                                                 size_t count, int64_t lease_ms)
{
    struct weir_claim_batch *self =
        weir_heap_zalloc(heap, sizeof *self + count * sizeof self->tasks[0]);

    if (self == NULL)
        return NULL;
    self->heap = heap;
    self->claimed = claimed;
    self->references = count;
    self->count = count;
    for (size_t i = 0; i < count; i++) {
        struct weir_task *task = &self->tasks[i];

        weir_list_init(&task->link);
        task->claim_batch = self;
        task->worker = worker;
        task->claimed = &claimed[i];
        task->lease_end_ns =
            weir_sat_add_i64(claimed[i].claimed_ns, WEIR_MILLISECONDS(lease_ms));
        task->deadline_ns = deadline_of(&claimed[i], lease_ms);
        task->answer.claim = claimed[i].claim;
    }
    return self;
}

static void free_claim_batch(struct weir_claim_batch *self)
{
    const struct weir_heap *heap = self->heap;

    for (size_t i = 0; i < self->count; i++)
        weir_heap_free(heap, self->tasks[i].result);
    weir_claimed_free_to(heap, self->claimed);
    weir_heap_free(heap, self);
}

/* True: it was the last one, and the caller frees the haul. */
static bool leave_claim_batch(struct weir_claim_batch *self)
{
    WEIR_ASSERT(self->references > 0);
    return --self->references == 0;
}

/* ---- moving ------------------------------------------------------------------------ */

static uint32_t *figure_of(struct weir_tasks *self, enum weir_task_state state)
{
    switch (state) {
    case WEIR_TASK_WAITING:
        return &self->stats.waiting;
    case WEIR_TASK_RUNNING:
        return &self->stats.running;
    default:
        return &self->stats.settling;
    }
}

/* For wait(). */
static void count_left(struct weir_tasks *self) WEIR_REQUIRES(self->lock)
{
    const struct weir_execution_worker_stats *now = &self->stats;

    atomic_store(&self->left[WEIR_TASKS_NONE_UNSETTLED], now->settling);
    atomic_store(&self->left[WEIR_TASKS_NONE_HELD],
                 now->waiting + now->running + now->settling);
}

/* The only place that changes a state, but for admit(). */
static void move(struct weir_tasks *self, struct weir_task *task, enum weir_task_state to)
    WEIR_REQUIRES(self->lock)
{
    --*figure_of(self, task->state);
    weir_list_remove(&task->link);
    task->state = to;
    if (to != WEIR_TASK_GONE) {
        ++*figure_of(self, to);
        weir_list_append(&self->lists[to], &task->link);
    }
    count_left(self);
}

/* The handler has lent its claim, and that one was first to settle it. */
static uint64_t *fate_elsewhere(struct weir_tasks *self, const struct weir_task *task)
{
    switch (task->answer.current.state) {
    case WEIR_STATE_SUSPENDED:
        return &self->stats.suspended;
    case WEIR_STATE_COMPLETED:
        return &self->stats.completed;
    case WEIR_STATE_FAILED:
        return &self->stats.failed;
    case WEIR_STATE_CANCELLED:
        return &self->stats.cancelled;
    default:
        return &self->stats.delayed;
    }
}

/* What has become of it, once `status` is known. */
static uint64_t *fate_of(struct weir_tasks *self, const struct weir_task *task,
                         enum weir_status status)
{
    if (task->pause == WEIR_TASK_SUSPENDED)
        return &self->stats.suspended;
    if (status == WEIR_MISMATCH)
        return fate_elsewhere(self, task);
    if (status != WEIR_OK)
        return &self->stats.fenced;
    switch (task->answer.verb) {
    case WEIR_SETTLE_COMPLETE:
        return &self->stats.completed;
    case WEIR_SETTLE_FAIL:
        return task->answer.current.state == WEIR_STATE_FAILED ? &self->stats.failed
                                                               : &self->stats.retried;
    case WEIR_SETTLE_DELAY:
        return task->returned ? &self->stats.returned : &self->stats.delayed;
    case WEIR_SETTLE_ABANDON:
        break;
    }
    return &self->stats.cancelled;
}

/* It is over; true: so is its haul. */
static bool end_task(struct weir_tasks *self, struct weir_task *task,
                     enum weir_status status) WEIR_REQUIRES(self->lock)
{
    ++*fate_of(self, task, status);
    move(self, task, WEIR_TASK_GONE);
    return leave_claim_batch(task->claim_batch);
}

/* After something has changed that a thread may wait for. */
static void wake_stoppers(struct weir_tasks *self)
{
    if (atomic_load(&self->awaiting) == 0)
        return;
    weir_executor_lock(self->executor);
    while (weir_wait_wake_first(&self->stoppers, WEIR_WOKEN_BY_SIGNAL))
        ;
    weir_executor_unlock(self->executor);
}

/* ---- claiming ---------------------------------------------------------------------- */

size_t weir_tasks_room(struct weir_tasks *self)
{
    size_t room = 0;
    size_t busy;

    weir_lock_acquire(&self->lock);
    busy = self->stats.waiting + self->stats.running;
    /* Answers that cannot be stored must not pile up. */
    if (!self->closed && busy < self->room && self->stats.settling < self->room)
        room = self->room - busy;
    weir_lock_release(&self->lock);
    return room;
}

static void admit(struct weir_tasks *self, struct weir_task *task)
    WEIR_REQUIRES(self->lock)
{
    self->stats.claimed++;
    self->stats.waiting++;
    weir_list_append(&self->lists[WEIR_TASK_WAITING], &task->link);
    count_left(self);
    if (task->kind != NULL && !self->closed)
        return;
    if (task->kind == NULL)
        self->stats.unhandled++;
    weir_task_give_back(task, task->kind == NULL ? WEIR_UNHANDLED_DELAY_MS : 0);
    move(self, task, WEIR_TASK_ANSWERED);
}

size_t weir_tasks_admit(struct weir_tasks *self, struct weir_claim_batch *claim_batch)
{
    size_t waiting;

    weir_lock_acquire(&self->lock);
    for (size_t i = 0; i < claim_batch->count; i++)
        admit(self, &claim_batch->tasks[i]);
    waiting = self->stats.waiting;
    weir_lock_release(&self->lock);
    return waiting;
}

/* ---- running ----------------------------------------------------------------------- */

static int64_t sooner(int64_t a_ns, int64_t b_ns)
{
    return a_ns < b_ns ? a_ns : b_ns;
}

static int64_t stop_time(const struct weir_tasks *self, const struct weir_task *task)
{
    return sooner(task->lease_end_ns - self->margin_ns, task->deadline_ns);
}

/* What waited for too long is not begun any more. */
struct weir_taken weir_tasks_take(struct weir_tasks *self, struct weir_worker *runner,
                                  int64_t now_ns)
{
    struct weir_list *waiting = &self->lists[WEIR_TASK_WAITING];
    struct weir_taken taken = {.task = NULL};

    weir_lock_acquire(&self->lock);
    while (taken.task == NULL && !weir_list_empty(waiting)) {
        struct weir_task *task = task_of(waiting->next);

        taken.stop_ns = stop_time(self, task);
        if (taken.stop_ns > now_ns) {
            move(self, task, WEIR_TASK_RUNNING);
            task->runner = runner;
            taken.task = task;
        } else {
            weir_task_give_back(task, 0);
            move(self, task, WEIR_TASK_ANSWERED);
            taken.late = true;
        }
    }
    taken.more = !weir_list_empty(waiting);
    weir_lock_release(&self->lock);
    return taken;
}

/* Has its answer to be stored? One that was fenced would only be refused, and what ran
 * out of time is left to the reconciler. Where a suspension is in doubt it may have
 * been stored, and then any other answer is refused: giving back is the one that may. */
static bool has_answer(struct weir_task *task)
{
    if (task->pause == WEIR_TASK_SUSPENDED)
        return false;
    if (task->pause == WEIR_TASK_DOUBTFUL) {
        weir_task_give_back(task, 0);
        return true;
    }
    if (task->stop == WEIR_TASK_FENCED)
        return false;
    if (task->answered)
        return true;
    switch (task->stop) {
    case WEIR_TASK_NOT_STOPPED:
        (void)weir_task_fail(task, "no_answer");
        return true;
    case WEIR_TASK_UNLEASED:
    case WEIR_TASK_ENDED:
        weir_task_give_back(task, 0);
        return true;
    default:
        return false;
    }
}

bool weir_tasks_answer(struct weir_tasks *self, struct weir_task *task)
{
    struct weir_claim_batch *claim_batch = task->claim_batch;
    bool stopped, last = false;

    weir_lock_acquire(&self->lock);
    stopped = task->stop != WEIR_TASK_NOT_STOPPED;
    task->runner = NULL;
    if (has_answer(task))
        move(self, task, WEIR_TASK_ANSWERED);
    else
        last = end_task(self, task, WEIR_FENCED);
    weir_lock_release(&self->lock);
    if (last)
        free_claim_batch(claim_batch);
    wake_stoppers(self);
    return stopped;
}

/* ---- settling ---------------------------------------------------------------------- */

size_t weir_tasks_collect(struct weir_tasks *self, struct weir_task **out, size_t max)
{
    struct weir_list *answered = &self->lists[WEIR_TASK_ANSWERED];
    size_t bytes = 0;
    size_t count = 0;

    weir_lock_acquire(&self->lock);
    while (count < max && bytes < COLLECT_BYTES_MAX && !weir_list_empty(answered)) {
        struct weir_task *task = task_of(answered->next);

        move(self, task, WEIR_TASK_SETTLING);
        bytes += task->answer.result_size;
        out[count++] = task;
    }
    weir_lock_release(&self->lock);
    return count;
}

static void finish(struct weir_tasks *self, struct weir_task *task,
                   enum weir_status status)
{
    struct weir_claim_batch *claim_batch = task->claim_batch;
    void *result;
    bool last;

    weir_lock_acquire(&self->lock);
    result = task->result;
    task->result = NULL; /* others of the haul may live for hours */
    last = end_task(self, task, status);
    weir_lock_release(&self->lock);
    weir_heap_free(self->heap, result);
    if (last)
        free_claim_batch(claim_batch);
    wake_stoppers(self);
}

bool weir_tasks_uncollect(struct weir_tasks *self, struct weir_task *task, int64_t now_ns)
{
    bool over;

    weir_lock_acquire(&self->lock);
    over = task->lease_end_ns <= now_ns;
    if (!over)
        move(self, task, WEIR_TASK_ANSWERED);
    weir_lock_release(&self->lock);
    if (over)
        finish(self, task, WEIR_FENCED);
    return !over;
}

void weir_tasks_settle(struct weir_tasks *self, struct weir_task *task,
                       enum weir_status status)
{
    finish(self, task, status);
}

/* ---- leases ------------------------------------------------------------------------ */

static bool is_renewed(const struct weir_task *task)
{
    return task->stop != WEIR_TASK_FENCED && task->pause != WEIR_TASK_SUSPENDED &&
           !task->fenced_in_pause;
}

int64_t weir_tasks_first_end(struct weir_tasks *self)
{
    int64_t first_ns = WEIR_FOREVER;

    weir_lock_acquire(&self->lock);
    for (int i = 0; i < WEIR_TASK_GONE; i++) {
        WEIR_LIST_EACH(link, &self->lists[i])
        {
            if (is_renewed(task_of(link)) && task_of(link)->lease_end_ns < first_ns)
                first_ns = task_of(link)->lease_end_ns;
        }
    }
    weir_lock_release(&self->lock);
    return first_ns;
}

size_t weir_tasks_leases(struct weir_tasks *self, struct weir_task **out, size_t max)
{
    size_t count = 0;

    weir_lock_acquire(&self->lock);
    for (int i = 0; i < WEIR_TASK_GONE; i++) {
        WEIR_LIST_EACH(link, &self->lists[i])
        {
            if (count == max || !is_renewed(task_of(link)))
                continue;
            out[count] = task_of(link);
            out[count++]->claim_batch->references++;
        }
    }
    weir_lock_release(&self->lock);
    return count;
}

/* The handler is to return; what it says counts as far as the database lets it. */
static void signal_stop(struct weir_task *task, enum weir_task_stop stop)
{
    task->stop = stop;
    weir_worker_cancel(task->runner);
}

/* Another worker has it, or it is over. An answer is sent all the same: it may be that
 * which was stored. */
static bool lose(struct weir_tasks *self, struct weir_task *task)
    WEIR_REQUIRES(self->lock)
{
    if (task->state == WEIR_TASK_WAITING)
        return end_task(self, task, WEIR_FENCED);
    if (task->pause == WEIR_TASK_SUSPENDING || task->pause == WEIR_TASK_SUSPENDED) {
        task->fenced_in_pause = true;
        return false;
    }
    if (task->state == WEIR_TASK_RUNNING && task->stop == WEIR_TASK_NOT_STOPPED)
        signal_stop(task, WEIR_TASK_FENCED);
    task->stop = WEIR_TASK_FENCED;
    return false;
}

void weir_tasks_renewed(struct weir_tasks *self, struct weir_task *task,
                        enum weir_status status, int64_t lease_end_ns)
{
    struct weir_claim_batch *claim_batch = task->claim_batch;
    bool last = false;

    weir_lock_acquire(&self->lock);
    if (status == WEIR_OK && lease_end_ns > task->lease_end_ns)
        task->lease_end_ns = lease_end_ns;
    if (status != WEIR_OK)
        last = lose(self, task);
    WEIR_ASSERT(!last); /* ours is still there */
    last = leave_claim_batch(claim_batch);
    weir_lock_release(&self->lock);
    if (last)
        free_claim_batch(claim_batch);
    if (status != WEIR_OK)
        wake_stoppers(self);
}

/* ---- suspending -------------------------------------------------------------------- */

bool weir_tasks_begin_pause(struct weir_tasks *self, struct weir_task *task)
{
    bool fresh;

    weir_lock_acquire(&self->lock);
    fresh = task->pause != WEIR_TASK_SUSPENDED;
    if (fresh)
        task->pause = WEIR_TASK_SUSPENDING;
    weir_lock_release(&self->lock);
    return fresh;
}

void weir_tasks_end_pause(struct weir_tasks *self, struct weir_task *task,
                          enum weir_task_pause pause)
{
    weir_lock_acquire(&self->lock);
    task->pause = pause;
    if (task->fenced_in_pause && pause != WEIR_TASK_SUSPENDED)
        (void)lose(self, task); /* it is running, so nothing ends with it */
    weir_lock_release(&self->lock);
}

void weir_tasks_lose(struct weir_tasks *self, struct weir_task *task)
{
    weir_lock_acquire(&self->lock);
    (void)lose(self, task);
    weir_lock_release(&self->lock);
}

/* ---- the stop signal --------------------------------------------------------------- */

int64_t weir_tasks_watch(struct weir_tasks *self, int64_t now_ns)
{
    int64_t next_ns = WEIR_FOREVER;

    weir_lock_acquire(&self->lock);
    WEIR_LIST_EACH(link, &self->lists[WEIR_TASK_RUNNING])
    {
        struct weir_task *task = task_of(link);

        if (task->stop != WEIR_TASK_NOT_STOPPED || task->pause == WEIR_TASK_SUSPENDED)
            continue;
        if (stop_time(self, task) > now_ns)
            next_ns = sooner(next_ns, stop_time(self, task));
        else
            signal_stop(task, task->deadline_ns <= now_ns ? WEIR_TASK_TIMED_OUT
                                                          : WEIR_TASK_UNLEASED);
    }
    weir_lock_release(&self->lock);
    return next_ns;
}

/* ---- the end ----------------------------------------------------------------------- */

void weir_tasks_close(struct weir_tasks *self)
{
    struct weir_list *waiting = &self->lists[WEIR_TASK_WAITING];

    weir_lock_acquire(&self->lock);
    self->closed = true;
    while (!weir_list_empty(waiting)) {
        struct weir_task *task = task_of(waiting->next);

        weir_task_give_back(task, 0);
        move(self, task, WEIR_TASK_ANSWERED);
    }
    weir_lock_release(&self->lock);
}

void weir_tasks_stop(struct weir_tasks *self)
{
    weir_lock_acquire(&self->lock);
    WEIR_LIST_EACH(link, &self->lists[WEIR_TASK_RUNNING])
    {
        if (task_of(link)->stop == WEIR_TASK_NOT_STOPPED)
            signal_stop(task_of(link), WEIR_TASK_ENDED);
    }
    weir_lock_release(&self->lock);
}

void weir_tasks_wait(struct weir_tasks *self, enum weir_tasks_wanted wanted,
                     int64_t deadline_ns)
{
    atomic_fetch_add(&self->awaiting, 1);
    while (weir_executor_now(self->executor) < deadline_ns) {
        struct weir_parking parking;

        weir_parking_init(&parking, self->executor, self);
        weir_executor_lock(self->executor);
        /*
         * The thread that makes it so counts first, and wakes us under the lock that we
         * hold until we are in line.
         */
        if (atomic_load(&self->left[wanted]) == 0) {
            weir_executor_unlock(self->executor);
            break;
        }
        weir_list_append(&self->stoppers, &parking.wait.link);
        (void)weir_parking_wait(&parking, deadline_ns);
        weir_list_remove(&parking.wait.link);
        weir_executor_unlock(self->executor);
    }
    atomic_fetch_sub(&self->awaiting, 1);
}

size_t weir_tasks_held(struct weir_tasks *self)
{
    return atomic_load(&self->left[WEIR_TASKS_NONE_HELD]);
}

void weir_tasks_read(struct weir_tasks *self, struct weir_execution_worker_stats *out)
{
    weir_lock_acquire(&self->lock);
    *out = self->stats;
    weir_lock_release(&self->lock);
}

void weir_tasks_fini(struct weir_tasks *self)
{
    for (int i = 0; i < WEIR_TASK_GONE; i++) {
        struct weir_list *link;

        while ((link = weir_list_take_first(&self->lists[i])) != NULL) {
            if (leave_claim_batch(task_of(link)->claim_batch))
                free_claim_batch(task_of(link)->claim_batch);
        }
    }
    weir_lock_fini(&self->lock);
}
