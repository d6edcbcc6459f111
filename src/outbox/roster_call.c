/*
 * roster_call.c - what handler threads and the acker do with the roster.
 *
 * From take() to settle() the first `call_count` parcels of a lane belong to one call: nothing
 * drops or moves them, so views of them may be handed to handlers and to the database.
 */
#include <string.h>

#include "base/arith.h"
#include "base/assert.h"
#include "base/heap.h"
#include "base/text.h"
#include "outbox/lane.h"
#include "weir/executor.h"

static struct weir_lane *lane_of(struct weir_list *link)
{
    return WEIR_CONTAINER_OF(link, struct weir_lane, turn);
}

/* ---- taking ---------------------------------------------------------------------------- */

/* Retries that are due become ready. */
static void release_due(struct weir_roster *self, int64_t now_ns)
    WEIR_REQUIRES(self->lock)
{
    while (!weir_list_empty(&self->retrying) &&
           lane_of(self->retrying.next)->due_ns <= now_ns)
        weir_lane_rest(self, lane_of(self->retrying.next));
}

static bool may_run(const struct weir_lane *lane, int64_t now_ns)
{
    const struct weir_post *post = lane->post;

    return !post->paused && !post->removed && now_ns < lane->lease_end_ns &&
           (post->permits == 0 || post->running < post->permits);
}

/* The first from `link` on that may run; NULL: none. */
static struct weir_lane *first_runnable(struct weir_roster *self, struct weir_list *link,
                                        int64_t now_ns) WEIR_REQUIRES(self->lock)
{
    for (; link != &self->ready; link = link->next) {
        if (may_run(lane_of(link), now_ns))
            return lane_of(link);
    }
    return NULL;
}

static void begin_call(struct weir_roster *self, struct weir_lane *lane, int64_t now_ns,
                       struct weir_call *out) WEIR_REQUIRES(self->lock)
{
    const struct weir_post *post = lane->post;
    size_t size = weir_mode_size(&lane->mode, post->tuning.batch);

    weir_lane_move(self, lane, WEIR_LANE_RUNNING);
    lane->post->running++;
    lane->call_count = lane->count < size ? lane->count : size;
    lane->begun_ns = now_ns;
    lane->deadline_ns = weir_sat_add_i64(now_ns, post->budget_ns);
    lane->overrun = false;
    self->holds++;
    *out = (struct weir_call){
        .lane = lane,
        .post = lane->post,
        .partition = weir_pid_partition(lane->lease.key.pid),
        .attempts = lane->position.attempts + lane->lease.crashes,
        .epoch = lane->lease.epoch,
        .deadline_ns = lane->deadline_ns,
        .count = lane->call_count,
        .first = WEIR_CONTAINER_OF(lane->parcels.next, struct weir_parcel, link),
    };
}

bool weir_roster_take(struct weir_roster *self, struct weir_call *out, int64_t *wait_ns)
{
    int64_t now_ns = weir_executor_now(self->options.executor);
    struct weir_lane *lane = NULL;

    *wait_ns = WEIR_FOREVER;
    weir_lock_acquire(&self->lock);
    if (!self->closed) {
        release_due(self, now_ns);
        lane = first_runnable(self, self->ready.next, now_ns);
        if (!weir_list_empty(&self->retrying))
            *wait_ns = lane_of(self->retrying.next)->due_ns - now_ns;
    }
    if (lane != NULL) {
        begin_call(self, lane, now_ns, out);
        if (first_runnable(self, self->ready.next, now_ns) != NULL)
            weir_roster_ring(self->options.work); /* pass it on */
    }
    weir_lock_release(&self->lock);
    return lane != NULL;
}

void weir_roster_begin(struct weir_roster *self, struct weir_call *call,
                       struct weir_batch *batch)
{
    weir_lock_acquire(&self->lock);
    call->lane->batch = batch;
    if (self->closed || call->lane->lost)
        batch->stopped = true;
    weir_lock_release(&self->lock);
}

/* ---- finishing ------------------------------------------------------------------------- */

/* Views of the rejected parcels for the ack; takes the batch's list. */
static bool describe_rejections(struct weir_roster *self, struct weir_lane *lane,
                                struct weir_batch *batch, uint32_t attempts)
    WEIR_REQUIRES(self->lock)
{
    struct weir_list *link = lane->parcels.next;
    size_t index = 0;

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
}

/* The head has failed once more: store it, and when to try again. */
static void describe_retry(struct weir_roster *self, struct weir_lane *lane,
                           uint32_t attempts, const char *reason)
    WEIR_REQUIRES(self->lock)
{
    const struct weir_tuning *tuning = &lane->post->tuning;
    int64_t now_ns = weir_executor_now(self->options.executor);
    int64_t wait_ns =
        weir_mode_backoff(&lane->mode, tuning->retry_base_ns, tuning->retry_max_ns);

    lane->due_ns = weir_sat_add_i64(now_ns, wait_ns);
    lane->next.attempts = weir_sat_inc_u32(lane->processed > 0 ? 0 : attempts);
    lane->next.retry_us = weir_sat_add_i64(lane->due_ns / 1000, self->clock_offset_us);
    (void)weir_text_format(lane->error, sizeof lane->error, "%s", reason);
}

