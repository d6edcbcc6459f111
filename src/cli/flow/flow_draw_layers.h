/*
 * flow_draw_layers.h - which members of a flow stand beside each other, and which are
 * drawn as one.
 *
 * A member is one layer below the lowest of those that lead to it. A layer of more than
 * `fold` members becomes one item: what is drawn has a size that a person can look at.
 *
 *   node   0   1   2 3 4 5   6        0 -> 1 -> 2, 3, 4, 5 -> 6, and `fold` 3
 *   item   0   1   2 2 2 2   3
 *
 * Order    Items come layer by layer, and in a layer in the order of their nodes.
 * Memory   Owned; fini() gives it back, also after a failure.
 */
#ifndef WEIR_CLI_FLOW_FLOW_DRAW_LAYERS_H
#define WEIR_CLI_FLOW_FLOW_DRAW_LAYERS_H

#include <stddef.h>
#include <stdint.h>

#include "weir/status.h"

/* By the index of nodes, or of items. */
struct weir_draw_edge {
    uint32_t from, to;
};

struct weir_draw_item {
    uint32_t layer;
    uint32_t first; /* the first of its nodes */
    uint32_t count; /* 1: this one; else all of its layer */
};

struct weir_draw_layers {
    struct weir_draw_item *items;
    size_t item_count;
    uint32_t *item_of; /* of each node */
    struct weir_draw_edge
        *edges; /* between items, by `from` and then by `to`, each once */
    size_t edge_count;
};

/*
 * Edges lead from one node to another, in no circle; what is in one all the same stands
 * in the first layer. `fold` 0: nothing is folded. Fails with WEIR_NO_MEMORY.
 */
WEIR_CHECKED enum weir_status weir_draw_layers_make(struct weir_draw_layers *self,
                                                    size_t node_count,
                                                    const struct weir_draw_edge *edges,
                                                    size_t edge_count, size_t fold);
void weir_draw_layers_fini(struct weir_draw_layers *self);

#endif
