/*
 * Numbers in the database that this library does not know: whoever meets one stops,
 * says whose it is, in which column and which number, and changes nothing.
 */
#include "contract/flow/flow_fixture.h"
#include "contract/flow/reconcile/supervisor_fixture.h"

static const char *const ORDERS = "orders";

/* A row of the future, or a broken one. */
struct damage {
    const char *set; /* of an UPDATE */
    const char *text;
};

static const struct damage NUMBERS[] = {
    {"hold = 99", "has hold 99, which this library does not know"},
    {"hold = -1", "has hold -1, which this library does not know"},
    {"pending = 5", "has pending 5, which this library does not know"},
    {"attempt_type = 4", "has attempt_type 4, which this library does not know"},
    {"on_timeout = 5", "has on_timeout 5, which this library does not know"},
    {"settled_as = 7", "has settled_as 7, which this library does not know"},
};
enum { NUMBER_COUNT = sizeof NUMBERS / sizeof NUMBERS[0] };

/* Read as large ones they would end an execution for its limits. */
static const struct damage COUNTS[] = {
    {"retries = -1", "has retries -1, which cannot be"},
    {"reclaims = -3", "has reclaims -3, which cannot be"},
    {"replays = -1", "has replays -1, which cannot be"},
    {"settled_epoch = -1", "has settled_epoch -1, which cannot be"},
};
enum { COUNT_COUNT = sizeof COUNTS / sizeof COUNTS[0] };

/* States that are none. */
static const struct damage STATES[] = {
    {"state = 0", "has state 0, which this library does not know"},
    {"state = 6", "has state 6, which this library does not know"},
    {"state = 9", "has state 9, which this library does not know"},
    {"state = 15", "has state 15, which this library does not know"},
};
enum { STATE_COUNT = sizeof STATES / sizeof STATES[0] };

static void update(struct fixture *fixture, const char *set)
{
    char sql[256];

    (void)snprintf(sql, sizeof sql, "UPDATE {p}_execution SET %s", set);
    fixture_prepare(fixture, sql);
}

/* All that a call could have changed of the one that is there. */
static int64_t trace_of(struct fixture *fixture)
{
    return fixture_ask(fixture,
                       "SELECT epoch * 1000000 + attempts * 10000 + state * 100 + percent"
                       " + (SELECT count(*) FROM weir_attempt) * 10 FROM weir_execution");
}

static void check_text(struct fixture *fixture, const struct weir_execution_id *id,
                       const char *text)
{
    char name[WEIR_EXECUTION_ID_TEXT_SIZE];

    if (strstr(fixture->error.text, weir_execution_id_format(id, name)) == NULL ||
        strstr(fixture->error.text, text) == NULL)
        weir_test_fail(__FILE__, __LINE__, "no \"%s\" of %s in \"%s\"", text, name,
                       fixture->error.text);
}

/* ---- those who claim --------------------------------------------------------------- */

static void mend(struct fixture *fixture)
{
    update(fixture, "hold = 0, pending = 0, attempt_type = 0, retries = 0, reclaims = 0,"
                    " replays = 0, settled_epoch = 0, settled_as = 0, on_timeout = 0");
}

static void check_claim_stops(struct fixture *fixture, struct weir_executions *executions,
                              const struct weir_execution_id *id,
                              const struct damage *damage)
{
    const struct weir_claim_options options = flow_fixture_claimant(&ORDERS, "anna");
    struct weir_claimed *claimed = NULL;
    int64_t trace = trace_of(fixture);
    size_t count = 7;

    update(fixture, damage->set);
    check_db(
        weir_execution_claim(executions, &options, 1, &claimed, &count, &fixture->error),
        WEIR_SCHEMA);
    check_text(fixture, id, damage->text);
    check_int(count, 0);
    check_int(trace_of(fixture), trace);
    mend(fixture);
}

FLOW_TEST(unknown, numbers_stop_those_who_claim)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_id id = flow_fixture_submit(fixture, executions, "orders");

    for (size_t i = 0; i < NUMBER_COUNT; i++)
        check_claim_stops(fixture, executions, &id, &NUMBERS[i]);
    for (size_t i = 0; i < COUNT_COUNT; i++)
        check_claim_stops(fixture, executions, &id, &COUNTS[i]);

    (void)flow_fixture_claim(fixture, executions, "orders", "anna"); /* mended */
    weir_executions_destroy(executions);
}

/* ---- workers ----------------------------------------------------------------------- */

