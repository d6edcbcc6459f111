/*
 * Flows with company: what is refused leaves no trace, and of those who meet, each
 * finds what the other has left.
 */
#include "contract/flow/flow/graphs.h"
#include "contract/flow/peer.h"
#include "contract/flow/reconcile/reconciler_fixture.h"

/* ---- what is refused --------------------------------------------------------------- */

/* All that a call on flows could change, as one number. */
static int64_t take_picture(struct fixture *fixture)
{
    return fixture_ask(
        fixture,
        "SELECT (SELECT count(*) + coalesce(sum(no * 3 + state * 5 + members * 7"
        " + edges * 11 + unfinished * 13 + unlucky * 17 + revision * 19"
        " + ended_us % 1009), 0) FROM weir_flow)"
        " + 1031 * (SELECT count(*) + coalesce(sum(no * 3 + state * 5 + hold * 7"
        " + pending * 11 + epoch * 13 + attempts * 17 + flow * 19 + due_us % 1009"
        " + ended_us % 1013), 0) FROM weir_execution)"
        " + 1033 * (SELECT count(*) + coalesce(sum(upstream * 3 + downstream * 5"
        " + state * 7 + passes_data), 0) FROM weir_edge)"
        " + 1039 * (SELECT count(*) + coalesce(sum(downstream * 3 + policy * 5"
        " + state * 7 + quorum * 11 + total * 13 + succeeded * 17 + failed * 19"
        " + skipped * 23 + cancel_remaining * 29 + cancel_us % 1009), 0)"
        " FROM weir_edge_group)"
        " + 1049 * (SELECT count(*) FROM weir_input)"
        " + 1051 * (SELECT count(*) FROM weir_tag)"
        " + 1061 * (SELECT count(*) FROM weir_idempotency)"
        " + 1063 * (SELECT count(*) FROM weir_attempt)");
}

static void refuse(struct flow *flow, int64_t before, const char *members,
                   const char *edges, const struct weir_flow_join *joins,
                   size_t join_count, enum weir_status status)
{
    struct fixture *fixture = flow->fixture;

    check_db(graph_try(flow, members, edges, joins, join_count), status);
    check_int(take_picture(fixture), before);
}

/* Each with something good before it, which is not done either. `a` has ended, `b`
 * runs. */
FLOW_TEST(extend, that_is_refused_leaves_everything_as_it_was)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_flow_join joins[2] = {{.policy = WEIR_JOIN_ANY},
                                      {.policy = WEIR_JOIN_ANY}};
    struct weir_flow_extension stale = {.revision = 0};
    struct flow flow, other;
    int64_t before;

    graph_open(&other, fixture, executions);
    graph_add(&other, "z", "");
    graph_open(&flow, fixture, executions);
    graph_add(&flow, "abcde", "a>d b>d d>e");
    graph_end(&flow, 'a', WEIR_SETTLE_COMPLETE);
    (void)graph_claim(&flow, 'b');
    before = take_picture(fixture);

    refuse(&flow, before, "f", "c>f f>f", NULL, 0, WEIR_INVALID);
    refuse(&flow, before, "f", "c>f e>d", NULL, 0, WEIR_CYCLE);
    refuse(&flow, before, "fgh", "c>f f>g g>h h>f", NULL, 0, WEIR_CYCLE);
    refuse(&flow, before, "f", "c>f c>b", NULL, 0, WEIR_MISMATCH); /* b has begun */
    refuse(&flow, before, "f", "c>f f>y", NULL, 0, WEIR_FOREIGN);
    flow.members['y' - 'a'] = *graph_member(&other, 'z');
    refuse(&flow, before, "f", "c>f f>y", NULL, 0, WEIR_FOREIGN);
    joins[0].to = joins[1].to = *graph_member(&flow, 'f');
    refuse(&flow, before, "f", "c>f", joins, 2, WEIR_INVALID); /* two for one */
    joins[0].policy = (enum weir_join)WEIR_JOIN_COUNT;
    refuse(&flow, before, "f", "c>f", joins, 1, WEIR_INVALID);
    joins[0] = (struct weir_flow_join){.to = joins[0].to, .policy = WEIR_JOIN_QUORUM};
    refuse(&flow, before, "f", "c>f", joins, 1, WEIR_INVALID); /* of none */
    joins[0] =
        (struct weir_flow_join){.to = *graph_member(&flow, 'd'), .policy = WEIR_JOIN_ANY};
    refuse(&flow, before, "f", "c>f", joins, 1, WEIR_MISMATCH);
    check_db(weir_flow_extend(executions, NULL, &flow.id, &stale, NULL, &fixture->error),
             WEIR_STALE);
    check_int(take_picture(fixture), before);
    weir_executions_destroy(executions);
}

