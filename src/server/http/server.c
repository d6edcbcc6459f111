/*
 * server.c - see server.h.
 */
#include "server/http/server.h"

#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/heap.h"
#include "base/no_memory.h"
#include "server/http/server_parts.h"
#include "weir/time.h"

void weir_http_limits_init(struct weir_http_limits *self)
{
    *self = (struct weir_http_limits){
        .connections_max = 12000,
        .header_timeout_ns = 10 * INT64_C(1000000000),
        .body_timeout_ns = 30 * INT64_C(1000000000),
        .write_timeout_ns = 30 * INT64_C(1000000000),
        .idle_timeout_ns = 75 * INT64_C(1000000000),
        .header_max = 16 << 10,
        .body_max = 16 << 20,
        .memory_max = 64 << 20,
        .stream_max = 1 << 20,
    };
}

static enum weir_status check_limits(const struct weir_http_limits *limits,
                                     struct weir_error *error)
{
    const char *what = NULL;

    if (limits->connections_max == 0)
        what = "connections_max is 0";
    else if (limits->header_timeout_ns <= 0 || limits->body_timeout_ns <= 0 ||
             limits->write_timeout_ns <= 0 || limits->idle_timeout_ns <= 0)
        what = "a timeout is not positive";
    else if (limits->header_max < 256 || limits->header_max > WEIR_HTTP_HEADER_MAX_MAX)
        what = "header_max must be between 256 bytes and 256 KiB";
    else if (limits->memory_max == 0 || limits->stream_max == 0)
        what = "memory_max or stream_max is 0";
    if (what == NULL)
        return WEIR_OK;
    return weir_error_set(error, WEIR_INVALID, "limits of the HTTP server: %s", what);
}

static bool needs_tls(const struct weir_http_options *options)
{
    for (uint32_t i = 0; i < options->listener_count; i++)
        if (options->listeners[i].tls)
            return true;
    return false;
}

static bool is_header_text(const char *text)
{
    for (; *text != '\0'; text++)
        if (*text < 0x20 || *text > 0x7e)
            return false;
    return true;
}

static enum weir_status check_options(const struct weir_http_options *options,
                                      struct weir_error *error)
{
    const char *what = NULL;

    if (options->listener_count == 0 || options->listener_count > WEIR_HTTP_LISTENERS_MAX)
        what = "the number of listeners must be 1 to 16";
    else if (options->loop_count == 0 || options->loop_count > WEIR_HTTP_LOOPS_MAX)
        what = "the number of loops must be 1 to 16";
    else if (needs_tls(options) && options->tls == NULL)
        what = "a listener needs a certificate";
    else if (strlen(options->name) >= WEIR_HTTP_NAME_SIZE ||
             !is_header_text(options->name))
        what = "the name must be printable ASCII of at most 127 characters";
    if (what != NULL)
        return weir_error_set(error, WEIR_INVALID, "HTTP server: %s", what);
    return check_limits(&options->limits, error);
}

static void set_options(struct weir_http_server *self,
                        const struct weir_http_options *options)
{
    self->heap = options->heap;
    self->log = options->log;
    self->points = options->points;
    self->handler = options->handler;
    self->limits = options->limits;
    snprintf(self->name, sizeof self->name, "%s", options->name);
    atomic_init(&self->budget.max, options->limits.memory_max);
    atomic_init(&self->stop_deadline_ns, WEIR_FOREVER);
    if (options->tls != NULL)
        self->tls = weir_http_tls_hold(options->tls);
    weir_http_address_counts_init(&self->addresses, self->heap);
}

static enum weir_status open_listeners(struct weir_http_server *self,
                                       const struct weir_http_options *options,
                                       struct weir_error *error)
{
    enum weir_status status = WEIR_OK;

    for (uint32_t i = 0; i < options->listener_count && status == WEIR_OK; i++) {
        struct weir_http_listener *listener = &self->listeners[i];

        status = weir_http_listener_open(listener, &options->listeners[i], error);
        listener->index = i;
        self->listener_count++;
    }
    return status;
}

static enum weir_status make_loops(struct weir_http_server *self, uint32_t count,
                                   struct weir_error *error)
{
    enum weir_status status = WEIR_OK;

    self->loops = weir_heap_zalloc_array(self->heap, count, sizeof *self->loops);
    if (self->loops == NULL)
        return weir_no_memory(error, "loops of the HTTP server");
    for (; self->loop_count < count && status == WEIR_OK; self->loop_count++)
        status = weir_http_loop_init(&self->loops[self->loop_count], self);
    if (status == WEIR_NO_MEMORY)
        return weir_no_memory(error, "loops of the HTTP server");
    if (status != WEIR_OK)
        return weir_error_set(error, status, "no descriptors for the HTTP server");
    return WEIR_OK;
}

enum weir_status weir_http_server_create(const struct weir_http_options *options,
                                         struct weir_http_server **out,
                                         struct weir_error *error)
{
    enum weir_status status = check_options(options, error);
    struct weir_http_server *self;

