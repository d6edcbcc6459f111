/*
 * What goes into a statement comes out as it was, on every engine; what cannot is
 * refused before anything is sent.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "kit/db/engines.h"
#include "kit/db/rows_time.h"

#define COUNT_OF(list) (sizeof(list) / sizeof(list)[0])

static const struct weir_sql SQL_PUT = {
    .name = "put",
    .text = "INSERT INTO {p}_thing (id, i, r, t, b, f, m) "
            "VALUES ({1}, {2}, {3}, {4}, {5}, {6}, {7})",
    .parameters = "iirtbfm",
};

static const struct weir_sql SQL_GET = {
    .name = "get",
    .text = "SELECT i, r, t, b, f, m FROM {p}_thing WHERE id = {1}",
    .parameters = "i",
};

static const struct weir_sql SQL_COUNT = {
    .name = "count",
    .text = "SELECT count(*) FROM {p}_thing",
    .parameters = "",
};

/* The columns of a thing, in their order. */
enum { INTEGER, REAL, TEXT, BYTES, FLAG, TIME, COLUMN_COUNT };

static const char *const BAD_TEXTS[] = {
    "\x80",                 /* a continuation without beginning */
    "ab\xbf",               /* likewise */
    "\xc3",                 /* a beginning without continuation */
    "\xc3(",                /* followed by something else */
    "\xe2\x82",             /* two bytes of three */
    "\xf0\x9f\x92",         /* three bytes of four */
    "\xc0\x80",             /* zero, longer than need be */
    "\xc1\xbf",             /* likewise */
    "\xe0\x80\x80",         /* likewise */
    "\xe0\x9f\xbf",         /* likewise */
    "\xf0\x8f\xbf\xbf",     /* likewise */
    "\xed\xa0\x80",         /* half of a UTF-16 pair */
    "\xed\xbf\xbf",         /* the other half */
    "\xf4\x90\x80\x80",     /* above U+10FFFF */
    "\xf5\x80\x80\x80",     /* likewise */
    "\xf8\x88\x80\x80\x80", /* five bytes */
    "\xfe",                 /* never */
    "\xff",                 /* never */
    "good until here \xff", /* late */
};

static const char *const GOOD_TEXTS[] = {
    "",
    "a",
    " ",
    "  blanks around  ",
    "a 'quoted' \"word\" and `one more`",
    "back\\slash \\0 \\n \\' %s %d {1} {p} $1 ?1 ? :name @name",
    "-- comment */ /* ; DROP TABLE {p}_thing;",
    "line\nline\r\nline\ttab\x01\x7f",
    "\xc2\x80 \xdf\xbf \xe0\xa0\x80 \xef\xbf\xbf", /* edges of two and three */
    "\xed\x9f\xbf\xee\x80\x80",                    /* around the pairs */
    "\xf0\x90\x80\x80 \xf4\x8f\xbf\xbf",           /* edges of four */
    "\xef\xbb\xbf with a byte order mark",
    "e\xcc\x81 is not \xc3\xa9", /* no normalisation */
    "\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x92\xbb \xe6\xb0\xb4",
    "NULL",
    "0",
};

static struct weir_connection *make_things(struct fixture *fixture);
static void put(struct fixture *fixture, struct weir_connection *connection, int64_t id,
                const struct weir_value *thing);
static enum weir_status try_put(struct fixture *fixture,
                                struct weir_connection *connection, int64_t id,
                                const struct weir_value *thing);
static void get(struct fixture *fixture, struct weir_connection *connection, int64_t id,
                struct weir_rows *rows);
static void check_thing(struct weir_rows *rows, const struct weir_value *thing);
static void check_bytes(struct weir_str got, const void *want, size_t size);
static void go_there_and_back(struct fixture *fixture, int column,
                              const struct weir_value *values, size_t count);
static void check_refused(struct fixture *fixture, struct weir_connection *connection,
                          int column, struct weir_value value);
static char *filled(size_t size, unsigned seed);

/* ---- there and back ---------------------------------------------------------------- */

ENGINE_TEST(value, integers_come_back_to_the_last_bit)
{
    static const int64_t EDGES[] = {0,
                                    1,
                                    -1,
                                    127,
                                    128,
                                    -129,
                                    32768,
                                    -32769,
                                    INT32_MAX,
                                    INT32_MIN,
                                    (int64_t)INT32_MAX + 1,
                                    (int64_t)INT32_MIN - 1,
                                    (INT64_C(1) << 53) + 1,
                                    -(INT64_C(1) << 53) - 1,
                                    INT64_MAX - 1,
                                    INT64_MAX,
                                    INT64_MIN + 1,
                                    INT64_MIN};
    struct weir_value values[COUNT_OF(EDGES)];

    for (size_t i = 0; i < COUNT_OF(EDGES); i++)
        values[i] = weir_integer(EDGES[i]);
    go_there_and_back(fixture, INTEGER, values, COUNT_OF(EDGES));
}

ENGINE_TEST(value, reals_come_back_to_the_last_bit)
{
    static const double EDGES[] = {0.0,
                                   1.0,
                                   -1.0,
                                   0.1,
                                   1.0 / 3.0,
                                   -2.5e-10,
                                   3.141592653589793,
                                   9007199254740993.0,
                                   1e300,
                                   DBL_MAX,
                                   -DBL_MAX,
                                   DBL_MIN,
                                   -DBL_MIN,
                                   DBL_EPSILON,
                                   1.0 + DBL_EPSILON};
    struct weir_value values[COUNT_OF(EDGES)];

    for (size_t i = 0; i < COUNT_OF(EDGES); i++)
        values[i] = weir_real(EDGES[i]);
    go_there_and_back(fixture, REAL, values, COUNT_OF(EDGES));
}

