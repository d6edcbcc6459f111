/*
 * torture_shared.c - see torture_shared.h.
 */
#include "crash/torture/torture_shared.h"

#include <string.h>

const char *const TORTURE_QUEUE_NAMES[TORTURE_QUEUES] = {"leased", "within"};
const char *const TORTURE_SUBSCRIPTIONS[DELIVERY_AUDIT_STREAMS] = {"single", "together"};

/* Where a process is given a signal by itself. */
static const char *const CONSUMER_PLACES[TORTURE_CONSUMER_PLACES] = {
    "handler_runner.begun", "handler_runner.answered", "acker.collected", "acker.moved",
    "lease_keeper.renewed", "dispatcher.read",         "tx.commit",       "tx.moved",
    "tx.committed",         "handler_runner.marked",   "db.commit",       "move.pick",
    "sweep.locked", /* in the library's transactions */
};
static const char *const PRODUCER_PLACES[TORTURE_PRODUCER_PLACES] = {
    "producer.begun", "producer.written", "producer.committed"};

/* ---- orders ------------------------------------------------------------------------ */

uint32_t torture_order(int signal_number, uint32_t place)
{
    return rig_order(signal_number, place + 1);
}

const char *torture_place(bool consumer, uint32_t number)
{
    return consumer ? CONSUMER_PLACES[number] : PRODUCER_PLACES[number];
}

uint32_t torture_place_of(bool consumer, const char *name)
{
    uint32_t count = consumer ? TORTURE_CONSUMER_PLACES : TORTURE_PRODUCER_PLACES;

    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(torture_place(consumer, i), name) == 0)
            return i;
    }
    return UINT32_MAX;
}

void torture_pass(struct torture *self, const char *name)
{
    uint32_t order = atomic_load(&self->shared->rig.board.order[self->rig.slot]);
    bool consumer = self->rig.slot >= TORTURE_PRODUCERS;

    if (order != 0 &&
        strcmp(name, torture_place(consumer, order / RIG_ORDER_SIGNALS - 1)) == 0)
        rig_obey(&self->rig, order);
}

/* ---- faults ------------------------------------------------------------------------ */

struct torture_fault *torture_add_fault(struct torture_shared *shared,
                                        const struct torture_fault *fault)
{
    uint32_t slot = atomic_fetch_add(&shared->fault_count, 1);
    struct torture_fault *its;

    if (slot >= TORTURE_FAULTS_MAX) { /* the audit will say so */
        atomic_store(&shared->fault_count, TORTURE_FAULTS_MAX);
        slot = TORTURE_FAULTS_MAX - 1;
    }
    its = &shared->faults[slot];
    its->kind = fault->kind;
    its->process = fault->process;
    its->begin_us = fault->begin_us;
    its->end_us = fault->end_us;
    atomic_store(&its->written, true);
    return its;
}
