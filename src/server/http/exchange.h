/*
 * exchange.h - one request and its one answer.
 *
 * A handler gets an exchange and owes it exactly one end: answer(), end() of a stream, or
 * cut(). It may call that at once or later, from any thread: an exchange survives its
 * client. While it waits it costs about 1 KiB, no thread and no system call.
 *
 *   handle() --+-- answer() ---------------------------------> ended
 *              |-- park() ... an event or another thread ... answer() --> ended
 *              +-- begin(), write() ..., end() or cut() -----> ended
 *
 * Events  A handler that has called park() gets events, on the thread of the loop, one
 *         after another:
 *           GONE      the client has closed its side or the connection is lost. Take no
 *                     work for it any more, and answer soon (the answer is still sent
 *                     to a client that has closed one direction only). At most once.
 *           EXPIRED   the deadline of park() has passed. Once for each deadline.
 *           DRAINING  the server drains (server.h). At most once.
 *           WRITABLE  after write() has returned WEIR_FULL: there is room again.
 *           SENT      after the end: the whole answer has been given to the system while
 *                     the connection was whole.
 *           CUT       after the end: it was not, or the client had closed before. What
 *                     was reserved for this client may be given back.
 *         Exactly one of SENT and CUT comes, and nothing after it. An event other than
 *         these two may be under way while another thread ends the exchange, so what the
 *         callback needs belongs into memory of alloc(), and which side answers is
 *         decided under a lock of the handler.
 * Threads  Each function from any thread that owns the exchange, one at a time. park() is
 *          called before another thread can end the exchange.
 * Memory   Request, alloc() and state stay valid until the end, and until SENT or CUT has
 *          returned if there are events. Every exchange ends before
 *          weir_http_server_destroy().
 * Failure  answer() cannot fail. When there is no memory for the answer the connection is
 *          cut, so that the client knows that it does not know.
 */
#ifndef WEIR_SERVER_HTTP_EXCHANGE_H
#define WEIR_SERVER_HTTP_EXCHANGE_H

#include <stddef.h>
#include <stdint.h>

#include "server/http/request.h"
#include "server/http/response.h"
#include "weir/status.h"

struct weir_heap;
struct weir_http_exchange;

enum weir_http_event {
    WEIR_HTTP_GONE,
    WEIR_HTTP_EXPIRED,
    WEIR_HTTP_DRAINING,
    WEIR_HTTP_WRITABLE,
    WEIR_HTTP_SENT,
    WEIR_HTTP_CUT
};

/* Must not block. `state` is that of set_state(). */
typedef void (*weir_http_event_fn)(struct weir_http_exchange *exchange, void *state,
                                   enum weir_http_event event);

const struct weir_http_request *
weir_http_exchange_request(const struct weir_http_exchange *self);

/* The heap of the server, for bodies of answers. */
const struct weir_heap *weir_http_exchange_heap(const struct weir_http_exchange *self);

/* `size` bytes, zeroed, aligned for anything, freed with the exchange. NULL without
 * memory. */
WEIR_CHECKED void *weir_http_exchange_alloc(struct weir_http_exchange *self, size_t size);

/* One pointer of the handler: from admit() to handle(), and to the events. */
void weir_http_exchange_set_state(struct weir_http_exchange *self, void *state);
void *weir_http_exchange_state(const struct weir_http_exchange *self);

/* In admit() only: the largest body that will be read, instead of the server's limit. */
void weir_http_exchange_set_body_max(struct weir_http_exchange *self, size_t body_max);

/* Ask for events, and for EXPIRED at `deadline_ns` of the monotonic clock (WEIR_FOREVER:
 * never). Called again it sets another deadline. */
void weir_http_exchange_park(struct weir_http_exchange *self, weir_http_event_fn notify,
                             int64_t deadline_ns);

/* The end: answer. `response` is borrowed for the call. */
void weir_http_exchange_answer(struct weir_http_exchange *self,
                               const struct weir_http_response *response);

/*
 * Begin an answer that is sent in pieces: its `text` or `buffer` is the first piece and
 * may be empty. Chunked, or until the close for HTTP/1.0. After a failure
 * (WEIR_NO_MEMORY) nothing has been sent and the exchange still wants an end.
 */
WEIR_CHECKED enum weir_status
weir_http_exchange_begin(struct weir_http_exchange *self,
                         const struct weir_http_response *response);

/*
 * Send a piece, all of it or nothing. Fails with WEIR_FULL (as much as `stream_max` has
 * not been taken by the client: wait for WRITABLE), WEIR_CLOSED (the client has gone) or
 * WEIR_NO_MEMORY. A piece that is larger than `stream_max` is taken when nothing else
 * waits.
 */
WEIR_CHECKED enum weir_status weir_http_exchange_write(struct weir_http_exchange *self,
                                                       const void *bytes, size_t size);

/* The end of a stream: complete; and incomplete, in a way that the client notices. cut()
 * may be called at any time: without begin() the connection closes without an answer. */
void weir_http_exchange_end(struct weir_http_exchange *self);
void weir_http_exchange_cut(struct weir_http_exchange *self);

#endif
