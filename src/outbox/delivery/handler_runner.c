/*
 * handler_runner.c - calls handlers.
 *
 * As many workers as the process has permits for handlers; each takes the leased
 * partition whose turn it is, makes a batch of what waits there and calls the handler.
 * A panic is a retry. Then the worker takes the next leased partition at once: a leased
 * partition with waiting messages is never paced.
 *
 *   leased          outside of any transaction; the answer goes to the acker, by way of
 *                   the partition table
 *   transactional   inside of one (tx.h), which this worker commits together with the
 *                   answer
 *
 * A call that needs a mark (mark.h) stores it when everything else is in hand: nothing
 * is done between the mark and the call that takes time. When the call does not begin
 * after all the partition table gets to know, and the acker ends the mark.
 *
 * When such a transaction comes to nothing, that the call has failed is stored by the
 * acker, like every retry. So it is when the outcome of the commit is unknown: if it
 * was, the acker's move is refused, since the version has changed, and the leased
 * partition begins anew where the position is.
 */
#include <inttypes.h>
#include <string.h>

#include "base/fault_point.h"
#include "base/heap.h"
#include "base/log.h"
#include "base/no_memory.h"
#include "base/noun.h"
#include "base/text.h"
#include "db/db.h"
#include "outbox/delivery/batch.h"
#include "outbox/delivery/mark.h"
#include "outbox/headers.h"
#include "outbox/outbox.h"
#include "ward/executor.h"
#include "weir/audit.h"
#include "weir/subscription.h"

struct handler_runner {
    struct weir_outbox *outbox;
    struct weir_tx *tx; /* its own; NULL: there are no transactional handlers */
    struct weir_outbox_report report;
};

/* Headers of a message that cannot be read are treated as none: the handler decides. */
static void read_headers(struct weir_context *context,
                         const struct weir_buffered_message *buffered_message,
                         struct weir_message *message)
{
    struct weir_headers headers;
    size_t size = 0;
    size_t count = 0;
    void *memory;

    if (buffered_message->headers.data == NULL ||
        weir_headers_measure(buffered_message->headers, &size, &count, NULL) != WEIR_OK ||
        size == 0 || (memory = weir_context_alloc(context, size)) == NULL)
        return;
    headers = weir_headers_place(buffered_message->headers, memory, count);
    message->headers = headers.list;
    message->header_count = headers.count;
}

/* One more, if it is a replay. One of that name that the producer has given counts no
 * more. */
static void add_replay(struct weir_context *context, struct weir_message *message)
{
    size_t count = message->header_count;
    struct weir_header *headers =
        weir_context_alloc(context, (count + 1) * sizeof *headers);

    if (headers == NULL)
        return;
    message->header_count = 0;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(message->headers[i].name, WEIR_HEADER_REPLAY) != 0)
            headers[message->header_count++] = message->headers[i];
    }
    headers[message->header_count++] =
        (struct weir_header){.name = WEIR_HEADER_REPLAY, .value = "true"};
    message->headers = headers;
}

/* The messages of a call, side by side, in the memory of this execution. */
static struct weir_message *unpack(struct weir_context *context,
                                   const struct weir_call *call, struct weir_batch *batch)
{
    struct weir_message *messages =
        weir_context_alloc(context, call->count * sizeof *messages);
    const struct weir_buffered_message *buffered_message = call->first;

    if (messages == NULL)
        return NULL;
    for (size_t i = 0; i < call->count; i++) {
        messages[i] = (struct weir_message){
            .queue = call->subscriber->queue,
            .subscription = call->subscriber->subscription,
            .partition = call->partition,
            .seq = buffered_message->seq,
            .key = buffered_message->key.data,
            .type = buffered_message->type.data,
            .payload = buffered_message->payload.data,
            .payload_size = buffered_message->payload.size,
            .created_us = buffered_message->created_us,
            .attempts = call->attempts,
            .epoch = call->lease.epoch,
            .batch = batch,
        };
        memcpy(messages[i].uid, buffered_message->uid, WEIR_UID_SIZE);
        read_headers(context, buffered_message, &messages[i]);
        if (buffered_message->seq <= call->lease.replay_to)
            add_replay(context, &messages[i]);
        if (i + 1 < call->count)
            buffered_message = weir_buffered_message_next(buffered_message);
    }
    return messages;
}

