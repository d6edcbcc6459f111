/*
 * connection.c - see connection.h.
 *
 * run() makes steps until one of them has to wait, and settle() then says what for: the
 * socket, a time, or the handler. While it runs, what has been received is in the loop's
 * input; what is left at the end is kept in `stored`.
 *
 *   I1  in BODY, HANDLING and ANSWERING there is an exchange, except in ANSWERING for a
 *       refusal of something that was no request
 *   I2  nothing is read in HANDLING and ANSWERING: the next request waits in the socket
 *   I3  between two runs the connection waits for the socket, for a time, for its
 *       handler, or is in the loop's list `again`
 */
#include "server/http/connection.h"

#include <string.h>
#include <sys/epoll.h>

#include "base/assert.h"
#include "base/heap.h"
#include "server/http/chunked.h"
#include "server/http/loop.h"
#include "server/http/response_format.h"
#include "server/http/server_parts.h"
#include "server/http/tls_parts.h"
#include "server/http/transport.h"
#include "weir/time.h"

enum {
    STEPS_MAX = 64,              /* of one run, so that others get their turn */
    LINGER_BYTES_MAX = 16 << 20, /* that are thrown away after an answer that closes */
    NAMES_ROOM = 2048            /* bytes of the names of a certificate */
};
static const int64_t LINGER_NS = 2000000000;

enum state { HANDSHAKE, HEAD, BODY, HANDLING, ANSWERING, LINGER, CLOSED };

/* What the connection has a time limit for. */
enum phase { NO_PHASE, HEADER_PHASE, IDLE_PHASE, BODY_PHASE, WRITE_PHASE, LINGER_PHASE };

struct weir_http_connection {
    struct weir_http_loop *loop;
    struct weir_list link;  /* of the loop's connections */
    struct weir_list again; /* of the loop's `again`, or alone */
    struct weir_http_transport transport;
    struct weir_http_tls *tls; /* held; NULL: plain */
    struct weir_http_peer peer;
    struct weir_str *names; /* owned: of the client's certificate, with their bytes */
    enum state state;
    uint32_t interest; /* what epoll reports */
    uint32_t unwanted; /* what it has reported in vain */
    bool counted;      /* in the counts of addresses */
    bool fresh;        /* no request has been complete yet */
    bool readable;     /* there may be something to read */
    bool peer_closed;  /* the client sends nothing more */
    bool close_after;  /* the answer that is under way is the last one */

    struct weir_timer timer;
    enum phase phase;
    int64_t phase_ns;    /* when it began */
    int64_t deadline_ns; /* not before this; the timer may be armed for an earlier time */

    char *stored; /* owned: received, not used, between two runs */
    size_t stored_size;
    size_t stored_capacity; /* counts against the budget */
    struct weir_http_head_scan scan;
    struct weir_http_chunked chunked;
    bool is_chunked;
    uint64_t body_left;
    struct weir_http_exchange *exchange;
    bool handed; /* the handler has got the exchange */
    bool ended;  /* and has ended it */

    struct weir_http_output output;
    uint64_t queued_total;
    uint64_t written_total;
    uint64_t write_mark; /* what must be written when the time is over */
    size_t lingered;
};

static void on_timer(struct weir_timer *timer);
static void refuse(struct weir_http_connection *self,
                   const struct weir_http_refusal *refusal);

static struct weir_http_server *server_of(const struct weir_http_connection *self)
{
    return self->loop->server;
}

struct weir_http_connection *weir_http_connection_of_link(struct weir_list *link)
{
    return WEIR_CONTAINER_OF(link, struct weir_http_connection, link);
}

struct weir_http_connection *weir_http_connection_of_again(struct weir_list *link)
{
    return WEIR_CONTAINER_OF(link, struct weir_http_connection, again);
}

bool weir_http_connection_is_idle(const struct weir_http_connection *self)
{
    return self->state == HEAD && self->stored_size == 0;
}

/* --- life ---------------------------------------------------------------------- */

static struct weir_http_tls *hold_tls(struct weir_http_server *server)
{
    struct weir_http_tls *tls;

    weir_lock_acquire(&server->lock);
    tls = weir_http_tls_hold(server->tls);
    weir_lock_release(&server->lock);
    return tls;
}

