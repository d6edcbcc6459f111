/*
 * How PostgreSQL runs the statements that are run all the time.
 *
 * Leaves are never analyzed, so a plan must be good without statistics; and sessions
 * live long, so one that was made when the tables were empty must be good for a million
 * rows.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit/db/explain.h"
#include "kit/outbox/outbox_engines.h"
#include "outbox/dead_letter/dead_letter_sql.h"
#include "outbox/postgres/engine.h"
#include "outbox/postgres/statements.h"

enum { DEPTH_MAX = 64 };

enum {
    SORTS = 1, /* it may sort, what is limited */
    SMALL = 2, /* of a table of its own, which is analyzed like any other */
    /* Knowing no values, the planner expects one row of a scope and does not mind to
     * sort it. Such a plan costs more than those with values, so it is not the one that
     * is used. */
    CUSTOM = 4,
};

/* A statement, what it is explained with, and what its plan must have. */
struct sample {
    const struct weir_sql *sql;
    const char *arguments; /* "": none */
    const char *wanted[4]; /* parts of a line each */
    unsigned traits;       /* SORTS, SMALL */
};

#define PAGE "'1:1:', '5000:5000:', NULL, 1000, 1000000, 1"
#define PAGE_OF_SOME "'1:1:', '5000:5000:', '{64,65,66}', 1000, 1000000, 1"

#define EVERYTHING "0, 9223372036854775807, 0, 9223372036854775807, NULL, NULL, NULL"
#define NEWEST "9223372036854775807, 9223372036854775807, 101"

static const struct sample SAMPLES[] = {
    {&weir_pg_sql_probe, "500", {"weir_cut_0_no_idx", "weir_log_0_xid_id_idx"}, 0},
    {&weir_pg_sql_recheck, "7, 500", {"weir_cut_0_no_idx", "weir_log_0_xid_id_idx"}, 0},
    {&weir_pg_sql_insert_cut, "NULL", {"weir_cut_0_no_idx"}, 0},
    {&weir_pg_sql_cuts, "7", {"weir_cut_0_no_idx", "weir_aside_pkey"}, 0},
    {&weir_pg_sql_few_cuts, "7", {"weir_cut_0_no_idx", "weir_aside_pkey"}, 0},
    {&weir_pg_sql_new[0],
     "1000, 66536, " PAGE ", 1, 9",
     {"weir_log_0_id_idx", "weir_aside_pkey"},
     0},
    {&weir_pg_sql_new[0],
     "1000, 66536, " PAGE_OF_SOME ", 1, 9",
     {"weir_log_0_id_idx", "weir_aside_pkey", "hashed SubPlan"},
     0},
    {&weir_pg_sql_next, "1000, 900000, 1", {"weir_log_0_id_idx", "weir_aside_pkey"}, 0},
    {&weir_pg_sql_late,
     "0, 900000, '500:600:500,501', '5000:5000:', NULL, 1000, 1000000, 1, 700, 1, 9",
     {"weir_log_0_xid_id_idx", "weir_aside_pkey"},
     SORTS},
    {&weir_pg_sql_late,
     "0, 900000, '500:600:500,501', '5000:5000:', '{64}', 1000, 1000000, 1, 700, 1, 9",
     {"weir_log_0_xid_id_idx", "weir_aside_pkey"},
     SORTS},
    {&weir_pg_sql_span,
     "7, 1024, NULL, 1000, 1000000, 1, 9",
     {"weir_cut_0_no_idx", "weir_log_0_id_idx", "weir_log_0_xid_id_idx",
      "weir_aside_pkey"},
     SORTS},
    {&weir_pg_sql_span,
     "7, 1024, '{64}', 1000, 1000000, 1, 9",
     {"weir_cut_0_no_idx", "weir_log_0_id_idx", "weir_log_0_xid_id_idx",
      "weir_aside_pkey"},
     SORTS},
    {&weir_pg_sql_aside, "1, 0, 5, 9, NULL, 100, 1000, 1, 9", {"weir_aside_pkey"}, SMALL},
    {&weir_pg_sql_aside_bound, "1, 0, 5", {"weir_aside_pkey"}, SMALL},
    {&weir_pg_sql_lag_marks,
     "1, 20000",
     {"weir_ack_0_subscription_pid_version_idx", "weir_log_0_xid_id_idx"},
     SORTS},
    {&weir_pg_sql_lag_pieces, "1000, 20, 1024", {"weir_log_0_id_idx"}, 0},
    {&weir_pg_sql_lag_sample,
     "1, '{0,300000,600000}', 128, 1000, 20000",
     {"weir_ack_0_subscription_pid_version_idx", "weir_log_0_id_idx",
      "weir_log_0_xid_id_idx"},
     SORTS},
    {&weir_pg_sql_lag_aside,
     "1, 1000",
     {"weir_ack_0_subscription_pid_version_idx", "weir_aside_by_partition"},
     SORTS},
    {&weir_pg_sql_lag_aside_alone,
     "1, 1000",
     {"weir_ack_0_subscription_pid_version_idx", "weir_aside_by_partition"},
     SORTS},
    {&weir_pg_sql_lag_count,
     "1, 1000, 0, '{1000,300000,600000}', 100001, 10000, 1500000, 18, 500000",
     {"weir_ack_0_subscription_pid_version_idx", "weir_log_0_id_idx",
      "weir_log_0_xid_id_idx", "weir_aside_by_partition"},
     SORTS},
    {&weir_pg_sql_lag_guess,
     "1",
     {"weir_ack_0_subscription_pid_version_idx", "weir_aside_by_partition"},
     SORTS},
    {&weir_pg_sql_waits,
     "1, 'default', 9223372036854775807",
     {"weir_ack_0_subscription_pid_version_idx", "weir_log_0_id_idx",
      "weir_log_0_xid_id_idx", "weir_aside_by_partition"},
     SORTS},
    {&weir_letters_pg.list,
     EVERYTHING ", 1000, 1, 0, 0, 0, " NEWEST,
     {"weir_dead_letter_by_failure"},
     SORTS | SMALL},
    {&weir_letters_pg.list,
     EVERYTHING ", 1000, 1, 1, 1, 1, " NEWEST,
     {"weir_dead_letter_by_failure"},
     SORTS | SMALL},
    {&weir_letters_pg.claim,
     EVERYTHING ", 1000, 100",
     {"weir_dead_letter_open"},
     SMALL | CUSTOM},
    {&weir_letters_pg.requeue,
     EVERYTHING ", 5000, 100000, 500, 1000",
     {"weir_dead_letter_pkey"},
     SMALL},
    {&weir_letters_pg.expire,
     "500, 1000000, 999000",
     {"weir_dead_letter_closed", "Index Cond: (completed_us"},
     SORTS | SMALL},
};
enum { SAMPLE_COUNT = sizeof SAMPLES / sizeof SAMPLES[0] };

