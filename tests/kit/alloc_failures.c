/*
 * alloc_failures.c - the n-th allocation fails, for n until success.
 */
#include "kit/alloc_failures.h"

#include <inttypes.h>
#include <stdbool.h>

#include "base/heap.h"
#include "kit/test.h"

/* No scenario needs that many. One that gets here asks for more after each failure. */
enum { ALLOCATIONS_MAX = 100000 };

enum shortage { ONE_FAILS, ALL_LATER_FAIL_TOO };

struct sweep {
    const char *file;
    int line;
    weir_alloc_failures_fn scenario;
};

static bool run_once(const struct sweep *self, uint64_t fail_at, enum shortage shortage);

void weir_alloc_failures_run(const char *file, int line, weir_alloc_failures_fn scenario)
{
    struct sweep sweep = {file, line, scenario};
    uint64_t n = 1;

    while (run_once(&sweep, n, ONE_FAILS)) {
        run_once(&sweep, n, ALL_LATER_FAIL_TOO);
        if (++n > ALLOCATIONS_MAX)
            weir_test_fail(file, line, "still failing at allocation %" PRIu64, n);
    }
    if (n == 1)
        weir_test_fail(file, line, "the scenario allocates nothing");
}

/* True when an allocation failed, false when the scenario made fewer than that. */
static bool run_once(const struct sweep *self, uint64_t fail_at, enum shortage shortage)
{
    struct weir_faulty_heap heap;
    enum weir_status status;
    int64_t outstanding;
    bool failed;

    weir_faulty_heap_init(&heap);
    weir_faulty_heap_fail_at(&heap, fail_at);
    heap.fail_after_too = shortage == ALL_LATER_FAIL_TOO;

    status = self->scenario(&heap.heap);

    outstanding = heap.outstanding;
    failed = heap.allocations >= fail_at;
    if (outstanding != 0)
        weir_test_fail(self->file, self->line,
                       "allocation %" PRIu64 " failed: %" PRId64 " blocks left over",
                       fail_at, outstanding);
    if (status != WEIR_OK && !(failed && status == WEIR_NO_MEMORY))
        weir_test_fail(self->file, self->line, "allocation %" PRIu64 " %s: got %s",
                       fail_at, failed ? "failed" : "not reached",
                       weir_status_name(status));
    return failed;
}
