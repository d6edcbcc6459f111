/*
 * fixture.c - see fixture.h.
 */
#include "kit/http/fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "kit/test.h"
#include "ward/system.h"
#include "weir/time.h"

/* One parked exchange; in the memory of the exchange. */
struct http_parked {
    struct http_parked *next;
    struct http_fixture *fixture;
    struct weir_http_exchange *exchange;
    bool answers; /* by itself, at an event */
};

void http_answer(struct weir_http_exchange *exchange, uint32_t status, const char *text)
{
    struct weir_http_response response = {
        .status = status,
        .content_type = "text/plain",
        .text = weir_str(text),
    };

    weir_http_exchange_answer(exchange, &response);
}

/* --- parked -------------------------------------------------------------------- */

static void append(struct http_fixture *self, struct http_parked *parked)
{
    struct http_parked **last = &self->parked;

    while (*last != NULL)
        last = &(*last)->next;
    *last = parked;
}

static bool take_out(struct http_fixture *self, struct http_parked *parked)
{
    struct http_parked **at = &self->parked;

    while (*at != NULL && *at != parked)
        at = &(*at)->next;
    if (*at == NULL)
        return false;
    *at = parked->next;
    return true;
}

static void on_event(struct weir_http_exchange *exchange, void *state,
                     enum weir_http_event event)
{
    static const char *const texts[] = {"gone", "expired", "draining"};
    struct http_parked *parked = state;
    struct http_fixture *self = parked->fixture;
    bool mine = false;

    pthread_mutex_lock(&self->lock);
    if (parked->answers && event <= WEIR_HTTP_DRAINING)
        mine = take_out(self, parked);
    self->events[event]++;
    pthread_mutex_unlock(&self->lock);
    if (mine)
        http_answer(exchange, 200, texts[event]);
}

static void park(struct http_fixture *self, struct weir_http_exchange *exchange,
                 int64_t deadline_ns, bool answers)
{
    struct http_parked *parked = weir_http_exchange_alloc(exchange, sizeof *parked);

    if (parked == NULL) {
        http_answer(exchange, 503, "no memory");
        return;
    }
    parked->fixture = self;
    parked->exchange = exchange;
    parked->answers = answers;
    weir_http_exchange_set_state(exchange, parked);
    pthread_mutex_lock(&self->lock);
    weir_http_exchange_park(exchange, on_event, deadline_ns);
    append(self, parked);
    pthread_mutex_unlock(&self->lock);
}

struct weir_http_exchange *http_fixture_take(struct http_fixture *self)
{
    struct weir_http_exchange *exchange = NULL;

    pthread_mutex_lock(&self->lock);
    if (self->parked != NULL) {
        exchange = self->parked->exchange;
        self->parked = self->parked->next;
    }
    pthread_mutex_unlock(&self->lock);
    return exchange;
}

void http_fixture_answer(struct http_fixture *self, const char *text)
{
    struct weir_http_exchange *exchange = http_fixture_take(self);

    check(exchange != NULL);
    http_answer(exchange, 200, text);
}

static uint32_t count_parked(struct http_fixture *self)
{
    uint32_t count = 0;

    pthread_mutex_lock(&self->lock);
    for (struct http_parked *parked = self->parked; parked != NULL; parked = parked->next)
        count++;
    pthread_mutex_unlock(&self->lock);
    return count;
}

uint32_t http_fixture_events(struct http_fixture *self, enum weir_http_event event)
{
    uint32_t count;

    pthread_mutex_lock(&self->lock);
    count = self->events[event];
    pthread_mutex_unlock(&self->lock);
    return count;
}

void http_fixture_wait_parked(struct http_fixture *self, uint32_t count)
{
    int64_t until_ns = weir_system_now_ns() + HTTP_WAIT_MS * INT64_C(1000000);

    while (count_parked(self) < count) {
        check(weir_system_now_ns() < until_ns);
        weir_system_sleep_ns(1000000);
    }
}

void http_fixture_wait_event(struct http_fixture *self, enum weir_http_event event,
                             uint32_t count)
{
    int64_t until_ns = weir_system_now_ns() + HTTP_WAIT_MS * INT64_C(1000000);

    while (http_fixture_events(self, event) < count) {
        check(weir_system_now_ns() < until_ns);
        weir_system_sleep_ns(1000000);
    }
}

/* --- handler ------------------------------------------------------------------- */

static bool begins(const struct weir_http_request *request, const char *name)
{
    return request->segment_count > 0 &&
           weir_str_equal(request->segments[0], weir_str(name));
}

static void append_pair(struct weir_buf *buf, struct weir_http_pair pair)
{
    weir_buf_append(buf, pair.name.data, pair.name.size);
    weir_buf_append_text(buf, "=");
    weir_buf_append(buf, pair.value.data, pair.value.size);
    weir_buf_append_text(buf, "\n");
}

static void answer_buf(struct weir_http_exchange *exchange, struct weir_buf *buf)
{
    struct weir_http_response response = {
        .status = 200,
        .content_type = "text/plain",
        .buffer = buf,
    };

    weir_http_exchange_answer(exchange, &response);
}

