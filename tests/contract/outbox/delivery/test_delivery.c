/*
 * Messages from a transaction to a handler: all of them, in order, and soon.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "db/clock.h"
#include "kit/outbox/outbox_application.h"
#include "kit/outbox/outbox_fixture.h"

/* ---- numbers and order ------------------------------------------------------------- */

DELIVERY_TEST(delivery, calls_the_handler_in_order, 1)
{
    for (int i = 0; i < 100; i++)
        outbox_fixture_send_text(fixture, outbox, "orders", 0, "hello");
    wait_until(recorder_count(recorder) == 100);

    check(recorder_in_order(recorder, 0, 100));
}

DELIVERY_TEST(delivery, numbers_messages_from_1_without_gaps, 1)
{
    outbox_fixture_send(fixture, outbox, "orders", 0, 3);

    wait_until(outbox_fixture_seq(fixture, outbox, "orders", 0) == 3);
    check_int(recorder_count(recorder), 3);
    for (size_t i = 0; i < 3; i++)
        check_int(recorder_delivery(recorder, i).seq, i + 1);
}

DELIVERY_TEST(delivery, is_first_in_first_out, 1)
{
    static const char *const words[] = {"a", "b", "c", "d", "e", "f", "g", "h"};

    for (size_t i = 0; i < 8; i++)
        outbox_fixture_send_text(fixture, outbox, "orders", 0, words[i]);

    wait_until(recorder_count(recorder) == 8);
    for (size_t i = 0; i < 8; i++)
        check_str(recorder_delivery(recorder, i).payload, words[i]);
}

DELIVERY_TEST(delivery, numbers_each_partition_by_itself, 2)
{
    outbox_fixture_send(fixture, outbox, "orders", 0, 2);
    outbox_fixture_send(fixture, outbox, "orders", 1, 3);

    wait_until(outbox_fixture_seq(fixture, outbox, "orders", 0) == 2);
    wait_until(outbox_fixture_seq(fixture, outbox, "orders", 1) == 3);
    check(recorder_in_order(recorder, 0, 2));
    check(recorder_in_order(recorder, 1, 3));
}

DELIVERY_TEST(delivery, goes_on_with_the_next_number, 1)
{
    outbox_fixture_send(fixture, outbox, "orders", 0, 2);
    wait_until(outbox_fixture_seq(fixture, outbox, "orders", 0) == 2);
    outbox_fixture_send(fixture, outbox, "orders", 0, 2);

    wait_until(outbox_fixture_seq(fixture, outbox, "orders", 0) == 4);
    check_int(recorder_count(recorder), 4);
    check(recorder_in_order(recorder, 0, 4));
}

/* Pages of two, two pages a turn: a backlog of 301 needs many of both. */
OUTBOX_TEST(delivery, of_more_than_fits_into_a_turn_goes_on)
{
    struct recorder *recorder = recorder_new();
    struct weir_outbox_options options = outbox_fixture_options(fixture, "anna");
    struct weir_tuning pages =
        weir_tuning_of(WEIR_PROFILE_LOW_LATENCY, WEIR_KIND_DISPATCHER);
    struct weir_outbox *outbox;

    pages.batch = 2;
    options.tuning[WEIR_KIND_DISPATCHER] = &pages;
    options.pages_per_run = 2;
    outbox = outbox_fixture_create(fixture, &options);
    outbox_fixture_queue(fixture, outbox, "orders", 4);
    outbox_fixture_serve(fixture, outbox, "orders", recorder);
    outbox_fixture_send(fixture, outbox, "orders", 0, 301);
    outbox_fixture_send(fixture, outbox, "orders", 3, 20);

    outbox_fixture_start(fixture, outbox);

    wait_until(outbox_fixture_seq(fixture, outbox, "orders", 0) == 301);
    wait_until(outbox_fixture_seq(fixture, outbox, "orders", 3) == 20);
    check(recorder_in_order(recorder, 0, 301));
    check(recorder_in_order(recorder, 3, 20));
    check_int(recorder_count(recorder), 321);
    outbox_fixture_close(outbox);
}

DELIVERY_TEST(delivery, leaves_partitions_without_messages_alone, 4)
{
    outbox_fixture_send(fixture, outbox, "orders", 0, 1);
    outbox_fixture_send(fixture, outbox, "orders", 2, 1);

    wait_until(recorder_count(recorder) == 2);
    check_int(recorder_count_of(recorder, 0), 1);
    check_int(recorder_count_of(recorder, 2), 1);
    check_int(outbox_fixture_seq(fixture, outbox, "orders", 1), 0);
    check_int(outbox_fixture_seq(fixture, outbox, "orders", 3), 0);
}

