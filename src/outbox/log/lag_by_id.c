/*
 * lag_by_id.c - see lag_by_id.h.
 *
 * The log has no index by partition, so rows are looked at one by one, from the
 * position that is furthest behind on, until all were, or more wait than are counted
 * exactly, or there are too many. Then the newest are looked at too, and what lies
 * between is estimated by the share that each partition has of those:
 *
 *   | front, looked at |        gap, estimated        | back, looked at |
 *   ^ furthest behind                                               head ^
 *
 * So a subscription that has caught up is counted exactly beside one that never moves.
 */
#include "outbox/log/lag_by_id.h"

#include "base/heap.h"
#include "base/no_memory.h"
#include "db/clock.h"
#include "db/query.h"
#include "weir/inspect.h"

enum {
    ENTRIES_FIRST = 64, /* room at first: one subscription */
    ROWS_MIN = 10000,   /* however much is set aside: nothing is said of a log
                         that was not read */
    BACK_ROWS = 20000,
    CLOCK_ROWS = 4096, /* between two looks at the clock */
};

/* Index (queue, name) of the subscriptions, then the key of the positions. */
static const struct weir_sql SQL_POSITIONS = {
    .name = "lag positions",
    .text = "SELECT a.pid, a.subscription, a.last_id"
            " FROM {p}_subscription s JOIN {p}_ack a ON a.subscription = s.id"
            " WHERE s.queue = {1} AND a.pid BETWEEN {1} * 64 AND {1} * 64 + 63"
            " ORDER BY a.pid, a.subscription",
    .parameters = "i",
};

/* By primary key, backwards. */
static const struct weir_sql SQL_BACK = {
    .name = "lag back",
    .text = "SELECT id, pid, created_us FROM {p}_log WHERE id > {1}"
            " ORDER BY id DESC LIMIT {2}",
    .parameters = "ii",
};

/* Index (partition, cut, id). Mostly nothing is, and then no partition need be asked. */
static const struct weir_sql SQL_ANY_ASIDE = {
    .name = "lag any aside",
    .text = "SELECT EXISTS (SELECT 1 FROM {p}_aside"
            " WHERE pid BETWEEN {1} * 64 AND {1} * 64 + 63)",
    .parameters = "i",
};

/* Index (partition, cut, id); it covers all but the time. Rows counted, the last of
 * them, the last there is, and the time of the first. */
#define ASIDE_ROWS " FROM {p}_aside WHERE pid = {1} AND cut = 0 AND id > {2}"
static const struct weir_sql SQL_ASIDE = {
    .name = "lag aside",
    .text = "SELECT count(*), max(id), (SELECT max(id)" ASIDE_ROWS "),"
            " (SELECT created_us" ASIDE_ROWS " ORDER BY id LIMIT 1)"
            " FROM (SELECT id" ASIDE_ROWS " ORDER BY id LIMIT {3}) counted",
    .parameters = "iii",
};

/* By primary key. */
static const struct weir_sql SQL_TIME_AFTER = {
    .name = "lag time",
    .text = "SELECT created_us FROM {p}_log WHERE id > {1} ORDER BY id LIMIT 1",
    .parameters = "i",
};

/* ---- positions --------------------------------------------------------------------- */

static enum weir_status make_room(struct weir_lag_tally *self, struct weir_error *error)
{
    size_t capacity = self->capacity == 0 ? ENTRIES_FIRST : self->capacity * 2;
    struct weir_lag_entry *entries;

    if (self->count < self->capacity)
        return WEIR_OK;
    entries = weir_heap_resize(self->heap, self->entries,
                               capacity * sizeof(struct weir_lag_entry));
    if (entries == NULL)
        return weir_no_memory(error, "lag");
    self->entries = entries;
    self->capacity = capacity;
    return WEIR_OK;
}

static const struct weir_column ENTRY[] = {
    COLUMN(struct weir_lag_entry, lag.pid, INTEGER),
    COLUMN(struct weir_lag_entry, lag.subscription, INTEGER),
    COLUMN(struct weir_lag_entry, log_position_id, INTEGER),
};

static enum weir_status add_entry(void *state, struct weir_rows *rows,
                                  struct weir_error *error)
{
    struct weir_lag_tally *self = state;
    struct weir_lag_entry entry = {.log_position_id = 0};
    enum weir_status status = weir_row_read(rows, COLUMNS(ENTRY), &entry, error);

    if (status == WEIR_OK)
        status = make_room(self, error);
    if (status != WEIR_OK)
        return status;
    self->entries[self->count++] = entry;
    self->first[weir_pid_partition(entry.lag.pid) + 1]++; /* summed up at the end */
    return WEIR_OK;
}

static enum weir_status read_positions(struct weir_lag_tally *self,
                                       struct weir_connection *connection,
                                       struct weir_error *error)
{
    enum weir_status status = weir_query_each(
        connection, &SQL_POSITIONS, VALUES(weir_integer(self->question.queue_id)),
        add_entry, self, error);

    for (int i = 0; i < WEIR_PARTITIONS_MAX; i++)
        self->first[i + 1] += self->first[i];
    return status;
}

