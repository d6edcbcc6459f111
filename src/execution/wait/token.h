/*
 * token.h - the right to signal a waitpoint.
 *
 * "KEY:HEX": an HMAC-SHA256 by the secret called KEY, over execution, waitpoint and the
 * waitpoint's key. It is made from these whenever it is asked for, and stored nowhere.
 * Comparing takes the same time whatever is wrong.
 */
#ifndef WEIR_EXECUTION_WAIT_TOKEN_H
#define WEIR_EXECUTION_WAIT_TOKEN_H

#include <stdbool.h>

#include "base/str.h"
#include "weir/suspension.h"

enum { WEIR_FINGERPRINT_TEXT_SIZE = 17 };

struct weir_secret {
    char key_id[WEIR_KEY_ID_SIZE_MAX + 1];
    uint8_t bytes[WEIR_SECRET_SIZE];
};

/* What a token is for. */
struct weir_token_subject {
    const struct weir_execution_id *id;
    const uint8_t *waitpoint; /* its uuid */
    struct weir_str key;      /* the waitpoint's */
};

/* WEIR_SYSTEM: the library of ciphers refused. */
WEIR_CHECKED enum weir_status weir_token_make(const struct weir_secret *secret,
                                              const struct weir_token_subject *subject,
                                              char out[WEIR_TOKEN_TEXT_SIZE],
                                              struct weir_error *error);

/* Which secret made it, as it says: empty when it has not the form of a token. */
struct weir_str weir_token_key_id(const char *token);

bool weir_token_equal(const char *a, const char *b);

/* 16 digits that tell two tokens apart and give neither away. */
WEIR_CHECKED enum weir_status weir_token_fingerprint(const char *token,
                                                     char out[WEIR_FINGERPRINT_TEXT_SIZE],
                                                     struct weir_error *error);

#endif
