/*
 * sim.h - an executor in one thread and in virtual time.
 *
 * Everything that runs on a pool of threads runs here too, with the same scheduler, but
 * the clock is a number that jumps to the next timer when nothing can run: a day takes
 * milliseconds. Actions run on stacks of their own, so one that waits (weir_sleep,
 * weir_gate_enter, weir_notifier_wait) lets others run meanwhile. Which of the ready
 * workers runs next is picked by the seed; the same seed and the same calls give the
 * same run.
 *
 * Threads  One: nothing of a simulation may be touched by another thread.
 */
#ifndef WEIR_SIM_H
#define WEIR_SIM_H

#include <stdbool.h>
#include <stdint.h>

#include <weir/error.h>
#include <weir/heap.h>
#include <weir/log.h>

struct weir_executor;
struct weir_sim;

struct weir_sim_options {
    const struct weir_heap *heap; /* borrowed; NULL: the C library's */
    struct weir_log log;          /* copied; all zero: silence */
    uint64_t seed;
};

WEIR_BEGIN_DECLS

/* Time begins at 0. Fails with WEIR_NO_MEMORY; *out is then NULL. */
WEIR_CHECKED WEIR_API enum weir_status
weir_sim_create(const struct weir_sim_options *options, struct weir_sim **out,
                struct weir_error *error);

/* Actions that are in the middle of something are dropped where they are, as by a power
 * cut: their clean-ups do not run. NULL is fine. */
WEIR_API void weir_sim_destroy(struct weir_sim *self);

/* Borrowed: lives as long as the simulation. */
WEIR_API struct weir_executor *weir_sim_executor(struct weir_sim *self);

WEIR_API int64_t weir_sim_now(const struct weir_sim *self);

/* Run all that happens up to and including `time_ns`; then that is the time. */
WEIR_API void weir_sim_run_until(struct weir_sim *self, int64_t time_ns);

/* Run until nothing can happen any more: true; or until `limit_ns`: false. */
WEIR_API bool weir_sim_run_until_quiet(struct weir_sim *self, int64_t limit_ns);

/* How often something was run or went on after a wait: a number to compare two runs
 * by. */
WEIR_API uint64_t weir_sim_steps(const struct weir_sim *self);

WEIR_END_DECLS

#endif
