/*
 * table.h - the report: sections, rows of figures, targets met and missed.
 *
 *   1. no-op executions per second             weir        queue   ratio  target
 *      verdict 1 worker, 1 thread                  8.12 M/s    12.80 M/s    0.63  >=
 *      0.2    ok
 */
#ifndef WEIR_BENCH_TABLE_H
#define WEIR_BENCH_TABLE_H

#include <stddef.h>

#include "lib/sample.h"

enum bench_unit {
    BENCH_PER_SECOND,
    BENCH_NANOSECONDS,
    BENCH_BYTES,
    BENCH_COUNT, /* a plain number */
    BENCH_DECIMAL,
    BENCH_PERCENT
};

struct bench_target {
    enum { TARGET_NONE, TARGET_AT_LEAST, TARGET_AT_MOST, TARGET_BELOW } kind;
    double limit;
};

#define BENCH_AT_LEAST(value) ((struct bench_target){TARGET_AT_LEAST, (value)})
#define BENCH_AT_MOST(value) ((struct bench_target){TARGET_AT_MOST, (value)})
#define BENCH_BELOW(value) ((struct bench_target){TARGET_BELOW, (value)})
#define BENCH_UNJUDGED ((struct bench_target){TARGET_NONE, 0})

/* Begin a section; the two names head the columns of figures. `baseline` may be "". */
void bench_section(const char *title, const char *ours, const char *baseline);

/* A row with a baseline; the target is for the ratio. */
void bench_row_pair(const char *name, enum bench_unit unit, const struct bench_pair *pair,
                    struct bench_target target);

/* The median of a sample without a baseline; the target is for the value itself. */
void bench_row_sample(const char *name, enum bench_unit unit,
                      const struct bench_sample *sample, struct bench_target target);

/* One value. */
void bench_row_value(const char *name, enum bench_unit unit, double value,
                     struct bench_target target);

/* A line of prose below the rows. */
void bench_note(const char *text);

/* How many targets there were, and how many were missed; in words, as the last line. */
void bench_summary(void);

#endif
