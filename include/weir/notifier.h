/*
 * notifier.h - a signal that is remembered once.
 *
 * A notifier wakes workers that are idle or asleep. It stores at most one permit: a
 * signal without a waiter is kept for the next waiter, further ones add nothing. So
 * "something is new" is never lost and never piles up.
 *
 * Order    notify_one wakes the waiter that has waited longest. A worker that waits on
 *          several notifiers takes the first one in its list that has a permit; the
 *          permits of the others stay where they are.
 * Threads  Any thread, also from inside actions.
 * Memory   One allocation. Workers that listen keep the notifier alive until they end.
 */
#ifndef WEIR_NOTIFIER_H
#define WEIR_NOTIFIER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weir/error.h>

struct weir_context;
struct weir_executor;
struct weir_notifier;

WEIR_BEGIN_DECLS

/* Fails with WEIR_NO_MEMORY; *out is then NULL. */
WEIR_CHECKED WEIR_API enum weir_status
weir_notifier_create(struct weir_executor *executor, struct weir_notifier **out);

/* Give up the caller's hold. NULL is fine. */
WEIR_API void weir_notifier_destroy(struct weir_notifier *self);

/* Wake the waiter that has waited longest; without a waiter, store the permit. */
WEIR_API void weir_notifier_notify_one(struct weir_notifier *self);

/* Wake all current waiters; store nothing. */
WEIR_API void weir_notifier_notify_all(struct weir_notifier *self);

/*
 * Inside an action: wait for a signal until `deadline_ns` on the executor's clock.
 * WEIR_OK, WEIR_TIMEOUT or WEIR_CANCELLED; a stored permit is taken at once, even when
 * cancelled.
 */
WEIR_CHECKED WEIR_API enum weir_status weir_notifier_wait(struct weir_notifier *self,
                                                          struct weir_context *context,
                                                          int64_t deadline_ns);

/* Is a permit stored? How many wait? Both are out of date when they return. */
WEIR_API bool weir_notifier_stored(struct weir_notifier *self);
WEIR_API size_t weir_notifier_waiting(struct weir_notifier *self);

WEIR_END_DECLS

#endif