static void forget_address(struct weir_http_server *server,
                           const struct weir_http_peer *peer)
{
    weir_lock_acquire(&server->lock);
    weir_http_address_counts_remove(&server->addresses, peer->address);
    weir_lock_release(&server->lock);
}

/* From here on epoll reports. */
static bool watch_socket(struct weir_http_connection *self)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP, .data.ptr = self};

    self->interest = event.events;
    return epoll_ctl(self->loop->epoll, EPOLL_CTL_ADD, self->transport.fd, &event) == 0;
}

static void init(struct weir_http_connection *self, struct weir_http_loop *loop,
                 const struct weir_http_peer *peer)
{
    *self = (struct weir_http_connection){
        .loop = loop,
        .peer = *peer,
        .state = HEAD,
        .fresh = true,
        .phase = HEADER_PHASE,
        .phase_ns = loop->now_ns,
        .deadline_ns = WEIR_FOREVER,
    };
    weir_timer_init(&self->timer, on_timer);
    weir_list_init(&self->again);
    weir_list_append(&loop->connections, &self->link);
    WEIR_HTTP_COUNT(loop->server, connections, 1);
}

void weir_http_connection_create(struct weir_http_loop *loop,
                                 const struct weir_http_listener *listener, int fd,
                                 const struct weir_http_peer *peer, bool counted,
                                 const struct weir_http_refusal *refusal)
{
    struct weir_http_connection *self = weir_heap_alloc(loop->server->heap, sizeof *self);
    struct weir_http_transport transport;

    if (self == NULL) {
        weir_http_transport_open(&transport, fd, NULL);
        weir_http_transport_close(&transport);
        if (counted)
            forget_address(loop->server, peer);
        return;
    }
    init(self, loop, peer);
    self->counted = counted;
    if (listener->tls && refusal == NULL) {
        self->tls = hold_tls(loop->server);
        self->state = HANDSHAKE;
        self->peer.tls = true;
    }
    if (!weir_http_transport_open(&self->transport, fd, self->tls) ||
        !watch_socket(self) || (listener->tls && refusal != NULL))
        self->state = CLOSED;
    else if (refusal != NULL)
        refuse(self, refusal);
    weir_http_connection_run(self);
}

/* An answer that cannot be finished any more. */
static void leave_exchange(struct weir_http_connection *self)
{
    struct weir_http_exchange *exchange = self->exchange;

    if (exchange == NULL)
        return;
    self->exchange = NULL;
    exchange->connection = NULL;
    weir_http_exchange_set_gone(exchange, true);
    if (self->ended)
        weir_http_exchange_finish(exchange, false);
}

void weir_http_connection_destroy(struct weir_http_connection *self)
{
    struct weir_http_server *server = server_of(self);

    if (self->exchange != NULL && !self->handed)
        weir_http_exchange_cut(self->exchange);
    leave_exchange(self);
    weir_timers_disarm(&self->loop->timers, &self->timer);
    weir_list_remove(&self->link);
    weir_list_remove(&self->again);
    weir_http_output_clear(&self->output);
    weir_http_transport_close(&self->transport);
    weir_http_tls_release(self->tls);
    weir_http_budget_give(&server->budget, self->stored_capacity);
    weir_heap_free(server->heap, self->stored);
    weir_heap_free(server->heap, self->names);
    if (self->counted)
        forget_address(server, &self->peer);
    weir_heap_free(server->heap, self);
    WEIR_HTTP_COUNT(server, connections, -1);
}

/* --- input --------------------------------------------------------------------- */

static struct weir_str pending(const struct weir_http_connection *self)
{
    const struct weir_http_input *input = self->loop->input;

    return (struct weir_str){input->data + input->start, input->end - input->start};
}

static void use(struct weir_http_connection *self, size_t size)
{
    struct weir_http_input *input = self->loop->input;

    input->start += size;
    if (input->start == input->end)
        input->start = input->end = 0;
}

static void load_input(struct weir_http_connection *self)
{
    struct weir_http_input *input = self->loop->input;

    input->start = 0;
    input->end = self->stored_size;
    if (self->stored_size > 0)
        memcpy(input->data, self->stored, self->stored_size);
}

