/*
 * engine.c - the outbox on PostgreSQL.
 */
#include "outbox/postgres/engine.h"

/* In milliseconds; 0 waits for ever. */
static const struct weir_sql SQL_SET_LOCK_TIMEOUT = {
    .name = "set lock timeout",
    .text = "SELECT set_config('lock_timeout', {1}::text, {2})",
    .parameters = "if",
};

const struct weir_outbox_engine weir_outbox_postgresql = {
    .positions_are_appended = true,
    .log = &weir_log_postgresql,
    .lease = &weir_lease_pg,
    .liveness = &weir_liveness_pg,
    .ack = &weir_ack_pg,
    .queue = &weir_queue_pg,
    .backlog = &weir_backlog_pg,
    .inspect = &weir_inspect_pg,
    .letters = &weir_letters_pg,
    .roles = &weir_roles_pg,
    .set_lock_timeout = &SQL_SET_LOCK_TIMEOUT,
};
