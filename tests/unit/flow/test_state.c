/*
 * Tests of execution/state.c: what is stored, in the words of the specification.
 */
#include "execution/state.h"

#include <string.h>

#include "kit/test.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* A row's three numbers, and all that is derived from them. */
struct line {
    enum weir_exec_state state;
    enum weir_hold hold;
    enum weir_pending pending;
    const char *public, *phase, *ownership, *eligibility, *outcome, *blocked_by, *attempt;
};

#define RUNNABLE "runnable", "unowned"
#define TERMINAL "terminal", "unowned", "not_applicable"
#define NOT_NOW "not_eligible_until_time", "none"

static const struct line LINES[] = {
    {WEIR_EXEC_READY, WEIR_HOLD_NONE, WEIR_PENDING_INITIAL, "waiting", RUNNABLE,
     "eligible_now", "none", "waiting_for_worker", "pending_first_attempt"},
    {WEIR_EXEC_READY, WEIR_HOLD_NONE, WEIR_PENDING_RETRY, "waiting", RUNNABLE,
     "eligible_now", "none", "waiting_for_worker", "pending_retry_attempt"},
    {WEIR_EXEC_READY, WEIR_HOLD_NONE, WEIR_PENDING_RECLAIM, "waiting", RUNNABLE,
     "eligible_now", "none", "waiting_for_worker", "attempt_interrupted"},
    {WEIR_EXEC_READY, WEIR_HOLD_NONE, WEIR_PENDING_REPLAY, "waiting", RUNNABLE,
     "eligible_now", "none", "waiting_for_worker", "pending_replay_attempt"},
    {WEIR_EXEC_READY, WEIR_HOLD_NONE, WEIR_PENDING_RESUME, "resumable", RUNNABLE,
     "eligible_now", "none", "waiting_for_worker", "attempt_interrupted"},
    {WEIR_EXEC_DELAYED, WEIR_HOLD_DELAY, WEIR_PENDING_INITIAL, "delayed", RUNNABLE,
     NOT_NOW, "waiting_for_delay", "pending_first_attempt"},
    {WEIR_EXEC_DELAYED, WEIR_HOLD_DELAY, WEIR_PENDING_RESUME, "delayed", RUNNABLE,
     NOT_NOW, "waiting_for_delay", "attempt_interrupted"},
    {WEIR_EXEC_DELAYED, WEIR_HOLD_RETRY, WEIR_PENDING_RETRY, "delayed", RUNNABLE, NOT_NOW,
     "waiting_for_retry_backoff", "pending_retry_attempt"},
    {WEIR_EXEC_DELAYED, WEIR_HOLD_RESUME_DELAY, WEIR_PENDING_RESUME, "delayed", RUNNABLE,
     NOT_NOW, "waiting_for_resume_delay", "attempt_interrupted"},
    {WEIR_EXEC_BLOCKED, WEIR_HOLD_DEPENDENCIES, WEIR_PENDING_INITIAL, "waiting_children",
     RUNNABLE, "blocked_by_dependencies", "none", "waiting_for_children",
     "pending_first_attempt"},
    {WEIR_EXEC_BLOCKED, WEIR_HOLD_BUDGET, WEIR_PENDING_INITIAL, "rate_limited", RUNNABLE,
     "blocked_by_budget", "none", "waiting_for_budget", "pending_first_attempt"},
    {WEIR_EXEC_BLOCKED, WEIR_HOLD_OPERATOR, WEIR_PENDING_INITIAL, "waiting", RUNNABLE,
     "blocked_by_operator", "none", "paused_by_operator", "pending_first_attempt"},
    {WEIR_EXEC_ACTIVE, WEIR_HOLD_NONE, WEIR_PENDING_INITIAL, "active", "active", "leased",
     "not_applicable", "none", "none", "running_attempt"},
    {WEIR_EXEC_SUSPENDED, WEIR_HOLD_SIGNAL, WEIR_PENDING_RESUME, "suspended", "suspended",
     "unowned", "not_applicable", "none", "waiting_for_signal", "attempt_interrupted"},
    {WEIR_EXEC_SUSPENDED, WEIR_HOLD_APPROVAL, WEIR_PENDING_RESUME, "suspended",
     "suspended", "unowned", "not_applicable", "none", "waiting_for_approval",
     "attempt_interrupted"},
    {WEIR_EXEC_SUSPENDED, WEIR_HOLD_OPERATOR_REVIEW, WEIR_PENDING_RESUME, "suspended",
     "suspended", "unowned", "not_applicable", "none", "paused_by_operator",
     "attempt_interrupted"},
    {WEIR_EXEC_SUCCEEDED, WEIR_HOLD_NONE, WEIR_PENDING_INITIAL, "completed", TERMINAL,
     "success", "none", "attempt_terminal"},
    {WEIR_EXEC_FAILED, WEIR_HOLD_NONE, WEIR_PENDING_INITIAL, "failed", TERMINAL, "failed",
     "none", "attempt_terminal"},
    {WEIR_EXEC_CANCELLED, WEIR_HOLD_NONE, WEIR_PENDING_INITIAL, "cancelled", TERMINAL,
     "cancelled", "none", "attempt_terminal"},
    {WEIR_EXEC_EXPIRED, WEIR_HOLD_NONE, WEIR_PENDING_INITIAL, "expired", TERMINAL,
     "expired", "none", "attempt_terminal"},
    {WEIR_EXEC_SKIPPED, WEIR_HOLD_NONE, WEIR_PENDING_INITIAL, "skipped", TERMINAL,
     "skipped", "none", "attempt_terminal"},
};

