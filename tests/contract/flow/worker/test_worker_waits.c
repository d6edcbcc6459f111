/*
 * Handlers that wait for the world: what they get, what the worker makes of it, and
 * what happens when leases are lost, renewed or in doubt meanwhile.
 */
#include "contract/flow/wait/suspended.h"
#include "contract/flow/worker/flow_worker_fixture.h"

/* An office: its handler asks for an answer and waits for it, unless there is one. */
struct env {
    const char *until;
    bool asks_before; /* with a waitpoint of its own, made before */
    bool lingers;     /* after it has suspended, until `go` */
    bool answers;     /* although it has suspended */
    bool insists;     /* suspends again */
    _Atomic bool go;
    _Atomic int begun;
    _Atomic int asked; /* the token is there */
    _Atomic int said;  /* suspend() has returned */
    enum weir_status status;
    _Atomic bool cancelled;
    enum weir_status first_status; /* these two, when it was called first */
    bool first_cancelled;
    struct weir_waitpoint setup;
    bool satisfied;
    struct wait_log came;
};

static void env_suspend(struct env *self, struct weir_task *task)
{
    struct weir_suspend_options options;

    weir_suspend_options_init(&options);
    options.waitpoints = &self->setup;
    options.waitpoint_count = 1;
    options.until = self->until;
    self->status = weir_task_suspend(task, &options, &self->satisfied, NULL);
    if (self->insists && self->status == WEIR_OK)
        self->status = weir_task_suspend(task, &options, &self->satisfied, NULL);
}

static enum weir_answer env_handle(struct weir_context *context, void *state,
                                   struct weir_task *task)
{
    struct env *self = state;

    atomic_fetch_add(&self->begun, 1);
    self->came.text[0] = '\0';
    if (weir_task_signals(task, wait_write_signal, &self->came, NULL) != WEIR_OK)
        return weir_task_fail(task, "no signals");
    if (self->came.text[0] != '\0')
        return weir_task_complete(task, "ok", 2);

    self->setup = (struct weir_waitpoint){.key = "a"};
    if (self->asks_before) {
        if (weir_task_waitpoint(task, &self->setup, 60000, NULL) != WEIR_OK)
            return weir_task_fail(task, "no waitpoint");
        atomic_fetch_add(&self->asked, 1);
        while (!self->go)
            weir_sleep_through(context, WEIR_MILLISECONDS(5));
    }
    env_suspend(self, task);
    self->cancelled = weir_context_cancelled(context);
    if (self->begun == 1) {
        self->first_status = self->status;
        self->first_cancelled = self->cancelled;
    }
    atomic_fetch_add(&self->said, 1);
    while (self->lingers && !self->go && !self->cancelled) {
        (void)!weir_sleep(context, WEIR_MILLISECONDS(5));
        self->cancelled = weir_context_cancelled(context);
    }
    if (self->satisfied || self->answers)
        return weir_task_complete(task, "ok", 2);
    return self->status == WEIR_OK ? WEIR_ANSWERED : WEIR_NOT_ANSWERED;
}

/* It has one execution, of the kind "ask". */
static struct weir_execution_id env_open(struct env *self,
                                         struct flow_worker_fixture *flow_worker_fixture)
{
    struct fixture *fixture = flow_worker_fixture->fixture;

    check_db(weir_execution_worker_create(&flow_worker_fixture->options,
                                          &flow_worker_fixture->worker, &fixture->error),
             WEIR_OK);
    check_db(weir_execution_worker_add(flow_worker_fixture->worker, "ask", env_handle,
                                       self, &fixture->error),
             WEIR_OK);
    flow_worker_fixture_start(flow_worker_fixture);
    return flow_worker_fixture_submit(flow_worker_fixture, "ask");
}

/* What the signal did, with the token that the handler got. */
static const char *env_signal(struct env *self,
                              struct flow_worker_fixture *flow_worker_fixture,
                              const struct weir_execution_id *id)
{
    struct wait wait = {
        .executions = flow_worker_fixture->eyes, .id = *id, .waitpoints = {self->setup}};

    return wait_tell(&wait, flow_worker_fixture->fixture, 0, "approved");
}

/* ---- suspending -------------------------------------------------------------------- */

FLOW_TEST(handler, that_suspends_is_called_again_when_its_signal_has_come)
{
    struct env env = {.until = "approved@a"};
    struct weir_execution_id id;
    struct flow_worker_fixture flow_worker_fixture;

    flow_worker_fixture_open(&flow_worker_fixture, fixture);
    id = env_open(&env, &flow_worker_fixture);
    flow_worker_fixture_expect(&flow_worker_fixture, &id, "suspended");
    wait_until(flow_worker_fixture_stats(&flow_worker_fixture).suspended == 1);
    check_int(flow_worker_fixture_stats(&flow_worker_fixture).running, 0);
    check_int(env.begun, 1);

    check_str(env_signal(&env, &flow_worker_fixture, &id), "resumed");
    flow_worker_fixture_expect(&flow_worker_fixture, &id, "completed");
    check_str(env.came.text, "a:approved");
    check_int(env.begun, 2);
    check_str(flow_fixture_attempts(fixture, flow_worker_fixture.eyes, &id).text,
              "0 initial success");
    flow_worker_fixture_close(&flow_worker_fixture);
}