ENGINE_TEST(value, texts_come_back_as_they_were)
{
    struct weir_value values[COUNT_OF(GOOD_TEXTS)];

    for (size_t i = 0; i < COUNT_OF(GOOD_TEXTS); i++)
        values[i] = weir_text(weir_str(GOOD_TEXTS[i]));
    go_there_and_back(fixture, TEXT, values, COUNT_OF(GOOD_TEXTS));
}

ENGINE_TEST(value, bytes_come_back_zeros_included)
{
    unsigned char all[256];
    const struct weir_value values[] = {
        weir_bytes("", 0),     weir_bytes("\0", 1),       weir_bytes("\0\0\0", 3),
        weir_bytes("a\0b", 3), weir_bytes(all, 256),      weir_bytes("\\x00'\"", 6),
        weir_bytes("\xff", 1), weir_bytes("\xc3\x28", 2), weir_bytes("ends in\0", 8),
    };

    for (int i = 0; i < 256; i++)
        all[i] = (unsigned char)i;
    go_there_and_back(fixture, BYTES, values, COUNT_OF(values));
}

ENGINE_TEST(value, flags_come_back)
{
    const struct weir_value values[] = {weir_boolean(true), weir_boolean(false)};

    go_there_and_back(fixture, FLAG, values, COUNT_OF(values));
}

/* Around 1970, around a leap day, at the edges that all three engines have. */
ENGINE_TEST(value, times_come_back_to_the_microsecond)
{
    static const int64_t EDGES[] = {
        0,
        1,
        -1,
        999999,
        1000000,
        -999999,
        -1000000,
        -1000001,
        INT64_C(951782399999999),    /* 2000-02-28 23:59:59.999999 */
        INT64_C(951868799999999),    /* 2000-02-29 23:59:59.999999 */
        INT64_C(1752508799123456),   /* 2025-07-14 */
        INT64_C(2147483647000000),   /* 2038, the last of 31 bits */
        INT64_C(2147483648000001),   /* and the next */
        INT64_C(4294967296000001),   /* 2106 */
        INT64_C(253402300799999999), /* 9999-12-31 23:59:59.999999 */
        INT64_C(-2208988800000000),  /* 1900-01-01 */
        INT64_C(-2208988800000001),  /* and a moment before */
        INT64_C(-11644473600000000), /* 1601-01-01 */
        INT64_C(-30610224000000000), /* 1000-01-01, the first that MariaDB promises */
    };
    struct weir_value values[COUNT_OF(EDGES)];

    for (size_t i = 0; i < COUNT_OF(EDGES); i++)
        values[i] = weir_time(EDGES[i]);
    go_there_and_back(fixture, TIME, values, COUNT_OF(EDGES));
}

/* The database means the same moment: it is not shifted on the way in and back on the way
 * out. */
SERVER_TEST(value, a_time_is_the_moment_that_the_database_understands)
{
    struct weir_connection *connection = make_things(fixture);
    struct weir_value thing[COLUMN_COUNT] = {0};

    thing[TIME] =
        weir_time(INT64_C(1752508799123456)); /* 2025-07-14 15:59:59.123456 UTC */
    put(fixture, connection, 1, thing);

    check_int(
        fixture_ask(fixture, fixture_choose(fixture, "",
                                            "SELECT count(*) FROM weir_thing WHERE m = "
                                            "'2025-07-14 15:59:59.123456+00'",
                                            "SELECT count(*) FROM weir_thing WHERE m = "
                                            "'2025-07-14 15:59:59.123456'")),
        1);
    fixture_give(fixture, connection);
}

/* A time that the engine cannot have is the caller's mistake; it is not bent. */
ENGINE_TEST(value, a_time_beyond_the_engine_is_refused_or_comes_back)
{
    static const int64_t EXTREMES[] = {INT64_MAX,
                                       INT64_MIN,
                                       INT64_MAX - 1,
                                       INT64_C(253402300800000000),   /* year 10000 */
                                       INT64_C(-62135596800000001),   /* before year 1 */
                                       INT64_C(9223371331200000000)}; /* 294277 */
    struct weir_connection *connection = make_things(fixture);
    struct weir_value thing[COLUMN_COUNT] = {0};
    struct weir_rows rows;

    for (size_t i = 0; i < COUNT_OF(EXTREMES); i++) {
        enum weir_status status;

        thing[TIME] = weir_time(EXTREMES[i]);
        status =
            weir_connection_execute(connection, &SQL_PUT,
                                    VALUES(weir_integer((int64_t)i), thing[0], thing[1],
                                           thing[2], thing[3], thing[4], thing[5]),
                                    NULL, &fixture->error);
        if (status == WEIR_OK) {
            get(fixture, connection, (int64_t)i, &rows);
            check_thing(&rows, thing);
            weir_rows_close(&rows);
        } else {
            check_db(status, WEIR_INVALID);
        }
    }
    fixture_give(fixture, connection);
}

