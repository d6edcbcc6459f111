/*
 * pace.h - the wait between two executions that both said proceed.
 *
 * Threads  The worker's owner. See struct weir_pace in weir/worker.h for the meaning.
 */
#ifndef WEIR_WARD_PACE_H
#define WEIR_WARD_PACE_H

#include "weir/worker.h"

struct weir_pacer {
    struct weir_pace pace;
    int64_t current_ns; /* what the next wait will be */
};

/* Each duration from 0 to WEIR_DURATION_MAX, min not above active. WEIR_INVALID names the
 * field, its value and the limit. */
WEIR_CHECKED enum weir_status weir_pace_check(const struct weir_pace *pace,
                                              struct weir_error *error);

void weir_pacer_init(struct weir_pacer *self, const struct weir_pace *pace);

/* The wait that is due now; the one after it is a ramp step shorter, down to the
 * minimum. */
int64_t weir_pacer_next(struct weir_pacer *self);

/* Begin again with the active interval. */
void weir_pacer_reset(struct weir_pacer *self);

#endif
