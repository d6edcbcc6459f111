/*
 * guard.c - see guard.h.
 *
 * A shell is enough: reading a line and sending a signal are built into it. It ignores
 * all signals that can be ignored, since the group is asked to end by SIGTERM and may
 * take its time; the guard stays until all of it is killed. It holds none of the
 * handler's pipes, so that their end can be seen.
 */
#include "sink/util/guard.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sink/util/spawn.h"

static const char COMMAND[] = "read -r end_of_weir; kill -KILL 0";

int weir_guard_open(struct weir_guard *self)
{
    char *const environment[] = {NULL};
    int ends[2];
    int number = weir_spawn_pipe(ends);
    struct weir_spawn_options options = {
        .command = COMMAND, .environment = environment, .deaf = true};

    *self = (struct weir_guard){.pid = 0, .pipe = -1};
    if (number != 0)
        return number;
    options.in = options.out = options.err = ends[0];
    number = weir_spawn(&options, &self->pid);
    (void)close(ends[0]);
    if (number == 0)
        self->pipe = ends[1];
    else
        (void)close(ends[1]);
    return number;
}

void weir_guard_close(struct weir_guard *self)
{
    pid_t reaped;

    if (self->pid == 0)
        return;
    (void)kill(-self->pid, SIGKILL);
    do
        reaped = waitpid(self->pid, NULL, 0);
    while (reaped < 0 && errno == EINTR);
    (void)close(self->pipe);
    *self = (struct weir_guard){.pid = 0, .pipe = -1};
}
