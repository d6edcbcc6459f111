/*
 * must.c - see must.h.
 */
#include "lib/must.h"

#include <stdio.h>
#include <stdlib.h>

void bench_must(bool holds, const char *what)
{
    if (holds)
        return;
    (void)fflush(stdout);
    (void)fprintf(stderr, "bench: cannot go on: %s\n", what);
    exit(1);
}

void bench_must_ok(enum weir_status status, const struct weir_error *error,
                   const char *what)
{
    if (status == WEIR_OK)
        return;
    (void)fflush(stdout);
    (void)fprintf(stderr, "bench: cannot go on: %s: %s\n", what,
                  error != NULL && error->text[0] != '\0' ? error->text
                                                          : weir_status_text(status));
    exit(1);
}

void *bench_must_alloc(size_t count, size_t size)
{
    void *memory = calloc(count, size);

    bench_must(memory != NULL, "out of memory");
    return memory;
}
