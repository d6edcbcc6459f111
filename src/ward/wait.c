/*
 * wait.c - lines and parked flows of control; see wait.h.
 */
#include "ward/wait.h"

#include "base/assert.h"

void weir_wait_init(struct weir_wait *self, void *owner, void *place,
                    void (*wake)(struct weir_wait *, enum weir_wake))
{
    weir_list_init(&self->link);
    self->owner = owner;
    self->place = place;
    self->wake = wake;
}

bool weir_wait_wake_first(struct weir_list *line, enum weir_wake why)
{
    struct weir_list *first = weir_list_take_first(line);
    struct weir_wait *wait;

    if (first == NULL)
        return false;
    wait = WEIR_CONTAINER_OF(first, struct weir_wait, link);
    wait->wake(wait, why);
    return true;
}

static void wake_parked(struct weir_wait *wait, enum weir_wake why) WEIR_NO_LOCK_ANALYSIS
{
    weir_parking_wake(wait->owner, why);
}

static void time_is_up(struct weir_timer *timer) WEIR_NO_LOCK_ANALYSIS
{
    weir_parking_wake(WEIR_CONTAINER_OF(timer, struct weir_parking, timer),
                      WEIR_WOKEN_BY_TIME);
}

void weir_parking_init(struct weir_parking *self, struct weir_executor *executor,
                       void *place)
{
    self->executor = executor;
    weir_wait_init(&self->wait, self, place, wake_parked);
    weir_timer_init(&self->timer, time_is_up);
    self->woken = false;
    self->why = WEIR_WOKEN_BY_TIME;
    self->blocked = NULL;
}

enum weir_wake weir_parking_wait(struct weir_parking *self, int64_t deadline_ns)
{
    weir_executor_arm(self->executor, &self->timer, deadline_ns);
    self->executor->ops->park(self->executor, self);
    weir_executor_disarm(self->executor, &self->timer);
    weir_list_remove(&self->wait.link);
    return self->why;
}

void weir_parking_wake(struct weir_parking *self, enum weir_wake why)
{
    if (self->woken)
        return;
    self->woken = true;
    self->why = why;
    weir_executor_disarm(self->executor, &self->timer);
    weir_list_remove(&self->wait.link);
    if (self->blocked != NULL)
        self->executor->ops->unpark(self->executor, self);
}
