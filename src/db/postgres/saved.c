/*
 * saved.c - see postgres/saved.h.
 *
 * What has happened at the server is read from the state of the transaction that came
 * with the sync, not from what the client knows: results may be missing for want of
 * memory.
 *
 *   I1  a return to the savepoint is tried unless the server has said that there is none
 *   I2  where that fails and the transaction is not failed, the connection is cut
 */
#include "db/postgres/saved.h"

#include "db/postgres/pipeline.h"

#define RETURN                                                                           \
    "ROLLBACK TO SAVEPOINT " WEIR_SAVED_NAME ";RELEASE SAVEPOINT " WEIR_SAVED_NAME

static struct weir_pg_link *own(struct weir_link *link)
{
    return (struct weir_pg_link *)link;
}

static bool has_failed(const struct weir_pg_link *self)
{
    return PQtransactionStatus(self->connection) == PQTRANS_INERROR;
}

/* The savepoint is released, so a return to it fails, and with it the transaction. */
static void fail_transaction(struct weir_pg_link *self)
{
    struct weir_error ignored;
    enum weir_status status = weir_pg_execute_text(self, RETURN, &ignored);

    if (!self->base.lost && (status == WEIR_OK || !has_failed(self)))
        weir_pg_cut(self); /* I2 */
}

void weir_pg_spoil(struct weir_link *link)
{
    if (!link->lost)
        fail_transaction(own(link));
}

/* True: the transaction is as it was before the call. */
static bool undo(struct weir_pg_link *self, const struct weir_pg_train *train)
{
    struct weir_error ignored;

    if (!train->queued)
        return true;
    if (train->done == 0 && has_failed(self))
        return false; /* I1 */
    if (weir_pg_execute_text(self, RETURN, &ignored) == WEIR_OK)
        return true;
    if (!self->base.lost && !has_failed(self))
        weir_pg_cut(self); /* I2 */
    return false;
}

enum weir_status weir_pg_run_saved(struct weir_link *link,
                                   struct weir_driver_step steps[WEIR_SAVED_STEP_COUNT],
                                   PGresult **out, struct weir_error *error)
{
    struct weir_pg_train train = {
        .steps = steps,
        .step_count = WEIR_SAVED_STEP_COUNT,
        .result = out,
        .result_step = WEIR_SAVED_RUN,
    };
    enum weir_status status;

    *out = NULL;
    status = weir_pg_run_train(own(link), &train, error);
    if (status != WEIR_OK && !link->lost && !undo(own(link), &train))
        weir_error_prefix(error, "the transaction cannot be used any more");
    return status;
}
