/*
 * log.c - the log on MariaDB: where it begins and ends, and its operation table.
 */
#include "outbox/mariadb/log.h"
#include "outbox/mariadb/engine.h"

/* By primary keys. */
const struct weir_sql weir_maria_sql_head = {
    .name = "head",
    .text = "SELECT value FROM {p}_counter WHERE name = 'head'",
};
static const struct weir_sql SQL_REMOVED = {
    .name = "start",
    .text = "SELECT removed_id FROM {p}_queue WHERE id = {1}",
    .parameters = "i",
};

static enum weir_status maria_start(const struct weir_outbox_log *self,
                                    struct weir_connection *connection, int64_t queue_id,
                                    bool now, struct weir_log_position *out,
                                    struct weir_error *error)
{
    enum weir_status status;

    (void)self;
    *out = (struct weir_log_position){0, 0};
    if (now)
        return weir_connection_query_integer(connection, &weir_maria_sql_head, NO_VALUES,
                                             &out->id, error);
    status = weir_connection_query_integer(
        connection, &SQL_REMOVED, VALUES(weir_integer(queue_id)), &out->id, error);
    if (status == WEIR_NO_ROW)
        status = weir_error_set(error, WEIR_NOT_FOUND, "start: there is no queue %lld",
                                (long long)queue_id);
    return status;
}

const struct weir_log_ops weir_log_mariadb = {
    .advance_max = WEIR_MOVE_ROWS_MAX,
    .append = weir_log_maria_append,
    .advance = weir_log_maria_advance,
    .read = weir_log_maria_read,
    .start = maria_start,
    .lag = weir_log_maria_lag,
    .sweep = weir_log_maria_sweep,
};
