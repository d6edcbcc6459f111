/* Tests of base/version.c. */
#include <weir/version.h>

#include <stdio.h>

#include "kit/test.h"

WEIR_TEST(version, is_the_three_numbers_with_dots)
{
    char expected[64];

    snprintf(expected, sizeof expected, "%d.%d.%d", WEIR_VERSION_MAJOR,
             WEIR_VERSION_MINOR, WEIR_VERSION_PATCH);

    check_str(weir_version_string(), expected);
}
