/* Tests of db/mariadb/driver.c and db/mariadb/link.c, against a real server. */
#include "db/mariadb/link.h"

#include <pthread.h>
#include <stdlib.h>

#include "kit/alloc_failures.h"
#include "unit/db/mariadb_fixture.h"

static const struct weir_driver *const DRIVER = &weir_driver_mariadb;

/* One that rolls a whole transaction back when a lock was not to be had in time. */
static struct server *strict_server(void)
{
    static const char *const SETTINGS[] = {"innodb_rollback_on_timeout=ON",
                                           "innodb_snapshot_isolation=ON", NULL};
    static struct server *server;

    if (server == NULL)
        server =
            server_create(WEIR_MARIADB, &(struct server_options){.settings = SETTINGS});
    return server;
}

/* Somebody who runs a text on a link, on a thread of its own. */
struct runner {
    pthread_t thread;
    struct weir_link *link;
    const char *text;
    enum weir_status status;
    struct weir_error error;
};

static void *run_text(void *argument)
{
    struct runner *self = argument;

    self->status = DRIVER->exec(self->link, self->text, &self->error);
    return NULL;
}

static void runner_start(struct runner *self, struct weir_link *link, const char *text)
{
    *self = (struct runner){.link = link, .text = text};
    check_int(pthread_create(&self->thread, NULL, run_text, self), 0);
}

static enum weir_status runner_end(struct runner *self)
{
    check_int(pthread_join(self->thread, NULL), 0);
    return self->status;
}

/* Does the link's connection do something of which the server says this? */
static bool is_in_state(struct mariadb_fixture *mariadb_fixture, struct weir_link *link,
                        const char *state)
{
    char sql[256];

    snprintf(sql, sizeof sql,
             "SELECT count(*) FROM information_schema.PROCESSLIST WHERE ID = %lu AND "
             "STATE LIKE '%s%%'",
             weir_maria_link(link)->id, state);
    return server_query(mariadb_fixture->server, NULL, sql) == 1;
}

static bool somebody_waits_for_a_row(struct mariadb_fixture *mariadb_fixture)
{
    return server_query(mariadb_fixture->server, NULL,
                        "SELECT CAST(VARIABLE_VALUE AS SIGNED) FROM "
                        "information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = "
                        "'INNODB_ROW_LOCK_CURRENT_WAITS'") > 0;
}

static void kill_connection(struct mariadb_fixture *mariadb_fixture,
                            struct weir_link *link, const char *what)
{
    char sql[64];

    snprintf(sql, sizeof sql, "KILL %s %lu", what, weir_maria_link(link)->id);
    server_execute(mariadb_fixture->server, NULL, sql);
}

/* ---- the session ------------------------------------------------------------------- */

WEIR_TEST(maria, sets_its_session_up)
{
    struct mariadb_fixture mariadb_fixture;
    struct weir_link *link;
    MYSQL *mysql;

    mariadb_fixture_open(&mariadb_fixture, server_shared(WEIR_MARIADB));
    mariadb_fixture.config.statement_timeout_ns = WEIR_MILLISECONDS(2500);
    mariadb_fixture.config.lock_timeout_ns = WEIR_MILLISECONDS(1500);
    link = mariadb_fixture_link(&mariadb_fixture);
    mysql = DRIVER->native(link);

    check_str(mariadb_fixture_peek(mysql, "SELECT @@session.time_zone"), "+00:00");
    check_str(mariadb_fixture_peek(mysql, "SELECT @@session.autocommit"), "1");
    check_str(mariadb_fixture_peek(mysql, "SELECT @@session.tx_isolation"),
              "READ-COMMITTED");
    check_str(mariadb_fixture_peek(mysql, "SELECT @@session.max_statement_time"),
              "2.500000");
    check_str(mariadb_fixture_peek(mysql, "SELECT @@session.innodb_lock_wait_timeout"),
              "2");
    check_str(mariadb_fixture_peek(mysql, "SELECT @@session.lock_wait_timeout"), "2");
    check_str(mariadb_fixture_peek(mysql, "SELECT @@session.character_set_client"),
              "utf8mb4");
    check_str(mariadb_fixture_peek(mysql, "SELECT @@session.character_set_results"),
              "utf8mb4");
    check(strstr(mariadb_fixture_peek(mysql, "SELECT @@session.sql_mode"),
                 "STRICT_ALL_TABLES") != NULL);
    mariadb_fixture_unlink(link);
    mariadb_fixture_close(&mariadb_fixture);
}

/* Or a statement that locks would fail when another transaction has changed the row
 * (1020). */
WEIR_TEST(maria, locks_rows_that_are_newer_than_its_snapshot)
{
    struct mariadb_fixture mariadb_fixture;
    struct weir_link *link;

    mariadb_fixture_open(&mariadb_fixture, strict_server());
    link = mariadb_fixture_link(&mariadb_fixture);

    check_str(mariadb_fixture_peek(DRIVER->native(link),
                                   "SELECT @@session.innodb_snapshot_isolation"),
              "0");
    check_str(mariadb_fixture_peek(DRIVER->native(link),
                                   "SELECT @@global.innodb_snapshot_isolation"),
              "1");
    mariadb_fixture_unlink(link);
    mariadb_fixture_close(&mariadb_fixture);
}

