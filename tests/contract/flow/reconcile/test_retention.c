/*
 * What ended long ago goes, with all that is its; what others still need stays.
 */
#include "contract/flow/flow/graphs.h"
#include "contract/flow/reconcile/supervisor_fixture.h"
#include "contract/flow/wait/suspended.h"
#include "weir/budget.h"

/* Everything that has ended is old enough. */
static void keep_env(struct patrol *patrol, struct fixture *fixture)
{
    patrol_init(patrol, fixture);
    patrol->options.retention_ms = 1;
    patrol_start(patrol);
}

static void let_it_look(struct patrol *patrol)
{
    patrol_wait(patrol, WEIR_RECONCILER_HOUSEKEEPING);
    check_int(patrol_scan(patrol, WEIR_RECONCILER_HOUSEKEEPING).ticks_failed, 0);
}

static int64_t count_of(struct fixture *fixture, const char *table)
{
    char sql[128];

    (void)snprintf(sql, sizeof sql, "SELECT count(*) FROM weir_%s", table);
    return fixture_ask(fixture, sql);
}

/* ---- executions -------------------------------------------------------------------- */

FLOW_TEST(retention, takes_waitpoints_and_signals_with_the_execution)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct wait gone, left;
    struct patrol patrol;

    wait_open(&gone, fixture, executions, "2 of signals ok@a");
    check_str(wait_tell(&gone, fixture, 0, "ok"), "kept");
    check_db(weir_execution_cancel(executions, &gone.id, "no", &fixture->error), WEIR_OK);
    wait_open(&left, fixture, executions, "2 of signals ok@a");
    check_str(wait_tell(&left, fixture, 0, "ok"), "kept");
    keep_env(&patrol, fixture);

    wait_until(count_of(fixture, "execution") == 1);
    check_int(count_of(fixture, "suspension"), 1);
    check_int(count_of(fixture, "waitpoint"), 4);
    check_int(count_of(fixture, "signal"), 1);
    check_str(flow_fixture_state(fixture, executions, &left.id), "suspended");
    patrol_close(&patrol);
    weir_executions_destroy(executions);
}

static const struct weir_budget_limit TOKENS = {"tokens", 1000, 0};
static const struct weir_budget_limit CENTS = {"cents", 1000, 0};

static void make_budget(struct fixture *fixture, struct weir_executions *executions,
                        const char *name)
{
    struct weir_budget_limit limits[] = {TOKENS, CENTS};
    struct weir_budget_draft draft = {.name = name, .limits = limits, .limit_count = 2};

    check_db(weir_budget_create(executions, &draft, NULL, &fixture->error), WEIR_OK);
}

static void spend(struct fixture *fixture, struct weir_executions *executions,
                  const char *name, const struct weir_execution_id *id, int64_t amount)
{
    struct weir_amount amounts[] = {{"tokens", amount}, {"cents", 2 * amount}};
    struct weir_budget_answer answer;

    check_db(weir_budget_report(executions, name, id, amounts, 2, NULL, &answer,
                                &fixture->error),
             WEIR_OK);
    check_int(answer.spending, WEIR_SPENT);
}

/* Dimensions whose ledger does not add up. */
static int64_t unbalanced(struct fixture *fixture)
{
    return fixture_ask(
        fixture, "SELECT count(*) FROM weir_usage u JOIN weir_budget b ON b.no = u.budget"
                 " WHERE u.used <> (SELECT coalesce(sum(s.amount), 0) FROM weir_spent s"
                 " WHERE s.budget = u.budget AND s.dimension = u.dimension"
                 " AND s.era = b.era)");
}

static struct weir_execution_id end_one(struct fixture *fixture,
                                        struct weir_executions *executions)
{
    struct weir_execution_id id = flow_fixture_submit(fixture, executions, "orders");
    struct weir_claim claim = flow_fixture_claim(fixture, executions, "orders", "anna");

    flow_fixture_settle(fixture, executions, &claim, WEIR_SETTLE_COMPLETE);
    return id;
}

