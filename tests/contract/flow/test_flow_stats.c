/*
 * Figures for operators: counted as far as it is cheap, by lane and by state, and how
 * late it is for what nobody has looked after.
 */
#include "execution/stats.h"

#include "contract/flow/flow/graphs.h"
#include "contract/flow/wait/suspended.h"
#include "weir/budget.h"

struct lanes {
    char text[512]; /* "letters 1/0/0 orders 2/0/1" */
    int64_t oldest_us;
};

static void note_lane(void *state, const struct weir_lane_stats *lane)
{
    struct lanes *self = state;
    size_t used = strlen(self->text);

    (void)snprintf(self->text + used, sizeof self->text - used, "%s%s %lld/%lld/%lld",
                   used > 0 ? " " : "", lane->lane, (long long)lane->ready,
                   (long long)lane->delayed, (long long)lane->active);
    self->oldest_us = lane->oldest_us;
}

static struct weir_execution_stats read_stats(struct fixture *fixture)
{
    struct weir_connection *connection = fixture_take(fixture);
    struct weir_execution_stats stats;

    check_db(weir_executions_read_stats(connection, &stats, &fixture->error), WEIR_OK);
    fixture_give(fixture, connection);
    return stats;
}

static struct lanes read_lanes(struct fixture *fixture)
{
    struct weir_connection *connection = fixture_take(fixture);
    struct lanes lanes = {.text = ""};

    check_db(weir_executions_read_lanes(connection, note_lane, &lanes, &fixture->error),
             WEIR_OK);
    fixture_give(fixture, connection);
    return lanes;
}

struct held {
    char text[128]; /* "llm 2 exceeded reset" */
};

static void note_held(void *state, const struct weir_held_stats *held)
{
    struct held *self = state;
    size_t used = strlen(self->text);

    (void)snprintf(self->text + used, sizeof self->text - used, "%s%s %lld%s%s",
                   used > 0 ? ", " : "", held->budget, (long long)held->waiting,
                   held->exceeded ? " exceeded" : "", held->is_reset ? " reset" : "");
}

static struct held read_held(struct fixture *fixture)
{
    struct weir_connection *connection = fixture_take(fixture);
    struct held held = {.text = ""};

    check_db(weir_executions_read_held(connection, note_held, &held, &fixture->error),
             WEIR_OK);
    fixture_give(fixture, connection);
    return held;
}

FLOW_TEST(figures, count_by_state_and_by_lane)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_draft draft = flow_fixture_draft("letters");
    struct weir_execution_stats stats;
    struct weir_claim claim;
    struct lanes lanes;

    check_str(read_lanes(fixture).text, "");
    for (int i = 0; i < 4; i++)
        (void)flow_fixture_submit(fixture, executions, "orders");
    claim = flow_fixture_claim(fixture, executions, "orders", "anna");
    flow_fixture_settle(fixture, executions, &claim, WEIR_SETTLE_COMPLETE);
    (void)flow_fixture_claim(fixture, executions, "orders", "anna");
    draft.delay_ms = 3600000;
    (void)flow_fixture_submit_draft(fixture, executions, &draft);
    draft = flow_fixture_draft("empty");
    (void)flow_fixture_submit_draft(fixture, executions, &draft);
    claim = flow_fixture_claim(fixture, executions, "empty", "anna");
    flow_fixture_settle(fixture, executions, &claim, WEIR_SETTLE_COMPLETE);

    stats = read_stats(fixture);
    check_int(stats.ready, 2);
    check_int(stats.delayed, 1);
    check_int(stats.active, 1);
    check_int(stats.ended, 2);
    check_int(stats.late_delay_us, 0);
    check_int(stats.late_lease_us, 0);
    lanes = read_lanes(fixture);
    check_str(lanes.text, "letters 0/1/0 orders 2/0/1");
    check(lanes.oldest_us > 0);
    weir_executions_destroy(executions);
}

