/*
 * lease.c - leases on PostgreSQL.
 *
 * One statement each: PostgreSQL judges a row that it had to wait for by its newest
 * version. Many rows travel in arrays and are locked in the order of the key, as acks
 * lock them.
 */
#include "base/heap.h"
#include "base/text.h"
#include "outbox/columns.h"
#include "outbox/lease/lease_ops.h"
#include "outbox/postgres/engine.h"

/* A sub-select of its own is evaluated once per statement, not once per row. */
#define PG_INCARNATION "(SELECT " WEIR_INCARNATION_PG ")"
#define PG_TAKEABLE WEIR_LEASE_TAKEABLE(PG_INCARNATION)
#define PG_MARKS_FROM WEIR_LEASE_MARKS_FROM(PG_INCARNATION)

/*
 * By the primary key, in its order. A row that another process holds for the moment (it
 * takes the lease, or its last ack is under way) is skipped. Repeating takes others.
 */
static const struct weir_sql SQL_TAKE = {
    .name = "take leases",
    .text = "WITH takeable AS (SELECT subscription, pid FROM {p}_lease"
            " WHERE subscription = {1} AND pid <> ALL ({2}) AND " PG_TAKEABLE
            " ORDER BY pid LIMIT {3} FOR NO KEY UPDATE SKIP LOCKED)"
            " UPDATE {p}_lease l SET owner = {4}, epoch = epoch + 1,"
            " incarnation = " PG_INCARNATION ", until_us = {now} + {5},"
            " crashes = " WEIR_LEASE_CRASHES ", marks_from = " PG_MARKS_FROM
            " FROM takeable t WHERE l.subscription = t.subscription AND l.pid = t.pid"
            " RETURNING l.pid, l.epoch, l.crashes, l.marks_from, l.replay_to",
    .parameters = "iIiii",
};

/*
 * The rows of these keys and epochs that are still this owner's, locked in the order of
 * the primary key: without that order a renewal and an ack of the same process could
 * wait for each other. Each is looked up by the primary key, also when the planner
 * believes the table to be small: a sub-select that sorts or locks stays one.
 */
#define PG_OWN(more)                                                                     \
    "WITH own AS (SELECT a.n, l.subscription, l.pid FROM"                                \
    " (SELECT * FROM unnest({1}, {2}, {3}) WITH ORDINALITY"                              \
    " AS u (subscription, pid, epoch, n) ORDER BY subscription, pid) a"                  \
    " CROSS JOIN LATERAL (SELECT subscription, pid FROM {p}_lease k"                     \
    " WHERE k.subscription = a.subscription AND k.pid = a.pid"                           \
    " AND k.epoch = a.epoch AND k.owner = {4}" more " FOR NO KEY UPDATE) l) "
#define PG_OF_OWN " WHERE l.subscription = own.subscription AND l.pid = own.pid"

/* Repeating extends once more. */
static const struct weir_sql SQL_RENEW = {
    .name = "renew leases",
    .text = PG_OWN(" AND " WEIR_LEASE_ALIVE(PG_INCARNATION)) /* and now */
    "UPDATE {p}_lease l SET until_us = {now} + {5} FROM own" PG_OF_OWN " RETURNING own.n",
    .parameters = "IIIii",
};

/* Each looked up by the primary key; takes no lock. */
static const struct weir_sql SQL_CHECK = {
    .name = "check leases",
    .text = "SELECT a.n FROM unnest({1}, {2}, {3}) WITH ORDINALITY"
            " AS a (subscription, pid, epoch, n) JOIN {p}_lease l"
            " ON l.subscription = a.subscription AND l.pid = a.pid"
            " WHERE l.epoch = a.epoch AND l.owner = {4}"
            " AND " WEIR_LEASE_ALIVE(PG_INCARNATION),
    .parameters = "IIIi",
};

/* By the primary key; takes no lock. The setting lasts until the transaction ends, and
 * is only made when there is a row. */
