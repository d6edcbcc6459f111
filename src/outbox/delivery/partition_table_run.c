/*
 * partition_table_run.c - what handler threads and the acker do with the partition table.
 *
 * From take() to settle() the first `call_count` buffered messages of a leased
 * partition belong to one call: nothing drops or moves them, so views of them may be
 * handed to handlers and to the database.
 */
#include <string.h>

#include "base/arith.h"
#include "base/assert.h"
#include "base/fault_point.h"
#include "base/heap.h"
#include "base/noun.h"
#include "base/text.h"
#include "outbox/delivery/mark.h"
#include "outbox/delivery/partition_table_private.h"
#include "ward/executor.h"

/* A partition whose answers could not be stored for so long waits for that. */
#define UNSTORED_NS_MAX WEIR_MILLISECONDS(250)

static struct weir_leased_partition *leased_of(struct weir_list *link)
{
    return WEIR_CONTAINER_OF(link, struct weir_leased_partition, turn);
}

/* ---- giving up --------------------------------------------------------------------- */

static bool is_too_often(const struct weir_leased_partition *leased, uint32_t failures)
{
    return leased->subscriber->attempts_max > 0 &&
           failures >= leased->subscriber->attempts_max;
}

/* Does a failure of this call say something of the message? Not if others were with it,
 * and not if its handler was asked to stop with time left: then the process ends,
 * whatever the message. */
static bool tells_of_head(const struct weir_leased_partition *leased,
                          const struct weir_batch *batch)
{
    return leased->call_count == 1 && batch->processed == 0 &&
           (batch->expired || !batch->stopped);
}

/* Would one more failure of this call be one too many? */
static bool is_last_chance(const struct weir_leased_partition *leased,
                           const struct weir_batch *batch)
{
    return tells_of_head(leased, batch) &&
           is_too_often(leased, weir_sat_inc_u32(leased->position.alone));
}

/* Failures of the head alone, after a call that is to be retried. */
static uint32_t count_alone(const struct weir_leased_partition *leased,
                            const struct weir_batch *batch)
{
    if (leased->processed > 0)
        return 0;
    return tells_of_head(leased, batch) ? weir_sat_inc_u32(leased->position.alone)
                                        : leased->position.alone;
}

/* Make the batch say that its only message is rejected. False: no memory, it comes
 * again. */
static bool reject_only(struct weir_batch *batch, const char *reason)
{
    struct weir_batch_rejection *only = weir_heap_zalloc(batch->heap, sizeof *only);

    if (only != NULL)
        only->reason = weir_heap_copy(batch->heap, reason, strlen(reason));
    if (only == NULL || only->reason == NULL) {
        weir_heap_free(batch->heap, only);
        return false;
    }
    weir_heap_free(batch->heap, batch->rejections); /* room that was not used */
    batch->rejections = only;
    batch->rejection_count = 1;
    batch->rejection_capacity = 1;
    batch->processed = 1;
    return true;
}

static bool give_up(struct weir_batch *batch, uint32_t attempts, const char *reason)
{
    char text[WEIR_ERROR_TEXT_SIZE];

    (void)weir_text_format(text, sizeof text, "gave up after %u %s: %s", attempts,
                           WEIR_NOUN(attempts, "attempt", "attempts"), reason);
    batch->given_up = reject_only(batch, text);
    return batch->given_up;
}

/* ---- taking ------------------------------------------------------------------------ */

/* Retries that are due become ready. */
static void release_due(struct weir_partition_table *self, int64_t now_ns)
    WEIR_REQUIRES(self->lock)
{
    while (!weir_list_empty(&self->retrying) &&
           leased_of(self->retrying.next)->due_ns <= now_ns)
        weir_leased_partition_rest(self, leased_of(self->retrying.next));
}

static bool may_run(const struct weir_leased_partition *leased, int64_t boot_now_ns)
{
    const struct weir_subscriber *subscriber = leased->subscriber;

    return !weir_subscriber_is_paused(subscriber) && !subscriber->decided.removed &&
           boot_now_ns < leased->lease_end_ns &&
           (subscriber->permits == 0 || subscriber->running < subscriber->permits);
}

/* A suspect that could be called now, and whose calls alone have failed less often. */
static bool somebody_is_less_suspect(struct weir_partition_table *self,
                                     const struct weir_leased_partition *leased,
                                     int64_t boot_now_ns) WEIR_REQUIRES(self->lock)
{
    WEIR_LIST_EACH(link, &self->ready)
    {
        const struct weir_leased_partition *other = leased_of(link);

        if (other->suspect && other->position.alone < leased->position.alone &&
            may_run(other, boot_now_ns))
            return true;
    }
    return false;
}

