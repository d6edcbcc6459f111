/*
 * value.h - how single values are written: as text for people, and as members of JSON.
 *
 * Memory   The caller's.
 */
#ifndef WEIR_VIEW_VALUE_H
#define WEIR_VIEW_VALUE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

enum {
    WEIR_AGE_SIZE = 32,
    WEIR_COUNT_SIZE = 32,
    WEIR_RATE_SIZE = 32,
    WEIR_OUTPUT_TIME_SIZE = 40
};

/* "-" for 0, "350 ms", "4.2 s", "3 min 20 s", "5 h 10 min", "3 d 2 h". Returns `out`, of
 * WEIR_AGE_SIZE bytes. */
const char *weir_output_age(int64_t age_us, char *out);

/* "4.2 s ago", at least "1 ms ago". Returns `out`, of WEIR_AGE_SIZE bytes. */
const char *weir_output_ago(int64_t age_us, char *out);

/* "1234", or "~1234" for an estimate. Returns `out`, of WEIR_COUNT_SIZE bytes. */
const char *weir_output_count(int64_t count, bool estimate, char *out);

/* "12", or "1000+" where counting has ended at `most`. Returns `out`, of
 * WEIR_COUNT_SIZE bytes. */
const char *weir_output_bounded(int64_t count, int64_t most, char *out);

/* "1,234,567". Returns `out`, of WEIR_COUNT_SIZE bytes. */
const char *weir_output_grouped(int64_t count, char *out);

/* "-" for 0, "0.04", "3.2", "1234". Returns `out`, of WEIR_RATE_SIZE bytes. */
const char *weir_output_rate(double per_s, char *out);

/* A time, in microseconds since 1970, as RFC 3339 has it, in UTC. Returns `out`, of
 * WEIR_OUTPUT_TIME_SIZE bytes. */
const char *weir_output_time(int64_t us, char *out);

/* "name          value", a line of something shown in full; the second leaves out a
 * time that is 0. */
void weir_output_line(struct weir_buf *text, const char *name, const char *value);
void weir_output_time_line(struct weir_buf *text, const char *name, int64_t us);

/* Append `"name":"text"` and `"name":number`, with a comma in front unless an object or
 * a list begins there. */
void weir_output_add_text(struct weir_buf *json, const char *name, const char *text);
void weir_output_add_number(struct weir_buf *json, const char *name, int64_t number);
void weir_output_add_seconds(struct weir_buf *json, const char *name, int64_t us);
void weir_output_add_rate(struct weir_buf *json, const char *name, double per_s);
void weir_output_add_flag(struct weir_buf *json, const char *name, bool flag);

/* A time as weir_output_time() has it; null for 0. */
void weir_output_add_time(struct weir_buf *json, const char *name, int64_t us);

/* A text when it is UTF-8; else `"name_base64"`. */
void weir_output_add_bytes(struct weir_buf *json, const char *name,
                           struct weir_str bytes);

/* Append a comma where one is needed, then `"name":` if there is a name, then
 * `bracket`. */
void weir_output_open(struct weir_buf *json, const char *name, const char *bracket);

#endif
