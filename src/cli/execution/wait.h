/*
 * wait.h - suspensions as commands show them: waitpoints with their tokens, and what is
 * waited for. The commands are in flow_wait_*.c.
 *
 * Tokens are printed to standard output, on request, and nowhere else:
 * no error text has one.
 */
#ifndef WEIR_CLI_EXECUTION_WAIT_H
#define WEIR_CLI_EXECUTION_WAIT_H

#include "cli/execution/execution_session.h"
#include "cli/output.h"
#include "weir/suspension.h"

/* "KEY" or "KEY=UUID", of one made before. The word is cut in two. */
WEIR_CHECKED int weir_execution_take_waitpoint(const struct weir_command *command,
                                               char *word, struct weir_waitpoint *out);

/* Those that have a token: a table, or with --quiet a line each, "KEY UUID TOKEN". The
 * exit code. */
WEIR_CHECKED int weir_execution_print_waitpoints(const struct weir_session *session,
                                                 const struct weir_waitpoint *waitpoints,
                                                 size_t count);

/* Tell what a worker's call about a waitpoint answered. Returns the exit code. */
int weir_execution_wait_fail(const struct weir_execution_session *session,
                             const struct weir_claim *claim,
                             const struct weir_execution_status *current,
                             const struct weir_error *error);

#endif
