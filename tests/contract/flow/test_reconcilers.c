/*
 * What each reconciler does with what is due: on the database's clock, with real leases, limits,
 * delays and deadlines, as short as they can be.
 */
#include "contract/flow/yard.h"

enum { SHORT_US = 20000, LONG_US = 60000000 };

/* ---- attempt_timeout ------------------------------------------------------------------------- */

FLOW_TEST(attempt_timeout, gives_the_work_back_while_retries_are_left)
{
    struct weir_execution_policy policy = yard_policy();
    struct weir_execution_draft draft = yard_draft(&policy);
    struct weir_claim first, second;
    struct patrol patrol;
    struct yard yard;

    policy.retries_max = 1;
    policy.attempt_timeout_ms = 20;
    yard_open(&yard, fixture);
    first = yard_employ(&yard, &draft, LONG_US);
    patrol_open(&patrol, fixture);

    wait_until(yard_attempts(&yard, &first.id).ended == 1);
    check_int(yard_attempts(&yard, &first.id).outcome, WEIR_OUTCOME_INTERRUPTED);
    check_str(yard_look(&yard, &first.id).failure, "attempt_timeout");
    second = yard_claim_one(&yard, LONG_US);

    check_int(yard_look(&yard, &first.id).info.attempts, 2);
    check_int(yard_look(&yard, &first.id).info.retries, 1);
    check(second.epoch > first.epoch);
    check_status(yard_settle(&yard, &first, WEIR_SETTLE_COMPLETE), WEIR_FENCED);
    check(yard_state(&yard, &first.id) != WEIR_STATE_COMPLETED);
    patrol_close(&patrol);
    yard_close(&yard);
}

FLOW_TEST(attempt_timeout, without_retries_ends_it_as_expired_and_says_so)
{
    struct weir_execution_policy policy = yard_policy();
    struct weir_execution_draft draft = yard_draft(&policy);
    struct weir_claim claim;
    struct patrol patrol;
    struct yard yard;

    policy.attempt_timeout_ms = 20;
    yard_open_with_news(&yard, fixture);
    patrol_open_with_news(&patrol, fixture);
    claim = yard_employ(&yard, &draft, LONG_US);

    wait_until(yard_state(&yard, &claim.id) == WEIR_STATE_EXPIRED);
    wait_until(atomic_load(&yard.news.ended) == 1 &&
               atomic_load(&yard.news.expired) == 1);

    check_int(atomic_load(&yard.news.ended_expired), 1);
    check_int(yard_attempts(&yard, &claim.id).ended, 1);
    wait_until(patrol_scan(&patrol, WEIR_RECONCILER_ATTEMPT_TIMEOUT).processed == 1);
    check_int(patrol_scan(&patrol, WEIR_RECONCILER_ATTEMPT_TIMEOUT).errors, 0);
    check_status(yard_settle(&yard, &claim, WEIR_SETTLE_COMPLETE), WEIR_FENCED);
    patrol_close(&patrol);
    yard_close(&yard);
}

/* What is over in both ways is the attempt's, whoever looks first: a retry and no reclaim. */
FLOW_TEST(attempt_timeout, has_what_has_lost_its_lease_as_well)
{
    struct weir_execution_policy policy = yard_policy();
    struct weir_execution_draft draft = yard_draft(&policy);
    struct weir_claim claim;
    struct patrol patrol;
    struct yard yard;

    policy.attempt_timeout_ms = 1;
    policy.retries_max = 5;
    policy.backoff_initial_ms = 60000;
    yard_open(&yard, fixture);
    claim = yard_employ(&yard, &draft, 2000);
    patrol_open(&patrol, fixture);

    wait_until(yard_state(&yard, &claim.id) == WEIR_STATE_DELAYED);

    check_int(yard_look(&yard, &claim.id).info.retries, 1);
    check_int(yard_look(&yard, &claim.id).info.reclaims, 0);
    patrol_close(&patrol);
    yard_close(&yard);
}

/* ---- lease_expiry ---------------------------------------------------------------------------- */

