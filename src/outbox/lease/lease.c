/*
 * lease.c - see lease.h.
 *
 * Whether a lease may be taken, renewed or released is decided by its own row alone. (A
 * position is not: ack.c.) How that is done for many at once differs: postgres/lease.c,
 * mariadb/lease.c, sqlite/lease.c.
 */
#include "outbox/lease/lease.h"

#include "db/row_map.h"
#include "outbox/engine.h"
#include "outbox/lease/lease_ops.h"
#include "weir/message.h"

/* By the primary key: one subscription has few partitions. */
static const struct weir_sql SQL_LIST = {
    .name = "list leases",
    .text = "SELECT pid, epoch, crashes FROM {p}_lease"
            " WHERE subscription = {1} AND owner = {2} ORDER BY pid LIMIT {3}",
    .parameters = "iii",
};

/* The table is small, and this is for the day on which a process has died. */
static const struct weir_sql SQL_LIST_ALL = {
    .name = "list all leases",
    .text = "SELECT pid, epoch, crashes, subscription FROM {p}_lease"
            " WHERE owner = {1} AND until_us > 0 ORDER BY subscription, pid LIMIT {2}",
    .parameters = "ii",
};

/* By the primary key. Repeating finds nothing. */
static const struct weir_sql SQL_FORGIVE = {
    .name = "forgive crashes",
    .text = "UPDATE {p}_lease SET crashes = 0 WHERE subscription = {1} AND pid = {2}"
            " AND epoch = {3} AND owner = {4} AND crashes <> 0",
    .parameters = "iiii",
};

static const struct weir_sql_pair SQL_BEGIN = {
    .one = {.name = "begin lease",
            .text = "INSERT INTO {p}_lease (subscription, pid) VALUES ({1}, {2})",
            .parameters = "ii"},
    .many = {.name = "begin leases",
             .text = "INSERT INTO {p}_lease (subscription, pid)"
                     " SELECT * FROM unnest({1}, {2})",
             .parameters = "II"},
};

static const struct weir_lease_ops *ops_of(struct weir_connection *connection)
{
    return weir_outbox_engine_of(connection)->lease;
}

/* ---- take -------------------------------------------------------------------------- */

void weir_lease_keep_taken(struct weir_lease_taking *self, int64_t pid,
                           struct weir_rows *rows, size_t column)
{
    self->out[self->taken++] = (struct weir_lease){
        .key = {self->subscription, pid},
        .epoch = weir_rows_integer(rows, column),
        .crashes = (uint32_t)weir_rows_integer(rows, column + 1),
        .marks_from = weir_rows_integer(rows, column + 2),
        .replay_to = weir_rows_integer(rows, column + 3),
        .kept = true,
    };
}

bool weir_lease_is_excepted(const struct weir_lease_taking *self, int64_t pid)
{
    for (size_t i = 0; i < self->except_count; i++) {
        if (self->except[i] == pid)
            return true;
    }
    return false;
}

enum weir_status weir_lease_take(struct weir_connection *connection, int64_t owner,
                                 int64_t subscription, int64_t duration_us,
                                 const int64_t *except, size_t except_count,
                                 struct weir_lease *out, size_t count, size_t *taken,
                                 struct weir_error *error)
{
    struct weir_lease_taking taking = {
        .owner = owner,
        .subscription = subscription,
        .duration_us = duration_us,
        .except = except,
        .except_count = except_count,
        .out = out,
        .count = count,
    };
    enum weir_status status;

    *taken = 0;
    if (count == 0)
        return WEIR_OK;
    status = ops_of(connection)->take(&taking, connection, error);
    if (status == WEIR_OK)
        *taken = taking.taken;
    return status;
}

/* ---- renew and release ------------------------------------------------------------- */

static void mark_none_kept(struct weir_lease *leases, size_t count)
{
    for (size_t i = 0; i < count; i++)
        leases[i].kept = false;
}

enum weir_status weir_lease_renew(struct weir_connection *connection, int64_t owner,
                                  int64_t duration_us, struct weir_lease *leases,
                                  size_t count, struct weir_error *error)
{
    struct weir_lease_renewal renewal = {owner, duration_us, leases, count};
    enum weir_status status;

    mark_none_kept(leases, count);
    if (count == 0)
        return WEIR_OK;
    status = ops_of(connection)->renew(&renewal, connection, error);
    if (status != WEIR_OK)
        mark_none_kept(leases, count);
    return status;
}

