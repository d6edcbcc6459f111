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

/* For memory that a text was in. */
void weir_token_wipe(void *memory, size_t size);

#endif
