/*
 * Handlers inside the transaction that moves their position: what their answers do to
 * what they wrote, and what happens when their own statements fail.
 */
#include <libpq-fe.h>
#include <mysql.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "kit/outbox/effects.h"
#include "kit/outbox/outbox_fixture.h"
#include "weir/context.h"

/* Writes an effect for each message, runs statements of the test's, then answers as the
 * recorder says. Static, as recorders are: a test that fails leaves its handlers
 * behind. */
struct client {
    struct recorder *recorder;
    struct weir_outbox *outbox;
    const char *sql;        /* at message `at`, behind its effect; NULL: none */
    int64_t at;             /* 0: at each */
    _Atomic uint32_t times; /* that it is still run */
    sqlite3_stmt *left;     /* behind, on SQLite */
};

static struct client *client_new(void)
{
    static struct client clerks[4];
    static size_t used;
    struct client *self = &clerks[used++ % 4];

    *self = (struct client){.recorder = recorder_new()};
    return self;
}

static void client_run_once(struct client *self, int64_t at, const char *sql)
{
    self->at = at;
    self->sql = sql;
    atomic_store(&self->times, 1);
}

static void write_down(struct client *self, struct weir_connection *connection,
                       const struct weir_message *message)
{
    (void)effects_write(connection, message);
    if (self->sql == NULL || (self->at != 0 && self->at != message->seq) ||
        atomic_load(&self->times) == 0)
        return;
    atomic_fetch_sub(&self->times, 1);
    (void)effects_run(connection, self->sql);
}

static enum weir_outcome on_message(struct weir_context *context, void *state,
                                    struct weir_connection *connection,
                                    const struct weir_message *message,
                                    struct weir_reason *reason)
{
    struct client *self = state;

    write_down(self, connection, message);
    return recorder_on_message(context, self->recorder, message, reason);
}

static struct weir_handler_options client_handler(struct client *client)
{
    struct weir_handler_options options = outbox_fixture_handler("orders", NULL);

    options.on_message = NULL;
    options.on_message_tx = on_message;
    options.state = client;
    return options;
}

/* A queue of one partition, served by the clerk. Not started. */
static struct weir_outbox *client_outbox(struct fixture *fixture, struct client *client,
                                         const struct weir_handler_options *handler)
{
    client->outbox = outbox_fixture_outbox(fixture, "anna");
    effects_prepare(fixture);
    outbox_fixture_queue(fixture, client->outbox, "orders", 1);
    outbox_fixture_add(fixture, client->outbox, handler);
    return client->outbox;
}

/* The same with so many messages in one batch, and running. */
static struct weir_outbox *client_start(struct fixture *fixture, struct client *client,
                                        const struct weir_handler_options *handler,
                                        size_t count)
{
    struct weir_outbox *outbox = client_outbox(fixture, client, handler);

    outbox_fixture_send(fixture, outbox, "orders", 0, count);
    outbox_fixture_start(fixture, outbox);
    return outbox;
}

static struct weir_outbox *client_open(struct fixture *fixture, struct client *client,
                                       size_t count)
{
    struct weir_handler_options handler = client_handler(client);

    return client_start(fixture, client, &handler, count);
}

static struct partition_view look(struct fixture *fixture, struct weir_outbox *outbox)
{
    return outbox_fixture_partition(fixture, outbox, "orders", "default", 0);
}

static int64_t dead_letters(struct fixture *fixture, struct weir_outbox *outbox)
{
    return outbox_fixture_queue_view(fixture, outbox, "orders").dead_letters;
}

/* A retry that nobody lives to see. */
static const struct weir_tuning *never_again(void)
{
    static struct weir_tuning tuning;

    tuning = outbox_fixture_tuning();
    tuning.retry_base_ns = WEIR_MINUTES(10);
    tuning.retry_max_ns = WEIR_MINUTES(10);
    return &tuning;
}

/* Each of `count` messages has its one effect, but for those rejected. */
static void check_once(struct fixture *fixture, int64_t count)
{
    check_int(effects_count(fixture), count);
    check_int(effects_repeated(fixture), 0);
}

/* ---- answers ----------------------------------------------------------------------- */

