/*
 * lag_sqlite.c - how much waits, on SQLite.
 *
 * The log has no index by partition, so rows are looked at one by one, from the position that is
 * furthest behind on, until all were, or more wait than are counted exactly, or there are too many.
 * Then the newest are looked at too, and what lies between is estimated by the share that each
 * partition has of those:
 *
 *   | front, looked at |        gap, estimated        | back, looked at |
 *   ^ furthest behind                                               head ^
 *
 * So a subscription that has caught up is counted exactly beside one that never moves.
 */
#include "outbox/log_sqlite.h"

#include "base/heap.h"
#include "weir/inspect.h"

enum {
    ENTRIES_FIRST = 64, /* room at first: one subscription */
    FRONT_ROWS_MIN =
        10000, /* however much is set aside: nothing is said of a log that nobody
                               looked at */
    BACK_ROWS = 20000,
};

/* Index (queue, name) of the subscriptions, then the key of the positions. */
static const struct weir_sql SQL_POSITIONS = {
    .name = "lag positions",
    .text = "SELECT a.partition, a.subscription, a.last_id"
            " FROM {p}_subscription s JOIN {p}_ack a ON a.subscription = s.id"
            " WHERE s.queue = {1} AND a.partition BETWEEN {1} * 64 AND {1} * 64 + 63"
            " ORDER BY a.partition, a.subscription",
    .parameters = "i",
};

/* By primary key, forwards and backwards. */
static const struct weir_sql SQL_FRONT = {
    .name = "lag front",
    .text = "SELECT id, partition, created_us FROM {p}_log WHERE id > {1}"
            " ORDER BY id LIMIT {2}",
    .parameters = "ii",
};
static const struct weir_sql SQL_BACK = {
    .name = "lag back",
    .text = "SELECT id, partition, created_us FROM {p}_log WHERE id > {1}"
            " ORDER BY id DESC LIMIT {2}",
    .parameters = "ii",
};

/* Index (partition, cut, id); it covers all but the time. Rows counted, the last of them, the
 * last there is, and the time of the first. */
#define ASIDE_ROWS " FROM {p}_aside WHERE partition = {1} AND cut = 0 AND id > {2}"
static const struct weir_sql SQL_ASIDE = {
    .name = "lag aside",
    .text = "SELECT count(*), max(id), (SELECT max(id)" ASIDE_ROWS "),"
            " (SELECT created_us" ASIDE_ROWS " ORDER BY id LIMIT 1)"
            " FROM (SELECT id" ASIDE_ROWS " ORDER BY id LIMIT {3})",
    .parameters = "iii",
};

/* By primary key. */
static const struct weir_sql SQL_TIME_AFTER = {
    .name = "lag time",
    .text = "SELECT created_us FROM {p}_log WHERE id > {1} ORDER BY id LIMIT 1",
    .parameters = "i",
};

/* One subscription in one partition. */
struct entry {
    struct weir_lag lag;
    int64_t place_id;
    bool in_front; /* something of it waits in the front */
};

/* Rows side by side, all of which were looked at. */
struct stretch {
    int64_t rows;
    int64_t first_id; /* lowest */
    int64_t last_id;
};

struct tally {
    const struct weir_heap *heap; /* borrowed */
    struct weir_lag_question question;
    struct entry *entries; /* owned; by partition, then subscription */
    size_t count;
    size_t capacity;
    size_t
        first[WEIR_PARTITIONS_MAX + 1]; /* entries of partition n: first[n]..first[n+1] */
    int64_t seen[WEIR_PARTITIONS_MAX];  /* rows of the log looked at */
    int64_t waiting;                    /* for all of them, as far as counted */
};

/* ---- positions ---------------------------------------------------------------------------- */

static enum weir_status make_room(struct tally *self, struct weir_error *error)
{
    size_t capacity = self->capacity == 0 ? ENTRIES_FIRST : self->capacity * 2;
    struct entry *entries;

    if (self->count < self->capacity)
        return WEIR_OK;
    entries =
        weir_heap_resize(self->heap, self->entries, capacity * sizeof(struct entry));
    if (entries == NULL)
        return weir_error_set(error, WEIR_NO_MEMORY, "lag: out of memory");
    self->entries = entries;
    self->capacity = capacity;
    return WEIR_OK;
}

static enum weir_status add_entry(struct tally *self, struct weir_rows *rows,
                                  struct weir_error *error)
{
    int64_t pid = weir_rows_integer(rows, 0);
    enum weir_status status = make_room(self, error);

    if (status != WEIR_OK)
        return status;
    self->entries[self->count++] = (struct entry){
        .lag = {.pid = pid, .subscription = weir_rows_integer(rows, 1)},
        .place_id = weir_rows_integer(rows, 2),
    };
    self->first[weir_pid_partition(pid) + 1]++; /* summed up when all are there */
    return WEIR_OK;
}