static void show(struct weir_http_exchange *exchange)
{
    const struct weir_http_request *request = weir_http_exchange_request(exchange);
    struct weir_buf buf;

    weir_buf_init(&buf, weir_http_exchange_heap(exchange), 1 << 20);
    weir_buf_append(&buf, request->method_name.data, request->method_name.size);
    weir_buf_append_text(&buf, "\n");
    for (uint32_t i = 0; i < request->segment_count; i++) {
        weir_buf_append_text(&buf, "[");
        weir_buf_append(&buf, request->segments[i].data, request->segments[i].size);
        weir_buf_append_text(&buf, "]");
    }
    weir_buf_append_text(&buf, "\n");
    for (uint32_t i = 0; i < request->param_count; i++)
        append_pair(&buf, request->params[i]);
    for (uint32_t i = 0; i < request->header_count; i++)
        if (memcmp(request->headers[i].name.data, "x-", 2) == 0)
            append_pair(&buf, request->headers[i]);
    weir_buf_append_format(&buf, "peer %s uid %d tls %d\n", request->peer.address,
                           request->peer.has_uid ? (int)request->peer.uid : -1,
                           request->peer.tls);
    for (uint32_t i = 0; i < request->peer.certificate_name_count; i++) {
        struct weir_str name = request->peer.certificate_names[i];

        weir_buf_append_format(&buf, "certificate %.*s\n", (int)name.size, name.data);
    }
    answer_buf(exchange, &buf);
}

/* The second segment as a number. */
static unsigned long number(const struct weir_http_request *request)
{
    char text[32] = "";

    if (request->segment_count > 1)
        snprintf(text, sizeof text, "%.*s", (int)request->segments[1].size,
                 request->segments[1].data);
    return strtoul(text, NULL, 10);
}

static void answer_large(struct weir_http_exchange *exchange, size_t size)
{
    static const char line[] =
        "0123456789abcdefghijklmnopqrstuvwxyz0123456789abcdefghijk\n";
    struct weir_buf buf;

    weir_buf_init(&buf, weir_http_exchange_heap(exchange), SIZE_MAX - 1);
    for (size_t i = 0; i < size; i += sizeof line - 1)
        weir_buf_append(&buf, line,
                        size - i < sizeof line - 1 ? size - i : sizeof line - 1);
    answer_buf(exchange, &buf);
}

static void begin_stream(struct http_fixture *self, struct weir_http_exchange *exchange)
{
    struct weir_http_response response = {.status = 200, .content_type = "text/plain"};

    if (weir_http_exchange_begin(exchange, &response) != WEIR_OK)
        weir_http_exchange_cut(exchange);
    else
        park(self, exchange, WEIR_FOREVER, false);
}

static enum weir_http_admission admit(void *context, struct weir_http_exchange *exchange)
{
    (void)context;
    if (begins(weir_http_exchange_request(exchange), "deny")) {
        http_answer(exchange, 401, "denied");
        return WEIR_HTTP_ANSWERED;
    }
    if (begins(weir_http_exchange_request(exchange), "small"))
        weir_http_exchange_set_body_max(exchange, 10);
    return WEIR_HTTP_ADMITTED;
}

static void answer_body(struct weir_http_exchange *exchange)
{
    struct weir_http_response response = {
        .status = 200,
        .content_type = "text/plain",
        .text = weir_http_exchange_request(exchange)->body,
    };

    weir_http_exchange_answer(exchange, &response);
}

static void handle(void *context, struct weir_http_exchange *exchange)
{
    const struct weir_http_request *request = weir_http_exchange_request(exchange);
    struct http_fixture *self = context;

    atomic_fetch_add(&self->handled, 1);
    if (begins(request, "hello"))
        http_answer(exchange, 200, "hello");
    else if (begins(request, "echo") || begins(request, "small"))
        answer_body(exchange);
    else if (begins(request, "show"))
        show(exchange);
    else if (begins(request, "large"))
        answer_large(exchange, number(request));
    else if (begins(request, "park") && request->segment_count > 1)
        park(self, exchange,
             weir_system_now_ns() + (int64_t)number(request) * INT64_C(1000000), true);
    else if (begins(request, "park"))
        park(self, exchange, WEIR_FOREVER, false);
    else if (begins(request, "stream"))
        begin_stream(self, exchange);
    else if (begins(request, "cut"))
        weir_http_exchange_cut(exchange);
    else
        http_answer(exchange, 404, "no route");
}

/* --- life ---------------------------------------------------------------------- */

void http_fixture_init(struct http_fixture *self)
{
    memset(self, 0, sizeof *self);
    weir_faulty_heap_init(&self->heap);
    weir_fault_points_init(&self->points);
    pthread_mutex_init(&self->lock, NULL);
    self->listener = (struct weir_http_listener_options){
        .address = "127.0.0.1:0",
        .fd = -1,
        .unix_mode = 0600,
    };
    self->options = (struct weir_http_options){
        .listeners = &self->listener,
        .listener_count = 1,
        .loop_count = 1,
        .name = "test",
        .handler = {.admit = admit, .handle = handle, .context = self},
        .heap = &self->heap.heap,
        .points = &self->points,
    };
    weir_http_limits_init(&self->options.limits);
}

void http_fixture_start(struct http_fixture *self)
{
    struct weir_error error = {0};

    if (weir_http_server_create(&self->options, &self->server, &error) != WEIR_OK ||
        weir_http_server_start(self->server, &error) != WEIR_OK)
        weir_test_fail(__FILE__, __LINE__, "%s", error.text);
}

void http_fixture_open(struct http_fixture *self)
{
    http_fixture_init(self);
    http_fixture_start(self);
}

void http_fixture_close(struct http_fixture *self)
{
    struct weir_http_exchange *exchange;

    (void)weir_http_server_stop(self->server, 0);
    while ((exchange = http_fixture_take(self)) != NULL)
        weir_http_exchange_cut(exchange);
    weir_http_server_destroy(self->server);
    check_int(self->heap.outstanding, 0);
    pthread_mutex_destroy(&self->lock);
}

const char *http_fixture_address(const struct http_fixture *self)
{
    return weir_http_server_address(self->server, 0);
}

struct weir_http_stats http_fixture_stats(const struct http_fixture *self)
{
    struct weir_http_stats stats;

    weir_http_server_read_stats(self->server, &stats);
    return stats;
}
