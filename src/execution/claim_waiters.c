/*
 * claim_waiters.c - see claim_waiters.h.
 *
 *   I1  a waiter in line has not been woken
 *   I2  a woken waiter looks again, whatever else ended its wait: no wake-up
 *       is lost with it
 */
#include "execution/claim_waiters.h"

#include <stdbool.h>

#include "base/assert.h"
#include "ward/context.h"
#include "weir/notifier.h"

/* On the stack of the waiting call. */
struct sleeper {
    struct weir_list link;
    uint64_t question;
    bool rung;
    struct weir_context *context;   /* NULL: a thread of its own */
    struct weir_notifier *notifier; /* with a context */
    struct weir_cond cond;          /* without */
};

enum weir_status weir_claim_waiters_init(struct weir_claim_waiters *self)
{
    weir_list_init(&self->line);
    self->wakes = 0;
    return weir_lock_init(&self->lock);
}

void weir_claim_waiters_fini(struct weir_claim_waiters *self)
{
    WEIR_ASSERT(weir_list_empty(&self->line));
    weir_lock_fini(&self->lock);
}

uint64_t weir_claim_waiters_count_wakes(struct weir_claim_waiters *self)
{
    uint64_t wakes;

    weir_lock_acquire(&self->lock);
    wakes = self->wakes;
    weir_lock_release(&self->lock);
    return wakes;
}

/* ---- waking ------------------------------------------------------------------------ */

static struct sleeper *sleeper_of(struct weir_list *link)
{
    return WEIR_CONTAINER_OF(link, struct sleeper, link);
}

/* Under the lock: he cannot go before it is released. */
static void wake(struct sleeper *sleeper)
{
    weir_list_remove(&sleeper->link);
    sleeper->rung = true;
    if (sleeper->notifier != NULL)
        weir_notifier_notify_one(sleeper->notifier);
    else
        weir_cond_signal(&sleeper->cond);
}

/* The oldest with this query; NULL: none has. */
static struct sleeper *find_first(struct weir_claim_waiters *self, uint64_t question)
    WEIR_REQUIRES(self->lock)
{
    WEIR_LIST_EACH(link, &self->line)
    {
        if (sleeper_of(link)->question == question)
            return sleeper_of(link);
    }
    return NULL;
}

static bool is_first_of_its_kind(struct weir_claim_waiters *self, struct sleeper *sleeper)
    WEIR_REQUIRES(self->lock)
{
    return find_first(self, sleeper->question) == sleeper;
}

void weir_claim_waiters_wake(struct weir_claim_waiters *self)
{
    struct weir_list kept;

    weir_list_init(&kept);
    weir_lock_acquire(&self->lock);
    self->wakes++;
    /* From the youngest to the oldest: a waiter with an older one of its kind before
     * it stays. */
    while (!weir_list_empty(&self->line)) {
        struct sleeper *sleeper = sleeper_of(self->line.previous);

        if (is_first_of_its_kind(self, sleeper)) {
            wake(sleeper);
        } else {
            weir_list_remove(&sleeper->link);
            weir_list_prepend(&kept, &sleeper->link);
        }
    }
    weir_list_move_all(&self->line, &kept);
    weir_lock_release(&self->lock);
}

void weir_claim_waiters_wake_next(struct weir_claim_waiters *self, uint64_t question)
{
    struct sleeper *sleeper;

    weir_lock_acquire(&self->lock);
    sleeper = find_first(self, question);
    if (sleeper != NULL)
        wake(sleeper);
    weir_lock_release(&self->lock);
}

/* ---- waiting ----------------------------------------------------------------------- */

static enum weir_status sleeper_init(struct sleeper *self, uint64_t question)
{
    *self = (struct sleeper){.question = question, .context = weir_context_current()};
    if (self->context == NULL)
        return weir_cond_init(&self->cond);
    return weir_notifier_create(self->context->executor, &self->notifier);
}

static void sleeper_fini(struct sleeper *self)
{
    if (self->context == NULL)
        weir_cond_fini(&self->cond);
    weir_notifier_destroy(self->notifier);
}

/* In line, with the lock, which is not held meanwhile. */
static enum weir_status sleep_in_line(struct weir_claim_waiters *self, struct sleeper *me,
                                      int64_t deadline_ns) WEIR_REQUIRES(self->lock)
{
    enum weir_status status = WEIR_TIMEOUT;
    bool in_time = true;

    if (me->context != NULL) {
        weir_lock_release(&self->lock);
        status = weir_notifier_wait(me->notifier, me->context, deadline_ns);
        weir_lock_acquire(&self->lock);
    } else {
        while (!me->rung && in_time)
            in_time = weir_cond_wait_until(&me->cond, &self->lock, deadline_ns);
    }
    if (me->rung)
        return WEIR_OK; /* I2 */
    weir_list_remove(&me->link);
    return status;
}

enum weir_status weir_claim_waiters_wait(struct weir_claim_waiters *self,
                                         uint64_t question, uint64_t wakes,
                                         int64_t deadline_ns)
{
    struct sleeper me;
    enum weir_status status = sleeper_init(&me, question);

    if (status != WEIR_OK)
        return status;
    weir_lock_acquire(&self->lock);
    if (self->wakes == wakes) {
        weir_list_append(&self->line, &me.link);
        status = sleep_in_line(self, &me, deadline_ns);
    }
    weir_lock_release(&self->lock);
    sleeper_fini(&me);
    return status;
}

size_t weir_claim_waiters_waiting(struct weir_claim_waiters *self)
{
    size_t count = 0;

    weir_lock_acquire(&self->lock);
    WEIR_LIST_EACH(link, &self->line)
    count++;
    weir_lock_release(&self->lock);
    return count;
}
