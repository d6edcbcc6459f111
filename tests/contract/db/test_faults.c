/*
 * The n-th call into a driver fails, for n until none does.
 *
 * Every call of a driver into its library asks weir_driver_fault() first. Here that
 * place is made to fail: once at the n-th call or from there on, with an error
 * ("db.fail") or with the connection lost ("db.lose"). Whatever n is, afterwards
 * nothing is leaked, nothing is locked, and what others see fits what the caller was
 * told.
 */
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "base/fault_point.h"
#include "db/db.h"
#include "db/sqlite/write_waiters.h"
#include "db/transact.h"
#include "kit/alloc_failures.h"
#include "kit/db/engines.h"
#include "kit/server/tcp_proxy.h"

enum { CALLS_MIN = 12, CALLS_MAX = 500 }; /* of a scenario into a driver */

static const struct weir_sql SQL_ADD = {
    .name = "add",
    .text = "INSERT INTO {p}_item (id, name) VALUES ({1}, {2})",
    .parameters = "it",
};

static const struct weir_sql SQL_ADD_ROWS[] = {
    [WEIR_SQLITE] = {.name = "add rows",
                     .text = "INSERT INTO {p}_item (id, name) VALUES ({1}, {2})",
                     .parameters = "it"},
    [WEIR_POSTGRESQL] = {.name = "add rows",
                         .text = "INSERT INTO {p}_item (id, name) "
                                 "SELECT * FROM unnest({1}, {2})",
                         .parameters = "IT"},
    [WEIR_MARIADB] = {.name = "add rows",
                      .text = "INSERT INTO {p}_item (id, name) VALUES ({1}, {2})",
                      .parameters = "it"},
};

static const struct weir_sql SQL_LIST = {
    .name = "list",
    .text = "SELECT id, name FROM {p}_item ORDER BY id",
};

/* All rows that one good run of the work leaves. */
enum { ROWS_OF_WORK = 7 };

struct fault {
    const char *point; /* "db.fail" or "db.lose" */
    bool persistent;   /* all later calls fail as well */
    uint64_t at;
};

/* What a run of the work came to. */
struct outcome {
    enum weir_status status; /* of the first call that failed */
    bool in_commit;          /* and that was a commit */
    bool committed;
};

static void make_items(struct fixture *fixture);
static void arm(struct weir_fault_points *points, const struct fault *fault);
static struct outcome work(struct weir_db *db, enum weir_engine engine,
                           struct weir_error *error);

/* ---- every call -------------------------------------------------------------------- */

/* What is wrong with it; NULL: nothing. */
static const char *judge(const struct fault *fault, const struct outcome *outcome,
                         int64_t seen)
{
    bool loses = strcmp(fault->point, "db.lose") == 0;

    if (outcome->committed)
        return seen == ROWS_OF_WORK ? NULL : "what was committed is not there";
    if (seen != 0 && !(outcome->status == WEIR_IN_DOUBT && seen == ROWS_OF_WORK))
        return "what was not committed is there";
    if (loses && outcome->in_commit)
        return outcome->status == WEIR_IN_DOUBT ? NULL : "a lost commit is in doubt";
    if (loses)
        return outcome->status == WEIR_LOST ? NULL : "what was lost must say so";
    /* A rollback that fails costs the connection. */
    return outcome->status == WEIR_FAILED || outcome->status == WEIR_LOST
               ? NULL
               : "what failed must say so";
}

static void check_outcome(struct fixture *fixture, const struct fault *fault,
                          const struct outcome *outcome)
{
    const char *problem;
    int64_t seen;

    /* A connection that was closed is noticed by its server a moment later. */
    wait_until(fixture_is_unlocked(fixture, "weir_item"));
    seen = fixture_ask(fixture, "SELECT count(*) FROM weir_item");
    problem = judge(fault, outcome, seen);
    if (problem != NULL)
        weir_test_fail(__FILE__, __LINE__, "%s at %d%s: %s: got %s, %d rows: %s",
                       fault->point, (int)fault->at, fault->persistent ? " and on" : "",
                       problem, weir_status_name(outcome->status), (int)seen,
                       fixture->error.text);
}

