/*
 * What is special about the log on MariaDB: messages that wait in `incoming` until they
 * are moved, in transactions that commit in another order than they took their numbers
 * in; eras, and sessions of the application's in which we do not append.
 */
#include <stdlib.h>

#include "base/fault_point.h"
#include "contract/outbox/log/log_fixture.h"
#include "db/db.h"
#include "kit/outbox/outbox_application.h"

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
static void append_in(struct log_fixture *log_fixture, struct weir_connection *connection,
                      size_t count)
{
    struct fixture *fixture = log_fixture->fixture;
    struct weir_log_entry *entries = log_fixture_draft(log_fixture, count, QUEUE, 1);

    check_db(log_fixture_try_append(log_fixture, connection, entries, count), WEIR_OK);
    log_fixture_forget(entries);
}

/* Everything is moved and read: these numbers, ended by 0. */
static void check_reads(struct log_fixture *log_fixture, const int64_t *numbers)
{
    struct seen *seen;
    size_t count = 0;

    log_fixture_advance(log_fixture);
    seen = log_fixture_read(log_fixture, BEGINNING, NULL);
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

/* ---- moving ------------------------------------------------------------------------ */

LOG_MARIADB_TEST(move, gives_a_message_that_commits_late_a_later_place)
{
    struct weir_connection *slow = begin(fixture);

    append_in(log_fixture, slow, 1);
    log_fixture_append(log_fixture, 1, QUEUE, 1);
    check_reads(log_fixture, NUMBERS(2));
    commit(fixture, slow);

    check_reads(log_fixture, NUMBERS(2, 1));
}

LOG_MARIADB_TEST(move, keeps_the_order_in_which_messages_were_enqueued)
{
    struct weir_connection *slow = begin(fixture);

    append_in(log_fixture, slow, 1);
    log_fixture_append(log_fixture, 1, QUEUE, 1);
    append_in(log_fixture, slow, 1);
    commit(fixture, slow);

    check_reads(log_fixture, NUMBERS(1, 2, 3));
}

LOG_MARIADB_TEST(move, leaves_nothing_of_what_was_rolled_back)
{
    struct weir_connection *connection = begin(fixture);

    append_in(log_fixture, connection, 20);
    log_fixture_append(log_fixture, 1, QUEUE, 1);
    weir_connection_rollback(connection);
    fixture_give(fixture, connection);
    log_fixture_append(log_fixture, 1, QUEUE, 1);

    check_reads(log_fixture, NUMBERS(21, 22));
}

/* Ranges and lists, in one move. */
OUTBOX_MARIADB_TEST(move, takes_long_and_short_runs_in_their_order)
{
    static const size_t SIZES[] = {1, 40, 3, 12, 11, 1, 200, 2};
    struct log_fixture log_fixture = log_fixture_open(fixture);
    struct seen *seen;

    for (size_t i = 0; i < sizeof SIZES / sizeof SIZES[0]; i++)
        log_fixture_append(&log_fixture, SIZES[i], QUEUE, 4);
    log_fixture_advance(&log_fixture);
    seen = log_fixture_read(&log_fixture, BEGINNING, NULL);

    check_int(seen->count, 270);
    for (size_t i = 0; i < seen->count; i++) {
        check_int(seen->rows[i].number, i + 1);
        check_int(seen->rows[i].log_position.id, i + 1);
    }
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_incoming"), 0);
    free(seen);
    log_fixture_close(&log_fixture);
}

LOG_MARIADB_TEST(move, of_more_than_one_step_loses_nothing)
{
    struct seen *seen;

    log_fixture_append(log_fixture, 9001, QUEUE, 4);
    log_fixture_advance(log_fixture);
    seen = log_fixture_read(log_fixture, BEGINNING, NULL);

    check_int(seen->count, 9001);
    check_int(seen->rows[9000].number, 9001);
    free(seen);
}

LOG_MARIADB_TEST(move, is_not_made_by_those_who_may_not)
{
    struct weir_log_position head = {0, 7};
    bool moved = true;

    log_fixture_append(log_fixture, 1, QUEUE, 1);
    check_db(log_fixture->log.ops->advance(&log_fixture->log, log_fixture->connection,
                                           BEGINNING, false, NULL, &head, &moved,
                                           &fixture->error),
             WEIR_OK);

    check_int(head.id, 0);
    check(!moved);
}

/* Neither behind what it moves nor before it, by range or by list. */
OUTBOX_MARIADB_TEST(move, waits_for_no_transaction_that_is_open)
{
    static const size_t SIZES[] = {20, 3, 40};
    struct log_fixture log_fixture = log_fixture_open(fixture);
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
        append_in(&log_fixture, open[i], i % 2 == 0 ? 1 : 30);
        if (i < 3)
            log_fixture_append(&log_fixture, SIZES[i], QUEUE, 1);
    }
    check_db(log_fixture.log.ops->advance(&log_fixture.log, connection, BEGINNING, true,
                                          NULL, &head, &moved, &fixture->error),
             WEIR_OK);

    check_int(head.id, 63);
    for (int i = 0; i < 4; i++)
        commit(fixture, open[i]);
    check_int(log_fixture_advance(&log_fixture).id, 63 + 62);
    weir_db_release(hasty, connection);
    weir_db_destroy(hasty);
    log_fixture_close(&log_fixture);
}

