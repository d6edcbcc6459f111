/*
 * Cascades: what follows for a flow when one of its members has ended, in whatever way.
 */
#include "contract/flow/flow/graphs.h"
#include "contract/flow/reconcile/supervisor_fixture.h"
#include "kit/outbox/outbox_fixture.h"

enum { FAN = 50 };

static struct weir_flow_join join_of(struct flow *flow, char to, enum weir_join policy,
                                     uint32_t quorum, bool cancel_remaining)
{
    return (struct weir_flow_join){.to = *graph_member(flow, to),
                                   .policy = policy,
                                   .quorum = quorum,
                                   .cancel_remaining = cancel_remaining};
}

static void end_with(struct flow *flow, char letter, const char *result)
{
    struct fixture *fixture = flow->fixture;
    struct weir_settlement settlement = {.claim = graph_claim(flow, letter),
                                         .verb = WEIR_SETTLE_COMPLETE,
                                         .result = result,
                                         .result_size = strlen(result)};

    check_db(weir_execution_settle(flow->executions, &settlement, 1, &fixture->error),
             WEIR_OK);
    check_status(settlement.status, WEIR_OK);
}

/* ---- joins ------------------------------------------------------------------------- */

FLOW_TEST(quorum, is_reached_by_its_number_and_lets_the_others_run)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_flow_join join;
    struct flow flow;

    graph_open(&flow, fixture, executions);
    join = join_of(&flow, 'd', WEIR_JOIN_QUORUM, 2, false);
    graph_join(&flow, "abcd", "a>d b>d c>d", &join, 1);
    graph_end(&flow, 'a', WEIR_SETTLE_COMPLETE);
    check_str(graph_state_of(&flow, 'd'), "waiting_children");
    graph_end(&flow, 'c', WEIR_SETTLE_COMPLETE);
    check_str(graph_states(&flow), "a:completed b:waiting c:completed d:waiting");
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_edge_group"
                                   " WHERE cancel_us > 0"),
              0);
    weir_executions_destroy(executions);
}

FLOW_TEST(quorum, that_is_reached_cancels_the_stragglers)
{
    struct weir_flow_join join;
    struct patrol patrol;
    struct flow flow;
    struct supervisor_fixture supervisor_fixture;

    supervisor_fixture_open(&supervisor_fixture, fixture);
    patrol_open(&patrol, fixture);
    graph_open(&flow, fixture, supervisor_fixture.executions);
    join = join_of(&flow, 'e', WEIR_JOIN_QUORUM, 2, true);
    graph_join(&flow, "abcde", "a>e b>e c>e d>e", &join, 1);
    graph_end(&flow, 'a', WEIR_SETTLE_COMPLETE);
    graph_end(&flow, 'b', WEIR_SETTLE_COMPLETE);
    wait_until(strcmp(graph_states(&flow),
                      "a:completed b:completed c:cancelled d:cancelled e:waiting") == 0);
    patrol_close(&patrol);
    supervisor_fixture_close(&supervisor_fixture);
}

FLOW_TEST(quorum, that_is_out_of_reach_cancels_those_who_try_in_vain)
{
    struct weir_flow_join join;
    struct patrol patrol;
    struct flow flow;
    struct supervisor_fixture supervisor_fixture;

    supervisor_fixture_open(&supervisor_fixture, fixture);
    patrol_open(&patrol, fixture);
    graph_open(&flow, fixture, supervisor_fixture.executions);
    join = join_of(&flow, 'd', WEIR_JOIN_QUORUM, 3, true);
    graph_join(&flow, "abcd", "a>d b>d c>d", &join, 1);
    graph_end(&flow, 'a', WEIR_SETTLE_FAIL);
    wait_until(
        strcmp(graph_states(&flow), "a:failed b:cancelled c:cancelled d:skipped") == 0);
    check_str(
        flow_fixture_see(fixture, supervisor_fixture.executions, graph_member(&flow, 'b'))
            .failure,
        "sibling_quorum_impossible");
    check_str(graph_state(&flow), "failed");
    patrol_close(&patrol);
    supervisor_fixture_close(&supervisor_fixture);
}

