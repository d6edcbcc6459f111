/*
 * session.h - a session that was in other hands, and how it becomes ours again.
 *
 * A transactional handler, or an application that has taken a connection, may change
 * the session by the native handle: its database, its role, any setting. Nothing of
 * that is undone by a rollback.
 *
 *   renew    between two messages of a transaction, with the savepoint: two round trips
 *   regain   likewise, behind a return to the savepoint
 *   reset    on the way back to the pool: the session is that of a new connection.
 *            Locks, temporary tables, variables and prepared statements are gone, ours
 *            included.
 *
 * Settings that our statements depend on, or that change what the next message means,
 * are set again between messages; others, variables of the user's own and temporary
 * tables last until the reset.
 */
#ifndef WEIR_DB_MARIADB_SESSION_H
#define WEIR_DB_MARIADB_SESSION_H

#include "db/mariadb/link.h"

/* Of a new session: what its role is, which nothing else restores, and on which server
 * it is (server_key.h). */
WEIR_CHECKED enum weir_status weir_maria_session_know(struct weir_maria_link *self,
                                                      struct weir_error *error);

/* Slots of struct weir_driver. */
WEIR_CHECKED enum weir_status weir_maria_session_renew(struct weir_link *link,
                                                       const char *savepoint,
                                                       struct weir_error *error);
WEIR_CHECKED enum weir_status weir_maria_session_regain(struct weir_link *link,
                                                        struct weir_error *error);
WEIR_CHECKED enum weir_status weir_maria_session_reset(struct weir_link *link,
                                                       struct weir_error *error);

#endif