/* One that has failed often enough gets no call, and does not wait. */
static bool is_its_turn(struct weir_partition_table *self,
                        const struct weir_leased_partition *leased, int64_t boot_now_ns)
    WEIR_REQUIRES(self->lock)
{
    if (!leased->suspect || is_too_often(leased, leased->position.alone))
        return true;
    return self->trial == NULL && !somebody_is_less_suspect(self, leased, boot_now_ns);
}

/* The first in the order of turns that may run; NULL: none. */
static struct weir_leased_partition *first_runnable(struct weir_partition_table *self,
                                                    int64_t boot_now_ns)
    WEIR_REQUIRES(self->lock)
{
    WEIR_LIST_EACH(link, &self->ready)
    {
        struct weir_leased_partition *leased = leased_of(link);

        if (may_run(leased, boot_now_ns) && is_its_turn(self, leased, boot_now_ns))
            return leased;
    }
    return NULL;
}

static const struct weir_buffered_message *
head_of(const struct weir_leased_partition *leased)
{
    return WEIR_CONTAINER_OF(leased->buffered_messages.next, struct weir_buffered_message,
                             link);
}

/* How many of the first `count` go into one call: none behind one that no handler may
 * be given. */
static size_t count_flawless(const struct weir_leased_partition *leased, size_t count)
{
    const struct weir_buffered_message *buffered_message = head_of(leased);
    size_t flawless = 1;

    while (flawless < count) {
        buffered_message = weir_buffered_message_next(buffered_message);
        if (buffered_message->flaw.data != NULL)
            break;
        flawless++;
    }
    return flawless;
}

/* Behind owners that did not release the call is recorded for the next owners
 * (mark.h). */
static void describe_mark(struct weir_partition_table *self,
                          struct weir_leased_partition *leased, struct weir_call *out)
    WEIR_REQUIRES(self->lock)
{
    struct weir_stored_position next = leased->position;

    next.epoch = leased->lease.epoch;
    next.version++;
    next.trying = weir_mark_trying(next.seq + 1,
                                   leased->suspect ? WEIR_MARK_ALONE : WEIR_MARK_BESIDE);
    out->needs_mark = true;
    out->mark = (struct weir_ack){
        .key = leased->lease.key,
        .epoch = leased->lease.epoch,
        .next = next,
        .error = weir_str(leased->error),
        .is_mark = true,
    };
    if (leased->suspect)
        self->trial = leased;
}

static void begin_call(struct weir_partition_table *self,
                       struct weir_leased_partition *leased, int64_t now_ns,
                       struct weir_call *out) WEIR_REQUIRES(self->lock)
{
    size_t size = weir_leased_partition_room(leased);

    weir_leased_partition_move(self, leased, WEIR_PARTITION_RUNNING);
    leased->subscriber->running++;
    if (size == 0 || leased->lease.crashes > 0 ||
        WEIR_POINT(self->options.points, "partition_table.small_batch"))
        size = 1;
    leased->call_count =
        count_flawless(leased, leased->count < size ? leased->count : size);
    leased->begun_ns = now_ns;
    leased->batch_sizer_before = leased->batch_sizer;
    leased->deadline_ns =
        WEIR_FOREVER; /* until begin(): it may have to wait for a lock */
    leased->overrun = false;
    self->holds++;
    *out = (struct weir_call){
        .leased = leased,
        .subscriber = leased->subscriber,
        .partition = weir_pid_partition(leased->lease.key.pid),
        .attempts = leased->position.attempts,
        .lease = leased->lease,
        .count = leased->call_count,
        .first = head_of(leased),
    };
    if (leased->lease.crashes > 0)
        describe_mark(self, leased, out);
}

static bool describe_ack(struct weir_partition_table *self,
                         struct weir_leased_partition *leased, struct weir_batch *batch,
                         enum weir_outcome outcome, const char *reason)
    WEIR_REQUIRES(self->lock);

/*
 * Reject a head that has failed often enough already: it has killed its owners, as
 * their marks tell, or the limit was lowered. False: it may run.
 */
static bool give_up_head(const struct weir_leased_partition *leased,
                         struct weir_batch *batch)
{
    const char *reason =
        leased->error[0] != '\0' ? leased->error : "the limit is lower now";

    return is_too_often(leased, leased->position.alone) &&
           give_up(batch, leased->position.attempts, reason);
}

