/*
 * Tests of outbox/delivery/batch.c: taking, acking and rejecting, the budget, and the
 * loop over handlers for single messages. Time is a simulation's.
 */
#include "outbox/delivery/batch.h"

#include <string.h>

#include "base/heap.h"
#include "kit/alloc_failures.h"
#include "kit/test.h"
#include "weir/sim.h"
#include "weir/time.h"

enum { MESSAGES_MAX = 10 };

/* A batch of messages with seq 1, 2, 3, ..., and a handler that follows a script. */
struct setup {
    struct weir_faulty_heap heap;
    struct weir_sim *sim; /* NULL: no clock */
    struct weir_message messages[MESSAGES_MAX];
    struct weir_batch batch;
    struct weir_error error;
    struct weir_reason reason;

    enum weir_outcome script[MESSAGES_MAX]; /* answers by index */
    const char *reasons[MESSAGES_MAX];      /* NULL: the handler gives none */
    int64_t takes_ns;                       /* each call */
    size_t stop_in;                         /* the call that hears of the stop; 0: none */
    size_t calls;
};

static void setup_fill(struct setup *self, size_t count, int64_t deadline_ns)
{
    for (size_t i = 0; i < count; i++)
        self->messages[i] =
            (struct weir_message){.seq = (int64_t)i + 1, .batch = &self->batch};
    weir_batch_init(&self->batch, &self->heap.heap,
                    self->sim != NULL ? weir_sim_executor(self->sim) : NULL,
                    self->messages, count, deadline_ns);
}

static void setup_open(struct setup *self, size_t count)
{
    *self = (struct setup){.sim = NULL};
    weir_faulty_heap_init(&self->heap);
    setup_fill(self, count, 0); /* a deadline that never comes without a clock */
}

/* The same with a clock that stands at 0. */
static void setup_open_until(struct setup *self, size_t count, int64_t deadline_ns)
{
    *self = (struct setup){.sim = NULL};
    weir_faulty_heap_init(&self->heap);
    check_status(weir_sim_create(&(struct weir_sim_options){.seed = 1}, &self->sim, NULL),
                 WEIR_OK);
    setup_fill(self, count, deadline_ns);
}

static void setup_close(struct setup *self)
{
    weir_batch_fini(&self->batch);
    weir_sim_destroy(self->sim);
    check_int(self->heap.outstanding, 0);
}

static void take(struct setup *self, size_t count)
{
    const struct weir_message *chunk;

    check_int(weir_batch_next_chunk(&self->batch, count, &chunk), count);
}

static enum weir_outcome follow_script(struct weir_context *context, void *state,
                                       const struct weir_message *message,
                                       struct weir_reason *reason)
{
    struct setup *self = state;
    size_t index = (size_t)message->seq - 1;

    check(context == NULL);
    check(message->batch == &self->batch);
    check_str(reason->text, "");
    check_int(index, self->calls);
    self->calls++;
    if (self->reasons[index] != NULL)
        weir_retry(reason, "%s", self->reasons[index]);
    if (self->sim != NULL)
        weir_sim_run_until(self->sim, weir_sim_now(self->sim) + self->takes_ns);
    if (self->stop_in == self->calls)
        self->batch.stopped = true;
    return self->script[index];
}

static enum weir_outcome each(struct setup *self)
{
    memset(&self->reason, 'x', sizeof self->reason); /* of an earlier call */
    return weir_batch_each(&self->batch, NULL, follow_script, self, &self->reason);
}

/* ---- taking ------------------------------------------------------------------------ */

WEIR_TEST(batch, gives_its_messages_in_order)
{
    struct setup setup;

    setup_open(&setup, 3);
    check_int(weir_batch_count(&setup.batch), 3);
    for (size_t i = 0; i < 3; i++) {
        check_int(weir_batch_left(&setup.batch), 3 - i);
        check(weir_batch_next(&setup.batch) == &setup.messages[i]);
    }

    check_int(weir_batch_left(&setup.batch), 0);
    check(weir_batch_next(&setup.batch) == NULL);
    check(weir_batch_next(&setup.batch) == NULL);
    check_int(weir_batch_count(&setup.batch), 3);
    check_int(weir_batch_processed(&setup.batch), 0);
    setup_close(&setup);
}

