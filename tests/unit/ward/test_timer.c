/*
 * Tests of ward/timer.c.
 *
 * A heap of any shape is right as long as what comes out is in order, so most tests
 * compare it with a model that is too simple to be wrong: an array that is searched
 * from end to end.
 */
#include "ward/timer.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/random.h"
#include "kit/test.h"
#include "weir/time.h"

enum { ALARMS_MAX = 10000, FIRED_MAX = 40000 };

struct setup;

/* A timer, and what the model knows about it. */
struct alarm {
    struct weir_timer timer;
    struct setup *setup;
    bool set;
    int64_t due_ns;
    uint64_t number; /* of the call that set it */
};

struct setup {
    struct weir_timers timers;
    struct alarm alarms[ALARMS_MAX];
    size_t alarm_count;
    uint64_t numbers;
    int64_t now_ns;
    uint32_t fired[FIRED_MAX]; /* which alarms, in order */
    size_t fired_count;
    void (*also)(struct setup *self, uint32_t fired); /* when one fires; may be NULL */
    struct weir_random random;
};

static struct setup setup; /* too large for a stack */

static void ring(struct weir_timer *timer);

static void setup_open(size_t alarm_count)
{
    memset(&setup, 0, sizeof setup);
    weir_timers_init(&setup.timers);
    setup.alarm_count = alarm_count;
    for (size_t i = 0; i < alarm_count; i++) {
        weir_timer_init(&setup.alarms[i].timer, ring);
        setup.alarms[i].setup = &setup;
    }
}

static void set_alarm(uint32_t which, int64_t due_ns)
{
    struct alarm *alarm = &setup.alarms[which];

    weir_timers_arm(&setup.timers, &alarm->timer, due_ns);
    alarm->set = true;
    alarm->due_ns = due_ns;
    alarm->number = setup.numbers++;
}

static void unset_alarm(uint32_t which)
{
    weir_timers_disarm(&setup.timers, &setup.alarms[which].timer);
    setup.alarms[which].set = false;
}

static void fire_until(int64_t now_ns)
{
    setup.now_ns = now_ns;
    weir_timers_fire_due(&setup.timers, now_ns);
}

static void check_fired(const uint32_t *want, size_t count)
{
    check_int(setup.fired_count, count);
    for (size_t i = 0; i < count; i++)
        check_int(setup.fired[i], want[i]);
}

