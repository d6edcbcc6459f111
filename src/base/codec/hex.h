/*
 * hex.h - bytes as hexadecimal digits.
 *
 * Written are small letters; read are both.
 *
 * Memory   The caller's.
 */
#ifndef WEIR_BASE_CODEC_HEX_H
#define WEIR_BASE_CODEC_HEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/api.h"

struct weir_buf;

/* Write two digits for each byte, and no zero. Returns the end of what was written. */
char *weir_hex_write(const void *bytes, size_t size, char *out);

void weir_hex_append(struct weir_buf *out, const void *bytes, size_t size);

/* The value of a digit; -1: it is none. */
int weir_hex_digit(char c);

/* Read `size` bytes of twice as many digits. False: there is something else among them.
 * Nothing is read behind it, so a text that ends early in a zero is fine. */
WEIR_CHECKED bool weir_hex_read(const char *text, size_t size, uint8_t *out);

#endif