static bool reserve_stored(struct weir_http_connection *self, size_t size)
{
    struct weir_http_server *server = server_of(self);
    size_t more = size - self->stored_capacity;
    char *stored;

    if (!weir_http_budget_try(&server->budget, more))
        return false;
    stored = weir_heap_resize(server->heap, self->stored, size);
    if (stored == NULL) {
        weir_http_budget_give(&server->budget, more);
        return false;
    }
    self->stored = stored;
    self->stored_capacity = size;
    return true;
}

static void drop_stored(struct weir_http_connection *self)
{
    struct weir_http_server *server = server_of(self);

    if (self->stored == NULL)
        return;
    weir_http_budget_give(&server->budget, self->stored_capacity);
    weir_heap_free(server->heap, self->stored);
    self->stored = NULL;
    self->stored_size = self->stored_capacity = 0;
}

/* Keep what is left of the input. False without memory: it is lost. */
static bool store_input(struct weir_http_connection *self)
{
    struct weir_str rest = pending(self);

    if (rest.size == 0 || self->state >= LINGER) {
        drop_stored(self);
        return true;
    }
    if (rest.size > self->stored_capacity && !reserve_stored(self, rest.size)) {
        drop_stored(self);
        return false;
    }
    memcpy(self->stored, rest.data, rest.size);
    self->stored_size = rest.size;
    return true;
}

/* Read more behind what is pending. */
static enum weir_http_io read_more(struct weir_http_connection *self)
{
    struct weir_http_input *input = self->loop->input;
    enum weir_http_io io;
    size_t got;

    if (!self->readable && self->transport.ssl == NULL)
        return WEIR_HTTP_IO_BLOCKED;
    if (input->start > 0) {
        memmove(input->data, input->data + input->start, input->end - input->start);
        input->end -= input->start;
        input->start = 0;
    }
    io = weir_http_transport_read(&self->transport, input->data + input->end,
                                  WEIR_HTTP_READ_SIZE, &got);
    input->end += got;
    self->readable = got == WEIR_HTTP_READ_SIZE;
    WEIR_HTTP_COUNT(server_of(self), received_bytes_total, got);
    return io;
}

/* --- output -------------------------------------------------------------------- */

static void queue(struct weir_http_connection *self, struct weir_http_output *output)
{
    self->queued_total += output->size;
    weir_http_output_move(&self->output, output);
}

/* False: the connection is lost. */
static bool flush(struct weir_http_connection *self)
{
    struct iovec pieces[WEIR_HTTP_PIECES_MAX];
    enum weir_http_io io = WEIR_HTTP_IO_DONE;
    size_t sent;
    int count;

    while (self->output.size > 0 && io == WEIR_HTTP_IO_DONE) {
        count = weir_http_output_look(&self->output, pieces, WEIR_HTTP_PIECES_MAX);
        io = weir_http_transport_write(&self->transport, pieces, count, &sent);
        weir_http_output_advance(&self->output, sent);
        self->written_total += sent;
        WEIR_HTTP_COUNT(server_of(self), sent_bytes_total, sent);
        if (self->exchange != NULL && sent > 0)
            weir_http_exchange_advance(self->exchange, sent);
    }
    return io == WEIR_HTTP_IO_DONE || io == WEIR_HTTP_IO_BLOCKED;
}

/* --- answers of the layer itself ----------------------------------------------- */

static void count_refusal(struct weir_http_connection *self,
                          const struct weir_http_refusal *refusal)
{
    struct weir_http_server *server = server_of(self);

    if (refusal->status == 408)
        WEIR_HTTP_COUNT(server, timeouts_total, 1);
    else if (refusal == &weir_http_refusal_MEMORY)
        WEIR_HTTP_COUNT(server, busy_total, 1);
    else if (refusal != &weir_http_refusal_CONNECTIONS)
        WEIR_HTTP_COUNT(server, malformed_total, 1);
}

static struct weir_http_response problem_response(const struct weir_http_refusal *refusal,
                                                  const char *body, size_t size)
{
    static const struct weir_http_pair retry = {{"Retry-After", 11}, {"1", 1}};
    bool again = refusal->status == 503;

    return (struct weir_http_response){
        .status = refusal->status,
        .content_type = "application/problem+json",
        .headers = again ? &retry : NULL,
        .header_count = again,
        .text = {body, size},
        .close = true,
    };
}

