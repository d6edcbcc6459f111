/*
 * member.c - see member.h.
 *
 * The leases of a subscription are at most 64 rows, so they are read by holder and the sums are
 * made here: the same on all engines.
 */
#include "outbox/member.h"

#include "base/heap.h"
#include "outbox/columns_json.h"
#include "outbox/lease.h"
#include "outbox/once.h"

/* Ten minutes: long after everybody has taken its partitions over. Microseconds. */
#define LONG_DEAD "600000000"

/* Rows of our own only. A subscription that is gone gets none. Repeating is harmless. */
#define BEAT(delivered, rate, which)                                                     \
    "INSERT INTO {p}_member (process, subscription, name, until_us, started_us,"         \
    " delivered, rate) SELECT {2}, s.id, {3}, {now} + {4}, {now}, " delivered ", " rate  \
    " FROM {p}_subscription s " which
#define OR_CHANGE                                                                        \
    " ON CONFLICT (subscription, process) DO UPDATE"                                     \
    " SET until_us = excluded.until_us, name = excluded.name,"                           \
    " delivered = excluded.delivered, rate = excluded.rate"
#define BEAT_ALL                                                                         \
    BEAT("a.delivered", "a.rate",                                                        \
         "JOIN unnest({1}, {5}, {6}) AS a (id, delivered, rate) ON a.id = s.id")         \
    OR_CHANGE
#define BEAT_ONE BEAT("{5}", "{6}", "WHERE s.id = {1}") OR_CHANGE

/* The table is small: a few rows per process. */
#define DEAD "until_us < {now} - " LONG_DEAD

/*
 * One row for each holder of leases, one without holder if there is none: the subscription, is its
 * queue paused, how many others are alive, the database's clock; the holder (null when the leases
 * may be taken), how many, and how long the first of them lasts. By primary keys.
 */
#define SHARES(incarnation, which)                                                       \
    "SELECT s.id, q.paused, (SELECT count(*) FROM {p}_member m"                          \
    " WHERE m.subscription = s.id AND m.process <> {2} AND m.until_us > {now}), {now},"  \
    " h.holder, h.held, h.left_us, q.attempts_max"                                       \
    " FROM {p}_subscription s JOIN {p}_queue q ON q.id = s.queue LEFT JOIN"              \
    " (SELECT subscription, holder, count(*) AS held, min(until_us) - {now} AS left_us"  \
    " FROM (SELECT subscription, until_us, CASE WHEN until_us > {now}"                   \
    " AND incarnation = " incarnation " THEN owner END AS holder"                        \
    " FROM {p}_lease WHERE subscription " which ") l GROUP BY subscription, holder) h"   \
    " ON h.subscription = s.id WHERE s.id " which

enum { PAUSED = 1, OTHERS, NOW, HOLDER, HELD, LEFT_US, ATTEMPTS_MAX };

/*
 * All of it at once, since a process that has nothing to do beats on. The parts see the tables as
 * they were before, which is why others are counted and not members. Whoever is buried and beats
 * again at this moment is left alone, so nobody waits for anybody.
 */
static const struct weir_sql SQL_BEAT_PG = {
    .name = "beat",
    .text = "WITH buried AS (DELETE FROM {p}_member WHERE (subscription, process) IN"
            " (SELECT subscription, process FROM {p}_member WHERE " DEAD
            " AND process <> {2} FOR UPDATE SKIP LOCKED)),"
            " alive AS (" BEAT_ALL ") " /* and now */
    SHARES("(SELECT " WEIR_INCARNATION_PG ")", "= ANY ({1})"),
    .parameters = "IitiIR",
};

static const struct weir_sql SQL_BEAT_SQLITE = {
    .name = "beat",
    .text = BEAT_ONE,
    .parameters = "iitiir",
};
static const struct weir_sql SQL_BURY_SQLITE = {
    .name = "bury members",
    .text = "DELETE FROM {p}_member WHERE " DEAD,
};
static const struct weir_sql SQL_SHARES_SQLITE = {
    .name = "read shares",
    .text = SHARES(WEIR_INCARNATION_PLAIN, "= {1}"),
    .parameters = "ii",
};

/*
 * Here it is a statement after the other, each by itself: nobody holds a row while it waits for
 * another. So members that are long dead are looked for without locks, and then removed by their
 * keys; a DELETE of all of them would lock the rows that it passes.
 */
#define MARIA_SHARES                                                                     \
    "JSON_TABLE({1}, '$[*]' COLUMNS (id BIGINT PATH '$[0]',"                             \
    " delivered BIGINT PATH '$[1]', rate DOUBLE PATH '$[2]')) a"
