/*
 * Tests of base/literal/number.c.
 */
#include "base/literal/number.h"

#include <stddef.h>

#include "base/count.h"
#include "kit/test.h"

WEIR_TEST(number, is_digits_up_to_the_largest_of_64_bits)
{
    int64_t number = -1;

    check(weir_number_parse("0", &number));
    check_int(number, 0);
    check(weir_number_parse("007", &number));
    check_int(number, 7);
    check(weir_number_parse("9223372036854775807", &number));
    check_int(number, INT64_MAX);
}

WEIR_TEST(number, is_nothing_else)
{
    const char *const bad[] = {"",   "-1",  "+1",  " 1",  "1 ",
                               "1a", "0x1", "1e3", "1.0", "9223372036854775808"};

    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        int64_t number = -1;

        check(!weir_number_parse(bad[i], &number));
        check_int(number, 0);
    }
}
