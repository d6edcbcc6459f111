/*
 * sweep_by_id.c - see sweep_by_id.h.
 *
 * The sweep walks the log from its beginning to its end, a window of rows at a time,
 * then what was set aside, then begins anew. state->cursor is the id behind which it
 * goes on; state->leaf says in which table: 0 the log, 1 aside.
 *
 *   look      without a lock: skip what cannot be removed, up to the first row that can
 *   remove    in a short write transaction: judge a window again, delete, set aside
 *
 * Judged twice because a subscription may begin in between; under the lock none can. A
 * row is judged by its *floor*: the least id that all subscriptions of its queue have
 * passed in its partition.
 *
 * Rows that are still needed are set aside only from a window that spans many ids: near
 * the head they are merely young, and moving them would write everything twice. Nothing
 * is left of a window whose rows were set aside, so the next one spans other ids, and
 * at most one message in so many is ever moved.
 *
 *   I1  a row is deleted from the log only if all subscriptions have passed it, or in the
 *       transaction that has put it aside
 *   I2  a window has every row of the log between its first and its last: on MariaDB it
 *       ends at a head that was known before (mariadb/log.h, M3)
 *   I3  where the log begins (MariaDB: a counter) moves only over rows that this
 *       transaction removes, from where it was: no row that is kept is ever before it
 *   I4  a row that is passed but retained by its queue is neither deleted nor set aside
 */
#include "outbox/log/sweep_by_id.h"

#include <string.h>

#include "base/fault_point.h"
#include "base/heap.h"
#include "base/no_memory.h"
#include "db/clock.h"
#include "db/query.h"
#include "weir/time.h"

enum {
    WINDOW_ROWS = 2000,     /* some milliseconds of the lock */
    WINDOW_ROWS_SMALL = 16, /* of a test */
    PROBE_ROWS = 64,        /* the first look: mostly the next row may go */
    WINDOWS_LOOKED_AT = 6,  /* per call, without a lock */
    ASIDE_SHARE = 8         /* at most one in so many is set aside */
};

enum table { THE_LOG, ASIDE, TABLE_COUNT };

/* How long the end of what is retained is remembered. */
#define RETAINED_NS WEIR_MINUTES(10)

/* By primary key. */
static const struct weir_sql SQL_WINDOW[TABLE_COUNT] = {
    [THE_LOG] = {.name = "sweep window",
                 .text = "SELECT id, pid, created_us FROM {p}_log WHERE id > {1}"
                         " ORDER BY id LIMIT {2}",
                 .parameters = "ii"},
    [ASIDE] = {.name = "sweep aside",
               .text = "SELECT id, pid, created_us FROM {p}_aside WHERE id > {1}"
                       " ORDER BY id LIMIT {2}",
               .parameters = "ii"},
};

/*
 * The floors of a queue: first the one of partitions without any position, as partition
 * -1; then those with one. Keys, and the index (queue, name). Everything of a queue
 * that is gone may go; nothing of a queue without subscriptions, unless it drops what
 * is unread. A subscription without a position has passed nothing. The first row also
 * tells the time up to which what was passed may go: the queue keeps what was created
 * later.
 */
static const struct weir_sql SQL_FLOORS = {
    .name = "sweep floors",
    .text = "SELECT -1, CASE WHEN q.id IS NULL THEN 9223372036854775807"
            " WHEN q.unread = 1 AND NOT EXISTS"
            "  (SELECT 1 FROM {p}_subscription s WHERE s.queue = {1})"
            " THEN 9223372036854775807 ELSE 0 END,"
            " CASE WHEN q.retain_us > 0 THEN {now} - q.retain_us"
            " ELSE 9223372036854775807 END"
            " FROM (SELECT 1) one LEFT JOIN {p}_queue q ON q.id = {1} "
            "UNION ALL "
            "SELECT a.pid, CASE WHEN count(*) ="
            "  (SELECT count(*) FROM {p}_subscription s WHERE s.queue = {1})"
            " THEN min(a.last_id) ELSE 0 END, 0"
            " FROM {p}_subscription s JOIN {p}_ack a ON a.subscription = s.id"
            " WHERE s.queue = {1} AND a.pid BETWEEN {1} * 64 AND {1} * 64 + 63"
            " GROUP BY a.pid",
    .parameters = "i",
};

