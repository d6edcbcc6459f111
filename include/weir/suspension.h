/*
 * suspension.h - executions that wait for the world.
 *
 * A worker parks its execution until a *condition* holds, and names where answers come
 * in: its *waitpoints*. The *token* of a waitpoint is the right to signal it; the
 * expected source gets it. When the condition holds the execution can be claimed, and the
 * same attempt goes on.
 *
 *   suspend(claim, waitpoints, condition) -> tokens
 *   ... signal(token) ... claim -> signals()
 *
 *   until                                 it waits for
 *   approved@review                       a signal "approved" at the waitpoint "review"
 *   *@review                              any signal there
 *   all(approved@legal, approved@board)   both; up to 4 levels of all()
 *   2 of sources vote@(ann, bob, cid)     votes from two different sources, at any of
 *                                         the three
 *   2 of waitpoints vote@(ann, bob, cid)  at two different waitpoints
 *   3 of signals *@mail                   three signals
 *   operator                              weir_execution_resume(), and no signal
 *   timeout                               nothing but its timeout
 *
 * Names and keys have letters, digits and any of "_-.:/".
 *
 * A waitpoint may be made before, to hand out its token early: what comes before the
 * suspension counts when it begins, and one without a suspension expires.
 *
 * Tokens   "KEY:HEX": an HMAC-SHA256 over execution, waitpoint and key, by a secret in
 *          the database (rotate_key()). A call with a wrong token learns only
 *          that, whether the execution exists or has ended or not. Tokens are not
 *          stored and never logged.
 * Signals  One with a `key` counts once within 24 h, however often it comes: a lost
 *          reply may be repeated, also when the execution waits for something else by
 *          then. The key is one of the waitpoint's; an operator's is one of all
 *          waitpoints that have that name, one after the other. A signal never revives
 *          what has ended.
 * Time     A timeout that comes together with a signal: one of them wins.
 */
#ifndef WEIR_SUSPENSION_H
#define WEIR_SUSPENSION_H

#include <weir/executions.h>

enum {
    WEIR_CONDITION_DEPTH_MAX = 4, /* of all() in all() */
    WEIR_CONDITION_SIZE_MAX = 16384,
    WEIR_WAITPOINTS_MAX = 256, /* of one execution, that can be signalled */
    WEIR_WAITPOINT_KEY_SIZE_MAX = 256,
    WEIR_SIGNAL_NAME_SIZE_MAX = 256,
    WEIR_SIGNAL_SOURCE_SIZE_MAX = 256,
    WEIR_SIGNAL_PAYLOAD_MAX = 65536,
    WEIR_SIGNALS_MAX = 10000, /* of one execution */
    WEIR_KEY_ID_SIZE_MAX = 64,
    WEIR_SECRET_SIZE = 32,
    WEIR_TOKEN_TEXT_SIZE = WEIR_KEY_ID_SIZE_MAX + 1 + 64 + 1
};

enum weir_suspend_reason {
    WEIR_SUSPEND_SIGNAL,
    WEIR_SUSPEND_APPROVAL,
    WEIR_SUSPEND_CALLBACK,
    WEIR_SUSPEND_TOOL_RESULT,
    WEIR_SUSPEND_OPERATOR_REVIEW,
    WEIR_SUSPEND_POLICY,
    WEIR_SUSPEND_STEP_BOUNDARY,
    WEIR_SUSPEND_MANUAL_PAUSE,
    WEIR_SUSPEND_REASON_COUNT /* stored: never change a number */
};

enum weir_on_timeout {
    WEIR_TIMEOUT_FAIL,
    WEIR_TIMEOUT_CANCEL,
    WEIR_TIMEOUT_EXPIRE,
    WEIR_TIMEOUT_RESUME,   /* with a signal "timeout" from "engine" */
    WEIR_TIMEOUT_ESCALATE, /* stays suspended, for an operator to look at */
    WEIR_ON_TIMEOUT_COUNT
};

/* Where answers come in. */
struct weir_waitpoint {
    const char *key;              /* 1 to 256 characters; unique in the execution */
    uint8_t uuid[WEIR_UUID_SIZE]; /* of one made before; all 0: a new one. Out: its own */
    char token[WEIR_TOKEN_TEXT_SIZE]; /* out */
};

