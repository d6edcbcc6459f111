/*
 * wait_store.c - see wait_store.h.
 *
 * An execution has few waitpoints and, mostly, few signals, so statements are about one
 * execution and by the primary key. Closing is set-based: reconcilers and cancellations
 * close many at once.
 */
#include "execution/wait/wait_store.h"

#include "base/arith.h"
#include "base/count.h"
#include "base/heap.h"
#include "base/no_memory.h"
#include "db/query.h"
#include "execution/engine.h"
#include "outbox/columns.h"

static const struct weir_sql SQL_OPEN = {
    .name = "open suspension",
    .text = "INSERT INTO {p}_suspension (no, reason, since_us, ended_us, timeout_us,"
            " resume_delay_us, condition) VALUES ({1}, {2}, {3}, {4}, {5}, {6}, {7})"
            " ON CONFLICT (no) DO UPDATE SET reason = excluded.reason,"
            " since_us = excluded.since_us, ended_us = excluded.ended_us,"
            " timeout_us = excluded.timeout_us,"
            " resume_delay_us = excluded.resume_delay_us, condition = excluded.condition",
    .parameters = "iiiiiit",
};

/* Columns of a suspension, in the order of SUSPENSION. */
#define SUSPENSION_COLUMNS                                                               \
    "s.reason, s.since_us, s.ended_us, s.timeout_us, s.resume_delay_us, s.condition"
static const struct weir_sql SQL_READ = {
    .name = "read suspension",
    .text = "SELECT " SUSPENSION_COLUMNS " FROM {p}_suspension s WHERE s.no = {1}",
    .parameters = "i",
};
static const struct weir_sql SQL_LOOK = {
    .name = "look at suspension",
    .text = "SELECT " SUSPENSION_COLUMNS ", e.state, e.due_us, e.on_timeout"
            " FROM {p}_suspension s JOIN {p}_execution e ON e.no = s.no WHERE s.no = {1}",
    .parameters = "i",
};
static const struct weir_sql_pair SQL_CLOSE[] = {
    {.one = {.name = "close waitpoints",
             .text = "UPDATE {p}_waitpoint SET state = 2, until_us = 0"
                     " WHERE no = {1} AND state = 1",
             .parameters = "i"},
     .many = {.name = "close waitpoints",
              .text = "UPDATE {p}_waitpoint w SET state = 2, until_us = 0"
                      " FROM unnest({1}) AS u (no) WHERE w.no = u.no"
                      " AND w.state = 1 AND u.no > 0"
                      " AND u.no < 9223372036854775807",
              .parameters = "I"}},
    {.one = {.name = "close suspension",
             .text = "UPDATE {p}_suspension SET ended_us = {2} WHERE no = {1}",
             .parameters = "ii"},
     .many = {.name = "close suspensions",
              .text = "UPDATE {p}_suspension s SET ended_us = {2}"
                      " FROM unnest({1}) AS u (no) WHERE s.no = u.no"
                      " AND u.no > 0 AND u.no < 9223372036854775807",
              .parameters = "Ii"}},
};
static const struct weir_sql SQL_WAITPOINTS = {
    .name = "read waitpoints",
    .text = "SELECT uuid, state, name, key_id, created_us, until_us FROM {p}_waitpoint"
            " WHERE no = {1} ORDER BY created_us, name, uuid",
    .parameters = "i",
};
static const struct weir_sql SQL_ADD_WAITPOINT = {
    .name = "add waitpoint",
    .text = "INSERT INTO {p}_waitpoint (no, uuid, state, name, key_id, created_us,"
            " until_us) VALUES ({1}, {2}, {3}, {4}, {5}, {6}, {7})",
    .parameters = "ibittii",
};
static const struct weir_sql SQL_SET_WAITPOINT = {
    .name = "set waitpoint",
    .text = "UPDATE {p}_waitpoint SET state = {3}, until_us = 0 WHERE no = {1}"
            " AND uuid = {2}",
    .parameters = "ibi",
};
static const struct weir_sql SQL_SWEEP_SIGNALS = {
    .name = "sweep signals",
    .text = "DELETE FROM {p}_signal WHERE no = {1} AND waitpoint NOT IN"
            " (SELECT uuid FROM {p}_waitpoint WHERE no = {1} AND state < 2"
            " AND (until_us = 0 OR until_us > {2}))",
    .parameters = "ii",
};
static const struct weir_sql SQL_SWEEP_WAITPOINTS = {
    .name = "sweep waitpoints",
    .text = "DELETE FROM {p}_waitpoint WHERE no = {1} AND NOT (state < 2"
            " AND (until_us = 0 OR until_us > {2}))",
    .parameters = "ii",
};