OUTBOX_TEST(transactional, done_moves_the_position_and_keeps_what_was_written)
{
    struct client *client = client_new();
    struct weir_outbox *outbox = client_open(fixture, client, 3);

    wait_until(look(fixture, outbox).seq == 3);

    check_int(look(fixture, outbox).attempts, 0);
    check_int(recorder_count(client->recorder), 3);
    check_once(fixture, 3);
    outbox_fixture_close(outbox);
}

OUTBOX_TEST(transactional, retry_keeps_the_position_and_undoes_what_was_written)
{
    struct client *client = client_new();
    struct weir_handler_options handler = client_handler(client);
    struct weir_outbox *outbox;

    handler.tuning = never_again();
    recorder_answer(client->recorder, 1, ALWAYS, ANSWER_RETRY);
    outbox = client_start(fixture, client, &handler, 1);

    wait_until(look(fixture, outbox).attempts == 1);

    check_int(look(fixture, outbox).seq, 0);
    check_str(look(fixture, outbox).last_error, "message 1 must wait");
    check(look(fixture, outbox).retry_in_us > 0);
    check_int(effects_count(fixture), 0);
    outbox_fixture_close(outbox);
}

OUTBOX_TEST(transactional, retry_in_the_middle_keeps_what_was_done_before)
{
    struct client *client = client_new();
    struct weir_handler_options handler = client_handler(client);
    struct weir_outbox *outbox;

    handler.tuning = never_again();
    recorder_answer(client->recorder, 3, ALWAYS, ANSWER_RETRY);
    outbox = client_start(fixture, client, &handler, 5);

    wait_until(look(fixture, outbox).attempts == 1);

    check_int(look(fixture, outbox).seq, 2);
    check_int(recorder_count(client->recorder), 3);
    check_once(fixture, 2);
    outbox_fixture_close(outbox);
}

OUTBOX_TEST(transactional, retry_counts_attempts_until_it_is_done)
{
    struct client *client = client_new();
    struct weir_outbox *outbox;

    recorder_answer(client->recorder, 2, 2, ANSWER_RETRY);
    outbox = client_open(fixture, client, 3);

    wait_until(look(fixture, outbox).seq == 3);

    check_int(recorder_times(client->recorder, 0, 1), 1);
    check_int(recorder_times(client->recorder, 0, 2), 3);
    check_int(recorder_delivery(client->recorder, 3).attempts, 2);
    check_once(fixture, 3);
    outbox_fixture_close(outbox);
}

OUTBOX_TEST(transactional, reject_moves_on_and_leaves_a_dead_letter)
{
    struct client *client = client_new();
    struct weir_outbox *outbox;

    recorder_answer(client->recorder, 1, ALWAYS, ANSWER_REJECT);
    outbox = client_open(fixture, client, 1);

    wait_until(look(fixture, outbox).seq == 1);

    check_int(look(fixture, outbox).attempts, 0);
    check_int(dead_letters(fixture, outbox), 1);
    check_int(effects_count(fixture), 0);
    outbox_fixture_close(outbox);
}

OUTBOX_TEST(transactional, reject_in_the_middle_blames_nobody_else)
{
    struct client *client = client_new();
    struct weir_outbox *outbox;

    recorder_answer(client->recorder, 3, ALWAYS, ANSWER_REJECT);
    outbox = client_open(fixture, client, 5);

    wait_until(look(fixture, outbox).seq == 5);

    check_int(dead_letters(fixture, outbox), 1);
    check_int(recorder_count(client->recorder), 5);
    check_int(recorder_calls(client->recorder), 1);
    check_once(fixture, 4);
    check_int(effects_of(fixture, 0, 3), 0);
    outbox_fixture_close(outbox);
}

OUTBOX_TEST(transactional, panic_is_a_retry_that_keeps_what_was_done_before)
{
    struct client *client = client_new();
    struct weir_handler_options handler = client_handler(client);
    struct weir_outbox *outbox;

    handler.tuning = never_again();
    recorder_answer(client->recorder, 2, ALWAYS, ANSWER_PANIC);
    outbox = client_start(fixture, client, &handler, 3);

    wait_until(look(fixture, outbox).attempts == 1);

    check_int(look(fixture, outbox).seq, 1);
    check_str(look(fixture, outbox).last_error, "panic: message 2 is too much");
    check_once(fixture, 1);
    outbox_fixture_close(outbox);
}

