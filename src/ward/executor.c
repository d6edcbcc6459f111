/*
 * executor.c - lock, timers and ready tracks; see executor.h.
 */
#include "ward/executor.h"

#include "base/assert.h"
#include "base/heap.h"

struct weir_lock weir_executor_role;

enum weir_status weir_executor_init(struct weir_executor *self,
                                    const struct weir_executor_ops *ops,
                                    const struct weir_heap *heap,
                                    const struct weir_log *log, uint64_t seed)
{
    enum weir_status status = weir_lock_init(&self->lock);

    if (status != WEIR_OK)
        return status;
    self->ops = ops;
    self->heap = heap;
    self->log = *log;
    self->seed = seed;
    atomic_init(&self->references, 1);
    weir_timers_init(&self->timers);
    for (size_t i = 0; i < WEIR_TRACK_COUNT; i++) {
        weir_list_init(&self->tracks[i].ready);
        self->serves[i] = true;
    }
    return WEIR_OK;
}

void weir_executor_fini(struct weir_executor *self)
{
    WEIR_ASSERT(self->timers.earliest == NULL);
    for (size_t i = 0; i < WEIR_TRACK_COUNT; i++)
        WEIR_ASSERT(self->tracks[i].ready_count == 0);
    weir_lock_fini(&self->lock);
}

void weir_executor_retain(struct weir_executor *self)
{
    atomic_fetch_add(&self->references, 1);
}

void weir_executor_release(struct weir_executor *self)
{
    if (atomic_fetch_sub(&self->references, 1) == 1)
        self->ops->free(self);
}

void weir_executor_lock(struct weir_executor *self) WEIR_NO_LOCK_ANALYSIS
{
    weir_lock_acquire(&self->lock);
}

void weir_executor_unlock(struct weir_executor *self) WEIR_NO_LOCK_ANALYSIS
{
    weir_lock_release(&self->lock);
}

int64_t weir_executor_now(struct weir_executor *self)
{
    return self->ops->now(self);
}

int64_t weir_executor_boot_now(struct weir_executor *self)
{
    return self->ops->boot_now(self);
}

void weir_executor_arm(struct weir_executor *self, struct weir_timer *timer,
                       int64_t due_ns)
{
    if (due_ns == WEIR_FOREVER)
        return;
    weir_timers_arm(&self->timers, timer, due_ns);
    if (self->timers.earliest == timer)
        self->ops->timers_moved(self);
}

void weir_executor_disarm(struct weir_executor *self, struct weir_timer *timer)
{
    weir_timers_disarm(&self->timers, timer);
}

void weir_executor_push(struct weir_executor *self, enum weir_worker_class track,
                        struct weir_list *link)
{
    weir_list_append(&self->tracks[track].ready, link);
    self->tracks[track].ready_count++;
    self->ops->wake(self, track);
}

struct weir_list *weir_executor_take(struct weir_executor *self,
                                     enum weir_worker_class track, size_t index)
{
    struct weir_list *link;

    if (index >= self->tracks[track].ready_count)
        return NULL;
    link = self->tracks[track].ready.next;
    while (index-- > 0)
        link = link->next;
    weir_executor_withdraw(self, track, link);
    return link;
}

void weir_executor_withdraw(struct weir_executor *self, enum weir_worker_class track,
                            struct weir_list *link)
{
    WEIR_ASSERT(self->tracks[track].ready_count > 0);
    weir_list_remove(link);
    self->tracks[track].ready_count--;
}
