/*
 * busy_handler.h - how long a statement of SQLite may take and wait.
 *
 * SQLite has no timeouts of its own that know our clock. It calls back, though: while
 * it waits for a lock (busy handler), and about every thousand steps of a statement
 * (progress handler). This sits in both.
 *
 *   start()                              an operation begins, nothing is spent
 *     attend(stmt) ... step ... rest()   only this time counts, not the caller's
 *                                        between rows
 *     attend(stmt) ... step ... rest()
 *   judge(code, status)                  what ended it: the clock, cancel(), or SQLite
 *
 * A statement that is done within a thousand steps costs no look at a clock.
 *
 * Threads  The link's flow of control; cancel() reaches it through link->cancelled.
 * Memory   None.
 */
#ifndef WEIR_DB_SQLITE_BUSY_HANDLER_H
#define WEIR_DB_SQLITE_BUSY_HANDLER_H

#include <stdbool.h>
#include <stdint.h>

#include "weir/status.h"

struct sqlite3;
struct sqlite3_stmt;
struct weir_link;

enum weir_sqlite_verdict {
    WEIR_SQLITE_UNDECIDED,
    WEIR_SQLITE_TIMED_OUT,
    WEIR_SQLITE_CALLED_OFF
};

struct weir_sqlite_busy_handler {
    struct weir_link *link;       /* borrowed */
    int64_t lock_timeout_ns;      /* 0: none */
    int64_t statement_timeout_ns; /* 0: none */
    struct sqlite3_stmt *stmt;    /* attended now; may be NULL */
    int64_t spent_ns;             /* in the steps before this one */
    int64_t looked_ns;            /* when this step was first looked at, if `looked` */
    int64_t lock_ns;              /* when this wait for a lock began */
    uint64_t writers_seen;        /* count of config->writers before SQLite was asked */
    bool looked;
    /* a call of ours, not one that other code makes on the native handle */
    bool attending;
    enum weir_sqlite_verdict verdict;
};

/* Takes the timeouts from the link's configuration. Borrows `link`. */
void weir_sqlite_busy_handler_init(struct weir_sqlite_busy_handler *self,
                                   struct weir_link *link);

/* Put the two callbacks on a connection of ours; never on the application's. */
void weir_sqlite_busy_handler_install(struct weir_sqlite_busy_handler *self,
                                      struct sqlite3 *db);

/* A new operation: forgets what was spent, and a cancel() that came too late for the
 * last. */
void weir_sqlite_busy_handler_start(struct weir_sqlite_busy_handler *self);

/* Around each step. `stmt` is NULL while preparing: then only waiting for locks
 * counts. */
void weir_sqlite_busy_handler_enter(struct weir_sqlite_busy_handler *self,
                                    struct sqlite3_stmt *stmt);
void weir_sqlite_busy_handler_leave(struct weir_sqlite_busy_handler *self);

/* The status of a call that ended with `code`, which the table maps to `status`. */
enum weir_status
weir_sqlite_busy_handler_status(const struct weir_sqlite_busy_handler *self, int code,
                                enum weir_status status);

/* How long to wait at the given attempt (0, 1, ...): from 0.2 ms, doubling up to 20 ms,
 * spread so that waiters that began together do not retry together. */
int64_t weir_sqlite_wait_ns(int attempt, int64_t now_ns);

#endif
