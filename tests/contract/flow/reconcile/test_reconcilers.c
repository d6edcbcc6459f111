/*
 * What each reconciler does with what is due: on the database's clock, with real
 * leases, limits, delays and deadlines, as short as they can be.
 */
#include "contract/flow/reconcile/supervisor_fixture.h"

enum { SHORT_US = 20000, LONG_US = 60000000 };

/* ---- attempt_timeout --------------------------------------------------------------- */

FLOW_TEST(attempt_timeout, gives_the_work_back_while_retries_are_left)
{
    struct weir_execution_policy policy = supervisor_fixture_policy();
    struct weir_execution_draft draft = supervisor_fixture_draft(&policy);
    struct weir_claim first, second;
    struct patrol patrol;
    struct supervisor_fixture supervisor_fixture;

    policy.retries_max = 1;
    policy.attempt_timeout_ms = 20;
    supervisor_fixture_open(&supervisor_fixture, fixture);
    first = supervisor_fixture_employ(&supervisor_fixture, &draft, LONG_US);
    patrol_open(&patrol, fixture);

    wait_until(supervisor_fixture_attempts(&supervisor_fixture, &first.id).ended == 1);
    check_int(supervisor_fixture_attempts(&supervisor_fixture, &first.id).outcome,
              WEIR_OUTCOME_INTERRUPTED);
    check_str(supervisor_fixture_look(&supervisor_fixture, &first.id).failure,
              "attempt_timeout");
    second = supervisor_fixture_claim_one(&supervisor_fixture, LONG_US);

    check_int(supervisor_fixture_look(&supervisor_fixture, &first.id).info.attempts, 2);
    check_int(supervisor_fixture_look(&supervisor_fixture, &first.id).info.retries, 1);
    check(second.epoch > first.epoch);
    check_status(
        supervisor_fixture_settle(&supervisor_fixture, &first, WEIR_SETTLE_COMPLETE),
        WEIR_FENCED);
    check(supervisor_fixture_state(&supervisor_fixture, &first.id) !=
          WEIR_STATE_COMPLETED);
    patrol_close(&patrol);
    supervisor_fixture_close(&supervisor_fixture);
}

FLOW_TEST(attempt_timeout, without_retries_ends_it_as_expired_and_says_so)
{
    struct weir_execution_policy policy = supervisor_fixture_policy();
    struct weir_execution_draft draft = supervisor_fixture_draft(&policy);
    struct weir_claim claim;
    struct patrol patrol;
    struct supervisor_fixture supervisor_fixture;

    policy.attempt_timeout_ms = 20;
    supervisor_fixture_open_with_news(&supervisor_fixture, fixture);
    patrol_open_with_news(&patrol, fixture);
    claim = supervisor_fixture_employ(&supervisor_fixture, &draft, LONG_US);

    wait_until(supervisor_fixture_state(&supervisor_fixture, &claim.id) ==
               WEIR_STATE_EXPIRED);
    wait_until(atomic_load(&supervisor_fixture.news.ended) == 1 &&
               atomic_load(&supervisor_fixture.news.expired) == 1);

    check_int(atomic_load(&supervisor_fixture.news.ended_expired), 1);
    check_int(supervisor_fixture_attempts(&supervisor_fixture, &claim.id).ended, 1);
    wait_until(patrol_scan(&patrol, WEIR_RECONCILER_ATTEMPT_TIMEOUT).processed == 1);
    check_int(patrol_scan(&patrol, WEIR_RECONCILER_ATTEMPT_TIMEOUT).errors, 0);
    check_status(
        supervisor_fixture_settle(&supervisor_fixture, &claim, WEIR_SETTLE_COMPLETE),
        WEIR_FENCED);
    patrol_close(&patrol);
    supervisor_fixture_close(&supervisor_fixture);
}

/* What is over in both ways is the attempt's, whoever looks first: a retry and no
 * reclaim. */
