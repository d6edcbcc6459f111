/*
 * partition_table.h - the leased partitions of a process, and whose turn it is.
 *
 * A *leased partition* is one partition of one subscription that this process holds the
 * lease of: the messages read for it and not yet acknowledged, and its state. A
 * *subscriber* is one handler: all its leased partitions share options and permits.
 *
 *                 read        take              finish              settle
 *     log ---> [waiting] ---> [running] ------> [acking] ------> idle, ready, retrying,
 *              readers        handler threads   acker         ^  or gone (lease lost)
 *                                  |                          |
 *                                  +- describe, commit, passed (transactional)
 *
 *   idle      nothing waits in memory
 *   ready     something waits; ready leased partitions run in the order in which they
 *             became ready
 *   running   a handler has the first messages
 *   acking    the outcome is on its way to the database
 *   retrying  the head failed; nothing shortens the wait
 *   leaving   given up at the end of its batch, waits for its release
 *
 * Two *readers* fill the leased partitions. The main one reads the log once for all
 * leased partitions that are *attached*: they have everything up to its front. A leased
 * partition that is full, or was taken over with an older position, is *behind*: the
 * follower reads for those, from the oldest of them, and a leased partition is attached
 * again when it has reached the front. So a leased partition that stands still costs
 * the others nothing.
 *
 *   log  ------------------------------------------------------>
 *               ^ leased partition behind   ^ leased partition behind       ^ front of
 *                                           the main reader, all attached
 *               '-- follower begins here
 *
 * What waits in memory is bounded in bytes. A message in memory is never the only copy:
 * the partition table may drop any that no handler has, and read it again later.
 *
 * Order    Ready leased partitions: oldest first; one that has run goes to the back.
 * Threads  Any thread. One lock, held for memory only, never for the database or a
 *          handler.
 * Memory   Messages from `heap`, up to memory_max; a page may exceed it once.
 */
#ifndef WEIR_OUTBOX_DELIVERY_PARTITION_TABLE_H
#define WEIR_OUTBOX_DELIVERY_PARTITION_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "outbox/delivery/ack.h"
#include "outbox/delivery/batch.h"
#include "outbox/delivery/batch_sizer.h"
#include "outbox/delivery/buffered_message.h"
#include "outbox/delivery/meter.h"
#include "outbox/delivery/rate.h"
#include "outbox/lease/lease.h"
#include "weir/heap.h"
#include "weir/outbox.h"

struct weir_leased_partition;
struct weir_notifier;
struct weir_partition_table;

/* What operators have decided about a subscriber. */
struct weir_subscriber_state {
    bool queue_paused; /* delivery to all subscriptions of the queue */
    bool paused;       /* delivery to this one */
    bool removed;      /* the subscription is gone, perhaps with its queue */
};

/* One handler. Filled in before the first leased partition, constant from then on, but
 * for what the partition table keeps for itself. */
struct weir_subscriber {
    const char *queue; /* owned by the outbox, as all of this */
    const char *subscription;
    int64_t queue_id;
    int64_t subscription_id;
    int32_t partitions;
    weir_message_fn on_message;       /* or */
    weir_batch_fn on_batch;           /* or */
    weir_message_tx_fn on_message_tx; /* or */
    weir_batch_tx_fn on_batch_tx;
    void *state;
    uint32_t permits; /* 0: no limit of its own */
    struct weir_tuning tuning;
    int64_t lease_ns;
    int64_t budget_ns;
    struct weir_meter meter;
    struct weir_rate rate; /* the lease keeper's: of messages acknowledged */

    /* the partition table's, under its lock */
    uint32_t attempts_max; /* of the queue; 0: no limit */
    uint32_t running;
    uint32_t leased_partitions;
    struct weir_subscriber_state decided;
};

struct weir_partition_table_options {
    const struct weir_heap *heap;   /* borrowed */
    struct weir_executor *executor; /* borrowed: the clock */
    size_t memory_max;
    uint32_t page_rows;
    int64_t ack_pace_ns; /* from one group of acks to the next, as long as no partition
                            has to wait for its ack; 0: none is deferred */
    struct weir_notifier *work;         /* borrowed: a leased partition is ready */
    struct weir_notifier *acks;         /* an ack waits */
    struct weir_notifier *room[2];      /* by reader: it may be worth looking again */
    struct weir_notifier *lease_keeper; /* a leased partition is leaving, or was lost */
    struct weir_fault_points *points;   /* for tests; NULL: none */
};

