/* Tests of adoption in db/postgres/open.c and db/postgres/link.c: the application's own
 * PGconn. */
#include "unit/db/postgres_fixture.h"

/* Adopting must be refused, with these words. */
static void check_refused(struct postgres_fixture *postgres_fixture, PGconn *connection,
                          const char *words)
{
    struct weir_link *link = NULL;

    check_postgres_fixture(
        postgres_fixture,
        pg->adopt(&postgres_fixture->config, connection, &link, &postgres_fixture->error),
        WEIR_INVALID);
    check(link == NULL);
    if (strstr(postgres_fixture->error.text, words) == NULL)
        weir_test_fail(__FILE__, __LINE__, "\"%s\" is not about \"%s\"",
                       postgres_fixture->error.text, words);
}

static void drain(PGconn *connection)
{
    PGresult *result;

    while ((result = PQgetResult(connection)) != NULL)
        PQclear(result);
}

static char *peek_at(PGconn *connection, const char *text)
{
    static char answer[128];
    PGresult *result = PQexec(connection, text);

    check_int(PQresultStatus(result), PGRES_TUPLES_OK);
    snprintf(answer, sizeof answer, "%s", PQgetvalue(result, 0, 0));
    PQclear(result);
    return answer;
}

/* ---- refusals ---- */

WEIR_TEST(pg_adopt, refuses_no_connection)
{
    struct postgres_fixture postgres_fixture;

    postgres_fixture_open(&postgres_fixture);

    check_refused(&postgres_fixture, NULL, "there is no connection");
    postgres_fixture_close(&postgres_fixture);
}

WEIR_TEST(pg_adopt, refuses_a_broken_connection)
{
    struct postgres_fixture postgres_fixture;
    PGconn *application = PQconnectdb("host=/nowhere");

    postgres_fixture_open(&postgres_fixture);

    check_refused(&postgres_fixture, application, "broken");
    PQfinish(application);
    postgres_fixture_close(&postgres_fixture);
}

WEIR_TEST(pg_adopt, refuses_a_busy_connection)
{
    struct postgres_fixture postgres_fixture;
    PGconn *application;

    postgres_fixture_open(&postgres_fixture);
    application = postgres_fixture_application(&postgres_fixture);
    check_int(PQsendQuery(application, "SELECT 1"), 1);

    check_refused(&postgres_fixture, application, "busy");

    drain(application);
    postgres_fixture_unlink(postgres_fixture_adopt(&postgres_fixture, application));
    PQfinish(application);
    postgres_fixture_close(&postgres_fixture);
}

WEIR_TEST(pg_adopt, refuses_a_failed_transaction)
{
    struct postgres_fixture postgres_fixture;
    PGconn *application;

    postgres_fixture_open(&postgres_fixture);
    application = postgres_fixture_application(&postgres_fixture);
    postgres_fixture_apply(application, "BEGIN");
    PQclear(PQexec(application, "SELECT 1/0"));

    check_refused(&postgres_fixture, application, "failed transaction");

    postgres_fixture_apply(application, "ROLLBACK");
    postgres_fixture_unlink(postgres_fixture_adopt(&postgres_fixture, application));
    PQfinish(application);
    postgres_fixture_close(&postgres_fixture);
}

WEIR_TEST(pg_adopt, refuses_pipeline_mode)
{
    struct postgres_fixture postgres_fixture;
    PGconn *application;

    postgres_fixture_open(&postgres_fixture);
    application = postgres_fixture_application(&postgres_fixture);
    check_int(PQenterPipelineMode(application), 1);

    check_refused(&postgres_fixture, application, "pipeline mode");

    check_int(PQexitPipelineMode(application), 1);
    postgres_fixture_unlink(postgres_fixture_adopt(&postgres_fixture, application));
    PQfinish(application);
    postgres_fixture_close(&postgres_fixture);
}

WEIR_TEST(pg_adopt, refuses_non_blocking_mode)
{
    struct postgres_fixture postgres_fixture;
    PGconn *application;

    postgres_fixture_open(&postgres_fixture);
    application = postgres_fixture_application(&postgres_fixture);
    check_int(PQsetnonblocking(application, 1), 0);

    check_refused(&postgres_fixture, application, "non-blocking mode");
    PQfinish(application);
    postgres_fixture_close(&postgres_fixture);
}

/* Our text is UTF-8; the server would take it for something else. */
WEIR_TEST(pg_adopt, refuses_other_encodings)
{
    struct postgres_fixture postgres_fixture;
    PGconn *application;

    postgres_fixture_open(&postgres_fixture);
    application = postgres_fixture_application(&postgres_fixture);
    postgres_fixture_apply(application, "SET client_encoding = 'LATIN1'");

    check_refused(&postgres_fixture, application,
                  "client_encoding is LATIN1, must be UTF8");
    PQfinish(application);
    postgres_fixture_close(&postgres_fixture);
}

