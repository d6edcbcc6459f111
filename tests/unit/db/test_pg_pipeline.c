/* Tests of db/postgres/pipeline.c: several statements in one round trip. */
#include "db/postgres/pipeline.h"

#include "unit/db/postgres_fixture.h"

enum { STEPS_MAX = 500 };

/* A table with a unique number, and a statement that inserts one. */
struct setup {
    struct postgres_fixture postgres_fixture;
    PGconn *application; /* of an adopted link; else NULL */
    struct weir_link *link;
    void *insert;
    struct weir_value values[STEPS_MAX][2];
    struct weir_driver_step steps[STEPS_MAX];
    size_t failed;
};

static struct setup setup; /* too large for a stack */

static void set_step(size_t index, int64_t number)
{
    setup.values[index][0] = weir_integer(number);
    setup.values[index][1] = weir_null();
    setup.steps[index] = (struct weir_driver_step){
        .prepared = setup.insert,
        .values = setup.values[index],
    };
}

static void prepare_setup(void)
{
    server_execute(setup.postgres_fixture.server, setup.postgres_fixture.database,
                   "CREATE TABLE t (a bigint PRIMARY KEY, b bytea)");
    setup.insert = postgres_fixture_prepare(&setup.postgres_fixture, setup.link,
                                            "INSERT INTO t VALUES ($1, $2)", "ib");
    for (size_t i = 0; i < STEPS_MAX; i++)
        set_step(i, (int64_t)i);
}

static void open_setup(void)
{
    memset(&setup, 0, sizeof setup);
    postgres_fixture_open(&setup.postgres_fixture);
    setup.link = postgres_fixture_link(&setup.postgres_fixture);
    prepare_setup();
}

static void open_adopted_setup(void)
{
    memset(&setup, 0, sizeof setup);
    postgres_fixture_open(&setup.postgres_fixture);
    setup.application = postgres_fixture_application(&setup.postgres_fixture);
    setup.link = postgres_fixture_adopt(&setup.postgres_fixture, setup.application);
    prepare_setup();
}

static void close_setup(void)
{
    pg->unprepare(setup.link, setup.insert);
    postgres_fixture_unlink(setup.link);
    PQfinish(setup.application);
    postgres_fixture_close(&setup.postgres_fixture);
}

static enum weir_status run(size_t count)
{
    setup.failed = 12345;
    return pg->run_steps(setup.link, setup.steps, count, &setup.failed,
                         &setup.postgres_fixture.error);
}

static int64_t rows(void)
{
    return postgres_fixture_peek(&setup.postgres_fixture, "SELECT count(*) FROM t");
}

/* Out of pipeline mode, blocking, and good for the next statement. */
static void check_at_rest(void)
{
    PGconn *connection = pg->native(setup.link);

    check_int(PQpipelineStatus(connection), PQ_PIPELINE_OFF);
    check(!PQisnonblocking(connection));
    if (pg->transaction(setup.link) != WEIR_TRANSACTION_FAILED)
        check_int(postgres_fixture_ask(&setup.postgres_fixture, setup.link, "SELECT 7"),
                  7);
}

static void check_run(size_t count)
{
    check_postgres_fixture(&setup.postgres_fixture, run(count), WEIR_OK);
    check_int(rows(), count);
    for (size_t i = 0; i < count; i++)
        check_int(setup.steps[i].changed, 1);
    check_at_rest();
}

/* ---- success ---- */

WEIR_TEST(pg_pipeline, runs_one_step)
{
    open_setup();
    check_run(1);
    close_setup();
}

WEIR_TEST(pg_pipeline, runs_two_steps)
{
    open_setup();
    check_run(2);
    close_setup();
}

WEIR_TEST(pg_pipeline, runs_five_hundred_steps)
{
    open_setup();
    check_run(500);
    close_setup();
}

WEIR_TEST(pg_pipeline, runs_five_hundred_steps_on_an_adopted_connection)
{
    open_adopted_setup();
    check_run(500);
    check_int(postgres_fixture_ask(&setup.postgres_fixture, setup.link,
                                   "SELECT count(*) FROM pg_prepared_statements"),
              0);
    close_setup();
}