/* Five joins that are decided, each with a loser. */
FLOW_TEST(remaining, of_many_joins_are_all_cancelled)
{
    static const char *const LOSERS = "bdfhj";
    struct weir_flow_join joins[5];
    struct patrol patrol;
    struct flow flow;
    struct supervisor_fixture supervisor_fixture;

    supervisor_fixture_open(&supervisor_fixture, fixture);
    graph_open(&flow, fixture, supervisor_fixture.executions);
    for (size_t i = 0; i < 5; i++)
        joins[i] = join_of(&flow, (char)('k' + i), WEIR_JOIN_ANY, 0, true);
    graph_join(&flow, "abcdefghijklmno", "a>k b>k c>l d>l e>m f>m g>n h>n i>o j>o", joins,
               5);
    for (const char *winner = "acegi"; *winner != '\0'; winner++)
        graph_end(&flow, *winner, WEIR_SETTLE_COMPLETE);
    patrol_open(&patrol, fixture); /* nobody was there when they were decided */
    for (const char *loser = LOSERS; *loser != '\0'; loser++)
        wait_until(strcmp(graph_state_of(&flow, *loser), "cancelled") == 0);
    wait_until(fixture_ask(fixture, "SELECT count(*) FROM weir_edge_group"
                                    " WHERE cancel_us > 0") == 0);
    patrol_close(&patrol);
    supervisor_fixture_close(&supervisor_fixture);
}

/* ---- fan-out ----------------------------------------------------------------------- */

struct fan {
    struct flow flow;
    struct weir_execution_id ids[FAN + 2]; /* the first, those behind it, the last */
};

static void fan_open(struct fan *self, struct fixture *fixture,
                     struct weir_executions *executions, enum weir_join policy,
                     uint32_t quorum)
{
    struct weir_execution_draft drafts[FAN + 2];
    struct weir_flow_edge edges[2 * FAN];
    struct weir_flow_join join = {
        .policy = policy, .quorum = quorum, .cancel_remaining = true};
    struct weir_flow_extension extension = {.members = drafts,
                                            .member_count = FAN + 2,
                                            .edges = edges,
                                            .edge_count = (size_t)2 * FAN,
                                            .joins = &join,
                                            .join_count = 1,
                                            .revision = -1};

    graph_open(&self->flow, fixture, executions);
    weir_flow_mint(executions, &self->flow.id, self->ids, FAN + 2);
    for (size_t i = 0; i < FAN + 2; i++)
        drafts[i] = (struct weir_execution_draft){.id = &self->ids[i],
                                                  .lane = i == 0         ? "first"
                                                          : i == FAN + 1 ? "last"
                                                                         : "between",
                                                  .kind = "step"};
    for (size_t i = 0; i < FAN; i++) {
        edges[2 * i] =
            (struct weir_flow_edge){.from = self->ids[0], .to = self->ids[i + 1]};
        edges[2 * i + 1] =
            (struct weir_flow_edge){.from = self->ids[i + 1], .to = self->ids[FAN + 1]};
    }
    join.to = self->ids[FAN + 1];
    check_db(weir_flow_extend(executions, NULL, &self->flow.id, &extension, NULL,
                              &fixture->error),
             WEIR_OK);
}

static void end_one_of(struct fixture *fixture, struct weir_executions *executions,
                       const char *lane)
{
    struct weir_claim claim = flow_fixture_claim(fixture, executions, lane, "anna");

    flow_fixture_settle(fixture, executions, &claim, WEIR_SETTLE_COMPLETE);
}

FLOW_TEST(fan_out, of_fifty_lets_all_begin_and_joins_them_once)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct fan fan;

    fan_open(&fan, fixture, executions, WEIR_JOIN_ALL, 0);
    end_one_of(fixture, executions, "first");
    check_int(graph_info(&fan.flow).in_state[WEIR_STATE_WAITING], FAN);
    for (size_t i = 0; i < FAN; i++)
        end_one_of(fixture, executions, "between");
    end_one_of(fixture, executions, "last");
    check_int(flow_fixture_attempts(fixture, executions, &fan.ids[FAN + 1]).count, 1);
    check_str(graph_state(&fan.flow), "completed");
    weir_executions_destroy(executions);
}

FLOW_TEST(fan_out, of_fifty_ends_with_its_quorum)
{
    struct patrol patrol;
    struct supervisor_fixture supervisor_fixture;
    struct fan fan;

    supervisor_fixture_open(&supervisor_fixture, fixture);
    patrol_open(&patrol, fixture);
    fan_open(&fan, fixture, supervisor_fixture.executions, WEIR_JOIN_QUORUM, 3);
    end_one_of(fixture, supervisor_fixture.executions, "first");
    for (size_t i = 0; i < 3; i++)
        end_one_of(fixture, supervisor_fixture.executions, "between");
    wait_until(graph_info(&fan.flow).in_state[WEIR_STATE_CANCELLED] == FAN - 3);
    end_one_of(fixture, supervisor_fixture.executions, "last");
    check_str(graph_state(&fan.flow), "completed");
    patrol_close(&patrol);
    supervisor_fixture_close(&supervisor_fixture);
}

