/*
 * column.c - see mariadb/column.h.
 */
#include "db/mariadb/column.h"

#include <string.h>

#include "db/mariadb/time.h"

enum { BINARY_CHARSET = 63 }; /* the number of "no character set" */

static uint64_t little_endian(const unsigned char *bytes, size_t size)
{
    uint64_t value = 0;

    for (size_t i = size; i > 0; i--)
        value = value << 8 | bytes[i - 1];
    return value;
}

static uint64_t big_endian(const unsigned char *bytes, size_t size)
{
    uint64_t value = 0;

    for (size_t i = 0; i < size; i++)
        value = value << 8 | bytes[i];
    return value;
}

/* Of types without a length in front; 0 for all others. */
static size_t fixed_size(enum enum_field_types type)
{
    switch (type) {
    case MYSQL_TYPE_TINY:
        return 1;
    case MYSQL_TYPE_SHORT:
    case MYSQL_TYPE_YEAR:
        return 2;
    case MYSQL_TYPE_LONG:
    case MYSQL_TYPE_INT24:
    case MYSQL_TYPE_FLOAT:
        return 4;
    case MYSQL_TYPE_LONGLONG:
    case MYSQL_TYPE_DOUBLE:
        return 8;
    default:
        return 0;
    }
}

static size_t take_length(unsigned char **row)
{
    size_t first = **row;
    size_t size = first == 252 ? 2 : first == 253 ? 3 : first == 254 ? 8 : 0;
    size_t length = size == 0 ? first : (size_t)little_endian(*row + 1, size);

    *row += 1 + size;
    return length;
}

struct weir_str weir_maria_column_take(enum enum_field_types type, unsigned char **row)
{
    struct weir_str bytes = {NULL, fixed_size(type)};

    if (bytes.size == 0)
        bytes.size = take_length(row);
    bytes.data = (const char *)*row;
    *row += bytes.size;
    return bytes;
}

/* ---- reading ----------------------------------------------------------------------- */

static bool read_integer(const MYSQL_FIELD *field, struct weir_str bytes, int64_t *out)
{
    const unsigned char *data = (const unsigned char *)bytes.data;
    bool is_unsigned = (field->flags & UNSIGNED_FLAG) != 0;
    uint64_t value;

    switch (field->type) {
    case MYSQL_TYPE_TINY:
    case MYSQL_TYPE_SHORT:
    case MYSQL_TYPE_LONG:
    case MYSQL_TYPE_INT24:
    case MYSQL_TYPE_LONGLONG:
        value = little_endian(data, bytes.size);
        break;
    case MYSQL_TYPE_YEAR:
        value = little_endian(data, bytes.size);
        is_unsigned = true;
        break;
    case MYSQL_TYPE_BIT: /* at most 64 bits, the only ones that come big end first */
        if (bytes.size > 8)
            return false;
        value = big_endian(data, bytes.size);
        is_unsigned = true;
        break;
    default:
        return false;
    }
    if (is_unsigned) {
        *out = (int64_t)value;
        return value <= INT64_MAX;
    }
    if (bytes.size < 8 && (value >> (8 * bytes.size - 1)) != 0)
        value |= UINT64_MAX << (8 * bytes.size); /* the sign */
    *out = (int64_t)value;
    return true;
}

static bool read_real(const MYSQL_FIELD *field, struct weir_str bytes, double *out)
{
    float single;

    if (field->type == MYSQL_TYPE_DOUBLE) {
        memcpy(out, bytes.data, sizeof *out);
        return true;
    }
    if (field->type != MYSQL_TYPE_FLOAT)
        return false;
    memcpy(&single, bytes.data, sizeof single);
    *out = single;
    return true;
}

static bool read_time(const MYSQL_FIELD *field, struct weir_str bytes, int64_t *out_us)
{
    const unsigned char *data = (const unsigned char *)bytes.data;
    MYSQL_TIME time = {.time_type = MYSQL_TIMESTAMP_DATETIME};

    if ((field->type != MYSQL_TYPE_DATETIME && field->type != MYSQL_TYPE_TIMESTAMP) ||
        bytes.size < 4)
        return false;
    time.year = (unsigned)little_endian(data, 2);
    time.month = data[2];
    time.day = data[3];
    if (bytes.size >= 7) {
        time.hour = data[4];
        time.minute = data[5];
        time.second = data[6];
    }
    if (bytes.size >= 11)
        time.second_part = (unsigned long)little_endian(data + 7, 4);
    return weir_maria_time_join(&time, out_us);
}

static bool is_string(enum enum_field_types type)
{
    switch (type) {
    case MYSQL_TYPE_STRING:
    case MYSQL_TYPE_VARCHAR:
    case MYSQL_TYPE_VAR_STRING:
    case MYSQL_TYPE_TINY_BLOB:
    case MYSQL_TYPE_BLOB:
    case MYSQL_TYPE_MEDIUM_BLOB:
    case MYSQL_TYPE_LONG_BLOB:
    case MYSQL_TYPE_ENUM:
    case MYSQL_TYPE_SET:
        return true;
    default:
        return false;
    }
}

bool weir_maria_column_read(const MYSQL_FIELD *field, struct weir_str bytes,
                            enum weir_type wanted, struct weir_value *out)
{
    int64_t integer;

    *out = (struct weir_value){.type = wanted};
    switch (wanted) {
    case WEIR_TYPE_INTEGER:
        return read_integer(field, bytes, &out->as.integer);
    case WEIR_TYPE_BOOLEAN:
        if (!read_integer(field, bytes, &integer) || (integer != 0 && integer != 1))
            return false;
        out->as.boolean = integer == 1;
        return true;
    case WEIR_TYPE_REAL:
        return read_real(field, bytes, &out->as.real);
    case WEIR_TYPE_TIME:
        return read_time(field, bytes, &out->as.time_us);
    case WEIR_TYPE_TEXT:
        out->as.text = bytes;
        return is_string(field->type) && field->charsetnr != BINARY_CHARSET;
    case WEIR_TYPE_BYTES:
        out->as.text = bytes;
        return is_string(field->type);
    case WEIR_TYPE_NULL:
    case WEIR_TYPE_ARRAY:
        break;
    }
    return false;
}
