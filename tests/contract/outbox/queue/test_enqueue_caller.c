/*
 * Messages in the caller's transaction on PostgreSQL: one round trip, and nothing of a
 * call that failed is committed.
 */
#include <libpq-fe.h>
#include <stdio.h>
#include <string.h>

#include "kit/outbox/outbox_application.h"
#include "kit/outbox/outbox_fixture.h"
#include "kit/outbox/pg_outbox.h"
#include "outbox/notify_limit.h"
#include "ward/system.h"

/* An outbox that knows its queue, and an application with a table and a transaction in
 * which it has written. */
struct setup {
    struct fixture *fixture;
    struct weir_outbox *outbox;
    struct application application;
    struct weir_connection *connection;
};

static enum weir_status enqueue(struct setup *self, size_t count,
                                struct weir_receipt *receipts)
{
    struct weir_draft drafts[8];

    for (size_t i = 0; i < count; i++)
        drafts[i] = outbox_fixture_draft((int32_t)i % 4, "hello");
    return weir_enqueue_batch(self->outbox, self->connection, "orders", drafts, count,
                              receipts, &self->fixture->error);
}

static void begin(struct setup *self)
{
    application_run(&self->application, "BEGIN");
    application_run(&self->application, "INSERT INTO theirs VALUES (1)");
}

static void open_setup(struct setup *self, struct fixture *fixture)
{
    *self = (struct setup){.fixture = fixture};
    self->outbox = outbox_fixture_outbox(fixture, "anna");
    outbox_fixture_queue(fixture, self->outbox, "orders", 4);
    outbox_fixture_serve(fixture, self->outbox, "orders", recorder_new());
    fixture_prepare(fixture, "CREATE TABLE theirs (a $integer)");
    self->application = application_start(fixture);
    self->connection = application_adopt(fixture, &self->application);
    /* What has to be asked is known behind the first call. */
    application_run(&self->application, "BEGIN");
    check_db(enqueue(self, 1, NULL), WEIR_OK);
    application_run(&self->application, "ROLLBACK");
    begin(self);
}

static void close_setup(struct setup *self)
{
    weir_connection_disown(self->connection);
    application_stop(&self->application);
    weir_outbox_destroy(self->outbox);
}

static bool try_commit(struct setup *self)
{
    PGresult *result = PQexec(self->application.postgresql, "COMMIT");
    bool done = strcmp(PQcmdStatus(result), "COMMIT") == 0;

    PQclear(result);
    return done;
}

static int64_t messages(struct setup *self)
{
    return fixture_ask(self->fixture, "SELECT count(*) FROM weir_log");
}

static int64_t theirs(struct setup *self)
{
    return fixture_ask(self->fixture, "SELECT count(*) FROM theirs");
}

