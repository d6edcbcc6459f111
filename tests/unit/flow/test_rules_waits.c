/*
 * Tests of execution/rules.c: suspensions, dependencies and budgets, one claim each.
 */
#include "execution/rules.h"
#include "rules_fixture.h"

static void check_text(struct weir_str got, const char *want)
{
    if (!weir_str_equal(got, weir_str(want)))
        weir_test_fail(__FILE__, __LINE__, "\"%.*s\" is not \"%s\"", (int)got.size,
                       got.data, want);
}

static const struct weir_suspending FOR_APPROVAL = {.hold = WEIR_HOLD_APPROVAL};
static const struct weir_suspending FOR_SIGNAL = {.hold = WEIR_HOLD_SIGNAL};

static struct weir_execution_row suspended_for(const struct weir_suspending *suspending)
{
    struct weir_execution_row row = claimed();
    struct weir_consequence out;

    check_ruling(weir_rule_suspend(&row, 1, suspending, NOW, &out), DONE);
    check_whole(&row);
    return row;
}

static struct weir_execution_row suspended(void)
{
    return suspended_for(&FOR_APPROVAL);
}

/* For a second at most. */
static struct weir_execution_row suspended_until(enum weir_on_timeout on_timeout)
{
    struct weir_suspending suspending = {WEIR_HOLD_APPROVAL, NOW + SECOND, on_timeout};

    return suspended_for(&suspending);
}

static struct weir_execution_row blocked(enum weir_hold hold)
{
    struct weir_execution_row row = submitted();
    struct weir_consequence out;

    check_ruling(weir_rule_block(&row, hold, &out), DONE);
    check_whole(&row);
    return row;
}

/* ---- suspend and resume ------------------------------------------------------------ */

WEIR_TEST(suspend, parks_it_and_ends_the_claim_but_not_the_attempt)
{
    struct weir_execution_row row = claimed();
    struct weir_consequence out;

    check_ruling(weir_rule_suspend(&row, 1, &FOR_APPROVAL, NOW + SECOND, &out), DONE);

    check_int(row.state, WEIR_EXEC_SUSPENDED);
    check_int(row.hold, WEIR_HOLD_APPROVAL);
    check_int(row.pending, WEIR_PENDING_RESUME);
    check_int(row.lease_us, 0);
    check_int(row.epoch, 2);
    check_int(out.news, WEIR_NEWS_REVOKED);
    check(!out.attempt_ended);
    check(!out.wait_ended);
    check_whole(&row);
}

WEIR_TEST(suspend, needs_the_lease)
{
    struct weir_execution_row row = claimed();
    struct weir_consequence out;

    check_ruling(weir_rule_suspend(&row, 7, &FOR_SIGNAL, NOW, &out), STALE);
    check_ruling(weir_rule_suspend(&row, 1, &FOR_SIGNAL, NOW + TTL, &out), LEASE_OVER);
}

WEIR_TEST(suspend, repeated_is_told_that_it_was_done)
{
    struct weir_execution_row row = suspended();
    struct weir_consequence out;

    check_ruling(weir_rule_suspend(&row, 1, &FOR_APPROVAL, NOW, &out), REPEATED);
    check_int(row.epoch, 2);
}

WEIR_TEST(resume, lets_the_same_attempt_go_on)
{
    struct weir_execution_row row = suspended();
    struct weir_consequence out;

    check_ruling(weir_rule_resume(&row, NOW, NOW, &out), DONE);
    check_int(row.state, WEIR_EXEC_READY);
    check(out.wait_ended);
    check_whole(&row);

    check_ruling(claim(&row, NOW, &out), DONE);
    check_int(row.attempts, 1);
    check_int(row.epoch, 3);
}

WEIR_TEST(resume, may_wait_a_while)
{
    struct weir_execution_row row = suspended();
    struct weir_consequence out;

    check_ruling(weir_rule_resume(&row, NOW + SECOND, NOW, &out), DONE);
    check_int(row.state, WEIR_EXEC_DELAYED);
    check_int(row.hold, WEIR_HOLD_RESUME_DELAY);
    check_int(row.due_us, NOW + SECOND);
    check_whole(&row);
}

