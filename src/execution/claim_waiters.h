/*
 * claim_waiters.h - claims that wait for work, and the signal that wakes them.
 *
 * A claim that found nothing stands in line. What they asked for is a number, their
 * question (lanes and capabilities): if one claim with the same query finds nothing, the
 * others would not either. So a wake-up wakes the oldest of each query, and one that then
 * finds something wakes the next of its own kind, since there may be more.
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
 * Memory   Waiters are on their own stacks.
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

/* Fails with WEIR_SYSTEM. fini() needs it to itself, and an empty line. */
WEIR_CHECKED enum weir_status weir_claim_waiters_init(struct weir_claim_waiters *self);
void weir_claim_waiters_fini(struct weir_claim_waiters *self);

uint64_t weir_claim_waiters_count_wakes(struct weir_claim_waiters *self);

/* Never waits. */
void weir_claim_waiters_wake(struct weir_claim_waiters *self);
void weir_claim_waiters_wake_next(struct weir_claim_waiters *self, uint64_t question);

/* Until a wake-up, or one since `wakes` was read: WEIR_OK, look again.
 * WEIR_TIMEOUT: none until `deadline_ns` of weir_clock_now_ns(). WEIR_CANCELLED;
 * WEIR_NO_MEMORY, WEIR_SYSTEM. */
WEIR_CHECKED enum weir_status weir_claim_waiters_wait(struct weir_claim_waiters *self,
                                                      uint64_t question, uint64_t wakes,
                                                      int64_t deadline_ns);

/* For tests: how many are in line. Out of date when it returns. */
size_t weir_claim_waiters_waiting(struct weir_claim_waiters *self);

#endif