/* So many that a test does not make them. */
FLOW_TEST(extend, beyond_the_limits_of_a_flow_leaves_everything_as_it_was)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    int64_t before;
    struct flow flow;

    graph_open(&flow, fixture, executions);
    graph_add(&flow, "abc", "a>b");
    fixture_prepare(fixture, "UPDATE {p}_edge_group SET total = 100000");
    before = take_picture(fixture);
    refuse(&flow, before, "", "c>b", NULL, 0, WEIR_FULL);
    check(strstr(fixture->error.text, "more than 100000 edges would lead") != NULL);
    fixture_prepare(fixture, "UPDATE {p}_flow SET members = 1000000");
    before = take_picture(fixture);
    refuse(&flow, before, "d", "", NULL, 0, WEIR_FULL);
    check(strstr(fixture->error.text, "1000001 members, must have at most 1000000") !=
          NULL);
    weir_executions_destroy(executions);
}

/* ---- what is gone or replaced between two looks ------------------------------------ */

static void remove_all(void *argument)
{
    fixture_prepare(argument, "DELETE FROM {p}_execution");
}

FLOW_POSTGRESQL_TEST(extend, by_an_id_that_is_removed_meanwhile_adds_a_member)
{
    struct weir_execution_draft draft = flow_fixture_draft("a");
    struct peer anna;
    struct flow flow;

    peer_open(&anna, fixture);
    graph_open(&flow, fixture, anna.executions);
    draft.id = graph_member(&flow, 'a');
    draft.kind = "step";
    (void)flow_fixture_submit_draft(fixture, anna.executions, &draft);
    weir_fault_points_arm_call(&anna.points, "read ids", 1, remove_all, fixture);

    graph_add(&flow, "a", "");

    check_str(graph_states(&flow), "a:waiting");
    check_int(graph_info(&flow).in_state[WEIR_STATE_WAITING], 1);
    peer_close(&anna);
}

/* What was claimed, and with which inputs. */
struct claims {
    size_t count;
    char inputs[2][8];
};

static enum weir_status claim_two(struct weir_executions *executions, void *argument,
                                  struct weir_error *error)
{
    const char *lane = "b";
    const struct weir_claim_options options = flow_fixture_claimant(&lane, "anna");
    struct weir_claimed *claimed = NULL;
    struct claims *self = argument;
    enum weir_status status =
        weir_execution_claim(executions, &options, 2, &claimed, &self->count, error);

    for (size_t i = 0; i < self->count; i++)
        (void)snprintf(self->inputs[i], sizeof self->inputs[i], "%.*s",
                       (int)claimed[i].input_size,
                       claimed[i].input != NULL ? (const char *)claimed[i].input : "");
    weir_claimed_free(executions, claimed);
    return status;
}

/* Whoever looks for tags of a row waits for the advisory lock 7. */
static void make_tags_wait(struct fixture *fixture)
{
    fixture_prepare(fixture, "ALTER TABLE {p}_tag RENAME TO {p}_tag_rows");
    fixture_prepare(fixture,
                    "CREATE FUNCTION {p}_pause() RETURNS boolean LANGUAGE plpgsql AS"
                    " 'BEGIN PERFORM pg_advisory_lock_shared(7);"
                    " PERFORM pg_advisory_unlock_shared(7); RETURN true; END'");
    fixture_prepare(fixture, "CREATE VIEW {p}_tag AS SELECT * FROM {p}_tag_rows"
                             " WHERE {p}_pause()");
}

/* The statement that picks two has begun and has the first of them, which has a tag,
 * when the input of the other one is replaced. */
