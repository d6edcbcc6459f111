/*
 * How the engines run the statements of the store.
 *
 * The table of executions changes faster than anybody analyzes it, and most of it is
 * history: a plan must be good without statistics, for values and without them, and one
 * that was made when the tables were empty must be good for all that comes later.
 */
#include <sqlite3.h>
#include <stdlib.h>

#include "base/buf.h"
#include "contract/flow/store/store_fixture.h"
#include "execution/engine.h"
#include "execution/store/store_columns.h"
#include "execution/store/store_statements.h"
#include "kit/db/explain.h"

enum {
    SORTS = 1,   /* what is sorted is limited */
    GATHERS = 2, /* a bitmap of the rows of a list is fine */
    JOINS = 4    /* few rows, which may be joined in any way */
};

struct sample {
    const struct weir_sql *sql;
    const char *arguments;
    const char *wanted[3]; /* parts of a line each */
    unsigned traits;
};

#define ANYBODYS "-1, '', '', ''"
#define SOMEBODYS "7, 'default', 'app.a', '1'"
#define ALL_OF_25                                                                        \
    "'{5}', '{1}', '{0}', '{0}', '{0}', '{0}', '{0}', '{0}', '{0}', '{0}', '{0}', "      \
    "'{0}',"                                                                             \
    " '{0}', '{0}', '{0}', '{0}', '{0}', '{0}', '{0}', '{0}', '{0}', '{0}', '{a}', "     \
    "'{b}', '{c}'"

#define ONE_OF_25                                                                        \
    "5, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 'a', 'b', 'c'"

#define ALL_OF_19                                                                        \
    "'{\"\\\\x05\"}', '{\"\\\\x05\"}', '{1}', '{1}', '{0}', '{0}', '{1}', '{0}', "       \
    "'{1}', '{0}',"                                                                      \
    " '{0}', '{1}', '{0}', '{0}', '{0}', '{0}', '{a}', '{b}', '{c}'"

/* Two priorities of one lane, and what is between them. */
#define RANGES                                                                           \
    "'{1,1,1,1}', '{0,0,0,0}', '{5,5,0,0}', '{-9000,100,-9000,100}', '{0,900,0,900}',"   \
    " '{1,1,1}', '{0,0,0}', '{5,0,-99}', '{99999,5,0}'"

