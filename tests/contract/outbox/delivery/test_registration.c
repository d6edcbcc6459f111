/*
 * Queues and handlers, before anything is delivered.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "kit/outbox/outbox_fixture.h"

static struct weir_queue_options queue_of(const char *name, int32_t partitions)
{
    struct weir_queue_options options;

    weir_queue_options_init(&options);
    options.name = name;
    options.partitions = partitions;
    return options;
}

OUTBOX_TEST(registration, gives_each_partition_a_position_of_0_without_attempts)
{
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");

    outbox_fixture_queue(fixture, outbox, "orders", 4);
    outbox_fixture_serve(fixture, outbox, "orders", recorder_new());

    for (int32_t i = 0; i < 4; i++) {
        struct partition_view view =
            outbox_fixture_partition(fixture, outbox, "orders", "default", i);

        check(view.found);
        check_int(view.seq, 0);
        check_int(view.attempts, 0);
        check_int(view.waiting, 0);
        check_str(view.owner, "");
    }
    check(!outbox_fixture_partition(fixture, outbox, "orders", "default", 4).found);
    weir_outbox_destroy(outbox);
}

OUTBOX_TEST(registration, by_another_process_finds_the_queue_as_it_is)
{
    struct weir_outbox *anna = outbox_fixture_outbox(fixture, "anna");
    struct weir_outbox *bert = outbox_fixture_outbox(fixture, "bert");

    outbox_fixture_queue(fixture, anna, "orders", 4);
    outbox_fixture_serve(fixture, anna, "orders", recorder_new());
    outbox_fixture_send(fixture, anna, "orders", 2, 3);

    outbox_fixture_queue(fixture, bert, "orders", 4);
    outbox_fixture_serve(fixture, bert, "orders", recorder_new());

    check_int(outbox_fixture_queue_view(fixture, bert, "orders").partitions, 4);
    check_int(outbox_fixture_queue_view(fixture, bert, "orders").subscriptions, 1);
    check_int(outbox_fixture_partition(fixture, bert, "orders", "default", 2).waiting, 3);
    weir_outbox_destroy(anna);
    weir_outbox_destroy(bert);
}

OUTBOX_TEST(registration, with_another_count_is_refused_with_both_numbers)
{
    struct weir_outbox *anna = outbox_fixture_outbox(fixture, "anna");
    struct weir_outbox *bert = outbox_fixture_outbox(fixture, "bert");
    struct weir_queue_options options = queue_of("orders", 2);

    outbox_fixture_queue(fixture, anna, "orders", 4);

    check_db(weir_outbox_add_queue(bert, &options, &fixture->error), WEIR_MISMATCH);

    check(strstr(fixture->error.text, "\"orders\" has 4 partitions, not 2") != NULL);
    weir_outbox_destroy(anna);
    weir_outbox_destroy(bert);
}

/* And once it was refused, the right number is welcome. */
OUTBOX_TEST(registration, that_was_refused_may_be_tried_again)
{
    struct weir_outbox *anna = outbox_fixture_outbox(fixture, "anna");
    struct weir_outbox *bert = outbox_fixture_outbox(fixture, "bert");
    struct weir_queue_options options = queue_of("orders", 2);

    outbox_fixture_queue(fixture, anna, "orders", 4);
    check_db(weir_outbox_add_queue(bert, &options, &fixture->error), WEIR_MISMATCH);

    outbox_fixture_queue(fixture, bert, "orders", 4);
    weir_outbox_destroy(anna);
    weir_outbox_destroy(bert);
}

OUTBOX_TEST(registration, twice_in_one_outbox_is_refused_with_both_numbers)
{
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");
    struct weir_queue_options options = queue_of("orders", 2);

    outbox_fixture_queue(fixture, outbox, "orders", 4);

    check_db(weir_outbox_add_queue(outbox, &options, &fixture->error), WEIR_EXISTS);

    check(strstr(fixture->error.text, "\"orders\"") != NULL);
    check(strstr(fixture->error.text, "4") != NULL);
    check(strstr(fixture->error.text, "2") != NULL);
    weir_outbox_destroy(outbox);
}

OUTBOX_TEST(registration, keeps_two_queues_apart)
{
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");
    struct recorder *orders = recorder_new();
    struct recorder *invoices = recorder_new();

    outbox_fixture_queue(fixture, outbox, "orders", 2);
    outbox_fixture_queue(fixture, outbox, "invoices", 2);
    outbox_fixture_serve(fixture, outbox, "orders", orders);
    outbox_fixture_serve(fixture, outbox, "invoices", invoices);
    outbox_fixture_start(fixture, outbox);

    outbox_fixture_send(fixture, outbox, "orders", 1, 3);
    outbox_fixture_send(fixture, outbox, "invoices", 1, 5);

    wait_until(outbox_fixture_seq(fixture, outbox, "orders", 1) == 3);
    wait_until(outbox_fixture_seq(fixture, outbox, "invoices", 1) == 5);
    check_int(recorder_count(orders), 3);
    check_int(recorder_count(invoices), 5);
    outbox_fixture_close(outbox);
}

struct address {
    char queue[32];
    char subscription[32];
    _Atomic bool written;
};

static enum weir_outcome copy_address(struct weir_context *context, void *state,
                                      const struct weir_message *message,
                                      struct weir_reason *reason)
{
    struct address *address = state;

    (void)context;
    (void)reason;
    (void)snprintf(address->queue, sizeof address->queue, "%s", message->queue);
    (void)snprintf(address->subscription, sizeof address->subscription, "%s",
                   message->subscription);
    address->written = true;
    return WEIR_DONE;
}

