/*
 * test_flow.c - random worlds of executions from a seed; see kit/sim/flow_sim.h.
 *
 * WEIR_SEEDS=n runs so many worlds instead of 600 (20,000 with WEIR_LONG);
 * WEIR_PLAN="seed=7 ..." runs only that world and prints what happens in it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit/choice.h"
#include "kit/sim/flow_sim.h"
#include "kit/sim/sim_process.h"
#include "kit/test.h"

enum {
    SEEDS = 600,
    SEEDS_LONG = 20000,

    SHRINK_RUNS = 60,
    TEXT_SIZE = 300
};

#define SMALL_SIM                                                                        \
    "seed=1 submitters=1 operators=1 workers=1 supervisors=1 together=1 drafts=3 "       \
    "retention=0 signallers=1 budget=3 crash_call=0 faults=none"

/* What repeats it, as small as can be found quickly. */
static void report(const struct flow_plan *plan, const struct flow_outcome *outcome)
{
    struct flow_outcome again;
    struct flow_plan small = flow_plan_shrink(plan, SHRINK_RUNS);
    char text[TEXT_SIZE];

    flow_plan_format(&small, text, sizeof text);
    flow_sim_run(&small, false, true, &again);
    printf("# seed %" PRIu64
           ": %s\n# a smaller world: %s\n# replay with WEIR_PLAN=\"%s\"\n",
           plan->seed, outcome->violation, again.violation, text);
}

static void add(struct flow_stats *self, const struct flow_stats *more)
{
    self->executions += more->executions;
    self->attempts += more->attempts;
    self->ends += more->ends;
    self->calls += more->calls;
    self->doubts += more->doubts;
    self->refusals += more->refusals;
    self->removed += more->removed;
    self->steps += more->steps;
    self->suspensions += more->suspensions;
    self->signals += more->signals;
    self->reports += more->reports;
    self->held_back += more->held_back;
}

static void print(uint64_t worlds, const struct flow_stats *self, double virtual_hours)
{
    printf("# %" PRIu64 " worlds, %" PRIu64 " executions, %" PRIu64 " attempts, %" PRIu64
           " steps, %" PRIu64 " ends, %" PRIu64 " calls, %" PRIu64
           " without a reply, %" PRIu64 " refused, %" PRIu64 " removed, %" PRIu64
           " suspensions, %" PRIu64 " signals, %" PRIu64 " reports, %" PRIu64
           " held back, %.1f virtual hours\n",
           worlds, self->executions, self->attempts, self->steps, self->ends, self->calls,
           self->doubts, self->refusals, self->removed, self->suspensions, self->signals,
           self->reports, self->held_back, virtual_hours);
}

WEIR_TEST(flow_world, keeps_its_promises_for_every_seed)
{
    struct flow_stats totals = {0};
    double virtual_hours = 0;
    size_t files = 0;

    if (getenv("WEIR_PLAN") != NULL)
        return; /* the next test runs it */
    for (uint64_t seed = 1; seed <= choice_seeds(SEEDS, SEEDS_LONG); seed++) {
        struct flow_plan plan = flow_plan_of_seed(seed);
        struct flow_outcome outcome;

        flow_sim_run(&plan, false, false, &outcome);
        if (outcome.violation[0] != '\0') {
            report(&plan, &outcome);
            weir_test_fail(__FILE__, __LINE__, "seed %" PRIu64 ": %s", seed,
                           outcome.violation);
        }
        add(&totals, &outcome.stats);
        virtual_hours += (double)outcome.virtual_ns / 3.6e12;
        if (seed == 1)
            files = sim_process_count_files();
    }
    check_int(sim_process_count_files(), files);
    print(choice_seeds(SEEDS, SEEDS_LONG), &totals, virtual_hours);
    check(totals.executions > 0);
}

WEIR_TEST(flow_world, runs_a_plan_that_is_given)
{
    const char *text = getenv("WEIR_PLAN");
    struct flow_outcome outcome;
    struct flow_plan plan;

    if (text == NULL)
        text = SMALL_SIM;
    check(flow_plan_parse(&plan, text));
    flow_sim_run(&plan, getenv("WEIR_PLAN") != NULL, true, &outcome);
    check_str(outcome.violation, "");
}

WEIR_TEST(flow_world, is_the_same_for_the_same_seed)
{
    for (uint64_t seed = 1; seed <= 10; seed++) {
        struct flow_plan plan = flow_plan_of_seed(seed);
        struct flow_outcome one;
        struct flow_outcome other;

        flow_sim_run(&plan, false, false, &one);
        flow_sim_run(&plan, false, false, &other);
        check(one.fingerprint == other.fingerprint);
    }
}

WEIR_TEST(flow_world, is_punctual_when_only_workers_fail)
{
    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct flow_plan plan = flow_plan_of_seed(seed);
        struct flow_outcome outcome;

        plan.faults &= 1U << FLOW_WORKERS;
        flow_sim_run(&plan, false, true, &outcome);
        check_str(outcome.violation, "");
        check_int(outcome.stats.doubts, 0);
    }
}

/* A world in which nothing else goes wrong, as often as it has calls of the database
 * and replies: each time the process that makes the next one of them ends there. The
 * short form has every third, and every ninth with a sanitizer. */
WEIR_TEST(flow_world, survives_a_crash_at_every_call_of_the_database)
{
    struct flow_stats totals = {0};
    struct flow_outcome outcome;
    struct flow_plan plan;
    uint32_t stride = choice_is_long() ? 1 : choice_is_sanitized() ? 9 : 3;
    uint32_t calls = 0;

    check(flow_plan_parse(&plan, SMALL_SIM));
    do {
        plan.crash_call = calls += stride;
        flow_sim_run(&plan, false, true, &outcome);
        if (outcome.violation[0] != '\0')
            weir_test_fail(__FILE__, __LINE__, "crash at call %u: %s", calls,
                           outcome.violation);
        add(&totals, &outcome.stats);
    } while (outcome.disturbances > 0);
    check(calls > 100);
    print(calls / stride, &totals, 0);
}
