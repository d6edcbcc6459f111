/*
 * Statements: what they change, what they return, how they are kept, how they end.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit/db/named_items.h"

static const struct weir_sql SQL_RENAME = {
    .name = "rename",
    .text = "UPDATE {p}_item SET name = {1} WHERE id >= {2}",
    .parameters = "ti",
};

static const struct weir_sql SQL_REMOVE = {
    .name = "remove",
    .text = "DELETE FROM {p}_item WHERE id >= {1}",
    .parameters = "i",
};

static const struct weir_sql SQL_LIST = {
    .name = "list",
    .text = "SELECT id, name FROM {p}_item WHERE id >= {1} ORDER BY id",
    .parameters = "i",
};

static struct weir_connection *make_items(struct fixture *fixture, int count);
static void check_usable(struct fixture *fixture, struct weir_connection *connection);

/* ---- what they change -------------------------------------------------------------- */

ENGINE_TEST(statement, tells_how_many_rows_it_changed)
{
    struct weir_connection *connection = make_items(fixture, 0);
    int64_t changed = -1;

    for (int64_t id = 1; id <= 5; id++) {
        check_db(
            weir_connection_execute(connection, &SQL_ADD,
                                    VALUES(weir_integer(id), weir_text(weir_str("a"))),
                                    &changed, &fixture->error),
            WEIR_OK);
        check_int(changed, 1);
    }
    check_db(weir_connection_execute(connection, &SQL_RENAME,
                                     VALUES(weir_text(weir_str("b")), weir_integer(3)),
                                     &changed, &fixture->error),
             WEIR_OK);
    check_int(changed, 3);
    check_db(weir_connection_execute(connection, &SQL_RENAME,
                                     VALUES(weir_text(weir_str("c")), weir_integer(6)),
                                     &changed, &fixture->error),
             WEIR_OK);
    check_int(changed, 0);
    check_db(weir_connection_execute(connection, &SQL_REMOVE, VALUES(weir_integer(2)),
                                     &changed, &fixture->error),
             WEIR_OK);
    check_int(changed, 4);
    fixture_give(fixture, connection);
}

/* Compare-and-set relies on it: a row that is found counts, also when nothing about it is
 * new. */
ENGINE_TEST(statement, counts_rows_that_it_set_to_what_they_were)
{
    struct weir_connection *connection = make_items(fixture, 3);
    int64_t changed = -1;

    for (int i = 0; i < 2; i++) {
        check_db(
            weir_connection_execute(connection, &SQL_RENAME,
                                    VALUES(weir_text(weir_str("same")), weir_integer(1)),
                                    &changed, &fixture->error),
            WEIR_OK);
        check_int(changed, 3);
    }
    fixture_give(fixture, connection);
}

ENGINE_TEST(statement, needs_neither_a_count_nor_an_error)
{
    struct weir_connection *connection = make_items(fixture, 0);

    check_status(weir_connection_execute(
                     connection, &SQL_ADD,
                     VALUES(weir_integer(1), weir_text(weir_str("a"))), NULL, NULL),
                 WEIR_OK);
    check_status(weir_connection_execute(
                     connection, &SQL_ADD,
                     VALUES(weir_integer(1), weir_text(weir_str("a"))), NULL, NULL),
                 WEIR_CONSTRAINT);
    fixture_give(fixture, connection);
}

ENGINE_TEST(statement, with_rows_can_be_executed_for_nothing)
{
    struct weir_connection *connection = make_items(fixture, 100);

    for (int i = 0; i < 3; i++)
        check_db(weir_connection_execute(connection, &SQL_LIST, VALUES(weir_integer(0)),
                                         NULL, &fixture->error),
                 WEIR_OK);

    check_int(count(fixture, connection), 100);
    fixture_give(fixture, connection);
}

/* ---- rows -------------------------------------------------------------------------- */

