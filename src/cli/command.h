/*
 * command.h - what the program can do, as one table.
 *
 * A command is a row: name, words about it, options, and the function that runs it. The
 * help, the manual page, the completion, the checking of options and the suggestions
 * for mistyped names are all made from these rows, so a command that exists is
 * explained, and one that is explained exists. To add a command, add a file, its
 * declaration below and one line in command.c; one of a group (`weir queue add`) is a
 * line in the group's list of members.
 *
 *   argv --> find --> run --> parse, into a struct --> exit code
 *                              |
 *                              +--> --help, or a mistake: reported here, run() returns
 *
 * Commands that work on a database share options (--db, --prefix, --json, --quiet).
 * These may stand in front of the command too, and are never seen by its run():
 * weir_command_shared() has them.
 *
 * Threads  The main thread, as getopt has but one state.
 */
#ifndef WEIR_CLI_COMMAND_H
#define WEIR_CLI_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/option.h"
#include "weir/api.h"

enum weir_exit {
    WEIR_EXIT_DONE = 0,
    WEIR_EXIT_FAILED = 1,
    WEIR_EXIT_MISUSE = 2,
    WEIR_EXIT_GIVEN_UP = 3 /* all was done, but some messages are dead letters now */
};

struct weir_command {
    const char *name;    /* "" for the program itself; "queue add" for one of a group */
    const char *summary; /* one line in the list of commands */
    const char *usage;   /* what follows the name */
    const char *details; /* the body of its help; lines end in newlines */
    const struct weir_command_option *options;  /* `--help` comes on top of these */
    size_t option_count;                        /* at most 24 */
    const struct weir_command_option *operands; /* in their order */
    size_t operand_count;
    bool reads_operands;                       /* run() does, from argv[optind] on */
    bool uses_db;                              /* takes the shared options, too */
    bool operates;                             /* what it changes is audited */
    const struct weir_command *const *members; /* of a group; then it has no run() */
    size_t member_count;                       /* at most 48 */

    /* argv[0] is the command's name. Returns an enum weir_exit. */
    int (*run)(const struct weir_command *self, int argc, char **argv);
};

/* What the shared options said; else the environment; else the default. */
struct weir_command_shared {
    const char *db;
    bool db_given;      /* by the option, and not by the environment or by default */
    const char *prefix; /* NULL: the library's */
    bool json;
    bool quiet;
};

/* The program itself, in program.c, and the rows, each in the file of its name. */
extern const struct weir_command weir_cli_program;
extern const struct weir_command weir_cli_audit;
extern const struct weir_command weir_cli_audit_list;
extern const struct weir_command weir_cli_bench;
extern const struct weir_command weir_cli_demo;
extern const struct weir_command weir_cli_dlq;
extern const struct weir_command weir_cli_dlq_claim;
extern const struct weir_command weir_cli_dlq_cleanup;
extern const struct weir_command weir_cli_dlq_discard;
extern const struct weir_command weir_cli_dlq_list;
extern const struct weir_command weir_cli_dlq_reject;
extern const struct weir_command weir_cli_dlq_requeue;
extern const struct weir_command weir_cli_dlq_resolve;
extern const struct weir_command weir_cli_dlq_show;
extern const struct weir_command weir_cli_doctor;
extern const struct weir_command weir_cli_enqueue;
extern const struct weir_command weir_cli_execution;
extern const struct weir_command weir_cli_execution_abandon;
extern const struct weir_command weir_cli_flow_add;
extern const struct weir_command weir_cli_execution_approve;
extern const struct weir_command weir_cli_budget;
extern const struct weir_command weir_cli_budget_change;
extern const struct weir_command weir_cli_budget_create;
extern const struct weir_command weir_cli_budget_list;
extern const struct weir_command weir_cli_budget_release;
extern const struct weir_command weir_cli_budget_report;
extern const struct weir_command weir_cli_budget_reset;
extern const struct weir_command weir_cli_budget_show;
extern const struct weir_command weir_cli_execution_cancel;
extern const struct weir_command weir_cli_execution_claim;
extern const struct weir_command weir_cli_execution_complete;
extern const struct weir_command weir_cli_flow_create;
extern const struct weir_command weir_cli_execution_delay;
extern const struct weir_command weir_cli_flow_edge;
extern const struct weir_command weir_cli_execution_fail;
extern const struct weir_command weir_cli_execution_get;
extern const struct weir_command weir_cli_flow_list;
extern const struct weir_command weir_cli_key;
extern const struct weir_command weir_cli_key_rotate;
extern const struct weir_command weir_cli_execution_list;
extern const struct weir_command weir_cli_execution_prioritise;
extern const struct weir_command weir_cli_execution_progress;
extern const struct weir_command weir_cli_execution_renew;
extern const struct weir_command weir_cli_execution_replay;
extern const struct weir_command weir_cli_execution_result;
extern const struct weir_command weir_cli_execution_resume;
extern const struct weir_command weir_cli_execution_revoke;
extern const struct weir_command weir_cli_flow_show;
extern const struct weir_command weir_cli_execution_signal;
extern const struct weir_command weir_cli_execution_signals;
extern const struct weir_command weir_cli_submit;
extern const struct weir_command weir_cli_supervise;
extern const struct weir_command weir_cli_execution_suspend;
extern const struct weir_command weir_cli_execution_waitpoint;
extern const struct weir_command weir_cli_execution_waitpoints;
extern const struct weir_command weir_cli_work;
extern const struct weir_command weir_cli_flow;
extern const struct weir_command weir_cli_flow_cancel;
extern const struct weir_command weir_cli_help;
extern const struct weir_command weir_cli_migrate;
extern const struct weir_command weir_cli_queue;
extern const struct weir_command weir_cli_queue_add;
extern const struct weir_command weir_cli_queue_list;
extern const struct weir_command weir_cli_queue_pause;
extern const struct weir_command weir_cli_queue_remove;
extern const struct weir_command weir_cli_queue_resume;
extern const struct weir_command weir_cli_queue_set;
extern const struct weir_command weir_cli_relay;
extern const struct weir_command weir_cli_serve;
extern const struct weir_command weir_cli_status;
extern const struct weir_command weir_cli_subscription;
extern const struct weir_command weir_cli_subscription_list;
extern const struct weir_command weir_cli_subscription_pause;
extern const struct weir_command weir_cli_subscription_remove;
extern const struct weir_command weir_cli_subscription_resume;
extern const struct weir_command weir_cli_subscription_seek;
extern const struct weir_command weir_cli_token;
extern const struct weir_command weir_cli_token_create;
extern const struct weir_command weir_cli_token_list;
extern const struct weir_command weir_cli_token_revoke;
extern const struct weir_command weir_cli_token_rotate;
extern const struct weir_command weir_cli_version;

