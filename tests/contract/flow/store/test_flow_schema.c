/*
 * The tables of the execution engine: made once, by few statements, and small.
 */
#include "execution/schema.h"

#include "contract/flow/flow_fixture.h"
#include "contract/flow/store/store_fixture.h"
#include "kit/db/explain.h"
#include "outbox/schema.h"

FLOW_TEST(schema, migrates_again_without_change)
{
    uint32_t from = 0;
    uint32_t to = 0;

    check_db(weir_schema_migrate(&weir_executions_schema, fixture->db, &from, &to,
                                 &fixture->error),
             WEIR_OK);

    check_int(from, 1006);
    check_int(to, 1006);
    check_db(weir_executions_migrate(fixture->db, &fixture->error), WEIR_OK);
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_execution"), 0);
}

POSTGRESQL_TEST(schema, is_missed_by_name)
{
    struct weir_connection *connection = fixture_take(fixture);

    check_db(weir_schema_check(&weir_executions_schema, connection, &fixture->error),
             WEIR_SCHEMA);

    check_str(fixture->error.text, "the database has no tables of the execution engine, "
                                   "schema 1006 is needed: run 'weir migrate'");
    fixture_give(fixture, connection);
}

MARIADB_TEST(schema, is_refused)
{
    check_db(weir_executions_migrate(fixture->db, &fixture->error), WEIR_INVALID);

    check_str(fixture->error.text,
              "migrate: the execution engine does not work on MariaDB");
}

/* Those of the outbox do not count. */
FLOW_POSTGRESQL_TEST(schema, has_few_objects_and_is_small)
{
    static const char NAMES[] =
        "'^weir_(term|execution|input|result|attempt|tag|idempotency|flow|edge"
        "|edge_group|passed|suspension|waitpoint|signal|secret|budget|usage|spent|"
        "awaited)(_|$)"
        "'";
    char text[512];
    int64_t count;

    (void)snprintf(text, sizeof text,
                   "SELECT count(*) FROM pg_class WHERE relname ~ %s"
                   " AND relkind IN ('r', 'i', 'S')",
                   NAMES);
    count = fixture_ask(fixture, text);
    (void)printf("# %lld tables, indexes and sequences\n", (long long)count);
    check_in_range(count, 40, 66);
    (void)snprintf(text, sizeof text,
                   "SELECT sum(pg_total_relation_size(oid))::bigint FROM pg_class"
                   " WHERE relname ~ %s AND relkind IN ('r', 'S')",
                   NAMES);
    check_in_range(fixture_ask(fixture, text), 1, 2 * 1024 * 1024);
}

/* Every end of a member counts in the row of its flow. */
FLOW_POSTGRESQL_TEST(schema, lets_a_flow_count_without_a_write_to_its_indexes)
{
    struct weir_connection *connection = fixture_take(fixture);
    PGconn *native = weir_connection_native(connection);

    explain_execute(native, "INSERT INTO weir_flow (uuid, part, created_us, namespace,"
                            " kind) VALUES ('x', 0, 1, 'default', 'order')");
    explain_execute(
        native, "DO $$ BEGIN FOR i IN 1 .. 10 LOOP"
                " UPDATE weir_flow SET unfinished = unfinished + 1, state = 0; END LOOP;"
                " IF (SELECT n_tup_hot_upd FROM pg_stat_xact_user_tables"
                " WHERE relname = 'weir_flow') < 10"
                " THEN RAISE EXCEPTION 'the indexes are written to'; END IF; END $$");
    fixture_give(fixture, connection);
}

/* With the outbox. */
FLOW_SQLITE_TEST(schema, is_small)
{
    check_in_range(fixture_ask(fixture, "SELECT page_count * page_size FROM"
                                        " pragma_page_count, pragma_page_size"),
                   1, 2 * 1024 * 1024);
}

/* ---- from an older one ------------------------------------------------------------- */

