/* Tests of db/mariadb/statement.c, against a real server. */
#include "db/mariadb/statement.h"

#include <math.h>
#include <stdlib.h>

#include "unit/db/mariadb_fixture.h"

static const struct weir_driver *const DRIVER = &weir_driver_mariadb;

enum { MIB = 1024 * 1024 };

/* Servers with other limits than the shared one's 64 MiB. Started when first asked
 * for. */
static struct server *server_with(const char *setting, struct server **server)
{
    const char *const settings[] = {setting, NULL};

    if (*server == NULL)
        *server =
            server_create(WEIR_MARIADB, &(struct server_options){.settings = settings});
    return *server;
}

static struct server *default_server(void)
{
    static struct server *server;

    return server_with("max-allowed-packet=16M", &server);
}

static struct server *small_server(void)
{
    static struct server *server;

    return server_with("max-allowed-packet=1M", &server);
}

static char *many_bytes(size_t size)
{
    char *bytes = malloc(size);

    check(bytes != NULL);
    for (size_t i = 0; i < size; i++)
        bytes[i] = (char)('a' + i % 23);
    return bytes;
}

/* ---- rows -------------------------------------------------------------------------- */

/* All in one row, so that each column is also found behind all others. */
MARIADB_LINK_TEST(maria_statement, reads_every_type_of_column)
{
    static const struct {
        const char *sql;
        enum weir_type type;
        int64_t integer;  /* also of a boolean and a time */
        const char *text; /* also of bytes */
        bool fits;
    } COLUMNS[] = {
        {"CAST(-7 AS SIGNED)", WEIR_TYPE_INTEGER, -7, NULL, true},
        {"CAST(18446744073709551615 AS UNSIGNED)", WEIR_TYPE_INTEGER, 0, NULL, false},
        {"tiny", WEIR_TYPE_INTEGER, -128, NULL, true},
        {"small", WEIR_TYPE_INTEGER, 65535, NULL, true},
        {"medium", WEIR_TYPE_INTEGER, -8388608, NULL, true},
        {"normal", WEIR_TYPE_INTEGER, -2147483648, NULL, true},
        {"born", WEIR_TYPE_INTEGER, 2024, NULL, true},
        {"flags", WEIR_TYPE_INTEGER, 5, NULL, true},
        {"yes", WEIR_TYPE_BOOLEAN, 1, NULL, true},
        {"flag", WEIR_TYPE_BOOLEAN, 0, NULL, true},
        {"tiny", WEIR_TYPE_BOOLEAN, 0, NULL, false},
        {"price", WEIR_TYPE_INTEGER, 0, NULL, false},
        {"price", WEIR_TYPE_TEXT, 0, NULL, false},
        {"name", WEIR_TYPE_TEXT, 0, "Zo\xc3\xab \xf0\x9f\x8c\x8a", true},
        {"name", WEIR_TYPE_BYTES, 0, "Zo\xc3\xab \xf0\x9f\x8c\x8a", true},
        {"name", WEIR_TYPE_INTEGER, 0, NULL, false},
        {"old_name", WEIR_TYPE_TEXT, 0, "Zo\xc3\xab", true}, /* latin1 in the table */
        {"kind", WEIR_TYPE_TEXT, 0, "blue", true},
        {"facts", WEIR_TYPE_TEXT, 0, "{\"a\":1}", true},
        {"payload", WEIR_TYPE_BYTES, 0, "\x01\x02", true},
        {"payload", WEIR_TYPE_TEXT, 0, NULL, false},
        {"empty", WEIR_TYPE_TEXT, 0, "", true},
        {"nothing", WEIR_TYPE_TEXT, 0, NULL, true},
        {"nothing", WEIR_TYPE_NULL, 0, NULL, true},
        {"name", WEIR_TYPE_NULL, 0, NULL, false},
        {"at", WEIR_TYPE_TIME, INT64_C(1709164800123456), NULL, true},
        {"stamp", WEIR_TYPE_TIME, INT64_C(1709164800000000), NULL, true},
        {"day", WEIR_TYPE_TIME, 0, NULL, false},
        {"(SELECT SUM(normal) FROM t)", WEIR_TYPE_INTEGER, 0, NULL, false},
        {"COUNT(*) OVER ()", WEIR_TYPE_INTEGER, 1, NULL, true},
    };
    struct weir_cursor cursor;
    char sql[2048] = "SELECT ";
    void *prepared;

    mariadb_fixture_exec(
        mariadb_fixture, link,
        "CREATE TABLE t (tiny TINYINT, small SMALLINT UNSIGNED, medium MEDIUMINT, "
        "normal INT, born YEAR, flags BIT(12), yes TINYINT(1), flag BIT(1), "
        "price DECIMAL(20,2), name VARCHAR(20) CHARACTER SET utf8mb4, "
        "old_name VARCHAR(20) CHARACTER SET latin1, kind ENUM('red','blue'), "
        "facts JSON, payload VARBINARY(10), empty TEXT, nothing TEXT, "
        "at DATETIME(6), stamp TIMESTAMP(6), day DATE)");
    mariadb_fixture_exec(
        mariadb_fixture, link,
        "INSERT INTO t VALUES (-128, 65535, -8388608, -2147483648, 2024, 5, 1, 0, "
        "7.25, 'Zo\xc3\xab \xf0\x9f\x8c\x8a', 'Zo\xc3\xab', 'blue', '{\"a\":1}', "
        "x'0102', '', NULL, '2024-02-29 00:00:00.123456', '2024-02-29', "
        "'2024-02-29')");
    for (size_t i = 0; i < sizeof COLUMNS / sizeof COLUMNS[0]; i++) {
        strcat(sql, i > 0 ? ", " : "");
        strcat(sql, COLUMNS[i].sql);
    }
    strcat(sql, " FROM t");

    prepared = mariadb_fixture_prepare(mariadb_fixture, link, sql, "");
    check_mariadb_fixture(
        mariadb_fixture,
        DRIVER->run(link, prepared, NULL, &cursor, &mariadb_fixture->error), WEIR_OK);
    check_int(cursor.column_count, sizeof COLUMNS / sizeof COLUMNS[0]);
    check_int(cursor.changed, 0);
    check_mariadb_fixture(mariadb_fixture,
                          DRIVER->next(link, &cursor, &mariadb_fixture->error), WEIR_OK);
    for (size_t i = 0; i < sizeof COLUMNS / sizeof COLUMNS[0]; i++) {
        struct weir_value value;
        bool fits;

        DRIVER->read(&cursor, i, COLUMNS[i].type, &value, &fits);
        if (fits != COLUMNS[i].fits)
            weir_test_fail(__FILE__, __LINE__, "column %zu, %s: fits is %d", i,
                           COLUMNS[i].sql, fits);
        if (!fits) {
            check_int(value.type, WEIR_TYPE_NULL);
        } else if (COLUMNS[i].text != NULL) {
            check(weir_str_equal(value.as.text, weir_str(COLUMNS[i].text)));
        } else if (strcmp(COLUMNS[i].sql, "nothing") == 0) {
            check_int(value.type, WEIR_TYPE_NULL);
        } else if (value.type == WEIR_TYPE_BOOLEAN) {
            check_int(value.as.boolean, COLUMNS[i].integer);
        } else {
            check_int(value.as.integer, COLUMNS[i].integer);
        }
    }
    check_mariadb_fixture(mariadb_fixture,
                          DRIVER->next(link, &cursor, &mariadb_fixture->error),
                          WEIR_NO_ROW);
    check_mariadb_fixture(mariadb_fixture,
                          DRIVER->next(link, &cursor, &mariadb_fixture->error),
                          WEIR_NO_ROW);

    DRIVER->finish(link, &cursor);
    DRIVER->unprepare(link, prepared);
}

