/*
 * Tests of base/json_read.c. test_json_jansson.c compares it with another reader.
 */
#include "base/json_read.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/count.h"
#include "base/heap.h"
#include "base/text.h"
#include "kit/alloc_failures.h"
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

/* ---- the strict rules -------------------------------------------------------------- */

static enum weir_status check_strictly(const char *text, struct weir_json_fault *fault)
{
    const struct weir_json_rules rules = {.heap = weir_heap_system()};

    return weir_json_check(weir_str(text), &rules, fault);
}

static void is_strict(const char *text)
{
    struct weir_json_fault fault = {0};

    if (check_strictly(text, &fault) != WEIR_OK)
        weir_test_fail(__FILE__, __LINE__, "%s: %s at %zu", text, fault.why, fault.at);
}

static void is_refused(const char *text, const char *why, size_t at)
{
    struct weir_json_fault fault = {0};

    if (check_strictly(text, &fault) != WEIR_INVALID)
        weir_test_fail(__FILE__, __LINE__, "taken: %s", text);
    check_str(fault.why, why);
    check_int(fault.at, at);
    check(fault.not_utf8 == (strcmp(why, "no UTF-8") == 0));
}

WEIR_TEST(json_read, says_what_is_wrong_and_where)
{
    is_refused("", "no value", 0);
    is_refused(" nul", "no value", 1);
    is_refused("[1, 2", "no comma or bracket", 5);
    is_refused("[{\"a\": 1]", "no comma or brace", 8);
    is_refused("{\"a\" 1}", "no colon", 5);
    is_refused("{\"a\": 1, 2}", "no name", 9);
    is_refused("[1.]", "no digit", 3);
    is_refused("\"ab", "a text without end", 3);
    is_refused("\"a\n\"", "a control character", 2);
    is_refused("\"\\x\"", "an unknown escape", 2);
    is_refused("\"\\u00g0\"", "no four digits", 3);
    is_refused("[] []", "more behind it", 3);
    is_refused("\"ab\xff\"", "no UTF-8", 3);
}

WEIR_TEST(json_read, refuses_a_name_that_comes_twice_in_an_object)
{
    is_refused("{\"a\": 1, \"b\": 2, \"a\": 3}", "a name that comes twice", 17);
    is_refused("{\"a\": 1, \"\\u0061\": 2}", "a name that comes twice", 9);
    is_refused("[{\"x\": {\"\": 1, \"\": {}}}]", "a name that comes twice", 15);
    is_refused("{\"a\": {\"b\": 1}, \"b\": 1, \"a\": 1}", "a name that comes twice", 24);
    is_refused("{\"ab\\n\": 1, \"a\\u0062\\u000a\": 2}", "a name that comes twice", 12);
}

WEIR_TEST(json_read, says_which_of_many_names_comes_twice_first)
{
    is_refused("{\"a\": 1, \"b\": 1, \"b\": 1, \"a\": 1, \"b\": 1}",
               "a name that comes twice", 17);
}

WEIR_TEST(json_read, takes_a_name_that_comes_once_in_each_object)
{
    is_strict("{\"a\": {\"a\": {\"a\": 1}}, \"b\": [{\"a\": 1}, {\"a\": 1}]}");
    is_strict("{\"a\": 1, \"A\": 2, \"a \": 3, \"aa\": 4, \"\": 5}");
}

WEIR_TEST(json_read, refuses_half_of_a_pair_unless_it_is_allowed)
{
    is_refused("\"\\ud83d\"", "half of a pair", 7);
    is_refused("\"\\udca7\"", "half of a pair", 7);
    is_refused("\"\\ud83d\\u0041\"", "half of a pair", 7);
    is_strict("\"\\ud83d\\udca7\"");
    is_value("\"\\ud83d\"");
}

WEIR_TEST(json_read, takes_nothing_but_an_object_if_asked_so)
{
    const struct weir_json_rules rules = {.object = true, .heap = weir_heap_system()};
    struct weir_json_fault fault;

    check_status(weir_json_check(weir_str(" {}"), &rules, &fault), WEIR_OK);
    check_status(weir_json_check(weir_str(" []"), &rules, &fault), WEIR_INVALID);
    check_str(fault.why, "no object");
    check_int(fault.at, 1);
}

WEIR_TEST(json_read, counts_levels_up_to_the_limit_of_its_rules)
{
    const struct weir_json_rules rules = {.depth_max = 2, .heap = weir_heap_system()};
    struct weir_json_fault fault;

    check_status(weir_json_check(weir_str("[{}, []]"), &rules, &fault), WEIR_OK);
    check_status(weir_json_check(weir_str("[{}, [[]]]"), &rules, &fault), WEIR_INVALID);
    check_str(fault.why, "too many levels");
    check_int(fault.at, 6);
}

