/*
 * queue.c - the operations of queue_ops.h on MariaDB.
 */
#include "outbox/queue/queue_ops.h"

#include "base/noun.h"
#include "db/clock.h"
#include "outbox/mariadb/engine.h"

/*
 * A producer holds the entry of the name until its transaction ends: a current read, by
 * the unique index, which has all of it, so that neither the row nor a gap is locked. A
 * transaction that marks or removes the queue needs it alone, for a second, since others
 * that look the queue up wait behind it; the transaction is repeated.
 */
#define BY_NAME "SELECT id FROM {p}_queue FORCE INDEX (name) WHERE name = {1} "

/* A row of the counters is the lock for subscribing. */
#define SUBSCRIBE_ROW "SELECT value FROM {p}_counter WHERE name = 'subscribe'"

/* Of one subscription. With a sub-select it would read whole tables, lock what it
 * passes, and wait for acks of other queues. */
static const struct weir_sql SQL_REMOVE_OF[WEIR_REMOVE_OF_COUNT] = {
    WEIR_REMOVE_OF("= {1}"),
    {.name = "remove positions",
     .text = "DELETE FROM {p}_ack WHERE subscription = {1}",
     .parameters = "i"},
};
static const struct weir_sql SQL_NEXT_SUBSCRIPTION = {
    .name = "next subscription",
    .text = "SELECT min(id) FROM {p}_subscription WHERE queue = {1} AND id > {2}",
    .parameters = "ii",
};

/* One after the other, by their numbers: the order of the locks. */
static enum weir_status remove_one_by_one(struct weir_connection *connection,
                                          int64_t queue, struct weir_error *error)
{
    int64_t id = 0;
    enum weir_status status;

    do {
        status = weir_connection_query_integer(
            connection, &SQL_NEXT_SUBSCRIPTION,
            VALUES(weir_integer(queue), weir_integer(id)), &id, error);
        if (status == WEIR_OK && id > 0)
            status = weir_queue_run_all(connection, SQL_REMOVE_OF, WEIR_REMOVE_OF_COUNT,
                                        id, error);
    } while (status == WEIR_OK && id > 0);
    return status;
}

/* What is appended and not moved yet: with what is not committed (a dirty read), and
 * without locked rows. Both read the whole table, which is small. */
#define OF_QUEUE " FROM {p}_incoming WHERE pid BETWEEN {1} * 64 AND {1} * 64 + 63"
static const struct weir_sql SQL_DIRTY = {
    .name = "all that is appended",
    .text = "SELECT COUNT(*)" OF_QUEUE,
    .parameters = "i",
};
static const struct weir_sql SQL_COMMITTED = {
    .name = "all that is committed",
    .text = "SELECT COUNT(*)" OF_QUEUE " LOCK IN SHARE MODE SKIP LOCKED",
    .parameters = "i",
};

static enum weir_status count_uncommitted(struct weir_queue_removal *self, int64_t *out,
                                          struct weir_error *error)
{
    int64_t all = 0;
    int64_t committed = 0;
    enum weir_status status = weir_connection_execute_text(
        self->connection, "SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED", error);

    if (status == WEIR_OK)
        status = weir_connection_query_integer(self->connection, &SQL_DIRTY,
                                               VALUES(weir_integer(self->queue_id)), &all,
                                               error);
    if (status == WEIR_OK)
        status = weir_connection_query_integer(self->connection, &SQL_COMMITTED,
                                               VALUES(weir_integer(self->queue_id)),
                                               &committed, error);
    *out = all - committed;
    return status;
}

static enum weir_status outlast(struct weir_queue_removal *self, struct weir_error *error)
{
    int64_t count = 0;
    enum weir_status status = count_uncommitted(self, &count, error);

    while (status == WEIR_OK && count > 0) {
        if (weir_clock_now_ns() >= self->deadline_ns ||
            !weir_clock_sleep(WEIR_REMOVAL_POLL_NS))
            return weir_error_set(
                error, WEIR_BUSY,
                "queue \"%.60s\": transactions are open that have enqueued %lld %s",
                self->name, (long long)count, WEIR_NOUN(count, "message", "messages"));
        status = count_uncommitted(self, &count, error);
    }
    return status;
}

const struct weir_queue_ops weir_queue_maria = {
    .lock_shared = {.name = "lock for subscribing",
                    .text = SUBSCRIBE_ROW " LOCK IN SHARE MODE"},
    .lock_alone = {.name = "lock for removing", .text = SUBSCRIBE_ROW " FOR UPDATE"},
    .hold_name = {.name = "hold queue",
                  .text = BY_NAME "LOCK IN SHARE MODE",
                  .parameters = "t"},
    .lock_name = {.name = "lock queue",
                  .text = "SET STATEMENT innodb_lock_wait_timeout = 1 FOR " BY_NAME
                          "FOR UPDATE",
                  .parameters = "t"},
    .kept_for_nobody = WEIR_FIND_KEPT(
        "(" WEIR_KEPT_IN("log") ") UNION ALL (" WEIR_KEPT_IN("incoming") ")"),
    .remove_of_subscriptions = remove_one_by_one,
    .outlast_all = outlast,
};
