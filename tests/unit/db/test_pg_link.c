/* Tests of db/postgres/link.c: connections that end, fall silent or are left in a
 * mess. */
#include "db/postgres/link.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "unit/db/postgres_fixture.h"
#include "ward/system.h"

static int64_t backend_of(struct weir_link *link)
{
    return PQbackendPID(pg->native(link));
}

static void terminate(struct postgres_fixture *postgres_fixture, struct weir_link *link)
{
    char text[128];

    snprintf(text, sizeof text,
             "SELECT count(*) FROM pg_terminate_backend(%lld, 10000) x",
             (long long)backend_of(link));
    check_int(postgres_fixture_peek(postgres_fixture, text), 1);
}

/* ---- connections that end ---- */

POSTGRES_LINK_TEST(pg_link, is_lost_when_the_server_ends_it)
{
    terminate(postgres_fixture, link);

    check_postgres_fixture(postgres_fixture,
                           postgres_fixture_try(postgres_fixture, link, "SELECT 1"),
                           WEIR_LOST);

    check(link->lost);
    check_str(postgres_fixture->error.sqlstate, "57P01");
}

/* Writing into a connection that is gone raises SIGPIPE, which would end the host. */
POSTGRES_LINK_TEST(pg_link, does_not_die_of_a_broken_pipe)
{
    static char bytes[4 * 1024 * 1024];
    const struct weir_value value = weir_bytes(bytes, sizeof bytes);
    struct sigaction action;
    void *prepared;

    prepared = postgres_fixture_prepare(postgres_fixture, link, "SELECT length($1)", "b");
    check_postgres_fixture(postgres_fixture,
                           postgres_fixture_run(postgres_fixture, link, prepared, &value),
                           WEIR_OK);
    check_int(sigaction(SIGPIPE, NULL, &action), 0);
    check(action.sa_handler == SIG_DFL);
    terminate(postgres_fixture, link);

    check_postgres_fixture(postgres_fixture,
                           postgres_fixture_run(postgres_fixture, link, prepared, &value),
                           WEIR_LOST);

    check(link->lost);
    pg->unprepare(link, prepared);
}

POSTGRES_LINK_TEST(pg_link, is_lost_when_a_statement_ends_it)
{
    check_postgres_fixture(
        postgres_fixture,
        postgres_fixture_try(postgres_fixture, link,
                             "SELECT pg_terminate_backend(pg_backend_pid())"),
        WEIR_LOST);

    check(link->lost);
}

/* Without asking the server. */
POSTGRES_LINK_TEST(pg_link, can_tell_that_the_server_has_hung_up)
{
    check(weir_pg_is_alive(link));
    check_int(postgres_fixture_ask(postgres_fixture, link, "SELECT 7"), 7);
    terminate(postgres_fixture, link);

    check(!weir_pg_is_alive(link));

    check(link->lost);
}

/* A notification is no farewell, and is not lost by looking. */
POSTGRES_LINK_TEST(pg_link, is_alive_when_something_came_in_unasked)
{
    PGnotify *notification;

    postgres_fixture_exec(postgres_fixture, link, "LISTEN bell");
    server_execute(postgres_fixture->server, postgres_fixture->database, "NOTIFY bell");

    check(weir_pg_is_alive(link));

    check_int(postgres_fixture_ask(postgres_fixture, link, "SELECT 7"), 7);
    notification = PQnotifies(pg->native(link));
    check(notification != NULL);
    PQfreemem(notification);
}

/* ---- silence ---- */

/* The backend stands still, as a frozen machine would; TCP does not notice. */
WEIR_TEST(pg_link, is_lost_when_the_server_is_silent_for_too_long)
{
    struct postgres_fixture postgres_fixture;
    struct weir_link *link;
    pid_t backend;
    int64_t begin_ns;

    postgres_fixture_open(&postgres_fixture);
    link = postgres_fixture_link(&postgres_fixture);
    postgres_fixture_inside(link)->silence_ns = WEIR_MILLISECONDS(300);
    backend = (pid_t)backend_of(link);
    check_int(kill(backend, SIGSTOP), 0);
    begin_ns = weir_system_now_ns();

    check_postgres_fixture(&postgres_fixture,
                           postgres_fixture_try(&postgres_fixture, link, "SELECT 1"),
                           WEIR_LOST);

    check_in_range(weir_system_now_ns() - begin_ns, WEIR_MILLISECONDS(300),
                   WEIR_SECONDS(9));
    check(link->lost);
    postgres_fixture_unlink(link);
    check_int(kill(backend, SIGCONT), 0);
    postgres_fixture_close(&postgres_fixture);
}

