/*
 * batch_sizer.h - how many messages the next call of a partition gets, and how long it
 * waits.
 *
 * A partition is *normal*, with batches of the configured size, or *degraded*, with
 * smaller ones that double at each success until they are normal again. So a poison
 * message is alone in its batch after a few rounds, and a healthy partition soon
 * forgets it.
 *
 * Threads  The owner's. Memory   None.
 */
#ifndef WEIR_OUTBOX_DELIVERY_BATCH_SIZER_H
#define WEIR_OUTBOX_DELIVERY_BATCH_SIZER_H

#include <stdbool.h>
#include <stdint.h>

#include "weir/batch.h"

struct weir_batch_sizer {
    bool degraded;
    uint32_t size; /* while degraded */
    uint32_t successes;
    uint32_t failures; /* in a row */
};

enum { WEIR_PROCESSED_UNKNOWN = -1 };

void weir_batch_sizer_init(struct weir_batch_sizer *self);

/* Degraded from the start: the owner before us died here. */
void weir_batch_sizer_degrade(struct weir_batch_sizer *self);

/* Messages for the next call, at least 1. */
uint32_t weir_batch_sizer_size(const struct weir_batch_sizer *self, uint32_t configured);

/* After a call; `processed` is how many were acked or rejected, or
 * WEIR_PROCESSED_UNKNOWN. */
void weir_batch_sizer_move(struct weir_batch_sizer *self, enum weir_outcome outcome,
                           uint32_t configured, int64_t processed, uint32_t threshold);

/* base if there was no failure; else base * 2^min(failures - 1, 30), at most max.
 * Saturates. */
int64_t weir_batch_sizer_backoff(const struct weir_batch_sizer *self, int64_t base_ns,
                                 int64_t max_ns);

#endif