OUTBOX_TEST(transactional, delivery_goes_on_for_several_partitions)
{
    struct client *client = client_new();
    struct weir_handler_options handler = client_handler(client);
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");

    effects_prepare(fixture);
    outbox_fixture_queue(fixture, outbox, "orders", 4);
    outbox_fixture_add(fixture, outbox, &handler);
    outbox_fixture_start(fixture, outbox);
    for (int32_t i = 0; i < 4; i++)
        outbox_fixture_send(fixture, outbox, "orders", i, 50);

    for (int32_t i = 0; i < 4; i++) {
        wait_until(outbox_fixture_seq(fixture, outbox, "orders", i) == 50);
        check(recorder_in_order(client->recorder, i, 50));
    }

    check_once(fixture, 200);
    outbox_fixture_close(outbox);
}

OUTBOX_TEST(transactional, call_has_at_most_60_messages)
{
    struct client *client = client_new();
    struct weir_handler_options handler = client_handler(client);
    struct weir_tuning tuning = outbox_fixture_tuning();
    struct weir_outbox *outbox;

    tuning.batch = 500;
    handler.tuning = &tuning;
    outbox = client_start(fixture, client, &handler, 150);

    wait_until(look(fixture, outbox).seq == 150);

    check_int(recorder_delivery(client->recorder, 0).batch, 60);
    check_once(fixture, 150);
    outbox_fixture_close(outbox);
}

/* ---- statements that fail ---------------------------------------------------------- */

static const char *const BAD_SQL = "INSERT INTO there_is_no_such_table VALUES (1)";

OUTBOX_POSTGRESQL_TEST(transactional, done_after_a_failed_statement_is_a_retry)
{
    struct client *client = client_new();
    struct weir_handler_options handler = client_handler(client);
    struct weir_outbox *outbox;

    handler.tuning = never_again();
    client_run_once(client, 2, BAD_SQL);
    outbox = client_start(fixture, client, &handler, 3);

    wait_until(look(fixture, outbox).attempts == 1);

    check_int(look(fixture, outbox).seq, 1);
    check_str(
        look(fixture, outbox).last_error,
        "a statement has failed: relation \"there_is_no_such_table\" does not exist");
    check_once(fixture, 1);
    outbox_fixture_close(outbox);
}

OUTBOX_PLAIN_TEST(transactional, done_after_a_failed_statement_is_done)
{
    struct client *client = client_new();
    struct weir_outbox *outbox;

    client_run_once(client, 2, BAD_SQL);
    outbox = client_open(fixture, client, 3);

    wait_until(look(fixture, outbox).seq == 3);

    check_int(recorder_count(client->recorder), 3);
    check_once(fixture, 3);
    outbox_fixture_close(outbox);
}

OUTBOX_TEST(transactional, retry_after_a_failed_statement_is_stored_and_made)
{
    struct client *client = client_new();
    struct weir_outbox *outbox;

    client_run_once(client, 2, BAD_SQL);
    recorder_answer(client->recorder, 2, 1, ANSWER_RETRY);
    outbox = client_open(fixture, client, 3);

    wait_until(look(fixture, outbox).seq == 3);

    check_int(recorder_delivery(client->recorder, 2).attempts, 1);
    check_once(fixture, 3);
    outbox_fixture_close(outbox);
}

OUTBOX_TEST(transactional, reject_after_a_failed_statement_goes_on)
{
    struct client *client = client_new();
    struct weir_outbox *outbox;

    client_run_once(client, 2, BAD_SQL);
    recorder_answer(client->recorder, 2, ALWAYS, ANSWER_REJECT);
    outbox = client_open(fixture, client, 3);

    wait_until(look(fixture, outbox).seq == 3);

    check_int(dead_letters(fixture, outbox), 1);
    check_int(recorder_calls(client->recorder), 1);
    check_once(fixture, 2);
    outbox_fixture_close(outbox);
}

