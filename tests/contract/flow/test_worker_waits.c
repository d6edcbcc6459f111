/*
 * Handlers that wait for the world: what they get, what the worker makes of it, and what happens when
 * leases are lost, renewed or in doubt meanwhile.
 */
#include "contract/flow/gang.h"
#include "contract/flow/waits.h"

/* An office: its handler asks for an answer and waits for it, unless there is one. */
struct office {
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

static void office_suspend(struct office *self, struct weir_task *task)
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

static enum weir_answer office_handle(struct weir_context *context, void *state,
                                      struct weir_task *task)
{
    struct office *self = state;

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
    office_suspend(self, task);
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
static struct weir_execution_id office_open(struct office *self, struct gang *gang)
{
    struct fixture *fixture = gang->fixture;

    check_db(weir_flow_worker_create(&gang->options, &gang->worker, &fixture->error),
             WEIR_OK);
    check_db(
        weir_flow_worker_add(gang->worker, "ask", office_handle, self, &fixture->error),
        WEIR_OK);
    gang_start(gang);
    return gang_submit(gang, "ask");
}

/* What the signal did, with the token that the handler got. */
static const char *office_signal(struct office *self, struct gang *gang,
                                 const struct weir_execution_id *id)
{
    struct wait wait = {.flow = gang->eyes, .id = *id, .waitpoints = {self->setup}};

    return wait_tell(&wait, gang->fixture, 0, "approved");
}

/* ---- suspending ------------------------------------------------------------------------------ */

FLOW_TEST(handler, that_suspends_is_called_again_when_its_signal_has_come)
{
    struct office office = {.until = "approved@a"};
    struct weir_execution_id id;
    struct gang gang;

    gang_open(&gang, fixture);
    id = office_open(&office, &gang);
    gang_expect(&gang, &id, "suspended");
    wait_until(gang_stats(&gang).suspended == 1);
    check_int(gang_stats(&gang).running, 0);
    check_int(office.begun, 1);

    check_str(office_signal(&office, &gang, &id), "resumed");
    gang_expect(&gang, &id, "completed");
    check_str(office.came.text, "a:approved");
    check_int(office.begun, 2);
    check_str(works_attempts(fixture, gang.eyes, &id).text, "0 initial success");
    gang_close(&gang);
}

FLOW_TEST(handler, whose_signal_is_faster_than_its_suspension_goes_on)
{
    struct office office = {.until = "approved@a", .asks_before = true};
    struct weir_execution_id id;
    struct gang gang;

    gang_open(&gang, fixture);
    id = office_open(&office, &gang);
    wait_until(office.asked == 1);
    check_str(office_signal(&office, &gang, &id), "buffered");
    office.go = true;

    gang_expect(&gang, &id, "completed");
    check_int(office.begun, 1);
    check(office.satisfied);
    wait_until(gang_stats(&gang).completed == 1);
    check_int(gang_stats(&gang).suspended, 0);
    gang_close(&gang);
}

FLOW_TEST(handler, that_has_suspended_has_no_other_answer)
{
    struct office office = {.until = "approved@a", .answers = true, .insists = true};
    struct weir_execution_id id;
    struct gang gang;

    gang_open(&gang, fixture);
    id = office_open(&office, &gang);
    wait_until(gang_stats(&gang).suspended == 1);

    check_status(office.status, WEIR_CLOSED); /* of the second time */
    check_str(works_state(fixture, gang.eyes, &id), "suspended");
    check_int(gang_stats(&gang).completed, 0);
    gang_close(&gang);
}

FLOW_TEST(handler, whose_condition_is_wrong_is_told_and_goes_on)
{
    struct office office = {.until = "approved@nobody", .answers = true};
    struct weir_execution_id id;
    struct gang gang;

    gang_open(&gang, fixture);
    id = office_open(&office, &gang);

    gang_expect(&gang, &id, "completed");
    check_status(office.status, WEIR_INVALID);
    gang_close(&gang);
}

/* ---- leases ---------------------------------------------------------------------------------- */

/* An hour after it has suspended: no lease is kept, and none is missed. */
FLOW_SQLITE_TEST(handler, that_has_suspended_needs_no_lease)
{
    struct office office = {.until = "approved@a", .lingers = true};
    struct weir_execution_id id;
    struct script script;
    struct gang gang;
    int loads;

    gang_open_in(&gang, fixture, &script);
    id = office_open(&office, &gang);
    gang_run(&gang, WEIR_SECONDS(5));
    check_int(office.said, 1);
    loads = gang.loads;
    gang_run(&gang, WEIR_SECONDS(3600));

    check_int(gang_stats(&gang).running, 1);
    check_int(gang.loads, loads);
    office.go = true;
    gang_run(&gang, WEIR_SECONDS(1));
    check(!office.cancelled);
    check_int(gang_stats(&gang).suspended, 1);
    check_str(works_state(fixture, gang.eyes, &id), "suspended");
    gang_close(&gang);
}

/* The renewer asks between the commit and its reply, and is told that there is no lease. */
FLOW_TEST(renewal, that_meets_a_suspension_does_not_take_it_for_a_lost_lease)
{
    struct office office = {.until = "approved@a"};
    struct weir_execution_id id;
    struct gang gang;
    int loads;

    gang_open_short(&gang, fixture);
    gang.holds = true;
    id = office_open(&office, &gang);
    wait_until(gang.held == 1);
    loads = gang.loads;
    wait_until(gang.loads > loads);
    gang.holds = false;

    wait_until(gang_stats(&gang).suspended == 1);
    check_status(office.status, WEIR_OK);
    check(!office.cancelled);
    check_int(gang_stats(&gang).fenced, 0);
    check_str(office_signal(&office, &gang, &id), "resumed");
    gang_expect(&gang, &id, "completed");
    gang_close(&gang);
}

FLOW_TEST(handler, that_suspends_too_late_is_fenced_and_gets_the_stop_signal)
{
    struct weir_revocation revocation = {.instance = NULL};
    struct office office = {.until = "approved@a", .asks_before = true};
    struct weir_execution_id id;
    struct gang gang;

    gang_open(&gang, fixture);
    gang.options.permits = 1;
    id = office_open(&office, &gang);
    wait_until(office.asked == 1);
    check_db(weir_flow_revoke(gang.eyes, &id, &revocation, &fixture->error), WEIR_OK);
    office.go = true;
    wait_until(office.said >= 1);
    check_status(office.first_status, WEIR_FENCED);
    check(office.first_cancelled);

    gang_expect(&gang, &id, "suspended"); /* by the next one who was called */
    wait_until(gang_stats(&gang).suspended == 1);
    check_int(gang_stats(&gang).fenced, 1);
    check_int(office.begun, 2);
    gang_close(&gang);
}

/* ---- lost replies ---------------------------------------------------------------------------- */

FLOW_TEST(suspension, whose_replies_are_lost_is_repeated_and_gives_its_tokens)
{
    struct office office = {.until = "approved@a"};
    struct weir_execution_id id;
    struct gang gang;

    gang_open(&gang, fixture);
    gang.doubtful = 1;
    id = office_open(&office, &gang);
    wait_until(gang_stats(&gang).suspended == 1);

    check_status(office.status, WEIR_OK);
    check_int(gang.commits, 1); /* the second time it was there */
    check_str(office_signal(&office, &gang, &id), "resumed");
    gang_expect(&gang, &id, "completed");
    gang_close(&gang);
}

/* It is stored, the reply is lost, and nobody reaches the database until the stop signal. */
FLOW_SQLITE_TEST(answer, after_a_suspension_in_doubt_cannot_end_what_is_suspended)
{
    struct office office = {.until = "approved@a", .answers = true};
    struct weir_execution_id id;
    struct script script;
    struct gang gang;

    gang_open_in(&gang, fixture, &script);
    gang.doubtful = 1;
    gang.vanishes = true;
    id = office_open(&office, &gang);
    while (office.said == 0)
        gang_run(&gang, WEIR_MILLISECONDS(100));
    check_status(office.status, WEIR_IN_DOUBT);
    gang.gone = false;

    gang_run(&gang, WEIR_SECONDS(60));
    check_int(gang_stats(&gang).completed, 0);
    check_int(gang_stats(&gang).suspended, 1); /* as it turns out */
    check_str(works_state(fixture, gang.eyes, &id), "suspended");
    gang_close(&gang);
}

/* Nothing was stored: when the stop signal comes, three seconds of the lease are left for that. */
FLOW_SQLITE_TEST(execution, that_could_not_be_suspended_is_given_back)
{
    struct office office = {.until = "approved@a", .asks_before = true};
    struct weir_execution_id id;
    struct script script;
    struct gang gang;

    gang_open_in(&gang, fixture, &script);
    id = office_open(&office, &gang);
    gang_run(&gang, WEIR_SECONDS(1));
    check_int(office.asked, 1);
    gang.gone = true;
    office.go = true;
    while (office.said == 0)
        gang_run(&gang, WEIR_MILLISECONDS(100));
    check(office.first_status != WEIR_OK);
    check(office.first_cancelled);
    gang.gone = false;

    gang_run(&gang, WEIR_SECONDS(60));
    check_str(works_state(fixture, gang.eyes, &id), "suspended");
    check_str(works_attempts(fixture, gang.eyes, &id).text, "0 initial running");
    check_int(gang_stats(&gang).returned, 1);
    gang_close(&gang);
}