struct attempt {
    const struct weir_subscriber *subscriber;
    struct weir_connection *connection; /* of a transactional handler */
    struct weir_batch *batch;
    struct weir_reason *reason;
    enum weir_outcome outcome;
    bool panicked;
};

/* A transactional handler for single messages, as one that is not. */
static enum weir_outcome call_within(struct weir_context *context, void *state,
                                     const struct weir_message *message,
                                     struct weir_reason *reason)
{
    const struct attempt *attempt = state;
    const struct weir_subscriber *subscriber = attempt->subscriber;

    return subscriber->on_message_tx(context, subscriber->state, attempt->connection,
                                     message, reason);
}

static enum weir_status call_handler(struct weir_context *context, void *argument,
                                     struct weir_error *error)
{
    struct attempt *attempt = argument;
    const struct weir_subscriber *subscriber = attempt->subscriber;
    struct weir_batch *batch = attempt->batch;
    struct weir_reason *reason = attempt->reason;

    (void)error;
    if (subscriber->on_message != NULL)
        attempt->outcome = weir_batch_each(batch, context, subscriber->on_message,
                                           subscriber->state, reason);
    else if (subscriber->on_message_tx != NULL)
        attempt->outcome = weir_batch_each(batch, context, call_within, attempt, reason);
    else if (subscriber->on_batch != NULL)
        attempt->outcome =
            subscriber->on_batch(context, subscriber->state, batch, reason);
    else
        attempt->outcome = subscriber->on_batch_tx(context, subscriber->state,
                                                   attempt->connection, batch, reason);
    return WEIR_OK;
}

/* Call it, and mend what it answers. */
static void run(struct weir_context *context, struct attempt *attempt)
{
    const struct weir_audit_actor *actor = weir_audit_actor();
    struct weir_error error;

    weir_error_clear(&error);
    attempt->panicked = weir_guard(context, call_handler, attempt, &error) != WEIR_OK;
    (void)weir_audit_act_as(actor); /* one that it has left, as by a panic */
    if (attempt->panicked)
        attempt->outcome = weir_retry(attempt->reason, "%s", error.text);
    else if ((unsigned)attempt->outcome > WEIR_REJECT)
        attempt->outcome =
            weir_retry(attempt->reason, "handler answered %d, which is no outcome",
                       (int)attempt->outcome);
    weir_reason_mend(attempt->reason, attempt->outcome);
}

/*
 * What a batch handler left over is covered by its answer. A transactional one that
 * rejects several at once may mean any of them: what it wrote for them is undone, and
 * they come again one by one.
 */
static void complete(struct attempt *attempt)
{
    const struct weir_subscriber *subscriber = attempt->subscriber;
    struct weir_batch *batch = attempt->batch;
    bool alone = subscriber->on_batch != NULL || batch->count - batch->processed == 1;
    enum weir_status status = WEIR_OK;
    struct weir_error error;

    if (subscriber->on_batch == NULL && subscriber->on_batch_tx == NULL)
        return;
    weir_error_clear(&error);
    if (attempt->outcome == WEIR_DONE)
        status = weir_batch_ack_rest(batch, &error);
    else if (attempt->outcome == WEIR_REJECT && alone)
        status = weir_batch_reject_rest(batch, attempt->reason->text, &error);
    if (status != WEIR_OK)
        attempt->outcome = weir_retry(attempt->reason, "%s", error.text);
}

/* ---- what is logged of it ---------------------------------------------------------- */

static void log_message(const struct weir_outbox *outbox, const struct attempt *attempt,
                        enum weir_log_level level, const char *event, size_t index,
                        const char *reason)
{
    const struct weir_message *message = &attempt->batch->messages[index];

    weir_log_event(outbox->logger, level, event,
                   "queue=%s subscription=%s partition=%" PRId32 " seq=%" PRId64
                   " attempts=%" PRIu32 " reason=\"%s\"",
                   message->queue, message->subscription, message->partition,
                   message->seq, message->attempts, reason);
}

