/*
 * Rates: how many messages per second go into a queue and come out of it, as an
 * operator sees it.
 */
#include <string.h>

#include "kit/outbox/outbox_fixture.h"
#include "outbox/lease/process.h"
#include "outbox/outbox.h"

#define MINUTE_US INT64_C(60000000)

static void copy_queue(void *state, const struct weir_queue_info *info)
{
    *(struct weir_queue_info *)state = *info;
}

static struct weir_queue_info look(struct fixture *fixture, struct weir_outbox *outbox,
                                   const char *queue)
{
    struct weir_queue_info info;

    check_db(weir_outbox_read_queue(outbox, queue, copy_queue, &info, &fixture->error),
             WEIR_OK);
    return info;
}

static void copy_process(void *state, const struct weir_process_info *info)
{
    *(struct weir_process_info *)state = *info;
}

static struct weir_process_info look_at_process(struct fixture *fixture,
                                                struct weir_outbox *outbox)
{
    struct weir_process_info info = {.name = NULL};

    check_db(
        weir_outbox_read_processes(outbox, NULL, copy_process, &info, &fixture->error),
        WEIR_OK);
    return info;
}

/* Two queues, and nobody who delivers. */
static struct weir_outbox *two_queues(struct fixture *fixture)
{
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");

    outbox_fixture_queue(fixture, outbox, "orders", 1);
    outbox_fixture_queue(fixture, outbox, "mails", 1);
    return outbox;
}

/* Messages that nobody has moved are in front of the log on MariaDB. */
#define AGE_LOG(table) "UPDATE " table " SET created_us = created_us - 61000000"
#define SPREAD_LOG                                                                       \
    "UPDATE {p}_log SET created_us = created_us - 10000 *"                               \
    " ((SELECT max(id) FROM {p}_log) - id)"
#define SPREAD_INCOMING                                                                  \
    "UPDATE {p}_incoming i JOIN (SELECT era, id, row_number() OVER"                      \
    " (ORDER BY era DESC, id DESC) AS n FROM {p}_incoming) r USING (era, id)"            \
    " SET i.created_us = i.created_us - 10000 * (r.n - 1)"

/* ---- in ---------------------------------------------------------------------------- */

OUTBOX_TEST(rate_in, of_a_queue_without_messages_is_0)
{
    struct weir_outbox *outbox = two_queues(fixture);

    outbox_fixture_send(fixture, outbox, "mails", 0, 5);

    check(look(fixture, outbox, "orders").in_per_s == 0);
    weir_outbox_destroy(outbox);
}

/* However little time has passed: by a second at least. */
OUTBOX_TEST(rate_in, counts_the_messages_of_the_last_minute)
{
    struct weir_outbox *outbox = two_queues(fixture);
    double per_s;

    outbox_fixture_send(fixture, outbox, "orders", 0, 6);
    outbox_fixture_send(fixture, outbox, "mails", 0, 50);
    per_s = look(fixture, outbox, "orders").in_per_s;

    check(per_s > 6.0 / 60);
    check(per_s <= 6);
    weir_outbox_destroy(outbox);
}

OUTBOX_TEST(rate_in, is_0_when_the_newest_message_is_older_than_a_minute)
{
    struct weir_outbox *outbox = two_queues(fixture);

    outbox_fixture_send(fixture, outbox, "orders", 0, 6);
    fixture_prepare(fixture, fixture_choose(fixture, AGE_LOG("{p}_log"),
                                            AGE_LOG("{p}_log"), AGE_LOG("{p}_incoming")));

    check(look(fixture, outbox, "orders").in_per_s == 0);
    weir_outbox_destroy(outbox);
}

/* A message each 10 ms, so that the newest thousand have come within ten seconds. */
OUTBOX_TEST(rate_in, looks_at_the_newest_messages_only)
{
    struct weir_outbox *outbox = two_queues(fixture);
    double per_s;

    outbox_fixture_send(fixture, outbox, "orders", 0, 1000);
    outbox_fixture_send(fixture, outbox, "mails", 0, 250);
    outbox_fixture_send(fixture, outbox, "orders", 0, 750);
    fixture_prepare(fixture,
                    fixture_choose(fixture, SPREAD_LOG, SPREAD_LOG, SPREAD_INCOMING));
    per_s = look(fixture, outbox, "mails").in_per_s;

    check(per_s > 0);
    check(per_s <= 25.1);
    per_s = look(fixture, outbox, "orders").in_per_s;
    check(per_s > 0);
    check(per_s <= 75.1);
    weir_outbox_destroy(outbox);
}

/* ---- out --------------------------------------------------------------------------- */

