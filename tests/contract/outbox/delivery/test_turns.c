/*
 * Whose turn it is: lanes of several queues in one process with one permit.
 *
 * A queue of its own, the gate, has the permit while a test makes other lanes ready,
 * one after the other. Then the gate opens, and the order of calls is the order of
 * turns.
 */
#include <string.h>

#include "kit/outbox/outbox_fixture.h"
#include "outbox/delivery/partition_table.h"
#include "outbox/outbox.h"

struct setup {
    struct fixture *fixture;
    struct weir_outbox *outbox;
    struct recorder *gate; /* its calls wait until recorder_release() */
    struct recorder *calls;
    size_t leased_partitions; /* of all queues */
};

static struct weir_partition_table_info look(const struct setup *self)
{
    struct weir_partition_table_info info;

    weir_partition_table_read(self->outbox->partition_table, &info);
    return info;
}

static void add_queue(struct setup *self, const char *queue, int32_t partitions,
                      struct recorder *recorder, int64_t retry_ns)
{
    struct weir_handler_options handler = outbox_fixture_handler(queue, recorder);
    struct weir_tuning tuning = outbox_fixture_tuning();

    tuning.batch = 1; /* so that each message is a turn */
    tuning.retry_base_ns = tuning.retry_max_ns = retry_ns;
    handler.tuning = &tuning;
    outbox_fixture_queue(self->fixture, self->outbox, queue, partitions);
    outbox_fixture_add(self->fixture, self->outbox, &handler);
    self->leased_partitions += (size_t)partitions;
}

/* One permit. The queues are served by one recorder, so that it sees their order. */
static void open_setup(struct setup *self, struct fixture *fixture)
{
    struct weir_outbox_options options = outbox_fixture_options(fixture, "anna");

    options.handlers = 1;
    *self = (struct setup){.fixture = fixture,
                           .outbox = outbox_fixture_create(fixture, &options),
                           .gate = recorder_new(),
                           .calls = recorder_new()};
    add_queue(self, "gate", 1, self->gate, WEIR_MINUTES(10));
    recorder_answer(self->gate, 0, ALWAYS, ANSWER_BLOCK);
}

/* Every lane is there and has read everything: from now on they get ready in the order
 * of the log. */
static void start(struct setup *self)
{
    outbox_fixture_start(self->fixture, self->outbox);
    wait_until(look(self).leased_partitions == self->leased_partitions &&
               look(self).behind == 0);
}

static void start_with(struct setup *self, struct fixture *fixture, int64_t retry_ns)
{
    open_setup(self, fixture);
    add_queue(self, "red", 1, self->calls, retry_ns);
    add_queue(self, "green", 1, self->calls, retry_ns);
    add_queue(self, "blue", 1, self->calls, retry_ns);
    start(self);
}

static void take_the_permit(struct setup *self)
{
    outbox_fixture_send_text(self->fixture, self->outbox, "gate", 0, "gate");
    wait_until(recorder_calls(self->gate) == 1);
}

/* A message, whose text is the queue's name and its number in the test. */
static void send(struct setup *self, const char *queue, const char *text)
{
    outbox_fixture_send_text(self->fixture, self->outbox, queue, 0, text);
}

static void check_order(struct setup *self, const char *const *texts, size_t count)
{
    wait_until(recorder_ended(self->calls) >= count);
    for (size_t i = 0; i < count; i++)
        check_str(recorder_delivery(self->calls, i).payload, texts[i]);
    check_int(recorder_count(self->calls), count);
}

