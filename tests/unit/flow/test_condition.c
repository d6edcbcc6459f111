/*
 * Tests of execution/wait/condition.c.
 */
#include "execution/wait/condition.h"

#include <stdio.h>
#include <string.h>

#include "base/heap.h"
#include "kit/test.h"

static struct weir_condition parsed(const char *text)
{
    struct weir_condition condition;
    struct weir_error error = {.text = ""};

    if (weir_condition_parse(&condition, weir_str(text), &error) != WEIR_OK)
        weir_test_fail(__FILE__, __LINE__, "\"%s\": %s", text, error.text);
    return condition;
}

static void check_refused(const char *text, enum weir_status status, const char *why)
{
    struct weir_condition condition;
    struct weir_error error = {.text = ""};

    check_int(weir_condition_parse(&condition, weir_str(text), &error), status);
    if (strstr(error.text, why) == NULL)
        weir_test_fail(__FILE__, __LINE__, "\"%s\" says \"%s\", not \"%s\"", text,
                       error.text, why);
}

static struct weir_signal_seen signal_at(const char *key, const char *name,
                                         const char *source)
{
    return (struct weir_signal_seen){weir_str(key), weir_str(name), weir_str("user"),
                                     weir_str(source)};
}

static bool holds(const char *text, const struct weir_signal_seen *signals, size_t count)
{
    struct weir_condition condition = parsed(text);

    return weir_condition_holds(&condition, signals, count);
}

WEIR_TEST(single, holds_when_that_signal_has_come_there)
{
    struct weir_signal_seen signals[] = {signal_at("review", "rejected", "ann"),
                                         signal_at("other", "approved", "ann"),
                                         signal_at("review", "approved", "ann")};

    check(!holds("approved@review", signals, 0));
    check(!holds("approved@review", signals, 2));
    check(holds("approved@review", signals, 3));
    check(holds(" * @ review ", signals, 1));
}

WEIR_TEST(all, holds_when_each_of_its_parts_does)
{
    struct weir_signal_seen signals[] = {signal_at("a", "x", "ann"),
                                         signal_at("b", "x", "ann"),
                                         signal_at("c", "x", "ann")};
    const char *text = "all(x@a, all(x@b, x@c))";

    check(!holds(text, signals, 1));
    check(!holds(text, signals, 2));
    check(holds(text, signals, 3));
}

WEIR_TEST(count, of_waitpoints_counts_each_of_these_once)
{
    struct weir_signal_seen signals[] = {
        signal_at("a", "x", "ann"), signal_at("a", "x", "bob"),
        signal_at("d", "x", "bob"), signal_at("b", "x", "ann")};

    check(!holds("2 of waitpoints x@(a, b, c)", signals, 3));
    check(holds("2 of waitpoints x@(a, b, c)", signals, 4));
}

WEIR_TEST(count, of_sources_counts_type_and_name_once)
{
    struct weir_signal_seen signals[] = {
        signal_at("a", "vote", "ann"), signal_at("b", "vote", "ann"),
        signal_at("a", "veto", "bob"), signal_at("a", "vote", "bob")};

    check(!holds("2 of sources vote@(a, b)", signals, 3));
    check(holds("2 of sources vote@(a, b)", signals, 4));
    check(holds("2 of sources *@(a, b)", signals, 3));
    signals[1].source_type = weir_str("bot");
    check(holds("2 of sources vote@(a, b)", signals, 2));
}

WEIR_TEST(count, of_sources_does_not_count_one_by_what_does_not_match)
{
    struct weir_signal_seen signals[] = {signal_at("a", "veto", "ann"),
                                         signal_at("a", "vote", "ann")};

    check(holds("1 of sources vote@a", signals, 2));
}

WEIR_TEST(count, of_signals_counts_each)
{
    struct weir_signal_seen signals[] = {signal_at("a", "x", "ann"),
                                         signal_at("a", "x", "ann"),
                                         signal_at("a", "x", "ann")};

    check(!holds("3 of signals *@a", signals, 2));
    check(holds("3 of signals *@a", signals, 3));
}

WEIR_TEST(operator_and_timeout, are_never_met_by_signals)
{
    struct weir_signal_seen signals[] = {signal_at("operator", "operator", "x"),
                                         signal_at("a", "x", "x")};

    check(!holds("operator", signals, 2));
    check(!holds("timeout", signals, 2));
    check(!holds("all(x@a, operator)", signals, 2));
}

WEIR_TEST(wants, what_any_part_asks_for)
{
    struct weir_condition condition = parsed("all(x@a, 2 of signals y@(b, c))");
    struct weir_signal_seen wanted = signal_at("c", "y", "");
    struct weir_signal_seen other = signal_at("a", "y", "");

    check(weir_condition_wants(&condition, &wanted));
    check(!weir_condition_wants(&condition, &other));
}

WEIR_TEST(words, may_be_those_of_the_language)
{
    struct weir_signal_seen signals[] = {signal_at("timeout", "all", "x"),
                                         signal_at("of", "7", "x")};

    check(holds("all@timeout", signals, 1));
    check(holds("7@of", signals, 2));
    check(holds("1 of signals 7@of", signals, 2));
}

WEIR_TEST(depth, may_be_4_and_not_5)
{
    check_int(parsed("all(all(all(all(x@a))))").part_count, 1);
    check_int(parsed("all(all(all(all(2 of signals x@a))))").part_count, 1);
    check_refused("all(all(all(all(all(x@a)))))", WEIR_TOO_DEEP, "deeper than 4");
}

