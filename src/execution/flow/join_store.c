/*
 * join_store.c - see join_store.h. Many at once are one statement on PostgreSQL and a
 * loop on SQLite.
 */
#include "execution/flow/join_store.h"

#include <string.h>

#include "base/no_memory.h"
#include "db/query.h"
#include "execution/engine.h"
#include "execution/flow/numbers.h"
#include "outbox/columns.h"

/* ---- statements -------------------------------------------------------------------- */

#define JOIN_COLUMNS                                                                     \
    "g.downstream, g.flow, g.policy, g.state, g.cancel_remaining, g.quorum, g.total,"    \
    " g.succeeded, g.failed, g.skipped, g.cancel_us"
enum { JOIN_WIDTH = 11 };

static const struct weir_sql_pair SQL_LOCK_JOINS = {
    .one = {.name = "lock group",
            .text =
                "SELECT " JOIN_COLUMNS " FROM {p}_edge_group g WHERE downstream = {1}",
            .parameters = "i"},
    .many = {.name = "lock groups",
             .text = "SELECT " JOIN_COLUMNS
                     " FROM (SELECT DISTINCT no FROM unnest({1}) AS t (no)"
                     " WHERE no > 0 ORDER BY no) u"
                     " CROSS JOIN LATERAL (SELECT * FROM {p}_edge_group g"
                     " WHERE g.downstream = u.no FOR NO KEY UPDATE) g",
             .parameters = "I"},
};
static const struct weir_sql_pair SQL_WRITE_JOINS = {
    .one = {.name = "write group",
            .text = "UPDATE {p}_edge_group SET state = {2}, total = {3},"
                    " succeeded = {4}, failed = {5}, skipped = {6}, cancel_us = {7}"
                    " WHERE downstream = {1}",
            .parameters = "iiiiiii"},
    .many = {.name = "write groups",
             .text = "UPDATE {p}_edge_group g SET state = u.state,"
                     " total = u.total, succeeded = u.succeeded,"
                     " failed = u.failed, skipped = u.skipped,"
                     " cancel_us = u.cancel_us FROM unnest({1}, {2}, {3},"
                     " {4}, {5}, {6}, {7}) AS u (no, state, total,"
                     " succeeded, failed, skipped, cancel_us)"
                     " WHERE g.downstream = u.no AND u.no > 0"
                     " AND u.no < 9223372036854775807",
             .parameters = "IIIIIII"},
};
enum { JOIN_WRITE_WIDTH = 7 };
static const struct weir_sql SQL_CANCELLING = {
    .name = "read groups with siblings to cancel",
    .text = "SELECT " JOIN_COLUMNS ", e.uuid, e.part FROM {p}_edge_group g"
            " JOIN {p}_execution e ON e.no = g.downstream WHERE g.cancel_us > 0"
            " AND ({2} = '' OR e.namespace = {2})"
            " AND ({3} = '' OR (SELECT 1 FROM {p}_tag t WHERE t.no = e.no AND t.key = {3}"
            " AND t.value = {4} LIMIT 1) IS NOT NULL)"
            " ORDER BY g.cancel_us, g.downstream LIMIT (SELECT {1})",
    .parameters = "ittt",
};
static const struct weir_sql SQL_FORGET_SIBLINGS = {
    .name = "forget siblings",
    .text = "UPDATE {p}_edge_group SET cancel_us = 0 WHERE downstream = {1}"
            " AND cancel_us = {2}",
    .parameters = "ii",
};
/* ---- reading ----------------------------------------------------------------------- */

/* The order of JOIN_COLUMNS; then, of those that cancel, what they lead to. */
static const struct weir_column JOIN[JOIN_WIDTH] = {
    COLUMN(struct weir_join_row, downstream, INTEGER),
    COLUMN(struct weir_join_row, flow_no, INTEGER),
    COLUMN_ENUM(struct weir_join_row, join_row.policy, WEIR_JOIN_COUNT - 1),
    COLUMN_ENUM(struct weir_join_row, state, WEIR_FLOW_JOIN_IMPOSSIBLE),
    COLUMN(struct weir_join_row, cancel_remaining, FLAG),
    COLUMN(struct weir_join_row, join_row.quorum, INTEGER),
    COLUMN(struct weir_join_row, join_row.total, INTEGER),
    COLUMN(struct weir_join_row, join_row.succeeded, INTEGER),
    COLUMN(struct weir_join_row, join_row.failed, INTEGER),
    COLUMN(struct weir_join_row, join_row.skipped, INTEGER),
    COLUMN(struct weir_join_row, cancel_us, INTEGER),
};
static const struct weir_column LEADS_TO[] = {
    COLUMN(struct weir_execution_id, uuid, FIXED),
    COLUMN(struct weir_execution_id, partition, INTEGER),
};

