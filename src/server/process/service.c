/*
 * service.c - see service.h.
 */
#include "server/process/service.h"

#include <stdbool.h>
#include <string.h>

#include "base/heap.h"
#include "base/log.h"
#include "base/text.h"
#include "ward/lock.h"
#include "weir/executor.h"
#include "weir/notifier.h"
#include "weir/ward.h"

enum { NAME_SIZE = 128 };

struct weir_service {
    const struct weir_heap *heap; /* borrowed */
    struct weir_log log;
    char name[NAME_SIZE];
    const struct weir_service_kind *kind;
    void *state; /* borrowed */
    struct weir_executor *executor;
    struct weir_notifier *begin;
    struct weir_ward *ward;
    bool open; /* of the worker, and of stop() after it */

    struct weir_lock lock; /* guards all that follows */
    struct weir_service_status status;
};

/* The log hears of what has changed, and of nothing else. */
static void note(struct weir_service *self, bool running, const char *text)
{
    bool changed;
    bool began;

    weir_lock_acquire(&self->lock);
    changed = strcmp(self->status.text, text) != 0;
    began = running && !self->status.running;
    self->status.running = running;
    weir_text_format(self->status.text, sizeof self->status.text, "%s", text);
    weir_lock_release(&self->lock);
    if (changed && text[0] != '\0')
        weir_log_event(&self->log, WEIR_LOG_WARNING, "server.service_failing",
                       "kind=%s name=%s error=\"%s\"", self->kind->name, self->name,
                       text);
    else if (changed || began)
        weir_log_event(&self->log, WEIR_LOG_INFO, "server.service_running",
                       "kind=%s name=%s", self->kind->name, self->name);
}

static enum weir_status open_it(struct weir_service *self, struct weir_error *error)
{
    enum weir_status status = self->kind->open(self->state, error);

    if (status == WEIR_OK)
        self->open = true;
    return status;
}

static enum weir_status look_after(struct weir_service *self, struct weir_error *error)
{
    enum weir_status status = self->kind->look(self->state, error);

    if (status != WEIR_OK) {
        self->kind->close(self->state, 0);
        self->open = false;
    }
    return status;
}

static enum weir_status work(struct weir_context *context, void *state,
                             struct weir_directive *out, struct weir_error *error)
{
    struct weir_service *self = state;
    enum weir_status status = self->open ? look_after(self, error) : open_it(self, error);

    (void)context;
    note(self, status == WEIR_OK, error->text);
    *out = weir_sleep_for(WEIR_SECONDS(1));
    return status;
}

static enum weir_status start(struct weir_service *self, struct weir_error *error)
{
    struct weir_executor_options executor;
    struct weir_ward_options ward = {.name = self->kind->name};
    struct weir_worker_options worker;
    enum weir_status status;

    weir_executor_options_init(&executor);
    executor.heap = self->heap;
    executor.threads = 1;
    weir_worker_options_init(&worker);
    worker.name = self->kind->name;
    worker.action = work;
    worker.state = self;
    worker.notifiers = &self->begin;
    worker.notifier_count = 1;
    worker.on_panic = WEIR_ON_PANIC_RETRY;
    status = weir_backoff_init(&worker.backoff, WEIR_MILLISECONDS(100), WEIR_SECONDS(5),
                               2.0, error);
    if (status == WEIR_OK)
        status = weir_executor_create(&executor, &self->executor, error);
    if (status == WEIR_OK)
        status = weir_notifier_create(self->executor, &self->begin);
    if (status == WEIR_OK)
        status = weir_ward_create(self->executor, &ward, &self->ward, error);
    if (status == WEIR_OK)
        status = weir_ward_spawn(self->ward, &worker, NULL, error);
    if (status == WEIR_OK)
        weir_notifier_notify_one(self->begin);
    return status;
}

enum weir_status weir_service_create(const struct weir_heap *heap,
                                     const struct weir_log *log, const char *name,
                                     const struct weir_service_kind *kind, void *state,
                                     struct weir_service **out, struct weir_error *error)
{
    struct weir_service *self = weir_heap_zalloc(heap, sizeof *self);
    enum weir_status status;

    *out = NULL;
    if (self == NULL)
        return weir_error_set(error, WEIR_NO_MEMORY, "out of memory");
    self->heap = heap;
    self->log = *log;
    self->kind = kind;
    self->state = state;
    weir_text_format(self->name, sizeof self->name, "%s", name);
    status = weir_lock_init(&self->lock);
    if (status != WEIR_OK) {
        weir_heap_free(heap, self);
        return weir_error_set(error, status, "no lock could be made");
    }
    status = start(self, error);
    if (status != WEIR_OK) {
        weir_service_destroy(self);
        return status;
    }
    *out = self;
    return WEIR_OK;
}

size_t weir_service_stop(struct weir_service *self, int64_t grace_ns)
{
    size_t unfinished = self->ward != NULL ? weir_ward_stop(self->ward, grace_ns) : 0;

    if (unfinished > 0 || !self->open)
        return unfinished;
    self->open = false;
    return self->kind->close(self->state, grace_ns);
}

void weir_service_destroy(struct weir_service *self)
{
    if (self == NULL)
        return;
    if (weir_service_stop(self, 0) > 0 && weir_ward_count(self->ward) > 0)
        return; /* its thread still uses it */
    weir_ward_destroy(self->ward);
    weir_notifier_destroy(self->begin);
    weir_executor_destroy(self->executor);
    weir_lock_fini(&self->lock);
    weir_heap_free(self->heap, self);
}

void weir_service_read_status(struct weir_service *self, struct weir_service_status *out)
{
    weir_lock_acquire(&self->lock);
    *out = self->status;
    weir_lock_release(&self->lock);
}
