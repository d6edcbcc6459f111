/*
 * Tests of db/wake.c about the files of SQLite: where they are, when they come and go,
 * and what a commit does to them in which order.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <sqlite3.h>

#include "base/fault_point.h"
#include "contract/db/wake_fixture.h"

/* Somebody else who uses SQLite as it is. Hired before the test has threads or
 * connections. */
struct hand {
    char path[PATH_MAX];
    pid_t pid;
    int orders[2];
    int answers[2];
};
enum { COMMIT_BY_DEFAULTS = 'd', COMMIT_SLOWLY = 's', LOCK_THE_FILE = 'l', GO_ON = 'g' };

static void hand_hire(struct hand *self, struct fixture *fixture);
static void hand_order(struct hand *self, char order); /* and wait for the answer */
static void hand_dismiss(struct hand *self);

static void run(const char *path, const char *sql);
static void make_table(const char *path);
static void wait_ms(int duration_ms);
static struct weir_db *open_at(struct fixture *fixture, const char *url);

/* ---- nothing happens --------------------------------------------------------------- */

/* Every call into SQLite passes "db.fail", and none is made: neither by the wake nor,
 * since it is not signalled, by the worker. */
SQLITE_TEST(wake, runs_no_statement_while_nothing_changes)
{
    struct weir_fault_points points;
    struct wake_fixture wake_fixture;
    uint64_t calls;
    uint64_t signals;

    make_table(fixture->database);
    weir_fault_points_init(&points);
    weir_fault_points_arm_once(&points, "db.fail", UINT64_MAX);
    weir_db_set_fault_points(fixture->db, &points);
    wake_fixture_hang(&wake_fixture, fixture->db, WEIR_MILLISECONDS(10));
    check_in_range(atomic_load(&points.armed[0].passed), 1, 1000);

    calls = atomic_load(&points.armed[0].passed);
    signals =
        wake_fixture_info(&wake_fixture).polls + wake_fixture_info(&wake_fixture).hints;
    wait_ms(2000);

    check_int(atomic_load(&points.armed[0].passed), calls);
    check_int(wake_fixture_info(&wake_fixture).polls +
                  wake_fixture_info(&wake_fixture).hints,
              signals);
    wake_fixture_take_down(&wake_fixture);
    weir_db_set_fault_points(fixture->db, NULL);
}

/* Nor by events of other files in the same folder. */
SQLITE_TEST(wake, does_not_care_for_other_files)
{
    struct weir_fault_points points;
    char other[PATH_MAX];
    FILE *file;
    struct wake_fixture wake_fixture;
    uint64_t looks;

    make_table(fixture->database);
    weir_fault_points_init(&points);
    weir_fault_points_arm_once(&points, "watch.deaf", UINT64_MAX);
    weir_db_set_fault_points(fixture->db, &points);
    wake_fixture_hang(&wake_fixture, fixture->db, WEIR_HOURS(1));
    wait_ms(20);
    looks = atomic_load(&points.armed[0].passed);

    snprintf(other, sizeof other, "%s.log", fixture->database);
    file = fopen(other, "we");
    check(file != NULL);
    for (int i = 0; i < 100; i++)
        check(fprintf(file, "line %d\n", i) > 0 && fflush(file) == 0);
    wait_ms(100);

    check_int(atomic_load(&points.armed[0].passed), looks);
    wake_fixture_take_down(&wake_fixture);
    weir_db_set_fault_points(fixture->db, NULL);
    (void)fclose(file);
    (void)unlink(other);
}

/* ---- where the files are ----------------------------------------------------------- */

/* Commits are made under the file's full name, whatever the wake was told. */
static void hears_at(struct fixture *fixture, const char *url, const char *full_name)
{
    char name[PATH_MAX];
    struct weir_db *db;
    struct wake_fixture wake_fixture;

    snprintf(name, sizeof name, "%s", full_name);
    make_table(name);
    db = open_at(fixture, url);
    wake_fixture_hang(&wake_fixture, db, WEIR_HOURS(1));

    run(name, "INSERT INTO weir_item (name) VALUES ('x')");
    wait_until(atomic_load(&wake_fixture.seen) == 1);

    wake_fixture_take_down(&wake_fixture);
    weir_db_destroy(db);
}

