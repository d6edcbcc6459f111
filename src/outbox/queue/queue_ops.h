/*
 * queue_ops.h - the inside of catalog.h and queue_removal.h: what each engine does in its
 * own way.
 */
#ifndef WEIR_OUTBOX_QUEUE_QUEUE_OPS_H
#define WEIR_OUTBOX_QUEUE_QUEUE_OPS_H

#include "base/buf.h"
#include "db/connection.h"
#include "outbox/log/log.h"

#define WEIR_REMOVAL_POLL_NS WEIR_MILLISECONDS(20)

/* A queue on its way out. */
struct weir_queue_removal {
    const struct weir_outbox_log *log;
    struct weir_connection *connection;
    const char *name;
    int64_t queue_id;
    int64_t deadline_ns;
    struct weir_buf waited_for; /* PostgreSQL: ids of transactions */
};

struct weir_queue_ops {
    /* Until the end of the transaction: for subscribing, which others may do as well, and
     * for removing. Without text: the transaction is the lock. */
    struct weir_sql lock_shared;
    struct weir_sql lock_alone;

    /* A producer holds the entry of name {1} until its transaction ends; marking and
     * removing the queue take it alone. Without text: queue_removal.c has another way. */
    struct weir_sql hold_name;
    struct weir_sql lock_name;

    struct weir_sql kept_for_nobody; /* WEIR_FIND_KEPT, of queue {1} */

    /* All that is found by the subscriptions of a queue. May be repeated. */
    enum weir_status (*remove_of_subscriptions)(struct weir_connection *connection,
                                                int64_t queue, struct weir_error *error);

    /* Wait until transactions have ended that cannot see the mark of the queue; and those
     * that may have appended to it. WEIR_BUSY: not until the deadline. NULL: there are
     * none. */
    enum weir_status (*outlast_blind)(struct weir_queue_removal *self,
                                      struct weir_error *error);
    enum weir_status (*outlast_all)(struct weir_queue_removal *self,
                                    struct weir_error *error);
};

/* All of these, at most WEIR_REMOVE_OF_COUNT, with the same value. */
enum { WEIR_REMOVE_OF_COUNT = 4 };
WEIR_CHECKED enum weir_status weir_queue_run_all(struct weir_connection *connection,
                                                 const struct weir_sql *sql, size_t count,
                                                 int64_t id, struct weir_error *error);

#define WEIR_ITS_SUBSCRIPTIONS "(SELECT id FROM {p}_subscription WHERE queue = {1})"

/*
 * What belongs to the subscriptions. Each may be repeated. The leases come first, in
 * the order in which acks lock them (ack.c), so that none of them waits for us while we
 * wait for it.
 * */
#define WEIR_REMOVE_OF(which)                                                            \
    {.name = "remove leases",                                                            \
     .text = "DELETE FROM {p}_lease WHERE subscription " which,                          \
     .parameters = "i"},                                                                 \
        {.name = "remove members",                                                       \
         .text = "DELETE FROM {p}_member WHERE subscription " which,                     \
         .parameters = "i"},                                                             \
    {                                                                                    \
        .name = "remove dead letters",                                                   \
        .text = "DELETE FROM {p}_dead_letter WHERE subscription " which,                 \
        .parameters = "i"                                                                \
    }

/* A queue without a subscription keeps its messages for future ones. Looks through the
 * log until it finds one: no index has the partition, and queues are seldom removed. */
#define WEIR_KEPT_IN(messages)                                                           \
    "SELECT 1 FROM {p}_" messages " m"                                                   \
    " JOIN {p}_queue q ON q.id = {1} AND q.unread = 0"                                   \
    " WHERE m.pid >= q.id * 64 AND m.pid < q.id * 64 + 64"                               \
    " AND NOT EXISTS (SELECT 1 FROM {p}_subscription s WHERE s.queue = q.id) LIMIT 1"
#define WEIR_FIND_KEPT(rows)                                                             \
    {                                                                                    \
        .name = "find kept messages", .text = "SELECT count(*) FROM (" rows ") kept",    \
        .parameters = "i",                                                               \
    }

#endif