struct weir_suspend_options {
    struct weir_waitpoint
        *waitpoints; /* in and out; one made before is named by its key */
    size_t waitpoint_count;
    const char *until; /* the condition */
    enum weir_suspend_reason reason;
    int64_t timeout_ms; /* 0: none */
    enum weir_on_timeout on_timeout;
    int64_t resume_delay_ms; /* after the condition holds, not at once */
};

enum weir_signal_effect {
    WEIR_SIGNAL_RESUMED,   /* with this one the condition held */
    WEIR_SIGNAL_KEPT,      /* it counts, others are missing */
    WEIR_SIGNAL_BUFFERED,  /* nothing is suspended on it yet */
    WEIR_SIGNAL_IGNORED,   /* no part of the condition asks for it */
    WEIR_SIGNAL_DUPLICATE, /* its key came before; it changes nothing */
    WEIR_SIGNAL_LATE,      /* the wait is over: resumed, or ended */
    WEIR_SIGNAL_EFFECT_COUNT
};

struct weir_signal {
    struct weir_execution_id id;
    uint8_t waitpoint[WEIR_UUID_SIZE];
    const char *token;
    const char *name;        /* 1 to 256 characters */
    const char *source_type; /* NULL: "" ; up to 256 bytes of UTF-8, as the next */
    const char *source;
    const void *payload;
    size_t payload_size;
    const char *key; /* NULL: each call is another signal */
};

struct weir_signal_info {
    uint8_t uuid[WEIR_UUID_SIZE];
    uint8_t waitpoint[WEIR_UUID_SIZE];
    const char *waitpoint_key;
    const char *name;
    const char *source_type;
    const char *source;
    const void *payload;
    size_t payload_size;
    int64_t came_us;
};

enum weir_waitpoint_state {
    WEIR_WAITPOINT_PENDING,
    WEIR_WAITPOINT_ACTIVE,
    WEIR_WAITPOINT_CLOSED,
    WEIR_WAITPOINT_EXPIRED
};

struct weir_waitpoint_info {
    const char *key;
    uint8_t uuid[WEIR_UUID_SIZE];
    enum weir_waitpoint_state state;
    const char *key_id; /* of the secret; never the token */
    /* Of the token, to compare with a given one; "": the secret is gone, or
     * the caller may not read it. */
    char fingerprint[17];
    int64_t created_us, until_us;
    uint32_t signals;
};

/* What one part of the condition asks for, and how far it is. */
struct weir_condition_info {
    const char *text; /* "2 of sources vote@(a, b)" */
    uint32_t wanted;
    uint32_t found; /* up to `wanted` */
};

/* The open suspension, or the last one. */
struct weir_suspension_info {
    const char *until;
    enum weir_suspend_reason reason;
    int64_t since_us;
    int64_t ended_us;   /* 0: it is open */
    int64_t timeout_us; /* when it takes too long; 0: never */
    enum weir_on_timeout on_timeout;
    bool escalated; /* open, and that time is over */
    int64_t resume_delay_ms;
    /* For people: "1 of 2 sources, vote@(a, b); approved@legal"; "": nothing. */
    const char *missing;
    const struct weir_condition_info *parts; /* for programs; all must hold */
    size_t part_count;
};

typedef void (*weir_suspension_visit_fn)(void *state,
                                         const struct weir_suspension_info *info);
typedef void (*weir_signal_visit_fn)(void *state, const struct weir_signal_info *info);
typedef void (*weir_waitpoint_visit_fn)(void *state,
                                        const struct weir_waitpoint_info *info);

WEIR_BEGIN_DECLS

WEIR_API void weir_suspend_options_init(struct weir_suspend_options *self);

/* A waitpoint whose token is wanted before the suspension, which then names its uuid.
 * Asked for again it is the same one. After `expires_ms` without a suspension it is
 * gone. WEIR_FULL: there are WEIR_WAITPOINTS_MAX. WEIR_FENCED, WEIR_NOT_FOUND and
 * `current` as weir_execution_progress(). */
