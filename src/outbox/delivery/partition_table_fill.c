/*
 * partition_table_fill.c - what the readers do with the partition table: choose a page,
 * hand it out.
 *
 * A page is read without the lock, so leased partitions come, go and fill up meanwhile.
 * `in_page` is what makes that safe: a leased partition gets messages of a page only if
 * it took part when the page was chosen and nothing has moved its `read` since. Code that
 * moves it otherwise (trim, restart) takes the leased partition out of the page.
 *
 * Attaching needs care for the same reason. A leased partition that is behind is
 * attached only between two pages of the main reader, when it has read at least as far
 * as the front. Under load the front moves on while the follower reads, so a leased
 * partition that was *near* when the follower's page began makes the main reader wait
 * for one more page of the follower, which then reaches the front.
 *
 * Numbers are counted from the place where a leased partition was read to, so nothing
 * behind it may be missing. While the lease is ours no other process moves the position,
 * and the sweep removes nothing behind it. But our clock may have stood still (a
 * suspended host, a paused virtual machine), another process may have passed messages of
 * the leased partition, and the sweep removed them. So a page tells what was removed of
 * its queues, as of its rows or later, and a leased partition that reads on from before
 * that is asked about.
 */
#include <string.h>

#include "base/arith.h"
#include "base/fault_point.h"
#include "base/heap.h"
#include "outbox/delivery/partition_table_private.h"
#include "outbox/log/page.h"
#include "weir/executor.h"

enum { LEASED_COUNT_MAX = 4096, PAGE_ROWS = 1000, PAGE_BYTES_MAX = 4 * 1024 * 1024 };

/* A handler that takes longer than this lends the memory of its leased partition to
 * others. */
#define SLOW_NS WEIR_MILLISECONDS(100)

/* ---- how full a leased partition is ------------------------------------------------ */

static size_t count_max(const struct weir_leased_partition *leased)
{
    size_t twice = (size_t)leased->subscriber->tuning.batch * 2;

    return twice > LEASED_COUNT_MAX ? twice : LEASED_COUNT_MAX;
}

/* A leased partition that cannot run now has no use for more than its next batch. */
static bool stands_still(const struct weir_leased_partition *leased)
{
    return leased->state == WEIR_PARTITION_RETRYING ||
           weir_subscriber_is_paused(leased->subscriber) || leased->overrun ||
           leased->suspect;
}

static bool is_full(const struct weir_partition_table *self,
                    const struct weir_leased_partition *leased) WEIR_REQUIRES(self->lock)
{
    if (leased->count == 0)
        return false;
    if (stands_still(leased))
        return leased->count >= (size_t)leased->subscriber->tuning.batch * 2;
    return leased->count >= count_max(leased) ||
           leased->bytes >= self->options.memory_max / 4;
}

static bool runs_for_long(const struct weir_partition_table *self,
                          const struct weir_leased_partition *leased)
    WEIR_REQUIRES(self->lock)
{
    return leased->state == WEIR_PARTITION_RUNNING &&
           weir_executor_now(self->options.executor) - leased->begun_ns > SLOW_NS;
}

/* Should the follower read for it? What lend_memory() took it should not get again at
 * once: the follower would read the same part of the log over and over. */
static bool wants_more(const struct weir_partition_table *self,
                       const struct weir_leased_partition *leased)
    WEIR_REQUIRES(self->lock)
{
    if (!leased->behind || leased->leaving)
        return false;
    if (stands_still(leased) || runs_for_long(self, leased))
        return leased->count < leased->subscriber->tuning.batch;
    return leased->count <= count_max(leased) / 2 &&
           leased->bytes <= self->options.memory_max / 8;
}

/* Take back what leased partitions that stand still, or run for long, will not need
 * soon. */
static void lend_memory(struct weir_partition_table *self) WEIR_REQUIRES(self->lock)
{
    for (size_t i = 0; i < self->leased_count; i++) {
        struct weir_leased_partition *leased = self->leased_partitions[i];
        size_t keep = leased->subscriber->tuning.batch;

        if (leased->state == WEIR_PARTITION_RUNNING && leased->call_count > keep)
            keep = leased->call_count;
        if (runs_for_long(self, leased) || stands_still(leased))
            weir_leased_partition_trim(self, leased, keep);
    }
}

/* By order of a test: drop all but the next message, as if memory were short. */
static void forget_all(struct weir_partition_table *self) WEIR_REQUIRES(self->lock)
{
    for (size_t i = 0; i < self->leased_count; i++) {
        struct weir_leased_partition *leased = self->leased_partitions[i];
        bool under_way = leased->state == WEIR_PARTITION_RUNNING ||
                         leased->state == WEIR_PARTITION_ACKING;

        weir_leased_partition_trim(self, leased, under_way ? leased->call_count : 1);
    }
}