/* The database as a library that knows nothing of flows has made it. */
static struct weir_schema install_1002(struct fixture *fixture)
{
    struct weir_schema old = weir_executions_schema;
    uint32_t from = 0;
    uint32_t to = 0;

    old.count = 2;
    check_db(weir_schema_migrate(&weir_outbox_schema, fixture->db, &from, &to,
                                 &fixture->error),
             WEIR_OK);
    check_db(weir_schema_migrate(&old, fixture->db, &from, &to, &fixture->error),
             WEIR_OK);
    check_int(to, 1002);
    return old;
}

enum { READY, ACTIVE, FAILED, COMPLETED, OLD_COUNT };

/* One of each: it is written as it was then, but for columns that this library insists
 * on. */
static void fill_1002(struct fixture *fixture, struct weir_new_execution *items)
{
    static const char *const COLUMNS[][2] = {
        {"turn", "bigint"}, {"data_edges", "integer"}, {"name", "text"}};
    struct store_fixture store_fixture;
    char text[128];

    for (size_t i = 0; i < sizeof COLUMNS / sizeof COLUMNS[0]; i++) {
        (void)snprintf(text, sizeof text, "ALTER TABLE {p}_execution ADD COLUMN %s %s",
                       COLUMNS[i][0], COLUMNS[i][1]);
        fixture_prepare(fixture, text);
    }
    store_fixture_open(&store_fixture, fixture);
    for (uint32_t i = 0; i < OLD_COUNT; i++)
        items[i] = store_fixture_item(&store_fixture, i + 1);
    items[READY].input = weir_str("hello");
    store_fixture_insert(&store_fixture, items, OLD_COUNT);
    store_fixture_commit(&store_fixture);
    store_fixture_close(&store_fixture);
    for (size_t i = 0; i < sizeof COLUMNS / sizeof COLUMNS[0]; i++) {
        (void)snprintf(text, sizeof text, "ALTER TABLE {p}_execution DROP COLUMN %s",
                       COLUMNS[i][0]);
        fixture_prepare(fixture, text);
    }
    fixture_prepare(fixture,
                    "UPDATE {p}_execution SET state = 4, attempts = 1, epoch = 1,"
                    " lease_us = 9000000000000000, worker = 'pool',"
                    " instance = 'anna' WHERE no = 2");
    fixture_prepare(fixture, "UPDATE {p}_execution SET state = 11, attempts = 1,"
                             " epoch = 1, ended_us = 7, failure = 'no' WHERE no = 3");
    fixture_prepare(fixture, "UPDATE {p}_execution SET state = 10, attempts = 1,"
                             " epoch = 1, ended_us = 7 WHERE no = 4");
    fixture_prepare(fixture, "INSERT INTO {p}_attempt (no, number, type, outcome, epoch,"
                             " started_us, ended_us, worker, instance, failure)"
                             " VALUES (3, 0, 0, 3, 1, 5, 7, 'pool', 'anna', 'no')");
}

static void check_old_work_goes_on(struct fixture *fixture,
                                   struct weir_executions *executions,
                                   const struct weir_new_execution *items)
{
    struct weir_claim active = {items[ACTIVE].id, 2, 1};
    struct weir_claim claim;

    flow_fixture_settle(fixture, executions, &active, WEIR_SETTLE_COMPLETE);
    check_str(flow_fixture_state(fixture, executions, &items[ACTIVE].id), "completed");
    claim = flow_fixture_claim(fixture, executions, "orders", "anna");
    check_int(claim.no, items[READY].no);
    flow_fixture_settle(fixture, executions, &claim, WEIR_SETTLE_COMPLETE);
    check_str(flow_fixture_attempts(fixture, executions, &items[FAILED].id).text,
              "0 initial failed");
    check_db(weir_execution_replay(executions, &items[FAILED].id, &fixture->error),
             WEIR_OK);
    claim = flow_fixture_claim(fixture, executions, "orders", "anna");
    check_int(claim.no, items[FAILED].no);
    check_str(flow_fixture_state(fixture, executions, &items[COMPLETED].id), "completed");
}