/* ---- what a statement sees --------------------------------------------------------- */

/*
 * A read view is made while transactions end, and may show a later one and not an
 * earlier one. So neither a move nor a page has anything that may have come while its
 * read view was made.
 */
static void append_beside(void *argument)
{
    struct log_fixture *log_fixture = argument;
    struct weir_connection *connection = begin(log_fixture->fixture);

    append_in(log_fixture, connection, 1);
    commit(log_fixture->fixture, connection);
}

LOG_MARIADB_TEST(move, leaves_what_came_since_it_began_to_the_next)
{
    struct weir_fault_points points;
    struct weir_log_position head;
    bool moved;

    weir_fault_points_init(&points);
    weir_fault_points_arm_call(&points, "move.pick", 1, append_beside, log_fixture);
    log_fixture->log.points = &points;
    log_fixture_append(log_fixture, 3, QUEUE, 1);
    check_db(log_fixture->log.ops->advance(&log_fixture->log, log_fixture->connection,
                                           BEGINNING, true, NULL, &head, &moved,
                                           &fixture->error),
             WEIR_OK);

    check_int(head.id, 3);
    check_reads(log_fixture, NUMBERS(1, 2, 3, 4));
}

static void move_beside(void *argument)
{
    struct log_fixture *log_fixture = argument;
    struct log_fixture other = log_fixture_open(log_fixture->fixture);

    append_beside(log_fixture);
    log_fixture_advance(&other);
    log_fixture_close(&other);
}

LOG_MARIADB_TEST(page, ends_at_the_head_from_before_it_was_read)
{
    struct weir_fault_points points;
    struct seen *seen;

    log_fixture_append(log_fixture, 3, QUEUE, 1);
    log_fixture_advance(log_fixture);
    weir_fault_points_init(&points);
    weir_fault_points_arm_call(&points, "read.lay_out", 1, move_beside, log_fixture);
    log_fixture->log.points = &points;
    seen = log_fixture_read(log_fixture, BEGINNING, NULL);

    check_int(seen->count, 3);
    free(seen);
    check_reads(log_fixture, NUMBERS(1, 2, 3, 4));
}

/* ---- on disk ----------------------------------------------------------------------- */

/* Others see a commit before it is flushed, and a server may die in between. */
LOG_MARIADB_TEST(page, has_nothing_that_was_not_published)
{
    struct seen *seen;

    log_fixture_append(log_fixture, 3, QUEUE, 1);
    log_fixture_advance(log_fixture);
    fixture_prepare(fixture, "UPDATE {p}_counter SET value = 2 WHERE name = 'published'");
    seen = log_fixture_read(log_fixture, BEGINNING, NULL);

    check_int(seen->count, 2);
    check_int(seen->end.id, 2);
    free(seen);
}

static void look_beside(void *argument)
{
    struct log_fixture *log_fixture = argument;
    struct log_fixture other = log_fixture_open(log_fixture->fixture);
    struct seen *seen = log_fixture_read(&other, BEGINNING, NULL);

    check_int(seen->count, 0);
    free(seen);
    log_fixture_close(&other);
}

LOG_MARIADB_TEST(move, is_published_when_its_commit_has_returned)
{
    struct weir_fault_points points;

    weir_fault_points_init(&points);
    weir_fault_points_arm_call(&points, "move.moved", 1, look_beside, log_fixture);
    log_fixture->log.points = &points;
    log_fixture_append(log_fixture, 3, QUEUE, 1);

    check_reads(log_fixture, NUMBERS(1, 2, 3));
}

/* Who moved it has died. */
LOG_MARIADB_TEST(move, that_nobody_published_is_published_by_the_next_who_looks)
{
    struct weir_log_position head;
    bool moved = false;

    log_fixture_append(log_fixture, 3, QUEUE, 1);
    log_fixture_advance(log_fixture);
    fixture_prepare(fixture, "UPDATE {p}_counter SET value = 0 WHERE name = 'published'");
    check_db(log_fixture->log.ops->advance(&log_fixture->log, log_fixture->connection,
                                           BEGINNING, false, NULL, &head, &moved,
                                           &fixture->error),
             WEIR_OK);
    check_int(head.id, 0);
    check(!moved);
    check_db(log_fixture->log.ops->advance(&log_fixture->log, log_fixture->connection,
                                           BEGINNING, true, NULL, &head, &moved,
                                           &fixture->error),
             WEIR_OK);

    check_int(head.id, 3);
    check(moved);
    check_int(
        fixture_ask(fixture, "SELECT value FROM weir_counter WHERE name = 'flushed'"), 1);
    check_reads(log_fixture, NUMBERS(1, 2, 3));
}

