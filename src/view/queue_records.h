/*
 * queue_records.h - rows of queues, partitions, processes and subscriptions: what
 * `weir status`, `weir queue` and `weir subscription` show and answer.
 *
 * Structs that the library has are described as they are; the others are here.
 */
#ifndef WEIR_VIEW_QUEUE_RECORDS_H
#define WEIR_VIEW_QUEUE_RECORDS_H

#include "view/record.h"

extern const struct weir_record weir_queue_record;     /* struct weir_queue_info */
extern const struct weir_record weir_partition_record; /* struct weir_partition_info */
extern const struct weir_record weir_process_record;   /* struct weir_process_info */

extern const struct weir_record weir_queue_change_record; /* struct weir_queue_change */

struct weir_queue_paused {
    const char *queue;
    bool paused;
};
extern const struct weir_record weir_queue_paused_record;

struct weir_queue_removed {
    const char *queue;
    bool removed; /* false: it would be */
    uint32_t subscriptions;
    int64_t waiting;
    bool waiting_is_estimate;
    int64_t dead_letters;
};
extern const struct weir_record weir_queue_removed_record;

#endif
