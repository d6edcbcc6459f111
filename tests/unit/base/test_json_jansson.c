/*
 * Tests of base/json_read.c against jansson: generated texts, whole and damaged, must be
 * taken or refused by both, and have the same values.
 *
 * jansson has two limits that weir does not have: numbers beyond its types, and U+0000
 * in names. Where it refuses a text for one of them, nothing is compared.
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/count.h"
#include "base/heap.h"
#include "base/json_read.h"
#include "base/random.h"
#include "kit/test.h"

enum { ROUNDS = 60000, TEXT_SIZE_MAX = 1 << 16, LEVELS_MAX = 5 };

/* ---- generated texts --------------------------------------------------------------- */

static const char *const PIECES[] = {
    "a",
    "b",
    "name",
    "J\xc3\xb6rg",
    "\xe6\xb0\xb4",
    "\\n",
    "\\\"",
    "\\\\",
    "\\/",
    "\\u0061",
    "\\u00e9",
    "\\u6C34",
    "\\ud83d\\udca7",
    "\xf0\x9f\x92\xa7",
    "\x7f",
    " ",
    "{",
    "]",
    ":",
    ",",
};

/* Refused, or treated in a way of its own; far between, so that most texts are JSON. */
static const char *const RARE_PIECES[] = {
    "\\u0000", "\\ud83d",  "\\udca7",      "\\ud83d\\n",       "\\x", "\\u12",
    "\xff",    "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\n",  "\t",
};

static const char *const NUMBERS[] = {
    "0",
    "-0",
    "1",
    "-1",
    "9223372036854775807",
    "-9223372036854775808",
    "9007199254740993",
    "0.1",
    "-2.50",
    "1e5",
    "1E-7",
    "123.456e+10",
    "5e-324",
    "1.7976931348623157e308",
};

static const char *const RARE_NUMBERS[] = {
    "01", "+1", "1.", ".5", "1e", "-", "9223372036854775808", "1e999", "NaN", "0x10",
};

static const char *pick(struct weir_random *random, const char *const *list, size_t count)
{
    return list[weir_random_below(random, (uint32_t)count)];
}

static bool rarely(struct weir_random *random)
{
    return weir_random_below(random, 300) == 0;
}

static void add_blanks(struct weir_random *random, struct weir_buf *out)
{
    static const char *const BLANKS[] = {"", "", "", " ", "\n", "\t", "\r\n", "  "};

    weir_buf_append_text(out, pick(random, BLANKS, COUNT_OF(BLANKS)));
}

static void add_text(struct weir_random *random, struct weir_buf *out)
{
    weir_buf_append_text(out, "\"");
    for (uint32_t n = weir_random_below(random, 5); n > 0; n--)
        weir_buf_append_text(out, rarely(random)
                                      ? pick(random, RARE_PIECES, COUNT_OF(RARE_PIECES))
                                      : pick(random, PIECES, COUNT_OF(PIECES)));
    weir_buf_append_text(out, "\"");
}

static void add_number(struct weir_random *random, struct weir_buf *out)
{
    if (rarely(random))
        weir_buf_append_text(out, pick(random, RARE_NUMBERS, COUNT_OF(RARE_NUMBERS)));
    else if (weir_random_below(random, 2) == 0)
        weir_buf_append_text(out, pick(random, NUMBERS, COUNT_OF(NUMBERS)));
    else
        weir_buf_append_format(out, "%lld",
                               (long long)((int64_t)weir_random_next(random) >>
                                           weir_random_below(random, 64)));
}

static void add_value(struct weir_random *random, struct weir_buf *out, int levels);

/* Names are numbered more often than not, since two equal ones refuse the text. */
static void add_name(struct weir_random *random, struct weir_buf *out, uint32_t number)
{
    if (weir_random_below(random, 20) == 0)
        add_text(random, out);
    else
        weir_buf_append_format(out, "\"%s%u\"", pick(random, PIECES, COUNT_OF(PIECES)),
                               number);
    add_blanks(random, out);
    weir_buf_append_text(out, ":");
    add_blanks(random, out);
}

