/*
 * flow_crash_shared.h - the inside of flow_crash.h: what the processes of a run share.
 *
 * The processes are those of a rig (rig.h).
 */
#ifndef WEIR_TEST_FLOW_CRASH_SHARED_H
#define WEIR_TEST_FLOW_CRASH_SHARED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "crash/executions/flow_crash.h"
#include "crash/rig/client.h"
#include "weir/executions.h"

enum {
    FLOW_CRASH_SUBMITTERS = 2,
    FLOW_CRASH_WORKERS = 3,
    FLOW_CRASH_SUPERVISORS = 2,
    FLOW_CRASH_FIRST_WORKER = FLOW_CRASH_SUBMITTERS,
    FLOW_CRASH_FIRST_SUPERVISOR = FLOW_CRASH_FIRST_WORKER + FLOW_CRASH_WORKERS,
    FLOW_CRASH_PROCESS_SLOTS = FLOW_CRASH_FIRST_SUPERVISOR + FLOW_CRASH_SUPERVISORS,
    FLOW_CRASH_LANES = 3,
    FLOW_CRASH_LEASE_MS = 1000, /* the shortest there is */
    FLOW_CRASH_DRAFTS_MAX = 400000,
    FLOW_CRASH_CLAIMS_MAX = 1500000,
    FLOW_CRASH_INPUT_SIZE_MAX = 200,
    FLOW_CRASH_NOTE_SIZE = 64
};

extern const char *const FLOW_CRASH_LANE_NAMES[FLOW_CRASH_LANES];

/* ---- what submitters were told ----------------------------------------------------- */

enum flow_crash_fate {
    FLOW_CRASH_NOTHING, /* not committed: rolled back, refused, or never tried */
    FLOW_CRASH_DOUBT,   /* is being committed, or nobody knows */
    FLOW_CRASH_COMMITTED
};

/* An execution to be, by its number. All else follows from seed and number. */
struct flow_crash_draft {
    _Atomic uint8_t fate;
    _Atomic bool told;   /* its id */
    uint32_t submission; /* number of the first one of its transaction */
    struct weir_execution_id id;
};

/* A transaction of a submitter: numbers in a row. */
struct flow_crash_submission {
    _Atomic uint32_t count; /* 0: nothing is being submitted */
    uint32_t first;
    uint32_t repeats; /* calls that were made after one in doubt */
};

/* ---- what workers were told -------------------------------------------------------- */

enum { FLOW_CRASH_VANISH = WEIR_SETTLE_ABANDON + 1 }; /* says nothing */

enum flow_crash_answer {
    FLOW_CRASH_UNTOLD,
    FLOW_CRASH_OK,
    FLOW_CRASH_FENCED,
    FLOW_CRASH_NOT_FOUND
};

struct flow_crash_claim {
    _Atomic bool written;
    uint32_t number; /* of the draft */
    uint32_t process;
    int32_t attempt;
    uint8_t type;
    uint8_t verb; /* what is to be said of it */
    bool permanent;
    _Atomic uint8_t answer;
    _Atomic uint8_t again;        /* of the same call, made once more after its answer */
    _Atomic uint8_t doubts;       /* calls before the answer, that may have been done */
    _Atomic bool asked;           /* whether done or not: a call has begun */
    _Atomic bool refused_renewal; /* before `asked` */
    int64_t no;
    int64_t epoch;
    _Atomic int64_t lease_us; /* as told last */
    _Atomic bool renewing;    /* and it may be later: nobody has told */
};

/* ---- all --------------------------------------------------------------------------- */

struct flow_crash_shared {
    struct rig_shared rig; /* first */
    _Atomic uint32_t committed;
    _Atomic uint32_t resubmitted;
    _Atomic uint32_t other_ids; /* told for a draft that had one */
    struct flow_crash_submission submissions[FLOW_CRASH_SUBMITTERS];
    _Atomic uint32_t draft_count;
    struct flow_crash_draft drafts[FLOW_CRASH_DRAFTS_MAX];
    _Atomic size_t claim_count;
    struct flow_crash_claim claims[FLOW_CRASH_CLAIMS_MAX];
};

/* Each process has its copy; the stage is the same for all. */
struct flow_crash {
    struct rig rig;
    const struct flow_crash_options *options;
    struct flow_crash_result *result; /* the test's process */
    struct flow_crash_shared *shared;
};

/* A draft with all that it points to. */
struct flow_crash_work {
    struct weir_execution_draft draft;
    struct weir_execution_policy policy;
    struct weir_execution_id id;
    char key[32];
    char input[FLOW_CRASH_INPUT_SIZE_MAX];
};

/* ---- the life of a process, from fork to exit -------------------------------------- */

void flow_crash_submit(struct flow_crash *self);
void flow_crash_labour(struct flow_crash *self);

/* ---- what they have in common (flow_crash_shared.c) -------------------------------- */

/* The draft of this number, and the number in an input. UINT32_MAX: it is none of
 * ours. */
void flow_crash_write_draft(uint64_t seed, uint32_t number, struct flow_crash_work *out);
bool flow_crash_has_identity(uint32_t number); /* a key, or an id of its own */
uint32_t flow_crash_read_number(const void *input, size_t size);

/* What a worker gives as result or reason: it tells of whom it is. */
void flow_crash_write_note(const struct flow_crash_claim *claim, char *out);

/* ---- before and after (flow_crash_audit.c, flow_crash_plant.c) --------------------- */

/* Subscriptions to completions, from now on, one for each of so many audits. */
enum { FLOW_CRASH_AUDITS_MAX = 8 };
void flow_crash_subscribe(struct flow_crash *self, uint32_t audits);

/* When nobody runs any more, with the fixture's database open. An audit has the number
 * of its subscription. */
void flow_crash_tamper(struct flow_crash *self, enum flow_crash_plant plant);
void flow_crash_audit(struct flow_crash *self, uint32_t audit);

#endif
