/*
 * Removing a queue beside transactions that enqueue into it: nothing is lost of which
 * the commit succeeds.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/fault_point.h"
#include "kit/outbox/outbox_application.h"
#include "kit/outbox/outbox_fixture.h"
#include "kit/outbox/sql_producer.h"
#include "outbox/outbox.h"
#include "outbox/queue/catalog.h"

/* A process that removes queues and does not wait for others for long. */
static struct weir_outbox *open_remover(struct fixture *fixture,
                                        struct weir_fault_points *points)
{
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "remover");

    weir_fault_points_init(points);
    weir_fault_points_arm(points, "removal.short_wait", 1);
    weir_outbox_set_fault_points(outbox, points);
    return outbox;
}

static enum weir_status enqueue(struct fixture *fixture, struct weir_outbox *outbox,
                                struct weir_connection *connection)
{
    struct weir_draft draft = outbox_fixture_draft(0, "hello");

    return weir_enqueue(outbox, connection, "orders", &draft, NULL, &fixture->error);
}

OUTBOX_SERVER_TEST(remove, is_refused_while_a_transaction_that_has_enqueued_is_open)
{
    struct weir_fault_points points;
    struct weir_outbox *remover = open_remover(fixture, &points);
    struct weir_outbox *anna = outbox_fixture_outbox(fixture, "anna");
    struct weir_connection *connection = fixture_take(fixture);

    outbox_fixture_queue(fixture, anna, "orders", 1);
    check_db(weir_connection_begin(connection, &fixture->error), WEIR_OK);
    check_db(enqueue(fixture, anna, connection), WEIR_OK);

    check_db(weir_outbox_remove_queue(remover, "orders", true, &fixture->error),
             WEIR_BUSY);

    check(strstr(fixture->error.text, "open") != NULL);
    check_db(weir_connection_commit(connection, &fixture->error), WEIR_OK);
    fixture_give(fixture, connection);
    check_int(outbox_fixture_kept(fixture, anna, "orders", "newcomer"), 1);
    check_db(enqueue(fixture, anna, NULL), WEIR_OK); /* the mark is gone */
    weir_outbox_destroy(anna);
    weir_outbox_destroy(remover);
}

/* ---- what becomes known only after the mark ---------------------------------------- */

struct removing {
    struct weir_outbox *outbox;
    enum weir_status status;
    struct weir_error error;
};

static void *remove_beside(void *argument)
{
    struct removing *self = argument;

    self->status = weir_outbox_remove_queue(self->outbox, "orders", false, &self->error);
    return NULL;
}

OUTBOX_SERVER_TEST(remove, finds_what_a_transaction_commits_after_the_mark)
{
    struct removing removing = {.outbox = outbox_fixture_outbox(fixture, "remover")};
    struct weir_outbox *anna = outbox_fixture_outbox(fixture, "anna");
    struct weir_connection *connection = fixture_take(fixture);
    pthread_t thread;

    outbox_fixture_queue(fixture, anna, "orders", 1);
    check_db(weir_connection_begin(connection, &fixture->error), WEIR_OK);
    check_db(enqueue(fixture, anna, connection), WEIR_OK);
    check_int(pthread_create(&thread, NULL, remove_beside, &removing), 0);
    wait_until(
        fixture_ask(fixture, "SELECT count(*) FROM weir_queue WHERE going_us > 0") == 1);

    check_db(weir_connection_commit(connection, &fixture->error), WEIR_OK);
    check_int(pthread_join(thread, NULL), 0);

    fixture->error = removing.error;
    check_db(removing.status, WEIR_BUSY);
    check(strstr(removing.error.text, "messages that wait") != NULL);
    fixture_give(fixture, connection);
    check_int(outbox_fixture_kept(fixture, anna, "orders", "newcomer"), 1);
    weir_outbox_destroy(anna);
    weir_outbox_destroy(removing.outbox);
}

static void run(struct fixture *fixture, struct weir_connection *connection,
                const char *sql)
{
    check_db(weir_connection_execute_text(connection, sql, &fixture->error), WEIR_OK);
}

static void begin_with_old_snapshot(struct fixture *fixture,
                                    struct weir_connection *connection)
{
    static const char LEVEL[] = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ";
    bool within = fixture->engine == WEIR_POSTGRESQL;
    struct weir_queue_row row;

    if (!within)
        run(fixture, connection, LEVEL);
    check_db(weir_connection_begin(connection, &fixture->error), WEIR_OK);
    if (within)
        run(fixture, connection, LEVEL);
    check_db(weir_catalog_find_queue(connection, "orders", &row, &fixture->error),
             WEIR_OK);
}

