/*
 * arena.c - a chain of blocks, of which the newest is being filled.
 *
 *   newest                older               older
 *   +------+-----+----+   +------+--------+   +------+-----+
 *   | head | ### |    |-->| head | ###### |-->| head | ### |--> NULL
 *   +------+-----+----+   +------+--------+   +------+-----+
 *
 * Invariants:
 *
 *   I1  used <= size_max, gaps for alignment included
 *   I2  no block is larger than size_max
 *   I3  the newest block is the largest
 *
 * Each block is twice as large as the one before, up to size_max. By I1 a block of
 * size_max holds everything that may ever be handed out, so there is one of them at
 * most, and all blocks together stay below three times size_max. After a few rounds of
 * use and reset() the one block that is kept holds the whole round. Blocks cut down to
 * what is left of the limit would save memory once, but a round could then need two of
 * them for ever.
 */
#include "base/arena.h"

#include <stdalign.h>
#include <stdbool.h>
#include <string.h>

#include "base/arith.h"
#include "base/assert.h"
#include "base/heap.h"

enum {
    ALIGNMENT = alignof(max_align_t),
    FIRST_BLOCK_SIZE = 1024 /* most executions need less */
};

struct weir_arena_block {
    struct weir_arena_block *older;
    size_t size; /* of `bytes` */
    size_t used;
    alignas(max_align_t) unsigned char bytes[];
};

static bool reserve(size_t used, size_t size, size_t size_max, size_t *out_start);
static struct weir_arena_block *add_block(struct weir_arena *self, size_t size_min);
static void free_blocks(struct weir_arena *self, struct weir_arena_block *first);
static void check_invariants(const struct weir_arena *self);

void weir_arena_init(struct weir_arena *self, const struct weir_heap *heap,
                     size_t size_max)
{
    self->heap = heap;
    self->newest = NULL;
    self->used = 0;
    self->size_max = size_max;
}

void weir_arena_fini(struct weir_arena *self)
{
    free_blocks(self, self->newest);
    self->newest = NULL;
    self->used = 0;
}

void *weir_arena_alloc(struct weir_arena *self, size_t size)
{
    struct weir_arena_block *block = self->newest;
    size_t start_of_all;
    size_t start;

    WEIR_ASSERT(size > 0);
    if (!reserve(self->used, size, self->size_max, &start_of_all))
        return NULL;

    if (block == NULL || !reserve(block->used, size, block->size, &start)) {
        block = add_block(self, size);
        if (block == NULL)
            return NULL;
        start = 0;
    }

    block->used = start + size;
    self->used = start_of_all + size;
    check_invariants(self);
    return block->bytes + start;
}

char *weir_arena_copy(struct weir_arena *self, struct weir_str text)
{
    char *copy = weir_arena_alloc(self, text.size + 1);

    if (copy == NULL)
        return NULL;
    if (text.size > 0)
        memcpy(copy, text.data, text.size);
    copy[text.size] = '\0';
    return copy;
}

char *weir_arena_copy_text(struct weir_arena *self, const char *text)
{
    return weir_arena_copy(self, weir_str(text));
}

bool weir_arena_keep(struct weir_arena *self, struct weir_str *text)
{
    char *copy = weir_arena_copy(self, *text);

    if (copy == NULL)
        return false;
    text->data = copy;
    return true;
}

void *weir_arena_grow(struct weir_arena *self, void *items, size_t count, size_t size)
{
    enum { FIRST = 16 };
    void *more;

    if (count > 0 && (count < FIRST || (count & (count - 1)) != 0))
        return items;
    more = weir_arena_alloc(self, (count == 0 ? FIRST : 2 * count) * size);
    if (more != NULL && count > 0)
        memcpy(more, items, count * size);
    return more;
}

void weir_arena_reset(struct weir_arena *self)
{
    self->used = 0;
    if (self->newest == NULL)
        return;

    free_blocks(self, self->newest->older);
    self->newest->older = NULL;
    self->newest->used = 0;
}

/*
 * Do `size` bytes fit behind `used` ones, in room for `size_max`? If so, *out_start is
 * where they begin. Used for a block and, with the same steps, for the limit of all.
 */
static bool reserve(size_t used, size_t size, size_t size_max, size_t *out_start)
{
    size_t gap = (ALIGNMENT - used % ALIGNMENT) % ALIGNMENT;
    size_t start;
    size_t end;

    if (!weir_checked_add_size(used, gap, &start) ||
        !weir_checked_add_size(start, size, &end) || end > size_max)
        return false;
    *out_start = start;
    return true;
}

/* A new newest block with room for `size_min` bytes, which are within the limit. NULL
 * without memory. */
static struct weir_arena_block *add_block(struct weir_arena *self, size_t size_min)
{
    struct weir_arena_block *block;
    size_t size = FIRST_BLOCK_SIZE;
    size_t total;

    if (self->newest != NULL && !weir_checked_mul_size(self->newest->size, 2, &size))
        size = self->size_max;
    if (size > self->size_max)
        size = self->size_max;
    if (size < size_min)
        size = size_min;
    if (!weir_checked_add_size(sizeof *block, size, &total))
        return NULL;

    block = weir_heap_alloc(self->heap, total);
    if (block == NULL)
        return NULL;
    block->older = self->newest;
    block->size = size;
    block->used = 0;
    self->newest = block;
    return block;
}

static void free_blocks(struct weir_arena *self, struct weir_arena_block *first)
{
    while (first != NULL) {
        struct weir_arena_block *older = first->older;

        weir_heap_free(self->heap, first);
        first = older;
    }
}

static void check_invariants(const struct weir_arena *self)
{
    const struct weir_arena_block *newest = self->newest;

    WEIR_ASSERT(self->used <= self->size_max);                                /* I1 */
    WEIR_ASSERT(newest->size <= self->size_max);                              /* I2 */
    WEIR_ASSERT(newest->older == NULL || newest->older->size < newest->size); /* I3 */
}
