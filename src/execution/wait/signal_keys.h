/*
 * signal_keys.h - the keys of signals, for as long as a repeat of one is to be known
 * again.
 *
 * A signal is removed with its waitpoint when its execution is suspended again, and
 * a sender that has lost the reply may repeat it later than that. So its key is kept by
 * itself, for 24 hours, among the keys of executions.
 *
 *   a call with a token names one waitpoint: the key is one of that waitpoint's
 *   an operator         names a waitpoint by its key, which that of the next suspension
 *                       may have as well: the key is one of that name's, whichever
 *                       waitpoint has it by then
 *
 * Threads  The holder of the connection, and has locked the execution if it writes.
 * Memory   What is read lives in the caller's arena.
 */
#ifndef WEIR_EXECUTION_WAIT_SIGNAL_KEYS_H
#define WEIR_EXECUTION_WAIT_SIGNAL_KEYS_H

#include "base/md5.h"
#include "execution/wait/wait_store.h"

struct weir_signal_key {
    int64_t no;                    /* of the execution */
    const uint8_t *waitpoint;      /* NULL: it is an operator's */
    struct weir_str waitpoint_key; /* of an operator's */
    struct weir_str key;
};

/* What it was used for. */
struct weir_signal_use {
    uint8_t digest[WEIR_MD5_SIZE];
    struct weir_str waitpoint_key; /* over which the token was made */
    bool late;                     /* it changed nothing */
};

/* Name, source and payload: signals with equal digests say the same. */
void weir_signal_digest(const struct weir_signal_row *row, uint8_t out[WEIR_MD5_SIZE]);

/* WEIR_NO_ROW: it was not used, or that was too long ago. */
WEIR_CHECKED enum weir_status weir_signal_key_find(
    struct weir_connection *connection, const struct weir_signal_key *key, int64_t now_us,
    struct weir_arena *arena, struct weir_signal_use *out, struct weir_error *error);
WEIR_CHECKED enum weir_status weir_signal_key_keep(struct weir_connection *connection,
                                                   const struct weir_signal_key *key,
                                                   const struct weir_signal_use *use,
                                                   int64_t now_us,
                                                   struct weir_error *error);

#endif
