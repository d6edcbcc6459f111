/*
 * demo_flow_table.c - which figures there are, and where they stand.
 */
#include "cli/demo/demo_flow_table.h"

#include <inttypes.h>

#include "base/count.h"
#include "base/duration.h"
#include "base/noun.h"
#include "base/text.h"
#include "cli/demo/demo_worker_pool.h"
#include "cli/output.h"
#include "weir/time.h"

/* With two blanks between them, 79 columns while counts have up to six digits. */
static const struct weir_table_column COLUMNS[] = {
    {.title = "step", .width = 7},
    {.title = "waiting", .align = WEIR_TABLE_RIGHT, .rank = 1},
    {.title = "held", .align = WEIR_TABLE_RIGHT, .rank = 3},
    {.title = "running", .align = WEIR_TABLE_RIGHT},
    {.title = "suspended", .align = WEIR_TABLE_RIGHT, .rank = 2},
    {.title = "done", .width = 6, .align = WEIR_TABLE_RIGHT},
    {.title = "failed", .align = WEIR_TABLE_RIGHT, .rank = 4},
    {.title = "cancelled", .align = WEIR_TABLE_RIGHT, .rank = 5},
    {.title = "skipped", .align = WEIR_TABLE_RIGHT, .rank = 6},
};

void weir_flow_table_init(struct weir_flow_table *self, struct weir_demo_text *out,
                          const struct weir_heap *heap)
{
    *self = (struct weir_flow_table){.out = out};
    weir_table_init(&self->steps, heap, COLUMNS, COUNT_OF(COLUMNS));
}

void weir_flow_table_fini(struct weir_flow_table *self)
{
    weir_table_fini(&self->steps);
}

/* ---- the table --------------------------------------------------------------------- */

/* Nothing is nothing to look at. */
static void add_count(struct weir_table *table, enum weir_tone tone, int64_t count)
{
    char number[WEIR_COUNT_SIZE];

    weir_table_add(table, count > 0 ? tone : WEIR_TONE_PLAIN, "%s",
                   count > 0 ? weir_output_grouped(count, number) : "");
}

static void append_steps(struct weir_flow_table *self,
                         const struct weir_execution_view *view)
{
    struct weir_table *table = &self->steps;

    weir_table_reset(table);
    for (int i = 0; i < WEIR_STEP_COUNT; i++) {
        const struct weir_book_step *step = &view->stats.steps[i];

        weir_table_add(table, WEIR_TONE_PLAIN, "%s", WEIR_STEP_NAMES[i]);
        add_count(table, WEIR_TONE_PLAIN, step->waiting);
        add_count(table, WEIR_TONE_CAREFUL, step->held);
        add_count(table, WEIR_TONE_PLAIN, step->running);
        add_count(table, WEIR_TONE_CAREFUL, step->suspended);
        add_count(table, WEIR_TONE_GOOD, step->done);
        add_count(table, WEIR_TONE_PLAIN, step->failed);
        add_count(table, WEIR_TONE_FAINT, step->cancelled);
        add_count(table, WEIR_TONE_FAINT, step->skipped);
    }
    if (weir_table_print(table, self->out->width, self->out->tones, &self->out->text) !=
        WEIR_OK)
        weir_buf_append_text(&self->out->text, "(no memory for the table)\n");
}

/* ---- sentences --------------------------------------------------------------------- */

static void append_orders(struct weir_flow_table *self,
                          const struct weir_execution_view *view)
{
    const struct weir_book_stats *stats = &view->stats;

    weir_demo_text_append_line(self->out, WEIR_TONE_PLAIN,
                               "orders    %" PRId64 " placed, %" PRId64
                               " on the way, %" PRId64 " shipped, %" PRId64 " refused",
                               view->placed, stats->on_the_way, stats->shipped,
                               stats->refused);
}

static void append_latency(struct weir_flow_table *self,
                           const struct weir_execution_view *view)
{
    const struct weir_histogram *latency = &view->stats.latency;
    char p50[WEIR_DURATION_TEXT_SIZE], p99[WEIR_DURATION_TEXT_SIZE];

    weir_demo_text_append_line(
        self->out, WEIR_TONE_PLAIN, "shipment  p50 %s, p99 %s after the order",
        weir_duration_format(weir_histogram_percentile(latency, 50), p50, sizeof p50),
        weir_duration_format(weir_histogram_percentile(latency, 99), p99, sizeof p99));
}

