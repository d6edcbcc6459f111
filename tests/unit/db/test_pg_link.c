/* Tests of db/postgres/link.c: connections that end, fall silent or are left in a mess. */
#include "db/postgres/link.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "unit/db/stall.h"
#include "ward/system.h"

static int64_t backend_of(struct weir_link *link)
{
    return PQbackendPID(pg->native(link));
}

static void terminate(struct stall *stall, struct weir_link *link)
{
    char text[128];

    snprintf(text, sizeof text,
             "SELECT count(*) FROM pg_terminate_backend(%lld, 10000) x",
             (long long)backend_of(link));
    check_int(stall_peek(stall, text), 1);
}

/* ---- connections that end ---- */

WEIR_TEST(pg_link, is_lost_when_the_server_ends_it)
{
    struct stall stall;
    struct weir_link *link;

    stall_open(&stall);
    link = stall_link(&stall);
    terminate(&stall, link);

    check_stall(&stall, stall_try(&stall, link, "SELECT 1"), WEIR_LOST);

    check(link->lost);
    check_str(stall.error.sqlstate, "57P01");
    stall_unlink(link);
    stall_close(&stall);
}

/* Writing into a connection that is gone raises SIGPIPE, which would end the host. */
WEIR_TEST(pg_link, does_not_die_of_a_broken_pipe)
{
    static char bytes[4 * 1024 * 1024];
    const struct weir_value value = weir_bytes(bytes, sizeof bytes);
    struct stall stall;
    struct weir_link *link;
    struct sigaction action;
    void *prepared;

    stall_open(&stall);
    link = stall_link(&stall);
    prepared = stall_prepare(&stall, link, "SELECT length($1)", "b");
    check_stall(&stall, stall_run(&stall, link, prepared, &value), WEIR_OK);
    check_int(sigaction(SIGPIPE, NULL, &action), 0);
    check(action.sa_handler == SIG_DFL);
    terminate(&stall, link);

    check_stall(&stall, stall_run(&stall, link, prepared, &value), WEIR_LOST);

    check(link->lost);
    pg->unprepare(link, prepared);
    stall_unlink(link);
    stall_close(&stall);
}

WEIR_TEST(pg_link, is_lost_when_a_statement_ends_it)
{
    struct stall stall;
    struct weir_link *link;

    stall_open(&stall);
    link = stall_link(&stall);

    check_stall(&stall,
                stall_try(&stall, link, "SELECT pg_terminate_backend(pg_backend_pid())"),
                WEIR_LOST);

    check(link->lost);
    stall_unlink(link);
    stall_close(&stall);
}

/* Without asking the server. */
WEIR_TEST(pg_link, can_tell_that_the_server_has_hung_up)
{
    struct stall stall;
    struct weir_link *link;

    stall_open(&stall);
    link = stall_link(&stall);
    check(weir_pg_is_alive(link));
    check_int(stall_ask(&stall, link, "SELECT 7"), 7);
    terminate(&stall, link);

    check(!weir_pg_is_alive(link));

    check(link->lost);
    stall_unlink(link);
    stall_close(&stall);
}

/* A notification is no farewell, and is not lost by looking. */
WEIR_TEST(pg_link, is_alive_when_something_came_in_unasked)
{
    struct stall stall;
    struct weir_link *link;
    PGnotify *notification;

    stall_open(&stall);
    link = stall_link(&stall);
    stall_exec(&stall, link, "LISTEN bell");
    server_execute(stall.server, stall.database, "NOTIFY bell");

    check(weir_pg_is_alive(link));

    check_int(stall_ask(&stall, link, "SELECT 7"), 7);
    notification = PQnotifies(pg->native(link));
    check(notification != NULL);
    PQfreemem(notification);
    stall_unlink(link);
    stall_close(&stall);
}

/* ---- silence ---- */

/* The backend stands still, as a frozen machine would; TCP does not notice. */
WEIR_TEST(pg_link, is_lost_when_the_server_is_silent_for_too_long)
{
    struct stall stall;
    struct weir_link *link;
    pid_t backend;
    int64_t begin_ns;

    stall_open(&stall);
    link = stall_link(&stall);
    stall_inside(link)->silence_ns = WEIR_MILLISECONDS(300);
    backend = (pid_t)backend_of(link);
    check_int(kill(backend, SIGSTOP), 0);
    begin_ns = weir_system_now_ns();

    check_stall(&stall, stall_try(&stall, link, "SELECT 1"), WEIR_LOST);

    check_in_range(weir_system_now_ns() - begin_ns, WEIR_MILLISECONDS(300),
                   WEIR_SECONDS(9));
    check(link->lost);
    stall_unlink(link);
    check_int(kill(backend, SIGCONT), 0);
    stall_close(&stall);
}