static const struct sample SAMPLES[] = {
    {&weir_pg_sql_load, "'{5,3,90000}'", {"weir_execution_pkey"}, SORTS},
    {&weir_pg_sql_load_by_id,
     "'{\"\\\\x05\"}', '{1}'",
     {"weir_execution_uuid_key", "weir_execution_pkey"},
     SORTS},
    {&weir_pg_sql_ready, "1, 0, 10", {"weir_execution_ready"}, 0},
    {&weir_pg_sql_ready_with_inputs,
     "1, 0, 10",
     {"weir_execution_ready", "weir_input_pkey", "weir_tag_pkey"},
     0},
    {&weir_pg_sql_ready_of_many,
     "'{1,2,3}', '{0,7}', 10, 64",
     {"weir_execution_ready", "weir_execution_pkey"},
     SORTS},
    {&weir_pg_sql_ready_beyond, "'{1,2,3}', '{0,7}', 64", {"weir_execution_ready"}, 0},
    {&weir_pg_sql_ready_from_floors,
     RANGES ", 10, 64",
     {"weir_execution_ready", "weir_execution_pkey",
      "(priority = r.priority) AND (turn >= r.low)"},
     SORTS},
    {&weir_pg_sql_ready_from_floors_with_inputs,
     RANGES ", 10, 64",
     {"weir_execution_ready", "weir_input_pkey", "weir_tag_pkey"},
     SORTS},
    {&weir_pg_sql_ready_beyond_floors, RANGES ", 64", {"weir_execution_ready"}, 0},
    {&weir_pg_sql_learn_floors,
     "'{1,2}', '{0,0}', '{5,0}', '{-9000,-9000}', '{100,100}'",
     {"weir_execution_ready"},
     0},
    {&weir_execution_postgresql.due[WEIR_DUE_DELAYED],
     "100, 1000, " ANYBODYS,
     {"weir_execution_due"},
     0},
    {&weir_execution_postgresql.due[WEIR_DUE_DELAYED],
     "100, 1000, " SOMEBODYS,
     {"weir_execution_due"},
     0},
    {&weir_execution_postgresql.due[WEIR_DUE_LEASE],
     "100, 1000, " ANYBODYS,
     {"weir_execution_lease"},
     0},
    {&weir_execution_postgresql.due[WEIR_DUE_ATTEMPT],
     "100, 1000, " ANYBODYS,
     {"weir_execution_attempt"},
     0},
    {&weir_execution_postgresql.due[WEIR_DUE_WAIT],
     "100, 1000, " ANYBODYS,
     {"weir_execution_wait"},
     0},
    {&weir_execution_postgresql.due[WEIR_DUE_DEADLINE],
     "100, 1000, " ANYBODYS,
     {"weir_execution_deadline"},
     0},
    {&weir_execution_postgresql.due[WEIR_DUE_ENDED],
     "100, 1000, " ANYBODYS,
     {"weir_execution_ended"},
     0},
    {&weir_execution_postgresql.next[WEIR_DUE_DELAYED],
     "100, 1, " ANYBODYS,
     {"weir_execution_due"},
     0},
    {&weir_execution_postgresql.next[WEIR_DUE_LEASE],
     "100, 1, " ANYBODYS,
     {"weir_execution_lease"},
     0},
    {&weir_execution_postgresql.next[WEIR_DUE_ATTEMPT],
     "100, 1, " ANYBODYS,
     {"weir_execution_attempt"},
     0},
    {&weir_execution_postgresql.next[WEIR_DUE_WAIT],
     "100, 1, " ANYBODYS,
     {"weir_execution_wait"},
     0},
    {&weir_execution_postgresql.next[WEIR_DUE_DEADLINE],
     "100, 1, " ANYBODYS,
     {"weir_execution_deadline"},
     0},
    {&weir_execution_postgresql.next[WEIR_DUE_ENDED],
     "100, 1, " ANYBODYS,
     {"weir_execution_ended"},
     0},
    {&weir_execution_postgresql.next_times,
     "100, 1, " ANYBODYS,
     {"weir_execution_due", "weir_execution_lease", "weir_execution_deadline"},
     0},
    {&weir_execution_postgresql.siblings,
     "5, 10",
     {"weir_edge_down", "weir_execution_pkey"},
     SORTS | GATHERS},
    {&weir_flow_sql_resolve.many,
     "'{5,6}', '{1,1}', '{2,2}', 1000",
     {"weir_edge_open"},
     SORTS | GATHERS},
    {&weir_pg_sql_write, ALL_OF_25, {"weir_execution_pkey"}, 0},
    {&weir_pg_sql_load_one, "5", {"weir_execution_pkey"}, 0},
    {&weir_store_sql_write_one, ONE_OF_25, {"weir_execution_pkey"}, 0},
    {&weir_pg_sql_insert, ALL_OF_19, {"weir_execution_uuid_key"}, SORTS},
    {&weir_pg_sql_results,
     "'{1,2}', '{\"\\\\x05\",\"\\\\x06\"}'",
     {"weir_result_pkey"},
     0},
    {&weir_pg_sql_take_keys,
     "'{s}', '{k}', '{\"\\\\x05\"}', '{1}', '{\"\\\\x05\"}', '{1}', 5",
     {"weir_idempotency_pkey"},
     SORTS},
    {&weir_store_sql_attempts, "5", {"weir_attempt_pkey"}, GATHERS | SORTS},
    {&weir_store_sql_get_result,
     "'\\x05', 1",
     {"weir_execution_uuid_key", "weir_result_pkey"},
     0},
    {&weir_pg_sql_inputs, "'{1,2}'", {"weir_input_pkey"}, SORTS},
    {&weir_pg_sql_tags, "'{1,2}'", {"weir_tag_pkey"}, SORTS | GATHERS},
    {&weir_pg_sql_read_keys, "'{s}', '{k}'", {"weir_idempotency_pkey"}, 0},
    {&weir_pg_sql_read_ids, "'{\"\\\\x05\"}'", {"weir_execution_uuid_key"}, 0},
    {&weir_pg_sql_remove[0],
     "'{1,2,3}'",
     {"weir_spent_pkey", "weir_budget_pkey"},
     SORTS | GATHERS | JOINS},
    {&weir_pg_sql_remove[1],
     "'{1,2,3}'",
     {"weir_spent_pkey", "weir_budget_pkey"},
     SORTS | GATHERS | JOINS},
    {&weir_pg_sql_remove[2], "'{1,2,3}'", {"weir_input_pkey"}, GATHERS},
    {&weir_pg_sql_remove[4], "'{1,2,3}'", {"weir_attempt_pkey"}, GATHERS},
    {&weir_pg_sql_remove[5], "'{1,2,3}'", {"weir_tag_pkey"}, GATHERS},
    {&weir_pg_sql_remove[6], "'{1,2,3}'", {"weir_suspension_pkey"}, GATHERS},
    {&weir_pg_sql_remove[7], "'{1,2,3}'", {"weir_waitpoint_pkey"}, GATHERS},
    {&weir_pg_sql_remove[8], "'{1,2,3}'", {"weir_signal_pkey"}, GATHERS},
    {&weir_pg_sql_remove[9], "'{1,2,3}'", {"weir_spent_pkey"}, GATHERS},
    {&weir_pg_sql_remove[10], "'{1,2,3}'", {"weir_edge_pkey"}, GATHERS},
    {&weir_pg_sql_remove[11], "'{1,2,3}'", {"weir_edge_down"}, GATHERS},
    {&weir_pg_sql_remove[12], "'{1,2,3}'", {"weir_edge_group_pkey"}, GATHERS},
    {&weir_pg_sql_remove[13], "'{5,7}'", {"weir_passed_pkey"}, GATHERS},
    {&weir_pg_sql_remove[14], "'{1,2,3}'", {"weir_execution_pkey"}, GATHERS},
    {&weir_execution_postgresql.mark_flows,
     "100, 1000, ''",
     {"weir_flow_ended", "weir_flow_pkey"},
     0},
    {&weir_execution_postgresql.gone_members,
     "1000",
     {"weir_flow_gone", "weir_execution_flow"},
     SORTS | GATHERS}, /* of a batch of flows */
    {&weir_execution_postgresql.forget_flows,
     "1000",
     {"weir_flow_gone", "weir_execution_flow", "weir_flow_pkey"},
     SORTS | GATHERS},
    {&weir_execution_postgresql.forget_keys, "5, 1000", {"weir_idempotency_until"}, 0},
    {&weir_store_sql_progress,
     "5, '\\x05', 1, 1, ''",
     {"Index Scan using weir_execution_"},
     0},
    {&weir_store_sql_get, "'\\x05', 1", {"weir_execution_uuid_key"}, 0},
    {&weir_store_sql_list,
     "100000, 90000, 100, 'default', 1, '', 4",
     {"weir_execution_pkey"},
     SORTS | GATHERS}, /* of a bounded span */
    {&weir_execution_postgresql.list_tagged,
     "100000, 90000, 100, 'default', 1, '', 4, 'app.a', '1'",
     {"weir_tag_by_value", "weir_execution_pkey"},
     SORTS},
    {&weir_execution_postgresql.list_members,
     "100000, 90000, 100, 'default', 1, '', 4, 7, 'app.a', '1'",
     {"weir_execution_flow", "weir_tag_", "weir_spent_pkey"},
     SORTS},
    {&weir_store_sql_members_end,
     "9223372036854775807, 9999, 7",
     {"weir_execution_flow"},
     0},
    {&weir_store_sql_older, "9223372036854775807", {"weir_execution_pkey"}, 0},
    {&weir_store_sql_tagged_end,
     "9223372036854775807, 9999, 'app.a', '1'",
     {"weir_tag_by_value"},
     0},
    {&weir_execution_postgresql.budget_waiters,
     "1000",
     {"weir_spent_waiting", "weir_usage_pkey", "weir_execution_pkey"},
     GATHERS}, /* the limits of one budget */
    {&weir_execution_sql_stats,
     "10000",
     {"weir_execution_ready", "weir_execution_lease", "weir_execution_deadline"},
     0},
    {&weir_execution_sql_waits,
     "10000",
     {"weir_spent_waiting", "weir_flow_open", "weir_edge_group_cancel"},
     0},
    {&weir_execution_sql_held,
     "10000, 5",
     {"weir_spent_waiting", "weir_budget_pkey"},
     SORTS | GATHERS | JOINS},
    {&weir_execution_sql_passed.many,
     "'{5,7}', 100",
     {"weir_passed_pkey"},
     SORTS | GATHERS},
    {&weir_flow_sql_named.many, "1, '{a,b}'", {"weir_execution_name"}, 0},
    {&weir_execution_sql_lanes,
     "1, 10000, 1000, 200",
     {"weir_execution_ready", "weir_execution_due", "weir_execution_lease"},
     SORTS | GATHERS | JOINS},
};
enum { SAMPLE_COUNT = sizeof SAMPLES / sizeof SAMPLES[0] };

