/*
 * circle.c - see circle.h.
 */
#include "flow/circle.h"

#include <stdlib.h>
#include <string.h>

#include "flow/numbers.h"

static int compare_edges(const void *a, const void *b)
{
    const struct weir_edge_row *left = a;
    const struct weir_edge_row *right = b;

    return left->upstream < right->upstream ? -1 : left->upstream > right->upstream;
}

/* The first edge that comes from there. */
static size_t first_edge(const struct weir_edge_row *edges, size_t count,
                         int64_t upstream)
{
    size_t low = 0;
    size_t high = count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (edges[middle].upstream < upstream)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Executions by number, and how many edges lead to each. */
struct census {
    int64_t *numbers;
    uint32_t *degrees;
    size_t count;
};

static uint32_t *degree_of(const struct census *self, int64_t no)
{
    return &self->degrees[weir_numbers_find(self->numbers, self->count, no)];
}

static void take_census(struct census *self, const struct weir_edge_row *edges,
                        size_t count)
{
    for (size_t i = 0; i < count; i++) {
        self->numbers[2 * i] = edges[i].upstream;
        self->numbers[2 * i + 1] = edges[i].downstream;
    }
    self->count = weir_numbers_unique(self->numbers, 2 * count);
    memset(self->degrees, 0, self->count * sizeof *self->degrees);
    for (size_t i = 0; i < count; i++)
        ++*degree_of(self, edges[i].downstream);
}

/* Where no edge leads any more is taken away with its edges, and so on. */
static void peel(struct census *self, const struct weir_edge_row *edges, size_t count,
                 int64_t *queue)
{
    size_t head = 0;
    size_t tail = 0;

    for (size_t i = 0; i < self->count; i++) {
        if (self->degrees[i] == 0)
            queue[tail++] = self->numbers[i];
    }
    while (head < tail) {
        int64_t no = queue[head++];

        for (size_t i = first_edge(edges, count, no);
             i < count && edges[i].upstream == no; i++) {
            if (--*degree_of(self, edges[i].downstream) == 0)
                queue[tail++] = edges[i].downstream;
        }
    }
}

/* What cannot be taken away lies on a circle, or behind one. */
enum weir_status weir_circle_find(struct weir_edge_row *edges, size_t count,
                                  struct weir_arena *arena, int64_t *out,
                                  struct weir_error *error)
{
    size_t room = 2 * count + 1;
    struct census census = {
        .numbers = weir_arena_alloc(arena, room * sizeof *census.numbers),
        .degrees = weir_arena_alloc(arena, room * sizeof *census.degrees)};
    int64_t *queue = weir_arena_alloc(arena, room * sizeof *queue);

    *out = 0;
    if (census.numbers == NULL || census.degrees == NULL || queue == NULL)
        return weir_error_set(error, WEIR_NO_MEMORY, "no memory for %zu edges", count);
    if (count == 0)
        return WEIR_OK;
    qsort(edges, count, sizeof *edges, compare_edges);
    take_census(&census, edges, count);
    peel(&census, edges, count, queue);
    for (size_t i = 0; i < census.count && *out == 0; i++) {
        if (census.degrees[i] > 0)
            *out = census.numbers[i];
    }
    return WEIR_OK;
}
