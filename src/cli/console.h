/*
 * console.h - where a long-running command writes, and how it hears that it should stop.
 *
 * Both are one thing because of the case in which they meet: a reader that has stopped
 * reading (a paused terminal, a full pipe) must not keep the program from hearing
 * SIGTERM.
 *
 *   open -> draw, wait, draw, wait ... -> release -> write -> close
 *                       |
 *                       +--> false: asked to stop, or no reader any more
 *                            go_on() listens for a second request
 *
 * On a terminal draw() replaces what it drew before and the cursor is hidden; elsewhere
 * it appends, without any escape sequence. Between open() and release() SIGINT, SIGTERM
 * and SIGHUP only ask to stop; after release() they end the program at once, as ever.
 *
 * Threads  The main thread. Open it before other threads start: they inherit the blocked
 *          signals and leave them to it.
 */
#ifndef WEIR_CLI_CONSOLE_H
#define WEIR_CLI_CONSOLE_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "view/tone.h"
#include "weir/error.h"

struct weir_console {
    bool live;                /* a terminal that can be drawn on */
    enum weir_tone_use tones; /* colours only on a terminal, and not with NO_COLOR */
    size_t width;             /* of the terminal, in characters; elsewhere 0: no limit */
    size_t height;
    size_t lines_drawn; /* above the cursor, to be replaced by the next draw() */
    bool disturbed;     /* what was drawn is no longer where it was */
    bool stop_asked;    /* by a signal, since open() and until release() */
    struct weir_buf output;
    int write_errno; /* of the first write that failed; 0 while all is well */
    int signal_fd;   /* -1 after release() */
    sigset_t mask_before;
};

enum weir_console_style { WEIR_CONSOLE_LIVE_IF_TERMINAL, WEIR_CONSOLE_PLAIN };

/* Fails with WEIR_SYSTEM; then nothing is owed. */
WEIR_CHECKED enum weir_status weir_console_open(struct weir_console *self,
                                                enum weir_console_style style,
                                                struct weir_error *error);

/* release() if need be, and give back the memory. */
void weir_console_close(struct weir_console *self);

/* Show a frame of whole lines, none wider than the terminal. Returns whether to go on. */
bool weir_console_draw(struct weir_console *self, struct weir_str frame);

/* Write as it is. Returns whether to go on; the text is cut short if not. */
bool weir_console_write(struct weir_console *self, struct weir_str text);

/* Wait until the time is over, the terminal has changed, or the end. Returns whether to
 * go on. */
bool weir_console_wait(struct weir_console *self, int64_t timeout_ns);

/* The request to stop was heard and is being dealt with: wait for another one. */
void weir_console_go_on(struct weir_console *self);

/* Give cursor and signals back. What was drawn stays, and writing goes on below it, but
 * no longer waits for ever: a reader that takes nothing for a second is given up. Twice
 * is harmless. */
void weir_console_release(struct weir_console *self);

/* For the last words of a dying program: make the cursor of a terminal visible. */
void weir_console_show_cursor(void);

#endif
