/*
 * backlog.c - the numbers of backlog.h on SQLite: a table.
 *
 * There is one writer at a time, so a claim would be one more commit, and two processes
 * that count do no harm. Statements are given the time: connections may be an
 * application's and have no clock of ours.
 */
#include "db/clock.h"
#include "outbox/queue/backlog_ops.h"
#include "outbox/sqlite/engine.h"

/* By the key. A claim is a time like a count. {2} is the time. */
static const struct weir_sql SQL_READ = {
    .name = "read backlog",
    .text = "SELECT counted_us, waiting,"
            " {2} - max(counted_us, claimed_us)"
            " FROM {p}_backlog WHERE queue = {1}",
    .parameters = "ii",
};

/* By the key. {3} is the time. */
static const struct weir_sql SQL_PUT = {
    .name = "publish backlog",
    .text = "INSERT INTO {p}_backlog (queue, waiting, counted_us)"
            " VALUES ({1}, {2}, {3}) ON CONFLICT (queue) DO UPDATE"
            " SET waiting = {2}, counted_us = {3}",
    .parameters = "iii",
};

static const struct weir_sql SQL_KEPT_FEW = {
    .name = "count few kept",
    .text = "SELECT " WEIR_BACKLOG_KEPT_LOG
            " + " WEIR_BACKLOG_KEPT_ASIDE WEIR_BACKLOG_NOT_SUBSCRIBED,
    .parameters = "ii",
};

static enum weir_status read_number(struct weir_connection *connection, int64_t queue_id,
                                    struct weir_backlog *out, bool *young,
                                    struct weir_error *error)
{
    return weir_backlog_read_aged(
        connection, &SQL_READ,
        VALUES(weir_integer(queue_id), weir_integer(weir_clock_wall_us())), out, young,
        error);
}

static enum weir_status claim(struct weir_connection *connection, int64_t queue_id,
                              int64_t age_us, struct weir_backlog_claim *out,
                              struct weir_error *error)
{
    struct weir_backlog number = {.stamp = 0};
    int64_t now_us = weir_clock_wall_us();
    bool young;
    enum weir_status status = read_number(connection, queue_id, &number, &young, error);

    out->mine = now_us - number.stamp < 0 || now_us - number.stamp >= age_us;
    return status;
}

static enum weir_status put(struct weir_connection *connection, int64_t queue_id,
                            int64_t waiting, const struct weir_backlog_claim *claimed,
                            struct weir_error *error)
{
    (void)claimed;
    return weir_connection_execute(connection, &SQL_PUT,
                                   VALUES(weir_integer(queue_id), weir_integer(waiting),
                                          weir_integer(weir_clock_wall_us())),
                                   NULL, error);
}

const struct weir_backlog_ops weir_backlog_sqlite = {
    .read = read_number,
    .claim = claim,
    .put = put,
    .remove = &weir_backlog_sql_delete,
    .kept_few = &SQL_KEPT_FEW,
};
