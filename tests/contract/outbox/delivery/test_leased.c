/*
 * Handlers outside of any transaction, under a lease: what their answers do, and what
 * happens to those who are late.
 */
#include <stdatomic.h>
#include <string.h>

#include "db/clock.h"
#include "kit/outbox/outbox_fixture.h"
#include "weir/context.h"

/* A queue with one partition, a handler that may be changed, and so many messages. */
struct consumer {
    struct weir_outbox *outbox;
    struct recorder *recorder;
};

static struct consumer consumer_open(struct fixture *fixture, const char *name,
                                     const struct weir_handler_options *handler,
                                     struct recorder *recorder)
{
    struct consumer self = {.outbox = outbox_fixture_outbox(fixture, name),
                            .recorder = recorder};

    outbox_fixture_queue(fixture, self.outbox, "orders", 1);
    outbox_fixture_add(fixture, self.outbox, handler);
    return self;
}

static struct partition_view look(struct fixture *fixture, struct weir_outbox *outbox)
{
    return outbox_fixture_partition(fixture, outbox, "orders", "default", 0);
}

/* A retry that nobody lives to see. */
static struct weir_tuning never_again(void)
{
    struct weir_tuning tuning = outbox_fixture_tuning();

    tuning.retry_base_ns = WEIR_MINUTES(10);
    tuning.retry_max_ns = WEIR_MINUTES(10);
    return tuning;
}

/* ---- answers ----------------------------------------------------------------------- */

OUTBOX_TEST(leased, done_moves_the_position_and_leaves_no_attempt)
{
    struct recorder *recorder = recorder_new();
    struct weir_outbox *outbox =
        outbox_fixture_open(fixture, "anna", "orders", 1, recorder);

    outbox_fixture_send(fixture, outbox, "orders", 0, 2);
    wait_until(look(fixture, outbox).seq == 2);

    check_int(look(fixture, outbox).attempts, 0);
    check_int(look(fixture, outbox).waiting, 0);
    check_str(look(fixture, outbox).last_error, "");
    outbox_fixture_stop(outbox);
    check_str(look(fixture, outbox).owner, "");
    check_int(look(fixture, outbox).lease_left_us, 0);
    weir_outbox_destroy(outbox);
}

OUTBOX_TEST(leased, retry_keeps_the_position_and_the_reason)
{
    struct recorder *recorder = recorder_new();
    struct weir_tuning tuning = never_again();
    struct weir_handler_options handler = outbox_fixture_handler("orders", recorder);
    struct consumer consumer;

    handler.tuning = &tuning;
    consumer = consumer_open(fixture, "anna", &handler, recorder);
    recorder_answer(recorder, 0, ALWAYS, ANSWER_RETRY);
    outbox_fixture_send(fixture, consumer.outbox, "orders", 0, 2);
    outbox_fixture_start(fixture, consumer.outbox);

    wait_until(look(fixture, consumer.outbox).attempts == 1);
    check_int(look(fixture, consumer.outbox).seq, 0);
    check_int(look(fixture, consumer.outbox).waiting, 2);
    check_str(look(fixture, consumer.outbox).last_error, "message 1 must wait");
    outbox_fixture_stop(consumer.outbox);
    check_str(look(fixture, consumer.outbox).owner, "");
    weir_outbox_destroy(consumer.outbox);
}

DELIVERY_TEST(leased, reject_moves_on_and_leaves_a_dead_letter, 1)
{
    recorder_answer(recorder, 1, ALWAYS, ANSWER_REJECT);
    outbox_fixture_send(fixture, outbox, "orders", 0, 1);

    wait_until(look(fixture, outbox).seq == 1);
    check_int(outbox_fixture_queue_view(fixture, outbox, "orders").dead_letters, 1);
    check_int(look(fixture, outbox).attempts, 0);
    check_int(recorder_count(recorder), 1);
}

/* Of `count` messages, one batch, number `bad` is rejected. */
static void reject_one(struct fixture *fixture, int64_t bad, size_t count)
{
    struct recorder *recorder = recorder_new();
    struct weir_handler_options handler = outbox_fixture_handler("orders", recorder);
    struct consumer consumer = consumer_open(fixture, "anna", &handler, recorder);

    recorder_answer(recorder, bad, ALWAYS, ANSWER_REJECT);
    outbox_fixture_send(fixture, consumer.outbox, "orders", 0, count);
    outbox_fixture_start(fixture, consumer.outbox);

    wait_until(look(fixture, consumer.outbox).seq == (int64_t)count);
    check_int(outbox_fixture_queue_view(fixture, consumer.outbox, "orders").dead_letters,
              1);
    for (size_t i = 1; i <= count; i++)
        check_int(recorder_times(recorder, 0, (int64_t)i), 1);
    outbox_fixture_close(consumer.outbox);
}