ENGINE_TEST(value, sixteen_mebibytes_come_back)
{
    static const size_t SIZES[] = {65535, 65536, 1024 * 1024 + 1, WEIR_VALUE_SIZE_MAX};
    struct weir_connection *connection = make_things(fixture);

    for (size_t i = 0; i < COUNT_OF(SIZES); i++) {
        char *text = filled(SIZES[i], 1);
        char *bytes = filled(SIZES[i], 2);
        struct weir_value thing[COLUMN_COUNT] = {0};
        struct weir_rows rows;

        bytes[SIZES[i] / 2] = '\0';
        bytes[SIZES[i] - 1] = '\0';
        thing[TEXT] = weir_text((struct weir_str){text, SIZES[i]});
        put(fixture, connection, (int64_t)i * 2, thing);
        thing[TEXT] = weir_null();
        thing[BYTES] = weir_bytes(bytes, SIZES[i]);
        put(fixture, connection, (int64_t)i * 2 + 1, thing);

        get(fixture, connection, (int64_t)i * 2, &rows);
        check_bytes(weir_rows_text(&rows, TEXT), text, SIZES[i]);
        weir_rows_close(&rows);
        get(fixture, connection, (int64_t)i * 2 + 1, &rows);
        check_bytes(weir_rows_bytes(&rows, BYTES), bytes, SIZES[i]);
        weir_rows_close(&rows);

        free(text);
        free(bytes);
    }
    fixture_give(fixture, connection);
}

ENGINE_TEST(value, null_is_a_value_of_every_type)
{
    const struct weir_value nothing[COLUMN_COUNT] = {0};
    struct weir_connection *connection = make_things(fixture);
    struct weir_rows rows;

    put(fixture, connection, 1, nothing);

    get(fixture, connection, 1, &rows);
    for (size_t column = 0; column < COLUMN_COUNT; column++)
        check(weir_rows_is_null(&rows, column));
    check_int(weir_rows_integer(&rows, INTEGER), 0);
    check(weir_rows_real(&rows, REAL) == 0.0);
    check_int(weir_rows_text(&rows, TEXT).size, 0);
    check_int(weir_rows_bytes(&rows, BYTES).size, 0);
    check(!weir_rows_boolean(&rows, FLAG));
    check_int(rows_time_us(&rows, TIME), 0);
    check_db(weir_rows_next(&rows, &fixture->error), WEIR_NO_ROW);
    weir_rows_close(&rows);
    fixture_give(fixture, connection);
}

ENGINE_TEST(value, empty_is_not_null)
{
    struct weir_value thing[COLUMN_COUNT] = {0};
    struct weir_connection *connection = make_things(fixture);
    struct weir_rows rows;

    thing[TEXT] = weir_text((struct weir_str){NULL, 0});
    thing[BYTES] = weir_bytes(NULL, 0);
    put(fixture, connection, 1, thing);

    get(fixture, connection, 1, &rows);
    check(!weir_rows_is_null(&rows, TEXT));
    check(!weir_rows_is_null(&rows, BYTES));
    check_int(weir_rows_text(&rows, TEXT).size, 0);
    check_int(weir_rows_bytes(&rows, BYTES).size, 0);
    weir_rows_close(&rows);
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_thing "
                                   "WHERE t IS NULL OR b IS NULL"),
              0);
    fixture_give(fixture, connection);
}

/* Null first, then a value, then null again: nothing of one run is left for the next. */
ENGINE_TEST(value, a_statement_forgets_the_values_of_its_last_run)
{
    const struct weir_value nothing[COLUMN_COUNT] = {0};
    const struct weir_value full[COLUMN_COUNT] = {
        weir_integer(5),         weir_real(5.5),     weir_text(weir_str("five")),
        weir_bytes("fi\0ve", 5), weir_boolean(true), weir_time(5000005)};
    const struct weir_value other[COLUMN_COUNT] = {
        weir_integer(-6),  weir_real(-6.5),     weir_text(weir_str("6")),
        weir_bytes("", 0), weir_boolean(false), weir_time(-6)};
    const struct weir_value *const things[] = {nothing, full, nothing,
                                               other,   full, nothing};
    struct weir_connection *connection = make_things(fixture);
    struct weir_rows rows;

    for (size_t i = 0; i < COUNT_OF(things); i++)
        put(fixture, connection, (int64_t)i, things[i]);

    for (size_t i = 0; i < COUNT_OF(things); i++) {
        get(fixture, connection, (int64_t)i, &rows);
        check_thing(&rows, things[i]);
        weir_rows_close(&rows);
    }
    fixture_give(fixture, connection);
}

/* Whole rows of values that nobody thought of, from a fixed seed. */
ENGINE_TEST(value, anything_comes_back)
{
    enum { THINGS = 300 };
    struct weir_random random = {.state = 20250714};
    struct weir_connection *connection = make_things(fixture);

    check_db(weir_connection_begin(connection, &fixture->error), WEIR_OK);
    for (int64_t id = 0; id < THINGS; id++) {
        char text[200], bytes[200];
        size_t text_size = weir_random_below(&random, sizeof text);
        size_t bytes_size = weir_random_below(&random, sizeof bytes);
        struct weir_value thing[COLUMN_COUNT];
        struct weir_rows rows;

        for (size_t i = 0; i < text_size; i++)
            text[i] = (char)(1 + weir_random_below(&random, 127));
        for (size_t i = 0; i < bytes_size; i++)
            bytes[i] = (char)weir_random_below(&random, 256);
        thing[INTEGER] = weir_integer((int64_t)weir_random_next(&random));
        thing[REAL] = weir_real(weir_fraction_from_u64(weir_random_next(&random)) *
                                (double)weir_random_below(&random, 1000000));
        thing[TEXT] = weir_text((struct weir_str){text, text_size});
        thing[BYTES] = weir_bytes(bytes, bytes_size);
        thing[FLAG] = weir_boolean(weir_random_below(&random, 2) == 1);
        thing[TIME] = weir_time((int64_t)(weir_random_next(&random) >> 12));
        for (int column = 0; column < COLUMN_COUNT; column++)
            if (weir_random_below(&random, 5) == 0)
                thing[column] = weir_null();
        put(fixture, connection, id, thing);
        get(fixture, connection, id, &rows);
        check_thing(&rows, thing);
        weir_rows_close(&rows);
    }
    check_db(weir_connection_commit(connection, &fixture->error), WEIR_OK);
    fixture_give(fixture, connection);
}