/* A range of the primary key; what is in it was looked at under the same lock. */
static const struct weir_sql SQL_DELETE[TABLE_COUNT] = {
    [THE_LOG] = {.name = "sweep delete",
                 .text = "DELETE FROM {p}_log WHERE id BETWEEN {1} AND {2}",
                 .parameters = "ii"},
    [ASIDE] = {.name = "sweep delete aside",
               .text = "DELETE FROM {p}_aside WHERE id BETWEEN {1} AND {2}",
               .parameters = "ii"},
};

/* The place never goes back; the count changes in any case (log.h). What is there as a
 * whole begins behind what is removed, {3}; where nothing is retained it is not worth
 * while to be exact. */
static const struct weir_sql SQL_REMOVED = {
    .name = "sweep removed",
    .text = "UPDATE {p}_queue SET removals = removals + 1,"
            " removed_id = CASE WHEN removed_id < {2} THEN {2} ELSE removed_id END,"
            " whole_us = CASE WHEN retain_us = 0 THEN {now}"
            " WHEN whole_us < {3} THEN {3} ELSE whole_us END"
            " WHERE id = {1}",
    .parameters = "iii",
};

struct row {
    int64_t id;
    int64_t pid;
    int64_t created_us;
    bool passed;   /* by all, and old enough to go */
    bool retained; /* by all, and too young to go */
};

struct floor {
    int64_t pid;
    int64_t passed_id;
    int64_t young_us;   /* what was created later is retained */
    int64_t removed_id; /* highest that this step removes */
    int64_t removed_us; /* the newest of what this step removes */
};

struct window {
    struct row rows[WINDOW_ROWS];
    size_t count;
    size_t asked_for;                 /* up to WINDOW_ROWS */
    struct floor floors[WINDOW_ROWS]; /* by pid */
    size_t floor_count;
    struct weir_value ranges[2 * WINDOW_ROWS];
};

struct sweep {
    const struct weir_sweep_statements *statements;
    struct weir_connection *connection;
    struct weir_sweep_state *state;
    struct weir_sweep_report *report;
    struct window *window; /* owned */
    int64_t begin_id;      /* of the log: no row has it, or a lower one */
    int64_t end_id;        /* of the log: what is behind it is not looked at */
    size_t row_max;        /* of a window */
};

/* ---- looking ----------------------------------------------------------------------- */

static enum table table_of(const struct sweep *self)
{
    return self->state->leaf == 0 ? THE_LOG : ASIDE;
}

/* Nothing lies behind it, as far as this snapshot goes. */
static bool is_last(const struct window *window)
{
    return window->count < window->asked_for;
}

static const struct weir_column ROW[] = {
    COLUMN(struct row, id, INTEGER),
    COLUMN(struct row, pid, INTEGER),
    COLUMN(struct row, created_us, INTEGER),
};

static enum weir_status add_row(void *state, struct weir_rows *rows,
                                struct weir_error *error)
{
    const struct sweep *self = state;
    struct window *window = self->window;
    struct row row = {.id = 0};
    enum weir_status status = weir_row_read(rows, COLUMNS(ROW), &row, error);

    if (status != WEIR_OK)
        return status;
    if (row.id > self->end_id)
        return WEIR_NO_ROW;
    window->rows[window->count++] = row;
    return WEIR_OK;
}

static enum weir_status read_window(struct sweep *self, size_t row_max,
                                    struct weir_error *error)
{
    self->window->count = 0;
    self->window->asked_for = row_max;
    return weir_query_each(
        self->connection, &SQL_WINDOW[table_of(self)],
        VALUES(weir_integer(self->state->cursor), weir_integer((int64_t)row_max)),
        add_row, self, error);
}

