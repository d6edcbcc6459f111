/*
 * status_records.h - what `weir status` shows as a whole.
 */
#ifndef WEIR_VIEW_STATUS_RECORDS_H
#define WEIR_VIEW_STATUS_RECORDS_H

#include "execution/stats.h"
#include "view/record_list.h"

struct weir_status_view {
    const char *database; /* for people: no password */
    bool of_one_queue;
    struct weir_record_list queues;
    struct weir_record_list partitions; /* of one queue only */
    struct weir_record_list processes;
    bool has_executions;
    struct weir_execution_stats executions;
    struct weir_record_list lanes;
    int64_t file_bytes; /* SQLite; 0: another engine, or of one queue */
    int64_t free_bytes;
};

extern const struct weir_record weir_status_record;
extern const struct weir_record weir_executions_record; /* a part of it */
extern const struct weir_record weir_lane_record;       /* struct weir_lane_stats */

void weir_status_view_init(struct weir_status_view *self, enum weir_form form);
void weir_status_view_fini(struct weir_status_view *self);

/* Nothing read yet. */
void weir_status_view_reset(struct weir_status_view *self);

/* By how much the supervisor is behind, with what it is furthest behind with. */
int64_t weir_status_overdue_us(const struct weir_execution_stats *stats);

#endif