/* What is deferred fails at the end, and nobody knows whose fault it is. */
OUTBOX_DEFERRED_TEST(transactional,
                     deferred_constraint_corners_the_message_that_breaks_it)
{
    struct client *client = client_new();
    struct weir_outbox *outbox;

    fixture_prepare(fixture, "CREATE TABLE parent (id $integer PRIMARY KEY)");
    fixture_prepare(fixture, "CREATE TABLE child (parent $integer REFERENCES parent (id)"
                             " DEFERRABLE INITIALLY DEFERRED)");
    client->sql = "INSERT INTO child VALUES (1)";
    client->at = 3;
    atomic_store(&client->times, UINT32_MAX);
    outbox = client_open(fixture, client, 5);

    wait_until(look(fixture, outbox).seq == 2 && look(fixture, outbox).attempts >= 2);
    check_once(fixture, 2);
    check(strstr(look(fixture, outbox).last_error, "onstraint") != NULL);
    fixture_prepare(fixture, "INSERT INTO parent VALUES (1)");
    wait_until(look(fixture, outbox).seq == 5);

    check_once(fixture, 5);
    check_int(fixture_ask(fixture, "SELECT count(*) FROM child"), 1);
    outbox_fixture_close(outbox);
}

/* ---- the transaction is weir's ----------------------------------------------------- */

/* `sql` at message 2 of 3, once: everything comes again, and happens once all the
 * same. */
static void end_transaction(struct fixture *fixture, const char *sql)
{
    struct client *client = client_new();
    struct weir_handler_options handler = client_handler(client);
    struct weir_outbox *outbox;

    client_run_once(client, 2, sql);
    outbox = client_start(fixture, client, &handler, 3);

    wait_until(look(fixture, outbox).seq == 3);

    check_int(recorder_times(client->recorder, 0, 1), 2);
    check_int(recorder_delivery(client->recorder, 2).attempts, 1);
    check_once(fixture, 3);
    outbox_fixture_close(outbox);
}

OUTBOX_TEST(transactional, rollback_by_the_handler_brings_everything_again)
{
    end_transaction(fixture, "ROLLBACK");
}

OUTBOX_TEST(transactional, rollback_and_begin_by_the_handler_brings_everything_again)
{
    end_transaction(fixture, "ROLLBACK; BEGIN; INSERT INTO effect VALUES (0, 2)");
}

OUTBOX_SQLITE_TEST(transactional, commit_by_the_handler_is_refused)
{
    end_transaction(fixture, "COMMIT");
}

OUTBOX_SQLITE_TEST(transactional, write_after_a_rollback_is_refused)
{
    end_transaction(fixture, "ROLLBACK; INSERT INTO effect VALUES (0, 2)");
}

/* Also when it is the server who gives the transaction up, to end a deadlock: whoever
 * goes on all the same commits nothing. */
OUTBOX_MARIADB_TEST(transactional, write_after_a_rollback_is_undone)
{
    end_transaction(fixture, "ROLLBACK; INSERT INTO effect VALUES (0, 2)");
}

OUTBOX_SERVER_TEST(transactional, commit_by_the_handler_is_told)
{
    struct client *client = client_new();
    struct weir_handler_options handler = client_handler(client);
    struct weir_outbox *outbox;

    handler.tuning = never_again();
    client_run_once(client, 1, "COMMIT");
    outbox = client_start(fixture, client, &handler, 3);

    wait_until(look(fixture, outbox).attempts == 1);

    check_int(look(fixture, outbox).seq, 0);
    check(strstr(look(fixture, outbox).last_error, "ended by the handler") != NULL);
    check_int(recorder_count(client->recorder), 1);
    outbox_fixture_close(outbox);
}

OUTBOX_SERVER_TEST(transactional, commit_and_begin_by_the_handler_is_told)
{
    struct client *client = client_new();
    struct weir_handler_options handler = client_handler(client);
    struct weir_outbox *outbox;

    handler.tuning = never_again();
    client_run_once(client, 1, "COMMIT; BEGIN");
    outbox = client_start(fixture, client, &handler, 1);

    wait_until(look(fixture, outbox).attempts == 1);

    check_int(look(fixture, outbox).seq, 0);
    check(strstr(look(fixture, outbox).last_error, "ended by the handler") != NULL);
    outbox_fixture_close(outbox);
}

OUTBOX_TEST(transactional, savepoints_of_the_handler_are_its_own)
{
    struct client *client = client_new();
    struct weir_outbox *outbox;

    client_run_once(client, 2,
                    "SAVEPOINT mine; INSERT INTO effect VALUES (0, 9);"
                    "ROLLBACK TO SAVEPOINT mine; RELEASE SAVEPOINT mine");
    outbox = client_open(fixture, client, 3);

    wait_until(look(fixture, outbox).seq == 3);

    check_int(recorder_count(client->recorder), 3);
    check_once(fixture, 3);
    outbox_fixture_close(outbox);
}