/* ---- data -------------------------------------------------------------------------- */

static size_t input_size_of(struct flow *flow, char letter)
{
    struct fixture *fixture = flow->fixture;
    const char *const lanes[] = {(char[]){letter, '\0'}};
    struct weir_claim_options options = flow_fixture_claimant(lanes, "anna");
    struct weir_claimed *claimed = NULL;
    size_t count = 0;
    size_t size;

    check_db(weir_execution_claim(flow->executions, &options, 1, &claimed, &count,
                                  &fixture->error),
             WEIR_OK);
    check_int(count, 1);
    size = claimed[0].input_size;
    weir_claimed_free(flow->executions, claimed);
    return size;
}

FLOW_TEST(data, that_is_empty_leaves_the_input_as_it_is)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct flow flow;

    graph_open(&flow, fixture, executions);
    graph_add(&flow, "abc", "a>c b>>c");
    end_with(&flow, 'a', "12345");
    end_with(&flow, 'b', "");
    check_int(input_size_of(&flow, 'c'), 0);
    weir_executions_destroy(executions);
}

FLOW_TEST(data, is_not_passed_to_what_has_ended)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct flow flow;

    graph_open(&flow, fixture, executions);
    graph_add(&flow, "abc", "a>c b>>c");
    graph_end(&flow, 'a', WEIR_SETTLE_FAIL);
    check_str(graph_state_of(&flow, 'c'), "skipped");
    end_with(&flow, 'b', "12345");
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_passed"), 0);
    weir_executions_destroy(executions);
}

/* ---- ends of all kinds ------------------------------------------------------------- */

FLOW_TEST(member, whose_deadline_is_over_skips_what_waits_for_it)
{
    struct weir_execution_draft draft = {.lane = "a", .kind = "step"};
    struct weir_flow_extension extension = {
        .members = &draft, .member_count = 1, .revision = -1};
    struct patrol patrol;
    struct flow flow;
    struct supervisor_fixture supervisor_fixture;

    supervisor_fixture_open(&supervisor_fixture, fixture);
    patrol_open(&patrol, fixture);
    graph_open(&flow, fixture, supervisor_fixture.executions);
    draft.deadline_ms = 50;
    draft.id = graph_member(&flow, 'a');
    check_db(weir_flow_extend(supervisor_fixture.executions, NULL, &flow.id, &extension,
                              NULL, &fixture->error),
             WEIR_OK);
    flow.there[0] = true;
    graph_add(&flow, "b", "a>b");
    wait_until(strcmp(graph_states(&flow), "a:expired b:skipped") == 0);
    check_str(graph_state(&flow), "failed");
    patrol_close(&patrol);
    supervisor_fixture_close(&supervisor_fixture);
}

FLOW_TEST(member, that_an_operator_cancels_skips_what_waits_for_it)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct flow flow;

    graph_open(&flow, fixture, executions);
    graph_add(&flow, "abc", "a>b b>c");
    check_db(weir_execution_cancel(executions, graph_member(&flow, 'a'), "no",
                                   &fixture->error),
             WEIR_OK);
    check_str(graph_states(&flow), "a:cancelled b:skipped c:skipped");
    weir_executions_destroy(executions);
}

FLOW_TEST(member, that_is_tried_again_has_not_ended)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_policy policy = supervisor_fixture_policy();
    struct weir_execution_draft draft = {.lane = "a", .kind = "step", .policy = &policy};
    struct weir_flow_extension extension = {
        .members = &draft, .member_count = 1, .revision = -1};
    struct flow flow;

    graph_open(&flow, fixture, executions);
    policy.retries_max = 1;
    policy.backoff_initial_ms = 0;
    draft.id = graph_member(&flow, 'a');
    check_db(
        weir_flow_extend(executions, NULL, &flow.id, &extension, NULL, &fixture->error),
        WEIR_OK);
    flow.there[0] = true;
    graph_add(&flow, "b", "a>b");
    graph_end(&flow, 'a', WEIR_SETTLE_FAIL);
    check_str(graph_state_of(&flow, 'b'), "waiting_children");
    graph_end(&flow, 'a', WEIR_SETTLE_COMPLETE);
    check_str(graph_states(&flow), "a:completed b:waiting");
    weir_executions_destroy(executions);
}

/* Messages of the queue of completions with this type. */
static int64_t told(struct fixture *fixture, const char *type)
{
    char sql[256];

    (void)snprintf(sql, sizeof sql,
                   "SELECT count(*) FROM weir_log l JOIN weir_queue q"
                   " ON l.pid / 64 = q.id WHERE q.name = 'execution.completion'"
                   " AND l.type = '%s'",
                   type);
    return fixture_ask(fixture, sql);
}

