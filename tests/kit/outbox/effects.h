/*
 * effects.h - what transactional handlers write, by the driver's own calls, and how
 * often it is there.
 *
 *   effects_prepare(fixture);                         the table, in the test's database
 *   effects_write(connection, message)                in a handler: one row per message
 *   check_int(effects_of(fixture, 0, 3), 1);          once
 *
 * The table has no key: what happens twice is there twice.
 *
 * Threads  write and run: the handler's; all others: the test's main thread.
 */
#ifndef WEIR_TEST_EFFECTS_H
#define WEIR_TEST_EFFECTS_H

#include <stdbool.h>

#include "kit/db/engines.h"
#include "weir/message.h"

void effects_prepare(struct fixture *fixture);

/* A row for this message; false when the database refuses. */
bool effects_write(struct weir_connection *connection,
                   const struct weir_message *message);

/* Statements on the native handle, rows dropped; false when one fails. */
bool effects_run(struct weir_connection *connection, const char *sql);

/* What is committed: all; of one message; messages with more than one. */
int64_t effects_count(struct fixture *fixture);
int64_t effects_of(struct fixture *fixture, int32_t partition, int64_t seq);
int64_t effects_repeated(struct fixture *fixture);

#endif