/* The server knows only ?. */
MARIADB_LINK_TEST(maria_statement, takes_its_values_by_number_in_any_order_and_often)
{
    static const char *const BAD[] = {"SELECT ?3, ?1", "SELECT ?1", "SELECT ?0, ?1, ?2"};
    const struct weir_value values[] = {weir_integer(7), weir_text(weir_str("seven"))};
    void *prepared;

    mariadb_fixture_exec(mariadb_fixture, link,
                         "CREATE TABLE t (a BIGINT, b TEXT, c BIGINT)");
    check_mariadb_fixture(
        mariadb_fixture,
        mariadb_fixture_run(mariadb_fixture, link,
                            "INSERT INTO t (b, a, c) VALUES (?2, ?1, ?1 + ?1)", "it",
                            values, NULL),
        WEIR_OK);

    check_int(mariadb_fixture_ask(
                  mariadb_fixture, link,
                  "SELECT count(*) FROM t WHERE a = 7 AND b = 'seven' AND c = 14"),
              1);
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++) {
        check_mariadb_fixture(
            mariadb_fixture,
            DRIVER->prepare(link, BAD[i], "it", &prepared, &mariadb_fixture->error),
            WEIR_INVALID);
        check(strstr(mariadb_fixture->error.text, "not those of 2 values") != NULL);
    }
}

