/*
 * Transactions that begin with their first statement, and those that end with some.
 *
 * Where the engine can they travel with the others, so whatever happens on the way must
 * leave the same behind as if each had gone by itself.
 */
#include <libpq-fe.h>
#include <stdio.h>
#include <string.h>

#include "base/fault_point.h"
#include "db/db.h"
#include "db/transact.h"
#include "kit/db/numbered_items.h"

static void begin_later(struct fixture *fixture, struct weir_connection *connection)
{
    check_db(weir_connection_begin_later(connection, &fixture->error), WEIR_OK);
}

/* Adds a row and raises it. */
struct finale {
    struct weir_value ids[2];
    struct weir_step steps[2];
    int released;
};

static void release(void *state)
{
    struct finale *self = state;

    self->released++;
}

static void end_with(struct finale *self, struct weir_connection *connection, int64_t id)
{
    *self = (struct finale){.ids = {weir_integer(id), weir_integer(id)}};
    self->steps[0] = (struct weir_step){&SQL_ADD, &self->ids[0], 1, 0};
    self->steps[1] = (struct weir_step){&SQL_RAISE, &self->ids[1], 1, 0};
    weir_connection_end_with(connection, self->steps, 2, release, self);
}

/* ---- beginning later --------------------------------------------------------------- */

ENGINE_TEST(late_begin, makes_one_transaction_of_all_that_follows)
{
    struct weir_connection *connection = make_items(fixture, 0);

    begin_later(fixture, connection);
    check_int(weir_connection_transaction(connection), WEIR_TRANSACTION_OPEN);
    add(fixture, connection, 1);
    add(fixture, connection, 2);
    check_int(weir_connection_transaction(connection), WEIR_TRANSACTION_OPEN);
    check_int(seen_by_others(fixture), 0);
    check_db(weir_connection_commit(connection, &fixture->error), WEIR_OK);

    check_int(seen_by_others(fixture), 2);
    check_int(weir_connection_transaction(connection), WEIR_TRANSACTION_NONE);
    fixture_give(fixture, connection);
}

ENGINE_TEST(late_begin, may_come_with_a_query_or_the_clock)
{
    struct weir_connection *connection = make_items(fixture, 0);
    int64_t found = -1;

    begin_later(fixture, connection);
    check_db(weir_connection_query_integer(connection, &SQL_COUNT, NO_VALUES, &found,
                                           &fixture->error),
             WEIR_OK);
    check_int(found, 0);
    add(fixture, connection, 1);
    weir_connection_rollback(connection);
    begin_later(fixture, connection);
    check_db(weir_connection_clock(connection, &found, &fixture->error), WEIR_OK);
    check(found > 1000000);
    add(fixture, connection, 1);
    weir_connection_rollback(connection);

    check_int(seen_by_others(fixture), 0);
    fixture_give(fixture, connection);
}

ENGINE_TEST(late_begin, may_come_with_a_savepoint)
{
    struct weir_connection *connection = make_items(fixture, 0);

    begin_later(fixture, connection);
    check_db(weir_connection_savepoint(connection, &fixture->error), WEIR_OK);
    add(fixture, connection, 1);
    check_db(weir_connection_savepoint_undo(connection, &fixture->error), WEIR_OK);
    add(fixture, connection, 2);
    check_db(weir_connection_commit(connection, &fixture->error), WEIR_OK);

    check_int(fixture_ask(fixture, "SELECT sum(id) FROM weir_item"), 2);
    fixture_give(fixture, connection);
}

ENGINE_TEST(late_begin, of_nothing_can_be_committed_and_rolled_back)
{
    struct weir_connection *connection = make_items(fixture, 0);

    begin_later(fixture, connection);
    check_db(weir_connection_commit(connection, &fixture->error), WEIR_OK);
    check_int(weir_connection_transaction(connection), WEIR_TRANSACTION_NONE);
    begin_later(fixture, connection);
    weir_connection_rollback(connection);
    check_int(weir_connection_transaction(connection), WEIR_TRANSACTION_NONE);

    add(fixture, connection, 1); /* by itself */
    check_int(seen_by_others(fixture), 1);
    fixture_give(fixture, connection);
}

ENGINE_TEST(late_begin, with_a_statement_that_fails_leaves_nothing_behind)
{
    struct weir_connection *connection = make_items(fixture, 0);

    add(fixture, connection, 1);
    begin_later(fixture, connection);
    check_db(weir_connection_execute(connection, &SQL_ADD, VALUES(weir_integer(1)), NULL,
                                     &fixture->error),
             WEIR_CONSTRAINT);
    weir_connection_rollback(connection);

    check_int(weir_connection_transaction(connection), WEIR_TRANSACTION_NONE);
    add(fixture, connection, 2);
    check_int(seen_by_others(fixture), 2);
    fixture_give(fixture, connection);
}

/* ---- ending with statements -------------------------------------------------------- */

ENGINE_TEST(ending, is_part_of_the_transaction)
{
    struct weir_connection *connection = make_items(fixture, 0);
    struct finale finale;

    begin_later(fixture, connection);
    add(fixture, connection, 1);
    end_with(&finale, connection, 2);
    check_int(finale.released, 0);
    check_db(weir_connection_commit(connection, &fixture->error), WEIR_OK);

    check_int(finale.released, 1);
    check_int(seen_by_others(fixture), 2);
    check_int(fixture_ask(fixture, "SELECT n FROM weir_item WHERE id = 2"), 1);
    check_int(weir_connection_transaction(connection), WEIR_TRANSACTION_NONE);
    fixture_give(fixture, connection);
}

