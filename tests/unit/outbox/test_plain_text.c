/*
 * What a handler wrote, as a text that every database takes.
 */
#include <string.h>

#include "base/arena.h"
#include "base/heap.h"
#include "kit/alloc_failures.h"
#include "kit/test.h"
#include "outbox/plain_text.h"

/* `got` is what becomes of `size` bytes of `text`. */
static void check_plain(const char *text, size_t size, const char *want)
{
    struct weir_faulty_heap heap;
    struct weir_arena arena;
    struct weir_str out;
    char got[WEIR_PLAIN_TEXT_SIZE_MAX + 1] = "";

    weir_faulty_heap_init(&heap);
    weir_arena_init(&arena, &heap.heap, 64 * 1024);
    check_status(weir_plain_text(&arena, (struct weir_str){text, size}, &out), WEIR_OK);
    check(out.size <= WEIR_PLAIN_TEXT_SIZE_MAX);
    memcpy(got, out.data, out.size);
    weir_arena_fini(&arena);
    check_str(got, want);
}

#define CHECK_PLAIN(text, want) check_plain(text, sizeof(text) - 1, want)

WEIR_TEST(plain_text, leaves_a_good_text_alone)
{
    CHECK_PLAIN("", "");
    check_plain(NULL, 0, "");
    CHECK_PLAIN("no address", "no address");
    CHECK_PLAIN("caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "café € 😀");
}

WEIR_TEST(plain_text, replaces_each_byte_that_is_part_of_no_character)
{
    CHECK_PLAIN("a\0b", "a?b");
    CHECK_PLAIN("caf\xe9", "caf?");
    CHECK_PLAIN("\xc3", "?");
    CHECK_PLAIN("\xe2\x82", "??");
    CHECK_PLAIN("\xc0\xaf \xed\xa0\x80 \xf4\x90\x80\x80 \x80", "?? ??? ???? ?");
    CHECK_PLAIN("\xff\xc3\xa9\xfe", "?é?");
}

WEIR_TEST(plain_text, is_cut_between_two_characters)
{
    char text[WEIR_PLAIN_TEXT_SIZE_MAX + 10];
    char want[WEIR_PLAIN_TEXT_SIZE_MAX + 1];

    memset(text, 'x', sizeof text);
    memset(want, 'x', sizeof want);
    want[WEIR_PLAIN_TEXT_SIZE_MAX] = '\0';
    check_plain(text, sizeof text, want);

    memcpy(text + WEIR_PLAIN_TEXT_SIZE_MAX - 1, "\xc3\xa9", 2);
    want[WEIR_PLAIN_TEXT_SIZE_MAX - 1] = '\0';
    check_plain(text, sizeof text, want);

    text[0] = '\0';
    want[0] = '?';
    check_plain(text, sizeof text, want);
}

static enum weir_status clean(const struct weir_heap *heap)
{
    struct weir_arena arena;
    struct weir_str out;
    enum weir_status status;

    weir_arena_init(&arena, heap, 64 * 1024);
    status = weir_plain_text(&arena, weir_str("\xff"), &out);
    weir_arena_fini(&arena);
    return status;
}

WEIR_TEST(plain_text, survives_any_failing_allocation)
{
    check_alloc_failures(clean);
}
