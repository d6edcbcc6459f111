/*
 * batch_sizer.c - batches shrink when they fail and double when they succeed; the backoff
 * before a retry.
 */
#include "outbox/delivery/batch_sizer.h"

#include "base/arith.h"

/* base * 2^30 is the most that failures in a row can make of a wait. */
enum { DOUBLINGS_MAX = 30 };

static void degrade(struct weir_batch_sizer *self, int64_t processed);
static void grow(struct weir_batch_sizer *self, uint32_t configured);

void weir_batch_sizer_init(struct weir_batch_sizer *self)
{
    *self = (struct weir_batch_sizer){.degraded = false};
}

void weir_batch_sizer_degrade(struct weir_batch_sizer *self)
{
    degrade(self, WEIR_PROCESSED_UNKNOWN);
}

uint32_t weir_batch_sizer_size(const struct weir_batch_sizer *self, uint32_t configured)
{
    uint32_t size = self->degraded && self->size < configured ? self->size : configured;

    return size > 0 ? size : 1;
}

void weir_batch_sizer_move(struct weir_batch_sizer *self, enum weir_outcome outcome,
                           uint32_t configured, int64_t processed, uint32_t threshold)
{
    switch (outcome) {
    case WEIR_DONE:
        self->failures = 0;
        if (self->degraded)
            grow(self, configured);
        break;
    case WEIR_RETRY:
        self->failures = weir_sat_inc_u32(self->failures);
        if (self->failures >= threshold)
            degrade(self, processed);
        break;
    case WEIR_REJECT:
        self->failures = 0;
        degrade(self, processed);
        break;
    }
}

int64_t weir_batch_sizer_backoff(const struct weir_batch_sizer *self, int64_t base_ns,
                                 int64_t max_ns)
{
    uint32_t doublings;

    if (self->failures == 0)
        return base_ns;
    doublings = self->failures - 1 < DOUBLINGS_MAX ? self->failures - 1 : DOUBLINGS_MAX;
    return base_ns > max_ns >> doublings ? max_ns : base_ns << doublings;
}

/* What was processed went well in one batch, so the next one is that large: the message
 * that failed is then the first of the one after it. */
static void degrade(struct weir_batch_sizer *self, int64_t processed)
{
    self->degraded = true;
    self->successes = 0;
    self->size = processed < 1            ? 1
                 : processed > UINT32_MAX ? UINT32_MAX
                                          : (uint32_t)processed;
}

static void grow(struct weir_batch_sizer *self, uint32_t configured)
{
    uint64_t next = (uint64_t)self->size * 2;

    self->successes = weir_sat_inc_u32(self->successes);
    if (next >= configured)
        *self = (struct weir_batch_sizer){.degraded = false};
    else
        self->size = (uint32_t)next;
}