FLOW_TEST(retention, leaves_the_ledger_of_budgets_in_balance)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_id ids[5], running;
    struct patrol patrol;

    make_budget(fixture, executions, "llm");
    make_budget(fixture, executions, "mail");
    for (int i = 0; i < 5; i++)
        ids[i] = end_one(fixture, executions);
    running = flow_fixture_submit(fixture, executions, "orders");
    spend(fixture, executions, "llm", &ids[0], 100); /* of an era that is over */
    spend(fixture, executions, "mail", NULL, 50);
    check_db(weir_budget_reset(executions, "llm", &fixture->error), WEIR_OK);
    check_db(weir_budget_reset(executions, "mail", &fixture->error), WEIR_OK);
    spend(fixture, executions, "llm", NULL, 1);
    for (int i = 1; i < 5; i++)
        spend(fixture, executions, "llm", &ids[i], 10);
    spend(fixture, executions, "mail", &ids[0], 5);
    spend(fixture, executions, "mail", &running, 7);
    check_int(unbalanced(fixture), 0);
    keep_env(&patrol, fixture);

    wait_until(count_of(fixture, "execution") == 1);
    check_int(unbalanced(fixture), 0);
    check_int(fixture_ask(fixture, "SELECT sum(amount) FROM weir_spent WHERE no = 0"),
              41 + 82 + 5 + 10);
    check_int(count_of(fixture, "spent"), 4 + 2);
    check_db(weir_budget_release(executions, "mail", &running, &fixture->error), WEIR_OK);
    check_int(unbalanced(fixture), 0);
    patrol_close(&patrol);
    weir_executions_destroy(executions);
}

FLOW_TEST(retention, folds_amounts_however_large)
{
    static const struct weir_budget_limit NONE = {"tokens", 0, 0};
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_budget_draft draft = {.name = "llm", .limits = &NONE, .limit_count = 1};
    struct weir_amount amount = {"tokens", INT64_MAX / 3};
    struct weir_budget_answer answer;
    struct patrol patrol;

    check_db(weir_budget_create(executions, &draft, NULL, &fixture->error), WEIR_OK);
    for (int i = 0; i < 3; i++) {
        struct weir_execution_id id = end_one(fixture, executions);

        check_db(weir_budget_report(executions, "llm", &id, &amount, 1, NULL, &answer,
                                    &fixture->error),
                 WEIR_OK);
    }
    keep_env(&patrol, fixture);

    wait_until(count_of(fixture, "execution") == 0);
    check_int(fixture_ask(fixture, "SELECT amount FROM weir_spent"), INT64_MAX / 3 * 3);
    patrol_close(&patrol);
    weir_executions_destroy(executions);
}

/* ---- flows ------------------------------------------------------------------------- */

FLOW_TEST(retention, keeps_members_as_long_as_their_flow_goes_on)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct flow flow;
    struct patrol patrol;

    graph_open(&flow, fixture, executions);
    graph_add(&flow, "abc", "a>c b>c");
    graph_end(&flow, 'a', WEIR_SETTLE_COMPLETE);
    (void)end_one(fixture, executions);
    keep_env(&patrol, fixture);
    wait_until(count_of(fixture, "execution") == 3);
    let_it_look(&patrol);
    check_str(graph_states(&flow), "a:completed b:waiting c:waiting_children");

    graph_end(&flow, 'b', WEIR_SETTLE_COMPLETE);
    graph_end(&flow, 'c', WEIR_SETTLE_COMPLETE);
    wait_until(count_of(fixture, "flow") == 0);
    check_int(count_of(fixture, "execution"), 0);
    check_int(count_of(fixture, "edge"), 0);
    check_int(count_of(fixture, "edge_group"), 0);
    wait_until(patrol_scan(&patrol, WEIR_RECONCILER_HOUSEKEEPING).processed == 1 + 3 + 1);
    patrol_close(&patrol);
    weir_executions_destroy(executions);
}

FLOW_TEST(retention, of_a_cancelled_flow_begins_when_its_members_have_ended)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_claim claim;
    struct flow flow;
    struct patrol patrol;

    graph_open(&flow, fixture, executions);
    graph_add(&flow, "ab", "");
    claim = graph_claim(&flow, 'a');
    check_db(weir_flow_cancel(executions, &flow.id, WEIR_CANCEL_PENDING, "enough", NULL,
                              &fixture->error),
             WEIR_OK);
    fixture_prepare(fixture, "UPDATE {p}_flow SET ended_us = 1");
    keep_env(&patrol, fixture);
    let_it_look(&patrol);
    check_str(graph_states(&flow), "a:active b:cancelled");
    patrol_close(&patrol);

    flow_fixture_settle(fixture, executions, &claim, WEIR_SETTLE_COMPLETE);
    check(graph_info(&flow).ended_us > 1);
    check_str(graph_state(&flow), "cancelled");
    keep_env(&patrol, fixture);
    wait_until(count_of(fixture, "flow") + count_of(fixture, "execution") == 0);
    patrol_close(&patrol);
    weir_executions_destroy(executions);
}

