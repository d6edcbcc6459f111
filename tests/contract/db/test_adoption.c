/*
 * Working inside the application's own transaction, on its own connection, and leaving
 * no trace but what was asked for.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <libpq-fe.h>
#include <mysql.h>
#include <sqlite3.h>

#include "kit/db/named_items.h"
#include "kit/db/rows_time.h"

enum { TEXT_SIZE = 64 * 1024 };

static const struct weir_sql SQL_NAME = {
    .name = "name",
    .text = "SELECT name FROM {p}_item WHERE id = {1}",
    .parameters = "i",
};

/* The application: it knows nothing of weir but that it may borrow its handle. */
struct application {
    enum weir_engine engine;
    sqlite3 *sqlite;
    PGconn *postgresql;
    MYSQL *mariadb;
};

static struct application start(struct fixture *fixture);
static void stop(struct application *self);
static bool try_run(struct application *self, const char *sql);
static void run(struct application *self, const char *sql);
static void ask(struct application *self, const char *sql, char *out, size_t size);
static bool in_transaction(struct application *self);
static struct weir_connection *adopt(struct fixture *fixture, struct application *self);

/* ---- whose transaction it is ------------------------------------------------------- */

ENGINE_TEST(adoption, writes_what_appears_when_the_application_commits)
{
    struct application application = start(fixture);
    struct weir_connection *connection;

    run(&application, "BEGIN");
    run(&application, "INSERT INTO weir_item VALUES (1, 'the application''s')");
    connection = adopt(fixture, &application);
    add(fixture, connection, 2, "ours");
    weir_connection_disown(connection);
    run(&application, "INSERT INTO weir_item VALUES (3, 'the application''s')");
    check(in_transaction(&application));
    check_int(seen_by_others(fixture), 0);

    run(&application, "COMMIT");

    check_int(seen_by_others(fixture), 3);
    stop(&application);
}

ENGINE_TEST(adoption, writes_what_never_appears_when_the_application_rolls_back)
{
    struct application application = start(fixture);
    struct weir_connection *connection;

    run(&application, "BEGIN");
    connection = adopt(fixture, &application);
    add(fixture, connection, 2, "ours");
    weir_connection_disown(connection);
    run(&application, "ROLLBACK");

    check_int(seen_by_others(fixture), 0);
    check(fixture_is_free(fixture, "DELETE FROM weir_item"));
    stop(&application);
}

/* The application may also end its transaction while it is adopted, and begin another. */
ENGINE_TEST(adoption, lasts_over_several_transactions)
{
    struct application application = start(fixture);
    struct weir_connection *connection = adopt(fixture, &application);

    for (int64_t id = 1; id <= 10; id++) {
        run(&application, "BEGIN");
        check_int(weir_connection_transaction(connection), WEIR_TRANSACTION_OPEN);
        add(fixture, connection, id, "ours");
        run(&application, id % 2 == 0 ? "COMMIT" : "ROLLBACK");
        check_int(weir_connection_transaction(connection), WEIR_TRANSACTION_NONE);
        check_int(seen_by_others(fixture), id / 2);
    }
    weir_connection_disown(connection);
    stop(&application);
}

ENGINE_TEST(adoption, outside_of_a_transaction_writes_at_once)
{
    struct application application = start(fixture);
    struct weir_connection *connection = adopt(fixture, &application);

    add(fixture, connection, 1, "ours");

    check_int(seen_by_others(fixture), 1);
    check(!in_transaction(&application));
    weir_connection_disown(connection);
    stop(&application);
}

/* ---- errors ------------------------------------------------------------------------ */

ENGINE_TEST(adoption, keeps_the_transaction_usable_after_an_error_of_ours)
{
    struct application application = start(fixture);
    struct weir_connection *connection;

    run(&application, "BEGIN");
    run(&application, "INSERT INTO weir_item VALUES (1, 'the application''s')");
    connection = adopt(fixture, &application);
    for (int i = 0; i < 3; i++) {
        check_db(weir_connection_savepoint(connection, &fixture->error), WEIR_OK);
        add(fixture, connection, 2, "ours");
        check_db(try_add(fixture, connection, 1, "ours"), WEIR_CONSTRAINT);
        check_db(weir_connection_savepoint_undo(connection, &fixture->error), WEIR_OK);
    }
    check_db(weir_connection_savepoint(connection, &fixture->error), WEIR_OK);
    add(fixture, connection, 4, "ours");
    check_db(weir_connection_savepoint_keep(connection, &fixture->error), WEIR_OK);
    weir_connection_disown(connection);
    run(&application, "INSERT INTO weir_item VALUES (8, 'the application''s')");
    run(&application, "COMMIT");

    check_int(fixture_ask(fixture, "SELECT sum(id) FROM weir_item"), 1 + 4 + 8);
    stop(&application);
}

