/* Tests of db/postgres/pipeline.c: several statements in one round trip. */
#include "db/postgres/pipeline.h"

#include "unit/db/stall.h"

enum { STEPS_MAX = 500 };

/* A table with a unique number, and a statement that inserts one. */
struct scene {
    struct stall stall;
    PGconn *application; /* of an adopted link; else NULL */
    struct weir_link *link;
    void *insert;
    struct weir_value values[STEPS_MAX][2];
    struct weir_driver_step steps[STEPS_MAX];
    size_t failed;
};

static struct scene scene; /* too large for a stack */

static void set_step(size_t index, int64_t number)
{
    scene.values[index][0] = weir_integer(number);
    scene.values[index][1] = weir_null();
    scene.steps[index] = (struct weir_driver_step){
        .prepared = scene.insert,
        .values = scene.values[index],
    };
}

static void prepare_scene(void)
{
    server_execute(scene.stall.server, scene.stall.database,
                   "CREATE TABLE t (a bigint PRIMARY KEY, b bytea)");
    scene.insert =
        stall_prepare(&scene.stall, scene.link, "INSERT INTO t VALUES ($1, $2)", "ib");
    for (size_t i = 0; i < STEPS_MAX; i++)
        set_step(i, (int64_t)i);
}

static void open_scene(void)
{
    memset(&scene, 0, sizeof scene);
    stall_open(&scene.stall);
    scene.link = stall_link(&scene.stall);
    prepare_scene();
}

static void open_adopted_scene(void)
{
    memset(&scene, 0, sizeof scene);
    stall_open(&scene.stall);
    scene.application = stall_application(&scene.stall);
    scene.link = stall_adopt(&scene.stall, scene.application);
    prepare_scene();
}

static void close_scene(void)
{
    pg->unprepare(scene.link, scene.insert);
    stall_unlink(scene.link);
    PQfinish(scene.application);
    stall_close(&scene.stall);
}

static enum weir_status run(size_t count)
{
    scene.failed = 12345;
    return pg->run_steps(scene.link, scene.steps, count, &scene.failed,
                         &scene.stall.error);
}

static int64_t rows(void)
{
    return stall_peek(&scene.stall, "SELECT count(*) FROM t");
}

/* Out of pipeline mode, blocking, and good for the next statement. */
static void check_at_rest(void)
{
    PGconn *connection = pg->native(scene.link);

    check_int(PQpipelineStatus(connection), PQ_PIPELINE_OFF);
    check(!PQisnonblocking(connection));
    if (pg->transaction(scene.link) != WEIR_TRANSACTION_FAILED)
        check_int(stall_ask(&scene.stall, scene.link, "SELECT 7"), 7);
}

static void check_run(size_t count)
{
    check_stall(&scene.stall, run(count), WEIR_OK);
    check_int(rows(), count);
    for (size_t i = 0; i < count; i++)
        check_int(scene.steps[i].changed, 1);
    check_at_rest();
}

/* ---- success ---- */

WEIR_TEST(pg_pipeline, runs_one_step)
{
    open_scene();
    check_run(1);
    close_scene();
}

WEIR_TEST(pg_pipeline, runs_two_steps)
{
    open_scene();
    check_run(2);
    close_scene();
}

WEIR_TEST(pg_pipeline, runs_five_hundred_steps)
{
    open_scene();
    check_run(500);
    close_scene();
}

WEIR_TEST(pg_pipeline, runs_five_hundred_steps_on_an_adopted_connection)
{
    open_adopted_scene();
    check_run(500);
    check_int(stall_ask(&scene.stall, scene.link,
                        "SELECT count(*) FROM pg_prepared_statements"),
              0);
    close_scene();
}

WEIR_TEST(pg_pipeline, has_nothing_to_do_without_steps)
{
    open_scene();

    check_stall(&scene.stall, run(0), WEIR_OK);
    check_int(scene.failed, 0);
    close_scene();
}

/* In order, each seeing what those before it did; each prepared once, on the way. */
WEIR_TEST(pg_pipeline, runs_different_statements_in_order)
{
    void *update;
    void *clear;

    open_scene();
    update = stall_prepare(&scene.stall, scene.link, "UPDATE t SET a = a + 1000", "");
    clear = stall_prepare(&scene.stall, scene.link, "DELETE FROM t WHERE a = $1", "i");
    scene.steps[2].prepared = update;
    scene.steps[4].prepared = update;
    scene.values[5][0] = weir_integer(2001);
    scene.steps[5].prepared = clear;

    check_stall(&scene.stall, run(6), WEIR_OK);

    check_int(scene.steps[2].changed, 2);
    check_int(scene.steps[4].changed, 3);
    check_int(scene.steps[5].changed, 1);
    check_int(stall_peek(&scene.stall, "SELECT sum(a)::bigint FROM t"), 2000 + 1003);
    check_int(stall_ask(&scene.stall, scene.link,
                        "SELECT count(*) FROM pg_prepared_statements"),
              4);
    pg->unprepare(scene.link, update);
    pg->unprepare(scene.link, clear);
    close_scene();
}

