/*
 * grant.h - rules of what a token allows, and the check of what an operator gives.
 *
 * Threads  Any.
 */
#ifndef WEIR_OUTBOX_TOKEN_GRANT_H
#define WEIR_OUTBOX_TOKEN_GRANT_H

#include "weir/token.h"

enum { WEIR_GLOBS_MAX = 32 }; /* of a token */

/* Name, scopes, patterns and lifetime: WEIR_INVALID, WEIR_OUT_OF_RANGE. */
WEIR_CHECKED enum weir_status
weir_token_options_check(const struct weir_token_options *options,
                         struct weir_error *error);

/* "read, producer; queues orders.*": scopes and restrictions. Returns `out`, which is cut
 * where it is full. */
const char *weir_grant_describe(const struct weir_grant *self, char *out, size_t size);

#endif
