/*
 * copy.h - copies of leaves, their numbers, and how a dump tells that it has a hole.
 *
 * TRUNCATE is not MVCC-safe: a leaf that is emptied between the snapshot of a dump and
 * its locks is empty in the dump, and what was moved out of it after the snapshot is
 * not in the dump either. So the sweep empties a leaf in two steps (postgres/sweep.h).
 * The first, a *copy*, is a transaction of its own and is recorded in the leaf's row of
 * {p}_copy:
 *
 *   no      the number of the copy, from one counter for all leaves, never back
 *   mark    what the copy covers: the newest cut for a leaf of the log, a sum over the
 *           ids of a leaf of acks, the last number in a leaf of cuts; -1: nothing
 *   kept    messages of the leaf that were not passed, and so stand aside
 *   xid     the transaction of the copy: a snapshot whose xmin is later sees it
 *
 * A hole cannot be recorded in a row: the row would be written after the snapshot of
 * the dump and be missing in it. A sequence is not MVCC. Just before TRUNCATE the sweep
 * stores the number of the copy in the sequence {p}_emptied. A dump reads sequences
 * after it has locked all tables:
 *
 *   snapshot sees copy 7          emptied by copy 8           locks, reads
 *   ------|---------------------------|---------------------------|-------->
 *   rows: the newest copy is 7                                {p}_emptied is 8: a hole
 *
 * Numbers are given under the lock of sweeping, which lasts until the commit, so a
 * snapshot that sees copy n sees all before it. That holds on a standby as well: there
 * the record of setval() is replayed before that of the TRUNCATE.
 *
 * Threads  The holder of the connection.
 * Failure  As the database does.
 */
#ifndef WEIR_OUTBOX_POSTGRES_COPY_H
#define WEIR_OUTBOX_POSTGRES_COPY_H

#include <stdbool.h>
#include <stdint.h>

#include "db/connection.h"

enum { WEIR_PG_LEAF_NAME_SIZE = 16 }; /* "log_7", "ack_0", "cut_3" */

struct weir_pg_copy {
    int64_t no; /* 0: there was none */
    int64_t mark;
    int64_t kept;
    int64_t xid;
};

WEIR_CHECKED enum weir_status weir_pg_copy_load(struct weir_connection *connection,
                                                const char *leaf,
                                                struct weir_pg_copy *out,
                                                struct weir_error *error);

/* Record a copy under the next number. In the transaction that copies, under the lock of
 * sweeping. */
WEIR_CHECKED enum weir_status weir_pg_copy_store(struct weir_connection *connection,
                                                 const char *leaf, int64_t mark,
                                                 int64_t kept, struct weir_error *error);

/* A leaf is about to be truncated because of copy `no`. Not transactional: a rollback
 * leaves a number that some dump may take for a hole that it does not have. */
WEIR_CHECKED enum weir_status weir_pg_copy_announce(struct weir_connection *connection,
                                                    int64_t no, struct weir_error *error);

/* No copy counts any more, and the next number is `no`, also for a reader of the rows
 * alone. */
WEIR_CHECKED enum weir_status weir_pg_copy_reset(struct weir_connection *connection,
                                                 int64_t *no, struct weir_error *error);

/* What a database says of emptied leaves. */
struct weir_pg_hole {
    int64_t emptied; /* the newest copy by which a leaf was emptied */
    int64_t copied;  /* the newest copy that the rows know */
};

/* The rows are those of a dump that missed a copy. Never so in a database that was not
 * restored. */
static inline bool weir_pg_hole_is_there(const struct weir_pg_hole *self)
{
    return self->emptied > self->copied;
}

WEIR_CHECKED enum weir_status weir_pg_hole_read(struct weir_connection *connection,
                                                struct weir_pg_hole *out,
                                                struct weir_error *error);

#endif