/* True when the fault was met. */
static bool run_with(struct fixture *fixture, const struct fault *fault)
{
    struct weir_db_options options = fixture_options(fixture);
    struct weir_faulty_heap heap;
    struct weir_fault_points points;
    struct outcome outcome;
    struct weir_db *db;
    int64_t left_over;
    bool met;

    weir_faulty_heap_init(&heap);
    options.heap = &heap.heap;
    db = fixture_open(fixture, &options);
    arm(&points, fault);
    weir_db_set_fault_points(db, &points);
    weir_error_clear(&fixture->error);

    outcome = work(db, fixture->engine, &fixture->error);

    met = outcome.status != WEIR_OK;
    if (met)
        check_outcome(fixture, fault, &outcome);
    /* A fault in the last clean-up is met by nobody; it must still have no effect. */
    weir_fault_points_init(&points);
    fixture_ask(fixture, "DELETE FROM weir_item");
    wait_until((outcome = work(db, fixture->engine, &fixture->error)).status !=
               WEIR_LOST); /* attempts to connect are spaced out */
    check_db(outcome.status, WEIR_OK);
    fixture_ask(fixture, "DELETE FROM weir_item");

    weir_db_destroy(db);
    left_over = heap.outstanding;
    check_int(left_over, 0);
    return met;
}

static void sweep(struct fixture *fixture, const char *point, bool persistent)
{
    struct fault fault = {.point = point, .persistent = persistent, .at = 1};
    uint64_t clean = 0;

    make_items(fixture);
    /* A driver may well ignore a fault in its clean-up: several in a row end the
     * sweep. */
    for (; clean < 8; fault.at++) {
        check(fault.at < CALLS_MAX);
        clean = run_with(fixture, &fault) ? 0 : clean + 1;
    }
    check(fault.at - clean > CALLS_MIN);
}

ENGINE_TEST(fault, of_any_call_leaves_nothing_behind)
{
    sweep(fixture, "db.fail", false);
}

ENGINE_TEST(fault, of_any_call_and_all_that_follow_leaves_nothing_behind)
{
    sweep(fixture, "db.fail", true);
}

ENGINE_TEST(fault, of_a_connection_lost_at_any_call_leaves_nothing_behind)
{
    sweep(fixture, "db.lose", false);
}

/* ---- the helper that tries again --------------------------------------------------- */

static enum weir_status add_one(struct weir_connection *connection, void *argument,
                                struct weir_error *error)
{
    (void)argument;
    return weir_connection_execute(connection, &SQL_ADD,
                                   VALUES(weir_integer(1), weir_text(weir_str("one"))),
                                   NULL, error);
}

/* What it says is what others see; and a connection that is lost once is no failure. */
ENGINE_TEST(fault, is_overcome_by_trying_again_unless_the_commit_is_in_doubt)
{
    int overcome = 0, in_doubt = 0, given_up = 0;
    bool met = true;

    make_items(fixture);
    for (uint64_t at = 1; met; at++) {
        struct weir_db *db;
        struct weir_db_options options = fixture_options(fixture);
        struct weir_fault_points points;
        enum weir_status status;
        int64_t seen;

        check(at < CALLS_MAX);
        db = fixture_open(fixture, &options);
        weir_fault_points_init(&points);
        weir_fault_points_arm_once(&points, "db.lose", at);
        weir_db_set_fault_points(db, &points);

        status = weir_transact(db, add_one, NULL, &fixture->error);

        met = points.armed[0].passed >= at;
        seen = fixture_ask(fixture, "SELECT count(*) FROM weir_item");
        if (status == WEIR_OK) {
            check_int(seen, 1);
            overcome += met;
        } else if (status == WEIR_IN_DOUBT) {
            check(seen == 0 || seen == 1);
            in_doubt++;
        } else {
            check_db(status, WEIR_LOST); /* it could not connect again in time */
            check_int(seen, 0);
            given_up++;
        }
        weir_db_destroy(db);
        fixture_ask(fixture, "DELETE FROM weir_item");
    }
    check(in_doubt >= 1);
    check(overcome >= 3);
    check(overcome > given_up);
}

/* ---- a commit whose answer is lost ------------------------------------------------- */

/* A connection through a wire, inside a transaction that has added one row. */
struct wired {
    struct tcp_proxy *tcp_proxy;
    struct weir_db *db;
    struct weir_connection *connection;
};

static struct wired begin_over_a_tcp_proxy(struct fixture *fixture)
{
    struct weir_db_options options = fixture_options(fixture);
    struct wired self = {.tcp_proxy = tcp_proxy_open(server_port(fixture->server))};
    char url[SERVER_URL_SIZE];

