/*
 * checkpoint.c - see sqlite/checkpoint.h.
 */
#include "db/sqlite/checkpoint.h"

#include <errno.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include "base/assert.h"
#include "base/fault_point.h"
#include "base/log.h"
#include "db/sqlite/link.h"
#include "weir/time.h"

/* How long a writer that has committed waits for the lock once more. Where another writer
 * has it, a log that could be shorter is not worth a wait. */
#define RELIEF_WAIT_LIMIT_NS WEIR_MILLISECONDS(200)
#define SHORT_WAIT_LIMIT_NS 1

enum {
    COMMIT_SIZE_SMALL = 32 * 1024,
    SHORT_SIZE_MAX = 4 * WEIR_SQLITE_WAL_SIZE_SHORT,
};

static enum weir_status checkpoint_on(struct weir_sqlite_link *helper,
                                      struct weir_error *error)
{
    enum weir_status status = weir_sqlite_enter(helper, error);

    if (status == WEIR_OK)
        status = weir_sqlite_fault(helper, "checkpoint", error);
    if (status != WEIR_OK)
        return status;
    if (sqlite3_wal_checkpoint_v2(helper->db, "main", SQLITE_CHECKPOINT_PASSIVE, NULL,
                                  NULL) != SQLITE_OK)
        return weir_sqlite_fail(helper, "checkpoint", error);
    return WEIR_OK;
}

enum weir_status weir_sqlite_checkpoint(struct weir_link *writer,
                                        struct weir_link *helper,
                                        struct weir_error *error)
{
    enum weir_status status;

    WEIR_ASSERT(writer != helper && !writer->adopted && !helper->adopted);
    WEIR_ASSERT(weir_sqlite_transaction(helper) == WEIR_TRANSACTION_NONE);
    if (weir_sqlite_in_memory(writer->config))
        return WEIR_OK;
    status = weir_sqlite_begin(writer, WEIR_READ_WRITE, error);
    if (status != WEIR_OK)
        return status;
    status = checkpoint_on(weir_sqlite_link(helper), error);
    weir_sqlite_rollback(writer); /* nothing was written; the lock was what we wanted */
    return status;
}

enum weir_status weir_sqlite_wal_size(struct weir_link *link, int64_t *out,
                                      struct weir_error *error)
{
    const char *name = sqlite3_db_filename(weir_sqlite_link(link)->db, "main");
    struct stat about;

    *out = 0;
    if (weir_sqlite_in_memory(link->config) || name == NULL || *name == '\0')
        return WEIR_OK;
    if (stat(sqlite3_filename_wal(name), &about) == 0) {
        *out = (int64_t)about.st_size;
        return WEIR_OK;
    }
    if (errno == ENOENT)
        return WEIR_OK;
    return weir_error_set(error, WEIR_SYSTEM, "stat of the log failed (%d)", errno);
}

/* ---- after a commit ---------------------------------------------------------------- */

/* SQLite calls it after every commit that has written to the log. */
static int note_size(void *argument, sqlite3 *db, const char *name, int pages)
{
    struct weir_sqlite_log *log = argument;
    int64_t size = pages * log->page_size;
    bool anew = size < log->size;

    (void)db;
    (void)name;
    if (anew) {
        log->size_max = WEIR_SQLITE_WAL_SIZE_MAX;
        log->short_max = WEIR_SQLITE_WAL_SIZE_SHORT;
    }
    log->grown = anew ? size : size - log->size;
    log->size = size;
    return SQLITE_OK;
}

void weir_sqlite_log_watch(struct weir_sqlite_link *self, int64_t page_size)
{
    self->log = (struct weir_sqlite_log){.page_size = page_size,
                                         .size_max = WEIR_SQLITE_WAL_SIZE_MAX,
                                         .short_max = WEIR_SQLITE_WAL_SIZE_SHORT};
    (void)sqlite3_wal_hook(self->db, note_size, &self->log);
}

void weir_sqlite_log_fini(struct weir_sqlite_link *self)
{
    if (self->log.helper != NULL)
        weir_driver_sqlite.close(self->log.helper);
    self->log.helper = NULL;
}

/* The helper is kept: where commits are small the next checkpoint comes soon. */
static enum weir_status checkpoint_by(struct weir_sqlite_link *self, int64_t wait_ns,
                                      struct weir_error *error)
{
    enum weir_status status = WEIR_OK;

    if (self->log.helper == NULL)
        status = weir_driver_sqlite.open(self->link.config, &self->log.helper, error);
    if (status != WEIR_OK)
        return status;
    (void)WEIR_POINT(self->link.config->points, "log.relieve");
    self->busy_handler.lock_timeout_ns = wait_ns;
    status = weir_sqlite_checkpoint(&self->link, self->log.helper, error);
    self->busy_handler.lock_timeout_ns = self->link.config->lock_timeout_ns;
    (void)WEIR_POINT(self->link.config->points, "log.relieved");
    if (self->log.helper->lost)
        weir_sqlite_log_fini(self);
    return status;
}

static void relieve(struct weir_sqlite_link *self, int64_t wait_ns)
{
    struct weir_error error;
    enum weir_status status = checkpoint_by(self, wait_ns, &error);

    if (status != WEIR_OK && status != WEIR_LOCKED)
        weir_log_event(self->link.config->log, WEIR_LOG_WARNING,
                       "sqlite.checkpoint_failed", "log_size=%lld error=\"%s\"",
                       (long long)self->log.size, error.text);
}

/* A log that has become long is left to the sweep: a small commit shall not wait until
 * all of it is moved. */
static bool is_to_be_kept_short(const struct weir_sqlite_log *log)
{
    return log->grown <= COMMIT_SIZE_SMALL && log->size > log->short_max &&
           log->size <= SHORT_SIZE_MAX;
}

void weir_sqlite_log_relieve(struct weir_sqlite_link *self)
{
    struct weir_sqlite_log *log = &self->log;

    if (self->link.lost || sqlite3_get_autocommit(self->db) == 0)
        return;
    if (log->size > log->size_max) {
        log->size_max = log->size + WEIR_SQLITE_WAL_SIZE_MAX / 4;
        relieve(self, RELIEF_WAIT_LIMIT_NS);
    } else if (is_to_be_kept_short(log)) {
        log->short_max = log->size + WEIR_SQLITE_WAL_SIZE_SHORT / 4;
        relieve(self, SHORT_WAIT_LIMIT_NS);
    }
}
