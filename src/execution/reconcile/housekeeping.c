/*
 * housekeeping.c - removes what is not needed any more: executions and flows that ended
 * long ago, with all that is theirs; keys of idempotency, waitpoints and secrets that
 * have run out; audit rows whose time is over.
 *
 * This is not urgent, so it comes at its interval and not when each of them is old
 * enough. Members go with their flow (flow_remove.h). The filter is about executions,
 * and of flows about their namespace: they have no tags, so a supervisor of a tag
 * leaves them to others. A key that has expired has no effect, in any
 * namespace.
 */
#include "db/transact.h"
#include "execution/flow/flow_remove.h"
#include "execution/reconcile/reconciler.h"
#include "execution/wait/secrets.h"
#include "execution/wait/wait_store.h"
#include "outbox/audit/audit_retention.h"
#include "outbox/schema.h"

static enum weir_ruling is_old(struct weir_execution_row *row, int64_t now_us,
                               struct weir_consequence *out)
{
    *out = (struct weir_consequence){.failure = weir_str("")};
    return weir_state_is_over(row->state) && row->ended_us <= now_us
               ? WEIR_RULING_DONE
               : WEIR_RULING_NOTHING;
}

/* ---- flows ------------------------------------------------------------------------- */

/* One transaction of either kind. */
struct clear_call {
    struct weir_reconciler_task *task;
    struct weir_str name_space;
    size_t count; /* of flows that were marked, or of members that were found */
    size_t removed;
};

static enum weir_status mark_some(struct weir_connection *connection, void *argument,
                                  struct weir_error *error)
{
    struct clear_call *self = argument;
    int64_t now_us = 0;
    enum weir_status status;

    weir_reconciler_runs_on(self->task, connection);
    status = weir_connection_clock(connection, &now_us, error);
    if (status == WEIR_OK)
        status =
            weir_flows_mark(connection, self->name_space, now_us - self->task->age_us,
                            WEIR_RECONCILE_BATCH, &self->count, error);
    weir_reconciler_runs_on(self->task, NULL);
    return status;
}

/* Another process may remove the same ones at this moment: then they do not load. */
static enum weir_status remove_members(struct clear_call *self,
                                       struct weir_connection *connection,
                                       struct weir_error *error)
{
    struct weir_execution_records *records = &self->task->records;
    int64_t nos[WEIR_RECONCILE_BATCH];
    size_t over = 0;
    enum weir_status status = weir_flows_gone_members(
        connection, nos, WEIR_RECONCILE_BATCH, &self->count, error);

    if (status != WEIR_OK || self->count == 0)
        return status;
    status =
        weir_store_load(self->task->store, connection, nos, self->count, records, error);
    if (status != WEIR_OK || records->count == 0)
        return status;
    for (size_t i = 0; i < records->count; i++) {
        if (weir_state_is_over(
                records->rows[i].row.state)) /* all, unless it is damaged */
            nos[over++] = records->rows[i].row.no;
    }
    self->removed = over;
    return weir_store_remove(self->task->store, connection, nos, over, error);
}

static enum weir_status remove_some(struct weir_connection *connection, void *argument,
                                    struct weir_error *error)
{
    struct clear_call *self = argument;
    size_t flows = 0;
    enum weir_status status;

    self->removed = 0;
    weir_reconciler_runs_on(self->task, connection);
    status = remove_members(self, connection, error);
    if (status == WEIR_OK)
        status = weir_flows_forget(connection, WEIR_RECONCILE_BATCH, &flows, error);
    weir_reconciler_runs_on(self->task, NULL);
    self->removed += flows;
    return status;
}

/* All members of those that are marked. */
static enum weir_status remove_all(struct clear_call *self, struct weir_context *context,
                                   struct weir_scan_report *out, struct weir_error *error)
{
    enum weir_status status = WEIR_OK;

    self->count = WEIR_RECONCILE_BATCH;
    self->removed = 1;
    while (status == WEIR_OK && self->count == WEIR_RECONCILE_BATCH &&
           self->removed > 0 && !weir_context_cancelled(context)) {
        status = weir_transact(self->task->db, remove_some, self, error);
        if (status == WEIR_OK)
            out->processed += self->removed;
    }
    return status;
}

