/*
 * cast.h - the workers that `weir demo` shows, and how they fare.
 *
 * Seven workers on two threads. Each shows one thing the runtime does: periodic wake-ups,
 * pacing with a ramp, backoff, a survived panic, a gate with a line in front of it, a long
 * sleep.
 *
 * Threads  The main thread.
 * Memory   One allocation. When stop() has left workers unfinished, destroy() leaves their
 *          memory to the end of the process.
 */
#ifndef WEIR_CLI_CAST_H
#define WEIR_CLI_CAST_H

#include <stddef.h>
#include <stdint.h>

#include "weir/error.h"
#include "weir/gate.h"
#include "weir/worker.h"

struct weir_cast;

enum { WEIR_CAST_COUNT = 7, WEIR_CAST_THREADS = 2, WEIR_CAST_ERROR_SIZE = 64 };

/* One worker at one instant. */
struct weir_cast_member {
    const char *about; /* what it does, in a few words; lives for ever */
    struct weir_worker_info info;
    int64_t due_in_ns; /* until its timed wait is over; -1: it waits for no time */
    uint64_t panics;
    char last_error[WEIR_CAST_ERROR_SIZE]; /* "" while there was none */
};

struct weir_cast_snapshot {
    int64_t elapsed_ns; /* since create() */
    struct weir_cast_member members[WEIR_CAST_COUNT];
    struct weir_gate_info van; /* the gate that the couriers share */
};

/* Start the threads and the workers. Fails with WEIR_NO_MEMORY or WEIR_SYSTEM; *out is then
 * NULL. */
WEIR_CHECKED enum weir_status weir_cast_create(struct weir_cast **out,
                                               struct weir_error *error);
void weir_cast_destroy(struct weir_cast *self);

/* How long create() is ago. */
int64_t weir_cast_elapsed(struct weir_cast *self);

void weir_cast_read(struct weir_cast *self, struct weir_cast_snapshot *out);

/* End all workers; returns how many had not ended when the grace was over. */
size_t weir_cast_stop(struct weir_cast *self, int64_t grace_ns);

#endif
