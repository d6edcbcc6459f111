/*
 * The supervisor when things are not as they should be: connections are lost, somebody
 * has locked the database, there is no memory, much has piled up, or nothing works at
 * all.
 */
#include "contract/flow/reconcile/supervisor_fixture.h"
#include "kit/sim/script.h"

enum { HOUR_MS = 3600 * 1000, SHORT_US = 20000, LONG_US = 60000000 };

static void init_sleepy(struct patrol *self, struct fixture *fixture)
{
    patrol_init(self, fixture);
    for (int i = 0; i < WEIR_RECONCILER_COUNT; i++)
        self->options.interval_ms[i] = HOUR_MS;
}

/* So many in the lane "orders". */
static void submit_many(struct supervisor_fixture *supervisor_fixture, size_t count)
{
    enum { AT_ONCE = 1000 };
    struct fixture *fixture = supervisor_fixture->fixture;
    struct weir_execution_draft drafts[AT_ONCE];

    for (size_t i = 0; i < AT_ONCE; i++)
        drafts[i] = supervisor_fixture_draft(NULL);
    for (size_t left = count; left > 0;) {
        size_t some = left < AT_ONCE ? left : AT_ONCE;

        check_db(weir_execution_submit(supervisor_fixture->executions, NULL, drafts, some,
                                       NULL, &fixture->error),
                 WEIR_OK);
        left -= some;
    }
}

/* ---- the database ------------------------------------------------------------------ */

FLOW_POSTGRESQL_TEST(supervisor, goes_on_after_its_connections_were_lost)
{
    struct weir_execution_draft draft = supervisor_fixture_draft(NULL);
    struct patrol patrol;
    struct supervisor_fixture supervisor_fixture;

    supervisor_fixture_open(&supervisor_fixture, fixture);
    patrol_open(&patrol, fixture);
    for (int i = 0; i < 5; i++) {
        struct weir_claim claim =
            supervisor_fixture_employ(&supervisor_fixture, &draft, SHORT_US);

        fixture_prepare(fixture, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                                 " WHERE datname = current_database()"
                                 " AND pid <> pg_backend_pid()");
        wait_until(patrol_scan(&patrol, WEIR_RECONCILER_LEASE_EXPIRY).processed >
                   (uint64_t)i);
        check_int(supervisor_fixture_state(&supervisor_fixture, &claim.id),
                  WEIR_STATE_WAITING);
        check_int(supervisor_fixture_claim(&supervisor_fixture, LONG_US, &claim, 1), 1);
    }

    patrol_close(&patrol);
    supervisor_fixture_close(&supervisor_fixture);
}

/* As by a backup. It is nobody's fault, so nobody is set aside and all comes right at
 * once. */
FLOW_SQLITE_TEST(supervisor, blames_no_row_when_the_database_is_locked)
{
    struct weir_db_options options = fixture_options(fixture);
    struct weir_execution_draft draft = supervisor_fixture_draft(NULL);
    struct weir_connection *connection;
    struct weir_claim claim;
    struct patrol patrol;
    struct supervisor_fixture supervisor_fixture;

    supervisor_fixture_open(&supervisor_fixture, fixture);
    claim = supervisor_fixture_employ(&supervisor_fixture, &draft, SHORT_US);
    connection = fixture_take(fixture);
    check_db(weir_connection_begin(connection, &fixture->error), WEIR_OK);
    patrol_init(&patrol, fixture);
    weir_db_destroy(patrol.db);
    options.lock_timeout_ns = WEIR_MILLISECONDS(1);
    patrol.db = fixture_open(fixture, &options);
    patrol_start(&patrol);
    wait_until(patrol_scan(&patrol, WEIR_RECONCILER_LEASE_EXPIRY).ticks_failed > 3);

    check_int(patrol_scan(&patrol, WEIR_RECONCILER_LEASE_EXPIRY).errors, 0);
    check_int(patrol_scan(&patrol, WEIR_RECONCILER_LEASE_EXPIRY).failing_items, 0);
    weir_connection_rollback(connection);
    fixture_give(fixture, connection);
    wait_until(supervisor_fixture_state(&supervisor_fixture, &claim.id) ==
               WEIR_STATE_WAITING);
    patrol_close(&patrol);
    supervisor_fixture_close(&supervisor_fixture);
}

/* ---- much -------------------------------------------------------------------------- */

/* Each row once more, some times over. */
static void double_rows(struct fixture *fixture, int times)
{
    for (int i = 0; i < times; i++) {
        fixture_prepare(fixture, "CREATE TABLE twin AS SELECT * FROM weir_execution");
        fixture_prepare(fixture,
                        "UPDATE twin SET no = no + (SELECT max(no) FROM weir_execution),"
                        " uuid = randomblob(16)");
        fixture_prepare(fixture, "INSERT INTO weir_execution SELECT * FROM twin");
        fixture_prepare(fixture, "DROP TABLE twin");
    }
}

/* More than a tick removes: it goes on, and does not wait for its interval. */
FLOW_SQLITE_TEST(housekeeping, catches_up_with_whatever_has_piled_up)
{
    enum { COUNT = 1024, TIMES = 4, TICK_MAX = 16000 };
    const int64_t count = COUNT << TIMES;
    struct patrol patrol;
    struct supervisor_fixture supervisor_fixture;

    check(count > TICK_MAX);
    supervisor_fixture_open(&supervisor_fixture, fixture);
    submit_many(&supervisor_fixture, COUNT);
    fixture_prepare(fixture, "UPDATE {p}_execution SET state = 12, ended_us = 1");
    double_rows(fixture, TIMES);
    init_sleepy(&patrol, fixture);
    patrol.options.retention_ms = 1;
    patrol_start(&patrol);

    wait_until((int64_t)patrol_scan(&patrol, WEIR_RECONCILER_HOUSEKEEPING).processed ==
               count);

    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_execution"), 0);
    patrol_close(&patrol);
    supervisor_fixture_close(&supervisor_fixture);
}