/* Also when rows were left unread, and when there were none. */
MARIADB_LINK_TEST(maria_statement, can_be_run_again_whatever_was_read)
{
    void *prepared;

    prepared = mariadb_fixture_prepare(mariadb_fixture, link,
                                       "SELECT seq FROM seq_1_to_10 WHERE seq <= ?", "i");
    for (int64_t i = 0; i < 40; i++) {
        struct weir_value limit = weir_integer(i % 4);
        struct weir_cursor cursor;

        check_mariadb_fixture(
            mariadb_fixture,
            DRIVER->run(link, prepared, &limit, &cursor, &mariadb_fixture->error),
            WEIR_OK);
        check_int(cursor.row_count, i % 4);
        for (int64_t row = 0; row < i % 4 && row < i / 4; row++)
            check_mariadb_fixture(mariadb_fixture,
                                  DRIVER->next(link, &cursor, &mariadb_fixture->error),
                                  WEIR_OK);
        DRIVER->finish(link, &cursor);
    }
    DRIVER->unprepare(link, prepared);
}

MARIADB_LINK_TEST(maria_statement, leaves_the_connection_free_while_its_rows_are_read)
{
    struct weir_cursor cursor;
    void *prepared;
    int rows = 0;

    prepared = mariadb_fixture_prepare(mariadb_fixture, link,
                                       "SELECT seq FROM seq_1_to_1000", "");
    check_mariadb_fixture(
        mariadb_fixture,
        DRIVER->run(link, prepared, NULL, &cursor, &mariadb_fixture->error), WEIR_OK);

    while (DRIVER->next(link, &cursor, &mariadb_fixture->error) == WEIR_OK) {
        if (rows++ % 100 == 0)
            check_str(mariadb_fixture_peek(DRIVER->native(link), "SELECT 'free'"),
                      "free");
    }

    check_int(rows, 1000);
    DRIVER->finish(link, &cursor);
    DRIVER->unprepare(link, prepared);
}

/* A procedure's answer has one result more than it selects. */
MARIADB_LINK_TEST(maria_statement, may_be_a_call)
{
    mariadb_fixture_exec(mariadb_fixture, link,
                         "CREATE PROCEDURE two() BEGIN SELECT 1; SELECT 2; END");
    mariadb_fixture_exec(mariadb_fixture, link, "CREATE PROCEDURE none() BEGIN END");

    for (int i = 0; i < 3; i++) {
        check_mariadb_fixture(
            mariadb_fixture,
            mariadb_fixture_run(mariadb_fixture, link, "CALL two()", "", NULL, NULL),
            WEIR_OK);
        check_mariadb_fixture(
            mariadb_fixture,
            mariadb_fixture_run(mariadb_fixture, link, "CALL none()", "", NULL, NULL),
            WEIR_OK);
        mariadb_fixture_exec(mariadb_fixture, link, "CALL two()");
    }

    check_int(mariadb_fixture_ask(mariadb_fixture, link, "SELECT 3"), 3);
}

MARIADB_LINK_TEST(maria_statement, survives_a_table_that_is_altered)
{
    struct weir_cursor cursor;
    void *prepared;

    mariadb_fixture_exec(mariadb_fixture, link, "CREATE TABLE t (a BIGINT)");
    mariadb_fixture_exec(mariadb_fixture, link, "INSERT INTO t VALUES (1), (2)");
    prepared = mariadb_fixture_prepare(mariadb_fixture, link, "SELECT * FROM t", "");
    check_mariadb_fixture(
        mariadb_fixture,
        DRIVER->run(link, prepared, NULL, &cursor, &mariadb_fixture->error), WEIR_OK);
    DRIVER->finish(link, &cursor);

    mariadb_fixture_exec(mariadb_fixture, link, "ALTER TABLE t ADD b BIGINT");

    check_mariadb_fixture(
        mariadb_fixture,
        DRIVER->run(link, prepared, NULL, &cursor, &mariadb_fixture->error), WEIR_SCHEMA);
    check(!link->lost);
    check_int(mariadb_fixture_ask(mariadb_fixture, link, "SELECT count(*) FROM t"), 2);
    DRIVER->unprepare(link, prepared);
}

