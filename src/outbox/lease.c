/*
 * lease.c - see lease.h.
 *
 * Whether a lease may be taken, renewed or released is decided by its own row alone, so one
 * statement is enough: PostgreSQL judges a row that it had to wait for by its newest version.
 * (A position is not: ack.c.)
 *
 * On PostgreSQL many rows travel in arrays and are locked in the order of the key, as acks lock
 * them. On SQLite there is one writer at a time, and a loop over a statement costs no round trip.
 */
#include "outbox/lease.h"

#include "base/heap.h"
#include "base/text.h"
#include "outbox/columns.h"
#include "outbox/once.h"
#include "weir/message.h"

/* Not held by anybody, whatever the row says of its owner. */
#define TAKEABLE(incarnation)                                                            \
    "(owner IS NULL OR until_us <= {now} OR incarnation <> " incarnation ")"

/* An owner is there that did not release: one more. Stays within the column. */
#define CRASHES                                                                          \
    "CASE WHEN owner IS NULL OR crashes = 2147483647 THEN crashes ELSE crashes + 1 END"

/* A sub-select of its own is evaluated once per statement, not once per row. */
#define PG_INCARNATION "(SELECT " WEIR_INCARNATION_PG ")"

/*
 * By the primary key, in its order. A row that somebody else holds for the moment (who takes it,
 * or whose last ack is under way) is passed over. Repeating takes others.
 */
static const struct weir_sql SQL_TAKE_PG = {
    .name = "take leases",
    .text =
        "WITH takeable AS (SELECT subscription, partition FROM {p}_lease"
        " WHERE subscription = {1} AND partition <> ALL ({2})"
        " AND " TAKEABLE(
            PG_INCARNATION) " ORDER BY partition LIMIT {3}"
                            " FOR NO KEY UPDATE SKIP LOCKED)"
                            " UPDATE {p}_lease l SET owner = {4}, epoch = epoch + 1,"
                            " incarnation = " PG_INCARNATION ", until_us = {now} + {5},"
                            " crashes = " CRASHES " FROM takeable t"
                            " WHERE l.subscription = t.subscription AND l.partition = "
                            "t.partition"
                            " RETURNING l.partition, l.epoch, l.crashes",
    .parameters = "iIiii",
};

/* By the primary key; inside the transaction that takes it. */
static const struct weir_sql SQL_NEXT_TAKEABLE_SQLITE = {
    .name = "next takeable lease",
    .text = "SELECT partition FROM {p}_lease WHERE subscription = {1} AND partition > {2}"
            " AND " TAKEABLE(WEIR_INCARNATION_SQLITE) " ORDER BY partition LIMIT 1",
    .parameters = "ii",
};
static const struct weir_sql SQL_TAKE_SQLITE = {
    .name = "take lease",
    .text = "UPDATE {p}_lease SET owner = {3}, epoch = epoch + 1,"
            " incarnation = " WEIR_INCARNATION_SQLITE ", until_us = {now} + {4},"
            " crashes = " CRASHES " WHERE subscription = {1} AND partition = {2}"
            " RETURNING epoch, crashes",
    .parameters = "iiii",
};

/*
 * The rows of these keys and epochs that are still this owner's, locked in the order of the
 * primary key: without that order a renewal and an ack of the same process could wait for each
 * other. Each is looked up by the primary key, also when the planner believes the table to be
 * small: a sub-select that sorts or locks stays one.
 */
#define PG_OWN(more)                                                                     \
    "WITH own AS (SELECT a.n, l.subscription, l.partition FROM"                          \
    " (SELECT * FROM unnest({1}, {2}, {3}) WITH ORDINALITY"                              \
    " AS u (subscription, partition, epoch, n) ORDER BY subscription, partition) a"      \
    " CROSS JOIN LATERAL (SELECT subscription, partition FROM {p}_lease k"               \
    " WHERE k.subscription = a.subscription AND k.partition = a.partition"               \
    " AND k.epoch = a.epoch AND k.owner = {4}" more " FOR NO KEY UPDATE) l) "
