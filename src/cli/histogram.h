/*
 * histogram.h - how durations are spread, in a fixed amount of memory.
 *
 * Each power of two is divided into eight steps, so a percentile is right to an eighth
 * of its value, however many durations were noted and however different they are. Two
 * of them can be subtracted: what came between two copies is a histogram as well.
 *
 * Threads  The owner's.
 * Memory   About two kilobytes, the caller's; may be copied as it is.
 */
#ifndef WEIR_CLI_HISTOGRAM_H
#define WEIR_CLI_HISTOGRAM_H

#include <stdint.h>

/* Steps up to 2^32 µs, more than an hour; what is longer counts as that. */
enum { WEIR_HISTOGRAM_STEPS = 8, WEIR_HISTOGRAM_COUNT = 30 * WEIR_HISTOGRAM_STEPS };

struct weir_histogram {
    uint64_t total;
    int64_t max_ns;
    uint64_t counts[WEIR_HISTOGRAM_COUNT];
};

/* Note a duration; one below 0 counts as 0. */
void weir_histogram_add(struct weir_histogram *self, int64_t duration_ns);

/* Take away an older copy of the same histogram. The maximum stays that of both. */
void weir_histogram_subtract(struct weir_histogram *self,
                             const struct weir_histogram *older);

/* The least duration that at least `percent` of all do not exceed, in nanoseconds and
 * rounded up to its step, but not above the maximum; 0 when nothing was noted. */
int64_t weir_histogram_percentile(const struct weir_histogram *self, double percent);

#endif
