/* Tests of adoption in db/postgres/open.c and db/postgres/link.c: the application's own PGconn. */
#include "unit/db/stall.h"

/* Adopting must be refused, with these words. */
static void check_refused(struct stall *stall, PGconn *connection, const char *words)
{
    struct weir_link *link = NULL;

    check_stall(stall, pg->adopt(&stall->config, connection, &link, &stall->error),
                WEIR_INVALID);
    check(link == NULL);
    if (strstr(stall->error.text, words) == NULL)
        weir_test_fail(__FILE__, __LINE__, "\"%s\" is not about \"%s\"",
                       stall->error.text, words);
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
    struct stall stall;

    stall_open(&stall);

    check_refused(&stall, NULL, "there is no connection");
    stall_close(&stall);
}

WEIR_TEST(pg_adopt, refuses_a_broken_connection)
{
    struct stall stall;
    PGconn *application = PQconnectdb("host=/nowhere");

    stall_open(&stall);

    check_refused(&stall, application, "broken");
    PQfinish(application);
    stall_close(&stall);
}

WEIR_TEST(pg_adopt, refuses_a_busy_connection)
{
    struct stall stall;
    PGconn *application;

    stall_open(&stall);
    application = stall_application(&stall);
    check_int(PQsendQuery(application, "SELECT 1"), 1);

    check_refused(&stall, application, "busy");

    drain(application);
    stall_unlink(stall_adopt(&stall, application));
    PQfinish(application);
    stall_close(&stall);
}

WEIR_TEST(pg_adopt, refuses_a_failed_transaction)
{
    struct stall stall;
    PGconn *application;

    stall_open(&stall);
    application = stall_application(&stall);
    stall_apply(application, "BEGIN");
    PQclear(PQexec(application, "SELECT 1/0"));

    check_refused(&stall, application, "failed transaction");

    stall_apply(application, "ROLLBACK");
    stall_unlink(stall_adopt(&stall, application));
    PQfinish(application);
    stall_close(&stall);
}

WEIR_TEST(pg_adopt, refuses_pipeline_mode)
{
    struct stall stall;
    PGconn *application;

    stall_open(&stall);
    application = stall_application(&stall);
    check_int(PQenterPipelineMode(application), 1);

    check_refused(&stall, application, "pipeline mode");

    check_int(PQexitPipelineMode(application), 1);
    stall_unlink(stall_adopt(&stall, application));
    PQfinish(application);
    stall_close(&stall);
}

WEIR_TEST(pg_adopt, refuses_non_blocking_mode)
{
    struct stall stall;
    PGconn *application;

    stall_open(&stall);
    application = stall_application(&stall);
    check_int(PQsetnonblocking(application, 1), 0);

    check_refused(&stall, application, "non-blocking mode");
    PQfinish(application);
    stall_close(&stall);
}

/* Our text is UTF-8; the server would take it for something else. */
WEIR_TEST(pg_adopt, refuses_other_encodings)
{
    struct stall stall;
    PGconn *application;

    stall_open(&stall);
    application = stall_application(&stall);
    stall_apply(application, "SET client_encoding = 'LATIN1'");

    check_refused(&stall, application, "client_encoding is LATIN1, must be UTF8");
    PQfinish(application);
    stall_close(&stall);
}

/* What was fine when it was adopted may not be so any more. */
WEIR_TEST(pg_adopt, looks_again_before_every_statement)
{
    struct stall stall;
    struct weir_link *link;
    PGconn *application;
    void *prepared;

    stall_open(&stall);
    application = stall_application(&stall);
    link = stall_adopt(&stall, application);
    prepared = stall_prepare(&stall, link, "SELECT 1", "");

    check_int(PQsendQuery(application, "SELECT 1"), 1);
    check_stall(&stall, stall_run(&stall, link, prepared, NULL), WEIR_INVALID);
    check_stall(&stall, stall_try(&stall, link, "SAVEPOINT s"), WEIR_INVALID);
    drain(application);
    check_int(PQenterPipelineMode(application), 1);
    check_stall(&stall, stall_run(&stall, link, prepared, NULL), WEIR_INVALID);
    check_int(PQexitPipelineMode(application), 1);
    stall_apply(application, "BEGIN");
    PQclear(PQexec(application, "SELECT 1/0"));
    check_stall(&stall, stall_run(&stall, link, prepared, NULL), WEIR_INVALID);
    stall_apply(application, "ROLLBACK");

    check_stall(&stall, stall_run(&stall, link, prepared, NULL), WEIR_OK);
    pg->unprepare(link, prepared);
    stall_unlink(link);
    PQfinish(application);
    stall_close(&stall);
}

/* ---- inside the application's transaction ---- */

WEIR_TEST(pg_adopt, works_inside_the_open_transaction)
{
    struct stall stall;
    struct weir_link *link;
    PGconn *application;
    const struct weir_value value = weir_integer(2);
    void *prepared;

    stall_open(&stall);
    application = stall_application(&stall);
    stall_apply(application, "CREATE TABLE t (a bigint)");
    stall_apply(application, "BEGIN");
    stall_apply(application, "INSERT INTO t VALUES (1)");

    link = stall_adopt(&stall, application);
    check_int(pg->transaction(link), WEIR_TRANSACTION_OPEN);
    prepared = stall_prepare(&stall, link, "INSERT INTO t VALUES ($1)", "i");
    check_stall(&stall, stall_run(&stall, link, prepared, &value), WEIR_OK);
    pg->unprepare(link, prepared);
    stall_unlink(link);

    check_int(stall_peek(&stall, "SELECT count(*) FROM t"), 0);
    check_int(PQtransactionStatus(application), PQTRANS_INTRANS);
    stall_apply(application, "COMMIT");
    check_int(stall_peek(&stall, "SELECT count(*) FROM t"), 2);
    PQfinish(application);
    stall_close(&stall);
}