#define PG_OF_OWN                                                                        \
    " WHERE l.subscription = own.subscription AND l.partition = own.partition"

#define STILL_OURS " AND until_us > {now} AND incarnation = "

/* Repeating extends once more. */
static const struct weir_sql SQL_RENEW_PG = {
    .name = "renew leases",
    .text = PG_OWN(STILL_OURS PG_INCARNATION) /* and now */
    "UPDATE {p}_lease l SET until_us = {now} + {5} FROM own" PG_OF_OWN " RETURNING own.n",
    .parameters = "IIIii",
};
static const struct weir_sql SQL_RENEW_SQLITE = {
    .name = "renew lease",
    .text =
        "UPDATE {p}_lease SET until_us = {now} + {5}"
        " WHERE subscription = {1} AND partition = {2} AND epoch = {3} AND owner = {4}"
        " AND until_us > {now} AND incarnation = " WEIR_INCARNATION_SQLITE,
    .parameters = "iiiii",
};

/* By the primary key; takes no lock. The setting lasts until the transaction ends, and is only
 * made when there is a row. */
static const struct weir_sql SQL_CONFIRM_PG = {
    .name = "confirm lease",
    .text = "SELECT set_config('idle_in_transaction_session_timeout', {5} || 'ms', true)"
            " FROM {p}_lease WHERE subscription = {1} AND partition = {2} AND epoch = {3}"
            " AND owner = {4}" STILL_OURS PG_INCARNATION,
    .parameters = "iiiit",
};

/*
 * Also when it has run out and nobody has taken it yet: it ended well. Crashes stay: whoever has
 * not delivered the head cannot say that it is harmless. Repeating finds nothing.
 */
static const struct weir_sql SQL_RELEASE_PG = {
    .name = "release leases",
    .text = PG_OWN("") "UPDATE {p}_lease l SET owner = NULL, until_us = 0"
                       " FROM own" PG_OF_OWN,
    .parameters = "IIIi",
};
static const struct weir_sql SQL_RELEASE_SQLITE = {
    .name = "release lease",
    .text =
        "UPDATE {p}_lease SET owner = NULL, until_us = 0"
        " WHERE subscription = {1} AND partition = {2} AND epoch = {3} AND owner = {4}",
    .parameters = "iiii",
};

/* By the primary key: one subscription has few partitions. */
static const struct weir_sql SQL_LIST = {
    .name = "list leases",
    .text = "SELECT partition, epoch, crashes FROM {p}_lease"
            " WHERE subscription = {1} AND owner = {2} ORDER BY partition LIMIT {3}",
    .parameters = "iii",
};

/* By the primary key. Repeating finds nothing. */
static const struct weir_sql SQL_FORGIVE = {
    .name = "forgive crashes",
    .text =
        "UPDATE {p}_lease SET crashes = 0 WHERE subscription = {1} AND partition = {2}"
        " AND epoch = {3} AND owner = {4} AND crashes <> 0",
    .parameters = "iiii",
};

static const struct weir_sql SQL_BEGIN_PG = {
    .name = "begin leases",
    .text =
        "INSERT INTO {p}_lease (subscription, partition) SELECT * FROM unnest({1}, {2})",
    .parameters = "II",
};
static const struct weir_sql SQL_BEGIN_SQLITE = {
    .name = "begin lease",
    .text = "INSERT INTO {p}_lease (subscription, partition) VALUES ({1}, {2})",
    .parameters = "ii",
};

static bool on_sqlite(struct weir_connection *connection)
{
    return weir_connection_link(connection)->driver->engine == WEIR_SQLITE;
}

static const struct weir_heap *heap_of(struct weir_connection *connection)
{
    return weir_connection_config(connection)->heap;
}

/* ---- take --------------------------------------------------------------------------------- */

struct taking {
    int64_t owner;
    int64_t subscription;
    int64_t duration_us;
    const int64_t *except;
    size_t except_count;
    struct weir_lease *out;
    size_t count;
    size_t taken;
};

