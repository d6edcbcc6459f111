/* Tests of db/sqlite/checkpoint.c. */
#include "db/sqlite/checkpoint.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include "contract/db/child.h"
#include "lib/test.h"
#include "unit/db/desk.h"
#include "ward/system.h"

static const struct weir_driver *const driver = &weir_driver_sqlite;

static int64_t wal_size(struct desk *desk, struct weir_link *link)
{
    int64_t size = -1;

    check_status(weir_sqlite_wal_size(link, &size, &desk->error), WEIR_OK);
    return size;
}

static void write_megabytes(struct desk *desk, struct weir_link *link, int count)
{
    check_status(driver->begin(link, WEIR_READ_WRITE, &desk->error), WEIR_OK);
    for (int i = 0; i < count; i++)
        desk_exec(desk, link, "INSERT INTO t VALUES (randomblob(1000000))");
    check_status(driver->commit(link, &desk->error), WEIR_OK);
}

static void checkpoint(struct desk *desk, struct weir_link *writer,
                       struct weir_link *helper)
{
    check_status(weir_sqlite_checkpoint(writer, helper, &desk->error), WEIR_OK);
    check_int(driver->transaction(writer), WEIR_TRANSACTION_NONE);
    check_int(driver->transaction(helper), WEIR_TRANSACTION_NONE);
}

WEIR_TEST(sqlite_checkpoint, moves_the_log_so_that_it_starts_anew)
{
    struct desk desk;
    struct weir_link *writer, *helper;
    int64_t size;

    desk_open(&desk, A_FILE);
    writer = desk_link(&desk);
    helper = desk_link(&desk);
    desk_exec(&desk, writer, "CREATE TABLE t (a)");
    write_megabytes(&desk, writer, 3);
    size = wal_size(&desk, writer);
    check(size > 3000000);

    checkpoint(&desk, writer, helper);
    check(desk_file_size(&desk, "") > 3000000);
    for (int i = 0; i < 3; i++) {
        write_megabytes(&desk, writer, 1);
        checkpoint(&desk, writer, helper);
    }

    check_int(wal_size(&desk, writer), size);
    check_int(desk_ask(&desk, helper, "SELECT count(*) FROM t"), 6);
    desk_unlink(writer);
    desk_unlink(helper);
    desk_close(&desk);
}

/* Otherwise its size would ask for a checkpoint for ever. */
WEIR_TEST(sqlite_checkpoint, lets_a_log_that_has_grown_be_cut)
{
    struct desk desk;
    struct weir_link *writer, *helper;

    desk_open(&desk, A_FILE);
    writer = desk_link(&desk);
    helper = desk_link(&desk);
    desk_exec(&desk, writer, "CREATE TABLE t (a)");
    write_megabytes(&desk, writer, 70);
    check(wal_size(&desk, writer) > WEIR_SQLITE_WAL_SIZE_MAX);

    checkpoint(&desk, writer, helper);
    desk_exec(&desk, writer, "INSERT INTO t VALUES (1)");

    check(wal_size(&desk, writer) <= WEIR_SQLITE_WAL_SIZE_MAX / 2);
    desk_unlink(writer);
    desk_unlink(helper);
    desk_close(&desk);
}

/* The reader neither waits nor loses its snapshot; the rest is moved when it has gone. */
WEIR_TEST(sqlite_checkpoint, leaves_readers_alone)
{
    struct desk desk;
    struct weir_link *writer, *helper, *reader;
    int64_t size;

    desk_open(&desk, A_FILE);
    desk.config.lock_timeout_ns = 1; /* nobody waits here */
    writer = desk_link(&desk);
    helper = desk_link(&desk);
    reader = desk_link(&desk);
    desk_exec(&desk, writer, "CREATE TABLE t (a)");
    write_megabytes(&desk, writer, 1);
    check_status(driver->begin(reader, WEIR_READ_ONLY, &desk.error), WEIR_OK);
    check_int(desk_ask(&desk, reader, "SELECT count(*) FROM t"), 1);
    write_megabytes(&desk, writer, 1);

    checkpoint(&desk, writer, helper);
    check_int(desk_ask(&desk, reader, "SELECT count(*) FROM t"), 1);
    size = wal_size(&desk, writer);
    desk_exec(&desk, writer, "INSERT INTO t VALUES (1)");
    check(wal_size(&desk, writer) > size); /* it could not start anew */

    driver->rollback(reader);
    checkpoint(&desk, writer, helper);
    check_int(desk_ask(&desk, reader, "SELECT count(*) FROM t"), 3);
    desk_unlink(writer);
    desk_unlink(helper);
    desk_unlink(reader);
    desk_close(&desk);
}

