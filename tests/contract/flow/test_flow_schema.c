/*
 * The tables of the execution engine: made once, by few statements, and small.
 */
#include "flow/schema.h"

#include "contract/flow/shop.h"

FLOW_TEST(schema, migrates_again_without_change)
{
    uint32_t from = 0;
    uint32_t to = 0;

    check_db(
        weir_schema_migrate(&weir_flow_schema, fixture->db, &from, &to, &fixture->error),
        WEIR_OK);

    check_int(from, 1002);
    check_int(to, 1002);
    check_db(weir_flow_migrate(fixture->db, &fixture->error), WEIR_OK);
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_execution"), 0);
}

POSTGRESQL_TEST(schema, is_missed_by_name)
{
    struct weir_connection *connection = fixture_take(fixture);

    check_db(weir_schema_check(&weir_flow_schema, connection, &fixture->error),
             WEIR_SCHEMA);

    check_str(fixture->error.text, "the database has no tables of the execution engine, "
                                   "schema 1002 is needed: run 'weir migrate'");
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
    check_in_range(count, 40, 59);
    (void)snprintf(text, sizeof text,
                   "SELECT sum(pg_total_relation_size(oid))::bigint FROM pg_class"
                   " WHERE relname ~ %s AND relkind IN ('r', 'S')",
                   NAMES);
    check_in_range(fixture_ask(fixture, text), 1, 2 * 1024 * 1024);
}

/* With the outbox. */
FLOW_SQLITE_TEST(schema, is_small)
{
    check_in_range(fixture_ask(fixture, "SELECT page_count * page_size FROM"
                                        " pragma_page_count, pragma_page_size"),
                   1, 2 * 1024 * 1024);
}