/* The application's savepoints are around ours, whatever their names. */
ENGINE_TEST(adoption, respects_the_savepoints_of_the_application)
{
    struct application application = start(fixture);
    struct weir_connection *connection;

    run(&application, "BEGIN");
    run(&application, "SAVEPOINT theirs");
    connection = adopt(fixture, &application);
    check_db(weir_connection_savepoint(connection, &fixture->error), WEIR_OK);
    add(fixture, connection, 1, "ours");
    check_db(weir_connection_savepoint_keep(connection, &fixture->error), WEIR_OK);
    run(&application, "ROLLBACK TO SAVEPOINT theirs");
    add(fixture, connection, 2, "ours");
    weir_connection_disown(connection);
    run(&application, "RELEASE SAVEPOINT theirs");
    run(&application, "COMMIT");

    check_int(fixture_ask(fixture, "SELECT sum(id) FROM weir_item"), 2);
    stop(&application);
}

/* A value that does not fit is refused before the application's transaction hears of
 * it. */
ENGINE_TEST(adoption, does_not_trouble_the_transaction_with_bad_input)
{
    struct application application = start(fixture);
    struct weir_connection *connection;

    run(&application, "BEGIN");
    connection = adopt(fixture, &application);
    check_db(try_add(fixture, connection, 1, "bad \xff"), WEIR_INVALID);
    weir_connection_disown(connection);
    run(&application, "INSERT INTO weir_item VALUES (1, 'the application''s')");
    run(&application, "COMMIT");

    check_int(seen_by_others(fixture), 1);
    stop(&application);
}

/* Then the transaction is doomed whatever we do, and the status says so. */
SQLITE_TEST(adoption, tells_that_a_snapshot_is_too_old_to_write)
{
    struct application application = start(fixture);
    struct weir_connection *connection;
    char text[32];

    run(&application, "BEGIN");
    ask(&application, "SELECT count(*) FROM weir_item", text, sizeof text);
    fixture_prepare(fixture, "INSERT INTO {p}_item VALUES (1, 'somebody else''s')");
    connection = adopt(fixture, &application);
    check_db(try_add(fixture, connection, 2, "ours"), WEIR_CONFLICT);
    weir_connection_disown(connection);
    run(&application, "ROLLBACK");

    check_int(seen_by_others(fixture), 1);
    stop(&application);
}

POSTGRESQL_TEST(adoption, tells_that_a_snapshot_is_too_old_to_write)
{
    static const struct weir_sql SQL_RENAME = {.name = "rename",
                                               .text = "UPDATE {p}_item SET name = 'x'"};
    struct application application = start(fixture);
    struct weir_connection *connection;
    char text[32];

    run(&application, "INSERT INTO weir_item VALUES (1, 'one')");
    run(&application, "BEGIN ISOLATION LEVEL REPEATABLE READ");
    ask(&application, "SELECT count(*) FROM weir_item", text, sizeof text);
    fixture_prepare(fixture, "UPDATE {p}_item SET name = 'somebody else''s'");
    connection = adopt(fixture, &application);
    check_db(weir_connection_execute(connection, &SQL_RENAME, NO_VALUES, NULL,
                                     &fixture->error),
             WEIR_CONFLICT);
    check_int(weir_connection_transaction(connection), WEIR_TRANSACTION_FAILED);
    weir_connection_disown(connection);
    run(&application, "ROLLBACK");
    stop(&application);
}

/* ---- no trace ---------------------------------------------------------------------- */

/* Everything the session has, one setting a line. */
static void describe_session(struct application *self, char *out, size_t size)
{
    static const char *const PRAGMAS[] = {"application_id",
                                          "auto_vacuum",
                                          "automatic_index",
                                          "busy_timeout",
                                          "cache_size",
                                          "cache_spill",
                                          "cell_size_check",
                                          "checkpoint_fullfsync",
                                          "defer_foreign_keys",
                                          "foreign_keys",
                                          "fullfsync",
                                          "ignore_check_constraints",
                                          "journal_mode",
                                          "journal_size_limit",
                                          "legacy_alter_table",
                                          "locking_mode",
                                          "mmap_size",
                                          "query_only",
                                          "read_uncommitted",
                                          "recursive_triggers",
                                          "reverse_unordered_selects",
                                          "secure_delete",
                                          "synchronous",
                                          "temp_store",
                                          "trusted_schema",
                                          "user_version",
                                          "wal_autocheckpoint",
                                          "writable_schema"};
    size_t used = 0;

    if (self->engine == WEIR_POSTGRESQL) {
        ask(self,
            "SELECT string_agg(name || '=' || setting, E'\\n' ORDER BY name) FROM "
            "(SELECT name, setting FROM pg_settings UNION ALL "
            "SELECT 'prepared ' || name, statement FROM pg_prepared_statements UNION ALL "
            "SELECT 'cursor ' || name, statement FROM pg_cursors) s",
            out, size);
        return;
    }
    if (self->engine == WEIR_MARIADB) {
        ask(self,
            "SELECT group_concat(concat(variable_name, '=', variable_value) "
            "ORDER BY variable_name SEPARATOR '\\n') FROM "
            "information_schema.session_variables WHERE variable_name NOT IN "
            "('TIMESTAMP', 'LAST_INSERT_ID', 'INSERT_ID', 'IDENTITY', 'RAND_SEED1', "
            "'RAND_SEED2', 'ERROR_COUNT', 'WARNING_COUNT', 'LAST_GTID', "
            "'GTID_CURRENT_POS', "
            "'GTID_BINLOG_POS', 'GTID_BINLOG_STATE')",
            out, size);
        return;
    }
    for (size_t i = 0; i < sizeof PRAGMAS / sizeof PRAGMAS[0]; i++) {
        char sql[64], value[64];
        int length;

        snprintf(sql, sizeof sql, "PRAGMA %s", PRAGMAS[i]);
        ask(self, sql, value, sizeof value);
        length = snprintf(out + used, size - used, "%s=%s\n", PRAGMAS[i], value);
        check(length > 0 && (size_t)length < size - used);
        used += (size_t)length;
    }
}

