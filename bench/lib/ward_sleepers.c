/*
 * ward_sleepers.c - workers that sleep until a time each of their own.
 *
 * On one thread they must be executed exactly in the order of these times.
 */
#include "lib/ward.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <weir/notifier.h>
#include <weir/time.h>

#include "lib/clock.h"
#include "lib/latch.h"
#include "lib/must.h"
#include "lib/pool.h"
#include "lib/sample.h"
#include "lib/table.h"

struct dormitory {
    struct sleeper *sleepers;
    size_t count;
    int64_t window_from_ns;
    size_t awake; /* one thread: no need for an atomic */
    struct bench_latch asleep;
    struct bench_latch up;
};

struct sleeper {
    struct dormitory *dormitory;
    struct weir_worker *worker;
    int64_t offset_ns; /* of its alarm in the window */
    int64_t due_ns;    /* as the runtime says */
    int64_t up_ns;
    size_t place; /* in the order of execution */
    bool in_bed;
};

struct dormitory_result {
    size_t out_of_order;
    int64_t late_p50_ns;
    int64_t late_p99_ns;
    double per_second; /* from the first to the last */
};

static enum weir_status step_sleeper(struct weir_context *context, void *state,
                                     struct weir_directive *out, struct weir_error *error)
{
    struct sleeper *self = state;
    struct dormitory *dormitory = self->dormitory;

    (void)error;
    if (!self->in_bed) {
        self->in_bed = true;
        *out = weir_sleep_for(dormitory->window_from_ns + self->offset_ns -
                              weir_context_now(context));
        bench_latch_hit(&dormitory->asleep);
        return WEIR_OK;
    }
    self->up_ns = weir_context_now(context);
    self->place = dormitory->awake++;
    bench_latch_hit(&dormitory->up);
    return WEIR_OK;
}

static int by_place(const void *a, const void *b)
{
    size_t x = ((const struct sleeper *)a)->place;
    size_t y = ((const struct sleeper *)b)->place;

    return (x > y) - (x < y);
}

static struct dormitory_result judge(struct dormitory *self)
{
    struct sleeper *sleepers = self->sleepers;
    int64_t *late = bench_must_alloc(self->count, sizeof *late);
    struct dormitory_result result = {0};

    qsort(sleepers, self->count, sizeof *sleepers, by_place);
    for (size_t i = 0; i < self->count; i++) {
        late[i] = sleepers[i].up_ns - sleepers[i].due_ns;
        if (late[i] < 0 || (i > 0 && sleepers[i].due_ns < sleepers[i - 1].due_ns))
            result.out_of_order++;
    }
    bench_sort_ns(late, self->count);
    result.late_p50_ns = bench_percentile_ns(late, self->count, 50);
    result.late_p99_ns = bench_percentile_ns(late, self->count, 99);
    result.per_second = bench_per_second(self->count, sleepers[self->count - 1].up_ns -
                                                          sleepers[0].up_ns);
    free(late);
    return result;
}

/* The due time is read from the runtime: the action can only say a duration. False: the
 * first alarm came before all had been read. */
static bool read_alarms(struct dormitory *self)
{
    for (size_t i = 0; i < self->count; i++) {
        struct weir_worker_info info;

        do {
            weir_worker_read(self->sleepers[i].worker, &info);
        } while (info.state == WEIR_WORKER_RUNNING);
        self->sleepers[i].due_ns = info.due_ns;
        weir_worker_release(self->sleepers[i].worker);
    }
    return bench_now_ns() < self->window_from_ns;
}

/* False: the machine was too busy to get all to bed within `lead_ns`. */
static bool try_sleepers(size_t count, int64_t window_ns, unsigned short seed,
                         int64_t lead_ns, struct dormitory_result *out)
{
    struct dormitory self = {.count = count};
    unsigned short random[3] = {seed, 2, 3};
    struct bench_pool pool;
    struct weir_notifier *bedtime;
    bool in_time;

    self.sleepers = bench_must_alloc(count, sizeof *self.sleepers);
    bench_latch_init(&self.asleep, count);
    bench_latch_init(&self.up, count);
    bench_pool_open(&pool, 1, NULL);
    bedtime = bench_pool_notifier(&pool);
    for (size_t i = 0; i < count; i++) {
        struct sleeper *sleeper = &self.sleepers[i];
        struct weir_worker_options options =
            bench_pool_options(step_sleeper, sleeper, &bedtime);

        sleeper->dormitory = &self;
        sleeper->offset_ns = (int64_t)(erand48(random) * (double)window_ns);
        sleeper->worker = bench_pool_spawn(&pool, &options);
    }
    bench_pool_await(bedtime, count);

    self.window_from_ns = bench_now_ns() + lead_ns;
    weir_notifier_notify_all(bedtime);
    bench_latch_wait(&self.asleep);
    in_time = read_alarms(&self);
    bench_latch_wait(&self.up);

    bench_pool_close(&pool);
    *out = judge(&self);
    weir_notifier_destroy(bedtime);
    bench_latch_fini(&self.up);
    bench_latch_fini(&self.asleep);
    free(self.sleepers);
    return in_time;
}

