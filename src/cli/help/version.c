/*
 * version.c - `weir version`, and what `weir --version` prints.
 */
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
    int code = weir_command_parse(self, argc, argv, NULL, 0);

    if (code >= 0)
        return code;
    printf("weir %s\n", weir_version_string());
    return WEIR_EXIT_DONE;
}
