/*
 * worker.c - the loop of a worker, cut at every point where it waits.
 *
 * Written as a thread, a worker would be: wait; take a permit; execute; decide how to
 * wait. Here each wait is a state, and whatever ends it calls admit(), which takes the
 * permit or stands in line for it, which leads to the track, from which a thread or the
 * simulation takes it to weir_worker_run(), which ends in settle(): the next wait. No
 * step allocates anything, so none can fail.
 *
 *   I1  the timer is armed only in PACING, BACKING_OFF and SLEEPING
 *   I2  it stands in lines of notifiers only in IDLING and SLEEPING
 *   I3  it stands in lines of gates only in QUEUED
 *   I4  it holds a permit only in READY and RUNNING
 */
#include "ward/worker.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/arith.h"
#include "base/assert.h"
#include "base/heap.h"
#include "base/no_memory.h"
#include "base/random.h"
#include "ward/bulkhead.h"
#include "ward/context.h"
#include "ward/executor.h"
#include "ward/gate.h"
#include "ward/notifier.h"
#include "ward/pace.h"
#include "ward/wait.h"
#include "ward/ward.h"
#include "ward/worker_options.h"

enum { GATES_MAX = 2 };

struct outcome;

struct weir_worker {
    struct weir_executor *executor; /* kept alive by the ward */
    struct weir_ward *ward;         /* a reference until it has ended */
    _Atomic uint32_t references;
    _Atomic bool cancelled;

    /* fixed */
    weir_action_fn action;
    void *state;
    const char *name; /* behind this struct, as are the three lists */
    const struct weir_listener **listeners;
    struct weir_notifier **notifiers;
    struct weir_wait *ears; /* one place in line per notifier */
    size_t listener_count;
    size_t notifier_count;
    enum weir_on_error on_error;
    enum weir_on_panic on_panic;
    enum weir_worker_class worker_class;

    /* owned by the flow of control that runs it; not read while it waits */
    struct weir_pacer pacer;
    struct weir_bulkhead bulkhead;
    struct weir_directive directive; /* the last one, without its report */
    int64_t executed_ns;             /* when the last execution began */
    bool started;
    bool failed;   /* the last execution did */
    bool panicked; /* ... and that was the end */

    /* guarded by the executor's lock */
    struct weir_list in_ward;
    struct weir_list in_track;
    enum weir_worker_state now;
    struct weir_timer timer;
    struct weir_wait places[GATES_MAX]; /* in the lines of shared and guaranteed */
    struct weir_gate *permit;           /* whose permit it holds */
    struct weir_parking *parking;       /* where its action waits */
    bool seized;                        /* its end runs: it is in no track */
    uint64_t executions;
    uint64_t failures;
    uint32_t failures_in_row;
};

static void move(struct weir_worker *self, enum weir_worker_state to)
    WEIR_REQUIRES(weir_executor_role);
static void settle(struct weir_worker *self, int64_t now_ns)
    WEIR_REQUIRES(weir_executor_role);
static void wait_pace(struct weir_worker *self, int64_t now_ns)
    WEIR_REQUIRES(weir_executor_role);
static void wait_sleep(struct weir_worker *self, int64_t now_ns)
    WEIR_REQUIRES(weir_executor_role);
static void wait_backoff(struct weir_worker *self, int64_t now_ns)
    WEIR_REQUIRES(weir_executor_role);
static void after_backoff(struct weir_worker *self) WEIR_REQUIRES(weir_executor_role);
static bool take_signal(struct weir_worker *self) WEIR_REQUIRES(weir_executor_role);
static void listen(struct weir_worker *self) WEIR_REQUIRES(weir_executor_role);
static void admit(struct weir_worker *self) WEIR_REQUIRES(weir_executor_role);
static void make_ready(struct weir_worker *self) WEIR_REQUIRES(weir_executor_role);
static void leave_lines(struct weir_worker *self) WEIR_REQUIRES(weir_executor_role);
static void give_permit_back(struct weir_worker *self) WEIR_REQUIRES(weir_executor_role);
static void finish(struct weir_worker *self, struct weir_context *context,
                   const struct outcome *outcome) WEIR_REQUIRES(weir_executor_role);
