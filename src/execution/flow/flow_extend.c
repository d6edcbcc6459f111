/*
 * flow_extend.c - members and edges are added to a flow, see flow_extending.h.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/heap.h"
#include "base/no_memory.h"
#include "execution/executions.h"
#include "execution/flow/flow_extending.h"
#include "execution/flow/resolve.h"
#include "weir/flow.h"

enum { ARENA_SIZE_MAX = 256 * 1024 * 1024 };

/* Where the old ones are stored, without a lock: groups are locked before executions. */
static enum weir_status find_old(struct weir_extending *self,
                                 struct weir_connection *connection,
                                 struct weir_error *error)
{
    struct weir_execution_id *ids =
        weir_arena_alloc(&self->arena, (self->node_count + 1) * sizeof *ids);
    int64_t *nos = weir_arena_alloc(&self->arena, (self->node_count + 1) * sizeof *nos);
    enum weir_status status;
    size_t count = 0;
    size_t at = 0;

    if (ids == NULL || nos == NULL)
        return weir_no_memory_for(error, "a flow");
    for (size_t i = 0; i < self->node_count; i++) {
        struct weir_extending_node *node = &self->nodes[i];

        node->no = 0;
        node->is_new = false;
        node->edges_new = 0;
        node->data_edges_new = 0;
        node->stored = NULL;
        if (!node->is_member)
            ids[count++] = node->id;
    }
    status =
        weir_members_find(&self->executions->store, connection, ids, count, nos, error);
    for (size_t i = 0; i < self->node_count && status == WEIR_OK; i++) {
        if (!self->nodes[i].is_member)
            self->nodes[i].no = nos[at++];
    }
    return status;
}

static size_t list_old(const struct weir_extending *self, bool joined, int64_t *out)
{
    size_t count = 0;

    for (size_t i = 0; i < self->node_count; i++) {
        if (self->nodes[i].no != 0 &&
            (!joined || weir_extending_is_joined(&self->nodes[i])))
            out[count++] = self->nodes[i].no;
    }
    return count;
}

/* Groups that are to change, then executions, then the flow. The end of one of these
 * executions needs its joins: no more of them are held than has to be. */
static enum weir_status lock_all(struct weir_extending *self,
                                 struct weir_connection *connection,
                                 struct weir_join_rows *join_rows,
                                 struct weir_error *error)
{
    int64_t *old = weir_arena_alloc(&self->arena, (self->node_count + 1) * sizeof *old);
    size_t count;
    enum weir_status status;

    *join_rows = (struct weir_join_rows){.count = 0};
    if (old == NULL)
        return weir_no_memory_for(error, "a flow");
    count = list_old(self, true, old);
    status = weir_joins_lock(connection, old, count, &self->arena, join_rows, error);
    count = list_old(self, false, old);
    weir_execution_records_reset(&self->records);
    if (status == WEIR_OK && count > 0)
        status = weir_store_load(&self->executions->store, connection, old, count,
                                 &self->records, error);
    for (size_t i = 0; i < self->records.count && status == WEIR_OK; i++)
        weir_extending_find(self, &self->records.rows[i].row.id)->stored =
            &self->records.rows[i];
    if (status == WEIR_OK)
        status = weir_flow_find(connection, self->flow, WEIR_FLOW_LOCKED, &self->arena,
                                &self->row, error);
    return status == WEIR_NO_ROW
               ? weir_error_set(error, WEIR_NOT_FOUND, "there is no such flow")
               : status;
}

static enum weir_status check_flow(const struct weir_extending *self,
                                   struct weir_error *error)
{
    int64_t wanted = self->extension->revision;

    if (self->row.state == WEIR_FLOW_ROW_CANCELLED)
        return weir_error_set(error, WEIR_CLOSED, "it was cancelled");
    if (wanted >= 0 && wanted != self->row.revision)
        return weir_error_set(error, WEIR_STALE,
                              "its revision is %" PRId64 ", not %" PRId64
                              ": read it again",
                              self->row.revision, wanted);
    return WEIR_OK;
}

/* The call is repeated: they are there. */
static enum weir_status load_repeated(struct weir_extending *self,
                                      struct weir_connection *connection,
                                      const struct weir_execution_id *ids, size_t count,
                                      struct weir_error *error)
{
    enum weir_status status = WEIR_OK;

    if (count == 0)
        return WEIR_OK;
    status = weir_store_load_by_id(&self->executions->store, connection, ids, count,
                                   &self->repeated, error);
    for (size_t i = 0; i < self->repeated.count && status == WEIR_OK; i++) {
        struct weir_extending_node *node =
            weir_extending_find(self, &self->repeated.rows[i].row.id);

        node->stored = &self->repeated.rows[i];
        node->no = node->stored->row.no;
    }
    return status;
}

