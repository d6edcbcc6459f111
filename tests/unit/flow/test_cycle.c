/*
 * Tests of execution/flow/cycle.c.
 */
#include "execution/flow/cycle.h"

#include "base/heap.h"
#include "kit/test.h"

enum { EDGES = 64 };

/* "12 23 31": the numbers on a circle, as the digits of one; or 0. */
static int64_t cycle_in(const char *text)
{
    struct weir_edge_row edges[EDGES];
    struct weir_arena arena;
    struct weir_error error;
    struct weir_cycle found;
    int64_t digits = 0;
    size_t count = 0;

    for (; *text != '\0'; text += text[2] == ' ' ? 3 : 2)
        edges[count++] = (struct weir_edge_row){.upstream = text[0] - '0',
                                                .downstream = text[1] - '0'};
    weir_arena_init(&arena, weir_heap_system(), 1024 * 1024);
    check_status(weir_cycle_find(edges, count, &arena, &found, &error), WEIR_OK);
    for (size_t i = 0; i < found.count; i++) {
        check(weir_cycle_has(&found, found.numbers[i]));
        digits = 10 * digits + found.numbers[i];
    }
    check(!weir_cycle_has(&found, 0));
    weir_arena_fini(&arena);
    return digits;
}

WEIR_TEST(circle, is_not_in_what_splits_and_meets)
{
    check_int(cycle_in(""), 0);
    check_int(cycle_in("12"), 0);
    check_int(cycle_in("12 23 34"), 0);
    check_int(cycle_in("34 12 23"), 0);
    check_int(cycle_in("12 13 24 34 45"), 0);
    check_int(cycle_in("12 34"), 0);
}

WEIR_TEST(circle, is_found_however_long_and_wherever)
{
    check_int(cycle_in("12 21"), 12);
    check_int(cycle_in("31 12 23"), 123);
    check_int(cycle_in("12 23 34 42"), 234);
    check_int(cycle_in("12 13 45 56 64"), 456);
}

WEIR_TEST(circle, has_nobody_who_is_before_or_behind_it)
{
    check_int(cycle_in("45 54 41 12 23"), 45);
    check_int(cycle_in("12 14 45 54 53 36"), 45);
    check_int(cycle_in("56 65 53 34 43 41"), 56); /* one of two */
}

WEIR_TEST(circle, counts_an_edge_that_is_given_twice_as_one_that_leads_nowhere_else)
{
    check_int(cycle_in("12 12 23"), 0);
    check_int(cycle_in("12 12 21"), 12);
}

WEIR_TEST(circle, says_when_there_is_no_memory)
{
    struct weir_edge_row edge = {.upstream = 1, .downstream = 2};
    struct weir_arena arena;
    struct weir_error error;
    struct weir_cycle found;

    weir_arena_init(&arena, weir_heap_system(), 1);
    check_status(weir_cycle_find(&edge, 1, &arena, &found, &error), WEIR_NO_MEMORY);
    weir_arena_fini(&arena);
}
