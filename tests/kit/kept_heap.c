/*
 * kept_heap.c - see kept_heap.h.
 */
#include "kit/kept_heap.h"

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>

struct piece {
    struct piece *next;
    struct piece *previous;
    max_align_t memory[];
};

static pthread_mutex_t pieces_lock = PTHREAD_MUTEX_INITIALIZER;
static struct piece pieces = {&pieces, &pieces};

static void *resize_piece(void *state, void *memory, size_t size)
{
    struct piece *piece =
        memory != NULL ? (struct piece *)((char *)memory - sizeof *piece) : NULL;
    struct piece *moved = NULL;

    (void)state;
    pthread_mutex_lock(&pieces_lock);
    if (piece != NULL) {
        piece->previous->next = piece->next;
        piece->next->previous = piece->previous;
    }
    if (size == 0)
        free(piece);
    else
        moved = realloc(piece, sizeof *piece + size);
    if (moved != NULL) {
        moved->next = pieces.next;
        moved->previous = &pieces;
        moved->next->previous = moved;
        pieces.next = moved;
    }
    pthread_mutex_unlock(&pieces_lock);
    return moved != NULL ? moved->memory : NULL;
}

const struct weir_heap *kept_heap(void)
{
    static const struct weir_heap heap = {.resize = resize_piece};

    return &heap;
}
