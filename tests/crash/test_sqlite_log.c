/*
 * Processes that keep the log of SQLite short and are killed while they do: what was
 * committed is there, once, and the file is sound.
 *
 * A child commits small rows without end. Each commit that has returned is counted in
 * memory that the parent sees. The next child goes on with the same file.
 */
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fault_point.h"
#include "db/sqlite/checkpoint.h"
#include "kit/db/engines.h"
#include "unit/db/sqlite_fixture.h"

struct board {
    struct sqlite_fixture sqlite_fixture;
    _Atomic int64_t committed; /* rows, by all children */
    _Atomic int64_t relieved;  /* checkpoints that have begun, by this child */
    const char *point;         /* where the child is killed; NULL: by the parent */
    uint64_t pass;
};

static void die(void *argument)
{
    (void)argument;
    (void)kill(getpid(), SIGKILL);
}

static void count(void *argument)
{
    struct board *board = argument;

    atomic_fetch_add(&board->relieved, 1);
}

/* A row has its number, so that one that is missing is seen. */
static void commit_without_end(struct board *board)
{
    struct sqlite_fixture *sqlite_fixture = &board->sqlite_fixture;
    struct weir_link *link;

    weir_fault_points_init(&sqlite_fixture->points);
    if (board->point != NULL)
        weir_fault_points_arm_call(&sqlite_fixture->points, board->point, board->pass,
                                   die, NULL);
    else
        weir_fault_points_arm_call(&sqlite_fixture->points, "log.relieve", 1, count,
                                   board);
    link = sqlite_fixture_link(sqlite_fixture);
    for (;;) {
        sqlite_fixture_exec(sqlite_fixture, link,
                            "INSERT INTO t (data) VALUES (randomblob(9000))");
        atomic_fetch_add(&board->committed, 1);
    }
}

static pid_t start(struct board *board)
{
    pid_t pid;

    atomic_store(&board->relieved, 0);
    pid = fork();
    check(pid >= 0);
    if (pid == 0) {
        commit_without_end(board);
        _exit(1);
    }
    return pid;
}

static void wait_for_death(pid_t pid)
{
    int ended = 0;

    check_int(waitpid(pid, &ended, 0), pid);
    check(WIFSIGNALED(ended) && WTERMSIG(ended) == SIGKILL);
}

/* The last commit of each child may have happened although it was not counted. */
static void check_file(struct board *board, int64_t children)
{
    struct sqlite_fixture *sqlite_fixture = &board->sqlite_fixture;
    struct weir_link *link = sqlite_fixture_link(sqlite_fixture);
    int64_t rows = sqlite_fixture_ask(sqlite_fixture, link, "SELECT count(*) FROM t");
    int64_t committed = atomic_load(&board->committed);

    check_in_range(rows, committed, committed + children);
    check_int(sqlite_fixture_ask(sqlite_fixture, link, "SELECT max(id) FROM t"), rows);
    check_str(sqlite_fixture_peek(sqlite_fixture_native(link), "PRAGMA integrity_check"),
              "ok");
    sqlite_fixture_unlink(link);
}

static struct board *open_board(void)
{
    struct board *board = mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE,
                               MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct weir_link *link;

    check(board != MAP_FAILED);
    sqlite_fixture_open(&board->sqlite_fixture, A_FILE);
    link = sqlite_fixture_link(&board->sqlite_fixture);
    sqlite_fixture_exec(&board->sqlite_fixture, link,
                        "CREATE TABLE t (id INTEGER PRIMARY KEY AUTOINCREMENT, data)");
    sqlite_fixture_unlink(link); /* no connection crosses the fork */
    return board;
}

static void close_board(struct board *board)
{
    sqlite_fixture_remove_files(&board->sqlite_fixture);
    munmap(board, sizeof *board);
}

WEIR_TEST(sqlite_log, survives_a_kill_in_front_of_and_behind_its_checkpoint)
{
    static const char *const POINTS[] = {"log.relieve", "log.relieved"};
    struct board *board = open_board();
    int64_t children = 0;

    for (uint64_t pass = 1; pass <= 2; pass++) {
        for (size_t i = 0; i < 2; i++) {
            board->point = POINTS[i];
            board->pass = pass;
            wait_for_death(start(board));
            check_file(board, ++children);
        }
    }
    close_board(board);
}

/* At any moment, since a checkpoint writes many pages: as soon as the child has begun
 * with one, or a little later. */
WEIR_TEST(sqlite_log, survives_a_kill_within_its_checkpoint)
{
    enum { CHILDREN = 8 };
    struct board *board = open_board();

    for (int64_t n = 1; n <= CHILDREN; n++) {
        pid_t pid = start(board);

        wait_until(atomic_load(&board->relieved) > 0);
        for (int64_t spin = 0; spin < n * 20000; spin++)
            (void)atomic_load(&board->committed);
        check_int(kill(pid, SIGKILL), 0);
        wait_for_death(pid);
        check_file(board, n);
    }
    close_board(board);
}
