/*
 * worker_runner.c - calls handlers.
 *
 * One bell is for all runners, and remembers one ring only. So a runner that takes a task
 * and leaves others behind wakes the next one.
 */
#include <inttypes.h>

#include "base/arith.h"
#include "base/log.h"
#include "db/db.h"
#include "execution/worker/worker_private.h"
#include "weir/audit.h"

static enum weir_status call(struct weir_context *context, void *argument,
                             struct weir_error *error)
{
    struct weir_task *task = argument;

    (void)error;
    if (task->kind->handler(context, task->kind->state, task) != WEIR_ANSWERED)
        task->answered = false;
    return WEIR_OK;
}

/*
 * A handler may return after its worker was destroyed: then there is no worker to notify.
 */
static void log_panic(struct weir_task *task, const char *text)
{
    const struct weir_claimed *claimed = task->claimed;
    struct weir_executions *executions = weir_execution_worker_borrow(task->worker);
    char id[WEIR_EXECUTION_ID_TEXT_SIZE];

    if (executions == NULL)
        return;
    weir_log_event(weir_db_log(executions->db), WEIR_LOG_ERROR,
                   "execution.handler_panicked",
                   "execution=%s lane=\"%s\" kind=\"%s\" attempt=%" PRId32 " text=\"%s\"",
                   weir_execution_id_format(&claimed->claim.id, id), claimed->lane,
                   claimed->kind, claimed->attempt, text);
    weir_execution_worker_give_back(task->worker);
}

static void run_handler(struct weir_context *context, struct weir_task *task)
{
    const struct weir_audit_actor *actor = weir_audit_actor();
    struct weir_error error;
    enum weir_status status = weir_guard(context, call, task, &error);

    (void)weir_audit_act_as(actor); /* one that it has left, as by a panic */
    if (status != WEIR_PANICKED)
        return;
    task->panicked = true;
    log_panic(task, error.text);
    (void)weir_task_fail(task, "handler_%s", error.text);
}

/* The one that was cancelled ends; another one comes in its place. */
static void replace(struct weir_execution_worker *self)
{
    struct weir_error error;
    enum weir_status status = weir_runner_spawn(self, &error);

    if (status == WEIR_OK)
        weir_execution_worker_notify(self, WEIR_NOTIFY_RUNNERS);
    else if (status != WEIR_CLOSED)
        atomic_fetch_add(&self->runners_missing, 1);
}

/* The watch sleeps for a third of a lease at most. */
static bool is_for_the_watch(const struct weir_execution_worker *self, int64_t stop_ns,
                             int64_t now_ns)
{
    return stop_ns < weir_sat_add_i64(now_ns, self->lease_ns / 3);
}

static enum weir_status run(struct weir_context *context, void *state,
                            struct weir_directive *out, struct weir_error *error)
{
    struct weir_execution_worker *self = state;
    int64_t now_ns = weir_context_now(context);
    struct weir_taken taken =
        weir_tasks_take(&self->tasks, weir_context_worker(context), now_ns);

    (void)error;
    if (taken.late)
        weir_execution_worker_notify(self, WEIR_NOTIFY_SETTLER);
    if (taken.more)
        weir_execution_worker_notify(self, WEIR_NOTIFY_RUNNERS);
    *out = weir_idle();
    if (taken.task == NULL)
        return WEIR_OK;
    if (is_for_the_watch(self, taken.stop_ns, now_ns))
        weir_execution_worker_notify(self, WEIR_NOTIFY_WATCH);

    run_handler(context, taken.task);
    if (weir_tasks_answer(&self->tasks, taken.task))
        replace(self);
    weir_execution_worker_notify(self, WEIR_NOTIFY_SETTLER);
    weir_execution_worker_notify(self, WEIR_NOTIFY_CLAIMER);
    *out = weir_proceed();
    return WEIR_OK;
}

enum weir_status weir_runner_spawn(struct weir_execution_worker *self,
                                   struct weir_error *error)
{
    struct weir_worker_options options =
        weir_execution_worker_thread_options(self, "runner", run, WEIR_NOTIFY_RUNNERS);
    enum weir_status status;

    options.worker_class = WEIR_WORKER_COMMON;
    options.listener_count =
        0; /* it may outlive them, with a handler that does not return */
    weir_execution_worker_hold(self); /* until it has ended */
    status = weir_ward_spawn(self->runners, &options, NULL, error);
    if (status != WEIR_OK)
        weir_execution_worker_release(self);
    return status;
}
