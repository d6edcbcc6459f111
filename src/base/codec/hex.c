/*
 * hex.c - see hex.h.
 */
#include "base/codec/hex.h"

#include "base/buf.h"

static const char DIGITS[] = "0123456789abcdef";

char *weir_hex_write(const void *bytes, size_t size, char *out)
{
    const uint8_t *next = bytes;

    for (size_t i = 0; i < size; i++) {
        *out++ = DIGITS[next[i] >> 4];
        *out++ = DIGITS[next[i] & 15];
    }
    return out;
}

void weir_hex_append(struct weir_buf *out, const void *bytes, size_t size)
{
    const uint8_t *next = bytes;
    char digits[256];

    while (size > 0) {
        size_t step = size < sizeof digits / 2 ? size : sizeof digits / 2;

        weir_buf_append(out, digits,
                        (size_t)(weir_hex_write(next, step, digits) - digits));
        next += step;
        size -= step;
    }
}

int weir_hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
        return (c | 0x20) - 'a' + 10;
    return -1;
}

bool weir_hex_read(const char *text, size_t size, uint8_t *out)
{
    for (size_t i = 0; i < size; i++) {
        int high = weir_hex_digit(text[2 * i]);
        int low = high < 0 ? -1 : weir_hex_digit(text[2 * i + 1]);

        if (low < 0)
            return false;
        out[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}
