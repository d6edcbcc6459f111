/*
 * secrets.h - the secrets of tokens, in the database.
 *
 * One is active: it makes new tokens. Those before it are good until their time is
 * over. The first one is made at random when it is needed.
 *
 * Threads  The holder of the connection.
 */
#ifndef WEIR_EXECUTION_WAIT_SECRETS_H
#define WEIR_EXECUTION_WAIT_SECRETS_H

#include "db/connection.h"
#include "execution/wait/token.h"

/* The active one; made if there is none. In a transaction. */
WEIR_CHECKED enum weir_status weir_secrets_active(struct weir_connection *connection,
                                                  struct weir_secret *out,
                                                  struct weir_error *error);

/* The one that makes or made tokens under this name, if they are good at `now_us`: else
 * WEIR_NO_ROW. */
WEIR_CHECKED enum weir_status weir_secrets_find(struct weir_connection *connection,
                                                struct weir_str key_id, int64_t now_us,
                                                struct weir_secret *out,
                                                struct weir_error *error);

/* See weir_executions_rotate_key(). In a transaction; `secret` is checked. */
WEIR_CHECKED enum weir_status weir_secrets_rotate(struct weir_connection *connection,
                                                  const struct weir_secret *secret,
                                                  int64_t until_us,
                                                  struct weir_error *error);

/* Forget those whose time is over. */
WEIR_CHECKED enum weir_status weir_secrets_forget(struct weir_connection *connection,
                                                  int64_t now_us,
                                                  struct weir_error *error);

/* WEIR_SYSTEM: no randomness to be had. */
WEIR_CHECKED enum weir_status weir_secret_draw(struct weir_secret *self,
                                               struct weir_error *error);

#endif
