/*
 * What there is to know about a suspension: the open one, or the last.
 */
#include "contract/flow/reconcile/supervisor_fixture.h"
#include "contract/flow/wait/suspended.h"

/* An info whose texts stay. */
struct sight {
    struct weir_suspension_info info;
    char until[64];
    char missing[128];
    char parts[128]; /* "ok@a 1/1, 2 of sources vote@(b, c) 0/2" */
    int visits;
};

static void note(void *state, const struct weir_suspension_info *info)
{
    struct sight *self = state;
    size_t used = 0;

    self->info = *info;
    self->visits++;
    (void)snprintf(self->until, sizeof self->until, "%s", info->until);
    (void)snprintf(self->missing, sizeof self->missing, "%s", info->missing);
    for (size_t i = 0; i < info->part_count; i++)
        used += (size_t)snprintf(self->parts + used, sizeof self->parts - used,
                                 "%s%s %u/%u", i > 0 ? ", " : "", info->parts[i].text,
                                 (unsigned)info->parts[i].found,
                                 (unsigned)info->parts[i].wanted);
}

static struct sight see(struct wait *self, struct fixture *fixture)
{
    struct sight sight = {.until = ""};

    check_db(weir_execution_suspension(self->executions, &self->id, note, &sight,
                                       &fixture->error),
             WEIR_OK);
    check_int(sight.visits, 1);
    return sight;
}

FLOW_TEST(suspension, says_what_it_waits_for_and_how_long)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct sight sight;
    struct wait wait;

    wait_claim(&wait, fixture, executions);
    wait.options.reason = WEIR_SUSPEND_APPROVAL;
    wait.options.timeout_ms = 3600000;
    wait.options.on_timeout = WEIR_TIMEOUT_EXPIRE;
    wait.options.resume_delay_ms = 5000;
    check(!wait_suspend(&wait, fixture, "approved@a"));

    sight = see(&wait, fixture);
    check_str(sight.until, "approved@a");
    check_str(sight.missing, "approved@a");
    check_str(weir_suspend_reason_name(sight.info.reason), "approval");
    check_str(weir_on_timeout_name(sight.info.on_timeout), "expire");
    check_int(sight.info.timeout_us - sight.info.since_us, 3600000000);
    check_int(sight.info.resume_delay_ms, 5000);
    check_int(sight.info.ended_us, 0);
    check(!sight.info.escalated);
    weir_executions_destroy(executions);
}

FLOW_TEST(suspension, names_the_parts_that_are_missing)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct sight sight;
    struct wait wait;

    wait_open(&wait, fixture, executions,
              "all(ok@c, all(2 of sources vote@(a, b), operator))");
    check_str(wait_tell(&wait, fixture, 0, "vote"), "kept");
    check_str(wait_tell(&wait, fixture, 1, "vote"), "kept"); /* of the same source */
    sight = see(&wait, fixture);
    check_str(sight.missing, "ok@c; 1 of 2 sources, vote@(a, b); an operator");
    check_str(sight.parts, "ok@c 0/1, 2 of sources vote@(a, b) 1/2, operator 0/1");

    check_str(wait_tell(&wait, fixture, 2, "ok"), "kept");
    check_str(see(&wait, fixture).missing, "1 of 2 sources, vote@(a, b); an operator");
    weir_executions_destroy(executions);
}

FLOW_TEST(suspension, that_has_ended_is_told_until_the_next_one)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct sight sight;
    struct wait wait;

    wait_open(&wait, fixture, executions, "ok@a");
    check_str(wait_tell(&wait, fixture, 0, "ok"), "resumed");
    sight = see(&wait, fixture);
    check_str(sight.until, "ok@a");
    check_str(sight.missing, "");
    check(sight.info.ended_us >= sight.info.since_us);

    wait.claim = flow_fixture_claim(fixture, executions, "orders", "bert");
    for (size_t i = 0; i < 4; i++)
        memset(wait.waitpoints[i].uuid, 0, WEIR_UUID_SIZE);
    check(!wait_suspend(&wait, fixture, "all(ok@a, ok@b)"));
    sight = see(&wait, fixture);
    check_str(sight.missing, "ok@a; ok@b");
    check_int(sight.info.ended_us, 0);
    weir_executions_destroy(executions);
}