FLOW_TEST(lease_expiry, gives_the_work_to_a_fresh_worker_and_fences_the_old_one)
{
    struct weir_execution_policy policy = yard_policy();
    struct weir_execution_draft draft = yard_draft(&policy);
    struct weir_claim old, fresh;
    struct patrol patrol;
    struct yard yard;

    yard_open_with_news(&yard, fixture);
    patrol_open_with_news(&patrol, fixture);
    old = yard_employ(&yard, &draft, SHORT_US);

    fresh = yard_claim_one(&yard, LONG_US);

    check(memcmp(&old.id, &fresh.id, sizeof old.id) == 0);
    check(fresh.epoch > old.epoch);
    check_int(yard_attempts(&yard, &old.id).outcome, WEIR_OUTCOME_LEASE_LOST);
    check_int(yard_look(&yard, &old.id).info.reclaims, 1);
    check_status(yard_settle(&yard, &old, WEIR_SETTLE_COMPLETE), WEIR_FENCED);
    check_status(yard_settle(&yard, &old, WEIR_SETTLE_FAIL), WEIR_FENCED);
    check_status(yard_settle(&yard, &old, WEIR_SETTLE_DELAY), WEIR_FENCED);
    check_int(yard_state(&yard, &old.id), WEIR_STATE_ACTIVE);
    check_status(yard_settle(&yard, &fresh, WEIR_SETTLE_COMPLETE), WEIR_OK);
    wait_until(atomic_load(&yard.news.expired) == 1 &&
               atomic_load(&yard.news.reclaimed) == 1 &&
               atomic_load(&yard.news.ended) == 1);
    patrol_close(&patrol);
    yard_close(&yard);
}

FLOW_TEST(lease_expiry, more_often_than_the_policy_allows_fails_it)
{
    struct weir_execution_policy policy = yard_policy();
    struct weir_execution_draft draft = yard_draft(&policy);
    struct weir_claim claim;
    struct patrol patrol;
    struct yard yard;

    policy.reclaims_max = 1;
    yard_open(&yard, fixture);
    patrol_open(&patrol, fixture);
    (void)yard_employ(&yard, &draft, SHORT_US);
    claim = yard_claim_one(&yard, SHORT_US);

    wait_until(yard_state(&yard, &claim.id) == WEIR_STATE_FAILED);

    check_str(yard_look(&yard, &claim.id).failure, "max_reclaims_exceeded");
    check_int(yard_attempts(&yard, &claim.id).ended, 2);
    patrol_close(&patrol);
    yard_close(&yard);
}

/* ---- delayed_promoter ------------------------------------------------------------------------ */

FLOW_TEST(delayed_promoter, makes_work_ready_when_its_delay_is_over_and_not_before)
{
    struct weir_execution_draft draft = yard_draft(NULL);
    struct weir_execution_id id;
    struct weir_claim claim;
    struct patrol patrol;
    struct yard yard;
    int64_t due_us;

    draft.delay_ms = 30;
    yard_open(&yard, fixture);
    patrol_open(&patrol, fixture);
    id = yard_submit(&yard, &draft);
    due_us = yard_look(&yard, &id).info.due_us;

    claim = yard_claim_one(&yard, LONG_US);

    check(memcmp(&claim.id, &id, sizeof id) == 0);
    check(due_us == 0 || yard_look(&yard, &id).info.started_us >= due_us);
    check_int(yard_look(&yard, &id).info.due_us, 0);
    check_int(yard_look(&yard, &id).info.attempts, 1);
    patrol_close(&patrol);
    yard_close(&yard);
}

FLOW_TEST(delayed_promoter, lets_a_retry_begin_when_its_backoff_is_over)
{
    struct weir_execution_policy policy = yard_policy();
    struct weir_execution_draft draft = yard_draft(&policy);
    struct weir_claim first, second;
    struct patrol patrol;
    struct yard yard;

    policy.retries_max = 1;
    policy.backoff_initial_ms = 20;
    yard_open(&yard, fixture);
    patrol_open(&patrol, fixture);
    first = yard_employ(&yard, &draft, LONG_US);
    check_status(yard_settle(&yard, &first, WEIR_SETTLE_FAIL), WEIR_OK);

    second = yard_claim_one(&yard, LONG_US);

    check(memcmp(&first.id, &second.id, sizeof first.id) == 0);
    check_int(yard_attempts(&yard, &first.id).outcome, WEIR_OUTCOME_RETRY);
    check_int(yard_look(&yard, &first.id).info.attempts, 2);
    patrol_close(&patrol);
    yard_close(&yard);
}

/* ---- execution_deadline ---------------------------------------------------------------------- */

