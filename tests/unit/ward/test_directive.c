/* Tests of ward/directive.c. */
#include "weir/directive.h"

#include <stddef.h>

#include "kit/test.h"
#include "weir/time.h"

static const struct weir_report_type MAIL = {"mail"};
static const struct weir_report_type OTHER_MAIL = {"mail"};

static bool equal(struct weir_directive a, struct weir_directive b)
{
    return weir_directive_equal(&a, &b);
}

/* A report of another type: how many of the mails there were. `state` counts the
 * calls. */
static struct weir_report double_it(struct weir_report report, void *state)
{
    static int doubled;
    int *calls = state;

    ++*calls;
    doubled = *(const int *)report.data * 2;
    return (struct weir_report){&OTHER_MAIL, &doubled};
}

WEIR_TEST(directive, is_made_without_a_report)
{
    struct weir_directive all[] = {weir_proceed(), weir_idle(), weir_sleep_for(7)};

    for (int i = 0; i < 3; i++) {
        check(all[i].report.type == NULL);
        check(all[i].report.data == NULL);
    }
}

WEIR_TEST(directive, is_of_the_kind_that_its_constructor_names)
{
    check(weir_proceed().kind == WEIR_PROCEED);
    check(weir_idle().kind == WEIR_IDLE);
    check(weir_sleep_for(WEIR_SECONDS(3)).kind == WEIR_SLEEP);
    check_int(weir_sleep_for(WEIR_SECONDS(3)).duration_ns, WEIR_SECONDS(3));
}

WEIR_TEST(directive, lends_its_report_to_whoever_knows_the_type)
{
    int mails = 3;
    struct weir_directive directive = weir_directive_with(weir_proceed(), &MAIL, &mails);

    check(weir_directive_report(&directive, &MAIL) == &mails);
    check(directive.kind == WEIR_PROCEED);
}

/* The address is the type, the name is for people. */
WEIR_TEST(directive, keeps_its_report_from_those_who_know_another_type)
{
    int mails = 3;
    struct weir_directive directive = weir_directive_with(weir_idle(), &MAIL, &mails);
    struct weir_directive bare = weir_idle();

    check(weir_directive_report(&directive, &OTHER_MAIL) == NULL);
    check(weir_directive_report(&directive, NULL) == NULL);
    check(weir_directive_report(&bare, &MAIL) == NULL);
    check(weir_directive_report(&bare, NULL) == NULL);
}

WEIR_TEST(directive, maps_its_report_and_keeps_the_rest)
{
    int mails = 21, calls = 0;
    struct weir_directive directive =
        weir_directive_with(weir_sleep_for(WEIR_SECONDS(5)), &MAIL, &mails);

    directive = weir_directive_map(directive, double_it, &calls);

    check_int(calls, 1);
    check(equal(directive, weir_sleep_for(WEIR_SECONDS(5))));
    check(weir_directive_report(&directive, &MAIL) == NULL);
    check_int(*(const int *)weir_directive_report(&directive, &OTHER_MAIL), 42);
}

WEIR_TEST(directive, without_a_report_is_not_mapped)
{
    int calls = 0;

    struct weir_directive directive = weir_directive_map(weir_idle(), double_it, &calls);

    check_int(calls, 0);
    check(directive.report.type == NULL);
}

WEIR_TEST(directive, is_stripped_of_its_report_only)
{
    int mails = 3;
    struct weir_directive directive =
        weir_directive_with(weir_sleep_for(WEIR_SECONDS(5)), &MAIL, &mails);

    struct weir_directive stripped = weir_directive_strip(directive);

    check(stripped.report.type == NULL);
    check(stripped.report.data == NULL);
    check(equal(stripped, weir_sleep_for(WEIR_SECONDS(5))));
}

WEIR_TEST(directive, is_a_value_that_is_copied)
{
    int mails = 3;
    struct weir_directive original = weir_directive_with(weir_idle(), &MAIL, &mails);
    struct weir_directive copy = original;

    original = weir_proceed();

    check(equal(copy, weir_idle()));
    check(weir_directive_report(&copy, &MAIL) == &mails);
    check(equal(original, weir_proceed()));
}

WEIR_TEST(directive, differs_from_every_other_kind)
{
    check(equal(weir_proceed(), weir_proceed()));
    check(equal(weir_idle(), weir_idle()));
    check(!equal(weir_proceed(), weir_idle()));
    check(!equal(weir_idle(), weir_sleep_for(0)));
    check(!equal(weir_proceed(), weir_sleep_for(0)));
}

WEIR_TEST(directive, sleeps_are_equal_when_their_durations_are)
{
    check(equal(weir_sleep_for(5), weir_sleep_for(5)));
    check(!equal(weir_sleep_for(5), weir_sleep_for(6)));
}

WEIR_TEST(directive, is_compared_without_its_report)
{
    int mails = 3;

    check(equal(weir_directive_with(weir_idle(), &MAIL, &mails), weir_idle()));
}
