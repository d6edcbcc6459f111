/*
 * One statement for many rows.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit/db/engines.h"
#include "kit/db/rows_time.h"

enum { COLUMNS = 7 };

static const struct weir_sql SQL_ADD_ROW = {
    .name = "add rows",
    .text = "INSERT INTO {p}_row (id, i, r, t, b, f, m) "
            "VALUES ({1}, {2}, {3}, {4}, {5}, {6}, {7})",
    .parameters = "iirtbfm",
};

static const struct weir_sql SQL_ADD_UNNESTED = {
    .name = "add rows",
    .text = "INSERT INTO {p}_row (id, i, r, t, b, f, m) "
            "SELECT * FROM unnest({1}, {2}, {3}, {4}, {5}, {6}, {7})",
    .parameters = "IIRTBFM",
};

static const struct weir_sql SQL_ALL = {
    .name = "all",
    .text = "SELECT id, i, r, t, b, f, m FROM {p}_row ORDER BY id",
};

static const struct weir_sql SQL_COUNT = {
    .name = "count",
    .text = "SELECT count(*) FROM {p}_row",
};

static const struct weir_sql *add_rows(const struct fixture *fixture);
static struct weir_connection *make_table(struct fixture *fixture);
static struct weir_value *make_rows(size_t count);
static void check_rows(struct fixture *fixture, struct weir_connection *connection,
                       const struct weir_value *values, size_t count);
static int64_t count_rows(struct fixture *fixture, struct weir_connection *connection);

static void goes_in_and_comes_out(struct fixture *fixture, size_t row_count)
{
    struct weir_connection *connection = make_table(fixture);
    struct weir_value *values = make_rows(row_count);
    int64_t changed = -1;

    check_db(weir_connection_begin(connection, &fixture->error), WEIR_OK);
    check_db(weir_connection_execute_many(connection, add_rows(fixture), values,
                                          row_count, COLUMNS, &changed, &fixture->error),
             WEIR_OK);
    check_int(changed, row_count);
    check_db(weir_connection_commit(connection, &fixture->error), WEIR_OK);

    check_rows(fixture, connection, values, row_count);
    free(values);
    fixture_give(fixture, connection);
}

ENGINE_TEST(many, may_be_none)
{
    goes_in_and_comes_out(fixture, 0);
}

ENGINE_TEST(many, may_be_one)
{
    goes_in_and_comes_out(fixture, 1);
}

ENGINE_TEST(many, may_be_two)
{
    goes_in_and_comes_out(fixture, 2);
}

ENGINE_TEST(many, may_be_a_thousand)
{
    goes_in_and_comes_out(fixture, 1000);
}

ENGINE_TEST(many, may_be_ten_thousand)
{
    goes_in_and_comes_out(fixture, 10000);
}

/* A whole column without a value, which is where a bulk has no type to go by. */
ENGINE_TEST(many, may_be_null_everywhere)
{
    enum { ROWS = 50 };
    struct weir_connection *connection = make_table(fixture);
    struct weir_value values[ROWS * COLUMNS] = {{0}};
    int64_t changed = -1;

    for (int i = 0; i < ROWS; i++)
        values[i * COLUMNS] = weir_integer(i);
    check_db(weir_connection_execute_many(connection, add_rows(fixture), values, ROWS,
                                          COLUMNS, &changed, &fixture->error),
             WEIR_OK);

    check_int(changed, ROWS);
    check_rows(fixture, connection, values, ROWS);
    fixture_give(fixture, connection);
}

/* Sizes that differ from row to row, empty ones and large ones among them. */
ENGINE_TEST(many, may_differ_in_size)
{
    enum { ROWS = 40, LARGE = 300000 };
    struct weir_connection *connection = make_table(fixture);
    struct weir_value values[ROWS * COLUMNS] = {{0}};
    char *large = malloc(LARGE);

    check(large != NULL);
    memset(large, 'x', LARGE);
    for (size_t i = 0; i < ROWS; i++) {
        size_t size = i % 4 == 0 ? 0 : i % 4 == 1 ? LARGE : i * 100;

        values[i * COLUMNS] = weir_integer((int64_t)i);
        values[i * COLUMNS + 3] = weir_text((struct weir_str){large, size});
        values[i * COLUMNS + 4] = weir_bytes(large, i % 4 == 2 ? LARGE : i);
    }
    check_db(weir_connection_execute_many(connection, add_rows(fixture), values, ROWS,
                                          COLUMNS, NULL, &fixture->error),
             WEIR_OK);

    check_rows(fixture, connection, values, ROWS);
    free(large);
    fixture_give(fixture, connection);
}

