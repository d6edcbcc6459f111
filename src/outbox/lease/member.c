/*
 * member.c - see member.h.
 *
 * The leases of a subscription are at most 64 rows, so they are read by holder and the sums are
 * made here: the same on all engines.
 */
#include "outbox/lease/member.h"

#include "base/heap.h"
#include "outbox/columns_json.h"
#include "outbox/lease/lease.h"
#include "outbox/queue/stored_queue.h"
#include "outbox/transact_once.h"

/* Ten minutes: long after everybody has taken its partitions over. Microseconds. */
#define LONG_DEAD "600000000"

/* Rows of our own only. A subscription that is gone gets none. Repeating is harmless. */
#define HEARTBEAT(delivered, rate, which)                                                \
    "INSERT INTO {p}_member (process, subscription, name, until_us, started_us,"         \
    " delivered, rate, library, alive_by, clock_off_us, beat_us)"                        \
    " SELECT {2}, s.id, {3}, {now} + {4}, {now}, " delivered ", " rate                   \
    ", {5}, {6}, {7}, {now} FROM {p}_subscription s " which
#define OR_CHANGE                                                                        \
    " ON CONFLICT (subscription, process) DO UPDATE"                                     \
    " SET until_us = excluded.until_us, name = excluded.name,"                           \
    " delivered = excluded.delivered, rate = excluded.rate,"                             \
    " library = excluded.library, alive_by = excluded.alive_by,"                         \
    " clock_off_us = excluded.clock_off_us, beat_us = excluded.beat_us"
#define HEARTBEAT_ALL                                                                    \
    HEARTBEAT("a.delivered", "a.rate",                                                   \
              "JOIN unnest({1}, {8}, {9}) AS a (id, delivered, rate) ON a.id = s.id")    \
    OR_CHANGE
#define HEARTBEAT_ONE HEARTBEAT("{8}", "{9}", "WHERE s.id = {1}") OR_CHANGE

/* The table is small: a few rows per process. */
#define DEAD "until_us < {now} - " LONG_DEAD

/*
 * One row for each holder of leases, one without holder if there is none: the subscription, is its
 * queue paused, how many others are alive, and how many of these have a smaller number than we and
 * than the holder, how long the first of the others is alive if it does not beat (null if there are
 * none), is the subscription paused, the database's clock; the holder (null when the leases may be taken), how many, and how long
 * the first of them lasts. By primary keys.
 */
#define OF_OTHERS(what, more)                                                            \
    "(SELECT " what " FROM {p}_member m WHERE m.subscription = s.id"                     \
    " AND m.process <> {2} AND m.until_us > {now}" more ")"
#define ALL_OTHERS OF_OTHERS("count(*)", "")
#define OTHERS_BEFORE_US OF_OTHERS("count(*)", " AND m.process < {2}")
#define OTHERS_BEFORE_HOLDER OF_OTHERS("count(*)", " AND m.process < h.holder")
#define LEFT_TO_OTHERS OF_OTHERS("min(m.until_us) - {now}", "")
#define HOLDERS(incarnation, which)                                                      \
    "SELECT subscription, holder, count(*) AS held, min(until_us) - {now} AS left_us"    \
    " FROM (SELECT subscription, until_us, CASE WHEN until_us > {now}"                   \
    " AND incarnation = " incarnation " THEN owner END AS holder"                        \
    " FROM {p}_lease WHERE subscription " which ") l GROUP BY subscription, holder"
#define SHARES(holders, which)                                                           \
    "SELECT s.id, q.paused, " ALL_OTHERS ", {now}, h.holder, h.held, h.left_us,"         \
    " q.attempts_max, " OTHERS_BEFORE_US ", " OTHERS_BEFORE_HOLDER ", " LEFT_TO_OTHERS   \
    ", s.paused FROM {p}_subscription s JOIN {p}_queue q ON q.id = s.queue"              \
    " LEFT JOIN (" holders ") h ON h.subscription = s.id WHERE s.id " which

enum {
    PAUSED = 1,
    OTHER_COUNT,
    NOW,
    HOLDER,
    HELD,
    LEFT_US,
    ATTEMPTS_MAX,
    BEFORE_US,
    BEFORE_HOLDER,
    ALIVE_US,
    SUBSCRIPTION_PAUSED
};

/*
 * All of it at once, since a process that has nothing to do beats on. The parts see the tables as
 * they were before, which is why others are counted and not members. Whoever is buried and beats
 * again at this moment is left alone, so nobody waits for anybody.
 */
static const struct weir_sql SQL_HEARTBEAT_PG = {
    .name = "beat",
    .text = "WITH buried AS (DELETE FROM {p}_member WHERE (subscription, process) IN"
            " (SELECT subscription, process FROM {p}_member WHERE " DEAD
            " AND process <> {2} FOR UPDATE SKIP LOCKED)),"
            " alive AS (" HEARTBEAT_ALL ") " /* and now */
    SHARES(HOLDERS("(SELECT " WEIR_INCARNATION_PG ")", "= ANY ({1})"), "= ANY ({1})"),
    .parameters = "IititiiIR"};

