/*
 * Transactions, savepoints, locks, the database's clock, and the helper that tries again.
 */
#include <libpq-fe.h>
#include <mysql.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "db/transact.h"
#include "kit/db/numbered_items.h"

static void savepoint(struct fixture *fixture, struct weir_connection *connection);
static void keep(struct fixture *fixture, struct weir_connection *connection);
static void undo(struct fixture *fixture, struct weir_connection *connection);

/* ---- idle -------------------------------------------------------------------------- */

static void await_hangup(struct fixture *fixture, struct weir_connection *connection)
{
    void *native = weir_connection_native(connection);

    server_await_hangup(fixture->engine == WEIR_MARIADB ? mysql_get_socket(native)
                                                        : PQsocket(native));
}

/* The commit was not sent, so it is not in doubt. The application's, begun before, has
 * stood idle for longer and goes on. */
SERVER_TEST(transaction, of_the_library_that_is_idle_is_ended_by_the_server)
{
    struct weir_connection *theirs = make_items(fixture, 1);
    struct weir_connection *ours = fixture_take(fixture);

    begin(fixture, theirs);
    add(fixture, theirs, 2);
    check_db(weir_connection_begin_own(ours, &fixture->error), WEIR_OK);
    add(fixture, ours, 3);

    await_hangup(fixture, ours);

    check_db(weir_connection_commit(ours, &fixture->error), WEIR_LOST);
    add(fixture, theirs, 4);
    commit(fixture, theirs);
    check_int(seen_by_others(fixture), 3);
    fixture_give(fixture, ours);
    fixture_give(fixture, theirs);
}

static int64_t ask(struct fixture *fixture, struct weir_connection *connection,
                   const struct weir_sql *on_postgresql,
                   const struct weir_sql *on_mariadb)
{
    int64_t answer = -1;

    check_db(weir_connection_query_integer(
                 connection,
                 fixture->engine == WEIR_POSTGRESQL ? on_postgresql : on_mariadb,
                 NO_VALUES, &answer, &fixture->error),
             WEIR_OK);
    return answer;
}

/* What the session of an application would have without us. */
static bool is_as_by_default(struct fixture *fixture, struct weir_connection *connection)
{
    static const struct weir_sql SQL_PG = {
        .name = "default limit",
        .text = "SELECT (setting = reset_val)::int::bigint FROM pg_settings"
                " WHERE name = 'idle_in_transaction_session_timeout'",
    };
    static const struct weir_sql SQL_MARIA = {
        .name = "default limit",
        .text = "SELECT @@idle_transaction_timeout = @@global.idle_transaction_timeout"
                " AND @@idle_write_transaction_timeout ="
                " @@global.idle_write_transaction_timeout"
                " AND @@idle_readonly_transaction_timeout ="
                " @@global.idle_readonly_transaction_timeout",
    };

    return ask(fixture, connection, &SQL_PG, &SQL_MARIA) == 1;
}

static bool is_limited(struct fixture *fixture, struct weir_connection *connection)
{
    static const struct weir_sql SQL_PG = {
        .name = "limit",
        .text = "SELECT setting::bigint FROM pg_settings"
                " WHERE name = 'idle_in_transaction_session_timeout'",
    };
    static const struct weir_sql SQL_MARIA = {
        .name = "limit",
        .text = "SELECT CAST(IF(@@idle_write_transaction_timeout ="
                " @@idle_readonly_transaction_timeout AND"
                " @@idle_write_transaction_timeout = @@idle_transaction_timeout,"
                " 1000 * @@idle_transaction_timeout, -1) AS SIGNED)",
    };

    return ask(fixture, connection, &SQL_PG, &SQL_MARIA) == WEIR_IDLE_MS_MAX;
}

SERVER_TEST(transaction, of_the_application_may_be_idle_as_long_as_the_server_allows)
{
    struct weir_connection *connection = make_items(fixture, 0);

    for (int i = 0; i < 2; i++) { /* and between the library's */
        begin(fixture, connection);
        check(is_as_by_default(fixture, connection));
        commit(fixture, connection);
        check_db(weir_connection_begin_own(connection, &fixture->error), WEIR_OK);
        check(is_limited(fixture, connection));
        commit(fixture, connection);
        check_db(weir_connection_begin_read(connection, &fixture->error), WEIR_OK);
        check(is_limited(fixture, connection));
        commit(fixture, connection);
    }
    fixture_give(fixture, connection);
}

static enum weir_status look_at_limit(struct weir_connection *connection, void *argument,
                                      struct weir_error *error)
{
    (void)error;
    check(is_limited(argument, connection));
    return WEIR_OK;
}

static enum weir_status look_at_default(struct weir_connection *connection,
                                        void *argument, struct weir_error *error)
{
    (void)error;
    check(is_as_by_default(argument, connection));
    return WEIR_OK;
}

SERVER_TEST(transact, limits_how_long_its_bodies_are_idle_but_not_the_applications)
{
    check_db(weir_transact(fixture->db, look_at_limit, fixture, &fixture->error),
             WEIR_OK);
    check_db(weir_transact_soon(fixture->db, look_at_limit, fixture, &fixture->error),
             WEIR_OK);
    check_db(weir_transact_theirs(fixture->db, look_at_default, fixture, &fixture->error),
             WEIR_OK);
}

