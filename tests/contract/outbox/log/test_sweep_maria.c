/*
 * What is special about the sweep on MariaDB: where the log begins is a counter, which
 * may pass nothing that is kept; a lock keeps subscriptions away; and others may sweep
 * at the same time.
 */
#include "base/fault_point.h"
#include "contract/outbox/log/log_fixture.h"
#include "db/db.h"
#include "kit/outbox/outbox_application.h"

static const struct weir_log_position BEGINNING = {0, 0};
enum { QUEUE = 1, DROPPING = 2, SUBSCRIPTION = 5, PARTITIONS = 8 };

/* A queue with one subscription, which has passed nothing. */
static struct log_fixture open_swept(struct fixture *fixture)
{
    struct log_fixture log_fixture = log_fixture_open(fixture);

    log_fixture_add_queue(&log_fixture, QUEUE, 0);
    log_fixture_add_subscription(&log_fixture, SUBSCRIPTION, QUEUE);
    log_fixture_set_positions(&log_fixture, SUBSCRIPTION, QUEUE, PARTITIONS, BEGINNING);
    return log_fixture;
}

static struct weir_log_position append(struct log_fixture *log_fixture, size_t count)
{
    log_fixture_append(log_fixture, count, QUEUE, PARTITIONS);
    return log_fixture_advance(log_fixture);
}

static void pass(struct log_fixture *log_fixture, struct weir_log_position log_position)
{
    log_fixture_set_positions(log_fixture, SUBSCRIPTION, QUEUE, PARTITIONS, log_position);
}

static int64_t begin_of_log(struct fixture *fixture)
{
    return fixture_ask(fixture, "SELECT value FROM weir_counter WHERE name = 'swept'");
}

static int64_t rows_of_log(struct fixture *fixture)
{
    return fixture_ask(fixture, "SELECT count(*) FROM weir_log");
}

/* A step with points of its own in front of each statement. */
static struct weir_sweep_report step_with(struct log_fixture *log_fixture,
                                          struct weir_fault_points *points)
{
    struct fixture *fixture = log_fixture->fixture;
    struct weir_db_options options = fixture_options(fixture);
    struct weir_db *db = fixture_open(fixture, &options);
    struct weir_sweep_state state = {0};
    struct weir_sweep_report report;

    weir_db_set_fault_points(db, points);
    check_db(log_fixture->log.ops->sweep(&log_fixture->log, db, &state, &report,
                                         &fixture->error),
             WEIR_OK);
    weir_db_destroy(db);
    return report;
}

/* ---- where the log begins ---------------------------------------------------------- */

/* Somebody who looks at an old state keeps all of it in the index, so that it must not
 * be walked over again. */
OUTBOX_MARIADB_TEST(sweep, begins_behind_what_is_gone_while_an_old_state_is_looked_at)
{
    struct log_fixture log_fixture = open_swept(fixture);
    struct application reader = application_start(fixture);

    append(&log_fixture, 3000);
    application_run(&reader, "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ");
    application_run(&reader, "START TRANSACTION WITH CONSISTENT SNAPSHOT");
    pass(&log_fixture, append(&log_fixture, 4001));
    log_fixture_sweep(&log_fixture);

    check_int(rows_of_log(fixture), 0);
    check_int(begin_of_log(fixture), 7001);
    application_run(&reader, "COMMIT");
    application_stop(&reader);
    log_fixture_close(&log_fixture);
}

/* The counter is made to lie: what is before it is not looked at. */
OUTBOX_MARIADB_TEST(sweep, does_not_look_before_the_beginning)
{
    struct log_fixture log_fixture = open_swept(fixture);

    pass(&log_fixture, append(&log_fixture, 100));
    log_fixture_execute(&log_fixture,
                        "UPDATE {p}_counter SET value = 60 WHERE name = 'swept'");
    log_fixture_sweep(&log_fixture);

    check_int(rows_of_log(fixture), 60);
    check_int(begin_of_log(fixture), 100);
    log_fixture_close(&log_fixture);
}

OUTBOX_MARIADB_TEST(read, does_not_look_before_the_beginning)
{
    struct log_fixture log_fixture = open_swept(fixture);
    struct seen *seen;

    append(&log_fixture, 100);
    log_fixture_execute(&log_fixture,
                        "UPDATE {p}_counter SET value = 60 WHERE name = 'swept'");
    seen = log_fixture_read(&log_fixture, BEGINNING, NULL);

    check_int(seen->count, 40);
    check_int(seen->rows[0].log_position.id, 61);
    free(seen);
    log_fixture_close(&log_fixture);
}

OUTBOX_MARIADB_TEST(sweep, moves_the_beginning_up_to_the_first_row_that_is_kept)
{
    struct log_fixture log_fixture = open_swept(fixture);
    struct weir_log_position head = append(&log_fixture, 160);

    pass(&log_fixture, head);
    log_fixture_set_position(&log_fixture, SUBSCRIPTION, weir_pid(QUEUE, 3),
                             (struct weir_log_position){0, 75});
    log_fixture_sweep(&log_fixture);

    check_int(begin_of_log(fixture), 75); /* partition 3 has 4, 12, ..., 76, ... */
    check_int(rows_of_log(fixture), 11);
    pass(&log_fixture, head);
    log_fixture_sweep(&log_fixture);
    check_int(begin_of_log(fixture), 156); /* the last that there was */
    log_fixture_close(&log_fixture);
}

