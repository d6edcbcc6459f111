/* Tests of base/json_value.c. */
#include "base/json_value.h"

#include <string.h>

#include "kit/test.h"

static void is_value(const char *text)
{
    if (!weir_json_is_value(weir_str(text)))
        weir_test_fail(__FILE__, __LINE__, "refused: %s", text);
}

static void is_none(const char *text)
{
    if (weir_json_is_value(weir_str(text)))
        weir_test_fail(__FILE__, __LINE__, "taken: %s", text);
}

WEIR_TEST(json_value, is_of_any_kind)
{
    is_value("null");
    is_value("true");
    is_value(" false\n");
    is_value("0");
    is_value("-1.5e+10");
    is_value("\"\"");
    is_value("\"Gr\xc3\xbc\xc3\x9f\x65 \\u00e9\\n\\\"\"");
    is_value("[]");
    is_value("{}");
    is_value("[1, [2, {\"a\": [3, {}]}], null]");
    is_value("{\"a\": {\"b\": [ ]}, \"a\" : 1}\r\n");
}

WEIR_TEST(json_value, is_nothing_else)
{
    is_none("");
    is_none(" ");
    is_none("ok");
    is_none("nul");
    is_none("nulls");
    is_none("01");
    is_none("1.");
    is_none(".5");
    is_none("+1");
    is_none("1e");
    is_none("NaN");
    is_none("'a'");
    is_none("\"a");
    is_none("\"a\nb\"");
    is_none("\"\\x\"");
    is_none("\"\\u12g4\"");
    is_none("[1,]");
    is_none("[1 2]");
    is_none("[1");
    is_none("[1}");
    is_none("]");
    is_none("{\"a\"}");
    is_none("{\"a\": }");
    is_none("{a: 1}");
    is_none("{\"a\": 1,}");
    is_none("{} {}");
    is_none("\xef\xbb\xbf{}");
    is_none("\"\xff\"");
    check(!weir_json_is_value((struct weir_str){"1\0", 2}));
    check(!weir_json_is_value((struct weir_str){NULL, 0}));
}

WEIR_TEST(json_value, is_nested_up_to_a_limit)
{
    char text[2 * WEIR_JSON_DEPTH_MAX + 4];
    size_t depth = WEIR_JSON_DEPTH_MAX;

    memset(text, '[', depth);
    text[depth] = '1';
    memset(text + depth + 1, ']', depth);
    check(weir_json_is_value((struct weir_str){text, 2 * depth + 1}));

    memset(text, '[', depth + 1);
    text[depth + 1] = '1';
    memset(text + depth + 2, ']', depth + 1);
    check(!weir_json_is_value((struct weir_str){text, 2 * depth + 3}));
}
