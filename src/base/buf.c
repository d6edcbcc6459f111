/*
 * buf.c - one block that doubles.
 *
 * Invariants:
 *
 *   I1  size <= size_max
 *   I2  data is NULL, and size and capacity are 0; or size < capacity and data[size] is
 *       zero, so that the bytes are a text at any time
 *   I3  capacity <= size_max + 1
 */
#include "base/buf.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/arith.h"
#include "base/assert.h"
#include "base/heap.h"

enum { FIRST_CAPACITY = 64 };

static void append_list(struct weir_buf *self, const char *format, va_list arguments)
    WEIR_PRINTF(2, 0);
static bool reserve(struct weir_buf *self, size_t size);
static bool grow(struct weir_buf *self, size_t capacity_min);
static bool fail(struct weir_buf *self, enum weir_status status);
static void check_invariants(const struct weir_buf *self);

void weir_buf_init(struct weir_buf *self, const struct weir_heap *heap, size_t size_max)
{
    *self = (struct weir_buf){.heap = heap, .size_max = size_max, .failure = WEIR_OK};
}

void weir_buf_fini(struct weir_buf *self)
{
    weir_heap_free(self->heap, self->data);
    weir_buf_init(self, self->heap, self->size_max);
}

void weir_buf_reset(struct weir_buf *self)
{
    self->failure = WEIR_OK;
    self->size = 0;
    if (self->data != NULL)
        self->data[0] = '\0';
}

void weir_buf_append(struct weir_buf *self, const void *bytes, size_t size)
{
    if (size == 0 || !reserve(self, size))
        return;

    memcpy(self->data + self->size, bytes, size);
    self->size += size;
    self->data[self->size] = '\0';
    check_invariants(self);
}

void weir_buf_append_text(struct weir_buf *self, const char *text)
{
    weir_buf_append(self, text, strlen(text));
}

void weir_buf_append_format(struct weir_buf *self, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    append_list(self, format, arguments);
    va_end(arguments);
}

void weir_buf_fail(struct weir_buf *self, enum weir_status status)
{
    (void)fail(self, status);
}

enum weir_status weir_buf_status(const struct weir_buf *self)
{
    return self->failure;
}

const char *weir_buf_text(const struct weir_buf *self)
{
    return self->data == NULL ? "" : self->data;
}

struct weir_str weir_buf_get(const struct weir_buf *self)
{
    return (struct weir_str){.data = weir_buf_text(self), .size = self->size};
}

/* Printed twice: to measure, and then into room that is known to be enough. */
static void append_list(struct weir_buf *self, const char *format, va_list arguments)
{
    va_list arguments_again;
    int length;

    va_copy(arguments_again, arguments);
    length = vsnprintf(NULL, 0, format, arguments);
    if (length < 0) {
        fail(self, WEIR_INVALID);
    } else if (length > 0 && reserve(self, (size_t)length)) {
        vsnprintf(self->data + self->size, (size_t)length + 1, format, arguments_again);
        self->size += (size_t)length;
        check_invariants(self);
    }
    va_end(arguments_again);
}

/* Make room for `size` more bytes and a zero. False when there is none, or when an
 * earlier append has failed. */
static bool reserve(struct weir_buf *self, size_t size)
{
    size_t capacity_min;

    if (self->failure != WEIR_OK)
        return false;
    if (size > self->size_max - self->size)
        return fail(self, WEIR_INVALID);
    if (!weir_checked_add_size(self->size + size, 1, &capacity_min))
        return fail(self, WEIR_NO_MEMORY);
    return capacity_min <= self->capacity || grow(self, capacity_min);
}

/* Doubling makes many small appends cheap. `capacity_min` is within the limit. */
static bool grow(struct weir_buf *self, size_t capacity_min)
{
    size_t capacity = FIRST_CAPACITY;
    char *data;

    if (self->capacity > 0 && !weir_checked_mul_size(self->capacity, 2, &capacity))
        capacity = capacity_min;
    if (capacity - 1 > self->size_max)
        capacity = self->size_max + 1;
    if (capacity < capacity_min)
        capacity = capacity_min;

    data = weir_heap_resize(self->heap, self->data, capacity);
    if (data == NULL)
        return fail(self, WEIR_NO_MEMORY);
    self->data = data;
    self->capacity = capacity;
    return true;
}

/* Remember the first failure. Always false, for the caller to pass on. */
static bool fail(struct weir_buf *self, enum weir_status status)
{
    if (self->failure == WEIR_OK)
        self->failure = status;
    return false;
}

static void check_invariants(const struct weir_buf *self)
{
    WEIR_ASSERT(self->size <= self->size_max);         /* I1 */
    WEIR_ASSERT(self->size < self->capacity);          /* I2 */
    WEIR_ASSERT(self->data[self->size] == '\0');       /* I2 */
    WEIR_ASSERT(self->capacity - 1 <= self->size_max); /* I3 */
}
