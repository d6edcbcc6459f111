/*
 * utc.h - a time as RFC 3339 has it: in UTC, with microseconds.
 *
 * Memory   The caller's.
 */
#ifndef WEIR_BASE_CODEC_UTC_H
#define WEIR_BASE_CODEC_UTC_H

#include <stdint.h>

enum { WEIR_UTC_SIZE = 48 };

/* "2026-11-20T08:00:00.000001Z", of microseconds since 1970; into `out` of WEIR_UTC_SIZE
 * bytes, which is returned. */
const char *weir_utc_format(int64_t time_us, char *out);

#endif