FLOW_TEST(attempt_timeout, has_what_has_lost_its_lease_as_well)
{
    struct weir_execution_policy policy = supervisor_fixture_policy();
    struct weir_execution_draft draft = supervisor_fixture_draft(&policy);
    struct weir_claim claim;
    struct patrol patrol;
    struct supervisor_fixture supervisor_fixture;

    policy.attempt_timeout_ms = 1;
    policy.retries_max = 5;
    policy.backoff_initial_ms = 60000;
    supervisor_fixture_open(&supervisor_fixture, fixture);
    claim = supervisor_fixture_employ(&supervisor_fixture, &draft, 2000);
    patrol_open(&patrol, fixture);

    wait_until(supervisor_fixture_state(&supervisor_fixture, &claim.id) ==
               WEIR_STATE_DELAYED);

    check_int(supervisor_fixture_look(&supervisor_fixture, &claim.id).info.retries, 1);
    check_int(supervisor_fixture_look(&supervisor_fixture, &claim.id).info.reclaims, 0);
    patrol_close(&patrol);
    supervisor_fixture_close(&supervisor_fixture);
}

/* ---- lease_expiry ------------------------------------------------------------------ */

FLOW_TEST(lease_expiry, gives_the_work_to_a_fresh_worker_and_fences_the_old_one)
{
    struct weir_execution_policy policy = supervisor_fixture_policy();
    struct weir_execution_draft draft = supervisor_fixture_draft(&policy);
    struct weir_claim old, fresh;
    struct patrol patrol;
    struct supervisor_fixture supervisor_fixture;

    supervisor_fixture_open_with_news(&supervisor_fixture, fixture);
    patrol_open_with_news(&patrol, fixture);
    old = supervisor_fixture_employ(&supervisor_fixture, &draft, SHORT_US);

    fresh = supervisor_fixture_claim_one(&supervisor_fixture, LONG_US);

    check(memcmp(&old.id, &fresh.id, sizeof old.id) == 0);
    check(fresh.epoch > old.epoch);
    check_int(supervisor_fixture_attempts(&supervisor_fixture, &old.id).outcome,
              WEIR_OUTCOME_LEASE_LOST);
    check_int(supervisor_fixture_look(&supervisor_fixture, &old.id).info.reclaims, 1);
    check_status(
        supervisor_fixture_settle(&supervisor_fixture, &old, WEIR_SETTLE_COMPLETE),
        WEIR_FENCED);
    check_status(supervisor_fixture_settle(&supervisor_fixture, &old, WEIR_SETTLE_FAIL),
                 WEIR_FENCED);
    check_status(supervisor_fixture_settle(&supervisor_fixture, &old, WEIR_SETTLE_DELAY),
                 WEIR_FENCED);
    check_int(supervisor_fixture_state(&supervisor_fixture, &old.id), WEIR_STATE_ACTIVE);
    check_status(
        supervisor_fixture_settle(&supervisor_fixture, &fresh, WEIR_SETTLE_COMPLETE),
        WEIR_OK);
    wait_until(atomic_load(&supervisor_fixture.news.expired) == 1 &&
               atomic_load(&supervisor_fixture.news.reclaimed) == 1 &&
               atomic_load(&supervisor_fixture.news.ended) == 1);
    patrol_close(&patrol);
    supervisor_fixture_close(&supervisor_fixture);
}

FLOW_TEST(lease_expiry, more_often_than_the_policy_allows_fails_it)
{
    struct weir_execution_policy policy = supervisor_fixture_policy();
    struct weir_execution_draft draft = supervisor_fixture_draft(&policy);
    struct weir_claim claim;
    struct patrol patrol;
    struct supervisor_fixture supervisor_fixture;

    policy.reclaims_max = 1;
    supervisor_fixture_open(&supervisor_fixture, fixture);
    patrol_open(&patrol, fixture);
    (void)supervisor_fixture_employ(&supervisor_fixture, &draft, SHORT_US);
    claim = supervisor_fixture_claim_one(&supervisor_fixture, SHORT_US);

    wait_until(supervisor_fixture_state(&supervisor_fixture, &claim.id) ==
               WEIR_STATE_FAILED);

    check_str(supervisor_fixture_look(&supervisor_fixture, &claim.id).failure,
              "max_reclaims_exceeded");
    check_int(supervisor_fixture_attempts(&supervisor_fixture, &claim.id).ended, 2);
    patrol_close(&patrol);
    supervisor_fixture_close(&supervisor_fixture);
}

/* ---- delayed_promoter -------------------------------------------------------------- */

