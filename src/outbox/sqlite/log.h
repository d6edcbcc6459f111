/*
 * log.h - the parts of the log on SQLite that have a source of their own.
 *
 * Each is a slot of struct weir_log_ops.
 */
#ifndef WEIR_OUTBOX_SQLITE_LOG_H
#define WEIR_OUTBOX_SQLITE_LOG_H

#include "outbox/log/log.h"

/* sqlite/lag.c */
WEIR_CHECKED enum weir_status
weir_log_sqlite_lag(const struct weir_outbox_log *self,
                    struct weir_connection *connection,
                    const struct weir_lag_question *question, weir_lag_fn visit,
                    void *state, struct weir_error *error);

/* sqlite/sweep.c */
WEIR_CHECKED enum weir_status weir_log_sqlite_sweep(const struct weir_outbox_log *self,
                                                    struct weir_db *db,
                                                    struct weir_sweep_state *state,
                                                    struct weir_sweep_report *report,
                                                    struct weir_error *error);

#endif
