/*
 * worker_settler.c - stores what handlers have answered.
 *
 * While one group is stored the next one gathers, so that under load one transaction
 * carries many answers, and a single answer does not wait. What the
 * database did not take, or did not say so, is sent again: it tells an answer that it
 * has from one that it refuses.
 */
#include <inttypes.h>

#include "base/log.h"
#include "db/db.h"
#include "execution/worker/worker_private.h"

/* Never, however often it is sent: the rest must not wait for it. */
static bool is_hopeless(enum weir_status status)
{
    return status == WEIR_SCHEMA || weir_status_class(status) == WEIR_CLASS_REJECT;
}

static void log_loss(struct weir_execution_worker *self,
                     const struct weir_execution_id *id, const struct weir_error *error)
{
    char text[WEIR_EXECUTION_ID_TEXT_SIZE];

    weir_log_event(weir_db_log(self->executions->db), WEIR_LOG_ERROR,
                   "execution.not_settled", "execution=%s text=\"%s\"",
                   weir_execution_id_format(id, text), error->text);
}

static void give_up(struct weir_execution_worker *self, struct weir_task *task,
                    const struct weir_error *error)
{
    log_loss(self, &task->claimed->claim.id, error);
    weir_tasks_settle(&self->tasks, task, error->status);
}

/* An attempt that its handler has failed: tried again, or the end. A panic was logged
 * as one. */
static void log_failure(struct weir_execution_worker *self, const struct weir_task *task)
{
    const struct weir_claimed *claimed = task->claimed;
    bool ended = task->answer.current.state == WEIR_STATE_FAILED;
    char id[WEIR_EXECUTION_ID_TEXT_SIZE];

    if (task->answer.verb != WEIR_SETTLE_FAIL || task->panicked)
        return;
    weir_log_event(weir_db_log(self->executions->db), WEIR_LOG_WARNING,
                   ended ? "execution.failed" : "execution.attempt_failed",
                   "execution=%s lane=\"%s\" kind=\"%s\" attempt=%" PRId32
                   " reason=\"%s\"",
                   weir_execution_id_format(&claimed->claim.id, id), claimed->lane,
                   claimed->kind, claimed->attempt, task->answer.reason);
}

static enum weir_status send(struct weir_execution_worker *self, size_t first,
                             size_t count, struct weir_error *error)
{
    enum weir_status status;

    for (size_t i = first; i < first + count; i++)
        self->settlements[i] = self->answered[i]->answer;
    status =
        weir_execution_settle(self->executions, &self->settlements[first], count, error);
    for (size_t i = first; i < first + count && status == WEIR_OK; i++) {
        self->answered[i]->answer.current = self->settlements[i].current;
        if (self->settlements[i].status == WEIR_OK)
            log_failure(self, self->answered[i]);
        weir_tasks_settle(&self->tasks, self->answered[i], self->settlements[i].status);
    }
    return status;
}

/* All from `first` on, for the next time. */
static void keep(struct weir_execution_worker *self, size_t first, size_t count,
                 int64_t now_ns, const struct weir_error *error)
{
    for (size_t i = first; i < count; i++) {
        struct weir_execution_id id = self->answered[i]->claimed->claim.id;

        if (!weir_tasks_uncollect(&self->tasks, self->answered[i], now_ns))
            log_loss(self, &id, error);
    }
}

/* One of them is in the way of the others. */
static enum weir_status send_one_by_one(struct weir_execution_worker *self,
                                        struct weir_context *context, size_t count,
                                        struct weir_error *error)
{
    for (size_t i = 0; i < count; i++) {
        enum weir_status status = send(self, i, 1, error);

        if (status != WEIR_OK && !is_hopeless(status)) {
            keep(self, i, count, weir_context_now(context), error);
            return status;
        }
        if (status != WEIR_OK)
            give_up(self, self->answered[i], error);
    }
    return WEIR_OK;
}

static enum weir_status settle(struct weir_context *context, void *state,
                               struct weir_directive *out, struct weir_error *error)
{
    struct weir_execution_worker *self = state;
    size_t count = weir_tasks_collect(&self->tasks, self->answered, WEIR_SETTLE_JOIN_MAX);
    enum weir_status status;

    *out = weir_idle();
    if (count == 0)
        return WEIR_OK;
    status = send(self, 0, count, error);
    if (is_hopeless(status))
        status = send_one_by_one(self, context, count, error);
    else if (status != WEIR_OK)
        keep(self, 0, count, weir_context_now(context), error);
    if (status != WEIR_OK) {
        weir_error_prefix(error, "settle executions");
        return status;
    }
    weir_execution_worker_notify(self, WEIR_NOTIFY_CLAIMER);
    *out = weir_proceed();
    return WEIR_OK;
}

enum weir_status weir_settler_spawn(struct weir_execution_worker *self,
                                    struct weir_error *error)
{
    struct weir_worker_options options = weir_execution_worker_thread_options(
        self, "settler", settle, WEIR_NOTIFY_SETTLER);

    options.backoff.initial_ns = WEIR_MILLISECONDS(20);
    options.backoff.max_ns = self->lease_ns / 10;
    if (options.backoff.max_ns > WEIR_SECONDS(1))
        options.backoff.max_ns = WEIR_SECONDS(1);
    return weir_ward_spawn(self->internal_workers, &options, NULL, error);
}
