/*
 * session.h - the settings of a session, and what becomes of them in other hands.
 *
 * A session of ours has settings of ours. A transactional handler, or an application
 * that has taken a connection, may change any of them by the native handle, its user
 * and role included:
 *
 *   set      after connecting; and when the session has forgotten them
 *   renew    between two messages of a transaction: user, role and settings are ours
 *            again, together with the savepoint
 *   reset    on the way back to the pool: also locks, channels, cursors and temporary
 *            tables of others are gone. Statements that we have prepared stay.
 *
 * Behind a transaction pooler the session is not ours. What is set there lasts for one
 * transaction, so renew() sets for the transaction what it can name, and reset() does
 * nothing.
 */
#ifndef WEIR_DB_POSTGRES_SESSION_H
#define WEIR_DB_POSTGRES_SESSION_H

#include "db/postgres/link.h"

/* Slots of struct weir_driver. One round trip each. */
WEIR_CHECKED enum weir_status weir_pg_session_renew(struct weir_link *link,
                                                    const char *savepoint,
                                                    struct weir_error *error);
WEIR_CHECKED enum weir_status weir_pg_session_reset(struct weir_link *link,
                                                    struct weir_error *error);

#endif
