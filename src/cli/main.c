/*
 * main.c - the program `weir`: prepare the process, and run what program.c says.
 *
 * What the library never does happens here: printing, signals, exit codes. A closed
 * pipe, and a file at the size that the process may write, is an error of a write and
 * not a signal, so every command can stop in its own way.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/console.h"
#include "weir/assert.h"

static void reserve_standard_files(void);
static void report_bug(const char *condition, const char *file, int line);
static int finish(int code);

int main(int argc, char **argv)
{
    reserve_standard_files();
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    weir_assert_set_hook(report_bug);
    return finish(weir_cli_program.run(&weir_cli_program, argc, argv));
}

/*
 * A program started with closed standard files would get their numbers for the next
 * files it opens, and print into them. So the numbers are taken, the wrong way round:
 * writing to 1 and 2 still fails, as it should.
 */
static void reserve_standard_files(void)
{
    for (int file = 0; file <= STDERR_FILENO; file++) {
        if (fcntl(file, F_GETFD) >= 0 || errno != EBADF)
            continue;
        if (open("/dev/null", file == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0)
            return;
    }
}

static void report_bug(const char *condition, const char *file, int line)
{
    weir_console_show_cursor();
    fprintf(stderr, "weir: this is a bug, please report it: %s (%s:%d)\n", condition,
            file, line);
}

/* What could not be written did not happen. A reader that has gone away knows that
 * already and gets no message. */
static int finish(int code)
{
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return code;
    if (errno != EPIPE)
        fprintf(stderr, "weir: cannot write to standard output%s%s\n", errno ? ": " : "",
                errno ? strerror(errno) : "");
    return code == WEIR_EXIT_DONE ? WEIR_EXIT_FAILED : code;
}
