/*
 * base64.c - three bytes become four letters, gathered before they are appended.
 */
#include "base/codec/base64.h"

#include <stdint.h>

#include "base/buf.h"

static const char LETTERS[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* Up to three bytes, the missing ones shown as padding. */
static void encode(const uint8_t *bytes, size_t size, char *out)
{
    uint32_t bits = (uint32_t)bytes[0] << 16;

    if (size > 1)
        bits |= (uint32_t)bytes[1] << 8;
    if (size > 2)
        bits |= bytes[2];
    out[0] = LETTERS[bits >> 18];
    out[1] = LETTERS[bits >> 12 & 63];
    out[2] = size > 1 ? LETTERS[bits >> 6 & 63] : '=';
    out[3] = size > 2 ? LETTERS[bits & 63] : '=';
}

void weir_base64_append(struct weir_buf *out, const void *bytes, size_t size)
{
    const uint8_t *next = bytes;
    char letters[256];
    size_t used = 0;

    while (size > 0) {
        size_t step = size < 3 ? size : 3;

        encode(next, step, letters + used);
        used += 4;
        next += step;
        size -= step;
        if (used == sizeof letters || size == 0) {
            weir_buf_append(out, letters, used);
            used = 0;
        }
    }
}