/* ---- what a handler leaves behind -------------------------------------------------- */

/* A statement that nobody reads to its end, at the first message, once. */
static enum weir_outcome leave_rows(struct weir_context *context, void *state,
                                    struct weir_connection *connection,
                                    const struct weir_message *message,
                                    struct weir_reason *reason)
{
    static const char SQL[] = "SELECT 1 UNION ALL SELECT 2 FROM effect";
    struct client *self = state;
    void *handle = weir_connection_native(connection);

    (void)effects_write(connection, message);
    if (message->seq == 1 && atomic_exchange(&self->times, 0) != 0) {
        if (weir_connection_engine(connection) == WEIR_POSTGRESQL)
            check_int(PQsendQuery(handle, SQL), 1);
        else if (weir_connection_engine(connection) == WEIR_MARIADB)
            check_int(mysql_query(handle, SQL), 0);
        else if (sqlite3_prepare_v2(handle, SQL, -1, &self->left, NULL) == SQLITE_OK)
            check_int(sqlite3_step(self->left), SQLITE_ROW);
    }
    return recorder_on_message(context, self->recorder, message, reason);
}

OUTBOX_SERVER_TEST(transactional, statement_that_was_not_read_brings_everything_again)
{
    struct client *client = client_new();
    struct weir_handler_options handler = client_handler(client);
    struct weir_outbox *outbox;

    handler.on_message_tx = leave_rows;
    atomic_store(&client->times, 1);
    outbox = client_start(fixture, client, &handler, 3);

    wait_until(look(fixture, outbox).seq == 3);

    check_int(recorder_times(client->recorder, 0, 1), 2);
    check_once(fixture, 3);
    outbox_fixture_close(outbox);
}

/* They would keep the connection at what it saw then, and it could not write any more. */
OUTBOX_SQLITE_TEST(transactional, rows_that_were_not_read_are_given_up)
{
    struct client *client = client_new();
    struct weir_handler_options handler = client_handler(client);
    struct weir_outbox *outbox;

    handler.on_message_tx = leave_rows;
    atomic_store(&client->times, 1);
    outbox = client_start(fixture, client, &handler, 3);
    wait_until(look(fixture, outbox).seq == 3);
    outbox_fixture_send(fixture, outbox, "orders", 0, 3);

    wait_until(look(fixture, outbox).seq == 6);

    check_int(recorder_count(client->recorder), 6);
    check_once(fixture, 6);
    outbox_fixture_stop(outbox);
    check_int(sqlite3_stmt_busy(client->left), 0);
    sqlite3_finalize(client->left);
    weir_outbox_destroy(outbox);
}

/* ---- batches ----------------------------------------------------------------------- */

/* Takes all, writes for each, acks each; at the end it answers as told. */
static enum weir_outcome on_batch(struct weir_context *context, void *state,
                                  struct weir_connection *connection,
                                  struct weir_batch *batch, struct weir_reason *reason)
{
    struct client *self = state;
    const struct weir_message *message;

    while ((message = weir_batch_next(batch)) != NULL) {
        enum weir_outcome outcome;

        write_down(self, connection, message);
        outcome = recorder_on_message(context, self->recorder, message, reason);
        if (outcome == WEIR_RETRY)
            return outcome;
        if (outcome == WEIR_REJECT &&
            weir_batch_reject(batch, reason->text, NULL) != WEIR_OK)
            return weir_retry(reason, "cannot reject");
        if (outcome == WEIR_DONE && weir_batch_ack(batch, NULL) != WEIR_OK)
            return weir_retry(reason, "cannot ack");
    }
    return WEIR_DONE;
}

static struct weir_handler_options batch_handler(struct client *client)
{
    struct weir_handler_options options = client_handler(client);

    options.on_message_tx = NULL;
    options.on_batch_tx = on_batch;
    return options;
}

OUTBOX_TEST(transactional, batch_handler_gets_all_that_wait)
{
    struct client *client = client_new();
    struct weir_handler_options handler = batch_handler(client);
    struct weir_outbox *outbox = client_start(fixture, client, &handler, 5);

    wait_until(look(fixture, outbox).seq == 5);

    check_int(recorder_calls(client->recorder), 1);
    check_int(recorder_delivery(client->recorder, 0).batch, 5);
    check_once(fixture, 5);
    outbox_fixture_close(outbox);
}

