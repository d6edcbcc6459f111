/*
 * reporter.c - a worker that drains a registry into a log.
 *
 *   I1  at most one flow of control reports: the action while `reporting`, destroy() once
 *       `closed` and not `reporting`
 *   I2  the reporter lives until destroy() and the end of its worker: one reference each
 *
 * destroy() cannot wait for the worker to end: in a simulation nothing runs meanwhile,
 * and on a busy pool it may take a while. So the worker may outlive it, finds `closed`,
 * and touches neither registry nor log again. Its on_stop gives the second reference
 * up; that is the last callback of the last listener, after which the worker looks at
 * nothing of ours.
 */
#include "weir/reporter.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/assert.h"
#include "base/duration.h"
#include "base/heap.h"
#include "base/log.h"
#include "base/no_memory.h"
#include "ward/lock.h"
#include "ward/ward.h"
#include "weir/poker.h"
#include "weir/stats.h"
#include "weir/worker.h"

struct weir_reporter {
    const struct weir_heap *heap; /* borrowed */
    struct weir_stats *stats;     /* borrowed until closed */
    struct weir_log log;
    bool noops_are_nothing;
    struct weir_poker *poker;
    struct weir_worker *worker; /* a handle */
    struct weir_listener listener;
    _Atomic uint32_t references;
    /* of the running report (I1) */
    struct weir_stats_row rows[WEIR_STATS_CATEGORIES_MAX];

    struct weir_lock lock; /* guards all that follows */
    struct weir_cond reported;
    bool reporting;
    bool closed;
};

static enum weir_status new_reporter(const struct weir_reporter_options *options,
                                     struct weir_reporter **out,
                                     struct weir_error *error);
static enum weir_status spawn(struct weir_reporter *self,
                              const struct weir_reporter_options *options,
                              struct weir_error *error);
static enum weir_status act(struct weir_context *context, void *state,
                            struct weir_directive *out, struct weir_error *error);
static void worker_ended(void *state, const char *worker);
static void release(struct weir_reporter *self);
static bool begin_report(struct weir_reporter *self);
static void end_report(struct weir_reporter *self);
static void close_reports(struct weir_reporter *self);
static void report(struct weir_reporter *self);
static bool is_active(const struct weir_stats_row *row);
static bool is_worth_a_report(const struct weir_reporter *self,
                              const struct weir_stats_row *row);
static void report_category(const struct weir_log *log, const struct weir_stats_row *row);
static const char *format_us(uint64_t duration_us, char *out, size_t size);

void weir_reporter_options_init(struct weir_reporter_options *self)
{
    *self = (struct weir_reporter_options){
        .name = "reporter",
        .interval_ns = WEIR_SECONDS(60),
    };
}

enum weir_status weir_reporter_create(const struct weir_reporter_options *options,
                                      struct weir_reporter **out,
                                      struct weir_error *error)
{
    struct weir_reporter *self = NULL;
    enum weir_status status;

    *out = NULL;
    status = weir_duration_check("interval_ns", options->interval_ns,
                                 WEIR_MILLISECONDS(1), WEIR_DURATION_MAX, error);
    if (status != WEIR_OK)
        goto out;
    status = new_reporter(options, &self, error);
    if (status != WEIR_OK)
        goto out;
    status = weir_poker_create(options->ward, options->interval_ns, &self->poker, error);
    if (status != WEIR_OK)
        goto out;
    status = spawn(self, options, error);
    if (status != WEIR_OK)
        goto out;

    *out = self;
    self = NULL; /* the caller's from here on */

out:
    if (status != WEIR_OK)
        weir_error_prefix(error, "create reporter");
    if (self != NULL) {
        weir_poker_destroy(self->poker);
        release(self);
    }
    return status;
}

/* The poker goes last: its hold on the ward keeps the executor, which the worker
 * needs. */
void weir_reporter_destroy(struct weir_reporter *self)
{
    if (self == NULL)
        return;

    weir_worker_cancel(self->worker);
    close_reports(self);
    report(self);
    weir_worker_release(self->worker);
    weir_poker_destroy(self->poker);
    release(self);
}

/* All but poker and worker, with one reference. */
static enum weir_status new_reporter(const struct weir_reporter_options *options,
                                     struct weir_reporter **out, struct weir_error *error)
{
    const struct weir_heap *heap = weir_ward_executor(options->ward)->heap;
    struct weir_reporter *self = weir_heap_zalloc(heap, sizeof *self);
    enum weir_status status;

    if (self == NULL)
        return weir_no_memory(error, NULL);
    status = weir_lock_init(&self->lock);
    if (status != WEIR_OK)
        goto out;
    status = weir_cond_init(&self->reported);
    if (status != WEIR_OK) {
        weir_lock_fini(&self->lock);
        goto out;
    }

    self->heap = heap;
    self->stats = options->stats;
    self->log = options->log;
    self->noops_are_nothing = options->noops_are_nothing;
    self->listener = (struct weir_listener){.state = self, .on_stop = worker_ended};
    atomic_init(&self->references, 1);

    *out = self;
    return WEIR_OK;

out:
    weir_heap_free(heap, self);
    return weir_error_set(error, status, "no lock");
}

