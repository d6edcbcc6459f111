/*
 * lap.h - actions that execute a given number of times, and say when they are through.
 *
 * They use nothing of the context, so the queue of lib/queue.h can call the very same
 * ones.
 */
#ifndef WEIR_BENCH_LAP_H
#define WEIR_BENCH_LAP_H

#include <stddef.h>
#include <stdint.h>

#include <weir/worker.h>

#include "lib/latch.h"

/* Different workers' states must not share a line of the cache. */
#define BENCH_OWN_LINE _Alignas(64)

/* The state of one worker that executes `left` times and then idles. */
struct bench_lap {
    BENCH_OWN_LINE uint64_t left;
    uint64_t spin_turns;
    int64_t begun_ns; /* at the first execution; 0 before */
    int64_t ended_ns;
    struct bench_latch *done; /* hit once, at the end */
};

/* `count` laps of `each` executions; initialises the latch. Freed by free(). */
struct bench_lap *bench_laps_create(size_t count, uint64_t each, uint64_t spin_turns,
                                    struct bench_latch *done);

/* From the first execution of any to the last one of all: how long the first signal
 * took is another matter. */
int64_t bench_laps_taken_ns(const struct bench_lap *laps, size_t count);

/* Always proceed; the same after a busy loop; always idle; proceed and idle in turn. */
enum weir_status bench_step_proceed(struct weir_context *context, void *state,
                                    struct weir_directive *out, struct weir_error *error);
enum weir_status bench_step_spin(struct weir_context *context, void *state,
                                 struct weir_directive *out, struct weir_error *error);
enum weir_status bench_step_idle(struct weir_context *context, void *state,
                                 struct weir_directive *out, struct weir_error *error);
enum weir_status bench_step_alternate(struct weir_context *context, void *state,
                                      struct weir_directive *out,
                                      struct weir_error *error);

#endif
