/*
 * What workers say of what they hold: it counts once, and only from whoever holds it.
 */
#include "contract/flow/flow_fixture.h"

static int64_t now_us(struct fixture *fixture)
{
    struct weir_connection *connection = fixture_take(fixture);
    int64_t out = 0;

    check_db(weir_connection_clock(connection, &out, &fixture->error), WEIR_OK);
    fixture_give(fixture, connection);
    return out;
}

/* ---- how it ends ------------------------------------------------------------------- */

FLOW_TEST(complete, ends_it_with_its_result)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_id id = flow_fixture_submit(fixture, executions, "orders");
    struct weir_claim claim = flow_fixture_claim(fixture, executions, "orders", "anna");
    struct weir_settlement answer =
        flow_fixture_say(fixture, executions, &claim, WEIR_SETTLE_COMPLETE);
    void *result = NULL;
    size_t size = 0;

    check_status(answer.status, WEIR_OK);
    check_int(answer.current.state, WEIR_STATE_COMPLETED);
    check_int(answer.current.lease_us, 0);
    check(answer.current.epoch > claim.epoch);
    check_db(weir_execution_result(executions, &id, &result, &size, &fixture->error),
             WEIR_OK);
    check_int(size, 2);
    check(memcmp(result, "ok", 2) == 0);
    check_str(flow_fixture_attempts(fixture, executions, &id).text, "0 initial success");
    weir_executions_free(executions, result);
    weir_executions_destroy(executions);
}

FLOW_TEST(fail, with_retries_left_makes_another_attempt)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_id id = flow_fixture_submit_retrying(fixture, executions, 1);
    struct weir_claim claim = flow_fixture_claim(fixture, executions, "orders", "anna");

    flow_fixture_settle(fixture, executions, &claim, WEIR_SETTLE_FAIL);
    check_str(flow_fixture_state(fixture, executions, &id), "waiting");
    check_str(flow_fixture_see(fixture, executions, &id).failure, "because");
    claim = flow_fixture_claim(fixture, executions, "orders", "bert");
    flow_fixture_settle(fixture, executions, &claim, WEIR_SETTLE_FAIL);

    check_str(flow_fixture_state(fixture, executions, &id), "failed");
    check_str(flow_fixture_attempts(fixture, executions, &id).text,
              "0 initial retry, 1 retry failed");
    check_int(flow_fixture_see(fixture, executions, &id).info.retries, 1);
    weir_executions_destroy(executions);
}

FLOW_TEST(fail, waits_for_its_backoff)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_draft draft = flow_fixture_draft("orders");
    struct weir_execution_policy policy;
    struct weir_execution_id id;
    struct weir_claim claim;

    weir_execution_policy_init(&policy);
    policy.retries_max = 3;
    policy.backoff_initial_ms = policy.backoff_max_ms = 60000;
    draft.policy = &policy;
    id = flow_fixture_submit_draft(fixture, executions, &draft);
    claim = flow_fixture_claim(fixture, executions, "orders", "anna");
    flow_fixture_settle(fixture, executions, &claim, WEIR_SETTLE_FAIL);

    check_str(flow_fixture_state(fixture, executions, &id), "delayed");
    check_str(flow_fixture_see(fixture, executions, &id).info.blocked_by,
              "waiting_for_retry_backoff");
    weir_executions_destroy(executions);
}

FLOW_TEST(fail, for_good_ends_it_whatever_the_policy_allows)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_id id = flow_fixture_submit_retrying(fixture, executions, 5);
    struct weir_claim claim = flow_fixture_claim(fixture, executions, "orders", "anna");
    struct weir_settlement settlement = {
        .claim = claim, .verb = WEIR_SETTLE_FAIL, .permanent = true};

    check_db(weir_execution_settle(executions, &settlement, 1, &fixture->error), WEIR_OK);

    check_status(settlement.status, WEIR_OK);
    check_str(flow_fixture_state(fixture, executions, &id), "failed");
    weir_executions_destroy(executions);
}