WEIR_TEST(resume, never_revives_what_has_ended)
{
    struct weir_execution_row row = suspended();
    struct weir_consequence out;

    check_ruling(weir_rule_cancel(&row, weir_str("x"), NOW, &out), DONE);
    check(out.wait_ended);
    check_ruling(weir_rule_resume(&row, NOW, NOW, &out), OVER);
    check_int(row.state, WEIR_EXEC_CANCELLED);
}

WEIR_TEST(whatever, ends_a_suspended_one_closes_its_wait)
{
    struct weir_execution_row row = suspended();
    struct weir_consequence out;

    check_ruling(weir_rule_expire(&row, NOW + 3600 * SECOND, &out), DONE);
    check(out.wait_ended);
    check(out.attempt_ended);
    check_int(out.outcome, WEIR_OUTCOME_EXPIRED);
}

/* ---- a wait that takes too long ---------------------------------------------------- */

WEIR_TEST(wait_too_long, ends_it_as_its_behaviour_says)
{
    static const struct {
        enum weir_on_timeout what;
        enum weir_exec_state state;
        enum weir_attempt_outcome outcome;
        const char *failure;
    } CASES[] = {
        {WEIR_TIMEOUT_FAIL, WEIR_EXEC_FAILED, WEIR_OUTCOME_FAILED,
         "suspension_timeout:fail"},
        {WEIR_TIMEOUT_CANCEL, WEIR_EXEC_CANCELLED, WEIR_OUTCOME_CANCELLED,
         "suspension_timeout:cancel"},
        {WEIR_TIMEOUT_EXPIRE, WEIR_EXEC_EXPIRED, WEIR_OUTCOME_EXPIRED,
         "suspension_timeout:expire"},
    };

    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        struct weir_execution_row row = suspended_until(CASES[i].what);
        struct weir_consequence out;

        check_ruling(weir_rule_wait_too_long(&row, NOW + SECOND, &out), DONE);
        check_int(row.state, CASES[i].state);
        check_int(out.outcome, CASES[i].outcome);
        check_text(row.failure, CASES[i].failure);
        check_int(out.news, WEIR_NEWS_COMPLETION);
        check(out.attempt_ended && out.wait_ended);
        check_whole(&row);
    }
}

WEIR_TEST(wait_too_long, may_resume_it)
{
    struct weir_execution_row row = suspended_until(WEIR_TIMEOUT_RESUME);
    struct weir_consequence out;

    check_ruling(weir_rule_wait_too_long(&row, NOW + SECOND, &out), DONE);
    check_int(row.state, WEIR_EXEC_READY);
    check_int(row.pending, WEIR_PENDING_RESUME);
    check(out.wait_ended && out.waited_too_long);
    check_whole(&row);
}

WEIR_TEST(wait_too_long, may_leave_it_to_an_operator)
{
    struct weir_execution_row row = suspended_until(WEIR_TIMEOUT_ESCALATE);
    struct weir_consequence out;

    check_ruling(weir_rule_wait_too_long(&row, NOW + SECOND, &out), DONE);
    check_int(row.state, WEIR_EXEC_SUSPENDED);
    check_int(row.hold, WEIR_HOLD_OPERATOR_REVIEW);
    check(!out.wait_ended);
    check_ruling(weir_rule_wait_too_long(&row, NOW + 9 * SECOND, &out), NOTHING);
    check_whole(&row);
}

WEIR_TEST(wait_too_long, does_nothing_before_its_time_or_without_one)
{
    struct weir_execution_row row = suspended_until(WEIR_TIMEOUT_FAIL);
    struct weir_consequence out;

    check_ruling(weir_rule_wait_too_long(&row, NOW + SECOND - 1, &out), NOTHING);
    row = suspended();
    check_ruling(weir_rule_wait_too_long(&row, INT64_MAX, &out), NOTHING);
}

WEIR_TEST(wait_too_long, does_nothing_to_what_does_not_wait)
{
    struct weir_execution_row row = claimed();
    struct weir_consequence out;

    check_ruling(weir_rule_wait_too_long(&row, NOW + SECOND, &out), NOTHING);
    check_int(row.state, WEIR_EXEC_ACTIVE);
}

/* ---- dependencies and budgets ------------------------------------------------------ */

