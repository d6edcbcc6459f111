/*
 * Audit rows of operators' actions on executions, flows, budgets and keys.
 */
#include "base/count.h"
#include "contract/flow/flow_fixture.h"
#include "contract/outbox/audit/audit_fixture.h"
#include "weir/budget.h"
#include "weir/execution_supervisor.h"
#include "weir/flow.h"
#include "weir/suspension.h"

static const struct weir_execution_id NOBODY = {{9, 9, 9}, 3};

struct setup {
    struct fixture *fixture;
    struct weir_executions *executions;
    struct weir_execution_id id;
    struct weir_flow_id flow;
};

struct action {
    const char *name;
    int64_t count;
    const char *state; /* SQL: another number when it has taken place */
    void (*prepare)(struct setup *setup);
    enum weir_status (*act)(struct setup *setup, bool refused);
    const char *outcome; /* of the refusal */
};

#define ERROR (&setup->fixture->error)

static const struct weir_execution_id *of(struct setup *setup, bool refused)
{
    return refused ? &NOBODY : &setup->id;
}

static void submit(struct setup *setup)
{
    setup->id = flow_fixture_submit(setup->fixture, setup->executions, "orders");
}

/* Of those that there are; an earlier action may have left one. */
static void submit_and_claim(struct setup *setup)
{
    submit(setup);
    setup->id =
        flow_fixture_claim(setup->fixture, setup->executions, "orders", "anna").id;
}

static void submit_and_complete(struct setup *setup)
{
    struct weir_claim claim;

    submit(setup);
    claim = flow_fixture_claim(setup->fixture, setup->executions, "orders", "anna");
    setup->id = claim.id;
    flow_fixture_settle(setup->fixture, setup->executions, &claim, WEIR_SETTLE_COMPLETE);
}

static enum weir_status cancel(struct setup *setup, bool refused)
{
    return weir_execution_cancel(setup->executions, of(setup, refused), "not needed",
                                 ERROR);
}

static enum weir_status revoke(struct setup *setup, bool refused)
{
    struct weir_revocation revocation = {.instance = NULL};

    return weir_execution_revoke(setup->executions, of(setup, refused), &revocation,
                                 ERROR);
}

static enum weir_status prioritise(struct setup *setup, bool refused)
{
    return weir_execution_prioritise(setup->executions, of(setup, refused), 7, ERROR);
}

static enum weir_status replay(struct setup *setup, bool refused)
{
    return weir_execution_replay(setup->executions, of(setup, refused), ERROR);
}

static enum weir_status create_budget(struct setup *setup, bool refused)
{
    const struct weir_budget_limit limit = {.dimension = "calls", .hard = 9};
    const struct weir_budget_draft draft = {
        .name = refused ? "" : "bank", .limits = &limit, .limit_count = 1};

    return weir_budget_create(setup->executions, &draft, NULL, ERROR);
}

static enum weir_status change_budget(struct setup *setup, bool refused)
{
    const struct weir_budget_limit limit = {.dimension = "calls", .hard = 10};
    const struct weir_budget_draft draft = {
        .name = refused ? "none" : "bank", .limits = &limit, .limit_count = 1};

    return weir_budget_change(setup->executions, &draft, ERROR);
}

static enum weir_status reset_budget(struct setup *setup, bool refused)
{
    return weir_budget_reset(setup->executions, refused ? "none" : "bank", ERROR);
}

static enum weir_status rotate_key(struct setup *setup, bool refused)
{
    return weir_executions_rotate_key(setup->executions, refused ? "" : "k7", NULL, 1000,
                                      ERROR);
}

static void make_flow(struct setup *setup)
{
    const struct weir_flow_draft draft = {.kind = "order"};

    check_int(weir_flow_create(setup->executions, &draft, &setup->flow, ERROR), WEIR_OK);
}

static enum weir_status cancel_flow(struct setup *setup, bool refused)
{
    static const struct weir_flow_id NO_FLOW = {{1, 2, 3}};

    return weir_flow_cancel(setup->executions, refused ? &NO_FLOW : &setup->flow,
                            WEIR_CANCEL_ALL, "no", NULL, ERROR);
}

static const struct action ACTIONS[] = {
    {"execution.cancel", 1, "SELECT sum(state + 0) FROM weir_execution", submit, cancel,
     "not_found"},
    {"execution.revoke", 1, "SELECT sum(epoch) FROM weir_execution", submit_and_claim,
     revoke, "not_found"},
    {"execution.prioritise", 1, "SELECT sum(priority) FROM weir_execution", submit,
     prioritise, "not_found"},
    {"execution.replay", 1, "SELECT sum(replays) FROM weir_execution",
     submit_and_complete, replay, "not_found"},
    {"flow.cancel", 0, "SELECT sum(state) FROM weir_flow", make_flow, cancel_flow,
     "not_found"},
    {"budget.create", 1, "SELECT count(*) FROM weir_budget", NULL, create_budget,
     "invalid"},
    {"budget.change", 1, "SELECT sum(hard) FROM weir_usage", NULL, change_budget,
     "not_found"},
    {"budget.reset", 1, "SELECT sum(era) FROM weir_budget", NULL, reset_budget,
     "not_found"},
    {"key.rotate", 1, "SELECT count(*) FROM weir_secret", NULL, rotate_key, "invalid"},
};

