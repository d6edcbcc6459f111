/*
 * execution_load.h - an execution engine at work, for measuring it.
 *
 *   submit 1 or more -> claim as many -> complete them      each of 16 threads, again
 *                                                           and again
 *
 * All threads use one lane, so they meet at its head. Inputs have 200 bytes, results
 * 16. Whatever is submitted must be completed, and only once, or the bench ends.
 *
 * Threads  The owner's; run() starts its own and joins them.
 * Failure  Ends the bench.
 */
#ifndef WEIR_BENCH_EXECUTION_LOAD_H
#define WEIR_BENCH_EXECUTION_LOAD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weir/execution_supervisor.h>
#include <weir/executions.h>
#include <weir/outbox.h>

enum { BENCH_MILLERS = 16, BENCH_GRAIN_SIZE = 200, BENCH_FLOUR_SIZE = 16 };

#define BENCH_LANE "bench"

struct bench_execution_load_options {
    const char *url;
    bool events;     /* with an outbox, to which nobody subscribes */
    bool supervised; /* reconcilers run */
};

/* How long calls took, in sum. */
struct bench_execution_load_times {
    int64_t submit_ns;
    int64_t claim_ns;
    int64_t settle_ns;
    uint64_t calls; /* of each */
};

struct bench_execution_load {
    struct weir_db *db;
    struct weir_outbox *outbox;
    struct weir_executions *executions;
    struct weir_execution_supervisor *supervisor;
};

/* Migrates. Owes one close. */
void bench_execution_load_open(struct bench_execution_load *self,
                               const struct bench_execution_load_options *options);
void bench_execution_load_close(struct bench_execution_load *self);

/* Submit, claim and complete `count`, `batch` at a time, which BENCH_MILLERS times is a
 * part of `count`; how long that took. `times`, which may be NULL, is added to. */
int64_t bench_execution_load_run(struct bench_execution_load *self, uint64_t count,
                                 size_t batch, struct bench_execution_load_times *times);

/* What is submitted, for a lane, which is borrowed. */
struct weir_execution_draft bench_execution_load_draft(const char *lane);

/* Submit `count` (up to WEIR_BATCH_MAX), each with a delay; NULL: none. `out` may be
 * NULL. */
void bench_execution_load_submit(struct bench_execution_load *self, size_t count,
                                 const int64_t *delays_ms, struct weir_submission *out);

/* Claim up to `count`. Owes weir_claimed_free(). */
size_t bench_execution_load_claim(struct bench_execution_load *self, size_t count,
                                  int64_t lease_ms, int64_t wait_ms,
                                  struct weir_claimed **out);

/* The same in another lane, with a lease that does not run out. */
size_t bench_execution_load_claim_in(struct bench_execution_load *self, const char *lane,
                                     size_t count, int64_t wait_ms,
                                     struct weir_claimed **out);

void bench_execution_load_complete(struct bench_execution_load *self,
                                   const struct weir_claimed *claimed, size_t count);

/* What a reconciler has handled so far. */
uint64_t bench_execution_load_handled(struct bench_execution_load *self,
                                      enum weir_reconciler which);

/* When it was submitted, by the database's clock. */
int64_t bench_execution_load_created_us(struct bench_execution_load *self,
                                        const struct weir_execution_id *id);

#endif
