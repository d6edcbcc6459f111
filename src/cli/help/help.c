/*
 * help.c - `weir help [COMMAND]`, besides --help; and what else
 * is made of the table of commands.
 */
#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "cli/command.h"
#include "cli/help/completion.h"
#include "cli/help/manual.h"
#include "cli/output.h"
#include "view/records.h"
#include "weir/heap.h"

enum { FIELDS_SIZE_MAX = 1 << 20 };

static int run(const struct weir_command *self, int argc, char **argv);

struct help_call {
    bool man;
    bool bash;
};

static const struct weir_command_option OPTIONS[] = {
    WEIR_OPTION(0, "man", NULL, "print the manual page, weir(1)",
                WEIR_AS_FLAG(struct help_call, man), .ends = true),
    WEIR_OPTION(0, "bash", NULL, "print the completion for bash",
                WEIR_AS_FLAG(struct help_call, bash), .ends = true),
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
    WEIR_OPTIONS(OPTIONS),
    .reads_operands = true,
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
    struct help_call call = {.man = false};
    int code = weir_command_parse(self, argc, argv, &call, sizeof call);

    if (code >= 0)
        return code;
    if (call.man)
        weir_manual_print();
    if (call.bash)
        weir_completion_print();
    return call.man || call.bash ? weir_command_no_operands(self, argc, argv)
                                 : print_help(self, argc, argv);
}