/* ---- what is refused --------------------------------------------------------------- */

ENGINE_TEST(value, text_that_is_not_utf8_is_refused_before_anything_is_sent)
{
    struct weir_connection *connection = make_things(fixture);

    check_db(weir_connection_begin(connection, &fixture->error), WEIR_OK);
    for (size_t i = 0; i < COUNT_OF(BAD_TEXTS); i++)
        check_refused(fixture, connection, TEXT, weir_text(weir_str(BAD_TEXTS[i])));
    check_db(weir_connection_commit(connection, &fixture->error), WEIR_OK);
    fixture_give(fixture, connection);
}

ENGINE_TEST(value, text_with_a_zero_byte_is_refused_before_anything_is_sent)
{
    struct weir_connection *connection = make_things(fixture);

    check_db(weir_connection_begin(connection, &fixture->error), WEIR_OK);
    check_refused(fixture, connection, TEXT, weir_text((struct weir_str){"\0", 1}));
    check_refused(fixture, connection, TEXT, weir_text((struct weir_str){"a\0b", 3}));
    check_refused(fixture, connection, TEXT, weir_text((struct weir_str){"end\0", 4}));
    check_db(weir_connection_commit(connection, &fixture->error), WEIR_OK);
    fixture_give(fixture, connection);
}

ENGINE_TEST(value, more_than_sixteen_mebibytes_are_refused_before_anything_is_sent)
{
    struct weir_connection *connection = make_things(fixture);
    char *text = filled(WEIR_VALUE_SIZE_MAX + 1, 1);

    check_db(weir_connection_begin(connection, &fixture->error), WEIR_OK);
    check_refused(fixture, connection, TEXT,
                  weir_text((struct weir_str){text, WEIR_VALUE_SIZE_MAX + 1}));
    check_refused(fixture, connection, BYTES, weir_bytes(text, WEIR_VALUE_SIZE_MAX + 1));
    check_db(weir_connection_commit(connection, &fixture->error), WEIR_OK);
    free(text);
    fixture_give(fixture, connection);
}

/* The server hangs up in the middle; the caller hears that it was the value, not bad
 * luck. */
MARIADB_TEST(value, that_the_server_has_no_packet_for_is_refused)
{
    static const char *const SETTINGS[] = {"max-allowed-packet=1M", NULL};
    struct server_options server_options = {.settings = SETTINGS};
    struct server *server = server_create(WEIR_MARIADB, &server_options);
    struct weir_db_options options = fixture_options(fixture);
    char *bytes = filled(WEIR_VALUE_SIZE_MAX, 1);
    struct weir_value thing[COLUMN_COUNT] = {0};
    struct weir_db *own = fixture->db;
    struct weir_connection *connection;
    char url[SERVER_URL_SIZE];

    server_create_database(server, "store");
    server_url(server, "store", url, sizeof url);
    options.url = url;
    fixture->db = fixture_open(fixture, &options);
    connection = make_things(fixture);
    thing[BYTES] = weir_bytes(bytes, 1000);
    put(fixture, connection, 1, thing);
    thing[BYTES] = weir_bytes(bytes, WEIR_VALUE_SIZE_MAX);
    check_db(try_put(fixture, connection, 2, thing), WEIR_INVALID);
    fixture_give(fixture, connection);

    connection = fixture_take(fixture);
    thing[BYTES] = weir_bytes(bytes, 1000);
    put(fixture, connection, 2, thing);
    fixture_give(fixture, connection);
    weir_db_destroy(fixture->db);
    fixture->db = own;
    server_destroy(server);
    free(bytes);
}

/* SQLite would store a null, MariaDB would fail late, only PostgreSQL has them. */
ENGINE_TEST(value, a_real_that_is_not_finite_is_refused_before_anything_is_sent)
{
    struct weir_connection *connection = make_things(fixture);

    check_db(weir_connection_begin(connection, &fixture->error), WEIR_OK);
    check_refused(fixture, connection, REAL, weir_real((double)NAN));
    check_refused(fixture, connection, REAL, weir_real((double)INFINITY));
    check_refused(fixture, connection, REAL, weir_real(-(double)INFINITY));
    check_db(weir_connection_commit(connection, &fixture->error), WEIR_OK);
    fixture_give(fixture, connection);
}

