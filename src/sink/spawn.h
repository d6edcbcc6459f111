/*
 * spawn.h - starts a command as a process group of its own.
 *
 * The command is run by /bin/sh -c, with standard input, output and error as given and no other
 * descriptor open, whatever the host has left open. Signals are as in a new shell: nothing
 * blocked, nothing ignored.
 *
 * posix_spawn() would do all of it but one thing: a handler must not outlive us, since another
 * process takes the partition over and the two would work on the same message. So the child asks
 * the kernel to be killed when we die (PR_SET_PDEATHSIG), and only the child itself can ask. It
 * is the shell that is killed, or what it has become; processes that it has started and waits for
 * live on until they notice.
 *
 * Threads  Any. The request holds for the thread that spawned: the process is also killed when
 *          that thread ends.
 */
#ifndef WEIR_SINK_SPAWN_H
#define WEIR_SINK_SPAWN_H

#include <stdbool.h>
#include <sys/types.h>

struct weir_spawn_options {
    const char *command;
    char *const *environment;
    int in; /* become standard input, output, error; above 2, or the child's own */
    int out;
    int err;
    bool dies_with_us; /* and with the thread that calls */
};

/*
 * Start it. *pid is also the number of its process group. Returns 0 or an errno. A shell that
 * cannot be executed is a process that ends with 127.
 */
int weir_spawn(const struct weir_spawn_options *options, pid_t *pid);

#endif