WEIR_TEST(batch, gives_chunks_of_3_over_7_as_3_3_and_1)
{
    struct setup setup;
    const struct weir_message *chunk;

    setup_open(&setup, 7);
    check_int(weir_batch_next_chunk(&setup.batch, 3, &chunk), 3);
    check(chunk == &setup.messages[0]);
    check_int(weir_batch_next_chunk(&setup.batch, 3, &chunk), 3);
    check(chunk == &setup.messages[3]);
    check_int(weir_batch_next_chunk(&setup.batch, 3, &chunk), 1);
    check(chunk == &setup.messages[6]);
    check_int(chunk->seq, 7);

    check_int(weir_batch_next_chunk(&setup.batch, 3, &chunk), 0);
    check(chunk == NULL);
    setup_close(&setup);
}

WEIR_TEST(batch, gives_chunks_of_any_size)
{
    struct setup setup;
    const struct weir_message *chunk;

    setup_open(&setup, 5);
    check_int(weir_batch_next_chunk(&setup.batch, 0, &chunk), 0);
    check_int(weir_batch_left(&setup.batch), 5);
    check_int(weir_batch_next_chunk(&setup.batch, SIZE_MAX, &chunk), 5);
    check(chunk == setup.messages);
    setup_close(&setup);
}

/* ---- acking ------------------------------------------------------------------------ */

WEIR_TEST(batch, counts_acks_of_one_and_of_chunks)
{
    struct setup setup;

    setup_open(&setup, 5);
    take(&setup, 4);

    check_status(weir_batch_ack(&setup.batch, NULL), WEIR_OK);
    check_int(weir_batch_processed(&setup.batch), 1);
    check_status(weir_batch_ack_chunk(&setup.batch, 3, NULL), WEIR_OK);
    check_int(weir_batch_processed(&setup.batch), 4);
    setup_close(&setup);
}

WEIR_TEST(batch, counts_a_rejected_message_as_processed)
{
    struct setup setup;

    setup_open(&setup, 3);
    take(&setup, 3);

    check_status(weir_batch_ack(&setup.batch, NULL), WEIR_OK);
    check_status(weir_batch_reject(&setup.batch, "no address", NULL), WEIR_OK);
    check_status(weir_batch_ack(&setup.batch, NULL), WEIR_OK);

    check_int(weir_batch_processed(&setup.batch), 3);
    check_int(setup.batch.rejection_count, 1);
    check_int(setup.batch.rejections[0].index, 1);
    check_str(setup.batch.rejections[0].reason, "no address");
    setup_close(&setup);
}

WEIR_TEST(batch, refuses_to_ack_what_was_not_taken)
{
    struct setup setup;

    setup_open(&setup, 3);

    check_status(weir_batch_ack(&setup.batch, &setup.error), WEIR_INVALID);
    check_status(setup.error.status, WEIR_INVALID);
    check_str(setup.error.text,
              "ack of 1 messages, must be at most 0: the others were not "
              "taken or are answered for");
    check_status(weir_batch_reject(&setup.batch, "no", &setup.error), WEIR_INVALID);
    check_status(weir_batch_ack_chunk(&setup.batch, SIZE_MAX, NULL), WEIR_INVALID);

    check_int(weir_batch_processed(&setup.batch), 0);
    check_int(setup.batch.rejection_count, 0);
    check_int(weir_batch_left(&setup.batch), 3);
    setup_close(&setup);
}

