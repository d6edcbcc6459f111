/*
 * json.c - quoting for JSON: the quote, the backslash and what is below a space.
 */
#include "cli/json.h"

#include "base/buf.h"

void weir_json_append_text(struct weir_buf *out, const char *text)
{
    weir_buf_append_text(out, "\"");
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\')
            weir_buf_append_format(out, "\\%c", *text);
        else if ((unsigned char)*text < ' ')
            weir_buf_append_format(out, "\\u%04x", (unsigned)*text);
        else
            weir_buf_append(out, text, 1);
    }
    weir_buf_append_text(out, "\"");
}
