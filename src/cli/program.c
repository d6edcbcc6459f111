/*
 * program.c - the program itself as a command: its help, and finding the command that
 * was meant.
 */
#include <getopt.h>
#include <stddef.h>

#include "cli/command.h"

static int run_program(const struct weir_command *self, int argc, char **argv);

struct program_call {
    bool version;
};

static const struct weir_command_option OPTIONS[] = {
    WEIR_OPTION('V', "version", NULL, "print the version",
                WEIR_AS_FLAG(struct program_call, version), .ends = true),
};

const struct weir_command weir_cli_program = {
    .name = "",
    .usage = "COMMAND [OPTION...]",
    .details =
        "Weir delivers messages out of the database that an application already\n"
        "has: what is enqueued in a transaction is delivered if and only if it\n"
        "commits, in order. Beside messages it keeps work that has to end exactly\n"
        "once, see 'weir execution --help'.\n"
        "\n"
        "To see it at work:\n"
        "  weir demo\n"
        "\n"
        "By hand, on SQLite:\n"
        "  weir migrate                        make the tables in weir.db\n"
        "  weir queue add orders --partitions 8\n"
        "  weir enqueue orders --key c42 '{\"total\": 5}'\n"
        "  weir status\n",
    WEIR_OPTIONS(OPTIONS),
    .reads_operands = true,
    .uses_db = true,
    .run = run_program,
};

static int run_program(const struct weir_command *self, int argc, char **argv)
{
    struct program_call call = {.version = false};
    int code;

    optind = 0;
    code = weir_command_parse(self, argc, argv, &call, sizeof call);
    if (code >= 0)
        return code;
    if (call.version) {
        optind = 0;
        return weir_cli_version.run(&weir_cli_version, 1, argv);
    }
    if (optind >= argc)
        return weir_command_misuse(self, "no command given, try 'weir demo'");
    return weir_command_dispatch(argc - optind, argv + optind);
}