/* The settings of a session that has forgotten them are made anew, this one among
 * them. */
POSTGRESQL_TEST(transaction, of_the_library_is_limited_in_a_session_that_was_discarded)
{
    struct weir_connection *connection = make_items(fixture, 0);

    check_int(count(fixture, connection), 0);
    fixture_execute(fixture, connection, "DISCARD ALL");
    check_int(count(fixture, connection), 0); /* by which it is found out */
    check_db(weir_connection_begin_own(connection, &fixture->error), WEIR_OK);
    check(is_limited(fixture, connection));
    commit(fixture, connection);
    fixture_give(fixture, connection);
}

/* ---- all or nothing ---------------------------------------------------------------- */

ENGINE_TEST(transaction, is_seen_by_others_once_committed)
{
    struct weir_connection *connection = make_items(fixture, 0);

    begin(fixture, connection);
    add(fixture, connection, 1);
    add(fixture, connection, 2);
    check_int(count(fixture, connection), 2);
    check_int(seen_by_others(fixture), 0);

    commit(fixture, connection);

    check_int(seen_by_others(fixture), 2);
    fixture_give(fixture, connection);
}

ENGINE_TEST(transaction, is_as_if_it_had_not_been_once_rolled_back)
{
    struct weir_connection *connection = make_items(fixture, 1);

    begin(fixture, connection);
    add(fixture, connection, 2);
    weir_connection_rollback(connection);

    check_int(count(fixture, connection), 1);
    check_int(weir_connection_transaction(connection), WEIR_TRANSACTION_NONE);
    weir_connection_rollback(connection); /* none to roll back: harmless */
    begin(fixture, connection);
    add(fixture, connection, 2);
    commit(fixture, connection);
    check_int(seen_by_others(fixture), 2);
    fixture_give(fixture, connection);
}

ENGINE_TEST(transaction, is_rolled_back_when_its_connection_is_given_back)
{
    struct weir_connection *connection = make_items(fixture, 0);
    void *handle = weir_connection_native(connection);

    begin(fixture, connection);
    add(fixture, connection, 1);
    savepoint(fixture, connection);
    add(fixture, connection, 2);
    fixture_give(fixture, connection);

    check_int(seen_by_others(fixture), 0);
    check(fixture_is_free(fixture, "DELETE FROM weir_item"));
    connection = fixture_take(fixture);
    check(weir_connection_native(connection) == handle);
    check_int(weir_connection_transaction(connection), WEIR_TRANSACTION_NONE);
    begin(fixture, connection);
    add(fixture, connection, 1);
    commit(fixture, connection);
    check_int(seen_by_others(fixture), 1);
    fixture_give(fixture, connection);
}

ENGINE_TEST(transaction, that_failed_can_only_be_rolled_back)
{
    struct weir_connection *connection = make_items(fixture, 1);

    begin(fixture, connection);
    add(fixture, connection, 2);
    check_db(try_add(fixture, connection, 1), WEIR_CONSTRAINT);
    weir_connection_rollback(connection);

    check_int(weir_connection_transaction(connection), WEIR_TRANSACTION_NONE);
    check_int(count(fixture, connection), 1);
    fixture_give(fixture, connection);
}

/* PostgreSQL answers COMMIT of a failed transaction with ROLLBACK and calls it a
 * success. */
POSTGRESQL_TEST(transaction, that_failed_is_not_committed_and_says_so)
{
    struct weir_connection *connection = make_items(fixture, 1);

    begin(fixture, connection);
    add(fixture, connection, 2);
    check_db(try_add(fixture, connection, 1), WEIR_CONSTRAINT);
    check_int(weir_connection_transaction(connection), WEIR_TRANSACTION_FAILED);
    check(weir_connection_commit(connection, &fixture->error) != WEIR_OK);

    check_int(weir_connection_transaction(connection), WEIR_TRANSACTION_NONE);
    check_int(count(fixture, connection), 1);
    fixture_give(fixture, connection);
}

ENGINE_TEST(transaction, state_is_told_without_asking_the_server)
{
    struct weir_connection *connection = make_items(fixture, 0);

    check_int(weir_connection_transaction(connection), WEIR_TRANSACTION_NONE);
    begin(fixture, connection);
    check_int(weir_connection_transaction(connection), WEIR_TRANSACTION_OPEN);
    add(fixture, connection, 1);
    check_int(weir_connection_transaction(connection), WEIR_TRANSACTION_OPEN);
    commit(fixture, connection);
    check_int(weir_connection_transaction(connection), WEIR_TRANSACTION_NONE);
    fixture_give(fixture, connection);
}

ENGINE_TEST(transaction, may_be_empty)
{
    struct weir_connection *connection = make_items(fixture, 0);

    for (int i = 0; i < 10; i++) {
        begin(fixture, connection);
        commit(fixture, connection);
        begin(fixture, connection);
        weir_connection_rollback(connection);
    }
    check_int(weir_connection_transaction(connection), WEIR_TRANSACTION_NONE);
    fixture_give(fixture, connection);
}

/* A constraint that is looked at only now: the commit itself fails, and nothing is
 * left. */
