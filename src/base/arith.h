/*
 * arith.h - sums and products that cannot overflow unseen.
 *
 * checked_*  say whether the result fits. saturating ones stop at the end of the range,
 *            which
 * is what a duration or a deadline wants: "later than everything" is a fine answer.
 */
#ifndef WEIR_BASE_ARITH_H
#define WEIR_BASE_ARITH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline bool weir_checked_add_size(size_t a, size_t b, size_t *out)
{
    return !__builtin_add_overflow(a, b, out);
}

static inline bool weir_checked_mul_size(size_t a, size_t b, size_t *out)
{
    return !__builtin_mul_overflow(a, b, out);
}

static inline int64_t weir_sat_add_i64(int64_t a, int64_t b)
{
    int64_t sum;

    if (!__builtin_add_overflow(a, b, &sum))
        return sum;
    return b > 0 ? INT64_MAX : INT64_MIN;
}

static inline int64_t weir_sat_sub_i64(int64_t a, int64_t b)
{
    int64_t difference;

    if (!__builtin_sub_overflow(a, b, &difference))
        return difference;
    return b < 0 ? INT64_MAX : INT64_MIN;
}

static inline uint32_t weir_sat_inc_u32(uint32_t a)
{
    return a == UINT32_MAX ? a : a + 1;
}

/* A real number as a whole one; what does not fit becomes the nearest end, NaN becomes
 * 0. */
static inline int64_t weir_sat_from_double(double value)
{
    if (value != value)
        return 0;
    if (value >= 9223372036854775807.0)
        return INT64_MAX;
    if (value <= -9223372036854775808.0)
        return INT64_MIN;
    return (int64_t)value;
}

#endif
