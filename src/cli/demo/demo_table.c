/*
 * demo_table.c - which figures there are, and where they stand.
 */
#include "cli/demo/demo_table.h"

#include <inttypes.h>

#include "base/count.h"
#include "base/duration.h"
#include "base/noun.h"
#include "base/text.h"
#include "cli/demo/demo_shop.h"
#include "cli/output.h"
#include "weir/time.h"

enum { CELL_SIZE = 64, NO_RATE = -1 };

static const struct weir_table_column FLOW_COLUMNS[] = {
    {.title = "orders", .width = 12, .cut_to = 8},
    {.title = "per second", .align = WEIR_TABLE_RIGHT, .rank = 1},
    {.title = "so far", .width = 9, .align = WEIR_TABLE_RIGHT},
    {.title = "", .cut_to = 8, .rank = 2},
};
static const struct weir_table_column PARTITION_COLUMNS[] = {
    {.title = "partition"},
    {.title = "seq", .width = 8, .align = WEIR_TABLE_RIGHT},
    {.title = "on the way", .align = WEIR_TABLE_RIGHT, .rank = 2},
    {.title = "tried again", .align = WEIR_TABLE_RIGHT, .rank = 3},
    {.title = "dead letters", .align = WEIR_TABLE_RIGHT, .rank = 4},
    {.title = "now", .width = 20, .cut_to = 8, .rank = 1},
};

void weir_demo_table_init(struct weir_demo_table *self, struct weir_demo_text *out,
                          const struct weir_heap *heap)
{
    *self = (struct weir_demo_table){.out = out};
    weir_table_init(&self->flow, heap, FLOW_COLUMNS, COUNT_OF(FLOW_COLUMNS));
    weir_table_init(&self->partitions, heap, PARTITION_COLUMNS,
                    COUNT_OF(PARTITION_COLUMNS));
}

void weir_demo_table_fini(struct weir_demo_table *self)
{
    weir_table_fini(&self->partitions);
    weir_table_fini(&self->flow);
}

/* ---- the last five seconds --------------------------------------------------------- */

/* Keep the figures of now, if the last ones kept are a second old. */
static void remember(struct weir_demo_table *self, const struct weir_demo_view *view)
{
    struct moment *past = self->past;

    if (self->past_count > 0 &&
        view->elapsed_ns - past[self->past_count - 1].elapsed_ns < WEIR_SECONDS(1))
        return;
    if (self->past_count == WEIR_DEMO_TABLE_SECONDS) {
        for (size_t i = 1; i < self->past_count; i++)
            past[i - 1] = past[i];
        self->past_count--;
    }
    past[self->past_count++] =
        (struct moment){.elapsed_ns = view->elapsed_ns, .stats = view->stats};
}

/* What came since the oldest figures that are remembered; before there are any, since the
 * beginning, when everything was 0. */
struct recent {
    int64_t period_ns;
    const struct weir_ledger_stats *before; /* NULL: nothing */
};

static struct recent recent_of(const struct weir_demo_table *self,
                               const struct weir_demo_view *view)
{
    const struct moment *oldest = &self->past[0];

    if (self->past_count < WEIR_DEMO_TABLE_SECONDS ||
        oldest->elapsed_ns >= view->elapsed_ns)
        return (struct recent){.period_ns = view->elapsed_ns};
    return (struct recent){view->elapsed_ns - oldest->elapsed_ns, &oldest->stats};
}

static int64_t per_second(struct recent recent, uint64_t now, uint64_t before)
{
    if (recent.period_ns <= 0)
        return 0;
    return (int64_t)((double)(now - before) * 1e9 / (double)recent.period_ns + 0.5);
}

struct latencies {
    char p50[WEIR_DURATION_TEXT_SIZE];
    char p99[WEIR_DURATION_TEXT_SIZE];
};

static struct latencies latencies_of(struct recent recent,
                                     const struct weir_ledger_stats *now)
{
    struct weir_histogram histogram = now->latency;
    struct latencies texts;

    if (recent.before != NULL)
        weir_histogram_subtract(&histogram, &recent.before->latency);
    weir_duration_format(weir_histogram_percentile(&histogram, 50), texts.p50,
                         sizeof texts.p50);
    weir_duration_format(weir_histogram_percentile(&histogram, 99), texts.p99,
                         sizeof texts.p99);
    return texts;
}