WEIR_TEST(sqlite_checkpoint, waits_for_the_write_lock_like_any_writer)
{
    struct desk desk;
    struct weir_link *writer, *helper, *other;

    desk_open(&desk, A_FILE);
    desk.config.lock_timeout_ns = WEIR_MILLISECONDS(2);
    writer = desk_link(&desk);
    helper = desk_link(&desk);
    other = desk_link(&desk);
    check_status(driver->begin(other, WEIR_READ_WRITE, &desk.error), WEIR_OK);

    check_status(weir_sqlite_checkpoint(writer, helper, &desk.error), WEIR_LOCKED);

    desk_unlink(other);
    checkpoint(&desk, writer, helper);
    desk_unlink(writer);
    desk_unlink(helper);
    desk_close(&desk);
}

WEIR_TEST(sqlite_checkpoint, gives_the_lock_back_when_it_fails)
{
    static const char *const points[] = {"db.lose", "db.fail"};

    for (size_t i = 0; i < 2; i++) {
        for (uint64_t n = 1; n <= 3; n++) {
            struct desk desk;
            struct weir_link *writer, *helper, *other;
            enum weir_status status;

            desk_open(&desk, A_FILE);
            desk.config.lock_timeout_ns = 1;
            writer = desk_link(&desk);
            helper = desk_link(&desk);
            other = desk_link(&desk);
            weir_fault_points_arm_once(&desk.points, points[i], n);

            status = weir_sqlite_checkpoint(writer, helper, &desk.error);
            check(n == 3 || status == (i == 0 ? WEIR_LOST : WEIR_FAILED));

            weir_fault_points_init(&desk.points);
            check_status(driver->begin(other, WEIR_READ_WRITE, &desk.error), WEIR_OK);
            desk_unlink(writer);
            desk_unlink(helper);
            desk_unlink(other);
            desk_close(&desk);
        }
    }
}

WEIR_TEST(sqlite_checkpoint, has_nothing_to_do_in_memory)
{
    struct desk desk;
    struct weir_link *writer, *helper;

    desk_open(&desk, IN_MEMORY);
    writer = desk_link(&desk);
    helper = desk_link(&desk);

    checkpoint(&desk, writer, helper);
    check_int(wal_size(&desk, writer), 0);

    desk_unlink(writer);
    desk_unlink(helper);
    desk_close(&desk);
}

/* ---- by writers ---- */

enum { OVER_THE_LIMIT_MB = WEIR_SQLITE_WAL_SIZE_MAX / 1000000 + 2 };

WEIR_TEST(sqlite_writer, that_finds_the_log_over_the_limit_moves_it)
{
    struct desk desk;
    struct weir_link *link;

    desk_open(&desk, A_FILE);
    link = desk_link(&desk);
    desk_exec(&desk, link, "CREATE TABLE t (a)");

    write_megabytes(&desk, link, OVER_THE_LIMIT_MB);

    check(desk_file_size(&desk, "") > WEIR_SQLITE_WAL_SIZE_MAX);
    desk_unlink(link);
    desk_close(&desk);
}

WEIR_TEST(sqlite_writer, without_a_transaction_moves_the_log_as_well)
{
    struct desk desk;
    struct weir_link *link;

    desk_open(&desk, A_FILE);
    link = desk_link(&desk);
    desk_exec(&desk, link, "CREATE TABLE t (a)");

    desk_exec(&desk, link, "INSERT INTO t VALUES (zeroblob(70000000))");

    check(desk_file_size(&desk, "") > WEIR_SQLITE_WAL_SIZE_MAX);
    desk_unlink(link);
    desk_close(&desk);
}

