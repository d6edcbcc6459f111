/*
 * Tests of outbox/headers.c: what our producers and others write, what is no JSON, and
 * that no bytes at all do any harm.
 */
#include "outbox/headers.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/heap.h"
#include "base/random.h"
#include "base/utf8.h"
#include "kit/alloc_failures.h"
#include "kit/test.h"
#include "outbox/names.h"

/* Read a text that is exactly as long as its memory, so that a sanitizer sees a byte
 * too far. */
static enum weir_status read_exactly(const char *json, size_t size,
                                     struct weir_headers *out, struct weir_error *error)
{
    char *copy = malloc(size + (size == 0));
    enum weir_status status;

    memcpy(copy, json, size);
    status =
        weir_headers_read((struct weir_str){copy, size}, weir_heap_system(), out, error);
    free(copy);
    return status;
}

static void reads(const char *json, const struct weir_header *want, size_t count)
{
    struct weir_headers headers;
    struct weir_error error = {.text = ""};

    if (read_exactly(json, strlen(json), &headers, &error) != WEIR_OK)
        weir_test_fail(__FILE__, __LINE__, "%s: %s", json, error.text);
    check_int(headers.count, count);
    for (size_t i = 0; i < count; i++) {
        check_str(headers.list[i].name, want[i].name);
        check_str(headers.list[i].value, want[i].value);
    }
    weir_headers_free(&headers, weir_heap_system());
}

#define READS(json, ...)                                                                 \
    reads((json), (const struct weir_header[]){__VA_ARGS__},                             \
          sizeof((const struct weir_header[]){__VA_ARGS__}) /                            \
              sizeof(struct weir_header))

static void refuses_bytes(const char *json, size_t size, const char *why)
{
    struct weir_headers headers;
    struct weir_error error = {.text = ""};

    if (read_exactly(json, size, &headers, &error) != WEIR_INVALID)
        weir_test_fail(__FILE__, __LINE__, "accepted: %s", json);
    check_status(error.status, WEIR_INVALID);
    if (strstr(error.text, why) == NULL)
        weir_test_fail(__FILE__, __LINE__, "%s: %s", json, error.text);
    check_int(headers.count, 0);
    check(headers.list == NULL);
}

static void refuses(const char *json, const char *why)
{
    refuses_bytes(json, strlen(json), why);
}

/* ---- what is read ------------------------------------------------------------------ */

WEIR_TEST(headers, are_read_in_their_order)
{
    READS("{\"trace\":\"4bf9\"}", {"trace", "4bf9"});
    READS("{\"b\":\"1\",\"a\":\"2\",\"\":\"\"}", {"b", "1"}, {"a", "2"}, {"", ""});
}

WEIR_TEST(headers, may_have_white_space_anywhere)
{
    READS(" \t\r\n{ \"a\" : \"1\" , \"b\" : 2 } \n", {"a", "1"}, {"b", "2"});
}

WEIR_TEST(headers, of_an_empty_object_are_none)
{
    reads("{}", NULL, 0);
    reads(" { } ", NULL, 0);
}

WEIR_TEST(headers, that_are_not_stored_are_none)
{
    struct weir_headers headers = {NULL, 7};

    check_status(
        weir_headers_read((struct weir_str){NULL, 0}, weir_heap_system(), &headers, NULL),
        WEIR_OK);

    check_int(headers.count, 0);
    weir_headers_free(&headers, weir_heap_system());
}

WEIR_TEST(headers, have_their_escapes_resolved)
{
    READS("{\"a\\\"\\\\\\/b\":\"\\b\\f\\n\\r\\t\"}", {"a\"\\/b", "\b\f\n\r\t"});
    READS("{\"a\":\"\\u0041\\u00e9\\u6c34\\uD83D\\udca7\"}",
          {"a", "A\xc3\xa9\xe6\xb0\xb4\xf0\x9f\x92\xa7"});
    READS("{\"a\":\"\\u007f\\u0080\\u07ff\\u0800\\uffff\\ud800\\udc00\\udbff\\udfff\"}",
          {"a", "\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf\xf0\x90\x80\x80"
                "\xf4\x8f\xbf\xbf"});
    READS("{\"a\":\"plain \xe6\xb0\xb4 plain\"}", {"a", "plain \xe6\xb0\xb4 plain"});
}