/* ---- PostgreSQL -------------------------------------------------------------------- */

static bool has(const char *plan, const char *words)
{
    return strstr(plan, words) != NULL;
}

/* Every scan is by an index or by the place of a row, nothing is sorted that is not
 * short, and nothing is compiled. */
static void check_plan(const struct sample *sample, const char *kind, const char *plan)
{
    for (size_t i = 0; i < 3 && sample->wanted[i] != NULL; i++) {
        if (!has(plan, sample->wanted[i]))
            weir_test_fail(__FILE__, __LINE__, "%s (%s): no %s in\n%s", sample->sql->name,
                           kind, sample->wanted[i], plan);
    }
    if (has(plan, "Seq Scan on weir_execution") || has(plan, "JIT:") ||
        has(plan, "hashed SubPlan") ||
        ((sample->traits & JOINS) == 0 &&
         (has(plan, "Seq Scan on weir_") || has(plan, "Hash") ||
          has(plan, "Merge Join") || has(plan, "Materialize"))) ||
        (has(plan, "Sort") && (sample->traits & SORTS) == 0) ||
        (has(plan, "Bitmap") && (sample->traits & GATHERS) == 0))
        weir_test_fail(__FILE__, __LINE__, "%s (%s):\n%s", sample->sql->name, kind, plan);
}

