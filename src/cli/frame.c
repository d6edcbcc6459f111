/*
 * frame.c - which columns there are, and what stands in them.
 */
#include "cli/frame.h"

#include <inttypes.h>
#include <stdarg.h>

#include "base/duration.h"
#include "base/json.h"
#include "base/text.h"
#include "weir/time.h"
#include "weir/version.h"

enum { TEXT_SIZE_MAX = 1 << 20, LINE_SIZE = 160 };

/* All but the last fit into 80 columns, the first two into 20. */
static const struct weir_table_column COLUMNS[] = {
    {.title = "worker", .width = 9},
    {.title = "state", .width = 11, .cut_to = 8},
    {.title = "executions", .align = WEIR_TABLE_RIGHT, .rank = 1},
    {.title = "failures", .align = WEIR_TABLE_RIGHT, .rank = 3},
    {.title = "in row", .align = WEIR_TABLE_RIGHT, .rank = 4},
    {.title = "waits for", .width = 10, .rank = 2},
    {.title = "last error", .width = 13, .cut_to = 10, .rank = 5},
    {.title = "what it does", .rank = 6},
};

static void append_json_worker(struct weir_buf *out,
                               const struct weir_cast_member *member);
static void add_row(struct weir_table *table, const struct weir_cast_member *member);
static void say_what_it_waits_for(const struct weir_cast_member *member, char *out,
                                  size_t size);
static enum weir_tone tone_of(enum weir_worker_state state);

void weir_frame_init(struct weir_frame *self, const struct weir_heap *heap)
{
    weir_buf_init(&self->text, heap, TEXT_SIZE_MAX);
    weir_table_init(&self->table, heap, COLUMNS, sizeof COLUMNS / sizeof COLUMNS[0]);
}

void weir_frame_fini(struct weir_frame *self)
{
    weir_table_fini(&self->table);
    weir_buf_fini(&self->text);
}

void weir_frame_reset(struct weir_frame *self)
{
    weir_buf_reset(&self->text);
}

void weir_frame_append_table(struct weir_frame *self, const struct weir_frame_look *look,
                             const struct weir_cast_snapshot *now)
{
    char elapsed[WEIR_DURATION_TEXT_SIZE];

    weir_frame_append_line(
        self, look, WEIR_TONE_TITLE, "weir %s demo: %d workers on %d threads, %s%s",
        weir_version_string(), WEIR_CAST_COUNT, WEIR_CAST_THREADS,
        weir_duration_format(now->elapsed_ns, elapsed, sizeof elapsed), look->hint);
    weir_buf_append_text(&self->text, "\n");

    weir_table_reset(&self->table);
    for (size_t i = 0; i < WEIR_CAST_COUNT; i++)
        add_row(&self->table, &now->members[i]);
    if (weir_table_print(&self->table, look->width, look->tones, &self->text) != WEIR_OK)
        weir_buf_append_text(&self->text, "(no memory for the table)\n");

    weir_buf_append_text(&self->text, "\n");
    weir_frame_append_line(self, look, WEIR_TONE_FAINT,
                           "van, a gate of %" PRIu32 ": %" PRIu32 " inside, %" PRIu32
                           " in line, %" PRIu64 " admitted so far",
                           now->van.permits, now->van.inside, now->van.waiting,
                           now->van.admitted_total);
    weir_buf_append_text(&self->text, "\n");
}

void weir_frame_append_json(struct weir_frame *self, const struct weir_cast_snapshot *now)
{
    struct weir_buf *out = &self->text;

    weir_buf_append_format(out, "{\"event\":\"snapshot\",\"elapsed_ms\":%" PRId64,
                           now->elapsed_ns / WEIR_MILLISECONDS(1));
    weir_buf_append_format(out, ",\"threads\":%d,\"workers\":[", WEIR_CAST_THREADS);
    for (size_t i = 0; i < WEIR_CAST_COUNT; i++) {
        weir_buf_append_text(out, i > 0 ? "," : "");
        append_json_worker(out, &now->members[i]);
    }
    weir_buf_append_format(
        out,
        "],\"gate\":{\"name\":\"van\",\"permits\":%" PRIu32 ",\"inside\":%" PRIu32
        ",\"waiting\":%" PRIu32 ",\"admitted_total\":%" PRIu64 "}}\n",
        now->van.permits, now->van.inside, now->van.waiting, now->van.admitted_total);
}