ENGINE_TEST(value, of_another_type_is_refused_before_anything_is_sent)
{
    const struct weir_value values[COLUMN_COUNT] = {
        weir_integer(1),    weir_real(1),       weir_text(weir_str("1")),
        weir_bytes("1", 1), weir_boolean(true), weir_time(1)};
    struct weir_connection *connection = make_things(fixture);

    check_db(weir_connection_begin(connection, &fixture->error), WEIR_OK);
    for (int column = 0; column < COLUMN_COUNT; column++) {
        for (int other = 0; other < COLUMN_COUNT; other++)
            if (other != column)
                check_refused(fixture, connection, column, values[other]);
        check_refused(fixture, connection, column,
                      weir_array(WEIR_TYPE_INTEGER, values, 1));
    }
    check_db(weir_connection_commit(connection, &fixture->error), WEIR_OK);
    fixture_give(fixture, connection);
}

ENGINE_TEST(value, too_many_or_too_few_are_refused_before_anything_is_sent)
{
    const struct weir_value values[9] = {weir_integer(1)};
    struct weir_connection *connection = make_things(fixture);
    int64_t count = -1;

    check_db(weir_connection_begin(connection, &fixture->error), WEIR_OK);
    for (size_t given = 0; given <= COUNT_OF(values); given++)
        if (given != 7) {
            check_db(weir_connection_execute(connection, &SQL_PUT, values, given, NULL,
                                             &fixture->error),
                     WEIR_INVALID);
            check(strstr(fixture->error.text, "put") != NULL);
        }
    check_int(weir_connection_transaction(connection), WEIR_TRANSACTION_OPEN);
    check_db(weir_connection_query_integer(connection, &SQL_COUNT, NO_VALUES, &count,
                                           &fixture->error),
             WEIR_OK);
    check_int(count, 0);
    check_db(weir_connection_commit(connection, &fixture->error), WEIR_OK);
    fixture_give(fixture, connection);
}

/* ---- reading ----------------------------------------------------------------------- */

/* A row stays where it is while it is looked at, in any order and more than once. */
ENGINE_TEST(value, views_live_until_the_next_row)
{
    static const struct weir_sql SQL_ALL = {
        .name = "all",
        .text = "SELECT i, r, t, b, f, m FROM {p}_thing ORDER BY id",
        .parameters = "",
    };
    struct weir_connection *connection = make_things(fixture);
    struct weir_value thing[COLUMN_COUNT] = {0};
    struct weir_str text, bytes;
    struct weir_rows rows;

    for (int64_t id = 0; id < 3; id++) {
        char word[] = "thing 0";

        word[6] = (char)('0' + id);
        thing[TEXT] = weir_text(weir_str(word));
        thing[BYTES] = weir_bytes(word, 7);
        thing[INTEGER] = weir_integer(id);
        put(fixture, connection, id, thing);
    }

    check_db(
        weir_connection_query(connection, &SQL_ALL, NO_VALUES, &rows, &fixture->error),
        WEIR_OK);
    for (int64_t id = 0; id < 3; id++) {
        char word[] = "thing 0";

        word[6] = (char)('0' + id);
        check_db(weir_rows_next(&rows, &fixture->error), WEIR_OK);
        bytes = weir_rows_bytes(&rows, BYTES);
        text = weir_rows_text(&rows, TEXT);
        check_int(weir_rows_integer(&rows, INTEGER), id);
        check(weir_rows_is_null(&rows, REAL));
        check(!weir_rows_is_null(&rows, TEXT));
        check_bytes(weir_rows_text(&rows, TEXT), word, 7);
        check_bytes(text, word, 7);
        check_bytes(bytes, word, 7);
        check(weir_rows_text(&rows, TEXT).data == text.data);
    }
    check_db(weir_rows_next(&rows, &fixture->error), WEIR_NO_ROW);
    weir_rows_close(&rows);
    fixture_give(fixture, connection);
}

static void misread_integer(struct weir_rows *rows)
{
    (void)weir_rows_integer(rows, TEXT);
}

static void misread_text(struct weir_rows *rows)
{
    (void)weir_rows_text(rows, INTEGER);
}

static void misread_bytes(struct weir_rows *rows)
{
    (void)weir_rows_bytes(rows, INTEGER);
}

static void misread_text_of_bytes(struct weir_rows *rows)
{
    (void)weir_rows_text(rows, BYTES);
}

static void misread_boolean(struct weir_rows *rows)
{
    (void)weir_rows_boolean(rows, TEXT);
}

static void misread_time(struct weir_rows *rows)
{
    (void)rows_time_us(rows, TEXT);
}

static void misread_real(struct weir_rows *rows)
{
    (void)weir_rows_real(rows, TEXT);
}

static void misread_integer_of_real(struct weir_rows *rows)
{
    (void)weir_rows_integer(rows, REAL);
}

static void read_beyond(struct weir_rows *rows)
{
    (void)weir_rows_integer(rows, COLUMN_COUNT);
}

static void read_far_beyond(struct weir_rows *rows)
{
    (void)weir_rows_text(rows, SIZE_MAX);
}

/* Told at the next row, also when there is none; the connection is as good as before. */
ENGINE_TEST(value, a_column_read_as_what_it_is_not_is_a_schema_error)
{
    static void (*const MISREADS[])(struct weir_rows *) = {
        misread_integer, misread_text,   misread_bytes, misread_text_of_bytes,
        misread_boolean, misread_time,   misread_real,  misread_integer_of_real,
        read_beyond,     read_far_beyond};
    const struct weir_value thing[COLUMN_COUNT] = {
        weir_integer(7),    weir_real(7.5),     weir_text(weir_str("seven")),
        weir_bytes("7", 1), weir_boolean(true), weir_time(7)};
    struct weir_connection *connection = make_things(fixture);
    struct weir_rows rows;

    put(fixture, connection, 1, thing);

    for (size_t i = 0; i < COUNT_OF(MISREADS); i++) {
        get(fixture, connection, 1, &rows);
        MISREADS[i](&rows);
        check_db(weir_rows_next(&rows, &fixture->error), WEIR_SCHEMA);
        check(strstr(fixture->error.text, "get") != NULL);
        weir_rows_close(&rows);
    }

    get(fixture, connection, 1, &rows);
    check_thing(&rows, thing);
    weir_rows_close(&rows);
    fixture_give(fixture, connection);
}

