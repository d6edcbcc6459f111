/*
 * heap.h - where the library gets its memory from.
 *
 * One function, as realloc() with a size of 0 that frees. The library asks for no memory
 * in any other way, so an application can count it, bound it, or make it fail.
 *
 * Threads  `resize` is called from any thread, also from several at once.
 */
#ifndef WEIR_HEAP_H
#define WEIR_HEAP_H

#include <stddef.h>

#include <weir/api.h>

struct weir_heap {
    /*
     * memory NULL: allocate `size` bytes. size 0: free `memory`, return NULL. Otherwise
     * resize, moving if need be; on failure return NULL and leave `memory` as it was.
     */
    void *(*resize)(void *state, void *memory, size_t size);
    void *state;
};

WEIR_BEGIN_DECLS

/* The C library's heap. Lives for ever. */
WEIR_API const struct weir_heap *weir_heap_system(void);

WEIR_END_DECLS

#endif