ENGINE_TEST(transaction, is_gone_when_its_commit_fails)
{
    struct weir_connection *connection = make_items(fixture, 1);

    if (fixture->engine == WEIR_MARIADB) { /* has none that wait for the commit */
        fixture_give(fixture, connection);
        return;
    }
    fixture_execute(fixture, connection,
                    fixture_choose(fixture, "PRAGMA foreign_keys = ON", "SELECT 1", ""));
    fixture_execute(fixture, connection,
                    "CREATE TABLE {p}_part (item $integer REFERENCES {p}_item (id) "
                    "DEFERRABLE INITIALLY DEFERRED)");
    begin(fixture, connection);
    fixture_execute(fixture, connection, "INSERT INTO {p}_part VALUES (99)");
    add(fixture, connection, 2);
    check_db(weir_connection_commit(connection, &fixture->error), WEIR_CONSTRAINT);

    check_int(weir_connection_transaction(connection), WEIR_TRANSACTION_NONE);
    check_int(seen_by_others(fixture), 1);
    check(fixture_is_free(fixture, "DELETE FROM weir_item"));
    begin(fixture, connection);
    add(fixture, connection, 3);
    commit(fixture, connection);
    check_int(seen_by_others(fixture), 1);
    fixture_give(fixture, connection);
}

/* ---- reading only ------------------------------------------------------------------ */

ENGINE_TEST(transaction, for_reading_does_not_wait_for_a_writer)
{
    struct weir_connection *writer = make_items(fixture, 1);
    struct weir_connection *reader = fixture_take(fixture);

    begin(fixture, writer);
    add(fixture, writer, 2);
    check_db(weir_connection_begin_read(reader, &fixture->error), WEIR_OK);
    check_int(count(fixture, reader), 1);
    check_int(weir_connection_transaction(reader), WEIR_TRANSACTION_OPEN);
    commit(fixture, writer); /* nor the writer for the reader */
    check_db(weir_connection_commit(reader, &fixture->error), WEIR_OK);

    check_int(count(fixture, reader), 2);
    fixture_give(fixture, reader);
    fixture_give(fixture, writer);
}

static void sees_one_state(struct fixture *fixture)
{
    struct weir_connection *writer = make_items(fixture, 1);
    struct weir_connection *reader = fixture_take(fixture);

    check_db(weir_connection_begin_read(reader, &fixture->error), WEIR_OK);
    check_int(count(fixture, reader), 1);
    begin(fixture, writer);
    add(fixture, writer, 2);
    commit(fixture, writer);
    check_int(count(fixture, reader), 1);
    weir_connection_rollback(reader);

    check_int(count(fixture, reader), 2);
    fixture_give(fixture, reader);
    fixture_give(fixture, writer);
}

SQLITE_TEST(transaction, for_reading_sees_one_state)
{
    sees_one_state(fixture);
}

MARIADB_TEST(transaction, for_reading_sees_one_state)
{
    sees_one_state(fixture);
}

SERVER_TEST(transaction, for_reading_writes_nothing)
{
    struct weir_connection *connection = make_items(fixture, 1);

    check_db(weir_connection_begin_read(connection, &fixture->error), WEIR_OK);
    check(try_add(fixture, connection, 2) != WEIR_OK);
    weir_connection_rollback(connection);

    begin(fixture, connection); /* and the next one may write again */
    add(fixture, connection, 2);
    commit(fixture, connection);
    check_int(seen_by_others(fixture), 2);
    fixture_give(fixture, connection);
}

ENGINE_TEST(transaction, that_is_lent_is_not_ended_by_its_holder)
{
    struct weir_connection *connection = make_items(fixture, 0);

    begin(fixture, connection);
    add(fixture, connection, 1);
    weir_connection_lend(connection);

    check_db(weir_connection_commit(connection, &fixture->error), WEIR_INVALID);
    check_db(weir_connection_begin(connection, &fixture->error), WEIR_INVALID);
    check_db(weir_connection_examine(connection, &fixture->error), WEIR_OK);
    check_int(seen_by_others(fixture), 0);

    weir_connection_reclaim(connection);
    commit(fixture, connection);
    check_int(seen_by_others(fixture), 1);
    fixture_give(fixture, connection);
}

ENGINE_TEST(transaction, that_is_lent_and_rolled_back_is_found_out)
{
    struct weir_connection *connection = make_items(fixture, 0);

    begin(fixture, connection);
    add(fixture, connection, 1);
    weir_connection_lend(connection);
    weir_connection_rollback(connection);

    check_db(weir_connection_examine(connection, &fixture->error), WEIR_INVALID);

    weir_connection_reclaim(connection);
    fixture_give(fixture, connection);
    check_int(seen_by_others(fixture), 0);
}

static void check_as_before(struct fixture *fixture, struct weir_connection *connection)
{
    static const struct weir_sql SQL_SETTINGS = {
        .name = "settings",
        .text = "SELECT @@autocommit = 1 AND @@idle_transaction_timeout = 2"
                " AND @@idle_write_transaction_timeout = 2"
                " AND @@idle_readonly_transaction_timeout = 2",
    };
    int64_t same = 0;

    check_db(weir_connection_query_integer(connection, &SQL_SETTINGS, NO_VALUES, &same,
                                           &fixture->error),
             WEIR_OK);
    check_int(same, 1);
    check_int(weir_connection_transaction(connection), WEIR_TRANSACTION_NONE);
}

