/*
 * parameter.h - a value of ours as a parameter of MariaDB's.
 *
 * Text and bytes stay where the caller has them; other values need a place in the form
 * that the client library reads.
 *
 * Threads  The owner of the parameter.
 * Memory   The caller's.
 */
#ifndef WEIR_DB_MARIADB_PARAMETER_H
#define WEIR_DB_MARIADB_PARAMETER_H

#include <mysql.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "db/value.h"
#include "weir/error.h"

struct weir_maria_parameter {
    union {
        int64_t integer;
        double real;
        signed char boolean;
        MYSQL_TIME time;
    } as;
    my_bool is_null;
    char indicator; /* the same, for bulk */
};

/* The type for a letter of sql.h; a capital gives its element's. */
enum enum_field_types weir_maria_parameter_type(char letter);

/* Is it text or bytes? */
bool weir_maria_is_string(const struct weir_value *value);

/*
 * Check the values of one row; *size grows by the bytes that they take in a packet, at
 * most. WEIR_INVALID: one of them fits no column.
 */
WEIR_CHECKED enum weir_status weir_maria_measure(const struct weir_value *values,
                                                 size_t count, size_t *size,
                                                 struct weir_error *error);

/* Point a bind at a value that was measured. Borrows both until the bind is used. */
void weir_maria_place(MYSQL_BIND *bind, struct weir_maria_parameter *parameter,
                      const struct weir_value *value);

#endif
