/*
 * The reconciler of suspensions that take too long: what it does with them, and who wins against it.
 */
#include "contract/flow/waits.h"
#include "contract/flow/yard.h"

/* Suspended for a moment, with `on_timeout` for what then becomes of it. */
static void open_briefly(struct wait *self, struct fixture *fixture,
                         struct weir_flow *flow, enum weir_on_timeout on_timeout)
{
    wait_claim(self, fixture, flow);
    self->options.timeout_ms = 50;
    self->options.on_timeout = on_timeout;
    check(!wait_suspend(self, fixture, "ok@a"));
}

static bool is(struct fixture *fixture, const struct wait *wait, const char *state)
{
    return strcmp(works_state(fixture, wait->flow, &wait->id), state) == 0;
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
    struct yard yard;

    yard_open_with_news(&yard, fixture);
    patrol_open_with_news(&patrol, fixture);
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        struct wait wait;

        open_briefly(&wait, fixture, yard.flow, CASES[i].what);
        wait_until(is(fixture, &wait, CASES[i].state));
        check_str(works_see(fixture, yard.flow, &wait.id).failure, CASES[i].failure);
        check_str(wait_waitpoints(&wait, fixture).text,
                  "a:closed, b:closed, c:closed, d:closed");
        check_str(wait_tell(&wait, fixture, 0, "ok"), "late");
        check_str(works_state(fixture, yard.flow, &wait.id), CASES[i].state);
    }
    wait_until(atomic_load(&yard.news.ended) == 3);
    patrol_close(&patrol);
    yard_close(&yard);
}

FLOW_TEST(suspension_timeout, that_resumes_tells_the_worker_by_a_signal)
{
    struct patrol patrol;
    struct yard yard;
    struct wait wait;

    yard_open(&yard, fixture);
    patrol_open(&patrol, fixture);
    open_briefly(&wait, fixture, yard.flow, WEIR_TIMEOUT_RESUME);
    wait_until(is(fixture, &wait, "resumable"));
    check_str(wait_signals(&wait, fixture).text, ":timeout");
    wait.claim = works_claim(fixture, yard.flow, "orders", "bert");
    works_settle(fixture, yard.flow, &wait.claim, WEIR_SETTLE_COMPLETE);
    check_str(works_attempts(fixture, yard.flow, &wait.id).text, "0 initial success");
    patrol_close(&patrol);
    yard_close(&yard);
}

FLOW_TEST(suspension_timeout, that_escalates_leaves_it_to_an_operator_and_to_signals)
{
    struct patrol patrol;
    struct yard yard;
    struct wait wait;

    yard_open(&yard, fixture);
    patrol_open(&patrol, fixture);
    open_briefly(&wait, fixture, yard.flow, WEIR_TIMEOUT_ESCALATE);
    wait_until(strcmp(works_see(fixture, yard.flow, &wait.id).info.blocked_by,
                      "paused_by_operator") == 0);
    check_str(works_state(fixture, yard.flow, &wait.id), "suspended");
    check_str(wait_tell(&wait, fixture, 0, "ok"), "resumed");
    patrol_close(&patrol);
    yard_close(&yard);
}

/* The signal has the row; the timeout comes when it is done, and finds nothing to do. */
FLOW_TEST(suspension_timeout, loses_against_a_signal_that_came_first)
{
    struct patrol patrol;
    struct yard yard;
    struct wait wait;

    yard_open(&yard, fixture);
    open_briefly(&wait, fixture, yard.flow, WEIR_TIMEOUT_FAIL);
    fixture_prepare(fixture, "UPDATE {p}_execution SET due_us = 1 WHERE state = 5");
    check_str(wait_tell(&wait, fixture, 0, "ok"), "resumed");
    wait.claim = works_claim(fixture, yard.flow, "orders", "bert");
    patrol_open(&patrol, fixture);
    works_settle(fixture, yard.flow, &wait.claim, WEIR_SETTLE_COMPLETE);
    patrol_close(&patrol);
    check_str(works_state(fixture, yard.flow, &wait.id), "completed");
    yard_close(&yard);
}

FLOW_TEST(suspension_timeout, by_two_supervisors_happens_once)
{
    enum { WAITS = 40 };
    struct patrol first, second;
    struct yard yard;
    struct wait wait;

    yard_open_with_news(&yard, fixture);
    for (int i = 0; i < WAITS; i++)
        open_briefly(&wait, fixture, yard.flow, WEIR_TIMEOUT_EXPIRE);
    patrol_open_with_news(&first, fixture);
    patrol_open_with_news(&second, fixture);
    wait_until(atomic_load(&yard.news.ended_expired) == WAITS);
    patrol_close(&first);
    patrol_close(&second);
    check_int(atomic_load(&yard.news.ended), WAITS);
    yard_close(&yard);
}