/* 50,000 names, the last of which is the first again: not compared pair by pair. */
WEIR_TEST(json_read, finds_a_repeated_name_among_many)
{
    struct weir_buf text;
    size_t last;

    weir_buf_init(&text, weir_heap_system(), 1 << 20);
    for (int i = 0; i < 50000; i++)
        weir_buf_append_format(&text, "%s\"n%d\":1", i == 0 ? "{" : ",", i);
    last = text.size + 1;
    weir_buf_append_text(&text, ",\"\\u006e0\":1}");
    check_status(weir_buf_status(&text), WEIR_OK);

    is_refused(weir_buf_text(&text), "a name that comes twice", last);
    weir_buf_fini(&text);
}

static enum weir_status check_names(const struct weir_heap *heap)
{
    const struct weir_json_rules rules = {.heap = heap};

    return weir_json_check(weir_str("{\"a\": {\"b\": [{\"c\": 1}]}}"), &rules, NULL);
}

WEIR_TEST(json_read, survives_any_failing_allocation)
{
    check_alloc_failures(check_names);
}

/* ---- walks ------------------------------------------------------------------------- */

/* All items, "name=value|" or "value|". */
static void walks(const char *json, const char *want)
{
    struct weir_json_walk walk;
    struct weir_json_item item;
    char got[256] = "";
    size_t used = 0;

    weir_json_walk_begin(&walk, weir_str(json));
    while (weir_json_walk_next(&walk, &item))
        used += weir_text_format(got + used, sizeof got - used, "%.*s%s%.*s|",
                                 (int)item.name.size, item.name.data,
                                 item.name.size > 0 ? "=" : "", (int)item.value.size,
                                 item.value.data);
    check_str(got, want);
}

WEIR_TEST(walk, gives_the_values_of_a_list)
{
    walks("[1, \"two\", [3, 4], {\"five\": 6}, null]",
          "1|\"two\"|[3, 4]|{\"five\": 6}|null|");
    walks(" [ ] ", "");
    walks("[[], {}, \"\"]", "[]|{}|\"\"|");
}

WEIR_TEST(walk, gives_the_names_and_values_of_an_object)
{
    walks("{\"a\": 1, \"b\":\"x\",\n \"c\" : [true]}",
          "\"a\"=1|\"b\"=\"x\"|\"c\"=[true]|");
    walks("{}", "");
    walks(" { } ", "");
}

/* Brackets and quotes inside of texts are none. */
WEIR_TEST(walk, knows_where_a_text_ends)
{
    walks("[\"]\", \"a\\\"b,\", {\"}\": \"\\\\\"}, -1.5e3]",
          "\"]\"|\"a\\\"b,\"|{\"}\": \"\\\\\"}|-1.5e3|");
}

WEIR_TEST(walk, gives_nothing_of_what_is_no_list_and_no_object)
{
    walks("\"text\"", "");
    walks("12", "");
    walks("", "");
}

/* It is for JSON; of anything else it may say anything, but reads nothing beyond it. */
WEIR_TEST(walk, stays_inside_of_what_is_no_json)
{
    static const char *const BROKEN[] = {"[",  "{",  "[\"", "[\"\\", "{\"a", "{\"a\"",
                                         "[[", "[,", "{:",  "[1",    "[}",   "{\"a\":"};

    for (size_t i = 0; i < COUNT_OF(BROKEN); i++) {
        size_t size = strlen(BROKEN[i]);
        char *copy = malloc(size); /* so that what is read beyond it is noticed */
        struct weir_json_walk walk;
        struct weir_json_item item;

        memcpy(copy, BROKEN[i], size);
        weir_json_walk_begin(&walk, (struct weir_str){copy, size});
        for (size_t steps = 0; steps <= size && weir_json_walk_next(&walk, &item);
             steps++)
            check(item.value.data >= copy &&
                  item.value.data + item.value.size <= copy + size);
        free(copy);
    }
}

/* ---- values ------------------------------------------------------------------------ */

WEIR_TEST(text, is_that_of_a_text_and_the_json_of_others)
{
    struct weir_arena arena;

    weir_arena_init(&arena, weir_heap_system(), 1 << 20);
    check_str(weir_json_keep_text(weir_str("\"a\\n\\u00e4\""), &arena), "a\nä");
    check_str(weir_json_keep_text(weir_str("\"\""), &arena), "");
    check_str(weir_json_keep_text(weir_str("[1, 2]"), &arena), "[1, 2]");
    check_str(weir_json_keep_text(weir_str("true"), &arena), "true");
    weir_arena_fini(&arena);
}