SQLITE_TEST(wake, hears_of_a_file_by_a_relative_path)
{
    char before[PATH_MAX];
    char full_name[PATH_MAX];

    check(getcwd(before, sizeof before) != NULL);
    check_int(chdir(server_folder()), 0);
    check(mkdir("drawer", 0755) == 0 || errno == EEXIST);
    snprintf(full_name, sizeof full_name, "%s/relative.db", server_folder());
    hears_at(fixture, "sqlite:relative.db", full_name);
    snprintf(full_name, sizeof full_name, "%s/drawer/deep er.db", server_folder());
    hears_at(fixture, "sqlite:drawer/deep er.db", full_name);
    snprintf(full_name, sizeof full_name, "%s/drawer/file:odd", server_folder());
    check_int(chdir("drawer"), 0);
    hears_at(fixture, "sqlite:file:odd", full_name);

    check_int(chdir(before), 0);
}

/* The log stands beside the file, not beside the link. */
SQLITE_TEST(wake, hears_of_a_file_behind_a_symbolic_link)
{
    char full_name[PATH_MAX];
    char link[PATH_MAX];
    char url[PATH_MAX + 8];

    snprintf(full_name, sizeof full_name, "%s/cellar", server_folder());
    check(mkdir(full_name, 0755) == 0 || errno == EEXIST);
    snprintf(full_name, sizeof full_name, "%s/cellar/real.db", server_folder());
    snprintf(link, sizeof link, "%s/link.db", server_folder());
    check(symlink("cellar/real.db", link) == 0 || errno == EEXIST);
    snprintf(url, sizeof url, "sqlite:%.*s", PATH_MAX - 1, link);

    hears_at(fixture, url, full_name);
}

/* ---- when they come and go --------------------------------------------------------- */

/* The last one who leaves removes log and index; the first one who comes makes them. */
SQLITE_TEST(wake, hears_when_there_was_no_log_at_first)
{
    char log[PATH_MAX];
    struct hand hand;
    struct wake_fixture wake_fixture;

    make_table(fixture->database); /* and leaves */
    hand_hire(&hand, fixture);
    snprintf(log, sizeof log, "%s-wal", fixture->database);
    check_int(access(log, F_OK), -1);
    wake_fixture_hang(&wake_fixture, fixture->db, WEIR_HOURS(1));

    for (int i = 1; i <= 5; i++) {
        hand_order(&hand, COMMIT_BY_DEFAULTS);
        wait_until(atomic_load(&wake_fixture.seen) == i);
    }

    wake_fixture_take_down(&wake_fixture);
    hand_dismiss(&hand);
}

/* A log that is cut to nothing, and one that starts anew at its beginning without
 * growing. */
SQLITE_TEST(wake, hears_when_the_log_starts_anew)
{
    static const char *const CHECKPOINTS[] = {
        "PRAGMA wal_checkpoint(TRUNCATE)", "PRAGMA wal_checkpoint(RESTART)",
        "PRAGMA wal_checkpoint(FULL)", "PRAGMA wal_checkpoint(PASSIVE)"};
    struct wake_fixture wake_fixture;

    make_table(fixture->database);
    wake_fixture_hang(&wake_fixture, fixture->db, WEIR_HOURS(1));

    for (int i = 1; i <= 12; i++) {
        run(fixture->database, CHECKPOINTS[i % 4]);
        run(fixture->database, "INSERT INTO weir_item (name) VALUES ('x')");
        wait_until(atomic_load(&wake_fixture.seen) == i);
    }

    wake_fixture_take_down(&wake_fixture);
}

/* Somebody puts another database in its place, from a backup perhaps. */
SQLITE_TEST(wake, hears_of_a_file_that_was_replaced)
{
    static const char *const ENDS[] = {"", "-wal", "-shm"};
    struct wake_fixture wake_fixture;

    make_table(fixture->database);
    wake_fixture_hang(&wake_fixture, fixture->db, WEIR_HOURS(1));

    for (int i = 0; i < 3; i++) {
        char path[PATH_MAX];

        snprintf(path, sizeof path, "%s%s", fixture->database, ENDS[i]);
        check_int(unlink(path), 0);
    }
    wait_until(wake_fixture_info(&wake_fixture).reconnects == 1);
    make_table(fixture->database);
    for (uint64_t i = 1; i <= 5; i++) {
        uint64_t hints = wake_fixture_info(&wake_fixture).hints;

        run(fixture->database, "INSERT INTO weir_item (name) VALUES ('x')");
        wait_until(wake_fixture_info(&wake_fixture).hints > hints);
    }

    wake_fixture_take_down(&wake_fixture);
}

/* ---- in which order a commit is done ----------------------------------------------- */