FLOW_TEST(delayed_promoter, makes_work_ready_when_its_delay_is_over_and_not_before)
{
    struct weir_execution_draft draft = supervisor_fixture_draft(NULL);
    struct weir_execution_id id;
    struct weir_claim claim;
    struct patrol patrol;
    struct supervisor_fixture supervisor_fixture;
    int64_t due_us;

    draft.delay_ms = 30;
    supervisor_fixture_open(&supervisor_fixture, fixture);
    patrol_open(&patrol, fixture);
    id = supervisor_fixture_submit(&supervisor_fixture, &draft);
    due_us = supervisor_fixture_look(&supervisor_fixture, &id).info.due_us;

    claim = supervisor_fixture_claim_one(&supervisor_fixture, LONG_US);

    check(memcmp(&claim.id, &id, sizeof id) == 0);
    check(due_us == 0 ||
          supervisor_fixture_look(&supervisor_fixture, &id).info.started_us >= due_us);
    check_int(supervisor_fixture_look(&supervisor_fixture, &id).info.due_us, 0);
    check_int(supervisor_fixture_look(&supervisor_fixture, &id).info.attempts, 1);
    patrol_close(&patrol);
    supervisor_fixture_close(&supervisor_fixture);
}

FLOW_TEST(delayed_promoter, lets_a_retry_begin_when_its_backoff_is_over)
{
    struct weir_execution_policy policy = supervisor_fixture_policy();
    struct weir_execution_draft draft = supervisor_fixture_draft(&policy);
    struct weir_claim first, second;
    struct patrol patrol;
    struct supervisor_fixture supervisor_fixture;

    policy.retries_max = 1;
    policy.backoff_initial_ms = 20;
    supervisor_fixture_open(&supervisor_fixture, fixture);
    patrol_open(&patrol, fixture);
    first = supervisor_fixture_employ(&supervisor_fixture, &draft, LONG_US);
    check_status(supervisor_fixture_settle(&supervisor_fixture, &first, WEIR_SETTLE_FAIL),
                 WEIR_OK);

    second = supervisor_fixture_claim_one(&supervisor_fixture, LONG_US);

    check(memcmp(&first.id, &second.id, sizeof first.id) == 0);
    check_int(supervisor_fixture_attempts(&supervisor_fixture, &first.id).outcome,
              WEIR_OUTCOME_RETRY);
    check_int(supervisor_fixture_look(&supervisor_fixture, &first.id).info.attempts, 2);
    patrol_close(&patrol);
    supervisor_fixture_close(&supervisor_fixture);
}

/* ---- execution_deadline ------------------------------------------------------------ */

FLOW_TEST(execution_deadline, ends_what_is_ready_delayed_or_held)
{
    struct weir_execution_draft draft = supervisor_fixture_draft(NULL);
    struct weir_execution_id delayed, ready;
    struct weir_claim held;
    struct patrol patrol;
    struct supervisor_fixture supervisor_fixture;

    draft.deadline_ms = 1000;
    supervisor_fixture_open_with_news(&supervisor_fixture, fixture);
    patrol_open_with_news(&patrol, fixture);
    held = supervisor_fixture_employ(&supervisor_fixture, &draft, LONG_US);
    ready = supervisor_fixture_submit(&supervisor_fixture, &draft);
    draft.delay_ms = 60000;
    delayed = supervisor_fixture_submit(&supervisor_fixture, &draft);

    wait_until(
        supervisor_fixture_state(&supervisor_fixture, &held.id) == WEIR_STATE_EXPIRED &&
        supervisor_fixture_state(&supervisor_fixture, &ready) == WEIR_STATE_EXPIRED &&
        supervisor_fixture_state(&supervisor_fixture, &delayed) == WEIR_STATE_EXPIRED);
    wait_until(atomic_load(&supervisor_fixture.news.ended_expired) == 3);

    check_str(supervisor_fixture_look(&supervisor_fixture, &ready).failure,
              "execution_deadline");
    check_int(supervisor_fixture_attempts(&supervisor_fixture, &held.id).outcome,
              WEIR_OUTCOME_EXPIRED);
    check_int(supervisor_fixture_attempts(&supervisor_fixture, &ready).ended, 0);
    wait_until(atomic_load(&supervisor_fixture.news.expired) ==
               1); /* only one had a lease */
    check_status(
        supervisor_fixture_settle(&supervisor_fixture, &held, WEIR_SETTLE_COMPLETE),
        WEIR_FENCED);
    patrol_close(&patrol);
    supervisor_fixture_close(&supervisor_fixture);
}

/* ---- housekeeping ------------------------------------------------------------------ */