WEIR_TEST(pg_pipeline, drops_rows_that_come_back)
{
    void *select;

    open_scene();
    select = stall_prepare(&scene.stall, scene.link, "SELECT repeat('x', 100000)", "");
    for (size_t i = 0; i < 100; i++)
        scene.steps[i].prepared = select;

    check_stall(&scene.stall, run(101), WEIR_OK);

    check_int(rows(), 1);
    check_at_rest();
    pg->unprepare(scene.link, select);
    close_scene();
}

/* Both sides have more to say than all buffers hold: whoever only talks is stuck for ever. */
static void exchange_much(void)
{
    enum { COUNT = 24, SIZE = 1024 * 1024 };
    static char bytes[SIZE];
    void *echo =
        stall_prepare(&scene.stall, scene.link, "SELECT $2, $2, $2 WHERE $1 >= 0", "ib");

    for (size_t i = 0; i < COUNT; i++) {
        scene.values[i][1] = weir_bytes(bytes, SIZE);
        scene.steps[i].prepared = echo;
    }

    check_stall(&scene.stall, run(COUNT), WEIR_OK);

    check_at_rest();
    pg->unprepare(scene.link, echo);
}

WEIR_TEST(pg_pipeline, reads_answers_while_it_is_still_sending)
{
    open_scene();
    exchange_much();
    close_scene();
}

WEIR_TEST(pg_pipeline, reads_answers_while_it_is_still_sending_on_an_adopted_connection)
{
    open_adopted_scene();
    exchange_much();
    close_scene();
}

/* ---- failure ---- */

WEIR_TEST(pg_pipeline, undoes_all_steps_when_one_in_the_middle_fails)
{
    open_scene();
    set_step(250, 7); /* again */

    check_stall(&scene.stall, run(500), WEIR_CONSTRAINT);

    check_int(scene.failed, 250);
    check_str(scene.stall.error.sqlstate, "23505");
    check_int(pg->transaction(scene.link), WEIR_TRANSACTION_NONE);
    check_int(rows(), 0);
    check_at_rest();
    close_scene();
}

WEIR_TEST(pg_pipeline, leaves_an_open_transaction_failed)
{
    open_scene();
    stall_exec(&scene.stall, scene.link,
               "BEGIN; INSERT INTO t VALUES (1000); SAVEPOINT s");
    set_step(3, 0);

    check_stall(&scene.stall, run(5), WEIR_CONSTRAINT);

    check_int(scene.failed, 3);
    check_int(pg->transaction(scene.link), WEIR_TRANSACTION_FAILED);
    check_at_rest();
    stall_exec(&scene.stall, scene.link, "ROLLBACK TO s");
    check_stall(&scene.stall, run(3), WEIR_OK);
    check_stall(&scene.stall, pg->commit(scene.link, &scene.stall.error), WEIR_OK);
    check_int(rows(), 4);
    close_scene();
}

WEIR_TEST(pg_pipeline, leaves_the_transaction_of_an_adopted_connection_usable)
{
    open_adopted_scene();
    stall_apply(scene.application, "BEGIN; INSERT INTO t VALUES (1000); SAVEPOINT s");
    set_step(3, 0);

    check_stall(&scene.stall, run(5), WEIR_CONSTRAINT);

    check_int(scene.failed, 3);
    check_at_rest();
    stall_apply(scene.application, "ROLLBACK TO s; COMMIT");
    check_int(rows(), 1);
    close_scene();
}

WEIR_TEST(pg_pipeline, names_the_step_that_cannot_be_prepared)
{
    void *bad;

    open_scene();
    bad = stall_prepare(&scene.stall, scene.link, "INSERT INTO nowhere VALUES ($1, $2)",
                        "ib");
    scene.steps[1].prepared = bad;
    scene.steps[3].prepared = bad;

    check_stall(&scene.stall, run(5), WEIR_SCHEMA);

    check_int(scene.failed, 1);
    check_int(rows(), 0);
    check_at_rest();
    server_execute(scene.stall.server, scene.stall.database,
                   "CREATE TABLE nowhere (a bigint, b bytea)");
    check_stall(&scene.stall, run(5), WEIR_OK);
    check_int(rows(), 3);
    pg->unprepare(scene.link, bad);
    close_scene();
}

