/*
 * server.h - an HTTP/1.1 server: listeners, loops and limits.
 *
 * It reads requests strictly, as one request or none, and hands them to one handler. It
 * knows nothing of routes, tokens or databases. Everything from outside has a limit in
 * size and in time.
 *
 *   listener --> loop (one of `loop_count` threads) --> admit() --> body --> handle()
 *                 ^                                                            |
 *                 +------------- answer(), from any thread --------------------+
 *
 * Order    Requests of one connection are handled one at a time, in order; what a client
 *          sends ahead waits in its socket.
 * Threads  admit(), handle() and events run on the threads of the loops and must not
 *          block. create(), start(), stop() and destroy() are called by one thread; the
 *          rest from any.
 * Memory   From the heap of the options; OpenSSL has its own. Bodies and input together
 *          stay below memory_max; a request beyond that gets 503 `busy`.
 * Failure  A loop never ends by an error. Without descriptors or memory it refuses new
 *          connections and goes on.
 */
#ifndef WEIR_SERVER_HTTP_SERVER_H
#define WEIR_SERVER_HTTP_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/http/exchange.h"
#include "server/http/stats.h"
#include "server/http/tls.h"
#include "weir/error.h"
#include "weir/log.h"
#include "weir/status.h"

struct weir_fault_points;
struct weir_heap;
struct weir_http_server;

enum { WEIR_HTTP_LISTENERS_MAX = 16, WEIR_HTTP_LOOPS_MAX = 16 };

struct weir_http_listener_options {
    const char *address; /* "127.0.0.1:9347", "[::1]:0", "name:PORT", "unix:PATH" */
    int fd;              /* -1: open `address`. Else a listening socket, which becomes the
                            server's; `address` is then for messages only */
    uint32_t unix_mode;  /* permissions of a unix socket, such as 0660 */
    bool tls;            /* never for a unix socket */
};

struct weir_http_limits {
    uint32_t connections_max;         /* beyond: 503 and close */
    uint32_t connections_per_address; /* 0: no limit; not for loopback and unix */
    int64_t header_timeout_ns;        /* head, from its first byte, TLS included */
    int64_t body_timeout_ns;          /* body, from the end of the head */
    int64_t write_timeout_ns;         /* what waits to be written, at any time */
    int64_t idle_timeout_ns;          /* between two requests */
    size_t header_max;                /* bytes of a head */
    size_t body_max;                  /* bytes of a body, unless admit() says otherwise */
    size_t memory_max;
    size_t stream_max; /* bytes of one stream that wait for the client */
};

enum weir_http_admission {
    WEIR_HTTP_ADMITTED, /* read the body, then call handle() */
    WEIR_HTTP_ANSWERED  /* the exchange has been answered (or is another thread's) */
};

struct weir_http_handler {
    /* The head is complete, the body not yet read and 100 Continue not yet sent: the
     * place to check route and token. */
    enum weir_http_admission (*admit)(void *context, struct weir_http_exchange *exchange);
    /* The request is complete. */
    void (*handle)(void *context, struct weir_http_exchange *exchange);
    void *context;
};

struct weir_http_options {
    const struct weir_http_listener_options *listeners; /* copied */
    uint32_t listener_count;
    uint32_t loop_count; /* 1 to WEIR_HTTP_LOOPS_MAX */
    struct weir_http_limits limits;
    struct weir_http_tls *tls; /* held; needed if a listener has `tls` */
    const char *name;          /* header Weir-Server; copied; printable ASCII */
    struct weir_http_handler handler;
    const struct weir_heap *heap;     /* borrowed */
    const struct weir_log *log;       /* borrowed; may be NULL */
    struct weir_fault_points *points; /* borrowed; may be NULL */
};

/* The defaults of the specification: 12,000 connections, 10 s, 30 s, 30 s, 75 s, 16 KiB,
 * 16 MiB, 64 MiB, 1 MiB. */
void weir_http_limits_init(struct weir_http_limits *self);

/*
 * Open the listeners; connections wait in their backlog until start(). Fails with
 * WEIR_INVALID (an address, a limit, TLS is missing), WEIR_EXISTS (the address is in
 * use), WEIR_SYSTEM or WEIR_NO_MEMORY; *out is then NULL.
 */
WEIR_CHECKED enum weir_status
weir_http_server_create(const struct weir_http_options *options,
                        struct weir_http_server **out, struct weir_error *error);

/* Begin to accept. Fails with WEIR_SYSTEM: no thread; then only destroy() is left. */
WEIR_CHECKED enum weir_status weir_http_server_start(struct weir_http_server *self,
                                                     struct weir_error *error);

/* The address of a listener as a client reaches it, with the port that the system has
 * chosen: "127.0.0.1:40123", "unix:PATH". Lives as long as the server. */
const char *weir_http_server_address(const struct weir_http_server *self, uint32_t index);

/* Parked exchanges get DRAINING, and every answer from now on closes its connection; new
 * connections and requests are taken as before. Twice is harmless. */
void weir_http_server_drain(struct weir_http_server *self);
bool weir_http_server_draining(const struct weir_http_server *self);

/*
 * Close the listeners and the idle connections, wait until every exchange has ended and
 * its answer has been written, at most until `deadline_ns` of the monotonic clock, then
 * close the rest and end the threads. Implies drain(). Returns the number of exchanges
 * that a handler still has: their end does nothing any more, but must come before
 * destroy(). Twice is harmless.
 */
uint32_t weir_http_server_stop(struct weir_http_server *self, int64_t deadline_ns);

/* NULL is fine. Every exchange has ended. Stops without waiting if need be, and removes
 * the files of unix sockets that create() has made. */
void weir_http_server_destroy(struct weir_http_server *self);

/* From now on; connections keep the deadline that they have. Fails with WEIR_INVALID and
 * changes nothing. */
WEIR_CHECKED enum weir_status
weir_http_server_set_limits(struct weir_http_server *self,
                            const struct weir_http_limits *limits,
                            struct weir_error *error);

/* For new connections. Holds `tls`. */
void weir_http_server_set_tls(struct weir_http_server *self, struct weir_http_tls *tls);

void weir_http_server_read_stats(const struct weir_http_server *self,
                                 struct weir_http_stats *out);

/* When the loop that is furthest behind has last run, by the monotonic clock. A loop runs
 * at least once a second. */
int64_t weir_http_server_last_run_ns(const struct weir_http_server *self);

#endif
