/*
 * numbers.h - sorted lists of numbers of rows.
 */
#ifndef WEIR_EXECUTION_FLOW_NUMBERS_H
#define WEIR_EXECUTION_FLOW_NUMBERS_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

static inline int weir_numbers_compare(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a;
    int64_t right = *(const int64_t *)b;

    return left < right ? -1 : left > right;
}

/* Sort, and keep each once; returns how many are left. */
static inline size_t weir_numbers_unique(int64_t *numbers, size_t count)
{
    size_t kept = 0;

    qsort(numbers, count, sizeof *numbers, weir_numbers_compare);
    for (size_t i = 0; i < count; i++) {
        if (kept == 0 || numbers[kept - 1] != numbers[i])
            numbers[kept++] = numbers[i];
    }
    return kept;
}

/* Where it is, or would be. */
static inline size_t weir_numbers_find(const int64_t *numbers, size_t count,
                                       int64_t number)
{
    size_t low = 0;
    size_t high = count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (numbers[middle] < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

#endif