static bool has_room(struct weir_partition_table *self) WEIR_REQUIRES(self->lock)
{
    if (self->bytes < self->options.memory_max)
        return true;
    lend_memory(self);
    return self->bytes < self->options.memory_max;
}

/* ---- choosing a page --------------------------------------------------------------- */

static bool reserve_pids(struct weir_partition_table *self, enum weir_reader_kind kind)
    WEIR_REQUIRES(self->lock)
{
    const struct weir_heap *heap = self->options.heap;
    struct weir_removal *removals;
    int64_t *pids;

    if (self->pid_capacity[kind] >= self->leased_count)
        return true;
    pids = weir_heap_resize(heap, self->pids[kind], self->leased_capacity * sizeof *pids);
    if (pids == NULL)
        return false;
    self->pids[kind] = pids;
    removals = weir_heap_resize(heap, self->removals[kind],
                                self->leased_capacity * sizeof *removals);
    if (removals == NULL)
        return false;
    self->removals[kind] = removals;
    self->pid_capacity[kind] = self->leased_capacity;
    return true;
}

/* Leased partitions are in the order of their pids, so equal ones are neighbours, and
 * those of a queue too. */
static void enrol(struct weir_partition_table *self, enum weir_reader_kind kind,
                  struct weir_leased_partition *leased, struct weir_page *page)
    WEIR_REQUIRES(self->lock)
{
    struct weir_removal *removals = self->removals[kind];
    int64_t *pids = self->pids[kind];
    int64_t pid = leased->lease.key.pid;
    int64_t queue_id = weir_pid_queue(pid);

    leased->in_page[kind] = true;
    if (page->pid_count == 0 || pids[page->pid_count - 1] != pid)
        pids[page->pid_count++] = pid;
    if (page->removal_count == 0 ||
        removals[page->removal_count - 1].queue_id != queue_id)
        removals[page->removal_count++] = (struct weir_removal){.queue_id = queue_id};
}

/*
 * Where the main reader begins when no leased partition is attached: at the place that
 * half of the leased partitions have not reached. The lowest would make one leased
 * partition that has stood still for days hold back all others; that one is the
 * follower's business.
 */
static struct weir_log_position choose_front(const struct weir_partition_table *self)
    WEIR_REQUIRES(self->lock)
{
    struct weir_log_position best = self->leased_partitions[0]->read;
    size_t wanted = (self->leased_count - 1) / 2;

    for (size_t i = 0; i < self->leased_count; i++) {
        struct weir_log_position log_position = self->leased_partitions[i]->read;
        size_t lower = 0;
        size_t equal = 0;

        for (size_t k = 0; k < self->leased_count; k++) {
            lower +=
                weir_log_position_before(self->leased_partitions[k]->read, log_position);
            equal +=
                weir_log_position_equal(self->leased_partitions[k]->read, log_position);
        }
        if (lower <= wanted && wanted < lower + equal)
            return log_position;
    }
    return best;
}

static bool anybody_attached(const struct weir_partition_table *self)
    WEIR_REQUIRES(self->lock)
{
    for (size_t i = 0; i < self->leased_count; i++) {
        if (!self->leased_partitions[i]->behind)
            return true;
    }
    return false;
}

static void attach_those_at_front(struct weir_partition_table *self)
    WEIR_REQUIRES(self->lock)
{
    for (size_t i = 0; i < self->leased_count; i++) {
        struct weir_leased_partition *leased = self->leased_partitions[i];

        if (leased->behind && !weir_log_position_before(leased->read, self->front) &&
            !is_full(self, leased)) {
            leased->behind = false;
            leased->near = false;
            leased->in_page[WEIR_READER_FOLLOWER] = false;
        }
    }
}

static bool somebody_is_near(const struct weir_partition_table *self)
    WEIR_REQUIRES(self->lock)
{
    for (size_t i = 0; i < self->leased_count; i++) {
        if (self->leased_partitions[i]->near &&
            wants_more(self, self->leased_partitions[i]))
            return true;
    }
    return false;
}

