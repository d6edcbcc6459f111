/* Tests of base/codec/hex.c. */
#include "base/codec/hex.h"

#include <string.h>

#include "base/buf.h"
#include "kit/test.h"
#include "weir/heap.h"

WEIR_TEST(hex, writes_two_small_digits_for_each_byte)
{
    char out[8] = "xxxxxxx";

    check(weir_hex_write("\x00\xab\x1f", 3, out) == out + 6);
    check_str(out, "00ab1fx");
}

WEIR_TEST(hex, reads_what_it_has_written)
{
    uint8_t bytes[256], back[256];
    char text[2 * sizeof bytes];

    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)i;
    weir_hex_write(bytes, sizeof bytes, text);

    check(weir_hex_read(text, sizeof back, back));
    check(memcmp(bytes, back, sizeof bytes) == 0);
}

WEIR_TEST(hex, reads_letters_of_both_cases)
{
    uint8_t bytes[2];

    check(weir_hex_read("aBCd", 2, bytes));
    check_int(bytes[0], 0xab);
    check_int(bytes[1], 0xcd);
}

WEIR_TEST(hex, refuses_what_is_no_digit)
{
    uint8_t bytes[2];

    check(!weir_hex_read("0g00", 2, bytes));
    check(!weir_hex_read("00 0", 2, bytes));
    check(!weir_hex_read("000", 2, bytes)); /* the zero behind the text is none */
    check(!weir_hex_read("", 2, bytes));
    for (int c = 0; c < 256; c++)
        check((weir_hex_digit((char)c) >= 0) ==
              (c != 0 && strchr("0123456789abcdefABCDEF", c) != NULL));
}

WEIR_TEST(hex, is_appended_in_any_length)
{
    struct weir_buf out;
    uint8_t bytes[1000], back[1000];

    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 7);
    weir_buf_init(&out, weir_heap_system(), 10000);
    weir_hex_append(&out, bytes, sizeof bytes);

    check_int(out.size, 2 * sizeof bytes);
    check(weir_hex_read(weir_buf_text(&out), sizeof back, back));
    check(memcmp(bytes, back, sizeof bytes) == 0);
    weir_buf_fini(&out);
}
