/*
 * supervision.h - the reconcilers of one database, run by the server.
 *
 * Threads  create(), stop() and destroy() by one owner; read_status() any thread.
 */
#ifndef WEIR_SERVER_PROCESS_SUPERVISION_H
#define WEIR_SERVER_PROCESS_SUPERVISION_H

#include "server/config/config.h"
#include "server/process/service.h"

struct weir_server_supervision;

/* Copies what it needs of the two sections. */
WEIR_CHECKED enum weir_status
weir_server_supervision_create(const struct weir_heap *heap, const struct weir_log *log,
                               const struct weir_config_supervisor *config,
                               const struct weir_config_database *database,
                               struct weir_server_supervision **out,
                               struct weir_error *error);

size_t weir_server_supervision_stop(struct weir_server_supervision *self,
                                    int64_t grace_ns);
void weir_server_supervision_destroy(struct weir_server_supervision *self);

void weir_server_supervision_read_status(struct weir_server_supervision *self,
                                         struct weir_service_status *out);

#endif
