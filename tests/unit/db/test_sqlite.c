/* Tests of db/sqlite/driver.c: settings, opening, adopting, durability. */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <sys/wait.h>
#include <unistd.h>

#include "db/connection.h"
#include "kit/alloc_failures.h"
#include "kit/test.h"
#include "unit/db/sqlite_fixture.h"

static const struct weir_driver *const driver = &weir_driver_sqlite;

static struct weir_link *adopt(struct sqlite_fixture *sqlite_fixture, sqlite3 *db)
{
    struct weir_link *link = NULL;

    check_status(
        driver->adopt(&sqlite_fixture->config, db, &link, &sqlite_fixture->error),
        WEIR_OK);
    return link;
}

static sqlite3 *open_as_application(const struct sqlite_fixture *sqlite_fixture)
{
    sqlite3 *db = NULL;

    check_int(sqlite3_open(sqlite_fixture->path, &db), SQLITE_OK);
    return db;
}

static void run_as_application(sqlite3 *db, const char *text)
{
    check_int(sqlite3_exec(db, text, NULL, NULL, NULL), SQLITE_OK);
}

/* ---- permissions ---- */

static int permissions_of(const struct sqlite_fixture *sqlite_fixture, const char *end)
{
    char name[300];
    struct stat about;

    snprintf(name, sizeof name, "%s%s", sqlite_fixture->path, end);
    check_int(stat(name, &about), 0);
    return about.st_mode & 0777;
}

/* Under a umask that would let everybody write. */
static struct weir_link *link_without_umask(struct sqlite_fixture *sqlite_fixture)
{
    mode_t mask = umask(0);
    struct weir_link *link = sqlite_fixture_link(sqlite_fixture);

    sqlite_fixture_exec(sqlite_fixture, link,
                        "CREATE TABLE t (a); INSERT INTO t VALUES (1)");
    umask(mask);
    return link;
}

WEIR_TEST(sqlite, makes_files_for_their_owner_alone)
{
    struct sqlite_fixture sqlite_fixture;
    struct weir_link *link;

    sqlite_fixture_open(&sqlite_fixture, A_FILE);
    link = link_without_umask(&sqlite_fixture);
    check_int(permissions_of(&sqlite_fixture, ""), 0600);
    check_int(permissions_of(&sqlite_fixture, "-wal"), 0600);
    check_int(permissions_of(&sqlite_fixture, "-shm"), 0600);
    sqlite_fixture_unlink(link);
    sqlite_fixture_close(&sqlite_fixture);
}

WEIR_TEST(sqlite, makes_files_with_the_permissions_that_are_asked_for)
{
    struct sqlite_fixture sqlite_fixture;
    struct weir_link *link;
    mode_t mask = umask(077);

    sqlite_fixture_open(&sqlite_fixture, A_FILE);
    sqlite_fixture.config.url.permissions = 0660;
    link = sqlite_fixture_link(&sqlite_fixture);
    sqlite_fixture_exec(&sqlite_fixture, link, "CREATE TABLE t (a)");
    umask(mask);
    check_int(permissions_of(&sqlite_fixture, ""), 0660);
    check_int(permissions_of(&sqlite_fixture, "-wal"), 0660);
    check_int(permissions_of(&sqlite_fixture, "-shm"), 0660);
    sqlite_fixture_unlink(link);
    sqlite_fixture_close(&sqlite_fixture);
}

WEIR_TEST(sqlite, leaves_the_permissions_of_a_file_that_is_there)
{
    struct sqlite_fixture sqlite_fixture;
    struct weir_link *link;
    sqlite3 *application;

    sqlite_fixture_open(&sqlite_fixture, A_FILE);
    application = open_as_application(&sqlite_fixture);
    run_as_application(application, "CREATE TABLE a (b)");
    check_int(sqlite3_close(application), SQLITE_OK);
    check_int(chmod(sqlite_fixture.path, 0644), 0);
    link = link_without_umask(&sqlite_fixture);
    check_int(permissions_of(&sqlite_fixture, ""), 0644);
    sqlite_fixture_unlink(link);
    sqlite_fixture_close(&sqlite_fixture);
}

