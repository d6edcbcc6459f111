/*
 * ward_idle.c - ten thousand workers with nothing to do.
 */
#include "lib/ward.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/notifier.h>
#include <weir/time.h>

#include "lib/clock.h"
#include "lib/latch.h"
#include "lib/must.h"
#include "lib/pool.h"
#include "lib/proc.h"
#include "lib/table.h"
#include "lib/tally_heap.h"

enum { IDLERS = 10000 };

static enum weir_status step_count(struct weir_context *context, void *state,
                                   struct weir_directive *out, struct weir_error *error)
{
    (void)context;
    (void)out; /* preset to idle */
    (void)error;
    bench_latch_hit(state);
    return WEIR_OK;
}

static void spawn_idlers(struct bench_pool *pool, struct weir_notifier **notifiers,
                         struct bench_latch *woken)
{
    for (size_t i = 0; i < IDLERS; i++) {
        struct weir_worker_options options;
        char name[32];

        (void)snprintf(name, sizeof name, "idler-%05zu", i);
        notifiers[i] = bench_pool_notifier(pool);
        options = bench_pool_options(step_count, woken, &notifiers[i]);
        options.name = name;
        weir_worker_release(bench_pool_spawn(pool, &options));
    }
    for (size_t i = 0; i < IDLERS; i++) {
        while (weir_notifier_waiting(notifiers[i]) == 0)
            bench_sleep_ns(WEIR_MICROSECONDS(200));
    }
    bench_sleep_ns(WEIR_MILLISECONDS(100)); /* and the threads have gone to sleep */
}

/* First of all sections, while nothing of others is left in the heap. */
void bench_ward_idle(const struct bench_ward_plan *plan)
{
    struct weir_notifier **notifiers = bench_must_alloc(IDLERS, sizeof *notifiers);
    struct bench_tally_heap heap;
    struct bench_pool pool;
    struct bench_latch woken;
    size_t resident_before;
    size_t resident_size;
    size_t heap_size;
    uint64_t sleeps;
    int64_t begun_ns;
    int64_t taken_ns;

    memset(notifiers, 1, IDLERS * sizeof *notifiers); /* its pages are not weir's */
    bench_tally_heap_init(&heap);
    bench_latch_init(&woken, IDLERS);
    resident_before = bench_resident_size();
    bench_pool_open(&pool, 2, &heap.heap);
    spawn_idlers(&pool, notifiers, &woken);
    heap_size = atomic_load(&heap.size);
    resident_size = bench_resident_size() - resident_before;

    sleeps = bench_other_threads_sleeps();
    bench_sleep_ns(plan->idle_ns);
    sleeps = bench_other_threads_sleeps() - sleeps;

    begun_ns = bench_now_ns();
    for (size_t i = 0; i < IDLERS; i++)
        weir_notifier_notify_one(notifiers[i]);
    bench_latch_wait(&woken);
    taken_ns = bench_now_ns() - begun_ns;

    bench_pool_close(&pool);
    for (size_t i = 0; i < IDLERS; i++)
        weir_notifier_destroy(notifiers[i]);
    bench_latch_fini(&woken);
    free(notifiers);

    bench_section("1. 10,000 idle workers, one notifier each, 2 threads", "weir", "");
    bench_row_value("heap", BENCH_BYTES, (double)heap_size, BENCH_BELOW(10e6));
    bench_row_value("heap per worker with its notifier", BENCH_BYTES,
                    (double)heap_size / IDLERS, BENCH_UNJUDGED);
    bench_row_value("resident memory gained, all in all", BENCH_BYTES,
                    (double)resident_size, BENCH_BELOW(10e6));
    bench_row_value(plan->idle_ns == WEIR_SECONDS(10) ? "wake-ups in 10 seconds"
                                                      : "wake-ups in 1 second",
                    BENCH_COUNT, (double)sleeps, BENCH_AT_MOST(0));
    bench_row_value("then all are notified: until all have run", BENCH_NANOSECONDS,
                    (double)taken_ns, BENCH_UNJUDGED);
    bench_row_value("left in the heap when all is destroyed", BENCH_BYTES,
                    (double)atomic_load(&heap.size), BENCH_AT_MOST(0));
}
