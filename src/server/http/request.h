/*
 * request.h - one request as a handler sees it.
 *
 * The parser has checked it strictly and decoded it once: what is here is exactly one
 * request, and each segment of the path and each value of the query is valid UTF-8
 * without a zero byte. Values of headers are bytes without control characters; they may
 * be no UTF-8.
 *
 * Threads  Never changes, so any thread may read it.
 * Memory   Lives as long as its exchange (exchange.h). Nothing in it ends in a zero
 *          unless that is said.
 */
#ifndef WEIR_SERVER_HTTP_REQUEST_H
#define WEIR_SERVER_HTTP_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

enum {
    WEIR_HTTP_SEGMENTS_MAX = 32,     /* of a path; one more is 404 */
    WEIR_HTTP_PARAMS_MAX = 64,       /* of a query; one more is 400 */
    WEIR_HTTP_HEADERS_MAX = 100,     /* of a request; one more is 431 */
    WEIR_HTTP_ADDRESS_SIZE = 46,     /* text of an address, with its zero */
    WEIR_HTTP_REQUEST_ID_SIZE = 65,  /* with its zero */
    WEIR_HTTP_CERTIFICATE_NAMES = 16 /* of one client certificate; more are left out */
};

enum weir_http_method {
    WEIR_HTTP_GET,
    WEIR_HTTP_HEAD, /* answered as GET; the layer leaves the body out */
    WEIR_HTTP_POST,
    WEIR_HTTP_PUT,
    WEIR_HTTP_DELETE,
    WEIR_HTTP_PATCH,
    WEIR_HTTP_OPTIONS,
    WEIR_HTTP_OTHER /* a valid token that is none of these: method_name */
};

/* A header or a parameter of the query. */
struct weir_http_pair {
    struct weir_str name;
    struct weir_str value;
};

/* The other end of the connection. */
struct weir_http_peer {
    char address[WEIR_HTTP_ADDRESS_SIZE]; /* "192.0.2.7", "::1", or "unix"; ends in 0 */
    uint16_t port;                        /* 0 of a unix socket */
    uint32_t listener;                    /* index in the options of the server */
    bool unix_socket;
    bool loopback; /* 127.0.0.0/8, ::1, and those mapped into IPv6 */
    bool tls;
    bool has_uid; /* of a unix socket: `uid` is that of the process that connected */
    uint32_t uid;
    uint32_t certificate_name_count;
    const struct weir_str *certificate_names; /* subject's CN, then DNS, mail and URI
                                                 names, of a verified certificate */
};

struct weir_http_request {
    enum weir_http_method method;
    struct weir_str method_name;
    struct weir_str target; /* as it was sent: path and query, not decoded */
    struct weir_str path;   /* the same without "?" and query */

    /* "/v1/queues/a%2Fb" is "v1", "queues", "a/b"; "/" has none. No segment is empty,
     * "." or "..": such paths are answered with 404 before a handler sees them. */
    const struct weir_str *segments;
    uint32_t segment_count;

    const struct weir_http_pair *params; /* no name twice; "a" is the same as "a=" */
    uint32_t param_count;
    const struct weir_http_pair *headers; /* names in lower case */
    uint32_t header_count;

    struct weir_str body; /* complete in handle(); empty in admit() */
    bool has_body;        /* Content-Length or chunked was sent; it may be empty */
    uint64_t body_size;   /* announced by Content-Length; 0 of a chunked body */

    struct weir_http_peer peer;
    char id[WEIR_HTTP_REQUEST_ID_SIZE]; /* Weir-Request; ends in 0 */
    int64_t received_ns;                /* monotonic, when the head was complete */
};

/* The value of the first header of this name (in lower case), or NULL. The layer has
 * refused two of authorization, content-type, cookie, idempotency-key, if-match, origin,
 * traceparent and weir-request. */
const struct weir_str *weir_http_request_header(const struct weir_http_request *self,
                                                const char *name);

/* The value of this parameter of the query, or NULL. */
const struct weir_str *weir_http_request_param(const struct weir_http_request *self,
                                               const char *name);

#endif
