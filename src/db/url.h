/*
 * url.h - where a database is.
 *
 *   sqlite:PATH[?permissions=0640]       a file; sqlite::memory: has no options
 *   postgresql://...  postgres://...     handed to libpq as it is, less our own options
 *   key=value ...                        likewise (recognised by dbname=, host=,
 *                                        service=)
 *   mariadb://[user[:password]@][host[:port]]/database
 *       [?socket=PATH&signal=FOLDER&tls=MODE&ca=FILE]
 *
 * MariaDB's `tls` is off (in clear), require (encrypted, but any server is accepted)
 * or verify (its certificate is of a trusted authority, and has the name of the host).
 * Without it, connections to this machine are in clear, which are those to a socket,
 * localhost, 127.0.0.0/8 and ::1, and others are verified. `ca` is a file with the
 * authorities to trust in place of the system's, and means verify.
 *
 * SQLite's `permissions` are those of a file that is made, in octal (permissions.h);
 * 0600 without it. The permissions of a file that is there are never changed.
 *
 * Our own options: `pooler=transaction` (PostgreSQL) and `signal` (MariaDB: the folder
 * of touch_file.h, an absolute path; whether it exists is not asked here; or off).
 * Parts are percent-decoded where they are ours to read. An unknown option, a port out
 * of range, a missing database name, a bad escape: WEIR_INVALID, and the text names the
 * part. It repeats no word of the URL: with a password that is not escaped, any of them
 * may be a part of it.
 */
#ifndef WEIR_DB_URL_H
#define WEIR_DB_URL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/db.h"

enum weir_tls { WEIR_TLS_OFF, WEIR_TLS_REQUIRE, WEIR_TLS_VERIFY };

struct weir_url {
    enum weir_engine engine;
    char *path;           /* SQLite: the file; ":memory:" */
    uint32_t permissions; /* SQLite: of a file that is made */
    char *conninfo;       /* PostgreSQL: for libpq */
    char *host;           /* MariaDB; NULL: default. So the others */
    char *user;
    char *password;
    char *database;
    char *socket;
    char *signal;            /* MariaDB; NULL: not named */
    bool signal_off;         /* MariaDB: no signals at all */
    char *ca;                /* MariaDB; NULL: the system's */
    enum weir_tls tls;       /* MariaDB */
    uint16_t port;           /* MariaDB; 0: default */
    bool transaction_pooler; /* PostgreSQL: no session state survives a transaction */
};

/* On failure *out is empty; fini() is fine on that. Copies what it needs. */
WEIR_CHECKED enum weir_status weir_url_parse(const struct weir_heap *heap,
                                             const char *text, struct weir_url *out,
                                             struct weir_error *error);
void weir_url_fini(const struct weir_heap *heap, struct weir_url *self);

/* A database in memory: it ends with the process. */
bool weir_url_is_memory(const struct weir_url *self);

/* Is a password in it? Also if it is not certain where one would end. */
bool weir_url_has_password(const struct weir_url *self);

/* The URL for people: engine, host, database; no password. Cut to fit. */
void weir_url_describe(const struct weir_url *self, char *out, size_t size);

#endif
