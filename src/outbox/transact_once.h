/*
 * transact_once.h - a body in a transaction of its own, tried once.
 *
 * As db/transact.h, without repeating: a renewal or an ack has a deadline, and
 * its caller decides whether another attempt is worth the wait.
 */
#ifndef WEIR_OUTBOX_TRANSACT_ONCE_H
#define WEIR_OUTBOX_TRANSACT_ONCE_H

#include "db/transact.h"

/* On a connection that is in no transaction. A body that fails rolls everything back. */
static inline WEIR_CHECKED enum weir_status
weir_transact_once(struct weir_connection *connection, weir_transact_fn body,
                   void *argument, struct weir_error *error)
{
    enum weir_status status = weir_connection_begin_own(connection, error);

    if (status != WEIR_OK)
        return status;
    status = body(connection, argument, error);
    if (status != WEIR_OK) {
        weir_connection_rollback(connection);
        return status;
    }
    return weir_connection_commit(connection, error);
}

#endif
