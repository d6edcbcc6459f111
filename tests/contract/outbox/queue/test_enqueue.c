/*
 * Producers: what they give is delivered if and only if their transaction commits.
 */
#include <libpq-fe.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "db/clock.h"
#include "kit/outbox/outbox_fixture.h"
#include "kit/outbox/pg_outbox.h"

static struct weir_outbox *orders(struct fixture *fixture, int32_t partitions)
{
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");

    outbox_fixture_queue(fixture, outbox, "orders", partitions);
    outbox_fixture_serve(fixture, outbox, "orders", recorder_new());
    return outbox;
}

static int64_t waiting(struct fixture *fixture, struct weir_outbox *outbox)
{
    return outbox_fixture_queue_view(fixture, outbox, "orders").waiting;
}

OUTBOX_TEST(enqueue, of_one_message_makes_one_wait)
{
    struct weir_outbox *outbox = orders(fixture, 4);

    outbox_fixture_send_text(fixture, outbox, "orders", 0, "hello");

    check_int(waiting(fixture, outbox), 1);
    check_int(outbox_fixture_partition(fixture, outbox, "orders", "default", 0).waiting,
              1);
    weir_outbox_destroy(outbox);
}

OUTBOX_TEST(enqueue, gives_a_receipt_with_id_uid_and_partition)
{
    struct weir_outbox *outbox = orders(fixture, 4);
    struct weir_draft draft = outbox_fixture_draft(3, "hello");
    struct weir_receipt first = {0};
    struct weir_receipt second = {0};

    check_db(weir_enqueue(outbox, NULL, "orders", &draft, &first, &fixture->error),
             WEIR_OK);
    check_db(weir_enqueue(outbox, NULL, "orders", &draft, &second, &fixture->error),
             WEIR_OK);

    check(first.id > 0);
    check(second.id > first.id);
    check_int(first.partition, 3);
    check(memcmp(first.uid, second.uid, WEIR_UID_SIZE) != 0);
    weir_outbox_destroy(outbox);
}

OUTBOX_TEST(enqueue, in_a_transaction_that_rolls_back_leaves_nothing)
{
    struct weir_outbox *outbox = orders(fixture, 4);
    struct weir_connection *connection = fixture_take(fixture);
    struct weir_draft draft = outbox_fixture_draft(0, "hello");

    check_db(weir_connection_begin(connection, &fixture->error), WEIR_OK);
    check_db(weir_enqueue(outbox, connection, "orders", &draft, NULL, &fixture->error),
             WEIR_OK);
    weir_connection_rollback(connection);

    check_int(waiting(fixture, outbox), 0);
    fixture_give(fixture, connection);
    weir_outbox_destroy(outbox);
}

OUTBOX_TEST(enqueue, is_seen_by_nobody_before_the_commit)
{
    struct weir_outbox *outbox = orders(fixture, 4);
    struct weir_connection *connection = fixture_take(fixture);
    struct weir_draft draft = outbox_fixture_draft(0, "hello");

    check_db(weir_connection_begin(connection, &fixture->error), WEIR_OK);
    check_db(weir_enqueue(outbox, connection, "orders", &draft, NULL, &fixture->error),
             WEIR_OK);
    check_int(waiting(fixture, outbox), 0);

    check_db(weir_connection_commit(connection, &fixture->error), WEIR_OK);

    check_int(waiting(fixture, outbox), 1);
    fixture_give(fixture, connection);
    weir_outbox_destroy(outbox);
}

/* On a connection without a transaction, and without a connection. */
OUTBOX_TEST(enqueue, without_a_transaction_has_one_of_its_own)
{
    struct weir_outbox *outbox = orders(fixture, 4);
    struct weir_connection *connection = fixture_take(fixture);
    struct weir_draft drafts[2] = {outbox_fixture_draft(0, "hello"),
                                   outbox_fixture_draft(1, "world")};

    check_db(weir_enqueue_batch(outbox, connection, "orders", drafts, 2, NULL,
                                &fixture->error),
             WEIR_OK);
    check_int(waiting(fixture, outbox), 2);

    outbox_fixture_send(fixture, outbox, "orders", 0, 1);

    check_int(waiting(fixture, outbox), 3);
    fixture_give(fixture, connection);
    weir_outbox_destroy(outbox);
}