/* An ack too many counts for nothing, and what is there is still to be had. */
WEIR_TEST(batch, loses_nothing_by_an_ack_too_many)
{
    struct setup setup;

    setup_open(&setup, 3);
    take(&setup, 2);
    check_status(weir_batch_ack_chunk(&setup.batch, 3, &setup.error), WEIR_INVALID);
    check_int(weir_batch_processed(&setup.batch), 0);

    check_status(weir_batch_ack_chunk(&setup.batch, 2, NULL), WEIR_OK);
    check_status(weir_batch_ack(&setup.batch, NULL), WEIR_INVALID);
    check_int(weir_batch_processed(&setup.batch), 2);
    check(weir_batch_next(&setup.batch) == &setup.messages[2]);
    check_status(weir_batch_ack(&setup.batch, NULL), WEIR_OK);
    check_int(weir_batch_processed(&setup.batch), 3);
    setup_close(&setup);
}

WEIR_TEST(batch, acks_nothing_on_request)
{
    struct setup setup;

    setup_open(&setup, 1);
    check_status(weir_batch_ack_chunk(&setup.batch, 0, NULL), WEIR_OK);
    check_int(weir_batch_processed(&setup.batch), 0);
    setup_close(&setup);
}

/* ---- reasons ----------------------------------------------------------------------- */

WEIR_TEST(reason, is_written_by_the_call_that_answers)
{
    struct weir_reason reason = {.text = ""};

    check_int(weir_retry(&reason, "server %d is down", 7), WEIR_RETRY);
    check_str(reason.text, "server 7 is down");
    check_int(weir_reject(&reason, "no %s", "address"), WEIR_REJECT);
    check_str(reason.text, "no address");
}

WEIR_TEST(reason, that_is_too_long_is_cut)
{
    struct weir_reason reason;
    char text[1000];

    memset(text, 'r', sizeof text);
    text[999] = '\0';

    check_int(weir_reject(&reason, "%s", text), WEIR_REJECT);

    check_int(strlen(reason.text), WEIR_ERROR_TEXT_SIZE - 1);
    check_str(reason.text + WEIR_ERROR_TEXT_SIZE - 4, "...");
}

WEIR_TEST(reason, that_is_empty_says_so_unless_it_went_well)
{
    struct weir_reason reason = {.text = ""};

    weir_reason_mend(&reason, WEIR_DONE);
    check_str(reason.text, "");
    weir_reason_mend(&reason, WEIR_RETRY);
    check_str(reason.text, "handler asked for a retry");
    reason.text[0] = '\0';
    weir_reason_mend(&reason, WEIR_REJECT);
    check_str(reason.text, "handler rejected the message");
}

/* A database refuses other bytes, and with them the ack that carries the reason. */
WEIR_TEST(reason, that_is_no_utf8_is_mended)
{
    struct weir_reason reason = {.text = "caf\xe9 \xe6\xb0\xb4 \xe6\xb0"};

    weir_reason_mend(&reason, WEIR_RETRY);
    check_str(reason.text, "caf? \xe6\xb0\xb4 ??");
}

WEIR_TEST(reason, without_end_gets_one)
{
    struct weir_reason reason;

    memset(&reason, 'x', sizeof reason);
    weir_reason_mend(&reason, WEIR_RETRY);
    check_int(strlen(reason.text), WEIR_ERROR_TEXT_SIZE - 1);
}

WEIR_TEST(rejection, keeps_a_copy_of_its_reason)
{
    struct setup setup;
    char reason[] = "first";

    setup_open(&setup, 4);
    take(&setup, 4);
    check_status(weir_batch_reject(&setup.batch, reason, NULL), WEIR_OK);
    reason[0] = 'F';
    check_status(weir_batch_reject(&setup.batch, NULL, NULL), WEIR_OK);
    check_status(weir_batch_reject(&setup.batch, "", NULL), WEIR_OK);
    check_status(weir_batch_reject(&setup.batch, "\xff", NULL), WEIR_OK);

    check_int(setup.batch.rejection_count, 4);
    check_str(setup.batch.rejections[0].reason, "first");
    check_str(setup.batch.rejections[1].reason, "handler rejected the message");
    check_str(setup.batch.rejections[2].reason, "handler rejected the message");
    check_str(setup.batch.rejections[3].reason, "?");
    for (size_t i = 0; i < 4; i++)
        check_int(setup.batch.rejections[i].index, i);
    setup_close(&setup);
}