FLOW_POSTGRESQL_TEST(claim, comes_with_the_input_that_the_execution_has_when_it_is_locked)
{
    static const struct weir_tag TAG = {"a.b", "c"};
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_connection *connection = fixture_take(fixture);
    struct weir_execution_draft first = flow_fixture_draft("b");
    struct claims claims = {.count = 0};
    struct peer worker;
    struct flow flow;

    first.priority = 9;
    first.tags = &TAG;
    first.tag_count = 1;
    first.input = "own";
    first.input_size = 3;
    (void)flow_fixture_submit_draft(fixture, executions, &first);
    graph_open(&flow, fixture, executions);
    graph_add(&flow, "ab", "");
    graph_end(&flow, 'a', WEIR_SETTLE_COMPLETE);
    make_tags_wait(fixture);
    peer_open(&worker, fixture);
    fixture_execute(fixture, connection, "SELECT pg_advisory_lock(7)");
    peer_begin(&worker, claim_two, &claims);
    peer_await_lock(&worker);

    graph_add(&flow, "", "a>>b");
    fixture_execute(fixture, connection, "SELECT pg_advisory_unlock(7)");

    check_status(peer_end(&worker), WEIR_OK);
    check_int(claims.count, 2);
    check_str(claims.inputs[0], "own");
    check_str(claims.inputs[1], "ok");
    peer_close(&worker);
    fixture_give(fixture, connection);
    weir_executions_destroy(executions);
}

/* ---- circles of two ---------------------------------------------------------------- */

struct edge_of {
    struct flow *flow;
    const char *text;
};

static enum weir_status add_edge(struct weir_executions *executions, void *argument,
                                 struct weir_error *error)
{
    struct edge_of *self = argument;
    struct weir_flow_edge edge[1];
    struct weir_flow_extension extension = {
        .edges = edge, .edge_count = 1, .revision = -1};

    check_int(graph_read_edges(self->flow, self->text, edge), 1);
    return weir_flow_extend(executions, NULL, &self->flow->id, &extension, NULL, error);
}

/* Neither sees the other's edge when it begins, and they name nothing that is the
 * same. */
FLOW_TEST(circle, that_two_would_close_together_is_seen_by_the_second)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct edge_of there, back;
    struct peer anna, bert;
    struct flow flow;

    graph_open(&flow, fixture, executions);
    graph_add(&flow, "abcd", "b>c d>a");
    there = (struct edge_of){&flow, "a>b"};
    back = (struct edge_of){&flow, "c>d"};
    peer_open(&anna, fixture);
    peer_open(&bert, fixture);
    peer_stand(&anna);
    peer_begin(&anna, add_edge, &there);
    peer_await(&anna);
    peer_begin(&bert, add_edge, &back);
    peer_await_lock(&bert);
    peer_go(&anna);
    check_status(peer_end(&anna), WEIR_OK);
    check_status(peer_end(&bert), WEIR_CYCLE);
    check_int(graph_info(&flow).edges, 3);
    check_str(graph_states(&flow),
              "a:waiting_children b:waiting_children c:waiting_children d:waiting");
    peer_close(&bert);
    peer_close(&anna);
    weir_executions_destroy(executions);
}

/* ---- first edges of two ------------------------------------------------------------ */

/* Neither sees the other's join when it begins: the second finds it when it has the
 * member. */
FLOW_TEST(extend, that_brings_a_member_its_first_edge_may_meet_another_that_does)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct edge_of first, second;
    struct peer anna, bert;
    struct flow flow;

    graph_open(&flow, fixture, executions);
    graph_add(&flow, "abd", "");
    first = (struct edge_of){&flow, "a>d"};
    second = (struct edge_of){&flow, "b>d"};
    peer_open(&anna, fixture);
    peer_open(&bert, fixture);
    peer_stand(&anna);
    peer_begin(&anna, add_edge, &first);
    peer_await(&anna);
    peer_begin(&bert, add_edge, &second);
    peer_await_lock(&bert);
    peer_go(&anna);
    check_status(peer_end(&anna), WEIR_OK);
    check_status(peer_end(&bert), WEIR_OK);
    check_int(fixture_ask(fixture, "SELECT total FROM weir_edge_group"), 2);

    graph_end(&flow, 'a', WEIR_SETTLE_COMPLETE);
    check_str(graph_states(&flow), "a:completed b:waiting d:waiting_children");
    graph_end(&flow, 'b', WEIR_SETTLE_COMPLETE);
    check_str(graph_states(&flow), "a:completed b:completed d:waiting");
    peer_close(&bert);
    peer_close(&anna);
    weir_executions_destroy(executions);
}

