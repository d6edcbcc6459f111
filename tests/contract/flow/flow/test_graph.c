/*
 * Flows: what waits for what, who decides, and how a flow ends.
 */
#include "contract/flow/flow/graphs.h"
#include "contract/flow/reconcile/supervisor_fixture.h"

static struct weir_flow_join join_of(struct flow *flow, char to, enum weir_join policy,
                                     uint32_t quorum, bool cancel_remaining)
{
    return (struct weir_flow_join){.to = *graph_member(flow, to),
                                   .policy = policy,
                                   .quorum = quorum,
                                   .cancel_remaining = cancel_remaining};
}

/* ---- joins ------------------------------------------------------------------------- */

FLOW_TEST(all, waits_for_every_one)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct flow flow;

    graph_open(&flow, fixture, executions);
    graph_add(&flow, "abcd", "a>d b>d c>d");
    check_str(graph_states(&flow), "a:waiting b:waiting c:waiting d:waiting_children");
    graph_end(&flow, 'a', WEIR_SETTLE_COMPLETE);
    graph_end(&flow, 'b', WEIR_SETTLE_COMPLETE);
    check_str(graph_state_of(&flow, 'd'), "waiting_children");
    check_str(graph_state(&flow), "running");
    graph_end(&flow, 'c', WEIR_SETTLE_COMPLETE);
    check_str(graph_state_of(&flow, 'd'), "waiting");
    graph_end(&flow, 'd', WEIR_SETTLE_COMPLETE);
    check_str(graph_state(&flow), "completed");
    weir_executions_destroy(executions);
}

FLOW_TEST(all, is_impossible_with_the_first_failure_and_what_follows_is_skipped)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct flow flow;

    graph_open(&flow, fixture, executions);
    graph_add(&flow, "abcde", "a>c b>c c>d d>e");
    graph_end(&flow, 'a', WEIR_SETTLE_FAIL);
    check_str(graph_states(&flow), "a:failed b:waiting c:skipped d:skipped e:skipped");
    graph_end(&flow, 'b', WEIR_SETTLE_COMPLETE);
    check_str(graph_state(&flow), "failed");
    check_str(flow_fixture_see(fixture, executions, graph_member(&flow, 'e')).failure,
              "dependency_impossible");
    weir_executions_destroy(executions);
}

FLOW_TEST(any, is_satisfied_by_one_and_lets_the_others_run)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_flow_join join;
    struct flow flow;

    graph_open(&flow, fixture, executions);
    join = join_of(&flow, 'd', WEIR_JOIN_ANY, 0, false);
    graph_join(&flow, "abcd", "a>d b>d c>d", &join, 1);
    graph_end(&flow, 'a', WEIR_SETTLE_FAIL);
    check_str(graph_state_of(&flow, 'd'), "waiting_children");
    graph_end(&flow, 'b', WEIR_SETTLE_COMPLETE);
    check_str(graph_states(&flow), "a:failed b:completed c:waiting d:waiting");
    graph_end(&flow, 'c', WEIR_SETTLE_COMPLETE); /* decided once */
    check_str(graph_state_of(&flow, 'd'), "waiting");
    weir_executions_destroy(executions);
}

FLOW_TEST(quorum, that_can_not_be_reached_any_more_skips)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_flow_join join;
    struct flow flow;

    graph_open(&flow, fixture, executions);
    join = join_of(&flow, 'f', WEIR_JOIN_QUORUM, 3, false);
    graph_join(&flow, "abcdef", "a>f b>f c>f d>f e>f", &join, 1);
    graph_end(&flow, 'a', WEIR_SETTLE_FAIL);
    graph_end(&flow, 'b', WEIR_SETTLE_ABANDON);
    check_str(graph_state_of(&flow, 'f'), "waiting_children");
    graph_end(&flow, 'c', WEIR_SETTLE_FAIL);
    check_str(graph_state_of(&flow, 'f'), "skipped");
    weir_executions_destroy(executions);
}

