/* Tests of base/arena.c. */
#include "base/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <string.h>

#include "base/heap.h"
#include "base/random.h"
#include "kit/alloc_failures.h"
#include "kit/test.h"

enum { NO_LIMIT = 1 << 30 };

static size_t fill(struct weir_arena *arena, size_t size);
static enum weir_status use_and_reset(const struct weir_heap *heap);

WEIR_TEST(arena, allocates_nothing_before_it_is_used)
{
    struct weir_faulty_heap faulty;
    struct weir_arena arena;

    weir_faulty_heap_init(&faulty);
    weir_arena_init(&arena, &faulty.heap, NO_LIMIT);
    weir_arena_reset(&arena);
    weir_arena_fini(&arena);

    check_int(faulty.allocations, 0);
}

WEIR_TEST(arena, aligns_every_size_for_anything)
{
    struct weir_arena arena;

    weir_arena_init(&arena, weir_heap_system(), NO_LIMIT);

    for (size_t size = 1; size < 200; size++) {
        void *memory = weir_arena_alloc(&arena, size);

        check(memory != NULL);
        check_int((uintptr_t)memory % alignof(max_align_t), 0);
    }
    weir_arena_fini(&arena);
}

/* Each piece gets its own pattern; two that overlapped would spoil each other's. */
WEIR_TEST(arena, hands_out_pieces_that_do_not_overlap)
{
    enum { COUNT = 300 };
    struct weir_arena arena;
    struct weir_random random;
    unsigned char *pieces[COUNT];
    size_t sizes[COUNT];

    weir_random_init(&random, 1);
    weir_arena_init(&arena, weir_heap_system(), NO_LIMIT);
    for (size_t i = 0; i < COUNT; i++) {
        sizes[i] = 1 + weir_random_below(&random, 500);
        pieces[i] = weir_arena_alloc(&arena, sizes[i]);
        check(pieces[i] != NULL);
        memset(pieces[i], (int)(i % 251), sizes[i]);
    }

    for (size_t i = 0; i < COUNT; i++)
        for (size_t at = 0; at < sizes[i]; at++)
            check_int(pieces[i][at], i % 251);
    weir_arena_fini(&arena);
}

WEIR_TEST(arena, gives_everything_back)
{
    struct weir_faulty_heap faulty;
    struct weir_arena arena;

    weir_faulty_heap_init(&faulty);
    weir_arena_init(&arena, &faulty.heap, NO_LIMIT);
    fill(&arena, 50000);
    check(faulty.outstanding > 1);

    weir_arena_fini(&arena);

    check_int(faulty.outstanding, 0);
}

WEIR_TEST(arena, is_empty_and_usable_after_fini)
{
    struct weir_arena arena;

    weir_arena_init(&arena, weir_heap_system(), 100);
    check(weir_arena_alloc(&arena, 100) != NULL);
    weir_arena_fini(&arena);

    check(weir_arena_alloc(&arena, 100) != NULL);

    weir_arena_fini(&arena);
    weir_arena_fini(&arena);
}

WEIR_TEST(arena, needs_few_blocks_for_many_pieces)
{
    struct weir_faulty_heap faulty;
    struct weir_arena arena;

    weir_faulty_heap_init(&faulty);
    weir_arena_init(&arena, &faulty.heap, NO_LIMIT);

    fill(&arena, 1000000);

    check(faulty.allocations < 15);
    weir_arena_fini(&arena);
}

WEIR_TEST(arena, makes_a_block_for_a_piece_larger_than_usual)
{
    struct weir_arena arena;
    unsigned char *large;

    weir_arena_init(&arena, weir_heap_system(), NO_LIMIT);
    check(weir_arena_alloc(&arena, 1) != NULL);

    large = weir_arena_alloc(&arena, 100000);

    check(large != NULL);
    memset(large, 1, 100000);
    weir_arena_fini(&arena);
}

WEIR_TEST(arena, hands_out_its_limit_to_the_byte)
{
    struct weir_arena arena;

    weir_arena_init(&arena, weir_heap_system(), 1001);

    check(weir_arena_alloc(&arena, 1002) == NULL);
    check(weir_arena_alloc(&arena, 1001) != NULL);
    check(weir_arena_alloc(&arena, 1) == NULL);
    weir_arena_fini(&arena);
}

WEIR_TEST(arena, stays_usable_beyond_its_limit)
{
    struct weir_arena arena;

    weir_arena_init(&arena, weir_heap_system(), 1000);
    check(weir_arena_alloc(&arena, 500) != NULL);

    check(weir_arena_alloc(&arena, 501) == NULL);

    check(weir_arena_alloc(&arena, 400) != NULL);
    weir_arena_fini(&arena);
}

WEIR_TEST(arena, refuses_a_size_that_overflows)
{
    struct weir_arena arena;

    weir_arena_init(&arena, weir_heap_system(), SIZE_MAX);
    check(weir_arena_alloc(&arena, 1) != NULL);

    check(weir_arena_alloc(&arena, SIZE_MAX) == NULL);
    check(weir_arena_alloc(&arena, SIZE_MAX - 20) == NULL);

    check(weir_arena_alloc(&arena, 1) != NULL);
    weir_arena_fini(&arena);
}

