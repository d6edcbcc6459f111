/*
 * Times of an execution: each is its own, all are the database's, and what happens to
 * one is told with everything that subscribers choose by.
 */
#include "contract/flow/reconcile/supervisor_fixture.h"

enum { SHORT_US = 20000, LONG_US = 60000000 };

/* A worker's delay. */
static void park(struct supervisor_fixture *supervisor_fixture,
                 const struct weir_claim *claim, int64_t delay_ms)
{
    struct fixture *fixture = supervisor_fixture->fixture;
    struct weir_settlement settlement = {
        .claim = *claim, .verb = WEIR_SETTLE_DELAY, .delay_ms = delay_ms};

    check_db(weir_execution_settle(supervisor_fixture->executions, &settlement, 1,
                                   &fixture->error),
             WEIR_OK);
    check_status(settlement.status, WEIR_OK);
}

FLOW_TEST(delay, of_a_worker_lets_go_of_the_lease_and_keeps_the_deadline)
{
    struct weir_execution_draft draft = supervisor_fixture_draft(NULL);
    struct weir_execution_info before, after;
    struct weir_claim claim;
    struct supervisor_fixture supervisor_fixture;

    draft.deadline_ms = 3600000;
    supervisor_fixture_open(&supervisor_fixture, fixture);
    claim = supervisor_fixture_employ(&supervisor_fixture, &draft, LONG_US);
    before = supervisor_fixture_look(&supervisor_fixture, &claim.id).info;
    park(&supervisor_fixture, &claim, 60000);

    after = supervisor_fixture_look(&supervisor_fixture, &claim.id).info;
    check_int(after.state, WEIR_STATE_DELAYED);
    check(before.lease_us > 0);
    check_int(after.lease_us, 0);
    check(before.deadline_us > 0);
    check_int(after.deadline_us, before.deadline_us);
    check(after.due_us > 0 && after.due_us < after.deadline_us);
    supervisor_fixture_close(&supervisor_fixture);
}

FLOW_TEST(delayed_promoter, lets_what_its_worker_delayed_go_on)
{
    struct weir_execution_draft draft = supervisor_fixture_draft(NULL);
    struct weir_claim first, second;
    struct patrol patrol;
    struct supervisor_fixture supervisor_fixture;

    supervisor_fixture_open(&supervisor_fixture, fixture);
    patrol_open(&patrol, fixture);
    first = supervisor_fixture_employ(&supervisor_fixture, &draft, LONG_US);
    park(&supervisor_fixture, &first, 30);

    second = supervisor_fixture_claim_one(&supervisor_fixture, LONG_US);

    check(memcmp(&first.id, &second.id, sizeof first.id) == 0);
    check(second.epoch > first.epoch);
    check_int(supervisor_fixture_look(&supervisor_fixture, &first.id).info.attempts,
              1); /* the same one */
    check_int(supervisor_fixture_attempts(&supervisor_fixture, &first.id).ended, 0);
    patrol_close(&patrol);
    supervisor_fixture_close(&supervisor_fixture);
}

FLOW_TEST(execution_deadline, ends_what_its_worker_delayed)
{
    struct weir_execution_draft draft = supervisor_fixture_draft(NULL);
    struct weir_claim claim;
    struct patrol patrol;
    struct supervisor_fixture supervisor_fixture;

    draft.deadline_ms = 3600000;
    supervisor_fixture_open(&supervisor_fixture, fixture);
    claim = supervisor_fixture_employ(&supervisor_fixture, &draft, LONG_US);
    park(&supervisor_fixture, &claim, 7200000);
    fixture_prepare(fixture,
                    "UPDATE {p}_execution SET deadline_us = 1"); /* it has come */
    patrol_open(&patrol, fixture);

    wait_until(supervisor_fixture_state(&supervisor_fixture, &claim.id) ==
               WEIR_STATE_EXPIRED);

    check_int(supervisor_fixture_attempts(&supervisor_fixture, &claim.id).ended, 1);
    check_int(supervisor_fixture_attempts(&supervisor_fixture, &claim.id).outcome,
              WEIR_OUTCOME_EXPIRED);
    patrol_close(&patrol);
    supervisor_fixture_close(&supervisor_fixture);
}

