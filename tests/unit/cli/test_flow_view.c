/*
 * Tests of cli/execution/execution_view.c: why an execution does not move, in words.
 */
#include "kit/test.h"
#include "view/execution_text.h"
#include "weir/time.h"

#define NOW INT64_C(1800000000000000)
#define SECONDS_US INT64_C(1000000)

/* One that has nothing special about it. */
static struct weir_execution_info plain(enum weir_public_state state,
                                        const char *blocked_by)
{
    return (struct weir_execution_info){
        .state = state,
        .blocked_by = blocked_by,
        .instance = "host:7",
        .budget = "",
        .name = "",
        .capabilities = "",
        .failure = "",
        .progress_percent = -1,
    };
}

static void says(const struct weir_execution_info *info, const char *want)
{
    char why[WEIR_EXECUTION_WHY_SIZE];

    check_str(weir_execution_spell_why(info, NOW, why), want);
}

WEIR_TEST(why, is_a_worker_that_has_not_come)
{
    struct weir_execution_info info = plain(WEIR_STATE_WAITING, "waiting_for_worker");

    says(&info, "no worker has claimed it yet");
    info.failure = "lease_expired";
    says(&info, "no worker has claimed it yet; before: lease_expired");
    info.state = WEIR_STATE_RESUMABLE;
    says(&info, "no worker goes on with it yet");
}

WEIR_TEST(why, is_a_capability_that_no_worker_has)
{
    struct weir_execution_info info = plain(WEIR_STATE_WAITING, "waiting_for_worker");

    info.capabilities = "gpu,linux";
    says(&info, "no worker with gpu,linux has claimed it yet");
}

WEIR_TEST(why, is_a_time_limit_of_its_attempt_that_nobody_has_noticed)
{
    struct weir_execution_info info = plain(WEIR_STATE_ACTIVE, "none");

    info.lease_us = NOW + 3600 * SECONDS_US;
    info.attempt_deadline_us = NOW - 4 * SECONDS_US;
    says(&info, "held by host:7 for another 1 h 0 min");
    info.attempt_deadline_us = NOW - 6 * SECONDS_US;
    says(&info, "the time limit of its attempt passed 6.0 s ago; "
                "does 'weir supervise' run?");
}

WEIR_TEST(why, is_a_budget_by_its_name)
{
    struct weir_execution_info info =
        plain(WEIR_STATE_RATE_LIMITED, "waiting_for_budget");

    info.budget = "llm";
    says(&info, "waiting for budget 'llm'");
}

WEIR_TEST(why, is_the_end_of_a_delay)
{
    struct weir_execution_info info = plain(WEIR_STATE_DELAYED, "waiting_for_delay");

    info.due_us = NOW + 90 * SECONDS_US;
    says(&info, "begins in 1 min 30 s");
    info.attempts = 1;
    says(&info, "goes on in 1 min 30 s");
    info.blocked_by = "waiting_for_retry_backoff";
    info.failure = "the bank said no";
    says(&info, "is tried again in 1 min 30 s; before: the bank said no");
}

WEIR_TEST(why, is_whoever_holds_it)
{
    struct weir_execution_info info = plain(WEIR_STATE_ACTIVE, "none");

    info.lease_us = NOW + 12 * SECONDS_US;
    says(&info, "held by host:7 for another 12.0 s");
}

/* A supervisor is a little late, but not by five seconds. */
WEIR_TEST(why, is_a_supervisor_that_does_not_run)
{
    struct weir_execution_info held = plain(WEIR_STATE_ACTIVE, "none");
    struct weir_execution_info delayed = plain(WEIR_STATE_DELAYED, "waiting_for_delay");

    held.lease_us = delayed.due_us = NOW - 5 * SECONDS_US;
    says(&held, "the lease of host:7 ended 5.0 s ago");
    says(&delayed, "due 5.0 s ago");
    held.lease_us = delayed.due_us = NOW - 6 * SECONDS_US;
    says(&held, "the lease of host:7 ended 6.0 s ago; does 'weir supervise' run?");
    says(&delayed, "due 6.0 s ago; does 'weir supervise' run?");
}

WEIR_TEST(why, is_what_a_suspension_waits_for_until_nobody_ends_it)
{
    struct weir_execution_info info = plain(WEIR_STATE_SUSPENDED, "waiting_for_approval");

    says(&info, "waiting for approval");
    info.due_us = NOW - 5 * SECONDS_US;
    says(&info, "waiting for approval");
    info.due_us = NOW - 6 * SECONDS_US;
    says(&info, "its timeout passed 6.0 s ago; does 'weir supervise' run?");
}

WEIR_TEST(why, is_a_deadline_that_nobody_saw_before_all_else)
{
    struct weir_execution_info info = plain(WEIR_STATE_WAITING, "waiting_for_worker");

    info.deadline_us = NOW - 5 * SECONDS_US;
    says(&info, "no worker has claimed it yet");
    info.deadline_us = NOW - 6 * SECONDS_US;
    says(&info, "its deadline passed 6.0 s ago; does 'weir supervise' run?");
    info.state = WEIR_STATE_FAILED;
    info.ended_us = NOW;
    info.failure = "broken";
    says(&info, "broken");
}

WEIR_TEST(why, is_said_without_underscores)
{
    struct weir_execution_info info = plain(WEIR_STATE_SUSPENDED, "waiting_for_approval");

    says(&info, "waiting for approval");
}

WEIR_TEST(why, names_who_knows_the_flow)
{
    struct weir_execution_info info =
        plain(WEIR_STATE_WAITING_CHILDREN, "waiting_for_children");

    says(&info, "for other members of its flow, see 'weir flow show'");
}

WEIR_TEST(why, is_nothing_when_it_is_done)
{
    const struct weir_execution_info info = plain(WEIR_STATE_COMPLETED, "none");

    says(&info, "");
}
