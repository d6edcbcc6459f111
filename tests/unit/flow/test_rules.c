/*
 * Tests of execution/rules.c: what each rule makes of a row and what follows from it,
 * one claim each. Which rule is allowed in which state is in test_rules_table.c; what
 * holds after any sequence of them in test_rules_random.c.
 */
#include "execution/rules.h"

#include <string.h>

#include "rules_fixture.h"

static void check_text(struct weir_str got, const char *want)
{
    if (!weir_str_equal(got, weir_str(want)))
        weir_test_fail(__FILE__, __LINE__, "\"%.*s\" is not \"%s\"", (int)got.size,
                       got.data, want);
}

/* The attempt that has ended, and how. */
static void check_ended(const struct weir_consequence *out,
                        enum weir_attempt_outcome outcome, int64_t epoch,
                        const char *failure)
{
    check(out->attempt_ended);
    check_int(out->outcome, outcome);
    check_int(out->attempt_epoch, epoch);
    check_text(out->failure, failure);
}

static void check_not_owned(const struct weir_execution_row *row)
{
    check_int(row->lease_us, 0);
    check_int(row->attempt_deadline_us, 0);
    check_whole(row);
}

/* ---- submit ------------------------------------------------------------------------ */

static struct weir_execution_row from(const struct weir_execution_draft *draft)
{
    struct weir_execution_row row;

    weir_rule_submit(&row, draft, NOW);
    check_whole(&row);
    return row;
}

WEIR_TEST(submit, makes_it_ready_at_once)
{
    struct weir_execution_row row = from(&(struct weir_execution_draft){.priority = 7});

    check_int(row.state, WEIR_EXEC_READY);
    check_int(row.pending, WEIR_PENDING_INITIAL);
    check_int(row.priority, 7);
    check_int(row.epoch, 0);
    check_int(row.attempts, 0);
    check_int(row.deadline_us, 0);
    check_int(row.policy.reclaims_max, 100);
}

WEIR_TEST(submit, delays_what_is_not_to_begin_yet)
{
    struct weir_execution_row row =
        from(&(struct weir_execution_draft){.delay_ms = 1500});

    check_int(row.state, WEIR_EXEC_DELAYED);
    check_int(row.hold, WEIR_HOLD_DELAY);
    check_int(row.due_us, NOW + 1500 * MS);
    check_int(row.pending, WEIR_PENDING_INITIAL);
}

WEIR_TEST(submit, counts_the_deadline_from_now)
{
    check_int(from(&(struct weir_execution_draft){.deadline_ms = 20}).deadline_us,
              NOW + 20 * MS);
}

WEIR_TEST(submit, clamps_the_priority)
{
    check_int(from(&(struct weir_execution_draft){.priority = -3}).priority, 0);
    check_int(from(&(struct weir_execution_draft){.priority = 10000}).priority, 9000);
}

/* ---- claim ------------------------------------------------------------------------- */

WEIR_TEST(claim, begins_the_first_attempt)
{
    struct weir_execution_row row = submitted();
    struct weir_consequence out;

    check_ruling(claim(&row, NOW + 7, &out), DONE);

    check_int(row.state, WEIR_EXEC_ACTIVE);
    check_int(row.attempts, 1);
    check_int(row.attempt_type, WEIR_ATTEMPT_INITIAL);
    check_int(row.epoch, 1);
    check_int(row.lease_us, NOW + 7 + TTL);
    check_int(row.attempt_deadline_us, NOW + 7 + 10 * SECOND);
    check_int(row.started_us, NOW + 7);
    check_int(row.claimed_us, NOW + 7);
    check_text(row.worker, "pool");
    check_text(row.instance, "pool-1");
    check_int(out.news, WEIR_NEWS_ACQUIRED);
    check(!out.attempt_ended);
    check_whole(&row);
}

WEIR_TEST(claim, arms_no_attempt_deadline_without_one_in_the_policy)
{
    struct weir_execution_row row = submitted();
    struct weir_consequence out;

    row.policy.attempt_timeout_ms = 0;
    check_ruling(claim(&row, NOW, &out), DONE);
    check_int(row.attempt_deadline_us, 0);
    check_whole(&row);
}

WEIR_TEST(claim, of_a_retry_begins_another_attempt)
{
    struct weir_execution_row row = claimed();
    struct weir_consequence out;

    check_ruling(weir_rule_fail(&row, 1, &PASSING, NOW, &out), DONE);
    check_ruling(weir_rule_promote(&row, NOW + SECOND), DONE);
    check_ruling(claim(&row, NOW + SECOND, &out), DONE);

    check_int(row.attempts, 2);
    check_int(row.attempt_type, WEIR_ATTEMPT_RETRY);
    check_int(row.epoch, 3);
    check_int(row.claimed_us, NOW + SECOND);
    check_int(out.news, WEIR_NEWS_ACQUIRED);
    check_text(row.failure, "try again");
}

WEIR_TEST(claim, sets_the_time_of_the_start_once)
{
    struct weir_execution_row row = claimed();
    struct weir_consequence out;

    check_ruling(weir_rule_fail(&row, 1, &PASSING, NOW, &out), DONE);
    check_ruling(weir_rule_promote(&row, NOW + SECOND), DONE);
    check_ruling(claim(&row, NOW + SECOND, &out), DONE);
    check_int(row.started_us, NOW);

    check_ruling(weir_rule_complete(&row, row.epoch, NOW + SECOND, &out), DONE);
    check_ruling(weir_rule_replay(&row, NOW + SECOND, &out), DONE);
    check_ruling(claim(&row, NOW + 2 * SECOND, &out), DONE);
    check_int(row.started_us, NOW);
}

WEIR_TEST(claim, after_a_lost_lease_is_a_reclaim)
{
    struct weir_execution_row row = claimed();
    struct weir_consequence out;

    row.policy.attempt_timeout_ms = row.attempt_deadline_us = 0;
    check_ruling(weir_rule_lose_lease(&row, NOW + TTL, &out), DONE);
    check_ruling(claim(&row, NOW + TTL, &out), DONE);

    check_int(row.attempt_type, WEIR_ATTEMPT_RECLAIM);
    check_int(row.attempts, 2);
    check_int(out.news, WEIR_NEWS_RECLAIMED);
}