/* The next one to use the connection finds it as it was. */
MARIADB_TEST(lent, transaction_leaves_no_setting_behind)
{
    struct weir_connection *connection = make_items(fixture, 0);

    for (int i = 0; i < 2; i++) {
        check_db(weir_connection_begin_to_lend(connection, 5000000, &fixture->error),
                 WEIR_OK);
        add(fixture, connection, i);
        check_int(weir_connection_transaction(connection), WEIR_TRANSACTION_OPEN);
        if (i == 0)
            commit(fixture, connection);
        else
            weir_connection_rollback(connection);
        check_as_before(fixture, connection);
    }

    check_int(seen_by_others(fixture), 1);
    fixture_give(fixture, connection);
}

struct rival {
    struct fixture *fixture;
    struct weir_connection *connection;
    enum weir_status status;
};

static void *raise_first(void *argument)
{
    struct rival *self = argument;

    self->status = weir_connection_execute(self->connection, &SQL_RAISE,
                                           VALUES(weir_integer(1)), NULL, NULL);
    return NULL;
}

/* Somebody who does not look at errors: the server has rolled back, and nobody has told
 * us. */
MARIADB_TEST(lent, transaction_that_the_server_gave_up_commits_nothing)
{
    struct weir_connection *connection = make_items(fixture, 2);
    struct weir_connection *other = fixture_take(fixture);
    struct rival rival = {.fixture = fixture, .connection = other};
    MYSQL *native = weir_connection_native(connection);
    pthread_t thread;

    begin(fixture, other);
    fixture_execute(fixture, other,
                    "INSERT INTO {p}_item SELECT seq, 0"
                    " FROM seq_100_to_200"); /* worth more than ours */
    fixture_execute(fixture, other, "UPDATE {p}_item SET n = 1 WHERE id = 2");
    check_db(weir_connection_begin_to_lend(connection, 60000000, &fixture->error),
             WEIR_OK);
    savepoint(fixture, connection);
    weir_connection_lend(connection);
    check_int(mysql_query(native, "UPDATE weir_item SET n = 5 WHERE id = 1"), 0);
    check_int(pthread_create(&thread, NULL, raise_first, &rival), 0);
    check(mysql_query(native, "UPDATE weir_item SET n = 5 WHERE id = 2") != 0);
    pthread_join(thread, NULL);
    weir_connection_rollback(other);
    check_int(mysql_query(native, "UPDATE weir_item SET n = 5 WHERE id = 1"), 0);
    weir_connection_reclaim(connection);

    check(weir_connection_savepoint_renew(connection, &fixture->error) != WEIR_OK);

    weir_connection_rollback(connection);
    check_status(rival.status, WEIR_OK);
    check_int(fixture_ask(fixture, "SELECT max(n) FROM weir_item"), 0);
    check_as_before(fixture, connection);
    fixture_give(fixture, connection);
    fixture_give(fixture, other);
}

/* ---- savepoints -------------------------------------------------------------------- */

ENGINE_TEST(savepoint, that_is_kept_belongs_to_the_transaction)
{
    struct weir_connection *connection = make_items(fixture, 0);

    begin(fixture, connection);
    add(fixture, connection, 1);
    savepoint(fixture, connection);
    add(fixture, connection, 2);
    keep(fixture, connection);
    add(fixture, connection, 3);
    commit(fixture, connection);

    check_int(seen_by_others(fixture), 3);
    fixture_give(fixture, connection);
}

ENGINE_TEST(savepoint, that_is_undone_takes_back_only_what_came_after)
{
    struct weir_connection *connection = make_items(fixture, 0);

    begin(fixture, connection);
    add(fixture, connection, 1);
    savepoint(fixture, connection);
    add(fixture, connection, 2);
    undo(fixture, connection);
    add(fixture, connection, 3);
    savepoint(fixture, connection);
    add(fixture, connection, 4);
    keep(fixture, connection);
    commit(fixture, connection);

    check_int(fixture_ask(fixture, "SELECT sum(id) FROM weir_item"), 1 + 3 + 4);
    fixture_give(fixture, connection);
}

ENGINE_TEST(savepoint, nests)
{
    struct weir_connection *connection = make_items(fixture, 0);

    begin(fixture, connection);
    savepoint(fixture, connection);
    add(fixture, connection, 1);
    savepoint(fixture, connection);
    add(fixture, connection, 2);
    savepoint(fixture, connection);
    add(fixture, connection, 4);
    undo(fixture, connection); /* takes 4 */
    keep(fixture, connection); /* 2 stays for now */
    savepoint(fixture, connection);
    add(fixture, connection, 8);
    keep(fixture, connection);
    check_int(count(fixture, connection), 3);
    undo(fixture, connection); /* takes all */
    check_int(count(fixture, connection), 0);
    savepoint(fixture, connection);
    add(fixture, connection, 16);
    keep(fixture, connection);
    commit(fixture, connection);

    check_int(fixture_ask(fixture, "SELECT sum(id) FROM weir_item"), 16);
    fixture_give(fixture, connection);
}

