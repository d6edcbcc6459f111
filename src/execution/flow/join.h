/*
 * join.h - the edges that lead to one execution, and what has become of them.
 *
 * Pure: how a group stands follows from its policy and its counters, see weir/flow.h.
 */
#ifndef WEIR_EXECUTION_FLOW_JOIN_H
#define WEIR_EXECUTION_FLOW_JOIN_H

#include "execution/state.h"
#include "weir/flow.h"

struct weir_join_progress {
    enum weir_join policy;
    uint32_t quorum;
    uint32_t total; /* edges; those that are not counted below are open */
    uint32_t succeeded;
    uint32_t failed;
    uint32_t skipped;
};

/* How an edge ends whose upstream has ended so. OPEN: it has not. */
enum weir_edge_state weir_edge_state_of(enum weir_exec_state upstream);

/* One more of that kind. Not of OPEN. */
void weir_join_count(struct weir_join_progress *self, enum weir_edge_state state);

/* By the counters alone: whether it was decided before is for the caller to know. */
enum weir_flow_join_state weir_join_judge(const struct weir_join_progress *self);

/* Do the counters fit? More results than edges is a broken promise. */
bool weir_join_is_whole(const struct weir_join_progress *self);

#endif