static bool begins(const char *line, const char *word)
{
    return strncmp(line, word, strlen(word)) == 0;
}

/* A scan of a table that grows. Those of which no plan may read all. */
static bool is_scan(const char *line)
{
    return strstr(line, "Scan") != NULL &&
           (strstr(line, " on weir_log") != NULL ||
            strstr(line, " on weir_cut") != NULL ||
            strstr(line, " on weir_ack") != NULL ||
            strstr(line, " on weir_aside") != NULL ||
            strstr(line, " on weir_dead_letter d") != NULL) &&
           strstr(line, "weir_log_id") == NULL;
}

static bool collects(const char *node)
{
    return begins(node, "Sort") || begins(node, "Incremental Sort") ||
           begins(node, "Hash") || begins(node, "Aggregate") ||
           begins(node, "Materialize") || begins(node, "Bitmap");
}

/* The row that tells what was removed is "sorted" by a constant: that is no sort. */
static void excuse_constants(char *plan)
{
    for (char *key = strstr(plan, "Sort Key: '0'::bigint"); key != NULL;
         key = strstr(key + 1, "Sort Key: '0'::bigint")) {
        char *node = key;

        while (node > plan && !begins(node, "->  Sort"))
            node--;
        memcpy(node, "->  Same", 8);
    }
}

/*
 * Nothing is compiled, every scan is by an index, and a LIMIT stands between it and
 * whatever would gather all of its rows. The nodes above a line are those with less
 * indentation.
 */
