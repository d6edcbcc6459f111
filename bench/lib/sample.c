/*
 * sample.c - see sample.h.
 */
#include "lib/sample.h"

#include <stdlib.h>
#include <string.h>

#include "lib/must.h"

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

static int compare_ns(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

double bench_per_second(uint64_t count, int64_t duration_ns)
{
    return (double)count * 1e9 / (double)duration_ns;
}

void bench_sample_add(struct bench_sample *self, double value)
{
    bench_must(self->count < BENCH_ROUNDS_MAX, "more rounds than a sample holds");
    self->values[self->count++] = value;
}

static double nth_of_sorted(const struct bench_sample *self, size_t index)
{
    double sorted[BENCH_ROUNDS_MAX];

    bench_must(self->count > 0, "a sample without runs");
    memcpy(sorted, self->values, self->count * sizeof sorted[0]);
    qsort(sorted, self->count, sizeof sorted[0], compare_doubles);
    return sorted[index];
}

double bench_sample_median(const struct bench_sample *self)
{
    return nth_of_sorted(self, self->count / 2);
}

double bench_sample_min(const struct bench_sample *self)
{
    return nth_of_sorted(self, 0);
}

double bench_sample_max(const struct bench_sample *self)
{
    return nth_of_sorted(self, self->count - 1);
}

void bench_pair_add(struct bench_pair *self, double ours, double baseline)
{
    bench_sample_add(&self->ours, ours);
    bench_sample_add(&self->baseline, baseline);
    bench_sample_add(&self->ratios, ours / baseline);
}

void bench_sort_ns(int64_t *values, size_t count)
{
    qsort(values, count, sizeof values[0], compare_ns);
}

int64_t bench_percentile_ns(const int64_t *sorted, size_t count, double percent)
{
    size_t index = (size_t)((double)count * percent / 100.0);

    return sorted[index < count ? index : count - 1];
}