WEIR_TEST(text, has_a_replacement_for_a_zero_and_for_half_of_a_pair)
{
    char text[32];

    check_int(weir_json_copy_text(weir_str("\"a\\u0000b\""), text), 5);
    check_str(text, "a\xef\xbf\xbd"
                    "b");
    weir_json_copy_text(weir_str("\"\\ud800\\ud800\\udc00\""), text);
    check_str(text, "\xef\xbf\xbd\xf0\x90\x80\x80");
}

WEIR_TEST(kind, is_told_by_the_value)
{
    check_int(weir_json_kind(weir_str("null")), WEIR_JSON_NULL);
    check_int(weir_json_kind(weir_str("false")), WEIR_JSON_BOOL);
    check_int(weir_json_kind(weir_str("-1")), WEIR_JSON_NUMBER);
    check_int(weir_json_kind(weir_str("\"null\"")), WEIR_JSON_TEXT);
    check_int(weir_json_kind(weir_str("[]")), WEIR_JSON_LIST);
    check_int(weir_json_kind(weir_str("{}")), WEIR_JSON_OBJECT);
}

static void is_integer(const char *text, int64_t want)
{
    int64_t got = 0;

    check(weir_json_i64(weir_str(text), &got));
    check_int(got, want);
}

WEIR_TEST(integer, is_exact_in_all_of_64_bits)
{
    is_integer("0", 0);
    is_integer("-0", 0);
    is_integer("-17", -17);
    is_integer("9007199254740993", INT64_C(9007199254740993));
    is_integer("9223372036854775807", INT64_MAX);
    is_integer("-9223372036854775808", INT64_MIN);
}

WEIR_TEST(integer, is_nothing_that_would_have_to_be_rounded)
{
    static const char *const NONE[] = {
        "9223372036854775808",
        "-9223372036854775809",
        "99999999999999999999",
        "1.0",
        "1e2",
        "\"1\"",
        "true",
        "-",
        "",
    };
    int64_t got;

    for (size_t i = 0; i < COUNT_OF(NONE); i++)
        check(!weir_json_i64(weir_str(NONE[i]), &got));
}

/* ---- objects ----------------------------------------------------------------------- */

static const struct weir_json_rules TOLERANT = {.allowed = WEIR_JSON_REPEATED_NAMES};

WEIR_TEST(object, has_its_members_in_their_order)
{
    struct weir_arena arena;
    struct weir_json_object object;
    struct weir_json_fault fault;

    weir_arena_init(&arena, weir_heap_system(), 1 << 20);
    check_status(weir_json_read_object(weir_str("{\"b\": \"\\u0041\", \"a\": [ 1 ]}"),
                                       &TOLERANT, &arena, &object, &fault),
                 WEIR_OK);

    check_int(object.count, 2);
    check_str(object.members[0].name, "b");
    check_str(object.members[0].text, "A");
    check_str(object.members[1].name, "a");
    check_str(object.members[1].text, "[ 1 ]");
    check(weir_str_equal(object.members[1].value, weir_str("[ 1 ]")));
    weir_arena_fini(&arena);
}

WEIR_TEST(object, gives_the_last_of_a_repeated_name)
{
    struct weir_arena arena;
    struct weir_json_object object;
    struct weir_json_fault fault;

    weir_arena_init(&arena, weir_heap_system(), 1 << 20);
    check_status(weir_json_read_object(weir_str("{\"a\": 1, \"a\": 2}"), &TOLERANT,
                                       &arena, &object, &fault),
                 WEIR_OK);
    check_str(weir_json_find(&object, "a")->text, "2");
    check(weir_json_find(&object, "b") == NULL);
    weir_arena_fini(&arena);
}

WEIR_TEST(object, is_empty_when_there_is_none)
{
    struct weir_arena arena;
    struct weir_json_object object = {NULL, 7};
    struct weir_json_fault fault;

    weir_arena_init(&arena, weir_heap_system(), 1 << 20);
    check_status(
        weir_json_read_object(weir_str("[]"), &TOLERANT, &arena, &object, &fault),
        WEIR_INVALID);
    check_str(fault.why, "no object");
    check_int(object.count, 0);
    check_status(
        weir_json_read_object(weir_str("{}"), &TOLERANT, &arena, &object, &fault),
        WEIR_OK);
    check_int(object.count, 0);
    weir_arena_fini(&arena);
}
