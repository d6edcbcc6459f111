/*
 * execution_summary.c - see execution_summary.h.
 */
#include "cli/status/execution_summary.h"

#include <inttypes.h>

#include "base/count.h"
#include "base/text.h"
#include "db/db.h"
#include "weir/heap.h"

enum { JSON_SIZE_MAX = 1 << 20 };

static const struct weir_table_column LANE_COLUMNS[] = {
    {.title = "lane", .cut_to = 12},
    {.title = "ready", .align = WEIR_TABLE_RIGHT},
    {.title = "oldest", .align = WEIR_TABLE_RIGHT, .rank = 1},
    {.title = "delayed", .align = WEIR_TABLE_RIGHT, .rank = 2},
    {.title = "active", .align = WEIR_TABLE_RIGHT},
};

void weir_execution_summary_init(struct weir_execution_summary *self)
{
    *self = (struct weir_execution_summary){.there = false};
    weir_table_init(&self->lanes, weir_heap_system(), LANE_COLUMNS,
                    COUNT_OF(LANE_COLUMNS));
    weir_buf_init(&self->lanes_json, weir_heap_system(), JSON_SIZE_MAX);
}

void weir_execution_summary_fini(struct weir_execution_summary *self)
{
    weir_table_fini(&self->lanes);
    weir_buf_fini(&self->lanes_json);
}

const char *weir_execution_summary_count(int64_t count, int64_t most, char *out)
{
    weir_text_format(out, WEIR_COUNT_SIZE, "%" PRId64 "%s", count,
                     count >= most ? "+" : "");
    return out;
}

/* ---- reading ----------------------------------------------------------------------- */

static void add_lane(void *state, const struct weir_lane_stats *lane)
{
    struct weir_execution_summary *self = state;
    struct weir_buf *json = &self->lanes_json;
    char text[WEIR_AGE_SIZE > WEIR_COUNT_SIZE ? WEIR_AGE_SIZE : WEIR_COUNT_SIZE];

    self->lane_count++;
    weir_table_add(&self->lanes, WEIR_TONE_PLAIN, "%s", lane->lane);
    weir_table_add(&self->lanes, WEIR_TONE_PLAIN, "%s",
                   weir_execution_summary_count(lane->ready, WEIR_STATS_LANE_MAX, text));
    weir_table_add(&self->lanes, WEIR_TONE_PLAIN, "%s",
                   weir_output_age(lane->oldest_us, text));
    weir_table_add(&self->lanes, WEIR_TONE_PLAIN, "%s",
                   weir_execution_summary_count(lane->delayed, WEIR_STATS_MAX, text));
    weir_table_add(&self->lanes, WEIR_TONE_PLAIN, "%s",
                   weir_execution_summary_count(lane->active, WEIR_STATS_MAX, text));

    weir_output_open(json, NULL, "{");
    weir_output_add_text(json, "lane", lane->lane);
    weir_output_add_number(json, "ready", lane->ready);
    weir_output_add_flag(json, "ready_is_more", lane->ready >= WEIR_STATS_LANE_MAX);
    weir_output_add_seconds(json, "oldest_age_seconds", lane->oldest_us);
    weir_output_add_number(json, "delayed", lane->delayed);
    weir_output_add_number(json, "active", lane->active);
    weir_buf_append_text(json, "}");
}

enum weir_status weir_execution_summary_read(struct weir_execution_summary *self,
                                             struct weir_db *db, struct weir_error *error)
{
    struct weir_connection *connection = NULL;
    enum weir_status status = weir_db_acquire(db, &connection, error);

    weir_table_reset(&self->lanes);
    weir_buf_reset(&self->lanes_json);
    self->lane_count = 0;
    self->there = false;
    if (status == WEIR_OK)
        status = weir_executions_are_there(connection, &self->there, error);
    if (status == WEIR_OK && self->there)
        status = weir_executions_read_stats(connection, &self->stats, error);
    if (status == WEIR_OK && self->there)
        status = weir_executions_read_lanes(connection, add_lane, self, error);
    weir_db_release(db, connection);
    return status;
}