    make_items(fixture);
    snprintf(url, sizeof url, "%s://" SERVER_USER ":" SERVER_PASSWORD "@127.0.0.1:%d/%s",
             weir_engine_name(fixture->engine), tcp_proxy_port(self.tcp_proxy),
             fixture->database);
    options.url = url;
    self.db = fixture_open(fixture, &options);
    check_db(weir_db_acquire(self.db, &self.connection, &fixture->error), WEIR_OK);
    check_db(weir_connection_begin(self.connection, &fixture->error), WEIR_OK);
    check_db(add_one(self.connection, NULL, &fixture->error), WEIR_OK);
    return self;
}

static void end_over_a_tcp_proxy(struct wired *self)
{
    weir_db_release(self->db, self->connection);
    weir_db_destroy(self->db);
    tcp_proxy_close(self->tcp_proxy);
}

/* The server never heard of it: the same answer, and the row is not there. */
SERVER_TEST(fault, of_a_commit_that_never_arrives_is_in_doubt)
{
    struct wired wired = begin_over_a_tcp_proxy(fixture);

    tcp_proxy_set_mode(wired.tcp_proxy, TCP_PROXY_LOSES_NEXT_REQUEST);
    check_db(weir_connection_commit(wired.connection, &fixture->error), WEIR_IN_DOUBT);

    check_int(weir_connection_transaction(wired.connection), WEIR_TRANSACTION_NONE);
    wait_until(fixture_is_free(fixture, "INSERT INTO weir_item VALUES (1, 'mine')"));
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_item"), 1);
    end_over_a_tcp_proxy(&wired);
}

/* The server has done it: the same answer, and the row is there. */
SERVER_TEST(fault, of_a_commit_whose_answer_never_arrives_is_in_doubt)
{
    struct wired wired = begin_over_a_tcp_proxy(fixture);

    tcp_proxy_set_mode(wired.tcp_proxy, TCP_PROXY_LOSES_NEXT_ANSWER);
    check_db(weir_connection_commit(wired.connection, &fixture->error), WEIR_IN_DOUBT);

    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_item"), 1);
    end_over_a_tcp_proxy(&wired);
}

/* Before the commit there is no doubt. */
SERVER_TEST(fault, of_a_statement_whose_answer_never_arrives_is_a_loss)
{
    struct wired wired = begin_over_a_tcp_proxy(fixture);

    tcp_proxy_set_mode(wired.tcp_proxy, TCP_PROXY_LOSES_NEXT_ANSWER);
    check_db(weir_connection_execute_text(wired.connection,
                                          "INSERT INTO {p}_item VALUES (2, 'two')",
                                          &fixture->error),
             WEIR_LOST);

    wait_until(fixture_is_free(fixture, "INSERT INTO weir_item VALUES (1, 'mine')"));
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_item"), 1);
    end_over_a_tcp_proxy(&wired);
}

/* And the helper tries again: the cut comes while the body runs for the first time. */
static enum weir_status add_one_and_cut(struct weir_connection *connection,
                                        void *argument, struct weir_error *error)
{
    struct wired *self = argument;
    enum weir_status status = add_one(connection, NULL, error);

    if (self->tcp_proxy != NULL && status == WEIR_OK) {
        tcp_proxy_set_mode(self->tcp_proxy, TCP_PROXY_LOSES_NEXT_REQUEST);
        self->tcp_proxy = NULL;
        status = weir_connection_execute_text(connection, "SELECT 1", error);
    }
    return status;
}

SERVER_TEST(fault, of_the_wire_is_overcome_by_trying_again)
{
    struct wired wired = begin_over_a_tcp_proxy(fixture);
    struct wired first = wired;

    weir_connection_rollback(wired.connection);
    check_db(weir_transact(wired.db, add_one_and_cut, &first, &fixture->error), WEIR_OK);

    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_item"), 1);
    end_over_a_tcp_proxy(&wired);
}

SQLITE_TEST(fault, of_a_commit_whose_answer_never_arrives_is_in_doubt)
{
    struct weir_connection *connection;
    struct weir_fault_points points;

    make_items(fixture);
    weir_fault_points_init(&points);
    weir_fault_points_arm_once(&points, "db.lose_after_commit", 1);
    weir_db_set_fault_points(fixture->db, &points);
    connection = fixture_take(fixture);
    check_db(weir_connection_begin(connection, &fixture->error), WEIR_OK);
    check_db(add_one(connection, NULL, &fixture->error), WEIR_OK);
    check_db(weir_connection_commit(connection, &fixture->error), WEIR_IN_DOUBT);

    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_item"), 1);
    fixture_give(fixture, connection);
}

