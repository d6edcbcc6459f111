/*
 * map.h - finds a pointer by name.
 *
 * Names are byte strings of any length, compared byte by byte. Looking one up costs about
 * one comparison, however many there are, and the map never slows down with age: removing
 * leaves nothing behind.
 *
 * Order    None.
 * Threads  The owner's.
 * Memory   Copies the keys. Values are the caller's: the map passes them around and never
 *          looks inside. At most `count_max` elements; the table does not shrink.
 */
#ifndef WEIR_BASE_MAP_H
#define WEIR_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"
#include "weir/status.h"

struct weir_heap;
struct weir_map_slot;

struct weir_map {
    const struct weir_heap *heap; /* borrowed */
    struct weir_map_slot *slots;  /* owned; NULL before the first put */
    size_t slot_count;            /* 0 or a power of two */
    size_t count;                 /* slots in use */
    size_t count_max;             /* limit of `count` */
};

/* Borrows `heap` until fini(). Allocates nothing yet. */
void weir_map_init(struct weir_map *self, const struct weir_heap *heap, size_t count_max);

/* Gives table and keys back; the values are still the caller's. The map is empty
 * afterwards, not gone: fini() again is fine. */
void weir_map_fini(struct weir_map *self);

/* The value under `key`, or NULL. */
void *weir_map_find(const struct weir_map *self, struct weir_str key);

/*
 * Store `value`, which is not NULL, under a copy of `key`. A value that was there
 * already is replaced: find() it first if it matters. Fails with WEIR_BUSY (a new key,
 * and count_max reached) or WEIR_NO_MEMORY; the map is then as it was.
 */
WEIR_CHECKED enum weir_status weir_map_put(struct weir_map *self, struct weir_str key,
                                           void *value);

/* Take the value under `key` out. NULL when there is none. */
void *weir_map_remove(struct weir_map *self, struct weir_str key);

/*
 * Look at each element once and remove those for which `matches` says true; one that
 * always says false is a plain walk. `key` is borrowed for the call. `matches` may free
 * what `value` points to when it says true. It must not use the map.
 */
typedef bool (*weir_map_match_fn)(void *arg, struct weir_str key, void *value);
void weir_map_remove_if(struct weir_map *self, weir_map_match_fn matches, void *arg);

size_t weir_map_count(const struct weir_map *self);

#endif
