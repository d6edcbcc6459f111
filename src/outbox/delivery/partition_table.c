/*
 * partition_table.c - leased partitions, and how they come and go. See
 * partition_table.h and partition_table_private.h.
 */
#include "outbox/delivery/partition_table.h"

#include <string.h>

#include "base/arith.h"
#include "base/assert.h"
#include "base/heap.h"
#include "base/text.h"
#include "outbox/delivery/mark.h"
#include "outbox/delivery/partition_table_private.h"
#include "ward/executor.h"

/* How far a drained leased partition may fall behind the front until its place is
 * stored again: so many cuts, or ids where there are no cuts. A restart reads from
 * there. A thousand cuts may be a second, so a place is also no more often stored than
 * once in so long. */
enum { DRAINED_CUTS_MAX = 1000, DRAINED_IDS_MAX = 100000 };
#define DRAINED_PAUSE_NS WEIR_SECONDS(20)

/* ---- life -------------------------------------------------------------------------- */

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
    weir_list_init(&self->deferred);
    weir_list_init(&self->orphans);
    self->holds = 1;
    *out = self;
    return WEIR_OK;
}

void weir_partition_table_free(struct weir_partition_table *self)
{
    const struct weir_heap *heap = self->options.heap;

    WEIR_ASSERT(self->leased_count == 0);
    weir_heap_free(heap, self->leased_partitions);
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
    self->options.lease_keeper = NULL;
    self->options.room[0] = NULL;
    self->options.room[1] = NULL;
    while (self->leased_count > 0)
        weir_leased_partition_remove(self,
                                     self->leased_partitions[self->leased_count - 1]);
    last = weir_partition_table_drop_hold(self);
    weir_lock_release(&self->lock);
    if (last)
        weir_partition_table_free(self);
}

void weir_partition_table_close(struct weir_partition_table *self)
{
    weir_lock_acquire(&self->lock);
    self->closed = true;
    for (size_t i = 0; i < self->leased_count; i++) {
        if (self->leased_partitions[i]->batch != NULL)
            self->leased_partitions[i]->batch->stopped = true;
    }
    weir_lock_release(&self->lock);
}

static void add_leased(struct weir_partition_table_info *out,
                       const struct weir_leased_partition *leased)
{
    out->behind += leased->behind;
    out->ready += leased->state == WEIR_PARTITION_READY;
    out->running += leased->state == WEIR_PARTITION_RUNNING;
    out->acking += leased->state == WEIR_PARTITION_ACKING;
    out->retrying += leased->state == WEIR_PARTITION_RETRYING;
}

void weir_partition_table_read(struct weir_partition_table *self,
                               struct weir_partition_table_info *out)
{
    memset(out, 0, sizeof *out);
    weir_lock_acquire(&self->lock);
    out->leased_partitions = self->leased_count;
    out->messages = self->messages;
    out->bytes = self->bytes;
    for (size_t i = 0; i < self->leased_count; i++)
        add_leased(out, self->leased_partitions[i]);
    weir_lock_release(&self->lock);
}

void weir_partition_table_read_subscriber(struct weir_partition_table *self,
                                          const struct weir_subscriber *subscriber,
                                          struct weir_partition_table_info *out)
{
    memset(out, 0, sizeof *out);
    weir_lock_acquire(&self->lock);
    for (size_t i = 0; i < self->leased_count; i++) {
        const struct weir_leased_partition *leased = self->leased_partitions[i];

        if (leased->subscriber != subscriber)
            continue;
        out->leased_partitions++;
        out->messages += leased->count;
        out->bytes += leased->bytes;
        add_leased(out, leased);
    }
    weir_lock_release(&self->lock);
}

/* ---- finding ----------------------------------------------------------------------- */

static bool comes_before(const struct weir_leased_partition *leased,
                         struct weir_lease_key key)
{
    if (leased->lease.key.pid != key.pid)
        return leased->lease.key.pid < key.pid;
    return leased->lease.key.subscription < key.subscription;
}