static void end(struct weir_worker *self) WEIR_REQUIRES(weir_executor_role);
static void time_is_up(struct weir_timer *timer);
static void hear(struct weir_wait *ear, enum weir_wake why);
static void leave_line(struct weir_wait *place, enum weir_wake why);

/* ---- making one -------------------------------------------------------------------- */

/* One block: the struct, then the places in line, the two lists, and the name. */
static struct weir_worker *allocate(const struct weir_executor *executor,
                                    const struct weir_worker_options *options)
{
    size_t ears_size = options->notifier_count * sizeof(struct weir_wait);
    size_t notifiers_size = options->notifier_count * sizeof(struct weir_notifier *);
    size_t listeners_size = options->listener_count * sizeof(struct weir_listener *);
    size_t name_size = strlen(options->name) + 1;
    char *behind;
    struct weir_worker *self =
        weir_heap_zalloc(executor->heap, sizeof *self + ears_size + notifiers_size +
                                             listeners_size + name_size);

    if (self == NULL)
        return NULL;
    behind = (char *)(self + 1);
    self->ears = (struct weir_wait *)(void *)behind;
    behind += ears_size;
    self->notifiers = (struct weir_notifier **)(void *)behind;
    behind += notifiers_size;
    self->listeners = (const struct weir_listener **)(void *)behind;
    behind += listeners_size;
    memcpy(behind, options->name, name_size);
    self->name = behind;
    return self;
}

static void take_lists(struct weir_worker *self,
                       const struct weir_worker_options *options)
{
    self->listener_count = options->listener_count;
    for (size_t i = 0; i < options->listener_count; i++)
        self->listeners[i] = options->listeners[i];

    self->notifier_count = options->notifier_count;
    for (size_t i = 0; i < options->notifier_count; i++) {
        self->notifiers[i] = options->notifiers[i];
        weir_notifier_retain(self->notifiers[i]);
        weir_wait_init(&self->ears[i], self, self->notifiers[i], hear);
    }
}

static void take_limits(struct weir_worker *self,
                        const struct weir_worker_options *options)
{
    uint64_t jitter_seed =
        weir_mix_u64(self->executor->seed ^ weir_hash_text(self->name));

    weir_pacer_init(&self->pacer, &options->pace);
    weir_bulkhead_init(&self->bulkhead, &options->backoff, jitter_seed);
    self->bulkhead.shared = options->shared;
    self->bulkhead.guaranteed = options->guaranteed;
    for (size_t i = 0; i < GATES_MAX; i++) {
        struct weir_gate *gate = weir_worker_gate(self, i);

        if (gate != NULL)
            weir_gate_retain(gate);
        weir_wait_init(&self->places[i], self, gate, leave_line);
    }
    if (options->failures_initial > 0) { /* the floor depends on the last count only */
        self->bulkhead.failures = options->failures_initial - 1;
        weir_bulkhead_escalate(&self->bulkhead);
    }
    self->failed = options->failures_initial > 0;
    self->failures_in_row = self->bulkhead.failures;
}

enum weir_status weir_worker_create(struct weir_ward *ward,
                                    struct weir_executor *executor,
                                    const struct weir_worker_options *options,
                                    struct weir_worker **out, struct weir_error *error)
{
    enum weir_status status = weir_worker_options_check(options, executor, error);
    struct weir_worker *self;

    *out = NULL;
    if (status != WEIR_OK)
        return status;
    self = allocate(executor, options);
    if (self == NULL)
        return weir_no_memory(error, NULL);

    weir_ward_retain(ward);
    self->executor = executor;
    self->ward = ward;
    self->action = options->action;
    self->state = options->state;
    self->on_error = options->on_error;
    self->on_panic = options->on_panic;
    self->worker_class = options->worker_class;
    self->directive = weir_idle();
    self->now = WEIR_WORKER_STARTING;
    atomic_init(&self->references, 1);
    weir_list_init(&self->in_ward);
    weir_list_init(&self->in_track);
    weir_timer_init(&self->timer, time_is_up);
    take_lists(self, options);
    take_limits(self, options);
    *out = self;
    return WEIR_OK;
}

