/*
 * backlog.c - see backlog.h.
 */
#include "outbox/queue/backlog.h"

#include "base/fault_point.h"
#include "db/clock.h"
#include "db/db.h"
#include "outbox/outbox.h"

enum { SUBSCRIPTIONS_COUNTED = 64 };

/* ---- statements -------------------------------------------------------------------- */

/* All by the key. A claim is a time like a count. {2} is the time on SQLite, whose
 * connections may be an application's and have no clock of ours. */
static const struct weir_sql SQL_READ[] = {
    [WEIR_SQLITE] = {.name = "read backlog",
                     .text = "SELECT counted_us, waiting,"
                             " {2} - max(counted_us, claimed_us)"
                             " FROM {p}_backlog WHERE queue = {1}",
                     .parameters = "ii"},
    [WEIR_POSTGRESQL] = {.name = "read backlog",
                         .text = "SELECT coalesce(r.stamp, -1), r.waiting, r.whole"
                                 " FROM {p}_backlog_read({1}::integer) r",
                         .parameters = "i"},
    [WEIR_MARIADB] = {.name = "read backlog",
                      .text = "SELECT counted_us, waiting,"
                              " {now} - GREATEST(counted_us, claimed_us)"
                              " FROM {p}_backlog WHERE queue = {1}",
                      .parameters = "i"},
};

static const struct weir_sql SQL_CLAIM_PG = {
    .name = "claim backlog",
    .text = "SELECT c.mine, coalesce(c.mark, 0), coalesce(c.begun_s, 0)"
            " FROM {p}_backlog_claim({1}::integer, {2}) c",
    .parameters = "ii",
};
/* A transaction in SERIALIZABLE that has read the number keeps it locked. */
#define AT_ONCE "SET STATEMENT innodb_lock_wait_timeout = 0 FOR "
static const struct weir_sql SQL_CLAIM_MARIA = {
    .name = "claim backlog",
    .text =
        AT_ONCE "UPDATE {p}_backlog SET claimed_us = {now} WHERE queue = {1}"
                " AND {now} - GREATEST(counted_us, claimed_us) NOT BETWEEN 0 AND {2} - 1",
    .parameters = "ii",
};
static const struct weir_sql SQL_CLAIM_FIRST_MARIA = {
    .name = "claim backlog first",
    .text =
        AT_ONCE "INSERT IGNORE INTO {p}_backlog (queue, claimed_us) VALUES ({1}, {now})",
    .parameters = "i",
};

static const struct weir_sql SQL_GIVE_UP[] = {
    [WEIR_POSTGRESQL] = {.name = "give up backlog",
                         .text = "SELECT {p}_backlog_put({1}::integer, NULL, NULL, NULL)",
                         .parameters = "i"},
    [WEIR_MARIADB] = {.name = "give up backlog",
                      .text = AT_ONCE
                      "UPDATE {p}_backlog SET claimed_us = 0 WHERE queue = {1}",
                      .parameters = "i"},
};

/* {3}: the time on SQLite, the mark on PostgreSQL. */
static const struct weir_sql SQL_PUT[] = {
    [WEIR_SQLITE] = {.name = "publish backlog",
                     .text = "INSERT INTO {p}_backlog (queue, waiting, counted_us)"
                             " VALUES ({1}, {2}, {3}) ON CONFLICT (queue) DO UPDATE"
                             " SET waiting = {2}, counted_us = {3}",
                     .parameters = "iii"},
    [WEIR_POSTGRESQL] = {.name = "publish backlog",
                         .text = "SELECT {p}_backlog_put({1}::integer, {2}, {3}, {4})",
                         .parameters = "iiii"},
    [WEIR_MARIADB] = {.name = "publish backlog",
                      .text = AT_ONCE
                      "UPDATE {p}_backlog SET waiting = {2}, counted_us = {now},"
                      " claimed_us = {3} WHERE queue = {1}",
                      .parameters = "iii"},
};

