/*
 * state.c - what is stored, in the words that people and other systems know.
 *
 * Pure and total: a number that is none of ours gets a word too. Readers of rows
 * refuse it before (state.h), so the word is for error texts.
 */
#include "execution/state.h"

#include "base/count.h"

/* What a suspension is for, by its hold: the specification has fewer words than
 * reasons. */
static const char *const SUSPENDED_BY[WEIR_HOLD_LAST + 1] = {
    [WEIR_HOLD_NONE] = "waiting_for_signal",
    [WEIR_HOLD_BUDGET] = "waiting_for_budget",
    [WEIR_HOLD_OPERATOR] = "paused_by_operator",
    [WEIR_HOLD_SIGNAL] = "waiting_for_signal",
    [WEIR_HOLD_APPROVAL] = "waiting_for_approval",
    [WEIR_HOLD_CALLBACK] = "waiting_for_callback",
    [WEIR_HOLD_TOOL_RESULT] = "waiting_for_tool_result",
    [WEIR_HOLD_OPERATOR_REVIEW] = "paused_by_operator",
    [WEIR_HOLD_POLICY] = "paused_by_policy",
    [WEIR_HOLD_STEP_BOUNDARY] = "waiting_for_signal",
    [WEIR_HOLD_MANUAL_PAUSE] = "paused_by_operator",
};

enum weir_public_state weir_state_public(enum weir_exec_state state, enum weir_hold hold,
                                         enum weir_pending pending)
{
    switch (state) {
    case WEIR_EXEC_READY:
        return pending == WEIR_PENDING_RESUME ? WEIR_STATE_RESUMABLE : WEIR_STATE_WAITING;
    case WEIR_EXEC_DELAYED:
        return WEIR_STATE_DELAYED;
    case WEIR_EXEC_BLOCKED:
        return hold == WEIR_HOLD_DEPENDENCIES ? WEIR_STATE_WAITING_CHILDREN
               : hold == WEIR_HOLD_BUDGET     ? WEIR_STATE_RATE_LIMITED
                                              : WEIR_STATE_WAITING;
    case WEIR_EXEC_ACTIVE:
        return WEIR_STATE_ACTIVE;
    case WEIR_EXEC_SUSPENDED:
        return WEIR_STATE_SUSPENDED;
    case WEIR_EXEC_SUCCEEDED:
        return WEIR_STATE_COMPLETED;
    case WEIR_EXEC_FAILED:
        return WEIR_STATE_FAILED;
    case WEIR_EXEC_CANCELLED:
        return WEIR_STATE_CANCELLED;
    case WEIR_EXEC_EXPIRED:
        return WEIR_STATE_EXPIRED;
    case WEIR_EXEC_SKIPPED:
        return WEIR_STATE_SKIPPED;
    }
    return WEIR_STATE_FAILED; /* corruption shows as failed */
}

const char *weir_state_phase(enum weir_exec_state state)
{
    if (weir_state_is_over(state))
        return "terminal";
    return state == WEIR_EXEC_ACTIVE      ? "active"
           : state == WEIR_EXEC_SUSPENDED ? "suspended"
                                          : "runnable";
}

const char *weir_state_ownership(enum weir_exec_state state)
{
    return state == WEIR_EXEC_ACTIVE ? "leased" : "unowned";
}

const char *weir_state_eligibility(enum weir_exec_state state, enum weir_hold hold)
{
    if (state == WEIR_EXEC_READY)
        return "eligible_now";
    if (state == WEIR_EXEC_DELAYED)
        return "not_eligible_until_time";
    if (state != WEIR_EXEC_BLOCKED)
        return "not_applicable";
    return hold == WEIR_HOLD_DEPENDENCIES ? "blocked_by_dependencies"
           : hold == WEIR_HOLD_BUDGET     ? "blocked_by_budget"
                                          : "blocked_by_operator";
}

const char *weir_state_outcome(enum weir_exec_state state)
{
    static const char *const NAMES[] = {"success", "failed", "cancelled", "expired",
                                        "skipped"};

    if (!weir_state_is_over(state))
        return "none";
    return weir_state_is_known(state) ? NAMES[state - WEIR_EXEC_SUCCEEDED] : "unknown";
}

static const char *delayed_by(enum weir_hold hold)
{
    return hold == WEIR_HOLD_RETRY          ? "waiting_for_retry_backoff"
           : hold == WEIR_HOLD_RESUME_DELAY ? "waiting_for_resume_delay"
                                            : "waiting_for_delay";
}

static const char *held_by(enum weir_hold hold)
{
    return hold == WEIR_HOLD_DEPENDENCIES ? "waiting_for_children"
           : hold == WEIR_HOLD_BUDGET     ? "waiting_for_budget"
                                          : "paused_by_operator";
}

static const char *suspended_by(enum weir_hold hold)
{
    const char *name = weir_hold_is_known(hold) ? SUSPENDED_BY[hold] : NULL;

    return name != NULL ? name : "waiting_for_signal";
}

