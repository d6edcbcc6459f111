/*
 * flow_worker_fixture.h - a worker with a database handle of its own, which a test may
 * lose; and jobs, which are what its handlers do.
 *
 *   struct flow_worker_fixture gang;
 *   struct job job = {.answer = job_complete};
 *
 *   flow_worker_fixture_open(&gang, fixture);                  options and simulation
 *                                                              may be set
 *   flow_worker_fixture_add(&gang, "mail", &job);
 *   flow_worker_fixture_start(&gang);
 *   id = flow_worker_fixture_submit(&gang, "mail");
 *   flow_worker_fixture_expect(&gang, &id, "completed");
 *   flow_worker_fixture_close(&gang);
 */
#ifndef WEIR_TEST_FLOW_WORKER_FIXTURE_H
#define WEIR_TEST_FLOW_WORKER_FIXTURE_H

#include <stdatomic.h>

#include "base/fault_point.h"
#include "base/random.h"
#include "contract/flow/flow_fixture.h"
#include "db/db.h"
#include "kit/sim/script.h"
#include "weir/execution_worker.h"

/* What a handler does: waits for `go` if it is to, listening to the stop signal, and
 * answers. */
struct job {
    enum weir_answer (*answer)(struct weir_task *task); /* NULL: none */
    bool waits;
    bool deaf; /* to the stop signal */
    _Atomic bool go;
    _Atomic int begun;
    _Atomic int ended;
    _Atomic int stopped;
    _Atomic int inside;
    _Atomic int inside_most;
    _Atomic int64_t stopped_ns; /* when it saw the signal */
    _Atomic int64_t lease_ns;   /* when the lease of the last one began */
};

struct flow_worker_fixture {
    struct fixture *fixture;
    struct weir_db *db;
    struct weir_executions *executions; /* the worker's */
    struct weir_executions *eyes;       /* the test's */
    struct weir_execution_worker_options options;
    struct weir_execution_worker *worker;
    struct script *script; /* of a simulation; NULL: threads */
    struct weir_fault_points points;
    _Atomic bool gone;     /* nobody reaches the database */
    int trouble;           /* of a thousand questions and commits, so many are lost */
    uint64_t dice;         /* for that; in a simulation only */
    _Atomic int questions; /* to it, of whatever kind */
    _Atomic int loads;     /* transactions that renew or settle, and tried to commit */
    _Atomic int commits;   /* of these, that store results or suspensions */
    _Atomic int doubtful;  /* so many of those are not answered */
    bool vanishes;         /* with the first of these it is gone */
    _Atomic bool sticks;   /* those wait */
    _Atomic int stuck;     /* so many do */
    _Atomic bool hangs;    /* all that load wait */
    _Atomic bool holds;    /* results and suspensions are stored, and the replies wait */
    _Atomic int held;      /* so many do */
};

/* ---- jobs -------------------------------------------------------------------------- */

static inline enum weir_answer job_complete(struct weir_task *task)
{
    return weir_task_complete(task, "ok", 2);
}

static inline void job_wait(struct job *self, struct weir_context *context)
{
    while (self->waits && !self->go) {
        if (weir_context_cancelled(context) && !self->deaf) {
            atomic_store(&self->stopped_ns, weir_context_now(context));
            atomic_fetch_add(&self->stopped, 1);
            return;
        }
        if (self->deaf)
            weir_sleep_through(context, WEIR_MILLISECONDS(5));
        else
            (void)!weir_sleep(context, WEIR_MILLISECONDS(5));
    }
}

static inline enum weir_answer job_handle(struct weir_context *context, void *state,
                                          struct weir_task *task)
{
    struct job *self = state;
    int inside = atomic_fetch_add(&self->inside, 1) + 1;
    int most = atomic_load(&self->inside_most);
    int stopped;
    enum weir_answer answer = WEIR_NOT_ANSWERED;