FLOW_TEST(delay, goes_on_with_the_same_attempt)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_id id = flow_fixture_submit(fixture, executions, "orders");
    struct weir_claim claim = flow_fixture_claim(fixture, executions, "orders", "anna");
    struct weir_settlement settlement = {
        .claim = claim, .verb = WEIR_SETTLE_DELAY, .delay_ms = 60000};

    check_db(weir_execution_settle(executions, &settlement, 1, &fixture->error), WEIR_OK);
    check_str(flow_fixture_state(fixture, executions, &id), "delayed");
    check_str(flow_fixture_attempts(fixture, executions, &id).text, "0 initial running");
    fixture_prepare(fixture, "UPDATE {p}_execution SET state = 1, hold = 0, due_us = 0");
    claim = flow_fixture_claim(fixture, executions, "orders", "bert");
    flow_fixture_settle(fixture, executions, &claim, WEIR_SETTLE_COMPLETE);

    check_str(flow_fixture_attempts(fixture, executions, &id).text, "0 initial success");
    weir_executions_destroy(executions);
}

FLOW_TEST(abandon, ends_it_as_cancelled)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_id id = flow_fixture_submit_retrying(fixture, executions, 5);
    struct weir_claim claim = flow_fixture_claim(fixture, executions, "orders", "anna");

    flow_fixture_settle(fixture, executions, &claim, WEIR_SETTLE_ABANDON);

    check_str(flow_fixture_state(fixture, executions, &id), "cancelled");
    check_str(flow_fixture_see(fixture, executions, &id).failure, "because");
    weir_executions_destroy(executions);
}

/* ---- lost replies ------------------------------------------------------------------ */

FLOW_TEST(settle, that_is_repeated_after_a_lost_reply_is_done_once)
{
    static const enum weir_settle VERBS[] = {WEIR_SETTLE_COMPLETE, WEIR_SETTLE_FAIL,
                                             WEIR_SETTLE_DELAY, WEIR_SETTLE_ABANDON};
    struct weir_executions *executions = flow_fixture_open(fixture);

    for (size_t i = 0; i < 4; i++) {
        struct weir_execution_id id =
            flow_fixture_submit_retrying(fixture, executions, 5);
        struct weir_claim claim =
            flow_fixture_claim(fixture, executions, "orders", "anna");
        struct weir_settlement first =
            flow_fixture_say(fixture, executions, &claim, VERBS[i]);
        struct weir_settlement second =
            flow_fixture_say(fixture, executions, &claim, VERBS[i]);

        check_status(first.status, WEIR_OK);
        check_status(second.status, WEIR_OK);
        check_int(second.current.state, first.current.state);
        check_int(second.current.epoch, first.current.epoch);
        check_int(flow_fixture_attempts(fixture, executions, &id).count, 1);
        check(flow_fixture_see(fixture, executions, &id).info.retries <= 1);
        fixture_prepare(fixture, "DELETE FROM {p}_execution");
    }
    weir_executions_destroy(executions);
}

/* The first settlement stays: a claim cannot be completed and then have failed. */
FLOW_TEST(settle, that_differs_from_the_first_is_refused_and_changes_nothing)
{
    static const enum weir_settle VERBS[] = {WEIR_SETTLE_COMPLETE, WEIR_SETTLE_FAIL,
                                             WEIR_SETTLE_DELAY, WEIR_SETTLE_ABANDON};
    struct weir_executions *executions = flow_fixture_open(fixture);

    for (size_t i = 0; i < 16; i++) {
        struct weir_execution_id id =
            flow_fixture_submit_retrying(fixture, executions, 5);
        struct weir_claim claim =
            flow_fixture_claim(fixture, executions, "orders", "anna");
        struct weir_settlement first =
            flow_fixture_say(fixture, executions, &claim, VERBS[i / 4]);
        struct weir_settlement second =
            flow_fixture_say(fixture, executions, &claim, VERBS[i % 4]);

        check_status(first.status, WEIR_OK);
        check_status(second.status, i / 4 == i % 4 ? WEIR_OK : WEIR_MISMATCH);
        check_int(second.current.state, first.current.state);
        check_int(second.current.epoch, first.current.epoch);
        check_int(flow_fixture_see(fixture, executions, &id).info.epoch,
                  first.current.epoch);
        fixture_prepare(fixture, "DELETE FROM {p}_execution");
    }
    weir_executions_destroy(executions);
}