/* The first leased partition that does not come before `key`. */
static size_t lower_bound(const struct weir_partition_table *self,
                          struct weir_lease_key key) WEIR_REQUIRES(self->lock)
{
    size_t low = 0;
    size_t high = self->leased_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (comes_before(self->leased_partitions[middle], key))
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

struct weir_leased_partition *
weir_partition_table_find(const struct weir_partition_table *self,
                          struct weir_lease_key key, int64_t epoch)
{
    size_t at = lower_bound(self, key);
    struct weir_leased_partition *leased;

    if (at == self->leased_count)
        return NULL;
    leased = self->leased_partitions[at];
    if (leased->lease.key.pid != key.pid ||
        leased->lease.key.subscription != key.subscription ||
        leased->lease.epoch != epoch)
        return NULL;
    return leased;
}

/* ---- what waits in a leased partition ---------------------------------------------- */

static struct weir_buffered_message *buffered_message_of(struct weir_list *link)
{
    return WEIR_CONTAINER_OF(link, struct weir_buffered_message, link);
}

const struct weir_buffered_message *
weir_buffered_message_next(const struct weir_buffered_message *buffered_message)
{
    return WEIR_CONTAINER_OF(buffered_message->link.next, struct weir_buffered_message,
                             link);
}

static void drop_buffered_message(struct weir_partition_table *self,
                                  struct weir_leased_partition *leased,
                                  struct weir_buffered_message *buffered_message)
    WEIR_REQUIRES(self->lock)
{
    weir_list_remove(&buffered_message->link);
    leased->count--;
    leased->bytes -= buffered_message->size;
    self->messages--;
    self->bytes -= buffered_message->size;
    weir_heap_free(self->options.heap, buffered_message);
}

void weir_leased_partition_pass(struct weir_partition_table *self,
                                struct weir_leased_partition *leased, size_t count)
{
    for (size_t i = 0; i < count; i++)
        drop_buffered_message(self, leased,
                              buffered_message_of(leased->buffered_messages.next));
    if (count > 0)
        weir_partition_table_wake_readers(self);
}

void weir_leased_partition_trim(struct weir_partition_table *self,
                                struct weir_leased_partition *leased, size_t keep)
{
    if (leased->count <= keep)
        return;
    while (leased->count > keep)
        drop_buffered_message(self, leased,
                              buffered_message_of(leased->buffered_messages.previous));
    if (leased->count > 0) {
        leased->read =
            buffered_message_of(leased->buffered_messages.previous)->log_position;
        leased->seq_read = buffered_message_of(leased->buffered_messages.previous)->seq;
    } else {
        leased->read = leased->position.log_position;
        leased->seq_read = leased->position.seq;
    }
    leased->behind = true;
    leased->near = false;
    leased->in_page[WEIR_READER_MAIN] = false; /* what it brings would leave a gap */
    leased->in_page[WEIR_READER_FOLLOWER] = false;
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

/* ---- states ------------------------------------------------------------------------ */

static void undefer(struct weir_leased_partition *leased)
{
    weir_list_remove(&leased->deferring);
    leased->deferred = false;
}

/* Behind all that are due earlier. */
static void line_up(struct weir_partition_table *self,
                    struct weir_leased_partition *leased) WEIR_REQUIRES(self->lock)
{
    struct weir_list *at = self->retrying.previous;

