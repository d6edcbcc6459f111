/*
 * output.c - see output.h.
 */
#include "server/http/output.h"

#include "base/assert.h"
#include "base/buf.h"
#include "base/heap.h"

bool weir_http_budget_try(struct weir_http_budget *self, size_t size)
{
    size_t used = atomic_load(&self->used);
    size_t max = atomic_load(&self->max);

    do {
        if (used >= max || size > max - used)
            return false;
    } while (!atomic_compare_exchange_weak(&self->used, &used, used + size));
    return true;
}

void weir_http_budget_take(struct weir_http_budget *self, size_t size)
{
    atomic_fetch_add(&self->used, size);
}

void weir_http_budget_give(struct weir_http_budget *self, size_t size)
{
    atomic_fetch_sub(&self->used, size);
}

struct weir_http_block *weir_http_block_create(struct weir_buf *buf,
                                               struct weir_http_budget *budget)
{
    struct weir_http_block *block = weir_heap_alloc(buf->heap, sizeof *block);

    if (block == NULL)
        return NULL;
    *block = (struct weir_http_block){
        .heap = buf->heap,
        .budget = budget,
        .data = buf->data,
        .size = buf->size,
    };
    weir_http_budget_take(budget, block->size);
    weir_buf_init(buf, buf->heap, buf->size_max);
    return block;
}

void weir_http_block_destroy(struct weir_http_block *block)
{
    weir_http_budget_give(block->budget, block->size);
    weir_heap_free(block->heap, block->data);
    weir_heap_free(block->heap, block);
}

void weir_http_output_append(struct weir_http_output *self, struct weir_http_block *block)
{
    struct weir_http_output one = {block, block, block->size};

    block->next = NULL;
    weir_http_output_move(self, &one);
}

void weir_http_output_move(struct weir_http_output *self, struct weir_http_output *from)
{
    if (from->first == NULL)
        return;
    if (self->first == NULL)
        self->first = from->first;
    else
        self->last->next = from->first;
    self->last = from->last;
    self->size += from->size;
    *from = (struct weir_http_output){0};
}

void weir_http_output_clear(struct weir_http_output *self)
{
    while (self->first != NULL) {
        struct weir_http_block *block = self->first;

        self->first = block->next;
        weir_http_block_destroy(block);
    }
    *self = (struct weir_http_output){0};
}

int weir_http_output_look(const struct weir_http_output *self, struct iovec *pieces,
                          int count_max)
{
    int count = 0;

    for (struct weir_http_block *block = self->first; block != NULL && count < count_max;
         block = block->next, count++)
        pieces[count] =
            (struct iovec){block->data + block->sent, block->size - block->sent};
    return count;
}

void weir_http_output_advance(struct weir_http_output *self, size_t size)
{
    WEIR_ASSERT(size <= self->size);
    self->size -= size;
    while (self->first != NULL) {
        struct weir_http_block *block = self->first;
        size_t left = block->size - block->sent;

        if (size < left) {
            block->sent += size;
            return;
        }
        size -= left;
        self->first = block->next;
        weir_http_block_destroy(block);
    }
    self->last = NULL;
}
