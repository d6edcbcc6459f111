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
#include "server/config/reference.h"
#include "view/records.h"
#include "weir/heap.h"

enum { PAGE_SIZE_MAX = 1 << 20 };

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

/* Pages of docs, for the tree itself. */
static const struct page {
    const char *name;
    void (*append)(struct weir_buf *out);
} PAGES[] = {
    {"fields", weir_records_append_reference},
    {"configuration", weir_config_reference},
};

/* NULL: there is no such page. */
static const struct page *find_page(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(PAGES); i++) {
        if (strcmp(PAGES[i].name, name) == 0)
            return &PAGES[i];
    }
    return NULL;
}

static int print_page(const struct weir_command *self, const struct page *page)
{
    struct weir_buf text;
    int code;

    weir_buf_init(&text, weir_heap_system(), PAGE_SIZE_MAX);
    page->append(&text);
    code = weir_output_lines(self, &text);
    weir_buf_fini(&text);
    return code;
}

static int print_help(const struct weir_command *self, int argc, char **argv)
{
    const struct weir_command *command = &weir_cli_program;
    const struct page *page = optind + 1 == argc ? find_page(argv[optind]) : NULL;

    if (page != NULL)
        return print_page(self, page);
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