FLOW_TEST(retention, keeps_flows_for_ever_when_told_so)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct flow flow;
    struct patrol patrol;

    graph_open(&flow, fixture, executions);
    graph_add(&flow, "a", "");
    graph_end(&flow, 'a', WEIR_SETTLE_COMPLETE);
    patrol_init(&patrol, fixture);
    patrol.options.retention_ms = 0;
    patrol_start(&patrol);

    let_it_look(&patrol);
    check_str(graph_state(&flow), "completed");
    patrol_close(&patrol);
    weir_executions_destroy(executions);
}

FLOW_TEST(retention, of_flows_is_left_to_others_by_who_looks_after_a_tag_or_namespace)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct flow flow;
    struct patrol tagged, elsewhere, here;

    graph_open(&flow, fixture, executions);
    graph_add(&flow, "a", "");
    graph_end(&flow, 'a', WEIR_SETTLE_COMPLETE);
    patrol_init(&tagged, fixture);
    tagged.options.retention_ms = 1;
    tagged.options.tag_key = "app.zone";
    tagged.options.tag_value = "west";
    patrol_start(&tagged);
    patrol_init(&elsewhere, fixture);
    elsewhere.options.retention_ms = 1;
    elsewhere.options.name_space = "elsewhere";
    patrol_start(&elsewhere);
    let_it_look(&tagged);
    let_it_look(&elsewhere);
    check_str(graph_state(&flow), "completed");

    patrol_init(&here, fixture);
    here.options.retention_ms = 1;
    here.options.name_space = "default";
    patrol_start(&here);
    wait_until(count_of(fixture, "flow") == 0);
    patrol_close(&here);
    patrol_close(&elsewhere);
    patrol_close(&tagged);
    weir_executions_destroy(executions);
}

/* Somebody has marked it, and died. */
FLOW_TEST(removed_flow, is_found_by_nobody_and_nothing_of_it_begins_anew)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_flow_draft draft = {.kind = "order"};
    struct weir_flow_filter filter = {.count = 9};
    struct weir_flow_info info = {.members = 77};
    struct weir_flow_id id;
    struct flow flow;
    struct patrol patrol;
    int64_t next;

    graph_open(&flow, fixture, executions);
    graph_add(&flow, "ab", "a>b");
    graph_end(&flow, 'a', WEIR_SETTLE_FAIL);
    fixture_prepare(fixture, "UPDATE {p}_flow SET state = 4");

    check_db(weir_flow_get(executions, &flow.id, graph_note, &info, &fixture->error),
             WEIR_NOT_FOUND);
    check_db(
        weir_flow_list(executions, &filter, graph_note, &info, &next, &fixture->error),
        WEIR_OK);
    check_int(info.members, 77);
    check_db(weir_flow_of(executions, graph_member(&flow, 'a'), &id, &fixture->error),
             WEIR_NO_ROW);
    check(!flow_fixture_see(fixture, executions, graph_member(&flow, 'a')).info.has_flow);
    check_status(graph_try(&flow, "c", "", NULL, 0), WEIR_NOT_FOUND);
    check_db(weir_execution_replay(executions, graph_member(&flow, 'a'), &fixture->error),
             WEIR_NOT_FOUND);
    check_str(graph_states(&flow), "a:failed b:skipped");
    draft.id = &flow.id;
    check_db(weir_flow_create(executions, &draft, &id, &fixture->error), WEIR_MISMATCH);

    keep_env(&patrol, fixture);
    wait_until(count_of(fixture, "flow") + count_of(fixture, "execution") == 0);
    patrol_close(&patrol);
    check_db(weir_flow_create(executions, &draft, &id, &fixture->error), WEIR_OK);
    weir_executions_destroy(executions);
}

#define SERIES(count)                                                                    \
    "WITH RECURSIVE s (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < " count ")"