static const struct weir_sql SQL_EXPIRE = {
    .name = "expire waitpoints",
    .text = "DELETE FROM {p}_waitpoint WHERE no = {1} AND until_us > 0"
            " AND until_us <= {2}",
    .parameters = "ii",
};

static const struct weir_sql SQL_ADD_SIGNAL = {
    .name = "add signal",
    .text = "INSERT INTO {p}_signal (no, waitpoint, key, uuid, name, source_type, source,"
            " payload, came_us) VALUES ({1}, {2}, {3}, {4}, {5}, {6}, {7}, {8}, {9})"
            " ON CONFLICT DO NOTHING",
    .parameters = "ibtbtttbi",
};

/* Columns of a signal, in the order of SIGNAL. */
#define SIGNAL_COLUMNS(payload)                                                          \
    "SELECT s.uuid, s.waitpoint, s.key, s.name, s.source_type, s.source, " payload       \
    ", s.came_us, COALESCE(w.name, '') FROM {p}_signal s LEFT JOIN {p}_waitpoint w"      \
    " ON w.no = s.no AND w.uuid = s.waitpoint WHERE s.no = {1}"
static const struct weir_sql SQL_SIGNAL = {
    .name = "find signal",
    .text = SIGNAL_COLUMNS("s.payload") " AND s.waitpoint = {2} AND s.key = {3}",
    .parameters = "ibt",
};
static const struct weir_sql SQL_SIGNALS[] = {
    [WEIR_SIGNALS_BARE] = {.name = "read signals without payload",
                           .text = SIGNAL_COLUMNS("NULL") " ORDER BY s.came_us, s.uuid",
                           .parameters = "i"},
    [WEIR_SIGNALS_WITH_PAYLOAD] = {.name = "read signals",
                                   .text = SIGNAL_COLUMNS(
                                       "s.payload") " ORDER BY s.came_us, s.uuid",
                                   .parameters = "i"},
};
static const struct weir_sql SQL_COUNT = {
    .name = "count signals",
    .text = "SELECT count(*) FROM {p}_signal WHERE no = {1}",
    .parameters = "i",
};

static const struct weir_sql SQL_COUNT_AT = {
    .name = "count signals at a waitpoint",
    .text = "SELECT count(*) FROM {p}_signal WHERE no = {1} AND waitpoint = {2}",
    .parameters = "ib",
};

/* ---- suspensions ------------------------------------------------------------------- */

static const struct weir_column SUSPENSION[] = {
    COLUMN_ENUM(struct weir_suspension_row, reason, WEIR_SUSPEND_REASON_COUNT - 1),
    COLUMN(struct weir_suspension_row, since_us, INTEGER),
    COLUMN(struct weir_suspension_row, ended_us, INTEGER),
    COLUMN(struct weir_suspension_row, timeout_us, INTEGER),
    COLUMN(struct weir_suspension_row, resume_delay_us, INTEGER),
    COLUMN(struct weir_suspension_row, condition, TEXT),
};

enum weir_status weir_wait_store_open(struct weir_connection *connection,
                                      const struct weir_suspension_row *row,
                                      struct weir_error *error)
{
    struct weir_value values[1 + COUNT_OF(SUSPENSION)] = {weir_integer(row->no)};

    weir_row_values(COLUMNS(SUSPENSION), row, values + 1, 1);
    return weir_connection_execute(connection, &SQL_OPEN, values, COUNT_OF(values), NULL,
                                   error);
}

/* Behind those of the suspension. */
struct execution_columns {
    int64_t state;
    int64_t due_us;
    int64_t on_timeout;
};
static const struct weir_column EXECUTION[] = {
    COLUMN(struct execution_columns, state, INTEGER),
    COLUMN(struct execution_columns, due_us, INTEGER),
    COLUMN(struct execution_columns, on_timeout, INTEGER),
};

