/*
 * worker.c - see weir/execution_worker.h: the life of a worker.
 *
 * Three wards, since they end one after the other: first the claimer, then the runners
 * of handlers, and last the internal workers, which keeps the leases of the handlers
 * and stores their answers until then.
 *
 * A handler that does not listen to its stop signal cannot be ended. It holds what it
 * was given, and the last one, the owner or such a handler, frees it.
 */
#include "weir/execution_worker.h"

#include <inttypes.h>
#include <string.h>

#include "base/arith.h"
#include "base/assert.h"
#include "base/heap.h"
#include "base/log.h"
#include "base/no_memory.h"
#include "db/db.h"
#include "execution/claim.h"
#include "execution/worker/worker_private.h"
#include "outbox/names.h"
#include "ward/executor.h"
#include "weir/executor.h"

enum {
    PERMITS_DEFAULT = 4,
    CLAIM_WAIT_MS = 60 * 1000, /* then the same again: to be sure, once a minute */
    INTERNAL_WORKERS_COUNT = 3,
    HELD_FACTOR =
        3, /* room for those that run, and twice that for answers; see tasks.c */
    NAMES_SIZE_MAX = 1024 * 1024
};

/* What handlers have after their stop signal, their answers included. */
#define LAST_NS WEIR_SECONDS(5)

/* How long destroy() waits for a ward before it does so again. */
#define INTERNAL_WORKERS_NS WEIR_SECONDS(1)

void weir_execution_worker_options_init(struct weir_execution_worker_options *self)
{
    *self = (struct weir_execution_worker_options){.permits = PERMITS_DEFAULT};
    weir_claim_options_init(&self->claim);
}

/* ---- making ------------------------------------------------------------------------ */

static enum weir_status check_options(const struct weir_execution_worker_options *options,
                                      struct weir_error *error)
{
    if (options->executions == NULL)
        return weir_error_set(error, WEIR_INVALID,
                              "executions is NULL, must be an engine");
    if (options->permits < 1 || options->permits > WEIR_EXECUTION_PERMITS_MAX)
        return weir_error_set(error, WEIR_INVALID,
                              "permits is %" PRIu32 ", must be from 1 to %d",
                              options->permits, WEIR_EXECUTION_PERMITS_MAX);
    if (options->prefetch > WEIR_EXECUTION_PREFETCH_MAX)
        return weir_error_set(error, WEIR_INVALID,
                              "prefetch is %" PRIu32 ", must be from 0 to %d",
                              options->prefetch, WEIR_EXECUTION_PREFETCH_MAX);
    return weir_claim_options_check(&options->claim, 1, error);
}

/* NULL also when there are none. */
static const char *const *copy_list(struct weir_arena *names, const char *const *texts,
                                    size_t count)
{
    const char **list = count > 0 ? weir_arena_alloc(names, count * sizeof *list) : NULL;

    for (size_t i = 0; i < count && list != NULL; i++) {
        list[i] = weir_arena_copy_text(names, texts[i]);
        if (list[i] == NULL)
            return NULL;
    }
    return list;
}

static enum weir_status copy_claim(struct weir_execution_worker *self,
                                   const struct weir_claim_options *claim,
                                   struct weir_error *error)
{
    struct weir_arena *names = &self->names;

    self->claim = *claim;
    self->claim.wait_ms = CLAIM_WAIT_MS;
    self->claim.lanes = copy_list(names, claim->lanes, claim->lane_count);
    self->claim.capabilities =
        copy_list(names, claim->capabilities, claim->capability_count);
    self->claim.worker = weir_arena_copy_text(names, claim->worker);
    self->claim.instance = weir_arena_copy_text(names, claim->instance);
    if (self->claim.lanes == NULL || self->claim.worker == NULL ||
        self->claim.instance == NULL ||
        (self->claim.capabilities == NULL && claim->capability_count > 0))
        return weir_no_memory(error, NULL);
    return WEIR_OK;
}

/* A thread per handler, one for the claimer, and those that no handler can take. */
static enum weir_status find_executor(struct weir_execution_worker *self,
                                      struct weir_executor *given,
                                      struct weir_error *error)
{
    self->executor = given;
    if (given != NULL)
        return WEIR_OK;
    self->own_executor = true;
    return weir_executions_make_executor(self->executions, self->permits + 1,
                                         INTERNAL_WORKERS_COUNT, &self->executor, error);
}

