/*
 * ward.c - a list of workers and a way to end them all.
 *
 *   I1  workers is the list of those that have not ended, in the order they were spawned
 *   I2  nothing is spawned once cancelled
 *
 * Stopping does not depend on a free thread: the caller of weir_ward_stop() runs the
 * end of every worker that is not being executed itself, so one action that hangs makes
 * exactly one worker unfinished, even on a pool of one thread.
 */
#include "ward/ward.h"

#include <string.h>

#include "base/arith.h"
#include "base/assert.h"
#include "base/heap.h"
#include "ward/context.h"
#include "ward/name.h"
#include "ward/wait.h"
#include "ward/worker.h"

struct weir_ward {
    struct weir_executor *executor; /* a reference */
    _Atomic uint32_t references;
    weir_worker_end_fn on_end;
    void *state;
    char *name; /* behind this struct */

    /* guarded by the executor's lock */
    struct weir_list workers;  /* by weir_worker_ward_link() */
    struct weir_list guests;   /* of struct weir_ward_guest */
    struct weir_list stoppers; /* of struct weir_wait: the callers that wait in stop() */
    size_t worker_count;
    bool cancelled;
};

static void close_door(struct weir_ward *self) WEIR_REQUIRES(weir_executor_role);
static void run_ends(struct weir_ward *self, struct weir_context *context)
    WEIR_REQUIRES(weir_executor_role);
static bool inside_own_action(const struct weir_ward *self);

enum weir_status weir_ward_create(struct weir_executor *executor,
                                  const struct weir_ward_options *options,
                                  struct weir_ward **out, struct weir_error *error)
{
    enum weir_status status = weir_name_check("name", options->name, error);
    struct weir_ward *self;
    size_t name_size;

    *out = NULL;
    if (status != WEIR_OK) {
        weir_error_prefix(error, "create ward");
        return status;
    }
    name_size = strlen(options->name) + 1;
    self = weir_heap_zalloc(executor->heap, sizeof *self + name_size);
    if (self == NULL)
        return weir_error_set(error, WEIR_NO_MEMORY,
                              "create ward \"%.64s\": out of memory", options->name);
    weir_executor_retain(executor);
    self->executor = executor;
    atomic_init(&self->references, 1);
    self->on_end = options->on_end;
    self->state = options->state;
    self->name = (char *)(self + 1);
    memcpy(self->name, options->name, name_size);
    weir_list_init(&self->workers);
    weir_list_init(&self->guests);
    weir_list_init(&self->stoppers);
    *out = self;
    return WEIR_OK;
}

void weir_ward_destroy(struct weir_ward *self)
{
    if (self == NULL)
        return;
    (void)weir_ward_stop(self, 0);
    weir_ward_release(self);
}

void weir_ward_retain(struct weir_ward *self)
{
    atomic_fetch_add(&self->references, 1);
}

void weir_ward_release(struct weir_ward *self)
{
    struct weir_executor *executor = self->executor;

    if (atomic_fetch_sub(&self->references, 1) != 1)
        return;
    WEIR_ASSERT(self->worker_count == 0);
    weir_heap_free(executor->heap, self);
    weir_executor_release(executor);
}

enum weir_status weir_ward_spawn(struct weir_ward *self,
                                 const struct weir_worker_options *options,
                                 struct weir_worker **out, struct weir_error *error)
{
    struct weir_worker *worker;
    enum weir_status status;
    bool closed;

    if (out != NULL)
        *out = NULL;
    status = weir_worker_create(self, self->executor, options, &worker, error);
    if (status != WEIR_OK) {
        bool named = weir_name_check("name", options->name, NULL) == WEIR_OK;

        weir_error_prefix(error, "spawn worker \"%.64s\"", named ? options->name : "");
        return status;
    }
    if (out != NULL)
        weir_worker_retain(worker);

    weir_executor_lock(self->executor);
    closed = self->cancelled;
    if (!closed) {
        weir_list_append(&self->workers, weir_worker_ward_link(worker));
        self->worker_count++;
        weir_worker_start(worker);
    }
    weir_executor_unlock(self->executor);

    if (closed) {
        if (out != NULL)
            weir_worker_release(worker);
        weir_worker_release(worker);
        return weir_error_set(error, WEIR_CLOSED,
                              "spawn worker \"%.64s\": ward \"%.64s\" was "
                              "stopped",
                              options->name, self->name);
    }
    if (out != NULL)
        *out = worker;
    return WEIR_OK;
}

size_t weir_ward_count(struct weir_ward *self)
{
    size_t count;

    weir_executor_lock(self->executor);
    count = self->worker_count;
    weir_executor_unlock(self->executor);
    return count;
}