WEIR_TEST(sqlite, makes_the_file_behind_a_symbolic_link_for_its_owner_alone)
{
    char behind[300];
    struct sqlite_fixture sqlite_fixture;
    struct weir_link *link;

    sqlite_fixture_open(&sqlite_fixture, A_FILE);
    snprintf(behind, sizeof behind, "%s-real", strrchr(sqlite_fixture.path, '/') + 1);
    check_int(symlink(behind, sqlite_fixture.path), 0);
    link = link_without_umask(&sqlite_fixture);
    check_int(permissions_of(&sqlite_fixture, "-real"), 0600);
    check_int(permissions_of(&sqlite_fixture, "-real-wal"), 0600);
    sqlite_fixture_unlink(link);
    snprintf(behind, sizeof behind, "%s-real", sqlite_fixture.path);
    check_int(remove(behind), 0);
    sqlite_fixture_close(&sqlite_fixture);
}

/* Nothing else is left in the folder. */
SQLITE_LINK_TEST(sqlite, makes_a_file_under_its_own_name_only)
{
    char pattern[300];
    glob_t found;

    snprintf(pattern, sizeof pattern, "%s-new*", sqlite_fixture->path);
    check_int(glob(pattern, 0, NULL, &found), GLOB_NOMATCH);
}

/* ---- opening ---- */

WEIR_TEST(sqlite, shares_a_memory_database_between_its_connections)
{
    struct sqlite_fixture sqlite_fixture;
    struct weir_link *anna, *bert;

    sqlite_fixture_open(&sqlite_fixture, IN_MEMORY);
    anna = sqlite_fixture_link(&sqlite_fixture);
    bert = sqlite_fixture_link(&sqlite_fixture);

    sqlite_fixture_exec(&sqlite_fixture, anna,
                        "CREATE TABLE t (a); INSERT INTO t VALUES (1), (2)");
    check_int(sqlite_fixture_ask(&sqlite_fixture, bert, "SELECT count(*) FROM t"), 2);

    sqlite_fixture_unlink(anna);
    check_int(sqlite_fixture_ask(&sqlite_fixture, bert, "SELECT count(*) FROM t"), 2);
    sqlite_fixture_unlink(bert);
    sqlite_fixture_close(&sqlite_fixture);
}

WEIR_TEST(sqlite, keeps_memory_databases_apart_by_name)
{
    struct sqlite_fixture mine, yours;
    struct weir_link *anna, *bert;

    sqlite_fixture_open(&mine, IN_MEMORY);
    sqlite_fixture_open(&yours, IN_MEMORY);
    anna = sqlite_fixture_link(&mine);
    bert = sqlite_fixture_link(&yours);

    sqlite_fixture_exec(&mine, anna, "CREATE TABLE t (a)");
    check_status(sqlite_fixture_try(&yours, bert, "SELECT a FROM t"), WEIR_SCHEMA);

    sqlite_fixture_unlink(anna);
    sqlite_fixture_unlink(bert);
    sqlite_fixture_close(&mine);
    sqlite_fixture_close(&yours);
}

static int option_of(sqlite3 *db, int name)
{
    int value = -1;

    check_int(sqlite3_db_config(db, name, -1, &value), SQLITE_OK);
    return value;
}

SQLITE_LINK_TEST(sqlite, really_has_the_settings_it_asks_for)
{
    sqlite3 *db;

    db = sqlite_fixture_native(link);

    check_str(sqlite_fixture_peek(db, "PRAGMA journal_mode"), "wal");
    check_str(sqlite_fixture_peek(db, "PRAGMA synchronous"), "2");
    check_str(sqlite_fixture_peek(db, "PRAGMA foreign_keys"), "1");
    check_str(sqlite_fixture_peek(db, "PRAGMA temp_store"), "2");
    check_str(sqlite_fixture_peek(db, "PRAGMA wal_autocheckpoint"), "0");
    check_str(sqlite_fixture_peek(db, "PRAGMA journal_size_limit"), "33554432");
    check_int(option_of(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE), 1);
    check_int(option_of(db, SQLITE_DBCONFIG_DEFENSIVE), 1);
    check_int(option_of(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA), 0);
}

/* Far more pages than an automatic checkpoint waits for, and then the last close. */
WEIR_TEST(sqlite, never_checkpoints_by_itself)
{
    struct sqlite_fixture sqlite_fixture;
    struct weir_link *link;
    int64_t database_size;

    sqlite_fixture_open(&sqlite_fixture, A_FILE);
    link = sqlite_fixture_link(&sqlite_fixture);
    sqlite_fixture_exec(&sqlite_fixture, link, "CREATE TABLE t (a)");
    database_size = sqlite_fixture_file_size(&sqlite_fixture, "");
    for (int i = 0; i < 5; i++)
        sqlite_fixture_exec(&sqlite_fixture, link,
                            "INSERT INTO t VALUES (zeroblob(2000000))");

    sqlite_fixture_unlink(link);

    check_int(sqlite_fixture_file_size(&sqlite_fixture, ""), database_size);
    check(sqlite_fixture_file_size(&sqlite_fixture, "-wal") > 10000000);
    sqlite_fixture_close(&sqlite_fixture);
}

