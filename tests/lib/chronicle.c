/*
 * chronicle.c - see chronicle.h.
 */
#include "lib/chronicle.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/random.h"

static void keep_note(struct chronicle *self, const char *who, const char *text)
{
    char *note = self->notes[self->note_count++ % CHRONICLE_NOTES];

    (void)snprintf(note, CHRONICLE_NOTE_SIZE, "%12.3f ms  %-10s %s",
                   (double)*self->clock_ns / 1e6, who, text);
    self->fingerprint = weir_mix_u64(self->fingerprint ^ weir_hash_text(note));
    if (self->loud)
        printf("# %s\n", note);
}

void chronicle_note(struct chronicle *self, const char *who, const char *format, ...)
{
    char text[CHRONICLE_NOTE_SIZE];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    keep_note(self, who, text);
}

void chronicle_violate(struct chronicle *self, const char *format, ...)
{
    va_list arguments;

    if (self->violation[0] != '\0')
        return;
    va_start(arguments, format);
    (void)vsnprintf(self->violation, sizeof self->violation, format, arguments);
    va_end(arguments);
    keep_note(self, "VIOLATION", self->violation);
}

void chronicle_print(const struct chronicle *self)
{
    uint64_t first =
        self->note_count > CHRONICLE_NOTES ? self->note_count - CHRONICLE_NOTES : 0;

    for (uint64_t i = first; i < self->note_count; i++)
        printf("# %s\n", self->notes[i % CHRONICLE_NOTES]);
}
