/*
 * group_commit.c - see group_commit.h.
 *
 *   I1  a ticket is in `waiting` until it is settled
 *   I2  tickets are covered only while a sync runs, and were entered before that began
 *
 * Waiting is without end and without a look at any clock: a sync cannot be called off.
 */
#include "sink/util/group_commit.h"

#include "weir/time.h"

enum weir_status weir_group_commit_init(struct weir_group_commit *self, weir_sync_fn sync,
                                        void *state)
{
    enum weir_status status;

    *self = (struct weir_group_commit){.sync = sync, .state = state};
    weir_list_init(&self->waiting);
    status = weir_lock_init(&self->lock);
    if (status != WEIR_OK)
        return status;
    status = weir_cond_init(&self->change);
    if (status != WEIR_OK)
        weir_lock_fini(&self->lock);
    return status;
}

void weir_group_commit_fini(struct weir_group_commit *self)
{
    weir_cond_fini(&self->change);
    weir_lock_fini(&self->lock);
}

void weir_group_commit_enter(struct weir_group_commit *self,
                             struct weir_group_commit_ticket *ticket)
{
    *ticket = (struct weir_group_commit_ticket){.settled = false};
    weir_lock_acquire(&self->lock);
    weir_list_append(&self->waiting, &ticket->link);
    weir_lock_release(&self->lock);
}

static struct weir_group_commit_ticket *ticket_of(struct weir_list *link)
{
    return WEIR_CONTAINER_OF(link, struct weir_group_commit_ticket, link);
}

/* On success the covered ones; on failure all: what the late ones wrote may be
 * among the lost as well. */
static void settle(struct weir_group_commit *self, int failure) WEIR_REQUIRES(self->lock)
{
    struct weir_list *next;

    for (struct weir_list *link = self->waiting.next; link != &self->waiting;
         link = next) {
        struct weir_group_commit_ticket *ticket = ticket_of(link);

        next = link->next;
        if (!ticket->covered && failure == 0)
            continue;
        weir_list_remove(link);
        ticket->settled = true;
        ticket->failure = failure;
    }
}

/* Sync for all writers. The lock is free meanwhile. */
static void lead(struct weir_group_commit *self) WEIR_REQUIRES(self->lock)
{
    int failure;

    WEIR_LIST_EACH(link, &self->waiting)
    ticket_of(link)->covered = true;
    self->syncing = true;
    weir_lock_release(&self->lock);
    failure = self->sync(self->state);
    weir_lock_acquire(&self->lock);
    self->syncing = false;
    settle(self, failure);
    weir_cond_broadcast(&self->change);
}

int weir_group_commit_wait(struct weir_group_commit *self,
                           struct weir_group_commit_ticket *ticket)
{
    weir_lock_acquire(&self->lock);
    while (!ticket->settled) {
        if (!self->syncing)
            lead(self);
        else
            (void)weir_cond_wait_until(&self->change, &self->lock, WEIR_FOREVER);
    }
    weir_lock_release(&self->lock);
    return ticket->failure;
}
