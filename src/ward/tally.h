/*
 * tally.h - what one worker has done, counted by a listener.
 *
 * The counters only ever grow. The one exception is a second maximum, which is that since
 * it was last taken: weir/stats.h says which is for what.
 *
 * Threads  The worker's thread counts, any thread reads; no thread waits for another.
 * Memory   None. The listener is part of the tally, so neither may move.
 */
#ifndef WEIR_WARD_TALLY_H
#define WEIR_WARD_TALLY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "weir/stats.h"

struct weir_tally {
    struct weir_listener listener;      /* its state is the tally */
    struct weir_executor *executor;     /* borrowed, for its clock */
    weir_stats_messages_fn messages_of; /* may be NULL: there are none */
    void *messages_state;

    /* Written by the worker's thread only. */
    _Atomic uint64_t executions;
    _Atomic uint64_t noops;
    _Atomic uint64_t failures;
    _Atomic uint64_t messages;
    _Atomic uint64_t execution_ns_total;
    _Atomic uint64_t execution_ns_max;
    _Atomic uint64_t idle_ns_total;

    _Atomic uint64_t
        fresh_ns_max; /* as execution_ns_max; take_fresh_max() writes it too */

    /* The worker's thread alone. */
    bool has_executed;
    int64_t ended_ns; /* when the last execution ended */
};

void weir_tally_init(struct weir_tally *self, struct weir_executor *executor,
                     weir_stats_messages_fn messages_of, void *messages_state);

/* Add the sums to those of `row`, and raise its maximum to that since the beginning. */
void weir_tally_add_to(const struct weir_tally *self, struct weir_stats_row *row);

/* The longest execution since the last call, in microseconds; 0 without any. */
uint64_t weir_tally_take_fresh_max_us(struct weir_tally *self);

#endif