/* A head that no handler may be given, or that has failed too often, gets no call.
 * False: it may run. */
static bool dismiss(struct weir_partition_table *self,
                    struct weir_leased_partition *leased) WEIR_REQUIRES(self->lock)
{
    struct weir_batch batch = {.heap = self->options.heap, .count = 1};
    const struct weir_buffered_message *head = head_of(leased);
    bool described;

    if (head->flaw.data != NULL ? !reject_only(&batch, head->flaw.data)
                                : !give_up_head(leased, &batch))
        return false;
    leased->call_count = 1;
    leased->batch_sizer_before = leased->batch_sizer;
    described = describe_ack(self, leased, &batch, WEIR_REJECT, "");
    weir_batch_fini(&batch);
    if (described)
        weir_leased_partition_move(self, leased, WEIR_PARTITION_ACKING);
    return described;
}

/* The leased partition whose turn it is; NULL: none. */
static struct weir_leased_partition *next_in_turn(struct weir_partition_table *self,
                                                  int64_t boot_now_ns)
    WEIR_REQUIRES(self->lock)
{
    struct weir_leased_partition *leased = first_runnable(self, boot_now_ns);

    while (leased != NULL && dismiss(self, leased))
        leased = first_runnable(self, boot_now_ns);
    return leased;
}

bool weir_partition_table_take(struct weir_partition_table *self, struct weir_call *out,
                               int64_t *wait_ns)
{
    int64_t now_ns = weir_executor_now(self->options.executor);
    int64_t boot_now_ns = weir_executor_boot_now(self->options.executor);
    struct weir_leased_partition *leased = NULL;

    *wait_ns = WEIR_FOREVER;
    weir_lock_acquire(&self->lock);
    if (!self->closed) {
        release_due(self, now_ns);
        leased = next_in_turn(self, boot_now_ns);
        if (!weir_list_empty(&self->retrying))
            *wait_ns = leased_of(self->retrying.next)->due_ns - now_ns;
    }
    if (leased != NULL) {
        begin_call(self, leased, now_ns, out);
        if (first_runnable(self, boot_now_ns) != NULL)
            weir_partition_table_notify(self->options.work); /* pass it on */
    }
    weir_lock_release(&self->lock);
    return leased != NULL;
}

bool weir_partition_table_marked(struct weir_partition_table *self,
                                 struct weir_call *call)
{
    bool ours;

    weir_lock_acquire(&self->lock);
    call->leased->position = call->mark.next;
    ours = !call->leased->lost;
    weir_lock_release(&self->lock);
    return ours;
}

void weir_partition_table_begin(struct weir_partition_table *self, struct weir_call *call,
                                struct weir_batch *batch)
{
    int64_t now_ns = weir_executor_now(self->options.executor);

    call->deadline_ns = weir_sat_add_i64(now_ns, call->subscriber->budget_ns);
    batch->deadline_ns = call->deadline_ns;
    weir_lock_acquire(&self->lock);
    call->leased->deadline_ns = call->deadline_ns;
    call->leased->batch = batch;
    if (self->closed || call->leased->lost)
        batch->stopped = true;
    weir_meter_add(&call->subscriber->meter, WEIR_METER_CALLS, 1);
    weir_meter_add(&call->subscriber->meter, WEIR_METER_DELIVERED, call->count);
    weir_lock_release(&self->lock);
}

/* ---- finishing --------------------------------------------------------------------- */

/* Views of the rejected buffered messages for the ack; takes the batch's list. */
static bool describe_rejections(struct weir_partition_table *self,
                                struct weir_leased_partition *leased,
                                struct weir_batch *batch, uint32_t attempts)
    WEIR_REQUIRES(self->lock)
{
    struct weir_list *link = leased->buffered_messages.next;
    size_t index = 0;

    leased->given_up = batch->given_up;
    if (batch->rejection_count == 0)
        return true;
    leased->rejections = weir_heap_zalloc_array(
        self->options.heap, batch->rejection_count, sizeof *leased->rejections);
    if (leased->rejections == NULL)
        return false;
    for (size_t i = 0; i < batch->rejection_count; i++) {
        const struct weir_buffered_message *buffered_message;

        for (; index < batch->rejections[i].index; index++)
            link = link->next;
        buffered_message = WEIR_CONTAINER_OF(link, struct weir_buffered_message, link);
        leased->rejections[i] = (struct weir_rejection){
            .seq = buffered_message->seq,
            .id = buffered_message->id,
            .uid = buffered_message->uid,
            .created_us = buffered_message->created_us,
            .key = buffered_message->key,
            .type = buffered_message->type,
            .headers = buffered_message->headers,
            .payload = buffered_message->payload,
            .attempts = attempts,
            .reason = weir_str(batch->rejections[i].reason),
        };
    }
    leased->reasons = batch->rejections;
    leased->rejection_count = batch->rejection_count;
    batch->rejections = NULL;
    batch->rejection_count = 0;
    return true;
}

