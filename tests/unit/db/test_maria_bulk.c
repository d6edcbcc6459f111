/* Tests of db/mariadb/bulk.c, against a real server. */
#include "db/mariadb/bulk.h"

#include <stdlib.h>

#include "unit/db/mariadb_fixture.h"

static const struct weir_driver *const DRIVER = &weir_driver_mariadb;

enum { WIDTH = 4 };

static const char SQL_CREATE[] =
    "CREATE TABLE t (id BIGINT PRIMARY KEY, name VARCHAR(200) CHARACTER SET utf8mb4, "
    "payload LONGBLOB, at DATETIME(6))";
static const char SQL_INSERT[] = "INSERT INTO t VALUES (?, ?, ?, ?)";
static const char LETTERS[] = "itbm";

/* Rows 1, 2, 3, ... with a null in every column but the first now and then. */
static struct weir_value *make_rows(size_t count, const char *payload,
                                    size_t payload_size)
{
    struct weir_value *rows = calloc(count * WIDTH, sizeof *rows);

    check(rows != NULL);
    for (size_t i = 0; i < count; i++) {
        struct weir_value *row = rows + i * WIDTH;

        row[0] = weir_integer((int64_t)i + 1);
        row[1] = i % 3 == 0 ? weir_null() : weir_text(weir_str(i % 2 == 0 ? "" : "name"));
        row[2] = i % 5 == 0 ? weir_null() : weir_bytes(payload, payload_size);
        row[3] = i % 7 == 0 ? weir_null() : weir_time((int64_t)i * 1000001);
    }
    return rows;
}

static enum weir_status run_many(struct mariadb_fixture *mariadb_fixture,
                                 struct weir_link *link, const char *sql,
                                 const char *letters, const struct weir_value *rows,
                                 size_t count, int64_t *changed)
{
    void *prepared = mariadb_fixture_prepare(mariadb_fixture, link, sql, letters);
    enum weir_status status = DRIVER->run_many(
        link, prepared, rows, count, strlen(letters), changed, &mariadb_fixture->error);

    DRIVER->unprepare(link, prepared);
    return status;
}

static int64_t count_rows(struct mariadb_fixture *mariadb_fixture, struct weir_link *link)
{
    return mariadb_fixture_ask(mariadb_fixture, link, "SELECT count(*) FROM t");
}

/* A server's own count of something, for this session. */
static int64_t statements_sent(struct mariadb_fixture *mariadb_fixture,
                               struct weir_link *link)
{
    return mariadb_fixture_ask(mariadb_fixture, link,
                               "SELECT CAST(SUM(VARIABLE_VALUE) AS SIGNED) FROM "
                               "information_schema.SESSION_STATUS WHERE VARIABLE_NAME IN "
                               "('COM_SAVEPOINT', 'COM_BEGIN', 'COM_COMMIT', "
                               "'COM_RELEASE_SAVEPOINT')");
}

WEIR_TEST(maria_bulk, writes_ten_thousand_rows_with_nulls)
{
    enum { COUNT = 10000 };
    struct mariadb_fixture mariadb_fixture;
    struct weir_link *link;
    struct weir_value *rows = make_rows(COUNT, "\0\1\2", 3);
    int64_t changed = -1;

    mariadb_fixture_open(&mariadb_fixture, server_shared(WEIR_MARIADB));
    link = mariadb_fixture_link(&mariadb_fixture);
    mariadb_fixture_exec(&mariadb_fixture, link, SQL_CREATE);
    check_mariadb_fixture(
        &mariadb_fixture,
        run_many(&mariadb_fixture, link, SQL_INSERT, LETTERS, rows, COUNT, &changed),
        WEIR_OK);

    check_int(changed, COUNT);
    check_int(count_rows(&mariadb_fixture, link), COUNT);
    check_int(mariadb_fixture_ask(
                  &mariadb_fixture, link,
                  "SELECT count(*) FROM t WHERE (name IS NULL) = ((id - 1) % 3 = 0) "
                  "AND (payload IS NULL) = ((id - 1) % 5 = 0) "
                  "AND (at IS NULL) = ((id - 1) % 7 = 0)"),
              COUNT);
    check_int(mariadb_fixture_ask(
                  &mariadb_fixture, link,
                  "SELECT count(*) FROM t WHERE (payload IS NULL OR payload = "
                  "x'000102') AND (name IS NULL OR name = IF(id % 2 = 1, '', 'name')) "
                  "AND (at IS NULL OR at = '1970-01-01' + INTERVAL (id - 1) * 1000001 "
                  "MICROSECOND)"),
              COUNT);
    check_int(DRIVER->transaction(link), WEIR_TRANSACTION_NONE);
    mariadb_fixture_unlink(link);
    mariadb_fixture_close(&mariadb_fixture);
    free(rows);
}

