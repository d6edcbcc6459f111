/* Tests of db/sqlite/error.c: the table, and each class produced for real. */
#include "db/sqlite/error.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "kit/test.h"
#include "unit/db/sqlite_fixture.h"

static const struct weir_driver *const driver = &weir_driver_sqlite;

WEIR_TEST(sqlite_error, maps_every_family)
{
    static const struct {
        int code;
        enum weir_status status;
    } cases[] = {
        {SQLITE_ERROR, WEIR_SCHEMA},
        {SQLITE_PERM, WEIR_DENIED},
        {SQLITE_BUSY, WEIR_LOCKED},
        {SQLITE_BUSY_RECOVERY, WEIR_LOCKED},
        {SQLITE_BUSY_SNAPSHOT, WEIR_CONFLICT},
        {SQLITE_LOCKED, WEIR_LOCKED},
        {SQLITE_LOCKED_SHAREDCACHE, WEIR_LOCKED},
        {SQLITE_NOMEM, WEIR_NO_MEMORY},
        {SQLITE_READONLY, WEIR_DENIED},
        {SQLITE_READONLY_DIRECTORY, WEIR_DENIED},
        {SQLITE_READONLY_DBMOVED, WEIR_LOST},
        {SQLITE_INTERRUPT, WEIR_CANCELLED},
        {SQLITE_IOERR, WEIR_LOST},
        {SQLITE_IOERR_READ, WEIR_LOST},
        {SQLITE_IOERR_NOMEM, WEIR_NO_MEMORY},
        {SQLITE_CORRUPT, WEIR_SCHEMA},
        {SQLITE_FULL, WEIR_DISK_FULL},
        {SQLITE_CANTOPEN, WEIR_SYSTEM},
        {SQLITE_PROTOCOL, WEIR_LOCKED},
        {SQLITE_SCHEMA, WEIR_CONFLICT},
        {SQLITE_TOOBIG, WEIR_INVALID},
        {SQLITE_CONSTRAINT, WEIR_CONSTRAINT},
        {SQLITE_CONSTRAINT_UNIQUE, WEIR_CONSTRAINT},
        {SQLITE_MISMATCH, WEIR_INVALID},
        {SQLITE_MISUSE, WEIR_INVALID},
        {SQLITE_AUTH, WEIR_DENIED},
        {SQLITE_RANGE, WEIR_INVALID},
        {SQLITE_NOTADB, WEIR_SCHEMA},
        {SQLITE_CONSTRAINT | (99 << 8), WEIR_CONSTRAINT}, /* of a newer SQLite */
        {255, WEIR_FAILED},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        check_status(weir_sqlite_status(cases[i].code, 0), cases[i].status);
}

WEIR_TEST(sqlite_error, lets_the_operating_system_say_why)
{
    check_status(weir_sqlite_status(SQLITE_CANTOPEN, ENOENT), WEIR_SCHEMA);
    check_status(weir_sqlite_status(SQLITE_CANTOPEN, EACCES), WEIR_DENIED);
    check_status(weir_sqlite_status(SQLITE_CANTOPEN, EMFILE), WEIR_SYSTEM);
    check_status(weir_sqlite_status(SQLITE_IOERR_SHMSIZE, ENOSPC), WEIR_DISK_FULL);
    check_status(weir_sqlite_status(SQLITE_IOERR_WRITE, EIO), WEIR_LOST);
    check_status(weir_sqlite_status(SQLITE_IOERR_READ, ENOENT), WEIR_LOST);
    check_status(weir_sqlite_status(SQLITE_CONSTRAINT, ENOSPC), WEIR_CONSTRAINT);
}

/* ---- for real ---- */

static int deny(void *state, int action, const char *a, const char *b, const char *c,
                const char *d)
{
    (void)state, (void)a, (void)b, (void)c, (void)d;
    return action == SQLITE_DELETE ? SQLITE_DENY : SQLITE_OK;
}

SQLITE_LINK_TEST(sqlite_error, is_the_status_of_each_failure)
{
    static const struct {
        const char *text;
        enum weir_status status;
        int code;
    } cases[] = {
        {"INSERT INTO t VALUES (1, 'x')", WEIR_CONSTRAINT, SQLITE_CONSTRAINT_PRIMARYKEY},
        {"INSERT INTO t VALUES (2, NULL)", WEIR_CONSTRAINT, SQLITE_CONSTRAINT_NOTNULL},
        {"INSERT INTO u VALUES (9)", WEIR_CONSTRAINT, SQLITE_CONSTRAINT_FOREIGNKEY},
        {"INSERT INTO t VALUES (2, '')", WEIR_CONSTRAINT, SQLITE_CONSTRAINT_CHECK},
        {"INSERT INTO t VALUES ('two', 'x')", WEIR_INVALID, SQLITE_MISMATCH},
        {"INSERT INTO t VALUES (2, zeroblob(2000))", WEIR_INVALID, SQLITE_TOOBIG},
        {"SELECT * FROM missing", WEIR_SCHEMA, SQLITE_ERROR},
        {"SELEKT 1", WEIR_SCHEMA, SQLITE_ERROR},
        {"DELETE FROM t", WEIR_DENIED, SQLITE_AUTH},
        {"PRAGMA query_only=ON; INSERT INTO t VALUES (3, 'x')", WEIR_DENIED,
         SQLITE_READONLY},
    };

    sqlite_fixture_exec(
        sqlite_fixture, link,
        "CREATE TABLE t (a INTEGER PRIMARY KEY, b NOT NULL CHECK (b <> ''));"
        "CREATE TABLE u (a REFERENCES t); INSERT INTO t VALUES (1, 'x')");
    sqlite3_limit(sqlite_fixture_native(link), SQLITE_LIMIT_LENGTH, 1000);
    sqlite3_set_authorizer(sqlite_fixture_native(link), deny, NULL);

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        check_status(sqlite_fixture_try(sqlite_fixture, link, cases[i].text),
                     cases[i].status);
        check_int(sqlite_fixture->error.native_code, cases[i].code);
        check_status(sqlite_fixture->error.status, cases[i].status);
        check_str(sqlite_fixture->error.sqlstate, "");
        check(!link->lost);
    }
}

