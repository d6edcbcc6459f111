/*
 * choice.h - what a bench of both engines was asked for.
 *
 *   bench_x [--quick] [ENGINE...] [SECTION...]
 *
 * Nothing of a kind means all of it.
 */
#ifndef WEIR_BENCH_CHOICE_H
#define WEIR_BENCH_CHOICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weir/db.h>

struct bench_choice {
    const char *const *sections; /* borrowed: all there are */
    size_t section_count;        /* up to 32 */
    bool quick;
    uint32_t engines_wanted; /* bits; 0: all */
    uint32_t sections_wanted;
};

/* Read the words of the command line; false after telling what could have been said. */
bool bench_choice_read(struct bench_choice *self, int argc, char **argv);

/* WEIR_LONG=1 asks for the long form, unless a quick one is asked for. */
bool bench_choice_is_long(const struct bench_choice *self);

bool bench_choice_has_engine(const struct bench_choice *self, enum weir_engine engine);
bool bench_choice_has_section(const struct bench_choice *self, size_t section);

#endif
