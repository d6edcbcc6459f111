/*
 * number.h - a whole number as people write it.
 *
 * Memory   None.
 */
#ifndef WEIR_BASE_LITERAL_NUMBER_H
#define WEIR_BASE_LITERAL_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

/* Digits and nothing else, up to INT64_MAX. False: it is none; *out is then 0. */
bool weir_number_parse(const char *text, int64_t *out);

#endif
