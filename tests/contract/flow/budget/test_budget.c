/*
 * Budgets: what is counted, what is refused, who is held back, and until when.
 */
#include "contract/flow/flow_fixture.h"
#include "contract/flow/reconcile/supervisor_fixture.h"
#include "weir/budget.h"

static const struct weir_budget_limit TOKENS[] = {{"tokens", 100, 80}};

static void make(struct fixture *fixture, struct weir_executions *executions,
                 const char *name, int64_t period_ms)
{
    struct weir_budget_draft draft = {
        .name = name, .period_ms = period_ms, .limits = TOKENS, .limit_count = 1};

    check_db(weir_budget_create(executions, &draft, NULL, &fixture->error), WEIR_OK);
}

static struct weir_budget_answer report(struct fixture *fixture,
                                        struct weir_executions *executions,
                                        const struct weir_execution_id *id,
                                        int64_t tokens, const char *key)
{
    struct weir_amount amount = {"tokens", tokens};
    struct weir_budget_answer answer;

    check_db(weir_budget_report(executions, "llm", id, &amount, 1, key, &answer,
                                &fixture->error),
             WEIR_OK);
    return answer;
}

/* "tokens 90/100/80, 1 hard, 2 soft" */
struct view {
    char text[256];
    int64_t waiting;
    int64_t next_reset_us;
};

static void note(void *state, const struct weir_budget_info *info)
{
    struct view *self = state;
    size_t used = 0;

    for (size_t i = 0; i < info->usage_count; i++)
        used += (size_t)snprintf(
            self->text + used, sizeof self->text - used, "%s %lld/%lld/%lld, ",
            info->usage[i].dimension, (long long)info->usage[i].used,
            (long long)info->usage[i].hard, (long long)info->usage[i].soft);
    (void)snprintf(self->text + used, sizeof self->text - used, "%lld hard, %lld soft",
                   (long long)info->hard_breaches, (long long)info->soft_breaches);
    self->waiting = info->waiting;
    self->next_reset_us = info->next_reset_us;
}

static struct view see(struct fixture *fixture, struct weir_executions *executions)
{
    struct view view = {.text = ""};

    check_db(weir_budget_get(executions, "llm", note, &view, &fixture->error), WEIR_OK);
    return view;
}

FLOW_TEST(report, counts_and_tells_of_soft_and_hard_limits)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_budget_answer answer;

    make(fixture, executions, "llm", 0);
    check_int(report(fixture, executions, NULL, 80, NULL).spending, WEIR_SPENT);
    answer = report(fixture, executions, NULL, 10, NULL);
    check_int(answer.spending, WEIR_SPENT_OVER_SOFT);
    check_str(answer.dimension, "tokens");
    check_int(answer.used, 90);
    check_int(answer.limit, 80);
    answer = report(fixture, executions, NULL, 11, NULL);
    check_int(answer.spending, WEIR_NOT_SPENT);
    check_int(answer.used, 90);
    check_int(answer.limit, 100);
    check_str(see(fixture, executions).text, "tokens 90/100/80, 1 hard, 1 soft");
    check_int(report(fixture, executions, NULL, 10, NULL).spending, WEIR_SPENT_OVER_SOFT);
    weir_executions_destroy(executions);
}

FLOW_TEST(report, beyond_a_hard_limit_of_one_dimension_counts_nothing_of_the_others)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_amount amounts[] = {{"calls", 1}, {"tokens", 101}};
    struct weir_budget_answer answer;

    make(fixture, executions, "llm", 0);
    check_db(weir_budget_report(executions, "llm", NULL, amounts, 2, NULL, &answer,
                                &fixture->error),
             WEIR_OK);
    check_int(answer.spending, WEIR_NOT_SPENT);
    check_str(see(fixture, executions).text, "tokens 0/100/80, 1 hard, 0 soft");
    amounts[1].amount = 100;
    check_db(weir_budget_report(executions, "llm", NULL, amounts, 2, NULL, &answer,
                                &fixture->error),
             WEIR_OK);
    check_str(see(fixture, executions).text,
              "calls 1/0/0, tokens 100/100/80, 1 hard, 1 soft");
    weir_executions_destroy(executions);
}

FLOW_TEST(report, with_a_key_counts_once_unless_it_was_refused)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_amount amount = {"tokens", 6};
    struct weir_budget_answer answer;

    make(fixture, executions, "llm", 0);
    check_int(report(fixture, executions, NULL, 95, "big").spending,
              WEIR_SPENT_OVER_SOFT);
    check_int(report(fixture, executions, NULL, 6, "small").spending, WEIR_NOT_SPENT);
    check_db(weir_budget_reset(executions, "llm", &fixture->error), WEIR_OK);
    check_int(report(fixture, executions, NULL, 6, "small").spending, WEIR_SPENT);
    check_int(report(fixture, executions, NULL, 6, "small").spending, WEIR_SPENT_BEFORE);
    check_db(weir_budget_report(executions, "llm", NULL, &amount, 1, "big", &answer,
                                &fixture->error),
             WEIR_MISMATCH);
    check_str(see(fixture, executions).text, "tokens 6/100/80, 1 hard, 1 soft");
    weir_executions_destroy(executions);
}

