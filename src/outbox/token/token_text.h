/*
 * token_text.h - the text of a token: "weir_", 43 letters of 32 random bytes, and 6 of
 * the CRC-32 of these letters.
 *
 * Memory   The caller's, which wipes it.
 */
#ifndef WEIR_OUTBOX_TOKEN_TOKEN_TEXT_H
#define WEIR_OUTBOX_TOKEN_TOKEN_TEXT_H

#include "weir/token.h"

/* A new one, and an id, both at random. WEIR_SYSTEM: no randomness is available. */
WEIR_CHECKED enum weir_status weir_token_draw(char text[WEIR_API_TOKEN_SIZE + 1],
                                              char id[WEIR_TOKEN_ID_SIZE + 1],
                                              struct weir_error *error);

/* Does `name` have the text of a token in it, or the most of one? Such a name is neither
 * stored nor repeated. NULL: no. */
bool weir_token_is_in(const char *name);

/* For memory that a text was in. */
void weir_token_wipe(void *memory, size_t size);

#endif
