/*
 * meter.h - what one handler of this process has done, in numbers that only grow.
 *
 * They are counted per call and per ack, never per message, where the partition table's
 * lock is held anyway; and they are atomic, so that a reader needs no lock.
 * They belong to the subscriber and go on over stop() and start().
 *
 * Threads  Any thread may add and read.
 */
#ifndef WEIR_OUTBOX_DELIVERY_METER_H
#define WEIR_OUTBOX_DELIVERY_METER_H

#include <stdatomic.h>
#include <stdint.h>

enum weir_meter_item {
    WEIR_METER_CALLS,     /* of the handler, begun */
    WEIR_METER_DELIVERED, /* messages given to it, each time anew */
    WEIR_METER_ACKED,     /* messages passed, and stored as such */
    WEIR_METER_REJECTED,  /* of these: kept as dead letters */
    WEIR_METER_GIVEN_UP,  /* of these: because they have failed too often */
    WEIR_METER_RETRIES, /* calls that left a message to be tried again, stored as such */
    WEIR_METER_REFUSED, /* acks that were refused: another process has the lease */
    WEIR_METER_TAKEN,   /* leases */
    WEIR_METER_LOST,    /* leases that ended while we had them */
    WEIR_METER_ITEMS
};

struct weir_meter {
    _Atomic uint64_t counts[WEIR_METER_ITEMS];
};

static inline void weir_meter_add(struct weir_meter *self, enum weir_meter_item item,
                                  uint64_t count)
{
    atomic_fetch_add_explicit(&self->counts[item], count, memory_order_relaxed);
}

static inline uint64_t weir_meter_read(const struct weir_meter *self,
                                       enum weir_meter_item item)
{
    return atomic_load_explicit(&self->counts[item], memory_order_relaxed);
}

#endif
