/*
 * Who gets what: several purposes get everything each, several processes share one
 * purpose.
 */
#include <string.h>

#include "base/fault_point.h"
#include "kit/outbox/outbox_fixture.h"
#include "outbox/log/log.h"
#include "outbox/outbox.h"
#include "outbox/queue/catalog.h"

static struct weir_handler_options subscriber(const char *name, struct recorder *recorder)
{
    struct weir_handler_options handler = outbox_fixture_handler("orders", recorder);

    handler.subscription = name;
    return handler;
}

static int64_t seq_of(struct fixture *fixture, struct weir_outbox *outbox,
                      const char *subscription, int32_t partition)
{
    return outbox_fixture_partition(fixture, outbox, "orders", subscription, partition)
        .seq;
}

OUTBOX_TEST(subscription, of_each_name_gets_everything)
{
    struct recorder *mail = recorder_new();
    struct recorder *audit = recorder_new();
    struct weir_handler_options handlers[2] = {subscriber("mail", mail),
                                               subscriber("audit", audit)};
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");

    outbox_fixture_queue(fixture, outbox, "orders", 2);
    outbox_fixture_add(fixture, outbox, &handlers[0]);
    outbox_fixture_add(fixture, outbox, &handlers[1]);
    outbox_fixture_start(fixture, outbox);

    outbox_fixture_send(fixture, outbox, "orders", 0, 20);
    outbox_fixture_send(fixture, outbox, "orders", 1, 20);

    wait_until(recorder_count(mail) == 40 && recorder_count(audit) == 40);
    for (int32_t i = 0; i < 2; i++) {
        check(recorder_in_order(mail, i, 20));
        check(recorder_in_order(audit, i, 20));
    }
    outbox_fixture_close(outbox);
}

OUTBOX_TEST(subscription, that_fails_delays_no_other)
{
    struct recorder *mail = recorder_new();
    struct recorder *audit = recorder_new();
    struct weir_handler_options handlers[2] = {subscriber("mail", mail),
                                               subscriber("audit", audit)};
    struct weir_tuning tuning = outbox_fixture_tuning();
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");

    tuning.retry_base_ns = tuning.retry_max_ns = WEIR_MINUTES(10);
    handlers[0].tuning = &tuning;
    recorder_answer(mail, 1, ALWAYS, ANSWER_RETRY);
    outbox_fixture_queue(fixture, outbox, "orders", 1);
    outbox_fixture_add(fixture, outbox, &handlers[0]);
    outbox_fixture_add(fixture, outbox, &handlers[1]);
    outbox_fixture_start(fixture, outbox);

    outbox_fixture_send(fixture, outbox, "orders", 0, 50);

    wait_until(seq_of(fixture, outbox, "audit", 0) == 50);
    wait_until(outbox_fixture_partition(fixture, outbox, "orders", "mail", 0).attempts ==
               1);
    check_int(seq_of(fixture, outbox, "mail", 0), 0);
    check_int(outbox_fixture_queue_view(fixture, outbox, "orders").waiting, 50);
    outbox_fixture_close(outbox);
}

/* An outbox that looks for its share whenever it is woken, and not every few seconds. */
static struct weir_outbox *open_eager(struct fixture *fixture, const char *name,
                                      int32_t partitions, struct recorder *recorder)
{
    static struct weir_fault_points eager = {
        .armed = {{.name = "lease_keeper.eager", .every = 1}}, .armed_count = 1};
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, name);

    weir_outbox_set_fault_points(outbox, &eager);
    outbox_fixture_queue(fixture, outbox, "orders", partitions);
    outbox_fixture_serve(fixture, outbox, "orders", recorder);
    outbox_fixture_start(fixture, outbox);
    return outbox;
}

/* And wakes `outbox`. */
static int32_t held_by(struct fixture *fixture, struct weir_outbox *outbox,
                       const char *name, int32_t partitions)
{
    int32_t held = 0;

    weir_outbox_notify(outbox, WEIR_NOTIFY_LEASE_KEEPER);
    for (int32_t i = 0; i < partitions; i++)
        held +=
            strcmp(
                outbox_fixture_partition(fixture, outbox, "orders", "default", i).owner,
                name) == 0;
    return held;
}

OUTBOX_TEST(subscription, of_one_name_is_shared_by_its_processes)
{
    struct recorder *recorders[2] = {recorder_new(), recorder_new()};
    struct weir_outbox *anna = open_eager(fixture, "anna", 8, recorders[0]);
    struct weir_outbox *bert = open_eager(fixture, "bert", 8, recorders[1]);

    wait_until(held_by(fixture, anna, "anna", 8) == 4 &&
               held_by(fixture, anna, "bert", 8) == 4);
    for (int32_t i = 0; i < 8; i++)
        outbox_fixture_send(fixture, anna, "orders", i, 10);

    for (int32_t i = 0; i < 8; i++)
        wait_until(seq_of(fixture, anna, "default", i) == 10);
    check_int(recorder_count(recorders[0]), 40);
    check_int(recorder_count(recorders[1]), 40);
    outbox_fixture_close(anna);
    outbox_fixture_close(bert);
}

/* While messages flow: each partition's numbers go on over the change of owner. */
OUTBOX_TEST(subscription, changes_hands_without_losing_or_mixing_anything)
{
    struct recorder *recorders[2] = {recorder_new(), recorder_new()};
    struct weir_outbox *anna = open_eager(fixture, "anna", 4, recorders[0]);
    struct weir_outbox *bert = NULL;

    for (int round = 0; round < 30; round++) {
        for (int32_t i = 0; i < 4; i++)
            outbox_fixture_send(fixture, anna, "orders", i, 2);
        if (round == 10)
            bert = open_eager(fixture, "bert", 4, recorders[1]);
    }
    wait_until(held_by(fixture, anna, "bert", 4) == 2);
    for (int32_t i = 0; i < 4; i++)
        wait_until(seq_of(fixture, anna, "default", i) == 60);

    for (int32_t i = 0; i < 4; i++) {
        for (int64_t seq = 1; seq <= 60; seq++)
            check_int(recorder_times(recorders[0], i, seq) +
                          recorder_times(recorders[1], i, seq),
                      1);
    }
    outbox_fixture_close(anna);
    outbox_fixture_close(bert);
}