enum weir_status weir_wait_store_read(struct weir_connection *connection, int64_t no,
                                      struct weir_arena *arena,
                                      struct weir_suspension_row *out,
                                      struct weir_error *error)
{
    *out = (struct weir_suspension_row){.no = no};
    return weir_query_one(connection, &SQL_READ, VALUES(weir_integer(no)),
                          KEPT_INTO(SUSPENSION, out, arena), error);
}

struct look {
    struct weir_arena *arena;
    struct weir_suspension_row *row;
    struct weir_suspension_standing *standing;
};

static enum weir_status read_standing(void *state, struct weir_rows *rows,
                                      struct weir_error *error)
{
    const struct look *self = state;
    struct execution_columns execution;
    enum weir_status status = weir_row_read_into(
        &(struct weir_row_into){COLUMNS(SUSPENSION), self->row, self->arena, 0}, rows,
        error);

    if (status == WEIR_OK)
        status = weir_row_read_from(rows, COUNT_OF(SUSPENSION), COLUMNS(EXECUTION),
                                    &execution, error);
    if (status != WEIR_OK)
        return status;
    if (!weir_on_timeout_is_known(execution.on_timeout))
        return weir_error_set(
            error, WEIR_SCHEMA,
            "a suspension ends in way %lld, which this library does not "
            "know: install a newer weir",
            (long long)execution.on_timeout);
    *self->standing = (struct weir_suspension_standing){
        .suspended = execution.state == WEIR_EXEC_SUSPENDED,
        .due_us = execution.due_us,
        .on_timeout = (enum weir_on_timeout)execution.on_timeout,
    };
    return WEIR_OK;
}

enum weir_status weir_wait_store_look(struct weir_connection *connection, int64_t no,
                                      struct weir_arena *arena,
                                      struct weir_suspension_row *out,
                                      struct weir_suspension_standing *standing,
                                      struct weir_error *error)
{
    struct look look = {arena, out, standing};

    *out = (struct weir_suspension_row){.no = no};
    return weir_query_one(connection, &SQL_LOOK, VALUES(weir_integer(no)), read_standing,
                          &look, error);
}

static enum weir_status close_each(struct weir_connection *connection, const int64_t *nos,
                                   size_t count, int64_t now_us, struct weir_error *error)
{
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; i < count && status == WEIR_OK; i++) {
        status = weir_connection_execute(connection, &SQL_CLOSE[0].one,
                                         VALUES(weir_integer(nos[i])), NULL, error);
        if (status == WEIR_OK)
            status = weir_connection_execute(
                connection, &SQL_CLOSE[1].one,
                VALUES(weir_integer(nos[i]), weir_integer(now_us)), NULL, error);
    }
    return status;
}

static enum weir_status close_all(const struct weir_heap *heap,
                                  struct weir_connection *connection, const int64_t *nos,
                                  size_t count, int64_t now_us, struct weir_error *error)
{
    struct weir_step steps[2];
    struct weir_value values[2];
    struct weir_columns table;
    enum weir_status status = weir_columns_init(&table, heap, 1, count, error);

    for (size_t i = 0; i < count && status == WEIR_OK; i++)
        weir_columns_set(&table, 0, i, weir_integer(nos[i]));
    if (status == WEIR_OK) {
        values[0] = weir_columns_array(&table, 0, WEIR_TYPE_INTEGER, 0, count);
        values[1] = weir_integer(now_us);
        for (size_t i = 0; i < 2; i++)
            steps[i] = (struct weir_step){&SQL_CLOSE[i].many, values, i + 1, 0};
        status = weir_connection_execute_steps(connection, steps, 2, error);
    }
    weir_columns_fini(&table);
    return status;
}

/* With the commit: mostly a signal has ended it, and its sender waits for the answer. */
static enum weir_status close_later(struct weir_commit_batch *commit_batch, int64_t no,
                                    int64_t now_us)
{
    weir_commit_batch_add(commit_batch, &SQL_CLOSE[0].one, VALUES(weir_integer(no)));
    weir_commit_batch_add(commit_batch, &SQL_CLOSE[1].one,
                          VALUES(weir_integer(no), weir_integer(now_us)));
    return WEIR_OK;
}

