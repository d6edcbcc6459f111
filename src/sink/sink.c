/*
 * sink.c - schemes, and what all sinks have in common.
 */
#include "sink/sink.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "base/count.h"
#include "base/heap.h"
#include "base/nearest.h"
#include "base/no_memory.h"
#include "base/permissions.h"
#include "base/text.h"
#include "outbox/delivery/batch.h"
#include "weir/time.h"

static const struct weir_sink_ops *const KINDS[] = {
    &weir_stdout_sink,
    &weir_file_sink,
    &weir_exec_sink,
    &weir_exec_stream_sink,
};

enum { KIND_COUNT = COUNT_OF(KINDS), SCHEME_SIZE = 32 };

static const struct weir_sink_ops *find_kind(const char *scheme);
static enum weir_status refuse(const char *url, const char *scheme,
                               struct weir_error *error);

void weir_sink_options_init(struct weir_sink_options *self)
{
    *self = (struct weir_sink_options){.stop_grace_ns = WEIR_SECONDS(2),
                                       .permissions = WEIR_PERMISSIONS_OWNER};
}

/* The part before the colon; "" when there is none, or a longer one than any we know. */
static const char *split(const char *url, char *scheme)
{
    const char *colon = strchr(url, ':');
    size_t size = colon != NULL ? (size_t)(colon - url) : 0;

    if (size >= SCHEME_SIZE)
        size = 0;
    memcpy(scheme, url, size);
    scheme[size] = '\0';
    return colon != NULL ? colon + 1 : "";
}

enum weir_status weir_sink_open(const char *url, const struct weir_sink_options *options,
                                struct weir_sink **out, struct weir_error *error)
{
    struct weir_sink_options filled = *options;
    char scheme[SCHEME_SIZE];
    const char *target = split(url, scheme);
    const struct weir_sink_ops *ops = find_kind(scheme);
    struct weir_sink *self = NULL;
    char *copy;
    enum weir_status status;

    *out = NULL;
    if (filled.heap == NULL)
        filled.heap = weir_heap_system();
    if (ops == NULL)
        return refuse(url, scheme, error);
    copy = weir_heap_copy(filled.heap, url, strlen(url));
    if (copy == NULL)
        return weir_no_memory(error, "open sink");
    status = ops->open(&filled, target, &self, error);
    if (status != WEIR_OK) {
        weir_heap_free(filled.heap, copy);
        return status;
    }
    self->ops = ops;
    self->options = filled;
    self->url = copy;
    atomic_init(&self->halted, false);
    self->health = (struct weir_sink_health){.status = WEIR_OK};
    status = weir_lock_init(&self->lock);
    if (status != WEIR_OK) {
        ops->close(self);
        weir_heap_free(filled.heap, copy);
        return weir_error_set(error, status, "open sink: no lock");
    }
    *out = self;
    return WEIR_OK;
}

void weir_sink_close(struct weir_sink *self)
{
    const struct weir_heap *heap;
    char *url;

    if (self == NULL)
        return;
    heap = self->options.heap;
    url = self->url;
    weir_lock_fini(&self->lock);
    self->ops->close(self);
    weir_heap_free(heap, url);
}

enum weir_outcome weir_sink_deliver(struct weir_sink *self, struct weir_batch *batch,
                                    struct weir_reason *reason)
{
    enum weir_outcome outcome = self->ops->deliver(self, batch, reason);

    weir_reason_mend(reason, outcome);
    weir_lock_acquire(&self->lock);
    if (outcome == WEIR_RETRY) {
        if (self->health.status == WEIR_OK)
            self->health.status = WEIR_FAILED;
        (void)weir_text_format(self->health.text, sizeof self->health.text, "%s",
                               reason->text);
    } else if (weir_batch_processed(batch) > 0) {
        self->health = (struct weir_sink_health){.status = WEIR_OK};
    }
    weir_lock_release(&self->lock);
    return outcome;
}

void weir_sink_halt(struct weir_sink *self)
{
    self->halted = true;
}

bool weir_sink_stopped(const struct weir_sink *self, const struct weir_batch *batch)
{
    return self->halted || weir_batch_stopped(batch);
}

uint32_t weir_sink_batch(const struct weir_sink *self)
{
    return self->ops->batch;
}

const char *weir_sink_name(const struct weir_sink *self)
{
    return self->url;
}

void weir_sink_read_health(struct weir_sink *self, struct weir_sink_health *out)
{
    weir_lock_acquire(&self->lock);
    *out = self->health;
    weir_lock_release(&self->lock);
}

void weir_sink_note(struct weir_sink *self, enum weir_status status, const char *text)
{
    weir_lock_acquire(&self->lock);
    self->health.status = status;
    (void)weir_text_format(self->health.text, sizeof self->health.text, "%s", text);
    weir_lock_release(&self->lock);
}

static enum weir_status class_of(int number)
{
    switch (number) {
    case ENOENT:
    case ENOTDIR:
        return WEIR_NOT_FOUND;
    case EACCES:
    case EPERM:
    case EROFS:
        return WEIR_DENIED;
    case ENOMEM:
        return WEIR_NO_MEMORY;
    default:
        return WEIR_SYSTEM;
    }
}

enum weir_status weir_sink_system_error(struct weir_error *error, int number,
                                        const char *format, ...)
{
    char what[WEIR_ERROR_TEXT_SIZE];
    char why[64];
    va_list arguments;

    va_start(arguments, format);
    (void)weir_text_format_list(what, sizeof what, format, arguments);
    va_end(arguments);
    return weir_error_set(error, class_of(number), "%s: %s", what,
                          strerror_r(number, why, sizeof why));
}

const struct weir_sink_ops *weir_sink_kind(size_t index)
{
    return index < KIND_COUNT ? KINDS[index] : NULL;
}

static const struct weir_sink_ops *find_kind(const char *scheme)
{
    for (size_t i = 0; i < KIND_COUNT; i++) {
        if (strcmp(KINDS[i]->scheme, scheme) == 0)
            return KINDS[i];
    }
    return NULL;
}

static enum weir_status refuse(const char *url, const char *scheme,
                               struct weir_error *error)
{
    const char *schemes[KIND_COUNT];
    const char *nearest;

    for (size_t i = 0; i < KIND_COUNT; i++)
        schemes[i] = KINDS[i]->scheme;
    /* Without a colon it may be a scheme whose colon was forgotten. */
    nearest = weir_nearest_find(scheme[0] != '\0' ? scheme : url, schemes, KIND_COUNT);
    if (nearest != NULL)
        return weir_error_set(error, WEIR_INVALID,
                              "no sink \"%.100s\"; did you mean \"%s\"?", url,
                              find_kind(nearest)->usage);
    return weir_error_set(
        error, WEIR_INVALID,
        "no sink \"%.100s\"; there are stdout:, file:PATH, exec:COMMAND "
        "and exec-stream:COMMAND",
        url);
}
