/*
 * batch_reconciler.h - how reconcilers work through what they find when it is no due
 * row: edges, joins, budgets.
 *
 *   find: candidates, without a lock ------ there are none ---> the end
 *     ^ |                                                         ^
 *     | v                                                         |
 *   mend: all of them in one transaction                          |
 *       | it failed because of something in it                    |
 *       v                                                         |
 *     one by one; a failure is remembered, and left alone later --+
 *
 * So it is here as in reconciler.h: one that cannot be repaired delays
 * no other.
 *
 * Order    A repair checks again what was found, under the locks it takes:
 *          others may have been quicker. It counts what it has done.
 * Threads  The tick's.
 * Memory   Names live until the next find.
 */
#ifndef WEIR_EXECUTION_RECONCILE_BATCH_RECONCILER_H
#define WEIR_EXECUTION_RECONCILE_BATCH_RECONCILER_H

#include "base/arena.h"
#include "execution/reconcile/reconciler.h"

/* Something that seems to be due. */
struct weir_candidate {
    int64_t no;
    struct weir_str name; /* that people know, and failures are remembered by */
};

struct weir_batch_reconciler;

/* One kind of candidates: a constant. */
struct weir_batch_reconciler_kind {
    const char *what; /* for the log: "execution" */
    size_t limit;     /* in one transaction; at least 1 */

    /* Add up to `limit` of them. Outside of a transaction. */
    enum weir_status (*find)(struct weir_batch_reconciler *self,
                             struct weir_connection *connection, size_t limit,
                             struct weir_error *error);

    /* In a transaction, which may be repeated: `done` and `pending_wakeups` are as new.
     * There is room for all of them in the task's `changes` and `nos`. */
    enum weir_status (*mend)(struct weir_batch_reconciler *self,
                             struct weir_connection *connection,
                             const struct weir_candidate *candidates, size_t count,
                             struct weir_error *error);
};

struct weir_batch_reconciler {
    const struct weir_batch_reconciler_kind *kind;
    struct weir_reconciler_task *task; /* these four borrowed */
    struct weir_context *context;
    const struct weir_scan_tick *tick;
    struct weir_scan_report *report;
    void *state; /* of the kind */

    struct weir_arena arena; /* for find() too */
    struct weir_candidate *candidates;
    size_t count;
    size_t room;

    /* of one transaction */
    const struct weir_candidate *first;
    size_t taken;
    size_t done;
    struct weir_pending_wakeups pending_wakeups;
};

/* For find(). Copies the name. */
WEIR_CHECKED enum weir_status
weir_batch_reconciler_add(struct weir_batch_reconciler *self, int64_t no,
                          struct weir_str name, struct weir_error *error);
WEIR_CHECKED enum weir_status
weir_batch_reconciler_add_execution(struct weir_batch_reconciler *self, int64_t no,
                                    const struct weir_execution_id *id,
                                    struct weir_error *error);

/* The first part is set; all else is ours. Until nothing is found, or nothing comes of
 * it; when it takes long, the report says that another tick is to begin at once. */
WEIR_CHECKED enum weir_status
weir_batch_reconciler_run(struct weir_batch_reconciler *self, struct weir_error *error);

/* For mend(): the executions of the candidates as the task's records, locked, and the
 * clock. */
WEIR_CHECKED enum weir_status
weir_batch_reconciler_load(struct weir_batch_reconciler *self,
                           struct weir_connection *connection,
                           const struct weir_candidate *candidates, size_t count,
                           int64_t *now_us, struct weir_error *error);

/* Joins that say that members are to be cancelled, and all have ended, say so no more:
 * the end of the dispatcher's work, and all of edge_cancel_reconciler's. */
enum weir_status weir_joins_forget(struct weir_context *context, void *task,
                                   const struct weir_scan_tick *scan,
                                   struct weir_scan_report *report,
                                   struct weir_error *error);

#endif
