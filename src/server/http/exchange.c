/*
 * exchange.c - see exchange.h and exchange_parts.h.
 *
 *   I1  `ended` is set once; after that no handler touches the exchange
 *   I2  an exchange with something to collect is in the loop's inbox
 *   I3  `unsent` is the size of all blocks of the stream that are not written, wherever
 *       they are
 */
#include <string.h>

#include "base/assert.h"
#include "base/heap.h"
#include "server/http/exchange_parts.h"
#include "server/http/loop.h"
#include "server/http/response_format.h"
#include "server/http/server_parts.h"
#include "weir/time.h"

enum { HEAD_SIZE_MAX = 1 << 20 };

/* Memory of alloc(), with the next one of the list in front. */
struct weir_http_piece {
    struct weir_http_piece *next;
    max_align_t data[];
};

static void expire(struct weir_timer *timer)
{
    weir_http_exchange_notify(WEIR_CONTAINER_OF(timer, struct weir_http_exchange, timer),
                              WEIR_HTTP_EXPIRED);
}

/* --- making one ---------------------------------------------------------------- */

static bool is_request_id(struct weir_str text)
{
    if (text.size == 0 || text.size >= WEIR_HTTP_REQUEST_ID_SIZE)
        return false;
    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i];

        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
              (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-'))
            return false;
    }
    return true;
}

static void set_id(struct weir_http_loop *loop, struct weir_http_request *request)
{
    const struct weir_str *sent = weir_http_request_header(request, "weir-request");

    if (sent == NULL || !is_request_id(*sent)) {
        weir_http_loop_make_id(loop, request->id);
        return;
    }
    memcpy(request->id, sent->data, sent->size);
    request->id[sent->size] = '\0';
}

/* The place of `size` bytes in one block of memory that is cut from the front. */
static void *carve(char **at, size_t size)
{
    void *place = *at;

    *at += size;
    return place;
}

static struct weir_str moved(struct weir_str text, const char *from, const char *to)
{
    if (text.size > 0)
        text.data = to + (text.data - from);
    return text;
}

static void move_pairs(struct weir_http_pair *out, const struct weir_http_pair *pairs,
                       uint32_t count, const char *from, const char *to)
{
    for (uint32_t i = 0; i < count; i++) {
        out[i].name = moved(pairs[i].name, from, to);
        out[i].value = moved(pairs[i].value, from, to);
    }
}

static void copy_names(struct weir_http_peer *peer, char **tables, char **texts)
{
    const struct weir_str *from = peer->certificate_names;
    struct weir_str *names = carve(tables, peer->certificate_name_count * sizeof *names);

    for (uint32_t i = 0; i < peer->certificate_name_count; i++) {
        char *text = carve(texts, from[i].size);

        memcpy(text, from[i].data, from[i].size);
        names[i] = (struct weir_str){text, from[i].size};
    }
    peer->certificate_names = names;
}

static size_t size_of_names(const struct weir_http_peer *peer)
{
    size_t size = 0;

    for (uint32_t i = 0; i < peer->certificate_name_count; i++)
        size += peer->certificate_names[i].size;
    return size;
}

/* Tables go to `tables`, which is aligned, and texts behind all of them. */
static void fill_request(struct weir_http_request *out, const struct weir_http_head *head,
                         struct weir_str head_text, const struct weir_http_target *target,
                         const char *decoded, char *tables, char *texts)
{
    struct weir_str *segments = carve(&tables, target->segment_count * sizeof *segments);
    struct weir_http_pair *params = carve(&tables, target->param_count * sizeof *params);
    struct weir_http_pair *headers = carve(&tables, head->header_count * sizeof *headers);
    char *text = carve(&texts, head_text.size);
    char *own_decoded = carve(&texts, target->decoded_size);

    memcpy(text, head_text.data, head_text.size);
    if (target->decoded_size > 0)
        memcpy(own_decoded, decoded, target->decoded_size);
    out->method = head->method;
    out->method_name = moved(head->method_name, head_text.data, text);
    out->target = moved(head->target, head_text.data, text);
    out->path = moved(target->path, head_text.data, text);
    for (uint32_t i = 0; i < target->segment_count; i++)
        segments[i] = moved(target->segments[i], decoded, own_decoded);
    move_pairs(params, target->params, target->param_count, decoded, own_decoded);
    move_pairs(headers, head->headers, head->header_count, head_text.data, text);
    out->segments = segments;
    out->segment_count = target->segment_count;
    out->params = params;
    out->param_count = target->param_count;
    out->headers = headers;
    out->header_count = head->header_count;
    out->has_body = head->chunked || head->has_length;
    out->body_size = head->length;
    copy_names(&out->peer, &tables, &texts);
}

