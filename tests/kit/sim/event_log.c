/*
 * event_log.c - see event_log.h.
 */
#include "kit/sim/event_log.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/random.h"

static void keep_note(struct event_log *self, const char *who, const char *text)
{
    char *note = self->notes[self->note_count++ % EVENT_LOG_NOTES];

    (void)snprintf(note, EVENT_LOG_NOTE_SIZE, "%12.3f ms  %-10s %s",
                   (double)*self->clock_ns / 1e6, who, text);
    self->fingerprint = weir_mix_u64(self->fingerprint ^ weir_hash_text(note));
    if (self->loud)
        printf("# %s\n", note);
}

void event_log_note(struct event_log *self, const char *who, const char *format, ...)
{
    char text[EVENT_LOG_NOTE_SIZE];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    keep_note(self, who, text);
}

void event_log_violate(struct event_log *self, const char *format, ...)
{
    va_list arguments;

    if (self->violation[0] != '\0')
        return;
    va_start(arguments, format);
    (void)vsnprintf(self->violation, sizeof self->violation, format, arguments);
    va_end(arguments);
    keep_note(self, "VIOLATION", self->violation);
}

void event_log_print(const struct event_log *self)
{
    uint64_t first =
        self->note_count > EVENT_LOG_NOTES ? self->note_count - EVENT_LOG_NOTES : 0;

    for (uint64_t i = first; i < self->note_count; i++)
        printf("# %s\n", self->notes[i % EVENT_LOG_NOTES]);
}