static enum weir_status add_members(struct weir_extending *self,
                                    struct weir_connection *connection, size_t *added,
                                    struct weir_error *error)
{
    struct weir_submit_call *submit_call = &self->submit_call;
    struct weir_execution_id *repeated =
        weir_arena_alloc(&self->arena, (submit_call->count + 1) * sizeof *repeated);
    enum weir_status status = WEIR_OK;
    size_t repeated_count = 0;

    *added = 0;
    if (repeated == NULL)
        return weir_no_memory_for(error, "a flow");
    submit_call->flow_no = self->row.no;
    submit_call->blocked = self->blocked;
    submit_call->data_edges = self->data_edges;
    if (submit_call->count > 0)
        status = weir_submit_call_write(submit_call, connection, self->now_us,
                                        self->commit_batch, error);
    for (size_t i = 0; i < submit_call->count && status == WEIR_OK; i++) {
        struct weir_extending_node *node =
            weir_extending_find(self, &submit_call->items[i].id);

        if (submit_call->items[i].duplicate) {
            repeated[repeated_count++] = node->id;
            continue;
        }
        node->no = submit_call->items[i].no;
        node->is_new = true;
        (*added)++;
    }
    return status == WEIR_OK
               ? load_repeated(self, connection, repeated, repeated_count, error)
               : status;
}

static enum weir_status check_nodes(const struct weir_extending *self,
                                    struct weir_error *error)
{
    for (size_t i = 0; i < self->node_count; i++) {
        const struct weir_extending_node *node = &self->nodes[i];
        char text[WEIR_EXECUTION_ID_TEXT_SIZE];

        if (node->is_new ||
            (node->stored != NULL && node->stored->row.flow_no == self->row.no))
            continue;
        return weir_error_set(error, WEIR_FOREIGN,
                              "execution %s is not a member of this flow",
                              weir_execution_id_format(&node->id, text));
    }
    return WEIR_OK;
}

static int compare_edges(const void *a, const void *b)
{
    const struct weir_edge_row *left = a;
    const struct weir_edge_row *right = b;

    if (left->upstream != right->upstream)
        return left->upstream < right->upstream ? -1 : 1;
    return left->downstream < right->downstream ? -1
                                                : left->downstream > right->downstream;
}

/* Those that were there are the same. Asked only of a call that is repeated, or
 * overlaps another. */
static enum weir_status check_repeated(struct weir_extending *self,
                                       struct weir_connection *connection,
                                       struct weir_error *error)
{
    struct weir_edge_rows there;
    enum weir_status status =
        weir_edges_of_flow(connection, self->row.no, &self->arena, &there, error);

    for (size_t i = 0; i < self->extension->edge_count && status == WEIR_OK; i++) {
        const struct weir_extending_link *link = &self->links[i];
        const struct weir_edge_row wanted = {.upstream = link->from->no,
                                             .downstream = link->to->no};
        const struct weir_edge_row *edge =
            bsearch(&wanted, there.rows, there.count, sizeof *there.rows, compare_edges);

        if (edge != NULL && edge->passes_data != link->passes_data)
            status = weir_error_set(
                error, WEIR_MISMATCH, "edge %zu of %zu: it is there, and %s", i + 1,
                self->extension->edge_count,
                edge->passes_data ? "passes data on" : "passes no data on");
    }
    return status;
}

/* Edges that are not there yet; the same one again is fine. Those of an upstream that
 * has ended are over already. */
static enum weir_status add_edges(struct weir_extending *self,
                                  struct weir_connection *connection, size_t *added,
                                  struct weir_error *error)
{
    size_t count = self->extension->edge_count;
    struct weir_edge_row *rows =
        weir_arena_alloc(&self->arena, (count + 1) * sizeof *rows);
    bool *is_new = weir_arena_alloc(&self->arena, (count + 1) * sizeof *is_new);
    enum weir_status status;

    *added = 0;
    if (rows == NULL || is_new == NULL)
        return weir_no_memory_for(error, "a flow");
    for (size_t i = 0; i < count; i++) {
        struct weir_extending_link *link = &self->links[i];

        link->state = link->from->stored != NULL
                          ? weir_edge_state_of(link->from->stored->row.state)
                          : WEIR_EDGE_OPEN;
        rows[i] = (struct weir_edge_row){.upstream = link->from->no,
                                         .downstream = link->to->no,
                                         .state = link->state,
                                         .passes_data = link->passes_data};
    }
    status = weir_edges_insert(&self->executions->store, connection, self->row.no, rows,
                               count, is_new, error);
    for (size_t i = 0; i < count && status == WEIR_OK; i++) {
        self->links[i].is_new = is_new[i];
        self->links[i].to->edges_new += is_new[i];
        self->links[i].to->data_edges_new += is_new[i] && self->links[i].passes_data;
        *added += is_new[i];
    }
    return status == WEIR_OK && *added < count ? check_repeated(self, connection, error)
                                               : status;
}

