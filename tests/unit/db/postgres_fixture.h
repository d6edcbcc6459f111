/*
 * postgres_fixture.h - a PostgreSQL database for one test, used through the bare driver.
 *
 *   struct postgres_fixture stall;
 *   struct weir_link *link;
 *
 *   postgres_fixture_open(&stall);                   change stall.config if need be
 *   link = postgres_fixture_link(&stall);
 *   postgres_fixture_exec(&stall, link, "CREATE TABLE t (a bigint)");
 *   check_int(postgres_fixture_ask(&stall, link, "SELECT count(*) FROM t"), 0);
 *   postgres_fixture_unlink(link);
 *   postgres_fixture_close(&stall);                  fails when memory of a link is left
 */
#ifndef WEIR_TEST_POSTGRES_FIXTURE_H
#define WEIR_TEST_POSTGRES_FIXTURE_H

#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault_point.h"
#include "base/heap.h"
#include "db/driver.h"
#include "db/postgres/link.h"
#include "kit/server/server.h"
#include "kit/test.h"
#include "unit/ward/captured_log.h"

struct postgres_fixture {
    struct server *server; /* borrowed */
    char database[64];
    char url[SERVER_URL_SIZE];
    struct weir_faulty_heap heap;
    struct captured_log captured_log;
    struct weir_log log;
    struct weir_fault_points points;
    struct weir_link_config config;
    struct weir_error error; /* of the last call that failed */
};

static const struct weir_driver *const pg = &weir_driver_postgresql;

