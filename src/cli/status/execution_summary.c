/*
 * execution_summary.c - see execution_summary.h.
 */
#include "cli/status/execution_summary.h"

#include "base/count.h"
#include "db/db.h"

static void add_lane(void *state, const struct weir_lane_stats *lane)
{
    weir_record_list_add(state, lane);
}

enum weir_status weir_execution_summary_read(struct weir_status_view *view,
                                             struct weir_db *db, struct weir_error *error)
{
    struct weir_connection *connection = NULL;
    enum weir_status status = weir_db_acquire(db, &connection, error);

    if (status == WEIR_OK)
        status = weir_executions_are_there(connection, &view->has_executions, error);
    if (status == WEIR_OK && view->has_executions)
        status = weir_executions_read_stats(connection, &view->executions, error);
    if (status == WEIR_OK && view->has_executions)
        status = weir_executions_read_lanes(connection, add_lane, &view->lanes, error);
    weir_db_release(db, connection);
    return status;
}

/* ---- printing ---------------------------------------------------------------------- */

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
            weir_output_bounded(phrases[i].count, WEIR_STATS_MAX, number),
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

enum weir_status weir_execution_summary_append_table(const struct weir_status_view *view,
                                                     struct weir_buf *frame)
{
    const struct weir_execution_stats *stats = &view->executions;
    int64_t overdue_us = weir_status_overdue_us(stats);
    char age[WEIR_AGE_SIZE];
    enum weir_status status = WEIR_OK;

    if (!view->has_executions || (view->lanes.count == 0 && !waits(stats)))
        return WEIR_OK;
    weir_buf_append_text(frame, "\n");
    if (view->lanes.count > 0)
        status = weir_output_append_table(&view->lanes.table, frame);
    append_waits(stats, frame);
    if (overdue_us > WEIR_STATS_LATE_US)
        weir_buf_append_format(
            frame, "overdue by %s: no supervisor runs, or it is behind (weir doctor)\n",
            weir_output_age(overdue_us, age));
    return status;
}
