/* Tests of outbox/log/cut_pace.c. */
#include "outbox/log/cut_pace.h"

#include <stddef.h>

#include "kit/test.h"

/* `count` cuts, so many microseconds and ids apart. */
static void observe_many(struct weir_cut_pace *pace, int count, int64_t us, int64_t ids)
{
    int64_t no = pace->no;
    int64_t hi = pace->hi;
    int64_t made_us = pace->made_us;

    for (int i = 1; i <= count; i++)
        weir_cut_pace_observe(pace, no + i, hi + i * ids, made_us + i * us);
}

WEIR_TEST(cut_pace, begins_with_half_a_millisecond)
{
    struct weir_cut_pace pace = {.off = false};

    check_int(weir_cut_pace_age_us(&pace), WEIR_CUT_REST_MIN_US);
    check_int(weir_cut_pace_age_us(NULL), WEIR_CUT_REST_MIN_US);
}

WEIR_TEST(cut_pace, rests_after_the_flush_for_as_long_as_the_cut_took)
{
    struct weir_cut_pace pace = {.off = false};

    weir_cut_pace_took(&pace, 2000);
    check_int(weir_cut_pace_age_us(&pace), 4000);
}

WEIR_TEST(cut_pace, rests_half_a_millisecond_after_a_fast_cut)
{
    struct weir_cut_pace pace = {.off = false};

    weir_cut_pace_took(&pace, 100);
    check_int(weir_cut_pace_age_us(&pace), 600);
}

WEIR_TEST(cut_pace, asks_for_no_more_than_20_milliseconds)
{
    struct weir_cut_pace pace = {.off = false};

    weir_cut_pace_took(&pace, 3000000);
    check_int(weir_cut_pace_age_us(&pace), 20000);
    weir_cut_pace_took(&pace, 100);
    observe_many(&pace, 20, 20000, 20000);
    check_int(weir_cut_pace_age_us(&pace), 20000);
}

WEIR_TEST(cut_pace, grows_with_the_messages_per_second)
{
    struct weir_cut_pace pace = {.off = false};

    observe_many(&pace, 500, 1000, 1);
    check_in_range(weir_cut_pace_age_us(&pace), 940, 1000);
    observe_many(&pace, 500, 1000, 5);
    check_in_range(weir_cut_pace_age_us(&pace), 4940, 5000);
}

WEIR_TEST(cut_pace, forgets_a_burst_after_a_pause)
{
    struct weir_cut_pace pace = {.off = false};

    observe_many(&pace, 500, 1000, 10);
    observe_many(&pace, 1, 1000000, 1);
    check_int(weir_cut_pace_age_us(&pace), WEIR_CUT_REST_MIN_US);
}

WEIR_TEST(cut_pace, is_the_same_when_a_cut_is_seen_twice_or_a_clock_went_back)
{
    struct weir_cut_pace pace = {.off = false};
    int64_t age_us;

    observe_many(&pace, 500, 1000, 5);
    age_us = weir_cut_pace_age_us(&pace);
    weir_cut_pace_observe(&pace, pace.no, pace.hi, pace.made_us);
    check_int(weir_cut_pace_age_us(&pace), age_us);
    weir_cut_pace_observe(&pace, pace.no + 1, pace.hi + 5, pace.made_us - 5000000);
    check_int(weir_cut_pace_age_us(&pace), age_us);
}

WEIR_TEST(cut_pace, that_is_off_asks_for_no_age)
{
    struct weir_cut_pace pace = {.off = true};

    weir_cut_pace_took(&pace, 2000);
    observe_many(&pace, 500, 1000, 5);
    check_int(weir_cut_pace_age_us(&pace), 0);
}
