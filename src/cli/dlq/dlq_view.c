/*
 * dlq_view.c - see dlq_view.h.
 */
#include "cli/dlq/dlq_view.h"

#include <inttypes.h>

#include "base/codec/base64.h"
#include "base/count.h"
#include "base/noun.h"
#include "base/utf8.h"
#include "db/clock.h"
#include "weir/heap.h"

enum { JSON_SIZE_MAX = 256 << 20 };

static const struct weir_table_column COLUMNS[] = {
    {.title = "id", .align = WEIR_TABLE_RIGHT},
    {.title = "queue", .cut_to = 12},
    {.title = "subscription", .cut_to = 10, .rank = 2},
    {.title = "partition", .align = WEIR_TABLE_RIGHT, .rank = 3},
    {.title = "seq", .align = WEIR_TABLE_RIGHT, .rank = 4},
    {.title = "key", .cut_to = 8, .rank = 5},
    {.title = "type", .cut_to = 8, .rank = 6},
    {.title = "status"},
    {.title = "attempts", .align = WEIR_TABLE_RIGHT, .rank = 1},
    {.title = "failed", .align = WEIR_TABLE_RIGHT},
    {.title = "reason", .cut_to = 16},
};

void weir_dlq_view_init(struct weir_dlq_view *self, bool payloads)
{
    weir_table_init(&self->table, weir_heap_system(), COLUMNS, COUNT_OF(COLUMNS));
    weir_buf_init(&self->json, weir_heap_system(), JSON_SIZE_MAX);
    self->payloads = payloads;
    self->now_us = weir_clock_wall_us();
    self->count = 0;
}

void weir_dlq_view_fini(struct weir_dlq_view *self)
{
    weir_table_fini(&self->table);
    weir_buf_fini(&self->json);
}

static enum weir_tone tone_of(enum weir_dead_letter_status status)
{
    if (status == WEIR_DEAD_LETTER_PENDING)
        return WEIR_TONE_BAD;
    return status == WEIR_DEAD_LETTER_REPROCESSING ? WEIR_TONE_CAREFUL : WEIR_TONE_PLAIN;
}

static const char *status_text(const struct weir_dead_letter *letter)
{
    return letter->requeued ? "requeued" : weir_dead_letter_status_name(letter->status);
}

static void add_row(struct weir_dlq_view *self, const struct weir_dead_letter *letter)
{
    struct weir_table *table = &self->table;
    int64_t age_us = self->now_us - letter->failed_us;
    char age[WEIR_AGE_SIZE];

    weir_table_add(table, WEIR_TONE_PLAIN, "%" PRId64, letter->id);
    weir_table_add(table, WEIR_TONE_PLAIN, "%s", letter->queue);
    weir_table_add(table, WEIR_TONE_PLAIN, "%s", letter->subscription);
    weir_table_add(table, WEIR_TONE_PLAIN, "%" PRId32, letter->partition);
    weir_table_add(table, WEIR_TONE_PLAIN, "%" PRId64, letter->seq);
    weir_table_add(table, WEIR_TONE_PLAIN, "%s", letter->key != NULL ? letter->key : "-");
    weir_table_add(table, WEIR_TONE_PLAIN, "%s", letter->type);
    weir_table_add(table, tone_of(letter->status), "%s", status_text(letter));
    weir_table_add(table, WEIR_TONE_PLAIN, "%" PRIu32, letter->attempts);
    weir_table_add(table, WEIR_TONE_PLAIN, "%s ago",
                   weir_output_age(age_us > 1000 ? age_us : 1000, age));
    weir_table_add(table, WEIR_TONE_PLAIN, "%s", letter->reason);
}

void weir_dlq_view_add(void *state, const struct weir_dead_letter *letter)
{
    struct weir_dlq_view *self = state;

    self->count++;
    add_row(self, letter);
    weir_dlq_append_json(&self->json, letter, self->payloads);
}

void weir_dlq_view_append_json(const struct weir_dlq_view *self, struct weir_buf *json)
{
    weir_output_open(json, "dead_letters", "[");
    weir_buf_append(json, weir_buf_text(&self->json), self->json.size);
    weir_buf_append_text(json, "]");
}

/* ---- JSON -------------------------------------------------------------------------- */