FLOW_TEST(release, gives_back_what_one_execution_has_used)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_id one = flow_fixture_submit(fixture, executions, "a");
    struct weir_execution_id other = flow_fixture_submit(fixture, executions, "a");

    make(fixture, executions, "llm", 0);
    (void)report(fixture, executions, &one, 10, NULL);
    (void)report(fixture, executions, &one, 20, NULL);
    (void)report(fixture, executions, &other, 40, NULL);
    check_db(weir_budget_release(executions, "llm", &one, &fixture->error), WEIR_OK);
    check_str(see(fixture, executions).text, "tokens 40/100/80, 0 hard, 0 soft");
    check_db(weir_budget_release(executions, "llm", &one, &fixture->error), WEIR_OK);
    check_str(see(fixture, executions).text, "tokens 40/100/80, 0 hard, 0 soft");
    weir_executions_destroy(executions);
}

FLOW_TEST(release, after_a_reset_gives_nothing_back)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_id one = flow_fixture_submit(fixture, executions, "a");

    make(fixture, executions, "llm", 0);
    (void)report(fixture, executions, &one, 30, NULL);
    check_db(weir_budget_reset(executions, "llm", &fixture->error), WEIR_OK);
    (void)report(fixture, executions, NULL, 50, NULL);
    check_db(weir_budget_release(executions, "llm", &one, &fixture->error), WEIR_OK);
    check_str(see(fixture, executions).text, "tokens 50/100/80, 0 hard, 0 soft");
    weir_executions_destroy(executions);
}

FLOW_TEST(create, twice_is_once_and_something_else_is_refused)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_budget_draft draft = {.name = "llm", .limits = TOKENS, .limit_count = 1};
    bool existed = true;

    check_db(weir_budget_create(executions, &draft, &existed, &fixture->error), WEIR_OK);
    check(!existed);
    check_db(weir_budget_create(executions, &draft, &existed, &fixture->error), WEIR_OK);
    check(existed);
    draft.period_ms = 1000;
    check_db(weir_budget_create(executions, &draft, &existed, &fixture->error),
             WEIR_MISMATCH);
    draft.period_ms = 999;
    check_db(weir_budget_create(executions, &draft, &existed, &fixture->error),
             WEIR_INVALID);
    weir_executions_destroy(executions);
}

FLOW_TEST(amount, below_zero_is_refused_and_names_it)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_amount amount = {"tokens", -1};
    struct weir_budget_answer answer;

    make(fixture, executions, "llm", 0);
    check_db(weir_budget_report(executions, "llm", NULL, &amount, 1, NULL, &answer,
                                &fixture->error),
             WEIR_OUT_OF_RANGE);
    check(strstr(fixture->error.text, "amount is -1, must be at least 0") != NULL);
    amount.amount = 1;
    check_db(weir_budget_report(executions, "none", NULL, &amount, 1, NULL, &answer,
                                &fixture->error),
             WEIR_NOT_FOUND);
    check_str(see(fixture, executions).text, "tokens 0/100/80, 0 hard, 0 soft");
    weir_executions_destroy(executions);
}

/* ---- admission --------------------------------------------------------------------- */

static struct weir_execution_id submit_charged(struct fixture *fixture,
                                               struct weir_executions *executions)
{
    static const char *const BUDGETS[] = {"llm"};
    struct weir_execution_draft draft = flow_fixture_draft("orders");

    draft.budgets = BUDGETS;
    draft.budget_count = 1;
    return flow_fixture_submit_draft(fixture, executions, &draft);
}

static size_t claim_some(struct fixture *fixture, struct weir_executions *executions)
{
    static const char *const LANES[] = {"orders"};
    const struct weir_claim_options options = flow_fixture_claimant(LANES, "anna");
    struct weir_claim claims[8];

    return flow_fixture_claim_many(fixture, executions, &options, claims, 8);
}

FLOW_TEST(claim, passes_over_what_would_exceed_a_budget_and_lets_others_through)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_id charged;

    make(fixture, executions, "llm", 0);
    charged = submit_charged(fixture, executions);
    (void)flow_fixture_submit(fixture, executions, "orders");
    (void)report(fixture, executions, NULL, 100, NULL);
    check_int(claim_some(fixture, executions), 1);
    check_str(flow_fixture_state(fixture, executions, &charged), "rate_limited");
    check_str(flow_fixture_see(fixture, executions, &charged).info.blocked_by,
              "waiting_for_budget");
    check_int(see(fixture, executions).waiting, 1);
    weir_executions_destroy(executions);
}

