/*
 * sqlite_fixture.h - a SQLite database for one test, used through the bare driver.
 *
 *   struct sqlite_fixture desk;
 *   struct weir_link *link;
 *
 *   sqlite_fixture_open(&desk, A_FILE);             change desk.config if need be
 *   link = sqlite_fixture_link(&desk);
 *   sqlite_fixture_exec(&desk, link, "CREATE TABLE t (a)");
 *   check_int(sqlite_fixture_ask(&desk, link, "SELECT count(*) FROM t"), 0);
 *   sqlite_fixture_unlink(link);
 *   sqlite_fixture_close(&desk);                    fails when memory of a link is left
 */
#ifndef WEIR_TEST_SQLITE_FIXTURE_H
#define WEIR_TEST_SQLITE_FIXTURE_H

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fault_point.h"
#include "base/heap.h"
#include "db/driver.h"
#include "kit/temp_dir.h"
#include "kit/test.h"
#include "unit/ward/captured_log.h"

enum sqlite_fixture_kind { A_FILE, IN_MEMORY };

struct sqlite_fixture {
    struct weir_faulty_heap heap;
    struct captured_log captured_log;
    struct weir_log log;
    struct weir_fault_points points;
    struct weir_link_config config;
    struct weir_error error; /* of the last call that failed */
    char path[256];
};

/* What an endless statement of the tests is. */
#define ENDLESS                                                                          \
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "                   \
    "SELECT count(*) FROM n"

static inline void sqlite_fixture_remove_files(const struct sqlite_fixture *self)
{
    static const char *const ends[] = {"", "-wal", "-shm", "-journal"};
    char name[300];

    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        snprintf(name, sizeof name, "%s%s", self->path, ends[i]);
        (void)remove(name);
    }
}

static inline void sqlite_fixture_open(struct sqlite_fixture *self,
                                       enum sqlite_fixture_kind kind)
{
    static unsigned number;

    memset(self, 0, sizeof *self);
    number++;
    snprintf(self->path, sizeof self->path, "%s/desk-%u.db", temp_dir_of_program(),
             number);
    weir_faulty_heap_init(&self->heap);
    weir_fault_points_init(&self->points);
    self->log = captured_log_open(&self->captured_log);
    self->config = (struct weir_link_config){
        .heap = &self->heap.heap,
        .log = &self->log,
        .points = &self->points,
        .url = {.engine = WEIR_SQLITE, .permissions = 0600},
        .statement_timeout_ns = WEIR_SECONDS(30),
        .lock_timeout_ns = WEIR_SECONDS(10),
        .connect_timeout_ns = WEIR_SECONDS(10),
    };
    self->config.url.path = kind == A_FILE ? self->path : strdup(":memory:");
    snprintf(self->config.memory_name, sizeof self->config.memory_name, "desk-%u",
             number);
}

static inline void sqlite_fixture_close(struct sqlite_fixture *self)
{
    if (self->config.url.path != self->path)
        free(self->config.url.path);
    sqlite_fixture_remove_files(self);
    check_int(atomic_load(&self->heap.outstanding), 0);
}

/* Open one link, which must work. Owes one sqlite_fixture_unlink(). */
static inline struct weir_link *sqlite_fixture_link(struct sqlite_fixture *self)
{
    struct weir_link *link = NULL;

    check_status(weir_driver_sqlite.open(&self->config, &link, &self->error), WEIR_OK);
    check(link != NULL);
    return link;
}

static inline void sqlite_fixture_unlink(struct weir_link *link)
{
    weir_driver_sqlite.close(link);
}

static inline sqlite3 *sqlite_fixture_native(struct weir_link *link)
{
    return weir_driver_sqlite.native(link);
}

static inline enum weir_status
sqlite_fixture_try(struct sqlite_fixture *self, struct weir_link *link, const char *text)
{
    return weir_driver_sqlite.exec(link, text, &self->error);
}