WEIR_TEST(state, is_told_in_the_words_of_the_specification)
{
    for (size_t i = 0; i < COUNT_OF(LINES); i++) {
        const struct line *line = &LINES[i];

        check_str(weir_public_state_name(
                      weir_state_public(line->state, line->hold, line->pending)),
                  line->public);
        check_str(weir_state_phase(line->state), line->phase);
        check_str(weir_state_ownership(line->state), line->ownership);
        check_str(weir_state_eligibility(line->state, line->hold), line->eligibility);
        check_str(weir_state_outcome(line->state), line->outcome);
        check_str(weir_state_blocked_by(line->state, line->hold), line->blocked_by);
        check_str(weir_state_attempt(line->state, line->pending), line->attempt);
    }
}

WEIR_TEST(state, has_a_word_for_every_reason_of_a_suspension)
{
    for (int hold = 0; hold <= WEIR_HOLD_LAST; hold++)
        check(weir_state_blocked_by(WEIR_EXEC_SUSPENDED, (enum weir_hold)hold)[0] ==
                  'w' ||
              weir_state_blocked_by(WEIR_EXEC_SUSPENDED, (enum weir_hold)hold)[0] == 'p');
}

/* They are in databases. */
WEIR_TEST(state, has_numbers_that_never_change)
{
    check_int(WEIR_EXEC_READY, 1);
    check_int(WEIR_EXEC_DELAYED, 2);
    check_int(WEIR_EXEC_BLOCKED, 3);
    check_int(WEIR_EXEC_ACTIVE, 4);
    check_int(WEIR_EXEC_SUSPENDED, 5);
    check_int(WEIR_EXEC_SUCCEEDED, 10);
    check_int(WEIR_EXEC_FAILED, 11);
    check_int(WEIR_EXEC_CANCELLED, 12);
    check_int(WEIR_EXEC_EXPIRED, 13);
    check_int(WEIR_EXEC_SKIPPED, 14);
    check_int(WEIR_HOLD_LAST, 14);
    check_int(WEIR_PENDING_LAST, 4);
}

WEIR_TEST(state, knows_which_numbers_it_has)
{
    for (int64_t number = -3; number < 40; number++) {
        bool known = (number >= 1 && number <= 5) || (number >= 10 && number <= 14);

        check_int(weir_state_is_known(number), known);
        check_int(weir_hold_is_known(number), number >= 0 && number <= 14);
        check_int(weir_pending_is_known(number), number >= 0 && number <= 4);
    }
    check(!weir_state_is_known(INT64_C(4294967297))); /* not cut to 1 */
}

WEIR_TEST(state, that_is_unknown_shows_as_failed_and_has_words)
{
    enum weir_exec_state unknown = (enum weir_exec_state)15;

    check_int(weir_state_public(unknown, WEIR_HOLD_NONE, WEIR_PENDING_INITIAL),
              WEIR_STATE_FAILED);
    check_str(weir_state_outcome(unknown), "unknown");
    check_str(weir_state_attempt(WEIR_EXEC_READY, (enum weir_pending)9), "none");
    check_str(weir_state_blocked_by(WEIR_EXEC_SUSPENDED, (enum weir_hold)99),
              "waiting_for_signal");
}

WEIR_TEST(names, are_there_for_every_public_number_and_for_no_other)
{
    for (int i = 0; i < WEIR_STATE_COUNT; i++)
        check(weir_public_state_name((enum weir_public_state)i)[0] != 'u');
    check_str(weir_public_state_name(WEIR_STATE_COUNT), "unknown");
    check_str(weir_attempt_type_name(WEIR_ATTEMPT_INITIAL), "initial");
    check_str(weir_attempt_type_name(WEIR_ATTEMPT_REPLAY), "replay");
    check_str(weir_attempt_type_name((enum weir_attempt_type)4), "unknown");
    check_str(weir_attempt_outcome_name(WEIR_OUTCOME_RUNNING), "running");
    check_str(weir_attempt_outcome_name(WEIR_OUTCOME_EXPIRED), "expired");
    check_str(weir_attempt_outcome_name((enum weir_attempt_outcome)8), "unknown");
}

WEIR_TEST(names, of_suspensions_are_there_for_each_number_and_unknown_for_others)
{
    for (int i = 0; i < WEIR_SUSPEND_REASON_COUNT; i++)
        check(strcmp(weir_suspend_reason_name((enum weir_suspend_reason)i), "unknown") !=
              0);
    for (int i = 0; i < WEIR_ON_TIMEOUT_COUNT; i++)
        check(strcmp(weir_on_timeout_name((enum weir_on_timeout)i), "unknown") != 0);
    for (int i = 0; i < WEIR_SIGNAL_EFFECT_COUNT; i++)
        check(strcmp(weir_signal_effect_name((enum weir_signal_effect)i), "unknown") !=
              0);
    check_str(weir_suspend_reason_name(WEIR_SUSPEND_MANUAL_PAUSE), "manual_pause");
    check_str(weir_suspend_reason_name(WEIR_SUSPEND_REASON_COUNT), "unknown");
    check_str(weir_on_timeout_name(WEIR_TIMEOUT_ESCALATE), "escalate");
    check_str(weir_on_timeout_name(WEIR_ON_TIMEOUT_COUNT), "unknown");
    check_str(weir_signal_effect_name(WEIR_SIGNAL_LATE), "late");
    check_str(weir_waitpoint_state_name(WEIR_WAITPOINT_EXPIRED), "expired");
    check_str(weir_waitpoint_state_name((enum weir_waitpoint_state)9), "unknown");
}
