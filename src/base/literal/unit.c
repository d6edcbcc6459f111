/*
 * unit.c - see unit.h.
 */
#include "base/literal/unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* 0: there is no such unit. */
static int64_t size_of(const char *name, const struct weir_unit *units, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(units[i].name, name) == 0)
            return units[i].size;
    }
    return 0;
}

bool weir_unit_parse(const char *text, const struct weir_unit *units, size_t count,
                     int64_t *out)
{
    size_t digits = strspn(text, "0123456789");
    const char *unit = text + digits;
    long long number;
    int64_t size;

    *out = 0;
    errno = 0;
    number = strtoll(text, NULL, 10);
    if (digits == 0 || errno != 0)
        return false;
    if (number == 0 && unit[0] == '\0')
        return true;
    size = size_of(unit[0] == ' ' ? unit + 1 : unit, units, count);
    if (size == 0 || number > INT64_MAX / size)
        return false;
    *out = number * size;
    return true;
}
