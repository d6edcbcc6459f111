/*
 * db.h - a database, and the application's own connection to it.
 *
 *   sqlite:app.db                       sqlite::memory:
 *   postgresql://user@host:5432/app     host=... dbname=...   (any libpq string)
 *   mariadb://user:password@host:3306/app?socket=/run/mysqld/mysqld.sock&signal=/run/weir
 *   mariadb://user:password@db.internal/app?ca=/etc/weir/ca.pem
 *
 * `signal`, optional, is a folder that exists. Producers and delivering processes on one
 * host name the same folder: there, what is committed is delivered within milliseconds
 * and not when MariaDB is polled next, a second later at worst. A process that signals
 * needs the right to write there. Without it they use /dev/shm, and `signal=off` means
 * that they do not signal at all.
 *
 * A struct weir_db knows where the database is and keeps connections to it, made when
 * they are needed. A connection is used by one flow of control at a time.
 *
 * An application that has a connection of its own, perhaps inside a transaction, lets
 * weir *adopt* it: weir then works inside that transaction, and never commits, rolls
 * back or changes a setting of it. Where it looks for tables does not matter
 * (search_path, USE): weir names its own with their schema, in which they were found,
 * or with the database of the URL (MariaDB).
 *
 * Threads  A database: any thread. A connection: its holder.
 */
#ifndef WEIR_DB_H
#define WEIR_DB_H

#include <stdbool.h>
#include <stdint.h>

#include <weir/error.h>
#include <weir/log.h>
#include <weir/time.h>

struct pg_conn;  /* PGconn */
struct sqlite3;  /* as in sqlite3.h */
struct st_mysql; /* MYSQL */

struct weir_connection;
struct weir_db;
struct weir_executor;
struct weir_heap; /* weir/heap.h */

enum weir_engine { WEIR_SQLITE, WEIR_POSTGRESQL, WEIR_MARIADB };

struct weir_db_options {
    const char *url;    /* copied */
    const char *prefix; /* of every table; copied; NULL: "weir" */
    struct weir_executor
        *executor; /* gives clock, heap and log; may be NULL: threads only */
    const struct weir_heap *heap; /* without executor: borrowed; NULL: the C library's */
    struct weir_log log;          /* without executor: copied; all zero: silence */
    int64_t statement_timeout_ns; /* of each statement; 0: none. Default 30 s */
    int64_t lock_timeout_ns;      /* of each wait for a lock; 0: none. Default 10 s */
    int64_t connect_timeout_ns;   /* default 10 s */
    uint32_t connections_max;     /* default 64, at most 1024 */
};

WEIR_BEGIN_DECLS

WEIR_API void weir_db_options_init(struct weir_db_options *self);

/*
 * Check the URL and the options; does not connect yet. Fails with WEIR_INVALID (the text
 * names the part of the URL or the field) or WEIR_NO_MEMORY; *out is then NULL.
 */
WEIR_CHECKED WEIR_API enum weir_status
weir_db_create(const struct weir_db_options *options, struct weir_db **out,
               struct weir_error *error);

/* Close all connections; none may be in use, but for those of transactional handlers
 * that an outbox had to leave behind. NULL is fine. */
WEIR_API void weir_db_destroy(struct weir_db *self);

WEIR_API enum weir_engine weir_db_engine(const struct weir_db *self);

/* "sqlite", "postgresql", "mariadb". */
WEIR_API const char *weir_engine_name(enum weir_engine engine);

/*
 * Take a connection: one that is free, or a new one. A connection that was lost while
 * it was free is replaced. Fails with the class of the reason: WEIR_LOST (cannot be
 * reached), WEIR_DENIED, WEIR_SCHEMA (no such database), WEIR_BUSY (connections_max in
 * use). Owes one release.
 */
WEIR_CHECKED WEIR_API enum weir_status weir_db_acquire(struct weir_db *self,
                                                       struct weir_connection **out,
                                                       struct weir_error *error);

/* Give it back. A transaction that is still open is rolled back. NULL is fine. */
WEIR_API void weir_db_release(struct weir_db *self, struct weir_connection *connection);

/*
 * Wrap a connection of the application's as it is, also inside its transaction. Borrows
 * it until weir_connection_disown(), during which the application must not close it. A
 * PGconn on which a call was not answered in full (WEIR_LOST) is broken afterwards, so
 * that nothing of that call can be committed.
 * Refused with WEIR_INVALID: a PGconn that is busy, broken, non-blocking, in a failed
 * transaction, in COPY or in pipeline mode; a connection whose text is not UTF-8; a
 * handle without connection.
 */
WEIR_CHECKED WEIR_API enum weir_status
weir_connection_adopt_sqlite(struct weir_db *db, struct sqlite3 *handle,
                             struct weir_connection **out, struct weir_error *error);
WEIR_CHECKED WEIR_API enum weir_status
weir_connection_adopt_postgresql(struct weir_db *db, struct pg_conn *handle,
                                 struct weir_connection **out, struct weir_error *error);
WEIR_CHECKED WEIR_API enum weir_status
weir_connection_adopt_mariadb(struct weir_db *db, struct st_mysql *handle,
                              struct weir_connection **out, struct weir_error *error);

/* Forget an adopted connection and everything prepared on it. NULL is fine. */
WEIR_API void weir_connection_disown(struct weir_connection *self);

/*
 * The driver's handle: sqlite3 *, PGconn * or MYSQL *. For reading and for the
 * handler's own statements; never to close it, or to end a transaction that weir began.
 * It is good until the connection is given back, and asked for again with the next.
 * Code that has it may change settings, so the session is put in order on its way back,
 * which costs a round trip (MariaDB: a few, and statements are prepared anew).
 */
WEIR_API void *weir_connection_native(struct weir_connection *self);

/*
 * A transaction of the application's. It may stand idle for as long as the server
 * allows; those that the library begins for itself are ended by the server after two
 * seconds. On WEIR_IN_DOUBT the connection was lost while committing: it may or may not
 * have happened. After a commit that failed in any way there is no transaction any
 * more.
 */
WEIR_CHECKED WEIR_API enum weir_status weir_connection_begin(struct weir_connection *self,
                                                             struct weir_error *error);
WEIR_CHECKED WEIR_API enum weir_status
weir_connection_commit(struct weir_connection *self, struct weir_error *error);
WEIR_API void weir_connection_rollback(struct weir_connection *self);

/*
 * From any thread: make the statement that runs on `self` now, if any, end with
 * WEIR_CANCELLED. The caller sees to it that the connection is not given back meanwhile.
 */
WEIR_API void weir_connection_cancel(struct weir_connection *self);

WEIR_END_DECLS

#endif
