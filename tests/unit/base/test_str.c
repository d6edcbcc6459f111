/* Tests of base/str.c. */
#include "base/str.h"

#include "kit/test.h"

static const struct weir_str NOTHING = {NULL, 0};

WEIR_TEST(str, views_a_text_without_its_zero)
{
    const char *text = "mailer";
    struct weir_str str = weir_str(text);

    check(str.data == text);
    check_int(str.size, 6);
}

WEIR_TEST(str, equals_the_same_bytes_elsewhere)
{
    char elsewhere[] = "mailer";

    check(weir_str_equal(weir_str("mailer"), weir_str(elsewhere)));
}

WEIR_TEST(str, differs_in_length_or_in_a_byte)
{
    check(!weir_str_equal(weir_str("mailer"), weir_str("maile")));
    check(!weir_str_equal(weir_str("mailer"), weir_str("mailes")));
    check(!weir_str_equal(weir_str("mailer"), NOTHING));
}

WEIR_TEST(str, compares_beyond_a_zero)
{
    struct weir_str a = {"a\0b", 3};
    struct weir_str b = {"a\0c", 3};

    check(!weir_str_equal(a, b));
}

WEIR_TEST(str, may_be_nothing)
{
    check(weir_str_equal(NOTHING, weir_str("")));
    check(weir_str_equal(NOTHING, NOTHING));
    check(weir_str_hash(NOTHING) == weir_str_hash(weir_str("")));
}

WEIR_TEST(str, has_equal_hashes_when_equal)
{
    char elsewhere[] = "mailer";

    check(weir_str_hash(weir_str("mailer")) == weir_str_hash(weir_str(elsewhere)));
    check(weir_str_hash(weir_str("mailer")) != weir_str_hash(weir_str("maile")));
}
