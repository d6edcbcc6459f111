/*
 * notify_limit.h - how often the producers of a process notify.
 *
 * A transaction of PostgreSQL that notifies makes all commits of the server wait for
 * each other, each for the length of a flush. So a process notifies at most once in
 * WEIR_NOTIFY_LIMIT_NS on average, and WEIR_NOTIFY_LIMIT_BURST times in a row; what is
 * enqueued in between is found by looks:
 *
 *   producers   N N N N . . N . . . N . . .        N: notified, .: not
 *   reader        ^ woken    looks again 2, 4, 8, ... ms after each find
 *
 * A message without a notification is behind at least one of this process that had one,
 * a few milliseconds before. When that one commits, the reader wakes, and looks again
 * for a second (notify_mode.h). If all that were notified are rolled back, or commit
 * later, the poll finds the message.
 *
 * Threads  Any. Allocates nothing.
 */
#ifndef WEIR_OUTBOX_NOTIFY_LIMIT_H
#define WEIR_OUTBOX_NOTIFY_LIMIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "weir/time.h"

#define WEIR_NOTIFY_LIMIT_NS WEIR_MICROSECONDS(2500)
#define WEIR_NOTIFY_LIMIT_US 2500
enum { WEIR_NOTIFY_LIMIT_BURST = 4 };

/* All zeros is one that has not notified yet. */
struct weir_notify_limit {
    _Atomic int64_t paid_until_ns; /* what was taken is made up for by then */
};

/* May the caller notify now? True counts as done. */
bool weir_notify_limit_take(struct weir_notify_limit *self, int64_t now_ns);

#endif