static const struct weir_sql SQL_CONFIRM = {
    .name = "confirm lease",
    .text = "SELECT set_config('idle_in_transaction_session_timeout', {5} || 'ms', true)"
            " FROM {p}_lease WHERE subscription = {1} AND pid = {2} AND epoch = {3}"
            " AND owner = {4} AND " WEIR_LEASE_ALIVE(PG_INCARNATION),
    .parameters = "iiiit",
};

/*
 * Also when it has expired and no process has taken it yet: it ended well. Crashes stay:
 * a process that has not delivered the head cannot say that it is harmless. Repeating
 * finds nothing.
 */
static const struct weir_sql SQL_RELEASE = {
    .name = "release leases",
    .text =
        PG_OWN("") "UPDATE {p}_lease l SET " WEIR_LEASE_GIVEN_UP " FROM own" PG_OF_OWN,
    .parameters = "IIIi",
};
static const struct weir_sql SQL_END = {
    .name = "end leases",
    .text = PG_OWN("") "UPDATE {p}_lease l SET " WEIR_LEASE_RUN_OUT " FROM own" PG_OF_OWN,
    .parameters = "IIIi",
};

static enum weir_status query_take(struct weir_lease_taking *self,
                                   struct weir_connection *connection,
                                   const struct weir_value *except,
                                   struct weir_error *error)
{
    struct weir_rows rows;
    enum weir_status status = weir_connection_query(
        connection, &SQL_TAKE,
        VALUES(weir_integer(self->subscription),
               weir_array(WEIR_TYPE_INTEGER, except, self->except_count),
               weir_integer((int64_t)self->count), weir_integer(self->owner),
               weir_integer(self->duration_us)),
        &rows, error);

    while (status == WEIR_OK && (status = weir_rows_next(&rows, error)) == WEIR_OK) {
        if (self->taken < self->count)
            weir_lease_keep_taken(self, weir_rows_integer(&rows, 0), &rows, 1);
    }
    weir_rows_close(&rows);
    return status == WEIR_NO_ROW ? WEIR_OK : status;
}

static enum weir_status take(struct weir_lease_taking *self,
                             struct weir_connection *connection, struct weir_error *error)
{
    struct weir_columns except = {.heap = weir_connection_config(connection)->heap};
    enum weir_status status = WEIR_OK;

    if (self->except_count > 0)
        status = weir_columns_init(&except, except.heap, 1, self->except_count, error);
    if (status == WEIR_OK) {
        for (size_t i = 0; i < self->except_count; i++)
            weir_columns_set(&except, 0, i, weir_integer(self->except[i]));
        status = query_take(self, connection, except.cells, error);
    }
    weir_columns_fini(&except);
    return status;
}

enum own_column { SUBSCRIPTION, PARTITION, EPOCH, OWN_COLUMNS };

static enum weir_status list_leases(struct weir_columns *out,
                                    const struct weir_heap *heap,
                                    const struct weir_lease *leases, size_t count,
                                    struct weir_error *error)
{
    enum weir_status status = weir_columns_init(out, heap, OWN_COLUMNS, count, error);

    for (size_t i = 0; i < count && status == WEIR_OK; i++) {
        weir_columns_set(out, SUBSCRIPTION, i, weir_integer(leases[i].key.subscription));
        weir_columns_set(out, PARTITION, i, weir_integer(leases[i].key.pid));
        weir_columns_set(out, EPOCH, i, weir_integer(leases[i].epoch));
    }
    return status;
}

#define OWN_ARRAYS(table, count)                                                         \
    weir_columns_array((table), SUBSCRIPTION, WEIR_TYPE_INTEGER, 0, (count)),            \
        weir_columns_array((table), PARTITION, WEIR_TYPE_INTEGER, 0, (count)),           \
        weir_columns_array((table), EPOCH, WEIR_TYPE_INTEGER, 0, (count))

