/* Tests of db/sqlite/close_last.c: what the end of a process leaves of a database
 * file. */
#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include "contract/db/child.h"
#include "db/connection.h"
#include "db/db.h"
#include "unit/db/sqlite_fixture.h"

enum { PROCESSES = 20, CLOSINGS = 5, PATH_SIZE = 320 };

/* A file of its own, through the library. */
static struct weir_db *open_db(const char *path)
{
    struct weir_db_options options;
    struct weir_error error;
    struct weir_db *db = NULL;
    char url[PATH_SIZE];

    snprintf(url, sizeof url, "sqlite:%s", path);
    weir_db_options_init(&options);
    options.url = url;
    options.lock_timeout_ns = options.connect_timeout_ns = WEIR_MINUTES(1);
    options.statement_timeout_ns = WEIR_MINUTES(1);
    check_status(weir_db_create(&options, &db, &error), WEIR_OK);
    return db;
}

static void execute(struct weir_db *db, const char *text)
{
    struct weir_connection *connection = NULL;
    struct weir_error error;

    check_status(weir_db_acquire(db, &connection, &error), WEIR_OK);
    check_status(weir_connection_execute_text(connection, text, &error), WEIR_OK);
    weir_db_release(db, connection);
}

/* What somebody has who copies the database file and nothing else: rows of t, -1 if it
 * is not even a table. */
static int64_t rows_of_a_copy(const struct sqlite_fixture *sqlite_fixture)
{
    char command[2 * PATH_SIZE];
    char copy[PATH_SIZE];
    sqlite3 *handle = NULL;
    sqlite3_stmt *stmt = NULL;
    int64_t rows = -1;

    snprintf(copy, sizeof copy, "%s-copy", sqlite_fixture->path);
    snprintf(command, sizeof command, "cp %s %s", sqlite_fixture->path, copy);
    check_int(system(command), 0);
    check_int(sqlite3_open_v2(copy, &handle, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    check_str(sqlite_fixture_peek(handle, "PRAGMA integrity_check"), "ok");
    if (sqlite3_prepare_v2(handle, "SELECT count(*) FROM t", -1, &stmt, NULL) ==
            SQLITE_OK &&
        sqlite3_step(stmt) == SQLITE_ROW)
        rows = sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    sqlite3_close(handle);
    check_int(remove(copy), 0);
    return rows;
}

WEIR_TEST(sqlite_last, end_of_a_process_leaves_a_file_with_everything)
{
    struct sqlite_fixture sqlite_fixture;
    struct weir_db *db;

    sqlite_fixture_open(&sqlite_fixture, A_FILE);
    db = open_db(sqlite_fixture.path);
    execute(db, "CREATE TABLE t (a)");
    execute(db, "INSERT INTO t VALUES (1)");

    weir_db_destroy(db);

    check_int(rows_of_a_copy(&sqlite_fixture), 1);
    check_int(sqlite_fixture_file_size(&sqlite_fixture, "-wal"), -1);
    sqlite_fixture_close(&sqlite_fixture);
}

/* ---- many at once ---- */

/* In memory that all processes see. */
struct peers {
    const struct sqlite_fixture *sqlite_fixture;
    _Atomic bool over;
    _Atomic int64_t inserted;
};

/* Two connections, as a process with threads has them. */
static int write_until_over(void *argument)
{
    struct peers *peers = argument;
    struct weir_db *db = open_db(peers->sqlite_fixture->path);
    struct weir_connection *idle = NULL;

    check_status(weir_db_acquire(db, &idle, NULL), WEIR_OK);
    do {
        execute(db, "INSERT INTO t VALUES (randomblob(1000))");
        atomic_fetch_add(&peers->inserted, 1);
    } while (!atomic_load(&peers->over));
    weir_db_release(db, idle);
    weir_db_destroy(db);
    return 0;
}

static void write_and_close_at_once(struct peers *peers)
{
    pid_t children[PROCESSES];
    int64_t before = atomic_load(&peers->inserted);

    atomic_store(&peers->over, false);
    for (int i = 0; i < PROCESSES; i++)
        children[i] = child_start(write_until_over, peers);
    while (atomic_load(&peers->inserted) < before + PROCESSES)
        (void)sched_yield();
    atomic_store(&peers->over, true);
    for (int i = 0; i < PROCESSES; i++)
        check_int(child_wait(children[i]), 0);
}

/* Whoever is last gets the file for itself, however close behind the others it comes. */
WEIR_TEST(sqlite_last, of_many_processes_that_close_at_once_moves_the_log)
{
    struct sqlite_fixture sqlite_fixture;
    struct weir_db *db;
    struct peers *peers = mmap(NULL, sizeof *peers, PROT_READ | PROT_WRITE,
                               MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    check(peers != MAP_FAILED);
    sqlite_fixture_open(&sqlite_fixture, A_FILE);
    peers->sqlite_fixture = &sqlite_fixture;
    db = open_db(sqlite_fixture.path);
    execute(db, "CREATE TABLE t (a)");
    weir_db_destroy(db); /* no connection crosses the fork */

    for (int i = 0; i < CLOSINGS; i++) {
        write_and_close_at_once(peers);
        check_int(rows_of_a_copy(&sqlite_fixture), atomic_load(&peers->inserted));
    }

    munmap(peers, sizeof *peers);
    sqlite_fixture_close(&sqlite_fixture);
}
