/*
 * pg_outbox.h - the outbox on PostgreSQL from outside, statement by statement.
 *
 * What producers, dispatchers and owners write, as plain SQL on connections of the bare
 * driver, so that a test can stop between any two statements; and a reader that finds
 * the order of messages the slow way, straight from its definition (temp_dir.h): the
 * cut of a message is the first whose snapshot sees its transaction.
 *
 * Failure  A statement that fails fails the test.
 */
#ifndef WEIR_TEST_PG_OUTBOX_H
#define WEIR_TEST_PG_OUTBOX_H

#include <libpq-fe.h>
#include <stddef.h>
#include <stdint.h>

#include "kit/db/engines.h"
#include "outbox/log/log_position.h"

enum { PG_OUTBOX_LIST_SIZE = 16384 };

/* A connection to the fixture's database. Owes one PQfinish(). */
PGconn *pg_outbox_connect(const struct fixture *fixture);

/* Run a text, which must work; the same for one integer. */
__attribute__((format(printf, 2, 3))) void pg_run(PGconn *connection, const char *format,
                                                  ...);
__attribute__((format(printf, 2, 3))) int64_t pg_ask(PGconn *connection,
                                                     const char *format, ...);

/* A queue, and a subscription of it whose positions are at the queue's removed place. */
int64_t pg_outbox_queue(PGconn *connection, const char *name, int partitions);
int64_t pg_outbox_subscribe(PGconn *connection, int64_t queue, const char *name);

/* Append messages to one partition; the id of the last. */
int64_t pg_outbox_write(PGconn *connection, int64_t pid, int count);

/* Make a cut; its number. */
int64_t pg_outbox_cut(PGconn *connection);

/* Append a position, whatever it was. */
void pg_outbox_ack(PGconn *connection, int64_t subscription, int64_t pid,
                   struct weir_log_position log_position);
struct weir_log_position pg_outbox_place(PGconn *connection, int64_t subscription,
                                         int64_t pid);

/* "cut:id cut:id ...": the messages of one partition behind a place, that a cut has, in
 * order. */
void pg_outbox_list(PGconn *connection, int64_t pid, struct weir_log_position after,
                    char out[PG_OUTBOX_LIST_SIZE]);

#endif