WEIR_TEST(maria, waits_without_end_when_there_is_no_timeout)
{
    struct mariadb_fixture mariadb_fixture;
    struct weir_link *link;
    MYSQL *mysql;

    mariadb_fixture_open(&mariadb_fixture, server_shared(WEIR_MARIADB));
    mariadb_fixture.config.statement_timeout_ns = 0;
    mariadb_fixture.config.lock_timeout_ns = 0;
    link = mariadb_fixture_link(&mariadb_fixture);
    mysql = DRIVER->native(link);

    check_str(mariadb_fixture_peek(mysql, "SELECT @@session.max_statement_time"),
              "0.000000");
    check_str(mariadb_fixture_peek(mysql, "SELECT @@session.innodb_lock_wait_timeout"),
              "100000000");
    check_str(mariadb_fixture_peek(mysql, "SELECT @@session.lock_wait_timeout"),
              "31536000");
    mariadb_fixture_unlink(link);
    mariadb_fixture_close(&mariadb_fixture);
}

/* Data that does not fit is an error, not a warning. */
MARIADB_LINK_TEST(maria, is_strict)
{
    mariadb_fixture_exec(mariadb_fixture, link,
                         "CREATE TABLE t (a TINYINT, b VARCHAR(2), c DATETIME(6))");

    check_mariadb_fixture(
        mariadb_fixture,
        mariadb_fixture_try(mariadb_fixture, link, "INSERT INTO t (a) VALUES (1000)"),
        WEIR_INVALID);
    check_mariadb_fixture(
        mariadb_fixture,
        mariadb_fixture_try(mariadb_fixture, link, "INSERT INTO t (b) VALUES ('abc')"),
        WEIR_INVALID);
    check_mariadb_fixture(mariadb_fixture,
                          mariadb_fixture_try(mariadb_fixture, link,
                                              "INSERT INTO t (c) VALUES ('0000-00-00')"),
                          WEIR_INVALID);
    check_mariadb_fixture(mariadb_fixture,
                          mariadb_fixture_try(mariadb_fixture, link,
                                              "CREATE TABLE u (a INT) ENGINE=nosuch"),
                          WEIR_SCHEMA);
    check_int(mariadb_fixture_ask(mariadb_fixture, link, "SELECT count(*) FROM t"), 0);
}

/* "localhost" means the socket to the client library; a port in the URL means that
 * port. */
WEIR_TEST(maria, connects_by_port_and_by_socket)
{
    struct mariadb_fixture mariadb_fixture;
    struct weir_link *link;
    char *host;
    char localhost[] = "localhost";
    char socket[SERVER_PATH_SIZE];

    mariadb_fixture_open(&mariadb_fixture, server_shared(WEIR_MARIADB));
    host = mariadb_fixture.config.url.host;
    mariadb_fixture.config.url.host = localhost;
    link = mariadb_fixture_link(&mariadb_fixture);
    check_int(mariadb_fixture_ask(&mariadb_fixture, link, "SELECT 1"), 1);
    mariadb_fixture_unlink(link);

    snprintf(socket, sizeof socket, "%s", server_socket(mariadb_fixture.server));
    mariadb_fixture.config.url.socket = socket;
    mariadb_fixture.config.url.host = host;
    link = mariadb_fixture_link(&mariadb_fixture);
    check(strstr(mysql_get_host_info(DRIVER->native(link)), "UNIX") != NULL);
    mariadb_fixture_unlink(link);
    mariadb_fixture.config.url.socket = NULL;
    mariadb_fixture_close(&mariadb_fixture);
}

MARIADB_LINK_TEST(maria, tells_the_database_clock)
{
    int64_t before;
    int64_t clock_us;
    int64_t after;

    mariadb_fixture_exec(mariadb_fixture, link,
                         "SET time_zone = '-07:30'"); /* must not matter */

    before = server_query(mariadb_fixture->server, NULL, "SELECT UNIX_TIMESTAMP()");
    check_mariadb_fixture(mariadb_fixture,
                          DRIVER->clock(link, &clock_us, &mariadb_fixture->error),
                          WEIR_OK);
    after = server_query(mariadb_fixture->server, NULL, "SELECT UNIX_TIMESTAMP() + 1");

    check_in_range(clock_us, before * 1000000, after * 1000000);
}

/* ---- transactions ------------------------------------------------------------------ */

/* Two links, each with a row locked that the other one wants; the last one to ask
 * waits. */
static void cross(struct mariadb_fixture *mariadb_fixture, struct weir_link *first,
                  struct weir_link *second, struct runner *runner)
{
    mariadb_fixture_exec(mariadb_fixture, first,
                         "CREATE TABLE t (id BIGINT PRIMARY KEY, a BIGINT)");
    mariadb_fixture_exec(mariadb_fixture, first,
                         "INSERT INTO t VALUES (1, 0), (2, 0), (3, 0), (4, 0)");
    check_status(DRIVER->begin(first, WEIR_READ_WRITE, &mariadb_fixture->error), WEIR_OK);
    check_status(DRIVER->begin(second, WEIR_READ_WRITE, &mariadb_fixture->error),
                 WEIR_OK);
    mariadb_fixture_exec(mariadb_fixture, first, "UPDATE t SET a = 1 WHERE id = 1");
    mariadb_fixture_exec(mariadb_fixture, second,
                         "UPDATE t SET a = 2 WHERE id >= 2"); /* heavier: it wins */
    runner_start(runner, second, "UPDATE t SET a = 2 WHERE id = 1");
    wait_until(somebody_waits_for_a_row(mariadb_fixture));
}