OUTBOX_TEST(subscription, goes_to_those_who_stay_when_a_process_stops)
{
    struct recorder *recorders[2] = {recorder_new(), recorder_new()};
    struct weir_outbox *anna = open_eager(fixture, "anna", 4, recorders[0]);
    struct weir_outbox *bert = open_eager(fixture, "bert", 4, recorders[1]);

    wait_until(held_by(fixture, anna, "bert", 4) == 2);

    outbox_fixture_close(anna);

    wait_until(held_by(fixture, bert, "bert", 4) == 4);
    for (int32_t i = 0; i < 4; i++)
        outbox_fixture_send(fixture, bert, "orders", i, 5);
    wait_until(recorder_count(recorders[1]) == 20);
    check_int(outbox_fixture_partition(fixture, bert, "orders", "default", 0).crashes, 0);
    outbox_fixture_close(bert);
}

/* ---- newcomers --------------------------------------------------------------------- */

OUTBOX_TEST(subscription, that_is_new_gets_everything_from_the_beginning)
{
    struct recorder *recorder = recorder_new();
    struct weir_handler_options handler = subscriber("late", recorder);
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");

    outbox_fixture_queue(fixture, outbox, "orders", 1);
    outbox_fixture_send(fixture, outbox, "orders", 0, 7);

    outbox_fixture_add(fixture, outbox, &handler);
    outbox_fixture_start(fixture, outbox);

    wait_until(seq_of(fixture, outbox, "late", 0) == 7);
    check(recorder_in_order(recorder, 0, 7));
    outbox_fixture_close(outbox);
}

OUTBOX_TEST(subscription, that_starts_now_gets_what_comes_later)
{
    struct recorder *recorder = recorder_new();
    struct weir_handler_options handler = subscriber("late", recorder);
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");

    outbox_fixture_queue(fixture, outbox, "orders", 1);
    outbox_fixture_send(fixture, outbox, "orders", 0, 7);
    handler.start = WEIR_START_NOW;
    outbox_fixture_add(fixture, outbox, &handler);
    check_int(outbox_fixture_partition(fixture, outbox, "orders", "late", 0).waiting, 0);
    outbox_fixture_send_text(fixture, outbox, "orders", 0, "the first for you");
    outbox_fixture_start(fixture, outbox);

    wait_until(seq_of(fixture, outbox, "late", 0) == 1);
    check_str(recorder_delivery(recorder, 0).payload, "the first for you");
    check_int(recorder_count(recorder), 1);
    outbox_fixture_close(outbox);
}

/* `start` is for subscriptions that are new. */
OUTBOX_TEST(subscription, that_is_known_goes_on_where_it_was)
{
    struct recorder *recorder = recorder_new();
    struct weir_handler_options handler = subscriber("mail", recorder);
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");

    outbox_fixture_queue(fixture, outbox, "orders", 1);
    outbox_fixture_add(fixture, outbox, &handler);
    weir_outbox_destroy(outbox);
    outbox = outbox_fixture_outbox(fixture, "bert");
    outbox_fixture_send(fixture, outbox, "orders", 0, 3);

    handler.start = WEIR_START_NOW;
    outbox_fixture_add(fixture, outbox, &handler);
    outbox_fixture_start(fixture, outbox);

    wait_until(seq_of(fixture, outbox, "mail", 0) == 3);
    check(recorder_in_order(recorder, 0, 3));
    outbox_fixture_close(outbox);
}

OUTBOX_TEST(subscription, is_made_by_the_first_handler_and_not_by_the_queue)
{
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");

    outbox_fixture_queue(fixture, outbox, "orders", 1);
    check_int(outbox_fixture_queue_view(fixture, outbox, "orders").subscriptions, 0);

    outbox_fixture_serve(fixture, outbox, "orders", recorder_new());

    check_int(outbox_fixture_queue_view(fixture, outbox, "orders").subscriptions, 1);
    weir_outbox_destroy(outbox);
}

/* There are no sinks yet: the subscription is made as one would make it. */
OUTBOX_TEST(subscription, of_a_sink_is_not_served_by_a_handler)
{
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");
    struct weir_handler_options handler = subscriber("relay", recorder_new());
    struct weir_connection *connection = fixture_take(fixture);
    struct weir_outbox_log log;
    struct weir_queue_row row;
    int64_t id = 0;

    outbox_fixture_queue(fixture, outbox, "orders", 1);
    check_db(weir_outbox_log_open(&log, connection, &fixture->error), WEIR_OK);
    check_db(weir_catalog_find_queue(connection, "orders", &row, &fixture->error),
             WEIR_OK);
    check_db(weir_catalog_subscribe(&log, connection, &row, "relay", WEIR_SERVED_BY_SINK,
                                    WEIR_START_BEGINNING, &id, &fixture->error),
             WEIR_OK);
    fixture_give(fixture, connection);

    check_db(weir_outbox_add_handler(outbox, &handler, &fixture->error), WEIR_MISMATCH);

    check(strstr(fixture->error.text, "\"relay\"") != NULL);
    check(strstr(fixture->error.text, "a sink") != NULL);
    weir_outbox_destroy(outbox);
}
