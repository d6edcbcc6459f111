/*
 * manual.c - the table of commands as a manual page, in the language of man(7).
 *
 * Texts of the table are made for a terminal, with line breaks of their own: they are
 * taken over line by line.
 */
#include "cli/help/manual.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "weir/version.h"

enum { LETTERS_END = 256 };

/* A text as it is: what roff takes for its own is escaped. */
static void print_text(const char *text)
{
    bool at_line_start = true;

    for (; *text != '\0'; text++) {
        if (at_line_start && (*text == '.' || *text == '\''))
            fputs("\\&", stdout);
        at_line_start = *text == '\n';
        switch (*text) {
        case '\\':
            fputs("\\e", stdout);
            break;
        case '-':
            fputs("\\-", stdout);
            break;
        case '\'':
            fputs("\\(aq", stdout);
            break;
        case '`':
            fputs("\\(ga", stdout);
            break;
        case '~':
            fputs("\\(ti", stdout);
            break;
        case '^':
            fputs("\\(ha", stdout);
            break;
        default:
            putchar(*text);
            break;
        }
    }
}

static void print_lines(const char *text)
{
    puts(".PP\n.nf");
    print_text(text);
    puts(".fi");
}

static void print_option(const struct weir_command_option *option)
{
    puts(".TP");
    if (option->id > 0 && option->id < LETTERS_END)
        printf("\\fB\\-%c\\fR, ", option->id);
    fputs("\\fB\\-\\-", stdout);
    print_text(option->name);
    fputs("\\fR", stdout);
    if (option->argument != NULL) {
        fputs(" \\fI", stdout);
        print_text(option->argument);
        fputs("\\fR", stdout);
    }
    putchar('\n');
    print_text(option->summary);
    putchar('\n');
}

static void print_command(const struct weir_command *command)
{
    printf(".SS ");
    print_text(command->name);
    printf("\n.PP\n\\fBweir ");
    print_text(command->name);
    fputs("\\fR ", stdout);
    print_text(command->usage);
    putchar('\n');
    print_lines(command->details);
    for (size_t i = 0; i < command->option_count; i++)
        print_option(&command->options[i]);
    for (size_t i = 0; i < command->member_count; i++)
        print_command(command->members[i]);
}

static void print_shared_options(void)
{
    puts(".SH OPTIONS\n"
         "Commands that work on a database take these, before or after their name:");
    for (size_t i = 0; i < weir_command_shared_count; i++)
        print_option(&weir_command_shared_options[i]);
    puts(".PP\nEvery command takes:");
    print_option(&weir_command_help_option);
}

void weir_manual_print(void)
{
    printf(".TH WEIR 1 \"\" \"weir %s\" \"User Commands\"\n", weir_version_string());
    puts(".SH NAME\nweir \\- a transactional outbox in the database you have\n"
         ".SH SYNOPSIS\n"
         ".B weir\n.I COMMAND\n.RI [ OPTION ...]\n"
         ".SH DESCRIPTION");
    print_lines(weir_cli_program.details);
    puts(".SH COMMANDS");
    for (size_t i = 0; i < weir_command_count; i++)
        print_command(weir_command_table[i]);
    print_shared_options();
    puts(".SH EXIT STATUS\n"
         ".TP\n.B 0\ndone\n.TP\n.B 1\nfailed\n.TP\n.B 2\nmisuse of the command line\n"
         ".SH ENVIRONMENT\n"
         ".TP\n.B WEIR_DB\nthe database, unless \\fB\\-\\-db\\fR is given\n"
         ".TP\n.B WEIR_PREFIX\nthe prefix of the tables, unless \\fB\\-\\-prefix\\fR is "
         "given\n"
         ".TP\n.B NO_COLOR\nif set and not empty, no colours are used");
}