FLOW_TEST(handler, whose_signal_is_faster_than_its_suspension_goes_on)
{
    struct env env = {.until = "approved@a", .asks_before = true};
    struct weir_execution_id id;
    struct flow_worker_fixture flow_worker_fixture;

    flow_worker_fixture_open(&flow_worker_fixture, fixture);
    id = env_open(&env, &flow_worker_fixture);
    wait_until(env.asked == 1);
    check_str(env_signal(&env, &flow_worker_fixture, &id), "buffered");
    env.go = true;

    flow_worker_fixture_expect(&flow_worker_fixture, &id, "completed");
    check_int(env.begun, 1);
    check(env.satisfied);
    wait_until(flow_worker_fixture_stats(&flow_worker_fixture).completed == 1);
    check_int(flow_worker_fixture_stats(&flow_worker_fixture).suspended, 0);
    flow_worker_fixture_close(&flow_worker_fixture);
}

FLOW_TEST(handler, that_has_suspended_has_no_other_answer)
{
    struct env env = {.until = "approved@a", .answers = true, .insists = true};
    struct weir_execution_id id;
    struct flow_worker_fixture flow_worker_fixture;

    flow_worker_fixture_open(&flow_worker_fixture, fixture);
    id = env_open(&env, &flow_worker_fixture);
    wait_until(flow_worker_fixture_stats(&flow_worker_fixture).suspended == 1);

    check_status(env.status, WEIR_CLOSED); /* of the second time */
    check_str(flow_fixture_state(fixture, flow_worker_fixture.eyes, &id), "suspended");
    check_int(flow_worker_fixture_stats(&flow_worker_fixture).completed, 0);
    flow_worker_fixture_close(&flow_worker_fixture);
}

FLOW_TEST(handler, whose_condition_is_wrong_is_told_and_goes_on)
{
    struct env env = {.until = "approved@nobody", .answers = true};
    struct weir_execution_id id;
    struct flow_worker_fixture flow_worker_fixture;

    flow_worker_fixture_open(&flow_worker_fixture, fixture);
    id = env_open(&env, &flow_worker_fixture);

    flow_worker_fixture_expect(&flow_worker_fixture, &id, "completed");
    check_status(env.status, WEIR_INVALID);
    flow_worker_fixture_close(&flow_worker_fixture);
}

/* ---- leases ------------------------------------------------------------------------ */

/* An hour after it has suspended: no lease is kept, and none is missed. */
FLOW_SQLITE_TEST(handler, that_has_suspended_needs_no_lease)
{
    struct env env = {.until = "approved@a", .lingers = true};
    struct weir_execution_id id;
    struct script script;
    struct flow_worker_fixture flow_worker_fixture;
    int loads;

    flow_worker_fixture_open_in(&flow_worker_fixture, fixture, &script);
    id = env_open(&env, &flow_worker_fixture);
    flow_worker_fixture_run(&flow_worker_fixture, WEIR_SECONDS(5));
    check_int(env.said, 1);
    loads = flow_worker_fixture.loads;
    flow_worker_fixture_run(&flow_worker_fixture, WEIR_SECONDS(3600));

    check_int(flow_worker_fixture_stats(&flow_worker_fixture).running, 1);
    check_int(flow_worker_fixture.loads, loads);
    env.go = true;
    flow_worker_fixture_run(&flow_worker_fixture, WEIR_SECONDS(1));
    check(!env.cancelled);
    check_int(flow_worker_fixture_stats(&flow_worker_fixture).suspended, 1);
    check_str(flow_fixture_state(fixture, flow_worker_fixture.eyes, &id), "suspended");
    flow_worker_fixture_close(&flow_worker_fixture);
}

/* The renewer asks between the commit and its reply, and is told that there is no
 * lease. */
FLOW_TEST(renewal, that_meets_a_suspension_does_not_take_it_for_a_lost_lease)
{
    struct env env = {.until = "approved@a"};
    struct weir_execution_id id;
    struct flow_worker_fixture flow_worker_fixture;
    int loads;

    flow_worker_fixture_open_short(&flow_worker_fixture, fixture);
    flow_worker_fixture.holds = true;
    id = env_open(&env, &flow_worker_fixture);
    wait_until(flow_worker_fixture.held == 1);
    loads = flow_worker_fixture.loads;
    wait_until(flow_worker_fixture.loads > loads);
    flow_worker_fixture.holds = false;

    wait_until(flow_worker_fixture_stats(&flow_worker_fixture).suspended == 1);
    check_status(env.status, WEIR_OK);
    check(!env.cancelled);
    check_int(flow_worker_fixture_stats(&flow_worker_fixture).fenced, 0);
    check_str(env_signal(&env, &flow_worker_fixture, &id), "resumed");
    flow_worker_fixture_expect(&flow_worker_fixture, &id, "completed");
    flow_worker_fixture_close(&flow_worker_fixture);
}

