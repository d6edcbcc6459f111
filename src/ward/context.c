/*
 * context.c - panics, clean-ups and waits of an execution.
 *
 * A boundary is a setjmp() on the stack of the code that calls user code. weir_panic()
 * jumps to the innermost one of its own flow of control, which is checked: a jump to
 * another stack would be the end of both.
 *
 * Clean-ups are kept in the execution's arena, not on the stack that a panic leaves
 * behind. Each runs inside a boundary of its own, so one that panics does not keep the
 * others from running.
 */
#include "ward/context.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/arith.h"
#include "base/assert.h"
#include "ward/wait.h"
#include "ward/worker.h"

/* More in one execution is a leak, not a need. */
#define ARENA_SIZE_MAX ((size_t)64 * 1024 * 1024)

struct weir_boundary {
    jmp_buf target;
    struct weir_boundary *outer;
    struct weir_cleanup *outer_cleanups;
};

struct weir_cleanup {
    struct weir_cleanup *older;
    weir_cleanup_fn run;
    void *argument;
    bool panicked;
};

static _Thread_local struct weir_context *current;

static enum weir_status run_cleanups(struct weir_context *self, enum weir_status status,
                                     struct weir_error *error);
static enum weir_status call(struct weir_context *self, weir_guarded_fn body,
                             void *argument, struct weir_error *error);

void weir_context_init(struct weir_context *self, struct weir_executor *executor)
{
    *self = (struct weir_context){.executor = executor};
    weir_arena_init(&self->arena, executor->heap, ARENA_SIZE_MAX);
}

void weir_context_fini(struct weir_context *self)
{
    weir_arena_fini(&self->arena);
}

struct weir_context *weir_context_current(void)
{
    return current;
}

struct weir_context *weir_context_swap_current(struct weir_context *context)
{
    struct weir_context *before = current;

    current = context;
    return before;
}

void weir_context_reset(struct weir_context *self)
{
    weir_arena_reset(&self->arena);
}

bool weir_context_cancelled(const struct weir_context *self)
{
    return weir_worker_cancelled(self->worker);
}

int64_t weir_context_now(const struct weir_context *self)
{
    return weir_executor_now(self->executor);
}

struct weir_worker *weir_context_worker(const struct weir_context *self)
{
    return self->worker;
}

void *weir_context_alloc(struct weir_context *self, size_t size)
{
    return weir_arena_alloc(&self->arena, size);
}

static enum weir_status sleep_until(struct weir_context *self, int64_t deadline_ns,
                                    enum weir_cut_short cut)
{
    struct weir_parking parking;
    enum weir_status status;

    weir_parking_init(&parking, self->executor, NULL);
    weir_executor_lock(self->executor);
    status = weir_context_park(self, &parking, deadline_ns, cut);
    weir_executor_unlock(self->executor);
    return status == WEIR_TIMEOUT ? WEIR_OK : status;
}

enum weir_status weir_sleep(struct weir_context *self, int64_t duration_ns)
{
    return sleep_until(self, weir_sat_add_i64(weir_context_now(self), duration_ns),
                       WEIR_CUT_SHORT_BY_CANCEL);
}

void weir_sleep_through(struct weir_context *self, int64_t duration_ns)
{
    (void)!sleep_until(self, weir_sat_add_i64(weir_context_now(self), duration_ns),
                       WEIR_NOT_CUT_SHORT);
}

enum weir_status weir_context_park(struct weir_context *self,
                                   struct weir_parking *parking, int64_t deadline_ns,
                                   enum weir_cut_short cut)
{
    enum weir_wake why;

    WEIR_ASSERT(self == current); /* waiting is for the action itself */
    WEIR_ASSERT(self->executor == parking->executor);
    if (cut == WEIR_CUT_SHORT_BY_CANCEL) {
        weir_worker_set_parking(self->worker, parking);
        if (weir_worker_cancelled(self->worker))
            weir_parking_wake(parking, WEIR_WOKEN_BY_CANCELLING);
    }
    why = weir_parking_wait(parking, deadline_ns);
    weir_worker_set_parking(self->worker, NULL);

    switch (why) {
    case WEIR_WOKEN_BY_SIGNAL:
        return WEIR_OK;
    case WEIR_WOKEN_BY_CLOSING:
        return WEIR_CLOSED;
    case WEIR_WOKEN_BY_CANCELLING:
        return WEIR_CANCELLED;
    case WEIR_WOKEN_BY_TIME:
        break;
    }
    return WEIR_TIMEOUT;
}

enum weir_status weir_defer(struct weir_context *self, weir_cleanup_fn cleanup,
                            void *argument)
{
    struct weir_cleanup *entry = weir_arena_alloc(&self->arena, sizeof *entry);

    if (entry == NULL)
        return WEIR_NO_MEMORY;
    *entry = (struct weir_cleanup){
        .older = self->cleanups,
        .run = cleanup,
        .argument = argument,
    };
    self->cleanups = entry;
    return WEIR_OK;
}

void weir_panic(struct weir_context *self, const char *format, ...)
{
    va_list arguments;

    WEIR_ASSERT(self == current);
    WEIR_ASSERT(self->boundary != NULL);
    va_start(arguments, format);
    (void)vsnprintf(self->panic_text, sizeof self->panic_text, format, arguments);
    va_end(arguments);
    _longjmp(self->boundary->target, 1);
}

enum weir_status weir_guard(struct weir_context *self, weir_guarded_fn body,
                            void *argument, struct weir_error *error)
{
    struct weir_error scratch;

    WEIR_ASSERT(self == current);
    if (error == NULL)
        error = &scratch;
    weir_error_clear(error);
    return call(self, body, argument, error);
}

/* The one place that calls user code. */
static enum weir_status call(struct weir_context *self, weir_guarded_fn body,
                             void *argument, struct weir_error *error)
{
    struct weir_boundary here; /* not zeroed: the target is large */
    enum weir_status status;

    here.outer = self->boundary;
    here.outer_cleanups = self->cleanups;
    self->boundary = &here;
    self->cleanups = NULL;
    if (_setjmp(here.target) == 0)
        status = body(self, argument, error);
    else
        status = weir_error_set(error, WEIR_PANICKED, "panic: %s", self->panic_text);

    self->boundary = here.outer;
    status = run_cleanups(self, status, error);
    self->cleanups = here.outer_cleanups;
    return status;
}

static enum weir_status run_cleanup(struct weir_context *self, void *argument,
                                    struct weir_error *error)
{
    struct weir_cleanup *cleanup = argument;

    (void)self;
    (void)error;
    cleanup->run(cleanup->argument, cleanup->panicked);
    return WEIR_OK;
}

/* Newest first. The first thing that went wrong is what is reported. */
static enum weir_status run_cleanups(struct weir_context *self, enum weir_status status,
                                     struct weir_error *error)
{
    while (self->cleanups != NULL) {
        struct weir_cleanup *cleanup = self->cleanups;
        struct weir_error trouble;

        self->cleanups = cleanup->older;
        cleanup->panicked = status == WEIR_PANICKED;
        weir_error_clear(&trouble);
        if (call(self, run_cleanup, cleanup, &trouble) == WEIR_PANICKED &&
            status == WEIR_OK) {
            status = WEIR_PANICKED;
            *error = trouble;
        }
    }
    return status;
}
