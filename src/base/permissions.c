/*
 * permissions.c - see permissions.h.
 */
#include "base/permissions.h"

enum { DIGITS_MIN = 3, DIGITS_MAX = 4, ALL = 0666 };

bool weir_permissions_are_valid(uint32_t permissions)
{
    return (permissions & ~(uint32_t)ALL) == 0 &&
           (permissions & WEIR_PERMISSIONS_OWNER) == WEIR_PERMISSIONS_OWNER;
}

bool weir_permissions_parse(struct weir_str text, uint32_t *out)
{
    uint32_t value = 0;

    if (text.size < DIGITS_MIN || text.size > DIGITS_MAX)
        return false;
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] < '0' || text.data[i] > '7')
            return false;
        value = value * 8 + (uint32_t)(text.data[i] - '0');
    }
    if (!weir_permissions_are_valid(value))
        return false;
    *out = value;
    return true;
}
