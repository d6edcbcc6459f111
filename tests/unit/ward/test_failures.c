/*
 * test_failures.c - the failure tracker by itself; test_scanner.c has it inside a scan.
 */
#include "ward/failures.h"

#include <stdio.h>
#include <string.h>

#include "base/heap.h"
#include "kit/alloc_failures.h"
#include "kit/test.h"
#include "unit/ward/captured_log.h"

static struct captured_log captured_log;
static struct weir_log captured_log_log;

static void open_tracker(struct weir_failures *out)
{
    captured_log_log = captured_log_open(&captured_log);
    weir_failures_init(out, weir_heap_system(), &captured_log_log, "engine", "leases");
    weir_failures_advance(out); /* the first cycle */
}

static void advance(struct weir_failures *self, int cycles)
{
    for (int i = 0; i < cycles; i++)
        weir_failures_advance(self);
}

static void fail(struct weir_failures *self, const char *item, int times)
{
    for (int i = 0; i < times; i++)
        weir_failures_note_failure(self, item, strlen(item));
}

static void succeed(struct weir_failures *self, const char *item)
{
    weir_failures_note_success(self, item, strlen(item));
}

static bool skips(const struct weir_failures *self, const char *item)
{
    return weir_failures_skips(self, item, strlen(item));
}

/* One failure each of `count` items that are called item-`first` and so on. */
static void fail_many(struct weir_failures *self, int first, int count)
{
    char item[32];

    for (int i = first; i < first + count; i++) {
        snprintf(item, sizeof item, "item-%d", i);
        fail(self, item, 1);
    }
}

WEIR_TEST(failures, skips_an_item_after_three_failures_in_a_row)
{
    struct weir_failures failures;

    open_tracker(&failures);

    check(!skips(&failures, "a"));
    fail(&failures, "a", 1);
    check(!skips(&failures, "a"));
    fail(&failures, "a", 1);
    check(!skips(&failures, "a"));
    fail(&failures, "a", 1);
    check(skips(&failures, "a"));

    weir_failures_fini(&failures);
}

/* It is not tried in the ten cycles after the one in which it failed. */
WEIR_TEST(failures, skips_for_ten_cycles_and_then_tries_again)
{
    struct weir_failures failures;

    open_tracker(&failures);
    fail(&failures, "a", WEIR_FAILURES_IN_ROW_MAX);

    for (int cycle = 0; cycle < WEIR_FAILURES_SKIP_CYCLES; cycle++) {
        weir_failures_advance(&failures);
        check(skips(&failures, "a"));
    }
    weir_failures_advance(&failures);
    check(!skips(&failures, "a"));

    weir_failures_fini(&failures);
}

/* It has not succeeded meanwhile, so one failure more is a failure in a row too many. */
WEIR_TEST(failures, skips_again_after_each_further_failure)
{
    struct weir_failures failures;

    open_tracker(&failures);
    fail(&failures, "a", WEIR_FAILURES_IN_ROW_MAX);
    advance(&failures, WEIR_FAILURES_SKIP_CYCLES + 1);
    check(!skips(&failures, "a"));

    fail(&failures, "a", 1);

    advance(&failures, WEIR_FAILURES_SKIP_CYCLES);
    check(skips(&failures, "a"));
    advance(&failures, 1);
    check(!skips(&failures, "a"));

    weir_failures_fini(&failures);
}

WEIR_TEST(failures, forgets_an_item_that_succeeds)
{
    struct weir_failures failures;

    open_tracker(&failures);
    fail(&failures, "a", WEIR_FAILURES_IN_ROW_MAX - 1);

    succeed(&failures, "a");
    check_int(weir_failures_count(&failures), 0);

    fail(&failures, "a", WEIR_FAILURES_IN_ROW_MAX - 1);
    check(!skips(&failures, "a"));
    fail(&failures, "a", 1);
    check(skips(&failures, "a"));

    weir_failures_fini(&failures);
}

WEIR_TEST(failures, does_not_mind_the_success_of_an_item_it_does_not_know)
{
    struct weir_failures failures;

    open_tracker(&failures);

    succeed(&failures, "never seen");

    check_int(weir_failures_count(&failures), 0);
    weir_failures_fini(&failures);
}

WEIR_TEST(failures, counts_each_item_by_itself)
{
    struct weir_failures failures;

    open_tracker(&failures);

    fail(&failures, "a", WEIR_FAILURES_IN_ROW_MAX);
    fail(&failures, "b", WEIR_FAILURES_IN_ROW_MAX - 1);
    succeed(&failures, "b");

    check(skips(&failures, "a"));
    check(!skips(&failures, "b"));
    weir_failures_fini(&failures);
}