WEIR_TEST(claim, of_what_was_delayed_goes_on_with_the_same_attempt)
{
    struct weir_execution_row row = parked();
    struct weir_consequence out;

    check_ruling(weir_rule_promote(&row, NOW + SECOND), DONE);
    check_ruling(claim(&row, NOW + SECOND, &out), DONE);

    check_int(row.attempts, 1);
    check_int(row.attempt_type, WEIR_ATTEMPT_INITIAL);
    check_int(row.epoch, 3);
    check_int(row.claimed_us, NOW); /* the attempt began then */
    check_int(row.attempt_deadline_us, NOW + 11 * SECOND);
    check_int(out.news, WEIR_NEWS_ACQUIRED);
    check_whole(&row);
}

WEIR_TEST(claim, keeps_the_type_of_an_attempt_that_goes_on)
{
    struct weir_execution_row row = completed();
    struct weir_consequence out;

    check_ruling(weir_rule_replay(&row, NOW, &out), DONE);
    check_ruling(claim(&row, NOW, &out), DONE);
    check_ruling(weir_rule_delay(&row, row.epoch, NOW, NOW, &out), DONE);
    check_ruling(claim(&row, NOW, &out), DONE);
    check_int(row.attempt_type, WEIR_ATTEMPT_REPLAY);
    check_int(row.attempts, 2);
}

WEIR_TEST(claim, leaves_alone_what_is_past_its_deadline)
{
    struct weir_execution_row row = submitted();
    struct weir_consequence out;

    check_ruling(claim(&row, row.deadline_us, &out), NOTHING);
    check_int(row.state, WEIR_EXEC_READY);
    check_ruling(claim(&row, row.deadline_us - 1, &out), DONE);
}

WEIR_TEST(claim, does_not_count_beyond_32_bits)
{
    struct weir_execution_row row = submitted();
    struct weir_consequence out;

    row.attempts = INT32_MAX;
    check_ruling(claim(&row, NOW, &out), LIMIT);
    check_int(row.epoch, 0);
}

WEIR_TEST(claim, has_a_lease_that_saturates)
{
    struct weir_execution_row row = submitted();
    struct weir_claimant claimant = {{"p", 1}, {"i", 1}, INT64_MAX};
    struct weir_consequence out;

    row.policy.attempt_timeout_ms = INT64_MAX;
    check_ruling(weir_rule_claim(&row, &claimant, NOW, &out), DONE);
    check_int(row.lease_us, INT64_MAX);
    check_int(row.attempt_deadline_us, INT64_MAX);
}

/* ---- the fence --------------------------------------------------------------------- */

WEIR_TEST(fence, lets_the_holder_pass_until_its_lease_is_over)
{
    struct weir_execution_row row = claimed();

    check_ruling(weir_rule_fence(&row, 1, NOW), DONE);
    check_ruling(weir_rule_fence(&row, 1, NOW + TTL - 1), DONE);
    check_ruling(weir_rule_fence(&row, 1, NOW + TTL), LEASE_OVER);
}

WEIR_TEST(fence, asks_for_the_epoch_then_the_state_then_the_lease)
{
    struct weir_execution_row row = claimed();

    check_ruling(weir_rule_fence(&row, 2, NOW + TTL), STALE);
    row.state = WEIR_EXEC_SUSPENDED;
    check_ruling(weir_rule_fence(&row, 2, NOW + TTL), STALE);
    check_ruling(weir_rule_fence(&row, 1, NOW + TTL), NOT_ACTIVE);
}

/* A claim that was never filled in has epoch 0, and so has a row that was never
 * claimed. */
WEIR_TEST(fence, lets_nobody_pass_with_an_epoch_that_is_none)
{
    struct weir_execution_row row = submitted();
    struct weir_consequence out;

    check_ruling(weir_rule_fence(&row, 0, NOW), STALE);
    check_ruling(weir_rule_complete(&row, 0, NOW, &out), STALE);
    check_ruling(weir_rule_fail(&row, 0, &PASSING, NOW, &out), STALE);
    check_ruling(weir_rule_delay(&row, 0, NOW, NOW, &out), STALE);
    check_ruling(weir_rule_abandon(&row, 0, weir_str("x"), NOW, &out), STALE);
    check_ruling(weir_rule_complete(&row, -1, NOW, &out), STALE);
}

WEIR_TEST(fence, keeps_a_worker_out_that_slept_past_its_lease)
{
    struct weir_execution_row row = claimed(), before = row;
    struct weir_consequence out;
    int64_t late_us = NOW + TTL;

    check_ruling(weir_rule_renew(&row, 1, TTL, late_us), LEASE_OVER);
    check_ruling(weir_rule_complete(&row, 1, late_us, &out), LEASE_OVER);
    check_ruling(weir_rule_fail(&row, 1, &PASSING, late_us, &out), LEASE_OVER);
    check_ruling(weir_rule_delay(&row, 1, late_us, late_us, &out), LEASE_OVER);
    check_ruling(weir_rule_abandon(&row, 1, weir_str("x"), late_us, &out), LEASE_OVER);
    check(memcmp(&row, &before, sizeof row) == 0);
}

WEIR_TEST(fence, keeps_the_owner_of_a_timed_out_attempt_from_the_next_one)
{
    struct weir_execution_row row = claimed();
    struct weir_consequence out;

    check_ruling(weir_rule_time_out(&row, NOW + 10 * SECOND, &out), DONE);
    check_ruling(weir_rule_promote(&row, NOW + 11 * SECOND), DONE);
    check_ruling(claim(&row, NOW + 11 * SECOND, &out), DONE);

    check_ruling(weir_rule_complete(&row, 1, NOW + 12 * SECOND, &out), STALE);
    check_ruling(weir_rule_renew(&row, 1, TTL, NOW + 12 * SECOND), STALE);
    check_int(row.state, WEIR_EXEC_ACTIVE);
    check_ruling(weir_rule_complete(&row, 3, NOW + 12 * SECOND, &out), DONE);
}

/* ---- renew ------------------------------------------------------------------------- */