OUTBOX_TEST(leased, reject_in_the_middle_of_five_leaves_one_dead_letter)
{
    reject_one(fixture, 3, 5);
}

OUTBOX_TEST(leased, reject_of_the_first_of_three_leaves_one_dead_letter)
{
    reject_one(fixture, 1, 3);
}

OUTBOX_TEST(leased, retry_in_the_middle_keeps_what_was_done)
{
    struct recorder *recorder = recorder_new();
    struct weir_tuning tuning = never_again();
    struct weir_handler_options handler = outbox_fixture_handler("orders", recorder);
    struct consumer consumer;

    handler.tuning = &tuning;
    consumer = consumer_open(fixture, "anna", &handler, recorder);
    recorder_answer(recorder, 2, ALWAYS, ANSWER_RETRY);
    outbox_fixture_send(fixture, consumer.outbox, "orders", 0, 3);
    outbox_fixture_start(fixture, consumer.outbox);

    wait_until(look(fixture, consumer.outbox).seq == 1);
    check_int(look(fixture, consumer.outbox).attempts, 1);
    check_str(look(fixture, consumer.outbox).last_error, "message 2 must wait");
    check_int(outbox_fixture_queue_view(fixture, consumer.outbox, "orders").dead_letters,
              0);
    check_int(recorder_times(recorder, 0, 3), 0);
    outbox_fixture_close(consumer.outbox);
}

DELIVERY_TEST(leased, calls_a_message_handler_once_per_message, 1)
{
    outbox_fixture_send(fixture, outbox, "orders", 0, 3);

    wait_until(look(fixture, outbox).seq == 3);
    check_int(recorder_count(recorder), 3);
}

OUTBOX_TEST(leased, gives_a_batch_handler_all_that_wait)
{
    struct recorder *recorder = recorder_new();
    struct weir_handler_options handler =
        outbox_fixture_batch_handler("orders", recorder);
    struct consumer consumer = consumer_open(fixture, "anna", &handler, recorder);

    outbox_fixture_send(fixture, consumer.outbox, "orders", 0, 5);
    outbox_fixture_start(fixture, consumer.outbox);

    wait_until(look(fixture, consumer.outbox).seq == 5);
    check_int(recorder_calls(recorder), 1);
    check_int(recorder_delivery(recorder, 0).batch, 5);
    outbox_fixture_close(consumer.outbox);
}

DELIVERY_TEST(leased, panic_is_a_retry, 1)
{
    recorder_answer(recorder, 1, 2, ANSWER_PANIC);
    outbox_fixture_send(fixture, outbox, "orders", 0, 2);

    wait_until(look(fixture, outbox).seq == 2);
    check_int(recorder_times(recorder, 0, 1), 3);
    check_int(recorder_delivery(recorder, 2).attempts, 2);
}

OUTBOX_TEST(leased, panic_is_shown_as_the_last_error)
{
    struct recorder *recorder = recorder_new();
    struct weir_tuning tuning = never_again();
    struct weir_handler_options handler = outbox_fixture_handler("orders", recorder);
    struct consumer consumer;

    handler.tuning = &tuning;
    consumer = consumer_open(fixture, "anna", &handler, recorder);
    recorder_answer(recorder, 1, ALWAYS, ANSWER_PANIC);
    outbox_fixture_send(fixture, consumer.outbox, "orders", 0, 1);
    outbox_fixture_start(fixture, consumer.outbox);

    wait_until(look(fixture, consumer.outbox).attempts == 1);
    check(strstr(look(fixture, consumer.outbox).last_error, "message 1 is too much") !=
          NULL);
    outbox_fixture_close(consumer.outbox);
}

/* ---- batch handlers ---------------------------------------------------------------- */

static enum weir_outcome answer_without_acks(struct weir_context *context, void *state,
                                             struct weir_batch *batch,
                                             struct weir_reason *reason)
{
    enum weir_outcome *answer = state;