    while (inside > most &&
           !atomic_compare_exchange_weak(&self->inside_most, &most, inside))
        ;
    self->lease_ns = weir_task_claimed(task)->claimed_ns;
    atomic_fetch_add(&self->begun, 1);
    stopped = self->stopped;
    job_wait(self, context);
    if (self->answer != NULL && self->stopped == stopped)
        answer = self->answer(task);
    atomic_fetch_sub(&self->inside, 1);
    atomic_fetch_add(&self->ended, 1);
    return answer;
}

/* ---- the database ------------------------------------------------------------------ */

/* What the transaction of this thread has done so far, which is all that a commit is
 * told by. */
static _Thread_local bool flow_worker_fixture_loads, flow_worker_fixture_puts_results;

static inline void flow_worker_fixture_stop_at_commit(struct flow_worker_fixture *self)
{
    atomic_fetch_add(&self->loads, flow_worker_fixture_loads);
    atomic_fetch_add(&self->commits, flow_worker_fixture_puts_results);
    if (self->hangs && flow_worker_fixture_loads)
        wait_until(!self->hangs);
    if (!flow_worker_fixture_puts_results)
        return;
    atomic_fetch_add(&self->stuck, 1);
    wait_until(!self->sticks);
    atomic_fetch_sub(&self->stuck, 1);
}

static inline void flow_worker_fixture_hold_reply(struct flow_worker_fixture *self)
{
    atomic_fetch_add(&self->held, 1);
    wait_until(!self->holds);
    atomic_fetch_sub(&self->held, 1);
}

/* In a simulation, whose only thread we are on. */
static inline bool flow_worker_fixture_has_trouble(struct flow_worker_fixture *self)
{
    if (self->trouble == 0)
        return false;
    self->dice = weir_mix_u64(self->dice + 1);
    return self->dice % 1000 < (uint64_t)self->trouble;
}

static inline bool flow_worker_fixture_oracle(void *argument, const char *name)
{
    struct flow_worker_fixture *self = argument;
    bool lost = false;

    if (strcmp(name, "db.lose") == 0) {
        atomic_fetch_add(&self->questions, 1);
        return self->gone || flow_worker_fixture_has_trouble(self);
    }
    flow_worker_fixture_loads =
        flow_worker_fixture_loads || strncmp(name, "load execution", 14) == 0;
    flow_worker_fixture_puts_results = flow_worker_fixture_puts_results ||
                                       strncmp(name, "put result", 10) == 0 ||
                                       strcmp(name, "open suspension") == 0;
    if (strcmp(name, "db.commit") == 0)
        flow_worker_fixture_stop_at_commit(self);
    if (strcmp(name, "db.lose_after_commit") == 0) {
        if (flow_worker_fixture_puts_results)
            flow_worker_fixture_hold_reply(self);
        lost = (flow_worker_fixture_puts_results &&
                atomic_fetch_sub(&self->doubtful, 1) > 0) ||
               flow_worker_fixture_has_trouble(self);
        self->gone = self->gone || (lost && self->vanishes);
        flow_worker_fixture_loads = flow_worker_fixture_puts_results = false;
    }
    return lost;
}

/* ---- its life ---------------------------------------------------------------------- */

static const char *const FLOW_WORKER_FIXTURE_LANES[] = {"orders"};

/* On the database of `options`, where the test's own handle is `seen`. */
static inline void flow_worker_fixture_open_at(struct flow_worker_fixture *self,
                                               struct fixture *fixture,
                                               const struct weir_db_options *options,
                                               struct weir_db *seen)
{
    memset(self, 0, sizeof *self);
    self->fixture = fixture;
    self->db = fixture_open(fixture, options);
    weir_fault_points_init(&self->points);
    weir_fault_points_set_oracle(&self->points, flow_worker_fixture_oracle, self);
    weir_db_set_fault_points(self->db, &self->points);
    self->executions = flow_fixture_open_with(fixture, self->db, NULL);
    self->eyes = flow_fixture_open_with(fixture, seen, NULL);
    weir_execution_worker_options_init(&self->options);
    self->options.executions = self->executions;
    self->options.claim = flow_fixture_claimant(FLOW_WORKER_FIXTURE_LANES, "anna");
}

