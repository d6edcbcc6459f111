/*
 * What an execution belongs to: its flow, whose members come in pages, and the budget
 * it waits for.
 */
#include "contract/flow/flow/graphs.h"
#include "contract/flow/reconcile/reconciler_fixture.h"
#include "weir/budget.h"

/* The lanes of a page, which are the letters of the members. */
struct page {
    char letters[32];
    size_t count;
    int64_t next;
};

static void note(void *state, const struct weir_execution_info *info)
{
    struct page *self = state;

    self->letters[self->count++] = info->lane[0];
    self->letters[self->count] = '\0';
}

static struct page list(struct fixture *fixture, struct weir_executions *executions,
                        const struct weir_execution_filter *filter)
{
    struct page page = {.letters = ""};

    check_db(
        weir_execution_list(executions, filter, note, &page, &page.next, &fixture->error),
        WEIR_OK);
    return page;
}

FLOW_TEST(members, come_in_pages_and_nobody_else_does)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_filter filter = {.count = 2};
    struct flow other, flow;
    struct page page;

    graph_open(&other, fixture, executions);
    graph_open(&flow, fixture, executions);
    graph_add(&flow, "a", "");
    graph_add(&other, "x", "");
    graph_add(&flow, "b", "a>b");
    (void)flow_fixture_submit(fixture, executions, "orders");
    graph_add(&flow, "c", "b>c");
    graph_add(&other, "y", "x>y");
    filter.flow = &flow.id;

    page = list(fixture, executions, &filter);
    check_str(page.letters, "cb");
    check(page.next > 0);
    filter.before = page.next;
    page = list(fixture, executions, &filter);
    check_str(page.letters, "a");
    check_int(page.next, 0);
    weir_executions_destroy(executions);
}

FLOW_TEST(members, are_those_that_the_rest_of_the_filter_allows)
{
    static const struct weir_tag GOLD = {"tenant.plan", "gold"};
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_draft draft = {
        .lane = "c", .kind = "step", .tags = &GOLD, .tag_count = 1};
    struct weir_execution_draft stranger = draft;
    struct weir_flow_extension extension = {
        .members = &draft, .member_count = 1, .revision = -1};
    struct weir_execution_filter filter = {.count = 9};
    struct flow flow;

    graph_open(&flow, fixture, executions);
    graph_add(&flow, "ab", "a>b");
    draft.id = graph_member(&flow, 'c');
    check_db(
        weir_flow_extend(executions, NULL, &flow.id, &extension, NULL, &fixture->error),
        WEIR_OK);
    stranger.lane = "s";
    (void)flow_fixture_submit_draft(fixture, executions, &stranger);
    filter.flow = &flow.id;

    filter.states = 1U << WEIR_STATE_WAITING_CHILDREN;
    check_str(list(fixture, executions, &filter).letters, "b");
    filter.states = 0;
    filter.lane = "a";
    check_str(list(fixture, executions, &filter).letters, "a");
    filter.lane = NULL;
    filter.tag_key = GOLD.key;
    filter.tag_value = GOLD.value;
    check_str(list(fixture, executions, &filter).letters, "c");
    filter.tag_value = "tin";
    check_str(list(fixture, executions, &filter).letters, "");
    weir_executions_destroy(executions);
}

FLOW_TEST(members, of_a_flow_that_is_not_there_are_none)
{
    static const struct weir_flow_id NOBODY = {{7, 7, 7}};
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_filter filter = {.flow = &NOBODY, .count = 2};
    struct page page;

    (void)flow_fixture_submit(fixture, executions, "orders");
    page = list(fixture, executions, &filter);
    check_int(page.count, 0);
    check_int(page.next, 0);
    weir_executions_destroy(executions);
}

FLOW_TEST(execution, names_its_flow)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_id alone = flow_fixture_submit(fixture, executions, "orders");
    struct weir_execution_info info;
    struct flow flow;

    graph_open(&flow, fixture, executions);
    graph_add(&flow, "ab", "a>b");

    info = flow_fixture_see(fixture, executions, graph_member(&flow, 'b')).info;
    check(info.has_flow);
    check(memcmp(&info.flow, &flow.id, sizeof flow.id) == 0);
    check_str(info.blocked_by, "waiting_for_children");
    check(!flow_fixture_see(fixture, executions, &alone).info.has_flow);
    weir_executions_destroy(executions);
}

FLOW_TEST(execution, names_the_budget_that_it_waits_for)
{
    static const struct weir_budget_limit LIMIT = {"tokens", 10, 0};
    static const char *const LANES[] = {"orders"};
    static const char *const BUDGETS[] = {"free", "llm"};
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_draft draft = flow_fixture_draft("orders");
    struct weir_budget_draft budget = {.limits = &LIMIT, .limit_count = 1};
    struct weir_amount amount = {"tokens", 10};
    struct weir_claim_options anna = flow_fixture_claimant(LANES, "anna");
    struct weir_budget_answer answer;
    struct weir_execution_id id;
    struct flow_fixture_view view;
    struct weir_claim claim;

    for (int i = 0; i < 2; i++) {
        budget.name = BUDGETS[i];
        check_db(weir_budget_create(executions, &budget, NULL, &fixture->error), WEIR_OK);
    }
    draft.budgets = BUDGETS;
    draft.budget_count = 2;
    id = flow_fixture_submit_draft(fixture, executions, &draft);
    check_str(flow_fixture_see(fixture, executions, &id).budget, "");
    check_db(weir_budget_report(executions, "llm", NULL, &amount, 1, NULL, &answer,
                                &fixture->error),
             WEIR_OK);
    check_int(flow_fixture_claim_many(fixture, executions, &anna, &claim, 1), 0);

    view = flow_fixture_see(fixture, executions, &id);
    check_int(view.info.state, WEIR_STATE_RATE_LIMITED);
    check_str(view.info.blocked_by, "waiting_for_budget");
    check_str(view.budget, "llm");
    weir_executions_destroy(executions);
}