/* What was fine when it was adopted may not be so any more. */
WEIR_TEST(pg_adopt, looks_again_before_every_statement)
{
    struct postgres_fixture postgres_fixture;
    struct weir_link *link;
    PGconn *application;
    void *prepared;

    postgres_fixture_open(&postgres_fixture);
    application = postgres_fixture_application(&postgres_fixture);
    link = postgres_fixture_adopt(&postgres_fixture, application);
    prepared = postgres_fixture_prepare(&postgres_fixture, link, "SELECT 1", "");

    check_int(PQsendQuery(application, "SELECT 1"), 1);
    check_postgres_fixture(&postgres_fixture,
                           postgres_fixture_run(&postgres_fixture, link, prepared, NULL),
                           WEIR_INVALID);
    check_postgres_fixture(&postgres_fixture,
                           postgres_fixture_try(&postgres_fixture, link, "SAVEPOINT s"),
                           WEIR_INVALID);
    drain(application);
    check_int(PQenterPipelineMode(application), 1);
    check_postgres_fixture(&postgres_fixture,
                           postgres_fixture_run(&postgres_fixture, link, prepared, NULL),
                           WEIR_INVALID);
    check_int(PQexitPipelineMode(application), 1);
    postgres_fixture_apply(application, "BEGIN");
    PQclear(PQexec(application, "SELECT 1/0"));
    check_postgres_fixture(&postgres_fixture,
                           postgres_fixture_run(&postgres_fixture, link, prepared, NULL),
                           WEIR_INVALID);
    postgres_fixture_apply(application, "ROLLBACK");

    check_postgres_fixture(&postgres_fixture,
                           postgres_fixture_run(&postgres_fixture, link, prepared, NULL),
                           WEIR_OK);
    pg->unprepare(link, prepared);
    postgres_fixture_unlink(link);
    PQfinish(application);
    postgres_fixture_close(&postgres_fixture);
}

/* ---- inside the application's transaction ---- */

WEIR_TEST(pg_adopt, works_inside_the_open_transaction)
{
    struct postgres_fixture postgres_fixture;
    struct weir_link *link;
    PGconn *application;
    const struct weir_value value = weir_integer(2);
    void *prepared;

    postgres_fixture_open(&postgres_fixture);
    application = postgres_fixture_application(&postgres_fixture);
    postgres_fixture_apply(application, "CREATE TABLE t (a bigint)");
    postgres_fixture_apply(application, "BEGIN");
    postgres_fixture_apply(application, "INSERT INTO t VALUES (1)");

    link = postgres_fixture_adopt(&postgres_fixture, application);
    check_int(pg->transaction(link), WEIR_TRANSACTION_OPEN);
    prepared = postgres_fixture_prepare(&postgres_fixture, link,
                                        "INSERT INTO t VALUES ($1)", "i");
    check_postgres_fixture(
        &postgres_fixture,
        postgres_fixture_run(&postgres_fixture, link, prepared, &value), WEIR_OK);
    pg->unprepare(link, prepared);
    postgres_fixture_unlink(link);

    check_int(postgres_fixture_peek(&postgres_fixture, "SELECT count(*) FROM t"), 0);
    check_int(PQtransactionStatus(application), PQTRANS_INTRANS);
    postgres_fixture_apply(application, "COMMIT");
    check_int(postgres_fixture_peek(&postgres_fixture, "SELECT count(*) FROM t"), 2);
    PQfinish(application);
    postgres_fixture_close(&postgres_fixture);
}

WEIR_TEST(pg_adopt, can_undo_its_own_failure)
{
    struct postgres_fixture postgres_fixture;
    struct weir_link *link;
    PGconn *application;
    void *prepared;

    postgres_fixture_open(&postgres_fixture);
    application = postgres_fixture_application(&postgres_fixture);
    postgres_fixture_apply(application, "CREATE TABLE t (a bigint)");
    postgres_fixture_apply(application, "BEGIN");
    postgres_fixture_apply(application, "INSERT INTO t VALUES (1)");
    link = postgres_fixture_adopt(&postgres_fixture, application);
    prepared = postgres_fixture_prepare(&postgres_fixture, link, "SELECT 1/0", "");

    postgres_fixture_exec(&postgres_fixture, link, "SAVEPOINT s");
    check_postgres_fixture(&postgres_fixture,
                           postgres_fixture_run(&postgres_fixture, link, prepared, NULL),
                           WEIR_INVALID);
    postgres_fixture_exec(&postgres_fixture, link, "ROLLBACK TO SAVEPOINT s");
    postgres_fixture_exec(&postgres_fixture, link, "RELEASE SAVEPOINT s");

    pg->unprepare(link, prepared);
    postgres_fixture_unlink(link);
    postgres_fixture_apply(application, "COMMIT");
    check_int(postgres_fixture_peek(&postgres_fixture, "SELECT count(*) FROM t"), 1);
    PQfinish(application);
    postgres_fixture_close(&postgres_fixture);
}

static size_t notices;

static void count_notice(void *state, const char *text)
{
    (void)state;
    (void)text;
    notices++;
}