/* The server announces the rows and then breaks off. */
WEIR_TEST(maria_statement, can_be_run_again_after_its_rows_ended_in_an_error)
{
    struct mariadb_fixture mariadb_fixture;
    struct weir_link *link;
    struct weir_cursor cursor;
    void *prepared;

    mariadb_fixture_open(&mariadb_fixture, server_shared(WEIR_MARIADB));
    mariadb_fixture.config.statement_timeout_ns = WEIR_MILLISECONDS(50);
    link = mariadb_fixture_link(&mariadb_fixture);
    prepared = mariadb_fixture_prepare(
        &mariadb_fixture, link, "SELECT seq FROM seq_1_to_100000000 WHERE seq % 7 = ?",
        "i");
    for (int i = 0; i < 3; i++) {
        const struct weir_value none = weir_integer(9);

        check_mariadb_fixture(
            &mariadb_fixture,
            DRIVER->run(link, prepared, &none, &cursor, &mariadb_fixture.error),
            WEIR_TIMEOUT);
        check(!link->lost);
    }
    DRIVER->unprepare(link, prepared);
    check_int(mariadb_fixture_ask(&mariadb_fixture, link, "SELECT 1"), 1);
    mariadb_fixture_unlink(link);
    mariadb_fixture_close(&mariadb_fixture);
}

/* ---- rows changed ------------------------------------------------------------------ */

/* As on the other engines: what an UPDATE found counts, also when it was so already. */
MARIADB_LINK_TEST(maria_statement, counts_rows_that_it_matched)
{
    int64_t changed = -1;

    mariadb_fixture_exec(mariadb_fixture, link,
                         "CREATE TABLE t (id BIGINT PRIMARY KEY, a BIGINT)");
    mariadb_fixture_exec(mariadb_fixture, link, "INSERT INTO t VALUES (1, 7), (2, 8)");

    check_mariadb_fixture(mariadb_fixture,
                          mariadb_fixture_run(mariadb_fixture, link, "UPDATE t SET a = 7",
                                              "", NULL, &changed),
                          WEIR_OK);
    check_int(changed, 2);
    check_mariadb_fixture(mariadb_fixture,
                          mariadb_fixture_run(mariadb_fixture, link,
                                              "UPDATE t SET a = 7 WHERE id = 9", "", NULL,
                                              &changed),
                          WEIR_OK);
    check_int(changed, 0);
    check_mariadb_fixture(
        mariadb_fixture,
        mariadb_fixture_run(mariadb_fixture, link,
                            "INSERT INTO t VALUES (3, 3), (4, 4) RETURNING id", "", NULL,
                            &changed),
        WEIR_OK);
    check_int(changed, 2);
    check_mariadb_fixture(
        mariadb_fixture,
        mariadb_fixture_run(mariadb_fixture, link, "SELECT * FROM t", "", NULL, &changed),
        WEIR_OK);
    check_int(changed, 0);
    check_mariadb_fixture(
        mariadb_fixture,
        mariadb_fixture_run(mariadb_fixture, link,
                            "\n  delete FROM t WHERE id > 1 RETURNING a", "", NULL,
                            &changed),
        WEIR_OK);
    check_int(changed, 3);
}

/* ---- parameters -------------------------------------------------------------------- */

MARIADB_LINK_TEST(maria_statement, refuses_values_that_no_column_holds_before_sending)
{
    static const struct {
        const char *letter;
        struct weir_value value;
    } BAD[] = {
        {"r", {.type = WEIR_TYPE_REAL, .as.real = NAN}},
        {"r", {.type = WEIR_TYPE_REAL, .as.real = INFINITY}},
        {"r", {.type = WEIR_TYPE_REAL, .as.real = -INFINITY}},
        {"m", {.type = WEIR_TYPE_TIME, .as.time_us = INT64_MAX}},
        {"m", {.type = WEIR_TYPE_TIME, .as.time_us = INT64_MIN}},
        {"I", {.type = WEIR_TYPE_ARRAY, .element_type = WEIR_TYPE_INTEGER}},
    };
    int64_t sent;

    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++) {
        sent =
            mariadb_fixture_ask(mariadb_fixture, link,
                                "SELECT CAST(VARIABLE_VALUE AS SIGNED) FROM "
                                "information_schema.SESSION_STATUS WHERE VARIABLE_NAME = "
                                "'COM_STMT_EXECUTE'");
        check_mariadb_fixture(mariadb_fixture,
                              mariadb_fixture_run(mariadb_fixture, link, "SELECT ?",
                                                  BAD[i].letter, &BAD[i].value, NULL),
                              WEIR_INVALID);
        check(strstr(mariadb_fixture->error.text, "parameter 1") != NULL);
        check_int(
            mariadb_fixture_ask(mariadb_fixture, link,
                                "SELECT CAST(VARIABLE_VALUE AS SIGNED) FROM "
                                "information_schema.SESSION_STATUS WHERE VARIABLE_NAME = "
                                "'COM_STMT_EXECUTE'"),
            sent + 1);
    }
}

