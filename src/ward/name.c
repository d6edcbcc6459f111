/*
 * name.c - see name.h.
 */
#include "ward/name.h"

#include <string.h>

#include "weir/worker.h"

enum weir_status weir_name_check(const char *field, const char *name,
                                 struct weir_error *error)
{
    size_t size;

    if (name == NULL || name[0] == '\0')
        return weir_error_set(error, WEIR_INVALID,
                              "%s is empty, must have 1 to %d characters", field,
                              WEIR_WORKER_NAME_SIZE_MAX);
    size = strnlen(name, WEIR_WORKER_NAME_SIZE_MAX + 1);
    for (size_t i = 0; i < size; i++) { /* first: the other text repeats the name */
        if (name[i] <= ' ' || name[i] > '~')
            return weir_error_set(error, WEIR_INVALID,
                                  "%s has byte 0x%02x at %zu, must be printable ASCII "
                                  "without space",
                                  field, (unsigned)(unsigned char)name[i], i);
    }
    if (size > WEIR_WORKER_NAME_SIZE_MAX)
        return weir_error_set(
            error, WEIR_INVALID,
            "%s \"%.32s...\" is too long, must have at most %d characters", field, name,
            WEIR_WORKER_NAME_SIZE_MAX);
    return WEIR_OK;
}