void weir_worker_retain(struct weir_worker *self)
{
    atomic_fetch_add(&self->references, 1);
}

void weir_worker_release(struct weir_worker *self)
{
    struct weir_ward *ward;

    if (self == NULL || atomic_fetch_sub(&self->references, 1) != 1)
        return;
    ward = self->ward;
    for (size_t i = 0; i < self->notifier_count; i++)
        weir_notifier_destroy(self->notifiers[i]);
    for (size_t i = 0; i < GATES_MAX; i++)
        weir_gate_destroy(weir_worker_gate(self, i));
    weir_heap_free(self->executor->heap, self);
    weir_ward_release(ward);
}

/* ---- reading and asking ------------------------------------------------------------ */

void weir_worker_cancel(struct weir_worker *self)
{
    weir_executor_lock(self->executor);
    weir_worker_cancel_locked(self);
    weir_executor_unlock(self->executor);
}

const char *weir_worker_name(const struct weir_worker *self)
{
    return self->name;
}

bool weir_worker_cancelled(const struct weir_worker *self)
{
    return atomic_load_explicit(&self->cancelled, memory_order_relaxed);
}

void weir_worker_read(struct weir_worker *self, struct weir_worker_info *out)
{
    weir_executor_lock(self->executor);
    weir_worker_read_locked(self, out);
    weir_executor_unlock(self->executor);
}

void weir_worker_read_locked(const struct weir_worker *self, struct weir_worker_info *out)
{
    (void)snprintf(out->name, sizeof out->name, "%s", self->name);
    out->state = self->now;
    out->cancelled = weir_worker_cancelled(self);
    out->due_ns = self->timer.armed ? self->timer.due_ns : 0;
    out->executions = self->executions;
    out->failures = self->failures;
    out->failures_in_row = self->failures_in_row;
    out->notifier_count = self->notifier_count;
}

const char *weir_worker_state_name(enum weir_worker_state state)
{
    static const char *const names[] = {
        [WEIR_WORKER_STARTING] = "starting",
        [WEIR_WORKER_PACING] = "pacing",
        [WEIR_WORKER_BACKING_OFF] = "backing off",
        [WEIR_WORKER_IDLING] = "idling",
        [WEIR_WORKER_SLEEPING] = "sleeping",
        [WEIR_WORKER_QUEUED] = "queued",
        [WEIR_WORKER_READY] = "ready",
        [WEIR_WORKER_RUNNING] = "running",
        [WEIR_WORKER_ENDED] = "ended",
    };

    if ((unsigned)state > WEIR_WORKER_ENDED)
        return "unknown";
    return names[state];
}

void weir_worker_set_parking(struct weir_worker *self, struct weir_parking *parking)
{
    self->parking = parking;
}

struct weir_list *weir_worker_ward_link(struct weir_worker *self)
{
    return &self->in_ward;
}

struct weir_worker *weir_worker_from_ward_link(struct weir_list *link)
{
    return WEIR_CONTAINER_OF(link, struct weir_worker, in_ward);
}

struct weir_list *weir_worker_track_link(struct weir_worker *self)
{
    return &self->in_track;
}

struct weir_worker *weir_worker_from_track_link(struct weir_list *link)
{
    return WEIR_CONTAINER_OF(link, struct weir_worker, in_track);
}

struct weir_ward *weir_worker_ward(const struct weir_worker *self)
{
    return self->ward;
}

struct weir_gate *weir_worker_permit(const struct weir_worker *self)
{
    return self->permit;
}

struct weir_gate *weir_worker_gate(const struct weir_worker *self, size_t index)
{
    return index == 0 ? self->bulkhead.shared : self->bulkhead.guaranteed;
}

/* ---- running: without the lock, by the flow of control that owns it ---------------- */