/* ---- effects ----------------------------------------------------------------------- */

/* What answers did to what was written: one letter each. */
struct effects {
    char done[16];
    enum weir_status status;
};

static enum weir_status note_effect(struct effects *self, const char *letter,
                                    struct weir_error *error)
{
    if (self->status != WEIR_OK)
        return weir_error_set(error, self->status, "no effect");
    (void)strncat(self->done, letter, sizeof self->done - strlen(self->done) - 1);
    return WEIR_OK;
}

static enum weir_status keep_effect(void *state, struct weir_error *error)
{
    return note_effect(state, "k", error);
}

static enum weir_status undo_effect(void *state, struct weir_error *error)
{
    return note_effect(state, "u", error);
}

static void setup_open_with(struct setup *self, struct effects *effects, size_t count)
{
    setup_open(self, count);
    self->batch.effects = (struct weir_batch_effects){
        .keep = keep_effect, .undo = undo_effect, .state = effects};
}

WEIR_TEST(batch, keeps_with_each_ack_and_undoes_with_each_rejection)
{
    struct effects effects = {.status = WEIR_OK};
    struct setup setup;

    setup_open_with(&setup, &effects, 7);
    take(&setup, 5);
    check_status(weir_batch_ack(&setup.batch, NULL), WEIR_OK);
    check_status(weir_batch_reject(&setup.batch, "no", NULL), WEIR_OK);
    check_status(weir_batch_ack_chunk(&setup.batch, 2, NULL), WEIR_OK);
    check_status(weir_batch_ack_chunk(&setup.batch, 2, NULL), WEIR_INVALID);
    check_status(weir_batch_ack_rest(&setup.batch, NULL), WEIR_OK);

    check_str(effects.done, "kukk");
    setup_close(&setup);
}

WEIR_TEST(batch, answers_nothing_when_the_effect_fails)
{
    struct effects effects = {.status = WEIR_LOST};
    struct setup setup;

    setup_open_with(&setup, &effects, 3);
    take(&setup, 1);

    check_status(weir_batch_ack(&setup.batch, &setup.error), WEIR_LOST);
    check_str(setup.error.text, "no effect");
    check_status(weir_batch_reject(&setup.batch, "no", NULL), WEIR_LOST);
    check_status(weir_batch_ack_rest(&setup.batch, NULL), WEIR_LOST);
    check_status(weir_batch_reject_rest(&setup.batch, "no", NULL), WEIR_LOST);

    check_int(weir_batch_processed(&setup.batch), 0);
    check_int(weir_batch_left(&setup.batch), 2);
    check_int(setup.batch.rejection_count, 0);
    setup_close(&setup);
}

WEIR_TEST(batch, that_is_forgotten_has_answered_nothing)
{
    struct setup setup;

    setup_open(&setup, 3);
    take(&setup, 2);
    check_status(weir_batch_ack(&setup.batch, NULL), WEIR_OK);
    check_status(weir_batch_reject(&setup.batch, "no", NULL), WEIR_OK);

    weir_batch_forget(&setup.batch);

    check_int(weir_batch_processed(&setup.batch), 0);
    check_int(setup.batch.rejection_count, 0);
    setup_close(&setup);
}

WEIR_TEST(each, retries_with_the_text_of_an_effect_that_fails)
{
    struct effects effects = {.status = WEIR_FAILED};
    struct setup setup;

    setup_open_with(&setup, &effects, 3);

    check_int(each(&setup), WEIR_RETRY);

    check_str(setup.reason.text, "no effect");
    check_int(setup.calls, 1);
    setup_close(&setup);
}

/* ---- the rest ---------------------------------------------------------------------- */

