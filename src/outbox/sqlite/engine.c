/*
 * engine.c - the outbox on SQLite.
 */
#include "outbox/sqlite/engine.h"

const struct weir_outbox_engine weir_outbox_sqlite = {
    .log = &weir_log_sqlite,
    .lease = &weir_lease_sqlite,
    .liveness = &weir_liveness_sqlite,
    .ack = &weir_ack_sqlite,
    .queue = &weir_queue_sqlite,
    .backlog = &weir_backlog_sqlite,
    .inspect = &weir_inspect_sqlite,
    .letters = &weir_letters_sqlite,
};