FLOW_TEST(remaining, are_cancelled_by_the_dispatcher_when_it_is_decided)
{
    struct weir_flow_join join;
    struct weir_claim loser;
    struct patrol patrol;
    struct flow flow;
    struct supervisor_fixture supervisor_fixture;

    supervisor_fixture_open(&supervisor_fixture, fixture);
    patrol_open(&patrol, fixture);
    graph_open(&flow, fixture, supervisor_fixture.executions);
    join = join_of(&flow, 'd', WEIR_JOIN_ANY, 0, true);
    graph_join(&flow, "abcd", "a>d b>d c>d", &join, 1);
    loser = graph_claim(&flow, 'a');
    graph_end(&flow, 'b', WEIR_SETTLE_COMPLETE);
    wait_until(strcmp(graph_states(&flow),
                      "a:cancelled b:completed c:cancelled d:waiting") == 0);
    check_status(flow_fixture_say(fixture, supervisor_fixture.executions, &loser,
                                  WEIR_SETTLE_COMPLETE)
                     .status,
                 WEIR_FENCED);
    check_str(
        flow_fixture_see(fixture, supervisor_fixture.executions, graph_member(&flow, 'a'))
            .failure,
        "sibling_quorum_satisfied");
    graph_end(&flow, 'd', WEIR_SETTLE_COMPLETE);
    check_str(graph_state(&flow), "completed"); /* they are no failure of it */
    patrol_close(&patrol);
    supervisor_fixture_close(&supervisor_fixture);
}

FLOW_TEST(data, is_passed_from_one_to_the_next)
{
    static const char *const LANES[] = {"c"};
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_claim_options options = flow_fixture_claimant(LANES, "anna");
    struct weir_claimed *claimed = NULL;
    struct flow flow;
    size_t count = 0;

    graph_open(&flow, fixture, executions);
    graph_add(&flow, "abc", "a>c b>>c");
    graph_end(&flow, 'b', WEIR_SETTLE_COMPLETE);
    graph_end(&flow, 'a', WEIR_SETTLE_COMPLETE);
    check_db(
        weir_execution_claim(executions, &options, 1, &claimed, &count, &fixture->error),
        WEIR_OK);
    check_int(count, 1);
    check_int(claimed[0].input_size, 2);
    check(memcmp(claimed[0].input, "ok", 2) == 0);
    weir_claimed_free(executions, claimed);
    weir_executions_destroy(executions);
}

/* ---- extending --------------------------------------------------------------------- */

FLOW_TEST(extend, by_what_has_ended_counts_at_once)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct flow flow;

    graph_open(&flow, fixture, executions);
    graph_add(&flow, "ab", "");
    graph_end(&flow, 'a', WEIR_SETTLE_COMPLETE);
    graph_end(&flow, 'b', WEIR_SETTLE_FAIL);
    check_str(graph_state(&flow), "failed");
    graph_add(&flow, "cd", "a>c b>d");
    check_str(graph_states(&flow), "a:completed b:failed c:waiting d:skipped");
    check_str(graph_state(&flow), "running"); /* it is open again */
    weir_executions_destroy(executions);
}

FLOW_TEST(extend, makes_old_members_wait_that_have_not_begun)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct flow flow;

    graph_open(&flow, fixture, executions);
    graph_add(&flow, "ab", "");
    graph_add(&flow, "c", "c>a");
    check_str(graph_states(&flow), "a:waiting_children b:waiting c:waiting");
    (void)graph_claim(&flow, 'b');
    check_status(graph_try(&flow, "", "c>b", NULL, 0), WEIR_MISMATCH);
    weir_executions_destroy(executions);
}

FLOW_TEST(extend, twice_is_once)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct flow flow;

    graph_open(&flow, fixture, executions);
    graph_add(&flow, "abc", "a>c b>c");
    graph_add(&flow, "abc", "a>c b>c");
    check_int(graph_info(&flow).members, 3);
    check_int(graph_info(&flow).edges, 2);
    check_int(graph_info(&flow).revision, 1);
    graph_end(&flow, 'a', WEIR_SETTLE_COMPLETE);
    graph_end(&flow, 'b', WEIR_SETTLE_COMPLETE);
    check_str(graph_state_of(&flow, 'c'), "waiting");
    weir_executions_destroy(executions);
}

