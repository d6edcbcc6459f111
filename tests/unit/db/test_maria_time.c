/* Tests of db/mariadb/time.c. */
#include "db/mariadb/time.h"

#include "kit/test.h"

/* Microseconds and the same moment as MariaDB writes it. */
struct pair {
    int64_t time_us;
    MYSQL_TIME time;
};

#define DATE(y, mo, d, h, mi, s, us)                                                     \
    {                                                                                    \
        .year = (y), .month = (mo), .day = (d), .hour = (h), .minute = (mi),             \
        .second = (s), .second_part = (us)                                               \
    }

static const struct pair PAIRS[] = {
    {0, DATE(1970, 1, 1, 0, 0, 0, 0)},
    {1, DATE(1970, 1, 1, 0, 0, 0, 1)},
    {-1, DATE(1969, 12, 31, 23, 59, 59, 999999)},
    {INT64_C(86399999999), DATE(1970, 1, 1, 23, 59, 59, 999999)},
    {INT64_C(86400000000), DATE(1970, 1, 2, 0, 0, 0, 0)},
    {INT64_C(68169600000000), DATE(1972, 2, 29, 0, 0, 0, 0)},
    {INT64_C(951782400000000), DATE(2000, 2, 29, 0, 0, 0, 0)}, /* divisible by 400 */
    {INT64_C(951868800000000), DATE(2000, 3, 1, 0, 0, 0, 0)},
    {INT64_C(1709251199000000), DATE(2024, 2, 29, 23, 59, 59, 0)},
    {INT64_C(1709251200000000), DATE(2024, 3, 1, 0, 0, 0, 0)},
    {INT64_C(2147483647000000), DATE(2038, 1, 19, 3, 14, 7, 0)},
    {INT64_C(2147483648000000), DATE(2038, 1, 19, 3, 14, 8, 0)},
    {INT64_C(4107542400000000), DATE(2100, 3, 1, 0, 0, 0, 0)}, /* 2100 is no leap year */
    {INT64_C(4107542399000000), DATE(2100, 2, 28, 23, 59, 59, 0)},
    {INT64_C(253402300799999999), DATE(9999, 12, 31, 23, 59, 59, 999999)},
    {-INT64_C(2208988800000000), DATE(1900, 1, 1, 0, 0, 0, 0)},
    {-INT64_C(30610224000000000), DATE(1000, 1, 1, 0, 0, 0, 0)},
    {-INT64_C(62135596800000000), DATE(1, 1, 1, 0, 0, 0, 0)},
};

static void check_same(const MYSQL_TIME *got, const MYSQL_TIME *want)
{
    check_int(got->year, want->year);
    check_int(got->month, want->month);
    check_int(got->day, want->day);
    check_int(got->hour, want->hour);
    check_int(got->minute, want->minute);
    check_int(got->second, want->second);
    check_int(got->second_part, want->second_part);
}

WEIR_TEST(maria_time, knows_the_calendar_in_both_directions)
{
    for (size_t i = 0; i < sizeof PAIRS / sizeof PAIRS[0]; i++) {
        MYSQL_TIME time;
        int64_t time_us;

        check(weir_maria_time_split(PAIRS[i].time_us, &time));
        check_same(&time, &PAIRS[i].time);
        check(weir_maria_time_join(&PAIRS[i].time, &time_us));
        check_int(time_us, PAIRS[i].time_us);
    }
}

/* Every day from year 1 to 9999 follows the one before it and leads back to itself. */
WEIR_TEST(maria_time, counts_every_day_of_ten_thousand_years)
{
    static const int64_t DAY_US = INT64_C(86400000000);
    static const unsigned DAYS[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int64_t time_us = -INT64_C(62135596800000000);

    for (unsigned year = 1; year <= 9999; year++) {
        bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

        for (unsigned month = 1; month <= 12; month++) {
            unsigned days = DAYS[month - 1] + (month == 2 && leap ? 1 : 0);

            for (unsigned day = 1; day <= days; day++, time_us += DAY_US) {
                MYSQL_TIME time;
                int64_t back_us = 0;

                if (!weir_maria_time_split(time_us, &time) || time.year != year ||
                    time.month != month || time.day != day ||
                    !weir_maria_time_join(&time, &back_us) || back_us != time_us)
                    weir_test_fail(__FILE__, __LINE__, "%u-%u-%u", year, month, day);
            }
        }
    }
    check_int(time_us, INT64_C(253402300800000000));
}

WEIR_TEST(maria_time, refuses_years_that_a_datetime_does_not_have)
{
    static const int64_t TIMES[] = {
        INT64_MIN,
        INT64_MIN + 1,
        -INT64_C(62135596800000001),
        INT64_C(253402300800000000),
        INT64_MAX - 1,
        INT64_MAX,
    };

    for (size_t i = 0; i < sizeof TIMES / sizeof TIMES[0]; i++) {
        MYSQL_TIME time;

        check(!weir_maria_time_split(TIMES[i], &time));
    }
}

/* What sessions without strict modes can leave in a column. */
WEIR_TEST(maria_time, refuses_what_is_no_moment)
{
    static const MYSQL_TIME TIMES[] = {
        DATE(0, 0, 0, 0, 0, 0, 0),     DATE(2020, 0, 1, 0, 0, 0, 0),
        DATE(2020, 1, 0, 0, 0, 0, 0),  DATE(2020, 13, 1, 0, 0, 0, 0),
        DATE(2021, 2, 29, 0, 0, 0, 0), DATE(2020, 4, 31, 0, 0, 0, 0),
        DATE(2020, 1, 1, 24, 0, 0, 0), DATE(2020, 1, 1, 0, 60, 0, 0),
        DATE(2020, 1, 1, 0, 0, 60, 0), DATE(2020, 1, 1, 0, 0, 0, 1000000),
        DATE(10000, 1, 1, 0, 0, 0, 0),
    };

    for (size_t i = 0; i < sizeof TIMES / sizeof TIMES[0]; i++) {
        int64_t time_us;

        check(!weir_maria_time_join(&TIMES[i], &time_us));
    }
}