/* Run a statement that tells which of the leases are kept. */
static enum weir_status find_kept(struct weir_lease_renewal *self,
                                  struct weir_connection *connection,
                                  const struct weir_sql *sql,
                                  const struct weir_value *values, size_t value_count,
                                  struct weir_error *error)
{
    struct weir_rows rows;
    enum weir_status status =
        weir_connection_query(connection, sql, values, value_count, &rows, error);

    while (status == WEIR_OK && (status = weir_rows_next(&rows, error)) == WEIR_OK) {
        int64_t n = weir_rows_integer(&rows, 0); /* from 1 */

        if (n >= 1 && (size_t)n <= self->count)
            self->leases[n - 1].kept = true;
    }
    weir_rows_close(&rows);
    return status == WEIR_NO_ROW ? WEIR_OK : status;
}

static enum weir_status renew(struct weir_lease_renewal *self,
                              struct weir_connection *connection,
                              struct weir_error *error)
{
    struct weir_columns table;
    enum weir_status status =
        list_leases(&table, weir_connection_config(connection)->heap, self->leases,
                    self->count, error);

    if (status == WEIR_OK)
        status =
            find_kept(self, connection, &SQL_RENEW,
                      VALUES(OWN_ARRAYS(&table, self->count), weir_integer(self->owner),
                             weir_integer(self->duration_us)),
                      error);
    weir_columns_fini(&table);
    return status;
}

static enum weir_status check(struct weir_lease_renewal *self,
                              struct weir_connection *connection,
                              struct weir_error *error)
{
    struct weir_columns table;
    enum weir_status status =
        list_leases(&table, weir_connection_config(connection)->heap, self->leases,
                    self->count, error);

    if (status == WEIR_OK)
        status = find_kept(
            self, connection, &SQL_CHECK,
            VALUES(OWN_ARRAYS(&table, self->count), weir_integer(self->owner)), error);
    weir_columns_fini(&table);
    return status;
}

/* Rounded up, and within the type of the setting. */
static int64_t to_milliseconds(int64_t duration_us)
{
    int64_t milliseconds = duration_us / 1000 + (duration_us % 1000 > 0);

    return milliseconds < INT32_MAX ? milliseconds : INT32_MAX;
}

static enum weir_status confirm(struct weir_connection *connection, int64_t owner,
                                const struct weir_lease *lease, int64_t duration_us,
                                bool *ours, struct weir_error *error)
{
    char milliseconds[24];
    struct weir_rows rows;
    enum weir_status status;

    (void)weir_text_format(milliseconds, sizeof milliseconds, "%lld",
                           (long long)to_milliseconds(duration_us));
    status = weir_connection_query(connection, &SQL_CONFIRM,
                                   VALUES(weir_integer(lease->key.subscription),
                                          weir_integer(lease->key.pid),
                                          weir_integer(lease->epoch), weir_integer(owner),
                                          weir_text(weir_str(milliseconds))),
                                   &rows, error);
    if (status == WEIR_OK)
        status = weir_rows_next(&rows, error);
    *ours = status == WEIR_OK;
    weir_rows_close(&rows);
    return status == WEIR_NO_ROW ? WEIR_OK : status;
}

static enum weir_status release(struct weir_lease_giving *self,
                                struct weir_connection *connection,
                                struct weir_error *error)
{
    struct weir_columns table;
    enum weir_status status =
        list_leases(&table, weir_connection_config(connection)->heap, self->leases,
                    self->count, error);

    if (status == WEIR_OK)
        status = weir_connection_execute(
            connection, self->dead ? &SQL_END : &SQL_RELEASE,
            VALUES(OWN_ARRAYS(&table, self->count), weir_integer(self->owner)), NULL,
            error);
    weir_columns_fini(&table);
    return status;
}

const struct weir_lease_ops weir_lease_pg = {
    .take = take,
    .renew = renew,
    .check = check,
    .release = release,
    .confirm = confirm,
};
