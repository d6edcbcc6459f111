/*
 * output.h - bytes that wait to be written, in blocks, and what memory they may take.
 *
 * Threads  A budget from any thread; an output is its owner's.
 * Memory   A block owns its bytes. Its size counts against the budget until it is freed.
 */
#ifndef WEIR_SERVER_HTTP_OUTPUT_H
#define WEIR_SERVER_HTTP_OUTPUT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/uio.h>

struct weir_buf;
struct weir_heap;

/* Bytes of input, bodies and answers of a server. */
struct weir_http_budget {
    _Atomic size_t used;
    _Atomic size_t max;
};

/* False, and nothing is taken, beyond the limit. */
bool weir_http_budget_try(struct weir_http_budget *self, size_t size);
void weir_http_budget_take(struct weir_http_budget *self, size_t size); /* also beyond */
void weir_http_budget_give(struct weir_http_budget *self, size_t size);

struct weir_http_block {
    struct weir_http_block *next;
    const struct weir_heap *heap;    /* borrowed */
    struct weir_http_budget *budget; /* borrowed */
    char *data;                      /* owned */
    size_t size;
    size_t sent;
};

struct weir_http_output {
    struct weir_http_block *first;
    struct weir_http_block *last;
    size_t size; /* bytes not sent */
};

/* A block with the bytes of `buf`, which is empty afterwards; NULL without memory: then
 * `buf` keeps them. `buf` is not empty and has not failed. */
struct weir_http_block *weir_http_block_create(struct weir_buf *buf,
                                               struct weir_http_budget *budget);
void weir_http_block_destroy(struct weir_http_block *block);

void weir_http_output_append(struct weir_http_output *self,
                             struct weir_http_block *block);
void weir_http_output_move(struct weir_http_output *self, struct weir_http_output *from);
void weir_http_output_clear(struct weir_http_output *self);

/* Up to `count_max` pieces of what comes next; returns how many. */
int weir_http_output_look(const struct weir_http_output *self, struct iovec *pieces,
                          int count_max);
/* The first `size` bytes have been sent. */
void weir_http_output_advance(struct weir_http_output *self, size_t size);

#endif
