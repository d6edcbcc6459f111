/*
 * test_record.c - one description makes the table, JSON, the lines, the schema and the
 * reference of a row.
 */
#include "view/record_list.h"

#include <string.h>

#include "kit/test.h"
#include "weir/heap.h"

enum { TEXT_SIZE_MAX = 64 << 10 };

struct crate_row {
    const char *name; /* NULL: none */
    char code[8];
    bool urgent;
    uint64_t grams;
    bool grams_is_estimate;
    int64_t age_us;
    int64_t kept_ms;
    int64_t sent_us;
    double per_s;
    const char *content;
    int64_t insured; /* -1: not */
    bool is_open;
    struct weir_record_pair stamps[2];
    size_t stamp_count;
    struct {
        int32_t x;
        int32_t y;
    } place;
};

static enum weir_tone urgent_tone(const void *row)
{
    const struct crate_row *crate = row;

    return crate->urgent ? WEIR_TONE_BAD : WEIR_TONE_PLAIN;
}

static bool is_open(const void *row)
{
    const struct crate_row *crate = row;

    return crate->is_open;
}

static const char *size_word(const void *row)
{
    const struct crate_row *crate = row;

    return crate->grams > 1000 ? "large" : "small";
}

static const char *since(const void *row, int64_t now_us, char *out)
{
    const struct crate_row *crate = row;

    return weir_output_age(now_us - crate->sent_us, out);
}

static int64_t doubled(const void *row)
{
    const struct crate_row *crate = row;

    return (int64_t)crate->grams * 2;
}

static struct weir_str content_of(const void *row)
{
    const struct crate_row *crate = row;

    return weir_str(crate->content);
}

static void each_stamp(const void *row, weir_record_emit_fn emit, void *state)
{
    const struct crate_row *crate = row;

    for (size_t i = 0; i < crate->stamp_count; i++)
        emit(state, &crate->stamps[i]);
}

static void each_name(const void *row, weir_record_emit_fn emit, void *state)
{
    const struct crate_row *crate = row;

    for (size_t i = 0; i < crate->stamp_count; i++)
        emit(state, crate->stamps[i].name);
}

static const struct weir_record_field STAMP_FIELDS[] = {
    WEIR_FIELD(struct weir_record_pair, "name", name, TEXT, "Name."),
};
static const struct weir_record STAMP = WEIR_RECORD("stamp", STAMP_FIELDS, "A stamp.");

#define CRATE(...) WEIR_FIELD(struct crate_row, __VA_ARGS__)
static const struct weir_record_field PLACE_FIELDS[] = {
    CRATE("x", place.x, I32, "To the right."),
    CRATE("y", place.y, I32, "Upwards."),
};
static const struct weir_record PLACE = WEIR_RECORD("place", PLACE_FIELDS, "A place.");

static const struct weir_record_field FIELDS[] = {
    CRATE("name", name, TEXT, "Name.", .title = "crate", .line = "crate", .empty = "-",
          .nullable = true),
    CRATE("code", code, CHARS, "Code.", .line = "code"),
    CRATE("urgent", urgent, FLAG, "In a hurry.", .title = "urgent", .column = 99,
          .tone = urgent_tone),
    CRATE("grams", grams, U64, "Weight.", .title = "grams", .line = "grams", .line_at = 1,
          .estimate = WEIR_FLAG_AT(struct crate_row, grams_is_estimate)),
    CRATE("age_seconds", age_us, US, "Age.", .title = "age"),
    CRATE("kept_seconds", kept_ms, MS, "Kept for."),
    CRATE("sent_at", sent_us, TIME, "Sent then.", .title = "sent", .line = "sent",
          .cell = since),
    CRATE("per_second", per_s, RATE, "Rate."),
    WEIR_FIELD_OF("size", WORD, "Large or small.", .title = "size", .word = size_word),
    WEIR_FIELD_OF("doubled", I64, "Twice the weight.", .compute = doubled),
    WEIR_FIELD_OF("content", BYTES, "Content.", .bytes = content_of, .known = is_open),
    CRATE("insured", insured, I64, "Worth.", .optional = true),
    WEIR_FIELD_OF("stamps", LIST, "Stamps.", .record = &STAMP, .each = each_stamp),
    WEIR_FIELD_OF("values", MAP, "Values of stamps.", .each = each_stamp,
                  .line = "stamps"),
    WEIR_FIELD_OF("names", WORDS, "Names of stamps.", .each = each_name,
                  .shown = is_open),
    WEIR_FIELD_OF("place", OBJECT, "Where it is.", .record = &PLACE),
    WEIR_FIELD_OF(NULL, PART, "", .record = &PLACE),
};
static const struct weir_record RECORD = WEIR_RECORD("crate", FIELDS, "A crate.");