/* Where the position goes when the first `processed` buffered messages are passed. */
static void describe_move(struct weir_leased_partition *leased, size_t processed)
{
    struct weir_list *link = &leased->buffered_messages;
    const struct weir_buffered_message *last;

    leased->next = leased->position;
    leased->next.epoch = leased->lease.epoch;
    leased->next.trying = 0;
    leased->next.retry_us = 0;
    leased->processed = processed;
    if (processed == 0)
        return;
    for (size_t i = 0; i < processed; i++)
        link = link->next;
    last = WEIR_CONTAINER_OF(link, struct weir_buffered_message, link);
    leased->next.log_position = last->log_position;
    leased->next.seq = last->seq;
    leased->next.attempts = 0;
    leased->next.alone = 0;
}

/* The head has failed once more: store it, and when to try again. */
static void describe_retry(struct weir_partition_table *self,
                           struct weir_leased_partition *leased, uint32_t attempts,
                           const char *reason) WEIR_REQUIRES(self->lock)
{
    const struct weir_tuning *tuning = &leased->subscriber->tuning;
    int64_t now_ns = weir_executor_now(self->options.executor);
    int64_t wait_ns = weir_batch_sizer_backoff(
        &leased->batch_sizer, tuning->retry_base_ns, tuning->retry_max_ns);

    leased->due_ns = weir_sat_add_i64(now_ns, wait_ns);
    leased->next.attempts = weir_sat_inc_u32(leased->processed > 0 ? 0 : attempts);
    leased->next.retry_us =
        weir_sat_add_i64(leased->due_ns / 1000, self->clock_offset_us);
    (void)weir_text_format(leased->error, sizeof leased->error, "%s", reason);
}

/* What becomes of the leased partition: its mode, its position, and when it goes on. */
static void describe_outcome(struct weir_partition_table *self,
                             struct weir_leased_partition *leased,
                             const struct weir_batch *batch, enum weir_outcome outcome,
                             int64_t processed, uint32_t attempts, const char *reason)
    WEIR_REQUIRES(self->lock)
{
    leased->error[0] = '\0';
    leased->batch_sizer =
        leased->batch_sizer_before; /* this may be the second description of the call */
    weir_batch_sizer_move(&leased->batch_sizer, outcome, leased->subscriber->tuning.batch,
                          processed, leased->subscriber->tuning.degradation_threshold);
    describe_move(leased, batch->processed);
    leased->retry = outcome == WEIR_RETRY;
    leased->clear_crashes = leased->lease.crashes > 0;
    if (leased->retry) {
        describe_retry(self, leased, attempts, reason);
        leased->next.alone = count_alone(leased, batch);
    } else if (batch->processed == 0) {
        leased->next.attempts = attempts; /* the head is still the same */
    }
}

/* False: out of memory, nothing is described. */
static bool describe_ack(struct weir_partition_table *self,
                         struct weir_leased_partition *leased, struct weir_batch *batch,
                         enum weir_outcome outcome, const char *reason)
{
    uint32_t attempts = leased->position.attempts;
    bool one_by_one = outcome == WEIR_REJECT &&
                      weir_subscriber_is_transactional(leased->subscriber) &&
                      batch->processed < batch->count;

    if (outcome == WEIR_DONE && batch->processed == 0) {
        outcome = WEIR_RETRY;
        reason = "the handler has acknowledged nothing";
    }
    if (outcome == WEIR_RETRY && is_last_chance(leased, batch) &&
        give_up(batch, weir_sat_inc_u32(attempts), reason)) {
        outcome = WEIR_REJECT;
        attempts = weir_sat_inc_u32(attempts); /* this one has failed, too */
    }
    if (!describe_rejections(self, leased, batch, attempts))
        return false;
    describe_outcome(self, leased, batch, outcome,
                     one_by_one ? WEIR_PROCESSED_UNKNOWN : (int64_t)batch->processed,
                     attempts, reason);
    return true;
}