WEIR_TEST(batch, acks_the_rest_at_once)
{
    struct setup setup;

    setup_open(&setup, 5);
    take(&setup, 2);
    check_status(weir_batch_reject(&setup.batch, "no", NULL), WEIR_OK);

    check_status(weir_batch_ack_rest(&setup.batch, NULL), WEIR_OK);

    check_int(weir_batch_processed(&setup.batch), 5);
    check_int(weir_batch_left(&setup.batch), 0);
    check_int(setup.batch.rejection_count, 1);
    setup_close(&setup);
}

WEIR_TEST(batch, rejects_the_rest_at_once)
{
    struct setup setup;

    setup_open(&setup, 4);
    take(&setup, 2);
    check_status(weir_batch_ack(&setup.batch, NULL), WEIR_OK);

    check_status(weir_batch_reject_rest(&setup.batch, "poison", NULL), WEIR_OK);

    check_int(weir_batch_processed(&setup.batch), 4);
    check_int(weir_batch_left(&setup.batch), 0);
    check_int(setup.batch.rejection_count, 3);
    for (size_t i = 0; i < 3; i++) {
        check_int(setup.batch.rejections[i].index, i + 1);
        check_str(setup.batch.rejections[i].reason, "poison");
    }
    check_status(weir_batch_reject_rest(&setup.batch, "poison", NULL), WEIR_OK);
    check_int(setup.batch.rejection_count, 3);
    setup_close(&setup);
}

/* ---- the budget -------------------------------------------------------------------- */

WEIR_TEST(batch, tells_the_time_until_its_deadline)
{
    struct setup setup;

    setup_open_until(&setup, 1, WEIR_SECONDS(10));
    check_int(weir_batch_remaining_ns(&setup.batch), WEIR_SECONDS(10));
    weir_sim_run_until(setup.sim, WEIR_SECONDS(4));
    check_int(weir_batch_remaining_ns(&setup.batch), WEIR_SECONDS(6));
    check(!weir_batch_stopped(&setup.batch));

    weir_sim_run_until(setup.sim, WEIR_SECONDS(10));
    check_int(weir_batch_remaining_ns(&setup.batch), 0);
    check(weir_batch_stopped(&setup.batch));
    weir_sim_run_until(setup.sim, WEIR_SECONDS(20));
    check_int(weir_batch_remaining_ns(&setup.batch), 0);
    setup_close(&setup);
}

WEIR_TEST(batch, has_no_time_left_when_its_deadline_is_now)
{
    struct setup setup;

    setup_open_until(&setup, 1, 0);
    check_int(weir_batch_remaining_ns(&setup.batch), 0);
    setup_close(&setup);
}

WEIR_TEST(batch, has_for_ever_without_clock_or_deadline)
{
    struct setup setup;

    setup_open(&setup, 1);
    check_int(weir_batch_remaining_ns(&setup.batch), WEIR_FOREVER);
    check(!weir_batch_stopped(&setup.batch));
    setup_close(&setup);

    setup_open_until(&setup, 1, WEIR_FOREVER);
    weir_sim_run_until(setup.sim, WEIR_HOURS(1));
    check_int(weir_batch_remaining_ns(&setup.batch), WEIR_FOREVER);
    setup_close(&setup);
}

WEIR_TEST(batch, refuses_acks_at_and_after_its_deadline)
{
    struct setup setup;

    setup_open_until(&setup, 4, WEIR_SECONDS(1));
    take(&setup, 4);
    weir_sim_run_until(setup.sim, WEIR_SECONDS(1) - 1);
    check_status(weir_batch_ack(&setup.batch, NULL), WEIR_OK);
    check(!setup.batch.expired);

    weir_sim_run_until(setup.sim, WEIR_SECONDS(1));
    check_status(weir_batch_ack(&setup.batch, &setup.error), WEIR_FENCED);
    check_str(setup.error.text, "the time for this batch is over");
    check(setup.batch.expired);
    check_status(weir_batch_ack_chunk(&setup.batch, 2, NULL), WEIR_FENCED);
    check_status(weir_batch_reject(&setup.batch, "no", NULL), WEIR_FENCED);
    check_status(weir_batch_reject_rest(&setup.batch, "no", NULL), WEIR_FENCED);
    check_status(weir_batch_ack_rest(&setup.batch, NULL), WEIR_FENCED);

    check_int(weir_batch_processed(&setup.batch), 1);
    check_int(setup.batch.rejection_count, 0);
    setup_close(&setup);
}