static bool choose_main(struct weir_partition_table *self, struct weir_page *page)
    WEIR_REQUIRES(self->lock)
{
    if (!self->front_known || !anybody_attached(self)) {
        self->front = choose_front(self);
        self->front_known = true;
    }
    attach_those_at_front(self);
    if (somebody_is_near(self)) {
        weir_partition_table_notify(self->options.room[WEIR_READER_FOLLOWER]);
        return false;
    }
    for (size_t i = 0; i < self->leased_count; i++) {
        struct weir_leased_partition *leased = self->leased_partitions[i];

        leased->in_page[WEIR_READER_MAIN] = false;
        if (!leased->behind)
            enrol(self, WEIR_READER_MAIN, leased, page);
        else if (wants_more(self, leased) && self->waits[WEIR_READER_FOLLOWER]) {
            self->waits[WEIR_READER_FOLLOWER] = false;
            weir_partition_table_notify(self->options.room[WEIR_READER_FOLLOWER]);
        }
    }
    page->after = self->front;
    return page->pid_count > 0;
}

static bool choose_follower(struct weir_partition_table *self, struct weir_page *page)
    WEIR_REQUIRES(self->lock)
{
    if (!self->front_known)
        return false;
    for (size_t i = 0; i < self->leased_count; i++) {
        struct weir_leased_partition *leased = self->leased_partitions[i];

        leased->in_page[WEIR_READER_FOLLOWER] = false;
        leased->blocked = false;
        if (!wants_more(self, leased) ||
            !weir_log_position_before(leased->read, self->front))
            continue;
        if (page->pid_count == 0 || weir_log_position_before(leased->read, page->after))
            page->after = leased->read;
        enrol(self, WEIR_READER_FOLLOWER, leased, page);
    }
    self->follower_target = self->front;
    return page->pid_count > 0;
}

bool weir_partition_table_next_page(struct weir_partition_table *self,
                                    enum weir_reader_kind kind, struct weir_page *page)
{
    bool chosen = false;

    memset(page, 0, sizeof *page);
    page->row_max = self->options.page_rows;
    page->payload_max = PAGE_BYTES_MAX;
    if (self->options.memory_max / 4 < PAGE_BYTES_MAX)
        page->payload_max = (int64_t)(self->options.memory_max / 4);

    if (WEIR_POINT(self->options.points, "partition_table.small_page"))
        page->row_max = 1;

    weir_lock_acquire(&self->lock);
    if (WEIR_POINT(self->options.points, "partition_table.forget"))
        forget_all(self);
    if (self->leased_count == 0)
        self->front_known = false;
    else if (!self->closed && has_room(self) && reserve_pids(self, kind))
        chosen = kind == WEIR_READER_MAIN ? choose_main(self, page)
                                          : choose_follower(self, page);
    page->pids = self->pids[kind];
    page->removals = self->removals[kind];
    self->waits[kind] = !chosen;
    weir_lock_release(&self->lock);
    return chosen;
}

/* ---- asking whether a leased partition is still ours ------------------------------- */

/* Not lost by itself: the place is that of the furthest partition of the queue, and a
 * slow one is rightly behind it. */
static bool is_doubted(const struct weir_leased_partition *leased,
                       const struct weir_page *page)
{
    const struct weir_removal *removal =
        weir_page_find_removal(page, weir_pid_queue(leased->lease.key.pid));

    return removal != NULL &&
           weir_log_position_before(leased->read, removal->log_position) &&
           (removal->count != leased->asked.count ||
            !weir_log_position_equal(removal->log_position, leased->asked.log_position));
}

size_t weir_partition_table_doubted(struct weir_partition_table *self,
                                    enum weir_reader_kind kind,
                                    const struct weir_page *page, struct weir_lease *out,
                                    size_t count)
{
    size_t found = 0;

    weir_lock_acquire(&self->lock);
    for (size_t i = 0; i < self->leased_count; i++) {
        const struct weir_leased_partition *leased = self->leased_partitions[i];

        if (!leased->in_page[kind] || !is_doubted(leased, page))
            continue;
        if (found < count)
            out[found] = leased->lease;
        found++;
    }
    weir_lock_release(&self->lock);
    return found;
}

void weir_partition_table_answer(struct weir_partition_table *self,
                                 const struct weir_page *page,
                                 const struct weir_lease *leases, size_t count)
{
    weir_lock_acquire(&self->lock);
    for (size_t i = 0; i < count; i++) {
        struct weir_leased_partition *leased =
            weir_partition_table_find(self, leases[i].key, leases[i].epoch);

        if (leased == NULL)
            continue;
        if (leases[i].kept) {
            leased->asked =
                *weir_page_find_removal(page, weir_pid_queue(leases[i].key.pid));
        } else {
            weir_leased_partition_lose(self, leased);
            weir_partition_table_notify(
                self->options.lease_keeper); /* it may be taken again */
        }
    }
    weir_lock_release(&self->lock);
}

/* ---- handing it out ---------------------------------------------------------------- */

