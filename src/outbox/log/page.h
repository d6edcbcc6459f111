/*
 * page.h - which rows of the log a page is about, where the database cannot choose them.
 *
 * Statements are given a table with a byte for each remainder of a partition, and leave
 * what is large where it is for rows that are surely not wanted; weir_page_wants()
 * decides the rest.
 *
 * And what was removed of its queues: statements read it together with the rows.
 */
#ifndef WEIR_OUTBOX_LOG_PAGE_H
#define WEIR_OUTBOX_LOG_PAGE_H

#include <string.h>

#include "outbox/log/log.h"

enum { WEIR_PAGE_REMAINDERS = 1024 }; /* as in the statements' texts */

static inline bool weir_page_wants(const struct weir_page *self, int64_t pid)
{
    size_t low = 0;
    size_t high = self->pid_count;

    if (self->pids == NULL)
        return true;
    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (self->pids[middle] < pid)
            low = middle + 1;
        else
            high = middle;
    }
    return low < self->pid_count && self->pids[low] == pid;
}

static inline void weir_page_mark(const struct weir_page *self,
                                  unsigned char table[WEIR_PAGE_REMAINDERS])
{
    memset(table, self->pids == NULL, WEIR_PAGE_REMAINDERS);
    for (size_t i = 0; self->pids != NULL && i < self->pid_count; i++)
        table[(uint64_t)self->pids[i] % WEIR_PAGE_REMAINDERS] = 1;
}

/* The queues whose removals are asked for, as a range of ids; an empty one if there are
 * none. */
static inline int64_t weir_page_first_queue(const struct weir_page *self)
{
    return self->removal_count > 0 ? self->removals[0].queue_id : 1;
}

static inline int64_t weir_page_last_queue(const struct weir_page *self)
{
    return self->removal_count > 0 ? self->removals[self->removal_count - 1].queue_id : 0;
}

/* NULL: it was not asked for. */
static inline struct weir_removal *weir_page_find_removal(const struct weir_page *self,
                                                          int64_t queue_id)
{
    size_t low = 0;
    size_t high = self->removal_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (self->removals[middle].queue_id < queue_id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < self->removal_count && self->removals[low].queue_id == queue_id
               ? &self->removals[low]
               : NULL;
}

/* As read. The range of ids may have other queues than those that are asked for. */
static inline void weir_page_note_removal(struct weir_page *self,
                                          const struct weir_removal *read)
{
    struct weir_removal *removal = weir_page_find_removal(self, read->queue_id);

    if (removal != NULL)
        *removal = *read;
}

/* Step to the first row of a message, by way of what was removed: rows of the negative
 * number of the queue, the count and an id. */
WEIR_CHECKED enum weir_status weir_page_read_removals(struct weir_page *self,
                                                      struct weir_rows *rows,
                                                      struct weir_error *error);

#endif
