/*
 * drained.c - is nothing left for a subscription? See weir/inspect.h.
 *
 * The lag cannot tell: it looks at so many rows and no more, whosever they are, so behind the
 * backlog of another queue or subscription it can only estimate. Who waits for the end of a
 * backlog must know.
 */
#include "db/value.h"
#include "outbox/names.h"
#include "outbox/outbox.h"
#include "outbox/statements_pg.h"
#include "weir/inspect.h"

/* The log by its primary key from the lowest position on (the join is not to be turned round), for
 * each row the position by its key; set aside by the index on the partition. */
#define SUBSCRIPTION                                                                     \
    "(SELECT s.id FROM {p}_subscription s WHERE s.queue = {1} AND s.name = {2})"
static const struct weir_sql SQL_WAITS_SQLITE = {
    .name = "waits",
    .text = "SELECT EXISTS (SELECT 1 FROM {p}_log l CROSS JOIN {p}_ack a"
            " ON a.subscription = " SUBSCRIPTION " AND a.partition = l.partition"
            " WHERE l.id > (SELECT min(k.last_id) FROM {p}_ack k"
            "  WHERE k.subscription = " SUBSCRIPTION ")"
            " AND l.id > a.last_id LIMIT {3})"
            " OR EXISTS (SELECT 1 FROM {p}_ack a CROSS JOIN {p}_aside x"
            " ON x.partition = a.partition AND x.cut = 0 AND x.id > a.last_id"
            " WHERE a.subscription = " SUBSCRIPTION ")",
    .parameters = "iti",
};

enum weir_status weir_outbox_read_drained(struct weir_outbox *self, const char *queue,
                                          const char *subscription, bool *drained,
                                          struct weir_error *error)
{
    const struct weir_sql *sql =
        self->log.ops->engine == WEIR_POSTGRESQL ? &weir_pg_sql_waits : &SQL_WAITS_SQLITE;
    struct weir_connection *connection = NULL;
    struct weir_queue_row row;
    int64_t waits = 1;
    enum weir_status status = weir_queue_name_check("queue name", queue, error);

    if (status == WEIR_OK)
        status = weir_queue_name_check("subscription name", subscription, error);
    if (status == WEIR_OK)
        status = weir_outbox_connect(self, &connection, error);
    if (status == WEIR_OK)
        status = weir_catalog_find_queue(connection, queue, &row, error);
    if (status == WEIR_OK)
        status = weir_connection_query_integer(connection, sql,
                                               VALUES(weir_integer(row.id),
                                                      weir_text(weir_str(subscription)),
                                                      weir_integer(INT64_MAX)),
                                               &waits, error);
    weir_db_release(self->db, connection);
    *drained = status == WEIR_OK && waits == 0;
    return status;
}