enum weir_status weir_lease_check(struct weir_connection *connection, int64_t owner,
                                  struct weir_lease *leases, size_t count,
                                  struct weir_error *error)
{
    struct weir_lease_renewal question = {owner, 0, leases, count};
    enum weir_status status;

    mark_none_kept(leases, count);
    if (count == 0)
        return WEIR_OK;
    status = ops_of(connection)->check(&question, connection, error);
    if (status != WEIR_OK)
        mark_none_kept(leases, count);
    return status;
}

enum weir_status weir_lease_release(struct weir_connection *connection, int64_t owner,
                                    const struct weir_lease *leases, size_t count,
                                    struct weir_error *error)
{
    struct weir_lease_giving giving = {owner, leases, count, .dead = false};

    if (count == 0)
        return WEIR_OK;
    return ops_of(connection)->release(&giving, connection, error);
}

enum weir_status weir_lease_end(struct weir_connection *connection, int64_t owner,
                                const struct weir_lease *leases, size_t count,
                                struct weir_error *error)
{
    struct weir_lease_giving giving = {owner, leases, count, .dead = true};

    if (count == 0)
        return WEIR_OK;
    return ops_of(connection)->release(&giving, connection, error);
}

enum weir_status weir_lease_confirm(struct weir_connection *connection, int64_t owner,
                                    const struct weir_lease *lease, int64_t duration_us,
                                    bool *ours, struct weir_error *error)
{
    *ours = false;
    return ops_of(connection)
        ->confirm(connection, owner, lease, duration_us, ours, error);
}

enum weir_status weir_lease_forgive(struct weir_connection *connection, int64_t owner,
                                    const struct weir_lease *lease,
                                    struct weir_error *error)
{
    return weir_connection_execute(
        connection, &SQL_FORGIVE,
        VALUES(weir_integer(lease->key.subscription), weir_integer(lease->key.pid),
               weir_integer(lease->epoch), weir_integer(owner)),
        NULL, error);
}

/* ---- begin ------------------------------------------------------------------------- */

enum weir_status weir_lease_begin(struct weir_connection *connection,
                                  const struct weir_lease_key *keys, size_t count,
                                  struct weir_error *error)
{
    struct weir_value values[2 * WEIR_PARTITIONS_MAX];
    const struct weir_sql *sql = weir_connection_form(connection, &SQL_BEGIN);
    enum weir_status status = WEIR_OK;

    for (size_t done = 0; done < count && status == WEIR_OK;) {
        size_t n = 0;

        for (; n < WEIR_PARTITIONS_MAX && done < count; n++, done++) {
            values[2 * n] = weir_integer(keys[done].subscription);
            values[2 * n + 1] = weir_integer(keys[done].pid);
        }
        status = weir_connection_execute_many(connection, sql, values, n, 2, NULL, error);
    }
    return status;
}

static const struct weir_column LEASE[] = {
    COLUMN(struct weir_lease, key.pid, INTEGER),
    COLUMN(struct weir_lease, epoch, INTEGER),
    COLUMN(struct weir_lease, crashes, INTEGER),
    COLUMN(struct weir_lease, key.subscription, INTEGER),
};

/* Without the last column, unless the subscription is given. */
static enum weir_status read_leases(struct weir_rows *rows, const int64_t *subscription,
                                    struct weir_lease *out, size_t *found,
                                    struct weir_error *error)
{
    size_t width = COUNT_OF(LEASE) - (subscription != NULL);
    enum weir_status status;

    while ((status = weir_rows_next(rows, error)) == WEIR_OK) {
        struct weir_lease *lease = &out[(*found)++];

        *lease = (struct weir_lease){.epoch = 0};
        if (subscription != NULL)
            lease->key.subscription = *subscription;
        status = weir_row_read(rows, LEASE, width, lease, error);
        if (status != WEIR_OK)
            break;
    }
    return status == WEIR_NO_ROW ? WEIR_OK : status;
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
    if (status == WEIR_OK)
        status = read_leases(&rows, &subscription, out, found, error);
    weir_rows_close(&rows);
    return status;
}

enum weir_status weir_lease_list_all(struct weir_connection *connection, int64_t owner,
                                     struct weir_lease *out, size_t count, size_t *found,
                                     struct weir_error *error)
{
    struct weir_rows rows;
    enum weir_status status = weir_connection_query(
        connection, &SQL_LIST_ALL,
        VALUES(weir_integer(owner), weir_integer((int64_t)count)), &rows, error);

    *found = 0;
    if (status == WEIR_OK)
        status = read_leases(&rows, NULL, out, found, error);
    weir_rows_close(&rows);
    return status;
}
