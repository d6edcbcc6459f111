/*
 * notifier.h - the inside of weir/notifier.h: how workers listen.
 *
 * Threads  The executor's lock, except for references.
 */
#ifndef WEIR_WARD_NOTIFIER_H
#define WEIR_WARD_NOTIFIER_H

#include "ward/executor.h"
#include "ward/lock.h"
#include "ward/wait.h"
#include "weir/notifier.h"

struct weir_notifier {
    struct weir_executor *executor; /* a reference */
    _Atomic uint32_t references;    /* the creator and each worker that listens */

    /* guarded by the executor's lock */
    struct weir_list line; /* of struct weir_wait, oldest first; empty while stored */
    bool stored;
};

void weir_notifier_retain(struct weir_notifier *self);

/* Take the stored permit; false when there is none. */
bool weir_notifier_take(struct weir_notifier *self) WEIR_REQUIRES(weir_executor_role);

/* Wait in line; only without a stored permit. `wait` is woken by SIGNAL. */
void weir_notifier_listen(struct weir_notifier *self, struct weir_wait *wait)
    WEIR_REQUIRES(weir_executor_role);

/* notify_one for callers that hold the lock already. */
void weir_notifier_signal(struct weir_notifier *self) WEIR_REQUIRES(weir_executor_role);

#endif
