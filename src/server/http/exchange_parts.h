/*
 * exchange_parts.h - the inside of an exchange, for the connection and the loop.
 *
 * An exchange has two owners: the handler until the end, and the loop until the end has
 * been collected and the connection has finished with it. What the handler says is put
 * into the exchange under the loop's lock, and the exchange into the loop's inbox; the
 * loop collects it.
 *
 * Threads  As the groups of the struct say. What has no group is set before a handler
 *          sees the exchange.
 */
#ifndef WEIR_SERVER_HTTP_EXCHANGE_PARTS_H
#define WEIR_SERVER_HTTP_EXCHANGE_PARTS_H

#include "base/buf.h"
#include "base/list.h"
#include "server/http/exchange.h"
#include "server/http/head.h"
#include "server/http/output.h"
#include "server/http/target.h"
#include "ward/timer.h"

struct weir_http_connection;
struct weir_http_loop;
struct weir_http_piece;

struct weir_http_exchange {
    struct weir_http_loop *loop; /* lives until the server is destroyed */
    struct weir_http_request request;
    size_t body_max;
    size_t stream_max;
    bool http10;

    /* the handler's, and then the loop's */
    void *state;
    struct weir_http_piece *pieces; /* of alloc() */
    bool close;                     /* the connection ends with this answer */

    /* the loop's */
    struct weir_http_connection *connection; /* NULL: lost */
    struct weir_list link;                   /* of the loop's exchanges */
    struct weir_timer timer;                 /* of EXPIRED */
    struct weir_buf body;
    size_t body_taken; /* of the budget */
    bool gone;         /* the client has closed */
    bool gone_sent;    /* GONE was */
    bool drained;      /* DRAINING was sent */

    /* guarded by the loop's lock */
    struct weir_list inbox; /* in the loop's inbox, or alone */
    struct weir_http_output output;
    size_t unsent; /* bytes of a stream that the system has not taken */
    weir_http_event_fn notify;
    int64_t deadline_ns;
    bool parked;     /* since the last collect() */
    bool begun;      /* by begin() */
    bool ended;      /* nothing more comes from the handler */
    bool incomplete; /* it has ended by cut(), or without memory for the answer */
    bool lost;       /* the connection */
    bool wants_room; /* write() has returned WEIR_FULL */
};

/* What collect() has found. */
struct weir_http_news {
    struct weir_http_output output; /* the caller's */
    bool ended;
    bool incomplete;
};

/* Copies everything. NULL without memory. */
struct weir_http_exchange *
weir_http_exchange_create(struct weir_http_loop *loop, const struct weir_http_head *head,
                          struct weir_str head_text,
                          const struct weir_http_target *target, const char *decoded,
                          const struct weir_http_peer *peer);

/* Take what the handler has said since the last time, arm its deadline, and send the
 * events that are due because of it. */
void weir_http_exchange_collect(struct weir_http_exchange *self,
                                struct weir_http_news *out);

/* Send an event if the handler wants events and has not ended, or `event` is SENT or
 * CUT. */
void weir_http_exchange_notify(struct weir_http_exchange *self,
                               enum weir_http_event event);

/* The client has closed its side, or (`lost`) all of the connection. */
void weir_http_exchange_set_gone(struct weir_http_exchange *self, bool lost);

/* The server drains: send DRAINING if it is parked, once. */
void weir_http_exchange_drain(struct weir_http_exchange *self);

/* `size` bytes of it have been taken by the system. */
void weir_http_exchange_advance(struct weir_http_exchange *self, size_t size);

/* It has ended: send SENT or CUT and free it. */
void weir_http_exchange_finish(struct weir_http_exchange *self, bool complete);

#endif
