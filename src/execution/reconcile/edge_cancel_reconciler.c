/*
 * edge_cancel_reconciler.c - joins that say that members are to be cancelled, and all
 * have ended.
 *
 * The dispatcher forgets that when it is done. What a crash, or a manual change, has
 * left is repaired here; while a member has not ended, the join is the dispatcher's,
 * and left alone.
 */
#include <stdlib.h>
#include <string.h>

#include "execution/flow/join_store.h"
#include "execution/reconcile/batch_reconciler.h"

enum { JOINS = 50 };

/* One tick. */
struct forget_call {
    struct weir_join_rows join_rows; /* in the order of their numbers; of the arena */
};

static int compare(const void *a, const void *b)
{
    int64_t left = ((const struct weir_join_row *)a)->downstream;
    int64_t right = ((const struct weir_join_row *)b)->downstream;

    return left < right ? -1 : left > right;
}

/* All that are to be looked at, since those whose members run may be the oldest. */
static enum weir_status find(struct weir_batch_reconciler *self,
                             struct weir_connection *connection, size_t limit,
                             struct weir_error *error)
{
    struct forget_call *forget_call = self->state;
    struct weir_join_rows *join_rows = &forget_call->join_rows;
    enum weir_status status = weir_joins_cancelling(connection, self->tick->filter,
                                                    WEIR_RECONCILE_BATCH + limit,
                                                    &self->arena, join_rows, error);

    for (size_t i = 0; i < join_rows->count && self->count < limit && status == WEIR_OK;
         i++) {
        struct weir_members members = {.count = 0};

        status = weir_join_siblings(connection, join_rows->rows[i].downstream, 1,
                                    &self->arena, &members, error);
        if (status == WEIR_OK && members.count == 0)
            status = weir_batch_reconciler_add_execution(
                self, join_rows->rows[i].downstream, &join_rows->ids[i], error);
    }
    if (join_rows->count > 0) /* else there is nothing, not even a list */
        qsort(join_rows->rows, join_rows->count, sizeof *join_rows->rows, compare);
    return status;
}

static int compare_candidates(const void *a, const void *b)
{
    int64_t left = ((const struct weir_candidate *)a)->no;
    int64_t right = ((const struct weir_candidate *)b)->no;

    return left < right ? -1 : left > right;
}

/* In the order in which all transactions lock them. */
static enum weir_status mend(struct weir_batch_reconciler *self,
                             struct weir_connection *connection,
                             const struct weir_candidate *candidates, size_t count,
                             struct weir_error *error)
{
    const struct forget_call *forget_call = self->state;
    struct weir_candidate sorted[JOINS];
    enum weir_status status = WEIR_OK;

    memcpy(sorted, candidates, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, compare_candidates);
    for (size_t i = 0; i < count && status == WEIR_OK; i++) {
        const struct weir_join_row *join_row =
            bsearch(&(struct weir_join_row){.downstream = sorted[i].no},
                    forget_call->join_rows.rows, forget_call->join_rows.count,
                    sizeof *join_row, compare);
        bool forgotten = false;

        status = weir_join_forget_siblings(connection, join_row, &forgotten, error);
        self->done += forgotten;
        weir_reconciler_has_locked(self->task);
    }
    return status;
}

static const struct weir_batch_reconciler_kind DONE_WITH = {.what = "join_to",
                                                            .limit = JOINS,
                                                            .find = find,
                                                            .mend = mend};

enum weir_status weir_joins_forget(struct weir_context *context, void *task,
                                   const struct weir_scan_tick *scan,
                                   struct weir_scan_report *report,
                                   struct weir_error *error)
{
    struct forget_call forget_call = {.join_rows = {.count = 0}};
    struct weir_batch_reconciler batch_reconciler = {.kind = &DONE_WITH,
                                                     .task = task,
                                                     .context = context,
                                                     .tick = scan,
                                                     .report = report,
                                                     .state = &forget_call};

    return weir_batch_reconciler_run(&batch_reconciler, error);
}

const struct weir_reconciler_kind weir_reconciler_edge_cancel_reconciler = {
    .removes = true, /* it is not urgent */
    .tick = weir_reconcile_found,
    .work = weir_joins_forget,
};