FLOW_TEST(edge, that_is_there_and_passes_data_otherwise_is_refused)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct flow flow;

    graph_open(&flow, fixture, executions);
    graph_add(&flow, "abc", "a>c b>>c");
    graph_add(&flow, "", "b>>c a>c");
    check_status(graph_try(&flow, "d", "a>>c", NULL, 0), WEIR_MISMATCH);
    check_status(graph_try(&flow, "d", "b>c a>d", NULL, 0), WEIR_MISMATCH);
    check_status(graph_try(&flow, "d", "a>d a>>d", NULL, 0), WEIR_MISMATCH);
    check_int(graph_info(&flow).members, 3);
    check_int(graph_info(&flow).edges, 2);
    weir_executions_destroy(executions);
}

FLOW_TEST(circle, is_refused_and_changes_nothing)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct flow flow;

    graph_open(&flow, fixture, executions);
    check_status(graph_try(&flow, "abc", "a>b b>c c>a", NULL, 0), WEIR_CYCLE);
    check_int(graph_info(&flow).members, 0);
    graph_add(&flow, "abc", "a>b b>c");
    check_status(graph_try(&flow, "d", "c>d d>a", NULL, 0), WEIR_CYCLE);
    check_status(graph_try(&flow, "", "b>b", NULL, 0), WEIR_INVALID);
    check_int(graph_info(&flow).members, 3);
    check_int(graph_info(&flow).edges, 2);
    check_int(graph_info(&flow).revision, 1);
    weir_executions_destroy(executions);
}

/* `a` and `b` are the older ones, and behind it. */
FLOW_TEST(circle, is_told_by_one_who_is_on_it)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    char text[WEIR_EXECUTION_ID_TEXT_SIZE];
    struct flow flow;

    graph_open(&flow, fixture, executions);
    graph_add(&flow, "ab", "a>b");
    check_status(graph_try(&flow, "cd", "c>d d>c d>a", NULL, 0), WEIR_CYCLE);
    check(strstr(fixture->error.text,
                 weir_execution_id_format(graph_member(&flow, 'c'), text)) != NULL ||
          strstr(fixture->error.text,
                 weir_execution_id_format(graph_member(&flow, 'd'), text)) != NULL);
    weir_executions_destroy(executions);
}

FLOW_TEST(extend, by_lists_that_are_not_there_is_refused)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_flow_extension edges = {.edge_count = 2, .revision = -1};
    struct weir_flow_extension joins = {.join_count = 2, .revision = -1};
    struct flow flow;

    graph_open(&flow, fixture, executions);
    check_db(weir_flow_extend(executions, NULL, &flow.id, &edges, NULL, &fixture->error),
             WEIR_INVALID);
    check(strstr(fixture->error.text, "edges is NULL, must be a list") != NULL);
    check_db(weir_flow_extend(executions, NULL, &flow.id, &joins, NULL, &fixture->error),
             WEIR_INVALID);
    check(strstr(fixture->error.text, "joins is NULL, must be a list") != NULL);
    weir_executions_destroy(executions);
}

FLOW_TEST(stranger, is_refused)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct flow flow, other;

    graph_open(&flow, fixture, executions);
    graph_open(&other, fixture, executions);
    graph_add(&flow, "a", "");
    graph_add(&other, "b", "");
    *graph_member(&flow, 'b') = *graph_member(&other, 'b');
    check_status(graph_try(&flow, "", "a>b", NULL, 0), WEIR_FOREIGN);
    check_status(graph_try(&flow, "", "a>c", NULL, 0), WEIR_FOREIGN);
    weir_executions_destroy(executions);
}