static void check_migration(struct fixture *fixture)
{
    struct weir_schema old = install_1002(fixture);
    struct weir_new_execution items[OLD_COUNT];
    struct weir_connection *connection;
    struct weir_executions *executions;

    fill_1002(fixture, items);
    check_db(weir_executions_migrate(fixture->db, &fixture->error), WEIR_OK);

    connection = fixture_take(fixture);
    check_db(weir_schema_check(&old, connection, &fixture->error), WEIR_SCHEMA);
    fixture_give(fixture, connection);
    executions = flow_fixture_open(fixture);
    check_old_work_goes_on(fixture, executions, items);
    weir_executions_destroy(executions);
}

SQLITE_TEST(schema, of_1002_is_migrated_with_all_that_is_in_it)
{
    check_migration(fixture);
}

POSTGRESQL_TEST(schema, of_1002_is_migrated_with_all_that_is_in_it)
{
    check_migration(fixture);
}

/* ---- results that were passed ------------------------------------------------------ */

/* As 1005 has left them: results have replaced inputs. */
static void install_1005(struct fixture *fixture)
{
    struct weir_schema old = weir_executions_schema;
    uint32_t from = 0;
    uint32_t to = 0;

    old.count = 5;
    check_db(weir_schema_migrate(&weir_outbox_schema, fixture->db, &from, &to,
                                 &fixture->error),
             WEIR_OK);
    check_db(weir_schema_migrate(&old, fixture->db, &from, &to, &fixture->error),
             WEIR_OK);
    check_int(to, 1005);
    fixture_prepare(fixture, "INSERT INTO {p}_flow (no, uuid, part, members, edges,"
                             " unfinished, created_us, namespace, kind)"
                             " VALUES (1, 'ffffffffffffffff', 0, 6, 6, 3, 1, 'default',"
                             " 'order')");
}

/* Its number is its letter in the alphabet, behind 100. */
static void put_1005(struct fixture *fixture, char letter, int state, int attempts)
{
    char text[512];

    (void)snprintf(text, sizeof text,
                   "INSERT INTO {p}_execution (no, uuid, digest, part, state, hold,"
                   " pending, lane, capset, policy, priority, flow, created_us, due_us,"
                   " deadline_us, ended_us, attempts, epoch, namespace, kind, turn)"
                   " VALUES (%d, '%c234567890123456', 'd', 0, %d, %d, 0, 101, 0, 0, 0, 1,"
                   " 1, 0, 0, %d, %d, %d, 'default', 'step', %d)",
                   letter - 'a' + 101, letter, state, state == 3 ? 4 : 0,
                   state >= 10 ? 5 : 0, attempts, attempts, letter - 'a' + 1);
    fixture_prepare(fixture, text);
}

static void fill_1005(struct fixture *fixture)
{
    for (char letter = 'a'; letter <= 'b'; letter++)
        put_1005(fixture, letter, 10, 1);
    put_1005(fixture, 'c', 1, 0); /* a and b pass data to it */
    put_1005(fixture, 'd', 1, 0); /* a does */
    put_1005(fixture, 'e', 1, 1); /* a and b; it has begun, and was to be retried */
    put_1005(fixture, 'f', 1, 0); /* nobody does */
    fixture_prepare(fixture, "INSERT INTO {p}_edge (upstream, downstream, flow, state,"
                             " passes_data, opened_epoch) VALUES (101, 103, 1, 1, 1,"
                             " 0), (102, 103, 1, 1, 1, 0), (101, 104, 1, 1, 1, 0),"
                             " (101, 105, 1, 1, 1, 0), (102, 105, 1, 1, 1, 0),"
                             " (101, 106, 1, 1, 0, 0)");
    fixture_prepare(fixture, "INSERT INTO {p}_edge_group (downstream, flow, state, total,"
                             " succeeded) VALUES (103, 1, 1, 2, 2), (104, 1, 1, 1,"
                             " 1), (105, 1, 1, 2, 2), (106, 1, 1, 1, 1)");
    fixture_prepare(fixture, "INSERT INTO {p}_result (no, bytes) VALUES (101, '\"A\"'),"
                             " (102, '\"B\"')");
    fixture_prepare(fixture, "INSERT INTO {p}_input (no, bytes) VALUES (103, '\"B\"'),"
                             " (104, '\"A\"'), (105, '\"B\"'), (106, 'own')");
}