/* Its snapshot shows the queue for ever. Either the removal waits for it, or it is
 * refused. */
OUTBOX_SERVER_TEST(remove, loses_nothing_of_a_transaction_with_an_old_snapshot)
{
    struct weir_fault_points points;
    struct weir_outbox *remover = open_remover(fixture, &points);
    struct weir_outbox *anna = outbox_fixture_outbox(fixture, "anna");
    struct weir_connection *connection = fixture_take(fixture);
    enum weir_status removed;

    outbox_fixture_queue(fixture, remover, "orders", 1);
    begin_with_old_snapshot(fixture, connection);
    removed = weir_outbox_remove_queue(remover, "orders", true, &fixture->error);

    if (removed == WEIR_OK) {
        check_db(enqueue(fixture, anna, connection), WEIR_NOT_FOUND);
    } else {
        check_db(removed, WEIR_BUSY);
        check_db(enqueue(fixture, anna, connection), WEIR_OK);
    }
    check_db(weir_connection_commit(connection, &fixture->error), WEIR_OK);
    fixture_give(fixture, connection);

    check(removed == WEIR_OK ||
          outbox_fixture_kept(fixture, anna, "orders", "newcomer") == 1);
    weir_outbox_destroy(anna);
    weir_outbox_destroy(remover);
}

/* ---- producers --------------------------------------------------------------------- */

static void mark(struct fixture *fixture, const char *until_us)
{
    struct weir_connection *connection = fixture_take(fixture);
    char sql[128];

    (void)snprintf(sql, sizeof sql, "UPDATE {p}_queue SET going_us = %s", until_us);
    fixture_execute(fixture, connection, sql);
    fixture_give(fixture, connection);
}

/* A mark that nobody takes back, since its process has died, ends by itself. */
OUTBOX_TEST(producer, is_refused_while_its_queue_is_being_removed)
{
    struct weir_outbox *anna = outbox_fixture_outbox(fixture, "anna");
    struct weir_outbox *bert = outbox_fixture_outbox(fixture, "bert");

    outbox_fixture_queue(fixture, bert, "orders", 1);
    mark(fixture, "9000000000000000");
    check_db(enqueue(fixture, anna, NULL), WEIR_BUSY);
    check_str(fixture->error.text, "queue \"orders\" is being removed");
    check_db(weir_outbox_remove_queue(anna, "orders", true, &fixture->error), WEIR_BUSY);

    mark(fixture, "1");
    check_db(enqueue(fixture, anna, NULL), WEIR_OK);
    check_db(weir_outbox_remove_queue(anna, "orders", true, &fixture->error), WEIR_OK);
    weir_outbox_destroy(anna);
    weir_outbox_destroy(bert);
}

/* The look-up has to do with what the application's connection offers. */
OUTBOX_TEST(producer, on_a_connection_of_its_own_finds_its_queue)
{
    struct weir_outbox *anna = outbox_fixture_outbox(fixture, "anna");
    struct weir_outbox *bert = outbox_fixture_outbox(fixture, "bert");
    struct application application = application_start(fixture);
    struct weir_connection *connection = application_adopt(fixture, &application);

    outbox_fixture_queue(fixture, bert, "orders", 1);
    mark(fixture, "9000000000000000");
    check_db(enqueue(fixture, anna, connection), WEIR_BUSY);

    mark(fixture, "1");
    check_db(enqueue(fixture, anna, connection), WEIR_OK);
    weir_connection_disown(connection);
    application_stop(&application);
    weir_outbox_destroy(anna);
    weir_outbox_destroy(bert);
}

OUTBOX_TEST(producer, in_sql_is_refused_while_its_queue_is_being_removed)
{
    struct weir_outbox *anna = outbox_fixture_outbox(fixture, "anna");
    struct weir_connection *connection = fixture_take(fixture);
    struct weir_draft draft = outbox_fixture_draft(0, "hello");

    outbox_fixture_queue(fixture, anna, "orders", 1);
    check(sql_producer_prepare(connection));
    mark(fixture, "9000000000000000");
    check(sql_producer_enqueue(connection, "orders", 1, &draft, &fixture->error) !=
          WEIR_OK);
    check(strstr(fixture->error.text, "queue \"orders\" is being removed") != NULL);

    mark(fixture, "1");
    check_db(sql_producer_enqueue(connection, "orders", 1, &draft, &fixture->error),
             WEIR_OK);
    fixture_give(fixture, connection);
    weir_outbox_destroy(anna);
}