static void push(struct weir_partition_table *self, struct weir_leased_partition *leased,
                 struct weir_buffered_message *buffered_message) WEIR_REQUIRES(self->lock)
{
    buffered_message->seq = ++leased->seq_read;
    leased->read = buffered_message->log_position;
    leased->given = true;
    leased->count++;
    leased->bytes += buffered_message->size;
    self->messages++;
    self->bytes += buffered_message->size;
    weir_list_append(&leased->buffered_messages, &buffered_message->link);
    if (leased->state == WEIR_PARTITION_IDLE)
        weir_leased_partition_move(self, leased, WEIR_PARTITION_READY);
}

/* A leased partition without room misses this message, and so all later ones of the
 * page. */
static void leave_behind(struct weir_leased_partition *leased, enum weir_reader_kind kind)
{
    if (kind == WEIR_READER_FOLLOWER) {
        leased->blocked = true;
        leased->near = false;
    } else {
        leased->behind = true;
        leased->near = false;
        leased->in_page[WEIR_READER_MAIN] = false;
    }
}

static bool takes(const struct weir_leased_partition *leased, enum weir_reader_kind kind,
                  const struct weir_buffered_message *buffered_message)
{
    return leased->in_page[kind] && !(kind == WEIR_READER_FOLLOWER && leased->blocked) &&
           weir_log_position_before(leased->read, buffered_message->log_position);
}

/* Give `buffered_message` to every leased partition that is waiting for it; the first
 * gets the original. */
static void hand_out(struct weir_partition_table *self, enum weir_reader_kind kind,
                     struct weir_buffered_message *buffered_message)
    WEIR_REQUIRES(self->lock)
{
    const struct weir_heap *heap = self->options.heap;
    struct weir_buffered_message *original = buffered_message;

    for (size_t i = weir_partition_table_find_pid(self, buffered_message->pid);
         i < self->leased_count &&
         self->leased_partitions[i]->lease.key.pid == buffered_message->pid;
         i++) {
        struct weir_leased_partition *leased = self->leased_partitions[i];
        struct weir_buffered_message *own = original;

        if (!takes(leased, kind, buffered_message))
            continue;
        if (own == NULL)
            own = weir_buffered_message_copy(heap, buffered_message);
        if (own == NULL || is_full(self, leased)) {
            leave_behind(leased, kind);
            if (own != original)
                weir_heap_free(heap, own);
            continue;
        }
        original = NULL;
        push(self, leased, own);
    }
    weir_heap_free(heap, original);
}

/* Everything up to the end of the page was offered. */
static void move_on(struct weir_partition_table *self, enum weir_reader_kind kind,
                    const struct weir_page *page) WEIR_REQUIRES(self->lock)
{
    for (size_t i = 0; i < self->leased_count; i++) {
        struct weir_leased_partition *leased = self->leased_partitions[i];

        if (!leased->in_page[kind] || (kind == WEIR_READER_FOLLOWER && leased->blocked))
            continue;
        leased->read = weir_log_position_later(leased->read, page->end);
        leased->in_page[kind] = false;
        if (kind == WEIR_READER_FOLLOWER)
            leased->near =
                !weir_log_position_before(leased->read, self->follower_target) &&
                weir_log_position_before(leased->read, self->front);
        else if (page->at_head && leased->lease.crashes > 0 && !leased->given) {
            leased->lease.crashes = 0; /* nothing waited: no process died of a message */
            leased->forgiven = true;
            leased->suspect = false;
            weir_batch_sizer_init(&leased->batch_sizer);
            weir_partition_table_notify(self->options.lease_keeper);
        }
    }
}

void weir_partition_table_route(struct weir_partition_table *self,
                                enum weir_reader_kind kind, const struct weir_page *page,
                                struct weir_list *buffered_messages)
{
    struct weir_list *link;

    weir_lock_acquire(&self->lock);
    while ((link = weir_list_take_first(buffered_messages)) != NULL)
        hand_out(self, kind, WEIR_CONTAINER_OF(link, struct weir_buffered_message, link));
    move_on(self, kind, page);
    if (kind == WEIR_READER_MAIN)
        self->front = page->end;
    else
        weir_partition_table_wake_readers(self); /* one may have reached the front */
    weir_lock_release(&self->lock);
}

void weir_partition_table_lose_front(struct weir_partition_table *self)
{
    weir_lock_acquire(&self->lock);
    self->front_known = false;
    weir_lock_release(&self->lock);
}

void weir_partition_table_abandon_page(struct weir_partition_table *self,
                                       enum weir_reader_kind kind)
{
    weir_lock_acquire(&self->lock);
    for (size_t i = 0; i < self->leased_count; i++)
        self->leased_partitions[i]->in_page[kind] = false;
    weir_lock_release(&self->lock);
}
