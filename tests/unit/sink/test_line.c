/*
 * Tests of sink/line.c and sink/chunk.c. SQLite's reader of JSON says whether it is JSON.
 */
#include "sink/line.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "sink/chunk.h"
#include "sink_fixture.h"

static struct weir_message sample(void)
{
    return (struct weir_message){
        .queue = "orders",
        .partition = 3,
        .seq = 17,
        .uid = {0x00, 0x01, 0x0f, 0xff, 0xa0},
        .key = "anna",
        .type = "order.paid",
        .payload = "{\"total\": 12}",
        .payload_size = 13,
        .attempts = 2,
        .epoch = 5,
        .created_us = 1772366400000001,
    };
}

/* The line must be this one. */
static void reads(const struct weir_message *message, const char *want)
{
    struct weir_buf out;

    weir_buf_init(&out, weir_heap_system(), 1 << 20);
    weir_line_append(&out, message);
    check_status(weir_buf_status(&out), WEIR_OK);
    check_str(weir_buf_text(&out), want);
    weir_buf_fini(&out);
}

/* The line must end like this. */
static void ends(const struct weir_message *message, const char *want)
{
    struct weir_buf out;
    const char *text;

    weir_buf_init(&out, weir_heap_system(), 1 << 20);
    weir_line_append(&out, message);
    text = weir_buf_text(&out);
    check(strlen(text) >= strlen(want));
    check_str(text + strlen(text) - strlen(want), want);
    check_int(count_lines(text), 1);
    weir_buf_fini(&out);
}

static void payload_ends(const char *bytes, size_t size, const char *want)
{
    struct weir_message message = sample();

    message.payload = bytes;
    message.payload_size = size;
    ends(&message, want);
}

WEIR_TEST(line, has_all_fields_in_order)
{
    const struct weir_header headers[] = {{"trace", "7"}, {"lang", "de"}};
    struct weir_message message = sample();

    message.headers = headers;
    message.header_count = 2;
    reads(&message,
          "{\"queue\":\"orders\",\"partition\":3,\"seq\":17,"
          "\"id\":\"00010fffa00000000000000000000000\",\"key\":\"anna\","
          "\"type\":\"order.paid\",\"headers\":{\"trace\":\"7\",\"lang\":\"de\"},"
          "\"attempts\":2,\"epoch\":5,\"created_at\":\"2026-03-01T12:00:00.000001Z\","
          "\"payload\":\"{\\\"total\\\": 12}\"}\n");
}

WEIR_TEST(line, says_null_when_there_is_no_key)
{
    struct weir_message message = sample();

    message.key = NULL;
    message.payload = NULL;
    message.payload_size = 0;
    reads(&message,
          "{\"queue\":\"orders\",\"partition\":3,\"seq\":17,"
          "\"id\":\"00010fffa00000000000000000000000\",\"key\":null,"
          "\"type\":\"order.paid\",\"headers\":{},"
          "\"attempts\":2,\"epoch\":5,\"created_at\":\"2026-03-01T12:00:00.000001Z\","
          "\"payload\":\"\"}\n");
}

WEIR_TEST(line, lets_the_last_of_equal_headers_count)
{
    const struct weir_header headers[] = {{"a", "1"}, {"b", "2"}, {"a", "3"}};
    struct weir_message message = sample();
    struct weir_buf out;

    message.headers = headers;
    message.header_count = 3;
    weir_buf_init(&out, weir_heap_system(), 1 << 20);
    weir_line_append(&out, &message);
    check(strstr(weir_buf_text(&out), "\"headers\":{\"b\":\"2\",\"a\":\"3\"}") != NULL);
    weir_buf_fini(&out);
}

