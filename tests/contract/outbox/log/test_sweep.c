/*
 * What is removed from the log, seen from outside: by a newcomer who wants everything
 * from the beginning, and by those who are slow.
 *
 * When the sweep has come by is read off the tables, since nobody else can see it; what
 * is left is asked through the API.
 */
#include <stdio.h>

#include "kit/outbox/outbox_fixture.h"

/* Messages that lie in the log or aside, without the noise. */
static int64_t kept_rows(struct fixture *fixture)
{
    static const char but_noise[] =
        " WHERE pid NOT IN (SELECT id * 64 FROM weir_queue WHERE name = 'noise')";
    char text[512];

    (void)snprintf(text, sizeof text,
                   "SELECT (SELECT count(*) FROM weir_log%s)"
                   " + (SELECT count(*) FROM weir_aside%s)",
                   but_noise, but_noise);
    return fixture_ask(fixture, text);
}

/* Segments are emptied when others are being filled and most of what is in them is
 * passed. */
static void make_noise(struct fixture *fixture, struct weir_outbox *outbox,
                       struct recorder *noise)
{
    size_t before = recorder_count(noise);

    outbox_fixture_send(fixture, outbox, "noise", 0, 200);
    wait_until(recorder_count(noise) == before + 200);
}

static struct weir_outbox *noisy_by_segments(struct fixture *fixture,
                                             struct recorder *noise, unsigned bits)
{
    struct weir_outbox *outbox;

    outbox_small_segments(fixture, bits);
    outbox = outbox_fixture_sweeping(fixture, "anna");
    outbox_fixture_queue(fixture, outbox, "noise", 1);
    outbox_fixture_queue(fixture, outbox, "orders", 1);
    outbox_fixture_serve(fixture, outbox, "noise", noise);
    return outbox;
}

static struct weir_outbox *noisy(struct fixture *fixture, struct recorder *noise)
{
    return noisy_by_segments(fixture, noise, 4);
}

OUTBOX_TEST(sweeping, removes_what_everybody_has)
{
    struct recorder *noise = recorder_new();
    struct recorder *recorder = recorder_new();
    struct weir_outbox *outbox = noisy(fixture, noise);

    outbox_fixture_serve(fixture, outbox, "orders", recorder);
    outbox_fixture_start(fixture, outbox);
    outbox_fixture_send(fixture, outbox, "orders", 0, 3);
    wait_until(outbox_fixture_seq(fixture, outbox, "orders", 0) == 3);

    make_noise(fixture, outbox, noise);
    wait_until(kept_rows(fixture) == 0);

    check_int(outbox_fixture_seq(fixture, outbox, "orders", 0), 3);
    check_int(outbox_fixture_kept(fixture, outbox, "orders", "newcomer"), 0);
    check_int(outbox_fixture_queue_view(fixture, outbox, "orders").dead_letters, 0);
    outbox_fixture_close(outbox);
}

/* On PostgreSQL orders are in the first leaf, and the second one is emptied. */
OUTBOX_TEST(sweeping, keeps_what_a_queue_retains_for_a_newcomer)
{
    static const char OF_NOISE[] =
        "SELECT count(*) FROM weir_log WHERE pid IN"
        " (SELECT id * 64 FROM weir_queue WHERE name = 'noise')";
    struct weir_queue_options policies = {.name = "orders", .retain_ns = WEIR_HOURS(1)};
    struct recorder *noise = recorder_new();
    struct recorder *recorder = recorder_new();
    struct weir_outbox *outbox = noisy_by_segments(fixture, noise, 8);

    check_db(weir_outbox_set_queue(outbox, &policies, NULL, &fixture->error), WEIR_OK);
    outbox_fixture_serve(fixture, outbox, "orders", recorder);
    outbox_fixture_start(fixture, outbox);
    outbox_fixture_send(fixture, outbox, "orders", 0, 3);
    wait_until(outbox_fixture_seq(fixture, outbox, "orders", 0) == 3);
    for (int i = 0; i < 3; i++)
        make_noise(fixture, outbox, noise);
    wait_until(fixture_ask(fixture, fixture->engine == WEIR_POSTGRESQL
                                        ? "SELECT count(*) FROM weir_log_1"
                                        : OF_NOISE) == 0);

    check_int(outbox_fixture_kept(fixture, outbox, "orders", "newcomer"), 3);
    outbox_fixture_close(outbox);
}

