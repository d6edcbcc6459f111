/*
 * A message that has failed too often becomes a dead letter, and the next one is
 * delivered.
 */
#include <string.h>

#include "kit/outbox/dead_letter_fixture.h"

static void limited_queue(struct fixture *fixture, struct weir_outbox *outbox,
                          uint32_t attempts_max)
{
    struct weir_queue_options queue;

    weir_queue_options_init(&queue);
    queue.name = "orders";
    queue.attempts_max = attempts_max;
    check_db(weir_outbox_add_queue(outbox, &queue, &fixture->error), WEIR_OK);
}

/* The only letter there is. */
static struct letter_view letter_of(struct fixture *fixture, struct weir_outbox *outbox)
{
    struct weir_dead_letter_scope scope = letters_everything();
    struct letter_views *views =
        letters_list(fixture, outbox, &scope, WEIR_DEAD_LETTER_ANY);

    check_int(views->count, 1);
    return views->items[0];
}

static int64_t seq_of(struct fixture *fixture, struct weir_outbox *outbox)
{
    return outbox_fixture_partition(fixture, outbox, "orders", "default", 0).seq;
}

OUTBOX_TEST(attempts_max, makes_a_dead_letter_with_number_and_last_error)
{
    struct recorder *recorder = recorder_new();
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");
    struct letter_view letter;

    recorder_answer(recorder, 1, ALWAYS, ANSWER_RETRY);
    limited_queue(fixture, outbox, 3);
    outbox_fixture_serve(fixture, outbox, "orders", recorder);
    outbox_fixture_send(fixture, outbox, "orders", 0, 1);
    outbox_fixture_start(fixture, outbox);
    wait_until(seq_of(fixture, outbox) == 1);

    letter = letter_of(fixture, outbox);
    check_int(recorder_count(recorder), 3);
    check_int(letter.attempts, 3);
    check(strncmp(letter.reason, "gave up after 3 attempts: ", 26) == 0);
    check(strlen(letter.reason) > 26);
    check_str(letter.payload, "1");
    outbox_fixture_close(outbox);
}

OUTBOX_TEST(attempts_max, lets_the_next_message_pass)
{
    struct recorder *recorder = recorder_new();
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");

    recorder_answer(recorder, 2, ALWAYS, ANSWER_RETRY);
    limited_queue(fixture, outbox, 2);
    outbox_fixture_serve(fixture, outbox, "orders", recorder);
    outbox_fixture_send(fixture, outbox, "orders", 0, 4);
    outbox_fixture_start(fixture, outbox);
    wait_until(seq_of(fixture, outbox) == 4);

    check_int(letter_of(fixture, outbox).seq, 2);
    check_int(recorder_times(recorder, 0, 3), 1);
    check_int(recorder_times(recorder, 0, 4), 1);
    check_int(outbox_fixture_partition(fixture, outbox, "orders", "default", 0).attempts,
              0);
    outbox_fixture_close(outbox);
}

/* A panic is a failure like any other. */
OUTBOX_TEST(attempts_max, counts_panics)
{
    struct recorder *recorder = recorder_new();
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");

    recorder_answer(recorder, 1, ALWAYS, ANSWER_PANIC);
    limited_queue(fixture, outbox, 2);
    outbox_fixture_serve(fixture, outbox, "orders", recorder);
    outbox_fixture_send(fixture, outbox, "orders", 0, 1);
    outbox_fixture_start(fixture, outbox);
    wait_until(seq_of(fixture, outbox) == 1);

    check_int(letter_of(fixture, outbox).seq, 1);
    check_int(recorder_times(recorder, 0, 1), 2);
    outbox_fixture_close(outbox);
}

/* A batch that fails as a whole says nothing of its first message. */
static enum weir_outcome spoil(struct weir_context *context, void *state,
                               struct weir_batch *batch, struct weir_reason *reason)
{
    const struct weir_message *messages;
    size_t count = weir_batch_next_chunk(batch, weir_batch_count(batch), &messages);

    (void)context;
    for (size_t i = 0; i < count; i++) {
        recorder_note(state, &messages[i]);
        if (messages[i].seq == 3)
            return weir_retry(reason, "spoilt by 3");
    }
    return WEIR_DONE;
}

OUTBOX_TEST(attempts_max, counts_only_calls_of_one_message)
{
    struct recorder *recorder = recorder_new();
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");
    struct weir_handler_options handler =
        outbox_fixture_batch_handler("orders", recorder);
    struct weir_tuning tuning = outbox_fixture_tuning();

    tuning.batch = 8;
    tuning.degradation_threshold = 3; /* so many failures of all of them together */
    handler.tuning = &tuning;
    handler.on_batch = spoil;
    limited_queue(fixture, outbox, 1);
    outbox_fixture_add(fixture, outbox, &handler);
    outbox_fixture_send(fixture, outbox, "orders", 0, 8);
    outbox_fixture_start(fixture, outbox);
    wait_until(seq_of(fixture, outbox) == 8);

    check_int(letter_of(fixture, outbox).seq, 3);
    outbox_fixture_close(outbox);
}

/* Two more after the restart, or three if the stop came into a call, which then does
 * not count. From the beginning it would be four. */