/*
 * The log is written, and inotify tells; then it is flushed, which may take long; and
 * only then the commit can be seen, of which inotify tells nothing.
 */
SQLITE_TEST(wake, hears_of_a_commit_that_took_long_to_flush)
{
    static const int FLUSH_MS[] = {1, 5, 30, 200};
    struct hand hand;
    struct wake_fixture wake_fixture;

    make_table(fixture->database);
    hand_hire(&hand, fixture);
    wake_fixture_hang(&wake_fixture, fixture->db, WEIR_HOURS(1));

    for (int i = 0; i < 4; i++) {
        hand_order(&hand, COMMIT_SLOWLY); /* the log is written */
        wait_ms(FLUSH_MS[i]);
        check_int(atomic_load(&wake_fixture.seen), i);
        hand_order(&hand, GO_ON);
        wait_until(atomic_load(&wake_fixture.seen) == i + 1);
    }

    wake_fixture_take_down(&wake_fixture);
    hand_dismiss(&hand);
}

/* However long: when nobody expects it any more, the poll finds it. */
SQLITE_TEST(wake, polls_for_a_commit_that_was_seen_long_after_its_log_was_written)
{
    struct weir_fault_points points;
    struct hand hand;
    struct wake_fixture wake_fixture;

    make_table(fixture->database);
    hand_hire(&hand, fixture);
    weir_fault_points_init(&points);
    weir_fault_points_arm(&points, "watch.deaf", 1);
    weir_db_set_fault_points(fixture->db, &points);
    wake_fixture_hang(&wake_fixture, fixture->db, WEIR_MILLISECONDS(20));

    hand_order(&hand, COMMIT_SLOWLY);
    wait_ms(500); /* many polls that find nothing */
    hand_order(&hand, GO_ON);

    wait_until(atomic_load(&wake_fixture.seen) == 1);
    check_int(wake_fixture_info(&wake_fixture).hints, 0);
    wake_fixture_take_down(&wake_fixture);
    weir_db_set_fault_points(fixture->db, NULL);
    hand_dismiss(&hand);
}

/* ---- signals ----------------------------------------------------------------------- */

/* The log is written, the commit can be seen long after no look is expected any more, and
 * the process that has committed says so. */
SQLITE_TEST(wake, hears_the_signal_of_a_commit_that_no_look_has_found)
{
    struct hand hand;
    struct wake_fixture wake_fixture;

    make_table(fixture->database);
    hand_hire(&hand, fixture);
    wake_fixture_hang(&wake_fixture, fixture->db, WEIR_HOURS(1));

    hand_order(&hand, COMMIT_SLOWLY);
    wait_ms(4000); /* the pauses between looks sum up to 3 s */
    hand_order(&hand, GO_ON);
    weir_wake_signal(fixture->db, "weir");

    wait_until(atomic_load(&wake_fixture.seen) == 1);
    wake_fixture_take_down(&wake_fixture);
    hand_dismiss(&hand);
}

/* Each of them, also while the log is not written to. */
SQLITE_TEST(wake, looks_at_each_signal)
{
    struct weir_fault_points points;
    struct wake_fixture wake_fixture;

    make_table(fixture->database);
    weir_fault_points_init(&points);
    weir_fault_points_arm_once(&points, "watch.deaf", UINT64_MAX);
    weir_db_set_fault_points(fixture->db, &points);
    wake_fixture_hang(&wake_fixture, fixture->db, WEIR_HOURS(1));

    for (int i = 0; i < 20; i++) {
        uint64_t looks = atomic_load(&points.armed[0].passed);

        weir_wake_signal(fixture->db, "weir");
        wait_until(atomic_load(&points.armed[0].passed) > looks);
    }

    wake_fixture_take_down(&wake_fixture);
    weir_db_set_fault_points(fixture->db, NULL);
}

/* As another program may: it is made again, and commits are heard meanwhile. */
SQLITE_TEST(wake, lives_without_its_side_file)
{
    char path[PATH_MAX];
    struct wake_fixture wake_fixture;

    make_table(fixture->database);
    snprintf(path, sizeof path, "%s-weir", fixture->database);
    wake_fixture_hang(&wake_fixture, fixture->db, WEIR_HOURS(1));

    for (int i = 1; i <= 3; i++) {
        check_int(unlink(path), 0);
        run(fixture->database, "INSERT INTO weir_item (name) VALUES ('x')");
        wait_until(atomic_load(&wake_fixture.seen) == i);
        wait_until(access(path, F_OK) == 0);
    }

    wake_fixture_take_down(&wake_fixture);
}

