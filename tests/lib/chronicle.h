/*
 * chronicle.h - what happened in a simulated world, for people.
 *
 * Keeps the last notes, a fingerprint of all of them, and the first violation. Two runs of the same
 * world have the same fingerprint.
 */
#ifndef WEIR_TEST_CHRONICLE_H
#define WEIR_TEST_CHRONICLE_H

#include <stdbool.h>
#include <stdint.h>

enum { CHRONICLE_NOTES = 200, CHRONICLE_NOTE_SIZE = 120, CHRONICLE_TEXT_SIZE = 200 };

struct chronicle {
    const int64_t *clock_ns; /* the world's time; borrowed */
    bool loud;               /* print at once */
    uint64_t fingerprint;
    uint64_t note_count;
    char notes[CHRONICLE_NOTES][CHRONICLE_NOTE_SIZE];
    char violation[CHRONICLE_TEXT_SIZE]; /* "": none */
};

void chronicle_note(struct chronicle *self, const char *who, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Only the first one counts. */
void chronicle_violate(struct chronicle *self, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

void chronicle_print(const struct chronicle *self);

#endif