/* Positions anywhere, in windows of a few rows, step by step. */
OUTBOX_MARIADB_TEST(sweep, never_moves_the_beginning_over_a_row_that_is_kept)
{
    struct weir_fault_points points;
    struct log_fixture log_fixture = open_swept(fixture);
    uint32_t random = 12345;

    weir_fault_points_init(&points);
    weir_fault_points_arm(&points, "sweep.small_window", 1);
    log_fixture.log.points = &points;
    for (int round = 0; round < 12; round++) {
        struct weir_sweep_state state = {0};
        struct weir_sweep_report report = {.more = true};
        int64_t head = append(&log_fixture, 60).id;

        for (int32_t i = 0; i < PARTITIONS; i++) {
            random = random * 1664525 + 1013904223;
            log_fixture_set_position(
                &log_fixture, SUBSCRIPTION, weir_pid(QUEUE, i),
                (struct weir_log_position){0, i == 7 ? head / 2 : head - random % 64});
        }
        while (report.more) {
            check_db(log_fixture.log.ops->sweep(&log_fixture.log, fixture->db, &state,
                                                &report, &fixture->error),
                     WEIR_OK);
            check_int(fixture_ask(fixture,
                                  "SELECT count(*) FROM weir_log WHERE id <= (SELECT"
                                  " value FROM weir_counter WHERE name = 'swept')"),
                      0);
        }
    }
    check(begin_of_log(fixture) > 300);
    log_fixture_close(&log_fixture);
}

/* Too many to be moved at first; later on few of all that went by. */
OUTBOX_MARIADB_TEST(sweep, sets_aside_what_holds_the_beginning_when_many_have_gone_by)
{
    enum { UNREAD = 3, KEPT = 600 };
    struct log_fixture log_fixture = open_swept(fixture);

    log_fixture_add_queue(&log_fixture, UNREAD, 0);
    log_fixture_append(&log_fixture, KEPT, UNREAD, PARTITIONS);
    pass(&log_fixture, append(&log_fixture, 1000));
    log_fixture_sweep(&log_fixture);
    check_int(rows_of_log(fixture), KEPT);
    check_int(begin_of_log(fixture), 0);
    for (int i = 0; i < 10; i++) {
        pass(&log_fixture, append(&log_fixture, 500));
        log_fixture_sweep(&log_fixture);
    }

    check(begin_of_log(fixture) > KEPT);
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_aside"), KEPT);
    log_fixture_close(&log_fixture);
}

OUTBOX_MARIADB_TEST(sweep, sets_rows_aside_as_they_are)
{
    struct log_fixture log_fixture = open_swept(fixture);
    struct weir_log_position head = append(&log_fixture, 4800);
    struct seen *before = log_fixture_read(&log_fixture, BEGINNING, NULL);
    struct seen *after;

    pass(&log_fixture, head);
    log_fixture_set_position(&log_fixture, SUBSCRIPTION, weir_pid(QUEUE, 0), BEGINNING);
    check(log_fixture_sweep(&log_fixture).aside > 0);
    after = log_fixture_read(&log_fixture, BEGINNING, NULL);

    check_int(after->count, 600);
    for (size_t i = 0; i < after->count; i++) {
        check_int(after->rows[i].id, before->rows[i * PARTITIONS].id);
        check_int(after->rows[i].number, before->rows[i * PARTITIONS].number);
    }
    free(before);
    free(after);
    log_fixture_close(&log_fixture);
}

/* ---- subscribing ------------------------------------------------------------------- */

static void subscribe(void *argument)
{
    struct log_fixture *log_fixture = argument;
    struct fixture *fixture = log_fixture->fixture;

    check_db(weir_connection_begin(log_fixture->connection, &fixture->error), WEIR_OK);
    log_fixture_execute(log_fixture,
                        "SELECT value FROM {p}_counter WHERE name = 'subscribe'"
                        " LOCK IN SHARE MODE");
    log_fixture_add_subscription(log_fixture, SUBSCRIPTION + 1, DROPPING);
    log_fixture_set_position(log_fixture, SUBSCRIPTION + 1, weir_pid(DROPPING, 0),
                             BEGINNING);
    check_db(weir_connection_commit(log_fixture->connection, &fixture->error), WEIR_OK);
}

static struct log_fixture open_dropping(struct fixture *fixture)
{
    struct log_fixture log_fixture = log_fixture_open(fixture);

    log_fixture_add_queue(&log_fixture, DROPPING, 1);
    log_fixture_append(&log_fixture, 100, DROPPING, 1);
    log_fixture_advance(&log_fixture);
    return log_fixture;
}

