/* Tests of base/json.c. */
#include "base/json.h"

#include "base/buf.h"
#include "kit/test.h"
#include "weir/heap.h"

static void quotes(const char *text, const char *want)
{
    struct weir_buf out;

    weir_buf_init(&out, weir_heap_system(), 1000);
    weir_json_append_text(&out, text);
    check_str(weir_buf_text(&out), want);
    weir_buf_fini(&out);
}

WEIR_TEST(json, puts_a_text_in_quotes)
{
    quotes("", "\"\"");
    quotes("plain", "\"plain\"");
    quotes("Gr\xc3\xbc\xc3\x9f\x65 \x7f", "\"Gr\xc3\xbc\xc3\x9f\x65 \x7f\"");
}

WEIR_TEST(json, escapes_quotes_backslashes_and_control_characters)
{
    quotes("\"", "\"\\\"\"");
    quotes("a\"b\\c", "\"a\\\"b\\\\c\"");
    quotes("\n\x01x\x1f", "\"\\u000a\\u0001x\\u001f\"");
    quotes("/", "\"/\"");
}

static void quotes_bytes(const char *bytes, size_t size, const char *want)
{
    struct weir_buf out;

    weir_buf_init(&out, weir_heap_system(), 1000);
    weir_json_append_str(&out, (struct weir_str){bytes, size});
    check_str(weir_buf_text(&out), want);
    weir_buf_fini(&out);
}

WEIR_TEST(json, quotes_any_bytes)
{
    quotes_bytes(NULL, 0, "\"\"");
    quotes_bytes("a\0b", 3, "\"a\\u0000b\"");
    quotes_bytes("\"\\\n\r\t\x1f\x7f", 7, "\"\\\"\\\\\\n\\u000d\\u0009\\u001f\x7f\"");
    quotes_bytes("Gr\xc3\xbc\xc3\x9f\x65", 7, "\"Gr\xc3\xbc\xc3\x9f\x65\"");
    quotes_bytes("\xf0\x9f\x8c\x8a", 4, "\"\xf0\x9f\x8c\x8a\"");
}

WEIR_TEST(json, replaces_what_is_no_utf8)
{
    quotes_bytes("a\xff"
                 "b",
                 3, "\"a\\ufffdb\"");
    quotes_bytes("\xc3", 1, "\"\\ufffd\"");
    quotes_bytes("\xed\xa0\x80", 3, "\"\\ufffd\\ufffd\\ufffd\"");
    quotes_bytes("\xc0\xaf", 2, "\"\\ufffd\\ufffd\"");
}