FLOW_TEST(execution_deadline, ends_what_is_ready_delayed_or_held)
{
    struct weir_execution_draft draft = yard_draft(NULL);
    struct weir_execution_id delayed, ready;
    struct weir_claim held;
    struct patrol patrol;
    struct yard yard;

    draft.deadline_ms = 1000;
    yard_open_with_news(&yard, fixture);
    patrol_open_with_news(&patrol, fixture);
    held = yard_employ(&yard, &draft, LONG_US);
    ready = yard_submit(&yard, &draft);
    draft.delay_ms = 60000;
    delayed = yard_submit(&yard, &draft);

    wait_until(yard_state(&yard, &held.id) == WEIR_STATE_EXPIRED &&
               yard_state(&yard, &ready) == WEIR_STATE_EXPIRED &&
               yard_state(&yard, &delayed) == WEIR_STATE_EXPIRED);
    wait_until(atomic_load(&yard.news.ended_expired) == 3);

    check_str(yard_look(&yard, &ready).failure, "execution_deadline");
    check_int(yard_attempts(&yard, &held.id).outcome, WEIR_OUTCOME_EXPIRED);
    check_int(yard_attempts(&yard, &ready).ended, 0);
    wait_until(atomic_load(&yard.news.expired) == 1); /* only one had a lease */
    check_status(yard_settle(&yard, &held, WEIR_SETTLE_COMPLETE), WEIR_FENCED);
    patrol_close(&patrol);
    yard_close(&yard);
}

/* ---- housekeeping ---------------------------------------------------------------------------- */

/* Ended, with all that may belong to one; its key has run out. */
static struct weir_execution_id leave_behind(struct yard *yard, const char *key)
{
    static const struct weir_tag TAG = {"app.zone", "west"};
    struct weir_execution_draft draft = yard_draft(NULL);
    struct fixture *fixture = yard->fixture;
    struct weir_settlement settlement = {
        .verb = WEIR_SETTLE_COMPLETE, .result = "out", .result_size = 3};

    draft.input = "in";
    draft.input_size = 2;
    draft.tags = &TAG;
    draft.tag_count = 1;
    draft.idempotency_key = key;
    settlement.claim = yard_employ(yard, &draft, LONG_US);
    check_db(weir_flow_settle(yard->flow, &settlement, 1, &fixture->error), WEIR_OK);
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
    struct weir_execution_draft draft = yard_draft(NULL);
    struct weir_execution_id running;
    struct patrol patrol;
    struct yard yard;

    yard_open(&yard, fixture);
    (void)leave_behind(&yard, "a");
    (void)leave_behind(&yard, "b");
    running = yard_submit(&yard, &draft);
    patrol_init(&patrol, fixture);
    patrol.options.retention_ms = 1;
    patrol_start(&patrol);

    wait_until(left_over(fixture) == 1);

    check_int(yard_state(&yard, &running), WEIR_STATE_WAITING);
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_idempotency"), 2);
    wait_until(patrol_scan(&patrol, WEIR_RECONCILER_HOUSEKEEPING).processed == 2);
    patrol_close(&patrol);
    yard_close(&yard);
}

FLOW_TEST(housekeeping, forgets_keys_that_have_run_out_and_keeps_the_others)
{
    struct patrol patrol;
    struct yard yard;

    yard_open(&yard, fixture);
    (void)leave_behind(&yard, "a");
    (void)leave_behind(&yard, "b");
    fixture_prepare(fixture, "UPDATE {p}_idempotency SET until_us = 1 WHERE key = 'a'");
    patrol_open(&patrol, fixture);

    wait_until(fixture_ask(fixture, "SELECT count(*) FROM weir_idempotency") == 1);
    patrol_wait(&patrol, WEIR_RECONCILER_HOUSEKEEPING);

    check_int(
        fixture_ask(fixture, "SELECT count(*) FROM weir_idempotency WHERE key = 'b'"), 1);
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_execution"), 2);
    patrol_close(&patrol);
    yard_close(&yard);
}

FLOW_TEST(housekeeping, keeps_what_has_ended_for_ever_when_told_so)
{
    struct weir_execution_id id;
    struct patrol patrol;
    struct yard yard;

    yard_open(&yard, fixture);
    id = leave_behind(&yard, NULL);
    fixture_prepare(fixture, "UPDATE {p}_execution SET ended_us = 1");
    patrol_init(&patrol, fixture);
    patrol.options.retention_ms = 0;
    patrol_start(&patrol);

    patrol_wait(&patrol, WEIR_RECONCILER_HOUSEKEEPING);

    check_int(yard_state(&yard, &id), WEIR_STATE_COMPLETED);
    patrol_close(&patrol);
    yard_close(&yard);
}
