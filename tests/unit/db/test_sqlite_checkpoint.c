/* Tests of db/sqlite/checkpoint.c. */
#include "db/sqlite/checkpoint.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include "contract/db/child.h"
#include "kit/test.h"
#include "unit/db/sqlite_fixture.h"
#include "ward/system.h"

static const struct weir_driver *const driver = &weir_driver_sqlite;

static int64_t wal_size(struct sqlite_fixture *sqlite_fixture, struct weir_link *link)
{
    int64_t size = -1;

    check_status(weir_sqlite_wal_size(link, &size, &sqlite_fixture->error), WEIR_OK);
    return size;
}

static void write_megabytes(struct sqlite_fixture *sqlite_fixture, struct weir_link *link,
                            int count)
{
    check_status(driver->begin(link, WEIR_READ_WRITE, &sqlite_fixture->error), WEIR_OK);
    for (int i = 0; i < count; i++)
        sqlite_fixture_exec(sqlite_fixture, link,
                            "INSERT INTO t VALUES (randomblob(1000000))");
    check_status(driver->commit(link, &sqlite_fixture->error), WEIR_OK);
}

static void checkpoint(struct sqlite_fixture *sqlite_fixture, struct weir_link *writer,
                       struct weir_link *helper)
{
    check_status(weir_sqlite_checkpoint(writer, helper, &sqlite_fixture->error), WEIR_OK);
    check_int(driver->transaction(writer), WEIR_TRANSACTION_NONE);
    check_int(driver->transaction(helper), WEIR_TRANSACTION_NONE);
}

WEIR_TEST(sqlite_checkpoint, moves_the_log_so_that_it_starts_anew)
{
    struct sqlite_fixture sqlite_fixture;
    struct weir_link *writer, *helper;
    int64_t size;

    sqlite_fixture_open(&sqlite_fixture, A_FILE);
    writer = sqlite_fixture_link(&sqlite_fixture);
    helper = sqlite_fixture_link(&sqlite_fixture);
    sqlite_fixture_exec(&sqlite_fixture, writer, "CREATE TABLE t (a)");
    write_megabytes(&sqlite_fixture, writer, 3);
    size = wal_size(&sqlite_fixture, writer);
    check(size > 3000000);

    checkpoint(&sqlite_fixture, writer, helper);
    check(sqlite_fixture_file_size(&sqlite_fixture, "") > 3000000);
    for (int i = 0; i < 3; i++) {
        write_megabytes(&sqlite_fixture, writer, 1);
        checkpoint(&sqlite_fixture, writer, helper);
    }

    check_int(wal_size(&sqlite_fixture, writer), size);
    check_int(sqlite_fixture_ask(&sqlite_fixture, helper, "SELECT count(*) FROM t"), 6);
    sqlite_fixture_unlink(writer);
    sqlite_fixture_unlink(helper);
    sqlite_fixture_close(&sqlite_fixture);
}

/* Otherwise its size would ask for a checkpoint for ever. */
WEIR_TEST(sqlite_checkpoint, lets_a_log_that_has_grown_be_cut)
{
    struct sqlite_fixture sqlite_fixture;
    struct weir_link *writer, *helper;

    sqlite_fixture_open(&sqlite_fixture, A_FILE);
    writer = sqlite_fixture_link(&sqlite_fixture);
    helper = sqlite_fixture_link(&sqlite_fixture);
    sqlite_fixture_exec(&sqlite_fixture, writer, "CREATE TABLE t (a)");
    write_megabytes(&sqlite_fixture, writer, 70);
    check(wal_size(&sqlite_fixture, writer) > WEIR_SQLITE_WAL_SIZE_MAX);

    checkpoint(&sqlite_fixture, writer, helper);
    sqlite_fixture_exec(&sqlite_fixture, writer, "INSERT INTO t VALUES (1)");

    check(wal_size(&sqlite_fixture, writer) <= WEIR_SQLITE_WAL_SIZE_MAX / 2);
    sqlite_fixture_unlink(writer);
    sqlite_fixture_unlink(helper);
    sqlite_fixture_close(&sqlite_fixture);
}

