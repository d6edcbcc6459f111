/*
 * mistake.h - what is wrong with a configuration, one line for each.
 *
 *   weir.ini:17: [http] idle_timeout: "75" has no unit; write 75s
 *
 * The first 20 are kept, in the order of their places; the rest is counted. The lines of
 * warnings are kept in the same struct.
 *
 * Memory   The struct's own; it is a few kilobytes large.
 */
#ifndef WEIR_SERVER_CONFIG_MISTAKE_H
#define WEIR_SERVER_CONFIG_MISTAKE_H

#include <stddef.h>
#include <stdint.h>

#include "weir/api.h"

enum { WEIR_MISTAKES_MAX = 20, WEIR_MISTAKE_SIZE = 512 };

struct weir_mistake {
    uint64_t place; /* what comes first in its source comes first here */
    char text[WEIR_MISTAKE_SIZE];
};

struct weir_mistakes {
    struct weir_mistake items[WEIR_MISTAKES_MAX];
    size_t kept;
    size_t count; /* with those that were not kept */
};

void weir_mistakes_init(struct weir_mistakes *self);

/* Add a line, behind those of the same place. A text that is too long is cut. */
void weir_mistakes_add(struct weir_mistakes *self, uint64_t place, const char *format,
                       ...) WEIR_PRINTF(3, 4);

/* Give each line to `emit`, and one more if some were only counted: "and 3 more
 * mistakes". `noun`, `nouns`: what they are called. */
void weir_mistakes_each(const struct weir_mistakes *self, const char *noun,
                        const char *nouns, void (*emit)(void *state, const char *line),
                        void *state);

#endif
