/*
 * order_shared.h - the inside of order_run.h: what the processes of a run share.
 *
 * The processes are those of a rig (rig.h): writers, deliverers, cutters, sweepers.
 */
#ifndef WEIR_TEST_ORDER_SHARED_H
#define WEIR_TEST_ORDER_SHARED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "crash/order/order_run.h"
#include "crash/rig/rig.h"
#include "weir/db.h"

enum { ORDER_DELIVERERS = 2 };

/* Streams of the ledger. */
enum { ORDER_DEFAULT, ORDER_AUDIT };

#define ORDER_QUEUE "orders"
extern const char *const ORDER_SUBSCRIPTIONS[DELIVERY_AUDIT_STREAMS];

struct order_shared {
    struct rig_shared rig;                   /* first */
    _Atomic bool written;                    /* writers: that is enough */
    _Atomic uint32_t outages;                /* that are over */
    _Atomic bool lull;                       /* writers: wait */
    _Atomic uint32_t busy;                   /* writers inside a transaction */
    _Atomic uint32_t stop[ORDER_DELIVERERS]; /* so often asked to stop and start */
    _Atomic uint32_t stopped[ORDER_DELIVERERS];
    _Atomic int32_t
        slow[DELIVERY_AUDIT_STREAMS]; /* partition with a slow handler; below 0: none */
};

/* Each process has its copy; ledger and stage are the same for all. */
struct order_run {
    struct rig rig;
    const struct order_options *options;
    struct order_result *result; /* the test's process */
    struct delivery_audit *delivery_audit;
    struct order_shared *shared;
    struct weir_outbox *outbox; /* the test's process: asked what is left; or NULL */
};

/* ---- the life of a process, from fork to exit -------------------------------------- */

void order_write(struct order_run *run, uint32_t number);
void order_deliver(struct order_run *run, uint32_t number);
void order_cut(struct order_run *run);
void order_sweep(struct order_run *run);

/* ---- what they have in common (order_shared.c) ------------------------------------- */

/* From `low` to `high`. */
uint32_t order_roll_between(struct order_run *self, uint32_t low, uint32_t high);

/* Somebody else was in the way, or the database is too busy; or it was away, in a run
 * with outages: it did not happen, or it is in doubt whether it did. */
bool order_is_passing(const struct order_run *self, enum weir_status status);

/* Ends the process unless all went well. */
void order_must(struct order_run *self, const char *what, enum weir_status status,
                const struct weir_error *error);

#endif