/* The reader neither waits nor loses its snapshot; the rest is moved when it has gone. */
WEIR_TEST(sqlite_checkpoint, leaves_readers_alone)
{
    struct sqlite_fixture sqlite_fixture;
    struct weir_link *writer, *helper, *reader;
    int64_t size;

    sqlite_fixture_open(&sqlite_fixture, A_FILE);
    sqlite_fixture.config.lock_timeout_ns = 1; /* nobody waits here */
    writer = sqlite_fixture_link(&sqlite_fixture);
    helper = sqlite_fixture_link(&sqlite_fixture);
    reader = sqlite_fixture_link(&sqlite_fixture);
    sqlite_fixture_exec(&sqlite_fixture, writer, "CREATE TABLE t (a)");
    write_megabytes(&sqlite_fixture, writer, 1);
    check_status(driver->begin(reader, WEIR_READ_ONLY, &sqlite_fixture.error), WEIR_OK);
    check_int(sqlite_fixture_ask(&sqlite_fixture, reader, "SELECT count(*) FROM t"), 1);
    write_megabytes(&sqlite_fixture, writer, 1);

    checkpoint(&sqlite_fixture, writer, helper);
    check_int(sqlite_fixture_ask(&sqlite_fixture, reader, "SELECT count(*) FROM t"), 1);
    size = wal_size(&sqlite_fixture, writer);
    sqlite_fixture_exec(&sqlite_fixture, writer, "INSERT INTO t VALUES (1)");
    check(wal_size(&sqlite_fixture, writer) > size); /* it could not start anew */

    driver->rollback(reader);
    checkpoint(&sqlite_fixture, writer, helper);
    check_int(sqlite_fixture_ask(&sqlite_fixture, reader, "SELECT count(*) FROM t"), 3);
    sqlite_fixture_unlink(writer);
    sqlite_fixture_unlink(helper);
    sqlite_fixture_unlink(reader);
    sqlite_fixture_close(&sqlite_fixture);
}

WEIR_TEST(sqlite_checkpoint, waits_for_the_write_lock_like_any_writer)
{
    struct sqlite_fixture sqlite_fixture;
    struct weir_link *writer, *helper, *other;

    sqlite_fixture_open(&sqlite_fixture, A_FILE);
    sqlite_fixture.config.lock_timeout_ns = WEIR_MILLISECONDS(2);
    writer = sqlite_fixture_link(&sqlite_fixture);
    helper = sqlite_fixture_link(&sqlite_fixture);
    other = sqlite_fixture_link(&sqlite_fixture);
    check_status(driver->begin(other, WEIR_READ_WRITE, &sqlite_fixture.error), WEIR_OK);

    check_status(weir_sqlite_checkpoint(writer, helper, &sqlite_fixture.error),
                 WEIR_LOCKED);

    sqlite_fixture_unlink(other);
    checkpoint(&sqlite_fixture, writer, helper);
    sqlite_fixture_unlink(writer);
    sqlite_fixture_unlink(helper);
    sqlite_fixture_close(&sqlite_fixture);
}

WEIR_TEST(sqlite_checkpoint, gives_the_lock_back_when_it_fails)
{
    static const char *const points[] = {"db.lose", "db.fail"};

    for (size_t i = 0; i < 2; i++) {
        for (uint64_t n = 1; n <= 3; n++) {
            struct sqlite_fixture sqlite_fixture;
            struct weir_link *writer, *helper, *other;
            enum weir_status status;

            sqlite_fixture_open(&sqlite_fixture, A_FILE);
            sqlite_fixture.config.lock_timeout_ns = 1;
            writer = sqlite_fixture_link(&sqlite_fixture);
            helper = sqlite_fixture_link(&sqlite_fixture);
            other = sqlite_fixture_link(&sqlite_fixture);
            weir_fault_points_arm_once(&sqlite_fixture.points, points[i], n);

            status = weir_sqlite_checkpoint(writer, helper, &sqlite_fixture.error);
            check(n == 3 || status == (i == 0 ? WEIR_LOST : WEIR_FAILED));

            weir_fault_points_init(&sqlite_fixture.points);
            check_status(driver->begin(other, WEIR_READ_WRITE, &sqlite_fixture.error),
                         WEIR_OK);
            sqlite_fixture_unlink(writer);
            sqlite_fixture_unlink(helper);
            sqlite_fixture_unlink(other);
            sqlite_fixture_close(&sqlite_fixture);
        }
    }
}

