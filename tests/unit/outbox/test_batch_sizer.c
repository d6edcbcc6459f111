/* Tests of outbox/delivery/batch_sizer.c, in the order of the table that describes it. */
#include "outbox/delivery/batch_sizer.h"

#include "kit/test.h"
#include "weir/time.h"

static struct weir_batch_sizer normal(void)
{
    struct weir_batch_sizer mode;

    weir_batch_sizer_init(&mode);
    return mode;
}

static struct weir_batch_sizer degraded(uint32_t size)
{
    return (struct weir_batch_sizer){.degraded = true, .size = size};
}

static void move(struct weir_batch_sizer *mode, enum weir_outcome outcome,
                 uint32_t configured)
{
    weir_batch_sizer_move(mode, outcome, configured, WEIR_PROCESSED_UNKNOWN, 1);
}

/* ---- size -------------------------------------------------------------------------- */

WEIR_TEST(mode, normal_takes_the_configured_size)
{
    struct weir_batch_sizer mode = normal();

    check_int(weir_batch_sizer_size(&mode, 50), 50);
}

WEIR_TEST(mode, degraded_takes_its_own_size)
{
    struct weir_batch_sizer mode = degraded(4);

    check_int(weir_batch_sizer_size(&mode, 50), 4);
}

/* Settings may have been lowered since. */
WEIR_TEST(mode, never_takes_more_than_configured_and_never_nothing)
{
    struct weir_batch_sizer mode = degraded(40);

    check_int(weir_batch_sizer_size(&mode, 10), 10);
    check_int(weir_batch_sizer_size(&mode, 0), 1);
    mode = normal();
    check_int(weir_batch_sizer_size(&mode, 0), 1);
}

WEIR_TEST(mode, cornered_begins_with_one)
{
    struct weir_batch_sizer mode = normal();

    weir_batch_sizer_degrade(&mode);

    check(mode.degraded);
    check_int(weir_batch_sizer_size(&mode, 50), 1);
    check_int(mode.failures, 0);
}

/* ---- moves ------------------------------------------------------------------------- */

WEIR_TEST(mode, retry_at_the_threshold_degrades_to_one)
{
    struct weir_batch_sizer mode = normal();

    move(&mode, WEIR_RETRY, 50);

    check(mode.degraded);
    check_int(weir_batch_sizer_size(&mode, 50), 1);
    check_int(mode.failures, 1);
}

WEIR_TEST(mode, success_doubles)
{
    struct weir_batch_sizer mode = degraded(1);

    move(&mode, WEIR_DONE, 50);
    check_int(weir_batch_sizer_size(&mode, 50), 2);
    move(&mode, WEIR_DONE, 50);
    check_int(weir_batch_sizer_size(&mode, 50), 4);
    move(&mode, WEIR_DONE, 50);
    check_int(weir_batch_sizer_size(&mode, 50), 8);
    check_int(mode.successes, 3);
}

WEIR_TEST(mode, success_that_reaches_the_configured_size_is_normal)
{
    struct weir_batch_sizer mode = degraded(16);

    move(&mode, WEIR_DONE, 32);

    check(!mode.degraded);
    check_int(weir_batch_sizer_size(&mode, 32), 32);
}

WEIR_TEST(mode, success_that_passes_the_configured_size_is_normal)
{
    struct weir_batch_sizer mode = degraded(30);

    move(&mode, WEIR_DONE, 50);

    check(!mode.degraded);
    check_int(weir_batch_sizer_size(&mode, 50), 50);
}

WEIR_TEST(mode, reject_degrades_to_one)
{
    struct weir_batch_sizer mode = normal();

    weir_batch_sizer_move(&mode, WEIR_REJECT, 50, WEIR_PROCESSED_UNKNOWN, 100);

    check(mode.degraded);
    check_int(weir_batch_sizer_size(&mode, 50), 1);
}

WEIR_TEST(mode, reject_degrades_to_what_was_processed)
{
    struct weir_batch_sizer mode = normal();

    weir_batch_sizer_move(&mode, WEIR_REJECT, 50, 3, 100);

    check_int(weir_batch_sizer_size(&mode, 50), 3);
}

WEIR_TEST(mode, retry_with_nothing_processed_degrades_to_one)
{
    struct weir_batch_sizer mode = normal();

    weir_batch_sizer_move(&mode, WEIR_RETRY, 50, 0, 1);

    check(mode.degraded);
    check_int(weir_batch_sizer_size(&mode, 50), 1);
}

WEIR_TEST(mode, retry_degrades_to_what_was_processed)
{
    struct weir_batch_sizer mode = normal();

    weir_batch_sizer_move(&mode, WEIR_RETRY, 50, 7, 1);

    check_int(weir_batch_sizer_size(&mode, 50), 7);
}

WEIR_TEST(mode, success_leaves_normal_as_it_is)
{
    struct weir_batch_sizer mode = normal();

    move(&mode, WEIR_DONE, 50);

    check(!mode.degraded);
    check_int(weir_batch_sizer_size(&mode, 50), 50);
}

