/*
 * execution_left.h - what is left to do in some lanes, for a worker that ends when
 * nothing is.
 *
 *   waiting, delayed, active, resumable, rate_limited     moves, by itself or by a worker
 *   suspended                                             waits for the world, perhaps
 *                                                         for ever
 *   waiting_children                                      moves if anything of its flow
 *                                                         does
 *
 * Threads  The main thread.
 */
#ifndef WEIR_CLI_EXECUTION_EXECUTION_LEFT_H
#define WEIR_CLI_EXECUTION_EXECUTION_LEFT_H

#include "view/execution_text.h"
#include "weir/executions.h"

enum { WEIR_EXECUTION_LEFT_COUNT_MAX = 100000 };

struct weir_execution_left {
    bool moves; /* something does: `text` says which one, and why it has not ended */
    uint64_t suspended; /* unless something moves: so many wait for the world, */
    uint64_t behind; /* and so many for these; up to WEIR_EXECUTION_LEFT_COUNT_MAX each */
    int64_t now_us;  /* given: the database's clock */
    char text[WEIR_EXECUTION_ID_TEXT_SIZE + WEIR_EXECUTION_WHY_SIZE + 32];
};

/* `out->now_us` is given. */
WEIR_CHECKED enum weir_status weir_execution_left_read(struct weir_executions *executions,
                                                       const char *const *lanes,
                                                       size_t count,
                                                       struct weir_execution_left *out,
                                                       struct weir_error *error);

#endif
