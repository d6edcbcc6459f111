/*
 * json.h - texts as JSON strings.
 *
 * Everything else of JSON is short enough to be printed as it is.
 */
#ifndef WEIR_BASE_JSON_H
#define WEIR_BASE_JSON_H

struct weir_buf;

/* Append `text` in quotes. Bytes beyond ASCII are taken for UTF-8 and stay as they are. */
void weir_json_append_text(struct weir_buf *out, const char *text);

#endif
