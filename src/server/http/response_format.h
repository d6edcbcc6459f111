/*
 * response_format.h - the bytes of an answer.
 */
#ifndef WEIR_SERVER_HTTP_RESPONSE_FORMAT_H
#define WEIR_SERVER_HTTP_RESPONSE_FORMAT_H

#include <stdbool.h>
#include <stddef.h>

#include "server/http/response.h"

struct weir_buf;

/* How the answer is framed, and what the layer says in each. */
struct weir_http_framing {
    const char *server_name;
    const char *request_id;
    bool tls;
    bool close;
    bool stream;  /* the size of the body is not known */
    bool chunked; /* of a stream: in chunks, else until the close */
};

/* Append status line and headers, for a body of `body_size` bytes. Characters that a
 * header must not have become spaces. */
void weir_http_response_format(struct weir_buf *buf,
                               const struct weir_http_framing *framing,
                               const struct weir_http_response *response,
                               size_t body_size);

/* An answer of this status has no body, whatever the handler gave. */
bool weir_http_status_is_bare(uint32_t status);

#endif