static enum weir_status clear_flows(struct weir_context *context,
                                    struct weir_reconciler_task *task,
                                    const struct weir_store_filter *filter,
                                    struct weir_scan_report *out,
                                    struct weir_error *error)
{
    struct clear_call self = {.task = task, .name_space = weir_str("")};
    size_t marked = WEIR_RECONCILE_BATCH;
    enum weir_status status = WEIR_OK;

    if (filter != NULL && filter->tag_key.size > 0)
        return WEIR_OK;
    if (filter != NULL)
        self.name_space = filter->name_space;
    while (status == WEIR_OK && marked == WEIR_RECONCILE_BATCH &&
           !weir_context_cancelled(context)) {
        status = weir_transact(task->db, mark_some, &self, error);
        marked = self.count;
        if (status == WEIR_OK)
            status = remove_all(&self, context, out, error);
    }
    return status;
}

/* ---- what has run out -------------------------------------------------------------- */

/* One transaction of forgetting. */
struct forget_call {
    struct weir_reconciler_task *task;
    size_t removed;
};

static enum weir_status forget_some(struct weir_connection *connection, void *argument,
                                    struct weir_error *error)
{
    struct forget_call *self = argument;
    size_t waitpoints = 0;
    int64_t now_us = 0;
    enum weir_status status;

    weir_reconciler_runs_on(self->task, connection);
    status = weir_connection_clock(connection, &now_us, error);
    if (status == WEIR_OK)
        status = weir_store_forget_keys(connection, now_us, WEIR_RECONCILE_BATCH,
                                        &self->removed, error);
    if (status == WEIR_OK)
        status = weir_waitpoints_forget(connection, now_us, WEIR_RECONCILE_BATCH,
                                        &waitpoints, error);
    if (status == WEIR_OK)
        status = weir_secrets_forget(connection, now_us, error);
    if (waitpoints > self->removed)
        self->removed = waitpoints; /* a full batch of either: there may be more */
    weir_reconciler_runs_on(self->task, NULL);
    return status;
}

static enum weir_status forget_keys(struct weir_context *context,
                                    struct weir_reconciler_task *task,
                                    struct weir_scan_report *out,
                                    struct weir_error *error)
{
    struct forget_call forget_call = {.task = task, .removed = WEIR_RECONCILE_BATCH};
    enum weir_status status = WEIR_OK;

    while (status == WEIR_OK && forget_call.removed == WEIR_RECONCILE_BATCH &&
           !weir_context_cancelled(context)) {
        status = weir_transact(task->db, forget_some, &forget_call, error);
        if (status == WEIR_OK)
            out->processed += forget_call.removed;
    }
    return status;
}

/* A database may have the tables of executions alone. */
static enum weir_status expire_audit_rows(struct weir_connection *connection,
                                          void *argument, struct weir_error *error)
{
    struct forget_call *self = argument;
    struct weir_schema_version version = {0};
    int64_t removed = 0;
    enum weir_status status;

    weir_reconciler_runs_on(self->task, connection);
    status = weir_schema_read(&weir_outbox_schema, connection, &version, error);
    if (status == WEIR_OK && version.number >= WEIR_SCHEMA_WITH_AUDIT)
        status = weir_audit_expire(connection, &removed, error);
    weir_reconciler_runs_on(self->task, NULL);
    self->removed = (size_t)removed;
    return status;
}

static enum weir_status expire_audit(struct weir_context *context,
                                     struct weir_reconciler_task *task,
                                     struct weir_scan_report *out,
                                     struct weir_error *error)
{
    struct forget_call call = {.task = task, .removed = WEIR_AUDIT_EXPIRE_STEP};
    enum weir_status status = WEIR_OK;

    while (status == WEIR_OK && call.removed >= WEIR_AUDIT_EXPIRE_STEP &&
           !weir_context_cancelled(context)) {
        status = weir_transact(task->db, expire_audit_rows, &call, error);
        if (status == WEIR_OK)
            out->processed += call.removed;
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
    if (status == WEIR_OK && self->age_us > 0)
        status = clear_flows(context, self, tick->filter, out, error);
    if (status == WEIR_OK)
        status = forget_keys(context, self, out, error);
    if (status == WEIR_OK)
        status = expire_audit(context, self, out, error);
    return status;
}

const struct weir_reconciler_kind weir_reconciler_housekeeping = {
    .rule = is_old,
    .removes = true,
    .tick = keep_house,
};
