/*
 * flow_insert.c - the part of edge_store.h and join_store.h that adds, and members by
 * their ids.
 *
 * An extension may bring thousands, so on PostgreSQL each kind is one statement, of
 * chunks; on SQLite, where a statement costs no round trip, it is a loop.
 */
#include <string.h>

#include "base/heap.h"
#include "db/migrate.h"
#include "db/query.h"
#include "execution/flow/edge_store.h"
#include "execution/flow/join_store.h"
#include "outbox/columns.h"

static const struct weir_sql SQL_FIND_MEMBER = {
    .name = "find member",
    .text = "SELECT no FROM {p}_execution WHERE uuid = {1} AND part = {2}",
    .parameters = "bi",
};
static const struct weir_sql SQL_FIND_MEMBERS = {
    .name = "find members",
    .text = "SELECT u.n, e.no FROM unnest({1}, {2}) WITH ORDINALITY AS u (uuid, part, n)"
            " CROSS JOIN LATERAL (SELECT no, part FROM {p}_execution k"
            " WHERE k.uuid = u.uuid LIMIT 1) e WHERE e.part = u.part",
    .parameters = "BI",
};

static const struct weir_sql SQL_INSERT_EDGE = {
    .name = "insert edge",
    .text = "INSERT INTO {p}_edge (upstream, downstream, flow, state, passes_data,"
            " opened_epoch) VALUES ({1}, {2}, {3}, {4}, {5}, 0) ON CONFLICT DO NOTHING",
    .parameters = "iiiii",
};
/* PostgreSQL. Of two that are the same the first is inserted. */
static const struct weir_sql SQL_INSERT_EDGES = {
    .name = "insert edges",
    .text = "INSERT INTO {p}_edge (upstream, downstream, flow, state, passes_data,"
            " opened_epoch) SELECT upstream, downstream, {5}, state, passes_data, 0"
            " FROM unnest({1}, {2}, {3}, {4}) WITH ORDINALITY AS u (upstream,"
            " downstream, state, passes_data, n) ORDER BY n ON CONFLICT DO NOTHING"
            " RETURNING upstream, downstream",
    .parameters = "IIIIi",
};
enum { EDGE_CHUNK = 5000 };

static const struct weir_sql SQL_INSERT_JOIN = {
    .name = "insert group",
    .text = "INSERT INTO {p}_edge_group (downstream, policy, cancel_remaining, quorum,"
            " total, flow) VALUES ({1}, {2}, {3}, {4}, {5}, {6})",
    .parameters = "iiiiii",
};
static const struct weir_sql SQL_INSERT_JOINS = {
    .name = "insert groups",
    .text = "INSERT INTO {p}_edge_group (downstream, policy, cancel_remaining, quorum,"
            " total, flow) SELECT downstream, policy, cancel_remaining, quorum, total,"
            " flow FROM unnest({1}, {2}, {3}, {4}, {5}, {6}) AS u (downstream, policy,"
            " cancel_remaining, quorum, total, flow)",
    .parameters = "IIIIII",
};
enum { JOIN_WIDTH = 6 };

/* ---- members ----------------------------------------------------------------------- */

static enum weir_status find_each(struct weir_connection *connection,
                                  const struct weir_execution_id *ids, size_t count,
                                  int64_t *out, struct weir_error *error)
{
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; i < count && status == WEIR_OK; i++) {
        status =
            weir_connection_query_integer(connection, &SQL_FIND_MEMBER,
                                          VALUES(weir_bytes(ids[i].uuid, WEIR_UUID_SIZE),
                                                 weir_integer(ids[i].partition)),
                                          &out[i], error);
        if (status == WEIR_NO_ROW)
            status = WEIR_OK;
    }
    return status;
}

/* Which of the executions, from 1, and its number. */
struct found {
    int64_t nth;
    int64_t no;
};
static const struct weir_column FOUND[] = {
    COLUMN(struct found, nth, INTEGER),
    COLUMN(struct found, no, INTEGER),
};
struct finding {
    int64_t *nos;
    size_t count;
};

