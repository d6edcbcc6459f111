/*
 * engine.c - the outbox on PostgreSQL.
 */
#include "outbox/postgres/engine.h"

const struct weir_outbox_engine weir_outbox_postgresql = {
    .positions_are_appended = true,
    .log = &weir_log_postgresql,
    .lease = &weir_lease_pg,
    .liveness = &weir_liveness_pg,
    .ack = &weir_ack_pg,
    .backlog = &weir_backlog_pg,
    .inspect = &weir_inspect_pg,
    .letters = &weir_letters_pg,
};