/* A process that may not make the file, or use it, hears commits all the same. */
SQLITE_TEST(wake, hears_commits_where_there_can_be_no_side_file)
{
    char path[PATH_MAX];
    struct wake_fixture wake_fixture;

    make_table(fixture->database);
    snprintf(path, sizeof path, "%s-weir", fixture->database);
    (void)unlink(path);
    check_int(mkdir(path, 0700), 0);
    wake_fixture_hang(&wake_fixture, fixture->db, WEIR_HOURS(1));

    for (int i = 1; i <= 3; i++) {
        run(fixture->database, "INSERT INTO weir_item (name) VALUES ('x')");
        weir_wake_signal(fixture->db, "weir");
        wait_until(atomic_load(&wake_fixture.seen) == i);
    }

    wake_fixture_take_down(&wake_fixture);
    check_int(rmdir(path), 0);
}

/* ---- when it cannot be opened ------------------------------------------------------ */

/* Neither polls nor stop() wait for the lock, though everybody else would, for an
 * hour. */
SQLITE_TEST(wake, polls_and_stops_while_the_file_is_locked)
{
    struct weir_db_options options = fixture_options(fixture);
    struct weir_wake_options wake_options;
    struct hand hand;
    struct weir_db *db;
    struct wake_fixture wake_fixture;

    hand_hire(&hand, fixture);
    hand_order(&hand, LOCK_THE_FILE);
    options.lock_timeout_ns = WEIR_HOURS(1);
    options.connect_timeout_ns = WEIR_HOURS(1);
    db = fixture_open(fixture, &options);
    wake_fixture_make(&wake_fixture, db);
    wake_options = wake_fixture_options(&wake_fixture);
    wake_options.poll_ns = WEIR_MILLISECONDS(20);

    check_status(weir_wake_start(&wake_options, &wake_fixture.wake, NULL), WEIR_OK);
    wait_until(wake_fixture_info(&wake_fixture).polls >= 20);
    check(!wake_fixture_info(&wake_fixture).listening);
    weir_wake_stop(wake_fixture.wake);
    check_status(weir_wake_start(&wake_options, &wake_fixture.wake, NULL), WEIR_OK);
    hand_order(&hand, GO_ON);

    wait_until(wake_fixture_info(&wake_fixture).listening);
    wake_fixture_take_down(&wake_fixture);
    weir_db_destroy(db);
    hand_dismiss(&hand);
}

SQLITE_TEST(wake, polls_a_database_in_memory)
{
    struct weir_wake_options options;
    struct weir_db *db = open_at(fixture, "sqlite::memory:");
    struct wake_fixture wake_fixture;

    wake_fixture_make(&wake_fixture, db);
    options = wake_fixture_options(&wake_fixture);
    check_status(weir_wake_start(&options, &wake_fixture.wake, NULL), WEIR_OK);

    wait_until(wake_fixture_info(&wake_fixture).polls >= 5);

    check(!wake_fixture_info(&wake_fixture).listening);
    wake_fixture_take_down(&wake_fixture);
    weir_db_destroy(db);
}

/* ---- the hand ---------------------------------------------------------------------- */

enum { LOG_HEADER_SIZE = 32 };

/* In the child: a disk that flushes when it is told to, with SQLite's own files but for
 * xSync of the log. */
static struct {
    struct hand *hand;
    sqlite3_vfs vfs;
    int (*open)(sqlite3_vfs *, const char *, sqlite3_file *, int, int *);
    sqlite3_io_methods methods;
    int (*sync)(sqlite3_file *, int);
} disk;

static bool tell_and_wait(struct hand *hand)
{
    char order;

    return write(hand->answers[1], "!", 1) == 1 &&
           read(hand->orders[0], &order, 1) == 1 && order == GO_ON;
}

/* The header of a new log is flushed by itself, before anything of the commit is
 * written. */
static int flush_when_told(sqlite3_file *file, int flags)
{
    sqlite3_int64 size = 0;

    if (file->pMethods->xFileSize(file, &size) != SQLITE_OK ||
        (size > LOG_HEADER_SIZE && !tell_and_wait(disk.hand)))
        return SQLITE_IOERR_FSYNC;
    return disk.sync(file, flags);
}