/* Settings, prepared statements, notice processor, modes: as they were. */
WEIR_TEST(pg_adopt, leaves_everything_of_the_application_alone)
{
    struct postgres_fixture postgres_fixture;
    struct weir_link *link;
    PGconn *application;
    const struct weir_value value = weir_integer(7);
    struct weir_driver_step steps[2] = {{.values = &value}, {.values = &value}};
    int64_t number;
    size_t failed;
    void *prepared;

    postgres_fixture_open(&postgres_fixture);
    application = postgres_fixture_application(&postgres_fixture);
    PQsetNoticeProcessor(application, count_notice, NULL);
    notices = 0;
    postgres_fixture_apply(application,
                           "SET TimeZone = 'Asia/Tokyo'; SET statement_timeout = 54321;"
                           "SET default_transaction_isolation = 'repeatable read';"
                           "PREPARE theirs AS SELECT 'theirs'");

    link = postgres_fixture_adopt(&postgres_fixture, application);
    prepared = postgres_fixture_prepare(&postgres_fixture, link, "SELECT $1", "i");
    steps[0].prepared = steps[1].prepared = prepared;
    check_postgres_fixture(
        &postgres_fixture,
        postgres_fixture_run(&postgres_fixture, link, prepared, &value), WEIR_OK);
    check_postgres_fixture(
        &postgres_fixture,
        pg->run_steps(link, steps, 2, &failed, &postgres_fixture.error), WEIR_OK);
    check_postgres_fixture(&postgres_fixture,
                           pg->clock(link, &number, &postgres_fixture.error), WEIR_OK);
    postgres_fixture_exec(&postgres_fixture, link,
                          "DO $$BEGIN RAISE NOTICE 'here'; END$$");
    pg->unprepare(link, prepared);
    postgres_fixture_unlink(link);

    check_str(peek_at(application, "SHOW TimeZone"), "Asia/Tokyo");
    check_str(peek_at(application, "SHOW statement_timeout"), "54321ms");
    check_str(peek_at(application, "SHOW transaction_isolation"), "repeatable read");
    check_str(peek_at(application, "SELECT count(*) FROM pg_prepared_statements"), "1");
    check_str(peek_at(application, "EXECUTE theirs"), "theirs");
    check_int(notices, 1);
    check_int(
        captured_log_count(&postgres_fixture.captured_log, WEIR_LOG_DEBUG, "db.notice"),
        0);
    check(!PQisnonblocking(application));
    PQfinish(application);
    postgres_fixture_close(&postgres_fixture);
}

WEIR_TEST(pg_adopt, is_lost_with_the_connection)
{
    struct postgres_fixture postgres_fixture;
    struct weir_link *link;
    PGconn *application;
    void *prepared;

    postgres_fixture_open(&postgres_fixture);
    application = postgres_fixture_application(&postgres_fixture);
    link = postgres_fixture_adopt(&postgres_fixture, application);
    prepared = postgres_fixture_prepare(
        &postgres_fixture, link, "SELECT pg_terminate_backend(pg_backend_pid())", "");

    check_postgres_fixture(&postgres_fixture,
                           postgres_fixture_run(&postgres_fixture, link, prepared, NULL),
                           WEIR_LOST);

    check(link->lost);
    pg->unprepare(link, prepared);
    postgres_fixture_unlink(link);
    PQfinish(application);
    postgres_fixture_close(&postgres_fixture);
}

/* A read-only transaction is the application's choice, not a failover. */
WEIR_TEST(pg_adopt, refuses_to_write_in_a_transaction_for_reading)
{
    struct postgres_fixture postgres_fixture;
    struct weir_link *link;
    PGconn *application;

    postgres_fixture_open(&postgres_fixture);
    application = postgres_fixture_application(&postgres_fixture);
    postgres_fixture_apply(application, "BEGIN READ ONLY");
    link = postgres_fixture_adopt(&postgres_fixture, application);

    check_postgres_fixture(
        &postgres_fixture,
        postgres_fixture_try(&postgres_fixture, link, "CREATE TABLE t ()"), WEIR_INVALID);

    check(!link->lost);
    postgres_fixture_unlink(link);
    PQfinish(application);
    postgres_fixture_close(&postgres_fixture);
}

/* By order of a test only our side is lost: the application's connection is not cut. */
WEIR_TEST(pg_adopt, never_cuts_the_connection)
{
    struct postgres_fixture postgres_fixture;
    struct weir_link *link;
    PGconn *application;

    postgres_fixture_open(&postgres_fixture);
    application = postgres_fixture_application(&postgres_fixture);
    link = postgres_fixture_adopt(&postgres_fixture, application);
    weir_fault_points_arm(&postgres_fixture.points, "db.lose", 1);

    check_postgres_fixture(&postgres_fixture,
                           postgres_fixture_try(&postgres_fixture, link, "SELECT 1"),
                           WEIR_LOST);

    weir_fault_points_init(&postgres_fixture.points);
    postgres_fixture_unlink(link);
    check_str(peek_at(application, "SELECT 7"), "7");
    PQfinish(application);
    postgres_fixture_close(&postgres_fixture);
}
