/*
 * partition_table.c - lanes, and how they come and go. See partition_table.h and lane.h.
 */
#include "outbox/delivery/partition_table.h"

#include <string.h>

#include "base/arith.h"
#include "base/assert.h"
#include "base/fault_point.h"
#include "base/heap.h"
#include "base/text.h"
#include "outbox/delivery/lane.h"
#include "outbox/delivery/mark.h"
#include "ward/executor.h"

/* How far a drained lane may fall behind the front until its place is stored again: so many
 * cuts, or ids where there are no cuts. A restart reads from there. */
enum { DRAINED_CUTS_MAX = 1000, DRAINED_IDS_MAX = 100000 };

/* ---- life ------------------------------------------------------------------------------ */

enum weir_status
weir_partition_table_create(const struct weir_partition_table_options *options,
                            struct weir_partition_table **out)
{
    struct weir_partition_table *self = weir_heap_zalloc(options->heap, sizeof *self);

    *out = NULL;
    if (self == NULL)
        return WEIR_NO_MEMORY;
    if (weir_lock_init(&self->lock) != WEIR_OK) {
        weir_heap_free(options->heap, self);
        return WEIR_SYSTEM;
    }
    self->options = *options;
    weir_list_init(&self->ready);
    weir_list_init(&self->retrying);
    weir_list_init(&self->acking);
    weir_list_init(&self->orphans);
    self->holds = 1;
    *out = self;
    return WEIR_OK;
}

void weir_partition_table_free(struct weir_partition_table *self)
{
    const struct weir_heap *heap = self->options.heap;

    WEIR_ASSERT(self->lane_count == 0);
    weir_heap_free(heap, self->lanes);
    weir_heap_free(heap, self->pids[0]);
    weir_heap_free(heap, self->pids[1]);
    weir_heap_free(heap, self->removals[0]);
    weir_heap_free(heap, self->removals[1]);
    weir_lock_fini(&self->lock);
    weir_heap_free(heap, self);
}

bool weir_partition_table_drop_hold(struct weir_partition_table *self)
{
    return --self->holds == 0;
}

void weir_partition_table_destroy(struct weir_partition_table *self)
{
    bool last;

    if (self == NULL)
        return;
    weir_lock_acquire(&self->lock);
    self->closed = true;
    self->options.work = NULL;
    self->options.acks = NULL;
    self->options.keeper = NULL;
    self->options.room[0] = NULL;
    self->options.room[1] = NULL;
    while (self->lane_count > 0)
        weir_lane_remove(self, self->lanes[self->lane_count - 1]);
    last = weir_partition_table_drop_hold(self);
    weir_lock_release(&self->lock);
    if (last)
        weir_partition_table_free(self);
}

void weir_partition_table_close(struct weir_partition_table *self)
{
    weir_lock_acquire(&self->lock);
    self->closed = true;
    for (size_t i = 0; i < self->lane_count; i++) {
        if (self->lanes[i]->batch != NULL)
            self->lanes[i]->batch->stopped = true;
    }
    weir_lock_release(&self->lock);
}

static void add_lane(struct weir_partition_table_info *out, const struct weir_lane *lane)
{
    out->behind += lane->behind;
    out->ready += lane->state == WEIR_LANE_READY;
    out->running += lane->state == WEIR_LANE_RUNNING;
    out->acking += lane->state == WEIR_LANE_ACKING;
    out->retrying += lane->state == WEIR_LANE_RETRYING;
}

void weir_partition_table_read(struct weir_partition_table *self,
                               struct weir_partition_table_info *out)
{
    memset(out, 0, sizeof *out);
    weir_lock_acquire(&self->lock);
    out->lanes = self->lane_count;
    out->messages = self->messages;
    out->bytes = self->bytes;
    for (size_t i = 0; i < self->lane_count; i++)
        add_lane(out, self->lanes[i]);
    weir_lock_release(&self->lock);
}

void weir_partition_table_read_subscriber(struct weir_partition_table *self,
                                          const struct weir_subscriber *subscriber,
                                          struct weir_partition_table_info *out)
{
    memset(out, 0, sizeof *out);
    weir_lock_acquire(&self->lock);
    for (size_t i = 0; i < self->lane_count; i++) {
        const struct weir_lane *lane = self->lanes[i];

        if (lane->subscriber != subscriber)
            continue;
        out->lanes++;
        out->messages += lane->count;
        out->bytes += lane->bytes;
        add_lane(out, lane);
    }
    weir_lock_release(&self->lock);
}