WEIR_TEST(condition, names_what_was_expected_and_where)
{
    check_refused("", WEIR_INVALID, "signal, or \"*\", expected at character 1");
    check_refused("approved", WEIR_INVALID, "\"@\" expected at character 9");
    check_refused("approved@", WEIR_INVALID, "waitpoint");
    check_refused("approved@a b", WEIR_INVALID, "the end expected at character 12");
    check_refused("approved@(a, b)", WEIR_INVALID, "need a count");
    check_refused("all()", WEIR_INVALID, "expected at character 5");
    check_refused("all(x@a", WEIR_INVALID, "\",\" or \")\"");
    check_refused("2 sources x@a", WEIR_INVALID, "\"of\"");
    check_refused("2 of cats x@a", WEIR_INVALID, "\"sources\"");
    check_refused("0 of signals x@a", WEIR_INVALID, "from 1 to 10000");
    check_refused("99999999999999999999 of signals x@a", WEIR_INVALID, "from 1 to 10000");
    check_refused("3 of waitpoints x@(a, b)", WEIR_INVALID, "3 of 2 waitpoints");
    check_refused("2 of waitpoints x@(a, a)", WEIR_INVALID, "2 of 1 waitpoints");
    check_refused("3 of waitpoints x@(a, b, a)", WEIR_INVALID, "3 of 2 waitpoints");
    check_refused("x@\xc3\xa4", WEIR_INVALID, "waitpoint");
}

WEIR_TEST(condition, has_limits_that_it_names)
{
    char text[WEIR_CONDITION_SIZE_MAX + 2];
    size_t size = (size_t)snprintf(text, sizeof text, "all(x@a");

    for (int i = 0; i < WEIR_CONDITION_PARTS_MAX; i++)
        size += (size_t)snprintf(text + size, sizeof text - size, ", x@a");
    (void)snprintf(text + size, sizeof text - size, ")");
    check_refused(text, WEIR_TOO_LARGE, "more than 64 parts");

    size = (size_t)snprintf(text, sizeof text, "1 of signals x@(a");
    for (int i = 0; i < WEIR_CONDITION_KEYS_MAX; i++)
        size += (size_t)snprintf(text + size, sizeof text - size, ", a");
    (void)snprintf(text + size, sizeof text - size, ")");
    check_refused(text, WEIR_TOO_LARGE, "more than 256 waitpoints");

    memset(text, ' ', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    check_refused(text, WEIR_TOO_LARGE, "at most 16384");

    memset(text, 'k', WEIR_WAITPOINT_KEY_SIZE_MAX + 3);
    memcpy(text, "x@", 2);
    text[WEIR_WAITPOINT_KEY_SIZE_MAX + 3] = '\0';
    check_refused(text, WEIR_INVALID, "1 to 256");
}

WEIR_TEST(check, needs_each_key_to_be_a_waitpoint)
{
    struct weir_waitpoint waitpoints[] = {{.key = "a"}, {.key = "b"}};
    struct weir_condition condition = parsed("all(x@b, x@c)");
    struct weir_error error = {.text = ""};

    check_int(weir_condition_check(&condition, waitpoints, 2, false, &error),
              WEIR_INVALID);
    check(strstr(error.text, "\"c\"") != NULL);
    condition = parsed("all(x@b, x@a)");
    check_int(weir_condition_check(&condition, waitpoints, 2, false, &error), WEIR_OK);
}

WEIR_TEST(check, needs_a_timeout_for_timeout)
{
    struct weir_condition condition = parsed("timeout");

    check_int(weir_condition_check(&condition, NULL, 0, false, NULL), WEIR_INVALID);
    check_int(weir_condition_check(&condition, NULL, 0, true, NULL), WEIR_OK);
}

/* ---- in words ---------------------------------------------------------------------- */

/* All parts, and what is missing of them, as a suspension shows them. */
static void check_words(const char *text, const struct weir_signal_seen *signals,
                        size_t count, const char *written, const char *missing)
{
    struct weir_condition condition = parsed(text);
    struct weir_buf parts, lacks;

    weir_buf_init(&parts, weir_heap_system(), 4096);
    weir_buf_init(&lacks, weir_heap_system(), 4096);
    for (uint32_t i = 0; i < condition.part_count; i++) {
        const struct weir_condition_part *part = &condition.parts[i];
        uint32_t found = weir_condition_found(&condition, part, signals, count);

        weir_buf_append_text(&parts, i > 0 ? "; " : "");
        weir_condition_write(&condition, part, &parts);
        if (found == part->wanted)
            continue;
        weir_buf_append_text(&lacks, lacks.size > 0 ? "; " : "");
        weir_condition_write_missing(&condition, part, found, &lacks);
    }
    check_str(weir_buf_text(&parts), written);
    check_str(weir_buf_text(&lacks), missing);
    weir_buf_fini(&parts);
    weir_buf_fini(&lacks);
}

WEIR_TEST(condition, says_in_words_what_is_missing)
{
    struct weir_signal_seen signals[] = {signal_at("a", "vote", "ann"),
                                         signal_at("b", "vote", "ann")};

    check_words("x@a", signals, 2, "x@a", "x@a");
    check_words(" * @ a ", signals, 0, "*@a", "*@a");
    check_words("vote@a", signals, 2, "vote@a", "");
    check_words("2 of sources vote@( a,b )", signals, 2, "2 of sources vote@(a, b)",
                "1 of 2 sources, vote@(a, b)");
    check_words("2 of waitpoints vote@(a, b)", signals, 2, "2 of waitpoints vote@(a, b)",
                "");
    check_words("3 of signals *@(a, b)", signals, 2, "3 of signals *@(a, b)",
                "2 of 3 signals, *@(a, b)");
    check_words("all(x@a, all(operator, timeout))", signals, 2, "x@a; operator; timeout",
                "x@a; an operator; its timeout");
}