static int open_with_slow_log(sqlite3_vfs *vfs, const char *name, sqlite3_file *file,
                              int flags, int *out_flags)
{
    int code = disk.open(vfs, name, file, flags, out_flags);

    if (code == SQLITE_OK && (flags & SQLITE_OPEN_WAL) != 0) {
        disk.methods = *file->pMethods;
        disk.sync = disk.methods.xSync;
        disk.methods.xSync = flush_when_told;
        file->pMethods = &disk.methods;
    }
    return code;
}

static int register_slow_disk(struct hand *hand)
{
    disk.hand = hand;
    disk.vfs = *sqlite3_vfs_find(NULL);
    disk.open = disk.vfs.xOpen;
    disk.vfs.zName = "slow";
    disk.vfs.xOpen = open_with_slow_log;
    return sqlite3_vfs_register(&disk.vfs, 0);
}

/* With the settings that SQLite has by itself, and one checkpoint per commit. */
static const char BY_DEFAULTS[] = "PRAGMA wal_autocheckpoint=1; "
                                  "INSERT INTO weir_item (name) VALUES ('x')";
static const char SLOWLY[] = "PRAGMA wal_autocheckpoint=0; PRAGMA synchronous=FULL; "
                             "INSERT INTO weir_item (name) VALUES ('x')";
static const char LOCKED[] = "PRAGMA journal_mode=DELETE; PRAGMA locking_mode=EXCLUSIVE; "
                             "BEGIN EXCLUSIVE; CREATE TABLE weir_item "
                             "(id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT)";

static bool hand_obey(struct hand *self, char order)
{
    const char *vfs = order == COMMIT_SLOWLY ? "slow" : NULL;
    const char *sql = order == COMMIT_SLOWLY   ? SLOWLY
                      : order == LOCK_THE_FILE ? LOCKED
                                               : BY_DEFAULTS;
    sqlite3 *handle;
    bool done;

    if (sqlite3_open_v2(self->path, &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
                        vfs) != SQLITE_OK)
        return false;
    sqlite3_busy_timeout(handle, 60000);
    if (order == COMMIT_SLOWLY)
        (void)sqlite3_db_config(handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    done = sqlite3_exec(handle, sql, NULL, NULL, NULL) == SQLITE_OK;
    if (done && order == LOCK_THE_FILE)
        done = tell_and_wait(self) &&
               sqlite3_exec(handle, "COMMIT", NULL, NULL, NULL) == SQLITE_OK;
    return sqlite3_close(handle) == SQLITE_OK && done;
}

static int hand_work(void *argument)
{
    struct hand *self = argument;
    char order;

    (void)close(self->orders[1]);
    if (register_slow_disk(self) != SQLITE_OK)
        return 1;
    while (read(self->orders[0], &order, 1) == 1) {
        if (!hand_obey(self, order))
            return 2;
        if (write(self->answers[1], "!", 1) != 1)
            return 3;
    }
    return 0;
}

static void hand_hire(struct hand *self, struct fixture *fixture)
{
    snprintf(self->path, sizeof self->path, "%s", fixture->database);
    check_int(pipe2(self->orders, O_CLOEXEC), 0);
    check_int(pipe2(self->answers, O_CLOEXEC), 0);
    self->pid = child_start(hand_work, self);
    (void)close(self->orders[0]);
    (void)close(self->answers[1]);
}

static void hand_order(struct hand *self, char order)
{
    char answer;

    check_int(write(self->orders[1], &order, 1), 1);
    check_int(read(self->answers[0], &answer, 1), 1);
}

static void hand_dismiss(struct hand *self)
{
    (void)close(self->orders[1]);
    check_int(child_wait(self->pid), 0);
    (void)close(self->answers[0]);
}

/* ---- helpers ----------------------------------------------------------------------- */

/* By SQLite itself, in this process: as an application would. */
static void run(const char *path, const char *sql)
{
    sqlite3 *handle = NULL;

    check_int(sqlite3_open(path, &handle), SQLITE_OK);
    sqlite3_busy_timeout(handle, 60000);
    check_int(sqlite3_exec(handle, sql, NULL, NULL, NULL), SQLITE_OK);
    check_int(sqlite3_close(handle), SQLITE_OK);
}

static void make_table(const char *path)
{
    run(path, "PRAGMA journal_mode=WAL; CREATE TABLE IF NOT EXISTS weir_item "
              "(id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT)");
}

static void wait_ms(int duration_ms)
{
    (void)poll(NULL, 0, duration_ms);
}

static struct weir_db *open_at(struct fixture *fixture, const char *url)
{
    struct weir_db_options options = fixture_options(fixture);

    options.url = url;
    return fixture_open(fixture, &options);
}
