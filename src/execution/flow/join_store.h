/*
 * join_store.h - groups in their table: all edges that lead to one execution, and its
 * join. Which transactions may write them, and all else: flow_store.h.
 */
#ifndef WEIR_EXECUTION_FLOW_JOIN_STORE_H
#define WEIR_EXECUTION_FLOW_JOIN_STORE_H

#include "execution/flow/flow_store.h"
#include "execution/flow/join.h"

struct weir_join_row {
    int64_t downstream;
    int64_t flow_no;
    struct weir_join_progress join_row;
    enum weir_flow_join_state state;
    bool cancel_remaining;
    int64_t cancel_us; /* since when siblings are to be cancelled; 0: none are */
};

/* New ones: nothing has been counted, and nothing is decided. */
WEIR_CHECKED enum weir_status weir_joins_insert(struct weir_connection *connection,
                                                const struct weir_join_row *rows,
                                                size_t count,
                                                struct weir_commit_batch *commit_batch,
                                                struct weir_error *error);

/* Lock and load, in the order of `downstream`; those that are not there do not come. */
struct weir_join_rows {
    struct weir_join_row *rows;
    struct weir_execution_id *ids; /* of cancelling() only: what they lead to */
    size_t count;
};
WEIR_CHECKED enum weir_status weir_joins_lock(struct weir_connection *connection,
                                              const int64_t *downstreams, size_t count,
                                              struct weir_arena *arena,
                                              struct weir_join_rows *out,
                                              struct weir_error *error);

/* NULL: it is not among them. */
struct weir_join_row *weir_joins_find(const struct weir_join_rows *join_rows,
                                      int64_t downstream);

/* Counters, state and cancel_us. */
WEIR_CHECKED enum weir_status weir_joins_write(struct weir_connection *connection,
                                               const struct weir_join_row *rows,
                                               size_t count,
                                               struct weir_commit_batch *commit_batch,
                                               struct weir_error *error);

/* Those whose siblings are to be cancelled, oldest first; not locked. Of those that
 * lead to what the filter lets pass. */
WEIR_CHECKED enum weir_status
weir_joins_cancelling(struct weir_connection *connection,
                      const struct weir_store_filter *filter, size_t limit,
                      struct weir_arena *arena, struct weir_join_rows *out,
                      struct weir_error *error);

/* Members that `downstream` waited for and that have not ended, up to `limit`. */
WEIR_CHECKED enum weir_status weir_join_siblings(struct weir_connection *connection,
                                                 int64_t downstream, size_t limit,
                                                 struct weir_arena *arena,
                                                 struct weir_members *out,
                                                 struct weir_error *error);

/* No more of them are to be cancelled, unless it was decided anew since it was read:
 * then *forgotten is false. */
WEIR_CHECKED enum weir_status
weir_join_forget_siblings(struct weir_connection *connection,
                          const struct weir_join_row *join_row, bool *forgotten,
                          struct weir_error *error);

#endif
