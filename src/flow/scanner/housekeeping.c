/*
 * housekeeping.c - what nobody needs any more: executions that ended long ago, with all that is
 * theirs, and keys of idempotency that have run out.
 *
 * Nobody waits for this, so it comes at its interval and not when each of them is old enough. The
 * filter is about executions. A key that has run out means nothing to anybody, whosever it was.
 */
#include "db/transact.h"
#include "flow/scanner/reconciler.h"

static enum weir_ruling is_old(struct weir_execution_row *row, int64_t now_us,
                               struct weir_consequence *out)
{
    *out = (struct weir_consequence){.failure = weir_str("")};
    return weir_state_is_over(row->state) && row->ended_us <= now_us
               ? WEIR_RULING_DONE
               : WEIR_RULING_NOTHING;
}

/* One transaction of forgetting. */
struct forgetting {
    struct weir_reconciler_task *task;
    size_t removed;
};

static enum weir_status forget_some(struct weir_connection *connection, void *argument,
                                    struct weir_error *error)
{
    struct forgetting *self = argument;
    int64_t now_us = 0;
    enum weir_status status;

    weir_reconciler_runs_on(self->task, connection);
    status = weir_connection_clock(connection, &now_us, error);
    if (status == WEIR_OK)
        status = weir_store_forget_keys(connection, now_us, WEIR_RECONCILE_BATCH,
                                        &self->removed, error);
    weir_reconciler_runs_on(self->task, NULL);
    return status;
}

static enum weir_status forget_keys(struct weir_context *context,
                                    struct weir_reconciler_task *task,
                                    struct weir_scan_report *out,
                                    struct weir_error *error)
{
    struct forgetting forgetting = {.task = task, .removed = WEIR_RECONCILE_BATCH};
    enum weir_status status = WEIR_OK;

    while (status == WEIR_OK && forgetting.removed == WEIR_RECONCILE_BATCH &&
           !weir_context_cancelled(context)) {
        status = weir_transact(task->db, forget_some, &forgetting, error);
        if (status == WEIR_OK)
            out->processed += forgetting.removed;
    }
    return status;
}

static enum weir_status keep_house(struct weir_context *context, void *task,
                                   const struct weir_scan_tick *tick,
                                   struct weir_scan_report *out, struct weir_error *error)
{
    struct weir_reconciler_task *self = task;
    enum weir_status status = WEIR_OK;

    if (self->age_us > 0) /* else they are kept for ever */
        status = weir_reconcile(context, task, tick, out, error);
    if (status == WEIR_OK)
        status = forget_keys(context, self, out, error);
    return status;
}

const struct weir_reconciler_kind weir_housekeeping = {
    .due = WEIR_DUE_ENDED,
    .rule = is_old,
    .removes = true,
    .tick = keep_house,
};