static int64_t on_the_way(const struct weir_ledger_stats *stats)
{
    int64_t sum = 0;

    for (int i = 0; i < WEIR_LEDGER_PARTITIONS; i++)
        sum += stats->partitions[i].waiting;
    return sum;
}

/* ---- the table --------------------------------------------------------------------- */

void weir_demo_table_append_title(struct weir_demo_table *self,
                                  const struct weir_demo_view *view)
{
    char elapsed[WEIR_DURATION_TEXT_SIZE];

    weir_demo_text_append_line(
        self->out, WEIR_TONE_TITLE, "weir demo: a shop on %s, %d %s, %d %s, %s",
        view->engine, WEIR_SHOP_PRODUCERS,
        WEIR_NOUN(WEIR_SHOP_PRODUCERS, "producer", "producers"), WEIR_LEDGER_PARTITIONS,
        WEIR_NOUN(WEIR_LEDGER_PARTITIONS, "partition", "partitions"),
        weir_duration_format(view->elapsed_ns, elapsed, sizeof elapsed));
}

/* One row. NO_RATE: its figure does not only grow. */
static void add_flow(struct weir_table *table, enum weir_tone tone, const char *name,
                     int64_t rate, uint64_t total, const char *remark)
{
    char number[WEIR_COUNT_SIZE];

    weir_table_add(table, tone, "%s", name);
    weir_table_add(table, tone, "%s",
                   rate == NO_RATE ? "" : weir_output_grouped(rate, number));
    weir_table_add(table, tone, "%s", weir_output_grouped((int64_t)total, number));
    weir_table_add(table, WEIR_TONE_FAINT, "%s", remark);
}

static void say_oldest(const struct weir_demo_view *view, char *out, size_t size)
{
    char age[WEIR_DURATION_TEXT_SIZE];

    weir_text_format(out, size, "committed, not delivered yet");
    if (view->stats.oldest_ns > 0)
        weir_text_format(
            out, size, "not delivered yet, the oldest for %s",
            weir_duration_format(view->now_ns - view->stats.oldest_ns, age, sizeof age));
}

static void append_flow(struct weir_demo_table *self, const struct weir_demo_view *view,
                        struct recent recent)
{
    static const struct weir_ledger_stats NOTHING = {0};
    const struct weir_ledger_stats *now = &view->stats;
    const struct weir_ledger_stats *old =
        recent.before != NULL ? recent.before : &NOTHING;
    const struct {
        const char *name;
        uint64_t now, old;
        enum weir_tone tone;
        const char *remark;
    } rows[] = {
        {"committed", now->committed, old->committed, WEIR_TONE_PLAIN,
         "a row and a message, in one transaction"},
        {"rolled back", now->rolled_back, old->rolled_back, WEIR_TONE_PLAIN,
         "on purpose: no handler may ever see these"},
        {"delivered", now->delivered, old->delivered, WEIR_TONE_GOOD,
         "in order, within each partition"},
        {"tried again", now->retries, old->retries,
         now->retries > old->retries ? WEIR_TONE_CAREFUL : WEIR_TONE_PLAIN,
         "the carrier was busy"},
        {"dead letters", now->rejected, old->rejected, WEIR_TONE_PLAIN,
         "no carrier goes to Atlantis"},
    };
    char oldest[CELL_SIZE];

    weir_table_reset(&self->flow);
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        add_flow(&self->flow, rows[i].tone, rows[i].name,
                 per_second(recent, rows[i].now, rows[i].old), rows[i].now,
                 rows[i].remark);
    say_oldest(view, oldest, sizeof oldest);
    add_flow(&self->flow, WEIR_TONE_PLAIN, "on the way", NO_RATE,
             (uint64_t)on_the_way(now), oldest);
    if (weir_table_print(&self->flow, self->out->width, self->out->tones,
                         &self->out->text) != WEIR_OK)
        weir_buf_append_text(&self->out->text, "(no memory for the table)\n");
}

