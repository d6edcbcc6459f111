/*
 * link.c - see sqlite/link.h.
 *
 *   I1  a link that is lost and ours has no transaction: no other transaction waits for
 *       its lock
 *   I2  undoing always comes to its end: it is neither timed nor hit by faults, and
 *       repeated when a late cancel() interrupts it
 */
#include "db/sqlite/link.h"

#include <sqlite3.h>
#include <string.h>

#include "base/assert.h"
#include "base/fault_point.h"
#include "db/sqlite/error.h"
#include "db/sqlite/write_waiters.h"

/* A cancel() can interrupt an undo once; many threads calling it, a few times. */
enum { UNDO_ATTEMPTS_MAX = 1000 };

static void forget_transaction(struct weir_sqlite_link *self);

static const char *const VERBS[WEIR_SQLITE_VERB_COUNT] = {
    [WEIR_SQLITE_BEGIN_READ] = "BEGIN",
    /* Takes the write lock at once. A transaction that reads first and writes later
     * could find that another one wrote in between, and would have to begin anew. */
    [WEIR_SQLITE_BEGIN_WRITE] = "BEGIN IMMEDIATE",
    [WEIR_SQLITE_COMMIT] = "COMMIT",
    [WEIR_SQLITE_SAVE] = "SAVEPOINT weir_many",
    [WEIR_SQLITE_KEEP] = "RELEASE weir_many",
};

struct weir_sqlite_link *weir_sqlite_link(struct weir_link *link)
{
    WEIR_ASSERT(link->driver == &weir_driver_sqlite);
    return (struct weir_sqlite_link *)link;
}

bool weir_sqlite_in_memory(const struct weir_link_config *config)
{
    return strcmp(config->url.path, ":memory:") == 0;
}

enum weir_status weir_sqlite_prepare_verbs(struct weir_sqlite_link *self,
                                           struct weir_error *error)
{
    enum weir_status status = WEIR_OK;
    const char *rest;

    for (size_t i = 0; i < WEIR_SQLITE_VERB_COUNT && status == WEIR_OK; i++)
        status = weir_sqlite_prepare(self, VERBS[i], SQLITE_PREPARE_PERSISTENT,
                                     &self->verbs[i], &rest, error);
    return status;
}

/* ---- errors ------------------------------------------------------------------------ */

static bool transaction_failed(const struct weir_sqlite_link *self)
{
    return self->begun && sqlite3_get_autocommit(self->db) != 0;
}

static enum weir_status refuse_failed(const struct weir_sqlite_link *self,
                                      struct weir_error *error)
{
    enum weir_status status = self->broken != WEIR_OK ? self->broken : WEIR_CONFLICT;

    return weir_error_set(error, status,
                          "SQLite has rolled the transaction back before: %s",
                          weir_status_text(status));
}

enum weir_status weir_sqlite_enter(struct weir_sqlite_link *self,
                                   struct weir_error *error)
{
    if (transaction_failed(self))
        return refuse_failed(self, error);
    weir_sqlite_busy_handler_start(&self->busy_handler);
    return WEIR_OK;
}

static void give_up_rows(struct weir_sqlite_link *self)
{
    struct sqlite3_stmt *stmt = NULL;

    while ((stmt = sqlite3_next_stmt(self->db, stmt)) != NULL) {
        if (sqlite3_stmt_busy(stmt))
            (void)sqlite3_reset(stmt);
    }
}

/* From here on only close() comes; the lock must not wait for it (I1). Open rows are
 * given up first: as long as they are there, a cancel() would also interrupt the
 * rollback. */
static void lose(struct weir_sqlite_link *self)
{
    self->link.lost = true;
    if (self->link.adopted || self->db == NULL)
        return;
    give_up_rows(self);
    weir_sqlite_abandon(self);
    forget_transaction(self);
}

enum weir_status weir_sqlite_fault(struct weir_sqlite_link *self, const char *what,
                                   struct weir_error *error)
{
    switch (weir_driver_fault(&self->link)) {
    case WEIR_FAULT_LOSE:
        lose(self);
        return weir_error_set(error, WEIR_LOST, "%s: lost by order of a test", what);
    case WEIR_FAULT_FAIL:
        return weir_error_set(error, WEIR_FAILED, "%s: failed by order of a test", what);
    case WEIR_NO_FAULT:
        break;
    }
    return WEIR_OK;
}

static const char *reason(const struct weir_sqlite_link *self, enum weir_status status)
{
    if (status == WEIR_TIMEOUT || status == WEIR_CANCELLED)
        return weir_status_text(status);
    return sqlite3_errmsg(self->db);
}

enum weir_status weir_sqlite_fail(struct weir_sqlite_link *self, const char *what,
                                  struct weir_error *error)
{
    int code = sqlite3_extended_errcode(self->db);
    enum weir_status status = weir_sqlite_status(code, sqlite3_system_errno(self->db));