    (void)context;
    (void)batch;
    (void)weir_retry(reason, "as I was told");
    return *answer;
}

static struct weir_outbox *answering(struct fixture *fixture, enum weir_outcome *answer)
{
    struct weir_handler_options handler = outbox_fixture_batch_handler("orders", NULL);
    struct consumer consumer;

    handler.on_batch = answer_without_acks;
    handler.state = answer;
    consumer = consumer_open(fixture, "anna", &handler, NULL);
    outbox_fixture_send(fixture, consumer.outbox, "orders", 0, 3);
    outbox_fixture_start(fixture, consumer.outbox);
    return consumer.outbox;
}

OUTBOX_TEST(leased, done_of_a_batch_without_acks_is_done_with_all)
{
    static enum weir_outcome answer = WEIR_DONE;
    struct weir_outbox *outbox = answering(fixture, &answer);

    wait_until(look(fixture, outbox).seq == 3);
    check_int(look(fixture, outbox).attempts, 0);
    outbox_fixture_close(outbox);
}

OUTBOX_TEST(leased, reject_of_a_batch_without_acks_rejects_all)
{
    static enum weir_outcome answer = WEIR_REJECT;
    struct weir_outbox *outbox = answering(fixture, &answer);

    wait_until(look(fixture, outbox).seq == 3);
    check_int(outbox_fixture_queue_view(fixture, outbox, "orders").dead_letters, 3);
    outbox_fixture_close(outbox);
}

struct greedy {
    struct recorder *recorder;
    _Atomic int refused;
};

/* Acks ten at a time, however many there were. */
static enum weir_outcome ack_tens(struct weir_context *context, void *state,
                                  struct weir_batch *batch, struct weir_reason *reason)
{
    struct greedy *self = state;
    const struct weir_message *messages;
    size_t count;

    (void)context;
    (void)reason;
    while ((count = weir_batch_next_chunk(batch, 10, &messages)) > 0) {
        for (size_t i = 0; i < count; i++)
            recorder_note(self->recorder, &messages[i]);
        if (weir_batch_ack_chunk(batch, 10, NULL) == WEIR_INVALID)
            atomic_fetch_add(&self->refused, 1);
    }
    return WEIR_DONE;
}

OUTBOX_TEST(leased, ack_of_more_than_was_given_is_refused_and_loses_nothing)
{
    static struct greedy greedy;
    struct weir_handler_options handler = outbox_fixture_batch_handler("orders", NULL);
    struct weir_tuning tuning = outbox_fixture_tuning();
    struct consumer consumer;

    greedy.recorder = recorder_new();
    greedy.refused = 0;
    tuning.batch = 100;
    handler.on_batch = ack_tens;
    handler.state = &greedy;
    handler.tuning = &tuning;
    consumer = consumer_open(fixture, "anna", &handler, greedy.recorder);
    outbox_fixture_send(fixture, consumer.outbox, "orders", 0, 27);
    outbox_fixture_start(fixture, consumer.outbox);

    wait_until(look(fixture, consumer.outbox).seq == 27);
    check_int(greedy.refused, 1);
    check_int(recorder_count(greedy.recorder), 27);
    outbox_fixture_close(consumer.outbox);
}

/* Two of five, and then it panics. */
static enum weir_outcome ack_two_and_panic(struct weir_context *context, void *state,
                                           struct weir_batch *batch,
                                           struct weir_reason *reason)
{
    struct recorder *recorder = state;
    const struct weir_message *message;

    for (size_t i = 0; (message = weir_batch_next(batch)) != NULL; i++) {
        recorder_note(recorder, message);
        if (i == 2)
            weir_panic(context, "no more than two");
        if (weir_batch_ack(batch, NULL) != WEIR_OK)
            return weir_retry(reason, "too late");
    }
    return WEIR_DONE;
}

OUTBOX_TEST(leased, acks_stay_whatever_becomes_of_the_rest)
{
    struct recorder *recorder = recorder_new();
    struct weir_handler_options handler =
        outbox_fixture_batch_handler("orders", recorder);
    struct weir_tuning tuning = never_again();
    struct consumer consumer;

    handler.on_batch = ack_two_and_panic;
    handler.tuning = &tuning;
    consumer = consumer_open(fixture, "anna", &handler, recorder);
    outbox_fixture_send(fixture, consumer.outbox, "orders", 0, 5);
    outbox_fixture_start(fixture, consumer.outbox);

    wait_until(look(fixture, consumer.outbox).seq == 2);
    check_int(look(fixture, consumer.outbox).attempts, 1);
    check_int(look(fixture, consumer.outbox).waiting, 3);
    outbox_fixture_close(consumer.outbox);
}