/* Where it is, or belongs. */
static size_t floor_index(const struct window *window, int64_t pid)
{
    size_t low = 0;
    size_t high = window->floor_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (window->floors[middle].pid < pid)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct floor *find_floor(struct window *window, int64_t pid)
{
    return &window->floors[floor_index(window, pid)];
}

/* Each partition of the window once. There are few, as a rule. */
static void list_floors(struct window *window)
{
    window->floor_count = 0;
    for (size_t i = 0; i < window->count; i++) {
        int64_t pid = window->rows[i].pid;
        size_t index = floor_index(window, pid);
        struct floor *floor = &window->floors[index];

        if (index < window->floor_count && floor->pid == pid)
            continue;
        memmove(floor + 1, floor, (window->floor_count - index) * sizeof *floor);
        *floor = (struct floor){.pid = pid};
        window->floor_count++;
    }
}

/* Those of the queue that are in the window: from `first` on, up to the index
 * returned. */
static size_t end_of_queue(const struct window *window, size_t first)
{
    size_t end = first;

    while (end < window->floor_count && weir_pid_queue(window->floors[end].pid) ==
                                            weir_pid_queue(window->floors[first].pid))
        end++;
    return end;
}

struct floor_columns {
    int64_t pid; /* below 0: of all */
    int64_t passed_id;
    int64_t young_us;
};
static const struct weir_column FLOOR[] = {
    COLUMN(struct floor_columns, pid, INTEGER),
    COLUMN(struct floor_columns, passed_id, INTEGER),
    COLUMN(struct floor_columns, young_us, INTEGER),
};

struct floor_call {
    struct floor *floors;
    size_t first;
    size_t end;
};

static enum weir_status note_floor(void *state, struct weir_rows *rows,
                                   struct weir_error *error)
{
    const struct floor_call *self = state;
    struct floor_columns row;
    enum weir_status status = weir_row_read(rows, COLUMNS(FLOOR), &row, error);

    for (size_t i = self->first; i < self->end && status == WEIR_OK; i++) {
        struct floor *floor = &self->floors[i];

        if (row.pid == floor->pid || row.pid < 0)
            floor->passed_id = row.passed_id;
        if (row.pid < 0)
            floor->young_us = row.young_us;
    }
    return status;
}

static enum weir_status read_floors(struct sweep *self, size_t first, size_t end,
                                    struct weir_error *error)
{
    struct floor_call call = {self->window->floors, first, end};
    int64_t queue_id = weir_pid_queue(call.floors[first].pid);

    return weir_query_each(self->connection, &SQL_FLOORS, VALUES(weir_integer(queue_id)),
                           note_floor, &call, error);
}

static enum weir_status judge(struct sweep *self, struct weir_error *error)
{
    struct window *window = self->window;
    enum weir_status status = WEIR_OK;
    size_t end;

    list_floors(window);
    for (size_t i = 0; i < window->floor_count && status == WEIR_OK; i = end) {
        end = end_of_queue(window, i);
        status = read_floors(self, i, end, error);
    }
    for (size_t i = 0; i < window->count && status == WEIR_OK; i++) {
        struct row *row = &window->rows[i];

        const struct floor *floor = find_floor(window, row->pid);
        bool passed = row->id <= floor->passed_id;

        row->retained = passed && row->created_us > floor->young_us;
        row->passed = passed && !row->retained;
    }
    return status;
}

static enum weir_status read_and_judge(struct sweep *self, size_t row_max,
                                       struct weir_error *error)
{
    enum weir_status status = read_window(self, row_max, error);

    return status == WEIR_OK ? judge(self, error) : status;
}

/* To the next table, or to the end of the round. */
static void turn(struct sweep *self)
{
    self->state->cursor = 0;
    self->state->leaf = self->state->leaf == 0 ? 1 : 0;
    self->report->more = self->state->leaf != 0;
}

/* What is behind the beginning is gone, but on MariaDB it may be in the index for a
 * long time. */
static enum weir_status skip_what_is_gone(struct sweep *self, struct weir_error *error)
{
    enum weir_status status;

    if (self->statements->begin == NULL || table_of(self) != THE_LOG)
        return WEIR_OK;
    status = weir_connection_query_integer(self->connection, self->statements->begin,
                                           NO_VALUES, &self->begin_id, error);
    if (status == WEIR_OK && self->state->cursor < self->begin_id)
        self->state->cursor = self->begin_id;
    return status;
}

static enum weir_status find_end(struct sweep *self, struct weir_error *error)
{
    if (self->statements->end == NULL)
        return WEIR_OK;
    return weir_connection_query_integer(self->connection, self->statements->end,
                                         NO_VALUES, &self->end_id, error);
}

static enum weir_status find_bounds(struct sweep *self, struct weir_error *error)
{
    enum weir_status status = skip_what_is_gone(self, error);

    return status == WEIR_OK ? find_end(self, error) : status;
}

static int64_t span(const struct window *window, size_t count)
{
    return window->rows[count - 1].id - window->rows[0].id + 1;
}

/* So few of so many ids that they may be moved. */
static bool are_few(const struct window *window, size_t kept, size_t count)
{
    return (int64_t)kept * ASIDE_SHARE <= span(window, count);
}

static size_t leading_kept(const struct window *window)
{
    size_t kept = 0;

    while (kept < window->count && !window->rows[kept].passed)
        kept++;
    return kept;
}

static size_t count_retained(const struct window *window, size_t count)
{
    size_t retained = 0;

    for (size_t i = 0; i < count; i++)
        retained += window->rows[i].retained;
    return retained;
}

/*
 * Nothing but what is retained: where such a stretch ends is remembered for a while, so
 * that a week of messages is not read in every round. It is read from its beginning
 * until nothing there is old enough to go; what becomes so later is behind that.
 */
static void skip_retained(struct sweep *self)
{
    struct weir_sweep_stretch *stretch = &self->state->retained[self->state->leaf];
    int64_t first = self->window->rows[0].id;
    int64_t last = self->window->rows[self->window->count - 1].id;
    int64_t now_ns = weir_clock_now_ns();

    if (first >= stretch->first_id && last < stretch->last_id &&
        now_ns < stretch->until_ns)
        last = stretch->last_id;
    else if (self->state->cursor > 0 && self->state->cursor == stretch->last_id)
        stretch->last_id = last;
    else
        *stretch = (struct weir_sweep_stretch){first, last, now_ns + RETAINED_NS};
    self->state->cursor = last;
}

/* Move the cursor over what must stay, but not over rows that can be set aside with
 * what follows them. *found: a row behind it may go. */
static enum weir_status look_at(struct sweep *self, size_t row_max, bool *found,
                                struct weir_error *error)
{
    const struct window *window = self->window;
    enum weir_status status = read_and_judge(self, row_max, error);
    size_t kept;

    if (status != WEIR_OK)
        return status;
    kept = leading_kept(window);
    *found = kept < window->count;
    if (!*found && kept > 0 && kept == window->asked_for &&
        count_retained(window, kept) == kept)
        skip_retained(self);
    else if (*found ? kept > 0 && (!are_few(window, kept, window->count) ||
                                   count_retained(window, kept) > 0)
                    : kept == self->row_max)
        self->state->cursor = window->rows[kept - 1].id;
    if (!*found && is_last(window))
        turn(self);
    return WEIR_OK;
}

static enum weir_status look(struct sweep *self, bool *found, struct weir_error *error)
{
    enum weir_status status = find_bounds(self, error);

    *found = false;
    self->report->more = true;
    for (int n = 0; n < WINDOWS_LOOKED_AT && status == WEIR_OK && !*found; n++) {
        bool probe = n == 0 && self->row_max > PROBE_ROWS;

        status = look_at(self, probe ? PROBE_ROWS : self->row_max, found, error);
        if (!self->report->more)
            break;
    }
    return status;
}

/* ---- removing ---------------------------------------------------------------------- */

/* Rows side by side that are all passed, or all not. */
static size_t run_length(const struct row *rows, size_t count)
{
    size_t length = 1;

    while (length < count && rows[length].passed == rows[0].passed)
        length++;
    return length;
}

/* The ranges of ids of the runs that are passed, or that are not, as parameters. */
static size_t list_runs(struct window *window, bool passed, size_t count)
{
    const struct row *rows = window->rows;
    size_t runs = 0;
    size_t length;

    for (size_t i = 0; i < count; i += length) {
        length = run_length(rows + i, count - i);
        if (rows[i].passed != passed)
            continue;
        window->ranges[runs * 2] = weir_integer(rows[i].id);
        window->ranges[runs * 2 + 1] = weir_integer(rows[i + length - 1].id);
        runs++;
    }
    return runs;
}

/* Run `sql` for each run of rows that are passed, or that are not; *sum grows by the
 * rows. */
static enum weir_status change_runs(struct sweep *self, const struct weir_sql *sql,
                                    bool passed, size_t count, int64_t *sum,
                                    struct weir_error *error)
{
    size_t runs = list_runs(self->window, passed, count);
    int64_t changed = 0;
    enum weir_status status = WEIR_OK;

    if (runs > 0)
        status = weir_connection_execute_many(self->connection, sql, self->window->ranges,
                                              runs, 2, &changed, error);
    *sum += changed;
    return status;
}

/* Copy what is still needed and delete everything. */
static enum weir_status empty_window(struct sweep *self, size_t count,
                                     struct weir_error *error)
{
    const struct row *rows = self->window->rows;
    int64_t deleted = 0;
    enum weir_status status = change_runs(self, self->statements->set_aside, false, count,
                                          &self->report->aside, error);

    if (status == WEIR_OK)
        status = weir_connection_execute(
            self->connection, &SQL_DELETE[THE_LOG],
            VALUES(weir_integer(rows[0].id), weir_integer(rows[count - 1].id)), &deleted,
            error);
    self->report->removed = deleted - self->report->aside;
    return status;
}

static int64_t highest_removed(const struct window *window, size_t first, size_t end)
{
    int64_t highest = 0;

    for (size_t i = first; i < end; i++) {
        if (window->floors[i].removed_id > highest)
            highest = window->floors[i].removed_id;
    }
    return highest;
}

static int64_t newest_removed(const struct window *window, size_t first, size_t end)
{
    int64_t newest = 0;

    for (size_t i = first; i < end; i++) {
        if (window->floors[i].removed_us > newest)
            newest = window->floors[i].removed_us;
    }
    return newest;
}

static void note_row(struct floor *floor, const struct row *row)
{
    floor->removed_id = row->id;
    if (row->created_us > floor->removed_us)
        floor->removed_us = row->created_us;
}

/* A subscription that begins from now on must begin behind what goes now. */
static enum weir_status note_removed(struct sweep *self, size_t count,
                                     struct weir_error *error)
{
    struct window *window = self->window;
    enum weir_status status = WEIR_OK;
    size_t end;

    for (size_t i = 0; i < count; i++) {
        if (window->rows[i].passed)
            note_row(find_floor(window, window->rows[i].pid), &window->rows[i]);
    }
    for (size_t i = 0; i < window->floor_count && status == WEIR_OK; i = end) {
        int64_t queue_id = weir_pid_queue(window->floors[i].pid);
        int64_t removed_id;

        end = end_of_queue(window, i);
        removed_id = highest_removed(window, i, end);
        if (removed_id > 0)
            status = weir_connection_execute(
                self->connection, &SQL_REMOVED,
                VALUES(weir_integer(queue_id), weir_integer(removed_id),
                       weir_integer(newest_removed(window, i, end) + 1)),
                NULL, error);
    }
    return status;
}

/* Up to the last row that may go: what comes behind it is left alone. */
static size_t trimmed_count(const struct window *window)
{
    size_t count = window->count;

    while (count > 0 && !window->rows[count - 1].passed)
        count--;
    return count;
}

static size_t kept_count(const struct window *window, size_t count)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++)
        kept += !window->rows[i].passed;
    return kept;
}