static void describe_ack(struct weir_roster *self, struct weir_lane *lane,
                         struct weir_batch *batch, enum weir_outcome outcome,
                         const char *reason) WEIR_REQUIRES(self->lock)
{
    uint32_t attempts = lane->position.attempts + lane->lease.crashes;
    size_t processed = batch->processed;

    lane->error[0] = '\0';
    if (batch->expired) {
        outcome = WEIR_RETRY;
        reason = "the handler took longer than its budget";
    } else if (outcome == WEIR_DONE && processed == 0) {
        outcome = WEIR_RETRY;
        reason = "the handler has acknowledged nothing";
    }
    if (!describe_rejections(self, lane, batch, attempts)) {
        outcome = WEIR_RETRY;
        reason = "out of memory";
        processed = 0;
    }
    weir_mode_move(&lane->mode, outcome, lane->post->tuning.batch, (int64_t)processed,
                   lane->post->tuning.degradation_threshold);
    describe_move(lane, processed);
    lane->retry = outcome == WEIR_RETRY;
    lane->clear_crashes = lane->lease.crashes > 0;
    if (lane->retry)
        describe_retry(self, lane, attempts, reason);
}

void weir_roster_finish(struct weir_roster *self, struct weir_call *call,
                        struct weir_batch *batch, enum weir_outcome outcome,
                        const char *reason)
{
    struct weir_lane *lane = call->lane;
    bool last;

    weir_lock_acquire(&self->lock);
    lane->post->running--;
    lane->batch = NULL;
    lane->overrun = false; /* it has come back: its lease may be renewed again */
    if (lane->lost) {
        self->running--;
        weir_lane_free(self, lane);
        weir_roster_ring(self->options.keeper); /* its partition may be taken again */
    } else {
        describe_ack(self, lane, batch, outcome, reason);
        weir_lane_move(self, lane, WEIR_LANE_ACKING);
    }
    if (call->post->permits != 0 && !weir_list_empty(&self->ready))
        weir_roster_ring(self->options.work); /* a permit is free */
    last = weir_roster_drop_hold(self);
    weir_lock_release(&self->lock);
    if (last)
        weir_roster_free(self);
}

/* ---- acknowledging --------------------------------------------------------------------- */

size_t weir_roster_collect(struct weir_roster *self, struct weir_ack *acks, size_t count)
{
    size_t taken = 0;

    weir_lock_acquire(&self->lock);
    while (taken < count && !weir_list_empty(&self->acking)) {
        struct weir_lane *lane = lane_of(self->acking.next);

        weir_list_remove(&lane->turn);
        lane->collected = true;
        lane->next.version = lane->position.version + 1;
        acks[taken++] = (struct weir_ack){
            .key = lane->lease.key,
            .epoch = lane->lease.epoch,
            .next = lane->next,
            .error = weir_str(lane->error),
            .clear_crashes = lane->clear_crashes,
            .rejections = lane->rejections,
            .rejection_count = lane->rejection_count,
        };
    }
    self->holds += taken > 0;
    weir_lock_release(&self->lock);
    return taken;
}

/* The lane whose ack this is: among the lanes, or lost meanwhile. */
static struct weir_lane *owner_of(struct weir_roster *self, const struct weir_ack *ack)
    WEIR_REQUIRES(self->lock)
{
    struct weir_lane *lane = weir_roster_find(self, ack->key, ack->epoch);

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

static void apply(struct weir_roster *self, struct weir_lane *lane)
    WEIR_REQUIRES(self->lock)
{
    bool retry = lane->retry;

    lane->position = lane->next;
    if (lane->clear_crashes)
        lane->lease.crashes = 0;
    weir_lane_pass(self, lane, lane->processed);
    weir_lane_forget_ack(self, lane);
    lane->processed = 0;
    lane->retry = false;
    if (retry && !lane->leaving)
        weir_lane_move(self, lane, WEIR_LANE_RETRYING);
    else
        weir_lane_rest(self, lane);
}

void weir_roster_settle(struct weir_roster *self, const struct weir_ack *acks,
                        size_t count)
{
    bool last;

    weir_lock_acquire(&self->lock);
    for (size_t i = 0; i < count; i++) {
        struct weir_lane *lane = owner_of(self, &acks[i]);

        WEIR_ASSERT(lane != NULL && lane->collected);
        lane->collected = false;
        if (lane->lost)
            weir_lane_free(self, lane);
        else if (acks[i].accepted)
            apply(self, lane);
        else {
            weir_lane_remove(self, lane); /* somebody else's by now */
            weir_roster_ring(self->options.keeper);
        }
    }
    last = count > 0 && weir_roster_drop_hold(self);
    weir_lock_release(&self->lock);
    if (last)
        weir_roster_free(self);
}

void weir_roster_uncollect(struct weir_roster *self, const struct weir_ack *acks,
                           size_t count)
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
    last = count > 0 && weir_roster_drop_hold(self);
    weir_lock_release(&self->lock);
    if (last)
        weir_roster_free(self);
}

void weir_roster_restart(struct weir_roster *self, struct weir_lease_key key,
                         int64_t epoch, const struct weir_position *position)
{
    struct weir_lane *lane;

    weir_lock_acquire(&self->lock);
    lane = weir_roster_find(self, key, epoch);
    if (lane != NULL && lane->state == WEIR_LANE_ACKING && !lane->collected) {
        if (position->version >= lane->next.version && lane->clear_crashes)
            lane->lease.crashes = 0; /* it was stored after all */
        lane->position = *position;
        weir_lane_forget_ack(self, lane);
        weir_lane_trim(self, lane, 0);
        lane->read = position->place;
        lane->seq_read = position->seq;
        lane->behind = true;
        lane->in_page[WEIR_READER_MAIN] = false;
        lane->in_page[WEIR_READER_FOLLOWER] = false;
        lane->due_ns = weir_sat_sub_i64(position->retry_us, self->clock_offset_us) * 1000;
        if (position->retry_us > 0 && !lane->leaving)
            weir_lane_move(self, lane, WEIR_LANE_RETRYING);
        else
            weir_lane_rest(self, lane);
        weir_roster_wake_readers(self);
    }
    weir_lock_release(&self->lock);
}
