/*
 * process.c - see process.h.
 *
 * The leases of a subscription are at most 64 rows, so they are read by holder and the
 * sums are made here: the same on all engines.
 */
#include "outbox/lease/process.h"

#include "base/heap.h"
#include "db/transact.h"
#include "outbox/columns_json.h"
#include "outbox/lease/lease.h"
#include "outbox/queue/stored_queue.h"

/*
 * Ten minutes: long after other processes have taken its partitions over. Microseconds.
 */
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
 * One row for each holder of leases, one without holder if there is none: the
 * subscription, is its queue paused, how many others are alive, and how many of these
 * have a smaller number than we and than the holder, how long the first of the others
 * is alive if it sends no heartbeat (null if there are none), is the subscription
 * paused, the database's clock; the holder (null when the leases may be taken), how
 * many, and how long the first of them lasts. By primary keys.
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
#define QUOTAS(holders, which)                                                           \
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
 * All of it at once, since a process that has nothing to do beats on. The parts see the
 * tables as they were before, which is why others are counted and not members. A process
 * that is evicted and sends a heartbeat at this moment is left alone, so no process waits
 * for another.
 */
static const struct weir_sql SQL_HEARTBEAT_PG = {
    .name = "heartbeat",
    .text = "WITH buried AS (DELETE FROM {p}_member WHERE (subscription, process) IN"
            " (SELECT subscription, process FROM {p}_member WHERE " DEAD
            " AND process <> {2} FOR UPDATE SKIP LOCKED)),"
            " alive AS (" HEARTBEAT_ALL ") " /* and now */
    QUOTAS(HOLDERS("(SELECT " WEIR_INCARNATION_PG ")", "= ANY ({1})"), "= ANY ({1})"),
    .parameters = "IititiiIR"};

static const struct weir_sql SQL_HEARTBEAT_SQLITE = {
    .name = "heartbeat",
    .text = HEARTBEAT_ONE,
    .parameters = "iititiiir",
};
static const struct weir_sql SQL_EVICT_SQLITE = {
    .name = "evict members",
    .text = "DELETE FROM {p}_member WHERE " DEAD,
};
static const struct weir_sql SQL_QUOTAS_SQLITE = {
    .name = "read shares",
    .text = QUOTAS(HOLDERS(WEIR_INCARNATION_PLAIN, "= {1}"), "= {1}"),
    .parameters = "ii",
};

/*
 * Here it is a statement after the other, each by itself: no process holds a row while
 * it waits for another. So members that are long dead are looked for without locks, and
 * then removed by their keys; a DELETE of all of them would lock the rows that it
 * passes.
 */
#define MARIA_QUOTAS                                                                     \
    "JSON_TABLE({1}, '$[*]' COLUMNS (id BIGINT PATH '$[0]',"                             \
    " delivered BIGINT PATH '$[1]', rate DOUBLE PATH '$[2]')) a"