WEIR_CHECKED WEIR_API enum weir_status
weir_execution_waitpoint(struct weir_executions *self, const struct weir_claim *claim,
                         struct weir_waitpoint *waitpoint, int64_t expires_ms,
                         struct weir_execution_status *current, struct weir_error *error);

/*
 * *satisfied: signals that had come before suffice; nothing was suspended, the claim
 * goes on, and signals() has them: it counts as the last suspension, which ended when
 * it began. Else the claim has ended. Repeated after a lost reply it gives the same
 * waitpoints and tokens. WEIR_NOT_FOUND: a waitpoint that was made before has expired;
 * WEIR_EXISTS: a key is that of one made before, and its uuid is not given; WEIR_FULL:
 * with those made before that are not named here there would be more than
 * WEIR_WAITPOINTS_MAX. WEIR_INVALID names what is wrong with the condition,
 * WEIR_TOO_DEEP.
 */
WEIR_CHECKED WEIR_API enum weir_status
weir_execution_suspend(struct weir_executions *self, const struct weir_claim *claim,
                       struct weir_suspend_options *options, bool *satisfied,
                       struct weir_execution_status *current, struct weir_error *error);

/* WEIR_DENIED: the token is none of this waitpoint's, or there is no such waitpoint:
 * which one is not said. WEIR_MISMATCH: `key` was used for another signal: other name,
 * source or payload. WEIR_FULL: WEIR_SIGNALS_MAX. */
WEIR_CHECKED WEIR_API enum weir_status
weir_execution_signal(struct weir_executions *self, const struct weir_signal *signal,
                      enum weir_signal_effect *effect, struct weir_error *error);

/* Operators: signal by the waitpoint's key, without token; and resume whatever the
 * condition is. WEIR_NOT_FOUND; WEIR_MISMATCH: it is not suspended. */
WEIR_CHECKED WEIR_API enum weir_status
weir_execution_approve(struct weir_executions *self, const struct weir_execution_id *id,
                       const char *waitpoint_key, const struct weir_signal *signal,
                       enum weir_signal_effect *effect, struct weir_error *error);
WEIR_CHECKED WEIR_API enum weir_status
weir_execution_resume(struct weir_executions *self, const struct weir_execution_id *id,
                      int64_t delay_ms, struct weir_error *error);

/* Once. WEIR_NOT_FOUND: no such execution; WEIR_NO_ROW: it has never been suspended. */
WEIR_CHECKED WEIR_API enum weir_status weir_execution_suspension(
    struct weir_executions *self, const struct weir_execution_id *id,
    weir_suspension_visit_fn visit, void *state, struct weir_error *error);

/* In the order in which they came. Those of the open suspension, or of the last one. */
WEIR_CHECKED WEIR_API enum weir_status
weir_execution_signals(struct weir_executions *self, const struct weir_execution_id *id,
                       weir_signal_visit_fn visit, void *state, struct weir_error *error);
WEIR_CHECKED WEIR_API enum weir_status weir_execution_waitpoints(
    struct weir_executions *self, const struct weir_execution_id *id,
    weir_waitpoint_visit_fn visit, void *state, struct weir_error *error);

/*
 * New tokens are made with this key; those of all others are valid for `grace_ms` more
 * at most (24 h is usual). The first key is made by itself, at random, when one is
 * needed. One that was used before, with the same secret, is in use again; if it still
 * is, nothing changes. With another secret it is WEIR_MISMATCH. `secret` NULL: a random
 * one.
 */
WEIR_CHECKED WEIR_API enum weir_status
weir_executions_rotate_key(struct weir_executions *self, const char *key_id,
                           const uint8_t secret[WEIR_SECRET_SIZE], int64_t grace_ms,
                           struct weir_error *error);

/* "approval", "fail", "resumed", "active". All live for ever. */
WEIR_API const char *weir_suspend_reason_name(enum weir_suspend_reason reason);
WEIR_API const char *weir_on_timeout_name(enum weir_on_timeout on_timeout);
WEIR_API const char *weir_signal_effect_name(enum weir_signal_effect effect);
WEIR_API const char *weir_waitpoint_state_name(enum weir_waitpoint_state state);

WEIR_END_DECLS

#endif
