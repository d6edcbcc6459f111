/*
 * Cascades: what follows for a flow when one of its members has ended, in whatever way.
 */
#include "contract/flow/graphs.h"
#include "contract/flow/supervisor_fixture.h"
#include "lib/outbox_fixture.h"

enum { FAN = 50 };

static struct weir_graph_join join_of(struct graph *graph, char to, enum weir_join policy,
                                      uint32_t quorum, bool cancel_remaining)
{
    return (struct weir_graph_join){.to = *graph_member(graph, to),
                                    .policy = policy,
                                    .quorum = quorum,
                                    .cancel_remaining = cancel_remaining};
}

static void end_with(struct graph *graph, char letter, const char *result)
{
    struct fixture *fixture = graph->fixture;
    struct weir_settlement settlement = {.claim = graph_claim(graph, letter),
                                         .verb = WEIR_SETTLE_COMPLETE,
                                         .result = result,
                                         .result_size = strlen(result)};

    check_db(weir_flow_settle(graph->flow, &settlement, 1, &fixture->error), WEIR_OK);
    check_status(settlement.status, WEIR_OK);
}

/* ---- joins ----------------------------------------------------------------------------------- */

FLOW_TEST(quorum, is_reached_by_its_number_and_lets_the_others_run)
{
    struct weir_flow *flow = flow_fixture_open(fixture);
    struct weir_graph_join join;
    struct graph graph;

    graph_open(&graph, fixture, flow);
    join = join_of(&graph, 'd', WEIR_JOIN_QUORUM, 2, false);
    graph_join(&graph, "abcd", "a>d b>d c>d", &join, 1);
    graph_end(&graph, 'a', WEIR_SETTLE_COMPLETE);
    check_str(graph_state_of(&graph, 'd'), "waiting_children");
    graph_end(&graph, 'c', WEIR_SETTLE_COMPLETE);
    check_str(graph_states(&graph), "a:completed b:waiting c:completed d:waiting");
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_edge_group"
                                   " WHERE cancel_us > 0"),
              0);
    weir_flow_destroy(flow);
}

FLOW_TEST(quorum, that_is_reached_cancels_the_stragglers)
{
    struct weir_graph_join join;
    struct patrol patrol;
    struct graph graph;
    struct supervisor_fixture supervisor_fixture;

    supervisor_fixture_open(&supervisor_fixture, fixture);
    patrol_open(&patrol, fixture);
    graph_open(&graph, fixture, supervisor_fixture.flow);
    join = join_of(&graph, 'e', WEIR_JOIN_QUORUM, 2, true);
    graph_join(&graph, "abcde", "a>e b>e c>e d>e", &join, 1);
    graph_end(&graph, 'a', WEIR_SETTLE_COMPLETE);
    graph_end(&graph, 'b', WEIR_SETTLE_COMPLETE);
    wait_until(strcmp(graph_states(&graph),
                      "a:completed b:completed c:cancelled d:cancelled e:waiting") == 0);
    patrol_close(&patrol);
    supervisor_fixture_close(&supervisor_fixture);
}

FLOW_TEST(quorum, that_is_out_of_reach_cancels_those_who_try_in_vain)
{
    struct weir_graph_join join;
    struct patrol patrol;
    struct graph graph;
    struct supervisor_fixture supervisor_fixture;

    supervisor_fixture_open(&supervisor_fixture, fixture);
    patrol_open(&patrol, fixture);
    graph_open(&graph, fixture, supervisor_fixture.flow);
    join = join_of(&graph, 'd', WEIR_JOIN_QUORUM, 3, true);
    graph_join(&graph, "abcd", "a>d b>d c>d", &join, 1);
    graph_end(&graph, 'a', WEIR_SETTLE_FAIL);
    wait_until(
        strcmp(graph_states(&graph), "a:failed b:cancelled c:cancelled d:skipped") == 0);
    check_str(
        flow_fixture_see(fixture, supervisor_fixture.flow, graph_member(&graph, 'b'))
            .failure,
        "sibling_quorum_impossible");
    check_str(graph_state(&graph), "failed");
    patrol_close(&patrol);
    supervisor_fixture_close(&supervisor_fixture);
}