/* The same while there is more to be sent than anybody takes. */
WEIR_TEST(pg_link, is_lost_when_the_server_stops_reading)
{
    static char bytes[16 * 1024 * 1024];
    const struct weir_value value = weir_bytes(bytes, sizeof bytes);
    struct postgres_fixture postgres_fixture;
    struct weir_link *link;
    pid_t backend;
    void *prepared;

    postgres_fixture_open(&postgres_fixture);
    link = postgres_fixture_link(&postgres_fixture);
    prepared =
        postgres_fixture_prepare(&postgres_fixture, link, "SELECT length($1)", "b");
    check_postgres_fixture(
        &postgres_fixture,
        postgres_fixture_run(&postgres_fixture, link, prepared, &value), WEIR_OK);
    postgres_fixture_inside(link)->silence_ns = WEIR_MILLISECONDS(300);
    backend = (pid_t)backend_of(link);
    check_int(kill(backend, SIGSTOP), 0);

    check_postgres_fixture(
        &postgres_fixture,
        postgres_fixture_run(&postgres_fixture, link, prepared, &value), WEIR_LOST);

    pg->unprepare(link, prepared);
    postgres_fixture_unlink(link); /* does not wait for anybody either */
    check_int(kill(backend, SIGCONT), 0);
    postgres_fixture_close(&postgres_fixture);
}

/* Silence counts from the last sign of life: notices, here. */
POSTGRES_LINK_TEST(pg_link, waits_for_a_server_that_gives_signs_of_life)
{
    postgres_fixture_inside(link)->silence_ns = WEIR_SECONDS(2);

    postgres_fixture_exec(postgres_fixture, link,
                          "DO $$BEGIN FOR i IN 1..12 LOOP PERFORM pg_sleep(0.25);"
                          " RAISE NOTICE 'tick'; END LOOP; END$$");

    check_int(captured_log_count(&postgres_fixture->captured_log, WEIR_LOG_DEBUG, "tick"),
              12);
}

WEIR_TEST(pg_link, waits_a_while_longer_than_a_statement_may_take)
{
    struct postgres_fixture postgres_fixture;
    struct weir_link *link;

    postgres_fixture_open(&postgres_fixture);
    postgres_fixture.config.statement_timeout_ns = WEIR_MILLISECONDS(100);
    link = postgres_fixture_link(&postgres_fixture);

    check_postgres_fixture(
        &postgres_fixture,
        postgres_fixture_try(&postgres_fixture, link, "SELECT pg_sleep(60)"),
        WEIR_TIMEOUT);

    check_str(postgres_fixture.error.sqlstate, "57014");
    check_int(postgres_fixture_inside(link)->silence_ns, WEIR_MILLISECONDS(15100));
    check_int(postgres_fixture_ask(&postgres_fixture, link, "SELECT 7"), 7);
    postgres_fixture_unlink(link);
    postgres_fixture_close(&postgres_fixture);
}

/* ---- a mess ---- */

WEIR_TEST(pg_link, does_not_copy)
{
    static const char *const texts[] = {"COPY t TO STDOUT", "COPY t FROM STDIN"};
    struct postgres_fixture postgres_fixture;

    postgres_fixture_open(&postgres_fixture);
    server_execute(postgres_fixture.server, postgres_fixture.database,
                   "CREATE TABLE t (a bigint)");
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct weir_link *link = postgres_fixture_link(&postgres_fixture);

        check_postgres_fixture(&postgres_fixture,
                               postgres_fixture_try(&postgres_fixture, link, texts[i]),
                               WEIR_LOST);
        check_str(postgres_fixture.error.text, "COPY cannot be done here");
        postgres_fixture_unlink(link);
    }
    postgres_fixture_close(&postgres_fixture);
}

/* A handler that was given the connection did not clean up after itself. */
POSTGRES_LINK_TEST(pg_link, is_lost_when_somebody_left_it_busy)
{
    check_int(PQsendQuery(pg->native(link), "SELECT pg_sleep(60)"), 1);

    check_int(pg->transaction(link), WEIR_TRANSACTION_OPEN);
    pg->rollback(link);

    check(link->lost);
}