ENGINE_TEST(rows, come_one_after_the_other_in_order)
{
    enum { ROWS = 10000 };
    struct weir_connection *connection = make_items(fixture, ROWS);
    struct weir_rows rows;
    char name[32];

    check_db(weir_connection_query(connection, &SQL_LIST, VALUES(weir_integer(0)), &rows,
                                   &fixture->error),
             WEIR_OK);
    for (int id = 1; id <= ROWS; id++) {
        check_db(weir_rows_next(&rows, &fixture->error), WEIR_OK);
        check_int(weir_rows_integer(&rows, 0), id);
        snprintf(name, sizeof name, "item %d", id);
        check(weir_str_equal(weir_rows_text(&rows, 1), weir_str(name)));
    }
    check_db(weir_rows_next(&rows, &fixture->error), WEIR_NO_ROW);
    weir_rows_close(&rows);
    fixture_give(fixture, connection);
}

/* Not a copy of all rows, nor of each: what is asked from our heap does not grow with
 * them. */
ENGINE_TEST(rows, are_read_without_copying)
{
    struct weir_connection *connection = make_items(fixture, 2000);
    uint64_t before, few, many;
    struct weir_rows rows;
    int64_t seen = 0;

    for (int i = 0; i < 2; i++) /* prepared, and buffers have their sizes */
        check_db(weir_connection_execute(connection, &SQL_LIST, VALUES(weir_integer(0)),
                                         NULL, &fixture->error),
                 WEIR_OK);
    before = fixture->heap.allocations;
    check_db(weir_connection_execute(connection, &SQL_LIST, VALUES(weir_integer(1999)),
                                     NULL, &fixture->error),
             WEIR_OK);
    few = fixture->heap.allocations - before;

    before = fixture->heap.allocations;
    check_db(weir_connection_query(connection, &SQL_LIST, VALUES(weir_integer(0)), &rows,
                                   &fixture->error),
             WEIR_OK);
    while (weir_rows_next(&rows, &fixture->error) == WEIR_OK)
        seen += weir_rows_text(&rows, 1).size > 0;
    weir_rows_close(&rows);
    many = fixture->heap.allocations - before;

    check_int(seen, 2000);
    check_int(many, few);
    fixture_give(fixture, connection);
}

ENGINE_TEST(rows, can_be_closed_early)
{
    struct weir_connection *connection = make_items(fixture, 1000);
    struct weir_rows rows;

    for (int wanted = 0; wanted < 5; wanted++) {
        check_db(weir_connection_query(connection, &SQL_LIST, VALUES(weir_integer(0)),
                                       &rows, &fixture->error),
                 WEIR_OK);
        for (int i = 0; i < wanted; i++)
            check_db(weir_rows_next(&rows, &fixture->error), WEIR_OK);
        weir_rows_close(&rows);
        weir_rows_close(&rows); /* twice is fine */
        check_int(count(fixture, connection), 1000);
    }
    fixture_give(fixture, connection);
}

ENGINE_TEST(rows, may_be_none)
{
    struct weir_connection *connection = make_items(fixture, 3);
    struct weir_rows rows;

    check_db(weir_connection_query(connection, &SQL_LIST, VALUES(weir_integer(4)), &rows,
                                   &fixture->error),
             WEIR_OK);
    check_db(weir_rows_next(&rows, &fixture->error), WEIR_NO_ROW);
    weir_rows_close(&rows);
    fixture_give(fixture, connection);
}

/* A statement that fails leaves rows that are closed, which may be closed again. */
ENGINE_TEST(rows, of_a_statement_that_failed_are_closed)
{
    static const struct weir_sql SQL_NOTHING = {.name = "nothing",
                                                .text = "SELECT id FROM {p}_nothing"};
    struct weir_connection *connection = make_items(fixture, 1);
    struct weir_rows rows;

    check_db(weir_connection_query(connection, &SQL_NOTHING, NO_VALUES, &rows,
                                   &fixture->error),
             WEIR_SCHEMA);
    weir_rows_close(&rows);

    check_usable(fixture, connection);
    fixture_give(fixture, connection);
}