#define TELL(self, callback, ...)                                                        \
    do {                                                                                 \
        for (size_t i_ = 0; i_ < (self)->listener_count; i_++) {                         \
            const struct weir_listener *listener_ = (self)->listeners[i_];               \
                                                                                         \
            if (listener_->callback != NULL)                                             \
                listener_->callback(listener_->state, __VA_ARGS__);                      \
        }                                                                                \
    } while (0)

/* What one run did, until the lock is held again. Directive and error only if it
 * executed. */
struct outcome {
    struct weir_worker *worker;
    int64_t begun_ns;
    bool executed;
    struct weir_directive directive; /* with its report */
    struct weir_error error;
};

static enum weir_status call_action(struct weir_context *context, void *argument,
                                    struct weir_error *error)
{
    struct outcome *outcome = argument;

    return outcome->worker->action(context, outcome->worker->state, &outcome->directive,
                                   error);
}

static void fail(struct weir_worker *self, enum weir_status status, int64_t elapsed_ns,
                 struct weir_error *error)
{
    if (error->text[0] == '\0')
        (void)weir_error_set(error, status, "%s", weir_status_text(status));
    weir_bulkhead_escalate(&self->bulkhead);
    self->directive = weir_idle();
    self->panicked = status == WEIR_PANICKED && self->on_panic == WEIR_ON_PANIC_END;
    TELL(self, on_error, self->name, elapsed_ns, error->text, self->bulkhead.failures,
         self->bulkhead.floor_ns);
}

static void tell_execute_start(struct weir_worker *self)
{
    TELL(self, on_execute_start, self->name);
    self->executed_ns = weir_executor_now(self->executor);
}

/* Only listeners want to know, and the clock is not free. */
static int64_t measure(const struct weir_worker *self)
{
    if (self->listener_count == 0)
        return 0;
    return weir_sat_sub_i64(weir_executor_now(self->executor), self->executed_ns);
}

static void execute(struct weir_worker *self, struct weir_context *context,
                    struct outcome *outcome)
{
    enum weir_status status;
    int64_t elapsed_ns;

    outcome->executed = true;
    outcome->directive = weir_idle();
    self->executed_ns = outcome->begun_ns;
    if (self->listener_count > 0)
        tell_execute_start(self);
    status = weir_guard(context, call_action, outcome, &outcome->error);
    if (status == WEIR_OK && (unsigned)outcome->directive.kind > WEIR_SLEEP)
        status = weir_error_set(&outcome->error, WEIR_INVALID,
                                "directive.kind is %d, must be 0 to %d",
                                (int)outcome->directive.kind, WEIR_SLEEP);

    elapsed_ns = measure(self);
    self->failed = status != WEIR_OK;
    if (self->failed) {
        fail(self, status, elapsed_ns, &outcome->error);
    } else {
        weir_bulkhead_reset(&self->bulkhead);
        self->directive = weir_directive_strip(outcome->directive);
        TELL(self, on_complete, self->name, elapsed_ns, &outcome->directive);
    }
}

static void run_start(struct weir_worker *self, int64_t now_ns)
{
    self->started = true;
    self->executed_ns = now_ns;
    TELL(self, on_start, self->name);
}

/* What it is about to wait for. Nothing is said before a pace or a retry. */
static void tell_wait(const struct weir_worker *self)
{
    bool will_retry = self->failed && self->on_error == WEIR_ON_ERROR_RETRY;

    if (self->directive.kind == WEIR_SLEEP)
        TELL(self, on_sleep, self->name, self->directive.duration_ns);
    else if (self->directive.kind == WEIR_IDLE && !will_retry)
        TELL(self, on_idle, self->name);
}

static bool must_end(const struct weir_worker *self)
{
    return self->panicked || weir_worker_cancelled(self);
}

static void run_once(struct weir_worker *self, struct weir_context *context,
                     struct outcome *outcome)
{
    struct weir_context *before = weir_context_swap_current(context);

    if (!self->started)
        run_start(self, outcome->begun_ns);
    else if (!weir_worker_cancelled(self))
        execute(self, context, outcome);
    if (!must_end(self))
        tell_wait(self);
    weir_context_reset(context);
    (void)weir_context_swap_current(before);
}

