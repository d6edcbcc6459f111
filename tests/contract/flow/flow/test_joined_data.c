/*
 * What a member is given that results are passed to, and names of members.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault_point.h"
#include "contract/flow/flow/graphs.h"
#include "db/db.h"

enum { LARGE = WEIR_RESULT_SIZE_MAX };

/* What the claimed one was given. */
struct given {
    struct weir_claim claim;
    char text[4096];
};

static void complete(struct flow *flow, char letter, const void *result, size_t size)
{
    struct fixture *fixture = flow->fixture;
    struct weir_settlement settlement = {.claim = graph_claim(flow, letter),
                                         .verb = WEIR_SETTLE_COMPLETE,
                                         .result = result,
                                         .result_size = size};

    check_db(weir_execution_settle(flow->executions, &settlement, 1, &fixture->error),
             WEIR_OK);
    check_status(settlement.status, WEIR_OK);
}

static void complete_with(struct flow *flow, char letter, const char *result)
{
    complete(flow, letter, result, strlen(result));
}

static void keep(struct given *self, const struct weir_claimed *claimed)
{
    size_t size = claimed->input_size < sizeof self->text - 1 ? claimed->input_size
                                                              : sizeof self->text - 1;

    self->claim = claimed->claim;
    if (size > 0)
        memcpy(self->text, claimed->input, size);
    self->text[size] = '\0';
}

/* Of a lane; up to `count` at once. */
static size_t claim_all(struct flow *flow, const char *lane, struct given *out,
                        size_t count)
{
    struct fixture *fixture = flow->fixture;
    struct weir_claim_options options = flow_fixture_claimant(&lane, "anna");
    struct weir_claimed *claimed = NULL;
    size_t got = 0;

    check_db(weir_execution_claim(flow->executions, &options, count, &claimed, &got,
                                  &fixture->error),
             WEIR_OK);
    for (size_t i = 0; i < got; i++)
        keep(&out[i], &claimed[i]);
    weir_claimed_free(flow->executions, claimed);
    return got;
}

static struct given claim_one(struct flow *flow, char letter)
{
    const char lane[] = {letter, '\0'};
    struct given given = {.text = ""};

    check_int(claim_all(flow, lane, &given, 1), 1);
    return given;
}

/* A member whose name is "is " and its letter, with an input of its own. */
static void add_named(struct flow *flow, const char *letters, const char *input,
                      const char *edges)
{
    struct fixture *fixture = flow->fixture;
    struct weir_execution_draft drafts[GRAPH_LETTERS];
    struct weir_flow_edge list[GRAPH_EDGES];
    char lanes[GRAPH_LETTERS][2];
    char names[GRAPH_LETTERS][8];
    struct weir_flow_extension extension = {
        .members = drafts, .edges = list, .revision = -1};

    for (; letters[extension.member_count] != '\0'; extension.member_count++) {
        size_t i = extension.member_count;

        (void)snprintf(lanes[i], sizeof lanes[i], "%c", letters[i]);
        (void)snprintf(names[i], sizeof names[i], "is %c", letters[i]);
        drafts[i] = (struct weir_execution_draft){.id = graph_member(flow, letters[i]),
                                                  .lane = lanes[i],
                                                  .kind = "step",
                                                  .name = names[i],
                                                  .input = input,
                                                  .input_size = strlen(input)};
        flow->there[letters[i] - 'a'] = true;
    }
    extension.edge_count = graph_read_edges(flow, edges, list);
    check_db(weir_flow_extend(flow->executions, NULL, &flow->id, &extension, NULL,
                              &fixture->error),
             WEIR_OK);
}

/* ---- several results --------------------------------------------------------------- */

FLOW_TEST(join, of_twenty_results_is_given_every_one)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct given given;
    struct flow flow;

    graph_open(&flow, fixture, executions);
    add_named(
        &flow, "abcdefghijklmnopqrstu", "",
        "a>>u b>>u c>>u d>>u e>>u f>>u g>>u h>>u i>>u j>>u k>>u l>>u m>>u n>>u o>>u "
        "p>>u q>>u r>>u s>>u t>>u");
    for (char letter = 't'; letter >= 'a'; letter--) {
        char result[16];

        (void)snprintf(result, sizeof result, "[\"%c\"]", letter);
        complete_with(&flow, letter, result);
    }
    given = claim_one(&flow, 'u');
    check_str(
        given.text,
        "{\"input\": null, \"results\": {\"is a\": [\"a\"], \"is b\": [\"b\"], "
        "\"is c\": [\"c\"], \"is d\": [\"d\"], \"is e\": [\"e\"], \"is f\": [\"f\"], "
        "\"is g\": [\"g\"], \"is h\": [\"h\"], \"is i\": [\"i\"], \"is j\": [\"j\"], "
        "\"is k\": [\"k\"], \"is l\": [\"l\"], \"is m\": [\"m\"], \"is n\": [\"n\"], "
        "\"is o\": [\"o\"], \"is p\": [\"p\"], \"is q\": [\"q\"], \"is r\": [\"r\"], "
        "\"is s\": [\"s\"], \"is t\": [\"t\"]}}");
    weir_executions_destroy(executions);
}