/* Read one lease: its epoch and crashes are in the columns from `column` on. */
static void keep_taken(struct taking *self, int64_t pid, struct weir_rows *rows,
                       size_t column)
{
    self->out[self->taken++] = (struct weir_lease){
        .key = {self->subscription, pid},
        .epoch = weir_rows_integer(rows, column),
        .crashes = (uint32_t)weir_rows_integer(rows, column + 1),
        .kept = true,
    };
}

static enum weir_status query_take(struct taking *self,
                                   struct weir_connection *connection,
                                   const struct weir_value *except,
                                   struct weir_error *error)
{
    struct weir_rows rows;
    enum weir_status status = weir_connection_query(
        connection, &SQL_TAKE_PG,
        VALUES(weir_integer(self->subscription),
               weir_array(WEIR_TYPE_INTEGER, except, self->except_count),
               weir_integer((int64_t)self->count), weir_integer(self->owner),
               weir_integer(self->duration_us)),
        &rows, error);

    while (status == WEIR_OK && (status = weir_rows_next(&rows, error)) == WEIR_OK) {
        if (self->taken < self->count)
            keep_taken(self, weir_rows_integer(&rows, 0), &rows, 1);
    }
    weir_rows_close(&rows);
    return status == WEIR_NO_ROW ? WEIR_OK : status;
}

static enum weir_status take_pg(struct taking *self, struct weir_connection *connection,
                                struct weir_error *error)
{
    struct weir_columns except = {.heap = heap_of(connection)};
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

static bool is_excepted(const struct taking *self, int64_t pid)
{
    for (size_t i = 0; i < self->except_count; i++) {
        if (self->except[i] == pid)
            return true;
    }
    return false;
}

static enum weir_status take_one(struct taking *self, struct weir_connection *connection,
                                 int64_t pid, struct weir_error *error)
{
    struct weir_rows rows;
    enum weir_status status = weir_connection_query(
        connection, &SQL_TAKE_SQLITE,
        VALUES(weir_integer(self->subscription), weir_integer(pid),
               weir_integer(self->owner), weir_integer(self->duration_us)),
        &rows, error);

    while (status == WEIR_OK && (status = weir_rows_next(&rows, error)) == WEIR_OK)
        keep_taken(self, pid, &rows, 0);
    weir_rows_close(&rows);
    return status == WEIR_NO_ROW ? WEIR_OK : status;
}

static enum weir_status take_sqlite(struct weir_connection *connection, void *argument,
                                    struct weir_error *error)
{
    struct taking *self = argument;
    enum weir_status status = WEIR_OK;
    int64_t pid = -1;

    while (status == WEIR_OK && self->taken < self->count) {
        status = weir_connection_query_integer(
            connection, &SQL_NEXT_TAKEABLE_SQLITE,
            VALUES(weir_integer(self->subscription), weir_integer(pid)), &pid, error);
        if (status == WEIR_OK && !is_excepted(self, pid))
            status = take_one(self, connection, pid, error);
    }
    return status == WEIR_NO_ROW ? WEIR_OK : status;
}

enum weir_status weir_lease_take(struct weir_connection *connection, int64_t owner,
                                 int64_t subscription, int64_t duration_us,
                                 const int64_t *except, size_t except_count,
                                 struct weir_lease *out, size_t count, size_t *taken,
                                 struct weir_error *error)
{
    struct taking taking = {
        .owner = owner,
        .subscription = subscription,
        .duration_us = duration_us,
        .except = except,
        .except_count = except_count,
        .out = out,
        .count = count,
    };
    enum weir_status status = WEIR_OK;