    while (at != &self->retrying &&
           WEIR_CONTAINER_OF(at, struct weir_leased_partition, turn)->due_ns >
               leased->due_ns)
        at = at->previous;
    weir_list_prepend(at, &leased->turn);
}

/* The suspect is done with: the next one may be called. */
static void end_trial(struct weir_partition_table *self,
                      const struct weir_leased_partition *leased)
    WEIR_REQUIRES(self->lock)
{
    if (self->trial != leased)
        return;
    self->trial = NULL;
    if (!weir_list_empty(&self->ready))
        weir_partition_table_notify(self->options.work);
}

void weir_leased_partition_move(struct weir_partition_table *self,
                                struct weir_leased_partition *leased,
                                enum weir_partition_state state)
{
    if (state != WEIR_PARTITION_RUNNING && state != WEIR_PARTITION_ACKING)
        end_trial(self, leased);
    if (leased->state == WEIR_PARTITION_RUNNING && state != WEIR_PARTITION_RUNNING)
        self->running--;
    if (leased->state != WEIR_PARTITION_RUNNING && state == WEIR_PARTITION_RUNNING)
        self->running++;
    weir_list_remove(&leased->turn);
    leased->state = state;
    switch (state) {
    case WEIR_PARTITION_READY:
        weir_list_append(&self->ready, &leased->turn);
        weir_partition_table_notify(self->options.work);
        break;
    case WEIR_PARTITION_RETRYING:
        line_up(self, leased);
        weir_partition_table_notify(
            self->options.work); /* a thread has to watch the time */
        break;
    case WEIR_PARTITION_ACKING:
        undefer(leased); /* its ack stores that too */
        weir_list_append(&self->acking, &leased->turn);
        weir_partition_table_notify(self->options.acks);
        break;
    case WEIR_PARTITION_LEAVING:
        weir_partition_table_notify(self->options.lease_keeper);
        break;
    case WEIR_PARTITION_IDLE:
    case WEIR_PARTITION_RUNNING:
        break;
    }
}

void weir_leased_partition_rest(struct weir_partition_table *self,
                                struct weir_leased_partition *leased)
{
    if (leased->leaving && (leased->deferred || leased->storing))
        weir_leased_partition_store(self, leased);
    else if (leased->leaving)
        weir_leased_partition_move(self, leased, WEIR_PARTITION_LEAVING);
    else if (leased->count > 0)
        weir_leased_partition_move(self, leased, WEIR_PARTITION_READY);
    else
        weir_leased_partition_move(self, leased, WEIR_PARTITION_IDLE);
}

/* ---- acks that may wait ------------------------------------------------------------ */

/* What may be repeated is one batch, in one call or in several. */
size_t weir_leased_partition_room(const struct weir_leased_partition *leased)
{
    size_t size =
        weir_batch_sizer_size(&leased->batch_sizer, leased->subscriber->tuning.batch);
    size_t unstored = leased->unstored + leased->unstored_taken;

    return unstored < size ? size - unstored : 0;
}

void weir_leased_partition_defer(struct weir_partition_table *self,
                                 struct weir_leased_partition *leased)
{
    bool first = weir_list_empty(&self->deferred);

    if (!leased->storing && !leased->deferred)
        leased->deferred_ns = weir_executor_now(self->options.executor);
    if (!leased->deferred)
        weir_list_append(&self->deferred, &leased->deferring);
    leased->deferred = true;
    if (weir_leased_partition_room(leased) <= leased->unstored) {
        first |= !self->hurry;
        self->hurry = true; /* before it has to wait */
    }
    if (first)
        weir_partition_table_notify(self->options.acks);
}

void weir_leased_partition_store(struct weir_partition_table *self,
                                 struct weir_leased_partition *leased)
{
    leased->next = leased->position;
    leased->next.epoch = leased->lease.epoch;
    leased->next.trying = 0;
    leased->processed = 0;
    leased->retry = false;
    leased->clear_crashes = false;
    leased->error[0] = '\0';
    weir_leased_partition_move(self, leased, WEIR_PARTITION_ACKING);
}

/* ---- marks ------------------------------------------------------------------------- */

void weir_leased_partition_adopt(struct weir_leased_partition *leased,
                                 const struct weir_stored_position *position)
{
    enum weir_mark mark = weir_mark_find(position, &leased->lease);

    leased->position = *position;
    leased->suspect |= mark != WEIR_MARK_NONE;
    if (mark != WEIR_MARK_ALONE)
        return;
    leased->position.attempts = weir_sat_inc_u32(position->attempts);
    leased->position.alone = weir_sat_inc_u32(position->alone);
    (void)weir_text_format(leased->error, sizeof leased->error, "%s", WEIR_MARK_DEATH);
}

void weir_leased_partition_describe_clearing(struct weir_leased_partition *leased)
{
    leased->next = leased->position;
    leased->next.epoch = leased->lease.epoch;
    leased->next.trying = 0;
    leased->processed = 0;
    leased->retry = false;
    leased->clear_crashes = false;
    leased->clearing = true;
}

static bool has_mark(const struct weir_leased_partition *leased)
{
    return leased->suspect || (leased->position.trying != 0 &&
                               leased->position.epoch == leased->lease.epoch);
}

/* ---- coming and going -------------------------------------------------------------- */

void weir_leased_partition_forget_ack(struct weir_partition_table *self,
                                      struct weir_leased_partition *leased)
{
    for (size_t i = 0; i < leased->rejection_count; i++)
        weir_heap_free(self->options.heap, leased->reasons[i].reason);
    weir_heap_free(self->options.heap, leased->reasons);
    weir_heap_free(self->options.heap, leased->rejections);
    leased->reasons = NULL;
    leased->rejections = NULL;
    leased->rejection_count = 0;
    leased->given_up = false;
}

void weir_leased_partition_free(struct weir_partition_table *self,
                                struct weir_leased_partition *leased)
{
    weir_list_remove(&leased->turn);
    undefer(leased);
    weir_leased_partition_pass(self, leased, leased->count);
    weir_leased_partition_forget_ack(self, leased);
    weir_heap_free(self->options.heap, leased);
}

void weir_leased_partition_remove(struct weir_partition_table *self,
                                  struct weir_leased_partition *leased)
{
    size_t at = lower_bound(self, leased->lease.key);

