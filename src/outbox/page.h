/*
 * page.h - which rows of the log a page is about, where the database cannot choose them.
 *
 * Statements are given a table with a byte for each remainder of a partition, and leave what is
 * large where it is for rows that are surely not wanted; weir_page_wants() decides the rest.
 */
#ifndef WEIR_OUTBOX_PAGE_H
#define WEIR_OUTBOX_PAGE_H

#include <string.h>

#include "outbox/log.h"

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

#endif
