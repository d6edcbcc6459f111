/* Tests of ward/bulkhead.c. Acquiring permits is the worker's affair: see test_gate.c. */
#include "ward/bulkhead.h"

#include <math.h>
#include <string.h>

#include "kit/test.h"

/* 1 s, 2 s, 4 s, ... up to a minute, without jitter. */
static const struct weir_backoff DOUBLING = {
    .initial_ns = WEIR_SECONDS(1),
    .max_ns = WEIR_SECONDS(60),
    .multiplier = 2.0,
    .jitter = 0.0,
};

static void escalate(struct weir_bulkhead *bulkhead, int times)
{
    for (int i = 0; i < times; i++)
        weir_bulkhead_escalate(bulkhead);
}

static void check_refused(struct weir_backoff backoff, const char *text)
{
    struct weir_error error;

    check_status(weir_backoff_check(&backoff, &error), WEIR_INVALID);
    check_str(error.text, text);
    check_status(weir_backoff_check(&backoff, NULL), WEIR_INVALID);
}

/* --- making a backoff --- */

WEIR_TEST(backoff, keeps_the_values_of_its_checked_constructor_and_jitters_by_0_3)
{
    struct weir_backoff backoff;

    check_status(
        weir_backoff_init(&backoff, WEIR_SECONDS(1), WEIR_SECONDS(60), 2.0, NULL),
        WEIR_OK);

    check_int(backoff.initial_ns, WEIR_SECONDS(1));
    check_int(backoff.max_ns, WEIR_SECONDS(60));
    check(backoff.multiplier == 2.0);
    check(backoff.jitter == 0.3);
}

WEIR_TEST(backoff, defaults_to_100_ms_doubling_to_30_s_with_0_3_jitter)
{
    struct weir_worker_options options;

    weir_worker_options_init(&options);

    check_int(options.backoff.initial_ns, WEIR_MILLISECONDS(100));
    check_int(options.backoff.max_ns, WEIR_SECONDS(30));
    check(options.backoff.multiplier == 2.0);
    check(options.backoff.jitter == 0.3);
    check_status(weir_backoff_check(&options.backoff, NULL), WEIR_OK);
}

WEIR_TEST(backoff, keeps_the_other_defaults_when_only_max_is_overridden)
{
    struct weir_worker_options options;

    weir_worker_options_init(&options);
    options.backoff.max_ns = WEIR_MINUTES(5);

    check_int(options.backoff.initial_ns, WEIR_MILLISECONDS(100));
    check_int(options.backoff.max_ns, WEIR_MINUTES(5));
    check(options.backoff.multiplier == 2.0);
    check(options.backoff.jitter == 0.3);
}

WEIR_TEST(backoff, with_a_multiplier_below_1_is_refused)
{
    struct weir_backoff backoff = DOUBLING;
    struct weir_error error;

    check_status(
        weir_backoff_init(&backoff, WEIR_SECONDS(1), WEIR_SECONDS(2), 0.5, &error),
        WEIR_INVALID);

    check_str(error.text, "backoff.multiplier is 0.5, must be from 1 to 1000");
    check(memcmp(&backoff, &DOUBLING, sizeof backoff) == 0);
}

WEIR_TEST(backoff, with_an_initial_above_max_is_refused)
{
    struct weir_backoff backoff = DOUBLING;
    struct weir_error error;

    check_status(
        weir_backoff_init(&backoff, WEIR_SECONDS(60), WEIR_SECONDS(1), 2.0, &error),
        WEIR_INVALID);

    check_str(
        error.text,
        "backoff.initial_ns is 1 min, must be at most backoff.max_ns, which is 1 s");
    check(memcmp(&backoff, &DOUBLING, sizeof backoff) == 0);
}

WEIR_TEST(backoff, with_a_duration_out_of_range_is_refused)
{
    struct weir_backoff backoff = DOUBLING;

    backoff.initial_ns = -WEIR_MILLISECONDS(1);
    check_refused(backoff, "backoff.initial_ns is -1 ms, must be from 0 to 366 d");
    backoff.initial_ns = WEIR_HOURS(24 * 367);
    check_refused(backoff, "backoff.initial_ns is 367 d, must be from 0 to 366 d");

    backoff = DOUBLING;
    backoff.max_ns = -1;
    check_refused(backoff, "backoff.max_ns is -1 ns, must be from 0 to 366 d");
    backoff.max_ns = WEIR_FOREVER;
    check_refused(backoff, "backoff.max_ns is for ever, must be from 0 to 366 d");
}