/* A panic leaves without on_stop: the listeners have heard of the error. */
static void run_end(struct weir_worker *self, const struct outcome *outcome)
{
    struct weir_worker_end report = {
        .worker = self->name,
        .outcome = self->panicked ? WEIR_WORKER_PANICKED : WEIR_WORKER_FINISHED,
        .text = self->panicked ? outcome->error.text : "",
        .executions = self->executions,
        .failures = self->failures,
    };

    if (!self->panicked)
        TELL(self, on_stop, self->name);
    weir_ward_report_end(self->ward, &report);
}

/*
 * The permit goes back before the end is reported, which may take long. By then we count
 * as being in user code, so that the executor wakes another thread for the worker that
 * gets the permit.
 */
static void finish(struct weir_worker *self, struct weir_context *context,
                   const struct outcome *outcome)
{
    struct weir_context *before = weir_context_swap_current(context);

    give_permit_back(self);
    weir_executor_unlock(self->executor);
    run_end(self, outcome);
    weir_executor_lock(self->executor);
    (void)weir_context_swap_current(before);
    context->worker = NULL;
    end(self);
}

int64_t weir_worker_run(struct weir_worker *self, struct weir_context *context,
                        int64_t now_ns)
{
    struct outcome outcome; /* not zeroed: most of it is the text of an error */
    struct weir_executor *executor = self->executor;

    outcome.worker = self;
    outcome.executed = false;
    outcome.begun_ns = now_ns;
    move(self, WEIR_WORKER_RUNNING);
    context->worker = self;
    weir_executor_unlock(executor);
    run_once(self, context, &outcome);
    now_ns = weir_executor_now(executor);
    weir_executor_lock(executor);

    if (outcome.executed)
        self->executions++;
    if (outcome.executed && self->failed)
        self->failures++;
    self->failures_in_row = self->bulkhead.failures;
    if (must_end(self)) {
        finish(self, context, &outcome);
    } else {
        context->worker = NULL;
        give_permit_back(self);
        settle(self, now_ns);
    }
    return now_ns;
}

/* ---- waiting: with the lock held --------------------------------------------------- */

#define FROM(state) (1u << (state))

/* The only place that changes `now`: the drawing in worker.h, as a table. */
static void move(struct weir_worker *self, enum weir_worker_state to)
{
    static const unsigned allowed[] = {
        [WEIR_WORKER_STARTING] = 0,
        [WEIR_WORKER_PACING] = FROM(WEIR_WORKER_RUNNING),
        [WEIR_WORKER_BACKING_OFF] = FROM(WEIR_WORKER_RUNNING),
        [WEIR_WORKER_IDLING] = FROM(WEIR_WORKER_RUNNING) | FROM(WEIR_WORKER_BACKING_OFF),
        [WEIR_WORKER_SLEEPING] = FROM(WEIR_WORKER_RUNNING),
        [WEIR_WORKER_QUEUED] = FROM(WEIR_WORKER_RUNNING) | FROM(WEIR_WORKER_PACING) |
                               FROM(WEIR_WORKER_BACKING_OFF) | FROM(WEIR_WORKER_IDLING) |
                               FROM(WEIR_WORKER_SLEEPING),
        [WEIR_WORKER_READY] = FROM(WEIR_WORKER_RUNNING) | FROM(WEIR_WORKER_PACING) |
                              FROM(WEIR_WORKER_BACKING_OFF) | FROM(WEIR_WORKER_IDLING) |
                              FROM(WEIR_WORKER_SLEEPING) | FROM(WEIR_WORKER_QUEUED),
        [WEIR_WORKER_RUNNING] = FROM(WEIR_WORKER_STARTING) | FROM(WEIR_WORKER_READY),
        [WEIR_WORKER_ENDED] = FROM(WEIR_WORKER_RUNNING),
    };
    enum weir_worker_state from = self->now;

    WEIR_ASSERT((allowed[to] & FROM(from)) != 0);
    self->now = to;
    if (self->executor->observer != NULL)
        self->executor->observer(self->executor->observer_state, self, from, to);
}