/* The end of a request that became no exchange, and of its connection. */
static void refuse(struct weir_http_connection *self,
                   const struct weir_http_refusal *refusal)
{
    char id[WEIR_HTTP_REQUEST_ID_SIZE], body[WEIR_HTTP_PROBLEM_SIZE];
    struct weir_http_server *server = server_of(self);
    struct weir_http_framing framing = {
        .server_name = server->name,
        .request_id = id,
        .tls = self->transport.ssl != NULL,
        .close = true,
    };
    struct weir_http_output output = {0};
    struct weir_http_response response;
    struct weir_http_block *block = NULL;
    struct weir_buf buf;

    count_refusal(self, refusal);
    weir_http_loop_make_id(self->loop, id);
    response =
        problem_response(refusal, body, weir_http_refusal_format(refusal, id, body));
    weir_buf_init(&buf, server->heap, SIZE_MAX - 1);
    weir_http_response_format(&buf, &framing, &response, response.text.size);
    weir_buf_append(&buf, response.text.data, response.text.size);
    if (weir_buf_status(&buf) == WEIR_OK)
        block = weir_http_block_create(&buf, &server->budget);
    weir_buf_fini(&buf);
    use(self, pending(self).size);
    if (block == NULL) {
        self->state = CLOSED;
        return;
    }
    weir_http_count_answer(server, refusal->status);
    weir_http_output_append(&output, block);
    queue(self, &output);
    self->close_after = true;
    self->state = ANSWERING;
}

/* The same for a request whose handler has not got it yet. */
static void refuse_exchange(struct weir_http_connection *self,
                            const struct weir_http_refusal *refusal)
{
    char body[WEIR_HTTP_PROBLEM_SIZE];
    size_t size = weir_http_refusal_format(refusal, self->exchange->request.id, body);
    struct weir_http_response response = problem_response(refusal, body, size);

    count_refusal(self, refusal);
    use(self, pending(self).size);
    self->state = HANDLING;
    self->handed = true;
    weir_http_exchange_answer(self->exchange, &response);
}

/* --- steps: each is true when it has got on ------------------------------------- */

static void keep_names(struct weir_http_connection *self)
{
    struct weir_str names[WEIR_HTTP_CERTIFICATE_NAMES];
    char text[NAMES_ROOM];
    size_t count = weir_http_tls_read_names(
        self->transport.ssl, names, WEIR_HTTP_CERTIFICATE_NAMES, text, NAMES_ROOM);
    size_t size = 0;
    char *bytes;

    for (size_t i = 0; i < count; i++)
        size += names[i].size;
    if (count == 0)
        return;
    self->names = weir_heap_alloc(server_of(self)->heap, count * sizeof *names + size);
    if (self->names == NULL) {
        self->state = CLOSED;
        return;
    }
    bytes = (char *)(self->names + count);
    memcpy(bytes, text, size);
    for (size_t i = 0; i < count; i++)
        self->names[i] = (struct weir_str){bytes + (names[i].data - text), names[i].size};
    self->peer.certificate_names = self->names;
    self->peer.certificate_name_count = (uint32_t)count;
}

static bool step_handshake(struct weir_http_connection *self)
{
    struct weir_http_server *server = server_of(self);

    switch (weir_http_transport_handshake(&self->transport)) {
    case WEIR_HTTP_IO_BLOCKED:
        return false;
    case WEIR_HTTP_IO_DONE:
        WEIR_HTTP_COUNT(server, tls_handshakes_total, 1);
        self->state = HEAD;
        keep_names(self);
        return true;
    case WEIR_HTTP_IO_PLAIN:
        WEIR_HTTP_COUNT(server, tls_failed_total, 1);
        self->peer.tls = false;
        refuse(self, &weir_http_refusal_PLAIN);
        return true;
    case WEIR_HTTP_IO_END:
    case WEIR_HTTP_IO_FAILED:
        WEIR_HTTP_COUNT(server, tls_failed_total, 1);
        self->state = CLOSED;
        break;
    }
    return true;
}