/* Whoever watches the lease may know before the clock does. */
WEIR_TEST(batch, refuses_acks_when_it_was_told_that_it_has_expired)
{
    struct setup setup;

    setup_open_until(&setup, 1, WEIR_SECONDS(1));
    take(&setup, 1);
    setup.batch.expired = true;

    check(weir_batch_stopped(&setup.batch));
    check_int(weir_batch_remaining_ns(&setup.batch), 0);
    check_status(weir_batch_ack(&setup.batch, NULL), WEIR_FENCED);
    check_int(weir_batch_processed(&setup.batch), 0);
    setup_close(&setup);
}

/* A stop asks to return soon; what is done by then is done. */
WEIR_TEST(batch, that_is_stopped_still_takes_acks)
{
    struct setup setup;

    setup_open_until(&setup, 1, WEIR_SECONDS(1));
    take(&setup, 1);
    setup.batch.stopped = true;

    check(weir_batch_stopped(&setup.batch));
    check_int(weir_batch_remaining_ns(&setup.batch), WEIR_SECONDS(1));
    check_status(weir_batch_ack(&setup.batch, NULL), WEIR_OK);
    setup_close(&setup);
}

/* ---- one by one -------------------------------------------------------------------- */

WEIR_TEST(each, acks_what_is_done)
{
    struct setup setup;

    setup_open(&setup, 5);

    check_int(each(&setup), WEIR_DONE);

    check_int(setup.calls, 5);
    check_int(weir_batch_processed(&setup.batch), 5);
    check_int(setup.batch.rejection_count, 0);
    check_str(setup.reason.text, "");
    setup_close(&setup);
}

WEIR_TEST(each, stops_at_a_retry_with_its_reason)
{
    struct setup setup;

    setup_open(&setup, 5);
    setup.script[2] = WEIR_RETRY;
    setup.reasons[2] = "mail server is down";

    check_int(each(&setup), WEIR_RETRY);

    check_int(setup.calls, 3);
    check_int(weir_batch_processed(&setup.batch), 2);
    check_str(setup.reason.text, "mail server is down");
    setup_close(&setup);
}

WEIR_TEST(each, gives_a_retry_without_reason_one)
{
    struct setup setup;

    setup_open(&setup, 1);
    setup.script[0] = WEIR_RETRY;

    check_int(each(&setup), WEIR_RETRY);

    check_str(setup.reason.text, "handler asked for a retry");
    setup_close(&setup);
}

WEIR_TEST(each, goes_on_after_a_reject)
{
    struct setup setup;

    setup_open(&setup, 5);
    setup.script[1] = WEIR_REJECT;
    setup.reasons[1] = "no address";

    check_int(each(&setup), WEIR_DONE);

    check_int(setup.calls, 5);
    check_int(weir_batch_processed(&setup.batch), 5);
    check_int(setup.batch.rejection_count, 1);
    check_int(setup.batch.rejections[0].index, 1);
    check_str(setup.batch.rejections[0].reason, "no address");
    check_str(setup.reason.text, "");
    setup_close(&setup);
}

WEIR_TEST(each, gives_a_reject_without_reason_one)
{
    struct setup setup;

    setup_open(&setup, 1);
    setup.script[0] = WEIR_REJECT;

    check_int(each(&setup), WEIR_DONE);

    check_str(setup.batch.rejections[0].reason, "handler rejected the message");
    setup_close(&setup);
}