/* The budget stays exceeded, so nothing clears up behind them. */
FLOW_TEST(budget, does_not_count_those_who_have_ended_as_waiting)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_id first, second;

    make(fixture, executions, "llm", 0);
    first = submit_charged(fixture, executions);
    second = submit_charged(fixture, executions);
    (void)report(fixture, executions, NULL, 100, NULL);
    check_int(claim_some(fixture, executions), 0);
    check_int(see(fixture, executions).waiting, 2);
    check_db(weir_execution_cancel(executions, &first, NULL, &fixture->error), WEIR_OK);
    check_int(see(fixture, executions).waiting, 1);
    check_db(weir_execution_cancel(executions, &second, NULL, &fixture->error), WEIR_OK);
    check_int(see(fixture, executions).waiting, 0);
    weir_executions_destroy(executions);
}

FLOW_TEST(budget, that_is_reset_lets_in_who_waited)
{
    struct weir_execution_id charged;
    struct patrol patrol;
    struct supervisor_fixture supervisor_fixture;

    supervisor_fixture_open(&supervisor_fixture, fixture);
    make(fixture, supervisor_fixture.executions, "llm", 0);
    charged = submit_charged(fixture, supervisor_fixture.executions);
    (void)report(fixture, supervisor_fixture.executions, NULL, 100, NULL);
    check_int(claim_some(fixture, supervisor_fixture.executions), 0);
    patrol_open(&patrol, fixture);
    check_str(flow_fixture_state(fixture, supervisor_fixture.executions, &charged),
              "rate_limited");
    check_db(weir_budget_reset(supervisor_fixture.executions, "llm", &fixture->error),
             WEIR_OK);
    wait_until(
        strcmp(flow_fixture_state(fixture, supervisor_fixture.executions, &charged),
               "waiting") == 0);
    check_int(claim_some(fixture, supervisor_fixture.executions), 1);
    check_int(see(fixture, supervisor_fixture.executions).waiting, 0);
    patrol_close(&patrol);
    supervisor_fixture_close(&supervisor_fixture);
}

FLOW_TEST(budget_reset, comes_with_the_period_and_does_not_drift)
{
    struct patrol patrol;
    struct supervisor_fixture supervisor_fixture;
    int64_t first_us;

    supervisor_fixture_open(&supervisor_fixture, fixture);
    make(fixture, supervisor_fixture.executions, "llm", 1000);
    first_us = see(fixture, supervisor_fixture.executions).next_reset_us;
    (void)report(fixture, supervisor_fixture.executions, NULL, 70, NULL);
    patrol_open(&patrol, fixture);
    wait_until(
        strncmp(see(fixture, supervisor_fixture.executions).text, "tokens 0/", 9) == 0);
    check_int((see(fixture, supervisor_fixture.executions).next_reset_us - first_us) %
                  1000000,
              0);
    patrol_close(&patrol);
    supervisor_fixture_close(&supervisor_fixture);
}

FLOW_TEST(submit, with_a_budget_that_is_not_there_creates_nothing)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    static const char *const BUDGETS[] = {"llm"};
    struct weir_execution_draft drafts[2] = {flow_fixture_draft("orders"),
                                             flow_fixture_draft("orders")};

    drafts[1].budgets = BUDGETS;
    drafts[1].budget_count = 1;
    check_db(weir_execution_submit(executions, NULL, drafts, 2, NULL, &fixture->error),
             WEIR_NOT_FOUND);
    check_int(claim_some(fixture, executions), 0);
    weir_executions_destroy(executions);
}

/* "acme 0, llm 70": names, and what is used. */
static void write_name(void *state, const struct weir_budget_info *info)
{
    struct view *self = state;
    size_t used = strlen(self->text);

    (void)snprintf(self->text + used, sizeof self->text - used, "%s%s %lld",
                   used > 0 ? ", " : "", info->name, (long long)info->usage[0].used);
}

FLOW_TEST(budgets, of_an_execution_are_those_that_it_named)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    static const char *const BUDGETS[] = {"llm", "acme"};
    struct weir_execution_draft draft = flow_fixture_draft("orders");
    struct view view = {.text = ""};
    struct weir_execution_id id, plain;

    make(fixture, executions, "llm", 0);
    make(fixture, executions, "acme", 0);
    make(fixture, executions, "other", 0);
    draft.budgets = BUDGETS;
    draft.budget_count = 2;
    id = flow_fixture_submit_draft(fixture, executions, &draft);
    plain = flow_fixture_submit(fixture, executions, "orders");
    (void)report(fixture, executions, &id, 70, NULL);
    (void)report(fixture, executions, &plain, 1,
                 NULL); /* not charged to it, all the same */
    check_db(weir_budget_of(executions, &id, write_name, &view, &fixture->error),
             WEIR_OK);
    check_str(view.text, "acme 0, llm 71");

    view.text[0] = '\0';
    check_db(weir_budget_of(executions, &plain, write_name, &view, &fixture->error),
             WEIR_OK);
    check_str(view.text, "");
    id.uuid[3] ^= 1;
    check_db(weir_budget_of(executions, &id, write_name, &view, &fixture->error),
             WEIR_NOT_FOUND);
    weir_executions_destroy(executions);
}
