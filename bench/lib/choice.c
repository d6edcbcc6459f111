/*
 * choice.c - see choice.h.
 */
#include "lib/choice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const enum weir_engine ENGINES[] = {WEIR_SQLITE, WEIR_POSTGRESQL, WEIR_MARIADB};
enum { ENGINE_COUNT = sizeof ENGINES / sizeof ENGINES[0] };

static bool take_word(struct bench_choice *self, const char *word)
{
    if (strcmp(word, "--quick") == 0)
        return self->quick = true;
    for (size_t i = 0; i < ENGINE_COUNT; i++) {
        if (strcmp(word, weir_engine_name(ENGINES[i])) == 0) {
            self->engines_wanted |= 1U << ENGINES[i];
            return true;
        }
    }
    for (size_t i = 0; i < self->section_count; i++) {
        if (strcmp(word, self->sections[i]) == 0) {
            self->sections_wanted |= 1U << i;
            return true;
        }
    }
    return false;
}

static void print_usage(const struct bench_choice *self, const char *program)
{
    (void)fprintf(stderr, "usage: %s [--quick]", program);
    for (size_t i = 0; i < ENGINE_COUNT; i++)
        (void)fprintf(stderr, " [%s]", weir_engine_name(ENGINES[i]));
    for (size_t i = 0; i < self->section_count; i++)
        (void)fprintf(stderr, " [%s]", self->sections[i]);
    (void)fputc('\n', stderr);
}

bool bench_choice_read(struct bench_choice *self, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (!take_word(self, argv[i])) {
            print_usage(self, argv[0]);
            return false;
        }
    }
    return true;
}

bool bench_choice_is_long(const struct bench_choice *self)
{
    const char *wish = getenv("WEIR_LONG");

    return !self->quick && wish != NULL && strcmp(wish, "1") == 0;
}

bool bench_choice_has_engine(const struct bench_choice *self, enum weir_engine engine)
{
    return self->engines_wanted == 0 || (self->engines_wanted & 1U << engine) != 0;
}

bool bench_choice_has_section(const struct bench_choice *self, size_t section)
{
    return self->sections_wanted == 0 || (self->sections_wanted & 1U << section) != 0;
}
