/*
 * token_store.h - rows of tokens.
 *
 * Threads  The holder of the connection.
 */
#ifndef WEIR_OUTBOX_TOKEN_TOKEN_STORE_H
#define WEIR_OUTBOX_TOKEN_TOKEN_STORE_H

#include "db/connection.h"
#include "weir/token.h"

struct weir_token_row {
    struct weir_grant grant;
    int64_t lifetime_us; /* as it was asked for; 0: without end */
};
typedef void (*weir_token_row_fn)(void *state, const struct weir_token_row *row);

/* *added: false when the id is taken. */
WEIR_CHECKED enum weir_status weir_token_insert(struct weir_connection *connection,
                                                const struct weir_token_row *row,
                                                const uint8_t hash[WEIR_TOKEN_HASH_SIZE],
                                                bool *added, struct weir_error *error);

/* How many there are. */
WEIR_CHECKED enum weir_status weir_token_count(struct weir_connection *connection,
                                               int64_t *out, struct weir_error *error);

/* Remove those that have expired or were revoked. */
WEIR_CHECKED enum weir_status weir_token_remove_ended(struct weir_connection *connection,
                                                      int64_t now_us,
                                                      struct weir_error *error);

/* Those with this id or name, the newest first; `token` NULL: all, by name first. Locked,
 * if they are named. */
WEIR_CHECKED enum weir_status weir_token_visit(struct weir_connection *connection,
                                               const char *token, weir_token_row_fn visit,
                                               void *state, struct weir_error *error);

/* By the index of hashes. WEIR_NO_ROW: there is none. */
WEIR_CHECKED enum weir_status weir_token_look_up(struct weir_connection *connection,
                                                 const uint8_t hash[WEIR_TOKEN_HASH_SIZE],
                                                 struct weir_token_row *out,
                                                 struct weir_error *error);

/* Of one, by its id. */
WEIR_CHECKED enum weir_status weir_token_set_used(struct weir_connection *connection,
                                                  const char *id, int64_t day_us,
                                                  struct weir_error *error);

/* Of the valid ones with this id or name. *count: how many. */
WEIR_CHECKED enum weir_status weir_token_set_revoked(struct weir_connection *connection,
                                                     const char *token, int64_t now_us,
                                                     int64_t *count,
                                                     struct weir_error *error);

/* Of the valid ones of this name: no later than that. */
WEIR_CHECKED enum weir_status weir_token_set_expiry(struct weir_connection *connection,
                                                    const char *name, int64_t now_us,
                                                    int64_t until_us,
                                                    struct weir_error *error);

#endif