static inline void flow_worker_fixture_open(struct flow_worker_fixture *self,
                                            struct fixture *fixture)
{
    struct weir_db_options options = fixture_options(fixture);

    flow_worker_fixture_open_at(self, fixture, &options, fixture->db);
}

/* A second is the shortest. */
static inline void flow_worker_fixture_open_short(struct flow_worker_fixture *self,
                                                  struct fixture *fixture)
{
    flow_worker_fixture_open(self, fixture);
    self->options.claim.lease_ms = 1000;
}

static inline void flow_worker_fixture_open_in(struct flow_worker_fixture *self,
                                               struct fixture *fixture,
                                               struct script *script)
{
    flow_worker_fixture_open(self, fixture);
    script_open(script, IN_SIMULATION);
    self->script = script;
    self->options.executor = script->executor;
}

static inline void flow_worker_fixture_add(struct flow_worker_fixture *self,
                                           const char *kind, struct job *job)
{
    struct fixture *fixture = self->fixture;

    if (self->worker == NULL)
        check_db(
            weir_execution_worker_create(&self->options, &self->worker, &fixture->error),
            WEIR_OK);
    check_db(
        weir_execution_worker_add(self->worker, kind, job_handle, job, &fixture->error),
        WEIR_OK);
}

static inline void flow_worker_fixture_start(struct flow_worker_fixture *self)
{
    struct fixture *fixture = self->fixture;

    check_db(weir_execution_worker_start(self->worker, &fixture->error), WEIR_OK);
}

/* One who does `job` with "mail". */
static inline void flow_worker_fixture_start_with(struct flow_worker_fixture *self,
                                                  struct job *job)
{
    flow_worker_fixture_add(self, "mail", job);
    flow_worker_fixture_start(self);
}

static inline void flow_worker_fixture_dismiss(struct flow_worker_fixture *self)
{
    weir_execution_worker_destroy(self->worker);
    self->worker = NULL;
}

static inline void flow_worker_fixture_close(struct flow_worker_fixture *self)
{
    flow_worker_fixture_dismiss(self);
    if (self->script != NULL)
        script_close(self->script);
    weir_executions_destroy(self->eyes);
    weir_executions_destroy(self->executions);
    weir_db_destroy(self->db);
}

/* ---- work -------------------------------------------------------------------------- */

static inline struct weir_execution_id
flow_worker_fixture_submit(struct flow_worker_fixture *self, const char *kind)
{
    struct weir_execution_draft draft = flow_fixture_draft("orders");

    draft.kind = kind;
    return flow_fixture_submit_draft(self->fixture, self->eyes, &draft);
}

static inline void flow_worker_fixture_submit_many(struct flow_worker_fixture *self,
                                                   int count)
{
    for (int i = 0; i < count; i++)
        (void)flow_worker_fixture_submit(self, "mail");
}

static inline bool flow_worker_fixture_is(struct flow_worker_fixture *self,
                                          const struct weir_execution_id *id,
                                          const char *state)
{
    return strcmp(flow_fixture_state(self->fixture, self->eyes, id), state) == 0;
}

static inline void flow_worker_fixture_expect(struct flow_worker_fixture *self,
                                              const struct weir_execution_id *id,
                                              const char *state)
{
    wait_until(flow_worker_fixture_is(self, id, state));
}

static inline struct weir_execution_worker_stats
flow_worker_fixture_stats(struct flow_worker_fixture *self)
{
    struct weir_execution_worker_stats stats;

    weir_execution_worker_read(self->worker, &stats);
    check_int(stats.claimed, stats.completed + stats.failed + stats.retried +
                                 stats.delayed + stats.cancelled + stats.suspended +
                                 stats.returned + stats.fenced + stats.waiting +
                                 stats.running + stats.settling);
    return stats;
}

static inline void flow_worker_fixture_run(struct flow_worker_fixture *self,
                                           int64_t duration_ns)
{
    weir_sim_run_until(self->script->sim, weir_sim_now(self->script->sim) + duration_ns);
}

#endif