static void handle(struct weir_http_connection *self)
{
    struct weir_http_handler *handler = &server_of(self)->handler;
    struct weir_http_exchange *exchange = self->exchange;

    exchange->request.body = weir_buf_get(&exchange->body);
    exchange->gone = self->peer_closed;
    self->state = HANDLING;
    self->handed = true;
    handler->handle(handler->context, exchange);
}

/* The client waits for it before it sends the body. */
static void send_continue(struct weir_http_connection *self)
{
    struct weir_http_server *server = server_of(self);
    struct weir_http_output output = {0};
    struct weir_http_block *block = NULL;
    struct weir_buf buf;

    weir_buf_init(&buf, server->heap, SIZE_MAX - 1);
    weir_buf_append_text(&buf, "HTTP/1.1 100 Continue\r\n\r\n");
    if (weir_buf_status(&buf) == WEIR_OK)
        block = weir_http_block_create(&buf, &server->budget);
    weir_buf_fini(&buf);
    if (block == NULL) {
        self->state = CLOSED;
        return;
    }
    weir_http_output_append(&output, block);
    queue(self, &output);
    if (!flush(self))
        self->state = CLOSED;
}

static void begin_body(struct weir_http_connection *self,
                       const struct weir_http_head *head)
{
    struct weir_http_exchange *exchange = self->exchange;

    if (head->length > exchange->body_max) {
        refuse_exchange(self, &weir_http_refusal_BODY_LARGE);
        return;
    }
    self->state = BODY;
    self->is_chunked = head->chunked;
    self->chunked = (struct weir_http_chunked){0};
    self->body_left = head->length;
    exchange->body.size_max = exchange->body_max;
    if (head->expect_continue && pending(self).size == 0)
        send_continue(self);
}

/* The exchange is there: ask the handler whether it wants the body. Whatever the handler
 * answers before the body was read is the last answer of the connection. */
static void admit(struct weir_http_connection *self, const struct weir_http_head *head)
{
    struct weir_http_handler *handler = &server_of(self)->handler;
    struct weir_http_exchange *exchange = self->exchange;
    bool body = head->chunked || head->length > 0;
    bool close = exchange->close;

    exchange->close = close || body;
    self->handed = true;
    if (handler->admit(handler->context, exchange) == WEIR_HTTP_ANSWERED) {
        self->state = HANDLING;
        return;
    }
    self->handed = false;
    if (body)
        begin_body(self, head);
    else
        handle(self);
    if (self->state == BODY)
        exchange->close = close;
}

/* A complete head is pending. */
static void begin_request(struct weir_http_connection *self, size_t head_size)
{
    struct weir_http_loop *loop = self->loop;
    struct weir_http_parse *parse = loop->parse;
    char *data = loop->input->data + loop->input->start;
    struct weir_str text = {data, head_size};
    const struct weir_http_refusal *refusal;

    WEIR_HTTP_COUNT(loop->server, requests_total, 1);
    self->fresh = false;
    self->scan = (struct weir_http_head_scan){0};
    self->phase = NO_PHASE;
    refusal = weir_http_head_parse(data, head_size, &parse->head);
    if (refusal == NULL)
        refusal =
            weir_http_target_parse(parse->head.target, parse->decoded, &parse->target);
    if (refusal == NULL) {
        self->exchange = weir_http_exchange_create(
            loop, &parse->head, text, &parse->target, parse->decoded, &self->peer);
        if (self->exchange == NULL)
            refusal = &weir_http_refusal_MEMORY;
    }
    if (refusal != NULL) {
        refuse(self, refusal);
        return;
    }
    use(self, head_size);
    self->handed = false;
    self->ended = false;
    self->exchange->connection = self;
    self->exchange->gone = self->peer_closed;
    admit(self, &parse->head);
}

/* False: nothing to be had now. An end before the request is complete is the end of the
 * connection. */
static bool step_read(struct weir_http_connection *self)
{
    enum weir_http_io io = read_more(self);

    if (io != WEIR_HTTP_IO_DONE && io != WEIR_HTTP_IO_BLOCKED)
        self->state = CLOSED;
    return io != WEIR_HTTP_IO_BLOCKED;
}