/* ---- many at the same moment ------------------------------------------------------- */

enum { PEERS = 12 };

struct runner {
    struct flow *flow;
    struct weir_claim claim;
    enum weir_settle verb;
    pthread_barrier_t *start;
    enum weir_status status;
    pthread_t thread;
};

static void *run_to_the_end(void *argument)
{
    struct runner *self = argument;
    struct weir_settlement settlement = {.claim = self->claim, .verb = self->verb};
    struct weir_error error;

    (void)pthread_barrier_wait(self->start);
    self->status = weir_execution_settle(self->flow->executions, &settlement, 1, &error);
    if (self->status == WEIR_OK)
        self->status = settlement.status;
    return NULL;
}

/* a to l, which all lead to z. */
static void peers_open(struct flow *flow, struct fixture *fixture,
                       struct weir_executions *executions, enum weir_join policy)
{
    struct weir_flow_join join = {.policy = policy, .quorum = PEERS / 2};
    char members[PEERS + 2] = "";
    char edges[PEERS * 4 + 1] = "";

    graph_open(flow, fixture, executions);
    join.to = *graph_member(flow, 'z');
    for (int i = 0; i < PEERS; i++) {
        (void)snprintf(edges + strlen(edges), sizeof edges - strlen(edges), "%c>z ",
                       'a' + i);
        members[i] = (char)('a' + i);
    }
    members[PEERS] = 'z';
    graph_join(flow, members, edges, &join, 1);
}

static void peers_run(struct flow *flow, struct runner *runners)
{
    pthread_barrier_t start;

    check_int(pthread_barrier_init(&start, NULL, PEERS), 0);
    for (int i = 0; i < PEERS; i++) {
        runners[i] = (struct runner){.flow = flow,
                                     .claim = graph_claim(flow, (char)('a' + i)),
                                     .verb = WEIR_SETTLE_COMPLETE,
                                     .start = &start};
    }
    for (int i = 0; i < PEERS; i++)
        check_int(pthread_create(&runners[i].thread, NULL, run_to_the_end, &runners[i]),
                  0);
    for (int i = 0; i < PEERS; i++) {
        check_int(pthread_join(runners[i].thread, NULL), 0);
        check_status(runners[i].status, WEIR_OK);
    }
    (void)pthread_barrier_destroy(&start);
}

/* It is ready once: whoever claims and ends it is the only one. */
FLOW_TEST(join, whose_upstreams_end_at_the_same_moment_fires_once)
{
    struct weir_executions *executions = flow_fixture_open(fixture);

    for (int policy = WEIR_JOIN_ALL; policy < WEIR_JOIN_COUNT; policy++) {
        struct runner runners[PEERS];
        struct weir_claim claim;
        struct flow flow;

        peers_open(&flow, fixture, executions, (enum weir_join)policy);
        peers_run(&flow, runners);
        claim = graph_claim(&flow, 'z');
        flow_fixture_settle(fixture, executions, &claim, WEIR_SETTLE_COMPLETE);
        check_str(
            flow_fixture_attempts(fixture, executions, graph_member(&flow, 'z')).text,
            "0 initial success");
        check_int(claim.epoch, 1);
        check_int(fixture_ask(fixture, "SELECT succeeded FROM weir_edge_group"
                                       " ORDER BY downstream DESC LIMIT 1"),
                  PEERS);
        check_str(graph_state(&flow), "completed");
        check_int(graph_info(&flow).in_state[WEIR_STATE_COMPLETED], PEERS + 1);
    }
    weir_executions_destroy(executions);
}

/* ---- the end of a flow ------------------------------------------------------------- */

struct ending {
    struct flow *flow;
    size_t members;
};

static enum weir_status cancel_flow(struct weir_executions *executions, void *argument,
                                    struct weir_error *error)
{
    struct ending *self = argument;

