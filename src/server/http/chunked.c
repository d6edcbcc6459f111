/*
 * chunked.c - see chunked.h.
 */
#include "server/http/chunked.h"

#include "base/codec/hex.h"

enum { DIGITS_MAX = 15 }; /* so that no size overflows */

static enum weir_http_chunked_state read_size(struct weir_http_chunked *self, char c)
{
    int value = weir_hex_digit(c);

    if (c == '\r' && self->digits > 0)
        return WEIR_HTTP_CHUNKED_SIZE_LF;
    if (value < 0 || self->digits == DIGITS_MAX)
        return WEIR_HTTP_CHUNKED_BAD;
    self->digits++;
    self->left = self->left * 16 + (uint64_t)value;
    return WEIR_HTTP_CHUNKED_SIZE;
}

static enum weir_http_chunked_state expect(char c, char want,
                                           enum weir_http_chunked_state next)
{
    return c == want ? next : WEIR_HTTP_CHUNKED_BAD;
}

static enum weir_http_chunked_state read_one(struct weir_http_chunked *self, char c)
{
    switch (self->state) {
    case WEIR_HTTP_CHUNKED_SIZE:
        return read_size(self, c);
    case WEIR_HTTP_CHUNKED_SIZE_LF:
        return expect(c, '\n',
                      self->left > 0 ? WEIR_HTTP_CHUNKED_DATA : WEIR_HTTP_CHUNKED_END_CR);
    case WEIR_HTTP_CHUNKED_DATA_CR:
        return expect(c, '\r', WEIR_HTTP_CHUNKED_DATA_LF);
    case WEIR_HTTP_CHUNKED_DATA_LF:
        self->digits = 0;
        return expect(c, '\n', WEIR_HTTP_CHUNKED_SIZE);
    case WEIR_HTTP_CHUNKED_END_CR:
        return expect(c, '\r', WEIR_HTTP_CHUNKED_END_LF);
    case WEIR_HTTP_CHUNKED_END_LF:
        return expect(c, '\n', WEIR_HTTP_CHUNKED_COMPLETE);
    case WEIR_HTTP_CHUNKED_DATA:
    case WEIR_HTTP_CHUNKED_COMPLETE:
    case WEIR_HTTP_CHUNKED_BAD:
        break;
    }
    return self->state;
}

size_t weir_http_chunked_read(struct weir_http_chunked *self, const char *data,
                              size_t size, struct weir_str *piece)
{
    size_t used = 0;

    *piece = (struct weir_str){NULL, 0};
    while (used < size && self->state < WEIR_HTTP_CHUNKED_COMPLETE &&
           self->state != WEIR_HTTP_CHUNKED_DATA)
        self->state = read_one(self, data[used++]);
    if (self->state == WEIR_HTTP_CHUNKED_DATA && used < size) {
        size_t here = size - used;

        piece->data = data + used;
        piece->size = self->left < here ? (size_t)self->left : here;
        used += piece->size;
        self->left -= piece->size;
        if (self->left == 0)
            self->state = WEIR_HTTP_CHUNKED_DATA_CR;
    }
    return used;
}
