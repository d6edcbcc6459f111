/*
 * worker_claimer.c - claims what a worker has room for.
 *
 * A claim that was in doubt, or for which there was no memory afterwards, belongs to no
 * worker: it comes back when its lease runs out.
 */
#include <string.h>

#include "base/log.h"
#include "base/no_memory.h"
#include "db/db.h"
#include "execution/worker/worker_private.h"

static const struct weir_task_kind *find_kind(const struct weir_execution_worker *self,
                                              const char *kind)
{
    const struct weir_task_kind *any = NULL;

    for (size_t i = 0; i < self->kind_count; i++) {
        if (self->kinds[i].kind == NULL)
            any = &self->kinds[i];
        else if (strcmp(self->kinds[i].kind, kind) == 0)
            return &self->kinds[i];
    }
    return any;
}

static void find_handler(struct weir_execution_worker *self, struct weir_task *task)
{
    char id[WEIR_EXECUTION_ID_TEXT_SIZE];

    task->kind = find_kind(self, task->claimed->kind);
    if (task->kind == NULL)
        weir_log_event(weir_db_log(self->executions->db), WEIR_LOG_WARNING,
                       "execution.no_handler",
                       "execution=%s lane=\"%s\" kind=\"%s\" delay_ms=%d",
                       weir_execution_id_format(&task->claimed->claim.id, id),
                       task->claimed->lane, task->claimed->kind, WEIR_UNHANDLED_DELAY_MS);
}

static enum weir_status keep(struct weir_execution_worker *self,
                             struct weir_claimed *claimed, size_t count,
                             struct weir_error *error)
{
    struct weir_claim_batch *claim_batch =
        weir_claim_batch_create(self->heap, self, claimed, count, self->claim.lease_ms);
    size_t waiting;

    if (claim_batch == NULL) {
        weir_claimed_free(self->executions, claimed);
        return weir_no_memory_for(error, "what was claimed");
    }
    for (size_t i = 0; i < count; i++)
        find_handler(self, &claim_batch->tasks[i]);
    waiting = weir_tasks_admit(&self->tasks, claim_batch);
    if (waiting < count)
        weir_execution_worker_notify(self, WEIR_NOTIFY_SETTLER);
    for (size_t i = 0; i < waiting && i < self->permits; i++)
        weir_execution_worker_notify(self, WEIR_NOTIFY_RUNNERS);
    return WEIR_OK;
}

static enum weir_status claim(struct weir_context *context, void *state,
                              struct weir_directive *out, struct weir_error *error)
{
    struct weir_execution_worker *self = state;
    size_t room = weir_tasks_room(&self->tasks);
    struct weir_claimed *claimed = NULL;
    size_t count = 0;
    enum weir_status status;

    (void)context;
    if (room == 0) {
        *out = weir_idle();
        return WEIR_OK;
    }
    *out = weir_proceed();
    status = weir_execution_claim(self->executions, &self->claim, room, &claimed, &count,
                                  error);
    if (status == WEIR_CANCELLED)
        return WEIR_OK;
    if (status == WEIR_OK && count > 0)
        status = keep(self, claimed, count, error);
    if (status != WEIR_OK)
        weir_error_prefix(error, "claim executions");
    return status;
}

enum weir_status weir_claimer_spawn(struct weir_execution_worker *self,
                                    struct weir_error *error)
{
    struct weir_worker_options options =
        weir_execution_worker_thread_options(self, "claimer", claim, WEIR_NOTIFY_CLAIMER);

    /* It waits for work most of the time, and that takes a thread. */
    options.worker_class = WEIR_WORKER_COMMON;
    options.backoff.max_ns = WEIR_SECONDS(5);
    return weir_ward_spawn(self->claimers, &options, NULL, error);
}
