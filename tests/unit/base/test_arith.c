/* Tests of base/arith.h. */
#include "base/arith.h"

#include <math.h>

#include "kit/test.h"

WEIR_TEST(arith, adds_sizes_up_to_the_largest)
{
    size_t sum;

    check(weir_checked_add_size(SIZE_MAX - 1, 1, &sum));
    check(sum == SIZE_MAX);
    check(weir_checked_add_size(0, 0, &sum));
    check(sum == 0);
}

WEIR_TEST(arith, refuses_a_sum_of_sizes_that_overflows)
{
    size_t sum;

    check(!weir_checked_add_size(SIZE_MAX, 1, &sum));
    check(!weir_checked_add_size(SIZE_MAX, SIZE_MAX, &sum));
}

WEIR_TEST(arith, multiplies_sizes_up_to_the_largest)
{
    size_t product;

    check(weir_checked_mul_size(SIZE_MAX, 1, &product));
    check(product == SIZE_MAX);
    check(weir_checked_mul_size(SIZE_MAX, 0, &product));
    check(product == 0);
    check(weir_checked_mul_size(SIZE_MAX / 2, 2, &product));
    check(product == SIZE_MAX - 1);
}

WEIR_TEST(arith, refuses_a_product_of_sizes_that_overflows)
{
    size_t product;

    check(!weir_checked_mul_size(SIZE_MAX / 2 + 1, 2, &product));
    check(!weir_checked_mul_size(SIZE_MAX, SIZE_MAX, &product));
}

WEIR_TEST(arith, stops_a_sum_at_the_ends)
{
    check_int(weir_sat_add_i64(INT64_MAX, 1), INT64_MAX);
    check_int(weir_sat_add_i64(INT64_MAX, INT64_MAX), INT64_MAX);
    check_int(weir_sat_add_i64(INT64_MIN, -1), INT64_MIN);
    check_int(weir_sat_add_i64(INT64_MIN, INT64_MIN), INT64_MIN);
}

WEIR_TEST(arith, adds_exactly_inside_the_range)
{
    check_int(weir_sat_add_i64(INT64_MAX - 1, 1), INT64_MAX);
    check_int(weir_sat_add_i64(INT64_MIN + 1, -1), INT64_MIN);
    check_int(weir_sat_add_i64(INT64_MAX, INT64_MIN), -1);
    check_int(weir_sat_add_i64(2, 3), 5);
}

WEIR_TEST(arith, stops_a_difference_at_the_ends)
{
    check_int(weir_sat_sub_i64(INT64_MIN, 1), INT64_MIN);
    check_int(weir_sat_sub_i64(INT64_MAX, -1), INT64_MAX);
    check_int(weir_sat_sub_i64(0, INT64_MIN), INT64_MAX);
    check_int(weir_sat_sub_i64(-2, INT64_MAX), INT64_MIN);
}

WEIR_TEST(arith, subtracts_exactly_inside_the_range)
{
    check_int(weir_sat_sub_i64(-1, INT64_MAX), INT64_MIN);
    check_int(weir_sat_sub_i64(-1, INT64_MIN), INT64_MAX);
    check_int(weir_sat_sub_i64(INT64_MIN, INT64_MIN), 0);
    check_int(weir_sat_sub_i64(2, 3), -1);
}

WEIR_TEST(arith, stops_counting_at_the_largest)
{
    check_int(weir_sat_inc_u32(0), 1);
    check_int(weir_sat_inc_u32(UINT32_MAX - 1), UINT32_MAX);
    check_int(weir_sat_inc_u32(UINT32_MAX), UINT32_MAX);
}

WEIR_TEST(arith, cuts_a_real_number_towards_zero)
{
    check_int(weir_sat_from_double(0.0), 0);
    check_int(weir_sat_from_double(1.9), 1);
    check_int(weir_sat_from_double(-1.9), -1);
    check_int(weir_sat_from_double(-0.0), 0);
}

/* 2^63 does not fit; the largest double below it does. -2^63 fits exactly. */
WEIR_TEST(arith, stops_a_real_number_at_the_ends)
{
    check_int(weir_sat_from_double(0x1p63), INT64_MAX);
    check_int(weir_sat_from_double(nextafter(0x1p63, 0)), INT64_MAX - 1023);
    check_int(weir_sat_from_double(-0x1p63), INT64_MIN);
    check_int(weir_sat_from_double(nextafter(-0x1p63, 0)), INT64_MIN + 1024);
    check_int(weir_sat_from_double(1e300), INT64_MAX);
    check_int(weir_sat_from_double(-1e300), INT64_MIN);
    check_int(weir_sat_from_double((double)INFINITY), INT64_MAX);
    check_int(weir_sat_from_double(-(double)INFINITY), INT64_MIN);
}

WEIR_TEST(arith, takes_what_is_no_number_for_zero)
{
    check_int(weir_sat_from_double((double)NAN), 0);
}