static void runner_ended(void *state, const struct weir_worker_end *end)
{
    (void)end;
    weir_execution_worker_release(state);
}

static enum weir_status make_wards(struct weir_execution_worker *self,
                                   struct weir_error *error)
{
    const struct weir_ward_options claimers = {.name = "execution.claimer"};
    const struct weir_ward_options runners = {
        .name = "execution.runners", .on_end = runner_ended, .state = self};
    const struct weir_ward_options internal_workers = {.name = "execution.internal"};
    enum weir_status status =
        weir_ward_create(self->executor, &claimers, &self->claimers, error);

    if (status == WEIR_OK)
        status = weir_ward_create(self->executor, &runners, &self->runners, error);
    if (status == WEIR_OK)
        status = weir_ward_create(self->executor, &internal_workers,
                                  &self->internal_workers, error);
    for (int i = 0; i < WEIR_WORKER_NOTIFIERS && status == WEIR_OK; i++) {
        status = weir_notifier_create(self->executor, &self->notifiers[i]);
        if (status != WEIR_OK)
            status = weir_no_memory(error, NULL);
    }
    return status;
}

static enum weir_status assemble(struct weir_execution_worker *self,
                                 const struct weir_execution_worker_options *options,
                                 struct weir_error *error)
{
    size_t room = (size_t)options->permits + options->prefetch;
    enum weir_status status = copy_claim(self, &options->claim, error);

    self->lease_max = HELD_FACTOR * room;
    self->leased =
        weir_heap_zalloc_array(self->heap, self->lease_max, sizeof *self->leased);
    self->renewals =
        weir_heap_zalloc_array(self->heap, self->lease_max, sizeof *self->renewals);
    if (self->leased == NULL || self->renewals == NULL)
        status = weir_no_memory(error, NULL);
    if (status == WEIR_OK)
        status = find_executor(self, options->executor, error);
    self->tasks.executor = self->executor;
    return status == WEIR_OK ? make_wards(self, error) : status;
}

static enum weir_status init_locks(struct weir_execution_worker *self, size_t room)
{
    enum weir_status status = weir_lock_init(&self->lock);

    if (status != WEIR_OK)
        return status;
    status = weir_cond_init(&self->idle);
    if (status == WEIR_OK) {
        status = weir_tasks_init(&self->tasks, self->heap, room, self->lease_ns);
        if (status != WEIR_OK)
            weir_cond_fini(&self->idle);
    }
    if (status != WEIR_OK)
        weir_lock_fini(&self->lock);
    return status;
}

enum weir_status
weir_execution_worker_create(const struct weir_execution_worker_options *options,
                             struct weir_execution_worker **out, struct weir_error *error)
{
    struct weir_execution_worker *self = NULL;
    enum weir_status status = check_options(options, error);

    *out = NULL;
    if (status == WEIR_OK) {
        self = weir_heap_zalloc(options->executions->heap, sizeof *self);
        if (self == NULL)
            status = weir_no_memory(error, NULL);
    }
    if (status == WEIR_OK) {
        self->executions = options->executions;
        self->heap = options->executions->heap;
        self->permits = options->permits;
        self->lease_ns = WEIR_MILLISECONDS(options->claim.lease_ms);
        self->listener = weir_log_listener(weir_db_log(self->executions->db));
        self->listeners[0] = &self->listener;
        weir_arena_init(&self->names, self->heap, NAMES_SIZE_MAX);
        atomic_init(&self->runners_missing, 0);
        atomic_init(&self->holds, 1);
        status = init_locks(self, (size_t)options->permits + options->prefetch);
        if (status != WEIR_OK) {
            (void)weir_error_set(error, status, "no lock");
            weir_heap_free(self->heap, self);
        } else {
            status = assemble(self, options, error);
            if (status == WEIR_OK)
                *out = self;
            else
                weir_execution_worker_destroy(self);
        }
    }
    if (status != WEIR_OK)
        weir_error_prefix(error, "create worker");
    return status;
}

/* ---- handlers ---------------------------------------------------------------------- */