struct weir_http_exchange *
weir_http_exchange_create(struct weir_http_loop *loop, const struct weir_http_head *head,
                          struct weir_str head_text,
                          const struct weir_http_target *target, const char *decoded,
                          const struct weir_http_peer *peer)
{
    const struct weir_heap *heap = loop->server->heap;
    size_t tables_size = target->segment_count * sizeof(struct weir_str) +
                         target->param_count * sizeof(struct weir_http_pair) +
                         head->header_count * sizeof(struct weir_http_pair) +
                         peer->certificate_name_count * sizeof(struct weir_str);
    struct weir_http_exchange *self =
        weir_heap_alloc(heap, sizeof *self + tables_size + head_text.size +
                                  target->decoded_size + size_of_names(peer));
    char *tables = (char *)(self + 1);

    if (self == NULL)
        return NULL;
    *self = (struct weir_http_exchange){
        .loop = loop,
        .body_max = loop->limits.body_max,
        .stream_max = loop->limits.stream_max,
        .http10 = head->http10,
        .close = head->close,
        .deadline_ns = WEIR_FOREVER,
        .request = {.peer = *peer, .received_ns = loop->now_ns},
    };
    fill_request(&self->request, head, head_text, target, decoded, tables,
                 tables + tables_size);
    set_id(loop, &self->request);
    weir_buf_init(&self->body, heap, SIZE_MAX - 1);
    weir_timer_init(&self->timer, expire);
    weir_list_init(&self->inbox);
    weir_list_append(&loop->exchanges, &self->link);
    WEIR_HTTP_COUNT(loop->server, waiting, 1);
    return self;
}

static void destroy(struct weir_http_exchange *self)
{
    const struct weir_heap *heap = self->loop->server->heap;

    weir_timers_disarm(&self->loop->timers, &self->timer);
    weir_list_remove(&self->link);
    weir_http_output_clear(&self->output);
    weir_http_budget_give(&self->loop->server->budget, self->body_taken);
    weir_buf_fini(&self->body);
    while (self->pieces != NULL) {
        struct weir_http_piece *piece = self->pieces;

        self->pieces = piece->next;
        weir_heap_free(heap, piece);
    }
    weir_heap_free(heap, self);
}

/* --- the handler's side -------------------------------------------------------- */

const struct weir_http_request *
weir_http_exchange_request(const struct weir_http_exchange *self)
{
    return &self->request;
}

const struct weir_heap *weir_http_exchange_heap(const struct weir_http_exchange *self)
{
    return self->loop->server->heap;
}

void *weir_http_exchange_alloc(struct weir_http_exchange *self, size_t size)
{
    struct weir_http_piece *piece;

    if (size > SIZE_MAX / 2)
        return NULL;
    piece = weir_heap_zalloc(self->loop->server->heap, sizeof *piece + size);
    if (piece == NULL)
        return NULL;
    piece->next = self->pieces;
    self->pieces = piece;
    return piece->data;
}

void weir_http_exchange_set_state(struct weir_http_exchange *self, void *state)
{
    self->state = state;
}

void *weir_http_exchange_state(const struct weir_http_exchange *self)
{
    return self->state;
}