static void check_worker_stops(struct fixture *fixture,
                               struct weir_executions *executions,
                               const struct weir_claim *claim,
                               const struct damage *damage)
{
    static const enum weir_settle VERBS[] = {WEIR_SETTLE_COMPLETE, WEIR_SETTLE_FAIL,
                                             WEIR_SETTLE_DELAY, WEIR_SETTLE_ABANDON};
    struct weir_renewal renewal = {.claim = *claim};
    int64_t trace;

    update(fixture, damage->set);
    trace = trace_of(fixture);
    for (size_t i = 0; i < 4; i++) {
        struct weir_settlement settlement = {.claim = *claim, .verb = VERBS[i]};

        check_db(weir_execution_settle(executions, &settlement, 1, &fixture->error),
                 WEIR_SCHEMA);
        check_text(fixture, &claim->id, damage->text);
    }
    check_db(weir_execution_renew(executions, 60000, &renewal, 1, &fixture->error),
             WEIR_SCHEMA);
    check_text(fixture, &claim->id, damage->text);
    check_int(trace_of(fixture), trace);
    mend(fixture);
    update(fixture, "state = 4");
}

FLOW_TEST(unknown, numbers_stop_workers)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_claim claim;

    (void)flow_fixture_submit_retrying(fixture, executions, 5);
    claim = flow_fixture_claim(fixture, executions, "orders", "anna");
    for (size_t i = 0; i < NUMBER_COUNT; i++)
        check_worker_stops(fixture, executions, &claim, &NUMBERS[i]);
    for (size_t i = 0; i < COUNT_COUNT; i++)
        check_worker_stops(fixture, executions, &claim, &COUNTS[i]);
    for (size_t i = 0; i < STATE_COUNT; i++)
        check_worker_stops(fixture, executions, &claim, &STATES[i]);

    flow_fixture_settle(fixture, executions, &claim, WEIR_SETTLE_COMPLETE); /* mended */
    weir_executions_destroy(executions);
}

/* It is one statement that reads no counts. */
FLOW_TEST(unknown, numbers_stop_reports_of_progress)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_id id = flow_fixture_submit(fixture, executions, "orders");
    struct weir_claim claim = flow_fixture_claim(fixture, executions, "orders", "anna");
    int64_t trace = trace_of(fixture);

    for (size_t i = 0; i < NUMBER_COUNT; i++) {
        update(fixture, NUMBERS[i].set);
        check_db(weir_execution_progress(executions, &claim, 50, "half", NULL,
                                         &fixture->error),
                 WEIR_SCHEMA);
        check_text(fixture, &id, NUMBERS[i].text);
        check_int(trace_of(fixture), trace);
        mend(fixture);
    }

    check_db(
        weir_execution_progress(executions, &claim, 50, "half", NULL, &fixture->error),
        WEIR_OK);
    weir_executions_destroy(executions);
}

/* Those that a call names beside the bad one are left as they are, too. */
FLOW_TEST(unknown, numbers_leave_all_of_a_call_undone)
{
    const struct weir_claim_options options = flow_fixture_claimant(&ORDERS, "anna");
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_claim claims[2];
    struct weir_settlement both[2];
    char set[128];

    (void)flow_fixture_submit(fixture, executions, "orders");
    (void)flow_fixture_submit(fixture, executions, "orders");
    check_int(flow_fixture_claim_many(fixture, executions, &options, claims, 2), 2);
    (void)snprintf(set, sizeof set, "hold = 99 WHERE no = %lld", (long long)claims[1].no);
    update(fixture, set);
    both[0] = (struct weir_settlement){.claim = claims[0]};
    both[1] = (struct weir_settlement){.claim = claims[1]};

    check_db(weir_execution_settle(executions, both, 2, &fixture->error), WEIR_SCHEMA);

    check_text(fixture, &claims[1].id, "has hold 99");
    check_str(flow_fixture_state(fixture, executions, &claims[0].id), "active");
    flow_fixture_settle(fixture, executions, &claims[0], WEIR_SETTLE_COMPLETE);
    weir_executions_destroy(executions);
}

/* ---- operators and readers --------------------------------------------------------- */

static void check_operator_stops(struct fixture *fixture,
                                 struct weir_executions *executions,
                                 const struct weir_execution_id *id, const char *text)
{
    struct weir_revocation revocation = {.instance = NULL};
    int64_t trace = trace_of(fixture);

    check_db(weir_execution_cancel(executions, id, NULL, &fixture->error), WEIR_SCHEMA);
    check_text(fixture, id, text);
    check_db(weir_execution_revoke(executions, id, &revocation, &fixture->error),
             WEIR_SCHEMA);
    check_text(fixture, id, text);
    check(!revocation.revoked);
    check_db(weir_execution_prioritise(executions, id, 5, &fixture->error), WEIR_SCHEMA);
    check_text(fixture, id, text);
    check_db(weir_execution_replay(executions, id, &fixture->error), WEIR_SCHEMA);
    check_text(fixture, id, text);
    check_int(trace_of(fixture), trace);
}

