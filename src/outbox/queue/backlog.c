/*
 * backlog.c - see backlog.h.
 */
#include "outbox/queue/backlog.h"

#include "base/fault_point.h"
#include "db/clock.h"
#include "db/db.h"
#include "db/query.h"
#include "outbox/outbox.h"
#include "outbox/queue/backlog_ops.h"

enum { SUBSCRIPTIONS_COUNTED = 64 };

const struct weir_sql weir_backlog_sql_delete = {
    .name = "remove backlog",
    .text = "DELETE FROM {p}_backlog WHERE queue = {1}",
    .parameters = "i",
};

static const struct weir_backlog_ops *ops_of(struct weir_connection *connection)
{
    return weir_outbox_engine_of(connection)->backlog;
}

struct aged_row {
    int64_t stamp;
    int64_t waiting;
    int64_t age_us;
};

static const struct weir_column AGED[] = {
    COLUMN(struct aged_row, stamp, INTEGER),
    COLUMN(struct aged_row, waiting, INTEGER),
    COLUMN(struct aged_row, age_us, INTEGER),
};

enum weir_status weir_backlog_read_aged(struct weir_connection *connection,
                                        const struct weir_sql *sql,
                                        const struct weir_value *values,
                                        size_t value_count, struct weir_backlog *out,
                                        bool *young, struct weir_error *error)
{
    struct aged_row row;
    enum weir_status status = weir_query_find(connection, sql, values, value_count,
                                              INTO(AGED, &row), young, error);

    if (!*young)
        return status;
    *out = (struct weir_backlog){row.stamp, row.waiting, .whole = true};
    *young = row.age_us >= 0 && row.age_us < WEIR_BACKLOG_AGE_US;
    return status;
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
        connection, outbox->engine->backlog->kept_few,
        VALUES(weir_integer(row->id), weir_integer(WEIR_LAG_LOOK_FEW)), &kept, error);
    *out = kept;
    return status == WEIR_NO_ROW ? WEIR_OK : status;
}

/* ---- publishing -------------------------------------------------------------------- */

/* A count that fails again and again must not keep an old number young. */
static void give_up(struct weir_connection *connection, int64_t queue_id)
{
    const struct weir_sql *sql = ops_of(connection)->give_up;

    if (sql != NULL)
        (void)!weir_connection_execute(connection, sql, VALUES(weir_integer(queue_id)),
                                       NULL, NULL);
}

enum weir_status weir_backlog_publish(struct weir_outbox *outbox,
                                      struct weir_connection *connection,
                                      const char *queue, int64_t queue_id, int64_t age_us,
                                      bool *mine, struct weir_error *error)
{
    const struct weir_backlog_ops *ops = ops_of(connection);
    struct weir_backlog_claim claimed = {.mine = false};
    int64_t waiting = 0;
    enum weir_status status = ops->claim(connection, queue_id, age_us, &claimed, error);

    *mine = claimed.mine;
    if (status != WEIR_OK || !*mine)
        return status == WEIR_LOCKED ? WEIR_OK : status;
    (void)WEIR_POINT(outbox->points, "backlog.claimed");
    status = weir_outbox_count_waiting(outbox, connection, queue, &waiting, error);
    if (status == WEIR_OK)
        status = ops->put(connection, queue_id, waiting, &claimed, error);
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
 * On another connection. With one writer nothing is published while the producer's
 * transaction may have the write lock. False: it has failed, and there are
 * other ways.
 */
static bool count_apart(struct weir_outbox *outbox, struct weir_connection *theirs,
                        const char *queue, int64_t queue_id, struct weir_backlog *out)
{
    bool publishes = !weir_connection_traits(theirs)->one_writer ||
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
        status = ops_of(own)->read(own, queue_id, out, &young, NULL);
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
    status = ops_of(connection)->read(connection, row->id, out, &young, error);
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
    const struct weir_sql *sql = ops_of(connection)->prepare;

    if (sql == NULL)
        return WEIR_OK;
    return weir_connection_execute(connection, sql, VALUES(weir_integer(queue_id)), NULL,
                                   error);
}

enum weir_status weir_backlog_remove(struct weir_connection *connection, int64_t queue_id,
                                     struct weir_error *error)
{
    return weir_connection_execute(connection, ops_of(connection)->remove,
                                   VALUES(weir_integer(queue_id)), NULL, error);
}
