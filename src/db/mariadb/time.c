/*
 * time.c - see mariadb/time.h.
 *
 * Days are counted in years that begin in March, so that the leap day is the last day
 * of its year and all months before it have fixed places: month m of such a year (0 is
 * March) begins at day (153 m + 2) / 5. 400 years, an *era*, have always 146097 days.
 * The C library's functions are not used: they know the time zone of the process, and
 * we must not.
 */
#include "db/mariadb/time.h"

enum {
    DAYS_PER_ERA = 146097,
    DAYS_TO_1970 = 719468, /* from March 1 of year 0 */
    YEAR_MIN = 1,
    YEAR_MAX = 9999,
};

static const int64_t US_PER_DAY = INT64_C(86400000000);

/* Rounded down, also below zero; the rest is never negative. */
static int64_t divide(int64_t value, int64_t by, int64_t *rest)
{
    int64_t quotient = value / by;

    *rest = value % by;
    if (*rest < 0) {
        *rest += by;
        quotient--;
    }
    return quotient;
}

static bool is_leap_year(unsigned year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static unsigned days_in_month(unsigned year, unsigned month)
{
    static const unsigned DAYS[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

    return DAYS[month - 1] + (month == 2 && is_leap_year(year) ? 1 : 0);
}

bool weir_maria_time_split(int64_t time_us, MYSQL_TIME *out)
{
    int64_t us_of_day;
    int64_t days = divide(time_us, US_PER_DAY, &us_of_day) + DAYS_TO_1970;
    int64_t day_of_era;
    int64_t era = divide(days, DAYS_PER_ERA, &day_of_era);
    int64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 -
                           day_of_era / (DAYS_PER_ERA - 1)) /
                          365;
    int64_t day_of_year =
        day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int64_t march_month = (5 * day_of_year + 2) / 153;
    int64_t month = march_month < 10 ? march_month + 3 : march_month - 9;
    int64_t year = era * 400 + year_of_era + (month <= 2 ? 1 : 0);
    int64_t seconds = us_of_day / 1000000;

    *out = (MYSQL_TIME){.time_type = MYSQL_TIMESTAMP_DATETIME};
    if (year < YEAR_MIN || year > YEAR_MAX)
        return false;
    out->year = (unsigned)year;
    out->month = (unsigned)month;
    out->day = (unsigned)(day_of_year - (153 * march_month + 2) / 5 + 1);
    out->hour = (unsigned)(seconds / 3600);
    out->minute = (unsigned)(seconds / 60 % 60);
    out->second = (unsigned)(seconds % 60);
    out->second_part = (unsigned long)(us_of_day % 1000000);
    return true;
}

bool weir_maria_time_join(const MYSQL_TIME *time, int64_t *out_us)
{
    int64_t year;
    int64_t day_of_year;
    int64_t year_of_era;
    int64_t era;
    int64_t days;

    if (time->year < YEAR_MIN || time->year > YEAR_MAX || time->month < 1 ||
        time->month > 12 || time->day < 1 ||
        time->day > days_in_month(time->year, time->month) || time->hour > 23 ||
        time->minute > 59 || time->second > 59 || time->second_part > 999999)
        return false;

    year = (int64_t)time->year - (time->month <= 2 ? 1 : 0);
    era = divide(year, 400, &year_of_era);
    day_of_year = (153 * ((int64_t)time->month + (time->month > 2 ? -3 : 9)) + 2) / 5 +
                  (int64_t)time->day - 1;
    days = era * DAYS_PER_ERA + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 +
           day_of_year - DAYS_TO_1970;
    *out_us = days * US_PER_DAY +
              ((int64_t)time->hour * 3600 + (int64_t)time->minute * 60 +
               (int64_t)time->second) *
                  1000000 +
              (int64_t)time->second_part;
    return true;
}