/* The rows (I3) at the front of the window, all of them gone, of which the first is the
 * first of the log. */
static enum weir_status move_begin(struct sweep *self, size_t gone,
                                   struct weir_error *error)
{
    int64_t begin_id = self->begin_id;

    if (self->statements->move_begin == NULL || table_of(self) != THE_LOG || gone == 0 ||
        self->state->cursor != begin_id)
        return WEIR_OK;
    return weir_connection_execute(
        self->connection, self->statements->move_begin,
        VALUES(weir_integer(begin_id), weir_integer(self->window->rows[gone - 1].id)),
        NULL, error);
}

static bool can_be_emptied(const struct sweep *self, size_t count)
{
    const struct window *window = self->window;
    size_t kept = kept_count(window, count);

    return table_of(self) == THE_LOG && kept > 0 && are_few(window, kept, count) &&
           count_retained(window, count) == 0 &&
           span(window, window->count) >= (int64_t)self->row_max;
}

static enum weir_status remove_rows(struct sweep *self, size_t count,
                                    struct weir_error *error)
{
    const struct window *window = self->window;
    size_t gone = count;
    enum weir_status status;

    if (can_be_emptied(self, count)) {
        status = empty_window(self, count, error);
    } else {
        status = change_runs(self, &SQL_DELETE[table_of(self)], true, count,
                             &self->report->removed, error);
        gone = window->rows[0].passed ? run_length(window->rows, count) : 0;
    }
    if (status == WEIR_OK)
        status = note_removed(self, count, error);
    return status == WEIR_OK ? move_begin(self, gone, error) : status;
}

