/*
 * pipeline.h - several statements in one round trip, by libpq's pipeline mode.
 *
 *   ->  step 0, step 1, step 2, ..., sync
 *   <-  done,   failed, skipped, ..., sync
 *
 * After the first failure the server skips everything up to the sync. Inside a
 * transaction that failure leaves it failed, and a savepoint or all of it must be
 * undone. Without one the steps are a transaction of their own: all or none of them
 * happened.
 *
 * Whatever happens, the connection is out of pipeline mode afterwards, or lost. An
 * application's connection on which steps were queued and did not all get their answers
 * is cut, so that the server rolls back what has arrived: the application could commit
 * it else, although the call has failed.
 */
#ifndef WEIR_DB_POSTGRES_PIPELINE_H
#define WEIR_DB_POSTGRES_PIPELINE_H

#include "db/postgres/statement.h"

/* The slot run_steps of struct weir_driver. */
WEIR_CHECKED enum weir_status weir_pg_run_steps(struct weir_link *link,
                                                struct weir_driver_step *steps,
                                                size_t step_count, size_t *failed,
                                                struct weir_error *error);

/*
 * Texts without parameters and rows may travel in front of the steps and behind them: a
 * BEGIN, a COMMIT. Either may be NULL.
 */
struct weir_pg_train {
    const char *before;
    const char *after;
    struct weir_driver_step *steps;
    size_t step_count;
    PGresult **result; /* out, of the step `result_step`; NULL: it is dropped */
    size_t result_step;
    bool queued;   /* out: something may have arrived */
    bool sent;     /* out: the text behind the steps may have arrived */
    size_t done;   /* out: so many steps have succeeded */
    size_t failed; /* out: the step; step_count: one of the texts */
};
WEIR_CHECKED enum weir_status weir_pg_run_train(struct weir_pg_link *self,
                                                struct weir_pg_train *train,
                                                struct weir_error *error);

#endif
