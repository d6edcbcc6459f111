/*
 * circle.h - do edges lead in a circle?
 */
#ifndef WEIR_EXECUTION_FLOW_CIRCLE_H
#define WEIR_EXECUTION_FLOW_CIRCLE_H

#include "execution/flow/edge_store.h"

/* The executions on one, in the order of their numbers; those behind it are not. */
struct weir_circle {
    int64_t *numbers; /* of the caller's arena */
    size_t count;     /* 0: there is none */
};

/* Sorts the edges. WEIR_NO_MEMORY. */
WEIR_CHECKED enum weir_status weir_circle_find(struct weir_edge_row *edges, size_t count,
                                               struct weir_arena *arena,
                                               struct weir_circle *out,
                                               struct weir_error *error);

bool weir_circle_has(const struct weir_circle *self, int64_t no);

#endif
