/* Tests of db/mariadb/driver.c and db/mariadb/link.c, against a real server. */
#include "db/mariadb/link.h"

#include <pthread.h>
#include <stdlib.h>

#include "lib/sweep.h"
#include "unit/db/jetty.h"

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
static bool is_in_state(struct jetty *jetty, struct weir_link *link, const char *state)
{
    char sql[256];

    snprintf(sql, sizeof sql,
             "SELECT count(*) FROM information_schema.PROCESSLIST WHERE ID = %lu AND "
             "STATE LIKE '%s%%'",
             weir_maria_link(link)->id, state);
    return server_query(jetty->server, NULL, sql) == 1;
}

static bool somebody_waits_for_a_row(struct jetty *jetty)
{
    return server_query(jetty->server, NULL,
                        "SELECT CAST(VARIABLE_VALUE AS SIGNED) FROM "
                        "information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = "
                        "'INNODB_ROW_LOCK_CURRENT_WAITS'") > 0;
}

static void kill_connection(struct jetty *jetty, struct weir_link *link, const char *what)
{
    char sql[64];

    snprintf(sql, sizeof sql, "KILL %s %lu", what, weir_maria_link(link)->id);
    server_execute(jetty->server, NULL, sql);
}

/* ---- the session -------------------------------------------------------------------------- */

WEIR_TEST(maria, sets_its_session_up)
{
    struct jetty jetty;
    struct weir_link *link;
    MYSQL *mysql;

    jetty_open(&jetty, server_shared(WEIR_MARIADB));
    jetty.config.statement_timeout_ns = WEIR_MILLISECONDS(2500);
    jetty.config.lock_timeout_ns = WEIR_MILLISECONDS(1500);
    link = jetty_link(&jetty);
    mysql = DRIVER->native(link);

    check_str(jetty_peek(mysql, "SELECT @@session.time_zone"), "+00:00");
    check_str(jetty_peek(mysql, "SELECT @@session.autocommit"), "1");
    check_str(jetty_peek(mysql, "SELECT @@session.tx_isolation"), "READ-COMMITTED");
    check_str(jetty_peek(mysql, "SELECT @@session.max_statement_time"), "2.500000");
    check_str(jetty_peek(mysql, "SELECT @@session.innodb_lock_wait_timeout"), "2");
    check_str(jetty_peek(mysql, "SELECT @@session.lock_wait_timeout"), "2");
    check_str(jetty_peek(mysql, "SELECT @@session.character_set_client"), "utf8mb4");
    check_str(jetty_peek(mysql, "SELECT @@session.character_set_results"), "utf8mb4");
    check(strstr(jetty_peek(mysql, "SELECT @@session.sql_mode"), "STRICT_ALL_TABLES") !=
          NULL);
    jetty_unlink(link);
    jetty_close(&jetty);
}

/* Or a statement that locks would fail when another transaction has changed the row (1020). */
WEIR_TEST(maria, locks_rows_that_are_newer_than_its_snapshot)
{
    struct jetty jetty;
    struct weir_link *link;

    jetty_open(&jetty, strict_server());
    link = jetty_link(&jetty);

    check_str(
        jetty_peek(DRIVER->native(link), "SELECT @@session.innodb_snapshot_isolation"),
        "0");
    check_str(
        jetty_peek(DRIVER->native(link), "SELECT @@global.innodb_snapshot_isolation"),
        "1");
    jetty_unlink(link);
    jetty_close(&jetty);
}

WEIR_TEST(maria, waits_without_end_when_there_is_no_timeout)
{
    struct jetty jetty;
    struct weir_link *link;
    MYSQL *mysql;

    jetty_open(&jetty, server_shared(WEIR_MARIADB));
    jetty.config.statement_timeout_ns = 0;
    jetty.config.lock_timeout_ns = 0;
    link = jetty_link(&jetty);
    mysql = DRIVER->native(link);

    check_str(jetty_peek(mysql, "SELECT @@session.max_statement_time"), "0.000000");
    check_str(jetty_peek(mysql, "SELECT @@session.innodb_lock_wait_timeout"),
              "100000000");
    check_str(jetty_peek(mysql, "SELECT @@session.lock_wait_timeout"), "31536000");
    jetty_unlink(link);
    jetty_close(&jetty);
}