/* A C text cannot hold a zero, and UTF-8 no half of a pair. */
WEIR_TEST(headers, have_a_replacement_for_what_cannot_be_text)
{
    READS("{\"a\":\"x\\u0000y\"}", {"a", "x\xef\xbf\xbdy"});
    READS("{\"a\":\"\\ud83d\"}", {"a", "\xef\xbf\xbd"});
    READS("{\"a\":\"\\udca7\"}", {"a", "\xef\xbf\xbd"});
    READS("{\"a\":\"\\ud83d\\n\"}", {"a", "\xef\xbf\xbd\n"});
    READS("{\"a\":\"\\ud83d\\u0041\"}", {"a", "\xef\xbf\xbd\x41"});
    READS("{\"a\":\"\\ud83d\\ud83d\\udca7\"}", {"a", "\xef\xbf\xbd\xf0\x9f\x92\xa7"});
}

WEIR_TEST(headers, that_are_no_texts_are_given_as_they_were_written)
{
    READS("{\"a\":3,\"b\":-0.50e+10,\"c\":12345678901234567890123}", {"a", "3"},
          {"b", "-0.50e+10"}, {"c", "12345678901234567890123"});
    READS("{\"a\":0,\"b\":-0,\"c\":1E5,\"d\":10.25}", {"a", "0"}, {"b", "-0"},
          {"c", "1E5"}, {"d", "10.25"});
    READS("{\"a\":true,\"b\":false,\"c\":null}", {"a", "true"}, {"b", "false"},
          {"c", "null"});
    READS("{\"a\":7 ,\"b\": true\n}", {"a", "7"}, {"b", "true"});
}

WEIR_TEST(headers, that_are_lists_or_objects_are_given_as_they_were_written)
{
    READS("{\"a\":[],\"b\":{}}", {"a", "[]"}, {"b", "{}"});
    READS("{\"a\": [1, \"x]\\\"\", [ ], {\"k\" : [true]} ] ,\"b\":\"c\"}",
          {"a", "[1, \"x]\\\"\", [ ], {\"k\" : [true]} ]"}, {"b", "c"});
    READS("{\"a\":{\"b\":{\"c\":1,\"d\":[{},{}]},\"e\":null}}",
          {"a", "{\"b\":{\"c\":1,\"d\":[{},{}]},\"e\":null}"});
}

WEIR_TEST(headers, written_twice_come_twice)
{
    READS("{\"a\":\"1\",\"a\":\"2\"}", {"a", "1"}, {"a", "2"});
}

WEIR_TEST(headers, may_be_more_than_we_would_write)
{
    struct weir_buf json;
    struct weir_headers headers;

    weir_buf_init(&json, weir_heap_system(), 1 << 20);
    for (int i = 0; i < 1000; i++)
        weir_buf_append_format(&json, "%s\"name %d\":\"value %d\"", i == 0 ? "{" : ",", i,
                               i);
    weir_buf_append_text(&json, "}");

    check_status(read_exactly(json.data, json.size, &headers, NULL), WEIR_OK);

    check_int(headers.count, 1000);
    check_str(headers.list[999].name, "name 999");
    check_str(headers.list[999].value, "value 999");
    weir_headers_free(&headers, weir_heap_system());
    weir_buf_fini(&json);
}

/* ---- what is refused --------------------------------------------------------------- */

WEIR_TEST(headers, must_be_an_object)
{
    refuses("", "no object at byte 0");
    refuses("  ", "no object at byte 2");
    refuses("[]", "no object");
    refuses("\"a\"", "no object");
    refuses("1", "no object");
    refuses("null", "no object");
    refuses("{} {}", "more behind it at byte 3");
    refuses("{}x", "more behind it");
}

WEIR_TEST(headers, must_be_whole)
{
    const char *json = "{\"a\":\"\\u0041\",\"b\":[1,{\"c\":-1.5e3}],\"d\":true}";

    for (size_t size = 0; size < strlen(json); size++)
        refuses_bytes(json, size, "headers are no JSON object");
    READS(json, {"a", "A"}, {"b", "[1,{\"c\":-1.5e3}]"}, {"d", "true"});
}

