/* Tests of base/duration.c. */
#include "base/duration.h"

#include <string.h>

#include "kit/test.h"
#include "weir/time.h"

static char text[WEIR_DURATION_TEXT_SIZE];

static const char *format(int64_t duration_ns)
{
    return weir_duration_format(duration_ns, text, sizeof text);
}

static const char *spell(int64_t duration_ns)
{
    return weir_duration_spell(duration_ns, text, sizeof text);
}

WEIR_TEST(duration, is_formatted_in_microseconds_below_a_millisecond)
{
    check_str(format(WEIR_MICROSECONDS(500)), "500 µs");
    check_str(format(WEIR_MICROSECONDS(1)), "1 µs");
    check_str(format(WEIR_MILLISECONDS(1) - 1), "999 µs");
}

WEIR_TEST(duration, is_formatted_in_milliseconds_below_a_second)
{
    check_str(format(WEIR_MICROSECONDS(1500)), "1.5 ms");
    check_str(format(WEIR_MILLISECONDS(1)), "1.0 ms");
    check_str(format(WEIR_SECONDS(1) - 1), "999.9 ms");
}

WEIR_TEST(duration, is_formatted_in_seconds_from_one_second_on)
{
    check_str(format(WEIR_MILLISECONDS(1500)), "1.5 s");
    check_str(format(WEIR_SECONDS(1)), "1.0 s");
    check_str(format(WEIR_HOURS(1)), "3600.0 s");
}

/* A counter that was never moved, and what no clock can give. */
WEIR_TEST(duration, is_formatted_at_the_ends_of_its_range)
{
    check_str(format(0), "0 µs");
    check_str(format(-1), "0 µs");
    check_str(format(-WEIR_MICROSECONDS(1500)), "-1.5 ms");
    check_str(format(INT64_MAX), "9223372036.8 s");
    check_str(format(INT64_MIN), "-9223372036.8 s");
}

WEIR_TEST(duration, is_spelled_exactly_in_the_largest_unit_that_fits)
{
    check_str(spell(0), "0");
    check_str(spell(1), "1 ns");
    check_str(spell(-1), "-1 ns");
    check_str(spell(WEIR_MICROSECONDS(1500)), "1500 µs");
    check_str(spell(WEIR_MILLISECONDS(100)), "100 ms");
    check_str(spell(WEIR_SECONDS(90)), "90 s");
    check_str(spell(WEIR_MINUTES(90)), "90 min");
    check_str(spell(WEIR_HOURS(1)), "1 h");
    check_str(spell(WEIR_HOURS(24 * 366)), "366 d");
    check_str(spell(WEIR_HOURS(24 * 366) + 1), "31622400000000001 ns");
    check_str(spell(INT64_MIN), "-9223372036854775808 ns");
}

WEIR_TEST(duration, that_never_ends_is_spelled_in_words)
{
    check_str(spell(WEIR_FOREVER), "for ever");
}

WEIR_TEST(duration, passes_the_check_at_both_limits)
{
    struct weir_error error = {.text = "untouched"};

    check_status(weir_duration_check("pause", 3, 3, 5, &error), WEIR_OK);
    check_status(weir_duration_check("pause", 5, 3, 5, &error), WEIR_OK);

    check_str(error.text, "untouched");
}

WEIR_TEST(duration, outside_the_limits_is_refused_with_field_value_and_limits)
{
    struct weir_error error;

    check_status(weir_duration_check("pause", WEIR_SECONDS(-2), 0, WEIR_HOURS(1), &error),
                 WEIR_INVALID);
    check_str(error.text, "pause is -2 s, must be from 0 to 1 h");

    check_status(
        weir_duration_check("pause", WEIR_HOURS(1) + 1, 0, WEIR_HOURS(1), &error),
        WEIR_INVALID);
    check_str(error.text, "pause is 3600000000001 ns, must be from 0 to 1 h");
    check_status(weir_duration_check("pause", -1, 0, 1, NULL), WEIR_INVALID);
}

WEIR_TEST(duration, is_read_as_a_number_and_its_unit)
{
    const struct {
        const char *text;
        int64_t ns;
    } good[] = {
        {"500ms", WEIR_MILLISECONDS(500)},
        {"30s", WEIR_SECONDS(30)},
        {"30 s", WEIR_SECONDS(30)},
        {"5min", WEIR_MINUTES(5)},
        {"5m", WEIR_MINUTES(5)},
        {"1h", WEIR_HOURS(1)},
        {"7 d", WEIR_HOURS(7 * 24)},
        {"0", 0},
        {"0s", 0},
    };

    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        int64_t ns = -1;

        check(weir_duration_parse(good[i].text, &ns));
        check_int(ns, good[i].ns);
    }
}

WEIR_TEST(duration, is_not_read_from_anything_else)
{
    const char *const bad[] = {
        "",     "s",     "30",    "-1s", "+1s",          "1.5s",
        " 1s",  "1s ",   "1  s",  "1S",  "1sec",         "1min30s",
        "1e3s", "0x10s", "1\tms", "1us", "99999999999h", "99999999999999999999s"};

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        int64_t ns = -1;

        check(!weir_duration_parse(bad[i], &ns));
        check_int(ns, 0);
    }
}
