/*
 * context.h - the inside of weir/context.h: the boundary around user code.
 *
 *   boundary  ->  action  ->  ...  ->  weir_panic()
 *      ^                                   |
 *      +------ clean-ups run here <--------+
 *
 * Each thread of a pool and each fiber of a simulation has one context and uses it for
 * one execution after the other.
 *
 * Threads  The flow of control that owns it.
 */
#ifndef WEIR_WARD_CONTEXT_H
#define WEIR_WARD_CONTEXT_H

#include "base/arena.h"
#include "ward/executor.h"
#include "ward/lock.h"
#include "weir/context.h"

struct weir_boundary;
struct weir_cleanup;
struct weir_parking;

struct weir_context {
    struct weir_executor *executor;
    struct weir_worker *worker; /* the one that is being executed */
    struct weir_arena arena;
    struct weir_cleanup *cleanups;  /* of the innermost boundary, newest first */
    struct weir_boundary *boundary; /* the innermost */
    char panic_text[WEIR_ERROR_TEXT_SIZE];
};

/* Whether a wait inside an action ends when the worker is cancelled. */
enum weir_cut_short { WEIR_NOT_CUT_SHORT, WEIR_CUT_SHORT_BY_CANCEL };

void weir_context_init(struct weir_context *self, struct weir_executor *executor);
void weir_context_fini(struct weir_context *self);

/* The context whose user code this flow of control is in; NULL outside. */
struct weir_context *weir_context_current(void);

/* Enter and leave user code: makes `context` the current one (NULL: none) and returns
 * the one before. A simulation calls it too when it changes fibers. */
struct weir_context *weir_context_swap_current(struct weir_context *context);

/* Forget everything the last execution allocated. */
void weir_context_reset(struct weir_context *self);

/*
 * Park this flow of control; `parking` already stands in its line, if any. WEIR_OK when
 * it was woken by a signal, WEIR_TIMEOUT, WEIR_CANCELLED or WEIR_CLOSED.
 */
WEIR_CHECKED enum weir_status
weir_context_park(struct weir_context *self, struct weir_parking *parking,
                  int64_t deadline_ns, enum weir_cut_short cut)
    WEIR_REQUIRES(weir_executor_role);

#endif
