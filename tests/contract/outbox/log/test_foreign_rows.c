/*
 * Rows that another program has written, or changed: what is out of range is refused
 * with a text, or becomes a dead letter, and never ends the process.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit/outbox/dead_letter_fixture.h"
#include "kit/outbox/sql_producer.h"
#include "outbox/queue/catalog.h"

enum { MANY = 100, SQL_SIZE_MAX = 200 * 1024 };

/* ---- queues ------------------------------------------------------------------------ */

struct flaw {
    const char *column;
    const char *value;
    const char *text;
};

static const struct flaw FLAWS[] = {
    {"partitions", "0", "partitions is 0, must be a power of two from 1 to 64"},
    {"partitions", "-1", "partitions is -1, must be a power of two from 1 to 64"},
    {"partitions", "3", "partitions is 3, must be a power of two from 1 to 64"},
    {"partitions", "128", "partitions is 128, must be a power of two from 1 to 64"},
    {"partitions", "2147483647", "partitions is 2147483647, must be a power of two"},
    {"id", "33554432", "id is 33554432, must be from 1 to 33554431"},
    {"id", "-5", "id is -5, must be from 1 to 33554431"},
    {"unread", "2", "unread is 2, must be from 0 to 1"},
    {"backlog_max", "-1", "backlog_max is -1, must be at least 0"},
    {"attempts_max", "-1", "attempts_max is -1, must be from 0 to 1000000"},
    {"attempts_max", "1000001", "attempts_max is 1000001, must be from 0 to 1000000"},
    {"retention_us", "-1", "retention_us is -1, must be from 0 to"},
    {"retain_us", "-1", "retain_us is -1, must be from 0 to"},
};

enum { FLAW_COUNT = sizeof FLAWS / sizeof FLAWS[0] };

__attribute__((format(printf, 2, 3))) static void change(struct fixture *fixture,
                                                         const char *format, ...)
{
    char *sql = malloc(SQL_SIZE_MAX);
    va_list arguments;

    check(sql != NULL);
    va_start(arguments, format);
    (void)vsnprintf(sql, SQL_SIZE_MAX, format, arguments);
    va_end(arguments);
    (void)fixture_ask(fixture, sql);
    free(sql);
}

static void make_queue(struct fixture *fixture)
{
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");

    outbox_fixture_queue(fixture, outbox, "orders", 1);
    outbox_fixture_close(outbox);
}

/* One value of the row changes, all others are as they should be. */
static void spoil(struct fixture *fixture, const struct flaw *flaw)
{
    (void)fixture_ask(fixture, "UPDATE weir_queue SET id = 1, partitions = 1, unread = 0,"
                               " backlog_max = 0, attempts_max = 0, retention_us = 0,"
                               " retain_us = 0");
    change(fixture, "UPDATE weir_queue SET %s = %s", flaw->column, flaw->value);
}

static void check_refusal(struct fixture *fixture, const struct flaw *flaw,
                          enum weir_status status)
{
    check_int(weir_status_class(status), WEIR_CLASS_STOP);
    if (strstr(fixture->error.text, "the row of queue \"orders\"") == NULL ||
        strstr(fixture->error.text, flaw->text) == NULL)
        weir_test_fail(__FILE__, __LINE__, "%s = %s: %s", flaw->column, flaw->value,
                       fixture->error.text);
}

OUTBOX_TEST(queue, with_a_value_out_of_range_is_refused_to_whoever_asks_for_it)
{
    struct weir_connection *connection;
    struct weir_queue_row row;

    make_queue(fixture);
    for (size_t i = 0; i < FLAW_COUNT; i++) {
        spoil(fixture, &FLAWS[i]);
        connection = fixture_take(fixture);
        check_refusal(
            fixture, &FLAWS[i],
            weir_catalog_find_queue(connection, "orders", &row, &fixture->error));
        fixture_give(fixture, connection);
    }
}

OUTBOX_TEST(enqueue, into_a_queue_with_a_value_out_of_range_is_refused)
{
    const struct weir_draft draft = {
        .key = "c1", .type = "order", .payload = "1", .payload_size = 1};
    struct weir_outbox *outbox;

    make_queue(fixture);
    for (size_t i = 0; i < FLAW_COUNT; i++) {
        spoil(fixture, &FLAWS[i]);
        outbox = outbox_fixture_outbox(fixture, "anna");
        check_refusal(
            fixture, &FLAWS[i],
            weir_enqueue(outbox, NULL, "orders", &draft, NULL, &fixture->error));
        outbox_fixture_close(outbox);
    }
}

