/*
 * head.h - request line and headers, read strictly.
 *
 * A proxy in front of the server may read a request with more tolerance than we do; then
 * both must agree on where it ends. So all that could be read in two ways is refused: see
 * the refusals. Framing (length or chunks) is decided here, too.
 *
 * Threads  The owner's.
 * Memory   None: views of the bytes that were given.
 */
#ifndef WEIR_SERVER_HTTP_HEAD_H
#define WEIR_SERVER_HTTP_HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/http/refusal.h"
#include "server/http/request.h"

/* How far the search for the end of a head has come; begins as all zero. */
struct weir_http_head_scan {
    size_t offset;     /* bytes that were looked at */
    size_t line_start; /* of the line that is not complete */
};

struct weir_http_head {
    enum weir_http_method method;
    struct weir_str method_name;
    struct weir_str target;
    bool http10;
    bool close;           /* the connection ends with this request */
    bool expect_continue; /* never with HTTP/1.0 */
    bool chunked;
    bool has_length;
    uint64_t length;
    uint32_t header_count;
    struct weir_http_pair headers[WEIR_HTTP_HEADERS_MAX];
};

/*
 * Look for the end of the head in all bytes that have come so far; call it again with
 * more. *head_size is the size of the head with its empty line, or 0 while it is not
 * complete. What no valid head can begin with is refused as soon as it is seen. NULL:
 * fine.
 */
const struct weir_http_refusal *weir_http_head_scan(struct weir_http_head_scan *self,
                                                    const char *data, size_t size,
                                                    size_t *head_size);

/* Read a head that scan() has found complete. Turns the names of headers in `data` into
 * lower case. NULL: fine; else `out` is undefined. */
const struct weir_http_refusal *weir_http_head_parse(char *data, size_t size,
                                                     struct weir_http_head *out);

/* `text` consists of token characters, at least one. */
bool weir_http_is_token(struct weir_str text);

#endif
