/*
 * Tests of outbox/names.c: what is accepted, what is refused, with which status, and
 * that the text names the thing, the value and the limit.
 */
#include "outbox/names.h"

#include <string.h>

#include "kit/alloc_failures.h"
#include "kit/test.h"
#include "weir/heap.h"

/* The text contains each of up to three words. */
static void says(const struct weir_error *error, const char *a, const char *b,
                 const char *c)
{
    const char *const words[] = {a, b, c};

    for (size_t i = 0; i < 3; i++) {
        if (words[i] != NULL && strstr(error->text, words[i]) == NULL)
            weir_test_fail(__FILE__, __LINE__, "\"%s\" is not in \"%s\"", words[i],
                           error->text);
    }
}

static const char *repeat(char c, size_t count)
{
    static char text[WEIR_HEADERS_SIZE_MAX + 100];

    memset(text, c, count);
    text[count] = '\0';
    return text;
}

/* ---- names of queues --------------------------------------------------------------- */

static void accepts_name(const char *name)
{
    check_status(weir_queue_name_check("queue name", name, NULL), WEIR_OK);
}

static void refuses_name(const char *name, const char *value, const char *why)
{
    struct weir_error error;

    check_status(weir_queue_name_check("queue name", name, &error), WEIR_INVALID);
    check_status(error.status, WEIR_INVALID);
    says(&error, "queue name", value, why);
}

WEIR_TEST(queue_name, may_be_simple)
{
    accepts_name("orders");
}

WEIR_TEST(queue_name, may_have_dots_dashes_and_underscores_inside)
{
    accepts_name("shop.orders-v2_eu");
    accepts_name("a..b--c__d");
}

WEIR_TEST(queue_name, may_be_a_single_letter_or_digit)
{
    accepts_name("a");
    accepts_name("Z");
    accepts_name("0");
}

WEIR_TEST(queue_name, may_have_1024_characters_and_not_1025)
{
    accepts_name(repeat('q', 1024));

    refuses_name(repeat('q', 1025), "\"qqqqqq", "at most 1024 characters");
}

WEIR_TEST(queue_name, may_mix_cases)
{
    accepts_name("OrdersOfToday9");
}

WEIR_TEST(queue_name, must_not_be_empty)
{
    refuses_name("", "empty", "1 to 1024 characters");
    refuses_name(NULL, "NULL", "1 to 1024 characters");
}

WEIR_TEST(queue_name, must_begin_with_a_letter_or_digit)
{
    refuses_name(".orders", "\".orders\"", "begin and end");
    refuses_name("-orders", "\"-orders\"", "begin and end");
    refuses_name("_orders", "\"_orders\"", "begin and end");
    refuses_name(".", "\".\"", "begin and end");
}

WEIR_TEST(queue_name, must_end_with_a_letter_or_digit)
{
    refuses_name("orders-", "\"orders-\"", "begin and end");
    refuses_name("orders.", "\"orders.\"", "begin and end");
    refuses_name("orders_", "\"orders_\"", "begin and end");
}

