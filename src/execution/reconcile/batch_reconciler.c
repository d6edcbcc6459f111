/*
 * batch_reconciler.c - see batch_reconciler.h.
 *
 *   I1  a candidate that was mended is none any more, or less of one, so working
 *       through them ends
 *   I2  after a portion that had to be done one by one the tick ends: a failing candidate
 *       is tried once in it
 *   I3  more are found by those that are left alone, so they never are all that is found
 */
#include "execution/reconcile/batch_reconciler.h"

#include <string.h>

#include "base/fault_point.h"
#include "base/heap.h"
#include "base/log.h"
#include "base/no_memory.h"
#include "db/db.h"
#include "db/transact.h"
#include "ward/failures.h"

enum {
    BATCHES_PER_TICK = 16, /* then others have their turn on the executor's threads */
    ARENA_SIZE_MAX = 64 * 1024 * 1024
};

static struct weir_fault_points *points_of(const struct weir_batch_reconciler *self)
{
    return weir_db_config(self->task->db)->points;
}

/* ---- finding ----------------------------------------------------------------------- */

enum weir_status weir_batch_reconciler_add(struct weir_batch_reconciler *self, int64_t no,
                                           struct weir_str name, struct weir_error *error)
{
    size_t size = name.size < WEIR_FAILURES_KEY_SIZE_MAX
                      ? name.size
                      : (size_t)WEIR_FAILURES_KEY_SIZE_MAX;
    char *copy = weir_arena_alloc(&self->arena, size + 1);

    if (copy == NULL || self->count == self->room)
        return weir_no_memory_for(error, "what was found");
    memcpy(copy, name.data, size);
    self->candidates[self->count++] =
        (struct weir_candidate){no, (struct weir_str){copy, size}};
    return WEIR_OK;
}

enum weir_status weir_batch_reconciler_add_execution(struct weir_batch_reconciler *self,
                                                     int64_t no,
                                                     const struct weir_execution_id *id,
                                                     struct weir_error *error)
{
    char text[WEIR_EXECUTION_ID_TEXT_SIZE];

    return weir_batch_reconciler_add(self, no,
                                     weir_str(weir_execution_id_format(id, text)), error);
}

/* As many as are left alone and can be mended in one transaction. */
static enum weir_status make_room(struct weir_batch_reconciler *self,
                                  struct weir_error *error)
{
    struct weir_reconciler_task *task = self->task;
    size_t limit = self->kind->limit;

    weir_arena_reset(&self->arena);
    self->count = 0;
    self->room = limit + weir_failures_count(self->tick->failures); /* I3 */
    self->candidates =
        weir_arena_alloc(&self->arena, self->room * sizeof *self->candidates);
    if (self->candidates == NULL)
        return weir_no_memory_for(error, "what was found");
    if (limit <= task->room)
        return WEIR_OK;
    weir_heap_free(task->heap, task->nos);
    weir_heap_free(task->heap, task->changes);
    task->room = 0;
    task->nos = weir_heap_zalloc_array(task->heap, limit, sizeof *task->nos);
    task->changes = weir_heap_zalloc_array(task->heap, limit, sizeof *task->changes);
    if (task->nos == NULL || task->changes == NULL)
        return weir_no_memory_for(error, "what was found");
    task->room = limit;
    return WEIR_OK;
}

static bool is_left_alone(const struct weir_batch_reconciler *self,
                          const struct weir_candidate *candidate)
{
    return weir_failures_skips(self->tick->failures, candidate->name.data,
                               candidate->name.size);
}

/* Those that are left alone are counted, and not candidates any more. */
static void pass_over(struct weir_batch_reconciler *self)
{
    size_t kept = 0;

    for (size_t i = 0; i < self->count; i++) {
        if (is_left_alone(self, &self->candidates[i]))
            self->report->skipped++;
        else
            self->candidates[kept++] = self->candidates[i];
    }
    self->count = kept < self->kind->limit ? kept : self->kind->limit;
}

static enum weir_status find(struct weir_batch_reconciler *self, struct weir_error *error)
{
    struct weir_connection *connection = NULL;
    enum weir_status status = make_room(self, error);

    if (status == WEIR_OK)
        status = weir_db_acquire(self->task->db, &connection, error);
    if (status == WEIR_OK) {
        weir_reconciler_runs_on(self->task, connection);
        status = self->kind->find(self, connection, self->room, error);
        weir_reconciler_runs_on(self->task, NULL);
    }
    weir_db_release(self->task->db, connection);
    if (status == WEIR_OK && weir_failures_count(self->tick->failures) > 0)
        pass_over(self);
    return status;
}

