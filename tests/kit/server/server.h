/*
 * server.h - real database servers for tests: PostgreSQL and MariaDB.
 *
 *   server_shared(WEIR_POSTGRESQL)         the run's server, started when first asked
 *                                          for; never stopped or killed by a test
 *   server_create(WEIR_MARIADB, NULL)      one of the test's own, to stop, kill and
 *                                          restart
 *
 * A server keeps everything in one folder, in memory if the machine lets it (/dev/shm),
 * and listens on a loopback port and on a socket in that folder. It runs as a user
 * without privileges: `postgres` or `mysql` when the tests are root's, else the tests'
 * own user. Its settings are the engine's defaults but for sizes, so that commits are
 * durable; only `deadlock_timeout` is shorter.
 *
 * script/test gives all programs of a run one folder (temp_dir.h). The first program
 * that needs an engine starts its server there and leaves it running for the others;
 * script/test ends it. A program that is started by hand has the run to itself and ends
 * everything when it ends. Servers of a test's own die with the program, however that
 * ends.
 *
 * With WEIR_POOLER=1 in the environment a PgBouncer in transaction mode (pooler.h)
 * stands in front of each PostgreSQL server, and URLs lead through it: they say
 * `pooler=transaction`. What this file itself does on a server goes past it.
 *
 * Threads  The test's main thread.
 * Failure  Whatever goes wrong, a missing program included, fails the running test.
 */
#ifndef WEIR_TEST_SERVER_H
#define WEIR_TEST_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <weir/db.h>

#include "kit/server/process.h"

struct server;

/* Who may do everything on a server. */
#define SERVER_USER "weir"
#define SERVER_PASSWORD "cork-and-lead"

/* A user of the server's that may connect and nothing else. */
#define SERVER_GUEST "guest"
#define SERVER_GUEST_PASSWORD "reed-and-rush"

enum { SERVER_SETTINGS_MAX = 16, SERVER_URL_SIZE = 512, SERVER_PATH_SIZE = 256 };

/* Makes `data` in the folder, as the user that `place` names. */
typedef void (*server_fill_fn)(const struct process_options *place, void *argument);

struct server_options {
    const char *const *settings; /* "fsync=off", ...; NULL at the end; may be NULL */
    const char *folder; /* an empty one for the data, to be given away; NULL: any */
    server_fill_fn
        fill; /* where its data come from; NULL: a copy of the run's template */
    void *fill_argument;
    int pool_size; /* PostgreSQL: sessions of a pooler in front; 0: as WEIR_POOLER says */
};

/* PostgreSQL: a cluster of its own. All others begin as copies of one, and so have the
 * same system identifier. It has no SERVER_GUEST. */
void server_fill_anew(const struct process_options *place, void *argument);

/* Where a program of the engine's is, such as `pg_dump`. */
void server_program(enum weir_engine engine, const char *name, char *out, size_t size);

/* Borrowed; the same for all callers. */
struct server *server_shared(enum weir_engine engine);

/* A server of the test's own, running. `options` may be NULL. Owes one destroy, which
 * the end of the program pays otherwise. */
struct server *server_create(enum weir_engine engine,
                             const struct server_options *options);

/* End it at once and remove its folder. NULL is fine. */
void server_destroy(struct server *self);

/* End it in order: clients are thrown out, everything is on disk. Returns when it is
 * gone. */
void server_stop(struct server *self);

/* End it as a crash would: PostgreSQL's immediate shutdown, SIGKILL for MariaDB.
 * Returns when it is gone and its port is free. */
void server_kill(struct server *self);

/* Start it again after stop or kill: same port, same data. Returns when it answers. */
void server_restart(struct server *self);

/* Other data for one that has ended: what it had is removed. It is not started. */
void server_refill(struct server *self, server_fill_fn fill, void *argument);

enum weir_engine server_engine(const struct server *self);
uint16_t server_port(const struct server *self); /* the server's own */
uint16_t
server_entry(const struct server *self); /* where its URLs lead: a pooler's, too */
pid_t server_pid(const struct server *self);

/* The folder of its socket (PostgreSQL), or the socket (MariaDB). */
const char *server_socket(const struct server *self);

/* Where SERVER_USER finds a database of it, over TCP; and where somebody else does. */
void server_url(const struct server *self, const char *database, char *out, size_t size);
void server_url_as(const struct server *self, const char *user, const char *password,
                   const char *database, char *out, size_t size);

/* Where libpq itself finds it, which does not know our options: through the pooler, as an
 * application would, and past it, to whom a session belongs. PostgreSQL only. */
void server_application_url(const struct server *self, const char *database, char *out,
                            size_t size);
void server_direct_url(const struct server *self, const char *database, char *out,
                       size_t size);

/* A pooler stands in front of it. */
bool server_is_pooled(const struct server *self);

/* Wait until the other end of a connection has closed it: within a minute. */
void server_await_hangup(int socket);

/* Run statements as SERVER_USER on a connection of their own; NULL: no database of
 * ours. */
void server_execute(const struct server *self, const char *database, const char *sql);

/* An integer asked in the same way. */
int64_t server_query(const struct server *self, const char *database, const char *sql);

/* Cut off everybody who uses the database; who comes again meanwhile stays. */
void server_end_sessions(const struct server *self, const char *database);

/* A copy is of a database that nobody uses, on PostgreSQL. Drop throws its users out. */
void server_create_database(const struct server *self, const char *name);
void server_copy_database(const struct server *self, const char *from, const char *name);
void server_drop_database(const struct server *self, const char *name);

/* This program's folder for the tests' files: place_of_program(). */
const char *server_folder(void);

/* "w_1234_7": another one at each call, in this run. */
void server_name_database(char *out, size_t size);

#endif