/* Between the look and the lock. */
OUTBOX_MARIADB_TEST(sweep, keeps_everything_for_a_subscription_that_begins_meanwhile)
{
    struct weir_fault_points points;
    struct log_fixture log_fixture = open_dropping(fixture);
    struct weir_sweep_report report;

    weir_fault_points_init(&points);
    weir_fault_points_arm_call(&points, "sweep lock", 1, subscribe, &log_fixture);
    report = step_with(&log_fixture, &points);

    check_int(report.removed, 0);
    check_int(rows_of_log(fixture), 100);
    check_int(begin_of_log(fixture), 0);
    log_fixture_close(&log_fixture);
}

static bool could_subscribe;

static void try_to_subscribe(void *argument)
{
    could_subscribe =
        fixture_is_free(argument, "SELECT value FROM weir_counter"
                                  " WHERE name = 'subscribe' LOCK IN SHARE MODE NOWAIT");
}

OUTBOX_MARIADB_TEST(sweep, lets_nobody_subscribe_while_it_removes)
{
    static const char *const STATEMENTS[] = {"sweep floors", "sweep removed",
                                             "sweep move begin"};

    for (size_t i = 0; i < sizeof STATEMENTS / sizeof STATEMENTS[0]; i++) {
        struct weir_fault_points points;
        struct log_fixture log_fixture = open_dropping(fixture);

        weir_fault_points_init(&points);
        weir_fault_points_arm_call(&points, STATEMENTS[i], i == 0 ? 2 : 1,
                                   try_to_subscribe, fixture);
        could_subscribe = true;
        check_int(step_with(&log_fixture, &points).removed, 100);

        check(!could_subscribe);
        log_fixture_execute(&log_fixture, "DELETE FROM {p}_queue");
        log_fixture_close(&log_fixture);
    }
}

OUTBOX_MARIADB_TEST(sweep, leaves_everything_while_a_subscription_is_being_made)
{
    struct log_fixture log_fixture = open_dropping(fixture);
    struct weir_connection *subscriber = fixture_take(fixture);
    struct weir_sweep_state state = {0};
    struct weir_sweep_report report;

    check_db(weir_connection_begin(subscriber, &fixture->error), WEIR_OK);
    fixture_execute(fixture, subscriber,
                    "SELECT value FROM {p}_counter WHERE name = 'subscribe'"
                    " LOCK IN SHARE MODE");
    check_db(log_fixture.log.ops->sweep(&log_fixture.log, fixture->db, &state, &report,
                                        &fixture->error),
             WEIR_OK);

    check(!report.more);
    check_int(rows_of_log(fixture), 100);
    weir_connection_rollback(subscriber);
    log_fixture_sweep(&log_fixture);
    check_int(rows_of_log(fixture), 0);
    fixture_give(fixture, subscriber);
    log_fixture_close(&log_fixture);
}

/* ---- others ------------------------------------------------------------------------ */

static void sweep_all(void *argument)
{
    log_fixture_sweep(argument);
}

static void check_two_sweeps(struct fixture *fixture, const char *statement, uint64_t at)
{
    struct weir_fault_points points;
    struct log_fixture log_fixture = open_swept(fixture);
    struct seen *left;

    pass(&log_fixture, append(&log_fixture, 5000));
    log_fixture_set_position(&log_fixture, SUBSCRIPTION, weir_pid(QUEUE, 2),
                             (struct weir_log_position){0, 4990});
    weir_fault_points_init(&points);
    weir_fault_points_arm_call(&points, statement, at, sweep_all, &log_fixture);
    (void)step_with(&log_fixture, &points);
    log_fixture_sweep(&log_fixture);

    left = log_fixture_read(&log_fixture, BEGINNING, NULL);
    check_int(left->count, 1);
    check_int(left->rows[0].log_position.id, 4995);
    check_int(begin_of_log(fixture), 4994);
    free(left);
    log_fixture_close(&log_fixture);
}

OUTBOX_MARIADB_TEST(sweep, is_harmless_when_another_has_swept_since_it_began)
{
    check_two_sweeps(fixture, "sweep window", 1);
}

OUTBOX_MARIADB_TEST(sweep, is_harmless_when_another_has_swept_since_it_looked)
{
    check_two_sweeps(fixture, "sweep lock", 1);
}

/* A read view may show a move and not the one before it (mariadb/log.h, M2). What comes
 * while it is made is left alone, or rows between would be deleted that nobody has
 * looked at. */
static void append_and_pass(void *argument)
{
    pass(argument, append(argument, 100));
}

OUTBOX_MARIADB_TEST(sweep, leaves_what_came_since_it_has_the_lock)
{
    struct weir_fault_points points;
    struct log_fixture log_fixture = open_swept(fixture);

    pass(&log_fixture, append(&log_fixture, 100));
    weir_fault_points_init(&points);
    weir_fault_points_arm_call(&points, "sweep window", 2, append_and_pass, &log_fixture);

    check_int(step_with(&log_fixture, &points).removed, 100);
    check_int(rows_of_log(fixture), 100);
    log_fixture_sweep(&log_fixture);
    check_int(rows_of_log(fixture), 0);
    log_fixture_close(&log_fixture);
}
