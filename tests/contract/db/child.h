/*
 * child.h - a part of a test in a process of its own.
 *
 *   static int migrate_here(void *argument) { ... return 0; }
 *
 *   pid_t pid = child_start(migrate_here, &plan);
 *   check_int(child_wait(pid), 0);              or -SIGKILL
 *
 * A child is a copy of the test, so none is started while the test has threads or an
 * open connection to SQLite. It ends without clean-up, and a check that fails there
 * ends it too.
 */
#ifndef WEIR_TEST_CHILD_H
#define WEIR_TEST_CHILD_H

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kit/test.h"

/* What child_wait() returns is what the body returned: 0 to 125. */
typedef int (*child_fn)(void *argument);

static inline pid_t child_start(child_fn body, void *argument)
{
    pid_t parent = getpid();
    pid_t pid;

    (void)fflush(stdout);
    pid = fork();
    check(pid >= 0);
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(126);
        _exit(body(argument));
    }
    return pid;
}

/* Its code, or the signal that ended it as a negative number. */
static inline int child_wait(pid_t pid)
{
    int result;

    while (waitpid(pid, &result, 0) != pid)
        check_int(errno, EINTR);
    return WIFSIGNALED(result) ? -WTERMSIG(result) : WEXITSTATUS(result);
}

/* A line at which children wait until the test lets them go, all at once. */
struct child_gate {
    int ends[2];
};

static inline void child_gate_open(struct child_gate *self)
{
    check_int(pipe2(self->ends, O_CLOEXEC), 0);
}

/* In the child. */
static inline void child_gate_wait(const struct child_gate *self)
{
    char nothing;

    (void)close(self->ends[1]);
    while (read(self->ends[0], &nothing, 1) < 0 && errno == EINTR)
        ;
}

static inline void child_gate_release(struct child_gate *self)
{
    (void)close(self->ends[1]);
    (void)close(self->ends[0]);
}

#endif
