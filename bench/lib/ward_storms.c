/*
 * ward_storms.c - signals from outside, as fast as they go.
 *
 * Most of them find a permit stored and add nothing. What must not happen is that the
 * last one is lost: whatever was published before it has to be seen by an execution.
 */
#include "lib/ward.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include <weir/notifier.h>
#include <weir/time.h>

#include "lib/clock.h"
#include "lib/lap.h"
#include "lib/must.h"
#include "lib/pool.h"
#include "lib/sample.h"
#include "lib/table.h"

enum { SITES_MAX = 64, STORMS_MAX = 2 };

/* One worker, its notifier, and what it has to have seen at the end. */
struct site {
    BENCH_OWN_LINE _Atomic uint64_t published; /* raised before each signal */
    BENCH_OWN_LINE _Atomic uint64_t seen;
    uint64_t executions;
    struct weir_notifier *notifier;
};

struct storm {
    BENCH_OWN_LINE struct site *sites;
    size_t site_count;
    _Atomic bool *calm;
    uint64_t signals;
    pthread_t thread;
};

struct storm_result {
    double signals_per_second;
    double executions_per_second;
    size_t unseen; /* sites whose last signal was lost */
};

static enum weir_status step_site(struct weir_context *context, void *state,
                                  struct weir_directive *out, struct weir_error *error)
{
    struct site *self = state;

    (void)context;
    (void)out; /* preset to idle */
    (void)error;
    self->executions++;
    atomic_store(&self->seen, atomic_load(&self->published));
    return WEIR_OK;
}

static void *rage(void *argument)
{
    struct storm *self = argument;

    for (size_t i = 0; !atomic_load_explicit(self->calm, memory_order_relaxed); i++) {
        struct site *site = &self->sites[i % self->site_count];

        (void)atomic_fetch_add(&site->published, 1);
        weir_notifier_notify_one(site->notifier);
        self->signals++;
    }
    return NULL;
}

static size_t count_unseen(struct site *sites, size_t count)
{
    size_t unseen = 0;

    for (size_t i = 0; i < count; i++)
        unseen += atomic_load(&sites[i].seen) != atomic_load(&sites[i].published);
    return unseen;
}

/* Whatever was signalled last must be seen by somebody who was executed after it. */
static size_t await_seen(struct site *sites, size_t count)
{
    int64_t deadline_ns = bench_now_ns() + WEIR_SECONDS(5);
    size_t unseen;

    while ((unseen = count_unseen(sites, count)) > 0 && bench_now_ns() < deadline_ns)
        bench_sleep_ns(WEIR_MILLISECONDS(1));
    return unseen;
}

static struct storm_result run_storm(size_t storm_count, size_t site_count,
                                     int64_t duration_ns)
{
    static struct site sites[SITES_MAX];
    static struct storm storms[STORMS_MAX];
    struct storm_result result;
    struct bench_pool pool;
    _Atomic bool calm = false;
    uint64_t signals = 0;
    uint64_t executions = 0;
    int64_t begun_ns;

    bench_pool_open(&pool, 2, NULL);
    for (size_t i = 0; i < site_count; i++) {
        struct weir_worker_options options;

        sites[i] = (struct site){.notifier = bench_pool_notifier(&pool)};
        options = bench_pool_options(step_site, &sites[i], &sites[i].notifier);
        weir_worker_release(bench_pool_spawn(&pool, &options));
        bench_pool_await(sites[i].notifier, 1);
    }

    begun_ns = bench_now_ns();
    for (size_t i = 0; i < storm_count; i++) {
        storms[i] =
            (struct storm){.sites = sites, .site_count = site_count, .calm = &calm};
        bench_must(pthread_create(&storms[i].thread, NULL, rage, &storms[i]) == 0,
                   "no thread");
    }
    bench_sleep_ns(duration_ns);
    atomic_store(&calm, true);
    for (size_t i = 0; i < storm_count; i++) {
        (void)pthread_join(storms[i].thread, NULL);
        signals += storms[i].signals;
    }
    duration_ns = bench_now_ns() - begun_ns;
    result.unseen = await_seen(sites, site_count);

    bench_pool_close(&pool);
    for (size_t i = 0; i < site_count; i++) {
        executions += sites[i].executions;
        weir_notifier_destroy(sites[i].notifier);
    }
    result.signals_per_second = bench_per_second(signals, duration_ns);
    result.executions_per_second = bench_per_second(executions, duration_ns);
    return result;
}

void bench_ward_storms(const struct bench_ward_plan *plan)
{
    static const size_t site_counts[] = {1, SITES_MAX};
    struct bench_pair signals[2] = {0};
    struct bench_pair executions[2] = {0};
    size_t unseen = 0;

    for (size_t round = 0; round < plan->rounds; round++) {
        for (size_t i = 0; i < 2; i++) {
            struct storm_result one = run_storm(1, site_counts[i], plan->storm_ns);
            struct storm_result two = run_storm(2, site_counts[i], plan->storm_ns);

            bench_pair_add(&signals[i], two.signals_per_second, one.signals_per_second);
            bench_pair_add(&executions[i], two.executions_per_second,
                           one.executions_per_second);
            unseen += one.unseen + two.unseen;
        }
    }
    bench_section("7. storms of notify_one from outside, pool of 2 threads", "2 storms",
                  "1 storm");
    bench_row_pair("1 worker: signals", BENCH_PER_SECOND, &signals[0], BENCH_UNJUDGED);
    bench_row_pair("1 worker: executions", BENCH_PER_SECOND, &executions[0],
                   BENCH_UNJUDGED);
    bench_row_pair("64 workers in turn: signals", BENCH_PER_SECOND, &signals[1],
                   BENCH_UNJUDGED);
    bench_row_pair("64 workers in turn: executions", BENCH_PER_SECOND, &executions[1],
                   BENCH_UNJUDGED);
    bench_row_value("workers that missed their last signal", BENCH_COUNT, (double)unseen,
                    BENCH_AT_MOST(0));
}
