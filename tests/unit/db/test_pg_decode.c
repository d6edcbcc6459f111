/* Tests of db/postgres/decode.c: bytes to values, without a server. */
#include "db/postgres/decode.h"

#include <math.h>
#include <string.h>

#include "db/postgres/encode.h"
#include "kit/test.h"

/* A string literal with its zero bytes, as a column of this type. */
#define decode(type, literal, wanted, out)                                               \
    weir_pg_decode((type), (struct weir_str){(literal), sizeof(literal) - 1}, (wanted),  \
                   (out))

WEIR_TEST(pg_decode, reads_every_whole_number_as_an_integer)
{
    struct weir_value value;

    check(decode(WEIR_PG_INT2, "\xff\xfe", WEIR_TYPE_INTEGER, &value));
    check_int(value.as.integer, -2);
    check(decode(WEIR_PG_INT4, "\x80\0\0\0", WEIR_TYPE_INTEGER, &value));
    check_int(value.as.integer, INT32_MIN);
    check(decode(WEIR_PG_INT8, "\x7f\xff\xff\xff\xff\xff\xff\xff", WEIR_TYPE_INTEGER,
                 &value));
    check_int(value.as.integer, INT64_MAX);
    check_int(value.type, WEIR_TYPE_INTEGER);
}

WEIR_TEST(pg_decode, reads_ids_without_a_sign)
{
    struct weir_value value;

    check(decode(WEIR_PG_OID, "\xff\xff\xff\xff", WEIR_TYPE_INTEGER, &value));
    check_int(value.as.integer, UINT32_MAX);
    check(decode(WEIR_PG_XID, "\xff\xff\xff\xfe", WEIR_TYPE_INTEGER, &value));
    check_int(value.as.integer, UINT32_MAX - 1);
    check(decode(WEIR_PG_XID8, "\0\0\0\1\0\0\0\2", WEIR_TYPE_INTEGER, &value));
    check_int(value.as.integer, INT64_C(0x100000002));
}

WEIR_TEST(pg_decode, reads_reals_of_both_widths)
{
    struct weir_value value;

    check(decode(WEIR_PG_FLOAT8, "\x3f\xf8\0\0\0\0\0\0", WEIR_TYPE_REAL, &value));
    check(value.as.real == 1.5);
    check(decode(WEIR_PG_FLOAT4, "\xc0\x20\0\0", WEIR_TYPE_REAL, &value));
    check(value.as.real == -2.5);
    check(decode(WEIR_PG_FLOAT8, "\x7f\xf8\0\0\0\0\0\0", WEIR_TYPE_REAL, &value));
    check(isnan(value.as.real));
}

WEIR_TEST(pg_decode, takes_0_and_1_for_booleans)
{
    struct weir_value value;

    check(decode(WEIR_PG_BOOL, "\1", WEIR_TYPE_BOOLEAN, &value));
    check(value.as.boolean);
    check(decode(WEIR_PG_BOOL, "\0", WEIR_TYPE_BOOLEAN, &value));
    check(!value.as.boolean);
    check(decode(WEIR_PG_INT4, "\0\0\0\1", WEIR_TYPE_BOOLEAN, &value));
    check(value.as.boolean);
    check(!decode(WEIR_PG_INT4, "\0\0\0\2", WEIR_TYPE_BOOLEAN, &value));
    check(decode(WEIR_PG_BOOL, "\1", WEIR_TYPE_INTEGER, &value));
    check_int(value.as.integer, 1);
}

WEIR_TEST(pg_decode, counts_times_from_1970)
{
    struct weir_value value;

    check(decode(WEIR_PG_TIMESTAMPTZ, "\0\0\0\0\0\0\0\1", WEIR_TYPE_TIME, &value));
    check_int(value.as.time_us, WEIR_PG_EPOCH_US + 1);
    check(decode(WEIR_PG_TIMESTAMP, "\xff\xfc\xa2\xfe\xc4\xc8\x20\x00", WEIR_TYPE_TIME,
                 &value));
    check_int(value.as.time_us, 0);
}