static bool step_head(struct weir_http_connection *self)
{
    struct weir_str text = pending(self);
    const struct weir_http_refusal *refusal;
    size_t head_size = 0;

    refusal = weir_http_head_scan(&self->scan, text.data, text.size, &head_size);
    if (refusal == NULL &&
        (head_size > 0 ? head_size : text.size) > self->loop->limits.header_max)
        refusal = self->scan.line_start == 0 ? &weir_http_refusal_TARGET_LARGE
                                             : &weir_http_refusal_HEAD_LARGE;
    if (refusal != NULL) {
        refuse(self, refusal);
        return true;
    }
    if (head_size > 0) {
        begin_request(self, head_size);
        return true;
    }
    return step_read(self);
}

/* NULL: it is kept. */
static const struct weir_http_refusal *keep_body(struct weir_http_connection *self,
                                                 struct weir_str piece)
{
    struct weir_http_exchange *exchange = self->exchange;
    struct weir_buf *body = &exchange->body;

    if (piece.size > exchange->body_max - body->size)
        return &weir_http_refusal_BODY_LARGE;
    if (!weir_http_budget_try(&server_of(self)->budget, piece.size))
        return &weir_http_refusal_MEMORY;
    exchange->body_taken += piece.size;
    weir_buf_append(body, piece.data, piece.size);
    return weir_buf_status(body) == WEIR_OK ? NULL : &weir_http_refusal_MEMORY;
}

/* Use what is pending of a body whose size is known. */
static const struct weir_http_refusal *take_length(struct weir_http_connection *self)
{
    struct weir_str piece = pending(self);
    const struct weir_http_refusal *refusal;

    if (piece.size > self->body_left)
        piece.size = (size_t)self->body_left;
    if (piece.size == 0)
        return NULL;
    refusal = keep_body(self, piece);
    self->body_left -= piece.size;
    use(self, piece.size);
    return refusal;
}

static const struct weir_http_refusal *take_chunks(struct weir_http_connection *self)
{
    const struct weir_http_refusal *refusal = NULL;
    struct weir_str rest = pending(self), piece;

    while (refusal == NULL && rest.size > 0 &&
           self->chunked.state < WEIR_HTTP_CHUNKED_COMPLETE) {
        size_t used =
            weir_http_chunked_read(&self->chunked, rest.data, rest.size, &piece);

        use(self, used);
        rest = pending(self);
        if (piece.size > 0)
            refusal = keep_body(self, piece);
        if (refusal == NULL && self->chunked.state == WEIR_HTTP_CHUNKED_DATA &&
            self->chunked.left > self->exchange->body_max - self->exchange->body.size)
            refusal = &weir_http_refusal_BODY_LARGE;
    }
    if (refusal == NULL && self->chunked.state == WEIR_HTTP_CHUNKED_BAD)
        refusal = &weir_http_refusal_CHUNK;
    return refusal;
}

static bool body_is_complete(const struct weir_http_connection *self)
{
    return self->is_chunked ? self->chunked.state == WEIR_HTTP_CHUNKED_COMPLETE
                            : self->body_left == 0;
}

static bool step_body(struct weir_http_connection *self)
{
    const struct weir_http_refusal *refusal =
        self->is_chunked ? take_chunks(self) : take_length(self);

    if (refusal != NULL) {
        refuse_exchange(self, refusal);
        return true;
    }
    if (!flush(self)) {
        self->state = CLOSED;
        return true;
    }
    if (body_is_complete(self)) {
        handle(self);
        return true;
    }
    return step_read(self);
}

static bool step_handling(struct weir_http_connection *self)
{
    struct weir_http_news news;

    weir_http_exchange_collect(self->exchange, &news);
    queue(self, &news.output);
    self->ended = news.ended;
    if (news.incomplete) {
        (void)flush(self);
        self->state = CLOSED;
    } else if (news.ended) {
        self->state = ANSWERING;
    } else {
        if (!flush(self))
            self->state = CLOSED;
        return self->state == CLOSED;
    }
    return true;
}

