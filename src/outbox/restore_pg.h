/*
 * restore_pg.h - a database that was restored in another cluster becomes one that delivers.
 *
 * On PostgreSQL the log's order is made of transaction ids, which mean nothing in another cluster. So
 * the tables know where they were made (log.h), and elsewhere nobody enqueues or delivers. Whether a
 * copy is to deliver only an operator can say: a staging system must not send production's
 * backlog once more. When it is said, the order of all messages there are is written down in numbers
 * that hold anywhere, and new ones follow behind them:
 *
 *   before   log   [ cut 5 | cut 6 | cut 7 | committed, in no cut ]      transaction ids of the
 *            cuts    5       6       7                                   other cluster
 *
 *   after    aside [ 5, id | 6, id | 7, id | 8, id                ]
 *            log   [                                              ] ->   this cluster's
 *            cuts                           8
 *
 * Positions stay as they are: *passed* is a matter of (cut, id), so are the rows set aside. Numbers go
 * on where they were. Leases are void, since they belong to another incarnation.
 *
 * Threads  Whoever holds the connection.
 * Failure  As the database does. All of it is one transaction, so there is nothing or all of it, and
 *          it may be repeated; a second time finds nothing to do. WEIR_LOCKED: somebody still uses
 *          the tables. WEIR_CONSTRAINT: a cut is missing that messages need, nothing was changed.
 */
#ifndef WEIR_OUTBOX_RESTORE_PG_H
#define WEIR_OUTBOX_RESTORE_PG_H

#include <stdbool.h>
#include <stdint.h>

#include "db/connection.h"

enum {
    WEIR_IDENTITY_SIZE = 64,
    WEIR_RESTORE_ROWS = 2000 /* that one statement copies */
};

/* What there is, and would be done. */
struct weir_pg_survey {
    bool needed; /* it was made elsewhere */
    char made_in[WEIR_IDENTITY_SIZE];
    char found_in[WEIR_IDENTITY_SIZE];
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

/* Do it, if it is needed; *out tells what there was, counted under the locks. Outside of any
 * transaction. */
WEIR_CHECKED enum weir_status weir_pg_restore(struct weir_connection *connection,
                                              struct weir_pg_survey *out,
                                              struct weir_error *error);

#endif
