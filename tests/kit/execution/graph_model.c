/*
 * graph_model.c - see graph_model.h.
 */
#include "kit/execution/graph_model.h"

#include <string.h>

bool graph_model_is_over(const struct graph_model *self, int node)
{
    return self->nodes[node].state >= GRAPH_SUCCEEDED;
}

uint32_t graph_model_count(const struct graph_model *self, int node,
                           enum weir_edge_state state)
{
    uint32_t count = 0;

    for (int i = 0; i < self->link_count; i++)
        count += self->links[i].to == node && self->links[i].state == state;
    return count;
}

/* Data counts as long as nothing is decided. */
static void pass_data(struct graph_model *self, struct graph_link *link)
{
    if (link->passes_data && link->state == WEIR_EDGE_SUCCEEDED &&
        self->nodes[link->to].group == WEIR_FLOW_JOIN_PENDING) {
        link->passed = true;
        link->result = self->nodes[link->from].result;
    }
}

/* What it comes from has ended. */
static void end_link(struct graph_model *self, struct graph_link *link)
{
    const struct graph_node *from = &self->nodes[link->from];

    link->state = from->state == GRAPH_SUCCEEDED ? WEIR_EDGE_SUCCEEDED
                  : from->state == GRAPH_SKIPPED ? WEIR_EDGE_SKIPPED
                                                 : WEIR_EDGE_FAILED;
    pass_data(self, link);
}

/* Returns whether it is skipped now. */
static bool judge(struct graph_model *self, int node)
{
    struct graph_node *it = &self->nodes[node];
    uint32_t won = graph_model_count(self, node, WEIR_EDGE_SUCCEEDED);
    uint32_t open = graph_model_count(self, node, WEIR_EDGE_OPEN);
    uint32_t total = won + open + graph_model_count(self, node, WEIR_EDGE_FAILED) +
                     graph_model_count(self, node, WEIR_EDGE_SKIPPED);
    uint32_t needed = it->policy == WEIR_JOIN_ALL   ? total
                      : it->policy == WEIR_JOIN_ANY ? 1
                                                    : it->quorum;

    if (it->group != WEIR_FLOW_JOIN_PENDING || (won < needed && won + open >= needed))
        return false;
    it->group = won >= needed ? WEIR_FLOW_JOIN_SATISFIED : WEIR_FLOW_JOIN_IMPOSSIBLE;
    it->cancelling = it->cancel_remaining && open > 0;
    if (it->group == WEIR_FLOW_JOIN_SATISFIED && it->state == GRAPH_WAITS)
        it->state = GRAPH_READY;
    if (it->group == WEIR_FLOW_JOIN_SATISFIED || graph_model_is_over(self, node))
        return false;
    it->state = GRAPH_SKIPPED;
    return true;
}

/* What follows from these edges being over, level by level. */
static void follow(struct graph_model *self, struct graph_set touched)
{
    for (bool more = true; more;) {
        struct graph_set skipped = {{false}};

        more = false;
        for (int i = 0; i < self->node_count; i++)
            skipped.has[i] = touched.has[i] && judge(self, i);
        touched = (struct graph_set){{false}};
        for (int i = 0; i < self->link_count; i++) {
            struct graph_link *link = &self->links[i];

            if (!skipped.has[link->from] || link->state != WEIR_EDGE_OPEN)
                continue;
            end_link(self, link);
            touched.has[link->to] = more = true;
        }
    }
}

void graph_model_end(struct graph_model *self, const struct graph_set *ended,
                     enum graph_node_state state)
{
    struct graph_set touched = {{false}};

    for (int i = 0; i < self->node_count; i++) {
        if (ended->has[i])
            self->nodes[i].state = state;
    }
    for (int i = 0; i < self->link_count; i++) {
        struct graph_link *link = &self->links[i];

        if (!ended->has[link->from] || link->state != WEIR_EDGE_OPEN)
            continue;
        end_link(self, link);
        touched.has[link->to] = true;
    }
    follow(self, touched);
}

void graph_model_extend(struct graph_model *self, int first)
{
    struct graph_set touched = {{false}};

    for (int i = first; i < self->link_count; i++) {
        struct graph_link *link = &self->links[i];

        self->nodes[link->to].joined = true;
        self->nodes[link->to].state = GRAPH_WAITS;
    }
    for (int i = first; i < self->link_count; i++) {
        struct graph_link *link = &self->links[i];

        if (!graph_model_is_over(self, link->from))
            continue;
        end_link(self, link);
        touched.has[link->to] = true;
    }
    follow(self, touched);
}

