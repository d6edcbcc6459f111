/*
 * log_position.h - a place in the log's order, and what belongs to a position there.
 *
 * The log has one order for all readers: (cut, id). A place stands *behind* messages:
 *
 *   PostgreSQL   {cut, id}: every message of the cuts up to and including `cut`, and of
 *                the cut after it those with an id up to `id`. So a message `id` of cut
 *                n leaves the place {n - 1, id}, and a cut n that was read to its end
 *                {n, 0}.
 *   SQLite       {0, id}: every message with an id up to `id`.
 *   MariaDB      the same, of the ids that the log gives when a message is moved into it.
 *
 * This is the one definition of *passed*; sweep, set-aside, lag and restore use it too.
 * Places compare first by cut, then by id, on all engines.
 */
#ifndef WEIR_OUTBOX_LOG_LOG_POSITION_H
#define WEIR_OUTBOX_LOG_LOG_POSITION_H

#include <stdbool.h>
#include <stdint.h>

struct weir_log_position {
    int64_t cut;
    int64_t id;
};

static inline bool weir_log_position_before(struct weir_log_position a,
                                            struct weir_log_position b)
{
    return a.cut < b.cut || (a.cut == b.cut && a.id < b.id);
}

static inline bool weir_log_position_equal(struct weir_log_position a,
                                           struct weir_log_position b)
{
    return a.cut == b.cut && a.id == b.id;
}

static inline struct weir_log_position weir_log_position_later(struct weir_log_position a,
                                                               struct weir_log_position b)
{
    return weir_log_position_before(a, b) ? b : a;
}

/* A partition of a queue is one number in the database, and fits into 32 bits on
 * servers: a row with a larger id is refused where it is read (stored_queue.h). */
#define WEIR_QUEUE_ID_MAX ((INT32_MAX - 63) / 64)

/* Wraps around for an id that is out of range, as SQL would not. */
static inline int64_t weir_pid(int64_t queue_id, int32_t partition)
{
    return (int64_t)((uint64_t)queue_id * 64 + (uint64_t)(int64_t)partition);
}

static inline int64_t weir_pid_queue(int64_t pid)
{
    return pid / 64;
}

static inline int32_t weir_pid_partition(int64_t pid)
{
    return (int32_t)(pid % 64);
}

#endif
