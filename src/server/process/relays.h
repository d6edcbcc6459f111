/*
 * relays.h - one relay of the server: a queue of a database, and where it goes.
 *
 * Each has a database handle and an outbox of its own, so one that hangs or fails does
 * nothing to the others.
 *
 * Threads  create(), stop() and destroy() by one owner; the rest any thread, also while
 *          the relay is opened or closed: they never wait for a database.
 */
#ifndef WEIR_SERVER_PROCESS_RELAYS_H
#define WEIR_SERVER_PROCESS_RELAYS_H

#include "server/api/metrics_text.h"
#include "server/api/server_records.h"
#include "server/config/config.h"
#include "weir/log.h"

struct weir_server_relay;

/* Copies what it needs of the two sections. */
WEIR_CHECKED enum weir_status
weir_server_relay_create(const struct weir_heap *heap, const struct weir_log *log,
                         const struct weir_config_relay *config,
                         const struct weir_config_database *database,
                         struct weir_server_relay **out, struct weir_error *error);

/* Returns how many deliveries have not ended within the grace. */
size_t weir_server_relay_stop(struct weir_server_relay *self, int64_t grace_ns);
void weir_server_relay_destroy(struct weir_server_relay *self);

const char *weir_server_relay_name(const struct weir_server_relay *self);

/* Give the row to `emit`. Its texts live for the call. */
void weir_server_relay_emit(struct weir_server_relay *self,
                            void (*emit)(void *to, const struct weir_relay_row *row),
                            void *to);

/* Figures of its outbox, with the labels `database` and `relay`. */
void weir_server_relay_add_metrics(struct weir_server_relay *self,
                                   struct weir_metrics_text *text);

#endif
