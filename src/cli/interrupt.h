/*
 * interrupt.h - how a command that runs on hears that it should end.
 *
 *   listen -> start threads -> admit -> wait, wait, ... -> false: end in good order
 *                                                            |
 *                                            a second signal +--> ended by it, at once
 *
 * The first SIGINT, SIGTERM or SIGHUP (unless that is ignored, as under nohup) only
 * asks. From then on they do what they do to any program, whatever the main thread is
 * waiting for: a statement that hangs does not keep the user from ending the program.
 *
 * Threads  The main thread. Those started between listen() or withhold() and admit()
 *          leave the signals to it.
 */
#ifndef WEIR_CLI_INTERRUPT_H
#define WEIR_CLI_INTERRUPT_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/option.h"
#include "weir/error.h"
#include "weir/time.h"

/* How long a command lets run what has begun when it is asked to end: below the ten
 * seconds that supervisors commonly wait before they kill. */
#define WEIR_GRACE_DEFAULT WEIR_SECONDS(8)
#define WEIR_GRACE_OPTION(T, m)                                                          \
    WEIR_OPTION(0, "grace", "D",                                                         \
                "of what runs when it is stopped; default 8s, up to 1h",                 \
                WEIR_AS_NS(T, m, 0, WEIR_HOURS(1)))

/* Once in a process. Fails with WEIR_SYSTEM; then nothing has changed. */
WEIR_CHECKED enum weir_status weir_interrupt_listen(struct weir_error *error);
void weir_interrupt_admit(void);

/* As after listen(), for more threads: signals wait until admit(). */
void weir_interrupt_withhold(void);

/* Wait until the time is over or a signal comes. Returns whether to go on. */
bool weir_interrupt_wait(int64_t timeout_ns);

#endif