    return weir_flow_cancel(executions, &self->flow->id, WEIR_CANCEL_ALL, "enough",
                            &self->members, error);
}

static enum weir_status complete(struct weir_executions *executions, void *argument,
                                 struct weir_error *error)
{
    struct weir_settlement settlement = {.claim = *(struct weir_claim *)argument,
                                         .verb = WEIR_SETTLE_COMPLETE};
    enum weir_status status = weir_execution_settle(executions, &settlement, 1, error);

    return status == WEIR_OK ? settlement.status : status;
}

/* The last member has ended, and the flow with it, when the cancel comes to it. */
FLOW_TEST(cancel, of_a_flow_that_ends_meanwhile_leaves_it_as_it_ended)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct peer worker, operator;
    struct weir_claim claim;
    struct ending ending;
    struct flow flow;

    graph_open(&flow, fixture, executions);
    graph_add(&flow, "a", "");
    claim = graph_claim(&flow, 'a');
    ending = (struct ending){.flow = &flow, .members = 7};
    peer_open(&worker, fixture);
    peer_open(&operator, fixture);
    peer_stand(&worker);
    peer_begin(&worker, complete, &claim);
    peer_await(&worker);
    peer_begin(&operator, cancel_flow, &ending);
    peer_await_lock(&operator);
    peer_go(&worker);
    check_status(peer_end(&worker), WEIR_OK);
    check_status(peer_end(&operator), WEIR_OK);
    check_int(ending.members, 0);
    check_str(graph_state(&flow), "completed");
    check_str(graph_states(&flow), "a:completed");
    peer_close(&operator);
    peer_close(&worker);
    weir_executions_destroy(executions);
}

FLOW_TEST(cancel, of_a_flow_that_is_first_fences_who_ends_a_member)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct peer worker, operator;
    struct weir_claim claim;
    struct ending ending;
    struct flow flow;

    graph_open(&flow, fixture, executions);
    graph_add(&flow, "ab", "a>b");
    claim = graph_claim(&flow, 'a');
    ending = (struct ending){.flow = &flow};
    peer_open(&worker, fixture);
    peer_open(&operator, fixture);
    peer_stand(&operator);
    peer_begin(&operator, cancel_flow, &ending);
    peer_await(&operator);
    peer_begin(&worker, complete, &claim);
    peer_await_lock(&worker);
    peer_go(&operator);
    check_status(peer_end(&operator), WEIR_OK);
    check_status(peer_end(&worker), WEIR_FENCED);
    check_int(ending.members, 2);
    check_str(graph_state(&flow), "cancelled");
    check_str(graph_states(&flow), "a:cancelled b:cancelled");
    peer_close(&operator);
    peer_close(&worker);
    weir_executions_destroy(executions);
}

/* Members whose edges lead against the order of their numbers, which is that of the
 * locks: whoever meets is told nothing of it, and the flow has ended with all its
 * members. */
FLOW_TEST(cancel, of_a_flow_while_its_members_end_is_told_of_no_conflict)
{
    struct weir_executions *executions = flow_fixture_open(fixture);

    for (int reconciler_fixture = 0; reconciler_fixture < 5; reconciler_fixture++) {
        struct runner runners[PEERS];
        struct peer operator;
        struct ending ending;
        struct flow flow;
        pthread_barrier_t start;
        struct weir_flow_info info;

        graph_open(&flow, fixture, executions);
        graph_add(&flow, "zyxwabcdefghijkl",
                  "a>z b>z c>y d>y e>x f>x g>w h>w z>y y>x x>w i>z j>y k>x l>w");
        ending = (struct ending){.flow = &flow};
        peer_open(&operator, fixture);
        check_int(pthread_barrier_init(&start, NULL, PEERS), 0);
        for (int i = 0; i < PEERS; i++)
            runners[i] = (struct runner){.flow = &flow,
                                         .claim = graph_claim(&flow, (char)('a' + i)),
                                         .verb = i % 3 == 0 ? WEIR_SETTLE_FAIL
                                                            : WEIR_SETTLE_COMPLETE,
                                         .start = &start};
        for (int i = 0; i < PEERS; i++)
            check_int(
                pthread_create(&runners[i].thread, NULL, run_to_the_end, &runners[i]), 0);
        peer_begin(&operator, cancel_flow, &ending);
        for (int i = 0; i < PEERS; i++) {
            check_int(pthread_join(runners[i].thread, NULL), 0);
            check(runners[i].status == WEIR_OK || runners[i].status == WEIR_FENCED);
        }
        fixture->error = operator.error;
        check_db(peer_end(&operator), WEIR_OK);
        info = graph_info(&flow);
        check_int(info.in_state[WEIR_STATE_COMPLETED] + info.in_state[WEIR_STATE_FAILED] +
                      info.in_state[WEIR_STATE_CANCELLED] +
                      info.in_state[WEIR_STATE_SKIPPED],
                  info.members);
        check(info.ended_us > 0);
        check_int(fixture_ask(fixture, "SELECT sum(unfinished) FROM weir_flow"), 0);
        (void)pthread_barrier_destroy(&start);
        peer_close(&operator);
    }
    weir_executions_destroy(executions);
}

