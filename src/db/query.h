/*
 * query.h - a query and what is done with its rows, in one call.
 *
 * The function gets each row while it is current: its views live until the function
 * returns. With INTO() and KEPT_INTO() of row_map.h the row goes into a struct:
 *
 *   status = weir_query_one(connection, &SQL_FIND, VALUES(weir_integer(7)),
 *                           INTO(ITEM, &item), error);
 *
 * Order    Rows come in the order of the statement. The connection has one set of rows
 *          at a time: the function runs no statement on it.
 * Failure  The status of the query, or of the function, which ends it. WEIR_SCHEMA: a
 *          column was read as a type that it is not.
 */
#ifndef WEIR_DB_QUERY_H
#define WEIR_DB_QUERY_H

#include "db/row_map.h"

/* The current row. Anything but WEIR_OK ends the query; WEIR_NO_ROW is no failure then:
 * the rest is not needed. */
typedef enum weir_status (*weir_row_fn)(void *state, struct weir_rows *rows,
                                        struct weir_error *error);

/* Every row. WEIR_OK also when there is none. */
WEIR_CHECKED enum weir_status weir_query_each(struct weir_connection *connection,
                                              const struct weir_sql *sql,
                                              const struct weir_value *values,
                                              size_t value_count, weir_row_fn row,
                                              void *state, struct weir_error *error);

/* The first row; others are dropped. WEIR_NO_ROW: there is none. */
WEIR_CHECKED enum weir_status weir_query_one(struct weir_connection *connection,
                                             const struct weir_sql *sql,
                                             const struct weir_value *values,
                                             size_t value_count, weir_row_fn row,
                                             void *state, struct weir_error *error);

/* As weir_query_one(), where no row is no failure: *found says it. */
WEIR_CHECKED enum weir_status
weir_query_find(struct weir_connection *connection, const struct weir_sql *sql,
                const struct weir_value *values, size_t value_count, weir_row_fn row,
                void *state, bool *found, struct weir_error *error);

/* The first column, integers, of at most `count_max` rows; others are dropped. */
WEIR_CHECKED enum weir_status
weir_query_integers(struct weir_connection *connection, const struct weir_sql *sql,
                    const struct weir_value *values, size_t value_count, int64_t *out,
                    size_t count_max, size_t *count, struct weir_error *error);

#endif