static const struct weir_sql SQL_BEAT_MARIA = {
    .name = "beat",
    .text = BEAT("a.delivered", "a.rate",
                 "JOIN " MARIA_SHARES
                 " ON a.id = s.id") " ON DUPLICATE KEY UPDATE until_us = "
                                    "VALUES(until_us), name = VALUES(name),"
                                    " delivered = VALUES(delivered), rate = VALUES(rate)",
    .parameters = "titi",
};
static const struct weir_sql SQL_FIND_DEAD_MARIA = {
    .name = "find dead members",
    .text = "SELECT subscription, process FROM {p}_member WHERE " DEAD " LIMIT {1}",
    .parameters = "i",
};
static const struct weir_sql SQL_BURY_MARIA = {
    .name = "bury member",
    .text = "DELETE FROM {p}_member WHERE subscription = {1} AND process = {2}"
            " AND " DEAD,
    .parameters = "ii",
};
static const struct weir_sql SQL_SHARES_MARIA = {
    .name = "read shares",
    .text = SHARES(WEIR_INCARNATION_PLAIN, "IN (SELECT a.id FROM " MARIA_SHARES ")"),
    .parameters = "ti",
};

static const struct weir_sql SQL_LEAVE = {
    .name = "leave",
    .text = "DELETE FROM {p}_member WHERE process = {1}",
    .parameters = "i",
};

struct beat {
    int64_t owner;
    const char *name;
    int64_t duration_us;
    struct weir_share *shares;
    size_t count;
    struct weir_columns columns; /* of the shares: SUBSCRIPTION, ... */
};

enum { SUBSCRIPTION, DELIVERED, RATE, COLUMN_COUNT };

/* ---- rows --------------------------------------------------------------------------------- */

static struct weir_share *find_share(struct beat *self, int64_t subscription)
{
    for (size_t i = 0; i < self->count; i++) {
        if (self->shares[i].subscription == subscription)
            return &self->shares[i];
    }
    return NULL;
}

static void take_state(struct weir_share *share, struct weir_rows *rows)
{
    uint32_t partitions = share->partitions > 0 ? (uint32_t)share->partitions : 0;

    share->removed = false;
    share->paused = weir_rows_boolean(rows, PAUSED);
    share->attempts_max = (uint32_t)weir_rows_integer(rows, ATTEMPTS_MAX);
    share->members = 1 + (uint32_t)weir_rows_integer(rows, OTHERS);
    share->share = (partitions + share->members - 1) / share->members;
    share->now_us = weir_rows_integer(rows, NOW);
}

static void take_held(struct beat *self, struct weir_share *share, struct weir_rows *rows)
{
    uint32_t held = (uint32_t)weir_rows_integer(rows, HELD);
    int64_t left_us = weir_rows_integer(rows, LEFT_US);

    if (weir_rows_is_null(rows, HOLDER)) {
        share->free += held;
        return;
    }
    if (weir_rows_integer(rows, HOLDER) == self->owner)
        return;
    if (held > share->share)
        share->surplus += held - share->share;
    left_us = left_us > 0 ? left_us : 0; /* it ran out while we looked */
    if (share->next_free_us < 0 || left_us < share->next_free_us)
        share->next_free_us = left_us;
}

static enum weir_status read_shares(struct beat *self, struct weir_connection *connection,
                                    const struct weir_sql *sql,
                                    const struct weir_value *values, size_t value_count,
                                    struct weir_error *error)
{
    struct weir_rows rows;
    enum weir_status status =
        weir_connection_query(connection, sql, values, value_count, &rows, error);

    while (status == WEIR_OK && (status = weir_rows_next(&rows, error)) == WEIR_OK) {
        struct weir_share *share = find_share(self, weir_rows_integer(&rows, 0));

        if (share == NULL)
            continue;
        take_state(share, &rows);
        take_held(self, share, &rows);
    }
    weir_rows_close(&rows);
    return status == WEIR_NO_ROW ? WEIR_OK : status;
}

/* ---- the beat ----------------------------------------------------------------------------- */

static void clear_shares(struct beat *self)
{
    for (size_t i = 0; i < self->count; i++) {
        struct weir_share *share = &self->shares[i];

        *share = (struct weir_share){.subscription = share->subscription,
                                     .partitions = share->partitions,
                                     .delivered = share->delivered,
                                     .rate = share->rate,
                                     .next_free_us = -1,
                                     .removed = true}; /* until it is found */
    }
}

static enum weir_status list_shares(struct beat *self, const struct weir_heap *heap,
                                    struct weir_error *error)
{
    enum weir_status status =
        weir_columns_init(&self->columns, heap, COLUMN_COUNT, self->count, error);

    for (size_t i = 0; i < self->count && status == WEIR_OK; i++) {
        const struct weir_share *share = &self->shares[i];

        weir_columns_set(&self->columns, SUBSCRIPTION, i,
                         weir_integer(share->subscription));
        weir_columns_set(&self->columns, DELIVERED, i,
                         weir_integer((int64_t)share->delivered));
        weir_columns_set(&self->columns, RATE, i, weir_real(share->rate));
    }
    return status;
}

static struct weir_value all_of(const struct beat *self, size_t column,
                                enum weir_type type)
{
    return weir_columns_array(&self->columns, column, type, 0, self->count);
}