/* The third call ends at the deadline: too late for its own ack. */
WEIR_TEST(each, stops_when_the_budget_is_over_and_leaves_the_rest)
{
    struct setup setup;

    setup_open_until(&setup, 5, WEIR_SECONDS(3));
    setup.takes_ns = WEIR_SECONDS(1);

    check_int(each(&setup), WEIR_DONE);

    check_int(setup.calls, 3);
    check_int(weir_batch_processed(&setup.batch), 2);
    check(setup.batch.expired);
    setup_close(&setup);
}

WEIR_TEST(each, stops_when_it_is_told_to_and_leaves_the_rest)
{
    struct setup setup;

    setup_open(&setup, 5);
    setup.stop_in = 2;

    check_int(each(&setup), WEIR_DONE);

    check_int(setup.calls, 2);
    check_int(weir_batch_processed(&setup.batch), 2);
    setup_close(&setup);
}

/* "Done" of a handler for batches covers all it did not ack; here it must not. */
WEIR_TEST(each, that_stopped_early_does_not_answer_for_the_rest)
{
    struct setup setup;

    setup_open(&setup, 5);
    setup.stop_in = 2;
    check_int(each(&setup), WEIR_DONE);

    check_status(weir_batch_ack_rest(&setup.batch, NULL), WEIR_OK);

    check_int(weir_batch_processed(&setup.batch), 2);
    setup_close(&setup);
}

WEIR_TEST(each, that_was_stopped_at_the_last_message_is_done)
{
    struct setup setup;

    setup_open(&setup, 2);
    setup.stop_in = 2;

    check_int(each(&setup), WEIR_DONE);

    check_int(weir_batch_processed(&setup.batch), 2);
    check(!setup.batch.cut_short);
    setup_close(&setup);
}

WEIR_TEST(each, takes_an_answer_that_is_none_for_a_retry)
{
    struct setup setup;

    setup_open(&setup, 2);
    setup.script[0] = (enum weir_outcome)3;

    check_int(each(&setup), WEIR_RETRY);

    check_int(setup.calls, 1);
    check_int(weir_batch_processed(&setup.batch), 0);
    check_str(setup.reason.text, "handler answered 3, which is no outcome");
    setup_close(&setup);
}

/* A dead letter that cannot be kept is not passed. */
WEIR_TEST(each, retries_when_there_is_no_memory_for_a_rejection)
{
    struct setup setup;

    setup_open(&setup, 3);
    setup.script[1] = WEIR_REJECT;
    weir_faulty_heap_fail_at(&setup.heap, 1);

    check_int(each(&setup), WEIR_RETRY);

    check_int(weir_batch_processed(&setup.batch), 1);
    check_str(setup.reason.text, "reject: out of memory");
    setup_close(&setup);
}

/* ---- memory ------------------------------------------------------------------------ */

static enum weir_status reject_some(const struct weir_heap *heap)
{
    struct weir_message messages[9] = {{.seq = 1}};
    struct weir_batch batch;
    const struct weir_message *chunk;
    enum weir_status status = WEIR_OK;
    size_t before;

    weir_batch_init(&batch, heap, NULL, messages, 9, 0);
    weir_batch_next_chunk(&batch, 6, &chunk);
    for (size_t i = 0; i < 5 && status == WEIR_OK; i++) {
        status = weir_batch_reject(&batch, "no", NULL);
        check_int(weir_batch_processed(&batch), batch.rejection_count);
    }
    before = weir_batch_processed(&batch);
    if (status == WEIR_OK) {
        status = weir_batch_reject_rest(&batch, "poison", NULL);
        check_int(weir_batch_processed(&batch), status == WEIR_OK ? 9 : before);
        check_int(batch.rejection_count, status == WEIR_OK ? 9 : before);
        check_int(weir_batch_left(&batch), status == WEIR_OK ? 0 : 3);
    }
    weir_batch_fini(&batch);
    return status;
}

WEIR_TEST(batch, survives_any_failing_allocation)
{
    check_alloc_failures(reject_some);
}
