/*
 * An execution as it is seen in each phase of its life: state, what it waits for, its
 * times, its attempts and its result.
 */
#include "contract/flow/flow_fixture.h"

/* What is to be seen. */
struct phase {
    const char *state;
    const char *blocked_by;
    const char *attempts;
};

static void check_times(const struct weir_execution_info *info)
{
    check_int(info->lease_us > 0, info->state == WEIR_STATE_ACTIVE);
    check_int(info->due_us > 0, info->state == WEIR_STATE_DELAYED);
    check_int(info->ended_us > 0, info->state >= WEIR_STATE_COMPLETED);
    check_int(info->started_us > 0, info->attempts > 0);
    check(info->created_us > 0);
}

static void check_phase(struct fixture *fixture, struct weir_executions *executions,
                        const struct weir_execution_id *id, const struct phase *phase)
{
    struct flow_fixture_view view = flow_fixture_see(fixture, executions, id);
    bool completed = strcmp(phase->state, "completed") == 0;
    void *result = NULL;
    size_t size = 0;

    check_str(weir_public_state_name(view.info.state), phase->state);
    check_str(view.info.blocked_by, phase->blocked_by);
    check_str(flow_fixture_attempts(fixture, executions, id).text, phase->attempts);
    check_times(&view.info);
    check_db(weir_execution_result(executions, id, &result, &size, &fixture->error),
             completed ? WEIR_OK : WEIR_NO_ROW);
    check_int(size, completed ? 2 : 0);
    weir_executions_free(executions, result);
}

/* One retry, an hour later. */
static struct weir_execution_id submit_patient(struct fixture *fixture,
                                               struct weir_executions *executions)
{
    struct weir_execution_draft draft = flow_fixture_draft("orders");
    struct weir_execution_policy policy;

    weir_execution_policy_init(&policy);
    policy.retries_max = 1;
    policy.backoff = WEIR_RETRY_FIXED;
    policy.backoff_initial_ms = 3600000;
    draft.policy = &policy;
    return flow_fixture_submit_draft(fixture, executions, &draft);
}

static void settle_as(struct fixture *fixture, struct weir_executions *executions,
                      enum weir_settle verb, bool permanent)
{
    struct weir_settlement settlement = {
        .claim = flow_fixture_claim(fixture, executions, "orders", "anna"),
        .verb = verb,
        .reason = "because",
        .permanent = permanent,
        .delay_ms = verb == WEIR_SETTLE_DELAY ? 3600000 : 0};

    check_db(weir_execution_settle(executions, &settlement, 1, &fixture->error), WEIR_OK);
    check_status(settlement.status, WEIR_OK);
}

FLOW_TEST(phase, before_the_first_claim_is_waiting_or_delayed)
{
    static const struct phase WAITING = {"waiting", "waiting_for_worker", ""};
    static const struct phase DELAYED = {"delayed", "waiting_for_delay", ""};
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_draft draft = flow_fixture_draft("orders");
    struct weir_execution_id id = flow_fixture_submit_draft(fixture, executions, &draft);

    check_phase(fixture, executions, &id, &WAITING);
    draft.delay_ms = 3600000;
    id = flow_fixture_submit_draft(fixture, executions, &draft);
    check_phase(fixture, executions, &id, &DELAYED);
    weir_executions_destroy(executions);
}

FLOW_TEST(phase, of_a_claimed_one_is_active)
{
    static const struct phase ACTIVE = {"active", "none", "0 initial running"};
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_id id = flow_fixture_submit(fixture, executions, "orders");

    (void)flow_fixture_claim(fixture, executions, "orders", "anna");

    check_phase(fixture, executions, &id, &ACTIVE);
    weir_executions_destroy(executions);
}

FLOW_TEST(phase, between_two_claims_is_delayed_and_says_why)
{
    static const struct phase RETRY = {"delayed", "waiting_for_retry_backoff",
                                       "0 initial retry"};
    static const struct phase PARKED = {"delayed", "waiting_for_delay",
                                        "0 initial running"};
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_id id = submit_patient(fixture, executions);

    settle_as(fixture, executions, WEIR_SETTLE_FAIL, false);
    check_phase(fixture, executions, &id, &RETRY);
    id = submit_patient(fixture, executions);
    settle_as(fixture, executions, WEIR_SETTLE_DELAY, false);
    check_phase(fixture, executions, &id, &PARKED);
    weir_executions_destroy(executions);
}

FLOW_TEST(phase, at_the_end_is_named_by_how_it_ended)
{
    static const struct phase COMPLETED = {"completed", "none", "0 initial success"};
    static const struct phase FAILED = {"failed", "none", "0 initial failed"};
    static const struct phase ABANDONED = {"cancelled", "none", "0 initial cancelled"};
    static const struct phase CANCELLED = {"cancelled", "none", ""};
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_id id = submit_patient(fixture, executions);
    struct weir_claim claim = flow_fixture_claim(fixture, executions, "orders", "anna");

    flow_fixture_settle(fixture, executions, &claim, WEIR_SETTLE_COMPLETE);
    check_phase(fixture, executions, &id, &COMPLETED);
    id = submit_patient(fixture, executions);
    settle_as(fixture, executions, WEIR_SETTLE_FAIL, true);
    check_phase(fixture, executions, &id, &FAILED);
    id = submit_patient(fixture, executions);
    settle_as(fixture, executions, WEIR_SETTLE_ABANDON, false);
    check_phase(fixture, executions, &id, &ABANDONED);
    id = submit_patient(fixture, executions);
    check_db(weir_execution_cancel(executions, &id, NULL, &fixture->error), WEIR_OK);
    check_phase(fixture, executions, &id, &CANCELLED);
    weir_executions_destroy(executions);
}

FLOW_TEST(phase, behind_the_deadline_is_expired)
{
    static const struct phase EXPIRED = {"expired", "none", ""};
    const char *lane = "orders";
    const struct weir_claim_options options = flow_fixture_claimant(&lane, "anna");
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_draft draft = flow_fixture_draft("orders");
    struct weir_execution_id id;
    struct weir_claim claim;

    draft.deadline_ms = 3600000;
    id = flow_fixture_submit_draft(fixture, executions, &draft);
    fixture_prepare(fixture, "UPDATE {p}_execution SET deadline_us = 1");
    check_int(flow_fixture_claim_many(fixture, executions, &options, &claim, 1), 0);

    check_phase(fixture, executions, &id, &EXPIRED);
    weir_executions_destroy(executions);
}

/* What ended once has its attempts and no result until there is another. */
FLOW_TEST(phase, after_a_replay_is_waiting_again)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_id id = flow_fixture_submit(fixture, executions, "orders");
    struct weir_claim claim = flow_fixture_claim(fixture, executions, "orders", "anna");
    struct flow_fixture_view view;

    flow_fixture_settle(fixture, executions, &claim, WEIR_SETTLE_COMPLETE);
    check_db(weir_execution_replay(executions, &id, &fixture->error), WEIR_OK);

    view = flow_fixture_see(fixture, executions, &id);
    check_int(view.info.state, WEIR_STATE_WAITING);
    check_int(view.info.ended_us, 0);
    check_int(view.info.replays, 1);
    check_str(flow_fixture_attempts(fixture, executions, &id).text, "0 initial success");
    weir_executions_destroy(executions);
}