#define CHECK_FIRED(...)                                                                 \
    check_fired((const uint32_t[]){__VA_ARGS__},                                         \
                sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

static void ring(struct weir_timer *timer)
{
    struct alarm *alarm = WEIR_CONTAINER_OF(timer, struct alarm, timer);
    uint32_t which = (uint32_t)(alarm - setup.alarms);

    check(!timer->armed);
    check(alarm->set);
    check(alarm->due_ns <= setup.now_ns);
    alarm->set = false;
    if (setup.fired_count < FIRED_MAX)
        setup.fired[setup.fired_count] = which;
    setup.fired_count++;
    if (setup.also != NULL)
        setup.also(&setup, which);
}

/* ---- the model --------------------------------------------------------------------- */

static bool sooner(const struct alarm *a, const struct alarm *b)
{
    return a->due_ns != b->due_ns ? a->due_ns < b->due_ns : a->number < b->number;
}

static const struct alarm *first_by_search(void)
{
    const struct alarm *first = NULL;

    for (size_t i = 0; i < setup.alarm_count; i++) {
        const struct alarm *alarm = &setup.alarms[i];

        if (alarm->set && (first == NULL || sooner(alarm, first)))
            first = alarm;
    }
    return first;
}

static void check_next(void)
{
    const struct alarm *first = first_by_search();

    check_int(weir_timers_next_ns(&setup.timers),
              first != NULL ? first->due_ns : WEIR_FOREVER);
}

static int compare_alarms(const void *a, const void *b)
{
    return sooner(*(const struct alarm *const *)a, *(const struct alarm *const *)b) ? -1
                                                                                    : 1;
}

/* Who must fire at `now_ns`, in order. */
static size_t due_by_sorting(int64_t now_ns, const struct alarm **out)
{
    size_t count = 0;

    for (size_t i = 0; i < setup.alarm_count; i++) {
        if (setup.alarms[i].set && setup.alarms[i].due_ns <= now_ns)
            out[count++] = &setup.alarms[i];
    }
    qsort(out, count, sizeof(struct alarm *), compare_alarms);
    return count;
}

static void fire_and_compare(int64_t now_ns)
{
    static const struct alarm *want[ALARMS_MAX];
    size_t count = due_by_sorting(now_ns, want);

    setup.fired_count = 0;
    fire_until(now_ns);

    check_int(setup.fired_count, count);
    for (size_t i = 0; i < count; i++)
        check_int(setup.fired[i], want[i] - setup.alarms);
}

/* ---- order ------------------------------------------------------------------------- */

WEIR_TEST(timer, fires_the_earliest_first_whatever_the_order_of_arming)
{
    setup_open(4);
    set_alarm(0, 30);
    set_alarm(1, 10);
    set_alarm(2, 40);
    set_alarm(3, 20);

    fire_until(100);

    CHECK_FIRED(1, 3, 0, 2);
}

WEIR_TEST(timer, fires_those_of_the_same_time_in_the_order_of_arming)
{
    setup_open(5);
    set_alarm(3, 10);
    set_alarm(0, 10);
    set_alarm(4, 5);
    set_alarm(2, 10);
    set_alarm(1, 10);

    fire_until(10);

    CHECK_FIRED(4, 3, 0, 2, 1);
}

/* It has given up its place: the order of arming is that of the last time. */
WEIR_TEST(timer, goes_to_the_back_of_its_time_when_armed_anew)
{
    setup_open(3);
    set_alarm(0, 10);
    set_alarm(1, 10);
    set_alarm(2, 10);
    unset_alarm(0);
    set_alarm(0, 10);

    fire_until(10);

    CHECK_FIRED(1, 2, 0);
}

WEIR_TEST(timer, fires_at_its_time_and_not_a_nanosecond_earlier)
{
    setup_open(2);
    set_alarm(0, 10);
    set_alarm(1, 11);

    fire_until(9);
    check_int(setup.fired_count, 0);
    fire_until(10);

    CHECK_FIRED(0);
    check(setup.alarms[1].timer.armed);
}

WEIR_TEST(timer, fires_once_per_arming)
{
    setup_open(1);
    set_alarm(0, 10);

    fire_until(10);
    fire_until(10);
    check_int(setup.fired_count, 1);
    set_alarm(0, 10);
    fire_until(10);

    check_int(setup.fired_count, 2);
}

WEIR_TEST(timer, keeps_order_at_the_ends_of_time)
{
    setup_open(5);
    set_alarm(0, INT64_MAX);
    set_alarm(1, -1);
    set_alarm(2, INT64_MIN);
    set_alarm(3, INT64_MAX - 1);
    set_alarm(4, 0);

    check_int(weir_timers_next_ns(&setup.timers), INT64_MIN);
    fire_until(INT64_MAX);

    CHECK_FIRED(2, 1, 4, 3, 0);
}

/* Armed in a row the heap is one long line of children; half of them are taken out
 * again. */
static void arm_in_a_row(bool ascending)
{
    setup_open(ALARMS_MAX);
    for (uint32_t i = 0; i < ALARMS_MAX; i++)
        set_alarm(i, ascending ? (int64_t)i : ALARMS_MAX - (int64_t)i);
    for (uint32_t i = 1; i < ALARMS_MAX; i += 2)
        unset_alarm(i);

    fire_and_compare(ALARMS_MAX / 2);
    fire_and_compare(ALARMS_MAX);

    check_int(weir_timers_next_ns(&setup.timers), WEIR_FOREVER);
}

WEIR_TEST(timer, sorts_ten_thousand_that_were_armed_in_order)
{
    arm_in_a_row(true);
}

WEIR_TEST(timer, sorts_ten_thousand_that_were_armed_in_reverse)
{
    arm_in_a_row(false);
}

/* ---- next_ns and disarming --------------------------------------------------------- */

WEIR_TEST(timer, next_is_forever_without_timers)
{
    setup_open(1);

    check_int(weir_timers_next_ns(&setup.timers), WEIR_FOREVER);
    set_alarm(0, 5);
    check_int(weir_timers_next_ns(&setup.timers), 5);
    fire_until(5);

    check_int(weir_timers_next_ns(&setup.timers), WEIR_FOREVER);
}

WEIR_TEST(timer, next_follows_arming_and_disarming)
{
    setup_open(3);

    set_alarm(0, 20);
    set_alarm(1, 30);
    check_int(weir_timers_next_ns(&setup.timers), 20);
    set_alarm(2, 10);
    check_int(weir_timers_next_ns(&setup.timers), 10);
    unset_alarm(2);
    check_int(weir_timers_next_ns(&setup.timers), 20);
    unset_alarm(0);
    check_int(weir_timers_next_ns(&setup.timers), 30);
    unset_alarm(1);

    check_int(weir_timers_next_ns(&setup.timers), WEIR_FOREVER);
}

WEIR_TEST(timer, does_not_fire_once_disarmed)
{
    setup_open(3);
    set_alarm(0, 1);
    set_alarm(1, 2);
    set_alarm(2, 3);

    unset_alarm(1);
    fire_until(10);

    CHECK_FIRED(0, 2);
}

WEIR_TEST(timer, disarming_one_that_is_not_armed_changes_nothing)
{
    setup_open(3);
    set_alarm(0, 1);
    set_alarm(1, 2);

    weir_timers_disarm(&setup.timers, &setup.alarms[2].timer);
    unset_alarm(1);
    weir_timers_disarm(&setup.timers, &setup.alarms[1].timer);
    fire_until(10);

    CHECK_FIRED(0);
}

/* ---- firing does things too -------------------------------------------------------- */

static void arm_two_more(struct setup *self, uint32_t fired)
{
    (void)self;
    if (fired == 0) {
        set_alarm(2, 10); /* now, behind the one that waits already */
        set_alarm(3, 11); /* later */
    }
}

WEIR_TEST(timer, fires_what_is_armed_meanwhile_if_it_is_due)
{
    setup_open(4);
    setup.also = arm_two_more;
    set_alarm(0, 10);
    set_alarm(1, 10);

    fire_until(10);

    CHECK_FIRED(0, 1, 2);
    check_int(weir_timers_next_ns(&setup.timers), 11);
}

static void disarm_the_next(struct setup *self, uint32_t fired)
{
    (void)self;
    if (fired == 0)
        unset_alarm(1);
}

WEIR_TEST(timer, does_not_fire_what_an_earlier_one_disarmed)
{
    setup_open(3);
    setup.also = disarm_the_next;
    set_alarm(0, 10);
    set_alarm(1, 10);
    set_alarm(2, 10);

    fire_until(10);

    CHECK_FIRED(0, 2);
}

static void disarm_itself(struct setup *self, uint32_t fired)
{
    (void)self;
    unset_alarm(fired);
}

WEIR_TEST(timer, may_disarm_itself_while_it_fires)
{
    setup_open(2);
    setup.also = disarm_itself;
    set_alarm(0, 10);
    set_alarm(1, 20);

    fire_until(20);

    CHECK_FIRED(0, 1);
}

/* As a poker does: every 10, so five times until 50. */
static void arm_itself_again(struct setup *self, uint32_t fired)
{
    set_alarm(fired, self->alarms[fired].due_ns + 10);
}

WEIR_TEST(timer, may_arm_itself_again_while_it_fires)
{
    setup_open(1);
    setup.also = arm_itself_again;
    set_alarm(0, 10);

    fire_until(50);

    check_int(setup.fired_count, 5);
    check_int(weir_timers_next_ns(&setup.timers), 60);
}

/* ---- against the model ------------------------------------------------------------- */

static uint32_t any_alarm(void)
{
    return weir_random_below(&setup.random, (uint32_t)setup.alarm_count);
}

/* Few different times, so that there are many ties. */
static void arm_or_disarm_any(int64_t range_ns)
{
    uint32_t which = any_alarm();

    if (setup.alarms[which].set)
        unset_alarm(which);
    else
        set_alarm(which, setup.now_ns + (int64_t)weir_random_below(&setup.random,
                                                                   (uint32_t)range_ns));
}

/* 10,000 timers, of which about half are armed at any time. */
WEIR_TEST(timer, ten_thousand_agree_with_a_sorted_array)
{
    enum { SEEDS = 3, ROUNDS = 60, OPERATIONS = 2000 };

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        setup_open(ALARMS_MAX);
        weir_random_init(&setup.random, seed);

        for (int round = 0; round < ROUNDS; round++) {
            for (int i = 0; i < OPERATIONS; i++)
                arm_or_disarm_any(3000);
            check_next();
            fire_and_compare(setup.now_ns + weir_random_below(&setup.random, 200));
        }
        fire_and_compare(INT64_MAX);
        check_int(weir_timers_next_ns(&setup.timers), WEIR_FOREVER);
    }
}