/* Data that does not fit is an error, not a warning. */
WEIR_TEST(maria, is_strict)
{
    struct jetty jetty;
    struct weir_link *link;

    jetty_open(&jetty, server_shared(WEIR_MARIADB));
    link = jetty_link(&jetty);
    jetty_exec(&jetty, link, "CREATE TABLE t (a TINYINT, b VARCHAR(2), c DATETIME(6))");

    check_jetty(jetty_try(&jetty, link, "INSERT INTO t (a) VALUES (1000)"), WEIR_INVALID);
    check_jetty(jetty_try(&jetty, link, "INSERT INTO t (b) VALUES ('abc')"),
                WEIR_INVALID);
    check_jetty(jetty_try(&jetty, link, "INSERT INTO t (c) VALUES ('0000-00-00')"),
                WEIR_INVALID);
    check_jetty(jetty_try(&jetty, link, "CREATE TABLE u (a INT) ENGINE=nosuch"),
                WEIR_SCHEMA);
    check_int(jetty_ask(&jetty, link, "SELECT count(*) FROM t"), 0);
    jetty_unlink(link);
    jetty_close(&jetty);
}

/* "localhost" means the socket to the client library; a port in the URL means that port. */
WEIR_TEST(maria, connects_by_port_and_by_socket)
{
    struct jetty jetty;
    struct weir_link *link;
    char *host;
    char localhost[] = "localhost";
    char socket[SERVER_PATH_SIZE];

    jetty_open(&jetty, server_shared(WEIR_MARIADB));
    host = jetty.config.url.host;
    jetty.config.url.host = localhost;
    link = jetty_link(&jetty);
    check_int(jetty_ask(&jetty, link, "SELECT 1"), 1);
    jetty_unlink(link);

    snprintf(socket, sizeof socket, "%s", server_socket(jetty.server));
    jetty.config.url.socket = socket;
    jetty.config.url.host = host;
    link = jetty_link(&jetty);
    check(strstr(mysql_get_host_info(DRIVER->native(link)), "UNIX") != NULL);
    jetty_unlink(link);
    jetty.config.url.socket = NULL;
    jetty_close(&jetty);
}

WEIR_TEST(maria, tells_the_database_clock)
{
    struct jetty jetty;
    struct weir_link *link;
    int64_t before;
    int64_t clock_us;
    int64_t after;

    jetty_open(&jetty, server_shared(WEIR_MARIADB));
    link = jetty_link(&jetty);
    jetty_exec(&jetty, link, "SET time_zone = '-07:30'"); /* must not matter */

    before = server_query(jetty.server, NULL, "SELECT UNIX_TIMESTAMP()");
    check_jetty(DRIVER->clock(link, &clock_us, &jetty.error), WEIR_OK);
    after = server_query(jetty.server, NULL, "SELECT UNIX_TIMESTAMP() + 1");

    check_in_range(clock_us, before * 1000000, after * 1000000);
    jetty_unlink(link);
    jetty_close(&jetty);
}

/* ---- transactions ------------------------------------------------------------------------- */

/* Two links, each with a row locked that the other one wants; the last one to ask waits. */
static void cross(struct jetty *jetty, struct weir_link *first, struct weir_link *second,
                  struct runner *runner)
{
    jetty_exec(jetty, first, "CREATE TABLE t (id BIGINT PRIMARY KEY, a BIGINT)");
    jetty_exec(jetty, first, "INSERT INTO t VALUES (1, 0), (2, 0), (3, 0), (4, 0)");
    check_status(DRIVER->begin(first, WEIR_READ_WRITE, &jetty->error), WEIR_OK);
    check_status(DRIVER->begin(second, WEIR_READ_WRITE, &jetty->error), WEIR_OK);
    jetty_exec(jetty, first, "UPDATE t SET a = 1 WHERE id = 1");
    jetty_exec(jetty, second, "UPDATE t SET a = 2 WHERE id >= 2"); /* heavier: it wins */
    runner_start(runner, second, "UPDATE t SET a = 2 WHERE id = 1");
    wait_until(somebody_waits_for_a_row(jetty));
}