/* The worker gets its reference first, since it may end before spawn() returns. */
static enum weir_status spawn(struct weir_reporter *self,
                              const struct weir_reporter_options *options,
                              struct weir_error *error)
{
    struct weir_notifier *notifier = weir_poker_notifier(self->poker);
    const struct weir_listener *listener = &self->listener;
    struct weir_worker_options worker;
    enum weir_status status;

    weir_worker_options_init(&worker);
    worker.name = options->name;
    worker.action = act;
    worker.state = self;
    worker.notifiers = &notifier;
    worker.notifier_count = 1;
    worker.listeners = &listener;
    worker.listener_count = 1;

    atomic_fetch_add(&self->references, 1);
    status = weir_ward_spawn(options->ward, &worker, &self->worker, error);
    if (status != WEIR_OK)
        release(self);
    return status;
}

/* One report; then idle, as is preset, until the next poke. */
static enum weir_status act(struct weir_context *context, void *state,
                            struct weir_directive *out, struct weir_error *error)
{
    struct weir_reporter *self = state;

    (void)context;
    (void)out;
    (void)error;
    if (begin_report(self)) {
        report(self);
        end_report(self);
    }
    return WEIR_OK;
}

static void worker_ended(void *state, const char *worker)
{
    (void)worker;
    release(state);
}

static void release(struct weir_reporter *self)
{
    if (atomic_fetch_sub(&self->references, 1) != 1)
        return;

    WEIR_ASSERT(!self->reporting);
    weir_cond_fini(&self->reported);
    weir_lock_fini(&self->lock);
    weir_heap_free(self->heap, self);
}

static bool begin_report(struct weir_reporter *self)
{
    bool open;

    weir_lock_acquire(&self->lock);
    open = !self->closed;
    WEIR_ASSERT(!self->reporting); /* I1 */
    self->reporting = open;
    weir_lock_release(&self->lock);
    return open;
}

static void end_report(struct weir_reporter *self)
{
    weir_lock_acquire(&self->lock);
    self->reporting = false;
    weir_cond_signal(&self->reported);
    weir_lock_release(&self->lock);
}

/* From here on the action does nothing; what it was doing is done. */
static void close_reports(struct weir_reporter *self)
{
    weir_lock_acquire(&self->lock);
    self->closed = true;
    while (self->reporting)
        (void)weir_cond_wait_until(&self->reported, &self->lock, WEIR_FOREVER);
    weir_lock_release(&self->lock);
}

/* No lock is held: I1 is what keeps `rows` ours. */
static void report(struct weir_reporter *self)
{
    char period[WEIR_DURATION_TEXT_SIZE];
    int64_t period_ns;
    size_t count =
        weir_stats_drain(self->stats, self->rows, WEIR_STATS_CATEGORIES_MAX, &period_ns);
    bool any = false;

    for (size_t i = 0; i < count; i++)
        any = any || is_worth_a_report(self, &self->rows[i]);
    if (!any)
        return;

    weir_log_event(&self->log, WEIR_LOG_INFO, "stats.report", "period=\"%s\"",
                   weir_duration_format(period_ns, period, sizeof period));
    for (size_t i = 0; i < count; i++)
        if (is_active(&self->rows[i]))
            report_category(&self->log, &self->rows[i]);
}

static bool is_active(const struct weir_stats_row *row)
{
    return row->executions > 0 || row->failures > 0;
}

static bool is_worth_a_report(const struct weir_reporter *self,
                              const struct weir_stats_row *row)
{
    uint64_t nothing = self->noops_are_nothing ? row->noops : 0;

    return row->executions > nothing || row->failures > 0;
}

static void report_category(const struct weir_log *log, const struct weir_stats_row *row)
{
    char total[WEIR_DURATION_TEXT_SIZE];
    char average[WEIR_DURATION_TEXT_SIZE];
    char max[WEIR_DURATION_TEXT_SIZE];
    char idle[WEIR_DURATION_TEXT_SIZE];

    weir_log_event(
        log, WEIR_LOG_INFO, "stats.category",
        "category=%s workers=%zu execs=%" PRIu64 " noop=%" PRIu64 " fails=%" PRIu64
        " exec=\"%s\" avg=\"%s\" max=\"%s\" idle=\"%s\" msgs=%" PRIu64
        " avg_batch=%" PRIu64,
        row->category, row->workers, row->executions, row->noops, row->failures,
        format_us(row->execution_us_total, total, sizeof total),
        format_us(weir_stats_row_execution_us_average(row), average, sizeof average),
        format_us(row->execution_us_max, max, sizeof max),
        format_us(row->idle_us_total, idle, sizeof idle), row->messages,
        weir_stats_row_batch_average(row));
}

/* More than fits into nanoseconds is shown as the most that does: 292 years. */
static const char *format_us(uint64_t duration_us, char *out, size_t size)
{
    int64_t duration_ns =
        duration_us < INT64_MAX / 1000 ? (int64_t)duration_us * 1000 : INT64_MAX;

    return weir_duration_format(duration_ns, out, size);
}