/* Five joins that are decided, each with a loser. */
FLOW_TEST(remaining, of_many_joins_are_all_cancelled)
{
    static const char *const LOSERS = "bdfhj";
    struct weir_graph_join joins[5];
    struct patrol patrol;
    struct graph graph;
    struct supervisor_fixture supervisor_fixture;

    supervisor_fixture_open(&supervisor_fixture, fixture);
    graph_open(&graph, fixture, supervisor_fixture.flow);
    for (size_t i = 0; i < 5; i++)
        joins[i] = join_of(&graph, (char)('k' + i), WEIR_JOIN_ANY, 0, true);
    graph_join(&graph, "abcdefghijklmno", "a>k b>k c>l d>l e>m f>m g>n h>n i>o j>o",
               joins, 5);
    for (const char *winner = "acegi"; *winner != '\0'; winner++)
        graph_end(&graph, *winner, WEIR_SETTLE_COMPLETE);
    patrol_open(&patrol, fixture); /* nobody was there when they were decided */
    for (const char *loser = LOSERS; *loser != '\0'; loser++)
        wait_until(strcmp(graph_state_of(&graph, *loser), "cancelled") == 0);
    wait_until(fixture_ask(fixture, "SELECT count(*) FROM weir_edge_group"
                                    " WHERE cancel_us > 0") == 0);
    patrol_close(&patrol);
    supervisor_fixture_close(&supervisor_fixture);
}

/* ---- fan-out --------------------------------------------------------------------------------- */

struct fan {
    struct graph graph;
    struct weir_execution_id ids[FAN + 2]; /* the first, those behind it, the last */
};

static void fan_open(struct fan *self, struct fixture *fixture, struct weir_flow *flow,
                     enum weir_join policy, uint32_t quorum)
{
    struct weir_execution_draft drafts[FAN + 2];
    struct weir_graph_edge edges[2 * FAN];
    struct weir_graph_join join = {
        .policy = policy, .quorum = quorum, .cancel_remaining = true};
    struct weir_graph_extension extension = {.members = drafts,
                                             .member_count = FAN + 2,
                                             .edges = edges,
                                             .edge_count = (size_t)2 * FAN,
                                             .joins = &join,
                                             .join_count = 1,
                                             .revision = -1};

    graph_open(&self->graph, fixture, flow);
    weir_graph_mint(flow, &self->graph.id, self->ids, FAN + 2);
    for (size_t i = 0; i < FAN + 2; i++)
        drafts[i] = (struct weir_execution_draft){.id = &self->ids[i],
                                                  .lane = i == 0         ? "first"
                                                          : i == FAN + 1 ? "last"
                                                                         : "between",
                                                  .kind = "step"};
    for (size_t i = 0; i < FAN; i++) {
        edges[2 * i] =
            (struct weir_graph_edge){.from = self->ids[0], .to = self->ids[i + 1]};
        edges[2 * i + 1] =
            (struct weir_graph_edge){.from = self->ids[i + 1], .to = self->ids[FAN + 1]};
    }
    join.to = self->ids[FAN + 1];
    check_db(
        weir_graph_extend(flow, NULL, &self->graph.id, &extension, NULL, &fixture->error),
        WEIR_OK);
}

static void end_one_of(struct fixture *fixture, struct weir_flow *flow, const char *lane)
{
    struct weir_claim claim = flow_fixture_claim(fixture, flow, lane, "anna");

    flow_fixture_settle(fixture, flow, &claim, WEIR_SETTLE_COMPLETE);
}

FLOW_TEST(fan_out, of_fifty_lets_all_begin_and_joins_them_once)
{
    struct weir_flow *flow = flow_fixture_open(fixture);
    struct fan fan;

    fan_open(&fan, fixture, flow, WEIR_JOIN_ALL, 0);
    end_one_of(fixture, flow, "first");
    check_int(graph_info(&fan.graph).in_state[WEIR_STATE_WAITING], FAN);
    for (size_t i = 0; i < FAN; i++)
        end_one_of(fixture, flow, "between");
    end_one_of(fixture, flow, "last");
    check_int(flow_fixture_attempts(fixture, flow, &fan.ids[FAN + 1]).count, 1);
    check_str(graph_state(&fan.graph), "completed");
    weir_flow_destroy(flow);
}

FLOW_TEST(fan_out, of_fifty_ends_with_its_quorum)
{
    struct patrol patrol;
    struct supervisor_fixture supervisor_fixture;
    struct fan fan;

    supervisor_fixture_open(&supervisor_fixture, fixture);
    patrol_open(&patrol, fixture);
    fan_open(&fan, fixture, supervisor_fixture.flow, WEIR_JOIN_QUORUM, 3);
    end_one_of(fixture, supervisor_fixture.flow, "first");
    for (size_t i = 0; i < 3; i++)
        end_one_of(fixture, supervisor_fixture.flow, "between");
    wait_until(graph_info(&fan.graph).in_state[WEIR_STATE_CANCELLED] == FAN - 3);
    end_one_of(fixture, supervisor_fixture.flow, "last");
    check_str(graph_state(&fan.graph), "completed");
    patrol_close(&patrol);
    supervisor_fixture_close(&supervisor_fixture);
}

/* ---- data ------------------------------------------------------------------------------------ */

