/*
 * flow_store.c - see flow_store.h.
 */
#include "execution/flow/flow_store.h"

#include <string.h>

#include "base/no_memory.h"
#include "db/migrate.h"

/* ---- statements -------------------------------------------------------------------- */

#define FLOW_COLUMNS                                                                     \
    "no, uuid, part, state, cancel_policy, members, edges, unfinished, unlucky,"         \
    " revision, created_us, ended_us, namespace, kind, cancel_reason"

/* One that is gone is there for those who remove it (flow_remove.h). */
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

/* PostgreSQL. */
static const struct weir_sql SQL_MAY_REOPEN = {
    .name = "ask for the right to reopen flows",
    .text = "SELECT CASE WHEN has_column_privilege('{q}_flow', 'state', 'UPDATE')"
            " THEN 1 ELSE 0 END",
    .parameters = "",
};

/* Open and ended follow from the counter; one that was cancelled stays so, and is over
 * with the last of its members. */
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

/* ---- reading ----------------------------------------------------------------------- */

enum weir_status weir_flow_unknown(const char *what, int64_t number,
                                   struct weir_error *error)
{
    return weir_error_set(error, WEIR_SCHEMA,
                          "%s is %lld, which this library does not know: install a "
                          "newer weir",
                          what, (long long)number);
}

/* One that had ended, and that somebody has added to who may not say so. */
static void open_again(struct weir_flow_row *row)
{
    if (row->unfinished == 0 ||
        (row->state != WEIR_FLOW_ROW_COMPLETED && row->state != WEIR_FLOW_ROW_FAILED))
        return;
    row->state = WEIR_FLOW_ROW_OPEN;
    row->ended_us = 0;
}

static enum weir_status read_flow(struct weir_rows *rows, struct weir_arena *arena,
                                  struct weir_flow_row *out, struct weir_error *error)
{
    struct weir_str *const texts[] = {&out->name_space, &out->kind, &out->cancel_reason};
    struct weir_str uuid = weir_rows_bytes(rows, 1);
    int64_t state = weir_rows_integer(rows, 3);
    int64_t policy = weir_rows_integer(rows, 4);
    enum weir_status status = WEIR_OK;

    if (state < WEIR_FLOW_ROW_OPEN || state > WEIR_FLOW_ROW_CANCELLED)
        return weir_flow_unknown("the state of a flow", state, error);
    if (policy < WEIR_CANCEL_FLOW_ONLY || policy > WEIR_CANCEL_PENDING)
        return weir_flow_unknown("the cancel policy of a flow", policy, error);
    if (uuid.size != WEIR_UUID_SIZE)
        return weir_error_set(error, WEIR_SCHEMA, "a flow has no uuid");
    *out = (struct weir_flow_row){
        .no = weir_rows_integer(rows, 0),
        .partition = (uint16_t)weir_rows_integer(rows, 2),
        .state = (enum weir_flow_row_state)state,
        .cancel_policy = (enum weir_flow_cancel_policy)policy,
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
    open_again(out);
    for (size_t i = 0; i < 3 && status == WEIR_OK; i++)
        status = weir_arena_keep(arena, texts[i]) ? WEIR_OK
                                                  : weir_no_memory_for(error, "a flow");
    return status;
}

enum weir_status weir_flow_read_id(struct weir_rows *rows, size_t column,
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
        return weir_no_memory_for(error, "a flow");
    out->rows = more;
    more += out->count++;
    more->no = weir_rows_integer(rows, 0);
    return weir_flow_read_id(rows, 1, &more->id, error);
}

enum weir_status weir_members_read(enum weir_status status, struct weir_rows *rows,
                                   struct weir_arena *arena, struct weir_members *out,
                                   struct weir_error *error)
{
    *out = (struct weir_members){.count = 0};
    while (status == WEIR_OK && (status = weir_rows_next(rows, error)) == WEIR_OK)
        status = add_member(rows, arena, out, error);
    weir_rows_close(rows);
    return status == WEIR_NO_ROW ? WEIR_OK : status;
}

/* ---- flows ------------------------------------------------------------------------- */

enum weir_status weir_flow_insert(struct weir_connection *connection,
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

enum weir_status weir_flow_find(struct weir_connection *connection,
                                const struct weir_flow_id *id, enum weir_flow_lock lock,
                                struct weir_arena *arena, struct weir_flow_row *out,
                                struct weir_error *error)
{
    struct weir_rows rows;
    enum weir_status status = weir_connection_query(
        connection, &SQL_FIND_FLOW[weir_connection_engine(connection)][lock],
        VALUES(weir_bytes(id->uuid, WEIR_UUID_SIZE)), &rows, error);

    if (status == WEIR_OK)
        status = weir_rows_next(&rows, error);
    if (status == WEIR_OK)
        status = read_flow(&rows, arena, out, error);
    weir_rows_close(&rows);
    return status;
}

enum weir_status weir_flow_page(struct weir_connection *connection,
                                const struct weir_flow_filter *filter,
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
            status = weir_no_memory_for(error, "a flow");
            break;
        }
        *out = more;
        status = read_flow(&rows, arena, &more[(*count)++], error);
    }
    weir_rows_close(&rows);
    return status == WEIR_NO_ROW ? WEIR_OK : status;
}

