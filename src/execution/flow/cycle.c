/*
 * cycle.c - see cycle.h.
 */
#include "execution/flow/cycle.h"

#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/noun.h"
#include "execution/flow/numbers.h"

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
struct degree_table {
    int64_t *numbers;
    uint32_t *degrees;
    size_t count;
};

static uint32_t *degree_of(const struct degree_table *self, int64_t no)
{
    return &self->degrees[weir_numbers_find(self->numbers, self->count, no)];
}

static void count_degrees(struct degree_table *self, const struct weir_edge_row *edges,
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
static void peel(struct degree_table *self, const struct weir_edge_row *edges,
                 size_t count, int64_t *queue)
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

/* What cannot be taken away lies on a cycle, or behind one, and an edge that is left
 * leads to it. */
static void note_sources(const struct degree_table *self,
                         const struct weir_edge_row *edges, size_t count,
                         int64_t *sources)
{
    for (size_t i = 0; i < count; i++) {
        if (*degree_of(self, edges[i].upstream) > 0)
            sources[degree_of(self, edges[i].downstream) - self->degrees] =
                edges[i].upstream;
    }
}

/* A walk back over as many edges as there are executions has come to a cycle, and goes
 * round on it. Its numbers are in `out`, in their order; returns how many. */
static size_t walk_back(const struct degree_table *self, const int64_t *sources,
                        int64_t from, int64_t *out)
{
    size_t count = 0;
    int64_t no = from;

    for (size_t i = 0; i < self->count; i++)
        no = sources[degree_of(self, no) - self->degrees];
    do {
        out[count++] = no;
        no = sources[degree_of(self, no) - self->degrees];
    } while (no != out[0]);
    return weir_numbers_unique(out, count);
}

enum weir_status weir_cycle_find(struct weir_edge_row *edges, size_t count,
                                 struct weir_arena *arena, struct weir_cycle *out,
                                 struct weir_error *error)
{
    size_t room = 2 * count + 1;
    struct degree_table degree_table = {
        .numbers = weir_arena_alloc(arena, room * sizeof *degree_table.numbers),
        .degrees = weir_arena_alloc(arena, room * sizeof *degree_table.degrees)};
    int64_t *queue = weir_arena_alloc(arena, room * sizeof *queue);
    int64_t *sources = weir_arena_alloc(arena, room * sizeof *sources);

    *out = (struct weir_cycle){.numbers = queue};
    if (degree_table.numbers == NULL || degree_table.degrees == NULL || queue == NULL ||
        sources == NULL)
        return weir_no_memory_for(error, "%zu %s", count,
                                  WEIR_NOUN(count, "edge", "edges"));
    if (count == 0)
        return WEIR_OK;
    qsort(edges, count, sizeof *edges, compare_edges);
    count_degrees(&degree_table, edges, count);
    peel(&degree_table, edges, count, queue);
    note_sources(&degree_table, edges, count, sources);
    for (size_t i = 0; i < degree_table.count && out->count == 0; i++) {
        if (degree_table.degrees[i] > 0)
            out->count =
                walk_back(&degree_table, sources, degree_table.numbers[i], queue);
    }
    return WEIR_OK;
}

bool weir_cycle_has(const struct weir_cycle *self, int64_t no)
{
    size_t at = weir_numbers_find(self->numbers, self->count, no);

    return at < self->count && self->numbers[at] == no;
}