/* A queue without messages next to one that is busy. */
OUTBOX_TEST(delivery, of_nothing_calls_nobody_and_counts_no_attempt)
{
    struct recorder *idle = recorder_new();
    struct recorder *busy = recorder_new();
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");

    outbox_fixture_queue(fixture, outbox, "idle", 1);
    outbox_fixture_queue(fixture, outbox, "busy", 1);
    outbox_fixture_serve(fixture, outbox, "idle", idle);
    outbox_fixture_serve(fixture, outbox, "busy", busy);
    outbox_fixture_start(fixture, outbox);

    outbox_fixture_send(fixture, outbox, "busy", 0, 200);
    wait_until(recorder_count(busy) == 200);

    check_int(recorder_count(idle), 0);
    check_int(outbox_fixture_partition(fixture, outbox, "idle", "default", 0).attempts,
              0);
    outbox_fixture_close(outbox);
}

DELIVERY_TEST(delivery, serves_every_partition_of_64, 64)
{
    struct weir_draft drafts[192];

    for (int i = 0; i < 192; i++)
        drafts[i] = outbox_fixture_draft(i % 64, "hello");
    check_db(
        weir_enqueue_batch(outbox, NULL, "orders", drafts, 192, NULL, &fixture->error),
        WEIR_OK);

    wait_until(recorder_count(recorder) == 192);
    for (int32_t i = 0; i < 64; i++)
        check(recorder_in_order(recorder, i, 3));
}

DELIVERY_TEST(delivery, of_one_message_happens_once, 1)
{
    outbox_fixture_send_text(fixture, outbox, "orders", 0, "once");
    wait_until(outbox_fixture_seq(fixture, outbox, "orders", 0) == 1);
    for (size_t i = 2; i <= 20; i++) {
        outbox_fixture_send_text(fixture, outbox, "orders", 0, "more");
        wait_until(recorder_count(recorder) >= i);
    }

    check_int(recorder_times(recorder, 0, 1), 1);
    check_int(recorder_count(recorder), 20);
}

/* ---- while others write ------------------------------------------------------------ */

enum { PRODUCERS = 3, EACH = 60 };

struct producer {
    struct weir_outbox *outbox;
    pthread_t thread;
    int number;
    enum weir_status status;
};

static void *produce(void *argument)
{
    struct producer *self = argument;

    for (int i = 0; i < EACH && self->status == WEIR_OK; i++) {
        char text[32];
        struct weir_draft draft;

        (void)snprintf(text, sizeof text, "%d %d", self->number, i);
        draft = outbox_fixture_draft(i % 2, text);
        self->status = weir_enqueue(self->outbox, NULL, "orders", &draft, NULL, NULL);
    }
    return NULL;
}

/* The numbers have no gaps, and each producer's messages keep their order. */
OUTBOX_TEST(delivery, keeps_the_order_of_each_producer_while_they_write)
{
    struct recorder *recorder = recorder_new();
    struct weir_outbox *outbox =
        outbox_fixture_open(fixture, "anna", "orders", 2, recorder);
    struct producer producers[PRODUCERS];
    int last[2][PRODUCERS];

    for (int i = 0; i < PRODUCERS; i++) {
        producers[i] = (struct producer){.outbox = outbox, .number = i};
        check_int(pthread_create(&producers[i].thread, NULL, produce, &producers[i]), 0);
    }
    for (int i = 0; i < PRODUCERS; i++) {
        check_int(pthread_join(producers[i].thread, NULL), 0);
        check_status(producers[i].status, WEIR_OK);
        last[0][i] = last[1][i] = -1;
    }
    wait_until(recorder_count(recorder) == (size_t)PRODUCERS * EACH);

    check(recorder_in_order(recorder, 0, PRODUCERS * EACH / 2));
    check(recorder_in_order(recorder, 1, PRODUCERS * EACH / 2));
    for (size_t i = 0; i < (size_t)PRODUCERS * EACH; i++) {
        struct delivery delivery = recorder_delivery(recorder, i);
        int producer = atoi(delivery.payload);
        int number = atoi(strchr(delivery.payload, ' '));

        check(number > last[delivery.partition][producer]);
        last[delivery.partition][producer] = number;
    }
    outbox_fixture_close(outbox);
}