static enum weir_status open_path(struct sqlite_fixture *sqlite_fixture, const char *path)
{
    struct weir_link *link = NULL;
    enum weir_status status;

    sqlite_fixture->config.url.path = (char *)(uintptr_t)path;
    status = driver->open(&sqlite_fixture->config, &link, &sqlite_fixture->error);
    check((status == WEIR_OK) == (link != NULL));
    if (link != NULL)
        sqlite_fixture_unlink(link);
    sqlite_fixture->config.url.path = sqlite_fixture->path;
    return status;
}

static void write_file(const char *path, const char *content)
{
    FILE *file = fopen(path, "wb");

    check(file != NULL);
    fputs(content, file);
    fclose(file);
}

WEIR_TEST(sqlite, says_what_is_wrong_with_a_path)
{
    struct sqlite_fixture sqlite_fixture;
    char path[300];

    sqlite_fixture_open(&sqlite_fixture, A_FILE);

    snprintf(path, sizeof path, "%s-no-such-folder/app.db", sqlite_fixture.path);
    check_status(open_path(&sqlite_fixture, path), WEIR_SCHEMA);
    check_int(sqlite_fixture.error.native_code & 0xff, SQLITE_CANTOPEN);
    check(strncmp(sqlite_fixture.error.text, "open: ", 6) == 0);

    check_status(open_path(&sqlite_fixture, temp_dir_of_program()), WEIR_SCHEMA);

    write_file(sqlite_fixture.path,
               "This is a letter and no database, and long enough for a header. "
               "Dear reader, many thanks for yours of the 4th.");
    check_status(open_path(&sqlite_fixture, sqlite_fixture.path), WEIR_SCHEMA);
    check_int(sqlite_fixture.error.native_code, SQLITE_NOTADB);

    sqlite_fixture_close(&sqlite_fixture);
}

/* Permissions mean nothing to root, so somebody else opens it. */
static enum weir_status open_with_mode(struct sqlite_fixture *sqlite_fixture, mode_t mode)
{
    bool is_root = geteuid() == 0;
    enum weir_status status;

    check_int(chmod(sqlite_fixture->path, mode), 0);
    check_int(is_root ? seteuid(65534) : 0, 0);
    status = open_path(sqlite_fixture, sqlite_fixture->path);
    check_int(is_root ? seteuid(0) : 0, 0);
    return status;
}

WEIR_TEST(sqlite, is_denied_a_file_it_may_not_write)
{
    struct sqlite_fixture sqlite_fixture;

    sqlite_fixture_open(&sqlite_fixture, A_FILE);
    write_file(sqlite_fixture.path, "");

    check_status(open_with_mode(&sqlite_fixture, 0444), WEIR_DENIED);
    check_status(open_with_mode(&sqlite_fixture, 0000), WEIR_DENIED);

    sqlite_fixture_close(&sqlite_fixture);
}

/* With Debian's SQLite this would otherwise be a database in memory. */
WEIR_TEST(sqlite, takes_a_path_for_a_path_and_not_for_a_uri)
{
    struct sqlite_fixture sqlite_fixture;
    int here = open(".", O_RDONLY | O_DIRECTORY);

    sqlite_fixture_open(&sqlite_fixture, A_FILE);
    check(here >= 0);
    check_int(chdir(temp_dir_of_program()), 0);

    check_status(open_path(&sqlite_fixture, "file:app.db?mode=memory"), WEIR_OK);
    check_int(access("file:app.db?mode=memory", F_OK), 0);

    check_int(remove("file:app.db?mode=memory"), 0);
    (void)remove("file:app.db?mode=memory-wal");
    (void)remove("file:app.db?mode=memory-shm");
    check_int(fchdir(here), 0);
    close(here);
    sqlite_fixture_close(&sqlite_fixture);
}

/* Each of them wants to switch the new file to WAL. They start when the pipe is
 * closed. */
