/*
 * Tests of ward/context.c: panics, clean-ups, guarded calls, and waits inside an action.
 *
 * Most of them put one worker on a trial. What its action, its clean-ups and its
 * listener do is written down as words in the order in which it happens; a clean-up
 * that is told of a panic adds a `!` to its name.
 */
#include "ward/context.h"

#include <sched.h>
#include <stdalign.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/heap.h"
#include "kit/sim/script.h"
#include "kit/test.h"
#include "ward/system.h"
#include "weir/runtime.h"

#define WAIT_LIMIT WEIR_SECONDS(60)

struct trial;

/* The body of the action; the directive is idle unless it says otherwise. */
typedef enum weir_status (*trial_fn)(struct weir_context *context, struct trial *self,
                                     struct weir_error *error);

/* A clean-up with a name. */
struct broom {
    struct trial *trial;
    const char *name;
    const char *panic_text; /* NULL: sweeps without a panic */
};

struct trial {
    enum script_kind kind;
    struct weir_faulty_heap heap;
    struct weir_sim *sim;
    struct weir_executor *executor;
    struct weir_ward *ward;
    struct weir_notifier *bell;
    struct weir_worker *worker;
    struct weir_worker_options options; /* to change before trial_begin() */
    struct weir_listener listener;
    const struct weir_listener *listeners[1];

    trial_fn behave;
    struct weir_context *context; /* of the execution that goes on */
    uint32_t calls;
    _Atomic bool begun; /* an execution has */
    char words[512];
    struct broom brooms[8];
    size_t broom_count;

    uint32_t errors; /* heard by the listener */
    char error_text[WEIR_ERROR_TEXT_SIZE];
    uint32_t ends; /* heard from the ward */
    enum weir_worker_outcome outcome;
    char end_text[WEIR_ERROR_TEXT_SIZE];
};

/* ---- the trial --------------------------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static void note(struct trial *self,
                                                       const char *format, ...)
{
    size_t used = strlen(self->words);
    va_list arguments;

    if (used > 0)
        used += (size_t)snprintf(self->words + used, sizeof self->words - used, " ");
    va_start(arguments, format);
    (void)vsnprintf(self->words + used, sizeof self->words - used, format, arguments);
    va_end(arguments);
}

static void sweep(void *argument, bool panicked)
{
    struct broom *self = argument;

    note(self->trial, "%s%s", self->name, panicked ? "!" : "");
    if (self->panic_text != NULL)
        weir_panic(self->trial->context, "%s", self->panic_text);
}

static struct broom *new_broom(struct trial *self, const char *name)
{
    struct broom *broom = &self->brooms[self->broom_count++ % 8];

    *broom = (struct broom){.trial = self, .name = name};
    return broom;
}

/* Register a clean-up of that name; one without memory shows in the words. */
static void defer(struct weir_context *context, struct trial *self, const char *name)
{
    if (weir_defer(context, sweep, new_broom(self, name)) != WEIR_OK)
        note(self, "no-%s", name);
}

static void defer_panic(struct weir_context *context, struct trial *self,
                        const char *name, const char *text)
{
    struct broom *broom = new_broom(self, name);

    broom->panic_text = text;
    if (weir_defer(context, sweep, broom) != WEIR_OK)
        note(self, "no-%s", name);
}

static enum weir_status try_it(struct weir_context *context, void *state,
                               struct weir_directive *out, struct weir_error *error)
{
    struct trial *self = state;

    (void)out;
    self->calls++;
    self->context = context;
    atomic_store(&self->begun, true);
    return self->behave(context, self, error);
}

static void hear_error(void *state, const char *worker, int64_t elapsed_ns,
                       const char *text, uint32_t failures, int64_t backoff_ns)
{
    struct trial *self = state;

    (void)worker;
    (void)elapsed_ns;
    (void)failures;
    (void)backoff_ns;
    self->errors++;
    (void)snprintf(self->error_text, sizeof self->error_text, "%s", text);
}

static void hear_end(void *state, const struct weir_worker_end *end)
{
    struct trial *self = state;

    self->ends++;
    self->outcome = end->outcome;
    (void)snprintf(self->end_text, sizeof self->end_text, "%s", end->text);
}

/* Panics are retried, but only at the next signal. */
static void trial_open(struct trial *self, enum script_kind kind, trial_fn behave)
{
    struct weir_ward_options ward = {.name = "trial", .on_end = hear_end, .state = self};
    struct weir_executor_options pool;

    memset(self, 0, sizeof *self);
    self->kind = kind;
    self->behave = behave;
    weir_faulty_heap_init(&self->heap);
    if (kind == IN_SIMULATION) {
        struct weir_sim_options sim = {.heap = &self->heap.heap, .seed = 1};

        check_status(weir_sim_create(&sim, &self->sim, NULL), WEIR_OK);
        self->executor = weir_sim_executor(self->sim);
    } else {
        weir_executor_options_init(&pool);
        pool.heap = &self->heap.heap;
        check_status(weir_executor_create(&pool, &self->executor, NULL), WEIR_OK);
    }
    check_status(weir_ward_create(self->executor, &ward, &self->ward, NULL), WEIR_OK);
    check_status(weir_notifier_create(self->executor, &self->bell), WEIR_OK);

    self->listener = (struct weir_listener){.state = self, .on_error = hear_error};
    self->listeners[0] = &self->listener;
    weir_worker_options_init(&self->options);
    self->options.name = "defendant";
    self->options.action = try_it;
    self->options.state = self;
    self->options.notifiers = &self->bell;
    self->options.notifier_count = 1;
    self->options.listeners = self->listeners;
    self->options.listener_count = 1;
    self->options.pace = weir_pace_none();
    self->options.backoff = weir_backoff_none();
    self->options.on_error = WEIR_ON_ERROR_WAIT_FOR_SIGNAL;
    self->options.on_panic = WEIR_ON_PANIC_RETRY;
}

