/*
 * flow_sim_plan.c - the plans of flow_sim.h: from a seed, as text, and smaller.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/random.h"
#include "kit/sim/flow_sim.h"
#include "kit/sim/plans.h"

static const char *const FAULT_NAMES[FLOW_FAULTS] = {
    [FLOW_ERRORS] = "errors", [FLOW_DOUBTS] = "doubts", [FLOW_CRASHES] = "crashes",
    [FLOW_PAUSES] = "pauses", [FLOW_CLOCKS] = "clocks", [FLOW_WORKERS] = "workers",
    [FLOW_SLOW] = "slow",
};

/* Each kind of fault is in half of the plans: some bugs need quiet around them. */
struct flow_plan flow_plan_of_seed(uint64_t seed)
{
    struct weir_random random;
    struct flow_plan plan = {.seed = seed};

    weir_random_init(&random, weir_mix_u64(seed));
    plan.submitters = 1 + weir_random_below(&random, 2);
    plan.operators = weir_random_below(&random, 3);
    plan.workers = 1 + weir_random_below(&random, 2);
    plan.supervisors = 1 + weir_random_below(&random, 2);
    plan.together = weir_random_below(&random, 2);
    plan.drafts = 3 + weir_random_below(&random, 10);
    plan.retention = weir_random_below(&random, 3) == 0 ? 3 : 0;
    plan.faults = weir_random_below(&random, 1U << FLOW_FAULTS);
    plan.signallers = weir_random_below(&random, 3);
    plan.budget = weir_random_below(&random, 2) * (2 + weir_random_below(&random, 8));
    return plan;
}

/* ---- text -------------------------------------------------------------------------- */

#define PLAN_NUMBERS                                                                     \
    "seed=%" PRIu64 " submitters=%u operators=%u workers=%u supervisors=%u together=%u"  \
    " drafts=%u retention=%u signallers=%u budget=%u crash_call=%u faults="

void flow_plan_format(const struct flow_plan *self, char *out, size_t size)
{
    char faults[128];

    plans_format_faults(FAULT_NAMES, FLOW_FAULTS, self->faults, faults, sizeof faults);
    (void)snprintf(out, size, PLAN_NUMBERS "%s", self->seed, self->submitters,
                   self->operators, self->workers, self->supervisors, self->together,
                   self->drafts, self->retention, self->signallers, self->budget,
                   self->crash_call, faults);
}

bool flow_plan_parse(struct flow_plan *self, const char *text)
{
    char faults[128];

    *self = (struct flow_plan){0};
    return sscanf(text,
                  "seed=%" SCNu64 " submitters=%u operators=%u workers=%u supervisors=%u"
                  " together=%u drafts=%u retention=%u signallers=%u budget=%u"
                  " crash_call=%u faults=%127s",
                  &self->seed, &self->submitters, &self->operators, &self->workers,
                  &self->supervisors, &self->together, &self->drafts, &self->retention,
                  &self->signallers, &self->budget, &self->crash_call, faults) == 12 &&
           plans_parse_faults(FAULT_NAMES, FLOW_FAULTS, faults, &self->faults);
}

/* ---- smaller ----------------------------------------------------------------------- */

static bool fails(const void *plan, void *state)
{
    struct flow_outcome outcome;

    (void)state;
    flow_sim_run(plan, false, false, &outcome);
    return outcome.violation[0] != '\0';
}

enum { COUNTS = 8, KINDS = FLOW_FAULTS + COUNTS };

/* The plan with one thing less, of the `kind`th kind; false: it has no less of that. */
static bool lessen(void *of, uint32_t kind)
{
    struct flow_plan *plan = of;
    uint32_t *const counts[COUNTS] = {
        &plan->drafts,      &plan->operators,  &plan->workers,   &plan->submitters,
        &plan->supervisors, &plan->signallers, &plan->retention, &plan->budget};
    static const uint32_t LEAST[COUNTS] = {1, 0, 1, 1, 1, 0, 0, 0};
    uint32_t *count;

    if (kind < FLOW_FAULTS)
        return plans_clear_fault(&plan->faults, kind);
    kind -= FLOW_FAULTS;
    count = counts[kind];
    if (*count <= LEAST[kind])
        return false;
    if (kind >= COUNTS - 2)
        *count = 0;
    else
        *count -= *count > 3 ? *count / 3 : 1;
    return true;
}

struct flow_plan flow_plan_shrink(const struct flow_plan *plan, uint32_t attempts)
{
    struct flow_plan best = *plan;

    plans_shrink(&(struct plans_shrink){.size = sizeof best,
                                        .kinds = KINDS,
                                        .attempts = attempts,
                                        .lessen = lessen,
                                        .fails = fails},
                 &best);
    return best;
}