static void append_bank(struct weir_flow_table *self,
                        const struct weir_execution_view *view)
{
    const struct weir_book_stats *stats = &view->stats;
    int64_t held = stats->steps[WEIR_STEP_CHARGE].held;

    weir_demo_text_append_line(self->out, held > 0 ? WEIR_TONE_CAREFUL : WEIR_TONE_PLAIN,
                               "bank      %" PRId64 " of %" PRId64
                               " %s in this second, %" PRId64 " held back for the next",
                               stats->calls, stats->calls_max,
                               WEIR_NOUN(stats->calls_max, "call", "calls"), held);
}

static void append_workers(struct weir_flow_table *self,
                           const struct weir_execution_view *view)
{
    const struct weir_book_stats *stats = &view->stats;

    weir_demo_text_append_line(
        self->out, WEIR_TONE_PLAIN,
        "workers   %d %s, %" PRIu32 " killed; %" PRId64 " taken over, %" PRId64
        " tried again",
        WEIR_WORKER_POOL_WORKERS,
        WEIR_NOUN(WEIR_WORKER_POOL_WORKERS, "process", "processes"), view->killed,
        stats->reclaims, stats->retries);
}

void weir_flow_table_append_frame(struct weir_flow_table *self,
                                  const struct weir_execution_view *view)
{
    char elapsed[WEIR_DURATION_TEXT_SIZE];

    weir_demo_text_append_line(
        self->out, WEIR_TONE_TITLE, "weir demo --flow: orders on SQLite, %s",
        weir_duration_format(view->elapsed_ns, elapsed, sizeof elapsed));
    weir_demo_text_append_line(
        self->out, WEIR_TONE_FAINT,
        "reserve > charge (budget) > approve (signal) > north or south > ship");
    weir_buf_append_text(&self->out->text, "\n");
    append_steps(self, view);
    weir_buf_append_text(&self->out->text, "\n");
    append_orders(self, view);
    append_latency(self, view);
    append_bank(self, view);
    append_workers(self, view);
    weir_buf_append_text(&self->out->text, "\n");
    if (view->trouble[0] != '\0')
        weir_demo_text_append_line(self->out, WEIR_TONE_CAREFUL, "the shop waits: %s",
                                   view->trouble);
    weir_demo_text_append_line(self->out, WEIR_TONE_FAINT, "%s", view->hint);
}

void weir_flow_table_append_row(struct weir_flow_table *self,
                                const struct weir_execution_view *view)
{
    const struct weir_book_stats *stats = &view->stats;

    weir_demo_text_append_line(
        self->out, WEIR_TONE_PLAIN,
        "%3" PRId64 " s  placed %" PRId64 "  on the way %" PRId64 "  suspended %" PRId64
        "  held %" PRId64 "  shipped %" PRId64 "  refused %" PRId64 "  killed %" PRIu32
        "  taken over %" PRId64 "%s%s",
        view->elapsed_ns / WEIR_SECONDS(1), view->placed, stats->on_the_way,
        stats->steps[WEIR_STEP_APPROVE].suspended, view->held_most, stats->shipped,
        stats->refused, view->killed, stats->reclaims,
        view->trouble[0] != '\0' ? "  the shop waits: " : "", view->trouble);
}

void weir_flow_table_append_summary(struct weir_flow_table *self,
                                    const struct weir_execution_view *view,
                                    int64_t played_ns)
{
    const struct weir_book_stats *stats = &view->stats;
    char played[WEIR_DURATION_TEXT_SIZE];

    weir_demo_text_append_line(self->out, WEIR_TONE_PLAIN,
                               "%s on SQLite: workers killed %" PRIu32
                               ", executions taken over %" PRId64
                               ", tried again %" PRId64,
                               weir_duration_format(played_ns, played, sizeof played),
                               view->killed, stats->reclaims, stats->retries);
    append_latency(self, view);
    weir_demo_text_append_line(
        self->out, WEIR_TONE_PLAIN,
        "bank      %" PRId64 " %s a second, %" PRId64 " %s, at most %" PRId64
        " orders held back",
        stats->calls_max, WEIR_NOUN(stats->calls_max, "call", "calls"), stats->resets,
        WEIR_NOUN(stats->resets, "reset", "resets"), view->held_most);
}
