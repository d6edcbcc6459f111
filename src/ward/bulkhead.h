/*
 * bulkhead.h - what stands between a worker and the thing it may overload: a limit on how
 * many run at once, and a pause that grows while it fails.
 *
 * The limit is one gate, two (tiered), or none; standing in line is the worker's
 * affair. The pause, `floor_ns`, is 0 unless the last execution failed.
 *
 * Threads  The worker's owner.
 */
#ifndef WEIR_WARD_BULKHEAD_H
#define WEIR_WARD_BULKHEAD_H

#include "weir/worker.h"

struct weir_gate;

struct weir_bulkhead {
    struct weir_gate *shared;     /* taken first, if there is one */
    struct weir_gate *guaranteed; /* taken when shared has no permit */
    struct weir_backoff backoff;
    uint64_t jitter_seed; /* differs between workers and between processes */
    uint32_t failures;    /* in a row; saturates */
    int64_t floor_ns;     /* hold back so long from the start of the failed execution */
};

/* Durations from 0 to WEIR_DURATION_MAX, initial not above max, multiplier 1 to 1000,
 * jitter 0 to 1, no NaN. WEIR_INVALID names the field, its value and the limit. */
WEIR_CHECKED enum weir_status weir_backoff_check(const struct weir_backoff *backoff,
                                                 struct weir_error *error);

/* No gates, no failures. */
void weir_bulkhead_init(struct weir_bulkhead *self, const struct weir_backoff *backoff,
                        uint64_t jitter_seed);

/* One more failure in a row: floor = jitter(min(initial * multiplier^(failures-1),
 * max)). */
void weir_bulkhead_escalate(struct weir_bulkhead *self);

/* A success: no failures, no floor. */
void weir_bulkhead_reset(struct weir_bulkhead *self);

#endif