WEIR_TEST(renew, moves_the_lease_and_nothing_else)
{
    struct weir_execution_row row = claimed(), want = row;

    check_ruling(weir_rule_renew(&row, 1, TTL, NOW + SECOND), DONE);
    want.lease_us = NOW + SECOND + TTL;
    check(memcmp(&row, &want, sizeof row) == 0);
}

WEIR_TEST(renew, does_not_move_the_attempt_deadline)
{
    struct weir_execution_row row = claimed();
    struct weir_consequence out;

    check_ruling(weir_rule_renew(&row, 1, TTL, NOW + 9 * SECOND), DONE);
    check_ruling(weir_rule_time_out(&row, NOW + 10 * SECOND, &out), DONE);
}

/* ---- complete ---------------------------------------------------------------------- */

WEIR_TEST(complete, ends_it_with_success)
{
    struct weir_execution_row row = claimed();
    struct weir_consequence out;

    row.failure = weir_str("of an attempt before");
    check_ruling(weir_rule_complete(&row, 1, NOW + 5, &out), DONE);

    check_int(row.state, WEIR_EXEC_SUCCEEDED);
    check_int(row.ended_us, NOW + 5);
    check_int(row.epoch, 2);
    check_text(row.failure, "");
    check_int(out.news, WEIR_NEWS_COMPLETION | WEIR_NEWS_REVOKED);
    check_ended(&out, WEIR_OUTCOME_SUCCESS, 1, "");
    check_not_owned(&row);
}

WEIR_TEST(complete, is_in_time_until_a_reconciler_has_come)
{
    struct weir_execution_row row = claimed();
    struct weir_consequence out;

    check_ruling(weir_rule_complete(&row, 1, row.attempt_deadline_us, &out), DONE);
    check_ruling(weir_rule_time_out(&row, NOW + 10 * SECOND, &out), NOTHING);
    check_ruling(weir_rule_expire(&row, INT64_MAX, &out), NOTHING);
    check_int(row.state, WEIR_EXEC_SUCCEEDED);
}

/* ---- repeated calls ---------------------------------------------------------------- */

WEIR_TEST(repeated, complete_is_told_that_it_was_done)
{
    struct weir_execution_row row = completed(), before = row;
    struct weir_consequence out;

    check_ruling(weir_rule_complete(&row, 1, NOW + 1, &out), REPEATED);
    check_ruling(weir_rule_complete(&row, 1, INT64_MAX, &out), REPEATED);
    check_int(out.news, 0);
    check(!out.attempt_ended);
    check(memcmp(&row, &before, sizeof row) == 0);
}

WEIR_TEST(repeated, complete_of_another_epoch_is_stale)
{
    struct weir_execution_row row = completed();
    struct weir_consequence out;

    check_ruling(weir_rule_complete(&row, 3, NOW, &out), STALE);
    check_ruling(weir_rule_complete(&row, 0, NOW, &out), STALE);
    check_ruling(weir_rule_complete(&row, row.epoch, NOW, &out), NOT_ACTIVE);
}

WEIR_TEST(repeated, fail_uses_up_one_retry)
{
    struct weir_execution_row row = claimed();
    struct weir_consequence out;

    check_ruling(weir_rule_fail(&row, 1, &PASSING, NOW, &out), DONE);
    check_ruling(weir_rule_fail(&row, 1, &PASSING, NOW, &out), REPEATED);
    check_int(row.retries, 1);
}

WEIR_TEST(repeated, fail_is_recognised_while_the_next_attempt_runs)
{
    struct weir_execution_row row = claimed();
    struct weir_consequence out;

    check_ruling(weir_rule_fail(&row, 1, &PASSING, NOW, &out), DONE);
    check_ruling(weir_rule_promote(&row, NOW + SECOND), DONE);
    check_ruling(claim(&row, NOW + SECOND, &out), DONE);
    check_ruling(weir_rule_fail(&row, 1, &PASSING, NOW + SECOND, &out), REPEATED);
    check_int(row.state, WEIR_EXEC_ACTIVE);

    check_ruling(weir_rule_fail(&row, 3, &PASSING, NOW + SECOND, &out), DONE);
    check_ruling(weir_rule_fail(&row, 1, &PASSING, NOW + SECOND, &out), STALE);
    check_ruling(weir_rule_fail(&row, 3, &PASSING, NOW + SECOND, &out), REPEATED);
}

WEIR_TEST(repeated, delay_and_cancel_are_told_that_they_were_done)
{
    struct weir_execution_row row = parked();
    struct weir_consequence out;

    check_ruling(weir_rule_delay(&row, 1, NOW + 9 * SECOND, NOW, &out), REPEATED);
    check_int(row.due_us, NOW + SECOND);

    row = claimed();
    check_ruling(weir_rule_abandon(&row, 1, weir_str("no"), NOW, &out), DONE);
    check_ruling(weir_rule_abandon(&row, 1, weir_str("no"), NOW, &out), REPEATED);
    check_ruling(weir_rule_abandon(&row, 7, weir_str("no"), NOW, &out), STALE);
}

WEIR_TEST(repeated, call_with_another_verb_is_refused)
{
    struct weir_execution_row row = completed(), before = row;
    struct weir_consequence out;

    check_ruling(weir_rule_fail(&row, 1, &PASSING, NOW, &out), OTHERWISE);
    check_ruling(weir_rule_delay(&row, 1, NOW + SECOND, NOW, &out), OTHERWISE);
    check_ruling(weir_rule_abandon(&row, 1, weir_str("no"), NOW, &out), OTHERWISE);
    check(!out.attempt_ended);
    check(memcmp(&row, &before, sizeof row) == 0);
}

WEIR_TEST(repeated, fail_is_another_one_when_it_is_for_good)
{
    static const struct weir_failing FOR_GOOD = {{"bad", 3}, true};
    struct weir_execution_row row = claimed();
    struct weir_consequence out;

    check_ruling(weir_rule_fail(&row, 1, &PASSING, NOW, &out), DONE);
    check_ruling(weir_rule_fail(&row, 1, &FOR_GOOD, NOW, &out), OTHERWISE);
    check_int(row.retries, 1);
}

