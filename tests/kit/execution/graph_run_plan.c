/*
 * graph_run_plan.c - the plans of graph_run.h: from a seed, as text, and smaller.
 */
#include <inttypes.h>
#include <stdio.h>

#include "kit/execution/graph_run_inside.h"
#include "kit/sim/plans.h"

/* Each kind of chance is in two thirds of the plans: some bugs need quiet around them. */
struct graph_plan graph_plan_of_seed(uint64_t seed)
{
    struct weir_random random;
    struct graph_plan plan = {.seed = seed};

    weir_random_init(&random, weir_mix_u64(seed) ^ 1);
    plan.nodes = 1 + weir_random_below(&random, 12);
    if (weir_random_below(&random, 60) == 0)
        plan.nodes = DEEP + 2 + weir_random_below(&random, MEMBERS_MAX - DEEP - 1);
    plan.steps = 5 + weir_random_below(&random, 4 * (plan.nodes < 12 ? plan.nodes : 12));
    for (uint32_t i = 0; i < GRAPH_CHANCES; i++)
        plan.chances |= (uint32_t)(weir_random_below(&random, 3) > 0) << i;
    return plan;
}

void graph_plan_format(const struct graph_plan *self, char *out, size_t size)
{
    (void)snprintf(out, size, "seed=%" PRIu64 " nodes=%u steps=%u chances=%u", self->seed,
                   self->nodes, self->steps, self->chances);
}

bool graph_plan_parse(struct graph_plan *self, const char *text)
{
    *self = (struct graph_plan){0};
    return sscanf(text, "seed=%" SCNu64 " nodes=%u steps=%u chances=%u", &self->seed,
                  &self->nodes, &self->steps, &self->chances) == 4 &&
           self->nodes >= 1 && self->nodes <= MEMBERS_MAX;
}

/* The plan with one thing less, of the `kind`th kind; false: it has no less of that. */
static bool lessen(void *of, uint32_t kind)
{
    struct graph_plan *plan = of;
    uint32_t *count = kind == GRAPH_CHANCES ? &plan->steps : &plan->nodes;

    if (kind < GRAPH_CHANCES)
        return plans_clear_fault(&plan->chances, kind);
    if (*count <= 1)
        return false;
    *count -= *count > 3 ? *count / 4 : 1;
    return true;
}

static bool fails(const void *plan, void *run)
{
    struct graph_outcome outcome;

    (*(graph_run_fn *)run)(plan, &outcome);
    return outcome.violation[0] != '\0';
}

struct graph_plan graph_plan_shrink(const struct graph_plan *plan, graph_run_fn run,
                                    uint32_t attempts)
{
    struct graph_plan best = *plan;

    plans_shrink(&(struct plans_shrink){.size = sizeof best,
                                        .kinds = GRAPH_CHANCES + 2,
                                        .attempts = attempts,
                                        .lessen = lessen,
                                        .fails = fails,
                                        .state = &run},
                 &best);
    return best;
}
