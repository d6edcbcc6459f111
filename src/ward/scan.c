/*
 * scan.c - cycles of ticks.
 *
 *               the first of a cycle             others follow: proceed
 *   run() ----> due := now + interval ----> tick ----------------------> run()
 *                                            |
 *                                            | it was the last: sleep until due
 *                                            +--------------------------------> run()
 *
 * "Due" is an interval after the cycle began, not after it was due. This one line is
 * the whole policy for late ticks: after a cycle that took too long the next is due
 * already, so it begins at once, and the one after it is counted from there. With a
 * fixed grid, every cycle missed would have to be dropped explicitly, and one that
 * begins late, for want of a thread, would be followed by the next within less than an
 * interval.
 *
 * Invariants:
 *
 *   I1  two cycles begin at least one interval apart, unless a tick or a caller outside
 *       has asked
 *   I2  partition < ticks of a cycle; 0 between two cycles
 *   I3  a complete cycle visited every partition once
 */
#include "ward/scan.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/arith.h"
#include "base/assert.h"
#include "base/duration.h"
#include "base/heap.h"
#include "base/log.h"
#include "base/no_memory.h"
#include "ward/failures.h"
#include "ward/lock.h"
#include "ward/name.h"

struct weir_scan {
    const struct weir_scan_home *home; /* borrowed */
    weir_scan_tick_fn function;
    void *state;        /* of the function; borrowed */
    const void *filter; /* borrowed; NULL when the scan is not filtered */
    uint32_t ticks_per_cycle;

    /* The worker's alone: */
    struct weir_failures failures;
    uint32_t partition; /* of the next tick */
    int64_t began_ns;   /* of this cycle */
    int64_t
        next_ns; /* when something is due that its ticks know of; WEIR_FOREVER: nothing */
    bool clean;  /* no failed tick and no error in this cycle so far */

    _Atomic bool woken; /* since the last cycle began */

    struct weir_lock lock; /* guards all that follows */
    struct weir_scan_info info;
};

/* A call of the user's function on its way through weir_guard(), and what it left. */
struct call {
    struct weir_scan *scan;
    struct weir_scan_tick tick;
    struct weir_scan_report report;
    struct weir_error error;
    enum { TICK_DONE, TICK_FAILED, TICK_PANICKED, TICK_GIVEN_UP } outcome;
};

static enum weir_status check_options(const struct weir_scan_options *options,
                                      struct weir_error *error);
static enum weir_status check_partitions(const struct weir_scan_options *options,
                                         struct weir_error *error);
static void init_info(struct weir_scan_info *self,
                      const struct weir_scan_options *options);
static void begin_cycle(struct weir_scan *self, int64_t now_ns);
static void tick(struct weir_scan *self, struct weir_context *context, struct call *out);
static enum weir_status call_function(struct weir_context *context, void *argument,
                                      struct weir_error *error);
static void count_tick(struct weir_scan *self, const struct call *call);
static void log_failure(const struct weir_scan *self, const struct call *call);
static void expect(struct weir_scan *self, int64_t after_ns, int64_t now_ns);
static struct weir_directive end_cycle(struct weir_scan *self, int64_t now_ns);

void weir_scan_options_init(struct weir_scan_options *self)
{
    *self = (struct weir_scan_options){.scope = WEIR_SCAN_GLOBAL};
}

const char *weir_scan_state_name(enum weir_scan_state state)
{
    switch (state) {
    case WEIR_SCAN_ADDED:
        return "added";
    case WEIR_SCAN_WAITING:
        return "waiting";
    case WEIR_SCAN_TICKING:
        return "ticking";
    case WEIR_SCAN_ENDED:
        return "ended";
    }
    return "unknown";
}

enum weir_status weir_scan_create(const struct weir_scan_home *home,
                                  const struct weir_scan_options *options,
                                  struct weir_scan **out, struct weir_error *error)
{
    struct weir_scan *self = NULL;
    enum weir_status status;

    *out = NULL;
    status = check_options(options, error);
    if (status != WEIR_OK)
        return status;

    self = weir_heap_zalloc(home->heap, sizeof *self);
    if (self == NULL)
        return weir_no_memory(error, NULL);
    status = weir_lock_init(&self->lock);
    if (status != WEIR_OK) {
        weir_error_set(error, status, "no lock");
        goto out;
    }

    self->home = home;
    self->function = options->tick;
    self->state = options->state;
    self->filter = options->filtered ? home->filter : NULL;
    self->ticks_per_cycle =
        options->scope == WEIR_SCAN_GLOBAL ? 1 : options->partition_count;
    init_info(&self->info, options);
    weir_failures_init(&self->failures, home->heap, &home->log, home->name,
                       self->info.name);