void weir_http_exchange_set_body_max(struct weir_http_exchange *self, size_t body_max)
{
    self->body_max = body_max;
}

/* There is something to collect. Releases the lock: from there on an exchange that has
 * ended is the loop's. */
static void hand_over(struct weir_http_loop *loop, struct weir_http_exchange *self)
    WEIR_RELEASE(loop->lock)
{
    bool wake = loop->sleeping;

    if (weir_list_empty(&self->inbox))
        weir_list_append(&loop->inbox, &self->inbox);
    loop->sleeping = false;
    weir_lock_release(&loop->lock);
    if (wake)
        weir_http_loop_signal(loop);
}

void weir_http_exchange_park(struct weir_http_exchange *self, weir_http_event_fn notify,
                             int64_t deadline_ns)
{
    struct weir_http_loop *loop = self->loop;

    weir_lock_acquire(&loop->lock);
    if (self->notify == NULL) {
        WEIR_HTTP_COUNT(loop->server, waiting, -1);
        WEIR_HTTP_COUNT(loop->server, parked, 1);
    }
    self->notify = notify;
    self->deadline_ns = deadline_ns;
    self->parked = true;
    hand_over(loop, self);
}

/* Append the blocks and tell the loop. */
static void say(struct weir_http_exchange *self, struct weir_http_output *output,
                bool stream)
{
    struct weir_http_loop *loop = self->loop;

    weir_lock_acquire(&loop->lock);
    if (stream)
        self->unsent += output->size;
    weir_http_output_move(&self->output, output);
    hand_over(loop, self);
}

static void end(struct weir_http_exchange *self, struct weir_http_output *output,
                bool incomplete)
{
    struct weir_http_loop *loop = self->loop;

    weir_lock_acquire(&loop->lock);
    WEIR_ASSERT(!self->ended);
    if (self->notify == NULL)
        WEIR_HTTP_COUNT(loop->server, waiting, -1);
    else
        WEIR_HTTP_COUNT(loop->server, parked, -1);
    self->unsent += output->size;
    weir_http_output_move(&self->output, output);
    self->ended = true;
    self->incomplete = incomplete;
    hand_over(loop, self);
}

static void format_head(struct weir_http_exchange *self, struct weir_buf *buf,
                        const struct weir_http_response *response, bool stream,
                        size_t body_size)
{
    struct weir_http_server *server = self->loop->server;
    struct weir_http_framing framing = {
        .server_name = server->name,
        .request_id = self->request.id,
        .tls = self->request.peer.tls,
        .stream = stream,
        .chunked = stream && !self->http10,
    };

    if (response->close || (stream && self->http10) || atomic_load(&server->draining))
        self->close = true;
    framing.close = self->close;
    weir_http_response_format(buf, &framing, response, body_size);
}

/* Append the bytes of `buf` to the output; `buf` is empty afterwards. */
static enum weir_status append_buf(struct weir_http_exchange *self,
                                   struct weir_http_output *output, struct weir_buf *buf)
{
    enum weir_status status = weir_buf_status(buf);
    struct weir_http_block *block;

    if (status != WEIR_OK || buf->size == 0)
        return status;
    block = weir_http_block_create(buf, &self->loop->server->budget);
    if (block == NULL)
        return WEIR_NO_MEMORY;
    weir_http_output_append(output, block);
    return WEIR_OK;
}

/* Its body goes to the client at all. */
static bool has_body(const struct weir_http_exchange *self, uint32_t status)
{
    return self->request.method != WEIR_HTTP_HEAD && !weir_http_status_is_bare(status);
}

static struct weir_str body_of(const struct weir_http_response *response)
{
    return response->buffer != NULL ? weir_buf_get(response->buffer) : response->text;
}

