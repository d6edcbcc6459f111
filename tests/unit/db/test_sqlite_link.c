/* Tests of db/sqlite/link.c: transactions that end otherwise than planned, and faults. */
#include "db/sqlite/link.h"

#include <pthread.h>
#include <sched.h>

#include "kit/test.h"
#include "unit/db/faulty_vfs.h"
#include "unit/db/sqlite_fixture.h"

static const struct weir_driver *const driver = &weir_driver_sqlite;

static void begin(struct sqlite_fixture *sqlite_fixture, struct weir_link *link)
{
    check_status(driver->begin(link, WEIR_READ_WRITE, &sqlite_fixture->error), WEIR_OK);
    check_int(driver->transaction(link), WEIR_TRANSACTION_OPEN);
}

/* Past the driver, with a handle that waits for nothing. */
static int64_t ask_outside(const struct sqlite_fixture *sqlite_fixture, const char *text)
{
    sqlite3 *db = NULL;
    int64_t answer;

    check_int(sqlite3_open(sqlite_fixture->path, &db), SQLITE_OK);
    check_int(sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL),
              SQLITE_OK);
    answer = strtoll(sqlite_fixture_peek(db, text), NULL, 10);
    sqlite3_close(db);
    return answer;
}

static bool write_lock_is_free(const struct sqlite_fixture *sqlite_fixture)
{
    sqlite3 *db = NULL;
    int code;

    check_int(sqlite3_open(sqlite_fixture->path, &db), SQLITE_OK);
    code = sqlite3_exec(db, "BEGIN IMMEDIATE; ROLLBACK", NULL, NULL, NULL);
    sqlite3_close(db);
    return code == SQLITE_OK;
}

static struct weir_link *link_with_table(struct sqlite_fixture *sqlite_fixture)
{
    struct weir_link *link = sqlite_fixture_link(sqlite_fixture);

    sqlite_fixture_exec(sqlite_fixture, link, "CREATE TABLE t (a)");
    return link;
}

/* ---- transactions ---- */

SQLITE_LINK_TEST(sqlite_link, refuses_to_begin_twice_and_to_commit_nothing)
{
    check_status(driver->commit(link, &sqlite_fixture->error), WEIR_INVALID);
    begin(sqlite_fixture, link);
    check_status(driver->begin(link, WEIR_READ_ONLY, &sqlite_fixture->error),
                 WEIR_INVALID);
    check_status(driver->commit(link, &sqlite_fixture->error), WEIR_OK);
}

/* SQLite gives the transaction up with a write that is interrupted. What follows would
 * commit by itself; it must not. */
WEIR_TEST(sqlite_link, refuses_statements_after_sqlite_rolled_back)
{
    struct sqlite_fixture sqlite_fixture;
    struct weir_link *link;

    sqlite_fixture_open(&sqlite_fixture, A_FILE);
    sqlite_fixture.config.statement_timeout_ns = WEIR_MILLISECONDS(5);
    link = link_with_table(&sqlite_fixture);
    begin(&sqlite_fixture, link);
    check_status(sqlite_fixture_try(&sqlite_fixture, link, "INSERT INTO t " ENDLESS),
                 WEIR_TIMEOUT);

    check_int(driver->transaction(link), WEIR_TRANSACTION_FAILED);
    check(write_lock_is_free(&sqlite_fixture));
    check_status(sqlite_fixture_try(&sqlite_fixture, link, "INSERT INTO t VALUES (3)"),
                 WEIR_TIMEOUT);
    check_status(driver->commit(link, &sqlite_fixture.error), WEIR_TIMEOUT);

    check_int(driver->transaction(link), WEIR_TRANSACTION_NONE);
    check_int(sqlite_fixture_ask(&sqlite_fixture, link, "SELECT count(*) FROM t"), 0);
    begin(&sqlite_fixture, link);
    check_status(driver->commit(link, &sqlite_fixture.error), WEIR_OK);
    sqlite_fixture_unlink(link);
    sqlite_fixture_close(&sqlite_fixture);
}

