/*
 * liveness.c - the liveness lock on SQLite: one byte of a file beside the database.
 *
 *   DATABASE-weir   always empty; a process locks the byte at its number (side_file.h)
 *
 * The lock is that of an open file, not of a process: it ends with the last descriptor,
 * two outboxes of one process do not share it, and closing another descriptor does not
 * lose it. The file is never removed: a process that had it open would lock one that no
 * other process sees. When another program removes it, that is noticed, as the loss of
 * the session. SQLite's own files are not touched: closing one of them would drop its
 * locks.
 */
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/heap.h"
#include "base/no_memory.h"
#include "db/sqlite/side_file.h"
#include "outbox/lease/liveness_ops.h"
#include "outbox/sqlite/engine.h"

/* By the name that SQLite has found out, symbolic links followed, so that all have the
 * same. */
static enum weir_status name_file(struct weir_liveness *self, struct weir_db *db,
                                  struct weir_error *error)
{
    struct weir_connection *connection = NULL;
    enum weir_status status = weir_db_acquire(db, &connection, error);
    const char *database = NULL;

    if (status == WEIR_OK)
        database = sqlite3_db_filename(weir_connection_native(connection), "main");
    if (status == WEIR_OK && (database == NULL || *database == '\0'))
        status = weir_error_set(error, WEIR_FAILED, "the database has no file");
    if (status == WEIR_OK) {
        self->path = weir_side_file_path(self->heap, database);
        if (self->path == NULL)
            status = weir_no_memory(error, NULL);
    }
    weir_db_release(db, connection);
    return status;
}

static enum weir_status fail(const struct weir_liveness *self, const char *what,
                             struct weir_error *error)
{
    int number = errno;
    char why[64];

    return weir_error_set(error, WEIR_SYSTEM, "%s \"%.150s\": %s", what, self->path,
                          strerror_r(number, why, sizeof why));
}

static enum weir_status open_file(struct weir_liveness *self, struct weir_error *error)
{
    self->file = weir_side_file_open(self->path);
    return self->file >= 0 ? WEIR_OK : fail(self, "cannot open", error);
}

static struct flock byte_at(int64_t number)
{
    return (struct flock){
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = number, .l_len = 1};
}

static enum weir_status lock(struct weir_liveness *self, struct weir_error *error)
{
    struct flock byte = byte_at(self->number);

    if (fcntl(self->file, F_OFD_SETLK, &byte) != 0)
        return fail(self, "cannot lock", error);
    return WEIR_OK;
}

static enum weir_status start(struct weir_liveness *self, struct weir_db *db,
                              struct weir_error *error)
{
    enum weir_status status = name_file(self, db, error);

    if (status == WEIR_OK)
        status = open_file(self, error);
    if (status == WEIR_OK)
        status = lock(self, error);
    return status;
}

/* It is lost when others look at another file. */
static bool is_held(struct weir_liveness *self)
{
    struct stat ours;
    struct stat theirs;

    return fstat(self->file, &ours) == 0 && stat(self->path, &theirs) == 0 &&
           ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino;
}

/* What is unknown is no death. */
static bool holds(struct weir_liveness *self, struct weir_rows *rows, int64_t number)
{
    struct flock byte = byte_at(number);

    (void)rows;
    return fcntl(self->file, F_OFD_GETLK, &byte) != 0 || byte.l_type != F_UNLCK;
}

static void end(struct weir_liveness *self)
{
    if (self->file >= 0)
        (void)close(self->file);
    weir_heap_free(self->heap, self->path);
}

const struct weir_liveness_ops weir_liveness_sqlite = {
    .open = start,
    .is_held = is_held,
    .holds = holds,
    .close = end,
};