static int64_t furthest_behind(const struct weir_lag_tally *self)
{
    int64_t lowest = INT64_MAX;

    for (size_t i = 0; i < self->count; i++) {
        if (self->entries[i].log_position_id < lowest)
            lowest = self->entries[i].log_position_id;
    }
    return lowest;
}

/* ---- counting ---------------------------------------------------------------------- */

static void note_time(struct weir_lag_entry *entry, int64_t created_us)
{
    if (entry->lag.oldest_us == 0 || created_us < entry->lag.oldest_us)
        entry->lag.oldest_us = created_us;
}

int64_t weir_lag_extrapolate(int64_t rows, int64_t from_id, int64_t counted_id,
                             int64_t last_id)
{
    return (int64_t)((double)rows * (double)(last_id - from_id) /
                     (double)(counted_id - from_id));
}

/* How many more are counted exactly; at least one is always looked at. */
static int64_t budget(const struct weir_lag_tally *self)
{
    return self->waiting < WEIR_LAG_EXACT_MAX ? WEIR_LAG_EXACT_MAX - self->waiting : 1;
}

struct aside {
    int64_t count;
    int64_t counted_id;
    int64_t last_id;
    int64_t oldest_us;
};
static const struct weir_column ASIDE[] = {
    COLUMN(struct aside, count, INTEGER),
    COLUMN(struct aside, counted_id, INTEGER),
    COLUMN(struct aside, last_id, INTEGER),
    COLUMN(struct aside, oldest_us, INTEGER),
};

static void note_aside(struct weir_lag_tally *self, struct weir_lag_entry *entry,
                       const struct aside *aside)
{
    int64_t count = aside->count;
    int64_t counted_id = aside->counted_id;
    int64_t last_id = aside->last_id;

    entry->lag.oldest_us = aside->oldest_us;
    entry->lag.waiting = count;
    entry->lag.estimate = counted_id < last_id;
    if (entry->lag.estimate)
        entry->lag.waiting =
            weir_lag_extrapolate(count, entry->log_position_id, counted_id, last_id);
    self->waiting += count;
}

static enum weir_status count_aside_of(struct weir_lag_tally *self,
                                       struct weir_lag_entry *entry,
                                       struct weir_connection *connection,
                                       struct weir_error *error)
{
    struct aside aside;
    enum weir_status status = weir_query_one(connection, &SQL_ASIDE,
                                             VALUES(weir_integer(entry->lag.pid),
                                                    weir_integer(entry->log_position_id),
                                                    weir_integer(budget(self))),
                                             INTO(ASIDE, &aside), error);

    if (status == WEIR_OK)
        note_aside(self, entry, &aside);
    return status;
}

static enum weir_status count_aside(struct weir_lag_tally *self,
                                    struct weir_connection *connection,
                                    struct weir_error *error)
{
    int64_t any = 0;
    enum weir_status status = weir_connection_query_integer(
        connection, &SQL_ANY_ASIDE, VALUES(weir_integer(self->question.queue_id)), &any,
        error);

    if (any == 0)
        return status;
    for (size_t i = 0; i < self->count && status == WEIR_OK; i++)
        status = count_aside_of(self, &self->entries[i], connection, error);
    return status;
}

void weir_lag_add(struct weir_lag_tally *self, const struct weir_lag_group *group,
                  enum weir_lag_where where)
{
    int32_t partition;

    if (group->pid < 0 || weir_pid_queue(group->pid) != self->question.queue_id)
        return;
    partition = weir_pid_partition(group->pid);
    if (where != WEIR_LAG_INCOMING)
        self->seen[partition] += group->rows;
    for (size_t i = self->first[partition]; i < self->first[partition + 1]; i++) {
        struct weir_lag_entry *entry = &self->entries[i];

        if (where != WEIR_LAG_INCOMING && group->id <= entry->log_position_id)
            continue;
        entry->lag.waiting += group->rows;
        self->waiting += group->rows;
        entry->in_front = entry->in_front || where == WEIR_LAG_FRONT;
        note_time(entry, group->oldest_us);
    }
}

void weir_lag_stretch_grow(struct weir_lag_stretch *self, int64_t first_id,
                           int64_t last_id, int64_t rows)
{
    if (self->rows == 0 || first_id < self->first_id)
        self->first_id = first_id;
    if (self->rows == 0 || last_id > self->last_id)
        self->last_id = last_id;
    self->rows += rows;
}

/* Not at each row. */
static void look_at_clock(struct weir_lag_tally *self, int64_t rows)
{
    const struct weir_lag_question *question = &self->question;

    if (question->look_us == 0 || rows < question->look_sure ||
        rows - self->clock_rows < CLOCK_ROWS)
        return;
    self->clock_rows = rows;
    self->out_of_time = weir_clock_now_ns() - self->begun_ns >= question->look_us * 1000;
}

bool weir_lag_is_enough(struct weir_lag_tally *self, int64_t rows)
{
    look_at_clock(self, rows);
    return self->out_of_time || (self->waiting > WEIR_LAG_EXACT_MAX && rows >= ROWS_MIN);
}