/* All commands, in the order of the help; groups, not their members. */
extern const struct weir_command *const weir_command_table[];
extern const size_t weir_command_count;

/* What all commands on a database take, and what every command takes. */
extern const struct weir_command_option weir_command_shared_options[];
extern const size_t weir_command_shared_count;
extern const struct weir_command_option weir_command_help_option;

/* Find the command that argv[0] names, for a group the member that follows, and run it.
 * Returns its exit code. */
int weir_command_dispatch(int argc, char **argv);

/* The command of this name, a member of `group` if that is not NULL; or NULL after
 * telling the user what was meant, perhaps. */
const struct weir_command *weir_command_find(const struct weir_command *group,
                                             const char *name);

/* The last word of its name. */
const char *weir_command_word(const struct weir_command *self);

/* What the shared options have said up to now. */
struct weir_command_shared weir_command_shared(void);

/*
 * Take all options and operands and store them in `state`, the struct of `state_size`
 * bytes that the rows are bound to. Returns -1 to go on, or the exit code.
 */
WEIR_CHECKED int weir_command_parse(const struct weir_command *self, int argc,
                                    char **argv, void *state, size_t state_size);

/* Tell the user about a mistake in one line that ends in the next step. Returns
 * WEIR_EXIT_MISUSE. */
int weir_command_misuse(const struct weir_command *self, const char *format, ...)
    WEIR_PRINTF(2, 3);

/* Refuse operands: the exit code if there are any, else WEIR_EXIT_DONE. */
WEIR_CHECKED int weir_command_no_operands(const struct weir_command *self, int argc,
                                          char **argv);

/* The value of an option as a whole number in decimal digits; WEIR_EXIT_MISUSE names
 * option, value and limits. */
WEIR_CHECKED int weir_command_number(const struct weir_command *self, const char *option,
                                     const char *text, int64_t min, int64_t max,
                                     int64_t *out);

/* Likewise as a duration with its unit, in nanoseconds. */
WEIR_CHECKED int weir_command_duration(const struct weir_command *self,
                                       const char *option, const char *text,
                                       int64_t min_ns, int64_t max_ns, int64_t *out);

/* A line on standard error that is no failure of the command. */
void weir_command_note(const struct weir_command *self, const char *format, ...)
    WEIR_PRINTF(2, 3);

/* Tell the user in one line what failed. Returns WEIR_EXIT_FAILED. */
int weir_command_fail(const struct weir_command *self, const char *format, ...)
    WEIR_PRINTF(2, 3);

/* Print the help of a command; of the program, with the list of all commands. */
void weir_command_print_help(const struct weir_command *self);

#endif
