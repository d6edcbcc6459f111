/* Tests of base/buf.c. */
#include "base/buf.h"

#include <string.h>

#include "base/heap.h"
#include "kit/alloc_failures.h"
#include "kit/test.h"

static enum weir_status write_a_page(const struct weir_heap *heap);

WEIR_TEST(buf, is_an_empty_text_at_first)
{
    struct weir_faulty_heap faulty;
    struct weir_buf buf;

    weir_faulty_heap_init(&faulty);
    weir_buf_init(&buf, &faulty.heap, 100);

    check_str(weir_buf_text(&buf), "");
    check_status(weir_buf_status(&buf), WEIR_OK);
    check_int(faulty.allocations, 0);
    weir_buf_fini(&buf);
}

WEIR_TEST(buf, puts_pieces_one_after_the_other)
{
    struct weir_buf buf;

    weir_buf_init(&buf, weir_heap_system(), 100);

    weir_buf_append_text(&buf, "lag");
    weir_buf_append(&buf, "_msXXX", 3);
    weir_buf_append_format(&buf, "=%d", 40);

    check_str(weir_buf_text(&buf), "lag_ms=40");
    check_status(weir_buf_status(&buf), WEIR_OK);
    weir_buf_fini(&buf);
}

WEIR_TEST(buf, holds_any_bytes)
{
    struct weir_buf buf;

    weir_buf_init(&buf, weir_heap_system(), 100);
    weir_buf_append(&buf, "a\0b", 3);

    check_int(weir_buf_get(&buf).size, 3);
    check(memcmp(weir_buf_get(&buf).data, "a\0b", 4) == 0);
    weir_buf_fini(&buf);
}

WEIR_TEST(buf, ignores_pieces_of_nothing)
{
    struct weir_buf buf;

    weir_buf_init(&buf, weir_heap_system(), 0);

    weir_buf_append(&buf, NULL, 0);
    weir_buf_append_text(&buf, "");
    weir_buf_append_format(&buf, "%s", "");

    check_status(weir_buf_status(&buf), WEIR_OK);
    check_str(weir_buf_text(&buf), "");
    weir_buf_fini(&buf);
}

WEIR_TEST(buf, asks_for_memory_rarely)
{
    struct weir_faulty_heap faulty;
    struct weir_buf buf;

    weir_faulty_heap_init(&faulty);
    weir_buf_init(&buf, &faulty.heap, 100000);

    for (int i = 0; i < 100000; i++)
        weir_buf_append(&buf, "x", 1);

    check_status(weir_buf_status(&buf), WEIR_OK);
    check_int(strlen(weir_buf_text(&buf)), 100000);
    check(faulty.allocations < 15);
    weir_buf_fini(&buf);
    check_int(faulty.outstanding, 0);
}

WEIR_TEST(buf, may_be_filled_to_its_limit)
{
    for (size_t size_max = 1; size_max < 300; size_max++) {
        struct weir_buf buf;

        weir_buf_init(&buf, weir_heap_system(), size_max);
        for (size_t i = 0; i < size_max; i++)
            weir_buf_append_format(&buf, "%d", 7);

        check_status(weir_buf_status(&buf), WEIR_OK);
        check_int(strlen(weir_buf_text(&buf)), size_max);

        weir_buf_append(&buf, "8", 1);

        check_status(weir_buf_status(&buf), WEIR_INVALID);
        check_int(strlen(weir_buf_text(&buf)), size_max);
        weir_buf_fini(&buf);
    }
}

WEIR_TEST(buf, takes_a_piece_as_a_whole_or_not_at_all)
{
    struct weir_buf buf;

    weir_buf_init(&buf, weir_heap_system(), 8);
    weir_buf_append_text(&buf, "12345");

    weir_buf_append_text(&buf, "6789");

    check_status(weir_buf_status(&buf), WEIR_INVALID);
    check_str(weir_buf_text(&buf), "12345");
    weir_buf_fini(&buf);
}

