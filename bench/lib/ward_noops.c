/*
 * ward_noops.c - the runtime against a plain queue, and two threads against one.
 */
#include "lib/ward.h"

#include <stdint.h>
#include <stdlib.h>

#include <weir/notifier.h>
#include <weir/time.h>

#include "lib/clock.h"
#include "lib/lap.h"
#include "lib/must.h"
#include "lib/pool.h"
#include "lib/queue.h"
#include "lib/sample.h"
#include "lib/table.h"

enum { PROCESS_POOL = 8 }; /* workers where several are wanted */

/* One contest: the same workers or jobs on so many threads. */
struct contest {
    uint32_t threads;
    size_t workers;
    weir_action_fn action;
    uint64_t spin_turns;
    uint64_t executions; /* of all workers together */
};

/* Executions per second of weir, with zero pace. */
static double run_workers(const struct contest *contest)
{
    uint64_t each = contest->executions / contest->workers;
    struct bench_latch done;
    struct bench_pool pool;
    struct weir_notifier *go;
    struct bench_lap *laps =
        bench_laps_create(contest->workers, each, contest->spin_turns, &done);
    int64_t taken_ns;

    bench_pool_open(&pool, contest->threads, NULL);
    go = bench_pool_notifier(&pool);
    for (size_t i = 0; i < contest->workers; i++) {
        struct weir_worker_options options =
            bench_pool_options(contest->action, &laps[i], &go);

        weir_worker_release(bench_pool_spawn(&pool, &options));
    }
    bench_pool_await(go, contest->workers);

    weir_notifier_notify_all(go);
    bench_latch_wait(&done);
    taken_ns = bench_laps_taken_ns(laps, contest->workers);

    bench_pool_close(&pool);
    weir_notifier_destroy(go);
    bench_latch_fini(&done);
    free(laps);
    return bench_per_second(each * contest->workers, taken_ns);
}

/* The same through lib/queue.h. */
static double run_queue(const struct contest *contest)
{
    uint64_t each = contest->executions / contest->workers;
    struct bench_latch done;
    struct bench_queue queue;
    struct bench_lap *laps =
        bench_laps_create(contest->workers, each, contest->spin_turns, &done);
    struct bench_job *jobs = bench_must_alloc(contest->workers, sizeof *jobs);
    int64_t taken_ns;

    bench_queue_start(&queue, contest->threads);
    bench_sleep_ns(WEIR_MILLISECONDS(2)); /* until its threads wait */

    for (size_t i = 0; i < contest->workers; i++) {
        jobs[i] = (struct bench_job){.action = contest->action, .state = &laps[i]};
        bench_queue_push(&queue, &jobs[i]);
    }
    bench_latch_wait(&done);
    taken_ns = bench_laps_taken_ns(laps, contest->workers);

    bench_queue_stop(&queue);
    bench_latch_fini(&done);
    free(jobs);
    free(laps);
    return bench_per_second(each * contest->workers, taken_ns);
}

void bench_ward_noops(const struct bench_ward_plan *plan)
{
    struct contest contests[] = {
        {.threads = 1, .workers = 1},
        {.threads = 1, .workers = PROCESS_POOL},
        {.threads = 2, .workers = PROCESS_POOL},
    };
    struct bench_pair pairs[3] = {0};

    for (size_t round = 0; round < plan->short_rounds; round++) {
        for (size_t i = 0; i < 3; i++) {
            contests[i].action = bench_step_proceed;
            contests[i].executions = plan->noops * contests[i].threads;
            bench_pair_add(&pairs[i], run_workers(&contests[i]), run_queue(&contests[i]));
        }
    }
    bench_section("2. no-op executions per second", "weir", "queue");
    bench_row_pair("1 worker, 1 thread", BENCH_PER_SECOND, &pairs[0],
                   BENCH_AT_LEAST(0.2));
    bench_row_pair("8 workers, 1 thread", BENCH_PER_SECOND, &pairs[1],
                   BENCH_AT_LEAST(0.2));
    bench_row_pair("8 workers, 2 threads", BENCH_PER_SECOND, &pairs[2],
                   BENCH_AT_LEAST(0.2));
    bench_note("queue: a list, a mutex, a condition; each execution pops its job under "
               "the mutex,");
    bench_note("calls the same action, and appends the job again under the mutex");
}

void bench_ward_scaling(const struct bench_ward_plan *plan)
{
    struct contest contest = {
        .workers = PROCESS_POOL,
        .action = bench_step_spin,
        .spin_turns = bench_spin_calibrate(WEIR_MICROSECONDS(10)),
        .executions = plan->spins,
    };
    struct bench_pair weir = {0};
    struct bench_pair queue = {0};

    for (size_t round = 0; round < plan->short_rounds; round++) {
        double rates[4];

        contest.threads = 1;
        rates[0] = run_workers(&contest);
        rates[1] = run_queue(&contest);
        contest.threads = 2;
        rates[2] = run_workers(&contest);
        rates[3] = run_queue(&contest);
        bench_pair_add(&weir, rates[2], rates[0]);
        bench_pair_add(&queue, rates[3], rates[1]);
    }
    bench_section("3. executions of 10 us each, 8 workers", "2 threads", "1 thread");
    bench_row_pair("weir", BENCH_PER_SECOND, &weir, BENCH_AT_LEAST(1.5));
    bench_row_pair("the queue, for comparison", BENCH_PER_SECOND, &queue, BENCH_UNJUDGED);
    if (bench_sample_median(&queue.ratios) < 1.5)
        bench_note("not even the queue gains 1.5: a second core was not free");
}
