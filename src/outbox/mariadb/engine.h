/*
 * engine.h - the operation tables of this engine, collected by engine.c.
 */
#ifndef WEIR_OUTBOX_MARIADB_ENGINE_H
#define WEIR_OUTBOX_MARIADB_ENGINE_H

#include "outbox/engine.h"

extern const struct weir_log_ops weir_log_mariadb;
extern const struct weir_lease_ops weir_lease_maria;
extern const struct weir_liveness_ops weir_liveness_maria;
extern const struct weir_ack_ops weir_ack_maria;
extern const struct weir_queue_ops weir_queue_maria;
extern const struct weir_role_ops weir_roles_maria;
extern const struct weir_backlog_ops weir_backlog_maria;
extern const struct weir_inspect_sql weir_inspect_maria;
extern const struct weir_letter_sql weir_letters_maria;

/* mariadb/functions.c */
enum weir_status weir_maria_make_functions(struct weir_db *db, char *why,
                                           struct weir_error *error);

#endif