ENGINE_TEST(ending, that_fails_undoes_the_transaction)
{
    struct weir_connection *connection = make_items(fixture, 0);
    struct finale finale;

    begin_later(fixture, connection);
    add(fixture, connection, 1);
    end_with(&finale, connection, 1);
    check_db(weir_connection_commit(connection, &fixture->error), WEIR_CONSTRAINT);

    check(strstr(fixture->error.text, "add") != NULL);
    check_int(finale.released, 1);
    check_int(seen_by_others(fixture), 0);
    check_int(weir_connection_transaction(connection), WEIR_TRANSACTION_NONE);
    add(fixture, connection, 1);
    fixture_give(fixture, connection);
}

ENGINE_TEST(ending, is_forgotten_by_a_rollback)
{
    struct weir_connection *connection = make_items(fixture, 0);
    struct finale finale;

    begin_later(fixture, connection);
    add(fixture, connection, 1);
    end_with(&finale, connection, 2);
    weir_connection_rollback(connection);
    check_int(finale.released, 1);
    begin_later(fixture, connection);
    add(fixture, connection, 3);
    check_db(weir_connection_commit(connection, &fixture->error), WEIR_OK);

    check_int(finale.released, 1);
    check_int(fixture_ask(fixture, "SELECT sum(id) FROM weir_item"), 3);
    fixture_give(fixture, connection);
}

/* ---- a server that says that it has not committed ---------------------------------- */

/* Its session is there until the server has let go of it. */
static bool has_session(struct fixture *fixture, int pid)
{
    char sql[96];

    (void)snprintf(sql, sizeof sql,
                   "SELECT count(*) FROM pg_stat_activity WHERE pid = %d", pid);
    return fixture_ask(fixture, sql) > 0;
}

static void end_session(struct fixture *fixture, struct weir_connection *connection)
{
    int pid = PQbackendPID(weir_connection_native(connection));
    char sql[96];

    (void)snprintf(sql, sizeof sql, "SELECT pg_terminate_backend(%d)::integer", pid);
    check_int(fixture_ask(fixture, sql), 1);
    wait_until(!has_session(fixture, pid));
}

/* Its farewell comes as the answer to the first of the steps, so the commit was never
 * reached. */
POSTGRESQL_TEST(ending, of_a_session_that_the_server_has_ended_is_not_in_doubt)
{
    struct weir_connection *connection = make_items(fixture, 0);
    struct finale finale;

    begin_later(fixture, connection);
    add(fixture, connection, 1);
    end_with(&finale, connection, 2);
    end_session(fixture, connection);
    check_db(weir_connection_commit(connection, &fixture->error), WEIR_LOST);

    check_str(fixture->error.sqlstate, "57P01");
    check_int(finale.released, 1);
    fixture_give(fixture, connection);
    check_int(seen_by_others(fixture), 0);
}

/* One that was fenced in the middle of the transaction. */
POSTGRESQL_TEST(ending,
                that_is_refused_because_the_server_takes_no_writes_is_not_in_doubt)
{
    struct weir_connection *connection = make_items(fixture, 0);
    struct finale finale;

    begin_later(fixture, connection);
    add(fixture, connection, 1);
    fixture_execute(fixture, connection, "SET TRANSACTION READ ONLY");
    end_with(&finale, connection, 2);
    check_db(weir_connection_commit(connection, &fixture->error), WEIR_LOST);

    check_str(fixture->error.sqlstate, "25006");
    fixture_give(fixture, connection);
    check_int(seen_by_others(fixture), 0);
}

struct rerun {
    struct fixture *fixture;
    struct finale finale;
    int runs;
};

static enum weir_status add_and_be_ended(struct weir_connection *connection,
                                         void *argument, struct weir_error *error)
{
    struct rerun *self = argument;
    enum weir_status status = weir_connection_execute(
        connection, &SQL_ADD, VALUES(weir_integer(1)), NULL, error);

    end_with(&self->finale, connection, 2);
    if (self->runs++ == 0)
        end_session(self->fixture, connection);
    return status;
}

POSTGRESQL_TEST(ending, of_a_session_that_the_server_has_ended_is_repeated)
{
    struct rerun rerun = {.fixture = fixture};

    fixture_give(fixture, make_items(fixture, 0));
    check_db(weir_transact_soon(fixture->db, add_and_be_ended, &rerun, &fixture->error),
             WEIR_OK);

    check_int(rerun.runs, 2);
    check_int(seen_by_others(fixture), 2);
}

#if defined(WEIR_POINTS)

/* What never left can be tried again; what may have arrived is in doubt. */
static void lose(struct fixture *fixture, const char *point, enum weir_status expected,
                 int64_t rows)
{
    struct weir_connection *connection = make_items(fixture, 0);
    struct weir_fault_points points;
    struct finale finale;

    begin_later(fixture, connection);
    add(fixture, connection, 1);
    end_with(&finale, connection, 2);
    weir_fault_points_init(&points);
    weir_fault_points_arm_once(&points, point, 1);
    weir_db_set_fault_points(fixture->db, &points);
    check_db(weir_connection_commit(connection, &fixture->error), expected);
    weir_db_set_fault_points(fixture->db, NULL);

    check_int(finale.released, 1);
    fixture_give(fixture, connection);
    check_int(seen_by_others(fixture), rows);
}

ENGINE_TEST(ending, that_was_not_sent_is_not_in_doubt)
{
    lose(fixture, "db.lose", WEIR_LOST, 0);
}

ENGINE_TEST(ending, whose_answer_is_lost_is_in_doubt)
{
    lose(fixture, "db.lose_after_commit", WEIR_IN_DOUBT, 2);
}

#endif
