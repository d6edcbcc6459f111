/*
 * mistake.c - see mistake.h.
 *
 * Invariant: items[0..kept) are sorted by place, those of one place in the order in
 * which they came.
 */
#include "server/config/mistake.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "base/noun.h"
#include "base/text.h"

void weir_mistakes_init(struct weir_mistakes *self)
{
    self->kept = 0;
    self->count = 0;
}

/* Make room at `at`; the last one gives way if all of it is taken. */
static void shift(struct weir_mistakes *self, size_t at)
{
    if (self->kept < WEIR_MISTAKES_MAX)
        self->kept++;
    memmove(&self->items[at + 1], &self->items[at],
            (self->kept - 1 - at) * sizeof self->items[0]);
}

void weir_mistakes_add(struct weir_mistakes *self, uint64_t place, const char *format,
                       ...)
{
    size_t at = self->kept;
    va_list arguments;

    self->count++;
    while (at > 0 && self->items[at - 1].place > place)
        at--;
    if (at == WEIR_MISTAKES_MAX)
        return;
    shift(self, at);
    self->items[at].place = place;
    va_start(arguments, format);
    weir_text_format_list(self->items[at].text, WEIR_MISTAKE_SIZE, format, arguments);
    va_end(arguments);
}

void weir_mistakes_each(const struct weir_mistakes *self, const char *noun,
                        const char *nouns, void (*emit)(void *state, const char *line),
                        void *state)
{
    size_t more = self->count - self->kept;
    char line[64];

    for (size_t i = 0; i < self->kept; i++)
        emit(state, self->items[i].text);
    if (more == 0)
        return;
    weir_text_format(line, sizeof line, "and %zu more %s", more,
                     WEIR_NOUN(more, noun, nouns));
    emit(state, line);
}
