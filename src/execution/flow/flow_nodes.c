/*
 * flow_nodes.c - what an extension of a flow asks for, see flow_extending.h.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/no_memory.h"
#include "execution/draft.h"
#include "execution/executions.h"
#include "execution/flow/cycle.h"
#include "execution/flow/flow_extending.h"

static int compare_ids(const struct weir_execution_id *a,
                       const struct weir_execution_id *b)
{
    return memcmp(a->uuid, b->uuid, WEIR_UUID_SIZE);
}

static int compare_nodes(const void *a, const void *b)
{
    return compare_ids(&((const struct weir_extending_node *)a)->id,
                       &((const struct weir_extending_node *)b)->id);
}

struct weir_extending_node *weir_extending_find(const struct weir_extending *self,
                                                const struct weir_execution_id *id)
{
    size_t low = 0;
    size_t high = self->node_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = compare_ids(&self->nodes[middle].id, id);

        if (order == 0)
            return &self->nodes[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

static enum weir_status check_join(const struct weir_flow_join *join,
                                   struct weir_error *error)
{
    if (join->policy < WEIR_JOIN_ALL || join->policy >= WEIR_JOIN_COUNT)
        return weir_error_set(error, WEIR_INVALID, "policy is %d, must be from 0 to %d",
                              (int)join->policy, WEIR_JOIN_COUNT - 1);
    if (join->policy == WEIR_JOIN_QUORUM &&
        (join->quorum < 1 || join->quorum > WEIR_FLOW_UPSTREAMS_MAX))
        return weir_error_set(error, WEIR_INVALID,
                              "quorum is %" PRIu32 ", must be from 1 to %d", join->quorum,
                              WEIR_FLOW_UPSTREAMS_MAX);
    return WEIR_OK;
}

static enum weir_status check_member(const struct weir_extending *self,
                                     const struct weir_execution_draft *draft,
                                     struct weir_error *error)
{
    uint16_t partition = weir_execution_partition(self->flow->uuid, WEIR_UUID_SIZE,
                                                  self->executions->partitions);

    if (draft->id == NULL)
        return weir_error_set(error, WEIR_INVALID,
                              "id is NULL, must be one of weir_flow_mint()");
    if (draft->id->partition != partition)
        return weir_error_set(error, WEIR_FOREIGN,
                              "the partition of its id is %u, that of the flow is %u",
                              draft->id->partition, partition);
    return WEIR_OK;
}

/* Of whatever length. */
static enum weir_status check_there(const char *what, const void *list, size_t count,
                                    struct weir_error *error)
{
    return weir_execution_check_list(what, list, count > 0 ? 1 : 0, error);
}

enum weir_status weir_extending_check(const struct weir_extending *self,
                                      struct weir_error *error)
{
    const struct weir_flow_extension *extension = self->extension;
    enum weir_status status = weir_execution_check_list("members", extension->members,
                                                        extension->member_count, error);

    if (status == WEIR_OK)
        status = check_there("edges", extension->edges, extension->edge_count, error);
    if (status == WEIR_OK)
        status = check_there("joins", extension->joins, extension->join_count, error);
    if (status == WEIR_OK)
        status = weir_execution_drafts_check(extension->members, extension->member_count,
                                             self->executions->partitions, error);
    for (size_t i = 0; i < extension->member_count && status == WEIR_OK; i++) {
        status = check_member(self, &extension->members[i], error);
        if (status != WEIR_OK)
            weir_error_prefix(error, "member %zu of %zu", i + 1, extension->member_count);
    }
    if (status == WEIR_OK)
        status = weir_extending_check_names(self, error);
    for (size_t i = 0; i < extension->edge_count && status == WEIR_OK; i++) {
        if (compare_ids(&extension->edges[i].from, &extension->edges[i].to) == 0)
            status = weir_error_set(error, WEIR_INVALID,
                                    "edge %zu of %zu: leads to where it comes from",
                                    i + 1, extension->edge_count);
    }
    for (size_t i = 0; i < extension->join_count && status == WEIR_OK; i++) {
        status = check_join(&extension->joins[i], error);
        if (status != WEIR_OK)
            weir_error_prefix(error, "join %zu of %zu", i + 1, extension->join_count);
    }
    return status;
}

/* All that are named, each once. */
static enum weir_status list_nodes(struct weir_extending *self, struct weir_error *error)
{
    const struct weir_flow_extension *extension = self->extension;
    const struct weir_heap *heap = self->executions->heap;
    size_t room =
        extension->member_count + 2 * extension->edge_count + extension->join_count + 1;
    size_t count = 0;
    size_t kept = 0;

    self->nodes = weir_heap_zalloc_array(heap, room, sizeof *self->nodes);
    self->links =
        weir_heap_zalloc_array(heap, extension->edge_count + 1, sizeof *self->links);
    self->blocked =
        weir_heap_zalloc_array(heap, extension->member_count + 1, sizeof *self->blocked);
    self->data_edges = weir_heap_zalloc_array(heap, extension->member_count + 1,
                                              sizeof *self->data_edges);
    if (self->nodes == NULL || self->links == NULL || self->blocked == NULL ||
        self->data_edges == NULL)
        return weir_no_memory_for(error, "a flow");
    for (size_t i = 0; i < extension->member_count; i++)
        self->nodes[count++].id = *extension->members[i].id;
    for (size_t i = 0; i < extension->edge_count; i++) {
        self->nodes[count++].id = extension->edges[i].from;
        self->nodes[count++].id = extension->edges[i].to;
    }
    for (size_t i = 0; i < extension->join_count; i++)
        self->nodes[count++].id = extension->joins[i].to;
    qsort(self->nodes, count, sizeof *self->nodes, compare_nodes);
    for (size_t i = 0; i < count; i++) {
        if (kept == 0 || compare_nodes(&self->nodes[kept - 1], &self->nodes[i]) != 0)
            self->nodes[kept++] = self->nodes[i];
    }
    self->node_count = kept;
    return WEIR_OK;
}

