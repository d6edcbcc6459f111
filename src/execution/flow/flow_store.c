/*
 * flow_store.c - see flow_store.h.
 */
#include "execution/flow/flow_store.h"

#include "db/query.h"
#include "execution/engine.h"

/* ---- statements -------------------------------------------------------------------- */

#define FLOW_COLUMNS                                                                     \
    "no, uuid, part, state, cancel_policy, members, edges, unfinished, unlucky,"         \
    " revision, created_us, ended_us, namespace, kind, cancel_reason"

/* One that is gone is there for its removal (flow_remove.h). */
#define FINDABLE " AND state <> 4"

static const struct weir_sql SQL_INSERT_FLOW = {
    .name = "insert flow",
    .text = "INSERT INTO {p}_flow (uuid, part, created_us, namespace, kind)"
            " VALUES ({1}, {2}, {3}, {4}, {5}) ON CONFLICT DO NOTHING",
    .parameters = "biitt",
};
#define FIND_FLOW(name_, more)                                                           \
    {                                                                                    \
        .name = (name_),                                                                 \
        .text = "SELECT " FLOW_COLUMNS " FROM {p}_flow WHERE uuid = {1}" FINDABLE more,  \
        .parameters = "b",                                                               \
    }
static const struct weir_sql SQL_FIND_FLOW[] = {
    [WEIR_FLOW_UNLOCKED] = FIND_FLOW("find flow", ""),
    [WEIR_FLOW_LOCKED] = FIND_FLOW("lock flow", "{for_no_key_update}"),
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

/* One that had ended, and to which a producer has added that may not write its state. */
static void open_again(struct weir_flow_row *row)
{
    if (row->unfinished == 0 ||
        (row->state != WEIR_FLOW_ROW_COMPLETED && row->state != WEIR_FLOW_ROW_FAILED))
        return;
    row->state = WEIR_FLOW_ROW_OPEN;
    row->ended_us = 0;
}

/* The order of FLOW_COLUMNS. */
static const struct weir_column FLOW[] = {
    COLUMN(struct weir_flow_row, no, INTEGER),
    COLUMN(struct weir_flow_row, id.uuid, FIXED),
    COLUMN(struct weir_flow_row, partition, INTEGER),
    COLUMN_ENUM(struct weir_flow_row, state, WEIR_FLOW_ROW_CANCELLED),
    COLUMN_ENUM(struct weir_flow_row, cancel_policy, WEIR_CANCEL_PENDING),
    COLUMN(struct weir_flow_row, members, INTEGER),
    COLUMN(struct weir_flow_row, edges, INTEGER),
    COLUMN(struct weir_flow_row, unfinished, INTEGER),
    COLUMN(struct weir_flow_row, unlucky, INTEGER),
    COLUMN(struct weir_flow_row, revision, INTEGER),
    COLUMN(struct weir_flow_row, created_us, INTEGER),
    COLUMN(struct weir_flow_row, ended_us, INTEGER),
    COLUMN(struct weir_flow_row, name_space, TEXT),
    COLUMN(struct weir_flow_row, kind, TEXT),
    COLUMN(struct weir_flow_row, cancel_reason, TEXT),
};
static const struct weir_column MEMBER[] = {
    COLUMN(struct weir_member, no, INTEGER),
    COLUMN(struct weir_member, id.uuid, FIXED),
    COLUMN(struct weir_member, id.partition, INTEGER),
};

enum weir_status weir_members_read(struct weir_connection *connection,
                                   const struct weir_sql *sql,
                                   const struct weir_value *values, size_t value_count,
                                   struct weir_arena *arena, struct weir_members *out,
                                   struct weir_error *error)
{
    struct weir_row_list list = ROW_LIST(MEMBER, struct weir_member, arena);
    enum weir_status status = weir_query_each(connection, sql, values, value_count,
                                              weir_row_append, &list, error);

    *out = (struct weir_members){list.rows, list.count};
    return status;
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
    enum weir_status status = weir_query_one(connection, &SQL_FIND_FLOW[lock],
                                             VALUES(weir_bytes(id->uuid, WEIR_UUID_SIZE)),
                                             KEPT_INTO(FLOW, out, arena), error);

    if (status == WEIR_OK)
        open_again(out);
    return status;
}

enum weir_status weir_flow_page(struct weir_connection *connection,
                                const struct weir_flow_filter *filter,
                                struct weir_arena *arena, struct weir_flow_row **out,
                                size_t *count, struct weir_error *error)
{
    const char *name_space = filter->name_space != NULL ? filter->name_space : "";
    struct weir_row_list list = ROW_LIST(FLOW, struct weir_flow_row, arena);
    enum weir_status status = weir_query_each(
        connection, &SQL_PAGE,
        VALUES(weir_integer(filter->before > 0 ? filter->before : INT64_MAX),
               weir_text(weir_str(name_space)), weir_integer((int64_t)filter->count)),
        weir_row_append, &list, error);

    *out = list.rows;
    *count = list.count;
    for (size_t i = 0; i < list.count; i++)
        open_again(&(*out)[i]);
    return status;
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
    const struct weir_sql *ask = weir_execution_engine_of(connection)->may_reopen;
    int64_t may = 1;
    enum weir_status status = WEIR_OK;

    if (ask != NULL)
        status = weir_connection_query_integer(connection, ask, NO_VALUES, &may, error);
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