WEIR_TEST(turn, of_what_is_ready_again_is_before_all_that_is_new_and_behind_those_before)
{
    struct weir_execution_row first = claimed(), second = claimed();
    struct weir_consequence out;

    check(first.turn >= 0);
    check_ruling(weir_rule_delay(&first, 1, NOW, NOW, &out), DONE);
    check_ruling(weir_rule_delay(&second, 1, NOW, NOW + 1, &out), DONE);
    check(first.turn < second.turn);
    check(second.turn < 0);
}

WEIR_TEST(turn, is_new_with_another_priority)
{
    struct weir_execution_row row = submitted();
    struct weir_consequence out;

    check_ruling(weir_rule_prioritise(&row, 7, NOW + SECOND, &out), DONE);
    check(row.turn == WEIR_TURN_AGAIN(NOW + SECOND));
}

/* It has not done it: somebody else has ended its claim. */
WEIR_TEST(repeated, is_not_what_comes_after_a_cancel_by_others)
{
    struct weir_execution_row row = claimed();
    struct weir_consequence out;

    check_ruling(weir_rule_cancel(&row, weir_str("stop"), NOW, &out), DONE);
    check_ruling(weir_rule_complete(&row, 1, NOW, &out), STALE);
    check_int(row.state, WEIR_EXEC_CANCELLED);
}

/* ---- fail -------------------------------------------------------------------------- */

WEIR_TEST(fail, with_retries_left_waits_for_the_backoff)
{
    struct weir_execution_row row = claimed();
    struct weir_consequence out;

    check_ruling(weir_rule_fail(&row, 1, &PASSING, NOW, &out), DONE);

    check_int(row.state, WEIR_EXEC_DELAYED);
    check_int(row.hold, WEIR_HOLD_RETRY);
    check_int(row.pending, WEIR_PENDING_RETRY);
    check_int(row.due_us, NOW + SECOND);
    check_int(row.retries, 1);
    check_int(row.epoch, 2);
    check_int(row.ended_us, 0);
    check_text(row.failure, "try again");
    check_int(out.news, WEIR_NEWS_REVOKED);
    check_ended(&out, WEIR_OUTCOME_RETRY, 1, "try again");
    check_not_owned(&row);
}

WEIR_TEST(fail, uses_up_its_retries_and_then_ends_it)
{
    struct weir_execution_row row = claimed();
    struct weir_consequence out;

    for (int64_t delay_ms = 1000; delay_ms <= 2000; delay_ms *= 2) {
        check_ruling(weir_rule_fail(&row, row.epoch, &PASSING, NOW, &out), DONE);
        check_int(row.due_us, NOW + delay_ms * MS);
        check_ruling(weir_rule_promote(&row, row.due_us), DONE);
        check_ruling(claim(&row, NOW, &out), DONE);
    }
    check_ruling(weir_rule_fail(&row, row.epoch, &PASSING, NOW + 3, &out), DONE);

    check_int(row.state, WEIR_EXEC_FAILED);
    check_int(row.attempts, 3);
    check_int(row.retries, 2);
    check_int(row.ended_us, NOW + 3);
    check_int(out.news, WEIR_NEWS_COMPLETION | WEIR_NEWS_REVOKED);
    check_ended(&out, WEIR_OUTCOME_FAILED, 5, "try again");
}

WEIR_TEST(fail, for_good_ends_it_whatever_is_left)
{
    struct weir_execution_row row = claimed();
    struct weir_failing failing = {weir_str("no such user"), true};
    struct weir_consequence out;

    check_ruling(weir_rule_fail(&row, 1, &failing, NOW, &out), DONE);
    check_int(row.state, WEIR_EXEC_FAILED);
    check_int(row.retries, 0);
    check_ended(&out, WEIR_OUTCOME_FAILED, 1, "no such user");
    check_not_owned(&row);
}

WEIR_TEST(fail, without_backoff_is_ready_at_once)
{
    struct weir_execution_row row = claimed();
    struct weir_consequence out;

    row.policy.backoff_initial_ms = 0;
    check_ruling(weir_rule_fail(&row, 1, &PASSING, NOW, &out), DONE);
    check_int(row.state, WEIR_EXEC_READY);
    check_int(row.hold, WEIR_HOLD_NONE);
    check_int(row.pending, WEIR_PENDING_RETRY);
    check_whole(&row);
}

/* ---- backoff ----------------------------------------------------------------------- */

static int64_t delay_ms(const struct weir_execution_policy *policy, uint32_t retries)
{
    return weir_retry_delay_us(policy, retries) / MS;
}

WEIR_TEST(backoff, grows_by_its_multiplier_up_to_its_limit)
{
    struct weir_execution_policy policy;

    weir_execution_policy_init(&policy);
    check_int(delay_ms(&policy, 0), 1000);
    check_int(delay_ms(&policy, 1), 2000);
    check_int(delay_ms(&policy, 5), 32000);
    check_int(delay_ms(&policy, 6), 60000);
    check_int(delay_ms(&policy, UINT32_MAX), 60000);
}

WEIR_TEST(backoff, that_is_fixed_stays)
{
    struct weir_execution_policy policy;

    weir_execution_policy_init(&policy);
    policy.backoff = WEIR_RETRY_FIXED;
    policy.backoff_initial_ms = 90000;
    check_int(delay_ms(&policy, 0), 90000);
    check_int(delay_ms(&policy, UINT32_MAX), 90000);
}

WEIR_TEST(backoff, of_broken_numbers_saturates_and_is_never_negative)
{
    struct weir_execution_policy policy = {.backoff_initial_ms = INT64_MAX,
                                           .backoff_multiplier = 1000,
                                           .backoff_max_ms = INT64_MAX};

    check_int(weir_retry_delay_us(&policy, 0), INT64_MAX);
    check_int(weir_retry_delay_us(&policy, UINT32_MAX), INT64_MAX);
    policy.backoff = WEIR_RETRY_FIXED;
    check_int(weir_retry_delay_us(&policy, 0), INT64_MAX);
    policy.backoff_initial_ms = -5;
    check_int(weir_retry_delay_us(&policy, 0), 0);
    policy.backoff = WEIR_RETRY_EXPONENTIAL;
    check_int(weir_retry_delay_us(&policy, 3), 0);
    policy.backoff_initial_ms = 5;
    policy.backoff_max_ms = -1;
    check_int(weir_retry_delay_us(&policy, 3), 0);
}