POSTGRES_LINK_TEST(pg_link, is_lost_when_somebody_left_it_in_pipeline_mode)
{
    check_int(PQenterPipelineMode(pg->native(link)), 1);

    check_postgres_fixture(postgres_fixture,
                           postgres_fixture_try(postgres_fixture, link, "SELECT 1"),
                           WEIR_LOST);
}

POSTGRES_LINK_TEST(pg_link, runs_several_statements_of_one_text)
{
    postgres_fixture_exec(
        postgres_fixture, link,
        "CREATE TABLE t (a bigint); INSERT INTO t VALUES (1); SELECT 1");
    postgres_fixture_exec(postgres_fixture, link, "");
    check_postgres_fixture(
        postgres_fixture,
        postgres_fixture_try(postgres_fixture, link,
                             "INSERT INTO t VALUES (2); SELECT 1/0; SELECT 1"),
        WEIR_INVALID);

    check_str(postgres_fixture->error.text, "division by zero (22012)");
    check_int(postgres_fixture_peek(postgres_fixture, "SELECT count(*) FROM t"), 1);
}

/* ---- errors ---- */

POSTGRES_LINK_TEST(pg_link, fills_in_the_error)
{
    check_postgres_fixture(
        postgres_fixture,
        postgres_fixture_try(postgres_fixture, link, "SELECT * FROM nowhere"),
        WEIR_SCHEMA);

    check_int(postgres_fixture->error.status, WEIR_SCHEMA);
    check_int(postgres_fixture->error.native_code, 0);
    check_str(postgres_fixture->error.sqlstate, "42P01");
    check_str(postgres_fixture->error.text,
              "relation \"nowhere\" does not exist (42P01)");
    check(!link->lost);
}

/* Details hold values of rows: only the message is shown. */
POSTGRES_LINK_TEST(pg_link, does_not_show_what_is_in_the_rows)
{
    postgres_fixture_exec(
        postgres_fixture, link,
        "CREATE TABLE t (a text UNIQUE); INSERT INTO t VALUES ('SECRET')");

    check_postgres_fixture(
        postgres_fixture,
        postgres_fixture_try(postgres_fixture, link, "INSERT INTO t VALUES ('SECRET')"),
        WEIR_CONSTRAINT);

    check(strstr(postgres_fixture->error.text, "SECRET") == NULL);
    check_str(postgres_fixture->error.sqlstate, "23505");
}

/* After a failover we may be on a standby, and must look for the primary again. */
POSTGRES_LINK_TEST(pg_link, is_lost_when_the_server_turns_out_to_be_read_only)
{
    postgres_fixture_exec(postgres_fixture, link,
                          "SET default_transaction_read_only = on");

    check_postgres_fixture(
        postgres_fixture,
        postgres_fixture_try(postgres_fixture, link, "CREATE TABLE t ()"), WEIR_LOST);

    check(link->lost);
    check_str(postgres_fixture->error.sqlstate, "25006");
}

POSTGRES_LINK_TEST(pg_link, is_not_lost_by_writing_in_a_transaction_for_reading)
{
    check_postgres_fixture(postgres_fixture,
                           pg->begin(link, WEIR_READ_ONLY, &postgres_fixture->error),
                           WEIR_OK);

    check_postgres_fixture(
        postgres_fixture,
        postgres_fixture_try(postgres_fixture, link, "CREATE TABLE t ()"), WEIR_INVALID);

    check(!link->lost);
    pg->rollback(link);
    postgres_fixture_exec(postgres_fixture, link, "CREATE TABLE t ()");
}

/* Two links that both prepare "weir_1" on one session. */
POSTGRES_LINK_TEST(pg_link, suspects_a_pooler_when_a_name_is_taken)
{
    void *prepared;

    postgres_fixture_exec(postgres_fixture, link, "PREPARE weir_1 AS SELECT 1");
    prepared = postgres_fixture_prepare(postgres_fixture, link, "SELECT 1", "");

    check_postgres_fixture(postgres_fixture,
                           postgres_fixture_run(postgres_fixture, link, prepared, NULL),
                           WEIR_SCHEMA);

    check(strstr(postgres_fixture->error.text, "pooler=transaction") != NULL);
    pg->unprepare(link, prepared);
}
