/*
 * mariadb_fixture.h - a MariaDB database for one test, used through the bare driver.
 *
 *   struct mariadb_fixture jetty;
 *   struct weir_link *link;
 *
 *   mariadb_fixture_open(&jetty, server_shared(WEIR_MARIADB));   change jetty.config if
 *                                                                need be
 *   link = mariadb_fixture_link(&jetty);
 *   mariadb_fixture_exec(&jetty, link, "CREATE TABLE t (a BIGINT)");
 *   check_int(mariadb_fixture_ask(&jetty, link, "SELECT count(*) FROM t"), 0);
 *   mariadb_fixture_unlink(link);
 *   mariadb_fixture_close(&jetty);                               fails when memory of a
 *                                                                link is left
 */
#ifndef WEIR_TEST_MARIADB_FIXTURE_H
#define WEIR_TEST_MARIADB_FIXTURE_H

#include <mysql.h>
#include <stdio.h>
#include <string.h>

#include "base/fault_point.h"
#include "base/heap.h"
#include "db/driver.h"
#include "kit/db/engines.h"
#include "kit/server/server.h"
#include "kit/test.h"

struct mariadb_fixture {
    struct server *server; /* borrowed */
    char database[64];
    struct weir_faulty_heap heap;
    struct weir_fault_points points;
    struct weir_link_config config;
    struct weir_error error; /* of the last call that failed */
};