MARIADB_LINK_TEST(maria_statement, refuses_a_wrong_number_of_letters)
{
    void *prepared;

    check_mariadb_fixture(
        mariadb_fixture,
        DRIVER->prepare(link, "SELECT ?, ?", "i", &prepared, &mariadb_fixture->error),
        WEIR_INVALID);
    check(prepared == NULL);
    check_int(mariadb_fixture_ask(mariadb_fixture, link, "SELECT 1"), 1);
}

/* ---- large values ------------------------------------------------------------------ */

/* The server's largest packet is 16 MiB by default, and these do not fit one together. */
WEIR_TEST(maria_statement, sends_values_of_16_mib_in_pieces)
{
    struct mariadb_fixture mariadb_fixture;
    struct weir_link *link;
    struct weir_cursor cursor;
    struct weir_value value;
    char *bytes = many_bytes(16 * MIB);
    struct weir_value values[] = {weir_bytes(bytes, 16 * MIB), weir_integer(7),
                                  weir_text((struct weir_str){bytes, 16 * MIB}),
                                  weir_null()};
    void *prepared;
    bool fits;

    mariadb_fixture_open(&mariadb_fixture, default_server());
    link = mariadb_fixture_link(&mariadb_fixture);
    mariadb_fixture_exec(
        &mariadb_fixture, link,
        "CREATE TABLE t (b LONGBLOB, i BIGINT, t LONGTEXT CHARACTER SET utf8mb4, "
        "n LONGBLOB)");
    prepared = mariadb_fixture_prepare(&mariadb_fixture, link,
                                       "INSERT INTO t VALUES (?, ?, ?, ?)", "bitb");
    check_mariadb_fixture(
        &mariadb_fixture,
        DRIVER->run(link, prepared, values, &cursor, &mariadb_fixture.error), WEIR_OK);
    DRIVER->finish(link, &cursor);
    /* The pieces are forgotten: the next run sends small ones as usual. */
    values[0] = weir_bytes("x", 1);
    values[2] = weir_text(weir_str("y"));
    check_mariadb_fixture(
        &mariadb_fixture,
        DRIVER->run(link, prepared, values, &cursor, &mariadb_fixture.error), WEIR_OK);
    DRIVER->finish(link, &cursor);
    DRIVER->unprepare(link, prepared);

    prepared = mariadb_fixture_prepare(&mariadb_fixture, link,
                                       "SELECT b, i, t, n FROM t ORDER BY length(b)", "");
    check_mariadb_fixture(
        &mariadb_fixture,
        DRIVER->run(link, prepared, NULL, &cursor, &mariadb_fixture.error), WEIR_OK);
    check_mariadb_fixture(&mariadb_fixture,
                          DRIVER->next(link, &cursor, &mariadb_fixture.error), WEIR_OK);
    DRIVER->read(&cursor, 0, WEIR_TYPE_BYTES, &value, &fits);
    check(fits && weir_str_equal(value.as.text, weir_str("x")));
    check_mariadb_fixture(&mariadb_fixture,
                          DRIVER->next(link, &cursor, &mariadb_fixture.error), WEIR_OK);
    DRIVER->read(&cursor, 0, WEIR_TYPE_BYTES, &value, &fits);
    check(fits && value.as.text.size == 16 * MIB &&
          memcmp(value.as.text.data, bytes, 16 * MIB) == 0);
    DRIVER->read(&cursor, 1, WEIR_TYPE_INTEGER, &value, &fits);
    check(fits && value.as.integer == 7);
    DRIVER->read(&cursor, 2, WEIR_TYPE_TEXT, &value, &fits);
    check(fits && value.as.text.size == 16 * MIB &&
          memcmp(value.as.text.data, bytes, 16 * MIB) == 0);
    DRIVER->read(&cursor, 3, WEIR_TYPE_BYTES, &value, &fits);
    check(fits && value.type == WEIR_TYPE_NULL);
    DRIVER->finish(link, &cursor);
    DRIVER->unprepare(link, prepared);
    mariadb_fixture_unlink(link);
    mariadb_fixture_close(&mariadb_fixture);
    free(bytes);
}

