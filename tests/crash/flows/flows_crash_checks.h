/*
 * flows_crash_checks.h - what must be true of the tables alone, at the end of a run of
 * flows_crash.h.
 */
#ifndef WEIR_TEST_FLOWS_CRASH_CHECKS_H
#define WEIR_TEST_FLOWS_CRASH_CHECKS_H

#include <stddef.h>

#include "crash/flows/flows_crash_shared.h"

/* Who may be admitted when a limit is reached: whatever was being claimed, by all
 * workers. */
#define FLOWS_CRASH_TOGETHER "24"
_Static_assert(FLOWS_CRASH_WORKERS *FLOWS_CRASH_BATCH == 24, "FLOWS_CRASH_TOGETHER");

struct flows_crash_check {
    enum flows_crash_rule rule;
    const char *text; /* behind a number */
    const char *sql;
};

/* Each that is broken, and by how many rows. */
typedef void (*flows_crash_check_fn)(void *state, const struct flows_crash_check *check,
                                     int64_t count);
void flows_crash_check_all(struct fixture *fixture, flows_crash_check_fn tell,
                           void *state);

/* Once, before: what was noted is read by its numbers. */
void flows_crash_index_history(struct fixture *fixture);

#endif
