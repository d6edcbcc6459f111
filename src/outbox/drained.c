/*
 * drained.c - is nothing left for a subscription? See weir/inspect.h.
 *
 * The lag cannot tell: it looks at so many rows and no more, whosever they are, so
 * behind the backlog of another queue or subscription it can only estimate. A caller that
 * waits for the end of a backlog must know.
 */
#include "db/value.h"
#include "outbox/names.h"
#include "outbox/outbox.h"
#include "outbox/postgres/statements.h"
#include "weir/inspect.h"

/* The log by its primary key from the lowest position on (the join is not to be turned
 * round), for each row the position by its key; set aside by the index on the
 * partition. */
#define SUBSCRIPTION                                                                     \
    "(SELECT s.id FROM {p}_subscription s WHERE s.queue = {1} AND s.name = {2})"
static const struct weir_sql SQL_WAITS_SQLITE = {
    .name = "waits",
    .text = "SELECT EXISTS (SELECT 1 FROM {p}_log l CROSS JOIN {p}_ack a"
            " ON a.subscription = " SUBSCRIPTION " AND a.pid = l.pid"
            " WHERE l.id > (SELECT min(k.last_id) FROM {p}_ack k"
            "  WHERE k.subscription = " SUBSCRIPTION ")"
            " AND l.id > a.last_id LIMIT {3})"
            " OR EXISTS (SELECT 1 FROM {p}_ack a CROSS JOIN {p}_aside x"
            " ON x.pid = a.pid AND x.cut = 0 AND x.id > a.last_id"
            " WHERE a.subscription = " SUBSCRIPTION ")",
    .parameters = "iti",
};

/* Where to look from, on MariaDB: asked for beforehand, since a range whose beginning
 * is a minimum is not found by its index there. Nothing of the log lies before what was
 * swept. */
static const struct weir_sql SQL_BEGIN_MARIA = {
    .name = "waits begin",
    .text = "SELECT greatest(coalesce(min(a.last_id), 9223372036854775807),"
            " (SELECT c.value FROM {p}_counter c WHERE c.name = 'swept'))"
            " FROM {p}_ack a WHERE a.subscription = " SUBSCRIPTION,
    .parameters = "it",
};

/* The same, and what is committed and not moved yet, era by era. A row that is moved
 * meanwhile is seen in one place or the other: one statement has one state. */
static const struct weir_sql SQL_WAITS_MARIA = {
    .name = "waits",
    .text = "SELECT EXISTS (SELECT 1 FROM {p}_log l STRAIGHT_JOIN {p}_ack a"
            " ON a.subscription = " SUBSCRIPTION " AND a.pid = l.pid"
            " WHERE l.id > {3} AND l.id > a.last_id)"
            " OR EXISTS (SELECT 1 FROM {p}_ack a STRAIGHT_JOIN {p}_aside x"
            " ON x.pid = a.pid AND x.cut = 0 AND x.id > a.last_id"
            " WHERE a.subscription = " SUBSCRIPTION ")"
            " OR EXISTS (SELECT 1 FROM {p}_era e"
            " STRAIGHT_JOIN {p}_incoming i FORCE INDEX (PRIMARY) ON i.era = e.no"
            " STRAIGHT_JOIN {p}_ack a"
            " ON a.subscription = " SUBSCRIPTION " AND a.pid = i.pid)",
    .parameters = "iti",
};

static const struct weir_sql *const SQL_WAITS[] = {
    [WEIR_SQLITE] = &SQL_WAITS_SQLITE,
    [WEIR_POSTGRESQL] = &weir_pg_sql_waits,
    [WEIR_MARIADB] = &SQL_WAITS_MARIA,
};

static enum weir_status read_waits(enum weir_engine engine,
                                   struct weir_connection *connection, int64_t queue_id,
                                   const char *subscription, int64_t *waits,
                                   struct weir_error *error)
{
    struct weir_value queue = weir_integer(queue_id);
    struct weir_value name = weir_text(weir_str(subscription));
    int64_t third = INT64_MAX; /* a limit; on MariaDB where to begin */
    enum weir_status status = WEIR_OK;

    if (engine == WEIR_MARIADB)
        status = weir_connection_query_integer(connection, &SQL_BEGIN_MARIA,
                                               VALUES(queue, name), &third, error);
    if (status == WEIR_OK)
        status = weir_connection_query_integer(connection, SQL_WAITS[engine],
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
    if (status == WEIR_OK)
        status = weir_outbox_connect(self, &connection, error);
    if (status == WEIR_OK)
        status = weir_catalog_find_queue(connection, queue, &row, error);
    if (status == WEIR_OK)
        status = read_waits(self->log.ops->engine, connection, row.id, subscription,
                            &waits, error);
    weir_db_release(self->db, connection);
    *drained = status == WEIR_OK && waits == 0;
    return status;
}