void weir_frame_append_line(struct weir_frame *self, const struct weir_frame_look *look,
                            enum weir_tone tone, const char *format, ...)
{
    size_t room = look->width + 1;
    char line[LINE_SIZE];
    va_list arguments;

    if (look->width == 0 || room > sizeof line)
        room = sizeof line;
    va_start(arguments, format);
    weir_text_format_list(line, room, format, arguments);
    va_end(arguments);

    weir_tone_begin(tone, look->tones, &self->text);
    weir_buf_append_text(&self->text, line);
    weir_tone_end(tone, look->tones, &self->text);
    weir_buf_append_text(&self->text, "\n");
}

static void append_json_worker(struct weir_buf *out,
                               const struct weir_cast_member *member)
{
    const struct weir_worker_info *info = &member->info;

    weir_buf_append_text(out, "{\"name\":");
    weir_json_append_text(out, info->name);
    weir_buf_append_text(out, ",\"state\":");
    weir_json_append_text(out, weir_worker_state_name(info->state));
    weir_buf_append_format(
        out,
        ",\"executions\":%" PRIu64 ",\"failures\":%" PRIu64
        ",\"failures_in_row\":%" PRIu32 ",\"panics\":%" PRIu64 ",\"due_in_ms\":",
        info->executions, info->failures, info->failures_in_row, member->panics);
    if (member->due_in_ns >= 0)
        weir_buf_append_format(out, "%" PRId64, member->due_in_ns / WEIR_MILLISECONDS(1));
    else
        weir_buf_append_text(out, "null");
    weir_buf_append_text(out, ",\"last_error\":");
    if (member->last_error[0] != '\0')
        weir_json_append_text(out, member->last_error);
    else
        weir_buf_append_text(out, "null");
    weir_buf_append_text(out, "}");
}

static void add_row(struct weir_table *table, const struct weir_cast_member *member)
{
    const struct weir_worker_info *info = &member->info;
    enum weir_tone in_row = info->failures_in_row > 0 ? WEIR_TONE_BAD : WEIR_TONE_FAINT;
    enum weir_tone failed = info->failures > 0 ? WEIR_TONE_PLAIN : WEIR_TONE_FAINT;
    char waits_for[WEIR_DURATION_TEXT_SIZE];

    say_what_it_waits_for(member, waits_for, sizeof waits_for);
    weir_table_add(table, WEIR_TONE_PLAIN, "%s", info->name);
    weir_table_add(table, tone_of(info->state), "%s",
                   weir_worker_state_name(info->state));
    weir_table_add(table, WEIR_TONE_PLAIN, "%" PRIu64, info->executions);
    weir_table_add(table, failed, "%" PRIu64, info->failures);
    weir_table_add(table, in_row, "%" PRIu32, info->failures_in_row);
    weir_table_add(table, WEIR_TONE_PLAIN, "%s", waits_for);
    weir_table_add(table, in_row, "%s", member->last_error);
    weir_table_add(table, WEIR_TONE_FAINT, "%s", member->about);
}

static void say_what_it_waits_for(const struct weir_cast_member *member, char *out,
                                  size_t size)
{
    const char *text = "";

    switch (member->info.state) {
    case WEIR_WORKER_IDLING:
        text = "a signal";
        break;
    case WEIR_WORKER_QUEUED:
        text = "a permit";
        break;
    case WEIR_WORKER_READY:
        text = "a thread";
        break;
    default:
        break;
    }
    if (member->due_in_ns >= 0)
        weir_duration_format(member->due_in_ns, out, size);
    else
        weir_text_format(out, size, "%s", text);
}

static enum weir_tone tone_of(enum weir_worker_state state)
{
    switch (state) {
    case WEIR_WORKER_RUNNING:
    case WEIR_WORKER_READY:
    case WEIR_WORKER_PACING:
        return WEIR_TONE_GOOD;
    case WEIR_WORKER_QUEUED:
    case WEIR_WORKER_BACKING_OFF:
        return WEIR_TONE_CAREFUL;
    case WEIR_WORKER_ENDED:
        return WEIR_TONE_BAD;
    case WEIR_WORKER_STARTING:
    case WEIR_WORKER_IDLING:
    case WEIR_WORKER_SLEEPING:
        break;
    }
    return WEIR_TONE_PLAIN;
}
