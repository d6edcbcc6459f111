/*
 * base64url.h - bytes as letters that a URL may have (RFC 4648, section 5), without
 * padding.
 *
 * Memory   The caller's.
 */
#ifndef WEIR_BASE_CODEC_BASE64URL_H
#define WEIR_BASE_CODEC_BASE64URL_H

#include <stdbool.h>
#include <stddef.h>

/* The letters of `size` bytes: (4 * size + 2) / 3, and no zero. Returns their end. */
char *weir_base64url_write(const void *bytes, size_t size, char *out);

/* Is it one of the 64 letters? */
bool weir_base64url_is_letter(char c);

#endif