/* The server has rolled it back: what comes next must not commit on its own. */
WEIR_TEST(maria, has_no_transaction_after_a_deadlock)
{
    struct mariadb_fixture mariadb_fixture;
    struct weir_link *victim;
    struct weir_link *winner;
    struct runner runner;

    mariadb_fixture_open(&mariadb_fixture, server_shared(WEIR_MARIADB));
    victim = mariadb_fixture_link(&mariadb_fixture);
    winner = mariadb_fixture_link(&mariadb_fixture);
    cross(&mariadb_fixture, victim, winner, &runner);

    check_mariadb_fixture(
        &mariadb_fixture,
        mariadb_fixture_try(&mariadb_fixture, victim, "UPDATE t SET a = 1 WHERE id = 2"),
        WEIR_CONFLICT);
    check_int(mariadb_fixture.error.native_code, 1213);
    check_str(mariadb_fixture.error.sqlstate, "40001");
    check_status(runner_end(&runner), WEIR_OK);

    check_int(DRIVER->transaction(victim), WEIR_TRANSACTION_FAILED);
    check_mariadb_fixture(
        &mariadb_fixture,
        mariadb_fixture_try(&mariadb_fixture, victim, "UPDATE t SET a = 9"),
        WEIR_CONFLICT);
    check_mariadb_fixture(&mariadb_fixture,
                          DRIVER->commit(victim, &mariadb_fixture.error), WEIR_CONFLICT);
    check_int(DRIVER->transaction(victim), WEIR_TRANSACTION_NONE);
    check_mariadb_fixture(&mariadb_fixture,
                          DRIVER->commit(winner, &mariadb_fixture.error), WEIR_OK);
    check_int(mariadb_fixture_ask(&mariadb_fixture, victim,
                                  "SELECT count(*) FROM t WHERE a = 2"),
              4);
    mariadb_fixture_unlink(victim);
    mariadb_fixture_unlink(winner);
    mariadb_fixture_close(&mariadb_fixture);
}

/* Adopted transactions have no such state: they are open or not, as the server says. */
WEIR_TEST(maria, says_that_an_adopted_transaction_is_gone_after_a_deadlock)
{
    struct mariadb_fixture mariadb_fixture;
    struct weir_link *helper;
    struct weir_link *winner;
    struct weir_link *adopted;
    struct runner runner;

    mariadb_fixture_open(&mariadb_fixture, server_shared(WEIR_MARIADB));
    helper = mariadb_fixture_link(&mariadb_fixture);
    winner = mariadb_fixture_link(&mariadb_fixture);
    cross(&mariadb_fixture, helper, winner, &runner);
    check_mariadb_fixture(&mariadb_fixture,
                          DRIVER->adopt(&mariadb_fixture.config, DRIVER->native(helper),
                                        &adopted, &mariadb_fixture.error),
                          WEIR_OK);
    check_int(DRIVER->transaction(adopted), WEIR_TRANSACTION_OPEN);

    check_mariadb_fixture(
        &mariadb_fixture,
        mariadb_fixture_try(&mariadb_fixture, adopted, "UPDATE t SET a = 1 WHERE id = 2"),
        WEIR_CONFLICT);
    check_status(runner_end(&runner), WEIR_OK);

    check_int(DRIVER->transaction(adopted), WEIR_TRANSACTION_NONE);
    check_mariadb_fixture(&mariadb_fixture,
                          DRIVER->commit(winner, &mariadb_fixture.error), WEIR_OK);
    mariadb_fixture_unlink(adopted);
    mariadb_fixture_unlink(helper);
    mariadb_fixture_unlink(winner);
    mariadb_fixture_close(&mariadb_fixture);
}

/* Somebody holds a row and does not let go. */
static void hold(struct mariadb_fixture *mariadb_fixture, struct weir_link *holder)
{
    mariadb_fixture_exec(mariadb_fixture, holder,
                         "CREATE TABLE t (id BIGINT PRIMARY KEY, a BIGINT)");
    mariadb_fixture_exec(mariadb_fixture, holder, "INSERT INTO t VALUES (1, 0), (2, 0)");
    check_status(DRIVER->begin(holder, WEIR_READ_WRITE, &mariadb_fixture->error),
                 WEIR_OK);
    mariadb_fixture_exec(mariadb_fixture, holder, "UPDATE t SET a = 1 WHERE id = 1");
}

WEIR_TEST(maria, keeps_the_transaction_when_a_lock_was_not_to_be_had)
{
    struct mariadb_fixture mariadb_fixture;
    struct weir_link *holder;
    struct weir_link *link;

    mariadb_fixture_open(&mariadb_fixture, server_shared(WEIR_MARIADB));
    mariadb_fixture.config.lock_timeout_ns = 1;
    holder = mariadb_fixture_link(&mariadb_fixture);
    link = mariadb_fixture_link(&mariadb_fixture);
    hold(&mariadb_fixture, holder);
    check_mariadb_fixture(&mariadb_fixture,
                          DRIVER->begin(link, WEIR_READ_WRITE, &mariadb_fixture.error),
                          WEIR_OK);
    mariadb_fixture_exec(&mariadb_fixture, link, "UPDATE t SET a = 2 WHERE id = 2");

    check_mariadb_fixture(
        &mariadb_fixture,
        mariadb_fixture_try(&mariadb_fixture, link, "UPDATE t SET a = 2 WHERE id = 1"),
        WEIR_LOCKED);

    check_int(DRIVER->transaction(link), WEIR_TRANSACTION_OPEN);
    check_mariadb_fixture(&mariadb_fixture, DRIVER->commit(link, &mariadb_fixture.error),
                          WEIR_OK);
    DRIVER->rollback(holder);
    check_int(
        mariadb_fixture_ask(&mariadb_fixture, link, "SELECT sum(a) + 0e0 = 2 FROM t"), 1);
    mariadb_fixture_unlink(holder);
    mariadb_fixture_unlink(link);
    mariadb_fixture_close(&mariadb_fixture);
}

