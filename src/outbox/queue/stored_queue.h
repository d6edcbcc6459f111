/*
 * stored_queue.h - the row of a queue as it was read, before it is believed.
 *
 * Other programs can write to the table of queues. A number of partitions of 0 would be
 * divided by, one above the limit or an id that is too large would send messages to
 * another queue. So every reader of a row checks it, and goes no further with one that
 * is out of range.
 *
 * Failure  WEIR_SCHEMA, of class STOP: only an operator can correct the row. The text
 *          names queue, column, value and limit.
 */
#ifndef WEIR_OUTBOX_QUEUE_STORED_QUEUE_H
#define WEIR_OUTBOX_QUEUE_STORED_QUEUE_H

#include <stdint.h>

#include "weir/error.h"

struct weir_stored_queue {
    int64_t id;
    int64_t partitions;
    int64_t unread;
    int64_t backlog_max;
    int64_t attempts_max;
    int64_t retention_us;
    int64_t retain_us;
};

WEIR_CHECKED enum weir_status
weir_stored_queue_check(const struct weir_stored_queue *self, const char *name,
                        struct weir_error *error);

/* The limit of attempts that a process goes by, which it reads again and again: none
 * while what is stored is out of range. That makes no dead letters, and stops no other
 * queue of the process. */
uint32_t weir_stored_attempts_max(int64_t stored);

#endif