void weir_http_exchange_answer(struct weir_http_exchange *self,
                               const struct weir_http_response *response)
{
    struct weir_http_output output = {0};
    struct weir_str body = body_of(response);
    bool sends_body = has_body(self, response->status);
    enum weir_status status = WEIR_OK;
    struct weir_buf buf;

    WEIR_ASSERT(!self->begun);
    if (response->buffer != NULL)
        status = weir_buf_status(response->buffer);
    weir_buf_init(&buf, weir_http_exchange_heap(self), SIZE_MAX - 1);
    format_head(self, &buf, response, false, body.size);
    if (sends_body && response->buffer == NULL)
        weir_buf_append(&buf, body.data, body.size);
    if (status == WEIR_OK)
        status = append_buf(self, &output, &buf);
    if (status == WEIR_OK && sends_body && response->buffer != NULL)
        status = append_buf(self, &output, response->buffer);
    weir_buf_fini(&buf);
    if (response->buffer != NULL)
        weir_buf_fini(response->buffer);
    if (status != WEIR_OK)
        weir_http_output_clear(&output);
    else
        weir_http_count_answer(self->loop->server, response->status);
    end(self, &output, status != WEIR_OK);
}

/* One chunk, or the bytes as they are for HTTP/1.0. */
static void append_chunk(const struct weir_http_exchange *self, struct weir_buf *buf,
                         const void *bytes, size_t size)
{
    if (size == 0 || self->request.method == WEIR_HTTP_HEAD)
        return;
    if (!self->http10)
        weir_buf_append_format(buf, "%zx\r\n", size);
    weir_buf_append(buf, bytes, size);
    if (!self->http10)
        weir_buf_append_text(buf, "\r\n");
}

enum weir_status weir_http_exchange_begin(struct weir_http_exchange *self,
                                          const struct weir_http_response *response)
{
    struct weir_http_output output = {0};
    struct weir_str body = body_of(response);
    enum weir_status status;
    struct weir_buf buf;

    WEIR_ASSERT(!self->begun && !weir_http_status_is_bare(response->status));
    weir_buf_init(&buf, weir_http_exchange_heap(self), SIZE_MAX - 1);
    format_head(self, &buf, response, true, 0);
    append_chunk(self, &buf, body.data, body.size);
    status = append_buf(self, &output, &buf);
    weir_buf_fini(&buf);
    if (status != WEIR_OK)
        return status;
    if (response->buffer != NULL)
        weir_buf_fini(response->buffer);
    weir_http_count_answer(self->loop->server, response->status);
    self->begun = true;
    say(self, &output, true);
    return WEIR_OK;
}

/* May a piece of this size be sent now? */
static enum weir_status check_room(struct weir_http_exchange *self, size_t size)
{
    enum weir_status status = WEIR_OK;

    weir_lock_acquire(&self->loop->lock);
    if (self->lost) {
        status = WEIR_CLOSED;
    } else if (self->unsent > 0 && (self->unsent > self->stream_max ||
                                    size > self->stream_max - self->unsent)) {
        self->wants_room = true;
        status = WEIR_FULL;
    }
    weir_lock_release(&self->loop->lock);
    return status;
}

enum weir_status weir_http_exchange_write(struct weir_http_exchange *self,
                                          const void *bytes, size_t size)
{
    struct weir_http_output output = {0};
    enum weir_status status = check_room(self, size);
    struct weir_buf buf;

    WEIR_ASSERT(self->begun);
    if (status != WEIR_OK)
        return status;
    weir_buf_init(&buf, weir_http_exchange_heap(self), SIZE_MAX - 1);
    append_chunk(self, &buf, bytes, size);
    status = append_buf(self, &output, &buf);
    weir_buf_fini(&buf);
    if (status == WEIR_OK)
        say(self, &output, true);
    return status;
}

void weir_http_exchange_end(struct weir_http_exchange *self)
{
    struct weir_http_output output = {0};
    enum weir_status status;
    struct weir_buf buf;

    WEIR_ASSERT(self->begun);
    weir_buf_init(&buf, weir_http_exchange_heap(self), SIZE_MAX - 1);
    if (!self->http10 && self->request.method != WEIR_HTTP_HEAD)
        weir_buf_append_text(&buf, "0\r\n\r\n");
    status = append_buf(self, &output, &buf);
    weir_buf_fini(&buf);
    end(self, &output, status != WEIR_OK);
}