/* In SQL by the functions of the servers and the extension of SQLite. */
OUTBOX_TEST(enqueue, in_sql_into_a_queue_whose_partitions_are_out_of_range_is_refused)
{
    const struct weir_draft draft = {
        .key = "c1", .type = "order", .payload = "1", .payload_size = 1};
    struct weir_connection *connection = fixture_take(fixture);

    check(sql_producer_prepare(connection));
    make_queue(fixture);
    for (size_t i = 0; i < FLAW_COUNT; i++) {
        if (strcmp(FLAWS[i].column, "partitions") != 0 &&
            strcmp(FLAWS[i].column, "id") != 0)
            continue;
        spoil(fixture, &FLAWS[i]);
        check(sql_producer_enqueue(connection, "orders", 1, &draft, &fixture->error) !=
              WEIR_OK);
        if (strstr(fixture->error.text, FLAWS[i].text) == NULL)
            weir_test_fail(__FILE__, __LINE__, "%s = %s: %s", FLAWS[i].column,
                           FLAWS[i].value, fixture->error.text);
    }
    fixture_give(fixture, connection);
}

/* ---- headers ----------------------------------------------------------------------- */

static struct letter_view only_letter(struct fixture *fixture, struct weir_outbox *outbox)
{
    struct weir_dead_letter_scope scope = letters_everything();
    struct letter_views *views =
        letters_list(fixture, outbox, &scope, WEIR_DEAD_LETTER_ANY);

    check_int(views->count, 1);
    return views->items[0];
}

static int64_t seq_of(struct fixture *fixture, struct weir_outbox *outbox)
{
    return outbox_fixture_partition(fixture, outbox, "orders", "default", 0).seq;
}

/* Give the message with this payload these headers, before it is delivered. */
static void set_headers(struct fixture *fixture, int payload, const char *json)
{
    change(fixture, "UPDATE weir_%s SET headers = '%s' WHERE payload = %s'%d'%s",
           fixture_choose(fixture, "log", "log", "incoming"), json,
           fixture_choose(fixture, "CAST(", "", ""), payload,
           fixture_choose(fixture, " AS BLOB)", "", ""));
}

static char *many_headers(int count)
{
    char *json = malloc((size_t)count * 16 + 16);
    size_t size = 0;

    check(json != NULL);
    for (int i = 0; i < count; i++)
        size += (size_t)snprintf(json + size, 16, "%s\"h%d\":1", i == 0 ? "{" : ",", i);
    memcpy(json + size, "}", 2);
    return json;
}

static void deliver_three(struct fixture *fixture, const char *headers_of_second,
                          struct recorder *recorder, struct letter_view *letter)
{
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");

    outbox_fixture_queue(fixture, outbox, "orders", 1);
    outbox_fixture_serve(fixture, outbox, "orders", recorder);
    outbox_fixture_send(fixture, outbox, "orders", 0, 3);
    set_headers(fixture, 2, headers_of_second);
    outbox_fixture_start(fixture, outbox);
    wait_until(seq_of(fixture, outbox) == 3);
    *letter = only_letter(fixture, outbox);
    outbox_fixture_close(outbox);
}

OUTBOX_TEST(message, with_too_many_headers_becomes_a_dead_letter_without_a_call)
{
    struct recorder *recorder = recorder_new();
    char *headers = many_headers(MANY);
    struct letter_view letter;

    deliver_three(fixture, headers, recorder, &letter);

    check_int(letter.seq, 2);
    check_str(letter.reason, "header_count is 100, must be at most 64");
    check_int(recorder_count(recorder), 2);
    check_int(recorder_times(recorder, 0, 2), 0);
    free(headers);
}

OUTBOX_TEST(message, with_headers_that_are_too_large_becomes_a_dead_letter_without_a_call)
{
    enum { SIZE = 40000 };
    struct recorder *recorder = recorder_new();
    char *headers = malloc(SIZE + 16);
    struct letter_view letter;

    check(headers != NULL);
    (void)snprintf(headers, SIZE + 16, "{\"h\":\"%*s\"}", SIZE, "x");
    deliver_three(fixture, headers, recorder, &letter);

    check_int(letter.seq, 2);
    check_str(letter.reason,
              "headers have 40001 bytes, names and values must have at most 16384 bytes "
              "together");
    check_int(recorder_times(recorder, 0, 2), 0);
    free(headers);
}

/* Those that are allowed, and what a requeue adds. */
OUTBOX_TEST(message, with_all_headers_that_are_allowed_may_be_requeued)
{
    struct recorder *recorder = recorder_new();
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");
    char *headers = many_headers(WEIR_HEADERS_MAX);
    struct weir_dead_letter_scope scope = letters_everything();
    struct weir_dead_letter_progress progress;

    recorder_answer(recorder, 1, ALWAYS, ANSWER_REJECT);
    outbox_fixture_queue(fixture, outbox, "orders", 1);
    outbox_fixture_serve(fixture, outbox, "orders", recorder);
    outbox_fixture_send(fixture, outbox, "orders", 0, 1);
    set_headers(fixture, 1, headers);
    outbox_fixture_start(fixture, outbox);
    wait_until(seq_of(fixture, outbox) == 1);
    check_db(weir_dead_letter_requeue_all(outbox, &scope, NULL, NULL, &progress,
                                          &fixture->error),
             WEIR_OK);
    wait_until(seq_of(fixture, outbox) == 2);

    check_int(recorder_times(recorder, 0, 2), 1);
    outbox_fixture_close(outbox);
    free(headers);
}