void weir_worker_start(struct weir_worker *self)
{
    weir_executor_push(self->executor, self->worker_class, &self->in_track);
}

/* One execution is over: begin the wait that its directive asks for. */
static void settle(struct weir_worker *self, int64_t now_ns)
{
    if (self->directive.kind != WEIR_PROCEED)
        weir_pacer_reset(&self->pacer);

    switch (self->directive.kind) {
    case WEIR_PROCEED:
        wait_pace(self, now_ns);
        break;
    case WEIR_SLEEP:
        wait_sleep(self, now_ns);
        break;
    case WEIR_IDLE:
        wait_backoff(self, now_ns);
        break;
    }
}

static void wait_pace(struct weir_worker *self, int64_t now_ns)
{
    int64_t pace_ns = weir_pacer_next(&self->pacer);

    if (pace_ns == 0) {
        admit(self);
        return;
    }
    move(self, WEIR_WORKER_PACING);
    weir_executor_arm(self->executor, &self->timer, weir_sat_add_i64(now_ns, pace_ns));
}

static void wait_sleep(struct weir_worker *self, int64_t now_ns)
{
    int64_t duration_ns = self->directive.duration_ns;

    if (take_signal(self) || duration_ns <= 0) {
        admit(self);
        return;
    }
    move(self, WEIR_WORKER_SLEEPING);
    listen(self);
    weir_executor_arm(self->executor, &self->timer,
                      weir_sat_add_i64(now_ns, duration_ns));
}

/* The floor counts from the start of the failed execution; after a success it is 0. */
static void wait_backoff(struct weir_worker *self, int64_t now_ns)
{
    int64_t until_ns = weir_sat_add_i64(self->executed_ns, self->bulkhead.floor_ns);

    if (self->bulkhead.floor_ns == 0 || until_ns <= now_ns) {
        after_backoff(self);
        return;
    }
    move(self, WEIR_WORKER_BACKING_OFF);
    weir_executor_arm(self->executor, &self->timer, until_ns);
}

/*
 * A retry leaves stored permits where they are: the signal may be meant for a sibling
 * that shares the notifier, and at worst causes one execution more.
 */
static void after_backoff(struct weir_worker *self)
{
    if ((self->failed && self->on_error == WEIR_ON_ERROR_RETRY) || take_signal(self)) {
        admit(self);
        return;
    }
    move(self, WEIR_WORKER_IDLING);
    listen(self);
}

/* The first notifier in the list that has a permit; the others keep theirs. */
static bool take_signal(struct weir_worker *self)
{
    for (size_t i = 0; i < self->notifier_count; i++) {
        if (weir_notifier_take(self->notifiers[i]))
            return true;
    }
    return false;
}

static void listen(struct weir_worker *self)
{
    for (size_t i = 0; i < self->notifier_count; i++)
        weir_notifier_listen(self->notifiers[i], &self->ears[i]);
}

static void hear(struct weir_wait *ear, enum weir_wake why) WEIR_NO_LOCK_ANALYSIS
{
    struct weir_worker *self = ear->owner;

    (void)why; /* notifiers only signal */
    leave_lines(self);
    admit(self);
}

static void time_is_up(struct weir_timer *timer) WEIR_NO_LOCK_ANALYSIS
{
    struct weir_worker *self = WEIR_CONTAINER_OF(timer, struct weir_worker, timer);

    leave_lines(self);
    if (self->now == WEIR_WORKER_BACKING_OFF)
        after_backoff(self);
    else
        admit(self);
}

/* A wait is over: take a permit, or stand in line for one. */
static void admit(struct weir_worker *self)
{
    bool in_line = false;
    bool limited = false;

    for (size_t i = 0; i < GATES_MAX; i++) {
        struct weir_gate *gate = weir_worker_gate(self, i);

        if (gate == NULL)
            continue;
        limited = true;
        if (weir_gate_take(gate)) {
            self->permit = gate;
            make_ready(self);
            return;
        }
    }
    for (size_t i = 0; i < GATES_MAX; i++) {
        struct weir_gate *gate = weir_worker_gate(self, i);

        if (gate == NULL || gate->closed)
            continue;
        weir_gate_queue(gate, &self->places[i]);
        in_line = true;
    }
    if (in_line) {
        move(self, WEIR_WORKER_QUEUED);
        return;
    }
    if (limited) /* by closed gates only: there is nothing left to wait for */
        atomic_store(&self->cancelled, true);
    make_ready(self);
}

