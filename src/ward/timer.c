/*
 * timer.c - a pairing heap with the nodes inside the timers.
 *
 *   I1  a parent comes before each of its children
 *   I2  `previous` of the first child is the parent, of the others the left sibling
 *
 * A pairing heap is a tree of any shape; the work is done when a node is taken out: its
 * children are joined in pairs from left to right, then the pairs from right to left.
 * That is what keeps the average logarithmic; joining them one by one would not.
 */
#include "ward/timer.h"

#include <stddef.h>

#include "base/assert.h"
#include "weir/time.h"

static bool comes_before(const struct weir_timer *a, const struct weir_timer *b)
{
    if (a->due_ns != b->due_ns)
        return a->due_ns < b->due_ns;
    return a->order < b->order;
}

/* Join two trees (either may be NULL) whose roots have no siblings. */
static struct weir_timer *join(struct weir_timer *a, struct weir_timer *b)
{
    if (a == NULL)
        return b;
    if (b == NULL)
        return a;
    if (comes_before(b, a)) {
        struct weir_timer *swap = a;
        a = b;
        b = swap;
    }
    b->next = a->child;
    if (b->next != NULL)
        b->next->previous = b;
    b->previous = a;
    a->child = b;
    return a;
}

/* Take the next sibling off `*rest`, as a tree of its own. */
static struct weir_timer *detach_first(struct weir_timer **rest)
{
    struct weir_timer *first = *rest;

    if (first == NULL)
        return NULL;
    *rest = first->next;
    first->next = NULL;
    first->previous = NULL;
    return first;
}

static struct weir_timer *join_siblings(struct weir_timer *first)
{
    struct weir_timer *pairs = NULL;
    struct weir_timer *whole = NULL;

    while (first != NULL) {
        struct weir_timer *left = detach_first(&first);
        struct weir_timer *pair = join(left, detach_first(&first));

        pair->next = pairs; /* a stack: the last pair made is joined first */
        pairs = pair;
    }
    while (pairs != NULL) {
        struct weir_timer *pair = detach_first(&pairs);

        whole = join(whole, pair);
    }
    return whole;
}

static void cut_from_parent(struct weir_timer *timer)
{
    if (timer->previous->child == timer)
        timer->previous->child = timer->next;
    else
        timer->previous->next = timer->next;
    if (timer->next != NULL)
        timer->next->previous = timer->previous;
    timer->next = NULL;
    timer->previous = NULL;
}

void weir_timers_init(struct weir_timers *self)
{
    self->earliest = NULL;
    self->armed_total = 0;
}

void weir_timer_init(struct weir_timer *timer, void (*fire)(struct weir_timer *))
{
    *timer = (struct weir_timer){.fire = fire};
}

void weir_timers_arm(struct weir_timers *self, struct weir_timer *timer, int64_t due_ns)
{
    WEIR_ASSERT(!timer->armed);
    timer->armed = true;
    timer->due_ns = due_ns;
    timer->order = self->armed_total++;
    timer->child = NULL;
    timer->next = NULL;
    timer->previous = NULL;
    self->earliest = join(self->earliest, timer);
}

void weir_timers_disarm(struct weir_timers *self, struct weir_timer *timer)
{
    struct weir_timer *children;

    if (!timer->armed)
        return;
    timer->armed = false;
    children = join_siblings(timer->child);
    timer->child = NULL;
    if (timer == self->earliest) {
        self->earliest = children;
    } else {
        cut_from_parent(timer);
        self->earliest = join(self->earliest, children);
    }
}

int64_t weir_timers_next_ns(const struct weir_timers *self)
{
    return self->earliest == NULL ? WEIR_FOREVER : self->earliest->due_ns;
}

void weir_timers_fire_due(struct weir_timers *self, int64_t now_ns)
{
    while (self->earliest != NULL && self->earliest->due_ns <= now_ns) {
        struct weir_timer *due = self->earliest;

        weir_timers_disarm(self, due);
        due->fire(due);
    }
}
