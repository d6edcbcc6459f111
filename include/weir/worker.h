/*
 * worker.h - an action that is executed again and again.
 *
 * A worker is data: while it waits it costs a few hundred bytes and no thread. Its action
 * answers each execution with a directive, or with an error.
 *
 *                        +------------------- proceed: wait the pace -----------------+
 *                        v                                                            |
 *   start -> idle -> [gate] -> executed --+-- idle: wait for a notifier --> [gate] ...|
 *                                         +-- sleep: notifier, or time is up -> [gate]
 *                                         +-- error: wait the backoff, then as
 *                                             `on_error` says
 *
 * The first thing a worker does is to idle: it needs a signal to run for the first time
 * (a notifier with a stored permit will do). After an error it waits at least its
 * backoff, counted from the start of the failed execution; no signal shortens that.
 * Errors never end a worker.
 *
 * Threads  The action of one worker is never executed twice at the same time.
 */
#ifndef WEIR_WORKER_H
#define WEIR_WORKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weir/context.h>
#include <weir/directive.h>
#include <weir/error.h>
#include <weir/listener.h>
#include <weir/time.h>

struct weir_gate;
struct weir_notifier;
struct weir_worker;

enum {
    WEIR_WORKER_NAME_SIZE_MAX = 255,
    WEIR_WORKER_NOTIFIERS_MAX = 64,
    WEIR_WORKER_LISTENERS_MAX = 16
};

/* No duration of a worker may be longer. */
#define WEIR_DURATION_MAX WEIR_HOURS(24 * 366)

/*
 * One execution. On WEIR_OK the directive in *out counts; it is preset to idle. On any
 * other status the execution has failed, and `error` says why (a text left empty becomes
 * the status's own). `error` is never NULL.
 */
typedef enum weir_status (*weir_action_fn)(struct weir_context *context, void *state,
                                           struct weir_directive *out,
                                           struct weir_error *error);

/*
 * How long to wait between two executions that both said *proceed*: `active_ns` after the
 * first, then `ramp_ns` less each time, down to `min_ns`. Anything but proceed resets it.
 */
struct weir_pace {
    int64_t min_ns;
    int64_t active_ns;
    int64_t ramp_ns;
};

/*
 * How long to hold back after the nth error in a row: initial * multiplier^(n-1), at
 * most max, changed by up to +-jitter (a fraction) but never above max. The jitter of
 * one worker differs from process to process, so that a fleet does not retry in step.
 */
struct weir_backoff {
    int64_t initial_ns;
    int64_t max_ns;
    double multiplier; /* 1 to 1000 */
    double jitter;     /* 0 to 1 */
};

enum weir_on_error {
    WEIR_ON_ERROR_RETRY,          /* run again by itself when the backoff is over */
    WEIR_ON_ERROR_WAIT_FOR_SIGNAL /* then idle: a signal is still needed */
};

enum weir_on_panic {
    WEIR_ON_PANIC_END,  /* the worker ends, and its ward reports it */
    WEIR_ON_PANIC_RETRY /* a panic is an error like any other */
};

enum weir_worker_class {
    WEIR_WORKER_COMMON,
    WEIR_WORKER_RESERVED /* runs on the executor's reserve threads, which run nothing
                            else: for short work that user code must never delay */
};

struct weir_worker_options {
    const char *name; /* copied; 1 to 255 printable ASCII characters without space */
    weir_action_fn action;
    void *state; /* the action's; borrowed until the worker has ended */

    struct weir_notifier *const *notifiers; /* the list is copied; of the same executor */
    size_t notifier_count;
    const struct weir_listener *const
        *listeners; /* the list is copied, its tables borrowed */
    size_t listener_count;

    struct weir_gate *shared; /* alone: a fixed limit. NULL with guaranteed NULL: none */
    struct weir_gate *guaranteed; /* with `shared`: a tiered limit */
    struct weir_pace pace;
    struct weir_backoff backoff;
    enum weir_on_error on_error;
    enum weir_on_panic on_panic;
    enum weir_worker_class worker_class;
    uint32_t failures_initial; /* begin as if so many executions had just failed */
};

enum weir_worker_state {
    WEIR_WORKER_STARTING,    /* spawned, on_start not called yet */
    WEIR_WORKER_PACING,      /* waits between two proceeds */
    WEIR_WORKER_BACKING_OFF, /* waits after an error */
    WEIR_WORKER_IDLING,      /* waits for a notifier */
    WEIR_WORKER_SLEEPING,    /* waits for a notifier or a time */
    WEIR_WORKER_QUEUED,      /* stands in line for a permit */
    WEIR_WORKER_READY,       /* waits for a thread */
    WEIR_WORKER_RUNNING,
    WEIR_WORKER_ENDED
};

/* One worker at one instant. */
struct weir_worker_info {
    char name[WEIR_WORKER_NAME_SIZE_MAX + 1];
    enum weir_worker_state state;
    bool cancelled;
    int64_t due_ns;      /* when a timed wait is over, on the executor's clock; else 0 */
    uint64_t executions; /* successes and failures */
    uint64_t failures;
    uint32_t failures_in_row;
    size_t notifier_count;
};

WEIR_BEGIN_DECLS

/*
 * Fill in the defaults: no notifiers, no listeners, no gate, pace 100 ms ramping by 10
 * ms to 10 ms, backoff 100 ms doubling to 30 s with 0.3 jitter, retry after errors, end
 * on panic. Name and action are the caller's to set.
 */
WEIR_API void weir_worker_options_init(struct weir_worker_options *self);

/* The default backoff with other ends, checked: multiplier 1 or more, initial not above
 * max. Fails with WEIR_INVALID and leaves *out alone. */
WEIR_CHECKED WEIR_API enum weir_status
weir_backoff_init(struct weir_backoff *out, int64_t initial_ns, int64_t max_ns,
                  double multiplier, struct weir_error *error);

/* No waiting between proceeds; no waiting after errors (with WAIT_FOR_SIGNAL only). */
WEIR_API struct weir_pace weir_pace_none(void);
WEIR_API struct weir_backoff weir_backoff_none(void);

/* Ask this worker to end: it runs no more, and an action that is running sees it. Any
 * thread; twice is harmless. */
WEIR_API void weir_worker_cancel(struct weir_worker *self);

/* Lives as long as the worker. */
WEIR_API const char *weir_worker_name(const struct weir_worker *self);

WEIR_API void weir_worker_read(struct weir_worker *self, struct weir_worker_info *out);

/* "idling", "backing off", ... */
WEIR_API const char *weir_worker_state_name(enum weir_worker_state state);

/* Give up a handle that weir_ward_spawn() gave out. The worker goes on. NULL is fine. */
WEIR_API void weir_worker_release(struct weir_worker *self);

WEIR_END_DECLS

#endif