    status = weir_sqlite_busy_handler_status(&self->busy_handler, code, status);
    (void)weir_error_set(error, status, "%s: %s (%d)", what, reason(self, status), code);
    error->native_code = code;
    if (status == WEIR_LOST)
        lose(self);
    return status;
}

/* ---- steps ------------------------------------------------------------------------- */

enum weir_status weir_sqlite_prepare(struct weir_sqlite_link *self, const char *text,
                                     unsigned flags, struct sqlite3_stmt **out,
                                     const char **rest, struct weir_error *error)
{
    enum weir_status status = weir_sqlite_fault(self, "prepare", error);
    int code;

    *out = NULL;
    *rest = text;
    if (status != WEIR_OK)
        return status;
    weir_sqlite_busy_handler_enter(&self->busy_handler, NULL);
    code = sqlite3_prepare_v3(self->db, text, -1, flags, out, rest);
    weir_sqlite_busy_handler_leave(&self->busy_handler);
    return code == SQLITE_OK ? WEIR_OK : weir_sqlite_fail(self, "prepare", error);
}

/* A failed statement may have taken its transaction along. */
static void note_rolled_back(struct weir_sqlite_link *self, struct weir_error *error)
{
    if (self->begun)
        self->broken = error->status;
    weir_error_prefix(error, "transaction rolled back");
}

/* A statement that writes and gives rows has written when the first one comes; what
 * follows only hands them out. A fault there would report a failure of something that
 * stays. */
static bool has_written(struct sqlite3_stmt *stmt)
{
    return !sqlite3_stmt_readonly(stmt) && sqlite3_stmt_busy(stmt);
}

enum weir_status weir_sqlite_step(struct weir_sqlite_link *self,
                                  struct sqlite3_stmt *stmt, struct weir_error *error)
{
    bool in_transaction = sqlite3_get_autocommit(self->db) == 0;
    enum weir_status status = WEIR_OK;
    int code;

    if (self->link.config->points != NULL && !has_written(stmt))
        status = weir_sqlite_fault(self, "run", error);
    if (status != WEIR_OK) {
        (void)sqlite3_reset(stmt);
        return status;
    }
    weir_sqlite_busy_handler_enter(&self->busy_handler, stmt);
    code = sqlite3_step(stmt);
    weir_sqlite_busy_handler_leave(&self->busy_handler);
    if (code == SQLITE_ROW)
        return WEIR_OK;
    if (code == SQLITE_DONE)
        return WEIR_NO_ROW;

    status = weir_sqlite_fail(self, "run", error);
    (void)sqlite3_reset(stmt); /* repeats the code we have */
    if (in_transaction && sqlite3_get_autocommit(self->db) != 0 &&
        stmt != self->verbs[WEIR_SQLITE_COMMIT])
        note_rolled_back(self, error);
    return status;
}

/* To the end, dropping rows. */
static enum weir_status run_through(struct weir_sqlite_link *self,
                                    struct sqlite3_stmt *stmt, struct weir_error *error)
{
    enum weir_status status;

    do {
        status = weir_sqlite_step(self, stmt, error);
    } while (status == WEIR_OK);
    (void)sqlite3_reset(stmt);
    return status == WEIR_NO_ROW ? WEIR_OK : status;
}

enum weir_status weir_sqlite_run_text(struct weir_sqlite_link *self, const char *text,
                                      struct weir_error *error)
{
    enum weir_status status = WEIR_OK;

    while (status == WEIR_OK && *text != '\0') {
        struct sqlite3_stmt *stmt = NULL;

        status = weir_sqlite_prepare(self, text, 0, &stmt, &text, error);
        if (status == WEIR_OK && stmt != NULL)
            status = run_through(self, stmt, error);
        (void)sqlite3_finalize(stmt);
    }
    return status;
}

enum weir_status weir_sqlite_run_verb(struct weir_sqlite_link *self,
                                      enum weir_sqlite_verb verb,
                                      struct weir_error *error)
{
    if (self->verbs[verb] == NULL)
        return weir_sqlite_run_text(self, VERBS[verb], error);
    return run_through(self, self->verbs[verb], error);
}

/* ---- the transaction --------------------------------------------------------------- */

/*
 * Once its lock is free: a waiter that is woken before asks in vain, and then sleeps
 * again.
 */
static void forget_transaction(struct weir_sqlite_link *self)
{
    if (self->begun && self->link.config->writers != NULL)
        weir_write_waiters_wake(self->link.config->writers);
    self->begun = false;
    self->broken = WEIR_OK;
}