OUTBOX_TEST(enqueue, of_50_gives_50_receipts_in_their_order)
{
    struct weir_outbox *outbox = orders(fixture, 4);
    struct weir_draft drafts[50];
    struct weir_receipt receipts[50];

    for (int i = 0; i < 50; i++)
        drafts[i] = outbox_fixture_draft(i % 4, "hello");

    check_db(
        weir_enqueue_batch(outbox, NULL, "orders", drafts, 50, receipts, &fixture->error),
        WEIR_OK);

    for (int i = 0; i < 50; i++) {
        check_int(receipts[i].partition, i % 4);
        check(receipts[i].id > (i > 0 ? receipts[i - 1].id : 0));
    }
    check_int(waiting(fixture, outbox), 50);
    weir_outbox_destroy(outbox);
}

OUTBOX_TEST(enqueue, of_a_batch_may_go_to_several_partitions)
{
    struct weir_outbox *outbox = orders(fixture, 2);
    struct weir_draft drafts[4] = {
        outbox_fixture_draft(0, "a"), outbox_fixture_draft(1, "b"),
        outbox_fixture_draft(1, "c"), outbox_fixture_draft(1, "d")};

    check_db(weir_enqueue_batch(outbox, NULL, "orders", drafts, 4, NULL, &fixture->error),
             WEIR_OK);

    check_int(outbox_fixture_partition(fixture, outbox, "orders", "default", 0).waiting,
              1);
    check_int(outbox_fixture_partition(fixture, outbox, "orders", "default", 1).waiting,
              3);
    weir_outbox_destroy(outbox);
}

OUTBOX_TEST(enqueue, of_a_batch_with_one_bad_message_writes_nothing)
{
    static char large[WEIR_PAYLOAD_SIZE_DEFAULT + 1];
    struct weir_outbox *outbox = orders(fixture, 4);
    struct weir_draft drafts[3] = {outbox_fixture_draft(0, "a"),
                                   outbox_fixture_draft(0, "b"),
                                   outbox_fixture_draft(0, "c")};

    drafts[2].payload = large;
    drafts[2].payload_size = sizeof large;
    check_db(weir_enqueue_batch(outbox, NULL, "orders", drafts, 3, NULL, &fixture->error),
             WEIR_TOO_LARGE);

    check(strstr(fixture->error.text, "message 3 of 3") != NULL);
    check(strstr(fixture->error.text, "65537") != NULL);
    check(strstr(fixture->error.text, "65536") != NULL);
    check_int(waiting(fixture, outbox), 0);
    weir_outbox_destroy(outbox);
}

OUTBOX_TEST(enqueue, of_nothing_does_nothing)
{
    struct weir_outbox *outbox = orders(fixture, 4);

    check_db(weir_enqueue_batch(outbox, NULL, "orders", NULL, 0, NULL, &fixture->error),
             WEIR_OK);

    check_int(waiting(fixture, outbox), 0);
    weir_outbox_destroy(outbox);
}

OUTBOX_TEST(enqueue, of_any_number_is_one_call)
{
    struct weir_outbox *outbox = orders(fixture, 4);

    outbox_fixture_send(fixture, outbox, "orders", 0, 150);
    outbox_fixture_send(fixture, outbox, "orders", 1, 4000);

    check_int(outbox_fixture_partition(fixture, outbox, "orders", "default", 0).waiting,
              150);
    check_int(outbox_fixture_partition(fixture, outbox, "orders", "default", 1).waiting,
              4000);
    weir_outbox_destroy(outbox);
}

static enum weir_status enqueue_two(struct weir_outbox *outbox,
                                    struct weir_connection *connection, void *argument,
                                    struct weir_error *error)
{
    struct weir_draft draft = outbox_fixture_draft(0, "hello");
    enum weir_status status =
        weir_enqueue(outbox, connection, "orders", &draft, NULL, error);

    if (status == WEIR_OK)
        status = weir_enqueue(outbox, connection, "orders", &draft, NULL, error);
    if (status == WEIR_OK && argument != NULL)
        status = weir_error_set(error, WEIR_INVALID, "changed its mind");
    return status;
}

DELIVERY_TEST(enqueue, in_the_transaction_helper_is_delivered, 4)
{
    check_db(weir_outbox_transact(outbox, enqueue_two, NULL, &fixture->error), WEIR_OK);

    wait_until(outbox_fixture_seq(fixture, outbox, "orders", 0) == 2);
    check_int(recorder_count(recorder), 2);
}

