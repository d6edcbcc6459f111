/*
 * sim_plan.c - the plans of sim.h: from a seed, as text, and smaller.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
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

static void format_faults(uint32_t faults, char *out, size_t size)
{
    size_t used = 0;

    out[0] = '\0';
    for (int i = 0; i < SIM_FAULTS; i++) {
        if ((faults & (1U << i)) != 0)
            used += (size_t)snprintf(out + used, size - used, "%s%s", used > 0 ? "," : "",
                                     FAULT_NAMES[i]);
    }
    if (used == 0)
        (void)snprintf(out, size, "none");
}

void plan_format(const struct plan *self, char *out, size_t size)
{
    char faults[128];

    format_faults(self->faults, faults, sizeof faults);
    (void)snprintf(out, size,
                   "seed=%" PRIu64 " producers=%u consumers=%u streams=%u partitions=%u"
                   " transactions=%u faults=%s",
                   self->seed, self->producers, self->consumers, self->streams,
                   self->partitions, self->transactions, faults);
}

static bool parse_faults(const char *text, uint32_t *out)
{
    *out = 0;
    for (int i = 0; i < SIM_FAULTS; i++) {
        if (strstr(text, FAULT_NAMES[i]) != NULL)
            *out |= 1U << i;
    }
    return *out != 0 || strcmp(text, "none") == 0;
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
           parse_faults(faults, &self->faults);
}

/* ---- smaller ----------------------------------------------------------------------- */

static bool fails(const struct plan *plan)
{
    struct sim_outcome outcome;

    sim_run(plan, false, false, &outcome);
    return outcome.violation[0] != '\0';
}

/* The plan with one thing less, of the `kind`th kind; false: it has no less of that. */
static bool lessen(struct plan *plan, uint32_t kind)
{
    uint32_t *const counts[] = {&plan->transactions, &plan->consumers, &plan->producers,
                                &plan->streams};

    if (kind < SIM_FAULTS) {
        if ((plan->faults & (1U << kind)) == 0)
            return false;
        plan->faults &= ~(1U << kind);
        return true;
    }
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
    enum { KINDS = SIM_FAULTS + 5 };
    struct plan best = *plan;
    uint32_t barren = 0; /* kinds in a row that brought nothing */

    for (uint32_t i = 0; attempts > 0 && barren < KINDS; i = (i + 1) % KINDS) {
        struct plan candidate = best;

        barren++;
        if (!lessen(&candidate, i))
            continue;
        attempts--;
        if (fails(&candidate)) {
            best = candidate;
            barren = 0;
        }
    }
    return best;
}