WEIR_TEST(headers, must_have_names_colons_and_commas)
{
    refuses("{a:1}", "no name at byte 1");
    refuses("{1:1}", "no name");
    refuses("{,}", "no name");
    refuses("{\"a\"}", "no colon");
    refuses("{\"a\" 1}", "no colon");
    refuses("{\"a\":}", "no value");
    refuses("{\"a\":1,}", "no name");
    refuses("{\"a\":1 \"b\":2}", "no comma");
    refuses("{\"a\":1]", "no comma");
    refuses("{\"a\":'1'}", "no value");
}

WEIR_TEST(headers, must_have_proper_texts)
{
    refuses("{\"a\":\"b", "a text without end");
    refuses("{\"a\":\"b\\\"", "a text without end");
    refuses("{\"a\":\"b\nc\"}", "a control character at byte 7");
    refuses("{\"a\nb\":1}", "a control character");
    refuses("{\"a\":\"\\x\"}", "an unknown escape");
    refuses("{\"a\":\"\\", "an unknown escape");
    refuses("{\"a\":\"\\u12\"}", "no four digits");
    refuses("{\"a\":\"\\u12g4\"}", "no four digits");
    refuses("{\"a\":\"\\u\"}", "no four digits");
    refuses_bytes("{\"a\":\"b\0c\"}", 11, "a control character");
    refuses_bytes("{\"a\":\"\\\0\"}", 9, "an unknown escape");
}

WEIR_TEST(headers, must_have_proper_values)
{
    refuses("{\"a\":01}", "no comma");
    refuses("{\"a\":1.}", "no digit");
    refuses("{\"a\":.5}", "no value");
    refuses("{\"a\":+1}", "no value");
    refuses("{\"a\":-}", "no value");
    refuses("{\"a\":1e}", "no digit");
    refuses("{\"a\":1e+-1}", "no digit");
    refuses("{\"a\":True}", "no value");
    refuses("{\"a\":tru}", "no value");
    refuses("{\"a\":truey}", "no comma");
    refuses("{\"a\":NaN}", "no value");
    refuses("{\"a\":[1,]}", "no value");
    refuses("{\"a\":[1 2]}", "no comma or bracket");
    refuses("{\"a\":[1}}", "no comma or bracket");
    refuses("{\"a\":{\"b\"}}", "no colon");
    refuses("{\"a\":{\"b\":1,}}", "no name");
    refuses("{\"a\":{b:1}}", "no name");
    refuses("{\"a\":[\"\n\"]}", "a control character");
    refuses_bytes("{\"a\":\0}", 7, "no value");
}

WEIR_TEST(headers, must_be_utf8)
{
    refuses("{\"a\":\"\xff\"}", "not UTF-8");
    refuses("{\"a\":\"\xed\xa0\x80\"}", "not UTF-8");
}

WEIR_TEST(headers, may_have_32_levels_and_not_33)
{
    char json[200];
    const char *name = "{\"a\":";
    size_t begin = strlen(name);

    memcpy(json, name, begin);
    memset(json + begin, '[', 32);
    memset(json + begin + 32, ']', 32);
    memcpy(json + begin + 64, "}", 2);
    check_int(begin + 65, strlen(json));
    READS(json,
          {"a", "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]"});

    memset(json + begin, '[', 33);
    memset(json + begin + 33, ']', 33);
    memcpy(json + begin + 66, "}", 2);
    refuses(json, "too many levels");
}

/* Depth is not paid for with stack. */
WEIR_TEST(headers, of_a_million_levels_are_just_refused)
{
    size_t size = 1000000;
    char *json = malloc(size + 1);

    memset(json, '[', size);
    json[size] = '\0';
    memcpy(json, "{\"a\":", 5);
    refuses(json, "too many levels");
    free(json);
}

/* ---- memory ------------------------------------------------------------------------ */