/* ---- eras -------------------------------------------------------------------------- */

static struct log_fixture open_with_small_eras(struct fixture *fixture,
                                               struct weir_fault_points *points)
{
    struct log_fixture log_fixture = log_fixture_open(fixture);

    weir_fault_points_init(points);
    weir_fault_points_arm(points, "move.small_era", 1);
    log_fixture.log.points = points;
    return log_fixture;
}

static int64_t count_eras(struct fixture *fixture)
{
    return fixture_ask(fixture, "SELECT count(*) FROM weir_era");
}

/* So many moves, each of which begins an era. */
static void turn_eras(struct log_fixture *log_fixture, int count)
{
    for (int i = 0; i < count; i++) {
        log_fixture_append(log_fixture, 10, QUEUE, 1);
        log_fixture_advance(log_fixture);
    }
}

OUTBOX_MARIADB_TEST(era, ends_when_nothing_is_left_in_it)
{
    struct weir_fault_points points;
    struct log_fixture log_fixture = open_with_small_eras(fixture, &points);

    turn_eras(&log_fixture, 20);

    check(fixture_ask(fixture, "SELECT max(no) FROM weir_era") > 15);
    check(count_eras(fixture) <= 2);
    log_fixture_close(&log_fixture);
}

OUTBOX_MARIADB_TEST(era, stays_while_a_transaction_is_in_it)
{
    struct weir_fault_points points;
    struct log_fixture log_fixture = open_with_small_eras(fixture, &points);
    struct weir_connection *slow = begin(fixture);
    struct seen *seen;

    append_in(&log_fixture, slow, 1);
    turn_eras(&log_fixture, 5);
    check_int(fixture_ask(fixture, "SELECT min(no) FROM weir_era"), 1);
    commit(fixture, slow);
    turn_eras(&log_fixture, 2);

    check(fixture_ask(fixture, "SELECT min(no) FROM weir_era") > 1);
    seen = log_fixture_read(&log_fixture, BEGINNING, NULL);
    check_int(seen->count, 71);
    check_int(seen->rows[50].number, 1);
    free(seen);
    log_fixture_close(&log_fixture);
}

/* By a range, as those of the newest era. */
OUTBOX_MARIADB_TEST(era, that_is_over_gives_its_long_run_in_its_order)
{
    struct weir_fault_points points;
    struct log_fixture log_fixture = open_with_small_eras(fixture, &points);
    struct weir_connection *slow = begin(fixture);
    struct seen *seen;

    append_in(&log_fixture, slow, 200);
    turn_eras(&log_fixture, 5);
    commit(fixture, slow);
    log_fixture_append(&log_fixture, 20, QUEUE, 1);
    log_fixture_advance(&log_fixture);

    seen = log_fixture_read(&log_fixture, BEGINNING, NULL);
    check_int(seen->count, 270);
    for (size_t i = 0; i < 200; i++)
        check_int(seen->rows[50 + i].number, i + 1);
    for (size_t i = 0; i < seen->count; i++)
        check_int(seen->rows[i].log_position.id, i + 1);
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_incoming"), 0);
    free(seen);
    log_fixture_close(&log_fixture);
}

/* More transactions that stay than there may be eras: the last era goes on. */
OUTBOX_MARIADB_TEST(era, begins_only_while_there_is_room)
{
    struct weir_fault_points points;
    struct log_fixture log_fixture = open_with_small_eras(fixture, &points);
    struct weir_connection *slow[MANY];

    for (int i = 0; i < MANY; i++) {
        slow[i] = begin(fixture);
        append_in(&log_fixture, slow[i], 1);
        turn_eras(&log_fixture, 1);
    }
    check_int(count_eras(fixture), 8);
    for (int i = 0; i < MANY; i++)
        commit(fixture, slow[i]);
    turn_eras(&log_fixture, 3);

    check(count_eras(fixture) <= 3);
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_log"), MANY * 11 + 30);
    log_fixture_close(&log_fixture);
}

