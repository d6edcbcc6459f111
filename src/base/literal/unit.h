/*
 * unit.h - a number with its unit: durations and sizes.
 *
 * Memory   None.
 */
#ifndef WEIR_BASE_LITERAL_UNIT_H
#define WEIR_BASE_LITERAL_UNIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct weir_unit {
    int64_t size; /* how much one of it is: at least 1 */
    const char *name;
};

/*
 * A whole number and the name of one of `units`, with a space between them or none; only
 * 0 needs no unit. False: it is nothing of that, or more than fits; *out is then 0.
 */
bool weir_unit_parse(const char *text, const struct weir_unit *units, size_t count,
                     int64_t *out);

#endif
