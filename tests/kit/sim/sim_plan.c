/*
 * sim_plan.c - the plans of sim.h: from a seed, as text, and smaller.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/random.h"
#include "kit/sim/plans.h"
#include "kit/sim/sim.h"

static const char *const FAULT_NAMES[SIM_FAULTS] = {
    [SIM_ERRORS] = "errors",           [SIM_DOUBTS] = "doubts", [SIM_CRASHES] = "crashes",
    [SIM_PAUSES] = "pauses",           [SIM_CLOCKS] = "clocks", [SIM_WAKES] = "wakes",
    [SIM_HANDLERS] = "handlers",       [SIM_RARE] = "rare",     [SIM_SLOW] = "slow",
    [SIM_SUSPENSIONS] = "suspensions",
};

/* Each kind of fault is in half of the plans: some bugs need quiet around them. */
struct plan plan_of_seed(uint64_t seed)
{
    struct weir_random random;
    struct plan plan = {.seed = seed};

    weir_random_init(&random, weir_mix_u64(seed));
    plan.producers = 1 + weir_random_below(&random, 3);
    plan.consumers = 1 + weir_random_below(&random, 3);
    plan.streams = 1 + weir_random_below(&random, HISTORY_STREAMS);
    plan.partitions = 1U << weir_random_below(&random, 4);
    plan.transactions = 4 + weir_random_below(&random, 16);
    plan.faults = weir_random_below(&random, 1U << SIM_FAULTS);
    return plan;
}

/* ---- text -------------------------------------------------------------------------- */

void plan_format(const struct plan *self, char *out, size_t size)
{
    char faults[128];

    plans_format_faults(FAULT_NAMES, SIM_FAULTS, self->faults, faults, sizeof faults);
    (void)snprintf(out, size,
                   "seed=%" PRIu64 " producers=%u consumers=%u streams=%u partitions=%u"
                   " transactions=%u faults=%s",
                   self->seed, self->producers, self->consumers, self->streams,
                   self->partitions, self->transactions, faults);
}

bool plan_parse(struct plan *self, const char *text)
{
    char faults[128];

    *self = (struct plan){0};
    return sscanf(text,
                  "seed=%" SCNu64 " producers=%u consumers=%u streams=%u partitions=%u"
                  " transactions=%u faults=%127s",
                  &self->seed, &self->producers, &self->consumers, &self->streams,
                  &self->partitions, &self->transactions, faults) == 7 &&
           plans_parse_faults(FAULT_NAMES, SIM_FAULTS, faults, &self->faults);
}

/* ---- smaller ----------------------------------------------------------------------- */

static bool fails(const void *plan, void *state)
{
    struct sim_outcome outcome;

    (void)state;
    sim_run(plan, false, false, &outcome);
    return outcome.violation[0] != '\0';
}

/* The plan with one thing less, of the `kind`th kind; false: it has no less of that. */
static bool lessen(void *of, uint32_t kind)
{
    struct plan *plan = of;
    uint32_t *const counts[] = {&plan->transactions, &plan->consumers, &plan->producers,
                                &plan->streams};

    if (kind < SIM_FAULTS)
        return plans_clear_fault(&plan->faults, kind);
    kind -= SIM_FAULTS;
    if (kind == 4) {
        plan->partitions /= 2;
        return plan->partitions > 0;
    }
    *counts[kind] -= kind == 0 && *counts[kind] > 3 ? *counts[kind] / 3 : 1;
    return *counts[kind] > 0;
}

struct plan plan_shrink(const struct plan *plan, uint32_t attempts)
{
    struct plan best = *plan;

    plans_shrink(&(struct plans_shrink){.size = sizeof best,
                                        .kinds = SIM_FAULTS + 5,
                                        .attempts = attempts,
                                        .lessen = lessen,
                                        .fails = fails},
                 &best);
    return best;
}