/* As many as a transactional handler may use. */
ENGINE_TEST(savepoint, that_is_renewed_keeps_what_came_before)
{
    struct weir_connection *connection = make_items(fixture, 0);

    begin(fixture, connection);
    savepoint(fixture, connection);
    for (int64_t i = 1; i <= 5; i++) {
        add(fixture, connection, i);
        check_db(weir_connection_savepoint_renew(connection, &fixture->error), WEIR_OK);
    }
    add(fixture, connection, 6);
    undo(fixture, connection);

    check_int(count(fixture, connection), 5);
    commit(fixture, connection);
    fixture_give(fixture, connection);
}

ENGINE_TEST(savepoint, may_be_returned_to_again_and_again)
{
    struct weir_connection *connection = make_items(fixture, 1);

    begin(fixture, connection);
    add(fixture, connection, 2);
    savepoint(fixture, connection);
    for (int i = 0; i < 3; i++) {
        add(fixture, connection, 3);
        check_db(try_add(fixture, connection, 1), WEIR_CONSTRAINT);
        check_db(weir_connection_savepoint_return(connection, &fixture->error), WEIR_OK);
        check_int(count(fixture, connection), 2);
    }

    commit(fixture, connection);
    check_int(seen_by_others(fixture), 2);
    fixture_give(fixture, connection);
}

ENGINE_TEST(savepoint, nests_deeply)
{
    enum { DEPTH = 60 };
    struct weir_connection *connection = make_items(fixture, 0);

    begin(fixture, connection);
    for (int i = 0; i < DEPTH; i++) {
        savepoint(fixture, connection);
        add(fixture, connection, i);
    }
    for (int i = 0; i < DEPTH / 2; i++)
        undo(fixture, connection);
    for (int i = 0; i < DEPTH / 2; i++)
        keep(fixture, connection);
    commit(fixture, connection);

    check_int(seen_by_others(fixture), DEPTH / 2);
    fixture_give(fixture, connection);
}

ENGINE_TEST(savepoint, saves_the_transaction_from_an_error)
{
    struct weir_connection *connection = make_items(fixture, 1);

    begin(fixture, connection);
    add(fixture, connection, 2);
    for (int i = 0; i < 3; i++) {
        savepoint(fixture, connection);
        add(fixture, connection, 100);
        check_db(try_add(fixture, connection, 1), WEIR_CONSTRAINT);
        undo(fixture, connection);
        check_int(weir_connection_transaction(connection), WEIR_TRANSACTION_OPEN);
    }
    add(fixture, connection, 3);
    commit(fixture, connection);

    check_int(fixture_ask(fixture, "SELECT sum(id) FROM weir_item"), 1 + 2 + 3);
    fixture_give(fixture, connection);
}

/* Savepoints that are open when a transaction ends are gone with it. */
ENGINE_TEST(savepoint, ends_with_its_transaction)
{
    struct weir_connection *connection = make_items(fixture, 0);

    begin(fixture, connection);
    savepoint(fixture, connection);
    savepoint(fixture, connection);
    add(fixture, connection, 1);
    weir_connection_rollback(connection);

    begin(fixture, connection);
    savepoint(fixture, connection);
    add(fixture, connection, 2);
    keep(fixture, connection);
    commit(fixture, connection);
    check_int(fixture_ask(fixture, "SELECT sum(id) FROM weir_item"), 2);
    fixture_give(fixture, connection);
}

/* ---- locks ------------------------------------------------------------------------- */

/* Try to change item 1 in a transaction of its own; the status of the step that
 * failed. */
static enum weir_status try_raise(struct fixture *fixture,
                                  struct weir_connection *connection)
{
    enum weir_status status = weir_connection_begin(connection, &fixture->error);

    if (status == WEIR_OK)
        status = weir_connection_execute(connection, &SQL_RAISE, VALUES(weir_integer(1)),
                                         NULL, &fixture->error);
    if (status == WEIR_OK)
        status = weir_connection_commit(connection, &fixture->error);
    else
        weir_connection_rollback(connection);
    return status;
}

ENGINE_TEST(lock, that_is_not_to_be_had_in_time_ends_the_wait)
{
    struct weir_db_options options = fixture_options(fixture);
    struct weir_connection *holder = make_items(fixture, 1);
    struct weir_connection *waiter;
    struct weir_db *hasty;

    options.lock_timeout_ns = WEIR_MILLISECONDS(100); /* MariaDB makes a second of it */
    hasty = fixture_open(fixture, &options);
    check_db(weir_db_acquire(hasty, &waiter, &fixture->error), WEIR_OK);
    begin(fixture, holder);
    check_db(weir_connection_execute(holder, &SQL_RAISE, VALUES(weir_integer(1)), NULL,
                                     &fixture->error),
             WEIR_OK);

    check_db(try_raise(fixture, waiter), WEIR_LOCKED);
    check_int(weir_connection_transaction(waiter), WEIR_TRANSACTION_NONE);
    commit(fixture, holder);
    check_db(try_raise(fixture, waiter), WEIR_OK);

    check_int(fixture_ask(fixture, "SELECT n FROM weir_item"), 2);
    weir_db_release(hasty, waiter);
    weir_db_destroy(hasty);
    fixture_give(fixture, holder);
}

struct waiter {
    struct fixture *fixture;
    struct weir_error error;
    enum weir_status status;
    _Atomic bool started;
    _Atomic bool ended;
};

