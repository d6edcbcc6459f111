/*
 * Transactions of the application that enqueue and are prepared for two-phase commit,
 * on PostgreSQL: after SET LOCAL weir.notify = off always, however long ago a process
 * watched the log.
 */
#include <string.h>

#include "db/connection.h"
#include "kit/outbox/outbox_application.h"
#include "kit/outbox/outbox_fixture.h"

#define QUIETLY "SET LOCAL weir.notify = off"

struct setup {
    struct fixture *fixture;
    struct recorder *recorder;
    struct weir_outbox *outbox;
    struct application application;
};

/* From now on, as far as producers know, no process watches: each of them would
 * notify. */
static void let_everybody_sleep(struct setup *self)
{
    application_run(&self->application, "SELECT setval('weir_asleep', 2)");
}

static struct setup open_setup(struct fixture *fixture)
{
    struct setup self = {.fixture = fixture, .recorder = recorder_new()};

    self.outbox = outbox_fixture_open(fixture, "anna", "orders", 1, self.recorder);
    self.application = application_start(fixture);
    return self;
}

static void close_setup(struct setup *self)
{
    application_stop(&self->application);
    outbox_fixture_close(self->outbox);
}

static void enqueue(struct setup *self, struct weir_connection *connection)
{
    struct fixture *fixture = self->fixture;
    struct weir_draft draft = outbox_fixture_draft(0, "quiet");

    check_db(
        weir_enqueue(self->outbox, connection, "orders", &draft, NULL, &fixture->error),
        WEIR_OK);
}

/* ---- who enqueues ------------------------------------------------------------------ */

static void prepare_adopted(struct setup *self)
{
    struct weir_connection *connection;

    application_run(&self->application, "BEGIN");
    application_run(&self->application, QUIETLY);
    connection = application_adopt(self->fixture, &self->application);
    let_everybody_sleep(self);
    enqueue(self, connection);
    weir_connection_disown(connection);
    application_run(&self->application, "PREPARE TRANSACTION 'phases'");
}

static void prepare_function(struct setup *self)
{
    application_run(&self->application, "BEGIN");
    application_run(&self->application, QUIETLY);
    let_everybody_sleep(self);
    application_run(&self->application,
                    "SELECT weir_enqueue('orders', NULL, 'quiet', 'message', NULL)");
    application_run(&self->application, "PREPARE TRANSACTION 'phases'");
}

static void run_native(struct weir_connection *connection, const char *sql)
{
    PGresult *result = PQexec(weir_connection_native(connection), sql);

    check_int(PQresultStatus(result), PGRES_COMMAND_OK);
    PQclear(result);
}

static void prepare_own(struct setup *self)
{
    struct fixture *fixture = self->fixture;
    struct weir_connection *connection = fixture_take(fixture);

    check_db(weir_connection_begin(connection, &fixture->error), WEIR_OK);
    run_native(connection, QUIETLY);
    let_everybody_sleep(self);
    enqueue(self, connection);
    run_native(connection, "PREPARE TRANSACTION 'phases'");
    weir_connection_rollback(
        connection); /* of nothing: the transaction is the server's */
    fixture_give(fixture, connection);
}

/* ---- what becomes of it ------------------------------------------------------------ */

static void check_that_commit_delivers(struct setup *self)
{
    outbox_fixture_send_text(self->fixture, self->outbox, "orders", 0, "other");
    wait_until(recorder_count(self->recorder) == 1);
    application_run(&self->application, "COMMIT PREPARED 'phases'");

    wait_until(recorder_count(self->recorder) == 2);
    check_str(recorder_delivery(self->recorder, 0).payload, "other");
    check_str(recorder_delivery(self->recorder, 1).payload, "quiet");
    close_setup(self);
}

static void check_that_rollback_delivers_nothing(struct setup *self)
{
    application_run(&self->application, "ROLLBACK PREPARED 'phases'");
    outbox_fixture_send_text(self->fixture, self->outbox, "orders", 0, "other");

    wait_until(recorder_count(self->recorder) == 1);
    check_str(recorder_delivery(self->recorder, 0).payload, "other");
    check_int(fixture_ask(self->fixture, "SELECT count(*) FROM weir_log"), 1);
    close_setup(self);
}

OUTBOX_POSTGRESQL_TEST(quiet_enqueue, on_a_lent_connection_is_prepared_and_delivered)
{
    struct setup setup = open_setup(fixture);

    prepare_adopted(&setup);
    check_that_commit_delivers(&setup);
}

OUTBOX_POSTGRESQL_TEST(quiet_enqueue, on_a_lent_connection_is_prepared_and_undone)
{
    struct setup setup = open_setup(fixture);

    prepare_adopted(&setup);
    check_that_rollback_delivers_nothing(&setup);
}

OUTBOX_POSTGRESQL_TEST(quiet_enqueue, by_the_function_is_prepared_and_delivered)
{
    struct setup setup = open_setup(fixture);

    prepare_function(&setup);
    check_that_commit_delivers(&setup);
}

OUTBOX_POSTGRESQL_TEST(quiet_enqueue, by_the_function_is_prepared_and_undone)
{
    struct setup setup = open_setup(fixture);

    prepare_function(&setup);
    check_that_rollback_delivers_nothing(&setup);
}

OUTBOX_POSTGRESQL_TEST(quiet_enqueue, on_a_connection_of_ours_is_prepared_and_delivered)
{
    struct setup setup = open_setup(fixture);

    prepare_own(&setup);
    check_that_commit_delivers(&setup);
}

/* Over with its transaction: the next one notifies as ever, and cannot be prepared. */
OUTBOX_POSTGRESQL_TEST(quiet_enqueue, says_nothing_of_the_next_transaction)
{
    struct setup setup = {.fixture = fixture,
                          .outbox = outbox_fixture_outbox(fixture, "anna")};
    PGresult *result;

    outbox_fixture_queue(fixture, setup.outbox, "orders", 1);
    setup.application = application_start(fixture);
    prepare_function(&setup);
    application_run(&setup.application, "COMMIT PREPARED 'phases'");
    application_run(&setup.application, "BEGIN");
    application_run(&setup.application, "SELECT weir_enqueue('orders', NULL, 'loud')");
    result = PQexec(setup.application.postgresql, "PREPARE TRANSACTION 'loud'");

    check(PQresultStatus(result) == PGRES_FATAL_ERROR);
    check(strstr(PQresultErrorMessage(result), "NOTIFY") != NULL);
    PQclear(result);
    application_stop(&setup.application);
    weir_outbox_destroy(setup.outbox);
}
