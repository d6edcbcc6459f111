/*
 * listener.h - what a worker tells about itself.
 *
 * The runtime itself logs nothing about single executions. An application that needs
 * these events attaches a listener: a table of callbacks, each of which may be NULL.
 *
 * Order    Listeners are called in the order of the worker's list, once per event.
 *          start .. (execute_start (complete | error) (idle | sleep)?)* .. stop
 * Threads  One callback of one worker at a time, on whichever thread executes the
 *          worker, or in weir_ward_stop(). Never under a lock. No callback may panic.
 * Memory   The table and its state are borrowed until the worker has ended.
 */
#ifndef WEIR_LISTENER_H
#define WEIR_LISTENER_H

#include <stdint.h>

#include <weir/directive.h>
#include <weir/log.h>

struct weir_listener {
    void *state; /* first argument of each callback */
    void (*on_start)(void *state, const char *worker);
    void (*on_stop)(void *state, const char *worker);
    void (*on_execute_start)(void *state, const char *worker);
    void (*on_complete)(void *state, const char *worker, int64_t elapsed_ns,
                        const struct weir_directive *directive);
    /* `failures` in a row, this one included; `backoff_ns` from the start of the
     * execution */
    void (*on_error)(void *state, const char *worker, int64_t elapsed_ns,
                     const char *text, uint32_t failures, int64_t backoff_ns);
    void (*on_idle)(void *state, const char *worker);
    void (*on_sleep)(void *state, const char *worker, int64_t duration_ns);
};

WEIR_BEGIN_DECLS

/*
 * A listener that writes to a log: start and stop at debug; complete, idle and sleep at
 * trace; an error at debug for the first three in a row and as a warning from the fourth.
 * Borrows `log` for as long as the listener is used.
 */
WEIR_API struct weir_listener weir_log_listener(const struct weir_log *log);

WEIR_END_DECLS

#endif
