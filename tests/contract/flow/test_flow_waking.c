/*
 * What wakes whom when a flow goes on: supervisors and waiting claims of other
 * processes. Intervals are an hour, so nothing but a wake can have done it; and
 * statements are counted.
 */
#include "contract/flow/flow/graphs.h"
#include "contract/flow/reconcile/supervisor_fixture.h"
#include "execution/flow/resolve.h"
#include "kit/sim/script.h"

enum { HOUR_MS = 3600 * 1000 };

static void open_sleepy(struct patrol *self, struct fixture *fixture)
{
    patrol_init(self, fixture);
    for (int i = 0; i < WEIR_RECONCILER_COUNT; i++)
        self->options.interval_ms[i] = HOUR_MS;
    patrol_start(self);
    for (int i = 0; i < WEIR_RECONCILER_COUNT; i++)
        wait_until(patrol_scan(self, (enum weir_reconciler)i).cycles > 0);
    wait_until(supervisor_fixture_is_listening(self->executions));
}

static void reach_quorum(struct fixture *fixture, struct weir_executions *executions)
{
    struct weir_flow_join join = {
        .policy = WEIR_JOIN_QUORUM, .quorum = 1, .cancel_remaining = true};
    struct flow flow;

    graph_open(&flow, fixture, executions);
    join.to = *graph_member(&flow, 'd');
    graph_join(&flow, "abcd", "a>d b>d c>d", &join, 1);
    graph_end(&flow, 'a', WEIR_SETTLE_COMPLETE);
    wait_until(strcmp(graph_states(&flow),
                      "a:completed b:cancelled c:cancelled d:waiting") == 0);
}

FLOW_TEST(dispatcher, is_woken_by_a_join_that_is_decided_in_its_process)
{
    struct patrol patrol;

    open_sleepy(&patrol, fixture);

    reach_quorum(fixture, patrol.executions);

    patrol_close(&patrol);
}

/* Twice: the second time it is awake, and those who decide it keep silent. */
FLOW_TEST(dispatcher, is_woken_by_a_join_that_is_decided_in_another_process)
{
    struct patrol patrol;
    struct supervisor_fixture supervisor_fixture;

    supervisor_fixture_open(&supervisor_fixture, fixture);
    open_sleepy(&patrol, fixture);

    reach_quorum(fixture, supervisor_fixture.executions);
    reach_quorum(fixture, supervisor_fixture.executions);

    patrol_close(&patrol);
    supervisor_fixture_close(&supervisor_fixture);
}

/* ---- large fan-outs ---------------------------------------------------------------- */

/* One leads to more than a transaction takes. */
static void make_fan(struct fixture *fixture, struct weir_executions *executions,
                     struct weir_flow_id *out)
{
    enum { COUNT = WEIR_RESOLVE_EDGES + 100 };
    static struct weir_execution_draft drafts[COUNT + 1];
    static struct weir_execution_id ids[COUNT + 1];
    static struct weir_flow_edge edges[COUNT];
    struct weir_flow_draft draft = {.kind = "fan"};
    struct weir_flow_extension extension = {.members = drafts,
                                            .member_count = COUNT + 1,
                                            .edges = edges,
                                            .edge_count = COUNT,
                                            .revision = -1};

    check_db(weir_flow_create(executions, &draft, out, &fixture->error), WEIR_OK);
    weir_flow_mint(executions, out, ids, COUNT + 1);
    for (size_t i = 0; i <= COUNT; i++)
        drafts[i] = (struct weir_execution_draft){
            .id = &ids[i], .lane = i == COUNT ? "root" : "leaf", .kind = "step"};
    for (size_t i = 0; i < COUNT; i++)
        edges[i] = (struct weir_flow_edge){.from = ids[COUNT], .to = ids[i]};
    check_db(weir_flow_extend(executions, NULL, out, &extension, NULL, &fixture->error),
             WEIR_OK);
}

FLOW_TEST(dependency, is_woken_by_edges_that_are_left_in_another_process)
{
    struct weir_flow_id id;
    struct weir_claim claim;
    struct patrol patrol;
    struct supervisor_fixture supervisor_fixture;

    supervisor_fixture_open(&supervisor_fixture, fixture);
    open_sleepy(&patrol, fixture);
    make_fan(fixture, supervisor_fixture.executions, &id);
    claim = flow_fixture_claim(fixture, supervisor_fixture.executions, "root", "anna");

    flow_fixture_settle(fixture, supervisor_fixture.executions, &claim,
                        WEIR_SETTLE_COMPLETE);

    wait_until(
        fixture_ask(fixture, "SELECT count(*) FROM weir_execution WHERE state = 3") == 0);
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_edge WHERE state = 0"), 0);
    patrol_close(&patrol);
    supervisor_fixture_close(&supervisor_fixture);
}

/* ---- what it costs ----------------------------------------------------------------- */

/* An engine whose statements are counted. */
struct counted {
    struct weir_db *db;
    struct weir_fault_points points;
    struct weir_executions *executions;
};