    *taken = 0;
    if (count == 0)
        return WEIR_OK;
    if (on_sqlite(connection))
        status = weir_once(connection, take_sqlite, &taking, error);
    else
        status = take_pg(&taking, connection, error);
    if (status == WEIR_OK)
        *taken = taking.taken;
    return status;
}

/* ---- renew and release -------------------------------------------------------------------- */

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

struct renewal {
    int64_t owner;
    int64_t duration_us;
    struct weir_lease *leases;
    size_t count;
};

static enum weir_status renew_pg(struct renewal *self, struct weir_connection *connection,
                                 struct weir_error *error)
{
    struct weir_columns table;
    struct weir_rows rows = {.connection = NULL};
    enum weir_status status =
        list_leases(&table, heap_of(connection), self->leases, self->count, error);

    if (status == WEIR_OK)
        status = weir_connection_query(connection, &SQL_RENEW_PG,
                                       VALUES(OWN_ARRAYS(&table, self->count),
                                              weir_integer(self->owner),
                                              weir_integer(self->duration_us)),
                                       &rows, error);
    while (status == WEIR_OK && (status = weir_rows_next(&rows, error)) == WEIR_OK) {
        int64_t n = weir_rows_integer(&rows, 0); /* from 1 */

        if (n >= 1 && (size_t)n <= self->count)
            self->leases[n - 1].kept = true;
    }
    weir_rows_close(&rows);
    weir_columns_fini(&table);
    return status == WEIR_NO_ROW ? WEIR_OK : status;
}

static enum weir_status renew_sqlite(struct weir_connection *connection, void *argument,
                                     struct weir_error *error)
{
    struct renewal *self = argument;
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; i < self->count && status == WEIR_OK; i++) {
        struct weir_lease *lease = &self->leases[i];
        int64_t changed = 0;

        status = weir_connection_execute(
            connection, &SQL_RENEW_SQLITE,
            VALUES(weir_integer(lease->key.subscription), weir_integer(lease->key.pid),
                   weir_integer(lease->epoch), weir_integer(self->owner),
                   weir_integer(self->duration_us)),
            &changed, error);
        lease->kept = changed == 1;
    }
    return status;
}

/* Rounded up, and within the type of the setting. */
static int64_t to_milliseconds(int64_t duration_us)
{
    int64_t milliseconds = duration_us / 1000 + (duration_us % 1000 > 0);

    return milliseconds < INT32_MAX ? milliseconds : INT32_MAX;
}

