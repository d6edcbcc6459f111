/*
 * version.c - `weir version`, and what `weir --version` prints.
 */
#include <getopt.h>
#include <stdio.h>

#include "cli/command.h"
#include "weir/version.h"

static int run(const struct weir_command *self, int argc, char **argv);

const struct weir_command weir_cli_version = {
    .name = "version",
    .summary = "print the version",
    .usage = "[--help]",
    .details = "Prints the version of the program and of the library inside it.\n",
    .run = run,
};

static int run(const struct weir_command *self, int argc, char **argv)
{
    int code;

    switch (weir_command_next_option(self, argc, argv)) {
    case WEIR_OPTIONS_HELPED:
        return WEIR_EXIT_DONE;
    case WEIR_OPTIONS_MISUSED:
        return WEIR_EXIT_MISUSE;
    default:
        break;
    }
    code = weir_command_no_operands(self, argc, argv);
    if (code != WEIR_EXIT_DONE)
        return code;
    printf("weir %s\n", weir_version_string());
    return WEIR_EXIT_DONE;
}
