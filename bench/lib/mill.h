/*
 * mill.h - an execution engine at work, for measuring it.
 *
 *   submit 1 or more -> claim as many -> complete them      each of 16 threads, again and again
 *
 * All threads use one lane, so they meet at its head. Inputs have 200 bytes, results 16. Whatever is
 * submitted must be completed, and only once, or the bench ends.
 *
 * Threads  The owner's; run() starts its own and joins them.
 * Failure  Ends the bench.
 */
#ifndef WEIR_BENCH_MILL_H
#define WEIR_BENCH_MILL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weir/flow.h>
#include <weir/flow_supervisor.h>
#include <weir/outbox.h>

enum { BENCH_MILLERS = 16, BENCH_GRAIN_SIZE = 200, BENCH_FLOUR_SIZE = 16 };

#define BENCH_LANE "bench"

struct bench_mill_options {
    const char *url;
    bool events;     /* with an outbox, to which nobody subscribes */
    bool supervised; /* reconcilers run */
};

/* How long calls took, in sum. */
struct bench_mill_times {
    int64_t submit_ns;
    int64_t claim_ns;
    int64_t settle_ns;
    uint64_t calls; /* of each */
};

struct bench_mill {
    struct weir_db *db;
    struct weir_outbox *outbox;
    struct weir_flow *flow;
    struct weir_flow_supervisor *supervisor;
};

/* Migrates. Owes one close. */
void bench_mill_open(struct bench_mill *self, const struct bench_mill_options *options);
void bench_mill_close(struct bench_mill *self);

/* Submit, claim and complete `count`, `batch` at a time, which BENCH_MILLERS times is a part of
 * `count`; how long that took. `times`, which may be NULL, is added to. */
int64_t bench_mill_run(struct bench_mill *self, uint64_t count, size_t batch,
                       struct bench_mill_times *times);

/* What is submitted, for a lane, which is borrowed. */
struct weir_execution_draft bench_mill_draft(const char *lane);

/* Submit `count` (up to WEIR_BATCH_MAX), each with a delay; NULL: none. `out` may be
 * NULL. */
void bench_mill_submit(struct bench_mill *self, size_t count, const int64_t *delays_ms,
                       struct weir_submission *out);

/* Claim up to `count`. Owes weir_claimed_free(). */
size_t bench_mill_claim(struct bench_mill *self, size_t count, int64_t lease_ms,
                        int64_t wait_ms, struct weir_claimed **out);

/* The same in another lane, with a lease that does not run out. */
size_t bench_mill_claim_in(struct bench_mill *self, const char *lane, size_t count,
                           int64_t wait_ms, struct weir_claimed **out);

void bench_mill_complete(struct bench_mill *self, const struct weir_claimed *claimed,
                         size_t count);

/* What a reconciler has handled so far. */
uint64_t bench_mill_handled(struct bench_mill *self, enum weir_reconciler which);

/* When it was submitted, by the database's clock. */
int64_t bench_mill_created_us(struct bench_mill *self,
                              const struct weir_execution_id *id);

#endif