/* In virtual time, with due times long past. */
struct drill {
    struct script script;
    struct patrol patrol;
};

static void drill_open(struct drill *self, struct fixture *fixture)
{
    script_open(&self->script, IN_SIMULATION);
    init_sleepy(&self->patrol, fixture);
    self->patrol.options.executor = self->script.executor;
    patrol_start(&self->patrol);
}

static void drill_close(struct drill *self)
{
    patrol_close(&self->patrol);
    script_close(&self->script);
}

static void drill_run(struct drill *self, int64_t duration_ns)
{
    weir_sim_run_until(self->script.sim, weir_sim_now(self->script.sim) + duration_ns);
}

/* More of them than a batch has rows. Each is tried once a cycle, and a cycle comes at
 * its time. */
FLOW_SQLITE_TEST(poison, of_which_there_is_much_is_not_tried_without_end)
{
    enum { COUNT = 1200 };
    struct drill drill;
    struct supervisor_fixture supervisor_fixture;

    supervisor_fixture_open(&supervisor_fixture, fixture);
    submit_many(&supervisor_fixture, COUNT);
    fixture_prepare(fixture, "UPDATE {p}_execution SET state = 2, hold = 1, due_us = no");
    fixture_prepare(fixture, "CREATE TRIGGER poison BEFORE UPDATE ON weir_execution BEGIN"
                             " SELECT RAISE(ABORT, 'poison'); END");
    drill_open(&drill, fixture);
    drill_run(&drill, WEIR_SECONDS(60));

    check_int(patrol_scan(&drill.patrol, WEIR_RECONCILER_DELAYED_PROMOTER).ticks, 1);
    check_int(patrol_scan(&drill.patrol, WEIR_RECONCILER_DELAYED_PROMOTER).errors, 1000);
    drill_run(&drill, WEIR_HOURS(5));
    check_int(patrol_scan(&drill.patrol, WEIR_RECONCILER_DELAYED_PROMOTER).failing_items,
              COUNT);
    drill_close(&drill);
    supervisor_fixture_close(&supervisor_fixture);
}

/* ---- memory ------------------------------------------------------------------------ */

FLOW_SQLITE_TEST(supervisor, that_finds_no_memory_is_not_made)
{
    struct weir_execution_supervisor_options options;
    struct weir_execution_supervisor *supervisor = NULL;
    enum weir_status status = WEIR_NO_MEMORY;
    struct supervisor_fixture supervisor_fixture;

    supervisor_fixture_open(&supervisor_fixture, fixture);
    weir_execution_supervisor_options_init(&options);
    options.executions = supervisor_fixture.executions;
    options.name_space = "here";
    for (uint64_t n = 1; status != WEIR_OK; n++) {
        weir_faulty_heap_fail_at(&fixture->heap, n);
        status = weir_execution_supervisor_create(&options, &supervisor, &fixture->error);
        weir_faulty_heap_fail_at(&fixture->heap, 0);
        if (status != WEIR_OK) {
            check_status(status, WEIR_NO_MEMORY);
            check(supervisor == NULL);
        }
    }

    weir_execution_supervisor_destroy(supervisor);
    supervisor_fixture_close(&supervisor_fixture);
}

static uint64_t promoted(struct drill *drill)
{
    return patrol_scan(&drill->patrol, WEIR_RECONCILER_DELAYED_PROMOTER).processed;
}

/* One tick after the other, each with another allocation that fails, until none is left
 * to. Other reconcilers have some of them. */
FLOW_SQLITE_TEST(reconciler, that_finds_no_memory_does_it_when_there_is_some)
{
    struct drill drill;
    struct supervisor_fixture supervisor_fixture;
    bool reached = true;

    supervisor_fixture_open(&supervisor_fixture, fixture);
    submit_many(&supervisor_fixture, 1);
    drill_open(&drill, fixture);
    drill_run(&drill, WEIR_SECONDS(1));
    for (uint64_t n = 1; reached; n++) {
        uint64_t before = promoted(&drill);

        check(n < 1000);
        fixture_prepare(fixture,
                        "UPDATE {p}_execution SET state = 2, hold = 1, due_us = 1");
        weir_faulty_heap_fail_at(&fixture->heap, n);
        drill_run(&drill, WEIR_HOURS(1));
        reached = atomic_load(&fixture->heap.allocations) >= n;
        weir_faulty_heap_fail_at(&fixture->heap, 0);
        check_int(fixture_ask(fixture, "SELECT sum(state) FROM weir_execution"),
                  promoted(&drill) == before ? 2 : 1);
        check(reached || promoted(&drill) == before + 1);
    }

    check(patrol_scan(&drill.patrol, WEIR_RECONCILER_DELAYED_PROMOTER).ticks_failed > 0);
    check_int(patrol_scan(&drill.patrol, WEIR_RECONCILER_DELAYED_PROMOTER).errors, 0);
    drill_close(&drill);
    supervisor_fixture_close(&supervisor_fixture);
}
