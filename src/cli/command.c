/*
 * command.c - the table of commands, and what is made of it.
 *
 * getopt_long() finds the options; it says nothing itself (opterr is 0), because its words
 * name neither the nearest option nor the next step.
 */
#include "cli/command.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/text.h"
#include "cli/nearest.h"

enum { OPTIONS_MAX = 32, LETTERS_END = 256 };

static const struct weir_command *const COMMANDS[] = {
    &weir_cli_demo,
    &weir_cli_help,
    &weir_cli_version,
};
enum { COMMAND_COUNT = sizeof COMMANDS / sizeof COMMANDS[0] };

static const struct weir_command_option HELP = {'h', "help", NULL, "show this help"};

/* What getopt_long() wants, made from a command's options. */
struct getopt_table {
    struct option longs[OPTIONS_MAX + 1];
    char letters[2 * OPTIONS_MAX + 3];
};

static void fill_table(const struct weir_command *self, struct getopt_table *table);
static const struct weir_command_option *find_option(const struct weir_command *self,
                                                     int id);
static void tell_unknown_option(const struct weir_command *self, char **argv);
static void print_options(const struct weir_command *self);

const struct weir_command *weir_command_find(const char *name)
{
    const char *names[COMMAND_COUNT];
    const char *nearest;

    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        if (strcmp(COMMANDS[i]->name, name) == 0)
            return COMMANDS[i];
        names[i] = COMMANDS[i]->name;
    }

    nearest = weir_nearest_find(name, names, COMMAND_COUNT);
    if (nearest != NULL)
        fprintf(
            stderr,
            "weir: unknown command '%s', did you mean '%s'? 'weir --help' lists all\n",
            name, nearest);
    else
        fprintf(stderr, "weir: unknown command '%s'; 'weir --help' lists all\n", name);
    return NULL;
}

int weir_command_next_option(const struct weir_command *self, int argc, char **argv)
{
    const struct weir_command_option *option;
    struct getopt_table table;
    int id;

    fill_table(self, &table);
    opterr = 0;
    id = getopt_long(argc, argv, table.letters, table.longs, NULL);
    option = find_option(self, id == ':' || id == '?' ? optopt : id);

    if (id == -1)
        return WEIR_OPTIONS_END;
    if (id == HELP.id) {
        weir_command_print_help(self);
        return WEIR_OPTIONS_HELPED;
    }
    if (id == ':' && option != NULL)
        weir_command_misuse(self, "option '--%s' needs a value %s", option->name,
                            option->argument);
    else if (id == '?' && option != NULL)
        weir_command_misuse(self, "option '--%s' takes no value", option->name);
    else if (option == NULL)
        tell_unknown_option(self, argv);
    else
        return id;
    return WEIR_OPTIONS_MISUSED;
}

int weir_command_misuse(const struct weir_command *self, const char *format, ...)
{
    const char *space = self->name[0] != '\0' ? " " : "";
    va_list arguments;

    fprintf(stderr, "weir%s%s: ", space, self->name);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fprintf(stderr, "; see 'weir%s%s --help'\n", space, self->name);
    return WEIR_EXIT_MISUSE;
}

int weir_command_no_operands(const struct weir_command *self, int argc, char **argv)
{
    if (optind >= argc)
        return WEIR_EXIT_DONE;
    return weir_command_misuse(self, "unexpected argument '%s'", argv[optind]);
}

void weir_command_print_help(const struct weir_command *self)
{
    if (self->name[0] != '\0') {
        printf("usage: weir %s %s\n\n%s\n", self->name, self->usage, self->details);
        print_options(self);
        return;
    }

    printf("usage: weir %s\n\n%s\ncommands:\n", self->usage, self->details);
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        printf("  %-10s %s\n", COMMANDS[i]->name, COMMANDS[i]->summary);
    putchar('\n');
    print_options(self);
    printf("\nexit codes: 0 done, 1 failed, 2 misuse\n"
           "'weir COMMAND --help' explains a command.\n");
}

/* The program's own options end where its command begins ('+'); those of a command may
 * stand anywhere. The colon makes getopt tell a missing value from an unknown option. */
static void fill_table(const struct weir_command *self, struct getopt_table *table)
{
    char *letter = table->letters;

    WEIR_ASSERT(self->option_count < OPTIONS_MAX);
    if (self->name[0] == '\0')
        *letter++ = '+';
    *letter++ = ':';
    for (size_t i = 0; i <= self->option_count; i++) {
        const struct weir_command_option *option =
            i < self->option_count ? &self->options[i] : &HELP;

        table->longs[i] = (struct option){
            .name = option->name,
            .has_arg = option->argument != NULL ? required_argument : no_argument,
            .val = option->id,
        };
        if (option->id >= LETTERS_END)
            continue;
        *letter++ = (char)option->id;
        if (option->argument != NULL)
            *letter++ = ':';
    }
    *letter = '\0';
    table->longs[self->option_count + 1] = (struct option){.name = NULL};
}

static const struct weir_command_option *find_option(const struct weir_command *self,
                                                     int id)
{
    for (size_t i = 0; i < self->option_count; i++) {
        if (self->options[i].id == id)
            return &self->options[i];
    }
    return id == HELP.id ? &HELP : NULL;
}

/* getopt leaves an unknown letter in `optopt`, and an unknown word behind `optind`. */
static void tell_unknown_option(const struct weir_command *self, char **argv)
{
    const char *names[OPTIONS_MAX];
    const char *nearest;
    char word[64];

    if (optopt != 0) {
        weir_command_misuse(self, "unknown option '-%c'", optopt);
        return;
    }
    for (size_t i = 0; i < self->option_count; i++)
        names[i] = self->options[i].name;
    names[self->option_count] = HELP.name;

    weir_text_format(word, sizeof word, "%s", argv[optind - 1] + strlen("--"));
    word[strcspn(word, "=")] = '\0';
    nearest = weir_nearest_find(word, names, self->option_count + 1);
    if (nearest != NULL)
        weir_command_misuse(self, "unknown option '--%s', did you mean '--%s'?", word,
                            nearest);
    else
        weir_command_misuse(self, "unknown option '--%s'", word);
}

static void print_options(const struct weir_command *self)
{
    puts("options:");
    for (size_t i = 0; i <= self->option_count; i++) {
        const struct weir_command_option *option =
            i < self->option_count ? &self->options[i] : &HELP;
        char form[64];

        weir_text_format(form, sizeof form, "--%s%s%s", option->name,
                         option->argument != NULL ? " " : "",
                         option->argument != NULL ? option->argument : "");
        if (option->id < LETTERS_END)
            printf("  -%c, %-16s %s\n", option->id, form, option->summary);
        else
            printf("      %-16s %s\n", form, option->summary);
    }
}