/* From here to the end of the transaction no process can subscribe. */
static enum weir_status lock(struct sweep *self, struct weir_error *error)
{
    enum weir_status status = WEIR_OK;

    if (self->statements->lock != NULL)
        status = weir_connection_execute(self->connection, self->statements->lock,
                                         NO_VALUES, NULL, error);
    return status == WEIR_OK ? find_bounds(self, error) : status;
}

/* Another process has the lock: it sweeps, and does what we would have done, or
 * it subscribes. */
static enum weir_status leave(struct sweep *self, struct weir_error *error)
{
    weir_connection_rollback(self->connection);
    if (error != NULL)
        weir_error_clear(error);
    self->report->more = false;
    return WEIR_OK;
}

/* Under the lock. The state moves only when it is committed. */
static enum weir_status remove_window(struct sweep *self, struct weir_error *error)
{
    const struct window *window = self->window;
    size_t count = 0;
    enum weir_status status = weir_connection_begin_own(self->connection, error);

    if (status != WEIR_OK)
        return status;
    status = lock(self, error);
    if (status == WEIR_LOCKED)
        return leave(self, error);
    if (status == WEIR_OK)
        status = read_and_judge(self, self->row_max, error);
    if (status == WEIR_OK) {
        count = trimmed_count(window);
        status = count > 0 ? remove_rows(self, count, error) : WEIR_OK;
    }
    if (status == WEIR_OK)
        status = weir_connection_commit(self->connection, error);
    else
        weir_connection_rollback(self->connection);
    if (status != WEIR_OK)
        return status;
    if (is_last(window))
        turn(self);
    else
        self->state->cursor = window->rows[count > 0 ? count - 1 : window->count - 1].id;
    return WEIR_OK;
}

