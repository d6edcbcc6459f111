/*
 * doorbell.h - those who wait for work, and the signal that wakes them.
 *
 * Whoever found nothing stands in line. What they asked for is a number, their question (lanes and
 * capabilities): if one of those who ask the same finds nothing, the others would not either. So
 * a ring wakes the oldest of each question, and one who then finds something wakes the next of
 * his own kind, since there may be more.
 *
 *   rings = weir_doorbell_rings(bell)          before the look
 *   look; nothing there
 *   weir_doorbell_wait(bell, question, rings)  at once if it has rung meanwhile
 *   look; something there
 *   weir_doorbell_pass_on(bell, question)
 *
 * Threads  Any thread, and actions: there the wait is the executor's, in virtual time too, and ends
 *          when the worker is cancelled. The bell's lock is held while an executor's is taken.
 * Memory   Those who wait are on their own stacks.
 */
#ifndef WEIR_EXECUTION_DOORBELL_H
#define WEIR_EXECUTION_DOORBELL_H

#include <stdint.h>

#include "base/list.h"
#include "ward/lock.h"

struct weir_doorbell {
    struct weir_lock lock; /* guards all that follows */
    struct weir_list line; /* oldest first */
    uint64_t rings;
};

/* Fails with WEIR_SYSTEM. fini() needs it to itself, and nobody in line. */
WEIR_CHECKED enum weir_status weir_doorbell_init(struct weir_doorbell *self);
void weir_doorbell_fini(struct weir_doorbell *self);

uint64_t weir_doorbell_rings(struct weir_doorbell *self);

/* Never waits. */
void weir_doorbell_ring(struct weir_doorbell *self);
void weir_doorbell_pass_on(struct weir_doorbell *self, uint64_t question);

/* Until somebody rings, or has rung since `rings` was read: WEIR_OK, look again. WEIR_TIMEOUT: until
 * `deadline_ns` of weir_clock_now_ns() nobody did. WEIR_CANCELLED; WEIR_NO_MEMORY, WEIR_SYSTEM. */
WEIR_CHECKED enum weir_status weir_doorbell_wait(struct weir_doorbell *self,
                                                 uint64_t question, uint64_t rings,
                                                 int64_t deadline_ns);

/* For tests: how many are in line. Out of date when it returns. */
size_t weir_doorbell_waiting(struct weir_doorbell *self);

#endif