/* Messages that the handler rejected, and the one that is tried again. */
static void log_answer(const struct weir_outbox *outbox, const struct attempt *attempt)
{
    const struct weir_batch *batch = attempt->batch;

    for (size_t i = 0; i < batch->rejection_count; i++)
        log_message(outbox, attempt, WEIR_LOG_WARNING, "outbox.rejected",
                    batch->rejections[i].index, batch->rejections[i].reason);
    if (attempt->outcome == WEIR_DONE || batch->processed >= batch->count)
        return;
    log_message(outbox, attempt, attempt->panicked ? WEIR_LOG_ERROR : WEIR_LOG_WARNING,
                attempt->panicked ? "outbox.handler_panicked" : "outbox.retried",
                batch->processed, attempt->reason->text);
}

/* ---- leased ------------------------------------------------------------------------ */

/* Store the mark of a call, if it needs one. On failure the call is over: *over. */
static enum weir_status mark(struct weir_outbox *outbox, struct weir_call *call,
                             bool *over, struct weir_error *error)
{
    struct weir_partition_table *partition_table = outbox->partition_table;
    struct weir_connection *connection = NULL;
    enum weir_status status;

    *over = false;
    if (!call->needs_mark)
        return WEIR_OK;
    status = weir_outbox_connect(outbox, &connection, error);
    if (status == WEIR_OK)
        status = weir_mark_store(connection, outbox->owner, &call->mark, error);
    weir_db_release(outbox->db, connection);
    if (status == WEIR_OK && !weir_partition_table_marked(partition_table, call))
        status = WEIR_FENCED;
    *over = status != WEIR_OK;
    if (status == WEIR_OK)
        (void)WEIR_POINT(outbox->points, "handler_runner.marked");
    else if (status == WEIR_FENCED)
        weir_partition_table_abandon(partition_table, call);
    else
        weir_partition_table_put_back(partition_table, call, status == WEIR_IN_DOUBT);
    if (status != WEIR_OK && status != WEIR_FENCED)
        weir_error_prefix(error, "mark a call");
    return status == WEIR_FENCED ? WEIR_OK : status;
}

/* The outbox may be gone when the handler returns at last; the partition table waits
 * for it. */
static enum weir_status deliver(struct weir_outbox *outbox, struct weir_context *context,
                                struct weir_call *call, struct weir_error *error)
{
    struct weir_partition_table *partition_table = outbox->partition_table;
    struct weir_fault_points *points = outbox->points;
    struct weir_reason reason = {""};
    struct weir_batch batch;
    struct weir_message *messages = unpack(context, call, &batch);
    struct attempt attempt = {.subscriber = call->subscriber,
                              .batch = &batch,
                              .reason = &reason,
                              .outcome = WEIR_RETRY};
    enum weir_status status = WEIR_OK;
    bool over = false;

    if (messages != NULL)
        status = mark(outbox, call, &over, error);
    if (over)
        return status;
    weir_batch_init(&batch, outbox->heap, outbox->executor, messages,
                    messages != NULL ? call->count : 0, WEIR_FOREVER);
    if (messages == NULL) {
        (void)weir_retry(&reason, "out of memory");
    } else {
        weir_partition_table_begin(partition_table, call, &batch);
        (void)WEIR_POINT(points, "handler_runner.begun");
        run(context, &attempt);
        complete(&attempt);
        log_answer(outbox, &attempt);
    }
    (void)WEIR_POINT(points, "handler_runner.answered");
    weir_partition_table_finish(partition_table, call, &batch, attempt.outcome,
                                reason.text);
    weir_batch_fini(&batch);
    return WEIR_OK;
}

/* ---- transactional ----------------------------------------------------------------- */

static enum weir_status begin_within(struct weir_outbox *outbox, struct weir_tx *tx,
                                     struct weir_call *call, struct weir_error *error)
{
    const struct weir_subscriber *subscriber = call->subscriber;
    int64_t limit_ns = subscriber->budget_ns > subscriber->lease_ns
                           ? subscriber->budget_ns
                           : subscriber->lease_ns;
    struct weir_tx_options options = {
        .db = outbox->db,
        .points = outbox->points,
        .owner = outbox->owner,
        .lease = call->lease,
        .limit_us = limit_ns / 1000,
        .mark = call->needs_mark ? &call->mark : NULL,
    };
    enum weir_status status = weir_tx_begin(tx, &options, error);