/* The same while there is more to be sent than anybody takes. */
WEIR_TEST(pg_link, is_lost_when_the_server_stops_reading)
{
    static char bytes[16 * 1024 * 1024];
    const struct weir_value value = weir_bytes(bytes, sizeof bytes);
    struct stall stall;
    struct weir_link *link;
    pid_t backend;
    void *prepared;

    stall_open(&stall);
    link = stall_link(&stall);
    prepared = stall_prepare(&stall, link, "SELECT length($1)", "b");
    check_stall(&stall, stall_run(&stall, link, prepared, &value), WEIR_OK);
    stall_inside(link)->silence_ns = WEIR_MILLISECONDS(300);
    backend = (pid_t)backend_of(link);
    check_int(kill(backend, SIGSTOP), 0);

    check_stall(&stall, stall_run(&stall, link, prepared, &value), WEIR_LOST);

    pg->unprepare(link, prepared);
    stall_unlink(link); /* does not wait for anybody either */
    check_int(kill(backend, SIGCONT), 0);
    stall_close(&stall);
}

/* Silence counts from the last sign of life: notices, here. */
WEIR_TEST(pg_link, waits_for_a_server_that_gives_signs_of_life)
{
    struct stall stall;
    struct weir_link *link;

    stall_open(&stall);
    link = stall_link(&stall);
    stall_inside(link)->silence_ns = WEIR_SECONDS(2);

    stall_exec(&stall, link,
               "DO $$BEGIN FOR i IN 1..12 LOOP PERFORM pg_sleep(0.25);"
               " RAISE NOTICE 'tick'; END LOOP; END$$");

    check_int(journal_count(&stall.journal, WEIR_LOG_DEBUG, "tick"), 12);
    stall_unlink(link);
    stall_close(&stall);
}

WEIR_TEST(pg_link, waits_a_while_longer_than_a_statement_may_take)
{
    struct stall stall;
    struct weir_link *link;

    stall_open(&stall);
    stall.config.statement_timeout_ns = WEIR_MILLISECONDS(100);
    link = stall_link(&stall);

    check_stall(&stall, stall_try(&stall, link, "SELECT pg_sleep(60)"), WEIR_TIMEOUT);

    check_str(stall.error.sqlstate, "57014");
    check_int(stall_inside(link)->silence_ns, WEIR_MILLISECONDS(15100));
    check_int(stall_ask(&stall, link, "SELECT 7"), 7);
    stall_unlink(link);
    stall_close(&stall);
}

/* ---- a mess ---- */

WEIR_TEST(pg_link, does_not_copy)
{
    static const char *const texts[] = {"COPY t TO STDOUT", "COPY t FROM STDIN"};
    struct stall stall;

    stall_open(&stall);
    server_execute(stall.server, stall.database, "CREATE TABLE t (a bigint)");
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct weir_link *link = stall_link(&stall);

        check_stall(&stall, stall_try(&stall, link, texts[i]), WEIR_LOST);
        check_str(stall.error.text, "COPY cannot be done here");
        stall_unlink(link);
    }
    stall_close(&stall);
}

/* A handler that was given the connection did not clean up after itself. */
WEIR_TEST(pg_link, is_lost_when_somebody_left_it_busy)
{
    struct stall stall;
    struct weir_link *link;

    stall_open(&stall);
    link = stall_link(&stall);
    check_int(PQsendQuery(pg->native(link), "SELECT pg_sleep(60)"), 1);

    check_int(pg->transaction(link), WEIR_TRANSACTION_OPEN);
    pg->rollback(link);

    check(link->lost);
    stall_unlink(link);
    stall_close(&stall);
}