static enum weir_status note_found(void *state, struct weir_rows *rows,
                                   struct weir_error *error)
{
    const struct finding *self = state;
    struct found found;
    enum weir_status status = weir_row_read(rows, COLUMNS(FOUND), &found, error);

    if (status == WEIR_OK && found.nth >= 1 && (size_t)found.nth <= self->count)
        self->nos[found.nth - 1] = found.no;
    return status;
}

static enum weir_status find_all(const struct weir_store *store,
                                 struct weir_connection *connection,
                                 const struct weir_execution_id *ids, size_t count,
                                 int64_t *out, struct weir_error *error)
{
    struct finding finding = {out, count};
    struct weir_columns table;
    enum weir_status status = weir_columns_init(&table, store->heap, 2, count, error);

    for (size_t i = 0; i < count && status == WEIR_OK; i++) {
        weir_columns_set(&table, 0, i, weir_bytes(ids[i].uuid, WEIR_UUID_SIZE));
        weir_columns_set(&table, 1, i, weir_integer(ids[i].partition));
    }
    if (status == WEIR_OK)
        status = weir_query_each(
            connection, &SQL_FIND_MEMBERS,
            VALUES(weir_columns_array(&table, 0, WEIR_TYPE_BYTES, 0, count),
                   weir_columns_array(&table, 1, WEIR_TYPE_INTEGER, 0, count)),
            note_found, &finding, error);
    weir_columns_fini(&table);
    return status;
}

enum weir_status weir_members_find(const struct weir_store *store,
                                   struct weir_connection *connection,
                                   const struct weir_execution_id *ids, size_t count,
                                   int64_t *out, struct weir_error *error)
{
    memset(out, 0, count * sizeof *out);
    if (count == 0)
        return WEIR_OK;
    return !weir_connection_traits(connection)->takes_arrays || count == 1
               ? find_each(connection, ids, count, out, error)
               : find_all(store, connection, ids, count, out, error);
}

/* ---- edges ------------------------------------------------------------------------- */

static enum weir_status insert_edge(struct weir_connection *connection, int64_t flow_no,
                                    const struct weir_edge_row *row, bool *added,
                                    struct weir_error *error)
{
    int64_t changed = 0;
    enum weir_status status = weir_connection_execute(
        connection, &SQL_INSERT_EDGE,
        VALUES(weir_integer(row->upstream), weir_integer(row->downstream),
               weir_integer(flow_no), weir_integer(row->state),
               weir_integer(row->passes_data)),
        &changed, error);

    *added = status == WEIR_OK && changed == 1;
    return status;
}

/* Rows come back in the order in which they were given, without those that were there. */
struct adding {
    const struct weir_edge_row *rows;
    size_t count;
    bool *added;
    size_t at;
};

static enum weir_status note_added(void *state, struct weir_rows *returned,
                                   struct weir_error *error)
{
    struct adding *self = state;
    const struct weir_edge_row *rows = self->rows;
    struct weir_edge_row edge;
    enum weir_status status = weir_row_read(returned, weir_edge_columns, 2, &edge, error);

    if (status != WEIR_OK)
        return status;
    while (self->at < self->count && (rows[self->at].upstream != edge.upstream ||
                                      rows[self->at].downstream != edge.downstream))
        self->at++;
    if (self->at == self->count)
        return weir_error_set(error, WEIR_SCHEMA,
                              "edges came back in another order than they went");
    self->added[self->at++] = true;
    return WEIR_OK;
}

static enum weir_status insert_chunk(const struct weir_store *store,
                                     struct weir_connection *connection, int64_t flow_no,
                                     const struct weir_edge_row *rows, size_t count,
                                     bool *added, struct weir_error *error)
{
    struct weir_value values[WEIR_EDGE_WIDTH + 1];
    struct adding adding = {rows, count, added, 0};
    struct weir_columns table;
    enum weir_status status =
        weir_columns_init(&table, store->heap, WEIR_EDGE_WIDTH, count, error);

    for (size_t i = 0; i < count && status == WEIR_OK; i++)
        weir_row_values(COLUMNS(weir_edge_columns), &rows[i], table.cells + i, count);
    for (size_t i = 0; i < WEIR_EDGE_WIDTH && status == WEIR_OK; i++)
        values[i] = weir_columns_array(&table, i, WEIR_TYPE_INTEGER, 0, count);
    values[WEIR_EDGE_WIDTH] = weir_integer(flow_no);
    if (status == WEIR_OK)
        status = weir_query_each(connection, &SQL_INSERT_EDGES, values,
                                 WEIR_EDGE_WIDTH + 1, note_added, &adding, error);
    weir_columns_fini(&table);
    return status;
}

