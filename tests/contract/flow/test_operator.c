/*
 * What operators do: cancel, revoke, prioritise, replay.
 */
#include <pthread.h>

#include "contract/flow/flow_fixture.h"

static const struct weir_execution_id NOBODY = {{9, 9, 9}, 3};

/* ---- cancel ------------------------------------------------------------------------ */

FLOW_TEST(cancel, takes_it_from_its_worker_and_ends_it)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_id id = flow_fixture_submit(fixture, executions, "orders");
    struct weir_claim claim = flow_fixture_claim(fixture, executions, "orders", "anna");
    struct flow_fixture_view view;

    check_db(weir_execution_cancel(executions, &id, "not needed", &fixture->error),
             WEIR_OK);

    view = flow_fixture_see(fixture, executions, &id);
    check_int(view.info.state, WEIR_STATE_CANCELLED);
    check_str(view.failure, "not needed");
    check_int(view.info.lease_us, 0);
    check(view.info.epoch > claim.epoch);
    check_str(flow_fixture_attempts(fixture, executions, &id).text,
              "0 initial cancelled");
    weir_executions_destroy(executions);
}

FLOW_TEST(cancel, of_what_was_never_claimed_ends_it_without_an_attempt)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_id id = flow_fixture_submit(fixture, executions, "orders");

    check_db(weir_execution_cancel(executions, &id, NULL, &fixture->error), WEIR_OK);
    check_db(weir_execution_cancel(executions, &id, NULL, &fixture->error),
             WEIR_OK); /* twice */

    check_str(flow_fixture_state(fixture, executions, &id), "cancelled");
    check_int(flow_fixture_attempts(fixture, executions, &id).count, 0);
    weir_executions_destroy(executions);
}

FLOW_TEST(cancel, of_what_has_ended_in_another_way_is_refused)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_id id = flow_fixture_submit(fixture, executions, "orders");
    struct weir_claim claim = flow_fixture_claim(fixture, executions, "orders", "anna");

    flow_fixture_settle(fixture, executions, &claim, WEIR_SETTLE_COMPLETE);

    check_db(weir_execution_cancel(executions, &id, NULL, &fixture->error),
             WEIR_MISMATCH);
    check(strstr(fixture->error.text, "it is completed and cannot be cancelled") != NULL);
    check_str(flow_fixture_state(fixture, executions, &id), "completed");
    weir_executions_destroy(executions);
}

FLOW_TEST(operator, finds_nothing_to_do_to_what_is_not_there)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_revocation revocation = {.instance = NULL};

    check_db(weir_execution_cancel(executions, &NOBODY, NULL, &fixture->error),
             WEIR_NOT_FOUND);
    check(strstr(fixture->error.text, "3-09090900-") != NULL);
    check_db(weir_execution_revoke(executions, &NOBODY, &revocation, &fixture->error),
             WEIR_NOT_FOUND);
    check_db(weir_execution_prioritise(executions, &NOBODY, 1, &fixture->error),
             WEIR_NOT_FOUND);
    check_db(weir_execution_replay(executions, &NOBODY, &fixture->error), WEIR_NOT_FOUND);
    weir_executions_destroy(executions);
}

struct canceller {
    struct weir_executions *executions;
    struct weir_execution_id id;
    pthread_t thread;
    enum weir_status status;
};

static void *cancel_it(void *argument)
{
    struct canceller *self = argument;

    self->status = weir_execution_cancel(self->executions, &self->id, "both", NULL);
    return NULL;
}

