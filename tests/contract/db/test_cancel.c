/*
 * Cancelling a running statement from another thread.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "kit/db/items.h"

static const struct weir_sql SQL_RAISE = {
    .name = "raise",
    .text = "UPDATE {p}_item SET n = n + 1",
};

static const struct weir_sql SQL_ONE = {.name = "one", .text = "SELECT 1"};

/* Somebody who runs one thing on a connection, on a thread of its own. */
struct runner {
    struct weir_connection *connection;
    const struct weir_sql *sql;
    bool in_transaction;
    enum weir_status status;
    struct weir_error error;
    _Atomic bool ended;
};

static void *run(void *argument);
static void check_usable(struct fixture *fixture, struct weir_connection *connection);

/* Nobody can know when a statement has really begun; so it is cancelled until it ends. */
static void cancel_until_it_ends(struct runner *runner)
{
    pthread_t thread;

    check_int(pthread_create(&thread, NULL, run, runner), 0);
    while (!runner->ended) { /* bounded by the program's own limit */
        weir_connection_cancel(runner->connection);
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    }
    pthread_join(thread, NULL);
}

ENGINE_TEST(cancel, ends_a_statement_that_runs)
{
    struct weir_connection *connection = fixture_take(fixture);

    for (int i = 0; i < 3; i++) {
        struct runner runner = {.connection = connection,
                                .sql = &SQL_SLOW[fixture->engine]};

        cancel_until_it_ends(&runner);
        fixture->error = runner.error;
        check_db(runner.status, WEIR_CANCELLED);
        check_usable(fixture, connection);
    }
    fixture_give(fixture, connection);
}

/* PostgreSQL's transaction has then failed, the others' lives on; all can be rolled
 * back. */
ENGINE_TEST(cancel, inside_a_transaction_leaves_one_that_can_be_rolled_back)
{
    struct weir_connection *connection = fixture_take(fixture);
    struct runner runner = {.connection = connection,
                            .sql = &SQL_SLOW[fixture->engine],
                            .in_transaction = true};

    fixture_execute(fixture, connection, "CREATE TABLE {p}_item (n $integer)");
    cancel_until_it_ends(&runner);
    fixture->error = runner.error;
    check_db(runner.status, WEIR_CANCELLED);
    weir_connection_rollback(connection);

    check_int(weir_connection_transaction(connection), WEIR_TRANSACTION_NONE);
    check_usable(fixture, connection);
    fixture_give(fixture, connection);
}

ENGINE_TEST(cancel, ends_a_wait_for_a_lock)
{
    struct weir_connection *holder = fixture_take(fixture);
    struct weir_connection *connection = fixture_take(fixture);
    struct runner runner = {
        .connection = connection, .sql = &SQL_RAISE, .in_transaction = true};

    fixture_execute(fixture, holder, "CREATE TABLE {p}_item (n $integer)");
    fixture_execute(fixture, holder, "INSERT INTO {p}_item VALUES (1)");
    check_db(weir_connection_begin(holder, &fixture->error), WEIR_OK);
    check_db(
        weir_connection_execute(holder, &SQL_RAISE, NO_VALUES, NULL, &fixture->error),
        WEIR_OK);
    cancel_until_it_ends(&runner);
    fixture->error = runner.error;
    check_db(runner.status, WEIR_CANCELLED);
    weir_connection_rollback(connection);
    check_db(weir_connection_commit(holder, &fixture->error), WEIR_OK);

    check_usable(fixture, connection);
    check_int(fixture_ask(fixture, "SELECT n FROM weir_item"), 2);
    fixture_give(fixture, connection);
    fixture_give(fixture, holder);
}

/* It is for the statement that runs now: one that comes later is not meant. */
ENGINE_TEST(cancel, of_an_idle_connection_does_nothing)
{
    struct weir_connection *connection = fixture_take(fixture);

    for (int i = 0; i < 20; i++) {
        weir_connection_cancel(connection);
        check_usable(fixture, connection);
    }
    fixture_give(fixture, connection);
}

/* Whatever the connection is doing in that moment, it works or is cancelled, and lives
 * on. */
static void *run_short_ones(void *argument)
{
    struct runner *self = argument;

    self->status = WEIR_OK;
    for (int i = 0; i < 100 && self->status == WEIR_OK; i++) {
        int64_t answer;
        enum weir_status status = weir_connection_query_integer(
            self->connection, &SQL_ONE, NO_VALUES, &answer, &self->error);

        if (status != WEIR_OK && status != WEIR_CANCELLED)
            self->status = status;
    }
    self->ended = true;
    return NULL;
}

ENGINE_TEST(cancel, at_any_moment_is_safe)
{
    struct weir_connection *connection = fixture_take(fixture);
    struct runner runner = {.connection = connection};
    pthread_t thread;

    check_int(pthread_create(&thread, NULL, run_short_ones, &runner), 0);
    while (!runner.ended)
        weir_connection_cancel(connection);
    pthread_join(thread, NULL);

    fixture->error = runner.error;
    check_db(runner.status, WEIR_OK);
    check_usable(fixture, connection);
    fixture_give(fixture, connection);
}

static void *run(void *argument)
{
    struct runner *self = argument;

    self->status = WEIR_OK;
    if (self->in_transaction)
        self->status = weir_connection_begin(self->connection, &self->error);
    if (self->status == WEIR_OK)
        self->status = weir_connection_execute(self->connection, self->sql, NO_VALUES,
                                               NULL, &self->error);
    self->ended = true;
    return NULL;
}

static void check_usable(struct fixture *fixture, struct weir_connection *connection)
{
    int64_t answer = 0;

    for (int i = 0; i < 3; i++) {
        check_db(weir_connection_query_integer(connection, &SQL_ONE, NO_VALUES, &answer,
                                               &fixture->error),
                 WEIR_OK);
        check_int(answer, 1);
    }
}
