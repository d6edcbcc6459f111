/*
 * The epoch of an execution: who does not have the current one changes nothing, in whatever state
 * it is and however it came there.
 */
#include <pthread.h>

#include "contract/flow/works.h"
#include "contract/flow/yard.h"

static const char *const ORDERS = "orders";

/* ---- who gets it ----------------------------------------------------------------------------- */

FLOW_TEST(claim, of_what_another_holds_gives_nothing)
{
    const struct weir_claim_options bert = works_claimant(&ORDERS, "bert");
    struct weir_flow *flow = works_open(fixture);
    struct weir_execution_id id = works_submit(fixture, flow, "orders");
    struct weir_claim held = works_claim(fixture, flow, "orders", "anna");
    struct weir_claim claim;

    check_int(works_claim_many(fixture, flow, &bert, &claim, 1), 0);

    check_int(works_see(fixture, flow, &id).info.epoch, held.epoch);
    check_str(works_see(fixture, flow, &id).instance, "anna");
    weir_flow_destroy(flow);
}

FLOW_TEST(claim, of_what_is_delayed_or_over_gives_nothing)
{
    const struct weir_claim_options anna = works_claimant(&ORDERS, "anna");
    struct weir_flow *flow = works_open(fixture);
    struct weir_execution_draft draft = works_draft("orders");
    struct weir_execution_id id;
    struct weir_claim claim;

    id = works_submit_draft(fixture, flow, &draft);
    claim = works_claim(fixture, flow, "orders", "anna");
    works_settle(fixture, flow, &claim, WEIR_SETTLE_COMPLETE);
    id = works_submit_draft(fixture, flow, &draft);
    check_db(weir_flow_cancel(flow, &id, NULL, &fixture->error), WEIR_OK);
    draft.delay_ms = 3600000;
    (void)works_submit_draft(fixture, flow, &draft);

    check_int(works_claim_many(fixture, flow, &anna, &claim, 1), 0);

    weir_flow_destroy(flow);
}

/* ---- who does not have it -------------------------------------------------------------------- */

FLOW_TEST(epoch, that_is_none_or_to_come_changes_nothing)
{
    struct weir_flow *flow = works_open(fixture);
    struct weir_claim good, claim;
    int64_t wrong[5];

    (void)works_submit_retrying(fixture, flow, 5);
    good = claim = works_claim(fixture, flow, "orders", "anna");
    wrong[0] = 0;
    wrong[1] = -1;
    wrong[2] = good.epoch + 1;
    wrong[3] = INT64_MAX;
    wrong[4] = INT64_MIN;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        claim.epoch = wrong[i];
        works_check_fenced(fixture, flow, &claim);
    }

    works_settle(fixture, flow, &good, WEIR_SETTLE_COMPLETE);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        claim.epoch = wrong[i];
        works_check_fenced(fixture, flow, &claim);
    }
    weir_flow_destroy(flow);
}

/* What was settled once is answered with what is recorded, whatever is said the second time. */
FLOW_TEST(settle, that_contradicts_what_was_settled_gets_what_is_recorded)
{
    struct weir_flow *flow = works_open(fixture);
    struct weir_execution_id id = works_submit_retrying(fixture, flow, 5);
    struct weir_claim claim = works_claim(fixture, flow, "orders", "anna");
    struct weir_renewal renewal = {.claim = claim};
    struct weir_settlement answer;

    works_settle(fixture, flow, &claim, WEIR_SETTLE_COMPLETE);
    answer = works_say(fixture, flow, &claim, WEIR_SETTLE_FAIL);
    check_db(weir_flow_renew(flow, 30000, &renewal, 1, &fixture->error), WEIR_OK);

    check_int(answer.truth.state, WEIR_STATE_COMPLETED);
    check_status(renewal.status, WEIR_FENCED);
    check_int(renewal.truth.state, WEIR_STATE_COMPLETED);
    check_str(works_state(fixture, flow, &id), "completed");
    check_str(works_attempts(fixture, flow, &id).text, "0 initial success");
    weir_flow_destroy(flow);
}

