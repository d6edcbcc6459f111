/*
 * task_pause.c - handlers that wait for the world: see weir/execution_worker.h.
 *
 * A suspension is not an answer that is kept until the handler returns: the handler
 * needs the tokens. So it is stored by the handler's own thread, and repeated there as
 * the settler does with answers.
 */
#include "db/clock.h"
#include "execution/worker/tasks.h"
#include "execution/worker/worker_private.h"
#include "ward/bulkhead.h"

static const struct weir_backoff BETWEEN_CALLS = {
    .initial_ns = WEIR_MILLISECONDS(20),
    .max_ns = WEIR_SECONDS(1),
    .multiplier = 2.0,
    .jitter = 1.0,
};

static enum weir_status destroyed(struct weir_error *error)
{
    return weir_error_set(error, WEIR_CLOSED, "the worker was destroyed");
}

enum weir_status weir_task_signals(struct weir_task *self, weir_signal_visit_fn visit,
                                   void *state, struct weir_error *error)
{
    struct weir_executions *executions = weir_execution_worker_borrow(self->worker);
    enum weir_status status;

    if (executions == NULL)
        return destroyed(error);
    status =
        weir_execution_signals(executions, &self->claimed->claim.id, visit, state, error);
    weir_execution_worker_give_back(self->worker);
    return status;
}

enum weir_status weir_task_waitpoint(struct weir_task *self,
                                     struct weir_waitpoint *waitpoint, int64_t expires_ms,
                                     struct weir_error *error)
{
    struct weir_executions *executions = weir_execution_worker_borrow(self->worker);
    enum weir_status status;

    if (executions == NULL)
        return destroyed(error);
    status = weir_execution_waitpoint(executions, &self->claimed->claim, waitpoint,
                                      expires_ms, NULL, error);
    weir_execution_worker_give_back(self->worker);
    return status;
}

/* ---- suspending -------------------------------------------------------------------- */

/* One call, and what is known after it. */
struct suspend_call {
    struct weir_task *task;
    struct weir_suspend_options *options;
    bool satisfied;
    bool lost;     /* the claim */
    bool doubtful; /* one of the calls may have been done */
};

/* What is not there may be a waitpoint; of an execution that is gone there is no
 * truth. */
static bool is_lost(enum weir_status status, const struct weir_execution_status *current)
{
    return status == WEIR_FENCED || (status == WEIR_NOT_FOUND && current->epoch == 0);
}

static enum weir_status call_once(struct suspend_call *self, struct weir_error *error)
{
    struct weir_execution_worker *worker = self->task->worker;
    struct weir_executions *executions = weir_execution_worker_borrow(worker);
    struct weir_execution_status current = {.epoch = 0};
    enum weir_status status;

    if (executions == NULL)
        return destroyed(error);
    status = weir_execution_suspend(executions, &self->task->claimed->claim,
                                    self->options, &self->satisfied, &current, error);
    weir_execution_worker_give_back(worker);
    self->lost = is_lost(status, &current);
    self->doubtful =
        status == WEIR_IN_DOUBT || (self->doubtful && status != WEIR_OK && !self->lost);
    return status;
}

/* Until the database has answered, or the stop signal: then the lease is nearly over. */
static enum weir_status call(struct suspend_call *self, struct weir_error *error)
{
    struct weir_bulkhead backoff;
    enum weir_status status;

    weir_bulkhead_init(&backoff, &BETWEEN_CALLS, weir_clock_random());
    do {
        status = call_once(self, error);
        weir_bulkhead_escalate(&backoff);
    } while (weir_status_class(status) == WEIR_CLASS_RETRY &&
             weir_clock_sleep(backoff.floor_ns));
    return status;
}

static enum weir_task_pause outcome(const struct suspend_call *self,
                                    enum weir_status status)
{
    if (self->doubtful)
        return WEIR_TASK_DOUBTFUL;
    return status == WEIR_OK && !self->satisfied ? WEIR_TASK_SUSPENDED
                                                 : WEIR_TASK_GOES_ON;
}

enum weir_status weir_task_suspend(struct weir_task *self,
                                   struct weir_suspend_options *options, bool *satisfied,
                                   struct weir_error *error)
{
    struct weir_tasks *tasks = &self->worker->tasks;
    struct suspend_call suspend_call = {.task = self, .options = options};
    struct weir_error reason = {0};
    enum weir_status status;

    *satisfied = false;
    if (!weir_tasks_begin_pause(tasks, self))
        return weir_error_set(error, WEIR_CLOSED, "it is suspended already");
    status = call(&suspend_call, &reason);
    weir_tasks_end_pause(tasks, self, outcome(&suspend_call, status));
    if (suspend_call.lost)
        weir_tasks_lose(tasks, self);
    *satisfied = suspend_call.satisfied;
    if (suspend_call.doubtful)
        return weir_error_set(error, WEIR_IN_DOUBT, "whether it is suspended: %s",
                              reason.text);
    if (error != NULL)
        *error = reason;
    return status;
}