FLOW_TEST(join, is_given_its_own_input_beside_the_results)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct flow flow;

    graph_open(&flow, fixture, executions);
    add_named(&flow, "ab", "", "");
    add_named(&flow, "c", "{\"own\": [1]}", "a>>c b>>c");
    complete_with(&flow, 'a', "{\"x\": {\"y\": [null, {\"z\": \"\\u00e9\"}]}}\n");
    complete_with(&flow, 'b', "12.5e3");
    check_str(
        claim_one(&flow, 'c').text,
        "{\"input\": {\"own\": [1]}, \"results\": {\"is a\": {\"x\": {\"y\": [null, "
        "{\"z\": \"\\u00e9\"}]}}\n, \"is b\": 12.5e3}}");
    weir_executions_destroy(executions);
}

FLOW_TEST(join, has_results_under_ids_of_members_without_a_name)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    char ids[2][WEIR_EXECUTION_ID_TEXT_SIZE];
    char want[256];
    struct flow flow;

    graph_open(&flow, fixture, executions);
    graph_add(&flow, "abc", "a>>c b>>c");
    complete_with(&flow, 'b', "2");
    complete_with(&flow, 'a', "1");
    weir_execution_id_format(graph_member(&flow, 'a'), ids[0]);
    weir_execution_id_format(graph_member(&flow, 'b'), ids[1]);
    (void)snprintf(want, sizeof want,
                   "{\"input\": null, \"results\": {\"%s\": 1, \"%s\": 2}}", ids[0],
                   ids[1]);
    check_str(claim_one(&flow, 'c').text, want);
    weir_executions_destroy(executions);
}

FLOW_TEST(join, says_how_results_are_written_that_are_no_json)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct flow flow;

    graph_open(&flow, fixture, executions);
    add_named(&flow, "abcd", "", "");
    add_named(&flow, "e", "not json", "a>>e b>>e c>>e d>>e");
    complete_with(&flow, 'a', "said \"no\"");
    complete(&flow, 'b', "\xff\0\x01", 3);
    complete(&flow, 'c', NULL, 0);
    complete_with(&flow, 'd', "true");
    check_str(claim_one(&flow, 'e').text,
              "{\"input\": \"not json\", \"results\": {\"is a\": \"said \\\"no\\\"\", "
              "\"is b\": \"/wAB\", \"is c\": null, \"is d\": true}, \"encodings\": "
              "{\"input\": \"text\", \"results\": {\"is a\": \"text\", \"is b\": "
              "\"base64\"}}}");
    weir_executions_destroy(executions);
}

FLOW_TEST(join, that_goes_on_without_a_failed_member_is_given_the_others)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_flow_join join = {.policy = WEIR_JOIN_QUORUM, .quorum = 2};
    struct flow flow;

    graph_open(&flow, fixture, executions);
    add_named(&flow, "abcd", "", "");
    join.to = *graph_member(&flow, 'e');
    graph_join(&flow, "e", "a>>e b>>e c>>e d>>e", &join, 1);
    graph_end(&flow, 'a', WEIR_SETTLE_FAIL);
    complete_with(&flow, 'd', "4");
    complete_with(&flow, 'b', "2");
    complete_with(&flow, 'c', "3"); /* too late: it is decided */
    check_str(claim_one(&flow, 'e').text,
              "{\"input\": null, \"results\": {\"is b\": 2, \"is d\": 4}}");
    weir_executions_destroy(executions);
}

/* The shape tells how many edges pass data, not how many have. */
FLOW_TEST(join, of_which_one_has_succeeded_is_given_an_object_all_the_same)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_flow_join join = {.policy = WEIR_JOIN_ANY};
    struct flow flow;

    graph_open(&flow, fixture, executions);
    add_named(&flow, "ab", "", "");
    join.to = *graph_member(&flow, 'c');
    graph_join(&flow, "c", "a>>c b>>c", &join, 1);
    complete_with(&flow, 'b', "2");
    check_str(claim_one(&flow, 'c').text,
              "{\"input\": null, \"results\": {\"is b\": 2}}");
    weir_executions_destroy(executions);
}