#define ADOPTED_LINK_TEST(subject, claim)                                                \
    static void subject##__##claim##_body(struct setup *setup, struct fixture *fixture); \
    static void subject##__##claim##_in(struct fixture *fixture)                         \
    {                                                                                    \
        struct setup setup;                                                              \
                                                                                         \
        open_setup(&setup, fixture);                                                     \
        subject##__##claim##_body(&setup, fixture);                                      \
        close_setup(&setup);                                                             \
    }                                                                                    \
    WEIR_TEST(subject, claim)                                                            \
    {                                                                                    \
        outbox_fixture_run(WEIR_POSTGRESQL, subject##__##claim##_in);                    \
    }                                                                                    \
    static void subject##__##claim##_body(struct setup *setup, struct fixture *fixture)

/* ---- one round trip ---------------------------------------------------------------- */

/* Requests that the server answered while a call ran. */
static int round_trips(struct setup *self, size_t count)
{
    PGconn *native = self->application.postgresql;
    struct fixture *fixture = self->fixture;
    FILE *trace = tmpfile();
    char line[1024];
    int found = 0;

    PQtrace(native, trace);
    check_db(enqueue(self, count, NULL), WEIR_OK);
    PQuntrace(native);
    rewind(trace);
    while (fgets(line, sizeof line, trace) != NULL)
        found += strstr(line, "\tSync") != NULL || strstr(line, "\tQuery") != NULL;
    (void)fclose(trace);
    return found;
}

ADOPTED_LINK_TEST(enqueue_caller, of_one_message_is_one_round_trip)
{
    (void)fixture;
    check_int(round_trips(setup, 1), 1);
    check(try_commit(setup));
    check_int(messages(setup), 1);
}

ADOPTED_LINK_TEST(enqueue_caller, of_several_messages_is_one_round_trip)
{
    (void)fixture;
    check_int(round_trips(setup, 5), 1);
    check(try_commit(setup));
    check_int(messages(setup), 5);
}

ADOPTED_LINK_TEST(enqueue_caller, gives_the_ids_of_its_messages)
{
    struct weir_receipt receipts[5];

    check_db(enqueue(setup, 5, receipts), WEIR_OK);
    check(try_commit(setup));
    check_int(fixture_ask(fixture, "SELECT max(id) FROM weir_log"), receipts[4].id);
    check_int(fixture_ask(fixture, "SELECT min(id) FROM weir_log"), receipts[0].id);
}

ADOPTED_LINK_TEST(enqueue_caller, is_rolled_back_with_the_transaction)
{
    check_db(enqueue(setup, 1, NULL), WEIR_OK);
    application_run(&setup->application, "ROLLBACK");
    check_int(messages(setup), 0);
}

ADOPTED_LINK_TEST(enqueue_caller, is_undone_by_a_savepoint_of_the_caller)
{
    application_run(&setup->application, "SAVEPOINT s");
    check_db(enqueue(setup, 1, NULL), WEIR_OK);
    application_run(&setup->application, "ROLLBACK TO SAVEPOINT s");
    check_db(enqueue(setup, 2, NULL), WEIR_OK);
    check(try_commit(setup));
    check_int(messages(setup), 2);
}

/* ---- failure ----------------------------------------------------------------------- */

static void add_trigger(struct fixture *fixture, const char *body)
{
    char text[512];

    (void)snprintf(text, sizeof text,
                   "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS"
                   " 'BEGIN %s END'",
                   body);
    fixture_prepare(fixture, text);
    fixture_prepare(fixture, "CREATE TRIGGER refuse BEFORE INSERT ON weir_log"
                             " FOR EACH ROW EXECUTE FUNCTION refuse()");
}

ADOPTED_LINK_TEST(enqueue_caller,
                  that_the_server_refuses_leaves_the_transaction_as_it_was)
{
    (void)try_commit(setup);
    add_trigger(fixture, "RAISE EXCEPTION ''no''; RETURN NEW;");
    begin(setup);

    check_db(enqueue(setup, 1, NULL), WEIR_CONSTRAINT);

    check(try_commit(setup));
    check_int(messages(setup), 0);
    check_int(theirs(setup), 2);
}

ADOPTED_LINK_TEST(enqueue_caller, that_fails_at_its_third_message_leaves_none)
{
    (void)try_commit(setup);
    add_trigger(fixture, "IF NEW.pid % 64 = 2 THEN RAISE EXCEPTION ''no''; END IF;"
                         " RETURN NEW;");
    begin(setup);

    check_db(enqueue(setup, 4, NULL), WEIR_CONSTRAINT);

    check(try_commit(setup));
    check_int(messages(setup), 0);
    check_int(theirs(setup), 2);
}

/* The other messages of the call are there, and the savepoint is released. */
ADOPTED_LINK_TEST(enqueue_caller, whose_row_a_trigger_skips_fails_the_transaction)
{
    (void)try_commit(setup);
    add_trigger(fixture, "IF NEW.pid % 64 = 2 THEN RETURN NULL; END IF; RETURN NEW;");
    begin(setup);

    check_db(enqueue(setup, 4, NULL), WEIR_SCHEMA);

    check(strstr(fixture->error.text, "cannot be used any more") != NULL);
    check(!try_commit(setup));
    check_int(messages(setup), 0);
    check_int(theirs(setup), 1);
}

ADOPTED_LINK_TEST(enqueue_caller, works_in_the_next_transaction_behind_one_that_failed)
{
    (void)try_commit(setup);
    add_trigger(fixture, "IF NEW.pid % 64 = 2 THEN RETURN NULL; END IF; RETURN NEW;");
    begin(setup);
    check_db(enqueue(setup, 4, NULL), WEIR_SCHEMA);
    application_run(&setup->application, "ROLLBACK");
    begin(setup);

    check_db(enqueue(setup, 2, NULL), WEIR_OK);

    check(try_commit(setup));
    check_int(messages(setup), 2);
}

ADOPTED_LINK_TEST(enqueue_caller, of_an_unknown_queue_leaves_the_transaction_as_it_was)
{
    struct weir_draft draft = outbox_fixture_draft(0, "hello");

    check_db(weir_enqueue(setup->outbox, setup->connection, "nowhere", &draft, NULL,
                          &fixture->error),
             WEIR_NOT_FOUND);
    check(try_commit(setup));
    check_int(theirs(setup), 1);
}

ADOPTED_LINK_TEST(enqueue_caller, on_a_session_that_was_ended_commits_nothing)
{
    fixture_prepare(fixture, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                             " WHERE state = 'idle in transaction'"
                             " AND datname = current_database()");

    check_db(enqueue(setup, 1, NULL), WEIR_LOST);

    check_int(PQstatus(setup->application.postgresql), CONNECTION_BAD);
    PQreset(setup->application.postgresql);
    check_int(PQpipelineStatus(setup->application.postgresql), PQ_PIPELINE_OFF);
    check_int(messages(setup), 0);
    check_int(theirs(setup), 0);
}

/* ---- notifications ----------------------------------------------------------------- */

static int notifications(PGconn *native)
{
    PGnotify *notification;
    int count = 0;

    check(PQconsumeInput(native) != 0);
    while ((notification = PQnotifies(native)) != NULL) {
        count++;
        PQfreemem(notification);
    }
    return count;
}

/* No reader is there to say that it watches. The same session hears itself: its
 * notifications come before the reply to its commit. */
ADOPTED_LINK_TEST(enqueue_caller, notifies_no_more_often_than_the_limit)
{
    enum { COUNT = 300 };
    int64_t begun_ns;
    int64_t allowed;
    int heard;

    (void)try_commit(setup);
    application_run(&setup->application, "LISTEN weir_wake");
    begun_ns = weir_system_now_ns();
    for (int i = 0; i < COUNT; i++) {
        application_run(&setup->application, "BEGIN");
        check_db(enqueue(setup, 1, NULL), WEIR_OK);
        check(try_commit(setup));
    }
    heard = notifications(setup->application.postgresql);

    allowed = (weir_system_now_ns() - begun_ns) / WEIR_NOTIFY_LIMIT_NS;
    check(heard >= 1);
    check(heard <= allowed + WEIR_NOTIFY_LIMIT_BURST + 1);
}

ADOPTED_LINK_TEST(enqueue_caller, by_the_function_notifies_no_more_often_than_the_limit)
{
    enum { COUNT = 300 };
    int64_t begun_ns;
    int64_t allowed;
    int heard;

    (void)fixture;
    (void)try_commit(setup);
    application_run(&setup->application, "LISTEN weir_wake");
    begun_ns = weir_system_now_ns();
    for (int i = 0; i < COUNT; i++)
        application_run(&setup->application,
                        "SELECT weir_enqueue('orders', NULL, 'hello'::text)");
    heard = notifications(setup->application.postgresql);

    allowed = (weir_system_now_ns() - begun_ns) / WEIR_NOTIFY_LIMIT_NS;
    check(heard >= 1);
    check(heard <= allowed + 1);
    check_int(messages(setup), COUNT);
}
