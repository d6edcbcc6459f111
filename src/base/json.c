/*
 * json.c - quoting for JSON: the quote, the backslash and what is below a space.
 */
#include "base/json.h"

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/codec/hex.h"
#include "base/utf8.h"

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

/* How many bytes from the beginning stay as they are. */
static size_t plain_run(const char *text, size_t size)
{
    size_t run = 0;

    while (run < size && is_plain(text[run])) {
        size_t step = 1;

        if ((unsigned char)text[run] >= 0x80)
            step = weir_utf8_sequence(text + run, size - run);
        if (step == 0)
            break;
        run += step;
    }
    return run;
}

static void append_escaped(struct weir_buf *out, unsigned char byte)
{
    char control[] = "\\u0000";

    if (byte == '"' || byte == '\\')
        weir_buf_append(out, (const char[]){'\\', (char)byte}, 2);
    else if (byte == '\n')
        weir_buf_append_text(out, "\\n");
    else if (byte < ' ')
        weir_buf_append(out, control,
                        (size_t)(weir_hex_write(&byte, 1, control + 4) - control));
    else
        weir_buf_append_text(out, "\\ufffd");
}

void weir_json_append_str(struct weir_buf *out, struct weir_str text)
{
    size_t done = 0;

    weir_buf_append_text(out, "\"");
    while (done < text.size) {
        size_t run = plain_run(text.data + done, text.size - done);

        weir_buf_append(out, text.data + done, run);
        done += run;
        if (done < text.size)
            append_escaped(out, (unsigned char)text.data[done++]);
    }
    weir_buf_append_text(out, "\"");
}