static struct graph_link *find_link(struct graph_model *self, int from, int to)
{
    for (int i = 0; i < self->link_count; i++) {
        if (self->links[i].from == from && self->links[i].to == to)
            return &self->links[i];
    }
    return NULL;
}

/* What came too late for a join that had been decided is in time for it now, in the
 * order of those it comes from. */
void graph_model_replay(struct graph_model *self, int node)
{
    struct graph_node *it = &self->nodes[node];
    struct graph_set touched = {{false}};
    bool decided = it->group != WEIR_FLOW_JOIN_PENDING;

    it->retries = 0;
    it->not_needed = false;
    it->state = GRAPH_READY;
    if (!it->joined || it->group == WEIR_FLOW_JOIN_SATISFIED)
        return;
    it->state = GRAPH_WAITS;
    it->group = WEIR_FLOW_JOIN_PENDING;
    it->cancelling = false;
    for (int from = 0; from < self->node_count; from++) {
        struct graph_link *link = find_link(self, from, node);

        if (link == NULL)
            continue;
        if (link->state == WEIR_EDGE_SUCCEEDED) {
            if (decided)
                pass_data(self, link);
            continue;
        }
        link->state = WEIR_EDGE_OPEN;
        if (self->nodes[from].state == GRAPH_SUCCEEDED)
            end_link(self, link);
    }
    touched.has[node] = true;
    follow(self, touched);
}

void graph_model_fail(struct graph_model *self, int node, bool permanent)
{
    struct graph_node *it = &self->nodes[node];
    struct graph_set one = {{false}};

    one.has[node] = true;
    if (!permanent && it->retries < it->retries_max) {
        it->retries++;
        it->state = GRAPH_READY;
    } else {
        graph_model_end(self, &one, GRAPH_FAILED);
    }
}

static bool is_sibling(const struct graph_model *self, const struct graph_link *link,
                       int node)
{
    return link->to == node && link->state == WEIR_EDGE_OPEN &&
           !graph_model_is_over(self, link->from);
}

bool graph_model_dispatch(struct graph_model *self, const int *groups, int count)
{
    struct graph_set siblings = {{false}};
    bool any = false;

    for (int i = 0; i < count; i++) {
        bool enough = self->nodes[groups[i]].group == WEIR_FLOW_JOIN_SATISFIED;

        for (int j = 0; j < self->link_count; j++) {
            const struct graph_link *link = &self->links[j];

            if (!is_sibling(self, link, groups[i]) || siblings.has[link->from])
                continue;
            siblings.has[link->from] = any = true;
            self->nodes[link->from].not_needed = enough;
        }
    }
    graph_model_end(self, &siblings, GRAPH_CANCELLED);
    return any;
}

void graph_model_tidy(struct graph_model *self)
{
    for (int i = 0; i < self->node_count; i++) {
        bool left = false;

        for (int j = 0; j < self->link_count; j++)
            left |= is_sibling(self, &self->links[j], i);
        self->nodes[i].cancelling &= left;
    }
}

/* Whatever nothing leads to any more is taken away, until nothing can be. */
bool graph_model_leads_in_a_cycle(const struct graph_model *self)
{
    struct graph_set gone = {{false}};
    int left = self->node_count;

    for (bool more = true; more;) {
        more = false;
        for (int i = 0; i < self->node_count; i++) {
            bool led_to = gone.has[i];

            for (int j = 0; j < self->link_count; j++)
                led_to |= self->links[j].to == i && !gone.has[self->links[j].from];
            if (led_to)
                continue;
            gone.has[i] = more = true;
            left--;
        }
    }
    return left > 0;
}

enum weir_flow_state graph_model_state(const struct graph_model *self)
{
    bool unlucky = false;

    if (self->cancelled)
        return WEIR_FLOW_CANCELLED;
    for (int i = 0; i < self->node_count; i++) {
        const struct graph_node *it = &self->nodes[i];

        if (!graph_model_is_over(self, i))
            return WEIR_FLOW_OPEN;
        unlucky |= it->state == GRAPH_FAILED || it->state == GRAPH_EXPIRED ||
                   (it->state == GRAPH_CANCELLED && !it->not_needed);
    }
    return self->node_count == 0 ? WEIR_FLOW_OPEN
           : unlucky             ? WEIR_FLOW_FAILED
                                 : WEIR_FLOW_COMPLETED;
}