/* 30 rows of 300 KB are about nine packets; the row of 5 MB is alone. */
WEIR_TEST(maria_bulk, cuts_large_batches_into_packets)
{
    enum { COUNT = 30, SMALL = 300000, LARGE = 5000000 };
    struct mariadb_fixture mariadb_fixture;
    struct weir_link *link;
    char *payload = calloc(1, LARGE);
    struct weir_value *rows = make_rows(COUNT, payload, SMALL);
    int64_t changed = -1;

    rows[12 * WIDTH + 2] = weir_bytes(payload, LARGE);
    mariadb_fixture_open(&mariadb_fixture, server_shared(WEIR_MARIADB));
    link = mariadb_fixture_link(&mariadb_fixture);
    mariadb_fixture_exec(&mariadb_fixture, link, SQL_CREATE);
    check_mariadb_fixture(
        &mariadb_fixture,
        run_many(&mariadb_fixture, link, SQL_INSERT, LETTERS, rows, COUNT, &changed),
        WEIR_OK);

    check_int(changed, COUNT);
    check_int(
        mariadb_fixture_ask(&mariadb_fixture, link,
                            "SELECT count(*) FROM t WHERE length(payload) = 300000"),
        COUNT - 6 - 1);
    check_int(mariadb_fixture_ask(&mariadb_fixture, link,
                                  "SELECT length(payload) FROM t WHERE id = 13"),
              LARGE);
    mariadb_fixture_unlink(link);
    mariadb_fixture_close(&mariadb_fixture);
    free(rows);
    free(payload);
}

/* Nothing is wrong before the last row, which is in another packet. */
WEIR_TEST(maria_bulk, writes_all_rows_or_none)
{
    enum { COUNT = 20, SIZE = 200000 };
    struct mariadb_fixture mariadb_fixture;
    struct weir_link *link;
    char *payload = calloc(1, SIZE);
    struct weir_value *rows = make_rows(COUNT, payload, SIZE);
    int64_t changed = -1;

    rows[(COUNT - 1) * WIDTH] = weir_integer(1); /* a second time */
    mariadb_fixture_open(&mariadb_fixture, server_shared(WEIR_MARIADB));
    link = mariadb_fixture_link(&mariadb_fixture);
    mariadb_fixture_exec(&mariadb_fixture, link, SQL_CREATE);

    check_mariadb_fixture(
        &mariadb_fixture,
        run_many(&mariadb_fixture, link, SQL_INSERT, LETTERS, rows, COUNT, &changed),
        WEIR_CONSTRAINT);
    check_int(changed, 0);
    check_int(mariadb_fixture.error.native_code, 1062);
    check_int(count_rows(&mariadb_fixture, link), 0);
    check_int(DRIVER->transaction(link), WEIR_TRANSACTION_NONE);

    /* Inside a transaction what was there before stays. */
    check_mariadb_fixture(&mariadb_fixture,
                          DRIVER->begin(link, WEIR_READ_WRITE, &mariadb_fixture.error),
                          WEIR_OK);
    mariadb_fixture_exec(&mariadb_fixture, link,
                         "INSERT INTO t VALUES (1000, NULL, NULL, NULL)");
    check_mariadb_fixture(
        &mariadb_fixture,
        run_many(&mariadb_fixture, link, SQL_INSERT, LETTERS, rows, COUNT, &changed),
        WEIR_CONSTRAINT);
    check_int(DRIVER->transaction(link), WEIR_TRANSACTION_OPEN);
    check_int(count_rows(&mariadb_fixture, link), 1);
    check_mariadb_fixture(&mariadb_fixture, DRIVER->commit(link, &mariadb_fixture.error),
                          WEIR_OK);

    check_int(count_rows(&mariadb_fixture, link), 1);
    mariadb_fixture_unlink(link);
    mariadb_fixture_close(&mariadb_fixture);
    free(rows);
    free(payload);
}

/* What fits one packet is one statement to the server: undone as one, without a
 * savepoint. */