enum weir_status weir_sqlite_begin(struct weir_link *link, enum weir_access access,
                                   struct weir_error *error)
{
    struct weir_sqlite_link *self = weir_sqlite_link(link);
    enum weir_status status = weir_sqlite_enter(self, error);

    if (status != WEIR_OK)
        return status;
    if (sqlite3_get_autocommit(self->db) == 0)
        return weir_error_set(error, WEIR_INVALID, "there is a transaction already");
    status = weir_sqlite_run_verb(self,
                                  access == WEIR_READ_WRITE ? WEIR_SQLITE_BEGIN_WRITE
                                                            : WEIR_SQLITE_BEGIN_READ,
                                  error);
    self->begun = status == WEIR_OK;
    return status;
}

/* The answer to a commit that failed. The connection is given up with the doubt: what its
 * descriptors do after a failed flush is undefined. */
static enum weir_status doubt(struct weir_sqlite_link *self, struct weir_error *error)
{
    bool by_test = error->status == WEIR_LOST && error->native_code == 0;

    if (by_test || weir_sqlite_code_leaves_doubt(error->native_code)) {
        self->link.lost = true;
        error->status = WEIR_IN_DOUBT;
    }
    return error->status;
}

enum weir_status weir_sqlite_commit(struct weir_link *link, struct weir_error *error)
{
    struct weir_sqlite_link *self = weir_sqlite_link(link);
    enum weir_status status = weir_sqlite_enter(self, error);

    if (status != WEIR_OK) {
        forget_transaction(self);
        return status;
    }
    if (!self->begun)
        return weir_error_set(error, WEIR_INVALID, "there is no transaction");
    self->lent = false;
    status = weir_sqlite_run_verb(self, WEIR_SQLITE_COMMIT, error);
    if (status != WEIR_OK)
        weir_sqlite_abandon(self);
    forget_transaction(self);
    if (status != WEIR_OK)
        return doubt(self, error);
    if (WEIR_POINT(link->config->points, "db.lose_after_commit")) {
        self->link.lost = true;
        return weir_error_set(error, WEIR_IN_DOUBT, "run: lost by order of a test");
    }
    weir_sqlite_log_relieve(self);
    return WEIR_OK;
}

/* Run a text that takes something back (I2). */
static int undo_with(struct weir_sqlite_link *self, const char *text)
{
    int code = SQLITE_INTERRUPT;

    for (int i = 0; i < UNDO_ATTEMPTS_MAX && (code & 0xff) == SQLITE_INTERRUPT; i++)
        code = sqlite3_exec(self->db, text, NULL, NULL, NULL);
    return code;
}

void weir_sqlite_abandon(struct weir_sqlite_link *self)
{
    if (sqlite3_get_autocommit(self->db) == 0)
        (void)undo_with(self, "ROLLBACK");
    if (sqlite3_get_autocommit(self->db) == 0)
        self->link.lost = true;
}

void weir_sqlite_rollback(struct weir_link *link)
{
    struct weir_sqlite_link *self = weir_sqlite_link(link);

    if (weir_driver_fault(link) != WEIR_NO_FAULT)
        self->link.lost = true;
    weir_sqlite_abandon(self);
    forget_transaction(self);
}

enum weir_transaction_state weir_sqlite_transaction(struct weir_link *link)
{
    const struct weir_sqlite_link *self = weir_sqlite_link(link);

    if (transaction_failed(self))
        return WEIR_TRANSACTION_FAILED;
    return sqlite3_get_autocommit(self->db) != 0 ? WEIR_TRANSACTION_NONE
                                                 : WEIR_TRANSACTION_OPEN;
}

/* A commit that is refused is a rollback, and the statement fails. It also catches what
 * would commit by itself after SQLite has rolled the transaction back. */
static int refuse_commit(void *argument)
{
    const struct weir_sqlite_link *self = argument;

    return self->lent;
}

void weir_sqlite_guard_commit(struct weir_sqlite_link *self)
{
    (void)sqlite3_commit_hook(self->db, refuse_commit, self);
}

void weir_sqlite_lend(struct weir_link *link)
{
    weir_sqlite_link(link)->lent = true;
}

/* Rows that are not read any more keep a write from being committed, and the log from
 * being emptied. */
void weir_sqlite_reclaim(struct weir_link *link)
{
    weir_sqlite_link(link)->lent = false;
    give_up_rows(weir_sqlite_link(link));
}

void weir_sqlite_undo(struct weir_sqlite_link *self)
{
    int code = SQLITE_OK;

    if (sqlite3_get_autocommit(self->db) != 0)
        return; /* SQLite has undone it, and more */
    code = undo_with(self, "ROLLBACK TO weir_many");
    if (code == SQLITE_OK)
        code = undo_with(self, "RELEASE weir_many");
    if (code != SQLITE_OK)
        self->link.lost = true;
}