ENGINE_TEST(rows, of_a_statement_that_also_writes_are_read)
{
    static const struct weir_sql SQL_ADD_RETURNING = {
        .name = "add returning",
        .text = "INSERT INTO {p}_item (id, name) VALUES ({1}, {2}) RETURNING id, name",
        .parameters = "it",
    };
    struct weir_connection *connection = make_items(fixture, 0);
    struct weir_rows rows;

    check_db(weir_connection_query(connection, &SQL_ADD_RETURNING,
                                   VALUES(weir_integer(7), weir_text(weir_str("seven"))),
                                   &rows, &fixture->error),
             WEIR_OK);
    check_db(weir_rows_next(&rows, &fixture->error), WEIR_OK);
    check_int(weir_rows_integer(&rows, 0), 7);
    check(weir_str_equal(weir_rows_text(&rows, 1), weir_str("seven")));
    check_db(weir_rows_next(&rows, &fixture->error), WEIR_NO_ROW);
    weir_rows_close(&rows);

    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_item"), 1);
    fixture_give(fixture, connection);
}

ENGINE_TEST(query, for_one_integer_gives_it)
{
    static const struct weir_sql SQL_ID = {.name = "id",
                                           .text =
                                               "SELECT id FROM {p}_item WHERE name = {1}",
                                           .parameters = "t"};
    static const struct weir_sql SQL_NULL = {.name = "null",
                                             .text = "SELECT max(id) FROM {p}_item"};
    static const struct weir_sql SQL_NAME = {.name = "name",
                                             .text = "SELECT name FROM {p}_item"};
    struct weir_connection *connection = make_items(fixture, 0);
    int64_t id = -1;

    check_db(weir_connection_query_integer(connection, &SQL_NULL, NO_VALUES, &id,
                                           &fixture->error),
             WEIR_OK);
    check_int(id, 0);
    add(fixture, connection, 17, "mine");

    check_db(weir_connection_query_integer(connection, &SQL_ID,
                                           VALUES(weir_text(weir_str("mine"))), &id,
                                           &fixture->error),
             WEIR_OK);
    check_int(id, 17);
    check_db(weir_connection_query_integer(connection, &SQL_ID,
                                           VALUES(weir_text(weir_str("other"))), &id,
                                           &fixture->error),
             WEIR_NO_ROW);
    check_db(weir_connection_query_integer(connection, &SQL_NAME, NO_VALUES, &id,
                                           &fixture->error),
             WEIR_SCHEMA);
    check_usable(fixture, connection);
    fixture_give(fixture, connection);
}

/* ---- how they are kept ------------------------------------------------------------- */

ENGINE_TEST(statement, costs_nothing_more_the_ten_thousandth_time)
{
    struct weir_connection *connection = make_items(fixture, 0);
    int64_t outstanding;
    int64_t handles;

    check_db(weir_connection_begin(connection, &fixture->error), WEIR_OK);
    for (int64_t id = 1; id <= 10; id++)
        add(fixture, connection, id, "warm");
    outstanding = fixture->heap.outstanding;
    handles = fixture->server != NULL && fixture->engine == WEIR_MARIADB
                  ? fixture_ask(fixture, "SELECT variable_value FROM information_schema."
                                         "global_status WHERE variable_name = "
                                         "'PREPARED_STMT_COUNT'")
                  : 0;
    for (int64_t id = 11; id <= 10000; id++)
        add(fixture, connection, id, "again");
    check_int(fixture->heap.outstanding, outstanding);
    if (fixture->engine == WEIR_MARIADB)
        check_in_range(fixture_ask(fixture,
                                   "SELECT variable_value FROM information_schema."
                                   "global_status WHERE variable_name = "
                                   "'PREPARED_STMT_COUNT'"),
                       0, handles); /* fewer, when a connection before us ended late */
    check_db(weir_connection_commit(connection, &fixture->error), WEIR_OK);

    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_item"), 10000);
    fixture_give(fixture, connection);
}

