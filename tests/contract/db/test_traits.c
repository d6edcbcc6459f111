/*
 * Tests of db/traits.h: what an engine says of itself is what it does.
 */
#include "db/traits.h"

#include <string.h>

#include "db/db.h"
#include "kit/db/engines.h"

static const struct weir_sql SQL_ADD = {
    .name = "add",
    .text = "INSERT INTO {p}_item (id) VALUES ({1})",
    .parameters = "i",
};

static const struct weir_sql SQL_COUNT = {
    .name = "count",
    .text = "SELECT count(*) FROM {p}_item",
};

static void run(struct fixture *fixture, struct weir_connection *connection,
                const char *text)
{
    check_db(weir_connection_execute_text(connection, text, &fixture->error), WEIR_OK);
}

static struct weir_connection *make_items(struct fixture *fixture)
{
    struct weir_connection *connection = fixture_take(fixture);

    check_db(weir_connection_execute_ddl(connection, "CREATE TABLE {p}_item (id INTEGER)",
                                         &fixture->error),
             WEIR_OK);
    return connection;
}

static enum weir_status add(struct fixture *fixture, struct weir_connection *connection)
{
    return weir_connection_execute(connection, &SQL_ADD, VALUES(weir_integer(1)), NULL,
                                   &fixture->error);
}

ENGINE_TEST(traits, are_the_same_by_engine_database_and_connection)
{
    struct weir_connection *connection = fixture_take(fixture);
    const struct weir_engine_traits *traits = weir_engine_traits(fixture->engine);

    check(weir_db_traits(fixture->db) == traits);
    check(weir_connection_traits(connection) == traits);
    check(strlen(traits->title) > 0);
    fixture_give(fixture, connection);
}

/* A reader that begins later does not count: both transactions write. */
ENGINE_TEST(traits, one_writer_keeps_a_second_transaction_from_writing)
{
    struct weir_db_options options = fixture_options(fixture);
    struct weir_connection *first = make_items(fixture);
    struct weir_connection *second = NULL;
    struct weir_db *other;
    enum weir_status status;

    options.lock_timeout_ns = WEIR_MILLISECONDS(20);
    other = fixture_open(fixture, &options);
    check_db(weir_db_acquire(other, &second, &fixture->error), WEIR_OK);
    check_db(weir_connection_begin(first, &fixture->error), WEIR_OK);
    check_db(add(fixture, first), WEIR_OK);
    status = add(fixture, second);

    check_int(status == WEIR_LOCKED, weir_connection_traits(first)->one_writer);
    weir_connection_rollback(first);
    weir_db_release(other, second);
    weir_db_destroy(other);
    fixture_give(fixture, first);
}

ENGINE_TEST(traits, ddl_that_commits_keeps_what_was_rolled_back)
{
    struct weir_connection *connection = make_items(fixture);
    int64_t count = -1;

    check_db(weir_connection_begin(connection, &fixture->error), WEIR_OK);
    check_db(add(fixture, connection), WEIR_OK);
    run(fixture, connection, "CREATE TABLE made_inside (id INTEGER)");
    weir_connection_rollback(connection);

    check_db(weir_connection_query_integer(connection, &SQL_COUNT, NO_VALUES, &count,
                                           &fixture->error),
             WEIR_OK);
    check_int(count > 0, weir_connection_traits(connection)->ddl_commits);
    fixture_give(fixture, connection);
}

ENGINE_TEST(traits, two_statements_in_one_text_are_refused_where_it_is_one)
{
    struct weir_connection *connection = fixture_take(fixture);
    enum weir_status status =
        weir_connection_execute_text(connection, "SELECT 1; SELECT 2", &fixture->error);

    check_int(status != WEIR_OK,
              weir_connection_traits(connection)->one_statement_per_text);
    fixture_give(fixture, connection);
}
