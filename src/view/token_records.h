/*
 * token_records.h - tokens: what `weir token` shows and answers.
 */
#ifndef WEIR_VIEW_TOKEN_RECORDS_H
#define WEIR_VIEW_TOKEN_RECORDS_H

#include "view/record.h"
#include "weir/token.h"

/* struct weir_grant */
extern const struct weir_record weir_token_record;

/* struct weir_new_token: a token with its text. */
extern const struct weir_record weir_token_made_record;

struct weir_tokens_revoked {
    const char *token; /* id or name, as it was given */
    size_t revoked;
};
extern const struct weir_record weir_tokens_revoked_record;

#endif
