/*
 * serve_signals.h - what the signals of `weir serve` ask for.
 *
 * SIGTERM and SIGINT ask to stop, SIGHUP to read the configuration again. They are
 * blocked in every thread that is started after block(), and taken by wait(). After
 * the first one that asks to stop, another one ends the process at once with 1.
 *
 * Threads  The main thread.
 */
#ifndef WEIR_CLI_SERVE_SERVE_SIGNALS_H
#define WEIR_CLI_SERVE_SERVE_SIGNALS_H

#include <stdint.h>

enum weir_serve_asked {
    WEIR_SERVE_NOTHING, /* the time is over */
    WEIR_SERVE_STOP,
    WEIR_SERVE_RELOAD
};

void weir_serve_signals_block(void);
enum weir_serve_asked weir_serve_signals_wait(int64_t timeout_ns);

#endif