WEIR_TEST(backoff, later_than_all_times_is_the_last_of_them)
{
    struct weir_execution_row row = claimed();
    struct weir_consequence out;

    row.policy.backoff_initial_ms = row.policy.backoff_max_ms = INT64_MAX;
    check_ruling(weir_rule_fail(&row, 1, &PASSING, NOW, &out), DONE);
    check_int(row.due_us, INT64_MAX);
}

/* ---- delay ------------------------------------------------------------------------- */

WEIR_TEST(delay, parks_the_attempt_without_ending_it)
{
    struct weir_execution_row row = claimed();
    struct weir_consequence out;

    check_ruling(weir_rule_delay(&row, 1, NOW + 5 * SECOND, NOW, &out), DONE);

    check_int(row.state, WEIR_EXEC_DELAYED);
    check_int(row.hold, WEIR_HOLD_DELAY);
    check_int(row.pending, WEIR_PENDING_RESUME);
    check_int(row.due_us, NOW + 5 * SECOND);
    check_int(row.epoch, 2);
    check_int(row.retries, 0);
    check_int(out.news, WEIR_NEWS_REVOKED);
    check(!out.attempt_ended);
    check_not_owned(&row);
}

WEIR_TEST(delay, until_a_time_that_has_come_is_ready_at_once)
{
    struct weir_execution_row row = claimed();
    struct weir_consequence out;

    check_ruling(weir_rule_delay(&row, 1, NOW, NOW, &out), DONE);
    check_int(row.state, WEIR_EXEC_READY);
    check_int(row.pending, WEIR_PENDING_RESUME);
    check_whole(&row);
}

WEIR_TEST(delay, keeps_the_deadline_of_the_whole)
{
    struct weir_execution_row row = parked();

    check_int(row.deadline_us, NOW + 3600 * SECOND);
}

/* ---- cancel ------------------------------------------------------------------------ */

WEIR_TEST(cancel, takes_a_running_one_from_its_worker)
{
    struct weir_execution_row row = claimed();
    struct weir_consequence out;

    check_ruling(weir_rule_cancel(&row, weir_str("wrong order"), NOW + 2, &out), DONE);

    check_int(row.state, WEIR_EXEC_CANCELLED);
    check_int(row.ended_us, NOW + 2);
    check_int(row.epoch, 2);
    check_text(row.failure, "wrong order");
    check_int(out.news, WEIR_NEWS_COMPLETION | WEIR_NEWS_REVOKED);
    check_ended(&out, WEIR_OUTCOME_CANCELLED, 1, "wrong order");
    check_not_owned(&row);
}

WEIR_TEST(cancel, works_also_when_the_lease_is_over)
{
    struct weir_execution_row row = claimed();
    struct weir_consequence out;

    check_ruling(weir_rule_cancel(&row, weir_str("x"), NOW + TTL, &out), DONE);
    check_int(row.state, WEIR_EXEC_CANCELLED);
}

WEIR_TEST(cancel, of_what_never_began_ends_no_attempt)
{
    struct weir_execution_row row = submitted();
    struct weir_consequence out;

    check_ruling(weir_rule_cancel(&row, weir_str("x"), NOW, &out), DONE);
    check_int(row.state, WEIR_EXEC_CANCELLED);
    check_int(out.news, WEIR_NEWS_COMPLETION);
    check(!out.attempt_ended);
    check_whole(&row);
}

WEIR_TEST(cancel, of_what_waits_for_a_retry_ends_no_attempt_twice)
{
    struct weir_execution_row row = claimed();
    struct weir_consequence out;

    check_ruling(weir_rule_fail(&row, 1, &PASSING, NOW, &out), DONE);
    check_ruling(weir_rule_cancel(&row, weir_str("x"), NOW, &out), DONE);
    check(!out.attempt_ended);
    check_int(row.due_us, 0);
    check_whole(&row);
}

WEIR_TEST(cancel, of_what_is_parked_ends_its_attempt)
{
    struct weir_execution_row row = parked();
    struct weir_consequence out;

    check_ruling(weir_rule_cancel(&row, weir_str("x"), NOW, &out), DONE);
    check_ended(&out, WEIR_OUTCOME_CANCELLED, 1, "x");
    check_int(out.news, WEIR_NEWS_COMPLETION); /* nobody had a lease */
    check_whole(&row);
}

WEIR_TEST(cancel, twice_is_fine_and_of_what_has_ended_is_not)
{
    struct weir_execution_row row = claimed();
    struct weir_consequence out;

    check_ruling(weir_rule_cancel(&row, weir_str("x"), NOW, &out), DONE);
    check_ruling(weir_rule_cancel(&row, weir_str("y"), NOW, &out), NOTHING);
    check_text(row.failure, "x");

    row = completed();
    check_ruling(weir_rule_cancel(&row, weir_str("x"), NOW, &out), OVER);
}

WEIR_TEST(abandon, is_a_cancel_by_the_worker)
{
    struct weir_execution_row row = claimed();
    struct weir_consequence out;

    check_ruling(weir_rule_abandon(&row, 2, weir_str("x"), NOW, &out), STALE);
    check_ruling(weir_rule_abandon(&row, 1, weir_str("not needed"), NOW, &out), DONE);
    check_int(row.state, WEIR_EXEC_CANCELLED);
    check_int(out.news, WEIR_NEWS_COMPLETION | WEIR_NEWS_REVOKED);
    check_ended(&out, WEIR_OUTCOME_CANCELLED, 1, "not needed");
    check_not_owned(&row);
}

/* ---- revoke ------------------------------------------------------------------------ */

WEIR_TEST(revoke, makes_it_ready_for_another_worker)
{
    struct weir_execution_row row = claimed();
    struct weir_consequence out;

    check_ruling(weir_rule_revoke(&row, weir_str("pool-1"), 1, NOW, &out), DONE);

    check_int(row.state, WEIR_EXEC_READY);
    check_int(row.pending, WEIR_PENDING_RECLAIM);
    check_int(row.epoch, 2);
    check_int(out.news, WEIR_NEWS_REVOKED);
    check_ended(&out, WEIR_OUTCOME_LEASE_LOST, 1, "lease_revoked");
    check_not_owned(&row);
    check_ruling(weir_rule_renew(&row, 1, TTL, NOW), STALE);
}