/* The server has rolled it back: what comes next must not commit on its own. */
WEIR_TEST(maria, has_no_transaction_after_a_deadlock)
{
    struct jetty jetty;
    struct weir_link *victim;
    struct weir_link *winner;
    struct runner runner;

    jetty_open(&jetty, server_shared(WEIR_MARIADB));
    victim = jetty_link(&jetty);
    winner = jetty_link(&jetty);
    cross(&jetty, victim, winner, &runner);

    check_jetty(jetty_try(&jetty, victim, "UPDATE t SET a = 1 WHERE id = 2"),
                WEIR_CONFLICT);
    check_int(jetty.error.native_code, 1213);
    check_str(jetty.error.sqlstate, "40001");
    check_status(runner_end(&runner), WEIR_OK);

    check_int(DRIVER->transaction(victim), WEIR_TRANSACTION_FAILED);
    check_jetty(jetty_try(&jetty, victim, "UPDATE t SET a = 9"), WEIR_CONFLICT);
    check_jetty(DRIVER->commit(victim, &jetty.error), WEIR_CONFLICT);
    check_int(DRIVER->transaction(victim), WEIR_TRANSACTION_NONE);
    check_jetty(DRIVER->commit(winner, &jetty.error), WEIR_OK);
    check_int(jetty_ask(&jetty, victim, "SELECT count(*) FROM t WHERE a = 2"), 4);
    jetty_unlink(victim);
    jetty_unlink(winner);
    jetty_close(&jetty);
}

/* Adopted transactions have no such state: they are open or not, as the server says. */
WEIR_TEST(maria, says_that_an_adopted_transaction_is_gone_after_a_deadlock)
{
    struct jetty jetty;
    struct weir_link *helper;
    struct weir_link *winner;
    struct weir_link *adopted;
    struct runner runner;

    jetty_open(&jetty, server_shared(WEIR_MARIADB));
    helper = jetty_link(&jetty);
    winner = jetty_link(&jetty);
    cross(&jetty, helper, winner, &runner);
    check_jetty(
        DRIVER->adopt(&jetty.config, DRIVER->native(helper), &adopted, &jetty.error),
        WEIR_OK);
    check_int(DRIVER->transaction(adopted), WEIR_TRANSACTION_OPEN);

    check_jetty(jetty_try(&jetty, adopted, "UPDATE t SET a = 1 WHERE id = 2"),
                WEIR_CONFLICT);
    check_status(runner_end(&runner), WEIR_OK);

    check_int(DRIVER->transaction(adopted), WEIR_TRANSACTION_NONE);
    check_jetty(DRIVER->commit(winner, &jetty.error), WEIR_OK);
    jetty_unlink(adopted);
    jetty_unlink(helper);
    jetty_unlink(winner);
    jetty_close(&jetty);
}

/* Somebody holds a row and does not let go. */
static void hold(struct jetty *jetty, struct weir_link *holder)
{
    jetty_exec(jetty, holder, "CREATE TABLE t (id BIGINT PRIMARY KEY, a BIGINT)");
    jetty_exec(jetty, holder, "INSERT INTO t VALUES (1, 0), (2, 0)");
    check_status(DRIVER->begin(holder, WEIR_READ_WRITE, &jetty->error), WEIR_OK);
    jetty_exec(jetty, holder, "UPDATE t SET a = 1 WHERE id = 1");
}

WEIR_TEST(maria, keeps_the_transaction_when_a_lock_was_not_to_be_had)
{
    struct jetty jetty;
    struct weir_link *holder;
    struct weir_link *link;

    jetty_open(&jetty, server_shared(WEIR_MARIADB));
    jetty.config.lock_timeout_ns = 1;
    holder = jetty_link(&jetty);
    link = jetty_link(&jetty);
    hold(&jetty, holder);
    check_jetty(DRIVER->begin(link, WEIR_READ_WRITE, &jetty.error), WEIR_OK);
    jetty_exec(&jetty, link, "UPDATE t SET a = 2 WHERE id = 2");

    check_jetty(jetty_try(&jetty, link, "UPDATE t SET a = 2 WHERE id = 1"), WEIR_LOCKED);

    check_int(DRIVER->transaction(link), WEIR_TRANSACTION_OPEN);
    check_jetty(DRIVER->commit(link, &jetty.error), WEIR_OK);
    DRIVER->rollback(holder);
    check_int(jetty_ask(&jetty, link, "SELECT sum(a) + 0e0 = 2 FROM t"), 1);
    jetty_unlink(holder);
    jetty_unlink(link);
    jetty_close(&jetty);
}