FLOW_TEST(cancel, by_two_at_once_happens_once)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_id id = flow_fixture_submit(fixture, executions, "orders");
    struct weir_claim claim = flow_fixture_claim(fixture, executions, "orders", "anna");
    struct canceller two[2] = {{.executions = executions, .id = id},
                               {.executions = executions, .id = id}};

    for (size_t i = 0; i < 2; i++)
        check_int(pthread_create(&two[i].thread, NULL, cancel_it, &two[i]), 0);
    for (size_t i = 0; i < 2; i++) {
        check_int(pthread_join(two[i].thread, NULL), 0);
        check_status(two[i].status, WEIR_OK);
    }

    check_int(flow_fixture_see(fixture, executions, &id).info.epoch, claim.epoch + 1);
    check_int(flow_fixture_attempts(fixture, executions, &id).count, 1);
    weir_executions_destroy(executions);
}

/* ---- revoke ------------------------------------------------------------------------ */

FLOW_TEST(revoke, gives_it_to_the_next_worker_without_counting)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_revocation revocation = {.instance = "anna"};
    struct weir_execution_id id = flow_fixture_submit(fixture, executions, "orders");
    struct weir_claim claim = flow_fixture_claim(fixture, executions, "orders", "anna");
    struct weir_claim next;

    check_db(weir_execution_revoke(executions, &id, &revocation, &fixture->error),
             WEIR_OK);
    check(revocation.revoked);
    check_str(revocation.reason, "");
    check_int(revocation.current.state, WEIR_STATE_WAITING);
    check_int(revocation.current.epoch, claim.epoch + 1);
    next = flow_fixture_claim(fixture, executions, "orders", "bert");

    check(next.epoch > claim.epoch);
    check_int(flow_fixture_see(fixture, executions, &id).info.reclaims, 0);
    check_str(flow_fixture_attempts(fixture, executions, &id).text,
              "0 initial lease_lost, 1 reclaim running");
    weir_executions_destroy(executions);
}

FLOW_TEST(revoke, says_why_there_was_nothing_to_revoke)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_id id = flow_fixture_submit(fixture, executions, "orders");
    struct weir_revocation revocation = {.instance = NULL};
    struct weir_claim claim;

    check_db(weir_execution_revoke(executions, &id, &revocation, &fixture->error),
             WEIR_OK);
    check(!revocation.revoked);
    check_str(revocation.reason, "no_active_lease");
    claim = flow_fixture_claim(fixture, executions, "orders", "anna");
    revocation.instance = "bert";
    check_db(weir_execution_revoke(executions, &id, &revocation, &fixture->error),
             WEIR_OK);
    check_str(revocation.reason, "different_worker_instance_id");
    revocation.instance = NULL;
    revocation.epoch = claim.epoch + 1;
    check_db(weir_execution_revoke(executions, &id, &revocation, &fixture->error),
             WEIR_OK);
    check_str(revocation.reason, "epoch_moved");

    check_int(revocation.current.epoch, claim.epoch);
    check_str(flow_fixture_state(fixture, executions, &id), "active");
    weir_executions_destroy(executions);
}

FLOW_TEST(revoke, twice_finds_nothing_the_second_time)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_id id = flow_fixture_submit(fixture, executions, "orders");
    struct weir_claim claim = flow_fixture_claim(fixture, executions, "orders", "anna");
    struct weir_revocation revocation = {.instance = NULL};

    check_db(weir_execution_revoke(executions, &id, &revocation, &fixture->error),
             WEIR_OK);
    check(revocation.revoked);
    check_db(weir_execution_revoke(executions, &id, &revocation, &fixture->error),
             WEIR_OK);

    check(!revocation.revoked);
    check_str(revocation.reason, "no_active_lease");
    check_int(revocation.current.epoch, claim.epoch + 1);
    weir_executions_destroy(executions);
}

/* ---- priority ---------------------------------------------------------------------- */

