/*
 * parameter.c - see mariadb/parameter.h.
 *
 * A trap of the library: a parameter whose buffer is NULL counts as null, so an empty
 * text must point to something.
 */
#include "db/mariadb/parameter.h"

#include <math.h>
#include <string.h>

#include "base/assert.h"
#include "db/mariadb/time.h"
#include "db/sql.h"

enum { VALUE_HEADER_SIZE = 10 }; /* in a packet: whether it is null, and a length */

enum enum_field_types weir_maria_parameter_type(char letter)
{
    switch ((enum weir_type)weir_sql_type(letter)) {
    case WEIR_TYPE_INTEGER:
        return MYSQL_TYPE_LONGLONG;
    case WEIR_TYPE_REAL:
        return MYSQL_TYPE_DOUBLE;
    case WEIR_TYPE_TEXT:
        return MYSQL_TYPE_STRING;
    case WEIR_TYPE_BYTES:
        return MYSQL_TYPE_BLOB;
    case WEIR_TYPE_BOOLEAN:
        return MYSQL_TYPE_TINY;
    case WEIR_TYPE_TIME:
        return MYSQL_TYPE_DATETIME;
    case WEIR_TYPE_NULL:
    case WEIR_TYPE_ARRAY:
        break;
    }
    return MYSQL_TYPE_NULL;
}

bool weir_maria_is_string(const struct weir_value *value)
{
    return value->type == WEIR_TYPE_TEXT || value->type == WEIR_TYPE_BYTES;
}

enum weir_status weir_maria_measure(const struct weir_value *values, size_t count,
                                    size_t *size, struct weir_error *error)
{
    for (size_t i = 0; i < count; i++) {
        MYSQL_TIME time;

        if (values[i].type == WEIR_TYPE_ARRAY)
            return weir_error_set(
                error, WEIR_INVALID,
                "parameter %zu is an array, which MariaDB does not have", i + 1);
        if (values[i].type == WEIR_TYPE_REAL && !isfinite(values[i].as.real))
            return weir_error_set(error, WEIR_INVALID,
                                  "parameter %zu is not finite, a DOUBLE must be", i + 1);
        if (values[i].type == WEIR_TYPE_TIME &&
            !weir_maria_time_split(values[i].as.time_us, &time))
            return weir_error_set(
                error, WEIR_INVALID,
                "parameter %zu is a time outside of the years 1 to 9999", i + 1);
        *size +=
            VALUE_HEADER_SIZE +
            (weir_maria_is_string(&values[i]) ? values[i].as.text.size : sizeof(int64_t));
    }
    return WEIR_OK;
}

void weir_maria_place(MYSQL_BIND *bind, struct weir_maria_parameter *parameter,
                      const struct weir_value *value)
{
    bool fits = true;

    parameter->is_null = value->type == WEIR_TYPE_NULL;
    parameter->indicator =
        value->type == WEIR_TYPE_NULL ? STMT_INDICATOR_NULL : STMT_INDICATOR_NONE;
    bind->is_null = &parameter->is_null;
    bind->u.indicator = &parameter->indicator;
    bind->buffer = &parameter->as;

    switch (value->type) {
    case WEIR_TYPE_INTEGER:
        parameter->as.integer = value->as.integer;
        break;
    case WEIR_TYPE_REAL:
        parameter->as.real = value->as.real;
        break;
    case WEIR_TYPE_BOOLEAN:
        parameter->as.boolean = value->as.boolean;
        break;
    case WEIR_TYPE_TIME:
        fits = weir_maria_time_split(value->as.time_us, &parameter->as.time);
        break;
    case WEIR_TYPE_TEXT:
    case WEIR_TYPE_BYTES:
        /* The library takes it without const and only reads it. */
        if (value->as.text.size > 0)
            memcpy(&bind->buffer, &value->as.text.data, sizeof bind->buffer);
        bind->buffer_length = value->as.text.size;
        break;
    case WEIR_TYPE_NULL:
        bind->buffer_length = 0;
        break;
    case WEIR_TYPE_ARRAY:
        fits = false;
        break;
    }
    WEIR_ASSERT(fits); /* it was measured */
}
