/* Tests of ward/pace.c. */
#include "ward/pace.h"

#include "kit/test.h"

static const struct weir_pace THIRTY_TO_TEN = {
    .min_ns = WEIR_MILLISECONDS(10),
    .active_ns = WEIR_MILLISECONDS(30),
    .ramp_ns = WEIR_MILLISECONDS(10),
};

static void check_refused(struct weir_pace pace, const char *text)
{
    struct weir_error error;

    check_status(weir_pace_check(&pace, &error), WEIR_INVALID);
    check_str(error.text, text);
    check_status(weir_pace_check(&pace, NULL), WEIR_INVALID);
}

WEIR_TEST(pace, ramps_down_from_active_to_the_minimum)
{
    struct weir_pacer pacer;

    weir_pacer_init(&pacer, &THIRTY_TO_TEN);

    check_int(weir_pacer_next(&pacer), WEIR_MILLISECONDS(30));
    check_int(weir_pacer_next(&pacer), WEIR_MILLISECONDS(20));
    check_int(weir_pacer_next(&pacer), WEIR_MILLISECONDS(10));
    check_int(weir_pacer_next(&pacer), WEIR_MILLISECONDS(10));
}

WEIR_TEST(pace, begins_again_with_active_after_a_reset)
{
    struct weir_pacer pacer;

    weir_pacer_init(&pacer, &THIRTY_TO_TEN);
    (void)weir_pacer_next(&pacer);
    (void)weir_pacer_next(&pacer);

    weir_pacer_reset(&pacer);

    check_int(weir_pacer_next(&pacer), WEIR_MILLISECONDS(30));
    check_int(weir_pacer_next(&pacer), WEIR_MILLISECONDS(20));
}

/* A step of 25 ms from 30 ms would end below the minimum of 10. */
WEIR_TEST(pace, stops_at_the_minimum_when_the_step_is_larger_than_the_rest)
{
    struct weir_pace pace = THIRTY_TO_TEN;
    struct weir_pacer pacer;

    pace.ramp_ns = WEIR_MILLISECONDS(25);
    weir_pacer_init(&pacer, &pace);

    check_int(weir_pacer_next(&pacer), WEIR_MILLISECONDS(30));
    check_int(weir_pacer_next(&pacer), WEIR_MILLISECONDS(10));
}

WEIR_TEST(pace, never_goes_below_zero)
{
    struct weir_pace pace = {.active_ns = 1, .ramp_ns = WEIR_DURATION_MAX};
    struct weir_pacer pacer;

    weir_pacer_init(&pacer, &pace);

    check_int(weir_pacer_next(&pacer), 1);
    check_int(weir_pacer_next(&pacer), 0);
    check_int(weir_pacer_next(&pacer), 0);
}

WEIR_TEST(pace, without_a_ramp_stays_at_active)
{
    struct weir_pace pace = {.active_ns = WEIR_SECONDS(1)};
    struct weir_pacer pacer;

    weir_pacer_init(&pacer, &pace);

    for (int i = 0; i < 5; i++)
        check_int(weir_pacer_next(&pacer), WEIR_SECONDS(1));
}

WEIR_TEST(pace, of_none_never_waits)
{
    struct weir_pace pace = weir_pace_none();
    struct weir_pacer pacer;

    check_status(weir_pace_check(&pace, NULL), WEIR_OK);
    weir_pacer_init(&pacer, &pace);

    for (int i = 0; i < 5; i++)
        check_int(weir_pacer_next(&pacer), 0);
}

WEIR_TEST(pace, is_accepted_up_to_the_longest_duration)
{
    struct weir_pace pace = {WEIR_DURATION_MAX, WEIR_DURATION_MAX, WEIR_DURATION_MAX};

    check_status(weir_pace_check(&pace, NULL), WEIR_OK);
    check_status(weir_pace_check(&THIRTY_TO_TEN, NULL), WEIR_OK);
}

WEIR_TEST(pace, out_of_range_is_refused_with_field_value_and_limit)
{
    check_refused((struct weir_pace){.min_ns = -1},
                  "pace.min_ns is -1 ns, must be from 0 to 366 d");
    check_refused((struct weir_pace){.active_ns = WEIR_HOURS(24 * 400)},
                  "pace.active_ns is 400 d, must be from 0 to 366 d");
    check_refused((struct weir_pace){.ramp_ns = INT64_MIN},
                  "pace.ramp_ns is -9223372036854775808 ns, must be from 0 to 366 d");
    check_refused((struct weir_pace){.ramp_ns = WEIR_FOREVER},
                  "pace.ramp_ns is for ever, must be from 0 to 366 d");
}

WEIR_TEST(pace, with_a_minimum_above_active_is_refused)
{
    check_refused((struct weir_pace){.min_ns = WEIR_SECONDS(2),
                                     .active_ns = WEIR_MILLISECONDS(500)},
                  "pace.min_ns is 2 s, must be at most pace.active_ns, which is 500 ms");
}