static const struct crate_row ROW = {
    .name = "a \"b\"",
    .code = "x1",
    .urgent = true,
    .grams = 1200,
    .grams_is_estimate = true,
    .age_us = 4200000,
    .kept_ms = 1500,
    .sent_us = 1000000,
    .per_s = 0.04,
    .content = "hi",
    .insured = 7,
    .is_open = true,
    .stamps = {{"one", "1"}, {"two", "2"}},
    .stamp_count = 2,
    .place = {3, -4},
};
static const struct crate_row EMPTY = {.insured = -1};

enum { NOW_US = 61000000 };

static void check_json(const struct weir_record *record, const void *row,
                       const char *wanted)
{
    struct weir_buf json;

    weir_buf_init(&json, weir_heap_system(), TEXT_SIZE_MAX);
    weir_record_append_json(record, &json, NULL, row, NOW_US);
    check_str(weir_buf_text(&json), wanted);
    weir_buf_fini(&json);
}

WEIR_TEST(record, json_has_every_field_in_order_with_its_unit)
{
    check_json(&RECORD, &ROW,
               "{\"name\":\"a \\\"b\\\"\",\"code\":\"x1\",\"urgent\":true,\"grams\":1200,"
               "\"age_seconds\":4.200000,\"kept_seconds\":1.500000,"
               "\"sent_at\":\"1970-01-01T00:00:01.000000Z\",\"per_second\":0.040,"
               "\"size\":\"large\",\"doubled\":2400,\"content\":\"hi\",\"insured\":7,"
               "\"stamps\":[{\"name\":\"one\"},{\"name\":\"two\"}],"
               "\"values\":{\"one\":\"1\",\"two\":\"2\"},\"names\":[\"one\",\"two\"],"
               "\"place\":{\"x\":3,\"y\":-4},\"x\":3,\"y\":-4}");
}

/* A text that is NULL, a time that is 0 and an unknown field are null; one that is not
 * shown is not there. */
WEIR_TEST(record, json_of_nothing_has_null_and_empty_lists)
{
    check_json(&RECORD, &EMPTY,
               "{\"name\":null,\"code\":\"\",\"urgent\":false,\"grams\":0,"
               "\"age_seconds\":0.000000,\"kept_seconds\":0.000000,\"sent_at\":null,"
               "\"per_second\":0.000,\"size\":\"small\",\"doubled\":0,\"content\":null,"
               "\"stamps\":[],\"values\":{},\"place\":{\"x\":0,\"y\":0},\"x\":0,"
               "\"y\":0}");
}

static void check_table(const void *row, enum weir_tone_use tones, const char *wanted)
{
    struct weir_record_list list;
    struct weir_buf text;

    weir_record_list_init(&list, &RECORD, WEIR_FORM_TABLE, NOW_US);
    weir_buf_init(&text, weir_heap_system(), TEXT_SIZE_MAX);
    weir_record_list_add(&list, row);
    check_status(weir_table_print(&list.table, 0, tones, &text), WEIR_OK);
    check_str(weir_buf_text(&text), wanted);
    weir_buf_fini(&text);
    weir_record_list_fini(&list);
}

WEIR_TEST(record, table_has_columns_in_their_own_order)
{
    check_table(&ROW, WEIR_TONES_OFF,
                "crate  grams    age  sent       size   urgent\n"
                "a \"b\"  ~1200  4.2 s  1 min 0 s  large  yes\n");
    check_table(&EMPTY, WEIR_TONES_OFF,
                "crate  grams  age  sent       size   urgent\n"
                "-          0    -  1 min 1 s  small  no\n");
}

WEIR_TEST(record, table_has_the_tone_of_the_row)
{
    struct weir_record_list list;
    struct weir_buf text;

    weir_record_list_init(&list, &RECORD, WEIR_FORM_TABLE, NOW_US);
    weir_buf_init(&text, weir_heap_system(), TEXT_SIZE_MAX);
    weir_record_list_add(&list, &ROW);
    check_status(weir_table_print(&list.table, 0, WEIR_TONES_ON, &text), WEIR_OK);
    check(strstr(weir_buf_text(&text), "\033[31myes") != NULL);
    weir_buf_fini(&text);
    weir_record_list_fini(&list);
}

