/*
 * graph_run_expect.c - see graph_run_inside.h: what is done to the flow, done to the
 * model.
 */
#include <string.h>

#include "kit/execution/graph_run_inside.h"

static struct graph_set only(int node)
{
    struct graph_set set = {{false}};

    set.has[node] = true;
    return set;
}

static enum weir_status expect_extension(struct graph_model *model,
                                         const struct graph_action *action)
{
    int old_nodes = model->node_count;
    int old_links = model->link_count;
    bool refused = false;

    if (model->cancelled)
        return WEIR_CLOSED;
    for (int i = 0; i < action->members; i++)
        model->nodes[model->node_count++] = action->nodes[i];
    for (int i = 0; i < action->links; i++) {
        const struct graph_node *to = &model->nodes[action->link[i].to];

        model->links[model->link_count++] = action->link[i];
        refused |= action->link[i].to < old_nodes &&
                   (to->attempts > 0 || to->state > GRAPH_READY ||
                    to->group != WEIR_FLOW_JOIN_PENDING);
    }
    if (graph_model_leads_in_a_cycle(model))
        return WEIR_CYCLE;
    if (refused)
        return WEIR_MISMATCH;
    graph_model_extend(model, old_links);
    model->revision += action->members > 0 || action->links > 0;
    return WEIR_OK;
}

static enum weir_status expect_settlement(struct graph_model *model,
                                          const struct graph_action *action, bool held)
{
    struct graph_set one = only(action->node);
    struct graph_node *node = &model->nodes[action->node];

    if (!held || node->state != GRAPH_RUNS)
        return WEIR_FENCED;
    if (action->kind == FAIL) {
        graph_model_fail(model, action->node, action->permanent);
        return WEIR_OK;
    }
    if (action->kind == COMPLETE)
        node->result = action->result;
    graph_model_end(model, &one,
                    action->kind == COMPLETE ? GRAPH_SUCCEEDED : GRAPH_CANCELLED);
    return WEIR_OK;
}

static void expect_cancel_of_flow(struct graph_model *model, struct graph_action *action)
{
    struct graph_set set = {{false}};

    action->meant = 0;
    if (graph_model_state(model) != WEIR_FLOW_OPEN)
        return;
    for (int i = 0; i < model->node_count; i++) {
        set.has[i] =
            !graph_model_is_over(model, i) &&
            (action->policy == WEIR_CANCEL_ALL ||
             (action->policy == WEIR_CANCEL_PENDING && model->nodes[i].attempts == 0));
        action->meant += set.has[i];
    }
    graph_model_end(model, &set, GRAPH_CANCELLED);
    model->cancelled = true;
}

static void expect_time(struct graph_model *model)
{
    struct graph_set late = {{false}};

    for (int i = 0; i < model->node_count; i++) {
        late.has[i] = model->nodes[i].deadline && !graph_model_is_over(model, i);
        model->nodes[i].deadline = false;
    }
    graph_model_end(model, &late, GRAPH_EXPIRED);
    for (int i = 0; i < model->node_count; i++) {
        if (model->nodes[i].state == GRAPH_RUNS)
            model->nodes[i].state = GRAPH_READY;
    }
}

static int list_cancelling(const struct graph_model *model, int *out)
{
    int count = 0;

    for (int i = 0; i < model->node_count; i++) {
        if (model->nodes[i].cancelling)
            out[count++] = i;
    }
    return count;
}

/* Round after round, each a transaction: what is cancelled may decide other joins.
 * Those that are decided together come in the order of their members. */
int graph_run_dispatch(struct graph_model *model, const struct graph_action *action,
                       int rounds)
{
    int groups[GRAPH_NODES_MAX];
    int count = action->group_count;
    int round = 0;

    memcpy(groups, action->groups, sizeof groups);
    while (round < rounds && graph_model_dispatch(model, groups, count)) {
        round++;
        count = list_cancelling(model, groups);
    }
    return round;
}

/* What must be answered; and if it is WEIR_OK, how it is then. */
enum weir_status graph_run_expect(const struct graph_run *self, struct graph_model *model,
                                  struct graph_action *action)
{
    struct graph_set one = only(action->node);
    struct graph_node *node = &model->nodes[action->node];

    switch (action->kind) {
    case EXTEND:
        return expect_extension(model, action);
    case CLAIM:
        if (node->state != GRAPH_READY)
            return WEIR_NO_ROW;
        node->state = GRAPH_RUNS;
        node->attempts++;
        return WEIR_OK;
    case COMPLETE:
    case FAIL:
    case ABANDON:
        return expect_settlement(model, action, self->held[action->node]);
    case CANCEL:
        if (graph_model_is_over(model, action->node))
            return node->state == GRAPH_CANCELLED ? WEIR_OK : WEIR_MISMATCH;
        graph_model_end(model, &one, GRAPH_CANCELLED);
        return WEIR_OK;
    case REPLAY:
        if (!graph_model_is_over(model, action->node))
            return WEIR_MISMATCH;
        graph_model_replay(model, action->node);
        return WEIR_OK;
    case REVOKE:
        if (node->state != GRAPH_RUNS)
            return WEIR_NO_ROW;
        node->state = GRAPH_READY;
        return WEIR_OK;
    case CANCEL_FLOW:
        expect_cancel_of_flow(model, action);
        return WEIR_OK;
    case DISPATCH:
        (void)graph_run_dispatch(model, action, ROUNDS_MAX);
        graph_model_tidy(model);
        return WEIR_OK;
    case TIDY:
        graph_model_tidy(model);
        return WEIR_OK;
    case TIME_PASSES:
        expect_time(model);
        return WEIR_OK;
    default:
        return WEIR_OK;
    }
}
