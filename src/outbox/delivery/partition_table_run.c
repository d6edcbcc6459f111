/*
 * partition_table_run.c - what handler threads and the acker do with the roster.
 *
 * From take() to settle() the first `call_count` parcels of a lane belong to one call: nothing
 * drops or moves them, so views of them may be handed to handlers and to the database.
 */
#include <string.h>

#include "base/arith.h"
#include "base/assert.h"
#include "base/fault_point.h"
#include "base/heap.h"
#include "base/noun.h"
#include "base/text.h"
#include "outbox/delivery/lane.h"
#include "outbox/delivery/mark.h"
#include "ward/executor.h"

static struct weir_lane *lane_of(struct weir_list *link)
{
    return WEIR_CONTAINER_OF(link, struct weir_lane, turn);
}

/* ---- giving up ------------------------------------------------------------------------- */

static bool is_too_often(const struct weir_lane *lane, uint32_t failures)
{
    return lane->subscriber->attempts_max > 0 &&
           failures >= lane->subscriber->attempts_max;
}

/* Does a failure of this call say something of the message? Not if others were with it, and not if
 * its handler was told to stop with time left: then the process ends, whatever the message. */
static bool tells_of_head(const struct weir_lane *lane, const struct weir_batch *batch)
{
    return lane->call_count == 1 && batch->processed == 0 &&
           (batch->expired || !batch->stopped);
}

/* Would one more failure of this call be one too many? */
static bool is_last_chance(const struct weir_lane *lane, const struct weir_batch *batch)
{
    return tells_of_head(lane, batch) &&
           is_too_often(lane, weir_sat_inc_u32(lane->position.alone));
}

/* Failures of the head alone, after a call that is to be retried. */
static uint32_t count_alone(const struct weir_lane *lane, const struct weir_batch *batch)
{
    if (lane->processed > 0)
        return 0;
    return tells_of_head(lane, batch) ? weir_sat_inc_u32(lane->position.alone)
                                      : lane->position.alone;
}