ENGINE_TEST(statement, is_one_of_many)
{
    enum { STATEMENTS = 500, ROUNDS = 3 };
    struct weir_connection *connection = make_items(fixture, 0);
    struct weir_sql *statements = calloc(STATEMENTS, sizeof *statements);
    char(*texts)[64] = calloc(STATEMENTS, sizeof *texts);
    int64_t answer;

    check(statements != NULL && texts != NULL);
    for (int i = 0; i < STATEMENTS; i++) {
        snprintf(texts[i], sizeof texts[i], "SELECT %d + count(*) FROM {p}_item", i);
        statements[i] = (struct weir_sql){.name = "one of many", .text = texts[i]};
    }

    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < STATEMENTS; i++) {
            check_db(weir_connection_query_integer(connection, &statements[i], NO_VALUES,
                                                   &answer, &fixture->error),
                     WEIR_OK);
            check_int(answer, i);
        }
    /* The cache of that connection knows them by address. */
    weir_db_release(fixture->db, connection);
    weir_db_destroy(fixture->db);
    fixture->db = NULL;
    free(texts);
    free(statements);
}

/* On PostgreSQL a plan is made again, on SQLite and MariaDB the statement. */
ENGINE_TEST(statement, goes_on_after_a_change_of_its_table)
{
    struct weir_connection *connection = make_items(fixture, 3);
    struct weir_connection *other = fixture_take(fixture);

    check_int(count(fixture, connection), 3);
    add(fixture, connection, 4, "four");

    fixture_execute(fixture, other, "ALTER TABLE {p}_item ADD COLUMN note $text");
    add(fixture, connection, 5, "five");
    check_int(count(fixture, connection), 5);

    fixture_execute(fixture, other, "DROP TABLE {p}_item");
    fixture_execute(fixture, other,
                    "CREATE TABLE {p}_item (id $integer PRIMARY KEY, name $text)");
    add(fixture, connection, 6, "six");
    check_int(count(fixture, connection), 1);

    fixture_give(fixture, other);
    fixture_give(fixture, connection);
}

/* A failure is not kept. */
ENGINE_TEST(statement, that_failed_works_once_its_table_is_there)
{
    struct weir_connection *connection = fixture_take(fixture);
    int64_t found;

    for (int i = 0; i < 3; i++)
        check_db(weir_connection_query_integer(connection, &SQL_COUNT, NO_VALUES, &found,
                                               &fixture->error),
                 WEIR_SCHEMA);
    check(strstr(fixture->error.text, "count") != NULL);

    fixture_execute(fixture, connection,
                    "CREATE TABLE {p}_item (id $integer PRIMARY KEY, name $text)");
    check_int(count(fixture, connection), 0);
    fixture_give(fixture, connection);
}

ENGINE_TEST(statement, with_a_malformed_text_is_refused)
{
    static const struct weir_sql MALFORMED[] = {
        {.name = "open brace", .text = "SELECT {1", .parameters = "i"},
        {.name = "no number", .text = "SELECT {x}", .parameters = "i"},
        {.name = "number too high", .text = "SELECT {2}", .parameters = "i"},
        {.name = "number zero", .text = "SELECT {0}", .parameters = "i"},
    };
    struct weir_connection *connection = make_items(fixture, 1);

    for (size_t i = 0; i < sizeof MALFORMED / sizeof MALFORMED[0]; i++) {
        check_db(weir_connection_execute(connection, &MALFORMED[i],
                                         VALUES(weir_integer(1)), NULL, &fixture->error),
                 WEIR_INVALID);
        check(strstr(fixture->error.text, MALFORMED[i].name) != NULL);
    }
    check_usable(fixture, connection);
    fixture_give(fixture, connection);
}

ENGINE_TEST(statement, uses_the_prefix_of_its_database)
{
    struct weir_db_options options = fixture_options(fixture);
    struct weir_connection *connection = make_items(fixture, 2);
    struct weir_connection *other_connection;
    struct weir_db *other;

    options.prefix = "other";
    other = fixture_open(fixture, &options);
    check_db(weir_db_acquire(other, &other_connection, &fixture->error), WEIR_OK);
    fixture_execute(fixture, other_connection,
                    "CREATE TABLE {p}_item (id $integer PRIMARY KEY, name $text)");
    add(fixture, other_connection, 1, "only");

    check_int(count(fixture, other_connection), 1);
    check_int(count(fixture, connection), 2);
    check_int(fixture_ask(fixture, "SELECT count(*) FROM other_item"), 1);
    weir_db_release(other, other_connection);
    weir_db_destroy(other);
    fixture_give(fixture, connection);
}

/* ---- several at once --------------------------------------------------------------- */