FLOW_TEST(flow_audit, each_action_has_one_row_in_its_transaction)
{
    struct setup setup = {.fixture = fixture, .executions = flow_fixture_open(fixture)};

    for (size_t i = 0; i < COUNT_OF(ACTIONS); i++) {
        const struct action *action = &ACTIONS[i];
        int64_t rows = audit_count(fixture), state;
        struct audit_view row;

        if (action->prepare != NULL)
            action->prepare(&setup);
        state = fixture_ask(fixture, action->state);
        (void)weir_audit_act_as(&ANNA);
        fixture_prepare(fixture, "ALTER TABLE {p}_audit RENAME TO weir_away");
        check(action->act(&setup, false) != WEIR_OK);
        fixture_prepare(fixture, "ALTER TABLE weir_away RENAME TO {p}_audit");
        check_int(fixture_ask(fixture, action->state), state);
        check_db(action->act(&setup, false), WEIR_OK);
        (void)weir_audit_act_as(NULL);
        check(fixture_ask(fixture, action->state) != state);
        check_int(audit_count(fixture), rows + 1);
        row = audit_last(fixture);
        check_str(row.action, action->name);
        check_int(row.count, action->count);
        check_str(row.outcome, "ok");
    }
    weir_executions_destroy(setup.executions);
}

FLOW_TEST(flow_audit, each_refusal_has_one_row_with_its_reason)
{
    struct setup setup = {.fixture = fixture, .executions = flow_fixture_open(fixture)};

    for (size_t i = 0; i < COUNT_OF(ACTIONS); i++) {
        const struct action *action = &ACTIONS[i];
        int64_t rows = audit_count(fixture);
        struct audit_view row;

        (void)weir_audit_act_as(&ANNA);
        check(action->act(&setup, true) != WEIR_OK);
        (void)weir_audit_act_as(NULL);
        check_int(audit_count(fixture), rows + 1);
        row = audit_last(fixture);
        check_str(row.action, action->name);
        check_str(row.outcome, action->outcome);
        check_int(row.count, 0);
    }
    weir_executions_destroy(setup.executions);
}

FLOW_TEST(flow_audit, says_states_and_the_reason_of_a_cancel)
{
    struct setup setup = {.fixture = fixture, .executions = flow_fixture_open(fixture)};
    char id[WEIR_EXECUTION_ID_TEXT_SIZE];
    struct audit_view row;

    submit(&setup);
    (void)weir_audit_act_as(&ANNA);
    check_db(cancel(&setup, false), WEIR_OK);
    row = audit_last(fixture);
    check_str(row.target, weir_execution_id_format(&setup.id, id));
    check_str(row.after, "cancelled");
    check_str(row.reason, "not needed");
    check_db(cancel(&setup, false), WEIR_OK); /* it is so already */
    check_int(audit_last(fixture).count, 0);
    check_int(audit_count(fixture), 2);
    (void)weir_audit_act_as(NULL);
    weir_executions_destroy(setup.executions);
}

/* What workers and producers do is no operator's, whichever actor the thread has. */
FLOW_TEST(flow_audit, has_no_rows_of_workers_and_producers)
{
    struct setup setup = {.fixture = fixture, .executions = NULL};

    (void)weir_audit_act_as(&ANNA);
    setup.executions = flow_fixture_open(fixture);
    submit_and_complete(&setup);
    make_flow(&setup);
    (void)weir_audit_act_as(NULL);
    check_int(audit_count(fixture), 0);
    weir_executions_destroy(setup.executions);
}

/* No outbox delivers here. */
FLOW_TEST(flow_audit, old_rows_are_removed_by_a_process_that_only_supervises)
{
    const struct weir_audit_entry entry = {.action = "test.old"};
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_supervisor_options options;
    struct weir_execution_supervisor *supervisor = NULL;

    (void)weir_audit_act_as(&ANNA);
    check_db(weir_audit_write(fixture->db, NULL, &entry, &fixture->error), WEIR_OK);
    (void)weir_audit_act_as(NULL);
    fixture_prepare(fixture, "UPDATE {p}_audit SET at_us = 1");
    weir_execution_supervisor_options_init(&options);
    options.executions = executions;
    options.interval_ms[WEIR_RECONCILER_HOUSEKEEPING] = 100;
    check_db(weir_execution_supervisor_create(&options, &supervisor, &fixture->error),
             WEIR_OK);
    check_db(weir_execution_supervisor_start(supervisor, &fixture->error), WEIR_OK);
    wait_until(audit_count(fixture) == 0);
    check_int(weir_execution_supervisor_stop(supervisor, WEIR_SECONDS(30)), 0);
    weir_execution_supervisor_destroy(supervisor);
    weir_executions_destroy(executions);
}
