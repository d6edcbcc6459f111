/*
 * restore.h - a database that was restored in another cluster becomes one that delivers.
 *
 * On PostgreSQL the log's order is made of transaction ids, which mean nothing in
 * another cluster. So the tables know where they were made (log.h), and elsewhere
 * no process can enqueue or deliver. Whether a copy is to deliver only an operator can
 * say: a staging system must not send production's backlog once more. When it is said,
 * the order of all messages there are is written down in numbers that hold anywhere, and
 * new ones follow behind them:
 *
 *   before   log   [ cut 5 | cut 6 | cut 7 | committed, in no cut ]      transaction
 *            ids of the cuts    5       6       7
 *            other cluster
 *
 *   after    aside [ 5, id | 6, id | 7, id | 8, id                ]
 *            log   [                                              ] ->   this cluster's
 *            cuts                           8
 *
 * Positions stay as they are: *passed* is a matter of (cut, id), so are the rows set
 * aside. Numbers go on where they were. Leases are void, since they belong to another
 * incarnation.
 *
 * Holes. A dump that was taken while the sweep emptied leaves may miss what was in
 * them: messages, positions, cuts (postgres/copy.h). Such a database is refused,
 * whether it was made elsewhere or restored over itself, unless the caller says that it
 * is to go on as it is. Then what is there is delivered:
 *
 *   messages    in the order of the cuts that are there; which are missing is not known
 *   positions   that are missing begin at the removed place of their queue, and count
 *               from 0; others may be older than they were, so that messages come again
 *
 * Threads  The holder of the connection.
 * Failure  As the database does. All of it is one transaction, so there is nothing or
 *          all of it, and it may be repeated; a second time finds nothing to do.
 *          WEIR_LOCKED: a session still uses the tables. WEIR_SCHEMA: the dump has a
 *          hole, nothing was changed. WEIR_CONSTRAINT: a cut is missing that messages
 *          need, nothing was changed.
 */
#ifndef WEIR_OUTBOX_POSTGRES_RESTORE_H
#define WEIR_OUTBOX_POSTGRES_RESTORE_H

#include <stdbool.h>
#include <stdint.h>

#include "db/connection.h"
#include "outbox/postgres/copy.h"

/* The cluster and the database that a statement runs in, as the meta table has it. */
#define WEIR_IDENTITY_PG                                                                 \
    "(SELECT system_identifier FROM pg_control_system())::text || '/' ||"                \
    " (SELECT oid FROM pg_database WHERE datname = current_database())::text"

enum {
    WEIR_IDENTITY_SIZE = 64,
    WEIR_RESTORE_ROWS = 2000 /* that one statement copies */
};

/* What there is, and would be done. */
struct weir_pg_survey {
    bool needed; /* it was made elsewhere */
    char made_in[WEIR_IDENTITY_SIZE];
    char found_in[WEIR_IDENTITY_SIZE];
    struct weir_pg_hole hole;
    int64_t unplaced; /* positions that are missing */
    int64_t messages; /* in the log, to be set aside */
    int64_t aside;    /* that were set aside before */
    int64_t cuts;     /* to be replaced by one */
    int64_t queues;
    int64_t subscriptions;
};

/* Changes nothing. */
WEIR_CHECKED enum weir_status weir_pg_restore_survey(struct weir_connection *connection,
                                                     struct weir_pg_survey *out,
                                                     struct weir_error *error);

enum weir_pg_holes { WEIR_PG_HOLES_REFUSED, WEIR_PG_HOLES_ACCEPTED };

/* Do it, if it is needed or if there is a hole; *out tells what there was, counted
 * under the locks. Outside of any transaction. */
WEIR_CHECKED enum weir_status weir_pg_restore(struct weir_connection *connection,
                                              enum weir_pg_holes holes,
                                              struct weir_pg_survey *out,
                                              struct weir_error *error);

/* The text that a database with a hole is refused with, and WEIR_SCHEMA. */
WEIR_CHECKED enum weir_status weir_pg_restore_refuse(const struct weir_pg_hole *hole,
                                                     struct weir_error *error);

#endif