static void trial_begin(struct trial *self)
{
    check_status(weir_ward_spawn(self->ward, &self->options, &self->worker, NULL),
                 WEIR_OK);
}

static struct weir_worker_info trial_read(struct trial *self)
{
    struct weir_worker_info info;

    weir_worker_read(self->worker, &info);
    return info;
}

static bool is_over(enum weir_worker_state state)
{
    return state == WEIR_WORKER_IDLING || state == WEIR_WORKER_ENDED;
}

/* One execution from the signal until the worker idles again, or has ended. */
static void trial_run(struct trial *self)
{
    uint64_t wanted = trial_read(self).executions + 1;
    int64_t limit_ns = weir_system_now_ns() + WAIT_LIMIT;

    weir_notifier_notify_one(self->bell);
    if (self->kind == IN_SIMULATION)
        check(weir_sim_run_until_quiet(self->sim, WEIR_FOREVER));
    for (;;) {
        struct weir_worker_info info = trial_read(self);

        if (info.executions >= wanted && is_over(info.state))
            break;
        check(self->kind == ON_THREADS && weir_system_now_ns() < limit_ns);
        (void)sched_yield();
    }
}

/* Ends everything; nothing may be left. */
static void trial_close(struct trial *self)
{
    check_int(weir_ward_stop(self->ward, WAIT_LIMIT), 0);
    weir_worker_release(self->worker);
    weir_notifier_destroy(self->bell);
    weir_ward_destroy(self->ward);
    if (self->kind == IN_SIMULATION)
        weir_sim_destroy(self->sim);
    else
        weir_executor_destroy(self->executor);
    check_int(self->heap.outstanding, 0);
}

static void trial_hold(struct trial *self, enum script_kind kind, trial_fn behave)
{
    trial_open(self, kind, behave);
    trial_begin(self);
    trial_run(self);
}

