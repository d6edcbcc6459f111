/*
 * sql_producer.h - enqueues by weir_enqueue() of SQL, as a program without the library
 * does.
 */
#ifndef WEIR_TEST_SQL_PRODUCER_H
#define WEIR_TEST_SQL_PRODUCER_H

#include <stdbool.h>

#include "db/connection.h"
#include "weir/message.h"

/* Once for each connection: on SQLite the extension is loaded. False: it cannot be. */
bool sql_producer_prepare(struct weir_connection *connection);

/* Type and payload of the draft, with a key that leads to its partition, of so many, or
 * without a key if no partition is given. In the connection's transaction, if there is
 * one. */
WEIR_CHECKED enum weir_status sql_producer_enqueue(struct weir_connection *connection,
                                                   const char *queue, int32_t partitions,
                                                   const struct weir_draft *draft,
                                                   struct weir_error *error);

#endif