DELIVERY_TEST(enqueue, in_a_transaction_helper_that_fails_is_not_delivered, 4)
{
    check_db(weir_outbox_transact(outbox, enqueue_two, fixture, &fixture->error),
             WEIR_INVALID);

    outbox_fixture_send_text(fixture, outbox, "orders", 0, "afterwards");
    wait_until(outbox_fixture_seq(fixture, outbox, "orders", 0) == 1);
    check_str(recorder_delivery(recorder, 0).payload, "afterwards");
    check_int(recorder_count(recorder), 1);
}

/*
 * The reader looks by itself once a second. Twenty messages, each sent when the one
 * before it has come, would need that long each if nobody told it.
 */
DELIVERY_TEST(enqueue, wakes_whoever_delivers, 1)
{
    int64_t begun_ns = weir_clock_now_ns();

    for (size_t i = 1; i <= 20; i++) {
        outbox_fixture_send_text(fixture, outbox, "orders", 0, "hello");
        wait_until(recorder_count(recorder) == i);
    }

    check(weir_clock_now_ns() - begun_ns < WEIR_SECONDS(8));
}

/* The same, when the producer is another process. */
OUTBOX_TEST(enqueue, wakes_another_process_that_delivers)
{
    struct recorder *recorder = recorder_new();
    struct weir_outbox *outbox =
        outbox_fixture_open(fixture, "anna", "orders", 1, recorder);
    struct weir_db_options options = fixture_options(fixture);
    struct weir_db *db = fixture_open(fixture, &options);
    struct weir_outbox_options producer_options =
        outbox_fixture_options(fixture, "producer");
    struct weir_outbox *producer;
    int64_t begun_ns;

    producer_options.db = db;
    producer = outbox_fixture_create(fixture, &producer_options);
    begun_ns = weir_clock_now_ns();
    for (size_t i = 1; i <= 20; i++) {
        outbox_fixture_send_text(fixture, producer, "orders", 0, "hello");
        wait_until(recorder_count(recorder) == i);
    }

    check(weir_clock_now_ns() - begun_ns < WEIR_SECONDS(8));
    weir_outbox_destroy(producer);
    outbox_fixture_close(outbox);
    weir_db_destroy(db);
}

/* How often the channel of the outbox rings while so many messages are sent, one by
 * one. */
static int count_rings(struct fixture *fixture, PGconn *listener,
                       struct weir_outbox *producer, int messages)
{
    PGnotify *notify;
    int count = 0;

    for (int i = 0; i < messages; i++)
        outbox_fixture_send_text(fixture, producer, "orders", 0, "hello");
    PQclear(PQexec(listener, "SELECT 1"));
    while ((notify = PQnotifies(listener)) != NULL) {
        PQfreemem(notify);
        count++;
    }
    return count;
}

/* The one who delivers is alone, so his cuts notify nobody either. */
OUTBOX_POSTGRESQL_TEST(enqueue, notifies_nobody_while_there_is_much_to_deliver)
{
    struct recorder *recorder = recorder_new();
    struct weir_outbox *outbox =
        outbox_fixture_open(fixture, "anna", "orders", 1, recorder);
    struct weir_outbox_options options = outbox_fixture_options(fixture, "producer");
    struct weir_outbox *producer = outbox_fixture_create(fixture, &options);
    PGconn *listener =
        pg_outbox_connect(fixture); /* directly: a pooler does not listen */

    PQclear(PQexec(listener, "LISTEN weir_wake"));
    outbox_fixture_send_text(fixture, producer, "orders", 0, "hello");
    wait_until(count_rings(fixture, listener, producer, 1) > 0);
    wait_until(count_rings(fixture, listener, producer, 100) == 0);

    PQfinish(listener);
    weir_outbox_destroy(producer);
    outbox_fixture_close(outbox);
}

/* Twenty looks: by itself the reader would need a second for each. */
OUTBOX_TEST(flush, makes_the_reader_look)
{
    struct weir_outbox *outbox =
        outbox_fixture_open(fixture, "anna", "orders", 1, recorder_new());
    int64_t begun_ns = weir_clock_now_ns();

    for (int i = 0; i < 20; i++) {
        uint64_t before = outbox_fixture_executions(outbox, "dispatcher");

        weir_outbox_flush(outbox);
        wait_until(outbox_fixture_executions(outbox, "dispatcher") > before);
    }

    check(weir_clock_now_ns() - begun_ns < WEIR_SECONDS(8));
    outbox_fixture_close(outbox);
}