static void use_everything(struct fixture *fixture, struct weir_connection *connection)
{
    const struct weir_value values[] = {weir_integer(101), weir_text(weir_str("a")),
                                        weir_integer(102), weir_text(weir_str("b"))};
    struct weir_step steps[] = {
        {.sql = &SQL_ADD, .values = values, .value_count = 2},
        {.sql = &SQL_ADD, .values = values + 2, .value_count = 2},
    };
    struct weir_rows rows;
    int64_t number;

    check_db(weir_connection_execute_steps(connection, steps, 2, &fixture->error),
             WEIR_OK);
    if (fixture->engine != WEIR_POSTGRESQL) {
        const struct weir_value many[] = {weir_integer(103), weir_text(weir_str("c")),
                                          weir_integer(104), weir_null()};

        check_db(weir_connection_execute_many(connection, &SQL_ADD, many, 2, 2, NULL,
                                              &fixture->error),
                 WEIR_OK);
    }
    check_db(weir_connection_savepoint(connection, &fixture->error), WEIR_OK);
    check_db(try_add(fixture, connection, 101, "again"), WEIR_CONSTRAINT);
    check_db(weir_connection_savepoint_undo(connection, &fixture->error), WEIR_OK);
    for (int i = 0; i < 3; i++) {
        check_db(weir_connection_query(connection, &SQL_NAME, VALUES(weir_integer(101)),
                                       &rows, &fixture->error),
                 WEIR_OK);
        check_db(weir_rows_next(&rows, &fixture->error), WEIR_OK);
        weir_rows_close(&rows);
    }
    check_db(weir_connection_query_integer(connection, &SQL_COUNT, NO_VALUES, &number,
                                           &fixture->error),
             WEIR_OK);
    check_db(weir_connection_clock(connection, &number, &fixture->error), WEIR_OK);
}

ENGINE_TEST(adoption, changes_no_setting_and_leaves_nothing_prepared)
{
    struct application application = start(fixture);
    char *before = calloc(1, TEXT_SIZE), *after = calloc(1, TEXT_SIZE);
    struct weir_connection *connection;

    check(before != NULL && after != NULL);
    /* Settings that ours differ from. */
    if (fixture->engine == WEIR_POSTGRESQL) {
        run(&application, "SET statement_timeout = 77777");
        run(&application, "SET lock_timeout = 66666");
        run(&application, "SET timezone = 'Asia/Kathmandu'");
        run(&application, "SET default_transaction_isolation = 'serializable'");
        run(&application, "PREPARE theirs AS SELECT count(*) FROM weir_item");
    } else if (fixture->engine == WEIR_MARIADB) {
        run(&application, "SET time_zone = '+05:45', max_statement_time = 77, "
                          "innodb_lock_wait_timeout = 66, sql_mode = 'ANSI_QUOTES', "
                          "tx_isolation = 'SERIALIZABLE', group_concat_max_len = 60000");
        run(&application, "PREPARE theirs FROM 'SELECT count(*) FROM weir_item'");
    } else {
        run(&application, "PRAGMA synchronous = NORMAL");
        run(&application, "PRAGMA cache_size = 123");
        run(&application, "PRAGMA foreign_keys = OFF");
        run(&application, "PRAGMA busy_timeout = 4321");
    }

    run(&application, "BEGIN");
    describe_session(&application, before, TEXT_SIZE);
    connection = adopt(fixture, &application);
    use_everything(fixture, connection);
    weir_connection_disown(connection);
    describe_session(&application, after, TEXT_SIZE);

    check(before[0] != '\0');
    check_str(after, before);
    if (fixture->engine == WEIR_POSTGRESQL) {
        ask(&application, "EXECUTE theirs", after, TEXT_SIZE);
        check_str(after, "2");
    } else if (fixture->engine == WEIR_MARIADB) {
        ask(&application, "EXECUTE theirs", after, TEXT_SIZE);
        check_str(after, "4");
    } else {
        check(sqlite3_next_stmt(application.sqlite, NULL) == NULL);
    }
    run(&application, "COMMIT");
    free(before);
    free(after);
    stop(&application);
}