WEIR_TEST(revoke, does_not_count_as_a_lost_lease)
{
    struct weir_execution_row row = claimed();
    struct weir_consequence out;

    row.policy.reclaims_max = 0;
    check_ruling(weir_rule_revoke(&row, weir_str(""), 0, NOW, &out), DONE);
    check_int(row.reclaims, 0);
    check_int(row.state, WEIR_EXEC_READY);
}

WEIR_TEST(revoke, says_why_there_is_nothing_to_revoke)
{
    struct weir_execution_row row = submitted();
    struct weir_consequence out;
    enum weir_ruling ruling = weir_rule_revoke(&row, weir_str(""), 0, NOW, &out);

    check_ruling(ruling, NOT_ACTIVE);
    check_str(weir_revoke_reason(ruling), "no_active_lease");

    row = claimed();
    ruling = weir_rule_revoke(&row, weir_str("pool-2"), 0, NOW, &out);
    check_ruling(ruling, OTHER_INSTANCE);
    check_str(weir_revoke_reason(ruling), "different_worker_instance_id");

    ruling = weir_rule_revoke(&row, weir_str(""), 7, NOW, &out);
    check_ruling(ruling, STALE);
    check_str(weir_revoke_reason(ruling), "epoch_moved");

    check_str(weir_revoke_reason(WEIR_RULING_DONE), "");
    check_int(row.epoch, 1);
}

WEIR_TEST(revoke, leaves_a_lease_that_is_over_to_those_who_count_it)
{
    struct weir_execution_row row = claimed();
    struct weir_consequence out;

    check_ruling(weir_rule_revoke(&row, weir_str(""), 0, NOW + TTL, &out), NOT_ACTIVE);
}

/* ---- priority ---------------------------------------------------------------------- */

WEIR_TEST(prioritise, changes_what_is_ready_and_tells_both)
{
    struct weir_execution_row row = submitted();
    struct weir_consequence out;

    check_ruling(weir_rule_prioritise(&row, 80, NOW, &out), DONE);
    check_int(row.priority, 80);
    check_int(out.priority_before, 5);
    check_int(out.news, WEIR_NEWS_PRIORITY);
    check_int(row.epoch, 0);
}

WEIR_TEST(prioritise, clamps)
{
    struct weir_execution_row row = submitted();
    struct weir_consequence out;

    check_ruling(weir_rule_prioritise(&row, INT32_MAX, NOW, &out), DONE);
    check_int(row.priority, 9000);
    check_ruling(weir_rule_prioritise(&row, 9500, NOW, &out), NOTHING);
    check_int(out.news, 0);
    check_ruling(weir_rule_prioritise(&row, -1, NOW, &out), DONE);
    check_int(row.priority, 0);
}

/* ---- replay ------------------------------------------------------------------------ */

WEIR_TEST(replay, makes_what_has_ended_ready_again)
{
    struct weir_execution_row row = completed();
    struct weir_consequence out;

    check_ruling(weir_rule_replay(&row, NOW + 1, &out), DONE);

    check_int(row.state, WEIR_EXEC_READY);
    check_int(row.pending, WEIR_PENDING_REPLAY);
    check_int(row.replays, 1);
    check_int(row.ended_us, 0);
    check_int(row.epoch, 3);
    check_int(out.news, WEIR_NEWS_REPLAYED);
    check(!out.attempt_ended);
    check_whole(&row);

    check_ruling(claim(&row, NOW + 1, &out), DONE);
    check_int(row.attempt_type, WEIR_ATTEMPT_REPLAY);
    check_int(row.attempts, 2);
}

WEIR_TEST(replay, is_limited)
{
    struct weir_execution_row row = submitted();
    struct weir_consequence out;

    for (int i = 0; i < 2; i++) {
        check_ruling(weir_rule_cancel(&row, weir_str("x"), NOW, &out), DONE);
        check_ruling(weir_rule_replay(&row, NOW, &out), DONE);
    }
    check_ruling(weir_rule_cancel(&row, weir_str("x"), NOW, &out), DONE);
    check_ruling(weir_rule_replay(&row, NOW, &out), LIMIT);
    check_int(row.state, WEIR_EXEC_CANCELLED);
}

WEIR_TEST(replay, has_all_retries_and_reclaims_again)
{
    struct weir_execution_row row = claimed();
    struct weir_consequence out;

    row.retries = row.reclaims = 2;
    check_ruling(weir_rule_fail(&row, 1, &PASSING, NOW, &out), DONE);
    check_int(row.state, WEIR_EXEC_FAILED);
    check_ruling(weir_rule_replay(&row, NOW, &out), DONE);
    check_int(row.retries, 0);
    check_int(row.reclaims, 0);
}

WEIR_TEST(replay, drops_a_deadline_that_has_passed_and_keeps_one_that_has_not)
{
    struct weir_execution_row row = completed();
    struct weir_consequence out;

    check_ruling(weir_rule_replay(&row, row.deadline_us - 1, &out), DONE);
    check_int(row.deadline_us, NOW + 3600 * SECOND);
    check_ruling(weir_rule_expire(&row, row.deadline_us, &out), DONE);
    check_ruling(weir_rule_replay(&row, row.deadline_us, &out), DONE);
    check_int(row.deadline_us, 0);
}

WEIR_TEST(replay, of_a_skipped_member_of_a_flow_waits_for_its_dependencies)
{
    struct weir_execution_row row = in_state(WEIR_EXEC_SKIPPED);
    struct weir_consequence out;

    row.flow_no = 3;
    check_ruling(weir_rule_replay(&row, NOW, &out), DONE);
    check_int(row.state, WEIR_EXEC_BLOCKED);
    check_int(row.hold, WEIR_HOLD_DEPENDENCIES);
    check_int(row.pending, WEIR_PENDING_REPLAY);
    check_whole(&row);
}