static void add_items(struct weir_random *random, struct weir_buf *out, int levels,
                      bool named)
{
    uint32_t count = weir_random_below(random, 5);

    weir_buf_append_text(out, named ? "{" : "[");
    add_blanks(random, out);
    for (uint32_t i = 0; i < count; i++) {
        if (named)
            add_name(random, out, i);
        add_value(random, out, levels - 1);
        add_blanks(random, out);
        if (i + 1 < count)
            weir_buf_append_text(out, ",");
        add_blanks(random, out);
    }
    weir_buf_append_text(out, named ? "}" : "]");
}

static void add_value(struct weir_random *random, struct weir_buf *out, int levels)
{
    static const char *const WORDS[] = {"true", "false", "null"};

    switch (weir_random_below(random, levels > 0 ? 8 : 4)) {
    case 0:
        weir_buf_append_text(out, pick(random, WORDS, COUNT_OF(WORDS)));
        break;
    case 1:
    case 2:
        add_number(random, out);
        break;
    case 3:
        add_text(random, out);
        break;
    default:
        add_items(random, out, levels, weir_random_below(random, 2) == 0);
    }
}

static void make_text(struct weir_random *random, struct weir_buf *out)
{
    weir_buf_reset(out);
    add_blanks(random, out);
    add_items(random, out, LEVELS_MAX, weir_random_below(random, 2) == 0);
    add_blanks(random, out);
    check_status(weir_buf_status(out), WEIR_OK);
}

/* One to three bytes are changed, left out or doubled; or the end is cut off. */
static void damage(struct weir_random *random, struct weir_buf *text)
{
    static const char LETTERS[] = "{}[]:,\"\\u0019a-.eE tfn\n\x01\xc3\xa9\xff";

    for (uint32_t n = 1 + weir_random_below(random, 3); n > 0 && text->size > 1; n--) {
        size_t at = weir_random_below(random, (uint32_t)text->size);

        switch (weir_random_below(random, 8)) {
        case 0:
            text->size = at;
            break;
        case 1:
        case 2:
            memmove(text->data + at, text->data + at + 1, --text->size - at);
            break;
        case 3:
            text->data[at] = text->data[weir_random_below(random, (uint32_t)text->size)];
            break;
        default:
            text->data[at] = LETTERS[weir_random_below(random, sizeof LETTERS - 1)];
        }
    }
}

/* ---- comparing --------------------------------------------------------------------- */

/* jansson keeps a zero, weir makes U+FFFD of it. */
static bool equal_text(struct weir_str value, const char *bytes, size_t size)
{
    size_t length = weir_json_text_size(value);
    char *text = malloc(length + 1);
    size_t at = 0;
    bool equal = weir_json_copy_text(value, text) == length;

    for (size_t i = 0; i < size && equal; i++) {
        const char *want = bytes[i] != '\0' ? bytes + i : "\xef\xbf\xbd";
        size_t step = bytes[i] != '\0' ? 1 : 3;

        equal = length - at >= step && memcmp(text + at, want, step) == 0;
        at += step;
    }
    free(text);
    return equal && at == length;
}

static bool equal_number(struct weir_str value, const json_t *want)
{
    char text[64];
    int64_t number;
    bool exact = weir_json_i64(value, &number);

    if (json_is_integer(want))
        return exact && number == json_integer_value(want);
    weir_json_copy_text(value, text);
    return !exact && strtod(text, NULL) == json_real_value(want);
}

static bool equal_value(struct weir_str value, const json_t *want);

static bool equal_list(struct weir_str value, const json_t *want)
{
    struct weir_json_walk walk;
    struct weir_json_item item;
    size_t count = 0;

    weir_json_walk_begin(&walk, value);
    while (weir_json_walk_next(&walk, &item)) {
        if (!equal_value(item.value, json_array_get(want, count++)))
            return false;
    }
    return count == json_array_size(want);
}