/* ---- finding --------------------------------------------------------------------------- */

static bool comes_before(const struct weir_lane *lane, struct weir_lease_key key)
{
    if (lane->lease.key.pid != key.pid)
        return lane->lease.key.pid < key.pid;
    return lane->lease.key.subscription < key.subscription;
}

/* The first lane that does not come before `key`. */
static size_t lower_bound(const struct weir_partition_table *self,
                          struct weir_lease_key key) WEIR_REQUIRES(self->lock)
{
    size_t low = 0;
    size_t high = self->lane_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (comes_before(self->lanes[middle], key))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

size_t weir_partition_table_find_pid(const struct weir_partition_table *self, int64_t pid)
{
    return lower_bound(self,
                       (struct weir_lease_key){.subscription = INT64_MIN, .pid = pid});
}

struct weir_lane *weir_partition_table_find(const struct weir_partition_table *self,
                                            struct weir_lease_key key, int64_t epoch)
{
    size_t at = lower_bound(self, key);
    struct weir_lane *lane;

    if (at == self->lane_count)
        return NULL;
    lane = self->lanes[at];
    if (lane->lease.key.pid != key.pid ||
        lane->lease.key.subscription != key.subscription || lane->lease.epoch != epoch)
        return NULL;
    return lane;
}

/* ---- what waits in a lane -------------------------------------------------------------- */

static struct weir_parcel *parcel_of(struct weir_list *link)
{
    return WEIR_CONTAINER_OF(link, struct weir_parcel, link);
}

const struct weir_parcel *weir_parcel_next(const struct weir_parcel *parcel)
{
    return WEIR_CONTAINER_OF(parcel->link.next, struct weir_parcel, link);
}

static void drop_parcel(struct weir_partition_table *self, struct weir_lane *lane,
                        struct weir_parcel *parcel) WEIR_REQUIRES(self->lock)
{
    weir_list_remove(&parcel->link);
    lane->count--;
    lane->bytes -= parcel->size;
    self->messages--;
    self->bytes -= parcel->size;
    weir_heap_free(self->options.heap, parcel);
}

void weir_lane_pass(struct weir_partition_table *self, struct weir_lane *lane,
                    size_t count)
{
    for (size_t i = 0; i < count; i++)
        drop_parcel(self, lane, parcel_of(lane->parcels.next));
    if (count > 0)
        weir_partition_table_wake_readers(self);
}

void weir_lane_trim(struct weir_partition_table *self, struct weir_lane *lane,
                    size_t keep)
{
    if (lane->count <= keep)
        return;
    while (lane->count > keep)
        drop_parcel(self, lane, parcel_of(lane->parcels.previous));
    if (lane->count > 0) {
        lane->read = parcel_of(lane->parcels.previous)->place;
        lane->seq_read = parcel_of(lane->parcels.previous)->seq;
    } else {
        lane->read = lane->position.place;
        lane->seq_read = lane->position.seq;
    }
    lane->behind = true;
    lane->near = false;
    lane->in_page[WEIR_READER_MAIN] = false; /* what it brings would leave a gap */
    lane->in_page[WEIR_READER_FOLLOWER] = false;
    weir_partition_table_wake_readers(self);
}

void weir_partition_table_wake_readers(struct weir_partition_table *self)
{
    for (int kind = 0; kind < 2; kind++) {
        if (self->waits[kind]) {
            self->waits[kind] = false;
            weir_partition_table_notify(self->options.room[kind]);
        }
    }
}

/* ---- states ---------------------------------------------------------------------------- */

/* Behind all that are due earlier. */
static void line_up(struct weir_partition_table *self, struct weir_lane *lane)
    WEIR_REQUIRES(self->lock)
{
    struct weir_list *at = self->retrying.previous;

    while (at != &self->retrying &&
           WEIR_CONTAINER_OF(at, struct weir_lane, turn)->due_ns > lane->due_ns)
        at = at->previous;
    weir_list_prepend(at, &lane->turn);
}

/* The suspect is done with: the next one may be called. */
static void end_trial(struct weir_partition_table *self, const struct weir_lane *lane)
    WEIR_REQUIRES(self->lock)
{
    if (self->trial != lane)
        return;
    self->trial = NULL;
    if (!weir_list_empty(&self->ready))
        weir_partition_table_notify(self->options.work);
}

void weir_lane_move(struct weir_partition_table *self, struct weir_lane *lane,
                    enum weir_lane_state state)
{
    if (state != WEIR_LANE_RUNNING && state != WEIR_LANE_ACKING)
        end_trial(self, lane);
    if (lane->state == WEIR_LANE_RUNNING && state != WEIR_LANE_RUNNING)
        self->running--;
    if (lane->state != WEIR_LANE_RUNNING && state == WEIR_LANE_RUNNING)
        self->running++;
    weir_list_remove(&lane->turn);
    lane->state = state;
    switch (state) {
    case WEIR_LANE_READY:
        weir_list_append(&self->ready, &lane->turn);
        weir_partition_table_notify(self->options.work);
        break;
    case WEIR_LANE_RETRYING:
        line_up(self, lane);
        weir_partition_table_notify(
            self->options.work); /* somebody has to watch the time */
        break;
    case WEIR_LANE_ACKING:
        weir_list_append(&self->acking, &lane->turn);
        weir_partition_table_notify(self->options.acks);
        break;
    case WEIR_LANE_LEAVING:
        weir_partition_table_notify(self->options.keeper);
        break;
    case WEIR_LANE_IDLE:
    case WEIR_LANE_RUNNING:
        break;
    }
}

void weir_lane_rest(struct weir_partition_table *self, struct weir_lane *lane)
{
    if (lane->leaving)
        weir_lane_move(self, lane, WEIR_LANE_LEAVING);
    else if (lane->count > 0)
        weir_lane_move(self, lane, WEIR_LANE_READY);
    else
        weir_lane_move(self, lane, WEIR_LANE_IDLE);
}

/* ---- marks ------------------------------------------------------------------------------- */

/* A bug, for tests that must find it: every owner that died counts against the head. */
static enum weir_mark find_mark(const struct weir_partition_table *self,
                                const struct weir_lane *lane,
                                const struct weir_position *position)
{
    if (WEIR_POINT(self->options.points, "roster.count_deaths"))
        return lane->lease.crashes > 0 ? WEIR_MARK_ALONE : WEIR_MARK_NONE;
    return weir_mark_find(position, &lane->lease);
}

void weir_lane_adopt(struct weir_partition_table *self, struct weir_lane *lane,
                     const struct weir_position *position)
{
    enum weir_mark mark = find_mark(self, lane, position);

    lane->position = *position;
    lane->suspect |= mark != WEIR_MARK_NONE;
    if (mark != WEIR_MARK_ALONE)
        return;
    lane->position.attempts = weir_sat_inc_u32(position->attempts);
    lane->position.alone = weir_sat_inc_u32(position->alone);
    (void)weir_text_format(lane->error, sizeof lane->error, "%s", WEIR_MARK_DEATH);
}

void weir_lane_describe_clearing(struct weir_lane *lane)
{
    lane->next = lane->position;
    lane->next.epoch = lane->lease.epoch;
    lane->next.trying = 0;
    lane->processed = 0;
    lane->retry = false;
    lane->clear_crashes = false;
    lane->clearing = true;
}

static bool has_mark(const struct weir_lane *lane)
{
    return lane->suspect ||
           (lane->position.trying != 0 && lane->position.epoch == lane->lease.epoch);
}

/* ---- coming and going ------------------------------------------------------------------ */

void weir_lane_forget_ack(struct weir_partition_table *self, struct weir_lane *lane)
{
    for (size_t i = 0; i < lane->rejection_count; i++)
        weir_heap_free(self->options.heap, lane->reasons[i].reason);
    weir_heap_free(self->options.heap, lane->reasons);
    weir_heap_free(self->options.heap, lane->rejections);
    lane->reasons = NULL;
    lane->rejections = NULL;
    lane->rejection_count = 0;
    lane->given_up = false;
}

void weir_lane_free(struct weir_partition_table *self, struct weir_lane *lane)
{
    weir_list_remove(&lane->turn);
    weir_lane_pass(self, lane, lane->count);
    weir_lane_forget_ack(self, lane);
    weir_heap_free(self->options.heap, lane);
}

void weir_lane_remove(struct weir_partition_table *self, struct weir_lane *lane)
{
    size_t at = lower_bound(self, lane->lease.key);

    WEIR_ASSERT(at < self->lane_count && self->lanes[at] == lane);
    self->lane_count--;
    memmove(&self->lanes[at], &self->lanes[at + 1],
            (self->lane_count - at) * sizeof(struct weir_lane *));
    lane->subscriber->lanes--;
    lane->lost = true;
    if (lane->batch != NULL)
        lane->batch->stopped = true;
    end_trial(self, lane);
    weir_list_remove(&lane->turn);
    if (lane->state == WEIR_LANE_RUNNING || lane->collected) {
        weir_lane_trim(self, lane, lane->call_count); /* the rest is for somebody else */
        weir_list_append(&self->orphans, &lane->turn);
    } else
        weir_lane_free(self, lane);
    weir_partition_table_wake_readers(self);
}

static bool make_room(struct weir_partition_table *self) WEIR_REQUIRES(self->lock)
{
    size_t capacity = self->lane_capacity == 0 ? 16 : self->lane_capacity * 2;
    struct weir_lane **lanes;

    if (self->lane_count < self->lane_capacity)
        return true;
    lanes = weir_heap_resize(self->options.heap, self->lanes, capacity * sizeof *lanes);
    if (lanes == NULL)
        return false;
    self->lanes = lanes;
    self->lane_capacity = capacity;
    return true;
}

static void insert_lane(struct weir_partition_table *self, struct weir_lane *lane)
    WEIR_REQUIRES(self->lock)
{
    size_t at = lower_bound(self, lane->lease.key);

    WEIR_ASSERT(at == self->lane_count ||
                comes_before(lane, self->lanes[at]->lease.key)); /* one of each key */
    memmove(&self->lanes[at + 1], &self->lanes[at],
            (self->lane_count - at) * sizeof(struct weir_lane *));
    self->lanes[at] = lane;
    self->lane_count++;
    lane->subscriber->lanes++;
}

enum weir_status weir_partition_table_admit(struct weir_partition_table *self,
                                            struct weir_subscriber *subscriber,
                                            const struct weir_lease *lease,
                                            const struct weir_position *position,
                                            int64_t retry_in_ns, int64_t taken_ns)
{
    int64_t now_ns = weir_executor_now(self->options.executor);
    struct weir_lane *lane = weir_heap_zalloc(self->options.heap, sizeof *lane);
    enum weir_status status = WEIR_OK;

    if (lane == NULL)
        return WEIR_NO_MEMORY;
    lane->subscriber = subscriber;
    lane->lease = *lease;
    lane->taken_ns = taken_ns;
    lane->lease_end_ns = weir_sat_add_i64(taken_ns, subscriber->lease_ns);
    lane->read = position->place;
    lane->seq_read = position->seq;
    lane->behind = true;
    weir_list_init(&lane->turn);
    weir_list_init(&lane->parcels);
    weir_mode_init(&lane->mode);
    if (lease->crashes > 0)
        weir_mode_corner(&lane->mode);

    weir_lock_acquire(&self->lock);
    weir_lane_adopt(self, lane, position);
    if (!make_room(self)) {
        status = WEIR_NO_MEMORY;
        weir_heap_free(self->options.heap, lane);
    } else {
        insert_lane(self, lane);
        weir_meter_add(&subscriber->meter, WEIR_METER_TAKEN, 1);
        if (retry_in_ns > 0) {
            lane->due_ns = weir_sat_add_i64(now_ns, retry_in_ns);
            weir_lane_move(self, lane, WEIR_LANE_RETRYING);
        }
        weir_partition_table_wake_readers(self);
    }
    weir_lock_release(&self->lock);
    return status;
}

void weir_lane_lose(struct weir_partition_table *self, struct weir_lane *lane)
{
    weir_meter_add(&lane->subscriber->meter, WEIR_METER_LOST, 1);
    weir_lane_remove(self, lane);
}

void weir_partition_table_lose(struct weir_partition_table *self,
                               struct weir_lease_key key, int64_t epoch)
{
    struct weir_lane *lane;

