/*
 * edge_cancel_dispatcher.c - members that are not needed any more: a join that they
 * lead to is decided, and wanted the rest to be cancelled.
 *
 * No other code cancels them. They are cancelled like any execution, with all that
 * follows. When none is left, the join forgets that they were to be: in a transaction
 * of its own, so a crash between the two leaves what edge_cancel_reconciler finds.
 *
 * Joins are found without a lock: a transaction that ends a member has locked that member
 * and then needs its joins, so they must not be held while members are waited for. They
 * are locked behind the members, and looked at once more. What another transaction has
 * ended meanwhile is left alone.
 */
#include <stdlib.h>

#include "base/no_memory.h"
#include "base/noun.h"
#include "execution/flow/join_store.h"
#include "execution/reconcile/batch_reconciler.h"

enum { JOINS = 50, SIBLINGS = 1000 };

/* A member that is to be cancelled, and by the decision of which join. */
struct sibling {
    struct weir_member member;
    struct weir_join_row join_row;
    size_t
        order; /* of the group, among those that are found: the first has decided first */
};

/* One tick. */
struct dispatch {
    struct sibling *siblings; /* in the order of their numbers; of the arena */
    size_t count;
};

/* ---- members to cancel ------------------------------------------------------------- */

static enum weir_status list_siblings(struct weir_batch_reconciler *self,
                                      struct weir_connection *connection,
                                      const struct weir_join_rows *join_rows,
                                      size_t order, size_t limit,
                                      struct weir_error *error)
{
    struct dispatch *dispatch = self->state;
    struct weir_members members = {.count = 0};
    enum weir_status status =
        weir_join_siblings(connection, join_rows->rows[order].downstream,
                           limit - dispatch->count, &self->arena, &members, error);

    for (size_t i = 0; i < members.count && status == WEIR_OK; i++)
        dispatch->siblings[dispatch->count++] =
            (struct sibling){members.rows[i], join_rows->rows[order], order};
    return status;
}

static int compare(const void *a, const void *b)
{
    int64_t left = ((const struct sibling *)a)->member.no;
    int64_t right = ((const struct sibling *)b)->member.no;

    return left < right ? -1 : left > right;
}

static int compare_decisions(const void *a, const void *b)
{
    size_t left = ((const struct sibling *)a)->order;
    size_t right = ((const struct sibling *)b)->order;
    int order = compare(a, b);

    return order != 0 ? order : left < right ? -1 : left > right;
}

/* Each once, whatever number of joins it leads to: the first of them does not need it
 * any more. */
static enum weir_status add_siblings(struct weir_batch_reconciler *self,
                                     struct weir_error *error)
{
    struct dispatch *dispatch = self->state;
    enum weir_status status = WEIR_OK;
    size_t kept = 0;

    qsort(dispatch->siblings, dispatch->count, sizeof *dispatch->siblings,
          compare_decisions);
    for (size_t i = 0; i < dispatch->count && status == WEIR_OK; i++) {
        const struct sibling *sibling = &dispatch->siblings[i];

        if (kept > 0 && compare(&dispatch->siblings[kept - 1], sibling) == 0)
            continue;
        status = weir_batch_reconciler_add_execution(self, sibling->member.no,
                                                     &sibling->member.id, error);
        dispatch->siblings[kept++] = *sibling;
    }
    dispatch->count = kept;
    return status;
}

static enum weir_status find(struct weir_batch_reconciler *self,
                             struct weir_connection *connection, size_t limit,
                             struct weir_error *error)
{
    struct dispatch *dispatch = self->state;
    struct weir_join_rows join_rows = {.count = 0};
    enum weir_status status =
        weir_joins_cancelling(connection, self->tick->filter, JOINS + limit - SIBLINGS,
                              &self->arena, &join_rows, error);

    dispatch->count = 0;
    dispatch->siblings =
        weir_arena_alloc(&self->arena, limit * sizeof *dispatch->siblings);
    if (dispatch->siblings == NULL)
        return weir_no_memory_for(error, "%zu %s", limit,
                                  WEIR_NOUN(limit, "member", "members"));
    for (size_t i = 0;
         i < join_rows.count && dispatch->count < limit && status == WEIR_OK; i++)
        status = list_siblings(self, connection, &join_rows, i, limit, error);
    return status == WEIR_OK ? add_siblings(self, error) : status;
}

/* ---- what becomes of them ---------------------------------------------------------- */

