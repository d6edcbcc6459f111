/*
 * notifier.c - one stored permit and a line.
 *
 *   I1  a permit is stored only while there is no waiter
 *
 * A worker that waits on several notifiers stands in all their lines, and the first
 * signal takes it out of all of them under the same lock. So no signal is ever
 * delivered to a wait that has been given up, and none needs to be handed on.
 */
#include "ward/notifier.h"

#include "base/assert.h"
#include "base/heap.h"
#include "ward/context.h"

enum weir_status weir_notifier_create(struct weir_executor *executor,
                                      struct weir_notifier **out)
{
    struct weir_notifier *self = weir_heap_zalloc(executor->heap, sizeof *self);

    *out = self;
    if (self == NULL)
        return WEIR_NO_MEMORY;
    weir_executor_retain(executor);
    self->executor = executor;
    atomic_init(&self->references, 1);
    weir_list_init(&self->line);
    return WEIR_OK;
}

void weir_notifier_retain(struct weir_notifier *self)
{
    atomic_fetch_add(&self->references, 1);
}

void weir_notifier_destroy(struct weir_notifier *self)
{
    struct weir_executor *executor;

    if (self == NULL || atomic_fetch_sub(&self->references, 1) != 1)
        return;
    WEIR_ASSERT(weir_list_empty(&self->line));
    executor = self->executor;
    weir_heap_free(executor->heap, self);
    weir_executor_release(executor);
}

void weir_notifier_notify_one(struct weir_notifier *self)
{
    weir_executor_lock(self->executor);
    weir_notifier_signal(self);
    weir_executor_unlock(self->executor);
}

void weir_notifier_notify_all(struct weir_notifier *self)
{
    struct weir_list now;

    /*
     * Only the waiters of this moment. A waiter that is woken may be back in
     * line before the last one is served, so the line is moved aside first.
     */
    weir_executor_lock(self->executor);
    weir_list_init(&now);
    weir_list_move_all(&now, &self->line);
    while (weir_wait_wake_first(&now, WEIR_WOKEN_BY_SIGNAL))
        ;
    weir_executor_unlock(self->executor);
}

enum weir_status weir_notifier_wait(struct weir_notifier *self,
                                    struct weir_context *context, int64_t deadline_ns)
{
    enum weir_status status = WEIR_OK;
    struct weir_parking parking;

    weir_parking_init(&parking, self->executor, self);
    weir_executor_lock(self->executor);
    if (!weir_notifier_take(self)) {
        weir_notifier_listen(self, &parking.wait);
        status =
            weir_context_park(context, &parking, deadline_ns, WEIR_CUT_SHORT_BY_CANCEL);
    }
    weir_executor_unlock(self->executor);
    return status;
}

bool weir_notifier_stored(struct weir_notifier *self)
{
    bool stored;

    weir_executor_lock(self->executor);
    stored = self->stored;
    weir_executor_unlock(self->executor);
    return stored;
}

size_t weir_notifier_waiting(struct weir_notifier *self)
{
    size_t count = 0;

    weir_executor_lock(self->executor);
    WEIR_LIST_EACH(link, &self->line)
    count++;
    weir_executor_unlock(self->executor);
    return count;
}

bool weir_notifier_take(struct weir_notifier *self)
{
    bool taken = self->stored;

    self->stored = false;
    return taken;
}

void weir_notifier_listen(struct weir_notifier *self, struct weir_wait *wait)
{
    WEIR_ASSERT(!self->stored); /* I1 */
    weir_list_append(&self->line, &wait->link);
}

void weir_notifier_signal(struct weir_notifier *self)
{
    if (!weir_wait_wake_first(&self->line, WEIR_WOKEN_BY_SIGNAL))
        self->stored = true;
}