/* A setting of the server's decides, so the driver asks and does not guess. */
WEIR_TEST(maria, notices_when_the_server_rolls_back_on_a_lock_timeout)
{
    struct jetty jetty;
    struct weir_link *holder;
    struct weir_link *link;

    jetty_open(&jetty, strict_server());
    jetty.config.lock_timeout_ns = 1;
    holder = jetty_link(&jetty);
    link = jetty_link(&jetty);
    hold(&jetty, holder);
    check_jetty(DRIVER->begin(link, WEIR_READ_WRITE, &jetty.error), WEIR_OK);
    jetty_exec(&jetty, link, "UPDATE t SET a = 2 WHERE id = 2");

    check_jetty(jetty_try(&jetty, link, "UPDATE t SET a = 2 WHERE id = 1"), WEIR_LOCKED);

    check_int(DRIVER->transaction(link), WEIR_TRANSACTION_FAILED);
    check_jetty(jetty_try(&jetty, link, "UPDATE t SET a = 3 WHERE id = 2"), WEIR_LOCKED);
    DRIVER->rollback(link);
    check_int(DRIVER->transaction(link), WEIR_TRANSACTION_NONE);
    DRIVER->rollback(holder);
    check_int(jetty_ask(&jetty, link, "SELECT sum(a) + 0e0 = 0 FROM t"), 1);
    jetty_unlink(holder);
    jetty_unlink(link);
    jetty_close(&jetty);
}

/* MariaDB commits before it changes a table, also when it then cannot. */
WEIR_TEST(maria, knows_what_ddl_does_to_a_transaction)
{
    struct jetty jetty;
    struct weir_link *link;

    jetty_open(&jetty, server_shared(WEIR_MARIADB));
    link = jetty_link(&jetty);
    check_jetty(DRIVER->begin(link, WEIR_READ_WRITE, &jetty.error), WEIR_OK);
    jetty_exec(&jetty, link, "CREATE TABLE t (a BIGINT)");
    check_int(DRIVER->transaction(link), WEIR_TRANSACTION_NONE);
    check_jetty(DRIVER->commit(link, &jetty.error), WEIR_OK);

    check_jetty(DRIVER->begin(link, WEIR_READ_WRITE, &jetty.error), WEIR_OK);
    check_jetty(jetty_try(&jetty, link, "CREATE TABLE t (a BIGINT)"), WEIR_SCHEMA);
    check_int(DRIVER->transaction(link), WEIR_TRANSACTION_FAILED);
    DRIVER->rollback(link);
    check_int(DRIVER->transaction(link), WEIR_TRANSACTION_NONE);
    jetty_unlink(link);
    jetty_close(&jetty);
}

/* The server would commit the one that is open. */
WEIR_TEST(maria, refuses_to_begin_twice)
{
    struct jetty jetty;
    struct weir_link *link;

    jetty_open(&jetty, server_shared(WEIR_MARIADB));
    link = jetty_link(&jetty);
    jetty_exec(&jetty, link, "CREATE TABLE t (a BIGINT)");
    check_jetty(DRIVER->begin(link, WEIR_READ_WRITE, &jetty.error), WEIR_OK);
    jetty_exec(&jetty, link, "INSERT INTO t VALUES (1)");

    check_jetty(DRIVER->begin(link, WEIR_READ_WRITE, &jetty.error), WEIR_INVALID);

    DRIVER->rollback(link);
    check_int(jetty_ask(&jetty, link, "SELECT count(*) FROM t"), 0);
    jetty_unlink(link);
    jetty_close(&jetty);
}