enum weir_status weir_wait_store_close(struct weir_connection *connection,
                                       const int64_t *nos, size_t count, int64_t now_us,
                                       struct weir_commit_batch *commit_batch,
                                       struct weir_error *error)
{
    if (count == 0)
        return WEIR_OK;
    if (count == 1 && !weir_connection_traits(connection)->in_process)
        return close_later(commit_batch, nos[0], now_us);
    return !weir_connection_traits(connection)->takes_arrays
               ? close_each(connection, nos, count, now_us, error)
               : close_all(commit_batch->heap, connection, nos, count, now_us, error);
}

/* ---- waitpoints -------------------------------------------------------------------- */

static const struct weir_column WAITPOINT[] = {
    COLUMN(struct weir_waitpoint_row, uuid, FIXED),
    COLUMN_ENUM(struct weir_waitpoint_row, state, WEIR_WAITPOINT_EXPIRED),
    COLUMN(struct weir_waitpoint_row, key, TEXT),
    COLUMN(struct weir_waitpoint_row, key_id, TEXT),
    COLUMN(struct weir_waitpoint_row, created_us, INTEGER),
    COLUMN(struct weir_waitpoint_row, until_us, INTEGER),
};

static enum weir_status add_waitpoint(void *list, struct weir_rows *rows,
                                      struct weir_error *error)
{
    const struct weir_row_list *self = list;

    if (self->count == WEIR_WAITPOINT_ROWS_MAX)
        return weir_error_set(error, WEIR_TOO_LARGE, "more than %d waitpoints",
                              WEIR_WAITPOINT_ROWS_MAX);
    return weir_row_append(list, rows, error);
}

enum weir_status weir_waitpoints_read(struct weir_connection *connection, int64_t no,
                                      struct weir_arena *arena,
                                      struct weir_waitpoint_rows *out,
                                      struct weir_error *error)
{
    struct weir_row_list list = ROW_LIST(WAITPOINT, struct weir_waitpoint_row, arena);
    enum weir_status status =
        weir_query_each(connection, &SQL_WAITPOINTS, VALUES(weir_integer(no)),
                        add_waitpoint, &list, error);

    *out = (struct weir_waitpoint_rows){list.rows, list.count};
    return status;
}

enum weir_status weir_waitpoint_add(struct weir_connection *connection, int64_t no,
                                    const struct weir_waitpoint_row *row,
                                    struct weir_error *error)
{
    struct weir_value values[1 + COUNT_OF(WAITPOINT)] = {weir_integer(no)};

    weir_row_values(COLUMNS(WAITPOINT), row, values + 1, 1);
    return weir_connection_execute(connection, &SQL_ADD_WAITPOINT, values,
                                   COUNT_OF(values), NULL, error);
}

enum weir_status weir_waitpoint_set(struct weir_connection *connection, int64_t no,
                                    const uint8_t *uuid, enum weir_waitpoint_state state,
                                    bool *there, struct weir_error *error)
{
    int64_t changed = 0;
    enum weir_status status = weir_connection_execute(
        connection, &SQL_SET_WAITPOINT,
        VALUES(weir_integer(no), weir_bytes(uuid, WEIR_UUID_SIZE), weir_integer(state)),
        &changed, error);

    *there = status == WEIR_OK && changed == 1;
    return status;
}

enum weir_status weir_waitpoints_sweep(struct weir_connection *connection, int64_t no,
                                       int64_t now_us, struct weir_error *error)
{
    enum weir_status status = weir_connection_execute(
        connection, &SQL_SWEEP_SIGNALS, VALUES(weir_integer(no), weir_integer(now_us)),
        NULL, error);

    if (status == WEIR_OK)
        status = weir_connection_execute(connection, &SQL_SWEEP_WAITPOINTS,
                                         VALUES(weir_integer(no), weir_integer(now_us)),
                                         NULL, error);
    return status;
}

enum weir_status weir_waitpoints_expire(struct weir_connection *connection, int64_t no,
                                        int64_t now_us, struct weir_error *error)
{
    return weir_connection_execute(connection, &SQL_EXPIRE,
                                   VALUES(weir_integer(no), weir_integer(now_us)), NULL,
                                   error);
}

enum weir_status weir_waitpoints_forget(struct weir_connection *connection,
                                        int64_t now_us, size_t limit, size_t *removed,
                                        struct weir_error *error)
{
    int64_t changed = 0;
    enum weir_status status = weir_connection_execute(
        connection, &weir_execution_engine_of(connection)->forget_waitpoints,
        VALUES(weir_integer(now_us), weir_integer((int64_t)limit)), &changed, error);

