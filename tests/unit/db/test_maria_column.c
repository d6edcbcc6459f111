/* Tests of db/mariadb/column.c: bytes as the server sends them. */
#include "db/mariadb/column.h"

#include <string.h>

#include "kit/test.h"

enum { UTF8MB4 = 45, BINARY = 63 };

static struct weir_value read_as(enum enum_field_types type, unsigned flags,
                                 unsigned charset, struct weir_str bytes,
                                 enum weir_type wanted, bool *fits)
{
    MYSQL_FIELD field = {.type = type, .flags = flags, .charsetnr = charset};
    struct weir_value value;

    *fits = weir_maria_column_read(&field, bytes, wanted, &value);
    return value;
}

static int64_t integer(enum enum_field_types type, unsigned flags, const char *bytes,
                       size_t size)
{
    bool fits;
    struct weir_value value = read_as(type, flags, BINARY, (struct weir_str){bytes, size},
                                      WEIR_TYPE_INTEGER, &fits);

    check(fits);
    return value.as.integer;
}

static bool fits_as(enum enum_field_types type, unsigned flags, unsigned charset,
                    const char *bytes, size_t size, enum weir_type wanted)
{
    bool fits;

    (void)read_as(type, flags, charset, (struct weir_str){bytes, size}, wanted, &fits);
    return fits;
}

WEIR_TEST(maria_column, reads_integers_of_all_sizes_with_their_sign)
{
    check_int(integer(MYSQL_TYPE_TINY, 0, "\x7f", 1), 127);
    check_int(integer(MYSQL_TYPE_TINY, 0, "\x80", 1), -128);
    check_int(integer(MYSQL_TYPE_TINY, UNSIGNED_FLAG, "\xff", 1), 255);
    check_int(integer(MYSQL_TYPE_SHORT, 0, "\x00\x80", 2), INT16_MIN);
    check_int(integer(MYSQL_TYPE_SHORT, UNSIGNED_FLAG, "\x00\x80", 2), 32768);
    check_int(integer(MYSQL_TYPE_YEAR, 0, "\xe8\x07", 2), 2024);
    check_int(integer(MYSQL_TYPE_INT24, 0, "\xff\xff\xff\xff", 4), -1);
    check_int(integer(MYSQL_TYPE_LONG, 0, "\x00\x00\x00\x80", 4), INT32_MIN);
    check_int(integer(MYSQL_TYPE_LONG, UNSIGNED_FLAG, "\xff\xff\xff\xff", 4), UINT32_MAX);
    check_int(integer(MYSQL_TYPE_LONGLONG, 0, "\0\0\0\0\0\0\0\x80", 8), INT64_MIN);
    check_int(integer(MYSQL_TYPE_LONGLONG, 0, "\xff\xff\xff\xff\xff\xff\xff\x7f", 8),
              INT64_MAX);
    check_int(integer(MYSQL_TYPE_BIT, UNSIGNED_FLAG, "\x01\x02", 2), 258);
}

WEIR_TEST(maria_column, refuses_integers_beyond_ours)
{
    check(!fits_as(MYSQL_TYPE_LONGLONG, UNSIGNED_FLAG, BINARY, "\0\0\0\0\0\0\0\x80", 8,
                   WEIR_TYPE_INTEGER));
    check(!fits_as(MYSQL_TYPE_BIT, UNSIGNED_FLAG, BINARY, "\x80\0\0\0\0\0\0\0", 8,
                   WEIR_TYPE_INTEGER));
    check(!fits_as(MYSQL_TYPE_NEWDECIMAL, 0, BINARY, "7", 1, WEIR_TYPE_INTEGER));
    check(!fits_as(MYSQL_TYPE_VAR_STRING, 0, UTF8MB4, "7", 1, WEIR_TYPE_INTEGER));
}

WEIR_TEST(maria_column, takes_zero_and_one_for_booleans)
{
    check(fits_as(MYSQL_TYPE_TINY, 0, BINARY, "\0", 1, WEIR_TYPE_BOOLEAN));
    check(fits_as(MYSQL_TYPE_TINY, 0, BINARY, "\1", 1, WEIR_TYPE_BOOLEAN));
    check(fits_as(MYSQL_TYPE_BIT, UNSIGNED_FLAG, BINARY, "\1", 1, WEIR_TYPE_BOOLEAN));
    check(!fits_as(MYSQL_TYPE_TINY, 0, BINARY, "\2", 1, WEIR_TYPE_BOOLEAN));
    check(!fits_as(MYSQL_TYPE_TINY, 0, BINARY, "\xff", 1, WEIR_TYPE_BOOLEAN));
}