/* Run one test body in simulation, on a fiber, and once more on a thread. */
#define ON_FIBERS_AND_THREADS(subject, claim, body)                                      \
    WEIR_TEST(subject, claim)                                                            \
    {                                                                                    \
        body(IN_SIMULATION);                                                             \
    }                                                                                    \
    WEIR_TEST(subject, claim##_on_threads_too)                                           \
    {                                                                                    \
        body(ON_THREADS);                                                                \
    }                                                                                    \
    struct weir_test /* so that the line ends in a semicolon */

/* ---- a panic is an error ----------------------------------------------------------- */

static enum weir_status panic_at_first(struct weir_context *context, struct trial *self,
                                       struct weir_error *error)
{
    (void)error;
    if (self->calls == 1)
        weir_panic(context, "disk %d is gone", 7);
    note(self, "fine");
    return WEIR_OK;
}

static void panic_is_retried(enum script_kind kind)
{
    struct trial trial;
    trial_hold(&trial, kind, panic_at_first);

    check_str(trial.error_text, "panic: disk 7 is gone");
    check_int(trial_read(&trial).failures, 1);
    check_int(trial_read(&trial).failures_in_row, 1);
    check_int(trial.ends, 0);

    trial_run(&trial);

    check_str(trial.words, "fine");
    check_int(trial.errors, 1);
    check_int(trial_read(&trial).executions, 2);
    check_int(trial_read(&trial).failures_in_row, 0);
    trial_close(&trial);
}

ON_FIBERS_AND_THREADS(context, panic_is_an_error_like_any_other_under_retry,
                      panic_is_retried);

static void panic_ends(enum script_kind kind)
{
    struct trial trial;
    trial_open(&trial, kind, panic_at_first);
    trial.options.on_panic = WEIR_ON_PANIC_END;
    trial_begin(&trial);

    trial_run(&trial);

    check_int(weir_ward_stop(trial.ward, WAIT_LIMIT),
              0); /* its thread is through with it */
    check_int(trial_read(&trial).state, WEIR_WORKER_ENDED);
    check_int(trial.calls, 1);
    check_int(trial.ends, 1);
    check_int(trial.outcome, WEIR_WORKER_PANICKED);
    check_str(trial.end_text, "panic: disk 7 is gone");
    check_str(trial.error_text, "panic: disk 7 is gone");
    trial_close(&trial);
}

ON_FIBERS_AND_THREADS(context, panic_ends_the_worker_and_is_reported_under_end,
                      panic_ends);

static enum weir_status panic_at_length(struct weir_context *context, struct trial *self,
                                        struct weir_error *error)
{
    char text[2 * WEIR_ERROR_TEXT_SIZE];

    (void)self;
    (void)error;
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    weir_panic(context, "%s", text);
}

WEIR_TEST(context, panic_text_that_does_not_fit_is_cut)
{
    struct trial trial;
    trial_hold(&trial, IN_SIMULATION, panic_at_length);

    size_t size = strlen(trial.error_text);
    check_int(size, WEIR_ERROR_TEXT_SIZE - 1);
    check(strncmp(trial.error_text, "panic: xxx", 10) == 0);
    check_str(trial.error_text + size - 4, "x...");
    trial_close(&trial);
}

static enum weir_status sleep_then_panic(struct weir_context *context, struct trial *self,
                                         struct weir_error *error)
{
    (void)error;
    defer(context, self, "a");
    note(self, "slept:%s", weir_status_name(weir_sleep(context, MS(5))));
    weir_panic(context, "after the wait");
}

static void panic_after_a_wait(enum script_kind kind)
{
    struct trial trial;
    trial_hold(&trial, kind, sleep_then_panic);

    check_str(trial.words, "slept:OK a!");
    check_str(trial.error_text, "panic: after the wait");
    trial_close(&trial);
}

ON_FIBERS_AND_THREADS(context, panic_env_after_the_action_has_waited, panic_after_a_wait);

/* ---- clean-ups --------------------------------------------------------------------- */

static enum weir_status tidy_and_return(struct weir_context *context, struct trial *self,
                                        struct weir_error *error)
{
    (void)error;
    defer(context, self, "a");
    defer(context, self, "b");
    note(self, "work");
    defer(context, self, "c");
    return WEIR_OK;
}

static enum weir_status tidy_and_fail(struct weir_context *context, struct trial *self,
                                      struct weir_error *error)
{
    (void)tidy_and_return(context, self, error);
    return weir_error_set(error, WEIR_FAILED, "no luck");
}

static enum weir_status tidy_and_panic(struct weir_context *context, struct trial *self,
                                       struct weir_error *error)
{
    (void)tidy_and_return(context, self, error);
    weir_panic(context, "no luck at all");
}

static void cleanups_after_success(enum script_kind kind)
{
    struct trial trial;
    trial_hold(&trial, kind, tidy_and_return);

    check_str(trial.words, "work c b a");
    check_int(trial.errors, 0);
    trial_close(&trial);
}

ON_FIBERS_AND_THREADS(context, cleanups_run_newest_first_after_a_success,
                      cleanups_after_success);

WEIR_TEST(context, cleanups_run_newest_first_after_an_error)
{
    struct trial trial;
    trial_hold(&trial, IN_SIMULATION, tidy_and_fail);

    check_str(trial.words, "work c b a");
    check_str(trial.error_text, "no luck");
    trial_close(&trial);
}

static void cleanups_after_panic(enum script_kind kind)
{
    struct trial trial;
    trial_hold(&trial, kind, tidy_and_panic);

    check_str(trial.words, "work c! b! a!");
    check_str(trial.error_text, "panic: no luck at all");
    trial_close(&trial);
}

ON_FIBERS_AND_THREADS(context, cleanups_run_newest_first_after_a_panic_and_are_told,
                      cleanups_after_panic);

WEIR_TEST(context, cleanups_belong_to_one_execution_only)
{
    struct trial trial;
    trial_hold(&trial, IN_SIMULATION, tidy_and_return);

    trial_run(&trial);

    check_str(trial.words, "work c b a work c b a");
    trial_close(&trial);
}

static enum weir_status panicking_cleanup(struct weir_context *context,
                                          struct trial *self, struct weir_error *error)
{
    (void)error;
    defer(context, self, "a");
    defer_panic(context, self, "b", "cannot tidy up");
    defer(context, self, "c");
    return WEIR_OK;
}

/* The older one is told: by then the execution has ended in a panic. */
WEIR_TEST(context, cleanup_that_panics_spoils_a_success_but_not_the_other_cleanups)
{
    struct trial trial;
    trial_hold(&trial, IN_SIMULATION, panicking_cleanup);

    check_str(trial.words, "c b a!");
    check_str(trial.error_text, "panic: cannot tidy up");
    check_int(trial_read(&trial).failures, 1);
    trial_close(&trial);
}

WEIR_TEST(context, cleanup_that_panics_ends_the_worker_under_end)
{
    struct trial trial;
    trial_open(&trial, IN_SIMULATION, panicking_cleanup);
    trial.options.on_panic = WEIR_ON_PANIC_END;
    trial_begin(&trial);

    trial_run(&trial);

    check_int(trial.outcome, WEIR_WORKER_PANICKED);
    check_str(trial.end_text, "panic: cannot tidy up");
    trial_close(&trial);
}

static enum weir_status two_panicking_cleanups(struct weir_context *context,
                                               struct trial *self,
                                               struct weir_error *error)
{
    (void)error;
    defer(context, self, "a");
    defer_panic(context, self, "b", "the second");
    defer_panic(context, self, "c", "the first");
    return WEIR_OK;
}

WEIR_TEST(context, first_of_several_panicking_cleanups_is_reported)
{
    struct trial trial;
    trial_hold(&trial, IN_SIMULATION, two_panicking_cleanups);

    check_str(trial.words, "c b! a!");
    check_str(trial.error_text, "panic: the first");
    trial_close(&trial);
}

static enum weir_status fail_with_panicking_cleanup(struct weir_context *context,
                                                    struct trial *self,
                                                    struct weir_error *error)
{
    (void)panicking_cleanup(context, self, error);
    return weir_error_set(error, WEIR_FAILED, "the cause");
}

WEIR_TEST(context, cleanup_that_panics_does_not_hide_the_error_before_it)
{
    struct trial trial;
    trial_hold(&trial, IN_SIMULATION, fail_with_panicking_cleanup);

    check_str(trial.words, "c b a");
    check_str(trial.error_text, "the cause");
    check_int(trial.errors, 1);
    trial_close(&trial);
}

static enum weir_status panic_with_panicking_cleanup(struct weir_context *context,
                                                     struct trial *self,
                                                     struct weir_error *error)
{
    (void)panicking_cleanup(context, self, error);
    weir_panic(context, "the cause");
}

WEIR_TEST(context, cleanup_that_panics_does_not_hide_the_panic_before_it)
{
    struct trial trial;
    trial_hold(&trial, IN_SIMULATION, panic_with_panicking_cleanup);

    check_str(trial.words, "c! b! a!");
    check_str(trial.error_text, "panic: the cause");
    trial_close(&trial);
}

/* A clean-up may use the context: here it waits, and registers one more. */
static void wait_and_defer(void *argument, bool panicked)
{
    struct broom *self = argument;

    weir_sleep_through(self->trial->context, MS(3));
    note(self->trial, "%s%s", self->name, panicked ? "!" : "");
    defer(self->trial->context, self->trial, "late");
}

static enum weir_status busy_cleanup(struct weir_context *context, struct trial *self,
                                     struct weir_error *error)
{
    (void)error;
    defer(context, self, "a");
    if (weir_defer(context, wait_and_defer, new_broom(self, "busy")) != WEIR_OK)
        note(self, "no-busy");
    weir_panic(context, "go");
}

static void cleanup_may_wait(enum script_kind kind)
{
    struct trial trial;
    trial_hold(&trial, kind, busy_cleanup);

    check_str(trial.words, "busy! late a!");
    check_str(trial.error_text, "panic: go");
    trial_close(&trial);
}

ON_FIBERS_AND_THREADS(context, cleanup_may_wait_and_register_another, cleanup_may_wait);

/* ---- guarded calls ----------------------------------------------------------------- */

static enum weir_status inner_panics(struct weir_context *context, void *argument,
                                     struct weir_error *error)
{
    struct trial *self = argument;

    (void)error;
    defer(context, self, "in1");
    defer(context, self, "in2");
    weir_panic(context, "inside");
}

static enum weir_status guard_a_panic(struct weir_context *context, struct trial *self,
                                      struct weir_error *error)
{
    struct weir_error caught;
    enum weir_status status;

    (void)error;
    defer(context, self, "out");
    status = weir_guard(context, inner_panics, self, &caught);
    note(self, "%s:%s [%s]", weir_status_name(status), weir_status_name(caught.status),
         caught.text);
    return WEIR_OK;
}

/* The outer clean-up runs at the end of the execution, which has not panicked. */
static void guard_catches(enum script_kind kind)
{
    struct trial trial;
    trial_hold(&trial, kind, guard_a_panic);

    check_str(trial.words, "in2! in1! PANICKED:PANICKED [panic: inside] out");
    check_int(trial.errors, 0);
    trial_close(&trial);
}

ON_FIBERS_AND_THREADS(context, guard_brings_a_panic_back_as_a_status, guard_catches);

static enum weir_status inner_returns(struct weir_context *context, void *argument,
                                      struct weir_error *error)
{
    struct trial *self = argument;
    enum weir_status status = self->calls == 1 ? WEIR_OK : WEIR_TIMEOUT;

    defer(context, self, "in");
    if (status != WEIR_OK)
        return weir_error_set(error, status, "too late");
    return status;
}

static enum weir_status guard_without_panic(struct weir_context *context,
                                            struct trial *self, struct weir_error *error)
{
    struct weir_error passed = {.status = WEIR_BUSY, .text = "left over"};
    enum weir_status status;

    (void)error;
    status = weir_guard(context, inner_returns, self, &passed);
    note(self, "%s [%s]", weir_status_name(status), passed.text);
    return WEIR_OK;
}

WEIR_TEST(context, guard_passes_status_and_text_on)
{
    struct trial trial;
    trial_hold(&trial, IN_SIMULATION, guard_without_panic);
    trial_run(&trial);

    check_str(trial.words, "in OK [] in TIMEOUT [too late]");
    trial_close(&trial);
}

static enum weir_status guard_without_error(struct weir_context *context,
                                            struct trial *self, struct weir_error *error)
{
    (void)error;
    note(self, "%s", weir_status_name(weir_guard(context, inner_returns, self, NULL)));
    note(self, "%s", weir_status_name(weir_guard(context, inner_panics, self, NULL)));
    return WEIR_OK;
}

WEIR_TEST(context, guard_needs_no_error_to_write_to)
{
    struct trial trial;
    trial_hold(&trial, IN_SIMULATION, guard_without_error);

    check_str(trial.words, "in OK in2! in1! PANICKED");
    trial_close(&trial);
}

static enum weir_status inner_cleanup_panics(struct weir_context *context, void *argument,
                                             struct weir_error *error)
{
    struct trial *self = argument;

    (void)error;
    defer_panic(context, self, "in", "tidy");
    return WEIR_OK;
}

static enum weir_status guard_a_cleanup(struct weir_context *context, struct trial *self,
                                        struct weir_error *error)
{
    struct weir_error caught;
    enum weir_status status = weir_guard(context, inner_cleanup_panics, self, &caught);

    (void)error;
    note(self, "%s [%s]", weir_status_name(status), caught.text);
    return WEIR_OK;
}

WEIR_TEST(context, guard_catches_the_panic_of_a_cleanup_too)
{
    struct trial trial;
    trial_hold(&trial, IN_SIMULATION, guard_a_cleanup);

    check_str(trial.words, "in PANICKED [panic: tidy]");
    check_int(trial.errors, 0);
    trial_close(&trial);
}

/* Level 1 is the outermost. The innermost panics; each level's clean-up runs when its own
 * guard returns, and only the innermost is told of a panic. */
static enum weir_status descend(struct weir_context *context, void *argument,
                                struct weir_error *error)
{
    static const char *const names[] = {"L0", "L1", "L2", "L3"};
    struct trial *self = argument;
    uint32_t level = self->calls++;
    enum weir_status status;

    (void)error;
    defer(context, self, names[level]);
    if (level == 3)
        weir_panic(context, "at the bottom");
    status = weir_guard(context, descend, self, NULL);
    note(self, "%s", weir_status_name(status));
    return WEIR_OK;
}

static enum weir_status descend_from_zero(struct weir_context *context,
                                          struct trial *self, struct weir_error *error)
{
    self->calls = 0;
    return descend(context, self, error);
}

WEIR_TEST(context, panic_goes_to_the_innermost_guard_only)
{
    struct trial trial;
    trial_hold(&trial, IN_SIMULATION, descend_from_zero);

    check_str(trial.words, "L3! PANICKED L2 OK L1 OK L0");
    check_int(trial.errors, 0);
    trial_close(&trial);
}

static enum weir_status guard_then_panic(struct weir_context *context, struct trial *self,
                                         struct weir_error *error)
{
    (void)error;
    defer(context, self, "out");
    if (weir_guard(context, inner_panics, self, NULL) == WEIR_PANICKED)
        weir_panic(context, "outside");
    return WEIR_OK;
}

WEIR_TEST(context, panic_after_a_guard_goes_to_the_boundary)
{
    struct trial trial;
    trial_hold(&trial, IN_SIMULATION, guard_then_panic);

    check_str(trial.words, "in2! in1! out!");
    check_str(trial.error_text, "panic: outside");
    trial_close(&trial);
}

static enum weir_status wait_and_panic(struct weir_context *context, void *argument,
                                       struct weir_error *error)
{
    (void)argument;
    (void)error;
    weir_sleep_through(context, MS(2));
    weir_panic(context, "after a wait");
}

static enum weir_status guard_many_times(struct weir_context *context, struct trial *self,
                                         struct weir_error *error)
{
    uint32_t caught = 0;

    (void)error;
    for (int i = 0; i < 100; i++) {
        if (weir_guard(context, wait_and_panic, self, NULL) == WEIR_PANICKED)
            caught++;
    }
    note(self, "%u", caught);
    return WEIR_OK;
}

WEIR_TEST(context, guard_catches_again_and_again)
{
    struct trial trial;
    trial_hold(&trial, IN_SIMULATION, guard_many_times);

    check_str(trial.words, "100");
    trial_close(&trial);
}

/* ---- memory ------------------------------------------------------------------------ */

static enum weir_status use_memory(struct weir_context *context, struct trial *self,
                                   struct weir_error *error)
{
    for (size_t size = 1; size < 500; size += 37) {
        unsigned char *bytes = weir_context_alloc(context, size);

        if (bytes == NULL || (uintptr_t)bytes % alignof(max_align_t) != 0)
            return weir_error_set(error, WEIR_NO_MEMORY, "size %zu", size);
        memset(bytes, 0xa5, size);
    }
    self->broom_count = 0;
    self->words[0] = '\0';
    defer(context, self, "a");
    defer(context, self, "b");
    if (self->calls % 3 == 0)
        weir_panic(context, "every third time");
    return WEIR_OK;
}

/* Warm after the first two; from then on the heap is not asked at all. */
static void memory_does_not_grow(enum script_kind kind)
{
    enum { EXECUTIONS = 10000 };
    struct trial trial;
    trial_hold(&trial, kind, use_memory);
    if (kind == IN_SIMULATION)
        trial_run(&trial);
    int64_t outstanding = trial.heap.outstanding;
    uint64_t allocations = trial.heap.allocations;

    while (trial.calls < EXECUTIONS)
        trial_run(&trial);

    check_int(trial_read(&trial).failures, EXECUTIONS / 3);
    if (kind == IN_SIMULATION) {
        check_int(trial.heap.outstanding, outstanding);
        check_int(trial.heap.allocations, allocations);
    }
    /* On threads each of the four has an arena, which takes two blocks to get warm. */
    check_in_range(trial.heap.outstanding, outstanding, outstanding + 4);
    check_in_range(trial.heap.allocations, allocations, allocations + 4 * 8);
    trial_close(&trial);
}

ON_FIBERS_AND_THREADS(context, memory_of_an_execution_is_used_again_by_the_next,
                      memory_does_not_grow);

static enum weir_status ask_for_too_much(struct weir_context *context, struct trial *self,
                                         struct weir_error *error)
{
    size_t limit = (size_t)64 * 1024 * 1024;

    (void)error;
    note(self, "%d", weir_context_alloc(context, limit + 1) != NULL);
    note(self, "%d", weir_context_alloc(context, SIZE_MAX) != NULL);
    note(self, "%d", weir_context_alloc(context, limit) != NULL);
    note(self, "%d", weir_context_alloc(context, 1) != NULL);
    return WEIR_OK;
}

/* The limit is that of one execution: the second one gets as much as the first. */
WEIR_TEST(context, memory_is_bounded_for_each_execution)
{
    struct trial trial;
    trial_hold(&trial, IN_SIMULATION, ask_for_too_much);
    trial_run(&trial);

    check_str(trial.words, "0 0 1 0 0 0 1 0");
    trial_close(&trial);
}

static enum weir_status run_out_of_memory(struct weir_context *context,
                                          struct trial *self, struct weir_error *error)
{
    enum weir_status status;

    (void)error;
    weir_faulty_heap_fail_at(&self->heap, 1);
    status = weir_defer(context, sweep, new_broom(self, "never"));
    note(self, "%s", weir_status_name(status));
    weir_faulty_heap_fail_at(&self->heap, 0);
    defer(context, self, "a");
    return WEIR_OK;
}

WEIR_TEST(context, defer_without_memory_registers_nothing)
{
    struct trial trial;
    trial_hold(&trial, IN_SIMULATION, run_out_of_memory);

    check_str(trial.words, "NO_MEMORY a");
    trial_close(&trial);
}

static enum weir_status alloc_out_of_memory(struct weir_context *context,
                                            struct trial *self, struct weir_error *error)
{
    (void)error;
    weir_faulty_heap_fail_at(&self->heap, 1);
    note(self, "%d", weir_context_alloc(context, 10) != NULL);
    weir_faulty_heap_fail_at(&self->heap, 0);
    note(self, "%d", weir_context_alloc(context, 10) != NULL);
    return WEIR_OK;
}

WEIR_TEST(context, alloc_without_memory_gives_null_and_works_again_later)
{
    struct trial trial;
    trial_hold(&trial, IN_SIMULATION, alloc_out_of_memory);

    check_str(trial.words, "0 1");
    trial_close(&trial);
}

/* ---- permits ----------------------------------------------------------------------- */

static void panic_returns_permit(enum script_kind kind)
{
    struct weir_gate_info info;
    struct weir_gate *gate;
    struct trial trial;
    trial_open(&trial, kind, panic_at_first);
    check_status(weir_gate_create(trial.executor, 1, &gate, NULL), WEIR_OK);
    trial.options.shared = gate;
    trial_begin(&trial);

    trial_run(&trial);

    weir_gate_read(gate, &info);
    check_int(info.inside, 0);
    check_int(info.admitted_total, 1);
    trial_run(&trial); /* there is a permit for the next time */
    check_str(trial.words, "fine");
    weir_gate_destroy(gate);
    trial_close(&trial);
}

ON_FIBERS_AND_THREADS(context, panic_gives_the_permit_back, panic_returns_permit);

/* One permit; the first one inside panics after 10 ms while three siblings stand in
 * line. */
static void panic_before_a_line(enum weir_on_panic on_panic)
{
    enum { SIBLINGS = 3 };
    struct script script;
    script_open(&script, IN_SIMULATION);
    struct weir_gate *gate = script_gate(&script, 1);
    struct weir_notifier *first = script_bell(&script);
    struct weir_notifier *rest = script_notifier(&script);
    struct actor bad = {ACTS(ACT(ACT_PANIC, .work_ns = MS(10)))};
    struct actor good[SIBLINGS];
    struct weir_worker_options options = script_options(&bad);
    struct weir_gate_info info;
    const struct act work[] = {ACT(ACT_IDLE, .work_ns = MS(5))};
    options.on_panic = on_panic;
    options.shared = gate;
    options.notifiers = &first;
    options.notifier_count = 1;
    script_spawn(&script, &options);
    for (size_t i = 0; i < SIBLINGS; i++) {
        good[i] = (struct actor){.acts = work, .act_count = 1, .name = "good"};
        options = script_options(&good[i]);
        options.shared = gate;
        options.notifiers = &rest;
        options.notifier_count = 1;
        script_spawn(&script, &options);
    }

    weir_sim_run_until(script.sim, MS(1));
    weir_notifier_notify_all(rest);
    weir_sim_run_until(script.sim, MS(2));
    weir_gate_read(gate, &info);
    check_int(info.waiting, SIBLINGS);
    check(weir_sim_run_until_quiet(script.sim, WEIR_FOREVER));

    /* The permit was handed over at once, and from one sibling to the next. */
    check_int(weir_sim_now(script.sim), MS(25));
    for (size_t i = 0; i < SIBLINGS; i++)
        check_int(good[i].calls, 1);
    weir_gate_read(gate, &info);
    check_int(info.inside, 0);
    check_int(info.admitted_total, 1 + SIBLINGS);
    check_int(weir_ward_count(script.ward), SIBLINGS + (on_panic == WEIR_ON_PANIC_RETRY));
    script_close(&script);
}

WEIR_TEST(context, panic_hands_the_permit_to_the_sibling_in_line)
{
    panic_before_a_line(WEIR_ON_PANIC_RETRY);
}

WEIR_TEST(context, panic_that_ends_the_worker_hands_the_permit_to_the_sibling_in_line)
{
    panic_before_a_line(WEIR_ON_PANIC_END);
}

/* ---- waiting ----------------------------------------------------------------------- */

static enum weir_status sleep_an_hour(struct weir_context *context, struct trial *self,
                                      struct weir_error *error)
{
    (void)error;
    note(self, "%s", weir_status_name(weir_sleep(context, WEIR_HOURS(1))));
    note(self, "%d", weir_context_cancelled(context));
    note(self, "%s", weir_status_name(weir_sleep(context, WEIR_HOURS(1))));
    return WEIR_OK;
}

WEIR_TEST(context, sleep_is_cut_short_at_once_by_cancel)
{
    struct trial trial;
    trial_open(&trial, IN_SIMULATION, sleep_an_hour);
    trial_begin(&trial);
    weir_notifier_notify_one(trial.bell);
    weir_sim_run_until(trial.sim, WEIR_MINUTES(7));
    check_str(trial.words, "");

    weir_worker_cancel(trial.worker);
    check(weir_sim_run_until_quiet(trial.sim, WEIR_FOREVER));

    check_str(trial.words, "CANCELLED 1 CANCELLED");
    check_int(weir_sim_now(trial.sim), WEIR_MINUTES(7));
    check_int(trial.ends, 1);
    trial_close(&trial);
}

/* stop() returns long before the hour is over, or the test would not end in time. */
WEIR_TEST(context, sleep_is_cut_short_at_once_by_stop_on_threads)
{
    int64_t limit_ns = weir_system_now_ns() + WAIT_LIMIT;
    struct trial trial;
    trial_open(&trial, ON_THREADS, sleep_an_hour);
    trial_begin(&trial);
    weir_notifier_notify_one(trial.bell);
    while (!atomic_load(&trial.begun)) {
        check(weir_system_now_ns() < limit_ns);
        (void)sched_yield();
    }

    check_int(weir_ward_stop(trial.ward, WAIT_LIMIT), 0);

    check_str(trial.words, "CANCELLED 1 CANCELLED");
    trial_close(&trial);
}

static enum weir_status sleep_through_an_hour(struct weir_context *context,
                                              struct trial *self,
                                              struct weir_error *error)
{
    (void)error;
    weir_sleep_through(context, WEIR_HOURS(1));
    note(self, "%d", weir_context_cancelled(context));
    weir_sleep_through(context, WEIR_HOURS(1));
    note(self, "through");
    return WEIR_OK;
}

WEIR_TEST(context, sleep_through_is_not_cut_short)
{
    struct trial trial;
    trial_open(&trial, IN_SIMULATION, sleep_through_an_hour);
    trial_begin(&trial);
    weir_notifier_notify_one(trial.bell);
    weir_sim_run_until(trial.sim, WEIR_MINUTES(7));

    weir_worker_cancel(trial.worker);
    check(weir_sim_run_until_quiet(trial.sim, WEIR_FOREVER));

    check_str(trial.words, "1 through");
    check_int(weir_sim_now(trial.sim), WEIR_HOURS(2));
    check_int(trial.ends, 1);
    trial_close(&trial);
}

static enum weir_status sleep_no_time(struct weir_context *context, struct trial *self,
                                      struct weir_error *error)
{
    int64_t before_ns = weir_context_now(context);

    (void)error;
    note(self, "%s", weir_status_name(weir_sleep(context, 0)));
    note(self, "%s", weir_status_name(weir_sleep(context, -WEIR_HOURS(1))));
    note(self, "%s", weir_status_name(weir_sleep(context, INT64_MIN)));
    weir_sleep_through(context, -1);
    note(self, "%lld", (long long)(weir_context_now(context) - before_ns));
    return WEIR_OK;
}

WEIR_TEST(context, sleep_of_no_time_or_less_is_over_at_once)
{
    struct trial trial;
    trial_hold(&trial, IN_SIMULATION, sleep_no_time);

    check_str(trial.words, "OK OK OK 0");
    trial_close(&trial);
}

static enum weir_status sleep_a_little(struct weir_context *context, struct trial *self,
                                       struct weir_error *error)
{
    int64_t before_ns = weir_context_now(context);

    (void)error;
    note(self, "%s", weir_status_name(weir_sleep(context, MS(5))));
    weir_sleep_through(context, MS(5));
    note(self, "%d", weir_context_now(context) - before_ns >= MS(10));
    return WEIR_OK;
}

static void sleep_takes_its_time(enum script_kind kind)
{
    struct trial trial;
    trial_hold(&trial, kind, sleep_a_little);

    check_str(trial.words, "OK 1");
    if (kind == IN_SIMULATION)
        check_int(weir_sim_now(trial.sim), MS(10));
    trial_close(&trial);
}

ON_FIBERS_AND_THREADS(context, sleep_never_returns_early, sleep_takes_its_time);

static enum weir_status cancel_oneself(struct weir_context *context, struct trial *self,
                                       struct weir_error *error)
{
    (void)error;
    note(self, "%s", weir_worker_name(weir_context_worker(context)));
    note(self, "%d", weir_context_cancelled(context));
    weir_worker_cancel(weir_context_worker(context));
    note(self, "%d", weir_context_cancelled(context));
    note(self, "%s", weir_status_name(weir_sleep(context, WEIR_HOURS(1))));
    return WEIR_OK;
}

WEIR_TEST(context, action_may_cancel_its_own_worker)
{
    struct trial trial;
    trial_hold(&trial, IN_SIMULATION, cancel_oneself);

    check_str(trial.words, "defendant 0 1 CANCELLED");
    check_int(weir_sim_now(trial.sim), 0);
    check_int(trial.outcome, WEIR_WORKER_FINISHED);
    check_int(trial.ends, 1);
    trial_close(&trial);
}

/* ---- several at once --------------------------------------------------------------- */

/* Many are inside at the same time, each with its own clean-ups and its own text. */
struct victim {
    uint32_t number;
    uint32_t swept;
    uint32_t wrong;
};

static void sweep_victim(void *argument, bool panicked)
{
    struct victim *self = argument;

    self->swept++;
    if (!panicked)
        self->wrong++;
}

static enum weir_status fall(struct weir_context *context, void *state,
                             struct weir_directive *out, struct weir_error *error)
{
    struct victim *self = state;

    (void)out;
    (void)error;
    if (weir_defer(context, sweep_victim, self) != WEIR_OK)
        self->wrong++;
    weir_sleep_through(context, MS(1));
    if (weir_defer(context, sweep_victim, self) != WEIR_OK)
        self->wrong++;
    weir_sleep_through(context, MS(self->number % 3));
    weir_panic(context, "victim %u", self->number);
}

static void hear_victim(void *state, const struct weir_worker_end *end)
{
    uint32_t *matches = state;
    unsigned in_name = 0;
    unsigned in_text = 1;

    if (sscanf(end->worker, "victim-%u", &in_name) == 1 &&
        sscanf(end->text, "panic: victim %u", &in_text) == 1 && in_name == in_text)
        ++*matches;
}

WEIR_TEST(context, panics_of_many_fibers_do_not_mix)
{
    enum { VICTIMS = 100 };
    static struct victim victims[VICTIMS];
    uint32_t matches = 0;
    struct weir_ward_options ward_options = {
        .name = "victims", .on_end = hear_victim, .state = &matches};
    struct weir_worker_options options;
    struct weir_sim_options sim_options = {.seed = 3};
    struct weir_sim *sim;
    struct weir_ward *ward;
    struct weir_notifier *bell;
    char name[32];
    check_status(weir_sim_create(&sim_options, &sim, NULL), WEIR_OK);
    check_status(weir_ward_create(weir_sim_executor(sim), &ward_options, &ward, NULL),
                 WEIR_OK);
    check_status(weir_notifier_create(weir_sim_executor(sim), &bell), WEIR_OK);
    weir_worker_options_init(&options);
    options.name = name;
    options.action = fall;
    options.notifiers = &bell;
    options.notifier_count = 1;
    for (uint32_t i = 0; i < VICTIMS; i++) {
        victims[i] = (struct victim){.number = i};
        (void)snprintf(name, sizeof name, "victim-%u", i);
        options.state = &victims[i];
        check_status(weir_ward_spawn(ward, &options, NULL, NULL), WEIR_OK);
    }

    check(weir_sim_run_until_quiet(sim, WEIR_FOREVER));
    weir_notifier_notify_all(bell);
    check(weir_sim_run_until_quiet(sim, WEIR_FOREVER));

    check_int(matches, VICTIMS);
    check_int(weir_ward_count(ward), 0);
    for (uint32_t i = 0; i < VICTIMS; i++) {
        check_int(victims[i].swept, 2);
        check_int(victims[i].wrong, 0);
    }
    weir_notifier_destroy(bell);
    weir_ward_destroy(ward);
    weir_sim_destroy(sim);
}
