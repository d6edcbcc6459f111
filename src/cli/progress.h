/*
 * progress.h - how far something long has come, on one line of the terminal.
 *
 *   184,000 messages, 61,200/s, 46 %, 4 s left
 *
 * Written to standard error a few times a second, and only if that is a terminal; wiped
 * away at the end. The share and the time left are shown when the whole is known.
 *
 * Threads  The main thread.
 */
#ifndef WEIR_CLI_PROGRESS_H
#define WEIR_CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/noun.h"

struct weir_progress {
    bool shown; /* on a terminal, and wanted */
    bool drawn; /* something stands there */
    struct weir_noun what;
    int64_t begin_ns;
    int64_t next_ns; /* when to draw again */
    int64_t whole;   /* in the unit of `part`; 0: unknown */
    int64_t last_ns; /* of the rate over the last moments */
    int64_t last_done;
    double rate;
};

enum weir_progress_use { WEIR_PROGRESS_OFF, WEIR_PROGRESS_ON_TERMINAL };

/* `what` is counted. `whole` may be 0. */
void weir_progress_begin(struct weir_progress *self, struct weir_noun what, int64_t whole,
                         enum weir_progress_use use);

/* So many are done, which is `part` of the whole. Draws if it is time. */
void weir_progress_note(struct weir_progress *self, int64_t done, int64_t part);

/* Wipe the line. */
void weir_progress_end(struct weir_progress *self);

/* Since begin(). */
int64_t weir_progress_elapsed_ns(const struct weir_progress *self);

#endif