static size_t input_size_of(struct graph *graph, char letter)
{
    struct fixture *fixture = graph->fixture;
    const char *const lanes[] = {(char[]){letter, '\0'}};
    struct weir_claim_options options = flow_fixture_claimant(lanes, "anna");
    struct weir_claimed *claimed = NULL;
    size_t count = 0;
    size_t size;

    check_db(weir_flow_claim(graph->flow, &options, 1, &claimed, &count, &fixture->error),
             WEIR_OK);
    check_int(count, 1);
    size = claimed[0].input_size;
    weir_claimed_free(graph->flow, claimed);
    return size;
}

FLOW_TEST(data, that_is_empty_leaves_the_input_as_it_is)
{
    struct weir_flow *flow = flow_fixture_open(fixture);
    struct graph graph;

    graph_open(&graph, fixture, flow);
    graph_add(&graph, "abc", "a>c b>>c");
    end_with(&graph, 'a', "12345");
    end_with(&graph, 'b', "");
    check_int(input_size_of(&graph, 'c'), 0);
    weir_flow_destroy(flow);
}

FLOW_TEST(data, is_not_passed_to_what_has_ended)
{
    struct weir_flow *flow = flow_fixture_open(fixture);
    struct graph graph;

    graph_open(&graph, fixture, flow);
    graph_add(&graph, "abc", "a>c b>>c");
    graph_end(&graph, 'a', WEIR_SETTLE_FAIL);
    check_str(graph_state_of(&graph, 'c'), "skipped");
    end_with(&graph, 'b', "12345");
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_passed"), 0);
    weir_flow_destroy(flow);
}

/* ---- ends of all kinds ----------------------------------------------------------------------- */

FLOW_TEST(member, whose_deadline_is_over_skips_what_waits_for_it)
{
    struct weir_execution_draft draft = {.lane = "a", .kind = "step"};
    struct weir_graph_extension extension = {
        .members = &draft, .member_count = 1, .revision = -1};
    struct patrol patrol;
    struct graph graph;
    struct supervisor_fixture supervisor_fixture;

    supervisor_fixture_open(&supervisor_fixture, fixture);
    patrol_open(&patrol, fixture);
    graph_open(&graph, fixture, supervisor_fixture.flow);
    draft.deadline_ms = 50;
    draft.id = graph_member(&graph, 'a');
    check_db(weir_graph_extend(supervisor_fixture.flow, NULL, &graph.id, &extension, NULL,
                               &fixture->error),
             WEIR_OK);
    graph.there[0] = true;
    graph_add(&graph, "b", "a>b");
    wait_until(strcmp(graph_states(&graph), "a:expired b:skipped") == 0);
    check_str(graph_state(&graph), "failed");
    patrol_close(&patrol);
    supervisor_fixture_close(&supervisor_fixture);
}

FLOW_TEST(member, that_an_operator_cancels_skips_what_waits_for_it)
{
    struct weir_flow *flow = flow_fixture_open(fixture);
    struct graph graph;

    graph_open(&graph, fixture, flow);
    graph_add(&graph, "abc", "a>b b>c");
    check_db(weir_flow_cancel(flow, graph_member(&graph, 'a'), "no", &fixture->error),
             WEIR_OK);
    check_str(graph_states(&graph), "a:cancelled b:skipped c:skipped");
    weir_flow_destroy(flow);
}

FLOW_TEST(member, that_is_tried_again_has_not_ended)
{
    struct weir_flow *flow = flow_fixture_open(fixture);
    struct weir_execution_policy policy = supervisor_fixture_policy();
    struct weir_execution_draft draft = {.lane = "a", .kind = "step", .policy = &policy};
    struct weir_graph_extension extension = {
        .members = &draft, .member_count = 1, .revision = -1};
    struct graph graph;

    graph_open(&graph, fixture, flow);
    policy.retries_max = 1;
    policy.backoff_initial_ms = 0;
    draft.id = graph_member(&graph, 'a');
    check_db(weir_graph_extend(flow, NULL, &graph.id, &extension, NULL, &fixture->error),
             WEIR_OK);
    graph.there[0] = true;
    graph_add(&graph, "b", "a>b");
    graph_end(&graph, 'a', WEIR_SETTLE_FAIL);
    check_str(graph_state_of(&graph, 'b'), "waiting_children");
    graph_end(&graph, 'a', WEIR_SETTLE_COMPLETE);
    check_str(graph_states(&graph), "a:completed b:waiting");
    weir_flow_destroy(flow);
}

/* Messages of the queue of completions with this type. */
static int64_t told(struct fixture *fixture, const char *type)
{
    char sql[256];

    (void)snprintf(sql, sizeof sql,
                   "SELECT count(*) FROM weir_log l JOIN weir_queue q"
                   " ON l.pid / 64 = q.id WHERE q.name = 'flow.completion'"
                   " AND l.type = '%s'",
                   type);
    return fixture_ask(fixture, sql);
}

