/*
 * sweep_by_id.h - removing what all subscriptions have passed from a log whose places are
 * ids.
 *
 * The sweep of SQLite and of MariaDB: one bounded step of it. What differs is in a few
 * statements.
 *
 * Threads  The connection's and the state's owner.
 * Failure  As the database does; then nothing is removed and the state stays where it is.
 */
#ifndef WEIR_OUTBOX_LOG_SWEEP_BY_ID_H
#define WEIR_OUTBOX_LOG_SWEEP_BY_ID_H

#include "outbox/log/log.h"

struct weir_sweep_statements {
    /* Copies the rows with ids {1} to {2} of the log. */
    const struct weir_sql *set_aside;
    /* Blocks subscribing until the transaction ends. NULL: to begin it
     * does. When it is not to be had (WEIR_LOCKED) the step does nothing: another
     * time. */
    const struct weir_sql *lock;
    /* Where the log begins, an integer: no row has this id or a lower one, and none
     * ever will. NULL: at 0. And how it moves, from {1} to {2}; under the lock. */
    const struct weir_sql *begin;
    const struct weir_sql *move_begin;
    /* Up to where a statement that comes later sees every row, an integer. NULL:
     * everywhere. */
    const struct weir_sql *end;
};

/* The connection is outside of any transaction, and is so afterwards. */
WEIR_CHECKED enum weir_status
weir_sweep_by_id(const struct weir_outbox_log *log,
                 const struct weir_sweep_statements *statements,
                 struct weir_connection *connection, struct weir_sweep_state *state,
                 struct weir_sweep_report *report, struct weir_error *error);

#endif
