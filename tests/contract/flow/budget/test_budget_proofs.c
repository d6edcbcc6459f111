/*
 * What budgets promise whatever happens: the ledger and the counters are the same sum,
 * nobody works beyond a hard limit but who was at it, resets do not drift, and who
 * waits comes back by himself.
 */
#include <sqlite3.h>

#include "base/buf.h"
#include "contract/flow/peer.h"
#include "contract/flow/reconcile/reconciler_fixture.h"
#include "execution/budget/budget_store.h"
#include "execution/engine.h"
#include "execution/store/store_statements.h"
#include "kit/db/explain.h"
#include "weir/budget.h"

static const char *const LANES[] = {"orders"};

static struct weir_budget_draft draft_of(const char *name, int64_t hard,
                                         int64_t period_ms)
{
    static struct weir_budget_limit limits[4];
    static int used;
    struct weir_budget_limit *limit = &limits[used++ % 4];

    *limit = (struct weir_budget_limit){"tokens", hard, 0};
    return (struct weir_budget_draft){
        .name = name, .period_ms = period_ms, .limits = limit, .limit_count = 1};
}

static void make(struct fixture *fixture, struct weir_executions *executions,
                 const char *name, int64_t hard)
{
    struct weir_budget_draft draft = draft_of(name, hard, 0);

    check_db(weir_budget_create(executions, &draft, NULL, &fixture->error), WEIR_OK);
}

static enum weir_spending spend(struct fixture *fixture,
                                struct weir_executions *executions, const char *name,
                                const struct weir_execution_id *id, int64_t amount)
{
    struct weir_amount tokens = {"tokens", amount};
    struct weir_budget_answer answer;

    check_db(weir_budget_report(executions, name, id, &tokens, 1, NULL, &answer,
                                &fixture->error),
             WEIR_OK);
    return answer.spending;
}

static struct weir_execution_id submit(struct fixture *fixture,
                                       struct weir_executions *executions,
                                       const char *const *budgets, size_t count)
{
    struct weir_execution_draft draft = flow_fixture_draft("orders");

    draft.budgets = budgets;
    draft.budget_count = count;
    return flow_fixture_submit_draft(fixture, executions, &draft);
}

static size_t claim_some(struct fixture *fixture, struct weir_executions *executions)
{
    const struct weir_claim_options options = flow_fixture_claimant(LANES, "anna");
    struct weir_claim claims[4];

    return flow_fixture_claim_many(fixture, executions, &options, claims, 4);
}

static int64_t used(struct fixture *fixture)
{
    return fixture_ask(fixture, "SELECT coalesce(sum(used), 0) FROM weir_usage");
}

/* Counters of which the entries of their era are another sum. */
#define DIFFERENCES                                                                      \
    "(SELECT count(*) FROM weir_usage u JOIN weir_budget b ON b.no = u.budget"           \
    " WHERE u.used <> (SELECT coalesce(sum(s.amount), 0) FROM weir_spent s"              \
    " WHERE s.budget = u.budget AND s.dimension = u.dimension AND s.era = b.era))"

static int64_t differences(struct fixture *fixture)
{
    return fixture_ask(fixture, "SELECT " DIFFERENCES);
}

/* Both at once, since asking costs most of the time here: what is used, if there are
 * none. */
static int64_t used_alike(struct fixture *fixture)
{
    return fixture_ask(fixture,
                       "SELECT coalesce(sum(used), 0) - 1000000000 * " DIFFERENCES
                       " FROM weir_usage");
}

/* ---- the ledger -------------------------------------------------------------------- */

/* One call, by somebody whose database fails him. */
enum call { REPORTS, REPORTS_FOR_NONE, RELEASES, RESETS, CHANGES, CALLS };

struct calling {
    struct fixture *fixture;
    struct weir_executions *executions;
    enum call call;
    struct weir_execution_id id;
    const char *key;
};

static enum weir_status call(struct calling *self)
{
    struct weir_amount amounts[] = {{"tokens", 3}, {"calls", 1}, {"tokens", 2}};
    struct weir_budget_draft draft = draft_of("llm", 50, 2000);
    struct weir_budget_answer answer;
    struct weir_error error;

