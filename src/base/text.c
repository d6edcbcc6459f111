/*
 * text.c - vsnprintf, and three dots where it ran out of room.
 */
#include "base/text.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"

static const char DOTS[] = "...";

static size_t mark_cut(char *out, size_t size);
static bool continues_character(char byte);

size_t weir_text_format(char *out, size_t size, const char *format, ...)
{
    va_list arguments;
    size_t length;

    va_start(arguments, format);
    length = weir_text_format_list(out, size, format, arguments);
    va_end(arguments);
    return length;
}

size_t weir_text_format_list(char *out, size_t size, const char *format,
                             va_list arguments)
{
    int length;

    WEIR_ASSERT(size >= sizeof DOTS);
    length = vsnprintf(out, size, format, arguments);
    if (length < 0) {
        /* Only a wide character that the locale cannot express gets us here. */
        out[0] = '\0';
        return 0;
    }
    if ((size_t)length < size)
        return (size_t)length;
    return mark_cut(out, size);
}

/* Put the dots at the end of a full buffer, or a little earlier: a character of several
 * bytes that they would tear apart goes as a whole. */
static size_t mark_cut(char *out, size_t size)
{
    size_t end = size - sizeof DOTS;

    while (end > 0 && continues_character(out[end]))
        end--;
    memcpy(out + end, DOTS, sizeof DOTS);
    return end + strlen(DOTS);
}

/* UTF-8: the second and later bytes of a character are 10xxxxxx. */
static bool continues_character(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}