    WEIR_ASSERT(at < self->leased_count && self->leased_partitions[at] == leased);
    self->leased_count--;
    memmove(&self->leased_partitions[at], &self->leased_partitions[at + 1],
            (self->leased_count - at) * sizeof(struct weir_leased_partition *));
    leased->subscriber->leased_partitions--;
    leased->lost = true;
    if (leased->batch != NULL)
        leased->batch->stopped = true;
    end_trial(self, leased);
    undefer(leased);
    weir_list_remove(&leased->turn);
    if (leased->state == WEIR_PARTITION_RUNNING || leased->collected) {
        weir_leased_partition_trim(
            self, leased, leased->call_count); /* the rest is for other partitions */
        weir_list_append(&self->orphans, &leased->turn);
    } else
        weir_leased_partition_free(self, leased);
    weir_partition_table_wake_readers(self);
}

static bool make_room(struct weir_partition_table *self) WEIR_REQUIRES(self->lock)
{
    size_t capacity = self->leased_capacity == 0 ? 16 : self->leased_capacity * 2;
    struct weir_leased_partition **leased_partitions;

    if (self->leased_count < self->leased_capacity)
        return true;
    leased_partitions = weir_heap_resize(self->options.heap, self->leased_partitions,
                                         capacity * sizeof *leased_partitions);
    if (leased_partitions == NULL)
        return false;
    self->leased_partitions = leased_partitions;
    self->leased_capacity = capacity;
    return true;
}

static void insert_leased(struct weir_partition_table *self,
                          struct weir_leased_partition *leased) WEIR_REQUIRES(self->lock)
{
    size_t at = lower_bound(self, leased->lease.key);