ENGINE_TEST(value, an_integer_other_than_0_and_1_is_no_flag)
{
    static const struct weir_sql SQL_TWO = {.name = "two", .text = "SELECT 2"};
    struct weir_connection *connection = fixture_take(fixture);
    struct weir_rows rows;

    check_db(
        weir_connection_query(connection, &SQL_TWO, NO_VALUES, &rows, &fixture->error),
        WEIR_OK);
    check_db(weir_rows_next(&rows, &fixture->error), WEIR_OK);
    check(!weir_rows_boolean(&rows, 0));
    check_db(weir_rows_next(&rows, &fixture->error), WEIR_SCHEMA);
    weir_rows_close(&rows);
    fixture_give(fixture, connection);
}

ENGINE_TEST(value, a_text_can_be_read_as_bytes)
{
    struct weir_value thing[COLUMN_COUNT] = {0};
    struct weir_connection *connection = make_things(fixture);
    struct weir_rows rows;

    thing[TEXT] = weir_text(weir_str("\xe6\xb0\xb4"));
    put(fixture, connection, 1, thing);

    get(fixture, connection, 1, &rows);
    check_bytes(weir_rows_bytes(&rows, TEXT), "\xe6\xb0\xb4", 3);
    check_db(weir_rows_next(&rows, &fixture->error), WEIR_NO_ROW);
    weir_rows_close(&rows);
    fixture_give(fixture, connection);
}

/* Whatever width the engine gives an integer. */
ENGINE_TEST(value, integers_of_any_width_are_integers)
{
    static const struct weir_sql SQL_WIDTHS[] = {
        [WEIR_SQLITE] = {.name = "widths", .text = "SELECT 1, -2, 300, -70000, 1 = 1"},
        [WEIR_POSTGRESQL] = {.name = "widths",
                             .text = "SELECT 1::smallint, -2::int, 300::bigint, "
                                     "-70000, (SELECT count(*) FROM (SELECT 1) s)"},
        [WEIR_MARIADB] = {.name = "widths",
                          .text = "SELECT a, b, c, d, e FROM {p}_widths"},
    };
    static const int64_t EXPECTED[] = {1, -2, 300, -70000, 1};
    struct weir_connection *connection = fixture_take(fixture);
    struct weir_rows rows;

    fixture_execute(fixture, connection,
                    fixture_choose(fixture, "SELECT 1", "SELECT 1",
                                   "CREATE TABLE {p}_widths (a TINYINT, b SMALLINT, "
                                   "c MEDIUMINT UNSIGNED, d INT, e BIGINT UNSIGNED)"));
    fixture_execute(
        fixture, connection,
        fixture_choose(fixture, "SELECT 1", "SELECT 1",
                       "INSERT INTO {p}_widths VALUES (1, -2, 300, -70000, 1)"));

    check_db(weir_connection_query(connection, &SQL_WIDTHS[fixture->engine], NO_VALUES,
                                   &rows, &fixture->error),
             WEIR_OK);
    check_db(weir_rows_next(&rows, &fixture->error), WEIR_OK);
    for (size_t i = 0; i < COUNT_OF(EXPECTED); i++)
        check_int(weir_rows_integer(&rows, i), EXPECTED[i]);
    check_db(weir_rows_next(&rows, &fixture->error), WEIR_NO_ROW);
    weir_rows_close(&rows);
    fixture_give(fixture, connection);
}

MARIADB_TEST(value, an_unsigned_integer_beyond_ours_is_a_schema_error)
{
    static const struct weir_sql SQL_BIG = {
        .name = "big", .text = "SELECT CAST(18446744073709551615 AS UNSIGNED)"};
    struct weir_connection *connection = fixture_take(fixture);
    struct weir_rows rows;

    check_db(
        weir_connection_query(connection, &SQL_BIG, NO_VALUES, &rows, &fixture->error),
        WEIR_OK);
    check_db(weir_rows_next(&rows, &fixture->error), WEIR_OK);
    check_int(weir_rows_integer(&rows, 0), 0);
    check_db(weir_rows_next(&rows, &fixture->error), WEIR_SCHEMA);
    weir_rows_close(&rows);
    fixture_give(fixture, connection);
}

/* ---- arrays ------------------------------------------------------------------------ */

static const struct weir_sql SQL_UNNEST = {
    .name = "unnest",
    .text = "INSERT INTO {p}_thing (id, i, r, t, b, f, m) "
            "SELECT * FROM unnest({1}, {2}, {3}, {4}, {5}, {6}, {7})",
    .parameters = "IIRTBFM",
};

