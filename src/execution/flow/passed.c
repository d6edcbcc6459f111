/*
 * passed.c - see passed.h.
 *
 * On PostgreSQL what comes of a statement is in memory as a whole, so the statement
 * itself stops at the limit; on SQLite rows are read one by one, and the reader
 * stops.
 */
#include "execution/flow/passed.h"

#include "db/query.h"
#include "execution/store/store_statements.h"
#include "outbox/columns.h"

/* By the primary key. The size of a value is known without reading the value. */
const struct weir_sql_pair weir_execution_sql_passed = {
    .one = {.name = "read passed results",
            .text = "SELECT 1, uuid, part, name, bytes FROM {p}_passed"
                    " WHERE downstream = {1} ORDER BY upstream",
            .parameters = "i"},
    .many = {.name = "read passed results",
             .text =
                 "SELECT u.n, p.uuid, p.part, p.name, p.bytes FROM (SELECT *"
                 " FROM unnest({1}) WITH ORDINALITY AS u (no, n) ORDER BY n) u"
                 " CROSS JOIN LATERAL (SELECT * FROM (SELECT k.upstream, k.uuid, k.part,"
                 " k.name, k.bytes, sum(coalesce(length(k.bytes), 0))"
                 " OVER (ORDER BY k.upstream) - coalesce(length(k.bytes), 0) AS before"
                 " FROM {p}_passed k WHERE k.downstream = u.no) x"
                 " WHERE x.before <= {2} ORDER BY x.upstream) p",
             .parameters = "Ii"},
};

/* The index is that among the executions of a statement, from 1. */
static const struct weir_column PASSED[] = {
    COLUMN(struct weir_passed, index, INTEGER),
    COLUMN(struct weir_passed, from.uuid, FIXED),
    COLUMN(struct weir_passed, from.partition, INTEGER),
    COLUMN(struct weir_passed, name, TEXT),
    COLUMN(struct weir_passed, result, BYTES),
};

struct visiting {
    size_t begin; /* the index of number 1 */
    size_t size_max;
    weir_passed_visit_fn visit;
    void *state;
    size_t index; /* of the row before; SIZE_MAX: there was none */
    size_t size;  /* of what was passed to it so far */
};

/* Beyond the limit there is nothing more to come on PostgreSQL, and nothing more that
 * is wanted on SQLite. */
static enum weir_status visit_row(void *state, struct weir_rows *rows,
                                  struct weir_error *error)
{
    struct visiting *self = state;
    struct weir_passed passed;
    enum weir_status status = weir_row_read(rows, COLUMNS(PASSED), &passed, error);

    if (status != WEIR_OK)
        return status;
    passed.index += self->begin - 1;
    self->size = passed.index == self->index ? self->size : 0;
    self->index = passed.index;
    if (self->size > self->size_max)
        return WEIR_NO_ROW;
    self->size += passed.result.size;
    return self->visit(self->state, &passed, error);
}

static enum weir_status visit_each(struct weir_connection *connection, const int64_t *nos,
                                   size_t count, size_t size_max,
                                   weir_passed_visit_fn visit, void *state,
                                   struct weir_error *error)
{
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; i < count && status == WEIR_OK; i++) {
        struct visiting visiting = {i, size_max, visit, state, SIZE_MAX, 0};

        status =
            weir_query_each(connection, &weir_execution_sql_passed.one,
                            VALUES(weir_integer(nos[i])), visit_row, &visiting, error);
    }
    return status;
}

static enum weir_status visit_chunk(const struct weir_store *store,
                                    struct weir_connection *connection,
                                    const int64_t *nos, size_t begin, size_t count,
                                    size_t size_max, weir_passed_visit_fn visit,
                                    void *state, struct weir_error *error)
{
    struct visiting visiting = {begin, size_max, visit, state, SIZE_MAX, 0};
    struct weir_columns table;
    enum weir_status status = weir_columns_init(&table, store->heap, 1, count, error);

    for (size_t i = 0; i < count && status == WEIR_OK; i++)
        weir_columns_set(&table, 0, i, weir_integer(nos[begin + i]));
    if (status == WEIR_OK)
        status = weir_query_each(
            connection, &weir_execution_sql_passed.many,
            VALUES(weir_columns_array(&table, 0, WEIR_TYPE_INTEGER, 0, count),
                   weir_integer((int64_t)size_max)),
            visit_row, &visiting, error);
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
