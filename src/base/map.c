/*
 * map.c - a hash table with open addressing and linear probing.
 *
 * A key's home is the slot its hash points to. If that is taken, the key goes to the next
 * free slot behind it, around the end of the table if need be.
 *
 * Invariants:
 *
 *   I1  slot_count is 0 or a power of two
 *   I2  at least a quarter of the slots is free, so every search comes to a free one
 *   I3  between a key's home and its slot there is no free slot, so a search may stop at
 *       the first one
 *   I4  count is the number of slots in use, and at most count_max
 *
 * To keep I3, remove() moves later keys back into the gap. The usual mark for "was in
 * use" is simpler, but marks pile up, and a map whose names come and go would search
 * ever longer or have to be rebuilt now and then.
 *
 *    a, b   c        <- homes
 *   +-----+-----+-----+-----+                +-----+-----+-----+-----+
 *   |  a  |  b  |  c  |     |   remove a     |  b  |  c  |     |     |
 *   +-----+-----+-----+-----+  ---------->   +-----+-----+-----+-----+
 */
#include "base/map.h"

#include <stdint.h>

#include "base/arith.h"
#include "base/assert.h"
#include "base/heap.h"

enum { FIRST_SLOT_COUNT = 8 };

struct weir_map_slot {
    char *key; /* owned; NULL when the slot is free */
    size_t key_size;
    uint64_t hash;
    void *value; /* the caller's */
};

static struct weir_map_slot *find_slot(const struct weir_map *self, struct weir_str key);
static struct weir_map_slot *free_slot_for(const struct weir_map *self, uint64_t hash);
static enum weir_status make_room(struct weir_map *self);
static enum weir_status grow(struct weir_map *self);
static void clear_slot(struct weir_map *self, size_t index);
static void close_gap(struct weir_map *self, size_t gap);
static size_t home_of(const struct weir_map *self, uint64_t hash);
static size_t behind(const struct weir_map *self, size_t index);
static size_t distance(const struct weir_map *self, size_t from, size_t to);
static struct weir_str key_of(const struct weir_map_slot *slot);
static void check_invariants(const struct weir_map *self);

void weir_map_init(struct weir_map *self, const struct weir_heap *heap, size_t count_max)
{
    *self = (struct weir_map){.heap = heap, .count_max = count_max};
}

void weir_map_fini(struct weir_map *self)
{
    for (size_t i = 0; i < self->slot_count; i++)
        weir_heap_free(self->heap, self->slots[i].key);
    weir_heap_free(self->heap, self->slots);
    weir_map_init(self, self->heap, self->count_max);
}

void *weir_map_find(const struct weir_map *self, struct weir_str key)
{
    const struct weir_map_slot *slot = find_slot(self, key);

    return slot == NULL ? NULL : slot->value;
}

enum weir_status weir_map_put(struct weir_map *self, struct weir_str key, void *value)
{
    struct weir_map_slot *slot = find_slot(self, key);
    enum weir_status status;
    uint64_t hash;
    char *copy;

    WEIR_ASSERT(value != NULL);
    if (slot != NULL) {
        slot->value = value;
        return WEIR_OK;
    }

    status = make_room(self);
    if (status != WEIR_OK)
        return status;
    copy = weir_heap_copy(self->heap, key.data, key.size);
    if (copy == NULL)
        return WEIR_NO_MEMORY;

    hash = weir_str_hash(key);
    slot = free_slot_for(self, hash);
    *slot = (struct weir_map_slot){copy, key.size, hash, value};
    self->count++;
    check_invariants(self);
    return WEIR_OK;
}

void *weir_map_remove(struct weir_map *self, struct weir_str key)
{
    struct weir_map_slot *slot = find_slot(self, key);
    void *value;

    if (slot == NULL)
        return NULL;

    value = slot->value;
    clear_slot(self, (size_t)(slot - self->slots));
    return value;
}

/*
 * Removing fills the slot with a later element of the same unbroken run, so a slot is
 * left only once it stays. The walk begins behind a free slot: no run then crosses its
 * beginning, and no element can move from where we have been to where we still come.
 */