/* The snapshot is older than the era; the sequence is not. */
static void append_with_an_old_snapshot(struct fixture *fixture, const char *setting)
{
    struct weir_fault_points points;
    struct log_fixture log_fixture = open_with_small_eras(fixture, &points);
    struct application application = application_start(fixture);
    struct weir_connection *connection;

    application_run(&application,
                    "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ");
    application_run(&application, setting);
    application_run(&application, "START TRANSACTION WITH CONSISTENT SNAPSHOT");
    turn_eras(&log_fixture, 3);
    connection = application_adopt(fixture, &application);
    append_in(&log_fixture, connection, 1);
    append_in(&log_fixture, connection, 3);
    weir_connection_disown(connection);
    application_run(&application, "COMMIT");

    log_fixture_advance(&log_fixture);
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_log"), 34);
    application_stop(&application);
    log_fixture_close(&log_fixture);
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
LOG_MARIADB_TEST(append, leaves_snapshot_isolation_of_the_application_on)
{
    struct application application = application_start(fixture);
    struct weir_connection *connection;

    application_run(&application, "SET SESSION innodb_snapshot_isolation = ON");
    connection = application_adopt(fixture, &application);
    append_in(log_fixture, connection, 1);
    weir_connection_disown(connection);

    check_int(ask(&application, "SELECT @@innodb_snapshot_isolation"), 1);
    application_stop(&application);
}

static void turn_once(void *argument)
{
    struct log_fixture *log_fixture = argument;

    turn_eras(log_fixture, 3);
}

/* Between its number and its rows the era has ended. */
OUTBOX_MARIADB_TEST(append, that_comes_too_late_for_its_era_takes_another)
{
    struct weir_fault_points points;
    struct log_fixture log_fixture = open_with_small_eras(fixture, &points);
    struct weir_fault_points between;
    struct weir_db_options options = fixture_options(fixture);
    struct weir_db *db;
    struct weir_connection *late;

    weir_fault_points_init(&between);
    weir_fault_points_arm_call(&between, "append.numbered", 1, turn_once, &log_fixture);
    db = fixture_open(fixture, &options);
    weir_db_set_fault_points(db, &between);
    check_db(weir_db_acquire(db, &late, &fixture->error), WEIR_OK);
    append_in(&log_fixture, late, 1);
    weir_db_release(db, late);
    weir_db_destroy(db);

    log_fixture_advance(&log_fixture);
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_log"), 31);
    log_fixture_close(&log_fixture);
}

/* ---- the application's session ----------------------------------------------------- */

/* What it sees is as of its own first read, not of the time when it enqueued. */
LOG_MARIADB_TEST(append, takes_no_snapshot_in_the_applications_transaction)
{
    struct application application = application_start(fixture);
    struct weir_connection *connection;

    fixture_prepare(fixture, "CREATE TABLE t (a INT) ENGINE = InnoDB");
    application_run(&application,
                    "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ");
    application_run(&application, "BEGIN");
    connection = application_adopt(fixture, &application);
    append_in(log_fixture, connection, 1);
    weir_connection_disown(connection);
    fixture_prepare(fixture, "INSERT INTO t VALUES (1)");
    application_run(&application,
                    "SELECT 1 DIV count(*) INTO @seen FROM t"); /* NULL when it is not */
    application_run(&application, "SET @bad = IF(@seen IS NULL, 'x', 'ok')");
    application_run(&application, "INSERT INTO t SELECT 2 WHERE @bad = 'ok'");
    application_run(&application, "COMMIT");

    check_int(fixture_ask(fixture, "SELECT count(*) FROM t"), 2);
    application_stop(&application);
}

static void check_refused(struct fixture *fixture, const char *setting, const char *word)
{
    struct log_fixture log_fixture = log_fixture_open(fixture);
    struct application application = application_start(fixture);
    struct weir_log_entry *entries = log_fixture_draft(&log_fixture, 2, QUEUE, 1);
    struct weir_connection *connection;

    application_run(&application, setting);
    application_run(&application, "BEGIN");
    connection = application_adopt(fixture, &application);
    check_db(log_fixture_try_append(&log_fixture, connection, entries, 2), WEIR_INVALID);
    check(strstr(fixture->error.text, word) != NULL);
    weir_connection_disown(connection);
    application_run(&application, "COMMIT");

    check_int(log_fixture_stored(&log_fixture), 0);
    application_stop(&application);
    log_fixture_forget(entries);
    log_fixture_close(&log_fixture);
}

OUTBOX_MARIADB_TEST(append, is_refused_where_foreign_keys_are_not_checked)
{
    check_refused(fixture, "SET SESSION foreign_key_checks = 0", "foreign_key_checks");
}

OUTBOX_MARIADB_TEST(append, is_refused_where_the_sql_mode_is_not_strict)
{
    check_refused(fixture, "SET SESSION sql_mode = 'ANSI_QUOTES'", "sql_mode");
}
