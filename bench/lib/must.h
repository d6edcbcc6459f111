/*
 * must.h - a bench that cannot go on says why and ends with code 1.
 *
 * Not for figures: a target that is missed is printed, and the bench goes on.
 */
#ifndef WEIR_BENCH_MUST_H
#define WEIR_BENCH_MUST_H

#include <stdbool.h>
#include <stddef.h>

#include <weir/error.h>

void bench_must(bool holds, const char *what);
void bench_must_ok(enum weir_status status, const struct weir_error *error,
                   const char *what);

/* Zeroed memory, or the end. Freed by free(). */
void *bench_must_alloc(size_t count, size_t size);

#endif