static enum weir_status read_positions(struct tally *self,
                                       struct weir_connection *connection,
                                       struct weir_error *error)
{
    struct weir_rows rows;
    enum weir_status status = weir_connection_query(
        connection, &SQL_POSITIONS, VALUES(weir_integer(self->question.queue_id)), &rows,
        error);

    while (status == WEIR_OK && (status = weir_rows_next(&rows, error)) == WEIR_OK)
        status = add_entry(self, &rows, error);
    weir_rows_close(&rows);
    for (int i = 0; i < WEIR_PARTITIONS_MAX; i++)
        self->first[i + 1] += self->first[i];
    return status == WEIR_NO_ROW ? WEIR_OK : status;
}

static int64_t furthest_behind(const struct tally *self)
{
    int64_t lowest = INT64_MAX;

    for (size_t i = 0; i < self->count; i++) {
        if (self->entries[i].place_id < lowest)
            lowest = self->entries[i].place_id;
    }
    return lowest;
}

/* ---- counting ----------------------------------------------------------------------------- */

static void note_time(struct entry *entry, int64_t created_us)
{
    if (entry->lag.oldest_us == 0 || created_us < entry->lag.oldest_us)
        entry->lag.oldest_us = created_us;
}

/* Rows counted up to an id, if it goes on like that to the last id. */
static int64_t extrapolate(int64_t count, int64_t from_id, int64_t counted_id,
                           int64_t last_id)
{
    return (int64_t)((double)count * (double)(last_id - from_id) /
                     (double)(counted_id - from_id));
}

/* How many more are counted exactly; at least one is always looked at. */
static int64_t budget(const struct tally *self)
{
    return self->waiting < WEIR_LAG_EXACT_MAX ? WEIR_LAG_EXACT_MAX - self->waiting : 1;
}

static void note_aside(struct tally *self, struct entry *entry, struct weir_rows *rows)
{
    int64_t count = weir_rows_integer(rows, 0);
    int64_t counted_id = weir_rows_integer(rows, 1);
    int64_t last_id = weir_rows_integer(rows, 2);

    entry->lag.oldest_us = weir_rows_integer(rows, 3);
    entry->lag.waiting = count;
    entry->lag.estimate = counted_id < last_id;
    if (entry->lag.estimate)
        entry->lag.waiting = extrapolate(count, entry->place_id, counted_id, last_id);
    self->waiting += count;
}

static enum weir_status count_aside_of(struct tally *self, struct entry *entry,
                                       struct weir_connection *connection,
                                       struct weir_error *error)
{
    struct weir_rows rows;
    enum weir_status status = weir_connection_query(connection, &SQL_ASIDE,
                                                    VALUES(weir_integer(entry->lag.pid),
                                                           weir_integer(entry->place_id),
                                                           weir_integer(budget(self))),
                                                    &rows, error);

    if (status == WEIR_OK)
        status = weir_rows_next(&rows, error);
    if (status == WEIR_OK)
        note_aside(self, entry, &rows);
    weir_rows_close(&rows);
    return status;
}

static enum weir_status count_aside(struct tally *self,
                                    struct weir_connection *connection,
                                    struct weir_error *error)
{
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; i < self->count && status == WEIR_OK; i++)
        status = count_aside_of(self, &self->entries[i], connection, error);
    return status;
}

static void count_row(struct tally *self, struct weir_rows *rows, bool in_front)
{
    int64_t id = weir_rows_integer(rows, 0);
    int64_t pid = weir_rows_integer(rows, 1);
    int64_t created_us = weir_rows_integer(rows, 2);
    int32_t partition = weir_pid_partition(pid);

    if (weir_pid_queue(pid) != self->question.queue_id)
        return;
    self->seen[partition]++;
    for (size_t i = self->first[partition]; i < self->first[partition + 1]; i++) {
        struct entry *entry = &self->entries[i];

        if (id <= entry->place_id)
            continue;
        entry->lag.waiting++;
        self->waiting++;
        entry->in_front = entry->in_front || in_front;
        note_time(entry, created_us);
    }
}

static bool is_enough(const struct tally *self, const struct stretch *front)
{
    return self->waiting > WEIR_LAG_EXACT_MAX && front->rows >= FRONT_ROWS_MIN;
}

/* Up to `limit` rows; of the front, no more than are enough. */
static enum weir_status count_stretch(struct tally *self,
                                      struct weir_connection *connection,
                                      const struct weir_sql *sql, int64_t after_id,
                                      int64_t limit, struct stretch *out,
                                      struct weir_error *error)
{
    struct weir_rows rows;
    enum weir_status status = weir_connection_query(
        connection, sql, VALUES(weir_integer(after_id), weir_integer(limit)), &rows,
        error);