/* A writer that comes upon a reader leaves the log as it is and has committed all the same. */
WEIR_TEST(sqlite_writer, commits_although_the_log_cannot_be_moved)
{
    struct desk desk;
    struct weir_link *link, *reader;

    desk_open(&desk, A_FILE);
    link = desk_link(&desk);
    reader = desk_link(&desk);
    desk_exec(&desk, link, "CREATE TABLE t (a)");
    desk_exec(&desk, reader, "BEGIN");
    check_int(desk_ask(&desk, reader, "SELECT count(*) FROM t"), 0);

    write_megabytes(&desk, link, OVER_THE_LIMIT_MB);
    write_megabytes(&desk, link, 1);

    check(desk_file_size(&desk, "") < WEIR_SQLITE_WAL_SIZE_MAX);
    desk_exec(&desk, reader, "COMMIT");
    check_int(desk_ask(&desk, reader, "SELECT count(*) FROM t"), OVER_THE_LIMIT_MB + 1);
    desk_unlink(reader);
    desk_unlink(link);
    desk_close(&desk);
}

/* ---- with other processes ---- */

enum { PROCESSES = 2, ROUNDS = 100, ANEW_MIN = 5, ROWS_MAX = 100 };

/* In memory that all processes see. There is no queue for SQLite's lock, and who asks for it
 * rarely may not get it from those who ask all the time; so these do no more than ROWS_MAX rows
 * in a round. */
struct board {
    struct desk *desk;
    _Atomic bool over;
    _Atomic int64_t inserted;
    _Atomic int64_t allowed;
};

/* In a child of its own: every row a transaction. */
static int insert_until_over(void *argument)
{
    struct board *board = argument;
    struct weir_link *link = desk_link(board->desk);

    while (!atomic_load(&board->over)) {
        if (atomic_load(&board->inserted) >= atomic_load(&board->allowed)) {
            (void)sched_yield();
            continue;
        }
        desk_exec(board->desk, link, "INSERT INTO t VALUES (randomblob(3000))");
        atomic_fetch_add(&board->inserted, 1);
    }
    desk_unlink(link);
    return 0;
}

/* The log counts that itself, in the bytes 12 to 15. No lock is on this file, so it may be
 * opened. */
static unsigned times_started_anew(const struct desk *desk)
{
    unsigned char count[4];
    char name[300];
    int file;

    snprintf(name, sizeof name, "%s-wal", desk->path);
    file = open(name, O_RDONLY);
    check_int(pread(file, count, sizeof count, 12), sizeof count);
    close(file);
    return (unsigned)count[2] << 8 | count[3];
}

/* Two processes write while this one checkpoints, each time as soon as something was written:
 * nothing is lost, nothing damaged, and the log is started anew again and again. In how many
 * rounds it can be is a matter of luck, so they go on until it was. */
WEIR_TEST(sqlite_checkpoint, works_beside_writers_in_other_processes)
{
    struct desk desk;
    struct weir_link *writer, *helper;
    pid_t children[PROCESSES];
    struct board *board = mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE,
                               MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int64_t limit_ns = weir_system_now_ns() + WEIR_MINUTES(2);

    check(board != MAP_FAILED);
    desk_open(&desk, A_FILE);
    desk.config.lock_timeout_ns = WEIR_MINUTES(1);
    desk.config.statement_timeout_ns = WEIR_MINUTES(1);
    writer = desk_link(&desk);
    desk_exec(&desk, writer, "CREATE TABLE t (a)");
    desk_unlink(writer); /* no connection crosses the fork */
    board->desk = &desk;
    for (int i = 0; i < PROCESSES; i++)
        children[i] = child_start(insert_until_over, board);
    writer = desk_link(&desk);
    helper = desk_link(&desk);

    for (int round = 0; round < ROUNDS || times_started_anew(&desk) < ANEW_MIN; round++) {
        int64_t inserted = atomic_load(&board->inserted);

        atomic_store(&board->allowed, inserted + ROWS_MAX);
        checkpoint(&desk, writer, helper);
        while (atomic_load(&board->inserted) < inserted + PROCESSES) {
            check(weir_system_now_ns() < limit_ns);
            (void)sched_yield();
        }
    }
    atomic_store(&board->over, true);
    for (int i = 0; i < PROCESSES; i++)
        check_int(child_wait(children[i]), 0);

    check_int(desk_ask(&desk, writer, "SELECT count(*) FROM t"),
              atomic_load(&board->inserted));
    check_str(desk_peek(desk_native(writer), "PRAGMA integrity_check"), "ok");
    desk_unlink(writer);
    desk_unlink(helper);
    munmap(board, sizeof *board);
    desk_close(&desk);
}
