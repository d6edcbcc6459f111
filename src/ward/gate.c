/*
 * gate.c - a counted gate with a line of workers.
 *
 *   I1  inside <= permits
 *   I2  a worker is in line only while every permit is in use
 *   I3  a closed gate has an empty line
 *
 * A permit is never laid down between two owners: hand_over() gives it to the head of the
 * line while `inside` stays as it is. With decrement-and-wake a newcomer could take the
 * permit before the woken one gets to run.
 */
#include "ward/gate.h"

#include "base/assert.h"
#include "base/heap.h"
#include "base/no_memory.h"
#include "ward/context.h"

static void check_invariants(const struct weir_gate *self)
    WEIR_REQUIRES(weir_executor_role);

enum weir_status weir_gate_create(struct weir_executor *executor, uint32_t permits,
                                  struct weir_gate **out, struct weir_error *error)
{
    struct weir_gate *self;

    *out = NULL;
    if (permits > WEIR_GATE_PERMITS_MAX)
        return weir_error_set(error, WEIR_INVALID, "permits is %u, must be at most %d",
                              permits, WEIR_GATE_PERMITS_MAX);
    self = weir_heap_zalloc(executor->heap, sizeof *self);
    if (self == NULL)
        return weir_no_memory(error, "create gate");
    weir_executor_retain(executor);
    self->executor = executor;
    self->permits = permits;
    atomic_init(&self->references, 1);
    weir_list_init(&self->line);
    *out = self;
    return WEIR_OK;
}

void weir_gate_retain(struct weir_gate *self)
{
    atomic_fetch_add(&self->references, 1);
}

void weir_gate_destroy(struct weir_gate *self)
{
    struct weir_executor *executor;

    if (self == NULL || atomic_fetch_sub(&self->references, 1) != 1)
        return;
    WEIR_ASSERT(weir_list_empty(&self->line));
    executor = self->executor;
    weir_heap_free(executor->heap, self);
    weir_executor_release(executor);
}

bool weir_gate_try_enter(struct weir_gate *self)
{
    bool taken;

    weir_executor_lock(self->executor);
    taken = weir_gate_take(self);
    weir_executor_unlock(self->executor);
    return taken;
}

enum weir_status weir_gate_enter(struct weir_gate *self, struct weir_context *context,
                                 int64_t deadline_ns)
{
    enum weir_status status = WEIR_OK;
    struct weir_parking parking;

    weir_parking_init(&parking, self->executor, self);
    weir_executor_lock(self->executor);
    if (self->closed) {
        status = WEIR_CLOSED;
    } else if (!weir_gate_take(self)) {
        weir_gate_queue(self, &parking.wait);
        status =
            weir_context_park(context, &parking, deadline_ns, WEIR_CUT_SHORT_BY_CANCEL);
    }
    check_invariants(self);
    weir_executor_unlock(self->executor);
    return status;
}

void weir_gate_leave(struct weir_gate *self)
{
    weir_executor_lock(self->executor);
    weir_gate_hand_over(self);
    weir_executor_unlock(self->executor);
}

void weir_gate_close(struct weir_gate *self)
{
    weir_executor_lock(self->executor);
    self->closed = true;
    while (weir_wait_wake_first(&self->line, WEIR_WOKEN_BY_CLOSING))
        ;
    check_invariants(self);
    weir_executor_unlock(self->executor);
}

void weir_gate_read(struct weir_gate *self, struct weir_gate_info *out)
{
    weir_executor_lock(self->executor);
    out->permits = self->permits;
    out->inside = self->inside;
    out->admitted_total = self->admitted_total;
    out->waiting = 0;
    WEIR_LIST_EACH(link, &self->line)
    out->waiting++;
    weir_executor_unlock(self->executor);
}

bool weir_gate_take(struct weir_gate *self)
{
    if (self->closed || self->inside == self->permits)
        return false;
    self->inside++;
    self->admitted_total++;
    check_invariants(self);
    return true;
}

void weir_gate_queue(struct weir_gate *self, struct weir_wait *wait)
{
    WEIR_ASSERT(!self->closed);
    weir_list_append(&self->line, &wait->link);
    check_invariants(self);
}

void weir_gate_hand_over(struct weir_gate *self)
{
    WEIR_ASSERT(self->inside > 0);
    if (weir_wait_wake_first(&self->line, WEIR_WOKEN_BY_SIGNAL))
        self->admitted_total++; /* our permit is now theirs */
    else
        self->inside--;
    check_invariants(self);
}

static void check_invariants(const struct weir_gate *self)
{
    WEIR_ASSERT(self->inside <= self->permits);                                 /* I1 */
    WEIR_ASSERT(weir_list_empty(&self->line) || self->inside == self->permits); /* I2 */
    WEIR_ASSERT(weir_list_empty(&self->line) || !self->closed);                 /* I3 */
}