/* The same edge twice in a call is one. */
FLOW_TEST(result, of_one_member_is_given_as_it_is)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct flow flow;

    graph_open(&flow, fixture, executions);
    add_named(&flow, "abc", "own", "a>>c b>c a>>c");
    complete_with(&flow, 'a', "as it is");
    complete_with(&flow, 'b', "not passed");
    check_str(claim_one(&flow, 'c').text, "as it is");
    weir_executions_destroy(executions);
}

FLOW_TEST(edge, that_is_added_later_makes_an_object_of_a_result)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct flow flow;

    graph_open(&flow, fixture, executions);
    add_named(&flow, "abc", "7", "a>>c");
    complete_with(&flow, 'b', "2");
    graph_add(&flow, "", "b>>c");
    complete_with(&flow, 'a', "1");
    check_str(claim_one(&flow, 'c').text,
              "{\"input\": 7, \"results\": {\"is a\": 1, \"is b\": 2}}");
    weir_executions_destroy(executions);
}

/* ---- again ------------------------------------------------------------------------- */

/* Also when what it comes from is not there any more. */
FLOW_TEST(attempt, is_given_what_the_one_before_was_given)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct given first;
    struct given again;
    struct flow flow;

    graph_open(&flow, fixture, executions);
    add_named(&flow, "abcd", "5", "a>>c b>>c a>>d");
    complete_with(&flow, 'a', "1");
    complete_with(&flow, 'b', "2");
    first = claim_one(&flow, 'c');
    flow_fixture_settle(fixture, executions, &first.claim, WEIR_SETTLE_FAIL);
    fixture_prepare(fixture, "DELETE FROM {p}_result");
    check_db(weir_execution_replay(executions, graph_member(&flow, 'c'), &fixture->error),
             WEIR_OK);
    again = claim_one(&flow, 'c');
    check_str(again.text, first.text);
    check_str(first.text, "{\"input\": 5, \"results\": {\"is a\": 1, \"is b\": 2}}");
    check_str(claim_one(&flow, 'd').text, "1");
    weir_executions_destroy(executions);
}

FLOW_TEST(replay, of_a_join_that_was_skipped_is_given_every_result)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct flow flow;

    graph_open(&flow, fixture, executions);
    add_named(&flow, "abcd", "", "a>>d b>>d c>>d");
    complete_with(&flow, 'a', "1");
    graph_end(&flow, 'b', WEIR_SETTLE_FAIL);
    complete_with(&flow, 'c', "3");
    check_str(graph_state_of(&flow, 'd'), "skipped");
    check_db(weir_execution_replay(executions, graph_member(&flow, 'b'), &fixture->error),
             WEIR_OK);
    complete_with(&flow, 'b', "2");
    check_db(weir_execution_replay(executions, graph_member(&flow, 'd'), &fixture->error),
             WEIR_OK);
    check_str(claim_one(&flow, 'd').text, "{\"input\": null, \"results\": {\"is a\": 1, "
                                          "\"is b\": 2, \"is c\": 3}}");
    weir_executions_destroy(executions);
}

/* ---- too much ---------------------------------------------------------------------- */

FLOW_TEST(join, with_more_than_can_be_given_to_a_worker_fails)
{
    static const char *const LANES[] = {"j"};
    char *large = calloc(1, LARGE);
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_claim_options options = flow_fixture_claimant(LANES, "anna");
    struct weir_claim claim;
    struct flow flow;

    check(large != NULL);
    memset(large, '1', LARGE);
    graph_open(&flow, fixture, executions);
    graph_add(&flow, "abcdefghijk", "a>>j b>>j c>>j d>>j e>>j f>>j g>>j h>>j i>>j j>k");
    for (char letter = 'a'; letter <= 'i'; letter++)
        complete(&flow, letter, large, letter < 'i' ? LARGE : 1);
    check_str(graph_state_of(&flow, 'j'), "waiting");
    check_int(flow_fixture_claim_many(fixture, executions, &options, &claim, 1), 0);
    check_str(graph_state_of(&flow, 'j'), "failed");
    check_str(flow_fixture_see(fixture, executions, graph_member(&flow, 'j')).failure,
              "joined_input_too_large");
    check_int(
        flow_fixture_see(fixture, executions, graph_member(&flow, 'j')).info.attempts, 0);
    check_str(graph_state_of(&flow, 'k'), "skipped");
    check_str(graph_state(&flow), "failed");
    weir_executions_destroy(executions);
    free(large);
}

