/*
 * json.c - quoting for JSON: the quote, the backslash and what is below a space.
 */
#include "base/json.h"

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

static bool is_plain(char c)
{
    return (unsigned char)c >= ' ' && c != '"' && c != '\\';
}

void weir_json_append_text(struct weir_buf *out, const char *text)
{
    weir_buf_append_text(out, "\"");
    while (*text != '\0') {
        size_t run = 0;

        while (is_plain(text[run]))
            run++;
        weir_buf_append(out, text, run);
        text += run;
        if (*text == '\0')
            break;
        if (*text == '"' || *text == '\\')
            weir_buf_append_format(out, "\\%c", *text);
        else
            weir_buf_append_format(out, "\\u%04x", (unsigned)*text);
        text++;
    }
    weir_buf_append_text(out, "\"");
}