void weir_http_exchange_cut(struct weir_http_exchange *self)
{
    struct weir_http_output none = {0};

    end(self, &none, true);
}

/* --- the loop's side ----------------------------------------------------------- */

void weir_http_exchange_notify(struct weir_http_exchange *self,
                               enum weir_http_event event)
{
    weir_http_event_fn notify;
    bool last = event == WEIR_HTTP_SENT || event == WEIR_HTTP_CUT;

    weir_lock_acquire(&self->loop->lock);
    notify = self->ended && !last ? NULL : self->notify;
    weir_lock_release(&self->loop->lock);
    if (notify != NULL)
        notify(self, self->state, event);
}

void weir_http_exchange_drain(struct weir_http_exchange *self)
{
    bool parked;

    weir_lock_acquire(&self->loop->lock);
    parked = self->notify != NULL;
    weir_lock_release(&self->loop->lock);
    if (!parked || self->drained)
        return;
    self->drained = true;
    weir_http_exchange_notify(self, WEIR_HTTP_DRAINING);
}

/* Deadline and events of a handler that has parked it since the last time. */
static void watch(struct weir_http_exchange *self, int64_t deadline_ns)
{
    struct weir_http_loop *loop = self->loop;

    weir_timers_disarm(&loop->timers, &self->timer);
    if (deadline_ns != WEIR_FOREVER)
        weir_timers_arm(&loop->timers, &self->timer, deadline_ns);
    if (self->gone && !self->gone_sent) {
        self->gone_sent = true;
        weir_http_exchange_notify(self, WEIR_HTTP_GONE);
    }
    if (loop->drained)
        weir_http_exchange_drain(self);
}

void weir_http_exchange_collect(struct weir_http_exchange *self,
                                struct weir_http_news *out)
{
    struct weir_http_loop *loop = self->loop;
    int64_t deadline_ns;
    bool parked;

    *out = (struct weir_http_news){0};
    weir_lock_acquire(&loop->lock);
    weir_list_remove(&self->inbox);
    weir_http_output_move(&out->output, &self->output);
    out->ended = self->ended;
    out->incomplete = self->incomplete;
    parked = self->parked && !self->ended;
    deadline_ns = self->deadline_ns;
    self->parked = false;
    weir_lock_release(&loop->lock);
    if (parked)
        watch(self, deadline_ns);
}

void weir_http_exchange_set_gone(struct weir_http_exchange *self, bool lost)
{
    bool parked;

    weir_lock_acquire(&self->loop->lock);
    self->lost = self->lost || lost;
    parked = self->notify != NULL;
    weir_lock_release(&self->loop->lock);
    self->gone = true;
    if (parked && !self->gone_sent) {
        self->gone_sent = true;
        weir_http_exchange_notify(self, WEIR_HTTP_GONE);
    }
}

void weir_http_exchange_advance(struct weir_http_exchange *self, size_t size)
{
    bool room;

    weir_lock_acquire(&self->loop->lock);
    self->unsent -= size < self->unsent ? size : self->unsent;
    room = self->wants_room && self->unsent <= self->stream_max / 2;
    if (room)
        self->wants_room = false;
    weir_lock_release(&self->loop->lock);
    if (room)
        weir_http_exchange_notify(self, WEIR_HTTP_WRITABLE);
}

void weir_http_exchange_finish(struct weir_http_exchange *self, bool complete)
{
    bool sent = complete && !self->gone;

    if (!complete)
        WEIR_HTTP_COUNT(self->loop->server, cut_total, 1);
    weir_http_exchange_notify(self, sent ? WEIR_HTTP_SENT : WEIR_HTTP_CUT);
    destroy(self);
}
