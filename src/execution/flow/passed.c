/*
 * passed.c - see passed.h.
 *
 * On PostgreSQL what comes of a statement is in memory as a whole, so the statement
 * itself stops at the limit; on SQLite rows are read one by one, and whoever reads them
 * stops.
 */
#include "execution/flow/passed.h"

#include <string.h>

#include "execution/store/store_statements.h"
#include "outbox/columns.h"

/* By the primary key. The size of a value is known without reading the value. */
const struct weir_sql weir_execution_sql_passed[WEIR_ENGINE_COUNT] = {
    [WEIR_SQLITE] = {.name = "read passed results",
                     .text = "SELECT 1, uuid, part, name, bytes FROM {p}_passed"
                             " WHERE downstream = {1} ORDER BY upstream",
                     .parameters = "i"},
    [WEIR_POSTGRESQL] =
        {.name = "read passed results",
         .text = "SELECT u.n, p.uuid, p.part, p.name, p.bytes FROM (SELECT *"
                 " FROM unnest({1}) WITH ORDINALITY AS u (no, n) ORDER BY n) u"
                 " CROSS JOIN LATERAL (SELECT * FROM (SELECT k.upstream, k.uuid, k.part,"
                 " k.name, k.bytes, sum(coalesce(length(k.bytes), 0))"
                 " OVER (ORDER BY k.upstream) - coalesce(length(k.bytes), 0) AS before"
                 " FROM {p}_passed k WHERE k.downstream = u.no) x"
                 " WHERE x.before <= {2} ORDER BY x.upstream) p",
         .parameters = "Ii"},
};

static enum weir_status read_passed(struct weir_rows *rows, size_t begin,
                                    struct weir_passed *out, struct weir_error *error)
{
    struct weir_str uuid = weir_rows_bytes(rows, 1);

    *out = (struct weir_passed){
        .index = begin + (size_t)weir_rows_integer(rows, 0) - 1,
        .from.partition = (uint16_t)weir_rows_integer(rows, 2),
        .name = weir_rows_text(rows, 3),
        .result = weir_rows_is_null(rows, 4) ? weir_str("") : weir_rows_bytes(rows, 4)};
    if (uuid.size != WEIR_UUID_SIZE)
        return weir_error_set(error, WEIR_SCHEMA, "a passed result has no uuid");
    memcpy(out->from.uuid, uuid.data, WEIR_UUID_SIZE);
    return WEIR_OK;
}

/* Of a query that ended with `status`; it is closed afterwards. Beyond the limit there
 * is nothing more to come on PostgreSQL, and nothing more that is wanted on SQLite. */
static enum weir_status visit_rows(enum weir_status status, struct weir_rows *rows,
                                   size_t begin, size_t size_max,
                                   weir_passed_visit_fn visit, void *state,
                                   struct weir_error *error)
{
    struct weir_passed passed = {.index = 0};
    size_t index = SIZE_MAX;
    size_t size = 0;

    while (status == WEIR_OK && (status = weir_rows_next(rows, error)) == WEIR_OK) {
        status = read_passed(rows, begin, &passed, error);
        if (status != WEIR_OK)
            break;
        size = passed.index == index ? size : 0;
        index = passed.index;
        if (size > size_max)
            break;
        size += passed.result.size;
        status = visit(state, &passed, error);
    }
    weir_rows_close(rows);
    return status == WEIR_NO_ROW ? WEIR_OK : status;
}

static enum weir_status visit_each(struct weir_connection *connection, const int64_t *nos,
                                   size_t count, size_t size_max,
                                   weir_passed_visit_fn visit, void *state,
                                   struct weir_error *error)
{
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; i < count && status == WEIR_OK; i++) {
        struct weir_rows rows;

        status =
            weir_connection_query(connection, &weir_execution_sql_passed[WEIR_SQLITE],
                                  VALUES(weir_integer(nos[i])), &rows, error);
        status = visit_rows(status, &rows, i, size_max, visit, state, error);
    }
    return status;
}

static enum weir_status visit_chunk(const struct weir_store *store,
                                    struct weir_connection *connection,
                                    const int64_t *nos, size_t begin, size_t count,
                                    size_t size_max, weir_passed_visit_fn visit,
                                    void *state, struct weir_error *error)
{
    struct weir_rows rows = {.connection = NULL};
    struct weir_columns table;
    enum weir_status status = weir_columns_init(&table, store->heap, 1, count, error);

    for (size_t i = 0; i < count && status == WEIR_OK; i++)
        weir_columns_set(&table, 0, i, weir_integer(nos[begin + i]));
    if (status == WEIR_OK)
        status = weir_connection_query(
            connection, &weir_execution_sql_passed[WEIR_POSTGRESQL],
            VALUES(weir_columns_array(&table, 0, WEIR_TYPE_INTEGER, 0, count),
                   weir_integer((int64_t)size_max)),
            &rows, error);
    status = visit_rows(status, &rows, begin, size_max, visit, state, error);
    weir_columns_fini(&table);
    return status;
}

enum weir_status weir_passed_visit(const struct weir_store *store,
                                   struct weir_connection *connection, const int64_t *nos,
                                   size_t count, const struct weir_passed_limits *limits,
                                   weir_passed_visit_fn visit, void *state,
                                   struct weir_error *error)
{
    enum weir_status status = WEIR_OK;

    if (!weir_connection_traits(connection)->takes_arrays)
        return visit_each(connection, nos, count, limits->size_max, visit, state, error);
    for (size_t begin = 0; begin < count && status == WEIR_OK;
         begin += limits->together) {
        size_t rest = count - begin;

        status = visit_chunk(store, connection, nos, begin,
                             rest < limits->together ? rest : limits->together,
                             limits->size_max, visit, state, error);
    }
    return status;
}
