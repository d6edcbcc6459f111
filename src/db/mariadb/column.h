/*
 * column.h - the columns of a row as MariaDB's binary protocol sends them.
 *
 *   field type                      in the row
 *   TINY, SHORT, LONG, LONGLONG     1, 2, 4, 8 bytes, little endian
 *   FLOAT, DOUBLE                   4, 8 bytes, IEEE
 *   DATETIME, TIMESTAMP             length, then year, month, day, ... as far as not 0
 *   everything else                 length, then bytes
 *
 * A length is one byte up to 250; 252, 253 and 254 announce 2, 3 and 8 bytes of it.
 *
 * Threads  Any thread.
 * Memory   None: views into the row.
 */
#ifndef WEIR_DB_MARIADB_COLUMN_H
#define WEIR_DB_MARIADB_COLUMN_H

#include <mysql.h>
#include <stdbool.h>

#include "base/str.h"
#include "db/value.h"

/* The bytes of a column of this type at *row, without their length; *row moves behind
 * them. The client library has checked that they are within the row. */
struct weir_str weir_maria_column_take(enum enum_field_types type, unsigned char **row);

/* The value as `wanted`; false when it cannot be had as that. */
bool weir_maria_column_read(const MYSQL_FIELD *field, struct weir_str bytes,
                            enum weir_type wanted, struct weir_value *out);

#endif
