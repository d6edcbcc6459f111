/*
 * reader.h - the lines of a file of the configuration.
 *
 *   # a comment, as a line that begins with a semicolon
 *   [relay audit]
 *   to = exec:./send 'a;b' # this belongs to the value
 *
 * A line ends with LF or CRLF and has at most 8,192 bytes. Blanks (space, tab) around
 * sections, keys and values are cut; the value is the rest of the line as it stands,
 * without quotes, escapes or comments. Keys and sections are passed on as they are
 * written: whether there are such is not asked here.
 *
 * Failure  A line that cannot be read is reported, and the next one is read. The keys of
 *          a section whose line cannot be read, or that is refused, are passed over.
 * Memory   None: the text is cut in place.
 */
#ifndef WEIR_SERVER_CONFIG_READER_H
#define WEIR_SERVER_CONFIG_READER_H

#include <stdbool.h>
#include <stddef.h>

enum { WEIR_CONFIG_FILE_SIZE_MAX = 1 << 20, WEIR_CONFIG_LINE_SIZE_MAX = 8192 };

struct weir_reader_events {
    void *state; /* for all of them */

    /* [section] or [section name]; `name` is NULL of the former. False: its keys are
     * passed over. */
    bool (*section)(void *state, unsigned line, const char *section, const char *name);
    void (*entry)(void *state, unsigned line, const char *key, const char *value);
    void (*mistake)(void *state, unsigned line, const char *text);
};

/* `text` has `size` bytes and room for a zero behind them. */
void weir_reader_run(char *text, size_t size, const struct weir_reader_events *events);

#endif
