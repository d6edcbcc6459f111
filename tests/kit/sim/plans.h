/*
 * plans.h - what the plans of simulations have in common: faults as text, and shrinking.
 *
 * A plan is a struct without pointers. Its faults are bits, and each has a name.
 */
#ifndef WEIR_TEST_PLANS_H
#define WEIR_TEST_PLANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PLANS_SIZE_MAX = 128 };

/* "crashes,clocks", or "none". */
void plans_format_faults(const char *const *names, uint32_t count, uint32_t faults,
                         char *out, size_t size);
bool plans_parse_faults(const char *const *names, uint32_t count, const char *text,
                        uint32_t *out);

struct plans_shrink {
    size_t size; /* of a plan */
    uint32_t kinds;
    uint32_t attempts; /* runs at most */

    /* Takes one thing of the `kind`th kind from the plan; false: it has no less of it. */
    bool (*lessen)(void *plan, uint32_t kind);
    bool (*fails)(const void *plan, void *state);
    void *state;
};

/* Replaces the plan by a smaller one that fails as well, as far as one is found. */
void plans_shrink(const struct plans_shrink *self, void *plan);

/* Clears the bit of a fault; false: it is not set. */
bool plans_clear_fault(uint32_t *faults, uint32_t fault);

#endif