    WEIR_ASSERT(
        at == self->leased_count ||
        comes_before(leased,
                     self->leased_partitions[at]->lease.key)); /* one of each key */
    memmove(&self->leased_partitions[at + 1], &self->leased_partitions[at],
            (self->leased_count - at) * sizeof(struct weir_leased_partition *));
    self->leased_partitions[at] = leased;
    self->leased_count++;
    leased->subscriber->leased_partitions++;
}

enum weir_status weir_partition_table_admit(struct weir_partition_table *self,
                                            struct weir_subscriber *subscriber,
                                            const struct weir_lease *lease,
                                            const struct weir_stored_position *position,
                                            int64_t retry_in_ns, int64_t taken_ns)
{
    int64_t now_ns = weir_executor_now(self->options.executor);
    struct weir_leased_partition *leased =
        weir_heap_zalloc(self->options.heap, sizeof *leased);
    enum weir_status status = WEIR_OK;

    if (leased == NULL)
        return WEIR_NO_MEMORY;
    leased->subscriber = subscriber;
    leased->lease = *lease;
    leased->taken_ns = taken_ns;
    leased->lease_end_ns = weir_sat_add_i64(taken_ns, subscriber->lease_ns);
    leased->read = position->log_position;
    leased->seq_read = position->seq;
    leased->behind = true;
    weir_list_init(&leased->turn);
    weir_list_init(&leased->deferring);
    weir_list_init(&leased->buffered_messages);
    weir_batch_sizer_init(&leased->batch_sizer);
    if (lease->crashes > 0)
        weir_batch_sizer_degrade(&leased->batch_sizer);

    weir_lock_acquire(&self->lock);
    weir_leased_partition_adopt(leased, position);
    if (!make_room(self)) {
        status = WEIR_NO_MEMORY;
        weir_heap_free(self->options.heap, leased);
    } else {
        insert_leased(self, leased);
        weir_meter_add(&subscriber->meter, WEIR_METER_TAKEN, 1);
        if (retry_in_ns > 0) {
            leased->due_ns = weir_sat_add_i64(now_ns, retry_in_ns);
            weir_leased_partition_move(self, leased, WEIR_PARTITION_RETRYING);
        }
        weir_partition_table_wake_readers(self);
    }
    weir_lock_release(&self->lock);
    return status;
}

void weir_leased_partition_lose(struct weir_partition_table *self,
                                struct weir_leased_partition *leased)
{
    weir_meter_add(&leased->subscriber->meter, WEIR_METER_LOST, 1);
    weir_leased_partition_remove(self, leased);
}

void weir_partition_table_lose(struct weir_partition_table *self,
                               struct weir_lease_key key, int64_t epoch)
{
    struct weir_leased_partition *leased;

    weir_lock_acquire(&self->lock);
    leased = weir_partition_table_find(self, key, epoch);
    if (leased != NULL)
        weir_leased_partition_lose(self, leased);
    weir_lock_release(&self->lock);
}

size_t weir_partition_table_lose_all(struct weir_partition_table *self)
{
    size_t lost;

    weir_lock_acquire(&self->lock);
    for (lost = 0; self->leased_count > 0; lost++)
        weir_leased_partition_lose(self, self->leased_partitions[self->leased_count - 1]);
    weir_lock_release(&self->lock);
    return lost;
}

/* Is its call over its budget? Then its handler hears of it, and its lease ends by
 * itself. */
static bool overruns(struct weir_leased_partition *leased, int64_t now_ns)
{
    if (leased->state == WEIR_PARTITION_RUNNING && now_ns >= leased->deadline_ns) {
        leased->overrun = true;
        if (leased->batch != NULL)
            leased->batch->expired = true;
    }
    return leased->overrun;
}

size_t weir_partition_table_leases(struct weir_partition_table *self,
                                   const struct weir_subscriber *subscriber,
                                   struct weir_lease *out, size_t count)
{
    int64_t now_ns = weir_executor_now(self->options.executor);
    int64_t boot_now_ns = weir_executor_boot_now(self->options.executor);
    size_t found = 0;