WEIR_TEST(sqlite_checkpoint, has_nothing_to_do_in_memory)
{
    struct sqlite_fixture sqlite_fixture;
    struct weir_link *writer, *helper;

    sqlite_fixture_open(&sqlite_fixture, IN_MEMORY);
    writer = sqlite_fixture_link(&sqlite_fixture);
    helper = sqlite_fixture_link(&sqlite_fixture);

    checkpoint(&sqlite_fixture, writer, helper);
    check_int(wal_size(&sqlite_fixture, writer), 0);

    sqlite_fixture_unlink(writer);
    sqlite_fixture_unlink(helper);
    sqlite_fixture_close(&sqlite_fixture);
}

/* ---- by writers ---- */

enum { OVER_THE_LIMIT_MB = WEIR_SQLITE_WAL_SIZE_MAX / 1000000 + 2 };

SQLITE_LINK_TEST(sqlite_writer, that_finds_the_log_over_the_limit_moves_it)
{
    sqlite_fixture_exec(sqlite_fixture, link, "CREATE TABLE t (a)");

    write_megabytes(sqlite_fixture, link, OVER_THE_LIMIT_MB);

    check(sqlite_fixture_file_size(sqlite_fixture, "") > WEIR_SQLITE_WAL_SIZE_MAX);
}

SQLITE_LINK_TEST(sqlite_writer, without_a_transaction_moves_the_log_as_well)
{
    sqlite_fixture_exec(sqlite_fixture, link, "CREATE TABLE t (a)");

    sqlite_fixture_exec(sqlite_fixture, link,
                        "INSERT INTO t VALUES (zeroblob(70000000))");

    check(sqlite_fixture_file_size(sqlite_fixture, "") > WEIR_SQLITE_WAL_SIZE_MAX);
}

/* A writer that comes upon a reader leaves the log as it is and has committed all the
 * same. */
WEIR_TEST(sqlite_writer, commits_although_the_log_cannot_be_moved)
{
    struct sqlite_fixture sqlite_fixture;
    struct weir_link *link, *reader;

    sqlite_fixture_open(&sqlite_fixture, A_FILE);
    link = sqlite_fixture_link(&sqlite_fixture);
    reader = sqlite_fixture_link(&sqlite_fixture);
    sqlite_fixture_exec(&sqlite_fixture, link, "CREATE TABLE t (a)");
    sqlite_fixture_exec(&sqlite_fixture, reader, "BEGIN");
    check_int(sqlite_fixture_ask(&sqlite_fixture, reader, "SELECT count(*) FROM t"), 0);

    write_megabytes(&sqlite_fixture, link, OVER_THE_LIMIT_MB);
    write_megabytes(&sqlite_fixture, link, 1);

    check(sqlite_fixture_file_size(&sqlite_fixture, "") < WEIR_SQLITE_WAL_SIZE_MAX);
    sqlite_fixture_exec(&sqlite_fixture, reader, "COMMIT");
    check_int(sqlite_fixture_ask(&sqlite_fixture, reader, "SELECT count(*) FROM t"),
              OVER_THE_LIMIT_MB + 1);
    sqlite_fixture_unlink(reader);
    sqlite_fixture_unlink(link);
    sqlite_fixture_close(&sqlite_fixture);
}