/* As if nothing had been answered: that needs no memory. */
static void describe_failure(struct weir_partition_table *self,
                             struct weir_leased_partition *leased,
                             struct weir_batch *batch, const char *reason)
    WEIR_REQUIRES(self->lock)
{
    weir_batch_forget(batch);
    describe_outcome(self, leased, batch, WEIR_RETRY, 0, leased->position.attempts,
                     reason);
}

/* Nothing is known of the partition but that its messages are done: no failure, mark or
 * smaller batch is to be stored or ended. */
static bool goes_smoothly(const struct weir_leased_partition *leased)
{
    const struct weir_stored_position *position = &leased->position;

    return leased->processed > 0 && leased->processed == leased->call_count &&
           !leased->retry && leased->rejection_count == 0 && !leased->clear_crashes &&
           !leased->suspect && !leased->batch_sizer_before.degraded &&
           !leased->batch_sizer.degraded && position->attempts == 0 &&
           position->alone == 0 && position->retry_us == 0 && position->trying == 0;
}

/*
 * Can the next call begin before this one is stored? Not if the partition is given up,
 * nor if that is a batch by now, nor if nothing could be stored for a while: then the
 * disk is full, or another process keeps the lock.
 */
static bool may_be_deferred(const struct weir_partition_table *self,
                            const struct weir_leased_partition *leased)
    WEIR_REQUIRES(self->lock)
{
    int64_t now_ns = weir_executor_now(self->options.executor);
    bool waits = leased->deferred || leased->storing;

    return self->options.ack_pace_ns > 0 && !self->closed && !leased->leaving &&
           goes_smoothly(leased) &&
           leased->processed < weir_leased_partition_room(leased) &&
           (!waits || now_ns - leased->deferred_ns < UNSTORED_NS_MAX);
}

/* Its ack waits for others, and it goes on. */
static void defer(struct weir_partition_table *self, struct weir_leased_partition *leased)
    WEIR_REQUIRES(self->lock)
{
    leased->position = leased->next;
    leased->unstored += leased->processed;
    weir_leased_partition_pass(self, leased, leased->processed);
    leased->processed = 0;
    weir_leased_partition_defer(self, leased);
    weir_leased_partition_rest(self, leased);
}

/* The handler of this leased partition is not called any more. */
static void end_call(struct weir_partition_table *self,
                     struct weir_leased_partition *leased) WEIR_REQUIRES(self->lock)
{
    leased->subscriber->running--;
    leased->batch = NULL;
    leased->overrun = false; /* it has come back: its lease may be renewed again */
    if (leased->subscriber->permits != 0 && !weir_list_empty(&self->ready))
        weir_partition_table_notify(self->options.work); /* a permit is free */
}

/* The leased partition was lost while its handler ran: it belongs to no list now. */
static void drop_leased(struct weir_partition_table *self,
                        struct weir_leased_partition *leased) WEIR_REQUIRES(self->lock)
{
    self->running--;
    weir_leased_partition_free(self, leased);
    weir_partition_table_notify(
        self->options.lease_keeper); /* its partition may be taken again */
}

/* The end of every function that ends a call: unlocks, and gives up the call's hold. */
static void let_go(struct weir_partition_table *self) WEIR_RELEASE(self->lock)
{
    bool last = weir_partition_table_drop_hold(self);

    weir_lock_release(&self->lock);
    if (last)
        weir_partition_table_free(self);
}

void weir_partition_table_finish(struct weir_partition_table *self,
                                 struct weir_call *call, struct weir_batch *batch,
                                 enum weir_outcome outcome, const char *reason)
{
    struct weir_leased_partition *leased = call->leased;

    if (batch->expired) {
        outcome = WEIR_RETRY;
        reason = "the handler took longer than its budget";
    }
    weir_lock_acquire(&self->lock);
    end_call(self, leased);
    if (leased->lost) {
        drop_leased(self, leased);
    } else {
        weir_leased_partition_forget_ack(self,
                                         leased); /* of a transaction that has failed */
        if (!describe_ack(self, leased, batch, outcome, reason))
            describe_failure(self, leased, batch, "out of memory");
        if (may_be_deferred(self, leased))
            defer(self, leased);
        else
            weir_leased_partition_move(self, leased, WEIR_PARTITION_ACKING);
    }
    let_go(self);
}

/* ---- inside of a transaction ------------------------------------------------------- */

