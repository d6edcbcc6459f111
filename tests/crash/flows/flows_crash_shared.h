/*
 * flows_crash_shared.h - the inside of flows_crash.h: what the processes of a run share.
 *
 * The processes are those of a rig (rig.h). What is to be done follows from the seed
 * and numbers (flows_crash_plan.c): of flows, and of members, counted over all flows.
 * What was done is noted here, by whoever does it, before and after each call.
 */
#ifndef WEIR_TEST_FLOWS_CRASH_SHARED_H
#define WEIR_TEST_FLOWS_CRASH_SHARED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "crash/flows/flows_crash.h"
#include "crash/rig/client.h"
#include "weir/budget.h"
#include "weir/executions.h"
#include "weir/flow.h"
#include "weir/suspension.h"

enum {
    FLOWS_CRASH_COMPOSERS = 2,
    FLOWS_CRASH_WORKERS = 3,
    FLOWS_CRASH_SIGNALLERS = 2,
    FLOWS_CRASH_SUPERVISORS = 2,
    FLOWS_CRASH_FIRST_WORKER = FLOWS_CRASH_COMPOSERS,
    FLOWS_CRASH_FIRST_SIGNALLER = FLOWS_CRASH_FIRST_WORKER + FLOWS_CRASH_WORKERS,
    FLOWS_CRASH_FIRST_SUPERVISOR = FLOWS_CRASH_FIRST_SIGNALLER + FLOWS_CRASH_SIGNALLERS,
    FLOWS_CRASH_PROCESS_SLOTS = FLOWS_CRASH_FIRST_SUPERVISOR + FLOWS_CRASH_SUPERVISORS,
    FLOWS_CRASH_LEASE_MS = 1000, /* the shortest there is */
    FLOWS_CRASH_BATCH = 8,       /* claimed at once, at most */
    FLOWS_CRASH_SMALL = 7,       /* members of most flows, at most */
    FLOWS_CRASH_FAN = 1050,      /* beyond what one transaction resolves */
    FLOWS_CRASH_FLOWS_MAX = 20000,
    FLOWS_CRASH_MEMBERS_MAX = 100000,
    FLOWS_CRASH_CLAIMS_MAX = 1000000,
    FLOWS_CRASH_REPORTS_MAX = 500000,
    FLOWS_CRASH_BUDGETS = 3,
    FLOWS_CRASH_DIMENSIONS = 2,
    FLOWS_CRASH_WAITPOINTS = 3, /* of a suspension: "a", "b", "c" */
    FLOWS_CRASH_SIGNALS_SENT = 4,
    FLOWS_CRASH_SIGNALS_EACH = 2 * FLOWS_CRASH_SIGNALS_SENT, /* and those of operators */
    FLOWS_CRASH_NOTE_SIZE = 64,
    FLOWS_CRASH_NAME_SIZE = 32
};

/* ---- plans (flows_crash_plan.c) ---------------------------------------------------- */

enum flows_crash_role {
    FLOWS_CRASH_PLAIN,
    FLOWS_CRASH_WAITING,  /* suspends once, and then goes on */
    FLOWS_CRASH_FORGOTTEN /* suspends, and nobody ever signals */
};

enum flows_crash_condition {
    FLOWS_CRASH_ONE,
    FLOWS_CRASH_BOTH,
    FLOWS_CRASH_BY_SOURCES,
    FLOWS_CRASH_BY_WAITPOINTS,
    FLOWS_CRASH_BY_SIGNALS,
    FLOWS_CRASH_BY_OPERATOR,
    FLOWS_CRASH_BY_TIMEOUT,
    FLOWS_CRASH_CONDITIONS
};

/* Of a member. */
struct flows_crash_plan {
    enum flows_crash_role role;
    enum flows_crash_condition condition;
    int64_t timeout_ms; /* 0: none */
    enum weir_on_timeout on_timeout;
    int64_t resume_delay_ms;
    bool early;       /* the first waitpoint is made before */
    uint32_t tell_ms; /* signals are sent so long after the token is known */
    int budget;       /* below 0: none */
};