FLOW_TEST(handler, that_suspends_too_late_is_fenced_and_gets_the_stop_signal)
{
    struct weir_revocation revocation = {.instance = NULL};
    struct env env = {.until = "approved@a", .asks_before = true};
    struct weir_execution_id id;
    struct flow_worker_fixture flow_worker_fixture;

    flow_worker_fixture_open(&flow_worker_fixture, fixture);
    flow_worker_fixture.options.permits = 1;
    id = env_open(&env, &flow_worker_fixture);
    wait_until(env.asked == 1);
    check_db(weir_execution_revoke(flow_worker_fixture.eyes, &id, &revocation,
                                   &fixture->error),
             WEIR_OK);
    env.go = true;
    wait_until(env.said >= 1);
    check_status(env.first_status, WEIR_FENCED);
    check(env.first_cancelled);

    flow_worker_fixture_expect(&flow_worker_fixture, &id,
                               "suspended"); /* by the next one who was called */
    wait_until(flow_worker_fixture_stats(&flow_worker_fixture).suspended == 1);
    check_int(flow_worker_fixture_stats(&flow_worker_fixture).fenced, 1);
    check_int(env.begun, 2);
    flow_worker_fixture_close(&flow_worker_fixture);
}

/* ---- lost replies ------------------------------------------------------------------ */

FLOW_TEST(suspension, whose_replies_are_lost_is_repeated_and_gives_its_tokens)
{
    struct env env = {.until = "approved@a"};
    struct weir_execution_id id;
    struct flow_worker_fixture flow_worker_fixture;

    flow_worker_fixture_open(&flow_worker_fixture, fixture);
    flow_worker_fixture.doubtful = 1;
    id = env_open(&env, &flow_worker_fixture);
    wait_until(flow_worker_fixture_stats(&flow_worker_fixture).suspended == 1);

    check_status(env.status, WEIR_OK);
    check_int(flow_worker_fixture.commits, 1); /* the second time it was there */
    check_str(env_signal(&env, &flow_worker_fixture, &id), "resumed");
    flow_worker_fixture_expect(&flow_worker_fixture, &id, "completed");
    flow_worker_fixture_close(&flow_worker_fixture);
}

/* It is stored, the reply is lost, and nobody reaches the database until the stop
 * signal. */
FLOW_SQLITE_TEST(answer, after_a_suspension_in_doubt_cannot_end_what_is_suspended)
{
    struct env env = {.until = "approved@a", .answers = true};
    struct weir_execution_id id;
    struct script script;
    struct flow_worker_fixture flow_worker_fixture;

    flow_worker_fixture_open_in(&flow_worker_fixture, fixture, &script);
    flow_worker_fixture.doubtful = 1;
    flow_worker_fixture.vanishes = true;
    id = env_open(&env, &flow_worker_fixture);
    while (env.said == 0)
        flow_worker_fixture_run(&flow_worker_fixture, WEIR_MILLISECONDS(100));
    check_status(env.status, WEIR_IN_DOUBT);
    flow_worker_fixture.gone = false;

    flow_worker_fixture_run(&flow_worker_fixture, WEIR_SECONDS(60));
    check_int(flow_worker_fixture_stats(&flow_worker_fixture).completed, 0);
    check_int(flow_worker_fixture_stats(&flow_worker_fixture).suspended,
              1); /* as it turns out */
    check_str(flow_fixture_state(fixture, flow_worker_fixture.eyes, &id), "suspended");
    flow_worker_fixture_close(&flow_worker_fixture);
}

/* Nothing was stored: when the stop signal comes, three seconds of the lease are left
 * for that. */
FLOW_SQLITE_TEST(execution, that_could_not_be_suspended_is_given_back)
{
    struct env env = {.until = "approved@a", .asks_before = true};
    struct weir_execution_id id;
    struct script script;
    struct flow_worker_fixture flow_worker_fixture;

    flow_worker_fixture_open_in(&flow_worker_fixture, fixture, &script);
    id = env_open(&env, &flow_worker_fixture);
    flow_worker_fixture_run(&flow_worker_fixture, WEIR_SECONDS(1));
    check_int(env.asked, 1);
    flow_worker_fixture.gone = true;
    env.go = true;
    while (env.said == 0)
        flow_worker_fixture_run(&flow_worker_fixture, WEIR_MILLISECONDS(100));
    check(env.first_status != WEIR_OK);
    check(env.first_cancelled);
    flow_worker_fixture.gone = false;

    flow_worker_fixture_run(&flow_worker_fixture, WEIR_SECONDS(60));
    check_str(flow_fixture_state(fixture, flow_worker_fixture.eyes, &id), "suspended");
    check_str(flow_fixture_attempts(fixture, flow_worker_fixture.eyes, &id).text,
              "0 initial running");
    check_int(flow_worker_fixture_stats(&flow_worker_fixture).returned, 1);
    flow_worker_fixture_close(&flow_worker_fixture);
}
