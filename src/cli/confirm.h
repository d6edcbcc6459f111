/*
 * confirm.h - the question before something is destroyed.
 */
#ifndef WEIR_CLI_CONFIRM_H
#define WEIR_CLI_CONFIRM_H

#include "cli/command.h"

/*
 * Ask on the terminal and wait for an answer: WEIR_EXIT_DONE for "y" or "yes",
 * WEIR_EXIT_FAILED for anything else, after saying that nothing was done. Without a
 * terminal to ask on, refuses and names --yes. The question ends in no question mark.
 */
WEIR_CHECKED int weir_confirm(const struct weir_command *command, const char *format, ...)
    WEIR_PRINTF(2, 3);

#endif
