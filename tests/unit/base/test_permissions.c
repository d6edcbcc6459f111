/*
 * Tests of base/permissions.c.
 */
#include "base/permissions.h"

#include "kit/test.h"

static uint32_t parse(const char *text)
{
    uint32_t out = 1;

    return weir_permissions_parse(weir_str(text), &out) ? out : 0;
}

WEIR_TEST(permissions, are_written_in_octal)
{
    check_int(parse("0600"), 0600);
    check_int(parse("600"), 0600);
    check_int(parse("0640"), 0640);
    check_int(parse("0666"), 0666);
}

WEIR_TEST(permissions, are_for_reading_and_writing_and_the_owner_has_both)
{
    static const char *const BAD[] = {"",     "0",    "0400",  "0200",  "0060", "0700",
                                      "0777", "1600", "00600", "06OO",  "-600", "0x60",
                                      "rw",   " 600", "0600 ", "99999", "0680"};

    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++)
        check_int(parse(BAD[i]), 0);
    check(weir_permissions_are_valid(0644));
    check(!weir_permissions_are_valid(0400));
    check(!weir_permissions_are_valid(01600));
}