static void check_plans(PGconn *native, const char *kind)
{
    char *plan = malloc(PLAN_SIZE);

    check(plan != NULL);
    for (size_t i = 0; i < SAMPLE_COUNT; i++) {
        explain(native, i, SAMPLES[i].arguments, plan);
        if (getenv("WEIR_TEST_SHOW_PLANS") != NULL)
            (void)printf("# %s (%s)\n%s\n", SAMPLES[i].sql->name, kind, plan);
        check_plan(&SAMPLES[i], kind, plan);
    }
    free(plan);
}

/* Mostly history, with some of everything. */
static void fill(struct fixture *fixture)
{
    fixture_prepare(
        fixture,
        "INSERT INTO {p}_execution (uuid, digest, part, state, hold, pending, lane, "
        "capset,"
        " policy, priority, flow, created_us, due_us, lease_us, attempt_deadline_us,"
        " deadline_us, ended_us, namespace, kind) SELECT int8send(n), '', n % 256,"
        " (ARRAY[10,10,10,11,10,1,2,3,4,5])[n % 10 + 1], 0, 0, n % 3 + 1, 0, 1, n % 5, 0,"
        " n, n, n, n, n, n, 'default', 'mail' FROM generate_series(1, 100000) n");
    fixture_prepare(fixture, "INSERT INTO {p}_tag SELECT n, 'app.a', n % 2"
                             " FROM generate_series(1, 100000) n");
    fixture_prepare(fixture, "INSERT INTO {p}_input SELECT n, '\\x00'"
                             " FROM generate_series(1, 100000) n");
    fixture_prepare(fixture,
                    "INSERT INTO {p}_attempt SELECT n, 0, 0, 1, 1, 0, 0, '', '', ''"
                    " FROM generate_series(1, 100000) n");
    fixture_prepare(fixture, "INSERT INTO {p}_idempotency SELECT 's', n, '', 0, '', n"
                             " FROM generate_series(1, 100000) n");
    fixture_prepare(fixture, "INSERT INTO {p}_flow (uuid, part, state, unfinished,"
                             " created_us, ended_us, namespace, kind) SELECT int8send(n),"
                             " 0, n % 5, 0, n, n, 'default', 'order'"
                             " FROM generate_series(1, 100000) n");
    fixture_prepare(fixture, "INSERT INTO {p}_edge (upstream, downstream, flow,"
                             " passes_data, opened_epoch) SELECT n, n + 1, 1, 0, 1"
                             " FROM generate_series(1, 100000) n");
    fixture_prepare(fixture, "INSERT INTO {p}_spent SELECT n, 1, '', 0, 0"
                             " FROM generate_series(1, 100000) n");
}

