/*
 * queue.c - the operations of queue_ops.h on PostgreSQL.
 */
#include "outbox/queue/queue_ops.h"

#include "base/stringize.h"
#include "db/clock.h"
#include "db/row_map.h"
#include "outbox/postgres/engine.h"
#include "outbox/schema.h"

#define SUBSCRIBE_LOCK "(hashtext('{n}'), " STRINGIZE(WEIR_LOCK_SUBSCRIBE_NUMBER) ")"
#define WEIR_LOCK_SUBSCRIBE_NUMBER 2
_Static_assert(WEIR_LOCK_SUBSCRIBE_NUMBER == WEIR_LOCK_SUBSCRIBE,
               "the text of a statement cannot name an enum");

/* Positions stay: deleting would leave dead rows in a table that is never vacuumed, and
 * the rotation carries forward only what belongs to a subscription. */
static const struct weir_sql SQL_REMOVE_OF[WEIR_REMOVE_OF_COUNT] = {
    {.name = "lock leases of the queue",
     .text = "SELECT 1 FROM {p}_lease WHERE subscription IN " WEIR_ITS_SUBSCRIPTIONS
             " ORDER BY subscription, pid FOR UPDATE",
     .parameters = "i"},
    WEIR_REMOVE_OF("IN " WEIR_ITS_SUBSCRIPTIONS),
};

static enum weir_status remove_of_subscriptions(struct weir_connection *connection,
                                                int64_t queue, struct weir_error *error)
{
    return weir_queue_run_all(connection, SQL_REMOVE_OF, WEIR_REMOVE_OF_COUNT, queue,
                              error);
}

/*
 * Transactions of this database, except our own: by their virtual ids, all or those of
 * a list; and prepared ones that have written to the log. How many, their ids, and what
 * to call them.
 */
static const struct weir_sql SQL_OPEN = {
    .name = "open transactions",
    .text = "SELECT count(*), coalesce(string_agg(t.key, ' '), ''),"
            " coalesce(string_agg(t.name, ', '), '') FROM"
            " (SELECT l.virtualxid AS key, 'pid ' || l.pid || coalesce(' of ' || "
            "a.usename, '')"
            "  AS name FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid"
            "  WHERE l.locktype = 'virtualxid' AND l.virtualxid = l.virtualtransaction"
            "  AND a.datname = current_database() AND a.usesysid IS NOT NULL"
            "  AND l.pid <> pg_backend_pid()"
            "  AND ({1} IS NULL OR l.virtualxid = ANY (string_to_array({1}, ' ')))"
            " UNION ALL SELECT '', 'prepared transaction ' || quote_literal(x.gid)"
            "  FROM pg_prepared_xacts x WHERE x.database = current_database() AND EXISTS"
            "  (SELECT FROM pg_locks k WHERE k.relation = '{q}_log'::regclass"
            "   AND k.virtualtransaction = '-1/' || x.transaction::text)) t",
    .parameters = "t",
};

struct open_row {
    int64_t count;
    struct weir_str ids;
    struct weir_str names;
};

static const struct weir_column OPEN[] = {
    COLUMN(struct open_row, count, INTEGER),
    COLUMN(struct open_row, ids, TEXT),
    COLUMN(struct open_row, names, TEXT),
};

/* Those of `ids`, NULL: all. Their number and ids; `error` gets a text if there are
 * any. */
static enum weir_status list_open(struct weir_queue_removal *self, struct weir_value ids,
                                  int64_t *count, struct weir_buf *out,
                                  struct weir_error *error)
{
    struct weir_rows rows;
    struct open_row open;
    enum weir_status status =
        weir_connection_query(self->connection, &SQL_OPEN, VALUES(ids), &rows, error);

    if (status == WEIR_OK)
        status = weir_rows_next(&rows, error);
    if (status == WEIR_OK)
        status = weir_row_read(&rows, COLUMNS(OPEN), &open, error);
    if (status == WEIR_OK) {
        *count = open.count;
        if (out != NULL) {
            weir_buf_reset(out);
            weir_buf_append(out, open.ids.data, open.ids.size);
            status = weir_buf_status(out);
        }
        if (*count > 0)
            (void)weir_error_set(
                error, WEIR_BUSY,
                "queue \"%.60s\": transactions are open that may have enqueued: %.*s",
                self->name, (int)open.names.size, open.names.data);
    }
    weir_rows_close(&rows);
    return status;
}

/* Until all transactions that are open now have ended. */
static enum weir_status outlast(struct weir_queue_removal *self, struct weir_error *error)
{
    int64_t count = 0;
    enum weir_status status =
        list_open(self, weir_null(), &count, &self->waited_for, error);

    while (status == WEIR_OK && count > 0) {
        if (weir_clock_now_ns() >= self->deadline_ns ||
            !weir_clock_sleep(WEIR_REMOVAL_POLL_NS))
            return WEIR_BUSY;
        status = list_open(self, weir_text(weir_buf_get(&self->waited_for)), &count, NULL,
                           error);
    }
    return status;
}

/* First those that cannot see the mark, then those that may have remembered. */
const struct weir_queue_ops weir_queue_pg = {
    .lock_shared = {.name = "lock for subscribing",
                    .text = "SELECT pg_advisory_xact_lock_shared" SUBSCRIBE_LOCK},
    .lock_alone = {.name = "lock for removing",
                   .text = "SELECT pg_advisory_xact_lock" SUBSCRIBE_LOCK},
    .kept_for_nobody = WEIR_FIND_KEPT(WEIR_KEPT_IN("log")),
    .remove_of_subscriptions = remove_of_subscriptions,
    .outlast_blind = outlast,
    .outlast_all = outlast,
};