static int compare_links(const void *a, const void *b)
{
    const struct weir_extending_link *left = *(struct weir_extending_link *const *)a;
    const struct weir_extending_link *right = *(struct weir_extending_link *const *)b;

    if (left->to != right->to)
        return left->to < right->to ? -1 : 1;
    return left->from < right->from ? -1 : left->from > right->from;
}

/* The same edge may be asked for twice. */
static enum weir_status count_data_edges(struct weir_extending *self,
                                         struct weir_error *error)
{
    const struct weir_heap *heap = self->executions->heap;
    struct weir_extending_link **sorted = weir_heap_zalloc_array(
        heap, self->extension->edge_count + 1, sizeof(struct weir_extending_link *));
    size_t count = 0;

    if (sorted == NULL)
        return weir_no_memory_for(error, "a flow");
    for (size_t i = 0; i < self->extension->edge_count; i++) {
        if (self->links[i].passes_data)
            sorted[count++] = &self->links[i];
    }
    qsort(sorted, count, sizeof(struct weir_extending_link *), compare_links);
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || compare_links(&sorted[i - 1], &sorted[i]) != 0)
            sorted[i]->to->data_edges++;
    }
    weir_heap_free(heap, sorted);
    return WEIR_OK;
}

static enum weir_status link_nodes(struct weir_extending *self, struct weir_error *error)
{
    const struct weir_flow_extension *extension = self->extension;
    enum weir_status status;

    for (size_t i = 0; i < extension->edge_count; i++) {
        struct weir_extending_link *link = &self->links[i];

        *link = (struct weir_extending_link){
            .from = weir_extending_find(self, &extension->edges[i].from),
            .to = weir_extending_find(self, &extension->edges[i].to),
            .passes_data = extension->edges[i].passes_data};
        link->to->edges_in++;
    }
    for (size_t i = 0; i < extension->join_count; i++) {
        struct weir_extending_node *node =
            weir_extending_find(self, &extension->joins[i].to);

        if (node->join != NULL)
            return weir_error_set(error, WEIR_INVALID,
                                  "join %zu of %zu: there is one for this execution",
                                  i + 1, extension->join_count);
        node->join = &extension->joins[i];
    }
    status = count_data_edges(self, error);
    for (size_t i = 0; i < extension->member_count; i++) {
        struct weir_extending_node *node =
            weir_extending_find(self, extension->members[i].id);

        node->is_member = true;
        self->blocked[i] = node->edges_in > 0;
        self->data_edges[i] = node->data_edges;
    }
    return status;
}

enum weir_status weir_extending_list(struct weir_extending *self,
                                     struct weir_error *error)
{
    enum weir_status status = list_nodes(self, error);

    return status == WEIR_OK ? link_nodes(self, error) : status;
}

bool weir_extending_is_joined(const struct weir_extending_node *node)
{
    return node->edges_in > 0 || node->join != NULL;
}

/* ---- cycles ------------------------------------------------------------------------ */

/* Edges to new members alone cannot close a cycle through old ones: nothing leads from
 * a new one to an old one then. */
static bool leads_to_old(const struct weir_extending *self)
{
    for (size_t i = 0; i < self->extension->edge_count; i++) {
        if (!self->links[i].to->is_new)
            return true;
    }
    return false;
}

/* By a member that the caller has named: there are such, since without the new edges
 * there is no circle. */
static enum weir_status refuse_cycle(const struct weir_extending *self,
                                     const struct weir_cycle *cycle,
                                     struct weir_error *error)
{
    char text[WEIR_EXECUTION_ID_TEXT_SIZE] = "";

    for (size_t i = 0; i < self->node_count && text[0] == '\0'; i++) {
        if (weir_cycle_has(cycle, self->nodes[i].no))
            (void)weir_execution_id_format(&self->nodes[i].id, text);
    }
    return weir_error_set(error, WEIR_CYCLE,
                          "the edges would lead in a circle, by execution %s", text);
}

enum weir_status weir_extending_check_circles(struct weir_extending *self,
                                              struct weir_connection *connection,
                                              struct weir_error *error)
{
    size_t new_count = self->extension->edge_count;
    struct weir_edge_rows old = {.count = 0};
    struct weir_edge_row *edges;
    size_t count;
    struct weir_cycle cycle;
    enum weir_status status = WEIR_OK;

    if (new_count == 0)
        return WEIR_OK;
    if (leads_to_old(self))
        status = weir_edges_of_flow(connection, self->row.no, &self->arena, &old, error);
    if (status != WEIR_OK)
        return status;
    edges = weir_arena_alloc(&self->arena, (old.count + new_count) * sizeof *edges);
    if (edges == NULL)
        return weir_no_memory_for(error, "a flow");
    if (old.count > 0)
        memcpy(edges, old.rows, old.count * sizeof *edges);
    count = old.count;
    for (size_t i = 0; i < new_count; i++)
        edges[count++] = (struct weir_edge_row){.upstream = self->links[i].from->no,
                                                .downstream = self->links[i].to->no};
    status = weir_cycle_find(edges, count, &self->arena, &cycle, error);
    return status == WEIR_OK && cycle.count > 0 ? refuse_cycle(self, &cycle, error)
                                                : status;
}
