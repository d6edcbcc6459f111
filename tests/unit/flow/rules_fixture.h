/*
 * rules_fixture.h - rows in every state, made by the rules themselves.
 *
 * Texts are constants, times begin at NOW. Included by the tests of execution/rules.c
 * only.
 */
#ifndef WEIR_TEST_RULES_FIXTURE_H
#define WEIR_TEST_RULES_FIXTURE_H

#include "execution/draft.h"
#include "execution/rules.h"
#include "kit/test.h"

#define MS INT64_C(1000)
#define SECOND (1000 * MS)
#define NOW (INT64_C(1700000000) * SECOND)
#define TTL (30 * SECOND)

static const struct weir_failing PASSING = {{"try again", 9}, false};

/* The ruling, by name enough: a failed check prints both numbers. */
#define check_ruling(got, want) check_int((got), WEIR_RULING_##want)

static inline void check_whole(const struct weir_execution_row *row)
{
    const char *complaint = weir_row_complaint(row);

    if (complaint != NULL)
        weir_test_fail(__FILE__, __LINE__, "%s", complaint);
}

/* As submitted: two retries after 1 s and 2 s, ten seconds per attempt, two reclaims,
 * two replays, over in an hour. */
static inline struct weir_execution_row submitted(void)
{
    struct weir_execution_policy policy;
    struct weir_execution_row row;

    weir_execution_policy_init(&policy);
    policy.retries_max = 2;
    policy.attempt_timeout_ms = 10000;
    policy.reclaims_max = 2;
    policy.replays_max = 2;
    weir_rule_submit(&row,
                     &(struct weir_execution_draft){.lane = "mail",
                                                    .kind = "send",
                                                    .priority = 5,
                                                    .policy = &policy,
                                                    .deadline_ms = 3600000},
                     NOW);
    check_whole(&row);
    return row;
}

static inline enum weir_ruling claim(struct weir_execution_row *row, int64_t now_us,
                                     struct weir_consequence *out)
{
    struct weir_claimant claimant = {{"pool", 4}, {"pool-1", 6}, TTL};

    return weir_rule_claim(row, &claimant, now_us, out);
}

/* Claimed at NOW, with epoch 1. */
static inline struct weir_execution_row claimed(void)
{
    struct weir_execution_row row = submitted();
    struct weir_consequence out;

    check_ruling(claim(&row, NOW, &out), DONE);
    check_whole(&row);
    return row;
}

/* Delayed by its worker for a second, with epoch 2. */
static inline struct weir_execution_row parked(void)
{
    struct weir_execution_row row = claimed();
    struct weir_consequence out;

    check_ruling(weir_rule_delay(&row, row.epoch, NOW + SECOND, NOW, &out), DONE);
    check_whole(&row);
    return row;
}

/* Completed at NOW, with epoch 2. */
static inline struct weir_execution_row completed(void)
{
    struct weir_execution_row row = claimed();
    struct weir_consequence out;

    check_ruling(weir_rule_complete(&row, row.epoch, NOW, &out), DONE);
    check_whole(&row);
    return row;
}

/* A row of the given state that its rules or those of flows and suspensions make. */
static inline struct weir_execution_row in_state(enum weir_exec_state state)
{
    struct weir_execution_row row;

    switch (state) {
    case WEIR_EXEC_READY:
        return submitted();
    case WEIR_EXEC_DELAYED:
        return parked();
    case WEIR_EXEC_ACTIVE:
        return claimed();
    case WEIR_EXEC_SUSPENDED:
        row = parked();
        row.state = WEIR_EXEC_SUSPENDED;
        row.hold = WEIR_HOLD_SIGNAL;
        break;
    case WEIR_EXEC_BLOCKED:
        row = submitted();
        row.state = WEIR_EXEC_BLOCKED;
        row.hold = WEIR_HOLD_DEPENDENCIES;
        break;
    default:
        row = completed();
        row.state = state;
        break;
    }
    check_whole(&row);
    return row;
}

#endif
