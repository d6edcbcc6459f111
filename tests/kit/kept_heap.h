/*
 * kept_heap.h - a heap for what is never freed.
 *
 * What an outbox keeps for a thread that it left behind stays for ever. So it is not
 * from the heap that a fixture counts, and each piece is in a list, so that it is not
 * taken for lost.
 *
 * Threads  Any.
 */
#ifndef WEIR_TEST_KEPT_HEAP_H
#define WEIR_TEST_KEPT_HEAP_H

#include "weir/heap.h"

const struct weir_heap *kept_heap(void);

#endif