    switch (self->call) {
    case REPORTS:
        return weir_budget_report(self->executions, "llm", &self->id, amounts, 3,
                                  self->key, &answer, &error);
    case REPORTS_FOR_NONE:
        return weir_budget_report(self->executions, "llm", NULL, amounts, 3, self->key,
                                  &answer, &error);
    case RELEASES:
        return weir_budget_release(self->executions, "llm", &self->id, &error);
    case RESETS:
        return weir_budget_reset(self->executions, "llm", &error);
    default:
        return weir_budget_change(self->executions, &draft, &error);
    }
}

/* What is used when the call was made once, of what was used before. */
static int64_t wanted(enum call call, int64_t before)
{
    switch (call) {
    case REPORTS:
    case REPORTS_FOR_NONE:
        return before + 6;
    case RELEASES:
        return before - 7;
    case RESETS:
        return 0;
    default:
        return before;
    }
}

/* Returns false when the call makes fewer. */
static bool survive(struct calling *self, struct peer *peer, const char *fault,
                    uint64_t at)
{
    enum { FAULT = 1 };
    struct fixture *fixture = self->fixture;
    enum weir_status status;
    int64_t before;
    char key[32];
    bool came;

    check_db(weir_budget_release(self->executions, "llm", &self->id, &fixture->error),
             WEIR_OK);
    check_db(weir_budget_reset(self->executions, "llm", &fixture->error), WEIR_OK);
    check_int(spend(fixture, self->executions, "llm", &self->id, 7), WEIR_SPENT);
    check_int(spend(fixture, self->executions, "llm", NULL, 11), WEIR_SPENT);
    before = used_alike(fixture);
    check_int(before, 18);
    (void)snprintf(key, sizeof key, "%s %d %d", fault, (int)self->call, (int)at);
    self->key = key;
    weir_fault_points_arm_once(&peer->points, fault, at);
    self->executions = peer->executions;
    status = call(self);
    came = atomic_load(&peer->points.armed[FAULT].passed) >= at;
    weir_fault_points_arm(&peer->points, fault, UINT64_MAX);
    if (status != WEIR_OK) {
        check_int(differences(fixture), 0);
        check_status(call(self), WEIR_OK);
    }
    check_int(used_alike(fixture), wanted(self->call, before));
    return came;
}

FLOW_TEST(ledger, is_the_sum_of_the_counters_whatever_call_is_cut_short)
{
    static const char *const FAULTS[] = {"db.lose", "db.lose_after_commit"};
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct peer peer;
    struct calling calling = {.fixture = fixture};

    make(fixture, executions, "llm", 100);
    calling.id = flow_fixture_submit(fixture, executions, "orders");
    for (int which = 0; which < CALLS; which++) {
        for (size_t i = 0; i < 2; i++) {
            uint64_t at = 1;

            peer_open(&peer, fixture);
            calling.call = (enum call)which;
            calling.executions = executions;
            while (survive(&calling, &peer, FAULTS[i], at)) {
                calling.executions = executions;
                at++;
            }
            peer_close(&peer);
        }
    }
    weir_executions_destroy(executions);
}

