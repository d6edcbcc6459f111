/*
 * flow_fixture.h - an execution engine on the test's database, seen through its public
 * calls.
 *
 *   struct weir_executions *flow = flow_fixture_open(fixture);
 *   struct weir_execution_id id = flow_fixture_submit(fixture, flow, "orders");
 *   struct weir_claim claim = flow_fixture_claim(fixture, flow, "orders", "anna");
 *
 *   flow_fixture_settle(fixture, flow, &claim, WEIR_SETTLE_COMPLETE);
 *   check_str(flow_fixture_state(fixture, flow, &id), "completed");
 *   weir_executions_destroy(flow);
 */
#ifndef WEIR_TEST_FLOW_FIXTURE_H
#define WEIR_TEST_FLOW_FIXTURE_H

#include <stdio.h>
#include <string.h>

#include "execution/executions.h"
#include "kit/execution/flow_engines.h"
#include "weir/outbox.h"

static inline struct weir_executions *flow_fixture_open_with(struct fixture *fixture,
                                                             struct weir_db *db,
                                                             struct weir_outbox *outbox)
{
    struct weir_executions_options options;
    struct weir_executions *executions = NULL;

    weir_executions_options_init(&options);
    options.db = db;
    options.outbox = outbox;
    check_db(weir_executions_create(&options, &executions, &fixture->error), WEIR_OK);
    return executions;
}

static inline struct weir_executions *flow_fixture_open(struct fixture *fixture)
{
    return flow_fixture_open_with(fixture, fixture->db, NULL);
}

static inline struct weir_execution_draft flow_fixture_draft(const char *lane)
{
    return (struct weir_execution_draft){.lane = lane, .kind = "mail"};
}

static inline struct weir_execution_id
flow_fixture_submit_draft(struct fixture *fixture, struct weir_executions *executions,
                          const struct weir_execution_draft *draft)
{
    struct weir_submission submission;

    check_db(
        weir_execution_submit(executions, NULL, draft, 1, &submission, &fixture->error),
        WEIR_OK);
    return submission.id;
}

static inline struct weir_execution_id
flow_fixture_submit(struct fixture *fixture, struct weir_executions *executions,
                    const char *lane)
{
    struct weir_execution_draft draft = flow_fixture_draft(lane);

    return flow_fixture_submit_draft(fixture, executions, &draft);
}

/* With `retries` that come at once. */
static inline struct weir_execution_id
flow_fixture_submit_retrying(struct fixture *fixture, struct weir_executions *executions,
                             uint32_t retries)
{
    struct weir_execution_draft draft = flow_fixture_draft("orders");
    struct weir_execution_policy policy;

    weir_execution_policy_init(&policy);
    policy.retries_max = retries;
    policy.backoff = WEIR_RETRY_FIXED;
    policy.backoff_initial_ms = 0;
    draft.policy = &policy;
    return flow_fixture_submit_draft(fixture, executions, &draft);
}

static inline struct weir_claim_options flow_fixture_claimant(const char *const *lanes,
                                                              const char *instance)
{
    struct weir_claim_options options;

    weir_claim_options_init(&options);
    options.lanes = lanes;
    options.lane_count = 1;
    options.worker = "pool";
    options.instance = instance;
    return options;
}

/* How many came, up to `count`; their claims. */
static inline size_t flow_fixture_claim_many(struct fixture *fixture,
                                             struct weir_executions *executions,
                                             const struct weir_claim_options *options,
                                             struct weir_claim *claims, size_t count)
{
    struct weir_claimed *claimed = NULL;
    size_t got = 0;

    check_db(
        weir_execution_claim(executions, options, count, &claimed, &got, &fixture->error),
        WEIR_OK);
    for (size_t i = 0; i < got; i++)
        claims[i] = claimed[i].claim;
    weir_claimed_free(executions, claimed);
    return got;
}

static inline struct weir_claim flow_fixture_claim(struct fixture *fixture,
                                                   struct weir_executions *executions,
                                                   const char *lane, const char *instance)
{
    const struct weir_claim_options options = flow_fixture_claimant(&lane, instance);
    struct weir_claim claim = {.no = 0};

    check_int(flow_fixture_claim_many(fixture, executions, &options, &claim, 1), 1);
    return claim;
}

/* The whole answer. */
static inline struct weir_settlement flow_fixture_say(struct fixture *fixture,
                                                      struct weir_executions *executions,
                                                      const struct weir_claim *claim,
                                                      enum weir_settle verb)
{
    struct weir_settlement settlement = {
        .claim = *claim,
        .verb = verb,
        .result = verb == WEIR_SETTLE_COMPLETE ? "ok" : NULL,
        .result_size = verb == WEIR_SETTLE_COMPLETE ? 2 : 0,
        .reason = "because"};

    check_db(weir_execution_settle(executions, &settlement, 1, &fixture->error), WEIR_OK);
    return settlement;
}