/* While it is adopted too: a handler reads the settings it made. */
ENGINE_TEST(adoption, changes_no_setting_while_it_lasts)
{
    struct application application = start(fixture);
    char *before = calloc(1, TEXT_SIZE), *during = calloc(1, TEXT_SIZE);
    struct weir_connection *connection;

    check(before != NULL && during != NULL);
    if (fixture->engine == WEIR_MARIADB)
        run(&application, "SET group_concat_max_len = 60000");
    describe_session(&application, before, TEXT_SIZE);
    connection = adopt(fixture, &application);
    run(&application, "BEGIN");
    add(fixture, connection, 1, "ours");
    run(&application, "COMMIT");
    describe_session(&application, during, TEXT_SIZE);
    weir_connection_disown(connection);

    check_str(during, before);
    free(before);
    free(during);
    stop(&application);
}

MARIADB_TEST(adoption, gives_its_statements_back_to_the_server)
{
    static const char SQL_HANDLES[] = "SELECT variable_value FROM "
                                      "information_schema.global_status "
                                      "WHERE variable_name = 'PREPARED_STMT_COUNT'";
    struct application application = start(fixture);
    int64_t before = fixture_ask(fixture, SQL_HANDLES);

    for (int i = 0; i < 50; i++) {
        struct weir_connection *connection = adopt(fixture, &application);

        add(fixture, connection, i, "ours");
        weir_connection_disown(connection);
    }
    /* The server does not answer when one is given back. */
    wait_until(fixture_ask(fixture, SQL_HANDLES) <= before);
    stop(&application);
}

ENGINE_TEST(adoption, costs_nothing_in_the_end)
{
    struct application application = start(fixture);
    int64_t outstanding = fixture->heap.outstanding;

    for (int64_t i = 0; i < 200; i++) {
        struct weir_connection *connection = adopt(fixture, &application);

        add(fixture, connection, i, "ours");
        weir_connection_disown(connection);
        check_int(fixture->heap.outstanding, outstanding);
    }
    check_int(seen_by_others(fixture), 200);
    stop(&application);
}

static int count_call(void *argument, int calls)
{
    (void)calls;
    ++*(int *)argument;
    return 0; /* do not wait */
}

static int count_progress(void *argument)
{
    ++*(int *)argument;
    return 0;
}

/* Handlers of the application's cannot be put back, so they must never be taken away. */
SQLITE_TEST(adoption, keeps_the_handlers_of_the_application)
{
    struct application application = start(fixture);
    struct weir_connection *holder = fixture_take(fixture);
    struct weir_connection *connection;
    int busy_calls = 0, progress_calls = 0, seen;
    char text[32];

    sqlite3_busy_handler(application.sqlite, count_call, &busy_calls);
    sqlite3_progress_handler(application.sqlite, 1, count_progress, &progress_calls);
    check_db(weir_connection_begin(holder, &fixture->error), WEIR_OK);

    connection = adopt(fixture, &application);
    check_db(try_add(fixture, connection, 1, "ours"), WEIR_LOCKED);
    check_int(busy_calls, 1);
    check(progress_calls > 0);
    weir_connection_disown(connection);

    seen = progress_calls;
    ask(&application, "SELECT count(*) FROM weir_item", text, sizeof text);
    check(progress_calls > seen);
    check(!try_run(&application, "BEGIN IMMEDIATE"));
    check_int(busy_calls, 2);
    fixture_give(fixture, holder);
    stop(&application);
}

/* The application compares with SQLITE_CONSTRAINT, not with what it never asked for. */
SQLITE_TEST(adoption, keeps_the_result_codes_of_the_application)
{
    struct application application = start(fixture);
    struct weir_connection *connection = adopt(fixture, &application);

    add(fixture, connection, 1, "ours");
    check_db(try_add(fixture, connection, 1, "ours"), WEIR_CONSTRAINT);
    check_int(fixture->error.native_code, SQLITE_CONSTRAINT_PRIMARYKEY);
    check_int(sqlite3_exec(application.sqlite, "INSERT INTO weir_item VALUES (1, 'x')",
                           NULL, NULL, NULL),
              SQLITE_CONSTRAINT);
    weir_connection_disown(connection);
    check_int(sqlite3_exec(application.sqlite, "INSERT INTO weir_item VALUES (1, 'x')",
                           NULL, NULL, NULL),
              SQLITE_CONSTRAINT);
    stop(&application);
}