void weir_map_remove_if(struct weir_map *self, weir_map_match_fn matches, void *arg)
{
    size_t index = 0;

    if (self->count == 0)
        return;
    while (self->slots[index].key != NULL)
        index++;

    for (size_t left = self->slot_count; left > 0; left--) {
        const struct weir_map_slot *slot;

        index = behind(self, index);
        slot = &self->slots[index];
        while (slot->key != NULL && matches(arg, key_of(slot), slot->value))
            clear_slot(self, index);
    }
}

size_t weir_map_count(const struct weir_map *self)
{
    return self->count;
}

/* The slot that holds `key`, or NULL. */
static struct weir_map_slot *find_slot(const struct weir_map *self, struct weir_str key)
{
    uint64_t hash;
    size_t index;

    if (self->count == 0)
        return NULL;

    hash = weir_str_hash(key);
    index = home_of(self, hash);
    while (self->slots[index].key != NULL) {
        struct weir_map_slot *slot = &self->slots[index];

        if (slot->hash == hash && weir_str_equal(key_of(slot), key))
            return slot;
        index = behind(self, index);
    }
    return NULL;
}

/* The slot where a key that is not in the map yet has to go. There is one (I2). */
static struct weir_map_slot *free_slot_for(const struct weir_map *self, uint64_t hash)
{
    size_t index = home_of(self, hash);

    while (self->slots[index].key != NULL)
        index = behind(self, index);
    return &self->slots[index];
}

/* See to it that one more element keeps within count_max and a quarter of the slots
 * free. */
static enum weir_status make_room(struct weir_map *self)
{
    if (self->count >= self->count_max)
        return WEIR_BUSY;
    if (self->count + 1 <= self->slot_count / 4 * 3)
        return WEIR_OK;
    return grow(self);
}

static enum weir_status grow(struct weir_map *self)
{
    struct weir_map_slot *old_slots = self->slots;
    size_t old_count = self->slot_count;
    size_t new_count = FIRST_SLOT_COUNT;
    struct weir_map_slot *new_slots;

    if (old_count > 0 && !weir_checked_mul_size(old_count, 2, &new_count))
        return WEIR_NO_MEMORY;
    new_slots = weir_heap_zalloc_array(self->heap, new_count, sizeof *new_slots);
    if (new_slots == NULL)
        return WEIR_NO_MEMORY;

    self->slots = new_slots;
    self->slot_count = new_count;
    for (size_t i = 0; i < old_count; i++)
        if (old_slots[i].key != NULL)
            *free_slot_for(self, old_slots[i].hash) = old_slots[i];
    weir_heap_free(self->heap, old_slots);
    return WEIR_OK;
}

static void clear_slot(struct weir_map *self, size_t index)
{
    weir_heap_free(self->heap, self->slots[index].key);
    self->count--;
    close_gap(self, index);
    check_invariants(self);
}

/*
 * Go through the rest of the unbroken run. An element moves into the gap, and leaves one
 * itself, unless its home lies behind the gap. The last gap becomes a free slot.
 */
static void close_gap(struct weir_map *self, size_t gap)
{
    size_t index = behind(self, gap);

    while (self->slots[index].key != NULL) {
        size_t home = home_of(self, self->slots[index].hash);

        if (distance(self, home, index) >= distance(self, gap, index)) {
            self->slots[gap] = self->slots[index];
            gap = index;
        }
        index = behind(self, index);
    }
    self->slots[gap].key = NULL;
}

static size_t home_of(const struct weir_map *self, uint64_t hash)
{
    return (size_t)hash & (self->slot_count - 1);
}

/* The next slot; behind the last one comes the first. */
static size_t behind(const struct weir_map *self, size_t index)
{
    return (index + 1) & (self->slot_count - 1);
}

/* Steps from one slot forward to another, around the end if need be. */
static size_t distance(const struct weir_map *self, size_t from, size_t to)
{
    return (to - from) & (self->slot_count - 1);
}

static struct weir_str key_of(const struct weir_map_slot *slot)
{
    return (struct weir_str){.data = slot->key, .size = slot->key_size};
}

/* What can be seen without walking. I3 is up to the tests: they look for every key. */
static void check_invariants(const struct weir_map *self)
{
    WEIR_ASSERT((self->slot_count & (self->slot_count - 1)) == 0); /* I1 */
    WEIR_ASSERT(self->count <= self->slot_count / 4 * 3);          /* I2 */
    WEIR_ASSERT(self->count <= self->count_max);                   /* I4 */
}