OUTBOX_TEST(transactional, batch_acks_stay_and_the_rest_comes_again)
{
    struct client *client = client_new();
    struct weir_handler_options handler = batch_handler(client);
    struct weir_outbox *outbox;

    handler.tuning = never_again();
    recorder_answer(client->recorder, 4, ALWAYS, ANSWER_RETRY);
    recorder_answer(client->recorder, 2, ALWAYS, ANSWER_REJECT);
    outbox = client_start(fixture, client, &handler, 5);

    wait_until(look(fixture, outbox).attempts == 1);

    check_int(look(fixture, outbox).seq, 3);
    check_int(dead_letters(fixture, outbox), 1);
    check_once(fixture, 2);
    check_int(effects_of(fixture, 0, 2), 0);
    outbox_fixture_close(outbox);
}

OUTBOX_POSTGRESQL_TEST(transactional, batch_ack_after_a_failed_statement_is_refused)
{
    struct client *client = client_new();
    struct weir_handler_options handler = batch_handler(client);
    struct weir_outbox *outbox;

    handler.tuning = never_again();
    client_run_once(client, 3, BAD_SQL);
    outbox = client_start(fixture, client, &handler, 5);

    wait_until(look(fixture, outbox).attempts == 1);

    check_int(look(fixture, outbox).seq, 2);
    check_str(look(fixture, outbox).last_error, "cannot ack");
    check_once(fixture, 2);
    outbox_fixture_close(outbox);
}

/* Writes for all of them at once and answers without an ack. Message 3 is poison. */
static enum weir_outcome answer_for_all(struct weir_context *context, void *state,
                                        struct weir_connection *connection,
                                        struct weir_batch *batch,
                                        struct weir_reason *reason)
{
    struct client *self = state;
    const struct weir_message *messages;
    size_t count = weir_batch_next_chunk(batch, SIZE_MAX, &messages);
    enum weir_outcome outcome = WEIR_DONE;

    (void)context;
    for (size_t i = 0; i < count; i++) {
        recorder_note(self->recorder, &messages[i]);
        (void)effects_write(connection, &messages[i]);
        if (messages[i].seq == 3)
            outcome = weir_reject(reason, "3 is no good");
    }
    return outcome;
}

OUTBOX_TEST(transactional, batch_done_without_acks_is_done_with_all)
{
    struct client *client = client_new();
    struct weir_handler_options handler = batch_handler(client);
    struct weir_outbox *outbox;

    handler.on_batch_tx = answer_for_all;
    outbox = client_start(fixture, client, &handler, 2);

    wait_until(look(fixture, outbox).seq == 2);

    check_once(fixture, 2);
    outbox_fixture_close(outbox);
}

OUTBOX_TEST(transactional, batch_reject_of_several_blames_only_the_one)
{
    struct client *client = client_new();
    struct weir_handler_options handler = batch_handler(client);
    struct weir_outbox *outbox;

    handler.on_batch_tx = answer_for_all;
    outbox = client_start(fixture, client, &handler, 5);

    wait_until(look(fixture, outbox).seq == 5);

    check_int(dead_letters(fixture, outbox), 1);
    check_once(fixture, 4);
    check_int(effects_of(fixture, 0, 3), 0);
    check_int(recorder_delivery(client->recorder, 5).batch, 1);
    outbox_fixture_close(outbox);
}

/* Arguments that make no sense, and then everything in order. */
static enum weir_outcome ask_too_much(struct weir_context *context, void *state,
                                      struct weir_connection *connection,
                                      struct weir_batch *batch,
                                      struct weir_reason *reason)
{
    const struct weir_message *messages;

    (void)context;
    if (weir_batch_ack(batch, NULL) != WEIR_INVALID ||
        weir_batch_reject(batch, "none", NULL) != WEIR_INVALID ||
        weir_batch_next_chunk(batch, 2, &messages) != 2 ||
        !effects_write(connection, &messages[0]) ||
        !effects_write(connection, &messages[1]) ||
        weir_batch_ack_chunk(batch, 3, NULL) != WEIR_INVALID ||
        weir_batch_ack_chunk(batch, 2, NULL) != WEIR_OK ||
        weir_batch_ack(batch, NULL) != WEIR_INVALID)
        return weir_reject(reason, "not as promised");
    recorder_note(state, &messages[0]);
    return weir_retry(reason, "as promised");
}

