/*
 * poker.h - a clock that notifies.
 *
 * A poker calls notify_one on a notifier of its own every `interval_ns`, beginning one
 * interval after its creation, until its ward is cancelled. A worker that lists this
 * notifier wakes periodically; pokes that come while it is busy become one. A poker is a
 * timer, not a thread.
 *
 * Threads  Any thread.
 */
#ifndef WEIR_POKER_H
#define WEIR_POKER_H

#include <stdint.h>

#include <weir/error.h>

struct weir_notifier;
struct weir_poker;
struct weir_ward;

WEIR_BEGIN_DECLS

/* `interval_ns` from 1 microsecond to WEIR_DURATION_MAX. Fails with WEIR_INVALID,
 * WEIR_NO_MEMORY or WEIR_CLOSED (the ward was cancelled); *out is then NULL. */
WEIR_CHECKED WEIR_API enum weir_status weir_poker_create(struct weir_ward *ward,
                                                         int64_t interval_ns,
                                                         struct weir_poker **out,
                                                         struct weir_error *error);

/* No more pokes. Workers keep the notifier for as long as they need it. NULL is fine. */
WEIR_API void weir_poker_destroy(struct weir_poker *self);

/* Borrowed: the one that is poked. */
WEIR_API struct weir_notifier *weir_poker_notifier(struct weir_poker *self);

WEIR_END_DECLS

#endif
