/*
 * ward_latency.c - how long a signal takes to become an execution.
 *
 * Two threads, both asleep whenever it is not their turn. The one way from before the
 * signal to behind the wake-up is timed; the way back is the same on both sides.
 */
#include "lib/ward.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include <weir/notifier.h>
#include <weir/time.h>

#include "lib/clock.h"
#include "lib/must.h"
#include "lib/pool.h"
#include "lib/proc.h"
#include "lib/sample.h"
#include "lib/table.h"

enum placement { ANYWHERE, ON_TWO_CORES };

/* Two threads in turn: one signals and waits for the answer, the other stamps and
 * answers. */
struct court {
    enum placement placement;
    bool placed;        /* the other thread is where it should be */
    int64_t arrived_ns; /* stamped by the other thread */

    pthread_mutex_t lock; /* guards all that follows */
    pthread_cond_t pinged;
    pthread_cond_t ponged;
    size_t pings;
    size_t pongs;
    size_t pings_max;
};

static void court_init(struct court *self, enum placement placement, size_t pings_max)
{
    *self = (struct court){.placement = placement, .pings_max = pings_max};
    bench_must(pthread_mutex_init(&self->lock, NULL) == 0, "no mutex");
    bench_must(pthread_cond_init(&self->pinged, NULL) == 0, "no condition");
    bench_must(pthread_cond_init(&self->ponged, NULL) == 0, "no condition");
    if (placement == ON_TWO_CORES)
        bench_pin(0);
}

static void court_fini(struct court *self)
{
    bench_unpin();
    (void)pthread_cond_destroy(&self->ponged);
    (void)pthread_cond_destroy(&self->pinged);
    (void)pthread_mutex_destroy(&self->lock);
}

static void court_place_other(struct court *self)
{
    if (self->placement == ON_TWO_CORES && !self->placed)
        bench_pin(1);
    self->placed = true;
}

static void court_answer(struct court *self)
{
    (void)pthread_mutex_lock(&self->lock);
    self->pongs++;
    (void)pthread_cond_signal(&self->ponged);
    (void)pthread_mutex_unlock(&self->lock);
}

static void court_await_answer(struct court *self, size_t number)
{
    (void)pthread_mutex_lock(&self->lock);
    while (self->pongs < number)
        (void)pthread_cond_wait(&self->ponged, &self->lock);
    (void)pthread_mutex_unlock(&self->lock);
}

static enum weir_status step_answer(struct weir_context *context, void *state,
                                    struct weir_directive *out, struct weir_error *error)
{
    struct court *court = state;

    court->arrived_ns = bench_now_ns();
    (void)context;
    (void)out; /* preset to idle */
    (void)error;
    court_place_other(court);
    court_answer(court);
    return WEIR_OK;
}

/* From before notify_one() to the first line of the action. */
static void time_notify(enum placement placement, int64_t *out, size_t count)
{
    struct court court;
    struct bench_pool pool;
    struct weir_notifier *ball;
    struct weir_worker_options options;

    court_init(&court, placement, count);
    bench_pool_open(&pool, 1, NULL);
    ball = bench_pool_notifier(&pool);
    options = bench_pool_options(step_answer, &court, &ball);
    weir_worker_release(bench_pool_spawn(&pool, &options));
    bench_pool_await(ball, 1);

    for (size_t i = 0; i < count; i++) {
        int64_t sent_ns = bench_now_ns();

        weir_notifier_notify_one(ball);
        court_await_answer(&court, i + 1);
        out[i] = court.arrived_ns - sent_ns;
    }
    bench_pool_close(&pool);
    weir_notifier_destroy(ball);
    court_fini(&court);
}

static void *answer_pings(void *argument)
{
    struct court *court = argument;

    court_place_other(court);
    for (size_t i = 0; i < court->pings_max; i++) {
        (void)pthread_mutex_lock(&court->lock);
        while (court->pings <= i)
            (void)pthread_cond_wait(&court->pinged, &court->lock);
        (void)pthread_mutex_unlock(&court->lock);
        court->arrived_ns = bench_now_ns();
        court_answer(court);
    }
    return NULL;
}

/* From before the mutex is taken for the signal to behind the wait. */
static void time_condition(enum placement placement, int64_t *out, size_t count)
{
    struct court court;
    pthread_t other;

    court_init(&court, placement, count);
    bench_must(pthread_create(&other, NULL, answer_pings, &court) == 0, "no thread");
    bench_sleep_ns(WEIR_MILLISECONDS(2)); /* until it waits */

    for (size_t i = 0; i < count; i++) {
        int64_t sent_ns = bench_now_ns();

        (void)pthread_mutex_lock(&court.lock);
        court.pings++;
        (void)pthread_cond_signal(&court.pinged);
        (void)pthread_mutex_unlock(&court.lock);
        court_await_answer(&court, i + 1);
        out[i] = court.arrived_ns - sent_ns;
    }
    (void)pthread_join(other, NULL);
    court_fini(&court);
}

static void time_both(const struct bench_ward_plan *plan, enum placement placement,
                      struct bench_pair *p50, struct bench_pair *p99)
{
    int64_t *ours = bench_must_alloc(plan->pings, sizeof *ours);
    int64_t *bare = bench_must_alloc(plan->pings, sizeof *bare);

    time_notify(placement, ours, plan->pings);
    time_condition(placement, bare, plan->pings);
    bench_sort_ns(ours, plan->pings);
    bench_sort_ns(bare, plan->pings);
    bench_pair_add(p50, (double)bench_percentile_ns(ours, plan->pings, 50),
                   (double)bench_percentile_ns(bare, plan->pings, 50));
    bench_pair_add(p99, (double)bench_percentile_ns(ours, plan->pings, 99),
                   (double)bench_percentile_ns(bare, plan->pings, 99));
    free(bare);
    free(ours);
}

void bench_ward_latency(const struct bench_ward_plan *plan)
{
    struct bench_pair p50[2] = {0};
    struct bench_pair p99[2] = {0};
    bool two_cores = bench_core_count() > 1;

    for (size_t round = 0; round < plan->rounds; round++) {
        time_both(plan, ANYWHERE, &p50[ANYWHERE], &p99[ANYWHERE]);
        if (two_cores)
            time_both(plan, ON_TWO_CORES, &p50[ON_TWO_CORES], &p99[ON_TWO_CORES]);
    }
    bench_section("4. latency of a signal between two threads that sleep", "notify",
                  "condition");
    bench_row_pair("p50, threads where they like", BENCH_NANOSECONDS, &p50[ANYWHERE],
                   BENCH_AT_MOST(2.5));
    bench_row_pair("p99, threads where they like", BENCH_NANOSECONDS, &p99[ANYWHERE],
                   BENCH_UNJUDGED);
    if (!two_cores)
        return;
    bench_row_pair("p50, on two different cores", BENCH_NANOSECONDS, &p50[ON_TWO_CORES],
                   BENCH_AT_MOST(2.5));
    bench_row_pair("p99, on two different cores", BENCH_NANOSECONDS, &p99[ON_TWO_CORES],
                   BENCH_UNJUDGED);
}
