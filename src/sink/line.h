/*
 * line.h - a message as one line of JSON: what the sinks for people and scripts write.
 *
 *   {"queue":"orders","partition":3,"seq":17,"id":"0f..9c","key":"anna",
 *    "type":"order.paid",
 *    "headers":{"trace":"7"},"attempts":0,"epoch":2,
 *    "created_at":"2026-03-01T12:00:00.000001Z","payload":"{\"total\": 12}"}
 *
 * (in one line). All fields are always there and in this order; `key` is null when
 * there is none. `id` is the uid in hexadecimal: what receivers de-duplicate by. A
 * payload that is UTF-8 is the text `payload`; any other is `payload_base64` instead.
 * Of a header that is there twice the last one counts. A key, type or header that is no
 * UTF-8 (only producers that go past this library can make one) has U+FFFD for each
 * byte that is none.
 */
#ifndef WEIR_SINK_LINE_H
#define WEIR_SINK_LINE_H

#include <stdint.h>

struct weir_buf;
struct weir_message;

enum { WEIR_LINE_TIME_SIZE = 48 };

/* Append the line, with the newline at its end and no other in it. */
void weir_line_append(struct weir_buf *out, const struct weir_message *message);

/* Microseconds since 1970 as RFC 3339 in UTC, into `out` of WEIR_LINE_TIME_SIZE bytes;
 * returns `out`. */
const char *weir_line_format_time(int64_t time_us, char *out);

#endif
