/*
 * query.c - see query.h.
 */
#include "db/query.h"

enum weir_status weir_query_each(struct weir_connection *connection,
                                 const struct weir_sql *sql,
                                 const struct weir_value *values, size_t value_count,
                                 weir_row_fn row, void *state, struct weir_error *error)
{
    struct weir_rows rows;
    enum weir_status status =
        weir_connection_query(connection, sql, values, value_count, &rows, error);

    while (status == WEIR_OK && (status = weir_rows_next(&rows, error)) == WEIR_OK)
        status = row(state, &rows, error);
    weir_rows_close(&rows);
    return status == WEIR_NO_ROW ? WEIR_OK : status;
}

enum weir_status weir_query_one(struct weir_connection *connection,
                                const struct weir_sql *sql,
                                const struct weir_value *values, size_t value_count,
                                weir_row_fn row, void *state, struct weir_error *error)
{
    struct weir_rows rows;
    enum weir_status status =
        weir_connection_query(connection, sql, values, value_count, &rows, error);

    if (status == WEIR_OK)
        status = weir_rows_next(&rows, error);
    if (status == WEIR_OK)
        status = row(state, &rows, error);
    if (status == WEIR_OK && rows.misread)
        status =
            weir_error_set(error, WEIR_SCHEMA,
                           "%s: a column is not of the type it was read as", sql->name);
    weir_rows_close(&rows);
    return status;
}

enum weir_status weir_query_find(struct weir_connection *connection,
                                 const struct weir_sql *sql,
                                 const struct weir_value *values, size_t value_count,
                                 weir_row_fn row, void *state, bool *found,
                                 struct weir_error *error)
{
    enum weir_status status =
        weir_query_one(connection, sql, values, value_count, row, state, error);

    *found = status == WEIR_OK;
    return status == WEIR_NO_ROW ? WEIR_OK : status;
}

struct integers {
    int64_t *out;
    size_t count_max;
    size_t *count;
};

static enum weir_status add_integer(void *state, struct weir_rows *rows,
                                    struct weir_error *error)
{
    const struct integers *self = state;

    (void)error;
    if (*self->count == self->count_max)
        return WEIR_NO_ROW;
    self->out[(*self->count)++] = weir_rows_integer(rows, 0);
    return WEIR_OK;
}

enum weir_status weir_query_integers(struct weir_connection *connection,
                                     const struct weir_sql *sql,
                                     const struct weir_value *values, size_t value_count,
                                     int64_t *out, size_t count_max, size_t *count,
                                     struct weir_error *error)
{
    struct integers integers = {out, count_max, count};

    *count = 0;
    return weir_query_each(connection, sql, values, value_count, add_integer, &integers,
                           error);
}
