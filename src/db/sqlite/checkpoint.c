/*
 * checkpoint.c - see sqlite/checkpoint.h.
 */
#include "db/sqlite/checkpoint.h"

#include <errno.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include "base/assert.h"
#include "base/log.h"
#include "db/sqlite/link.h"
#include "weir/time.h"

/* How long a writer that has committed waits for the lock once more. */
#define RELIEF_WAIT_LIMIT_NS WEIR_MILLISECONDS(200)

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

    (void)db;
    (void)name;
    if (size < log->size) /* it was started anew */
        log->size_max = WEIR_SQLITE_WAL_SIZE_MAX;
    log->size = size;
    return SQLITE_OK;
}

void weir_sqlite_log_watch(struct weir_sqlite_link *self, int64_t page_size)
{
    self->log = (struct weir_sqlite_log){.page_size = page_size,
                                         .size_max = WEIR_SQLITE_WAL_SIZE_MAX};
    (void)sqlite3_wal_hook(self->db, note_size, &self->log);
}

static enum weir_status checkpoint_by(struct weir_sqlite_link *self,
                                      struct weir_error *error)
{
    struct weir_link *helper = NULL;
    enum weir_status status = weir_driver_sqlite.open(self->link.config, &helper, error);

    if (status != WEIR_OK)
        return status;
    self->busy_handler.lock_timeout_ns = RELIEF_WAIT_LIMIT_NS;
    status = weir_sqlite_checkpoint(&self->link, helper, error);
    self->busy_handler.lock_timeout_ns = self->link.config->lock_timeout_ns;
    weir_driver_sqlite.close(helper);
    return status;
}

void weir_sqlite_log_relieve(struct weir_sqlite_link *self)
{
    struct weir_sqlite_log *log = &self->log;
    struct weir_error error;
    enum weir_status status;

    if (log->size <= log->size_max || self->link.lost ||
        sqlite3_get_autocommit(self->db) == 0)
        return;
    log->size_max = log->size + WEIR_SQLITE_WAL_SIZE_MAX / 4;
    status = checkpoint_by(self, &error);
    if (status != WEIR_OK && status != WEIR_LOCKED)
        weir_log_event(self->link.config->log, WEIR_LOG_WARNING,
                       "sqlite.checkpoint_failed", "log_size=%lld error=\"%s\"",
                       (long long)log->size, error.text);
}
