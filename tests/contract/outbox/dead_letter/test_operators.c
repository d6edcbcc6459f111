/*
 * Operators: pause, resume, remove, and look.
 */
#include <string.h>

#include "kit/outbox/outbox_fixture.h"

static struct partition_view look(struct fixture *fixture, struct weir_outbox *outbox)
{
    return outbox_fixture_partition(fixture, outbox, "orders", "default", 0);
}

/* ---- pausing ----------------------------------------------------------------------- */

OUTBOX_TEST(pause, holds_all_subscriptions_while_enqueueing_goes_on)
{
    struct recorder *orders[2] = {recorder_new(), recorder_new()};
    struct recorder *other = recorder_new();
    struct weir_handler_options handler = outbox_fixture_handler("orders", orders[0]);
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");

    outbox_fixture_queue(fixture, outbox, "orders", 2);
    outbox_fixture_queue(fixture, outbox, "other", 1);
    outbox_fixture_add(fixture, outbox, &handler);
    handler.subscription = "mail";
    handler.state = orders[1];
    outbox_fixture_add(fixture, outbox, &handler);
    outbox_fixture_serve(fixture, outbox, "other", other);
    outbox_fixture_start(fixture, outbox);

    check_db(weir_outbox_pause_queue(outbox, "orders", &fixture->error), WEIR_OK);
    outbox_fixture_send(fixture, outbox, "orders", 0, 10);
    outbox_fixture_send(fixture, outbox, "orders", 1, 10);
    outbox_fixture_send(fixture, outbox, "other", 0, 50);
    wait_until(recorder_count(other) == 50);

    check_int(recorder_count(orders[0]), 0);
    check_int(recorder_count(orders[1]), 0);
    check(outbox_fixture_queue_view(fixture, outbox, "orders").paused);
    check_int(outbox_fixture_queue_view(fixture, outbox, "orders").waiting, 20);
    outbox_fixture_close(outbox);
}

DELIVERY_TEST(pause, ends_when_it_is_resumed, 1)
{
    check_db(weir_outbox_pause_queue(outbox, "orders", &fixture->error), WEIR_OK);
    outbox_fixture_send(fixture, outbox, "orders", 0, 10);

    check_db(weir_outbox_resume_queue(outbox, "orders", &fixture->error), WEIR_OK);

    wait_until(look(fixture, outbox).seq == 10);
    check(!outbox_fixture_queue_view(fixture, outbox, "orders").paused);
    check(recorder_in_order(recorder, 0, 10));
}

/* Within seconds, without being told. */
DELIVERY_TEST(pause, reaches_other_processes, 1)
{
    struct weir_outbox *client = outbox_fixture_outbox(fixture, "clerk");
    size_t before = 0;
    bool quiet = false;

    check_db(weir_outbox_pause_queue(client, "orders", &fixture->error), WEIR_OK);
    while (!quiet) { /* until a whole round of sending finds nobody at work */
        before = recorder_count(recorder);
        outbox_fixture_send(fixture, client, "orders", 0, 1);
        for (int i = 0; i < 20; i++)
            (void)look(fixture, client);
        quiet = recorder_count(recorder) == before;
    }

    check(look(fixture, client).waiting > 0);
    check_db(weir_outbox_resume_queue(client, "orders", &fixture->error), WEIR_OK);
    wait_until(look(fixture, client).waiting == 0);
    weir_outbox_destroy(client);
}

OUTBOX_TEST(pause, is_kept_over_a_restart)
{
    struct recorder *recorder = recorder_new();
    struct recorder *other = recorder_new();
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");

    outbox_fixture_queue(fixture, outbox, "orders", 1);
    check_db(weir_outbox_pause_queue(outbox, "orders", &fixture->error), WEIR_OK);
    weir_outbox_destroy(outbox);

    outbox = outbox_fixture_outbox(fixture, "bert");
    outbox_fixture_queue(fixture, outbox, "orders", 1);
    outbox_fixture_queue(fixture, outbox, "other", 1);
    outbox_fixture_serve(fixture, outbox, "orders", recorder);
    outbox_fixture_serve(fixture, outbox, "other", other);
    outbox_fixture_send(fixture, outbox, "orders", 0, 5);
    outbox_fixture_start(fixture, outbox);
    outbox_fixture_send(fixture, outbox, "other", 0, 20);

    wait_until(recorder_count(other) == 20);
    check_int(recorder_count(recorder), 0);
    outbox_fixture_close(outbox);
}

