/*
 * buffered_message.h - a message in memory, between the log and its handler.
 *
 * One block: the struct, then the bytes of key, type, headers and payload, each with a
 * zero behind it, so that a handler can be given the texts as they are.
 *
 * A row that another program has written may be beyond the limits that producers have.
 * That is noted here; such a message becomes a dead letter when its turn comes.
 *
 * Memory   Belongs to one leased partition at a time; a second leased partition that
 *          wants the same message gets a copy.
 */
#ifndef WEIR_OUTBOX_DELIVERY_BUFFERED_MESSAGE_H
#define WEIR_OUTBOX_DELIVERY_BUFFERED_MESSAGE_H

#include "base/list.h"
#include "outbox/log/log.h"
#include "weir/heap.h"

struct weir_buffered_message {
    struct weir_list link;
    struct weir_log_position log_position; /* behind it */
    int64_t id;
    int64_t pid;
    int64_t seq; /* given when it enters a leased partition */
    int64_t created_us;
    uint8_t uid[WEIR_UID_SIZE];
    size_t size;         /* of the whole block: what it counts for */
    struct weir_str key; /* data NULL: none; as the others inside the block */
    struct weir_str type;
    struct weir_str headers;
    struct weir_str payload;
    struct weir_str flaw; /* why no handler may be given it; data NULL: it may */
};

/* NULL: no memory. */
WEIR_CHECKED struct weir_buffered_message *
weir_buffered_message_create(const struct weir_heap *heap,
                             const struct weir_log_row *row);
WEIR_CHECKED struct weir_buffered_message *
weir_buffered_message_copy(const struct weir_heap *heap,
                           const struct weir_buffered_message *other);

#endif