FLOW_TEST(prioritise, lets_it_overtake)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_id id;
    struct weir_claim claim;

    (void)flow_fixture_submit(fixture, executions, "orders");
    id = flow_fixture_submit(fixture, executions, "orders");
    check_db(weir_execution_prioritise(executions, &id, 100000, &fixture->error),
             WEIR_OK);
    claim = flow_fixture_claim(fixture, executions, "orders", "anna");

    check(memcmp(claim.id.uuid, id.uuid, WEIR_UUID_SIZE) == 0);
    check_int(flow_fixture_see(fixture, executions, &id).info.priority,
              WEIR_PRIORITY_MAX);
    check_db(weir_execution_prioritise(executions, &id, 1, &fixture->error),
             WEIR_MISMATCH);
    check(strstr(fixture->error.text, "it is active and cannot be given") != NULL);
    flow_fixture_settle(fixture, executions, &claim, WEIR_SETTLE_COMPLETE);
    check_db(weir_execution_prioritise(executions, &id, 1, &fixture->error),
             WEIR_MISMATCH);
    weir_executions_destroy(executions);
}

FLOW_TEST(prioritise, of_what_is_delayed_is_refused)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_draft draft = flow_fixture_draft("orders");
    struct weir_execution_id id;

    draft.delay_ms = 3600000;
    id = flow_fixture_submit_draft(fixture, executions, &draft);

    check_db(weir_execution_prioritise(executions, &id, 1, &fixture->error),
             WEIR_MISMATCH);

    check(strstr(fixture->error.text, "it is delayed and cannot be given") != NULL);
    check_int(flow_fixture_see(fixture, executions, &id).info.priority, 0);
    weir_executions_destroy(executions);
}

/* ---- replay ------------------------------------------------------------------------ */

FLOW_TEST(replay, runs_it_once_more_up_to_its_limit)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_draft draft = flow_fixture_draft("orders");
    struct weir_execution_policy policy;
    struct weir_execution_id id;
    struct weir_claim claim;

    weir_execution_policy_init(&policy);
    policy.replays_max = 1;
    draft.policy = &policy;
    id = flow_fixture_submit_draft(fixture, executions, &draft);
    check_db(weir_execution_replay(executions, &id, &fixture->error), WEIR_MISMATCH);
    check(strstr(fixture->error.text, "it is waiting and cannot be replayed") != NULL);
    claim = flow_fixture_claim(fixture, executions, "orders", "anna");
    flow_fixture_settle(fixture, executions, &claim, WEIR_SETTLE_FAIL);
    check_db(weir_execution_replay(executions, &id, &fixture->error), WEIR_OK);
    check_str(flow_fixture_state(fixture, executions, &id), "waiting");
    claim = flow_fixture_claim(fixture, executions, "orders", "anna");
    flow_fixture_settle(fixture, executions, &claim, WEIR_SETTLE_COMPLETE);

    check_db(weir_execution_replay(executions, &id, &fixture->error), WEIR_MISMATCH);
    check(strstr(fixture->error.text, "replayed 1 time, its limit is 1") != NULL);
    check_str(flow_fixture_attempts(fixture, executions, &id).text,
              "0 initial failed, 1 replay success");
    weir_executions_destroy(executions);
}

/* Nobody is shown what an earlier life came to. */
FLOW_TEST(replay, hides_the_result_until_there_is_another)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_id id = flow_fixture_submit(fixture, executions, "orders");
    struct weir_claim claim = flow_fixture_claim(fixture, executions, "orders", "anna");
    struct weir_settlement empty = {.verb = WEIR_SETTLE_COMPLETE};
    void *result = NULL;
    size_t size = 7;

    flow_fixture_settle(fixture, executions, &claim, WEIR_SETTLE_COMPLETE);
    check_db(weir_execution_replay(executions, &id, &fixture->error), WEIR_OK);
    check_db(weir_execution_result(executions, &id, &result, &size, &fixture->error),
             WEIR_NO_ROW);
    empty.claim = flow_fixture_claim(fixture, executions, "orders", "anna");
    check_db(weir_execution_settle(executions, &empty, 1, &fixture->error), WEIR_OK);

    check_db(weir_execution_result(executions, &id, &result, &size, &fixture->error),
             WEIR_OK);
    check_int(size, 0);
    check(result == NULL);
    weir_executions_destroy(executions);
}