enum { MANY = 1100 }; /* more than are cancelled together */

static void add_many(struct flow *flow, struct weir_execution_id *ids)
{
    struct fixture *fixture = flow->fixture;
    struct weir_execution_draft drafts[MANY / 2];
    struct weir_flow_extension extension = {
        .members = drafts, .member_count = MANY / 2, .revision = -1};

    weir_flow_mint(flow->executions, &flow->id, ids, MANY);
    for (size_t i = 0; i < MANY; i++) {
        drafts[i % (MANY / 2)] = (struct weir_execution_draft){
            .id = &ids[i], .lane = i == MANY - 1 ? "last" : "orders", .kind = "step"};
        if ((i + 1) % (MANY / 2) == 0)
            check_db(weir_flow_extend(flow->executions, NULL, &flow->id, &extension, NULL,
                                      &fixture->error),
                     WEIR_OK);
    }
}

/* All others wait for the first. */
static void lead_from_the_first(struct flow *flow, const struct weir_execution_id *ids)
{
    struct fixture *fixture = flow->fixture;
    struct weir_flow_edge edges[MANY - 1];
    const struct weir_flow_extension extension = {
        .edges = edges, .edge_count = MANY - 1, .revision = -1};

    for (size_t i = 0; i + 1 < MANY; i++)
        edges[i] = (struct weir_flow_edge){.from = ids[0], .to = ids[i + 1]};
    check_db(weir_flow_extend(flow->executions, NULL, &flow->id, &extension, NULL,
                              &fixture->error),
             WEIR_OK);
}

FLOW_TEST(cancel, of_a_large_flow_skips_none_of_those_who_come_later)
{
    static struct weir_execution_id ids[MANY];
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct ending ending;
    struct flow flow;

    graph_open(&flow, fixture, executions);
    add_many(&flow, ids);
    lead_from_the_first(&flow, ids);
    ending = (struct ending){.flow = &flow};
    check_db(cancel_flow(executions, &ending, &fixture->error), WEIR_OK);
    check_int(ending.members, MANY);
    check_int(graph_info(&flow).in_state[WEIR_STATE_CANCELLED], MANY);
    weir_executions_destroy(executions);
}

/* The worker has its member, and comes to the flow when the cancel has begun. */
FLOW_POSTGRESQL_TEST(cancel, of_a_large_flow_does_not_hold_it_while_it_waits_for_members)
{
    static struct weir_execution_id ids[MANY];
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct peer worker, operator;
    struct weir_claim claim;
    struct ending ending;
    struct flow flow;

    graph_open(&flow, fixture, executions);
    add_many(&flow, ids);
    claim = flow_fixture_claim(fixture, executions, "last", "anna");
    ending = (struct ending){.flow = &flow};
    peer_open(&worker, fixture);
    peer_open(&operator, fixture);
    weir_fault_points_arm_call(&worker.points, "count ends", 1, peer_stop_here, &worker);
    peer_begin(&worker, complete, &claim);
    peer_await(&worker);
    peer_begin(&operator, cancel_flow, &ending);
    peer_await_lock(&operator);
    peer_go(&worker);
    check_status(peer_end(&worker), WEIR_OK);
    check_status(peer_end(&operator), WEIR_OK);
    check_int(ending.members, MANY - 1);
    peer_close(&operator);
    peer_close(&worker);
    check_int(fixture_ask(fixture, "SELECT deadlocks FROM pg_stat_database"
                                   " WHERE datname = current_database()"),
              0);
    weir_executions_destroy(executions);
}

