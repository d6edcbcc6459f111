/*
 * cut_pace.c - see cut_pace.h.
 *
 * Each member is atomic by itself and no two of them together: a reading that mixes two
 * observations gives a wrong rate for a moment, and every age between the limits is
 * right.
 */
#include "outbox/log/cut_pace.h"

#include <stddef.h>

#include "base/arith.h"

/* Over so long the rate is smoothed: a burst counts soon, a single batch does not. */
#define SMOOTH_US 50000

void weir_cut_pace_took(struct weir_cut_pace *self, int64_t took_us)
{
    atomic_store_explicit(&self->took_us, took_us > 0 ? took_us : 0,
                          memory_order_relaxed);
}

/* Ids per second of one distance between two cuts. */
static int64_t rate_of(int64_t ids, int64_t us)
{
    return weir_sat_from_double((double)ids * 1e6 / (double)us);
}

/* The sample counts by its length. */
static void smooth(struct weir_cut_pace *self, int64_t sample, int64_t us)
{
    int64_t rate = atomic_load_explicit(&self->rate, memory_order_relaxed);
    double share = us < SMOOTH_US ? (double)us / SMOOTH_US : 1;

    rate += weir_sat_from_double((double)(sample - rate) * share);
    atomic_store_explicit(&self->rate, rate, memory_order_relaxed);
}

void weir_cut_pace_observe(struct weir_cut_pace *self, int64_t no, int64_t hi,
                           int64_t made_us)
{
    int64_t before = atomic_exchange_explicit(&self->no, no, memory_order_relaxed);
    int64_t ids = hi - atomic_exchange_explicit(&self->hi, hi, memory_order_relaxed);
    int64_t us =
        made_us - atomic_exchange_explicit(&self->made_us, made_us, memory_order_relaxed);

    /* The first one, the same one, a clock that went back, or another server. */
    if (before > 0 && no > before && us > 0 && ids >= 0)
        smooth(self, rate_of(ids, us), us);
}

static int64_t load(const _Atomic int64_t *value)
{
    return atomic_load_explicit(value, memory_order_relaxed);
}

int64_t weir_cut_pace_age_us(const struct weir_cut_pace *self)
{
    int64_t took_us = self != NULL ? load(&self->took_us) : 0;
    int64_t rest_us = took_us > WEIR_CUT_REST_MIN_US ? took_us : WEIR_CUT_REST_MIN_US;
    int64_t age_us = weir_sat_add_i64(took_us, rest_us);
    int64_t by_rate_us =
        self != NULL ? load(&self->rate) / (WEIR_CUT_RATE_UNIT / 1000) : 0;

    if (self != NULL && self->off)
        return 0;
    if (age_us < by_rate_us)
        age_us = by_rate_us;
    return age_us < WEIR_CUT_AGE_MAX_US ? age_us : WEIR_CUT_AGE_MAX_US;
}