WEIR_TEST(maria, refuses_to_write_in_a_transaction_for_reading)
{
    struct jetty jetty;
    struct weir_link *link;

    jetty_open(&jetty, server_shared(WEIR_MARIADB));
    link = jetty_link(&jetty);
    jetty_exec(&jetty, link, "CREATE TABLE t (a BIGINT)");
    check_jetty(DRIVER->begin(link, WEIR_READ_ONLY, &jetty.error), WEIR_OK);

    check_jetty(jetty_try(&jetty, link, "INSERT INTO t VALUES (1)"), WEIR_INVALID);

    check_int(DRIVER->transaction(link), WEIR_TRANSACTION_OPEN);
    check_jetty(DRIVER->commit(link, &jetty.error), WEIR_OK);
    jetty_unlink(link);
    jetty_close(&jetty);
}

/* ---- losing the connection ---------------------------------------------------------------- */

WEIR_TEST(maria, is_lost_when_somebody_kills_the_connection)
{
    struct jetty jetty;
    struct weir_link *link;
    struct weir_cursor cursor;
    void *prepared;

    jetty_open(&jetty, server_shared(WEIR_MARIADB));
    link = jetty_link(&jetty);
    prepared = jetty_prepare(&jetty, link, "SELECT 1", "");
    kill_connection(&jetty, link, "CONNECTION");

    check_jetty(DRIVER->run(link, prepared, NULL, &cursor, &jetty.error), WEIR_LOST);

    check(link->lost);
    DRIVER->unprepare(link, prepared);
    jetty_unlink(link);
    jetty_close(&jetty);
}

WEIR_TEST(maria, notices_without_asking_that_an_idle_connection_was_killed)
{
    struct jetty jetty;
    struct weir_link *link;

    jetty_open(&jetty, server_shared(WEIR_MARIADB));
    link = jetty_link(&jetty);
    jetty_exec(&jetty, link, "SELECT 1");
    check(DRIVER->alive(link));
    kill_connection(&jetty, link, "CONNECTION");

    wait_until(!DRIVER->alive(link));

    check(link->lost);
    jetty_unlink(link);
    jetty_close(&jetty);
}

WEIR_TEST(maria, is_lost_when_its_statement_is_killed_with_the_connection)
{
    struct jetty jetty;
    struct weir_link *link;
    struct runner runner;

    jetty_open(&jetty, server_shared(WEIR_MARIADB));
    link = jetty_link(&jetty);
    runner_start(&runner, link, "SELECT SLEEP(100)");
    wait_until(is_in_state(&jetty, link, "User sleep"));
    kill_connection(&jetty, link, "CONNECTION");

    check_status(runner_end(&runner), WEIR_LOST);

    check(link->lost);
    jetty_unlink(link);
    jetty_close(&jetty);
}

/* Its farewell is here: the commit is not even sent. */
WEIR_TEST(maria, is_lost_and_not_in_doubt_when_the_session_ended_before_the_commit)
{
    struct jetty jetty;
    struct weir_link *link;

    jetty_open(&jetty, server_shared(WEIR_MARIADB));
    link = jetty_link(&jetty);
    jetty_exec(&jetty, link, "CREATE TABLE t (a BIGINT)");
    check_jetty(DRIVER->begin(link, WEIR_READ_WRITE, &jetty.error), WEIR_OK);
    jetty_exec(&jetty, link, "INSERT INTO t VALUES (1)");
    kill_connection(&jetty, link, "CONNECTION");
    server_await_hangup(mysql_get_socket(DRIVER->native(link)));

    check_jetty(DRIVER->commit(link, &jetty.error), WEIR_LOST);

    check_status(jetty.error.status, WEIR_LOST);
    check(link->lost);
    jetty_unlink(link);
    jetty_close(&jetty);
}

/* The server learns of it at once, and so do those who wait for our locks. */
WEIR_TEST(maria, leaves_no_transaction_behind_when_it_is_lost)
{
    struct jetty jetty;
    struct weir_link *link;
    struct weir_link *other;

    jetty_open(&jetty, server_shared(WEIR_MARIADB));
    other = jetty_link(&jetty);
    jetty.config.lock_timeout_ns = WEIR_SECONDS(30);
    link = jetty_link(&jetty);
    hold(&jetty, link);

    weir_fault_points_arm(&jetty.points, "db.lose", 1);
    check_jetty(jetty_try(&jetty, link, "SELECT 1"), WEIR_LOST);
    weir_fault_points_init(&jetty.points);

    jetty_exec(&jetty, other, "UPDATE t SET a = 7 WHERE id = 1");
    jetty_unlink(link);
    jetty_unlink(other);
    jetty_close(&jetty);
}