WEIR_TEST(maria_bulk, needs_no_savepoint_for_one_packet_of_inserts)
{
    enum { COUNT = 1000 };
    struct mariadb_fixture mariadb_fixture;
    struct weir_link *link;
    struct weir_value *rows = make_rows(COUNT, "x", 1);
    int64_t changed = -1;
    int64_t sent;

    rows[500 * WIDTH] = weir_integer(1);
    mariadb_fixture_open(&mariadb_fixture, server_shared(WEIR_MARIADB));
    link = mariadb_fixture_link(&mariadb_fixture);
    mariadb_fixture_exec(&mariadb_fixture, link, SQL_CREATE);
    sent = statements_sent(&mariadb_fixture, link);
    check_mariadb_fixture(
        &mariadb_fixture,
        run_many(&mariadb_fixture, link, SQL_INSERT, LETTERS, rows, COUNT, &changed),
        WEIR_CONSTRAINT);
    check_int(count_rows(&mariadb_fixture, link), 0);
    check_int(statements_sent(&mariadb_fixture, link), sent);

    check_mariadb_fixture(&mariadb_fixture,
                          DRIVER->begin(link, WEIR_READ_WRITE, &mariadb_fixture.error),
                          WEIR_OK);
    mariadb_fixture_exec(&mariadb_fixture, link,
                         "INSERT INTO t VALUES (2000, NULL, NULL, NULL)");
    check_mariadb_fixture(
        &mariadb_fixture,
        run_many(&mariadb_fixture, link, SQL_INSERT, LETTERS, rows, COUNT, &changed),
        WEIR_CONSTRAINT);
    check_int(count_rows(&mariadb_fixture, link), 1);
    check_int(statements_sent(&mariadb_fixture, link), sent + 1); /* our own begin */
    DRIVER->rollback(link);
    mariadb_fixture_unlink(link);
    mariadb_fixture_close(&mariadb_fixture);
    free(rows);
}

/* The server runs these one after the other, each for itself. */
MARIADB_LINK_TEST(maria_bulk, updates_all_rows_or_none)
{
    const struct weir_value good[] = {weir_integer(10), weir_integer(1),
                                      weir_integer(20), weir_integer(2),
                                      weir_integer(30), weir_integer(9)};
    const struct weir_value bad[] = {weir_integer(11), weir_integer(1), weir_null(),
                                     weir_integer(2)};
    int64_t changed = -1;

    mariadb_fixture_exec(mariadb_fixture, link,
                         "CREATE TABLE t (id BIGINT PRIMARY KEY, a BIGINT NOT NULL)");
    mariadb_fixture_exec(mariadb_fixture, link,
                         "INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)");

    check_mariadb_fixture(mariadb_fixture,
                          run_many(mariadb_fixture, link,
                                   "UPDATE t SET a = ? WHERE id = ?", "ii", good, 3,
                                   &changed),
                          WEIR_OK);
    check_int(changed, 2);
    check_int(mariadb_fixture_ask(mariadb_fixture, link, "SELECT a FROM t WHERE id = 2"),
              20);

    check_mariadb_fixture(mariadb_fixture,
                          run_many(mariadb_fixture, link,
                                   "UPDATE t SET a = ? WHERE id = ?", "ii", bad, 2,
                                   &changed),
                          WEIR_CONSTRAINT);
    check_int(mariadb_fixture_ask(mariadb_fixture, link, "SELECT a FROM t WHERE id = 1"),
              10);

    check_mariadb_fixture(
        mariadb_fixture,
        run_many(mariadb_fixture, link, "DELETE FROM t WHERE id <= ?", "i",
                 (const struct weir_value[]){weir_integer(1), weir_integer(3)}, 2,
                 &changed),
        WEIR_OK);
    check_int(changed, 3);
}

MARIADB_LINK_TEST(maria_bulk, takes_values_by_number)
{
    const struct weir_value rows[] = {weir_integer(1), weir_integer(10), weir_integer(2),
                                      weir_integer(20)};
    int64_t changed = -1;

    mariadb_fixture_exec(mariadb_fixture, link,
                         "CREATE TABLE t (id BIGINT PRIMARY KEY, a BIGINT, b BIGINT)");
    check_mariadb_fixture(mariadb_fixture,
                          run_many(mariadb_fixture, link,
                                   "INSERT INTO t (a, id, b) VALUES (?2, ?1, ?2)", "ii",
                                   rows, 2, &changed),
                          WEIR_OK);
    check_int(changed, 2);
    check_int(mariadb_fixture_ask(mariadb_fixture, link,
                                  "SELECT CAST(sum(id * 100 + a + b) AS SIGNED) FROM t"),
              360);
}