ENGINE_TEST(steps, run_in_order_and_tell_what_each_changed)
{
    struct weir_connection *connection = make_items(fixture, 3);
    const struct weir_value add_values[] = {weir_integer(4), weir_text(weir_str("four"))};
    const struct weir_value rename_values[] = {weir_text(weir_str("new")),
                                               weir_integer(2)};
    const struct weir_value remove_values[] = {weir_integer(4)};
    struct weir_step steps[] = {
        {.sql = &SQL_ADD, .values = add_values, .value_count = 2},
        {.sql = &SQL_RENAME, .values = rename_values, .value_count = 2},
        {.sql = &SQL_REMOVE, .values = remove_values, .value_count = 1},
        {.sql = &SQL_REMOVE, .values = remove_values, .value_count = 1},
    };

    check_db(weir_connection_begin(connection, &fixture->error), WEIR_OK);
    check_db(weir_connection_execute_steps(connection, steps, 4, &fixture->error),
             WEIR_OK);
    check_db(weir_connection_commit(connection, &fixture->error), WEIR_OK);

    check_int(steps[0].changed, 1);
    check_int(steps[1].changed, 3);
    check_int(steps[2].changed, 1);
    check_int(steps[3].changed, 0);
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_item"), 3);
    fixture_give(fixture, connection);
}

/* More than travel together, and none at all. */
ENGINE_TEST(steps, may_be_none_or_a_thousand)
{
    enum { STEPS = 1000 };
    struct weir_connection *connection = make_items(fixture, 0);
    struct weir_value *values = calloc(STEPS * 2, sizeof *values);
    struct weir_step *steps = calloc(STEPS, sizeof *steps);

    check(values != NULL && steps != NULL);
    for (int i = 0; i < STEPS; i++) {
        values[i * 2] = weir_integer(i);
        values[i * 2 + 1] = weir_text(weir_str("step"));
        steps[i] = (struct weir_step){
            .sql = &SQL_ADD, .values = &values[i * 2], .value_count = 2};
    }

    check_db(weir_connection_begin(connection, &fixture->error), WEIR_OK);
    check_db(weir_connection_execute_steps(connection, steps, 0, &fixture->error),
             WEIR_OK);
    check_db(weir_connection_execute_steps(connection, steps, STEPS, &fixture->error),
             WEIR_OK);
    check_db(weir_connection_commit(connection, &fixture->error), WEIR_OK);

    for (int i = 0; i < STEPS; i++)
        check_int(steps[i].changed, 1);
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_item"), STEPS);
    free(steps);
    free(values);
    fixture_give(fixture, connection);
}

/* The error names the one that failed, and after the savepoint nothing of them is
 * there. */
ENGINE_TEST(steps, stop_at_the_one_that_fails)
{
    static const struct weir_sql SQL_ADD_AGAIN = {
        .name = "add again",
        .text = "INSERT INTO {p}_item (id, name) VALUES ({1}, 'again')",
        .parameters = "i",
    };
    struct weir_connection *connection = make_items(fixture, 0);
    const struct weir_value values[] = {weir_integer(1), weir_text(weir_str("one")),
                                        weir_integer(2), weir_text(weir_str("two"))};

    for (size_t failing = 0; failing < 5; failing++) {
        struct weir_step steps[5];

        for (size_t i = 0; i < 5; i++)
            steps[i] = (struct weir_step){
                .sql = &SQL_RENAME, .values = &values[1], .value_count = 2};
        steps[failing] = (struct weir_step){
            .sql = &SQL_ADD_AGAIN, .values = &values[0], .value_count = 1};

        check_db(weir_connection_begin(connection, &fixture->error), WEIR_OK);
        add(fixture, connection, 1, "first");
        check_db(weir_connection_savepoint(connection, &fixture->error), WEIR_OK);
        add(fixture, connection, 3, "third");
        check_db(weir_connection_execute_steps(connection, steps, 5, &fixture->error),
                 WEIR_CONSTRAINT);
        check(strstr(fixture->error.text, "add again") != NULL);
        check_db(weir_connection_savepoint_undo(connection, &fixture->error), WEIR_OK);

        check_int(count(fixture, connection), 1);
        check_usable(fixture, connection);
        weir_connection_rollback(connection);
        check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_item"), 0);
    }
    fixture_give(fixture, connection);
}

