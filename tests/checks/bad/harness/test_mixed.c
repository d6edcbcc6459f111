/* One case passes, one for each kind of check fails, and the last one passes again. */
#include <stddef.h>

#include "kit/test.h"

WEIR_TEST(mixed, passes)
{
    check(1 + 1 == 2);
    check_status(WEIR_OK, WEIR_OK);
    check_int(UINT64_MAX, UINT64_MAX);
    check_str(NULL, NULL);
    check_str("weir", "weir");
    check_in_range(3, 3, 3);
}

WEIR_TEST(mixed, fails_a_check)
{
    check(1 + 1 == 3);
}

WEIR_TEST(mixed, fails_a_status)
{
    check_status(WEIR_INVALID, WEIR_OK);
}

WEIR_TEST(mixed, fails_a_number)
{
    check_int(6 * 7, 43);
}

WEIR_TEST(mixed, fails_a_string)
{
    check_str("weir", NULL);
}

WEIR_TEST(mixed, fails_a_range)
{
    check_in_range(4, 5, 6);
}

WEIR_TEST(mixed, passes_after_failures)
{
    check(true);
}
