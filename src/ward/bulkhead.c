/*
 * bulkhead.c - the pause after an error: exponential backoff, capped, with a little
 * jitter for each worker.
 *
 * Invariants:
 *
 *   I1  floor_ns is 0 when failures is 0
 *   I2  floor_ns <= backoff.max_ns, whatever jitter and rounding did
 *
 * The power is computed anew at each failure instead of multiplying the last floor, which
 * has been jittered already: errors of rounding and luck would add up. It may well be
 * infinite (1000^200); only infinity times an initial of zero would be no number, so that
 * case goes first.
 */
#include "ward/bulkhead.h"

#include <math.h>
#include <stddef.h>

#include "base/arith.h"
#include "base/assert.h"
#include "base/duration.h"
#include "base/random.h"

static const double MULTIPLIER_MAX = 1000.0;
static const double JITTER_DEFAULT = 0.3;

static enum weir_status check_number(const char *field, double value, double min,
                                     double max, struct weir_error *error);
static int64_t capped_power(const struct weir_backoff *backoff, uint32_t failures);
static int64_t with_jitter(const struct weir_bulkhead *self, int64_t interval_ns);
static int64_t at_most(double interval_ns, int64_t max_ns);
static void check_invariants(const struct weir_bulkhead *self);

enum weir_status weir_backoff_init(struct weir_backoff *out, int64_t initial_ns,
                                   int64_t max_ns, double multiplier,
                                   struct weir_error *error)
{
    struct weir_backoff backoff = {
        .initial_ns = initial_ns,
        .max_ns = max_ns,
        .multiplier = multiplier,
        .jitter = JITTER_DEFAULT,
    };
    enum weir_status status = weir_backoff_check(&backoff, error);

    if (status == WEIR_OK)
        *out = backoff;
    return status;
}

struct weir_backoff weir_backoff_none(void)
{
    return (struct weir_backoff){.multiplier = 1.0};
}

enum weir_status weir_backoff_check(const struct weir_backoff *backoff,
                                    struct weir_error *error)
{
    char initial[WEIR_DURATION_TEXT_SIZE];
    char max[WEIR_DURATION_TEXT_SIZE];
    enum weir_status status;

    status = weir_duration_check("backoff.initial_ns", backoff->initial_ns, 0,
                                 WEIR_DURATION_MAX, error);
    if (status == WEIR_OK)
        status = weir_duration_check("backoff.max_ns", backoff->max_ns, 0,
                                     WEIR_DURATION_MAX, error);
    if (status == WEIR_OK)
        status = check_number("backoff.multiplier", backoff->multiplier, 1,
                              MULTIPLIER_MAX, error);
    if (status == WEIR_OK)
        status = check_number("backoff.jitter", backoff->jitter, 0, 1, error);
    if (status != WEIR_OK)
        return status;

    if (backoff->initial_ns > backoff->max_ns)
        return weir_error_set(
            error, WEIR_INVALID,
            "backoff.initial_ns is %s, must be at most backoff.max_ns, which is %s",
            weir_duration_spell(backoff->initial_ns, initial, sizeof initial),
            weir_duration_spell(backoff->max_ns, max, sizeof max));
    return WEIR_OK;
}

void weir_bulkhead_init(struct weir_bulkhead *self, const struct weir_backoff *backoff,
                        uint64_t jitter_seed)
{
    *self = (struct weir_bulkhead){.backoff = *backoff, .jitter_seed = jitter_seed};
}

void weir_bulkhead_escalate(struct weir_bulkhead *self)
{
    self->failures = weir_sat_inc_u32(self->failures);
    self->floor_ns = with_jitter(self, capped_power(&self->backoff, self->failures));
    check_invariants(self);
}

void weir_bulkhead_reset(struct weir_bulkhead *self)
{
    self->failures = 0;
    self->floor_ns = 0;
}

/* Written so that NaN, which is neither above nor below anything, does not pass. */
static enum weir_status check_number(const char *field, double value, double min,
                                     double max, struct weir_error *error)
{
    if (value >= min && value <= max)
        return WEIR_OK;
    return weir_error_set(error, WEIR_INVALID, "%s is %.10g, must be from %g to %g",
                          field, value, min, max);
}

/* min(initial * multiplier^(failures - 1), max) */
static int64_t capped_power(const struct weir_backoff *backoff, uint32_t failures)
{
    if (backoff->initial_ns == 0)
        return 0;
    return at_most((double)backoff->initial_ns *
                       pow(backoff->multiplier, (double)(failures - 1)),
                   backoff->max_ns);
}

/* Somewhere from 1 - j to 1 + j times the interval: the same place for the same seed and
 * count, so that a simulation repeats, and another place for the next process. */
static int64_t with_jitter(const struct weir_bulkhead *self, int64_t interval_ns)
{
    double jitter = self->backoff.jitter;
    double place =
        weir_fraction_from_u64(weir_mix_u64(self->jitter_seed + self->failures));

    if (jitter == 0 || interval_ns == 0)
        return interval_ns;
    return at_most((double)interval_ns * (1.0 - jitter + 2.0 * jitter * place),
                   self->backoff.max_ns);
}

/* Compared as whole numbers: above 2^53 ns (104 days) a double may be rounded up. */
static int64_t at_most(double interval_ns, int64_t max_ns)
{
    int64_t whole_ns = weir_sat_from_double(interval_ns);

    return whole_ns < max_ns ? whole_ns : max_ns;
}

static void check_invariants(const struct weir_bulkhead *self)
{
    WEIR_ASSERT(self->failures > 0 || self->floor_ns == 0);                     /* I1 */
    WEIR_ASSERT(self->floor_ns >= 0 && self->floor_ns <= self->backoff.max_ns); /* I2 */
}
