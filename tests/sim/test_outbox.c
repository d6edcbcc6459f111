/*
 * test_outbox.c - random worlds of an outbox from a seed; see kit/sim/sim.h.
 *
 * WEIR_SEEDS=n runs so many worlds instead of 2,000 (100,000 with WEIR_LONG);
 * WEIR_PLAN="seed=7 ..." runs only that world and prints what happens in it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit/choice.h"
#include "kit/sim/sim.h"
#include "kit/sim/sim_process.h"
#include "kit/test.h"

enum { SEEDS = 2000, SEEDS_LONG = 100000, SHRINK_RUNS = 60 };

static void report(const struct plan *plan, const struct sim_outcome *outcome)
{
    struct sim_outcome again;
    struct plan small = plan_shrink(plan, SHRINK_RUNS);
    char text[300];

    plan_format(&small, text, sizeof text);
    sim_run(&small, false, true, &again);
    printf("# seed %" PRIu64
           ": %s\n# a smaller world: %s\n# replay with WEIR_PLAN=\"%s\"\n",
           plan->seed, outcome->violation, again.violation, text);
}

struct totals {
    uint64_t messages;
    uint64_t delivered;
    uint64_t again;
    uint64_t disturbances;
    double virtual_hours;
};

static void add(struct totals *self, const struct sim_outcome *outcome)
{
    self->messages += outcome->stats.messages;
    self->delivered += outcome->stats.delivered;
    self->again += outcome->stats.again;
    self->disturbances += outcome->stats.disturbances;
    self->virtual_hours += (double)outcome->virtual_ns / 3.6e12;
}

WEIR_TEST(outbox_world, keeps_its_promises_for_every_seed)
{
    const char *text = getenv("WEIR_PLAN");
    struct totals totals = {0};
    size_t files = 0;

    if (text != NULL)
        return; /* the next test runs it */
    for (uint64_t seed = 1; seed <= choice_seeds(SEEDS, SEEDS_LONG); seed++) {
        struct plan plan = plan_of_seed(seed);
        struct sim_outcome outcome;

        sim_run(&plan, false, false, &outcome);
        if (outcome.violation[0] != '\0') {
            report(&plan, &outcome);
            weir_test_fail(__FILE__, __LINE__, "seed %" PRIu64 ": %s", seed,
                           outcome.violation);
        }
        add(&totals, &outcome);
        if (seed == 1)
            files = sim_process_count_files();
    }
    check_int(sim_process_count_files(), files);
    printf("# %" PRIu64 " worlds, %" PRIu64 " messages, %" PRIu64 " deliveries, %" PRIu64
           " again, %" PRIu64 " disturbances, %.1f virtual hours\n",
           choice_seeds(SEEDS, SEEDS_LONG), totals.messages, totals.delivered,
           totals.again, totals.disturbances, totals.virtual_hours);
    check(totals.messages > 0);
}

WEIR_TEST(outbox_world, runs_a_plan_that_is_given)
{
    const char *text = getenv("WEIR_PLAN");
    struct sim_outcome outcome;
    struct plan plan;

    if (text == NULL)
        text = "seed=1 producers=1 consumers=1 streams=1 partitions=1 transactions=2 "
               "faults=none";
    check(plan_parse(&plan, text));
    sim_run(&plan, getenv("WEIR_PLAN") != NULL, true, &outcome);
    check_str(outcome.violation, "");
}

WEIR_TEST(outbox_world, is_the_same_for_the_same_seed)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct plan plan = plan_of_seed(seed);
        struct sim_outcome one;
        struct sim_outcome other;

        sim_run(&plan, false, false, &one);
        sim_run(&plan, false, false, &other);
        check(one.fingerprint == other.fingerprint);
    }
}

WEIR_TEST(outbox_world, repeats_nothing_without_a_disturbance)
{
    for (uint64_t seed = 1; seed <= 100; seed++) {
        struct plan plan = plan_of_seed(seed);
        struct sim_outcome outcome;

        plan.faults = 0;
        sim_run(&plan, false, true, &outcome);
        check_str(outcome.violation, "");
        check_int(outcome.stats.again, 0);
    }
}