/* So many that comparing each with all others would take longer than a lease. */
WEIR_TEST(line, lets_the_last_of_equal_headers_count_among_a_hundred_thousand)
{
    enum { COUNT = 100000, NAME_SIZE = 12 };
    struct weir_header *headers = calloc(COUNT, sizeof *headers);
    char(*names)[NAME_SIZE] = calloc(COUNT, NAME_SIZE);
    struct weir_message message = sample();
    struct weir_buf out;

    check(headers != NULL && names != NULL);
    for (int i = 0; i < COUNT; i++) {
        snprintf(names[i], NAME_SIZE, "h%d", i % (COUNT - 1));
        headers[i] = (struct weir_header){names[i], i == 0 ? "first" : "later"};
    }
    message.headers = headers;
    message.header_count = COUNT;
    weir_buf_init(&out, weir_heap_system(), 1 << 25);
    weir_line_append(&out, &message);

    check_status(weir_buf_status(&out), WEIR_OK);
    check(strstr(weir_buf_text(&out), "first") == NULL);
    check(strstr(weir_buf_text(&out), "{\"h1\":\"later\",\"h2\":") != NULL);
    check(strstr(weir_buf_text(&out), ",\"h0\":\"later\"},\"attempts\"") != NULL);
    weir_buf_fini(&out);
    free(names);
    free(headers);
}

WEIR_TEST(line, escapes_texts)
{
    const struct weir_header headers[] = {{"a\"b", "c\\d\ne"}};
    struct weir_message message = sample();
    struct weir_buf out;

    message.key = "k\"\\\t";
    message.headers = headers;
    message.header_count = 1;
    weir_buf_init(&out, weir_heap_system(), 1 << 20);
    weir_line_append(&out, &message);
    check(strstr(weir_buf_text(&out), "\"key\":\"k\\\"\\\\\\u0009\"") != NULL);
    check(strstr(weir_buf_text(&out), "{\"a\\\"b\":\"c\\\\d\\ne\"}") != NULL);
    weir_buf_fini(&out);
}

WEIR_TEST(line, shows_a_payload_that_is_utf8_as_text)
{
    payload_ends("a\nb", 3, "\"payload\":\"a\\nb\"}\n");
    payload_ends("a\0b", 3, "\"payload\":\"a\\u0000b\"}\n");
    payload_ends("\xe2\x82\xac", 3, "\"payload\":\"\xe2\x82\xac\"}\n");
    payload_ends("\xe2\x80\xa8", 3, "\"payload\":\"\xe2\x80\xa8\"}\n");
}

WEIR_TEST(line, shows_any_other_payload_in_base64)
{
    payload_ends("\xff", 1, "\"payload_base64\":\"/w==\"}\n");
    payload_ends("a\xc3", 2, "\"payload_base64\":\"YcM=\"}\n");
    payload_ends("\xed\xa0\x80", 3, "\"payload_base64\":\"7aCA\"}\n");
    payload_ends("\n\n\xfe", 3, "\"payload_base64\":\"Cgr+\"}\n");
}

/* ---- times ------------------------------------------------------------------------- */

static void spells(int64_t time_us, const char *want)
{
    char out[WEIR_LINE_TIME_SIZE];

    check_str(weir_line_format_time(time_us, out), want);
}

WEIR_TEST(line, spells_times_in_utc_with_microseconds)
{
    spells(0, "1970-01-01T00:00:00.000000Z");
    spells(999999, "1970-01-01T00:00:00.999999Z");
    spells(951782400000000, "2000-02-29T00:00:00.000000Z");
    spells(4102444799999999, "2099-12-31T23:59:59.999999Z");
    spells(-1, "1969-12-31T23:59:59.999999Z");
    spells(INT64_MAX, "294247-01-10T04:00:54.775807Z");
    spells(INT64_MIN, "-290308-12-21T19:59:05.224192Z");
}

/* ---- as JSON ----------------------------------------------------------------------- */

static int64_t ask_json(sqlite3 *db, const char *sql, struct weir_str line,
                        struct weir_str payload)
{
    sqlite3_stmt *statement = NULL;
    int64_t answer;