/* The call ended with this status; prints stall.error when it did not. */
#define check_postgres_fixture(postgres_fixture, expr, want)                             \
    postgres_fixture_check(__FILE__, __LINE__, #expr, (postgres_fixture), (expr), (want))

static inline void postgres_fixture_check(const char *file, int line, const char *text,
                                          const struct postgres_fixture *postgres_fixture,
                                          enum weir_status got, enum weir_status want)
{
    if (got != want)
        weir_test_fail(file, line, "%s: got %s, want %s: %s (\"%s\")", text,
                       weir_status_name(got), weir_status_name(want),
                       postgres_fixture->error.text, postgres_fixture->error.sqlstate);
}

/* On another server, which has no such database yet. */
static inline void postgres_fixture_open_on(struct postgres_fixture *self,
                                            struct server *server)
{
    memset(self, 0, sizeof *self);
    self->server = server;
    server_name_database(self->database, sizeof self->database);
    server_create_database(server, self->database);
    server_url(server, self->database, self->url, sizeof self->url);
    weir_faulty_heap_init(&self->heap);
    weir_fault_points_init(&self->points);
    self->log = captured_log_open(&self->captured_log);
    self->config = (struct weir_link_config){
        .heap = &self->heap.heap,
        .log = &self->log,
        .points = &self->points,
        .url = {.engine = WEIR_POSTGRESQL, .conninfo = self->url},
        .statement_timeout_ns = WEIR_SECONDS(30),
        .lock_timeout_ns = WEIR_SECONDS(10),
        .connect_timeout_ns = WEIR_SECONDS(10),
    };
}

static inline void postgres_fixture_open(struct postgres_fixture *self)
{
    postgres_fixture_open_on(self, server_shared(WEIR_POSTGRESQL));
}

static inline void postgres_fixture_close(struct postgres_fixture *self)
{
    server_drop_database(self->server, self->database);
    check_int(atomic_load(&self->heap.outstanding), 0);
}

/* Open one link, which must work. Owes one postgres_fixture_unlink(). */
static inline struct weir_link *postgres_fixture_link(struct postgres_fixture *self)
{
    struct weir_link *link = NULL;

    check_postgres_fixture(self, pg->open(&self->config, &link, &self->error), WEIR_OK);
    check(link != NULL);
    return link;
}

/* Wrap a connection of the application's. Owes one postgres_fixture_unlink(), too. */
static inline struct weir_link *postgres_fixture_adopt(struct postgres_fixture *self,
                                                       PGconn *connection)
{
    struct weir_link *link = NULL;

    check_postgres_fixture(
        self, pg->adopt(&self->config, connection, &link, &self->error), WEIR_OK);
    return link;
}

static inline void postgres_fixture_unlink(struct weir_link *link)
{
    pg->close(link);
}

static inline struct weir_pg_link *postgres_fixture_inside(struct weir_link *link)
{
    return (struct weir_pg_link *)link;
}

/* A connection of the application's. Owes one PQfinish(). */
static inline PGconn *postgres_fixture_application(const struct postgres_fixture *self)
{
    PGconn *connection = PQconnectdb(self->url);

    check_int(PQstatus(connection), CONNECTION_OK);
    return connection;
}

/* Something the application does, which must work. */
static inline void postgres_fixture_apply(PGconn *connection, const char *text)
{
    PGresult *result = PQexec(connection, text);
    ExecStatusType status = PQresultStatus(result);

    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
        weir_test_fail(__FILE__, __LINE__, "%s: %s", text, PQerrorMessage(connection));
    PQclear(result);
}

static inline enum weir_status postgres_fixture_try(struct postgres_fixture *self,
                                                    struct weir_link *link,
                                                    const char *text)
{
    return pg->exec(link, text, &self->error);
}

static inline void postgres_fixture_exec(struct postgres_fixture *self,
                                         struct weir_link *link, const char *text)
{
    check_postgres_fixture(self, postgres_fixture_try(self, link, text), WEIR_OK);
}

static inline void *postgres_fixture_prepare(struct postgres_fixture *self,
                                             struct weir_link *link, const char *text,
                                             const char *letters)
{
    void *prepared = NULL;

    check_postgres_fixture(
        self, pg->prepare(link, text, letters, &prepared, &self->error), WEIR_OK);
    return prepared;
}

/* Run a statement and drop its rows. */
static inline enum weir_status postgres_fixture_run(struct postgres_fixture *self,
                                                    struct weir_link *link,
                                                    void *prepared,
                                                    const struct weir_value *values)
{
    struct weir_cursor cursor = {0};
    enum weir_status status = pg->run(link, prepared, values, &cursor, &self->error);

    if (status == WEIR_OK)
        pg->finish(link, &cursor);
    return status;
}

/* Run a statement and read the first column of its first row. Text lives until the next
 * call; a value that does not fit, or no row, is a null. */
static inline enum weir_status
postgres_fixture_try_read(struct postgres_fixture *self, struct weir_link *link,
                          void *prepared, const struct weir_value *values,
                          enum weir_type wanted, struct weir_value *out)
{
    static char text[1024];
    struct weir_cursor cursor = {0};
    bool fits;
    enum weir_status status = pg->run(link, prepared, values, &cursor, &self->error);

    *out = weir_null();
    if (status != WEIR_OK)
        return status;
    if (pg->next(link, &cursor, &self->error) == WEIR_OK)
        pg->read(&cursor, 0, wanted, out, &fits);
    if (out->type == WEIR_TYPE_TEXT || out->type == WEIR_TYPE_BYTES) {
        check(out->as.text.size < sizeof text);
        memcpy(text, out->as.text.data, out->as.text.size);
        text[out->as.text.size] = '\0';
        out->as.text.data = text;
    }
    pg->finish(link, &cursor);
    return WEIR_OK;
}

static inline struct weir_value postgres_fixture_read(struct postgres_fixture *self,
                                                      struct weir_link *link,
                                                      const char *text,
                                                      enum weir_type wanted)
{
    void *prepared = postgres_fixture_prepare(self, link, text, "");
    struct weir_value value;

    check_postgres_fixture(
        self, postgres_fixture_try_read(self, link, prepared, NULL, wanted, &value),
        WEIR_OK);
    pg->unprepare(link, prepared);
    return value;
}

static inline int64_t postgres_fixture_ask(struct postgres_fixture *self,
                                           struct weir_link *link, const char *text)
{
    struct weir_value value = postgres_fixture_read(self, link, text, WEIR_TYPE_INTEGER);

    check_int(value.type, WEIR_TYPE_INTEGER);
    return value.as.integer;
}

static inline const char *postgres_fixture_text(struct postgres_fixture *self,
                                                struct weir_link *link, const char *text)
{
    struct weir_value value = postgres_fixture_read(self, link, text, WEIR_TYPE_TEXT);

    check_int(value.type, WEIR_TYPE_TEXT);
    return value.as.text.data;
}

/* From outside: what is committed. */
static inline int64_t postgres_fixture_peek(const struct postgres_fixture *self,
                                            const char *text)
{
    return server_query(self->server, self->database, text);
}

/* A test whose body has `postgres_fixture`, which is open, and one `link`. */
typedef void (*postgres_fixture_link_fn)(struct postgres_fixture *postgres_fixture,
                                         struct weir_link *link);

static inline void postgres_fixture_run_link(postgres_fixture_link_fn body)
{
    struct postgres_fixture postgres_fixture;
    struct weir_link *link;

    postgres_fixture_open(&postgres_fixture);
    link = postgres_fixture_link(&postgres_fixture);
    body(&postgres_fixture, link);
    postgres_fixture_unlink(link);
    postgres_fixture_close(&postgres_fixture);
}

#define POSTGRES_LINK_BODY(subject, claim)                                               \
    static void subject##__##claim##_body(                                               \
        __attribute__((unused)) struct postgres_fixture *postgres_fixture,               \
        __attribute__((unused)) struct weir_link *link)

#define POSTGRES_LINK_TEST(subject, claim)                                               \
    POSTGRES_LINK_BODY(subject, claim);                                                  \
    WEIR_TEST(subject, claim)                                                            \
    {                                                                                    \
        postgres_fixture_run_link(subject##__##claim##_body);                            \
    }                                                                                    \
    POSTGRES_LINK_BODY(subject, claim)

#endif