WEIR_TEST(pg_link, is_lost_when_somebody_left_it_in_pipeline_mode)
{
    struct stall stall;
    struct weir_link *link;

    stall_open(&stall);
    link = stall_link(&stall);
    check_int(PQenterPipelineMode(pg->native(link)), 1);

    check_stall(&stall, stall_try(&stall, link, "SELECT 1"), WEIR_LOST);

    stall_unlink(link);
    stall_close(&stall);
}

WEIR_TEST(pg_link, runs_several_statements_of_one_text)
{
    struct stall stall;
    struct weir_link *link;

    stall_open(&stall);
    link = stall_link(&stall);

    stall_exec(&stall, link,
               "CREATE TABLE t (a bigint); INSERT INTO t VALUES (1); SELECT 1");
    stall_exec(&stall, link, "");
    check_stall(&stall,
                stall_try(&stall, link, "INSERT INTO t VALUES (2); SELECT 1/0; SELECT 1"),
                WEIR_INVALID);

    check_str(stall.error.text, "division by zero (22012)");
    check_int(stall_peek(&stall, "SELECT count(*) FROM t"), 1);
    stall_unlink(link);
    stall_close(&stall);
}

/* ---- errors ---- */

WEIR_TEST(pg_link, fills_in_the_error)
{
    struct stall stall;
    struct weir_link *link;

    stall_open(&stall);
    link = stall_link(&stall);

    check_stall(&stall, stall_try(&stall, link, "SELECT * FROM nowhere"), WEIR_SCHEMA);

    check_int(stall.error.status, WEIR_SCHEMA);
    check_int(stall.error.native_code, 0);
    check_str(stall.error.sqlstate, "42P01");
    check_str(stall.error.text, "relation \"nowhere\" does not exist (42P01)");
    check(!link->lost);
    stall_unlink(link);
    stall_close(&stall);
}

/* Details hold values of rows: only the message is shown. */
WEIR_TEST(pg_link, does_not_show_what_is_in_the_rows)
{
    struct stall stall;
    struct weir_link *link;

    stall_open(&stall);
    link = stall_link(&stall);
    stall_exec(&stall, link,
               "CREATE TABLE t (a text UNIQUE); INSERT INTO t VALUES ('SECRET')");

    check_stall(&stall, stall_try(&stall, link, "INSERT INTO t VALUES ('SECRET')"),
                WEIR_CONSTRAINT);

    check(strstr(stall.error.text, "SECRET") == NULL);
    check_str(stall.error.sqlstate, "23505");
    stall_unlink(link);
    stall_close(&stall);
}

/* After a failover we may be on a standby, and must look for the primary again. */
WEIR_TEST(pg_link, is_lost_when_the_server_turns_out_to_be_read_only)
{
    struct stall stall;
    struct weir_link *link;

    stall_open(&stall);
    link = stall_link(&stall);
    stall_exec(&stall, link, "SET default_transaction_read_only = on");

    check_stall(&stall, stall_try(&stall, link, "CREATE TABLE t ()"), WEIR_LOST);

    check(link->lost);
    check_str(stall.error.sqlstate, "25006");
    stall_unlink(link);
    stall_close(&stall);
}

WEIR_TEST(pg_link, is_not_lost_by_writing_in_a_transaction_for_reading)
{
    struct stall stall;
    struct weir_link *link;

    stall_open(&stall);
    link = stall_link(&stall);
    check_stall(&stall, pg->begin(link, WEIR_READ_ONLY, &stall.error), WEIR_OK);

    check_stall(&stall, stall_try(&stall, link, "CREATE TABLE t ()"), WEIR_INVALID);

    check(!link->lost);
    pg->rollback(link);
    stall_exec(&stall, link, "CREATE TABLE t ()");
    stall_unlink(link);
    stall_close(&stall);
}

/* Two links that both prepare "weir_1" on one session. */
WEIR_TEST(pg_link, suspects_a_pooler_when_a_name_is_taken)
{
    struct stall stall;
    struct weir_link *link;
    void *prepared;

    stall_open(&stall);
    link = stall_link(&stall);
    stall_exec(&stall, link, "PREPARE weir_1 AS SELECT 1");
    prepared = stall_prepare(&stall, link, "SELECT 1", "");

    check_stall(&stall, stall_run(&stall, link, prepared, NULL), WEIR_SCHEMA);

    check(strstr(stall.error.text, "pooler=transaction") != NULL);
    pg->unprepare(link, prepared);
    stall_unlink(link);
    stall_close(&stall);
}
