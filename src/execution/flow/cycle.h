/*
 * cycle.h - do edges lead in a cycle?
 */
#ifndef WEIR_EXECUTION_FLOW_CYCLE_H
#define WEIR_EXECUTION_FLOW_CYCLE_H

#include "execution/flow/edge_store.h"

/* The executions on one, in the order of their numbers; those behind it are not. */
struct weir_cycle {
    int64_t *numbers; /* of the caller's arena */
    size_t count;     /* 0: there is none */
};

/* Sorts the edges. WEIR_NO_MEMORY. */
WEIR_CHECKED enum weir_status weir_cycle_find(struct weir_edge_row *edges, size_t count,
                                              struct weir_arena *arena,
                                              struct weir_cycle *out,
                                              struct weir_error *error);

bool weir_cycle_has(const struct weir_cycle *self, int64_t no);

#endif