/* A setting of the server's decides, so the driver asks and does not guess. */
WEIR_TEST(maria, notices_when_the_server_rolls_back_on_a_lock_timeout)
{
    struct mariadb_fixture mariadb_fixture;
    struct weir_link *holder;
    struct weir_link *link;

    mariadb_fixture_open(&mariadb_fixture, strict_server());
    mariadb_fixture.config.lock_timeout_ns = 1;
    holder = mariadb_fixture_link(&mariadb_fixture);
    link = mariadb_fixture_link(&mariadb_fixture);
    hold(&mariadb_fixture, holder);
    check_mariadb_fixture(&mariadb_fixture,
                          DRIVER->begin(link, WEIR_READ_WRITE, &mariadb_fixture.error),
                          WEIR_OK);
    mariadb_fixture_exec(&mariadb_fixture, link, "UPDATE t SET a = 2 WHERE id = 2");

    check_mariadb_fixture(
        &mariadb_fixture,
        mariadb_fixture_try(&mariadb_fixture, link, "UPDATE t SET a = 2 WHERE id = 1"),
        WEIR_LOCKED);

    check_int(DRIVER->transaction(link), WEIR_TRANSACTION_FAILED);
    check_mariadb_fixture(
        &mariadb_fixture,
        mariadb_fixture_try(&mariadb_fixture, link, "UPDATE t SET a = 3 WHERE id = 2"),
        WEIR_LOCKED);
    DRIVER->rollback(link);
    check_int(DRIVER->transaction(link), WEIR_TRANSACTION_NONE);
    DRIVER->rollback(holder);
    check_int(
        mariadb_fixture_ask(&mariadb_fixture, link, "SELECT sum(a) + 0e0 = 0 FROM t"), 1);
    mariadb_fixture_unlink(holder);
    mariadb_fixture_unlink(link);
    mariadb_fixture_close(&mariadb_fixture);
}

/* MariaDB commits before it changes a table, also when it then cannot. */
MARIADB_LINK_TEST(maria, knows_what_ddl_does_to_a_transaction)
{
    check_mariadb_fixture(mariadb_fixture,
                          DRIVER->begin(link, WEIR_READ_WRITE, &mariadb_fixture->error),
                          WEIR_OK);
    mariadb_fixture_exec(mariadb_fixture, link, "CREATE TABLE t (a BIGINT)");
    check_int(DRIVER->transaction(link), WEIR_TRANSACTION_NONE);
    check_mariadb_fixture(mariadb_fixture, DRIVER->commit(link, &mariadb_fixture->error),
                          WEIR_OK);

    check_mariadb_fixture(mariadb_fixture,
                          DRIVER->begin(link, WEIR_READ_WRITE, &mariadb_fixture->error),
                          WEIR_OK);
    check_mariadb_fixture(
        mariadb_fixture,
        mariadb_fixture_try(mariadb_fixture, link, "CREATE TABLE t (a BIGINT)"),
        WEIR_SCHEMA);
    check_int(DRIVER->transaction(link), WEIR_TRANSACTION_FAILED);
    DRIVER->rollback(link);
    check_int(DRIVER->transaction(link), WEIR_TRANSACTION_NONE);
}

/* The server would commit the one that is open. */
MARIADB_LINK_TEST(maria, refuses_to_begin_twice)
{
    mariadb_fixture_exec(mariadb_fixture, link, "CREATE TABLE t (a BIGINT)");
    check_mariadb_fixture(mariadb_fixture,
                          DRIVER->begin(link, WEIR_READ_WRITE, &mariadb_fixture->error),
                          WEIR_OK);
    mariadb_fixture_exec(mariadb_fixture, link, "INSERT INTO t VALUES (1)");

    check_mariadb_fixture(mariadb_fixture,
                          DRIVER->begin(link, WEIR_READ_WRITE, &mariadb_fixture->error),
                          WEIR_INVALID);

    DRIVER->rollback(link);
    check_int(mariadb_fixture_ask(mariadb_fixture, link, "SELECT count(*) FROM t"), 0);
}

MARIADB_LINK_TEST(maria, refuses_to_write_in_a_transaction_for_reading)
{
    mariadb_fixture_exec(mariadb_fixture, link, "CREATE TABLE t (a BIGINT)");
    check_mariadb_fixture(mariadb_fixture,
                          DRIVER->begin(link, WEIR_READ_ONLY, &mariadb_fixture->error),
                          WEIR_OK);

    check_mariadb_fixture(
        mariadb_fixture,
        mariadb_fixture_try(mariadb_fixture, link, "INSERT INTO t VALUES (1)"),
        WEIR_INVALID);

    check_int(DRIVER->transaction(link), WEIR_TRANSACTION_OPEN);
    check_mariadb_fixture(mariadb_fixture, DRIVER->commit(link, &mariadb_fixture->error),
                          WEIR_OK);
}

/* ---- losing the connection --------------------------------------------------------- */