/* A gate has made up its mind: a permit, or closed. */
static void leave_line(struct weir_wait *place, enum weir_wake why) WEIR_NO_LOCK_ANALYSIS
{
    struct weir_worker *self = place->owner;

    if (why == WEIR_WOKEN_BY_SIGNAL) {
        self->permit = place->place;
    } else {
        for (size_t i = 0; i < GATES_MAX; i++) {
            if (!weir_list_empty(&self->places[i].link))
                return; /* the other gate may still let it in */
        }
        atomic_store(&self->cancelled, true);
    }
    leave_lines(self);
    make_ready(self);
}

static void leave_lines(struct weir_worker *self)
{
    for (size_t i = 0; i < self->notifier_count; i++)
        weir_list_remove(&self->ears[i].link);
    for (size_t i = 0; i < GATES_MAX; i++)
        weir_list_remove(&self->places[i].link);
    weir_executor_disarm(self->executor, &self->timer);
}

static void make_ready(struct weir_worker *self)
{
    move(self, WEIR_WORKER_READY);
    weir_executor_push(self->executor, self->worker_class, &self->in_track);
}

static void give_permit_back(struct weir_worker *self)
{
    struct weir_gate *gate = self->permit;

    self->permit = NULL;
    if (gate != NULL)
        weir_gate_hand_over(gate);
}

void weir_worker_cancel_locked(struct weir_worker *self)
{
    if (weir_worker_cancelled(self))
        return;
    atomic_store(&self->cancelled, true);
    switch (self->now) {
    case WEIR_WORKER_STARTING:
    case WEIR_WORKER_READY: /* in its track: its end will be run instead */
    case WEIR_WORKER_ENDED:
        break;
    case WEIR_WORKER_RUNNING:
        if (self->parking != NULL)
            weir_parking_wake(self->parking, WEIR_WOKEN_BY_CANCELLING);
        break;
    case WEIR_WORKER_PACING:
    case WEIR_WORKER_BACKING_OFF:
    case WEIR_WORKER_IDLING:
    case WEIR_WORKER_SLEEPING:
    case WEIR_WORKER_QUEUED:
        leave_lines(self);
        make_ready(self);
        break;
    }
}

bool weir_worker_seize(struct weir_worker *self)
{
    if (self->seized || self->now == WEIR_WORKER_RUNNING) {
        weir_worker_cancel_locked(self);
        return false;
    }
    atomic_store(&self->cancelled, true);
    if (self->now == WEIR_WORKER_STARTING || self->now == WEIR_WORKER_READY) {
        weir_executor_withdraw(self->executor, self->worker_class, &self->in_track);
    } else {
        leave_lines(self);
        move(self, WEIR_WORKER_READY);
    }
    self->seized = true;
    return true;
}

void weir_worker_drop(struct weir_worker *self)
{
    struct weir_worker_end report = {
        .worker = self->name,
        .outcome = WEIR_WORKER_DROPPED,
        .text = "",
        .executions = self->executions,
        .failures = self->failures,
    };

    self->parking = NULL;
    give_permit_back(self);
    weir_executor_unlock(self->executor);
    weir_ward_report_end(self->ward, &report);
    weir_executor_lock(self->executor);
    end(self);
}

/* The last reference may be ours, and giving it up calls the heap: not under the lock. */
static void end(struct weir_worker *self)
{
    struct weir_executor *executor = self->executor;

    move(self, WEIR_WORKER_ENDED);
    weir_ward_remove(self->ward, self);
    weir_executor_unlock(executor);
    weir_worker_release(self);
    weir_executor_lock(executor);
}