/* A statement that the application is in the middle of goes on. */
SQLITE_TEST(adoption, lets_a_statement_of_the_application_go_on)
{
    struct application application = start(fixture);
    struct weir_connection *connection;
    sqlite3_stmt *statement;
    int rows = 1;

    run(&application, "INSERT INTO weir_item VALUES (1, 'a'), (2, 'b'), (3, 'c')");
    check_int(sqlite3_prepare_v2(application.sqlite,
                                 "SELECT id FROM weir_item WHERE id < 10", -1, &statement,
                                 NULL),
              SQLITE_OK);
    check_int(sqlite3_step(statement), SQLITE_ROW);
    connection = adopt(fixture, &application);
    add(fixture, connection, 17, "ours");
    check_db(try_add(fixture, connection, 17, "ours"), WEIR_CONSTRAINT);
    weir_connection_disown(connection);
    while (sqlite3_step(statement) == SQLITE_ROW)
        rows++;

    check_int(rows, 3);
    sqlite3_finalize(statement);
    stop(&application);
}

POSTGRESQL_TEST(adoption, keeps_the_modes_of_the_application)
{
    struct application application = start(fixture);
    struct weir_connection *connection;

    PQsetErrorVerbosity(application.postgresql, PQERRORS_TERSE);
    PQsetErrorContextVisibility(application.postgresql, PQSHOW_CONTEXT_ALWAYS);
    run(&application, "BEGIN");
    connection = adopt(fixture, &application);
    use_everything(fixture, connection);
    weir_connection_disown(connection);
    run(&application, "COMMIT");

    check_int(PQpipelineStatus(application.postgresql), PQ_PIPELINE_OFF);
    check_int(PQisnonblocking(application.postgresql), 0);
    check_int(PQisBusy(application.postgresql), 0);
    check_int(PQsetErrorVerbosity(application.postgresql, PQERRORS_DEFAULT),
              PQERRORS_TERSE);
    check_int(PQsetErrorContextVisibility(application.postgresql, PQSHOW_CONTEXT_ERRORS),
              PQSHOW_CONTEXT_ALWAYS);
    stop(&application);
}

POSTGRESQL_TEST(adoption, leaves_notifications_to_the_application)
{
    struct application application = start(fixture);
    struct weir_connection *connection;
    PGnotify *notification;

    run(&application, "LISTEN theirs");
    fixture_prepare(fixture, "NOTIFY theirs");
    connection = adopt(fixture, &application);
    add(fixture, connection, 1, "ours");
    weir_connection_disown(connection);
    PQconsumeInput(application.postgresql);
    notification = PQnotifies(application.postgresql);

    check(notification != NULL);
    check_str(notification->relname, "theirs");
    PQfreemem(notification);
    stop(&application);
}

/* ---- the application's own ideas --------------------------------------------------- */

/* Whatever it has set: what goes in comes out, or is refused; it is never bent. */
SERVER_TEST(adoption, does_not_bend_text_under_another_encoding)
{
    static const char NAME[] = "\xe6\xb0\xb4 \xc3\xa4";
    struct application application = start(fixture);
    struct weir_connection *connection = NULL;
    enum weir_status status;

    run(&application, fixture_choose(fixture, "", "SET client_encoding = 'LATIN1'",
                                     "SET NAMES latin1"));
    if (fixture->engine == WEIR_POSTGRESQL)
        status = weir_connection_adopt_postgresql(fixture->db, application.postgresql,
                                                  &connection, &fixture->error);
    else
        status = weir_connection_adopt_mariadb(fixture->db, application.mariadb,
                                               &connection, &fixture->error);
    if (status == WEIR_OK)
        status = try_add(fixture, connection, 1, NAME);
    weir_connection_disown(connection);

    check_int(seen_by_others(fixture), status == WEIR_OK ? 1 : 0);
    if (status == WEIR_OK)
        check_int(fixture_ask(fixture, fixture_choose(
                                           fixture, "",
                                           "SELECT count(*) FROM weir_item WHERE "
                                           "convert_to(name, 'UTF8') = '\\xe6b0b420c3a4'",
                                           "SELECT count(*) FROM weir_item WHERE "
                                           "hex(name) = 'E6B0B420C3A4'")),
                  1);
    stop(&application);
}

