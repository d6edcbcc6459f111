/*
 * state.h - where an execution stands, as it is stored.
 *
 * One small number and a reason. Everything else that is said of an execution (phase,
 * ownership, eligibility, public state) is derived from them here.
 *
 *   state       due_us      lease_us    what it waits for
 *   READY       -           -           a worker
 *   DELAYED     when        -           the time: a delay of the submitter, a retry, a
 *               worker's own
 *   BLOCKED     -           -           others: dependencies, a budget, an operator
 *   ACTIVE      -           until then  its worker
 *   SUSPENDED   at most     -           a signal
 *   SUCCEEDED, FAILED, CANCELLED, EXPIRED, SKIPPED: over; left only by a replay
 *
 * The numbers are stored: never change one. A number that is not here stops the engine.
 */
#ifndef WEIR_EXECUTION_STATE_H
#define WEIR_EXECUTION_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "weir/execution.h"
#include "weir/suspension.h"

enum weir_exec_state {
    WEIR_EXEC_READY = 1,
    WEIR_EXEC_DELAYED = 2,
    WEIR_EXEC_BLOCKED = 3,
    WEIR_EXEC_ACTIVE = 4,
    WEIR_EXEC_SUSPENDED = 5,
    WEIR_EXEC_SUCCEEDED = 10, /* from here on it is over */
    WEIR_EXEC_FAILED = 11,
    WEIR_EXEC_CANCELLED = 12,
    WEIR_EXEC_EXPIRED = 13,
    WEIR_EXEC_SKIPPED = 14
};

/* Why it is not ready; stored too. */
enum weir_hold {
    WEIR_HOLD_NONE = 0,
    WEIR_HOLD_DELAY = 1, /* asked for, by submitter or worker */
    WEIR_HOLD_RETRY = 2,
    WEIR_HOLD_RESUME_DELAY = 3,
    WEIR_HOLD_DEPENDENCIES = 4,
    WEIR_HOLD_BUDGET = 5,
    WEIR_HOLD_OPERATOR = 6,
    WEIR_HOLD_SIGNAL = 7, /* and those below: what a suspension waits for */
    WEIR_HOLD_APPROVAL = 8,
    WEIR_HOLD_CALLBACK = 9,
    WEIR_HOLD_TOOL_RESULT = 10,
    WEIR_HOLD_OPERATOR_REVIEW = 11,
    WEIR_HOLD_POLICY = 12,
    WEIR_HOLD_STEP_BOUNDARY = 13,
    WEIR_HOLD_MANUAL_PAUSE = 14
};

/* What the next claim will be. Of what is active or over: INITIAL, nothing. */
enum weir_pending {
    WEIR_PENDING_INITIAL = 0,
    WEIR_PENDING_RETRY = 1,
    WEIR_PENDING_RECLAIM = 2,
    WEIR_PENDING_REPLAY = 3,
    WEIR_PENDING_RESUME = 4 /* goes on with the same attempt */
};

enum { WEIR_HOLD_LAST = WEIR_HOLD_MANUAL_PAUSE, WEIR_PENDING_LAST = WEIR_PENDING_RESUME };

static inline bool weir_state_is_known(int64_t state)
{
    return (state >= WEIR_EXEC_READY && state <= WEIR_EXEC_SUSPENDED) ||
           (state >= WEIR_EXEC_SUCCEEDED && state <= WEIR_EXEC_SKIPPED);
}

static inline bool weir_hold_is_known(int64_t hold)
{
    return hold >= WEIR_HOLD_NONE && hold <= WEIR_HOLD_LAST;
}

static inline bool weir_pending_is_known(int64_t pending)
{
    return pending >= WEIR_PENDING_INITIAL && pending <= WEIR_PENDING_LAST;
}

static inline bool weir_on_timeout_is_known(int64_t on_timeout)
{
    return on_timeout >= 0 && on_timeout < WEIR_ON_TIMEOUT_COUNT;
}

static inline bool weir_state_is_over(enum weir_exec_state state)
{
    return state >= WEIR_EXEC_SUCCEEDED;
}

/* Is an attempt begun and not ended? It may run, or wait to go on. */
static inline bool weir_state_has_attempt(enum weir_exec_state state,
                                          enum weir_pending pending)
{
    return state == WEIR_EXEC_ACTIVE || pending == WEIR_PENDING_RESUME;
}

enum weir_public_state weir_state_public(enum weir_exec_state state, enum weir_hold hold,
                                         enum weir_pending pending);

/* The names of the specification, section 2.1. All live for ever. */
const char *weir_state_phase(enum weir_exec_state state);
const char *weir_state_ownership(enum weir_exec_state state);
const char *weir_state_eligibility(enum weir_exec_state state, enum weir_hold hold);
const char *weir_state_outcome(enum weir_exec_state state);
const char *weir_state_blocked_by(enum weir_exec_state state, enum weir_hold hold);
const char *weir_state_attempt(enum weir_exec_state state, enum weir_pending pending);

#endif