OUTBOX_TEST(registration, tells_the_handler_which_queue_a_message_is_from)
{
    static struct address address;
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");
    struct weir_handler_options options = outbox_fixture_handler("orders", NULL);

    address.written = false;
    options.on_message = copy_address;
    options.state = &address;
    options.subscription = "mail";
    outbox_fixture_queue(fixture, outbox, "orders", 4);
    outbox_fixture_add(fixture, outbox, &options);
    outbox_fixture_start(fixture, outbox);

    outbox_fixture_send(fixture, outbox, "orders", 3, 1);

    wait_until(address.written);
    check_str(address.queue, "orders");
    check_str(address.subscription, "mail");
    outbox_fixture_close(outbox);
}

OUTBOX_TEST(registration, takes_every_power_of_two_up_to_64)
{
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");

    for (int32_t partitions = 1; partitions <= 64; partitions *= 2) {
        char name[16];

        (void)snprintf(name, sizeof name, "q%d", (int)partitions);
        outbox_fixture_queue(fixture, outbox, name, partitions);
        check_int(outbox_fixture_queue_view(fixture, outbox, name).partitions,
                  partitions);
    }
    weir_outbox_destroy(outbox);
}

OUTBOX_TEST(registration, refuses_any_other_number_of_partitions)
{
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");

    for (int32_t partitions = -1; partitions <= 130; partitions++) {
        struct weir_queue_options options = queue_of("orders", partitions);
        bool power = partitions > 0 && (partitions & (partitions - 1)) == 0;

        if (power && partitions <= 64)
            continue;
        check_db(weir_outbox_add_queue(outbox, &options, &fixture->error), WEIR_INVALID);
    }
    check(strstr(fixture->error.text, "partitions is 130, must be a power of two from 1 "
                                      "to 64") != NULL);
    check(!outbox_fixture_queue_view(fixture, outbox, "orders").found);
    weir_outbox_destroy(outbox);
}

OUTBOX_TEST(registration, of_a_second_handler_for_a_subscription_is_refused)
{
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");
    struct weir_handler_options options =
        outbox_fixture_handler("orders", recorder_new());

    outbox_fixture_queue(fixture, outbox, "orders", 1);
    outbox_fixture_add(fixture, outbox, &options);

    check_db(weir_outbox_add_handler(outbox, &options, &fixture->error), WEIR_EXISTS);

    check(strstr(fixture->error.text, "\"orders\"") != NULL);
    check(strstr(fixture->error.text, "\"default\"") != NULL);
    weir_outbox_destroy(outbox);
}

OUTBOX_TEST(registration, of_a_handler_for_a_queue_that_is_not_there_is_refused)
{
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");
    struct weir_handler_options options =
        outbox_fixture_handler("nobody", recorder_new());

    check_db(weir_outbox_add_handler(outbox, &options, &fixture->error), WEIR_NOT_FOUND);

    check(strstr(fixture->error.text, "\"nobody\"") != NULL);
    weir_outbox_destroy(outbox);
}

OUTBOX_TEST(registration, of_a_handler_after_the_start_is_refused)
{
    struct weir_outbox *outbox =
        outbox_fixture_open(fixture, "anna", "orders", 1, recorder_new());
    struct weir_handler_options options =
        outbox_fixture_handler("orders", recorder_new());

    options.subscription = "late";
    check_db(weir_outbox_add_handler(outbox, &options, &fixture->error), WEIR_CLOSED);
    outbox_fixture_close(outbox);
}

OUTBOX_TEST(registration, of_a_queue_after_the_start_works)
{
    struct weir_outbox *outbox =
        outbox_fixture_open(fixture, "anna", "orders", 1, recorder_new());

    outbox_fixture_queue(fixture, outbox, "late", 8);

    outbox_fixture_send(fixture, outbox, "late", 7, 3);
    check_int(outbox_fixture_kept(fixture, outbox, "late", "newcomer"), 3);
    outbox_fixture_close(outbox);
}

/* ---- many at once ------------------------------------------------------------------ */

enum { RACERS = 6 };

struct racer {
    struct fixture *fixture;
    pthread_barrier_t *line;
    pthread_t thread;
    enum weir_status status;
    struct weir_outbox *outbox;
    struct weir_error error;
};

static void *race(void *argument)
{
    struct racer *self = argument;
    struct weir_queue_options queue = queue_of("orders", 8);
    struct weir_handler_options handler = outbox_fixture_handler("orders", NULL);

    pthread_barrier_wait(self->line);
    self->status = weir_outbox_add_queue(self->outbox, &queue, &self->error);
    if (self->status == WEIR_OK)
        self->status = weir_outbox_add_handler(self->outbox, &handler, &self->error);
    return NULL;
}

OUTBOX_TEST(registration, by_many_processes_at_once_makes_one_of_each)
{
    struct racer racers[RACERS];
    pthread_barrier_t line;

    pthread_barrier_init(&line, NULL, RACERS);
    for (int i = 0; i < RACERS; i++) {
        racers[i] = (struct racer){.fixture = fixture, .line = &line};
        racers[i].outbox = outbox_fixture_outbox(fixture, "racer");
    }
    for (int i = 0; i < RACERS; i++)
        check_int(pthread_create(&racers[i].thread, NULL, race, &racers[i]), 0);
    for (int i = 0; i < RACERS; i++)
        check_int(pthread_join(racers[i].thread, NULL), 0);
    pthread_barrier_destroy(&line);

    for (int i = 0; i < RACERS; i++)
        check_status(racers[i].status, WEIR_OK);
    check_int(
        outbox_fixture_queue_view(fixture, racers[0].outbox, "orders").subscriptions, 1);
    for (int32_t i = 0; i < 8; i++)
        check(outbox_fixture_partition(fixture, racers[0].outbox, "orders", "default", i)
                  .found);
    for (int i = 0; i < RACERS; i++)
        weir_outbox_destroy(racers[i].outbox);
}
