/*
 * graph_run_choose.c - see graph_run_inside.h: what is done next.
 */
#include "kit/execution/graph_run_inside.h"

enum { OWN_INPUT = 1000 /* and the number of the member */ };

static void make_member(struct graph_run *self, int index, struct graph_node *out,
                        bool *joins)
{
    *out = (struct graph_node){.state = GRAPH_READY,
                               .retries_max = graph_run_below(self, 3),
                               .input = graph_run_one_in(self, 4) ? 0 : OWN_INPUT + index,
                               .deadline = graph_run_may(self, GRAPH_DEADLINES) &&
                                           graph_run_one_in(self, 6)};
    *joins = !graph_run_one_in(self, 4);
    if (!*joins)
        return;
    out->policy = (enum weir_join)graph_run_below(self, WEIR_JOIN_COUNT);
    out->quorum = out->policy == WEIR_JOIN_QUORUM ? 1 + graph_run_below(self, 4) : 0;
    out->cancel_remaining = graph_run_one_in(self, 2);
}

static bool is_there(const struct graph_run *self, const struct graph_action *action,
                     int from, int to)
{
    for (int i = 0; i < self->model.link_count; i++) {
        if (self->model.links[i].from == from && self->model.links[i].to == to)
            return true;
    }
    for (int i = 0; i < action->links; i++) {
        if (action->link[i].from == from && action->link[i].to == to)
            return true;
    }
    return false;
}

static void add_link(struct graph_run *self, struct graph_action *action, int from,
                     int to)
{
    if (from == to || action->links == LINKS_MAX ||
        self->model.link_count + action->links == GRAPH_EDGES_MAX ||
        is_there(self, action, from, to))
        return;
    action->link[action->links++] = (struct graph_link){
        .from = from, .to = to, .passes_data = graph_run_one_in(self, 3)};
}

/* Edges lead from smaller numbers to larger ones, but for some that are tried later. */
void graph_run_choose_extension(struct graph_run *self, struct graph_action *action,
                                int members, bool chain)
{
    int first = self->model.node_count;
    int width = 1 + (int)graph_run_below(self, 5);

    for (int i = 0; i < members && first + i < GRAPH_NODES_MAX; i++) {
        int node = first + i;

        make_member(self, node, &action->nodes[i], &action->joins[i]);
        action->members++;
        if (chain && node > 0)
            add_link(self, action, node - 1, node);
        else if (node > 0 && !graph_run_one_in(self, 5)) {
            for (int j = (int)graph_run_below(self, (uint32_t)width + 1); j >= 0; j--)
                add_link(self, action, (int)graph_run_below(self, (uint32_t)node), node);
        }
    }
    if (first > 0 && graph_run_one_in(self, 2)) {
        uint32_t all = (uint32_t)(first + action->members);

        add_link(self, action, (int)graph_run_below(self, all),
                 (int)graph_run_below(self, (uint32_t)first));
    }
    /* A policy is said together with the first edge. */
    for (int i = 0; i < action->members; i++) {
        bool led_to = false;

        for (int j = 0; j < action->links; j++)
            led_to |= action->link[j].to == first + i;
        if (action->joins[i] && led_to)
            continue;
        action->joins[i] = false;
        action->nodes[i].policy = WEIR_JOIN_ALL;
        action->nodes[i].quorum = 0;
        action->nodes[i].cancel_remaining = false;
    }
}

/* One of them in this state, or any. */
static int choose_node(struct graph_run *self, enum graph_node_state state)
{
    int start = (int)graph_run_below(self, (uint32_t)self->model.node_count);

    for (int i = 0; i < self->model.node_count; i++) {
        int node = (start + i) % self->model.node_count;

        if (self->model.nodes[node].state == state)
            return node;
    }
    return start;
}

static int choose_held(struct graph_run *self)
{
    int start = (int)graph_run_below(self, (uint32_t)self->model.node_count);

    for (int i = 0; i < self->model.node_count; i++) {
        int node = (start + i) % self->model.node_count;

        if (self->held[node])
            return node;
    }
    return -1;
}

static void choose_work(struct graph_run *self, struct graph_action *action)
{
    int held = choose_held(self);

    if (held < 0 || graph_run_one_in(self, 2)) {
        action->kind = CLAIM;
        action->node = graph_run_one_in(self, 8)
                           ? (int)graph_run_below(self, (uint32_t)self->model.node_count)
                           : choose_node(self, GRAPH_READY);
        return;
    }
    action->node = held;
    action->kind = COMPLETE;
    action->result = graph_run_one_in(self, 4) ? 0 : 1 + (int)graph_run_below(self, 900);
    if (graph_run_may(self, GRAPH_FAILURES) && graph_run_one_in(self, 3)) {
        action->kind = graph_run_one_in(self, 4) ? ABANDON : FAIL;
        action->permanent = graph_run_one_in(self, 3);
        action->result = 0;
    }
}

void graph_run_choose(struct graph_run *self, struct graph_action *action)
{
    uint32_t dice = graph_run_below(self, 100);

    action->node = (int)graph_run_below(self, (uint32_t)self->model.node_count);
    if (dice < 4 && graph_run_may(self, GRAPH_CANCELS)) {
        action->kind = CANCEL;
    } else if (dice < 12 && graph_run_may(self, GRAPH_REPLAYS)) {
        action->kind = REPLAY;
        if (!graph_run_one_in(self, 3))
            action->node = choose_node(self, graph_run_one_in(self, 2) ? GRAPH_SKIPPED
                                                                       : GRAPH_FAILED);
    } else if (dice < 15 && graph_run_may(self, GRAPH_REVOKES)) {
        action->kind = REVOKE;
        action->node = choose_node(self, GRAPH_RUNS);
    } else if (dice < 22 && graph_run_may(self, GRAPH_EXTENSIONS) &&
               self->model.node_count < GRAPH_NODES_MAX - 4) {
        action->kind = EXTEND;
        graph_run_choose_extension(self, action, (int)graph_run_below(self, 4), false);
    } else if (dice < 23 && graph_run_may(self, GRAPH_FLOW_CANCELS)) {
        action->kind = CANCEL_FLOW;
        action->policy = (enum weir_flow_cancel_policy)graph_run_below(self, 3);
    } else if (dice < 32) {
        action->kind = DISPATCH;
    } else if (dice < 35) {
        action->kind = TIDY;
    } else if (dice < 36) {
        action->kind = BACKSTOP;
    } else if (dice < 38 && graph_run_may(self, GRAPH_DEADLINES) &&
               self->ground->turn_clock != NULL) {
        action->kind = TIME_PASSES;
    } else {
        choose_work(self, action);
    }
}

/* What is to be done next so that all ends; false: nothing. */
bool graph_run_choose_healing(struct graph_run *self, struct graph_action *action)
{
    for (int i = 0; i < self->model.node_count; i++) {
        const struct graph_node *node = &self->model.nodes[i];

        action->node = i;
        action->kind = node->cancelling             ? DISPATCH
                       : node->state == GRAPH_READY ? CLAIM
                       : self->held[i]              ? COMPLETE
                                                    : REVOKE;
        if (node->cancelling || node->state == GRAPH_READY || node->state == GRAPH_RUNS)
            return true;
    }
    /* What waits still waits for a replay that will not come. */
    for (int i = 0; i < self->model.node_count; i++) {
        action->node = i;
        action->kind = CANCEL;
        if (self->model.nodes[i].state == GRAPH_WAITS)
            return true;
    }
    return false;
}
