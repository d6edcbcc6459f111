/*
 * context.h - what an action may ask of the runtime while it runs.
 *
 * The runtime hands a context to each execution. It is the only way an action sees time,
 * cancellation and short-lived memory, so the same action runs on threads and in a
 * simulation that passes a day in a millisecond.
 *
 * Threads  Only the flow of control that was given the context, and only until the action
 *          returns. weir_context_cancelled() alone may be asked by helper threads too.
 * Memory   What alloc() gives is gone when the execution ends.
 */
#ifndef WEIR_CONTEXT_H
#define WEIR_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weir/error.h>
#include <weir/time.h>

struct weir_context;
struct weir_worker;

/* A deferred clean-up. `panicked` says whether the execution, or the guarded call that
 * registered it, ended by weir_panic(). */
typedef void (*weir_cleanup_fn)(void *argument, bool panicked);

/* The body of a guarded call. */
typedef enum weir_status (*weir_guarded_fn)(struct weir_context *context, void *argument,
                                            struct weir_error *error);

WEIR_BEGIN_DECLS

/* Should this action return soon? True once its worker or its ward was cancelled. */
WEIR_API bool weir_context_cancelled(const struct weir_context *self);

/* The executor's clock. */
WEIR_API int64_t weir_context_now(const struct weir_context *self);

/* The worker that is being executed: to cancel it, or to know its name. */
WEIR_API struct weir_worker *weir_context_worker(const struct weir_context *self);

/* `size` bytes (at least 1), aligned for anything, not zeroed; NULL without memory, or
 * beyond 64 MiB in one execution. */
WEIR_CHECKED WEIR_API void *weir_context_alloc(struct weir_context *self, size_t size);

/*
 * Wait. Returns WEIR_OK when the time is over, or WEIR_CANCELLED as soon as the worker is
 * cancelled. Nothing else of the executor waits with it but this one thread.
 */
WEIR_CHECKED WEIR_API enum weir_status weir_sleep(struct weir_context *self,
                                                  int64_t duration_ns);

/* Wait, whatever happens: for the few steps that must not be cut short. */
WEIR_API void weir_sleep_through(struct weir_context *self, int64_t duration_ns);

/*
 * Run `cleanup(argument)` when this execution (or the innermost guarded call) ends,
 * however it ends; the last one registered runs first. Fails with WEIR_NO_MEMORY, and
 * then nothing is registered.
 */
WEIR_CHECKED WEIR_API enum weir_status
weir_defer(struct weir_context *self, weir_cleanup_fn cleanup, void *argument);

/*
 * Give up: unwind to the innermost guarded call or to the execution's boundary, run the
 * clean-ups registered on the way, and count as an error with the text "panic: ...".
 *
 * For user code only. Never call it while holding a lock, from another thread, from a
 * callback of a database driver, or across C++ frames: destructors do not run.
 */
WEIR_NORETURN WEIR_API void weir_panic(struct weir_context *self, const char *format, ...)
    WEIR_PRINTF(2, 3);

/*
 * Call `body` so that a panic inside it comes back as WEIR_PANICKED, with its text in
 * `error`, and its clean-ups have run. Any other status is passed on.
 */
WEIR_CHECKED WEIR_API enum weir_status weir_guard(struct weir_context *self,
                                                  weir_guarded_fn body, void *argument,
                                                  struct weir_error *error);

WEIR_END_DECLS

#endif