/* Keys are bytes: a zero is one of them, not the end. */
WEIR_TEST(failures, tells_keys_apart_behind_a_zero_byte)
{
    struct weir_failures failures;

    open_tracker(&failures);

    for (int i = 0; i < WEIR_FAILURES_IN_ROW_MAX; i++)
        weir_failures_note_failure(&failures, "a\0b", 3);

    check(weir_failures_skips(&failures, "a\0b", 3));
    check(!weir_failures_skips(&failures, "a\0c", 3));
    check(!weir_failures_skips(&failures, "a", 1));
    weir_failures_fini(&failures);
}

/* Once for the item, not once for each time that it is tried again. */
WEIR_TEST(failures, logs_the_first_skip_of_an_item_only)
{
    struct weir_failures failures;

    open_tracker(&failures);

    fail(&failures, "poison", WEIR_FAILURES_IN_ROW_MAX - 1);
    check_int(captured_log.count, 0);
    fail(&failures, "poison", 1);
    advance(&failures, WEIR_FAILURES_SKIP_CYCLES + 1);
    fail(&failures, "poison", 5);

    check_int(captured_log.count, 1);
    check_int(captured_log.levels[0], WEIR_LOG_ERROR);
    check_str(
        captured_log.lines[0],
        "scanner.item_skipped scanner=engine scan=leases item=\"poison\" failures=3 "
        "cycles=10");
    weir_failures_fini(&failures);
}

WEIR_TEST(failures, logs_an_item_that_relapses_again)
{
    struct weir_failures failures;

    open_tracker(&failures);

    fail(&failures, "a", WEIR_FAILURES_IN_ROW_MAX);
    succeed(&failures, "a");
    fail(&failures, "a", WEIR_FAILURES_IN_ROW_MAX);

    check_int(captured_log.count, 2);
    weir_failures_fini(&failures);
}

/* What the item is called must not break the line, nor make it endless. */
WEIR_TEST(failures, logs_any_key_as_printable_text)
{
    struct weir_failures failures;
    char longest[WEIR_FAILURES_KEY_SIZE_MAX];

    open_tracker(&failures);
    memset(longest, 0xff, sizeof longest);

    for (int i = 0; i < WEIR_FAILURES_IN_ROW_MAX; i++)
        weir_failures_note_failure(&failures, "a\"\n\\\0~", 6);
    for (int i = 0; i < WEIR_FAILURES_IN_ROW_MAX; i++)
        weir_failures_note_failure(&failures, longest, sizeof longest);

    check_int(captured_log.count, 2);
    check(strstr(captured_log.lines[0], "item=\"a\\x22\\x0a\\x5c\\x00~\" ") != NULL);
    check(strstr(captured_log.lines[1], "\\xff...\" failures=3") != NULL);
    weir_failures_fini(&failures);
}

/* Above 500 items, every 50 cycles: who has not failed since the last time is
 * forgotten. */
WEIR_TEST(failures, collects_silent_items_every_fifty_cycles)
{
    struct weir_failures failures;
    int many = WEIR_FAILURES_COLLECT_ABOVE + 1;

    open_tracker(&failures);
    fail_many(&failures, 0, many);

    advance(&failures, 2 * WEIR_FAILURES_COLLECT_CYCLES - 2);
    check_int(failures.cycle, 2 * WEIR_FAILURES_COLLECT_CYCLES - 1);
    check_int(weir_failures_count(&failures), many);
    advance(&failures, 1);
    check_int(weir_failures_count(&failures), 0);

    weir_failures_fini(&failures);
}

/* The collection in cycle 100 keeps what failed in cycle 50, the one in 150 does not. */
WEIR_TEST(failures, keeps_items_that_failed_since_the_last_collection)
{
    struct weir_failures failures;
    int many = WEIR_FAILURES_COLLECT_ABOVE + 1;

    open_tracker(&failures);
    advance(&failures, WEIR_FAILURES_COLLECT_CYCLES - 1);
    fail_many(&failures, 0, many);

    advance(&failures, WEIR_FAILURES_COLLECT_CYCLES);
    check_int(failures.cycle, 2 * WEIR_FAILURES_COLLECT_CYCLES);
    check_int(weir_failures_count(&failures), many);
    advance(&failures, WEIR_FAILURES_COLLECT_CYCLES);
    check_int(weir_failures_count(&failures), 0);

    weir_failures_fini(&failures);
}

