/*
 * transact_nested.h - work in the caller's transaction, or in one of its own.
 *
 * A function that takes a connection that may be NULL does its work as a body. With
 * NULL the body runs in a transaction of its own and is repeated when another one was
 * in the way; so it must begin anew each time it is called. In the caller's transaction
 * it runs once, in a savepoint: when it fails, the transaction stays usable and has no
 * trace of it.
 *
 * Threads  The holder of the connection.
 */
#ifndef WEIR_OUTBOX_TRANSACT_NESTED_H
#define WEIR_OUTBOX_TRANSACT_NESTED_H

#include "db/transact.h"
#include "outbox/outbox.h"

/* WEIR_INVALID: the caller's connection has no open transaction. */
WEIR_CHECKED enum weir_status weir_transact_nested(struct weir_outbox *outbox,
                                                   struct weir_connection *connection,
                                                   weir_transact_fn body, void *argument,
                                                   struct weir_error *error);

/* The same for a body that only reads: no transaction is needed, and none is begun. */
WEIR_CHECKED enum weir_status
weir_transact_nested_reading(struct weir_outbox *outbox,
                             struct weir_connection *connection, weir_transact_fn body,
                             void *argument, struct weir_error *error);

#endif
