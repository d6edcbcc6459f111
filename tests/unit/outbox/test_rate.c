/* Tests of outbox/delivery/rate.c. */
#include "outbox/delivery/rate.h"

#include "kit/test.h"

/* In messages per 1,000 s, so that it is a whole number. */
static int64_t look(struct weir_rate *rate, uint64_t total, int64_t at_ns)
{
    return (int64_t)(weir_rate_look(rate, total, at_ns) * 1000);
}

WEIR_TEST(rate, is_0_at_the_first_look)
{
    struct weir_rate rate = {0};

    check_int(look(&rate, 500, WEIR_SECONDS(100)), 0);
    check_int(look(&rate, 500, WEIR_SECONDS(100)), 0);
}

WEIR_TEST(rate, is_that_since_the_first_look_in_the_beginning)
{
    struct weir_rate rate = {0};

    (void)look(&rate, 500, WEIR_SECONDS(100));

    check_int(look(&rate, 520, WEIR_SECONDS(102)), 10000);
    check_int(look(&rate, 520, WEIR_SECONDS(104)), 5000);
}

WEIR_TEST(rate, stands_still_while_the_number_grows_evenly)
{
    struct weir_rate rate = {0};

    (void)look(&rate, 0, 0);
    for (int64_t s = 1; s < 60; s++)
        check_int(look(&rate, (uint64_t)s * 7, WEIR_SECONDS(s)), 7000);
}

WEIR_TEST(rate, does_not_depend_on_how_often_one_looks)
{
    struct weir_rate rate = {0};

    (void)look(&rate, 0, 0);
    for (int64_t ms = 100; ms < 30000; ms += 100)
        check_int(look(&rate, (uint64_t)ms / 100, WEIR_MILLISECONDS(ms)), 10000);
    check_int(look(&rate, 600, WEIR_SECONDS(60)), 10000);
    check_int(look(&rate, 1200, WEIR_SECONDS(120)), 10000);
}

WEIR_TEST(rate, is_0_two_windows_after_the_number_has_stopped)
{
    struct weir_rate rate = {0};
    int64_t per_ks = 0;

    for (int64_t s = 0; s <= 20; s++)
        per_ks = look(&rate, (uint64_t)s * 100, WEIR_SECONDS(s));
    check_int(per_ks, 100000);

    for (int64_t s = 21; s <= 20 + 2 * WEIR_RATE_WINDOW_NS / WEIR_SECONDS(1); s++)
        per_ks = look(&rate, 2000, WEIR_SECONDS(s));
    check_int(per_ks, 0);
}