/* ---- printing ---------------------------------------------------------------------- */

static int64_t latest(const struct weir_execution_stats *stats)
{
    const int64_t late_us[] = {stats->late_delay_us,   stats->late_lease_us,
                               stats->late_attempt_us, stats->late_deadline_us,
                               stats->late_wait_us,    stats->late_cancel_us,
                               stats->late_reset_us};
    int64_t most_us = 0;

    for (size_t i = 0; i < COUNT_OF(late_us); i++)
        most_us = late_us[i] > most_us ? late_us[i] : most_us;
    return most_us;
}

/* "3 suspended, 1 escalated, 2 wait for a budget": of those that are not 0. */
struct phrase {
    int64_t count;
    const char *words;
};

static void append_phrases(struct weir_buf *frame, const struct phrase *phrases,
                           size_t count)
{
    const char *before = "";
    char number[WEIR_COUNT_SIZE];

    for (size_t i = 0; i < count; i++) {
        if (phrases[i].count == 0)
            continue;
        weir_buf_append_format(
            frame, "%s%s %s", before,
            weir_execution_summary_count(phrases[i].count, WEIR_STATS_MAX, number),
            phrases[i].words);
        before = ", ";
    }
    if (before[0] != '\0')
        weir_buf_append_text(frame, "\n");
}

static void append_waits(const struct weir_execution_stats *stats, struct weir_buf *frame)
{
    const struct phrase waits[] = {{stats->suspended, "suspended"},
                                   {stats->escalated, "of them escalated"},
                                   {stats->held, "held by a budget"}};
    const struct phrase flows[] = {{stats->flows, "open flows"},
                                   {stats->cancelling, "joins with members to cancel"}};

    append_phrases(frame, waits, COUNT_OF(waits));
    append_phrases(frame, flows, COUNT_OF(flows));
}

static bool waits(const struct weir_execution_stats *stats)
{
    return stats->suspended + stats->held + stats->flows + stats->cancelling > 0;
}

enum weir_status
weir_execution_summary_append_table(const struct weir_execution_summary *self,
                                    struct weir_buf *frame)
{
    char age[WEIR_AGE_SIZE];
    enum weir_status status = WEIR_OK;

    if (!self->there || (self->lane_count == 0 && !waits(&self->stats)))
        return WEIR_OK;
    weir_buf_append_text(frame, "\n");
    if (self->lane_count > 0)
        status = weir_output_append_table(&self->lanes, frame);
    append_waits(&self->stats, frame);
    if (latest(&self->stats) > WEIR_STATS_LATE_US)
        weir_buf_append_format(
            frame, "overdue by %s: no supervisor runs, or it is behind (weir doctor)\n",
            weir_output_age(latest(&self->stats), age));
    return status;
}

void weir_execution_summary_append_json(const struct weir_execution_summary *self,
                                        struct weir_buf *json)
{
    if (!self->there)
        return;
    weir_output_open(json, "executions", "{");
    weir_output_add_number(json, "ready", self->stats.ready);
    weir_output_add_number(json, "delayed", self->stats.delayed);
    weir_output_add_number(json, "active", self->stats.active);
    weir_output_add_number(json, "ended", self->stats.ended);
    weir_output_add_number(json, "suspended", self->stats.suspended);
    weir_output_add_number(json, "escalated", self->stats.escalated);
    weir_output_add_number(json, "held_by_budget", self->stats.held);
    weir_output_add_number(json, "open_flows", self->stats.flows);
    weir_output_add_number(json, "cancel_backlog", self->stats.cancelling);
    weir_output_add_number(json, "counted_up_to", WEIR_STATS_MAX);
    weir_output_add_seconds(json, "overdue_seconds", latest(&self->stats));
    weir_output_open(json, "lanes", "[");
    weir_buf_append(json, weir_buf_text(&self->lanes_json), self->lanes_json.size);
    weir_buf_append_text(json, "]}");
}