static void begin_linger(struct weir_http_connection *self)
{
    weir_http_transport_shut(&self->transport);
    use(self, pending(self).size);
    self->readable = true;
    self->lingered = 0;
    self->state = LINGER;
}

static bool step_answering(struct weir_http_connection *self)
{
    struct weir_http_exchange *exchange = self->exchange;

    if (!flush(self)) {
        self->state = CLOSED;
        return true;
    }
    if (self->output.size > 0)
        return false;
    if (exchange != NULL) {
        self->close_after = self->close_after || exchange->close;
        self->exchange = NULL;
        weir_http_exchange_finish(exchange, true);
    }
    self->phase = NO_PHASE;
    self->state = HEAD;
    if (self->close_after)
        begin_linger(self);
    return true;
}

/* Read and forget what the client still sends: closing a socket with unread bytes resets
 * the connection, and the client might never see the answer. */
static bool step_linger(struct weir_http_connection *self)
{
    struct weir_http_input *input = self->loop->input;
    enum weir_http_io io;
    size_t got;

    io = weir_http_transport_discard(&self->transport, input->data, WEIR_HTTP_READ_SIZE,
                                     &got);
    self->lingered += got;
    if (io == WEIR_HTTP_IO_BLOCKED)
        return false;
    if (io != WEIR_HTTP_IO_DONE || self->lingered > LINGER_BYTES_MAX)
        self->state = CLOSED;
    return true;
}

static bool step(struct weir_http_connection *self)
{
    switch (self->state) {
    case HANDSHAKE:
        return step_handshake(self);
    case HEAD:
        return step_head(self);
    case BODY:
        return step_body(self);
    case HANDLING:
        return step_handling(self);
    case ANSWERING:
        return step_answering(self);
    case LINGER:
        return step_linger(self);
    case CLOSED:
        break;
    }
    return false;
}

/* --- waiting ------------------------------------------------------------------- */

static enum phase phase_of(const struct weir_http_connection *self)
{
    switch (self->state) {
    case HANDSHAKE:
        return HEADER_PHASE;
    case HEAD:
        return self->fresh || self->stored_size > 0 ? HEADER_PHASE : IDLE_PHASE;
    case BODY:
        return BODY_PHASE;
    case HANDLING:
    case ANSWERING:
        return self->output.size > 0 ? WRITE_PHASE : NO_PHASE;
    case LINGER:
        return LINGER_PHASE;
    case CLOSED:
        break;
    }
    return NO_PHASE;
}

static int64_t length_of(const struct weir_http_connection *self)
{
    const struct weir_http_limits *limits = &self->loop->limits;

    switch (self->phase) {
    case HEADER_PHASE:
        return limits->header_timeout_ns;
    case IDLE_PHASE:
        return limits->idle_timeout_ns;
    case BODY_PHASE:
        return limits->body_timeout_ns;
    case WRITE_PHASE:
        return limits->write_timeout_ns;
    case LINGER_PHASE:
        return LINGER_NS;
    case NO_PHASE:
        break;
    }
    return WEIR_FOREVER;
}

/* The timer is moved only if it would fire too late: one that fires too early looks at
 * the deadline and goes on. */
static void set_deadline(struct weir_http_connection *self, int64_t deadline_ns)
{
    self->deadline_ns = deadline_ns;
    if (self->timer.armed && self->timer.due_ns <= deadline_ns)
        return;
    weir_timers_disarm(&self->loop->timers, &self->timer);
    if (deadline_ns != WEIR_FOREVER)
        weir_timers_arm(&self->loop->timers, &self->timer, deadline_ns);
}

static void set_phase(struct weir_http_connection *self)
{
    enum phase phase = phase_of(self);
    int64_t length_ns;

    if (phase != self->phase) {
        self->phase = phase;
        self->phase_ns = self->loop->now_ns;
        self->write_mark = self->queued_total;
    }
    length_ns = length_of(self);
    set_deadline(self,
                 length_ns == WEIR_FOREVER ? WEIR_FOREVER : self->phase_ns + length_ns);
}