WEIR_TEST(backoff, with_a_factor_out_of_range_is_refused)
{
    struct weir_backoff backoff = DOUBLING;

    backoff.multiplier = 1001;
    check_refused(backoff, "backoff.multiplier is 1001, must be from 1 to 1000");
    backoff.multiplier = -2;
    check_refused(backoff, "backoff.multiplier is -2, must be from 1 to 1000");
    backoff.multiplier = (double)INFINITY;
    check_refused(backoff, "backoff.multiplier is inf, must be from 1 to 1000");

    backoff = DOUBLING;
    backoff.jitter = 1.5;
    check_refused(backoff, "backoff.jitter is 1.5, must be from 0 to 1");
    backoff.jitter = -0.1;
    check_refused(backoff, "backoff.jitter is -0.1, must be from 0 to 1");
}

WEIR_TEST(backoff, with_a_factor_that_is_no_number_is_refused)
{
    struct weir_backoff backoff = DOUBLING;

    backoff.multiplier = (double)NAN;
    check_status(weir_backoff_check(&backoff, NULL), WEIR_INVALID);

    backoff = DOUBLING;
    backoff.jitter = (double)NAN;
    check_status(weir_backoff_check(&backoff, NULL), WEIR_INVALID);
}

WEIR_TEST(backoff, is_accepted_at_all_its_limits)
{
    struct weir_backoff low = {0, 0, 1.0, 0.0};
    struct weir_backoff high = {WEIR_DURATION_MAX, WEIR_DURATION_MAX, 1000.0, 1.0};
    struct weir_backoff none = weir_backoff_none();

    check_status(weir_backoff_check(&low, NULL), WEIR_OK);
    check_status(weir_backoff_check(&high, NULL), WEIR_OK);
    check_status(weir_backoff_check(&none, NULL), WEIR_OK);
}

/* --- escalating and resetting --- */

WEIR_TEST(bulkhead, is_unlimited_and_without_failures_when_it_is_new)
{
    struct weir_bulkhead bulkhead;

    weir_bulkhead_init(&bulkhead, &DOUBLING, 7);

    check(bulkhead.shared == NULL);
    check(bulkhead.guaranteed == NULL);
    check_int(bulkhead.failures, 0);
    check_int(bulkhead.floor_ns, 0);
}

WEIR_TEST(bulkhead, waits_the_initial_interval_after_the_first_failure)
{
    struct weir_bulkhead bulkhead;

    weir_bulkhead_init(&bulkhead, &DOUBLING, 7);
    weir_bulkhead_escalate(&bulkhead);

    check_int(bulkhead.failures, 1);
    check_int(bulkhead.floor_ns, WEIR_SECONDS(1));
}

WEIR_TEST(bulkhead, doubles_with_each_failure)
{
    struct weir_bulkhead bulkhead;

    weir_bulkhead_init(&bulkhead, &DOUBLING, 7);

    for (int64_t seconds = 1; seconds <= 8; seconds *= 2) {
        weir_bulkhead_escalate(&bulkhead);
        check_int(bulkhead.floor_ns, WEIR_SECONDS(seconds));
    }
}

WEIR_TEST(bulkhead, stays_at_max_once_it_is_there)
{
    struct weir_backoff backoff = DOUBLING;
    struct weir_bulkhead bulkhead;

    backoff.max_ns = WEIR_SECONDS(30);
    weir_bulkhead_init(&bulkhead, &backoff, 7);
    escalate(&bulkhead, 10);

    check_int(bulkhead.floor_ns, WEIR_SECONDS(30));
}

WEIR_TEST(bulkhead, with_multiplier_1_always_waits_the_same)
{
    struct weir_backoff backoff = {WEIR_SECONDS(5), WEIR_SECONDS(5), 1.0, 0.0};
    struct weir_bulkhead bulkhead;

    weir_bulkhead_init(&bulkhead, &backoff, 7);

    for (int i = 0; i < 5; i++) {
        weir_bulkhead_escalate(&bulkhead);
        check_int(bulkhead.floor_ns, WEIR_SECONDS(5));
    }
}