/* What an execution has used stays used when it is removed. */
FLOW_TEST(ledger, is_the_sum_of_the_counters_whatever_removal_is_cut_short)
{
    enum { FAULT = 1 };
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct reconciler_fixture reconciler_fixture;
    bool came = true;
    int64_t before = 0;

    make(fixture, executions, "llm", 100000);
    reconciler_fixture_open(&reconciler_fixture, fixture, WEIR_RECONCILER_HOUSEKEEPING);
    for (uint64_t at = 1; came; at++) {
        struct weir_execution_id id = flow_fixture_submit(fixture, executions, "orders");
        struct weir_claim claim =
            flow_fixture_claim(fixture, executions, "orders", "anna");

        check_int(spend(fixture, executions, "llm", &id, 7), WEIR_SPENT);
        before += 7;
        flow_fixture_settle(fixture, executions, &claim, WEIR_SETTLE_COMPLETE);
        weir_fault_points_arm_once(&reconciler_fixture.points, "db.lose", at);
        reconciler_fixture.task.age_us = 1;
        (void)reconciler_fixture_tick(&reconciler_fixture);
        came = atomic_load(&reconciler_fixture.points.armed[FAULT].passed) >= at;
        weir_fault_points_arm(&reconciler_fixture.points, "db.lose", UINT64_MAX);
        check_int(used_alike(fixture), before);
        check_status(reconciler_fixture_tick(&reconciler_fixture), WEIR_OK);
    }
    check_int(used_alike(fixture), before);
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_execution"), 0);
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_spent"), 1); /* nobody's */
    reconciler_fixture_close(&reconciler_fixture);
    weir_executions_destroy(executions);
}

/* More than can be counted is refused: the two sums would go different ways. */
FLOW_TEST(report, of_more_than_can_be_counted_is_refused_and_counts_nothing)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_amount amounts[] = {{"tokens", INT64_MAX / 2 + 1},
                                    {"tokens", INT64_MAX / 2 + 1}};
    struct weir_budget_answer answer;

    make(fixture, executions, "llm", 0);
    check_db(weir_budget_report(executions, "llm", NULL, amounts, 2, NULL, &answer,
                                &fixture->error),
             WEIR_OUT_OF_RANGE);
    check(strstr(fixture->error.text, "used of \"tokens\" would be more than") != NULL);
    check_int(used(fixture), 0);
    check_int(spend(fixture, executions, "llm", NULL, INT64_MAX / 2 + 1), WEIR_SPENT);
    check_db(weir_budget_report(executions, "llm", NULL, amounts, 1, NULL, &answer,
                                &fixture->error),
             WEIR_OUT_OF_RANGE);
    check_int(used(fixture), INT64_MAX / 2 + 1);
    check_int(differences(fixture), 0);
    weir_executions_destroy(executions);
}

FLOW_TEST(budget, has_32_dimensions_and_no_more)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_budget_draft draft = draft_of("llm", 10, 0);
    struct weir_budget_limit other = {"other", 1, 0};
    struct weir_amount amounts[WEIR_BUDGET_DIMENSIONS_MAX];
    char names[WEIR_BUDGET_DIMENSIONS_MAX][16];
    struct weir_budget_answer answer;

    make(fixture, executions, "llm", 10);
    for (int i = 0; i < WEIR_BUDGET_DIMENSIONS_MAX; i++) {
        (void)snprintf(names[i], sizeof names[i], "n%d", i);
        amounts[i] = (struct weir_amount){names[i], 1};
    }
    check_db(weir_budget_report(executions, "llm", NULL, amounts,
                                WEIR_BUDGET_DIMENSIONS_MAX, NULL, &answer,
                                &fixture->error),
             WEIR_FULL);
    check(strstr(fixture->error.text, "33 dimensions, must have at most 32") != NULL);
    check_int(used(fixture), 0);
    check_db(weir_budget_report(executions, "llm", NULL, amounts,
                                WEIR_BUDGET_DIMENSIONS_MAX - 1, NULL, &answer,
                                &fixture->error),
             WEIR_OK);
    draft.limits = &other;
    check_db(weir_budget_change(executions, &draft, &fixture->error), WEIR_FULL);
    check_int(used(fixture), WEIR_BUDGET_DIMENSIONS_MAX - 1);
    check_int(differences(fixture), 0);
    weir_executions_destroy(executions);
}

FLOW_TEST(report, whose_key_was_used_for_another_execution_is_refused)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_amount tokens = {"tokens", 5};
    struct weir_budget_answer answer;
    struct weir_execution_id first, second;

    make(fixture, executions, "llm", 0);
    first = flow_fixture_submit(fixture, executions, "orders");
    second = flow_fixture_submit(fixture, executions, "orders");
    check_db(weir_budget_report(executions, "llm", &first, &tokens, 1, "once", &answer,
                                &fixture->error),
             WEIR_OK);
    check_db(weir_budget_report(executions, "llm", &second, &tokens, 1, "once", &answer,
                                &fixture->error),
             WEIR_MISMATCH);
    check_db(weir_budget_report(executions, "llm", &first, &tokens, 1, "once", &answer,
                                &fixture->error),
             WEIR_OK);
    check_int(answer.spending, WEIR_SPENT_BEFORE);
    check_int(used(fixture), 5);
    weir_executions_destroy(executions);
}