static void check_lines(const void *row, const char *wanted)
{
    struct weir_buf text;

    weir_buf_init(&text, weir_heap_system(), TEXT_SIZE_MAX);
    weir_record_append_lines(&RECORD, &text, row, NOW_US);
    check_str(weir_buf_text(&text), wanted);
    weir_buf_fini(&text);
}

WEIR_TEST(record, lines_leave_out_what_says_nothing)
{
    check_lines(&ROW, "grams         ~1200\n"
                      "crate         a \"b\"\n"
                      "code          x1\n"
                      "sent          1970-01-01T00:00:01.000000Z\n"
                      "stamps        one: 1\n"
                      "              two: 2\n");
    check_lines(&EMPTY, "grams         0\ncrate         -\n");
}

/* The form that was not asked for takes no memory. */
WEIR_TEST(record_list, composes_only_the_form_that_is_asked_for)
{
    struct weir_record_list list;
    struct weir_buf json;

    weir_record_list_init(&list, &STAMP, WEIR_FORM_JSON, 0);
    weir_buf_init(&json, weir_heap_system(), TEXT_SIZE_MAX);
    weir_record_list_add(&list, &ROW.stamps[0]);
    weir_record_list_add(&list, &ROW.stamps[1]);
    weir_record_list_append_json(&list, &json, "stamps");
    check_str(weir_buf_text(&json), "\"stamps\":[{\"name\":\"one\"},{\"name\":\"two\"}]");
    check_int((int64_t)list.count, 2);
    check_int((int64_t)list.table.cells.size, 0);
    weir_buf_fini(&json);
    weir_record_list_fini(&list);

    weir_record_list_init(&list, &RECORD, WEIR_FORM_TABLE, 0);
    weir_record_list_add(&list, &ROW);
    check_int((int64_t)list.json.size, 0);
    weir_record_list_reset(&list);
    check_int((int64_t)list.count, 0);
    weir_record_list_fini(&list);
}

static bool has(const struct weir_buf *text, const char *part)
{
    return strstr(weir_buf_text(text), part) != NULL;
}

WEIR_TEST(record, schema_has_type_sentence_and_what_is_inside)
{
    struct weir_buf json;

    weir_buf_init(&json, weir_heap_system(), TEXT_SIZE_MAX);
    weir_record_append_schema(&RECORD, &json);
    check(has(&json, "{\"title\":\"crate\",\"description\":\"A crate.\","
                     "\"type\":\"object\",\"properties\":{\"name\":{\"type\":"
                     "[\"string\",\"null\"],\"description\":\"Name.\"},"));
    check(has(&json, "\"sent_at\":{\"type\":[\"string\",\"null\"],"
                     "\"format\":\"date-time\",\"description\":\"Sent then.\"}"));
    check(has(&json, "\"stamps\":{\"type\":\"array\",\"description\":\"Stamps.\","
                     "\"items\":{\"title\":\"stamp\",\"description\":\"A stamp.\","
                     "\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\","
                     "\"description\":\"Name.\"}},\"required\":[\"name\"]}}"));
    check(has(&json, "\"values\":{\"type\":\"object\",\"description\":\"Values of "
                     "stamps.\",\"additionalProperties\":{\"type\":\"string\"}}"));
    weir_buf_fini(&json);
}

/* Fields that may be left out, or come under another key, are not required. */
WEIR_TEST(record, schema_requires_what_is_always_there)
{
    struct weir_buf json;

    weir_buf_init(&json, weir_heap_system(), TEXT_SIZE_MAX);
    weir_record_append_schema(&RECORD, &json);
    check(has(&json,
              "\"required\":[\"name\",\"code\",\"urgent\",\"grams\","
              "\"age_seconds\",\"kept_seconds\",\"sent_at\",\"per_second\","
              "\"size\",\"doubled\",\"stamps\",\"values\",\"place\",\"x\",\"y\"]}"));
    weir_buf_fini(&json);
}

WEIR_TEST(record, reference_has_a_row_for_each_field)
{
    struct weir_buf text;

    weir_buf_init(&text, weir_heap_system(), TEXT_SIZE_MAX);
    weir_record_append_reference(&RECORD, &text);
    check(has(&text, "## crate\n\nA crate.\n\n| Field | Type | |\n"));
    check(has(&text, "| `name` | text or null | Name. |\n"));
    check(has(&text, "| `age_seconds` | seconds | Age. |\n"));
    check(has(&text, "| `stamps` | list of stamp | Stamps. |\n"));
    check(has(&text, "| `place` | object place | Where it is. |\n| `x` | integer |"));
    weir_buf_fini(&text);
}
