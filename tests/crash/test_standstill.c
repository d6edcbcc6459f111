/*
 * A process that is stopped inside a transaction of the library, and everybody else.
 *
 * A server ends a session that is idle in such a transaction for two seconds, so what
 * it has locked becomes free and the others go on while it still stands there.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "base/fault_point.h"
#include "contract/db/child.h"
#include "contract/flow/flow_fixture.h"
#include "db/db.h"
#include "kit/outbox/outbox_fixture.h"
#include "outbox/outbox.h"
#include "weir/budget.h"

enum { PAST = 300 }; /* messages: more than some of the small segments hold */

struct victim {
    struct fixture *fixture;
    const char *point; /* where it stops */
    uint64_t pass;     /* at which pass */
};

static void stop_here(void *argument)
{
    (void)argument;
    (void)raise(SIGSTOP);
}

/* In the child: a database of its own that stops the process. */
static struct weir_db *open_victim(const struct victim *self,
                                   struct weir_fault_points *points)
{
    struct weir_db_options options = fixture_options(self->fixture);
    struct weir_db *db = fixture_open(self->fixture, &options);

    weir_fault_points_init(points);
    weir_fault_points_arm_call(points, self->point, self->pass, stop_here, NULL);
    weir_db_set_fault_points(db, points);
    return db;
}

/* Returns when it has stopped; it must. */
static pid_t start_victim(child_fn body, struct victim *victim)
{
    pid_t pid = child_start(body, victim);
    int state = 0;

    while (waitpid(pid, &state, WUNTRACED) != pid)
        check_int(errno, EINTR);
    if (!WIFSTOPPED(state))
        weir_test_fail(__FILE__, __LINE__, "the process did not come to %s",
                       victim->point);
    return pid;
}

/* It has not moved all this time. */
static void end_victim(pid_t pid)
{
    check_int(kill(pid, SIGKILL), 0);
    check_int(child_wait(pid), -SIGKILL);
}

/* ---- delivering -------------------------------------------------------------------- */

static int deliver_until_stopped(void *argument)
{
    struct victim *self = argument;
    struct weir_fault_points points;
    struct weir_outbox_options options = outbox_fixture_options(self->fixture, "victim");
    struct weir_outbox *outbox;

    options.db = open_victim(self, &points);
    outbox = outbox_fixture_create(self->fixture, &options);
    weir_outbox_set_fault_points(outbox, &points);
    outbox_fixture_serve(self->fixture, outbox, "orders", recorder_new());
    outbox_fixture_start(self->fixture, outbox);
    (void)pause();
    return EXIT_FAILURE;
}

OUTBOX_MARIADB_TEST(standstill, in_a_move_keeps_no_message_of_others)
{
    struct victim victim = {.fixture = fixture, .point = "move.pick", .pass = 1};
    struct recorder *recorder = recorder_new();
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");
    pid_t pid;

    outbox_fixture_queue(fixture, outbox, "orders", 1);
    outbox_fixture_queue(fixture, outbox, "bills", 1);
    outbox_fixture_send(fixture, outbox, "orders", 0, 1);
    pid = start_victim(deliver_until_stopped, &victim);

    outbox_fixture_serve(fixture, outbox, "bills", recorder);
    outbox_fixture_start(fixture, outbox);
    outbox_fixture_send(fixture, outbox, "bills", 0, 1);
    wait_until(recorder_count(recorder) == 1);

    end_victim(pid);
    outbox_fixture_close(outbox);
}

/* ---- sweeping ---------------------------------------------------------------------- */

static int sweep_until_stopped(void *argument)
{
    struct victim *self = argument;
    struct fixture own = *self->fixture;
    struct weir_fault_points points;
    struct weir_outbox *outbox;

    own.db = open_victim(self, &points);
    outbox = outbox_fixture_sweeping(&own, "victim");
    weir_outbox_set_fault_points(outbox, &points);
    outbox_fixture_serve(&own, outbox, "orders", recorder_new());
    outbox_fixture_start(&own, outbox);
    (void)pause();
    return EXIT_FAILURE;
}

/* It has a leaf of the log for itself, into which the application enqueues. */
OUTBOX_POSTGRESQL_TEST(standstill, in_a_sweep_keeps_nobody_from_enqueueing)
{
    struct victim victim = {.fixture = fixture, .point = "sweep.locked", .pass = 1};
    struct weir_outbox *outbox;
    pid_t pid;

    outbox_small_segments(fixture, 6);
    outbox = outbox_fixture_outbox(fixture, "anna");
    outbox_fixture_queue(fixture, outbox, "orders", 1);
    for (int i = 0; i < PAST; i++)
        outbox_fixture_send(fixture, outbox, "orders", 0, 1);
    pid = start_victim(sweep_until_stopped, &victim);

    for (int i = 0; i < PAST; i++) /* a round through all leaves */
        outbox_fixture_send(fixture, outbox, "orders", 0, 1);

    end_victim(pid);
    outbox_fixture_close(outbox);
}

/* ---- a budget ---------------------------------------------------------------------- */

static enum weir_status spend(struct fixture *fixture, struct weir_executions *executions)
{
    struct weir_amount amount = {"tokens", 1};
    struct weir_budget_answer answer;

    return weir_budget_report(executions, "llm", NULL, &amount, 1, NULL, &answer,
                              &fixture->error);
}

static int report_until_stopped(void *argument)
{
    struct victim *self = argument;
    struct weir_fault_points points;
    struct weir_executions *executions =
        flow_fixture_open_with(self->fixture, open_victim(self, &points), NULL);

    return spend(self->fixture, executions) == WEIR_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}

FLOW_POSTGRESQL_TEST(standstill, in_a_report_keeps_nobody_from_the_budget)
{
    const struct weir_budget_limit limit = {"tokens", 100, 80};
    struct weir_budget_draft draft = {.name = "llm", .limits = &limit, .limit_count = 1};
    struct victim victim = {.fixture = fixture, .point = "db.commit", .pass = 1};
    struct weir_executions *executions = flow_fixture_open(fixture);
    pid_t pid;

    check_db(weir_budget_create(executions, &draft, NULL, &fixture->error), WEIR_OK);
    pid = start_victim(report_until_stopped, &victim);

    check_db(spend(fixture, executions), WEIR_OK);

    end_victim(pid);
    weir_executions_destroy(executions);
}
