/*
 * check.c - lets benches use the servers of tests/lib: a check that fails there ends
 * the bench.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "kit/test.h"

void weir_test_fail(const char *file, int line, const char *format, ...)
{
    va_list arguments;

    (void)fflush(stdout);
    (void)fprintf(stderr, "bench: cannot go on: %s:%d: ", file, line);
    va_start(arguments, format);
    (void)vfprintf(stderr, format, arguments);
    va_end(arguments);
    (void)fputc('\n', stderr);
    exit(1);
}

void weir_test_check_int(const char *file, int line, const char *text, intmax_t got,
                         intmax_t want)
{
    if (got != want)
        weir_test_fail(file, line, "%s: got %jd, want %jd", text, got, want);
}