/* In a transaction a constraint lets all in or none, wherever the bad row is. */
ENGINE_TEST(many, are_all_or_none_when_a_constraint_is_violated)
{
    enum { ROWS = 300 };
    static const size_t PLACES[] = {0, 1, ROWS / 2, ROWS - 1};
    struct weir_connection *connection = make_table(fixture);
    struct weir_value *values = make_rows(ROWS);

    check_db(weir_connection_execute_many(connection, add_rows(fixture), values, 1,
                                          COLUMNS, NULL, &fixture->error),
             WEIR_OK);
    for (size_t i = 0; i < sizeof PLACES / sizeof PLACES[0]; i++) {
        int64_t changed = -1;

        for (size_t row = 0; row < ROWS; row++)
            values[row * COLUMNS] = weir_integer(1000 + (int64_t)row);
        values[PLACES[i] * COLUMNS] = weir_integer(0); /* which is there */

        check_db(weir_connection_begin(connection, &fixture->error), WEIR_OK);
        check_db(weir_connection_savepoint(connection, &fixture->error), WEIR_OK);
        check_db(weir_connection_execute_many(connection, add_rows(fixture), values, ROWS,
                                              COLUMNS, &changed, &fixture->error),
                 WEIR_CONSTRAINT);
        check(strstr(fixture->error.text, "add rows") != NULL);
        check_int(changed, 0);
        check_db(weir_connection_savepoint_undo(connection, &fixture->error), WEIR_OK);
        check_int(count_rows(fixture, connection), 1);
        check_db(weir_connection_commit(connection, &fixture->error), WEIR_OK);
        check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_row"), 1);
    }
    free(values);
    fixture_give(fixture, connection);
}

ENGINE_TEST(many, with_a_value_that_does_not_fit_are_refused_before_anything_is_sent)
{
    enum { ROWS = 100 };
    struct weir_connection *connection = make_table(fixture);
    struct weir_value *values = make_rows(ROWS);

    values[(ROWS - 1) * COLUMNS + 3] = weir_text(weir_str("bad \xc3("));
    check_db(weir_connection_begin(connection, &fixture->error), WEIR_OK);
    check_db(weir_connection_execute_many(connection, add_rows(fixture), values, ROWS,
                                          COLUMNS, NULL, &fixture->error),
             WEIR_INVALID);
    values[(ROWS - 1) * COLUMNS + 3] = weir_integer(1);
    check_db(weir_connection_execute_many(connection, add_rows(fixture), values, ROWS,
                                          COLUMNS, NULL, &fixture->error),
             WEIR_INVALID);
    check_db(weir_connection_execute_many(connection, add_rows(fixture), values, ROWS,
                                          COLUMNS - 1, NULL, &fixture->error),
             WEIR_INVALID);
    check_int(weir_connection_transaction(connection), WEIR_TRANSACTION_OPEN);
    check_int(count_rows(fixture, connection), 0);
    check_db(weir_connection_commit(connection, &fixture->error), WEIR_OK);
    free(values);
    fixture_give(fixture, connection);
}

/* Updates and deletes count what they hit, not what they were asked for. */
ENGINE_TEST(many, tell_the_sum_of_what_they_changed)
{
    enum { ROWS = 100 };
    static const struct weir_sql SQL_REMOVE = {.name = "remove rows",
                                               .text =
                                                   "DELETE FROM {p}_row WHERE id = {1}",
                                               .parameters = "i"};
    static const struct weir_sql SQL_REMOVE_UNNESTED = {
        .name = "remove rows",
        .text = "DELETE FROM {p}_row WHERE id IN (SELECT * FROM unnest({1}))",
        .parameters = "I"};
    const struct weir_sql *remove =
        fixture->engine == WEIR_POSTGRESQL ? &SQL_REMOVE_UNNESTED : &SQL_REMOVE;
    struct weir_connection *connection = make_table(fixture);
    struct weir_value *values = make_rows(ROWS);
    struct weir_value ids[ROWS];
    int64_t changed = -1;

    check_db(weir_connection_execute_many(connection, add_rows(fixture), values, ROWS,
                                          COLUMNS, NULL, &fixture->error),
             WEIR_OK);
    for (int i = 0; i < ROWS; i++)
        ids[i] = weir_integer(i * 2); /* half of them are there */
    check_db(weir_connection_execute_many(connection, remove, ids, ROWS, 1, &changed,
                                          &fixture->error),
             WEIR_OK);

    check_int(changed, ROWS / 2);
    check_int(count_rows(fixture, connection), ROWS / 2);
    free(values);
    fixture_give(fixture, connection);
}