static const struct weir_column ROW[] = {
    COLUMN(struct weir_lag_group, id, INTEGER),
    COLUMN(struct weir_lag_group, pid, INTEGER),
    COLUMN(struct weir_lag_group, oldest_us, INTEGER),
};

struct counting {
    struct weir_lag_tally *tally;
    enum weir_lag_where where;
    struct weir_lag_stretch *stretch;
};

static enum weir_status count_row(void *state, struct weir_rows *rows,
                                  struct weir_error *error)
{
    const struct counting *self = state;
    struct weir_lag_group row = {.rows = 1};
    enum weir_status status = weir_row_read(rows, COLUMNS(ROW), &row, error);

    if (status != WEIR_OK)
        return status;
    weir_lag_add(self->tally, &row, self->where);
    weir_lag_stretch_grow(self->stretch, row.id, row.id, 1);
    return self->where == WEIR_LAG_FRONT &&
                   weir_lag_is_enough(self->tally, self->stretch->rows)
               ? WEIR_NO_ROW
               : WEIR_OK;
}

enum weir_status weir_lag_count_rows(struct weir_lag_tally *self,
                                     struct weir_connection *connection,
                                     const struct weir_sql *sql,
                                     enum weir_lag_where where, int64_t after_id,
                                     int64_t limit, struct weir_lag_stretch *out,
                                     struct weir_error *error)
{
    struct counting counting = {self, where, out};

    return weir_query_each(connection, sql,
                           VALUES(weir_integer(after_id), weir_integer(limit)), count_row,
                           &counting, error);
}

/* ---- estimating -------------------------------------------------------------------- */

static enum weir_status
estimate_entry(struct weir_lag_tally *self, struct weir_lag_entry *entry,
               struct weir_connection *connection, const struct weir_lag_stretch *front,
               const struct weir_lag_stretch *back, struct weir_error *error)
{
    int64_t from =
        entry->log_position_id > front->last_id ? entry->log_position_id : front->last_id;
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

static enum weir_status count_log(struct weir_lag_tally *self,
                                  const struct weir_lag_means *means,
                                  struct weir_connection *connection,
                                  struct weir_error *error)
{
    struct weir_lag_stretch front = {0};
    struct weir_lag_stretch back = {0};
    enum weir_status status =
        means->count_front(self, connection, furthest_behind(self), &front, error);

    if (status != WEIR_OK ||
        (front.rows < self->question.look_max && !weir_lag_is_enough(self, front.rows)))
        return status;
    status = weir_lag_count_rows(self, connection, &SQL_BACK, WEIR_LAG_BACK,
                                 front.last_id, BACK_ROWS, &back, error);
    if (status != WEIR_OK || back.rows < BACK_ROWS)
        return status;
    for (size_t i = 0; i < self->count && status == WEIR_OK; i++)
        status =
            estimate_entry(self, &self->entries[i], connection, &front, &back, error);
    return status;
}

/* ---- all of it --------------------------------------------------------------------- */

static enum weir_status count_all(struct weir_lag_tally *self,
                                  const struct weir_lag_means *means,
                                  struct weir_connection *connection,
                                  struct weir_error *error)
{
    enum weir_status status = read_positions(self, connection, error);

    if (status != WEIR_OK || self->count == 0)
        return status;
    status = count_aside(self, connection, error);
    if (status == WEIR_OK && means->count_incoming != NULL)
        status = means->count_incoming(self, connection, error);
    if (status == WEIR_OK)
        status = count_log(self, means, connection, error);
    return status;
}

/* In one snapshot, the caller's if it has one: a row that is moved aside meanwhile
 * counts once. */
static enum weir_status count_in_snapshot(struct weir_lag_tally *self,
                                          const struct weir_lag_means *means,
                                          struct weir_connection *connection,
                                          struct weir_error *error)
{
    enum weir_status status;

    if (weir_connection_transaction(connection) != WEIR_TRANSACTION_NONE)
        return count_all(self, means, connection, error);
    status = weir_connection_begin_read(connection, error);
    if (status != WEIR_OK)
        return status;
    status = count_all(self, means, connection, error);
    weir_connection_rollback(connection); /* nothing was written */
    return status;
}

enum weir_status weir_lag_by_id(const struct weir_lag_means *means,
                                struct weir_connection *connection,
                                const struct weir_lag_question *question,
                                weir_lag_fn visit, void *state, struct weir_error *error)
{
    struct weir_lag_tally tally = {
        .heap = weir_connection_config(connection)->heap,
        .question = *question,
        .begun_ns = weir_clock_now_ns(),
    };
    enum weir_status status = count_in_snapshot(&tally, means, connection, error);

    for (size_t i = 0; i < tally.count && status == WEIR_OK; i++) {
        const struct weir_lag *lag = &tally.entries[i].lag;

        /* An estimate of none is reported too: there may be some. */
        if (lag->waiting > 0 || lag->estimate)
            visit(state, lag);
    }
    weir_heap_free(tally.heap, tally.entries);
    return status;
}