/* Which must work. */
static inline void flow_fixture_settle(struct fixture *fixture,
                                       struct weir_executions *executions,
                                       const struct weir_claim *claim,
                                       enum weir_settle verb)
{
    check_status(flow_fixture_say(fixture, executions, claim, verb).status, WEIR_OK);
}

/* ---- looking ----------------------------------------------------------------------- */

/* An info whose texts stay. */
struct flow_fixture_view {
    struct weir_execution_info info;
    char name_space[64], lane[64], kind[64], worker[64], instance[64], failure[64],
        told[64], budget[64];
};

static inline void flow_fixture_note(void *state, const struct weir_execution_info *info)
{
    struct flow_fixture_view *self = state;

    self->info = *info;
    (void)snprintf(self->name_space, sizeof self->name_space, "%s", info->name_space);
    (void)snprintf(self->lane, sizeof self->lane, "%s", info->lane);
    (void)snprintf(self->kind, sizeof self->kind, "%s", info->kind);
    (void)snprintf(self->worker, sizeof self->worker, "%s", info->worker);
    (void)snprintf(self->instance, sizeof self->instance, "%s", info->instance);
    (void)snprintf(self->failure, sizeof self->failure, "%s", info->failure);
    (void)snprintf(self->told, sizeof self->told, "%s", info->progress_text);
    (void)snprintf(self->budget, sizeof self->budget, "%s", info->budget);
}

static inline struct flow_fixture_view
flow_fixture_see(struct fixture *fixture, struct weir_executions *executions,
                 const struct weir_execution_id *id)
{
    struct flow_fixture_view view = {.name_space = ""};

    check_db(
        weir_execution_get(executions, id, flow_fixture_note, &view, &fixture->error),
        WEIR_OK);
    return view;
}

static inline const char *flow_fixture_state(struct fixture *fixture,
                                             struct weir_executions *executions,
                                             const struct weir_execution_id *id)
{
    return weir_public_state_name(flow_fixture_see(fixture, executions, id).info.state);
}

/* "0 initial success, 1 retry running" */
struct flow_fixture_log {
    char text[512];
    size_t count;
};

static inline void flow_fixture_write_attempt(void *state,
                                              const struct weir_attempt_info *info)
{
    struct flow_fixture_log *self = state;
    size_t used = strlen(self->text);

    (void)snprintf(self->text + used, sizeof self->text - used, "%s%d %s %s",
                   self->count > 0 ? ", " : "", info->number,
                   weir_attempt_type_name(info->type),
                   weir_attempt_outcome_name(info->outcome));
    self->count++;
}

static inline struct flow_fixture_log
flow_fixture_attempts(struct fixture *fixture, struct weir_executions *executions,
                      const struct weir_execution_id *id)
{
    struct flow_fixture_log log = {.text = ""};

    check_db(weir_execution_attempts(executions, id, flow_fixture_write_attempt, &log,
                                     &fixture->error),
             WEIR_OK);
    return log;
}

/* Every call of a worker answers FENCED and with this truth, and changes nothing. */
static inline void flow_fixture_check_fenced(struct fixture *fixture,
                                             struct weir_executions *executions,
                                             const struct weir_claim *claim)
{
    static const enum weir_settle VERBS[] = {WEIR_SETTLE_COMPLETE, WEIR_SETTLE_FAIL,
                                             WEIR_SETTLE_DELAY, WEIR_SETTLE_ABANDON};
    struct flow_fixture_view before = flow_fixture_see(fixture, executions, &claim->id);
    struct weir_renewal renewal = {.claim = *claim};
    struct weir_execution_status current = {.epoch = -1};
    struct flow_fixture_view after;

    for (size_t i = 0; i < 4; i++) {
        struct weir_settlement answer =
            flow_fixture_say(fixture, executions, claim, VERBS[i]);

        check_status(answer.status, WEIR_FENCED);
        check_int(answer.current.state, before.info.state);
        check_int(answer.current.epoch, before.info.epoch);
        check_int(answer.current.lease_us, before.info.lease_us);
    }
    check_db(weir_execution_renew(executions, 30000, &renewal, 1, &fixture->error),
             WEIR_OK);
    check_status(renewal.status, WEIR_FENCED);
    check_int(renewal.current.epoch, before.info.epoch);
    check_db(
        weir_execution_progress(executions, claim, 99, "mine", &current, &fixture->error),
        WEIR_FENCED);
    check_int(current.state, before.info.state);
    check_int(current.epoch, before.info.epoch);

    after = flow_fixture_see(fixture, executions, &claim->id);
    check_int(after.info.epoch, before.info.epoch);
    check_int(after.info.state, before.info.state);
    check_int(after.info.lease_us, before.info.lease_us);
    check_int(after.info.progress_percent, before.info.progress_percent);
    check_str(after.failure, before.failure);
}

/* The lease runs out, as if time had passed. */
static inline void flow_fixture_let_lease_run_out(struct fixture *fixture)
{
    fixture_prepare(fixture, "UPDATE {p}_execution SET lease_us = 1 WHERE state = 4");
}

#endif