/* ---- cancel ------------------------------------------------------------------------------- */

WEIR_TEST(maria, ends_a_statement_that_is_cancelled)
{
    struct jetty jetty;
    struct weir_link *link;
    struct runner runner;

    jetty_open(&jetty, server_shared(WEIR_MARIADB));
    link = jetty_link(&jetty);
    for (int i = 0; i < 5; i++) {
        runner_start(&runner, link, "SELECT SLEEP(100)");
        wait_until(is_in_state(&jetty, link, "User sleep"));
        DRIVER->cancel(link);
        check_status(runner_end(&runner), WEIR_CANCELLED);
        check_int(runner.error.native_code, 1317);
        check_int(jetty_ask(&jetty, link, "SELECT 1"), 1);
    }
    jetty_unlink(link);
    jetty_close(&jetty);
}

/* Somebody else's KILL QUERY is no cancel(): our worker need not stop for it. */
WEIR_TEST(maria, tells_a_cancel_from_a_kill)
{
    struct jetty jetty;
    struct weir_link *link;
    struct runner runner;

    jetty_open(&jetty, server_shared(WEIR_MARIADB));
    link = jetty_link(&jetty);
    DRIVER->cancel(link); /* nothing runs: forgotten by the next statement */
    runner_start(&runner, link, "SELECT SLEEP(100)");
    wait_until(is_in_state(&jetty, link, "User sleep"));
    kill_connection(&jetty, link, "QUERY");

    check_status(runner_end(&runner), WEIR_FAILED);

    check(!link->lost);
    jetty_unlink(link);
    jetty_close(&jetty);
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
    struct jetty jetty;
    struct steps_runner runner = {0};

    jetty_open(&jetty, server_shared(WEIR_MARIADB));
    runner.link = jetty_link(&jetty);
    runner.prepared = jetty_prepare(&jetty, runner.link, "DO 1", "");
    check_int(pthread_create(&runner.thread, NULL, run_steps, &runner), 0);
    for (int i = 0; i < 100; i++)
        DRIVER->cancel(runner.link);
    runner.stop = true;
    pthread_join(runner.thread, NULL);

    check(runner.status == WEIR_OK || runner.status == WEIR_CANCELLED);
    check_int(jetty_ask(&jetty, runner.link, "SELECT 1"), 1);
    DRIVER->unprepare(runner.link, runner.prepared);
    jetty_unlink(runner.link);
    jetty_close(&jetty);
}

WEIR_TEST(maria, gives_up_a_statement_that_takes_too_long)
{
    struct jetty jetty;
    struct weir_link *link;

    jetty_open(&jetty, server_shared(WEIR_MARIADB));
    jetty.config.statement_timeout_ns = WEIR_MILLISECONDS(100);
    link = jetty_link(&jetty);

    check_jetty(jetty_try(&jetty, link, "SELECT SLEEP(100)"), WEIR_TIMEOUT);

    check_int(jetty.error.native_code, 1969);
    check_int(jetty_ask(&jetty, link, "SELECT 1"), 1);
    jetty_unlink(link);
    jetty_close(&jetty);
}

/* ---- adoption ----------------------------------------------------------------------------- */

WEIR_TEST(maria, refuses_handles_that_it_could_not_use)
{
    struct jetty jetty;
    struct weir_link *link;
    MYSQL *unconnected = mysql_init(NULL);
    MYSQL *busy;
    MYSQL *latin;
    MYSQL_RES *result;

    jetty_open(&jetty, server_shared(WEIR_MARIADB));
    busy = jetty_handle(&jetty, "utf8mb4");
    latin = jetty_handle(&jetty, "latin1");
    check_int(mysql_query(busy, "SELECT seq FROM seq_1_to_10000"), 0);
    result = mysql_use_result(busy);

    check_jetty(DRIVER->adopt(&jetty.config, NULL, &link, &jetty.error), WEIR_INVALID);
    check(link == NULL);
    check_jetty(DRIVER->adopt(&jetty.config, unconnected, &link, &jetty.error),
                WEIR_INVALID);
    check_jetty(DRIVER->adopt(&jetty.config, busy, &link, &jetty.error), WEIR_INVALID);
    check(strstr(jetty.error.text, "busy") != NULL);
    /* Texts would be taken for latin1, and wrong in the table. */
    check_jetty(DRIVER->adopt(&jetty.config, latin, &link, &jetty.error), WEIR_INVALID);
    check(strstr(jetty.error.text, "utf8mb4") != NULL);

    mysql_free_result(result);
    check_jetty(DRIVER->adopt(&jetty.config, busy, &link, &jetty.error), WEIR_OK);
    jetty_unlink(link);
    mysql_close(unconnected);
    mysql_close(busy);
    mysql_close(latin);
    jetty_close(&jetty);
}