/* The call ended with this status; prints the error of the fixture if it did not. */
#define check_mariadb_fixture(mariadb_fixture, expr, want)                               \
    mariadb_fixture_check((mariadb_fixture), __LINE__, #expr, (expr), (want))

static inline void mariadb_fixture_check(const struct mariadb_fixture *self, int line,
                                         const char *text, enum weir_status got,
                                         enum weir_status want)
{
    if (got != want)
        weir_test_fail("jetty", line, "%s: got %s, want %s: %s (%d)", text,
                       weir_status_name(got), weir_status_name(want), self->error.text,
                       (int)self->error.native_code);
}

static inline void mariadb_fixture_open(struct mariadb_fixture *self,
                                        struct server *server)
{
    char url[SERVER_URL_SIZE];

    memset(self, 0, sizeof *self);
    self->server = server;
    server_name_database(self->database, sizeof self->database);
    server_create_database(server, self->database);
    server_url(server, self->database, url, sizeof url);
    weir_faulty_heap_init(&self->heap);
    weir_fault_points_init(&self->points);
    self->config = (struct weir_link_config){
        .heap = &self->heap.heap,
        .points = &self->points,
        .statement_timeout_ns = WEIR_SECONDS(30),
        .lock_timeout_ns = WEIR_SECONDS(10),
        .connect_timeout_ns = WEIR_SECONDS(10),
    };
    check_status(weir_url_parse(weir_heap_system(), url, &self->config.url, &self->error),
                 WEIR_OK);
}

static inline void mariadb_fixture_close(struct mariadb_fixture *self)
{
    server_drop_database(self->server, self->database);
    weir_url_fini(weir_heap_system(), &self->config.url);
    check_int(atomic_load(&self->heap.outstanding), 0);
}

/* Open one link, which must work. Owes one mariadb_fixture_unlink(). */
static inline struct weir_link *mariadb_fixture_link(struct mariadb_fixture *self)
{
    struct weir_link *link = NULL;

    mariadb_fixture_check(self, 0, "open",
                          weir_driver_mariadb.open(&self->config, &link, &self->error),
                          WEIR_OK);
    return link;
}

static inline void mariadb_fixture_unlink(struct weir_link *link)
{
    weir_driver_mariadb.close(link);
}

static inline enum weir_status mariadb_fixture_try(struct mariadb_fixture *self,
                                                   struct weir_link *link,
                                                   const char *text)
{
    return weir_driver_mariadb.exec(link, text, &self->error);
}

static inline void mariadb_fixture_exec(struct mariadb_fixture *self,
                                        struct weir_link *link, const char *text)
{
    mariadb_fixture_check(self, 0, text, mariadb_fixture_try(self, link, text), WEIR_OK);
}

static inline void *mariadb_fixture_prepare(struct mariadb_fixture *self,
                                            struct weir_link *link, const char *text,
                                            const char *parameters)
{
    void *prepared = NULL;

    mariadb_fixture_check(
        self, 0, text,
        weir_driver_mariadb.prepare(link, text, parameters, &prepared, &self->error),
        WEIR_OK);
    return prepared;
}

/* Prepare and run a statement once and drop its rows. */
static inline enum weir_status
mariadb_fixture_run(struct mariadb_fixture *self, struct weir_link *link,
                    const char *text, const char *parameters,
                    const struct weir_value *values, int64_t *changed)
{
    void *prepared = mariadb_fixture_prepare(self, link, text, parameters);
    struct weir_cursor cursor = {0};
    enum weir_status status =
        weir_driver_mariadb.run(link, prepared, values, &cursor, &self->error);

    if (status == WEIR_OK) {
        if (changed != NULL)
            *changed = cursor.changed;
        weir_driver_mariadb.finish(link, &cursor);
    }
    weir_driver_mariadb.unprepare(link, prepared);
    return status;
}

/* The first column of the first row. */
static inline int64_t mariadb_fixture_ask(struct mariadb_fixture *self,
                                          struct weir_link *link, const char *text)
{
    void *prepared = mariadb_fixture_prepare(self, link, text, "");
    struct weir_cursor cursor = {0};
    struct weir_value value;
    bool fits;

    mariadb_fixture_check(
        self, 0, text,
        weir_driver_mariadb.run(link, prepared, NULL, &cursor, &self->error), WEIR_OK);
    mariadb_fixture_check(self, 0, text,
                          weir_driver_mariadb.next(link, &cursor, &self->error), WEIR_OK);
    weir_driver_mariadb.read(&cursor, 0, WEIR_TYPE_INTEGER, &value, &fits);
    check(fits);
    weir_driver_mariadb.finish(link, &cursor);
    weir_driver_mariadb.unprepare(link, prepared);
    return value.as.integer;
}

/* The same past the driver, as a text, which lives until the next call. */
static inline const char *mariadb_fixture_peek(MYSQL *mysql, const char *text)
{
    static char answer[512];
    MYSQL_RES *result;
    MYSQL_ROW row;

    if (mysql_query(mysql, text) != 0)
        weir_test_fail("jetty", 0, "%s: %s", text, mysql_error(mysql));
    result = mysql_store_result(mysql);
    row = result != NULL ? mysql_fetch_row(result) : NULL;
    snprintf(answer, sizeof answer, "%s", row != NULL && row[0] != NULL ? row[0] : "");
    mysql_free_result(result);
    return answer;
}

/* A connection of the application's. Owes a mysql_close(). */
static inline MYSQL *mariadb_fixture_handle(struct mariadb_fixture *self,
                                            const char *character_set)
{
    MYSQL *mysql = mysql_init(NULL);

    mysql_options(mysql, MYSQL_SET_CHARSET_NAME, character_set);
    if (mysql_real_connect(mysql, "127.0.0.1", SERVER_USER, SERVER_PASSWORD,
                           self->database, server_port(self->server), NULL, 0) == NULL)
        weir_test_fail("jetty", 0, "connect: %s", mysql_error(mysql));
    return mysql;
}

/* A test whose body has `mariadb_fixture`, which is open, and one `link`. */
typedef void (*mariadb_fixture_link_fn)(struct mariadb_fixture *mariadb_fixture,
                                        struct weir_link *link);

static inline void mariadb_fixture_run_link(mariadb_fixture_link_fn body)
{
    struct mariadb_fixture mariadb_fixture;
    struct weir_link *link;

    mariadb_fixture_open(&mariadb_fixture, server_shared(WEIR_MARIADB));
    link = mariadb_fixture_link(&mariadb_fixture);
    body(&mariadb_fixture, link);
    mariadb_fixture_unlink(link);
    mariadb_fixture_close(&mariadb_fixture);
}

#define MARIADB_LINK_BODY(subject, claim)                                                \
    static void subject##__##claim##_body(                                               \
        __attribute__((unused)) struct mariadb_fixture *mariadb_fixture,                 \
        __attribute__((unused)) struct weir_link *link)

#define MARIADB_LINK_TEST(subject, claim)                                                \
    MARIADB_LINK_BODY(subject, claim);                                                   \
    WEIR_TEST(subject, claim)                                                            \
    {                                                                                    \
        mariadb_fixture_run_link(subject##__##claim##_body);                             \
    }                                                                                    \
    MARIADB_LINK_BODY(subject, claim)

#endif