WEIR_TEST(pg_pipeline, has_nothing_to_do_without_steps)
{
    open_setup();

    check_postgres_fixture(&setup.postgres_fixture, run(0), WEIR_OK);
    check_int(setup.failed, 0);
    close_setup();
}

/* In order, each seeing what those before it did; each prepared once, on the way. */
WEIR_TEST(pg_pipeline, runs_different_statements_in_order)
{
    void *update;
    void *clear;

    open_setup();
    update = postgres_fixture_prepare(&setup.postgres_fixture, setup.link,
                                      "UPDATE t SET a = a + 1000", "");
    clear = postgres_fixture_prepare(&setup.postgres_fixture, setup.link,
                                     "DELETE FROM t WHERE a = $1", "i");
    setup.steps[2].prepared = update;
    setup.steps[4].prepared = update;
    setup.values[5][0] = weir_integer(2001);
    setup.steps[5].prepared = clear;

    check_postgres_fixture(&setup.postgres_fixture, run(6), WEIR_OK);

    check_int(setup.steps[2].changed, 2);
    check_int(setup.steps[4].changed, 3);
    check_int(setup.steps[5].changed, 1);
    check_int(
        postgres_fixture_peek(&setup.postgres_fixture, "SELECT sum(a)::bigint FROM t"),
        2000 + 1003);
    check_int(postgres_fixture_ask(&setup.postgres_fixture, setup.link,
                                   "SELECT count(*) FROM pg_prepared_statements"),
              4);
    pg->unprepare(setup.link, update);
    pg->unprepare(setup.link, clear);
    close_setup();
}

WEIR_TEST(pg_pipeline, drops_rows_that_come_back)
{
    void *select;

    open_setup();
    select = postgres_fixture_prepare(&setup.postgres_fixture, setup.link,
                                      "SELECT repeat('x', 100000)", "");
    for (size_t i = 0; i < 100; i++)
        setup.steps[i].prepared = select;

    check_postgres_fixture(&setup.postgres_fixture, run(101), WEIR_OK);

    check_int(rows(), 1);
    check_at_rest();
    pg->unprepare(setup.link, select);
    close_setup();
}

/* Both sides have more to say than all buffers hold: whoever only talks is stuck for
 * ever. */
static void exchange_much(void)
{
    enum { COUNT = 24, SIZE = 1024 * 1024 };
    static char bytes[SIZE];
    void *echo = postgres_fixture_prepare(&setup.postgres_fixture, setup.link,
                                          "SELECT $2, $2, $2 WHERE $1 >= 0", "ib");

    for (size_t i = 0; i < COUNT; i++) {
        setup.values[i][1] = weir_bytes(bytes, SIZE);
        setup.steps[i].prepared = echo;
    }

    check_postgres_fixture(&setup.postgres_fixture, run(COUNT), WEIR_OK);

    check_at_rest();
    pg->unprepare(setup.link, echo);
}

WEIR_TEST(pg_pipeline, reads_answers_while_it_is_still_sending)
{
    open_setup();
    exchange_much();
    close_setup();
}

WEIR_TEST(pg_pipeline, reads_answers_while_it_is_still_sending_on_an_adopted_connection)
{
    open_adopted_setup();
    exchange_much();
    close_setup();
}

/* ---- failure ---- */

WEIR_TEST(pg_pipeline, undoes_all_steps_when_one_in_the_middle_fails)
{
    open_setup();
    set_step(250, 7); /* again */

    check_postgres_fixture(&setup.postgres_fixture, run(500), WEIR_CONSTRAINT);

    check_int(setup.failed, 250);
    check_str(setup.postgres_fixture.error.sqlstate, "23505");
    check_int(pg->transaction(setup.link), WEIR_TRANSACTION_NONE);
    check_int(rows(), 0);
    check_at_rest();
    close_setup();
}

