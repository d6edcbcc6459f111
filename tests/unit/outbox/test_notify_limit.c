/* Tests of outbox/notify_limit.c, in a time of their own. */
#include "outbox/notify_limit.h"

#include "kit/test.h"

#define START_NS WEIR_SECONDS(1000)

static int take(struct weir_notify_limit *self, int64_t now_ns, int count)
{
    int taken = 0;

    for (int i = 0; i < count; i++)
        taken += weir_notify_limit_take(self, now_ns);
    return taken;
}

WEIR_TEST(notify_limit, allows_a_few_in_a_row)
{
    struct weir_notify_limit limit = {0};

    check_int(take(&limit, START_NS, 1000), WEIR_NOTIFY_LIMIT_BURST);
}

WEIR_TEST(notify_limit, allows_each_that_comes_after_its_interval)
{
    struct weir_notify_limit limit = {0};

    for (int i = 0; i < 1000; i++)
        check_int(take(&limit, START_NS + i * WEIR_NOTIFY_LIMIT_NS, 1), 1);
}

WEIR_TEST(notify_limit, holds_for_a_second_of_calls)
{
    struct weir_notify_limit limit = {0};
    int taken = 0;

    for (int i = 0; i < 100000; i++)
        taken += take(&limit, START_NS + i * WEIR_MICROSECONDS(10), 1);

    check(taken >= 400 && taken <= 400 + WEIR_NOTIFY_LIMIT_BURST);
}

WEIR_TEST(notify_limit, saves_no_more_than_the_burst_while_it_rests)
{
    struct weir_notify_limit limit = {0};

    (void)take(&limit, START_NS, 1000);

    check_int(take(&limit, START_NS + WEIR_HOURS(1), 1000), WEIR_NOTIFY_LIMIT_BURST);
}

WEIR_TEST(notify_limit, is_one_for_the_unit_of_the_sql_function)
{
    check_int(WEIR_NOTIFY_LIMIT_NS, WEIR_NOTIFY_LIMIT_US * WEIR_MICROSECONDS(1));
}
