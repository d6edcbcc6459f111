/*
 * caller.c - calls handlers.
 *
 * As many workers as the process has permits for handlers; each takes the lane whose turn it is,
 * makes a batch of what waits there and calls the handler outside of any transaction. A panic is
 * a retry. What the handler answers goes to the acker by way of the roster, and the worker takes
 * the next lane at once: a lane with waiting messages is never paced.
 */
#include <string.h>

#include "base/heap.h"
#include "base/point.h"
#include "base/text.h"
#include "outbox/batch.h"
#include "outbox/headers.h"
#include "outbox/outbox.h"

struct caller {
    struct weir_outbox *outbox;
    struct weir_outbox_report report;
};

/* The headers of a message that nobody can read are none: the handler decides. */
static void read_headers(struct weir_context *context, const struct weir_parcel *parcel,
                         struct weir_message *message)
{
    struct weir_headers headers;
    size_t size = 0;
    size_t count = 0;
    void *memory;

    if (parcel->headers.data == NULL ||
        weir_headers_measure(parcel->headers, &size, &count, NULL) != WEIR_OK ||
        size == 0 || (memory = weir_context_alloc(context, size)) == NULL)
        return;
    headers = weir_headers_place(parcel->headers, memory, count);
    message->headers = headers.list;
    message->header_count = headers.count;
}

/* The messages of a call, side by side, in the memory of this execution. */
static struct weir_message *unpack(struct weir_context *context,
                                   const struct weir_call *call, struct weir_batch *batch)
{
    struct weir_message *messages =
        weir_context_alloc(context, call->count * sizeof *messages);
    const struct weir_parcel *parcel = call->first;

    if (messages == NULL)
        return NULL;
    for (size_t i = 0; i < call->count; i++) {
        messages[i] = (struct weir_message){
            .queue = call->post->queue,
            .subscription = call->post->subscription,
            .partition = call->partition,
            .seq = parcel->seq,
            .key = parcel->key.data,
            .type = parcel->type.data,
            .payload = parcel->payload.data,
            .payload_size = parcel->payload.size,
            .created_us = parcel->created_us,
            .attempts = call->attempts,
            .epoch = call->epoch,
            .batch = batch,
        };
        memcpy(messages[i].uid, parcel->uid, WEIR_UID_SIZE);
        read_headers(context, parcel, &messages[i]);
        if (i + 1 < call->count)
            parcel = weir_parcel_next(parcel);
    }
    return messages;
}

struct attempt {
    const struct weir_post *post;
    struct weir_batch *batch;
    struct weir_reason *reason;
    enum weir_outcome outcome;
};

static enum weir_status call_handler(struct weir_context *context, void *argument,
                                     struct weir_error *error)
{
    struct attempt *attempt = argument;
    const struct weir_post *post = attempt->post;

    (void)error;
    if (post->on_message != NULL)
        attempt->outcome = weir_batch_each(attempt->batch, context, post->on_message,
                                           post->state, attempt->reason);
    else
        attempt->outcome =
            post->on_batch(context, post->state, attempt->batch, attempt->reason);
    return WEIR_OK;
}

/* What a batch handler left over is covered by its answer. */
static enum weir_outcome complete(const struct weir_post *post, struct weir_batch *batch,
                                  enum weir_outcome outcome, struct weir_reason *reason)
{
    if (post->on_batch == NULL)
        return outcome;
    if (outcome == WEIR_DONE)
        weir_batch_ack_rest(batch);
    if (outcome == WEIR_REJECT && weir_batch_reject_rest(batch, reason->text) != WEIR_OK)
        return weir_retry(reason, "the rejection could not be recorded");
    return outcome;
}

/* The outbox may be gone when the handler returns at last; the roster waits for it. */
static void deliver(struct weir_outbox *outbox, struct weir_context *context,
                    struct weir_call *call)
{
    struct weir_roster *roster = outbox->roster;
    struct weir_points *points = outbox->points;
    struct weir_reason reason = {""};
    struct weir_error error;
    struct weir_batch batch;
    struct weir_message *messages = unpack(context, call, &batch);
    struct attempt attempt = {
        .post = call->post, .batch = &batch, .reason = &reason, .outcome = WEIR_RETRY};

    weir_error_clear(&error);
    weir_batch_init(&batch, outbox->heap, outbox->executor, messages,
                    messages != NULL ? call->count : 0, call->deadline_ns);
    if (messages == NULL) {
        (void)weir_retry(&reason, "out of memory");
    } else {
        weir_roster_begin(roster, call, &batch);
        (void)WEIR_POINT(points, "caller.begun");
        if (weir_guard(context, call_handler, &attempt, &error) != WEIR_OK)
            attempt.outcome = weir_retry(&reason, "%s", error.text);
        weir_reason_mend(&reason, attempt.outcome);
        attempt.outcome = complete(call->post, &batch, attempt.outcome, &reason);
    }
    (void)WEIR_POINT(points, "caller.answered");
    weir_roster_finish(roster, call, &batch, attempt.outcome, reason.text);
    weir_batch_fini(&batch);
}

static enum weir_status take_turn(struct weir_context *context, void *state,
                                  struct weir_directive *out, struct weir_error *error)
{
    struct caller *self = state;
    struct weir_call call;
    int64_t wait_ns;

    (void)error;
    self->report.messages = 0;
    if (weir_roster_take(self->outbox->roster, &call, &wait_ns)) {
        self->report.messages = call.count;
        deliver(self->outbox, context, &call);
        *out = weir_proceed();
    } else if (wait_ns != WEIR_FOREVER) {
        *out = weir_sleep_for(wait_ns);
    } else {
        *out = weir_idle();
    }
    *out = weir_directive_with(*out, &weir_outbox_report_type, &self->report);
    return WEIR_OK;
}

enum weir_status weir_callers_spawn(struct weir_outbox *outbox, struct weir_error *error)
{
    enum weir_status status = WEIR_OK;

    outbox->caller_states = weir_heap_zalloc_array(outbox->heap, outbox->options.handlers,
                                                   sizeof(struct caller));
    if (outbox->caller_states == NULL)
        return weir_error_set(error, WEIR_NO_MEMORY, "start the handlers");
    for (uint32_t i = 0; i < outbox->options.handlers && status == WEIR_OK; i++) {
        struct caller *self = &((struct caller *)outbox->caller_states)[i];
        struct weir_staff_options options = {.category = "lane", .caller = true};
        char name[32];

        self->outbox = outbox;
        (void)weir_text_format(name, sizeof name, "handler-%u", i);
        weir_worker_options_init(&options.worker);
        options.worker.name = name;
        options.worker.action = take_turn;
        options.worker.state = self;
        options.worker.notifiers = &outbox->bells[WEIR_BELL_WORK];
        options.worker.notifier_count = 1;
        options.worker.pace = weir_pace_none();
        status = weir_outbox_spawn(outbox, &options, error);
    }
    return status;
}