#define IN_MARIA_QUOTAS "IN (SELECT a.id FROM " MARIA_QUOTAS ")"
static const struct weir_sql SQL_HEARTBEAT_MARIA = {
    .name = "heartbeat",
    .text = HEARTBEAT(
        "a.delivered", "a.rate",
        "JOIN " MARIA_QUOTAS
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
static const struct weir_sql SQL_EVICT_MARIA = {
    .name = "evict member",
    .text = "DELETE FROM {p}_member WHERE subscription = {1} AND process = {2}"
            " AND " DEAD,
    .parameters = "ii",
};
static const struct weir_sql SQL_QUOTAS_MARIA = {
    .name = "read shares",
    .text = QUOTAS(HOLDERS(WEIR_INCARNATION_PLAIN, IN_MARIA_QUOTAS), IN_MARIA_QUOTAS),
    .parameters = "ti",
};

static const struct weir_sql SQL_LEAVE = {
    .name = "leave",
    .text = "DELETE FROM {p}_member WHERE process = {1}",
    .parameters = "i",
};

struct heartbeat {
    const struct weir_process *process;
    struct weir_quota *quotas;
    size_t count;
    struct weir_columns columns; /* of the quotas: SUBSCRIPTION, ... */
};

enum { SUBSCRIPTION, DELIVERED, RATE, COLUMN_COUNT };

/* ---- rows -------------------------------------------------------------------------- */

static struct weir_quota *find_quota(struct heartbeat *self, int64_t subscription)
{
    for (size_t i = 0; i < self->count; i++) {
        if (self->quotas[i].subscription == subscription)
            return &self->quotas[i];
    }
    return NULL;
}

/* Of the process with `rank` others before it. */
static uint32_t quota_of(const struct weir_quota *quota, int64_t rank)
{
    uint32_t partitions = quota->partitions > 0 ? (uint32_t)quota->partitions : 0;
    uint64_t turn = ((uint64_t)rank + (uint64_t)quota->subscription) % quota->processes;

    if (partitions > 0 && quota->processes >= partitions)
        return 1; /* the first process: one that could do nothing would not help */
    return partitions / quota->processes + (turn < partitions % quota->processes);
}

/* A time that was left when we looked; it may have run out meanwhile. */
static int64_t read_left_us(struct weir_rows *rows, size_t column)
{
    int64_t left_us = weir_rows_integer(rows, column);

    return left_us > 0 ? left_us : 0;
}

static void take_state(struct weir_quota *quota, struct weir_rows *rows)
{
    quota->removed = false;
    quota->queue_paused = weir_rows_boolean(rows, PAUSED);
    quota->paused = weir_rows_boolean(rows, SUBSCRIPTION_PAUSED);
    quota->attempts_max = weir_stored_attempts_max(weir_rows_integer(rows, ATTEMPTS_MAX));
    quota->processes = 1 + (uint32_t)weir_rows_integer(rows, OTHER_COUNT);
    quota->quota = quota_of(quota, weir_rows_integer(rows, BEFORE_US));
    quota->now_us = weir_rows_integer(rows, NOW);
    if (!weir_rows_is_null(rows, ALIVE_US))
        quota->next_dead_us = read_left_us(rows, ALIVE_US);
}

static void take_held(struct heartbeat *self, struct weir_quota *quota,
                      struct weir_rows *rows)
{
    uint32_t held = (uint32_t)weir_rows_integer(rows, HELD);
    int64_t left_us = read_left_us(rows, LEFT_US);
    int64_t holder = weir_rows_integer(rows, HOLDER);
    uint32_t theirs;

    if (weir_rows_is_null(rows, HOLDER)) {
        quota->free += held;
        return;
    }
    if (holder == self->process->owner) {
        quota->held = held;
        return;
    }
    theirs = quota_of(quota, weir_rows_integer(rows, BEFORE_HOLDER) +
                                 (self->process->owner < holder));
    if (held > theirs)
        quota->surplus += held - theirs;
    if (quota->next_free_us < 0 || left_us < quota->next_free_us)
        quota->next_free_us = left_us;
}

static enum weir_status read_quotas(struct heartbeat *self,
                                    struct weir_connection *connection,
                                    const struct weir_sql *sql,
                                    const struct weir_value *values, size_t value_count,
                                    struct weir_error *error)
{
    struct weir_rows rows;
    enum weir_status status =
        weir_connection_query(connection, sql, values, value_count, &rows, error);

    while (status == WEIR_OK && (status = weir_rows_next(&rows, error)) == WEIR_OK) {
        struct weir_quota *quota = find_quota(self, weir_rows_integer(&rows, 0));

        if (quota == NULL)
            continue;
        take_state(quota, &rows);
        take_held(self, quota, &rows);
    }
    weir_rows_close(&rows);
    return status == WEIR_NO_ROW ? WEIR_OK : status;
}

/* ---- the heartbeat ----------------------------------------------------------------- */

static void clear_quotas(struct heartbeat *self)
{
    for (size_t i = 0; i < self->count; i++) {
        struct weir_quota *quota = &self->quotas[i];

        *quota = (struct weir_quota){.subscription = quota->subscription,
                                     .partitions = quota->partitions,
                                     .delivered = quota->delivered,
                                     .rate = quota->rate,
                                     .next_free_us = -1,
                                     .next_dead_us = -1,
                                     .removed = true}; /* until it is found */
    }
}

static enum weir_status list_quotas(struct heartbeat *self, const struct weir_heap *heap,
                                    struct weir_error *error)
{
    enum weir_status status =
        weir_columns_init(&self->columns, heap, COLUMN_COUNT, self->count, error);

    for (size_t i = 0; i < self->count && status == WEIR_OK; i++) {
        const struct weir_quota *quota = &self->quotas[i];

        weir_columns_set(&self->columns, SUBSCRIPTION, i,
                         weir_integer(quota->subscription));
        weir_columns_set(&self->columns, DELIVERED, i,
                         weir_integer((int64_t)quota->delivered));
        weir_columns_set(&self->columns, RATE, i, weir_real(quota->rate));
    }
    return status;
}

static struct weir_value all_of(const struct heartbeat *self, size_t column,
                                enum weir_type type)
{
    return weir_columns_array(&self->columns, column, type, 0, self->count);
}

/* What a heartbeat says of the process itself: the parameters 2 to 7. */
#define OF_PROCESS(process)                                                              \
    weir_integer((process)->owner), weir_text(weir_str((process)->name)),                \
        weir_integer((process)->duration_us), weir_text(weir_str((process)->library)),   \
        weir_integer((process)->alive_by), weir_integer((process)->clock_off_us)

static enum weir_status heartbeat_pg(struct heartbeat *self,
                                     struct weir_connection *connection,
                                     struct weir_error *error)
{
    return read_quotas(self, connection, &SQL_HEARTBEAT_PG,
                       VALUES(all_of(self, SUBSCRIPTION, WEIR_TYPE_INTEGER),
                              OF_PROCESS(self->process),
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
    struct weir_value owner = weir_integer(self->process->owner);
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; i < self->count && status == WEIR_OK; i++)
        status = weir_connection_execute(
            connection, &SQL_HEARTBEAT_SQLITE,
            VALUES(subscriptions[i], OF_PROCESS(self->process), delivered[i], rates[i]),
            NULL, error);
    if (status == WEIR_OK)
        status = weir_connection_execute(connection, &SQL_EVICT_SQLITE, NO_VALUES, NULL,
                                         error);
    for (size_t i = 0; i < self->count && status == WEIR_OK; i++)
        status = read_quotas(self, connection, &SQL_QUOTAS_SQLITE,
                             VALUES(subscriptions[i], owner), error);
    return status;
}

/* A few of them at each beat. */
static enum weir_status evict_maria(struct weir_connection *connection,
                                    struct weir_error *error)
{
    enum { DEAD_SUBSCRIPTION, DEAD_PROCESS, WIDTH, EVICTED_MAX = 16 };
    struct weir_value dead[EVICTED_MAX * WIDTH];
    struct weir_rows rows;
    size_t count = 0;
    enum weir_status status =
        weir_connection_query(connection, &SQL_FIND_DEAD_MARIA,
                              VALUES(weir_integer(EVICTED_MAX)), &rows, error);

    while (status == WEIR_OK && (status = weir_rows_next(&rows, error)) == WEIR_OK) {
        dead[WIDTH * count + DEAD_SUBSCRIPTION] =
            weir_integer(weir_rows_integer(&rows, DEAD_SUBSCRIPTION));
        dead[WIDTH * count + DEAD_PROCESS] =
            weir_integer(weir_rows_integer(&rows, DEAD_PROCESS));
        count++;
    }
    weir_rows_close(&rows);
    status = status == WEIR_NO_ROW ? WEIR_OK : status;
    for (size_t i = 0; i < count && status == WEIR_OK; i++)
        status = weir_connection_execute(connection, &SQL_EVICT_MARIA, &dead[WIDTH * i],
                                         WIDTH, NULL, error);
    return status;
}

static enum weir_status heartbeat_maria(struct heartbeat *self,
                                        struct weir_connection *connection,
                                        struct weir_error *error)
{
    struct weir_value owner = weir_integer(self->process->owner);
    struct weir_buf quotas;
    enum weir_status status;

    weir_buf_init(&quotas, self->columns.heap, WEIR_VALUE_SIZE_MAX);
    status =
        weir_columns_json(&self->columns, COLUMN_COUNT, 0, self->count, &quotas, error);
    if (status == WEIR_OK)
        status = weir_connection_execute(
            connection, &SQL_HEARTBEAT_MARIA,
            VALUES(weir_text(weir_buf_get(&quotas)), OF_PROCESS(self->process)), NULL,
            error);
    if (status == WEIR_OK)
        status = evict_maria(connection, error);
    if (status == WEIR_OK)
        status = read_quotas(self, connection, &SQL_QUOTAS_MARIA,
                             VALUES(weir_text(weir_buf_get(&quotas)), owner), error);
    weir_buf_fini(&quotas);
    return status;
}

static enum weir_status heartbeat(struct heartbeat *self,
                                  struct weir_connection *connection,
                                  struct weir_error *error)
{
    const struct weir_engine_traits *traits = weir_connection_traits(connection);

    if (traits->one_writer)
        return weir_transact_once(connection, heartbeat_sqlite, self, error);
    if (traits->takes_arrays)
        return heartbeat_pg(self, connection, error);
    return heartbeat_maria(self, connection, error);
}

enum weir_status weir_process_heartbeat(struct weir_connection *connection,
                                        const struct weir_process *process,
                                        struct weir_quota *quotas, size_t count,
                                        struct weir_error *error)
{
    struct heartbeat self = {
        .process = process,
        .quotas = quotas,
        .count = count,
    };
    enum weir_status status;

    if (count == 0)
        return WEIR_OK;
    clear_quotas(&self);
    status = list_quotas(&self, weir_connection_config(connection)->heap, error);
    if (status == WEIR_OK)
        status = heartbeat(&self, connection, error);
    weir_columns_fini(&self.columns);
    return status;
}

enum weir_status weir_process_leave(struct weir_connection *connection, int64_t owner,
                                    struct weir_error *error)
{
    return weir_connection_execute(connection, &SQL_LEAVE, VALUES(weir_integer(owner)),
                                   NULL, error);
}