enum weir_reader_kind { WEIR_READER_MAIN, WEIR_READER_FOLLOWER };

struct weir_partition_table_info {
    size_t leased_partitions;
    size_t behind;
    size_t ready;
    size_t running;
    size_t acking;
    size_t retrying;
    size_t messages; /* in memory */
    size_t bytes;
};

WEIR_CHECKED enum weir_status
weir_partition_table_create(const struct weir_partition_table_options *options,
                            struct weir_partition_table **out);

/* Gives up the caller's hold: the last call that still runs frees it. NULL is fine. */
void weir_partition_table_destroy(struct weir_partition_table *self);

void weir_partition_table_read(struct weir_partition_table *self,
                               struct weir_partition_table_info *out);

/* The same for the leased partitions of one subscriber. */
void weir_partition_table_read_subscriber(struct weir_partition_table *self,
                                          const struct weir_subscriber *subscriber,
                                          struct weir_partition_table_info *out);

/* ---- for the lease keeper: leased partitions come and go --------------------------- */

/* A lease was taken at `taken_ns` (before the statement; weir_executor_boot_now()):
 * make its leased partition. `retry_in_ns` is what is left of a stored wait. The
 * partition is not occupied(). WEIR_NO_MEMORY. */
WEIR_CHECKED enum weir_status weir_partition_table_admit(
    struct weir_partition_table *self, struct weir_subscriber *subscriber,
    const struct weir_lease *lease, const struct weir_stored_position *position,
    int64_t retry_in_ns, int64_t taken_ns);

/* The lease was lost: forget the leased partition. A handler that runs is asked
 * to stop; its answer is ignored. */
void weir_partition_table_lose(struct weir_partition_table *self,
                               struct weir_lease_key key, int64_t epoch);

/*
 * All of them at once: whatever we hold may belong to another process by now. Returns how
 * many there were.
 */
size_t weir_partition_table_lose_all(struct weir_partition_table *self);

/* Leases to renew: all but those of calls whose budget is over, which are asked to stop.
 * `subscriber` NULL: of all. Returns how many there are; fills up to `count`. */
size_t weir_partition_table_leases(struct weir_partition_table *self,
                                   const struct weir_subscriber *subscriber,
                                   struct weir_lease *out, size_t count);

/* The lease of a leased partition was extended at `renewed_ns`, by the same clock
 * (before the statement). */
void weir_partition_table_renewed(struct weir_partition_table *self,
                                  struct weir_lease_key key, int64_t epoch,
                                  int64_t renewed_ns);

/* Let up to `count` leased partitions of a subscriber go at the end of their batch,
 * those without work first. */
void weir_partition_table_give_up_excess(struct weir_partition_table *self,
                                         struct weir_subscriber *subscriber,
                                         size_t count);

/* Leased partitions that are done leaving: removed here, to be released. With `all`,
 * every leased partition that no handler has. Returns how many of `count` were given.
 * Each comes with the ack that says where it is, if that is worth storing. */
size_t weir_partition_table_take_leaving(struct weir_partition_table *self, bool all,
                                         struct weir_lease *out, struct weir_ack *acks,
                                         size_t count);

/* Is there a leased partition of this lease, or a handler that still hangs on it? */
bool weir_partition_table_knows(struct weir_partition_table *self,
                                struct weir_lease_key key, int64_t epoch);

/*
 * Partitions of this subscription that must not be taken: those that have a leased
 * partition, and those whose handler hangs beyond its lease. A leased partition may be
 * here though its lease has run out: that is noticed when it is renewed, or acks, and
 * two leased partitions of one partition would deliver it at the same time.
 */
size_t weir_partition_table_occupied(struct weir_partition_table *self,
                                     int64_t subscription, int64_t *out, size_t count);

/* Returns whether it was removed before. */
bool weir_partition_table_set_subscriber(struct weir_partition_table *self,
                                         struct weir_subscriber *subscriber,
                                         struct weir_subscriber_state state);