/* A call that runs ends as usual. */
OUTBOX_TEST(pause, lets_running_calls_end)
{
    struct recorder *recorder = recorder_new();
    struct weir_tuning tuning = outbox_fixture_tuning();
    struct weir_handler_options handler = outbox_fixture_handler("orders", recorder);
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");

    tuning.batch = 1;
    handler.tuning = &tuning;
    recorder_answer(recorder, 1, 1, ANSWER_BLOCK);
    outbox_fixture_queue(fixture, outbox, "orders", 1);
    outbox_fixture_add(fixture, outbox, &handler);
    outbox_fixture_send(fixture, outbox, "orders", 0, 3);
    outbox_fixture_start(fixture, outbox);
    wait_until(recorder_count(recorder) == 1);

    check_db(weir_outbox_pause_queue(outbox, "orders", &fixture->error), WEIR_OK);
    recorder_release(recorder);

    wait_until(look(fixture, outbox).seq == 1);
    check_int(recorder_count(recorder), 1);
    outbox_fixture_close(outbox);
}

OUTBOX_TEST(pause, of_a_queue_that_is_not_there_is_refused)
{
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");

    check_db(weir_outbox_pause_queue(outbox, "nobody", &fixture->error), WEIR_NOT_FOUND);
    check(strstr(fixture->error.text, "\"nobody\"") != NULL);
    check_db(weir_outbox_resume_queue(outbox, "nobody", &fixture->error), WEIR_NOT_FOUND);
    check_db(weir_outbox_pause_queue(outbox, "bad name", &fixture->error), WEIR_INVALID);
    weir_outbox_destroy(outbox);
}

/* ---- removing ---------------------------------------------------------------------- */

OUTBOX_TEST(remove, is_refused_while_a_message_waits)
{
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");

    outbox_fixture_queue(fixture, outbox, "orders", 1);
    outbox_fixture_serve(fixture, outbox, "orders", recorder_new());
    outbox_fixture_send(fixture, outbox, "orders", 0, 1);

    check_db(weir_outbox_remove_queue(outbox, "orders", false, &fixture->error),
             WEIR_BUSY);

    check(strstr(fixture->error.text, "\"orders\"") != NULL);
    check_int(look(fixture, outbox).waiting, 1);
    weir_outbox_destroy(outbox);
}

DELIVERY_TEST(remove, is_refused_while_a_dead_letter_waits, 1)
{
    recorder_answer(recorder, 1, ALWAYS, ANSWER_REJECT);
    outbox_fixture_send(fixture, outbox, "orders", 0, 1);
    wait_until(look(fixture, outbox).seq == 1);

    check_db(weir_outbox_remove_queue(outbox, "orders", false, &fixture->error),
             WEIR_BUSY);

    check(strstr(fixture->error.text, "1 dead letter") != NULL);
}

OUTBOX_TEST(remove, by_force_takes_everything_along)
{
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");
    struct weir_draft draft = outbox_fixture_draft(0, "hello");

    outbox_fixture_queue(fixture, outbox, "orders", 1);
    outbox_fixture_serve(fixture, outbox, "orders", recorder_new());
    outbox_fixture_send(fixture, outbox, "orders", 0, 10);

    check_db(weir_outbox_remove_queue(outbox, "orders", true, &fixture->error), WEIR_OK);

    check(!outbox_fixture_queue_view(fixture, outbox, "orders").found);
    check_db(weir_enqueue(outbox, NULL, "orders", &draft, NULL, &fixture->error),
             WEIR_NOT_FOUND);
    weir_outbox_destroy(outbox);
}

DELIVERY_TEST(remove, of_a_queue_that_is_done_works, 1)
{
    outbox_fixture_send(fixture, outbox, "orders", 0, 10);
    wait_until(look(fixture, outbox).seq == 10);

    check_db(weir_outbox_remove_queue(outbox, "orders", false, &fixture->error), WEIR_OK);

    check(!outbox_fixture_queue_view(fixture, outbox, "orders").found);
}

/* Same name, new queue: nothing of the old one comes back, and the numbers begin anew. */
OUTBOX_TEST(remove, makes_room_for_a_queue_of_the_same_name)
{
    struct recorder *recorder = recorder_new();
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");

    outbox_fixture_queue(fixture, outbox, "orders", 1);
    outbox_fixture_send(fixture, outbox, "orders", 0, 10);
    check_db(weir_outbox_remove_queue(outbox, "orders", true, &fixture->error), WEIR_OK);

    outbox_fixture_queue(fixture, outbox, "orders", 4);
    outbox_fixture_serve(fixture, outbox, "orders", recorder);
    outbox_fixture_start(fixture, outbox);
    outbox_fixture_send_text(fixture, outbox, "orders", 0, "new");

    wait_until(look(fixture, outbox).seq == 1);
    check_str(recorder_delivery(recorder, 0).payload, "new");
    check_int(recorder_count(recorder), 1);
    outbox_fixture_close(outbox);
}

