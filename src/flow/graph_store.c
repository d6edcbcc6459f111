/*
 * graph_store.c - see graph_store.h.
 *
 * What follows from the end of many is set-based on PostgreSQL, one statement for all of them; on
 * SQLite, where a statement costs no round trip, it is a loop.
 */
#include "flow/graph_store.h"

#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "db/migrate.h"
#include "flow/numbers.h"
#include "flow/store_statements.h"
#include "outbox/columns.h"

/* ---- statements: flows --------------------------------------------------------------------- */

#define FLOW_COLUMNS                                                                     \
    "no, uuid, part, state, cancel_policy, members, edges, unfinished, unlucky,"         \
    " revision, created_us, ended_us, namespace, kind, cancel_reason"

/* One that is gone is there for those who remove it (graph_remove.h). */
#define FINDABLE " AND state <> 4"

static const struct weir_sql SQL_INSERT_FLOW = {
    .name = "insert flow",
    .text = "INSERT INTO {p}_flow (uuid, part, created_us, namespace, kind)"
            " VALUES ({1}, {2}, {3}, {4}, {5}) ON CONFLICT DO NOTHING",
    .parameters = "biitt",
};
static const struct weir_sql SQL_FIND_FLOW[WEIR_ENGINE_COUNT][2] = {
    [WEIR_SQLITE] = {{.name = "find flow",
                      .text = "SELECT " FLOW_COLUMNS
                              " FROM {p}_flow WHERE uuid = {1}" FINDABLE,
                      .parameters = "b"},
                     {.name = "lock flow",
                      .text = "SELECT " FLOW_COLUMNS
                              " FROM {p}_flow WHERE uuid = {1}" FINDABLE,
                      .parameters = "b"}},
    [WEIR_POSTGRESQL] = {{.name = "find flow",
                          .text = "SELECT " FLOW_COLUMNS
                                  " FROM {p}_flow WHERE uuid = {1}" FINDABLE,
                          .parameters = "b"},
                         {.name = "lock flow",
                          .text = "SELECT " FLOW_COLUMNS
                                  " FROM {p}_flow WHERE uuid = {1}" FINDABLE
                                  " FOR NO KEY UPDATE",
                          .parameters = "b"}},
};
static const struct weir_sql SQL_WRITE_FLOW = {
    .name = "write flow",
    .text = "UPDATE {p}_flow SET state = {2}, cancel_policy = {3}, members = {4},"
            " edges = {5}, unfinished = {6}, unlucky = {7}, revision = {8},"
            " ended_us = {9}, cancel_reason = {10} WHERE no = {1}",
    .parameters = "iiiiiiiiit",
};

/* Producers may no more. */
static const struct weir_sql SQL_GROW_FLOW = {
    .name = "grow flow",
    .text = "UPDATE {p}_flow SET members = {2}, edges = {3}, unfinished = {4},"
            " revision = {5} WHERE no = {1}",
    .parameters = "iiiii",
};

/* Open and ended follow from the counter; one that was cancelled stays so, and is over with the last of
 * its members. */
static const struct weir_sql SQL_COUNT_ENDS = {
    .name = "count ends",
    .text = "UPDATE {p}_flow SET unfinished = unfinished - {2}, unlucky = unlucky + {3},"
            " state = CASE WHEN state = 3 THEN 3 WHEN unfinished - {2} > 0 THEN 0"
            " WHEN unlucky + {3} > 0 THEN 2 ELSE 1 END,"
            " ended_us = CASE WHEN unfinished - {2} <= 0 THEN {4}"
            " WHEN state = 3 THEN ended_us ELSE 0 END WHERE no = {1}" FINDABLE,
    .parameters = "iiii",
};

static const struct weir_sql SQL_PAGE = {
    .name = "list flows",
    .text = "SELECT " FLOW_COLUMNS " FROM {p}_flow WHERE no < {1}" FINDABLE
            " AND ({2} = '' OR namespace = {2}) ORDER BY no DESC LIMIT {3}",
    .parameters = "iti",
};

/* ---- statements: edges --------------------------------------------------------------------- */

/* By the partial index of open edges. An edge that was opened again waits for another end than the one
 * that was known then: every end has an epoch of its own, and time is not asked. */