POSTGRESQL_TEST(value, arrays_of_every_type_with_nulls_come_back)
{
    enum { ROWS = 4 };
    const struct weir_value ids[ROWS] = {weir_integer(0), weir_integer(1),
                                         weir_integer(2), weir_integer(3)};
    const struct weir_value columns[COLUMN_COUNT][ROWS] = {
        {weir_integer(INT64_MIN), weir_null(), weir_integer(0), weir_integer(INT64_MAX)},
        {weir_null(), weir_real(-0.5), weir_real(DBL_MAX), weir_real(0)},
        {weir_text(weir_str("")), weir_text(weir_str("NULL")),
         weir_text(weir_str("{\"a\",b}\\")), weir_null()},
        {weir_bytes("\0", 1), weir_bytes("", 0), weir_null(), weir_bytes("\\x41", 4)},
        {weir_boolean(true), weir_boolean(false), weir_null(), weir_null()},
        {weir_time(-1), weir_null(), weir_time(0),
         weir_time(INT64_C(253402300799999999))},
    };
    struct weir_connection *connection = make_things(fixture);
    struct weir_rows rows;

    check_db(
        weir_connection_execute(connection, &SQL_UNNEST,
                                VALUES(weir_array(WEIR_TYPE_INTEGER, ids, ROWS),
                                       weir_array(WEIR_TYPE_INTEGER, columns[0], ROWS),
                                       weir_array(WEIR_TYPE_REAL, columns[1], ROWS),
                                       weir_array(WEIR_TYPE_TEXT, columns[2], ROWS),
                                       weir_array(WEIR_TYPE_BYTES, columns[3], ROWS),
                                       weir_array(WEIR_TYPE_BOOLEAN, columns[4], ROWS),
                                       weir_array(WEIR_TYPE_TIME, columns[5], ROWS)),
                                NULL, &fixture->error),
        WEIR_OK);

    for (int row = 0; row < ROWS; row++) {
        struct weir_value thing[COLUMN_COUNT];

        for (int column = 0; column < COLUMN_COUNT; column++)
            thing[column] = columns[column][row];
        get(fixture, connection, row, &rows);
        check_thing(&rows, thing);
        weir_rows_close(&rows);
    }
    fixture_give(fixture, connection);
}

POSTGRESQL_TEST(value, an_array_may_be_empty_long_or_null)
{
    enum { LONG = 20000 };
    static const struct weir_sql SQL_SUM = {
        .name = "sum",
        .text = "SELECT coalesce(sum(x), -1)::bigint FROM unnest({1}) x",
        .parameters = "I",
    };
    struct weir_connection *connection = fixture_take(fixture);
    struct weir_value *elements = calloc(LONG, sizeof *elements);
    int64_t sum = 0;

    check(elements != NULL);
    for (int i = 0; i < LONG; i++)
        elements[i] = weir_integer(i);

    check_db(weir_connection_query_integer(connection, &SQL_SUM,
                                           VALUES(weir_array(WEIR_TYPE_INTEGER, NULL, 0)),
                                           &sum, &fixture->error),
             WEIR_OK);
    check_int(sum, -1);
    check_db(weir_connection_query_integer(
                 connection, &SQL_SUM,
                 VALUES(weir_array(WEIR_TYPE_INTEGER, elements, LONG)), &sum,
                 &fixture->error),
             WEIR_OK);
    check_int(sum, (int64_t)LONG * (LONG - 1) / 2);
    check_db(weir_connection_query_integer(connection, &SQL_SUM, VALUES(weir_null()),
                                           &sum, &fixture->error),
             WEIR_OK);
    check_int(sum, -1);
    free(elements);
    fixture_give(fixture, connection);
}

POSTGRESQL_TEST(value, an_array_with_something_that_does_not_fit_is_refused)
{
    static const struct weir_sql SQL_COUNT_TEXTS = {
        .name = "count texts", .text = "SELECT cardinality({1})", .parameters = "T"};
    const struct weir_value bad[] = {weir_text(weir_str("good")),
                                     weir_text(weir_str("bad \xff"))};
    const struct weir_value mixed[] = {weir_text(weir_str("good")), weir_integer(1)};
    const struct weir_value numbers[] = {weir_integer(1)};
    struct weir_connection *connection = fixture_take(fixture);
    int64_t count;

    check_db(weir_connection_begin(connection, &fixture->error), WEIR_OK);
    check_db(weir_connection_query_integer(connection, &SQL_COUNT_TEXTS,
                                           VALUES(weir_array(WEIR_TYPE_TEXT, bad, 2)),
                                           &count, &fixture->error),
             WEIR_INVALID);
    check_db(weir_connection_query_integer(connection, &SQL_COUNT_TEXTS,
                                           VALUES(weir_array(WEIR_TYPE_TEXT, mixed, 2)),
                                           &count, &fixture->error),
             WEIR_INVALID);
    check_db(
        weir_connection_query_integer(connection, &SQL_COUNT_TEXTS,
                                      VALUES(weir_array(WEIR_TYPE_INTEGER, numbers, 1)),
                                      &count, &fixture->error),
        WEIR_INVALID);
    /* An element instead of an array is for execute_many() only. */
    check_db(weir_connection_query_integer(connection, &SQL_COUNT_TEXTS,
                                           VALUES(weir_text(weir_str("alone"))), &count,
                                           &fixture->error),
             WEIR_INVALID);
    check_int(weir_connection_transaction(connection), WEIR_TRANSACTION_OPEN);
    weir_connection_rollback(connection);
    fixture_give(fixture, connection);
}