ENGINE_TEST(steps, with_a_value_that_does_not_fit_are_all_refused)
{
    struct weir_connection *connection = make_items(fixture, 0);
    const struct weir_value good[] = {weir_integer(1), weir_text(weir_str("one"))};
    const struct weir_value bad[] = {weir_integer(2), weir_text(weir_str("two \xff"))};
    struct weir_step steps[] = {
        {.sql = &SQL_ADD, .values = good, .value_count = 2},
        {.sql = &SQL_ADD, .values = bad, .value_count = 2},
    };

    check_db(weir_connection_begin(connection, &fixture->error), WEIR_OK);
    check_db(weir_connection_execute_steps(connection, steps, 2, &fixture->error),
             WEIR_INVALID);
    check_int(count(fixture, connection), 0);
    check_db(weir_connection_commit(connection, &fixture->error), WEIR_OK);
    fixture_give(fixture, connection);
}

/* ---- how they end ------------------------------------------------------------------ */

ENGINE_TEST(statement, that_takes_too_long_times_out)
{
    struct weir_db_options options = fixture_options(fixture);
    struct weir_connection *connection;
    struct weir_db *hasty;
    int64_t answer;

    options.statement_timeout_ns = WEIR_MILLISECONDS(200);
    hasty = fixture_open(fixture, &options);
    check_db(weir_db_acquire(hasty, &connection, &fixture->error), WEIR_OK);
    fixture_execute(fixture, connection,
                    "CREATE TABLE {p}_item (id $integer PRIMARY KEY, name $text)");

    for (int i = 0; i < 2; i++) {
        check_db(weir_connection_query_integer(connection, &SQL_SLOW[fixture->engine],
                                               NO_VALUES, &answer, &fixture->error),
                 WEIR_TIMEOUT);
        check_usable(fixture, connection);
    }
    weir_db_release(hasty, connection);
    weir_db_destroy(hasty);
}

/* The limit is for each statement, not for all that a connection does. */
ENGINE_TEST(statement, has_the_whole_timeout_for_itself)
{
    struct weir_db_options options = fixture_options(fixture);
    struct weir_connection *connection;
    struct weir_db *hasty;

    options.statement_timeout_ns = WEIR_MILLISECONDS(1000);
    hasty = fixture_open(fixture, &options);
    check_db(weir_db_acquire(hasty, &connection, &fixture->error), WEIR_OK);
    fixture_execute(fixture, connection,
                    "CREATE TABLE {p}_item (id $integer PRIMARY KEY, name $text)");

    for (int64_t end = fixture_deadline() + 1100, id = 1; fixture_deadline() < end; id++)
        add(fixture, connection, id, "quick");

    weir_db_release(hasty, connection);
    weir_db_destroy(hasty);
}

/* ---- helpers ----------------------------------------------------------------------- */

static struct weir_connection *make_items(struct fixture *fixture, int wanted)
{
    struct weir_connection *connection = fixture_take(fixture);
    char name[32];

    fixture_execute(fixture, connection,
                    "CREATE TABLE {p}_item (id $integer PRIMARY KEY, name $text)");
    if (wanted == 0)
        return connection;
    check_db(weir_connection_begin(connection, &fixture->error), WEIR_OK);
    for (int id = 1; id <= wanted; id++) {
        snprintf(name, sizeof name, "item %d", id);
        add(fixture, connection, id, name);
    }
    check_db(weir_connection_commit(connection, &fixture->error), WEIR_OK);
    return connection;
}

static void check_usable(struct fixture *fixture, struct weir_connection *connection)
{
    int64_t before = count(fixture, connection);

    add(fixture, connection, 1000000, "probe");
    check_int(count(fixture, connection), before + 1);
    check_db(weir_connection_execute(connection, &SQL_REMOVE,
                                     VALUES(weir_integer(1000000)), NULL,
                                     &fixture->error),
             WEIR_OK);
    check_int(count(fixture, connection), before);
}
