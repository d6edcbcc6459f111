/*
 * plans.c - see plans.h.
 */
#include "kit/sim/plans.h"

#include <stdio.h>
#include <string.h>

#include "kit/test.h"

void plans_format_faults(const char *const *names, uint32_t count, uint32_t faults,
                         char *out, size_t size)
{
    size_t used = 0;

    out[0] = '\0';
    for (uint32_t i = 0; i < count; i++) {
        if ((faults & (1U << i)) != 0)
            used += (size_t)snprintf(out + used, size - used, "%s%s", used > 0 ? "," : "",
                                     names[i]);
    }
    if (used == 0)
        (void)snprintf(out, size, "none");
}

bool plans_parse_faults(const char *const *names, uint32_t count, const char *text,
                        uint32_t *out)
{
    *out = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (strstr(text, names[i]) != NULL)
            *out |= 1U << i;
    }
    return *out != 0 || strcmp(text, "none") == 0;
}

bool plans_clear_fault(uint32_t *faults, uint32_t fault)
{
    bool set = (*faults & (1U << fault)) != 0;

    *faults &= ~(1U << fault);
    return set;
}

void plans_shrink(const struct plans_shrink *self, void *plan)
{
    uint32_t attempts = self->attempts;
    uint32_t barren = 0; /* kinds in a row that brought nothing */
    uint64_t candidate[PLANS_SIZE_MAX / sizeof(uint64_t)];

    check(self->size <= sizeof candidate);
    for (uint32_t i = 0; attempts > 0 && barren < self->kinds;
         i = (i + 1) % self->kinds) {
        memcpy(candidate, plan, self->size);
        barren++;
        if (!self->lessen(candidate, i))
            continue;
        attempts--;
        if (self->fails(candidate, self->state)) {
            memcpy(plan, candidate, self->size);
            barren = 0;
        }
    }
}