FLOW_TEST(epoch, grows_with_every_claim_in_all_lives_of_an_execution)
{
    struct weir_flow *flow = works_open(fixture);
    struct weir_execution_id id = works_submit_retrying(fixture, flow, 5);
    struct weir_claim claims[5];

    claims[0] = works_claim(fixture, flow, "orders", "anna");
    works_settle(fixture, flow, &claims[0], WEIR_SETTLE_FAIL);
    claims[1] = works_claim(fixture, flow, "orders", "anna");
    works_settle(fixture, flow, &claims[1], WEIR_SETTLE_DELAY); /* for no time */
    claims[2] = works_claim(fixture, flow, "orders", "anna");
    check_db(weir_flow_revoke(flow, &id, &(struct weir_revocation){.instance = NULL},
                              &fixture->error),
             WEIR_OK);
    claims[3] = works_claim(fixture, flow, "orders", "anna");
    works_settle(fixture, flow, &claims[3], WEIR_SETTLE_COMPLETE);
    check_db(weir_flow_replay(flow, &id, &fixture->error), WEIR_OK);
    claims[4] = works_claim(fixture, flow, "orders", "anna");

    for (size_t i = 1; i < 5; i++)
        check(claims[i].epoch > claims[i - 1].epoch);
    for (size_t i = 0; i < 3; i++) /* the last to settle would be told that it was done */
        works_check_fenced(fixture, flow, &claims[i]);
    check_str(works_attempts(fixture, flow, &id).text,
              "0 initial retry, 1 retry lease_lost, 2 reclaim success, 3 replay running");
    weir_flow_destroy(flow);
}

/* The owner of an attempt over its limit, who goes on as if nothing had happened. */
FLOW_TEST(attempt_timeout, keeps_the_old_owner_from_the_next_attempt)
{
    struct weir_execution_policy policy = yard_policy();
    struct weir_execution_draft draft = yard_draft(&policy);
    struct weir_claim old, fresh;
    struct patrol patrol;
    struct yard yard;

    policy.retries_max = 1;
    policy.attempt_timeout_ms = 20;
    yard_open(&yard, fixture);
    old = yard_employ(&yard, &draft, 60000000);
    patrol_open(&patrol, fixture);
    wait_until(yard_attempts(&yard, &old.id).ended == 1 &&
               yard_state(&yard, &old.id) == WEIR_STATE_WAITING);
    patrol_close(&patrol); /* the next one keeps its time */
    works_check_fenced(fixture, yard.flow, &old);
    fresh = yard_claim_one(&yard, 60000000);

    works_check_fenced(fixture, yard.flow, &old);

    check_status(yard_settle(&yard, &fresh, WEIR_SETTLE_COMPLETE), WEIR_OK);
    works_check_fenced(fixture, yard.flow, &old);
    check_str(works_attempts(fixture, yard.flow, &old.id).text,
              "0 initial interrupted, 1 retry success");
    yard_close(&yard);
}

/* ---- many at once ---------------------------------------------------------------------------- */

enum { CROWD = 40, ROUNDS = 20 };

struct renewer {
    struct weir_flow *flow;
    const struct weir_claim *claims;
    bool backwards;
    pthread_t thread;
    size_t good;
    struct weir_error error;
};

static void *renew_all(void *argument)
{
    struct renewer *self = argument;
    struct weir_renewal renewals[CROWD];

    for (int round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < CROWD; i++)
            renewals[i] = (struct weir_renewal){
                .claim = self->claims[self->backwards ? CROWD - 1 - i : i]};
        if (weir_flow_renew(self->flow, 30000, renewals, CROWD, &self->error) != WEIR_OK)
            return NULL;
        for (size_t i = 0; i < CROWD; i++)
            self->good += renewals[i].status == WEIR_OK;
    }
    return NULL;
}

/* Rows are locked in one order, so nobody waits in a circle, and nobody is told that his lease is
 * lost because of a lock. */
FLOW_TEST(calls, that_name_the_same_in_opposite_orders_all_succeed)
{
    static struct weir_execution_draft drafts[CROWD];
    const struct weir_claim_options anna = works_claimant(&ORDERS, "anna");
    struct weir_flow *flow = works_open(fixture);
    struct weir_claim claims[CROWD];
    struct renewer two[2];

    for (size_t i = 0; i < CROWD; i++)
        drafts[i] = works_draft("orders");
    check_db(weir_flow_submit(flow, NULL, drafts, CROWD, NULL, &fixture->error), WEIR_OK);
    check_int(works_claim_many(fixture, flow, &anna, claims, CROWD), CROWD);
    for (size_t i = 0; i < 2; i++) {
        two[i] = (struct renewer){.flow = flow, .claims = claims, .backwards = i == 1};
        check_int(pthread_create(&two[i].thread, NULL, renew_all, &two[i]), 0);
    }
    for (size_t i = 0; i < 2; i++) {
        check_int(pthread_join(two[i].thread, NULL), 0);
        check_str(two[i].error.text, "");
        check_int(two[i].good, CROWD * ROUNDS);
    }

    weir_flow_destroy(flow);
}
