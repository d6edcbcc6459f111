/*
 * queue_view.c - see queue_view.h.
 */
#include "cli/queue/queue_view.h"

#include <inttypes.h>

#include "base/count.h"
#include "base/duration.h"
#include "cli/queue/queue_policies.h"
#include "execution/events.h"
#include "weir/heap.h"

enum { JSON_SIZE_MAX = 64 << 20, POLICIES_SIZE_MAX = 4096, DURATION_SIZE = 64 };

static const struct weir_table_column COLUMNS[] = {
    {.title = "queue", .cut_to = 12},
    {.title = "partitions", .align = WEIR_TABLE_RIGHT, .rank = 4},
    {.title = "paused", .rank = 3},
    {.title = "subscriptions", .align = WEIR_TABLE_RIGHT, .rank = 5},
    {.title = "waiting", .align = WEIR_TABLE_RIGHT},
    {.title = "oldest", .align = WEIR_TABLE_RIGHT},
    {.title = "in/s", .align = WEIR_TABLE_RIGHT, .rank = 2},
    {.title = "out/s", .align = WEIR_TABLE_RIGHT, .rank = 1},
    {.title = "set aside", .align = WEIR_TABLE_RIGHT, .rank = 6},
    {.title = "dead letters", .align = WEIR_TABLE_RIGHT},
    {.title = "policies", .cut_to = 10, .rank = 7},
};

void weir_queue_view_init(struct weir_queue_view *self)
{
    weir_table_init(&self->table, weir_heap_system(), COLUMNS, COUNT_OF(COLUMNS));
    weir_buf_init(&self->json, weir_heap_system(), JSON_SIZE_MAX);
    weir_buf_init(&self->retained, weir_heap_system(), JSON_SIZE_MAX);
    self->count = 0;
    self->terse = false;
}

void weir_queue_view_fini(struct weir_queue_view *self)
{
    weir_table_fini(&self->table);
    weir_buf_fini(&self->json);
    weir_buf_fini(&self->retained);
}

void weir_queue_view_reset(struct weir_queue_view *self)
{
    weir_table_reset(&self->table);
    weir_buf_reset(&self->json);
    weir_buf_reset(&self->retained);
    self->count = 0;
}

static struct weir_queue_options policies_of(const struct weir_queue_info *info)
{
    return (struct weir_queue_options){
        .unread = info->unread,
        .backlog_max = info->backlog_max,
        .attempts_max = info->attempts_max,
        .dead_letter_retention_ns = info->dead_letter_retention_us * 1000,
        .retain_ns = info->retain_us * 1000,
    };
}

static void add_policies(struct weir_table *table, const struct weir_queue_info *info)
{
    const struct weir_queue_options policies = policies_of(info);
    struct weir_buf text;

    weir_buf_init(&text, weir_heap_system(), POLICIES_SIZE_MAX);
    weir_queue_policies_append_set(&text, &policies);
    weir_table_add(table, WEIR_TONE_PLAIN, "%s", weir_buf_text(&text));
    weir_buf_fini(&text);
}

static void add_row(struct weir_table *table, const struct weir_queue_info *info)
{
    char text[WEIR_AGE_SIZE > WEIR_COUNT_SIZE ? WEIR_AGE_SIZE : WEIR_COUNT_SIZE];
    char rate[WEIR_RATE_SIZE];

    weir_table_add(table, WEIR_TONE_PLAIN, "%s", info->name);
    weir_table_add(table, WEIR_TONE_PLAIN, "%" PRId32, info->partitions);
    weir_table_add(table, info->paused ? WEIR_TONE_CAREFUL : WEIR_TONE_PLAIN, "%s",
                   info->paused ? "yes" : "no");
    weir_table_add(table, WEIR_TONE_PLAIN, "%" PRIu32, info->subscriptions);
    weir_table_add(table, WEIR_TONE_PLAIN, "%s",
                   weir_output_count(info->waiting, info->waiting_is_estimate, text));
    weir_table_add(table, WEIR_TONE_PLAIN, "%s",
                   weir_output_age(info->oldest_age_us, text));
    weir_table_add(table, WEIR_TONE_PLAIN, "%s", weir_output_rate(info->in_per_s, rate));
    weir_table_add(table, WEIR_TONE_PLAIN, "%s", weir_output_rate(info->out_per_s, rate));
    weir_table_add(table, WEIR_TONE_PLAIN, "%" PRId64, info->aside);
    weir_table_add(table, info->dead_letters > 0 ? WEIR_TONE_BAD : WEIR_TONE_PLAIN,
                   "%" PRId64, info->dead_letters);
    add_policies(table, info);
}

/* From when on a queue that keeps what was delivered has everything. */
static void note_retained(struct weir_buf *text, const struct weir_queue_info *info)
{
    char duration[DURATION_SIZE];
    char time[WEIR_OUTPUT_TIME_SIZE];

    if (info->retain_us > 0)
        weir_buf_append_format(
            text, "'%s' keeps %s: everything since %s is there\n", info->name,
            weir_duration_spell(info->retain_us * 1000, duration, sizeof duration),
            weir_output_time(info->whole_from_us, time));
}

void weir_queue_view_append_retained(const struct weir_queue_view *self,
                                     struct weir_buf *text)
{
    if (self->retained.size > 0)
        weir_buf_append_text(text, "\n");
    weir_buf_append(text, weir_buf_text(&self->retained), self->retained.size);
}

void weir_queue_view_add(void *state, const struct weir_queue_info *info)
{
    struct weir_queue_view *self = state;
    struct weir_buf *json = &self->json;

    if (!self->terse || info->subscriptions > 0 || !weir_events_is_queue(info->name)) {
        self->count++;
        add_row(&self->table, info);
    }
    note_retained(&self->retained, info);
    weir_output_open(json, NULL, "{");
    weir_output_add_text(json, "name", info->name);
    weir_output_add_number(json, "partitions", info->partitions);
    weir_output_add_flag(json, "paused", info->paused);
    weir_output_add_number(json, "subscriptions", info->subscriptions);
    weir_output_add_text(json, "unread", weir_queue_policies_unread(info->unread));
    weir_output_add_number(json, "backlog_max", info->backlog_max);
    weir_output_add_number(json, "waiting", info->waiting);
    weir_output_add_flag(json, "waiting_is_estimate", info->waiting_is_estimate);
    weir_output_add_seconds(json, "oldest_age_seconds", info->oldest_age_us);
    weir_output_add_rate(json, "in_per_second", info->in_per_s);
    weir_output_add_rate(json, "out_per_second", info->out_per_s);
    weir_output_add_number(json, "set_aside", info->aside);
    weir_output_add_number(json, "dead_letters", info->dead_letters);
    weir_output_add_number(json, "attempts_max", info->attempts_max);
    weir_output_add_seconds(json, "dead_letter_retention_seconds",
                            info->dead_letter_retention_us);
    weir_output_add_seconds(json, "retain_seconds", info->retain_us);
    weir_output_add_time(json, "complete_since", info->whole_from_us);
    weir_buf_append_text(json, "}");
}

void weir_queue_view_append_json(const struct weir_queue_view *self,
                                 struct weir_buf *json)
{
    weir_output_open(json, "queues", "[");
    weir_buf_append(json, weir_buf_text(&self->json), self->json.size);
    weir_buf_append_text(json, "]");
}
