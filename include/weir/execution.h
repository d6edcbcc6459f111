/*
 * execution.h - a unit of work, and what there is to know about it.
 *
 * An execution keeps its id through all retries. Each run of it is an *attempt*;
 * the worker that runs it holds a *claim*, which is the right to change it for as long as
 * its lease lasts. One number per execution, the *epoch*, grows whenever that right ends
 * or changes hands, so that a worker that has lost it can change nothing any more.
 *
 *   submit --> delayed --> waiting --claim--> active --complete--> completed
 *                 ^           ^                 | |
 *                 |           +-- lease lost ---+ +-- fail, retries left --> delayed
 *                 +------------------ delay ------+-- fail, none left -----> failed
 *
 * Memory   Drafts are borrowed for the call.
 */
#ifndef WEIR_EXECUTION_H
#define WEIR_EXECUTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weir/error.h>
#include <weir/time.h>

enum {
    WEIR_UUID_SIZE = 16,
    WEIR_EXECUTION_ID_TEXT_SIZE = 43, /* "65535-" and 36 characters, with the zero */
    WEIR_LANE_SIZE_MAX = 64,
    WEIR_KIND_SIZE_MAX = 256,
    WEIR_MEMBER_NAME_SIZE_MAX = 256,
    WEIR_NAMESPACE_SIZE_MAX = 256,
    WEIR_INSTANCE_SIZE_MAX = 256,
    WEIR_IDEMPOTENCY_KEY_SIZE_MAX = 256,
    WEIR_INPUT_SIZE_MAX = 1024 * 1024,
    WEIR_RESULT_SIZE_MAX = 1024 * 1024,
    WEIR_JOINED_SIZE_MAX =
        8 * 1024 * 1024, /* of results and input together, see weir/flow.h */
    WEIR_PRIORITY_MAX = 9000,
    WEIR_CAPABILITIES_MAX = 256,
    WEIR_CAPABILITIES_SIZE_MAX = 4096, /* as a list with commas */
    WEIR_TAGS_MAX = 64,
    WEIR_BUDGETS_MAX = 16,
    WEIR_TAG_SIZE_MAX = 256,
    WEIR_FAILURE_SIZE_MAX = 1024,
    WEIR_RETRIES_MAX_MAX = 1000000,
    WEIR_RECLAIMS_MAX_MAX = 1000000,
    WEIR_REPLAYS_MAX_MAX = 1000,
    WEIR_EXECUTION_PARTITIONS_DEFAULT = 256
};

/* The longest delay, deadline, timeout or backoff: a hundred years. */
#define WEIR_EXECUTION_DURATION_MS_MAX ((int64_t)36525 * 24 * 60 * 60 * 1000)

struct weir_execution_id {
    uint8_t uuid[WEIR_UUID_SIZE];
    uint16_t partition; /* minted with it, and part of it for ever */
};

/* Of a flow, see weir/flow.h. */
struct weir_flow_id {
    uint8_t uuid[WEIR_UUID_SIZE];
};

struct weir_tag {
    const char *key; /* "tenant.plan": lower case, with a dot */
    const char *value;
};

enum weir_retry_backoff { WEIR_RETRY_EXPONENTIAL, WEIR_RETRY_FIXED };

/* Frozen when the execution is made. */
struct weir_execution_policy {
    uint32_t retries_max; /* after the first attempt; up to a million; default 0 */
    enum weir_retry_backoff backoff;
    int64_t backoff_initial_ms; /* or always, when FIXED; default 1 s */
    double backoff_multiplier;  /* 1 to 1000; default 2 */
    int64_t backoff_max_ms;     /* not for FIXED; default 60 s */
    int64_t attempt_timeout_ms; /* from each claim; 0: none */
    uint32_t reclaims_max; /* leases that may be lost; up to a million; default 100 */
    uint32_t replays_max;  /* up to 1000; default 10 */
};

/* What is to be done. All zero but for `lane` and `kind` is work without input. */
struct weir_execution_draft {
    const struct weir_execution_id *id; /* NULL: a new one */
    const char *name_space;             /* NULL: "default" */
    const char *lane;                   /* 1 to 64 printable ASCII characters */
    const char *kind;                   /* 1 to 256 printable ASCII characters */
    int32_t priority; /* 0 to WEIR_PRIORITY_MAX, larger first; clamped */
    const void *input;
    size_t input_size;
    const struct weir_execution_policy *policy; /* NULL: the defaults */
    int64_t delay_ms;    /* not before so long from now; 0: at once */
    int64_t deadline_ms; /* over by then, whatever happens; 0: none */
    const char *const
        *capabilities; /* that a worker must have; each without comma or blank */
    size_t capability_count;
    const struct weir_tag *tags;
    size_t tag_count;
    const char *const
        *budgets; /* that must not be exceeded when it is claimed; see weir/budget.h */
    size_t budget_count;
    const char
        *idempotency_key; /* the same within 24 h is the same execution; NULL: none */
    /* Of a member of a flow, whose only one it is there: 1 to WEIR_MEMBER_NAME_SIZE_MAX
     * bytes of UTF-8 without comma and control characters, not beginning with '{', and
     * no id of an execution. NULL: none; its id stands for it. */
    const char *name;
};