static void *wait_for_the_lock(void *argument)
{
    struct waiter *self = argument;
    struct weir_connection *connection = NULL;

    self->status = weir_db_acquire(self->fixture->db, &connection, &self->error);
    self->started = true;
    if (self->status == WEIR_OK)
        self->status = weir_connection_begin(connection, &self->error);
    if (self->status == WEIR_OK)
        self->status = weir_connection_execute(
            connection, &SQL_RAISE, VALUES(weir_integer(1)), NULL, &self->error);
    if (self->status == WEIR_OK)
        self->status = weir_connection_commit(connection, &self->error);
    weir_db_release(self->fixture->db, connection);
    self->ended = true;
    return NULL;
}

/* A wait that is not too long ends with the lock. */
ENGINE_TEST(lock, is_had_by_the_waiter_once_it_is_given_back)
{
    struct weir_connection *holder = make_items(fixture, 1);
    struct waiter waiter = {.fixture = fixture};
    pthread_t thread;

    begin(fixture, holder);
    check_db(weir_connection_execute(holder, &SQL_RAISE, VALUES(weir_integer(1)), NULL,
                                     &fixture->error),
             WEIR_OK);
    check_int(pthread_create(&thread, NULL, wait_for_the_lock, &waiter), 0);
    wait_until(waiter.started);
    /* Not from innodb_trx: whoever asks that more often than ten times a second is told
     * the same for ever. */
    if (fixture->server != NULL)
        wait_until(
            fixture_ask(fixture,
                        fixture_choose(fixture, "",
                                       "SELECT count(*) FROM pg_locks WHERE NOT granted",
                                       "SELECT variable_value FROM information_schema."
                                       "global_status WHERE variable_name ="
                                       " 'INNODB_ROW_LOCK_CURRENT_WAITS'")) > 0);
    check(!waiter.ended);
    commit(fixture, holder);
    pthread_join(thread, NULL);

    check_str(waiter.error.text, "");
    check_status(waiter.status, WEIR_OK);
    check_int(fixture_ask(fixture, "SELECT n FROM weir_item"), 2);
    fixture_give(fixture, holder);
}

/* ---- the clock --------------------------------------------------------------------- */