/* Make the batch say that its only message is rejected. False: no memory, it comes again. */
static bool reject_only(struct weir_batch *batch, const char *reason)
{
    struct weir_batch_rejection *only = weir_heap_zalloc(batch->heap, sizeof *only);

    if (only != NULL)
        only->reason = weir_heap_copy(batch->heap, reason, strlen(reason));
    if (only == NULL || only->reason == NULL) {
        weir_heap_free(batch->heap, only);
        return false;
    }
    weir_heap_free(batch->heap, batch->rejections); /* room that nobody came to use */
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

/* ---- taking ---------------------------------------------------------------------------- */

/* Retries that are due become ready. */
static void release_due(struct weir_partition_table *self, int64_t now_ns)
    WEIR_REQUIRES(self->lock)
{
    while (!weir_list_empty(&self->retrying) &&
           lane_of(self->retrying.next)->due_ns <= now_ns)
        weir_lane_rest(self, lane_of(self->retrying.next));
}

static bool may_run(const struct weir_lane *lane, int64_t boot_now_ns)
{
    const struct weir_subscriber *subscriber = lane->subscriber;

    return !weir_subscriber_is_paused(subscriber) && !subscriber->decided.removed &&
           boot_now_ns < lane->lease_end_ns &&
           (subscriber->permits == 0 || subscriber->running < subscriber->permits);
}

/* A suspect that could be called now, and whose calls alone have failed less often. */
static bool somebody_is_less_suspect(struct weir_partition_table *self,
                                     const struct weir_lane *lane, int64_t boot_now_ns)
    WEIR_REQUIRES(self->lock)
{
    WEIR_LIST_EACH(link, &self->ready)
    {
        const struct weir_lane *other = lane_of(link);

        if (other->suspect && other->position.alone < lane->position.alone &&
            may_run(other, boot_now_ns))
            return true;
    }
    return false;
}

/* One that has failed often enough gets no call, and waits for nobody. */
static bool is_its_turn(struct weir_partition_table *self, const struct weir_lane *lane,
                        int64_t boot_now_ns) WEIR_REQUIRES(self->lock)
{
    if (!lane->suspect || is_too_often(lane, lane->position.alone))
        return true;
    return self->trial == NULL && !somebody_is_less_suspect(self, lane, boot_now_ns);
}

/* The first in the order of turns that may run; NULL: none. */
static struct weir_lane *first_runnable(struct weir_partition_table *self,
                                        int64_t boot_now_ns) WEIR_REQUIRES(self->lock)
{
    WEIR_LIST_EACH(link, &self->ready)
    {
        struct weir_lane *lane = lane_of(link);

        if (may_run(lane, boot_now_ns) && is_its_turn(self, lane, boot_now_ns))
            return lane;
    }
    return NULL;
}

static const struct weir_parcel *head_of(const struct weir_lane *lane)
{
    return WEIR_CONTAINER_OF(lane->parcels.next, struct weir_parcel, link);
}

/* How many of the first `count` go into one call: none behind one that no handler may be given. */
static size_t count_flawless(const struct weir_lane *lane, size_t count)
{
    const struct weir_parcel *parcel = head_of(lane);
    size_t flawless = 1;

    while (flawless < count) {
        parcel = weir_parcel_next(parcel);
        if (parcel->flaw.data != NULL)
            break;
        flawless++;
    }
    return flawless;
}

/* Behind owners that did not release the call is told to those who come after us (mark.h). */
static void describe_mark(struct weir_partition_table *self, struct weir_lane *lane,
                          struct weir_call *out) WEIR_REQUIRES(self->lock)
{
    struct weir_position next = lane->position;

    next.epoch = lane->lease.epoch;
    next.version++;
    next.trying = weir_mark_trying(next.seq + 1,
                                   lane->suspect ? WEIR_MARK_ALONE : WEIR_MARK_BESIDE);
    out->needs_mark = true;
    out->mark = (struct weir_ack){
        .key = lane->lease.key,
        .epoch = lane->lease.epoch,
        .next = next,
        .error = weir_str(lane->error),
        .is_mark = true,
    };
    if (lane->suspect)
        self->trial = lane;
}

static void begin_call(struct weir_partition_table *self, struct weir_lane *lane,
                       int64_t now_ns, struct weir_call *out) WEIR_REQUIRES(self->lock)
{
    const struct weir_subscriber *subscriber = lane->subscriber;
    size_t size = weir_mode_size(&lane->mode, subscriber->tuning.batch);

    weir_lane_move(self, lane, WEIR_LANE_RUNNING);
    lane->subscriber->running++;
    if (lane->lease.crashes > 0 || WEIR_POINT(self->options.points, "roster.small_batch"))
        size = 1;
    lane->call_count = count_flawless(lane, lane->count < size ? lane->count : size);
    lane->begun_ns = now_ns;
    lane->mode_before = lane->mode;
    lane->deadline_ns = WEIR_FOREVER; /* until begin(): it may have to wait for a lock */
    lane->overrun = false;
    self->holds++;
    *out = (struct weir_call){
        .lane = lane,
        .subscriber = lane->subscriber,
        .partition = weir_pid_partition(lane->lease.key.pid),
        .attempts = lane->position.attempts,
        .lease = lane->lease,
        .count = lane->call_count,
        .first = head_of(lane),
    };
    if (lane->lease.crashes > 0)
        describe_mark(self, lane, out);
}

static bool describe_ack(struct weir_partition_table *self, struct weir_lane *lane,
                         struct weir_batch *batch, enum weir_outcome outcome,
                         const char *reason) WEIR_REQUIRES(self->lock);

/*
 * Reject a head that has failed often enough already: it has killed its owners, as their marks tell, or
 * the limit was lowered. False: it may run.
 */
static bool give_up_head(const struct weir_lane *lane, struct weir_batch *batch)
{
    const char *reason = lane->error[0] != '\0' ? lane->error : "the limit is lower now";

    return is_too_often(lane, lane->position.alone) &&
           give_up(batch, lane->position.attempts, reason);
}

/* A head that no handler may be given, or that has failed too often, gets no call. False: it may
 * run. */
static bool dismiss(struct weir_partition_table *self, struct weir_lane *lane)
    WEIR_REQUIRES(self->lock)
{
    struct weir_batch batch = {.heap = self->options.heap, .count = 1};
    const struct weir_parcel *head = head_of(lane);
    bool described;

    if (head->flaw.data != NULL ? !reject_only(&batch, head->flaw.data)
                                : !give_up_head(lane, &batch))
        return false;
    lane->call_count = 1;
    lane->mode_before = lane->mode;
    described = describe_ack(self, lane, &batch, WEIR_REJECT, "");
    weir_batch_fini(&batch);
    if (described)
        weir_lane_move(self, lane, WEIR_LANE_ACKING);
    return described;
}

/* The lane whose turn it is; NULL: none. */
static struct weir_lane *next_in_turn(struct weir_partition_table *self,
                                      int64_t boot_now_ns) WEIR_REQUIRES(self->lock)
{
    struct weir_lane *lane = first_runnable(self, boot_now_ns);

    while (lane != NULL && dismiss(self, lane))
        lane = first_runnable(self, boot_now_ns);
    return lane;
}

bool weir_partition_table_take(struct weir_partition_table *self, struct weir_call *out,
                               int64_t *wait_ns)
{
    int64_t now_ns = weir_executor_now(self->options.executor);
    int64_t boot_now_ns = weir_executor_boot_now(self->options.executor);
    struct weir_lane *lane = NULL;

    *wait_ns = WEIR_FOREVER;
    weir_lock_acquire(&self->lock);
    if (!self->closed) {
        release_due(self, now_ns);
        lane = next_in_turn(self, boot_now_ns);
        if (!weir_list_empty(&self->retrying))
            *wait_ns = lane_of(self->retrying.next)->due_ns - now_ns;
    }
    if (lane != NULL) {
        begin_call(self, lane, now_ns, out);
        if (first_runnable(self, boot_now_ns) != NULL)
            weir_partition_table_notify(self->options.work); /* pass it on */
    }
    weir_lock_release(&self->lock);
    return lane != NULL;
}

bool weir_partition_table_marked(struct weir_partition_table *self,
                                 struct weir_call *call)
{
    bool ours;

    weir_lock_acquire(&self->lock);
    call->lane->position = call->mark.next;
    ours = !call->lane->lost;
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
    call->lane->deadline_ns = call->deadline_ns;
    call->lane->batch = batch;
    if (self->closed || call->lane->lost)
        batch->stopped = true;
    weir_meter_add(&call->subscriber->meter, WEIR_METER_CALLS, 1);
    weir_meter_add(&call->subscriber->meter, WEIR_METER_DELIVERED, call->count);
    weir_lock_release(&self->lock);
}

/* ---- finishing ------------------------------------------------------------------------- */

/* Views of the rejected parcels for the ack; takes the batch's list. */
static bool describe_rejections(struct weir_partition_table *self, struct weir_lane *lane,
                                struct weir_batch *batch, uint32_t attempts)
    WEIR_REQUIRES(self->lock)
{
    struct weir_list *link = lane->parcels.next;
    size_t index = 0;

    lane->given_up = batch->given_up;
    if (batch->rejection_count == 0)
        return true;
    lane->rejections = weir_heap_zalloc_array(self->options.heap, batch->rejection_count,
                                              sizeof *lane->rejections);
    if (lane->rejections == NULL)
        return false;
    for (size_t i = 0; i < batch->rejection_count; i++) {
        const struct weir_parcel *parcel;

        for (; index < batch->rejections[i].index; index++)
            link = link->next;
        parcel = WEIR_CONTAINER_OF(link, struct weir_parcel, link);
        lane->rejections[i] = (struct weir_rejection){
            .seq = parcel->seq,
            .id = parcel->id,
            .uid = parcel->uid,
            .created_us = parcel->created_us,
            .key = parcel->key,
            .type = parcel->type,
            .headers = parcel->headers,
            .payload = parcel->payload,
            .attempts = attempts,
            .reason = weir_str(batch->rejections[i].reason),
        };
    }
    lane->reasons = batch->rejections;
    lane->rejection_count = batch->rejection_count;
    batch->rejections = NULL;
    batch->rejection_count = 0;
    return true;
}

/* Where the position goes when the first `processed` parcels are passed. */
static void describe_move(struct weir_lane *lane, size_t processed)
{
    struct weir_list *link = &lane->parcels;
    const struct weir_parcel *last;

    lane->next = lane->position;
    lane->next.epoch = lane->lease.epoch;
    lane->next.trying = 0;
    lane->next.retry_us = 0;
    lane->processed = processed;
    if (processed == 0)
        return;
    for (size_t i = 0; i < processed; i++)
        link = link->next;
    last = WEIR_CONTAINER_OF(link, struct weir_parcel, link);
    lane->next.place = last->place;
    lane->next.seq = last->seq;
    lane->next.attempts = 0;
    lane->next.alone = 0;
}

/* The head has failed once more: store it, and when to try again. */
static void describe_retry(struct weir_partition_table *self, struct weir_lane *lane,
                           uint32_t attempts, const char *reason)
    WEIR_REQUIRES(self->lock)
{
    const struct weir_tuning *tuning = &lane->subscriber->tuning;
    int64_t now_ns = weir_executor_now(self->options.executor);
    int64_t wait_ns =
        weir_mode_backoff(&lane->mode, tuning->retry_base_ns, tuning->retry_max_ns);

    lane->due_ns = weir_sat_add_i64(now_ns, wait_ns);
    lane->next.attempts = weir_sat_inc_u32(lane->processed > 0 ? 0 : attempts);
    lane->next.retry_us = weir_sat_add_i64(lane->due_ns / 1000, self->clock_offset_us);
    (void)weir_text_format(lane->error, sizeof lane->error, "%s", reason);
}

/* What becomes of the lane: its mode, its position, and when it goes on. */
static void describe_outcome(struct weir_partition_table *self, struct weir_lane *lane,
                             const struct weir_batch *batch, enum weir_outcome outcome,
                             int64_t processed, uint32_t attempts, const char *reason)
    WEIR_REQUIRES(self->lock)
{
    lane->error[0] = '\0';
    lane->mode = lane->mode_before; /* this may be the second description of the call */
    weir_mode_move(&lane->mode, outcome, lane->subscriber->tuning.batch, processed,
                   lane->subscriber->tuning.degradation_threshold);
    describe_move(lane, batch->processed);
    lane->retry = outcome == WEIR_RETRY;
    lane->clear_crashes = lane->lease.crashes > 0;
    if (lane->retry) {
        describe_retry(self, lane, attempts, reason);
        lane->next.alone = count_alone(lane, batch);
    } else if (batch->processed == 0) {
        lane->next.attempts = attempts; /* the head is still the same */
    }
}

/* False: out of memory, nothing is described. */
static bool describe_ack(struct weir_partition_table *self, struct weir_lane *lane,
                         struct weir_batch *batch, enum weir_outcome outcome,
                         const char *reason)
{
    uint32_t attempts = lane->position.attempts;
    bool one_by_one = outcome == WEIR_REJECT &&
                      weir_subscriber_is_transactional(lane->subscriber) &&
                      batch->processed < batch->count;

    if (outcome == WEIR_DONE && batch->processed == 0) {
        outcome = WEIR_RETRY;
        reason = "the handler has acknowledged nothing";
    }
    if (outcome == WEIR_RETRY && is_last_chance(lane, batch) &&
        give_up(batch, weir_sat_inc_u32(attempts), reason)) {
        outcome = WEIR_REJECT;
        attempts = weir_sat_inc_u32(attempts); /* this one has failed, too */
    }
    if (!describe_rejections(self, lane, batch, attempts))
        return false;
    describe_outcome(self, lane, batch, outcome,
                     one_by_one ? WEIR_PROCESSED_UNKNOWN : (int64_t)batch->processed,
                     attempts, reason);
    return true;
}

/* As if nothing had been answered: that needs no memory. */
static void describe_failure(struct weir_partition_table *self, struct weir_lane *lane,
                             struct weir_batch *batch, const char *reason)
    WEIR_REQUIRES(self->lock)
{
    weir_batch_forget(batch);
    describe_outcome(self, lane, batch, WEIR_RETRY, 0, lane->position.attempts, reason);
}

/* Nobody calls the handler of this lane any more. */
static void end_call(struct weir_partition_table *self, struct weir_lane *lane)
    WEIR_REQUIRES(self->lock)
{
    lane->subscriber->running--;
    lane->batch = NULL;
    lane->overrun = false; /* it has come back: its lease may be renewed again */
    if (lane->subscriber->permits != 0 && !weir_list_empty(&self->ready))
        weir_partition_table_notify(self->options.work); /* a permit is free */
}

/* The lane was lost while its handler ran: nobody has it now. */
static void bury(struct weir_partition_table *self, struct weir_lane *lane)
    WEIR_REQUIRES(self->lock)
{
    self->running--;
    weir_lane_free(self, lane);
    weir_partition_table_notify(
        self->options.keeper); /* its partition may be taken again */
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
    struct weir_lane *lane = call->lane;

    if (batch->expired) {
        outcome = WEIR_RETRY;
        reason = "the handler took longer than its budget";
    }
    weir_lock_acquire(&self->lock);
    end_call(self, lane);
    if (lane->lost) {
        bury(self, lane);
    } else {
        weir_lane_forget_ack(self, lane); /* of a transaction that has failed */
        if (!describe_ack(self, lane, batch, outcome, reason))
            describe_failure(self, lane, batch, "out of memory");
        weir_lane_move(self, lane, WEIR_LANE_ACKING);
    }
    let_go(self);
}

/* ---- inside of a transaction ----------------------------------------------------------- */

static struct weir_ack ack_of(struct weir_lane *lane)
{
    lane->next.version = lane->position.version + 1;
    return (struct weir_ack){
        .key = lane->lease.key,
        .epoch = lane->lease.epoch,
        .next = lane->next,
        .error = weir_str(lane->error),
        .clear_crashes = lane->clear_crashes,
        .is_mark = lane->clearing,
        .rejections = lane->rejections,
        .rejection_count = lane->rejection_count,
    };
}

enum weir_status weir_partition_table_describe(struct weir_partition_table *self,
                                               struct weir_call *call,
                                               struct weir_batch *batch,
                                               enum weir_outcome outcome,
                                               const char *reason, struct weir_ack *ack)
{
    struct weir_lane *lane = call->lane;
    enum weir_status status = WEIR_OK;

    weir_lock_acquire(&self->lock);
    if (lane->lost)
        status = WEIR_FENCED;
    else if (!describe_ack(self, lane, batch, outcome, reason))
        status = WEIR_NO_MEMORY;
    else
        *ack = ack_of(lane);
    weir_lock_release(&self->lock);
    return status;
}

/* What its ack says is stored. */
static void count_stored(const struct weir_lane *lane)
{
    struct weir_meter *meter = &lane->subscriber->meter;

    weir_meter_add(meter, WEIR_METER_ACKED, lane->processed);
    weir_meter_add(meter, WEIR_METER_REJECTED, lane->rejection_count);
    weir_meter_add(meter, WEIR_METER_GIVEN_UP, lane->given_up);
    weir_meter_add(meter, WEIR_METER_RETRIES, lane->retry);
}

/* A call of it was answered: it is as any other. */
static void trust(struct weir_lane *lane)
{
    lane->lease.crashes = 0;
    lane->suspect = false;
}

static void apply(struct weir_partition_table *self, struct weir_lane *lane)
    WEIR_REQUIRES(self->lock)
{
    bool retry = lane->retry;

    count_stored(lane);
    lane->position = lane->next;
    if (lane->clear_crashes)
        trust(lane);
    weir_lane_pass(self, lane, lane->processed);
    weir_lane_forget_ack(self, lane);
    lane->processed = 0;
    lane->retry = false;
    lane->clearing = false;
    if (retry && !lane->leaving)
        weir_lane_move(self, lane, WEIR_LANE_RETRYING);
    else
        weir_lane_rest(self, lane);
}

void weir_partition_table_passed(struct weir_partition_table *self,
                                 struct weir_call *call)
{
    weir_lock_acquire(&self->lock);
    end_call(self, call->lane);
    if (call->lane->lost)
        bury(self, call->lane);
    else
        apply(self, call->lane);
    let_go(self);
}

/* It has stored a mark, of which no call tells any more: that goes first (lane.h, I7). */
static void clear_mark(struct weir_partition_table *self, struct weir_lane *lane)
    WEIR_REQUIRES(self->lock)
{
    weir_lane_describe_clearing(lane);
    weir_lane_move(self, lane, WEIR_LANE_ACKING);
}

void weir_partition_table_put_back(struct weir_partition_table *self,
                                   struct weir_call *call, bool marked)
{
    weir_lock_acquire(&self->lock);
    end_call(self, call->lane);
    if (call->lane->lost)
        bury(self, call->lane);
    else if (marked)
        clear_mark(self, call->lane);
    else
        weir_lane_rest(self, call->lane);
    let_go(self);
}

void weir_partition_table_abandon(struct weir_partition_table *self,
                                  struct weir_call *call)
{
    weir_lock_acquire(&self->lock);
    if (!call->lane->lost) {
        weir_meter_add(&call->subscriber->meter, WEIR_METER_REFUSED, 1);
        weir_lane_remove(self, call->lane);
    }
    end_call(self, call->lane);
    bury(self, call->lane);
    let_go(self);
}

/* ---- acknowledging --------------------------------------------------------------------- */

size_t weir_partition_table_collect(struct weir_partition_table *self,
                                    struct weir_ack *acks, size_t count)
{
    size_t taken = 0;

    weir_lock_acquire(&self->lock);
    while (taken < count && !weir_list_empty(&self->acking)) {
        struct weir_lane *lane = lane_of(self->acking.next);

        if (taken > 0 && (lane->clearing || acks[0].is_mark))
            break;
        weir_list_remove(&lane->turn);
        lane->collected = true;
        acks[taken++] = ack_of(lane);
    }
    self->holds += taken > 0;
    weir_lock_release(&self->lock);
    return taken;
}

/* The lane whose ack this is: among the lanes, or lost meanwhile. */
static struct weir_lane *owner_of(struct weir_partition_table *self,
                                  const struct weir_ack *ack) WEIR_REQUIRES(self->lock)
{
    struct weir_lane *lane = weir_partition_table_find(self, ack->key, ack->epoch);

    if (lane != NULL)
        return lane;
    WEIR_LIST_EACH(link, &self->orphans)
    {
        lane = lane_of(link);
        if (lane->collected && lane->lease.key.pid == ack->key.pid &&
            lane->lease.key.subscription == ack->key.subscription &&
            lane->lease.epoch == ack->epoch)
            return lane;
    }
    return NULL;
}

void weir_partition_table_settle(struct weir_partition_table *self,
                                 const struct weir_ack *acks, size_t count)
{
    bool last;

    weir_lock_acquire(&self->lock);
    for (size_t i = 0; i < count; i++) {
        struct weir_lane *lane = owner_of(self, &acks[i]);

        WEIR_ASSERT(lane != NULL && lane->collected);
        lane->collected = false;
        if (!acks[i].accepted)
            weir_meter_add(&lane->subscriber->meter, WEIR_METER_REFUSED, 1);
        else if (lane->lost)
            count_stored(lane);
        if (lane->lost)
            weir_lane_free(self, lane);
        else if (acks[i].accepted)
            apply(self, lane);
        else {
            weir_lane_remove(self, lane); /* somebody else's by now */
            weir_partition_table_notify(self->options.keeper);
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
        struct weir_lane *lane = owner_of(self, &acks[i - 1]);

        WEIR_ASSERT(lane != NULL && lane->collected);
        lane->collected = false;
        if (lane->lost)
            weir_lane_free(self, lane);
        else
            weir_list_prepend(&self->acking, &lane->turn);
    }
    last = count > 0 && weir_partition_table_drop_hold(self);
    weir_lock_release(&self->lock);
    if (last)
        weir_partition_table_free(self);
}

void weir_partition_table_restart(struct weir_partition_table *self,
                                  struct weir_lease_key key, int64_t epoch,
                                  const struct weir_position *position)
{
    struct weir_lane *lane;

    weir_lock_acquire(&self->lock);
    lane = weir_partition_table_find(self, key, epoch);
    if (lane != NULL && lane->state == WEIR_LANE_ACKING && !lane->collected) {
        if (position->version >= lane->next.version) { /* it was stored after all */
            count_stored(lane);
            if (lane->clear_crashes)
                trust(lane);
        }
        weir_lane_adopt(self, lane, position);
        lane->clearing = false;
        weir_lane_forget_ack(self, lane);
        weir_lane_trim(self, lane, 0);
        lane->read = position->place;
        lane->seq_read = position->seq;
        lane->behind = true;
        lane->in_page[WEIR_READER_MAIN] = false;
        lane->in_page[WEIR_READER_FOLLOWER] = false;
        lane->due_ns = weir_sat_sub_i64(position->retry_us, self->clock_offset_us) * 1000;
        if (position->trying != 0 && position->epoch == epoch && !lane->leaving)
            clear_mark(self, lane);
        else if (position->retry_us > 0 && !lane->leaving)
            weir_lane_move(self, lane, WEIR_LANE_RETRYING);
        else
            weir_lane_rest(self, lane);
        weir_partition_table_wake_readers(self);
    }
    weir_lock_release(&self->lock);
}
