/*
 * base64.h - bytes as letters (RFC 4648, section 4: with padding, in one line).
 */
#ifndef WEIR_BASE_CODEC_BASE64_H
#define WEIR_BASE_CODEC_BASE64_H

#include <stddef.h>

struct weir_buf;

void weir_base64_append(struct weir_buf *out, const void *bytes, size_t size);

#endif