/* ---- hard limits ------------------------------------------------------------------- */

enum { WORKERS = 6, LIMIT = 25, JOBS = 80 };

struct worker {
    struct peer peer;
    _Atomic int *admitted;
};

/* Each job costs one; who gets none has come to the limit. */
static enum weir_status work(struct weir_executions *executions, void *argument,
                             struct weir_error *error)
{
    const struct weir_claim_options options = flow_fixture_claimant(LANES, "anna");
    struct weir_amount tokens = {"tokens", 1};
    struct worker *self = argument;
    enum weir_status status = WEIR_OK;

    while (status == WEIR_OK) {
        struct weir_claimed *claimed = NULL;
        struct weir_budget_answer answer;
        size_t count = 0;

        status = weir_execution_claim(executions, &options, 1, &claimed, &count, error);
        if (status == WEIR_OK && count == 0)
            return WEIR_OK;
        if (status == WEIR_OK) {
            struct weir_settlement settlement = {.claim = claimed->claim,
                                                 .verb = WEIR_SETTLE_COMPLETE};

            atomic_fetch_add(self->admitted, 1);
            status = weir_budget_report(executions, "llm", &claimed->claim.id, &tokens, 1,
                                        NULL, &answer, error);
            if (status == WEIR_OK)
                status = weir_execution_settle(executions, &settlement, 1, error);
        }
        weir_claimed_free(executions, claimed);
    }
    return status;
}

FLOW_TEST(work, beyond_a_hard_limit_is_what_was_under_way_when_it_was_reached)
{
    static const char *const BUDGETS[] = {"llm"};
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct worker workers[WORKERS];
    _Atomic int admitted = 0;

    make(fixture, executions, "llm", LIMIT);
    for (int i = 0; i < JOBS; i++)
        (void)submit(fixture, executions, BUDGETS, 1);
    for (int i = 0; i < WORKERS; i++) {
        peer_open(&workers[i].peer, fixture);
        workers[i].admitted = &admitted;
    }
    for (int i = 0; i < WORKERS; i++)
        peer_begin(&workers[i].peer, work, &workers[i]);
    for (int i = 0; i < WORKERS; i++) {
        fixture->error = workers[i].peer.error;
        check_db(peer_end(&workers[i].peer), WEIR_OK);
        peer_close(&workers[i].peer);
    }
    check_in_range(admitted, LIMIT, LIMIT + WORKERS - 1);
    check_int(used(fixture), LIMIT);
    check_int(differences(fixture), 0);
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_execution WHERE state = 3"),
              JOBS - admitted);
    weir_executions_destroy(executions);
}

static enum weir_status reset_first(struct weir_executions *executions, void *argument,
                                    struct weir_error *error)
{
    (void)argument;
    return weir_budget_reset(executions, "first", error);
}

static enum weir_status claim_one(struct weir_executions *executions, void *argument,
                                  struct weir_error *error)
{
    const struct weir_claim_options options = flow_fixture_claimant(LANES, "anna");
    struct weir_claimed *claimed = NULL;
    enum weir_status status =
        weir_execution_claim(executions, &options, 1, &claimed, argument, error);

    weir_claimed_free(executions, claimed);
    return status;
}