WEIR_TEST(bulkhead, has_no_failures_and_no_floor_after_a_reset)
{
    struct weir_bulkhead bulkhead;

    weir_bulkhead_init(&bulkhead, &DOUBLING, 7);
    escalate(&bulkhead, 3);
    weir_bulkhead_reset(&bulkhead);
    check_int(bulkhead.failures, 0);
    check_int(bulkhead.floor_ns, 0);

    weir_bulkhead_escalate(&bulkhead);
    check_int(bulkhead.floor_ns, WEIR_SECONDS(1));
}

WEIR_TEST(bulkhead, may_be_reset_while_it_is_new)
{
    struct weir_bulkhead bulkhead;

    weir_bulkhead_init(&bulkhead, &DOUBLING, 7);
    weir_bulkhead_reset(&bulkhead);

    check_int(bulkhead.failures, 0);
    check_int(bulkhead.floor_ns, 0);
}

WEIR_TEST(bulkhead, counts_the_failures_in_a_row)
{
    struct weir_bulkhead bulkhead;

    weir_bulkhead_init(&bulkhead, &DOUBLING, 7);
    check_int(bulkhead.failures, 0);

    escalate(&bulkhead, 3);
    check_int(bulkhead.failures, 3);

    weir_bulkhead_reset(&bulkhead);
    check_int(bulkhead.failures, 0);
}

/* --- arithmetic at the ends --- */

WEIR_TEST(bulkhead, is_at_max_after_100000_failures)
{
    struct weir_backoff backoff = {1, WEIR_SECONDS(30), 1000.0, 0.0};
    struct weir_bulkhead bulkhead;

    weir_bulkhead_init(&bulkhead, &backoff, 7);
    escalate(&bulkhead, 10);

    for (int i = 10; i < 100000; i++) {
        weir_bulkhead_escalate(&bulkhead);
        check_int(bulkhead.floor_ns, WEIR_SECONDS(30));
    }
    check_int(bulkhead.failures, 100000);
}

WEIR_TEST(bulkhead, stops_counting_at_the_largest_number)
{
    struct weir_bulkhead bulkhead;

    weir_bulkhead_init(&bulkhead, &DOUBLING, 7);
    bulkhead.failures = UINT32_MAX - 1;
    escalate(&bulkhead, 3);

    check_int(bulkhead.failures, UINT32_MAX);
    check_int(bulkhead.floor_ns, DOUBLING.max_ns);
}

/* Zero times infinity is no number, and no number is no duration. */
WEIR_TEST(bulkhead, with_an_initial_of_0_stays_at_0)
{
    struct weir_backoff backoff = {0, WEIR_SECONDS(30), 1000.0, 0.3};
    struct weir_bulkhead bulkhead;

    weir_bulkhead_init(&bulkhead, &backoff, 7);

    for (int i = 0; i < 1000; i++) {
        weir_bulkhead_escalate(&bulkhead);
        check_int(bulkhead.floor_ns, 0);
    }
}

WEIR_TEST(bulkhead, without_backoff_never_waits)
{
    struct weir_backoff backoff = weir_backoff_none();
    struct weir_bulkhead bulkhead;

    weir_bulkhead_init(&bulkhead, &backoff, 7);
    escalate(&bulkhead, 1000);

    check_int(bulkhead.failures, 1000);
    check_int(bulkhead.floor_ns, 0);
}

/* Above 2^53 a double rounds, here upwards: 366 days less 1 ns would become 366 days. */
WEIR_TEST(bulkhead, is_never_above_max_by_rounding)
{
    struct weir_backoff backoff = {WEIR_DURATION_MAX - 1, WEIR_DURATION_MAX - 1, 1.0,
                                   0.0};
    struct weir_bulkhead bulkhead;

    weir_bulkhead_init(&bulkhead, &backoff, 7);
    weir_bulkhead_escalate(&bulkhead);

    check_int(bulkhead.floor_ns, WEIR_DURATION_MAX - 1);
}

/* --- jitter --- */

WEIR_TEST(jitter, of_0_1_on_10_s_stays_between_9_s_and_11_s)
{
    struct weir_backoff backoff = {WEIR_SECONDS(10), WEIR_SECONDS(60), 1.0, 0.1};
    struct weir_bulkhead bulkhead;

    for (uint64_t seed = 0; seed < 1000; seed++) {
        weir_bulkhead_init(&bulkhead, &backoff, seed);
        weir_bulkhead_escalate(&bulkhead);
        check_in_range(bulkhead.floor_ns, WEIR_SECONDS(9), WEIR_SECONDS(11));
    }
}