OUTBOX_TEST(flush, many_times_is_a_few_looks)
{
    enum { FLUSHES = 100000 };
    struct weir_outbox *outbox =
        outbox_fixture_open(fixture, "anna", "orders", 1, recorder_new());
    uint64_t before = outbox_fixture_executions(outbox, "dispatcher");

    for (int i = 0; i < FLUSHES; i++)
        weir_outbox_flush(outbox);
    wait_until(outbox_fixture_executions(outbox, "dispatcher") > before);

    check_in_range(outbox_fixture_executions(outbox, "dispatcher") - before, 1,
                   FLUSHES / 2);
    outbox_fixture_close(outbox);
}

OUTBOX_TEST(flush, before_the_start_and_after_the_stop_is_harmless)
{
    struct weir_outbox *outbox = orders(fixture, 1);

    weir_outbox_flush(outbox);
    outbox_fixture_start(fixture, outbox);
    outbox_fixture_send(fixture, outbox, "orders", 0, 1);
    wait_until(outbox_fixture_seq(fixture, outbox, "orders", 0) == 1);
    outbox_fixture_stop(outbox);
    weir_outbox_flush(outbox);

    outbox_fixture_close(outbox);
}

DELIVERY_TEST(enqueue, keeps_each_payload_with_its_partition, 8)
{
    static char texts[400][16];
    struct weir_draft drafts[400];
    struct weir_receipt receipts[400];

    for (int i = 0; i < 400; i++) {
        (void)snprintf(texts[i], sizeof texts[i], "%d/%d", (i * 5) % 8, i);
        drafts[i] = outbox_fixture_draft((i * 5) % 8, texts[i]);
    }
    check_db(weir_enqueue_batch(outbox, NULL, "orders", drafts, 400, receipts,
                                &fixture->error),
             WEIR_OK);

    wait_until(recorder_count(recorder) == 400);
    for (size_t i = 0; i < 400; i++) {
        struct delivery delivery = recorder_delivery(recorder, i);
        int partition = atoi(delivery.payload);
        int number = atoi(strchr(delivery.payload, '/') + 1);

        check_int(delivery.partition, partition);
        check(memcmp(delivery.uid, receipts[number].uid, WEIR_UID_SIZE) == 0);
    }
}

OUTBOX_TEST(enqueue, lets_the_key_choose_the_partition)
{
    struct weir_outbox *outbox = orders(fixture, 16);
    struct weir_draft draft = outbox_fixture_draft(WEIR_ANY_PARTITION, "hello");
    struct weir_receipt receipt;

    draft.key = "customer 17";
    for (int i = 0; i < 3; i++) {
        check_db(weir_enqueue(outbox, NULL, "orders", &draft, &receipt, &fixture->error),
                 WEIR_OK);
        check_int(receipt.partition, weir_partition_of_key("customer 17", 11, 16));
    }
    weir_outbox_destroy(outbox);
}

/* As an application writes it, with nothing but what it knows. */
OUTBOX_TEST(draft, with_a_key_and_nothing_else_goes_to_the_partition_of_its_key)
{
    struct weir_outbox *outbox = orders(fixture, 64);
    struct weir_draft draft = {.key = "c1", .type = "order"};
    struct weir_receipt receipt;

    check_db(weir_enqueue(outbox, NULL, "orders", &draft, &receipt, &fixture->error),
             WEIR_OK);

    check_int(receipt.partition, weir_partition_of_key("c1", 2, 64));
    weir_outbox_destroy(outbox);
}

OUTBOX_TEST(draft, without_key_and_partition_goes_to_any_partition)
{
    struct weir_outbox *outbox = orders(fixture, 2);
    struct weir_draft drafts[64];
    struct weir_receipt receipts[64];
    int32_t second = 0;

    for (int i = 0; i < 64; i++)
        drafts[i] = (struct weir_draft){.type = "order"};
    check_db(
        weir_enqueue_batch(outbox, NULL, "orders", drafts, 64, receipts, &fixture->error),
        WEIR_OK);

    for (int i = 0; i < 64; i++)
        second += receipts[i].partition;
    check_in_range(second, 1, 63);
    weir_outbox_destroy(outbox);
}

OUTBOX_TEST(draft, with_a_partition_goes_there)
{
    struct weir_outbox *outbox = orders(fixture, 8);
    struct weir_receipt receipt;

    for (int32_t i = 0; i < 8; i++) {
        struct weir_draft draft = {.route = weir_route_to_partition(i), .type = "order"};

        check_db(weir_enqueue(outbox, NULL, "orders", &draft, &receipt, &fixture->error),
                 WEIR_OK);
        check_int(receipt.partition, i);
    }
    weir_outbox_destroy(outbox);
}

