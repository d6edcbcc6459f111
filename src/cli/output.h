/*
 * output.h - what a command prints once and at the end: tables for people, JSON for
 * programs.
 *
 * Colours and a width only on a terminal; NO_COLOR is heeded. For what is drawn again
 * and again there is console.h.
 *
 * Memory   The caller's.
 */
#ifndef WEIR_CLI_OUTPUT_H
#define WEIR_CLI_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "cli/command.h"
#include "view/table.h"

enum {
    WEIR_AGE_SIZE = 32,
    WEIR_COUNT_SIZE = 32,
    WEIR_RATE_SIZE = 32,
    WEIR_OUTPUT_TIME_SIZE = 40
};

/* Of standard output: a width of 0 is no limit, and colours are only for a terminal. */
size_t weir_output_width(void);
enum weir_tone_use weir_output_tones(void);

/* Titles and rows to the end of a text, for the width and the colours of standard
 * output. */
WEIR_CHECKED enum weir_status weir_output_append_table(const struct weir_table *table,
                                                       struct weir_buf *text);

/* The same to standard output. WEIR_EXIT_DONE, or WEIR_EXIT_FAILED after telling. */
WEIR_CHECKED int weir_output_table(const struct weir_command *command,
                                   const struct weir_table *table);

/* Whole lines to standard output, likewise. */
WEIR_CHECKED int weir_output_lines(const struct weir_command *command,
                                   const struct weir_buf *text);

/* The text and a newline to standard output, likewise. */
WEIR_CHECKED int weir_output_text(const struct weir_command *command,
                                  const struct weir_buf *text);

/* Bytes as they are, likewise. */
WEIR_CHECKED int weir_output_bytes(const struct weir_command *command,
                                   struct weir_str bytes);

/* "-" for 0, "350 ms", "4.2 s", "3 min 20 s", "5 h 10 min", "3 d 2 h". Returns `out`, of
 * WEIR_AGE_SIZE bytes. */
const char *weir_output_age(int64_t age_us, char *out);

/* "1234", or "~1234" for an estimate. Returns `out`, of WEIR_COUNT_SIZE bytes. */
const char *weir_output_count(int64_t count, bool estimate, char *out);

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