static struct weir_ack ack_of(struct weir_leased_partition *leased)
{
    leased->next.version = leased->position.version + 1;
    return (struct weir_ack){
        .key = leased->lease.key,
        .epoch = leased->lease.epoch,
        .next = leased->next,
        .error = weir_str(leased->error),
        .clear_crashes = leased->clear_crashes,
        .is_mark = leased->clearing,
        .rejections = leased->rejections,
        .rejection_count = leased->rejection_count,
    };
}

enum weir_status weir_partition_table_describe(struct weir_partition_table *self,
                                               struct weir_call *call,
                                               struct weir_batch *batch,
                                               enum weir_outcome outcome,
                                               const char *reason, struct weir_ack *ack)
{
    struct weir_leased_partition *leased = call->leased;
    enum weir_status status = WEIR_OK;

    weir_lock_acquire(&self->lock);
    if (leased->lost)
        status = WEIR_FENCED;
    else if (!describe_ack(self, leased, batch, outcome, reason))
        status = WEIR_NO_MEMORY;
    else
        *ack = ack_of(leased);
    weir_lock_release(&self->lock);
    return status;
}

/* What its ack says is stored. */
static void count_stored(const struct weir_leased_partition *leased)
{
    struct weir_meter *meter = &leased->subscriber->meter;

    weir_meter_add(meter, WEIR_METER_ACKED, leased->processed + leased->unstored);
    weir_meter_add(meter, WEIR_METER_REJECTED, leased->rejection_count);
    weir_meter_add(meter, WEIR_METER_GIVEN_UP, leased->given_up);
    weir_meter_add(meter, WEIR_METER_RETRIES, leased->retry);
}

/* A call of it was answered: it is as any other. */
static void trust(struct weir_leased_partition *leased)
{
    leased->lease.crashes = 0;
    leased->suspect = false;
}

static void apply(struct weir_partition_table *self, struct weir_leased_partition *leased)
    WEIR_REQUIRES(self->lock)
{
    bool retry = leased->retry;

    count_stored(leased);
    leased->position = leased->next;
    if (leased->clear_crashes)
        trust(leased);
    weir_leased_partition_pass(self, leased, leased->processed);
    weir_leased_partition_forget_ack(self, leased);
    leased->processed = 0;
    leased->unstored = 0;
    leased->retry = false;
    leased->clearing = false;
    if (retry && !leased->leaving)
        weir_leased_partition_move(self, leased, WEIR_PARTITION_RETRYING);
    else
        weir_leased_partition_rest(self, leased);
}

void weir_partition_table_passed(struct weir_partition_table *self,
                                 struct weir_call *call)
{
    weir_lock_acquire(&self->lock);
    end_call(self, call->leased);
    if (call->leased->lost)
        drop_leased(self, call->leased);
    else
        apply(self, call->leased);
    let_go(self);
}

/* It has stored a mark, of which no call tells any more: that goes first
 * (partition_table_private.h, I7). */
static void clear_mark(struct weir_partition_table *self,
                       struct weir_leased_partition *leased) WEIR_REQUIRES(self->lock)
{
    weir_leased_partition_describe_clearing(leased);
    weir_leased_partition_move(self, leased, WEIR_PARTITION_ACKING);
}

void weir_partition_table_put_back(struct weir_partition_table *self,
                                   struct weir_call *call, bool marked)
{
    weir_lock_acquire(&self->lock);
    end_call(self, call->leased);
    if (call->leased->lost)
        drop_leased(self, call->leased);
    else if (marked)
        clear_mark(self, call->leased);
    else
        weir_leased_partition_rest(self, call->leased);
    let_go(self);
}

void weir_partition_table_abandon(struct weir_partition_table *self,
                                  struct weir_call *call)
{
    weir_lock_acquire(&self->lock);
    if (!call->leased->lost) {
        weir_meter_add(&call->subscriber->meter, WEIR_METER_REFUSED, 1);
        weir_leased_partition_remove(self, call->leased);
    }
    end_call(self, call->leased);
    drop_leased(self, call->leased);
    let_go(self);
}

/* ---- acknowledging ----------------------------------------------------------------- */

/* How long deferred acks wait for others; at most 0: no longer. */
static int64_t deferred_wait(const struct weir_partition_table *self, int64_t now_ns)
    WEIR_REQUIRES(self->lock)
{
    if (weir_list_empty(&self->deferred))
        return WEIR_FOREVER;
    if (self->closed || self->hurry)
        return 0;
    return weir_sat_add_i64(self->collected_ns, self->options.ack_pace_ns) - now_ns;
}