OUTBOX_TEST(draft, with_a_key_and_a_partition_is_refused)
{
    struct weir_outbox *outbox = orders(fixture, 4);
    struct weir_draft draft = {
        .route = weir_route_to_partition(0), .key = "c1", .type = "order"};

    check_db(weir_enqueue(outbox, NULL, "orders", &draft, NULL, &fixture->error),
             WEIR_INVALID);

    check_str(fixture->error.text,
              "key \"c1\" chooses the partition, partition 0 is given "
              "too: give only one");
    check_int(waiting(fixture, outbox), 0);
    weir_outbox_destroy(outbox);
}

OUTBOX_TEST(draft, with_a_header_twice_is_refused)
{
    static const struct weir_header headers[] = {{"a", "1"}, {"b", "2"}, {"a", "1"}};
    struct weir_outbox *outbox = orders(fixture, 1);
    struct weir_draft draft = outbox_fixture_draft(0, "x");

    draft.headers = headers;
    draft.header_count = 3;

    check_db(weir_enqueue(outbox, NULL, "orders", &draft, NULL, &fixture->error),
             WEIR_INVALID);
    check(strstr(fixture->error.text, "header \"a\" is there twice") != NULL);
    weir_outbox_destroy(outbox);
}

OUTBOX_TEST(draft, that_is_null_is_refused)
{
    struct weir_outbox *outbox = orders(fixture, 1);

    check_db(weir_enqueue(outbox, NULL, "orders", NULL, NULL, &fixture->error),
             WEIR_INVALID);

    check_str(fixture->error.text, "draft is NULL, must be a list of 1");
    weir_outbox_destroy(outbox);
}

OUTBOX_TEST(enqueue, without_a_key_spreads_over_the_partitions)
{
    struct weir_outbox *outbox = orders(fixture, 4);
    int32_t used = 0;

    outbox_fixture_send(fixture, outbox, "orders", WEIR_ANY_PARTITION, 400);

    for (int32_t i = 0; i < 4; i++)
        used +=
            outbox_fixture_partition(fixture, outbox, "orders", "default", i).waiting > 0;
    check_int(used, 4);
    weir_outbox_destroy(outbox);
}

/* ---- a message as it was ----------------------------------------------------------- */

struct message_check {
    int64_t sent_us;
    _Atomic int state; /* 1 right, 2 wrong */
};

static enum weir_outcome compare(struct weir_context *context, void *state,
                                 const struct weir_message *message,
                                 struct weir_reason *reason)
{
    struct message_check *expected = state;
    const char *color = weir_message_header(message, "color");
    bool right = message->payload_size == 5 &&
                 memcmp(message->payload,
                        "a\0b\xff"
                        "c",
                        6) == 0 &&
                 strcmp(message->type, "application/x-thing; v=2") == 0 &&
                 message->key != NULL && strcmp(message->key, "k\xc3\xa4y") == 0 &&
                 message->header_count == 2 && color != NULL &&
                 strcmp(color, "gr\xc3\xbcn \"x\"") == 0 && message->attempts == 0 &&
                 message->epoch > 0 &&
                 llabs((long long)(message->created_us - expected->sent_us)) < 60000000;

    (void)context;
    (void)reason;
    expected->state = right ? 1 : 2;
    return WEIR_DONE;
}

OUTBOX_TEST(enqueue, gives_the_handler_the_message_as_it_was)
{
    static struct message_check expected;
    static const struct weir_header headers[] = {{"size", ""},
                                                 {"color", "gr\xc3\xbcn \"x\""}};
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");
    struct weir_handler_options options = outbox_fixture_handler("orders", NULL);
    struct weir_draft draft = {.key = "k\xc3\xa4y",
                               .type = "application/x-thing; v=2",
                               .payload = "a\0b\xff"
                                          "c",
                               .payload_size = 5,
                               .headers = headers,
                               .header_count = 2};

    expected.state = 0;
    expected.sent_us = weir_clock_wall_us();
    options.on_message = compare;
    options.state = &expected;
    outbox_fixture_queue(fixture, outbox, "orders", 1);
    outbox_fixture_add(fixture, outbox, &options);
    outbox_fixture_start(fixture, outbox);

    check_db(weir_enqueue(outbox, NULL, "orders", &draft, NULL, &fixture->error),
             WEIR_OK);

    wait_until(expected.state != 0);
    check_int(expected.state, 1);
    outbox_fixture_close(outbox);
}