    if (!call->needs_mark || !call->mark.accepted)
        return status;
    if (!weir_partition_table_marked(outbox->partition_table, call) &&
        status == WEIR_OK) {
        weir_tx_leave(tx);
        weir_tx_end(tx);
        status = WEIR_FENCED;
    }
    if (status == WEIR_OK)
        (void)WEIR_POINT(outbox->points, "handler_runner.marked");
    return status;
}

/* An ack is refused when the time is over; other answers may come late. */
static bool is_late(const struct attempt *attempt)
{
    return attempt->batch->expired || (attempt->outcome != WEIR_DONE &&
                                       weir_batch_remaining_ns(attempt->batch) == 0);
}

/* Undo what was not kept, move the position, and commit; unless the transaction is not
 * to be. */
static enum weir_status commit_within(struct weir_partition_table *partition_table,
                                      struct weir_tx *tx, struct weir_call *call,
                                      struct attempt *attempt, struct weir_error *error)
{
    enum weir_status status = WEIR_OK;
    struct weir_ack ack;

    if (is_late(attempt))
        return weir_error_set(error, WEIR_TIMEOUT,
                              "the handler took longer than its budget");
    if (attempt->outcome != WEIR_DONE)
        status = weir_tx_undo(tx, error);
    if (status != WEIR_OK)
        return status;
    status = weir_partition_table_describe(partition_table, call, attempt->batch,
                                           attempt->outcome, attempt->reason->text, &ack);
    if (status != WEIR_OK)
        return weir_error_set(error, status, "%s", weir_status_text(status));
    return weir_tx_commit(tx, &ack, error);
}

/* It was committed. With one writer the lease was extended with it. */
static void pass_within(struct weir_outbox *outbox,
                        struct weir_partition_table *partition_table, struct weir_tx *tx,
                        struct weir_call *call, int64_t begun_ns)
{
    if (weir_tx_has_enqueued(tx))
        weir_outbox_flush(outbox);
    if (weir_db_traits(outbox->db)->one_writer)
        weir_partition_table_renewed(partition_table, call->lease.key, call->lease.epoch,
                                     begun_ns);
    weir_sweeper_note(outbox);
    weir_tx_end(tx);
    weir_partition_table_passed(partition_table, call);
}

/* The connection is back before the partition table hears of it: that may end the last
 * hold on us. */
static void conclude_within(struct weir_outbox *outbox,
                            struct weir_partition_table *partition_table,
                            struct weir_tx *tx, struct weir_call *call,
                            struct attempt *attempt, int64_t begun_ns)
{
    struct weir_error error;
    enum weir_status status;

    weir_error_clear(&error);
    status = commit_within(partition_table, tx, call, attempt, &error);
    if (status == WEIR_OK) {
        pass_within(outbox, partition_table, tx, call, begun_ns);
        return;
    }
    if (status == WEIR_FENCED) {
        (void)!weir_tx_give_up_lease(tx, &error); /* or it runs out */
        weir_tx_end(tx);
        weir_partition_table_abandon(partition_table, call);
        return;
    }
    weir_tx_end(tx);
    weir_batch_forget(attempt->batch);
    weir_partition_table_finish(partition_table, call, attempt->batch, WEIR_RETRY,
                                error.text);
}

/* The handler's part. */
static void run_within(struct weir_outbox *outbox,
                       struct weir_partition_table *partition_table, struct weir_tx *tx,
                       struct weir_context *context, struct weir_call *call,
                       struct attempt *attempt)
{
    attempt->connection = weir_tx_connection(tx);
    attempt->batch->effects = weir_tx_effects(tx);
    weir_partition_table_begin(partition_table, call, attempt->batch);
    weir_tx_enter(tx, call->deadline_ns);
    weir_tx_watchdog_note(outbox, call->deadline_ns);
    (void)WEIR_POINT(tx->options.points, "handler_runner.begun");
    run(context, attempt);
    weir_tx_leave(tx);
    complete(attempt);
    log_answer(outbox, attempt);
    (void)WEIR_POINT(tx->options.points, "handler_runner.answered");
}