static bool equal_object(struct weir_str value, const json_t *want)
{
    struct weir_json_walk walk;
    struct weir_json_item item;
    size_t count = 0;
    bool equal = true;

    weir_json_walk_begin(&walk, value);
    for (; equal && weir_json_walk_next(&walk, &item); count++) {
        char *name = malloc(weir_json_text_size(item.name) + 1);

        weir_json_copy_text(item.name, name);
        equal = equal_value(item.value, json_object_get(want, name));
        free(name);
    }
    return equal && count == json_object_size(want);
}

static bool equal_value(struct weir_str value, const json_t *want)
{
    switch (weir_json_kind(value)) {
    case WEIR_JSON_NULL:
        return json_is_null(want);
    case WEIR_JSON_BOOL:
        return json_is_boolean(want) && (value.data[0] == 't') == json_is_true(want);
    case WEIR_JSON_NUMBER:
        return json_is_number(want) && equal_number(value, want);
    case WEIR_JSON_TEXT:
        return json_is_string(want) &&
               equal_text(value, json_string_value(want), json_string_length(want));
    case WEIR_JSON_LIST:
        return json_is_array(want) && equal_list(value, want);
    case WEIR_JSON_OBJECT:
        return json_is_object(want) && equal_object(value, want);
    }
    return false;
}

static bool is_limit_of_jansson(const json_error_t *error)
{
    enum json_error_code code = json_error_code(error);

    return code == json_error_numeric_overflow || code == json_error_null_byte_in_key;
}

/* Blanks around the whole are not part of it. */
static struct weir_str strip(struct weir_str text)
{
    static const char BLANKS[] = " \t\r\n";

    while (text.size > 0 && strchr(BLANKS, text.data[text.size - 1]) != NULL)
        text.size--;
    for (; text.size > 0 && strchr(BLANKS, text.data[0]) != NULL; text.size--)
        text.data++;
    return text;
}

/* True: both take it. */
static bool compare(struct weir_str text)
{
    const struct weir_json_rules strict = {.heap = weir_heap_system()};
    struct weir_json_fault fault = {0};
    json_error_t error;
    enum weir_status status = weir_json_check(text, &strict, &fault);
    json_t *value =
        json_loadb(text.data, text.size,
                   JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
    bool taken = value != NULL;

    if (taken != (status == WEIR_OK) && (taken || !is_limit_of_jansson(&error)))
        weir_test_fail(__FILE__, __LINE__, "%.*s: weir %s, jansson %s", (int)text.size,
                       text.data, status == WEIR_OK ? "takes it" : fault.why,
                       taken ? "takes it" : error.text);
    if (taken && !equal_value(strip(text), value))
        weir_test_fail(__FILE__, __LINE__, "%.*s: values differ", (int)text.size,
                       text.data);
    json_decref(value);
    return taken && status == WEIR_OK;
}

/* Texts that both took. */
static size_t compare_all(uint64_t seed, bool damaged)
{
    struct weir_random random;
    struct weir_buf text;
    size_t taken = 0;

    weir_random_init(&random, seed);
    weir_buf_init(&text, weir_heap_system(), TEXT_SIZE_MAX);
    for (int round = 0; round < ROUNDS; round++) {
        make_text(&random, &text);
        if (damaged)
            damage(&random, &text);
        taken += compare(weir_buf_get(&text));
    }
    weir_buf_fini(&text);
    return taken;
}

WEIR_TEST(json_read, agrees_with_jansson_on_generated_texts)
{
    size_t taken = compare_all(20261118, false);

    check(taken > ROUNDS * 8 / 10);
}

WEIR_TEST(json_read, agrees_with_jansson_on_damaged_texts)
{
    size_t taken = compare_all(7, true);

    check(taken > ROUNDS / 20);
    check(taken < ROUNDS / 2);
}
