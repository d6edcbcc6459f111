/*
 * The reconciler of suspensions that take too long: what it does with them, and who
 * wins against it.
 */
#include "contract/flow/reconcile/supervisor_fixture.h"
#include "contract/flow/wait/suspended.h"

/* Suspended for a moment, with `on_timeout` for what then becomes of it. */
static void open_briefly(struct wait *self, struct fixture *fixture,
                         struct weir_executions *executions,
                         enum weir_on_timeout on_timeout)
{
    wait_claim(self, fixture, executions);
    self->options.timeout_ms = 50;
    self->options.on_timeout = on_timeout;
    check(!wait_suspend(self, fixture, "ok@a"));
}

static bool is(struct fixture *fixture, const struct wait *wait, const char *state)
{
    return strcmp(flow_fixture_state(fixture, wait->executions, &wait->id), state) == 0;
}

FLOW_TEST(suspension_timeout, ends_it_as_was_said_and_closes_its_waitpoints)
{
    static const struct {
        enum weir_on_timeout what;
        const char *state, *failure;
    } CASES[] = {
        {WEIR_TIMEOUT_FAIL, "failed", "suspension_timeout:fail"},
        {WEIR_TIMEOUT_CANCEL, "cancelled", "suspension_timeout:cancel"},
        {WEIR_TIMEOUT_EXPIRE, "expired", "suspension_timeout:expire"},
    };
    struct patrol patrol;
    struct supervisor_fixture supervisor_fixture;

    supervisor_fixture_open_with_news(&supervisor_fixture, fixture);
    patrol_open_with_news(&patrol, fixture);
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        struct wait wait;

        open_briefly(&wait, fixture, supervisor_fixture.executions, CASES[i].what);
        wait_until(is(fixture, &wait, CASES[i].state));
        check_str(
            flow_fixture_see(fixture, supervisor_fixture.executions, &wait.id).failure,
            CASES[i].failure);
        check_str(wait_waitpoints(&wait, fixture).text,
                  "a:closed, b:closed, c:closed, d:closed");
        check_str(wait_tell(&wait, fixture, 0, "ok"), "late");
        check_str(flow_fixture_state(fixture, supervisor_fixture.executions, &wait.id),
                  CASES[i].state);
    }
    wait_until(atomic_load(&supervisor_fixture.news.ended) == 3);
    patrol_close(&patrol);
    supervisor_fixture_close(&supervisor_fixture);
}

FLOW_TEST(suspension_timeout, that_resumes_tells_the_worker_by_a_signal)
{
    struct patrol patrol;
    struct supervisor_fixture supervisor_fixture;
    struct wait wait;

    supervisor_fixture_open(&supervisor_fixture, fixture);
    patrol_open(&patrol, fixture);
    open_briefly(&wait, fixture, supervisor_fixture.executions, WEIR_TIMEOUT_RESUME);
    wait_until(is(fixture, &wait, "resumable"));
    check_str(wait_signals(&wait, fixture).text, ":timeout");
    wait.claim =
        flow_fixture_claim(fixture, supervisor_fixture.executions, "orders", "bert");
    flow_fixture_settle(fixture, supervisor_fixture.executions, &wait.claim,
                        WEIR_SETTLE_COMPLETE);
    check_str(
        flow_fixture_attempts(fixture, supervisor_fixture.executions, &wait.id).text,
        "0 initial success");
    patrol_close(&patrol);
    supervisor_fixture_close(&supervisor_fixture);
}

FLOW_TEST(suspension_timeout, that_escalates_leaves_it_to_an_operator_and_to_signals)
{
    struct patrol patrol;
    struct supervisor_fixture supervisor_fixture;
    struct wait wait;

    supervisor_fixture_open(&supervisor_fixture, fixture);
    patrol_open(&patrol, fixture);
    open_briefly(&wait, fixture, supervisor_fixture.executions, WEIR_TIMEOUT_ESCALATE);
    wait_until(strcmp(flow_fixture_see(fixture, supervisor_fixture.executions, &wait.id)
                          .info.blocked_by,
                      "paused_by_operator") == 0);
    check_str(flow_fixture_state(fixture, supervisor_fixture.executions, &wait.id),
              "suspended");
    check_str(wait_tell(&wait, fixture, 0, "ok"), "resumed");
    patrol_close(&patrol);
    supervisor_fixture_close(&supervisor_fixture);
}

/* The signal has the row; the timeout comes when it is done, and finds nothing to do. */
FLOW_TEST(suspension_timeout, loses_against_a_signal_that_came_first)
{
    struct patrol patrol;
    struct supervisor_fixture supervisor_fixture;
    struct wait wait;

    supervisor_fixture_open(&supervisor_fixture, fixture);
    open_briefly(&wait, fixture, supervisor_fixture.executions, WEIR_TIMEOUT_FAIL);
    fixture_prepare(fixture, "UPDATE {p}_execution SET due_us = 1 WHERE state = 5");
    check_str(wait_tell(&wait, fixture, 0, "ok"), "resumed");
    wait.claim =
        flow_fixture_claim(fixture, supervisor_fixture.executions, "orders", "bert");
    patrol_open(&patrol, fixture);
    flow_fixture_settle(fixture, supervisor_fixture.executions, &wait.claim,
                        WEIR_SETTLE_COMPLETE);
    patrol_close(&patrol);
    check_str(flow_fixture_state(fixture, supervisor_fixture.executions, &wait.id),
              "completed");
    supervisor_fixture_close(&supervisor_fixture);
}

FLOW_TEST(suspension_timeout, by_two_supervisors_happens_once)
{
    enum { WAITS = 40 };
    struct patrol first, second;
    struct supervisor_fixture supervisor_fixture;
    struct wait wait;

    supervisor_fixture_open_with_news(&supervisor_fixture, fixture);
    for (int i = 0; i < WAITS; i++)
        open_briefly(&wait, fixture, supervisor_fixture.executions, WEIR_TIMEOUT_EXPIRE);
    patrol_open_with_news(&first, fixture);
    patrol_open_with_news(&second, fixture);
    wait_until(atomic_load(&supervisor_fixture.news.ended_expired) == WAITS);
    patrol_close(&first);
    patrol_close(&second);
    check_int(atomic_load(&supervisor_fixture.news.ended), WAITS);
    supervisor_fixture_close(&supervisor_fixture);
}