/* ---- many at once ------------------------------------------------------------------ */

/* Members of one lane: `joins` that `a` and `b` pass data to, and as many that only `a`
 * does. */
static void add_peers(struct flow *flow, size_t joins)
{
    struct fixture *fixture = flow->fixture;
    struct weir_execution_id *ids = calloc(2 * joins, sizeof *ids);
    struct weir_execution_draft *drafts = calloc(2 * joins, sizeof *drafts);
    struct weir_flow_edge *edges = calloc(3 * joins, sizeof *edges);
    struct weir_flow_extension extension = {
        .members = drafts, .member_count = 2 * joins, .edges = edges, .revision = -1};

    check(ids != NULL && drafts != NULL && edges != NULL);
    weir_flow_mint(flow->executions, &flow->id, ids, 2 * joins);
    for (size_t i = 0; i < 2 * joins; i++) {
        drafts[i] = (struct weir_execution_draft){.id = &ids[i],
                                                  .lane = "crowd",
                                                  .kind = "step",
                                                  .input = "0",
                                                  .input_size = 1};
        edges[extension.edge_count++] =
            (struct weir_flow_edge){*graph_member(flow, 'a'), ids[i], true};
        if (i < joins)
            edges[extension.edge_count++] =
                (struct weir_flow_edge){*graph_member(flow, 'b'), ids[i], true};
    }
    check_db(weir_flow_extend(flow->executions, NULL, &flow->id, &extension, NULL,
                              &fixture->error),
             WEIR_OK);
    free(ids);
    free(drafts);
    free(edges);
}

static struct given peers[64];

FLOW_TEST(joins, are_claimed_many_at_once)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct flow flow;

    graph_open(&flow, fixture, executions);
    add_named(&flow, "ab", "", "");
    add_peers(&flow, 20);
    complete_with(&flow, 'a', "1");
    complete_with(&flow, 'b', "2");
    check_int(claim_all(&flow, "crowd", peers, 64), 40);
    for (size_t i = 0; i < 40; i++)
        check(strcmp(peers[i].text, "1") == 0 ||
              strcmp(peers[i].text,
                     "{\"input\": 0, \"results\": {\"is a\": 1, \"is b\": 2}}") == 0);
    weir_executions_destroy(executions);
}

/* A pick over several lanes brings no inputs along. */
FLOW_TEST(joins, are_given_their_own_inputs_whatever_the_pick_brings)
{
    static const char *const LANES[] = {"d", "c", "e"};
    static const char *const WANT[] = {
        "1", "{\"input\": 7, \"results\": {\"is a\": 1, \"is b\": null}}", "7"};
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_claim_options options = flow_fixture_claimant(LANES, "anna");
    struct weir_claimed *claimed = NULL;
    struct given given;
    struct flow flow;
    size_t count = 0;

    options.lane_count = 3;
    graph_open(&flow, fixture, executions);
    add_named(&flow, "abcde", "7", "a>>c b>>c a>>d b>>e");
    complete_with(&flow, 'a', "1");
    complete_with(&flow, 'b', "");
    check_db(
        weir_execution_claim(executions, &options, 9, &claimed, &count, &fixture->error),
        WEIR_OK);
    check_int(count, 3);
    for (size_t i = 0; i < 3; i++) {
        keep(&given, &claimed[i]);
        check_str(given.text, WANT[i]);
    }
    weir_claimed_free(executions, claimed);
    weir_executions_destroy(executions);
}

/* What would take too much memory at once waits for the next claim. */
FLOW_TEST(joins, that_are_large_are_claimed_a_few_at_a_time)
{
    struct weir_fault_points points;
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct flow flow;
    size_t first;

    weir_fault_points_init(&points);
    weir_fault_points_arm(&points, "gather.little", 1);
    weir_db_set_fault_points(fixture->db, &points);
    graph_open(&flow, fixture, executions);
    add_named(&flow, "ab", "", "");
    add_peers(&flow, 20);
    complete_with(&flow, 'a', "1");
    complete_with(&flow, 'b', "2");
    first = claim_all(&flow, "crowd", peers, 64);
    check_int(first, 36);
    check_int(claim_all(&flow, "crowd", peers, 64), 4);
    weir_db_set_fault_points(fixture->db, NULL);
    weir_executions_destroy(executions);
}

