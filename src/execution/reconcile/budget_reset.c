/*
 * budget_reset.c - budgets whose period is over, and executions that wait for a budget
 * that is not exceeded any more, for whatever reason: reset, released, raised.
 *
 * Resets come at whole periods after the creation, however late one is. Waiting
 * executions are found by what is stored, so nothing is lost between a reset and the next
 * look. Whose they are does not matter: budgets belong to no namespace, and the filter is
 * not asked.
 */
#include "db/db.h"
#include "execution/budget/budget_store.h"
#include "execution/reconcile/batch_reconciler.h"
#include "execution/reconcile/period.h"

enum { BUDGETS = 20, WAITERS = 1000 };

/* ---- budgets whose time has come --------------------------------------------------- */

struct resets {
    struct weir_budget_rows due;
    int64_t looked_us; /* what was due then is not waited for */
};

static enum weir_status find_due(struct weir_batch_reconciler *self,
                                 struct weir_connection *connection, size_t limit,
                                 struct weir_error *error)
{
    struct resets *resets = self->state;
    struct weir_budget_rows *due = &resets->due;
    enum weir_status status =
        weir_connection_clock(connection, &resets->looked_us, error);

    if (status == WEIR_OK)
        status = weir_budget_due(connection, resets->looked_us, limit, &self->arena, due,
                                 error);
    for (size_t i = 0; i < due->count && status == WEIR_OK; i++)
        status =
            weir_batch_reconciler_add(self, due->rows[i].no, due->rows[i].name, error);
    return status;
}

static struct weir_str name_of(const struct resets *self, int64_t no)
{
    size_t i = 0;

    while (self->due.rows[i].no != no)
        i++;
    return self->due.rows[i].name;
}

/* Another process may have reset it meanwhile. */
static enum weir_status reset(struct weir_batch_reconciler *self,
                              struct weir_connection *connection, struct weir_str name,
                              struct weir_error *error)
{
    struct weir_budget_row row;
    int64_t now_us = 0;
    enum weir_status status =
        weir_budget_find(connection, name, WEIR_BUDGET_LOCKED, &self->arena, &row, error);

    if (status == WEIR_NO_ROW)
        return WEIR_OK;
    if (status == WEIR_OK)
        status = weir_connection_clock(connection, &now_us, error);
    if (status != WEIR_OK)
        return status;
    weir_reconciler_has_locked(self->task);
    if (row.next_reset_us == 0 || row.next_reset_us > now_us)
        return WEIR_OK;
    row.next_reset_us = row.period_us > 0
                            ? weir_period_next(row.next_reset_us, row.period_us, now_us)
                            : 0;
    self->done++;
    return weir_budget_clear(connection, &row, error);
}

static enum weir_status reset_all(struct weir_batch_reconciler *self,
                                  struct weir_connection *connection,
                                  const struct weir_candidate *candidates, size_t count,
                                  struct weir_error *error)
{
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; i < count && status == WEIR_OK; i++)
        status = reset(self, connection, name_of(self->state, candidates[i].no), error);
    return status;
}

static const struct weir_batch_reconciler_kind DUE = {.what = "budget",
                                                      .limit = BUDGETS,
                                                      .find = find_due,
                                                      .mend = reset_all};

/* ---- executions that wait for them ------------------------------------------------- */

static enum weir_status find_waiters(struct weir_batch_reconciler *self,
                                     struct weir_connection *connection, size_t limit,
                                     struct weir_error *error)
{
    struct weir_budget_waiters *waiters = self->state;
    enum weir_status status =
        weir_budget_waiters(connection, limit, &self->arena, waiters, error);

    for (size_t i = 0; i < waiters->count && status == WEIR_OK; i++)
        status = weir_batch_reconciler_add_execution(self, waiters->rows[i].no,
                                                     &waiters->rows[i].id, error);
    return status;
}

static enum weir_status stop_waiting(struct weir_batch_reconciler *self,
                                     struct weir_connection *connection, int64_t no,
                                     struct weir_error *error)
{
    const struct weir_budget_waiters *waiters = self->state;
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; i < waiters->count && status == WEIR_OK; i++) {
        if (waiters->rows[i].no == no)
            status =
                weir_budget_wait(connection, no, waiters->rows[i].budget, false, error);
    }
    return status;
}

/* Another of their budgets may be exceeded: the next claim finds out. */
static enum weir_status let_in(struct weir_batch_reconciler *self,
                               struct weir_connection *connection,
                               const struct weir_candidate *candidates, size_t count,
                               struct weir_error *error)
{
    struct weir_reconciler_task *task = self->task;
    int64_t now_us = 0;
    enum weir_status status =
        weir_batch_reconciler_load(self, connection, candidates, count, &now_us, error);

    for (size_t i = 0; i < task->records.count && status == WEIR_OK; i++) {
        struct weir_change change = {.stored = &task->records.rows[i]};

        if (weir_rule_unblock(&change.stored->row, WEIR_HOLD_BUDGET, now_us,
                              &change.consequence) == WEIR_RULING_DONE)
            task->changes[self->done++] = change;
    }
    for (size_t i = 0; i < count && status == WEIR_OK; i++)
        status = stop_waiting(self, connection, candidates[i].no, error);
    return status == WEIR_OK
               ? weir_change_set_store(task->executions, connection, task->changes,
                                       self->done, now_us, &self->pending_wakeups, error)
               : status;
}

static const struct weir_batch_reconciler_kind WAITING = {.what = "execution",
                                                          .limit = WAITERS,
                                                          .find = find_waiters,
                                                          .mend = let_in};

/* ---- a tick ------------------------------------------------------------------------ */

/* Asleep until the next reset, unless there is more to do. */
static enum weir_status plan(struct weir_reconciler_task *task, int64_t looked_us,
                             struct weir_scan_report *out, struct weir_error *error)
{
    struct weir_connection *connection = NULL;
    int64_t due_us = INT64_MAX;
    int64_t now_us = 0;
    enum weir_status status = weir_db_acquire(task->db, &connection, error);

    if (status == WEIR_OK)
        status = weir_budget_next_due(connection, looked_us, &due_us, &now_us, error);
    weir_db_release(task->db, connection);
    if (status == WEIR_OK && out->next_ns == 0 && due_us != INT64_MAX &&
        due_us - now_us < task->interval_us)
        out->next_ns = due_us > now_us ? (due_us - now_us) * 1000 : WEIR_SCAN_NEXT_MIN;
    return status;
}

static enum weir_status tick(struct weir_context *context, void *state,
                             const struct weir_scan_tick *scan,
                             struct weir_scan_report *out, struct weir_error *error)
{
    struct weir_reconciler_task *task = state;
    struct resets due = {.looked_us = 0};
    struct weir_budget_waiters waiters = {.count = 0};
    struct weir_batch_reconciler resets = {.kind = &DUE,
                                           .task = task,
                                           .context = context,
                                           .tick = scan,
                                           .report = out,
                                           .state = &due};
    struct weir_batch_reconciler admissions = resets;
    enum weir_status status;

    admissions.kind = &WAITING;
    admissions.state = &waiters;
    (void)weir_reconciler_begins(task);
    status = weir_batch_reconciler_run(&resets, error);
    if (status == WEIR_OK)
        status = weir_batch_reconciler_run(&admissions, error);
    if (status == WEIR_OK)
        status = plan(task, due.looked_us, out, error);
    weir_reconciler_ends(task, status, out);
    return status;
}

const struct weir_reconciler_kind weir_reconciler_budget_reset = {
    .period_ns = WEIR_MILLISECONDS(250), /* it is not urgent */
    .tick = tick,
};