    weir_lock_acquire(&self->lock);
    lane = weir_partition_table_find(self, key, epoch);
    if (lane != NULL)
        weir_lane_lose(self, lane);
    weir_lock_release(&self->lock);
}

size_t weir_partition_table_lose_all(struct weir_partition_table *self)
{
    size_t lost;

    weir_lock_acquire(&self->lock);
    for (lost = 0; self->lane_count > 0; lost++)
        weir_lane_lose(self, self->lanes[self->lane_count - 1]);
    weir_lock_release(&self->lock);
    return lost;
}

/* Is its call over its budget? Then its handler hears of it, and its lease ends by itself. */
static bool overruns(struct weir_lane *lane, int64_t now_ns)
{
    if (lane->state == WEIR_LANE_RUNNING && now_ns >= lane->deadline_ns) {
        lane->overrun = true;
        if (lane->batch != NULL)
            lane->batch->expired = true;
    }
    return lane->overrun;
}

size_t weir_partition_table_leases(struct weir_partition_table *self,
                                   const struct weir_subscriber *subscriber,
                                   struct weir_lease *out, size_t count)
{
    int64_t now_ns = weir_executor_now(self->options.executor);
    int64_t boot_now_ns = weir_executor_boot_now(self->options.executor);
    size_t found = 0;

