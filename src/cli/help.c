/*
 * help.c - `weir help [COMMAND]`, for those who do not think of --help.
 */
#include <getopt.h>
#include <stddef.h>

#include "cli/command.h"

static int run(const struct weir_command *self, int argc, char **argv);

const struct weir_command weir_cli_help = {
    .name = "help",
    .summary = "explain the program, or one command",
    .usage = "[COMMAND]",
    .details =
        "Prints what `weir COMMAND --help` prints; without a command, the list of all.\n",
    .run = run,
};

static int run(const struct weir_command *self, int argc, char **argv)
{
    const struct weir_command *command;

    switch (weir_command_next_option(self, argc, argv)) {
    case WEIR_OPTIONS_HELPED:
        return WEIR_EXIT_DONE;
    case WEIR_OPTIONS_MISUSED:
        return WEIR_EXIT_MISUSE;
    default:
        break;
    }
    if (argc - optind > 1)
        return weir_command_misuse(self, "unexpected argument '%s'", argv[optind + 1]);

    command = optind < argc ? weir_command_find(argv[optind]) : &weir_cli_program;
    if (command == NULL)
        return WEIR_EXIT_MISUSE;
    weir_command_print_help(command);
    return WEIR_EXIT_DONE;
}