    *out = self;
    self = NULL; /* the caller's from here on */

out:
    weir_heap_free(home->heap, self);
    return status;
}

void weir_scan_destroy(struct weir_scan *self)
{
    if (self == NULL)
        return;

    weir_failures_fini(&self->failures);
    weir_lock_fini(&self->lock);
    weir_heap_free(self->home->heap, self);
}

enum weir_status weir_scan_run(struct weir_context *context, void *scan,
                               struct weir_directive *out, struct weir_error *error)
{
    struct weir_scan *self = scan;
    struct call call = {.scan = self, .error.status = WEIR_OK};

    (void)error; /* a worker that fails backs off, and a scan must not */
    if (self->partition == 0)
        begin_cycle(self, weir_context_now(context));
    WEIR_ASSERT(self->partition < self->ticks_per_cycle); /* I2 */
    tick(self, context, &call);
    count_tick(self, &call);
    expect(self, call.report.next_ns, weir_context_now(context));
    if (call.outcome == TICK_FAILED || call.outcome == TICK_PANICKED)
        log_failure(self, &call);

    /* The worker is cancelled and runs no more, so no directive is needed. What counts is
     * that a cycle which was given up in its last tick is not a complete one (I3). */
    if (call.outcome == TICK_GIVEN_UP)
        return WEIR_OK;

    self->partition++;
    if (self->partition < self->ticks_per_cycle)
        *out = weir_proceed();
    else
        *out = end_cycle(self, weir_context_now(context));
    return WEIR_OK;
}

void weir_scan_note_started(struct weir_scan *self)
{
    weir_lock_acquire(&self->lock);
    if (self->info.state == WEIR_SCAN_ADDED)
        self->info.state = WEIR_SCAN_WAITING;
    weir_lock_release(&self->lock);
}

bool weir_scan_note_wake(struct weir_scan *self)
{
    return !atomic_exchange(&self->woken, true);
}

void weir_scan_read(struct weir_scan *self, struct weir_scan_info *out)
{
    weir_lock_acquire(&self->lock);
    *out = self->info;
    weir_lock_release(&self->lock);
}

const char *weir_scan_name(const struct weir_scan *self)
{
    return self->info.name; /* written in create() only */
}

uint32_t weir_scan_partition_count(const struct weir_scan *self)
{
    return self->info.partition_count; /* written in create() only */
}

static enum weir_status check_options(const struct weir_scan_options *options,
                                      struct weir_error *error)
{
    enum weir_status status = weir_name_check("name", options->name, error);

    if (status != WEIR_OK)
        return status;
    status = weir_duration_check("interval_ns", options->interval_ns,
                                 WEIR_SCAN_INTERVAL_MIN, WEIR_DURATION_MAX, error);
    if (status != WEIR_OK)
        return status;
    if (options->tick == NULL)
        return weir_error_set(error, WEIR_INVALID, "tick is NULL, must be a function");
    return check_partitions(options, error);
}

static enum weir_status check_partitions(const struct weir_scan_options *options,
                                         struct weir_error *error)
{
    uint32_t count = options->partition_count;

    switch (options->scope) {
    case WEIR_SCAN_GLOBAL:
        if (count == 0)
            return WEIR_OK;
        return weir_error_set(
            error, WEIR_INVALID,
            "partition_count is %" PRIu32 ", must be 0 in a global scan", count);
    case WEIR_SCAN_PARTITIONED:
        if (count >= 1 && count <= WEIR_SCAN_PARTITIONS_MAX)
            return WEIR_OK;
        return weir_error_set(error, WEIR_INVALID,
                              "partition_count is %" PRIu32 ", must be 1 to %d", count,
                              WEIR_SCAN_PARTITIONS_MAX);
    }
    return weir_error_set(error, WEIR_INVALID, "scope is %d, must be %d or %d",
                          (int)options->scope, WEIR_SCAN_GLOBAL, WEIR_SCAN_PARTITIONED);
}

static void init_info(struct weir_scan_info *self,
                      const struct weir_scan_options *options)
{
    snprintf(self->name, sizeof self->name, "%s", options->name);
    self->interval_ns = options->interval_ns;
    self->scope = options->scope;
    self->partition_count = options->partition_count;
    self->tick_started_ns = WEIR_SCAN_NEVER;
    self->due_ns = WEIR_SCAN_NEVER;
    self->completed_ns = WEIR_SCAN_NEVER;
    self->clean_ns = WEIR_SCAN_NEVER;
}

