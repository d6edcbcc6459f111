/*
 * help.c - `weir help [COMMAND]`, for those who do not think of --help; and what else
 * is made of the table of commands.
 */
#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/count.h"
#include "cli/command.h"
#include "cli/help/completion.h"
#include "cli/help/manual.h"
#include "cli/output.h"
#include "view/records.h"
#include "weir/heap.h"

enum { OPTION_BASH = 256, OPTION_MAN, FIELDS_SIZE_MAX = 1 << 20 };

static int run(const struct weir_command *self, int argc, char **argv);

static const struct weir_command_option OPTIONS[] = {
    {OPTION_MAN, "man", NULL, "print the manual page, weir(1)"},
    {OPTION_BASH, "bash", NULL, "print the completion for bash"},
};

const struct weir_command weir_cli_help = {
    .name = "help",
    .summary = "explain the program, or one command",
    .usage = "[COMMAND...]",
    .details =
        "Prints what `weir COMMAND --help` prints; without a command, the list of all.\n"
        "\n"
        "  weir help --man | man -l -\n"
        "  . <(weir help --bash)\n",
    .options = OPTIONS,
    .option_count = COUNT_OF(OPTIONS),
    .run = run,
};

/* `weir help fields`: the page docs/fields.md, for the tree itself. */
static int print_fields(const struct weir_command *self)
{
    struct weir_buf text;
    int code;

    weir_buf_init(&text, weir_heap_system(), FIELDS_SIZE_MAX);
    weir_records_append_reference(&text);
    code = weir_output_lines(self, &text);
    weir_buf_fini(&text);
    return code;
}

static int print_help(const struct weir_command *self, int argc, char **argv)
{
    const struct weir_command *command = &weir_cli_program;

    if (optind + 1 == argc && strcmp(argv[optind], "fields") == 0)
        return print_fields(self);
    while (optind < argc) {
        const struct weir_command *group = command == &weir_cli_program ? NULL : command;

        if (group != NULL && group->members == NULL)
            return weir_command_misuse(self, "unexpected argument '%s'", argv[optind]);
        command = weir_command_find(group, argv[optind++]);
        if (command == NULL)
            return WEIR_EXIT_MISUSE;
    }
    weir_command_print_help(command);
    return WEIR_EXIT_DONE;
}

static int run(const struct weir_command *self, int argc, char **argv)
{
    int id = weir_command_next_option(self, argc, argv);

    switch (id) {
    case WEIR_OPTIONS_END:
        return print_help(self, argc, argv);
    case WEIR_OPTIONS_HELPED:
        return WEIR_EXIT_DONE;
    case OPTION_MAN:
        weir_manual_print();
        return weir_command_no_operands(self, argc, argv);
    case OPTION_BASH:
        weir_completion_print();
        return weir_command_no_operands(self, argc, argv);
    default:
        return WEIR_EXIT_MISUSE;
    }
}
