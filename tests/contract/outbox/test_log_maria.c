/*
 * What is special about the log on MariaDB: messages that wait in `incoming` until they are
 * moved, in transactions that commit in another order than they took their numbers in; eras, and
 * sessions of the application's in which we do not append.
 */
#include <stdlib.h>

#include "base/fault_point.h"
#include "contract/outbox/log_scene.h"
#include "db/db.h"
#include "lib/outbox_application.h"

static const struct weir_log_position BEGINNING = {0, 0};
enum { QUEUE = 1, MANY = 25 };

static struct weir_connection *begin(struct fixture *fixture)
{
    struct weir_connection *connection = fixture_take(fixture);

    check_db(weir_connection_begin(connection, &fixture->error), WEIR_OK);
    return connection;
}

static void commit(struct fixture *fixture, struct weir_connection *connection)
{
    check_db(weir_connection_commit(connection, &fixture->error), WEIR_OK);
    fixture_give(fixture, connection);
}

/* The next `count` messages, in this transaction. */
static void append_in(struct scene *scene, struct weir_connection *connection,
                      size_t count)
{
    struct fixture *fixture = scene->fixture;
    struct weir_log_entry *entries = scene_draft(scene, count, QUEUE, 1);

    check_db(scene_try_append(scene, connection, entries, count), WEIR_OK);
    scene_forget(entries);
}

/* Everything is moved and read: these numbers, ended by 0. */
static void check_reads(struct scene *scene, const int64_t *numbers)
{
    struct seen *seen;
    size_t count = 0;

    scene_advance(scene);
    seen = scene_read(scene, BEGINNING, NULL);
    while (numbers[count] != 0)
        count++;
    check_int(seen->count, count);
    for (size_t i = 0; i < count; i++) {
        check_int(seen->rows[i].number, numbers[i]);
        check_int(seen->rows[i].log_position.id, i + 1); /* without a gap */
    }
    free(seen);
}

#define NUMBERS(...) ((const int64_t[]){__VA_ARGS__, 0})

/* ---- moving ------------------------------------------------------------------------------- */

OUTBOX_MARIADB_TEST(move, gives_a_message_that_commits_late_a_later_place)
{
    struct scene scene = scene_open(fixture);
    struct weir_connection *slow = begin(fixture);

    append_in(&scene, slow, 1);
    scene_append(&scene, 1, QUEUE, 1);
    check_reads(&scene, NUMBERS(2));
    commit(fixture, slow);

    check_reads(&scene, NUMBERS(2, 1));
    scene_close(&scene);
}

OUTBOX_MARIADB_TEST(move, keeps_the_order_in_which_messages_were_enqueued)
{
    struct scene scene = scene_open(fixture);
    struct weir_connection *slow = begin(fixture);

    append_in(&scene, slow, 1);
    scene_append(&scene, 1, QUEUE, 1);
    append_in(&scene, slow, 1);
    commit(fixture, slow);

    check_reads(&scene, NUMBERS(1, 2, 3));
    scene_close(&scene);
}

OUTBOX_MARIADB_TEST(move, leaves_nothing_of_what_was_rolled_back)
{
    struct scene scene = scene_open(fixture);
    struct weir_connection *connection = begin(fixture);

    append_in(&scene, connection, 20);
    scene_append(&scene, 1, QUEUE, 1);
    weir_connection_rollback(connection);
    fixture_give(fixture, connection);
    scene_append(&scene, 1, QUEUE, 1);

    check_reads(&scene, NUMBERS(21, 22));
    scene_close(&scene);
}