#define CHECK_ORDER(self, ...)                                                           \
    check_order((self), (const char *const[]){__VA_ARGS__},                              \
                sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

OUTBOX_TEST(turn, is_of_the_lane_that_is_ready_for_longest)
{
    struct setup setup;

    start_with(&setup, fixture, WEIR_MINUTES(10));
    take_the_permit(&setup);
    send(&setup, "blue", "blue 1");
    send(&setup, "red", "red 1");
    send(&setup, "green", "green 1");
    wait_until(look(&setup).ready == 3);

    recorder_release(setup.gate);

    CHECK_ORDER(&setup, "blue 1", "red 1", "green 1");
    outbox_fixture_close(setup.outbox);
}

OUTBOX_TEST(turn, stays_where_it_is_when_more_messages_come)
{
    struct setup setup;

    start_with(&setup, fixture, WEIR_MINUTES(10));
    take_the_permit(&setup);
    send(&setup, "green", "green 1");
    send(&setup, "red", "red 1");
    send(&setup, "green", "green 2");
    wait_until(look(&setup).messages == 4); /* and the gate's */

    recorder_release(setup.gate);

    CHECK_ORDER(&setup, "green 1", "red 1", "green 2");
    outbox_fixture_close(setup.outbox);
}

OUTBOX_TEST(turn, of_a_lane_that_got_messages_while_it_ran_comes_after_the_others)
{
    struct setup setup;

    start_with(&setup, fixture, WEIR_MINUTES(10));
    recorder_answer(setup.calls, 1, 1, ANSWER_BLOCK);
    send(&setup, "red", "red 1");
    wait_until(recorder_calls(setup.calls) == 1);
    send(&setup, "red", "red 2");
    send(&setup, "green", "green 1");
    send(&setup, "red", "red 3");
    send(&setup, "blue", "blue 1");
    wait_until(look(&setup).messages == 5);

    recorder_release(setup.calls);

    CHECK_ORDER(&setup, "red 1", "green 1", "blue 1", "red 2", "red 3");
    outbox_fixture_close(setup.outbox);
}

OUTBOX_TEST(turn, goes_round_however_much_waits_for_one_queue)
{
    static const char *const QUEUES[] = {"red", "green", "blue"};
    struct setup setup;

    start_with(&setup, fixture, WEIR_MINUTES(10));
    take_the_permit(&setup);
    for (int i = 0; i < 200; i++)
        send(&setup, "red", "red");
    for (int i = 0; i < 20; i++) {
        send(&setup, "green", "green");
        send(&setup, "blue", "blue");
    }
    wait_until(look(&setup).messages == 241);

    recorder_release(setup.gate);

    wait_until(recorder_ended(setup.calls) == 240);
    for (size_t i = 0; i < 60; i++)
        check_str(recorder_delivery(setup.calls, i).payload, QUEUES[i % 3]);
    outbox_fixture_close(setup.outbox);
}

OUTBOX_TEST(turn, comes_once_for_each_of_100_lanes_in_their_order)
{
    struct setup setup;

    open_setup(&setup, fixture);
    add_queue(&setup, "red", 64, setup.calls, WEIR_MINUTES(10));
    add_queue(&setup, "green", 32, setup.calls, WEIR_MINUTES(10));
    add_queue(&setup, "blue", 4, setup.calls, WEIR_MINUTES(10));
    start(&setup);
    take_the_permit(&setup);
    for (int32_t i = 0; i < 4; i++)
        outbox_fixture_send(fixture, setup.outbox, "blue", 3 - i, 1);
    for (int32_t i = 0; i < 32; i++)
        outbox_fixture_send(fixture, setup.outbox, "green", i * 5 % 32, 1);
    for (int32_t i = 0; i < 64; i++)
        outbox_fixture_send(fixture, setup.outbox, "red", 63 - i, 1);
    wait_until(look(&setup).ready == 100);

    recorder_release(setup.gate);

    wait_until(recorder_ended(setup.calls) == 100);
    for (int32_t i = 0; i < 100; i++) {
        int32_t sent_to = i < 4 ? 3 - i : i < 36 ? (i - 4) * 5 % 32 : 99 - i;

        check_int(recorder_delivery(setup.calls, (size_t)i).partition, sent_to);
    }
    check_int(recorder_count(setup.calls), 100);
    outbox_fixture_close(setup.outbox);
}

OUTBOX_TEST(turn, is_passed_on_by_a_lane_that_fails)
{
    struct setup setup;

    start_with(&setup, fixture, WEIR_MINUTES(10));
    recorder_answer(setup.calls, 1, 1, ANSWER_RETRY); /* the first first one: red's */
    take_the_permit(&setup);
    send(&setup, "red", "red 1");
    send(&setup, "red", "red 2");
    send(&setup, "green", "green 1");
    send(&setup, "blue", "blue 1");
    wait_until(look(&setup).messages == 5);

    recorder_release(setup.gate);

    CHECK_ORDER(&setup, "red 1", "green 1", "blue 1");
    wait_until(look(&setup).retrying == 1);
    outbox_fixture_close(setup.outbox);
}

OUTBOX_TEST(turn, of_a_lane_that_failed_is_not_brought_nearer_by_new_messages)
{
    struct setup setup;

    start_with(&setup, fixture, WEIR_MINUTES(10));
    recorder_answer(setup.calls, 1, 1, ANSWER_RETRY);
    send(&setup, "red", "red");
    wait_until(look(&setup).retrying == 1);

    for (size_t i = 1; i <= 20; i++) {
        send(&setup, "red", "red");
        send(&setup, "green", "green");
        wait_until(recorder_ended(setup.calls) == 1 + i);
    }

    for (size_t i = 1; i <= 20; i++)
        check_str(recorder_delivery(setup.calls, i).payload, "green");
    check_int(look(&setup).retrying, 1);
    outbox_fixture_close(setup.outbox);
}

/* The wait is over while others have the permit and a backlog: it is in their midst. */
OUTBOX_TEST(turn, of_a_lane_that_failed_comes_though_the_others_never_rest)
{
    enum { BACKLOG = 100 };
    struct setup setup;
    size_t at = 1;

    start_with(&setup, fixture, WEIR_MILLISECONDS(20));
    recorder_answer(setup.calls, 1, 1, ANSWER_RETRY);
    send(&setup, "red", "red");
    wait_until(recorder_ended(setup.calls) == 1);
    take_the_permit(&setup);
    for (int i = 0; i < BACKLOG; i++)
        send(&setup, "green", "green");
    wait_until(look(&setup).messages >= BACKLOG + 1 &&
               outbox_fixture_partition(fixture, setup.outbox, "red", "default", 0)
                       .retry_in_us == 0);

    recorder_release(setup.gate);

    wait_until(recorder_ended(setup.calls) >= BACKLOG + 2);
    while (strcmp(recorder_delivery(setup.calls, at).payload, "red") != 0)
        at++;
    check_in_range(at, 1, BACKLOG);
    outbox_fixture_close(setup.outbox);
}

/* ---- no spinning ------------------------------------------------------------------- */

/* Whatever else waits: 20 messages, one after the other, cost a few looks each. One
 * that spins looks thousands of times while the next message is written. */
static void check_nobody_spins(struct setup *self)
{
    enum { MESSAGES = 20, LOOKS_MAX = 10 };
    uint64_t before = outbox_fixture_executions(self->outbox, "lane");

    for (size_t i = 0; i < MESSAGES; i++) {
        size_t ended = recorder_ended(self->calls);

        send(self, "green", "green");
        wait_until(recorder_ended(self->calls) == ended + 1);
    }
    check_in_range(outbox_fixture_executions(self->outbox, "lane") - before, MESSAGES - 1,
                   MESSAGES * LOOKS_MAX);
}

OUTBOX_TEST(turn, of_nobody_is_waited_for_without_spinning_while_a_lane_waits_for_a_retry)
{
    struct setup setup;

    start_with(&setup, fixture, WEIR_MINUTES(10));
    recorder_answer(setup.calls, 1, 1, ANSWER_RETRY);
    send(&setup, "red", "red 1");
    send(&setup, "red", "red 2");
    wait_until(look(&setup).retrying == 1);

    check_nobody_spins(&setup);
    outbox_fixture_close(setup.outbox);
}

OUTBOX_TEST(turn, of_nobody_is_waited_for_without_spinning_while_a_lane_is_paused)
{
    struct setup setup;

    start_with(&setup, fixture, WEIR_MINUTES(10));
    check_db(weir_outbox_pause_queue(setup.outbox, "red", &fixture->error), WEIR_OK);
    take_the_permit(
        &setup); /* a lane that is paused is not read for: it is ready before */
    send(&setup, "red", "red 1");
    recorder_release(setup.gate);

    check_nobody_spins(&setup);
    check_int(recorder_count_of(setup.calls, 0), 20);
    outbox_fixture_close(setup.outbox);
}

/* Two permits, one of which the gate's handler may have: its second partition is ready
 * and may not run. */
OUTBOX_TEST(turn, of_nobody_is_waited_for_without_spinning_while_a_lane_has_no_permit)
{
    struct weir_outbox_options options = outbox_fixture_options(fixture, "anna");
    struct setup setup = {
        .fixture = fixture, .gate = recorder_new(), .calls = recorder_new()};
    struct weir_handler_options handler = outbox_fixture_handler("gate", setup.gate);

    options.handlers = 2;
    setup.outbox = outbox_fixture_create(fixture, &options);
    handler.permits = 1;
    recorder_answer(setup.gate, 0, ALWAYS, ANSWER_BLOCK);
    outbox_fixture_queue(fixture, setup.outbox, "gate", 2);
    outbox_fixture_add(fixture, setup.outbox, &handler);
    add_queue(&setup, "green", 1, setup.calls, WEIR_MINUTES(10));
    outbox_fixture_start(fixture, setup.outbox);
    outbox_fixture_send(fixture, setup.outbox, "gate", 0, 1);
    outbox_fixture_send(fixture, setup.outbox, "gate", 1, 1);
    wait_until(look(&setup).ready == 1 && look(&setup).running == 1);

    check_nobody_spins(&setup);
    check_int(recorder_calls(setup.gate), 1);
    recorder_release(setup.gate);
    wait_until(recorder_calls(setup.gate) == 2);
    outbox_fixture_close(setup.outbox);
}