OUTBOX_TEST(enqueue, takes_payloads_from_nothing_to_the_limit)
{
    static char large[WEIR_PAYLOAD_SIZE_DEFAULT];
    struct weir_outbox *outbox = orders(fixture, 1);
    struct weir_draft draft = outbox_fixture_draft(0, "");

    check_db(weir_enqueue(outbox, NULL, "orders", &draft, NULL, &fixture->error),
             WEIR_OK);
    draft.payload = large;
    draft.payload_size = sizeof large;
    check_db(weir_enqueue(outbox, NULL, "orders", &draft, NULL, &fixture->error),
             WEIR_OK);

    check_int(waiting(fixture, outbox), 2);
    weir_outbox_destroy(outbox);
}

/* ---- limits of what may wait ------------------------------------------------------- */

static void limited(struct fixture *fixture, struct weir_outbox *outbox, int64_t most)
{
    struct weir_queue_options options;

    weir_queue_options_init(&options);
    options.name = "orders";
    options.backlog_max = most;
    check_db(weir_outbox_add_queue(outbox, &options, &fixture->error), WEIR_OK);
}

OUTBOX_TEST(enqueue, is_refused_when_too_much_waits)
{
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");
    struct weir_draft draft = outbox_fixture_draft(0, "hello");

    limited(fixture, outbox, 10);
    outbox_fixture_serve(fixture, outbox, "orders", recorder_new());
    outbox_fixture_send(fixture, outbox, "orders", 0, 10);

    check_db(weir_enqueue(outbox, NULL, "orders", &draft, NULL, &fixture->error),
             WEIR_FULL);

    check(strstr(fixture->error.text, "10") != NULL);
    check_int(waiting(fixture, outbox), 10);
    weir_outbox_destroy(outbox);
}

/* Each of two subscriptions has six to do: that is six that wait, not twelve. */
OUTBOX_TEST(enqueue, counts_what_waits_once_for_all_subscriptions)
{
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");
    struct weir_handler_options options =
        outbox_fixture_handler("orders", recorder_new());

    limited(fixture, outbox, 10);
    outbox_fixture_add(fixture, outbox, &options);
    options.subscription = "mail";
    outbox_fixture_add(fixture, outbox, &options);
    outbox_fixture_send(fixture, outbox, "orders", 0, 6);
    weir_outbox_destroy(outbox);

    outbox = outbox_fixture_outbox(fixture, "bert"); /* has not counted yet */
    outbox_fixture_send(fixture, outbox, "orders", 0, 4);

    check_int(waiting(fixture, outbox), 10);
    weir_outbox_destroy(outbox);
}

OUTBOX_TEST(enqueue, works_again_when_less_waits)
{
    struct recorder *recorder = recorder_new();
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");
    struct weir_draft draft = outbox_fixture_draft(0, "hello");

    limited(fixture, outbox, 10);
    outbox_fixture_serve(fixture, outbox, "orders", recorder);
    outbox_fixture_send(fixture, outbox, "orders", 0, 10);
    check_db(weir_enqueue(outbox, NULL, "orders", &draft, NULL, &fixture->error),
             WEIR_FULL);

    outbox_fixture_start(fixture, outbox);

    wait_until(weir_enqueue(outbox, NULL, "orders", &draft, NULL, &fixture->error) ==
               WEIR_OK);
    wait_until(recorder_count(recorder) == 11);
    outbox_fixture_close(outbox);
}

/* ---- the log of SQLite ------------------------------------------------------------- */

/* Nobody delivers here, and so nobody sweeps. */
OUTBOX_SQLITE_TEST(enqueue, moves_a_log_that_is_over_the_limit)
{
    struct weir_outbox *outbox = orders(fixture, 1);
    struct weir_draft draft = outbox_fixture_draft(0, "hello");
    struct stat about;

    (void)fixture_ask(fixture, "CREATE TABLE filler AS SELECT zeroblob(70000000) AS a");
    check_int(stat(fixture->database, &about), 0);
    check(about.st_size < 1000000);

    check_db(weir_enqueue(outbox, NULL, "orders", &draft, NULL, &fixture->error),
             WEIR_OK);

    check_int(stat(fixture->database, &about), 0);
    check(about.st_size > 70000000);
    weir_outbox_destroy(outbox);
}