WEIR_TEST(sqlite, is_opened_first_by_many_processes_at_once)
{
    enum { PROCESSES = 8, ROUNDS = 10 };
    struct sqlite_fixture sqlite_fixture;

    for (int round = 0; round < ROUNDS; round++) {
        pid_t children[PROCESSES];
        int start[2];
        char byte;

        sqlite_fixture_open(&sqlite_fixture, A_FILE);
        check_int(pipe(start), 0);
        for (int i = 0; i < PROCESSES; i++) {
            children[i] = fork();
            check(children[i] >= 0);
            if (children[i] == 0) {
                close(start[1]);
                (void)!read(start[0], &byte, 1);
                _exit((int)open_path(&sqlite_fixture, sqlite_fixture.path));
            }
        }
        close(start[0]);
        close(start[1]);
        for (int i = 0; i < PROCESSES; i++) {
            int how = 0;

            check_int(waitpid(children[i], &how, 0), children[i]);
            check(WIFEXITED(how));
            check_status((enum weir_status)WEXITSTATUS(how), WEIR_OK);
        }
        sqlite_fixture_close(&sqlite_fixture);
    }
}

static enum weir_status open_and_close(const struct weir_heap *heap)
{
    struct sqlite_fixture sqlite_fixture;
    struct weir_link *link = NULL;
    enum weir_status status;

    sqlite_fixture_open(&sqlite_fixture, IN_MEMORY);
    sqlite_fixture.config.heap = heap;
    status = driver->open(&sqlite_fixture.config, &link, &sqlite_fixture.error);
    if (link != NULL)
        sqlite_fixture_unlink(link);
    sqlite_fixture_close(&sqlite_fixture);
    return status;
}

WEIR_TEST(sqlite, survives_any_failing_allocation)
{
    check_alloc_failures(open_and_close);
}

/* ---- adopting ---- */

/* The first test that adopts: what it looks for happens once in a process. */
WEIR_TEST(sqlite_adopted, warns_once_of_automatic_checkpoints)
{
    struct sqlite_fixture sqlite_fixture;
    sqlite3 *db;

    sqlite_fixture_open(&sqlite_fixture, A_FILE);
    db = open_as_application(&sqlite_fixture);

    run_as_application(db, "PRAGMA wal_autocheckpoint=0");
    sqlite_fixture_unlink(adopt(&sqlite_fixture, db));
    check_int(
        captured_log_count(&sqlite_fixture.captured_log, WEIR_LOG_WARNING, "checkpoint"),
        0);

    run_as_application(db, "PRAGMA wal_autocheckpoint=500");
    sqlite_fixture_unlink(adopt(&sqlite_fixture, db));
    sqlite_fixture_unlink(adopt(&sqlite_fixture, db));
    check_int(captured_log_count(&sqlite_fixture.captured_log, WEIR_LOG_WARNING,
                                 "wal_autocheckpoint=500"),
              sqlite3_libversion_number() < 3051003 ? 1 : 0);

    sqlite3_close(db);
    sqlite_fixture_close(&sqlite_fixture);
}

WEIR_TEST(sqlite_adopted, refuses_a_handle_that_is_none)
{
    struct sqlite_fixture sqlite_fixture;
    struct weir_link *link = NULL;

    sqlite_fixture_open(&sqlite_fixture, A_FILE);

    check_status(
        driver->adopt(&sqlite_fixture.config, NULL, &link, &sqlite_fixture.error),
        WEIR_INVALID);

    check(link == NULL);
    sqlite_fixture_close(&sqlite_fixture);
}

static const char *const LOOKED_AT[] = {
    "PRAGMA journal_mode",       "PRAGMA synchronous",        "PRAGMA foreign_keys",
    "PRAGMA temp_store",         "PRAGMA wal_autocheckpoint", "PRAGMA trusted_schema",
    "PRAGMA busy_timeout",       "PRAGMA journal_size_limit", "PRAGMA cache_size",
    "PRAGMA recursive_triggers",
};
enum { LOOKED_AT_COUNT = sizeof LOOKED_AT / sizeof LOOKED_AT[0] };