/* The one that is seen first is reset at this moment, and the other one is not. */
FLOW_TEST(claim, is_held_back_by_a_second_budget_when_the_first_is_reset_meanwhile)
{
    static const char *const BUDGETS[] = {"first", "second"};
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct peer operator, worker;
    struct weir_execution_id id;
    size_t claimed = 7;

    make(fixture, executions, "first", 10);
    make(fixture, executions, "second", 10);
    id = submit(fixture, executions, BUDGETS, 2);
    (void)spend(fixture, executions, "first", NULL, 10);
    (void)spend(fixture, executions, "second", NULL, 10);
    peer_open(&operator, fixture);
    peer_open(&worker, fixture);
    peer_stand(&operator);
    peer_begin(&operator, reset_first, NULL);
    peer_await(&operator);
    peer_begin(&worker, claim_one, &claimed);
    peer_await_lock(&worker);
    peer_go(&operator);
    check_status(peer_end(&operator), WEIR_OK);
    check_status(peer_end(&worker), WEIR_OK);
    check_int(claimed, 0);
    check_str(flow_fixture_state(fixture, executions, &id), "rate_limited");
    peer_close(&worker);
    peer_close(&operator);
    weir_executions_destroy(executions);
}

static enum weir_status claim_two(struct weir_executions *executions, void *argument,
                                  struct weir_error *error)
{
    const char *const *lanes = argument;
    const struct weir_claim_options options = flow_fixture_claimant(lanes, "anna");
    struct weir_claimed *claimed = NULL;
    size_t count = 0;
    enum weir_status status =
        weir_execution_claim(executions, &options, 2, &claimed, &count, error);

    weir_claimed_free(executions, claimed);
    return status == WEIR_OK && count > 0 ? WEIR_MISMATCH : status;
}

static void submit_to(struct fixture *fixture, struct weir_executions *executions,
                      const char *lane, const char *const *budget)
{
    struct weir_execution_draft draft = flow_fixture_draft(lane);

    draft.budgets = budget;
    draft.budget_count = 1;
    (void)flow_fixture_submit_draft(fixture, executions, &draft);
}

/* Each finds two that are held back, by the same two budgets, in opposite orders. */
FLOW_POSTGRESQL_TEST(claims,
                     that_are_held_back_by_the_same_budgets_do_not_wait_for_each_other)
{
    static const char *const FIRST[] = {"first"};
    static const char *const SECOND[] = {"second"};
    static const char *const THERE[] = {"there"};
    static const char *const BACK[] = {"back"};
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct peer anna, bert;

    make(fixture, executions, "first", 10);
    make(fixture, executions, "second", 10);
    submit_to(fixture, executions, "there", FIRST);
    submit_to(fixture, executions, "there", SECOND);
    submit_to(fixture, executions, "back", SECOND);
    submit_to(fixture, executions, "back", FIRST);
    (void)spend(fixture, executions, "first", NULL, 10);
    (void)spend(fixture, executions, "second", NULL, 10);
    peer_open(&anna, fixture);
    peer_open(&bert, fixture);
    weir_fault_points_arm_call(&anna.points, "lock exceeded budget", 2, peer_stop_here,
                               &anna);
    peer_begin(&anna, claim_two, (void *)(uintptr_t)THERE);
    peer_await(&anna);
    peer_begin(&bert, claim_two, (void *)(uintptr_t)BACK);
    peer_await_lock(&bert);
    peer_go(&anna);
    check_status(peer_end(&anna), WEIR_OK);
    check_status(peer_end(&bert), WEIR_OK);
    peer_close(&bert);
    peer_close(&anna);
    check_int(fixture_ask(fixture, "SELECT deadlocks FROM pg_stat_database"
                                   " WHERE datname = current_database()"),
              0);
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_execution WHERE state = 3"),
              4);
    weir_executions_destroy(executions);
}

/* ---- resets ------------------------------------------------------------------------ */

struct times {
    int64_t created_us, next_us, resets;
};

static void note_times(void *state, const struct weir_budget_info *info)
{
    *(struct times *)state =
        (struct times){info->created_us, info->next_reset_us, info->resets};
}

/* Time passes by moving what is stored back. The reconciler comes in time, a little
 * late, or after an outage of many periods: 10,000 of them altogether. */
