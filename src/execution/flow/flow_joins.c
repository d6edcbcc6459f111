/*
 * flow_joins.c - the groups that edges of an extension belong to, see flow_extending.h.
 */
#include "base/no_memory.h"
#include "execution/executions.h"
#include "execution/flow/flow_extending.h"

static bool is_same_join(const struct weir_join_row *row,
                         const struct weir_flow_join *join)
{
    return row->join_row.policy == join->policy &&
           row->cancel_remaining == join->cancel_remaining &&
           (join->policy != WEIR_JOIN_QUORUM || row->join_row.quorum == join->quorum);
}

static enum weir_status refuse_begun(const struct weir_extending_node *node,
                                     struct weir_error *error)
{
    char text[WEIR_EXECUTION_ID_TEXT_SIZE];

    return weir_error_set(error, WEIR_MISMATCH,
                          "execution %s has begun, no edge can lead to it any more",
                          weir_execution_id_format(&node->id, text));
}

static enum weir_status refuse_too_many(const struct weir_extending_node *node,
                                        struct weir_error *error)
{
    char text[WEIR_EXECUTION_ID_TEXT_SIZE];

    return weir_error_set(
        error, WEIR_FULL, "more than %d edges would lead to execution %s",
        WEIR_FLOW_UPSTREAMS_MAX, weir_execution_id_format(&node->id, text));
}

/* An old one waits from now on, for whatever is new. */
static enum weir_status block(struct weir_extending *self,
                              struct weir_connection *connection,
                              struct weir_extending_node *node, struct weir_error *error)
{
    struct weir_change change = {.stored = node->stored};
    enum weir_ruling ruling;

    if (node->stored->row.attempts > 0)
        return refuse_begun(node, error);
    ruling =
        weir_rule_block(&node->stored->row, WEIR_HOLD_DEPENDENCIES, &change.consequence);
    if (ruling == WEIR_RULING_NOTHING)
        return WEIR_OK;
    if (ruling != WEIR_RULING_DONE)
        return refuse_begun(node, error);
    return weir_change_set_store(self->executions, connection, &change, 1, self->now_us,
                                 &self->pending_wakeups, error);
}

/* What is to be written of groups. */
struct join_call {
    struct weir_join_rows known; /* of old nodes, locked before their executions */
    struct weir_join_rows found; /* of others, which were not to be seen then */
    struct weir_join_row *fresh;
    size_t fresh_count;
    struct weir_join_row *longer;
    size_t longer_count;
};

static struct weir_join_row *join_of(const struct join_call *self,
                                     const struct weir_extending_node *node)
{
    struct weir_join_row *known;

    if (node->is_new)
        return NULL;
    known = weir_joins_find(&self->known, node->no);
    return known != NULL ? known : weir_joins_find(&self->found, node->no);
}

/* Of members that are there already, which was not known when groups were locked; and
 * of old ones to which another transaction has added their first edges, while we
 * waited for their rows. */
static enum weir_status lock_found(struct weir_extending *self,
                                   struct weir_connection *connection,
                                   struct join_call *join_call, struct weir_error *error)
{
    int64_t *nos = weir_arena_alloc(&self->arena, (self->node_count + 1) * sizeof *nos);
    size_t count = 0;

    if (nos == NULL)
        return weir_no_memory_for(error, "a flow");
    for (size_t i = 0; i < self->node_count; i++) {
        const struct weir_extending_node *node = &self->nodes[i];

        if (!node->is_new && weir_extending_is_joined(node) &&
            weir_joins_find(&join_call->known, node->no) == NULL)
            nos[count++] = node->no;
    }
    return weir_joins_lock(connection, nos, count, &self->arena, &join_call->found,
                           error);
}

/* The group of one node: made, or longer by what is new. */
static enum weir_status join_node(struct weir_extending *self,
                                  struct weir_connection *connection,
                                  struct weir_extending_node *node,
                                  struct join_call *join_call, struct weir_error *error)
{
    uint32_t more = node->edges_new;
    struct weir_join_row *there = join_of(join_call, node);
    struct weir_join_row fresh = {.downstream = node->no, .flow_no = self->row.no};
    enum weir_status status = WEIR_OK;

    if (there != NULL && node->join != NULL && !is_same_join(there, node->join))
        return weir_error_set(error, WEIR_MISMATCH,
                              "the policy of a join is fixed with its first edge");
    if (there != NULL && more > 0 && there->state != WEIR_FLOW_JOIN_PENDING)
        return refuse_begun(node, error);
    if ((there != NULL ? there->join_row.total : 0) + more > WEIR_FLOW_UPSTREAMS_MAX)
        return refuse_too_many(node, error);
    if (more > 0 && !node->is_new)
        status = block(self, connection, node, error);
    if (status != WEIR_OK || (more == 0 && (there != NULL || node->join == NULL)))
        return status;
    if (there != NULL) {
        there->join_row.total += more;
        join_call->longer[join_call->longer_count++] = *there;
        return WEIR_OK;
    }
    fresh.join_row.total = more;
    if (node->join != NULL) {
        fresh.join_row.policy = node->join->policy;
        fresh.join_row.quorum = node->join->quorum;
        fresh.cancel_remaining = node->join->cancel_remaining;
    }
    join_call->fresh[join_call->fresh_count++] = fresh;
    return WEIR_OK;
}

enum weir_status weir_extending_join(struct weir_extending *self,
                                     struct weir_connection *connection,
                                     const struct weir_join_rows *known,
                                     struct weir_error *error)
{
    size_t room = (self->node_count + 1) * sizeof(struct weir_join_row);
    struct join_call join_call = {.known = *known,
                                  .fresh = weir_arena_alloc(&self->arena, room),
                                  .longer = weir_arena_alloc(&self->arena, room)};
    enum weir_status status;

    if (join_call.fresh == NULL || join_call.longer == NULL)
        return weir_no_memory_for(error, "a flow");
    status = lock_found(self, connection, &join_call, error);
    for (size_t i = 0; i < self->node_count && status == WEIR_OK; i++) {
        if (weir_extending_is_joined(&self->nodes[i]))
            status = join_node(self, connection, &self->nodes[i], &join_call, error);
    }
    if (status == WEIR_OK)
        status = weir_joins_insert(connection, join_call.fresh, join_call.fresh_count,
                                   self->commit_batch, error);
    if (status == WEIR_OK)
        status = weir_joins_write(connection, join_call.longer, join_call.longer_count,
                                  self->commit_batch, error);
    return status;
}
