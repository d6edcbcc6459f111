/*
 * Tests of execution/reconcile/due_cache.c: what one has seen the others know, for a
 * while.
 */
#include "execution/reconcile/due_cache.h"

#include "kit/test.h"

static struct weir_due_times times_at(int64_t now_us, int64_t delayed_us)
{
    struct weir_due_times times = {.now_us = now_us};

    for (int i = 0; i < WEIR_DUE_KINDS; i++)
        times.due_us[i] = INT64_MAX;
    times.due_us[WEIR_DUE_DELAYED] = delayed_us;
    return times;
}

WEIR_TEST(lookout, knows_nothing_before_the_first_look)
{
    struct weir_due_cache due_cache;
    struct weir_due_time time;
    int64_t looked_ns;

    check_status(weir_due_cache_init(&due_cache), WEIR_OK);

    check(!weir_due_cache_find(&due_cache, WEIR_DUE_DELAYED, 1000, INT64_MIN, &time,
                               &looked_ns));

    weir_due_cache_fini(&due_cache);
}

/* The database's clock goes on meanwhile. */
WEIR_TEST(lookout, gives_each_kind_its_time_and_the_clock_as_it_is_now)
{
    struct weir_due_times times = times_at(5000, 7000);
    struct weir_due_cache due_cache;
    struct weir_due_time time;
    int64_t looked_ns = 0;

    check_status(weir_due_cache_init(&due_cache), WEIR_OK);
    weir_due_cache_note(&due_cache, 1000000, &times);

    check(weir_due_cache_find(&due_cache, WEIR_DUE_DELAYED, 3000000, 1000000, &time,
                              &looked_ns));
    check_int(time.due_us, 7000);
    check_int(time.now_us, 7000);
    check_int(looked_ns, 1000000);
    check(weir_due_cache_find(&due_cache, WEIR_DUE_LEASE, 3000000, 1000000, &time,
                              &looked_ns));
    check_int(time.due_us, INT64_MAX);
    weir_due_cache_fini(&due_cache);
}

WEIR_TEST(lookout, that_was_before_one_s_own_is_not_asked)
{
    struct weir_due_times times = times_at(5000, 7000);
    struct weir_due_cache due_cache;
    struct weir_due_time time;
    int64_t looked_ns;

    check_status(weir_due_cache_init(&due_cache), WEIR_OK);
    weir_due_cache_note(&due_cache, 1000, &times);

    check(!weir_due_cache_find(&due_cache, WEIR_DUE_DELAYED, 3000, 1001, &time,
                               &looked_ns));

    weir_due_cache_fini(&due_cache);
}

/* Two look at once, and the first is slower to say what he has seen. */
WEIR_TEST(lookout, keeps_the_later_of_two_looks)
{
    struct weir_due_times early = times_at(5000, 6000);
    struct weir_due_times late = times_at(5001, 7000);
    struct weir_due_cache due_cache;
    struct weir_due_time time;
    int64_t looked_ns;

    check_status(weir_due_cache_init(&due_cache), WEIR_OK);
    weir_due_cache_note(&due_cache, 2000, &late);
    weir_due_cache_note(&due_cache, 1000, &early);

    check(weir_due_cache_find(&due_cache, WEIR_DUE_DELAYED, 3000, 0, &time, &looked_ns));
    check_int(looked_ns, 2000);
    check_int(time.due_us, 7000);
    weir_due_cache_fini(&due_cache);
}