/* Ranges and lists, in one move. */
OUTBOX_MARIADB_TEST(move, takes_long_and_short_runs_in_their_order)
{
    static const size_t SIZES[] = {1, 40, 3, 12, 11, 1, 200, 2};
    struct scene scene = scene_open(fixture);
    struct seen *seen;

    for (size_t i = 0; i < sizeof SIZES / sizeof SIZES[0]; i++)
        scene_append(&scene, SIZES[i], QUEUE, 4);
    scene_advance(&scene);
    seen = scene_read(&scene, BEGINNING, NULL);

    check_int(seen->count, 270);
    for (size_t i = 0; i < seen->count; i++) {
        check_int(seen->rows[i].number, i + 1);
        check_int(seen->rows[i].log_position.id, i + 1);
    }
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_incoming"), 0);
    free(seen);
    scene_close(&scene);
}

OUTBOX_MARIADB_TEST(move, of_more_than_one_step_loses_nothing)
{
    struct scene scene = scene_open(fixture);
    struct seen *seen;

    scene_append(&scene, 9001, QUEUE, 4);
    scene_advance(&scene);
    seen = scene_read(&scene, BEGINNING, NULL);

    check_int(seen->count, 9001);
    check_int(seen->rows[9000].number, 9001);
    free(seen);
    scene_close(&scene);
}

OUTBOX_MARIADB_TEST(move, is_not_made_by_those_who_may_not)
{
    struct scene scene = scene_open(fixture);
    struct weir_log_position head = {0, 7};
    bool moved = true;

    scene_append(&scene, 1, QUEUE, 1);
    check_db(scene.log.ops->advance(&scene.log, scene.connection, BEGINNING, false, NULL,
                                    &head, &moved, &fixture->error),
             WEIR_OK);

    check_int(head.id, 0);
    check(!moved);
    scene_close(&scene);
}

/* Neither behind what it moves nor before it, by range or by list. */
OUTBOX_MARIADB_TEST(move, waits_for_no_transaction_that_is_open)
{
    static const size_t SIZES[] = {20, 3, 40};
    struct scene scene = scene_open(fixture);
    struct weir_db_options options = fixture_options(fixture);
    struct weir_connection *open[4];
    struct weir_connection *connection;
    struct weir_log_position head;
    struct weir_db *hasty;
    bool moved;

    options.lock_timeout_ns = WEIR_SECONDS(1);
    hasty = fixture_open(fixture, &options);
    check_db(weir_db_acquire(hasty, &connection, &fixture->error), WEIR_OK);
    for (int i = 0; i < 4; i++) {
        open[i] = begin(fixture);
        append_in(&scene, open[i], i % 2 == 0 ? 1 : 30);
        if (i < 3)
            scene_append(&scene, SIZES[i], QUEUE, 1);
    }
    check_db(scene.log.ops->advance(&scene.log, connection, BEGINNING, true, NULL, &head,
                                    &moved, &fixture->error),
             WEIR_OK);

    check_int(head.id, 63);
    for (int i = 0; i < 4; i++)
        commit(fixture, open[i]);
    check_int(scene_advance(&scene).id, 63 + 62);
    weir_db_release(hasty, connection);
    weir_db_destroy(hasty);
    scene_close(&scene);
}

/* ---- what a statement sees ---------------------------------------------------------------- */

/*
 * A read view is made while transactions end, and may show a later one and not an earlier one. So
 * neither a move nor a page has anything that may have come while its read view was made.
 */
static void append_beside(void *argument)
{
    struct scene *scene = argument;
    struct weir_connection *connection = begin(scene->fixture);

    append_in(scene, connection, 1);
    commit(scene->fixture, connection);
}

OUTBOX_MARIADB_TEST(move, leaves_what_came_since_it_began_to_the_next)
{
    struct scene scene = scene_open(fixture);
    struct weir_fault_points points;
    struct weir_log_position head;
    bool moved;

    weir_fault_points_init(&points);
    weir_fault_points_arm_call(&points, "move.pick", 1, append_beside, &scene);
    scene.log.points = &points;
    scene_append(&scene, 3, QUEUE, 1);
    check_db(scene.log.ops->advance(&scene.log, scene.connection, BEGINNING, true, NULL,
                                    &head, &moved, &fixture->error),
             WEIR_OK);

    check_int(head.id, 3);
    check_reads(&scene, NUMBERS(1, 2, 3, 4));
    scene_close(&scene);
}