static void check_plan(const struct sample *sample, const char *kind, char *plan)
{
    const char *nodes[DEPTH_MAX];
    size_t indents[DEPTH_MAX];
    size_t depth = 0;
    char *copy = strdup(plan);

    check(copy != NULL);
    excuse_constants(copy);
    for (size_t i = 0; i < 4 && sample->wanted[i] != NULL; i++) {
        if (strstr(plan, sample->wanted[i]) == NULL)
            weir_test_fail(__FILE__, __LINE__, "%s (%s): no %s in\n%s", sample->sql->name,
                           kind, sample->wanted[i], plan);
    }
    if (strstr(plan, "JIT:") != NULL)
        weir_test_fail(__FILE__, __LINE__, "%s (%s): is compiled\n%s", sample->sql->name,
                       kind, plan);
    for (char *line = strtok(copy, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        size_t indent = strspn(line, " ");
        const char *node = line + indent;

        if (begins(node, "->"))
            node += 4;
        else if (indent > 0 && !begins(node, "CTE") && !begins(node, "InitPlan") &&
                 !begins(node, "SubPlan"))
            continue;
        while (depth > 0 && indents[depth - 1] >= indent)
            depth--;
        for (size_t i = depth; is_scan(node) && i > 0 && !begins(nodes[i - 1], "Limit");
             i--) {
            if (collects(nodes[i - 1]))
                weir_test_fail(__FILE__, __LINE__, "%s (%s): %s\nis not limited in\n%s",
                               sample->sql->name, kind, node, plan);
        }
        if ((is_scan(node) && !begins(node, "Index")) ||
            ((sample->traits & SORTS) == 0 && begins(node, "Sort")))
            weir_test_fail(__FILE__, __LINE__, "%s (%s): %s in\n%s", sample->sql->name,
                           kind, node, plan);
        check(depth < DEPTH_MAX);
        nodes[depth] = node;
        indents[depth++] = indent;
    }
    free(copy);
}

/* In a transaction, whose settings are ours also behind a pooler. */
static PGconn *begin_planning(struct fixture *fixture, struct weir_connection *connection)
{
    check_db(weir_connection_begin(connection, &fixture->error), WEIR_OK);
    return weir_connection_native(connection);
}

static void end_planning(struct fixture *fixture, struct weir_connection *connection)
{
    explain_execute(weir_connection_native(connection), "DEALLOCATE ALL");
    weir_connection_rollback(connection);
    fixture_give(fixture, connection);
}

/* Samples with one of the traits `without` are left out. */
static void check_plans(PGconn *native, const char *kind, unsigned without)
{
    char *plan = malloc(PLAN_SIZE);

    check(plan != NULL);
    for (size_t i = 0; i < SAMPLE_COUNT; i++) {
        if ((SAMPLES[i].traits & without) != 0)
            continue;
        explain(native, i, SAMPLES[i].arguments, plan);
        if (getenv("WEIR_TEST_SHOW_PLANS") != NULL)
            (void)printf("# %s (%s)\n%s\n", SAMPLES[i].sql->name, kind, plan);
        check_plan(&SAMPLES[i], kind, plan);
    }
    free(plan);
}

static void prepare_all(struct fixture *fixture, PGconn *native)
{
    explain_execute(native, "SELECT set_config('weir.cut', 'true', true),"
                            " set_config('weir.hi', '1', true),"
                            " set_config('weir.own', '1', true),"
                            " set_config('weir.snap', '1:1:', true)");
    for (size_t i = 0; i < SAMPLE_COUNT; i++)
        explain_prepare(fixture, native, i, SAMPLES[i].sql);
}

/* As after a bad night, and the nights before. */
static void fill_dead_letters(struct fixture *fixture)
{
    fixture_prepare(fixture,
                    "INSERT INTO {p}_queue (name, partitions, retention_us, created_us)"
                    " SELECT 'q' || n, 1, n % 2 * 1000, 0 FROM generate_series(1, 10) n");
    fixture_prepare(
        fixture,
        "INSERT INTO {p}_dead_letter (subscription, pid, seq, log_id, uid, type,"
        " payload, attempts, error, failed_us, status, completed_us)"
        " SELECT 1, 64 + n % 16, n, n, '', 't', '\\x00', 0, '', n,"
        " CASE WHEN n > 50000 THEN 'pending' ELSE 'resolved' END,"
        " CASE WHEN n > 50000 THEN 0 ELSE n END FROM generate_series(1, 100000) n");
    fixture_prepare(fixture, "ANALYZE {p}_dead_letter");
}

static void fill(struct fixture *fixture)
{
    for (int i = 0; i < 10; i++)
        fixture_prepare(fixture, "INSERT INTO {p}_log (pid, uid, type, payload)"
                                 " SELECT 64 + n % 16, '\\x00112233', 't', '\\x00'"
                                 " FROM generate_series(1, 100000) n");
    fixture_prepare(fixture, "INSERT INTO {p}_cut SELECT n, n * 250, '500', '500:500:',"
                             " n * 250, 0 FROM generate_series(1, 4000) n");
    fixture_prepare(fixture, "INSERT INTO {p}_ack (subscription, pid, version, epoch,"
                             " incarnation, cut, last_id, seq)"
                             " SELECT 1, 64 + n % 16, n, 1, '', n / 25, 0, n"
                             " FROM generate_series(1, 100000) n");
    fixture_prepare(fixture, "INSERT INTO {p}_aside (pid, cut, id, uid, type, payload)"
                             " SELECT 64 + n % 16, n / 100, n, '', 't', '\\x00'"
                             " FROM generate_series(1, 50000) n");
    fill_dead_letters(fixture);
}

OUTBOX_POSTGRESQL_TEST(plans, of_a_million_rows_that_nobody_analyzed_use_the_indexes)
{
    struct weir_connection *connection = fixture_take(fixture);
    PGconn *native;

    fixture_prepare(fixture, "ALTER TABLE {p}_aside SET (autovacuum_enabled = off)");
    fill(fixture);

    native = begin_planning(fixture, connection);
    prepare_all(fixture, native);
    explain_execute(native, "SET plan_cache_mode = force_custom_plan");
    check_plans(native, "custom", 0);
    explain_execute(native, "SET plan_cache_mode = force_generic_plan");
    check_plans(native, "generic", CUSTOM);

    end_planning(fixture, connection);
}

OUTBOX_POSTGRESQL_TEST(plans, that_were_made_for_empty_tables_use_the_indexes)
{
    struct weir_connection *connection = fixture_take(fixture);
    PGconn *native = begin_planning(fixture, connection);

    prepare_all(fixture, native);
    explain_execute(native, "SET plan_cache_mode = force_generic_plan");
    check_plans(native, "made when empty", SMALL);

    end_planning(fixture, connection);
}