OUTBOX_TEST(attempts_max, goes_on_counting_after_a_restart)
{
    struct recorder *recorder = recorder_new();
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");
    struct weir_outbox *client = outbox_fixture_outbox(fixture, "clerk");
    uint32_t attempts;
    size_t calls;

    recorder_answer(recorder, 1, ALWAYS, ANSWER_RETRY);
    limited_queue(fixture, outbox, 0);
    outbox_fixture_serve(fixture, outbox, "orders", recorder);
    outbox_fixture_send(fixture, outbox, "orders", 0, 1);
    outbox_fixture_start(fixture, outbox);
    wait_until(
        outbox_fixture_partition(fixture, outbox, "orders", "default", 0).attempts >= 2);
    outbox_fixture_stop(outbox);
    attempts = outbox_fixture_partition(fixture, outbox, "orders", "default", 0).attempts;
    calls = recorder_count(recorder);
    limited_queue(fixture, client, attempts + 2);
    outbox_fixture_start(fixture, outbox);
    wait_until(seq_of(fixture, outbox) == 1);

    check_in_range(recorder_count(recorder) - calls, 2, 3);
    check_in_range(letter_of(fixture, outbox).attempts, attempts + 2, attempts + 3);
    outbox_fixture_close(client);
    outbox_fixture_close(outbox);
}

/* Another process lowers it while one runs; it may have failed more often by then. */
OUTBOX_TEST(attempts_max, may_be_changed_while_a_message_fails)
{
    struct recorder *recorder = recorder_new();
    struct weir_handler_options handler = outbox_fixture_handler("orders", recorder);
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");
    struct weir_outbox *client = outbox_fixture_outbox(fixture, "clerk");

    recorder_answer(recorder, 1, ALWAYS, ANSWER_RETRY);
    limited_queue(fixture, outbox, 0);
    handler.lease.duration_ns = WEIR_SECONDS(3); /* limits are read each third of it */
    outbox_fixture_add(fixture, outbox, &handler);
    outbox_fixture_send(fixture, outbox, "orders", 0, 2);
    outbox_fixture_start(fixture, outbox);
    wait_until(
        outbox_fixture_partition(fixture, outbox, "orders", "default", 0).attempts >= 4);

    limited_queue(fixture, client, 2);
    wait_until(seq_of(fixture, outbox) == 2);

    check_int(letter_of(fixture, client).seq, 1);
    weir_outbox_destroy(client);
    outbox_fixture_close(outbox);
}

/* One dies without a mark, one with a mark beside, one with a mark alone: the limit,
 * and two more. */
OUTBOX_TEST(attempts_max, ends_a_message_whose_owners_die)
{
    enum { DEATHS = 3 };
    static const char *const NAMES[] = {"anna", "bert", "cora", "dora"};
    struct recorder *deadly = recorder_new();
    struct recorder *recorder = recorder_new();
    struct weir_handler_options handler = outbox_fixture_handler("orders", deadly);
    struct weir_outbox *owners[DEATHS + 1];
    struct letter_view letter;

    recorder_answer(deadly, 1, ALWAYS, ANSWER_BLOCK);
    outbox_fixture_short_lease(&handler);
    for (int i = 0; i <= DEATHS; i++) {
        owners[i] = outbox_fixture_outbox(fixture, NAMES[i]);
        limited_queue(fixture, owners[i], 1);
        handler.state = i < DEATHS ? deadly : recorder;
        outbox_fixture_add(fixture, owners[i], &handler);
    }
    outbox_fixture_send(fixture, owners[0], "orders", 0, 2);
    for (int i = 0; i < DEATHS; i++) {
        outbox_fixture_start(fixture, owners[i]);
        wait_until(recorder_count(deadly) == (size_t)i + 1);
    }
    outbox_fixture_start(fixture, owners[DEATHS]);
    wait_until(seq_of(fixture, owners[DEATHS]) == 2);

    letter = letter_of(fixture, owners[DEATHS]);
    check_int(letter.seq, 1);
    check_int(letter.attempts, 1);
    check_str(letter.reason,
              "gave up after 1 attempt: its process ended without an answer");
    check_int(recorder_times(recorder, 0, 1), 0);
    recorder_release(deadly);
    wait_until(recorder_ended(deadly) == DEATHS);
    for (int i = 0; i <= DEATHS; i++)
        outbox_fixture_close(owners[i]);
}

/* A handler that gives way when its process ends has not failed at the message. */
OUTBOX_TEST(attempts_max, counts_no_call_that_was_told_to_stop)
{
    struct recorder *recorder = recorder_new();
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");

    recorder_answer(recorder, 1, 2, ANSWER_HEED);
    limited_queue(fixture, outbox, 1);
    outbox_fixture_serve(fixture, outbox, "orders", recorder);
    outbox_fixture_send(fixture, outbox, "orders", 0, 1);
    for (size_t i = 1; i <= 2; i++) {
        outbox_fixture_start(fixture, outbox);
        wait_until(recorder_count(recorder) == i);
        outbox_fixture_stop(outbox);
    }
    outbox_fixture_start(fixture, outbox);
    wait_until(seq_of(fixture, outbox) == 1);

    check_int(letters_count(fixture, outbox, WEIR_DEAD_LETTER_ANY), 0);
    check_int(recorder_count(recorder), 3);
    outbox_fixture_close(outbox);
}

OUTBOX_TEST(attempts_max, and_retention_have_limits)
{
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");
    struct weir_queue_options queue;

    weir_queue_options_init(&queue);
    queue.name = "orders";
    queue.attempts_max = WEIR_ATTEMPTS_MAX_MAX + 1;
    check_db(weir_outbox_add_queue(outbox, &queue, &fixture->error), WEIR_INVALID);
    check(strstr(fixture->error.text, "attempts_max") != NULL);
    queue.attempts_max = 1;
    queue.dead_letter_retention_ns = WEIR_MILLISECONDS(999);
    check_db(weir_outbox_add_queue(outbox, &queue, &fixture->error), WEIR_INVALID);
    check(strstr(fixture->error.text, "dead_letter_retention_ns") != NULL);
    weir_outbox_destroy(outbox);
}