/* One of the two pauses of a subscriber: of its queue, or its own. */
void weir_partition_table_pause_queue(struct weir_partition_table *self,
                                      struct weir_subscriber *subscriber, bool paused);
void weir_partition_table_pause_subscriber(struct weir_partition_table *self,
                                           struct weir_subscriber *subscriber,
                                           bool paused);
void weir_partition_table_set_attempts_max(struct weir_partition_table *self,
                                           struct weir_subscriber *subscriber,
                                           uint32_t attempts_max);
uint32_t weir_partition_table_count_leased(struct weir_partition_table *self,
                                           const struct weir_subscriber *subscriber);

/* Leased partitions taken over from an owner that died, of which it is now known that
 * nothing waited: up to `count`; each is reported once. */
size_t weir_partition_table_take_forgiven(struct weir_partition_table *self,
                                          struct weir_lease *out, size_t count);

/* The database's clock minus the executor's, so that a wait can be stored. */
void weir_partition_table_set_clock(struct weir_partition_table *self, int64_t offset_us);

/* Have the place stored of each leased partition in which nothing has waited for long. */
void weir_partition_table_store_drained(struct weir_partition_table *self);

/* When leases() should be asked again: a budget is over then, or the lease of a call
 * that is over its budget. WEIR_FOREVER: no call runs. */
int64_t weir_partition_table_next_deadline(struct weir_partition_table *self);

/* ---- for the readers --------------------------------------------------------------- */

/* What to read next: `after`, pids, queues and limits of *page. False: nothing to do
 * until `room` is notified. Pids and removals belong to the partition table until
 * route(). */
bool weir_partition_table_next_page(struct weir_partition_table *self,
                                    enum weir_reader_kind kind, struct weir_page *page);

/*
 * Leased partitions of this page that read on from before what was removed of their
 * queue: if another process had the partition meanwhile, messages may be missing in the
 * page, and those behind them would get wrong numbers. Ask about their leases before
 * route(). Returns how many there are; fills up to `count`. Each is named once for each
 * removal.
 */
size_t weir_partition_table_doubted(struct weir_partition_table *self,
                                    enum weir_reader_kind kind,
                                    const struct weir_page *page, struct weir_lease *out,
                                    size_t count);

/* The answer, by `kept` of each: those that are not ours any more are lost. */
void weir_partition_table_answer(struct weir_partition_table *self,
                                 const struct weir_page *page,
                                 const struct weir_lease *leases, size_t count);

/* Hand a page out; takes the buffered messages. `page` as read() left it. */
void weir_partition_table_route(struct weir_partition_table *self,
                                enum weir_reader_kind kind, const struct weir_page *page,
                                struct weir_list *buffered_messages);

/* The page could not be read. */
void weir_partition_table_abandon_page(struct weir_partition_table *self,
                                       enum weir_reader_kind kind);

/* The log ends before where the main reader is: its last commits were lost with a
 * primary, and what comes in their place has to be read. Leased partitions that have
 * read them have lost their leases as well. */
void weir_partition_table_lose_front(struct weir_partition_table *self);

/* ---- for handler threads ----------------------------------------------------------- */

struct weir_call {
    struct weir_leased_partition *leased; /* the partition table's */
    struct weir_subscriber *subscriber;
    int32_t partition;
    uint32_t attempts;
    struct weir_lease lease;
    int64_t deadline_ns;
    size_t count; /* of messages, from the leased partition's first on */
    const struct weir_buffered_message *first;
    bool needs_mark;      /* store `mark` before the handler is called */
    struct weir_ack mark; /* valid until the call ends */
};

/* The leased partition whose turn it is. Of suspects (mark.h) one at a time, up to its
 * ack; those first whose calls alone have failed least, so that a killer does not keep
 * the innocent waiting. False: none; *wait_ns says how long until a retry is due. */
bool weir_partition_table_take(struct weir_partition_table *self, struct weir_call *out,
                               int64_t *wait_ns);

/* From the buffered message after `buffered_message` in its leased partition. */
const struct weir_buffered_message *
weir_buffered_message_next(const struct weir_buffered_message *buffered_message);