    *out = (struct stretch){0, INT64_MAX, 0};
    while (status == WEIR_OK && (status = weir_rows_next(&rows, error)) == WEIR_OK) {
        int64_t id = weir_rows_integer(&rows, 0);

        count_row(self, &rows, sql == &SQL_FRONT);
        out->rows++;
        out->first_id = id < out->first_id ? id : out->first_id;
        out->last_id = id > out->last_id ? id : out->last_id;
        if (sql == &SQL_FRONT && is_enough(self, out))
            break;
    }
    weir_rows_close(&rows);
    return status == WEIR_NO_ROW ? WEIR_OK : status;
}

/* ---- estimating --------------------------------------------------------------------------- */

static enum weir_status estimate_entry(struct tally *self, struct entry *entry,
                                       struct weir_connection *connection,
                                       const struct stretch *front,
                                       const struct stretch *back,
                                       struct weir_error *error)
{
    int64_t from = entry->place_id > front->last_id ? entry->place_id : front->last_id;
    double gap = (double)(back->first_id - 1 - from);
    double looked_at = (double)(front->last_id - front->first_id + 1) +
                       (double)(back->last_id - back->first_id + 1);
    double share = (double)self->seen[weir_pid_partition(entry->lag.pid)] / looked_at;
    int64_t oldest_us = 0;
    enum weir_status status;

    if (gap <= 0)
        return WEIR_OK;
    entry->lag.estimate = true;
    entry->lag.waiting += (int64_t)(share * gap);
    if (entry->in_front || entry->lag.waiting == 0)
        return WEIR_OK;
    /* Its oldest is in the gap, and not older than the gap's first. */
    status = weir_connection_query_integer(connection, &SQL_TIME_AFTER,
                                           VALUES(weir_integer(from)), &oldest_us, error);
    if (status == WEIR_OK)
        note_time(entry, oldest_us);
    return status == WEIR_NO_ROW ? WEIR_OK : status;
}

static enum weir_status count_log(struct tally *self, struct weir_connection *connection,
                                  struct weir_error *error)
{
    int64_t look_max = self->question.look_max;
    struct stretch front = {0};
    struct stretch back = {0};
    enum weir_status status = count_stretch(
        self, connection, &SQL_FRONT, furthest_behind(self), look_max, &front, error);

    if (status != WEIR_OK || (front.rows < look_max && !is_enough(self, &front)))
        return status;
    status = count_stretch(self, connection, &SQL_BACK, front.last_id, BACK_ROWS, &back,
                           error);
    if (status != WEIR_OK || back.rows < BACK_ROWS)
        return status;
    for (size_t i = 0; i < self->count && status == WEIR_OK; i++)
        status =
            estimate_entry(self, &self->entries[i], connection, &front, &back, error);
    return status;
}

/* ---- all of it ---------------------------------------------------------------------------- */

static enum weir_status count_all(struct tally *self, struct weir_connection *connection,
                                  struct weir_error *error)
{
    enum weir_status status = read_positions(self, connection, error);

    if (status != WEIR_OK || self->count == 0)
        return status;
    status = count_aside(self, connection, error);
    if (status == WEIR_OK)
        status = count_log(self, connection, error);
    return status;
}

/* In one snapshot, the caller's if it has one: a row that is moved aside meanwhile counts once. */
static enum weir_status count_in_snapshot(struct tally *self,
                                          struct weir_connection *connection,
                                          struct weir_error *error)
{
    enum weir_status status;

    if (weir_connection_transaction(connection) != WEIR_TRANSACTION_NONE)
        return count_all(self, connection, error);
    status = weir_connection_begin_read(connection, error);
    if (status != WEIR_OK)
        return status;
    status = count_all(self, connection, error);
    weir_connection_rollback(connection); /* nothing was written */
    return status;
}

enum weir_status weir_log_sqlite_lag(const struct weir_outbox_log *self,
                                     struct weir_connection *connection,
                                     const struct weir_lag_question *question,
                                     weir_lag_fn visit, void *state,
                                     struct weir_error *error)
{
    struct tally tally = {
        .heap = weir_connection_config(connection)->heap,
        .question = *question,
    };
    enum weir_status status = count_in_snapshot(&tally, connection, error);

    (void)self;
    for (size_t i = 0; i < tally.count && status == WEIR_OK; i++) {
        const struct weir_lag *lag = &tally.entries[i].lag;

        /* An estimate of none is told too: there may be some. */
        if (lag->waiting > 0 || lag->estimate)
            visit(state, lag);
    }
    weir_heap_free(tally.heap, tally.entries);
    return status;
}