    weir_lock_acquire(&self->lock);
    for (size_t i = self->lane_count; i > 0; i--) {
        struct weir_lane *lane = self->lanes[i - 1];

        if (overruns(lane, now_ns)) {
            if (boot_now_ns >= lane->lease_end_ns)
                weir_lane_lose(self, lane); /* by now it may be somebody else's */
            continue;
        }
        if (subscriber != NULL && lane->subscriber != subscriber)
            continue;
        if (found < count)
            out[found] = lane->lease;
        found++;
    }
    weir_lock_release(&self->lock);
    return found;
}

void weir_partition_table_renewed(struct weir_partition_table *self,
                                  struct weir_lease_key key, int64_t epoch,
                                  int64_t renewed_ns)
{
    int64_t boot_now_ns = weir_executor_boot_now(self->options.executor);
    struct weir_lane *lane;

    weir_lock_acquire(&self->lock);
    lane = weir_partition_table_find(self, key, epoch);
    if (lane != NULL) {
        if (lane->state == WEIR_LANE_READY && lane->lease_end_ns <= boot_now_ns)
            weir_partition_table_notify(
                self->options.work); /* callers have passed it over */
        lane->lease_end_ns = weir_sat_add_i64(renewed_ns, lane->subscriber->lease_ns);
    }
    weir_lock_release(&self->lock);
}

static void send_off(struct weir_partition_table *self, struct weir_lane *lane)
    WEIR_REQUIRES(self->lock)
{
    lane->leaving = true;
    if (lane->state != WEIR_LANE_RUNNING && lane->state != WEIR_LANE_ACKING)
        weir_lane_move(self, lane, WEIR_LANE_LEAVING);
}

/*
 * Does a go rather than b? Suspects last: with the release of their lease nobody suspects them any
 * more. First those that nothing waits for, then those between two calls: of
 * these the one held for longest, so that what was taken because nobody else could is kept. Of
 * those in a call the one that began last: a call that has lasted for long may hang, and nobody
 * would get anything until it ends.
 */
static bool goes_before(const struct weir_lane *a, const struct weir_lane *b)
{
    bool a_runs = a->state == WEIR_LANE_RUNNING;
    bool b_runs = b->state == WEIR_LANE_RUNNING;
    bool a_rests = a->state == WEIR_LANE_IDLE;
    bool b_rests = b->state == WEIR_LANE_IDLE;

    if (a->suspect != b->suspect)
        return b->suspect;
    if (a_runs != b_runs)
        return b_runs;
    if (a_rests != b_rests)
        return a_rests;
    if (a_runs && a->deadline_ns != b->deadline_ns)
        return a->deadline_ns > b->deadline_ns;
    return a->taken_ns < b->taken_ns;
}

static struct weir_lane *first_to_go(const struct weir_partition_table *self,
                                     const struct weir_subscriber *subscriber)
    WEIR_REQUIRES(self->lock)
{
    struct weir_lane *first = NULL;

    for (size_t i = 0; i < self->lane_count; i++) {
        struct weir_lane *lane = self->lanes[i];

        if (lane->subscriber == subscriber && !lane->leaving &&
            (first == NULL || goes_before(lane, first)))
            first = lane;
    }
    return first;
}

void weir_partition_table_give_up_excess(struct weir_partition_table *self,
                                         struct weir_subscriber *subscriber, size_t count)
{
    weir_lock_acquire(&self->lock);
    for (; count > 0; count--) {
        struct weir_lane *lane = first_to_go(self, subscriber);

        if (lane == NULL)
            break;
        send_off(self, lane);
    }
    weir_lock_release(&self->lock);
}

/* The place to store when nothing waits: the next owner begins there. */
static void describe_drained(const struct weir_lane *lane, struct weir_ack *ack)
{
    *ack = (struct weir_ack){
        .key = lane->lease.key,
        .epoch = lane->lease.epoch,
        .next = lane->position,
    };
    ack->next.place = lane->read;
    ack->next.version = lane->position.version + 1;
}

/* Nobody called it: its mark, or that of an owner before us, ends with our lease. */
static void describe_unmarked(struct weir_lane *lane, struct weir_ack *ack)
{
    weir_lane_describe_clearing(lane);
    lane->next.version = lane->position.version + 1;
    *ack = (struct weir_ack){
        .key = lane->lease.key,
        .epoch = lane->lease.epoch,
        .next = lane->next,
        .error = weir_str(lane->error[0] != '\0' ? WEIR_MARK_DEATH : ""),
        .is_mark = true,
    };
}

static bool is_drained(const struct weir_lane *lane)
{
    return lane->count == 0 && !lane->behind && lane->position.attempts == 0 &&
           weir_place_before(lane->position.place, lane->read);
}

size_t weir_partition_table_take_leaving(struct weir_partition_table *self, bool all,
                                         struct weir_lease *out, struct weir_ack *acks,
                                         size_t count)
{
    size_t taken = 0;

    weir_lock_acquire(&self->lock);
    for (size_t i = self->lane_count; i > 0 && taken < count; i--) {
        struct weir_lane *lane = self->lanes[i - 1];
        bool at_work =
            lane->state == WEIR_LANE_RUNNING || lane->state == WEIR_LANE_ACKING;

        if (lane->state != WEIR_LANE_LEAVING && (!all || at_work))
            continue;
        out[taken] = lane->lease;
        memset(&acks[taken], 0, sizeof acks[taken]);
        if (has_mark(lane))
            describe_unmarked(lane, &acks[taken]);
        else if (is_drained(lane))
            describe_drained(lane, &acks[taken]);
        taken++;
        weir_lane_remove(self, lane);
    }
    weir_lock_release(&self->lock);
    return taken;
}

static bool is_orphan(struct weir_partition_table *self, struct weir_lease_key key,
                      int64_t epoch) WEIR_REQUIRES(self->lock)
{
    WEIR_LIST_EACH(link, &self->orphans)
    {
        const struct weir_lease *lease =
            &WEIR_CONTAINER_OF(link, struct weir_lane, turn)->lease;

        if (lease->key.pid == key.pid && lease->key.subscription == key.subscription &&
            lease->epoch == epoch)
            return true;
    }
    return false;
}

bool weir_partition_table_knows(struct weir_partition_table *self,
                                struct weir_lease_key key, int64_t epoch)
{
    bool known;