/* The constraint is looked at only when the transaction ends. */
SQLITE_LINK_TEST(sqlite_link, has_no_transaction_after_a_commit_that_failed)
{
    sqlite_fixture_exec(sqlite_fixture, link,
                        "CREATE TABLE t (a PRIMARY KEY);"
                        "CREATE TABLE u (a REFERENCES t DEFERRABLE INITIALLY DEFERRED)");
    begin(sqlite_fixture, link);
    sqlite_fixture_exec(sqlite_fixture, link, "INSERT INTO u VALUES (1)");

    check_status(driver->commit(link, &sqlite_fixture->error), WEIR_CONSTRAINT);

    check_int(driver->transaction(link), WEIR_TRANSACTION_NONE);
    check_int(sqlite_fixture_ask(sqlite_fixture, link, "SELECT count(*) FROM u"), 0);
    check(write_lock_is_free(sqlite_fixture));
}

/* In memory a commit waits for the readers. */
WEIR_TEST(sqlite_link, rolls_back_a_commit_that_waited_too_long)
{
    struct sqlite_fixture sqlite_fixture;
    struct weir_link *reader, *writer;

    sqlite_fixture_open(&sqlite_fixture, IN_MEMORY);
    sqlite_fixture.config.lock_timeout_ns = WEIR_MILLISECONDS(5);
    reader = link_with_table(&sqlite_fixture);
    writer = sqlite_fixture_link(&sqlite_fixture);
    check_status(driver->begin(reader, WEIR_READ_ONLY, &sqlite_fixture.error), WEIR_OK);
    check_int(sqlite_fixture_ask(&sqlite_fixture, reader, "SELECT count(*) FROM t"), 0);
    begin(&sqlite_fixture, writer);
    sqlite_fixture_exec(&sqlite_fixture, writer, "INSERT INTO t VALUES (1)");

    check_status(driver->commit(writer, &sqlite_fixture.error), WEIR_LOCKED);

    check_int(driver->transaction(writer), WEIR_TRANSACTION_NONE);
    driver->rollback(reader);
    check_int(sqlite_fixture_ask(&sqlite_fixture, reader, "SELECT count(*) FROM t"), 0);
    sqlite_fixture_unlink(reader);
    sqlite_fixture_unlink(writer);
    sqlite_fixture_close(&sqlite_fixture);
}

/* Everything was written, but whether it is on the disk nobody can say. */
WEIR_TEST(sqlite_link, is_in_doubt_after_a_failed_flush)
{
    struct sqlite_fixture sqlite_fixture;
    struct weir_link *link;

    sqlite_fixture_open(&sqlite_fixture, A_FILE);
    faulty_vfs_install();
    link = link_with_table(&sqlite_fixture);
    begin(&sqlite_fixture, link);
    sqlite_fixture_exec(&sqlite_fixture, link, "INSERT INTO t VALUES (1)");
    faulty_vfs.fail_sync = true;

    check_status(driver->commit(link, &sqlite_fixture.error), WEIR_IN_DOUBT);
    check_int(sqlite_fixture.error.native_code, SQLITE_IOERR_FSYNC);
    check_status(sqlite_fixture.error.status, WEIR_IN_DOUBT);
    check(link->lost);
    check(write_lock_is_free(&sqlite_fixture));

    sqlite_fixture_unlink(link);
    faulty_vfs_remove();
    sqlite_fixture_close(&sqlite_fixture);
}

