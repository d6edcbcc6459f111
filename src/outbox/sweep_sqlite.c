/*
 * sweep_sqlite.c - removing from the log on SQLite what everybody has passed.
 *
 * The sweep walks the log from its beginning to its end, a window of rows at a time, then what
 * was set aside, then begins anew. state->cursor is the id behind which it goes on; state->leaf
 * says in which table: 0 the log, 1 aside.
 *
 *   look      without a lock: skip what cannot be removed, up to the first row that can
 *   remove    in a short write transaction: judge a window again, delete, set aside
 *
 * Judged twice because a subscription may begin in between; under the write lock none can. A row
 * is judged by its *floor*: the least id that all subscriptions of its queue have passed in its
 * partition.
 *
 * Rows that are still needed are set aside only from a window that is full: near the head they
 * are merely young, and moving them would write everything twice.
 *
 *   I1  a row is deleted from the log only if all subscriptions have passed it, or in the
 *       transaction that has put it aside
 */
#include "outbox/log_sqlite.h"

#include <string.h>

#include "base/heap.h"
#include "base/point.h"
#include "db/db.h"
#include "db/sqlite_checkpoint.h"

enum {
    WINDOW_ROWS = 2000,     /* a few milliseconds of the write lock */
    WINDOW_ROWS_SMALL = 16, /* of a test */
    PROBE_ROWS = 64,        /* the first look: mostly the next row may go */
    WINDOWS_LOOKED_AT = 6,  /* per call, without a lock */
    ASIDE_SHARE = 8,        /* at most one in so many is set aside */
    /* At the end of a round a log of this size is moved into the file: as many pages as SQLite
     * takes for it when left alone. */
    WAL_SIZE_WORTH_IT = 4 * 1024 * 1024
};

enum table { THE_LOG, ASIDE, TABLE_COUNT };

/* By primary key. */
static const struct weir_sql SQL_WINDOW[TABLE_COUNT] = {
    [THE_LOG] = {.name = "sweep window",
                 .text = "SELECT id, partition FROM {p}_log WHERE id > {1}"
                         " ORDER BY id LIMIT {2}",
                 .parameters = "ii"},
    [ASIDE] = {.name = "sweep aside",
               .text = "SELECT id, partition FROM {p}_aside WHERE id > {1}"
                       " ORDER BY id LIMIT {2}",
               .parameters = "ii"},
};

/*
 * The floor of one partition. All keys and the index (queue, name). Everything of a queue that is
 * gone may go; nothing of a queue without subscriptions, unless it drops what is unread. A
 * subscription without a position has passed nothing.
 */
