/*
 * graphs.h - small flows for tests, whose members are called by letters.
 *
 *   struct flow flow;
 *
 *   graph_open(&flow, fixture, flow);
 *   graph_add(&flow, "abc", "a>c b>c");            two lead to one
 *   graph_end(&flow, 'a', WEIR_SETTLE_COMPLETE);   claims it, and settles it
 *   check_str(graph_states(&flow), "a:completed b:waiting c:waiting_children");
 */
#ifndef WEIR_TEST_GRAPHS_H
#define WEIR_TEST_GRAPHS_H

#include "contract/flow/flow_fixture.h"
#include "weir/flow.h"

enum { GRAPH_LETTERS = 26, GRAPH_EDGES = 64 };

struct flow {
    struct fixture *fixture;
    struct weir_executions *executions;
    struct weir_flow_id id;
    struct weir_execution_id members[GRAPH_LETTERS];
    bool there[GRAPH_LETTERS];
    char text[512];
};

static inline void graph_open(struct flow *self, struct fixture *fixture,
                              struct weir_executions *executions)
{
    struct weir_flow_draft draft = {.kind = "order"};

    *self = (struct flow){.fixture = fixture, .executions = executions};
    check_db(weir_flow_create(executions, &draft, &self->id, &fixture->error), WEIR_OK);
    weir_flow_mint(executions, &self->id, self->members, GRAPH_LETTERS);
}

static inline struct weir_execution_id *graph_member(struct flow *self, char letter)
{
    return &self->members[letter - 'a'];
}

/* "a>c b>>c": the second passes its result on. */
static inline size_t graph_read_edges(struct flow *self, const char *text,
                                      struct weir_flow_edge *out)
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

static inline enum weir_status graph_try(struct flow *self, const char *members,
                                         const char *edges,
                                         const struct weir_flow_join *joins,
                                         size_t join_count)
{
    struct weir_execution_draft drafts[GRAPH_LETTERS];
    struct weir_flow_edge list[GRAPH_EDGES];
    char lanes[GRAPH_LETTERS][2];
    struct weir_flow_extension extension = {.members = drafts,
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
    return weir_flow_extend(self->executions, NULL, &self->id, &extension, NULL,
                            &self->fixture->error);
}

static inline void graph_join(struct flow *self, const char *members, const char *edges,
                              const struct weir_flow_join *joins, size_t join_count)
{
    struct fixture *fixture = self->fixture;

    check_db(graph_try(self, members, edges, joins, join_count), WEIR_OK);
    for (; *members != '\0'; members++)
        self->there[*members - 'a'] = true;
}

static inline void graph_add(struct flow *self, const char *members, const char *edges)
{
    graph_join(self, members, edges, NULL, 0);
}

static inline struct weir_claim graph_claim(struct flow *self, char letter)
{
    char lane[2] = {letter, '\0'};

    return flow_fixture_claim(self->fixture, self->executions, lane, "anna");
}

static inline void graph_end(struct flow *self, char letter, enum weir_settle verb)
{
    struct weir_claim claim = graph_claim(self, letter);

    flow_fixture_settle(self->fixture, self->executions, &claim, verb);
}

static inline const char *graph_state_of(struct flow *self, char letter)
{
    return flow_fixture_state(self->fixture, self->executions,
                              graph_member(self, letter));
}

/* "a:completed b:waiting" */
static inline const char *graph_states(struct flow *self)
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

static inline void graph_note(void *state, const struct weir_flow_info *info)
{
    *(struct weir_flow_info *)state = *info;
}

static inline struct weir_flow_info graph_info(struct flow *self)
{
    struct fixture *fixture = self->fixture;
    struct weir_flow_info info = {.members = 0};

    check_db(
        weir_flow_get(self->executions, &self->id, graph_note, &info, &fixture->error),
        WEIR_OK);
    return info;
}

static inline const char *graph_state(struct flow *self)
{
    return weir_flow_state_name(graph_info(self).state);
}

#endif
