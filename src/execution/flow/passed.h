/*
 * passed.h - results that were passed to members of flows.
 *
 * A row of {p}_passed is a copy of a result, made when its edge succeeded, with the
 * name of the member that it comes from. It belongs to the member that it was passed to
 * and goes with it: whatever becomes of the other one afterwards, each attempt is given
 * the same. weir_edge_pass_data() writes it.
 *
 * Threads  Any; a connection belongs to its holder.
 */
#ifndef WEIR_EXECUTION_FLOW_PASSED_H
#define WEIR_EXECUTION_FLOW_PASSED_H

#include "execution/store/store.h"

/* Lives for the visit. */
struct weir_passed {
    size_t index;                  /* in the list that was asked for */
    struct weir_execution_id from; /* whose result it is */
    struct weir_str name;          /* of that member; size 0: none */
    struct weir_str result;        /* size 0: it has completed without one */
};
typedef enum weir_status (*weir_passed_visit_fn)(void *state,
                                                 const struct weir_passed *passed,
                                                 struct weir_error *error);

/* Their size at most; and of how many members at once, where that takes memory. */
struct weir_passed_limits {
    size_t size_max;
    size_t together;
};

/* What was passed to each of these, in the order in which those it comes from were
 * added to the flow. Of more than `size_max` bytes to one member at least those come
 * that exceed it, and perhaps not all. */
WEIR_CHECKED enum weir_status weir_passed_visit(const struct weir_store *store,
                                                struct weir_connection *connection,
                                                const int64_t *nos, size_t count,
                                                const struct weir_passed_limits *limits,
                                                weir_passed_visit_fn visit, void *state,
                                                struct weir_error *error);

#endif
