/*
 * nearest.c - edit distance with swapped neighbours, row by row.
 *
 * rows[i % 3][j] is the distance between the first i letters of one word and the first
 * j of the other. A swap looks two rows back, so three rows are kept.
 */
#include "base/nearest.h"

#include <stdint.h>
#include <string.h>

enum { WORD_SIZE_MAX = 63 };

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t distance(const char *a, size_t a_size, const char *b, size_t b_size)
{
    size_t rows[3][WORD_SIZE_MAX + 1];

    for (size_t j = 0; j <= b_size; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a_size; i++) {
        size_t *row = rows[i % 3];
        const size_t *above = rows[(i - 1) % 3];
        const size_t *two_above = rows[(i + 1) % 3];

        row[0] = i;
        for (size_t j = 1; j <= b_size; j++) {
            size_t replaced = above[j - 1] + (a[i - 1] != b[j - 1]);

            row[j] = smaller(replaced, smaller(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = smaller(row[j], two_above[j - 2] + 1);
        }
    }
    return rows[a_size % 3][b_size];
}

const char *weir_nearest_find(const char *word, const char *const *words, size_t count)
{
    size_t word_size = strlen(word);
    size_t best = SIZE_MAX;
    const char *nearest = NULL;

    if (word_size == 0 || word_size > WORD_SIZE_MAX)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        size_t size = strlen(words[i]);
        size_t apart;

        if (size > WORD_SIZE_MAX)
            continue;
        apart = strncmp(word, words[i], word_size) == 0
                    ? 0
                    : distance(word, word_size, words[i], size);
        if (apart < best && apart <= (size + 2) / 3) {
            best = apart;
            nearest = words[i];
        }
    }
    return nearest;
}