ENGINE_TEST(clock, is_the_time_in_microseconds)
{
    struct weir_connection *connection = fixture_take(fixture);
    bool finer_than_ms = false;
    int64_t before_us = 0;

    for (int i = 0; i < 200; i++) {
        struct timespec now;
        int64_t ours_us, us = 0;

        check_db(weir_connection_clock(connection, &us, &fixture->error), WEIR_OK);
        clock_gettime(CLOCK_REALTIME, &now);
        ours_us = (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
        check_in_range(us, ours_us - 60000000, ours_us + 1000000);
        check(us >= before_us);
        finer_than_ms = finer_than_ms || us % 1000 != 0;
        before_us = us;
    }
    check(finer_than_ms);
    fixture_give(fixture, connection);
}

/* Not the time at which the transaction began. */
ENGINE_TEST(clock, goes_on_inside_a_transaction)
{
    struct weir_connection *connection = fixture_take(fixture);
    int64_t first_us, us = 0;

    begin(fixture, connection);
    check_db(weir_connection_clock(connection, &first_us, &fixture->error), WEIR_OK);
    do
        check_db(weir_connection_clock(connection, &us, &fixture->error), WEIR_OK);
    while (us < first_us + 3000);
    commit(fixture, connection);
    fixture_give(fixture, connection);
}

/* Whatever the machine's time zone and the server's. */
SERVER_TEST(clock, does_not_depend_on_the_time_zone)
{
    struct weir_connection *connection = fixture_take(fixture);
    int64_t utc_us, there_us;

    check_db(weir_connection_clock(connection, &utc_us, &fixture->error), WEIR_OK);
    fixture_execute(fixture, connection,
                    fixture_choose(fixture, "", "SET timezone = 'Asia/Kathmandu'",
                                   "SET time_zone = '+05:45'"));
    check_db(weir_connection_clock(connection, &there_us, &fixture->error), WEIR_OK);

    if (fixture->engine == WEIR_POSTGRESQL)
        check_in_range(there_us - utc_us, 0, 60000000);
    fixture_give(fixture, connection);
}

/* ---- the clock inside a statement -------------------------------------------------- */

static const struct weir_sql SQL_NOW = {
    .name = "now",
    .text = "SELECT {now}",
    .parameters = "",
};

static int64_t read_now(struct fixture *fixture, struct weir_connection *connection)
{
    int64_t us = 0;

    check_db(weir_connection_query_integer(connection, &SQL_NOW, NO_VALUES, &us,
                                           &fixture->error),
             WEIR_OK);
    return us;
}

/* Between two readings of the same clock, and an integer to the microsecond. */
ENGINE_TEST(now, is_the_databases_clock)
{
    struct weir_connection *connection = fixture_take(fixture);
    bool finer_than_ms = false;

    for (int i = 0; i < 200; i++) {
        int64_t before_us = 0, after_us = 0, us;

        check_db(weir_connection_clock(connection, &before_us, &fixture->error), WEIR_OK);
        us = read_now(fixture, connection);
        check_db(weir_connection_clock(connection, &after_us, &fixture->error), WEIR_OK);
        check_in_range(us, before_us, after_us);
        finer_than_ms = finer_than_ms || us % 1000 != 0;
    }
    check(finer_than_ms);
    fixture_give(fixture, connection);
}

/* Not the time at which the transaction began. */
ENGINE_TEST(now, goes_on_inside_a_transaction)
{
    struct weir_connection *connection = fixture_take(fixture);
    int64_t first_us;

    begin(fixture, connection);
    first_us = read_now(fixture, connection);
    while (read_now(fixture, connection) < first_us + 3000)
        ;
    commit(fixture, connection);
    fixture_give(fixture, connection);
}

/* Also where there is a row to be compared with it, as in a lease. */
ENGINE_TEST(now, can_be_stored_and_compared)
{
    static const struct weir_sql SQL_SET = {
        .name = "set",
        .text = "INSERT INTO {p}_until (us) VALUES ({now} + {1})",
        .parameters = "i"};
    static const struct weir_sql SQL_OVER = {
        .name = "over",
        .text = "SELECT count(*) FROM {p}_until WHERE us < {now}",
        .parameters = ""};
    struct weir_connection *connection = fixture_take(fixture);
    int64_t over = 0;

    fixture_execute(fixture, connection, "CREATE TABLE {p}_until (us $integer)");
    for (int64_t minutes = -2; minutes <= 1; minutes++) {
        if (minutes == 0)
            continue;
        check_db(weir_connection_execute(connection, &SQL_SET,
                                         VALUES(weir_integer(minutes * 60000000)), NULL,
                                         &fixture->error),
                 WEIR_OK);
    }
    check_db(weir_connection_query_integer(connection, &SQL_OVER, NO_VALUES, &over,
                                           &fixture->error),
             WEIR_OK);
    check_int(over, 2);
    fixture_give(fixture, connection);
}

SERVER_TEST(now, does_not_depend_on_the_time_zone)
{
    struct weir_connection *connection = fixture_take(fixture);
    int64_t utc_us = read_now(fixture, connection);

    fixture_execute(fixture, connection,
                    fixture_choose(fixture, "", "SET timezone = 'Asia/Kathmandu'",
                                   "SET time_zone = '+05:45'"));

    check_in_range(read_now(fixture, connection) - utc_us, 0, 60000000);
    fixture_give(fixture, connection);
}

/* ---- trying again ------------------------------------------------------------------ */

struct body {
    int runs;
    enum weir_status answers[16]; /* of the first runs; then WEIR_OK */
};

static enum weir_status run_body(struct weir_connection *connection, void *argument,
                                 struct weir_error *error)
{
    struct body *self = argument;
    enum weir_status status = weir_connection_execute(
        connection, &SQL_RAISE, VALUES(weir_integer(1)), NULL, error);

    if (status != WEIR_OK)
        return status;
    status = self->runs < 16 ? self->answers[self->runs] : WEIR_OK;
    self->runs++;
    if (status != WEIR_OK)
        return weir_error_set(error, status, "the body's own words");
    return WEIR_OK;
}

ENGINE_TEST(transact, commits_what_the_body_did)
{
    struct body body = {0};

    fixture_give(fixture, make_items(fixture, 1));
    check_db(weir_transact(fixture->db, run_body, &body, &fixture->error), WEIR_OK);

    check_int(body.runs, 1);
    check_int(fixture_ask(fixture, "SELECT n FROM weir_item"), 1);
}

ENGINE_TEST(transact, repeats_a_body_that_met_a_conflict)
{
    struct body body = {.answers = {WEIR_CONFLICT, WEIR_LOCKED, WEIR_CONFLICT}};

    fixture_give(fixture, make_items(fixture, 1));
    check_db(weir_transact(fixture->db, run_body, &body, &fixture->error), WEIR_OK);

    check_int(body.runs, 4);
    check_int(fixture_ask(fixture, "SELECT n FROM weir_item"), 1);
}

ENGINE_TEST(transact, passes_any_other_status_through_and_rolls_back)
{
    static const enum weir_status STATUSES[] = {
        WEIR_CONSTRAINT, WEIR_INVALID, WEIR_FAILED,    WEIR_NO_ROW,   WEIR_SCHEMA,
        WEIR_DENIED,     WEIR_TIMEOUT, WEIR_CANCELLED, WEIR_IN_DOUBT, WEIR_DISK_FULL};

    fixture_give(fixture, make_items(fixture, 1));
    for (size_t i = 0; i < sizeof STATUSES / sizeof STATUSES[0]; i++) {
        struct body body = {.answers = {STATUSES[i]}};

        check_db(weir_transact(fixture->db, run_body, &body, &fixture->error),
                 STATUSES[i]);
        check_int(body.runs, 1);
        check(strstr(fixture->error.text, "the body's own words") != NULL);
    }
    check_int(fixture_ask(fixture, "SELECT n FROM weir_item"), 0);
}

ENGINE_TEST(transact, gives_up_after_so_many_attempts)
{
    struct body body = {0};

    for (int i = 0; i < 16; i++)
        body.answers[i] = WEIR_CONFLICT;
    fixture_give(fixture, make_items(fixture, 1));
    check_db(weir_transact(fixture->db, run_body, &body, &fixture->error), WEIR_CONFLICT);

    check_int(body.runs, WEIR_TRANSACT_ATTEMPTS_MAX);
    check_int(fixture_ask(fixture, "SELECT n FROM weir_item"), 0);
}

ENGINE_TEST(transact, works_on_a_connection_that_is_held)
{
    struct weir_connection *connection = make_items(fixture, 1);
    struct body good = {.answers = {WEIR_CONFLICT}};
    struct body bad = {.answers = {WEIR_CONSTRAINT}};
    struct body lost = {.answers = {WEIR_LOST}};

    check_db(weir_transact_on(connection, run_body, &good, &fixture->error), WEIR_OK);
    check_int(good.runs, 2);
    check_db(weir_transact_on(connection, run_body, &bad, &fixture->error),
             WEIR_CONSTRAINT);
    check_int(bad.runs, 1);
    check_db(weir_transact_on(connection, run_body, &lost, &fixture->error), WEIR_LOST);
    check_int(lost.runs, 1); /* the same connection will not come back */

    check_int(weir_connection_transaction(connection), WEIR_TRANSACTION_NONE);
    check_int(fixture_ask(fixture, "SELECT n FROM weir_item"), 1);
    fixture_give(fixture, connection);
}

/* Two who take the same two rows in opposite order, and meet in the middle the first
 * time. */
struct crosser {
    struct weir_db *db;
    int64_t first;
    int64_t second;
    pthread_barrier_t *middle;
    int runs;
    enum weir_status status;
    struct weir_error error;
};

static enum weir_status cross(struct weir_connection *connection, void *argument,
                              struct weir_error *error)
{
    struct crosser *self = argument;
    enum weir_status status = weir_connection_execute(
        connection, &SQL_RAISE, VALUES(weir_integer(self->first)), NULL, error);

    if (self->runs++ == 0)
        pthread_barrier_wait(self->middle);
    if (status == WEIR_OK)
        status = weir_connection_execute(connection, &SQL_RAISE,
                                         VALUES(weir_integer(self->second)), NULL, error);
    return status;
}

static void *start_crossing(void *argument)
{
    struct crosser *self = argument;

    self->status = weir_transact(self->db, cross, self, &self->error);
    return NULL;
}

SERVER_TEST(transact, gets_both_of_a_deadlock_through)
{
    pthread_barrier_t middle;
    struct crosser crossers[2] = {
        {.db = fixture->db, .first = 1, .second = 2, .middle = &middle},
        {.db = fixture->db, .first = 2, .second = 1, .middle = &middle},
    };
    pthread_t thread;

    fixture_give(fixture, make_items(fixture, 2));
    pthread_barrier_init(&middle, NULL, 2);
    check_int(pthread_create(&thread, NULL, start_crossing, &crossers[1]), 0);
    (void)start_crossing(&crossers[0]);
    pthread_join(thread, NULL);
    pthread_barrier_destroy(&middle);

    check_status(crossers[0].status, WEIR_OK);
    check_status(crossers[1].status, WEIR_OK);
    /* Who lost may be quicker with its second attempt than the other with its first. */
    check(crossers[0].runs + crossers[1].runs >= 3);
    check_int(fixture_ask(fixture, "SELECT sum(n) FROM weir_item"), 4);
}

/* Many who all want the same row; none of their steps gets lost. */
struct raiser {
    struct weir_db *db;
    int raises;
    int failures;
    struct weir_error error; /* of the last failure */
};

static enum weir_status raise_once(struct weir_connection *connection, void *argument,
                                   struct weir_error *error)
{
    (void)argument;
    return weir_connection_execute(connection, &SQL_RAISE, VALUES(weir_integer(1)), NULL,
                                   error);
}

static void *raise_often(void *argument)
{
    struct raiser *self = argument;
    struct weir_error error;

    for (int i = 0; i < self->raises; i++)
        if (weir_transact(self->db, raise_once, NULL, &error) != WEIR_OK) {
            self->error = error;
            self->failures++;
        }
    return NULL;
}

ENGINE_TEST(transact, loses_nothing_when_many_want_the_same_row)
{
    enum { THREADS = 8, RAISES = 40 };
    struct raiser raisers[THREADS];
    pthread_t threads[THREADS];

    fixture_give(fixture, make_items(fixture, 1));
    for (int i = 0; i < THREADS; i++) {
        raisers[i] = (struct raiser){.db = fixture->db, .raises = RAISES};
        check_int(pthread_create(&threads[i], NULL, raise_often, &raisers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);

    for (int i = 0; i < THREADS; i++) {
        if (raisers[i].failures != 0)
            weir_test_fail(__FILE__, __LINE__, "%d failures: %s", raisers[i].failures,
                           raisers[i].error.text);
    }
    check_int(fixture_ask(fixture, "SELECT n FROM weir_item"), THREADS * RAISES);
}

/* ---- helpers ----------------------------------------------------------------------- */

/* With ids from 1. */
static void savepoint(struct fixture *fixture, struct weir_connection *connection)
{
    check_db(weir_connection_savepoint(connection, &fixture->error), WEIR_OK);
}

static void keep(struct fixture *fixture, struct weir_connection *connection)
{
    check_db(weir_connection_savepoint_keep(connection, &fixture->error), WEIR_OK);
}

static void undo(struct fixture *fixture, struct weir_connection *connection)
{
    check_db(weir_connection_savepoint_undo(connection, &fixture->error), WEIR_OK);
}