/* ---- by writers of little ---- */

static void write_little(struct sqlite_fixture *sqlite_fixture, struct weir_link *link,
                         int count)
{
    for (int i = 0; i < count; i++)
        sqlite_fixture_exec(sqlite_fixture, link,
                            "INSERT INTO t VALUES (randomblob(9000))");
}

enum { LITTLE_PER_LOG = WEIR_SQLITE_WAL_SIZE_SHORT / 9000 };

SQLITE_LINK_TEST(sqlite_writer, of_little_keeps_the_log_short)
{
    sqlite_fixture_exec(sqlite_fixture, link, "CREATE TABLE t (a)");

    write_little(sqlite_fixture, link, 4 * LITTLE_PER_LOG);

    check_in_range(wal_size(sqlite_fixture, link), 1,
                   WEIR_SQLITE_WAL_SIZE_SHORT + WEIR_SQLITE_WAL_SIZE_SHORT / 4);
    check_int(sqlite_fixture_ask(sqlite_fixture, link, "SELECT count(*) FROM t"),
              4 * LITTLE_PER_LOG);
}

/* Each of them would wait for a checkpoint nearly as often as it commits. */
SQLITE_LINK_TEST(sqlite_writer, of_much_leaves_the_log_to_the_sweep)
{
    sqlite_fixture_exec(sqlite_fixture, link, "CREATE TABLE t (a)");

    write_megabytes(sqlite_fixture, link, 6);
    write_megabytes(sqlite_fixture, link, 6);

    check(wal_size(sqlite_fixture, link) > 12000000);
}

/* A small commit does not wait until a long log is moved. */
SQLITE_LINK_TEST(sqlite_writer, of_little_leaves_a_long_log_to_the_sweep)
{
    int64_t size;

    sqlite_fixture_exec(sqlite_fixture, link, "CREATE TABLE t (a)");
    write_megabytes(sqlite_fixture, link, 20);
    size = wal_size(sqlite_fixture, link);

    write_little(sqlite_fixture, link, 20);

    check(wal_size(sqlite_fixture, link) > size);
    check(sqlite_fixture_file_size(sqlite_fixture, "") < 1000000);
}

/* It does not ask at each commit either, while a reader keeps the log from starting
 * anew. */
WEIR_TEST(sqlite_writer, of_little_commits_beside_a_reader)
{
    struct sqlite_fixture sqlite_fixture;
    struct weir_link *link, *reader;

    sqlite_fixture_open(&sqlite_fixture, A_FILE);
    link = sqlite_fixture_link(&sqlite_fixture);
    reader = sqlite_fixture_link(&sqlite_fixture);
    weir_fault_points_arm_once(&sqlite_fixture.points, "log.relieve", UINT64_MAX);
    sqlite_fixture_exec(&sqlite_fixture, link, "CREATE TABLE t (a)");
    sqlite_fixture_exec(&sqlite_fixture, reader, "BEGIN");
    check_int(sqlite_fixture_ask(&sqlite_fixture, reader, "SELECT count(*) FROM t"), 0);

    write_little(&sqlite_fixture, link, 2 * LITTLE_PER_LOG);
    check_in_range(atomic_load(&sqlite_fixture.points.armed[0].passed), 1, 13);
    sqlite_fixture_exec(&sqlite_fixture, reader, "COMMIT");
    write_little(&sqlite_fixture, link, LITTLE_PER_LOG);

    check_int(sqlite_fixture_ask(&sqlite_fixture, reader, "SELECT count(*) FROM t"),
              3 * LITTLE_PER_LOG);
    sqlite_fixture_unlink(reader);
    sqlite_fixture_unlink(link);
    sqlite_fixture_close(&sqlite_fixture);
}

/* ---- with other processes ---- */

enum { PROCESSES = 2, ROUNDS = 100, ANEW_MIN = 5, ROWS_MAX = 100 };

/* In memory that all processes see. There is no queue for SQLite's lock, and who asks
 * for it rarely may not get it from those who ask all the time; so these do no more
 * than ROWS_MAX rows in a round. */
