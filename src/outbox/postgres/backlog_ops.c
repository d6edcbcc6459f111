/*
 * backlog_ops.c - the numbers of backlog.h on PostgreSQL: sequences, by the functions of
 * backlog.h of this folder.
 */
#include "outbox/queue/backlog_ops.h"
#include "db/query.h"
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

static const struct weir_column BACKLOG[] = {
    COLUMN(struct weir_backlog, stamp, INTEGER),
    COLUMN(struct weir_backlog, waiting, INTEGER),
    COLUMN(struct weir_backlog, whole, BOOLEAN),
};
static const struct weir_column CLAIMED[] = {
    COLUMN(struct weir_backlog_claim, mine, BOOLEAN),
    COLUMN(struct weir_backlog_claim, mark, INTEGER),
    COLUMN(struct weir_backlog_claim, begun_s, INTEGER),
};

static enum weir_status read_number(struct weir_connection *connection, int64_t queue_id,
                                    struct weir_backlog *out, bool *young,
                                    struct weir_error *error)
{
    return weir_query_find(connection, &SQL_READ, VALUES(weir_integer(queue_id)),
                           INTO(BACKLOG, out), young, error);
}

static enum weir_status claim(struct weir_connection *connection, int64_t queue_id,
                              int64_t age_us, struct weir_backlog_claim *out,
                              struct weir_error *error)
{
    return weir_query_one(connection, &SQL_CLAIM,
                          VALUES(weir_integer(queue_id), weir_integer(age_us / 1000000)),
                          INTO(CLAIMED, out), error);
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