WEIR_TEST(mode, of_8_recovers_from_a_retry_over_1_2_and_4)
{
    struct weir_batch_sizer mode = normal();

    move(&mode, WEIR_RETRY, 8);
    check_int(weir_batch_sizer_size(&mode, 8), 1);
    move(&mode, WEIR_DONE, 8);
    check_int(weir_batch_sizer_size(&mode, 8), 2);
    move(&mode, WEIR_DONE, 8);
    check_int(weir_batch_sizer_size(&mode, 8), 4);
    check(mode.degraded);
    move(&mode, WEIR_DONE, 8);
    check_int(weir_batch_sizer_size(&mode, 8), 8);
    check(!mode.degraded);
}

WEIR_TEST(mode, stays_normal_below_the_threshold)
{
    struct weir_batch_sizer mode = normal();

    for (uint32_t i = 1; i <= 2; i++) {
        weir_batch_sizer_move(&mode, WEIR_RETRY, 50, WEIR_PROCESSED_UNKNOWN, 3);
        check(!mode.degraded);
        check_int(mode.failures, i);
        check_int(weir_batch_sizer_size(&mode, 50), 50);
    }
    weir_batch_sizer_move(&mode, WEIR_RETRY, 50, WEIR_PROCESSED_UNKNOWN, 3);

    check(mode.degraded);
    check_int(mode.failures, 3);
    check_int(weir_batch_sizer_size(&mode, 50), 1);
}

/* Also while degraded: below the threshold the size stays what it was. */
WEIR_TEST(mode, keeps_its_size_below_the_threshold_while_degraded)
{
    struct weir_batch_sizer mode = degraded(8);

    weir_batch_sizer_move(&mode, WEIR_RETRY, 50, 2, 3);

    check_int(weir_batch_sizer_size(&mode, 50), 8);
}

WEIR_TEST(mode, forgets_failures_at_a_success_and_at_a_reject)
{
    struct weir_batch_sizer mode = normal();

    move(&mode, WEIR_RETRY, 50);
    move(&mode, WEIR_DONE, 50);
    check_int(mode.failures, 0);

    move(&mode, WEIR_RETRY, 50);
    move(&mode, WEIR_REJECT, 50);
    check_int(mode.failures, 0);
}

WEIR_TEST(mode, begins_to_count_successes_anew_when_it_degrades_again)
{
    struct weir_batch_sizer mode = degraded(1);

    move(&mode, WEIR_DONE, 50);
    move(&mode, WEIR_RETRY, 50);

    check_int(mode.successes, 0);
}

WEIR_TEST(mode, does_not_overflow)
{
    struct weir_batch_sizer mode = degraded(UINT32_MAX - 1);

    mode.failures = UINT32_MAX;
    move(&mode, WEIR_RETRY, 50);
    check_int(mode.failures, UINT32_MAX);

    mode = degraded(UINT32_MAX - 1);
    move(&mode, WEIR_DONE, UINT32_MAX);
    check(!mode.degraded);

    weir_batch_sizer_move(&mode, WEIR_REJECT, 50, INT64_MAX, 1);
    check_int(weir_batch_sizer_size(&mode, 50), 50);
}

/* ---- backoff ----------------------------------------------------------------------- */

static int64_t backoff_ms(uint32_t failures, int64_t base_ms, int64_t max_ms)
{
    struct weir_batch_sizer mode = {.failures = failures};

    return weir_batch_sizer_backoff(&mode, WEIR_MILLISECONDS(base_ms),
                                    WEIR_MILLISECONDS(max_ms)) /
           WEIR_MILLISECONDS(1);
}

WEIR_TEST(mode, waits_base_and_doubles_from_the_second_failure)
{
    check_int(backoff_ms(0, 100, 30000), 100);
    check_int(backoff_ms(1, 100, 30000), 100);
    check_int(backoff_ms(2, 100, 30000), 200);
    check_int(backoff_ms(3, 100, 30000), 400);
    check_int(backoff_ms(9, 100, 30000), 25600);
    check_int(backoff_ms(10, 100, 30000), 30000);
}

WEIR_TEST(mode, waits_no_longer_than_its_limit)
{
    check_int(backoff_ms(10, 100, 500), 500);
    check_int(backoff_ms(UINT32_MAX, 100, 500), 500);
    check_int(backoff_ms(3, 500, 500), 500);
}

WEIR_TEST(mode, doubles_thirty_times_at_most_and_saturates)
{
    struct weir_batch_sizer mode = {.failures = 31};

    check_int(weir_batch_sizer_backoff(&mode, 1, INT64_MAX), INT64_C(1) << 30);
    mode.failures = 1000;
    check_int(weir_batch_sizer_backoff(&mode, 1, INT64_MAX), INT64_C(1) << 30);
    check_int(weir_batch_sizer_backoff(&mode, INT64_MAX / 2, INT64_MAX), INT64_MAX);
    check_int(weir_batch_sizer_backoff(&mode, WEIR_HOURS(24), INT64_MAX), INT64_MAX);
}
