/*
 * backlog.c - the numbers of backlog.h on MariaDB: a table.
 *
 * A transaction in SERIALIZABLE that has read the number keeps it locked. No statement
 * here waits for that.
 */
#include "outbox/mariadb/engine.h"
#include "outbox/queue/backlog_ops.h"

/* All by the key. A claim is a time like a count. */
static const struct weir_sql SQL_READ = {
    .name = "read backlog",
    .text = "SELECT counted_us, waiting,"
            " {now} - GREATEST(counted_us, claimed_us)"
            " FROM {p}_backlog WHERE queue = {1}",
    .parameters = "i",
};

#define AT_ONCE "SET STATEMENT innodb_lock_wait_timeout = 0 FOR "
static const struct weir_sql SQL_CLAIM = {
    .name = "claim backlog",
    .text =
        AT_ONCE "UPDATE {p}_backlog SET claimed_us = {now} WHERE queue = {1}"
                " AND {now} - GREATEST(counted_us, claimed_us) NOT BETWEEN 0 AND {2} - 1",
    .parameters = "ii",
};
static const struct weir_sql SQL_CLAIM_FIRST = {
    .name = "claim backlog first",
    .text =
        AT_ONCE "INSERT IGNORE INTO {p}_backlog (queue, claimed_us) VALUES ({1}, {now})",
    .parameters = "i",
};
static const struct weir_sql SQL_GIVE_UP = {
    .name = "give up backlog",
    .text = AT_ONCE "UPDATE {p}_backlog SET claimed_us = 0 WHERE queue = {1}",
    .parameters = "i",
};
static const struct weir_sql SQL_PUT = {
    .name = "publish backlog",
    .text = AT_ONCE "UPDATE {p}_backlog SET waiting = {2}, counted_us = {now},"
                    " claimed_us = {3} WHERE queue = {1}",
    .parameters = "iii",
};

static const struct weir_sql SQL_KEPT_FEW = {
    .name = "count few kept",
    .text = "SELECT " WEIR_BACKLOG_KEPT_LOG " + " WEIR_BACKLOG_KEPT(
        "SELECT pid FROM {p}_incoming ORDER BY era, id") " + " WEIR_BACKLOG_KEPT_ASIDE
                                                         " FROM "
                                                         "DUA"
                                                         "L" WEIR_BACKLOG_NOT_SUBSCRIBED,
    .parameters = "ii",
};

static enum weir_status read_number(struct weir_connection *connection, int64_t queue_id,
                                    struct weir_backlog *out, bool *young,
                                    struct weir_error *error)
{
    return weir_backlog_read_aged(connection, &SQL_READ, VALUES(weir_integer(queue_id)),
                                  out, young, error);
}

static enum weir_status claim(struct weir_connection *connection, int64_t queue_id,
                              int64_t age_us, struct weir_backlog_claim *out,
                              struct weir_error *error)
{
    int64_t changed = 0;
    enum weir_status status = weir_connection_execute(
        connection, &SQL_CLAIM, VALUES(weir_integer(queue_id), weir_integer(age_us)),
        &changed, error);

    if (status == WEIR_OK && changed == 0)
        status = weir_connection_execute(connection, &SQL_CLAIM_FIRST,
                                         VALUES(weir_integer(queue_id)), &changed, error);
    out->mine = changed > 0;
    return status;
}

static enum weir_status put(struct weir_connection *connection, int64_t queue_id,
                            int64_t waiting, const struct weir_backlog_claim *claimed,
                            struct weir_error *error)
{
    return weir_connection_execute(connection, &SQL_PUT,
                                   VALUES(weir_integer(queue_id), weir_integer(waiting),
                                          weir_integer(claimed->mark)),
                                   NULL, error);
}

const struct weir_backlog_ops weir_backlog_maria = {
    .read = read_number,
    .claim = claim,
    .put = put,
    .give_up = &SQL_GIVE_UP,
    .remove = &weir_backlog_sql_delete,
    .kept_few = &SQL_KEPT_FEW,
};