ENGINE_TEST(value, an_array_is_refused_where_the_engine_has_none)
{
    static const struct weir_sql SQL_ARRAY = {
        .name = "array", .text = "SELECT {1}", .parameters = "I"};
    const struct weir_value elements[] = {weir_integer(1)};
    struct weir_connection *connection = fixture_take(fixture);

    check_db(weir_connection_execute(connection, &SQL_ARRAY,
                                     VALUES(weir_array(WEIR_TYPE_INTEGER, elements, 1)),
                                     NULL, &fixture->error),
             fixture->engine == WEIR_POSTGRESQL ? WEIR_OK : WEIR_INVALID);
    fixture_give(fixture, connection);
}

/* ---- helpers ----------------------------------------------------------------------- */

static struct weir_connection *make_things(struct fixture *fixture)
{
    struct weir_connection *connection = fixture_take(fixture);

    fixture_execute(
        fixture, connection,
        "CREATE TABLE {p}_thing (id $integer PRIMARY KEY, i $integer, r $real, "
        "t $text, b $bytes, f $boolean, m $time)");
    return connection;
}

static enum weir_status try_put(struct fixture *fixture,
                                struct weir_connection *connection, int64_t id,
                                const struct weir_value *thing)
{
    struct weir_value values[COLUMN_COUNT + 1] = {weir_integer(id)};

    memcpy(values + 1, thing, COLUMN_COUNT * sizeof *thing);
    return weir_connection_execute(connection, &SQL_PUT, values, COLUMN_COUNT + 1, NULL,
                                   &fixture->error);
}

static void put(struct fixture *fixture, struct weir_connection *connection, int64_t id,
                const struct weir_value *thing)
{
    check_db(try_put(fixture, connection, id, thing), WEIR_OK);
}

/* Leaves the rows at the one thing. */
static void get(struct fixture *fixture, struct weir_connection *connection, int64_t id,
                struct weir_rows *rows)
{
    check_db(weir_connection_query(connection, &SQL_GET, VALUES(weir_integer(id)), rows,
                                   &fixture->error),
             WEIR_OK);
    check_db(weir_rows_next(rows, &fixture->error), WEIR_OK);
}

static void check_bytes(struct weir_str got, const void *want, size_t size)
{
    check_int(got.size, size);
    check(size == 0 || memcmp(got.data, want, size) == 0);
}

static void check_thing(struct weir_rows *rows, const struct weir_value *thing)
{
    for (size_t column = 0; column < COLUMN_COUNT; column++)
        check_int(weir_rows_is_null(rows, column), thing[column].type == WEIR_TYPE_NULL);
    if (thing[INTEGER].type != WEIR_TYPE_NULL)
        check_int(weir_rows_integer(rows, INTEGER), thing[INTEGER].as.integer);
    if (thing[REAL].type != WEIR_TYPE_NULL)
        check(weir_rows_real(rows, REAL) == thing[REAL].as.real);
    if (thing[TEXT].type != WEIR_TYPE_NULL)
        check_bytes(weir_rows_text(rows, TEXT), thing[TEXT].as.text.data,
                    thing[TEXT].as.text.size);
    if (thing[BYTES].type != WEIR_TYPE_NULL)
        check_bytes(weir_rows_bytes(rows, BYTES), thing[BYTES].as.text.data,
                    thing[BYTES].as.text.size);
    if (thing[FLAG].type != WEIR_TYPE_NULL)
        check_int(weir_rows_boolean(rows, FLAG), thing[FLAG].as.boolean);
    if (thing[TIME].type != WEIR_TYPE_NULL)
        check_int(rows_time_us(rows, TIME), thing[TIME].as.time_us);
    check(!rows->misread);
}

/* Each value into a row of its own and out again, the other columns null. */
static void go_there_and_back(struct fixture *fixture, int column,
                              const struct weir_value *values, size_t count)
{
    struct weir_connection *connection = make_things(fixture);
    struct weir_value thing[COLUMN_COUNT] = {0};
    struct weir_rows rows;

    for (size_t i = 0; i < count; i++) {
        thing[column] = values[i];
        put(fixture, connection, (int64_t)i, thing);
    }
    for (size_t i = 0; i < count; i++) {
        thing[column] = values[i];
        get(fixture, connection, (int64_t)i, &rows);
        check_thing(&rows, thing);
        check_db(weir_rows_next(&rows, &fixture->error), WEIR_NO_ROW);
        weir_rows_close(&rows);
    }
    fixture_give(fixture, connection);
}

/* The connection is in a transaction, which does not notice. */
static void check_refused(struct fixture *fixture, struct weir_connection *connection,
                          int column, struct weir_value value)
{
    struct weir_value thing[COLUMN_COUNT] = {0};
    int64_t count = -1;

    thing[column] = value;
    check_db(try_put(fixture, connection, 1, thing), WEIR_INVALID);
    check(strstr(fixture->error.text, "put") != NULL);

    check_int(weir_connection_transaction(connection), WEIR_TRANSACTION_OPEN);
    check_db(weir_connection_query_integer(connection, &SQL_COUNT, NO_VALUES, &count,
                                           &fixture->error),
             WEIR_OK);
    check_int(count, 0);
}

/* Printable characters, the same for the same seed. */
static char *filled(size_t size, unsigned seed)
{
    char *text = malloc(size);
    uint32_t state = seed * 2654435761U + 1;

    check(text != NULL);
    for (size_t i = 0; i < size; i++) {
        state = state * 1664525U + 1013904223U;
        text[i] = (char)(' ' + (state >> 24) % 95);
    }
    return text;
}