static void counted_open(struct counted *self, struct fixture *fixture)
{
    struct weir_db_options options = fixture_options(fixture);

    *self = (struct counted){.db = fixture_open(fixture, &options)};
    weir_fault_points_init(&self->points);
    weir_db_set_fault_points(self->db, &self->points);
    self->executions = supervisor_fixture_make_flow(fixture, self->db, NULL);
}

static void counted_close(struct counted *self)
{
    weir_executions_destroy(self->executions);
    weir_db_destroy(self->db);
}

static void count(struct counted *self, const char *statement)
{
    weir_fault_points_arm(&self->points, statement, UINT64_MAX);
}

static int64_t counted_get(struct counted *self, int which)
{
    return (int64_t)atomic_load(&self->points.armed[which].passed);
}

/* Whoever waits for work in another process hears of new members as of what is
 * submitted. */
FLOW_POSTGRESQL_TEST(extend, tells_those_who_wait_of_what_can_be_claimed)
{
    struct counted counted;
    struct flow flow;

    counted_open(&counted, fixture);
    count(&counted, "notify waiters");
    graph_open(&flow, fixture, counted.executions);
    graph_add(&flow, "ab", "a>b");
    check_int(counted_get(&counted, 0), 1);
    graph_add(&flow, "c", "b>c"); /* nothing of it can be claimed */

    check_int(counted_get(&counted, 0), 1);
    counted_close(&counted);
}

/* However many there are. */
FLOW_POSTGRESQL_TEST(extend, adds_edges_and_joins_with_one_statement_each)
{
    struct weir_flow_id id;
    struct counted counted;

    counted_open(&counted, fixture);
    count(&counted, "insert edges");
    count(&counted, "insert groups");
    count(&counted, "insert edge");

    make_fan(fixture, counted.executions, &id);

    check_int(counted_get(&counted, 0), 1);
    check_int(counted_get(&counted, 1), 1);
    check_int(counted_get(&counted, 2), 0);
    counted_close(&counted);
}

static bool count_all(void *argument, const char *name)
{
    bool is_point = strchr(name, '.') != NULL;        /* not a statement */
    bool by_time = strcmp(name, "learn floors") == 0; /* after a claim that took long */

    if (!is_point && !by_time)
        (void)atomic_fetch_add((_Atomic int64_t *)argument, 1);
    return false;
}

/* Who is in no flow, and names no budget, does not pay for them. */
FLOW_TEST(execution, in_no_flow_asks_nothing_about_flows_and_budgets)
{
    static const char *const STATEMENTS[] = {
        "resolve edges", "lock groups", "lock group",
        "count ends",    "find budget", "find members",
    };
    enum { COUNT = sizeof STATEMENTS / sizeof STATEMENTS[0] };
    _Atomic int64_t statements = 0;
    struct counted counted;
    struct weir_claim claim;

    counted_open(&counted, fixture);
    for (int i = 0; i < COUNT; i++)
        count(&counted, STATEMENTS[i]);
    (void)flow_fixture_submit(fixture, counted.executions, "orders");
    claim = flow_fixture_claim(fixture, counted.executions, "orders", "anna");
    flow_fixture_settle(fixture, counted.executions, &claim, WEIR_SETTLE_COMPLETE);
    for (int i = 0; i < COUNT; i++)
        check_int(counted_get(&counted, i), 0);

    /* And all in all: as many as before there were flows. Lanes and policies are
     * remembered by now. */
    weir_fault_points_set_oracle(&counted.points, count_all, &statements);
    (void)flow_fixture_submit(fixture, counted.executions, "orders");
    claim = flow_fixture_claim(fixture, counted.executions, "orders", "anna");
    flow_fixture_settle(fixture, counted.executions, &claim, WEIR_SETTLE_COMPLETE);
    check_int(statements, fixture->engine == WEIR_SQLITE ? 7 : 9);
    counted_close(&counted);
}

/* ---- a look for all ---------------------------------------------------------------- */

/* A minute of virtual time with the default intervals. Each by himself would ask 260
 * times. */
FLOW_SQLITE_TEST(reconcilers, share_their_looks_when_nothing_is_due)
{
    struct weir_execution_supervisor_options defaults;
    struct patrol patrol;
    struct script script;

    script_open(&script, IN_SIMULATION);
    patrol_init(&patrol, fixture);
    weir_execution_supervisor_options_init(&defaults);
    memcpy(patrol.options.interval_ms, defaults.interval_ms, sizeof defaults.interval_ms);
    patrol.options.executor = script.executor;
    weir_fault_points_arm(&patrol.points, "next due", UINT64_MAX);
    patrol_start(&patrol);

    weir_sim_run_until(script.sim, weir_sim_now(script.sim) + WEIR_SECONDS(60));

    check_in_range((int64_t)atomic_load(&patrol.points.armed[0].passed), 60000 / 750,
                   60000 / 750 + 10);
    check_in_range((int64_t)patrol_scan(&patrol, WEIR_RECONCILER_LEASE_EXPIRY).cycles, 40,
                   81);
    patrol_close(&patrol);
    script_close(&script);
}
