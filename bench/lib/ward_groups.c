/*
 * ward_groups.c - the five groups of the specification, 11.2.
 *
 * There they ran with the default pace, so that three of the five measured how long a
 * worker sleeps. Here they run with zero pace; the default pace is shown for the
 * smallest only.
 */
#include "lib/ward.h"

#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include <weir/gate.h>
#include <weir/notifier.h>
#include <weir/time.h>

#include "lib/clock.h"
#include "lib/lap.h"
#include "lib/latch.h"
#include "lib/must.h"
#include "lib/pool.h"
#include "lib/sample.h"
#include "lib/table.h"

enum { NOTIFIERS_MAX = 3 };

struct group {
    const char *name;
    weir_action_fn action;
    size_t notifier_count;
    bool gated;
    bool helped; /* by a thread that keeps notifying */
};

static const struct group GROUPS[] = {
    {"proceed loop", bench_step_proceed, 1, false, false},
    {"notify wake-ups", bench_step_idle, 1, false, true},
    {"gated proceed loop", bench_step_proceed, 1, true, false},
    {"alternating proceed and idle", bench_step_alternate, 1, false, true},
    {"three rotating notifiers", bench_step_idle, 3, false, true},
};
enum { GROUP_COUNT = sizeof GROUPS / sizeof GROUPS[0], GATED = 2, ALTERNATING = 3 };

/* Notifies one after the other, without end. */
struct helper {
    struct weir_notifier *notifiers[NOTIFIERS_MAX];
    size_t count;
    int64_t pause_ns; /* between two; 0: only yields */
    _Atomic bool enough;
    pthread_t thread;
};

static void *help(void *argument)
{
    struct helper *self = argument;

    for (size_t i = 0; !atomic_load(&self->enough); i++) {
        weir_notifier_notify_one(self->notifiers[i % self->count]);
        if (self->pause_ns > 0)
            bench_sleep_ns(self->pause_ns);
        else
            (void)sched_yield();
    }
    return NULL;
}

static struct weir_gate *make_gate(struct bench_pool *pool)
{
    struct weir_gate *gate;
    struct weir_error error;

    bench_must_ok(weir_gate_create(pool->executor, 1, &gate, &error), &error, "gate");
    return gate;
}

/* Executions per second of one worker on a pool of one thread. */
static double run_group(const struct group *group, uint64_t count,
                        const struct weir_pace *pace, int64_t helper_pause_ns)
{
    struct helper helper = {.count = group->notifier_count, .pause_ns = helper_pause_ns};
    struct weir_worker_options options;
    struct weir_gate *gate = NULL;
    struct bench_latch done;
    struct bench_pool pool;
    struct bench_lap *lap = bench_laps_create(1, count, 0, &done);
    int64_t begun_ns;
    double rate;

    bench_pool_open(&pool, 1, NULL);
    for (size_t i = 0; i < helper.count; i++)
        helper.notifiers[i] = bench_pool_notifier(&pool);
    options = bench_pool_options(group->action, lap, helper.notifiers);
    options.notifier_count = helper.count;
    options.pace = *pace;
    if (group->gated)
        gate = options.shared = make_gate(&pool);
    weir_worker_release(bench_pool_spawn(&pool, &options));
    bench_pool_await(helper.notifiers[0], 1);

    begun_ns = bench_now_ns();
    weir_notifier_notify_one(helper.notifiers[0]);
    if (group->helped)
        bench_must(pthread_create(&helper.thread, NULL, help, &helper) == 0, "no thread");
    bench_latch_wait(&done);
    rate = bench_per_second(count, lap->ended_ns - begun_ns);

    atomic_store(&helper.enough, true);
    if (group->helped)
        (void)pthread_join(helper.thread, NULL);
    bench_pool_close(&pool);
    weir_gate_destroy(gate);
    for (size_t i = 0; i < helper.count; i++)
        weir_notifier_destroy(helper.notifiers[i]);
    bench_latch_fini(&done);
    free(lap);
    return rate;
}

