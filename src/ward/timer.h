/*
 * timer.h - many deadlines, the earliest first.
 *
 * Timers live inside the things they wake, so arming one allocates nothing and cannot
 * fail.
 *
 * Order    By time; those of the same time in the order in which they were armed.
 * Threads  Guarded by the executor's lock. Arming and finding the earliest are O(1),
 *          taking one out is O(log n) on average.
 */
#ifndef WEIR_WARD_TIMER_H
#define WEIR_WARD_TIMER_H

#include <stdbool.h>
#include <stdint.h>

struct weir_timer {
    int64_t due_ns;
    uint64_t order; /* breaks ties */
    void (*fire)(
        struct weir_timer *self); /* called with the lock held, already disarmed */
    struct weir_timer *child;     /* first of those that are due later */
    struct weir_timer *next;      /* its siblings */
    struct weir_timer *previous;  /* sibling on the left, or the parent */
    bool armed;
};

struct weir_timers {
    struct weir_timer *earliest; /* NULL: none */
    uint64_t armed_total;
};

void weir_timers_init(struct weir_timers *self);
void weir_timer_init(struct weir_timer *timer, void (*fire)(struct weir_timer *));

/* `timer` must not be armed. */
void weir_timers_arm(struct weir_timers *self, struct weir_timer *timer, int64_t due_ns);

/* Harmless when it is not armed. */
void weir_timers_disarm(struct weir_timers *self, struct weir_timer *timer);

/* When the earliest is due; WEIR_FOREVER without timers. */
int64_t weir_timers_next_ns(const struct weir_timers *self);

/* Fire all that are due at `now_ns`, earliest first, also those armed meanwhile. */
void weir_timers_fire_due(struct weir_timers *self, int64_t now_ns);

#endif
