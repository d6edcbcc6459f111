/*
 * The epoch of an execution: who does not have the current one changes nothing, in
 * whatever state it is and however it came there.
 */
#include <pthread.h>

#include "contract/flow/flow_fixture.h"
#include "contract/flow/reconcile/supervisor_fixture.h"

static const char *const ORDERS = "orders";

/* ---- who gets it ------------------------------------------------------------------- */

FLOW_TEST(claim, of_what_another_holds_gives_nothing)
{
    const struct weir_claim_options bert = flow_fixture_claimant(&ORDERS, "bert");
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_id id = flow_fixture_submit(fixture, executions, "orders");
    struct weir_claim held = flow_fixture_claim(fixture, executions, "orders", "anna");
    struct weir_claim claim;

    check_int(flow_fixture_claim_many(fixture, executions, &bert, &claim, 1), 0);

    check_int(flow_fixture_see(fixture, executions, &id).info.epoch, held.epoch);
    check_str(flow_fixture_see(fixture, executions, &id).instance, "anna");
    weir_executions_destroy(executions);
}

FLOW_TEST(claim, of_what_is_delayed_or_over_gives_nothing)
{
    const struct weir_claim_options anna = flow_fixture_claimant(&ORDERS, "anna");
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_draft draft = flow_fixture_draft("orders");
    struct weir_execution_id id;
    struct weir_claim claim;

    id = flow_fixture_submit_draft(fixture, executions, &draft);
    claim = flow_fixture_claim(fixture, executions, "orders", "anna");
    flow_fixture_settle(fixture, executions, &claim, WEIR_SETTLE_COMPLETE);
    id = flow_fixture_submit_draft(fixture, executions, &draft);
    check_db(weir_execution_cancel(executions, &id, NULL, &fixture->error), WEIR_OK);
    draft.delay_ms = 3600000;
    (void)flow_fixture_submit_draft(fixture, executions, &draft);

    check_int(flow_fixture_claim_many(fixture, executions, &anna, &claim, 1), 0);

    weir_executions_destroy(executions);
}

/* ---- who does not have it ---------------------------------------------------------- */

FLOW_TEST(epoch, that_is_none_or_to_come_changes_nothing)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_claim good, claim;
    int64_t wrong[5];

    (void)flow_fixture_submit_retrying(fixture, executions, 5);
    good = claim = flow_fixture_claim(fixture, executions, "orders", "anna");
    wrong[0] = 0;
    wrong[1] = -1;
    wrong[2] = good.epoch + 1;
    wrong[3] = INT64_MAX;
    wrong[4] = INT64_MIN;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        claim.epoch = wrong[i];
        flow_fixture_check_fenced(fixture, executions, &claim);
    }

    flow_fixture_settle(fixture, executions, &good, WEIR_SETTLE_COMPLETE);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        claim.epoch = wrong[i];
        flow_fixture_check_fenced(fixture, executions, &claim);
    }
    weir_executions_destroy(executions);
}

/* What was settled once is answered with what is recorded, whatever is said the second
 * time. */
FLOW_TEST(settle, that_contradicts_what_was_settled_gets_what_is_recorded)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_id id = flow_fixture_submit_retrying(fixture, executions, 5);
    struct weir_claim claim = flow_fixture_claim(fixture, executions, "orders", "anna");
    struct weir_renewal renewal = {.claim = claim};
    struct weir_settlement answer;

    flow_fixture_settle(fixture, executions, &claim, WEIR_SETTLE_COMPLETE);
    answer = flow_fixture_say(fixture, executions, &claim, WEIR_SETTLE_FAIL);
    check_db(weir_execution_renew(executions, 30000, &renewal, 1, &fixture->error),
             WEIR_OK);

    check_int(answer.current.state, WEIR_STATE_COMPLETED);
    check_status(renewal.status, WEIR_FENCED);
    check_int(renewal.current.state, WEIR_STATE_COMPLETED);
    check_str(flow_fixture_state(fixture, executions, &id), "completed");
    check_str(flow_fixture_attempts(fixture, executions, &id).text, "0 initial success");
    weir_executions_destroy(executions);
}

