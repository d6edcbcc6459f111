/*
 * sse.c - see sse.h.
 */
#include "server/http/sse.h"

#include "base/buf.h"

static void append_line(struct weir_buf *buf, const char *name, struct weir_str value)
{
    weir_buf_append_text(buf, name);
    weir_buf_append(buf, value.data, value.size);
    weir_buf_append_text(buf, "\n");
}

/* The first line of *rest, which is taken out; CR, LF and CR LF end one. False: there was
 * none. */
static bool take_line(struct weir_str *rest, bool *more, struct weir_str *line)
{
    size_t size = 0;

    if (!*more)
        return false;
    while (size < rest->size && rest->data[size] != '\r' && rest->data[size] != '\n')
        size++;
    *line = (struct weir_str){rest->data, size};
    *more = size < rest->size;
    if (*more && rest->data[size] == '\r' && size + 1 < rest->size &&
        rest->data[size + 1] == '\n')
        size++;
    if (*more) {
        rest->data += size + 1;
        rest->size -= size + 1;
    }
    return true;
}

void weir_http_sse_append(struct weir_buf *buf, struct weir_str name, struct weir_str id,
                          struct weir_str data)
{
    struct weir_str line;
    bool more = true;

    if (name.size > 0)
        append_line(buf, "event: ", name);
    if (id.size > 0)
        append_line(buf, "id: ", id);
    while (take_line(&data, &more, &line))
        append_line(buf, "data: ", line);
    weir_buf_append_text(buf, "\n");
}

void weir_http_sse_append_comment(struct weir_buf *buf)
{
    weir_buf_append_text(buf, ":\n\n");
}