FLOW_POSTGRESQL_TEST(plans, of_many_rows_that_nobody_analyzed_use_the_indexes)
{
    static const char *const TABLES[] = {"execution",   "tag",  "input", "attempt",
                                         "idempotency", "flow", "edge",  "spent"};
    struct weir_connection *connection = fixture_take(fixture);
    PGconn *native = weir_connection_native(connection);
    char text[128];

    for (size_t i = 0; i < sizeof TABLES / sizeof TABLES[0]; i++) {
        (void)snprintf(text, sizeof text,
                       "ALTER TABLE {p}_%s SET (autovacuum_enabled = off)", TABLES[i]);
        fixture_prepare(fixture, text);
    }
    fill(fixture);

    for (size_t i = 0; i < SAMPLE_COUNT; i++)
        explain_prepare(fixture, native, i, SAMPLES[i].sql);
    explain_execute(native, "SET plan_cache_mode = force_custom_plan");
    check_plans(native, "custom");
    explain_execute(native, "SET plan_cache_mode = force_generic_plan");
    check_plans(native, "generic");

    explain_execute(native, "DISCARD ALL");
    fixture_give(fixture, connection);
}

FLOW_POSTGRESQL_TEST(plans, that_were_made_for_empty_tables_use_the_indexes)
{
    struct weir_connection *connection = fixture_take(fixture);
    PGconn *native = weir_connection_native(connection);

    for (size_t i = 0; i < SAMPLE_COUNT; i++)
        explain_prepare(fixture, native, i, SAMPLES[i].sql);
    explain_execute(native, "SET plan_cache_mode = force_generic_plan");
    check_plans(native, "made when empty");

    explain_execute(native, "DISCARD ALL");
    fixture_give(fixture, connection);
}

/* ---- SQLite ------------------------------------------------------------------------ */

struct sqlite_sample {
    const struct weir_sql *sql;
    const char *index;
};

static const struct sqlite_sample SQLITE_SAMPLES[] = {
    {&weir_sqlite_sql_ready, "weir_execution_ready"},
    {&weir_sqlite_sql_ready_rows, "weir_execution_ready"},
    {&weir_sqlite_sql_ready_with_inputs, "weir_execution_ready"},
    {&weir_execution_sqlite.due[WEIR_DUE_DELAYED], "weir_execution_due"},
    {&weir_execution_sqlite.due[WEIR_DUE_LEASE], "weir_execution_lease"},
    {&weir_execution_sqlite.due[WEIR_DUE_ATTEMPT], "weir_execution_attempt"},
    {&weir_execution_sqlite.due[WEIR_DUE_WAIT], "weir_execution_wait"},
    {&weir_execution_sqlite.due[WEIR_DUE_DEADLINE], "weir_execution_deadline"},
    {&weir_execution_sqlite.due[WEIR_DUE_ENDED], "weir_execution_ended"},
    {&weir_execution_sqlite.next[WEIR_DUE_DELAYED], "weir_execution_due"},
    {&weir_execution_sqlite.next[WEIR_DUE_LEASE], "weir_execution_lease"},
    {&weir_execution_sqlite.next[WEIR_DUE_ATTEMPT], "weir_execution_attempt"},
    {&weir_execution_sqlite.next[WEIR_DUE_WAIT], "weir_execution_wait"},
    {&weir_execution_sqlite.next[WEIR_DUE_DEADLINE], "weir_execution_deadline"},
    {&weir_execution_sqlite.next[WEIR_DUE_ENDED], "weir_execution_ended"},
    {&weir_execution_sqlite.next_times, "weir_execution_deadline"},
    {&weir_execution_sqlite.siblings, "weir_edge_down"},
    {&weir_flow_sql_resolve.one, "PRIMARY KEY (upstream=?"},
    {&weir_execution_sqlite.forget_keys, "weir_idempotency_until"},
    {&weir_store_sql_get, "sqlite_autoindex_weir_execution_1"},
    {&weir_store_sql_list, "INTEGER PRIMARY KEY"},
    {&weir_execution_sqlite.list_tagged, "weir_tag_by_value"},
    {&weir_store_sql_tagged_end, "weir_tag_by_value"},
    {&weir_execution_sqlite.list_members, "weir_execution_flow"},
    {&weir_store_sql_members_end, "weir_execution_flow"},
    {&weir_execution_sqlite.mark_flows, "weir_flow_ended"},
    {&weir_execution_sqlite.gone_members, "weir_execution_flow"},
    {&weir_execution_sqlite.forget_flows, "weir_flow_gone"},
    {&weir_sqlite_sql_remove[0], "PRIMARY KEY (no=?)"},
    {&weir_sqlite_sql_remove[8], "PRIMARY KEY (no=?)"},
    {&weir_sqlite_sql_remove[9], "PRIMARY KEY (upstream=?)"},
    {&weir_sqlite_sql_remove[10], "weir_edge_down"},
    {&weir_sqlite_sql_remove[11], "INTEGER PRIMARY KEY"},
    {&weir_sqlite_sql_remove[12], "sqlite_autoindex_weir_passed_1 (downstream=?)"},
    {&weir_execution_sql_passed.one, "sqlite_autoindex_weir_passed_1 (downstream=?)"},
    {&weir_flow_sql_named.one, "weir_execution_name (flow=? AND name=?)"},
    {&weir_store_sql_older, "INTEGER PRIMARY KEY"},
    {&weir_store_sql_attempts, "PRIMARY KEY (no=?)"},
    {&weir_store_sql_get_result, "sqlite_autoindex_weir_execution_1"},
    {&weir_store_sql_get_result, "INTEGER PRIMARY KEY"},
    {&weir_store_sql_progress, "INTEGER PRIMARY KEY"},
    {&weir_sqlite_sql_load, "INTEGER PRIMARY KEY"},
    {&weir_sqlite_sql_find, "sqlite_autoindex_weir_execution_1"},
    {&weir_store_sql_write_one, "INTEGER PRIMARY KEY"},
    {&weir_sqlite_sql_expire_key, "PRIMARY KEY (scope=? AND key=?)"},
    {&weir_sqlite_sql_read_key, "PRIMARY KEY (scope=? AND key=?)"},
    {&weir_sqlite_sql_read_tags, "PRIMARY KEY (no=?)"},
    {&weir_execution_sqlite.budget_waiters, "weir_spent_waiting (budget=?)"},
    {&weir_execution_sqlite.budget_waiters, "PRIMARY KEY (budget=?)"},
};

