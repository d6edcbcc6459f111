/*
 * executor.h - what makes workers move: a pool of threads, or a simulation (weir/sim.h).
 *
 * Wards, notifiers and gates belong to one executor. Its clock is theirs; its lock guards
 * them all, so "wake exactly one" and "hand the permit over" need no second thought.
 *
 * A pool runs `threads` actions at once. A worker that waits uses none of them. A
 * sensible number is the sum of the permits of all gates, plus the workers without a
 * gate that may block. Reserve threads run only workers of class WEIR_WORKER_RESERVED.
 *
 * Threads  Any thread; destroy() needs the handle to itself.
 */
#ifndef WEIR_EXECUTOR_H
#define WEIR_EXECUTOR_H

#include <stdint.h>

#include <weir/error.h>
#include <weir/heap.h>
#include <weir/log.h>

struct weir_executor;

enum { WEIR_EXECUTOR_THREADS_MAX = 1024 };

struct weir_executor_options {
    const struct weir_heap *heap; /* borrowed until all is gone; NULL: the C library's */
    struct weir_log log;          /* copied; all zero: silence */
    uint32_t threads;             /* 1 to WEIR_EXECUTOR_THREADS_MAX */
    uint32_t reserve_threads;     /* 0 to WEIR_EXECUTOR_THREADS_MAX */
};

WEIR_BEGIN_DECLS

/* Defaults: the C library's heap, silence, 4 threads, no reserve. */
WEIR_API void weir_executor_options_init(struct weir_executor_options *self);

/* Start the threads. Fails with WEIR_INVALID, WEIR_NO_MEMORY or WEIR_SYSTEM (no thread
 * could be started); *out is then NULL. */
WEIR_CHECKED WEIR_API enum weir_status
weir_executor_create(const struct weir_executor_options *options,
                     struct weir_executor **out, struct weir_error *error);

/*
 * End the threads that are free and wait for those; a thread that is still inside an
 * action ends by itself when that returns, and the memory goes with the last. Workers
 * that have not ended are never executed again. NULL is fine. A simulation is destroyed
 * by its own call.
 */
WEIR_API void weir_executor_destroy(struct weir_executor *self);

/* The clock that deadlines are measured by. */
WEIR_API int64_t weir_executor_now(struct weir_executor *self);

WEIR_END_DECLS

#endif