/* Those of something new. */
static void name_terms(struct fixture *fixture, struct weir_executions *executions)
{
    struct weir_execution_id id = flow_fixture_submit(fixture, executions, "orders");

    fixture_prepare(fixture,
                    "UPDATE {p}_execution SET lane = (SELECT e.lane FROM {p}_execution e"
                    " WHERE e.flow = 0), policy = (SELECT e.policy FROM {p}_execution e"
                    " WHERE e.flow = 0) WHERE flow = 1");
    check_db(weir_execution_cancel(executions, &id, "not needed", &fixture->error),
             WEIR_OK);
}

static void check_passed(struct fixture *fixture)
{
    static const char *const LANES[] = {"orders"};
    static const char *const WANT[] = {
        "{\"input\": null, \"results\": "
        "{\"0-61323334-3536-3738-3930-313233343536\": "
        "\"A\", \"0-62323334-3536-3738-3930-313233343536\": \"B\"}}",
        "\"A\"", "\"B\"", "own"};
    struct weir_claim_options options = flow_fixture_claimant(LANES, "anna");
    struct weir_claimed *claimed = NULL;
    struct weir_executions *executions;
    size_t count = 0;

    install_1005(fixture);
    fill_1005(fixture);
    check_db(weir_executions_migrate(fixture->db, &fixture->error), WEIR_OK);
    executions = flow_fixture_open(fixture);
    name_terms(fixture, executions);
    check_db(
        weir_execution_claim(executions, &options, 9, &claimed, &count, &fixture->error),
        WEIR_OK);
    check_int(count, 4);
    for (size_t i = 0; i < count; i++) {
        check_int(claimed[i].input_size, strlen(WANT[i]));
        check_str(claimed[i].input, WANT[i]); /* there is a zero behind it */
    }
    weir_claimed_free(executions, claimed);
    weir_executions_destroy(executions);
}

SQLITE_TEST(schema, of_1005_is_migrated_with_results_that_were_passed)
{
    check_passed(fixture);
}

POSTGRESQL_TEST(schema, of_1005_is_migrated_with_results_that_were_passed)
{
    check_passed(fixture);
}

/* ---- the queues of the engine ------------------------------------------------------ */

#define QUEUES                                                                           \
    "SELECT count(*) FROM weir_queue WHERE name IN ('execution.completion', "            \
    "'execution.lease',"                                                                 \
    " 'execution.operator', 'execution.signal') AND partitions = 16"

FLOW_TEST(migrate, makes_the_queues_of_the_engine_as_it_wants_them)
{
    check_db(weir_outbox_migrate(fixture->db, &fixture->error), WEIR_OK);
    check_db(weir_executions_migrate(fixture->db, &fixture->error), WEIR_OK);

    check_int(fixture_ask(fixture, QUEUES), 4);
}

/* Policies are the user's. */
FLOW_TEST(migrate, leaves_queues_of_the_engine_as_they_are)
{
    check_db(weir_outbox_migrate(fixture->db, &fixture->error), WEIR_OK);
    check_db(weir_executions_migrate(fixture->db, &fixture->error), WEIR_OK);
    fixture_prepare(fixture, "UPDATE {p}_queue SET backlog_max = 7");
    check_db(weir_executions_migrate(fixture->db, &fixture->error), WEIR_OK);

    check_int(fixture_ask(fixture, QUEUES " AND backlog_max = 7"), 4);
}

SQLITE_TEST(migrate, of_executions_alone_needs_no_outbox)
{
    check_db(weir_executions_migrate(fixture->db, &fixture->error), WEIR_OK);
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_execution"), 0);
}
