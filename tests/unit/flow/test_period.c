/*
 * Tests of execution/reconcile/period.h.
 */
#include "execution/reconcile/period.h"

#include "kit/test.h"

WEIR_TEST(period, comes_at_whole_multiples_however_late_one_is)
{
    check_int(weir_period_next(100, 10, 99), 100);
    check_int(weir_period_next(100, 10, 100), 110);
    check_int(weir_period_next(100, 10, 109), 110);
    check_int(weir_period_next(100, 10, 110), 120);
    check_int(weir_period_next(100, 10, 1234567), 1234570);
}

WEIR_TEST(period, does_not_drift_in_ten_thousand_of_them)
{
    const int64_t first = 1700000000123457, period = 3600000000;
    int64_t due = first;

    for (int i = 1; i <= 10000; i++) {
        due = weir_period_next(due, period, due + i % 977); /* a little late each time */
        check_int(due, first + i * period);
    }
}

WEIR_TEST(period, ends_with_time)
{
    check_int(weir_period_next(1, INT64_MAX, INT64_MAX - 1), INT64_MAX);
    check_int(weir_period_next(INT64_MAX, 5, INT64_MAX), INT64_MAX);
}