WEIR_TEST(block, keeps_it_from_workers_until_the_same_reason_is_gone)
{
    struct weir_execution_row row = blocked(WEIR_HOLD_DEPENDENCIES);
    struct weir_consequence out;

    check_ruling(claim(&row, NOW, &out), WRONG_STATE);
    check_ruling(weir_rule_unblock(&row, WEIR_HOLD_BUDGET, NOW, &out), NOTHING);
    check_ruling(weir_rule_unblock(&row, WEIR_HOLD_DEPENDENCIES, NOW, &out), DONE);
    check_ruling(claim(&row, NOW, &out), DONE);
}

WEIR_TEST(block, keeps_the_time_before_which_it_is_not_to_begin)
{
    struct weir_execution_row row;
    struct weir_consequence out;

    weir_rule_submit(&row, &(struct weir_execution_draft){.delay_ms = 2000}, NOW);
    check_ruling(weir_rule_block(&row, WEIR_HOLD_DEPENDENCIES, &out), DONE);
    check_whole(&row);
    check_ruling(weir_rule_promote(&row, NOW + 9 * SECOND), NOTHING);

    check_ruling(weir_rule_unblock(&row, WEIR_HOLD_DEPENDENCIES, NOW + SECOND, &out),
                 DONE);
    check_int(row.state, WEIR_EXEC_DELAYED);
    check_int(row.hold, WEIR_HOLD_DELAY);
    check_int(row.due_us, NOW + 2 * SECOND);
    check_whole(&row);
}

WEIR_TEST(block, by_others_takes_the_place_of_a_budget_and_not_the_other_way_round)
{
    struct weir_execution_row row = blocked(WEIR_HOLD_BUDGET);
    struct weir_consequence out;

    check_ruling(weir_rule_block(&row, WEIR_HOLD_DEPENDENCIES, &out), DONE);
    check_int(row.state, WEIR_EXEC_BLOCKED);
    check_int(row.hold, WEIR_HOLD_DEPENDENCIES);
    check_whole(&row);
    check_ruling(weir_rule_unblock(&row, WEIR_HOLD_BUDGET, NOW, &out), NOTHING);
    check_ruling(weir_rule_block(&row, WEIR_HOLD_BUDGET, &out), WRONG_STATE);
    check_int(row.hold, WEIR_HOLD_DEPENDENCIES);
}

WEIR_TEST(block, is_refused_to_what_somebody_holds)
{
    struct weir_execution_row row = claimed();
    struct weir_consequence out;

    check_ruling(weir_rule_block(&row, WEIR_HOLD_DEPENDENCIES, &out), WRONG_STATE);
}

WEIR_TEST(unblock, keeps_what_is_pending)
{
    struct weir_execution_row row = claimed();
    struct weir_consequence out;

    check_ruling(weir_rule_lose_lease(&row, NOW + TTL - 25 * SECOND, &out), NOTHING);
    row.policy.attempt_timeout_ms = 0;
    row.attempt_deadline_us = 0;
    check_ruling(weir_rule_lose_lease(&row, NOW + TTL, &out), DONE);
    check_ruling(weir_rule_block(&row, WEIR_HOLD_BUDGET, &out), DONE);
    check_ruling(weir_rule_unblock(&row, WEIR_HOLD_BUDGET, NOW + TTL, &out), DONE);
    check_ruling(claim(&row, NOW + TTL, &out), DONE);
    check_int(row.attempt_type, WEIR_ATTEMPT_RECLAIM);
}

WEIR_TEST(skip, ends_what_was_never_begun_without_an_attempt)
{
    struct weir_execution_row row = blocked(WEIR_HOLD_DEPENDENCIES);
    struct weir_consequence out;

    check_ruling(weir_rule_skip(&row, NOW, &out), DONE);
    check_int(row.state, WEIR_EXEC_SKIPPED);
    check_text(row.failure, "dependency_impossible");
    check_int(out.news, WEIR_NEWS_COMPLETION);
    check(!out.attempt_ended);
    check_whole(&row);
}

WEIR_TEST(skip, of_what_has_ended_does_nothing)
{
    struct weir_execution_row row = completed();
    struct weir_consequence out;

    check_ruling(weir_rule_skip(&row, NOW, &out), NOTHING);
    check_int(row.state, WEIR_EXEC_SUCCEEDED);
}
