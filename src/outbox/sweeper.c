/*
 * sweeper.c - the worker that removes what every subscription has passed.
 *
 * It runs when some acks have come together, and otherwise seldom. Each step is bounded, so that
 * nobody waits long for a lock that the sweep has.
 */
#include "base/heap.h"
#include "outbox/outbox.h"

enum { STEPS_PER_RUN = 16, ACKS_PER_SWEEP = 50 };

/* Not more often than this, however much is acknowledged. */
#define INTERVAL_MIN_NS WEIR_SECONDS(1)

struct weir_sweeper {
    struct weir_outbox *outbox;
    struct weir_sweep_state state;
    int64_t last_ns; /* 0: never */
    _Atomic uint32_t noted;
    struct weir_outbox_report report;
};

void weir_sweeper_note(struct weir_outbox *outbox)
{
    struct weir_sweeper *self = outbox->sweeper;

    if (self != NULL && atomic_fetch_add(&self->noted, 1) + 1 == ACKS_PER_SWEEP)
        weir_notifier_notify_one(outbox->bells[WEIR_BELL_SWEEP]);
}

static enum weir_status sweep(struct weir_context *context, void *state,
                              struct weir_directive *out, struct weir_error *error)
{
    struct weir_sweeper *self = state;
    struct weir_outbox *outbox = self->outbox;
    struct weir_sweep_report report = {.more = true};
    int64_t now_ns = weir_context_now(context);
    enum weir_status status = WEIR_OK;

    self->report.messages = 0;
    if (self->last_ns != 0 && now_ns - self->last_ns < INTERVAL_MIN_NS) {
        *out = weir_sleep_for(INTERVAL_MIN_NS - (now_ns - self->last_ns));
        return WEIR_OK;
    }
    atomic_store(&self->noted, 0);
    for (int i = 0; i < STEPS_PER_RUN && report.more && status == WEIR_OK &&
                    !weir_context_cancelled(context);
         i++) {
        status = outbox->log.ops->sweep(&outbox->log, outbox->db, &self->state, &report,
                                        error);
        self->report.messages += (uint64_t)report.removed;
    }
    if (status == WEIR_OK && report.more) {
        *out = weir_proceed();
    } else {
        self->last_ns = now_ns;
        *out = weir_sleep_for(outbox->tuning[WEIR_KIND_SWEEP].idle_ns);
    }
    *out = weir_directive_with(*out, &weir_outbox_report_type, &self->report);
    if (status != WEIR_OK)
        weir_error_prefix(error, "sweep");
    return status;
}

enum weir_status weir_sweeper_spawn(struct weir_outbox *outbox, struct weir_error *error)
{
    struct weir_sweeper *self = weir_heap_zalloc(outbox->heap, sizeof *self);
    struct weir_staff_options options = {.category = "sweep"};

    if (self == NULL)
        return weir_error_set(error, WEIR_NO_MEMORY, "start the sweep");
    self->outbox = outbox;
    outbox->sweeper = self;
    weir_worker_options_init(&options.worker);
    options.worker.name = "sweep";
    options.worker.action = sweep;
    options.worker.state = self;
    options.worker.notifiers = &outbox->bells[WEIR_BELL_SWEEP];
    options.worker.notifier_count = 1;
    options.worker.shared = outbox->shared;
    options.worker.pace = weir_pace_none();
    options.worker.backoff.initial_ns = WEIR_MILLISECONDS(500);
    options.worker.backoff.max_ns = WEIR_SECONDS(60);
    return weir_outbox_spawn(outbox, &options, error);
}
