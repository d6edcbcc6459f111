/*
 * completion.h - completion for bash, made from the table of commands.
 */
#ifndef WEIR_CLI_HELP_COMPLETION_H
#define WEIR_CLI_HELP_COMPLETION_H

/* Print a script to be sourced by bash. */
void weir_completion_print(void);

#endif