static inline void sqlite_fixture_exec(struct sqlite_fixture *self,
                                       struct weir_link *link, const char *text)
{
    check_status(sqlite_fixture_try(self, link, text), WEIR_OK);
}

/* Prepare and run a statement and read one integer of its first row; -1: there is no
 * row. */
static inline enum weir_status sqlite_fixture_try_ask(struct sqlite_fixture *self,
                                                      struct weir_link *link,
                                                      const char *text, int64_t *out)
{
    const struct weir_driver *driver = &weir_driver_sqlite;
    struct weir_cursor cursor = {0};
    void *prepared = NULL;
    enum weir_status status = driver->prepare(link, text, "", &prepared, &self->error);

    *out = -1;
    if (status != WEIR_OK)
        return status;
    status = driver->run(link, prepared, NULL, &cursor, &self->error);
    if (status == WEIR_OK) {
        status = driver->next(link, &cursor, &self->error);
        if (status == WEIR_OK) {
            struct weir_value value;
            bool fits;

            driver->read(&cursor, 0, WEIR_TYPE_INTEGER, &value, &fits);
            check(fits);
            *out = value.as.integer;
        }
        driver->finish(link, &cursor);
    }
    driver->unprepare(link, prepared);
    return status == WEIR_NO_ROW ? WEIR_OK : status;
}

static inline int64_t sqlite_fixture_ask(struct sqlite_fixture *self,
                                         struct weir_link *link, const char *text)
{
    int64_t answer;

    check_status(sqlite_fixture_try_ask(self, link, text, &answer), WEIR_OK);
    return answer;
}

/* The same past the driver, on any handle; text. Lives until the next call. */
static inline const char *sqlite_fixture_peek(sqlite3 *db, const char *text)
{
    static char answer[128];
    sqlite3_stmt *stmt = NULL;

    check_int(sqlite3_prepare_v2(db, text, -1, &stmt, NULL), SQLITE_OK);
    check_int(sqlite3_step(stmt), SQLITE_ROW);
    snprintf(answer, sizeof answer, "%s", (const char *)sqlite3_column_text(stmt, 0));
    sqlite3_finalize(stmt);
    return answer;
}

/* By name: opening and closing the file would drop SQLite's locks. -1: there is none. */
static inline int64_t sqlite_fixture_file_size(const struct sqlite_fixture *self,
                                               const char *end)
{
    char name[300];
    struct stat about;

    snprintf(name, sizeof name, "%s%s", self->path, end);
    return stat(name, &about) == 0 ? (int64_t)about.st_size : -1;
}

/* A test whose body has `sqlite_fixture`, which is open, and one `link`. */
typedef void (*sqlite_fixture_link_fn)(struct sqlite_fixture *sqlite_fixture,
                                       struct weir_link *link);

static inline void sqlite_fixture_run_link(sqlite_fixture_link_fn body)
{
    struct sqlite_fixture sqlite_fixture;
    struct weir_link *link;

    sqlite_fixture_open(&sqlite_fixture, A_FILE);
    link = sqlite_fixture_link(&sqlite_fixture);
    body(&sqlite_fixture, link);
    sqlite_fixture_unlink(link);
    sqlite_fixture_close(&sqlite_fixture);
}

#define SQLITE_LINK_BODY(subject, claim)                                                 \
    static void subject##__##claim##_body(                                               \
        __attribute__((unused)) struct sqlite_fixture *sqlite_fixture,                   \
        __attribute__((unused)) struct weir_link *link)

#define SQLITE_LINK_TEST(subject, claim)                                                 \
    SQLITE_LINK_BODY(subject, claim);                                                    \
    WEIR_TEST(subject, claim)                                                            \
    {                                                                                    \
        sqlite_fixture_run_link(subject##__##claim##_body);                              \
    }                                                                                    \
    SQLITE_LINK_BODY(subject, claim)

#endif