    weir_lock_acquire(&self->lock);
    known = weir_partition_table_find(self, key, epoch) != NULL ||
            is_orphan(self, key, epoch);
    weir_lock_release(&self->lock);
    return known;
}

size_t weir_partition_table_occupied(struct weir_partition_table *self,
                                     int64_t subscription, int64_t *out, size_t count)
{
    size_t found = 0;

    weir_lock_acquire(&self->lock);
    for (size_t i = 0; i < self->lane_count && found < count; i++) {
        if (self->lanes[i]->lease.key.subscription == subscription)
            out[found++] = self->lanes[i]->lease.key.pid;
    }
    WEIR_LIST_EACH(link, &self->orphans)
    {
        const struct weir_lane *lane = WEIR_CONTAINER_OF(link, struct weir_lane, turn);

        if (lane->lease.key.subscription == subscription && found < count)
            out[found++] = lane->lease.key.pid;
    }
    weir_lock_release(&self->lock);
    return found;
}

static void set_state(struct weir_partition_table *self,
                      struct weir_subscriber *subscriber,
                      struct weir_subscriber_state state) WEIR_REQUIRES(self->lock)
{
    bool was_paused = weir_subscriber_is_paused(subscriber);

    subscriber->decided = state;
    if (was_paused && !weir_subscriber_is_paused(subscriber)) {
        weir_partition_table_notify(self->options.work);
        weir_partition_table_wake_readers(self);
    }
}

bool weir_partition_table_set_subscriber(struct weir_partition_table *self,
                                         struct weir_subscriber *subscriber,
                                         struct weir_subscriber_state state)
{
    bool was_removed;