FLOW_TEST(reset, times_do_not_drift_in_ten_thousand_periods)
{
    enum { PERIOD_MS = 60000, OUTAGES = 100, PERIODS_EACH = 100 };
    const int64_t period_us = PERIOD_MS * 1000;
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_budget_draft draft = draft_of("llm", 100, PERIOD_MS);
    struct reconciler_fixture reconciler_fixture;
    struct times times;
    int64_t passed = 0;

    check_db(weir_budget_create(executions, &draft, NULL, &fixture->error), WEIR_OK);
    reconciler_fixture_open(&reconciler_fixture, fixture, WEIR_RECONCILER_BUDGET_RESET);
    for (int i = 0; i < OUTAGES; i++) {
        int64_t late_us = (i * 7919) % period_us;
        int64_t step_us = PERIODS_EACH * period_us + (i % 3 == 0 ? late_us : 0);
        int64_t now_us = 0;
        struct weir_connection *connection;
        char sql[128];

        (void)snprintf(sql, sizeof sql,
                       "UPDATE {p}_budget SET next_reset_us = next_reset_us - %lld,"
                       " created_us = created_us - %lld",
                       (long long)step_us, (long long)step_us);
        fixture_prepare(fixture, sql);
        passed += PERIODS_EACH;
        check_status(reconciler_fixture_tick(&reconciler_fixture), WEIR_OK);
        check_db(weir_budget_get(executions, "llm", note_times, &times, &fixture->error),
                 WEIR_OK);
        connection = fixture_take(fixture);
        check_db(weir_connection_clock(connection, &now_us, &fixture->error), WEIR_OK);
        fixture_give(fixture, connection);
        check_int((times.next_us - times.created_us) % period_us, 0);
        check(times.next_us > now_us - period_us && times.next_us <= now_us + period_us);
        check_int(times.resets, i + 1); /* once, however many were missed */
    }
    check_int(passed, 10000);
    check_int(reconciler_fixture.report.processed, OUTAGES);
    reconciler_fixture_close(&reconciler_fixture);
    weir_executions_destroy(executions);
}

/* ---- who waits --------------------------------------------------------------------- */

static void raise_it(struct fixture *fixture, struct weir_executions *executions,
                     const struct weir_execution_id *spender)
{
    struct weir_budget_draft draft = draft_of("llm", 1000, 0);

    (void)spender;
    check_db(weir_budget_change(executions, &draft, &fixture->error), WEIR_OK);
}

static void reset_it(struct fixture *fixture, struct weir_executions *executions,
                     const struct weir_execution_id *spender)
{
    (void)spender;
    check_db(weir_budget_reset(executions, "llm", &fixture->error), WEIR_OK);
}

static void release_it(struct fixture *fixture, struct weir_executions *executions,
                       const struct weir_execution_id *spender)
{
    check_db(weir_budget_release(executions, "llm", spender, &fixture->error), WEIR_OK);
}

/* Whoever gives something back is another process than the supervisor, which looks once
 * an hour. */
FLOW_TEST(execution, that_waits_for_a_budget_comes_back_by_itself)
{
    static const char *const BUDGETS[] = {"llm"};
    static void (*const WAYS[])(struct fixture *, struct weir_executions *,
                                const struct weir_execution_id *) = {reset_it, release_it,
                                                                     raise_it};
    struct weir_execution_id spender;
    struct patrol patrol;
    struct supervisor_fixture supervisor_fixture;

    supervisor_fixture_open(&supervisor_fixture, fixture);
    make(fixture, supervisor_fixture.executions, "llm", 10);
    spender = flow_fixture_submit(fixture, supervisor_fixture.executions, "elsewhere");
    patrol_init(&patrol, fixture);
    patrol.options.interval_ms[WEIR_RECONCILER_BUDGET_RESET] = 3600 * 1000;
    patrol_start(&patrol);
    for (size_t i = 0; i < sizeof WAYS / sizeof WAYS[0]; i++) {
        struct weir_execution_id id =
            submit(fixture, supervisor_fixture.executions, BUDGETS, 1);

        check_int(spend(fixture, supervisor_fixture.executions, "llm", &spender, 10),
                  WEIR_SPENT);
        check_int(claim_some(fixture, supervisor_fixture.executions), 0);
        check_str(flow_fixture_state(fixture, supervisor_fixture.executions, &id),
                  "rate_limited");
        patrol_wait_until_calm(&patrol);
        WAYS[i](fixture, supervisor_fixture.executions, &spender);
        wait_until(strcmp(flow_fixture_state(fixture, supervisor_fixture.executions, &id),
                          "waiting") == 0);
        check_int(claim_some(fixture, supervisor_fixture.executions), 1);
        check_db(weir_budget_release(supervisor_fixture.executions, "llm", &spender,
                                     &fixture->error),
                 WEIR_OK);
    }
    patrol_close(&patrol);
    supervisor_fixture_close(&supervisor_fixture);
}