/* The reader's snapshot is older than what somebody else has written: it can never
 * write. */
WEIR_TEST(sqlite_error, is_a_conflict_when_a_reader_wants_to_write_too_late)
{
    struct sqlite_fixture sqlite_fixture;
    struct weir_link *reader, *writer;

    sqlite_fixture_open(&sqlite_fixture, A_FILE);
    reader = sqlite_fixture_link(&sqlite_fixture);
    writer = sqlite_fixture_link(&sqlite_fixture);
    sqlite_fixture_exec(&sqlite_fixture, writer, "CREATE TABLE t (a)");
    check_status(driver->begin(reader, WEIR_READ_ONLY, &sqlite_fixture.error), WEIR_OK);
    check_int(sqlite_fixture_ask(&sqlite_fixture, reader, "SELECT count(*) FROM t"), 0);
    sqlite_fixture_exec(&sqlite_fixture, writer, "INSERT INTO t VALUES (1)");

    check_status(sqlite_fixture_try(&sqlite_fixture, reader, "INSERT INTO t VALUES (2)"),
                 WEIR_CONFLICT);
    check_int(sqlite_fixture.error.native_code, SQLITE_BUSY_SNAPSHOT);
    check_int(driver->transaction(reader), WEIR_TRANSACTION_OPEN);
    driver->rollback(reader);
    sqlite_fixture_exec(&sqlite_fixture, reader, "INSERT INTO t VALUES (2)");

    sqlite_fixture_unlink(reader);
    sqlite_fixture_unlink(writer);
    sqlite_fixture_close(&sqlite_fixture);
}

