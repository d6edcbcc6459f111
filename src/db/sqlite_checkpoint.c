/*
 * sqlite_checkpoint.c - see sqlite_checkpoint.h.
 */
#include "db/sqlite_checkpoint.h"

#include <errno.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include "base/assert.h"
#include "db/sqlite_link.h"

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