static void reset(struct fixture *fixture, struct weir_executions *executions)
{
    check_db(weir_budget_reset(executions, "llm", &fixture->error), WEIR_OK);
}

static void use_up(struct fixture *fixture, struct weir_executions *executions)
{
    struct weir_amount amount = {"tokens", 10};
    struct weir_budget_answer answer;

    check_db(weir_budget_report(executions, "llm", NULL, &amount, 1, NULL, &answer,
                                &fixture->error),
             WEIR_OK);
}

/* `b`, which is charged to a budget. */
static void add_charged(struct flow *self)
{
    static const struct weir_budget_limit LIMIT = {"tokens", 10, 0};
    static const char *const BUDGET = "llm";
    const struct weir_budget_draft budget = {
        .name = BUDGET, .limits = &LIMIT, .limit_count = 1};
    const struct weir_execution_draft member = {.id = graph_member(self, 'b'),
                                                .lane = "b",
                                                .kind = "step",
                                                .budgets = &BUDGET,
                                                .budget_count = 1};
    const struct weir_flow_extension extension = {
        .members = &member, .member_count = 1, .revision = -1};
    struct fixture *fixture = self->fixture;

    check_db(weir_budget_create(self->executions, &budget, NULL, &fixture->error),
             WEIR_OK);
    check_db(weir_flow_extend(self->executions, NULL, &self->id, &extension, NULL,
                              &fixture->error),
             WEIR_OK);
    self->there['b' - 'a'] = true;
}

/* It has not begun: nobody was given it. */
FLOW_TEST(extend, makes_members_wait_that_wait_for_a_budget)
{
    static const char *const LANES[] = {"b"};
    const struct weir_claim_options anna = flow_fixture_claimant(LANES, "anna");
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_claim claim;
    struct flow flow;

    graph_open(&flow, fixture, executions);
    graph_add(&flow, "a", "");
    add_charged(&flow);
    use_up(fixture, executions);
    check_int(flow_fixture_claim_many(fixture, executions, &anna, &claim, 1), 0);
    check_str(graph_states(&flow), "a:waiting b:rate_limited");

    graph_add(&flow, "", "a>b");
    check_str(graph_states(&flow), "a:waiting b:waiting_children");
    graph_end(&flow, 'a', WEIR_SETTLE_COMPLETE);
    check_int(flow_fixture_claim_many(fixture, executions, &anna, &claim, 1), 0);
    check_str(graph_states(&flow), "a:completed b:rate_limited");
    weir_executions_destroy(executions);
}

/* The reconciler finds its mark, and another reason. */
FLOW_TEST(budget_reset, leaves_to_others_what_waits_for_them_now)
{
    static const char *const LANES[] = {"b"};
    const struct weir_claim_options anna = flow_fixture_claimant(LANES, "anna");
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_claim claim;
    struct reconciler_fixture reconciler_fixture;
    struct flow flow;

    graph_open(&flow, fixture, executions);
    graph_add(&flow, "a", "");
    add_charged(&flow);
    use_up(fixture, executions);
    check_int(flow_fixture_claim_many(fixture, executions, &anna, &claim, 1), 0);
    graph_add(&flow, "", "a>b");
    reset(fixture, executions);
    reconciler_fixture_open(&reconciler_fixture, fixture, WEIR_RECONCILER_BUDGET_RESET);
    check_status(reconciler_fixture_tick(&reconciler_fixture), WEIR_OK);
    check_str(graph_states(&flow), "a:waiting b:waiting_children");
    graph_end(&flow, 'a', WEIR_SETTLE_COMPLETE);
    check_int(flow_fixture_claim_many(fixture, executions, &anna, &claim, 1), 1);
    reconciler_fixture_close(&reconciler_fixture);
    weir_executions_destroy(executions);
}

/* ---- how a flow stands ------------------------------------------------------------- */

/* Whatever has become of who has begun: another one can be claimed. */
FLOW_TEST(flow, of_which_something_has_begun_is_not_open_any_more)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_settlement late = {.verb = WEIR_SETTLE_DELAY, .delay_ms = 3600 * 1000};
    struct flow flow;

    graph_open(&flow, fixture, executions);
    check_str(graph_state(&flow), "open");
    graph_add(&flow, "abc", "a>c");
    check_str(graph_state(&flow), "open");
    late.claim = graph_claim(&flow, 'a');
    check_str(graph_state(&flow), "running");
    check_db(weir_execution_settle(executions, &late, 1, &fixture->error), WEIR_OK);
    check_str(graph_states(&flow), "a:delayed b:waiting c:waiting_children");
    check_str(graph_state(&flow), "running");
    graph_end(&flow, 'b', WEIR_SETTLE_COMPLETE);
    check_str(graph_state(&flow), "blocked");
    weir_executions_destroy(executions);
}
