/*
 * transact.h - a whole transaction, tried again when another one was in the way.
 *
 * The body may run several times, each time in a new transaction, and must therefore
 * have no effect outside of it. It is repeated after WEIR_CONFLICT, WEIR_LOCKED and,
 * before the commit was sent, WEIR_LOST; with pauses that double and are jittered.
 * WEIR_IN_DOUBT is never repeated: the caller alone knows how to find out.
 */
#ifndef WEIR_DB_TRANSACT_H
#define WEIR_DB_TRANSACT_H

#include "db/connection.h"

typedef enum weir_status (*weir_transact_fn)(struct weir_connection *connection,
                                             void *argument, struct weir_error *error);

enum { WEIR_TRANSACT_ATTEMPTS_MAX = 8 };

/* By weir_connection_begin_own(), so the body waits for nothing but the database. The
 * status of the last attempt; a body that fails rolls everything back. */
WEIR_CHECKED enum weir_status weir_transact(struct weir_db *db, weir_transact_fn body,
                                            void *argument, struct weir_error *error);

/* The same for a body of the application's, which may take its time. */
WEIR_CHECKED enum weir_status weir_transact_theirs(struct weir_db *db,
                                                   weir_transact_fn body, void *argument,
                                                   struct weir_error *error);

/* The same with weir_connection_begin_later(): for bodies that begin with a statement
 * or the clock. */
WEIR_CHECKED enum weir_status weir_transact_soon(struct weir_db *db,
                                                 weir_transact_fn body, void *argument,
                                                 struct weir_error *error);

/* Tried once, on a connection that is in no transaction: a renewal or an ack has a
 * deadline, and its caller decides whether another attempt is worth the wait. */
WEIR_CHECKED enum weir_status weir_transact_once(struct weir_connection *connection,
                                                 weir_transact_fn body, void *argument,
                                                 struct weir_error *error);

/* Repeated, on a connection that is held already and in no transaction. */
WEIR_CHECKED enum weir_status weir_transact_on(struct weir_connection *connection,
                                               weir_transact_fn body, void *argument,
                                               struct weir_error *error);

/* In a savepoint of the transaction that is open. A body that fails is undone alone; if
 * that fails too, the text says that the transaction cannot be used any more. */
WEIR_CHECKED enum weir_status
weir_transact_in_savepoint(struct weir_connection *connection, weir_transact_fn body,
                           void *argument, struct weir_error *error);

#endif