WEIR_TEST(pg_pipeline, leaves_an_open_transaction_failed)
{
    open_setup();
    postgres_fixture_exec(&setup.postgres_fixture, setup.link,
                          "BEGIN; INSERT INTO t VALUES (1000); SAVEPOINT s");
    set_step(3, 0);

    check_postgres_fixture(&setup.postgres_fixture, run(5), WEIR_CONSTRAINT);

    check_int(setup.failed, 3);
    check_int(pg->transaction(setup.link), WEIR_TRANSACTION_FAILED);
    check_at_rest();
    postgres_fixture_exec(&setup.postgres_fixture, setup.link, "ROLLBACK TO s");
    check_postgres_fixture(&setup.postgres_fixture, run(3), WEIR_OK);
    check_postgres_fixture(&setup.postgres_fixture,
                           pg->commit(setup.link, &setup.postgres_fixture.error),
                           WEIR_OK);
    check_int(rows(), 4);
    close_setup();
}

WEIR_TEST(pg_pipeline, leaves_the_transaction_of_an_adopted_connection_usable)
{
    open_adopted_setup();
    postgres_fixture_apply(setup.application,
                           "BEGIN; INSERT INTO t VALUES (1000); SAVEPOINT s");
    set_step(3, 0);

    check_postgres_fixture(&setup.postgres_fixture, run(5), WEIR_CONSTRAINT);

    check_int(setup.failed, 3);
    check_at_rest();
    postgres_fixture_apply(setup.application, "ROLLBACK TO s; COMMIT");
    check_int(rows(), 1);
    close_setup();
}

WEIR_TEST(pg_pipeline, names_the_step_that_cannot_be_prepared)
{
    void *bad;

    open_setup();
    bad = postgres_fixture_prepare(&setup.postgres_fixture, setup.link,
                                   "INSERT INTO nowhere VALUES ($1, $2)", "ib");
    setup.steps[1].prepared = bad;
    setup.steps[3].prepared = bad;

    check_postgres_fixture(&setup.postgres_fixture, run(5), WEIR_SCHEMA);

    check_int(setup.failed, 1);
    check_int(rows(), 0);
    check_at_rest();
    server_execute(setup.postgres_fixture.server, setup.postgres_fixture.database,
                   "CREATE TABLE nowhere (a bigint, b bytea)");
    check_postgres_fixture(&setup.postgres_fixture, run(5), WEIR_OK);
    check_int(rows(), 3);
    pg->unprepare(setup.link, bad);
    close_setup();
}

/* The statement of a later step was never prepared, since an earlier one failed. */
WEIR_TEST(pg_pipeline, prepares_what_was_skipped_the_next_time)
{
    void *update;

    open_setup();
    update = postgres_fixture_prepare(&setup.postgres_fixture, setup.link,
                                      "UPDATE t SET a = a + 1000", "");
    set_step(1, 0);
    setup.steps[2].prepared = update;
    postgres_fixture_exec(&setup.postgres_fixture, setup.link, "BEGIN; SAVEPOINT s");
    check_postgres_fixture(&setup.postgres_fixture, run(3), WEIR_CONSTRAINT);
    postgres_fixture_exec(&setup.postgres_fixture, setup.link, "ROLLBACK TO s");
    set_step(1, 1);

    check_postgres_fixture(&setup.postgres_fixture, run(3), WEIR_OK);

    check_int(setup.steps[2].changed, 2);
    pg->rollback(setup.link);
    pg->unprepare(setup.link, update);
    close_setup();
}

/* Checked when the steps' own transaction ends, at the sync. */
WEIR_TEST(pg_pipeline, hears_of_constraints_that_are_deferred)
{
    open_setup();
    server_execute(setup.postgres_fixture.server, setup.postgres_fixture.database,
                   "ALTER TABLE t DROP CONSTRAINT t_pkey;"
                   "ALTER TABLE t ADD UNIQUE (a) DEFERRABLE INITIALLY DEFERRED");
    set_step(1, 0);

    check_postgres_fixture(&setup.postgres_fixture, run(3), WEIR_CONSTRAINT);

    check_int(setup.failed, 2);
    check_int(rows(), 0);
    check_at_rest();
    close_setup();
}