/* Whoever ended it: a worker, an operator, a reconciler. */
FLOW_TEST(housekeeping, removes_it_however_it_ended)
{
    struct weir_execution_policy policy = supervisor_fixture_policy();
    struct weir_execution_draft draft = supervisor_fixture_draft(&policy);
    struct weir_execution_id cancelled;
    struct weir_claim claim;
    struct patrol patrol;
    struct supervisor_fixture supervisor_fixture;

    supervisor_fixture_open(&supervisor_fixture, fixture);
    cancelled = supervisor_fixture_submit(&supervisor_fixture, &draft);
    check_db(weir_execution_cancel(supervisor_fixture.executions, &cancelled, NULL,
                                   &fixture->error),
             WEIR_OK);
    claim = supervisor_fixture_employ(&supervisor_fixture, &draft, LONG_US);
    check_status(supervisor_fixture_settle(&supervisor_fixture, &claim, WEIR_SETTLE_FAIL),
                 WEIR_OK);
    claim = supervisor_fixture_employ(&supervisor_fixture, &draft, LONG_US);
    check_status(
        supervisor_fixture_settle(&supervisor_fixture, &claim, WEIR_SETTLE_ABANDON),
        WEIR_OK);
    policy.attempt_timeout_ms = 1;
    (void)supervisor_fixture_employ(&supervisor_fixture, &draft, LONG_US);
    patrol_init(&patrol, fixture);
    patrol.options.retention_ms = 1;
    patrol_start(&patrol);

    wait_until(fixture_ask(fixture, "SELECT count(*) FROM weir_execution") == 0);

    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_attempt"), 0);
    patrol_close(&patrol);
    supervisor_fixture_close(&supervisor_fixture);
}

/* Messages of this queue and type that say whose they are. */
static int64_t signed_events(struct fixture *fixture, const char *queue, const char *type)
{
    char sql[512];

    (void)snprintf(
        sql, sizeof sql,
        "SELECT count(*) FROM weir_log l JOIN weir_queue q ON l.pid / 64 = q.id"
        " WHERE q.name = 'execution.%s' AND l.type = '%s' AND %s LIKE"
        " '%%\"namespace\":\"acme\"%%\"tags\":{\"app.zone\":\"west\"}%%'",
        queue, type,
        fixture_choose(fixture, "CAST(l.payload AS TEXT)",
                       "convert_from(l.payload, 'UTF8')", ""));
    return fixture_ask(fixture, sql);
}

/* One lease too many was lost: both are told, the lease and the end, and so is a
 * deadline. */
FLOW_TEST(events, of_reconcilers_have_namespace_and_tags_as_well)
{
    static const struct weir_tag TAG = {"app.zone", "west"};
    struct weir_execution_policy policy = supervisor_fixture_policy();
    struct weir_execution_draft draft = supervisor_fixture_draft(&policy);
    struct weir_execution_id late;
    struct weir_claim lost;
    struct patrol patrol;
    struct supervisor_fixture supervisor_fixture;

    policy.reclaims_max = 0;
    draft.name_space = "acme";
    draft.tags = &TAG;
    draft.tag_count = 1;
    supervisor_fixture_open(&supervisor_fixture, fixture);
    lost = supervisor_fixture_employ(&supervisor_fixture, &draft, SHORT_US);
    draft.deadline_ms = 1;
    late = supervisor_fixture_submit(&supervisor_fixture, &draft);
    patrol_open_with_news(&patrol, fixture);

    wait_until(
        supervisor_fixture_state(&supervisor_fixture, &lost.id) == WEIR_STATE_FAILED &&
        supervisor_fixture_state(&supervisor_fixture, &late) == WEIR_STATE_EXPIRED);

    check_int(signed_events(fixture, "lease", "expired"), 1);
    check_int(signed_events(fixture, "completion", "failed"), 1);
    check_int(signed_events(fixture, "completion", "expired"), 1);
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_log"), 3);
    patrol_close(&patrol);
    supervisor_fixture_close(&supervisor_fixture);
}

/* Through the public call, which waits for one. */
static struct weir_claim claim_next(struct fixture *fixture,
                                    struct weir_executions *executions)
{
    const char *lane = "orders";
    struct weir_claim_options options;
    struct weir_claimed *claimed = NULL;
    struct weir_claim claim;
    size_t count = 0;

    weir_claim_options_init(&options);
    options.lanes = &lane;
    options.lane_count = 1;
    options.worker = options.instance = "anna";
    options.wait_ms = 60000;
    check_db(
        weir_execution_claim(executions, &options, 1, &claimed, &count, &fixture->error),
        WEIR_OK);
    check_int(count, 1);
    claim = claimed->claim;
    weir_claimed_free(executions, claimed);
    return claim;
}

/* One that is a year ahead of ours: everything is in its time, and a lease that would
 * be over by ours is good. */