/* ---- those who wait for the write lock --------------------------------------------- */

#if defined(WEIR_POINTS)

static uint64_t told(const struct fixture *fixture)
{
    return weir_write_waiters_count(weir_db_config(fixture->db)->writers);
}

/* Nobody comes to roll back what is lost. */
SQLITE_TEST(fault, that_loses_a_transaction_tells_those_who_wait_for_its_lock)
{
    struct weir_connection *connection;
    struct weir_fault_points points;
    uint64_t before;

    make_items(fixture);
    connection = fixture_take(fixture);
    check_db(weir_connection_begin(connection, &fixture->error), WEIR_OK);
    check_db(add_one(connection, NULL, &fixture->error), WEIR_OK);
    weir_fault_points_init(&points);
    weir_fault_points_arm_once(&points, "db.lose", 1);
    weir_db_set_fault_points(fixture->db, &points);
    before = told(fixture);
    check_db(
        weir_connection_execute_text(connection, "DELETE FROM {p}_item", &fixture->error),
        WEIR_LOST);

    check_int(told(fixture), before + 1);
    check(fixture_is_unlocked(fixture, "weir_item"));
    weir_db_set_fault_points(fixture->db, NULL);
    fixture_give(fixture, connection);
    check_int(told(fixture), before + 1);
}

struct rollback {
    const struct fixture *fixture;
    uint64_t told;
    int count;
};

static void note_rollback(void *state)
{
    struct rollback *self = state;

    self->count++;
    self->told = told(self->fixture);
}

/* A constraint that is checked at the commit: the lock is held until it is rolled
 * back. */
SQLITE_TEST(fault, of_a_commit_frees_the_lock_before_those_who_wait_are_told)
{
    struct weir_connection *connection = fixture_take(fixture);
    struct rollback rollback = {.fixture = fixture};
    uint64_t before;

    fixture_execute(fixture, connection,
                    "CREATE TABLE {p}_one (id $integer PRIMARY KEY)");
    fixture_execute(fixture, connection,
                    "CREATE TABLE {p}_two (one $integer REFERENCES {p}_one (id)"
                    " DEFERRABLE INITIALLY DEFERRED)");
    (void)sqlite3_rollback_hook(weir_connection_native(connection), note_rollback,
                                &rollback);
    before = told(fixture);
    check_db(weir_connection_begin(connection, &fixture->error), WEIR_OK);
    fixture_execute(fixture, connection, "INSERT INTO {p}_two VALUES (7)");
    check_db(weir_connection_commit(connection, &fixture->error), WEIR_CONSTRAINT);

    check_int(rollback.count, 1);
    check_int(rollback.told, before);
    check_int(told(fixture), before + 1);
    (void)sqlite3_rollback_hook(weir_connection_native(connection), NULL, NULL);
    fixture_give(fixture, connection);
}

#endif

/* ---- memory ------------------------------------------------------------------------ */

static struct fixture *swept;

static enum weir_status work_with(const struct weir_heap *heap)
{
    struct weir_db_options options = fixture_options(swept);
    struct weir_db *db = NULL;
    enum weir_status status;
    struct outcome outcome = {.status = WEIR_OK};

    options.heap = heap;
    status = weir_db_create(&options, &db, &swept->error);
    if (status == WEIR_OK) {
        outcome = work(db, swept->engine, &swept->error);
        status = outcome.status;
    }
    weir_db_destroy(db);
    fixture_ask(swept, "DELETE FROM weir_item");
    return status;
}

ENGINE_TEST(fault, of_any_allocation_leaves_nothing_behind)
{
    make_items(fixture);
    swept = fixture;
    check_alloc_failures(work_with);
}

/* ---- the work ---------------------------------------------------------------------- */

static void make_items(struct fixture *fixture)
{
    fixture_prepare(fixture,
                    "CREATE TABLE {p}_item (id $integer PRIMARY KEY, name $text)");
}

static void fail_from_now_on(void *argument)
{
    weir_fault_points_arm(argument, "db.fail", 1);
}

