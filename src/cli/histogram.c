/*
 * histogram.c - see histogram.h.
 *
 *   µs      0 1 2 ... 7 | 8 9 ... 15 | 16 18 ... 30 | 32 36 ... 60 | ...
 *   step    1           | 1          | 2            | 4            |
 *   index   0         7 | 8       15 | 16        23 | 24        31 |
 */
#include "cli/histogram.h"

#include <stddef.h>

#include "weir/time.h"

enum { STEP_BITS = 3 }; /* 2^3 is WEIR_HISTOGRAM_STEPS */

static size_t index_of(uint64_t us)
{
    unsigned shift = 0;
    size_t index;

    while (us >> shift >= 2 * WEIR_HISTOGRAM_STEPS)
        shift++;
    index = ((size_t)shift << STEP_BITS) + (size_t)(us >> shift);
    return index < WEIR_HISTOGRAM_COUNT ? index : WEIR_HISTOGRAM_COUNT - 1;
}

/* The first duration that is beyond this step. */
static uint64_t end_of(size_t index)
{
    size_t shift = index < 2 * WEIR_HISTOGRAM_STEPS ? 0 : (index >> STEP_BITS) - 1;

    return ((uint64_t)index - (shift << STEP_BITS) + 1) << shift;
}

void weir_histogram_add(struct weir_histogram *self, int64_t duration_ns)
{
    self->counts[index_of(duration_ns > 0 ? (uint64_t)duration_ns / 1000 : 0)]++;
    self->total++;
    if (duration_ns > self->max_ns)
        self->max_ns = duration_ns;
}

void weir_histogram_subtract(struct weir_histogram *self,
                             const struct weir_histogram *older)
{
    self->total -= older->total;
    for (size_t i = 0; i < WEIR_HISTOGRAM_COUNT; i++)
        self->counts[i] -= older->counts[i];
}

int64_t weir_histogram_percentile(const struct weir_histogram *self, double percent)
{
    double wanted = (double)self->total * percent / 100.0;
    uint64_t passed = 0;
    int64_t end_ns = 0;

    if (self->total == 0)
        return 0;
    for (size_t i = 0; i < WEIR_HISTOGRAM_COUNT; i++) {
        passed += self->counts[i];
        end_ns = WEIR_MICROSECONDS(end_of(i));
        if (passed > 0 && (double)passed >= wanted)
            break;
    }
    return end_ns < self->max_ns ? end_ns : self->max_ns;
}