FLOW_POSTGRESQL_TEST(clock, is_the_databases_also_when_ours_differs)
{
    const int64_t year_us = (int64_t)365 * 24 * 3600 * 1000000;
    struct weir_db_options options = fixture_options(fixture);
    struct weir_execution_draft draft = supervisor_fixture_draft(NULL);
    struct weir_execution_info info;
    struct weir_claim claim;
    struct patrol patrol;
    struct supervisor_fixture supervisor_fixture;
    char sql[512];

    fixture_prepare(fixture,
                    "CREATE FUNCTION public.clock_timestamp() RETURNS timestamptz"
                    " LANGUAGE sql AS"
                    " 'SELECT pg_catalog.clock_timestamp() + interval ''365 d'''");
    (void)snprintf(sql, sizeof sql,
                   "ALTER DATABASE %s SET search_path = public, pg_catalog",
                   fixture->database);
    fixture_prepare(fixture, sql);
    patrol_init(&patrol, fixture);
    weir_db_destroy(patrol.db);
    patrol.db = fixture_open(fixture, &options);
    patrol_start(&patrol);
    supervisor_fixture =
        (struct supervisor_fixture){.fixture = fixture, .executions = patrol.executions};
    draft.delay_ms = 30;
    (void)supervisor_fixture_submit(&supervisor_fixture, &draft);
    claim = claim_next(fixture, patrol.executions);
    patrol_wait(&patrol, WEIR_RECONCILER_LEASE_EXPIRY);

    info = supervisor_fixture_look(&supervisor_fixture, &claim.id).info;
    check_int(info.state, WEIR_STATE_ACTIVE);
    check(info.created_us > fixture_ask(fixture, "SELECT (extract(epoch FROM"
                                                 " pg_catalog.clock_timestamp())"
                                                 " * 1000000)::bigint") +
                                year_us / 2);
    check(info.started_us >= info.created_us + 30000);
    check_int(info.lease_us - info.started_us, 30000000);
    check_status(
        supervisor_fixture_settle(&supervisor_fixture, &claim, WEIR_SETTLE_COMPLETE),
        WEIR_OK);
    patrol_close(&patrol);
}

/* ---- the supervisor's end ---------------------------------------------------------- */

FLOW_TEST(supervisor, may_be_stopped_right_after_its_start_and_again)
{
    struct patrol patrol;
    uint64_t cycles;

    patrol_open(&patrol, fixture);
    (void)weir_execution_supervisor_stop(patrol.supervisor, 0);
    check_int(weir_execution_supervisor_stop(patrol.supervisor, WEIR_SECONDS(60)), 0);
    cycles = patrol_scan(&patrol, WEIR_RECONCILER_LEASE_EXPIRY).cycles;

    check_int(weir_execution_supervisor_stop(patrol.supervisor, 0), 0);

    check_int(patrol_scan(&patrol, WEIR_RECONCILER_LEASE_EXPIRY).cycles, cycles);
    patrol_close(&patrol);
}

/* Somebody writes to the file, and goes on doing so: who waits for that hears that it
 * is to end. */
FLOW_SQLITE_TEST(supervisor, stops_cleanly_while_it_waits_for_the_file)
{
    struct weir_execution_draft draft = supervisor_fixture_draft(NULL);
    struct weir_db_options options = fixture_options(fixture);
    struct weir_connection *connection;
    struct weir_claim claim;
    struct patrol patrol;
    struct supervisor_fixture supervisor_fixture;

    supervisor_fixture_open(&supervisor_fixture, fixture);
    claim = supervisor_fixture_employ(&supervisor_fixture, &draft, SHORT_US);
    connection = fixture_take(fixture);
    check_db(weir_connection_begin(connection, &fixture->error), WEIR_OK);
    fixture_execute(fixture, connection, "UPDATE {p}_execution SET kind = kind");
    patrol_init(&patrol, fixture);
    weir_db_destroy(patrol.db);
    options.lock_timeout_ns = 0; /* for ever */
    options.statement_timeout_ns = 0;
    patrol.db = fixture_open(fixture, &options);
    weir_db_set_fault_points(patrol.db, &patrol.points);
    weir_fault_points_arm(&patrol.points, "reconciler.due", UINT64_MAX);
    patrol_start(&patrol);
    wait_until(atomic_load(&patrol.points.armed[0].passed) > 0);

    check_int(weir_execution_supervisor_stop(patrol.supervisor, WEIR_SECONDS(60)), 0);

    check_int(patrol_scan(&patrol, WEIR_RECONCILER_LEASE_EXPIRY).processed, 0);
    weir_connection_rollback(connection);
    fixture_give(fixture, connection);
    check_int(supervisor_fixture_state(&supervisor_fixture, &claim.id),
              WEIR_STATE_ACTIVE);
    check_int(supervisor_fixture_look(&supervisor_fixture, &claim.id).info.epoch,
              claim.epoch);
    patrol_close(&patrol);
    supervisor_fixture_close(&supervisor_fixture);
}
