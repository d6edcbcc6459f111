/*
 * interrupt.c - a handler that takes itself away, and writes to a file that is waited
 * for.
 *
 * A signal file (console.c) would be simpler, but is read only where the program waits
 * for it.
 */
#include "cli/interrupt.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "weir/time.h"

#include "base/count.h"

static const int SIGNALS[] = {SIGINT, SIGTERM, SIGHUP};
enum { SIGNAL_COUNT = COUNT_OF(SIGNALS) };

/* There is one table of signals in a process. */
static int asked = -1; /* an eventfd: readable once it was asked to end */
static volatile sig_atomic_t heeded[SIGNAL_COUNT];

static void ask(int number)
{
    const uint64_t one = 1;
    int before = errno;

    (void)number;
    for (int i = 0; i < SIGNAL_COUNT; i++) {
        if (heeded[i])
            signal(SIGNALS[i], SIG_DFL);
    }
    if (write(asked, &one, sizeof one) < 0)
        _exit(1); /* cannot be: then at least the signal counts */
    errno = before;
}

static void mask(int how)
{
    sigset_t wanted;

    sigemptyset(&wanted);
    for (int i = 0; i < SIGNAL_COUNT; i++)
        sigaddset(&wanted, SIGNALS[i]);
    pthread_sigmask(how, &wanted, NULL);
}

enum weir_status weir_interrupt_listen(struct weir_error *error)
{
    struct sigaction action = {.sa_handler = ask, .sa_flags = SA_RESTART};
    struct sigaction hangup;

    asked = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (asked < 0)
        return weir_error_set(error, WEIR_SYSTEM, "cannot wait for signals: %s",
                              strerror(errno));
    sigemptyset(&action.sa_mask);
    mask(SIG_BLOCK);
    for (int i = 0; i < SIGNAL_COUNT; i++) {
        heeded[i] = SIGNALS[i] != SIGHUP || sigaction(SIGHUP, NULL, &hangup) != 0 ||
                    hangup.sa_handler != SIG_IGN;
        if (heeded[i])
            sigaction(SIGNALS[i], &action, NULL);
    }
    return WEIR_OK;
}

void weir_interrupt_admit(void)
{
    mask(SIG_UNBLOCK);
}

void weir_interrupt_withhold(void)
{
    mask(SIG_BLOCK);
}

bool weir_interrupt_wait(int64_t timeout_ns)
{
    struct pollfd file = {.fd = asked, .events = POLLIN};

    if (poll(&file, 1, (int)(timeout_ns / WEIR_MILLISECONDS(1))) < 0)
        file.revents = 0; /* a signal: the next call sees it, at once */
    return file.revents == 0;
}