WEIR_TEST(pg_pipeline, sends_nothing_when_a_value_does_not_fit)
{
    void *timed;

    open_setup();
    timed = postgres_fixture_prepare(&setup.postgres_fixture, setup.link,
                                     "INSERT INTO t SELECT 1 WHERE $1 < now()", "m");
    setup.steps[2].prepared = timed;
    setup.values[2][0] = weir_time(INT64_MIN);

    check_postgres_fixture(&setup.postgres_fixture, run(4), WEIR_INVALID);

    check_int(setup.failed, 2);
    check_int(rows(), 0);
    check_at_rest();
    pg->unprepare(setup.link, timed);
    close_setup();
}

WEIR_TEST(pg_pipeline, prepares_again_what_the_session_forgot)
{
    open_setup();
    check_postgres_fixture(&setup.postgres_fixture, run(1), WEIR_OK);
    postgres_fixture_exec(&setup.postgres_fixture, setup.link, "DELETE FROM t");
    postgres_fixture_exec(&setup.postgres_fixture, setup.link, "DISCARD ALL");

    check_run(5);

    check_str(
        postgres_fixture_text(&setup.postgres_fixture, setup.link, "SHOW lock_timeout"),
        "10s");
    close_setup();
}

WEIR_TEST(pg_pipeline, is_a_conflict_when_forgotten_inside_a_transaction)
{
    open_setup();
    check_postgres_fixture(&setup.postgres_fixture, run(1), WEIR_OK);
    postgres_fixture_exec(&setup.postgres_fixture, setup.link,
                          "DELETE FROM t; DEALLOCATE ALL");
    postgres_fixture_exec(&setup.postgres_fixture, setup.link, "BEGIN");

    check_postgres_fixture(&setup.postgres_fixture, run(5), WEIR_CONFLICT);

    pg->rollback(setup.link);
    check_run(5);
    close_setup();
}

WEIR_TEST(pg_pipeline, notices_a_connection_that_is_lost_on_the_way)
{
    void *kill_self;

    open_setup();
    kill_self =
        postgres_fixture_prepare(&setup.postgres_fixture, setup.link,
                                 "SELECT pg_terminate_backend(pg_backend_pid())", "");
    setup.steps[3].prepared = kill_self;

    check_postgres_fixture(&setup.postgres_fixture, run(5), WEIR_LOST);

    check_int(setup.failed, 3);
    check(setup.link->lost);
    check_int(rows(), 0);
    pg->unprepare(setup.link, kill_self);
    close_setup();
}

WEIR_TEST(pg_pipeline, notices_an_adopted_connection_that_is_lost_on_the_way)
{
    void *kill_self;

    open_adopted_setup();
    kill_self =
        postgres_fixture_prepare(&setup.postgres_fixture, setup.link,
                                 "SELECT pg_terminate_backend(pg_backend_pid())", "");
    setup.steps[3].prepared = kill_self;

    check_postgres_fixture(&setup.postgres_fixture, run(5), WEIR_LOST);

    PQreset(setup.application);
    check_int(PQstatus(setup.application), CONNECTION_OK);
    check_int(PQpipelineStatus(setup.application), PQ_PIPELINE_OFF);
    check(!PQisnonblocking(setup.application));
    pg->unprepare(setup.link, kill_self);
    close_setup();
}

WEIR_TEST(pg_pipeline, does_nothing_at_a_fault)
{
    open_setup();
    weir_fault_points_arm(&setup.postgres_fixture.points, "db.fail", 1);
    check_postgres_fixture(&setup.postgres_fixture, run(5), WEIR_FAILED);
    weir_fault_points_init(&setup.postgres_fixture.points);
    check_at_rest();

    weir_fault_points_arm(&setup.postgres_fixture.points, "db.lose", 1);
    check_postgres_fixture(&setup.postgres_fixture, run(5), WEIR_LOST);
    weir_fault_points_init(&setup.postgres_fixture.points);

    check_int(rows(), 0);
    close_setup();
}
