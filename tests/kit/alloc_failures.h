/*
 * alloc_failures.h - runs a scenario again and again, without memory at a different
 * place each time.
 *
 *   static enum weir_status fill_and_empty(const struct weir_heap *heap);
 *
 *   WEIR_TEST(map, survives_any_failing_allocation)
 *   {
 *       check_alloc_failures(fill_and_empty);
 *   }
 *
 * Out of memory is a status, at every single allocation: no crash, nothing leaked.
 * Nobody writes a test for each of them, so the n-th one is made to fail, for n = 1, 2,
 * 3, ..., until the scenario needs fewer than n. Each n is run twice: once only that
 * one fails, as for a request that is too large, and once all later ones fail as well,
 * as on a machine that is full. Clean-up must work in both.
 *
 * A scenario takes all its memory from `heap` and gives it back before it returns,
 * whatever happened on the way. It returns the status of what it did.
 *
 * Failure  The test fails when blocks are left over; when the status of a run with a
 *          failure is neither WEIR_NO_MEMORY nor WEIR_OK (a code may get along without
 *          an optional piece of memory); when the run without failure is not WEIR_OK;
 *          and when the scenario never allocates, since nothing was tested then.
 */
#ifndef WEIR_TEST_ALLOC_FAILURES_H
#define WEIR_TEST_ALLOC_FAILURES_H

#include <weir/heap.h>
#include <weir/status.h>

typedef enum weir_status (*weir_alloc_failures_fn)(const struct weir_heap *heap);

#define check_alloc_failures(scenario)                                                   \
    weir_alloc_failures_run(__FILE__, __LINE__, (scenario))

void weir_alloc_failures_run(const char *file, int line, weir_alloc_failures_fn scenario);

#endif
