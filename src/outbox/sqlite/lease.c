/*
 * lease.c - leases on SQLite: there is one writer at a time, and a loop over a statement
 * costs no round trip.
 */
#include "db/transact.h"
#include "outbox/lease/lease_ops.h"
#include "outbox/sqlite/engine.h"

#define MARKS_FROM WEIR_LEASE_MARKS_FROM(WEIR_INCARNATION_PLAIN)

/* By the primary key; inside the transaction that takes it. */
static const struct weir_sql SQL_NEXT_TAKEABLE = {
    .name = "next takeable lease",
    .text = "SELECT pid FROM {p}_lease WHERE subscription = {1} AND pid > {2}"
            " AND " WEIR_LEASE_TAKEABLE(WEIR_INCARNATION_PLAIN) " ORDER BY pid LIMIT 1",
    .parameters = "ii",
};
static const struct weir_sql SQL_TAKE = {
    .name = "take lease",
    .text = "UPDATE {p}_lease SET owner = {3}, epoch = epoch + 1,"
            " incarnation = " WEIR_INCARNATION_PLAIN ", until_us = {now} + {4},"
            " crashes = " WEIR_LEASE_CRASHES ", marks_from = " MARKS_FROM
            " WHERE subscription = {1} AND pid = {2}"
            " RETURNING epoch, crashes, marks_from, replay_to",
    .parameters = "iiii",
};

static const struct weir_sql SQL_RENEW = {
    .name = "renew lease",
    .text = "UPDATE {p}_lease SET until_us = {now} + {5}"
            " WHERE subscription = {1} AND pid = {2} AND epoch = {3} AND owner = {4}"
            " AND " WEIR_LEASE_ALIVE(WEIR_INCARNATION_PLAIN),
    .parameters = "iiiii",
};

static const struct weir_sql SQL_CHECK = {
    .name = "check lease",
    .text = "SELECT 1 FROM {p}_lease"
            " WHERE subscription = {1} AND pid = {2} AND epoch = {3} AND owner = {4}"
            " AND " WEIR_LEASE_ALIVE(WEIR_INCARNATION_PLAIN),
    .parameters = "iiii",
};

#define GIVE(what)                                                                       \
    "UPDATE {p}_lease SET " what                                                         \
    " WHERE subscription = {1} AND pid = {2} AND epoch = {3} AND owner = {4}"
static const struct weir_sql SQL_RELEASE = {
    .name = "release lease",
    .text = GIVE(WEIR_LEASE_GIVEN_UP),
    .parameters = "iiii",
};
static const struct weir_sql SQL_END = {
    .name = "end lease",
    .text = GIVE(WEIR_LEASE_RUN_OUT),
    .parameters = "iiii",
};

static enum weir_status take_one(struct weir_lease_taking *self,
                                 struct weir_connection *connection, int64_t pid,
                                 struct weir_error *error)
{
    struct weir_rows rows;
    enum weir_status status = weir_connection_query(
        connection, &SQL_TAKE,
        VALUES(weir_integer(self->subscription), weir_integer(pid),
               weir_integer(self->owner), weir_integer(self->duration_us)),
        &rows, error);

    while (status == WEIR_OK && (status = weir_rows_next(&rows, error)) == WEIR_OK)
        weir_lease_keep_taken(self, pid, &rows, 0);
    weir_rows_close(&rows);
    return status == WEIR_NO_ROW ? WEIR_OK : status;
}

static enum weir_status take_all(struct weir_connection *connection, void *argument,
                                 struct weir_error *error)
{
    struct weir_lease_taking *self = argument;
    enum weir_status status = WEIR_OK;
    int64_t pid = -1;

    while (status == WEIR_OK && self->taken < self->count) {
        status = weir_connection_query_integer(
            connection, &SQL_NEXT_TAKEABLE,
            VALUES(weir_integer(self->subscription), weir_integer(pid)), &pid, error);
        if (status == WEIR_OK && !weir_lease_is_excepted(self, pid))
            status = take_one(self, connection, pid, error);
    }
    return status == WEIR_NO_ROW ? WEIR_OK : status;
}

static enum weir_status renew_all(struct weir_connection *connection, void *argument,
                                  struct weir_error *error)
{
    struct weir_lease_renewal *self = argument;
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; i < self->count && status == WEIR_OK; i++) {
        struct weir_lease *lease = &self->leases[i];
        int64_t changed = 0;

        status = weir_connection_execute(
            connection, &SQL_RENEW,
            VALUES(weir_integer(lease->key.subscription), weir_integer(lease->key.pid),
                   weir_integer(lease->epoch), weir_integer(self->owner),
                   weir_integer(self->duration_us)),
            &changed, error);
        lease->kept = changed == 1;
    }
    return status;
}

static enum weir_status release_all(struct weir_connection *connection, void *argument,
                                    struct weir_error *error)
{
    struct weir_lease_giving *self = argument;
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; i < self->count && status == WEIR_OK; i++)
        status = weir_connection_execute(
            connection, self->dead ? &SQL_END : &SQL_RELEASE,
            VALUES(weir_integer(self->leases[i].key.subscription),
                   weir_integer(self->leases[i].key.pid),
                   weir_integer(self->leases[i].epoch), weir_integer(self->owner)),
            NULL, error);
    return status;
}

static enum weir_status take(struct weir_lease_taking *taking,
                             struct weir_connection *connection, struct weir_error *error)
{
    return weir_transact_once(connection, take_all, taking, error);
}

static enum weir_status renew(struct weir_lease_renewal *renewal,
                              struct weir_connection *connection,
                              struct weir_error *error)
{
    return weir_transact_once(connection, renew_all, renewal, error);
}

static enum weir_status release(struct weir_lease_giving *giving,
                                struct weir_connection *connection,
                                struct weir_error *error)
{
    return weir_transact_once(connection, release_all, giving, error);
}

static enum weir_status check(struct weir_lease_renewal *self,
                              struct weir_connection *connection,
                              struct weir_error *error)
{
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; i < self->count && status == WEIR_OK; i++) {
        struct weir_lease *lease = &self->leases[i];
        int64_t one = 0;

        status = weir_connection_query_integer(
            connection, &SQL_CHECK,
            VALUES(weir_integer(lease->key.subscription), weir_integer(lease->key.pid),
                   weir_integer(lease->epoch), weir_integer(self->owner)),
            &one, error);
        lease->kept = status == WEIR_OK;
        if (status == WEIR_NO_ROW)
            status = WEIR_OK;
    }
    return status;
}

/* No other process can renew it until the transaction ends. */
static enum weir_status confirm(struct weir_connection *connection, int64_t owner,
                                const struct weir_lease *lease, int64_t duration_us,
                                bool *ours, struct weir_error *error)
{
    struct weir_lease copy = *lease;
    struct weir_lease_renewal renewal = {owner, duration_us, &copy, 1};
    enum weir_status status = renew_all(connection, &renewal, error);

    *ours = status == WEIR_OK && copy.kept;
    return status;
}

const struct weir_lease_ops weir_lease_sqlite = {
    .take = take,
    .renew = renew,
    .check = check,
    .release = release,
    .confirm = confirm,
};
