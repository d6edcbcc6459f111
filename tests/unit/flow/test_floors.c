/*
 * test_floors.c - when floors are learnt, and how far they rise.
 */
#include "execution/store/floors.h"

#include "execution/rules.h"
#include "kit/test.h"
#include "weir/time.h"

static const int64_t LANE = 7, CAPABILITY_SET = 0;
static const int64_t CLOCK = 1000 * 1000000LL, LATE = 200 * 1000;

#define SLOW WEIR_MILLISECONDS(50)
#define FAST WEIR_MILLISECONDS(1)
#define FAR WEIR_FLOORS_WALK_MIN

/* Floors that are in use, with one priority. */
static void make(struct weir_floors *floors)
{
    check_status(weir_floors_init(floors), WEIR_OK);
    weir_floors_note(floors, SLOW, 0);
    weir_floors_meet(floors, LANE, CAPABILITY_SET, 5);
}

static struct weir_floor seen(struct weir_floors *floors)
{
    struct weir_floor out[WEIR_FLOORS_MAX];

    check_int(weir_floors_copy(floors, &LANE, 1, &CAPABILITY_SET, 1, out), 1);
    return out[0];
}

/* The first ready ones are these. */
static void learn(struct weir_floors *floors, int64_t now_ns, int64_t again,
                  int64_t fresh, int64_t walked, int64_t took_ns)
{
    struct weir_floor asked[WEIR_FLOORS_MAX];
    size_t count = 0;
    enum weir_floors_due due = weir_floors_begin(floors, now_ns, asked, &count);

    check(due != WEIR_FLOORS_NOTHING);
    check_int(count, 1);
    asked[0].again = again;
    asked[0].fresh = fresh;
    weir_floors_learnt(floors, due, asked, count, CLOCK, walked, took_ns, now_ns);
}

WEIR_TEST(floors, are_not_used_while_claims_are_fast)
{
    struct weir_floors floors;

    check_status(weir_floors_init(&floors), WEIR_OK);
    weir_floors_note(&floors, FAST, 0);
    weir_floors_meet(&floors, LANE, CAPABILITY_SET, 5);

    check(!weir_floors_are_active(&floors));
    check_int(floors.count, 0);
    weir_floors_fini(&floors);
}

/* The way to the server takes its time, whatever is walked there. */
WEIR_TEST(floors, are_not_learnt_when_all_claims_take_as_long)
{
    struct weir_floors floors;

    check_status(weir_floors_init(&floors), WEIR_OK);
    for (int i = 0; i < 10; i++)
        weir_floors_note(&floors, WEIR_MILLISECONDS(3), 0);

    check(!weir_floors_are_active(&floors));
    weir_floors_fini(&floors);
}

WEIR_TEST(floors, are_learnt_after_a_claim_that_took_long)
{
    struct weir_floors floors;

    make(&floors);
    check(weir_floors_are_active(&floors));
    check(!weir_floors_are_used(&floors));
    check_int(floors.count, 1);
    weir_floors_fini(&floors);
}

WEIR_TEST(floors, are_used_when_many_entries_were_walked)
{
    struct weir_floors floors;

    make(&floors);
    learn(&floors, 0, INT64_MAX, INT64_MAX, FAR, FAST);
    check(weir_floors_are_used(&floors));
    weir_floors_fini(&floors);
}

/* On a busy machine all claims take long. */
WEIR_TEST(floors, are_not_used_when_few_entries_were_walked)
{
    struct weir_floors floors;

    make(&floors);
    learn(&floors, 0, INT64_MAX, INT64_MAX, FAR - 1, SLOW);
    check(!weir_floors_are_used(&floors));
    weir_floors_note(&floors, SLOW, WEIR_MILLISECONDS(999));
    check(!weir_floors_are_active(&floors));
    weir_floors_note(&floors, SLOW, WEIR_MILLISECONDS(1000));
    check(weir_floors_are_active(&floors));
    weir_floors_fini(&floors);
}

WEIR_TEST(floors, are_at_the_first_that_is_ready)
{
    struct weir_floors floors;

    make(&floors);
    learn(&floors, 0, WEIR_TURN_AGAIN(300), 400, FAR, SLOW);
    check(seen(&floors).again == WEIR_TURN_AGAIN(300));
    check_int(seen(&floors).fresh, 400);
    weir_floors_fini(&floors);
}