size_t weir_ward_read(struct weir_ward *self, struct weir_worker_info *out, size_t count)
{
    size_t read = 0;

    weir_executor_lock(self->executor);
    WEIR_LIST_EACH(link, &self->workers)
    {
        if (read == count)
            break;
        weir_worker_read_locked(weir_worker_from_ward_link(link), &out[read++]);
    }
    read = self->worker_count;
    weir_executor_unlock(self->executor);
    return read;
}

void weir_ward_cancel(struct weir_ward *self)
{
    weir_executor_lock(self->executor);
    close_door(self);
    WEIR_LIST_EACH(link, &self->workers)
    weir_worker_cancel_locked(weir_worker_from_ward_link(link));
    weir_executor_unlock(self->executor);
}

size_t weir_ward_stop(struct weir_ward *self, int64_t grace_ns)
{
    struct weir_context context;
    struct weir_parking parking;
    size_t unfinished;
    int64_t deadline_ns =
        weir_sat_add_i64(weir_executor_now(self->executor), grace_ns > 0 ? grace_ns : 0);

    weir_context_init(&context, self->executor);
    weir_parking_init(&parking, self->executor, self);
    weir_executor_lock(self->executor);
    close_door(self);
    run_ends(self, &context);
    if (self->worker_count > 0 && grace_ns > 0 && !inside_own_action(self)) {
        weir_list_append(&self->stoppers, &parking.wait.link);
        (void)weir_parking_wait(&parking, deadline_ns);
    }
    unfinished = self->worker_count;
    weir_executor_unlock(self->executor);
    weir_context_fini(&context);

    weir_log_event(&self->executor->log,
                   unfinished == 0 ? WEIR_LOG_DEBUG : WEIR_LOG_WARNING, "ward.stopped",
                   "ward=%s unfinished=%zu", self->name, unfinished);
    return unfinished;
}

struct weir_executor *weir_ward_executor(const struct weir_ward *self)
{
    return self->executor;
}

void weir_ward_report_end(struct weir_ward *self, struct weir_worker_end *end)
{
    end->ward = self->name;
    if (end->outcome == WEIR_WORKER_PANICKED)
        weir_log_event(&self->executor->log, WEIR_LOG_ERROR, "ward.worker_panicked",
                       "ward=%s worker=%s text=\"%s\"", self->name, end->worker,
                       end->text);
    else
        weir_log_event(&self->executor->log, WEIR_LOG_DEBUG, "ward.worker_ended",
                       "ward=%s worker=%s executions=%llu failures=%llu", self->name,
                       end->worker, (unsigned long long)end->executions,
                       (unsigned long long)end->failures);
    if (self->on_end != NULL)
        self->on_end(self->state, end);
}

void weir_ward_remove(struct weir_ward *self, struct weir_worker *worker)
{
    weir_list_remove(weir_worker_ward_link(worker));
    WEIR_ASSERT(self->worker_count > 0);
    self->worker_count--;
    if (self->worker_count > 0)
        return;
    while (weir_wait_wake_first(&self->stoppers, WEIR_WOKEN_BY_SIGNAL))
        ;
}

bool weir_ward_admit(struct weir_ward *self, struct weir_ward_guest *guest)
{
    if (self->cancelled)
        return false;
    weir_list_append(&self->guests, &guest->link);
    return true;
}

/* Nothing new from now on: no worker, no poke. */
static void close_door(struct weir_ward *self)
{
    struct weir_list *link;

    self->cancelled = true;
    while ((link = weir_list_take_first(&self->guests)) != NULL) {
        struct weir_ward_guest *guest =
            WEIR_CONTAINER_OF(link, struct weir_ward_guest, link);

        guest->cancel(guest);
    }
}

/*
 * Run the end of each worker that is not running. They are all taken before the first
 * is run: otherwise threads of the pool would be in the middle of some ends when
 * stop(0) counts.
 */
static void run_ends(struct weir_ward *self, struct weir_context *context)
{
    struct weir_list ends;
    struct weir_list *link;

    weir_list_init(&ends);
    WEIR_LIST_EACH(worker_link, &self->workers)
    {
        struct weir_worker *worker = weir_worker_from_ward_link(worker_link);

        if (weir_worker_seize(worker))
            weir_list_append(&ends, weir_worker_track_link(worker));
    }
    while ((link = weir_list_take_first(&ends)) != NULL)
        (void)weir_worker_run(weir_worker_from_track_link(link), context,
                              weir_executor_now(self->executor));
}

static bool inside_own_action(const struct weir_ward *self)
{
    const struct weir_context *context = weir_context_current();

    return context != NULL && weir_worker_ward(weir_context_worker(context)) == self;
}