FLOW_TEST(settle, with_another_result_than_the_first_is_refused)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_id id = flow_fixture_submit(fixture, executions, "orders");
    struct weir_claim claim = flow_fixture_claim(fixture, executions, "orders", "anna");
    struct weir_settlement other = {.claim = claim, .result = "no", .result_size = 2};
    struct weir_settlement none = {.claim = claim};
    void *result = NULL;
    size_t size = 0;

    flow_fixture_settle(fixture, executions, &claim, WEIR_SETTLE_COMPLETE);
    check_db(weir_execution_settle(executions, &other, 1, &fixture->error), WEIR_OK);
    check_status(other.status, WEIR_MISMATCH);
    check_db(weir_execution_settle(executions, &none, 1, &fixture->error), WEIR_OK);
    check_status(none.status, WEIR_MISMATCH);

    check_db(weir_execution_result(executions, &id, &result, &size, &fixture->error),
             WEIR_OK);
    check_int(size, 2);
    check(memcmp(result, "ok", 2) == 0);
    weir_executions_free(executions, result);
    weir_executions_destroy(executions);
}

/* Rows that were settled before the verb was stored: any repetition is told that it was
 * done. */
FLOW_TEST(settle, of_a_claim_whose_verb_was_not_stored_is_taken_for_its_repetition)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_claim claim;

    (void)flow_fixture_submit(fixture, executions, "orders");
    claim = flow_fixture_claim(fixture, executions, "orders", "anna");
    flow_fixture_settle(fixture, executions, &claim, WEIR_SETTLE_COMPLETE);
    fixture_prepare(fixture, "UPDATE {p}_execution SET settled_as = 0");

    check_status(flow_fixture_say(fixture, executions, &claim, WEIR_SETTLE_FAIL).status,
                 WEIR_OK);
    weir_executions_destroy(executions);
}

/* ---- many -------------------------------------------------------------------------- */

FLOW_TEST(settle, of_many_judges_each_by_itself_also_when_one_is_named_twice)
{
    const char *lane = "orders";
    const struct weir_claim_options options = flow_fixture_claimant(&lane, "anna");
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_claim claims[2];
    struct weir_settlement all[5];

    (void)flow_fixture_submit(fixture, executions, "orders");
    (void)flow_fixture_submit(fixture, executions, "orders");
    check_int(flow_fixture_claim_many(fixture, executions, &options, claims, 2), 2);
    for (size_t i = 0; i < 5; i++)
        all[i] = (struct weir_settlement){.claim = claims[0]};
    all[0].claim = claims[1];
    all[2].claim.epoch = 99;      /* nobody's yet */
    all[3].claim.no = 12345;      /* nowhere */
    all[4].claim.id.uuid[0] ^= 1; /* another one, in its place */
    check_db(weir_execution_settle(executions, all, 5, &fixture->error), WEIR_OK);

    check_status(all[0].status, WEIR_OK);
    check_status(all[1].status, WEIR_OK);
    check_status(all[2].status, WEIR_FENCED);
    check_int(all[2].current.state, WEIR_STATE_COMPLETED);
    check_status(all[3].status, WEIR_NOT_FOUND);
    check_status(all[4].status, WEIR_NOT_FOUND);
    all[1].claim = all[0].claim;
    check_db(weir_execution_settle(executions, all, 2, &fixture->error), WEIR_OK);
    check_status(all[0].status, WEIR_OK);
    check_status(all[1].status, WEIR_OK);
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_attempt"), 2);
    weir_executions_destroy(executions);
}

FLOW_TEST(settle, of_bad_input_names_it_and_changes_nothing)
{
    static char far_too_much[WEIR_RESULT_SIZE_MAX + 1];
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_id id = flow_fixture_submit(fixture, executions, "orders");
    struct weir_claim claim = flow_fixture_claim(fixture, executions, "orders", "anna");
    struct {
        struct weir_settlement settlement;
        enum weir_status status;
        const char *field;
    } wrong[] = {
        {{.verb = (enum weir_settle)4}, WEIR_INVALID, "verb"},
        {{.result = far_too_much, .result_size = sizeof far_too_much},
         WEIR_TOO_LARGE,
         "result"},
        {{.result_size = 1}, WEIR_INVALID, "result"},
        {{.verb = WEIR_SETTLE_DELAY, .delay_ms = -1}, WEIR_INVALID, "delay_ms"},
        {{.verb = WEIR_SETTLE_FAIL, .reason = "\xff"}, WEIR_INVALID, "reason"},
    };

    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct weir_settlement two[2] = {{.claim = claim}, wrong[i].settlement};

        two[1].claim = claim;
        check_db(weir_execution_settle(executions, two, 2, &fixture->error),
                 wrong[i].status);
        check(strstr(fixture->error.text, "settlement 2 of 2") != NULL);
        check(strstr(fixture->error.text, wrong[i].field) != NULL);
    }
    check_str(flow_fixture_state(fixture, executions, &id), "active");
    weir_executions_destroy(executions);
}