/* INSERT ... SELECT is not taken in bulk; the caller does not notice. */
MARIADB_LINK_TEST(maria_bulk, runs_row_by_row_what_the_server_does_not_take)
{
    static const char SQL[] = "INSERT INTO t SELECT ?, 'x', NULL, NULL FROM DUAL";
    const struct weir_value good[] = {weir_integer(1), weir_integer(2), weir_integer(3)};
    const struct weir_value bad[] = {weir_integer(4), weir_integer(5), weir_integer(1)};
    int64_t changed = -1;

    mariadb_fixture_exec(mariadb_fixture, link, SQL_CREATE);

    check_mariadb_fixture(mariadb_fixture,
                          run_many(mariadb_fixture, link, SQL, "i", good, 3, &changed),
                          WEIR_OK);
    check_int(changed, 3);
    check_mariadb_fixture(mariadb_fixture,
                          run_many(mariadb_fixture, link, SQL, "i", bad, 3, &changed),
                          WEIR_CONSTRAINT);
    check_int(count_rows(mariadb_fixture, link), 3);

    check_mariadb_fixture(mariadb_fixture,
                          DRIVER->begin(link, WEIR_READ_WRITE, &mariadb_fixture->error),
                          WEIR_OK);
    check_mariadb_fixture(mariadb_fixture,
                          run_many(mariadb_fixture, link, SQL, "i", bad, 3, &changed),
                          WEIR_CONSTRAINT);
    check_int(DRIVER->transaction(link), WEIR_TRANSACTION_OPEN);
    check_mariadb_fixture(mariadb_fixture,
                          run_many(mariadb_fixture, link, SQL, "i", bad, 2, &changed),
                          WEIR_OK);
    check_mariadb_fixture(mariadb_fixture, DRIVER->commit(link, &mariadb_fixture->error),
                          WEIR_OK);
    check_int(count_rows(mariadb_fixture, link), 5);
}

WEIR_TEST(maria_bulk, counts_what_a_returning_gives)
{
    struct mariadb_fixture mariadb_fixture;
    struct weir_link *link;
    struct weir_value *rows = make_rows(10, "x", 1);
    int64_t changed = -1;

    mariadb_fixture_open(&mariadb_fixture, server_shared(WEIR_MARIADB));
    link = mariadb_fixture_link(&mariadb_fixture);
    mariadb_fixture_exec(&mariadb_fixture, link, SQL_CREATE);
    check_mariadb_fixture(&mariadb_fixture,
                          run_many(&mariadb_fixture, link,
                                   "INSERT INTO t VALUES (?, ?, ?, ?) RETURNING id",
                                   LETTERS, rows, 10, &changed),
                          WEIR_OK);

    check_int(changed, 10);
    check_int(count_rows(&mariadb_fixture, link), 10);
    mariadb_fixture_unlink(link);
    mariadb_fixture_close(&mariadb_fixture);
    free(rows);
}

/* Bulk and single runs of one statement, in turn. */
WEIR_TEST(maria_bulk, leaves_the_statement_as_it_was)
{
    struct mariadb_fixture mariadb_fixture;
    struct weir_link *link;
    struct weir_value *rows = make_rows(40, "payload", 7);
    struct weir_cursor cursor;
    int64_t changed = -1;
    void *prepared;

    mariadb_fixture_open(&mariadb_fixture, server_shared(WEIR_MARIADB));
    link = mariadb_fixture_link(&mariadb_fixture);
    mariadb_fixture_exec(&mariadb_fixture, link, SQL_CREATE);
    prepared = mariadb_fixture_prepare(&mariadb_fixture, link, SQL_INSERT, LETTERS);
    for (size_t i = 0; i < 40; i += 10) {
        const struct weir_value *first = rows + i * WIDTH;

        check_mariadb_fixture(
            &mariadb_fixture,
            DRIVER->run(link, prepared, first, &cursor, &mariadb_fixture.error), WEIR_OK);
        check_int(cursor.changed, 1);
        DRIVER->finish(link, &cursor);
        check_mariadb_fixture(&mariadb_fixture,
                              DRIVER->run_many(link, prepared, first + WIDTH, 9, WIDTH,
                                               &changed, &mariadb_fixture.error),
                              WEIR_OK);
        check_int(changed, 9);
    }

    check_int(count_rows(&mariadb_fixture, link), 40);
    DRIVER->unprepare(link, prepared);
    mariadb_fixture_unlink(link);
    mariadb_fixture_close(&mariadb_fixture);
    free(rows);
}

WEIR_TEST(maria_bulk, refuses_a_bad_value_in_any_row_before_sending)
{
    struct mariadb_fixture mariadb_fixture;
    struct weir_link *link;
    struct weir_value *rows = make_rows(100, "x", 1);
    int64_t changed = -1;

    rows[99 * WIDTH + 3] = weir_time(INT64_MAX);
    mariadb_fixture_open(&mariadb_fixture, server_shared(WEIR_MARIADB));
    link = mariadb_fixture_link(&mariadb_fixture);
    mariadb_fixture_exec(&mariadb_fixture, link, SQL_CREATE);
    check_mariadb_fixture(
        &mariadb_fixture,
        run_many(&mariadb_fixture, link, SQL_INSERT, LETTERS, rows, 100, &changed),
        WEIR_INVALID);

    check_int(count_rows(&mariadb_fixture, link), 0);
    mariadb_fixture_unlink(link);
    mariadb_fixture_close(&mariadb_fixture);
    free(rows);
}