/* ---- a step ------------------------------------------------------------------------ */

static enum weir_status step(struct sweep *self, struct weir_error *error)
{
    bool found = false;
    enum weir_status status = look(self, &found, error);

    if (status == WEIR_OK && found)
        status = remove_window(self, error);
    if (status != WEIR_OK)
        *self->report = (struct weir_sweep_report){.more = false};
    return status;
}

enum weir_status weir_sweep_by_id(const struct weir_outbox_log *log,
                                  const struct weir_sweep_statements *statements,
                                  struct weir_connection *connection,
                                  struct weir_sweep_state *state,
                                  struct weir_sweep_report *report,
                                  struct weir_error *error)
{
    const struct weir_heap *heap = weir_connection_config(connection)->heap;
    struct sweep self = {
        .statements = statements,
        .connection = connection,
        .state = state,
        .report = report,
        .end_id = INT64_MAX,
        .row_max = WEIR_POINT(log->points, "sweep.small_window") ? WINDOW_ROWS_SMALL
                                                                 : WINDOW_ROWS,
    };
    enum weir_status status;

    *report = (struct weir_sweep_report){.more = false};
    self.window = weir_heap_alloc(heap, sizeof *self.window);
    if (self.window == NULL)
        return weir_no_memory(error, "sweep");
    status = step(&self, error);
    weir_heap_free(heap, self.window);
    return status;
}
