/*
 * nearest.h - which known word was meant.
 *
 * For the question "did you mean ...?" after a typing mistake: counts the letters that
 * must be inserted, removed, replaced or swapped with their neighbour to get from one
 * word to the other.
 *
 * Memory   None. Words beyond 63 letters are near to nothing.
 */
#ifndef WEIR_BASE_NEAREST_H
#define WEIR_BASE_NEAREST_H

#include <stddef.h>

/* Borrow the nearest of `words`, or a word that `word` is the beginning of. NULL when all
 * of them are too far off to be what was meant: more than a third of the letters
 * differ. */
const char *weir_nearest_find(const char *word, const char *const *words, size_t count);

#endif
