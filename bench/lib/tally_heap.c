/*
 * tally_heap.c - see tally_heap.h.
 */
#include "lib/tally_heap.h"

#include <malloc.h>
#include <stdlib.h>

static void *resize(void *state, void *memory, size_t size)
{
    struct bench_tally_heap *self = state;
    size_t before = memory != NULL ? malloc_usable_size(memory) : 0;
    void *moved = NULL;

    if (size == 0)
        free(memory);
    else if ((moved = realloc(memory, size)) == NULL)
        return NULL;

    if (memory == NULL && moved != NULL)
        (void)atomic_fetch_add(&self->count, 1);
    if (memory != NULL && moved == NULL)
        (void)atomic_fetch_sub(&self->count, 1);
    (void)atomic_fetch_sub(&self->size, before);
    (void)atomic_fetch_add(&self->size, moved != NULL ? malloc_usable_size(moved) : 0);
    return moved;
}

void bench_tally_heap_init(struct bench_tally_heap *self)
{
    self->heap = (struct weir_heap){.resize = resize, .state = self};
    atomic_init(&self->size, 0);
    atomic_init(&self->count, 0);
}