FLOW_TEST(revision, that_is_stale_is_refused)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_flow_extension extension = {.revision = 0};
    struct weir_execution_draft draft = {.lane = "x", .kind = "step"};
    struct flow flow;
    int64_t revision = 0;

    graph_open(&flow, fixture, executions);
    graph_add(&flow, "a", "");
    draft.id = graph_member(&flow, 'b');
    extension.members = &draft;
    extension.member_count = 1;
    check_db(weir_flow_extend(executions, NULL, &flow.id, &extension, &revision,
                              &fixture->error),
             WEIR_STALE);
    extension.revision = 1;
    check_db(weir_flow_extend(executions, NULL, &flow.id, &extension, &revision,
                              &fixture->error),
             WEIR_OK);
    check_int(revision, 2);
    weir_executions_destroy(executions);
}

FLOW_TEST(join, is_fixed_with_its_first_edge)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_flow_join join;
    struct flow flow;

    graph_open(&flow, fixture, executions);
    graph_add(&flow, "abc", "a>c");
    join = join_of(&flow, 'c', WEIR_JOIN_ANY, 0, false);
    check_status(graph_try(&flow, "", "b>c", &join, 1), WEIR_MISMATCH);
    join = join_of(&flow, 'c', WEIR_JOIN_QUORUM, 0, false);
    check_status(graph_try(&flow, "", "", &join, 1), WEIR_INVALID);
    join = join_of(&flow, 'c', (enum weir_join)7, 0, false);
    check_status(graph_try(&flow, "", "", &join, 1), WEIR_INVALID);
    weir_executions_destroy(executions);
}

/* ---- the end ----------------------------------------------------------------------- */

FLOW_TEST(cancel, of_a_flow_ends_its_members_as_the_policy_says)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct flow flow;
    size_t count = 0;

    graph_open(&flow, fixture, executions);
    graph_add(&flow, "abcd", "a>d b>d");
    graph_end(&flow, 'a', WEIR_SETTLE_COMPLETE);
    (void)graph_claim(&flow, 'b');
    check_db(weir_flow_cancel(executions, &flow.id, WEIR_CANCEL_PENDING, "no", &count,
                              &fixture->error),
             WEIR_OK);
    check_int(count, 2);
    check_str(graph_states(&flow), "a:completed b:active c:cancelled d:cancelled");
    check_str(graph_state(&flow), "cancelled");
    check_status(graph_try(&flow, "e", "", NULL, 0), WEIR_CLOSED);
    check_db(weir_flow_cancel(executions, &flow.id, WEIR_CANCEL_ALL, "no", &count,
                              &fixture->error),
             WEIR_OK);
    check_int(count, 0); /* it has ended */
    check_str(graph_state_of(&flow, 'b'), "active");
    weir_executions_destroy(executions);
}

FLOW_TEST(cancel, of_all_takes_them_from_their_workers)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_claim claim;
    struct flow flow;
    size_t count = 0;

    graph_open(&flow, fixture, executions);
    graph_add(&flow, "abc", "a>c b>c");
    claim = graph_claim(&flow, 'a');
    check_db(weir_flow_cancel(executions, &flow.id, WEIR_CANCEL_ALL, "no", &count,
                              &fixture->error),
             WEIR_OK);
    check_str(graph_states(&flow), "a:cancelled b:cancelled c:cancelled");
    check_status(
        flow_fixture_say(fixture, executions, &claim, WEIR_SETTLE_COMPLETE).status,
        WEIR_FENCED);
    check_int(graph_info(&flow).in_state[WEIR_STATE_CANCELLED], 3);
    weir_executions_destroy(executions);
}

FLOW_TEST(replay, of_what_was_skipped_waits_for_what_is_replayed_behind_it)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct flow flow;

    graph_open(&flow, fixture, executions);
    graph_add(&flow, "abc", "a>c b>c");
    graph_end(&flow, 'a', WEIR_SETTLE_COMPLETE);
    graph_end(&flow, 'b', WEIR_SETTLE_FAIL);
    check_str(graph_state_of(&flow, 'c'), "skipped");
    check_db(weir_execution_replay(executions, graph_member(&flow, 'c'), &fixture->error),
             WEIR_OK);
    check_str(graph_states(&flow), "a:completed b:failed c:waiting_children");
    check_db(weir_execution_replay(executions, graph_member(&flow, 'b'), &fixture->error),
             WEIR_OK);
    graph_end(&flow, 'b', WEIR_SETTLE_COMPLETE);
    check_str(graph_state_of(&flow, 'c'), "waiting");
    graph_end(&flow, 'c', WEIR_SETTLE_COMPLETE);
    check_str(graph_state(&flow), "completed");
    weir_executions_destroy(executions);
}

