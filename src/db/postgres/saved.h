/*
 * saved.h - one statement in a savepoint of its own, in one round trip.
 *
 *   ->  SAVEPOINT, statement, RELEASE, sync
 *
 * The savepoint is released before its holder has seen the rows. So a call that fails
 * although the server has done all of it (there was no memory for the answer) must not
 * leave an open transaction behind: its owner would commit rows that were reported as
 * not written. After each failure one of these holds:
 *
 *   - the transaction is open and has nothing of the call;
 *   - the server has failed the transaction, and COMMIT of it is a rollback;
 *   - the connection is broken, and the server rolls back.
 *
 * Threads  The holder of the link.
 */
#ifndef WEIR_DB_POSTGRES_SAVED_H
#define WEIR_DB_POSTGRES_SAVED_H

#include <libpq-fe.h>

#include "db/driver.h"

/* The slots run_saved and spoil of struct weir_driver. */
WEIR_CHECKED enum weir_status
weir_pg_run_saved(struct weir_link *link,
                  struct weir_driver_step steps[WEIR_SAVED_STEP_COUNT], PGresult **out,
                  struct weir_error *error);
void weir_pg_spoil(struct weir_link *link);

#endif