struct board {
    struct sqlite_fixture *sqlite_fixture;
    _Atomic bool over;
    _Atomic int64_t inserted;
    _Atomic int64_t allowed;
};

/* In a child of its own: every row a transaction. */
static int insert_until_over(void *argument)
{
    struct board *board = argument;
    struct weir_link *link = sqlite_fixture_link(board->sqlite_fixture);

    while (!atomic_load(&board->over)) {
        if (atomic_load(&board->inserted) >= atomic_load(&board->allowed)) {
            (void)sched_yield();
            continue;
        }
        sqlite_fixture_exec(board->sqlite_fixture, link,
                            "INSERT INTO t VALUES (randomblob(3000))");
        atomic_fetch_add(&board->inserted, 1);
    }
    sqlite_fixture_unlink(link);
    return 0;
}

/* The log counts that itself, in the bytes 12 to 15. No lock is on this file, so it may
 * be opened. */
static unsigned times_started_anew(const struct sqlite_fixture *sqlite_fixture)
{
    unsigned char count[4];
    char name[300];
    int file;

    snprintf(name, sizeof name, "%s-wal", sqlite_fixture->path);
    file = open(name, O_RDONLY);
    check_int(pread(file, count, sizeof count, 12), sizeof count);
    close(file);
    return (unsigned)count[2] << 8 | count[3];
}

/* Two processes write while this one checkpoints, each time as soon as something was
 * written: nothing is lost, nothing damaged, and the log is started anew again and
 * again. In how many rounds it can be is a matter of luck, so they go on until it was. */
WEIR_TEST(sqlite_checkpoint, works_beside_writers_in_other_processes)
{
    struct sqlite_fixture sqlite_fixture;
    struct weir_link *writer, *helper;
    pid_t children[PROCESSES];
    struct board *board = mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE,
                               MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int64_t limit_ns = weir_system_now_ns() + WEIR_MINUTES(2);

    check(board != MAP_FAILED);
    sqlite_fixture_open(&sqlite_fixture, A_FILE);
    sqlite_fixture.config.lock_timeout_ns = WEIR_MINUTES(1);
    sqlite_fixture.config.statement_timeout_ns = WEIR_MINUTES(1);
    writer = sqlite_fixture_link(&sqlite_fixture);
    sqlite_fixture_exec(&sqlite_fixture, writer, "CREATE TABLE t (a)");
    sqlite_fixture_unlink(writer); /* no connection crosses the fork */
    board->sqlite_fixture = &sqlite_fixture;
    for (int i = 0; i < PROCESSES; i++)
        children[i] = child_start(insert_until_over, board);
    writer = sqlite_fixture_link(&sqlite_fixture);
    helper = sqlite_fixture_link(&sqlite_fixture);

    for (int round = 0; round < ROUNDS || times_started_anew(&sqlite_fixture) < ANEW_MIN;
         round++) {
        int64_t inserted = atomic_load(&board->inserted);

        atomic_store(&board->allowed, inserted + ROWS_MAX);
        checkpoint(&sqlite_fixture, writer, helper);
        while (atomic_load(&board->inserted) < inserted + PROCESSES) {
            check(weir_system_now_ns() < limit_ns);
            (void)sched_yield();
        }
    }
    atomic_store(&board->over, true);
    for (int i = 0; i < PROCESSES; i++)
        check_int(child_wait(children[i]), 0);

    check_int(sqlite_fixture_ask(&sqlite_fixture, writer, "SELECT count(*) FROM t"),
              atomic_load(&board->inserted));
    check_str(
        sqlite_fixture_peek(sqlite_fixture_native(writer), "PRAGMA integrity_check"),
        "ok");
    sqlite_fixture_unlink(writer);
    sqlite_fixture_unlink(helper);
    munmap(board, sizeof *board);
    sqlite_fixture_close(&sqlite_fixture);
}
