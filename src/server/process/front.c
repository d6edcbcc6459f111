/*
 * front.c - see front.h.
 *
 * The call lives in the memory of its exchange, which is gone with the answer. So the
 * answer is the last thing that is done with either.
 */
#include "server/process/front.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"

enum { TEXT_SIZE = 128, HEADERS_MAX = 3 };

struct front_call {
    struct weir_api_call call; /* first */
    struct weir_http_exchange *exchange;
};

/* ---- the answer -------------------------------------------------------------------- */

struct headers {
    struct weir_http_pair pairs[HEADERS_MAX];
    uint32_t count;
    char allow[TEXT_SIZE];
    char retry_after[TEXT_SIZE];
};

static void add_header(struct headers *self, const char *name, const char *value)
{
    self->pairs[self->count++] = (struct weir_http_pair){weir_str(name), weir_str(value)};
}

/* What belongs to a status, beside what the HTTP layer adds. */
static void make_headers(struct headers *self, const struct weir_api_call *call,
                         const struct weir_heap *heap)
{
    struct weir_buf allow;

    self->count = 0;
    if (call->problem.code == WEIR_PROBLEM_METHOD_NOT_ALLOWED) {
        weir_buf_init(&allow, heap, sizeof self->allow - 1);
        weir_method_append(call->methods, &allow);
        weir_text_format(self->allow, sizeof self->allow, "%s", weir_buf_text(&allow));
        weir_buf_fini(&allow);
        add_header(self, "Allow", self->allow);
    }
    if (call->status == 401)
        add_header(self, "WWW-Authenticate", "Bearer");
    if (call->problem.retry_after_seconds >= 0) {
        weir_text_format(self->retry_after, sizeof self->retry_after, "%" PRId64,
                         call->problem.retry_after_seconds);
        add_header(self, "Retry-After", self->retry_after);
    }
}

static void answer(struct weir_http_exchange *exchange, struct weir_api_call *call)
{
    const struct weir_http_request *request = weir_http_exchange_request(exchange);
    struct weir_http_response response = {
        .status = call->status, .content_type = call->type, .buffer = &call->body};
    struct headers headers;

    make_headers(&headers, call, weir_http_exchange_heap(exchange));
    response.headers = headers.pairs;
    response.header_count = headers.count;
    if (request->method == WEIR_HTTP_OPTIONS &&
        call->problem.code == WEIR_PROBLEM_METHOD_NOT_ALLOWED) {
        response.status = 204;
        response.content_type = NULL;
        response.buffer = NULL;
        weir_buf_fini(&call->body);
    }
    weir_http_exchange_answer(exchange, &response);
}

static void ended(struct weir_api_call *call)
{
    struct front_call *self = (struct front_call *)(void *)call;

    answer(self->exchange, call);
}

static void answer_text(struct weir_http_exchange *exchange, uint32_t status,
                        const char *text)
{
    struct weir_http_response response = {
        .status = status, .content_type = "text/plain", .text = weir_str(text)};

    weir_http_exchange_answer(exchange, &response);
}

/* ---- the request ------------------------------------------------------------------- */

/* False: a path or a query that is longer than any of ours can be. */
static bool read_target(struct weir_target *target,
                        const struct weir_http_request *request)
{
    for (uint32_t i = 0; i < request->segment_count; i++)
        if (!weir_target_add_segment(target, request->segments[i]))
            return false;
    for (uint32_t i = 0; i < request->param_count; i++)
        if (!weir_target_add_parameter(target, request->params[i].name,
                                       request->params[i].value))
            return false;
    return true;
}

static struct weir_str header_of(const struct weir_http_request *request,
                                 const char *name)
{
    const struct weir_str *value = weir_http_request_header(request, name);

    return value != NULL ? *value : (struct weir_str){NULL, 0};
}

/* HEAD is answered as GET; the HTTP layer leaves the body out. */
static enum weir_http_method method_of(const struct weir_http_request *request)
{
    return request->method == WEIR_HTTP_HEAD ? WEIR_HTTP_GET : request->method;
}

static bool is_admin(const struct weir_front *self, const struct weir_http_peer *peer)
{
    return atomic_load(&self->unix_admin) && peer->unix_socket && peer->has_uid &&
           (peer->uid == 0 || peer->uid == (uint32_t)getuid());
}

/* What a proxy on this host hands on does not come from this host. */
static bool is_here(const struct weir_http_request *request)
{
    return (request->peer.loopback || request->peer.unix_socket) &&
           weir_http_request_header(request, "x-forwarded-for") == NULL &&
           weir_http_request_header(request, "forwarded") == NULL;
}

static void handle(void *context, struct weir_http_exchange *exchange)
{
    struct weir_front *self = context;
    const struct weir_http_request *request = weir_http_exchange_request(exchange);
    struct front_call *front = weir_http_exchange_alloc(exchange, sizeof *front);
    struct weir_api_request asked = {
        .method = method_of(request),
        .authorization = header_of(request, "authorization"),
        .accept = header_of(request, "accept"),
        .admin = is_admin(self, &request->peer),
        .loopback = is_here(request),
    };

    if (front == NULL) {
        answer_text(exchange, 503, "out of memory\n");
        return;
    }
    weir_api_call_init(self->api, &front->call);
    front->exchange = exchange;
    front->call.ended = ended;
    weir_text_format(front->call.request, sizeof front->call.request, "%s", request->id);
    if (read_target(&front->call.target, request)) {
        weir_api_begin(self->api, &front->call, &asked);
        return;
    }
    weir_problem_set(&front->call.problem, WEIR_PROBLEM_URI_TOO_LONG,
                     "path and query are too long, at most %d", WEIR_TARGET_SIZE_MAX);
    weir_api_refuse(self->api, &front->call);
}

/* No route takes a body so far: what has one is answered before it is read. */
static enum weir_http_admission admit(void *context, struct weir_http_exchange *exchange)
{
    if (!weir_http_exchange_request(exchange)->has_body)
        return WEIR_HTTP_ADMITTED;
    handle(context, exchange);
    return WEIR_HTTP_ANSWERED;
}

struct weir_http_handler weir_front_handler(struct weir_front *self)
{
    return (struct weir_http_handler){.admit = admit, .handle = handle, .context = self};
}