FLOW_TEST(settle, cuts_a_long_reason_between_two_characters)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_id id = flow_fixture_submit(fixture, executions, "orders");
    struct weir_claim claim = flow_fixture_claim(fixture, executions, "orders", "anna");
    char reason[WEIR_FAILURE_SIZE_MAX + 10];
    struct weir_settlement settlement = {
        .claim = claim, .verb = WEIR_SETTLE_FAIL, .reason = reason};

    memset(reason, 'x', sizeof reason);
    memcpy(reason + WEIR_FAILURE_SIZE_MAX - 1, "\xc3\xa4", 2);
    reason[sizeof reason - 1] = '\0';
    check_db(weir_execution_settle(executions, &settlement, 1, &fixture->error), WEIR_OK);

    check_status(settlement.status, WEIR_OK);
    check_str(flow_fixture_state(fixture, executions, &id), "failed");
    check_int(fixture_ask(fixture, "SELECT length(failure) FROM weir_execution"),
              WEIR_FAILURE_SIZE_MAX - 1);
    weir_executions_destroy(executions);
}

/* ---- renewing ---------------------------------------------------------------------- */

FLOW_TEST(renew, moves_the_end_of_the_lease_and_nothing_else)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_id id = flow_fixture_submit(fixture, executions, "orders");
    struct weir_claim claim = flow_fixture_claim(fixture, executions, "orders", "anna");
    struct flow_fixture_view before = flow_fixture_see(fixture, executions, &id);
    struct weir_renewal renewals[2] = {{.claim = claim}, {.claim = claim}};
    struct flow_fixture_view after;

    check_db(weir_execution_renew(executions, 3600000, renewals, 2, &fixture->error),
             WEIR_OK);

    after = flow_fixture_see(fixture, executions, &id);
    check_status(renewals[0].status, WEIR_OK);
    check_status(renewals[1].status, WEIR_OK);
    check_int(after.info.lease_us, renewals[0].current.lease_us);
    check(after.info.lease_us > before.info.lease_us);
    check_int(after.info.epoch, before.info.epoch);
    check_int(after.info.state, WEIR_STATE_ACTIVE);
    weir_executions_destroy(executions);
}

FLOW_TEST(renew, for_too_short_or_too_long_is_refused)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_renewal renewal = {.claim.no = 1};

    check_db(weir_execution_renew(executions, 999, &renewal, 1, &fixture->error),
             WEIR_INVALID);
    check_db(weir_execution_renew(executions, 3600001, &renewal, 1, &fixture->error),
             WEIR_INVALID);

    check_str(fixture->error.text, "lease_ms is 3600001, must be from 1000 to 3600000");
    weir_executions_destroy(executions);
}

/* ---- progress ---------------------------------------------------------------------- */

FLOW_TEST(progress, shows_the_newest_report)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_id id = flow_fixture_submit(fixture, executions, "orders");
    struct weir_claim claim = flow_fixture_claim(fixture, executions, "orders", "anna");
    struct flow_fixture_view view = flow_fixture_see(fixture, executions, &id);

    check_int(view.info.progress_percent, -1);
    check_db(
        weir_execution_progress(executions, &claim, 10, "begun", NULL, &fixture->error),
        WEIR_OK);
    check_db(
        weir_execution_progress(executions, &claim, 60, "more", NULL, &fixture->error),
        WEIR_OK);

    view = flow_fixture_see(fixture, executions, &id);
    check_int(view.info.progress_percent, 60);
    check_str(view.told, "more");
    check_db(weir_execution_progress(executions, &claim, 101, "", NULL, &fixture->error),
             WEIR_INVALID);
    weir_executions_destroy(executions);
}