MARIADB_LINK_TEST(maria, is_lost_when_somebody_kills_the_connection)
{
    struct weir_cursor cursor;
    void *prepared;

    prepared = mariadb_fixture_prepare(mariadb_fixture, link, "SELECT 1", "");
    kill_connection(mariadb_fixture, link, "CONNECTION");

    check_mariadb_fixture(
        mariadb_fixture,
        DRIVER->run(link, prepared, NULL, &cursor, &mariadb_fixture->error), WEIR_LOST);

    check(link->lost);
    DRIVER->unprepare(link, prepared);
}

MARIADB_LINK_TEST(maria, notices_without_asking_that_an_idle_connection_was_killed)
{
    mariadb_fixture_exec(mariadb_fixture, link, "SELECT 1");
    check(DRIVER->alive(link));
    kill_connection(mariadb_fixture, link, "CONNECTION");

    wait_until(!DRIVER->alive(link));

    check(link->lost);
}

MARIADB_LINK_TEST(maria, is_lost_when_its_statement_is_killed_with_the_connection)
{
    struct runner runner;

    runner_start(&runner, link, "SELECT SLEEP(100)");
    wait_until(is_in_state(mariadb_fixture, link, "User sleep"));
    kill_connection(mariadb_fixture, link, "CONNECTION");

    check_status(runner_end(&runner), WEIR_LOST);

    check(link->lost);
}

/* Its farewell is here: the commit is not even sent. */
MARIADB_LINK_TEST(maria,
                  is_lost_and_not_in_doubt_when_the_session_ended_before_the_commit)
{
    mariadb_fixture_exec(mariadb_fixture, link, "CREATE TABLE t (a BIGINT)");
    check_mariadb_fixture(mariadb_fixture,
                          DRIVER->begin(link, WEIR_READ_WRITE, &mariadb_fixture->error),
                          WEIR_OK);
    mariadb_fixture_exec(mariadb_fixture, link, "INSERT INTO t VALUES (1)");
    kill_connection(mariadb_fixture, link, "CONNECTION");
    server_await_hangup(mysql_get_socket(DRIVER->native(link)));

    check_mariadb_fixture(mariadb_fixture, DRIVER->commit(link, &mariadb_fixture->error),
                          WEIR_LOST);

    check_status(mariadb_fixture->error.status, WEIR_LOST);
    check(link->lost);
}

/* The server learns of it at once, and so do those who wait for our locks. */
WEIR_TEST(maria, leaves_no_transaction_behind_when_it_is_lost)
{
    struct mariadb_fixture mariadb_fixture;
    struct weir_link *link;
    struct weir_link *other;

    mariadb_fixture_open(&mariadb_fixture, server_shared(WEIR_MARIADB));
    other = mariadb_fixture_link(&mariadb_fixture);
    mariadb_fixture.config.lock_timeout_ns = WEIR_SECONDS(30);
    link = mariadb_fixture_link(&mariadb_fixture);
    hold(&mariadb_fixture, link);

    weir_fault_points_arm(&mariadb_fixture.points, "db.lose", 1);
    check_mariadb_fixture(&mariadb_fixture,
                          mariadb_fixture_try(&mariadb_fixture, link, "SELECT 1"),
                          WEIR_LOST);
    weir_fault_points_init(&mariadb_fixture.points);

    mariadb_fixture_exec(&mariadb_fixture, other, "UPDATE t SET a = 7 WHERE id = 1");
    mariadb_fixture_unlink(link);
    mariadb_fixture_unlink(other);
    mariadb_fixture_close(&mariadb_fixture);
}

/* ---- cancel ------------------------------------------------------------------------ */

MARIADB_LINK_TEST(maria, ends_a_statement_that_is_cancelled)
{
    struct runner runner;

    for (int i = 0; i < 5; i++) {
        runner_start(&runner, link, "SELECT SLEEP(100)");
        wait_until(is_in_state(mariadb_fixture, link, "User sleep"));
        DRIVER->cancel(link);
        check_status(runner_end(&runner), WEIR_CANCELLED);
        check_int(runner.error.native_code, 1317);
        check_int(mariadb_fixture_ask(mariadb_fixture, link, "SELECT 1"), 1);
    }
}

/* Somebody else's KILL QUERY is no cancel(): our worker need not stop for it. */
MARIADB_LINK_TEST(maria, tells_a_cancel_from_a_kill)
{
    struct runner runner;

    DRIVER->cancel(link); /* nothing runs: forgotten by the next statement */
    runner_start(&runner, link, "SELECT SLEEP(100)");
    wait_until(is_in_state(mariadb_fixture, link, "User sleep"));
    kill_connection(mariadb_fixture, link, "QUERY");

    check_status(runner_end(&runner), WEIR_FAILED);

    check(!link->lost);
}

struct steps_runner {
    pthread_t thread;
    struct weir_link *link;
    void *prepared;
    _Atomic bool stop;
    enum weir_status status;
    struct weir_error error;
};

static void *run_steps(void *argument)
{
    struct steps_runner *self = argument;

    do {
        struct weir_driver_step steps[20];
        size_t failed;

        for (size_t i = 0; i < 20; i++)
            steps[i] = (struct weir_driver_step){.prepared = self->prepared};
        self->status = DRIVER->run_steps(self->link, steps, 20, &failed, &self->error);
    } while (!self->stop && (self->status == WEIR_OK || self->status == WEIR_CANCELLED));
    return NULL;
}

