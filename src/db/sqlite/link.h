/*
 * link.h - one connection to SQLite: its errors, its transaction, its single steps.
 *
 * What all operations of the driver stand on. Each of them goes the same way:
 *
 *   enter()            refuses when the transaction is gone; the clock begins
 *   prepare(), step()  a fault of the test, or SQLite; on failure the error is complete
 *
 * SQLite rolls a transaction back by itself when it cannot go on (disk full, I/O error,
 * a writing statement interrupted). The next statement would then commit on its own. So
 * a transaction that begin() began and SQLite ended is *failed*, as on PostgreSQL:
 * everything but commit and rollback is refused, with the status that broke it.
 *
 *           begin            commit, rollback
 *   none -----------> open --------------------> none
 *                      |                          ^
 *                      | rolled back by SQLite    |
 *                      +-----------> failed ------+
 *
 * Threads  One flow of control, except cancel().
 */
#ifndef WEIR_DB_SQLITE_LINK_H
#define WEIR_DB_SQLITE_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "db/driver.h"
#include "db/sqlite/busy_handler.h"
#include "db/sqlite/checkpoint.h"

struct sqlite3;
struct sqlite3_stmt;

/* Statements about the transaction itself. Prepared by open(), since every transaction
 * needs two of them; on an adopted connection run as text. */
enum weir_sqlite_verb {
    WEIR_SQLITE_BEGIN_READ,
    WEIR_SQLITE_BEGIN_WRITE,
    WEIR_SQLITE_COMMIT,
    WEIR_SQLITE_SAVE,
    WEIR_SQLITE_KEEP,
    WEIR_SQLITE_VERB_COUNT
};

struct weir_sqlite_link {
    struct weir_link link;                              /* first */
    struct sqlite3 *db;                                 /* owned, or the application's */
    struct sqlite3_stmt *verbs[WEIR_SQLITE_VERB_COUNT]; /* owned; NULL when adopted */
    struct weir_sqlite_busy_handler busy_handler;
    struct weir_sqlite_log log;
    bool begun;              /* by begin(), and neither committed nor rolled back */
    bool lent;               /* the handle is in other hands: only commit() commits */
    bool retired;            /* close() is one of the last of this process */
    enum weir_status broken; /* what made SQLite roll back, while failed */
    int64_t total_changes_before; /* of the statement that has run last */
};

struct weir_sqlite_link *weir_sqlite_link(struct weir_link *link);

/* Is the database in memory only? */
bool weir_sqlite_in_memory(const struct weir_link_config *config);

/* Prepare the verbs, on a connection of ours. */
WEIR_CHECKED enum weir_status weir_sqlite_prepare_verbs(struct weir_sqlite_link *self,
                                                        struct weir_error *error);

/* ---- steps ---- */

/* The beginning of an operation. Refuses in a failed transaction. */
WEIR_CHECKED enum weir_status weir_sqlite_enter(struct weir_sqlite_link *self,
                                                struct weir_error *error);

/* A failure that a test ordered, in front of a call into SQLite; WEIR_OK: none. */
WEIR_CHECKED enum weir_status weir_sqlite_fault(struct weir_sqlite_link *self,
                                                const char *what,
                                                struct weir_error *error);

/* Make the error of the call that just failed on self->db; returns its status. A lost
 * link is marked, and a transaction of ours on it rolled back. */
enum weir_status weir_sqlite_fail(struct weir_sqlite_link *self, const char *what,
                                  struct weir_error *error);

/* Prepare the statement at the beginning of `text`; *rest gets what follows. *out is
 * NULL on failure, and when there was only white space. */
WEIR_CHECKED enum weir_status weir_sqlite_prepare(struct weir_sqlite_link *self,
                                                  const char *text, unsigned flags,
                                                  struct sqlite3_stmt **out,
                                                  const char **rest,
                                                  struct weir_error *error);

/* One step: WEIR_OK is a row, WEIR_NO_ROW the end. On failure the statement was reset. */
WEIR_CHECKED enum weir_status weir_sqlite_step(struct weir_sqlite_link *self,
                                               struct sqlite3_stmt *stmt,
                                               struct weir_error *error);

/* Run all statements of a text and drop their rows. */
WEIR_CHECKED enum weir_status weir_sqlite_run_text(struct weir_sqlite_link *self,
                                                   const char *text,
                                                   struct weir_error *error);

WEIR_CHECKED enum weir_status weir_sqlite_run_verb(struct weir_sqlite_link *self,
                                                   enum weir_sqlite_verb verb,
                                                   struct weir_error *error);

/* ---- the transaction ---- */

/* The slots of struct weir_driver. */
WEIR_CHECKED enum weir_status weir_sqlite_begin(struct weir_link *link,
                                                enum weir_access access,
                                                struct weir_error *error);
WEIR_CHECKED enum weir_status weir_sqlite_commit(struct weir_link *link,
                                                 struct weir_error *error);
void weir_sqlite_rollback(struct weir_link *link);
enum weir_transaction_state weir_sqlite_transaction(struct weir_link *link);
void weir_sqlite_lend(struct weir_link *link);
void weir_sqlite_reclaim(struct weir_link *link);

/* Put the callback on a connection of ours by which it refuses commits while it is
 * lent. */
void weir_sqlite_guard_commit(struct weir_sqlite_link *self);

/* Roll back whatever is open. No fault, no timeout and no cancel() gets in its way;
 * when SQLite itself cannot, the link is lost. */
void weir_sqlite_abandon(struct weir_sqlite_link *self);

/* Likewise: undo everything since WEIR_SQLITE_SAVE, and the savepoint with it. */
void weir_sqlite_undo(struct weir_sqlite_link *self);

#endif