static void add_partition(struct weir_table *table, int32_t index,
                          const struct weir_ledger_partition *partition)
{
    bool failing = partition->failing_order != 0;
    char number[WEIR_COUNT_SIZE];

    weir_table_add(table, WEIR_TONE_PLAIN, "%" PRId32, index);
    weir_table_add(table, WEIR_TONE_PLAIN, "%s",
                   weir_output_grouped(partition->seq, number));
    weir_table_add(table, WEIR_TONE_PLAIN, "%s",
                   weir_output_grouped(partition->waiting, number));
    weir_table_add(table, WEIR_TONE_PLAIN, "%" PRIu64, partition->retries);
    weir_table_add(table, WEIR_TONE_PLAIN, "%" PRIu64, partition->rejected);
    if (failing)
        weir_table_add(table, WEIR_TONE_CAREFUL, "order %" PRId64 ", try %" PRIu32,
                       partition->failing_order, partition->failing_attempts + 1);
    else
        weir_table_add(table, WEIR_TONE_FAINT, "%s",
                       partition->waiting > 0 ? "delivering" : "up to date");
}

static void append_partitions(struct weir_demo_table *self,
                              const struct weir_demo_view *view)
{
    struct weir_table *table = &self->partitions;

    weir_table_reset(table);
    for (int32_t i = 0; i < WEIR_LEDGER_PARTITIONS; i++)
        add_partition(table, i, &view->stats.partitions[i]);
    if (weir_table_print(table, self->out->width, self->out->tones, &self->out->text) !=
        WEIR_OK)
        weir_buf_append_text(&self->out->text, "(no memory for the table)\n");
}

static void append_state(struct weir_demo_table *self, const struct weir_demo_view *view)
{
    if (view->stats.first_breach[0] != '\0')
        weir_demo_text_append_line(self->out, WEIR_TONE_BAD, "broken: %s",
                                   view->stats.first_breach);
    else if (view->trouble[0] != '\0')
        weir_demo_text_append_line(self->out, WEIR_TONE_CAREFUL, "the shop waits: %s",
                                   view->trouble);
    else
        weir_demo_text_append_line(self->out, WEIR_TONE_GOOD,
                                   "in order: no gap, nothing twice, nothing overtaken, "
                                   "nothing that was rolled back");
}

void weir_demo_table_append_frame(struct weir_demo_table *self,
                                  const struct weir_demo_view *view)
{
    struct recent recent = recent_of(self, view);
    struct latencies latency = latencies_of(recent, &view->stats);

    remember(self, view);
    weir_demo_table_append_title(self, view);
    weir_buf_append_text(&self->out->text, "\n");
    append_flow(self, view, recent);
    weir_demo_text_append_line(self->out, WEIR_TONE_PLAIN,
                               "from commit to handler: p50 %s, p99 %s", latency.p50,
                               latency.p99);
    weir_buf_append_text(&self->out->text, "\n");
    append_partitions(self, view);
    weir_buf_append_text(&self->out->text, "\n");
    append_state(self, view);
    weir_demo_text_append_line(self->out, WEIR_TONE_FAINT, "%s", view->hint);
}

/* ---- the line ---------------------------------------------------------------------- */

void weir_demo_table_append_row(struct weir_demo_table *self,
                                const struct weir_demo_view *view)
{
    struct recent recent = recent_of(self, view);
    struct latencies latency = latencies_of(recent, &view->stats);
    const struct weir_ledger_stats *before = recent.before, *now = &view->stats;
    const char *broken = now->first_breach;

    remember(self, view);
    weir_demo_text_append_line(
        self->out, WEIR_TONE_PLAIN,
        "%3" PRId64 " s  in %" PRId64 "/s  out %" PRId64 "/s  on the way %" PRId64
        "  p50 %s  p99 %s  delivered %" PRIu64 "  tried again %" PRIu64
        "  dead letters %" PRIu64 "  rolled back %" PRIu64 "  %s%s%s",
        view->elapsed_ns / WEIR_SECONDS(1),
        per_second(recent, now->committed, before != NULL ? before->committed : 0),
        per_second(recent, now->delivered, before != NULL ? before->delivered : 0),
        on_the_way(now), latency.p50, latency.p99, now->delivered, now->retries,
        now->rejected, now->rolled_back,
        broken[0] != '\0'          ? "broken: "
        : view->trouble[0] != '\0' ? "the shop waits: "
                                   : "in order",
        broken, broken[0] == '\0' ? view->trouble : "");
}
