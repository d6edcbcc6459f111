/*
 * circle.h - do edges lead in a circle?
 */
#ifndef WEIR_FLOW_CIRCLE_H
#define WEIR_FLOW_CIRCLE_H

#include "flow/edge_store.h"

/* *out: the number of an execution on a circle, or behind one; 0: there is none. Sorts the edges.
 * WEIR_NO_MEMORY. */
WEIR_CHECKED enum weir_status weir_circle_find(struct weir_edge_row *edges, size_t count,
                                               struct weir_arena *arena, int64_t *out,
                                               struct weir_error *error);

#endif