static struct dormitory_result run_sleepers(size_t count, int64_t window_ns,
                                            unsigned short seed)
{
    int64_t lead_ns = WEIR_MILLISECONDS(100) + (int64_t)count * WEIR_MICROSECONDS(8);
    struct dormitory_result result;

    for (int i = 0; i < 5; i++, lead_ns *= 2) {
        if (try_sleepers(count, window_ns, seed, lead_ns, &result))
            return result;
    }
    bench_must(false, "the machine is too busy to put all workers to sleep in time");
    return result;
}

/* How late a thread is that only waits for a time: what the machine itself adds. */
static void time_bare_alarms(double *p50, double *p99)
{
    enum { ALARMS = 500 };
    int64_t late[ALARMS];
    pthread_condattr_t monotonic;
    pthread_mutex_t lock;
    pthread_cond_t never;

    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_mutex_init(&lock, NULL);
    (void)pthread_cond_init(&never, &monotonic);
    (void)pthread_mutex_lock(&lock);
    for (size_t i = 0; i < ALARMS; i++) {
        int64_t due_ns = bench_now_ns() + WEIR_MICROSECONDS(500);
        struct timespec due = {.tv_sec = (time_t)(due_ns / WEIR_SECONDS(1)),
                               .tv_nsec = (long)(due_ns % WEIR_SECONDS(1))};

        while (pthread_cond_timedwait(&never, &lock, &due) == 0)
            ;
        late[i] = bench_now_ns() - due_ns;
    }
    (void)pthread_mutex_unlock(&lock);
    (void)pthread_cond_destroy(&never);
    (void)pthread_mutex_destroy(&lock);
    (void)pthread_condattr_destroy(&monotonic);
    bench_sort_ns(late, ALARMS);
    *p50 = (double)bench_percentile_ns(late, ALARMS, 50);
    *p99 = (double)bench_percentile_ns(late, ALARMS, 99);
}

void bench_ward_sleepers(const struct bench_ward_plan *plan)
{
    struct bench_pair p50 = {0};
    struct bench_pair p99 = {0};
    struct bench_sample burst = {0};
    size_t out_of_order = 0;
    char title[96];

    for (size_t round = 0; round < plan->sleeper_rounds; round++) {
        unsigned short seed = (unsigned short)(round + 1);
        struct dormitory_result spread =
            run_sleepers(plan->sleeper_count, WEIR_SECONDS(1), seed);
        struct dormitory_result at_once =
            run_sleepers(plan->sleeper_count, WEIR_MILLISECONDS(1), seed);
        double bare_p50;
        double bare_p99;

        time_bare_alarms(&bare_p50, &bare_p99);
        bench_pair_add(&p50, (double)spread.late_p50_ns, bare_p50);
        bench_pair_add(&p99, (double)spread.late_p99_ns, bare_p99);
        bench_sample_add(&burst, at_once.per_second);
        out_of_order += spread.out_of_order + at_once.out_of_order;
    }
    (void)snprintf(title, sizeof title,
                   "5. %zu workers asleep, random times within 1 s, 1 thread",
                   plan->sleeper_count);
    bench_section(title, "weir", "timed wait");
    bench_row_value("out of order of time or early, all rounds", BENCH_COUNT,
                    (double)out_of_order, BENCH_AT_MOST(0));
    bench_row_pair("late, p50", BENCH_NANOSECONDS, &p50, BENCH_UNJUDGED);
    bench_row_pair("late, p99", BENCH_NANOSECONDS, &p99, BENCH_UNJUDGED);
    bench_row_sample("all within 1 ms: woken and executed", BENCH_PER_SECOND, &burst,
                     BENCH_UNJUDGED);
    bench_note("timed wait: one thread alone with a condition that nobody signals");
}