static void begin_cycle(struct weir_scan *self, int64_t now_ns)
{
    self->began_ns = now_ns;
    self->next_ns = WEIR_FOREVER;
    self->clean = true;
    atomic_store(&self->woken, false);
    weir_failures_advance(&self->failures);

    weir_lock_acquire(&self->lock);
    self->info.due_ns = weir_sat_add_i64(now_ns, self->info.interval_ns); /* I1 */
    weir_lock_release(&self->lock);
}

/* Call the user's function for the partition at hand, and see how it ended. */
static void tick(struct weir_scan *self, struct weir_context *context, struct call *out)
{
    int64_t now_ns = weir_context_now(context);
    enum weir_status status;

    out->tick = (struct weir_scan_tick){
        .scanner = self->home->name,
        .scan = self->info.name,
        .cycle = self->failures.cycle,
        .partition = self->partition,
        .filter = self->filter,
        .failures = &self->failures,
    };
    weir_lock_acquire(&self->lock);
    self->info.state = WEIR_SCAN_TICKING;
    self->info.partition = self->partition;
    self->info.tick_started_ns = now_ns;
    weir_lock_release(&self->lock);

    status = weir_guard(context, call_function, out, &out->error);

    if (status == WEIR_OK)
        out->outcome = TICK_DONE;
    else if (status == WEIR_CANCELLED && weir_context_cancelled(context))
        out->outcome = TICK_GIVEN_UP;
    else
        out->outcome = status == WEIR_PANICKED ? TICK_PANICKED : TICK_FAILED;
    if (status != WEIR_OK && out->error.text[0] == '\0')
        weir_error_set(&out->error, status, "%s", weir_status_text(status));
}

static enum weir_status call_function(struct weir_context *context, void *argument,
                                      struct weir_error *error)
{
    struct call *call = argument;
    struct weir_scan *scan = call->scan;

    return scan->function(context, scan->state, &call->tick, &call->report, error);
}

static void count_tick(struct weir_scan *self, const struct call *call)
{
    struct weir_scan_info *info = &self->info;
    bool failed = call->outcome == TICK_FAILED || call->outcome == TICK_PANICKED;

    if (failed || call->report.errors > 0)
        self->clean = false;

    weir_lock_acquire(&self->lock);
    info->state = WEIR_SCAN_WAITING;
    info->ticks++;
    info->ticks_failed += failed;
    info->panics += call->outcome == TICK_PANICKED;
    info->processed += call->report.processed;
    info->errors += call->report.errors;
    info->skipped += call->report.skipped;
    info->failing_items = weir_failures_count(&self->failures);
    info->failures_untracked = self->failures.untracked_total;
    if (failed)
        memcpy(info->last_error, call->error.text, sizeof info->last_error);
    weir_lock_release(&self->lock);
}

static void log_failure(const struct weir_scan *self, const struct call *call)
{
    if (self->info.scope == WEIR_SCAN_GLOBAL)
        weir_log_event(&self->home->log, WEIR_LOG_WARNING, "scanner.tick_failed",
                       "scanner=%s scan=%s text=\"%s\"", self->home->name,
                       self->info.name, call->error.text);
    else
        weir_log_event(&self->home->log, WEIR_LOG_WARNING, "scanner.tick_failed",
                       "scanner=%s scan=%s partition=%" PRIu32 " text=\"%s\"",
                       self->home->name, self->info.name, self->partition,
                       call->error.text);
}

/* A tick knows of something that is due so long from now; 0: it does not. */
static void expect(struct weir_scan *self, int64_t after_ns, int64_t now_ns)
{
    int64_t at_ns = weir_sat_add_i64(
        now_ns, after_ns < WEIR_SCAN_NEXT_MIN ? WEIR_SCAN_NEXT_MIN : after_ns);

    if (after_ns != 0 && at_ns < self->next_ns)
        self->next_ns = at_ns;
}

/* Every partition was visited. */
static struct weir_directive end_cycle(struct weir_scan *self, int64_t now_ns)
{
    struct weir_scan_info *info = &self->info;
    int64_t elapsed_ns = now_ns - self->began_ns;
    int64_t due_ns;

    self->partition = 0;

    weir_lock_acquire(&self->lock);
    info->cycles++;
    info->cycle_last_ns = elapsed_ns;
    if (elapsed_ns > info->cycle_max_ns)
        info->cycle_max_ns = elapsed_ns;
    info->cycle_total_ns = weir_sat_add_i64(info->cycle_total_ns, elapsed_ns);
    info->completed_ns = now_ns;
    if (self->clean)
        info->clean_ns = now_ns;
    if (self->next_ns < info->due_ns)
        info->due_ns = self->next_ns;
    due_ns = info->due_ns;
    weir_lock_release(&self->lock);
    return weir_sleep_for(due_ns - now_ns);
}
