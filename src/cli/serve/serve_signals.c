/*
 * serve_signals.c - see serve_signals.h.
 */
#include "cli/serve/serve_signals.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <time.h>
#include <unistd.h>

#include "weir/time.h"

static void fill(sigset_t *out)
{
    sigemptyset(out);
    sigaddset(out, SIGINT);
    sigaddset(out, SIGTERM);
    sigaddset(out, SIGHUP);
}

void weir_serve_signals_block(void)
{
    sigset_t set;

    fill(&set);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
}

static void end_at_once(int number)
{
    (void)number;
    _exit(1);
}

/* From now on the process ends in the middle of whatever it does. */
static void arm_the_second(void)
{
    struct sigaction action = {.sa_handler = end_at_once};
    sigset_t set;

    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

enum weir_serve_asked weir_serve_signals_wait(int64_t timeout_ns)
{
    struct timespec timeout = {.tv_sec = timeout_ns / WEIR_SECONDS(1),
                               .tv_nsec = timeout_ns % WEIR_SECONDS(1)};
    sigset_t set;
    int number;

    fill(&set);
    number = sigtimedwait(&set, NULL, &timeout);
    if (number == SIGHUP)
        return WEIR_SERVE_RELOAD;
    if (number != SIGINT && number != SIGTERM)
        return WEIR_SERVE_NOTHING;
    arm_the_second();
    return WEIR_SERVE_STOP;
}
