/*
 * heap.c - the C library's heap, helpers on top of any heap, and one that fails on order.
 *
 * A heap has one function, and what it does depends on which argument is empty. The
 * helpers keep the three meanings apart, so that a size of 0 that was computed by
 * mistake is caught here and does not free something.
 */
#include "base/heap.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/assert.h"

static void *system_resize(void *state, void *memory, size_t size);
static void *faulty_resize(void *state, void *memory, size_t size);
static bool is_to_fail(struct weir_faulty_heap *self);

static const struct weir_heap THE_SYSTEM_HEAP = {.resize = system_resize, .state = NULL};

const struct weir_heap *weir_heap_system(void)
{
    return &THE_SYSTEM_HEAP;
}

void *weir_heap_alloc(const struct weir_heap *self, size_t size)
{
    WEIR_ASSERT(size > 0);
    return self->resize(self->state, NULL, size);
}

void *weir_heap_zalloc(const struct weir_heap *self, size_t size)
{
    void *memory = weir_heap_alloc(self, size);

    if (memory != NULL)
        memset(memory, 0, size);
    return memory;
}

void *weir_heap_zalloc_array(const struct weir_heap *self, size_t count, size_t size)
{
    size_t total;

    if (!weir_checked_mul_size(count, size, &total))
        return NULL;
    return weir_heap_zalloc(self, total);
}

void *weir_heap_resize(const struct weir_heap *self, void *memory, size_t size)
{
    WEIR_ASSERT(size > 0);
    return self->resize(self->state, memory, size);
}

char *weir_heap_copy(const struct weir_heap *self, const char *bytes, size_t size)
{
    size_t size_with_zero;
    char *copy;

    if (!weir_checked_add_size(size, 1, &size_with_zero))
        return NULL;
    copy = weir_heap_alloc(self, size_with_zero);
    if (copy == NULL)
        return NULL;

    if (size > 0)
        memcpy(copy, bytes, size);
    copy[size] = '\0';
    return copy;
}

void weir_heap_free(const struct weir_heap *self, void *memory)
{
    if (memory != NULL)
        self->resize(self->state, memory, 0);
}

void weir_faulty_heap_init(struct weir_faulty_heap *self)
{
    self->heap.resize = faulty_resize;
    self->heap.state = self;
    atomic_init(&self->allocations, 0);
    atomic_init(&self->outstanding, 0);
    self->fail_at = 0;
    self->fail_after_too = 0;
}

void weir_faulty_heap_fail_at(struct weir_faulty_heap *self, uint64_t fail_at)
{
    atomic_store(&self->allocations, 0);
    self->fail_at = fail_at;
}

static void *system_resize(void *state, void *memory, size_t size)
{
    (void)state;
    if (size == 0) {
        free(memory);
        return NULL;
    }
    return realloc(memory, size);
}

static void *faulty_resize(void *state, void *memory, size_t size)
{
    struct weir_faulty_heap *self = state;
    void *result;

    if (size == 0) {
        if (memory != NULL)
            atomic_fetch_sub(&self->outstanding, 1);
        return system_resize(NULL, memory, 0);
    }
    if (is_to_fail(self))
        return NULL;

    result = system_resize(NULL, memory, size);
    if (result != NULL && memory == NULL)
        atomic_fetch_add(&self->outstanding, 1);
    return result;
}

/* Count one request; growing a block is one as well. */
static bool is_to_fail(struct weir_faulty_heap *self)
{
    uint64_t number = atomic_fetch_add(&self->allocations, 1) + 1;

    if (self->fail_at == 0)
        return false;
    return number == self->fail_at || (self->fail_after_too && number > self->fail_at);
}
