/*
 * sweeper.c - the worker that removes what every subscription has passed.
 *
 * A round goes once over everything that is kept. One begins when some acks have come
 * together, and otherwise seldom. It is made of runs, and a run of a few steps; each
 * step is bounded, so that no transaction waits long for a lock that the sweep has.
 *
 * On an engine with one writer at a time the sweep rests between runs while messages
 * are delivered (sweep_throttle.h). Without that it has the write lock nearly always,
 * and acks wait for each other's commits only to wait for the sweep: delivery then goes
 * at a half or a third of its rate. With many writers no writer waits for the sweep, and
 * it does not rest.
 */
#include "base/heap.h"
#include "base/no_memory.h"
#include "db/db.h"
#include "outbox/log/sweep_throttle.h"
#include "outbox/outbox.h"

enum { STEPS_PER_RUN = 4, GROUPS_PER_ROUND = 50 };

/* From one round to the next, however much is acknowledged. */
#define INTERVAL_MIN_NS WEIR_SECONDS(1)

struct weir_sweeper {
    struct weir_outbox *outbox;
    struct weir_sweep_state state;
    struct weir_sweep_throttle sweep_throttle;
    bool in_round;
    int64_t resume_ns;             /* whatever rings before only rings */
    _Atomic uint64_t acked_groups; /* since the start */
    _Atomic uint64_t swept_groups; /* as many as there were when the last round began */
    struct weir_outbox_report report;
};

void weir_sweeper_note(struct weir_outbox *outbox)
{
    struct weir_sweeper *self = outbox->sweeper;
    uint64_t groups;

    if (self == NULL)
        return;
    groups = atomic_fetch_add(&self->acked_groups, 1) + 1;
    if (groups - atomic_load(&self->swept_groups) == GROUPS_PER_ROUND)
        weir_notifier_notify_one(outbox->notifiers[WEIR_NOTIFY_SWEEP]);
}

static void begin_round(struct weir_sweeper *self, int64_t now_ns)
{
    uint64_t groups = atomic_load(&self->acked_groups);

    self->in_round = true;
    atomic_store(&self->swept_groups, groups);
    weir_sweep_throttle_begin(&self->sweep_throttle, groups, now_ns);
}

/* A few steps; *more tells whether the round goes on. */
static enum weir_status run(struct weir_sweeper *self, struct weir_context *context,
                            bool *more, struct weir_error *error)
{
    struct weir_outbox *outbox = self->outbox;
    struct weir_sweep_report report = {.more = true};
    enum weir_status status = WEIR_OK;

    for (int i = 0; i < STEPS_PER_RUN && report.more && status == WEIR_OK &&
                    !weir_context_cancelled(context);
         i++) {
        status = outbox->log.ops->sweep(&outbox->log, outbox->db, &self->state, &report,
                                        error);
        self->report.messages += (uint64_t)report.removed;
        atomic_fetch_add(&outbox->rows_swept, (uint64_t)report.removed);
    }
    *more = report.more;
    return status;
}

/* The rest before the next run of this round. */
static struct weir_directive go_on(struct weir_sweeper *self, int64_t begun_ns,
                                   int64_t now_ns)
{
    int64_t rest_ns = weir_sweep_throttle_delay(
        &self->sweep_throttle, atomic_load(&self->acked_groups), begun_ns, now_ns);

    if (!weir_db_traits(self->outbox->db)->one_writer || rest_ns == 0)
        return weir_proceed();
    self->resume_ns = now_ns + rest_ns;
    return weir_sleep_for(rest_ns);
}

/* A wake-up may have come during the round, when it had little effect. */
static struct weir_directive end_round(struct weir_sweeper *self, int64_t now_ns)
{
    uint64_t groups = atomic_load(&self->acked_groups) - atomic_load(&self->swept_groups);

    self->in_round = false;
    self->resume_ns = now_ns + INTERVAL_MIN_NS;
    return weir_sleep_for(groups >= GROUPS_PER_ROUND
                              ? INTERVAL_MIN_NS
                              : self->outbox->tuning[WEIR_KIND_SWEEP].idle_ns);
}

/* After a failure the round goes on where it was, and is as old as it was. */
static enum weir_status sweep(struct weir_context *context, void *state,
                              struct weir_directive *out, struct weir_error *error)
{
    struct weir_sweeper *self = state;
    int64_t begun_ns = weir_context_now(context);
    bool more = true;
    enum weir_status status;

    self->report.messages = 0;
    if (begun_ns < self->resume_ns) {
        *out = weir_sleep_for(self->resume_ns - begun_ns);
        return WEIR_OK;
    }
    if (!self->in_round)
        begin_round(self, begun_ns);
    status = run(self, context, &more, error);
    if (status != WEIR_OK) {
        weir_error_prefix(error, "sweep");
        return status;
    }
    *out = more ? go_on(self, begun_ns, weir_context_now(context))
                : end_round(self, weir_context_now(context));
    *out = weir_directive_with(*out, &weir_outbox_report_type, &self->report);
    return WEIR_OK;
}

enum weir_status weir_sweeper_spawn(struct weir_outbox *outbox, struct weir_error *error)
{
    struct weir_sweeper *self = weir_heap_zalloc(outbox->heap, sizeof *self);

    if (self == NULL)
        return weir_no_memory(error, "start the sweep");
    self->outbox = outbox;
    outbox->sweeper = self;
    return weir_outbox_spawn_maintenance(outbox, "sweep", sweep, self, WEIR_NOTIFY_SWEEP,
                                         error);
}