    weir_lock_acquire(&self->lock);
    was_removed = subscriber->decided.removed;
    set_state(self, subscriber, state);
    weir_lock_release(&self->lock);
    return was_removed;
}

void weir_partition_table_pause_queue(struct weir_partition_table *self,
                                      struct weir_subscriber *subscriber, bool paused)
{
    struct weir_subscriber_state state;

    weir_lock_acquire(&self->lock);
    state = subscriber->decided;
    state.queue_paused = paused;
    set_state(self, subscriber, state);
    weir_lock_release(&self->lock);
}

void weir_partition_table_pause_subscriber(struct weir_partition_table *self,
                                           struct weir_subscriber *subscriber,
                                           bool paused)
{
    struct weir_subscriber_state state;

    weir_lock_acquire(&self->lock);
    state = subscriber->decided;
    state.paused = paused;
    set_state(self, subscriber, state);
    weir_lock_release(&self->lock);
}

void weir_partition_table_set_attempts_max(struct weir_partition_table *self,
                                           struct weir_subscriber *subscriber,
                                           uint32_t attempts_max)
{
    weir_lock_acquire(&self->lock);
    subscriber->attempts_max = attempts_max;
    weir_lock_release(&self->lock);
}

void weir_partition_table_set_clock(struct weir_partition_table *self, int64_t offset_us)
{
    weir_lock_acquire(&self->lock);
    self->clock_offset_us = offset_us;
    weir_lock_release(&self->lock);
}

uint32_t weir_partition_table_count_leased(struct weir_partition_table *self,
                                           const struct weir_subscriber *subscriber)
{
    uint32_t lanes = 0;

    weir_lock_acquire(&self->lock);
    for (size_t i = 0; i < self->lane_count; i++)
        lanes += self->lanes[i]->subscriber == subscriber && !self->lanes[i]->leaving;
    weir_lock_release(&self->lock);
    return lanes;
}

size_t weir_partition_table_take_forgiven(struct weir_partition_table *self,
                                          struct weir_lease *out, size_t count)
{
    size_t taken = 0;