/* ---- leases ------------------------------------------------------------------------ */

OUTBOX_TEST(lease, epoch_grows_with_every_owner)
{
    struct recorder *first = recorder_new();
    struct recorder *second = recorder_new();
    struct weir_outbox *anna = outbox_fixture_open(fixture, "anna", "orders", 1, first);
    struct weir_outbox *bert;

    outbox_fixture_send(fixture, anna, "orders", 0, 1);
    wait_until(look(fixture, anna).seq == 1);
    outbox_fixture_close(anna);
    bert = outbox_fixture_open(fixture, "bert", "orders", 1, second);
    outbox_fixture_send(fixture, bert, "orders", 0, 1);
    wait_until(look(fixture, bert).seq == 2);

    check(recorder_delivery(second, 0).epoch > recorder_delivery(first, 0).epoch);
    check_int(look(fixture, bert).epoch, recorder_delivery(second, 0).epoch);
    outbox_fixture_close(bert);
}

/* Of nine tenths of a second the reference would have made nothing. */
OUTBOX_TEST(lease, of_less_than_a_second_is_renewed_while_the_handler_runs)
{
    struct recorder *first = recorder_new();
    struct recorder *second = recorder_new();
    struct weir_handler_options handler = outbox_fixture_handler("orders", first);
    struct consumer anna;
    struct consumer bert;
    int64_t begun_ns;

    handler.lease.duration_ns = WEIR_MILLISECONDS(900);
    handler.lease.headroom_ns = 0;
    handler.budget_ns = WEIR_MINUTES(1);
    anna = consumer_open(fixture, "anna", &handler, first);
    recorder_answer(first, 1, 1, ANSWER_BLOCK);
    outbox_fixture_start(fixture, anna.outbox);
    outbox_fixture_send(fixture, anna.outbox, "orders", 0, 2);
    wait_until(recorder_count(first) == 1);
    handler.state = second;
    bert = consumer_open(fixture, "bert", &handler, second);
    outbox_fixture_start(fixture, bert.outbox);

    begun_ns = weir_clock_now_ns();
    wait_until(weir_clock_now_ns() - begun_ns > WEIR_MILLISECONDS(1800)); /* two leases */

    check_int(recorder_count(second), 0);
    check_str(look(fixture, bert.outbox).owner, "anna");
    recorder_release(first);
    wait_until(look(fixture, bert.outbox).seq == 2);
    check_int(recorder_times(first, 0, 1), 1);
    check_int(look(fixture, bert.outbox).crashes, 0);
    outbox_fixture_close(anna.outbox);
    outbox_fixture_close(bert.outbox);
}

/* Its budget is over, so the lease is let go and somebody else begins. */
static void lose_partition_to(struct fixture *fixture, struct consumer *anna,
                              struct consumer *bert, struct recorder *recorder)
{
    struct weir_handler_options handler;

    anna->recorder = recorder_new();
    bert->recorder = recorder;
    handler = outbox_fixture_handler("orders", anna->recorder);
    outbox_fixture_short_lease(&handler);
    *anna = consumer_open(fixture, "anna", &handler, anna->recorder);
    recorder_answer(anna->recorder, 1, 1, ANSWER_BLOCK);
    outbox_fixture_send(fixture, anna->outbox, "orders", 0, 3);
    outbox_fixture_start(fixture, anna->outbox);
    wait_until(recorder_count(anna->recorder) == 1);
    handler = outbox_fixture_handler("orders", bert->recorder);
    *bert = consumer_open(fixture, "bert", &handler, bert->recorder);
    outbox_fixture_start(fixture, bert->outbox);
}

static void lose_partition(struct fixture *fixture, struct consumer *anna,
                           struct consumer *bert)
{
    lose_partition_to(fixture, anna, bert, recorder_new());
}

