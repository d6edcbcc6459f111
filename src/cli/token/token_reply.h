/*
 * token_reply.h - what `weir token create` and `rotate` print.
 *
 * Threads  The main thread.
 */
#ifndef WEIR_CLI_TOKEN_TOKEN_REPLY_H
#define WEIR_CLI_TOKEN_TOKEN_REPLY_H

#include "cli/session.h"
#include "weir/token.h"

/* The token on a line of standard output, or the record with --json. On a terminal a
 * sentence says that it is shown this once. */
WEIR_CHECKED int weir_token_reply(const struct weir_session *session,
                                  const struct weir_new_token *made);

#endif