/* Both infinities, and the year 294276, which in microseconds since 1970 is too large. */
WEIR_TEST(pg_decode, has_no_room_for_infinite_times)
{
    struct weir_value value;

    check(!decode(WEIR_PG_TIMESTAMPTZ, "\x7f\xff\xff\xff\xff\xff\xff\xff", WEIR_TYPE_TIME,
                  &value));
    check(!decode(WEIR_PG_TIMESTAMPTZ, "\x80\0\0\0\0\0\0\0", WEIR_TYPE_TIME, &value));
    check(!decode(WEIR_PG_TIMESTAMPTZ, "\x7f\xff\xff\xff\x00\x00\x00\x00", WEIR_TYPE_TIME,
                  &value));
    check_int(value.type, WEIR_TYPE_NULL);
}

WEIR_TEST(pg_decode, reads_texts_where_they_lie)
{
    static const uint32_t types[] = {
        WEIR_PG_TEXT, WEIR_PG_VARCHAR, WEIR_PG_BPCHAR, WEIR_PG_NAME,
        WEIR_PG_CHAR, WEIR_PG_UNKNOWN, WEIR_PG_JSON,
    };
    static const char text[] = "abc";
    struct weir_value value;

    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        check(decode(types[i], text, WEIR_TYPE_TEXT, &value));
        check(value.as.text.data == text);
        check_int(value.as.text.size, 3);
        check(decode(types[i], text, WEIR_TYPE_BYTES, &value));
        check_int(value.type, WEIR_TYPE_BYTES);
    }
}

WEIR_TEST(pg_decode, skips_the_version_of_jsonb)
{
    struct weir_value value;

    check(decode(WEIR_PG_JSONB, "\1{}", WEIR_TYPE_TEXT, &value));
    check(weir_str_equal(value.as.text, weir_str("{}")));
    check(!decode(WEIR_PG_JSONB, "\2{}", WEIR_TYPE_TEXT, &value));
    check(!decode(WEIR_PG_JSONB, "", WEIR_TYPE_TEXT, &value));
}

WEIR_TEST(pg_decode, reads_bytes_and_uuids_as_bytes_only)
{
    struct weir_value value;

    check(decode(WEIR_PG_BYTEA, "a\0b", WEIR_TYPE_BYTES, &value));
    check_int(value.as.text.size, 3);
    check(decode(WEIR_PG_UUID, "0123456789abcdef", WEIR_TYPE_BYTES, &value));
    check_int(value.as.text.size, 16);
    check(!decode(WEIR_PG_BYTEA, "abc", WEIR_TYPE_TEXT, &value));
    check(!decode(WEIR_PG_UUID, "0123456789abcdef", WEIR_TYPE_TEXT, &value));
}

WEIR_TEST(pg_decode, has_no_value_for_other_types)
{
    enum { NUMERIC = 1700, DATE = 1082 };
    static const enum weir_type wanted[] = {
        WEIR_TYPE_NULL,  WEIR_TYPE_INTEGER, WEIR_TYPE_REAL, WEIR_TYPE_TEXT,
        WEIR_TYPE_BYTES, WEIR_TYPE_BOOLEAN, WEIR_TYPE_TIME, WEIR_TYPE_ARRAY,
    };
    struct weir_value value;

    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        check(!decode(NUMERIC, "\0\1\0\0\0\0\0\0", wanted[i], &value));
        check(!decode(DATE, "\0\0\0\1", wanted[i], &value));
        check(!decode(WEIR_PG_INT8_ARRAY, "\0\0\0\0", wanted[i], &value));
        check_int(value.type, WEIR_TYPE_NULL);
    }
}

WEIR_TEST(pg_decode, does_not_trust_sizes)
{
    struct weir_value value;

    check(!decode(WEIR_PG_INT8, "\0\0\0\1", WEIR_TYPE_INTEGER, &value));
    check(!decode(WEIR_PG_INT4, "", WEIR_TYPE_INTEGER, &value));
    check(!decode(WEIR_PG_INT2, "\0\0\1", WEIR_TYPE_INTEGER, &value));
    check(!decode(WEIR_PG_BOOL, "", WEIR_TYPE_BOOLEAN, &value));
    check(!decode(WEIR_PG_FLOAT8, "\0\0\0\0", WEIR_TYPE_REAL, &value));
    check(!decode(WEIR_PG_TIMESTAMPTZ, "\0", WEIR_TYPE_TIME, &value));
}

/* Whether a column is null is asked by wanting a null. */
WEIR_TEST(pg_decode, is_never_null)
{
    struct weir_value value;

    check(!decode(WEIR_PG_TEXT, "", WEIR_TYPE_NULL, &value));
}