/* A page of another state has it too: what is not known may be anything. */
static void check_reader_stops(struct fixture *fixture,
                               struct weir_executions *executions,
                               const struct weir_execution_id *id, const char *text)
{
    static const uint32_t STATES_ASKED[] = {0, 1U << WEIR_STATE_COMPLETED,
                                            1U << WEIR_STATE_WAITING};
    struct flow_fixture_view view;
    struct flow_fixture_log log = {.text = ""};
    void *result = NULL;
    size_t size = 0;

    check_db(
        weir_execution_get(executions, id, flow_fixture_note, &view, &fixture->error),
        WEIR_SCHEMA);
    check_text(fixture, id, text);
    check_db(weir_execution_attempts(executions, id, flow_fixture_write_attempt, &log,
                                     &fixture->error),
             WEIR_SCHEMA);
    check_text(fixture, id, text);
    check_db(weir_execution_result(executions, id, &result, &size, &fixture->error),
             WEIR_SCHEMA);
    check_text(fixture, id, text);
    for (size_t i = 0; i < 3; i++) {
        const struct weir_execution_filter filter = {.states = STATES_ASKED[i],
                                                     .count = 10};
        int64_t next = 7;

        check_db(weir_execution_list(executions, &filter, flow_fixture_note, &view, &next,
                                     &fixture->error),
                 WEIR_SCHEMA);
        check_text(fixture, id, text);
    }
}

FLOW_TEST(unknown, states_stop_operators_and_readers)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_id id = flow_fixture_submit(fixture, executions, "orders");

    for (size_t i = 0; i < STATE_COUNT; i++) {
        update(fixture, STATES[i].set);
        check_operator_stops(fixture, executions, &id, STATES[i].text);
        check_reader_stops(fixture, executions, &id, STATES[i].text);
    }
    weir_executions_destroy(executions);
}

FLOW_TEST(unknown, holds_and_what_comes_next_stop_operators_and_readers)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_id id = flow_fixture_submit(fixture, executions, "orders");

    for (size_t i = 0; i < NUMBER_COUNT; i++) {
        update(fixture, "state = 3, hold = 6, pending = 0, attempt_type = 0,"
                        " on_timeout = 0");
        update(fixture, NUMBERS[i].set);
        check_operator_stops(fixture, executions, &id, NUMBERS[i].text);
        check_reader_stops(fixture, executions, &id, NUMBERS[i].text);
    }
    weir_executions_destroy(executions);
}

FLOW_TEST(counts, that_cannot_be_stop_whoever_reads_them)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_id id = flow_fixture_submit(fixture, executions, "orders");
    struct flow_fixture_view view;

    for (size_t i = 0; i < COUNT_COUNT; i++) {
        update(fixture, "retries = 0, reclaims = 0, replays = 0, settled_epoch = 0");
        update(fixture, COUNTS[i].set);
        check_operator_stops(fixture, executions, &id, COUNTS[i].text);
        check_db(weir_execution_get(executions, &id, flow_fixture_note, &view,
                                    &fixture->error),
                 WEIR_SCHEMA);
        check_text(fixture, &id, COUNTS[i].text);
    }
    weir_executions_destroy(executions);
}

FLOW_TEST(unknown, numbers_of_attempts_stop_whoever_reads_them)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_id id = flow_fixture_submit(fixture, executions, "orders");
    struct weir_claim claim = flow_fixture_claim(fixture, executions, "orders", "anna");
    struct flow_fixture_log log = {.text = ""};

    flow_fixture_settle(fixture, executions, &claim, WEIR_SETTLE_COMPLETE);
    fixture_prepare(fixture, "UPDATE {p}_attempt SET outcome = 8");
    check_db(weir_execution_attempts(executions, &id, flow_fixture_write_attempt, &log,
                                     &fixture->error),
             WEIR_SCHEMA);
    check_text(fixture, &id, "attempt 0 has outcome 8, which this library does not know");
    fixture_prepare(fixture, "UPDATE {p}_attempt SET outcome = 1, type = 4");
    check_db(weir_execution_attempts(executions, &id, flow_fixture_write_attempt, &log,
                                     &fixture->error),
             WEIR_SCHEMA);
    check_text(fixture, &id, "attempt 0 has type 4, which this library does not know");

    check_int(log.count, 0);
    weir_executions_destroy(executions);
}

/* ---- terms ------------------------------------------------------------------------- */

