/*
 * columns_json.h - a table of parameters as one text, for an engine that takes no arrays.
 *
 * MariaDB unpacks it again, row by row and in their order:
 *
 *   weir_columns_json(&table, 2, 0, count, &text, error)       [[7,448],[7,449]]
 *
 *   JSON_TABLE({1}, '$[*]' COLUMNS (n FOR ORDINALITY,
 *     subscription BIGINT PATH '$[0]', pid BIGINT PATH '$[1]')) p STRAIGHT_JOIN ...
 *
 * A flag is true or false (a column of type BOOLEAN there reads 1 or 0); bytes are
 * their digits, for UNHEX(); a real that is no number is null, as null is.
 */
#ifndef WEIR_OUTBOX_COLUMNS_JSON_H
#define WEIR_OUTBOX_COLUMNS_JSON_H

#include "base/buf.h"
#include "outbox/columns.h"

/* In SQL: the rows of {1}, and a last one whose keys match no row. */
#define WEIR_JSON_AND_NONE "JSON_ARRAY_APPEND({1}, '$', JSON_ARRAY(-1, -1, -1, -1))"

/* Rows `begin` to `begin + count - 1` of the first `column_count` columns, in place of
 * what `out` had. WEIR_NO_MEMORY or WEIR_INVALID: more than `out` may have. */
WEIR_CHECKED enum weir_status weir_columns_json(const struct weir_columns *self,
                                                size_t column_count, size_t begin,
                                                size_t count, struct weir_buf *out,
                                                struct weir_error *error);

#endif