static enum weir_status deliver_within(struct weir_outbox *outbox, struct weir_tx *tx,
                                       struct weir_context *context,
                                       struct weir_call *call, struct weir_error *error)
{
    struct weir_partition_table *partition_table = outbox->partition_table;
    int64_t begun_ns = weir_executor_boot_now(outbox->executor);
    struct weir_reason reason = {""};
    struct weir_batch batch;
    struct weir_message *messages = unpack(context, call, &batch);
    struct attempt attempt = {.subscriber = call->subscriber,
                              .batch = &batch,
                              .reason = &reason,
                              .outcome = WEIR_RETRY};
    enum weir_status status = WEIR_OK;

    if (messages == NULL)
        status = weir_no_memory_for(error, "%zu %s", call->count,
                                    WEIR_NOUN(call->count, "message", "messages"));
    if (status == WEIR_OK)
        status = begin_within(outbox, tx, call, error);
    if (status == WEIR_FENCED) {
        weir_partition_table_abandon(partition_table, call);
        return WEIR_OK;
    }
    if (status != WEIR_OK) {
        weir_partition_table_put_back(partition_table, call,
                                      call->mark.accepted || status == WEIR_IN_DOUBT);
        weir_error_prefix(error, "begin a transaction");
        return status;
    }
    weir_batch_init(&batch, outbox->heap, outbox->executor, messages, call->count,
                    WEIR_FOREVER);
    run_within(outbox, partition_table, tx, context, call, &attempt);
    conclude_within(outbox, partition_table, tx, call, &attempt, begun_ns);
    weir_batch_fini(&batch);
    return WEIR_OK;
}

/* ---- the worker -------------------------------------------------------------------- */

static enum weir_status take_turn(struct weir_context *context, void *state,
                                  struct weir_directive *out, struct weir_error *error)
{
    struct handler_runner *self = state;
    struct weir_outbox *outbox = self->outbox;
    enum weir_status status = WEIR_OK;
    struct weir_call call;
    int64_t wait_ns;

    self->report.messages = 0;
    if (weir_partition_table_take(outbox->partition_table, &call, &wait_ns)) {
        self->report.messages = call.count;
        if (weir_subscriber_is_transactional(call.subscriber))
            status = deliver_within(outbox, self->tx, context, &call, error);
        else
            status = deliver(outbox, context, &call, error);
        *out = weir_proceed();
    } else if (wait_ns != WEIR_FOREVER) {
        *out = weir_sleep_for(wait_ns);
    } else {
        *out = weir_idle();
    }
    *out = weir_directive_with(*out, &weir_outbox_report_type, &self->report);
    return status;
}

enum weir_status weir_handler_runners_spawn(struct weir_outbox *outbox,
                                            struct weir_error *error)
{
    enum weir_status status = WEIR_OK;

    outbox->handler_runner_states = weir_heap_zalloc_array(
        outbox->heap, outbox->options.handlers, sizeof(struct handler_runner));
    if (outbox->handler_runner_states == NULL)
        return weir_no_memory(error, "start the handlers");
    for (uint32_t i = 0; i < outbox->options.handlers && status == WEIR_OK; i++) {
        struct handler_runner *self =
            &((struct handler_runner *)outbox->handler_runner_states)[i];
        struct weir_outbox_worker_options options = {.category = "lane",
                                                     .handler_runner = true};
        char name[32];

        self->outbox = outbox;
        self->tx = outbox->transactions != NULL ? &outbox->transactions[i] : NULL;
        (void)weir_text_format(name, sizeof name, "handler-%u", i);
        weir_worker_options_init(&options.worker);
        options.worker.name = name;
        options.worker.action = take_turn;
        options.worker.state = self;
        options.worker.notifiers = &outbox->notifiers[WEIR_NOTIFY_WORK];
        options.worker.notifier_count = 1;
        options.worker.pace = weir_pace_none();
        options.worker.backoff.initial_ns = WEIR_MILLISECONDS(10);
        options.worker.backoff.max_ns = WEIR_SECONDS(2);
        status = weir_outbox_spawn(outbox, &options, error);
    }
    return status;
}
