/*
 * main.c - the program `weir`: prepare the process, find the command, run it.
 *
 * What the library never does happens here: printing, signals, exit codes. A closed pipe is
 * an error of a write and not a signal, so every command can stop in its own way.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/console.h"
#include "weir/assert.h"

static int run_program(const struct weir_command *self, int argc, char **argv);
static void reserve_standard_files(void);
static void report_bug(const char *condition, const char *file, int line);
static int finish(int code);

static const struct weir_command_option OPTIONS[] = {
    {'V', "version", NULL, "print the version"},
};

const struct weir_command weir_cli_program = {
    .name = "",
    .usage = "COMMAND [OPTION...]",
    .details = "Weir delivers messages out of the database that an application already\n"
               "has: what is enqueued in a transaction is delivered if and only if it\n"
               "commits, in order.\n"
               "\n"
               "To see it at work:\n"
               "  weir demo\n"
               "\n"
               "By hand, on SQLite:\n"
               "  weir migrate                        make the tables in weir.db\n"
               "  weir queue add orders --partitions 8\n"
               "  weir enqueue orders --key c42 '{\"total\": 5}'\n"
               "  weir status\n",
    .options = OPTIONS,
    .option_count = sizeof OPTIONS / sizeof OPTIONS[0],
    .uses_db = true,
    .run = run_program,
};

int main(int argc, char **argv)
{
    reserve_standard_files();
    signal(SIGPIPE, SIG_IGN);
    weir_assert_set_hook(report_bug);
    return finish(weir_cli_program.run(&weir_cli_program, argc, argv));
}

static int run_program(const struct weir_command *self, int argc, char **argv)
{
    optind = 0;
    switch (weir_command_next_option(self, argc, argv)) {
    case 'V':
        optind = 0;
        return weir_cli_version.run(&weir_cli_version, 1, argv);
    case WEIR_OPTIONS_HELPED:
        return WEIR_EXIT_DONE;
    case WEIR_OPTIONS_MISUSED:
        return WEIR_EXIT_MISUSE;
    default:
        break;
    }
    if (optind >= argc)
        return weir_command_misuse(self, "no command given, try 'weir demo'");
    return weir_command_dispatch(argc - optind, argv + optind);
}

/*
 * A program started with closed standard files would get their numbers for the next files it
 * opens, and print into them. So the numbers are taken, the wrong way round: writing to 1 and
 * 2 still fails, as it should.
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

/* What could not be written did not happen. A reader that has gone away knows that already
 * and is told nothing. */
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