const char *weir_state_blocked_by(enum weir_exec_state state, enum weir_hold hold)
{
    switch (state) {
    case WEIR_EXEC_READY:
        return "waiting_for_worker";
    case WEIR_EXEC_DELAYED:
        return delayed_by(hold);
    case WEIR_EXEC_BLOCKED:
        return held_by(hold);
    case WEIR_EXEC_SUSPENDED:
        return suspended_by(hold);
    default:
        return "none";
    }
}

/* A reclaim has no word of its own: its attempt was interrupted, and a new one comes. */
const char *weir_state_attempt(enum weir_exec_state state, enum weir_pending pending)
{
    static const char *const PENDING[WEIR_PENDING_LAST + 1] = {
        [WEIR_PENDING_INITIAL] = "pending_first_attempt",
        [WEIR_PENDING_RETRY] = "pending_retry_attempt",
        [WEIR_PENDING_RECLAIM] = "attempt_interrupted",
        [WEIR_PENDING_REPLAY] = "pending_replay_attempt",
        [WEIR_PENDING_RESUME] = "attempt_interrupted",
    };

    if (state == WEIR_EXEC_ACTIVE)
        return "running_attempt";
    if (weir_state_is_over(state))
        return "attempt_terminal";
    return weir_pending_is_known(pending) ? PENDING[pending] : "none";
}

/* ---- public names ------------------------------------------------------------------ */

static const char *name_of(const char *const *names, size_t count, int64_t number)
{
    return number >= 0 && (size_t)number < count ? names[number] : "unknown";
}

const char *weir_public_state_name(enum weir_public_state state)
{
    static const char *const NAMES[] = {
        "waiting", "delayed",   "rate_limited", "waiting_children",
        "active",  "suspended", "resumable",    "completed",
        "failed",  "cancelled", "expired",      "skipped",
    };

    return name_of(NAMES, COUNT_OF(NAMES), state);
}

const char *weir_attempt_type_name(enum weir_attempt_type type)
{
    static const char *const NAMES[] = {"initial", "retry", "reclaim", "replay"};

    return name_of(NAMES, COUNT_OF(NAMES), type);
}

const char *weir_attempt_outcome_name(enum weir_attempt_outcome outcome)
{
    static const char *const NAMES[] = {
        "running",     "success",    "retry",     "failed",
        "interrupted", "lease_lost", "cancelled", "expired",
    };

    return name_of(NAMES, COUNT_OF(NAMES), outcome);
}

const char *weir_suspend_reason_name(enum weir_suspend_reason reason)
{
    static const char *const NAMES[WEIR_SUSPEND_REASON_COUNT] = {
        [WEIR_SUSPEND_SIGNAL] = "signal",
        [WEIR_SUSPEND_APPROVAL] = "approval",
        [WEIR_SUSPEND_CALLBACK] = "callback",
        [WEIR_SUSPEND_TOOL_RESULT] = "tool_result",
        [WEIR_SUSPEND_OPERATOR_REVIEW] = "operator_review",
        [WEIR_SUSPEND_POLICY] = "policy",
        [WEIR_SUSPEND_STEP_BOUNDARY] = "step_boundary",
        [WEIR_SUSPEND_MANUAL_PAUSE] = "manual_pause",
    };

    return name_of(NAMES, COUNT_OF(NAMES), reason);
}

const char *weir_on_timeout_name(enum weir_on_timeout on_timeout)
{
    static const char *const NAMES[WEIR_ON_TIMEOUT_COUNT] = {
        [WEIR_TIMEOUT_FAIL] = "fail",         [WEIR_TIMEOUT_CANCEL] = "cancel",
        [WEIR_TIMEOUT_EXPIRE] = "expire",     [WEIR_TIMEOUT_RESUME] = "resume",
        [WEIR_TIMEOUT_ESCALATE] = "escalate",
    };

    return name_of(NAMES, COUNT_OF(NAMES), on_timeout);
}

const char *weir_signal_effect_name(enum weir_signal_effect effect)
{
    static const char *const NAMES[WEIR_SIGNAL_EFFECT_COUNT] = {
        [WEIR_SIGNAL_RESUMED] = "resumed",     [WEIR_SIGNAL_KEPT] = "kept",
        [WEIR_SIGNAL_BUFFERED] = "buffered",   [WEIR_SIGNAL_IGNORED] = "ignored",
        [WEIR_SIGNAL_DUPLICATE] = "duplicate", [WEIR_SIGNAL_LATE] = "late",
    };

    return name_of(NAMES, COUNT_OF(NAMES), effect);
}

const char *weir_waitpoint_state_name(enum weir_waitpoint_state state)
{
    static const char *const NAMES[] = {
        [WEIR_WAITPOINT_PENDING] = "pending",
        [WEIR_WAITPOINT_ACTIVE] = "active",
        [WEIR_WAITPOINT_CLOSED] = "closed",
        [WEIR_WAITPOINT_EXPIRED] = "expired",
    };

    return name_of(NAMES, COUNT_OF(NAMES), state);
}