/* A signal. */
struct flows_crash_word {
    uint32_t waitpoint;
    const char *name;
    const char *source;
};

extern const char *const FLOWS_CRASH_KEYS[FLOWS_CRASH_WAITPOINTS];
extern const char *const FLOWS_CRASH_CONDITION_TEXTS[FLOWS_CRASH_CONDITIONS];
extern const char *const FLOWS_CRASH_BUDGET_NAMES[FLOWS_CRASH_BUDGETS];
extern const char *const FLOWS_CRASH_DIMENSION_NAMES[FLOWS_CRASH_DIMENSIONS];

uint32_t flows_crash_plan_count(uint64_t seed, uint32_t executions); /* members */
struct flows_crash_plan flows_crash_plan(uint64_t seed, uint32_t executions,
                                         uint32_t member);
bool flows_crash_plan_edge(uint64_t seed, uint32_t executions, uint32_t from, uint32_t to,
                           bool *passes_data);
/* False: nothing is said of it. */
bool flows_crash_plan_join(uint64_t seed, uint32_t executions, uint32_t to,
                           struct weir_flow_join *out);
bool flows_crash_plan_cancel(uint64_t seed, uint32_t executions,
                             enum weir_flow_cancel_policy *policy);

/* Number `index` of a member that waits so: the first ones are sent with tokens, the
 * others by operators, and those alone suffice. */
struct flows_crash_word flows_crash_plan_word(enum flows_crash_condition condition,
                                              uint32_t index);

/* Kinds name members, whatever becomes of their inputs: "w12.3" is number 3 of flow 12,
 * which waits. */
void flows_crash_write_kind(uint64_t seed, uint32_t executions, uint32_t member,
                            char *out);
bool flows_crash_read_kind(const char *kind, uint32_t *executions, uint32_t *member);

/* ---- notes ------------------------------------------------------------------------- */

/* A call: begun, answered, and how often its reply was lost before. */
struct flows_crash_call {
    _Atomic bool begun;
    _Atomic bool answered;
    _Atomic uint32_t doubts;
};

struct flows_crash_flow {
    struct weir_flow_id id;
    uint32_t first; /* member */
    uint32_t count;
    struct flows_crash_call build;
    struct flows_crash_call cancel;
};

struct flows_crash_signal {
    struct flows_crash_call call;
    _Atomic uint8_t effect; /* the first answer, plus 1 */
    _Atomic uint8_t again;  /* that to the same call once more, plus 1 */
    _Atomic bool nowhere;   /* an operator's, for whom there was no waitpoint */
};

/* All numbers begin anew for nobody: a member has one suspension. */
struct flows_crash_member {
    uint32_t executions;
    struct weir_execution_id id;
    /* tokens that are known, as bits, and since when */
    _Atomic uint8_t known;
    _Atomic int64_t known_us;
    uint8_t uuids[FLOWS_CRASH_WAITPOINTS][WEIR_UUID_SIZE];
    char tokens[FLOWS_CRASH_WAITPOINTS][WEIR_TOKEN_TEXT_SIZE];
    struct flows_crash_signal signals[FLOWS_CRASH_SIGNALS_EACH];
    /* by operators: asked for, answered, done as told */
    _Atomic uint32_t resumes_asked;
    _Atomic uint32_t resumes_answered;
    _Atomic uint32_t resumes_done;
    _Atomic int64_t released_us; /* 0: nothing was told; when the call was begun */
    /* events that subscriptions were given in the end */
    _Atomic uint32_t completions;
    _Atomic uint32_t signal_events;
};

/* What workers say of an attempt, besides the verbs of weir/executions.h. */
enum { FLOWS_CRASH_VANISH = WEIR_SETTLE_ABANDON + 1, FLOWS_CRASH_SUSPEND };

struct flows_crash_claim {
    _Atomic bool written;
    uint32_t member;
    uint32_t process;
    int32_t attempt;
    uint8_t verb;
    int64_t no;
    int64_t epoch;
    char input[FLOWS_CRASH_NOTE_SIZE];
    struct flows_crash_call call;
    _Atomic bool ok; /* else it was fenced */
};