/* Flows 1 to 1500 with a member each, but for the first, which has 2501. */
static void pile_up(struct fixture *fixture)
{
    char sql[512];
    const char *uuid = fixture->engine == WEIR_SQLITE ? "CAST(printf('%016d', n) AS BLOB)"
                                                      : "int8send(n) || int8send(n)";

    (void)snprintf(sql, sizeof sql,
                   "INSERT INTO {p}_flow (uuid, part, state, members, created_us,"
                   " ended_us, namespace, kind) " SERIES("1500") " SELECT %s, 0, 1, 1, 1,"
                                                                 " n, 'default', 'order'"
                                                                 " FROM s",
                   uuid);
    fixture_prepare(fixture, sql);
    (void)snprintf(sql, sizeof sql,
                   "INSERT INTO {p}_execution (uuid, digest, part, state, hold, pending,"
                   " lane, capset, policy, priority, flow, created_us, due_us,"
                   " deadline_us, ended_us, namespace, kind) " SERIES(
                       "4000") " SELECT %s, %s, 0, 10, 0, 0, 1, 0, 2, 0,"
                               " CASE WHEN n <= 1500 THEN n ELSE 1 END, 1, 0, 0, 1,"
                               " 'default', 'mail' FROM s",
                   uuid, uuid);
    fixture_prepare(fixture, sql);
    fixture_prepare(fixture, "INSERT INTO {p}_edge (upstream, downstream, flow, state,"
                             " passes_data, opened_epoch) " SERIES(
                                 "2500") " SELECT 1, n + 1500, 1, 1, 0, 1 FROM s");
}

FLOW_TEST(retention, of_many_flows_by_two_at_once_removes_all_of_them_once)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct patrol patrols[2];

    (void)end_one(fixture, executions); /* so that there are terms */
    fixture_prepare(fixture, "DELETE FROM {p}_attempt");
    fixture_prepare(fixture, "DELETE FROM {p}_result");
    fixture_prepare(fixture, "DELETE FROM {p}_execution");
    pile_up(fixture);
    for (int i = 0; i < 2; i++)
        keep_env(&patrols[i], fixture);

    wait_until(count_of(fixture, "flow") == 0);
    check_int(count_of(fixture, "execution"), 0);
    check_int(count_of(fixture, "edge"), 0);
    let_it_look(&patrols[0]);
    let_it_look(&patrols[1]);
    check_int(patrol_scan(&patrols[0], WEIR_RECONCILER_HOUSEKEEPING).processed +
                  patrol_scan(&patrols[1], WEIR_RECONCILER_HOUSEKEEPING).processed,
              4000 + 1500);
    patrol_close(&patrols[1]);
    patrol_close(&patrols[0]);
    weir_executions_destroy(executions);
}

/* ---- keys and secrets -------------------------------------------------------------- */

FLOW_TEST(housekeeping, forgets_the_key_of_a_report_which_then_counts_again)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_amount amount = {"tokens", 10};
    struct weir_budget_answer answer;
    struct patrol patrol;

    make_budget(fixture, executions, "llm");
    for (int i = 0; i < 2; i++)
        check_db(weir_budget_report(executions, "llm", NULL, &amount, 1, "monday",
                                    &answer, &fixture->error),
                 WEIR_OK);
    check_int(answer.spending, WEIR_SPENT_BEFORE);
    keep_env(&patrol, fixture);
    let_it_look(&patrol);
    check_int(count_of(fixture, "idempotency"), 1);
    fixture_prepare(fixture,
                    "UPDATE {p}_idempotency SET until_us = until_us - 86400000000");

    wait_until(count_of(fixture, "idempotency") == 0);
    check_db(weir_budget_report(executions, "llm", NULL, &amount, 1, "monday", &answer,
                                &fixture->error),
             WEIR_OK);
    check_int(answer.spending, WEIR_SPENT);
    patrol_close(&patrol);
    weir_executions_destroy(executions);
}

FLOW_TEST(housekeeping, forgets_a_secret_whose_grace_is_over_and_keeps_the_others)
{
    static const uint8_t SECRET[WEIR_SECRET_SIZE] = {1, 2, 3};
    static const uint8_t OTHER[WEIR_SECRET_SIZE] = {4, 5, 6};
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct patrol patrol;
    struct wait wait;

    wait_open(&wait, fixture, executions, "ok@a");
    check_db(weir_executions_rotate_key(executions, "k2", SECRET, 1, &fixture->error),
             WEIR_OK);
    check_db(weir_executions_rotate_key(executions, "k3", OTHER, 600000, &fixture->error),
             WEIR_OK);
    check_int(count_of(fixture, "secret"), 3);
    keep_env(&patrol, fixture);

    wait_until(count_of(fixture, "secret") == 2);
    let_it_look(&patrol);
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_secret"
                                   " WHERE key_id IN ('k2', 'k3')"),
              2);
    patrol_close(&patrol);
    weir_executions_destroy(executions);
}