static enum weir_status beat_pg(struct beat *self, struct weir_connection *connection,
                                struct weir_error *error)
{
    return read_shares(self, connection, &SQL_BEAT_PG,
                       VALUES(all_of(self, SUBSCRIPTION, WEIR_TYPE_INTEGER),
                              weir_integer(self->owner), weir_text(weir_str(self->name)),
                              weir_integer(self->duration_us),
                              all_of(self, DELIVERED, WEIR_TYPE_INTEGER),
                              all_of(self, RATE, WEIR_TYPE_REAL)),
                       error);
}

/* There are no arrays here, and a statement more costs little. */
static enum weir_status beat_sqlite(struct weir_connection *connection, void *argument,
                                    struct weir_error *error)
{
    struct beat *self = argument;
    const struct weir_value *subscriptions = self->columns.cells;
    const struct weir_value *delivered = subscriptions + DELIVERED * self->count;
    const struct weir_value *rates = subscriptions + RATE * self->count;
    struct weir_value owner = weir_integer(self->owner);
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; i < self->count && status == WEIR_OK; i++)
        status = weir_connection_execute(
            connection, &SQL_BEAT_SQLITE,
            VALUES(subscriptions[i], owner, weir_text(weir_str(self->name)),
                   weir_integer(self->duration_us), delivered[i], rates[i]),
            NULL, error);
    if (status == WEIR_OK)
        status =
            weir_connection_execute(connection, &SQL_BURY_SQLITE, NO_VALUES, NULL, error);
    for (size_t i = 0; i < self->count && status == WEIR_OK; i++)
        status = read_shares(self, connection, &SQL_SHARES_SQLITE,
                             VALUES(subscriptions[i], owner), error);
    return status;
}

/* A few of them at each beat. */
static enum weir_status bury_maria(struct weir_connection *connection,
                                   struct weir_error *error)
{
    enum { BURIED_MAX = 16, WIDTH = 2 };
    struct weir_value dead[BURIED_MAX * WIDTH];
    struct weir_rows rows;
    size_t count = 0;
    enum weir_status status = weir_connection_query(
        connection, &SQL_FIND_DEAD_MARIA, VALUES(weir_integer(BURIED_MAX)), &rows, error);

    while (status == WEIR_OK && (status = weir_rows_next(&rows, error)) == WEIR_OK) {
        dead[WIDTH * count] = weir_integer(weir_rows_integer(&rows, 0));
        dead[WIDTH * count + 1] = weir_integer(weir_rows_integer(&rows, 1));
        count++;
    }
    weir_rows_close(&rows);
    status = status == WEIR_NO_ROW ? WEIR_OK : status;
    for (size_t i = 0; i < count && status == WEIR_OK; i++)
        status = weir_connection_execute(connection, &SQL_BURY_MARIA, &dead[WIDTH * i],
                                         WIDTH, NULL, error);
    return status;
}

static enum weir_status beat_maria(struct beat *self, struct weir_connection *connection,
                                   struct weir_error *error)
{
    struct weir_value owner = weir_integer(self->owner);
    struct weir_buf shares;
    enum weir_status status;

    weir_buf_init(&shares, self->columns.heap, WEIR_VALUE_SIZE_MAX);
    status =
        weir_columns_json(&self->columns, COLUMN_COUNT, 0, self->count, &shares, error);
    if (status == WEIR_OK)
        status = weir_connection_execute(connection, &SQL_BEAT_MARIA,
                                         VALUES(weir_text(weir_buf_get(&shares)), owner,
                                                weir_text(weir_str(self->name)),
                                                weir_integer(self->duration_us)),
                                         NULL, error);
    if (status == WEIR_OK)
        status = bury_maria(connection, error);
    if (status == WEIR_OK)
        status = read_shares(self, connection, &SQL_SHARES_MARIA,
                             VALUES(weir_text(weir_buf_get(&shares)), owner), error);
    weir_buf_fini(&shares);
    return status;
}

static enum weir_status beat(struct beat *self, struct weir_connection *connection,
                             struct weir_error *error)
{
    switch (weir_connection_link(connection)->driver->engine) {
    case WEIR_SQLITE:
        return weir_once(connection, beat_sqlite, self, error);
    case WEIR_POSTGRESQL:
        return beat_pg(self, connection, error);
    case WEIR_MARIADB:
        break;
    }
    return beat_maria(self, connection, error);
}

enum weir_status weir_member_beat(struct weir_connection *connection, int64_t owner,
                                  const char *name, int64_t duration_us,
                                  struct weir_share *shares, size_t count,
                                  struct weir_error *error)
{
    struct beat self = {
        .owner = owner,
        .name = name,
        .duration_us = duration_us,
        .shares = shares,
        .count = count,
    };
    enum weir_status status;

    if (count == 0)
        return WEIR_OK;
    clear_shares(&self);
    status = list_shares(&self, weir_connection_config(connection)->heap, error);
    if (status == WEIR_OK)
        status = beat(&self, connection, error);
    weir_columns_fini(&self.columns);
    return status;
}

enum weir_status weir_member_leave(struct weir_connection *connection, int64_t owner,
                                   struct weir_error *error)
{
    return weir_connection_execute(connection, &SQL_LEAVE, VALUES(weir_integer(owner)),
                                   NULL, error);
}
