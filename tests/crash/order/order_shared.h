/*
 * order_shared.h - the inside of order_run.h: what the processes of a run share.
 *
 * The test's process (order_run.c) forks all others and has no connection open while it
 * does: neither a server's nor SQLite's locks would survive that. What they share is in
 * pages mapped beforehand. Nobody but the test's process may fail a check; the others
 * leave a text and go.
 */
#ifndef WEIR_TEST_ORDER_SHARED_H
#define WEIR_TEST_ORDER_SHARED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/fault_point.h"
#include "crash/order/order_run.h"
#include "weir/db.h"

enum { ORDER_WRITERS_MAX = 16, ORDER_DELIVERERS = 2, ORDER_HELPERS_MAX = 8 };

/* Streams of the ledger. */
enum { ORDER_DEFAULT, ORDER_AUDIT };

#define ORDER_QUEUE "orders"

struct order_shared {
    _Atomic bool written;                    /* writers: that is enough */
    _Atomic uint32_t outages;                /* that are over */
    _Atomic bool lull;                       /* writers: wait */
    _Atomic bool over;                       /* deliverers and helpers: leave */
    _Atomic uint32_t busy;                   /* writers inside a transaction */
    _Atomic uint32_t stop[ORDER_DELIVERERS]; /* so often asked to stop and start */
    _Atomic uint32_t stopped[ORDER_DELIVERERS];
    _Atomic int32_t
        slow[DELIVERY_AUDIT_STREAMS]; /* partition with a slow handler; below 0: none */
    struct weir_fault_points points;
    _Atomic bool troubled;
    char trouble[512];
};

/* Each process has its copy; ledger and stage are the same for all. */
struct order_run {
    struct fixture *fixture; /* its database is open in the test's process only */
    const struct order_options *options;
    struct order_result *result; /* the test's process */
    struct delivery_audit *delivery_audit;
    struct order_shared *shared;
    uint64_t chance; /* the state of this process's choices */
    pid_t writers[ORDER_WRITERS_MAX];
    pid_t deliverers[ORDER_DELIVERERS];
    pid_t helpers[ORDER_HELPERS_MAX]; /* cutters, then sweepers */
};

/* ---- the life of a process, from fork to exit -------------------------------------- */

void order_write(struct order_run *run, uint32_t number);
void order_deliver(struct order_run *run, uint32_t number);
void order_cut(struct order_run *run, uint32_t number);
void order_sweep(struct order_run *run, uint32_t number);

/* ---- what they have in common (order_shared.c) ------------------------------------- */

uint64_t order_mix(uint64_t x);

/* From 0 to below `n`; from `low` to `high`. */
uint32_t order_roll(struct order_run *self, uint32_t n);
uint32_t order_roll_between(struct order_run *self, uint32_t low, uint32_t high);

void order_rest_us(uint32_t us);

/* Somebody else was in the way, or the database is too busy; or it was away, in a run
 * with outages: it did not happen, or it is in doubt whether it did. */
bool order_is_passing(const struct order_run *self, enum weir_status status);

/* Leave, with the first trouble of all as text. */
__attribute__((noreturn, format(printf, 2, 3))) void
order_give_up(struct order_run *self, const char *format, ...);
void order_must(struct order_run *self, const char *what, enum weir_status status,
                const struct weir_error *error);

/* A database handle of this process, with the stage's points. WEIR_VERBOSE=1: what the
 * library has to say goes to the error output. */
struct weir_db *order_open_db(struct order_run *self);

#endif
