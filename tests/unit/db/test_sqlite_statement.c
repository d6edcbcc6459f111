/* Tests of db/sqlite/statement.c: what the contract suite does not see. */
#include "db/sqlite/statement.h"

#include <math.h>

#include "kit/test.h"
#include "unit/db/sqlite_fixture.h"

static const struct weir_driver *const driver = &weir_driver_sqlite;

static void *prepare(struct sqlite_fixture *sqlite_fixture, struct weir_link *link,
                     const char *text, const char *parameters)
{
    void *prepared = NULL;

    check_status(
        driver->prepare(link, text, parameters, &prepared, &sqlite_fixture->error),
        WEIR_OK);
    return prepared;
}

/* Run to the end; returns the changed rows. */
static int64_t run(struct sqlite_fixture *sqlite_fixture, struct weir_link *link,
                   const char *text)
{
    void *prepared = prepare(sqlite_fixture, link, text, "");
    struct weir_cursor cursor;
    enum weir_status status;

    check_status(driver->run(link, prepared, NULL, &cursor, &sqlite_fixture->error),
                 WEIR_OK);
    do {
        status = driver->next(link, &cursor, &sqlite_fixture->error);
    } while (status == WEIR_OK);
    check_status(status, WEIR_NO_ROW);
    driver->finish(link, &cursor);
    driver->unprepare(link, prepared);
    return cursor.changed;
}

WEIR_TEST(sqlite_statement, refuses_what_is_not_one_statement)
{
    static const struct {
        const char *text;
        const char *parameters;
    } cases[] = {
        {"", ""},          {"  -- nothing", ""}, {"SELECT 1; SELECT 2", ""},
        {"SELECT ?1", ""}, {"SELECT ?1", "ii"},  {"SELECT 1", "i"},
    };
    struct sqlite_fixture sqlite_fixture;
    struct weir_link *link;

    sqlite_fixture_open(&sqlite_fixture, IN_MEMORY);
    link = sqlite_fixture_link(&sqlite_fixture);

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        void *prepared = &sqlite_fixture;

        check_status(driver->prepare(link, cases[i].text, cases[i].parameters, &prepared,
                                     &sqlite_fixture.error),
                     WEIR_INVALID);
        check(prepared == NULL);
    }
    driver->unprepare(link, prepare(&sqlite_fixture, link, "SELECT 1 ; \n", ""));

    sqlite_fixture_unlink(link);
    sqlite_fixture_close(&sqlite_fixture);
}

/* SQLite's own count speaks of the last change, whoever made it. */
WEIR_TEST(sqlite_statement, counts_only_its_own_changes)
{
    struct sqlite_fixture sqlite_fixture;
    struct weir_link *link;

    sqlite_fixture_open(&sqlite_fixture, IN_MEMORY);
    link = sqlite_fixture_link(&sqlite_fixture);

    check_int(run(&sqlite_fixture, link, "CREATE TABLE t (a)"), 0);
    check_int(run(&sqlite_fixture, link, "INSERT INTO t VALUES (1), (2), (3)"), 3);
    check_int(run(&sqlite_fixture, link, "CREATE TABLE u (a)"), 0);
    check_int(run(&sqlite_fixture, link, "SELECT a FROM t"), 0);
    check_int(run(&sqlite_fixture, link, "UPDATE t SET a = 4 WHERE a > 1"), 2);
    check_int(run(&sqlite_fixture, link, "UPDATE t SET a = 4 WHERE a > 100"), 0);
    check_int(run(&sqlite_fixture, link, "DELETE FROM t RETURNING a"), 3);
    check_int(run(&sqlite_fixture, link, "DROP TABLE t"), 0);

    sqlite_fixture_unlink(link);
    sqlite_fixture_close(&sqlite_fixture);
}

SQLITE_LINK_TEST(sqlite_statement, writes_all_also_when_its_rows_are_not_read)
{
    struct weir_cursor cursor;
    void *prepared;

    sqlite_fixture_exec(sqlite_fixture, link, "CREATE TABLE t (a)");
    prepared =
        prepare(sqlite_fixture, link, "INSERT INTO t VALUES (1), (2) RETURNING a", "");

    check_status(driver->run(link, prepared, NULL, &cursor, &sqlite_fixture->error),
                 WEIR_OK);
    driver->finish(link, &cursor);

    check_int(driver->transaction(link), WEIR_TRANSACTION_NONE);
    check_int(sqlite_fixture_ask(sqlite_fixture, link, "SELECT count(*) FROM t"), 2);
    check(!link->lost);
    driver->unprepare(link, prepared);
}

/* Rows are stepped to when they are asked for; the parameter may be gone by then. */
WEIR_TEST(sqlite_statement, keeps_its_parameters_until_the_last_row)
{
    struct sqlite_fixture sqlite_fixture;
    struct weir_link *link;
    struct weir_cursor cursor;
    struct weir_value value;
    char text[] = "mine";
    void *prepared;
    bool fits;

    sqlite_fixture_open(&sqlite_fixture, IN_MEMORY);
    link = sqlite_fixture_link(&sqlite_fixture);
    sqlite_fixture_exec(&sqlite_fixture, link,
                        "CREATE TABLE t (a); INSERT INTO t VALUES (1), (2)");
    prepared =
        prepare(&sqlite_fixture, link, "SELECT a || ?1 FROM t ORDER BY rowid", "t");
    value = weir_text(weir_str(text));

    check_status(driver->run(link, prepared, &value, &cursor, &sqlite_fixture.error),
                 WEIR_OK);
    memcpy(text, "gone", 4);

    check_status(driver->next(link, &cursor, &sqlite_fixture.error), WEIR_OK);
    check_status(driver->next(link, &cursor, &sqlite_fixture.error), WEIR_OK);
    driver->read(&cursor, 0, WEIR_TYPE_TEXT, &value, &fits);
    check(fits && weir_str_equal(value.as.text, weir_str("2mine")));
    driver->finish(link, &cursor);
    driver->unprepare(link, prepared);
    sqlite_fixture_unlink(link);
    sqlite_fixture_close(&sqlite_fixture);
}