int64_t weir_partition_table_ack_wait(struct weir_partition_table *self)
{
    int64_t wait_ns;

    weir_lock_acquire(&self->lock);
    wait_ns = deferred_wait(self, weir_executor_now(self->options.executor));
    weir_lock_release(&self->lock);
    return wait_ns > 0 ? wait_ns : 0;
}

void weir_partition_table_hurry(struct weir_partition_table *self)
{
    weir_lock_acquire(&self->lock);
    if (!weir_list_empty(&self->deferred)) {
        self->hurry = true;
        weir_partition_table_notify(self->options.acks);
    }
    weir_lock_release(&self->lock);
}

/* None of them is acking: those have left the list. */
static size_t collect_deferred(struct weir_partition_table *self, struct weir_ack *acks,
                               size_t taken, size_t count) WEIR_REQUIRES(self->lock)
{
    while (taken < count && !weir_list_empty(&self->deferred)) {
        struct weir_leased_partition *leased = WEIR_CONTAINER_OF(
            self->deferred.next, struct weir_leased_partition, deferring);

        weir_list_remove(&leased->deferring);
        leased->deferred = false;
        leased->storing = true;
        leased->unstored_taken = leased->unstored;
        leased->unstored = 0;
        acks[taken] = (struct weir_ack){.key = leased->lease.key,
                                        .epoch = leased->lease.epoch,
                                        .next = leased->position,
                                        .error = weir_str(""),
                                        .is_deferred = true};
        acks[taken++].next.version++;
    }
    self->hurry = self->hurry && !weir_list_empty(&self->deferred);
    return taken;
}

/* They were not stored, as far as is known: again, with what came since then. */
static void put_deferred_back(struct weir_partition_table *self,
                              const struct weir_ack *ack) WEIR_REQUIRES(self->lock)
{
    struct weir_leased_partition *leased =
        weir_partition_table_find(self, ack->key, ack->epoch);

    if (leased == NULL)
        return;
    WEIR_ASSERT(leased->storing);
    leased->storing = false;
    leased->unstored += leased->unstored_taken;
    leased->unstored_taken = 0;
    if (leased->state == WEIR_PARTITION_ACKING)
        return; /* its ack stores that too */
    if (!leased->deferred)
        weir_list_append(&self->deferred, &leased->deferring);
    leased->deferred = true;
    self->hurry = true; /* the backoff of the acker is the pace now */
}

/* A deferred ack is stored, unless it was refused. */
static void settle_deferred(struct weir_partition_table *self, const struct weir_ack *ack)
    WEIR_REQUIRES(self->lock)
{
    struct weir_leased_partition *leased =
        weir_partition_table_find(self, ack->key, ack->epoch);

    if (leased == NULL) /* lost meanwhile */
        return;
    if (!ack->accepted && ack->is_ours) {
        put_deferred_back(self, ack);
        return;
    }
    WEIR_ASSERT(leased->storing);
    leased->storing = false;
    if (!ack->accepted) {
        weir_meter_add(&leased->subscriber->meter, WEIR_METER_REFUSED, 1);
        weir_leased_partition_remove(self, leased); /* another process has it by now */
        weir_partition_table_notify(self->options.lease_keeper);
        return;
    }
    weir_meter_add(&leased->subscriber->meter, WEIR_METER_ACKED, leased->unstored_taken);
    leased->unstored_taken = 0;
    leased->position.version = ack->next.version;
    leased->deferred_ns = self->collected_ns; /* what came since then is no older */
}

void weir_partition_table_correct(struct weir_partition_table *self,
                                  struct weir_lease_key key, int64_t epoch,
                                  int64_t version)
{
    struct weir_leased_partition *leased;

    weir_lock_acquire(&self->lock);
    leased = weir_partition_table_find(self, key, epoch);
    if (leased != NULL)
        leased->position.version = version;
    weir_lock_release(&self->lock);
}

size_t weir_partition_table_collect(struct weir_partition_table *self,
                                    struct weir_ack *acks, size_t count)
{
    int64_t now_ns = weir_executor_now(self->options.executor);
    size_t taken = 0;

    weir_lock_acquire(&self->lock);
    while (taken < count && !weir_list_empty(&self->acking)) {
        struct weir_leased_partition *leased = leased_of(self->acking.next);

        if (taken > 0 && (leased->clearing || acks[0].is_mark))
            break;
        weir_list_remove(&leased->turn);
        leased->collected = true;
        acks[taken++] = ack_of(leased);
    }
    if (taken > 0 ? !acks[0].is_mark : deferred_wait(self, now_ns) <= 0)
        taken = collect_deferred(self, acks, taken, count);
    if (taken > 0)
        self->collected_ns = now_ns;
    self->holds += taken > 0;
    weir_lock_release(&self->lock);
    return taken;
}