OUTBOX_TEST(sweeping, leaves_the_numbers_as_they_are)
{
    struct recorder *noise = recorder_new();
    struct recorder *recorder = recorder_new();
    struct weir_outbox *outbox = noisy(fixture, noise);

    outbox_fixture_serve(fixture, outbox, "orders", recorder);
    outbox_fixture_start(fixture, outbox);
    outbox_fixture_send(fixture, outbox, "orders", 0, 3);
    wait_until(outbox_fixture_seq(fixture, outbox, "orders", 0) == 3);
    make_noise(fixture, outbox, noise);
    wait_until(kept_rows(fixture) == 0);

    outbox_fixture_send(fixture, outbox, "orders", 0, 2);

    wait_until(outbox_fixture_seq(fixture, outbox, "orders", 0) == 5);
    check(recorder_in_order(recorder, 0, 5));
    check_int(recorder_count(recorder), 5);
    outbox_fixture_close(outbox);
}

OUTBOX_TEST(sweeping, keeps_what_nobody_has_processed)
{
    struct recorder *noise = recorder_new();
    struct recorder *recorder = recorder_new();
    struct weir_outbox *outbox = noisy(fixture, noise);

    outbox_fixture_serve(fixture, outbox, "orders", recorder);
    check_db(weir_outbox_pause_queue(outbox, "orders", &fixture->error), WEIR_OK);
    outbox_fixture_send(fixture, outbox, "orders", 0, 2);
    outbox_fixture_start(fixture, outbox);
    make_noise(fixture, outbox, noise);

    wait_until(kept_rows(fixture) == 2);

    check_int(outbox_fixture_partition(fixture, outbox, "orders", "default", 0).waiting,
              2);
    check_db(weir_outbox_resume_queue(outbox, "orders", &fixture->error), WEIR_OK);
    wait_until(outbox_fixture_seq(fixture, outbox, "orders", 0) == 2);
    check(recorder_in_order(recorder, 0, 2));
    outbox_fixture_close(outbox);
}

/* Five, of which three are done: a newcomer gets the other two. */
OUTBOX_TEST(sweeping, removes_what_is_done_and_keeps_the_rest)
{
    struct recorder *noise = recorder_new();
    struct recorder *recorder = recorder_new();
    struct weir_tuning tuning = outbox_fixture_tuning();
    struct weir_handler_options handler = outbox_fixture_handler("orders", recorder);
    struct weir_outbox *outbox = noisy(fixture, noise);

    tuning.retry_base_ns = tuning.retry_max_ns = WEIR_MINUTES(10);
    handler.tuning = &tuning;
    recorder_answer(recorder, 4, ALWAYS, ANSWER_RETRY);
    outbox_fixture_add(fixture, outbox, &handler);
    outbox_fixture_start(fixture, outbox);
    outbox_fixture_send(fixture, outbox, "orders", 0, 5);
    wait_until(outbox_fixture_seq(fixture, outbox, "orders", 0) == 3);
    make_noise(fixture, outbox, noise);

    wait_until(kept_rows(fixture) == 2);

    check_int(outbox_fixture_kept(fixture, outbox, "orders", "newcomer"), 2);
    outbox_fixture_close(outbox);
}

OUTBOX_TEST(sweeping, waits_for_the_slowest_subscription)
{
    struct recorder *noise = recorder_new();
    struct recorder *quick = recorder_new();
    struct weir_handler_options slow = outbox_fixture_handler("orders", recorder_new());
    struct weir_outbox *outbox = noisy(fixture, noise);

    outbox_fixture_serve(fixture, outbox, "orders", quick);
    slow.subscription = "slow";
    {
        struct weir_outbox *visitor = outbox_fixture_outbox(fixture, "visitor");

        outbox_fixture_add(fixture, visitor, &slow); /* and nobody serves it */
        weir_outbox_destroy(visitor);
    }
    outbox_fixture_start(fixture, outbox);
    outbox_fixture_send(fixture, outbox, "orders", 0, 2);
    wait_until(outbox_fixture_seq(fixture, outbox, "orders", 0) == 2);
    make_noise(fixture, outbox, noise);

    wait_until(kept_rows(fixture) == 2);

    check_int(outbox_fixture_partition(fixture, outbox, "orders", "slow", 0).waiting, 2);
    outbox_fixture_close(outbox);
}

