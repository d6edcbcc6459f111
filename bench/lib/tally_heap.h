/*
 * tally_heap.h - the C library's heap, with its bytes counted.
 *
 * Counts what the blocks really hold, not what was asked for.
 *
 * Threads  Any thread.
 */
#ifndef WEIR_BENCH_TALLY_HEAP_H
#define WEIR_BENCH_TALLY_HEAP_H

#include <stdatomic.h>
#include <stddef.h>

#include <weir/heap.h>

struct bench_tally_heap {
    struct weir_heap heap;
    _Atomic size_t size;  /* in use now */
    _Atomic size_t count; /* blocks in use now */
};

void bench_tally_heap_init(struct bench_tally_heap *self);

#endif
