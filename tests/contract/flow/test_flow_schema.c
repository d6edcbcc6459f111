/*
 * The tables of the execution engine: made once, by few statements, and small.
 */
#include "flow/schema.h"

#include "contract/flow/shop.h"
#include "contract/flow/works.h"
#include "lib/explain.h"
#include "outbox/schema.h"

FLOW_TEST(schema, migrates_again_without_change)
{
    uint32_t from = 0;
    uint32_t to = 0;

    check_db(
        weir_schema_migrate(&weir_flow_schema, fixture->db, &from, &to, &fixture->error),
        WEIR_OK);

    check_int(from, 1005);
    check_int(to, 1005);
    check_db(weir_flow_migrate(fixture->db, &fixture->error), WEIR_OK);
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_execution"), 0);
}

POSTGRESQL_TEST(schema, is_missed_by_name)
{
    struct weir_connection *connection = fixture_take(fixture);

    check_db(weir_schema_check(&weir_flow_schema, connection, &fixture->error),
             WEIR_SCHEMA);

    check_str(fixture->error.text, "the database has no tables of the execution engine, "
                                   "schema 1005 is needed: run 'weir migrate'");
    fixture_give(fixture, connection);
}

MARIADB_TEST(schema, is_refused)
{
    check_db(weir_flow_migrate(fixture->db, &fixture->error), WEIR_INVALID);

    check_str(fixture->error.text,
              "migrate: the execution engine does not work on MariaDB");
}

/* Those of the outbox do not count. */
FLOW_POSTGRESQL_TEST(schema, has_few_objects_and_is_small)
{
    static const char NAMES[] =
        "'^weir_(term|execution|input|result|attempt|tag|idempotency|flow|edge"
        "|edge_group|suspension|waitpoint|signal|secret|budget|usage|spent|awaited)(_|$)"
        "'";
    char text[512];
    int64_t count;

    (void)snprintf(text, sizeof text,
                   "SELECT count(*) FROM pg_class WHERE relname ~ %s"
                   " AND relkind IN ('r', 'i', 'S')",
                   NAMES);
    count = fixture_ask(fixture, text);
    (void)printf("# %lld tables, indexes and sequences\n", (long long)count);
    check_in_range(count, 40, 63);
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

/* ---- from an older one ---------------------------------------------------------------------- */

/* The database as a library that knows nothing of flows has made it. */
static struct weir_schema install_1002(struct fixture *fixture)
{
    struct weir_schema old = weir_flow_schema;
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

/* One of each: it is written as it was then, but for a column that this library insists on. */
static void fill_1002(struct fixture *fixture, struct weir_new_execution *items)
{
    struct shop shop;

    fixture_prepare(fixture, "ALTER TABLE {p}_execution ADD COLUMN turn bigint");
    shop_open(&shop, fixture);
    for (uint32_t i = 0; i < OLD_COUNT; i++)
        items[i] = shop_item(&shop, i + 1);
    items[READY].input = weir_str("hello");
    shop_insert(&shop, items, OLD_COUNT);
    shop_commit(&shop);
    shop_close(&shop);
    fixture_prepare(fixture, "ALTER TABLE {p}_execution DROP COLUMN turn");
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

static void check_old_work_goes_on(struct fixture *fixture, struct weir_flow *flow,
                                   const struct weir_new_execution *items)
{
    struct weir_claim active = {items[ACTIVE].id, 2, 1};
    struct weir_claim claim;

    works_settle(fixture, flow, &active, WEIR_SETTLE_COMPLETE);
    check_str(works_state(fixture, flow, &items[ACTIVE].id), "completed");
    claim = works_claim(fixture, flow, "orders", "anna");
    check_int(claim.no, items[READY].no);
    works_settle(fixture, flow, &claim, WEIR_SETTLE_COMPLETE);
    check_str(works_attempts(fixture, flow, &items[FAILED].id).text, "0 initial failed");
    check_db(weir_flow_replay(flow, &items[FAILED].id, &fixture->error), WEIR_OK);
    claim = works_claim(fixture, flow, "orders", "anna");
    check_int(claim.no, items[FAILED].no);
    check_str(works_state(fixture, flow, &items[COMPLETED].id), "completed");
}

static void check_migration(struct fixture *fixture)
{
    struct weir_schema old = install_1002(fixture);
    struct weir_new_execution items[OLD_COUNT];
    struct weir_connection *connection;
    struct weir_flow *flow;

    fill_1002(fixture, items);
    check_db(weir_flow_migrate(fixture->db, &fixture->error), WEIR_OK);

    connection = fixture_take(fixture);
    check_db(weir_schema_check(&old, connection, &fixture->error), WEIR_SCHEMA);
    fixture_give(fixture, connection);
    flow = works_open(fixture);
    check_old_work_goes_on(fixture, flow, items);
    weir_flow_destroy(flow);
}

SQLITE_TEST(schema, of_1002_is_migrated_with_all_that_is_in_it)
{
    check_migration(fixture);
}

POSTGRESQL_TEST(schema, of_1002_is_migrated_with_all_that_is_in_it)
{
    check_migration(fixture);
}

/* ---- the queues of the engine ---------------------------------------------------------------- */

#define QUEUES                                                                           \
    "SELECT count(*) FROM weir_queue WHERE name IN ('flow.completion', 'flow.lease',"    \
    " 'flow.operator', 'flow.signal') AND partitions = 16"

FLOW_TEST(migrate, makes_the_queues_of_the_engine_as_it_wants_them)
{
    check_db(weir_outbox_migrate(fixture->db, &fixture->error), WEIR_OK);
    check_db(weir_flow_migrate(fixture->db, &fixture->error), WEIR_OK);

    check_int(fixture_ask(fixture, QUEUES), 4);
}

/* Policies are the user's. */
FLOW_TEST(migrate, leaves_queues_of_the_engine_as_they_are)
{
    check_db(weir_outbox_migrate(fixture->db, &fixture->error), WEIR_OK);
    check_db(weir_flow_migrate(fixture->db, &fixture->error), WEIR_OK);
    fixture_prepare(fixture, "UPDATE {p}_queue SET backlog_max = 7");
    check_db(weir_flow_migrate(fixture->db, &fixture->error), WEIR_OK);

    check_int(fixture_ask(fixture, QUEUES " AND backlog_max = 7"), 4);
}

SQLITE_TEST(migrate, of_executions_alone_needs_no_outbox)
{
    check_db(weir_flow_migrate(fixture->db, &fixture->error), WEIR_OK);
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_execution"), 0);
}
