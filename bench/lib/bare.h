/*
 * bare.h - a database driver without weir: what its users would write by hand.
 *
 * One table, `weir_row`, with an integer `id` as its key, an integer `part` and bytes
 * `body`. All three drivers have the same two things to do, each in the best way its
 * engine has:
 *
 *              one row by its key         many rows in one transaction
 *   SQLite     step                       a prepared loop
 *   PostgreSQL PQexecPrepared, binary     one statement with unnested binary arrays
 *   MariaDB    mysql_stmt_execute         bulk binding
 *
 * Whatever fails ends the bench.
 */
#ifndef WEIR_BENCH_BARE_H
#define WEIR_BENCH_BARE_H

#include <stddef.h>
#include <stdint.h>

#include <weir/db.h>

enum { BENCH_BODY_SIZE = 192 }; /* with the part, 200 bytes a row */

struct bench_row {
    int64_t part;
    const char *body; /* BENCH_BODY_SIZE bytes */
};

/* Where it is: a path, or a server. */
struct bench_place {
    const char *path;     /* SQLite */
    const char *url;      /* PostgreSQL */
    const char *user;     /* MariaDB, at 127.0.0.1 */
    const char *password; /* likewise */
    const char *database; /* likewise */
    uint16_t port;        /* likewise */
};

struct bench_bare {
    enum weir_engine engine;
    const char *name;

    /* Connect, and make the table. Owes one close. */
    void *(*open)(const struct bench_place *place);
    void (*close)(void *self);

    /* Run a text without rows. */
    void (*run)(void *self, const char *text);

    /* The sum of `part` and of the first byte of `body` in the row with this id. */
    int64_t (*find)(void *self, int64_t id);

    /* All of these in one transaction; ids are the table's to give. */
    void (*insert)(void *self, const struct bench_row *rows, size_t count);

    /* Empty the table, and give back the space. */
    void (*clear)(void *self);
};

extern const struct bench_bare bench_bare_sqlite;
extern const struct bench_bare bench_bare_postgresql;
extern const struct bench_bare bench_bare_mariadb;

#endif
