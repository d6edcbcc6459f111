/*
 * edge_store.c - see edge_store.h.
 *
 * What follows from the end of many is set-based on PostgreSQL, one statement for all
 * of them; on SQLite, where a statement costs no round trip, it is a loop.
 */
#include "execution/flow/edge_store.h"

#include "db/query.h"
#include "execution/engine.h"
#include "execution/store/store_statements.h"
#include "outbox/columns.h"

/* ---- statements -------------------------------------------------------------------- */

/* By the partial index of open edges. An edge that was opened again waits for another
 * end than the one that was known then: every end has an epoch of its own, and time is
 * not asked. */
const struct weir_sql_pair weir_flow_sql_resolve = {
    .one = {.name = "resolve edges",
            .text = "UPDATE {p}_edge SET state = {2} WHERE (upstream,"
                    " downstream) IN (SELECT upstream, downstream"
                    " FROM {p}_edge WHERE upstream = {1} AND " WEIR_EDGE_IS_OPEN
                    " AND opened_epoch < {3} ORDER BY downstream LIMIT {4})"
                    " RETURNING upstream, downstream, state, passes_data",
            .parameters = "iiii"},
    .many = {.name = "resolve edges",
             .text = "UPDATE {p}_edge d SET state = o.ended FROM"
                     " (SELECT g.upstream, g.downstream, u.ended"
                     " FROM unnest({1}, {2}, {3}) AS u (no, ended, epoch)"
                     " CROSS JOIN LATERAL (SELECT upstream, downstream"
                     " FROM {p}_edge g WHERE g.upstream = u.no"
                     " AND g." WEIR_EDGE_IS_OPEN " AND g.opened_epoch < u.epoch"
                     " ORDER BY downstream LIMIT {4}) g LIMIT {4}) o"
                     " WHERE d.upstream = o.upstream"
                     " AND d.downstream = o.downstream"
                     " RETURNING d.upstream, d.downstream, d.state,"
                     " d.passes_data",
             .parameters = "IIIi"},
};
static const struct weir_sql SQL_EDGES_TO = {
    .name = "read edges to one",
    .text = "SELECT upstream, downstream, state, passes_data FROM {p}_edge"
            " WHERE downstream = {1} ORDER BY upstream",
    .parameters = "i",
};
static const struct weir_sql SQL_EDGES_OF_FLOW = {
    .name = "read edges of a flow",
    .text = "SELECT d.upstream, d.downstream, d.state, d.passes_data"
            " FROM {p}_execution e JOIN {p}_edge d ON d.upstream = e.no"
            " WHERE e.flow = {1} AND e.flow > 0 ORDER BY d.upstream, d.downstream",
    .parameters = "i",
};
static const struct weir_sql SQL_REOPEN = {
    .name = "reopen edges",
    .text = "UPDATE {p}_edge SET state = CASE WHEN (SELECT e.state FROM {p}_execution e"
            " WHERE e.no = {p}_edge.upstream) = 10 THEN 1 ELSE 0 END, opened_epoch ="
            " COALESCE((SELECT e.epoch FROM {p}_execution e"
            " WHERE e.no = {p}_edge.upstream), 0)"
            " WHERE downstream = {1} AND state > 1",
    .parameters = "i",
};
/* By the primary keys. A copy, which stays as it is whatever becomes of the upstream. */
static const struct weir_sql SQL_PASS_DATA = {
    .name = "pass data",
    .text = "INSERT INTO {p}_passed (downstream, upstream, uuid, part, name, bytes)"
            " SELECT {2}, e.no, e.uuid, e.part, e.name, r.bytes FROM {p}_execution e"
            " LEFT JOIN {p}_result r ON r.no = e.no WHERE e.no = {1}"
            " ON CONFLICT (downstream, upstream) DO UPDATE SET bytes = excluded.bytes",
    .parameters = "ii",
};
static const struct weir_sql SQL_ADD_DATA_EDGES = {
    .name = "count data edges",
    .text = "UPDATE {p}_execution SET data_edges = data_edges + {2} WHERE no = {1}",
    .parameters = "ii",
};

/* ---- reading ----------------------------------------------------------------------- */

const struct weir_column weir_edge_columns[WEIR_EDGE_WIDTH] = {
    COLUMN(struct weir_edge_row, upstream, INTEGER),
    COLUMN(struct weir_edge_row, downstream, INTEGER),
    COLUMN_ENUM(struct weir_edge_row, state, WEIR_EDGE_SKIPPED),
    COLUMN(struct weir_edge_row, passes_data, FLAG),
};

/* More of them. */
static enum weir_status add_edges(struct weir_connection *connection,
                                  const struct weir_sql *sql,
                                  const struct weir_value *values, size_t value_count,
                                  struct weir_arena *arena, struct weir_edge_rows *out,
                                  struct weir_error *error)
{
    struct weir_row_list list = {
        COLUMNS(weir_edge_columns), sizeof *out->rows, arena, out->rows, out->count, 0};
    enum weir_status status = weir_query_each(connection, sql, values, value_count,
                                              weir_row_append, &list, error);