/* Ended, with all that may belong to one; its key has run out. */
static struct weir_execution_id
leave_behind(struct supervisor_fixture *supervisor_fixture, const char *key)
{
    static const struct weir_tag TAG = {"app.zone", "west"};
    struct weir_execution_draft draft = supervisor_fixture_draft(NULL);
    struct fixture *fixture = supervisor_fixture->fixture;
    struct weir_settlement settlement = {
        .verb = WEIR_SETTLE_COMPLETE, .result = "out", .result_size = 3};

    draft.input = "in";
    draft.input_size = 2;
    draft.tags = &TAG;
    draft.tag_count = 1;
    draft.idempotency_key = key;
    settlement.claim = supervisor_fixture_employ(supervisor_fixture, &draft, LONG_US);
    check_db(weir_execution_settle(supervisor_fixture->executions, &settlement, 1,
                                   &fixture->error),
             WEIR_OK);
    check_status(settlement.status, WEIR_OK);
    return settlement.claim.id;
}

static int64_t left_over(struct fixture *fixture)
{
    return fixture_ask(fixture, "SELECT (SELECT count(*) FROM weir_execution) +"
                                " (SELECT count(*) FROM weir_input) +"
                                " (SELECT count(*) FROM weir_result) +"
                                " (SELECT count(*) FROM weir_attempt) +"
                                " (SELECT count(*) FROM weir_tag)");
}

FLOW_TEST(housekeeping, removes_what_ended_long_ago_with_all_that_is_its)
{
    struct weir_execution_draft draft = supervisor_fixture_draft(NULL);
    struct weir_execution_id running;
    struct patrol patrol;
    struct supervisor_fixture supervisor_fixture;

    supervisor_fixture_open(&supervisor_fixture, fixture);
    (void)leave_behind(&supervisor_fixture, "a");
    (void)leave_behind(&supervisor_fixture, "b");
    running = supervisor_fixture_submit(&supervisor_fixture, &draft);
    patrol_init(&patrol, fixture);
    patrol.options.retention_ms = 1;
    patrol_start(&patrol);

    wait_until(left_over(fixture) == 1);

    check_int(supervisor_fixture_state(&supervisor_fixture, &running),
              WEIR_STATE_WAITING);
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_idempotency"), 2);
    wait_until(patrol_scan(&patrol, WEIR_RECONCILER_HOUSEKEEPING).processed == 2);
    patrol_close(&patrol);
    supervisor_fixture_close(&supervisor_fixture);
}

FLOW_TEST(housekeeping, forgets_keys_that_have_run_out_and_keeps_the_others)
{
    struct patrol patrol;
    struct supervisor_fixture supervisor_fixture;

    supervisor_fixture_open(&supervisor_fixture, fixture);
    (void)leave_behind(&supervisor_fixture, "a");
    (void)leave_behind(&supervisor_fixture, "b");
    fixture_prepare(fixture, "UPDATE {p}_idempotency SET until_us = 1 WHERE key = 'a'");
    patrol_open(&patrol, fixture);

    wait_until(fixture_ask(fixture, "SELECT count(*) FROM weir_idempotency") == 1);
    patrol_wait(&patrol, WEIR_RECONCILER_HOUSEKEEPING);

    check_int(
        fixture_ask(fixture, "SELECT count(*) FROM weir_idempotency WHERE key = 'b'"), 1);
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_execution"), 2);
    patrol_close(&patrol);
    supervisor_fixture_close(&supervisor_fixture);
}

FLOW_TEST(housekeeping, keeps_what_has_ended_for_ever_when_told_so)
{
    struct weir_execution_id id;
    struct patrol patrol;
    struct supervisor_fixture supervisor_fixture;

    supervisor_fixture_open(&supervisor_fixture, fixture);
    id = leave_behind(&supervisor_fixture, NULL);
    fixture_prepare(fixture, "UPDATE {p}_execution SET ended_us = 1");
    patrol_init(&patrol, fixture);
    patrol.options.retention_ms = 0;
    patrol_start(&patrol);

    patrol_wait(&patrol, WEIR_RECONCILER_HOUSEKEEPING);

    check_int(supervisor_fixture_state(&supervisor_fixture, &id), WEIR_STATE_COMPLETED);
    patrol_close(&patrol);
    supervisor_fixture_close(&supervisor_fixture);
}
