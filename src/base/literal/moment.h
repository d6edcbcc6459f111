/*
 * moment.h - a moment as people write it on a command line.
 *
 * As RFC 3339 has it, and as the program prints it: 2026-11-17T20:00:00Z. Seconds,
 * their fraction and the time of day may be left out; a blank may stand for the T.
 * Without an offset it is UTC.
 *
 * Memory   None.
 */
#ifndef WEIR_BASE_LITERAL_MOMENT_H
#define WEIR_BASE_LITERAL_MOMENT_H

#include <stdbool.h>
#include <stdint.h>

/* Microseconds since 1970, of years 1970 to 9999. False: it is no moment; *out is then
 * 0. */
bool weir_moment_parse(const char *text, int64_t *out);

#endif
