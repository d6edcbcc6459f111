/* Tests of base/json.c. */
#include "base/json.h"

#include "base/buf.h"
#include "lib/test.h"
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