OUTBOX_TEST(sweeping, keeps_what_nobody_has_subscribed_to)
{
    struct recorder *noise = recorder_new();
    struct weir_outbox *outbox = noisy(fixture, noise);

    outbox_fixture_send(fixture, outbox, "orders", 0, 2);
    outbox_fixture_start(fixture, outbox);
    make_noise(fixture, outbox, noise);

    wait_until(kept_rows(fixture) == 2);

    check_int(outbox_fixture_kept(fixture, outbox, "orders", "newcomer"), 2);
    outbox_fixture_close(outbox);
}

OUTBOX_TEST(sweeping, drops_what_nobody_has_subscribed_to_when_told_so)
{
    struct recorder *noise = recorder_new();
    struct weir_outbox *outbox = noisy(fixture, noise);
    struct weir_queue_options options;

    weir_queue_options_init(&options);
    options.name = "gossip";
    options.unread = WEIR_UNREAD_DROP;
    check_db(weir_outbox_add_queue(outbox, &options, &fixture->error), WEIR_OK);
    outbox_fixture_send(fixture, outbox, "gossip", 0, 20);
    outbox_fixture_start(fixture, outbox);
    make_noise(fixture, outbox, noise);

    wait_until(kept_rows(fixture) == 0);

    check_int(outbox_fixture_kept(fixture, outbox, "gossip", "newcomer"), 0);
    outbox_fixture_close(outbox);
}

OUTBOX_TEST(sweeping, removes_what_is_left_of_a_removed_queue)
{
    struct recorder *noise = recorder_new();
    struct weir_outbox *outbox = noisy(fixture, noise);

    outbox_fixture_send(fixture, outbox, "orders", 0, 50);
    check_db(weir_outbox_remove_queue(outbox, "orders", true, &fixture->error), WEIR_OK);
    outbox_fixture_start(fixture, outbox);
    make_noise(fixture, outbox, noise);

    wait_until(kept_rows(fixture) == 0);
    outbox_fixture_close(outbox);
}

/* Two processes sweep while messages flow: nothing is lost, and in the end nothing is
 * left. */
OUTBOX_TEST(sweeping, by_two_processes_at_once_loses_nothing)
{
    struct recorder *recorders[2] = {recorder_new(), recorder_new()};
    struct weir_outbox *outboxes[2];

    outbox_small_segments(fixture, 4);
    for (int i = 0; i < 2; i++) {
        outboxes[i] = outbox_fixture_sweeping(fixture, i == 0 ? "anna" : "bert");
        outbox_fixture_queue(fixture, outboxes[i], "orders", 4);
        outbox_fixture_serve(fixture, outboxes[i], "orders", recorders[i]);
        outbox_fixture_start(fixture, outboxes[i]);
    }
    for (int round = 0; round < 20; round++) {
        for (int32_t i = 0; i < 4; i++)
            outbox_fixture_send(fixture, outboxes[round % 2], "orders", i, 20);
    }
    for (int32_t i = 0; i < 4; i++)
        wait_until(outbox_fixture_seq(fixture, outboxes[0], "orders", i) == 400);

    /* PostgreSQL: the segment that is being filled stays, with what it has from earlier
     * rounds */
    wait_until(kept_rows(fixture) <=
               (fixture->engine == WEIR_POSTGRESQL ? 1600 / 8 + 16 : 0));

    check_int(recorder_count(recorders[0]) + recorder_count(recorders[1]), 1600);
    outbox_fixture_close(outboxes[0]);
    outbox_fixture_close(outboxes[1]);
}

/* It is woken by load, not by the hour. */
OUTBOX_TEST(sweeping, comes_by_itself_under_load)
{
    struct recorder *recorder = recorder_new();
    struct weir_outbox *outbox;

    outbox_small_segments(fixture, 4);
    outbox = outbox_fixture_open(fixture, "anna", "orders", 1, recorder);
    for (size_t i = 1; i <= 120; i++) {
        outbox_fixture_send(fixture, outbox, "orders", 0, 4);
        wait_until(recorder_count(recorder) == 4 * i);
    }

    wait_until(kept_rows(fixture) < 480);
    outbox_fixture_close(outbox);
}
