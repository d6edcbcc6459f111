/*
 * pool.h - an executor with one ward, for the length of a run.
 *
 * Whatever fails ends the bench.
 */
#ifndef WEIR_BENCH_POOL_H
#define WEIR_BENCH_POOL_H

#include <stdint.h>

#include <weir/executor.h>
#include <weir/heap.h>
#include <weir/notifier.h>
#include <weir/ward.h>

struct bench_pool {
    struct weir_executor *executor;
    struct weir_ward *ward;
};

/* `heap` may be NULL: the C library's. */
void bench_pool_open(struct bench_pool *self, uint32_t threads,
                     const struct weir_heap *heap);

/* Stop everything; nothing may be unfinished. */
void bench_pool_close(struct bench_pool *self);

struct weir_notifier *bench_pool_notifier(struct bench_pool *self);

/* The defaults, with zero pace and one notifier, which is borrowed until spawn. */
struct weir_worker_options bench_pool_options(weir_action_fn action, void *state,
                                              struct weir_notifier *const *notifier);

/* The handle is owed a weir_worker_release(). */
struct weir_worker *bench_pool_spawn(struct bench_pool *self,
                                     const struct weir_worker_options *options);

/* Wait until so many workers stand in the notifier's line and their threads sleep. */
void bench_pool_await(struct weir_notifier *notifier, size_t count);

#endif
