/*
 * wait.h - waiting in a line until woken.
 *
 * Two kinds of things wait: a worker, which is data and is made ready when its wait is
 * over, and a flow of control inside an action, which is parked. Both stand in the
 * lines of notifiers and gates with a struct weir_wait, and neither the line nor
 * the caller knows which it is.
 *
 * Threads  The executor's lock guards all of it.
 */
#ifndef WEIR_WARD_WAIT_H
#define WEIR_WARD_WAIT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "ward/executor.h"
#include "ward/lock.h"
#include "ward/timer.h"

enum weir_wake {
    WEIR_WOKEN_BY_SIGNAL,    /* a notifier, or a permit that is now held */
    WEIR_WOKEN_BY_CLOSING,   /* the gate was closed */
    WEIR_WOKEN_BY_TIME,      /* the deadline has passed */
    WEIR_WOKEN_BY_CANCELLING /* the worker was cancelled */
};

/* A place in one line. */
struct weir_wait {
    struct weir_list link; /* in the line, oldest first; alone when not waiting */
    void *owner;           /* the worker or the parking */
    void *place;           /* the gate or the notifier; borrowed */

    /* Called with the lock held and the link already taken out. Only SIGNAL or
     * CLOSING. */
    void (*wake)(struct weir_wait *self, enum weir_wake why);
};

void weir_wait_init(struct weir_wait *self, void *owner, void *place,
                    void (*wake)(struct weir_wait *, enum weir_wake));

/* Wake the first in line; false when the line is empty. */
bool weir_wait_wake_first(struct weir_list *line, enum weir_wake why);

/* One flow of control that waits inside an action, or in weir_ward_stop(). On its
 * stack. */
struct weir_parking {
    struct weir_executor *executor;
    struct weir_wait wait;
    struct weir_timer timer; /* the deadline */
    bool woken;
    enum weir_wake why; /* once woken */
    void *blocked;      /* the operation table's: what to let go on */
};

void weir_parking_init(struct weir_parking *self, struct weir_executor *executor,
                       void *place);

/* Wait until woken, by the code that finds `wait` in a line, or until `deadline_ns`. */
enum weir_wake weir_parking_wait(struct weir_parking *self, int64_t deadline_ns)
    WEIR_REQUIRES(weir_executor_role);

/* The first reason counts; later ones are ignored. */
void weir_parking_wake(struct weir_parking *self, enum weir_wake why)
    WEIR_REQUIRES(weir_executor_role);

#endif