FLOW_TEST(cascade, tells_of_everything_that_it_ends)
{
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");
    struct weir_executions *executions =
        flow_fixture_open_with(fixture, fixture->db, outbox);
    struct flow flow;

    graph_open(&flow, fixture, executions);
    graph_add(&flow, "abcd", "a>b b>c c>d");
    graph_end(&flow, 'a', WEIR_SETTLE_FAIL);
    check_int(told(fixture, "failed"), 1);
    check_int(told(fixture, "skipped"), 3);
    weir_executions_destroy(executions);
    weir_outbox_destroy(outbox);
}

/* ---- reading ----------------------------------------------------------------------- */

static void count_one(void *state, const struct weir_flow_info *info)
{
    (void)info;
    ++*(size_t *)state;
}

FLOW_TEST(flows, are_listed_page_by_page_from_the_newest)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_flow_filter filter = {.count = 2};
    struct weir_flow_info newest = {.members = 0};
    struct flow flows[3];
    size_t seen = 0;
    int64_t next = 0;

    for (size_t i = 0; i < 3; i++)
        graph_open(&flows[i], fixture, executions);
    check_db(
        weir_flow_list(executions, &filter, count_one, &seen, &next, &fixture->error),
        WEIR_OK);
    check_int(seen, 2);
    filter.before = next;
    check_db(
        weir_flow_list(executions, &filter, count_one, &seen, &next, &fixture->error),
        WEIR_OK);
    check_int(seen, 3);
    filter = (struct weir_flow_filter){.count = 1};
    check_db(
        weir_flow_list(executions, &filter, graph_note, &newest, &next, &fixture->error),
        WEIR_OK);
    check(memcmp(&newest.id, &flows[2].id, sizeof newest.id) == 0);
    weir_executions_destroy(executions);
}

static void note_edge(void *state, const struct weir_edge_info *info)
{
    ((size_t *)state)[info->state]++;
}

FLOW_TEST(edges, show_what_has_become_of_them)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    size_t in_state[4] = {0};
    struct flow flow;

    graph_open(&flow, fixture, executions);
    graph_add(&flow, "abcde", "a>d b>d c>d d>e");
    graph_end(&flow, 'a', WEIR_SETTLE_COMPLETE);
    graph_end(&flow, 'b', WEIR_SETTLE_FAIL);
    check_db(weir_flow_edges(executions, &flow.id, note_edge, in_state, &fixture->error),
             WEIR_OK);
    check_int(in_state[WEIR_EDGE_SUCCEEDED], 1);
    check_int(in_state[WEIR_EDGE_FAILED], 1);
    check_int(in_state[WEIR_EDGE_OPEN], 1);
    check_int(in_state[WEIR_EDGE_SKIPPED], 1);
    weir_executions_destroy(executions);
}

FLOW_TEST(flow, that_is_not_there_is_not_found)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_flow_info info = {.members = 0};
    struct flow flow;
    size_t in_state[4] = {0};

    graph_open(&flow, fixture, executions);
    flow.id.uuid[15] ^= 1;
    weir_flow_mint(executions, &flow.id, flow.members, GRAPH_LETTERS);
    check_db(weir_flow_get(executions, &flow.id, graph_note, &info, &fixture->error),
             WEIR_NOT_FOUND);
    check_db(weir_flow_edges(executions, &flow.id, note_edge, in_state, &fixture->error),
             WEIR_NOT_FOUND);
    check_status(graph_try(&flow, "a", "", NULL, 0), WEIR_NOT_FOUND);
    check_db(weir_flow_cancel(executions, &flow.id, WEIR_CANCEL_ALL, "no", NULL,
                              &fixture->error),
             WEIR_NOT_FOUND);
    weir_executions_destroy(executions);
}

FLOW_TEST(flow, that_is_made_again_is_the_same_one)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_flow_draft draft = {.kind = "order"};
    struct weir_flow_id id;
    struct flow flow;

    graph_open(&flow, fixture, executions);
    draft.id = &flow.id;
    check_db(weir_flow_create(executions, &draft, &id, &fixture->error), WEIR_OK);
    check(memcmp(&id, &flow.id, sizeof id) == 0);
    draft.kind = "invoice";
    check_db(weir_flow_create(executions, &draft, &id, &fixture->error), WEIR_MISMATCH);
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_flow"), 1);
    weir_executions_destroy(executions);
}
