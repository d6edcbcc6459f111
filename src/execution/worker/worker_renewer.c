/*
 * worker_renewer.c - keeps leases, and says when one cannot be kept.
 *
 * The renewer sends all leases in one call as soon as the oldest of them has used up a
 * third of its time. It may hang in that call; the watch does not talk to the database,
 * and gives the stop signal when a lease is nearly over, whatever the renewer is doing.
 * Both look every third of a lease, since nothing that is claimed meanwhile can be due
 * before that; of what can, the watch is notified.
 */
#include "base/arith.h"
#include "execution/worker/worker_private.h"

/* Whatever is due, it is not looked at more often. */
#define REST_MIN_NS WEIR_MILLISECONDS(1)

/* Until `time_ns`, and a third of a lease at most. */
static struct weir_directive rest(const struct weir_execution_worker *self,
                                  int64_t time_ns, int64_t now_ns)
{
    int64_t rest_ns = self->lease_ns / 3;

    if (time_ns - now_ns < rest_ns)
        rest_ns = time_ns - now_ns;
    return weir_sleep_for(rest_ns > REST_MIN_NS ? rest_ns : REST_MIN_NS);
}

/* ---- renewing ---------------------------------------------------------------------- */

static enum weir_status renew_all(struct weir_execution_worker *self, int64_t now_ns,
                                  struct weir_error *error)
{
    int64_t end_ns = weir_sat_add_i64(now_ns, self->lease_ns);
    size_t count = weir_tasks_leases(&self->tasks, self->leased, self->lease_max);
    enum weir_status status;

    for (size_t i = 0; i < count; i++)
        self->renewals[i] =
            (struct weir_renewal){.claim = self->leased[i]->claimed->claim};
    status = weir_execution_renew(self->executions, self->claim.lease_ms, self->renewals,
                                  count, error);
    for (size_t i = 0; i < count; i++) {
        if (status == WEIR_OK)
            weir_tasks_renewed(&self->tasks, self->leased[i], self->renewals[i].status,
                               end_ns);
        else
            weir_tasks_renewed(&self->tasks, self->leased[i], WEIR_OK, 0);
    }
    if (status != WEIR_OK)
        weir_error_prefix(error, "renew leases");
    return status;
}

static int64_t renewal_time(struct weir_execution_worker *self)
{
    int64_t end_ns = weir_tasks_first_end(&self->tasks);

    return end_ns == WEIR_FOREVER ? WEIR_FOREVER : end_ns - self->lease_ns / 3 * 2;
}

static enum weir_status renew(struct weir_context *context, void *state,
                              struct weir_directive *out, struct weir_error *error)
{
    struct weir_execution_worker *self = state;
    int64_t now_ns = weir_context_now(context);
    enum weir_status status = WEIR_OK;

    if (renewal_time(self) <= now_ns) {
        status = renew_all(self, now_ns, error);
        weir_execution_worker_notify(self, WEIR_NOTIFY_CLAIMER); /* some may be lost */
    }
    *out = rest(self, renewal_time(self), weir_context_now(context));
    return status;
}

enum weir_status weir_renewer_spawn(struct weir_execution_worker *self,
                                    struct weir_error *error)
{
    struct weir_worker_options options =
        weir_execution_worker_thread_options(self, "renewer", renew, WEIR_NOTIFY_RENEWER);

    options.backoff.initial_ns = self->lease_ns / 50;
    options.backoff.max_ns = self->lease_ns / 10;
    return weir_ward_spawn(self->internal_workers, &options, NULL, error);
}

/* ---- watching ---------------------------------------------------------------------- */

static void make_missing_runners(struct weir_execution_worker *self)
{
    while (atomic_load(&self->runners_missing) > 0) {
        if (weir_runner_spawn(self, NULL) != WEIR_OK)
            return;
        atomic_fetch_sub(&self->runners_missing, 1);
        weir_execution_worker_notify(self, WEIR_NOTIFY_RUNNERS);
    }
}

static enum weir_status watch(struct weir_context *context, void *state,
                              struct weir_directive *out, struct weir_error *error)
{
    struct weir_execution_worker *self = state;
    int64_t now_ns = weir_context_now(context);

    (void)error;
    *out = rest(self, weir_tasks_watch(&self->tasks, now_ns), now_ns);
    make_missing_runners(self);
    return WEIR_OK;
}

enum weir_status weir_watch_spawn(struct weir_execution_worker *self,
                                  struct weir_error *error)
{
    struct weir_worker_options options =
        weir_execution_worker_thread_options(self, "watch", watch, WEIR_NOTIFY_WATCH);

    return weir_ward_spawn(self->internal_workers, &options, NULL, error);
}