/* On PostgreSQL transactions commit in any order; on SQLite there is one writer. */
OUTBOX_SERVER_TEST(delivery, skips_nothing_that_commits_late)
{
    struct recorder *recorder = recorder_new();
    struct weir_outbox *outbox =
        outbox_fixture_open(fixture, "anna", "orders", 1, recorder);
    struct weir_connection *slow = fixture_take(fixture);
    struct weir_draft draft = outbox_fixture_draft(0, "slow");

    check_db(weir_connection_begin(slow, &fixture->error), WEIR_OK);
    check_db(weir_enqueue(outbox, slow, "orders", &draft, NULL, &fixture->error),
             WEIR_OK);
    outbox_fixture_send_text(fixture, outbox, "orders", 0, "quick");
    wait_until(recorder_count(recorder) == 1);

    check_db(weir_connection_commit(slow, &fixture->error), WEIR_OK);

    wait_until(recorder_count(recorder) == 2);
    check_str(recorder_delivery(recorder, 0).payload, "quick");
    check_str(recorder_delivery(recorder, 1).payload, "slow");
    check(recorder_in_order(recorder, 0, 2));
    fixture_give(fixture, slow);
    outbox_fixture_close(outbox);
}

/* The application commits by itself and tells nobody. */
DELIVERY_TEST(delivery, finds_what_nobody_told_it_of, 4)
{
    struct application application = application_start(fixture);
    struct weir_connection *connection;

    application_run(&application, "BEGIN");
    connection = application_adopt(fixture, &application);
    for (int32_t i = 1; i < 4; i++) {
        struct weir_draft draft = outbox_fixture_draft(i, "hello");

        check_db(
            weir_enqueue(outbox, connection, "orders", &draft, NULL, &fixture->error),
            WEIR_OK);
    }
    weir_connection_disown(connection);
    application_run(&application, "COMMIT");

    wait_until(recorder_count(recorder) == 3);
    application_stop(&application);
}

OUTBOX_TEST(delivery, begins_with_what_was_there_before_the_start)
{
    struct recorder *recorder = recorder_new();
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");

    outbox_fixture_queue(fixture, outbox, "orders", 2);
    outbox_fixture_send(fixture, outbox, "orders", 0, 20);
    outbox_fixture_send(fixture, outbox, "orders", 1, 20);
    outbox_fixture_serve(fixture, outbox, "orders", recorder);

    outbox_fixture_start(fixture, outbox);

    wait_until(recorder_count(recorder) == 40);
    check(recorder_in_order(recorder, 0, 20));
    check(recorder_in_order(recorder, 1, 20));
    outbox_fixture_close(outbox);
}

/* ---- side by side ------------------------------------------------------------------ */

DELIVERY_TEST(delivery, gives_a_partition_to_one_call_at_a_time, 1)
{
    for (int i = 0; i < 10; i++)
        outbox_fixture_send(fixture, outbox, "orders", 0, 20);

    wait_until(recorder_count(recorder) == 200);
    check_int(recorder_most(recorder), 1);
}

DELIVERY_TEST(delivery, runs_partitions_side_by_side, 4)
{
    recorder_answer(recorder, 0, ALWAYS, ANSWER_BLOCK);
    for (int32_t i = 0; i < 4; i++)
        outbox_fixture_send(fixture, outbox, "orders", i, 1);

    wait_until(recorder_count(recorder) == 4);
    check_int(recorder_most(recorder), 4);
    recorder_release(recorder);
}

OUTBOX_TEST(delivery, runs_no_more_calls_than_the_process_may)
{
    struct recorder *recorder = recorder_new();
    struct weir_outbox_options options = outbox_fixture_options(fixture, "anna");
    struct weir_outbox *outbox;

    options.handlers = 2;
    outbox = outbox_fixture_create(fixture, &options);
    outbox_fixture_queue(fixture, outbox, "orders", 8);
    outbox_fixture_serve(fixture, outbox, "orders", recorder);
    recorder_answer(recorder, 1, ALWAYS, ANSWER_BLOCK);
    for (int32_t i = 0; i < 8; i++)
        outbox_fixture_send(fixture, outbox, "orders", i, 5);
    outbox_fixture_start(fixture, outbox);
    wait_until(recorder_count(recorder) == 2);

    recorder_release(recorder);

    wait_until(recorder_count(recorder) == 40);
    check_int(recorder_most(recorder), 2);
    outbox_fixture_close(outbox);
}

