/*
 * Tests of sink/util/quiet.c. A signal that gets through ends the program.
 */
#include "sink/util/quiet.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>

#include "sink_fixture.h"

static bool is_pending(int number)
{
    sigset_t pending;

    sigpending(&pending);
    return sigismember(&pending, number) == 1;
}

WEIR_TEST(quiet, survives_a_pipe_without_reader)
{
    int ends[2];

    check_int(pipe(ends), 0);
    check_int(weir_quiet_write(ends[1], "abc", 3), 3);
    close(ends[0]);
    for (int i = 0; i < 3; i++) {
        check_int(weir_quiet_write(ends[1], "abc", 3), -1);
        check_int(errno, EPIPE);
        check(!is_pending(SIGPIPE));
    }
    close(ends[1]);
}

WEIR_TEST(quiet, survives_the_limit_of_a_file)
{
    struct rlimit before, small;
    char path[SINK_FIXTURE_PATH_SIZE];
    int fd;

    make_path(path, "limit");
    fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    check_int(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = 5;
    check_int(setrlimit(RLIMIT_FSIZE, &small), 0);
    check_int(weir_quiet_write(fd, "12345678", 8), 5);
    check_int(weir_quiet_write(fd, "678", 3), -1);
    check_int(errno, EFBIG);
    check_int(setrlimit(RLIMIT_FSIZE, &before), 0);
    close(fd);
}

/* What the host had blocked and pending is still there. */
WEIR_TEST(quiet, leaves_the_hosts_signals_alone)
{
    sigset_t set, before, after;
    int ends[2];

    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &set, &before);
    check_int(raise(SIGPIPE), 0);
    check_int(pipe(ends), 0);
    close(ends[0]);
    check_int(weir_quiet_write(ends[1], "abc", 3), -1);
    check(is_pending(SIGPIPE));
    check_int(sigtimedwait(&set, NULL, &(struct timespec){0}), SIGPIPE);
    pthread_sigmask(SIG_SETMASK, &before, &after);
    check_int(sigismember(&after, SIGXFSZ), 0);
    close(ends[1]);
}