static const struct weir_sql SQL_FLOOR = {
    .name = "sweep floor",
    .text = "SELECT CASE WHEN q.id IS NULL THEN 9223372036854775807 ELSE coalesce("
            " (SELECT min(coalesce(a.last_id, 0)) FROM {p}_subscription s"
            "  LEFT JOIN {p}_ack a ON a.subscription = s.id AND a.partition = {1}"
            "  WHERE s.queue = {2}),"
            " CASE WHEN q.unread = 1 THEN 9223372036854775807 ELSE 0 END) END"
            " FROM (SELECT 1) LEFT JOIN {p}_queue q ON q.id = {2}",
    .parameters = "ii",
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

static const struct weir_sql SQL_SET_ASIDE = {
    .name = "set aside",
    .text = "INSERT INTO {p}_aside"
            " (partition, id, created_us, uid, key, type, headers, payload)"
            " SELECT partition, id, created_us, uid, key, type, headers, payload"
            " FROM {p}_log WHERE id BETWEEN {1} AND {2}",
    .parameters = "ii",
};

/* Never back. */
static const struct weir_sql SQL_REMOVED = {
    .name = "sweep removed",
    .text = "UPDATE {p}_queue SET removed_id = {2} WHERE id = {1} AND removed_id < {2}",
    .parameters = "ii",
};

struct row {
    int64_t id;
    int64_t pid;
    bool passed; /* by all */
};

struct floor {
    int64_t pid;
    int64_t passed_id;
    int64_t removed_id; /* highest that this step removes */
};

struct window {
    struct row rows[WINDOW_ROWS];
    size_t count;
    size_t asked_for;                 /* up to WINDOW_ROWS */
    struct floor floors[WINDOW_ROWS]; /* by pid */
    size_t floor_count;
};

struct sweep {
    struct weir_connection *connection;
    struct weir_sweep_state *state;
    struct weir_sweep_report *report;
    struct window *window; /* owned */
    size_t row_max;        /* of a window */
    bool by_id_only;       /* a bug: against I1 */
};

/* ---- looking ------------------------------------------------------------------------------ */

static enum table table_of(const struct sweep *self)
{
    return self->state->leaf == 0 ? THE_LOG : ASIDE;
}

/* Nothing lies behind it, as far as this snapshot goes. */
static bool is_last(const struct window *window)
{
    return window->count < window->asked_for;
}

static enum weir_status read_window(struct sweep *self, size_t row_max,
                                    struct weir_error *error)
{
    struct window *window = self->window;
    struct weir_rows rows;
    enum weir_status status = weir_connection_query(
        self->connection, &SQL_WINDOW[table_of(self)],
        VALUES(weir_integer(self->state->cursor), weir_integer((int64_t)row_max)), &rows,
        error);

    window->count = 0;
    window->asked_for = row_max;
    while (status == WEIR_OK && (status = weir_rows_next(&rows, error)) == WEIR_OK)
        window->rows[window->count++] = (struct row){
            .id = weir_rows_integer(&rows, 0),
            .pid = weir_rows_integer(&rows, 1),
        };
    weir_rows_close(&rows);
    return status == WEIR_NO_ROW ? WEIR_OK : status;
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

static int64_t highest_floor(const struct window *window)
{
    int64_t highest = 0;

    for (size_t i = 0; i < window->floor_count; i++) {
        if (window->floors[i].passed_id > highest)
            highest = window->floors[i].passed_id;
    }
    return highest;
}

static enum weir_status judge(struct sweep *self, struct weir_error *error)
{
    struct window *window = self->window;
    enum weir_status status = WEIR_OK;

    list_floors(window);
    for (size_t i = 0; i < window->floor_count && status == WEIR_OK; i++) {
        struct floor *floor = &window->floors[i];

        status = weir_connection_query_integer(
            self->connection, &SQL_FLOOR,
            VALUES(weir_integer(floor->pid), weir_integer(weir_pid_queue(floor->pid))),
            &floor->passed_id, error);
    }
    for (size_t i = 0; i < window->count && status == WEIR_OK; i++) {
        struct row *row = &window->rows[i];

        row->passed = row->id <= find_floor(window, row->pid)->passed_id ||
                      (self->by_id_only && row->id <= highest_floor(window));
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

/* Move the cursor over what must stay. *found: a row behind it may go. */
static enum weir_status look(struct sweep *self, bool *found, struct weir_error *error)
{
    const struct window *window = self->window;

    *found = false;
    self->report->more = true;
    for (int n = 0; n < WINDOWS_LOOKED_AT && self->report->more; n++) {
        enum weir_status status = read_and_judge(
            self, n == 0 && self->row_max > PROBE_ROWS ? PROBE_ROWS : self->row_max,
            error);
        size_t kept = 0;

        if (status != WEIR_OK)
            return status;
        while (kept < window->count && !window->rows[kept].passed)
            kept++;
        *found = kept < window->count;
        if (kept > 0)
            self->state->cursor = window->rows[kept - 1].id;
        if (*found)
            return WEIR_OK;
        if (is_last(window))
            turn(self);
    }
    return WEIR_OK;
}

/* ---- removing ----------------------------------------------------------------------------- */

/* Change a range of ids with one of our statements; *sum grows by the rows. */
static enum weir_status change_range(struct sweep *self, const struct weir_sql *sql,
                                     const struct row *first, const struct row *last,
                                     int64_t *sum, struct weir_error *error)
{
    int64_t changed = 0;
    enum weir_status status = weir_connection_execute(
        self->connection, sql, VALUES(weir_integer(first->id), weir_integer(last->id)),
        &changed, error);

    *sum += changed;
    return status;
}

/* Rows side by side that are all passed, or all not. */
static size_t run_length(const struct row *rows, size_t count)
{
    size_t length = 1;

    while (length < count && rows[length].passed == rows[0].passed)
        length++;
    return length;
}

/* Run `sql` for each run of rows that are passed, or that are not. */
static enum weir_status change_runs(struct sweep *self, const struct weir_sql *sql,
                                    bool passed, size_t count, int64_t *sum,
                                    struct weir_error *error)
{
    const struct row *rows = self->window->rows;
    enum weir_status status = WEIR_OK;
    size_t length;

    for (size_t i = 0; i < count && status == WEIR_OK; i += length) {
        length = run_length(rows + i, count - i);
        if (rows[i].passed == passed)
            status = change_range(self, sql, &rows[i], &rows[i + length - 1], sum, error);
    }
    return status;
}

/* Copy what is still needed and delete everything. */
static enum weir_status empty_window(struct sweep *self, size_t count,
                                     struct weir_error *error)
{
    const struct row *rows = self->window->rows;
    int64_t deleted = 0;
    enum weir_status status =
        change_runs(self, &SQL_SET_ASIDE, false, count, &self->report->aside, error);

    if (status == WEIR_OK)
        status = change_range(self, &SQL_DELETE[THE_LOG], &rows[0], &rows[count - 1],
                              &deleted, error);
    self->report->removed = deleted - self->report->aside;
    return status;
}

/* A subscription that begins from now on must begin behind what goes now. */
static enum weir_status note_removed(struct sweep *self, size_t count,
                                     struct weir_error *error)
{
    struct window *window = self->window;
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; i < count; i++) {
        if (window->rows[i].passed)
            find_floor(window, window->rows[i].pid)->removed_id = window->rows[i].id;
    }
    for (size_t i = 0; i < window->floor_count && status == WEIR_OK; i++) {
        const struct floor *floor = &window->floors[i];

        if (floor->removed_id > 0)
            status =
                weir_connection_execute(self->connection, &SQL_REMOVED,
                                        VALUES(weir_integer(weir_pid_queue(floor->pid)),
                                               weir_integer(floor->removed_id)),
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

static enum weir_status remove_rows(struct sweep *self, size_t count,
                                    struct weir_error *error)
{
    const struct window *window = self->window;
    size_t kept = kept_count(window, count);
    enum weir_status status;

    if (table_of(self) == THE_LOG && kept > 0 && kept * ASIDE_SHARE <= count &&
        !is_last(window))
        status = empty_window(self, count, error);
    else
        status = change_runs(self, &SQL_DELETE[table_of(self)], true, count,
                             &self->report->removed, error);
    return status == WEIR_OK ? note_removed(self, count, error) : status;
}

/* Under the write lock. The state moves only when it is committed. */
static enum weir_status remove_window(struct sweep *self, struct weir_error *error)
{
    const struct window *window = self->window;
    size_t count = 0;
    enum weir_status status = weir_connection_begin(self->connection, error);

    if (status != WEIR_OK)
        return status;
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

/* ---- the log of SQLite itself ------------------------------------------------------------- */

/* Whoever is in the way of a checkpoint leads to one itself, or we do the next time. */
static enum weir_status checkpoint(struct weir_db *db, struct weir_connection *writer,
                                   struct weir_error *error)
{
    struct weir_connection *helper = NULL;
    enum weir_status status = weir_db_acquire(db, &helper, error);

    if (status == WEIR_OK)
        status = weir_sqlite_checkpoint(weir_connection_link(writer),
                                        weir_connection_link(helper), error);
    weir_db_release(db, helper);
    return status == WEIR_LOCKED || status == WEIR_BUSY ? WEIR_OK : status;
}

static enum weir_status checkpoint_if_due(struct weir_db *db,
                                          struct weir_connection *connection,
                                          bool round_ended, struct weir_error *error)
{
    int64_t limit = round_ended ? WAL_SIZE_WORTH_IT : WEIR_SQLITE_WAL_SIZE_MAX;
    int64_t size = 0;
    enum weir_status status =
        weir_sqlite_wal_size(weir_connection_link(connection), &size, error);

    if (status != WEIR_OK || size <= limit)
        return status;
    return checkpoint(db, connection, error);
}

/* ---- a step ------------------------------------------------------------------------------- */

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

enum weir_status weir_log_sqlite_sweep(const struct weir_outbox_log *self,
                                       struct weir_db *db, struct weir_sweep_state *state,
                                       struct weir_sweep_report *report,
                                       struct weir_error *error)
{
    const struct weir_heap *heap = weir_db_heap(db);
    struct sweep sweep = {
        .state = state,
        .report = report,
        .row_max = WEIR_POINT(self->points, "sweep.small_window") ? WINDOW_ROWS_SMALL
                                                                  : WINDOW_ROWS,
        .by_id_only = WEIR_POINT(self->points, "sweep.by_id_only"),
    };
    enum weir_status status;

    *report = (struct weir_sweep_report){.more = false};
    sweep.window = weir_heap_alloc(heap, sizeof *sweep.window);
    if (sweep.window == NULL)
        return weir_error_set(error, WEIR_NO_MEMORY, "sweep: out of memory");
    status = weir_db_acquire(db, &sweep.connection, error);
    if (status == WEIR_OK)
        status = step(&sweep, error);
    if (status == WEIR_OK)
        status = checkpoint_if_due(db, sweep.connection, !report->more, error);
    weir_db_release(db, sweep.connection);
    weir_heap_free(heap, sweep.window);
    return status;
}