    out->rows = list.rows;
    out->count = list.count;
    return status;
}

/* ---- edges -------------------------------------------------------------------- */

static enum weir_status resolve_each(struct weir_connection *connection,
                                     const struct weir_upstream_end *ends, size_t count,
                                     size_t limit, struct weir_arena *arena,
                                     struct weir_edge_rows *out, struct weir_error *error)
{
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; i < count && out->count < limit && status == WEIR_OK; i++) {
        status = add_edges(connection, &weir_flow_sql_resolve.one,
                           VALUES(weir_integer(ends[i].no), weir_integer(ends[i].state),
                                  weir_integer(ends[i].epoch),
                                  weir_integer((int64_t)(limit - out->count))),
                           arena, out, error);
    }
    return status;
}

static enum weir_status resolve_all(struct weir_connection *connection,
                                    const struct weir_upstream_end *ends, size_t count,
                                    size_t limit, struct weir_arena *arena,
                                    struct weir_edge_rows *out, struct weir_error *error)
{
    struct weir_columns table;
    enum weir_status status = weir_columns_init(&table, arena->heap, 3, count, error);

    for (size_t i = 0; i < count && status == WEIR_OK; i++) {
        weir_columns_set(&table, 0, i, weir_integer(ends[i].no));
        weir_columns_set(&table, 1, i, weir_integer(ends[i].state));
        weir_columns_set(&table, 2, i, weir_integer(ends[i].epoch));
    }
    if (status == WEIR_OK)
        status =
            add_edges(connection, &weir_flow_sql_resolve.many,
                      VALUES(weir_columns_array(&table, 0, WEIR_TYPE_INTEGER, 0, count),
                             weir_columns_array(&table, 1, WEIR_TYPE_INTEGER, 0, count),
                             weir_columns_array(&table, 2, WEIR_TYPE_INTEGER, 0, count),
                             weir_integer((int64_t)limit)),
                      arena, out, error);
    weir_columns_fini(&table);
    return status;
}

enum weir_status weir_edges_resolve(struct weir_connection *connection,
                                    const struct weir_upstream_end *ends, size_t count,
                                    size_t limit, struct weir_arena *arena,
                                    struct weir_edge_rows *out, struct weir_error *error)
{
    *out = (struct weir_edge_rows){.count = 0};
    if (count == 0)
        return WEIR_OK;
    return !weir_connection_traits(connection)->takes_arrays
               ? resolve_each(connection, ends, count, limit, arena, out, error)
               : resolve_all(connection, ends, count, limit, arena, out, error);
}

enum weir_status weir_edges_left_open(struct weir_connection *connection,
                                      const struct weir_store_filter *filter,
                                      int64_t until_us, size_t limit,
                                      struct weir_arena *arena, struct weir_members *out,
                                      struct weir_error *error)
{
    return weir_members_read(connection, &weir_execution_engine_of(connection)->left_open,
                             VALUES(weir_integer(until_us), weir_integer((int64_t)limit),
                                    weir_text(filter->name_space),
                                    weir_text(filter->tag_key),
                                    weir_text(filter->tag_value)),
                             arena, out, error);
}

enum weir_status weir_edges_to(struct weir_connection *connection, int64_t downstream,
                               struct weir_arena *arena, struct weir_edge_rows *out,
                               struct weir_error *error)
{
    *out = (struct weir_edge_rows){.count = 0};
    return add_edges(connection, &SQL_EDGES_TO, VALUES(weir_integer(downstream)), arena,
                     out, error);
}

enum weir_status weir_edges_of_flow(struct weir_connection *connection, int64_t flow_no,
                                    struct weir_arena *arena, struct weir_edge_rows *out,
                                    struct weir_error *error)
{
    *out = (struct weir_edge_rows){.count = 0};
    return add_edges(connection, &SQL_EDGES_OF_FLOW, VALUES(weir_integer(flow_no)), arena,
                     out, error);
}

enum weir_status weir_edges_reopen(struct weir_connection *connection, int64_t downstream,
                                   struct weir_error *error)
{
    return weir_connection_execute(connection, &SQL_REOPEN,
                                   VALUES(weir_integer(downstream)), NULL, error);
}

enum weir_status weir_edges_count_data(struct weir_connection *connection,
                                       int64_t downstream, int64_t more,
                                       struct weir_error *error)
{
    return weir_connection_execute(connection, &SQL_ADD_DATA_EDGES,
                                   VALUES(weir_integer(downstream), weir_integer(more)),
                                   NULL, error);
}

enum weir_status weir_edge_pass_data(struct weir_connection *connection,
                                     const struct weir_edge_row *edge,
                                     struct weir_error *error)
{
    return weir_connection_execute(
        connection, &SQL_PASS_DATA,
        VALUES(weir_integer(edge->upstream), weir_integer(edge->downstream)), NULL,
        error);
}
