/*
 * engine.h - the operation tables of this engine, collected by engine.c.
 */
#ifndef WEIR_OUTBOX_POSTGRES_ENGINE_H
#define WEIR_OUTBOX_POSTGRES_ENGINE_H

#include "outbox/engine.h"

extern const struct weir_log_ops weir_log_postgresql;
extern const struct weir_lease_ops weir_lease_pg;
extern const struct weir_liveness_ops weir_liveness_pg;
extern const struct weir_ack_ops weir_ack_pg;
extern const struct weir_queue_ops weir_queue_pg;
extern const struct weir_role_ops weir_roles_pg;
extern const struct weir_backlog_ops weir_backlog_pg;
extern const struct weir_inspect_sql weir_inspect_pg;
extern const struct weir_letter_sql weir_letters_pg;

#endif
