/*
 * A chunked body. It is read at once and in pieces, whose size the first byte is; both
 * must see the same body and the same end.
 */
#include <string.h>

#include "fuzz.h"
#include "server/http/chunked.h"

enum { BODY_MAX = 65536 };

struct result {
    struct weir_http_chunked state;
    char body[BODY_MAX];
    size_t body_size;
    size_t used;
};

static struct result whole, pieces;

static void feed(struct result *self, const char *bytes, size_t size)
{
    size_t at = 0;

    while (at < size && self->state.state < WEIR_HTTP_CHUNKED_COMPLETE) {
        struct weir_str piece;
        size_t used = weir_http_chunked_read(&self->state, bytes + at, size - at, &piece);

        WEIR_ASSERT(used > 0 && used <= size - at);
        WEIR_ASSERT(piece.size <= used && self->body_size + piece.size <= BODY_MAX);
        if (piece.size > 0)
            memcpy(self->body + self->body_size, piece.data, piece.size);
        self->body_size += piece.size;
        at += used;
    }
    self->used += at;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    const char *text = (const char *)bytes;
    size_t step;

    if (size < 1 || size > BODY_MAX)
        return 0;
    step = bytes[0] % 16 + 1u;
    text++;
    size--;
    whole.state = pieces.state = (struct weir_http_chunked){0};
    whole.body_size = pieces.body_size = whole.used = pieces.used = 0;
    feed(&whole, text, size);
    for (size_t at = 0; at < size; at += step)
        feed(&pieces, text + at, size - at < step ? size - at : step);
    WEIR_ASSERT(whole.state.state == pieces.state.state && whole.used == pieces.used);
    WEIR_ASSERT(whole.body_size == pieces.body_size &&
                memcmp(whole.body, pieces.body, whole.body_size) == 0);
    if (whole.state.state == WEIR_HTTP_CHUNKED_COMPLETE)
        WEIR_ASSERT(memcmp(text + whole.used - 4, "\r\n\r\n", 4) == 0);
    return 0;
}

FUZZ_CORPUS(http_chunked);