static void move_beside(void *argument)
{
    struct scene *scene = argument;
    struct scene other = scene_open(scene->fixture);

    append_beside(scene);
    scene_advance(&other);
    scene_close(&other);
}

OUTBOX_MARIADB_TEST(page, ends_at_the_head_from_before_it_was_read)
{
    struct scene scene = scene_open(fixture);
    struct weir_fault_points points;
    struct seen *seen;

    scene_append(&scene, 3, QUEUE, 1);
    scene_advance(&scene);
    weir_fault_points_init(&points);
    weir_fault_points_arm_call(&points, "read.lay_out", 1, move_beside, &scene);
    scene.log.points = &points;
    seen = scene_read(&scene, BEGINNING, NULL);

    check_int(seen->count, 3);
    free(seen);
    check_reads(&scene, NUMBERS(1, 2, 3, 4));
    scene_close(&scene);
}

/* ---- on disk ------------------------------------------------------------------------------- */

/* Others see a commit before it is flushed, and a server may die in between. */
OUTBOX_MARIADB_TEST(page, has_nothing_that_was_not_published)
{
    struct scene scene = scene_open(fixture);
    struct seen *seen;

    scene_append(&scene, 3, QUEUE, 1);
    scene_advance(&scene);
    fixture_prepare(fixture, "UPDATE {p}_counter SET value = 2 WHERE name = 'published'");
    seen = scene_read(&scene, BEGINNING, NULL);

    check_int(seen->count, 2);
    check_int(seen->end.id, 2);
    free(seen);
    scene_close(&scene);
}

static void look_beside(void *argument)
{
    struct scene *scene = argument;
    struct scene other = scene_open(scene->fixture);
    struct seen *seen = scene_read(&other, BEGINNING, NULL);

    check_int(seen->count, 0);
    free(seen);
    scene_close(&other);
}

OUTBOX_MARIADB_TEST(move, is_published_when_its_commit_has_returned)
{
    struct scene scene = scene_open(fixture);
    struct weir_fault_points points;

    weir_fault_points_init(&points);
    weir_fault_points_arm_call(&points, "move.moved", 1, look_beside, &scene);
    scene.log.points = &points;
    scene_append(&scene, 3, QUEUE, 1);

    check_reads(&scene, NUMBERS(1, 2, 3));
    scene_close(&scene);
}

/* Who moved it has died. */
OUTBOX_MARIADB_TEST(move, that_nobody_published_is_published_by_the_next_who_looks)
{
    struct scene scene = scene_open(fixture);
    struct weir_log_position head;
    bool moved = false;

    scene_append(&scene, 3, QUEUE, 1);
    scene_advance(&scene);
    fixture_prepare(fixture, "UPDATE {p}_counter SET value = 0 WHERE name = 'published'");
    check_db(scene.log.ops->advance(&scene.log, scene.connection, BEGINNING, false, NULL,
                                    &head, &moved, &fixture->error),
             WEIR_OK);
    check_int(head.id, 0);
    check(!moved);
    check_db(scene.log.ops->advance(&scene.log, scene.connection, BEGINNING, true, NULL,
                                    &head, &moved, &fixture->error),
             WEIR_OK);

    check_int(head.id, 3);
    check(moved);
    check_int(
        fixture_ask(fixture, "SELECT value FROM weir_counter WHERE name = 'flushed'"), 1);
    check_reads(&scene, NUMBERS(1, 2, 3));
    scene_close(&scene);
}

/* ---- eras --------------------------------------------------------------------------------- */

static struct scene open_with_small_eras(struct fixture *fixture,
                                         struct weir_fault_points *points)
{
    struct scene scene = scene_open(fixture);

    weir_fault_points_init(points);
    weir_fault_points_arm(points, "move.small_era", 1);
    scene.log.points = points;
    return scene;
}

static int64_t count_eras(struct fixture *fixture)
{
    return fixture_ask(fixture, "SELECT count(*) FROM weir_era");
}