static const struct weir_sql SQL_MAKE_PG = {
    .name = "make backlog",
    .text = "SELECT {p}_backlog_make({1}::integer)",
    .parameters = "i",
};
static const struct weir_sql SQL_DROP_PG = {
    .name = "drop backlog",
    .text = "SELECT {p}_backlog_drop({1}::integer)",
    .parameters = "i",
};
static const struct weir_sql SQL_DELETE = {
    .name = "remove backlog",
    .text = "DELETE FROM {p}_backlog WHERE queue = {1}",
    .parameters = "i",
};

/* What a queue without subscriptions keeps, among the first {2} rows of the log. */
#define OF_QUEUE "pid BETWEEN {1} * 64 AND {1} * 64 + 63"
#define KEPT(from) "(SELECT count(*) FROM (" from " LIMIT {2}) k WHERE k." OF_QUEUE ")"
#define KEPT_LOG KEPT("SELECT pid FROM {p}_log ORDER BY id")
#define KEPT_INCOMING KEPT("SELECT pid FROM {p}_incoming ORDER BY era, id")
#define KEPT_ASIDE "(SELECT count(*) FROM {p}_aside WHERE " OF_QUEUE ")"
#define NOT_SUBSCRIBED                                                                   \
    " WHERE NOT EXISTS (SELECT 1 FROM {p}_subscription WHERE queue = {1})"
static const struct weir_sql SQL_KEPT_FEW[] = {
    [WEIR_SQLITE] = {.name = "count few kept",
                     .text = "SELECT " KEPT_LOG " + " KEPT_ASIDE NOT_SUBSCRIBED,
                     .parameters = "ii"},
    [WEIR_MARIADB] = {.name = "count few kept",
                      .text = "SELECT " KEPT_LOG " + " KEPT_INCOMING " + " KEPT_ASIDE
                              " FROM DUAL" NOT_SUBSCRIBED,
                      .parameters = "ii"},
};

/* ---- the number -------------------------------------------------------------------- */

/* False: there is none, or it is old. */
static enum weir_status read_number(struct weir_connection *connection, int64_t queue_id,
                                    struct weir_backlog *out, bool *young,
                                    struct weir_error *error)
{
    enum weir_engine engine = weir_connection_engine(connection);
    struct weir_value values[2] = {weir_integer(queue_id),
                                   weir_integer(weir_clock_wall_us())};
    struct weir_rows rows;
    enum weir_status status =
        weir_connection_query(connection, &SQL_READ[engine], values,
                              engine == WEIR_SQLITE ? 2 : 1, &rows, error);

    *young = false;
    if (status == WEIR_OK)
        status = weir_rows_next(&rows, error);
    if (status == WEIR_OK) {
        out->stamp = weir_rows_integer(&rows, 0);
        out->waiting = weir_rows_integer(&rows, 1);
        if (engine == WEIR_POSTGRESQL) {
            out->whole = weir_rows_boolean(&rows, 2);
            *young = true;
        } else {
            int64_t age_us = weir_rows_integer(&rows, 2);

            out->whole = true;
            *young = age_us >= 0 && age_us < WEIR_BACKLOG_AGE_US;
        }
    }
    weir_rows_close(&rows);
    return status == WEIR_NO_ROW ? WEIR_OK : status;
}

/* ---- counting a few ---------------------------------------------------------------- */

/* What waits for each subscription. One that comes after SUBSCRIPTIONS_COUNTED others
 * is not counted: the limit is kept about. */
struct tally {
    int64_t subscriptions[SUBSCRIPTIONS_COUNTED];
    int64_t waiting[SUBSCRIPTIONS_COUNTED];
    size_t count;
};

static void add_lag(void *state, const struct weir_lag *lag)
{
    struct tally *self = state;
    size_t i = 0;

    while (i < self->count && self->subscriptions[i] != lag->subscription)
        i++;
    if (i == SUBSCRIPTIONS_COUNTED)
        return;
    if (i == self->count) {
        self->subscriptions[self->count] = lag->subscription;
        self->waiting[self->count++] = 0;
    }
    self->waiting[i] += lag->waiting;
}

/* For the one that is furthest behind. */
static int64_t most_waiting(const struct tally *self)
{
    int64_t most = 0;

    for (size_t i = 0; i < self->count; i++) {
        if (self->waiting[i] > most)
            most = self->waiting[i];
    }
    return most;
}