/* At whatever moment it comes: between two statements, before the first, during one. */
WEIR_TEST(maria, takes_a_cancel_at_any_moment)
{
    struct mariadb_fixture mariadb_fixture;
    struct steps_runner runner = {0};

    mariadb_fixture_open(&mariadb_fixture, server_shared(WEIR_MARIADB));
    runner.link = mariadb_fixture_link(&mariadb_fixture);
    runner.prepared = mariadb_fixture_prepare(&mariadb_fixture, runner.link, "DO 1", "");
    check_int(pthread_create(&runner.thread, NULL, run_steps, &runner), 0);
    for (int i = 0; i < 100; i++)
        DRIVER->cancel(runner.link);
    runner.stop = true;
    pthread_join(runner.thread, NULL);

    check(runner.status == WEIR_OK || runner.status == WEIR_CANCELLED);
    check_int(mariadb_fixture_ask(&mariadb_fixture, runner.link, "SELECT 1"), 1);
    DRIVER->unprepare(runner.link, runner.prepared);
    mariadb_fixture_unlink(runner.link);
    mariadb_fixture_close(&mariadb_fixture);
}

WEIR_TEST(maria, gives_up_a_statement_that_takes_too_long)
{
    struct mariadb_fixture mariadb_fixture;
    struct weir_link *link;

    mariadb_fixture_open(&mariadb_fixture, server_shared(WEIR_MARIADB));
    mariadb_fixture.config.statement_timeout_ns = WEIR_MILLISECONDS(100);
    link = mariadb_fixture_link(&mariadb_fixture);

    check_mariadb_fixture(
        &mariadb_fixture,
        mariadb_fixture_try(&mariadb_fixture, link, "SELECT SLEEP(100)"), WEIR_TIMEOUT);

    check_int(mariadb_fixture.error.native_code, 1969);
    check_int(mariadb_fixture_ask(&mariadb_fixture, link, "SELECT 1"), 1);
    mariadb_fixture_unlink(link);
    mariadb_fixture_close(&mariadb_fixture);
}

/* ---- adoption ---------------------------------------------------------------------- */

WEIR_TEST(maria, refuses_handles_that_it_could_not_use)
{
    struct mariadb_fixture mariadb_fixture;
    struct weir_link *link;
    MYSQL *unconnected = mysql_init(NULL);
    MYSQL *busy;
    MYSQL *latin;
    MYSQL_RES *result;

    mariadb_fixture_open(&mariadb_fixture, server_shared(WEIR_MARIADB));
    busy = mariadb_fixture_handle(&mariadb_fixture, "utf8mb4");
    latin = mariadb_fixture_handle(&mariadb_fixture, "latin1");
    check_int(mysql_query(busy, "SELECT seq FROM seq_1_to_10000"), 0);
    result = mysql_use_result(busy);

    check_mariadb_fixture(
        &mariadb_fixture,
        DRIVER->adopt(&mariadb_fixture.config, NULL, &link, &mariadb_fixture.error),
        WEIR_INVALID);
    check(link == NULL);
    check_mariadb_fixture(&mariadb_fixture,
                          DRIVER->adopt(&mariadb_fixture.config, unconnected, &link,
                                        &mariadb_fixture.error),
                          WEIR_INVALID);
    check_mariadb_fixture(
        &mariadb_fixture,
        DRIVER->adopt(&mariadb_fixture.config, busy, &link, &mariadb_fixture.error),
        WEIR_INVALID);
    check(strstr(mariadb_fixture.error.text, "busy") != NULL);
    /* Texts would be taken for latin1, and wrong in the table. */
    check_mariadb_fixture(
        &mariadb_fixture,
        DRIVER->adopt(&mariadb_fixture.config, latin, &link, &mariadb_fixture.error),
        WEIR_INVALID);
    check(strstr(mariadb_fixture.error.text, "utf8mb4") != NULL);

    mysql_free_result(result);
    check_mariadb_fixture(
        &mariadb_fixture,
        DRIVER->adopt(&mariadb_fixture.config, busy, &link, &mariadb_fixture.error),
        WEIR_OK);
    mariadb_fixture_unlink(link);
    mysql_close(unconnected);
    mysql_close(busy);
    mysql_close(latin);
    mariadb_fixture_close(&mariadb_fixture);
}

/* Everything about the session that we could have touched, in one text. */
static const char SQL_SETTINGS[] =
    "SELECT concat_ws('|', @@time_zone, @@sql_mode, @@tx_isolation, @@autocommit, "
    "@@innodb_lock_wait_timeout, @@lock_wait_timeout, @@max_statement_time, "
    "@@character_set_client, @@collation_connection, @@tx_read_only)";