/* A table cannot be dropped from under its own connection's rows. */
SQLITE_LINK_TEST(sqlite_error, is_locked_by_rows_of_the_same_connection)
{
    struct weir_cursor cursor;
    void *prepared = NULL;

    sqlite_fixture_exec(sqlite_fixture, link,
                        "CREATE TABLE t (a); INSERT INTO t VALUES (1), (2)");
    check_status(
        driver->prepare(link, "SELECT a FROM t", "", &prepared, &sqlite_fixture->error),
        WEIR_OK);
    check_status(driver->run(link, prepared, NULL, &cursor, &sqlite_fixture->error),
                 WEIR_OK);

    check_status(sqlite_fixture_try(sqlite_fixture, link, "DROP TABLE t"), WEIR_LOCKED);

    driver->finish(link, &cursor);
    sqlite_fixture_exec(sqlite_fixture, link, "DROP TABLE t");
    driver->unprepare(link, prepared);
}

SQLITE_LINK_TEST(sqlite_error, is_disk_full_when_no_page_is_left)
{
    sqlite_fixture_exec(sqlite_fixture, link,
                        "CREATE TABLE t (a); PRAGMA max_page_count=10");

    check_status(sqlite_fixture_try(sqlite_fixture, link,
                                    "INSERT INTO t VALUES (zeroblob(1000000))"),
                 WEIR_DISK_FULL);
    check_int(sqlite_fixture->error.native_code, SQLITE_FULL);
    sqlite_fixture_exec(sqlite_fixture, link, "INSERT INTO t VALUES (1)");
}

/* Damaged while nobody has it open: the pages behind the first are overwritten. */
WEIR_TEST(sqlite_error, stops_at_a_corrupt_file)
{
    struct sqlite_fixture sqlite_fixture;
    sqlite3 *db = NULL;
    struct weir_link *link;
    char rubbish[4096];
    int file;

    sqlite_fixture_open(&sqlite_fixture, A_FILE);
    check_int(sqlite3_open(sqlite_fixture.path, &db), SQLITE_OK);
    check_int(sqlite3_exec(db, "CREATE TABLE t (a); INSERT INTO t VALUES (1)", NULL, NULL,
                           NULL),
              SQLITE_OK);
    sqlite3_close(db);
    memset(rubbish, 0x5a, sizeof rubbish);
    file = open(sqlite_fixture.path, O_WRONLY);
    check_int(pwrite(file, rubbish, sizeof rubbish, 4096), 4096);
    close(file);

    link = sqlite_fixture_link(&sqlite_fixture);
    check_status(sqlite_fixture_try(&sqlite_fixture, link, "SELECT a FROM t"),
                 WEIR_SCHEMA);
    check_int(sqlite_fixture.error.native_code & 0xff, SQLITE_CORRUPT);

    sqlite_fixture_unlink(link);
    sqlite_fixture_close(&sqlite_fixture);
}

/* SQLite's own memory has an end, too. */
WEIR_TEST(sqlite_error, is_no_memory_when_sqlite_gets_none)
{
    struct sqlite_fixture sqlite_fixture;
    struct weir_link *link;

    sqlite_fixture_open(&sqlite_fixture, IN_MEMORY);
    link = sqlite_fixture_link(&sqlite_fixture);
    sqlite_fixture_exec(&sqlite_fixture, link, "CREATE TABLE t (a)");
    sqlite3_hard_heap_limit64(sqlite3_memory_used() + 100000);

    check_status(sqlite_fixture_try(&sqlite_fixture, link,
                                    "SELECT length(hex(randomblob(1000000)))"),
                 WEIR_NO_MEMORY);

    sqlite3_hard_heap_limit64(0);
    sqlite_fixture_exec(&sqlite_fixture, link, "INSERT INTO t VALUES (1)");
    sqlite_fixture_unlink(link);
    sqlite_fixture_close(&sqlite_fixture);
}
