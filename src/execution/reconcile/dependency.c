/*
 * dependency.c - edges that are open although what they come from has ended.
 *
 * The end of an execution resolves its edges, so there are none, but for two kinds:
 * more than one transaction should take, whose rest is announced and done at once; and
 * what went wrong in an unknown way, which is found by what is stored, when it is older
 * than the stale threshold.
 */
#include "db/db.h"
#include "execution/flow/edge_store.h"
#include "execution/reconcile/batch_reconciler.h"

enum { UPSTREAMS = 100 };

/* One tick. */
struct reconcile_call {
    int64_t age_us;
};

static enum weir_status find(struct weir_batch_reconciler *self,
                             struct weir_connection *connection, size_t limit,
                             struct weir_error *error)
{
    const struct reconcile_call *reconcile_call = self->state;
    struct weir_members ended = {.count = 0};
    int64_t now_us = 0;
    enum weir_status status = weir_connection_clock(connection, &now_us, error);

    if (status == WEIR_OK)
        status = weir_edges_left_open(connection, self->tick->filter,
                                      now_us - reconcile_call->age_us, limit,
                                      &self->arena, &ended, error);
    for (size_t i = 0; i < ended.count && status == WEIR_OK; i++)
        status = weir_batch_reconciler_add_execution(self, ended.rows[i].no,
                                                     &ended.rows[i].id, error);
    return status;
}

/* They have ended: what follows is what should have followed then. One that begins anew
 * meanwhile has not. */
static enum weir_status mend(struct weir_batch_reconciler *self,
                             struct weir_connection *connection,
                             const struct weir_candidate *candidates, size_t count,
                             struct weir_error *error)
{
    struct weir_reconciler_task *task = self->task;
    size_t ended = 0;
    int64_t now_us = 0;
    enum weir_status status =
        weir_batch_reconciler_load(self, connection, candidates, count, &now_us, error);

    for (size_t i = 0; i < task->records.count && status == WEIR_OK; i++) {
        if (weir_state_is_over(task->records.rows[i].row.state))
            task->changes[ended++] =
                (struct weir_change){.stored = &task->records.rows[i],
                                     .consequence = {.news = WEIR_NEWS_COMPLETION}};
    }
    return status == WEIR_OK
               ? weir_change_set_resolve(task->executions, connection, task->changes,
                                         ended, now_us, &self->pending_wakeups,
                                         &self->done, error)
               : status;
}

static const struct weir_batch_reconciler_kind LEFT_OPEN = {.what = "execution",
                                                            .limit = UPSTREAMS,
                                                            .find = find,
                                                            .mend = mend};

static enum weir_status tick(struct weir_context *context, void *state,
                             const struct weir_scan_tick *scan,
                             struct weir_scan_report *out, struct weir_error *error)
{
    struct weir_reconciler_task *task = state;
    struct reconcile_call reconcile_call = {
        .age_us = weir_reconciler_begins(task) ? 0 : task->age_us};
    struct weir_batch_reconciler batch_reconciler = {.kind = &LEFT_OPEN,
                                                     .task = task,
                                                     .context = context,
                                                     .tick = scan,
                                                     .report = out,
                                                     .state = &reconcile_call};
    enum weir_status status = weir_batch_reconciler_run(&batch_reconciler, error);

    weir_reconciler_ends(task, status, out);
    return status;
}

const struct weir_reconciler_kind weir_reconciler_dependency = {
    .tick = tick,
};