WEIR_TEST(sqlite_statement, refuses_what_not_every_engine_can_store)
{
    struct sqlite_fixture sqlite_fixture;
    struct weir_link *link;
    struct weir_cursor cursor;
    struct weir_value nan = weir_real(NAN), infinity = weir_real(INFINITY);
    struct weir_value array = weir_array(WEIR_TYPE_INTEGER, NULL, 0);
    void *prepared;

    sqlite_fixture_open(&sqlite_fixture, IN_MEMORY);
    link = sqlite_fixture_link(&sqlite_fixture);
    prepared = prepare(&sqlite_fixture, link, "SELECT ?1", "r");

    check_status(driver->run(link, prepared, &nan, &cursor, &sqlite_fixture.error),
                 WEIR_INVALID);
    check_status(driver->run(link, prepared, &array, &cursor, &sqlite_fixture.error),
                 WEIR_INVALID);
    check_status(driver->run(link, prepared, &infinity, &cursor, &sqlite_fixture.error),
                 WEIR_INVALID);

    driver->unprepare(link, prepared);
    sqlite_fixture_unlink(link);
    sqlite_fixture_close(&sqlite_fixture);
}

/* Which columns can be had as what: rows of the table, columns of the letters n i r t b
 * f m. */
WEIR_TEST(sqlite_statement, reads_a_column_only_as_what_it_is)
{
    static const enum weir_type wanted[] = {
        WEIR_TYPE_NULL,  WEIR_TYPE_INTEGER, WEIR_TYPE_REAL, WEIR_TYPE_TEXT,
        WEIR_TYPE_BYTES, WEIR_TYPE_BOOLEAN, WEIR_TYPE_TIME,
    };
    static const struct {
        const char *text;
        const char *fits; /* one mark per type above */
    } cases[] = {
        {"SELECT NULL", "yyyyyyy"}, {"SELECT 1", "-yy--yy"},
        {"SELECT 2", "-yy---y"},    {"SELECT 9223372036854775807", "-y----y"},
        {"SELECT 1.0", "--y----"},  {"SELECT '1'", "---yy--"},
        {"SELECT ''", "---yy--"},   {"SELECT x'31'", "----y--"},
        {"SELECT x''", "----y--"},
    };
    struct sqlite_fixture sqlite_fixture;
    struct weir_link *link;

    sqlite_fixture_open(&sqlite_fixture, IN_MEMORY);
    link = sqlite_fixture_link(&sqlite_fixture);

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        void *prepared = prepare(&sqlite_fixture, link, cases[i].text, "");
        struct weir_cursor cursor;
        char fits[sizeof wanted / sizeof wanted[0] + 1] = {0};

        check_status(driver->run(link, prepared, NULL, &cursor, &sqlite_fixture.error),
                     WEIR_OK);
        check_status(driver->next(link, &cursor, &sqlite_fixture.error), WEIR_OK);
        for (size_t j = 0; j < sizeof wanted / sizeof wanted[0]; j++) {
            struct weir_value value;
            bool fit = false;

            driver->read(&cursor, 0, wanted[j], &value, &fit);
            fits[j] = fit ? 'y' : '-';
            check_int(value.type, fit && i > 0 ? wanted[j] : WEIR_TYPE_NULL);
        }
        check_str(fits, cases[i].fits);
        driver->finish(link, &cursor);
        driver->unprepare(link, prepared);
    }

    sqlite_fixture_unlink(link);
    sqlite_fixture_close(&sqlite_fixture);
}

/* The schema changes under a statement that is prepared: it is prepared anew, unseen. */
WEIR_TEST(sqlite_statement, follows_a_changed_schema)
{
    struct sqlite_fixture sqlite_fixture;
    struct weir_link *link, *other;
    struct weir_cursor cursor;
    void *prepared;

    sqlite_fixture_open(&sqlite_fixture, A_FILE);
    link = sqlite_fixture_link(&sqlite_fixture);
    other = sqlite_fixture_link(&sqlite_fixture);
    sqlite_fixture_exec(&sqlite_fixture, link,
                        "CREATE TABLE t (a); INSERT INTO t VALUES (1)");
    prepared = prepare(&sqlite_fixture, link, "SELECT * FROM t", "");
    sqlite_fixture_exec(&sqlite_fixture, other, "ALTER TABLE t ADD COLUMN b");

    check_status(driver->run(link, prepared, NULL, &cursor, &sqlite_fixture.error),
                 WEIR_OK);
    check_int(cursor.column_count, 2);

    driver->finish(link, &cursor);
    driver->unprepare(link, prepared);
    sqlite_fixture_unlink(link);
    sqlite_fixture_unlink(other);
    sqlite_fixture_close(&sqlite_fixture);
}
