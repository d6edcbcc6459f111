/*
 * duration.h - durations for people: written, read, and the text that refuses one.
 *
 * Two forms: format() is short and cut to what a table needs; check() writes durations
 * exactly, because "is 366 d, must be at most 366 d" does not help.
 *
 * Memory   The caller's.
 */
#ifndef WEIR_BASE_DURATION_H
#define WEIR_BASE_DURATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/error.h"

/* Room for any duration in either form, with the zero. */
enum { WEIR_DURATION_TEXT_SIZE = 32 };

/*
 * "500 µs" below a millisecond, "1.5 ms" below a second, else "1.5 s". What does not
 * fit the last digit is cut, not rounded: nothing ever reads "1000.0 ms". Returns
 * `out`, which has room for `size` bytes, at least WEIR_DURATION_TEXT_SIZE.
 */
const char *weir_duration_format(int64_t duration_ns, char *out, size_t size);

/*
 * WEIR_INVALID unless the duration is from `min_ns` to `max_ns`; the text names the
 * field, its value and the limits:
 *
 *   backoff.max_ns is 400 d, must be from 0 to 366 d
 */
WEIR_CHECKED enum weir_status weir_duration_check(const char *field, int64_t duration_ns,
                                                  int64_t min_ns, int64_t max_ns,
                                                  struct weir_error *error);

/* Exact, in the largest unit that leaves no rest: "90 s", "1 h", "0", "for ever". Returns
 * `out`, as format() does. */
const char *weir_duration_spell(int64_t duration_ns, char *out, size_t size);

/*
 * A whole number and its unit, with a space between them or none: "500ms", "30 s",
 * "5min", "1h", "0". Units are ms, s, min, m, h and d; only 0 needs none. False: it is
 * nothing of that, or more than fits; *out is then 0.
 */
bool weir_duration_parse(const char *text, int64_t *out);

#endif
