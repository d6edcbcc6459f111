/*
 * engines.h - the same test on SQLite, PostgreSQL and MariaDB.
 *
 *   ENGINE_TEST(transaction, is_seen_by_others_once_committed)
 *   {
 *       struct weir_connection *connection = fixture_take(fixture);
 *
 *       fixture_execute(fixture, connection, "CREATE TABLE {p}_item (id $integer)");
 *       check_db(weir_connection_begin(connection, &fixture->error), WEIR_OK);
 *       ...
 *       check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_item"), 1);
 *
 *       fixture_give(fixture, connection);
 *   }
 *
 * makes three tests, `transaction__is_seen_by_others_once_committed_on_sqlite` and so
 * on. Each gets an empty database of its own, on the run's server or in a file, and a
 * weir_db on it whose heap counts: what the body leaves behind fails the test.
 * SERVER_TEST makes the two with a server, SQLITE_TEST, POSTGRESQL_TEST and
 * MARIADB_TEST one each.
 */
#ifndef WEIR_TEST_ENGINES_H
#define WEIR_TEST_ENGINES_H

#include <stdint.h>

#include "base/heap.h"
#include "db/connection.h"
#include "kit/server/server.h"
#include "kit/test.h"

struct fixture {
    enum weir_engine engine;
    struct server *server;           /* borrowed; NULL on SQLite */
    char database[SERVER_PATH_SIZE]; /* its name, or the file */
    char url[SERVER_URL_SIZE];
    struct weir_faulty_heap heap; /* of `db` */
    struct weir_db *db;
    struct weir_error error; /* for the test's calls; check_db() prints it */
    struct fixture *before;  /* of the test before: never freed, but not lost either */
};

typedef void (*fixture_fn)(struct fixture *fixture);

#define ENGINE_TEST(subject, claim)                                                      \
    FIXTURE_BODY(subject, claim);                                                        \
    FIXTURE_CASE(subject, claim, sqlite, WEIR_SQLITE)                                    \
    FIXTURE_CASE(subject, claim, postgresql, WEIR_POSTGRESQL)                            \
    FIXTURE_CASE(subject, claim, mariadb, WEIR_MARIADB)                                  \
    FIXTURE_BODY(subject, claim)

#define SERVER_TEST(subject, claim)                                                      \
    FIXTURE_BODY(subject, claim);                                                        \
    FIXTURE_CASE(subject, claim, postgresql, WEIR_POSTGRESQL)                            \
    FIXTURE_CASE(subject, claim, mariadb, WEIR_MARIADB)                                  \
    FIXTURE_BODY(subject, claim)

#define SQLITE_TEST(subject, claim) FIXTURE_ONE(subject, claim##_on_sqlite, WEIR_SQLITE)
#define POSTGRESQL_TEST(subject, claim)                                                  \
    FIXTURE_ONE(subject, claim##_on_postgresql, WEIR_POSTGRESQL)
#define MARIADB_TEST(subject, claim)                                                     \
    FIXTURE_ONE(subject, claim##_on_mariadb, WEIR_MARIADB)

#define FIXTURE_BODY(subject, claim)                                                     \
    static void subject##__##claim##_body(struct fixture *fixture)
#define FIXTURE_CASE(subject, claim, name, engine)                                       \
    WEIR_TEST(subject, claim##_on_##name)                                                \
    {                                                                                    \
        fixture_run((engine), subject##__##claim##_body);                                \
    }

#define FIXTURE_ONE(subject, claim, engine)                                              \
    FIXTURE_BODY(subject, claim);                                                        \
    WEIR_TEST(subject, claim)                                                            \
    {                                                                                    \
        fixture_run((engine), subject##__##claim##_body);                                \
    }                                                                                    \
    FIXTURE_BODY(subject, claim)

/* The call ended with this status. Prints fixture->error when it did not. */
#define check_db(expr, want)                                                             \
    fixture_check(__FILE__, __LINE__, #expr, fixture, (expr), (want))

void fixture_run(enum weir_engine engine, fixture_fn body);

/* On a database that is not empty. PostgreSQL's is filled once for each server, for all
 * programs that use it, and a test gets a copy: that takes a fifth of the time. NULL:
 * empty. */
struct fixture_filling {
    const char *name; /* of what is copied */
    fixture_fn fill;
    fixture_fn adapt; /* a copy, to being one */
};
void fixture_run_filled(enum weir_engine engine, const struct fixture_filling *filling,
                        fixture_fn body);

void fixture_check(const char *file, int line, const char *text,
                   const struct fixture *fixture, enum weir_status got,
                   enum weir_status want);

/* URL and heap filled in. */
struct weir_db_options fixture_options(struct fixture *self);

/* Another weir_db on the same database. Owes one weir_db_destroy(). */
struct weir_db *fixture_open(struct fixture *self, const struct weir_db_options *options);

/* Another weir_db at this URL gives a connection, which is given back. */
enum weir_status fixture_try_url(struct fixture *self, const char *url);

/* A connection of fixture->db. Owes one give. */
struct weir_connection *fixture_take(struct fixture *self);
void fixture_give(struct fixture *self, struct weir_connection *connection);

/*
 * Run a text, which must work. `$integer`, `$real`, `$text`, `$bytes`, `$boolean` and
 * `$time` become the engine's types of value.h, `$key` a text that may be a key.
 */
void fixture_execute(struct fixture *self, struct weir_connection *connection,
                     const char *text);

/* The same on a connection of its own. */
void fixture_prepare(struct fixture *self, const char *text);

/* The engine's words for the same thing. */
const char *fixture_choose(const struct fixture *self, const char *on_sqlite,
                           const char *on_postgresql, const char *on_mariadb);

/*
 * From outside of weir, through a new connection of the bare driver, which sees what is
 * committed: an integer, or whether a statement that needs a lock gets it at once.
 */
int64_t fixture_ask(struct fixture *self, const char *sql);
bool fixture_is_free(struct fixture *self, const char *sql);

/* Nobody has an open transaction that wrote to the table; with a server, or read it. */
bool fixture_is_unlocked(struct fixture *self, const char *table);

/* Wait for a state that must come, asking again and again; fails the test after a
 * minute. */
#define wait_until(condition)                                                            \
    for (int64_t wait_end = fixture_deadline(); !(condition);)                           \
    fixture_wait(__FILE__, __LINE__, #condition, wait_end)
int64_t fixture_deadline(void);
void fixture_wait(const char *file, int line, const char *text, int64_t deadline_ms);

#endif