OUTBOX_TEST(remove, leaves_other_queues_of_the_process_alone)
{
    struct recorder *recorder = recorder_new();
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");

    outbox_fixture_queue(fixture, outbox, "orders", 1);
    outbox_fixture_queue(fixture, outbox, "other", 1);
    outbox_fixture_serve(fixture, outbox, "orders", recorder_new());
    outbox_fixture_serve(fixture, outbox, "other", recorder);
    outbox_fixture_start(fixture, outbox);

    check_db(weir_outbox_remove_queue(outbox, "orders", true, &fixture->error), WEIR_OK);

    for (size_t i = 1; i <= 10; i++) {
        outbox_fixture_send(fixture, outbox, "other", 0, 1);
        wait_until(recorder_count(recorder) == i);
    }
    outbox_fixture_close(outbox);
}

OUTBOX_TEST(remove, of_a_queue_that_is_not_there_is_refused)
{
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");

    check_db(weir_outbox_remove_queue(outbox, "nobody", true, &fixture->error),
             WEIR_NOT_FOUND);
    weir_outbox_destroy(outbox);
}

/* ---- looking ----------------------------------------------------------------------- */

OUTBOX_TEST(inspection, shows_position_and_lag_of_each_partition)
{
    struct recorder *recorder = recorder_new();
    struct weir_tuning tuning = outbox_fixture_tuning();
    struct weir_handler_options handler = outbox_fixture_handler("orders", recorder);
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");

    tuning.retry_base_ns = tuning.retry_max_ns = WEIR_MINUTES(10);
    handler.tuning = &tuning;
    recorder_answer(recorder, 4, 1, ANSWER_RETRY);
    outbox_fixture_queue(fixture, outbox, "orders", 2);
    outbox_fixture_add(fixture, outbox, &handler);
    outbox_fixture_start(fixture, outbox);
    outbox_fixture_send(fixture, outbox, "orders", 0, 10);
    wait_until(look(fixture, outbox).seq == 3);

    check_int(look(fixture, outbox).waiting, 7);
    check(!look(fixture, outbox).waiting_is_estimate);
    check(look(fixture, outbox).oldest_age_us > 0);
    check_int(outbox_fixture_partition(fixture, outbox, "orders", "default", 1).waiting,
              0);
    check_int(
        outbox_fixture_partition(fixture, outbox, "orders", "default", 1).oldest_age_us,
        0);
    check_int(outbox_fixture_queue_view(fixture, outbox, "orders").waiting, 7);
    check(outbox_fixture_queue_view(fixture, outbox, "orders").oldest_age_us > 0);
    outbox_fixture_close(outbox);
}

OUTBOX_TEST(inspection, shows_attempts_wait_and_reason_of_a_message_that_fails)
{
    struct recorder *recorder = recorder_new();
    struct weir_tuning tuning = outbox_fixture_tuning();
    struct weir_handler_options handler = outbox_fixture_handler("orders", recorder);
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");

    tuning.retry_base_ns = tuning.retry_max_ns = WEIR_MINUTES(10);
    handler.tuning = &tuning;
    recorder_answer(recorder, 1, 1, ANSWER_RETRY);
    outbox_fixture_queue(fixture, outbox, "orders", 1);
    outbox_fixture_add(fixture, outbox, &handler);
    outbox_fixture_start(fixture, outbox);
    outbox_fixture_send(fixture, outbox, "orders", 0, 1);
    wait_until(look(fixture, outbox).attempts == 1);

    check_in_range(look(fixture, outbox).retry_in_us, INT64_C(8) * 60 * 1000000,
                   INT64_C(10) * 60 * 1000000);
    check_str(look(fixture, outbox).last_error, "message 1 must wait");
    outbox_fixture_close(outbox);
}

OUTBOX_TEST(inspection, of_age_is_the_time_since_the_oldest_was_enqueued)
{
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");
    int64_t first_us;

    outbox_fixture_queue(fixture, outbox, "orders", 1);
    outbox_fixture_serve(fixture, outbox, "orders", recorder_new());
    outbox_fixture_send(fixture, outbox, "orders", 0, 1);
    wait_until(look(fixture, outbox).oldest_age_us > 100000);
    outbox_fixture_send(fixture, outbox, "orders", 0, 1);

    first_us = look(fixture, outbox).oldest_age_us;
    check_in_range(first_us, 100000, 60000000);
    wait_until(look(fixture, outbox).oldest_age_us > first_us);
    weir_outbox_destroy(outbox);
}