WEIR_TEST(headers, fit_exactly_what_was_measured)
{
    const struct weir_str json =
        weir_str("{\"name\":\"a\\u00e9\",\"n\":17,\"l\":[1, 2]}");
    struct weir_headers headers;
    size_t size, count;
    void *memory;

    check_status(weir_headers_measure(json, &size, &count, NULL), WEIR_OK);
    check_int(count, 3);
    check_int(size, 3 * sizeof(struct weir_header) + sizeof "name" + sizeof "a\xc3\xa9" +
                        sizeof "n" + sizeof "17" + sizeof "l" + sizeof "[1, 2]");

    memory = malloc(size);
    headers = weir_headers_place(json, memory, count);

    check((const void *)headers.list == memory);
    check_str(headers.list[0].value, "a\xc3\xa9");
    check_str(headers.list[2].value, "[1, 2]");
    check((const char *)memory + size ==
          headers.list[2].value + sizeof "[1, 2]"); /* to the last byte */
    free(memory);
}

static enum weir_status read_some(const struct weir_heap *heap)
{
    struct weir_headers headers;
    enum weir_status status =
        weir_headers_read(weir_str("{\"a\":\"1\",\"b\":2}"), heap, &headers, NULL);

    weir_headers_free(&headers, heap);
    weir_headers_free(&headers, heap);
    return status;
}

WEIR_TEST(headers, survive_any_failing_allocation)
{
    check_alloc_failures(read_some);
}

/* ---- anything at all --------------------------------------------------------------- */

static void check_sound(const struct weir_headers *headers)
{
    for (size_t i = 0; i < headers->count; i++) {
        check(weir_utf8_valid(weir_str(headers->list[i].name)));
        check(weir_utf8_valid(weir_str(headers->list[i].value)));
    }
}

static void try_anything(const char *bytes, size_t size)
{
    struct weir_headers headers;
    enum weir_status status = read_exactly(bytes, size, &headers, NULL);

    check(status == WEIR_OK || status == WEIR_INVALID);
    check_sound(&headers);
    weir_headers_free(&headers, weir_heap_system());
}

/* Bytes by chance hardly get past the first, so most are letters that mean something. */
WEIR_TEST(headers, of_random_bytes_do_no_harm)
{
    static const char MEANING[] = "{}[]:,\"\"\"\\\\unbt0019a-.eE truefalsn\n\xc3\xa9";
    struct weir_random random;
    char bytes[64];

    weir_random_init(&random, 20261115);
    for (int round = 0; round < 200000; round++) {
        size_t size = weir_random_below(&random, sizeof bytes);

        for (size_t i = 0; i < size; i++) {
            bytes[i] = weir_random_below(&random, 50) == 0
                           ? (char)weir_random_next(&random)
                           : MEANING[weir_random_below(&random, sizeof MEANING - 1)];
        }
        if (size > 0 && weir_random_below(&random, 10) > 0)
            bytes[0] = '{';
        try_anything(bytes, size);
    }
}

/* Good headers with a few bytes changed, left out or cut off. */
WEIR_TEST(headers, with_random_damage_do_no_harm)
{
    static const char GOOD[] = "{\"trace\":\"4b\\u00e9f9\\ud83d\\udca7\",\"n\":-12.5e+3,"
                               "\"tags\":[\"a\",{\"b\":[null,true]},[]],\"\":\"\"}";
    struct weir_random random;

    weir_random_init(&random, 7);
    for (int round = 0; round < 100000; round++) {
        char bytes[sizeof GOOD];
        size_t size = sizeof GOOD - 1;

        memcpy(bytes, GOOD, sizeof GOOD);
        for (uint32_t n = weir_random_below(&random, 4); n > 0; n--) {
            size_t at = weir_random_below(&random, (uint32_t)size);

            if (weir_random_below(&random, 2) == 0)
                bytes[at] = GOOD[weir_random_below(&random, sizeof GOOD - 1)];
            else
                memmove(bytes + at, bytes + at + 1, --size - at);
        }
        try_anything(bytes, size);
    }
}

