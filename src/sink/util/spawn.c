/*
 * spawn.c - see spawn.h.
 *
 * vfork(): the child runs on our memory until it becomes another program, and we stand
 * still. So it costs the same however large the host is, and the child must not touch
 * anything but its own locals, call nothing but the kernel, and end by _exit(). All
 * signals are blocked before, so that no handler of the host runs in the child; there
 * they get back to their defaults, which a child that shares memory may do, since it
 * does not share the table of signals.
 */
#include "sink/util/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

enum { EXIT_NOT_EXECUTED = 127, HIGH = 3 };

/* Ignored signals stay ignored in a new program, and a shell cannot undo that. */
static void reset_signals(bool deaf)
{
    struct sigaction standard = {.sa_handler = deaf ? SIG_IGN : SIG_DFL};
    sigset_t none;

    sigemptyset(&standard.sa_mask);
    for (int number = 1; number < NSIG; number++)
        (void)sigaction(number, &standard, NULL); /* some cannot be changed */
    sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Two of the three may be one descriptor, and none is below 3 but where it belongs. */
static bool take_places(const struct weir_spawn_options *options)
{
    const int from[] = {options->in, options->out, options->err};

    for (int to = 0; to < HIGH; to++) {
        if (from[to] != to && dup2(from[to], to) < 0)
            return false;
    }
    (void)close_range(HIGH, UINT32_MAX, 0); /* an old kernel: ours close by themselves */
    return true;
}

/* In the child. */
__attribute__((noreturn, noinline)) static void
become(const struct weir_spawn_options *options)
{
    const char *const arguments[] = {"sh", "-c", options->command, NULL};

    if (setpgid(0, options->group) == 0 && take_places(options)) {
        reset_signals(options->deaf);
        (void)execve("/bin/sh", (char *const *)(uintptr_t)arguments,
                     options->environment);
    }
    _exit(EXIT_NOT_EXECUTED);
}

int weir_spawn(const struct weir_spawn_options *options, pid_t *pid)
{
    pid_t child;
    sigset_t all;
    sigset_t before;
    int number;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    child = vfork();
    if (child == 0)
        become(options);
    number = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (child < 0)
        return number;
    *pid = child;
    return 0;
}

static int raise_end(int *end)
{
    int low = *end;
    int number = 0;

    if (low > STDERR_FILENO)
        return 0;
    *end = fcntl(low, F_DUPFD_CLOEXEC, HIGH);
    if (*end < 0)
        number = errno;
    (void)close(low);
    return number;
}

int weir_spawn_pipe(int ends[2])
{
    int number = pipe2(ends, O_CLOEXEC) == 0 ? 0 : errno;
    int second;

    if (number != 0)
        return number;
    number = raise_end(&ends[0]);
    second = raise_end(&ends[1]);
    number = number != 0 ? number : second;
    for (int i = 0; number != 0 && i < 2; i++) {
        if (ends[i] >= 0)
            (void)close(ends[i]);
    }
    return number;
}
