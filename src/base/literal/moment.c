/*
 * moment.c - see moment.h.
 */
#include "base/literal/moment.h"

#include <ctype.h>

#define US_PER_SECOND INT64_C(1000000)

struct parts {
    int64_t year, month, day, hour, minute, second, us, offset_minutes;
};

/* Exactly `digits` of them, from `min` to `max`; *at moves on. */
static bool take_number(const char **at, int digits, int64_t min, int64_t max,
                        int64_t *out)
{
    *out = 0;
    for (int i = 0; i < digits; i++, (*at)++) {
        if (!isdigit((unsigned char)**at))
            return false;
        *out = *out * 10 + (**at - '0');
    }
    return *out >= min && *out <= max;
}

static bool take(const char **at, char c)
{
    if (**at != c)
        return false;
    (*at)++;
    return true;
}

static bool is_leap(int64_t year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static int64_t days_of(int64_t year, int64_t month)
{
    static const int DAYS[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

    return DAYS[month - 1] + (month == 2 && is_leap(year));
}

static bool take_date(const char **at, struct parts *out)
{
    return take_number(at, 4, 1970, 9999, &out->year) && take(at, '-') &&
           take_number(at, 2, 1, 12, &out->month) && take(at, '-') &&
           take_number(at, 2, 1, days_of(out->year, out->month), &out->day);
}

/* Up to microseconds; what is finer is cut. */
static bool take_fraction(const char **at, int64_t *us)
{
    int64_t unit = US_PER_SECOND / 10;

    if (!take(at, '.'))
        return true;
    if (!isdigit((unsigned char)**at))
        return false;
    for (; isdigit((unsigned char)**at); (*at)++, unit /= 10)
        *us += unit * (**at - '0');
    return true;
}

static bool take_time(const char **at, struct parts *out)
{
    if (!take_number(at, 2, 0, 23, &out->hour) || !take(at, ':') ||
        !take_number(at, 2, 0, 59, &out->minute))
        return false;
    if (!take(at, ':'))
        return true;
    return take_number(at, 2, 0, 59, &out->second) && take_fraction(at, &out->us);
}

static bool take_offset(const char **at, struct parts *out)
{
    int64_t sign = **at == '-' ? -1 : 1;
    int64_t hours = 0;
    int64_t minutes = 0;

    if (**at == '\0' || take(at, 'Z') || take(at, 'z'))
        return true;
    if (!take(at, '+') && !take(at, '-'))
        return false;
    if (!take_number(at, 2, 0, 23, &hours) || !take(at, ':') ||
        !take_number(at, 2, 0, 59, &minutes))
        return false;
    out->offset_minutes = sign * (hours * 60 + minutes);
    return true;
}

static int64_t to_us(const struct parts *parts)
{
    int64_t days = parts->day - 1;

    for (int64_t year = 1970; year < parts->year; year++)
        days += 365 + is_leap(year);
    for (int64_t month = 1; month < parts->month; month++)
        days += days_of(parts->year, month);
    return (((days * 24 + parts->hour) * 60 + parts->minute - parts->offset_minutes) *
                60 +
            parts->second) *
               US_PER_SECOND +
           parts->us;
}

bool weir_moment_parse(const char *text, int64_t *out)
{
    struct parts parts = {0};
    const char *at = text;

    *out = 0;
    if (!take_date(&at, &parts))
        return false;
    if (*at != '\0' && !take(&at, 'T') && !take(&at, 't') && !take(&at, ' '))
        return false;
    if (at > text + 10 && (!take_time(&at, &parts) || !take_offset(&at, &parts)))
        return false;
    if (*at != '\0')
        return false;
    *out = to_us(&parts);
    return true;
}
