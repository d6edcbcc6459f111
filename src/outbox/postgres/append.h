/*
 * append.h - appending to PostgreSQL's log; the slot of log.h says what it promises.
 *
 * `created_us` of the entries is not used: the time is the database's. On a connection
 * in no transaction, WEIR_IN_DOUBT says that it is unknown whether the messages are
 * there. A transaction that was notified of cannot be prepared for two-phase commit
 * (PostgreSQL refuses it); with `channel` NULL, or after SET LOCAL weir.notify = off in
 * the transaction, nothing is notified and polling finds the messages.
 */
#ifndef WEIR_OUTBOX_POSTGRES_APPEND_H
#define WEIR_OUTBOX_POSTGRES_APPEND_H

#include "outbox/delivery/notify_mode.h"
#include "outbox/log/log.h"

/* Of {p}_asleep: producers notify. */
#define WEIR_PG_NOBODY_WATCHES "abs({now} - last_value) > 5000000"
_Static_assert(WEIR_NOTIFY_MODE_FRESH_US == 5000000, "as in WEIR_PG_NOBODY_WATCHES");

WEIR_CHECKED enum weir_status weir_pg_append(const struct weir_outbox_log *self,
                                             struct weir_connection *connection,
                                             struct weir_log_entry *entries, size_t count,
                                             const char *channel,
                                             struct weir_error *error);

/* The slots can_append_saved and append_saved: in an open transaction, on a connection
 * that was verified. */
bool weir_pg_can_append_saved(struct weir_connection *connection);
WEIR_CHECKED enum weir_status weir_pg_append_saved(const struct weir_outbox_log *self,
                                                   struct weir_connection *connection,
                                                   struct weir_log_entry *entries,
                                                   size_t count, const char *channel,
                                                   struct weir_error *error);

#endif