static void run_unpaced_groups(const struct bench_ward_plan *plan, uint64_t count)
{
    const struct weir_pace none = weir_pace_none();
    struct bench_pair pairs[GROUP_COUNT] = {0};

    for (size_t round = 0; round < plan->rounds; round++) {
        double proceeds = run_group(&GROUPS[0], count, &none, 0);

        bench_sample_add(&pairs[0].ours, proceeds);
        for (size_t i = 1; i < GROUP_COUNT; i++)
            bench_pair_add(&pairs[i], run_group(&GROUPS[i], count, &none, 0), proceeds);
    }
    for (size_t i = 0; i < GROUP_COUNT; i++) {
        char name[64];

        (void)snprintf(name, sizeof name, "%s, %" PRIu64, GROUPS[i].name, count);
        if (i == 0)
            bench_row_sample(name, BENCH_PER_SECOND, &pairs[0].ours, BENCH_UNJUDGED);
        else
            bench_row_pair(name, BENCH_PER_SECOND, &pairs[i], BENCH_UNJUDGED);
    }
}

/* One group with the default pace, in a thread of its own: they only sleep. */
struct paced_run {
    const struct group *group;
    uint64_t count;
    double rate;
    pthread_t thread;
};

static void *run_paced(void *argument)
{
    struct paced_run *self = argument;
    struct weir_worker_options defaults;

    weir_worker_options_init(&defaults);
    self->rate =
        run_group(self->group, self->count, &defaults.pace, WEIR_MILLISECONDS(1));
    return NULL;
}

/* What the default pace alone takes for so many executions. */
static double paced_at_best(const struct paced_run *run)
{
    bool alternating = run->group == &GROUPS[ALTERNATING];
    struct weir_worker_options defaults;
    int64_t pace_ns;
    int64_t taken_ns = 0;

    weir_worker_options_init(&defaults);
    pace_ns = defaults.pace.active_ns;
    if (alternating) /* each idle resets it */
        return bench_per_second(run->count, (int64_t)(run->count / 2) * pace_ns);
    for (uint64_t i = 1; i < run->count; i++) {
        taken_ns += pace_ns;
        if (pace_ns > defaults.pace.min_ns)
            pace_ns -= defaults.pace.ramp_ns;
    }
    return bench_per_second(run->count, taken_ns);
}

static void run_paced_groups(const struct bench_ward_plan *plan)
{
    struct paced_run runs[] = {
        {.group = &GROUPS[0], .count = plan->paced_count},
        {.group = &GROUPS[GATED], .count = plan->paced_count},
        {.group = &GROUPS[ALTERNATING], .count = plan->paced_count / 5},
    };
    enum { RUN_COUNT = sizeof runs / sizeof runs[0] };

    for (size_t i = 0; i < RUN_COUNT; i++)
        bench_must(pthread_create(&runs[i].thread, NULL, run_paced, &runs[i]) == 0,
                   "no thread");
    for (size_t i = 0; i < RUN_COUNT; i++)
        (void)pthread_join(runs[i].thread, NULL);

    bench_section("   the same with the default pace: this measures sleeping", "weir",
                  "pace alone");
    for (size_t i = 0; i < RUN_COUNT; i++) {
        struct bench_pair pair = {0};
        char name[64];

        (void)snprintf(name, sizeof name, "%s, %" PRIu64, runs[i].group->name,
                       runs[i].count);
        bench_pair_add(&pair, runs[i].rate, paced_at_best(&runs[i]));
        bench_row_pair(name, BENCH_PER_SECOND, &pair, BENCH_UNJUDGED);
    }
    bench_note(
        "one run each, at the same time; pace alone: executions that take no time");
}

void bench_ward_groups(const struct bench_ward_plan *plan)
{
    const struct weir_pace none = weir_pace_none();

    bench_section("6. five groups, one worker, zero pace", "weir", "proceed");
    run_unpaced_groups(plan, 1000);
    run_unpaced_groups(plan, 10000);
    if (plan->groups_max > 10000) {
        struct bench_sample rates = {0};

        for (size_t round = 0; round < plan->rounds; round++)
            bench_sample_add(&rates, run_group(&GROUPS[0], plan->groups_max, &none, 0));
        bench_row_sample("proceed loop, 100000", BENCH_PER_SECOND, &rates,
                         BENCH_UNJUDGED);
    }
    bench_note("proceed: the proceed loop of as many executions in the same round; where "
               "somebody must");
    bench_note("notify, a second thread does nothing else, and yields after each");
    if (plan->paced_count > 0)
        run_paced_groups(plan);
}