WEIR_TEST(failures, keeps_up_to_500_items_however_silent)
{
    struct weir_failures failures;

    open_tracker(&failures);
    fail_many(&failures, 0, WEIR_FAILURES_COLLECT_ABOVE);

    advance(&failures, 10 * WEIR_FAILURES_COLLECT_CYCLES);

    check_int(weir_failures_count(&failures), WEIR_FAILURES_COLLECT_ABOVE);
    weir_failures_fini(&failures);
}

/* Poison that is tried again every eleventh cycle stays known for ever. */
WEIR_TEST(failures, never_collects_an_item_that_goes_on_failing)
{
    struct weir_failures failures;

    open_tracker(&failures);
    fail(&failures, "poison", WEIR_FAILURES_IN_ROW_MAX);
    fail_many(&failures, 0, WEIR_FAILURES_COLLECT_ABOVE);

    for (int i = 0; i < 5 * WEIR_FAILURES_COLLECT_CYCLES; i++) {
        weir_failures_advance(&failures);
        if (!skips(&failures, "poison"))
            fail(&failures, "poison", 1);
    }

    check(skips(&failures, "poison"));
    check_int(weir_failures_count(&failures), 1); /* the others are gone */
    check_int(captured_log.count, 1);
    weir_failures_fini(&failures);
}

WEIR_TEST(failures, remembers_no_more_items_than_its_limit)
{
    struct weir_failures failures;

    open_tracker(&failures);
    fail_many(&failures, 0, WEIR_FAILURES_COUNT_MAX);

    fail(&failures, "one too many", 5);
    fail(&failures, "item-0", 2); /* those that are known still count */

    check(!skips(&failures, "one too many"));
    check(skips(&failures, "item-0"));
    check_int(weir_failures_count(&failures), WEIR_FAILURES_COUNT_MAX);
    check_int(failures.untracked_total, 5);
    weir_failures_fini(&failures);
}

WEIR_TEST(failures, has_room_again_after_a_success)
{
    struct weir_failures failures;

    open_tracker(&failures);
    fail_many(&failures, 0, WEIR_FAILURES_COUNT_MAX);

    succeed(&failures, "item-7");
    fail(&failures, "newcomer", WEIR_FAILURES_IN_ROW_MAX);

    check(skips(&failures, "newcomer"));
    weir_failures_fini(&failures);
}

WEIR_TEST(failures, never_tracks_keys_that_are_empty_or_too_long)
{
    struct weir_failures failures;
    char key[WEIR_FAILURES_KEY_SIZE_MAX + 1];

    open_tracker(&failures);
    memset(key, 'k', sizeof key);

    for (int i = 0; i < WEIR_FAILURES_IN_ROW_MAX; i++) {
        weir_failures_note_failure(&failures, NULL, 0);
        weir_failures_note_failure(&failures, key, sizeof key);
        weir_failures_note_failure(&failures, key, sizeof key - 1);
    }

    check(!weir_failures_skips(&failures, NULL, 0));
    check(!weir_failures_skips(&failures, key, sizeof key));
    check(weir_failures_skips(&failures, key, sizeof key - 1));
    check_int(failures.untracked_total, 2 * WEIR_FAILURES_IN_ROW_MAX);
    weir_failures_note_success(&failures, NULL, 0);
    weir_failures_note_success(&failures, key, sizeof key);
    check_int(weir_failures_count(&failures), 1);
    weir_failures_fini(&failures);
}

/* Without memory a failure is not remembered, and that is all. */
static enum weir_status fail_collect_and_succeed(const struct weir_heap *heap)
{
    struct weir_failures failures;
    struct weir_log silence = {.write = NULL};
    size_t tracked;

    weir_failures_init(&failures, heap, &silence, "engine", "leases");
    weir_failures_advance(&failures);
    fail_many(&failures, 0, 40);
    tracked = weir_failures_count(&failures);
    check_int(tracked + failures.untracked_total, 40);
    succeed(&failures, "item-3");
    advance(&failures, 2 * WEIR_FAILURES_COLLECT_CYCLES);
    weir_failures_fini(&failures);
    return tracked == 40 ? WEIR_OK : WEIR_NO_MEMORY;
}

WEIR_TEST(failures, survives_any_failing_allocation)
{
    check_alloc_failures(fail_collect_and_succeed);
}