/* Whatever a producer may give comes back as it was. */
WEIR_TEST(headers, come_back_as_they_were_written)
{
    static const char *const PIECES[] = {
        "a",       "\"",   "\\",       "\n",           "\x01",
        "/",       "\x7f", "\xc3\xa9", "\xe6\xb0\xb4", "\xf0\x9f\x92\xa7",
        "\\u0041", "}",    ","};
    struct weir_random random;

    weir_random_init(&random, 3);
    for (int round = 0; round < 5000; round++) {
        struct weir_header written[8];
        char names[8][8], values[8][64];
        size_t count = weir_random_below(&random, 9);
        struct weir_headers headers;
        struct weir_buf json;

        for (size_t i = 0; i < count; i++) {
            names[i][0] = (char)(' ' + weir_random_below(&random, 95));
            names[i][1] = (char)('0' + i);
            names[i][2] = '\0';
            values[i][0] = '\0';
            for (uint32_t n = weir_random_below(&random, 9); n > 0; n--)
                strcat(
                    values[i],
                    PIECES[weir_random_below(&random, sizeof PIECES / sizeof PIECES[0])]);
            written[i] = (struct weir_header){names[i], values[i]};
        }
        weir_buf_init(&json, weir_heap_system(), 10000);
        weir_headers_write(written, count, &json);
        check_status(weir_headers_read((struct weir_str){json.data, json.size},
                                       weir_heap_system(), &headers, NULL),
                     WEIR_OK);
        check_int(headers.count, count);
        for (size_t i = 0; i < count; i++) {
            check_str(headers.list[i].name, written[i].name);
            check_str(headers.list[i].value, written[i].value);
        }
        weir_headers_free(&headers, weir_heap_system());
        weir_buf_fini(&json);
    }
}

/* ---- replacing --------------------------------------------------------------------- */

static void replaces(const char *json, const char *want)
{
    static const struct weir_header NEW[] = {{"from", "a\"b"}, {"times", "2"}};
    struct weir_buf out;

    weir_buf_init(&out, weir_heap_system(), 4096);
    weir_headers_replace(json != NULL ? weir_str(json) : (struct weir_str){NULL, 0}, NEW,
                         2, &out);
    check_status(weir_buf_status(&out), WEIR_OK);
    check_str(weir_buf_text(&out), want);
    weir_buf_fini(&out);
}

#define OURS "\"from\": \"a\\\"b\", \"times\": \"2\"}"

WEIR_TEST(headers, are_added_to_those_that_stay_as_they_are_written)
{
    replaces("{\"n\":3, \"list\" : [1, {\"a\": \"}\"}] }",
             "{\"n\":3, \"list\" : [1, {\"a\": \"}\"}] , " OURS);
}

WEIR_TEST(headers, of_the_same_names_are_replaced)
{
    replaces("{\"from\":\"x\",\"trace\":\"4bf9\",\"times\": 7}",
             "{\"trace\":\"4bf9\", " OURS);
    replaces("{\"from\":\"x\"}", "{" OURS);
    replaces("{\"fro\":\"x\",\"from2\":\"y\"}", "{\"fro\":\"x\", \"from2\":\"y\", " OURS);
}

WEIR_TEST(headers, of_nothing_and_of_no_object_begin_anew)
{
    replaces(NULL, "{" OURS);
    replaces("{ }", "{" OURS);
    replaces("[1, 2]", "{" OURS);
    replaces("{\"a\":", "{" OURS);
}

/* ---- the word null ----------------------------------------------------------------- */

static void has_null_at(const char *json, size_t want)
{
    size_t index = SIZE_MAX;

    check(weir_headers_find_null(weir_str(json), &index));
    check_int(index, want);
}

WEIR_TEST(headers, tell_the_first_that_is_null)
{
    has_null_at("{\"a\":null}", 0);
    has_null_at(" { \"a\" : \"x\" , \"b\" : null\n, \"c\": null } ", 1);
    has_null_at("{\"a\":[1,{\"b\":2}],\"b\":true,\"c\":null}", 2);
}

WEIR_TEST(headers, are_not_null_for_a_text_or_a_part_that_is)
{
    static const char *const JSONS[] = {
        "{}",
        "{\"a\":\"null\"}",
        "{\"null\":\"l\"}",
        "{\"a\":[null],\"b\":{\"c\":null}}",
    };
    size_t index;

    for (size_t i = 0; i < sizeof JSONS / sizeof JSONS[0]; i++)
        check(!weir_headers_find_null(weir_str(JSONS[i]), &index));
    check(!weir_headers_find_null((struct weir_str){NULL, 0}, &index));
}