static enum weir_status confirm_pg(struct weir_connection *connection, int64_t owner,
                                   const struct weir_lease *lease, int64_t duration_us,
                                   bool *ours, struct weir_error *error)
{
    char milliseconds[24];
    struct weir_rows rows;
    enum weir_status status;

    (void)weir_text_format(milliseconds, sizeof milliseconds, "%lld",
                           (long long)to_milliseconds(duration_us));
    status = weir_connection_query(connection, &SQL_CONFIRM_PG,
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

enum weir_status weir_lease_confirm(struct weir_connection *connection, int64_t owner,
                                    const struct weir_lease *lease, int64_t duration_us,
                                    bool *ours, struct weir_error *error)
{
    struct weir_lease copy = *lease;
    struct renewal renewal = {owner, duration_us, &copy, 1};
    enum weir_status status;

    *ours = false;
    if (!on_sqlite(connection))
        return confirm_pg(connection, owner, lease, duration_us, ours, error);
    status = renew_sqlite(connection, &renewal, error);
    *ours = status == WEIR_OK && copy.kept;
    return status;
}

static void mark_none_kept(struct weir_lease *leases, size_t count)
{
    for (size_t i = 0; i < count; i++)
        leases[i].kept = false;
}

enum weir_status weir_lease_renew(struct weir_connection *connection, int64_t owner,
                                  int64_t duration_us, struct weir_lease *leases,
                                  size_t count, struct weir_error *error)
{
    struct renewal renewal = {owner, duration_us, leases, count};
    enum weir_status status;

    mark_none_kept(leases, count);
    if (count == 0)
        return WEIR_OK;
    if (on_sqlite(connection))
        status = weir_once(connection, renew_sqlite, &renewal, error);
    else
        status = renew_pg(&renewal, connection, error);
    if (status != WEIR_OK)
        mark_none_kept(leases, count);
    return status;
}

struct giving {
    int64_t owner;
    const struct weir_lease *leases;
    size_t count;
};

static enum weir_status release_pg(struct giving *self,
                                   struct weir_connection *connection,
                                   struct weir_error *error)
{
    struct weir_columns table;
    enum weir_status status =
        list_leases(&table, heap_of(connection), self->leases, self->count, error);

    if (status == WEIR_OK)
        status = weir_connection_execute(
            connection, &SQL_RELEASE_PG,
            VALUES(OWN_ARRAYS(&table, self->count), weir_integer(self->owner)), NULL,
            error);
    weir_columns_fini(&table);
    return status;
}

static enum weir_status execute_on(struct weir_connection *connection,
                                   const struct weir_sql *sql, int64_t owner,
                                   const struct weir_lease *lease,
                                   struct weir_error *error)
{
    return weir_connection_execute(
        connection, sql,
        VALUES(weir_integer(lease->key.subscription), weir_integer(lease->key.pid),
               weir_integer(lease->epoch), weir_integer(owner)),
        NULL, error);
}

static enum weir_status release_sqlite(struct weir_connection *connection, void *argument,
                                       struct weir_error *error)
{
    struct giving *self = argument;
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; i < self->count && status == WEIR_OK; i++)
        status = execute_on(connection, &SQL_RELEASE_SQLITE, self->owner,
                            &self->leases[i], error);
    return status;
}

enum weir_status weir_lease_release(struct weir_connection *connection, int64_t owner,
                                    const struct weir_lease *leases, size_t count,
                                    struct weir_error *error)
{
    struct giving giving = {owner, leases, count};

    if (count == 0)
        return WEIR_OK;
    if (on_sqlite(connection))
        return weir_once(connection, release_sqlite, &giving, error);
    return release_pg(&giving, connection, error);
}

enum weir_status weir_lease_forgive(struct weir_connection *connection, int64_t owner,
                                    const struct weir_lease *lease,
                                    struct weir_error *error)
{
    return execute_on(connection, &SQL_FORGIVE, owner, lease, error);
}

/* ---- begin -------------------------------------------------------------------------------- */

enum weir_status weir_lease_begin(struct weir_connection *connection,
                                  const struct weir_lease_key *keys, size_t count,
                                  struct weir_error *error)
{
    struct weir_value values[2 * WEIR_PARTITIONS_MAX];
    enum weir_status status = WEIR_OK;

    for (size_t done = 0; done < count && status == WEIR_OK;) {
        size_t n = 0;

        for (; n < WEIR_PARTITIONS_MAX && done < count; n++, done++) {
            values[2 * n] = weir_integer(keys[done].subscription);
            values[2 * n + 1] = weir_integer(keys[done].pid);
        }
        status = weir_connection_execute_many(
            connection, on_sqlite(connection) ? &SQL_BEGIN_SQLITE : &SQL_BEGIN_PG, values,
            n, 2, NULL, error);
    }
    return status;
}

enum weir_status weir_lease_list(struct weir_connection *connection, int64_t owner,
                                 int64_t subscription, struct weir_lease *out,
                                 size_t count, size_t *found, struct weir_error *error)
{
    struct weir_rows rows;
    enum weir_status status =
        weir_connection_query(connection, &SQL_LIST,
                              VALUES(weir_integer(subscription), weir_integer(owner),
                                     weir_integer((int64_t)count)),
                              &rows, error);

    *found = 0;
    while (status == WEIR_OK && (status = weir_rows_next(&rows, error)) == WEIR_OK)
        out[(*found)++] = (struct weir_lease){
            .key = {.subscription = subscription, .pid = weir_rows_integer(&rows, 0)},
            .epoch = weir_rows_integer(&rows, 1),
            .crashes = (uint32_t)weir_rows_integer(&rows, 2),
        };
    weir_rows_close(&rows);
    return status == WEIR_NO_ROW ? WEIR_OK : status;
}
