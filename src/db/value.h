/*
 * value.h - what goes into a statement and what comes out of it.
 *
 * A value is a view: text and bytes are borrowed, from the caller for a parameter, from
 * the row for a column (until the next row). Times are microseconds since 1970, UTC.
 *
 *               SQLite    PostgreSQL     MariaDB
 *   INTEGER     INTEGER   bigint         BIGINT
 *   REAL        REAL      double         DOUBLE
 *   TEXT        TEXT      text           any text, utf8mb4
 *   BYTES       BLOB      bytea          any binary
 *   BOOLEAN     INTEGER   boolean        TINYINT(1)
 *   TIME        INTEGER   timestamptz    DATETIME(6), in UTC
 */
#ifndef WEIR_DB_VALUE_H
#define WEIR_DB_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

enum weir_type {
    WEIR_TYPE_NULL,
    WEIR_TYPE_INTEGER,
    WEIR_TYPE_REAL,
    WEIR_TYPE_TEXT,
    WEIR_TYPE_BYTES,
    WEIR_TYPE_BOOLEAN,
    WEIR_TYPE_TIME,
    WEIR_TYPE_ARRAY /* of one of the above; PostgreSQL only */
};

struct weir_value {
    enum weir_type type;
    enum weir_type element_type; /* of an array */
    union {
        int64_t integer;
        double real;
        bool boolean;
        int64_t time_us;
        struct weir_str text; /* and bytes */
        struct {
            const struct weir_value *elements; /* of element_type or null; borrowed */
            size_t count;
        } array;
    } as;
};

enum { WEIR_VALUE_SIZE_MAX = 16 * 1024 * 1024 }; /* of text or bytes */

static inline struct weir_value weir_null(void)
{
    return (struct weir_value){.type = WEIR_TYPE_NULL};
}

static inline struct weir_value weir_integer(int64_t integer)
{
    return (struct weir_value){.type = WEIR_TYPE_INTEGER, .as.integer = integer};
}

static inline struct weir_value weir_real(double real)
{
    return (struct weir_value){.type = WEIR_TYPE_REAL, .as.real = real};
}

static inline struct weir_value weir_boolean(bool boolean)
{
    return (struct weir_value){.type = WEIR_TYPE_BOOLEAN, .as.boolean = boolean};
}

static inline struct weir_value weir_time(int64_t time_us)
{
    return (struct weir_value){.type = WEIR_TYPE_TIME, .as.time_us = time_us};
}

/* UTF-8 without zero bytes; checked before anything is sent. */
static inline struct weir_value weir_text(struct weir_str text)
{
    return (struct weir_value){.type = WEIR_TYPE_TEXT, .as.text = text};
}

/* A text without data is null. */
static inline struct weir_value weir_text_or_null(struct weir_str text)
{
    return text.data != NULL ? weir_text(text)
                             : (struct weir_value){.type = WEIR_TYPE_NULL};
}

static inline struct weir_value weir_bytes(const void *data, size_t size)
{
    return (struct weir_value){.type = WEIR_TYPE_BYTES, .as.text = {data, size}};
}

static inline struct weir_value
weir_array(enum weir_type element_type, const struct weir_value *elements, size_t count)
{
    return (struct weir_value){.type = WEIR_TYPE_ARRAY,
                               .element_type = element_type,
                               .as.array = {elements, count}};
}

#endif
