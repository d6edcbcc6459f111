/*
 * submit.h - new executions inside a transaction: of their own, or as members of a flow.
 *
 *   init -> learn -> transaction: write -> fini
 *
 * Threads  The caller's.
 * Memory   Drafts are borrowed until fini().
 */
#ifndef WEIR_EXECUTION_SUBMIT_H
#define WEIR_EXECUTION_SUBMIT_H

#include "db/transact.h"
#include "execution/change_set.h"
#include "execution/commit_batch.h"

/* One call. */
struct weir_submit_call {
    struct weir_executions *executions;        /* borrowed, as the drafts */
    const struct weir_execution_draft *drafts; /* checked, see draft.h */
    struct weir_new_execution *items;          /* owned: what becomes of each */
    size_t count;
    int64_t flow_no;     /* of which they are members; 0: none */
    const bool *blocked; /* borrowed: those that wait for others; NULL: none does */
    const int64_t
        *data_edges; /* borrowed: how many lead to each, passing data; NULL: none does */
    bool adopted;    /* the transaction is the caller's */
    struct weir_pending_wakeups pending_wakeups; /* out */
};

/* Ids are minted here, once. fini() also after a failure. */
WEIR_CHECKED enum weir_status
weir_submit_call_init(struct weir_submit_call *self, struct weir_executions *executions,
                      const struct weir_execution_draft *drafts, size_t count,
                      struct weir_error *error);
void weir_submit_call_fini(struct weir_submit_call *self);

/* Names of lanes and the like that are new, outside of the transaction. */
void weir_submit_call_learn(struct weir_submit_call *self);

/* Insert them. WEIR_MISMATCH: a key or an id was used for something else. */
WEIR_CHECKED enum weir_status
weir_submit_call_write(struct weir_submit_call *self, struct weir_connection *connection,
                       int64_t now_us, struct weir_commit_batch *commit_batch,
                       struct weir_error *error);

/* A part of the caller's transaction: all of it or nothing. WEIR_INVALID: there is
 * none. */
WEIR_CHECKED enum weir_status weir_executions_inside(struct weir_executions *executions,
                                                     struct weir_connection *connection,
                                                     weir_transact_fn body,
                                                     void *argument,
                                                     struct weir_error *error);

#endif