/* An id that is used again stands for another execution: all calls of a worker see it
 * so. */
FLOW_TEST(progress, of_what_was_removed_is_not_found_though_its_id_is_used_again)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_id id = flow_fixture_submit(fixture, executions, "orders");
    struct weir_claim claim = flow_fixture_claim(fixture, executions, "orders", "anna");
    struct weir_execution_draft draft = flow_fixture_draft("orders");
    struct weir_renewal renewal = {.claim = claim};
    struct weir_execution_status current = {.epoch = -1};

    flow_fixture_settle(fixture, executions, &claim, WEIR_SETTLE_COMPLETE);
    fixture_prepare(fixture, "DELETE FROM {p}_attempt");
    fixture_prepare(fixture, "DELETE FROM {p}_execution");
    draft.id = &id;
    (void)flow_fixture_submit_draft(fixture, executions, &draft);
    (void)flow_fixture_claim(fixture, executions, "orders", "bert");

    check_db(weir_execution_progress(executions, &claim, 99, "mine", &current,
                                     &fixture->error),
             WEIR_NOT_FOUND);
    check_int(current.epoch, 0);
    check_db(weir_execution_renew(executions, 30000, &renewal, 1, &fixture->error),
             WEIR_OK);
    check_status(renewal.status, WEIR_NOT_FOUND);
    check_status(flow_fixture_say(fixture, executions, &claim, WEIR_SETTLE_FAIL).status,
                 WEIR_NOT_FOUND);

    weir_executions_destroy(executions);
}

/* ---- those who have lost it -------------------------------------------------------- */

FLOW_TEST(stale_worker, that_slept_past_its_lease_can_change_nothing)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_claim claim;

    (void)flow_fixture_submit_retrying(fixture, executions, 5);
    claim = flow_fixture_claim(fixture, executions, "orders", "anna");
    flow_fixture_let_lease_run_out(fixture);

    flow_fixture_check_fenced(fixture, executions, &claim);

    weir_executions_destroy(executions);
}

FLOW_TEST(stale_worker, can_change_nothing_of_the_attempt_after_its_own)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_revocation revocation = {.instance = NULL};
    struct weir_execution_id id = flow_fixture_submit_retrying(fixture, executions, 5);
    struct weir_claim old = flow_fixture_claim(fixture, executions, "orders", "anna");
    struct weir_claim current;

    check_db(weir_execution_revoke(executions, &id, &revocation, &fixture->error),
             WEIR_OK);
    flow_fixture_check_fenced(fixture, executions, &old);
    current = flow_fixture_claim(fixture, executions, "orders", "bert");
    flow_fixture_check_fenced(fixture, executions, &old);
    flow_fixture_settle(fixture, executions, &current, WEIR_SETTLE_COMPLETE);
    flow_fixture_check_fenced(fixture, executions, &old);

    check_str(flow_fixture_attempts(fixture, executions, &id).text,
              "0 initial lease_lost, 1 reclaim success");
    weir_executions_destroy(executions);
}

FLOW_TEST(stale_worker, of_what_was_cancelled_can_change_nothing)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_id id = flow_fixture_submit(fixture, executions, "orders");
    struct weir_claim claim = flow_fixture_claim(fixture, executions, "orders", "anna");

    check_db(weir_execution_cancel(executions, &id, "not needed", &fixture->error),
             WEIR_OK);

    flow_fixture_check_fenced(fixture, executions, &claim);

    weir_executions_destroy(executions);
}

FLOW_TEST(first_claim, sets_the_time_of_the_start_once)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_id id = flow_fixture_submit_retrying(fixture, executions, 1);
    struct weir_claim claim = flow_fixture_claim(fixture, executions, "orders", "anna");
    int64_t started_us = flow_fixture_see(fixture, executions, &id).info.started_us;

    flow_fixture_settle(fixture, executions, &claim, WEIR_SETTLE_FAIL);
    wait_until(now_us(fixture) > started_us);
    (void)flow_fixture_claim(fixture, executions, "orders", "bert");

    check(started_us > 0);
    check_int(flow_fixture_see(fixture, executions, &id).info.started_us, started_us);
    weir_executions_destroy(executions);
}