FLOW_TEST(cascade, tells_of_everything_that_it_ends)
{
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");
    struct weir_flow *flow = flow_fixture_open_with(fixture, fixture->db, outbox);
    struct graph graph;

    graph_open(&graph, fixture, flow);
    graph_add(&graph, "abcd", "a>b b>c c>d");
    graph_end(&graph, 'a', WEIR_SETTLE_FAIL);
    check_int(told(fixture, "failed"), 1);
    check_int(told(fixture, "skipped"), 3);
    weir_flow_destroy(flow);
    weir_outbox_destroy(outbox);
}

/* ---- reading --------------------------------------------------------------------------------- */

static void count_one(void *state, const struct weir_graph_info *info)
{
    (void)info;
    ++*(size_t *)state;
}

FLOW_TEST(flows, are_listed_page_by_page_from_the_newest)
{
    struct weir_flow *flow = flow_fixture_open(fixture);
    struct weir_graph_filter filter = {.count = 2};
    struct weir_graph_info newest = {.members = 0};
    struct graph graphs[3];
    size_t seen = 0;
    int64_t next = 0;

    for (size_t i = 0; i < 3; i++)
        graph_open(&graphs[i], fixture, flow);
    check_db(weir_graph_list(flow, &filter, count_one, &seen, &next, &fixture->error),
             WEIR_OK);
    check_int(seen, 2);
    filter.before = next;
    check_db(weir_graph_list(flow, &filter, count_one, &seen, &next, &fixture->error),
             WEIR_OK);
    check_int(seen, 3);
    filter = (struct weir_graph_filter){.count = 1};
    check_db(weir_graph_list(flow, &filter, graph_note, &newest, &next, &fixture->error),
             WEIR_OK);
    check(memcmp(&newest.id, &graphs[2].id, sizeof newest.id) == 0);
    weir_flow_destroy(flow);
}

static void note_edge(void *state, const struct weir_edge_info *info)
{
    ((size_t *)state)[info->state]++;
}

FLOW_TEST(edges, show_what_has_become_of_them)
{
    struct weir_flow *flow = flow_fixture_open(fixture);
    size_t in_state[4] = {0};
    struct graph graph;

    graph_open(&graph, fixture, flow);
    graph_add(&graph, "abcde", "a>d b>d c>d d>e");
    graph_end(&graph, 'a', WEIR_SETTLE_COMPLETE);
    graph_end(&graph, 'b', WEIR_SETTLE_FAIL);
    check_db(weir_graph_edges(flow, &graph.id, note_edge, in_state, &fixture->error),
             WEIR_OK);
    check_int(in_state[WEIR_EDGE_SUCCEEDED], 1);
    check_int(in_state[WEIR_EDGE_FAILED], 1);
    check_int(in_state[WEIR_EDGE_OPEN], 1);
    check_int(in_state[WEIR_EDGE_SKIPPED], 1);
    weir_flow_destroy(flow);
}

FLOW_TEST(flow, that_is_not_there_is_not_found)
{
    struct weir_flow *flow = flow_fixture_open(fixture);
    struct weir_graph_info info = {.members = 0};
    struct graph graph;
    size_t in_state[4] = {0};

    graph_open(&graph, fixture, flow);
    graph.id.uuid[15] ^= 1;
    weir_graph_mint(flow, &graph.id, graph.members, GRAPH_LETTERS);
    check_db(weir_graph_get(flow, &graph.id, graph_note, &info, &fixture->error),
             WEIR_NOT_FOUND);
    check_db(weir_graph_edges(flow, &graph.id, note_edge, in_state, &fixture->error),
             WEIR_NOT_FOUND);
    check_status(graph_try(&graph, "a", "", NULL, 0), WEIR_NOT_FOUND);
    check_db(
        weir_graph_cancel(flow, &graph.id, WEIR_CANCEL_ALL, "no", NULL, &fixture->error),
        WEIR_NOT_FOUND);
    weir_flow_destroy(flow);
}

FLOW_TEST(flow, that_is_made_again_is_the_same_one)
{
    struct weir_flow *flow = flow_fixture_open(fixture);
    struct weir_graph_draft draft = {.kind = "order"};
    struct weir_graph_id id;
    struct graph graph;

    graph_open(&graph, fixture, flow);
    draft.id = &graph.id;
    check_db(weir_graph_create(flow, &draft, &id, &fixture->error), WEIR_OK);
    check(memcmp(&id, &graph.id, sizeof id) == 0);
    draft.kind = "invoice";
    check_db(weir_graph_create(flow, &draft, &id, &fixture->error), WEIR_MISMATCH);
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_flow"), 1);
    weir_flow_destroy(flow);
}
