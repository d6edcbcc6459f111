/*
 * no_memory.h - the error of an allocation that failed.
 *
 * Both functions store WEIR_NO_MEMORY with a text in `error`, which may be NULL, and
 * return WEIR_NO_MEMORY, so that the call can be the last line of a function.
 *
 * Memory   None.
 */
#ifndef WEIR_BASE_NO_MEMORY_H
#define WEIR_BASE_NO_MEMORY_H

#include "weir/error.h"

/* "WHAT: out of memory"; NULL for `what`: "out of memory". */
enum weir_status weir_no_memory(struct weir_error *error, const char *what);

/* "no memory for ...", as printf. */
enum weir_status weir_no_memory_for(struct weir_error *error, const char *format, ...)
    WEIR_PRINTF(2, 3);

#endif
