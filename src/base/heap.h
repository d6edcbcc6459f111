/*
 * heap.h - the library's own view of a struct weir_heap (see weir/heap.h), and one that
 * fails when a test says so.
 */
#ifndef WEIR_BASE_HEAP_H
#define WEIR_BASE_HEAP_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/heap.h"

/* NULL when there is no memory. `size` is at least 1. */
WEIR_CHECKED void *weir_heap_alloc(const struct weir_heap *self, size_t size);
WEIR_CHECKED void *weir_heap_zalloc(const struct weir_heap *self, size_t size);

/* Room for `count` elements, zeroed; NULL also when count times size overflows. */
WEIR_CHECKED void *weir_heap_zalloc_array(const struct weir_heap *self, size_t count,
                                          size_t size);

/* As realloc; `memory` stays valid when NULL comes back. `size` is at least 1. */
WEIR_CHECKED void *weir_heap_resize(const struct weir_heap *self, void *memory,
                                    size_t size);

/* A zero-terminated copy of `size` bytes, which may be 0. NULL when there is no
 * memory. */
WEIR_CHECKED char *weir_heap_copy(const struct weir_heap *self, const char *bytes,
                                  size_t size);

/* NULL is fine. */
void weir_heap_free(const struct weir_heap *self, void *memory);

/*
 * A heap on top of the C library's that counts what is outstanding and fails on order:
 * the allocation number `fail_at` (1 is the next one) and, if `fail_after_too`, all
 * that follow. 0 means never. Resizing a block counts as an allocation and may fail as
 * one, also when it shrinks. Freeing never fails.
 *
 * Threads  Any thread; the order is given while no other thread allocates. It must not
 *          move: the heap points back to it.
 */
struct weir_faulty_heap {
    struct weir_heap heap; /* give this one to the code under test */
    _Atomic uint64_t allocations;
    _Atomic int64_t outstanding; /* blocks not freed yet */
    uint64_t fail_at;
    int fail_after_too;
};

void weir_faulty_heap_init(struct weir_faulty_heap *self);

/* Count from zero again, and fail at the `fail_at`th allocation from now. */
void weir_faulty_heap_fail_at(struct weir_faulty_heap *self, uint64_t fail_at);

#endif
