/*
 * checkpoint.h - moving the log of SQLite into the database, safely.
 *
 * Before version 3.51.3 a checkpoint can corrupt the database when another connection
 * starts the log anew in the same moment. Only a writer does that. So the process
 * that checkpoints holds the write lock meanwhile, on one connection, and checkpoints on
 * another (a connection cannot checkpoint inside its own transaction):
 *
 *   writer   BEGIN IMMEDIATE ........................... ROLLBACK
 *   helper                    checkpoint(PASSIVE)
 *   readers  go on, before, meanwhile and after
 *   writers  wait, as for any transaction
 *
 * What readers still need stays in the log until the next time. When all of it was
 * moved, the next writer starts the log anew and cuts the file.
 *
 * The sweep does it at the end of a round. Every link of ours does it after a commit
 * that finds the log over the limit, so that no log grows without end where nothing is
 * delivered. And a link whose commits are small does it much earlier: a log that starts
 * anew is written in place. One that grows changes the length of its file with each
 * commit, which the file system has to flush, too; that is a third of a small commit.
 *
 * Threads  The owner of both links.
 */
#ifndef WEIR_DB_SQLITE_CHECKPOINT_H
#define WEIR_DB_SQLITE_CHECKPOINT_H

#include <stdint.h>

#include "db/driver.h"

struct weir_sqlite_link;

enum {
    /* A log that is larger asks for a checkpoint also outside of the sweep. */
    WEIR_SQLITE_WAL_SIZE_MAX = 64 * 1024 * 1024,
    /* Likewise where commits are small. */
    WEIR_SQLITE_WAL_SIZE_SHORT = 2 * 1024 * 1024,
};

/* What a link knows of the log. All zero: nothing, and it never asks for a checkpoint. */
struct weir_sqlite_log {
    int64_t page_size;
    int64_t size;             /* about, after the last commit of this link */
    int64_t grown;            /* since the commit before it, by whatever link */
    int64_t size_max;         /* above it the next commit checkpoints */
    int64_t short_max;        /* above it a small one does */
    struct weir_link *helper; /* owned, from the first checkpoint on; or NULL */
};

/* From now on this link of ours, whose file has pages of this size, knows how long the
 * log is. */
void weir_sqlite_log_watch(struct weir_sqlite_link *self, int64_t page_size);

/*
 * After a commit: checkpoint if the log is over the limit. Opens a second link for it,
 * which is kept, and waits for the write lock only shortly. Failure is logged and no
 * more: what was committed is, and the next try comes when the log has grown by another
 * quarter of the limit.
 */
void weir_sqlite_log_relieve(struct weir_sqlite_link *self);

/* Close the second link. In front of the end of this one, which may be the last of the
 * file (close_last.h). */
void weir_sqlite_log_fini(struct weir_sqlite_link *self);

/*
 * Checkpoint. Two different links of ours to the same file, both outside of a
 * transaction, and so they are afterwards. Waits for the write lock, up to the lock
 * timeout. WEIR_LOCKED: another writer or checkpoint was in the way. Nothing to
 * do in memory: WEIR_OK.
 */
WEIR_CHECKED enum weir_status weir_sqlite_checkpoint(struct weir_link *writer,
                                                     struct weir_link *helper,
                                                     struct weir_error *error);

/*
 * The size of the log file, 0 when there is none. Asks the file system by name: opening
 * and closing the file here would drop the locks that SQLite holds on it in this
 * process.
 */
WEIR_CHECKED enum weir_status weir_sqlite_wal_size(struct weir_link *link, int64_t *out,
                                                   struct weir_error *error);

#endif
