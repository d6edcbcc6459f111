/*
 * flow_draw_layers.c - see flow_draw_layers.h.
 *
 * Nodes are taken away when nothing leads to them any more; the round in which that
 * happens is the layer.
 */
#include "cli/flow/flow_draw_layers.h"

#include <stdlib.h>

#include "base/heap.h"
#include "weir/heap.h"

struct work {
    uint32_t *layer;   /* of each node */
    uint32_t *leading; /* edges that lead to it, from nodes that are not taken yet */
    uint32_t *queue;   /* nodes in the order in which they were taken */
    uint32_t *begin;   /* where the edges of a node begin in `edges` */
    struct weir_draw_edge *edges; /* sorted by `from` */
    size_t *in_layer;             /* nodes of a layer */
};

static int compare_edges(const void *a, const void *b)
{
    const struct weir_draw_edge *left = a;
    const struct weir_draw_edge *right = b;

    if (left->from != right->from)
        return left->from < right->from ? -1 : 1;
    return left->to < right->to ? -1 : left->to > right->to;
}

static int compare_items(const void *a, const void *b)
{
    const struct weir_draw_item *left = a;
    const struct weir_draw_item *right = b;

    if (left->layer != right->layer)
        return left->layer < right->layer ? -1 : 1;
    return left->first < right->first ? -1 : left->first > right->first;
}

static void *new_array(size_t count, size_t size)
{
    return weir_heap_zalloc_array(weir_heap_system(), count + 1, size);
}

/* ---- layers ------------------------------------------------------------------------ */

static void sort_edges(struct work *work, size_t node_count,
                       const struct weir_draw_edge *edges, size_t edge_count)
{
    size_t at = 0;

    for (size_t i = 0; i < edge_count; i++) {
        work->edges[i] = edges[i];
        work->leading[edges[i].to]++;
    }
    qsort(work->edges, edge_count, sizeof *work->edges, compare_edges);
    for (size_t node = 0; node <= node_count; node++) {
        while (at < edge_count && work->edges[at].from < node)
            at++;
        work->begin[node] = (uint32_t)at;
    }
}

static void find_layers(struct work *work, size_t node_count)
{
    size_t taken = 0;

    for (size_t node = 0; node < node_count; node++) {
        if (work->leading[node] == 0)
            work->queue[taken++] = (uint32_t)node;
    }
    for (size_t at = 0; at < taken; at++) {
        uint32_t from = work->queue[at];

        for (uint32_t i = work->begin[from]; i < work->begin[from + 1]; i++) {
            uint32_t to = work->edges[i].to;

            if (work->layer[to] < work->layer[from] + 1)
                work->layer[to] = work->layer[from] + 1;
            if (--work->leading[to] == 0)
                work->queue[taken++] = to;
        }
    }
    for (size_t node = 0; node < node_count; node++) {
        if (work->leading[node] > 0)
            work->layer[node] = 0;
        work->in_layer[work->layer[node]]++;
    }
}

/* ---- items ------------------------------------------------------------------------- */

static void make_items(struct weir_draw_layers *self, struct work *work,
                       size_t node_count, size_t fold)
{
    uint32_t *folded = work->leading; /* of each layer: its item and 1, or 0 */

    for (size_t layer = 0; layer <= node_count; layer++)
        folded[layer] = 0;
    for (size_t node = 0; node < node_count; node++) {
        uint32_t layer = work->layer[node];

        if (folded[layer] > 0) {
            self->items[folded[layer] - 1].count++;
            continue;
        }
        self->items[self->item_count++] =
            (struct weir_draw_item){.layer = layer, .first = (uint32_t)node, .count = 1};
        if (fold > 0 && work->in_layer[layer] > fold)
            folded[layer] = (uint32_t)self->item_count;
    }
    qsort(self->items, self->item_count, sizeof *self->items, compare_items);
}

static void place_nodes(struct weir_draw_layers *self, struct work *work,
                        size_t node_count)
{
    uint32_t *folded = work->leading;

    for (size_t layer = 0; layer <= node_count; layer++)
        folded[layer] = 0;
    for (size_t i = 0; i < self->item_count; i++) {
        self->item_of[self->items[i].first] = (uint32_t)i;
        if (self->items[i].count > 1)
            folded[self->items[i].layer] = (uint32_t)i + 1;
    }
    for (size_t node = 0; node < node_count; node++) {
        if (folded[work->layer[node]] > 0)
            self->item_of[node] = folded[work->layer[node]] - 1;
    }
}

static void link_items(struct weir_draw_layers *self, const struct weir_draw_edge *edges,
                       size_t edge_count)
{
    size_t kept = 0;

    for (size_t i = 0; i < edge_count; i++)
        self->edges[i] = (struct weir_draw_edge){.from = self->item_of[edges[i].from],
                                                 .to = self->item_of[edges[i].to]};
    qsort(self->edges, edge_count, sizeof *self->edges, compare_edges);
    for (size_t i = 0; i < edge_count; i++) {
        const struct weir_draw_edge *edge = &self->edges[i];

        if (self->items[edge->from].layer >= self->items[edge->to].layer)
            continue; /* of a circle */
        if (kept == 0 || compare_edges(&self->edges[kept - 1], edge) != 0)
            self->edges[kept++] = *edge;
    }
    self->edge_count = kept;
}

enum weir_status weir_draw_layers_make(struct weir_draw_layers *self, size_t node_count,
                                       const struct weir_draw_edge *edges,
                                       size_t edge_count, size_t fold)
{
    const struct weir_heap *heap = weir_heap_system();
    struct work work = {
        .layer = new_array(node_count, sizeof *work.layer),
        .leading = new_array(node_count, sizeof *work.leading),
        .queue = new_array(node_count, sizeof *work.queue),
        .begin = new_array(node_count, sizeof *work.begin),
        .edges = new_array(edge_count, sizeof *work.edges),
        .in_layer = new_array(node_count, sizeof *work.in_layer),
    };
    enum weir_status status = WEIR_NO_MEMORY;

    *self = (struct weir_draw_layers){
        .items = new_array(node_count, sizeof *self->items),
        .item_of = new_array(node_count, sizeof *self->item_of),
        .edges = new_array(edge_count, sizeof *self->edges),
    };
    if (work.layer == NULL || work.leading == NULL || work.queue == NULL ||
        work.begin == NULL || work.edges == NULL || work.in_layer == NULL ||
        self->items == NULL || self->item_of == NULL || self->edges == NULL)
        goto out;
    sort_edges(&work, node_count, edges, edge_count);
    find_layers(&work, node_count);
    make_items(self, &work, node_count, fold);
    place_nodes(self, &work, node_count);
    link_items(self, edges, edge_count);
    status = WEIR_OK;

out:
    weir_heap_free(heap, work.layer);
    weir_heap_free(heap, work.leading);
    weir_heap_free(heap, work.queue);
    weir_heap_free(heap, work.begin);
    weir_heap_free(heap, work.edges);
    weir_heap_free(heap, work.in_layer);
    return status;
}

void weir_draw_layers_fini(struct weir_draw_layers *self)
{
    const struct weir_heap *heap = weir_heap_system();

    weir_heap_free(heap, self->items);
    weir_heap_free(heap, self->item_of);
    weir_heap_free(heap, self->edges);
    *self = (struct weir_draw_layers){.items = NULL};
}