WEIR_TEST(floors, stay_a_moment_behind_the_clock)
{
    struct weir_floors floors;

    make(&floors);
    learn(&floors, 0, INT64_MAX, CLOCK, FAR, SLOW);
    check(seen(&floors).again == WEIR_TURN_AGAIN(CLOCK - LATE));
    check_int(seen(&floors).fresh, CLOCK - LATE);
    weir_floors_fini(&floors);
}

WEIR_TEST(floors, fall_only_when_everything_is_walked)
{
    struct weir_floors floors;

    make(&floors);
    learn(&floors, 0, WEIR_TURN_AGAIN(300), 400, FAR, SLOW);
    learn(&floors, WEIR_MILLISECONDS(100), WEIR_TURN_AGAIN(200), 100, FAR, SLOW);
    check(seen(&floors).again == WEIR_TURN_AGAIN(300));
    check_int(seen(&floors).fresh, 400);

    learn(&floors, WEIR_SECONDS(1), WEIR_TURN_AGAIN(200), 100, FAR, SLOW);
    check(seen(&floors).again == WEIR_TURN_AGAIN(200));
    check_int(seen(&floors).fresh, 100);
    weir_floors_fini(&floors);
}

WEIR_TEST(floors, are_learnt_by_one_at_a_time)
{
    struct weir_floor asked[WEIR_FLOORS_MAX];
    struct weir_floors floors;
    size_t count;

    make(&floors);
    check(weir_floors_begin(&floors, 0, asked, &count) == WEIR_FLOORS_ALL);
    check(weir_floors_begin(&floors, 0, asked, &count) == WEIR_FLOORS_NOTHING);
    weir_floors_forget(&floors);
    check(weir_floors_begin(&floors, 0, asked, &count) == WEIR_FLOORS_ALL);
    weir_floors_fini(&floors);
}

WEIR_TEST(floors, walk_everything_for_a_small_share_of_the_time)
{
    struct weir_floor asked[WEIR_FLOORS_MAX];
    struct weir_floors floors;
    size_t count;

    make(&floors);
    learn(&floors, 0, INT64_MAX, INT64_MAX, FAR, WEIR_SECONDS(2));
    check(weir_floors_begin(&floors, WEIR_SECONDS(39), asked, &count) ==
          WEIR_FLOORS_NEXT);
    weir_floors_forget(&floors);
    check(weir_floors_begin(&floors, WEIR_SECONDS(40), asked, &count) == WEIR_FLOORS_ALL);
    weir_floors_fini(&floors);
}

WEIR_TEST(floors, are_dropped_when_walking_everything_is_short)
{
    struct weir_floors floors;

    make(&floors);
    learn(&floors, 0, INT64_MAX, INT64_MAX, FAR, FAST);
    learn(&floors, WEIR_SECONDS(1), INT64_MAX, INT64_MAX, FAR - 1, FAST);
    check(!weir_floors_are_active(&floors));
    check_int(floors.count, 0);
    weir_floors_fini(&floors);
}

WEIR_TEST(floors, are_kept_by_lane_set_and_falling_priority)
{
    static const int64_t PRIORITIES[] = {3, 9, 1, 3};
    struct weir_floor out[WEIR_FLOORS_MAX];
    struct weir_floors floors;

    make(&floors);
    learn(&floors, 0, INT64_MAX, INT64_MAX, FAR, SLOW);
    for (size_t i = 0; i < 4; i++)
        weir_floors_meet(&floors, LANE, CAPABILITY_SET, PRIORITIES[i]);
    weir_floors_meet(&floors, 1, CAPABILITY_SET, 4);

    check_int(weir_floors_copy(&floors, &LANE, 1, &CAPABILITY_SET, 1, out), 4);
    check_int(out[0].priority, 9);
    check_int(out[1].priority, 5);
    check_int(out[2].priority, 3);
    check_int(out[3].priority, 1);
    weir_floors_fini(&floors);
}

WEIR_TEST(floors, are_as_many_as_fit)
{
    struct weir_floors floors;

    make(&floors);
    for (int64_t i = 0; i < 2 * WEIR_FLOORS_MAX; i++)
        weir_floors_meet(&floors, i, CAPABILITY_SET, 0);
    check_int(floors.count, WEIR_FLOORS_MAX);
    weir_floors_fini(&floors);
}