/* What became of one draft. */
struct weir_submission {
    struct weir_execution_id
        id; /* of the one that was there before, if it is a duplicate */
    bool duplicate;
};

/* What people call it. Derived from what is stored, never stored. */
enum weir_public_state {
    WEIR_STATE_WAITING,
    WEIR_STATE_DELAYED,
    WEIR_STATE_RATE_LIMITED,
    WEIR_STATE_WAITING_CHILDREN,
    WEIR_STATE_ACTIVE,
    WEIR_STATE_SUSPENDED,
    WEIR_STATE_RESUMABLE,
    WEIR_STATE_COMPLETED,
    WEIR_STATE_FAILED,
    WEIR_STATE_CANCELLED,
    WEIR_STATE_EXPIRED,
    WEIR_STATE_SKIPPED,
    WEIR_STATE_COUNT
};

enum weir_attempt_type {
    WEIR_ATTEMPT_INITIAL,
    WEIR_ATTEMPT_RETRY,
    WEIR_ATTEMPT_RECLAIM, /* the one before lost its lease */
    WEIR_ATTEMPT_REPLAY
};

enum weir_attempt_outcome {
    WEIR_OUTCOME_RUNNING,
    WEIR_OUTCOME_SUCCESS,
    WEIR_OUTCOME_RETRY, /* failed, and there was another */
    WEIR_OUTCOME_FAILED,
    WEIR_OUTCOME_INTERRUPTED, /* by its time limit */
    WEIR_OUTCOME_LEASE_LOST,
    WEIR_OUTCOME_CANCELLED,
    WEIR_OUTCOME_EXPIRED
};

/* The right to write about one attempt. Plain data: may be kept and sent. */
struct weir_claim {
    struct weir_execution_id id;
    int64_t no;    /* where it is stored */
    int64_t epoch; /* the fence */
};

struct weir_execution_info {
    struct weir_execution_id id;
    const char *name_space;
    const char *lane;
    const char *kind;
    int32_t priority;
    enum weir_public_state state;
    const char *blocked_by;   /* "waiting_for_retry_backoff"; "none" when nothing is */
    const char *budget;       /* that it waits for; "" when it waits for none */
    const char *capabilities; /* that a worker must have: "gpu,linux"; "" when none */
    bool has_flow;
    struct weir_flow_id flow; /* whose member it is; zero when it is of none */
    const char *name;         /* of a member; "" when it has none */
    int64_t epoch;
    int32_t attempts;           /* so far, the running one included */
    uint32_t retries, reclaims; /* since the last replay */
    uint32_t replays;
    const char *worker;       /* of the running or last attempt; "" */
    const char *instance;     /* likewise */
    const char *failure;      /* why it failed last; "" */
    int32_t progress_percent; /* -1: none reported */
    const char *progress_text;
    int64_t created_us, started_us, ended_us; /* 0: not yet */
    int64_t due_us;                           /* of a delay */
    int64_t lease_us;                         /* of the claim */
    int64_t attempt_deadline_us;              /* of the running attempt; 0: none */
    int64_t deadline_us;                      /* 0: none */
};

struct weir_attempt_info {
    int32_t number; /* from 0, without gap */
    enum weir_attempt_type type;
    enum weir_attempt_outcome outcome;
    const char *worker;
    const char *instance;
    const char *failure;
    int64_t epoch;
    int64_t started_us, ended_us;
};

WEIR_BEGIN_DECLS

WEIR_API void weir_execution_policy_init(struct weir_execution_policy *self);

/*
 * "12-0190...", the partition and the uuid: what people and other systems see. format()
 * writes to `out`, which has WEIR_EXECUTION_ID_TEXT_SIZE bytes, and returns it. parse()
 * takes any case, and "{fp:12}:0190...", the form that earlier versions wrote; nothing
 * else that format() would not write, and fails with WEIR_INVALID.
 */
WEIR_API const char *weir_execution_id_format(const struct weir_execution_id *self,
                                              char *out);
WEIR_CHECKED WEIR_API enum weir_status
weir_execution_id_parse(const char *text, struct weir_execution_id *out,
                        struct weir_error *error);

/* The partition of a lane (work of its own) or of a flow's uuid (its members): CRC16,
 * the one called XMODEM, modulo `partitions`, which is at least 1. */
WEIR_API uint16_t weir_execution_partition(const void *bytes, size_t size,
                                           uint32_t partitions);

/* "waiting", "delayed", ... Lives for ever; "unknown" for a number that is none. */
WEIR_API const char *weir_public_state_name(enum weir_public_state state);
WEIR_API const char *weir_attempt_type_name(enum weir_attempt_type type);
WEIR_API const char *weir_attempt_outcome_name(enum weir_attempt_outcome outcome);

WEIR_END_DECLS

#endif