/* The next one starts from nothing: other number of rows, other nulls. */
ENGINE_TEST(many, leave_nothing_behind_for_the_next)
{
    static const size_t COUNTS[] = {100, 1, 37, 100, 2};
    struct weir_connection *connection = make_table(fixture);
    struct weir_value *values = make_rows(100);
    int64_t id = 1000, total = 0, outstanding = 0;

    for (size_t i = 0; i < sizeof COUNTS / sizeof COUNTS[0]; i++) {
        for (size_t row = 0; row < COUNTS[i]; row++)
            values[row * COLUMNS] = weir_integer(id++);
        check_db(weir_connection_execute_many(connection, add_rows(fixture), values,
                                              COUNTS[i], COLUMNS, NULL, &fixture->error),
                 WEIR_OK);
        total += (int64_t)COUNTS[i];
        check_int(count_rows(fixture, connection), total);
        if (i == 0)
            outstanding = fixture->heap.outstanding;
        check_int(fixture->heap.outstanding, outstanding);
    }
    free(values);
    fixture_give(fixture, connection);
}

/* ---- helpers ----------------------------------------------------------------------- */

static const struct weir_sql *add_rows(const struct fixture *fixture)
{
    return fixture->engine == WEIR_POSTGRESQL ? &SQL_ADD_UNNESTED : &SQL_ADD_ROW;
}

static struct weir_connection *make_table(struct fixture *fixture)
{
    struct weir_connection *connection = fixture_take(fixture);

    fixture_execute(fixture, connection,
                    "CREATE TABLE {p}_row (id $integer PRIMARY KEY, i $integer, r $real, "
                    "t $text, b $bytes, f $boolean, m $time)");
    return connection;
}

/* Every third value of each column is null, not in the same rows. */
static struct weir_value *make_rows(size_t count)
{
    static const char *const WORDS[] = {"", "a", "twelve words", "\xf0\x9f\x8c\x8a"};
    struct weir_value *values = calloc(count * COLUMNS + 1, sizeof *values);

    check(values != NULL);
    for (size_t i = 0; i < count; i++) {
        struct weir_value *row = &values[i * COLUMNS];
        const char *word = WORDS[i % 4];

        row[0] = weir_integer((int64_t)i);
        row[1] = weir_integer((int64_t)i * 1000003 - 5);
        row[2] = weir_real((double)i / 3);
        row[3] = weir_text(weir_str(word));
        row[4] = weir_bytes("b\0\xff", i % 4);
        row[5] = weir_boolean(i % 2 == 0);
        row[6] = weir_time((int64_t)i * 1000001 - 500);
        for (size_t column = 1; column < COLUMNS; column++)
            if ((i + column) % 3 == 0)
                row[column] = weir_null();
    }
    return values;
}

static void check_rows(struct fixture *fixture, struct weir_connection *connection,
                       const struct weir_value *values, size_t count)
{
    struct weir_rows rows;

    check_db(
        weir_connection_query(connection, &SQL_ALL, NO_VALUES, &rows, &fixture->error),
        WEIR_OK);
    for (size_t i = 0; i < count; i++) {
        const struct weir_value *row = &values[i * COLUMNS];

        check_db(weir_rows_next(&rows, &fixture->error), WEIR_OK);
        for (size_t column = 0; column < COLUMNS; column++)
            check_int(weir_rows_is_null(&rows, column),
                      row[column].type == WEIR_TYPE_NULL);
        check_int(weir_rows_integer(&rows, 0), row[0].as.integer);
        if (row[1].type != WEIR_TYPE_NULL)
            check_int(weir_rows_integer(&rows, 1), row[1].as.integer);
        if (row[2].type != WEIR_TYPE_NULL)
            check(weir_rows_real(&rows, 2) == row[2].as.real);
        if (row[3].type != WEIR_TYPE_NULL)
            check(weir_str_equal(weir_rows_text(&rows, 3), row[3].as.text));
        if (row[4].type != WEIR_TYPE_NULL)
            check(weir_str_equal(weir_rows_bytes(&rows, 4), row[4].as.text));
        if (row[5].type != WEIR_TYPE_NULL)
            check_int(weir_rows_boolean(&rows, 5), row[5].as.boolean);
        if (row[6].type != WEIR_TYPE_NULL)
            check_int(rows_time_us(&rows, 6), row[6].as.time_us);
    }
    check_db(weir_rows_next(&rows, &fixture->error), WEIR_NO_ROW);
    weir_rows_close(&rows);
}

static int64_t count_rows(struct fixture *fixture, struct weir_connection *connection)
{
    int64_t found = -1;

    check_db(weir_connection_query_integer(connection, &SQL_COUNT, NO_VALUES, &found,
                                           &fixture->error),
             WEIR_OK);
    return found;
}
