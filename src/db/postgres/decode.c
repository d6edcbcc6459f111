/*
 * decode.c - by what is wanted, then by the column's type.
 *
 * Sizes are checked: they come from outside.
 */
#include "db/postgres/decode.h"

#include <endian.h>
#include <string.h>

#include "db/postgres/encode.h"

/* A server's "infinity" and "-infinity". */
#define LATEST INT64_MAX
#define EARLIEST INT64_MIN

static bool load_16(struct weir_str bytes, uint16_t *out)
{
    if (bytes.size != sizeof *out)
        return false;
    memcpy(out, bytes.data, sizeof *out);
    *out = be16toh(*out);
    return true;
}

static bool load_32(struct weir_str bytes, uint32_t *out)
{
    if (bytes.size != sizeof *out)
        return false;
    memcpy(out, bytes.data, sizeof *out);
    *out = be32toh(*out);
    return true;
}

static bool load_64(struct weir_str bytes, uint64_t *out)
{
    if (bytes.size != sizeof *out)
        return false;
    memcpy(out, bytes.data, sizeof *out);
    *out = be64toh(*out);
    return true;
}

static bool decode_integer(uint32_t type, struct weir_str bytes, int64_t *out)
{
    uint16_t small;
    uint32_t medium;
    uint64_t large;

    switch (type) {
    case WEIR_PG_INT2:
        if (!load_16(bytes, &small))
            return false;
        *out = (int16_t)small;
        return true;
    case WEIR_PG_INT4:
        if (!load_32(bytes, &medium))
            return false;
        *out = (int32_t)medium;
        return true;
    case WEIR_PG_OID:
    case WEIR_PG_XID:
        if (!load_32(bytes, &medium))
            return false;
        *out = medium;
        return true;
    case WEIR_PG_INT8:
    case WEIR_PG_XID8:
        if (!load_64(bytes, &large))
            return false;
        *out = (int64_t)large;
        return true;
    case WEIR_PG_BOOL:
        *out = bytes.size == 1 && bytes.data[0] != 0;
        return bytes.size == 1;
    default:
        return false;
    }
}

static bool decode_real(uint32_t type, struct weir_str bytes, double *out)
{
    uint32_t narrow;
    uint64_t wide;
    float real;

    if (type == WEIR_PG_FLOAT8 && load_64(bytes, &wide)) {
        memcpy(out, &wide, sizeof wide);
        return true;
    }
    if (type == WEIR_PG_FLOAT4 && load_32(bytes, &narrow)) {
        memcpy(&real, &narrow, sizeof narrow);
        *out = (double)real;
        return true;
    }
    return false;
}

static bool decode_time(uint32_t type, struct weir_str bytes, int64_t *out)
{
    uint64_t wide;
    int64_t since_2000;

    if ((type != WEIR_PG_TIMESTAMPTZ && type != WEIR_PG_TIMESTAMP) ||
        !load_64(bytes, &wide))
        return false;
    since_2000 = (int64_t)wide;
    return since_2000 != LATEST && since_2000 != EARLIEST &&
           !__builtin_add_overflow(since_2000, WEIR_PG_EPOCH_US, out);
}

static bool decode_text(uint32_t type, struct weir_str bytes, struct weir_str *out)
{
    switch (type) {
    case WEIR_PG_TEXT:
    case WEIR_PG_VARCHAR:
    case WEIR_PG_BPCHAR:
    case WEIR_PG_NAME:
    case WEIR_PG_CHAR:
    case WEIR_PG_UNKNOWN:
    case WEIR_PG_JSON:
        *out = bytes;
        return true;
    case WEIR_PG_JSONB: /* a version in front, which has always been 1 */
        if (bytes.size < 1 || bytes.data[0] != 1)
            return false;
        *out = (struct weir_str){bytes.data + 1, bytes.size - 1};
        return true;
    default:
        return false;
    }
}

static bool decode_bytes(uint32_t type, struct weir_str bytes, struct weir_str *out)
{
    if (type != WEIR_PG_BYTEA && type != WEIR_PG_UUID)
        return decode_text(type, bytes, out);
    *out = bytes;
    return true;
}

static bool decode_boolean(uint32_t type, struct weir_str bytes, bool *out)
{
    int64_t number;

    if (!decode_integer(type, bytes, &number) || number < 0 || number > 1)
        return false;
    *out = number == 1;
    return true;
}

static bool decode(uint32_t type, struct weir_str bytes, struct weir_value *out)
{
    switch (out->type) {
    case WEIR_TYPE_INTEGER:
        return decode_integer(type, bytes, &out->as.integer);
    case WEIR_TYPE_REAL:
        return decode_real(type, bytes, &out->as.real);
    case WEIR_TYPE_TEXT:
        return decode_text(type, bytes, &out->as.text);
    case WEIR_TYPE_BYTES:
        return decode_bytes(type, bytes, &out->as.text);
    case WEIR_TYPE_BOOLEAN:
        return decode_boolean(type, bytes, &out->as.boolean);
    case WEIR_TYPE_TIME:
        return decode_time(type, bytes, &out->as.time_us);
    case WEIR_TYPE_NULL:
    case WEIR_TYPE_ARRAY:
        break;
    }
    return false;
}

bool weir_pg_decode(uint32_t type, struct weir_str bytes, enum weir_type wanted,
                    struct weir_value *out)
{
    *out = (struct weir_value){.type = wanted};
    if (decode(type, bytes, out))
        return true;
    *out = weir_null();
    return false;
}