/* Everything about the session that we could have touched, in one text. */
static const char SQL_SETTINGS[] =
    "SELECT concat_ws('|', @@time_zone, @@sql_mode, @@tx_isolation, @@autocommit, "
    "@@innodb_lock_wait_timeout, @@lock_wait_timeout, @@max_statement_time, "
    "@@character_set_client, @@collation_connection, @@tx_read_only)";

WEIR_TEST(maria, leaves_an_adopted_session_as_it_was)
{
    struct jetty jetty;
    struct weir_link *link;
    struct weir_cursor cursor;
    MYSQL *handle;
    MYSQL_STMT *theirs;
    char before[512];
    void *prepared;

    jetty_open(&jetty, server_shared(WEIR_MARIADB));
    handle = jetty_handle(&jetty, "utf8mb4");
    jetty_peek(handle, "SET time_zone = '+05:00', sql_mode = 'ANSI_QUOTES'");
    jetty_peek(handle, "CREATE TABLE t (a BIGINT)");
    snprintf(before, sizeof before, "%s", jetty_peek(handle, SQL_SETTINGS));
    theirs = mysql_stmt_init(handle);
    check_int(mysql_stmt_prepare(theirs, "INSERT INTO t VALUES (9)", 24), 0);

    check_jetty(DRIVER->adopt(&jetty.config, handle, &link, &jetty.error), WEIR_OK);
    prepared = jetty_prepare(&jetty, link, "INSERT INTO t VALUES (?)", "i");
    check_jetty(DRIVER->run(link, prepared, (const struct weir_value[]){weir_integer(1)},
                            &cursor, &jetty.error),
                WEIR_OK);
    DRIVER->finish(link, &cursor);
    DRIVER->cancel(link); /* nothing happens: we do not know how to log on as they did */
    check_int(mysql_stmt_execute(theirs), 0);
    DRIVER->unprepare(link, prepared);
    jetty_unlink(link);

    check_str(jetty_peek(handle, SQL_SETTINGS), before);
    check_int(mysql_stmt_execute(theirs), 0);
    check_str(jetty_peek(handle, "SELECT count(*) FROM t"), "3");
    check_str(jetty_peek(handle, "SHOW SESSION STATUS LIKE 'Com_stmt_prepare'"),
              "Com_stmt_prepare");
    mysql_stmt_close(theirs); /* which the server does not answer */
    wait_until(server_query(jetty.server, NULL,
                            "SELECT CAST(VARIABLE_VALUE AS SIGNED) FROM "
                            "information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = "
                            "'PREPARED_STMT_COUNT'") == 0);
    mysql_close(handle);
    jetty_close(&jetty);
}