enum weir_status weir_flow_write(struct weir_connection *connection,
                                 const struct weir_flow_row *row,
                                 struct weir_commit_batch *commit_batch,
                                 struct weir_error *error)
{
    return weir_commit_batch_put(
        commit_batch, connection, &SQL_WRITE_FLOW,
        VALUES(weir_integer(row->no), weir_integer(row->state),
               weir_integer(row->cancel_policy), weir_integer(row->members),
               weir_integer(row->edges), weir_integer(row->unfinished),
               weir_integer(row->unlucky), weir_integer(row->revision),
               weir_integer(row->ended_us), weir_text(row->cancel_reason)),
        error);
}

enum weir_status weir_flow_grow(struct weir_connection *connection,
                                const struct weir_flow_row *row, struct weir_error *error)
{
    return weir_connection_execute(
        connection, &SQL_GROW_FLOW,
        VALUES(weir_integer(row->no), weir_integer(row->members),
               weir_integer(row->edges), weir_integer(row->unfinished),
               weir_integer(row->revision)),
        NULL, error);
}

enum weir_status weir_flow_reopen(struct weir_connection *connection,
                                  const struct weir_flow_row *row,
                                  struct weir_error *error)
{
    int64_t may = 1;
    enum weir_status status = WEIR_OK;

    if (weir_connection_engine(connection) == WEIR_POSTGRESQL)
        status = weir_connection_query_integer(connection, &SQL_MAY_REOPEN, NULL, 0, &may,
                                               error);
    if (status != WEIR_OK)
        return status;
    return may != 0 ? weir_flow_write(connection, row, NULL, error)
                    : weir_flow_grow(connection, row, error);
}

enum weir_status weir_flow_count_ends(struct weir_connection *connection,
                                      const struct weir_flow_ends *ends, int64_t now_us,
                                      struct weir_commit_batch *commit_batch,
                                      struct weir_error *error)
{
    const struct weir_value values[] = {
        weir_integer(ends->flow_no), weir_integer(ends->ended),
        weir_integer(ends->unlucky), weir_integer(now_us)};
    int64_t changed = 0;
    enum weir_status status;

    if (ends->ended >= 0)
        return weir_commit_batch_put(commit_batch, connection, &SQL_COUNT_ENDS, values, 4,
                                     error);
    status =
        weir_connection_execute(connection, &SQL_COUNT_ENDS, values, 4, &changed, error);
    if (status == WEIR_OK && changed == 0)
        return weir_error_set(error, WEIR_NOT_FOUND,
                              "its flow ended long ago, and is being removed");
    return status;
}
