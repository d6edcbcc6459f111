/*
 * response.h - what a handler answers.
 *
 * The layer adds Date, Content-Length or Transfer-Encoding, Connection, Weir-Request,
 * Weir-Server, Cache-Control: no-store, X-Content-Type-Options and, with TLS,
 * Strict-Transport-Security; a response must not bring these itself, except for
 * Cache-Control, which then replaces ours.
 */
#ifndef WEIR_SERVER_HTTP_RESPONSE_H
#define WEIR_SERVER_HTTP_RESPONSE_H

#include <stdbool.h>
#include <stdint.h>

#include "server/http/request.h"

struct weir_buf;

struct weir_http_response {
    uint32_t status;                      /* 200 to 599 */
    const char *content_type;             /* NULL: there is no body */
    const struct weir_http_pair *headers; /* borrowed for the call; without CR, LF, 0 */
    uint32_t header_count;

    /* The body, one of the two. `text` is borrowed for the call and copied. The bytes of
     * `buffer` are moved: it is empty afterwards, and must have the heap of the
     * server. */
    struct weir_str text;
    struct weir_buf *buffer;

    bool close; /* close the connection afterwards */
};

/* "Not Found"; "Unknown" for a status without a phrase of its own. Lives for ever. */
const char *weir_http_reason(uint32_t status);

#endif
