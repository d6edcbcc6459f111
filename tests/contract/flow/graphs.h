/*
 * graphs.h - small flows for tests, whose members are called by letters.
 *
 *   struct graph graph;
 *
 *   graph_open(&graph, fixture, flow);
 *   graph_add(&graph, "abc", "a>c b>c");            two lead to one
 *   graph_end(&graph, 'a', WEIR_SETTLE_COMPLETE);   claims it, and settles it
 *   check_str(graph_states(&graph), "a:completed b:waiting c:waiting_children");
 */
#ifndef WEIR_TEST_GRAPHS_H
#define WEIR_TEST_GRAPHS_H

#include "contract/flow/flow_fixture.h"
#include "weir/flow.h"

enum { GRAPH_LETTERS = 26, GRAPH_EDGES = 64 };

struct graph {
    struct fixture *fixture;
    struct weir_flow *flow;
    struct weir_graph_id id;
    struct weir_execution_id members[GRAPH_LETTERS];
    bool there[GRAPH_LETTERS];
    char text[512];
};

static inline void graph_open(struct graph *self, struct fixture *fixture,
                              struct weir_flow *flow)
{
    struct weir_graph_draft draft = {.kind = "order"};

    *self = (struct graph){.fixture = fixture, .flow = flow};
    check_db(weir_graph_create(flow, &draft, &self->id, &fixture->error), WEIR_OK);
    weir_graph_mint(flow, &self->id, self->members, GRAPH_LETTERS);
}

static inline struct weir_execution_id *graph_member(struct graph *self, char letter)
{
    return &self->members[letter - 'a'];
}

/* "a>c b>>c": the second passes its result on. */
static inline size_t graph_read_edges(struct graph *self, const char *text,
                                      struct weir_graph_edge *out)
{
    size_t count = 0;

    while (*text != '\0') {
        if (*text == ' ') {
            text++;
            continue;
        }
        out[count].from = *graph_member(self, text[0]);
        out[count].passes_data = text[2] == '>';
        text += out[count].passes_data ? 3 : 2;
        out[count++].to = *graph_member(self, *text++);
    }
    return count;
}

static inline enum weir_status graph_try(struct graph *self, const char *members,
                                         const char *edges,
                                         const struct weir_graph_join *joins,
                                         size_t join_count)
{
    struct weir_execution_draft drafts[GRAPH_LETTERS];
    struct weir_graph_edge list[GRAPH_EDGES];
    char lanes[GRAPH_LETTERS][2];
    struct weir_graph_extension extension = {.members = drafts,
                                             .edges = list,
                                             .joins = joins,
                                             .join_count = join_count,
                                             .revision = -1};

    for (; members[extension.member_count] != '\0'; extension.member_count++) {
        size_t i = extension.member_count;

        lanes[i][0] = members[i]; /* each in a lane of its own, to be claimed by name */
        lanes[i][1] = '\0';
        drafts[i] = (struct weir_execution_draft){
            .id = graph_member(self, members[i]), .lane = lanes[i], .kind = "step"};
    }
    extension.edge_count = graph_read_edges(self, edges, list);
    return weir_graph_extend(self->flow, NULL, &self->id, &extension, NULL,
                             &self->fixture->error);
}

static inline void graph_join(struct graph *self, const char *members, const char *edges,
                              const struct weir_graph_join *joins, size_t join_count)
{
    struct fixture *fixture = self->fixture;

    check_db(graph_try(self, members, edges, joins, join_count), WEIR_OK);
    for (; *members != '\0'; members++)
        self->there[*members - 'a'] = true;
}

static inline void graph_add(struct graph *self, const char *members, const char *edges)
{
    graph_join(self, members, edges, NULL, 0);
}

static inline struct weir_claim graph_claim(struct graph *self, char letter)
{
    char lane[2] = {letter, '\0'};

    return flow_fixture_claim(self->fixture, self->flow, lane, "anna");
}

static inline void graph_end(struct graph *self, char letter, enum weir_settle verb)
{
    struct weir_claim claim = graph_claim(self, letter);

    flow_fixture_settle(self->fixture, self->flow, &claim, verb);
}

static inline const char *graph_state_of(struct graph *self, char letter)
{
    return flow_fixture_state(self->fixture, self->flow, graph_member(self, letter));
}

/* "a:completed b:waiting" */
static inline const char *graph_states(struct graph *self)
{
    size_t used = 0;

    self->text[0] = '\0';
    for (char letter = 'a'; letter <= 'z'; letter++) {
        if (self->there[letter - 'a'])
            used += (size_t)snprintf(self->text + used, sizeof self->text - used,
                                     "%s%c:%s", used > 0 ? " " : "", letter,
                                     graph_state_of(self, letter));
    }
    return self->text;
}

static inline void graph_note(void *state, const struct weir_graph_info *info)
{
    *(struct weir_graph_info *)state = *info;
}

static inline struct weir_graph_info graph_info(struct graph *self)
{
    struct fixture *fixture = self->fixture;
    struct weir_graph_info info = {.members = 0};

    check_db(weir_graph_get(self->flow, &self->id, graph_note, &info, &fixture->error),
             WEIR_OK);
    return info;
}

static inline const char *graph_state(struct graph *self)
{
    return weir_graph_state_name(graph_info(self).state);
}

#endif
