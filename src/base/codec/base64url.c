/*
 * base64url.c - see base64url.h.
 */
#include "base/codec/base64url.h"

#include <stdint.h>
#include <string.h>

static const char LETTERS[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

char *weir_base64url_write(const void *bytes, size_t size, char *out)
{
    const uint8_t *at = bytes;
    uint32_t held = 0;
    unsigned bits = 0;

    for (size_t i = 0; i < size; i++) {
        held = (held << 8) | at[i];
        for (bits += 8; bits >= 6; bits -= 6)
            *out++ = LETTERS[(held >> (bits - 6)) & 63];
    }
    if (bits > 0)
        *out++ = LETTERS[(held << (6 - bits)) & 63];
    return out;
}

bool weir_base64url_is_letter(char c)
{
    return c != '\0' && strchr(LETTERS, c) != NULL;
}
