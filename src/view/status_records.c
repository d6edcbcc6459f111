/*
 * status_records.c - see status_records.h.
 */
#include "view/status_records.h"

#include "db/clock.h"
#include "view/queue_records.h"

/* ---- executions -------------------------------------------------------------------- */

static const char *ready_cell(const void *row, int64_t now_us, char *out)
{
    const struct weir_lane_stats *lane = row;

    (void)now_us;
    return weir_output_bounded(lane->ready, WEIR_STATS_LANE_MAX, out);
}

static const char *delayed_cell(const void *row, int64_t now_us, char *out)
{
    const struct weir_lane_stats *lane = row;

    (void)now_us;
    return weir_output_bounded(lane->delayed, WEIR_STATS_MAX, out);
}

static const char *active_cell(const void *row, int64_t now_us, char *out)
{
    const struct weir_lane_stats *lane = row;

    (void)now_us;
    return weir_output_bounded(lane->active, WEIR_STATS_MAX, out);
}

static int64_t ready_is_more(const void *row)
{
    const struct weir_lane_stats *lane = row;

    return lane->ready >= WEIR_STATS_LANE_MAX;
}

#define LANE(...) WEIR_FIELD(struct weir_lane_stats, __VA_ARGS__)
static const struct weir_record_field LANE_FIELDS[] = {
    LANE("lane", lane, TEXT, "Name of the lane.", .title = "lane", .cut_to = 12),
    LANE("ready", ready, I64, "Executions that a worker may claim, up to 1000.",
         .title = "ready", .cell = ready_cell),
    WEIR_FIELD_OF("ready_is_more", FLAG, "`ready` was not counted further.",
                  .compute = ready_is_more),
    LANE("oldest_age_seconds", oldest_us, US, "Age of the oldest of these.",
         .title = "oldest", .rank = 1),
    LANE("delayed", delayed, I64, "Executions that wait for their time.",
         .title = "delayed", .rank = 2, .cell = delayed_cell),
    LANE("active", active, I64, "Executions that workers have claimed.",
         .title = "active", .cell = active_cell),
};

const struct weir_record weir_lane_record =
    WEIR_RECORD("lane", LANE_FIELDS, "A lane of the execution engine that has work.");

int64_t weir_status_overdue_us(const struct weir_execution_stats *stats)
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

static int64_t counted_up_to(const void *row)
{
    (void)row;
    return WEIR_STATS_MAX;
}

static int64_t overdue_us(const void *row)
{
    const struct weir_status_view *view = row;

    return weir_status_overdue_us(&view->executions);
}

#define VIEW(...) WEIR_FIELD(struct weir_status_view, __VA_ARGS__)
static const struct weir_record_field EXECUTIONS_FIELDS[] = {
    VIEW("ready", executions.ready, I64, "Executions that a worker may claim."),
    VIEW("delayed", executions.delayed, I64, "Executions that wait for their time."),
    VIEW("active", executions.active, I64, "Executions that workers have claimed."),
    VIEW("ended", executions.ended, I64,
         "Executions that have ended, except members of flows."),
    VIEW("suspended", executions.suspended, I64, "Suspended executions."),
    VIEW("escalated", executions.escalated, I64,
         "Suspended executions that took too long and wait for an operator."),
    VIEW("held_by_budget", executions.held, I64, "Executions that wait for a budget."),
    VIEW("open_flows", executions.flows, I64, "Flows that have not ended."),
    VIEW("cancel_backlog", executions.cancelling, I64,
         "Joins with members that are to be cancelled."),
    WEIR_FIELD_OF("counted_up_to", I64, "No number above is counted further.",
                  .compute = counted_up_to),
    WEIR_FIELD_OF("overdue_seconds", US, "By how much the supervisor is behind.",
                  .compute = overdue_us),
    VIEW("lanes", lanes, LISTED, "Lanes that have work.", .record = &weir_lane_record),
};

const struct weir_record weir_executions_record =
    WEIR_RECORD("executions", EXECUTIONS_FIELDS, "Work of the execution engine.");

/* ---- the whole --------------------------------------------------------------------- */

static bool is_of_one_queue(const void *row)
{
    const struct weir_status_view *view = row;

    return view->of_one_queue;
}

static bool has_executions(const void *row)
{
    const struct weir_status_view *view = row;

    return view->has_executions;
}

static bool has_file(const void *row)
{
    const struct weir_status_view *view = row;

    return view->file_bytes > 0;
}

static const struct weir_record_field STATUS_FIELDS[] = {
    VIEW("database", database, TEXT, "The database, without its password."),
    VIEW("queues", queues, LISTED, "All queues, or the one that was asked for.",
         .record = &weir_queue_record),
    VIEW("partitions", partitions, LISTED, "Partitions of the queue; only for one queue.",
         .record = &weir_partition_record, .shown = is_of_one_queue),
    VIEW("processes", processes, LISTED, "Live processes.",
         .record = &weir_process_record),
    WEIR_FIELD_OF("executions", OBJECT,
                  "Work of the execution engine; not for one queue.",
                  .record = &weir_executions_record, .shown = has_executions),
    VIEW("file_bytes", file_bytes, I64, "SQLite: size of the file.", .shown = has_file),
    VIEW("free_bytes", free_bytes, I64, "SQLite: how much of it is free.",
         .shown = has_file),
};

const struct weir_record weir_status_record =
    WEIR_RECORD("status", STATUS_FIELDS, "The answer of `weir status`.");

void weir_status_view_init(struct weir_status_view *self, enum weir_form form)
{
    int64_t now_us = weir_clock_wall_us();

    *self = (struct weir_status_view){.database = ""};
    weir_record_list_init(&self->queues, &weir_queue_record, form, now_us);
    weir_record_list_init(&self->partitions, &weir_partition_record, form, now_us);
    weir_record_list_init(&self->processes, &weir_process_record, form, now_us);
    weir_record_list_init(&self->lanes, &weir_lane_record, form, now_us);
}

void weir_status_view_fini(struct weir_status_view *self)
{
    weir_record_list_fini(&self->queues);
    weir_record_list_fini(&self->partitions);
    weir_record_list_fini(&self->processes);
    weir_record_list_fini(&self->lanes);
}

void weir_status_view_reset(struct weir_status_view *self)
{
    weir_record_list_reset(&self->queues);
    weir_record_list_reset(&self->partitions);
    weir_record_list_reset(&self->processes);
    weir_record_list_reset(&self->lanes);
    self->has_executions = false;
    self->file_bytes = 0;
    self->free_bytes = 0;
}