WEIR_TEST(sqlite_adopted, leaves_every_setting_and_no_statement_behind)
{
    struct sqlite_fixture sqlite_fixture;
    sqlite3 *db;
    struct weir_link *link;
    char before[LOOKED_AT_COUNT][128];
    void *prepared = NULL;
    struct weir_cursor cursor;

    sqlite_fixture_open(&sqlite_fixture, A_FILE);
    sqlite_fixture.config.log = NULL;
    db = open_as_application(&sqlite_fixture);
    run_as_application(db, "CREATE TABLE t (a); PRAGMA busy_timeout=1234");
    for (size_t i = 0; i < LOOKED_AT_COUNT; i++)
        strcpy(before[i], sqlite_fixture_peek(db, LOOKED_AT[i]));

    link = adopt(&sqlite_fixture, db);
    check_status(driver->prepare(link, "INSERT INTO t VALUES (?1)", "i", &prepared,
                                 &sqlite_fixture.error),
                 WEIR_OK);
    check_status(driver->run(link, prepared, (struct weir_value[]){weir_integer(7)},
                             &cursor, &sqlite_fixture.error),
                 WEIR_OK);
    driver->finish(link, &cursor);
    driver->unprepare(link, prepared);
    driver->close(link);

    for (size_t i = 0; i < LOOKED_AT_COUNT; i++)
        check_str(sqlite_fixture_peek(db, LOOKED_AT[i]), before[i]);
    check_int(option_of(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE), 0);
    check_int(option_of(db, SQLITE_DBCONFIG_DEFENSIVE), 0);
    check(sqlite3_next_stmt(db, NULL) == NULL);
    check_int(sqlite3_close(db), SQLITE_OK);
    sqlite_fixture_close(&sqlite_fixture);
}

static int count_call(void *argument)
{
    ++*(int *)argument;
    return 0;
}

static int count_busy(void *argument, int attempt)
{
    (void)attempt;
    ++*(int *)argument;
    return 0;
}

WEIR_TEST(sqlite_adopted, asks_the_applications_handlers_and_not_ours)
{
    struct sqlite_fixture sqlite_fixture;
    sqlite3 *db;
    struct weir_link *other, *link;
    int busy_count = 0, progress_count = 0;

    sqlite_fixture_open(&sqlite_fixture, A_FILE);
    other = sqlite_fixture_link(&sqlite_fixture);
    sqlite_fixture_exec(&sqlite_fixture, other, "CREATE TABLE t (a)");
    db = open_as_application(&sqlite_fixture);
    sqlite3_busy_handler(db, count_busy, &busy_count);
    sqlite3_progress_handler(db, 1, count_call, &progress_count);
    link = adopt(&sqlite_fixture, db);
    check_status(driver->begin(other, WEIR_READ_WRITE, &sqlite_fixture.error), WEIR_OK);

    check_status(sqlite_fixture_try(&sqlite_fixture, link, "INSERT INTO t VALUES (1)"),
                 WEIR_LOCKED);
    check_int(busy_count, 1);
    check(progress_count > 0);

    sqlite_fixture_unlink(link);
    sqlite_fixture_unlink(other);
    sqlite3_close(db);
    sqlite_fixture_close(&sqlite_fixture);
}

/* The third row violates the constraint: the first two go too, what the application did
 * stays. */
WEIR_TEST(sqlite_adopted, takes_back_a_failed_batch_and_nothing_else)
{
    struct sqlite_fixture sqlite_fixture;
    sqlite3 *db;
    struct weir_link *link;
    struct weir_value rows[] = {weir_integer(2), weir_integer(3), weir_integer(1)};
    void *prepared = NULL;
    int64_t changed = -1;

    sqlite_fixture_open(&sqlite_fixture, A_FILE);
    db = open_as_application(&sqlite_fixture);
    run_as_application(db, "CREATE TABLE t (a UNIQUE); BEGIN; INSERT INTO t VALUES (1)");
    link = adopt(&sqlite_fixture, db);
    check_status(driver->prepare(link, "INSERT INTO t VALUES (?1)", "i", &prepared,
                                 &sqlite_fixture.error),
                 WEIR_OK);

    check_status(
        driver->run_many(link, prepared, rows, 3, 1, &changed, &sqlite_fixture.error),
        WEIR_CONSTRAINT);
    check_int(changed, 0);
    check_status(
        driver->run_many(link, prepared, rows, 2, 1, &changed, &sqlite_fixture.error),
        WEIR_OK);
    check_int(changed, 2);

    driver->unprepare(link, prepared);
    sqlite_fixture_unlink(link);
    check_int(sqlite3_get_autocommit(db), 0);
    run_as_application(db, "COMMIT");
    check_str(sqlite_fixture_peek(db, "SELECT group_concat(a) FROM t"), "1,2,3");
    sqlite3_close(db);
    sqlite_fixture_close(&sqlite_fixture);
}

