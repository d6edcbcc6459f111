/*
 * event_log.h - what happened in a simulated world, for people.
 *
 * Keeps the last notes, a fingerprint of all of them, and the first violation. Two runs
 * of the same world have the same fingerprint.
 */
#ifndef WEIR_TEST_EVENT_LOG_H
#define WEIR_TEST_EVENT_LOG_H

#include <stdbool.h>
#include <stdint.h>

enum { EVENT_LOG_NOTES = 200, EVENT_LOG_NOTE_SIZE = 120, EVENT_LOG_TEXT_SIZE = 200 };

struct event_log {
    const int64_t *clock_ns; /* the world's time; borrowed */
    bool loud;               /* print at once */
    uint64_t fingerprint;
    uint64_t note_count;
    char notes[EVENT_LOG_NOTES][EVENT_LOG_NOTE_SIZE];
    char violation[EVENT_LOG_TEXT_SIZE]; /* "": none */
};

void event_log_note(struct event_log *self, const char *who, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Only the first one counts. */
void event_log_violate(struct event_log *self, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

void event_log_print(const struct event_log *self);

#endif