/* What epoll has to report. */
static uint32_t wanted(const struct weir_http_connection *self)
{
    uint32_t events = 0;

    if (self->state == HANDSHAKE)
        return self->transport.wants;
    if (self->state == HEAD || self->state == BODY)
        events = EPOLLIN | EPOLLRDHUP;
    else if (self->state == LINGER)
        events = EPOLLIN;
    else if (self->state == HANDLING && !self->peer_closed)
        events = EPOLLRDHUP;
    if (self->output.size > 0 && self->state != LINGER)
        events |= EPOLLOUT;
    if (self->transport.ssl != NULL && (self->state == HEAD || self->state == BODY))
        events |= self->transport.wants;
    return events;
}

/* Only what is missing, or was reported in vain, is worth a system call. */
static void set_interest(struct weir_http_connection *self)
{
    struct epoll_event event = {.events = wanted(self), .data.ptr = self};

    if ((event.events & ~self->interest) == 0 &&
        (self->interest & self->unwanted & ~event.events) == 0)
        return;
    if (epoll_ctl(self->loop->epoll, EPOLL_CTL_MOD, self->transport.fd, &event) != 0)
        self->state = CLOSED;
    self->interest = event.events;
}

static void settle(struct weir_http_connection *self, bool more)
{
    if (!store_input(self)) {
        if (self->state == HEAD)
            refuse(self, &weir_http_refusal_MEMORY);
        else
            self->close_after = true;
        more = more || self->state == ANSWERING;
    }
    if (more && self->state != CLOSED && weir_list_empty(&self->again))
        weir_list_append(&self->loop->again, &self->again);
    if (self->state != CLOSED) {
        set_phase(self);
        set_interest(self);
    }
    self->unwanted = 0;
    if (self->state == CLOSED)
        weir_http_connection_destroy(self);
}

void weir_http_connection_run(struct weir_http_connection *self)
{
    uint32_t steps = 0;

    load_input(self);
    while (steps < STEPS_MAX && step(self))
        steps++;
    settle(self, steps == STEPS_MAX);
}

void weir_http_connection_handle(struct weir_http_connection *self, uint32_t events)
{
    self->unwanted = events & ~wanted(self);
    if (events & EPOLLIN)
        self->readable = true;
    if (events & (EPOLLHUP | EPOLLERR) && self->state >= HANDLING &&
        self->state < CLOSED) {
        weir_http_connection_destroy(self);
        return;
    }
    if (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) {
        self->readable = true;
        self->peer_closed = true;
        if (self->exchange != NULL && self->state == HANDLING)
            weir_http_exchange_set_gone(self->exchange, false);
    }
    weir_http_connection_run(self);
}

/* --- time ---------------------------------------------------------------------- */

static void write_is_late(struct weir_http_connection *self)
{
    if (self->written_total < self->write_mark) {
        WEIR_HTTP_COUNT(server_of(self), timeouts_total, 1);
        weir_http_connection_destroy(self);
        return;
    }
    self->phase = NO_PHASE; /* a new limit, for what has been queued meanwhile */
    set_phase(self);
}

static void head_is_late(struct weir_http_connection *self)
{
    if (self->state == HANDSHAKE || self->stored_size == 0) {
        WEIR_HTTP_COUNT(server_of(self), timeouts_total, 1);
        weir_http_connection_destroy(self);
        return;
    }
    load_input(self);
    refuse(self, &weir_http_refusal_HEAD_LATE);
    drop_stored(self);
    weir_http_connection_run(self);
}

static void body_is_late(struct weir_http_connection *self)
{
    load_input(self);
    refuse_exchange(self, &weir_http_refusal_BODY_LATE);
    drop_stored(self);
    weir_http_connection_run(self);
}

static void on_timer(struct weir_timer *timer)
{
    struct weir_http_connection *self =
        WEIR_CONTAINER_OF(timer, struct weir_http_connection, timer);

    if (self->loop->now_ns < self->deadline_ns) {
        set_deadline(self, self->deadline_ns);
        return;
    }
    switch (self->phase) {
    case HEADER_PHASE:
        head_is_late(self);
        break;
    case BODY_PHASE:
        body_is_late(self);
        break;
    case WRITE_PHASE:
        write_is_late(self);
        break;
    case IDLE_PHASE:
    case LINGER_PHASE:
        weir_http_connection_destroy(self);
        break;
    case NO_PHASE:
        break;
    }
}
