/*
 * test_histogram.c - percentiles that are right to an eighth.
 */
#include "cli/histogram.h"

#include "kit/test.h"
#include "weir/time.h"

WEIR_TEST(histogram, without_durations_has_percentiles_of_0)
{
    struct weir_histogram histogram = {0};

    check_int(weir_histogram_percentile(&histogram, 50), 0);
}

/* 1 to 1000 ms, one of each. */
WEIR_TEST(histogram, percentiles_are_right_to_an_eighth)
{
    struct weir_histogram histogram = {0};

    for (int i = 1; i <= 1000; i++)
        weir_histogram_add(&histogram, WEIR_MILLISECONDS(i));

    check_in_range(weir_histogram_percentile(&histogram, 50), WEIR_MILLISECONDS(500),
                   WEIR_MILLISECONDS(563));
    check_in_range(weir_histogram_percentile(&histogram, 90), WEIR_MILLISECONDS(900),
                   WEIR_MILLISECONDS(1000));
}

WEIR_TEST(histogram, percentile_is_never_above_the_maximum)
{
    struct weir_histogram histogram = {0};

    weir_histogram_add(&histogram, WEIR_MICROSECONDS(1001));

    check_int(weir_histogram_percentile(&histogram, 99), WEIR_MICROSECONDS(1001));
    check_int(histogram.max_ns, WEIR_MICROSECONDS(1001));
}

WEIR_TEST(histogram, takes_any_duration)
{
    struct weir_histogram histogram = {0};

    weir_histogram_add(&histogram, -1);
    weir_histogram_add(&histogram, INT64_MAX);

    check_int(histogram.total, 2);
    check_in_range(weir_histogram_percentile(&histogram, 50), 0, WEIR_MICROSECONDS(1));
    check(weir_histogram_percentile(&histogram, 100) > WEIR_HOURS(1));
}

WEIR_TEST(histogram, without_an_older_copy_is_what_came_since)
{
    struct weir_histogram histogram = {0}, older;

    weir_histogram_add(&histogram, WEIR_SECONDS(10));
    older = histogram;
    weir_histogram_add(&histogram, WEIR_MILLISECONDS(1));

    weir_histogram_subtract(&histogram, &older);

    check_int(histogram.total, 1);
    check_in_range(weir_histogram_percentile(&histogram, 99), WEIR_MILLISECONDS(1),
                   WEIR_MICROSECONDS(1125));
}
