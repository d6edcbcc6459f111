/*
 * The outbox behind a PgBouncer in transaction mode with one session for everybody:
 * whatever it relied on between two transactions would be somebody else's, and whatever
 * it left there would be found.
 */
#include <libpq-fe.h>

#include "kit/outbox/outbox_fixture.h"
#include "kit/outbox/pg_outbox.h"
#include "weir/dead_letter.h"

enum { PARTITIONS = 4, COUNT = 100 };

static void run_with_one_session(fixture_fn body)
{
    static const struct server_options OPTIONS = {.pool_size = 1};

    outbox_fixture_run_own(WEIR_POSTGRESQL, &OPTIONS, body);
}

/* The session itself, as the next client would get it. */
static PGconn *look_at_the_session(struct fixture *fixture)
{
    char url[SERVER_URL_SIZE];
    PGconn *native;

    server_application_url(fixture->server, fixture->database, url, sizeof url);
    native = PQconnectdb(url);
    check_int(PQstatus(native), CONNECTION_OK);
    return native;
}

static void send_to_all(struct fixture *fixture, struct weir_outbox *outbox)
{
    for (int32_t i = 0; i < PARTITIONS; i++)
        outbox_fixture_send(fixture, outbox, "orders", i, COUNT);
}

static bool all_are_passed(struct fixture *fixture, struct weir_outbox *outbox)
{
    for (int32_t i = 0; i < PARTITIONS; i++)
        if (outbox_fixture_seq(fixture, outbox, "orders", i) < COUNT)
            return false;
    return true;
}

static enum weir_outcome note_in_transaction(struct weir_context *context, void *state,
                                             struct weir_connection *connection,
                                             const struct weir_message *message,
                                             struct weir_reason *reason)
{
    (void)context;
    (void)connection;
    (void)reason;
    recorder_note(state, message);
    return WEIR_DONE;
}

/* Everything that an outbox does: deliver in both ways, retry, reject, sweep, look,
 * requeue. */
static void do_everything(struct fixture *fixture)
{
    struct weir_outbox *outbox = outbox_fixture_sweeping(fixture, "anna");
    struct recorder *leased = recorder_new();
    struct recorder *transactional = recorder_new();
    struct weir_handler_options handler = outbox_fixture_handler("orders", transactional);
    struct weir_dead_letter_progress progress;
    struct weir_dead_letter_scope scope;

    outbox_fixture_queue(fixture, outbox, "orders", PARTITIONS);
    recorder_answer(leased, 3, 1, ANSWER_RETRY);
    recorder_answer(leased, 5, ALWAYS, ANSWER_REJECT);
    outbox_fixture_serve(fixture, outbox, "orders", leased);
    handler.subscription = "transactional";
    handler.on_message = NULL;
    handler.on_message_tx = note_in_transaction;
    outbox_fixture_add(fixture, outbox, &handler);
    outbox_fixture_start(fixture, outbox);
    send_to_all(fixture, outbox);
    wait_until(all_are_passed(fixture, outbox));
    wait_until(recorder_count(transactional) >= (size_t)PARTITIONS * COUNT);
    wait_until(outbox_fixture_executions(outbox, "sweep") > 0);

    check_int(outbox_fixture_queue_view(fixture, outbox, "orders").dead_letters,
              PARTITIONS);
    weir_dead_letter_scope_init(&scope);
    check_db(weir_dead_letter_requeue_all(outbox, &scope, NULL, NULL, &progress,
                                          &fixture->error),
             WEIR_OK);
    check_int(progress.done, PARTITIONS);
    outbox_fixture_close(outbox);
}

/* But for what the pooler itself sets for each client. */
static void leave_nothing(struct fixture *fixture)
{
    PGconn *native;

    do_everything(fixture);

    native = look_at_the_session(fixture);
    check_int(pg_ask(native, "SELECT count(*) FROM pg_settings WHERE source = 'session'"
                             " AND name NOT IN ('application_name', 'client_encoding',"
                             " 'DateStyle', 'TimeZone', 'standard_conforming_strings')"),
              0);
    check_int(pg_ask(native, "SELECT count(*) FROM pg_prepared_statements"), 0);
    check_int(pg_ask(native, "SELECT count(*) FROM pg_listening_channels()"), 0);
    check_int(pg_ask(native, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"),
              0);
    check_int(pg_ask(native, "SELECT count(*) FROM pg_class WHERE relpersistence = 't'"),
              0);
    PQfinish(native);
}

WEIR_TEST(pooler, leaves_nothing_on_its_session_on_postgresql)
{
    run_with_one_session(leave_nothing);
}

/* Whoever has the session leaves it, so nobody waits for ever. */
static void serve_two(struct fixture *fixture)
{
    struct recorder *recorder = recorder_new();
    struct weir_outbox *anna =
        outbox_fixture_open(fixture, "anna", "orders", PARTITIONS, recorder);
    struct weir_outbox *bert =
        outbox_fixture_open(fixture, "bert", "orders", PARTITIONS, recorder);

    send_to_all(fixture, anna);
    wait_until(all_are_passed(fixture, bert));

    for (int32_t i = 0; i < PARTITIONS; i++)
        check(recorder_in_order(recorder, i, COUNT));
    check_int(server_query(fixture->server, fixture->database,
                           "SELECT count(*) FROM pg_stat_activity"
                           " WHERE datname = current_database()"
                           " AND backend_type = 'client backend'"
                           " AND pid <> pg_backend_pid()"),
              1);
    outbox_fixture_close(anna);
    outbox_fixture_close(bert);
}

WEIR_TEST(pooler, of_one_session_serves_two_processes_on_postgresql)
{
    run_with_one_session(serve_two);
}