/* Whoever fires arms and disarms others, some of them due at once. The model is asked at
 * each single firing, since what comes next may have changed. */
static void meddle(struct setup *self, uint32_t fired)
{
    struct alarm *alarm = &self->alarms[fired];
    const struct alarm *first;

    alarm->set = true; /* for the search: was it really the first? */
    first = first_by_search();
    alarm->set = false;
    check(first == alarm);

    for (uint32_t i = weir_random_below(&self->random, 3); i > 0; i--)
        arm_or_disarm_any(40);
    check_next();
}

WEIR_TEST(timer, agrees_with_a_search_while_firing_arms_and_disarms_others)
{
    enum { SEEDS = 20, ALARMS = 100, ROUNDS = 100, OPERATIONS = 20 };
    uint64_t fired_total = 0;

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        setup_open(ALARMS);
        weir_random_init(&setup.random, seed);
        setup.also = meddle;

        for (int round = 0; round < ROUNDS; round++) {
            for (int i = 0; i < OPERATIONS; i++) {
                arm_or_disarm_any(40);
                check_next();
            }
            setup.fired_count = 0;
            fire_until(setup.now_ns + weir_random_below(&setup.random, 15));
            check(weir_timers_next_ns(&setup.timers) > setup.now_ns);
            fired_total += setup.fired_count;
        }
    }
    check(fired_total > 10000);
}