/* The mark of the call is stored. False: the leased partition was lost meanwhile, do
 * not call. */
WEIR_CHECKED bool weir_partition_table_marked(struct weir_partition_table *self,
                                              struct weir_call *call);

/* The batch that the handler is given, so that it can be asked to stop. Its budget
 * begins. */
void weir_partition_table_begin(struct weir_partition_table *self, struct weir_call *call,
                                struct weir_batch *batch);

/* The handler has answered: takes the batch's rejections; the ack is on its way. */
void weir_partition_table_finish(struct weir_partition_table *self,
                                 struct weir_call *call, struct weir_batch *batch,
                                 enum weir_outcome outcome, const char *reason);

/*
 * The same for a handler that runs inside the transaction of the ack. describe() says
 * in *ack what to store; what it points to stays until one of the others, or finish(),
 * ends the call. It may be followed by finish(), if the transaction fails: then nothing
 * of the description counts. `outcome` WEIR_REJECT is about messages that were not
 * answered for: they come again one by one. WEIR_FENCED: the leased partition was lost;
 * WEIR_NO_MEMORY.
 */
WEIR_CHECKED enum weir_status
weir_partition_table_describe(struct weir_partition_table *self, struct weir_call *call,
                              struct weir_batch *batch, enum weir_outcome outcome,
                              const char *reason, struct weir_ack *ack);

/* It was committed: the leased partition goes on behind it. */
void weir_partition_table_passed(struct weir_partition_table *self,
                                 struct weir_call *call);

/*
 * The handler was not called: let another runner try again. `marked`: the mark of the
 * call is stored, or in doubt; it ends first.
 */
void weir_partition_table_put_back(struct weir_partition_table *self,
                                   struct weir_call *call, bool marked);

/* Another process has the partition: the leased partition is gone. */
void weir_partition_table_abandon(struct weir_partition_table *self,
                                  struct weir_call *call);

/* ---- for the acker ----------------------------------------------------------------- */

/*
 * Fill `acks` with up to `count` moves that wait, or with one that ends a mark; returns
 * how many. What they point to stays until settle() or uncollect(), one of which
 * follows if there were any.
 *
 * Where acks are deferred (`ack_pace_ns`), the partition of a call that was answered
 * with WEIR_DONE does not wait for its ack: its next call may begin. The ack is given
 * together with others, when the pace allows it. Calls that were not stored are together
 * no larger than one batch, and none of them began after a failure or behind a mark: an
 * owner that ends repeats no more messages than if it had ended in one call.
 */
size_t weir_partition_table_collect(struct weir_partition_table *self,
                                    struct weir_ack *acks, size_t count);

/* After the commit: `accepted` of each decides. */
void weir_partition_table_settle(struct weir_partition_table *self,
                                 const struct weir_ack *acks, size_t count);

/* How long until deferred acks are given; WEIR_FOREVER: there is none. */
int64_t weir_partition_table_ack_wait(struct weir_partition_table *self);

/* Give them without waiting for more. */
void weir_partition_table_hurry(struct weir_partition_table *self);

/* They were not committed: let them wait again. */
void weir_partition_table_uncollect(struct weir_partition_table *self,
                                    const struct weir_ack *acks, size_t count);

/* The outcome is unknown: begin anew from the stored position. */
void weir_partition_table_restart(struct weir_partition_table *self,
                                  struct weir_lease_key key, int64_t epoch,
                                  const struct weir_stored_position *position);

/* The outcome of a deferred one is unknown, but this is the version that is stored: go
 * on from it. */
void weir_partition_table_correct(struct weir_partition_table *self,
                                  struct weir_lease_key key, int64_t epoch,
                                  int64_t version);

static inline bool weir_subscriber_is_paused(const struct weir_subscriber *self)
{
    return self->decided.queue_paused || self->decided.paused;
}

/* Do its handlers run inside the transaction of the ack? */
static inline bool weir_subscriber_is_transactional(const struct weir_subscriber *self)
{
    return self->on_message_tx != NULL || self->on_batch_tx != NULL;
}

/* From now on no call begins and running ones are asked to stop. */
void weir_partition_table_close(struct weir_partition_table *self);

#endif
