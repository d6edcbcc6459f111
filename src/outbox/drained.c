/*
 * drained.c - is nothing left for a subscription? See weir/inspect.h.
 *
 * The lag cannot tell: it looks at so many rows and no more, whosever they are, so
 * behind the backlog of another queue or subscription it can only estimate. A caller that
 * waits for the end of a backlog must know.
 */
#include "db/value.h"
#include "outbox/inspect_sql.h"
#include "outbox/names.h"
#include "outbox/outbox.h"
#include "weir/inspect.h"

static enum weir_status read_waits(const struct weir_inspect_sql *sql,
                                   struct weir_connection *connection, int64_t queue_id,
                                   const char *subscription, int64_t *waits,
                                   struct weir_error *error)
{
    struct weir_value queue = weir_integer(queue_id);
    struct weir_value name = weir_text(weir_str(subscription));
    int64_t third = INT64_MAX; /* a limit, or where to begin */
    enum weir_status status = WEIR_OK;

    if (sql->waits_begin.text != NULL)
        status = weir_connection_query_integer(connection, &sql->waits_begin,
                                               VALUES(queue, name), &third, error);
    if (status == WEIR_OK)
        status = weir_connection_query_integer(connection, sql->waits,
                                               VALUES(queue, name, weir_integer(third)),
                                               waits, error);
    return status;
}

enum weir_status weir_outbox_read_drained(struct weir_outbox *self, const char *queue,
                                          const char *subscription, bool *drained,
                                          struct weir_error *error)
{
    struct weir_connection *connection = NULL;
    struct weir_queue_row row;
    int64_t waits = 1;
    enum weir_status status = weir_queue_name_check("queue name", queue, error);

    if (status == WEIR_OK)
        status = weir_queue_name_check("subscription name", subscription, error);
    if (status == WEIR_OK && self->partition_table != NULL)
        weir_partition_table_hurry(self->partition_table); /* the caller waits for acks */
    if (status == WEIR_OK)
        status = weir_outbox_connect(self, &connection, error);
    if (status == WEIR_OK)
        status = weir_catalog_find_queue(connection, queue, &row, error);
    if (status == WEIR_OK)
        status = read_waits(self->engine->inspect, connection, row.id, subscription,
                            &waits, error);
    weir_db_release(self->db, connection);
    *drained = status == WEIR_OK && waits == 0;
    return status;
}