const struct weir_sql weir_graph_sql_resolve[WEIR_ENGINE_COUNT] = {
    [WEIR_SQLITE] = {.name = "resolve edges",
                     .text = "UPDATE {p}_edge SET state = {2} WHERE (upstream,"
                             " downstream) IN (SELECT upstream, downstream"
                             " FROM {p}_edge WHERE upstream = {1} AND " WEIR_EDGE_IS_OPEN
                             " AND opened_epoch < {3} ORDER BY downstream LIMIT {4})"
                             " RETURNING upstream, downstream, state, passes_data",
                     .parameters = "iiii"},
    [WEIR_POSTGRESQL] = {.name = "resolve edges",
                         .text =
                             "UPDATE {p}_edge d SET state = o.ended FROM"
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
/* By the index of open edges, and by the primary key; likewise. */
#define LEFT_OPEN_FILTER                                                                 \
    " AND e.ended_us <= {1} AND ({3} = '' OR e.namespace = {3})"                         \
    " AND ({4} = '' OR (SELECT 1 FROM {p}_tag t WHERE t.no = e.no AND t.key = {4}"       \
    " AND t.value = {5} LIMIT 1) IS NOT NULL) LIMIT {2}"
const struct weir_sql weir_graph_sql_left_open[WEIR_ENGINE_COUNT] = {
    [WEIR_SQLITE] = {.name = "find edges that were left open",
                     .text = "SELECT DISTINCT e.no, e.uuid, e.part FROM {p}_edge d"
                             " JOIN {p}_execution e ON e.no = d.upstream"
                             " WHERE d." WEIR_EDGE_IS_OPEN " AND e.state + 0 >= 10"
                             " AND e.epoch > d.opened_epoch" LEFT_OPEN_FILTER,
                     .parameters = "iittt"},
    [WEIR_POSTGRESQL] = {.name = "find edges that were left open",
                         .text = "SELECT e.no, e.uuid, e.part FROM (SELECT upstream,"
                                 " min(opened_epoch) AS epoch FROM {p}_edge"
                                 " WHERE " WEIR_EDGE_IS_OPEN " GROUP BY upstream) d"
                                 " CROSS JOIN LATERAL (SELECT * FROM {p}_execution k"
                                 " WHERE k.no = d.upstream LIMIT 1) e"
                                 " WHERE e.state + 0 >= 10"
                                 " AND e.epoch > d.epoch" LEFT_OPEN_FILTER,
                         .parameters = "iittt"},
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
static const struct weir_sql SQL_PASS_DATA = {
    .name = "pass data",
    .text = "INSERT INTO {p}_input (no, bytes) SELECT {2}, r.bytes FROM {p}_result r"
            " WHERE r.no = {1} AND length(r.bytes) > 0"
            " ON CONFLICT (no) DO UPDATE SET bytes = excluded.bytes",
    .parameters = "ii",
};

/* ---- statements: groups -------------------------------------------------------------------- */

#define GROUP_COLUMNS                                                                    \
    "g.downstream, g.flow, g.policy, g.state, g.cancel_remaining, g.quorum, g.total,"    \
    " g.succeeded, g.failed, g.skipped, g.cancel_us"
enum { GROUP_WIDTH = 11 };

static const struct weir_sql SQL_LOCK_GROUPS[WEIR_ENGINE_COUNT] = {
    [WEIR_SQLITE] = {.name = "lock group",
                     .text = "SELECT " GROUP_COLUMNS
                             " FROM {p}_edge_group g WHERE downstream = {1}",
                     .parameters = "i"},
    [WEIR_POSTGRESQL] = {.name = "lock groups",
                         .text = "SELECT " GROUP_COLUMNS
                                 " FROM (SELECT DISTINCT no FROM unnest({1}) AS t (no)"
                                 " WHERE no > 0 ORDER BY no) u"
                                 " CROSS JOIN LATERAL (SELECT * FROM {p}_edge_group g"
                                 " WHERE g.downstream = u.no FOR NO KEY UPDATE) g",
                         .parameters = "I"},
};
static const struct weir_sql SQL_WRITE_GROUPS[WEIR_ENGINE_COUNT] = {
    [WEIR_SQLITE] = {.name = "write group",
                     .text =
                         "UPDATE {p}_edge_group SET state = {2}, total = {3},"
                         " succeeded = {4}, failed = {5}, skipped = {6}, cancel_us = {7}"
                         " WHERE downstream = {1}",
                     .parameters = "iiiiiii"},
    [WEIR_POSTGRESQL] = {.name = "write groups",
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
enum { GROUP_WRITE_WIDTH = 7 };
static const struct weir_sql SQL_CANCELLING = {
    .name = "read groups with siblings to cancel",
    .text = "SELECT " GROUP_COLUMNS ", e.uuid, e.part FROM {p}_edge_group g"
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
/* One that had ended when it was decided, and was replayed, is none. By the index of edges to one, and
 * then by the primary key: a planner who believes the table to be small would read all of it. */
const struct weir_sql weir_graph_sql_siblings[WEIR_ENGINE_COUNT] = {
    [WEIR_SQLITE] = {.name = "read siblings",
                     .text =
                         "SELECT e.no, e.uuid, e.part FROM {p}_edge d JOIN {p}_execution"
                         " e ON e.no = d.upstream WHERE d.downstream = {1}"
                         " AND d.state + 0 = 0 AND e.state + 0 < 10"
                         " ORDER BY d.upstream LIMIT {2}",
                     .parameters = "ii"},
    [WEIR_POSTGRESQL] = {.name = "read siblings",
                         .text = "SELECT e.no, e.uuid, e.part FROM (SELECT upstream"
                                 " FROM {p}_edge WHERE downstream = {1}"
                                 " AND state + 0 = 0 ORDER BY upstream LIMIT"
                                 " (SELECT 9223372036854775807)) d"
                                 " CROSS JOIN LATERAL (SELECT no, uuid, part, state"
                                 " FROM {p}_execution k WHERE k.no = d.upstream LIMIT 1)"
                                 " e WHERE e.state + 0 < 10 LIMIT {2}",
                         .parameters = "ii"},
};

/* ---- reading ------------------------------------------------------------------------------- */

static enum weir_engine engine_of(struct weir_connection *connection)
{
    return weir_connection_link(connection)->driver->engine;
}

static enum weir_status no_memory(struct weir_error *error)
{
    return weir_error_set(error, WEIR_NO_MEMORY, "no memory for a flow");
}

enum weir_status weir_graph_unknown(const char *what, int64_t number,
                                    struct weir_error *error)
{
    return weir_error_set(error, WEIR_SCHEMA,
                          "%s is %lld, which this library does not know: install a "
                          "newer weir",
                          what, (long long)number);
}

static enum weir_status read_flow(struct weir_rows *rows, struct weir_arena *arena,
                                  struct weir_flow_row *out, struct weir_error *error)
{
    struct weir_str *const texts[] = {&out->name_space, &out->kind, &out->cancel_reason};
    struct weir_str uuid = weir_rows_bytes(rows, 1);
    int64_t state = weir_rows_integer(rows, 3);
    int64_t policy = weir_rows_integer(rows, 4);
    enum weir_status status = WEIR_OK;

    if (state < WEIR_FLOW_OPEN || state > WEIR_FLOW_CANCELLED)
        return weir_graph_unknown("the state of a flow", state, error);
    if (policy < WEIR_CANCEL_FLOW_ONLY || policy > WEIR_CANCEL_PENDING)
        return weir_graph_unknown("the cancel policy of a flow", policy, error);
    if (uuid.size != WEIR_UUID_SIZE)
        return weir_error_set(error, WEIR_SCHEMA, "a flow has no uuid");
    *out = (struct weir_flow_row){
        .no = weir_rows_integer(rows, 0),
        .partition = (uint16_t)weir_rows_integer(rows, 2),
        .state = (enum weir_flow_state)state,
        .cancel_policy = (enum weir_graph_cancel_policy)policy,
        .members = (int32_t)weir_rows_integer(rows, 5),
        .edges = (int32_t)weir_rows_integer(rows, 6),
        .unfinished = (int32_t)weir_rows_integer(rows, 7),
        .unlucky = (int32_t)weir_rows_integer(rows, 8),
        .revision = weir_rows_integer(rows, 9),
        .created_us = weir_rows_integer(rows, 10),
        .ended_us = weir_rows_integer(rows, 11),
        .name_space = weir_rows_text(rows, 12),
        .kind = weir_rows_text(rows, 13),
        .cancel_reason = weir_rows_text(rows, 14),
    };
    memcpy(out->id.uuid, uuid.data, WEIR_UUID_SIZE);
    for (size_t i = 0; i < 3 && status == WEIR_OK; i++)
        status = weir_arena_keep(arena, texts[i]) ? WEIR_OK : no_memory(error);
    return status;
}

static enum weir_status add_edge(struct weir_rows *rows, struct weir_arena *arena,
                                 struct weir_edge_rows *out, struct weir_error *error)
{
    int64_t state = weir_rows_integer(rows, 2);
    struct weir_edge_row *more =
        weir_arena_grow(arena, out->rows, out->count, sizeof *out->rows);

    if (more == NULL)
        return no_memory(error);
    if (state < WEIR_EDGE_OPEN || state > WEIR_EDGE_SKIPPED)
        return weir_graph_unknown("the state of an edge", state, error);
    out->rows = more;
    out->rows[out->count++] = (struct weir_edge_row){
        .upstream = weir_rows_integer(rows, 0),
        .downstream = weir_rows_integer(rows, 1),
        .state = (enum weir_edge_state)state,
        .passes_data = weir_rows_integer(rows, 3) != 0,
    };
    return WEIR_OK;
}

/* Of a query that ended with `status`; it is closed afterwards. */
static enum weir_status add_edges(enum weir_status status, struct weir_rows *rows,
                                  struct weir_arena *arena, struct weir_edge_rows *out,
                                  struct weir_error *error)
{
    while (status == WEIR_OK && (status = weir_rows_next(rows, error)) == WEIR_OK)
        status = add_edge(rows, arena, out, error);
    weir_rows_close(rows);
    return status == WEIR_NO_ROW ? WEIR_OK : status;
}

static enum weir_status add_group(struct weir_rows *rows, struct weir_arena *arena,
                                  struct weir_group_rows *out, struct weir_error *error)
{
    int64_t policy = weir_rows_integer(rows, 2);
    int64_t state = weir_rows_integer(rows, 3);
    struct weir_group_row *more =
        weir_arena_grow(arena, out->rows, out->count, sizeof *out->rows);

    if (more == NULL)
        return no_memory(error);
    if (policy < WEIR_JOIN_ALL || policy >= WEIR_JOIN_COUNT)
        return weir_graph_unknown("the policy of a join", policy, error);
    if (state < WEIR_GROUP_PENDING || state > WEIR_GROUP_IMPOSSIBLE)
        return weir_graph_unknown("the state of a join", state, error);
    out->rows = more;
    out->rows[out->count++] = (struct weir_group_row){
        .downstream = weir_rows_integer(rows, 0),
        .flow_no = weir_rows_integer(rows, 1),
        .group = {.policy = (enum weir_join)policy,
                  .quorum = (uint32_t)weir_rows_integer(rows, 5),
                  .total = (uint32_t)weir_rows_integer(rows, 6),
                  .succeeded = (uint32_t)weir_rows_integer(rows, 7),
                  .failed = (uint32_t)weir_rows_integer(rows, 8),
                  .skipped = (uint32_t)weir_rows_integer(rows, 9)},
        .state = (enum weir_group_state)state,
        .cancel_remaining = weir_rows_integer(rows, 4) != 0,
        .cancel_us = weir_rows_integer(rows, 10),
    };
    return WEIR_OK;
}

static enum weir_status add_groups(enum weir_status status, struct weir_rows *rows,
                                   struct weir_arena *arena, struct weir_group_rows *out,
                                   struct weir_error *error)
{
    while (status == WEIR_OK && (status = weir_rows_next(rows, error)) == WEIR_OK)
        status = add_group(rows, arena, out, error);
    weir_rows_close(rows);
    return status == WEIR_NO_ROW ? WEIR_OK : status;
}

enum weir_status weir_graph_read_id(struct weir_rows *rows, size_t column,
                                    struct weir_execution_id *out,
                                    struct weir_error *error)
{
    struct weir_str uuid = weir_rows_bytes(rows, column);

    if (uuid.size != WEIR_UUID_SIZE)
        return weir_error_set(error, WEIR_SCHEMA, "an execution has no uuid");
    memcpy(out->uuid, uuid.data, WEIR_UUID_SIZE);
    out->partition = (uint16_t)weir_rows_integer(rows, column + 1);
    return WEIR_OK;
}

static enum weir_status add_member(struct weir_rows *rows, struct weir_arena *arena,
                                   struct weir_members *out, struct weir_error *error)
{
    struct weir_member *more =
        weir_arena_grow(arena, out->rows, out->count, sizeof *out->rows);

    if (more == NULL)
        return no_memory(error);
    out->rows = more;
    more += out->count++;
    more->no = weir_rows_integer(rows, 0);
    return weir_graph_read_id(rows, 1, &more->id, error);
}

static enum weir_status add_members(enum weir_status status, struct weir_rows *rows,
                                    struct weir_arena *arena, struct weir_members *out,
                                    struct weir_error *error)
{
    *out = (struct weir_members){.count = 0};
    while (status == WEIR_OK && (status = weir_rows_next(rows, error)) == WEIR_OK)
        status = add_member(rows, arena, out, error);
    weir_rows_close(rows);
    return status == WEIR_NO_ROW ? WEIR_OK : status;
}

/* ---- flows --------------------------------------------------------------------------------- */

enum weir_status weir_graph_insert(struct weir_connection *connection,
                                   const struct weir_flow_row *row, bool *added,
                                   struct weir_error *error)
{
    int64_t changed = 0;
    enum weir_status status = weir_connection_execute(
        connection, &SQL_INSERT_FLOW,
        VALUES(weir_bytes(row->id.uuid, WEIR_UUID_SIZE), weir_integer(row->partition),
               weir_integer(row->created_us), weir_text(row->name_space),
               weir_text(row->kind)),
        &changed, error);

    *added = status == WEIR_OK && changed == 1;
    return status;
}

enum weir_status weir_graph_find(struct weir_connection *connection,
                                 const struct weir_graph_id *id,
                                 enum weir_graph_lock lock, struct weir_arena *arena,
                                 struct weir_flow_row *out, struct weir_error *error)
{
    struct weir_rows rows;
    enum weir_status status =
        weir_connection_query(connection, &SQL_FIND_FLOW[engine_of(connection)][lock],
                              VALUES(weir_bytes(id->uuid, WEIR_UUID_SIZE)), &rows, error);

    if (status == WEIR_OK)
        status = weir_rows_next(&rows, error);
    if (status == WEIR_OK)
        status = read_flow(&rows, arena, out, error);
    weir_rows_close(&rows);
    return status;
}

enum weir_status weir_graph_page(struct weir_connection *connection,
                                 const struct weir_graph_filter *filter,
                                 struct weir_arena *arena, struct weir_flow_row **out,
                                 size_t *count, struct weir_error *error)
{
    const char *name_space = filter->name_space != NULL ? filter->name_space : "";
    struct weir_rows rows;
    enum weir_status status = weir_connection_query(
        connection, &SQL_PAGE,
        VALUES(weir_integer(filter->before > 0 ? filter->before : INT64_MAX),
               weir_text(weir_str(name_space)), weir_integer((int64_t)filter->count)),
        &rows, error);

    *out = NULL;
    *count = 0;
    while (status == WEIR_OK && (status = weir_rows_next(&rows, error)) == WEIR_OK) {
        struct weir_flow_row *more = weir_arena_grow(arena, *out, *count, sizeof **out);

        if (more == NULL) {
            status = no_memory(error);
            break;
        }
        *out = more;
        status = read_flow(&rows, arena, &more[(*count)++], error);
    }
    weir_rows_close(&rows);
    return status == WEIR_NO_ROW ? WEIR_OK : status;
}

/* Now, or with the commit. */
static enum weir_status put(struct weir_connection *connection,
                            const struct weir_sql *sql, const struct weir_value *values,
                            size_t value_count, struct weir_postscript *postscript,
                            struct weir_error *error)
{
    enum weir_status status;

    if (postscript == NULL || engine_of(connection) == WEIR_SQLITE)
        return weir_connection_execute(connection, sql, values, value_count, NULL, error);
    status = weir_postscript_make_room(postscript, connection, 1, value_count, error);
    if (status == WEIR_OK)
        weir_postscript_add(postscript, sql, values, value_count);
    return status;
}

enum weir_status weir_graph_write(struct weir_connection *connection,
                                  const struct weir_flow_row *row,
                                  struct weir_postscript *postscript,
                                  struct weir_error *error)
{
    return put(connection, &SQL_WRITE_FLOW,
               VALUES(weir_integer(row->no), weir_integer(row->state),
                      weir_integer(row->cancel_policy), weir_integer(row->members),
                      weir_integer(row->edges), weir_integer(row->unfinished),
                      weir_integer(row->unlucky), weir_integer(row->revision),
                      weir_integer(row->ended_us), weir_text(row->cancel_reason)),
               postscript, error);
}

enum weir_status weir_graph_grow(struct weir_connection *connection,
                                 const struct weir_flow_row *row,
                                 struct weir_error *error)
{
    return weir_connection_execute(
        connection, &SQL_GROW_FLOW,
        VALUES(weir_integer(row->no), weir_integer(row->members),
               weir_integer(row->edges), weir_integer(row->unfinished),
               weir_integer(row->revision)),
        NULL, error);
}

enum weir_status weir_graph_count_ends(struct weir_connection *connection,
                                       const struct weir_flow_ends *ends, int64_t now_us,
                                       struct weir_postscript *postscript,
                                       struct weir_error *error)
{
    const struct weir_value values[] = {
        weir_integer(ends->flow_no), weir_integer(ends->ended),
        weir_integer(ends->unlucky), weir_integer(now_us)};
    int64_t changed = 0;
    enum weir_status status;

    if (ends->ended >= 0)
        return put(connection, &SQL_COUNT_ENDS, values, 4, postscript, error);
    status =
        weir_connection_execute(connection, &SQL_COUNT_ENDS, values, 4, &changed, error);
    if (status == WEIR_OK && changed == 0)
        return weir_error_set(error, WEIR_NOT_FOUND,
                              "its flow ended long ago, and is being removed");
    return status;
}

/* ---- edges --------------------------------------------------------------------------------- */

static enum weir_status resolve_each(struct weir_connection *connection,
                                     const struct weir_upstream_end *ends, size_t count,
                                     size_t limit, struct weir_arena *arena,
                                     struct weir_edge_rows *out, struct weir_error *error)
{
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; i < count && out->count < limit && status == WEIR_OK; i++) {
        struct weir_rows rows;

        status = weir_connection_query(
            connection, &weir_graph_sql_resolve[WEIR_SQLITE],
            VALUES(weir_integer(ends[i].no), weir_integer(ends[i].state),
                   weir_integer(ends[i].epoch),
                   weir_integer((int64_t)(limit - out->count))),
            &rows, error);
        status = add_edges(status, &rows, arena, out, error);
    }
    return status;
}

static enum weir_status resolve_all(const struct weir_store *store,
                                    struct weir_connection *connection,
                                    const struct weir_upstream_end *ends, size_t count,
                                    size_t limit, struct weir_arena *arena,
                                    struct weir_edge_rows *out, struct weir_error *error)
{
    struct weir_rows rows = {.connection = NULL};
    struct weir_columns table;
    enum weir_status status = weir_columns_init(&table, store->heap, 3, count, error);

    for (size_t i = 0; i < count && status == WEIR_OK; i++) {
        weir_columns_set(&table, 0, i, weir_integer(ends[i].no));
        weir_columns_set(&table, 1, i, weir_integer(ends[i].state));
        weir_columns_set(&table, 2, i, weir_integer(ends[i].epoch));
    }
    if (status == WEIR_OK)
        status = weir_connection_query(
            connection, &weir_graph_sql_resolve[WEIR_POSTGRESQL],
            VALUES(weir_columns_array(&table, 0, WEIR_TYPE_INTEGER, 0, count),
                   weir_columns_array(&table, 1, WEIR_TYPE_INTEGER, 0, count),
                   weir_columns_array(&table, 2, WEIR_TYPE_INTEGER, 0, count),
                   weir_integer((int64_t)limit)),
            &rows, error);
    status = add_edges(status, &rows, arena, out, error);
    weir_columns_fini(&table);
    return status;
}

enum weir_status weir_edges_resolve(const struct weir_store *store,
                                    struct weir_connection *connection,
                                    const struct weir_upstream_end *ends, size_t count,
                                    size_t limit, struct weir_arena *arena,
                                    struct weir_edge_rows *out, struct weir_error *error)
{
    *out = (struct weir_edge_rows){.count = 0};
    if (count == 0)
        return WEIR_OK;
    return engine_of(connection) == WEIR_SQLITE
               ? resolve_each(connection, ends, count, limit, arena, out, error)
               : resolve_all(store, connection, ends, count, limit, arena, out, error);
}

enum weir_status weir_edges_left_open(struct weir_connection *connection,
                                      const struct weir_store_filter *filter,
                                      int64_t until_us, size_t limit,
                                      struct weir_arena *arena, struct weir_members *out,
                                      struct weir_error *error)
{
    struct weir_rows rows;
    enum weir_status status = weir_connection_query(
        connection, &weir_graph_sql_left_open[engine_of(connection)],
        VALUES(weir_integer(until_us), weir_integer((int64_t)limit),
               weir_text(filter->name_space), weir_text(filter->tag_key),
               weir_text(filter->tag_value)),
        &rows, error);

    return add_members(status, &rows, arena, out, error);
}

enum weir_status weir_edges_to(struct weir_connection *connection, int64_t downstream,
                               struct weir_arena *arena, struct weir_edge_rows *out,
                               struct weir_error *error)
{
    struct weir_rows rows;
    enum weir_status status = weir_connection_query(
        connection, &SQL_EDGES_TO, VALUES(weir_integer(downstream)), &rows, error);

    *out = (struct weir_edge_rows){.count = 0};
    return add_edges(status, &rows, arena, out, error);
}

enum weir_status weir_edges_of_flow(struct weir_connection *connection, int64_t flow_no,
                                    struct weir_arena *arena, struct weir_edge_rows *out,
                                    struct weir_error *error)
{
    struct weir_rows rows;
    enum weir_status status = weir_connection_query(
        connection, &SQL_EDGES_OF_FLOW, VALUES(weir_integer(flow_no)), &rows, error);

    *out = (struct weir_edge_rows){.count = 0};
    return add_edges(status, &rows, arena, out, error);
}

enum weir_status weir_edges_reopen(struct weir_connection *connection, int64_t downstream,
                                   struct weir_error *error)
{
    return weir_connection_execute(connection, &SQL_REOPEN,
                                   VALUES(weir_integer(downstream)), NULL, error);
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

/* ---- groups -------------------------------------------------------------------------------- */

/* The order matters only where others lock too; it is that of the answer. */
static enum weir_status lock_each(struct weir_connection *connection,
                                  const int64_t *downstreams, size_t count,
                                  struct weir_arena *arena, struct weir_group_rows *out,
                                  struct weir_error *error)
{
    enum weir_status status = WEIR_OK;
    int64_t *sorted = weir_arena_alloc(arena, count * sizeof *sorted);

    if (sorted == NULL)
        return no_memory(error);
    memcpy(sorted, downstreams, count * sizeof *sorted);
    count = weir_numbers_unique(sorted, count);
    for (size_t i = 0; i < count && status == WEIR_OK; i++) {
        struct weir_rows rows;

        status = weir_connection_query(connection, &SQL_LOCK_GROUPS[WEIR_SQLITE],
                                       VALUES(weir_integer(sorted[i])), &rows, error);
        status = add_groups(status, &rows, arena, out, error);
    }
    return status;
}

static enum weir_status lock_all(const struct weir_store *store,
                                 struct weir_connection *connection,
                                 const int64_t *downstreams, size_t count,
                                 struct weir_arena *arena, struct weir_group_rows *out,
                                 struct weir_error *error)
{
    struct weir_rows rows = {.connection = NULL};
    struct weir_columns table;
    enum weir_status status = weir_columns_init(&table, store->heap, 1, count, error);

    for (size_t i = 0; i < count && status == WEIR_OK; i++)
        weir_columns_set(&table, 0, i, weir_integer(downstreams[i]));
    if (status == WEIR_OK)
        status = weir_connection_query(
            connection, &SQL_LOCK_GROUPS[WEIR_POSTGRESQL],
            VALUES(weir_columns_array(&table, 0, WEIR_TYPE_INTEGER, 0, count)), &rows,
            error);
    status = add_groups(status, &rows, arena, out, error);
    weir_columns_fini(&table);
    return status;
}

enum weir_status weir_groups_lock(const struct weir_store *store,
                                  struct weir_connection *connection,
                                  const int64_t *downstreams, size_t count,
                                  struct weir_arena *arena, struct weir_group_rows *out,
                                  struct weir_error *error)
{
    *out = (struct weir_group_rows){.count = 0};
    if (count == 0)
        return WEIR_OK;
    return engine_of(connection) == WEIR_SQLITE
               ? lock_each(connection, downstreams, count, arena, out, error)
               : lock_all(store, connection, downstreams, count, arena, out, error);
}

static void lay_out_group(const struct weir_group_row *row, struct weir_value *out,
                          size_t stride)
{
    const struct weir_value values[GROUP_WRITE_WIDTH] = {
        weir_integer(row->downstream),   weir_integer(row->state),
        weir_integer(row->group.total),  weir_integer(row->group.succeeded),
        weir_integer(row->group.failed), weir_integer(row->group.skipped),
        weir_integer(row->cancel_us),
    };

    for (size_t i = 0; i < GROUP_WRITE_WIDTH; i++)
        out[i * stride] = values[i];
}

static enum weir_status write_each(struct weir_connection *connection,
                                   const struct weir_group_row *rows, size_t count,
                                   struct weir_postscript *postscript,
                                   struct weir_error *error)
{
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; i < count && status == WEIR_OK; i++) {
        struct weir_value values[GROUP_WRITE_WIDTH];

        lay_out_group(&rows[i], values, 1);
        status = put(connection, &SQL_WRITE_GROUPS[WEIR_SQLITE], values,
                     GROUP_WRITE_WIDTH, postscript, error);
    }
    return status;
}

static enum weir_status write_all(const struct weir_store *store,
                                  struct weir_connection *connection,
                                  const struct weir_group_row *rows, size_t count,
                                  struct weir_postscript *postscript,
                                  struct weir_error *error)
{
    static const enum weir_type TYPES[GROUP_WRITE_WIDTH] = {
        WEIR_TYPE_INTEGER, WEIR_TYPE_INTEGER, WEIR_TYPE_INTEGER, WEIR_TYPE_INTEGER,
        WEIR_TYPE_INTEGER, WEIR_TYPE_INTEGER, WEIR_TYPE_INTEGER};
    struct weir_columns table;
    enum weir_status status =
        weir_columns_init(&table, store->heap, GROUP_WRITE_WIDTH, count, error);

    for (size_t i = 0; i < count && status == WEIR_OK; i++)
        lay_out_group(&rows[i], table.cells + i, count);
    if (status == WEIR_OK)
        status = weir_postscript_make_room(postscript, connection, 1, GROUP_WRITE_WIDTH,
                                           error);
    if (status == WEIR_OK)
        weir_postscript_add_table(postscript, &SQL_WRITE_GROUPS[WEIR_POSTGRESQL], &table,
                                  TYPES, GROUP_WRITE_WIDTH);
    else
        weir_columns_fini(&table);
    return status;
}

enum weir_status weir_groups_write(const struct weir_store *store,
                                   struct weir_connection *connection,
                                   const struct weir_group_row *rows, size_t count,
                                   struct weir_postscript *postscript,
                                   struct weir_error *error)
{
    if (count == 0)
        return WEIR_OK;
    return engine_of(connection) == WEIR_SQLITE || count == 1
               ? write_each(connection, rows, count, postscript, error)
               : write_all(store, connection, rows, count, postscript, error);
}

static enum weir_status add_cancelling(struct weir_rows *rows, struct weir_arena *arena,
                                       struct weir_group_rows *out,
                                       struct weir_error *error)
{
    struct weir_execution_id *ids =
        weir_arena_grow(arena, out->ids, out->count, sizeof *out->ids);
    enum weir_status status = WEIR_OK;

    if (ids == NULL)
        return no_memory(error);
    out->ids = ids;
    status = weir_graph_read_id(rows, GROUP_WIDTH, &ids[out->count], error);
    return status == WEIR_OK ? add_group(rows, arena, out, error) : status;
}

enum weir_status weir_groups_cancelling(struct weir_connection *connection,
                                        const struct weir_store_filter *filter,
                                        size_t limit, struct weir_arena *arena,
                                        struct weir_group_rows *out,
                                        struct weir_error *error)
{
    struct weir_rows rows;
    enum weir_status status = weir_connection_query(
        connection, &SQL_CANCELLING,
        VALUES(weir_integer((int64_t)limit), weir_text(filter->name_space),
               weir_text(filter->tag_key), weir_text(filter->tag_value)),
        &rows, error);

    *out = (struct weir_group_rows){.count = 0};
    while (status == WEIR_OK && (status = weir_rows_next(&rows, error)) == WEIR_OK)
        status = add_cancelling(&rows, arena, out, error);
    weir_rows_close(&rows);
    return status == WEIR_NO_ROW ? WEIR_OK : status;
}

enum weir_status weir_group_siblings(struct weir_connection *connection,
                                     int64_t downstream, size_t limit,
                                     struct weir_arena *arena, struct weir_members *out,
                                     struct weir_error *error)
{
    struct weir_rows rows;
    enum weir_status status = weir_connection_query(
        connection, &weir_graph_sql_siblings[engine_of(connection)],
        VALUES(weir_integer(downstream), weir_integer((int64_t)limit)), &rows, error);

    return add_members(status, &rows, arena, out, error);
}

enum weir_status weir_group_forget_siblings(struct weir_connection *connection,
                                            const struct weir_group_row *group,
                                            bool *forgotten, struct weir_error *error)
{
    int64_t changed = 0;
    enum weir_status status = weir_connection_execute(
        connection, &SQL_FORGET_SIBLINGS,
        VALUES(weir_integer(group->downstream), weir_integer(group->cancel_us)), &changed,
        error);

    *forgotten = status == WEIR_OK && changed == 1;
    return status;
}
