/*
 * arena.h - memory that is given back all at once.
 *
 * What an execution allocates dies with it: reset() keeps the largest block, so a worker
 * that has warmed up allocates nothing from the heap any more.
 *
 * Threads  One owner at a time.
 * Memory   Blocks from `heap`. At most `size_max` bytes are handed out, gaps for
 *          alignment included; the blocks together stay below three times that, and
 *          after reset() there is one of at most that.
 */
#ifndef WEIR_BASE_ARENA_H
#define WEIR_BASE_ARENA_H

#include <stddef.h>

#include "base/str.h"
#include "weir/api.h"

struct weir_heap;
struct weir_arena_block;

struct weir_arena {
    const struct weir_heap *heap;    /* borrowed */
    struct weir_arena_block *newest; /* being filled; older ones behind it */
    size_t used;                     /* bytes handed out since the last reset */
    size_t size_max;                 /* limit of `used` */
};

/* Borrows `heap` until fini(). Allocates nothing yet. */
void weir_arena_init(struct weir_arena *self, const struct weir_heap *heap,
                     size_t size_max);

/* Gives all memory back. The arena is empty afterwards, not gone: fini() again is
 * fine. */
void weir_arena_fini(struct weir_arena *self);

/* `size` bytes (at least 1), aligned for anything, not zeroed, until reset() or fini().
 * NULL without memory or beyond the limit; the arena stays usable. */
WEIR_CHECKED void *weir_arena_alloc(struct weir_arena *self, size_t size);

/* A copy of `text` with a zero behind it. NULL as above. */
WEIR_CHECKED char *weir_arena_copy(struct weir_arena *self, struct weir_str text);

/* A zero-terminated copy of `text`. NULL as above. */
WEIR_CHECKED char *weir_arena_copy_text(struct weir_arena *self, const char *text);

/* `text` is copied, with a zero behind it, and is that copy now. False as above. */
WEIR_CHECKED bool weir_arena_keep(struct weir_arena *self, struct weir_str *text);

/* Room for one more of `count` items of `size` bytes: where they are now. Begins with
 * NULL and 0. The array doubles, so it is only for callers that add one by one. NULL as
 * above. */
WEIR_CHECKED void *weir_arena_grow(struct weir_arena *self, void *items, size_t count,
                                   size_t size);

/* Everything handed out is gone; the largest block is kept for the next time. */
void weir_arena_reset(struct weir_arena *self);

#endif