static void add_uid(struct weir_buf *json, const char *name, const uint8_t *uid)
{
    char text[WEIR_UID_TEXT_SIZE];

    weir_output_add_text(json, name, weir_uid_format(uid, text));
}

static void add_headers(struct weir_buf *json, const struct weir_dead_letter *letter)
{
    weir_output_open(json, "headers", "{");
    for (size_t i = 0; i < letter->header_count; i++)
        weir_output_add_text(json, letter->headers[i].name, letter->headers[i].value);
    weir_buf_append_text(json, "}");
}

void weir_dlq_append_json(struct weir_buf *json, const struct weir_dead_letter *letter,
                          bool payload)
{
    weir_output_open(json, NULL, "{");
    weir_output_add_number(json, "id", letter->id);
    weir_output_add_text(json, "queue", letter->queue);
    weir_output_add_text(json, "subscription", letter->subscription);
    weir_output_add_number(json, "partition", letter->partition);
    weir_output_add_number(json, "seq", letter->seq);
    add_uid(json, "uid", letter->uid);
    if (letter->key != NULL)
        weir_output_add_text(json, "key", letter->key);
    else
        weir_output_open(json, "key", "null");
    weir_output_add_text(json, "type", letter->type);
    if (letter->payload != NULL)
        add_headers(json, letter);
    weir_output_add_text(json, "status", weir_dead_letter_status_name(letter->status));
    weir_output_add_number(json, "attempts", letter->attempts);
    weir_output_add_text(json, "reason", letter->reason);
    weir_output_add_time(json, "created_at", letter->created_us);
    weir_output_add_time(json, "failed_at", letter->failed_us);
    weir_output_add_time(json, "deadline_at", letter->deadline_us);
    weir_output_add_time(json, "completed_at", letter->completed_us);
    if (letter->requeued)
        add_uid(json, "requeued_uid", letter->requeued_uid);
    else
        weir_output_open(json, "requeued_uid", "null");
    if (letter->payload != NULL)
        weir_output_add_number(json, "payload_size", (int64_t)letter->payload_size);
    if (payload)
        weir_output_add_bytes(json, "payload",
                              (struct weir_str){letter->payload, letter->payload_size});
    weir_buf_append_text(json, "}");
}

/* ---- in full ----------------------------------------------------------------------- */

static void add_payload_lines(struct weir_buf *text,
                              const struct weir_dead_letter *letter)
{
    struct weir_str payload = {letter->payload, letter->payload_size};
    bool readable = weir_utf8_valid(payload);

    weir_buf_append_format(text, "%-13s %zu %s%s\n\n", "payload", payload.size,
                           WEIR_NOUN(payload.size, "byte", "bytes"),
                           readable ? "" : ", in base64");
    if (readable)
        weir_buf_append(text, payload.data, payload.size);
    else
        weir_base64_append(text, payload.data, payload.size);
}

void weir_dlq_append_text(struct weir_buf *text, const struct weir_dead_letter *letter)
{
    char uid[WEIR_UID_TEXT_SIZE];

    weir_buf_append_format(text, "%-13s %" PRId64 "\n", "dead letter", letter->id);
    weir_buf_append_format(text, "%-13s %s/%s/%" PRId32 "/%" PRId64 "\n", "of",
                           letter->queue, letter->subscription, letter->partition,
                           letter->seq);
    weir_output_line(text, "status", status_text(letter));
    weir_buf_append_format(text, "%-13s %" PRIu32 "\n", "attempts", letter->attempts);
    weir_output_line(text, "reason", letter->reason);
    weir_output_time_line(text, "created", letter->created_us);
    weir_output_time_line(text, "failed", letter->failed_us);
    weir_output_time_line(text, "claimed until", letter->deadline_us);
    weir_output_time_line(text, "completed", letter->completed_us);
    weir_output_line(text, "uid", weir_uid_format(letter->uid, uid));
    if (letter->requeued)
        weir_output_line(text, "requeued as", weir_uid_format(letter->requeued_uid, uid));
    weir_output_line(text, "key", letter->key != NULL ? letter->key : "-");
    weir_output_line(text, "type", letter->type);
    for (size_t i = 0; i < letter->header_count; i++)
        weir_buf_append_format(text, "%-13s %s: %s\n", i == 0 ? "headers" : "",
                               letter->headers[i].name, letter->headers[i].value);
    add_payload_lines(text, letter);
}