WEIR_TEST(replay, of_a_member_that_had_begun_waits_for_nothing)
{
    struct weir_execution_row row = in_state(WEIR_EXEC_FAILED);
    struct weir_consequence out;

    row.flow_no = 3;
    row.attempts = 1;
    check_ruling(weir_rule_replay(&row, NOW, &out), DONE);
    check_int(row.state, WEIR_EXEC_READY);
}

/* ---- promote ----------------------------------------------------------------------- */

WEIR_TEST(promote, makes_it_ready_when_its_time_has_come)
{
    struct weir_execution_row row = parked();

    check_ruling(weir_rule_promote(&row, NOW + SECOND - 1), NOTHING);
    check_int(row.state, WEIR_EXEC_DELAYED);
    check_ruling(weir_rule_promote(&row, NOW + SECOND), DONE);
    check_int(row.state, WEIR_EXEC_READY);
    check_int(row.pending, WEIR_PENDING_RESUME);
    check_int(row.epoch, 2);
    check_whole(&row);
}

/* ---- time_out ---------------------------------------------------------------------- */

WEIR_TEST(time_out, with_retries_left_goes_back_with_backoff)
{
    struct weir_execution_row row = claimed();
    struct weir_consequence out;
    int64_t now_us = NOW + 10 * SECOND;

    check_ruling(weir_rule_time_out(&row, now_us, &out), DONE);

    check_int(row.state, WEIR_EXEC_DELAYED);
    check_int(row.hold, WEIR_HOLD_RETRY);
    check_int(row.pending, WEIR_PENDING_RETRY);
    check_int(row.due_us, now_us + SECOND);
    check_int(row.retries, 1);
    check_int(row.epoch, 2);
    check_int(out.news, WEIR_NEWS_EXPIRED);
    check_ended(&out, WEIR_OUTCOME_INTERRUPTED, 1, "attempt_timeout");
    check_not_owned(&row);
}

WEIR_TEST(time_out, without_retries_ends_it_as_expired)
{
    struct weir_execution_row row = claimed();
    struct weir_consequence out;

    row.policy.retries_max = 0;
    check_ruling(weir_rule_time_out(&row, NOW + 10 * SECOND, &out), DONE);

    check_int(row.state, WEIR_EXEC_EXPIRED);
    check_text(row.failure, "attempt_timeout");
    check_int(out.news, WEIR_NEWS_EXPIRED | WEIR_NEWS_COMPLETION);
    check_ended(&out, WEIR_OUTCOME_INTERRUPTED, 1, "attempt_timeout");
    check_not_owned(&row);
}

WEIR_TEST(time_out, does_nothing_before_the_time_or_without_one)
{
    struct weir_execution_row row = claimed();
    struct weir_consequence out;

    check_ruling(weir_rule_time_out(&row, NOW + 10 * SECOND - 1, &out), NOTHING);
    row.attempt_deadline_us = 0;
    check_ruling(weir_rule_time_out(&row, INT64_MAX, &out), NOTHING);
    check_int(row.epoch, 1);
}

/* ---- lose_lease -------------------------------------------------------------------- */

/* Without a limit for the attempt, so that only the lease counts. */
static struct weir_execution_row unlimited(void)
{
    struct weir_execution_row row = claimed();

    row.policy.attempt_timeout_ms = 0;
    row.attempt_deadline_us = 0;
    check_whole(&row);
    return row;
}

WEIR_TEST(lose_lease, fences_the_worker_and_gives_the_work_to_others)
{
    struct weir_execution_row row = unlimited();
    struct weir_consequence out;

    check_ruling(weir_rule_lose_lease(&row, NOW + TTL, &out), DONE);

    check_int(row.state, WEIR_EXEC_READY);
    check_int(row.pending, WEIR_PENDING_RECLAIM);
    check_int(row.reclaims, 1);
    check_int(row.retries, 0);
    check_int(row.epoch, 2);
    check_int(out.news, WEIR_NEWS_EXPIRED);
    check_ended(&out, WEIR_OUTCOME_LEASE_LOST, 1, "lease_expired");
    check_not_owned(&row);
    check_ruling(weir_rule_complete(&row, 1, NOW + TTL, &out), STALE);
}

WEIR_TEST(lose_lease, more_often_than_the_policy_allows_fails_it)
{
    struct weir_execution_row row = unlimited();
    struct weir_consequence out;
    int64_t now_us = NOW;

    for (int i = 0; i < 2; i++) {
        now_us += TTL;
        check_ruling(weir_rule_lose_lease(&row, now_us, &out), DONE);
        check_int(row.state, WEIR_EXEC_READY);
        check_ruling(claim(&row, now_us, &out), DONE);
    }
    check_ruling(weir_rule_lose_lease(&row, now_us + TTL, &out), DONE);

    check_int(row.state, WEIR_EXEC_FAILED);
    check_text(row.failure, "max_reclaims_exceeded");
    check_int(row.attempts, 3);
    check_int(row.reclaims, 2);
    check_int(out.news, WEIR_NEWS_EXPIRED | WEIR_NEWS_COMPLETION);
    check_ended(&out, WEIR_OUTCOME_LEASE_LOST, 5, "max_reclaims_exceeded");
    check_not_owned(&row);
}

WEIR_TEST(lose_lease, does_nothing_to_a_lease_that_was_renewed_in_time)
{
    struct weir_execution_row row = unlimited();
    struct weir_consequence out;

    check_ruling(weir_rule_renew(&row, 1, TTL, NOW + TTL - 1), DONE);
    check_ruling(weir_rule_lose_lease(&row, NOW + TTL, &out), NOTHING);
    check_int(row.state, WEIR_EXEC_ACTIVE);
}

/* So that the result does not depend on who wakes up first. */
WEIR_TEST(lose_lease, leaves_an_attempt_over_its_limit_to_time_out)
{
    struct weir_execution_row row = claimed();
    struct weir_consequence out;

    check_ruling(weir_rule_lose_lease(&row, NOW + TTL, &out), NOTHING);
    check_ruling(weir_rule_time_out(&row, NOW + TTL, &out), DONE);
    check_int(row.retries, 1);
    check_int(row.reclaims, 0);
    check_ruling(weir_rule_lose_lease(&row, NOW + TTL, &out), NOTHING);
}