/* Time zone, styles, quoting: none of it matters to us. */
SERVER_TEST(adoption, understands_values_under_any_setting)
{
    static const struct weir_sql SQL_PUT = {
        .name = "put",
        .text = "INSERT INTO {p}_thing (id, r, b, f, m) VALUES (1, {1}, {2}, {3}, {4})",
        .parameters = "rbfm"};
    static const struct weir_sql SQL_GET = {.name = "get",
                                            .text = "SELECT r, b, f, m FROM {p}_thing"};
    struct application application = start(fixture);
    struct weir_connection *connection;
    struct timespec now;
    struct weir_rows rows;
    int64_t clock_us = 0;

    fixture_prepare(fixture, "CREATE TABLE {p}_thing (id $integer, r $real, b $bytes, "
                             "f $boolean, m $time)");
    if (fixture->engine == WEIR_POSTGRESQL) {
        run(&application, "SET timezone = 'Asia/Kathmandu'");
        run(&application, "SET datestyle = 'German'");
        run(&application, "SET intervalstyle = 'sql_standard'");
        run(&application, "SET bytea_output = 'escape'");
        run(&application, "SET extra_float_digits = -15");
        run(&application, "SET standard_conforming_strings = off");
    } else {
        run(&application, "SET time_zone = '+05:45'");
        run(&application, "SET sql_mode = 'ANSI,NO_BACKSLASH_ESCAPES'");
    }

    connection = adopt(fixture, &application);
    check_db(weir_connection_execute(connection, &SQL_PUT,
                                     VALUES(weir_real(1.0 / 3.0),
                                            weir_bytes("\\\0'\"", 4), weir_boolean(true),
                                            weir_time(INT64_C(1752508799123456))),
                                     NULL, &fixture->error),
             WEIR_OK);
    check_db(
        weir_connection_query(connection, &SQL_GET, NO_VALUES, &rows, &fixture->error),
        WEIR_OK);
    check_db(weir_rows_next(&rows, &fixture->error), WEIR_OK);
    check(weir_rows_real(&rows, 0) == 1.0 / 3.0);
    check(weir_str_equal(weir_rows_bytes(&rows, 1), (struct weir_str){"\\\0'\"", 4}));
    check(weir_rows_boolean(&rows, 2));
    check_int(rows_time_us(&rows, 3), INT64_C(1752508799123456));
    weir_rows_close(&rows);
    check_db(weir_connection_clock(connection, &clock_us, &fixture->error), WEIR_OK);
    clock_gettime(CLOCK_REALTIME, &now);
    check_in_range(clock_us / 1000000, now.tv_sec - 60, now.tv_sec + 1);
    weir_connection_disown(connection);

    check_int(
        fixture_ask(fixture, fixture_choose(fixture, "",
                                            "SELECT count(*) FROM weir_thing WHERE m = "
                                            "'2025-07-14 15:59:59.123456+00'",
                                            "SELECT count(*) FROM weir_thing WHERE m = "
                                            "'2025-07-14 15:59:59.123456'")),
        1);
    stop(&application);
}

/* ---- what is refused --------------------------------------------------------------- */

ENGINE_TEST(adoption, of_nothing_is_refused)
{
    struct weir_connection *connection;

    if (fixture->engine == WEIR_SQLITE)
        check_db(
            weir_connection_adopt_sqlite(fixture->db, NULL, &connection, &fixture->error),
            WEIR_INVALID);
    else if (fixture->engine == WEIR_POSTGRESQL)
        check_db(weir_connection_adopt_postgresql(fixture->db, NULL, &connection,
                                                  &fixture->error),
                 WEIR_INVALID);
    else
        check_db(weir_connection_adopt_mariadb(fixture->db, NULL, &connection,
                                               &fixture->error),
                 WEIR_INVALID);
    check(connection == NULL);
    weir_connection_disown(connection); /* NULL is fine */
}

ENGINE_TEST(adoption, of_another_engine_is_refused)
{
    struct application application = start(fixture);
    struct weir_db_options options = fixture_options(fixture);
    struct weir_connection *connection;
    struct weir_db *other;

    options.url = fixture->engine == WEIR_SQLITE ? "mariadb://nobody@nowhere/nothing"
                                                 : "sqlite::memory:";
    other = fixture_open(fixture, &options);
    if (fixture->engine == WEIR_SQLITE)
        check_db(weir_connection_adopt_sqlite(other, application.sqlite, &connection,
                                              &fixture->error),
                 WEIR_INVALID);
    else if (fixture->engine == WEIR_POSTGRESQL)
        check_db(weir_connection_adopt_postgresql(other, application.postgresql,
                                                  &connection, &fixture->error),
                 WEIR_INVALID);
    else
        check_db(weir_connection_adopt_mariadb(other, application.mariadb, &connection,
                                               &fixture->error),
                 WEIR_INVALID);
    check(connection == NULL);
    weir_db_destroy(other);
    stop(&application);
}

static void refuse(struct fixture *fixture, PGconn *handle)
{
    struct weir_connection *connection;

    check_db(weir_connection_adopt_postgresql(fixture->db, handle, &connection,
                                              &fixture->error),
             WEIR_INVALID);
    check(connection == NULL);
    check(fixture->error.text[0] != '\0');
}

POSTGRESQL_TEST(adoption, of_a_busy_connection_is_refused)
{
    struct application application = start(fixture);

    check_int(PQsendQuery(application.postgresql, "SELECT 1"), 1);
    refuse(fixture, application.postgresql);
    PQclear(PQgetResult(application.postgresql)); /* the application reads on */
    refuse(fixture, application.postgresql);      /* one NULL is still to be read */
    while (PQgetResult(application.postgresql) != NULL)
        ;

    weir_connection_disown(adopt(fixture, &application));
    stop(&application);
}

POSTGRESQL_TEST(adoption, of_a_failed_transaction_is_refused)
{
    struct application application = start(fixture);

    run(&application, "BEGIN");
    check(!try_run(&application, "SELECT 1 / 0"));
    refuse(fixture, application.postgresql);
    run(&application, "ROLLBACK");

    weir_connection_disown(adopt(fixture, &application));
    stop(&application);
}

