/*
 * claim_waiters.h - those who wait for work, and the signal that wakes them.
 *
 * Whoever found nothing stands in line. What they asked for is a number, their question
 * (lanes and capabilities): if one of those who ask the same finds nothing, the others
 * would not either. So a ring wakes the oldest of each question, and one who then finds
 * something wakes the next of his own kind, since there may be more.
 *
 *   rings = weir_claim_waiters_count_wakes(bell)          before the look
 *   look; nothing there
 *   weir_claim_waiters_wait(bell, question, rings)  at once if it has rung meanwhile
 *   look; something there
 *   weir_claim_waiters_wake_next(bell, question)
 *
 * Threads  Any thread, and actions: there the wait is the executor's, in virtual time
 *          too, and ends when the worker is cancelled. The bell's lock is held while an
 *          executor's is taken.
 * Memory   Those who wait are on their own stacks.
 */
#ifndef WEIR_EXECUTION_CLAIM_WAITERS_H
#define WEIR_EXECUTION_CLAIM_WAITERS_H

#include <stdint.h>

#include "base/list.h"
#include "ward/lock.h"

struct weir_claim_waiters {
    struct weir_lock lock; /* guards all that follows */
    struct weir_list line; /* oldest first */
    uint64_t wakes;
};

/* Fails with WEIR_SYSTEM. fini() needs it to itself, and nobody in line. */
WEIR_CHECKED enum weir_status weir_claim_waiters_init(struct weir_claim_waiters *self);
void weir_claim_waiters_fini(struct weir_claim_waiters *self);

uint64_t weir_claim_waiters_count_wakes(struct weir_claim_waiters *self);

/* Never waits. */
void weir_claim_waiters_wake(struct weir_claim_waiters *self);
void weir_claim_waiters_wake_next(struct weir_claim_waiters *self, uint64_t question);

/* Until somebody rings, or has rung since `wakes` was read: WEIR_OK, look again.
 * WEIR_TIMEOUT: until `deadline_ns` of weir_clock_now_ns() nobody did. WEIR_CANCELLED;
 * WEIR_NO_MEMORY, WEIR_SYSTEM. */
WEIR_CHECKED enum weir_status weir_claim_waiters_wait(struct weir_claim_waiters *self,
                                                      uint64_t question, uint64_t wakes,
                                                      int64_t deadline_ns);

/* For tests: how many are in line. Out of date when it returns. */
size_t weir_claim_waiters_waiting(struct weir_claim_waiters *self);

#endif