struct flows_crash_report {
    uint32_t member; /* UINT32_MAX: of none */
    uint32_t budget;
    int64_t amounts[FLOWS_CRASH_DIMENSIONS];
    struct flows_crash_call call;
    _Atomic uint8_t spending; /* the first answer, plus 1 */
    _Atomic uint8_t again;
    _Atomic int64_t answered_us;
};

struct flows_crash_shared {
    struct rig_shared rig; /* first */
    _Atomic uint32_t built;
    _Atomic bool hurry; /* there are no more faults: what lacks is given at once */
    _Atomic uint32_t hands[FLOWS_CRASH_COMPOSERS]; /* flow that is being built, plus 1 */
    _Atomic uint32_t resets;                       /* of budgets, that were told */
    _Atomic uint32_t keys;                         /* of tokens, that were made */
    _Atomic uint32_t flow_count;
    struct flows_crash_flow flows[FLOWS_CRASH_FLOWS_MAX];
    _Atomic uint32_t member_count;
    struct flows_crash_member members[FLOWS_CRASH_MEMBERS_MAX];
    _Atomic uint32_t
        wait_count; /* members with tokens, in the order in which they came */
    _Atomic uint32_t waits[FLOWS_CRASH_MEMBERS_MAX];  /* plus 1 */
    _Atomic uint32_t handled[FLOWS_CRASH_SIGNALLERS]; /* waits that are done with */
    _Atomic size_t claim_count;
    struct flows_crash_claim claims[FLOWS_CRASH_CLAIMS_MAX];
    _Atomic size_t report_count;
    struct flows_crash_report reports[FLOWS_CRASH_REPORTS_MAX];
};

/* Each process has its copy; the stage is the same for all. */
struct flows_crash {
    struct rig rig;
    const struct flows_crash_options *options;
    struct flows_crash_result *result; /* the test's process */
    struct flows_crash_shared *shared;
};

/* ---- the life of a process, from fork to exit -------------------------------------- */

void flows_crash_compose(struct flows_crash *self);
void flows_crash_labour(struct flows_crash *self);
void flows_crash_tell(struct flows_crash *self);

/* ---- what they have in common (flows_crash_shared.c) ------------------------------- */

/* After a status of a call that is to be made until it is answered: must it be made
 * again? Waits a moment then. Any status that is no `RETRY` is an answer. */
bool flows_crash_again(struct flows_crash *self, struct flows_crash_call *call,
                       enum weir_status status);
void flows_crash_begin(struct flows_crash_call *call);

/* A usage report, made until it is answered. */
void flows_crash_spend(struct flows_crash *self, struct rig_client *client,
                       uint32_t budget, uint32_t member);

/* The member that a kind names; UINT32_MAX: none of ours. */
uint32_t flows_crash_find(const struct flows_crash *self, const char *kind);
struct flows_crash_plan flows_crash_plan_of(const struct flows_crash *self,
                                            uint32_t member);

/* What a worker was given; its digest, if it is long. `out` has FLOWS_CRASH_NOTE_SIZE
 * bytes. */
void flows_crash_write_given(struct weir_str given, char *out);

/* What a worker gives as result or reason: it tells of whom it is. */
void flows_crash_write_note(const struct flows_crash_claim *claim, char *out);

/* ---- before and after -------------------------------------------------------------- */

/* Tables, budgets, triggers, and subscriptions to events from now on
 * (flows_crash_history.c). */
void flows_crash_prepare(struct flows_crash *self);

/* How many have not ended and wait for nothing that really lacks; what is to be
 * cancelled, too. */
int64_t flows_crash_count_open(struct flows_crash *self);

/* When nobody runs any more, with the fixture's database open: events, once; an audit
 * of everything; and then each rule is broken in each way that is known, with an audit
 * that must find it. */
void flows_crash_read_events(struct flows_crash *self);
void flows_crash_count(struct flows_crash *self); /* figures that no rule needs */
void flows_crash_audit(struct flows_crash *self);
void flows_crash_audit_plants(struct flows_crash *self);

#endif
