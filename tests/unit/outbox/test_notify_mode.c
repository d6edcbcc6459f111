/* Tests of outbox/delivery/notify_mode.c. */
#include "outbox/delivery/notify_mode.h"

#include "kit/test.h"

/* A reader, in a time of the test's own, that says what it should. */
struct watch {
    struct weir_notify_mode notify_mode;
    int64_t now_ns;
};

static enum weir_notify_mode_change say(struct watch *self,
                                        enum weir_notify_mode_change word)
{
    weir_notify_mode_published(&self->notify_mode, word, self->now_ns);
    return word;
}

/* A look after so long. */
static enum weir_notify_mode_change look(struct watch *self, int64_t after_ns, bool finds)
{
    self->now_ns += after_ns;
    return say(self, finds ? weir_notify_mode_found(&self->notify_mode, self->now_ns)
                           : weir_notify_mode_missed(&self->notify_mode, self->now_ns));
}

/* One that has said that it sleeps and has had its naps. */
static struct watch sleeper(void)
{
    struct watch self = {.now_ns = WEIR_SECONDS(1000)};

    (void)look(&self, 0, false);
    while (weir_notify_mode_poll_interval(&self.notify_mode) > 0)
        continue;
    return self;
}

static struct watch watcher(void)
{
    struct watch self = sleeper();

    while (look(&self, WEIR_MILLISECONDS(1), true) != WEIR_NOTIFY_MODE_POLLING)
        continue;
    return self;
}

WEIR_TEST(vigil, says_that_it_sleeps_when_the_first_look_finds_nothing)
{
    struct watch watch = {.now_ns = WEIR_SECONDS(1000)};

    check_int(look(&watch, 0, false), WEIR_NOTIFY_MODE_NOTIFIED);
    check_int(look(&watch, WEIR_SECONDS(1), false), WEIR_NOTIFY_MODE_UNCHANGED);
}

WEIR_TEST(vigil, of_a_find_now_and_then_wants_to_be_told)
{
    struct watch watch = sleeper();

    for (int i = 0; i < 100; i++) {
        check_int(look(&watch, WEIR_MILLISECONDS(20), true), WEIR_NOTIFY_MODE_UNCHANGED);
        check_int(look(&watch, WEIR_MILLISECONDS(1), false), WEIR_NOTIFY_MODE_UNCHANGED);
    }
    check(!watch.notify_mode.watching);
}

/* A message that was enqueued right behind it may not have been notified. */
WEIR_TEST(vigil, looks_a_few_more_times_after_a_find)
{
    struct watch watch = sleeper();
    int64_t first_ns;
    int64_t sum_ns;
    int64_t nap_ns;

    (void)look(&watch, WEIR_SECONDS(10), true);
    check_int(look(&watch, 0, false), WEIR_NOTIFY_MODE_UNCHANGED);
    first_ns = weir_notify_mode_poll_interval(&watch.notify_mode);
    sum_ns = first_ns;
    while ((nap_ns = weir_notify_mode_poll_interval(&watch.notify_mode)) > 0)
        sum_ns += nap_ns;

    check(first_ns > 0 && first_ns <= WEIR_MILLISECONDS(3));
    check(sum_ns >= WEIR_MILLISECONDS(500) && sum_ns <= WEIR_SECONDS(3));
}

WEIR_TEST(vigil, watches_when_it_is_busy_without_a_gap)
{
    struct watch watch = sleeper();

    check_int(look(&watch, 0, true), WEIR_NOTIFY_MODE_UNCHANGED);
    check_int(look(&watch, WEIR_MILLISECONDS(60), true), WEIR_NOTIFY_MODE_POLLING);
}

WEIR_TEST(vigil, says_again_that_it_watches_before_it_wears_off)
{
    struct watch watch = watcher();
    int64_t said_ns = watch.now_ns;

    for (int i = 0; i < 1000; i++) {
        if (look(&watch, WEIR_MILLISECONDS(30), true) == WEIR_NOTIFY_MODE_POLLING)
            said_ns = watch.now_ns;
        check((watch.now_ns - said_ns) / 1000 < WEIR_NOTIFY_MODE_FRESH_US / 2);
    }
}

WEIR_TEST(vigil, sleeps_when_there_was_nothing_for_a_while)
{
    struct watch watch = watcher();
    int looks = 0;

    while (look(&watch, weir_notify_mode_poll_interval(&watch.notify_mode), false) !=
           WEIR_NOTIFY_MODE_NOTIFIED)
        looks++;

    check(looks >= 10 && looks < 100);
    check(!watch.notify_mode.watching);
}

WEIR_TEST(vigil, goes_on_watching_when_something_comes_in_time)
{
    struct watch watch = watcher();

    for (int i = 0; i < 100; i++) {
        check_int(look(&watch, WEIR_MILLISECONDS(3), false), WEIR_NOTIFY_MODE_UNCHANGED);
        check(look(&watch, WEIR_MILLISECONDS(30), true) != WEIR_NOTIFY_MODE_NOTIFIED);
    }
    check(watch.notify_mode.watching);
}

WEIR_TEST(vigil, looks_a_few_more_times_after_watching)
{
    struct watch watch = watcher();
    int64_t sum_ns = 0;
    int64_t nap_ns;

    while (look(&watch, weir_notify_mode_poll_interval(&watch.notify_mode), false) !=
           WEIR_NOTIFY_MODE_NOTIFIED)
        continue;
    while ((nap_ns = weir_notify_mode_poll_interval(&watch.notify_mode)) > 0)
        sum_ns += nap_ns;

    check(sum_ns >= WEIR_MILLISECONDS(500) && sum_ns <= WEIR_SECONDS(3));
    check_int(weir_notify_mode_poll_interval(&watch.notify_mode), 0);
}