/* DATETIME has no zone: what we bind is UTC and stays so. */
WEIR_TEST(maria, writes_times_in_utc_whatever_the_zone_of_the_session)
{
    static const int64_t TIME_US = INT64_C(1709164800123456);
    struct jetty jetty;
    struct weir_link *link;
    struct weir_cursor cursor;
    struct weir_value value = weir_time(TIME_US);
    MYSQL *handle;
    void *prepared;
    bool fits;

    jetty_open(&jetty, server_shared(WEIR_MARIADB));
    handle = jetty_handle(&jetty, "utf8mb4");
    jetty_peek(handle, "SET time_zone = '+05:00'");
    jetty_peek(handle, "CREATE TABLE t (at DATETIME(6))");
    check_jetty(DRIVER->adopt(&jetty.config, handle, &link, &jetty.error), WEIR_OK);
    check_jetty(jetty_run(&jetty, link, "INSERT INTO t VALUES (?)", "m", &value, NULL),
                WEIR_OK);

    check_str(jetty_peek(handle, "SELECT at FROM t"), "2024-02-29 00:00:00.123456");
    prepared = jetty_prepare(&jetty, link, "SELECT at FROM t WHERE at = ?", "m");
    check_jetty(DRIVER->run(link, prepared, &value, &cursor, &jetty.error), WEIR_OK);
    check_jetty(DRIVER->next(link, &cursor, &jetty.error), WEIR_OK);
    DRIVER->read(&cursor, 0, WEIR_TYPE_TIME, &value, &fits);
    check(fits);
    check_int(value.as.time_us, TIME_US);
    DRIVER->finish(link, &cursor);
    DRIVER->unprepare(link, prepared);
    jetty_unlink(link);
    mysql_close(handle);
    jetty_close(&jetty);
}

/* Without autocommit everything is inside a transaction, also before its first statement. */
WEIR_TEST(maria, commits_nothing_of_an_application_without_autocommit)
{
    struct jetty jetty;
    struct weir_link *link;
    MYSQL *handle;
    const struct weir_value rows[] = {weir_integer(1), weir_integer(2), weir_integer(3)};
    int64_t changed = -1;
    void *prepared;

    jetty_open(&jetty, server_shared(WEIR_MARIADB));
    handle = jetty_handle(&jetty, "utf8mb4");
    jetty_peek(handle, "CREATE TABLE t (a BIGINT)");
    jetty_peek(handle, "SET autocommit = 0");
    check_jetty(DRIVER->adopt(&jetty.config, handle, &link, &jetty.error), WEIR_OK);
    check_int(DRIVER->transaction(link), WEIR_TRANSACTION_OPEN);
    check_jetty(DRIVER->begin(link, WEIR_READ_WRITE, &jetty.error), WEIR_INVALID);

    prepared = jetty_prepare(&jetty, link, "INSERT INTO t SELECT ? FROM DUAL", "i");
    check_jetty(DRIVER->run_many(link, prepared, rows, 3, 1, &changed, &jetty.error),
                WEIR_OK);
    DRIVER->unprepare(link, prepared);
    jetty_unlink(link);

    check_str(jetty_peek(handle, "SELECT count(*) FROM t"), "3");
    jetty_peek(handle, "ROLLBACK");
    check_str(jetty_peek(handle, "SELECT count(*) FROM t"), "0");
    mysql_close(handle);
    jetty_close(&jetty);
}

/* ---- faults ------------------------------------------------------------------------------- */

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
    struct jetty jetty;
    enum weir_status status;
    uint64_t n = 0;

    jetty_open(&jetty, server_shared(WEIR_MARIADB));
    server_execute(jetty.server, jetty.database, "CREATE TABLE t (a BIGINT)");
    do {
        int64_t rows;

        server_execute(jetty.server, jetty.database,
                       "TRUNCATE t"); /* nobody has a lock */
        weir_fault_points_init(&jetty.points);
        weir_fault_points_arm(&jetty.points, point, ++n);
        status = do_everything(&jetty.config, &jetty.error);
        rows = server_query(jetty.server, jetty.database, "SELECT count(*) FROM t");
        if (status == WEIR_OK)
            check_int(rows, 6);
        else
            check_int(rows, 0);
        check(status == WEIR_OK || status == expected || status == WEIR_LOST ||
              status == WEIR_IN_DOUBT);
        check_int(atomic_load(&jetty.heap.outstanding), 0);
    } while (jetty.points.armed[0].passed >= n);
    check_status(status, WEIR_OK);
    check(n > 10);
    jetty_close(&jetty);
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
    struct jetty jetty;
    enum weir_status status;

    jetty_open(&jetty, server_shared(WEIR_MARIADB));
    server_execute(jetty.server, jetty.database, "CREATE TABLE t (a BIGINT)");
    jetty.config.heap = heap;
    status = do_everything(&jetty.config, &jetty.error);
    jetty_close(&jetty);
    return status;
}

WEIR_TEST(maria, survives_any_failing_allocation)
{
    check_sweep(do_everything_with);
}