    *out = NULL;
    if (status != WEIR_OK)
        return status;
    self = weir_heap_zalloc(options->heap, sizeof *self);
    if (self == NULL)
        return weir_no_memory(error, "HTTP server");
    status = weir_lock_init(&self->lock);
    if (status != WEIR_OK) {
        weir_heap_free(options->heap, self);
        return weir_error_set(error, status, "no lock for the HTTP server");
    }
    set_options(self, options);
    status = open_listeners(self, options, error);
    if (status == WEIR_OK)
        status = make_loops(self, options->loop_count, error);
    if (status == WEIR_OK)
        *out = self;
    else
        weir_http_server_destroy(self);
    return status;
}

enum weir_status weir_http_server_start(struct weir_http_server *self,
                                        struct weir_error *error)
{
    for (uint32_t i = 0; i < self->loop_count; i++)
        if (weir_http_loop_start(&self->loops[i]) != WEIR_OK)
            return weir_error_set(error, WEIR_SYSTEM, "no thread for the HTTP server");
    return WEIR_OK;
}

const char *weir_http_server_address(const struct weir_http_server *self, uint32_t index)
{
    WEIR_ASSERT(index < self->listener_count);
    return self->listeners[index].address;
}

static void signal_loops(struct weir_http_server *self)
{
    for (uint32_t i = 0; i < self->loop_count; i++)
        weir_http_loop_signal(&self->loops[i]);
}

void weir_http_server_drain(struct weir_http_server *self)
{
    atomic_store(&self->draining, true);
    signal_loops(self);
}

bool weir_http_server_draining(const struct weir_http_server *self)
{
    return atomic_load(&self->draining);
}

uint32_t weir_http_server_stop(struct weir_http_server *self, int64_t deadline_ns)
{
    uint32_t open = 0;

    if (!self->stopped) {
        atomic_store(&self->draining, true);
        atomic_store(&self->stop_deadline_ns, deadline_ns);
        atomic_store(&self->stopping, true);
        signal_loops(self);
        for (uint32_t i = 0; i < self->loop_count; i++)
            weir_http_loop_join(&self->loops[i]);
        for (uint32_t i = 0; i < self->listener_count; i++)
            weir_http_listener_close(&self->listeners[i]);
        self->stopped = true;
    }
    for (uint32_t i = 0; i < self->loop_count; i++)
        open += weir_http_loop_count_open(&self->loops[i]);
    return open;
}

void weir_http_server_destroy(struct weir_http_server *self)
{
    if (self == NULL)
        return;
    if (self->loops != NULL)
        (void)weir_http_server_stop(self, 0);
    for (uint32_t i = 0; i < self->loop_count; i++)
        weir_http_loop_fini(&self->loops[i]);
    for (uint32_t i = 0; i < self->listener_count; i++)
        weir_http_listener_close(&self->listeners[i]);
    weir_heap_free(self->heap, self->loops);
    weir_http_tls_release(self->tls);
    weir_http_address_counts_fini(&self->addresses);
    weir_lock_fini(&self->lock);
    weir_heap_free(self->heap, self);
}

enum weir_status weir_http_server_set_limits(struct weir_http_server *self,
                                             const struct weir_http_limits *limits,
                                             struct weir_error *error)
{
    enum weir_status status = check_limits(limits, error);

    if (status != WEIR_OK)
        return status;
    weir_lock_acquire(&self->lock);
    self->limits = *limits;
    weir_lock_release(&self->lock);
    atomic_store(&self->budget.max, limits->memory_max);
    atomic_fetch_add(&self->limits_version, 1);
    signal_loops(self);
    return WEIR_OK;
}

void weir_http_server_set_tls(struct weir_http_server *self, struct weir_http_tls *tls)
{
    struct weir_http_tls *before;

    weir_lock_acquire(&self->lock);
    before = self->tls;
    self->tls = weir_http_tls_hold(tls);
    weir_lock_release(&self->lock);
    weir_http_tls_release(before);
}

void weir_http_count_answer(struct weir_http_server *server, uint32_t status)
{
    if (status < 300)
        WEIR_HTTP_COUNT(server, answered_2xx_total, 1);
    else if (status < 400)
        WEIR_HTTP_COUNT(server, answered_3xx_total, 1);
    else if (status < 500)
        WEIR_HTTP_COUNT(server, answered_4xx_total, 1);
    else
        WEIR_HTTP_COUNT(server, answered_5xx_total, 1);
}

void weir_http_server_read_stats(const struct weir_http_server *self,
                                 struct weir_http_stats *out)
{
#define READ(name) out->name = atomic_load(&self->counters.name);
    WEIR_HTTP_STATS(READ)
#undef READ
    out->memory_bytes = atomic_load(&self->budget.used);
}

int64_t weir_http_server_last_run_ns(const struct weir_http_server *self)
{
    int64_t last_ns = INT64_MAX;

    for (uint32_t i = 0; i < self->loop_count; i++) {
        int64_t one_ns = atomic_load(&self->loops[i].last_run_ns);

        if (one_ns < last_ns)
            last_ns = one_ns;
    }
    return last_ns;
}
