/*
 * spawn.h - starts a command in a process group of its own, or in one that is there.
 *
 * The command is run by /bin/sh -c, with standard input, output and error as given and
 * no other descriptor open, whatever the host has left open. Signals are as in a new
 * shell: nothing blocked, nothing ignored, unless it is to be deaf.
 *
 * posix_spawn() would do most of it, but it cannot close descriptors that the host has
 * left open.
 *
 * Threads  Any.
 */
#ifndef WEIR_SINK_UTIL_SPAWN_H
#define WEIR_SINK_UTIL_SPAWN_H

#include <stdbool.h>
#include <sys/types.h>

struct weir_spawn_options {
    const char *command;
    char *const *environment;
    int in; /* become standard input, output, error; above 2, or the child's own */
    int out;
    int err;
    pid_t group; /* that it joins; 0: a new one, with its own number */
    bool deaf;   /* ignores all signals that can be ignored */
};

/*
 * Start it. Returns 0 or an errno. A shell that cannot be executed is a process that
 * ends with 127, and so does one whose group is gone.
 */
int weir_spawn(const struct weir_spawn_options *options, pid_t *pid);

/* A pipe for a child: both ends are above 2, so that they are not in the way when it
 * takes its places, and are closed in every other program. Returns 0 or an errno; then
 * there is none. */
int weir_spawn_pipe(int ends[2]);

#endif
