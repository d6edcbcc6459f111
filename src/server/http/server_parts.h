/*
 * server_parts.h - the inside of a server, for its loops.
 */
#ifndef WEIR_SERVER_HTTP_SERVER_PARTS_H
#define WEIR_SERVER_HTTP_SERVER_PARTS_H

#include <stdatomic.h>

#include "server/http/address_counts.h"
#include "server/http/listener.h"
#include "server/http/loop.h"
#include "server/http/output.h"
#include "server/http/server.h"
#include "ward/lock.h"

enum { WEIR_HTTP_NAME_SIZE = 128 };

#define WEIR_HTTP_COUNTER_(name) _Atomic uint64_t name;
struct weir_http_counters {
    WEIR_HTTP_STATS(WEIR_HTTP_COUNTER_)
};
#undef WEIR_HTTP_COUNTER_

/* `delta` may be negative. */
#define WEIR_HTTP_COUNT(server, field, delta)                                            \
    ((void)atomic_fetch_add_explicit(&(server)->counters.field, (uint64_t)(delta),       \
                                     memory_order_relaxed))

struct weir_http_server {
    const struct weir_heap *heap;     /* borrowed */
    const struct weir_log *log;       /* borrowed; may be NULL */
    struct weir_fault_points *points; /* borrowed; may be NULL */
    struct weir_http_handler handler;
    char name[WEIR_HTTP_NAME_SIZE];
    struct weir_http_listener listeners[WEIR_HTTP_LISTENERS_MAX];
    uint32_t listener_count;
    struct weir_http_loop *loops; /* loop_count of them */
    uint32_t loop_count;
    bool stopped; /* the threads have ended */

    struct weir_http_budget budget;
    struct weir_http_counters counters;
    _Atomic bool draining;
    _Atomic bool stopping;
    _Atomic int64_t stop_deadline_ns;
    _Atomic uint32_t limits_version; /* counts changes of `limits` */

    struct weir_lock lock; /* guards what follows */
    struct weir_http_limits limits;
    struct weir_http_tls *tls; /* held; may be NULL */
    struct weir_http_address_counts addresses;
};

/* An answer of this status was given. */
void weir_http_count_answer(struct weir_http_server *server, uint32_t status);

#endif