OUTBOX_TEST(lease, of_a_handler_that_is_over_its_budget_goes_to_another)
{
    struct consumer anna;
    struct consumer bert;

    lose_partition(fixture, &anna, &bert);

    wait_until(look(fixture, bert.outbox).seq == 3);
    check_str(look(fixture, bert.outbox).owner, "bert");
    check(recorder_in_order(bert.recorder, 0, 3));
    recorder_release(anna.recorder);
    outbox_fixture_close(anna.outbox);
    outbox_fixture_close(bert.outbox);
}

OUTBOX_TEST(lease, once_lost_makes_a_late_answer_count_for_nothing)
{
    struct consumer anna;
    struct consumer bert;

    lose_partition(fixture, &anna, &bert);
    wait_until(look(fixture, bert.outbox).seq == 3);

    recorder_release(anna.recorder);
    wait_until(recorder_ended(anna.recorder) == 1);
    outbox_fixture_close(anna.outbox);

    check_int(look(fixture, bert.outbox).seq, 3);
    check_int(recorder_count(anna.recorder), 1);
    outbox_fixture_send(fixture, bert.outbox, "orders", 0, 1);
    wait_until(look(fixture, bert.outbox).seq == 4);
    check_int(recorder_delivery(bert.recorder, 3).seq, 4);
    outbox_fixture_close(bert.outbox);
}

OUTBOX_TEST(lease, over_its_budget_is_told_to_the_handler)
{
    struct recorder *recorder = recorder_new();
    struct weir_handler_options handler = outbox_fixture_handler("orders", recorder);
    struct consumer consumer;

    outbox_fixture_short_lease(&handler);
    consumer = consumer_open(fixture, "anna", &handler, recorder);
    recorder_answer(recorder, 1, 1, ANSWER_HEED);
    outbox_fixture_send(fixture, consumer.outbox, "orders", 0, 1);
    outbox_fixture_start(fixture, consumer.outbox);

    wait_until(look(fixture, consumer.outbox).seq == 1);
    check(recorder_times(recorder, 0, 1) >= 2);
    check(recorder_delivery(recorder, 0).budget_ns <= WEIR_MILLISECONDS(100));
    check(recorder_delivery(recorder, 1).attempts >= 1);
    outbox_fixture_close(consumer.outbox);
}

/* A handler that came back too late gets its partition again when nobody else wants
 * it. */
OUTBOX_TEST(lease, that_ran_out_is_taken_again_when_the_handler_is_back)
{
    struct recorder *recorder = recorder_new();
    struct weir_handler_options handler = outbox_fixture_handler("orders", recorder);
    struct consumer consumer;

    outbox_fixture_short_lease(&handler);
    consumer = consumer_open(fixture, "anna", &handler, recorder);
    recorder_answer(recorder, 1, 1, ANSWER_BLOCK);
    outbox_fixture_send(fixture, consumer.outbox, "orders", 0, 2);
    outbox_fixture_start(fixture, consumer.outbox);
    wait_until(recorder_count(recorder) == 1);
    wait_until(look(fixture, consumer.outbox).lease_left_us == 0);

    recorder_release(recorder);

    wait_until(look(fixture, consumer.outbox).seq == 2);
    check(recorder_times(recorder, 0, 1) >= 2);
    outbox_fixture_close(consumer.outbox);
}

/* Each message takes 30 ms, a call has 100 ms: the rest of a batch comes in the next
 * call. */
static enum weir_outcome take_a_while(struct weir_context *context, void *state,
                                      const struct weir_message *message,
                                      struct weir_reason *reason)
{
    (void)context;
    (void)reason;
    recorder_note(state, message);
    weir_clock_sleep(WEIR_MILLISECONDS(30));
    return WEIR_DONE;
}

OUTBOX_TEST(lease, budget_that_ends_within_a_batch_leaves_the_rest_for_the_next)
{
    struct recorder *recorder = recorder_new();
    struct weir_handler_options handler = outbox_fixture_handler("orders", recorder);
    struct consumer consumer;

    handler.on_message = take_a_while;
    handler.budget_ns = WEIR_MILLISECONDS(100);
    consumer = consumer_open(fixture, "anna", &handler, recorder);
    outbox_fixture_send(fixture, consumer.outbox, "orders", 0, 20);
    outbox_fixture_start(fixture, consumer.outbox);

    wait_until(look(fixture, consumer.outbox).seq == 20);
    check(recorder_calls(recorder) >= 5);
    check(recorder_in_order(recorder, 0, 20));
    outbox_fixture_close(consumer.outbox);
}