enum weir_status weir_edges_insert(const struct weir_store *store,
                                   struct weir_connection *connection, int64_t flow_no,
                                   const struct weir_edge_row *rows, size_t count,
                                   bool *added, struct weir_error *error)
{
    bool each = !weir_connection_traits(connection)->takes_arrays || count == 1;
    enum weir_status status = WEIR_OK;
    size_t chunk;

    memset(added, 0, count * sizeof *added);
    for (size_t i = 0; i < count && status == WEIR_OK; i += chunk) {
        chunk = count - i < EDGE_CHUNK ? count - i : EDGE_CHUNK;
        if (each)
            chunk = 1;
        status = each ? insert_edge(connection, flow_no, &rows[i], &added[i], error)
                      : insert_chunk(store, connection, flow_no, &rows[i], chunk,
                                     &added[i], error);
    }
    return status;
}

/* ---- groups ------------------------------------------------------------------------ */

static void lay_out_new_join(const struct weir_join_row *row, struct weir_value *out,
                             size_t stride)
{
    const struct weir_value values[JOIN_WIDTH] = {
        weir_integer(row->downstream),       weir_integer(row->join_row.policy),
        weir_integer(row->cancel_remaining), weir_integer(row->join_row.quorum),
        weir_integer(row->join_row.total),   weir_integer(row->flow_no),
    };

    for (size_t i = 0; i < JOIN_WIDTH; i++)
        out[i * stride] = values[i];
}

static enum weir_status insert_joins_each(struct weir_connection *connection,
                                          const struct weir_join_row *rows, size_t count,
                                          struct weir_error *error)
{
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; i < count && status == WEIR_OK; i++) {
        struct weir_value values[JOIN_WIDTH];

        lay_out_new_join(&rows[i], values, 1);
        status = weir_connection_execute(connection, &SQL_INSERT_JOIN, values, JOIN_WIDTH,
                                         NULL, error);
    }
    return status;
}

static enum weir_status insert_joins_all(struct weir_connection *connection,
                                         const struct weir_join_row *rows, size_t count,
                                         struct weir_commit_batch *commit_batch,
                                         struct weir_error *error)
{
    static const enum weir_type TYPES[JOIN_WIDTH] = {
        WEIR_TYPE_INTEGER, WEIR_TYPE_INTEGER, WEIR_TYPE_INTEGER,
        WEIR_TYPE_INTEGER, WEIR_TYPE_INTEGER, WEIR_TYPE_INTEGER};
    struct weir_columns table;
    enum weir_status status =
        weir_columns_init(&table, commit_batch->heap, JOIN_WIDTH, count, error);

    for (size_t i = 0; i < count && status == WEIR_OK; i++)
        lay_out_new_join(&rows[i], table.cells + i, count);
    if (status == WEIR_OK)
        status =
            weir_commit_batch_make_room(commit_batch, connection, 1, JOIN_WIDTH, error);
    if (status == WEIR_OK)
        weir_commit_batch_add_table(commit_batch, &SQL_INSERT_JOINS, &table, TYPES,
                                    JOIN_WIDTH);
    else
        weir_columns_fini(&table);
    return status;
}

enum weir_status weir_joins_insert(struct weir_connection *connection,
                                   const struct weir_join_row *rows, size_t count,
                                   struct weir_commit_batch *commit_batch,
                                   struct weir_error *error)
{
    if (count == 0)
        return WEIR_OK;
    return !weir_connection_traits(connection)->takes_arrays
               ? insert_joins_each(connection, rows, count, error)
               : insert_joins_all(connection, rows, count, commit_batch, error);
}
