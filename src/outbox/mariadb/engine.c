/*
 * engine.c - the outbox on MariaDB.
 */
#include "outbox/mariadb/engine.h"

const struct weir_outbox_engine weir_outbox_mariadb = {
    .log = &weir_log_mariadb,
    .lease = &weir_lease_maria,
    .liveness = &weir_liveness_maria,
    .ack = &weir_ack_maria,
    .queue = &weir_queue_maria,
    .backlog = &weir_backlog_maria,
    .inspect = &weir_inspect_maria,
    .letters = &weir_letters_maria,
    .roles = &weir_roles_maria,
    .make_functions = weir_maria_make_functions,
};
