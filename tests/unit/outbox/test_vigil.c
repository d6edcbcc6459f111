/* Tests of outbox/delivery/vigil.c. */
#include "outbox/delivery/vigil.h"

#include "lib/test.h"

/* A reader, in a time of the test's own, that says what it should. */
struct watch {
    struct weir_vigil vigil;
    int64_t now_ns;
};

static enum weir_vigil_word say(struct watch *self, enum weir_vigil_word word)
{
    weir_vigil_said(&self->vigil, word, self->now_ns);
    return word;
}

/* A look after so long. */
static enum weir_vigil_word look(struct watch *self, int64_t after_ns, bool finds)
{
    self->now_ns += after_ns;
    return say(self, finds ? weir_vigil_found(&self->vigil, self->now_ns)
                           : weir_vigil_missed(&self->vigil, self->now_ns));
}

/* One that has said that it sleeps and has had its naps. */
static struct watch sleeper(void)
{
    struct watch self = {.now_ns = WEIR_SECONDS(1000)};

    (void)look(&self, 0, false);
    while (weir_vigil_rest(&self.vigil) > 0)
        continue;
    return self;
}

static struct watch watcher(void)
{
    struct watch self = sleeper();

    while (look(&self, WEIR_MILLISECONDS(1), true) != WEIR_VIGIL_WATCHING)
        continue;
    return self;
}

WEIR_TEST(vigil, says_that_it_sleeps_when_the_first_look_finds_nothing)
{
    struct watch watch = {.now_ns = WEIR_SECONDS(1000)};

    check_int(look(&watch, 0, false), WEIR_VIGIL_ASLEEP);
    check_int(look(&watch, WEIR_SECONDS(1), false), WEIR_VIGIL_NOTHING);
}

WEIR_TEST(vigil, of_a_find_now_and_then_wants_to_be_told)
{
    struct watch watch = sleeper();

    for (int i = 0; i < 100; i++) {
        check_int(look(&watch, WEIR_MILLISECONDS(20), true), WEIR_VIGIL_NOTHING);
        check_int(look(&watch, WEIR_MILLISECONDS(1), false), WEIR_VIGIL_NOTHING);
        check_int(weir_vigil_rest(&watch.vigil), 0);
    }
}

WEIR_TEST(vigil, watches_when_it_is_busy_without_a_gap)
{
    struct watch watch = sleeper();

    check_int(look(&watch, 0, true), WEIR_VIGIL_NOTHING);
    check_int(look(&watch, WEIR_MILLISECONDS(60), true), WEIR_VIGIL_WATCHING);
}

WEIR_TEST(vigil, says_again_that_it_watches_before_it_wears_off)
{
    struct watch watch = watcher();
    int64_t said_ns = watch.now_ns;

    for (int i = 0; i < 1000; i++) {
        if (look(&watch, WEIR_MILLISECONDS(30), true) == WEIR_VIGIL_WATCHING)
            said_ns = watch.now_ns;
        check((watch.now_ns - said_ns) / 1000 < WEIR_VIGIL_FRESH_US / 2);
    }
}

WEIR_TEST(vigil, sleeps_when_there_was_nothing_for_a_while)
{
    struct watch watch = watcher();
    int looks = 0;

    while (look(&watch, weir_vigil_rest(&watch.vigil), false) != WEIR_VIGIL_ASLEEP)
        looks++;

    check(looks >= 10 && looks < 100);
    check(!watch.vigil.watching);
}

WEIR_TEST(vigil, goes_on_watching_when_something_comes_in_time)
{
    struct watch watch = watcher();

    for (int i = 0; i < 100; i++) {
        check_int(look(&watch, WEIR_MILLISECONDS(3), false), WEIR_VIGIL_NOTHING);
        check(look(&watch, WEIR_MILLISECONDS(30), true) != WEIR_VIGIL_ASLEEP);
    }
    check(watch.vigil.watching);
}

WEIR_TEST(vigil, looks_a_few_more_times_after_watching)
{
    struct watch watch = watcher();
    int64_t sum_ns = 0;
    int64_t nap_ns;

    while (look(&watch, weir_vigil_rest(&watch.vigil), false) != WEIR_VIGIL_ASLEEP)
        continue;
    while ((nap_ns = weir_vigil_rest(&watch.vigil)) > 0)
        sum_ns += nap_ns;

    check(sum_ns >= WEIR_MILLISECONDS(500) && sum_ns <= WEIR_SECONDS(3));
    check_int(weir_vigil_rest(&watch.vigil), 0);
}
