/*
 * sample.h - the figures of several runs, and what to make of them.
 *
 * A pair holds a figure of ours and one of the baseline per round, taken one right
 * after the other. Its ratio is the median of the rounds' ratios, not the ratio of the
 * medians: what slows the machine down for a while slows both sides of a round.
 */
#ifndef WEIR_BENCH_SAMPLE_H
#define WEIR_BENCH_SAMPLE_H

#include <stddef.h>
#include <stdint.h>

enum { BENCH_ROUNDS_MAX = 64 };

struct bench_sample {
    double values[BENCH_ROUNDS_MAX];
    size_t count;
};

struct bench_pair {
    struct bench_sample ours;
    struct bench_sample baseline;
    struct bench_sample ratios;
};

/* So many in so long. */
double bench_per_second(uint64_t count, int64_t duration_ns);

void bench_sample_add(struct bench_sample *self, double value);
double bench_sample_median(const struct bench_sample *self);
double bench_sample_min(const struct bench_sample *self);
double bench_sample_max(const struct bench_sample *self);

void bench_pair_add(struct bench_pair *self, double ours, double baseline);

/* Sorts; then percentile() reads: 50 is the median, 99 is the one that 1 in 100
 * exceeds. */
void bench_sort_ns(int64_t *values, size_t count);
int64_t bench_percentile_ns(const int64_t *sorted, size_t count, double percent);

#endif
