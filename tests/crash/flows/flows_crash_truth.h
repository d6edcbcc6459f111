/*
 * flows_crash_truth.h - what the tables say at the end of a run of flows_crash.h, of
 * each member.
 */
#ifndef WEIR_TEST_FLOWS_CRASH_TRUTH_H
#define WEIR_TEST_FLOWS_CRASH_TRUTH_H

#include "crash/flows/flows_crash_shared.h"

/* A member as it is stored, and what was noted of it. */
struct flows_crash_life {
    int64_t no; /* 0: it is not there */
    uint32_t found;
    uint8_t uuid[WEIR_UUID_SIZE];
    int64_t state;
    int64_t ended_us;
    int64_t flow_state; /* of its flow, as the next */
    int64_t flow_members;
    int64_t flow_edges;
    char failure[FLOWS_CRASH_NOTE_SIZE];
    char input[FLOWS_CRASH_NOTE_SIZE];
    int64_t data_edges;
    char given[FLOWS_CRASH_NOTE_SIZE];  /* to a worker, by what was passed to it */
    char result[FLOWS_CRASH_NOTE_SIZE]; /* "": none */
    /* signals that came, each by its number; and the engine's */
    uint32_t came[FLOWS_CRASH_SIGNALS_EACH];
    uint32_t timeouts;
    uint32_t resumed;   /* suspensions that ended so that it goes on */
    uint32_t timed_out; /* ones that ended it, by their time */
    bool too_early;     /* of those */
    bool has_spent;     /* by the ledger */
};

struct flows_crash_truth {
    struct flows_crash_life *lives; /* by number of the member */
    uint32_t count;
    bool *counted; /* reports: their keys are kept */
    size_t report_count;
    int64_t added[FLOWS_CRASH_BUDGETS][FLOWS_CRASH_DIMENSIONS]; /* to sums */
    int64_t resets;
    uint32_t strays; /* rows that are nobody's */
};

/* Owes one free. */
void flows_crash_truth_read(struct flows_crash *run, struct flows_crash_truth *out);
void flows_crash_truth_free(struct flows_crash_truth *self);

#endif