/* The plan as lines of text. Parameters are null: SQLite plans without their values. */
static void explain_on_sqlite(struct fixture *fixture, struct weir_connection *connection,
                              const struct weir_sql *sql, struct weir_buf *out)
{
    sqlite3 *handle = weir_connection_native(connection);
    sqlite3_stmt *statement = NULL;
    struct weir_buf text;

    weir_buf_init(&text, weir_heap_system(), PLAN_SIZE);
    weir_buf_append_text(&text, "EXPLAIN QUERY PLAN ");
    check_db(weir_sql_expand(sql, WEIR_SQLITE, "weir", &text, &fixture->error), WEIR_OK);
    check_int(sqlite3_prepare_v2(handle, weir_buf_text(&text), -1, &statement, NULL),
              SQLITE_OK);
    while (sqlite3_step(statement) == SQLITE_ROW)
        weir_buf_append_format(out, "%s\n",
                               (const char *)sqlite3_column_text(statement, 3));
    check_int(sqlite3_finalize(statement), SQLITE_OK);
    weir_buf_fini(&text);
}

FLOW_SQLITE_TEST(plans, use_the_indexes)
{
    struct weir_connection *connection = fixture_take(fixture);
    struct weir_buf plan;

    weir_buf_init(&plan, weir_heap_system(), PLAN_SIZE);
    for (size_t i = 0; i < sizeof SQLITE_SAMPLES / sizeof SQLITE_SAMPLES[0]; i++) {
        const struct sqlite_sample *sample = &SQLITE_SAMPLES[i];

        weir_buf_reset(&plan);
        explain_on_sqlite(fixture, connection, sample->sql, &plan);
        if (!has(weir_buf_text(&plan), sample->index) ||
            has(weir_buf_text(&plan), "TEMP B-TREE") ||
            has(weir_buf_text(&plan), "SCAN weir_"))
            weir_test_fail(__FILE__, __LINE__, "%s: not by %s:\n%s", sample->sql->name,
                           sample->index, weir_buf_text(&plan));
    }
    weir_buf_fini(&plan);
    fixture_give(fixture, connection);
}