/* ---- expire ------------------------------------------------------------------------ */

WEIR_TEST(expire, ends_what_runs)
{
    struct weir_execution_row row = claimed();
    struct weir_consequence out;

    check_ruling(weir_rule_expire(&row, row.deadline_us - 1, &out), NOTHING);
    check_ruling(weir_rule_expire(&row, row.deadline_us, &out), DONE);

    check_int(row.state, WEIR_EXEC_EXPIRED);
    check_int(row.ended_us, NOW + 3600 * SECOND);
    check_int(row.epoch, 2);
    check_text(row.failure, "execution_deadline");
    check_int(out.news, WEIR_NEWS_EXPIRED | WEIR_NEWS_COMPLETION);
    check_ended(&out, WEIR_OUTCOME_EXPIRED, 1, "execution_deadline");
    check_not_owned(&row);
}

/* ---- refuse_input ------------------------------------------------------------------ */

WEIR_TEST(refuse_input, fails_what_waits_for_a_worker_without_an_attempt)
{
    struct weir_execution_row row = in_state(WEIR_EXEC_READY);
    struct weir_consequence out;
    int32_t attempts = row.attempts;

    check_ruling(weir_rule_refuse_input(&row, NOW + 1, &out), DONE);

    check_int(row.state, WEIR_EXEC_FAILED);
    check_int(row.ended_us, NOW + 1);
    check_int(row.attempts, attempts);
    check_text(row.failure, "joined_input_too_large");
    check((out.news & WEIR_NEWS_COMPLETION) != 0);
    check(!out.attempt_ended);
    check_not_owned(&row);
}

/* ---- expire ------------------------------------------------------------------------ */

WEIR_TEST(expire, ends_what_has_not_ended_in_whatever_state)
{
    static const enum weir_exec_state STATES[] = {WEIR_EXEC_READY, WEIR_EXEC_DELAYED,
                                                  WEIR_EXEC_BLOCKED, WEIR_EXEC_SUSPENDED};

    for (size_t i = 0; i < 4; i++) {
        struct weir_execution_row row = in_state(STATES[i]);
        bool open = weir_state_has_attempt(row.state, row.pending);
        struct weir_consequence out;

        check_ruling(weir_rule_expire(&row, row.deadline_us, &out), DONE);
        check_int(row.state, WEIR_EXEC_EXPIRED);
        check_int(out.news, WEIR_NEWS_COMPLETION); /* nobody had a lease */
        check_int(out.attempt_ended, open);
        check_whole(&row);
    }
}

WEIR_TEST(expire, does_nothing_without_a_deadline)
{
    struct weir_execution_row row = claimed();
    struct weir_consequence out;

    row.deadline_us = 0;
    check_ruling(weir_rule_expire(&row, INT64_MAX, &out), NOTHING);
}

/* ---- complaints -------------------------------------------------------------------- */

static void complains(const struct weir_execution_row *row, const char *words)
{
    const char *complaint = weir_row_complaint(row);

    if (complaint == NULL || strstr(complaint, words) == NULL)
        weir_test_fail(__FILE__, __LINE__, "\"%s\" is not in \"%s\"", words,
                       complaint != NULL ? complaint : "nothing");
}

#define COMPLAINS(make, change, words)                                                   \
    do {                                                                                 \
        struct weir_execution_row row = make;                                            \
        row.change;                                                                      \
        complains(&row, words);                                                          \
    } while (0)

WEIR_TEST(complaint, is_made_about_numbers_that_nobody_knows)
{
    COMPLAINS(claimed(), state = (enum weir_exec_state)6, "state is unknown");
    COMPLAINS(claimed(), state = (enum weir_exec_state)0, "state is unknown");
    COMPLAINS(claimed(), hold = (enum weir_hold)15, "hold");
    COMPLAINS(submitted(), pending = (enum weir_pending)5, "pending is unknown");
    COMPLAINS(claimed(), attempt_type = (enum weir_attempt_type)4, "type");
}

WEIR_TEST(complaint, is_made_about_a_state_without_what_belongs_to_it)
{
    COMPLAINS(claimed(), hold = WEIR_HOLD_RETRY, "hold");
    COMPLAINS(parked(), hold = WEIR_HOLD_SIGNAL, "hold");
    COMPLAINS(parked(), hold = WEIR_HOLD_RETRY, "retry that is not pending");
    COMPLAINS(claimed(), pending = WEIR_PENDING_RETRY, "pending");
    COMPLAINS(in_state(WEIR_EXEC_SUSPENDED), pending = WEIR_PENDING_RETRY, "suspended");
    COMPLAINS(claimed(), lease_us = 0, "lease");
    COMPLAINS(submitted(), lease_us = NOW, "lease");
    COMPLAINS(parked(), due_us = 0, "delayed");
    COMPLAINS(submitted(), due_us = NOW, "delayed");
    COMPLAINS(claimed(), attempt_deadline_us = 0, "attempt's deadline");
    COMPLAINS(submitted(), attempt_deadline_us = NOW, "attempt's deadline");
    COMPLAINS(completed(), ended_us = 0, "over");
    COMPLAINS(submitted(), ended_us = NOW, "over");
    COMPLAINS(submitted(), deadline_us = -1, "negative");
}

WEIR_TEST(complaint, is_made_about_counts_that_cannot_be)
{
    COMPLAINS(claimed(), started_us = 0, "time of a claim");
    COMPLAINS(parked(), pending = WEIR_PENDING_INITIAL, "attempts");
    COMPLAINS(submitted(), pending = WEIR_PENDING_RETRY, "attempts");
    COMPLAINS(claimed(), epoch = 0, "epoch");
    COMPLAINS(completed(), settled_epoch = 2, "settled epoch");
    COMPLAINS(completed(), settled_epoch = -1, "settled epoch");
    COMPLAINS(claimed(), retries = 3, "retries");
    COMPLAINS(claimed(), reclaims = 3, "reclaims");
    COMPLAINS(claimed(), replays = 3, "replays");
    COMPLAINS(claimed(), priority = 9001, "priority");
}