/* As written. */
static const struct weir_column JOIN_WRITTEN[JOIN_WRITE_WIDTH] = {
    COLUMN(struct weir_join_row, downstream, INTEGER),
    COLUMN_ENUM(struct weir_join_row, state, WEIR_FLOW_JOIN_IMPOSSIBLE),
    COLUMN(struct weir_join_row, join_row.total, INTEGER),
    COLUMN(struct weir_join_row, join_row.succeeded, INTEGER),
    COLUMN(struct weir_join_row, join_row.failed, INTEGER),
    COLUMN(struct weir_join_row, join_row.skipped, INTEGER),
    COLUMN(struct weir_join_row, cancel_us, INTEGER),
};

/* More of them. */
static enum weir_status add_joins(struct weir_connection *connection,
                                  const struct weir_sql *sql,
                                  const struct weir_value *values, size_t value_count,
                                  struct weir_arena *arena, struct weir_join_rows *out,
                                  struct weir_error *error)
{
    struct weir_row_list list = {COLUMNS(JOIN), sizeof *out->rows, arena,
                                 out->rows,     out->count,        0};
    enum weir_status status = weir_query_each(connection, sql, values, value_count,
                                              weir_row_append, &list, error);

    out->rows = list.rows;
    out->count = list.count;
    return status;
}

/* ---- groups ------------------------------------------------------------------------ */

/* The order matters only where others lock too; it is that of the answer. */
static enum weir_status lock_each(struct weir_connection *connection,
                                  const int64_t *downstreams, size_t count,
                                  struct weir_arena *arena, struct weir_join_rows *out,
                                  struct weir_error *error)
{
    enum weir_status status = WEIR_OK;
    int64_t *sorted = weir_arena_alloc(arena, count * sizeof *sorted);

    if (sorted == NULL)
        return weir_no_memory_for(error, "joins");
    memcpy(sorted, downstreams, count * sizeof *sorted);
    count = weir_numbers_unique(sorted, count);
    for (size_t i = 0; i < count && status == WEIR_OK; i++)
        status = add_joins(connection, &SQL_LOCK_JOINS.one,
                           VALUES(weir_integer(sorted[i])), arena, out, error);
    return status;
}

static enum weir_status lock_all(struct weir_connection *connection,
                                 const int64_t *downstreams, size_t count,
                                 struct weir_arena *arena, struct weir_join_rows *out,
                                 struct weir_error *error)
{
    struct weir_columns table;
    enum weir_status status = weir_columns_init(&table, arena->heap, 1, count, error);

    for (size_t i = 0; i < count && status == WEIR_OK; i++)
        weir_columns_set(&table, 0, i, weir_integer(downstreams[i]));
    if (status == WEIR_OK)
        status =
            add_joins(connection, &SQL_LOCK_JOINS.many,
                      VALUES(weir_columns_array(&table, 0, WEIR_TYPE_INTEGER, 0, count)),
                      arena, out, error);
    weir_columns_fini(&table);
    return status;
}

enum weir_status weir_joins_lock(struct weir_connection *connection,
                                 const int64_t *downstreams, size_t count,
                                 struct weir_arena *arena, struct weir_join_rows *out,
                                 struct weir_error *error)
{
    *out = (struct weir_join_rows){.count = 0};
    if (count == 0)
        return WEIR_OK;
    return !weir_connection_traits(connection)->takes_arrays
               ? lock_each(connection, downstreams, count, arena, out, error)
               : lock_all(connection, downstreams, count, arena, out, error);
}

static enum weir_status write_each(struct weir_connection *connection,
                                   const struct weir_join_row *rows, size_t count,
                                   struct weir_commit_batch *commit_batch,
                                   struct weir_error *error)
{
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; i < count && status == WEIR_OK; i++) {
        struct weir_value values[JOIN_WRITE_WIDTH];

        weir_row_values(COLUMNS(JOIN_WRITTEN), &rows[i], values, 1);
        status = weir_commit_batch_put(commit_batch, connection, &SQL_WRITE_JOINS.one,
                                       values, JOIN_WRITE_WIDTH, error);
    }
    return status;
}