static void arm(struct weir_fault_points *points, const struct fault *fault)
{
    weir_fault_points_init(points);
    if (fault->persistent)
        weir_fault_points_arm_call(points, fault->point, fault->at, fail_from_now_on,
                                   points);
    else
        weir_fault_points_arm_once(points, fault->point, fault->at);
}

static enum weir_status read_all(struct weir_connection *connection,
                                 struct weir_error *error)
{
    struct weir_rows rows;
    enum weir_status status =
        weir_connection_query(connection, &SQL_LIST, NO_VALUES, &rows, error);

    while (status == WEIR_OK)
        status = weir_rows_next(&rows, error);
    weir_rows_close(&rows);
    return status == WEIR_NO_ROW ? WEIR_OK : status;
}

/* Everything a connection can do, in one transaction. Stops at the first that fails. */
static enum weir_status change_things(struct weir_connection *connection,
                                      enum weir_engine engine, struct weir_error *error)
{
    const struct weir_value values[] = {weir_integer(3), weir_text(weir_str("three")),
                                        weir_integer(4), weir_text(weir_str("four")),
                                        weir_integer(5), weir_null()};
    const struct weir_value step_values[] = {weir_integer(6), weir_text(weir_str("six")),
                                             weir_integer(7),
                                             weir_text(weir_str("seven"))};
    struct weir_step steps[] = {
        {.sql = &SQL_ADD, .values = step_values, .value_count = 2},
        {.sql = &SQL_ADD, .values = step_values + 2, .value_count = 2},
    };
    int64_t clock_us;
    enum weir_status status = weir_connection_execute(
        connection, &SQL_ADD, VALUES(weir_integer(1), weir_text(weir_str("one"))), NULL,
        error);

    if (status == WEIR_OK)
        status = weir_connection_savepoint(connection, error);
    if (status == WEIR_OK)
        status = weir_connection_execute(
            connection, &SQL_ADD, VALUES(weir_integer(2), weir_text(weir_str("two"))),
            NULL, error);
    if (status == WEIR_OK)
        status = weir_connection_savepoint_keep(connection, error);
    if (status == WEIR_OK)
        status = weir_connection_savepoint(connection, error);
    if (status == WEIR_OK)
        status = weir_connection_execute_text(
            connection, "INSERT INTO {p}_item VALUES (99, 'text')", error);
    if (status == WEIR_OK)
        status = weir_connection_savepoint_undo(connection, error);
    if (status == WEIR_OK)
        status = weir_connection_execute_many(connection, &SQL_ADD_ROWS[engine], values,
                                              3, 2, NULL, error);
    if (status == WEIR_OK)
        status = weir_connection_execute_steps(connection, steps, 2, error);
    if (status == WEIR_OK)
        status = weir_connection_clock(connection, &clock_us, error);
    if (status == WEIR_OK)
        status = read_all(connection, error);
    return status;
}

/* A transaction that is given up, one for reading, and the one that counts. */
static struct outcome work(struct weir_db *db, enum weir_engine engine,
                           struct weir_error *error)
{
    struct outcome outcome = {.status = WEIR_OK};
    struct weir_connection *connection;

    outcome.status = weir_db_acquire(db, &connection, error);
    if (outcome.status == WEIR_OK)
        outcome.status = weir_connection_begin_read(connection, error);
    if (outcome.status == WEIR_OK)
        outcome.status = read_all(connection, error);
    if (outcome.status == WEIR_OK) {
        outcome.status = weir_connection_commit(connection, error);
        outcome.in_commit = outcome.status != WEIR_OK;
    }
    if (outcome.status == WEIR_OK)
        outcome.status = weir_connection_begin(connection, error);
    if (outcome.status == WEIR_OK) {
        outcome.status = weir_connection_execute(
            connection, &SQL_ADD, VALUES(weir_integer(1), weir_null()), NULL, error);
        weir_connection_rollback(connection);
    }
    if (outcome.status == WEIR_OK)
        outcome.status = weir_connection_begin(connection, error);
    if (outcome.status == WEIR_OK)
        outcome.status = change_things(connection, engine, error);
    if (outcome.status == WEIR_OK) {
        outcome.status = weir_connection_commit(connection, error);
        outcome.in_commit = outcome.status != WEIR_OK;
        outcome.committed = outcome.status == WEIR_OK;
    }
    weir_db_release(db, connection);
    return outcome;
}