/* ---- replays ----------------------------------------------------------------------- */

static enum weir_status replay(struct weir_executions *executions, void *argument,
                               struct weir_error *error)
{
    return weir_execution_replay(executions, argument, error);
}

/* `b` was skipped and begins anew; the end of `a`, for the second time, is not
 * committed yet and has not seen that its edge is open again. The reconciler finds it. */
FLOW_TEST(replay, that_meets_the_end_of_its_upstream_does_not_wait_for_ever)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct peer worker, operator;
    struct weir_claim claim;
    struct reconciler_fixture reconciler_fixture;
    struct flow flow;

    graph_open(&flow, fixture, executions);
    graph_add(&flow, "ab", "a>b");
    graph_end(&flow, 'a', WEIR_SETTLE_FAIL);
    check_str(graph_states(&flow), "a:failed b:skipped");
    check_db(weir_execution_replay(executions, graph_member(&flow, 'a'), &fixture->error),
             WEIR_OK);
    claim = graph_claim(&flow, 'a');
    peer_open(&worker, fixture);
    peer_open(&operator, fixture);
    peer_stand(&worker);
    peer_begin(&worker, complete, &claim);
    peer_await(&worker);
    peer_begin(&operator, replay, graph_member(&flow, 'b'));
    peer_await_lock(&operator);
    peer_go(&worker);
    check_status(peer_end(&worker), WEIR_OK);
    check_status(peer_end(&operator), WEIR_OK);

    reconciler_fixture_open(&reconciler_fixture, fixture, WEIR_RECONCILER_DEPENDENCY);
    check_status(reconciler_fixture_tick(&reconciler_fixture), WEIR_OK);
    check_str(graph_states(&flow), "a:completed b:waiting");
    reconciler_fixture_close(&reconciler_fixture);
    peer_close(&operator);
    peer_close(&worker);
    weir_executions_destroy(executions);
}

/* ---- long chains ------------------------------------------------------------------- */

enum { CHAIN = 70 };

/* Longer than one transaction follows. */
FLOW_TEST(chain, of_skipped_members_is_followed_to_its_end)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_id ids[CHAIN];
    struct weir_execution_draft drafts[CHAIN];
    struct weir_flow_edge edges[CHAIN - 1];
    struct weir_flow_extension extension = {.members = drafts,
                                            .member_count = CHAIN,
                                            .edges = edges,
                                            .edge_count = CHAIN - 1,
                                            .revision = -1};
    struct weir_claim claim;
    struct reconciler_fixture reconciler_fixture;
    struct flow flow;

    graph_open(&flow, fixture, executions);
    weir_flow_mint(executions, &flow.id, ids, CHAIN);
    for (int i = 0; i < CHAIN; i++) {
        drafts[i] = (struct weir_execution_draft){
            .id = &ids[i], .lane = "orders", .kind = "step"};
        if (i > 0)
            edges[i - 1] = (struct weir_flow_edge){.from = ids[i - 1], .to = ids[i]};
    }
    check_db(
        weir_flow_extend(executions, NULL, &flow.id, &extension, NULL, &fixture->error),
        WEIR_OK);
    claim = flow_fixture_claim(fixture, executions, "orders", "anna");
    flow_fixture_settle(fixture, executions, &claim, WEIR_SETTLE_FAIL);
    check_str(flow_fixture_state(fixture, executions, &ids[CHAIN - 1]),
              "waiting_children");
    reconciler_fixture_open(&reconciler_fixture, fixture, WEIR_RECONCILER_DEPENDENCY);
    check_status(reconciler_fixture_tick(&reconciler_fixture), WEIR_OK);
    check_str(flow_fixture_state(fixture, executions, &ids[CHAIN - 1]), "skipped");
    check_int(graph_info(&flow).in_state[WEIR_STATE_SKIPPED], CHAIN - 1);
    check_str(graph_state(&flow), "failed");
    reconciler_fixture_close(&reconciler_fixture);
    weir_executions_destroy(executions);
}