OUTBOX_TEST(transactional, batch_ack_of_more_than_was_taken_is_refused)
{
    struct client *client = client_new();
    struct weir_handler_options handler = batch_handler(client);
    struct weir_outbox *outbox;

    handler.on_batch_tx = ask_too_much;
    handler.state = client->recorder;
    handler.tuning = never_again();
    outbox = client_start(fixture, client, &handler, 3);

    wait_until(look(fixture, outbox).attempts == 1);

    check_str(look(fixture, outbox).last_error, "as promised");
    check_int(look(fixture, outbox).seq, 2);
    check_once(fixture, 2);
    outbox_fixture_close(outbox);
}

/* ---- enqueueing -------------------------------------------------------------------- */

/* Each order makes a letter, in the same transaction. */
static enum weir_outcome forward(struct weir_context *context, void *state,
                                 struct weir_connection *connection,
                                 const struct weir_message *message,
                                 struct weir_reason *reason)
{
    struct client *self = state;
    struct weir_draft letter = {.type = "letter",
                                .payload = message->payload,
                                .payload_size = message->payload_size};
    struct weir_error error;

    if (weir_enqueue(self->outbox, connection, "letters", &letter, NULL, &error) !=
        WEIR_OK)
        return weir_reject(reason, "%s", error.text);
    return on_message(context, state, connection, message, reason);
}

OUTBOX_TEST(transactional, enqueue_happens_with_the_rest_and_wakes_the_next)
{
    struct client *client = client_new();
    struct recorder *letters = recorder_new();
    struct weir_handler_options handler = client_handler(client);
    struct weir_outbox *outbox;

    handler.on_message_tx = forward;
    outbox = client_outbox(fixture, client, &handler);
    outbox_fixture_queue(fixture, outbox, "letters", 1);
    outbox_fixture_serve(fixture, outbox, "letters", letters);
    recorder_answer(client->recorder, 2, 3, ANSWER_RETRY);
    recorder_answer(client->recorder, 4, ALWAYS, ANSWER_REJECT);
    outbox_fixture_start(fixture, outbox);
    outbox_fixture_send(fixture, outbox, "orders", 0, 5);

    wait_until(look(fixture, outbox).seq == 5);
    wait_until(outbox_fixture_seq(fixture, outbox, "letters", 0) == 4);

    check_int(recorder_count(letters), 4);
    check_str(recorder_delivery(letters, 1).payload, "2");
    check_str(recorder_delivery(letters, 3).payload, "5");
    check_once(fixture, 4);
    outbox_fixture_close(outbox);
}

/* ---- with others ------------------------------------------------------------------- */

OUTBOX_TEST(transactional, handler_and_a_leased_one_may_follow_each_other)
{
    struct client *client = client_new();
    struct recorder *leased = recorder_new();
    struct weir_outbox *outbox = client_open(fixture, client, 3);

    wait_until(look(fixture, outbox).seq == 3);
    outbox_fixture_close(outbox);
    outbox = outbox_fixture_open(fixture, "bert", "orders", 1, leased);
    outbox_fixture_send(fixture, outbox, "orders", 0, 2);

    wait_until(look(fixture, outbox).seq == 5);

    check_int(recorder_count(leased), 2);
    check_int(recorder_delivery(leased, 0).seq, 4);
    check_once(fixture, 3);
    outbox_fixture_close(outbox);
}

/* Nothing but transactional handlers, and what they have passed goes all the same. */
OUTBOX_TEST(transactional, delivery_is_swept_under_load)
{
    struct client *client = client_new();
    struct weir_handler_options handler = client_handler(client);
    struct weir_outbox *outbox;

    outbox_small_segments(fixture, 4);
    outbox = client_outbox(fixture, client, &handler);
    outbox_fixture_start(fixture, outbox);
    for (int64_t i = 1; i <= 120; i++) {
        outbox_fixture_send(fixture, outbox, "orders", 0, 4);
        wait_until(recorder_count(client->recorder) == 4 * (size_t)i);
    }

    wait_until(look(fixture, outbox).seq == 480);
    wait_until(fixture_ask(fixture, "SELECT count(*) FROM weir_log") < 480);

    check_once(fixture, 480);
    outbox_fixture_close(outbox);
}
