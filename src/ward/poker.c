/*
 * poker.c - a timer that signals and arms itself again.
 */
#include "weir/poker.h"

#include "base/arith.h"
#include "base/heap.h"
#include "ward/notifier.h"
#include "ward/ward.h"

struct weir_poker {
    struct weir_executor *executor; /* kept alive by the ward */
    struct weir_ward *ward;         /* a reference */
    struct weir_notifier *notifier;
    int64_t interval_ns;

    /* guarded by the executor's lock */
    struct weir_ward_guest guest; /* of the ward, until it is cancelled */
    struct weir_timer timer;
};

static void poke(struct weir_timer *timer) WEIR_NO_LOCK_ANALYSIS
{
    struct weir_poker *self = WEIR_CONTAINER_OF(timer, struct weir_poker, timer);
    int64_t now_ns = weir_executor_now(self->executor);
    int64_t next_ns = weir_sat_add_i64(timer->due_ns, self->interval_ns);

    weir_notifier_signal(self->notifier);
    if (next_ns <= now_ns) /* late: the pokes that were missed are one now */
        next_ns = weir_sat_add_i64(now_ns, self->interval_ns);
    weir_executor_arm(self->executor, timer, next_ns);
}

static void ward_cancelled(struct weir_ward_guest *guest) WEIR_NO_LOCK_ANALYSIS
{
    struct weir_poker *self = WEIR_CONTAINER_OF(guest, struct weir_poker, guest);

    weir_executor_disarm(self->executor, &self->timer);
}

enum weir_status weir_poker_create(struct weir_ward *ward, int64_t interval_ns,
                                   struct weir_poker **out, struct weir_error *error)
{
    struct weir_executor *executor = weir_ward_executor(ward);
    struct weir_poker *self = NULL;
    enum weir_status status = WEIR_NO_MEMORY;

    *out = NULL;
    if (interval_ns < WEIR_MICROSECONDS(1) || interval_ns > WEIR_DURATION_MAX)
        return weir_error_set(error, WEIR_INVALID,
                              "interval_ns is %lld, must be 1000 to %lld",
                              (long long)interval_ns, (long long)WEIR_DURATION_MAX);

    self = weir_heap_zalloc(executor->heap, sizeof *self);
    if (self == NULL)
        goto out;
    status = weir_notifier_create(executor, &self->notifier);
    if (status != WEIR_OK)
        goto out;
    weir_ward_retain(ward);
    self->executor = executor;
    self->ward = ward;
    self->interval_ns = interval_ns;
    weir_list_init(&self->guest.link);
    self->guest.cancel = ward_cancelled;
    weir_timer_init(&self->timer, poke);

    weir_executor_lock(executor);
    if (weir_ward_admit(ward, &self->guest))
        weir_executor_arm(executor, &self->timer,
                          weir_sat_add_i64(weir_executor_now(executor), interval_ns));
    else
        status = WEIR_CLOSED;
    weir_executor_unlock(executor);
    if (status != WEIR_OK)
        goto out_of_ward;

    *out = self;
    return WEIR_OK;

out_of_ward:
    weir_notifier_destroy(self->notifier);
    weir_ward_release(ward);
out:
    weir_heap_free(executor->heap, self);
    return weir_error_set(error, status, "create poker: %s", weir_status_text(status));
}

void weir_poker_destroy(struct weir_poker *self)
{
    struct weir_ward *ward;

    if (self == NULL)
        return;
    ward = self->ward;
    weir_executor_lock(self->executor);
    weir_list_remove(&self->guest.link);
    weir_executor_disarm(self->executor, &self->timer);
    weir_executor_unlock(self->executor);
    weir_notifier_destroy(self->notifier);
    weir_heap_free(self->executor->heap, self);
    weir_ward_release(ward);
}

struct weir_notifier *weir_poker_notifier(struct weir_poker *self)
{
    return self->notifier;
}