/* The leased partition whose ack this is: among the leased partitions, or lost
 * meanwhile. */
static struct weir_leased_partition *owner_of(struct weir_partition_table *self,
                                              const struct weir_ack *ack)
    WEIR_REQUIRES(self->lock)
{
    struct weir_leased_partition *leased =
        weir_partition_table_find(self, ack->key, ack->epoch);

    if (leased != NULL)
        return leased;
    WEIR_LIST_EACH(link, &self->orphans)
    {
        leased = leased_of(link);
        if (leased->collected && leased->lease.key.pid == ack->key.pid &&
            leased->lease.key.subscription == ack->key.subscription &&
            leased->lease.epoch == ack->epoch)
            return leased;
    }
    return NULL;
}

void weir_partition_table_settle(struct weir_partition_table *self,
                                 const struct weir_ack *acks, size_t count)
{
    bool last;

    weir_lock_acquire(&self->lock);
    for (size_t i = 0; i < count; i++) {
        struct weir_leased_partition *leased;

        if (acks[i].is_deferred) {
            settle_deferred(self, &acks[i]);
            continue;
        }
        leased = owner_of(self, &acks[i]);
        WEIR_ASSERT(leased != NULL && leased->collected);
        leased->collected = false;
        if (!acks[i].accepted)
            weir_meter_add(&leased->subscriber->meter, WEIR_METER_REFUSED, 1);
        else if (leased->lost)
            count_stored(leased);
        if (leased->lost)
            weir_leased_partition_free(self, leased);
        else if (acks[i].accepted)
            apply(self, leased);
        else {
            /* another process has it by now */
            weir_leased_partition_remove(self, leased);
            weir_partition_table_notify(self->options.lease_keeper);
        }
    }
    last = count > 0 && weir_partition_table_drop_hold(self);
    weir_lock_release(&self->lock);
    if (last)
        weir_partition_table_free(self);
}

void weir_partition_table_uncollect(struct weir_partition_table *self,
                                    const struct weir_ack *acks, size_t count)
{
    bool last;

    weir_lock_acquire(&self->lock);
    for (size_t i = count; i > 0; i--) {
        struct weir_leased_partition *leased;

        if (acks[i - 1].is_deferred) {
            put_deferred_back(self, &acks[i - 1]);
            continue;
        }
        leased = owner_of(self, &acks[i - 1]);
        WEIR_ASSERT(leased != NULL && leased->collected);
        leased->collected = false;
        if (leased->lost)
            weir_leased_partition_free(self, leased);
        else
            weir_list_prepend(&self->acking, &leased->turn);
    }
    last = count > 0 && weir_partition_table_drop_hold(self);
    weir_lock_release(&self->lock);
    if (last)
        weir_partition_table_free(self);
}

void weir_partition_table_restart(struct weir_partition_table *self,
                                  struct weir_lease_key key, int64_t epoch,
                                  const struct weir_stored_position *position)
{
    struct weir_leased_partition *leased;

    weir_lock_acquire(&self->lock);
    leased = weir_partition_table_find(self, key, epoch);
    if (leased != NULL && leased->state == WEIR_PARTITION_ACKING && !leased->collected) {
        if (position->version >= leased->next.version) { /* it was stored after all */
            count_stored(leased);
            if (leased->clear_crashes)
                trust(leased);
        }
        weir_leased_partition_adopt(leased, position);
        leased->clearing = false;
        leased->unstored = 0; /* it comes again, if it is not stored */
        weir_leased_partition_forget_ack(self, leased);
        weir_leased_partition_trim(self, leased, 0);
        leased->read = position->log_position;
        leased->seq_read = position->seq;
        leased->behind = true;
        leased->in_page[WEIR_READER_MAIN] = false;
        leased->in_page[WEIR_READER_FOLLOWER] = false;
        leased->due_ns =
            weir_sat_sub_i64(position->retry_us, self->clock_offset_us) * 1000;
        if (position->trying != 0 && position->epoch == epoch && !leased->leaving)
            clear_mark(self, leased);
        else if (position->retry_us > 0 && !leased->leaving)
            weir_leased_partition_move(self, leased, WEIR_PARTITION_RETRYING);
        else
            weir_leased_partition_rest(self, leased);
        weir_partition_table_wake_readers(self);
    }
    weir_lock_release(&self->lock);
}
