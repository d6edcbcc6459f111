/*
 * flow_crash_truth.h - what the tables and the events say at the end of a run of
 * flow_crash.h.
 */
#ifndef WEIR_TEST_FLOW_CRASH_TRUTH_H
#define WEIR_TEST_FLOW_CRASH_TRUTH_H

#include "crash/executions/flow_crash_shared.h"

enum { FLOW_CRASH_FAILURE_SIZE = 80 };

/* A row of attempts. */
struct flow_crash_try {
    int64_t no; /* of the execution */
    int32_t number;
    enum weir_attempt_type type;
    enum weir_attempt_outcome outcome;
    int64_t epoch;
    int64_t started_us;
    int64_t ended_us;
    char failure[FLOW_CRASH_FAILURE_SIZE];
};

/* A completion that the subscription was given. */
struct flow_crash_event {
    struct weir_execution_id id;
    char outcome[16];
    int64_t attempts;
    int64_t epoch;
};

/* An execution with all that is its. */
struct flow_crash_life {
    int64_t no;
    uint8_t uuid[WEIR_UUID_SIZE];
    uint32_t number; /* of the draft; UINT32_MAX: of none */
    int64_t state;
    int64_t attempts;
    int64_t retries;
    int64_t reclaims;
    int64_t epoch;
    int64_t created_us;
    int64_t ended_us;
    char failure[FLOW_CRASH_FAILURE_SIZE];
    char result[FLOW_CRASH_FAILURE_SIZE]; /* "": none */
    const struct flow_crash_try *tries;
    size_t try_count;
    const struct flow_crash_claim *const
        *claims; /* that workers were told of, by epoch */
    size_t claim_count;
    const struct flow_crash_event *event; /* the last one */
    uint32_t event_count;
};

struct flow_crash_truth {
    struct flow_crash_life *lives; /* by `no` */
    size_t life_count;
    struct flow_crash_try *tries; /* by `no` and number */
    size_t try_count;
    const struct flow_crash_claim **claims; /* by `no` and epoch */
    size_t claim_count;
    struct flow_crash_event *events;
    _Atomic size_t event_count;
    size_t strays; /* attempts, claims and events of no execution that is there */
};

/* All of it, each put to its execution; events by the subscription of this number. Owes
 * one free. */
void flow_crash_truth_read(struct flow_crash *run, uint32_t audit,
                           struct flow_crash_truth *out);
void flow_crash_truth_free(struct flow_crash_truth *self);

#endif