WEIR_TEST(sqlite_adopted, reads_the_text_of_a_utf16_file_as_utf8)
{
    struct sqlite_fixture sqlite_fixture;
    sqlite3 *db;
    struct weir_link *link;
    void *prepared = NULL;
    struct weir_cursor cursor;
    struct weir_value value;
    bool fits;

    sqlite_fixture_open(&sqlite_fixture, A_FILE);
    db = open_as_application(&sqlite_fixture);
    run_as_application(db, "PRAGMA encoding='UTF-16le'; CREATE TABLE t (a);"
                           "INSERT INTO t VALUES ('gr\xc3\xbc\xc3\x9f')");
    link = adopt(&sqlite_fixture, db);
    check_status(
        driver->prepare(link, "SELECT a FROM t", "", &prepared, &sqlite_fixture.error),
        WEIR_OK);
    check_status(driver->run(link, prepared, NULL, &cursor, &sqlite_fixture.error),
                 WEIR_OK);
    check_status(driver->next(link, &cursor, &sqlite_fixture.error), WEIR_OK);

    driver->read(&cursor, 0, WEIR_TYPE_BYTES, &value, &fits);
    check(fits);
    check(weir_str_equal(value.as.text, weir_str("gr\xc3\xbc\xc3\x9f")));

    driver->finish(link, &cursor);
    driver->unprepare(link, prepared);
    sqlite_fixture_unlink(link);
    sqlite3_close(db);
    sqlite_fixture_close(&sqlite_fixture);
}

/* ---- durability ---- */

struct findings {
    size_t count;
    char last[128];
};

static void note_finding(void *state, const struct weir_finding *finding)
{
    struct findings *self = state;

    self->count++;
    snprintf(self->last, sizeof self->last, "%s: %s, not %s", finding->setting,
             finding->found, finding->needed);
}

static struct findings find(struct sqlite_fixture *sqlite_fixture, struct weir_link *link)
{
    struct findings findings = {0};

    check_status(
        driver->durability(link, note_finding, &findings, &sqlite_fixture->error),
        WEIR_OK);
    return findings;
}

SQLITE_LINK_TEST(sqlite_durability, has_nothing_to_say_of_our_own_files)
{
    check_int(find(sqlite_fixture, link).count, 0);
}

WEIR_TEST(sqlite_durability, says_that_memory_forgets)
{
    struct sqlite_fixture sqlite_fixture;
    struct weir_link *link;
    struct findings findings;

    sqlite_fixture_open(&sqlite_fixture, IN_MEMORY);
    link = sqlite_fixture_link(&sqlite_fixture);

    findings = find(&sqlite_fixture, link);
    check_int(findings.count, 1);
    check_str(findings.last, "memory database: yes, not a file");

    sqlite_fixture_unlink(link);
    sqlite_fixture_close(&sqlite_fixture);
}

WEIR_TEST(sqlite_durability, finds_weak_settings_of_the_application)
{
    static const struct {
        const char *set;
        const char *finding;
    } cases[] = {
        {"PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL", ""},
        {"PRAGMA synchronous=NORMAL", "synchronous: normal, not full"},
        {"PRAGMA synchronous=OFF", "synchronous: off, not full"},
        {"PRAGMA journal_mode=DELETE; PRAGMA synchronous=FULL",
         "synchronous: full, not extra"},
        {"PRAGMA synchronous=EXTRA", ""},
        {"PRAGMA journal_mode=TRUNCATE; PRAGMA synchronous=FULL", ""},
        {"PRAGMA journal_mode=MEMORY", "journal_mode: memory, not wal"},
        {"PRAGMA journal_mode=OFF", "journal_mode: off, not wal"},
    };
    struct sqlite_fixture sqlite_fixture;
    sqlite3 *db;
    struct weir_link *link;

    sqlite_fixture_open(&sqlite_fixture, A_FILE);
    db = open_as_application(&sqlite_fixture);
    link = adopt(&sqlite_fixture, db);

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct findings findings;

        run_as_application(db, cases[i].set);
        findings = find(&sqlite_fixture, link);
        check_str(findings.last, cases[i].finding);
        check_int(findings.count, cases[i].finding[0] != '\0');
    }

    sqlite_fixture_unlink(link);
    sqlite3_close(db);
    sqlite_fixture_close(&sqlite_fixture);
}
