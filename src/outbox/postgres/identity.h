/*
 * identity.h - is this the cluster that the tables were made in, and are they whole?
 *
 * Transaction ids mean nothing in another cluster, and the log's order is made of them.
 * So the identity of the cluster is stored with the tables, and a process that opens
 * them elsewhere is refused before it reads nonsense.
 */
#ifndef WEIR_OUTBOX_POSTGRES_IDENTITY_H
#define WEIR_OUTBOX_POSTGRES_IDENTITY_H

#include "outbox/log/log.h"

/* As the slots of struct weir_log_ops. */
enum weir_status weir_pg_log_open(struct weir_outbox_log *self,
                                  struct weir_connection *connection,
                                  struct weir_error *error);
enum weir_status weir_pg_log_check(struct weir_connection *connection,
                                   struct weir_error *error);
enum weir_status weir_pg_log_vet(struct weir_connection *connection,
                                 struct weir_error *error);

#endif