/* So many moves, each of which begins an era. */
static void turn_eras(struct scene *scene, int count)
{
    for (int i = 0; i < count; i++) {
        scene_append(scene, 10, QUEUE, 1);
        scene_advance(scene);
    }
}

OUTBOX_MARIADB_TEST(era, ends_when_nothing_is_left_in_it)
{
    struct weir_fault_points points;
    struct scene scene = open_with_small_eras(fixture, &points);

    turn_eras(&scene, 20);

    check(fixture_ask(fixture, "SELECT max(no) FROM weir_era") > 15);
    check(count_eras(fixture) <= 2);
    scene_close(&scene);
}

OUTBOX_MARIADB_TEST(era, stays_while_a_transaction_is_in_it)
{
    struct weir_fault_points points;
    struct scene scene = open_with_small_eras(fixture, &points);
    struct weir_connection *slow = begin(fixture);
    struct seen *seen;

    append_in(&scene, slow, 1);
    turn_eras(&scene, 5);
    check_int(fixture_ask(fixture, "SELECT min(no) FROM weir_era"), 1);
    commit(fixture, slow);
    turn_eras(&scene, 2);

    check(fixture_ask(fixture, "SELECT min(no) FROM weir_era") > 1);
    seen = scene_read(&scene, BEGINNING, NULL);
    check_int(seen->count, 71);
    check_int(seen->rows[50].number, 1);
    free(seen);
    scene_close(&scene);
}

/* More transactions that stay than there may be eras: the last era goes on. */
OUTBOX_MARIADB_TEST(era, begins_only_while_there_is_room)
{
    struct weir_fault_points points;
    struct scene scene = open_with_small_eras(fixture, &points);
    struct weir_connection *slow[MANY];

    for (int i = 0; i < MANY; i++) {
        slow[i] = begin(fixture);
        append_in(&scene, slow[i], 1);
        turn_eras(&scene, 1);
    }
    check_int(count_eras(fixture), 8);
    for (int i = 0; i < MANY; i++)
        commit(fixture, slow[i]);
    turn_eras(&scene, 3);

    check(count_eras(fixture) <= 3);
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_log"), MANY * 11 + 30);
    scene_close(&scene);
}

/* The snapshot is older than the era; the sequence is not. */
static void append_with_an_old_snapshot(struct fixture *fixture, const char *setting)
{
    struct weir_fault_points points;
    struct scene scene = open_with_small_eras(fixture, &points);
    struct application application = application_start(fixture);
    struct weir_connection *connection;

    application_run(&application,
                    "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ");
    application_run(&application, setting);
    application_run(&application, "START TRANSACTION WITH CONSISTENT SNAPSHOT");
    turn_eras(&scene, 3);
    connection = application_adopt(fixture, &application);
    append_in(&scene, connection, 1);
    append_in(&scene, connection, 3);
    weir_connection_disown(connection);
    application_run(&application, "COMMIT");

    scene_advance(&scene);
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_log"), 34);
    application_stop(&application);
    scene_close(&scene);
}

OUTBOX_MARIADB_TEST(append, in_a_transaction_with_an_old_snapshot_finds_the_era)
{
    append_with_an_old_snapshot(fixture, "SET SESSION innodb_snapshot_isolation = OFF");
}

OUTBOX_MARIADB_TEST(append, with_an_old_snapshot_ignores_snapshot_isolation)
{
    append_with_an_old_snapshot(fixture, "SET SESSION innodb_snapshot_isolation = ON");
}

static long long ask(struct application *application, const char *sql)
{
    MYSQL_RES *result;
    long long value;

    check_int(mysql_query(application->mariadb, sql), 0);
    result = mysql_store_result(application->mariadb);
    value = atoll(mysql_fetch_row(result)[0]);
    mysql_free_result(result);
    return value;
}

