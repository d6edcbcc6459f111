/*
 * engine.h - the operation table of the outbox on one database engine.
 *
 * What the outbox does alike on all engines is one statement or one function. Where an
 * engine has a way of its own, that way is a slot of this table, filled in by
 * sqlite/engine.c, postgres/engine.c and mariadb/engine.c. Nothing else in src/outbox
 * knows which engines there are.
 *
 *   weir_outbox_create() --chooses--> outbox->engine --> log, lease, ack, ...
 *   a call with a connection alone   weir_outbox_engine_of(connection)
 *
 * What a fourth engine has to provide is listed in docs/internals/add-an-engine.md.
 *
 * Threads  Constant; any thread.
 */
#ifndef WEIR_OUTBOX_ENGINE_H
#define WEIR_OUTBOX_ENGINE_H

#include <stdbool.h>

#include "db/connection.h"

struct weir_ack_ops;
struct weir_backlog_ops;
struct weir_inspect_sql;
struct weir_letter_sql;
struct weir_lease_ops;
struct weir_liveness_ops;
struct weir_log_ops;
struct weir_queue_ops;
struct weir_role_ops;

struct weir_outbox_engine {
    /* A move of a position is one more row, and the newest counts (ack.h); else the row
     * is updated. */
    bool positions_are_appended;

    const struct weir_log_ops *log;           /* log/log.h */
    const struct weir_lease_ops *lease;       /* lease/lease_ops.h */
    const struct weir_liveness_ops *liveness; /* lease/liveness_ops.h */
    const struct weir_ack_ops *ack;           /* delivery/ack_move.h */
    const struct weir_queue_ops *queue;       /* queue/queue_ops.h */
    const struct weir_backlog_ops *backlog;   /* queue/backlog_ops.h */
    const struct weir_inspect_sql *inspect;   /* inspect_sql.h */
    const struct weir_letter_sql *letters;    /* dead_letter/dead_letter_sql.h */
    const struct weir_role_ops *roles;        /* roles.h; NULL: it has none */

    /* How long the session waits for a lock, {1} milliseconds; {2}: until the transaction
     * ends. NULL: readers wait for no lock (read_lock_timeout.h). */
    const struct weir_sql *set_lock_timeout;

    /* As weir_producer_make(); `why` is "". NULL: migrations make all functions. */
    enum weir_status (*make_functions)(struct weir_db *db, char *why,
                                       struct weir_error *error);
};

/* Never NULL. The same for every connection of a database. */
const struct weir_outbox_engine *
weir_outbox_engine_of(const struct weir_connection *connection);
const struct weir_outbox_engine *weir_outbox_engine_for(const struct weir_db *db);

extern const struct weir_outbox_engine weir_outbox_sqlite;
extern const struct weir_outbox_engine weir_outbox_postgresql;
extern const struct weir_outbox_engine weir_outbox_mariadb;

#endif
