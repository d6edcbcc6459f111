/*
 * Tests of base/literal/size.c.
 */
#include "base/literal/size.h"

#include <stddef.h>

#include "base/count.h"
#include "kit/test.h"

WEIR_TEST(size, is_read_as_a_number_and_its_unit)
{
    const struct {
        const char *text;
        int64_t bytes;
    } good[] = {
        {"1B", 1},
        {"64KiB", 64 * 1024},
        {"16 MiB", 16 * 1024 * 1024},
        {"3GiB", INT64_C(3) << 30},
        {"0", 0},
        {"0B", 0},
        {"8589934591GiB", INT64_C(8589934591) << 30},
    };

    for (size_t i = 0; i < COUNT_OF(good); i++) {
        int64_t bytes = -1;

        check(weir_size_parse(good[i].text, &bytes));
        check_int(bytes, good[i].bytes);
    }
}

WEIR_TEST(size, is_not_read_from_anything_else)
{
    const char *const bad[] = {
        "",     "B",    "64",   "-1B",  "1.5MiB", " 1B",      "1B ",
        "1  B", "1kB",  "1MB",  "1Mib", "1K",     "1MiBs",    "1\tMiB",
        "0x1B", "1TiB", "KiB1", "1 ",   "+1B",    "1KiB1KiB", "8589934592GiB"};

    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        int64_t bytes = -1;

        check(!weir_size_parse(bad[i], &bytes));
        check_int(bytes, 0);
    }
}

WEIR_TEST(size, is_spelled_in_the_largest_unit_without_a_rest)
{
    char out[WEIR_SIZE_TEXT_SIZE];

    check_str(weir_size_spell(0, out), "0");
    check_str(weir_size_spell(1000, out), "1000B");
    check_str(weir_size_spell(1024, out), "1KiB");
    check_str(weir_size_spell(1025, out), "1025B");
    check_str(weir_size_spell(16 * 1024 * 1024, out), "16MiB");
    check_str(weir_size_spell(INT64_C(1) << 40, out), "1024GiB");
    check_str(weir_size_spell(INT64_MAX, out), "9223372036854775807B");
}