/* The setting belongs to the application, also behind an append. */
OUTBOX_MARIADB_TEST(append, leaves_snapshot_isolation_of_the_application_on)
{
    struct scene scene = scene_open(fixture);
    struct application application = application_start(fixture);
    struct weir_connection *connection;

    application_run(&application, "SET SESSION innodb_snapshot_isolation = ON");
    connection = application_adopt(fixture, &application);
    append_in(&scene, connection, 1);
    weir_connection_disown(connection);

    check_int(ask(&application, "SELECT @@innodb_snapshot_isolation"), 1);
    application_stop(&application);
    scene_close(&scene);
}

static void turn_once(void *argument)
{
    struct scene *scene = argument;

    turn_eras(scene, 3);
}

/* Between its number and its rows the era has ended. */
OUTBOX_MARIADB_TEST(append, that_comes_too_late_for_its_era_takes_another)
{
    struct weir_fault_points points;
    struct scene scene = open_with_small_eras(fixture, &points);
    struct weir_fault_points between;
    struct weir_db_options options = fixture_options(fixture);
    struct weir_db *db;
    struct weir_connection *late;

    weir_fault_points_init(&between);
    weir_fault_points_arm_call(&between, "append.numbered", 1, turn_once, &scene);
    db = fixture_open(fixture, &options);
    weir_db_set_fault_points(db, &between);
    check_db(weir_db_acquire(db, &late, &fixture->error), WEIR_OK);
    append_in(&scene, late, 1);
    weir_db_release(db, late);
    weir_db_destroy(db);

    scene_advance(&scene);
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_log"), 31);
    scene_close(&scene);
}

/* ---- the application's session ------------------------------------------------------------ */

/* What it sees is as of its own first read, not of the time when it enqueued. */
OUTBOX_MARIADB_TEST(append, takes_no_snapshot_in_the_applications_transaction)
{
    struct scene scene = scene_open(fixture);
    struct application application = application_start(fixture);
    struct weir_connection *connection;

    fixture_prepare(fixture, "CREATE TABLE t (a INT) ENGINE = InnoDB");
    application_run(&application,
                    "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ");
    application_run(&application, "BEGIN");
    connection = application_adopt(fixture, &application);
    append_in(&scene, connection, 1);
    weir_connection_disown(connection);
    fixture_prepare(fixture, "INSERT INTO t VALUES (1)");
    application_run(&application,
                    "SELECT 1 DIV count(*) INTO @seen FROM t"); /* NULL when it is not */
    application_run(&application, "SET @bad = IF(@seen IS NULL, 'x', 'ok')");
    application_run(&application, "INSERT INTO t SELECT 2 WHERE @bad = 'ok'");
    application_run(&application, "COMMIT");

    check_int(fixture_ask(fixture, "SELECT count(*) FROM t"), 2);
    application_stop(&application);
    scene_close(&scene);
}

static void check_refused(struct fixture *fixture, const char *setting, const char *word)
{
    struct scene scene = scene_open(fixture);
    struct application application = application_start(fixture);
    struct weir_log_entry *entries = scene_draft(&scene, 2, QUEUE, 1);
    struct weir_connection *connection;

    application_run(&application, setting);
    application_run(&application, "BEGIN");
    connection = application_adopt(fixture, &application);
    check_db(scene_try_append(&scene, connection, entries, 2), WEIR_INVALID);
    check(strstr(fixture->error.text, word) != NULL);
    weir_connection_disown(connection);
    application_run(&application, "COMMIT");

    check_int(scene_stored(&scene), 0);
    application_stop(&application);
    scene_forget(entries);
    scene_close(&scene);
}

OUTBOX_MARIADB_TEST(append, is_refused_where_foreign_keys_are_not_checked)
{
    check_refused(fixture, "SET SESSION foreign_key_checks = 0", "foreign_key_checks");
}

OUTBOX_MARIADB_TEST(append, is_refused_where_the_sql_mode_is_not_strict)
{
    check_refused(fixture, "SET SESSION sql_mode = 'ANSI_QUOTES'", "sql_mode");
}
