/* Tests of base/text.c. */
#include "base/text.h"

#include <string.h>

#include "kit/test.h"

WEIR_TEST(text, fills_the_buffer_to_the_last_byte)
{
    char out[8];

    check_int(weir_text_format(out, sizeof out, "%s", "1234567"), 7);

    check_str(out, "1234567");
}

WEIR_TEST(text, ends_in_dots_when_it_was_cut)
{
    char out[8];

    check_int(weir_text_format(out, sizeof out, "%s", "12345678"), 7);

    check_str(out, "1234...");
}

WEIR_TEST(text, is_only_dots_in_the_smallest_buffer)
{
    char out[4];

    check_int(weir_text_format(out, sizeof out, "%d", 12345), 3);

    check_str(out, "...");
}

/* "aä€" is 1 + 2 + 3 bytes. The dots of a buffer of 8 would begin inside the euro
 * sign. */
WEIR_TEST(text, is_not_cut_inside_a_character)
{
    char out[8];

    check_int(weir_text_format(out, sizeof out, "%s", "a\xc3\xa4\xe2\x82\xac!!"), 6);

    check_str(out, "a\xc3\xa4...");
}

/* Bytes that are no UTF-8 at all must not lead in front of the buffer. */
WEIR_TEST(text, is_cut_safely_when_it_is_not_utf8)
{
    char out[8];

    check_int(weir_text_format(out, sizeof out, "%s", "\x80\x80\x80\x80\x80\x80\x80\x80"),
              3);

    check_str(out, "...");
}

WEIR_TEST(text, may_be_empty)
{
    char out[4] = "abc";

    check_int(weir_text_format(out, sizeof out, "%s", ""), 0);

    check_str(out, "");
}