    check_int(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
    sqlite3_bind_text(statement, 1, line.data, (int)line.size, SQLITE_STATIC);
    sqlite3_bind_text(statement, 2, payload.data, (int)payload.size, SQLITE_STATIC);
    check_int(sqlite3_step(statement), SQLITE_ROW);
    answer = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return answer;
}

/* 1 to 4 bytes; mostly of a kind that wants care. */
static size_t random_piece(uint32_t *seed, char *out)
{
    static const char *const PIECES[] = {
        "\"", "\\",       "\n", "\x01",    "\x7f",
        "a",  "\xc3\xbc", "\b", "\\u0041", "\xf0\x9f\x8c\x8a"};
    const char *piece;

    *seed = *seed * 1664525U + 1013904223U;
    piece = PIECES[(*seed >> 16) % (sizeof PIECES / sizeof PIECES[0])];
    memcpy(out, piece, strlen(piece));
    return strlen(piece);
}

WEIR_TEST(line, gives_the_payload_back_when_read_as_json)
{
    struct weir_message message = sample();
    uint32_t seed = 7;
    sqlite3 *db = NULL;
    char payload[512];

    check_int(sqlite3_open(":memory:", &db), SQLITE_OK);
    for (int round = 0; round < 500; round++) {
        struct weir_buf out;
        size_t size = 0;

        for (int i = 0; i < round % 60; i++)
            size += random_piece(&seed, payload + size);
        message.payload = payload;
        message.payload_size = size;
        weir_buf_init(&out, weir_heap_system(), 1 << 20);
        weir_line_append(&out, &message);
        check_int(ask_json(db,
                           "SELECT json_valid(?1) AND json_extract(?1, '$.payload') = ?2 "
                           "AND json_extract(?1, '$.seq') = 17",
                           weir_buf_get(&out), (struct weir_str){payload, size}),
                  1);
        check_int(count_lines(weir_buf_text(&out)), 1);
        weir_buf_fini(&out);
    }
    sqlite3_close(db);
}

/* ---- chunks ------------------------------------------------------------------------ */

WEIR_TEST(chunk, ends_when_there_is_enough)
{
    struct sink_fixture sink_fixture;
    struct weir_buf buf;
    size_t count = 0;

    sink_fixture_init(&sink_fixture);
    sink_fixture_fill(&sink_fixture, 10);
    weir_buf_init(&buf, weir_heap_system(), 1 << 20);

    check_status(weir_chunk_fill(&sink_fixture.batch, &buf, 1, &count), WEIR_OK);
    check_int(count, 1);
    check_int(count_lines(weir_buf_text(&buf)), 1);
    check_status(weir_chunk_fill(&sink_fixture.batch, &buf, 1 << 20, &count), WEIR_OK);
    check_int(count, 9);
    check_int(count_lines(weir_buf_text(&buf)), 9);
    check_status(weir_chunk_fill(&sink_fixture.batch, &buf, 1 << 20, &count), WEIR_OK);
    check_int(count, 0);
    weir_buf_fini(&buf);
    sink_fixture_close(&sink_fixture);
}

WEIR_TEST(chunk, has_whole_lines_when_memory_is_out)
{
    struct sink_fixture sink_fixture;
    struct weir_buf buf;
    size_t count = 0;

    sink_fixture_init(&sink_fixture);
    sink_fixture_fill(&sink_fixture, 10);
    weir_buf_init(&buf, weir_heap_system(), 1000);

    check_status(weir_chunk_fill(&sink_fixture.batch, &buf, 1 << 20, &count),
                 WEIR_NO_MEMORY);
    check_in_range(count, 1, 9);
    check_int(count_lines(buf.data) >= count, 1);
    check(buf.data[buf.size - 1] == '\n');
    check_int(sink_fixture.batch.taken, count + 1);
    weir_buf_fini(&buf);
    sink_fixture_close(&sink_fixture);
}
