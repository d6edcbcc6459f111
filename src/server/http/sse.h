/*
 * sse.h - one event of a stream of server-sent events.
 *
 * The answer has the content type WEIR_HTTP_SSE and is sent with begin() and write().
 */
#ifndef WEIR_SERVER_HTTP_SSE_H
#define WEIR_SERVER_HTTP_SSE_H

#include "base/str.h"

struct weir_buf;

#define WEIR_HTTP_SSE "text/event-stream"

/* Append one event. `name` and `id` may be empty and have no line ends; `data` may have
 * some: it becomes a line "data:" for each of its own. */
void weir_http_sse_append(struct weir_buf *buf, struct weir_str name, struct weir_str id,
                          struct weir_str data);

/* Append a comment, which keeps proxies from closing an idle stream. */
void weir_http_sse_append_comment(struct weir_buf *buf);

#endif
