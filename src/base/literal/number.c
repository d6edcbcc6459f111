/*
 * number.c - see number.h.
 */
#include "base/literal/number.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool weir_number_parse(const char *text, int64_t *out)
{
    size_t digits = strspn(text, "0123456789");
    long long number;

    *out = 0;
    errno = 0;
    number = strtoll(text, NULL, 10);
    if (digits == 0 || text[digits] != '\0' || errno != 0)
        return false;
    *out = number;
    return true;
}
