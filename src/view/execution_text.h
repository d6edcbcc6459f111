/*
 * execution_text.h - executions in words.
 *
 * Why one does not move is said in words: what it waits for, until when, which process
 * holds it. What is overdue by seconds names the supervisor, which would have handled it.
 */
#ifndef WEIR_VIEW_EXECUTION_TEXT_H
#define WEIR_VIEW_EXECUTION_TEXT_H

#include "view/tone.h"
#include "weir/executions.h"

enum {
    WEIR_EXECUTION_WHY_SIZE = 1280,
    WEIR_EXECUTION_STATUS_SIZE = 128,
    WEIR_EXECUTION_TOKEN_SIZE = WEIR_EXECUTION_ID_TEXT_SIZE + 2 * 21
};

/* Why it is not done, or how it ended, for people; "" when the state says it all.
 * Returns `out`, of WEIR_EXECUTION_WHY_SIZE bytes. */
const char *weir_execution_spell_why(const struct weir_execution_info *info,
                                     int64_t now_us, char *out);

/* How it stands, after a claim was lost: "it is active, held for another 12.0 s
 * (epoch 3)". Returns `out`, of WEIR_EXECUTION_STATUS_SIZE bytes. */
const char *weir_execution_spell_status(const struct weir_execution_status *current,
                                        int64_t now_us, char *out);

/* How a state is shown. */
enum weir_tone weir_execution_state_tone(enum weir_public_state state);

/* The token of a claim. Returns `out`, of WEIR_EXECUTION_TOKEN_SIZE bytes. */
const char *weir_execution_token_format(const struct weir_claim *claim, char *out);

#endif