WEIR_TEST(arena, stays_usable_without_memory)
{
    struct weir_faulty_heap faulty;
    struct weir_arena arena;

    weir_faulty_heap_init(&faulty);
    weir_arena_init(&arena, &faulty.heap, NO_LIMIT);
    check(weir_arena_alloc(&arena, 900) != NULL);
    weir_faulty_heap_fail_at(&faulty, 1);

    check(weir_arena_alloc(&arena, 900) == NULL);

    check(weir_arena_alloc(&arena, 900) != NULL);
    weir_arena_fini(&arena);
}

WEIR_TEST(arena, copies_a_text)
{
    struct weir_arena arena;
    char original[] = "mailer";
    char *copy;

    weir_arena_init(&arena, weir_heap_system(), NO_LIMIT);
    copy = weir_arena_copy_text(&arena, original);
    original[0] = 'x';

    check_str(copy, "mailer");
    weir_arena_fini(&arena);
}

WEIR_TEST(arena, copies_no_text_beyond_its_limit)
{
    struct weir_arena arena;

    weir_arena_init(&arena, weir_heap_system(), 6);

    check(weir_arena_copy_text(&arena, "mailer") == NULL);
    check_str(weir_arena_copy_text(&arena, "maile"), "maile");
    weir_arena_fini(&arena);
}

WEIR_TEST(arena, keeps_one_block_at_reset)
{
    struct weir_faulty_heap faulty;
    struct weir_arena arena;

    weir_faulty_heap_init(&faulty);
    weir_arena_init(&arena, &faulty.heap, NO_LIMIT);
    fill(&arena, 10000);
    check(faulty.outstanding > 1);

    weir_arena_reset(&arena);

    check_int(faulty.outstanding, 1);
    weir_arena_fini(&arena);
}

/* The largest block holds more than the first one does. */
WEIR_TEST(arena, keeps_the_largest_block_at_reset)
{
    struct weir_faulty_heap faulty;
    struct weir_arena arena;

    weir_faulty_heap_init(&faulty);
    weir_arena_init(&arena, &faulty.heap, NO_LIMIT);
    check(weir_arena_alloc(&arena, 100) != NULL);
    check(weir_arena_alloc(&arena, 5000) != NULL);
    weir_arena_reset(&arena);
    weir_faulty_heap_fail_at(&faulty, 1);

    check(weir_arena_alloc(&arena, 5000) != NULL);

    weir_arena_fini(&arena);
}

/* Whatever the limit: rounds that fill it must not go on asking the heap. */
WEIR_TEST(arena, needs_no_heap_once_it_is_warm)
{
    for (size_t size_max = 16; size_max < 20000; size_max = size_max * 5 / 4) {
        struct weir_faulty_heap faulty;
        struct weir_arena arena;

        weir_faulty_heap_init(&faulty);
        weir_arena_init(&arena, &faulty.heap, size_max);
        for (int round = 0; round < 5; round++) {
            fill(&arena, size_max);
            weir_arena_reset(&arena);
        }
        weir_faulty_heap_fail_at(&faulty, 0);

        fill(&arena, size_max);

        check_int(faulty.allocations, 0);
        weir_arena_fini(&arena);
    }
}

WEIR_TEST(arena, has_its_whole_limit_again_after_reset)
{
    struct weir_arena arena;

    weir_arena_init(&arena, weir_heap_system(), 1000);
    check(weir_arena_alloc(&arena, 1000) != NULL);

    weir_arena_reset(&arena);

    check(weir_arena_alloc(&arena, 1000) != NULL);
    weir_arena_fini(&arena);
}

WEIR_TEST(arena, leaks_nothing_whatever_allocation_fails)
{
    check_alloc_failures(use_and_reset);
}

WEIR_TEST(arena, keeps_a_text_with_a_zero_behind_it)
{
    struct weir_str text = {.data = "mailer", .size = 4};
    struct weir_str none = {.size = 0};
    struct weir_arena arena;

    weir_arena_init(&arena, weir_heap_system(), NO_LIMIT);
    check(weir_arena_keep(&arena, &text));
    check_str(text.data, "mail");
    check(weir_arena_keep(&arena, &none));
    check_str(none.data, "");
    weir_arena_fini(&arena);
    weir_arena_init(&arena, weir_heap_system(), 1);
    check(!weir_arena_keep(&arena, &text));
    weir_arena_fini(&arena);
}

WEIR_TEST(arena, grows_an_array_one_by_one)
{
    struct weir_arena arena;
    int *items = NULL;

    weir_arena_init(&arena, weir_heap_system(), NO_LIMIT);
    for (int i = 0; i < 1000; i++) {
        items = weir_arena_grow(&arena, items, (size_t)i, sizeof *items);
        check(items != NULL);
        items[i] = i;
    }
    for (int i = 0; i < 1000; i++)
        check_int(items[i], i);
    weir_arena_fini(&arena);
}

/* Take small pieces until `size` bytes are used or the arena refuses; how many it
 * gave. */
static size_t fill(struct weir_arena *arena, size_t size)
{
    size_t count = 0;

    while (arena->used < size && weir_arena_alloc(arena, 16) != NULL)
        count++;
    return count;
}

static enum weir_status use_and_reset(const struct weir_heap *heap)
{
    struct weir_arena arena;
    enum weir_status status = WEIR_NO_MEMORY;

    weir_arena_init(&arena, heap, NO_LIMIT);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 20; i++)
            if (weir_arena_alloc(&arena, 300) == NULL)
                goto out;
        if (weir_arena_copy_text(&arena, "mailer") == NULL)
            goto out;
        weir_arena_reset(&arena);
    }
    status = WEIR_OK;

out:
    weir_arena_fini(&arena);
    return status;
}
