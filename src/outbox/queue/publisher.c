/*
 * publisher.c - the worker that publishes how much waits in queues with a limit
 * (backlog.h).
 *
 * In each process that delivers, whatever it serves. Once a second it looks at all
 * queues with a limit and counts those whose number no other process has published
 * meanwhile. A count that takes long is followed by a rest as long, so that half of the
 * time at most is spent with counting, up to 30 s. In a rest longer than
 * WEIR_BACKLOG_AGE_US producers count by themselves. Where no queue has a limit the
 * worker looks seldom: a limit that is new is kept by producers until then.
 */
#include <string.h>

#include "db/query.h"
#include "outbox/outbox.h"
#include "outbox/queue/backlog.h"

#define IDLE_NS WEIR_SECONDS(5)
#define PERIOD_NS (WEIR_BACKLOG_PERIOD_US * 1000)
#define REST_NS_MAX WEIR_SECONDS(30)

/* A small table. */
static const struct weir_sql SQL_NEXT = {
    .name = "next queue with a limit",
    .text = "SELECT id, name FROM {p}_queue WHERE backlog_max > 0 AND id > {1}"
            " ORDER BY id LIMIT 1",
    .parameters = "i",
};

struct limited {
    int64_t id;
    char name[WEIR_QUEUE_NAME_SIZE_MAX + 1];
};

static const struct weir_column LIMITED[] = {
    COLUMN(struct limited, id, INTEGER),
    COLUMN(struct limited, name, CHARS),
};

/* WEIR_NO_ROW: there are no more. */
static enum weir_status next(struct weir_connection *connection, struct limited *queue,
                             struct weir_error *error)
{
    return weir_query_one(connection, &SQL_NEXT, VALUES(weir_integer(queue->id)),
                          INTO(LIMITED, queue), error);
}

static enum weir_status publish_all(struct weir_outbox *outbox,
                                    struct weir_context *context, size_t *count,
                                    struct weir_error *error)
{
    struct weir_connection *connection = NULL;
    struct limited queue = {.id = 0};
    bool mine;
    enum weir_status status = weir_outbox_connect(outbox, &connection, error);

    *count = 0;
    while (status == WEIR_OK && !weir_context_cancelled(context)) {
        status = next(connection, &queue, error);
        if (status != WEIR_OK)
            break;
        (*count)++;
        status = weir_backlog_publish(outbox, connection, queue.name, queue.id,
                                      WEIR_BACKLOG_PERIOD_US, &mine, error);
    }
    weir_db_release(outbox->db, connection);
    return status == WEIR_NO_ROW ? WEIR_OK : status;
}

static int64_t rest_of(size_t count, int64_t took_ns)
{
    if (count == 0)
        return IDLE_NS;
    if (took_ns < PERIOD_NS)
        return PERIOD_NS;
    return took_ns < REST_NS_MAX ? took_ns : REST_NS_MAX;
}

static enum weir_status publish(struct weir_context *context, void *state,
                                struct weir_directive *out, struct weir_error *error)
{
    struct weir_outbox *outbox = state;
    int64_t begun_ns = weir_context_now(context);
    size_t count = 0;
    enum weir_status status = publish_all(outbox, context, &count, error);

    if (status != WEIR_OK) {
        weir_error_prefix(error, "publish backlogs");
        return status;
    }
    *out = weir_sleep_for(rest_of(count, weir_context_now(context) - begun_ns));
    return WEIR_OK;
}

enum weir_status weir_publisher_spawn(struct weir_outbox *outbox,
                                      struct weir_error *error)
{
    return weir_outbox_spawn_maintenance(outbox, "publisher", publish, outbox,
                                         WEIR_NOTIFY_PUBLISHER, error);
}