WEIR_TEST(maria, leaves_an_adopted_session_as_it_was)
{
    struct mariadb_fixture mariadb_fixture;
    struct weir_link *link;
    struct weir_cursor cursor;
    MYSQL *handle;
    MYSQL_STMT *theirs;
    char before[512];
    void *prepared;

    mariadb_fixture_open(&mariadb_fixture, server_shared(WEIR_MARIADB));
    handle = mariadb_fixture_handle(&mariadb_fixture, "utf8mb4");
    mariadb_fixture_peek(handle, "SET time_zone = '+05:00', sql_mode = 'ANSI_QUOTES'");
    mariadb_fixture_peek(handle, "CREATE TABLE t (a BIGINT)");
    snprintf(before, sizeof before, "%s", mariadb_fixture_peek(handle, SQL_SETTINGS));
    theirs = mysql_stmt_init(handle);
    check_int(mysql_stmt_prepare(theirs, "INSERT INTO t VALUES (9)", 24), 0);

    check_mariadb_fixture(
        &mariadb_fixture,
        DRIVER->adopt(&mariadb_fixture.config, handle, &link, &mariadb_fixture.error),
        WEIR_OK);
    prepared =
        mariadb_fixture_prepare(&mariadb_fixture, link, "INSERT INTO t VALUES (?)", "i");
    check_mariadb_fixture(&mariadb_fixture,
                          DRIVER->run(link, prepared,
                                      (const struct weir_value[]){weir_integer(1)},
                                      &cursor, &mariadb_fixture.error),
                          WEIR_OK);
    DRIVER->finish(link, &cursor);
    DRIVER->cancel(link); /* nothing happens: we do not know how to log on as they did */
    check_int(mysql_stmt_execute(theirs), 0);
    DRIVER->unprepare(link, prepared);
    mariadb_fixture_unlink(link);

    check_str(mariadb_fixture_peek(handle, SQL_SETTINGS), before);
    check_int(mysql_stmt_execute(theirs), 0);
    check_str(mariadb_fixture_peek(handle, "SELECT count(*) FROM t"), "3");
    check_str(mariadb_fixture_peek(handle, "SHOW SESSION STATUS LIKE 'Com_stmt_prepare'"),
              "Com_stmt_prepare");
    mysql_stmt_close(theirs); /* which the server does not answer */
    wait_until(server_query(mariadb_fixture.server, NULL,
                            "SELECT CAST(VARIABLE_VALUE AS SIGNED) FROM "
                            "information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = "
                            "'PREPARED_STMT_COUNT'") == 0);
    mysql_close(handle);
    mariadb_fixture_close(&mariadb_fixture);
}

/* DATETIME has no zone: what we bind is UTC and stays so. */
WEIR_TEST(maria, writes_times_in_utc_whatever_the_zone_of_the_session)
{
    static const int64_t TIME_US = INT64_C(1709164800123456);
    struct mariadb_fixture mariadb_fixture;
    struct weir_link *link;
    struct weir_cursor cursor;
    struct weir_value value = weir_time(TIME_US);
    MYSQL *handle;
    void *prepared;
    bool fits;

    mariadb_fixture_open(&mariadb_fixture, server_shared(WEIR_MARIADB));
    handle = mariadb_fixture_handle(&mariadb_fixture, "utf8mb4");
    mariadb_fixture_peek(handle, "SET time_zone = '+05:00'");
    mariadb_fixture_peek(handle, "CREATE TABLE t (at DATETIME(6))");
    check_mariadb_fixture(
        &mariadb_fixture,
        DRIVER->adopt(&mariadb_fixture.config, handle, &link, &mariadb_fixture.error),
        WEIR_OK);
    check_mariadb_fixture(&mariadb_fixture,
                          mariadb_fixture_run(&mariadb_fixture, link,
                                              "INSERT INTO t VALUES (?)", "m", &value,
                                              NULL),
                          WEIR_OK);

    check_str(mariadb_fixture_peek(handle, "SELECT at FROM t"),
              "2024-02-29 00:00:00.123456");
    prepared = mariadb_fixture_prepare(&mariadb_fixture, link,
                                       "SELECT at FROM t WHERE at = ?", "m");
    check_mariadb_fixture(
        &mariadb_fixture,
        DRIVER->run(link, prepared, &value, &cursor, &mariadb_fixture.error), WEIR_OK);
    check_mariadb_fixture(&mariadb_fixture,
                          DRIVER->next(link, &cursor, &mariadb_fixture.error), WEIR_OK);
    DRIVER->read(&cursor, 0, WEIR_TYPE_TIME, &value, &fits);
    check(fits);
    check_int(value.as.time_us, TIME_US);
    DRIVER->finish(link, &cursor);
    DRIVER->unprepare(link, prepared);
    mariadb_fixture_unlink(link);
    mysql_close(handle);
    mariadb_fixture_close(&mariadb_fixture);
}

/* Without autocommit everything is inside a transaction, also before its first
 * statement. */
WEIR_TEST(maria, commits_nothing_of_an_application_without_autocommit)
{
    struct mariadb_fixture mariadb_fixture;
    struct weir_link *link;
    MYSQL *handle;
    const struct weir_value rows[] = {weir_integer(1), weir_integer(2), weir_integer(3)};
    int64_t changed = -1;
    void *prepared;

    mariadb_fixture_open(&mariadb_fixture, server_shared(WEIR_MARIADB));
    handle = mariadb_fixture_handle(&mariadb_fixture, "utf8mb4");
    mariadb_fixture_peek(handle, "CREATE TABLE t (a BIGINT)");
    mariadb_fixture_peek(handle, "SET autocommit = 0");
    check_mariadb_fixture(
        &mariadb_fixture,
        DRIVER->adopt(&mariadb_fixture.config, handle, &link, &mariadb_fixture.error),
        WEIR_OK);
    check_int(DRIVER->transaction(link), WEIR_TRANSACTION_OPEN);
    check_mariadb_fixture(&mariadb_fixture,
                          DRIVER->begin(link, WEIR_READ_WRITE, &mariadb_fixture.error),
                          WEIR_INVALID);

    prepared = mariadb_fixture_prepare(&mariadb_fixture, link,
                                       "INSERT INTO t SELECT ? FROM DUAL", "i");
    check_mariadb_fixture(
        &mariadb_fixture,
        DRIVER->run_many(link, prepared, rows, 3, 1, &changed, &mariadb_fixture.error),
        WEIR_OK);
    DRIVER->unprepare(link, prepared);
    mariadb_fixture_unlink(link);

    check_str(mariadb_fixture_peek(handle, "SELECT count(*) FROM t"), "3");
    mariadb_fixture_peek(handle, "ROLLBACK");
    check_str(mariadb_fixture_peek(handle, "SELECT count(*) FROM t"), "0");
    mysql_close(handle);
    mariadb_fixture_close(&mariadb_fixture);
}