/* A new member was inserted with theirs. */
static enum weir_status count_data_edges(const struct weir_extending *self,
                                         struct weir_connection *connection,
                                         struct weir_error *error)
{
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; i < self->node_count && status == WEIR_OK; i++) {
        const struct weir_extending_node *node = &self->nodes[i];

        if (!node->is_new && node->data_edges_new > 0)
            status =
                weir_edges_count_data(connection, node->no, node->data_edges_new, error);
    }
    return status;
}

/* What was added is written before, since this reads it. */
static enum weir_status decide_old_ends(struct weir_extending *self,
                                        struct weir_connection *connection,
                                        const struct weir_edge_rows *edges,
                                        struct weir_error *error)
{
    const struct weir_unit unit = {self->executions, connection, self->now_us,
                                   &self->pending_wakeups, self->commit_batch};
    struct weir_resolution *resolution = weir_resolution_create(&unit);
    enum weir_status status =
        resolution != NULL ? WEIR_OK : weir_no_memory_for(error, "a flow");

    if (status == WEIR_OK)
        status = weir_commit_batch_send(self->commit_batch, connection, error);
    if (status == WEIR_OK)
        status = weir_resolution_decide(resolution, edges, error);
    if (status == WEIR_OK)
        status = weir_commit_batch_send(self->commit_batch, connection, error);
    if (status == WEIR_OK)
        status = weir_change_set_store(self->executions, connection, resolution->changes,
                                       resolution->count, self->now_us,
                                       &self->pending_wakeups, error);
    weir_resolution_destroy(resolution);
    return status;
}

/* What has ended before its edge was there counts at once. */
static enum weir_status settle_old_ends(struct weir_extending *self,
                                        struct weir_connection *connection,
                                        struct weir_error *error)
{
    size_t edge_count = self->extension->edge_count;
    struct weir_edge_rows edges = {.count = 0};

    edges.rows = weir_arena_alloc(&self->arena, (edge_count + 1) * sizeof *edges.rows);
    if (edges.rows == NULL)
        return weir_no_memory_for(error, "a flow");
    for (size_t i = 0; i < edge_count; i++) {
        const struct weir_extending_link *link = &self->links[i];

        if (link->is_new && link->state != WEIR_EDGE_OPEN)
            edges.rows[edges.count++] =
                (struct weir_edge_row){.upstream = link->from->no,
                                       .downstream = link->to->no,
                                       .state = link->state,
                                       .passes_data = link->passes_data};
    }
    return edges.count > 0 ? decide_old_ends(self, connection, &edges, error) : WEIR_OK;
}

/* New members open a flow that had ended. */
static enum weir_status write_flow(struct weir_extending *self,
                                   struct weir_connection *connection, size_t members,
                                   size_t edges, struct weir_error *error)
{
    struct weir_flow_row *row = &self->row;

    if (members == 0 && edges == 0)
        return WEIR_OK;
    if ((size_t)row->members + members > WEIR_FLOW_MEMBERS_MAX)
        return weir_error_set(error, WEIR_FULL,
                              "it would have %zu members, must have at most %d",
                              (size_t)row->members + members, WEIR_FLOW_MEMBERS_MAX);
    row->members += (int32_t)members;
    row->unfinished += (int32_t)members;
    row->edges += (int32_t)edges;
    row->revision++;
    if (row->state == WEIR_FLOW_ROW_OPEN || row->unfinished == 0)
        return weir_flow_grow(connection, row, error);
    row->state = WEIR_FLOW_ROW_OPEN;
    row->ended_us = 0;
    return weir_flow_reopen(connection, row, error);
}

static enum weir_status add_all(struct weir_extending *self,
                                struct weir_connection *connection,
                                const struct weir_join_rows *join_rows,
                                struct weir_error *error)
{
    size_t members = 0;
    size_t edges = 0;
    enum weir_status status = weir_extending_check_new_names(self, connection, error);