/* Otherwise a text would lack a piece in the middle and look whole. */
WEIR_TEST(buf, takes_nothing_more_once_it_has_failed)
{
    struct weir_buf buf;

    weir_buf_init(&buf, weir_heap_system(), 8);
    weir_buf_append_text(&buf, "a");
    weir_buf_append_text(&buf, "much too long");

    weir_buf_append_text(&buf, "b");
    weir_buf_append_format(&buf, "%s", "c");

    check_status(weir_buf_status(&buf), WEIR_INVALID);
    check_str(weir_buf_text(&buf), "a");
    weir_buf_fini(&buf);
}

WEIR_TEST(buf, remembers_the_first_failure)
{
    struct weir_faulty_heap faulty;
    struct weir_buf buf;

    weir_faulty_heap_init(&faulty);
    weir_faulty_heap_fail_at(&faulty, 1);
    weir_buf_init(&buf, &faulty.heap, 8);

    weir_buf_append_text(&buf, "a");
    weir_buf_append_text(&buf, "much too long");

    check_status(weir_buf_status(&buf), WEIR_NO_MEMORY);
    check_str(weir_buf_text(&buf), "");
    weir_buf_fini(&buf);
}

WEIR_TEST(buf, keeps_its_bytes_when_there_is_no_memory_for_more)
{
    struct weir_faulty_heap faulty;
    struct weir_buf buf;

    weir_faulty_heap_init(&faulty);
    weir_buf_init(&buf, &faulty.heap, 10000);
    weir_buf_append_text(&buf, "abc");
    weir_faulty_heap_fail_at(&faulty, 1);

    weir_buf_append_format(&buf, "%1000d", 1);

    check_status(weir_buf_status(&buf), WEIR_NO_MEMORY);
    check_str(weir_buf_text(&buf), "abc");
    weir_buf_fini(&buf);
    check_int(faulty.outstanding, 0);
}

WEIR_TEST(buf, refuses_a_size_that_overflows)
{
    struct weir_buf buf;

    weir_buf_init(&buf, weir_heap_system(), SIZE_MAX);
    weir_buf_append_text(&buf, "abc");

    weir_buf_append(&buf, "x", SIZE_MAX - 3);

    check_status(weir_buf_status(&buf), WEIR_NO_MEMORY);
    check_str(weir_buf_text(&buf), "abc");
    weir_buf_fini(&buf);
}

WEIR_TEST(buf, is_as_new_after_reset_and_keeps_its_memory)
{
    struct weir_faulty_heap faulty;
    struct weir_buf buf;

    weir_faulty_heap_init(&faulty);
    weir_buf_init(&buf, &faulty.heap, 8);
    weir_buf_append_text(&buf, "12345678");
    weir_buf_append_text(&buf, "9");
    weir_faulty_heap_fail_at(&faulty, 1);

    weir_buf_reset(&buf);

    check_str(weir_buf_text(&buf), "");
    check_status(weir_buf_status(&buf), WEIR_OK);
    weir_buf_append_text(&buf, "abcdefgh");
    check_str(weir_buf_text(&buf), "abcdefgh");
    check_status(weir_buf_status(&buf), WEIR_OK);
    weir_buf_fini(&buf);
}

WEIR_TEST(buf, is_empty_and_usable_after_fini)
{
    struct weir_buf buf;

    weir_buf_init(&buf, weir_heap_system(), 8);
    weir_buf_append_text(&buf, "abc");
    weir_buf_fini(&buf);
    check_str(weir_buf_text(&buf), "");

    weir_buf_append_text(&buf, "def");

    check_str(weir_buf_text(&buf), "def");
    weir_buf_fini(&buf);
    weir_buf_fini(&buf);
}

WEIR_TEST(buf, leaks_nothing_whatever_allocation_fails)
{
    check_alloc_failures(write_a_page);
}

static enum weir_status write_a_page(const struct weir_heap *heap)
{
    struct weir_buf buf;
    enum weir_status status;

    weir_buf_init(&buf, heap, 10000);
    for (int i = 0; i < 100; i++) {
        weir_buf_append_text(&buf, "line ");
        weir_buf_append_format(&buf, "%d", i);
        weir_buf_append(&buf, "\n", 1);
    }
    status = weir_buf_status(&buf);
    weir_buf_fini(&buf);
    return status;
}