/* On the connection of a producer: a bounded number of rows, for this process alone. */
static enum weir_status count_few(struct weir_outbox *outbox,
                                  struct weir_connection *connection,
                                  const struct weir_queue_row *row, int64_t *out,
                                  struct weir_error *error)
{
    struct weir_lag_question question = {.queue_id = row->id,
                                         .look_max = WEIR_LAG_LOOK_FEW};
    struct tally tally = {.count = 0};
    int64_t kept = 0;
    enum weir_status status =
        outbox->log.ops->lag(&outbox->log, connection, &question, add_lag, &tally, error);

    *out = most_waiting(&tally);
    if (status != WEIR_OK || *out > 0 || row->unread == WEIR_UNREAD_DROP)
        return status;
    status = weir_connection_query_integer(
        connection, &SQL_KEPT_FEW[outbox->log.ops->engine],
        VALUES(weir_integer(row->id), weir_integer(WEIR_LAG_LOOK_FEW)), &kept, error);
    *out = kept;
    return status == WEIR_NO_ROW ? WEIR_OK : status;
}

/* ---- publishing -------------------------------------------------------------------- */

/* On PostgreSQL with what put() needs: where and when the count began
 * (postgres/backlog.c). */
struct claim {
    bool mine;
    int64_t mark;
    int64_t begun_s;
};

