/*
 * How many messages a call gets: as many as configured, fewer after failures, and one
 * when a message is to be cornered.
 */
#include <stdatomic.h>
#include <string.h>

#include "kit/outbox/outbox_fixture.h"

/* A queue with this many messages in it, and batches of this size. */
static struct weir_outbox *batching(struct fixture *fixture, struct recorder *recorder,
                                    size_t messages, uint32_t batch, uint32_t threshold)
{
    struct weir_tuning tuning = outbox_fixture_tuning();
    struct weir_handler_options handler = outbox_fixture_handler("orders", recorder);
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");

    tuning.batch = batch;
    tuning.degradation_threshold = threshold;
    handler.tuning = &tuning;
    outbox_fixture_queue(fixture, outbox, "orders", 1);
    outbox_fixture_add(fixture, outbox, &handler);
    outbox_fixture_send(fixture, outbox, "orders", 0, messages);
    return outbox;
}

static size_t size_of_call(struct recorder *recorder, uint32_t call)
{
    for (size_t i = 0; i < recorder_count(recorder); i++) {
        if (recorder_delivery(recorder, i).call == call)
            return recorder_delivery(recorder, i).batch;
    }
    return 0;
}

static void check_sizes(struct recorder *recorder, const size_t *sizes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        check_int(size_of_call(recorder, (uint32_t)i + 1), sizes[i]);
}

OUTBOX_TEST(batching, gives_a_call_as_many_as_configured)
{
    struct recorder *recorder = recorder_new();
    struct weir_outbox *outbox = batching(fixture, recorder, 35, 10, 1);

    outbox_fixture_start(fixture, outbox);

    wait_until(outbox_fixture_seq(fixture, outbox, "orders", 0) == 35);
    check_sizes(recorder, (const size_t[]){10, 10, 10, 5}, 4);
    outbox_fixture_close(outbox);
}

OUTBOX_TEST(batching, of_one_gives_each_message_a_call)
{
    struct recorder *recorder = recorder_new();
    struct weir_outbox *outbox = batching(fixture, recorder, 4, 1, 1);

    recorder_answer(recorder, 2, ALWAYS, ANSWER_REJECT);
    outbox_fixture_start(fixture, outbox);

    wait_until(outbox_fixture_seq(fixture, outbox, "orders", 0) == 4);
    check_int(recorder_calls(recorder), 4);
    check_int(outbox_fixture_queue_view(fixture, outbox, "orders").dead_letters, 1);
    outbox_fixture_close(outbox);
}

OUTBOX_TEST(batching, falls_to_one_after_a_failure_and_doubles_after_each_success)
{
    struct recorder *recorder = recorder_new();
    struct weir_outbox *outbox = batching(fixture, recorder, 31, 8, 1);

    recorder_answer(recorder, 1, 1, ANSWER_RETRY);
    outbox_fixture_start(fixture, outbox);

    wait_until(outbox_fixture_seq(fixture, outbox, "orders", 0) == 31);
    check_sizes(recorder, (const size_t[]){8, 1, 2, 4, 8, 8, 8}, 7);
    outbox_fixture_close(outbox);
}

OUTBOX_TEST(batching, falls_to_what_went_well)
{
    struct recorder *recorder = recorder_new();
    struct weir_outbox *outbox = batching(fixture, recorder, 28, 8, 1);

    recorder_answer(recorder, 4, 1, ANSWER_RETRY);
    outbox_fixture_start(fixture, outbox);

    wait_until(outbox_fixture_seq(fixture, outbox, "orders", 0) == 28);
    check_sizes(recorder, (const size_t[]){8, 3, 6, 8, 8}, 5);
    outbox_fixture_close(outbox);
}

OUTBOX_TEST(batching, stays_as_it_is_below_the_threshold)
{
    struct recorder *recorder = recorder_new();
    struct weir_outbox *outbox = batching(fixture, recorder, 8, 8, 3);

    recorder_answer(recorder, 1, 2, ANSWER_RETRY);
    outbox_fixture_start(fixture, outbox);

    wait_until(outbox_fixture_seq(fixture, outbox, "orders", 0) == 8);
    check_sizes(recorder, (const size_t[]){8, 8, 8}, 3);
    outbox_fixture_close(outbox);
}

/* What one partition suffers does not shrink the batches of another. */
OUTBOX_TEST(batching, is_the_business_of_each_partition)
{
    struct recorder *recorder = recorder_new();
    struct weir_tuning tuning = outbox_fixture_tuning();
    struct weir_handler_options handler = outbox_fixture_handler("orders", recorder);
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");

    tuning.batch = 8;
    tuning.degradation_threshold = 1;
    tuning.retry_base_ns = tuning.retry_max_ns = WEIR_MINUTES(10);
    handler.tuning = &tuning;
    outbox_fixture_queue(fixture, outbox, "orders", 2);
    outbox_fixture_add(fixture, outbox, &handler);
    recorder_answer(recorder, 1, 1, ANSWER_RETRY); /* of partition 0, which comes first */
    outbox_fixture_send(fixture, outbox, "orders", 0, 8);
    outbox_fixture_start(fixture, outbox);
    wait_until(
        outbox_fixture_partition(fixture, outbox, "orders", "default", 0).attempts == 1);
    check_db(weir_outbox_pause_queue(outbox, "orders", &fixture->error), WEIR_OK);

    outbox_fixture_send(fixture, outbox, "orders", 1, 16);
    check_db(weir_outbox_resume_queue(outbox, "orders", &fixture->error), WEIR_OK);

    wait_until(outbox_fixture_seq(fixture, outbox, "orders", 1) == 16);
    for (size_t i = 0; i < recorder_count(recorder); i++) {
        struct delivery delivery = recorder_delivery(recorder, i);

        if (delivery.partition == 1 && delivery.seq == 9)
            check_int(delivery.batch, 8);
    }
    outbox_fixture_close(outbox);
}

/* ---- poison ------------------------------------------------------------------------ */

/* Fails as a whole when the poison is in it, and knows only of a single message that it
 * is bad. */
static enum weir_outcome choke(struct weir_context *context, void *state,
                               struct weir_batch *batch, struct weir_reason *reason)
{
    const struct weir_message *messages;
    size_t count = weir_batch_next_chunk(batch, weir_batch_count(batch), &messages);

    (void)context;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(messages[i].payload, "13") != 0)
            continue;
        return count == 1 ? weir_reject(reason, "poison") : weir_retry(reason, "choked");
    }
    for (size_t i = 0; i < count; i++)
        recorder_note(state, &messages[i]);
    return WEIR_DONE;
}

OUTBOX_TEST(batching, corners_a_message_that_spoils_its_batch)
{
    struct recorder *recorder = recorder_new();
    struct weir_tuning tuning = outbox_fixture_tuning();
    struct weir_handler_options handler =
        outbox_fixture_batch_handler("orders", recorder);
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");

    tuning.batch = 16;
    tuning.degradation_threshold = 2;
    handler.on_batch = choke;
    handler.tuning = &tuning;
    outbox_fixture_queue(fixture, outbox, "orders", 1);
    outbox_fixture_add(fixture, outbox, &handler);
    outbox_fixture_send(fixture, outbox, "orders", 0, 40);
    outbox_fixture_start(fixture, outbox);

    wait_until(outbox_fixture_seq(fixture, outbox, "orders", 0) == 40);
    check_int(outbox_fixture_queue_view(fixture, outbox, "orders").dead_letters, 1);
    check_int(recorder_count(recorder), 39);
    check_int(recorder_times(recorder, 0, 13), 0);
    outbox_fixture_close(outbox);
}