/* Pieces of a run that never came would be taken for the next one's. */
WEIR_TEST(maria_statement, forgets_the_pieces_of_a_run_that_failed)
{
    struct mariadb_fixture mariadb_fixture;
    struct weir_link *link;
    struct weir_cursor cursor;
    char *bytes = many_bytes(16 * MIB);
    struct weir_value value = weir_bytes(bytes, 16 * MIB);
    void *prepared;

    mariadb_fixture_open(&mariadb_fixture, default_server());
    link = mariadb_fixture_link(&mariadb_fixture);
    mariadb_fixture_exec(&mariadb_fixture, link, "CREATE TABLE t (b LONGBLOB)");
    prepared =
        mariadb_fixture_prepare(&mariadb_fixture, link, "INSERT INTO t VALUES (?)", "b");
    for (uint64_t n = 2; n <= 17; n += 5) {
        value = weir_bytes(bytes, 16 * MIB);
        weir_fault_points_init(&mariadb_fixture.points);
        weir_fault_points_arm(&mariadb_fixture.points, "db.fail", n);
        check_mariadb_fixture(
            &mariadb_fixture,
            DRIVER->run(link, prepared, &value, &cursor, &mariadb_fixture.error),
            WEIR_FAILED);
        weir_fault_points_init(&mariadb_fixture.points);
        value = weir_bytes("short", 5);
        check_mariadb_fixture(
            &mariadb_fixture,
            DRIVER->run(link, prepared, &value, &cursor, &mariadb_fixture.error),
            WEIR_OK);
        DRIVER->finish(link, &cursor);
    }
    DRIVER->unprepare(link, prepared);

    check_int(mariadb_fixture_ask(&mariadb_fixture, link,
                                  "SELECT count(*) FROM t WHERE b = 'short'"),
              4);
    mariadb_fixture_unlink(link);
    mariadb_fixture_close(&mariadb_fixture);
    free(bytes);
}

/* The server would hang up; so nothing is sent and the connection stays. */
WEIR_TEST(maria_statement, refuses_a_value_that_the_server_does_not_take)
{
    struct mariadb_fixture mariadb_fixture;
    struct weir_link *link;
    char *bytes = many_bytes(MIB + 1);
    struct weir_value value = weir_bytes(bytes, MIB + 1);

    mariadb_fixture_open(&mariadb_fixture, small_server());
    link = mariadb_fixture_link(&mariadb_fixture);
    mariadb_fixture_exec(&mariadb_fixture, link, "CREATE TABLE t (b LONGBLOB)");

    check_mariadb_fixture(&mariadb_fixture,
                          mariadb_fixture_run(&mariadb_fixture, link,
                                              "INSERT INTO t VALUES (?)", "b", &value,
                                              NULL),
                          WEIR_INVALID);
    check(strstr(mariadb_fixture.error.text, "max_allowed_packet") != NULL);
    check(!link->lost);
    value.as.text.size = MIB;
    check_mariadb_fixture(&mariadb_fixture,
                          mariadb_fixture_run(&mariadb_fixture, link,
                                              "INSERT INTO t VALUES (?)", "b", &value,
                                              NULL),
                          WEIR_OK);

    check_int(mariadb_fixture_ask(&mariadb_fixture, link, "SELECT length(b) FROM t"),
              MIB);
    mariadb_fixture_unlink(link);
    mariadb_fixture_close(&mariadb_fixture);
    free(bytes);
}

/* What cannot be seen beforehand: a text without parameters. */
WEIR_TEST(maria_statement, that_is_too_long_itself_costs_the_connection)
{
    struct mariadb_fixture mariadb_fixture;
    struct weir_link *link;
    char *text = many_bytes(2 * MIB);

    text[2 * MIB - 1] = '\0';
    mariadb_fixture_open(&mariadb_fixture, small_server());
    link = mariadb_fixture_link(&mariadb_fixture);

    check(mariadb_fixture_try(&mariadb_fixture, link, text) != WEIR_OK);

    check(link->lost);
    mariadb_fixture_unlink(link);
    mariadb_fixture_close(&mariadb_fixture);
    free(text);
}