static const struct weir_sql SQL_HEARTBEAT_SQLITE = {
    .name = "beat",
    .text = HEARTBEAT_ONE,
    .parameters = "iititiiir",
};
static const struct weir_sql SQL_BURY_SQLITE = {
    .name = "bury members",
    .text = "DELETE FROM {p}_member WHERE " DEAD,
};
static const struct weir_sql SQL_SHARES_SQLITE = {
    .name = "read shares",
    .text = SHARES(HOLDERS(WEIR_INCARNATION_PLAIN, "= {1}"), "= {1}"),
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
#define IN_MARIA_SHARES "IN (SELECT a.id FROM " MARIA_SHARES ")"
static const struct weir_sql SQL_HEARTBEAT_MARIA = {
    .name = "beat",
    .text = HEARTBEAT(
        "a.delivered", "a.rate",
        "JOIN " MARIA_SHARES
        " ON a.id = s.id") " ON DUPLICATE KEY UPDATE until_us = "
                           "VALUES(until_us), name = VALUES(name),"
                           " delivered = VALUES(delivered), rate = VALUES(rate),"
                           " library = VALUES(library),"
                           " alive_by = VALUES(alive_by),"
                           " clock_off_us = VALUES(clock_off_us),"
                           " beat_us = VALUES(beat_us)",
    .parameters = "tititii",
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
    .text = SHARES(HOLDERS(WEIR_INCARNATION_PLAIN, IN_MARIA_SHARES), IN_MARIA_SHARES),
    .parameters = "ti",
};

static const struct weir_sql SQL_LEAVE = {
    .name = "leave",
    .text = "DELETE FROM {p}_member WHERE process = {1}",
    .parameters = "i",
};

struct heartbeat {
    const struct weir_member *member;
    struct weir_share *shares;
    size_t count;
    struct weir_columns columns; /* of the shares: SUBSCRIPTION, ... */
};

enum { SUBSCRIPTION, DELIVERED, RATE, COLUMN_COUNT };

/* ---- rows --------------------------------------------------------------------------------- */

static struct weir_share *find_share(struct heartbeat *self, int64_t subscription)
{
    for (size_t i = 0; i < self->count; i++) {
        if (self->shares[i].subscription == subscription)
            return &self->shares[i];
    }
    return NULL;
}

/* Of the process with `rank` others before it. */
static uint32_t share_of(const struct weir_share *share, int64_t rank)
{
    uint32_t partitions = share->partitions > 0 ? (uint32_t)share->partitions : 0;
    uint64_t turn = ((uint64_t)rank + (uint64_t)share->subscription) % share->members;

    if (partitions > 0 && share->members >= partitions)
        return 1; /* whoever is first: a process that could do nothing would help nobody */
    return partitions / share->members + (turn < partitions % share->members);
}

/* A time that was left when we looked; it may have run out meanwhile. */
static int64_t read_left_us(struct weir_rows *rows, size_t column)
{
    int64_t left_us = weir_rows_integer(rows, column);

    return left_us > 0 ? left_us : 0;
}

static void take_state(struct weir_share *share, struct weir_rows *rows)
{
    share->removed = false;
    share->queue_paused = weir_rows_boolean(rows, PAUSED);
    share->paused = weir_rows_boolean(rows, SUBSCRIPTION_PAUSED);
    share->attempts_max = weir_stored_attempts_max(weir_rows_integer(rows, ATTEMPTS_MAX));
    share->members = 1 + (uint32_t)weir_rows_integer(rows, OTHER_COUNT);
    share->share = share_of(share, weir_rows_integer(rows, BEFORE_US));
    share->now_us = weir_rows_integer(rows, NOW);
    if (!weir_rows_is_null(rows, ALIVE_US))
        share->next_dead_us = read_left_us(rows, ALIVE_US);
}

static void take_held(struct heartbeat *self, struct weir_share *share,
                      struct weir_rows *rows)
{
    uint32_t held = (uint32_t)weir_rows_integer(rows, HELD);
    int64_t left_us = read_left_us(rows, LEFT_US);
    int64_t holder = weir_rows_integer(rows, HOLDER);
    uint32_t theirs;

    if (weir_rows_is_null(rows, HOLDER)) {
        share->free += held;
        return;
    }
    if (holder == self->member->owner) {
        share->held = held;
        return;
    }
    theirs = share_of(share, weir_rows_integer(rows, BEFORE_HOLDER) +
                                 (self->member->owner < holder));
    if (held > theirs)
        share->surplus += held - theirs;
    if (share->next_free_us < 0 || left_us < share->next_free_us)
        share->next_free_us = left_us;
}

static enum weir_status read_shares(struct heartbeat *self,
                                    struct weir_connection *connection,
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

static void clear_shares(struct heartbeat *self)
{
    for (size_t i = 0; i < self->count; i++) {
        struct weir_share *share = &self->shares[i];

        *share = (struct weir_share){.subscription = share->subscription,
                                     .partitions = share->partitions,
                                     .delivered = share->delivered,
                                     .rate = share->rate,
                                     .next_free_us = -1,
                                     .next_dead_us = -1,
                                     .removed = true}; /* until it is found */
    }
}

static enum weir_status list_shares(struct heartbeat *self, const struct weir_heap *heap,
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

static struct weir_value all_of(const struct heartbeat *self, size_t column,
                                enum weir_type type)
{
    return weir_columns_array(&self->columns, column, type, 0, self->count);
}

/* What a beat says of the process itself: the parameters 2 to 7. */
#define OF_MEMBER(member)                                                                \
    weir_integer((member)->owner), weir_text(weir_str((member)->name)),                  \
        weir_integer((member)->duration_us), weir_text(weir_str((member)->library)),     \
        weir_integer((member)->alive_by), weir_integer((member)->clock_off_us)

static enum weir_status heartbeat_pg(struct heartbeat *self,
                                     struct weir_connection *connection,
                                     struct weir_error *error)
{
    return read_shares(self, connection, &SQL_HEARTBEAT_PG,
                       VALUES(all_of(self, SUBSCRIPTION, WEIR_TYPE_INTEGER),
                              OF_MEMBER(self->member),
                              all_of(self, DELIVERED, WEIR_TYPE_INTEGER),
                              all_of(self, RATE, WEIR_TYPE_REAL)),
                       error);
}

/* There are no arrays here, and a statement more costs little. */
static enum weir_status heartbeat_sqlite(struct weir_connection *connection,
                                         void *argument, struct weir_error *error)
{
    struct heartbeat *self = argument;
    const struct weir_value *subscriptions = self->columns.cells;
    const struct weir_value *delivered = subscriptions + DELIVERED * self->count;
    const struct weir_value *rates = subscriptions + RATE * self->count;
    struct weir_value owner = weir_integer(self->member->owner);
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; i < self->count && status == WEIR_OK; i++)
        status = weir_connection_execute(
            connection, &SQL_HEARTBEAT_SQLITE,
            VALUES(subscriptions[i], OF_MEMBER(self->member), delivered[i], rates[i]),
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

static enum weir_status heartbeat_maria(struct heartbeat *self,
                                        struct weir_connection *connection,
                                        struct weir_error *error)
{
    struct weir_value owner = weir_integer(self->member->owner);
    struct weir_buf shares;
    enum weir_status status;

    weir_buf_init(&shares, self->columns.heap, WEIR_VALUE_SIZE_MAX);
    status =
        weir_columns_json(&self->columns, COLUMN_COUNT, 0, self->count, &shares, error);
    if (status == WEIR_OK)
        status = weir_connection_execute(
            connection, &SQL_HEARTBEAT_MARIA,
            VALUES(weir_text(weir_buf_get(&shares)), OF_MEMBER(self->member)), NULL,
            error);
    if (status == WEIR_OK)
        status = bury_maria(connection, error);
    if (status == WEIR_OK)
        status = read_shares(self, connection, &SQL_SHARES_MARIA,
                             VALUES(weir_text(weir_buf_get(&shares)), owner), error);
    weir_buf_fini(&shares);
    return status;
}

static enum weir_status heartbeat(struct heartbeat *self,
                                  struct weir_connection *connection,
                                  struct weir_error *error)
{
    switch (weir_connection_engine(connection)) {
    case WEIR_SQLITE:
        return weir_transact_once(connection, heartbeat_sqlite, self, error);
    case WEIR_POSTGRESQL:
        return heartbeat_pg(self, connection, error);
    case WEIR_MARIADB:
        break;
    }
    return heartbeat_maria(self, connection, error);
}

enum weir_status weir_process_heartbeat(struct weir_connection *connection,
                                        const struct weir_member *member,
                                        struct weir_share *shares, size_t count,
                                        struct weir_error *error)
{
    struct heartbeat self = {
        .member = member,
        .shares = shares,
        .count = count,
    };
    enum weir_status status;

    if (count == 0)
        return WEIR_OK;
    clear_shares(&self);
    status = list_shares(&self, weir_connection_config(connection)->heap, error);
    if (status == WEIR_OK)
        status = heartbeat(&self, connection, error);
    weir_columns_fini(&self.columns);
    return status;
}

enum weir_status weir_member_leave(struct weir_connection *connection, int64_t owner,
                                   struct weir_error *error)
{
    return weir_connection_execute(connection, &SQL_LEAVE, VALUES(weir_integer(owner)),
                                   NULL, error);
}