/* ---- mending ----------------------------------------------------------------------- */

enum weir_status weir_batch_reconciler_load(struct weir_batch_reconciler *self,
                                            struct weir_connection *connection,
                                            const struct weir_candidate *candidates,
                                            size_t count, int64_t *now_us,
                                            struct weir_error *error)
{
    struct weir_reconciler_task *task = self->task;
    enum weir_status status;

    for (size_t i = 0; i < count; i++)
        task->nos[i] = candidates[i].no;
    status =
        weir_store_load(task->store, connection, task->nos, count, &task->records, error);
    if (status == WEIR_OK)
        status = weir_store_clock(connection, &task->records, now_us, error);
    if (status == WEIR_OK)
        weir_reconciler_has_locked(task);
    return status;
}

/* May run several times: nothing but what is of one transaction is changed. */
static enum weir_status mend_on(struct weir_connection *connection, void *argument,
                                struct weir_error *error)
{
    struct weir_batch_reconciler *self = argument;
    enum weir_status status;

    self->done = 0;
    self->pending_wakeups = (struct weir_pending_wakeups){.ready = false};
    weir_reconciler_runs_on(self->task, connection);
    status = self->kind->mend(self, connection, self->first, self->taken, error);
    weir_reconciler_runs_on(self->task, NULL);
    return status;
}

static enum weir_status mend(struct weir_batch_reconciler *self,
                             const struct weir_candidate *candidates, size_t count,
                             struct weir_error *error)
{
    enum weir_status status;

    self->first = candidates;
    self->taken = count;
    status = weir_transact_soon(self->task->db, mend_on, self, error);
    if (status != WEIR_OK)
        return status;
    weir_pending_wakeups_send(self->task->executions, &self->pending_wakeups);
    self->report->processed += self->done;
    if (weir_failures_count(self->tick->failures) == 0)
        return WEIR_OK;
    for (size_t i = 0; i < count; i++)
        weir_failures_note_success(self->tick->failures, candidates[i].name.data,
                                   candidates[i].name.size);
    return WEIR_OK;
}

static void note_failure(struct weir_batch_reconciler *self,
                         const struct weir_candidate *candidate,
                         const struct weir_error *error)
{
    weir_log_event(weir_db_log(self->task->db), WEIR_LOG_WARNING, "execution.row_failed",
                   "reconciler=%s %s=%.*s text=\"%s\"", self->tick->scan,
                   self->kind->what, (int)candidate->name.size, candidate->name.data,
                   error->text);
    weir_failures_note_failure(self->tick->failures, candidate->name.data,
                               candidate->name.size);
    self->report->errors++;
}

/* When nothing comes of it there is no end to be hoped for. */
static enum weir_status mend_one_by_one(struct weir_batch_reconciler *self,
                                        struct weir_error *error)
{
    uint64_t processed = self->report->processed;
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; i < self->count && status == WEIR_OK; i++) {
        if (weir_context_cancelled(self->context))
            return WEIR_CANCELLED;
        (void)WEIR_POINT(points_of(self), "reconciler.row");
        status = mend(self, &self->candidates[i], 1, error);
        if (weir_reconciler_is_about_rows(status)) {
            note_failure(self, &self->candidates[i], error);
            status = WEIR_OK;
        }
    }
    if (status == WEIR_OK && self->report->processed > processed)
        self->report->next_ns = WEIR_SCAN_NEXT_MIN; /* there may be more */
    return status;
}

/* *more: there may be, and it is worth to look. */
static enum weir_status run_portion(struct weir_batch_reconciler *self, bool *more,
                                    struct weir_error *error)
{
    enum weir_status status = find(self, error);

    *more = false;
    if (status != WEIR_OK || self->count == 0)
        return status;
    (void)WEIR_POINT(points_of(self), "reconciler.due");
    status = mend(self, self->candidates, self->count, error);
    *more = status == WEIR_OK;
    return weir_reconciler_is_about_rows(status) ? mend_one_by_one(self, error) : status;
}

enum weir_status weir_batch_reconciler_run(struct weir_batch_reconciler *self,
                                           struct weir_error *error)
{
    enum weir_status status = WEIR_OK;
    bool more = true;

    weir_arena_init(&self->arena, self->task->heap, ARENA_SIZE_MAX);
    for (int i = 0; i < BATCHES_PER_TICK && more && status == WEIR_OK; i++)
        status = weir_context_cancelled(self->context) ? WEIR_CANCELLED
                                                       : run_portion(self, &more, error);
    if (status == WEIR_OK && more)
        self->report->next_ns = WEIR_SCAN_NEXT_MIN;
    weir_arena_fini(&self->arena);
    return status;
}