static bool same_kind(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static enum weir_status check_kind(const struct weir_execution_worker *self,
                                   const char *kind, weir_task_fn handler,
                                   struct weir_error *error)
{
    enum weir_status status = WEIR_OK;

    if (self->started || self->stopped)
        return weir_error_set(error, WEIR_CLOSED, "the worker was started");
    if (handler == NULL)
        return weir_error_set(error, WEIR_INVALID, "handler is NULL");
    if (kind != NULL)
        status = weir_printable_check("kind", kind, WEIR_KIND_SIZE_MAX, error);
    for (size_t i = 0; i < self->kind_count && status == WEIR_OK; i++) {
        if (same_kind(self->kinds[i].kind, kind))
            status = weir_error_set(error, WEIR_EXISTS, "kind \"%.64s\" has a handler",
                                    kind != NULL ? kind : "");
    }
    if (status == WEIR_OK && self->kind_count == WEIR_EXECUTION_HANDLERS_MAX)
        status = weir_error_set(error, WEIR_INVALID, "handlers are %d, must not be more",
                                WEIR_EXECUTION_HANDLERS_MAX);
    return status;
}

enum weir_status weir_execution_worker_add(struct weir_execution_worker *self,
                                           const char *kind, weir_task_fn handler,
                                           void *state, struct weir_error *error)
{
    enum weir_status status = check_kind(self, kind, handler, error);
    char *copy = NULL;

    if (status == WEIR_OK && kind != NULL) {
        copy = weir_arena_copy_text(&self->names, kind);
        if (copy == NULL)
            status = weir_no_memory(error, NULL);
    }
    if (status != WEIR_OK) {
        weir_error_prefix(error, "add handler");
        return status;
    }
    self->kinds[self->kind_count++] = (struct weir_task_kind){copy, handler, state};
    return WEIR_OK;
}

/* ---- running ----------------------------------------------------------------------- */

void weir_execution_worker_notify(struct weir_execution_worker *self,
                                  enum weir_worker_notifier_id notifier)
{
    weir_notifier_notify_one(self->notifiers[notifier]);
}

struct weir_worker_options
weir_execution_worker_thread_options(struct weir_execution_worker *self, const char *name,
                                     weir_action_fn action,
                                     enum weir_worker_notifier_id notifier)
{
    struct weir_worker_options options;

    weir_worker_options_init(&options);
    options.name = name;
    options.action = action;
    options.state = self;
    options.notifiers = &self->notifiers[notifier];
    options.notifier_count = 1;
    options.listeners = self->listeners;
    options.listener_count = 1;
    options.pace = weir_pace_none();
    if (self->executor->serves[WEIR_WORKER_RESERVED])
        options.worker_class = WEIR_WORKER_RESERVED;
    return options;
}

static enum weir_status spawn_all(struct weir_execution_worker *self,
                                  struct weir_error *error)
{
    enum weir_status status = weir_watch_spawn(self, error);

    if (status == WEIR_OK)
        status = weir_renewer_spawn(self, error);
    if (status == WEIR_OK)
        status = weir_settler_spawn(self, error);
    for (uint32_t i = 0; i < self->permits && status == WEIR_OK; i++)
        status = weir_runner_spawn(self, error);
    if (status == WEIR_OK)
        status = weir_claimer_spawn(self, error);
    return status;
}

enum weir_status weir_execution_worker_start(struct weir_execution_worker *self,
                                             struct weir_error *error)
{
    enum weir_status status = WEIR_OK;

    if (self->started || self->stopped)
        status = weir_error_set(error, WEIR_CLOSED, "it was started before");
    else if (self->kind_count == 0)
        status = weir_error_set(error, WEIR_INVALID, "no handler was added");
    if (status == WEIR_OK) {
        self->started = true;
        status = spawn_all(self, error);
        if (status == WEIR_OK) {
            for (int i = 0; i < WEIR_WORKER_NOTIFIERS; i++)
                weir_execution_worker_notify(self, (enum weir_worker_notifier_id)i);
        } else {
            (void)weir_execution_worker_stop(self, 0);
        }
    }
    if (status != WEIR_OK)
        weir_error_prefix(error, "start worker");
    return status;
}

void weir_execution_worker_read(struct weir_execution_worker *self,
                                struct weir_execution_worker_stats *out)
{
    weir_tasks_read(&self->tasks, out);
}

/* ---- the end ----------------------------------------------------------------------- */

static int64_t in(struct weir_execution_worker *self, int64_t duration_ns)
{
    return weir_sat_add_i64(weir_executor_now(self->executor), duration_ns);
}

static void stop_ward(struct weir_execution_worker *self, struct weir_ward *ward,
                      int64_t deadline_ns)
{
    (void)weir_ward_stop(ward, deadline_ns - weir_executor_now(self->executor));
}

size_t weir_execution_worker_stop(struct weir_execution_worker *self, int64_t grace_ns)
{
    int64_t grace_end_ns, last_ns;
    size_t left;

    if (!self->started || self->stopped)
        return 0;
    self->stopped = true;
    grace_end_ns = in(self, grace_ns > 0 ? grace_ns : 0);
    weir_tasks_close(&self->tasks);
    weir_execution_worker_notify(self, WEIR_NOTIFY_SETTLER);
    stop_ward(self, self->claimers, grace_end_ns);
    weir_tasks_wait(&self->tasks, WEIR_TASKS_NONE_HELD, grace_end_ns);

    weir_tasks_stop(&self->tasks);
    last_ns = in(self, LAST_NS);
    stop_ward(self, self->runners, last_ns);
    stop_ward(self, self->claimers, last_ns);
    weir_tasks_wait(&self->tasks, WEIR_TASKS_NONE_UNSETTLED, last_ns);
    stop_ward(self, self->internal_workers, last_ns);
    left = weir_tasks_held(&self->tasks);
    if (left > 0)
        weir_log_event(weir_db_log(self->executions->db), WEIR_LOG_WARNING,
                       "execution.worker_unfinished", "executions=%zu", left);
    return left;
}

/* They wait for the database and for nothing else. */
static void wait_for_internal_workers(struct weir_ward *ward)
{
    while (ward != NULL && weir_ward_stop(ward, INTERNAL_WORKERS_NS) > 0)
        ;
}

/* In a simulation its user is in the middle of something and cannot go on. */
static void close_engine(struct weir_execution_worker *self)
{
    weir_lock_acquire(&self->lock);
    self->closed = true;
    while (self->borrowers > 0 && !self->executor->simulated)
        (void)weir_cond_wait_until(&self->idle, &self->lock, WEIR_FOREVER);
    weir_lock_release(&self->lock);
}

struct weir_executions *weir_execution_worker_borrow(struct weir_execution_worker *self)
{
    struct weir_executions *executions = NULL;

    weir_lock_acquire(&self->lock);
    if (!self->closed) {
        executions = self->executions;
        self->borrowers++;
    }
    weir_lock_release(&self->lock);
    return executions;
}

void weir_execution_worker_give_back(struct weir_execution_worker *self)
{
    weir_lock_acquire(&self->lock);
    self->borrowers--;
    weir_cond_broadcast(&self->idle);
    weir_lock_release(&self->lock);
}

void weir_execution_worker_hold(struct weir_execution_worker *self)
{
    atomic_fetch_add(&self->holds, 1);
}

void weir_execution_worker_release(struct weir_execution_worker *self)
{
    const struct weir_heap *heap = self->heap;

    if (atomic_fetch_sub(&self->holds, 1) != 1)
        return;
    weir_tasks_fini(&self->tasks);
    for (int i = 0; i < WEIR_WORKER_NOTIFIERS; i++)
        weir_notifier_destroy(self->notifiers[i]);
    weir_cond_fini(&self->idle);
    weir_lock_fini(&self->lock);
    weir_arena_fini(&self->names);
    weir_heap_free(heap, self->leased);
    weir_heap_free(heap, self->renewals);
    weir_heap_free(heap, self);
}

void weir_execution_worker_destroy(struct weir_execution_worker *self)
{
    if (self == NULL)
        return;
    (void)weir_execution_worker_stop(self, 0);
    wait_for_internal_workers(self->claimers);
    wait_for_internal_workers(self->internal_workers);
    if (self->executor != NULL)
        close_engine(self);
    weir_ward_destroy(self->claimers);
    weir_ward_destroy(self->runners);
    weir_ward_destroy(self->internal_workers);
    if (self->own_executor)
        weir_executor_destroy(self->executor);
    weir_execution_worker_release(self);
}
