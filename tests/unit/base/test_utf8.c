/* Tests of base/utf8.c. The contract test of values runs all edges through the
 * databases too. */
#include "base/utf8.h"

#include "kit/test.h"

WEIR_TEST(utf8, tells_the_length_of_a_sequence)
{
    check_int(weir_utf8_sequence("a", 1), 1);
    check_int(weir_utf8_sequence("", 1), 1);
    check_int(weir_utf8_sequence("\x7f", 1), 1);
    check_int(weir_utf8_sequence("\xc2\x80", 2), 2);
    check_int(weir_utf8_sequence("\xdf\xbf", 2), 2);
    check_int(weir_utf8_sequence("\xe0\xa0\x80", 3), 3);
    check_int(weir_utf8_sequence("\xed\x9f\xbf", 3), 3);
    check_int(weir_utf8_sequence("\xef\xbf\xbf", 3), 3);
    check_int(weir_utf8_sequence("\xf0\x90\x80\x80", 4), 4);
    check_int(weir_utf8_sequence("\xf4\x8f\xbf\xbf", 4), 4);
}

WEIR_TEST(utf8, is_not_what_is_cut_overlong_half_a_pair_or_too_high)
{
    check_int(weir_utf8_sequence("\x80", 1), 0);
    check_int(weir_utf8_sequence("\xc3", 1), 0);
    check_int(weir_utf8_sequence("\xc3(", 2), 0);
    check_int(weir_utf8_sequence("\xe2\x82\xac", 2), 0);
    check_int(weir_utf8_sequence("\xc0\x80", 2), 0);
    check_int(weir_utf8_sequence("\xe0\x9f\xbf", 3), 0);
    check_int(weir_utf8_sequence("\xed\xa0\x80", 3), 0);
    check_int(weir_utf8_sequence("\xf0\x8f\xbf\xbf", 4), 0);
    check_int(weir_utf8_sequence("\xf4\x90\x80\x80", 4), 0);
    check_int(weir_utf8_sequence("\xf5\x80\x80\x80", 4), 0);
    check_int(weir_utf8_sequence("\xff", 1), 0);
}

WEIR_TEST(utf8, is_valid_as_a_whole_or_not_at_all)
{
    check(weir_utf8_valid((struct weir_str){NULL, 0}));
    check(weir_utf8_valid(weir_str("Gr\xc3\xbc\xc3\x9f\x65 \xe6\xb0\xb4")));
    check(weir_utf8_valid((struct weir_str){"a\0b", 3}));
    check(!weir_utf8_valid(weir_str("good until here \xff")));
    check(!weir_utf8_valid(weir_str("\xe6\xb0\xb4 \xe6\xb0")));
}