/* The commit mark was never written: it certainly did not happen, and may be repeated. */
WEIR_TEST(sqlite_link, is_not_in_doubt_after_a_failed_write)
{
    struct sqlite_fixture sqlite_fixture;
    struct weir_link *link;

    sqlite_fixture_open(&sqlite_fixture, A_FILE);
    faulty_vfs_install();
    link = link_with_table(&sqlite_fixture);
    begin(&sqlite_fixture, link);
    sqlite_fixture_exec(&sqlite_fixture, link, "INSERT INTO t VALUES (1)");
    faulty_vfs.fail_write = true;

    check_status(driver->commit(link, &sqlite_fixture.error), WEIR_LOST);
    check(link->lost);
    check(write_lock_is_free(&sqlite_fixture));
    check_int(ask_outside(&sqlite_fixture, "SELECT count(*) FROM t"), 0);

    sqlite_fixture_unlink(link);
    faulty_vfs_remove();
    sqlite_fixture_close(&sqlite_fixture);
}

static void *call_off_all_the_time(void *argument)
{
    struct weir_link *link = ((void **)argument)[0];
    _Atomic bool *over = ((void **)argument)[1];

    while (!atomic_load(over)) {
        driver->cancel(link);
        (void)sched_yield();
    }
    return NULL;
}

/* Whatever a cancel() hits, after the rollback nothing is open and the link works. */
WEIR_TEST(sqlite_link, always_rolls_back_while_it_is_being_cancelled)
{
    struct sqlite_fixture sqlite_fixture;
    struct weir_link *link;
    _Atomic bool over = false;
    pthread_t thread;

    sqlite_fixture_open(&sqlite_fixture, IN_MEMORY);
    link = link_with_table(&sqlite_fixture);
    check_int(
        pthread_create(&thread, NULL, call_off_all_the_time, (void *[]){link, &over}), 0);

    for (int i = 0; i < 2000; i++) {
        if (driver->begin(link, WEIR_READ_WRITE, &sqlite_fixture.error) == WEIR_OK)
            (void)sqlite_fixture_try(&sqlite_fixture, link, "INSERT INTO t VALUES (1)");
        driver->rollback(link);
        check_int(driver->transaction(link), WEIR_TRANSACTION_NONE);
    }
    atomic_store(&over, true);
    pthread_join(thread, NULL);

    check(!link->lost);
    check_int(sqlite_fixture_ask(&sqlite_fixture, link, "SELECT count(*) FROM t"), 0);
    sqlite_fixture_unlink(link);
    sqlite_fixture_close(&sqlite_fixture);
}

/* ---- faults ---- */

WEIR_TEST(sqlite_link, may_be_lost_before_and_after_a_commit)
{
    static const struct {
        const char *point;
        int64_t rows;
    } cases[] = {{"db.lose", 0}, {"db.lose_after_commit", 1}};

    for (size_t i = 0; i < 2; i++) {
        struct sqlite_fixture sqlite_fixture;
        struct weir_link *link;

        sqlite_fixture_open(&sqlite_fixture, A_FILE);
        link = link_with_table(&sqlite_fixture);
        begin(&sqlite_fixture, link);
        sqlite_fixture_exec(&sqlite_fixture, link, "INSERT INTO t VALUES (1)");
        weir_fault_points_arm(&sqlite_fixture.points, cases[i].point, 1);

        check_status(driver->commit(link, &sqlite_fixture.error), WEIR_IN_DOUBT);
        check(link->lost);
        check(write_lock_is_free(&sqlite_fixture));
        check_int(ask_outside(&sqlite_fixture, "SELECT count(*) FROM t"), cases[i].rows);

        sqlite_fixture_unlink(link);
        sqlite_fixture_close(&sqlite_fixture);
    }
}

static enum weir_status insert_some(struct sqlite_fixture *sqlite_fixture,
                                    struct weir_link *link, void *prepared)
{
    struct weir_value rows[] = {weir_integer(1), weir_integer(2), weir_integer(3)};
    int64_t changed;

    return driver->run_many(link, prepared, rows, 3, 1, &changed, &sqlite_fixture->error);
}

static enum weir_status insert_in_transaction(struct sqlite_fixture *sqlite_fixture,
                                              struct weir_link *link, void *prepared)
{
    enum weir_status status =
        driver->begin(link, WEIR_READ_WRITE, &sqlite_fixture->error);

