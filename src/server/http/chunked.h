/*
 * chunked.h - a body in chunks, read strictly: no extensions, no trailers, CR LF only.
 *
 * Threads  The owner's.
 * Memory   None.
 */
#ifndef WEIR_SERVER_HTTP_CHUNKED_H
#define WEIR_SERVER_HTTP_CHUNKED_H

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

enum weir_http_chunked_state {
    WEIR_HTTP_CHUNKED_SIZE, /* the beginning: all zero */
    WEIR_HTTP_CHUNKED_SIZE_LF,
    WEIR_HTTP_CHUNKED_DATA,
    WEIR_HTTP_CHUNKED_DATA_CR,
    WEIR_HTTP_CHUNKED_DATA_LF,
    WEIR_HTTP_CHUNKED_END_CR,
    WEIR_HTTP_CHUNKED_END_LF,
    WEIR_HTTP_CHUNKED_COMPLETE,
    WEIR_HTTP_CHUNKED_BAD
};

struct weir_http_chunked {
    enum weir_http_chunked_state state;
    uint32_t digits; /* of the size that is being read */
    uint64_t left;   /* bytes of the chunk that have not come */
};

/*
 * Read on in `data`; returns how many bytes were used. *piece is what they hold of the
 * body, at most one piece for each call; call it again while bytes are left and the state
 * is neither COMPLETE nor BAD.
 */
size_t weir_http_chunked_read(struct weir_http_chunked *self, const char *data,
                              size_t size, struct weir_str *piece);

#endif