    if (status == WEIR_OK)
        status = add_members(self, connection, &members, error);
    if (status == WEIR_OK)
        status = check_nodes(self, error);
    if (status == WEIR_OK)
        status = weir_extending_check_circles(self, connection, error);
    if (status == WEIR_OK)
        status = add_edges(self, connection, &edges, error);
    if (status == WEIR_OK)
        status = weir_extending_join(self, connection, join_rows, error);
    if (status == WEIR_OK)
        status = count_data_edges(self, connection, error);
    /* Before what follows counts ends of its members. */
    if (status == WEIR_OK)
        status = write_flow(self, connection, members, edges, error);
    if (status == WEIR_OK)
        status = settle_old_ends(self, connection, error);
    return status;
}

/* What is left to be written, with our commit; or now, since it is unknown when the
 * caller will. */
static enum weir_status send_off(struct weir_extending *self,
                                 struct weir_connection *connection,
                                 struct weir_error *error)
{
    struct weir_commit_batch *commit_batch = self->commit_batch;
    enum weir_status status =
        weir_commit_batch_make_room(commit_batch, connection, 1, 8, error);

    if (status != WEIR_OK)
        return status;
    weir_pending_wakeups_announce(
        &(struct weir_unit){self->executions, connection, self->now_us,
                            &self->submit_call.pending_wakeups, commit_batch});
    if (self->adopted)
        return weir_commit_batch_send(commit_batch, connection, error);
    self->commit_batch = NULL; /* the connection's from here on */
    weir_commit_batch_attach(commit_batch, connection);
    return WEIR_OK;
}

static enum weir_status extend(struct weir_connection *connection, void *argument,
                               struct weir_error *error)
{
    struct weir_extending *self = argument;
    struct weir_join_rows join_rows;
    enum weir_status status =
        weir_commit_batch_create(self->executions->heap, &self->commit_batch, error);

    self->pending_wakeups = (struct weir_pending_wakeups){.adopted = self->adopted};
    weir_arena_reset(&self->arena);
    if (status == WEIR_OK)
        status = find_old(self, connection, error);
    if (status == WEIR_OK)
        status = lock_all(self, connection, &join_rows, error);
    if (status == WEIR_OK)
        status = check_flow(self, error);
    if (status == WEIR_OK)
        status = weir_connection_clock(connection, &self->now_us, error);
    if (status == WEIR_OK)
        status = add_all(self, connection, &join_rows, error);
    if (status == WEIR_OK)
        status = send_off(self, connection, error);
    weir_commit_batch_destroy(self->commit_batch);
    self->commit_batch = NULL;
    self->revision = self->row.revision;
    return status;
}

enum weir_status weir_flow_extend(struct weir_executions *self,
                                  struct weir_connection *connection,
                                  const struct weir_flow_id *flow,
                                  const struct weir_flow_extension *extension,
                                  int64_t *revision, struct weir_error *error)
{
    struct weir_extending extending = {.executions = self,
                                       .flow = flow,
                                       .extension = extension,
                                       .adopted = connection != NULL};
    enum weir_status status = weir_extending_check(&extending, error);

    if (status != WEIR_OK) {
        weir_flow_prefix(error, flow);
        return status;
    }
    weir_arena_init(&extending.arena, self->heap, ARENA_SIZE_MAX);
    status = weir_extending_list(&extending, error);
    weir_execution_records_init(&extending.records, self->heap, extending.node_count + 1);
    weir_execution_records_init(&extending.repeated, self->heap,
                                extending.node_count + 1);
    if (status == WEIR_OK)
        status = weir_submit_call_init(&extending.submit_call, self, extension->members,
                                       extension->member_count, error);
    else
        extending.submit_call = (struct weir_submit_call){.executions = self};
    extending.submit_call.adopted = connection != NULL;
    if (status == WEIR_OK && connection == NULL)
        weir_submit_call_learn(&extending.submit_call);
    if (status == WEIR_OK)
        status = connection != NULL
                     ? weir_executions_inside(self, connection, extend, &extending, error)
                     : weir_transact_soon(self->db, extend, &extending, error);
    if (status == WEIR_OK && connection == NULL) {
        weir_pending_wakeups_send(self, &extending.submit_call.pending_wakeups);
        weir_pending_wakeups_send(self, &extending.pending_wakeups);
    }
    if (status == WEIR_OK && revision != NULL)
        *revision = extending.revision;
    if (status != WEIR_OK)
        weir_flow_prefix(error, flow);
    weir_submit_call_fini(&extending.submit_call);
    weir_heap_free(self->heap, extending.nodes);
    weir_heap_free(self->heap, extending.links);
    weir_heap_free(self->heap, extending.blocked);
    weir_heap_free(self->heap, extending.data_edges);
    weir_execution_records_fini(&extending.records);
    weir_execution_records_fini(&extending.repeated);
    weir_arena_fini(&extending.arena);
    return status;
}