FLOW_TEST(replay, of_what_was_skipped_goes_on_when_the_other_has_succeeded_before)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct flow flow;

    graph_open(&flow, fixture, executions);
    graph_add(&flow, "ac", "a>c");
    graph_end(&flow, 'a', WEIR_SETTLE_FAIL);
    check_db(weir_execution_replay(executions, graph_member(&flow, 'a'), &fixture->error),
             WEIR_OK);
    graph_end(&flow, 'a', WEIR_SETTLE_COMPLETE);
    check_str(graph_state_of(&flow, 'c'), "skipped");
    check_db(weir_execution_replay(executions, graph_member(&flow, 'c'), &fixture->error),
             WEIR_OK);
    check_str(graph_state_of(&flow, 'c'), "waiting");
    weir_executions_destroy(executions);
}

FLOW_TEST(replay, of_what_was_cancelled_before_it_could_begin_waits_as_before)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct flow flow;

    graph_open(&flow, fixture, executions);
    graph_add(&flow, "abc", "a>c");
    for (const char *letter = "bc"; *letter != '\0'; letter++) {
        check_db(weir_execution_cancel(executions, graph_member(&flow, *letter), "no",
                                       &fixture->error),
                 WEIR_OK);
        check_db(weir_execution_replay(executions, graph_member(&flow, *letter),
                                       &fixture->error),
                 WEIR_OK);
    }
    check_str(graph_states(&flow), "a:waiting b:waiting c:waiting_children");
    graph_end(&flow, 'a', WEIR_SETTLE_COMPLETE);
    check_str(graph_state_of(&flow, 'c'), "waiting");
    check_db(weir_execution_cancel(executions, graph_member(&flow, 'c'), "no",
                                   &fixture->error),
             WEIR_OK);
    check_db(weir_execution_replay(executions, graph_member(&flow, 'c'), &fixture->error),
             WEIR_OK);
    check_str(graph_state_of(&flow, 'c'), "waiting"); /* it had been let go */
    weir_executions_destroy(executions);
}

static void check_input(struct flow *flow, char letter, const char *input)
{
    const char lane[] = {letter, '\0'};
    const char *const lanes[] = {lane};
    struct fixture *fixture = flow->fixture;
    struct weir_claim_options options = flow_fixture_claimant(lanes, "anna");
    struct weir_claimed *claimed = NULL;
    size_t count = 0;

    check_db(weir_execution_claim(flow->executions, &options, 1, &claimed, &count,
                                  &fixture->error),
             WEIR_OK);
    check_int(count, 1);
    check_int(claimed[0].input_size, strlen(input));
    check(memcmp(claimed[0].input, input, strlen(input)) == 0);
    weir_claimed_free(flow->executions, claimed);
}

FLOW_TEST(replay, is_given_the_result_of_what_was_replayed_before_it)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct flow flow;

    graph_open(&flow, fixture, executions);
    graph_add(&flow, "ac", "a>>c");
    graph_end(&flow, 'a', WEIR_SETTLE_FAIL);
    check_db(weir_execution_replay(executions, graph_member(&flow, 'a'), &fixture->error),
             WEIR_OK);
    graph_end(&flow, 'a', WEIR_SETTLE_COMPLETE);
    check_db(weir_execution_replay(executions, graph_member(&flow, 'c'), &fixture->error),
             WEIR_OK);
    check_input(&flow, 'c', "ok");
    weir_executions_destroy(executions);
}

