/*
 * subscription_records.h - rows of subscriptions: what `weir subscription` shows and
 * answers.
 */
#ifndef WEIR_VIEW_SUBSCRIPTION_RECORDS_H
#define WEIR_VIEW_SUBSCRIPTION_RECORDS_H

#include "view/record.h"
#include "weir/subscription.h"

/* struct weir_subscription_info */
extern const struct weir_record weir_subscription_record;

struct weir_subscription_paused {
    const char *queue;
    const char *subscription;
    bool paused;
};
extern const struct weir_record weir_subscription_paused_record;

struct weir_subscription_removed {
    const char *queue;
    const char *subscription;
    bool removed; /* false: it would be */
    uint32_t processes;
    int64_t waiting;
    bool waiting_is_estimate;
    int64_t dead_letters;
};
extern const struct weir_record weir_subscription_removed_record;

struct weir_subscription_moved {
    const char *queue;
    const char *subscription;
    bool moved; /* false: it would be */
    const struct weir_seek_info *partitions;
    size_t count;
};
extern const struct weir_record weir_subscription_moved_record;
extern const struct weir_record weir_partition_moved_record; /* struct weir_seek_info */

#endif
