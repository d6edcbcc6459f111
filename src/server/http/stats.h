/*
 * stats.h - counters of an HTTP server.
 */
#ifndef WEIR_SERVER_HTTP_STATS_H
#define WEIR_SERVER_HTTP_STATS_H

#include <stdint.h>

/* X(name): one counter each; those that end in _total never fall. */
#define WEIR_HTTP_STATS(X)                                                               \
    X(connections)       /* open */                                                      \
    X(accepted_total)    /* connections */                                               \
    X(turned_away_total) /* connections over a limit, or without a descriptor */         \
    X(requests_total)    /* complete heads */                                            \
    X(malformed_total)   /* requests that the layer itself has refused */                \
    X(timeouts_total)    /* heads, bodies and answers that took too long */              \
    X(busy_total)        /* requests refused because of memory_max */                    \
    X(waiting)           /* exchanges that a handler has, and has not parked */          \
    X(parked)            /* exchanges that are parked */                                 \
    X(answered_2xx_total)                                                                \
    X(answered_3xx_total)                                                                \
    X(answered_4xx_total)                                                                \
    X(answered_5xx_total)                                                                \
    X(cut_total)            /* exchanges that ended without a complete answer */         \
    X(received_bytes_total) /* after TLS */                                              \
    X(sent_bytes_total)     /* before TLS */                                             \
    X(memory_bytes)         /* input, bodies and answers; see memory_max */              \
    X(tls_handshakes_total) /* complete */                                               \
    X(tls_failed_total)

#define WEIR_HTTP_STATS_FIELD_(name) uint64_t name;
struct weir_http_stats {
    WEIR_HTTP_STATS(WEIR_HTTP_STATS_FIELD_)
};
#undef WEIR_HTTP_STATS_FIELD_

#endif