    if (status != WEIR_OK)
        return status;
    status = insert_some(sqlite_fixture, link, prepared);
    if (status == WEIR_OK)
        return driver->commit(link, &sqlite_fixture->error);
    driver->rollback(link);
    return status;
}

static enum weir_status read_all(struct sqlite_fixture *sqlite_fixture,
                                 struct weir_link *link)
{
    struct weir_cursor cursor;
    void *prepared = NULL;
    enum weir_status status =
        driver->prepare(link, "SELECT a FROM t", "", &prepared, &sqlite_fixture->error);

    if (status != WEIR_OK)
        return status;
    status = driver->run(link, prepared, NULL, &cursor, &sqlite_fixture->error);
    if (status == WEIR_OK) {
        do {
            status = driver->next(link, &cursor, &sqlite_fixture->error);
        } while (status == WEIR_OK);
        driver->finish(link, &cursor);
    }
    driver->unprepare(link, prepared);
    return status == WEIR_NO_ROW ? WEIR_OK : status;
}

static enum weir_status use(struct sqlite_fixture *sqlite_fixture, struct weir_link *link)
{
    void *prepared = NULL;
    enum weir_status status = sqlite_fixture_try(sqlite_fixture, link, "DELETE FROM t");

    if (status == WEIR_OK)
        status = driver->prepare(link, "INSERT INTO t VALUES (?1)", "i", &prepared,
                                 &sqlite_fixture->error);
    if (status == WEIR_OK)
        status = insert_some(sqlite_fixture, link, prepared);
    if (status == WEIR_OK)
        status = insert_in_transaction(sqlite_fixture, link, prepared);
    if (status == WEIR_OK)
        status = read_all(sqlite_fixture, link);
    driver->unprepare(link, prepared);
    return status;
}

static enum weir_status open_and_use(struct sqlite_fixture *sqlite_fixture)
{
    struct weir_link *link = NULL;
    enum weir_status status =
        driver->open(&sqlite_fixture->config, &link, &sqlite_fixture->error);

    if (status != WEIR_OK) {
        check(link == NULL);
        return status;
    }
    status = use(sqlite_fixture, link);
    check((status == WEIR_LOST || status == WEIR_IN_DOUBT) == link->lost);
    sqlite_fixture_unlink(link);
    return status;
}

static bool is_expected(const char *point, enum weir_status status)
{
    if (strcmp(point, "db.fail") == 0)
        return status == WEIR_FAILED;
    return status == WEIR_LOST || status == WEIR_IN_DOUBT;
}

/* The n-th call into SQLite fails, for every n: no lock is left, no memory, no part of
 * a batch. */
static void sweep(const char *point)
{
    struct sqlite_fixture sqlite_fixture;
    uint64_t n = 0;
    int64_t memory;
    bool reached = true;

    sqlite_fixture_open(&sqlite_fixture, A_FILE);
    sqlite_fixture_unlink(link_with_table(&sqlite_fixture));
    while (reached) {
        enum weir_status status;

        n++;
        memory = sqlite3_memory_used();
        weir_fault_points_arm_once(&sqlite_fixture.points, point, n);
        status = open_and_use(&sqlite_fixture);
        reached = atomic_load(&sqlite_fixture.points.armed[0].passed) >= n;

        if (reached ? !is_expected(point, status) : status != WEIR_OK)
            weir_test_fail(__FILE__, __LINE__, "%s at call %d: %s: %s", point, (int)n,
                           weir_status_name(status), sqlite_fixture.error.text);
        check_int(sqlite3_memory_used(), memory);
        check(write_lock_is_free(&sqlite_fixture));
        check_int(ask_outside(&sqlite_fixture, "SELECT count(*) FROM t") % 3, 0);
    }
    check(n > 20);
    sqlite_fixture_close(&sqlite_fixture);
}

WEIR_TEST(sqlite_link, survives_losing_any_call)
{
    sweep("db.lose");
}

WEIR_TEST(sqlite_link, survives_failing_any_call)
{
    sweep("db.fail");
}