/* Not just inside the bounds: it uses the room that it has. */
WEIR_TEST(jitter, spreads_over_its_whole_range)
{
    struct weir_backoff backoff = {WEIR_SECONDS(10), WEIR_SECONDS(60), 1.0, 0.1};
    struct weir_bulkhead bulkhead;
    int counts[4] = {0};

    for (uint64_t seed = 0; seed < 1000; seed++) {
        weir_bulkhead_init(&bulkhead, &backoff, seed);
        weir_bulkhead_escalate(&bulkhead);
        counts[(bulkhead.floor_ns - WEIR_SECONDS(9)) / WEIR_MILLISECONDS(501)]++;
    }

    for (int i = 0; i < 4; i++)
        check_in_range(counts[i], 150, 350);
}

WEIR_TEST(jitter, of_0_changes_nothing)
{
    struct weir_bulkhead bulkhead;

    weir_bulkhead_init(&bulkhead, &DOUBLING, 7);

    weir_bulkhead_escalate(&bulkhead);
    check_int(bulkhead.floor_ns, WEIR_SECONDS(1));
    weir_bulkhead_escalate(&bulkhead);
    check_int(bulkhead.floor_ns, WEIR_SECONDS(2));
}

WEIR_TEST(jitter, never_lifts_the_interval_above_max)
{
    struct weir_backoff backoff = {WEIR_SECONDS(28), WEIR_SECONDS(30), 1.0, 0.2};
    struct weir_bulkhead bulkhead;
    int at_max = 0;

    for (uint64_t seed = 0; seed < 1000; seed++) {
        weir_bulkhead_init(&bulkhead, &backoff, seed);
        weir_bulkhead_escalate(&bulkhead);
        check_in_range(bulkhead.floor_ns, WEIR_MILLISECONDS(22400), WEIR_SECONDS(30));
        at_max += bulkhead.floor_ns == WEIR_SECONDS(30);
    }
    check(at_max > 0); /* the cap was needed */
}

WEIR_TEST(jitter, of_1_stays_between_nothing_and_max)
{
    struct weir_backoff backoff = {WEIR_DURATION_MAX, WEIR_DURATION_MAX, 1000.0, 1.0};
    struct weir_bulkhead bulkhead;

    weir_bulkhead_init(&bulkhead, &backoff, 7);

    for (int i = 0; i < 1000; i++) {
        weir_bulkhead_escalate(&bulkhead);
        check_in_range(bulkhead.floor_ns, 0, WEIR_DURATION_MAX);
    }
}

WEIR_TEST(jitter, is_the_same_for_the_same_seed_and_failures)
{
    struct weir_backoff backoff = {WEIR_SECONDS(1), WEIR_SECONDS(60), 1.5, 0.3};
    struct weir_bulkhead a, b;

    weir_bulkhead_init(&a, &backoff, 7);
    weir_bulkhead_init(&b, &backoff, 7);

    for (int i = 0; i < 20; i++) {
        weir_bulkhead_escalate(&a);
        weir_bulkhead_escalate(&b);
        check_int(a.floor_ns, b.floor_ns);
    }
}

WEIR_TEST(jitter, differs_between_two_seeds)
{
    struct weir_backoff backoff = {WEIR_SECONDS(1), WEIR_SECONDS(60), 1.5, 0.3};
    struct weir_bulkhead a, b;

    weir_bulkhead_init(&a, &backoff, 7);
    weir_bulkhead_init(&b, &backoff, UINT64_MAX);

    for (int i = 0; i < 5; i++) {
        weir_bulkhead_escalate(&a);
        weir_bulkhead_escalate(&b);
        check(a.floor_ns != b.floor_ns);
    }
}

WEIR_TEST(jitter, differs_from_failure_to_failure)
{
    struct weir_backoff backoff = {WEIR_SECONDS(10), WEIR_SECONDS(60), 1.0, 0.3};
    struct weir_bulkhead bulkhead;
    int64_t before_ns;

    weir_bulkhead_init(&bulkhead, &backoff, 7);
    weir_bulkhead_escalate(&bulkhead);

    for (int i = 0; i < 5; i++) {
        before_ns = bulkhead.floor_ns;
        weir_bulkhead_escalate(&bulkhead);
        check(bulkhead.floor_ns != before_ns);
    }
}
