/*
 * no_memory.c - the error of an allocation that failed.
 */
#include "base/no_memory.h"

#include <stdarg.h>
#include <stddef.h>

#include "base/text.h"

enum weir_status weir_no_memory(struct weir_error *error, const char *what)
{
    if (what == NULL)
        return weir_error_set(error, WEIR_NO_MEMORY, "out of memory");
    return weir_error_set(error, WEIR_NO_MEMORY, "%s: out of memory", what);
}

enum weir_status weir_no_memory_for(struct weir_error *error, const char *format, ...)
{
    char what[WEIR_ERROR_TEXT_SIZE];
    va_list arguments;

    va_start(arguments, format);
    weir_text_format_list(what, sizeof what, format, arguments);
    va_end(arguments);
    return weir_error_set(error, WEIR_NO_MEMORY, "no memory for %s", what);
}
