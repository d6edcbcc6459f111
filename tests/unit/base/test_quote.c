/*
 * Tests of base/quote.c.
 */
#include "base/quote.h"

#include <string.h>

#include "kit/test.h"

WEIR_TEST(quote, shows_a_short_value_as_it_is)
{
    struct weir_quote quote;

    check_str(weir_quote(&quote, "orders ~"), "orders ~");
    check_str(weir_quote(&quote, ""), "");
}

WEIR_TEST(quote, has_a_question_mark_for_what_could_spoil_a_terminal)
{
    struct weir_quote quote;

    check_str(weir_quote(&quote, "a\x1b[2J\n\x7f\xc3\xbc"), "a?[2J????");
}

WEIR_TEST(quote, cuts_what_is_longer_than_60_bytes)
{
    char value[62];
    struct weir_quote quote;

    memset(value, 'q', sizeof value);
    value[61] = '\0';
    check_int(strlen(weir_quote(&quote, value)), 63);
    check_str(quote.text + 59, "q...");

    value[60] = '\0';
    check_int(strlen(weir_quote(&quote, value)), 60);
}