OUTBOX_TEST(lease, is_shown_with_owner_and_time)
{
    struct weir_outbox *outbox =
        outbox_fixture_open(fixture, "anna", "orders", 1, recorder_new());
    struct partition_view view = look(fixture, outbox);

    check_str(view.owner, "anna");
    check(view.epoch > 0);
    check_in_range(view.lease_left_us, 1, 30000000);
    outbox_fixture_close(outbox);
}

/* ---- crashes ----------------------------------------------------------------------- */

/* Operators see it; what it counts against the message is nothing. */
OUTBOX_TEST(crash, leaves_a_trace_that_counts_no_attempt)
{
    struct recorder *recorder = recorder_new();
    struct consumer anna;
    struct consumer bert;

    recorder_answer(recorder, 1, 1, ANSWER_BLOCK);
    lose_partition_to(fixture, &anna, &bert, recorder);

    wait_until(look(fixture, bert.outbox).crashes == 1);
    wait_until(recorder_count(bert.recorder) >= 1);
    check_int(recorder_delivery(bert.recorder, 0).seq, 1);
    check_int(recorder_delivery(bert.recorder, 0).attempts, 0);
    recorder_release(bert.recorder);
    recorder_release(anna.recorder);
    outbox_fixture_close(anna.outbox);
    outbox_fixture_close(bert.outbox);
}

OUTBOX_TEST(crash, is_forgotten_when_the_message_is_done)
{
    struct consumer anna;
    struct consumer bert;

    lose_partition(fixture, &anna, &bert);

    wait_until(look(fixture, bert.outbox).seq == 3);
    check_int(look(fixture, bert.outbox).attempts, 0);
    check_int(look(fixture, bert.outbox).crashes, 0);
    check_int(recorder_delivery(bert.recorder, 2).attempts, 0);
    recorder_release(anna.recorder);
    outbox_fixture_close(anna.outbox);
    outbox_fixture_close(bert.outbox);
}

/* Three wait, but only the one that may have killed its process is tried. */
OUTBOX_TEST(crash, corners_the_message_at_the_head)
{
    struct consumer anna;
    struct consumer bert;

    lose_partition(fixture, &anna, &bert);

    wait_until(look(fixture, bert.outbox).seq == 3);
    check_int(recorder_delivery(bert.recorder, 0).batch, 1);
    recorder_release(anna.recorder);
    outbox_fixture_close(anna.outbox);
    outbox_fixture_close(bert.outbox);
}

/* In the first call it is not marked, in the second others may run beside it, the third
 * is its own. */
OUTBOX_TEST(crash, is_counted_when_the_message_was_called_alone)
{
    enum { OWNERS = 4 };
    struct recorder *recorders[OWNERS];
    static const char *const names[OWNERS] = {"anna", "bert", "carl", "dora"};
    struct consumer consumers[OWNERS];

    for (int i = 0; i < OWNERS; i++) {
        struct weir_handler_options handler =
            outbox_fixture_handler("orders", recorders[i] = recorder_new());

        outbox_fixture_short_lease(&handler);
        consumers[i] = consumer_open(fixture, names[i], &handler, recorders[i]);
        if (i == 0)
            outbox_fixture_send(fixture, consumers[0].outbox, "orders", 0, 1);
        if (i < OWNERS - 1)
            recorder_answer(recorders[i], 1, ALWAYS, ANSWER_BLOCK);
        outbox_fixture_start(fixture, consumers[i].outbox);
        wait_until(recorder_count(recorders[i]) >= 1);
    }

    wait_until(look(fixture, consumers[OWNERS - 1].outbox).seq == 1);
    for (int i = 0; i < OWNERS; i++)
        check_int(recorder_delivery(recorders[i], 0).attempts, i == OWNERS - 1);
    for (int i = 0; i < OWNERS; i++)
        recorder_release(recorders[i]);
    for (int i = 0; i < OWNERS; i++)
        outbox_fixture_close(consumers[i].outbox);
}

DELIVERY_TEST(crash, is_not_what_a_retry_is, 1)
{
    recorder_answer(recorder, 1, 1, ANSWER_RETRY);
    outbox_fixture_send(fixture, outbox, "orders", 0, 1);

    wait_until(look(fixture, outbox).seq == 1);
    check_int(recorder_delivery(recorder, 1).attempts, 1);
    check_int(look(fixture, outbox).crashes, 0);
}