FLOW_TEST(epoch, grows_with_every_claim_in_all_lives_of_an_execution)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_id id = flow_fixture_submit_retrying(fixture, executions, 5);
    struct weir_claim claims[5];

    claims[0] = flow_fixture_claim(fixture, executions, "orders", "anna");
    flow_fixture_settle(fixture, executions, &claims[0], WEIR_SETTLE_FAIL);
    claims[1] = flow_fixture_claim(fixture, executions, "orders", "anna");
    flow_fixture_settle(fixture, executions, &claims[1],
                        WEIR_SETTLE_DELAY); /* for no time */
    claims[2] = flow_fixture_claim(fixture, executions, "orders", "anna");
    check_db(weir_execution_revoke(executions, &id,
                                   &(struct weir_revocation){.instance = NULL},
                                   &fixture->error),
             WEIR_OK);
    claims[3] = flow_fixture_claim(fixture, executions, "orders", "anna");
    flow_fixture_settle(fixture, executions, &claims[3], WEIR_SETTLE_COMPLETE);
    check_db(weir_execution_replay(executions, &id, &fixture->error), WEIR_OK);
    claims[4] = flow_fixture_claim(fixture, executions, "orders", "anna");

    for (size_t i = 1; i < 5; i++)
        check(claims[i].epoch > claims[i - 1].epoch);
    for (size_t i = 0; i < 3; i++) /* the last to settle would be told that it was done */
        flow_fixture_check_fenced(fixture, executions, &claims[i]);
    check_str(flow_fixture_attempts(fixture, executions, &id).text,
              "0 initial retry, 1 retry lease_lost, 2 reclaim success, 3 replay running");
    weir_executions_destroy(executions);
}

/* The owner of an attempt over its limit, who goes on as if nothing had happened. */
FLOW_TEST(attempt_timeout, keeps_the_old_owner_from_the_next_attempt)
{
    struct weir_execution_policy policy = supervisor_fixture_policy();
    struct weir_execution_draft draft = supervisor_fixture_draft(&policy);
    struct weir_claim old, fresh;
    struct patrol patrol;
    struct supervisor_fixture supervisor_fixture;

    policy.retries_max = 1;
    policy.attempt_timeout_ms = 20;
    supervisor_fixture_open(&supervisor_fixture, fixture);
    old = supervisor_fixture_employ(&supervisor_fixture, &draft, 60000000);
    patrol_open(&patrol, fixture);
    wait_until(supervisor_fixture_attempts(&supervisor_fixture, &old.id).ended == 1 &&
               supervisor_fixture_state(&supervisor_fixture, &old.id) ==
                   WEIR_STATE_WAITING);
    patrol_close(&patrol); /* the next one keeps its time */
    flow_fixture_check_fenced(fixture, supervisor_fixture.executions, &old);
    fresh = supervisor_fixture_claim_one(&supervisor_fixture, 60000000);

    flow_fixture_check_fenced(fixture, supervisor_fixture.executions, &old);

    check_status(
        supervisor_fixture_settle(&supervisor_fixture, &fresh, WEIR_SETTLE_COMPLETE),
        WEIR_OK);
    flow_fixture_check_fenced(fixture, supervisor_fixture.executions, &old);
    check_str(flow_fixture_attempts(fixture, supervisor_fixture.executions, &old.id).text,
              "0 initial interrupted, 1 retry success");
    supervisor_fixture_close(&supervisor_fixture);
}

/* ---- many at once ------------------------------------------------------------------ */

enum { PEERS = 40, ROUNDS = 20 };

struct renewer {
    struct weir_executions *executions;
    const struct weir_claim *claims;
    bool backwards;
    pthread_t thread;
    size_t good;
    struct weir_error error;
};

static void *renew_all(void *argument)
{
    struct renewer *self = argument;
    struct weir_renewal renewals[PEERS];

    for (int round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < PEERS; i++)
            renewals[i] = (struct weir_renewal){
                .claim = self->claims[self->backwards ? PEERS - 1 - i : i]};
        if (weir_execution_renew(self->executions, 30000, renewals, PEERS,
                                 &self->error) != WEIR_OK)
            return NULL;
        for (size_t i = 0; i < PEERS; i++)
            self->good += renewals[i].status == WEIR_OK;
    }
    return NULL;
}

/* Rows are locked in one order, so nobody waits in a circle, and nobody is told that
 * his lease is lost because of a lock. */
FLOW_TEST(calls, that_name_the_same_in_opposite_orders_all_succeed)
{
    static struct weir_execution_draft drafts[PEERS];
    const struct weir_claim_options anna = flow_fixture_claimant(&ORDERS, "anna");
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_claim claims[PEERS];
    struct renewer two[2];

    for (size_t i = 0; i < PEERS; i++)
        drafts[i] = flow_fixture_draft("orders");
    check_db(
        weir_execution_submit(executions, NULL, drafts, PEERS, NULL, &fixture->error),
        WEIR_OK);
    check_int(flow_fixture_claim_many(fixture, executions, &anna, claims, PEERS), PEERS);
    for (size_t i = 0; i < 2; i++) {
        two[i] = (struct renewer){
            .executions = executions, .claims = claims, .backwards = i == 1};
        check_int(pthread_create(&two[i].thread, NULL, renew_all, &two[i]), 0);
    }
    for (size_t i = 0; i < 2; i++) {
        check_int(pthread_join(two[i].thread, NULL), 0);
        check_str(two[i].error.text, "");
        check_int(two[i].good, PEERS * ROUNDS);
    }

    weir_executions_destroy(executions);
}
