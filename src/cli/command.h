/*
 * command.h - what the program can do, as one table.
 *
 * A command is a row: name, words about it, options, and the function that runs it. The
 * help, the checking of options and the suggestions for mistyped names are all made from
 * these rows, so a command that exists is explained, and one that is explained exists. A new
 * command is a file of its own and one line in command.c.
 *
 *   argv --> find --> run --> next_option, next_option, ... --> exit code
 *                              |
 *                              +--> --help, or a mistake: told here, run() returns
 *
 * Threads  The main thread, as getopt has but one state.
 */
#ifndef WEIR_CLI_COMMAND_H
#define WEIR_CLI_COMMAND_H

#include <stddef.h>

#include "weir/api.h"

enum weir_exit { WEIR_EXIT_DONE = 0, WEIR_EXIT_FAILED = 1, WEIR_EXIT_MISUSE = 2 };

/* What next_option() returns when it is not the id of an option. */
enum {
    WEIR_OPTIONS_END = -1,     /* the operands begin at argv[optind] */
    WEIR_OPTIONS_HELPED = -2,  /* help was printed: return WEIR_EXIT_DONE */
    WEIR_OPTIONS_MISUSED = -3, /* the mistake was told: return WEIR_EXIT_MISUSE */
};

struct weir_command_option {
    int id;               /* a letter is its short form too; from 256 on there is none */
    const char *name;     /* without the dashes */
    const char *argument; /* what its value is called; NULL: it takes none */
    const char *summary;
};

struct weir_command {
    const char *name;    /* "" for the program itself */
    const char *summary; /* one line in the list of commands */
    const char *usage;   /* what follows the name */
    const char *details; /* the body of its help; lines end in newlines */
    const struct weir_command_option *options; /* `--help` comes on top of these */
    size_t option_count;                       /* at most 31 */

    /* argv[0] is the command's name. Returns an enum weir_exit. */
    int (*run)(const struct weir_command *self, int argc, char **argv);
};

/* The program itself, in main.c, and the rows, each in the file of its name. */
extern const struct weir_command weir_cli_program;
extern const struct weir_command weir_cli_demo;
extern const struct weir_command weir_cli_help;
extern const struct weir_command weir_cli_version;

/* The command of this name, or NULL after telling the user what was meant, perhaps. */
const struct weir_command *weir_command_find(const char *name);

/*
 * Take the next option from argv, as getopt_long() does: its value is in `optarg`, and
 * `optind` has to be 0 before the first call.
 */
WEIR_CHECKED int weir_command_next_option(const struct weir_command *self, int argc,
                                          char **argv);

/* Tell the user about a mistake in one line that ends in the next step. Returns
 * WEIR_EXIT_MISUSE. */
int weir_command_misuse(const struct weir_command *self, const char *format, ...)
    WEIR_PRINTF(2, 3);

/* Refuse operands: the exit code if there are any, else WEIR_EXIT_DONE. */
WEIR_CHECKED int weir_command_no_operands(const struct weir_command *self, int argc,
                                          char **argv);

/* Print the help of a command; of the program, with the list of all commands. */
void weir_command_print_help(const struct weir_command *self);

#endif