FLOW_TEST(suspension, that_was_cancelled_says_what_was_missing)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct sight sight;
    struct wait wait;

    wait_open(&wait, fixture, executions, "all(ok@a, ok@b)");
    check_str(wait_tell(&wait, fixture, 1, "ok"), "kept");
    check_db(weir_execution_cancel(executions, &wait.id, "no", &fixture->error), WEIR_OK);
    sight = see(&wait, fixture);
    check_str(sight.missing, "ok@a");
    check(sight.info.ended_us > 0);
    weir_executions_destroy(executions);
}

FLOW_TEST(suspension, does_not_count_what_came_for_the_next_one)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct sight sight;
    struct wait wait;

    wait_open(&wait, fixture, executions, "all(ok@a, ok@b)");
    check_db(weir_execution_resume(executions, &wait.id, 0, &fixture->error), WEIR_OK);
    wait.claim = flow_fixture_claim(fixture, executions, "orders", "bert");
    memset(wait.waitpoints[0].uuid, 0, WEIR_UUID_SIZE);
    check_db(weir_execution_waitpoint(executions, &wait.claim, &wait.waitpoints[0], 60000,
                                      NULL, &fixture->error),
             WEIR_OK);
    check_str(wait_tell(&wait, fixture, 0, "ok"), "buffered");
    check_str(see(&wait, fixture).missing, "ok@a; ok@b");

    wait.options.waitpoint_count = 1;
    check(wait_suspend(&wait, fixture, "ok@a")); /* over as soon as it began */
    sight = see(&wait, fixture);
    check_str(sight.until, "ok@a");
    check_str(sight.missing, "");
    check_int(sight.info.ended_us, sight.info.since_us);
    weir_executions_destroy(executions);
}

FLOW_TEST(suspension, that_takes_too_long_is_escalated_and_keeps_its_reason)
{
    struct patrol patrol;
    struct sight sight;
    struct supervisor_fixture supervisor_fixture;
    struct wait wait;

    supervisor_fixture_open(&supervisor_fixture, fixture);
    patrol_open(&patrol, fixture);
    wait_claim(&wait, fixture, supervisor_fixture.executions);
    wait.options.timeout_ms = 50;
    wait.options.on_timeout = WEIR_TIMEOUT_ESCALATE;
    wait.options.reason = WEIR_SUSPEND_APPROVAL;
    check(!wait_suspend(&wait, fixture, "ok@a"));
    wait_until(see(&wait, fixture).info.escalated);
    sight = see(&wait, fixture);
    check_int(sight.info.reason, WEIR_SUSPEND_APPROVAL);
    check_int(sight.info.timeout_us - sight.info.since_us, 50000);
    check_int(sight.info.ended_us, 0);

    check_db(weir_execution_resume(supervisor_fixture.executions, &wait.id, 0,
                                   &fixture->error),
             WEIR_OK);
    check(!see(&wait, fixture).info.escalated);
    patrol_close(&patrol);
    supervisor_fixture_close(&supervisor_fixture);
}

FLOW_TEST(suspension, of_what_never_was_suspended_is_no_row_and_of_nothing_not_found)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_id id = flow_fixture_submit(fixture, executions, "orders");
    struct sight sight = {.visits = 0};

    check_db(weir_execution_suspension(executions, &id, note, &sight, &fixture->error),
             WEIR_NO_ROW);
    check(strstr(fixture->error.text, "has never been suspended") != NULL);
    id.uuid[3] ^= 1;
    check_db(weir_execution_suspension(executions, &id, note, &sight, &fixture->error),
             WEIR_NOT_FOUND);
    check_int(sight.visits, 0);
    weir_executions_destroy(executions);
}