FLOW_TEST(claim, without_data_edges_asks_for_no_results)
{
    struct weir_fault_points points;
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct flow flow;

    weir_fault_points_init(&points);
    weir_fault_points_arm(&points, "read passed results", UINT64_MAX);
    weir_db_set_fault_points(fixture->db, &points);
    graph_open(&flow, fixture, executions);
    add_named(&flow, "abc", "own", "a>b a>>c");
    complete_with(&flow, 'a', "1");
    check_str(claim_one(&flow, 'b').text, "own");
    check_int(atomic_load(&points.armed[0].passed), 0);
    check_str(claim_one(&flow, 'c').text, "1");
    check_int(atomic_load(&points.armed[0].passed), 1);
    weir_db_set_fault_points(fixture->db, NULL);
    weir_executions_destroy(executions);
}

/* ---- names ------------------------------------------------------------------------- */

static enum weir_status try_named(struct flow *flow, const char *letters,
                                  const char *const *names)
{
    struct weir_execution_draft drafts[GRAPH_LETTERS];
    struct weir_flow_extension extension = {.members = drafts, .revision = -1};

    for (size_t i = 0; letters[i] != '\0'; i++)
        drafts[extension.member_count++] =
            (struct weir_execution_draft){.id = graph_member(flow, letters[i]),
                                          .lane = "orders",
                                          .kind = "step",
                                          .name = names[i]};
    return weir_flow_extend(flow->executions, NULL, &flow->id, &extension, NULL,
                            &flow->fixture->error);
}

static void note_name(void *state, const struct weir_execution_info *info)
{
    (void)snprintf(state, 64, "%s", info->name);
}

FLOW_TEST(name, of_a_member_is_kept_and_told)
{
    static const char *const NAMES[] = {"gr\xc3\xbc\xc3\x9f", NULL};
    static const char *const LANES[] = {"orders"};
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_claim_options options = flow_fixture_claimant(LANES, "anna");
    struct weir_claimed *claimed = NULL;
    char name[64] = "";
    size_t count = 0;
    struct flow flow;

    graph_open(&flow, fixture, executions);
    check_db(try_named(&flow, "ab", NAMES), WEIR_OK);
    check_db(weir_execution_get(executions, graph_member(&flow, 'a'), note_name, name,
                                &fixture->error),
             WEIR_OK);
    check_str(name, NAMES[0]);
    check_db(weir_execution_get(executions, graph_member(&flow, 'b'), note_name, name,
                                &fixture->error),
             WEIR_OK);
    check_str(name, "");
    check_db(
        weir_execution_claim(executions, &options, 2, &claimed, &count, &fixture->error),
        WEIR_OK);
    check_int(count, 2);
    check_str(claimed[0].name, NAMES[0]);
    check_str(claimed[1].name, "");
    weir_claimed_free(executions, claimed);
    weir_executions_destroy(executions);
}

FLOW_TEST(name, of_another_member_is_refused)
{
    static const char *const FIRST[] = {"pack"};
    static const char *const SECOND[] = {"ship", "pack"};
    static const char *const OTHER[] = {"bill"};
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct flow flow;
    struct flow another;

    graph_open(&flow, fixture, executions);
    graph_open(&another, fixture, executions);
    check_db(try_named(&flow, "a", FIRST), WEIR_OK);
    check_db(try_named(&flow, "a", FIRST), WEIR_OK); /* it is the same one */
    check_db(try_named(&flow, "bc", SECOND), WEIR_MISMATCH);
    check(strstr(fixture->error.text, "member 2 of 2: another member of the flow has the "
                                      "name \"pack\"") != NULL);
    check_int(graph_info(&flow).members, 1);
    check_db(try_named(&flow, "a", OTHER), WEIR_MISMATCH); /* it has one already */
    check_db(try_named(&another, "a", FIRST), WEIR_OK);
    weir_executions_destroy(executions);
}

FLOW_TEST(name, that_two_of_one_call_have_is_refused)
{
    static const char *const NAMES[] = {"pack", "ship", "pack"};
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct flow flow;

    graph_open(&flow, fixture, executions);
    check_db(try_named(&flow, "abc", NAMES), WEIR_INVALID);
    check(strstr(fixture->error.text, "member 3 of 3: another one of this call has the "
                                      "name \"pack\", too") != NULL);
    check_int(graph_info(&flow).members, 0);
    weir_executions_destroy(executions);
}

FLOW_TEST(name, outside_of_a_flow_is_refused)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_draft draft = flow_fixture_draft("orders");

    draft.name = "pack";
    check_db(weir_execution_submit(executions, NULL, &draft, 1, NULL, &fixture->error),
             WEIR_INVALID);
    check_str(fixture->error.text, "draft 1 of 1: name is \"pack\", must be NULL: only "
                                   "members of flows have one");
    weir_executions_destroy(executions);
}