/* The statement of a later step was never prepared, since an earlier one failed. */
WEIR_TEST(pg_pipeline, prepares_what_was_skipped_the_next_time)
{
    void *update;

    open_scene();
    update = stall_prepare(&scene.stall, scene.link, "UPDATE t SET a = a + 1000", "");
    set_step(1, 0);
    scene.steps[2].prepared = update;
    stall_exec(&scene.stall, scene.link, "BEGIN; SAVEPOINT s");
    check_stall(&scene.stall, run(3), WEIR_CONSTRAINT);
    stall_exec(&scene.stall, scene.link, "ROLLBACK TO s");
    set_step(1, 1);

    check_stall(&scene.stall, run(3), WEIR_OK);

    check_int(scene.steps[2].changed, 2);
    pg->rollback(scene.link);
    pg->unprepare(scene.link, update);
    close_scene();
}

/* Checked when the steps' own transaction ends, at the sync. */
WEIR_TEST(pg_pipeline, hears_of_constraints_that_are_deferred)
{
    open_scene();
    server_execute(scene.stall.server, scene.stall.database,
                   "ALTER TABLE t DROP CONSTRAINT t_pkey;"
                   "ALTER TABLE t ADD UNIQUE (a) DEFERRABLE INITIALLY DEFERRED");
    set_step(1, 0);

    check_stall(&scene.stall, run(3), WEIR_CONSTRAINT);

    check_int(scene.failed, 2);
    check_int(rows(), 0);
    check_at_rest();
    close_scene();
}

WEIR_TEST(pg_pipeline, sends_nothing_when_a_value_does_not_fit)
{
    void *timed;

    open_scene();
    timed = stall_prepare(&scene.stall, scene.link,
                          "INSERT INTO t SELECT 1 WHERE $1 < now()", "m");
    scene.steps[2].prepared = timed;
    scene.values[2][0] = weir_time(INT64_MIN);

    check_stall(&scene.stall, run(4), WEIR_INVALID);

    check_int(scene.failed, 2);
    check_int(rows(), 0);
    check_at_rest();
    pg->unprepare(scene.link, timed);
    close_scene();
}

WEIR_TEST(pg_pipeline, prepares_again_what_the_session_forgot)
{
    open_scene();
    check_stall(&scene.stall, run(1), WEIR_OK);
    stall_exec(&scene.stall, scene.link, "DELETE FROM t");
    stall_exec(&scene.stall, scene.link, "DISCARD ALL");

    check_run(5);

    check_str(stall_text(&scene.stall, scene.link, "SHOW lock_timeout"), "10s");
    close_scene();
}

WEIR_TEST(pg_pipeline, is_a_conflict_when_forgotten_inside_a_transaction)
{
    open_scene();
    check_stall(&scene.stall, run(1), WEIR_OK);
    stall_exec(&scene.stall, scene.link, "DELETE FROM t; DEALLOCATE ALL");
    stall_exec(&scene.stall, scene.link, "BEGIN");

    check_stall(&scene.stall, run(5), WEIR_CONFLICT);

    pg->rollback(scene.link);
    check_run(5);
    close_scene();
}

WEIR_TEST(pg_pipeline, notices_a_connection_that_is_lost_on_the_way)
{
    void *kill_self;

    open_scene();
    kill_self = stall_prepare(&scene.stall, scene.link,
                              "SELECT pg_terminate_backend(pg_backend_pid())", "");
    scene.steps[3].prepared = kill_self;

    check_stall(&scene.stall, run(5), WEIR_LOST);

    check_int(scene.failed, 3);
    check(scene.link->lost);
    check_int(rows(), 0);
    pg->unprepare(scene.link, kill_self);
    close_scene();
}

WEIR_TEST(pg_pipeline, notices_an_adopted_connection_that_is_lost_on_the_way)
{
    void *kill_self;

    open_adopted_scene();
    kill_self = stall_prepare(&scene.stall, scene.link,
                              "SELECT pg_terminate_backend(pg_backend_pid())", "");
    scene.steps[3].prepared = kill_self;

    check_stall(&scene.stall, run(5), WEIR_LOST);

    PQreset(scene.application);
    check_int(PQstatus(scene.application), CONNECTION_OK);
    check_int(PQpipelineStatus(scene.application), PQ_PIPELINE_OFF);
    check(!PQisnonblocking(scene.application));
    pg->unprepare(scene.link, kill_self);
    close_scene();
}

WEIR_TEST(pg_pipeline, does_nothing_at_a_fault)
{
    open_scene();
    weir_fault_points_arm(&scene.stall.points, "db.fail", 1);
    check_stall(&scene.stall, run(5), WEIR_FAILED);
    weir_fault_points_init(&scene.stall.points);
    check_at_rest();

    weir_fault_points_arm(&scene.stall.points, "db.lose", 1);
    check_stall(&scene.stall, run(5), WEIR_LOST);
    weir_fault_points_init(&scene.stall.points);

    check_int(rows(), 0);
    close_scene();
}