static enum weir_status claim_pg(struct weir_connection *connection, int64_t queue_id,
                                 int64_t age_us, struct claim *out,
                                 struct weir_error *error)
{
    struct weir_rows rows;
    enum weir_status status = weir_connection_query(
        connection, &SQL_CLAIM_PG,
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

static enum weir_status claim_maria(struct weir_connection *connection, int64_t queue_id,
                                    int64_t age_us, bool *mine, struct weir_error *error)
{
    int64_t changed = 0;
    enum weir_status status = weir_connection_execute(
        connection, &SQL_CLAIM_MARIA,
        VALUES(weir_integer(queue_id), weir_integer(age_us)), &changed, error);

    if (status == WEIR_OK && changed == 0)
        status = weir_connection_execute(connection, &SQL_CLAIM_FIRST_MARIA,
                                         VALUES(weir_integer(queue_id)), &changed, error);
    *mine = changed > 0;
    return status;
}

/* One writer at a time: a claim would be a commit more, and counting twice does no
 * harm. */
static enum weir_status claim_sqlite(struct weir_connection *connection, int64_t queue_id,
                                     int64_t age_us, bool *mine, struct weir_error *error)
{
    struct weir_backlog number = {.stamp = 0};
    int64_t now_us = weir_clock_wall_us();
    bool young;
    enum weir_status status = read_number(connection, queue_id, &number, &young, error);

    *mine = now_us - number.stamp < 0 || now_us - number.stamp >= age_us;
    return status;
}

static enum weir_status claim(struct weir_connection *connection, int64_t queue_id,
                              int64_t age_us, struct claim *out, struct weir_error *error)
{
    switch (weir_connection_engine(connection)) {
    case WEIR_POSTGRESQL:
        return claim_pg(connection, queue_id, age_us, out, error);
    case WEIR_MARIADB:
        return claim_maria(connection, queue_id, age_us, &out->mine, error);
    case WEIR_SQLITE:
        break;
    }
    return claim_sqlite(connection, queue_id, age_us, &out->mine, error);
}

static enum weir_status put(struct weir_connection *connection, int64_t queue_id,
                            int64_t waiting, const struct claim *claim,
                            struct weir_error *error)
{
    enum weir_engine engine = weir_connection_engine(connection);
    struct weir_value values[4] = {
        weir_integer(queue_id), weir_integer(waiting),
        weir_integer(engine == WEIR_SQLITE ? weir_clock_wall_us() : claim->mark),
        weir_integer(claim->begun_s)};

    return weir_connection_execute(connection, &SQL_PUT[engine], values,
                                   engine == WEIR_POSTGRESQL ? 4 : 3, NULL, error);
}

/* A count that fails again and again must not keep an old number young. */
static void give_up(struct weir_connection *connection, int64_t queue_id)
{
    enum weir_engine engine = weir_connection_engine(connection);

    if (engine != WEIR_SQLITE)
        (void)!weir_connection_execute(connection, &SQL_GIVE_UP[engine],
                                       VALUES(weir_integer(queue_id)), NULL, NULL);
}

enum weir_status weir_backlog_publish(struct weir_outbox *outbox,
                                      struct weir_connection *connection,
                                      const char *queue, int64_t queue_id, int64_t age_us,
                                      bool *mine, struct weir_error *error)
{
    struct claim claimed = {.mine = false};
    int64_t waiting = 0;
    enum weir_status status = claim(connection, queue_id, age_us, &claimed, error);

    *mine = claimed.mine;
    if (status != WEIR_OK || !*mine)
        return status == WEIR_LOCKED ? WEIR_OK : status;
    (void)WEIR_POINT(outbox->points, "backlog.claimed");
    status = weir_outbox_count_waiting(outbox, connection, queue, &waiting, error);
    if (status == WEIR_OK)
        status = put(connection, queue_id, waiting, &claimed, error);
    if (status != WEIR_OK)
        give_up(connection, queue_id);
    if (status == WEIR_LOCKED) {
        *mine = false;
        status = WEIR_OK;
    }
    return status;
}

/* ---- producers --------------------------------------------------------------------- */

/*
 * On another connection. On SQLite nothing is published while the producer's
 * transaction may have the write lock. Whatever goes wrong is reported as false: there
 * are other ways.
 */
static bool count_apart(struct weir_outbox *outbox, struct weir_connection *theirs,
                        const char *queue, int64_t queue_id, struct weir_backlog *out)
{
    bool publishes = outbox->log.ops->engine != WEIR_SQLITE ||
                     weir_connection_transaction(theirs) == WEIR_TRANSACTION_NONE;
    struct weir_connection *own = NULL;
    bool done = false;
    bool young;
    enum weir_status status = weir_outbox_connect(outbox, &own, NULL);

    if (status == WEIR_OK && !publishes) {
        status = weir_outbox_count_waiting(outbox, own, queue, &out->waiting, NULL);
        done = true;
    } else if (status == WEIR_OK) {
        status = weir_backlog_publish(outbox, own, queue, queue_id, WEIR_BACKLOG_AGE_US,
                                      &done, NULL);
    }
    if (status == WEIR_OK && publishes) { /* its stamp; or another process counts */
        status = read_number(own, queue_id, out, &young, NULL);
        done = young; /* else it is locked */
    }
    weir_db_release(outbox->db, own);
    return status == WEIR_OK && done;
}

enum weir_status weir_backlog_read(struct weir_outbox *outbox,
                                   struct weir_connection *connection, const char *queue,
                                   const struct weir_queue_row *row,
                                   struct weir_backlog *out, struct weir_error *error)
{
    bool young = false;
    enum weir_status status;

    *out = (struct weir_backlog){.whole = true};
    status = read_number(connection, row->id, out, &young, error);
    if (status != WEIR_OK || young ||
        count_apart(outbox, connection, queue, row->id, out))
        return status;
    out->stamp = weir_clock_wall_us();
    return count_few(outbox, connection, row, &out->waiting, error);
}

/* ---- life -------------------------------------------------------------------------- */

enum weir_status weir_backlog_prepare(struct weir_connection *connection,
                                      int64_t queue_id, struct weir_error *error)
{
    if (weir_connection_engine(connection) != WEIR_POSTGRESQL)
        return WEIR_OK;
    return weir_connection_execute(connection, &SQL_MAKE_PG,
                                   VALUES(weir_integer(queue_id)), NULL, error);
}

enum weir_status weir_backlog_remove(struct weir_connection *connection, int64_t queue_id,
                                     struct weir_error *error)
{
    const struct weir_sql *sql = weir_connection_engine(connection) == WEIR_POSTGRESQL
                                     ? &SQL_DROP_PG
                                     : &SQL_DELETE;

    return weir_connection_execute(connection, sql, VALUES(weir_integer(queue_id)), NULL,
                                   error);
}
