/*
 * quiet.c - see quiet.h.
 */
#include "sink/util/quiet.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

/* Take back what is pending now; not what the host had pending before. */
static void take_back(int number)
{
    const struct timespec at_once = {0};
    sigset_t set;
    int taken;

    sigemptyset(&set);
    sigaddset(&set, number);
    do
        taken = sigtimedwait(&set, NULL, &at_once);
    while (taken < 0 && errno == EINTR);
}

ssize_t weir_quiet_write(int fd, const void *bytes, size_t size)
{
    sigset_t deadly;
    sigset_t before;
    sigset_t pending;
    ssize_t written;
    int number;

    sigemptyset(&deadly);
    sigaddset(&deadly, SIGPIPE);
    sigaddset(&deadly, SIGXFSZ);
    sigemptyset(&pending);
    sigpending(&pending);
    pthread_sigmask(SIG_BLOCK, &deadly, &before);
    written = write(fd, bytes, size);
    number = errno;
    if (written < 0 && number == EPIPE && sigismember(&pending, SIGPIPE) == 0)
        take_back(SIGPIPE);
    if (written < 0 && number == EFBIG && sigismember(&pending, SIGXFSZ) == 0)
        take_back(SIGXFSZ);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = number;
    return written;
}
