/*
 * backlog.h - how much waits in a queue with a limit: one number, counted by one for all.
 *
 * A producer must know whether its queue has room, and the log has no index by queue:
 * to count costs a look at many rows. So the number is *published*, with the time of
 * its count:
 *
 *   processes that deliver   count for all queues with a limit, once a second, one of
 *                            them for all (publisher.c), exactly, on connections of
 *                            their own
 *   producers                read the number once a second, and add what they have
 *                            enqueued since
 *
 * Where no process delivers, the number becomes old. Then one producer of all counts:
 *
 *   PostgreSQL   in its statement, at most 10,000 rows, on from where the last count
 *                ended: the positions stand still, so what was counted stays counted
 *                (postgres/backlog.c)
 *   MariaDB      on another connection of the outbox; a function in SQL counts for its
 *                session
 *   SQLite       on another connection of the outbox; published unless the producer's
 *                transaction may have the write lock; the extension counts for its
 *                connection
 *
 * The age decides which number is used, and which session counts: a *claim* sets the
 * time of a number without changing the number. So no lock is held while rows are
 * counted. A process that dies in between keeps the others from counting for
 * WEIR_BACKLOG_AGE_US. A time in the future counts as old. On MariaDB a claim waits for
 * no lock: where one is held, the claim is not granted.
 *
 * Where it is: sequences on PostgreSQL (postgres/backlog.c), the table {p}_backlog on
 * the others. What is written there belongs to no transaction of an application.
 *
 * What counts is what waits for the subscription furthest behind; without
 * subscriptions, all that the log has of the queue, and nothing where that is dropped
 * (weir_queue_options.unread).
 *
 * Threads  Any thread, with the connection that it holds.
 * Failure  As the database does. When a count fails, on MariaDB and SQLite the producer
 *          counts a bounded number of rows on its own connection. On PostgreSQL a
 *          session without a claim uses the number that is there; one that is too old
 *          tells nothing, and the message is accepted.
 */
#ifndef WEIR_OUTBOX_QUEUE_BACKLOG_H
#define WEIR_OUTBOX_QUEUE_BACKLOG_H

#include "outbox/queue/catalog.h"

struct weir_outbox;

/* Older than that, a producer counts; so old, a process that delivers.
 * postgres/backlog.c, mariadb/producer.c and src/extension have the first. */
#define WEIR_BACKLOG_AGE_US INT64_C(3000000)
#define WEIR_BACKLOG_PERIOD_US INT64_C(1000000)

struct weir_backlog {
    int64_t stamp; /* of the count; -1: another session counts at the moment */
    int64_t waiting;
    bool whole; /* false: there is more to count; ask again with the next message */
};

/* For a producer: the number, on its connection, in whatever transaction. */
WEIR_CHECKED enum weir_status
weir_backlog_read(struct weir_outbox *outbox, struct weir_connection *connection,
                  const char *queue, const struct weir_queue_row *row,
                  struct weir_backlog *out, struct weir_error *error);

/*
 * Count and publish, unless the number is younger than `age_us`: then *mine is false.
 * Outside of any transaction.
 */
WEIR_CHECKED enum weir_status weir_backlog_publish(struct weir_outbox *outbox,
                                                   struct weir_connection *connection,
                                                   const char *queue, int64_t queue_id,
                                                   int64_t age_us, bool *mine,
                                                   struct weir_error *error);

/* A queue has got a limit: make what its number is kept in. */
WEIR_CHECKED enum weir_status weir_backlog_prepare(struct weir_connection *connection,
                                                   int64_t queue_id,
                                                   struct weir_error *error);

/* A queue goes, in the transaction that removes it, before its row. */
WEIR_CHECKED enum weir_status weir_backlog_remove(struct weir_connection *connection,
                                                  int64_t queue_id,
                                                  struct weir_error *error);

#endif