OUTBOX_TEST(delivery, of_a_slow_queue_leaves_permits_to_others)
{
    struct recorder *slow = recorder_new();
    struct recorder *quick = recorder_new();
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");
    struct weir_handler_options options = outbox_fixture_handler("slow", slow);

    options.permits = 3;
    outbox_fixture_queue(fixture, outbox, "slow", 8);
    outbox_fixture_queue(fixture, outbox, "quick", 1);
    outbox_fixture_add(fixture, outbox, &options);
    outbox_fixture_serve(fixture, outbox, "quick", quick);
    recorder_answer(slow, 0, ALWAYS, ANSWER_BLOCK);
    outbox_fixture_start(fixture, outbox);
    for (int32_t i = 0; i < 8; i++)
        outbox_fixture_send(fixture, outbox, "slow", i, 1);
    wait_until(recorder_count(slow) == 3);

    outbox_fixture_send(fixture, outbox, "quick", 0, 50);

    wait_until(recorder_count(quick) == 50);
    check_int(recorder_most(slow), 3);
    recorder_release(slow);
    wait_until(recorder_count(slow) == 8);
    check_int(recorder_most(slow), 3);
    outbox_fixture_close(outbox);
}

/* So far behind that memory for what waits in it runs out. */
OUTBOX_TEST(delivery, of_a_partition_that_stands_still_delays_no_other)
{
    static char large[32 * 1024];
    struct recorder *recorder = recorder_new();
    struct weir_outbox_options options = outbox_fixture_options(fixture, "anna");
    struct weir_draft draft = outbox_fixture_draft(0, "");
    struct weir_outbox *outbox;

    options.memory_max = 1024 * 1024;
    outbox = outbox_fixture_create(fixture, &options);
    outbox_fixture_queue(fixture, outbox, "orders", 2);
    outbox_fixture_serve(fixture, outbox, "orders", recorder);
    recorder_answer(recorder, 1, 1, ANSWER_BLOCK); /* of partition 0, which comes first */
    outbox_fixture_start(fixture, outbox);
    draft.payload = large;
    draft.payload_size = sizeof large;
    memset(large, 'x', sizeof large);
    for (int i = 0; i < 100; i++)
        check_db(weir_enqueue(outbox, NULL, "orders", &draft, NULL, &fixture->error),
                 WEIR_OK);
    wait_until(recorder_count_of(recorder, 0) == 1);

    outbox_fixture_send(fixture, outbox, "orders", 1, 100);

    wait_until(recorder_count_of(recorder, 1) == 100);
    check_int(recorder_count_of(recorder, 0), 1);
    recorder_release(recorder);
    wait_until(outbox_fixture_seq(fixture, outbox, "orders", 0) == 100);
    check(recorder_in_order(recorder, 0, 100));
    outbox_fixture_close(outbox);
}

/* The default profile has batches of 10 and a pace of at least 100 ms between two:
 * paced, this would take ten seconds. */
OUTBOX_TEST(delivery, of_a_backlog_is_not_paced)
{
    struct recorder *recorder = recorder_new();
    struct weir_outbox_options options = outbox_fixture_options(fixture, "anna");
    struct weir_outbox *outbox;
    int64_t begun_ns;

    options.profile = WEIR_PROFILE_DEFAULT;
    options.tuning[WEIR_KIND_LANE] = NULL;
    outbox = outbox_fixture_create(fixture, &options);
    outbox_fixture_queue(fixture, outbox, "orders", 1);
    outbox_fixture_serve(fixture, outbox, "orders", recorder);
    outbox_fixture_send(fixture, outbox, "orders", 0, 1000);

    begun_ns = weir_clock_now_ns();
    outbox_fixture_start(fixture, outbox);

    wait_until(recorder_count(recorder) == 1000);
    check(weir_clock_now_ns() - begun_ns < WEIR_SECONDS(8));
    outbox_fixture_close(outbox);
}

/* ---- trouble ----------------------------------------------------------------------- */

static void add_seq(void *state, const struct weir_partition_info *info)
{
    *(int64_t *)state += info->seq;
}

/* The connection that asks may be one of those that were lost, too. */
static bool are_acked(struct weir_outbox *outbox, int64_t count)
{
    int64_t sum = 0;

    return weir_outbox_read_partitions(outbox, "orders", add_seq, &sum, NULL) ==
               WEIR_OK &&
           sum == count;
}

/* Every connection of the process is cut off, twice; nothing but the database tells
 * it. */
OUTBOX_SERVER_TEST(delivery, goes_on_when_all_connections_were_lost)
{
    struct recorder *recorder = recorder_new();
    struct weir_outbox *outbox =
        outbox_fixture_open(fixture, "anna", "orders", 2, recorder);
    struct weir_draft draft = outbox_fixture_draft(0, "hello");

    for (size_t i = 1; i <= 2; i++) {
        server_end_sessions(fixture->server, fixture->database);
        wait_until(weir_enqueue(outbox, NULL, "orders", &draft, NULL, NULL) == WEIR_OK);
        wait_until(are_acked(outbox, (int64_t)i));
    }

    check(recorder_in_order(recorder, 0, 2));
    outbox_fixture_close(outbox);
}
