/*
 * size.h - sizes in bytes for people: written and read.
 *
 * Memory   The caller's.
 */
#ifndef WEIR_BASE_LITERAL_SIZE_H
#define WEIR_BASE_LITERAL_SIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Room for any size in words, with the zero. */
enum { WEIR_SIZE_TEXT_SIZE = 32 };

/* A whole number and its unit, with a space between them or none: "64KiB", "16 MiB",
 * "0". Units are B, KiB, MiB and GiB; only 0 needs none. False: it is nothing of that,
 * or more than fits; *out is then 0. */
bool weir_size_parse(const char *text, int64_t *out);

/* Exact, in the largest unit that leaves no rest: "64KiB", "1000B", "0". `bytes` is not
 * negative. Returns `out`, which has room for WEIR_SIZE_TEXT_SIZE. */
const char *weir_size_spell(int64_t bytes, char *out);

#endif
