/*
 * ward.h - a group of workers that are watched and stopped together.
 *
 * A ward spawns workers on an executor, reports the end of each, and ends them all
 * within a deadline. One worker's panic is nothing to the others.
 *
 *   create -> spawn, spawn, ... -> stop(grace) -> destroy
 *
 * Stopping cancels every worker: those that wait end at once, a running action is asked
 * (weir_context_cancelled) and waited for until the grace is over. C cannot end a thread
 * that does not listen; stop() then returns how many workers are unfinished, and the ward
 * keeps what those still touch until they return, even after destroy(). Their `state` and
 * listeners belong to the caller, which must leave them alone for as long.
 *
 * Misuse   Spawning after cancel or stop gives WEIR_CLOSED. Stopping twice waits again
 *          for whatever is unfinished. Stopping from inside one of its own actions
 *          cancels, does not wait, and counts the caller as unfinished.
 * Threads  Any thread; destroy() needs the handle to itself. In simulation: the one
 *          thread.
 */
#ifndef WEIR_WARD_H
#define WEIR_WARD_H

#include <stddef.h>
#include <stdint.h>

#include <weir/error.h>
#include <weir/worker.h>

struct weir_executor;
struct weir_ward;

enum weir_worker_outcome {
    WEIR_WORKER_FINISHED, /* cancelled, or its gate was closed */
    WEIR_WORKER_PANICKED, /* under WEIR_ON_PANIC_END */
    WEIR_WORKER_DROPPED   /* its simulation was destroyed in the middle of an action */
};

/* How a worker ended. Lives for the call. */
struct weir_worker_end {
    const char *ward;
    const char *worker;
    enum weir_worker_outcome outcome;
    const char *text; /* of the panic; "" otherwise */
    uint64_t executions;
    uint64_t failures;
};

/* Called once for each worker that ends, after its on_stop, on the same thread. */
typedef void (*weir_worker_end_fn)(void *state, const struct weir_worker_end *end);

struct weir_ward_options {
    const char *name;          /* copied; as a worker's name */
    weir_worker_end_fn on_end; /* may be NULL: the log hears of it anyway */
    void *state;               /* of on_end */
};

WEIR_BEGIN_DECLS

/* Fails with WEIR_INVALID (name) or WEIR_NO_MEMORY; *out is then NULL. */
WEIR_CHECKED WEIR_API enum weir_status
weir_ward_create(struct weir_executor *executor, const struct weir_ward_options *options,
                 struct weir_ward **out, struct weir_error *error);

/* stop(0) if it was not stopped, then give it up. NULL is fine. */
WEIR_API void weir_ward_destroy(struct weir_ward *self);

/*
 * Start a worker. `out` may be NULL; otherwise it gets a handle that is owed one
 * weir_worker_release(). Fails with WEIR_INVALID (the text names field, value and limit),
 * WEIR_NO_MEMORY or WEIR_CLOSED; then nothing was started.
 */
WEIR_CHECKED WEIR_API enum weir_status
weir_ward_spawn(struct weir_ward *self, const struct weir_worker_options *options,
                struct weir_worker **out, struct weir_error *error);

/* Workers that have not ended. */
WEIR_API size_t weir_ward_count(struct weir_ward *self);

/* Read up to `count` workers in the order they were spawned; returns how many there
 * are. */
WEIR_API size_t weir_ward_read(struct weir_ward *self, struct weir_worker_info *out,
                               size_t count);

/* Ask all workers to end, and wait for nothing. Twice is harmless. */
WEIR_API void weir_ward_cancel(struct weir_ward *self);

/* Cancel, wait up to `grace_ns`, and return how many workers have not ended: 0 is clean,
 * and then nothing of them runs any more. */
WEIR_API size_t weir_ward_stop(struct weir_ward *self, int64_t grace_ns);

WEIR_END_DECLS

#endif