FLOW_TEST(unknown, backoff_of_a_policy_stops_whoever_meets_it)
{
    const struct weir_claim_options options = flow_fixture_claimant(&ORDERS, "anna");
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_id id = flow_fixture_submit(fixture, executions, "orders");
    struct weir_claimed *claimed = NULL;
    struct flow_fixture_view view;
    int64_t trace = trace_of(fixture);
    size_t count = 7;

    weir_executions_destroy(executions);
    fixture_prepare(fixture,
                    "UPDATE {p}_term SET text = replace(text, 'backoff=0', 'backoff=7')");
    executions = flow_fixture_open(fixture); /* one that remembers nothing */

    check_db(
        weir_execution_claim(executions, &options, 1, &claimed, &count, &fixture->error),
        WEIR_SCHEMA);
    check_text(fixture, &id, "its policy: term ");
    check_text(fixture, &id, "backoff=7");
    check_db(
        weir_execution_get(executions, &id, flow_fixture_note, &view, &fixture->error),
        WEIR_SCHEMA);
    check_text(fixture, &id, "backoff=7");
    check_operator_stops(fixture, executions, &id, "backoff=7");
    check_int(trace_of(fixture), trace);
    weir_executions_destroy(executions);
}

FLOW_TEST(unknown, lanes_and_policies_stop_whoever_meets_them)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_id id = flow_fixture_submit(fixture, executions, "orders");
    struct flow_fixture_view view;

    update(fixture, "policy = 4711");
    check_operator_stops(fixture, executions, &id, "its policy: there is no term 4711");
    check_db(
        weir_execution_get(executions, &id, flow_fixture_note, &view, &fixture->error),
        WEIR_SCHEMA);
    fixture_prepare(fixture, "UPDATE {p}_execution SET policy ="
                             " (SELECT max(id) FROM {p}_term), lane = 4712");
    check_operator_stops(fixture, executions, &id, "4712");
    weir_executions_destroy(executions);
}

/* ---- reconcilers ------------------------------------------------------------------- */

struct trap {
    enum weir_reconciler which;
    struct damage damage;
};

static const struct trap TRAPS[] = {
    {WEIR_RECONCILER_DELAYED_PROMOTER,
     {"state = 2, due_us = 1, hold = 99", "has hold 99, which"}},
    {WEIR_RECONCILER_LEASE_EXPIRY,
     {"state = 4, lease_us = 1, pending = 9", "has pending 9, which"}},
    {WEIR_RECONCILER_LEASE_EXPIRY,
     {"state = 4, lease_us = 1, reclaims = -1", "has reclaims -1, which"}},
    {WEIR_RECONCILER_ATTEMPT_TIMEOUT,
     {"state = 4, lease_us = 9000000000000000, attempt_deadline_us = 1,"
      " attempt_type = 9",
      "has attempt_type 9, which"}},
    {WEIR_RECONCILER_EXECUTION_DEADLINE,
     {"state = 7, deadline_us = 1", "has state 7, which"}},
    {WEIR_RECONCILER_HOUSEKEEPING, {"state = 15, ended_us = 1", "has state 15, which"}},
};

static void check_trap(struct supervisor_fixture *supervisor_fixture,
                       const struct trap *trap)
{
    struct fixture *fixture = supervisor_fixture->fixture;
    struct weir_execution_draft draft = supervisor_fixture_draft(NULL);
    struct weir_execution_id id = supervisor_fixture_submit(supervisor_fixture, &draft);
    char name[WEIR_EXECUTION_ID_TEXT_SIZE];
    struct weir_scan_info info;
    struct patrol patrol;
    int64_t trace;

    update(fixture, trap->damage.set);
    trace = trace_of(fixture);
    patrol_open(&patrol, fixture);
    wait_until(patrol_scan(&patrol, trap->which).ticks_failed > 1);

    info = patrol_scan(&patrol, trap->which);
    (void)weir_execution_id_format(&id, name);
    if (strstr(info.last_error, name) == NULL ||
        strstr(info.last_error, trap->damage.text) == NULL)
        weir_test_fail(__FILE__, __LINE__, "%s: no \"%s\" of %s in \"%s\"",
                       weir_reconciler_name(trap->which), trap->damage.text, name,
                       info.last_error);
    check_int(info.processed, 0);
    check_int(trace_of(fixture), trace);
    patrol_close(&patrol);
    fixture_prepare(fixture, "DELETE FROM {p}_execution");
}

FLOW_TEST(unknown, numbers_stop_each_reconciler)
{
    struct supervisor_fixture supervisor_fixture;

    supervisor_fixture_open(&supervisor_fixture, fixture);
    for (size_t i = 0; i < sizeof TRAPS / sizeof TRAPS[0]; i++)
        check_trap(&supervisor_fixture, &TRAPS[i]);
    supervisor_fixture_close(&supervisor_fixture);
}
