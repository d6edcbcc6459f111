/*
 * subscription.h - one subscription in the tables: found, paused, removed.
 *
 * What changes a subscription as a whole takes the lock of subscribing alone
 * (catalog.h) and then the rows of its leases, in their order. So the sweep removes
 * nothing meanwhile, no second operator is at it, and no owner moves a position: an ack
 * that waits for a lease row finds another epoch in it, or no row, and is refused.
 *
 * Threads  The holder of the connection.
 */
#ifndef WEIR_OUTBOX_SUBSCRIPTION_SUBSCRIPTION_H
#define WEIR_OUTBOX_SUBSCRIPTION_SUBSCRIPTION_H

#include <stdbool.h>
#include <stdint.h>

#include "db/connection.h"
#include "outbox/queue/catalog.h"

struct weir_subscription_row {
    struct weir_queue_row queue;
    int64_t id;
};

/* Both names are checked first. WEIR_INVALID, WEIR_NOT_FOUND. Also inside a
 * transaction. */
WEIR_CHECKED enum weir_status weir_subscription_find(struct weir_connection *connection,
                                                     const char *queue, const char *name,
                                                     struct weir_subscription_row *out,
                                                     struct weir_error *error);

/* Inside the caller's transaction: the lock of subscribing, then the subscription as it
 * is now, then its leases. */
WEIR_CHECKED enum weir_status weir_subscription_lock(struct weir_connection *connection,
                                                     const char *queue, const char *name,
                                                     struct weir_subscription_row *out,
                                                     struct weir_error *error);

WEIR_CHECKED enum weir_status weir_subscription_pause(struct weir_connection *connection,
                                                      const char *queue, const char *name,
                                                      bool paused,
                                                      struct weir_error *error);

/* WEIR_BUSY: it is served, or has dead letters to decide on, and not `force`. */
WEIR_CHECKED enum weir_status weir_subscription_remove(struct weir_connection *connection,
                                                       const char *queue,
                                                       const char *name, bool force,
                                                       struct weir_error *error);

/* Is the subscription of these numbers there? WEIR_NOT_FOUND names it, or its queue. */
WEIR_CHECKED enum weir_status weir_subscription_check(struct weir_connection *connection,
                                                      int64_t queue_id,
                                                      int64_t subscription_id,
                                                      const char *queue, const char *name,
                                                      struct weir_error *error);

#endif