/* ---- who is let in ----------------------------------------------------------------- */

enum { PEERS = 20000 };

/* Nearly all wait for a budget that is used up, one for a budget that has room. */
static void peers(struct fixture *fixture)
{
    fixture_prepare(fixture, "INSERT INTO {p}_budget (no, name, part, scope_type, scope,"
                             " created_us) VALUES (1, 'full', 0, '', '', 1),"
                             " (2, 'free', 0, '', '', 1)");
    fixture_prepare(fixture, "INSERT INTO {p}_usage (budget, dimension, used, hard)"
                             " VALUES (1, 'calls', 5, 5), (1, 'cents', 0, 9),"
                             " (2, 'calls', 4, 5)");
    fixture_prepare(fixture,
                    "INSERT INTO {p}_spent (no, budget, dimension, amount, era)"
                    " WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n"
                    " WHERE i < 20000) SELECT i, 1, '', 1, 0 FROM n");
    fixture_prepare(fixture, "INSERT INTO {p}_spent (no, budget, dimension, amount, era)"
                             " VALUES (20001, 2, '', 1, 0)");
}

FLOW_TEST(waiters, are_those_of_budgets_with_room)
{
    struct weir_connection *connection = fixture_take(fixture);
    struct weir_budget_waiters waiters;
    struct weir_arena arena;

    peers(fixture);
    weir_arena_init(&arena, weir_heap_system(), 1 << 20);
    check_db(weir_budget_waiters(connection, 10, &arena, &waiters, &fixture->error),
             WEIR_OK);

    check_int(waiters.count, 1);
    check_int(waiters.rows[0].no, PEERS + 1);
    check_int(waiters.rows[0].budget, 2);
    weir_arena_fini(&arena);
    fixture_give(fixture, connection);
}

FLOW_POSTGRESQL_TEST(waiters, are_found_without_reading_all_who_wait)
{
    struct weir_connection *connection = fixture_take(fixture);
    PGconn *native = weir_connection_native(connection);

    peers(fixture);
    explain_prepare(fixture, native, 0, &weir_execution_postgresql.budget_waiters);
    check(explain_pages(native, 0, "1000") < 50);

    explain_execute(native, "DISCARD ALL");
    fixture_give(fixture, connection);
}

FLOW_SQLITE_TEST(waiters, are_found_in_few_steps)
{
    struct weir_connection *connection = fixture_take(fixture);
    sqlite3_stmt *statement = NULL;
    struct weir_buf text;

    peers(fixture);
    weir_buf_init(&text, weir_heap_system(), PLAN_SIZE);
    check_db(weir_sql_expand(&weir_execution_sqlite.budget_waiters, WEIR_SQLITE, "weir",
                             &text, &fixture->error),
             WEIR_OK);
    check_int(sqlite3_prepare_v2(weir_connection_native(connection), weir_buf_text(&text),
                                 -1, &statement, NULL),
              SQLITE_OK);
    check_int(sqlite3_bind_int(statement, 1, 1000), SQLITE_OK);
    check_int(sqlite3_step(statement), SQLITE_ROW);
    check_int(sqlite3_step(statement), SQLITE_DONE);
    check(sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_VM_STEP, 0) < 1000);

    check_int(sqlite3_finalize(statement), SQLITE_OK);
    weir_buf_fini(&text);
    fixture_give(fixture, connection);
}