POSTGRESQL_TEST(adoption, of_a_pipelining_connection_is_refused)
{
    struct application application = start(fixture);

    check_int(PQenterPipelineMode(application.postgresql), 1);
    refuse(fixture, application.postgresql);
    check_int(PQexitPipelineMode(application.postgresql), 1);

    weir_connection_disown(adopt(fixture, &application));
    stop(&application);
}

/* Its owner may have sent half a statement, and nobody can tell. */
POSTGRESQL_TEST(adoption, of_a_connection_that_does_not_block_is_refused)
{
    struct application application = start(fixture);

    check_int(PQsetnonblocking(application.postgresql, 1), 0);
    refuse(fixture, application.postgresql);
    check_int(PQisnonblocking(application.postgresql), 1);
    check_int(PQsetnonblocking(application.postgresql, 0), 0);

    weir_connection_disown(adopt(fixture, &application));
    stop(&application);
}

POSTGRESQL_TEST(adoption, of_a_copying_connection_is_refused)
{
    struct application application = start(fixture);
    PGresult *result = PQexec(application.postgresql, "COPY weir_item FROM STDIN");

    check_int(PQresultStatus(result), PGRES_COPY_IN);
    PQclear(result);
    refuse(fixture, application.postgresql);
    check_int(PQputCopyEnd(application.postgresql, NULL), 1);
    while ((result = PQgetResult(application.postgresql)) != NULL)
        PQclear(result);

    weir_connection_disown(adopt(fixture, &application));
    stop(&application);
}

POSTGRESQL_TEST(adoption, of_a_connection_that_never_was_is_refused)
{
    PGconn *handle =
        PQconnectdb("host=127.0.0.1 port=1 dbname=nothing connect_timeout=2");

    check_int(PQstatus(handle), CONNECTION_BAD);
    refuse(fixture, handle);
    PQfinish(handle);
}

MARIADB_TEST(adoption, of_a_connection_that_never_was_is_refused)
{
    MYSQL *handle = mysql_init(NULL);
    struct weir_connection *connection;

    check(handle != NULL);
    check_db(
        weir_connection_adopt_mariadb(fixture->db, handle, &connection, &fixture->error),
        WEIR_INVALID);
    check(connection == NULL);
    mysql_close(handle);
}

/* Rows that the application has not read yet are still on their way. */
MARIADB_TEST(adoption, does_not_lose_rows_the_application_has_not_read)
{
    struct application application = start(fixture);
    struct weir_connection *connection = NULL;
    MYSQL_RES *result;
    int rows = 0;

    run(&application, "INSERT INTO weir_item VALUES (1, 'a'), (2, 'b'), (3, 'c')");
    check_int(mysql_query(application.mariadb, "SELECT id FROM weir_item"), 0);
    result = mysql_use_result(application.mariadb);
    check(result != NULL && mysql_fetch_row(result) != NULL);
    if (weir_connection_adopt_mariadb(fixture->db, application.mariadb, &connection,
                                      &fixture->error) == WEIR_OK)
        check(try_add(fixture, connection, 4, "ours") != WEIR_OK);
    weir_connection_disown(connection);
    do
        rows++;
    while (mysql_fetch_row(result) != NULL);
    mysql_free_result(result);

    check_int(rows, 3);
    run(&application, "INSERT INTO weir_item VALUES (5, 'theirs')");
    check_int(seen_by_others(fixture), 4);
    stop(&application);
}

/* The connection dies while it is adopted: said once, and the application may close
 * it. */
SERVER_TEST(adoption, survives_the_loss_of_the_connection)
{
    struct application application = start(fixture);
    struct weir_connection *connection = adopt(fixture, &application);
    char sql[128];

    add(fixture, connection, 1, "ours");
    if (fixture->engine == WEIR_POSTGRESQL)
        snprintf(sql, sizeof sql, "SELECT pg_terminate_backend(%d, 60000)",
                 PQbackendPID(application.postgresql));
    else
        snprintf(sql, sizeof sql, "KILL %lu", mysql_thread_id(application.mariadb));
    server_execute(fixture->server, NULL, sql);
    check_db(try_add(fixture, connection, 2, "ours"), WEIR_LOST);
    check_db(try_add(fixture, connection, 3, "ours"), WEIR_LOST);
    weir_connection_disown(connection);

    check(!try_run(&application, "SELECT 1"));
    check_int(seen_by_others(fixture), 1);
    stop(&application);
}

/* ---- the application --------------------------------------------------------------- */

static struct application start(struct fixture *fixture)
{
    struct application self = {.engine = fixture->engine};