OUTBOX_TEST(inspection, shows_each_queue_with_its_policies)
{
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");
    struct weir_queue_options options;

    weir_queue_options_init(&options);
    options.name = "orders";
    options.partitions = 16;
    options.backlog_max = 1000;
    check_db(weir_outbox_add_queue(outbox, &options, &fixture->error), WEIR_OK);
    outbox_fixture_queue(fixture, outbox, "other", 2);

    check_int(outbox_fixture_queue_view(fixture, outbox, "orders").partitions, 16);
    check_int(outbox_fixture_queue_view(fixture, outbox, "orders").backlog_max, 1000);
    check_int(outbox_fixture_queue_view(fixture, outbox, "other").partitions, 2);
    check_int(outbox_fixture_queue_view(fixture, outbox, "other").backlog_max, 0);
    weir_outbox_destroy(outbox);
}

OUTBOX_TEST(policies, are_not_set_of_a_queue_that_does_not_exist)
{
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "clerk");
    struct weir_queue_options options = {.name = "orders", .backlog_max = 7};

    check_db(weir_outbox_set_queue(outbox, &options, NULL, &fixture->error),
             WEIR_NOT_FOUND);

    check_str(fixture->error.text, "there is no queue \"orders\"");
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_queue"), 0);
    weir_outbox_destroy(outbox);
}

OUTBOX_TEST(policies, that_are_not_named_stay_as_they_are)
{
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "clerk");
    struct weir_queue_options options = {.name = "orders", .attempts_max = 7};
    struct weir_queue_change change;

    outbox_fixture_queue(fixture, outbox, "orders", 2);
    check_db(weir_outbox_set_queue(outbox, &options, &change, &fixture->error), WEIR_OK);
    options = (struct weir_queue_options){.name = "orders", .backlog_max = 5};
    check_db(weir_outbox_set_queue(outbox, &options, &change, &fixture->error), WEIR_OK);

    check_int(change.changed, WEIR_POLICY_BACKLOG_MAX);
    check_int(change.now.attempts_max, 7);
    check_int(outbox_fixture_queue_view(fixture, outbox, "orders").backlog_max, 5);
    weir_outbox_destroy(outbox);
}

/* Nobody runs: all is in the database. */
OUTBOX_TEST(inspection, works_when_no_process_delivers)
{
    struct recorder *recorder = recorder_new();
    struct weir_outbox *outbox =
        outbox_fixture_open(fixture, "anna", "orders", 1, recorder);

    outbox_fixture_send(fixture, outbox, "orders", 0, 3);
    wait_until(look(fixture, outbox).seq == 3);
    outbox_fixture_close(outbox);

    outbox = outbox_fixture_outbox(fixture, "clerk");
    outbox_fixture_send(fixture, outbox, "orders", 0, 2);
    check_int(look(fixture, outbox).seq, 3);
    check_int(look(fixture, outbox).waiting, 2);
    check_str(look(fixture, outbox).owner, "");
    weir_outbox_destroy(outbox);
}

static void ignore_partition(void *state, const struct weir_partition_info *info)
{
    (void)state;
    (void)info;
}

OUTBOX_TEST(inspection, of_a_queue_that_is_not_there_is_refused)
{
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");

    check_db(weir_outbox_read_partitions(outbox, "nobody", ignore_partition, NULL,
                                         &fixture->error),
             WEIR_NOT_FOUND);
    weir_outbox_destroy(outbox);
}

/* ---- statistics -------------------------------------------------------------------- */

OUTBOX_TEST(statistics, are_there_while_it_runs_unless_switched_off)
{
    struct weir_outbox_options options = outbox_fixture_options(fixture, "anna");
    struct weir_outbox *outbox = outbox_fixture_create(fixture, &options);

    check(weir_outbox_stats(outbox) == NULL);
    outbox_fixture_start(fixture, outbox);
    check(weir_outbox_stats(outbox) != NULL);
    outbox_fixture_close(outbox);

    options.stats_interval_ns = 0;
    outbox = outbox_fixture_create(fixture, &options);
    outbox_fixture_start(fixture, outbox);
    check(weir_outbox_stats(outbox) == NULL);
    outbox_fixture_close(outbox);
}