static enum weir_status write_all(struct weir_connection *connection,
                                  const struct weir_join_row *rows, size_t count,
                                  struct weir_commit_batch *commit_batch,
                                  struct weir_error *error)
{
    static const enum weir_type TYPES[JOIN_WRITE_WIDTH] = {
        WEIR_TYPE_INTEGER, WEIR_TYPE_INTEGER, WEIR_TYPE_INTEGER, WEIR_TYPE_INTEGER,
        WEIR_TYPE_INTEGER, WEIR_TYPE_INTEGER, WEIR_TYPE_INTEGER};
    struct weir_columns table;
    enum weir_status status =
        weir_columns_init(&table, commit_batch->heap, JOIN_WRITE_WIDTH, count, error);

    for (size_t i = 0; i < count && status == WEIR_OK; i++)
        weir_row_values(COLUMNS(JOIN_WRITTEN), &rows[i], table.cells + i, count);
    if (status == WEIR_OK)
        status = weir_commit_batch_make_room(commit_batch, connection, 1,
                                             JOIN_WRITE_WIDTH, error);
    if (status == WEIR_OK)
        weir_commit_batch_add_table(commit_batch, &SQL_WRITE_JOINS.many, &table, TYPES,
                                    JOIN_WRITE_WIDTH);
    else
        weir_columns_fini(&table);
    return status;
}

enum weir_status weir_joins_write(struct weir_connection *connection,
                                  const struct weir_join_row *rows, size_t count,
                                  struct weir_commit_batch *commit_batch,
                                  struct weir_error *error)
{
    if (count == 0)
        return WEIR_OK;
    return !weir_connection_traits(connection)->takes_arrays || count == 1
               ? write_each(connection, rows, count, commit_batch, error)
               : write_all(connection, rows, count, commit_batch, error);
}

struct weir_join_row *weir_joins_find(const struct weir_join_rows *join_rows,
                                      int64_t downstream)
{
    size_t low = 0;
    size_t high = join_rows->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (join_rows->rows[middle].downstream < downstream)
            low = middle + 1;
        else
            high = middle;
    }
    return low < join_rows->count && join_rows->rows[low].downstream == downstream
               ? &join_rows->rows[low]
               : NULL;
}

struct cancelling {
    struct weir_row_list joins;
    struct weir_row_list ids;
};

static enum weir_status add_cancelling(void *state, struct weir_rows *rows,
                                       struct weir_error *error)
{
    struct cancelling *self = state;
    enum weir_status status = weir_row_append(&self->ids, rows, error);

    return status == WEIR_OK ? weir_row_append(&self->joins, rows, error) : status;
}

enum weir_status weir_joins_cancelling(struct weir_connection *connection,
                                       const struct weir_store_filter *filter,
                                       size_t limit, struct weir_arena *arena,
                                       struct weir_join_rows *out,
                                       struct weir_error *error)
{
    struct cancelling found = {ROW_LIST(JOIN, struct weir_join_row, arena),
                               {COLUMNS(LEADS_TO), sizeof(struct weir_execution_id),
                                arena, NULL, 0, JOIN_WIDTH}};
    enum weir_status status = weir_query_each(
        connection, &SQL_CANCELLING,
        VALUES(weir_integer((int64_t)limit), weir_text(filter->name_space),
               weir_text(filter->tag_key), weir_text(filter->tag_value)),
        add_cancelling, &found, error);

    *out = (struct weir_join_rows){found.joins.rows, found.ids.rows, found.joins.count};
    return status;
}

enum weir_status weir_join_siblings(struct weir_connection *connection,
                                    int64_t downstream, size_t limit,
                                    struct weir_arena *arena, struct weir_members *out,
                                    struct weir_error *error)
{
    return weir_members_read(
        connection, &weir_execution_engine_of(connection)->siblings,
        VALUES(weir_integer(downstream), weir_integer((int64_t)limit)), arena, out,
        error);
}

enum weir_status weir_join_forget_siblings(struct weir_connection *connection,
                                           const struct weir_join_row *join_row,
                                           bool *forgotten, struct weir_error *error)
{
    int64_t changed = 0;
    enum weir_status status = weir_connection_execute(
        connection, &SQL_FORGET_SIBLINGS,
        VALUES(weir_integer(join_row->downstream), weir_integer(join_row->cancel_us)),
        &changed, error);

    *forgotten = status == WEIR_OK && changed == 1;
    return status;
}