static int64_t subscribe(struct fixture *fixture, struct weir_outbox *outbox,
                         const char *name)
{
    struct weir_handler_options handler =
        outbox_fixture_handler("orders", recorder_new());

    handler.subscription = name;
    outbox_fixture_add(fixture, outbox, &handler);
    return outbox->subscribers[outbox->subscriber_count - 1]->subscription_id;
}

/* A process of this number says that it delivers. */
static void heartbeat(struct fixture *fixture, int64_t process, int64_t subscription,
                      double rate)
{
    struct weir_connection *connection = fixture_take(fixture);
    struct weir_quota quota = {
        .subscription = subscription, .partitions = 1, .delivered = 10, .rate = rate};
    struct weir_process member = {.owner = process,
                                  .name = "a process",
                                  .library = "1.2.3",
                                  .duration_us = MINUTE_US};

    check_db(weir_process_heartbeat(connection, &member, &quota, 1, &fixture->error),
             WEIR_OK);
    fixture_give(fixture, connection);
}

OUTBOX_TEST(rate_out, is_0_when_nobody_delivers)
{
    struct weir_outbox *outbox = two_queues(fixture);

    (void)subscribe(fixture, outbox, "default");

    check(look(fixture, outbox, "orders").out_per_s == 0);
    check(look(fixture, outbox, "mails").out_per_s == 0);
    weir_outbox_destroy(outbox);
}

OUTBOX_TEST(rate_out, is_the_sum_of_all_live_processes)
{
    struct weir_outbox *outbox = two_queues(fixture);
    int64_t subscription = subscribe(fixture, outbox, "default");

    heartbeat(fixture, 1, subscription, 5.25);
    heartbeat(fixture, 2, subscription, 4.5);
    heartbeat(fixture, 3, subscription, 100);
    fixture_prepare(fixture, "UPDATE {p}_member SET until_us = 1 WHERE process = 3");

    check(look(fixture, outbox, "orders").out_per_s == 9.75);
    check(look(fixture, outbox, "mails").out_per_s == 0);
    weir_outbox_destroy(outbox);
}

OUTBOX_TEST(rate_out, is_that_of_the_quickest_when_nothing_waits)
{
    struct weir_outbox *outbox = two_queues(fixture);
    int64_t mailer = subscribe(fixture, outbox, "mailer");
    int64_t audit = subscribe(fixture, outbox, "audit");

    heartbeat(fixture, 1, mailer, 2);
    heartbeat(fixture, 1, audit, 3);

    check(look(fixture, outbox, "orders").out_per_s == 3);
    weir_outbox_destroy(outbox);
}

OUTBOX_TEST(rate_out, is_that_of_the_subscription_furthest_behind)
{
    struct recorder *recorder = recorder_new();
    struct weir_outbox *outbox =
        outbox_fixture_open(fixture, "anna", "orders", 1, recorder);
    struct weir_outbox *other = outbox_fixture_outbox(fixture, "bert");
    int64_t slow = subscribe(fixture, other, "slow");

    outbox_fixture_send(fixture, outbox, "orders", 0, 3);
    wait_until(outbox_fixture_seq(fixture, outbox, "orders", 0) == 3);
    outbox_fixture_stop(outbox);
    heartbeat(fixture, 1, outbox->subscribers[0]->subscription_id, 50);
    heartbeat(fixture, 1, slow, 0.5);

    check_int(look(fixture, other, "orders").waiting, 3);
    check(look(fixture, other, "orders").out_per_s == 0.5);
    weir_outbox_destroy(other);
    weir_outbox_destroy(outbox);
}

/* Its heart beats quickly. */
static struct weir_outbox *lively(struct fixture *fixture)
{
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");
    struct weir_handler_options handler =
        outbox_fixture_handler("orders", recorder_new());

    outbox_fixture_short_lease(&handler);
    outbox_fixture_queue(fixture, outbox, "orders", 1);
    outbox_fixture_add(fixture, outbox, &handler);
    outbox_fixture_start(fixture, outbox);
    return outbox;
}

OUTBOX_TEST(process, publishes_how_much_it_has_delivered)
{
    struct weir_outbox *outbox = lively(fixture);

    check_int(look_at_process(fixture, outbox).delivered, 0);
    outbox_fixture_send(fixture, outbox, "orders", 0, 5);

    wait_until(look_at_process(fixture, outbox).delivered == 5);
    outbox_fixture_close(outbox);
}

static double rate_while_sending(struct fixture *fixture, struct weir_outbox *outbox)
{
    outbox_fixture_send(fixture, outbox, "orders", 0, 1);
    return look_at_process(fixture, outbox).out_per_s;
}

OUTBOX_TEST(process, publishes_how_fast_it_delivers)
{
    struct weir_outbox *outbox = lively(fixture);

    check(look_at_process(fixture, outbox).out_per_s == 0);
    wait_until(rate_while_sending(fixture, outbox) > 0);
    outbox_fixture_close(outbox);
}
