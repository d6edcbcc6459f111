/*
 * Tests of base/fault_point.c. The function is there in every build; only the macro
 * depends on WEIR_POINTS, and its test knows both answers.
 */
#include "base/fault_point.h"

#include <pthread.h>
#include <stddef.h>

#include "kit/test.h"

static void *pass_1000_times(void *arg);
static void count_call(void *calls);

WEIR_TEST(point, does_not_fire_unless_armed)
{
    struct weir_fault_points points;

    weir_fault_points_init(&points);
    weir_fault_points_arm(&points, "gate.other", 1);

    check(!weir_fault_points_fires(&points, "gate.some"));
}

WEIR_TEST(point, does_not_fire_without_points)
{
    check(!weir_fault_points_fires(NULL, "gate.some"));
}

WEIR_TEST(point, fires_at_each_pass_if_every_is_1)
{
    struct weir_fault_points points;

    weir_fault_points_init(&points);
    weir_fault_points_arm(&points, "gate.some", 1);

    for (int i = 0; i < 5; i++)
        check(weir_fault_points_fires(&points, "gate.some"));
}

WEIR_TEST(point, fires_at_each_third_pass_if_every_is_3)
{
    struct weir_fault_points points;

    weir_fault_points_init(&points);
    weir_fault_points_arm(&points, "gate.some", 3);

    for (int pass = 1; pass <= 9; pass++)
        check_int(weir_fault_points_fires(&points, "gate.some"), pass % 3 == 0);
}

WEIR_TEST(point, armed_for_once_fires_at_that_pass_only)
{
    struct weir_fault_points points;

    weir_fault_points_init(&points);
    weir_fault_points_arm_once(&points, "gate.some", 3);

    for (int pass = 1; pass <= 9; pass++)
        check_int(weir_fault_points_fires(&points, "gate.some"), pass == 3);
}

WEIR_TEST(point, armed_for_once_and_then_again_fires_as_often_as_before)
{
    struct weir_fault_points points;

    weir_fault_points_init(&points);
    weir_fault_points_arm_once(&points, "gate.some", 1);
    check(weir_fault_points_fires(&points, "gate.some"));

    weir_fault_points_arm(&points, "gate.some", 1);

    check(weir_fault_points_fires(&points, "gate.some"));
    check(weir_fault_points_fires(&points, "gate.some"));
}

/* The call is made at the place itself, before whoever passes it goes on. */
WEIR_TEST(point, armed_with_a_call_calls_at_that_pass_only_and_does_not_fire)
{
    struct weir_fault_points points;
    int calls = 0;

    weir_fault_points_init(&points);
    weir_fault_points_arm_call(&points, "gate.some", 3, count_call, &calls);

    for (int pass = 1; pass <= 9; pass++) {
        check(!weir_fault_points_fires(&points, "gate.some"));
        check_int(calls, pass >= 3);
    }
}

WEIR_TEST(point, armed_with_a_call_and_then_again_fires_and_calls_nobody)
{
    struct weir_fault_points points;
    int calls = 0;

    weir_fault_points_init(&points);
    weir_fault_points_arm_call(&points, "gate.some", 1, count_call, &calls);

    weir_fault_points_arm(&points, "gate.some", 1);

    check(weir_fault_points_fires(&points, "gate.some"));
    check_int(calls, 0);
}

/* Names are compared as texts: the same literal may have two addresses. */
WEIR_TEST(point, is_known_by_its_letters)
{
    struct weir_fault_points points;
    char name[] = "gate.some";

    weir_fault_points_init(&points);
    weir_fault_points_arm(&points, name, 1);

    check(weir_fault_points_fires(&points, "gate.some"));
}

WEIR_TEST(point, is_counted_apart_from_others)
{
    struct weir_fault_points points;

    weir_fault_points_init(&points);
    weir_fault_points_arm(&points, "a", 2);
    weir_fault_points_arm(&points, "b", 2);

    check(!weir_fault_points_fires(&points, "a"));
    check(!weir_fault_points_fires(&points, "b"));
    check(weir_fault_points_fires(&points, "a"));
    check(weir_fault_points_fires(&points, "b"));
}

WEIR_TEST(point, starts_anew_when_armed_again)
{
    struct weir_fault_points points;

    weir_fault_points_init(&points);
    weir_fault_points_arm(&points, "a", 2);
    check(!weir_fault_points_fires(&points, "a"));

    weir_fault_points_arm(&points, "a", 3);

    check_int(points.armed_count, 1);
    check(!weir_fault_points_fires(&points, "a"));
    check(!weir_fault_points_fires(&points, "a"));
    check(weir_fault_points_fires(&points, "a"));
}

WEIR_TEST(point, has_room_for_sixteen_names)
{
    static const char *const NAMES[WEIR_POINTS_MAX] = {
        "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p"};
    struct weir_fault_points points;

    weir_fault_points_init(&points);
    for (int i = 0; i < WEIR_POINTS_MAX; i++)
        weir_fault_points_arm(&points, NAMES[i], 1);

    for (int i = 0; i < WEIR_POINTS_MAX; i++)
        check(weir_fault_points_fires(&points, NAMES[i]));
}

WEIR_TEST(point, misses_no_pass_of_several_threads)
{
    enum { THREAD_COUNT = 4 };
    struct weir_fault_points points;
    pthread_t threads[THREAD_COUNT];

    weir_fault_points_init(&points);
    weir_fault_points_arm(&points, "a", 7);
    for (int i = 0; i < THREAD_COUNT; i++)
        check_int(pthread_create(&threads[i], NULL, pass_1000_times, &points), 0);
    for (int i = 0; i < THREAD_COUNT; i++)
        pthread_join(threads[i], NULL);

    check_int(points.armed[0].passed, THREAD_COUNT * 1000);
}

WEIR_TEST(point, macro_fires_only_in_builds_with_points)
{
    struct weir_fault_points points;
    bool fired;

    weir_fault_points_init(&points);
    weir_fault_points_arm(&points, "a", 1);

    fired = WEIR_POINT(&points, "a");

#ifdef WEIR_POINTS
    check(fired);
    check_int(points.armed[0].passed, 1);
#else
    check(!fired);
    check_int(points.armed[0].passed, 0);
#endif
}

static void count_call(void *calls)
{
    ++*(int *)calls;
}

static void *pass_1000_times(void *arg)
{
    for (int i = 0; i < 1000; i++)
        (void)weir_fault_points_fires(arg, "a");
    return NULL;
}