FLOW_TEST(figures, count_what_waits_for_others)
{
    static const struct weir_budget_limit LIMIT = {"tokens", 10, 0};
    static const char *const LANES[] = {"paid"};
    static const char *const BUDGET = "llm";
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_budget_draft budget = {
        .name = BUDGET, .limits = &LIMIT, .limit_count = 1};
    struct weir_execution_draft draft = flow_fixture_draft("paid");
    struct weir_claim_options anna = flow_fixture_claimant(LANES, "anna");
    struct weir_amount amount = {"tokens", 10};
    struct weir_budget_answer answer;
    struct weir_execution_stats stats;
    struct weir_claim claims[3];
    struct weir_execution_id gone;
    struct wait wait;
    struct flow flow;

    for (int i = 0; i < 3; i++)
        wait_open(&wait, fixture, executions, "ok@a");
    fixture_prepare(fixture, "UPDATE {p}_execution SET on_timeout = 4, hold = 11"
                             " WHERE no = (SELECT max(no) FROM {p}_execution)");
    graph_open(&flow, fixture, executions);
    graph_add(&flow, "ab", "a>b");
    graph_open(&flow, fixture, executions);
    graph_add(&flow, "ab", "a>b");
    fixture_prepare(fixture, "UPDATE {p}_edge_group SET cancel_us = 1 WHERE downstream ="
                             " (SELECT max(downstream) FROM {p}_edge_group)");
    check_db(weir_budget_create(executions, &budget, NULL, &fixture->error), WEIR_OK);
    draft.budgets = &BUDGET;
    draft.budget_count = 1;
    for (int i = 0; i < 3; i++)
        gone = flow_fixture_submit_draft(fixture, executions, &draft);
    check_db(weir_budget_report(executions, BUDGET, NULL, &amount, 1, NULL, &answer,
                                &fixture->error),
             WEIR_OK);
    check_int(flow_fixture_claim_many(fixture, executions, &anna, claims, 3), 0);
    check_db(weir_execution_cancel(executions, &gone, NULL, &fixture->error), WEIR_OK);

    stats = read_stats(fixture);
    check_int(stats.suspended, 3);
    check_int(stats.escalated, 1);
    check_int(stats.flows, 2);
    check_int(stats.cancelling, 1);
    check(stats.late_cancel_us > WEIR_STATS_LATE_US);
    check_int(stats.held, 2);
    check_str(read_held(fixture).text, "llm 2 exceeded");
    fixture_prepare(fixture, "UPDATE {p}_budget SET next_reset_us = 1");
    fixture_prepare(fixture, "UPDATE {p}_usage SET used = 0");
    check_str(read_held(fixture).text, "llm 2 reset");
    check(read_stats(fixture).late_reset_us > WEIR_STATS_LATE_US);
    weir_executions_destroy(executions);
}

FLOW_TEST(figures, end_where_counting_would_be_dear)
{
    enum { MANY = WEIR_STATS_LANE_MAX + 1 };
    static struct weir_execution_draft drafts[MANY];
    struct weir_executions *executions = flow_fixture_open(fixture);
    char want[64];

    for (size_t i = 0; i < MANY; i++)
        drafts[i] = flow_fixture_draft("orders");
    check_db(weir_execution_submit(executions, NULL, drafts, MANY, NULL, &fixture->error),
             WEIR_OK);

    check_int(read_stats(fixture).ready, MANY);
    (void)snprintf(want, sizeof want, "orders %d/0/0", WEIR_STATS_LANE_MAX);
    check_str(read_lanes(fixture).text, want);
    weir_executions_destroy(executions);
}

FLOW_TEST(figures, say_how_late_it_is_for_each_kind_of_time)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_stats stats;

    for (int i = 0; i < 4; i++)
        (void)flow_fixture_submit(fixture, executions, "orders");
    fixture_prepare(fixture, "UPDATE {p}_execution SET state = 2, due_us = 1"
                             " WHERE no = (SELECT min(no) FROM {p}_execution)");
    fixture_prepare(fixture, "UPDATE {p}_execution SET state = 4, lease_us = 2"
                             " WHERE no = (SELECT min(no) + 1 FROM {p}_execution)");
    fixture_prepare(fixture,
                    "UPDATE {p}_execution SET state = 4, attempt_deadline_us = 3,"
                    " lease_us = 9000000000000000"
                    " WHERE no = (SELECT min(no) + 2 FROM {p}_execution)");
    fixture_prepare(fixture, "UPDATE {p}_execution SET deadline_us = 4"
                             " WHERE no = (SELECT min(no) + 3 FROM {p}_execution)");

    (void)flow_fixture_submit(fixture, executions, "orders");
    fixture_prepare(fixture, "UPDATE {p}_execution SET state = 5, due_us = 5"
                             " WHERE no = (SELECT min(no) + 4 FROM {p}_execution)");

    stats = read_stats(fixture);
    check_int(stats.late_delay_us - stats.late_wait_us, 4);
    check_int(stats.late_delay_us - stats.late_lease_us, 1);
    check_int(stats.late_delay_us - stats.late_attempt_us, 2);
    check_int(stats.late_delay_us - stats.late_deadline_us, 3);
    check(stats.late_deadline_us > WEIR_STATS_LATE_US);
    weir_executions_destroy(executions);
}

SQLITE_TEST(figures, are_none_without_tables_of_executions)
{
    struct weir_connection *connection = fixture_take(fixture);
    bool there = true;

    check_db(weir_executions_are_there(connection, &there, &fixture->error), WEIR_OK);

    check(!there);
    fixture_give(fixture, connection);
}
