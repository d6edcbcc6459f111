/*
 * backlog_ops.c - the numbers of backlog.h on PostgreSQL: sequences, by the functions of
 * backlog.h of this folder.
 */
#include "outbox/queue/backlog_ops.h"
#include "outbox/postgres/engine.h"

static const struct weir_sql SQL_READ = {
    .name = "read backlog",
    .text = "SELECT coalesce(r.stamp, -1), r.waiting, r.whole"
            " FROM {p}_backlog_read({1}::integer) r",
    .parameters = "i",
};
static const struct weir_sql SQL_CLAIM = {
    .name = "claim backlog",
    .text = "SELECT c.mine, coalesce(c.mark, 0), coalesce(c.begun_s, 0)"
            " FROM {p}_backlog_claim({1}::integer, {2}) c",
    .parameters = "ii",
};
static const struct weir_sql SQL_GIVE_UP = {
    .name = "give up backlog",
    .text = "SELECT {p}_backlog_put({1}::integer, NULL, NULL, NULL)",
    .parameters = "i",
};

/* {3}: the mark. */
static const struct weir_sql SQL_PUT = {
    .name = "publish backlog",
    .text = "SELECT {p}_backlog_put({1}::integer, {2}, {3}, {4})",
    .parameters = "iiii",
};
static const struct weir_sql SQL_MAKE = {
    .name = "make backlog",
    .text = "SELECT {p}_backlog_make({1}::integer)",
    .parameters = "i",
};
static const struct weir_sql SQL_DROP = {
    .name = "drop backlog",
    .text = "SELECT {p}_backlog_drop({1}::integer)",
    .parameters = "i",
};

static enum weir_status read_number(struct weir_connection *connection, int64_t queue_id,
                                    struct weir_backlog *out, bool *young,
                                    struct weir_error *error)
{
    struct weir_rows rows;
    enum weir_status status = weir_connection_query(
        connection, &SQL_READ, VALUES(weir_integer(queue_id)), &rows, error);

    *young = false;
    if (status == WEIR_OK)
        status = weir_rows_next(&rows, error);
    if (status == WEIR_OK) {
        out->stamp = weir_rows_integer(&rows, 0);
        out->waiting = weir_rows_integer(&rows, 1);
        out->whole = weir_rows_boolean(&rows, 2);
        *young = true;
    }
    weir_rows_close(&rows);
    return status == WEIR_NO_ROW ? WEIR_OK : status;
}

static enum weir_status claim(struct weir_connection *connection, int64_t queue_id,
                              int64_t age_us, struct weir_backlog_claim *out,
                              struct weir_error *error)
{
    struct weir_rows rows;
    enum weir_status status = weir_connection_query(
        connection, &SQL_CLAIM,
        VALUES(weir_integer(queue_id), weir_integer(age_us / 1000000)), &rows, error);

    if (status == WEIR_OK)
        status = weir_rows_next(&rows, error);
    if (status == WEIR_OK) {
        out->mine = weir_rows_boolean(&rows, 0);
        out->mark = weir_rows_integer(&rows, 1);
        out->begun_s = weir_rows_integer(&rows, 2);
    }
    weir_rows_close(&rows);
    return status;
}

static enum weir_status put(struct weir_connection *connection, int64_t queue_id,
                            int64_t waiting, const struct weir_backlog_claim *claimed,
                            struct weir_error *error)
{
    return weir_connection_execute(connection, &SQL_PUT,
                                   VALUES(weir_integer(queue_id), weir_integer(waiting),
                                          weir_integer(claimed->mark),
                                          weir_integer(claimed->begun_s)),
                                   NULL, error);
}

const struct weir_backlog_ops weir_backlog_pg = {
    .read = read_number,
    .claim = claim,
    .put = put,
    .give_up = &SQL_GIVE_UP,
    .prepare = &SQL_MAKE,
    .remove = &SQL_DROP,
};