/* ---- faults ------------------------------------------------------------------------ */

static enum weir_status insert_many(struct weir_link *link, const char *text,
                                    const struct weir_value *rows, size_t count,
                                    struct weir_error *error)
{
    void *prepared = NULL;
    int64_t changed;
    enum weir_status status = DRIVER->prepare(link, text, "i", &prepared, error);

    if (status == WEIR_OK)
        status = DRIVER->run_many(link, prepared, rows, count, 1, &changed, error);
    if (prepared != NULL)
        DRIVER->unprepare(link, prepared);
    return status;
}

static enum weir_status read_all(struct weir_link *link, struct weir_error *error)
{
    void *prepared = NULL;
    struct weir_cursor cursor;
    enum weir_status status =
        DRIVER->prepare(link, "SELECT a FROM t", "", &prepared, error);

    if (status == WEIR_OK)
        status = DRIVER->run(link, prepared, NULL, &cursor, error);
    if (status == WEIR_OK) {
        while (status == WEIR_OK)
            status = DRIVER->next(link, &cursor, error);
        DRIVER->finish(link, &cursor);
        if (status == WEIR_NO_ROW)
            status = WEIR_OK;
    }
    if (prepared != NULL)
        DRIVER->unprepare(link, prepared);
    return status;
}

/* A little of everything, in a transaction; the rows are 1 to 6, or none of them. */
static enum weir_status do_everything(const struct weir_link_config *config,
                                      struct weir_error *error)
{
    const struct weir_value rows[] = {weir_integer(1), weir_integer(2), weir_integer(3),
                                      weir_integer(4), weir_integer(5), weir_integer(6)};
    struct weir_link *link = NULL;
    int64_t clock_us;
    enum weir_status status = DRIVER->open(config, &link, error);

    if (status != WEIR_OK)
        return status;
    status = DRIVER->clock(link, &clock_us, error);
    if (status == WEIR_OK)
        status = DRIVER->begin(link, WEIR_READ_WRITE, error);
    if (status == WEIR_OK)
        status = insert_many(link, "INSERT INTO t VALUES (?)", rows, 3, error);
    if (status == WEIR_OK)
        status = insert_many(link, "INSERT INTO t SELECT ?", rows + 3, 3, error);
    if (status == WEIR_OK)
        status = read_all(link, error);
    if (status == WEIR_OK)
        status = DRIVER->commit(link, error);
    else if (!link->lost && DRIVER->transaction(link) != WEIR_TRANSACTION_NONE)
        DRIVER->rollback(link);
    if (!link->lost)
        check_int(DRIVER->transaction(link), WEIR_TRANSACTION_NONE);
    DRIVER->close(link);
    return status;
}

/* The n-th call fails, for n = 1, 2, ..., until there are fewer. */
static void fail_every_call(const char *point, enum weir_status expected)
{
    struct mariadb_fixture mariadb_fixture;
    enum weir_status status;
    uint64_t n = 0;

    mariadb_fixture_open(&mariadb_fixture, server_shared(WEIR_MARIADB));
    server_execute(mariadb_fixture.server, mariadb_fixture.database,
                   "CREATE TABLE t (a BIGINT)");
    do {
        int64_t rows;

        server_execute(mariadb_fixture.server, mariadb_fixture.database,
                       "TRUNCATE t"); /* nobody has a lock */
        weir_fault_points_init(&mariadb_fixture.points);
        weir_fault_points_arm(&mariadb_fixture.points, point, ++n);
        status = do_everything(&mariadb_fixture.config, &mariadb_fixture.error);
        rows = server_query(mariadb_fixture.server, mariadb_fixture.database,
                            "SELECT count(*) FROM t");
        if (status == WEIR_OK)
            check_int(rows, 6);
        else
            check_int(rows, 0);
        check(status == WEIR_OK || status == expected || status == WEIR_LOST ||
              status == WEIR_IN_DOUBT);
        check_int(atomic_load(&mariadb_fixture.heap.outstanding), 0);
    } while (mariadb_fixture.points.armed[0].passed >= n);
    check_status(status, WEIR_OK);
    check(n > 10);
    mariadb_fixture_close(&mariadb_fixture);
}

WEIR_TEST(maria, survives_the_loss_of_the_connection_at_any_call)
{
    fail_every_call("db.lose", WEIR_LOST);
}

WEIR_TEST(maria, survives_the_failure_of_any_call)
{
    fail_every_call("db.fail", WEIR_FAILED);
}

static enum weir_status do_everything_with(const struct weir_heap *heap)
{
    struct mariadb_fixture mariadb_fixture;
    enum weir_status status;

    mariadb_fixture_open(&mariadb_fixture, server_shared(WEIR_MARIADB));
    server_execute(mariadb_fixture.server, mariadb_fixture.database,
                   "CREATE TABLE t (a BIGINT)");
    mariadb_fixture.config.heap = heap;
    status = do_everything(&mariadb_fixture.config, &mariadb_fixture.error);
    mariadb_fixture_close(&mariadb_fixture);
    return status;
}

WEIR_TEST(maria, survives_any_failing_allocation)
{
    check_alloc_failures(do_everything_with);
}