    weir_lock_acquire(&self->lock);
    for (size_t i = self->leased_count; i > 0; i--) {
        struct weir_leased_partition *leased = self->leased_partitions[i - 1];

        if (overruns(leased, now_ns)) {
            if (boot_now_ns >= leased->lease_end_ns)
                /* by now it may belong to another process */
                weir_leased_partition_lose(self, leased);
            continue;
        }
        if (subscriber != NULL && leased->subscriber != subscriber)
            continue;
        if (found < count)
            out[found] = leased->lease;
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
    struct weir_leased_partition *leased;

    weir_lock_acquire(&self->lock);
    leased = weir_partition_table_find(self, key, epoch);
    if (leased != NULL) {
        if (leased->state == WEIR_PARTITION_READY && leased->lease_end_ns <= boot_now_ns)
            weir_partition_table_notify(
                self->options.work); /* callers have passed it over */
        leased->lease_end_ns = weir_sat_add_i64(renewed_ns, leased->subscriber->lease_ns);
    }
    weir_lock_release(&self->lock);
}

static void send_off(struct weir_partition_table *self,
                     struct weir_leased_partition *leased) WEIR_REQUIRES(self->lock)
{
    leased->leaving = true;
    if (leased->state != WEIR_PARTITION_RUNNING && leased->state != WEIR_PARTITION_ACKING)
        weir_leased_partition_rest(self, leased);
}

/*
 * Does a go rather than b? Suspects last: with the release of their lease they
 * are no suspects any more. First those that nothing waits for, then those between two
 * calls: of these the one held for longest, so that what no other process could
 * take is kept. Of those in a call the one that began last: a call that has lasted for
 * long may hang, and no process would get anything until it ends.
 */
static bool goes_before(const struct weir_leased_partition *a,
                        const struct weir_leased_partition *b)
{
    bool a_runs = a->state == WEIR_PARTITION_RUNNING;
    bool b_runs = b->state == WEIR_PARTITION_RUNNING;
    bool a_rests = a->state == WEIR_PARTITION_IDLE;
    bool b_rests = b->state == WEIR_PARTITION_IDLE;

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

static struct weir_leased_partition *first_to_go(const struct weir_partition_table *self,
                                                 const struct weir_subscriber *subscriber)
    WEIR_REQUIRES(self->lock)
{
    struct weir_leased_partition *first = NULL;

    for (size_t i = 0; i < self->leased_count; i++) {
        struct weir_leased_partition *leased = self->leased_partitions[i];

        if (leased->subscriber == subscriber && !leased->leaving &&
            (first == NULL || goes_before(leased, first)))
            first = leased;
    }
    return first;
}

void weir_partition_table_give_up_excess(struct weir_partition_table *self,
                                         struct weir_subscriber *subscriber, size_t count)
{
    weir_lock_acquire(&self->lock);
    for (; count > 0; count--) {
        struct weir_leased_partition *leased = first_to_go(self, subscriber);

        if (leased == NULL)
            break;
        send_off(self, leased);
    }
    weir_lock_release(&self->lock);
}

static bool is_drained(const struct weir_leased_partition *leased)
{
    return leased->count == 0 && !leased->behind && leased->position.attempts == 0 &&
           weir_log_position_before(leased->position.log_position, leased->read);
}

/* The place to store when nothing waits, or when it was not stored yet: the next owner
 * begins there. */
static void describe_drained(const struct weir_leased_partition *leased,
                             struct weir_ack *ack)
{
    *ack = (struct weir_ack){
        .key = leased->lease.key,
        .epoch = leased->lease.epoch,
        .next = leased->position,
    };
    if (is_drained(leased))
        ack->next.log_position = leased->read;
    ack->next.version = leased->position.version + 1;
}

/* It was not called: its mark, or that of an owner before us, ends with our lease. */
static void describe_unmarked(struct weir_leased_partition *leased, struct weir_ack *ack)
{
    weir_leased_partition_describe_clearing(leased);
    leased->next.version = leased->position.version + 1;
    *ack = (struct weir_ack){
        .key = leased->lease.key,
        .epoch = leased->lease.epoch,
        .next = leased->next,
        .error = weir_str(leased->error[0] != '\0' ? WEIR_MARK_DEATH : ""),
        .is_mark = true,
    };
}

size_t weir_partition_table_take_leaving(struct weir_partition_table *self, bool all,
                                         struct weir_lease *out, struct weir_ack *acks,
                                         size_t count)
{
    size_t taken = 0;

    weir_lock_acquire(&self->lock);
    for (size_t i = self->leased_count; i > 0 && taken < count; i--) {
        struct weir_leased_partition *leased = self->leased_partitions[i - 1];
        bool at_work = leased->state == WEIR_PARTITION_RUNNING ||
                       leased->state == WEIR_PARTITION_ACKING;

        if (leased->state != WEIR_PARTITION_LEAVING && (!all || at_work))
            continue;
        out[taken] = leased->lease;
        memset(&acks[taken], 0, sizeof acks[taken]);
        if (has_mark(leased))
            describe_unmarked(leased, &acks[taken]);
        else if (is_drained(leased) || leased->deferred)
            describe_drained(leased, &acks[taken]);
        taken++;
        weir_leased_partition_remove(self, leased);
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
            &WEIR_CONTAINER_OF(link, struct weir_leased_partition, turn)->lease;

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
    for (size_t i = 0; i < self->leased_count && found < count; i++) {
        if (self->leased_partitions[i]->lease.key.subscription == subscription)
            out[found++] = self->leased_partitions[i]->lease.key.pid;
    }
    WEIR_LIST_EACH(link, &self->orphans)
    {
        const struct weir_leased_partition *leased =
            WEIR_CONTAINER_OF(link, struct weir_leased_partition, turn);

        if (leased->lease.key.subscription == subscription && found < count)
            out[found++] = leased->lease.key.pid;
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
    uint32_t leased_partitions = 0;

    weir_lock_acquire(&self->lock);
    for (size_t i = 0; i < self->leased_count; i++)
        leased_partitions += self->leased_partitions[i]->subscriber == subscriber &&
                             !self->leased_partitions[i]->leaving;
    weir_lock_release(&self->lock);
    return leased_partitions;
}

size_t weir_partition_table_take_forgiven(struct weir_partition_table *self,
                                          struct weir_lease *out, size_t count)
{
    size_t taken = 0;

    weir_lock_acquire(&self->lock);
    for (size_t i = 0; i < self->leased_count && taken < count; i++) {
        if (self->leased_partitions[i]->forgiven) {
            self->leased_partitions[i]->forgiven = false;
            out[taken++] = self->leased_partitions[i]->lease;
        }
    }
    weir_lock_release(&self->lock);
    return taken;
}

/* When its call's budget is over, or its lease if it is already: by the clock that
 * timers go by. */
static int64_t deadline_of(const struct weir_leased_partition *leased, int64_t now_ns,
                           int64_t boot_now_ns)
{
    if (!leased->overrun)
        return leased->deadline_ns;
    return weir_sat_add_i64(now_ns, leased->lease_end_ns - boot_now_ns);
}

int64_t weir_partition_table_next_deadline(struct weir_partition_table *self)
{
    int64_t now_ns = weir_executor_now(self->options.executor);
    int64_t boot_now_ns = weir_executor_boot_now(self->options.executor);
    int64_t next_ns = WEIR_FOREVER;

    weir_lock_acquire(&self->lock);
    for (size_t i = 0; i < self->leased_count; i++) {
        const struct weir_leased_partition *leased = self->leased_partitions[i];

        if (leased->state == WEIR_PARTITION_RUNNING &&
            deadline_of(leased, now_ns, boot_now_ns) < next_ns)
            next_ns = deadline_of(leased, now_ns, boot_now_ns);
    }
    weir_lock_release(&self->lock);
    return next_ns;
}

static bool lags(const struct weir_leased_partition *leased, int64_t now_ns)
{
    struct weir_log_position stored = leased->position.log_position;

    if (leased->read.cut != stored.cut)
        return leased->read.cut - stored.cut >= DRAINED_CUTS_MAX &&
               (leased->drained_ns == 0 ||
                now_ns - leased->drained_ns >= DRAINED_PAUSE_NS);
    return leased->read.id - stored.id >= DRAINED_IDS_MAX;
}

void weir_partition_table_store_drained(struct weir_partition_table *self)
{
    int64_t now_ns = weir_executor_now(self->options.executor);

    weir_lock_acquire(&self->lock);
    for (size_t i = 0; i < self->leased_count; i++) {
        struct weir_leased_partition *leased = self->leased_partitions[i];

        if (leased->state != WEIR_PARTITION_IDLE || !is_drained(leased) ||
            !lags(leased, now_ns))
            continue;
        leased->drained_ns = now_ns;
        weir_leased_partition_store(self, leased);
        leased->next.log_position = leased->read;
    }
    weir_lock_release(&self->lock);
}
