/*
 * json.h - texts as JSON strings.
 *
 * Everything else of JSON is short enough to be printed as it is.
 */
#ifndef WEIR_BASE_JSON_H
#define WEIR_BASE_JSON_H

#include "base/str.h"

struct weir_buf;

/* Append `text` in quotes. Bytes beyond ASCII are taken for UTF-8 and stay as they
 * are. */
void weir_json_append_text(struct weir_buf *out, const char *text);

/* The same for any bytes, zeros among them: what is no UTF-8 becomes U+FFFD, byte by
 * byte, so that the result is JSON whatever comes. */
void weir_json_append_str(struct weir_buf *out, struct weir_str text);

#endif