    weir_lock_acquire(&self->lock);
    for (size_t i = 0; i < self->lane_count && taken < count; i++) {
        if (self->lanes[i]->forgiven) {
            self->lanes[i]->forgiven = false;
            out[taken++] = self->lanes[i]->lease;
        }
    }
    weir_lock_release(&self->lock);
    return taken;
}

/* When its call's budget is over, or its lease if it is already: by the clock that timers go by. */
static int64_t deadline_of(const struct weir_lane *lane, int64_t now_ns,
                           int64_t boot_now_ns)
{
    if (!lane->overrun)
        return lane->deadline_ns;
    return weir_sat_add_i64(now_ns, lane->lease_end_ns - boot_now_ns);
}

int64_t weir_partition_table_next_deadline(struct weir_partition_table *self)
{
    int64_t now_ns = weir_executor_now(self->options.executor);
    int64_t boot_now_ns = weir_executor_boot_now(self->options.executor);
    int64_t next_ns = WEIR_FOREVER;

    weir_lock_acquire(&self->lock);
    for (size_t i = 0; i < self->lane_count; i++) {
        const struct weir_lane *lane = self->lanes[i];

        if (lane->state == WEIR_LANE_RUNNING &&
            deadline_of(lane, now_ns, boot_now_ns) < next_ns)
            next_ns = deadline_of(lane, now_ns, boot_now_ns);
    }
    weir_lock_release(&self->lock);
    return next_ns;
}

static bool lags(const struct weir_lane *lane)
{
    struct weir_place stored = lane->position.place;

    if (lane->read.cut != stored.cut)
        return lane->read.cut - stored.cut >= DRAINED_CUTS_MAX;
    return lane->read.id - stored.id >= DRAINED_IDS_MAX;
}

void weir_partition_table_store_drained(struct weir_partition_table *self)
{
    weir_lock_acquire(&self->lock);
    for (size_t i = 0; i < self->lane_count; i++) {
        struct weir_lane *lane = self->lanes[i];

        if (lane->state != WEIR_LANE_IDLE || !is_drained(lane) || !lags(lane))
            continue;
        lane->next = lane->position;
        lane->next.epoch = lane->lease.epoch;
        lane->next.trying = 0;
        lane->next.place = lane->read;
        lane->processed = 0;
        lane->retry = false;
        lane->clear_crashes = false;
        lane->error[0] = '\0';
        weir_lane_move(self, lane, WEIR_LANE_ACKING);
    }
    weir_lock_release(&self->lock);
}