/* A zero ends a text in C, so there is no name with one; all other bytes are tried. */
WEIR_TEST(queue_name, has_no_other_bytes)
{
    for (int c = 1; c < 256; c++) {
        char name[] = "a?b";
        bool good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                    (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';

        name[1] = (char)c;
        check_status(weir_queue_name_check("queue name", name, NULL),
                     good ? WEIR_OK : WEIR_INVALID);
    }
}

WEIR_TEST(queue_name, is_refused_with_the_byte_and_its_place)
{
    refuses_name("my orders", "\"my orders\"", "0x20 at 2");
    refuses_name("a/b", "\"a/b\"", "0x2f at 1");
    refuses_name("gr\xc3\xbcn", "\"gr??n\"", "0xc3 at 2");
    refuses_name("a\n", "\"a?\"", "0x0a at 1");
}

/* Also one that somebody forgot to end. */
WEIR_TEST(queue_name, is_not_read_further_than_one_byte_beyond_its_limit)
{
    char *name = weir_heap_system()->resize(NULL, NULL, 1025);

    memset(name, 'q', 1025);
    refuses_name(name, "\"qqq", "at most 1024");
    weir_heap_system()->resize(NULL, name, 0);
}

/* ---- drafts ------------------------------------------------------------------------ */

static void accepts(const struct weir_draft *draft)
{
    struct weir_error error = {.text = ""};

    if (weir_draft_check(draft, WEIR_PAYLOAD_SIZE_DEFAULT, &error) != WEIR_OK)
        weir_test_fail(__FILE__, __LINE__, "refused: %s", error.text);
}

static void refuses(const struct weir_draft *draft, enum weir_status want,
                    const char *what, const char *value, const char *limit)
{
    struct weir_error error;

    check_status(weir_draft_check(draft, WEIR_PAYLOAD_SIZE_DEFAULT, &error), want);
    check_status(error.status, want);
    says(&error, what, value, limit);
    check_status(weir_draft_check(draft, WEIR_PAYLOAD_SIZE_DEFAULT, NULL), want);
}

static void accepts_type(const char *type)
{
    accepts(&(struct weir_draft){.type = type});
}

static void refuses_type(const char *type, const char *value, const char *limit)
{
    refuses(&(struct weir_draft){.type = type}, WEIR_INVALID, "type", value, limit);
}

WEIR_TEST(type, may_be_any_printable_ascii)
{
    accepts_type("order.created");
    accepts_type("application/json; charset=utf-8");
    accepts_type(" ~");
    accepts_type("\"quoted\\\"");
}

WEIR_TEST(type, may_have_1024_characters_and_not_1025)
{
    accepts_type(repeat('t', 1024));

    refuses_type(repeat('t', 1025), "\"tttt", "at most 1024 characters");
}

WEIR_TEST(type, must_not_be_empty)
{
    refuses_type("", "empty", "1 to 1024");
    refuses_type(NULL, "NULL", "1 to 1024");
}

WEIR_TEST(type, has_no_control_and_no_foreign_characters)
{
    refuses_type("a\nb", "\"a?b\"", "0x0a at 1");
    refuses_type("a\x1f", "\"a?\"", "0x1f at 1");
    refuses_type("\x7f", "\"?\"", "0x7f at 0");
    refuses_type("caf\xc3\xa9", "\"caf??\"", "0xc3 at 3");
}

WEIR_TEST(payload, may_be_empty)
{
    accepts(&(struct weir_draft){.type = "t", .payload = NULL, .payload_size = 0});
    accepts(&(struct weir_draft){.type = "t", .payload = "", .payload_size = 0});
}

WEIR_TEST(payload, may_have_exactly_its_limit)
{
    accepts(&(struct weir_draft){.type = "t", .payload = "x", .payload_size = 65536});
    check_status(weir_draft_check(
                     &(struct weir_draft){.type = "t", .payload = "x", .payload_size = 1},
                     1, NULL),
                 WEIR_OK);

    refuses(&(struct weir_draft){.type = "t", .payload = "x", .payload_size = 65537},
            WEIR_TOO_LARGE, "payload", "65537", "at most 65536");
    refuses(&(struct weir_draft){.type = "t", .payload = "x", .payload_size = SIZE_MAX},
            WEIR_TOO_LARGE, "payload", "18446744073709551615", "at most 65536");
}

WEIR_TEST(payload, must_be_there_when_it_has_a_size)
{
    refuses(&(struct weir_draft){.type = "t", .payload = NULL, .payload_size = 7},
            WEIR_INVALID, "payload", "NULL", "7 bytes");
}

WEIR_TEST(key, may_be_any_utf8_also_empty)
{
    accepts(&(struct weir_draft){.type = "t", .key = ""});
    accepts(&(struct weir_draft){.type = "t", .key = "customer 7"});
    accepts(&(struct weir_draft){.type = "t", .key = "\xe6\xb0\xb4\n"});

    refuses(&(struct weir_draft){.type = "t", .key = "caf\xe9"}, WEIR_INVALID, "key",
            "\"caf?\"", "UTF-8");
}

WEIR_TEST(key, may_have_1024_bytes_and_not_1025)
{
    accepts(&(struct weir_draft){.type = "t", .key = repeat('k', 1024)});

    refuses(&(struct weir_draft){.type = "t", .key = repeat('k', 1025)}, WEIR_TOO_LARGE,
            "key", "\"kkkk", "at most 1024 bytes");
}

/* ---- headers ----------------------------------------------------------------------- */

static void accepts_headers(const struct weir_header *headers, size_t count)
{
    accepts(&(struct weir_draft){.type = "t", .headers = headers, .header_count = count});
}

static void refuses_headers(const struct weir_header *headers, size_t count,
                            enum weir_status want, const char *what, const char *value,
                            const char *limit)
{
    refuses(&(struct weir_draft){.type = "t", .headers = headers, .header_count = count},
            want, what, value, limit);
}

#define HEADERS(...)                                                                     \
    (const struct weir_header[])                                                         \
    {                                                                                    \
        __VA_ARGS__                                                                      \
    }

WEIR_TEST(header, has_a_printable_name_and_any_text)
{
    accepts_headers(HEADERS({"trace id", ""}, {"\"", "\xe6\xb0\xb4\n\x01"}), 2);

    refuses_headers(HEADERS({"", "v"}), 1, WEIR_INVALID, "header name", "empty",
                    "1 to 256");
    refuses_headers(HEADERS({NULL, "v"}), 1, WEIR_INVALID, "header name", "NULL",
                    "1 to 256");
    refuses_headers(HEADERS({"a\tb", "v"}), 1, WEIR_INVALID, "header name", "\"a?b\"",
                    "0x09 at 1");
    refuses_headers(HEADERS({"a", NULL}), 1, WEIR_INVALID, "header \"a\"", "NULL",
                    "must have a value");
    refuses_headers(HEADERS({"a", "\xff"}), 1, WEIR_INVALID, "header \"a\"", "UTF-8",
                    NULL);
}

WEIR_TEST(header, may_have_a_name_of_256_characters_and_not_257)
{
    accepts_headers(HEADERS({repeat('n', 256), "v"}), 1);

    refuses_headers(HEADERS({repeat('n', 257), "v"}), 1, WEIR_INVALID, "header name",
                    "\"nnn", "at most 256 characters");
}

WEIR_TEST(header, has_a_name_of_its_own)
{
    accepts_headers(HEADERS({"a", "1"}, {"A", "2"}), 2);

    refuses_headers(HEADERS({"a", "1"}, {"b", "2"}, {"a", "1"}), 3, WEIR_INVALID,
                    "header \"a\"", "twice", "once");
}

WEIR_TEST(headers, may_be_64_and_not_65)
{
    static struct weir_header headers[65];
    static char names[65][4];

    for (size_t i = 0; i < 65; i++) {
        names[i][0] = (char)('0' + i / 10);
        names[i][1] = (char)('0' + i % 10);
        headers[i] = (struct weir_header){names[i], "v"};
    }
    accepts_headers(headers, 64);

    refuses_headers(headers, 65, WEIR_TOO_LARGE, "header_count", "65", "at most 64");
    refuses_headers(NULL, 1, WEIR_INVALID, "headers", "NULL", "a list of 1");
}

WEIR_TEST(headers, may_have_16_kib_together_and_not_more)
{
    const char *large = repeat('v', WEIR_HEADERS_SIZE_MAX - 6);

    accepts_headers(HEADERS({"ab", "cd"}, {"ef", large}), 2);

    refuses_headers(HEADERS({"ab", "cde"}, {"ef", large}), 2, WEIR_TOO_LARGE,
                    "headers up to \"ef\"", "at most 16384 bytes", NULL);
    refuses_headers(HEADERS({"ab", "cd"}, {"efg", large}), 2, WEIR_TOO_LARGE,
                    "headers up to \"efg\"", "at most 16384 bytes", NULL);
    /* the value before has left less than the next name needs */
    refuses_headers(HEADERS({"ab", large}, {"name of 11.", ""}), 2, WEIR_TOO_LARGE,
                    "headers up to \"name of 11.\"", "at most 16384 bytes", NULL);
}

WEIR_TEST(route, is_for_drafts_without_key)
{
    struct weir_draft draft = {.route = weir_route_to_partition(7), .type = "t"};

    accepts(&draft);
    draft.key = "c1";
    refuses(&draft, WEIR_INVALID, "c1", "partition 7", "only one");
    draft.key = ""; /* is a key as well */
    refuses(&draft, WEIR_INVALID, "partition 7", NULL, NULL);
}

WEIR_TEST(route, with_a_partition_that_is_not_pinned_is_refused)
{
    struct weir_draft draft = {.route = {.partition = 3}, .type = "t"};

    refuses(&draft, WEIR_INVALID, "route.partition is 3", "must be 0",
            "weir_route_to_partition");
}

WEIR_TEST(draft, is_checked_type_first_then_size_key_headers_and_route)
{
    const struct weir_header bad_header[] = {{"", ""}};
    struct weir_draft draft = {.type = "",
                               .payload = "x",
                               .payload_size = 70000,
                               .key = "\xff",
                               .route = weir_route_to_partition(1),
                               .headers = bad_header,
                               .header_count = 1};

    refuses(&draft, WEIR_INVALID, "type is empty", NULL, NULL);
    draft.type = "t";
    refuses(&draft, WEIR_TOO_LARGE, "payload", NULL, NULL);
    draft.payload_size = 1;
    refuses(&draft, WEIR_INVALID, "key", NULL, NULL);
    draft.key = "c1";
    refuses(&draft, WEIR_INVALID, "header name", NULL, NULL);
    draft.header_count = 0;
    refuses(&draft, WEIR_INVALID, "partition 1", NULL, NULL);
    draft.key = NULL;
    accepts(&draft);
}

/* ---- partitions -------------------------------------------------------------------- */

WEIR_TEST(partitions, are_a_power_of_two_from_1_to_64)
{
    for (int32_t n = -70; n <= 200; n++) {
        bool good = n == 1 || n == 2 || n == 4 || n == 8 || n == 16 || n == 32 || n == 64;

        check_status(weir_partitions_check(n, NULL), good ? WEIR_OK : WEIR_INVALID);
    }
    check_status(weir_partitions_check(INT32_MIN, NULL), WEIR_INVALID);
    check_status(weir_partitions_check(1 << 30, NULL), WEIR_INVALID);
}

WEIR_TEST(partitions, are_refused_with_number_and_limit)
{
    struct weir_error error;

    check_status(weir_partitions_check(48, &error), WEIR_INVALID);

    check_str(error.text, "partitions is 48, must be a power of two from 1 to 64");
}

WEIR_TEST(partition, is_below_their_number)
{
    check_status(weir_partition_check("q", 0, 1, NULL), WEIR_OK);
    check_status(weir_partition_check("q", 7, 8, NULL), WEIR_OK);

    check_status(weir_partition_check("q", 8, 8, NULL), WEIR_OUT_OF_RANGE);
    check_status(weir_partition_check("q", -1, 8, NULL), WEIR_OUT_OF_RANGE);
    check_status(weir_partition_check("q", INT32_MAX, 8, NULL), WEIR_OUT_OF_RANGE);
    check_status(weir_partition_check("q", INT32_MIN, 8, NULL), WEIR_OUT_OF_RANGE);
}

WEIR_TEST(partition, is_refused_with_queue_number_and_limit)
{
    struct weir_error error;

    check_status(weir_partition_check("orders", 8, 8, &error), WEIR_OUT_OF_RANGE);

    check_status(error.status, WEIR_OUT_OF_RANGE);
    check_str(error.text, "queue \"orders\": partition is 8, must be from 0 to 7");
}

/* ---- as they are stored ------------------------------------------------------------ */

static void writes(const struct weir_header *headers, size_t count, const char *want)
{
    struct weir_buf out;

    weir_buf_init(&out, weir_heap_system(), 1000);
    weir_headers_write(headers, count, &out);
    check_status(weir_buf_status(&out), WEIR_OK);
    check_str(weir_buf_text(&out), want);
    weir_buf_fini(&out);
}

WEIR_TEST(headers, are_written_as_a_json_object_of_texts)
{
    writes(HEADERS({"a", "1"}), 1, "{\"a\":\"1\"}");
    writes(HEADERS({"b", "x y"}, {"a", ""}), 2, "{\"b\":\"x y\",\"a\":\"\"}");
    writes(HEADERS({"q\"", "back\\slash\n\xe6\xb0\xb4"}), 1,
           "{\"q\\\"\":\"back\\\\slash\\u000a\xe6\xb0\xb4\"}");
}

WEIR_TEST(headers, are_nothing_when_there_are_none)
{
    writes(NULL, 0, "");
}

static enum weir_status write_some(const struct weir_heap *heap)
{
    struct weir_buf out;
    enum weir_status status;

    weir_buf_init(&out, heap, 1000);
    weir_headers_write(HEADERS({"name", "value \" of it"}, {"other", "more"}), 2, &out);
    status = weir_buf_status(&out);
    weir_buf_fini(&out);
    return status;
}

WEIR_TEST(headers, survive_any_failing_allocation_when_written)
{
    check_alloc_failures(write_some);
}