static const struct sibling *find_sibling(const struct dispatch *self, int64_t no)
{
    return bsearch(&(struct sibling){.member = {.no = no}}, self->siblings, self->count,
                   sizeof *self->siblings, compare);
}

/* A join that was opened again since it was found needs its members. */
static bool is_wanted(const struct weir_join_rows *locked,
                      const struct weir_join_row *join_row)
{
    for (size_t i = 0; i < locked->count; i++) {
        if (locked->rows[i].downstream == join_row->downstream)
            return locked->rows[i].cancel_us == join_row->cancel_us;
    }
    return false;
}

static void cancel(struct weir_batch_reconciler *self,
                   const struct weir_join_rows *locked, int64_t now_us)
{
    struct weir_reconciler_task *task = self->task;

    for (size_t i = 0; i < task->records.count; i++) {
        struct weir_change change = {.stored = &task->records.rows[i]};
        struct weir_execution_row *row = &change.stored->row;
        const struct weir_join_row *join_row =
            &find_sibling(self->state, row->no)->join_row;
        struct weir_str reason =
            weir_str(join_row->state == WEIR_FLOW_JOIN_IMPOSSIBLE ? WEIR_SIBLINGS_IN_VAIN
                                                                  : WEIR_SIBLINGS_ENOUGH);

        if (is_wanted(locked, join_row) &&
            weir_rule_cancel(row, reason, now_us, &change.consequence) ==
                WEIR_RULING_DONE)
            task->changes[self->done++] = change;
    }
}

/* By whose decisions those that are loaded would be cancelled. */
static enum weir_status lock_joins(struct weir_batch_reconciler *self,
                                   struct weir_connection *connection,
                                   struct weir_join_rows *out, struct weir_error *error)
{
    const struct weir_reconciler_task *task = self->task;
    int64_t *nos =
        weir_arena_alloc(&self->arena, (task->records.count + 1) * sizeof *nos);

    if (nos == NULL)
        return weir_no_memory_for(error, "joins");
    for (size_t i = 0; i < task->records.count; i++)
        nos[i] =
            find_sibling(self->state, task->records.rows[i].row.no)->join_row.downstream;
    return weir_joins_lock(connection, nos, task->records.count, &self->arena, out,
                           error);
}

static enum weir_status mend(struct weir_batch_reconciler *self,
                             struct weir_connection *connection,
                             const struct weir_candidate *candidates, size_t count,
                             struct weir_error *error)
{
    struct weir_reconciler_task *task = self->task;
    struct weir_join_rows locked = {.count = 0};
    int64_t now_us = 0;
    enum weir_status status;

    status =
        weir_batch_reconciler_load(self, connection, candidates, count, &now_us, error);
    if (status == WEIR_OK)
        status = lock_joins(self, connection, &locked, error);
    if (status != WEIR_OK)
        return status;
    cancel(self, &locked, now_us);
    return weir_change_set_store(task->executions, connection, task->changes, self->done,
                                 now_us, &self->pending_wakeups, error);
}

static const struct weir_batch_reconciler_kind UNNEEDED = {.what = "execution",
                                                           .limit = SIBLINGS,
                                                           .find = find,
                                                           .mend = mend};

static enum weir_status dispatch_all(struct weir_context *context, void *task,
                                     const struct weir_scan_tick *scan,
                                     struct weir_scan_report *out,
                                     struct weir_error *error)
{
    struct dispatch dispatch = {.count = 0};
    struct weir_scan_report forgotten = {.processed =
                                             0}; /* joins are not what is counted */
    struct weir_batch_reconciler batch_reconciler = {.kind = &UNNEEDED,
                                                     .task = task,
                                                     .context = context,
                                                     .tick = scan,
                                                     .report = out,
                                                     .state = &dispatch};
    enum weir_status status = weir_batch_reconciler_run(&batch_reconciler, error);

    if (status == WEIR_OK)
        status = weir_joins_forget(context, task, scan, &forgotten, error);
    out->errors += forgotten.errors;
    if (out->next_ns == 0)
        out->next_ns = forgotten.next_ns;
    return status;
}

const struct weir_reconciler_kind weir_reconciler_edge_cancel_dispatcher = {
    .period_ns =
        WEIR_MILLISECONDS(10), /* what it looks for is due as soon as it is there */
    .tick = weir_reconcile_found,
    .work = dispatch_all,
};