WEIR_TEST(pg_adopt, can_undo_its_own_failure)
{
    struct stall stall;
    struct weir_link *link;
    PGconn *application;
    void *prepared;

    stall_open(&stall);
    application = stall_application(&stall);
    stall_apply(application, "CREATE TABLE t (a bigint)");
    stall_apply(application, "BEGIN");
    stall_apply(application, "INSERT INTO t VALUES (1)");
    link = stall_adopt(&stall, application);
    prepared = stall_prepare(&stall, link, "SELECT 1/0", "");

    stall_exec(&stall, link, "SAVEPOINT s");
    check_stall(&stall, stall_run(&stall, link, prepared, NULL), WEIR_INVALID);
    stall_exec(&stall, link, "ROLLBACK TO SAVEPOINT s");
    stall_exec(&stall, link, "RELEASE SAVEPOINT s");

    pg->unprepare(link, prepared);
    stall_unlink(link);
    stall_apply(application, "COMMIT");
    check_int(stall_peek(&stall, "SELECT count(*) FROM t"), 1);
    PQfinish(application);
    stall_close(&stall);
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
    struct stall stall;
    struct weir_link *link;
    PGconn *application;
    const struct weir_value value = weir_integer(7);
    struct weir_driver_step steps[2] = {{.values = &value}, {.values = &value}};
    int64_t number;
    size_t failed;
    void *prepared;

    stall_open(&stall);
    application = stall_application(&stall);
    PQsetNoticeProcessor(application, count_notice, NULL);
    notices = 0;
    stall_apply(application, "SET TimeZone = 'Asia/Tokyo'; SET statement_timeout = 54321;"
                             "SET default_transaction_isolation = 'repeatable read';"
                             "PREPARE theirs AS SELECT 'theirs'");

    link = stall_adopt(&stall, application);
    prepared = stall_prepare(&stall, link, "SELECT $1", "i");
    steps[0].prepared = steps[1].prepared = prepared;
    check_stall(&stall, stall_run(&stall, link, prepared, &value), WEIR_OK);
    check_stall(&stall, pg->run_steps(link, steps, 2, &failed, &stall.error), WEIR_OK);
    check_stall(&stall, pg->clock(link, &number, &stall.error), WEIR_OK);
    stall_exec(&stall, link, "DO $$BEGIN RAISE NOTICE 'here'; END$$");
    pg->unprepare(link, prepared);
    stall_unlink(link);

    check_str(peek_at(application, "SHOW TimeZone"), "Asia/Tokyo");
    check_str(peek_at(application, "SHOW statement_timeout"), "54321ms");
    check_str(peek_at(application, "SHOW transaction_isolation"), "repeatable read");
    check_str(peek_at(application, "SELECT count(*) FROM pg_prepared_statements"), "1");
    check_str(peek_at(application, "EXECUTE theirs"), "theirs");
    check_int(notices, 1);
    check_int(journal_count(&stall.journal, WEIR_LOG_DEBUG, "db.notice"), 0);
    check(!PQisnonblocking(application));
    PQfinish(application);
    stall_close(&stall);
}

WEIR_TEST(pg_adopt, is_lost_with_the_connection)
{
    struct stall stall;
    struct weir_link *link;
    PGconn *application;
    void *prepared;

    stall_open(&stall);
    application = stall_application(&stall);
    link = stall_adopt(&stall, application);
    prepared =
        stall_prepare(&stall, link, "SELECT pg_terminate_backend(pg_backend_pid())", "");

    check_stall(&stall, stall_run(&stall, link, prepared, NULL), WEIR_LOST);

    check(link->lost);
    pg->unprepare(link, prepared);
    stall_unlink(link);
    PQfinish(application);
    stall_close(&stall);
}

/* A read-only transaction is the application's choice, not a failover. */
WEIR_TEST(pg_adopt, refuses_to_write_in_a_transaction_for_reading)
{
    struct stall stall;
    struct weir_link *link;
    PGconn *application;

    stall_open(&stall);
    application = stall_application(&stall);
    stall_apply(application, "BEGIN READ ONLY");
    link = stall_adopt(&stall, application);

    check_stall(&stall, stall_try(&stall, link, "CREATE TABLE t ()"), WEIR_INVALID);

    check(!link->lost);
    stall_unlink(link);
    PQfinish(application);
    stall_close(&stall);
}

/* By order of a test only our side is lost: the application's connection is not cut. */
WEIR_TEST(pg_adopt, never_cuts_the_connection)
{
    struct stall stall;
    struct weir_link *link;
    PGconn *application;

    stall_open(&stall);
    application = stall_application(&stall);
    link = stall_adopt(&stall, application);
    weir_fault_points_arm(&stall.points, "db.lose", 1);

    check_stall(&stall, stall_try(&stall, link, "SELECT 1"), WEIR_LOST);

    weir_fault_points_init(&stall.points);
    stall_unlink(link);
    check_str(peek_at(application, "SELECT 7"), "7");
    PQfinish(application);
    stall_close(&stall);
}