/* `a` ends when `c` was skipped already, and nothing was passed to it then. */
FLOW_TEST(replay, is_given_the_result_that_came_when_it_was_skipped)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct flow flow;

    graph_open(&flow, fixture, executions);
    graph_add(&flow, "abc", "a>>c b>c");
    graph_end(&flow, 'b', WEIR_SETTLE_FAIL);
    graph_end(&flow, 'a', WEIR_SETTLE_COMPLETE);
    check_str(graph_states(&flow), "a:completed b:failed c:skipped");
    check_db(weir_execution_replay(executions, graph_member(&flow, 'b'), &fixture->error),
             WEIR_OK);
    check_db(weir_execution_replay(executions, graph_member(&flow, 'c'), &fixture->error),
             WEIR_OK);
    graph_end(&flow, 'b', WEIR_SETTLE_COMPLETE);
    check_input(&flow, 'c', "ok");
    weir_executions_destroy(executions);
}

FLOW_TEST(data, that_is_empty_is_not_passed)
{
    struct weir_execution_draft drafts[2];
    struct weir_flow_edge edge;
    struct weir_flow_extension extension = {.members = drafts,
                                            .member_count = 2,
                                            .edges = &edge,
                                            .edge_count = 1,
                                            .revision = -1};
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_settlement settlement = {.verb = WEIR_SETTLE_COMPLETE};
    struct flow flow;

    graph_open(&flow, fixture, executions);
    drafts[0] = (struct weir_execution_draft){
        .id = graph_member(&flow, 'a'), .lane = "a", .kind = "step"};
    drafts[1] = (struct weir_execution_draft){.id = graph_member(&flow, 'b'),
                                              .lane = "b",
                                              .kind = "step",
                                              .input = "own",
                                              .input_size = 3};
    edge = (struct weir_flow_edge){*drafts[0].id, *drafts[1].id, .passes_data = true};
    check_db(
        weir_flow_extend(executions, NULL, &flow.id, &extension, NULL, &fixture->error),
        WEIR_OK);
    settlement.claim = graph_claim(&flow, 'a');
    check_db(weir_execution_settle(executions, &settlement, 1, &fixture->error), WEIR_OK);
    check_status(settlement.status, WEIR_OK);
    check_input(&flow, 'b', "own");
    weir_executions_destroy(executions);
}

FLOW_TEST(remaining, are_not_those_that_had_ended_and_were_replayed)
{
    struct weir_flow_join join;
    struct patrol patrol;
    struct flow flow;
    struct supervisor_fixture supervisor_fixture;

    supervisor_fixture_open(&supervisor_fixture, fixture);
    graph_open(&flow, fixture, supervisor_fixture.executions);
    join = join_of(&flow, 'd', WEIR_JOIN_ALL, 0, true);
    graph_join(&flow, "abd", "a>d b>d", &join, 1);
    graph_end(&flow, 'a', WEIR_SETTLE_FAIL);
    check_db(weir_execution_replay(supervisor_fixture.executions,
                                   graph_member(&flow, 'a'), &fixture->error),
             WEIR_OK);
    patrol_open(&patrol, fixture);
    wait_until(strcmp(graph_states(&flow), "a:waiting b:cancelled d:skipped") == 0);
    patrol_close(&patrol);
    supervisor_fixture_close(&supervisor_fixture);
}

FLOW_TEST(flow_of, an_execution_is_known)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_id solo = flow_fixture_submit(fixture, executions, "solo");
    struct weir_flow_id found;
    struct flow flow;

    graph_open(&flow, fixture, executions);
    graph_add(&flow, "a", "");
    check_db(weir_flow_of(executions, graph_member(&flow, 'a'), &found, &fixture->error),
             WEIR_OK);
    check(memcmp(&found, &flow.id, sizeof found) == 0);
    check_db(weir_flow_of(executions, &solo, &found, &fixture->error), WEIR_NO_ROW);
    check_db(weir_flow_of(executions, graph_member(&flow, 'z'), &found, &fixture->error),
             WEIR_NOT_FOUND);
    weir_executions_destroy(executions);
}