WEIR_TEST(maria_column, reads_both_sizes_of_reals)
{
    double real = -0.5;
    float single = 1.5F;
    struct weir_str bytes = {(const char *)&real, sizeof real};
    bool fits;

    check(read_as(MYSQL_TYPE_DOUBLE, 0, BINARY, bytes, WEIR_TYPE_REAL, &fits).as.real ==
              -0.5 &&
          fits);
    bytes = (struct weir_str){(const char *)&single, sizeof single};
    check(read_as(MYSQL_TYPE_FLOAT, 0, BINARY, bytes, WEIR_TYPE_REAL, &fits).as.real ==
              1.5 &&
          fits);
    check(
        !fits_as(MYSQL_TYPE_LONGLONG, 0, BINARY, "\0\0\0\0\0\0\0\0", 8, WEIR_TYPE_REAL));
}

/* The server leaves out what is zero at the end. */
WEIR_TEST(maria_column, reads_times_of_all_lengths)
{
    static const struct {
        const char *bytes;
        size_t size;
        int64_t time_us;
    } TIMES[] = {
        {"\xb2\x07\x01\x01", 4, 0},
        {"\xb2\x07\x01\x01\x00\x00\x01", 7, 1000000},
        {"\xb2\x07\x01\x02\x00\x00\x00\x01\x00\x00\x00", 11, INT64_C(86400000001)},
    };

    for (size_t i = 0; i < sizeof TIMES / sizeof TIMES[0]; i++) {
        bool fits;
        struct weir_value value = read_as(
            MYSQL_TYPE_DATETIME, 0, BINARY,
            (struct weir_str){TIMES[i].bytes, TIMES[i].size}, WEIR_TYPE_TIME, &fits);

        check(fits);
        check_int(value.as.time_us, TIMES[i].time_us);
    }
    check(
        !fits_as(MYSQL_TYPE_DATETIME, 0, BINARY, "", 0, WEIR_TYPE_TIME)); /* 0000-00-00 */
    check(!fits_as(MYSQL_TYPE_DATE, 0, BINARY, "\xb2\x07\x01\x01", 4, WEIR_TYPE_TIME));
}

WEIR_TEST(maria_column, tells_text_from_bytes)
{
    check(fits_as(MYSQL_TYPE_VAR_STRING, 0, UTF8MB4, "x", 1, WEIR_TYPE_TEXT));
    check(fits_as(MYSQL_TYPE_BLOB, 0, UTF8MB4, "x", 1, WEIR_TYPE_TEXT));
    check(fits_as(MYSQL_TYPE_BLOB, 0, UTF8MB4, "x", 1, WEIR_TYPE_BYTES));
    check(fits_as(MYSQL_TYPE_BLOB, 0, BINARY, "\0", 1, WEIR_TYPE_BYTES));
    check(!fits_as(MYSQL_TYPE_BLOB, 0, BINARY, "\0", 1, WEIR_TYPE_TEXT));
    check(!fits_as(MYSQL_TYPE_NEWDECIMAL, 0, BINARY, "1", 1, WEIR_TYPE_BYTES));
    check(!fits_as(MYSQL_TYPE_VAR_STRING, 0, UTF8MB4, "x", 1, WEIR_TYPE_NULL));
}

static void check_taken(enum enum_field_types type, unsigned char *row, size_t header,
                        size_t size)
{
    unsigned char *at = row;
    struct weir_str bytes = weir_maria_column_take(type, &at);

    check((const unsigned char *)bytes.data == row + header);
    check_int(bytes.size, size);
    check(at == row + header + size);
}

WEIR_TEST(maria_column, steps_over_lengths_of_all_sizes)
{
    check_taken(MYSQL_TYPE_TINY, (unsigned char[]){7}, 0, 1);
    check_taken(MYSQL_TYPE_SHORT, (unsigned char[]){7, 0}, 0, 2);
    check_taken(MYSQL_TYPE_LONGLONG, (unsigned char[]){7, 0, 0, 0, 0, 0, 0, 0}, 0, 8);
    check_taken(MYSQL_TYPE_BLOB, (unsigned char[]){0}, 1, 0);
    check_taken(MYSQL_TYPE_BLOB, (unsigned char[251]){250}, 1, 250);
    check_taken(MYSQL_TYPE_BLOB, (unsigned char[259]){252, 0, 1}, 3, 256);
    check_taken(MYSQL_TYPE_BLOB, (unsigned char[65540]){253, 0, 0, 1}, 4, 65536);
    check_taken(MYSQL_TYPE_BLOB, (unsigned char[16]){254, 2, 0, 0, 0, 0, 0, 0, 0}, 9, 2);
    check_taken(MYSQL_TYPE_DATETIME, (unsigned char[]){4, 0, 0, 0, 0}, 1, 4);
}