    *removed = status == WEIR_OK ? (size_t)changed : 0;
    return status;
}

/* ---- signals ----------------------------------------------------------------------- */

enum weir_status weir_signal_add(struct weir_connection *connection, int64_t no,
                                 const struct weir_signal_row *row, bool *added,
                                 struct weir_error *error)
{
    int64_t changed = 0;
    enum weir_status status = weir_connection_execute(
        connection, &SQL_ADD_SIGNAL,
        VALUES(weir_integer(no), weir_bytes(row->waitpoint, WEIR_UUID_SIZE),
               weir_text(row->idempotency_key), weir_bytes(row->uuid, WEIR_UUID_SIZE),
               weir_text(row->name), weir_text(row->source_type), weir_text(row->source),
               weir_bytes(row->payload.data, row->payload.size),
               weir_integer(row->came_us)),
        &changed, error);

    *added = status == WEIR_OK && changed == 1;
    return status;
}

static const struct weir_column SIGNAL[] = {
    COLUMN(struct weir_signal_row, uuid, FIXED),
    COLUMN(struct weir_signal_row, waitpoint, FIXED),
    COLUMN(struct weir_signal_row, idempotency_key, TEXT),
    COLUMN(struct weir_signal_row, name, TEXT),
    COLUMN(struct weir_signal_row, source_type, TEXT),
    COLUMN(struct weir_signal_row, source, TEXT),
    COLUMN(struct weir_signal_row, payload, BYTES),
    COLUMN(struct weir_signal_row, came_us, INTEGER),
    COLUMN(struct weir_signal_row, waitpoint_key, TEXT),
};

enum weir_status weir_signal_find(struct weir_connection *connection, int64_t no,
                                  const uint8_t *waitpoint, struct weir_str key,
                                  struct weir_arena *arena, struct weir_signal_row *out,
                                  struct weir_error *error)
{
    return weir_query_one(
        connection, &SQL_SIGNAL,
        VALUES(weir_integer(no), weir_bytes(waitpoint, WEIR_UUID_SIZE), weir_text(key)),
        KEPT_INTO(SIGNAL, out, arena), error);
}

struct visiting {
    weir_signal_row_visit_fn visit;
    void *state;
};

static enum weir_status visit_signal(void *state, struct weir_rows *rows,
                                     struct weir_error *error)
{
    const struct visiting *self = state;
    struct weir_signal_row row;
    enum weir_status status = weir_row_read(rows, COLUMNS(SIGNAL), &row, error);

    return status == WEIR_OK ? self->visit(self->state, &row, error) : status;
}

enum weir_status weir_signals_visit(struct weir_connection *connection, int64_t no,
                                    enum weir_signal_part part,
                                    weir_signal_row_visit_fn visit, void *state,
                                    struct weir_error *error)
{
    struct visiting visiting = {visit, state};

    return weir_query_each(connection, &SQL_SIGNALS[part], VALUES(weir_integer(no)),
                           visit_signal, &visiting, error);
}

enum weir_status weir_signal_see(struct weir_arena *arena,
                                 const struct weir_signal_row *row,
                                 struct weir_signal_seen *out, struct weir_error *error)
{
    struct weir_str *const texts[] = {&out->key, &out->name, &out->source_type,
                                      &out->source};
    enum weir_status status = WEIR_OK;

    *out = (struct weir_signal_seen){row->waitpoint_key, row->name, row->source_type,
                                     row->source};
    for (size_t i = 0; i < COUNT_OF(texts) && status == WEIR_OK; i++)
        status = weir_arena_keep(arena, texts[i])
                     ? WEIR_OK
                     : weir_no_memory_for(error, "a suspension");
    return status;
}

enum weir_status weir_signals_count(struct weir_connection *connection, int64_t no,
                                    int64_t *out, struct weir_error *error)
{
    return weir_connection_query_integer(connection, &SQL_COUNT, VALUES(weir_integer(no)),
                                         out, error);
}

enum weir_status weir_signals_count_at(struct weir_connection *connection, int64_t no,
                                       const uint8_t *waitpoint, int64_t *out,
                                       struct weir_error *error)
{
    return weir_connection_query_integer(
        connection, &SQL_COUNT_AT,
        VALUES(weir_integer(no), weir_bytes(waitpoint, WEIR_UUID_SIZE)), out, error);
}