    fixture_prepare(fixture,
                    "CREATE TABLE {p}_item (id $integer PRIMARY KEY, name $text)");
    if (self.engine == WEIR_SQLITE) {
        check_int(sqlite3_open(fixture->database, &self.sqlite), SQLITE_OK);
        sqlite3_busy_timeout(self.sqlite, 10000);
    } else if (self.engine == WEIR_POSTGRESQL) {
        self.postgresql = PQconnectdb(fixture->url);
        check_int(PQstatus(self.postgresql), CONNECTION_OK);
    } else {
        self.mariadb = mysql_init(NULL);
        check(self.mariadb != NULL);
        mysql_options(self.mariadb, MYSQL_SET_CHARSET_NAME, "utf8mb4");
        check(mysql_real_connect(self.mariadb, "127.0.0.1", SERVER_USER, SERVER_PASSWORD,
                                 fixture->database, server_port(fixture->server), NULL,
                                 0) != NULL);
    }
    return self;
}

static void stop(struct application *self)
{
    if (self->engine == WEIR_SQLITE)
        check_int(sqlite3_close(self->sqlite),
                  SQLITE_OK); /* refuses if we left something */
    PQfinish(self->postgresql);
    mysql_close(self->mariadb);
}

static bool try_run(struct application *self, const char *sql)
{
    PGresult *result;
    bool done;

    if (self->engine == WEIR_SQLITE)
        return sqlite3_exec(self->sqlite, sql, NULL, NULL, NULL) == SQLITE_OK;
    if (self->engine == WEIR_MARIADB)
        return mysql_query(self->mariadb, sql) == 0;
    result = PQexec(self->postgresql, sql);
    done = PQresultStatus(result) == PGRES_COMMAND_OK;
    PQclear(result);
    return done;
}

static void run(struct application *self, const char *sql)
{
    if (!try_run(self, sql))
        weir_test_fail(__FILE__, __LINE__, "the application's \"%s\" failed: %s", sql,
                       self->engine == WEIR_SQLITE ? sqlite3_errmsg(self->sqlite)
                       : self->engine == WEIR_POSTGRESQL
                           ? PQerrorMessage(self->postgresql)
                           : mysql_error(self->mariadb));
}

static void ask_sqlite(struct application *self, const char *sql, char *out, size_t size)
{
    sqlite3_stmt *statement = NULL;

    check_int(sqlite3_prepare_v2(self->sqlite, sql, -1, &statement, NULL), SQLITE_OK);
    if (sqlite3_step(statement) == SQLITE_ROW)
        snprintf(out, size, "%s", (const char *)sqlite3_column_text(statement, 0));
    sqlite3_finalize(statement);
}

static void ask_postgresql(struct application *self, const char *sql, char *out,
                           size_t size)
{
    PGresult *result = PQexec(self->postgresql, sql);

    check_int(PQresultStatus(result), PGRES_TUPLES_OK);
    check_int(PQntuples(result), 1);
    snprintf(out, size, "%s", PQgetvalue(result, 0, 0));
    PQclear(result);
}

static void ask_mariadb(struct application *self, const char *sql, char *out, size_t size)
{
    MYSQL_RES *result;
    MYSQL_ROW row;

    check_int(mysql_query(self->mariadb, sql), 0);
    result = mysql_store_result(self->mariadb);
    check(result != NULL);
    row = mysql_fetch_row(result);
    check(row != NULL && row[0] != NULL);
    snprintf(out, size, "%s", row[0]);
    mysql_free_result(result);
}

/* The first column of the first row, as text; "" when there is none. */
static void ask(struct application *self, const char *sql, char *out, size_t size)
{
    out[0] = '\0';
    if (self->engine == WEIR_SQLITE)
        ask_sqlite(self, sql, out, size);
    else if (self->engine == WEIR_POSTGRESQL)
        ask_postgresql(self, sql, out, size);
    else
        ask_mariadb(self, sql, out, size);
}

static bool in_transaction(struct application *self)
{
    if (self->engine == WEIR_SQLITE)
        return sqlite3_get_autocommit(self->sqlite) == 0;
    if (self->engine == WEIR_POSTGRESQL)
        return PQtransactionStatus(self->postgresql) == PQTRANS_INTRANS;
    return (self->mariadb->server_status & SERVER_STATUS_IN_TRANS) != 0;
}

/* ---- helpers ----------------------------------------------------------------------- */

static struct weir_connection *adopt(struct fixture *fixture, struct application *self)
{
    struct weir_connection *connection = NULL;

    if (self->engine == WEIR_SQLITE) {
        check_db(weir_connection_adopt_sqlite(fixture->db, self->sqlite, &connection,
                                              &fixture->error),
                 WEIR_OK);
        check(weir_connection_native(connection) == self->sqlite);
    } else if (self->engine == WEIR_POSTGRESQL) {
        check_db(weir_connection_adopt_postgresql(fixture->db, self->postgresql,
                                                  &connection, &fixture->error),
                 WEIR_OK);
        check(weir_connection_native(connection) == self->postgresql);
    } else {
        check_db(weir_connection_adopt_mariadb(fixture->db, self->mariadb, &connection,
                                               &fixture->error),
                 WEIR_OK);
        check(weir_connection_native(connection) == self->mariadb);
    }
    return connection;
}
