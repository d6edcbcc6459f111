/*
 * error.c - see sqlite/error.h.
 *
 * Three choices are worth their reasons:
 *
 *   IOERR     is WEIR_LOST, so that the connection is opened anew. A descriptor whose
 *             volume went away stays broken for ever, also when the file is back under
 *             its name.
 *   CANTOPEN  depends on the reason. A missing folder is "no such database"
 *             (WEIR_SCHEMA): it does not heal by itself and an operator has to look. Too
 *             few descriptors heal.
 *   ERROR     is a missing table or column, or a statement that this version does not
 *             understand: the schema is not the one that we were written for.
 */
#include "db/sqlite/error.h"

#include <errno.h>
#include <sqlite3.h>
#include <stddef.h>

#include "base/count.h"

struct entry {
    int code;
    enum weir_status status;
};

/* Extended codes that differ from their family. */
static const struct entry SPECIAL[] = {
    {SQLITE_ABORT_ROLLBACK, WEIR_CONFLICT},
    {SQLITE_BUSY_SNAPSHOT,
     WEIR_CONFLICT}, /* it read, another one wrote: it can never write */
    {SQLITE_ERROR_SNAPSHOT, WEIR_CONFLICT},
    {SQLITE_IOERR_NOMEM, WEIR_NO_MEMORY},
    {SQLITE_IOERR_CORRUPTFS, WEIR_SCHEMA},
    {SQLITE_READONLY_DBMOVED, WEIR_LOST}, /* renamed or removed while we had it open */
    {SQLITE_CANTOPEN_ISDIR, WEIR_SCHEMA},
};

static const struct entry FAMILIES[] = {
    {SQLITE_ERROR, WEIR_SCHEMA},        {SQLITE_INTERNAL, WEIR_FAILED},
    {SQLITE_PERM, WEIR_DENIED},         {SQLITE_ABORT, WEIR_FAILED},
    {SQLITE_BUSY, WEIR_LOCKED},         {SQLITE_LOCKED, WEIR_LOCKED},
    {SQLITE_NOMEM, WEIR_NO_MEMORY},     {SQLITE_READONLY, WEIR_DENIED},
    {SQLITE_INTERRUPT, WEIR_CANCELLED}, {SQLITE_IOERR, WEIR_LOST},
    {SQLITE_CORRUPT, WEIR_SCHEMA},      {SQLITE_NOTFOUND, WEIR_FAILED},
    {SQLITE_FULL, WEIR_DISK_FULL},      {SQLITE_CANTOPEN, WEIR_SYSTEM},
    {SQLITE_PROTOCOL, WEIR_LOCKED}, /* the race for the locks of the log was lost too
                                       often */
    {SQLITE_SCHEMA, WEIR_CONFLICT}, /* it changed under each of many attempts */
    {SQLITE_TOOBIG, WEIR_INVALID},      {SQLITE_CONSTRAINT, WEIR_CONSTRAINT},
    {SQLITE_MISMATCH, WEIR_INVALID},    {SQLITE_MISUSE, WEIR_INVALID},
    {SQLITE_NOLFS, WEIR_DISK_FULL},     {SQLITE_AUTH, WEIR_DENIED},
    {SQLITE_RANGE, WEIR_INVALID},       {SQLITE_NOTADB, WEIR_SCHEMA},
};

/* After the commit mark: in WAL mode the flush of the log; with a rollback journal also
 * its removal, which is the commit. */
static const int DOUBTFUL[] = {
    SQLITE_IOERR_FSYNC,         SQLITE_IOERR_DIR_FSYNC, SQLITE_IOERR_DELETE,
    SQLITE_IOERR_DELETE_NOENT,  SQLITE_IOERR_TRUNCATE,  SQLITE_IOERR_CLOSE,
    SQLITE_IOERR_COMMIT_ATOMIC,
};

static const struct entry *find(const struct entry *entries, size_t count, int code)
{
    for (size_t i = 0; i < count; i++) {
        if (entries[i].code == code)
            return &entries[i];
    }
    return NULL;
}

/* What the operating system said, where that decides. WEIR_OK: it does not. */
static enum weir_status status_of_errno(int system_errno)
{
    switch (system_errno) {
    case ENOSPC:
    case EDQUOT:
        return WEIR_DISK_FULL;
    case EACCES:
    case EPERM:
    case EROFS:
        return WEIR_DENIED;
    case ENOENT:
    case ENOTDIR:
    case EISDIR:
    case ENAMETOOLONG:
    case ELOOP:
        return WEIR_SCHEMA;
    case ENOMEM:
        return WEIR_NO_MEMORY;
    default:
        return WEIR_OK;
    }
}

enum weir_status weir_sqlite_status(int code, int system_errno)
{
    int family = code & 0xff;
    const struct entry *entry = find(SPECIAL, COUNT_OF(SPECIAL), code);
    enum weir_status status = status_of_errno(system_errno);

    if (entry != NULL)
        return entry->status;
    if (family == SQLITE_CANTOPEN && status != WEIR_OK)
        return status;
    if (family == SQLITE_IOERR && (status == WEIR_DISK_FULL || status == WEIR_NO_MEMORY))
        return status;
    entry = find(FAMILIES, COUNT_OF(FAMILIES), family);
    return entry != NULL ? entry->status : WEIR_FAILED;
}

bool weir_sqlite_code_leaves_doubt(int code)
{
    for (size_t i = 0; i < COUNT_OF(DOUBTFUL); i++) {
        if (DOUBTFUL[i] == code)
            return true;
    }
    return false;
}
