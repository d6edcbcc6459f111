/*
 * serve_token.h - the token of a server without a configuration file: it allows
 * everything, and lives as long as the process.
 */
#ifndef WEIR_CLI_SERVE_SERVE_TOKEN_H
#define WEIR_CLI_SERVE_SERVE_TOKEN_H

#include "server/api/api.h"

/* Make one, and print it where the user finds it: on a terminal, else in the file
 * `token` of $RUNTIME_DIRECTORY (0600), else on standard error. */
WEIR_CHECKED enum weir_status weir_serve_token_make(struct weir_api_token *out,
                                                    struct weir_error *error);

#endif
