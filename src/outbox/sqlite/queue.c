/*
 * queue.c - the operations of queue_ops.h on SQLite. There is one writer at a time, so
 * nothing is locked and nothing is waited for.
 */
#include "outbox/queue/queue_ops.h"
#include "outbox/sqlite/engine.h"

static const struct weir_sql SQL_REMOVE_OF[WEIR_REMOVE_OF_COUNT] = {
    {.name = "remove positions",
     .text = "DELETE FROM {p}_ack WHERE subscription IN " WEIR_ITS_SUBSCRIPTIONS,
     .parameters = "i"},
    WEIR_REMOVE_OF("IN " WEIR_ITS_SUBSCRIPTIONS),
};

static enum weir_status remove_of_subscriptions(struct weir_connection *connection,
                                                int64_t queue, struct weir_error *error)
{
    return weir_queue_run_all(connection, SQL_REMOVE_OF, WEIR_REMOVE_OF_COUNT, queue,
                              error);
}

const struct weir_queue_ops weir_queue_sqlite = {
    .kept_for_nobody = WEIR_FIND_KEPT(WEIR_KEPT_IN("log")),
    .remove_of_subscriptions = remove_of_subscriptions,
};
