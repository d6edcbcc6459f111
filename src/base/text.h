/*
 * text.h - printf into a fixed buffer, where it shows when something was cut.
 *
 * Errors and log lines must not allocate, so they have a size, and now and then a text
 * is longer. It is cut then and ends in "...", between two UTF-8 characters and not
 * inside one.
 *
 * Memory   The caller's.
 */
#ifndef WEIR_BASE_TEXT_H
#define WEIR_BASE_TEXT_H

#include <stdarg.h>
#include <stddef.h>

#include "weir/api.h"

/*
 * Write the text and a zero to `out`, which has room for `size` bytes (at least 4) and is
 * none of the arguments. Returns the length of what is there now.
 */
size_t weir_text_format(char *out, size_t size, const char *format, ...)
    WEIR_PRINTF(3, 4);
size_t weir_text_format_list(char *out, size_t size, const char *format,
                             va_list arguments) WEIR_PRINTF(3, 0);

#endif
